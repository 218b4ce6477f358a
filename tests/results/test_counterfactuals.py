"""The answer: slices, tables, words."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Change, Constraints, OptionError
from nicecf.support.formats import percent
from nicecf.testing import Scorecard, applicants, assert_same

X, Y = applicants()


@pytest.fixture(scope="module")
def cfs():
    return NICE(Scorecard(), optimize="proximity").fit(X, Y).explain(X.iloc[:30])


def test_a_slice_a_mask_and_a_list_are_fewer_of_them(cfs):
    frame = cfs.to_frame()
    for rows in (
        slice(3, 9),
        np.arange(30) % 4 == 1,
        [7, 2, 2],
        np.array([5]),
        slice(None, None, -1),
        -1 * np.ones(1, int),
    ):
        some = cfs[rows]
        places = np.arange(30)[rows]
        assert len(some) == len(places)
        pd.testing.assert_frame_equal(some.to_frame(), frame.iloc[places])
        pd.testing.assert_frame_equal(some.metrics(), cfs.metrics().iloc[places])
        assert some.predicted.tolist() == cfs.predicted[places].tolist()
    assert_same(cfs[4:20][2:6], cfs[6:10])
    assert len(cfs[:0]) == 0
    assert "0 rows" in repr(cfs[:0])


def test_changes_of_a_slice_are_the_changes_of_its_rows(cfs):
    table = cfs.changes()
    some = cfs[[20, 3]].changes()
    expected = pd.concat([table[table["row"] == X.index[20]], table[table["row"] == X.index[3]]], ignore_index=True)
    pd.testing.assert_frame_equal(some, expected)


def test_one_row(cfs):
    one = cfs[-1]
    assert one.to_frame().equals(cfs.to_frame().iloc[[-1]])
    assert one.predicted == cfs.predicted[29]
    assert all(isinstance(change, Change) for change in one.changes)
    donors = [None if donor is pd.NA else donor for donor in cfs.donors]
    assert [row.donor for row in cfs] == donors
    assert len(set(donors)) > 2


def test_positions_that_are_not_there(cfs):
    with pytest.raises(IndexError, match="row 30 does not exist: 30 rows were explained"):
        cfs[30]
    with pytest.raises(OptionError, match="takes a position, a slice, a mask of 30 rows or a list of positions"):
        cfs[[True, False]]
    for wrong in ("applicant 3", True, [[0, 1]], slice("a", "b"), {"a": 1}):
        with pytest.raises(OptionError, match="a list of positions"):
            cfs[wrong]
    assert len(cfs[[]]) == 0


def test_steps_are_ordered_and_the_last_probability_is_that_of_the_counterfactual(cfs):
    table = cfs.changes()
    for label, steps in table.groupby("row", sort=False):
        place = X.index.get_loc(label)
        assert steps["step"].tolist() == list(range(1, len(steps) + 1))
        assert steps["probability"].iloc[-1] == cfs.probability[place]


def test_the_probability_of_each_step_is_what_the_model_says(cfs):
    row = X.iloc[[0]].copy()
    after = Scorecard.classes_.tolist().index(cfs.predicted_after[0])
    for change in cfs[0].changes:
        row[change.feature] = pd.Series([change.after], index=row.index, dtype=row[change.feature].dtype)
        assert Scorecard().predict_proba(row)[0, after] == change.probability


def test_metrics_are_those_of_the_rows():
    X = pd.DataFrame({"a": [0.0, 4.0, 1.0], "b": ["x", "y", "x"]})
    model = lambda X: np.column_stack([X["a"] < 3, X["a"] >= 3]).astype(float)
    nice = NICE(model, optimize="none", plausibility=lambda X: X["a"] * 10).fit(X, [0, 1, 0])
    metrics = nice.explain(X.iloc[[2, 1]]).metrics()
    assert metrics.index.tolist() == [2, 1]
    assert metrics.to_dict("list") == {
        "sparsity": [2, 2], "proximity": [1.75, 1.75], "plausibility": [40.0, 10.0], "probability": [1.0, 1.0],
        "rounds": [1, 1],
    }  # fmt: skip
    already = nice.explain(X.iloc[[1]], target_class=1).metrics()
    assert already[["sparsity", "proximity", "rounds"]].to_numpy().tolist() == [[0, 0, 0]]


def test_metrics_of_a_row_that_was_not_found_are_missing():
    nice = NICE(lambda X: np.tile([0.8, 0.2], (len(X), 1))).fit(np.eye(2), [0, 1])
    metrics = nice.explain(np.eye(2)).metrics()
    assert metrics.isna().all(axis=None)


def loans():
    X = pd.DataFrame({"income": [10, 40, 30], "home": ["rent", "own", "rent"]})

    def model(X):
        p = (X["income"] / 100 + (X["home"] == "own") * 0.3).to_numpy()
        return np.column_stack([p, 1 - p])

    return NICE(model).fit(X, ["denied", "approved", "denied"]), X


def test_one_answer_in_words():
    nice, X = loans()
    one = nice.explain(X.iloc[[0]])[0]
    assert one.text() == (
        "If home were own instead of rent and income were 30 instead of 10, the model would say approved "
        "instead of denied: the probability of approved would be 60 % instead of 10 %."
    )
    assert repr(one).splitlines() == [
        one.text(),
        "",
        "feature  before  after  P(approved)",
        "home     rent    own    40 %",
        "income   10      30     60 %",
    ]
    assert str(one.changes[1]) == "income: 10 -> 30"
    assert nice.explain(X.iloc[[0]], target_class="denied")[0].text() == (
        "The model says denied already: the probability of denied is 90 %. Nothing has to change."
    )


def test_many_answers_in_words():
    nice, X = loans()
    lines = repr(nice.explain(pd.concat([X] * 5, ignore_index=True))).splitlines()
    assert lines[0] == "Counterfactuals: 15 rows, 15 found (100.0%), 1.3 changes on average"
    assert lines[1] == "  0  denied -> approved  home: rent -> own, income: 10 -> 30"
    assert lines[-1] == "  ... and 5 more rows"
    assert len(lines) == 12


def test_not_found_in_words():
    nice = NICE(lambda X: np.tile([0.8, 0.2], (len(X), 1)), classes=["no", "yes"]).fit(np.eye(2), ["no", "yes"])
    cfs = nice.explain(np.eye(2))
    assert cfs[0].text() == f"No counterfactual: {cfs.reasons[0]}."
    assert cfs[0].donor is None
    assert cfs[0].predicted_after is None
    assert "no: not found, the model predicts 'no' for all 2 training rows" in repr(cfs)
    assert "not found" in cfs._repr_html_()


def test_unjustified_donors_are_offered_in_the_reason():
    nice = NICE(lambda X: np.column_stack([X[:, 0], 1 - X[:, 0]]), classes=["no", "yes"], search="greedy")
    cfs = nice.fit(np.eye(2), ["no", "no"]).explain(np.eye(2)[:1])
    assert cfs.reasons[0] == (
        "the model puts 1 of 2 training rows in 'yes', but the label of none of them agrees, so there is no donor; "
        "justified=False would use them"
    )


def test_html_escapes_whatever_the_table_holds():
    evil = "<script>alert(1)</script>"
    X = pd.DataFrame({evil: [evil, "fine"]}, index=["<i>row</i>", "b"])
    model = lambda X: np.column_stack([X[evil] == evil, X[evil] != evil]).astype(float)
    cfs = NICE(model, classes=["<b>no</b>", "yes"]).fit(X, ["<b>no</b>", "yes"]).explain(X)
    for html in (cfs._repr_html_(), cfs[0]._repr_html_(), cfs[1]._repr_html_()):
        assert "<script" not in html
        assert "<b>no" not in html
        assert "<i>" not in html
        assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("probability", "said"), [(1.0, "100 %"), (0.999, ">99 %"), (0.5, "50 %"), (0.001, "<1 %"), (0.0, "0 %")]
)
def test_a_probability_is_never_rounded_to_certainty(probability, said):
    model = lambda X: np.where(X[:, [0]] > 0, [1 - probability, probability], [0.9, 0.1])
    if probability > 0.5:
        assert (
            f"of 1 would be {said} "
            in NICE(model).fit(np.array([[0.0], [1.0]]), [0, 1]).explain(np.array([[0.0]]))[0].text()
        )
    else:
        assert percent(probability) == said


def test_the_answer_is_frozen(cfs):
    with pytest.raises(AttributeError):
        cfs.found = None


@pytest.mark.parametrize(
    "asked",
    [
        {"optimize": "proximity"},
        {"optimize": "plausibility", "neighbors": 3},
        {"search": "greedy"},
        {"search": "greedy", "optimize": "none"},
    ],
    ids=str,
)
@pytest.mark.deep
def test_another_search_of_the_same_explainer_answers_as_one_fitted_for_it(asked):
    nice = NICE(Scorecard(), search="thorough", optimize="balanced").fit(X, Y)
    asked = {"optimize": "sparsity", **asked}
    other = nice.with_search(**asked).explain(X.iloc[:20])
    fitted_for_it = NICE(Scorecard(), **{"search": "thorough", **asked}).fit(X, Y).explain(X.iloc[:20])
    assert other.to_frame().equals(fitted_for_it.to_frame())
    assert other.changes().equals(fitted_for_it.changes())
    assert other.batch.provenance.options["optimize"] == asked["optimize"]
    assert nice.search == "thorough"


def test_another_search_that_needs_what_was_not_learned_is_refused():
    nice = NICE(lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])).fit(np.array([[0.0], [1.0]]), [0, 1])
    for asked in ({"optimize": "plausibility"}, {"search": "thorough", "optimize": "balanced"}):
        with pytest.raises(OptionError, match="fitted without a measure of plausibility"):
            nice.with_search(**asked)
    with pytest.raises(OptionError, match="Did you mean 'sparsity'"):
        nice.with_search(optimize="sparcity")


def test_whole_numbers_stay_whole_beside_rows_without_a_counterfactual():
    table = pd.DataFrame({"score": [1, 9, 9], "fixed": [0, 0, 0]})
    model = lambda X: np.column_stack([X["score"] < 5, X["score"] >= 5]).astype(float)
    rules = [None, Constraints(immutable=["score"])]
    cfs = NICE(model).fit(table, [0, 1, 1]).explain(table.iloc[[0, 0]], constraints=rules)
    assert cfs.found.tolist() == [True, False]
    assert repr(cfs.changes()["after"].iloc[0]) == "9"
    assert repr(cfs.to_records()[0]["counterfactual"]["score"]) == "9"
    assert cfs.to_frame()["score"].isna().tolist() == [False, True]


def test_another_search_leaves_the_thorough_one_and_refuses_options_set_after_fit():
    nice = NICE(Scorecard(), search="thorough", neighbors=3).fit(X, Y)
    assert nice.with_search(search="greedy").neighbors is None
    nice.set_params(share_donor=False)
    with pytest.raises(OptionError, match="'share_donor' was changed after fit"):
        nice.with_search(search="greedy")


def test_the_fingerprint_of_a_model_does_not_depend_on_options():
    prints = {
        NICE(Scorecard(), **options).fit(X, Y).explain(X.iloc[:1]).batch.provenance.fingerprints["model"]
        for options in ({}, {"scale": "std"}, {"justified": False}, {"min_probability": 0.6})
    }
    assert len(prints) == 1


def test_a_deep_copy_still_knows_its_explainer(cfs):
    assert copy.deepcopy(cfs).batch.provenance.maker is cfs.batch.provenance.maker
    assert pickle.loads(pickle.dumps(cfs)).batch.provenance.maker is None


@pytest.mark.parametrize("n_counterfactuals", [1, 3])
@pytest.mark.parametrize("has_measure", [True, False], ids=["plausibility", "none"])
def test_nothing_in_the_pareto_set_of_a_row_beats_another_member(n_counterfactuals, has_measure):
    measure = {"plausibility": lambda X: 60.0 - X["age"].to_numpy(dtype=float)} if has_measure else {}
    nice = NICE(Scorecard(), search="thorough", **measure).fit(X, Y)
    front = nice.explain(X.iloc[:40], n_counterfactuals=n_counterfactuals).pareto()
    measures = front.metrics()[["sparsity", "proximity", "plausibility"]].to_numpy(dtype=float)
    assert np.isnan(measures[:, 2]).all() == (not has_measure)
    sizes = []
    for row in np.unique(front.rows[front.found]):
        mine = np.nan_to_num(measures[front.rows == row])
        sizes.append(len(mine))
        is_beaten = (mine[:, None] >= mine[None]).all(axis=2) & ~np.eye(len(mine), dtype=bool)
        assert not is_beaten.any()
        assert (np.diff(mine[:, 0]) >= 0).all()
    assert max(sizes) > 1


def test_columns_that_follow_from_others_or_move_together_are_not_counted_as_changes():
    kind = np.arange(60) % 3
    flags = {f"kind_{one}": (kind == at).astype(int) for at, one in enumerate("abc")}
    table = pd.DataFrame({"half": np.arange(60) / 2, "twice": np.arange(60) * 1.0, "other": np.arange(60) % 7, **flags})
    rules = Constraints(derived={"twice": "2 * half"}, groups="auto", immutable=["other"])
    model = lambda X: np.column_stack([1 - (p := 0.1 + 0.4 * (X["twice"] > 20) + 0.4 * X["kind_b"]), p])
    row = table.iloc[[0]]
    found = (
        NICE(model, search="greedy", optimize="none", constraints=rules)
        .fit(table, model(table)[:, 1] > 0.5)
        .explain(row)
    )
    batch, changes = found.batch, found.changes()
    assert batch.is_derived.tolist() == [False, True, False, False, False, False]
    assert batch.units.tolist() == [0, -1, 1, 2, 2, 2]
    assert batch.is_together.tolist() == [False, False, False, True, True, True]
    assert dict(zip(changes["feature"], changes["derived"], strict=True)) == {
        "half": False,
        "kind_a": False,
        "kind_b": False,
        "twice": True,
    }
    assert found.metrics()["sparsity"].tolist() == batch.n_changes.tolist() == [2]
    assert [one.feature for one in found[0].changes if one.derived] == ["twice"]
    assert pickle.loads(pickle.dumps(found)).batch.n_changes.tolist() == [2]


def test_without_rules_every_column_is_a_change_of_its_own(cfs):
    assert cfs.batch.units.tolist() == list(range(len(X.columns)))
    assert not cfs.batch.is_together.any()
    assert not cfs.batch.is_derived.any()
