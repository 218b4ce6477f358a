"""Boxes that are proven for trees: between two thresholds all values are one to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from nicecf.explain.regions.grid import Axis, Holds, rows_of
from nicecf.explain.regions.rooms import Room
from nicecf.models.decision import Panel
from nicecf.models.monotone import acts_alone, is_monotone_input
from nicecf.models.trees.ensemble import NotSupported
from nicecf.models.trees.reach import Bounds, Boxes, leaves_within
from nicecf.models.twin import TreeTwin
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import Schema, differs

# How many boxes are bounded for one counterfactual; what would take more is not added.
MOST_BOXES = 4096
# Numbers beyond are all one to a tree: single precision holds them.
_LARGEST = 1e30
# Boxes times leaves that are looked at together, cells that are looked at first.
_AT_ONCE, _FIRST_CELLS = 2**22, 32
_MOST_CORNERS = 64


def tree_cells(
    twin: TreeTwin, schema: Schema, after: Floats, rooms: list[Room], decided: int
) -> tuple[list[Axis], Bounds]:
    """The cells of each feature, and what bounds the answers in boxes of them; NotSupported if they are not known."""
    ensemble, inputs, _, _ = twin.parts

    def with_values(position: int, number: int | slice, values: Floats) -> Floats:
        rows = np.tile(after, (len(values), 1))
        rows[:, position] = values
        return ensemble.compared(inputs(rows, schema))[:, number]

    varying = _varying(twin, schema, after, rooms, with_values)
    numbers, categories = [], []
    for room in rooms:
        if room.codes is not None:
            categories.append(with_values(room.position, slice(None), room.codes))
            continue
        number = int(varying[room.position][0])
        low, high = -np.inf, np.inf
        if room.low > -_LARGEST:
            low = np.nextafter(with_values(room.position, number, np.array([room.low]))[0], -np.inf)
        if room.high < _LARGEST:
            high = with_values(room.position, number, np.array([room.high]))[0]
        numbers.append((number, float(low), float(high)))
    (own,) = with_values(0, slice(None), after[:1])
    leaves = leaves_within(ensemble, own, numbers, categories)
    axes, borders, kept, at = [], [], [], 0
    for room in rooms:
        if room.codes is not None:
            axes.append(Axis.of_categories(room))
            continue
        number, lowest, highest = numbers[at]
        ends = np.unique(np.concatenate([leaves.low[:, at], leaves.high[:, at]]))
        thresholds = ends[(ends > lowest) & (ends < highest)]
        raw = _last_left(thresholds, partial(with_values, room.position, number))
        axis, is_kept = _axis(room, raw)
        axes.append(axis)
        borders.append(thresholds)
        kept.append(is_kept)
        at += 1
    return axes, Bounds.of(ensemble, leaves, borders, kept, decided)


def _varying(
    twin: TreeTwin,
    schema: Schema,
    after: Floats,
    rooms: list[Room],
    with_values: Callable[[int, slice, Floats], Floats],
) -> dict[int, Ints]:
    """The inputs that each feature moves; NotSupported unless a number moves one alone, which grows with it."""
    ensemble, inputs, _, _ = twin.parts
    every = slice(None)
    (own,) = with_values(0, every, after[:1])
    is_by_value = ensemble._zero_is_missing | np.isin(np.arange(len(own)), ensemble.split_by_sets)
    varying: dict[int, Ints] = {}
    for room in rooms:
        others = np.array([room.before]) if room.codes is None else room.codes
        moved = np.flatnonzero(differs(with_values(room.position, every, others), own).any(axis=0))
        varying[room.position] = moved
        is_known = acts_alone(inputs, len(after), room.position)
        if room.codes is None:
            is_known &= len(moved) == 1 and is_monotone_input(
                inputs, schema, room.position, zero_may_be_missing=ensemble.absent_is_missing
            )
            is_known &= schema.columns[room.position].temporal is None and not is_by_value[moved].any()
        if not is_known:
            raise NotSupported("a feature is not one input of the trees that grows with it")
    flat = np.concatenate(list(varying.values()))
    if len(flat) != len(np.unique(flat)):
        raise NotSupported("two features share an input")
    return varying


def _last_left(thresholds: Floats, compared: Callable[[Floats], Floats]) -> Floats:
    """The largest value of a column that is still at most each threshold, as the trees compare it; infinite for none.

    By bisection among all floats: what is compared is scaled and rounded, but grows with the value.
    """
    if not len(thresholds):
        return np.empty(0)
    low, high = (np.full(len(thresholds), _ordinal(np.array([end]))[0]) for end in (-_LARGEST, _LARGEST))
    is_below = compared(_float(low)) <= thresholds
    is_above = compared(_float(high)) > thresholds
    while (high > low + 1).any():  # ends: the distance is halved
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # their sum may be too large for an integer
        is_left = compared(_float(middle)) <= thresholds
        low, high = np.where(is_left, middle, low), np.where(is_left, high, middle)
    return np.where(~is_below, -np.inf, np.where(~is_above, np.inf, _float(low)))


def _ordinal(values: Floats) -> Ints:
    """The number of each float among all floats in their order."""
    bits = (values + 0.0).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _float(ordinals: Ints) -> Floats:
    bits = np.where(ordinals < 0, np.int64(-(2**63)) - ordinals, ordinals)
    return bits.astype(np.int64).view(np.float64) + 0.0


def _axis(room: Room, raw: Floats) -> tuple[Axis, Bools]:
    """The cells between borders that hold values of the column within its room, and which ones these are."""
    last = np.append(raw, np.inf)
    above = np.concatenate([[-np.inf], raw])
    if room.scale.dtype.kind in "biu":
        low, high = np.floor(above) + 1, np.floor(last)
    elif room.scale.dtype == np.dtype(np.float32):
        low, high = _single(np.nextafter(above, np.inf), 1), _single(last, -1)
    else:
        low, high = np.nextafter(above, np.inf), last
    low, high = np.where(np.isinf(above), above, low), np.where(np.isinf(last), last, high)
    low, high = np.maximum(low, room.low), np.minimum(high, room.high)
    is_kept = low <= high
    low, high = low[is_kept], high[is_kept]
    own = int(np.searchsorted(high, room.after, side="left"))
    if own == len(high) or not low[own] <= room.after <= high[own]:
        raise NotSupported("the new value is in no cell")
    points = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, room.after))
    return Axis(room, points, low, high, own), is_kept


def _single(values: Floats, way: int) -> Floats:
    """The nearest numbers of single precision that are not below (1), or not above (-1)."""
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32)
        wrong = (nearest < values) if way > 0 else (nearest > values)
        nearest = np.where(wrong, np.nextafter(nearest, np.float32(way * np.inf)), nearest)
    return nearest.astype(np.float64)


@dataclass(eq=False)
class Bounded:
    """Bounds the answers in whole boxes; where that is not clear, in halves of them, down to single cells.

    What the bounds of a single cell do not decide the model is asked. ``left``: how many boxes may still be bounded.
    """

    after: Floats
    bounds: Bounds
    panel: Panel
    holds: Holds
    left: int = MOST_BOXES

    def valid(self, axes: list[Axis], box: list[Ints], at: int, cells: Ints, *, in_order: bool) -> Bools:
        """See `grid.Judge`."""
        is_valid = np.zeros(len(cells), dtype=bool)
        done, size = 0, _FIRST_CELLS
        while done < len(cells):  # ends: every round looks at some
            some = cells[done : done + size]
            is_valid[done : done + size] = self._hold(axes, _boxes(axes, box, at, some), in_order=in_order)
            done, size = done + len(some), 2 * size
            if in_order and not is_valid[:done].all():
                break
        return is_valid

    def _hold(self, axes: list[Axis], roots: Boxes, *, in_order: bool) -> Bools:
        is_valid = np.ones(len(roots), dtype=bool)
        corners, of_root = _corners(roots)
        margin = self._margins(corners)
        is_valid[of_root[margin < -self.bounds.clear]] = False
        boxes, root = roots, np.arange(len(roots))
        while True:  # ends: boxes are halved down to single cells
            alive = is_valid.copy()
            if in_order and not is_valid.all():
                alive[np.argmin(is_valid) :] = False
            some = alive[root]
            boxes, root = boxes.take(some), root[some]
            if not len(boxes):
                return is_valid
            if len(boxes) > self.left:
                is_valid[root] = False  # nobody knows
                return is_valid
            self.left -= len(boxes)
            margin = self._margins(boxes)
            is_unclear = ~(margin > self.bounds.clear)
            is_cell = (boxes.sizes == 1).all(axis=1)
            is_valid[root[is_cell & (margin < -self.bounds.clear)]] = False
            asked = np.flatnonzero(is_unclear & is_cell & is_valid[root])
            if len(asked):
                held = self.holds(rows_of(self.after, axes, _cells(axes, boxes.take(asked))))
                is_valid[root[asked[~held]]] = False
            some = np.flatnonzero(is_unclear & ~is_cell)
            boxes, root = boxes.take(some).split(), np.tile(root[some], 2)

    def _margins(self, boxes: Boxes) -> Floats:
        n_leaves = max(1, len(self.bounds.leaves.node))
        n_at_once = max(1, _AT_ONCE // n_leaves)
        parts = [
            self.bounds(boxes.take(np.arange(a, min(a + n_at_once, len(boxes)))))
            for a in range(0, len(boxes), n_at_once)
        ]
        gap = np.concatenate([np.empty(0), *(one for one, _ in parts)])
        probability = np.concatenate([np.empty(0), *(one for _, one in parts)])
        return margins(self.panel, self.bounds.decided, gap, probability)


def margins(panel: Panel, decided: int, gap: Floats, probability: Floats) -> Floats:
    """How far answers are from where the only model would no longer be accepted; NaN if that cannot be told.

    ``gap``: to the probability of the next class.
    """
    rule = panel.members[0].rule
    if rule.is_highest:
        margin = gap
    elif rule.cutoffs is not None and len(rule.cutoffs) == 2 and np.isnan(rule.cutoffs).sum() == 1:
        own = rule.cutoffs[decided]
        margin = probability - (1 - rule.cutoffs[1 - decided] if np.isnan(own) else own)
    else:
        return np.full(len(gap), np.nan)
    return margin if panel.min_probability is None else np.minimum(margin, probability - panel.min_probability)


def _boxes(axes: list[Axis], box: list[Ints], at: int, cells: Ints) -> Boxes:
    """A box for each cell of one axis, as wide as the present one in all others."""
    first, last, codes = [], [], []
    for k, (axis, chosen) in enumerate(zip(axes, box, strict=True)):
        if axis.is_ordered:
            first.append(cells if k == at else np.full(len(cells), chosen[0]))
            last.append(cells if k == at else np.full(len(cells), chosen[-1]))
        else:
            member = np.zeros((len(cells), len(axis.points)), dtype=bool)
            if k == at:
                member[np.arange(len(cells)), cells] = True
            else:
                member[:, chosen] = True
            codes.append(member)
    shape = (len(cells), len(first))
    return Boxes(
        np.array(first, dtype=np.intp).T.reshape(shape), np.array(last, dtype=np.intp).T.reshape(shape), tuple(codes)
    )


def _corners(roots: Boxes) -> tuple[Boxes, Ints]:
    """The outermost cells of boxes as boxes of their own, and whose they are; of many, those of few sides."""
    n_numbers = roots.first.shape[1]
    sides = min(n_numbers, int(np.log2(_MOST_CORNERS)))
    parts = []
    for ends in product((False, True), repeat=sides):
        is_last = np.array([*ends, *[False] * (n_numbers - sides)], dtype=bool)
        cell = np.where(is_last, roots.last, roots.first)
        for way in (1, -1):  # the first and the last code of each category
            codes = tuple(_one_code(one, way) for one in roots.codes)
            parts.append(Boxes(cell, cell, codes))
            if not roots.codes:
                break
    return Boxes.joined(parts), np.tile(np.arange(len(roots)), len(parts))


def _one_code(member: Bools, way: int) -> Bools:
    one = np.zeros_like(member)
    place = member[:, ::way].argmax(axis=1)
    one[np.arange(len(one)), place if way > 0 else member.shape[1] - 1 - place] = True
    return one


def _cells(axes: list[Axis], boxes: Boxes) -> list[tuple[int, ...]]:
    """Boxes of one cell each as a cell for every axis."""
    columns, number, category = [], 0, 0
    for axis in axes:
        if axis.is_ordered:
            columns.append(boxes.first[:, number])
            number += 1
        else:
            columns.append(boxes.codes[category].argmax(axis=1))
            category += 1
    return [tuple(one) for one in np.array(columns, dtype=np.intp).T.tolist()]
