"""Where the authors' package NICEx 0.2.3 gives wrong answers, crashes or hangs: we must not."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import softmax

from nicecf import NICE, ModelError, OptionError, SchemaError
from nicecf.rewards import Round, plausibility, sparsity
from nicecf.search.distance import Heom
from nicecf.testing import assert_same


def linear(n_classes, n_features, seed):
    weights = np.random.default_rng(seed).normal(size=(n_features, n_classes))
    return lambda X: softmax(np.asarray(X, dtype=float) @ weights, axis=1)


def table(n_rows, n_features, seed):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


@pytest.mark.parametrize("optimize", ["sparsity", "proximity", "plausibility"])
@pytest.mark.parametrize("n_classes", [3, 4, 5])
def test_1_many_classes_and_any_other_class(optimize, n_classes):
    """An argmax over hybrids x classes picked a wrong row, or none."""
    model = linear(n_classes, 6, seed=n_classes)
    X = table(150, 6, seed=1)
    y = model(X).argmax(axis=1)
    cfs = NICE(model, optimize=optimize, search="greedy", random_state=0).fit(X, y).explain(X)
    assert cfs.found.all()
    assert (model(cfs.to_numpy()).argmax(axis=1) != y).all()


def test_1_the_step_is_the_best_of_all_hybrids():
    model = linear(4, 5, seed=3)
    X = table(80, 5, seed=2)
    y = model(X).argmax(axis=1)
    cfs = NICE(model, search="greedy").fit(X, y).explain(X[:30])
    for one, row, own in zip(cfs, X, y, strict=False):
        gains = []
        for j in range(5):
            hybrid = row.copy()
            hybrid[j] = X[one.donor, j]
            p = model(hybrid[None])[0]
            gains.append(np.delete(p, own).max() - p[own])
        assert one.changes[0].feature == f"x{int(np.argmax(gains))}"


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_2_the_dtype_of_the_row_never_keeps_it_from_the_donors_value(dtype):
    """int and float32 rows could not hold the donor's value, and the walk never ended."""
    X = np.array([[0.0, 0.0], [1.3, 2.7], [1.1, 0.1]])
    model = lambda X: np.column_stack([X.sum(axis=1) < 3.9, X.sum(axis=1) >= 3.9]).astype(float)
    cfs = NICE(model).fit(X, [0, 1, 0]).explain(np.array([[0, 0]], dtype=dtype))
    assert cfs.to_numpy().tolist() == [[1.3, 2.7]]
    assert model(cfs.to_numpy())[0, 1] == 1


def test_2_float32_rows_and_a_model_of_trees():
    from sklearn.ensemble import RandomForestClassifier

    X = table(200, 4, seed=5)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    nice = NICE(forest).fit(X, y)
    rows = table(100, 4, seed=6).astype(np.float32)
    cfs = nice.explain(rows)
    assert (forest.predict(cfs.to_numpy()) != forest.predict(rows)).all()
    assert np.array_equal(cfs.to_numpy(), nice.explain(rows.astype(np.float64)).to_numpy())


def test_3_a_missing_category_shared_with_the_donor_is_no_difference():
    """NaN != NaN kept a column different for ever."""
    X = np.array([[None, 0, 0], [None, 1, 1]], dtype=object)
    model = lambda X: np.array([[0.1, 0.9] if row[1] == 1 == row[2] else [0.9, 0.1] for row in X])
    one = NICE(model, categorical_features=[0]).fit(X, ["n", "y"]).explain(X[[0]])[0]
    assert [change.feature for change in one.changes] == ["x1", "x2"]


def test_4_one_missing_number_does_not_spoil_all_distances():
    X = np.array([[9.0], [np.nan], [5.0], [0.0]])
    model = lambda X: np.column_stack([X[:, 0] < 4, ~(X[:, 0] < 4)]).astype(float)
    nice = NICE(model).fit(X, [1, 1, 1, 0])
    assert list(nice.explain(np.array([[3.0]])).donors) == [2]


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [1, 2], ["bad", "good"], [False, True], [1.0, 2.0]])
def test_5_labels_are_labels_and_not_positions(labels):
    X = table(100, 3, seed=7)
    model = linear(2, 3, seed=8)
    noise = np.random.default_rng(9).random(100) < 0.1
    codes = np.where(noise, 1 - model(X).argmax(axis=1), model(X).argmax(axis=1))
    reference = NICE(model, search="greedy").fit(X, codes).explain(X)
    cfs = NICE(model, search="greedy").fit(X, np.array(labels)[codes]).explain(X)
    assert np.array_equal(cfs.to_numpy(), reference.to_numpy())
    assert set(cfs.predicted_after) == set(labels)
    donors = np.array(cfs.donors, dtype=int)
    assert not noise[donors].any()


def test_6_without_labels_the_message_says_what_to_do():
    X = table(20, 2, seed=1)
    with pytest.raises(SchemaError, match=r"y is missing.*justified=False"):
        NICE(linear(2, 2, 0)).fit(X)
    assert NICE(linear(2, 2, 0), justified=False, classes=["a", "b"]).fit(X).explain(X).found.all()


def test_7_one_label_is_a_target_and_the_own_class_changes_nothing():
    X = table(60, 3, seed=1)
    model = linear(3, 3, seed=2)
    y = model(X).argmax(axis=1)
    nice = NICE(model).fit(X, y)
    cfs = nice.explain(X, target_class=2)
    assert cfs.found.all()
    assert set(cfs.predicted_after) == {2}
    assert np.array_equal(cfs.to_numpy()[y == 2], X[y == 2])
    assert (model(cfs.to_numpy()).argmax(axis=1) == 2).all()


