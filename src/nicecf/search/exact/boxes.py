"""Boxes of cells, and what is left of the trees in them: leaves that cannot be part of an answer are left out.

A leaf is left out if it is too far away, or if even the best leaves of all other trees that are compatible with it,
within reach together with it, do not add up to what is asked for. That alone proves many answers; what is left is
small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nicecf.search.exact.cells import Cells, Leaf, as_mask, bits_of
from nicecf.search.exact.solver import Part
from nicecf.support.types import Bools, Floats, Ints

# Leaves of which all pairs are looked at.
MOST_PAIRED = 1_500
# By which share costs are lowered before they are rounded to single precision and added up.
_SINGLE = 1e-5
# Leaves are looked at again as long as so large a share of them is left out.
_WORTH_IT = 0.03


@dataclass(frozen=True, eq=False)
class Box:
    """The leaves of all trees of some parts within a box: ``allowed`` are the cells of each unit, as a set."""

    cells: list[Cells]
    parts: list[Part]
    allowed: tuple[int, ...]
    limit: float

    @classmethod
    def of(cls, cells: list[Cells], parts: list[Part], limit: float) -> Box | None:
        """All cells; None if there is nothing to be found."""
        return cls(cells, parts, tuple(one.everything for one in cells), limit)._inside()

    @cached_property
    def least(self) -> float:
        """Nothing in the box costs less."""
        return sum(one.cheapest(mask) for one, mask in zip(self.cells, self.allowed, strict=True))

    @property
    def n_leaves(self) -> int:
        """How many leaves there are, where trees have more than one."""
        return sum(len(leaves) for part in self.parts if part.reachable for leaves in part.reachable.trees)

    def limited(self, limit: float) -> Box | None:
        """The same with a lower limit; None if there is nothing to be found in it."""
        if limit >= self.limit:
            return self
        box = replace(self, limit=limit)
        return None if box.least >= limit else box._restricted()

    def within(self, unit: int, mask: int) -> Box | None:
        """The part of the box in which a unit has one of some cells; None if there is nothing to be found in it."""
        allowed = (*self.allowed[:unit], self.allowed[unit] & mask, *self.allowed[unit + 1 :])
        if not allowed[unit]:
            return None
        box = replace(self, allowed=allowed)
        return None if box.least >= self.limit else box._restricted()

    def _restricted(self) -> Box | None:
        """The same without leaves that are outside, or too far away; None if nothing is left."""
        costs: list[dict[int, float]] = [{} for _ in self.cells]
        base = [one.cheapest(mask) for one, mask in zip(self.cells, self.allowed, strict=True)]
        total = sum(base)

        def asked(leaf: Leaf) -> dict[int, int] | None:
            """The cells that a leaf asks for in the box; None if that is out of reach."""
            inside, cost = {}, total
            for unit, mask in leaf.cells.items():
                mask &= self.allowed[unit]
                if not mask:
                    return None
                if mask != self.allowed[unit]:
                    inside[unit] = mask
                    known = costs[unit].get(mask)
                    if known is None:
                        known = costs[unit][mask] = self.cells[unit].cheapest(mask)
                    cost += known - base[unit]
                    if cost >= self.limit:
                        return None
            return inside

        parts = []
        for part in self.parts:
            if part.reachable is None:
                parts.append(part)
                continue
            trees = []
            for leaves in part.reachable.trees:
                kept = [replace(leaf, cells=inside) for leaf in leaves if (inside := asked(leaf)) is not None]
                if not kept:
                    return None
                trees.append(kept)
            parts.append(replace(part, reachable=replace(part.reachable, trees=trees).settled()))
        return replace(self, parts=parts)._inside()

    def _inside(self) -> Box | None:
        """The same, within the leaves that every answer is in; None if there is nothing to be found."""
        allowed, parts = list(self.allowed), []
        for part in self.parts:
            for leaf in part.reachable.only if part.reachable else ():
                for unit, mask in leaf.cells.items():
                    allowed[unit] &= mask
            parts.append(part if part.reachable is None else replace(part, reachable=replace(part.reachable, only=[])))
        if not all(allowed):
            return None
        box = replace(self, parts=parts, allowed=tuple(allowed))
        if box.least >= self.limit:
            return None
        # Terminates: every turn leaves fewer cells.
        return box._that_can_hold() if box.allowed == self.allowed else box._restricted()

    def _that_can_hold(self) -> Box | None:
        """The same without alternatives that the best leaves of all trees do not reach; None if none is left."""
        parts = [
            replace(part, alternatives=[way for way in part.alternatives if part.can_hold(way, self.cells)])
            for part in self.parts
        ]
        return replace(self, parts=parts) if all(part.alternatives for part in parts) else None

    def probed(self) -> Box | None:
        """The same without leaves that are part of no answer; None if nothing is left."""
        box: Box | None = self
        # Terminates: every turn leaves out a share of the leaves.
        while box is not None and box.n_leaves <= MOST_PAIRED and box.n_leaves:
            kept = box._useful()
            n_before = box.n_leaves
            if kept.all():
                break
            box = box._only(kept)
            if box is not None and box.n_leaves > (1 - _WORTH_IT) * n_before:
                break
        return box

    def _leaves(self) -> list[tuple[int, int, Leaf]]:
        """All leaves, with the numbers of their part and, among all trees, of their tree."""
        found, tree = [], 0
        for number, part in enumerate(self.parts):
            for leaves in part.reachable.trees if part.reachable else ():
                found += [(number, tree, leaf) for leaf in leaves]
                tree += 1
        return found

    def _useful(self) -> Bools:
        """Which leaves can be part of an answer, by pairs of them."""
        leaves = self._leaves()
        part, tree = (np.array([one[at] for one in leaves]) for at in (0, 1))
        costs = self._costs_of_pairs([leaf for _, _, leaf in leaves])
        is_near = costs < self.limit
        starts = np.flatnonzero(np.diff(tree, prepend=-1))
        useful: Bools = np.ones(len(leaves), dtype=bool)
        for number, one in enumerate(self.parts):
            if one.reachable is None or not one.reachable.trees:  # of one leaf each: that can hold, or nothing does
                continue
            can = np.zeros(len(leaves), dtype=bool)
            mine = np.flatnonzero(part == number)
            of_part = starts[part[starts] == number]
            values = np.array([leaves[at][2].values for at in mine])
            for way in one.alternatives:
                holds = np.ones(len(leaves), dtype=bool)
                for inequality in way.inequalities:
                    added = np.full(len(leaves), -np.inf)
                    added[mine] = values @ inequality.weights
                    best = np.maximum.reduceat(np.where(is_near, added, -np.inf), starts, axis=1)
                    best = best[:, np.searchsorted(starts, of_part)]
                    most = one.reachable.base @ inequality.weights + best.sum(axis=1)
                    slack = one.slack(inequality)
                    holds &= most >= inequality.bound - slack
                can |= holds
            useful &= can
        return useful

    def _costs_of_pairs(self, leaves: list[Leaf]) -> npt.NDArray[np.float32]:
        """What it costs at least to be in two leaves at once; infinite if that is not possible."""
        # In single precision, which is faster, and rounded down.
        costs = np.zeros((len(leaves), len(leaves)), dtype=np.float32)
        for unit, (one, everything) in enumerate(zip(self.cells, self.allowed, strict=True)):
            masks = [leaf.cells.get(unit, everything) for leaf in leaves]
            distinct = {mask: at for at, mask in enumerate(dict.fromkeys(masks))}
            at = np.array([distinct[mask] for mask in masks])
            of_masks = (_costs_of_masks(one, list(distinct)) * (1 - _SINGLE)).astype(np.float32)
            costs += of_masks.take(at, axis=0).take(at, axis=1) if len(distinct) > 1 else of_masks[0, 0]
        return costs

    def _only(self, kept: Bools) -> Box | None:
        parts, at = [], 0
        for part in self.parts:
            trees = []
            for leaves in part.reachable.trees if part.reachable else ():
                some = [leaf for leaf, is_kept in zip(leaves, kept[at : at + len(leaves)], strict=True) if is_kept]
                at += len(leaves)
                if not some:
                    return None
                trees.append(some)
            if part.reachable is not None:
                part = replace(part, reachable=replace(part.reachable, trees=trees).settled())
            parts.append(part)
        return replace(self, parts=parts)._inside()

    def halves(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """A unit with some of its cells, and the same unit with its other cells; None if nothing tells them apart.

        The others are farther away, and on one side if the cells have an order. Cut is where most leaves ask for what
        is beyond, and where that costs most.
        """
        beyond: dict[int, dict[tuple[bool, float], int]] = {}
        for _, _, leaf in self._leaves():
            for unit, mask in leaf.cells.items():
                one = self.cells[unit]
                cost = one.cheapest(mask)
                if cost > one.cheapest(self.allowed[unit]):
                    key = (one.grows and mask > (1 << one.own), cost)
                    counts = beyond.setdefault(unit, {})
                    counts[key] = counts.get(key, 0) + 1
        most, best = 0.0, None
        for unit, counts in sorted(beyond.items()):
            least = self.cells[unit].cheapest(self.allowed[unit])
            for is_above in (False, True):
                total = 0
                for (side, cost), count in sorted(counts.items(), reverse=True):
                    if side == is_above:
                        total += count
                        if total * (cost - least) > most:
                            most, best = total * (cost - least), (unit, is_above, cost)
        if best is None:
            return None
        unit, is_above, cost = best
        one, allowed = self.cells[unit], bits_of(self.allowed[unit], len(self.cells[unit]))
        is_beyond = allowed & (one.costs >= cost)
        if one.grows:
            is_beyond &= (np.arange(len(one)) > one.own) == is_above
        far = as_mask(is_beyond)
        return (unit, self.allowed[unit] & ~far), (unit, far)

    def compact(self) -> tuple[list[Cells], list[Part]]:
        """Cells and leaves of the box alone, for the solver: cells that nothing tells apart are one."""
        cells, lines = [], []
        for unit, (one, allowed) in enumerate(zip(self.cells, self.allowed, strict=True)):
            inside = np.flatnonzero(bits_of(allowed, len(one)))
            masks = {leaf.cells[unit] for _, _, leaf in self._leaves() if unit in leaf.cells}
            kept = inside[one.take(inside).distinct([_moved(mask, inside, len(one)) for mask in masks])]
            cells.append(one.take(kept))
            lines.append(kept)
        parts = []
        for part in self.parts:
            if part.reachable is not None:
                trees = [
                    [
                        replace(leaf, cells={u: _moved(m, lines[u], len(self.cells[u])) for u, m in leaf.cells.items()})
                        for leaf in leaves
                    ]
                    for leaves in part.reachable.trees
                ]
                part = replace(part, reachable=replace(part.reachable, trees=trees))
            parts.append(part)
        return cells, parts


def _costs_of_masks(cells: Cells, masks: list[int]) -> Floats:
    """What the cheapest cell costs that is in two sets; infinite if there is none."""
    spans = [cells.span(mask) for mask in masks] if cells.grows else [None]
    if all(span is not None for span in spans):
        ends = np.array(spans)
        low, high = np.maximum.outer(ends[:, 0], ends[:, 0]), np.minimum.outer(ends[:, 1], ends[:, 1])
        nearest = np.clip(cells.own, low, np.maximum(low, high))
        return np.where(low > high, np.inf, cells.costs[nearest])
    bits = np.array([bits_of(mask, len(cells)) for mask in masks])
    order = np.argsort(cells.costs, kind="stable")
    bits, costs = bits[:, order], np.append(cells.costs[order], np.inf)
    found = np.full((len(masks), len(masks)), np.inf)
    for at in range(len(masks)):
        both = bits[at] & bits
        first = np.where(both.any(axis=1), both.argmax(axis=1), len(costs) - 1)
        found[at] = costs[first]
    return found


def _moved(mask: int, lines: Ints, n_cells: int) -> int:
    """A set of cells in terms of some of them."""
    return as_mask(bits_of(mask, n_cells)[lines])
