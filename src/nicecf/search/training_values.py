"""The values that training rows hold: for each feature in ascending order, with a row that holds each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.search.neighbors import DonorIndex
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

# Of a feature without an order, so many values are looked at: the most common ones.
_MOST_LEVELS = 64


@dataclass(frozen=True, eq=False)
class TrainingValues:
    """The distinct values of all features, one feature after the other.

    Those of feature ``j`` are ``flat[starts[j]:starts[j + 1]]``, in ascending order; ``positions`` are training rows
    that hold them. A missing number is not among them: ``missing[j]`` is the position of a row without one, -1 if there
    is none. ``common[j]``: of a feature without an order (``is_ordered`` tells), the values that are looked at.
    """

    flat: Floats
    starts: Ints
    positions: Ints
    missing: Ints
    is_ordered: Bools
    common: tuple[Floats, ...]

    @classmethod
    def of(cls, index: DonorIndex) -> TrainingValues:
        """Read the values of all training rows, donors or not."""
        is_ordered = index.distance.scales > 0
        rows = np.concatenate([index.positions, index.other_positions])
        flat, positions, missing, common = [], [], [], []
        for j, columns in enumerate(zip(index.values.T, index.other_values.T, strict=True)):
            values, first, counts = np.unique(np.concatenate(columns), return_index=True, return_counts=True)
            first = rows[first]
            is_there = ~np.isnan(values)
            missing.append(int(first[~is_there][0]) if not is_there.all() else -1)
            flat.append(values[is_there])
            positions.append(first[is_there])
            most = np.argsort(-counts[is_there], kind="stable")[:_MOST_LEVELS]
            common.append(np.empty(0) if is_ordered[j] else values[is_there][np.sort(most)])
        starts = np.concatenate([[0], np.cumsum([len(values) for values in flat])]).astype(np.intp)
        held_by = np.concatenate(positions)
        return cls(np.concatenate(flat), starts, held_by, np.array(missing), is_ordered, tuple(common))

    @property
    def counts(self) -> Ints:
        """How many values each feature has."""
        return np.diff(self.starts)

    def of_feature(self, j: int) -> Floats:
        """The values of a feature, in ascending order."""
        return self.flat[self.starts[j] : self.starts[j + 1]]

    def at(self, features: Ints, ranks: Ints) -> Floats:
        """Values of features by their ranks."""
        return self.flat[self.starts[features] + ranks]

    def ranks(self, features: Ints, values: Floats, *, after: Bools | bool = False) -> Ints:
        """How many values of a feature are lower than a value; ``after``: or equal to it."""
        found = np.zeros(len(values), dtype=np.intp)
        is_after = np.broadcast_to(after, len(values))
        for j in np.unique(features).tolist():
            for side, is_asked in (("left", ~is_after), ("right", is_after)):
                here = np.flatnonzero((features == j) & is_asked)
                found[here] = np.searchsorted(self.of_feature(j), values[here], side=side)  # type: ignore[call-overload]
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
        rank = np.minimum(self.ranks(feature, new), self.counts[feature] - 1)
        is_held = self.at(feature, rank) == new
        positions[line, feature] = np.where(is_held, self.positions[self.starts[feature] + rank], -1)
        for at in np.flatnonzero(other_zero(self.at(feature, rank), new)):
            positions[line[at], feature[at]] = _holding_zero(index, int(feature[at]), new[at])
        for group in groups:
            for one in np.flatnonzero((positions[:, group] >= 0).any(axis=1)):
                new, held = values[one, group], index.values[:, group]
                is_other = differs(held, new) | (other_zero(held, new) & differs(rows[one, group], new))
                alike = np.flatnonzero(~is_other.any(axis=1))
                holder = index.positions[alike[0]] if len(alike) else -1
                positions[one, group] = np.where(positions[one, group] >= 0, holder, -1)
        return positions


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
