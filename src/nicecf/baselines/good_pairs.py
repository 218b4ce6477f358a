"""Pairs of training rows of unlike classes that differ in few features: the case base of `CBR`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nicecf.search.distance import Heom
from nicecf.support.types import Bools, Floats, Ints

# Rows are compared with so many others that the table of a feature stays in the processor's cache.
_ROWS_AT_ONCE, _OTHERS_AT_ONCE = 128, 2048
# Once so few pairs are left, they are looked at one by one and no longer as a table.
_FEW_LEFT = 0.1
_LOOK_EVERY = 3

# Which of several partners a row keeps.
Partner = Literal["nearest", "fewest_differences"]


@dataclass(frozen=True, eq=False)
class Difference:
    """When two rows differ in a feature: categories that are unlike, numbers more than a tolerance apart.

    ``tolerances`` are in the units of each column, 0 for columns that are compared by equality.
    """

    tolerances: Floats

    @classmethod
    def of(cls, ranges: Heom, tolerance: float) -> Difference:
        """Numbers that are less than a share of the training range apart count as equal."""
        return cls(ranges.scales * tolerance)

    def feature(self, j: int, a: Floats, b: Floats) -> Bools:
        """Whether values of feature ``j`` differ (broadcast against each other); missing differs from all values."""
        if self.tolerances[j] == 0.0:
            differ = a != b
        else:
            gap: Floats = a - b
            np.abs(gap, out=gap)
            differ = ~(gap <= self.tolerances[j])
        if np.isnan(a).any() and np.isnan(b).any():
            differ = differ & ~(np.isnan(a) & np.isnan(b))
        return np.asarray(differ)

    def features(self, rows: Floats, others: Floats) -> Bools:
        """Where paired rows differ: shape (rows, features)."""
        return np.column_stack([self.feature(j, rows[:, j], others[:, j]) for j in range(rows.shape[1])])


def best_partners(
    training: Floats,
    classes: Ints,
    n_classes: int,
    *,
    difference: Difference,
    most: int,
    distance: Heom,
    partner: Partner,
) -> Ints:
    """For each row and each other class the best row of that class that differs in 1 to ``most`` features.

    Shape (rows, classes): positions, -1 where there is none. The best is the nearest, by "fewest_differences" the
    nearest of those that differ in the fewest features; on a tie the first in training order. All pairs of unlike
    classes are compared, but only the best partners are kept: memory grows with the rows, not with the pairs.
    """
    partners = _Partners(np.full((len(training), n_classes), -1, dtype=np.intp))
    columns = np.asfortranarray(training)
    order = _most_telling(columns, difference)
    members = [np.flatnonzero(classes == one) for one in range(n_classes)]
    for one in range(n_classes):
        for other in range(one + 1, n_classes):
            for at in range(0, len(members[one]), _ROWS_AT_ONCE):
                rows = members[one][at : at + _ROWS_AT_ONCE]
                for start in range(0, len(members[other]), _OTHERS_AT_ONCE):
                    others = members[other][start : start + _OTHERS_AT_ONCE]
                    i, j, n_differ = _pairs(columns, rows, others, difference, most, order)
                    first = n_differ if partner == "fewest_differences" else np.zeros_like(n_differ)
                    apart = distance.between(columns[i], columns[j])
                    partners.offer(i, other, j, first, apart)
                    partners.offer(j, one, i, first, apart)
    return partners.place


def _most_telling(columns: Floats, difference: Difference) -> Ints:
    """The features, those first in which most rows differ: so most pairs are ruled out early."""
    sample = columns[np.linspace(0, len(columns) - 1, 512).astype(np.intp)]
    differ = difference.features(
        np.repeat(sample, 8, axis=0), np.concatenate([np.roll(sample, k, 0) for k in range(8)])
    )
    return np.argsort(-differ.mean(axis=0), kind="stable")


def _pairs(
    columns: Floats, rows: Ints, others: Ints, difference: Difference, most: int, order: Ints
) -> tuple[Ints, Ints, Ints]:
    """The pairs of some rows and some others that differ in 1 to ``most`` features, and in how many they do."""
    counts = np.zeros((len(rows), len(others)), dtype=np.uint16)
    n_dense = 0
    for j in order:
        counts += difference.feature(j, columns[rows, j, None], columns[None, others, j])
        n_dense += 1
        if n_dense % _LOOK_EVERY == 0 and np.count_nonzero(counts <= most) < _FEW_LEFT * counts.size:
            break
    i, j = np.nonzero(counts <= most)
    n_differ, i, j = counts[i, j], rows[i], others[j]
    for feature in order[n_dense:]:
        n_differ = n_differ + difference.feature(feature, columns[i, feature], columns[j, feature])
        left = n_differ <= most
        n_differ, i, j = n_differ[left], i[left], j[left]
    is_pair = n_differ > 0  # where all is within the tolerance, there is nothing to learn from
    return i[is_pair], j[is_pair], n_differ[is_pair].astype(np.intp)


class _Partners:
    """The best partner of each row in each class among those offered so far."""

    def __init__(self, place: Ints) -> None:
        self.place = place
        self._first = np.zeros(place.shape, dtype=np.intp)
        self._distance = np.full(place.shape, np.inf)

    def offer(self, rows: Ints, cls: int, partners: Ints, first: Ints, distances: Floats) -> None:
        """Keep those that are better than what a row has: by ``first``, then distance, then position."""
        order = np.lexsort((partners, distances, first, rows))
        row, place = np.unique(rows[order], return_index=True)
        best = order[place]
        has_none = self.place[row, cls] < 0
        better = has_none | _is_less(
            (first[best], self._first[row, cls]),
            (distances[best], self._distance[row, cls]),
            (partners[best], self.place[row, cls]),
        )
        row, best = row[better], best[better]
        self._first[row, cls] = first[best]
        self._distance[row, cls] = distances[best]
        self.place[row, cls] = partners[best]


def _is_less(*keys: tuple[Ints | Floats, Ints | Floats]) -> Bools:
    """Whether the left sides come before the right ones: by the first key, on a tie by the next."""
    less = np.zeros(len(keys[0][0]), dtype=bool)
    for left, right in reversed(keys):
        less = (left < right) | ((left == right) & less)
    return less
