"""Lock-step: what holds for every walk, and what it costs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from markers import deep
from nicecf import NICE, OptionError
from nicecf.models import classifier, scorer
from nicecf.rewards import Round
from nicecf.testing import assert_same
from strategies import as_lists, problems

VARIANTS = ["none", "sparsity", "proximity", "plausibility"]


class Counting:
    """Records every row that the model is asked for."""

    def __init__(self, model):
        self.model = model
        self.calls = []

    def __call__(self, X):
        self.calls.append(as_lists(X))
        return self.model(X)

    @property
    def rows(self):
        return [tuple(row) for call in self.calls for row in call]


def fitted(p, optimize, model=None):
    return p.nice(optimize, model, search="greedy").fit(p.frame(p.rows), p.labels)


@pytest.mark.parametrize("optimize", ["none", "sparsity", "plausibility", *deep("proximity")])
@given(p=problems(n_to_explain=st.integers(1, 8)))
def test_a_batch_equals_its_rows_one_by_one(optimize, p):
    nice = fitted(p, optimize)
    rows = p.frame(p.to_explain)
    batch = nice.explain(rows, target_class=p.target)
    for i in range(len(rows)):
        one = nice.explain(rows.iloc[[i]], target_class=p.target)
        assert_same(batch[i : i + 1], one)


@pytest.mark.parametrize("optimize", ["none", "sparsity", "plausibility", *deep("proximity")])
@given(p=problems(n_to_explain=st.integers(1, 8)))
def test_the_model_is_asked_once_a_round_and_never_twice_for_one_row(optimize, p):
    model = Counting(p.model)
    nice = fitted(p, optimize, model)
    model.calls.clear()
    cfs = nice.explain(p.frame(p.to_explain), target_class=p.target)
    longest = int(cfs.metrics()["rounds"].max()) if cfs.found.any() else 0
    assert len(model.calls) <= longest + 2  # for the rows, for their donors, and one for each round
    assert len(set(model.rows)) == len(model.rows)
    assert (cfs.model_calls, cfs.model_rows) == (len(model.calls), len(model.rows))


@pytest.mark.parametrize("optimize", VARIANTS)
@given(p=problems(n_to_explain=st.integers(1, 4)))
def test_coverage_is_a_contract(optimize, p):
    """If the model gets one training row of the target right, every row is found, and the model agrees with it."""
    nice = fitted(p, optimize)
    cfs = nice.explain(p.frame(p.to_explain), target_class=p.target)
    decided = [p.classes[int(np.argmax(p.model.probabilities(row)))] for row in p.rows]
    right = {d for d, label in zip(decided, p.labels, strict=True) if d == label or not p.justified}
    for one, row in zip(cfs, p.to_explain, strict=True):
        own = p.classes[int(np.argmax(p.model.probabilities(row)))]
        wanted = set(p.classes) - {own} if p.target == "other" else set(p.target)
        assert one.found == (own in wanted or bool(wanted & right))
        if one.found:
            (values,) = as_lists(one.to_frame())
            assert p.classes[int(np.argmax(p.model.probabilities(values)))] in wanted
            if one.donor is not None:
                assert all(v in (a, b) for v, a, b in zip(values, row, p.rows[one.donor], strict=True))


@given(p=problems())
def test_duplicated_training_rows_change_nothing(p):
    nice = NICE(p.model, justified=p.justified, classes=p.classes, categorical_features=p.is_categorical)
    once = nice.fit(p.frame(p.rows), p.labels).explain(p.frame(p.to_explain), target_class=p.target)
    twice = nice.fit(p.frame(p.rows * 2), p.labels * 2).explain(p.frame(p.to_explain), target_class=p.target)
    pd.testing.assert_frame_equal(once.changes(), twice.changes())
    assert list(once.donors) == list(twice.donors)


def test_model_calls_stay_the_same_for_more_rows():
    random = np.random.default_rng(0)
    X = random.integers(0, 5, (300, 6)).astype(float)

    def probabilities(X):
        p = 1 / (1 + np.exp(-(X.sum(axis=1) - 12)))
        return np.column_stack([1 - p, p])

    y = probabilities(X).argmax(axis=1)
    nice = NICE(probabilities, search="greedy").fit(X, y)
    few, many = nice.explain(X[:20]), nice.explain(X)
    assert many.model_calls <= many.metrics()["rounds"].max() + 1
    assert many.model_calls <= few.model_calls + 4
    assert few.found.all()


def test_the_donors_that_a_row_may_have_are_asked_about_in_the_first_call():
    asked = []

    def probabilities(X):
        asked.extend(X[:, 0].tolist())
        p = (X[:, 0] > 0.5).astype(float)
        return np.column_stack([1 - p, p])

    nice = NICE(probabilities, search="greedy").fit(np.array([[0.0], [5.0], [1.0]]), [0, 1, 1])
    asked.clear()
    assert nice.explain(np.array([[0.2]])).to_numpy().tolist() == [[1.0]]
    # The row, the first training row of each class, and the nearest donors; the walk asks for nothing more.
    assert asked == [0.2, 0.0, 5.0, 1.0]


def test_large_batches_are_cut_into_chunks_with_the_same_answers(monkeypatch):
    random = np.random.default_rng(1)
    X = random.integers(0, 4, (60, 5)).astype(float)
    sizes = []

    def probabilities(X):
        sizes.append(len(X))
        p = (X.sum(axis=1) + X[:, 0]) / 20
        return np.column_stack([1 - p, p])

    nice = NICE(probabilities, search="greedy").fit(X, probabilities(X).argmax(axis=1))
    whole = nice.explain(X)
    sizes.clear()
    monkeypatch.setattr(scorer.Cost, "rows_worth_a_call", 0)
    monkeypatch.setattr(classifier, "CELLS_PER_CALL", 5 * 7)
    assert_same(whole, nice.explain(X))
    assert max(sizes) == 7


def test_forgetting_remembered_rows_changes_no_answer(monkeypatch):
    random = np.random.default_rng(2)
    X = random.integers(0, 3, (50, 6)).astype(float)

    def probabilities(X):
        p = X @ np.array([5, 3, 2, 2, 1, 1]) / 28
        return np.column_stack([1 - p, p])

    nice = NICE(probabilities, optimize="proximity", search="greedy").fit(X, probabilities(X).argmax(axis=1))
    remembered = nice.explain(X)
    for most in (0, 60, 420, 1200):
        monkeypatch.setattr(scorer.RememberedRows, "_most_cells", most)
        assert_same(remembered, nice.explain(X))


def test_minus_zero_is_no_change_but_stays_what_it_is():
    asked = []

    def probabilities(X):
        asked.extend(map(tuple, X.tolist()))
        p = (X[:, 0] > 0) * 0.8 + 0.1
        return np.column_stack([1 - p, p])

    nice = NICE(probabilities, search="greedy").fit(np.array([[0.0], [1.0]]), [0, 1])
    asked.clear()
    cfs = nice.explain(np.array([[0.0], [-0.0]]))
    assert cfs.to_numpy().tolist() == [[1.0], [1.0]]
    assert sorted(np.signbit([value for (value,) in asked if value == 0]).tolist()) == [False, True]


def test_a_reward_of_ones_own_steers_the_walk():
    X = pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 1.0], "c": [0.0, 1.0]})

    def probabilities(X):
        p = X.sum(axis=1).to_numpy() / 3
        return np.column_stack([1 - p, p])

    def rightmost(round: Round):
        return round.features.astype(float)

    one = NICE(probabilities, optimize=rightmost).fit(X, [0, 1]).explain(X.iloc[[0]])[0]
    assert [change.feature for change in one.changes] == ["c", "b"]


def test_a_reward_sees_distances_and_errors_that_add_up():
    X = pd.DataFrame({"a": [0.0, 4.0], "b": [0.0, 2.0], "c": [0.0, 1.0]})
    seen = []

    def probabilities(X):
        p = X.gt(0).sum(axis=1).to_numpy() / 4
        return np.column_stack([1 - p, p])

    def record(round: Round):
        seen.append(round)
        return round.score - round.previous_score

    record.needs_plausibility = True
    NICE(probabilities, optimize=record, plausibility=lambda X: X.sum(axis=1)).fit(X, [0, 1]).explain(X.iloc[[0]])
    assert [r.previous_distance.tolist() for r in seen] == [[0, 0, 0], [1, 1], [2]]
    assert [r.distance.tolist() for r in seen] == [[1, 1, 1], [2, 2], [3]]
    assert [r.error.tolist() for r in seen] == [[4, 2, 1], [6, 5], [7]]
    assert [r.previous_error.tolist() for r in seen] == [[0, 0, 0], [4, 4], [6]]


@pytest.mark.parametrize(
    ("returned", "said"),
    [(lambda r: np.zeros(7), r"returned shape \(7,\)"), (lambda r: r.score * np.nan, "returned NaN")],
)
def test_a_reward_that_is_not_one_number_per_hybrid_is_refused(returned, said):
    X = np.eye(3)
    nice = NICE(lambda X: np.column_stack([1 - X[:, 0], X[:, 0]]), optimize=returned).fit(X, [1, 0, 0])
    with pytest.raises(OptionError, match=said):
        nice.explain(X[[1]])


def test_a_reward_of_minus_infinity_everywhere_still_reaches_the_donor():
    X = np.array([[0.0, 0.0, 7.0], [1.0, 1.0, 7.0]])
    model = lambda X: np.column_stack([1 - X[:, :2].sum(axis=1) / 2, X[:, :2].sum(axis=1) / 2])
    one = NICE(model, optimize=lambda r: np.full(len(r.score), -np.inf)).fit(X, [0, 1]).explain(X[[0]])[0]
    assert [change.feature for change in one.changes] == ["x0", "x1"]


def looking_ahead(monkeypatch, budget):
    monkeypatch.setattr(scorer.Cost, "rows_worth_a_call", budget)


@pytest.mark.parametrize("optimize", ["none", "sparsity", "plausibility", *deep("proximity")])
@given(p=problems(n_to_explain=st.integers(1, 4)), budget=st.sampled_from([1, 3, 8, 20, 60, 1000]))
def test_looking_ahead_changes_calls_and_never_answers(optimize, p, budget):
    nice = fitted(p, optimize)
    rows = p.frame(p.to_explain)
    with pytest.MonkeyPatch.context() as patch:
        looking_ahead(patch, 0)
        plain = nice.explain(rows, target_class=p.target)
        looking_ahead(patch, budget)
        ahead = nice.explain(rows, target_class=p.target)
    assert_same(plain, ahead)
    assert ahead.model_calls <= plain.model_calls
    if budget == 1000:
        assert ahead.model_calls == 1  # at most 2 donors x 2**6 hybrids x 4 rows: all in the first call


def test_a_small_lattice_is_explained_in_one_call(monkeypatch):
    X = np.array([[0.0, 0, 0, 0], [1.0, 1, 1, 1], [0.0, 0, 0, 1]])
    calls = []

    def probabilities(X):
        calls.append(len(X))
        p = X.mean(axis=1)
        return np.column_stack([1 - p, p])

    nice = NICE(probabilities, search="greedy").fit(X, [0, 1, 0])
    # The row and the two witnesses; then whole rounds of a lattice of 4, in half the budget for each possible donor.
    for budget, expected in ((0, [3, 4, 3]), (1, [3, 4, 3]), (8, [3 + 4, 3 + 3]), (60, [3 + 2**4 - 2])):
        looking_ahead(monkeypatch, budget)
        calls.clear()
        assert nice.explain(np.array([[0.0, 0, 0, 0.25]])).metrics()["sparsity"].tolist() == [2]
        assert calls == expected


def test_a_named_target_leaves_one_donor_to_look_ahead_to(monkeypatch):
    X = np.array([[0.0, 0, 0, 0], [1.0, 1, 1, 1], [0.0, 0, 0, 1]])
    nice = NICE(lambda X: np.column_stack([1 - X.mean(axis=1), X.mean(axis=1)]), search="greedy").fit(X, [0, 1, 0])
    looking_ahead(monkeypatch, 14)  # the lattice of one donor, but not half of it for each of two
    row = np.array([[0.0, 0, 0, 0.25]])
    assert nice.explain(row, target_class=1).model_calls == 1
    assert nice.explain(row).model_calls == 2


def test_a_model_that_fails_on_a_row_that_nobody_wanted_does_not_fail_the_call(monkeypatch):
    X = np.array([[0.0, 0, 0], [1.0, 1, 1]])

    def probabilities(X):
        if ((X[:, 1:] == 1).all(axis=1) & (X[:, 0] == 0)).any():
            raise ValueError("x1 and x2 without x0: impossible")
        p = X @ np.array([0.3, 0.3, 0.3])
        return np.column_stack([1 - p, p])

    nice = NICE(probabilities, search="greedy").fit(X, [0, 1])
    looking_ahead(monkeypatch, 1000)
    one = nice.explain(X[[0]])[0]
    assert [change.feature for change in one.changes] == ["x0", "x1"]


def test_the_cost_of_a_model_is_measured(monkeypatch):
    clock = iter([0.0, 3.0, 10.0, 12.0])
    for module in ("asking_all", "training"):
        monkeypatch.setattr(f"nicecf.explain.{module}.perf_counter", lambda: next(clock))
    nice = NICE(lambda X: np.column_stack([X[:, 0], 1 - X[:, 0]])).fit(np.eye(10), [1] + [0] * 9)
    cost = nice._fitted.models.cost
    assert (cost.call, cost.row) == (2.0, 0.1)
    assert cost.rows_worth_a_call == 20
    assert scorer.Cost(call=0.001, row=1e-6).rows_worth_a_call == 0
