"""The published algorithms: equal to plain loops, right on examples worked out by hand, and well-mannered."""

import functools
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import published
from clock import Clock, set_clock
from markers import deep
from nicecf import NotFittedError, OptionError, SchemaError, baselines, testing
from nicecf.baselines import CBR, SEDC, WIT, CFproto, GeCo, GrowingSpheres, lock_step
from nicecf.baselines.asking import towards
from nicecf.baselines.baseline import Found
from nicecf.baselines.feasible import Draws, FeasibleSpace, NearerDraws
from nicecf.baselines.good_pairs import Difference, best_partners
from nicecf.baselines.growing_spheres import _in_shell
from nicecf.models.scorer import RememberedRows
from nicecf.search.distance import Heom
from strategies import as_lists, problems

CHEAP = {
    "WIT": WIT,
    "CBR": CBR,
    "SEDC": SEDC,
    "GeCo": functools.partial(GeCo, population=20, samples=2, max_generations=8),
    "GrowingSpheres": functools.partial(GrowingSpheres, n_samples=200, max_shells=60),
}
SEVERAL = st.integers(1, 3)


def by_first_feature(limit):
    """A model of two classes, 0 below the limit in the first feature and 1 from there on."""
    return lambda X: np.column_stack([np.asarray(X)[:, 0] < limit, np.asarray(X)[:, 0] >= limit]).astype(float)


class Counted:
    """A model that counts its calls and keeps what it was asked."""

    def __init__(self, model):
        self.model = model
        self.sizes = []

    def __call__(self, X):
        self.sizes.append(len(X))
        return self.model(X)


def fitted(p, method, to_table, **options):
    explainer = method(p.model, classes=p.classes, categorical_features=p.is_categorical, **options)
    return explainer.fit(to_table(p.rows), p.labels)


def test_all_of_them_are_listed_in_the_order_of_the_paper():
    names = [one.__name__ for one in baselines.ALL]
    assert names == ["WIT", "CBR", "SEDC", "DiCE", "CFproto", "GeCo", "GrowingSpheres"]
    assert set(baselines.__all__) == {"ALL", *names}


# Equal to plain loops ------------------------------------------------------------------------------------------------


@given(problems(n_to_explain=SEVERAL))
def test_wit_equals_plain_loops(p):
    assume(p.target == "other" or set(p.target) <= set(p.classes))
    cfs = fitted(p, WIT, p.frame).explain(p.frame(p.to_explain), target_class=p.target)
    for one, row in zip(cfs, p.to_explain, strict=True):
        expected = published.wit(row, p.rows, p.classes, p.model.probabilities, p.is_categorical, p.target)
        assert one.found == (expected is not None)
        if expected is not None:
            assert as_lists(one.to_frame()) == [expected[0]]
            assert one.donor == expected[1]


@given(problems(n_to_explain=SEVERAL))
def test_sedc_equals_plain_loops(p):
    cfs = fitted(p, SEDC, p.frame).explain(p.frame(p.to_explain), target_class=p.target)
    for one, row in zip(cfs, p.to_explain, strict=True):
        expected = published.sedc(row, p.rows, p.classes, p.model.probabilities, p.is_categorical, p.target)
        assert one.found == (expected is not None)
        assert one.found == (one.reason is None)
        if expected is not None:
            assert as_lists(one.to_frame()) == [expected[0]]
            assert [change.feature for change in one.changes] == [p.names[j] for j in expected[1]]


@given(problems(n_to_explain=SEVERAL), st.integers(1, 4))
def test_best_first_sedc_equals_plain_loops(p, expansions):
    cfs = fitted(p, SEDC, p.frame, expansions=expansions).explain(p.frame(p.to_explain), target_class=p.target)
    for one, row in zip(cfs, p.to_explain, strict=True):
        expected = published.sedc_best_first(
            row, p.rows, p.classes, p.model.probabilities, p.is_categorical, p.target, expansions
        )
        assert one.found == (expected is not None)
        assert one.found == (one.reason is None)
        if expected is not None:
            assert as_lists(one.to_frame()) == [expected]


@given(
    problems(n_to_explain=SEVERAL),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.25, 0.5]),
    st.one_of(st.integers(1, 3), st.none()),
    st.sampled_from(["nearest", "fewest_differences"]),
)
def test_cbr_equals_plain_loops(p, most, tolerance, neighbors, partner):
    options = {"max_differences": most, "tolerance": tolerance, "neighbors": neighbors, "partner": partner}
    explainer = fitted(p, CBR, p.frame, **options)
    cfs = explainer.explain(p.frame(p.to_explain), target_class=p.target)
    for one, row in zip(cfs, p.to_explain, strict=True):
        expected = published.cbr(
            row, p.rows, p.classes, p.model.probabilities, p.is_categorical, p.target, *options.values()
        )
        assert one.found == (expected is not None)
        assert one.found == (one.reason is None)
        if expected is not None:
            assert as_lists(one.to_frame()) == [expected[0]]
            assert one.donor == expected[1]


@pytest.mark.parametrize("method", [CHEAP["GeCo"], WIT, CBR], ids=["geco", "wit", "cbr"])
@given(p=problems(n_to_explain=SEVERAL))
def test_every_value_is_the_rows_own_or_occurs_in_training(method, p):
    cfs = fitted(p, method, p.frame).explain(p.frame(p.to_explain), target_class=p.target)
    for one, row in zip(cfs, p.to_explain, strict=True):
        if one.found:
            for j, value in enumerate(as_lists(one.to_frame())[0]):
                assert value == row[j] or value in [other[j] for other in p.rows]


