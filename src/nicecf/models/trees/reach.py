"""What an ensemble of trees can answer while a few of its inputs vary: its leaves within reach, and bounds by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from nicecf.models.trees.ensemble import TreeEnsemble
from nicecf.support.types import Bools, Floats, Ints

# How far a probability must be from where the decision turns: the last digits of exp, by the precision of the sums.
_CLEAR = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves that rows can reach, tree by tree.

    ``low`` and ``high``: one column per number that varies; the leaf is for inputs above ``low`` and up to ``high``.
    ``codes``: for each category that varies, with which of its codes a row gets there.
    """

    tree: Ints
    node: Ints
    low: Floats
    high: Floats
    codes: tuple[Bools, ...]

    def take(self, some: Ints | Bools) -> Leaves:
        """Some of them."""
        codes = tuple(one[some] for one in self.codes)
        return Leaves(self.tree[some], self.node[some], self.low[some], self.high[some], codes)


def leaves_within(
    ensemble: TreeEnsemble, row: Floats, numbers: Sequence[tuple[int, float, float]], categories: Sequence[Floats]
) -> Leaves:
    """The leaves that a row of compared inputs can reach.

    ``numbers``: the inputs that vary, each above one bound and up to another. ``categories``: for each that varies, the
    inputs of the row with each of its codes; no input may vary with two of them.
    """
    nodes, n_trees = ensemble.nodes, len(ensemble.roots)
    owner = np.full(len(row), -1)
    for at, (number, _, _) in enumerate(numbers):
        owner[number] = at
    for at, inputs in enumerate(categories):
        owner[[j for j in range(len(row)) if _varies(inputs[:, j])]] = len(numbers) + at
    front = Leaves(
        np.arange(n_trees),
        ensemble.roots.copy(),
        np.tile([low for _, low, _ in numbers], (n_trees, 1)).reshape(n_trees, len(numbers)),
        np.tile([high for _, _, high in numbers], (n_trees, 1)).reshape(n_trees, len(numbers)),
        tuple(np.ones((n_trees, len(inputs)), dtype=bool) for inputs in categories),
    )
    found = []
    while len(front.node):  # ends: every level brings each closer to a leaf
        is_leaf = nodes.is_leaf[front.node]
        found.append(front.take(is_leaf))
        front = front.take(~is_leaf)
        front = _joined(
            [_children(front, ensemble, row, owner, len(numbers), categories, left=left) for left in (True, False)]
        )
    every = _joined(found)
    return every.take(np.argsort(every.tree, kind="stable"))


def _children(
    front: Leaves,
    ensemble: TreeEnsemble,
    row: Floats,
    owner: Ints,
    n_numbers: int,
    categories: Sequence[Floats],
    *,
    left: bool,
) -> Leaves:
    """The left or the right children of nodes, in so far as rows get there."""
    nodes = ensemble.nodes
    own, threshold = owner[nodes.feature[front.node]], nodes.threshold[front.node]
    is_there = np.ones(len(own), dtype=bool)
    fixed = np.flatnonzero(own < 0)
    node = front.node[fixed]
    is_there[fixed] = ensemble.is_left(node, row[nodes.feature[node]]) == left
    low, high, codes = front.low.copy(), front.high.copy(), [one.copy() for one in front.codes]
    for at in range(n_numbers):
        here = np.flatnonzero(own == at)
        if left:
            high[here, at] = np.minimum(high[here, at], threshold[here])
        else:
            low[here, at] = np.maximum(low[here, at], threshold[here])
        is_there[here] = low[here, at] < high[here, at]
    for at, inputs in enumerate(categories):
        here = np.flatnonzero(own == n_numbers + at)
        node = front.node[here]
        goes_left = np.stack([ensemble.is_left(node, one[nodes.feature[node]]) for one in inputs], axis=1)
        codes[at][here] &= goes_left == left
        is_there[here] = codes[at][here].any(axis=1)
    children = nodes.left[front.node] if left else nodes.right[front.node]
    return Leaves(front.tree, children, low, high, tuple(codes)).take(is_there)


def _varies(values: Floats) -> bool:
    return bool((values != values[0]).any() and not np.isnan(values).all())


def _joined(parts: Sequence[Leaves]) -> Leaves:
    return Leaves(
        np.concatenate([one.tree for one in parts]),
        np.concatenate([one.node for one in parts]),
        np.concatenate([one.low for one in parts]),
        np.concatenate([one.high for one in parts]),
        tuple(np.concatenate(some) for some in zip(*(one.codes for one in parts), strict=True)),
    )


