"""The measures of the experiments, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from clock import Clock
from nicecf import NICE, metrics
from nicecf.exceptions import OptionError, SchemaError
from nicecf.metrics import Reference
from nicecf.search.autoencoder import Autoencoder, Inputs
from nicecf.testing import Scorecard, applicants

TRAINING = pd.DataFrame(
    {
        "age": [20.0, 30.0, 40.0, 60.0],  # range 40; mean 37.5, deviation sqrt(218.75)
        "debt": [0.0, 0.0, 4.0, 4.0],  # range 4, deviation 2
        "home": ["own", "rent", "rent", "own"],
    }
)
X = pd.DataFrame({"age": [30.0, 20.0, 50.0], "debt": [1.0, 2.0, 3.0], "home": ["own", "own", "rent"]})
# Ten years, one unit of debt and another home; nothing; none.
FOUND = pd.DataFrame({"age": [40.0, 20.0, np.nan], "debt": [2.0, 2.0, np.nan], "home": ["rent", "own", None]})
AGE_STD = math.sqrt(218.75)


@pytest.mark.parametrize(
    ("norm", "scale", "expected"),
    [
        ("l1", "range", 10 / 40 + 1 / 4 + 1),
        ("l1", "std", 10 / AGE_STD + 1 / 2 + 1),
        ("l2", "range", math.sqrt((10 / 40) ** 2 + (1 / 4) ** 2 + 1)),
        ("l2", "std", math.sqrt((10 / AGE_STD) ** 2 + (1 / 2) ** 2 + 1)),
    ],
)
def test_proximity_by_hand(norm, scale, expected):
    measured = metrics.proximity(X, FOUND, Reference.of(TRAINING), norm=norm, scale=scale)
    assert measured[:2] == pytest.approx([expected, 0.0])
    assert np.isnan(measured[2])


def test_sparsity_counts_what_differs():
    np.testing.assert_array_equal(metrics.sparsity(X, FOUND), [3.0, 0.0, np.nan])
    gaps = pd.DataFrame({"a": [np.nan, 1.0], "b": ["x", None]})
    filled = pd.DataFrame({"a": [np.nan, np.nan], "b": ["y", "x"]})
    np.testing.assert_array_equal(metrics.sparsity(gaps, filled), [1.0, 2.0])


def test_a_category_that_training_never_saw_counts_as_different():
    rows, found = X.assign(home="boat"), X.assign(home=["boat", "tent", "own"])
    np.testing.assert_array_equal(metrics.proximity(rows, found, Reference.of(TRAINING)), [0.0, 1.0, 1.0])


def test_the_mean_distance_to_the_nearest_training_rows_by_hand():
    # From (30, 0, rent): the four training rows are 10/40 + 1, 0, 10/40 + 1 and 30/40 + 1 + 1 away.
    row = pd.DataFrame({"age": [30.0], "debt": [0.0], "home": ["rent"]})
    reference = Reference.of(TRAINING)
    assert metrics.neighbor_distance(row, reference, k=3) == pytest.approx((0.0 + 1.25 + 1.25) / 3)
    assert metrics.neighbor_distance(row, reference, k=9) == pytest.approx((0.0 + 1.25 + 1.25 + 2.75) / 4)
    assert np.isnan(metrics.neighbor_distance(FOUND, reference)[2])


def constant(inputs: Inputs, made: list[float]) -> Autoencoder:
    """An autoencoder that makes the same of every row."""
    return Autoencoder(inputs, (np.zeros((len(made), len(made))),), (np.array(made),))


@pytest.fixture
def by_hand() -> Reference:
    """Two numbers with the ranges [0, 10] and [0, 20]: their inputs are x / 5 - 1 and y / 10 - 1."""
    training = np.array([[0.0, 0.0], [10.0, 20.0]])
    reference = Reference.of(training, ["low", "high"])
    inputs = Inputs.of(training, np.array([False, False]))
    reference.__dict__["autoencoder"] = constant(inputs, [0.0, 0.0])
    reference.__dict__["autoencoders"] = {"low": constant(inputs, [-1.0, -1.0]), "high": constant(inputs, [1.0, 1.0])}
    return reference


def test_the_measures_by_autoencoders_by_hand(by_hand):
    found = np.array([[7.5, 10.0], [np.nan, np.nan]])  # inputs (0.5, 0)
    before, after = ["low", "low"], ["high", None]
    error = metrics.autoencoder_error(found, by_hand)
    im1 = metrics.im1(found, by_hand, before=before, after=after)
    im2 = metrics.im2(found, by_hand, after=after)
    assert error[0] == pytest.approx(0.5**2)
    # To high: 0.5^2 + 1^2 = 1.25. To low: 1.5^2 + 1^2 = 3.25.
    assert im1[0] == pytest.approx(1.25 / 3.25)
    # What high makes of it less what all make of it is (1, 1); the inputs sum to 0.5.
    assert im2[0] == pytest.approx(2.0 / 0.5)
    assert np.isnan([error[1], im1[1], im2[1]]).all()


def test_im1_turns_round_with_the_classes(by_hand):
    found = np.array([[7.5, 10.0]])
    one = metrics.im1(found, by_hand, before=["low"], after=["high"])
    other = metrics.im1(found, by_hand, before=["high"], after=["low"])
    assert one * other == pytest.approx(1.0)
    assert np.isnan(metrics.im1(found, by_hand, before=["low"], after=["never seen"]))[0]


def test_autoencoders_of_classes_are_trained_on_their_rows_alone():
    rng = np.random.default_rng(0)
    low, high = rng.normal(0, 0.1, (150, 3)), rng.normal(1, 0.1, (150, 3))
    reference = Reference.of(np.vstack([low, high]), [0] * 150 + [1] * 150)
    assert set(reference.autoencoders) == {0, 1}
    towards_high = metrics.im1(high[:20], reference, before=[0] * 20, after=[1] * 20)
    towards_low = metrics.im1(high[:20], reference, before=[1] * 20, after=[0] * 20)
    assert (towards_high < towards_low).all()


def test_without_labels_im1_says_what_it_needs():
    reference = Reference.of(TRAINING)
    with pytest.raises(OptionError, match=r"Reference\.of\(X, y\)"):
        metrics.im1(X, reference, before=[0] * 3, after=[1] * 3)
    with pytest.raises(SchemaError, match="4 rows, but y has 2 labels"):
        Reference.of(TRAINING, [0, 1])


class FromThreeAndAHalf:
    """Says yes (60 %) from 3.5 on."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        yes = np.asarray(X)[:, 0] >= 3.5
        return np.where(yes[:, None], [0.4, 0.6], [0.8, 0.2])