# Worked out by hand --------------------------------------------------------------------------------------------------


def test_wit_takes_a_row_that_the_model_gets_wrong_and_divides_by_the_deviation():
    # Deviations: a 1.5 (0, 0, 3, 3), b 43.3 (0, 0, 0, 100). From (0, 0): row 2 is 3 / 1.5 = 2 away, row 3
    # 3 / 1.5 + 100 / 43.3. By the label 0 of row 2 NICE would not take it.
    X = pd.DataFrame({"a": [0.0, 0.0, 3.0, 3.0], "b": [0.0, 0.0, 0.0, 100.0]})
    cfs = WIT(by_first_feature(2.0)).fit(X, [0, 1, 0, 1]).explain(X.iloc[[0]])
    assert cfs[0].donor == 2
    assert as_lists(cfs.to_frame()) == [[3.0, 0.0]]
    assert cfs.metrics()["proximity"].tolist() == [1.0]  # over the range: one distance for all algorithms


def test_by_the_range_it_would_be_another_row():
    # Over ranges, (a) 4 / 8 = 0.5 is nearer than (b) 3 / 5 = 0.6. Over deviations (a: 3.3, b: 2.4) it is 1.21 and 1.25;
    # with one more 0 in a, its deviation falls to 3.0: 1.33 is farther.
    X = pd.DataFrame({"a": [0.0, 4.0, 0.0, 8.0, 0.0, 0.0, 0.0], "b": [0.0, 0.0, 3.0, 5.0, 0.0, 5.0, 5.0]})
    model = lambda X: np.column_stack([(X["a"] + X["b"] < 3), (X["a"] + X["b"] >= 3)]).astype(float)
    deviations = X.std(ddof=0)
    assert 4 / deviations["a"] > 3 / deviations["b"]
    assert WIT(model, classes=[0, 1]).fit(X).explain(X.iloc[[0]])[0].donor == 2


def test_sedc_takes_the_mean_that_helps_most_first():
    # Means: 4 and 6. The score of (0, 0) is 0.1 + 0.06 a + 0.03 b: a = 4 gives 0.34, b = 6 gives 0.28, both 0.52.
    X = pd.DataFrame({"a": [0.0, 8.0], "b": [2.0, 10.0]})
    score = lambda X: 0.1 + 0.06 * X["a"] + 0.03 * X["b"]
    model = lambda X: np.column_stack([1 - score(X), score(X)])
    row = pd.DataFrame({"a": [0.0], "b": [0.0]})
    cfs = SEDC(model, classes=["no", "yes"]).fit(X).explain(row)
    assert [(c.feature, c.after) for c in cfs[0].changes] == [("a", 4.0), ("b", 6.0)]
    assert [round(c.probability, 2) for c in cfs[0].changes] == [0.34, 0.52]


def test_sedc_says_where_its_walk_ends():
    X = pd.DataFrame({"a": [0.0, 8.0], "city": ["Gent", "Gent"]})
    model = lambda X: np.column_stack([X["a"] < 7, X["a"] >= 7]).astype(float)
    cfs = SEDC(model, classes=["no", "yes"]).fit(X).explain(X.iloc[[0]])
    assert not cfs.found[0]
    assert cfs.reasons[0] == (
        "with the mean or the mode of every feature the model still says 'no', and nothing on the way there is 'yes'"
    )


def test_sedc_rounds_the_mean_of_whole_numbers_and_asks_about_what_it_hands_out():
    X = pd.DataFrame({"n": [0, 5], "m": pd.array([1, 2], dtype="Int64")})  # means 2.5 and 1.5
    asked = []

    def model(X):
        asked.append(X.copy())
        return np.column_stack([X["n"] < 2, X["n"] >= 2]).astype(float)

    cfs = SEDC(model, classes=[0, 1]).fit(X).explain(X.iloc[[0]])
    assert cfs.to_frame().dtypes.equals(X.dtypes)
    assert as_lists(cfs.to_frame()) == [[2.0, 1.0]]
    assert all(dtype.kind == "i" for table in asked for dtype in table.dtypes)


def test_sedc_with_expansions_goes_back_where_the_walk_ends_with_nothing():
    # The means are 0. Alone, a brings most (0.4), then b or c with it nothing; b and c without a change the decision.
    scores = {(1, 1, 1): 0.1, (0, 1, 1): 0.4, (1, 0, 1): 0.3, (1, 1, 0): 0.2, (1, 0, 0): 0.9}
    positive = lambda X: np.array([scores.get(tuple(row), 0.0) for row in np.asarray(X).astype(int).tolist()])
    model = lambda X: np.column_stack([1.0 - positive(X), positive(X)])
    X, row = pd.DataFrame({name: [-1.0, 1.0] for name in "abc"}), pd.DataFrame({name: [1.0] for name in "abc"})
    assert not SEDC(model, classes=[0, 1]).fit(X).explain(row).found[0]
    cfs = SEDC(model, classes=[0, 1], expansions=3).fit(X).explain(row)
    assert as_lists(cfs.to_frame()) == [[1.0, 0.0, 0.0]]
    reason = SEDC(model, classes=[0, 1], expansions=2).fit(X).explain(row).reasons[0]
    assert reason == "with features at their mean or mode the model never says 1 (sets of features tried: 5)"