@dataclass(frozen=True, eq=False)
class Boxes:
    """Some boxes: of each number its first and its last cell, of each category which codes belong to it."""

    first: Ints
    last: Ints
    codes: tuple[Bools, ...]

    def __len__(self) -> int:
        return len(self.first)

    def take(self, some: Ints | Bools) -> Boxes:
        """Some of them."""
        return Boxes(self.first[some], self.last[some], tuple(one[some] for one in self.codes))

    @classmethod
    def joined(cls, parts: Sequence[Boxes]) -> Boxes:
        """All boxes of some."""
        return cls(
            np.concatenate([one.first for one in parts]),
            np.concatenate([one.last for one in parts]),
            tuple(np.concatenate(some) for some in zip(*(one.codes for one in parts), strict=True)),
        )

    @property
    def sizes(self) -> Ints:
        """How many cells each has along each number, and codes of each category."""
        return np.column_stack([self.last - self.first + 1, *(one.sum(axis=1) for one in self.codes)]).astype(np.intp)

    def split(self) -> Boxes:
        """Each of them in two halves, along its longest side; none may be a single cell."""
        sizes = self.sizes
        longest, lines = sizes.argmax(axis=1), np.arange(len(self))
        n_numbers = self.first.shape[1]
        parts = []
        for is_second in (False, True):
            first, last, codes = self.first.copy(), self.last.copy(), [one.copy() for one in self.codes]
            for at in range(sizes.shape[1]):
                here = lines[longest == at]
                half = sizes[here, at] // 2
                if at < n_numbers:
                    middle = self.first[here, at] + half
                    if is_second:
                        first[here, at] = middle
                    else:
                        last[here, at] = middle - 1
                else:
                    rank = np.cumsum(self.codes[at - n_numbers][here], axis=1)
                    codes[at - n_numbers][here] &= (rank > half[:, None]) == is_second
            parts.append(Boxes(first, last, tuple(codes)))
        return Boxes.joined(parts)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The least that an ensemble answers for a class in any box: ``gap`` to the next class, ``probability`` of its own.

    ``first`` and ``last``: of each leaf and number, the cells that it is for.
    """

    ensemble: TreeEnsemble
    leaves: Leaves
    first: Ints
    last: Ints
    decided: int

    @classmethod
    def of(
        cls, ensemble: TreeEnsemble, leaves: Leaves, borders: Sequence[Floats], kept: Sequence[Bools], decided: int
    ) -> Bounds:
        """``borders``: of each number, between its cells; ``kept``: which of these hold values at all."""
        first, last = np.zeros_like(leaves.low, dtype=np.intp), np.zeros_like(leaves.low, dtype=np.intp)
        for at, (between, is_kept) in enumerate(zip(borders, kept, strict=True)):
            before = np.concatenate([[0], np.cumsum(is_kept)])
            first[:, at] = before[np.searchsorted(between, leaves.low[:, at], side="right")]
            last[:, at] = before[np.searchsorted(between, leaves.high[:, at], side="left") + 1] - 1
        is_there: Bools = np.asarray((first <= last).all(axis=1))
        return cls(ensemble, leaves.take(is_there), first[is_there], last[is_there], decided)

    @property
    def clear(self) -> float:
        """How far from where a decision turns a bound must be to decide it."""
        return _CLEAR[np.dtype(self.ensemble.adds_in)]

    def __call__(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """The least gap and the least probability in each box."""
        first, last, leaves = self.first, self.last, self.leaves
        meets = np.ones((len(boxes), len(leaves.node)), dtype=bool)
        for at in range(first.shape[1]):
            meets &= (first[:, at] <= boxes.last[:, at, None]) & (last[:, at] >= boxes.first[:, at, None])
        for of_leaf, of_box in zip(leaves.codes, boxes.codes, strict=True):
            meets &= (of_box.astype(np.float32) @ of_leaf.T.astype(np.float32)) > 0
        starts = np.flatnonzero(np.diff(leaves.tree, prepend=-1))
        low = np.empty((len(boxes), self._quantities.shape[1]))
        for q, values in enumerate(self._quantities.T):
            least = np.minimum.reduceat(np.where(meets, values, np.inf), starts, axis=1)
            low[:, q] = least.sum(axis=1)
        return self._answers((low + self._base - self._rounding) / self.ensemble.divisor)

    @cached_property
    def _values(self) -> Floats:
        """What each leaf adds to each output."""
        ensemble = self.ensemble
        own = ensemble.nodes.values[self.leaves.node]
        values = np.zeros((len(own), len(ensemble.base)))
        places = ensemble.outputs[self.leaves.tree, None] + np.arange(own.shape[1])
        np.put_along_axis(values, places, own, axis=1)
        return values

    def _of(self, outputs: Floats) -> Floats:
        """The quantities whose least values are looked for, of sums or what is added to them."""
        c, link = self.decided, self.ensemble.link
        if link == "sigmoid":
            return outputs if c == 1 else -outputs
        others = np.delete(outputs, c, axis=1)
        return np.column_stack([outputs[:, c], -others if link == "sigmoids" else outputs[:, [c]] - others])

    @cached_property
    def _quantities(self) -> Floats:
        return self._of(self._values)

    @cached_property
    def _base(self) -> Floats:
        return np.asarray(self._of(self.ensemble.base[None].astype(np.float64))[0])

    @cached_property
    def _rounding(self) -> float:
        """How far the sums of the model may be from exact ones: by one rounding for each tree."""
        starts = np.flatnonzero(np.diff(self.leaves.tree, prepend=-1))
        largest = np.maximum.reduceat(np.abs(self._values).max(axis=1), starts).sum() + np.abs(self.ensemble.base).max()
        return 4.0 * len(starts) * float(np.finfo(self.ensemble.adds_in).eps) * float(largest)

    def _answers(self, low: Floats) -> tuple[Floats, Floats]:
        link, steepness = self.ensemble.link, self.ensemble.steepness
        if link == "identity":
            return low[:, 1:].min(axis=1), low[:, 0]
        low = low * steepness
        if link == "sigmoid":
            probability = expit(low[:, 0])
            return 2 * probability - 1, probability
        if link == "sigmoids":
            return expit(low[:, 0]) - expit(-low[:, 1:]).max(axis=1), expit(low[:, 0])
        with np.errstate(over="ignore"):
            probability = 1 / (1 + np.exp(-low[:, 1:]).sum(axis=1))
            gap = -np.expm1(-low[:, 1:].min(axis=1)) / (low.shape[1])
        return gap, probability
