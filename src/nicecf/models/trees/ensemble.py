"""A fitted ensemble of trees as plain arrays: what every library's model is once it has been read.

All trees share one convention, whatever the library's own: a number goes left if it is at most the threshold, a
category if it is in the node's set. Nothing here knows which library the trees come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from nicecf.support.types import Bools, Floats, Ints

# "identity": the sums are probabilities; "sigmoid": one sum, for the second of two classes; "sigmoids": one per class.
Link: TypeAlias = Literal["identity", "sigmoid", "sigmoids", "softmax"]
Precision: TypeAlias = type[np.float32] | type[np.float64]
_Sums: TypeAlias = npt.NDArray[np.floating[Any]]
_Number = TypeVar("_Number", bound=np.generic)

# How many pairs of a row and a tree are followed at once: their arrays fit into the processor's cache.
_PAIRS_AT_ONCE = 2**15
# After how many levels the pairs that are in a leaf are put aside: looking for them costs as much as a level.
_LEVELS_AT_ONCE = 3


class NotSupported(Exception):  # noqa: N818  # not an error: the model itself is asked instead
    """There is no other way to the answers of this model than its own, or none for these rows; says why."""


class Categories(Protocol):
    """How a library numbers the categories of one input."""

    @property
    def missing(self) -> float:
        """The input for a missing category; infinite if only the model itself can tell what becomes of it."""

    def code(self, level: object) -> float:
        """The input for a category, NaN if it counts as missing; infinite if only the model itself can tell."""


@dataclass(frozen=True)
class NamedCategories:
    """Categories that are numbered in the order of ``values``. ``unknown``: the input for any other."""

    values: tuple[object, ...]
    unknown: float = np.nan
    missing: float = np.nan

    def code(self, level: object) -> float:
        return float(self._codes.get(level, self.unknown))

    @cached_property
    def _codes(self) -> dict[object, int]:
        return {value: code for code, value in enumerate(self.values) if value == value}


@dataclass(frozen=True)
class Input:
    """One input of the trees. ``categories``: None if numbers, or categories that are their own codes, are expected."""

    categories: Categories | None = None
    zero_is_missing: bool = False


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree, its nodes numbered from the root, 0. ``left`` is negative in a leaf.

    ``values``: one line per node, of which only those of leaves count. ``sets``: the codes that go left, by node.
    """

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    missing_left: Bools
    values: Floats
    sets: Mapping[int, Sequence[int] | Ints] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of all trees, one after the other.

    ``children``: the right and the left child of each node, in this order; a leaf is its own. A row goes left if its
    input is at most ``threshold``, or missing and ``missing_left``. Where ``category_set`` is not negative, it is the
    line of ``sets`` that says which codes go left; its last column, for all other codes, is False. ``values``: what a
    leaf adds, one column per output that its tree adds to.
    """

    feature: Ints
    threshold: Floats
    children: Ints
    missing_left: Bools
    category_set: npt.NDArray[np.int32]
    sets: Bools
    values: Floats

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> tuple[Nodes, Ints]:
        """The nodes of some trees, and where their roots are."""
        sizes = np.array([len(tree.feature) for tree in trees])
        roots: Ints = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        own = np.arange(sizes.sum())
        shift = np.repeat(roots, sizes)
        left, right = _joined(tree.left for tree in trees), _joined(tree.right for tree in trees)
        is_leaf = left < 0
        codes = {int(root) + at: tree.sets[at] for root, tree in zip(roots, trees, strict=True) for at in tree.sets}
        category_set = np.full(len(own), -1, dtype=np.int32)
        category_set[list(codes)] = np.arange(len(codes))
        sets = np.zeros((len(codes), 1 + max((max(some, default=-1) + 1 for some in codes.values()), default=0)), bool)
        for line, some in enumerate(codes.values()):
            sets[line, some] = True
        threshold = np.where(is_leaf, np.inf, _joined(tree.threshold for tree in trees))
        nodes = cls(
            feature=np.where(is_leaf, 0, _joined(tree.feature for tree in trees)).astype(np.intp),
            threshold=np.where(category_set < 0, threshold, -np.inf),
            children=np.where(is_leaf, own, np.stack([right, left]) + shift).T.astype(np.intp, order="C"),
            missing_left=_joined(tree.missing_left for tree in trees).astype(bool),
            category_set=category_set,
            sets=sets,
            values=_joined(tree.values for tree in trees),
        )
        return nodes, roots

    @cached_property
    def is_leaf(self) -> Bools:
        """Which nodes are leaves."""
        return self.left == np.arange(len(self.left))

    @property
    def left(self) -> Ints:
        """The left child of each node."""
        return self.children[:, 1]

    @property
    def right(self) -> Ints:
        """The right child of each node."""
        return self.children[:, 0]


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """All that a fitted ensemble of trees answers by.

    Tree ``t`` adds the values of a leaf to the outputs from ``outputs[t]`` on. The sums start at ``base``, are added up
    in the order of the trees and in the precision ``adds_in``, and divided by ``divisor``; ``link`` turns ``steepness``
    times that into probabilities. Inputs are compared in the precision ``compares_in``; numbers within ``tiny`` of
    zero are zero. ``frame_categories``: of the category columns of a frame, in their order, if the model knows them by
    that. ``absent_is_missing``: what a sparse matrix leaves out is missing, not zero. ``compiled``: where the library
    finds the leaves of a tree faster than numpy does, a function of single-precision inputs for each tree.
    """

    nodes: Nodes
    roots: Ints
    outputs: Ints
    base: Floats
    link: Link
    inputs: tuple[Input, ...]
    divisor: float = 1.0
    steepness: float = 1.0
    adds_in: Precision = np.float64
    compares_in: Precision = np.float64
    tiny: float = 0.0
    frame_categories: tuple[Categories, ...] = ()
    takes_missing: bool = True
    absent_is_missing: bool = False
    compiled: tuple[Callable[[npt.NDArray[np.float32]], Ints], ...] = ()

    @property
    def rounding(self) -> float:
        """How far the probabilities may be from those of the model: the order of a sum, the last digits of exp."""
        return 1e-12 if self.adds_in is np.float64 else 1e-6

    @cached_property
    def is_used(self) -> Bools:
        """Which inputs some split asks for."""
        is_used = np.zeros(len(self.inputs), dtype=bool)
        is_used[self.nodes.feature[~self.nodes.is_leaf]] = True
        return is_used

    def thresholds(self, number: int) -> Floats:
        """The numbers that one of the inputs is compared with, in ascending order."""
        nodes = self.nodes
        is_asked = ~nodes.is_leaf & (nodes.feature == number) & (nodes.category_set < 0)
        return np.unique(nodes.threshold[is_asked])

    def all_thresholds(self) -> list[Floats]:
        """The same for each of the inputs, in one pass."""
        nodes = self.nodes
        asked = np.flatnonzero(~nodes.is_leaf & (nodes.category_set < 0))
        order = asked[np.lexsort((nodes.threshold[asked], nodes.feature[asked]))]
        ends = np.searchsorted(nodes.feature[order], np.arange(len(self.inputs) + 1))
        return [np.unique(nodes.threshold[order[start:end]]) for start, end in pairwise(ends.tolist())]

    @cached_property
    def split_by_sets(self) -> Ints:
        """The inputs that some tree splits by a set of categories."""
        return np.unique(self.nodes.feature[~self.nodes.is_leaf & (self.nodes.category_set >= 0)])

    def probabilities(self, inputs: Floats) -> Floats:
        """The probabilities of the classes, one line per row of inputs; NotSupported if the model refuses the rows."""
        inputs = self.compared(inputs)
        if not len(inputs):
            return np.empty((0, max(2, len(self.base))))
        if self.compiled:
            return self._linked(self._sums_tree_by_tree(inputs.astype(np.float32)))
        return self._linked(np.concatenate([self._sums(leaves) for leaves in self._leaves(inputs)]))

    def raw_sums(self, compared: Floats) -> Floats:
        """What the trees add up to before it is divided, one column per output; of inputs as they are compared."""
        sums = np.concatenate([self._sums(leaves) for leaves in self._leaves(compared)])
        return sums.astype(np.float64) * self.divisor

    def leaves(self, inputs: Floats) -> Ints:
        """The leaf of each row in each tree, shape (trees, rows), as positions among all nodes."""
        parts = list(self._leaves(self.compared(inputs)))
        return np.concatenate(parts, axis=1) if parts else np.empty((len(self.roots), 0), dtype=np.intp)

    def _leaves(self, inputs: Floats) -> Iterable[Ints]:
        rows = max(1, _PAIRS_AT_ONCE // len(self.roots))
        return (self._descended(inputs[at : at + rows]) for at in range(0, len(inputs), rows))

    def _sums_tree_by_tree(self, inputs: npt.NDArray[np.float32]) -> _Sums:
        """What the trees add up to, where the library finds the leaves: one tree after the other."""
        base = self.base.astype(self.adds_in)
        width = self._values.shape[1]
        sums = np.tile(base, (len(inputs), 1))
        for leaves, values, first in zip(self.compiled, self._values_by_tree, self.outputs.tolist(), strict=True):
            sums[:, first : first + width] += values.take(leaves(inputs), axis=0)
        return sums / self.adds_in(self.divisor)

    def compared(self, inputs: Floats) -> Floats:
        """Inputs as the model compares them with its thresholds."""
        if inputs.shape[1] != len(self.inputs):
            raise NotSupported(f"its trees have {len(self.inputs)} inputs, but the rows have {inputs.shape[1]}")
        if not self.takes_missing and np.isnan(inputs).any():
            raise NotSupported("it takes no missing values, and the rows have some")
        if self.compares_in is np.float32:
            with np.errstate(over="ignore"):
                singles = inputs.astype(np.float32)
            if (np.isinf(singles) & np.isfinite(inputs)).any():  # most models would refuse it
                raise NotSupported("the rows hold a number that single precision cannot hold")
            inputs = singles.astype(np.float64)
        if self.tiny:
            inputs = np.where(np.abs(inputs) <= self.tiny, 0.0, inputs)
        if self._zero_is_missing.any():
            inputs = np.where((inputs == 0) & self._zero_is_missing, np.nan, inputs)
        return np.ascontiguousarray(inputs)

    @cached_property
    def _zero_is_missing(self) -> Bools:
        return np.array([one.zero_is_missing for one in self.inputs])

    def _descended(self, inputs: Floats) -> Ints:
        """The leaf of each row in each tree: all pairs go down in lock-step."""
        nodes, n_rows, children = self.nodes, len(inputs), self.nodes.children.ravel()
        cells, has_missing, has_sets = inputs.ravel(), bool(np.isnan(inputs).any()), len(nodes.sets) > 0
        node = np.repeat(self.roots, n_rows)
        start = np.tile(np.arange(n_rows) * inputs.shape[1], len(self.roots))
        found, place = np.empty_like(node), np.arange(len(node))
        # Terminates: every level brings each pair closer to a leaf, and no tree is infinite.
        while len(node):
            for _ in range(_LEVELS_AT_ONCE):
                cell = cells.take(start + nodes.feature.take(node))
                is_left = cell <= nodes.threshold.take(node)
                if has_sets:
                    is_left |= self.is_in_set(node, cell)
                if has_missing:
                    is_left |= np.isnan(cell) & nodes.missing_left.take(node)
                node = children.take(2 * node + is_left)  # right or left in one look-up
            found[place] = node
            goes_on = np.flatnonzero(~nodes.is_leaf.take(node))
            node, start, place = node.take(goes_on), start.take(goes_on), place.take(goes_on)
        return found.reshape(len(self.roots), n_rows)

    def is_left(self, node: int | Ints, cells: Floats) -> Bools:
        """Whether values of the inputs that nodes ask for, as they are compared, go left there.

        One node for all values, or as many as the last axis has.
        """
        nodes = self.nodes
        is_left = (cells <= nodes.threshold[node]) | (np.isnan(cells) & nodes.missing_left[node])
        if (nodes.category_set[node] >= 0).any():
            is_left |= self.is_in_set(np.asarray(node), cells)
        return np.asarray(is_left)

    def is_in_set(self, node: Ints, cell: Floats) -> Bools:
        """Whether each cell is in the set of its node; False in nodes that have none."""
        sets, lines = self.nodes.sets, self.nodes.category_set.take(node)
        code = np.trunc(cell)
        others = sets.shape[1] - 1
        code = np.where((code >= 0) & (code < others), code, others).astype(np.intp)  # NaN is among the others
        return (lines >= 0) & sets[lines, code]

    def _sums(self, leaves: Ints) -> _Sums:
        """What the trees add up to, shape (rows, outputs)."""
        values, base = self._values, self.base.astype(self.adds_in)
        width = values.shape[1]
        sums = np.empty((leaves.shape[1], len(base)), dtype=self.adds_in)
        for first in range(0, len(base), width):
            added = values.take(leaves[self.outputs == first], axis=0)
            added = np.concatenate([np.broadcast_to(base[first : first + width], (1, *added.shape[1:])), added])
            # One after the other, as the libraries do: numpy's sum adds pairs first, but only within a run of memory.
            is_run = added[0].size == 1
            sums[:, first : first + width] = np.add.accumulate(added)[-1] if is_run else np.add.reduce(added)
        return sums / self.adds_in(self.divisor)

    @cached_property
    def _values(self) -> _Sums:
        return self.nodes.values.astype(self.adds_in, copy=False)

    @cached_property
    def _values_by_tree(self) -> list[_Sums]:
        return np.split(self._values, self.roots[1:])

    def _linked(self, sums: _Sums) -> Floats:
        if self.link == "identity":
            return sums.astype(np.float64)
        if self.steepness != 1.0:
            sums = sums * self.adds_in(self.steepness)
        if self.link == "softmax":
            # Single precision too has its powers and their sum rounded from double: so do the libraries' results look.
            differences = sums - sums.max(axis=1, keepdims=True)
            powers = np.exp(differences.astype(np.float64)).astype(self.adds_in)
            total = powers.sum(axis=1, keepdims=True, dtype=np.float64).astype(self.adds_in)
            return (powers / total).astype(np.float64)
        shares = expit(sums)
        if self.link == "sigmoid":
            shares = np.column_stack([1 - shares[:, 0], shares[:, 0]])
        return shares.astype(np.float64)


def _joined(arrays: Iterable[npt.NDArray[_Number]]) -> npt.NDArray[_Number]:
    return np.concatenate(list(arrays))