def test_cbr_gives_the_row_what_makes_the_difference_for_the_nearest_pair():
    # Rows 0 and 1 are a pair: they differ in home alone (9 and 10 years are within 0.2 of the range, 20). Rows 2 and 3
    # differ in all three. The row takes "own" and keeps its years.
    X = pd.DataFrame(
        {"years": [9.0, 10.0, 0.0, 20.0], "home": ["rent", "own", "rent", "own"], "city": ["A", "A", "A", "B"]}
    )
    model = lambda X: np.column_stack([X["home"] == "rent", X["home"] == "own"]).astype(float)
    row = pd.DataFrame({"years": [5.0], "home": ["rent"], "city": ["B"]})
    cfs = CBR(model, classes=["no", "yes"]).fit(X).explain(row)
    assert as_lists(cfs.to_frame()) == [[5.0, "own", "B"]]
    assert cfs[0].donor == 1


def test_cbr_asks_rows_like_the_pair_when_the_pair_does_not_help():
    # The pair of rows 0 and 1 differs in a: 5 is enough there, but not with b = 0, where it takes 8: that of row 2,
    # the next row of class 1.
    X = pd.DataFrame({"a": [0.0, 5.0, 8.0], "b": [1.0, 1.0, 1.0]})
    enough = lambda X: X["a"] >= np.where(X["b"] == 1, 5, 8)
    model = lambda X: np.column_stack([~enough(X), enough(X)]).astype(float)
    row = pd.DataFrame({"a": [0.0], "b": [0.0]})
    cfs = CBR(model, classes=[0, 1]).fit(X).explain(row)
    assert as_lists(cfs.to_frame()) == [[8.0, 0.0]]
    assert cfs[0].donor == 2
    only_with_b = lambda X: (X["a"] >= 5) & (X["b"] == 1)
    never = CBR(lambda X: np.column_stack([~only_with_b(X), only_with_b(X)]).astype(float), classes=[0, 1]).fit(X)
    reason = never.explain(row).reasons[0]
    assert reason == (
        "the nearest pair, training rows 0 and 1, differs in 'a'. With the values of row 1 there, this row is not 1; "
        "nor with those of the rows of that class nearest to row 1 (1 tried)"
    )


def test_cbr_takes_the_nearest_partner_or_the_one_with_the_fewest_differences():
    # From row 0, row 1 is 0.3 + 0.3 away and differs twice, row 2 is 1 away and differs once.
    X = pd.DataFrame({"a": [0.0, 3.0, 10.0, 0.0], "b": [0.0, 3.0, 0.0, 10.0]})
    row, model = pd.DataFrame({"a": [1.0], "b": [1.0]}), by_first_feature(2.0)
    cfs = CBR(model, classes=[0, 1]).fit(X).explain(row)
    assert as_lists(cfs.to_frame()) == [[3.0, 3.0]]
    cfs = CBR(model, classes=[0, 1], partner="fewest_differences").fit(X).explain(row)
    assert as_lists(cfs.to_frame()) == [[10.0, 1.0]]
    assert cfs[0].donor == 2


def test_cbr_says_when_there_is_no_pair():
    X = pd.DataFrame({name: [0.0, 1.0] for name in "abc"})
    cfs = CBR(by_first_feature(0.5), classes=[0, 1]).fit(X).explain(X.iloc[[0]])
    assert cfs.reasons[0] == "no two training rows, one 0 and one 1, differ in 1 to 2 features"
    one_at_most = CBR(by_first_feature(0.5), classes=[0, 1], max_differences=1).fit(X).explain(X.iloc[[0]])
    assert one_at_most.reasons[0] == "no two training rows, one 0 and one 1, differ in one feature alone"


