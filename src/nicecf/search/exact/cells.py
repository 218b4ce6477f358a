"""The cells of units: values that no part of a model tells apart are one, and it costs what the cheapest costs.

A set of cells of one unit is a whole number, of which each bit is a cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nicecf.models.linear_sums import LinearSums
from nicecf.models.readable import Formula
from nicecf.models.trees.ensemble import NotSupported, TreeEnsemble
from nicecf.search.exact.units import Unit
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one unit: one line of it each. ``inputs``: for each formula, the inputs of the cells.

    ``are_apart``: whether a cell counts by itself, though no tree may tell it from another.
    """

    unit: Unit
    costs: Floats
    inputs: tuple[Floats, ...]
    are_apart: bool = False

    def __len__(self) -> int:
        """How many there are."""
        return len(self.costs)

    @cached_property
    def own(self) -> int:
        """The row's own cell."""
        return self.unit.own

    @cached_property
    def everything(self) -> int:
        """All cells."""
        return (1 << len(self)) - 1

    @cached_property
    def by_cost(self) -> list[tuple[int, float]]:
        """The cells, each as a set of one, and what they cost, the cheapest first."""
        return [(1 << int(at), float(self.costs[at])) for at in np.argsort(self.costs, kind="stable")]

    @cached_property
    def grows(self) -> bool:
        """Whether cells cost the more the farther they are from the row's own, in their order."""
        steps = np.diff(self.costs)
        return bool((steps[: self.own] <= 0).all() and (steps[self.own :] >= 0).all())

    @cached_property
    def _costs(self) -> list[float]:
        return self.costs.tolist()

    def cheapest(self, cells: int) -> float:
        """What the cheapest of some cells costs."""
        if cells >> self.own & 1:
            return self._costs[self.own]
        if not self.grows:
            return next(cost for one, cost in self.by_cost if one & cells)
        above, below = cells >> self.own, cells & ((1 << self.own) - 1)
        costs = [self._costs[self.own + (above & -above).bit_length() - 1]] if above else []
        return min([*costs, self._costs[below.bit_length() - 1]] if below else costs)

    def span(self, cells: int) -> tuple[int, int] | None:
        """The first and the last of some cells that are without gaps; None if there are gaps."""
        low, high = (cells & -cells).bit_length() - 1, cells.bit_length() - 1
        return (low, high) if cells.bit_count() == high - low + 1 else None

    def take(self, lines: Ints) -> Cells:
        """Some of the cells."""
        inputs = tuple(inputs[lines] for inputs in self.inputs)
        return replace(self, unit=self.unit.take(lines), costs=self.costs[lines], inputs=inputs)

    def distinct(self, masks: Iterable[int]) -> Ints:
        """Of cells that no set tells apart, the cheapest one; all, if each of them counts by itself."""
        if self.are_apart:
            return np.arange(len(self))
        columns = [bits_of(mask, len(self)) for mask in masks]
        columns += [self.unit.changes == count for count in np.unique(self.unit.changes)]
        return _cheapest_of_each(np.column_stack(columns), self.costs)


def cells_of(
    units: list[Unit],
    formulas: list[Formula],
    row: Floats,
    schema: Schema,
    costs: list[Floats],
    *,
    told_apart: Bools,
    by_changes: bool,
) -> tuple[list[Cells], list[Ints]]:
    """The cells of units, and for each formula which unit each of its inputs follows from, -1 for none.

    ``told_apart``: features of which no two values are alike, whatever the model says. ``by_changes``: whether values
    with another number of changes are another cell.
    """
    owners = [np.full(len(formula.sums.inputs), -1, dtype=np.intp) for formula in formulas]
    base = [formula.compared(row[None], schema) for formula in formulas]
    cells = []
    for number, (unit, cost) in enumerate(zip(units, costs, strict=True)):
        rows = unit.rows(row)
        inputs = tuple(formula.compared(rows, schema) for formula in formulas)
        columns: list[npt.NDArray[np.float64]] = [(np.arange(len(rows)) == unit.own).astype(np.float64)[:, None]]
        for formula, seen, own, owner in zip(formulas, inputs, base, owners, strict=True):
            moved = np.flatnonzero(((seen != own) & ~(np.isnan(seen) & np.isnan(own))).any(axis=0))
            moved = moved[formula.sums.is_used[moved]]
            if (owner[moved] >= 0).any():
                raise NotSupported("one of its inputs follows from several columns")
            owner[moved] = number
            columns += [_codes(formula, seen, int(i)) for i in moved]
        if told_apart[unit.features].any():
            columns.append(np.arange(len(rows), dtype=np.float64)[:, None])
        if by_changes:
            columns.append(unit.changes.astype(np.float64)[:, None])
        kept = _cheapest_of_each(np.concatenate(columns, axis=1), cost)
        are_apart = bool(told_apart[unit.features].any()) or any(
            isinstance(formula.sums, LinearSums) for formula in formulas
        )
        cells.append(Cells(unit.take(kept), cost[kept], tuple(seen[kept] for seen in inputs), are_apart))
    return cells, owners


def _codes(formula: Formula, inputs: Floats, number: int) -> Floats:
    """What the model can tell of one of its inputs: equal numbers where it cannot tell it apart."""
    cells = inputs[:, number]
    if isinstance(formula.sums, LinearSums):
        return cells[:, None]
    codes = np.searchsorted(formula.thresholds(number), cells, side="left").astype(np.float64)
    codes[np.isnan(cells)] = -1.0
    if number not in formula.sums.split_by_sets:
        return codes[:, None]
    return np.column_stack([codes, np.where(np.isnan(cells), -1.0, np.trunc(cells))])


