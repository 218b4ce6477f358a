"""The index gives the same donor as looking at every one of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf.rules.kinds.allowed import Among
from nicecf.rules.kinds.forbid import NotFromTo
from nicecf.rules.kinds.ranges import Between
from nicecf.rules.kinds.step import InSteps
from nicecf.rules.row_rules import Rules
from nicecf.search.distance import Heom
from nicecf.search.neighbors import DonorIndex
from nicecf.search.sketch import SWITCH


def brute_force(row, training, groups, wanted, heom):
    """All donors as (distance, position), nearest first."""
    return sorted(
        (heom.between(row[None], donor[None])[0], position)
        for position, donor in enumerate(training)
        if groups[position] >= 0 and wanted[groups[position]]
    )


@st.composite
def searches(draw):
    seed = draw(st.integers(0, 10_000))
    random = np.random.default_rng(seed)
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(1, 6)), draw(st.integers(2, 4))
    is_categorical = random.random(d) < 0.4
    values = random.integers(0, draw(st.integers(2, 5)), (n + 10, d)).astype(float)
    values[:, ~is_categorical] *= draw(st.sampled_from([1.0, 0.1, 1e6]))
    if draw(st.booleans()):
        missing = random.random(values.shape) < 0.2
        values[missing & ~is_categorical] = np.nan
        values[missing & is_categorical] = -1
    if draw(st.booleans()):
        values[:n, 0] = values[0, 0]
    values[n:][:, ~is_categorical] += draw(st.sampled_from([0.0, 0.25, 50.0]))
    groups = random.integers(-1, k, n)
    wanted = random.random((10, k)) < 0.6
    scale = draw(st.sampled_from(["range", "std"]))
    return values[:n], values[n:], is_categorical, groups, wanted, scale


@given(searches(), st.sampled_from([1, 2, 5, 512]), st.sampled_from([1, 2, 3, 20, 100]))
def test_the_index_equals_brute_force(search, leaf_size, k):
    training, rows, is_categorical, groups, wanted, scale = search
    heom = Heom.of(training, is_categorical, scale)
    index = DonorIndex.of(training.copy(order="F"), groups, wanted.shape[1], heom, leaf_size=leaf_size)
    places, distances = index.nearest_many(rows, wanted, k=k)
    for i, row in enumerate(rows):
        expected = brute_force(row, training, groups, wanted[i], heom)[:k]
        n = len(expected)
        assert list(zip(distances[i, :n], index.positions[places[i, :n]], strict=True)) == expected
        assert (places[i, n:] == -1).all()
        assert np.isinf(distances[i, n:]).all()


@st.composite
def rules_for(draw, rows):
    """Rules of all kinds for float rows, put together by hand."""
    n, d = rows.shape
    is_fixed = np.array(draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    conditions = []
    for j in range(d):
        low = np.where(np.isnan(rows[:, j]), np.nan, rows[:, j] + draw(st.sampled_from([0.0, -1.0, 1.0])))
        high = low + draw(st.sampled_from([0.0, 2.0, np.inf]))
        kinds = [(), (Between(low, high),), (Among(np.array([0.0, 2.0, np.nan])),), (InSteps(2.0, 1e-9),)]
        kinds += [
            (NotFromTo(np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.dtype(float)), Between(low, np.full(n, np.inf)))
        ]
        conditions.append(draw(st.sampled_from(kinds)))
    groups = (np.arange(draw(st.integers(0, d - 2)), d),) if d > 1 and draw(st.booleans()) else ()
    return Rules(rows, is_fixed, tuple(conditions), groups)


@given(searches(), st.sampled_from([1, 2, 5]), st.sampled_from([1, 3, 20]), st.booleans(), st.data())
def test_the_index_equals_brute_force_through_rules(search, leaf_size, k, is_weighted, data):
    training, rows, is_categorical, groups, wanted, scale = search
    rules = data.draw(rules_for(rows))
    weights = np.linspace(0.5, 3.0, rows.shape[1]) if is_weighted else None
    heom = Heom.of(training, is_categorical, scale, weights)
    index = DonorIndex.of(training.copy(order="F"), groups, wanted.shape[1], heom, leaf_size=leaf_size)
    places, distances = index.nearest_many(rows, wanted, k=k, rules=rules)
    for i, row in enumerate(rows):
        seen = rules.project(np.full(len(training), i), training)
        expected = brute_force(row, seen, groups, wanted[i], heom)[:k]
        n = len(expected)
        assert list(zip(distances[i, :n], index.positions[places[i, :n]], strict=True)) == expected
        of_row = rules.take(np.array([i]))
        assert index.distances_to(row, places[i, :n], of_row).tolist() == [distance for distance, _ in expected]


def test_a_missing_value_that_may_not_be_taken_adds_nothing_whatever_box_it_is_in():
    training = np.array([[1.0], [2.0], [10.0], [np.nan]])
    heom = Heom.of(training, np.zeros(1, bool), "range")
    index = DonorIndex.of(training.copy(order="F"), np.zeros(4, np.intp), 1, heom, leaf_size=2)
    row = np.zeros((1, 1))
    upwards = Rules(row, np.zeros(1, bool), ((Between(row[:, 0], np.array([np.inf])),),))
    places, distances = index.nearest_many(row, np.ones((1, 1), bool), k=1, rules=upwards)
    assert (index.positions[places[0, 0]], distances[0, 0]) == (3, 0.0)


def test_values_stay_with_their_positions():
    random = np.random.default_rng(0)
    training = random.random((5000, 4))
    groups = random.integers(-1, 2, 5000)
    index = DonorIndex.of(training.copy(order="F"), groups, 2, Heom.of(training, np.zeros(4, bool), "range"))
    assert np.array_equal(index.values, training[index.positions])
    assert sorted(index.positions) == np.flatnonzero(groups >= 0).tolist()


def test_most_leaves_are_never_looked_at(monkeypatch):
    """What makes it fast, counted: of 200 leaves of a clustered table, a row looks at a few."""
    monkeypatch.setenv(SWITCH, "0")
    random = np.random.default_rng(0)
    centers = random.random((300, 5)) * 100
    training = centers[random.integers(0, 300, 20_000)] + random.random((20_000, 5))
    heom = Heom.of(training, np.zeros(5, bool), "range")
    index = DonorIndex.of(training.copy(order="F"), np.zeros(20_000, np.intp), 1, heom, leaf_size=100)
    visits = []
    visit = DonorIndex._visit
    monkeypatch.setattr(
        DonorIndex, "_visit", lambda self, leaves, leaf, *rest: (visits.append(leaf), visit(self, leaves, leaf, *rest))
    )
    for row in centers[:20]:
        index.nearest(row[None], np.ones((1, 1), bool))
    assert len(index.leaves[0].starts) > 150
    assert 1 <= len(visits) / 20 < 8


@pytest.mark.parametrize("n_equal", [1, 600, 2000])
def test_equal_rows_make_one_leaf_and_the_first_wins(n_equal):
    training = np.asfortranarray(np.vstack([np.zeros((n_equal, 3)), np.ones((700, 3))]))
    heom = Heom.of(training, np.zeros(3, bool), "range")
    index = DonorIndex.of(training.copy(order="F"), np.zeros(len(training), np.intp), 1, heom)
    places, _ = index.nearest(np.array([[0.1, 0.1, 0.1], [0.9, 0.9, 0.9]]), np.ones((2, 1), bool))
    assert index.positions[places].tolist() == [0, n_equal]