def test_geco_finds_the_only_two_changes_that_help_together():
    values = [["a", "b", "c"][k % 3] for k in range(9)], [["x", "y", "z"][k // 3] for k in range(9)]
    X = pd.DataFrame({"one": values[0], "other": values[1], "third": ["p", "q", "r"] * 3})
    helps = lambda X: (X["one"] == "c") & (X["other"] == "z")
    model = lambda X: np.column_stack([~helps(X), helps(X)]).astype(float)
    cfs = GeCo(model, classes=[0, 1]).fit(X).explain(X.iloc[[0]])
    assert as_lists(cfs.to_frame()) == [["c", "z", "p"]]


def test_geco_weighs_changes_against_distance():
    # One change of 10 (of a range of 10: 1.0), or two of 1 (0.1 each).
    X = pd.DataFrame({"a": [0.0, 10.0, 0.0, 1.0, 0.0], "b": [0.0, 0.0, 1.0, 1.0, 10.0]})
    helps = lambda X: (X["a"] == 10) | ((X["a"] == 1) & (X["b"] == 1))
    model = lambda X: np.column_stack([~helps(X), helps(X)]).astype(float)
    by_count = GeCo(model, classes=[0, 1], weight_l0=1.0, weight_l1=0.0).fit(X).explain(X.iloc[[0]])
    by_distance = GeCo(model, classes=[0, 1], weight_l0=0.0, weight_l1=1.0).fit(X).explain(X.iloc[[0]])
    assert as_lists(by_count.to_frame()) == [[10.0, 0.0]]
    assert as_lists(by_distance.to_frame()) == [[1.0, 1.0]]


def test_geco_changes_groups_as_one_training_row_has_them():
    X, y = testing.applicants(300)
    groups = [["home", "city"], ["age", "children"]]
    cfs = GeCo(testing.Scorecard(), groups=groups, max_generations=6).fit(X, y).explain(X.iloc[:40])
    seen = [set(X[group].dropna().itertuples(index=False, name=None)) for group in groups]
    n_changed = 0
    for before, after in zip(X.iloc[:40].itertuples(), cfs.to_frame().itertuples(), strict=True):
        for group, known in zip(groups, seen, strict=True):
            one, other = (tuple(getattr(row, name) for name in group) for row in (before, after))
            if not pd.isna([*one, *other]).any() and one != other:
                n_changed += 1
                assert other in known
    assert n_changed


def test_geco_prefers_what_is_accepted_however_far_it_is():
    X = np.random.default_rng(0).normal(size=(200, 3))
    p = lambda X: 1 / (1 + np.exp(-np.clip(X[:, 0], -30, 30)))
    model = lambda X: np.column_stack([1 - p(X), p(X)])
    far_out = GeCo(model, classes=[0, 1]).fit(X).explain(np.array([[100.0, 0.0, 0.0]]))
    assert far_out.to_numpy()[0, 0] < 0
    assert GeCo(model, classes=[0, 1], weight_l0=0, weight_l1=20).fit(X).explain(X[:40]).found.all()


def test_geco_replaces_changes_by_nearer_ones():
    # One feature, and five values of it in the first population: a further one can only come from those nearer than the
    # best. From 0, the nearest that is accepted is 0.5; the best of five is at 0.67 on average.
    X = np.arange(0.0, 1.0, 0.001)[:, None]
    model = lambda X: np.column_stack([X < 0.5, X >= 0.5]).astype(float)
    options = {"first_samples": 5, "min_generations": 30}
    for seed in range(3):
        cfs = GeCo(model, classes=[0, 1], random_state=seed, **options).fit(X).explain(X[:1])
        assert 0.5 <= cfs.to_numpy()[0, 0] < 0.55


def test_nearer_changes_cost_less_and_come_as_often_as_they_occur():
    # The number: 1 three times, 2 once, 4 twice, 9 once. From 0, those nearer than 4 are 1 and 2.
    X = np.column_stack([[1.0, 1.0, 1.0, 2.0, 4.0, 4.0, 9.0], [0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0]])
    is_categorical = np.array([False, True])
    space = FeasibleSpace.of(X, is_categorical, [])
    n_features, distances = space.around(np.array([0.0, 0.0]), Heom.of(X, is_categorical, "range"))
    draws = NearerDraws.of(space, distances, is_change=n_features > 0, random=np.random.default_rng(0))
    one, two, four, nine, zero, other = range(6)  # the changes, by group and value
    assert draws.n_rows[[one, two, four, nine, zero, other]].tolist() == [0, 3, 4, 6, 0, 0]
    drawn = draws.than(np.full(4000, four))
    assert set(drawn.tolist()) == {one, two}
    assert np.mean(drawn == one) == pytest.approx(0.75, abs=0.03)
    assert set(draws.than(np.full(100, two)).tolist()) == {one}


def test_geco_draws_the_one_value_in_a_thousand_that_changes_anything():
    X = np.zeros((1000, 2))
    X[7, 1] = 1.0
    model = lambda X: np.column_stack([X[:, 1] < 0.5, X[:, 1] >= 0.5]).astype(float)
    assert GeCo(model, classes=[0, 1]).fit(X).explain(np.zeros((1, 2))).to_numpy().tolist() == [[0.0, 1.0]]
    reason = GeCo(model, classes=[0, 1]).fit(X[:3]).explain(np.zeros((1, 2))).reasons[0]
    assert reason == "no training row has another value that this row could take towards 1"


def test_geco_keeps_what_is_nearer_to_the_target_until_something_is_accepted():
    # One candidate is kept. A change of the first feature brings 0.1 to 0.4, one of the second then 0.6; the others
    # cost the same and bring nothing.
    X = pd.DataFrame(np.random.default_rng(0).choice(["a", "b"], size=(60, 8)), columns=[f"f{j}" for j in range(8)])
    p = lambda X: np.where(X["f0"] == "b", np.where(X["f1"] == "b", 0.6, 0.4), 0.1)
    model = lambda X: np.column_stack([1 - p(X), p(X)])
    row = pd.DataFrame([["a"] * 8], columns=X.columns)
    cfs = GeCo(model, classes=[0, 1], population=1, max_generations=4).fit(X).explain(row)
    assert {change.feature for change in cfs[0].changes} == {"f0", "f1"}


def test_geco_crosses_what_is_best_of_each():
    # One value in a thousand of each feature helps, and both together are enough: to draw the second one for a
    # candidate that has the first is one chance in a thousand, to cross the two best is none.
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.permutation(1000), "b": random.permutation(1000)})
    p = lambda X: 0.1 + 0.2 * (X["a"] == 7) + 0.2 * (X["b"] == 9) + 0.2 * ((X["a"] == 7) & (X["b"] == 9))
    model = lambda X: np.column_stack([1 - p(X), p(X)])
    options = {"first_samples": 8000, "samples": 1, "min_generations": 1, "max_generations": 2, "weight_l1": 0}
    cfs = GeCo(model, classes=[0, 1], **options).fit(X).explain(pd.DataFrame({"a": [500], "b": [500]}))
    assert as_lists(cfs.to_frame()) == [[7.0, 9.0]]