def test_coverage_asks_the_model_about_the_table_as_it_is():
    rows = np.array([[1], [1], [1], [9]])
    found = np.array([[3.6], [3.4], [np.nan], [3.0]])
    assert metrics.is_valid(FromThreeAndAHalf(), rows, found).tolist() == [True, False, False, True]
    assert metrics.is_valid(FromThreeAndAHalf(), rows, found, target_class=None).tolist() == [True, False, False, True]
    assert metrics.coverage(FromThreeAndAHalf(), rows, found) == 0.5
    # The same values cut to the integers that the table holds no longer hold.
    assert metrics.coverage(FromThreeAndAHalf(), rows[:1], found[:1].astype(int)) == 0.0
    assert metrics.is_valid(FromThreeAndAHalf(), rows, found, target_class="yes").tolist() == [
        True,
        False,
        False,
        False,
    ]
    strict = metrics.is_valid(FromThreeAndAHalf(), rows, found, decision=0.7, target_class="no")
    assert strict.tolist() == [True, True, False, True]


def test_cross_model_robustness_is_about_the_class_reached():
    found = np.array([[3.6], [3.4], [np.nan]])
    np.testing.assert_array_equal(
        metrics.holds_for(FromThreeAndAHalf(), found, after=["yes", "yes", None]), [1.0, 0.0, np.nan]
    )
    np.testing.assert_array_equal(
        metrics.holds_for(FromThreeAndAHalf(), found, after=["no", "no", None]), [0.0, 1.0, np.nan]
    )


def test_cpu_seconds_times_each_row_by_itself(monkeypatch):
    clock = Clock(model=None)
    monkeypatch.setattr("nicecf.results.metrics.process_time", clock.time)
    seen = []

    def explain(row):
        seen.append(len(row))
        clock.now += float(row["age"].iloc[0])

    assert metrics.cpu_seconds(explain, X).tolist() == [30.0, 20.0, 50.0]
    assert seen == [1, 1, 1]


def test_of_several_counterfactuals_the_best_counts():
    assert metrics.best_by_row([2.0, 5.0, 3.0], [1, 1, 0], 2).tolist() == [3.0, 2.0]
    assert metrics.best_by_row([0.0, 1.0, 0.0], [1, 1, 0], 2, highest=True).tolist() == [0.0, 1.0]


