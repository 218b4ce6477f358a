"""Counterfactuals with values of several training rows."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from nicecf import NICE, Constraints, OptionError
from nicecf.models.scorer import nothing_ahead
from nicecf.search import local_search
from nicecf.testing import Scorecard, applicants, assert_same
from strategies import as_lists, fewer, problems

X, Y = applicants()


def needs(limit, *columns):
    """A model that says 1 where the sum of some columns is at least a limit."""

    def model(rows):
        total = np.asarray(rows, dtype=float)[:, list(columns)].sum(axis=1)
        share = 1 / (1 + np.exp(limit - total))
        return np.column_stack([1 - share, share])

    return model


def test_values_of_several_rows_make_a_nearer_counterfactual():
    # Who has 4 of one has 0 of the other; 2 of both are enough, and half as far.
    train = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [4.0, 0.5], [0.5, 4.0], [9.0, 9.0]])
    model = needs(3.9, 0, 1)
    options = {"search": "thorough", "optimize": "proximity", "feature_weights": [1.0, 1.0], "classes": [0, 1]}
    row = np.array([[1.0, 1.0]])
    one = NICE(model, mix_donors=False, **options).fit(train, [0, 0, 0, 1, 1, 1]).explain(row)
    several = NICE(model, **options).fit(train, [0, 0, 0, 1, 1, 1]).explain(row)
    assert several.to_numpy().tolist() == [[2.0, 2.0]]
    assert several.metrics()["proximity"][0] < one.metrics()["proximity"][0]
    assert several.donors.isna().tolist() == [True]
    assert several.changes()["donor"].tolist() == [1, 2]
    assert several[0].to_record()["changes"][0]["donor"] == 1
    assert one.changes()["donor"].nunique() == 1
    assert "donor: training row 1 (x0), 2 (x1)" in several[0].text("analyst")


@fewer(0.5)
@given(p=problems(n_to_explain=st.integers(1, 4)), optimize=st.sampled_from(["sparsity", "proximity"]))
def test_every_value_is_the_rows_own_or_held_by_the_row_that_is_named(p, optimize):
    nice = p.nice(optimize, search="thorough").fit(p.frame(p.rows), p.labels)
    cfs = nice.explain(p.frame(p.to_explain), target_class=p.target)
    by_walk = p.nice(optimize, search="greedy").fit(p.frame(p.rows), p.labels)
    greedy = by_walk.explain(p.frame(p.to_explain), target_class=p.target)
    assert (cfs.found >= greedy.found).all()
    measure, others = (one.metrics()[optimize].to_numpy(dtype=float, na_value=0) for one in (cfs, greedy))
    assert (measure <= others + 1e-9)[greedy.found].all()
    for one, row, probabilities in zip(cfs, p.to_explain, map(p.model.probabilities, p.to_explain), strict=True):
        if not one.found:
            continue
        [values] = as_lists(one.to_frame())
        changes = cfs[int(one.batch.rows[0]) : int(one.batch.rows[0]) + 1].changes()
        held = dict(zip(changes["feature"], changes["donor"], strict=True))
        names = p.frame(p.rows).columns
        for j, (old, new) in enumerate(zip(row, values, strict=True)):
            assert old == new or p.rows[held[names[j]]][j] == new
        assert p.model.probabilities(values) != probabilities or values == row


def test_the_fit_learns_no_plausibility_and_the_pareto_set_is_of_changes_and_distance():
    nice = NICE(Scorecard(), search="thorough").fit(X, Y)
    assert nice._fitted.plausibility is None
    cfs = nice.explain(X[:10])
    front = cfs.pareto()
    assert front.metrics()["plausibility"].isna().all()
    table = front.metrics()[["sparsity", "proximity"]].astype(float)
    for _, some in table.groupby(front.rows):
        ordered = some.sort_values("sparsity")
        assert ordered["sparsity"].is_unique
        assert (np.diff(ordered["proximity"]) < 0).all()


def test_one_row_alone_gets_what_it_gets_among_others():
    for options in (
        {},
        {"optimize": "proximity"},
        {"constraints": Constraints(groups=[["age", "income"]], max_changes=2)},
    ):
        nice = NICE(Scorecard(), search="thorough", **options).fit(X, Y)
        together = nice.explain(X[:8])
        for i in range(8):
            assert_same(together[i : i + 1], nice.explain(X[i : i + 1]))


def test_rules_hold_for_every_single_value():
    rules = Constraints(increasing=["age"], ranges={"income": (0.9, 2.5)}, immutable=["home"], step={"children": 2})
    cfs = NICE(Scorecard(), search="thorough", optimize="proximity", constraints=rules).fit(X, Y).explain(X[:60])
    before, after = X[:60][cfs.found], cfs[cfs.found].to_frame()
    assert len(after) > 20
    assert (after["age"] >= before["age"]).all()
    assert (after["home"] == before["home"]).all()
    changes = cfs.changes().set_index("feature")["after"]
    assert changes["income"].astype(float).between(0.9, 2.5).all()
    assert ((after["children"] - before["children"]) % 2 == 0).all()


def test_guards_hold_and_hide_who_holds_a_value():
    guarded = NICE(Scorecard(), search="thorough", share_donor=False, min_count=5).fit(X, Y).explain(X[:40])
    assert guarded.found.any()
    assert guarded.donors.isna().all()
    assert guarded.changes()["donor"].isna().all()
    assert not any("donor" in change for record in guarded.to_records() for change in record["changes"])
    rows = X.astype(object).apply(tuple, axis=1).tolist()
    after = guarded[guarded.found].to_frame()
    assert not set(after.astype(object).apply(tuple, axis=1)) & set(rows)
    for change in guarded.changes().itertuples():
        assert (X[change.feature] == change.after).sum() >= 5


def test_several_counterfactuals_begin_with_the_one_alone():
    nice = NICE(Scorecard(), search="thorough", optimize="proximity").fit(X, Y)
    alone, several = nice.explain(X[:6]), nice.explain(X[:6], n_counterfactuals=3)
    assert len(several) > len(alone)
    first = several[np.unique(several.rows, return_index=True)[1]]
    pd.testing.assert_frame_equal(first.to_frame(), alone.to_frame())


def test_time_that_is_up_leaves_what_is_known():
    nice = NICE(Scorecard(), search="thorough").fit(X, Y)
    cfs = nice.explain(X[:20], time_budget=1e-6)
    whole = nice.explain(X[:20])
    assert (cfs.found == whole.found).all()
    notes = [
        note for note, found in zip(cfs.notes, cfs.found & (cfs.predicted != cfs.predicted_after), strict=True) if found
    ]
    assert all(notes)


def test_a_saved_explainer_mixes_as_before(tmp_path):
    nice = NICE(Scorecard(), search="thorough", optimize="proximity").fit(X, Y)
    nice.save(tmp_path / "a.nice")
    again = NICE.load(tmp_path / "a.nice", model=Scorecard())
    assert again.mix_donors
    assert_same(nice.explain(X[:30]), again.explain(X[:30]))


def test_the_option_is_true_or_false():
    with pytest.raises(OptionError, match="mix_donors must be True or False, got 'yes'"):
        NICE(Scorecard(), mix_donors="yes")


def best_of_all_values(model, row, train, scales):
    """The least distance of any mix of training values that the model puts in the other class, by trying all of them."""
    choices = [np.unique(np.append(column, own)) for column, own in zip(train.T, row, strict=True)]
    mixes = np.array(np.meshgrid(*choices)).reshape(len(row), -1).T
    is_other = model.predict(mixes) != model.predict(row[None])
    return (np.abs(mixes[is_other] - row) / scales).sum(axis=1).min()


def test_it_comes_near_to_the_best_mix_of_all_training_values():
    # 20 values in each of three columns: 8,000 mixes and more, of which it asks about a few hundred.
    random = np.random.default_rng(0)
    reached, best = [], []
    for seed in range(6):
        train = random.choice(np.round(random.normal(size=20), 2), (150, 3))
        labels = (train @ random.normal(size=3) + np.sin(3 * train).sum(axis=1) > 0).astype(int)
        model = GradientBoostingClassifier(n_estimators=20, random_state=seed).fit(train, labels)
        rows = train[:5] + 0.005
        nice = NICE(model, search="thorough", optimize="proximity", accelerate=False).fit(train, labels)
        reached += nice.explain(rows).metrics()["proximity"].tolist()
        best += [best_of_all_values(model, row, train, np.ptp(train, axis=0)) for row in rows]
    assert (np.array(reached) >= np.array(best) - 1e-9).all()
    assert sum(reached) <= 1.005 * sum(best)
    assert np.isclose(reached, best).sum() >= 28  # of 30


def test_a_change_that_does_nothing_alone_is_found_beside_one_that_is_nearly_enough():
    # The first column nearly does it, and then a little of the second; the third would do, but costs as much again.
    def model(rows):
        first, second, third = np.asarray(rows, dtype=float).T
        share = 1 / (1 + np.exp(9 - 8.9 * first - 0.2 * first * second - 5 * first * third))
        return np.column_stack([1 - share, share])

    train = np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], *([0, value, 0] for value in range(11))], dtype=float)
    nice = NICE(model, optimize="proximity", classes=[0, 1], categorical_features=[0, 2])
    cfs = nice.fit(train, model(train).argmax(axis=1)).explain(np.zeros((1, 3)))
    assert cfs.to_numpy().tolist() == [[1.0, 1.0, 0.0]]


def two_changes_are_enough(model, row, train):
    """Whether any two training values do it, by trying all of them."""
    for i, j in combinations(range(len(row)), 2):
        tried = np.tile(row, (len(np.unique(train[:, i])) * len(np.unique(train[:, j])), 1))
        tried[:, [i, j]] = list(product(np.unique(train[:, i]), np.unique(train[:, j])))
        if (model.predict(tried) != model.predict(row[None])).any():
            return True
    return False


def test_where_two_changes_are_enough_there_are_not_more():
    # Ten columns that say much the same: no single one does it, and some 20,000 pairs might.
    n_more = 0
    for seed in (2, 3, 5, 8):
        random = np.random.default_rng(seed)
        common = random.normal(size=(200, 1))
        train = np.round(2 * common + 1.6 * random.normal(size=(200, 10))) / 2
        labels = (common[:, 0] + 0.3 * random.normal(size=200) > 0).astype(int)
        model = RandomForestClassifier(20, random_state=seed).fit(train, labels)
        cfs = NICE(model).fit(train, labels).explain(train[:20])
        more = train[:20][cfs.metrics()["sparsity"].to_numpy(dtype=float) > 2]
        assert not any(two_changes_are_enough(model, row, train) for row in more)
        n_more += len(more)
    assert n_more > 5


def test_what_changes_too_many_features_is_pulled_back_within_the_limit(monkeypatch):
    random = np.random.default_rng(5)
    common = random.normal(size=(200, 1))
    train = np.round(2 * common + 1.6 * random.normal(size=(200, 10))) / 2
    labels = (common[:, 0] + 0.3 * random.normal(size=200) > 0).astype(int)
    model = RandomForestClassifier(20, random_state=5).fit(train, labels)
    nice = NICE(model, optimize="proximity", constraints=Constraints(max_changes=2)).fit(train, labels)
    some = nice.explain(train[:20]).metrics()["proximity"].mean()
    monkeypatch.setattr(local_search, "_HOPELESS", np.inf)
    assert some <= 1.01 * nice.explain(train[:20]).metrics()["proximity"].mean()


def test_where_one_change_is_enough_rounds_ask_about_single_changes_alone():
    train = np.random.default_rng(0).normal(size=(200, 5))
    asked = []

    def model(rows):
        asked.append(np.asarray(rows))
        return needs(2.0, 0, 1, 2, 3, 4)(rows)

    nice = NICE(model, classes=[0, 1]).fit(train, needs(2.0, 0, 1, 2, 3, 4)(train).argmax(axis=1))
    row = train[:1] * 0
    asked.clear()
    with nothing_ahead():
        cfs = nice.explain(row)
    assert cfs.metrics()["sparsity"].tolist() == [1]
    # The row, its donor, the walk to it, single changes, several; then the rounds.
    at_rounds = 2 + int(np.argmax([len(rows) for rows in asked]))
    assert len(asked) > at_rounds
    assert all((rows != row).sum(axis=1).max() == 1 for rows in asked[at_rounds:])