def test_geco_goes_on_for_the_generations_asked_for():
    X, y = testing.applicants()
    asked = [
        GeCo(testing.Scorecard(), population=10, min_generations=n).fit(X, y).explain(X.iloc[:5]).model_rows
        for n in (1, 12)
    ]
    assert asked[0] < asked[1]


def test_geco_never_changes_a_group_twice():
    X, y = testing.applicants()
    evolution = GeCo(testing.Scorecard(), groups=[["age", "city"]]).fit(X, y)._fitted.search.find
    space = evolution.space
    everything = np.append(np.ones(space.none, dtype=bool), False)
    draws = Draws.of(space, is_change=everything, random=np.random.default_rng(0))
    candidates = np.full((1, 1), space.none)
    for n_changes in range(1, len(space.groups) + 1):
        candidates = evolution._mutated(candidates, draws, 2)[:50]
        groups = [set(line) - {len(space.groups)} for line in space.group[candidates]]  # without what fills lines up
        assert [len(one) for one in groups] == [n_changes] * len(candidates)
        assert (space.from_groups(space.by_group(candidates)) == np.sort(candidates, axis=1)[:, :n_changes]).all()


def test_geco_never_makes_a_value_missing():
    X = pd.DataFrame({"home": ["own", "rent", None, None] * 5, "age": [1.0, 2.0, np.nan, np.nan] * 5})
    helps = lambda X: X["home"].isna() | X["age"].isna() | (X["home"] == "own")
    model = lambda X: np.column_stack([~helps(X), helps(X)]).astype(float)
    cfs = GeCo(model, classes=[0, 1]).fit(X).explain(pd.DataFrame({"home": ["rent"], "age": [2.0]}))
    assert as_lists(cfs.to_frame()) == [["own", 2.0]]


def test_geco_counts_every_feature_of_a_group():
    X = pd.DataFrame({"a": ["u", "v"] * 4, "b": ["u", "v"] * 4, "c": ["u"] * 6 + ["v"] * 2})
    helps = lambda X: ((X["a"] == "v") & (X["b"] == "v")) | (X["c"] == "v")
    model = lambda X: np.column_stack([~helps(X), helps(X)]).astype(float)
    cfs = GeCo(model, classes=[0, 1], groups=[["a", "b"]], weight_l1=0).fit(X).explain(X.iloc[[0]])
    assert as_lists(cfs.to_frame()) == [["u", "u", "v"]]


def test_geco_draws_values_as_often_as_they_occur():
    space = FeasibleSpace.of(np.array([[0.0], [1.0], [1.0], [1.0], [2.0], [np.nan]]), np.array([False]), [])
    draws = Draws.of(space, is_change=np.array([False, True, True, False]), random=np.random.default_rng(0))
    drawn = draws.of_groups(np.zeros(4000, dtype=int))
    assert draws.n_rows.tolist() == [4]
    assert 0.72 < (drawn == 1).mean() < 0.78
    assert set(drawn) == {1, 2}


def test_a_growing_sphere_ends_close_to_the_border_and_puts_back_what_did_not_matter():
    X = np.column_stack([np.linspace(0, 10, 50), np.linspace(5, -5, 50)])
    cfs = GrowingSpheres(by_first_feature(6.0), classes=[0, 1]).fit(X).explain(np.array([[4.0, 1.0], [7.5, 0.0]]))
    up, down = cfs.to_numpy()
    # Shells are 0.1 deviations (2.9) wide: the nearest of 2,000 points in the first one past the border is within it.
    assert 6.0 <= up[0] < 6.3
    assert up[1] == 1.0
    assert 5.7 < down[0] < 6.0
    assert down[1] == 0.0
    assert cfs[0].donor is None


def test_the_nearest_point_of_a_shell_is_taken_also_where_a_feature_is_missing():
    X = np.column_stack([np.linspace(0, 10, 50), np.linspace(0, 1, 50)])
    explainer = GrowingSpheres(by_first_feature(6.0), classes=[0, 1]).fit(X)
    both = explainer.explain(np.array([[4.0, np.nan]])).to_numpy()[0]
    assert 6.0 <= both[0] < 6.01
    assert np.isnan(both[1])


def test_all_features_that_do_not_matter_go_back():
    X = np.random.default_rng(0).normal(size=(200, 6))
    point = GrowingSpheres(by_first_feature(1.0), classes=[0, 1]).fit(X).explain(np.zeros((1, 6))).to_numpy()[0]
    assert point[0] >= 1.0
    assert (point[1:] == 0.0).all()


def test_points_are_drawn_evenly_over_the_volume():
    points = _in_shell(np.random.default_rng(0), 20_000, np.array([1.0, 2.0, 0.0, 1.0]), 0.0, 2.0)
    radii = np.linalg.norm(points / [1.0, 2.0, 1.0, 1.0], axis=1)
    assert (points[:, 2] == 0).all()
    assert radii.max() <= 2.0
    assert abs((radii < 1.0).mean() - 1 / 8) < 0.01
    shell = _in_shell(np.random.default_rng(0), 20_000, np.ones(3), 1.0, 2.0)
    assert np.linalg.norm(shell, axis=1).min() >= 1.0


