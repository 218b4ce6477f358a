"""The values that training rows hold: for each feature in ascending order, with a row that holds each.

Values of an ordered feature that the model cannot tell apart, whatever the other features are, form a cell. For a row,
the value of a cell that is nearest to its own stands for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from nicecf.search.neighbors import DonorIndex
from nicecf.support.mapped import array_in_file
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

# Of a feature without an order, so many values are looked at: the most common ones.
_MOST_LEVELS = 64
# Rows whose cells are asked for at once, and how many cells are kept in memory.
_ROWS_AT_ONCE, _MOST_CELLS = 100_000, 2**25

# From float rows to the cell of each value, one column for each feature; -1 where it is not known.
Cells = Callable[[Floats], Ints]


@dataclass(frozen=True, eq=False)
class TrainingValues:
    """The distinct values of all features, one feature after the other.

    Those of feature ``j`` are ``flat[starts[j]:starts[j + 1]]``, in ascending order; ``positions`` are training rows
    that hold them. A missing number is not among them: ``missing[j]`` is the position of a row without one, -1 if there
    is none. ``common[j]``: of a feature without an order (``is_ordered`` tells), the values that are looked at.
    ``cells``: the number of the cell of each value, in ascending order; where the model does not tell, each value has
    its own.
    """

    flat: Floats
    starts: Ints
    positions: Ints
    missing: Ints
    is_ordered: Bools
    common: tuple[Floats, ...]
    cells: Ints

    @classmethod
    def of(cls, index: DonorIndex, cells: Cells | Ints | None = None) -> TrainingValues:
        """Read the values of all training rows, donors or not.

        ``cells``: a function that gives the cells of values, or the cells of all values as a file has them.
        """
        is_ordered = index.distance.scales > 0
        rows = np.concatenate([index.positions, index.other_positions])
        known = _cells_of_rows(index, cells) if callable(cells) else None
        is_known = is_ordered & (np.array([(column >= 0).all() for column in known.T]) if known is not None else False)
        flat, positions, missing, common, told = [], [], [], [], []
        for j, columns in enumerate(zip(index.values.T, index.other_values.T, strict=True)):
            values, first, counts = np.unique(np.concatenate(columns), return_index=True, return_counts=True)
            is_there = ~np.isnan(values)
            own = known[first[is_there], j] if known is not None and is_known[j] else np.arange(is_there.sum())
            told.append(np.cumsum(np.diff(own, prepend=own[:1]) != 0))
            first = rows[first]
            missing.append(int(first[~is_there][0]) if not is_there.all() else -1)
            flat.append(values[is_there])
            positions.append(first[is_there])
            most = np.argsort(-counts[is_there], kind="stable")[:_MOST_LEVELS]
            common.append(np.empty(0) if is_ordered[j] else values[is_there][np.sort(most)])
        starts = np.concatenate([[0], np.cumsum([len(values) for values in flat])]).astype(np.intp)
        held_by = np.concatenate(positions)
        return cls(
            np.concatenate(flat),
            starts,
            held_by,
            np.array(missing),
            is_ordered,
            tuple(common),
            cells if isinstance(cells, np.ndarray) else np.concatenate(told),
        )

    @property
    def counts(self) -> Ints:
        """How many values each feature has."""
        return np.diff(self.starts)

    @cached_property
    def n_cells(self) -> Ints:
        """How many cells each feature has."""
        has_values = self.counts > 0  # a feature has none if it is missing in all training rows
        n_cells = np.zeros(len(has_values), dtype=np.intp)
        n_cells[has_values] = self.cells[self.starts[1:][has_values] - 1] + 1
        return n_cells

    @cached_property
    def has_cells(self) -> Bools:
        """Which features have values that the model cannot tell apart."""
        return self.n_cells < self.counts

    def of_feature(self, j: int) -> Floats:
        """The values of a feature, in ascending order."""
        return self.flat[self.starts[j] : self.starts[j + 1]]

    def told_apart(self, features: Bools) -> TrainingValues:
        """The same, but each value of some features has its own cell: not every value of a cell may be taken."""
        if not (features & self.has_cells).any():
            return self
        own = np.arange(len(self.flat)) - np.repeat(self.starts[:-1], self.counts)
        cells = np.where(np.repeat(features, self.counts), own, self.cells)
        return replace(self, cells=cells)

    def cell(self, features: Ints, values: Floats) -> Ints:
        """The cells of values that training rows hold; of others, the next cell."""
        return self.cells[self.starts[features] + np.minimum(self._ranks(features, values), self.counts[features] - 1)]

    def beside(self, features: Ints, own: Floats) -> tuple[Ints, Ints]:
        """The cells next to values that rows have: the nearest below and above, which need not be there.

        Half of all cells are below a missing number.
        """
        n_values, n_cells, start = self.counts[features], self.n_cells[features], self.starts[features]
        above = self._ranks(features, own, side="right")
        below = self._ranks(features, own) - 1
        is_held = above - below > 1
        last = np.maximum(n_values - 1, 0)
        beneath = self.cells[start + np.clip(below + is_held, 0, last)]
        over = self.cells[start + np.clip(above - is_held, 0, last)]
        # Between two values of one cell, or on one: that cell is the row's own.
        is_inside = (is_held | (beneath == over)) & (below + is_held >= 0) & (above - is_held < n_values)
        lower = np.where(is_inside, beneath - 1, np.where(below >= 0, beneath, -1))
        upper = np.where(is_inside, over + 1, np.where(above < n_values, over, n_cells))
        is_missing = np.isnan(own)
        return np.where(is_missing, n_cells // 2 - 1, lower), np.where(is_missing, n_cells // 2, upper)

    def at(self, features: Ints, cells: Ints, own: Floats) -> Floats:
        """For each cell of a feature, the value in it that is nearest to a row's own, which is not in it."""
        values = np.empty(len(cells))
        for j in np.unique(features).tolist():
            here = np.flatnonzero(features == j)
            of_feature, all_cells = self.of_feature(j), self.cells[self.starts[j] : self.starts[j + 1]]
            first = of_feature[np.searchsorted(all_cells, cells[here], side="left")]
            last = of_feature[np.searchsorted(all_cells, cells[here], side="right") - 1]
            values[here] = np.where(last < own[here], last, first)
        return values

    def _ranks(self, features: Ints, values: Floats, *, side: Literal["left", "right"] = "left") -> Ints:
        """How many values of a feature are lower than a value; ``right``: or equal to it."""
        found = np.zeros(len(values), dtype=np.intp)
        for j in np.unique(features).tolist():
            here = np.flatnonzero(features == j)
            found[here] = np.searchsorted(self.of_feature(j), values[here], side=side)
        return found

    def holders(self, rows: Floats, values: Floats, groups: tuple[Ints, ...], index: DonorIndex) -> Ints:
        """For each feature that differs from the row, the position of a training row that holds its value; else -1.

        A group of features is held by one row, a donor.
        """
        positions = np.full(values.shape, -1, dtype=np.intp)
        line, feature = np.nonzero(differs(rows, values))
        new = values[line, feature]
        is_missing = np.isnan(new)
        positions[line[is_missing], feature[is_missing]] = self.missing[feature[is_missing]]
        line, feature, new = line[~is_missing], feature[~is_missing], new[~is_missing]
        at = self.starts[feature] + np.minimum(self._ranks(feature, new), self.counts[feature] - 1)
        positions[line, feature] = np.where(self.flat[at] == new, self.positions[at], -1)
        for zero in np.flatnonzero(other_zero(self.flat[at], new)):
            positions[line[zero], feature[zero]] = _holding_zero(index, int(feature[zero]), new[zero])
        for group in groups:
            for one in np.flatnonzero((positions[:, group] >= 0).any(axis=1)):
                new, held = values[one, group], index.values[:, group]
                is_other = differs(held, new) | (other_zero(held, new) & differs(rows[one, group], new))
                alike = np.flatnonzero(~is_other.any(axis=1))
                holder = index.positions[alike[0]] if len(alike) else -1
                positions[one, group] = np.where(positions[one, group] >= 0, holder, -1)
        return positions


