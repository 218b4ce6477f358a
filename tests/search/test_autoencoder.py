"""The measure of plausibility: trained when needed, and it measures."""

import itertools
import signal
import threading
from itertools import pairwise

import numpy as np
import pytest

from nicecf import NICE, LongRunWarning, NotFittedError, OptionError
from nicecf.search import autoencoder
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


@pytest.mark.deep
def test_rows_like_the_training_rows_have_the_smaller_error():
    random = np.random.default_rng(0)
    t = random.random(2000)
    training = np.column_stack([t, t + 0.01 * random.random(2000), 1 - t, (t > 0.5).astype(float)])
    error = Autoencoder.train(training, np.array([False, False, False, True]), seed=0)
    like = error(training[:500]).mean()
    shuffled = np.column_stack([random.permutation(training[:500, j]) for j in range(4)])
    assert error(shuffled).mean() > 3 * like


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.deep
def test_the_error_is_that_of_the_better_of_two_networks(seed):
    from sklearn.neural_network import MLPRegressor

    training = np.random.default_rng(seed).random((300, 3))
    is_categorical = np.zeros(3, dtype=bool)
    error = Autoencoder.train(training, is_categorical, seed=seed)
    table = Inputs.of(training, is_categorical)(training)
    networks = [
        MLPRegressor(
            hidden_layer_sizes=(2, 1, 2, 1, 2),
            activation="tanh",
            learning_rate_init=rate,
            batch_size=32,
            early_stopping=True,
            validation_fraction=0.2,
            tol=1e-5,
            n_iter_no_change=62,  # 500 updates, 8 in an epoch
            max_iter=500,
            random_state=seed,
        ).fit(table, table)
        for rate in (0.01, 0.003)
    ]
    best = max(networks, key=lambda network: network.best_validation_score_)
    assert error(training) == pytest.approx(((best.predict(table) - table) ** 2).sum(axis=1))


@pytest.mark.parametrize("name", ["load_wine", "load_breast_cancer", "load_diabetes"])
@pytest.mark.deep
def test_it_keeps_as_much_of_new_rows_as_a_pca_of_its_size(name):
    from sklearn import datasets
    from sklearn.decomposition import PCA

    X = getattr(datasets, name)().data
    X = np.random.default_rng(0).permutation(X)
    train, test = X[: len(X) * 4 // 5], X[len(X) * 4 // 5 :]
    network = Autoencoder.train(train, np.zeros(X.shape[1], dtype=bool), seed=0)
    seen, new = network.inputs(train), network.inputs(test)
    pca = PCA(layers(X.shape[1])[2]).fit(seen)
    spread = ((new - seen.mean(axis=0)) ** 2).sum()
    by_pca = 1 - ((pca.inverse_transform(pca.transform(new)) - new) ** 2).sum() / spread
    assert 1 - network(test).sum() / spread > by_pca - 0.05


@pytest.mark.deep
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
    assert trained == [{"seed": 7, "progress": None}]


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


@pytest.mark.deep
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


def test_a_table_too_wide_for_an_autoencoder_is_refused(monkeypatch):
    monkeypatch.setattr("nicecf.search.autoencoder._MOST_INPUTS", 3)
    X = np.arange(20.0).reshape(5, 4)
    with pytest.raises(
        OptionError, match="would have 4 inputs here, and at most 3 fit into memory.* plausibility=, a fun"
    ):
        Autoencoder.train(X, np.zeros(4, dtype=bool), seed=0)


def test_a_wide_network_that_may_take_long_is_warned_of_before_it_is_trained(monkeypatch):
    clock = iter(np.arange(0.0, 100.0, 0.01))  # every look at it takes 10 ms: so does an update
    monkeypatch.setattr("nicecf.support.clock.perf_counter", lambda: next(clock))
    monkeypatch.setattr("nicecf.support.clock.process_time", lambda: 100.0)
    monkeypatch.setattr(autoencoder, "_network", lambda *_: pytest.fail("trained already"))
    table = np.random.default_rng(0).normal(size=(200, 250))
    train = lambda **options: Autoencoder.train(table, np.zeros(250, dtype=bool), seed=0, **options)
    # 2 learning rates, 5 updates in each of 500 epochs
    said = "training the autoencoder, of 250 inputs, will take about 1 minute or more. optimize='sparsity' and .* need none"
    monkeypatch.setattr(autoencoder, "_MOST_EPOCHS", 700)
    with pytest.warns(LongRunWarning, match=said) as caught, pytest.raises(pytest.fail.Exception):
        train(progress=None)
    assert caught[0].filename == __file__
    monkeypatch.setattr(autoencoder, "_MOST_EPOCHS", 500)
    for options in ({"progress": None}, {"progress": False}, {}):  # 50 s are not long
        with pytest.raises(pytest.fail.Exception):
            train(**options)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_an_interrupt_while_the_network_is_trained_ends_fit(monkeypatch):
    X, y = applicants()
    nice = NICE(Scorecard(), optimize="plausibility").fit(X, y)
    before = nice.explain(X.iloc[:5]).to_frame()
    unfitted = NICE(Scorecard(), optimize="plausibility")
    interrupt_after_calls(monkeypatch, 200)
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(X, y)
    with pytest.raises(NotFittedError):
        unfitted.explain(X.iloc[:5])
    interrupt_after_calls(monkeypatch, 200)
    with pytest.raises(KeyboardInterrupt):
        nice.fit(X.iloc[:100], y[:100])
    monkeypatch.undo()
    assert nice.explain(X.iloc[:5]).to_frame().equals(before)


def interrupt_after_calls(monkeypatch, n_calls):
    """Let the n-th activation of the network send what Ctrl-C sends."""
    calls, tanh = itertools.count(1), np.tanh

    def interrupting_tanh(*args, **options):
        if next(calls) == n_calls:
            signal.raise_signal(signal.SIGINT)
        return tanh(*args, **options)

    monkeypatch.setattr(np, "tanh", interrupting_tanh)