def _cheapest_of_each(columns: npt.NDArray[np.generic], costs: Floats) -> Ints:
    """Of lines that are equal in all columns, the cheapest, the first of several; in their order."""
    order = np.argsort(costs, kind="stable")
    _, first = np.unique(columns[order], axis=0, return_index=True)
    return np.sort(order[first])


def bits_of(mask: int, n_cells: int) -> Bools:
    """A set of cells as one truth value for each.

    >>> bits_of(5, 4).tolist()
    [True, False, True, False]
    """
    n_bytes = (n_cells + 7) // 8
    packed = np.frombuffer(mask.to_bytes(n_bytes, "little"), dtype=np.uint8)
    return np.unpackbits(packed, bitorder="little", count=n_cells).astype(bool)


def as_mask(is_in: Bools) -> int:
    """Cells as a set of them.

    >>> as_mask(np.array([True, False, True]))
    5
    """
    return int.from_bytes(np.packbits(is_in, bitorder="little").tobytes(), "little")


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf within reach: what it adds to each sum, and the cells that it asks for, by unit."""

    values: Floats
    cells: dict[int, int]


@dataclass(frozen=True, eq=False)
class Reachable:
    """What is left of a tree ensemble for one row: the leaves of each tree that are within reach.

    ``trees``: those with more than one leaf. ``only``: the leaf of each other one, which every answer is in; ``base``
    has what it adds. ``rounding``: how far each
    sum may be from an exact one: every addition is rounded in proportion to what was added up by then.
    """

    base: Floats
    trees: list[list[Leaf]]
    rounding: Floats
    only: list[Leaf]

    def settled(self) -> Reachable:
        """The same, in which trees with one leaf are told apart from those with several."""
        alone = [leaves[0] for leaves in self.trees if len(leaves) == 1]
        base = sum((leaf.values for leaf in alone), self.base)
        return replace(self, base=base, trees=[one for one in self.trees if len(one) > 1], only=[*self.only, *alone])


class Descent:
    """Goes down the trees of one formula as far as a row can get for less than a limit."""

    def __init__(self, number: int, formula: Formula, cells: list[Cells], owner: Ints, row_inputs: Floats) -> None:
        assert isinstance(formula.sums, TreeEnsemble)
        self._ensemble = formula.sums
        self._number = number
        self._cells = cells
        self._owner = owner.tolist()
        self._row_inputs = row_inputs
        self._left: dict[int, int | bool] = {}
        self._costs: list[dict[int, float]] = [{one.everything: 0.0} for one in cells]
        self._nodes = formula.nodes

    def run(self, limit: float) -> Reachable:
        """All leaves within reach of something that costs less than a limit."""
        values, n_outputs = self._ensemble.nodes.values, len(self._ensemble.base)
        base, trees = self._ensemble.base.astype(np.float64), []
        width, half_digit = values.shape[1], float(np.finfo(self._ensemble.adds_in).eps)
        low, high, rounding = base.copy(), base.copy(), half_digit * np.abs(base)
        for root, first in zip(self._ensemble.roots.tolist(), self._ensemble.outputs.tolist(), strict=True):
            found = self._leaves(root, limit)
            leaves = []
            for leaf, asked in found:
                added = np.zeros(n_outputs)
                added[first : first + width] = values[leaf]
                leaves.append(Leaf(added, asked))
            every = np.array([leaf.values for leaf in leaves])
            low, high = low + every.min(axis=0), high + every.max(axis=0)
            rounding += half_digit * np.maximum(np.abs(low), np.abs(high))
            trees.append(leaves)
        return Reachable(self._ensemble.base.astype(np.float64), trees, rounding, []).settled()

    def _leaves(self, root: int, limit: float) -> list[tuple[int, dict[int, int]]]:
        found, nodes, owner = [], self._nodes, self._owner
        stack: list[tuple[int, dict[int, int], float]] = [(root, {}, 0.0)]
        while stack:  # terminates: children only, and no tree is infinite
            node, asked, cost = stack.pop()
            if nodes.is_leaf[node]:
                found.append((node, asked))
                continue
            right, left = nodes.children[node]
            unit = owner[nodes.feature[node]]
            goes_left = self._goes_left(node, unit)
            if unit < 0:
                stack.append((left if goes_left else right, asked, cost))
                continue
            cells, costs = self._cells[unit], self._costs[unit]
            here = asked.get(unit, cells.everything)
            before, sides = costs[here], []
            for child, side in ((right, here & ~goes_left), (left, here & goes_left)):
                if not side:
                    continue
                after = costs.get(side)
                if after is None:
                    after = costs[side] = cells.cheapest(side)
                if cost - before + after < limit:
                    sides.append((child, side, after))
            for child, side, after in sides:
                stack.append((child, asked if side == here else {**asked, unit: side}, cost - before + after))
        return found

    def _goes_left(self, node: int, unit: int) -> int | bool:
        """The cells of the unit that go left at a node; of an input that no unit moves, whether the row does."""
        key = self._nodes.question[node]
        known = self._left.get(key)
        if known is None:
            inputs = self._row_inputs if unit < 0 else self._cells[unit].inputs[self._number]
            is_left = self._ensemble.is_left(node, inputs[:, self._nodes.feature[node]])
            known = self._left[key] = bool(is_left[0]) if unit < 0 else as_mask(is_left)
        return known