def test_the_result_calls_all_of_them():
    rows, labels = applicants(200)
    model, other = Scorecard(), Scorecard()
    nice = NICE(model, optimize="plausibility").fit(rows, labels)
    cfs = nice.explain(rows.head(12))
    reference = Reference.of(rows, labels)
    table = cfs.metrics(reference, model=model, other_model=other)
    found = cfs.to_frame()
    assert list(table.index) == list(rows.index[:12])
    np.testing.assert_array_equal(table["sparsity"], metrics.sparsity(rows.head(12), found))
    np.testing.assert_allclose(table["proximity"], table["l1_range"])
    np.testing.assert_allclose(table["plausibility"], table["ae_error"])
    np.testing.assert_array_equal(table["nn5"], metrics.neighbor_distance(found, reference))
    np.testing.assert_array_equal(
        table["im1"], metrics.im1(found, reference, before=cfs.predicted, after=cfs.predicted_after)
    )
    assert table["valid"].all()
    assert (table["valid_for_other"] == 1.0).all()
    assert set(cfs.metrics()) == {"sparsity", "proximity", "plausibility", "probability", "rounds"}
    assert cfs[3].metrics(reference)["l2_std"].iloc[0] == table["l2_std"].iloc[3]


def test_what_was_not_found_has_no_measure_and_is_not_valid():
    rows = np.array([[0.0], [1.0]])
    model = lambda X: np.tile([0.9, 0.1], (len(X), 1))
    cfs = NICE(model).fit(rows, [0, 1]).explain(rows)
    table = cfs.metrics(Reference.of(rows), model=model, other_model=model)
    assert not cfs.found.any()
    assert not table["valid"].any()
    assert table[["l1_range", "l2_std", "ae_error", "nn5", "valid_for_other"]].isna().all(axis=None)


@pytest.mark.parametrize("container", ["pandas", "polars", "numpy"])
def test_every_container_gives_the_same_numbers(container):
    numbers, reached = X[["age", "debt"]], FOUND[["age", "debt"]]
    training = TRAINING[["age", "debt"]]
    expected = metrics.proximity(numbers, reached, Reference.of(training))
    if container == "polars":
        polars = pytest.importorskip("polars", reason="the polars extra is not installed")
        turn = lambda frame: polars.DataFrame(frame.to_dict("list"), nan_to_null=True)
    else:
        turn = lambda frame: frame.to_numpy() if container == "numpy" else frame
    measured = metrics.proximity(turn(numbers), turn(reached), Reference.of(turn(training)))
    np.testing.assert_array_equal(measured, expected)


@pytest.mark.parametrize(
    "measure", [metrics.sparsity, lambda X, found: metrics.proximity(X, found, Reference.of(TRAINING))]
)
def test_one_counterfactual_for_each_row(measure):
    with pytest.raises(SchemaError, match="there are 3 rows, but 1 counterfactuals: pass one for each row"):
        measure(X, FOUND.head(1))


def test_labels_that_are_not_one_for_each_counterfactual(by_hand):
    found = np.array([[7.5, 10.0], [1.0, 2.0]])
    for wrong in (["low"], "low", None, 0):
        with pytest.raises(OptionError, match="after must be a list or array of 2 labels, one for each counterfactual"):
            metrics.im2(found, by_hand, after=wrong)
    with pytest.raises(OptionError, match="a position from 0 to 1"):
        metrics.best_by_row([1.0, 2.0], [0, 2], 2)
    with pytest.raises(SchemaError, match="3 rows, but 2 counterfactuals"):
        metrics.coverage(FromThreeAndAHalf(), np.zeros((3, 1)), np.zeros((2, 1)))


def test_distances_that_differ_by_the_order_of_a_sum_tie():
    training = np.array([[0.0] * 3, [10.0] * 3])
    parts = [1.0, 2.2, 3.7]
    rows = np.zeros((2, 3))
    found = np.array([parts, parts[::-1]])
    reference = Reference.of(training)
    for norm in ("l1", "l2"):
        one, other = metrics.proximity(rows, found, reference, norm=norm)
        assert one == other


def test_a_mask_says_which_rows_hold_a_counterfactual():
    rows, found = np.array([[0.0], [1.0]]), np.array([[np.nan], [np.nan]])
    np.testing.assert_array_equal(metrics.sparsity(rows, found), [np.nan, np.nan])
    np.testing.assert_array_equal(metrics.sparsity(rows, found, found=np.array([True, False])), [1.0, np.nan])
    for wrong in ([True], [1, 0], [True, False, True]):
        with pytest.raises(OptionError, match="found must be a mask of the 2 counterfactuals"):
            metrics.sparsity(rows, found, found=wrong)


def test_a_counterfactual_of_missing_values_alone_is_one():
    rows = np.array([[1.0], [2.0], [np.nan]])
    model = lambda X: np.where(np.isnan(X), [0.1, 0.9], [0.9, 0.1])
    cfs = NICE(model).fit(rows, [0, 0, 1]).explain(rows[:1])
    table = cfs.metrics(Reference.of(rows), model=model, other_model=model)
    assert np.isnan(cfs.to_numpy()).all()
    assert (table["valid"].all(), table["l1_range"].iloc[0], table["valid_for_other"].iloc[0]) == (True, 1.0, 1.0)
