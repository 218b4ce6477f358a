"""What an answer costs at least, by the leaves of trees alone: no solver, and no call of the model.

An answer that costs so much is, in every tree, in a leaf that can be reached for so much. As long as the best leaves
within reach, one of each tree, do not add up to what is asked for, there is no answer. Rules are not looked at: they
only make answers cost more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nicecf.models.readable import Formula
from nicecf.models.trees.ensemble import NotSupported, TreeEnsemble
from nicecf.search.distance import Heom
from nicecf.search.exact.cells import as_mask, bits_of
from nicecf.search.exact.margins import Alternative, Inequality, alternatives
from nicecf.search.question import Question
from nicecf.search.training_values import TrainingValues
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.reduced import ReducedSchema
from nicecf.tables.schema import Schema, differs

# Larger ensembles cost more to look at than the search itself.
_MOST_LEAVES = 4_096
# Values of a feature times splits, or features.
_MOST_CELLS = 2**25
# Trees are looked at side by side, each as if it had as many leaves as the largest: so many in all.
_MOST_PLACES = 16_384
# Pairs of a row and a leaf that are looked at at once.
_PAIRS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class _Feature:
    """What leaves ask of one feature: sets of its training values, by number.

    ``leaves``: those that ask for one, ``mask_of``: the number of its set. ``first`` and ``last``: the ends of each
    set; ``has_missing``: whether a missing value is in it; ``is_empty``: whether no number or category is. The
    conditions of all sets stand one after the other, from ``starts`` on: which of the ``nodes`` must be passed, and on
    which side.
    """

    j: int
    leaves: Ints
    mask_of: Ints
    first: Floats
    last: Floats
    has_missing: Bools
    is_empty: Bools
    nodes: Ints
    passed: Ints
    is_left: Bools
    starts: Ints


@dataclass(frozen=True, eq=False)
class LeafBounds:
    """Bounds for rows of one explainer. ``tree``: of each leaf, in their order; ``values``: what it adds."""

    formula: Formula
    features: tuple[_Feature, ...]
    tree: Ints
    values: Floats

    @classmethod
    def of(cls, formula: Formula, schema: Schema, training: TrainingValues, row: Floats) -> LeafBounds | None:
        """Learn what the leaves ask for; None if there are too many, or an input follows from several columns.

        ``row``: any training row.
        """
        ensemble = formula.sums
        if not isinstance(ensemble, TreeEnsemble) or isinstance(schema, ReducedSchema):
            return None
        if ensemble.nodes.is_leaf.sum() > _MOST_LEAVES or not formula.by_column(schema).all():
            return None
        try:
            return cls._read(formula, ensemble, schema, training, row)
        except NotSupported:
            return None

    @classmethod
    def _read(
        cls,
        formula: Formula,
        ensemble: TreeEnsemble,
        schema: Schema,
        training: TrainingValues,
        row: Floats,
    ) -> LeafBounds | None:
        nodes = ensemble.nodes
        splits = np.flatnonzero(~nodes.is_leaf)
        owner = np.full(len(ensemble.inputs), -1, dtype=np.intp)
        goes_left: dict[int, int] = {}
        base = formula.compared(row[None], schema)
        values_of = []
        for j in range(len(row)):
            values = training.of_feature(j)
            if training.missing[j] >= 0:
                values = np.append(values, np.nan)
            values_of.append(values)
            if len(values) * max(len(splits), len(row)) > _MOST_CELLS:
                return None
            rows = np.tile(row, (len(values), 1))
            rows[:, j] = values
            inputs = formula.compared(rows, schema)
            moved = np.flatnonzero(differs(inputs, base).any(axis=0) & ensemble.is_used)
            if (owner[moved] >= 0).any():
                return None
            owner[moved] = j
            here = splits[np.isin(nodes.feature[splits], moved)]
            for node in here.tolist():
                goes_left[node] = as_mask(ensemble.is_left(node, inputs[:, nodes.feature[node]]))
        for node in splits[owner[nodes.feature[splits]] < 0].tolist():  # an input that never moves
            goes_left[node] = -1 if ensemble.is_left(node, base[:, nodes.feature[node]])[0] else 0
        leaves = _paths(ensemble, owner, goes_left, [(1 << len(values)) - 1 for values in values_of])
        tree = np.array([number for number, _, _ in leaves])
        if len(ensemble.roots) * int(np.bincount(tree).max()) > _MOST_PLACES:
            return None
        added = np.zeros((len(leaves), len(ensemble.base)))
        width = nodes.values.shape[1]
        for at, (number, leaf, _) in enumerate(leaves):
            first = int(ensemble.outputs[number])
            added[at, first : first + width] = nodes.values[leaf]
        features = [_feature(j, values, leaves) for j, values in enumerate(values_of)]
        return cls(formula, tuple(one for one in features if one is not None), tree, added)

    def least(self, question: Question, distance: Heom | None) -> Floats:
        """How far answers for the rows of a question are at least, or, without a distance, how many changes they have.

        Infinite where there is none at all.
        """
        least = np.zeros(len(question))
        (member, *others) = question.panel.members
        if others or not self.formula.is_current():
            return least
        n_at_once = max(1, _PAIRS_AT_ONCE // max(1, len(self.tree)))
        targets, place = np.unique(question.wanted, axis=0, return_inverse=True)
        for number, wanted in enumerate(targets):
            try:
                ways = alternatives(question.panel, member, self.formula, wanted)
            except NotSupported:
                continue
            lines = np.flatnonzero(place.ravel() == number)
            for at in range(0, len(lines), n_at_once):
                some = lines[at : at + n_at_once]
                try:
                    costs = self._costs(question.rows[some], question.schema, distance)
                except NotSupported:  # the model refuses one of them: nothing is known of these
                    continue
                least[some] = np.min([self._least(way, costs) for way in ways], axis=0) if ways else np.inf
        return least

    def _costs(self, rows: Floats, schema: Schema, distance: Heom | None) -> Floats:
        """What it costs to get into each leaf at least: one line per row."""
        inputs = self.formula.compared(rows, schema)
        costs = np.zeros((len(rows), len(self.tree)))
        for one in self.features:
            costs[:, one.leaves] += self._of_feature(one, rows[:, one.j], inputs, distance)[:, one.mask_of]
        return costs

    def _of_feature(self, one: _Feature, own: Floats, inputs: Floats, distance: Heom | None) -> Floats:
        """What it costs to get into each set of values of a feature."""
        ensemble = self.formula.sums
        assert isinstance(ensemble, TreeEnsemble)
        sides = ensemble.is_left(one.nodes, inputs[:, ensemble.nodes.feature[one.nodes]])
        is_in = np.logical_and.reduceat(sides[:, one.passed] == one.is_left, one.starts, axis=1)
        weight = 1.0 if distance is None or distance.weights is None else float(distance.weights[one.j])
        scale = 0.0 if distance is None else float(distance.scales[one.j])
        if scale == 0:
            away = np.where(one.is_empty & ~one.has_missing, np.inf, weight)[None, :]
        else:
            below, above = one.first[None, :] - own[:, None], own[:, None] - one.last[None, :]
            with np.errstate(invalid="ignore"):
                away = np.maximum(np.maximum(below, above), 0.0) / scale * weight
            away = np.where(np.isnan(own)[:, None], weight, away)
            away = np.where(one.is_empty[None, :], np.inf, away)
            away = np.where(one.has_missing[None, :], np.minimum(away, weight), away)
        return np.where(is_in, 0.0, away)

    def _least(self, way: Alternative, costs: Floats) -> Floats:
        """The least cost at which all inequalities of an alternative can hold, each by itself."""
        least = np.zeros(len(costs))
        for inequality in way.inequalities:
            least = np.maximum(least, self._reaching(inequality, costs))
        return least

    def _reaching(self, inequality: Inequality, costs: Floats) -> Floats:
        """The least cost at which the best leaves within reach add up to a bound."""
        ensemble = self.formula.sums
        assert isinstance(ensemble, TreeEnsemble)
        n_trees, weight = len(ensemble.roots), float(np.abs(inequality.weights).sum())
        # Tree by tree, with places that no leaf is in at the end of smaller ones.
        at = np.append(costs, np.full((len(costs), 1), np.inf), axis=1)[:, self._places]
        added = np.append(self.values @ inequality.weights, -np.inf)[self._places]
        order = np.argsort(at, axis=2, kind="stable")
        best = np.maximum.accumulate(np.take_along_axis(np.broadcast_to(added, at.shape), order, axis=2), axis=2)
        every = np.take_along_axis(at, order, axis=2).reshape(len(costs), -1)
        gained = np.diff(best, axis=2, prepend=0.0).reshape(len(costs), -1)
        order = np.argsort(every, axis=1, kind="stable")
        every, gained = np.take_along_axis(every, order, axis=1), np.take_along_axis(gained, order, axis=1)
        total = np.cumsum(gained, axis=1) + float(ensemble.base @ inequality.weights)
        sizes = np.abs(self.values).max() * len(ensemble.roots) + np.abs(ensemble.base).max()
        rounding = float(np.finfo(ensemble.adds_in).eps) * n_trees * sizes * weight
        # The row's own leaves cost nothing: all trees are in once everything is added that costs as much.
        is_last = np.append(every[:, 1:] != every[:, :-1], np.ones((len(every), 1), dtype=bool), axis=1)
        is_reached = is_last & (total >= inequality.bound - rounding)
        first = is_reached.argmax(axis=1)
        reached = np.take_along_axis(every, first[:, None], axis=1)[:, 0]
        return np.where(is_reached.any(axis=1), reached, np.inf)

    @cached_property
    def _places(self) -> Ints:
        """The leaves of each tree, a line each; -1 where it has no more."""
        sizes = np.bincount(self.tree)
        places = np.full((len(sizes), int(sizes.max())), -1, dtype=np.intp)
        within = np.arange(len(self.tree)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places[self.tree, within] = np.arange(len(self.tree))
        return places


def _paths(
    ensemble: TreeEnsemble, owner: Ints, goes_left: dict[int, int], everything: list[int]
) -> list[tuple[int, int, dict[int, tuple[int, tuple[tuple[int, bool], ...]]]]]:
    """The leaves that some training values lead to: their tree and node; of each feature the values, and the path."""
    nodes, found = ensemble.nodes, []
    for number, root in enumerate(ensemble.roots.tolist()):
        stack: list[tuple[int, dict[int, tuple[int, tuple[tuple[int, bool], ...]]]]] = [(root, {})]
        while stack:  # terminates: children only
            node, asked = stack.pop()
            if nodes.is_leaf[node]:
                found.append((number, node, asked))
                continue
            j, left = int(owner[nodes.feature[node]]), goes_left[node]
            if j < 0:
                stack.append((int(nodes.left[node] if left else nodes.right[node]), asked))
                continue
            mask, path = asked.get(j, (everything[j], ()))
            # Also where no training value goes: a row's own may.
            stack.append((int(nodes.right[node]), {**asked, j: (mask & ~left, (*path, (node, False)))}))
            stack.append((int(nodes.left[node]), {**asked, j: (mask & left, (*path, (node, True)))}))
    return found


def _feature(
    j: int, values: Floats, leaves: list[tuple[int, int, dict[int, tuple[int, tuple[tuple[int, bool], ...]]]]]
) -> _Feature | None:
    asking = [(at, asked[j]) for at, (_, _, asked) in enumerate(leaves) if j in asked]
    if not asking:
        return None
    distinct = {one: number for number, one in enumerate(dict.fromkeys(one for _, one in asking))}
    masks = np.array([bits_of(mask, len(values)) for mask, _ in distinct])
    is_number = ~np.isnan(values)
    numbers = masks & is_number
    is_empty = ~numbers.any(axis=1)
    known = np.append(values[is_number], 0.0)  # of an empty set, any
    positions = numbers[:, is_number]
    first = positions.argmax(axis=1) if positions.shape[1] else np.zeros(len(masks), dtype=np.intp)
    last = positions.shape[1] - 1 - positions[:, ::-1].argmax(axis=1) if positions.shape[1] else first
    conditions = [path for _, path in distinct]
    sizes = np.array([len(path) for path in conditions])
    nodes, passed = np.unique(np.array([node for path in conditions for node, _ in path]), return_inverse=True)
    return _Feature(
        j,
        np.array([at for at, _ in asking]),
        np.array([distinct[one] for _, one in asking]),
        known[first],
        known[last],
        np.asarray((masks & ~is_number).any(axis=1)),
        np.asarray(is_empty),
        nodes,
        passed.ravel(),
        np.array([is_left for path in conditions for _, is_left in path]),
        np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp),
    )
