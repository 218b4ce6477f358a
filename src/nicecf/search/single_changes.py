"""All donors at a glance: for each class and feature the values that its donors have.

A counterfactual with one change needs one value of one donor, and that donor may be far away in everything else. The
nearest donors do not tell whether there is one; a list of distinct values does, and it is short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.search.neighbors import DonorIndex
from nicecf.support.types import Bools, Floats, Ints

# Values that are looked at for one row, over all features.
MOST_VALUES = 2048


@dataclass(frozen=True, eq=False)
class DonorValues:
    """For each class and feature the distinct values in ascending order, and the place of a donor that has each."""

    values: tuple[tuple[Floats, ...], ...]
    places: tuple[tuple[Ints, ...], ...]

    @classmethod
    def of(cls, index: DonorIndex) -> DonorValues:
        """Read the values of all donors."""
        values, places = [], []
        for leaves in index.leaves:
            start, end = leaves.starts[0], leaves.starts[-1]
            pairs = [np.unique(column, return_index=True) for column in index.values[start:end].T]
            values.append(tuple(distinct for distinct, _ in pairs))
            places.append(tuple(start + first for _, first in pairs))
        return cls(tuple(values), tuple(places))

    def towards(self, row: Floats, wanted: Bools) -> tuple[Ints, Ints]:
        """Donors of wanted classes, and the feature to take from each: all values, or as many as there is room for.

        Where there is not, the closest ones to the row's own and some from all over the range.
        """
        classes = np.flatnonzero(wanted)
        room = max(2, MOST_VALUES // (len(row) * max(1, len(classes))))
        places, features = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for c in classes:
            for j, value in enumerate(row):
                distinct = self.values[c][j]
                chosen = slice(None) if len(distinct) <= room else _close_and_spread(distinct, value, room)
                places.append(self.places[c][j][chosen])
                features.append(np.full(len(places[-1]), j))
        return np.concatenate(places), np.concatenate(features)

    def holding(self, wanted: Bools, features: Ints, values: Floats) -> Ints:
        """The place of a donor of a wanted class that has a value of a feature, one for each line; -1 for none."""
        found = np.full(len(features), -1, dtype=np.intp)
        for line, (j, value) in enumerate(zip(features.tolist(), values.tolist(), strict=True)):
            for c in np.flatnonzero(wanted[line]):
                distinct = self.values[c][j]
                at = int(np.searchsorted(distinct, value))
                if at < len(distinct) and (distinct[at] == value or (value != value and distinct[at] != distinct[at])):
                    found[line] = self.places[c][j][at]
                    break
        return found


def _close_and_spread(values: Floats, value: float, room: int) -> Ints:
    """Positions of the values closest to one, and of some from first to last.

    >>> _close_and_spread(np.arange(100.0), 50.2, 8).tolist()
    [0, 33, 49, 50, 51, 52, 66, 99]
    """
    first = min(max(0, int(np.searchsorted(values, value)) - room // 4), len(values) - room // 2)
    close = np.arange(first, first + room // 2)
    return np.union1d(close, np.linspace(0, len(values) - 1, room - len(close)).astype(np.intp))