def test_a_sphere_that_is_too_large_is_halved_first():
    X = np.linspace(0, 100, 11)[:, None]
    cfs = GrowingSpheres(by_first_feature(50.0), classes=[0, 1], first_radius=1.0).fit(X).explain(np.array([[49.999]]))
    assert 50.0 <= cfs.to_numpy()[0, 0] < 50.01


def test_spheres_draw_whole_numbers_for_a_column_of_whole_numbers_and_leave_what_is_missing():
    X = pd.DataFrame({"n": [0, 4, 8, 12], "x": [0.0, np.nan, 2.0, 3.0]})
    model = lambda X: np.column_stack([X["n"] < 6, X["n"] >= 6]).astype(float)
    cfs = GrowingSpheres(model, classes=[0, 1]).fit(X).explain(X.iloc[[1]])
    assert cfs.to_frame().dtypes.equals(X.dtypes)
    assert cfs.to_frame()["n"].tolist() == [6]
    assert cfs.to_frame()["x"].isna().all()


@pytest.mark.parametrize("name", ["GrowingSpheres", "CFproto", "SEDC", "GeCo"])
@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_what_was_not_moved_keeps_all_its_digits(name, kind):
    # Trained on fewer digits than the rows have: rounding a feature that did not move would be a change.
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(100, 4)) * 10, columns=list("abcd")).astype(kind)
    X["d"] = X["d"].iloc[0]
    p = lambda X: 1 / (1 + np.exp(-np.asarray(X["a"], float) / 5))
    method = functools.partial(CFproto, c_steps=2, max_iterations=100) if name == "CFproto" else CHEAP[name]
    rows = X.iloc[:5].astype(float) + 0.123456789
    cfs = method(lambda X: np.column_stack([1 - p(X), p(X)]), classes=[0, 1]).fit(X).explain(rows)
    assert cfs.found.any()
    changes = cfs.changes()
    if name in ("GrowingSpheres", "CFproto"):
        assert "d" not in set(changes["feature"])  # it never varies in training
    assert (np.abs(changes["after"].astype(float) - changes["before"].astype(float)) > 1e-3).all()


# Manners -------------------------------------------------------------------------------------------------------------


def test_model_calls_do_not_grow_with_the_rows():
    X, y = testing.applicants(200)
    scorecard = testing.Scorecard()
    # One call for the rows, and one for what is handed out where it was not asked about before.
    for name, most in {"WIT": 2, "CBR": 3, "SEDC": 2 + X.shape[1], "GeCo": 1 + 9}.items():
        for n_rows in (1, 50):
            model = Counted(scorecard.predict_proba)
            explainer = CHEAP[name](model, classes=scorecard.classes_).fit(X, y)
            model.sizes.clear()
            cfs = explainer.explain(X.iloc[:n_rows])
            assert len(model.sizes) == cfs.model_calls <= most, name
            assert sum(model.sizes) == cfs.model_rows


@pytest.mark.parametrize("name", ["GeCo", "GrowingSpheres"])
def test_seeds_make_the_difference_and_nothing_else(name):
    X, y = testing.applicants_in_numbers(200)
    explain = lambda seed: CHEAP[name](testing.Scorecard(), random_state=seed).fit(X, y).explain(X.iloc[:30]).to_frame()
    state = np.random.get_state()[1].copy()
    assert explain(1).equals(explain(1))
    assert explain(None).equals(explain(0))
    assert not explain(1).equals(explain(2))
    assert (np.random.get_state()[1] == state).all()


def test_a_row_with_an_unseen_category_draws_the_same_in_any_company():
    X, y = testing.applicants()
    X["city"] = X["city"].astype(object)
    rows = X.iloc[:6].copy()
    rows["city"] = ["Luik", "Namen", "Gent", "Luik", "Bergen", "Namen"]
    explainer = CHEAP["GeCo"](testing.Scorecard()).fit(X, y)
    batch = explainer.explain(rows)
    for row in range(6):
        testing.assert_same(batch[row : row + 1], explainer.explain(rows.iloc[[row]]))


@pytest.mark.parametrize("name", CHEAP)
def test_when_time_is_up_the_reason_says_so(name, monkeypatch):
    X, y = testing.applicants_in_numbers()
    slow = Clock(testing.Scorecard().predict_proba)
    set_clock(monkeypatch, slow)
    explainer = CHEAP[name](slow, classes=testing.Scorecard.classes_).fit(X, y)
    cfs = explainer.explain(X.iloc[:5], time_budget=0.5, target_class="yes")
    if name == "WIT":  # asks for nothing
        assert cfs.found.all()
        return
    waiting = cfs.predicted != "yes"
    assert waiting.any()
    assert not cfs.found[waiting].any()
    assert set(cfs.reasons[waiting]) == {f"time_budget was used up before {name} reached 'yes'"}


