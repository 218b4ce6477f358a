"""Rows that no training row helps, though combinations of training values do: the default search climbs to them."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from nicecf import NICE, Constraints
from nicecf.search import climb, local_search
from strategies import HashModel

WEIGHTS = np.array([0.9, -0.6, 0.4, 1.2])


def linear(X, weights=WEIGHTS):
    p = 1 / (1 + np.exp(-np.asarray(X, dtype=float) @ weights))
    return np.column_stack([1 - p, p])


def other(X):
    return linear(X, np.array([0.7, 0.5, 0.8, -0.9]))


def table(n_rows=60, n_columns=4, seed=0):
    """Training rows with few values of each column, and labels."""
    X = np.random.default_rng(seed).integers(-4, 5, size=(n_rows, n_columns)) / 2.0
    return X, linear(X[:, :4]).argmax(axis=1)


def combinations(X, row):
    """All rows with values of training rows, or the row's own."""
    return np.array(list(product(*(np.unique([*column, own]) for column, own in zip(X.T, row, strict=True)))))


def beyond(*models, X, share=0.5):
    """A probability that no training row reaches by all models, but some combination of their values does."""
    reached = np.min([model(X)[:, 1] for model in models], axis=0).max()
    every = combinations(X, X[0])
    best = np.min([model(every)[:, 1] for model in models], axis=0).max()
    assert best > reached
    return float(reached + share * (best - reached))


def explained(X, y, **options):
    """The rows of the first class, and what is found for them."""
    rows = X[linear(X)[:, 1] < 0.5][:20]
    return rows, NICE(linear, **options).fit(X, y).explain(rows, target_class=1)


def assert_taken_from_training(X, rows, cfs):
    for row, values in zip(rows, cfs.to_numpy(), strict=True):
        assert all(new == old or new in column for new, old, column in zip(values, row, X.T, strict=True))


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("share", [0.1, 0.9, 1.0])
def test_a_margin_is_found_that_combinations_alone_reach(optimize, share):
    X, y = table()
    margin = beyond(linear, X=X, share=share)
    rows, cfs = explained(X, y, min_probability=margin, optimize=optimize)
    assert cfs.found.all()
    assert (linear(cfs.to_numpy())[:, 1] >= margin).all()
    assert_taken_from_training(X, rows, cfs)
    # No feature changed that the margin does not need.
    for row, values in zip(rows, cfs.to_numpy(), strict=True):
        for j in np.flatnonzero(row != values):
            assert linear(np.where(np.arange(4) == j, row, values)[None])[0, 1] < margin
    # There is no donor for all changes: each has one of its own.
    assert cfs.donors.isna().any()
    assert (cfs.changes()["donor"] >= 0).all()


def test_all_models_that_must_agree_are_followed():
    X, y = table()
    margin = beyond(linear, other, X=X, share=0.8)
    _, cfs = explained(X, y, min_probability=margin, robust_to=[other])
    assert cfs.found.all()
    assert (linear(cfs.to_numpy())[:, 1] >= margin).all()
    assert (other(cfs.to_numpy())[:, 1] >= margin).all()


