"""Nearest unlike neighbors, exact, for tables of millions of rows.

The donors of each class are cut into leaves of a few hundred similar rows, as a k-d tree would, and each leaf knows
the smallest box around it. The distance from a row to a box is at most that to any donor inside, so leaves whose box
is farther than the best donor so far are never looked at. What is left is plain arithmetic on whole leaves, for many
rows at once. Why not a ready-made index: docs/adr/0003-nearest-neighbors.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nicecf._typing import Bools, Floats, Ints
from nicecf.distance import Heom

LEAF_SIZE = 512

# Rows are searched in blocks, so that the table rows x leaves stays below this many cells.
_CELLS = 2**22
# Rows and donors are compared this many at once: the intermediate arrays stay in the processor's cache.
_CELLS_AT_ONCE = 2**15
# Boxes that are looked at in the order of their distance, before all that are left are looked at in a sweep.
_CLOSEST_BOXES = 2
_NONE = np.iinfo(np.intp).max


@dataclass(frozen=True, eq=False)
class Leaves:
    """The donors of one class: ``starts[i]:starts[i + 1]`` of the index's rows is leaf ``i``, within its box."""

    starts: Ints
    low: Floats
    high: Floats
    has_missing: Bools
    is_missing: Bools


@dataclass(frozen=True, eq=False)
class DonorIndex:
    """All donors, sorted by class and leaf.

    ``positions`` are the donors' rows in the training table, ``values`` their features.
    """

    distance: Heom
    values: Floats
    positions: Ints
    leaves: tuple[Leaves, ...]

    @classmethod
    def of(
        cls, training: Floats, groups: Ints, n_groups: int, distance: Heom, *, leaf_size: int = LEAF_SIZE
    ) -> DonorIndex:
        """Index the training rows by group (the class of the donor); a group of -1 is no donor.

        Takes over ``training``: its rows are reordered in place, so that the table is never held twice.
        """
        random = np.random.default_rng(0)  # only shapes the leaves; the answers do not depend on it
        order: list[Ints] = []
        starts: list[list[int]] = []
        at = 0
        for group in range(n_groups):
            bounds = [at]
            for leaf in _split(training, np.flatnonzero(groups == group), distance, leaf_size, random):
                order.append(leaf)
                at += len(leaf)
                bounds.append(at)
            starts.append(bounds)
        positions = np.concatenate(order) if order else np.empty(0, dtype=np.intp)
        for j in range(training.shape[1]):
            training[: len(positions), j] = training[positions, j]
        values = training[: len(positions)]
        return cls(distance, values, positions, tuple(_boxes(values, np.array(bounds)) for bounds in starts))

    def nearest(self, rows: Floats, wanted: Bools) -> tuple[Ints, Floats]:
        """For each row the nearest donor of a wanted group: its place in ``values`` (-1: none) and its distance.

        On a tie the first in training order.
        """
        place = np.full(len(rows), -1, dtype=np.intp)
        best = np.full(len(rows), np.inf)
        for group, leaves in enumerate(self.leaves):
            asking = np.flatnonzero(wanted[:, group])
            n_leaves = len(leaves.starts) - 1
            if not n_leaves:
                continue
            block = max(1, _CELLS // n_leaves)
            for at in range(0, len(asking), block):
                self._search(leaves, rows, asking[at : at + block], place, best)
        return place, best

    def group(self, place: Ints) -> Ints:
        """The group of donors, by their place in ``values``."""
        return np.searchsorted([leaves.starts[-1] for leaves in self.leaves], place, side="right")

    def of_another_group(self, rows: Floats, place: Ints) -> Ints:
        """For each row the nearest donor of any group but that of the donor at ``place``; none if there is none."""
        groups = np.arange(len(self.leaves))[None, :]
        return self.nearest(rows, (groups != self.group(place)[:, None]) & (place >= 0)[:, None])[0]

    def _search(self, leaves: Leaves, rows: Floats, asking: Ints, place: Ints, best: Floats) -> None:
        """Improve ``place`` and ``best`` of the rows that ask, by the donors in these leaves."""
        bounds = _distance_to_boxes(self.distance, rows[asking], leaves)
        # The nearest boxes first: they nearly always hold a donor so close that most other boxes are too far.
        for _ in range(min(_CLOSEST_BOXES, bounds.shape[1])):
            closest = bounds.argmin(axis=1)
            is_near = bounds[np.arange(len(asking)), closest] <= best[asking]
            for leaf in np.unique(closest[is_near]):
                self._visit(leaves, leaf, leaf + 1, rows, asking[is_near & (closest == leaf)], place, best)
            bounds[np.arange(len(asking)), closest] = np.inf
        # A box at exactly the best distance may hold an equally near donor that comes first in training.
        is_left = np.asarray((bounds <= best[asking, None]).any(axis=0))
        for first, last in _runs(is_left, leaves.starts, most=_CELLS_AT_ONCE // max(1, len(asking))):
            is_near = (bounds[:, first:last] <= best[asking, None]).any(axis=1)
            self._visit(leaves, first, last, rows, asking[is_near], place, best)

    def _visit(
        self, leaves: Leaves, first_leaf: int, last_leaf: int, rows: Floats, asking: Ints, place: Ints, best: Floats
    ) -> None:
        """Compare rows with all donors in a run of leaves."""
        inside = slice(leaves.starts[first_leaf], leaves.starts[last_leaf])
        in_training_order = last_leaf == first_leaf + 1  # as each leaf is, but not one after the other
        donors, positions = self.values[inside], self.positions[inside]
        at_once = max(1, _CELLS_AT_ONCE // max(1, len(donors)))
        for at in range(0, len(asking), at_once):
            some = asking[at : at + at_once]
            total = np.zeros((len(some), len(donors)))
            for j in range(donors.shape[1]):
                total += self.distance.feature(j, rows[some, j, None], donors[None, :, j])
            first = total.argmin(axis=1)
            found = total[np.arange(len(some)), first]
            if not in_training_order:  # of several nearest, the first in training
                first = np.where(total == found[:, None], positions[None, :], _NONE).argmin(axis=1)
            position = positions[first]
            better = (found < best[some]) | ((found == best[some]) & (position < self.positions[place[some]]))
            best[some[better]] = found[better]
            place[some[better]] = inside.start + first[better]


def _runs(is_wanted: Bools, starts: Ints, *, most: int) -> Iterator[tuple[int, int]]:
    """Wanted leaves as runs of neighbors with at most ``most`` donors, but at least one leaf each.

    Where boxes exclude little, a few long runs cost less than many single leaves.

    >>> list(_runs(np.array([True, True, False, True, True]), np.array([0, 5, 10, 15, 20, 25]), most=10))
    [(0, 2), (3, 5)]
    """
    first = last = -1
    for leaf in np.flatnonzero(is_wanted).tolist():
        if leaf != last or starts[leaf + 1] - starts[first] > most:
            if last > first:
                yield first, last
            first = leaf
        last = leaf + 1
    if last > first:
        yield first, last


def _split(
    training: Floats, members: Ints, distance: Heom, leaf_size: int, random: np.random.Generator
) -> Iterator[Ints]:
    """Cut the members into leaves of similar rows, each in training order."""
    waiting = [members] if len(members) else []
    while waiting:
        members = waiting.pop()
        halves = _halves(training, members, distance, random) if len(members) > leaf_size else None
        if halves is None:
            yield members
        else:
            waiting.extend(halves)


def _halves(training: Floats, members: Ints, distance: Heom, random: np.random.Generator) -> tuple[Ints, Ints] | None:
    """Split at the median of the feature that sets random pairs of members farthest apart; None if all are equal."""
    sample = training[random.choice(members, size=min(len(members), 256), replace=False)]
    spread = distance.features(sample, np.roll(sample, 1, axis=0)).mean(axis=0)
    for j in np.argsort(-spread, kind="stable"):
        column = training[members, j]
        present = column[~np.isnan(column)]
        if not len(present):
            continue
        median = np.partition(present, len(present) // 2)[len(present) // 2]
        # Missing compares as False: it goes right. A median that is the largest value leaves the right side empty.
        for left in (column <= median, column < median):
            if 0 < np.count_nonzero(left) < len(members):
                return members[left], members[~left]
    return None


def _boxes(values: Floats, starts: Ints) -> Leaves:
    """The box of each leaf. Missing values lie in no box: they are counted apart."""
    if len(starts) == 1:
        nothing = np.empty((0, values.shape[1]))
        return Leaves(starts, nothing, nothing, nothing.astype(bool), nothing.astype(bool))
    shape = (len(starts) - 1, values.shape[1])
    low, high = np.empty(shape), np.empty(shape)
    has_missing, is_missing = np.empty(shape, dtype=bool), np.empty(shape, dtype=bool)
    first, last = starts[0], starts[-1]
    for j in range(values.shape[1]):
        column = values[first:last, j]
        missing = np.isnan(column)
        low[:, j] = np.minimum.reduceat(np.where(missing, np.inf, column), starts[:-1] - first)
        high[:, j] = np.maximum.reduceat(np.where(missing, -np.inf, column), starts[:-1] - first)
        has_missing[:, j] = np.logical_or.reduceat(missing, starts[:-1] - first)
        is_missing[:, j] = np.logical_and.reduceat(missing, starts[:-1] - first)
    return Leaves(starts, low, high, has_missing, is_missing)


def _distance_to_boxes(distance: Heom, rows: Floats, leaves: Leaves) -> Floats:
    """A lower bound of the distance from each row to the donors of each leaf: shape (rows, leaves).

    Subtraction, division and addition round monotonically and run in the same order as the distance itself, so the
    bound holds to the last bit.
    """
    total = np.zeros((len(rows), len(leaves.low)))
    for j, scale in enumerate(distance.scales):
        value = rows[:, j, None]
        low, high = leaves.low[None, :, j], leaves.high[None, :, j]
        if scale == 0.0:
            part = ((value < low) | (value > high)).astype(np.float64)
        else:
            part = np.maximum(np.maximum(low - value, value - high), 0.0) / scale
            if leaves.has_missing[:, j].any():
                part = np.where(leaves.has_missing[None, :, j], np.minimum(part, 1.0), part)
                part = np.where(leaves.is_missing[None, :, j], 1.0, part)
        missing = np.isnan(value)
        if missing.any():
            part = np.where(missing, np.where(leaves.has_missing[None, :, j], 0.0, 1.0), part)
        total += part
    return total
