"""The measure of plausibility: trained when needed, and it measures."""

from itertools import pairwise

import numpy as np
import pytest

from nicecf import NICE
from nicecf.search.autoencoder import Autoencoder, Inputs, layers
from nicecf.testing import Scorecard, applicants

nan = np.nan


def test_inputs_are_one_hot_and_scaled_to_minus_one_and_one():
    training = np.array([[0.0, 0, 5], [10.0, 1, 5], [nan, 2, 5], [5.0, -1, 5]])
    inputs = Inputs.of(training, np.array([False, True, False]))
    expected = [
        #  number, missing, a, b, c, missing, constant
        [-1, 0, 1, 0, 0, 0, 0],
        [1, 0, 0, 1, 0, 0, 0],
        [0, 1, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 0],
    ]
    assert inputs(training).tolist() == expected
    assert inputs(np.array([[20.0, 7, 6]])).tolist() == [[3, 0, 0, 0, 0, 0, 1]]


def test_rare_categories_of_a_wide_column_get_no_input(monkeypatch):
    monkeypatch.setattr("nicecf.search.autoencoder._MOST_LEVELS", 2)
    training = np.array([[0.0], [1], [1], [2], [2], [2], [3]])
    inputs = Inputs.of(training, np.array([True]))
    assert inputs(np.array([[0.0], [1], [2], [3]])).tolist() == [[0, 0], [1, 0], [0, 1], [0, 0]]


def test_rows_like_the_training_rows_have_the_smaller_error():
    random = np.random.default_rng(0)
    t = random.random(2000)
    training = np.column_stack([t, t + 0.01 * random.random(2000), 1 - t, (t > 0.5).astype(float)])
    error = Autoencoder.train(training, np.array([False, False, False, True]), seed=0)
    like = error(training[:500]).mean()
    shuffled = np.column_stack([random.permutation(training[:500, j]) for j in range(4)])
    assert error(shuffled).mean() > 3 * like


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_error_is_that_of_the_network_that_was_trained():
    from sklearn.neural_network import MLPRegressor

    random = np.random.default_rng(1)
    training = random.random((300, 3))
    is_categorical = np.zeros(3, dtype=bool)
    error = Autoencoder.train(training, is_categorical, seed=3)
    table = Inputs.of(training, is_categorical)(training)
    network = MLPRegressor(
        hidden_layer_sizes=(2, 1, 2, 1, 2),
        activation="tanh",
        early_stopping=True,
        n_iter_no_change=5,
        max_iter=100,
        random_state=3,
    ).fit(table, table)
    assert error(training) == pytest.approx(((network.predict(table) - table) ** 2).sum(axis=1))


def test_it_is_trained_only_when_needed(monkeypatch):
    trained = []
    train = Autoencoder.train
    monkeypatch.setattr(
        Autoencoder, "train", lambda *args, **options: (trained.append(options), train(*args, **options))[1]
    )
    X, y = applicants()
    for options in (
        {"optimize": "sparsity"},
        {"optimize": "sparsity", "search": "greedy"},
        {"optimize": "none"},
        {"optimize": "plausibility", "plausibility": lambda X: X["age"]},
    ):
        NICE(Scorecard(), **options).fit(X, y)
    assert trained == []
    NICE(Scorecard(), optimize="plausibility", random_state=7).fit(X, y)
    assert trained == [{"seed": 7}]


def test_a_measure_of_ones_own_sees_the_table_and_decides():
    X, y = applicants()
    seen = []

    def prefers_gent(X):
        seen.append(X)
        return (X["city"] != "Gent").to_numpy(dtype=float)

    cfs = NICE(Scorecard(), optimize="plausibility", plausibility=prefers_gent).fit(X, y).explain(X.iloc[:20])
    assert all(list(frame.columns) == list(X.columns) and frame.dtypes.equals(X.dtypes) for frame in seen)
    assert cfs.metrics()["plausibility"].tolist() == prefers_gent(cfs.to_frame()).tolist()


@pytest.mark.parametrize("n_rows", [1, 5])
def test_tiny_tables_train_too(n_rows):
    training = np.arange(n_rows, dtype=float)[:, None]
    assert np.isfinite(Autoencoder.train(training, np.array([False]), seed=0)(training)).all()


def test_very_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr("nicecf.search.autoencoder._MOST_ROWS", 50)
    training = np.random.default_rng(0).random((500, 2))
    first, second = (Autoencoder.train(training, np.zeros(2, bool), seed=1)(training) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("width", [3, 40, 150, 500])
def test_errors_do_not_depend_on_the_rows_beside(width):
    random = np.random.default_rng(width)
    sizes = [width, *layers(width), width]
    weights = tuple(random.normal(size=shape) / 4 for shape in pairwise(sizes))
    biases = tuple(random.normal(size=size) for size in sizes[1:])
    training = random.random((200, width))
    error = Autoencoder(Inputs.of(training, np.zeros(width, dtype=bool)), weights, biases)
    table = signal = error.inputs(training)
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        signal = np.tanh(signal @ weight + bias)
    plain = ((signal @ weights[-1] + biases[-1] - table) ** 2).sum(axis=1)
    np.testing.assert_allclose(error(training), plain, rtol=1e-9)
    np.testing.assert_allclose(error.reconstructed(table), signal @ weights[-1] + biases[-1], rtol=1e-11, atol=1e-11)
    assert error(training[:0]).shape == (0,)
    for some in (slice(0, 1), slice(5, 38), slice(199, 3, -7)):
        assert error(training[some]).tolist() == error(training)[some].tolist()