def test_7_an_unknown_class_is_a_named_error():
    X = table(30, 3, seed=1)
    model = linear(3, 3, seed=2)
    nice = NICE(model).fit(X, model(X).argmax(axis=1))
    with pytest.raises(OptionError, match=r"target_class=7 is not a class of the model; choose one of 0, 1, 2"):
        nice.explain(X, target_class=7)


def test_8_three_rows_give_three_answers():
    X = table(60, 3, seed=1)
    model = linear(2, 3, seed=2)
    y = model(X).argmax(axis=1)
    cfs = NICE(model, optimize="none").fit(X, y).explain(X[:3])
    assert cfs.to_numpy().shape == (3, 3)
    assert (model(cfs.to_numpy()).argmax(axis=1) == 1 - y[:3]).all()


def test_9_a_constant_column_does_not_drown_the_others():
    X = np.column_stack([table(50, 2, seed=4), np.full(50, 3.0)])
    model = lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float)
    nice = NICE(model, optimize="none").fit(X, (X[:, 0] >= 0).astype(int))
    usual, odd = np.array([[-0.1, 0.5, 3.0]]), np.array([[-0.1, 0.5, 1e6]])
    assert list(nice.explain(odd).donors) == list(nice.explain(usual).donors)


@pytest.mark.deep
def test_10_threads_do_not_disturb_one_another():
    X = table(200, 4, seed=1)
    model = linear(3, 4, seed=2)
    nice = NICE(model, optimize="proximity").fit(X, model(X).argmax(axis=1))
    serial = [nice.explain(X[i : i + 1]) for i in range(60)]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(lambda i: nice.explain(X[i : i + 1]), range(60)))
    for one, other in zip(serial, threaded, strict=True):
        assert_same(one, other)


def test_11_nothing_the_caller_gave_is_written_to():
    X = np.array([[1, "a"], [2, "b"], [3, "a"]], dtype=object)
    row = np.array([[1, "a"]], dtype=object)
    model = lambda X: np.array([[0.0, 1.0] if row[0] > 2 else [1.0, 0.0] for row in X])
    cfs = NICE(model, categorical_features=[1]).fit(X, [0, 0, 1]).explain(row)
    assert X.tolist() == [[1, "a"], [2, "b"], [3, "a"]]
    assert [type(cell) for cell in X[:, 0]] == [int, int, int]
    assert row.tolist() == [[1, "a"]]
    assert type(row[0, 0]) is int
    assert cfs.to_numpy().tolist() == [[3, "a"]]


def test_12_a_target_without_donors_is_a_value_with_a_reason():
    X = table(40, 2, seed=1)
    never = lambda X: np.tile([0.9, 0.1], (len(X), 1))
    cfs = NICE(never, classes=["denied", "approved"]).fit(X, ["denied"] * 40).explain(X[:2])
    assert not cfs.found.any()
    assert cfs.reasons[0] == ("the model predicts 'denied' for all 40 training rows, so no donor for 'approved' exists")
    assert np.isnan(cfs.to_numpy()).all()


def test_12_a_model_that_changed_since_fit_is_noticed():
    X = table(40, 2, seed=1)
    weights = [linear(2, 2, seed=3)]
    model = lambda X: weights[0](X)
    nice = NICE(model).fit(X, model(X).argmax(axis=1))
    assert nice.explain(X).found.all()
    weights[0] = linear(2, 2, seed=4)
    with pytest.raises(ModelError, match="the model is not the one that fit saw.*call fit again"):
        nice.explain(X)


def test_12_a_model_that_changed_for_one_row_only_never_passes_it_off_as_its_own_counterfactual():
    later = []

    def model(X):
        p = (X[:, 0] >= 1).astype(float)
        p[(X[:, 0] == 2) & bool(later)] = 0.0
        return np.column_stack([1 - p, p])

    nice = NICE(model).fit(np.array([[0.0], [1.0], [2.0]]), [0, 1, 1])
    later.append(True)
    with pytest.raises(ModelError, match="the model is not the one that fit saw: for training row 2"):
        nice.explain(np.array([[2.0]]))


def test_13_the_plausibility_reward_is_the_papers_product_and_says_so():
    """Two negative factors make a positive product: kept in the paper's search, and written down."""
    hybrids = Round(
        features=np.arange(3),
        score=np.array([-0.4, 0.1, 0.05]),
        previous_score=np.zeros(3),
        distance=np.ones(3),
        previous_distance=np.zeros(3),
        step_distance=np.ones(3),
        error=np.array([5.0, 1.0, 0.5]),
        previous_error=np.ones(3),
    )
    assert plausibility(hybrids).tolist() == pytest.approx([1.6, 0.0, 0.025])
    assert sparsity(hybrids).argmax() == 1
    assert "also positive where the score falls and the error rises" in plausibility.__doc__


def test_14_arrays_of_text_of_any_width_agree():
    X = np.array([["a", "x"], ["bbbb", "yyyy"], ["a", "yyyy"]])
    model = lambda X: np.array([[0.2, 0.8] if list(row) == ["bbbb", "yyyy"] else [0.8, 0.2] for row in X])
    row = np.array([["a", "x"]])
    assert row.dtype == "<U1"
    fixed = NICE(model, categorical_features=[0, 1]).fit(X, [0, 1, 0]).explain(row)
    objects = NICE(model, categorical_features=[0, 1]).fit(X.astype(object), [0, 1, 0]).explain(row.astype(object))
    assert fixed.to_numpy().tolist() == objects.to_numpy().tolist() == [["bbbb", "yyyy"]]


def test_a_row_outside_the_training_range_is_measured_as_it_is():
    heom = Heom.of(np.array([[0.0], [1.0]]), np.array([False]), "range")
    assert heom.between(np.array([[5.0]]), np.array([[0.0]]))[0] == 5.0
