"""The values that training rows hold, and who holds them."""

import numpy as np
import pytest

from nicecf import Constraints
from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.checks import check_cells
from nicecf.rules.reading import rules_of
from nicecf.search import first_candidates
from nicecf.search.block import RowMoves
from nicecf.search.distance import Heom
from nicecf.search.first_candidates import single_changes
from nicecf.search.neighbors import DonorIndex
from nicecf.search.training_values import TrainingValues
from nicecf.tables.schema import Schema

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


def test_without_cells_each_value_has_its_own(index):
    values = TrainingValues.of(index)
    assert values.n_cells.tolist() == [3, 3]
    assert not values.has_cells.any()
    features = np.zeros(5, dtype=np.intp)
    own = np.array([0.0, 2.0, 2.5, 9.0, NAN])
    below, above = values.beside(features, own)
    assert below.tolist() == [-1, 0, 1, 2, 0]
    assert above.tolist() == [0, 2, 2, 3, 1]
    assert values.cell(features[:2], np.array([3.0, 1.0])).tolist() == [2, 0]
    assert values.at(np.array([0, 1]), np.array([2, 1]), np.zeros(2)).tolist() == [3.0, 1.0]


class TestCells:
    """Values 1 to 6 of one feature, in the cells 1 2 | 3 4 5 | 6."""

    @pytest.fixture
    def values(self):
        rows = np.arange(1.0, 7.0)[::-1, None].copy()
        distance = Heom.of(rows, np.array([False]), "range")
        index = DonorIndex.of(rows.copy(), np.array([0, 1, 0, -1, 1, 0]), 2, distance)
        return TrainingValues.of(index, lambda rows: np.searchsorted([2.5, 5.5], rows))

    def test_are_numbered_in_order(self, values):
        assert values.cells.tolist() == [0, 0, 1, 1, 1, 2]
        assert values.n_cells.tolist() == [3]
        assert values.has_cells.tolist() == [True]

    def test_a_row_is_beside_the_next_ones_not_in_its_own(self, values):
        own = np.array([0.0, 1.5, 2.0, 2.5, 4.0, 4.5, 6.0, 7.0])
        below, above = values.beside(np.zeros(len(own), dtype=np.intp), own)
        assert below.tolist() == [-1, -1, -1, 0, 0, 0, 1, 2]
        assert above.tolist() == [0, 1, 1, 1, 2, 2, 3, 3]

    def test_the_nearest_value_stands_for_all(self, values):
        own = np.array([1.0, 6.0, NAN])
        assert values.at(np.zeros(3, dtype=np.intp), np.ones(3, dtype=np.intp), own).tolist() == [3.0, 5.0, 3.0]

    def test_can_be_told_apart(self, values):
        assert values.told_apart(np.array([False])) is values
        apart = values.told_apart(np.array([True]))
        assert apart.cells.tolist() == [0, 1, 2, 3, 4, 5]
        assert not apart.has_cells.any()

    def test_a_rule_is_kept_by_any_value_of_a_cell_not_by_the_nearest_alone(self, values):
        schema, rows = Schema.of(np.array([[1.0], [2.0], [3.0]]), [])
        rules = rules_of(Constraints(allowed={"x0": [5]}), schema, rows[:1], trained=schema)
        free, ruled = (single_changes(RowMoves(rows[:1], values, one)) for one in (None, rules))
        assert free.value.tolist() == [3.0, 6.0]
        assert ruled.value.tolist() == [5.0]

    def test_nobody_knows(self):
        rows = np.arange(1.0, 7.0)[:, None]
        index = DonorIndex.of(rows.copy(), np.zeros(6, dtype=int), 1, Heom.of(rows, np.array([False]), "range"))
        values = TrainingValues.of(index, lambda rows: np.full(rows.shape, -1))
        assert values.n_cells.tolist() == [6]


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


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([0, 0, 1, 1, 1], "not those of its values"),
        ([0, 0, 1, 1, 1, 3], "not in order"),
        ([0, 0, 1, 1, 0, 1], "not in order"),
        ([1, 1, 2, 2, 2, 3], "not in order"),
    ],
)
def test_cells_of_a_damaged_file_are_refused(cells, problem):
    rows = np.arange(1.0, 7.0)[:, None]
    index = DonorIndex.of(rows.copy(), np.zeros(6, dtype=int), 1, Heom.of(rows, np.array([False]), "range"))
    check_cells(np.array([0, 0, 1, 1, 1, 2]), TrainingValues.of(index))
    with pytest.raises(Damaged, match=problem):
        check_cells(np.array(cells), TrainingValues.of(index))


def test_what_is_tried_of_a_very_wide_table_depends_on_the_row_alone(monkeypatch):
    random = np.random.default_rng(0)
    values = np.where(random.random((30, 20)) < 0.2, random.integers(1, 5, (30, 20)), 0).astype(float)
    index = DonorIndex.of(
        values.copy(order="F"), np.zeros(30, dtype=int), 1, Heom.of(values, np.zeros(20, bool), "range")
    )
    training, rows = TrainingValues.of(index), values[:6]
    everything = single_changes(RowMoves(rows, training, None))
    monkeypatch.setattr(first_candidates, "CELLS_TRIED", 40 * 9)
    monkeypatch.setattr(first_candidates, "_SINGLE_CHANGES", 40)
    together = single_changes(RowMoves(rows, training, None))
    assert 0 < len(together.of) < len(everything.of)
    for line in range(len(rows)):
        alone, here = single_changes(RowMoves(rows[[line]], training, None)), together.of == line
        assert together.feature[here].tolist() == alone.feature.tolist()
        assert together.value[here].tolist() == alone.value.tolist()
        is_set = np.flatnonzero(rows[line])
        assert set(is_set) <= set(alone.feature.tolist())
