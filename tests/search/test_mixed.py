"""Donors that are mixed: the edges that the random campaign found."""

import numpy as np
import pytest

from clock import Clock, set_clock
from nicecf import NICE, Constraints
from nicecf.models.scorer import Cost, nothing_ahead
from nicecf.search import mixed
from strategies import HashModel

WEIGHTS = np.array([0.9, -0.6, 0.4, 1.2])


def linear(X):
    p = 1 / (1 + np.exp(-np.asarray(X, dtype=float) @ WEIGHTS))
    return np.column_stack([1 - p, p])


def normal(*shape, seed=0):
    return np.round(np.random.default_rng(seed).normal(size=shape), 2)


def explained(X, rows, **options):
    """What the thorough search finds, and what the greedy one does."""
    y = linear(X).argmax(axis=1)
    return [NICE(linear, search=search, **options).fit(X, y).explain(rows) for search in ("thorough", "greedy")]


def assert_no_worse(thorough, greedy, optimize):
    assert (thorough.found | ~greedy.found).all()
    both = thorough.found & greedy.found
    assert both.any()
    mine, others = (cfs.metrics()[both] for cfs in (thorough, greedy))
    near = others["proximity"] * (1 + 1e-9)
    if optimize == "proximity":
        assert (mine["proximity"] <= near).all()
    else:
        is_sparser = mine["sparsity"] < others["sparsity"]
        assert (is_sparser | ((mine["sparsity"] == others["sparsity"]) & (mine["proximity"] <= near))).all()


def test_the_donor_of_a_group_has_the_values_of_the_group_that_did_not_change():
    # Of the group, the row differs from its donor in one value; a nearer donor has that value, and not the other.
    def model(X):
        is_in = np.asarray((X[:, 0] == 1) & (X[:, 1] == 5), dtype=float) * 0.8 + 0.1
        is_in = np.where((X[:, 0] == 1) & (X[:, 2] == 3), 0.9, is_in)
        return np.column_stack([1 - is_in, is_in])

    X = np.array([[1.0, 6.0, 3.0], [1.0, 5.0, 90.0], [0.0, 5.0, 2.0], [0.0, 0.0, 100.0]])
    nice = NICE(model, search="thorough", classes=[0, 1], constraints=Constraints(groups=[[0, 1]]))
    cfs = nice.fit(X, model(X).argmax(axis=1)).explain(np.array([[0.0, 5.0, 2.0]]))
    assert cfs.to_numpy().tolist() == [[1.0, 5.0, 2.0]]
    assert cfs.donors.tolist() == [1]
    assert cfs.changes()["donor"].tolist() == [1]


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["forward", "backward"])
@pytest.mark.parametrize("groups", [[], [[0, 1]]], ids=["alone", "grouped"])
def test_a_told_donor_holds_the_zero_of_the_same_sign(optimize, order, groups):
    def model(X):
        is_in = (np.abs(X[:, 0]) < 1) & (X[:, 1] != 0)
        return np.column_stack([~is_in, is_in]) * 0.8 + 0.1

    # The paper's walks take 0.5, though a zero is nearer; of some rows the nearest donor with a zero has the other one.
    X = np.array([[0.5, 1.0], [0.5, 100.0], [0.0, 30.0], [-0.0, 70.0], [-5.0, 50.0]])[order]
    nice = NICE(model, search="thorough", optimize=optimize, classes=[0, 1], constraints=Constraints(groups=groups))
    rows = np.array([[-5.0, 1.0], [-5.0, 100.0], [-5.0, 0.0], [-4.0, 60.0], [-4.0, 40.0], [-5.0, -0.0]])
    cfs = nice.fit(X, model(X).argmax(axis=1)).explain(rows)
    assert cfs.found.all()
    for table in (cfs, cfs.pareto()):
        changes = table.changes()
        for feature, after, donor in zip(changes["feature"], changes["after"], changes["donor"], strict=True):
            held = X[donor, int(feature[1:])]
            assert (held, np.signbit(held)) == (after, np.signbit(after))


@pytest.mark.parametrize("calls", range(12))
def test_no_training_row_is_in_the_front_for_want_of_time(calls, monkeypatch):
    # The paper's walk ends at the second training row, which is no donor; the donor is no training row under the rule.
    def model(X):
        is_in = X[:, 0] > 0
        return np.column_stack([~is_in, is_in]) * 0.8 + 0.1

    X = np.array([[1.0, 5.0, 9.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 7.0, 2.0]])
    clock = Clock(model)
    set_clock(monkeypatch, clock)
    nice = NICE(clock, search="thorough", share_donor=False, classes=[0, 1], constraints=Constraints(immutable=[2]))
    nice.fit(X, [1, 0, 0, 0])
    cfs = nice.explain(X[2:3], n_counterfactuals=2, time_budget=calls + 0.5)
    front = cfs.pareto()
    assert not any((row == X).all(axis=1).any() for row in front[front.found].to_numpy())


