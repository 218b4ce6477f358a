"""The values that training rows hold, and who holds them."""

import numpy as np
import pytest

from nicecf.search.distance import Heom
from nicecf.search.neighbors import DonorIndex
from nicecf.search.training_values import TrainingValues

NAN = float("nan")


@pytest.fixture
def index():
    # Row 2 is no donor; the second column is a category.
    rows = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [NAN, 0.0], [3.0, 2.0]])
    distance = Heom.of(rows, np.array([False, True]), "range")
    return DonorIndex.of(rows.copy(), np.array([0, 0, -1, 1, 1]), 2, distance)


def test_values_of_all_rows_are_there_also_of_those_that_are_no_donors(index):
    values = TrainingValues.of(index)
    assert values.of_feature(0).tolist() == [1.0, 2.0, 3.0]
    assert values.of_feature(1).tolist() == [0.0, 1.0, 2.0]
    assert values.missing.tolist() == [3, -1]
    assert values.is_ordered.tolist() == [True, False]
    assert values.common[1].tolist() == [0.0, 1.0, 2.0]


def test_ranks_are_before_or_after_equal_values(index):
    values = TrainingValues.of(index)
    features = np.zeros(3, dtype=np.intp)
    assert values.ranks(features, np.array([0.0, 2.0, 9.0])).tolist() == [0, 1, 3]
    assert values.ranks(features, np.array([0.0, 2.0, 9.0]), after=True).tolist() == [0, 2, 3]
    assert values.at(np.array([0, 1]), np.array([2, 1])).tolist() == [3.0, 1.0]


def test_every_changed_value_has_a_holder(index):
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    changed = np.array([[2.0, 0.0], [NAN, 1.0], [1.5, 2.0]])
    held = TrainingValues.of(index).holders(rows, changed, (), index)
    assert held[0].tolist() == [2, -1]
    assert held[1].tolist() == [3, 2]
    assert held[2, 0] == -1  # nobody holds 1.5
    assert held[2, 1] in (1, 4)


def test_a_group_is_held_by_one_row(index):
    rows, changed = np.array([[1.0, 0.0]]), np.array([[3.0, 2.0]])
    group = (np.array([0, 1]),)
    assert TrainingValues.of(index).holders(rows, changed, group, index).tolist() == [[4, 4]]
    apart = np.array([[2.0, 2.0]])  # of rows 2 and 1 or 4: no row has both
    assert TrainingValues.of(index).holders(rows, apart, group, index).tolist() == [[-1, -1]]