RULES = {
    "immutable": ({"immutable": [3]}, lambda rows, new: new[:, 3] == rows[:, 3]),
    "increasing": ({"increasing": [1]}, lambda rows, new: new[:, 1] >= rows[:, 1]),
    "ranges": ({"ranges": {3: (None, 1.0)}}, lambda rows, new: (new[:, 3] <= 1) | (new[:, 3] == rows[:, 3])),
    "max_changes": ({"max_changes": 2}, lambda rows, new: (new != rows).sum(axis=1) <= 2),
    "relations": ({"relations": ["x3 <= x0"]}, lambda rows, new: new[:, 3] <= new[:, 0]),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_rules_are_kept_and_what_exists_is_found(name, seed):
    given, holds = RULES[name]
    X, y = table(n_rows=25, seed=seed)
    rows = X[(linear(X)[:, 1] < 0.5) & holds(X, X)]
    margin = linear(X)[:, 1].max() + 1e-3
    nice = NICE(linear, min_probability=float(margin)).fit(X, y)
    cfs = nice.explain(rows, target_class=1, constraints=Constraints(**given))
    for row, is_found, values in zip(rows, cfs.found, cfs.to_numpy(), strict=True):
        every = combinations(X, row)
        is_good = (linear(every)[:, 1] >= margin) & holds(np.broadcast_to(row, every.shape), every)
        assert is_found == is_good.any()
        assert not is_found or holds(row[None], values[None])[0]


def test_groups_take_the_values_of_one_training_row():
    X, y = table()
    margin = linear(X)[:, 1].max() + 1e-3
    rows, cfs = explained(X, y, min_probability=float(margin), constraints=Constraints(groups=[[0, 3]]))
    assert cfs.found.any()
    pairs = set(map(tuple, X[:, [0, 3]]))
    for row, values in zip(rows[cfs.found], cfs.to_numpy()[cfs.found], strict=True):
        assert tuple(values[[0, 3]]) in pairs | {tuple(row[[0, 3]])}


def test_a_class_that_the_model_never_gives_is_found_by_combinations():
    def model(X):
        is_in = np.where((X[:, 0] == 1) & (X[:, 1] == 1), 0.9, 0.1)
        return np.column_stack([1 - is_in, is_in])

    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    cfs = NICE(model, classes=[0, 1]).fit(X, np.zeros(3, dtype=int)).explain(X)
    assert cfs.found.all()
    assert cfs.to_numpy().tolist() == [[1.0, 1.0]] * 3


def test_pairs_help_where_no_single_change_does():
    def model(X):
        one, other, n_more = X[:, 0] == 1, X[:, 1] == 1, X[:, 2:].sum(axis=1)
        score = 0.2 + 0.05 * n_more - 0.1 * np.maximum(n_more - 3, 0) + 0.5 * (one & other) - 0.02 * (one ^ other)
        score = np.clip(score, 0.0, 1.0)
        return np.column_stack([1 - score, score])

    # So many changes and training rows come closer to the target that none climbs from one of the two changes.
    X = np.concatenate([np.eye(72), *(np.eye(72)[2:-k] + np.eye(72)[2 + k :] for k in (1, 2))])
    nice = NICE(model, classes=[0, 1], min_probability=0.6).fit(X, np.zeros(len(X), dtype=int))
    assert nice.explain(np.zeros((1, 72)), target_class=1).to_numpy()[0, :2].tolist() == [1.0, 1.0]


def test_values_of_all_cells_are_tried_where_the_usual_ones_do_not_help():
    def model(X):
        score = 0.1 + 0.3 * (X[:, 0] == 1) + 0.5 * ((X[:, 0] == 1) & (X[:, 1] == 50))
        return np.column_stack([1 - score, score])

    # So many training rows come closer to the target that none climbs from the one value that helps.
    closer = np.column_stack([np.ones(297), np.tile(np.delete(np.arange(100.0), 50), 3)])
    X = np.concatenate([[[0.0, 50.0]], closer])
    nice = NICE(model, classes=[0, 1]).fit(X, np.zeros(len(X), dtype=int))
    assert nice.explain(np.zeros((1, 2)), target_class=1).to_numpy().tolist() == [[1.0, 50.0]]


def test_guards_are_kept():
    X, y = table(n_rows=80)
    margin = beyond(linear, X=X, share=0.2)
    _, cfs = explained(X, y, min_probability=margin, share_donor=False, min_count=3)
    assert cfs.found.any()
    new = cfs.changes()
    assert all(
        (X[:, int(name[1:])] == value).sum() >= 3 for name, value in zip(new["feature"], new["after"], strict=True)
    )
    assert cfs.donors.isna().all()


def test_several_counterfactuals_of_a_row_change_different_features():
    X, y = table(n_rows=80, n_columns=6)
    model = lambda X: linear(X, np.array([0.9, -0.6, 0.4, 1.2, 1.0, 1.0]))
    margin = model(X)[:, 1].max() + 1e-4
    row = X[model(X)[:, 1].argmin()][None]
    nice = NICE(model, min_probability=float(margin), classes=[0, 1]).fit(X, y)
    cfs = nice.explain(row, target_class=1, n_counterfactuals=2)
    assert cfs.found.all()
    assert (model(cfs.to_numpy())[:, 1] >= margin).all()
    assert len({tuple(values != row[0]) for values in cfs.to_numpy()}) == len(cfs.found)


def test_a_row_gets_the_same_alone_and_among_others():
    X, y = table()
    nice = NICE(linear, min_probability=beyond(linear, X=X)).fit(X, y)
    rows = X[linear(X)[:, 1] < 0.5][:6]
    together = nice.explain(rows, target_class=1).to_numpy()
    alone = [nice.explain(row[None], target_class=1).to_numpy()[0] for row in rows]
    assert np.array_equal(together, alone)


@pytest.mark.parametrize("constraints", [None, Constraints(immutable=[1])])
def test_nobody_climbs_where_something_is_found(monkeypatch, constraints):
    def refuse(*arguments):
        raise AssertionError("climbed")

    monkeypatch.setattr(local_search, "climb", refuse)
    X, y = table()
    _, cfs = explained(X, y, min_probability=float(np.sort(linear(X)[:, 1])[-10]), constraints=constraints)
    assert cfs.found.all()


@pytest.mark.parametrize("n_columns", [3, 30])
def test_what_a_row_costs_that_nothing_helps_is_bounded(n_columns):
    X = np.random.default_rng(0).normal(size=(100, n_columns))
    weights = np.linspace(-1, 1, n_columns) / n_columns
    model = lambda X: linear(X, weights)
    nice = NICE(model, classes=[0, 1], min_probability=1.0).fit(X, model(X).argmax(axis=1))
    cfs = nice.explain(X[:2], target_class=1)
    assert not cfs.found.any()
    # In the last step, each candidate has at most its singles and exchanges, and some have other cells and pairs.
    most = climb._MOST_PROPOSALS + 2 * climb._CLIMBERS * (climb._ADDED + n_columns + climb._EXCHANGES)
    most += climb._STUCK * (climb._ALL_CELLS + climb._PAIRED**2)
    assert cfs.model_rows <= 2 * (most + 4096 + 1024)


@pytest.mark.parametrize("options", [{"search": "greedy"}, {"mix_donors": False}, {"optimize": "plausibility"}])
def test_searches_for_one_donor_combine_nothing(options):
    X, y = table()
    _, cfs = explained(X, y, min_probability=beyond(linear, X=X), **options)
    assert not cfs.found.any()


@pytest.mark.parametrize("seed", range(4))
def test_models_without_any_structure_get_valid_answers(seed):
    X, _ = table(n_rows=30)
    model = HashModel(3, seed)
    labels = model(X).argmax(axis=1)
    nice = NICE(model, classes=[0, 1, 2], min_probability=float(model(X).max()) + 0.01).fit(X, labels)
    cfs = nice.explain(X[:10])
    assert cfs.found.any()
    assert (model(cfs.to_numpy()[cfs.found]).max(axis=1) > model(X).max()).all()


def test_what_may_still_exist_is_said_with_the_search_that_decides():
    X, y = table()
    fitted = LogisticRegression().fit(X, y)
    decides = "search='exact' decides whether one helps"
    for model, is_readable in ((fitted, True), (fitted.predict_proba, False)):
        nice = NICE(model, classes=[0, 1], min_probability=1 - 1e-12).fit(X, y)
        cfs = nice.explain(X[fitted.predict(X) == 0][:2], target_class=1)
        assert not cfs.found.any()
        assert all((decides in str(note)) == is_readable for note in cfs.notes)
