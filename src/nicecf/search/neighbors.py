"""Nearest unlike neighbors, exact, for tables of millions of rows.

The donors of each class are cut into leaves of a few hundred similar rows, as a k-d tree would, and each leaf knows
the smallest box around it. The distance from a row to a box is at most that to any donor inside, so leaves whose box
is farther than the best donor so far are never looked at. What is left is plain arithmetic on whole leaves, for many
rows at once. Why not a ready-made index: docs/adr/0003-nearest-neighbors.md. Where numba is installed, large tables are
searched by compiled code (`kernel`), with the same answers: docs/adr/0032-a-compiled-donor-search.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nicecf.rules.row_rules import Rules
from nicecf.search.distance import Heom
from nicecf.search.sketch import Codes, Metric, Near, Sketches, compiled_for
from nicecf.support.types import Bools, Floats, Ints

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

    ``positions`` are the donors' rows in the training table, ``values`` their features; ``other_positions`` and
    ``other_values`` are those of the training rows that are no donors. ``sketches`` is for the compiled search.
    """

    distance: Heom
    values: Floats
    positions: Ints
    leaves: tuple[Leaves, ...]
    other_values: Floats
    other_positions: Ints
    sketches: Sketches

    @classmethod
    def of(
        cls, training: Floats, groups: Ints, n_groups: int, distance: Heom, *, leaf_size: int = LEAF_SIZE
    ) -> DonorIndex:
        """Index the training rows by group (the class of the donor); a group of -1 is no donor.

        Takes over ``training``: its rows are reordered in place, so that the table is never held twice. The leaves do
        not depend on the weights of the distance, so that they serve any others: see `weighed`.
        """
        unweighted = replace(distance, weights=None)
        random = np.random.default_rng(0)  # only shapes the leaves; the answers do not depend on it
        order: list[Ints] = []
        starts: list[list[int]] = []
        at = 0
        for group in range(n_groups):
            bounds = [at]
            for leaf in _split(training, np.flatnonzero(groups == group), unweighted, leaf_size, random):
                order.append(leaf)
                at += len(leaf)
                bounds.append(at)
            starts.append(bounds)
        positions = np.concatenate([*order, np.flatnonzero(groups < 0)])
        for j in range(training.shape[1]):
            training[:, j] = training[positions, j]
        return cls.cut(training, positions, [np.array(bounds) for bounds in starts], distance)

    @classmethod
    def cut(cls, values: Floats, positions: Ints, starts: Sequence[Ints], distance: Heom) -> DonorIndex:
        """Index rows that are in order already, the donors first; ``starts``: of each group, see `Leaves`."""
        return cls.stored(values, positions, tuple(_boxes(values, bounds) for bounds in starts), distance)

    @classmethod
    def stored(
        cls, values: Floats, positions: Ints, leaves: tuple[Leaves, ...], distance: Heom, codes: Codes | None = None
    ) -> DonorIndex:
        """The same with the leaves, and the bytes of the compiled search, as a file has them: no row is read."""
        n_donors = int(leaves[-1].starts[-1])
        donors, of_donors = values[:n_donors], positions[:n_donors]
        sketches = Sketches(donors, of_donors, leaves, distance.scales == 0.0, codes)
        return cls(distance, donors, of_donors, leaves, values[n_donors:], positions[n_donors:], sketches)

    def weighed(self, distance: Heom) -> DonorIndex:
        """The same rows in the same leaves, for a distance with other weights: what a new index would be."""
        return replace(self, distance=distance)

    def numbered(self, positions: Ints) -> DonorIndex:
        """The same rows as part of a larger training table: the first is at ``positions[0]``; these ascend."""
        of_donors = positions[self.positions]
        return replace(
            self,
            positions=of_donors,
            other_positions=positions[self.other_positions],
            sketches=replace(self.sketches, positions=of_donors),
        )

    def regrouped(self, groups: Ints, n_groups: int) -> tuple[DonorIndex, Ints]:
        """The same training rows with other groups of the donors, by their places; and where each donor stood before.

        A group of -1 is no donor any more. The leaves are those of before, as far as a group has rows in them: it costs
        a copy of the rows, and no new tree.
        """
        first = np.concatenate([leaves.starts[:-1] for leaves in self.leaves])
        places, starts, at = [], [], 0
        for group in range(n_groups):
            bounds = [at]
            for leaf in _refilled(np.flatnonzero(groups == group), first):
                places.append(leaf[np.argsort(self.positions[leaf], kind="stable")])
                at += len(leaf)
                bounds.append(at)
            starts.append(np.array(bounds))
        donors = np.concatenate([np.empty(0, dtype=np.intp), *places])
        rest = np.flatnonzero(groups < 0)
        values = np.empty((len(self.values) + len(self.other_values), self.values.shape[1]), order="F")
        for j in range(values.shape[1]):
            column = self.values[:, j]
            values[:, j] = np.concatenate([column[donors], column[rest], self.other_values[:, j]])
        positions = np.concatenate([self.positions[donors], self.positions[rest], self.other_positions])
        return DonorIndex.cut(values, positions, starts, self.distance), donors

    def nearest(self, rows: Floats, wanted: Bools) -> tuple[Ints, Floats]:
        """For each row the nearest donor of a wanted group: its place in ``values`` (-1: none) and its distance.

        On a tie the first in training order.
        """
        places, distances = self.nearest_many(rows, wanted, k=1)
        return places[:, 0], distances[:, 0]

    def nearest_many(self, rows: Floats, wanted: Bools, *, k: int, rules: Rules | None = None) -> tuple[Ints, Floats]:
        """For each row the ``k`` nearest donors of wanted groups, nearest first, on a tie the first in training order.

        Two arrays of shape (rows, k): places in ``values`` (-1 where there are fewer donors) and distances. With rules
        for these rows, the distance is that to the donor as the row may take it.
        """
        found = _Nearest(len(rows), k)
        if (rules is None or rules.only_fixes) and compiled_for(len(self.values)) is not None:
            is_fixed = np.zeros(rows.shape[1], dtype=bool) if rules is None else rules.is_fixed
            self.sketches.search(Metric.of(self.distance, is_fixed), rows, wanted, found.near)
            return found.place, found.distance
        for group, leaves in enumerate(self.leaves):
            asking = np.flatnonzero(wanted[:, group])
            n_leaves = len(leaves.starts) - 1
            if not n_leaves:
                continue
            block = max(1, _CELLS // n_leaves)
            for at in range(0, len(asking), block):
                self._search(leaves, rows, asking[at : at + block], found, rules)
        return found.place, found.distance

    def group(self, place: Ints) -> Ints:
        """The group of donors, by their place in ``values``."""
        return np.searchsorted([leaves.starts[-1] for leaves in self.leaves], place, side="right")

    def distances_to(self, row: Floats, places: Ints, rules: Rules | None = None) -> Floats:
        """The distances of one row to some donors; with rules for this row, to the donors as it may take them."""
        distances = np.empty(len(places))
        size = max(1, _CELLS // len(row))
        for at in range(0, len(places), size):
            some = slice(at, at + size)
            distances[some] = self._distances(row[None], self.values[places[some]], np.zeros(1, dtype=np.intp), rules)[
                0
            ]
        return distances

    def _distances(self, rows: Floats, donors: Floats, lines: Ints, rules: Rules | None) -> Floats:
        """The distances of some lines of rows to donors, feature by feature: shape (lines, donors)."""
        total = np.zeros((len(lines), len(donors)))
        may = None if rules is None or not rules.can_block else rules.may_take(lines, donors)
        for j in range(donors.shape[1]):
            if rules is not None and rules.is_fixed[j]:
                continue  # what never changes is never away
            part = self.distance.feature(j, rows[lines, j, None], donors[None, :, j])
            if may is not None and rules is not None and rules.restricts[j]:
                part *= may[:, :, j]
            total += part
        return total

    def _search(self, leaves: Leaves, rows: Floats, asking: Ints, found: _Nearest, rules: Rules | None) -> None:
        """Improve what the rows that ask have found, by the donors in these leaves."""
        bounds = _distance_to_boxes(self.distance, rows, asking, leaves, rules)
        # The nearest boxes first: they nearly always hold a donor so close that most other boxes are too far.
        for _ in range(min(_CLOSEST_BOXES, bounds.shape[1])):
            closest = bounds.argmin(axis=1)
            is_near = bounds[np.arange(len(asking)), closest] <= found.radius(asking)
            for leaf in np.unique(closest[is_near]):
                self._visit(leaves, leaf, leaf + 1, rows, asking[is_near & (closest == leaf)], found, rules)
            bounds[np.arange(len(asking)), closest] = np.inf
        # A box at exactly the best distance may hold an equally near donor that comes first in training.
        is_left = np.asarray((bounds <= found.radius(asking)[:, None]).any(axis=0))
        for first, last in _runs(is_left, leaves.starts, most=_CELLS_AT_ONCE // max(1, len(asking))):
            is_near = (bounds[:, first:last] <= found.radius(asking)[:, None]).any(axis=1)
            self._visit(leaves, first, last, rows, asking[is_near], found, rules)

    def _visit(
        self,
        leaves: Leaves,
        first_leaf: int,
        last_leaf: int,
        rows: Floats,
        asking: Ints,
        found: _Nearest,
        rules: Rules | None,
    ) -> None:
        """Compare rows with all donors in a run of leaves."""
        inside = slice(leaves.starts[first_leaf], leaves.starts[last_leaf])
        in_training_order = last_leaf == first_leaf + 1  # as each leaf is, but not one after the other
        donors, positions = self.values[inside], self.positions[inside]
        at_once = max(1, _CELLS_AT_ONCE // max(1, len(donors)))
        for at in range(0, len(asking), at_once):
            some = asking[at : at + at_once]
            total = self._distances(rows, donors, some, rules)
            found.offer(some, total, positions, inside.start, in_training_order=in_training_order)


class _Nearest:
    """The ``k`` nearest donors of each row among those looked at so far: by distance, then in training order."""

    def __init__(self, n_rows: int, k: int) -> None:
        self.k = k
        self.distance = np.full((n_rows, k), np.inf)
        self.place = np.full((n_rows, k), -1, dtype=np.intp)
        self._position = np.full((n_rows, k), _NONE, dtype=np.intp)

    @property
    def near(self) -> Near:
        """The same arrays, for a search that fills them in itself."""
        return Near(self.distance, self.place, self._position)

    def radius(self, rows: Ints) -> Floats:
        """How far a donor may be to be of interest."""
        return self.distance[rows, -1]

    def offer(self, rows: Ints, distances: Floats, positions: Ints, start: int, *, in_training_order: bool) -> None:
        """Look at more donors: ``distances`` of shape (rows, donors); their places begin with ``start``."""
        if self.k > 1:
            self._merge(rows, distances, positions, start)
            return
        first = distances.argmin(axis=1)
        nearest = distances[np.arange(len(rows)), first]
        if not in_training_order:  # of several nearest, the first in training
            first = np.where(distances == nearest[:, None], positions[None, :], _NONE).argmin(axis=1)
        known = self.distance[rows, 0]
        better = (nearest < known) | ((nearest == known) & (positions[first] < self._position[rows, 0]))
        self.distance[rows[better], 0] = nearest[better]
        self.place[rows[better], 0] = start + first[better]
        self._position[rows[better], 0] = positions[first[better]]

    def _merge(self, rows: Ints, distances: Floats, positions: Ints, start: int) -> None:
        bound = self.radius(rows)
        if self.k <= distances.shape[1]:
            bound = np.minimum(bound, np.partition(distances, self.k - 1, axis=1)[:, self.k - 1])
        row, column = np.nonzero(distances <= bound[:, None])
        line = np.concatenate([np.repeat(np.arange(len(rows)), self.k), row])
        distance = np.concatenate([self.distance[rows].ravel(), distances[row, column]])
        position = np.concatenate([self._position[rows].ravel(), positions[column]])
        place = np.concatenate([self.place[rows].ravel(), start + column])
        order = np.lexsort((position, distance, line))
        # A leaf that was among the closest may come again in a run of leaves: its donors stand next to themselves.
        again = (np.diff(line[order]) == 0) & (np.diff(position[order]) == 0) & (position[order[1:]] != _NONE)
        order = order[np.concatenate([[True], ~again])]
        # Each line has at least the k entries that it brought: its first k in order are the new ones.
        first = np.searchsorted(line[order], np.arange(len(rows)))
        best = order[first[:, None] + np.arange(self.k)]
        self.distance[rows], self.place[rows], self._position[rows] = distance[best], place[best], position[best]


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


def _refilled(places: Ints, first: Ints) -> Iterator[Ints]:
    """Places in ascending order, cut where leaves begin (``first``); neighboring leaves with few of them are one."""
    cuts = np.searchsorted(places, first[1:])
    begin = 0
    for cut in [*np.unique(cuts).tolist(), len(places)]:
        if cut - begin >= LEAF_SIZE // 2 or (cut == len(places) and cut > begin):
            yield places[begin:cut]
            begin = cut


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
    low, high = np.empty(shape, order="F"), np.empty(shape, order="F")
    has_missing, is_missing = np.empty(shape, dtype=bool, order="F"), np.empty(shape, dtype=bool, order="F")
    first, last = starts[0], starts[-1]
    for j in range(values.shape[1]):
        column = values[first:last, j]
        missing = np.isnan(column)
        low[:, j] = np.minimum.reduceat(np.where(missing, np.inf, column), starts[:-1] - first)
        high[:, j] = np.maximum.reduceat(np.where(missing, -np.inf, column), starts[:-1] - first)
        has_missing[:, j] = np.logical_or.reduceat(missing, starts[:-1] - first)
        is_missing[:, j] = np.logical_and.reduceat(missing, starts[:-1] - first)
    return Leaves(starts, low, high, has_missing, is_missing)


def _distance_to_boxes(distance: Heom, rows: Floats, lines: Ints, leaves: Leaves, rules: Rules | None = None) -> Floats:
    """A lower bound of the distance from some lines of rows to the donors of each leaf: shape (lines, leaves).

    Subtraction, division, multiplication and addition round monotonically and run in the same order as the distance
    itself, so the bound holds to the last bit.
    """
    total = np.zeros((len(lines), len(leaves.low)))
    for j, scale in enumerate(distance.scales):
        if rules is not None and rules.is_fixed[j]:
            continue
        value = rows[lines, j, None]
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
        if distance.weights is not None:
            part = part * distance.weights[j]
        if rules is not None:  # a value that may not be taken adds nothing
            takes = rules.takes_whole_box(j, lines, leaves.low[:, j], leaves.high[:, j], leaves.has_missing[:, j])
            part = np.where(takes, part, 0.0)
        total += part
    return total