def _cells_of_rows(index: DonorIndex, cells: Cells) -> Ints:
    """The cells of all values, asked for in parts; of a table that is too large for memory, in a file."""
    n_rows, n_features = len(index.values) + len(index.other_values), index.values.shape[1]
    room = array_in_file if n_rows * n_features > _MOST_CELLS else partial(np.empty, order="F")
    known: Any = room((n_rows, n_features), dtype=np.int32)
    at = 0
    for values in (index.values, index.other_values):
        for begin in range(0, len(values), _ROWS_AT_ONCE):
            part = values[begin : begin + _ROWS_AT_ONCE]
            known[at : at + len(part)] = cells(part)
            at += len(part)
    return known


def other_zero(values: Floats, others: Floats) -> Bools:
    """Where one of two values is 0.0 and the other -0.0: they are equal, and yet not the same cell.

    >>> other_zero(np.array([0.0, 0.0, -1.0]), np.array([-0.0, 0.0, 1.0])).tolist()
    [True, False, False]
    """
    return np.asarray((values == 0) & (others == 0) & (np.signbit(values) != np.signbit(others)))


def _holding_zero(index: DonorIndex, j: int, zero: float) -> int:
    """The position of a training row that holds a zero of this sign."""
    held = np.concatenate([index.values[:, j], index.other_values[:, j]])
    rows = np.concatenate([index.positions, index.other_positions])
    found = rows[(held == 0) & (np.signbit(held) == np.signbit(zero))]
    return int(found[0]) if len(found) else -1
