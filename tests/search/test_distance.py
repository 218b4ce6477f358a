import numpy as np
import pytest

from nicecf.search.distance import Heom
from nicecf.tables.schema import differs

nan = np.nan


def heom(training, categorical, scale="range"):
    return Heom.of(np.array(training, dtype=float), np.array(categorical), scale)


def distance(measure, a, b):
    return measure.between(np.array([a], dtype=float), np.array([b], dtype=float))[0]


def test_numbers_over_their_range_and_categories_by_overlap():
    measure = heom([[0, 0], [10, 1], [4, 2]], [False, True])
    assert distance(measure, [0, 0], [4, 0]) == 0.4
    assert distance(measure, [0, 0], [4, 2]) == 1.4


def test_standard_deviation_instead_of_the_range():
    measure = heom([[0.0], [2.0], [4.0]], [False], "std")
    assert distance(measure, [0], [2]) == pytest.approx(2 / np.std([0, 2, 4]))


@pytest.mark.parametrize(("a", "b", "expected"), [(nan, nan, 0), (nan, 3, 1), (3, nan, 1), (0, 5, 0.5)])
def test_missing_against_missing_is_nothing_and_against_a_value_is_one(a, b, expected):
    assert distance(heom([[0], [10], [nan]], [False]), [a], [b]) == expected


@pytest.mark.parametrize(("a", "b", "expected"), [(7, 7, 0), (7, 1e6, 1), (nan, nan, 0), (7, nan, 1), (nan, 7, 1)])
def test_a_constant_column_counts_like_a_category(a, b, expected):
    for scale in ("range", "std"):
        assert distance(heom([[7], [7], [7]], [False], scale), [a], [b]) == expected


def test_a_constant_column_is_found_by_its_range():
    assert np.std([0.1] * 3) > 0  # the standard deviation of equal floats need not be zero
    assert heom([[0.1]] * 3, [False], "std").scales.tolist() == [0.0]


def test_nothing_is_clipped_outside_the_training_range():
    assert distance(heom([[0], [10]], [False]), [0], [100]) == 10


def test_a_column_without_any_value_is_compared_by_missingness():
    measure = heom([[nan], [nan]], [False])
    assert distance(measure, [nan], [nan]) == 0
    assert distance(measure, [3], [nan]) == 1


@pytest.mark.parametrize("weights", [None, np.array([2.0, 0.5, 3.0, 1.0])])
def test_few_changes_are_measured_as_all_features_are(weights):
    random = np.random.default_rng(0)
    rows = random.integers(0, 4, (40, 4)).astype(float) / 3
    rows[random.random(rows.shape) < 0.1] = nan
    rows[:, 3] = 1.0  # never varies
    measure = Heom.of(rows, np.array([False, True, False, False]), "range", weights)
    a, b = rows.repeat(len(rows), axis=0), np.tile(rows, (len(rows), 1))
    b[::7, 3] = 2.0
    changes, distances = measure.changes_and_distance(a, b)
    assert np.array_equal(distances, measure.between(a, b))
    assert np.array_equal(changes, differs(a, b).sum(axis=1))