@pytest.mark.parametrize("name", ["GeCo", "GrowingSpheres"])
def test_of_many_rows_some_have_answers_when_time_is_too_short_for_all(name, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    slow = Clock(by_first_feature(0.0), call=0.0, row=1.0)
    set_clock(monkeypatch, slow)
    method = functools.partial(CHEAP[name], **({"n_samples": 40, "first_radius": 9.0} if name != "GeCo" else {}))
    explainer = method(slow, classes=[0, 1]).fit(X)
    cfs = explainer.explain(X[:40], time_budget=1000.0)
    assert 1 <= cfs.found.sum() < 40
    assert [reason is None for reason in cfs.reasons] == cfs.found.tolist()


def test_what_the_model_does_not_accept_is_not_found():
    class Wrong(WIT):
        def _search_of(self, training, values):
            def search(question):
                found = Found.nothing(question)
                found.take(0, question.rows[0] + 0.25)
                found.take(1, question.rows[1])
                return found

            return search

    X = np.array([[0.0], [1.0]])
    cfs = Wrong(by_first_feature(0.5), classes=[0, 1]).fit(X).explain(np.array([[0.0], [0.0]]))
    assert not cfs.found.any()
    assert set(cfs.reasons) == {"what Wrong found is not 1 when the model is asked about it"}


def test_rows_that_end_at_once_do_not_end_the_others(monkeypatch):
    monkeypatch.setattr(lock_step, "CELLS_PER_CALL", 1)  # one row at a time
    X = np.linspace(0, 10, 20)[:, None]
    rows = np.array([[np.nan], [1.0], [np.nan], [2.0]])
    model = lambda X: np.column_stack([~(X[:, 0] >= 5), X[:, 0] >= 5]).astype(float)
    cfs = CHEAP["GrowingSpheres"](model, classes=[0, 1]).fit(X).explain(rows)
    assert cfs.found.tolist() == [False, True, False, True]
    assert cfs.reasons[0] == "no feature can be moved towards 1: all are missing, or never vary in training"


@pytest.mark.deep
@pytest.mark.parametrize("at_once", [1, *deep(9)])
def test_searches_that_ended_hold_no_memory(at_once, monkeypatch):
    monkeypatch.setattr(lock_step, "CELLS_PER_CALL", at_once * 100 * 5 * 30 * 30)
    monkeypatch.setattr(RememberedRows, "_most_cells", 0)  # what the model said is remembered, up to a limit
    X = np.random.default_rng(0).normal(size=(200, 30))
    model = lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float)
    explainer = GeCo(model, classes=[0, 1], max_generations=3).fit(X)

    def peak(n_rows):
        tracemalloc.start()
        explainer.explain(X[:n_rows])
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(3 * at_once) < 1.5 * peak(at_once)


def test_what_was_found_before_time_was_up_is_handed_out_with_a_note(monkeypatch):
    X = np.random.default_rng(0).random((500, 3))
    slow = Clock(by_first_feature(0.5), call=1.0)
    set_clock(monkeypatch, slow)
    explainer = GeCo(slow, classes=[0, 1], min_generations=50).fit(X)
    cfs = explainer.explain(X.min(axis=0, keepdims=True), time_budget=30.0)
    assert cfs.found[0]
    assert cfs.notes[0] == "time_budget was used up before the search ended: this is the best so far"


@pytest.mark.parametrize("name", CHEAP)
def test_a_decision_rule_is_kept(name):
    X, _ = testing.applicants_in_numbers(300)
    p = lambda X: 1 / (1 + np.exp(-(np.nan_to_num(np.asarray(X["age"], float)) - 60) / 10))
    model = lambda X: np.column_stack([1 - p(X), p(X)])
    explainer = CHEAP[name](model, classes=["no", "yes"], decision=0.12).fit(X)
    cfs = explainer.explain(X.iloc[:60])
    assert cfs.found.any()
    yes = p(cfs.to_frame()[cfs.found]) >= 0.12
    assert (yes == (cfs.predicted[cfs.found] == "no")).all()


def test_with_a_cut_off_how_far_a_row_is_grows_on_both_sides_of_it():
    X = pd.DataFrame({"p": np.linspace(0, 1, 101)})
    model = lambda X: np.column_stack([1 - X["p"], X["p"]])
    seen = {}

    class Spy(WIT):
        def _search_of(self, training, values):
            search = super()._search_of(training, values)

            def look(question):
                seen["said"] = towards(question, np.zeros(101, dtype=int), X.to_numpy())
                return search(question)

            return look

    for decision, border in ((None, 0.505), (0.12, 0.115), (0.8, 0.795)):
        Spy(model, classes=[0, 1], decision=decision).fit(X).explain(X.iloc[[0]])
        is_accepted, far = seen["said"]
        assert (is_accepted == (X["p"] > border)).all()
        assert (is_accepted == (far > 0.5)).all()
        assert (np.diff(far) > 0).all()
        assert decision is not None or np.allclose(far, X["p"], atol=1e-12)


def test_numpy_polars_and_frames_give_the_same():
    pl = pytest.importorskip("polars")
    X = np.random.default_rng(0).integers(0, 9, (80, 3)).astype(float)
    score = lambda X: np.clip(np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X).sum(axis=1) / 27, 0, 1)
    model = lambda X: np.column_stack([1 - score(X), score(X)])
    for method in CHEAP.values():
        answers = [
            method(model, classes=[0, 1]).fit(table).explain(table[:20]).to_numpy()
            for table in (X, pd.DataFrame(X, columns=["a", "b", "c"]), pl.DataFrame(X, schema=["a", "b", "c"]))
        ]
        np.testing.assert_array_equal(answers[0], answers[1])
        np.testing.assert_array_equal(answers[0], answers[2])


def test_progress_is_told():
    X, y = testing.applicants_in_numbers()
    for name, method in CHEAP.items():
        told = []
        method(testing.Scorecard()).fit(X, y).explain(X.iloc[:10], progress=lambda done, total, told=told: told.append((done, total)))  # fmt: skip
        assert told, name
        assert all(total == 10 for _, total in told)
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert told[-1] == (10, 10)