def test_no_search_is_begun_when_time_is_up(monkeypatch):
    def never(*_):
        raise AssertionError("a search was begun")

    clock = Clock(linear)
    set_clock(monkeypatch, clock)
    X = normal(60, 4)
    nice = NICE(clock, search="thorough", classes=[0, 1]).fit(X, linear(X).argmax(axis=1))
    monkeypatch.setattr(mixed, "search_locally", never)
    cfs = nice.explain(X[:20], time_budget=0.5)
    assert cfs.found.all()


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("seed", range(4))
def test_under_a_guard_no_answer_is_worse_than_the_greedy_one(optimize, seed):
    random = np.random.default_rng(seed)
    X, rows = random.integers(0, 2, (60, 6)).astype(float), random.integers(0, 2, (40, 6)).astype(float)
    y = HashModel(2, seed)(X).argmax(axis=1)
    thorough, greedy = (
        NICE(HashModel(2, seed), search=search, share_donor=False, optimize=optimize, classes=[0, 1], **more)
        .fit(X, y)
        .explain(rows)
        for search, more in (("thorough", {"neighbors": 1}), ("greedy", {}))
    )
    assert_no_worse(thorough, greedy, optimize)


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("weights", [[1e100] * 4, [1e-100] * 4, [1e100, 1.0, 1e-100, 1.0]], ids=str)
@pytest.mark.parametrize("most", [1, 2, None])
def test_weights_of_any_size_make_no_answer_worse_than_the_greedy_one(optimize, weights, most):
    rules = None if most is None else Constraints(max_changes=most)
    options = {"optimize": optimize, "feature_weights": weights, "constraints": rules, "classes": [0, 1]}
    assert_no_worse(*explained(normal(150, 4), normal(30, 4, seed=1) * 2, **options), optimize)


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("weight", [1e100, 1e-100])
def test_one_weight_for_all_features_changes_no_answer(optimize, weight):
    X, rows = normal(150, 4), normal(30, 4, seed=1)
    nice = NICE(linear, search="thorough", optimize=optimize, classes=[0, 1]).fit(X, linear(X).argmax(axis=1))
    weighted = NICE(linear, search="thorough", optimize=optimize, classes=[0, 1], feature_weights=[weight] * 4)
    weighted.fit(X, linear(X).argmax(axis=1))
    mine, others = nice.explain(rows).metrics(), weighted.explain(rows).metrics()
    assert mine["sparsity"].tolist() == others["sparsity"].tolist()
    assert mine["proximity"].to_numpy() == pytest.approx(others["proximity"].to_numpy() / weight)


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
def test_a_slow_model_is_called_less_often_for_one_row_with_the_same_answer(monkeypatch, optimize):
    clock = Clock(slow_linear, call=0.05, row=1e-5)
    set_clock(monkeypatch, clock)
    X = normal(400, 6)
    nice = NICE(clock, search="thorough", optimize=optimize, classes=[0, 1]).fit(X, slow_linear(X).argmax(axis=1))
    calls = []
    for at in range(12):
        ahead = nice.explain(X[at : at + 1])
        with nothing_ahead():
            needed = nice.explain(X[at : at + 1])
        assert np.array_equal(ahead.to_numpy(), needed.to_numpy())
        calls.append((ahead.model_calls, needed.model_calls))
    ahead, needed = np.median(calls, axis=0)
    assert ahead <= 6
    assert ahead < needed - 1


@pytest.mark.parametrize(("n_columns", "n_prepared"), [(6, 3), (60, 0)])
def test_questions_that_do_not_all_go_into_the_first_call_are_not_prepared_for_it(monkeypatch, n_columns, n_prepared):
    monkeypatch.setattr(Cost, "rows_worth_a_call", 50)
    prepared, ahead = [], mixed.Mixed.ahead
    monkeypatch.setattr(mixed.Mixed, "ahead", lambda *given: (prepared.append(given), ahead(*given))[1])
    X = normal(80, n_columns)
    first_four = lambda X: linear(X[:, :4])
    nice = NICE(first_four, classes=[0, 1]).fit(X, first_four(X).argmax(axis=1))
    for at in range(3):
        nice.explain(X[[at]])
    assert len(prepared) == n_prepared


def slow_linear(X):
    X = np.asarray(X, dtype=float)
    p = 1 / (1 + np.exp(-X @ [0.9, -0.6, 0.4, 1.2, 0.5, -0.3] - 0.5 * X[:, 0] * X[:, 1] - 1))
    return np.column_stack([1 - p, p])