@pytest.mark.parametrize("partner", ["nearest", "fewest_differences"])
def test_the_case_base_equals_a_comparison_of_all_pairs(partner):
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 4, (3000, 6)), np.round(random.random((3000, 2)), 1)]).astype(float)
    X[random.random(X.shape) < 0.05] = np.nan
    classes = random.integers(0, 3, 3000)
    is_categorical = np.array([True] * 6 + [False] * 2)
    X[:, :6] = np.nan_to_num(X[:, :6], nan=-1.0)
    distance = Heom.of(X, is_categorical, "range")
    difference = Difference.of(distance, 0.2)
    partners = best_partners(X, classes, 3, difference=difference, most=2, distance=distance, partner=partner)
    for i in range(0, 3000, 61):
        rows = np.tile(X[i], (3000, 1))
        n_differ, apart = difference.features(rows, X).sum(axis=1), distance.between(rows, X)
        for c in range(3):
            good = np.flatnonzero((classes == c) & (c != classes[i]) & (n_differ > 0) & (n_differ <= 2))
            if partner == "fewest_differences":
                good = good[n_differ[good] == n_differ[good].min(initial=3)]
            best = good[np.argmin(apart[good])] if len(good) else -1
            assert partners[i, c] == best


# Bad input -----------------------------------------------------------------------------------------------------------


def test_growing_spheres_refuses_categories_at_fit():
    X, y = testing.applicants()
    with pytest.raises(
        SchemaError, match="takes numbers only, but 'home', 'guarantor', 'city' are categorical. Use another algorithm"
    ):
        GrowingSpheres(testing.Scorecard()).fit(X, y)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (CBR, {"tolerance": -0.1}, "tolerance must be a number of at least 0, got -0.1"),
        (CBR, {"max_differences": 0}, "max_differences must be a whole number of at least 1, got 0"),
        (SEDC, {"expansions": 0}, "expansions must be a whole number of at least 1, or None, got 0"),
        (CBR, {"partner": "nearst"}, "partner='nearst' is not known.*Did you mean 'nearest'"),
        (CBR, {"neighbors": 2.5}, "neighbors must be a whole number of at least 1, or None, got 2.5"),
        (GeCo, {"population": 0}, "population must be a whole number of at least 1, got 0"),
        (GeCo, {"min_generations": 9, "max_generations": 3}, "min_generations=9 is more than max_generations=3"),
        (GeCo, {"weight_l0": 0, "weight_l1": 0}, "weight_l0 and weight_l1 are both 0"),
        (GeCo, {"groups": [["age"]]}, "at least two features"),
        (GeCo, {"groups": [["age", "hoem"]]}, "groups names 'hoem', which is not a column of X.*Did you mean 'home'"),
        (GeCo, {"random_state": -1}, "random_state must be an integer"),
        (GrowingSpheres, {"first_radius": 0}, "first_radius must be a number above 0, got 0"),
        (GrowingSpheres, {"first_radius": 1e300}, r"first_radius must be a number above 0 and below 1e100, got 1e\+300"),
        (GrowingSpheres, {"n_samples": True}, "n_samples must be a whole number of at least 1, got True"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_named_at_fit(method, options, message):
    X, y = testing.applicants()
    with pytest.raises(OptionError, match=message):
        method(testing.Scorecard(), **options).fit(X, y)


@pytest.mark.parametrize("method", [WIT, CBR, SEDC, GeCo, GrowingSpheres])
def test_bad_calls_are_refused_as_in_the_core(method):
    X, y = testing.applicants_in_numbers()
    with pytest.raises(NotFittedError, match=f"this {method.__name__} is not fitted yet"):
        method(testing.Scorecard()).explain(X)
    explainer = method(testing.Scorecard()).fit(X, y)
    with pytest.raises(OptionError, match="target_class='maybe' is not a class"):
        explainer.explain(X, target_class="maybe")
    with pytest.raises(SchemaError, match="columns that fit saw are missing: 'age'"):
        explainer.explain(X.drop(columns="age"))
    with pytest.raises(OptionError, match="time_budget must be a number of seconds above 0"):
        explainer.explain(X, time_budget=0)
    with pytest.raises(OptionError, match="progress='yes' is not known"):
        explainer.explain(X, progress="yes")


def test_a_fit_that_fails_leaves_the_explainer_as_it_was():
    X, y = testing.applicants_in_numbers()
    explainer = GrowingSpheres(testing.Scorecard(), n_samples=50).fit(X, y)
    before = explainer.explain(X.iloc[:5])
    with pytest.raises(SchemaError):
        explainer.fit(*testing.applicants())
    testing.assert_same(before, explainer.explain(X.iloc[:5]))


@pytest.mark.deep
def test_importing_the_baselines_brings_nothing_heavy():
    code = "import sys, nicecf.baselines; print([m for m in ('dice_ml', 'torch', 'tensorflow', 'polars') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


@pytest.mark.deep
def test_a_trained_forest_is_explained_by_all_of_them():
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    for name, method in CHEAP.items():
        cfs = method(model).fit(X, y).explain(X[:30])
        assert cfs.found.mean() > 0.5, name
        assert (model.predict(cfs.to_numpy()[cfs.found]) != model.predict(X[:30][cfs.found])).all(), name
        assert cfs.to_numpy().dtype == np.float32, name
