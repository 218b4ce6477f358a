"""The nearest counterfactual there is, proven, for trees and two classes: an oracle for benchmarks.

It looks for the row of least cost that the trees put on the other side of zero, where every feature has its own value
or one that a training row holds: what the thorough search may use. The decision only depends on the cell that a value
is in, between two thresholds, and of all values in a cell the nearest is the cheapest. So the choice is one cell for
each feature, and scipy's solver of mixed-integer programs (HiGHS) makes it:

- an ordered feature has a binary variable for each border between two cells, ``the value is beyond it``; a category
  one for each level,
- a tree has a variable for each leaf; they add up to 1, and those of leaves that ask for some cells of a feature are
  together at most what the feature's own variables allow,
- the values of the leaves add up to the wanted side of zero.

A counterfactual that is known is an upper bound: cells and leaves that cost more alone are left out, mostly nearly all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from nicecf.models import trees

# How exactly HiGHS keeps to a constraint. Sums of leaves this close to zero are decided by the model itself.
TOLERANCE = 1e-6
_SOLVED, _TIME_LIMIT = 0, 1


@dataclass(frozen=True, eq=False)
class Optimum:
    """What was found for one row.

    ``cost``: of ``values``, which the model was asked about; ``bound``: no row costs less. ``is_proven``: they are
    equal, apart from rounding.
    """

    values: np.ndarray
    cost: float
    bound: float
    seconds: float

    @property
    def is_proven(self) -> bool:
        """Whether nothing better exists."""
        return self.cost <= self.bound + 1e-5 * max(self.cost, TOLERANCE)


@dataclass(frozen=True)
class Leaf:
    """What it adds to the score, what it costs to get there at least, and which cells it asks for, as bits."""

    value: float
    cost: float
    cells: dict[int, int]


class Grid:
    """The values of a training table of float rows, and distances by its ranges."""

    def __init__(self, X: np.ndarray, categorical: Sequence[int]) -> None:
        self.is_ordered = ~np.isin(np.arange(X.shape[1]), categorical)
        self.ranges = np.where(self.is_ordered, np.ptp(X, axis=0), 0.0)
        self.values = [np.unique(column) for column in X.T]

    def parts(self, j: int, own: float, values: np.ndarray) -> np.ndarray:
        """What single values of a feature cost: their part in the distance."""
        if self.ranges[j] > 0:
            return np.asarray(np.abs(values - own) / self.ranges[j])
        return (values != own).astype(np.float64)

    def distance(self, row: np.ndarray, other: np.ndarray) -> float:
        """HEOM with ranges, the distance of nicecf, written once more."""
        return float(sum(self.parts(j, row[j], other[[j]])[0] for j in range(len(row))))

    def is_on_grid(self, row: np.ndarray, other: np.ndarray) -> bool:
        """Whether every value is the row's own, or that of a training row."""
        return all(other[j] == row[j] or other[j] in self.values[j] for j in range(len(row)))

    def on_grid(self, row: np.ndarray, other: np.ndarray) -> np.ndarray:
        """A row with every changed number moved away from the row's own, to the next training value; NaN: none."""
        moved = other.copy()
        for j in np.flatnonzero((other != row) & self.is_ordered):
            values = self.values[j]
            beyond = values[values >= other[j]][:1] if other[j] > row[j] else values[values <= other[j]][-1:]
            moved[j] = beyond[0] if len(beyond) else np.nan
        return moved


class Oracle:
    """Proven optima of one model with two classes over one training table of float rows."""

    def __init__(self, model: Any, X: np.ndarray, categorical: Sequence[int]) -> None:
        self._model = model
        self._ensemble = trees.read(model)
        assert self._ensemble.link in ("sigmoid", "identity"), "only two classes have one border"
        nodes, leaves = self._ensemble.nodes, self._ensemble.nodes.values
        if self._ensemble.link == "sigmoid":
            self._leaf_values, self._base = leaves[:, 0], float(self._ensemble.base[0])
        else:  # shares of two classes, as in a forest
            self._leaf_values, self._base = leaves[:, 1] - leaves[:, 0], 0.0
        self._grid = Grid(X, categorical)
        self._is_ordered, self._values = self._grid.is_ordered, self._grid.values
        self._is_leaf = nodes.is_leaf
        self._borders = [np.unique(nodes.threshold[~nodes.is_leaf & (nodes.feature == j)]) for j in range(X.shape[1])]

    def parts(self, j: int, own: float, values: np.ndarray) -> np.ndarray:
        """See ``Grid``, as for the next three."""
        return self._grid.parts(j, own, values)

    def distance(self, row: np.ndarray, other: np.ndarray) -> float:
        return self._grid.distance(row, other)

    def is_on_grid(self, row: np.ndarray, other: np.ndarray) -> bool:
        return self._grid.is_on_grid(row, other)

    def on_grid(self, row: np.ndarray, other: np.ndarray) -> np.ndarray:
        return self._grid.on_grid(row, other)

    def nearest(
        self, row: np.ndarray, target: int, known: np.ndarray, *, by: str = "distance", seconds: float = 30.0
    ) -> Optimum:
        """The best counterfactual ``by`` distance or by changes; ``known``: one that the model accepts."""
        start = perf_counter()

        def cost_of(other: np.ndarray) -> float:
            return self.distance(row, other) if by == "distance" else float((row != other).sum())

        cells = self._cells(row, by, cost_of(known))
        best, bound = known, 0.0
        # First with sums that may be zero: what is found costs no more than the optimum. If the model rejects it, then
        # with sums that may not: what is found is a counterfactual.
        for margin in (-TOLERANCE, TOLERANCE):
            left = seconds - (perf_counter() - start)
            found, low = self._solve(row, target, cells, cost_of(known), margin, left)
            if margin < 0:
                bound = low
            if found is None or self._model.predict(found[None])[0] != target:
                continue
            if cost_of(found) < cost_of(best):
                best = found
            break
        return Optimum(best, cost_of(best), min(bound, cost_of(best)), perf_counter() - start)

    def _cells(self, row: np.ndarray, by: str, most: float) -> list[dict[int, tuple[float, float]]]:
        """Of each feature, by cell: the cheapest value and its cost, if that is not more than ``most``."""
        singles = self._ensemble.compares_in is np.float32
        cells = []
        for j, values in enumerate(self._values):
            own = row[[j]]
            values = np.concatenate([own, values])  # the own value first: it costs nothing
            costs = self.parts(j, row[j], values) if by == "distance" else (values != row[j]).astype(np.float64)
            compared = values.astype(np.float32).astype(np.float64) if singles else values
            cell = np.searchsorted(self._borders[j], compared) if self._is_ordered[j] else values.astype(np.intp)
            order = np.lexsort((costs, cell))
            order = order[np.unique(cell[order], return_index=True)[1]]
            order = order[costs[order] <= most * (1 + 1e-9)]
            cells.append({int(cell[at]): (float(values[at]), float(costs[at])) for at in order})
        return cells

    def _leaves(self, root: int, cells: list[dict[int, tuple[float, float]]], most: float) -> list[Leaf]:
        """The leaves of a tree that do not cost more than ``most``."""
        nodes, ensemble = self._ensemble.nodes, self._ensemble
        leaves = []
        stack: list[tuple[int, dict[int, int]]] = [(root, {})]
        while stack:
            node, asked = stack.pop()
            cost = sum(min(cells[j][c][1] for c in _bits(mask)) for j, mask in asked.items())
            if cost > most * (1 + 1e-9):
                continue
            if self._is_leaf[node]:
                leaves.append(Leaf(float(self._leaf_values[node]), cost, asked))
                continue
            j = int(nodes.feature[node])
            mask = asked.get(j, _mask(cells[j]))
            if nodes.category_set[node] < 0 and self._is_ordered[j]:
                last = int(np.searchsorted(self._borders[j], nodes.threshold[node]))
                left = mask & ((1 << (last + 1)) - 1)
            else:
                codes = np.array(_bits(mask), dtype=np.float64)
                is_left = codes <= nodes.threshold[node]
                if nodes.category_set[node] >= 0:
                    is_left = ensemble.is_in_set(np.full(len(codes), node), codes)
                left = _mask(codes[is_left].astype(int).tolist())
            for side, child in ((left, nodes.left[node]), (mask & ~left, nodes.right[node])):
                if side:
                    stack.append((int(child), asked if side == mask else {**asked, j: side}))
        return leaves

    def _solve(
        self,
        row: np.ndarray,
        target: int,
        cells: list[dict[int, tuple[float, float]]],
        most: float,
        margin: float,
        seconds: float,
    ) -> tuple[np.ndarray | None, float]:
        """The cheapest row whose score is on the wanted side by ``margin``, None if none was found; a lower bound."""
        program = _Program()
        choices = {
            j: _Choice.of(program, own, is_ordered=bool(self._is_ordered[j]), most=most) for j, own in enumerate(cells)
        }
        sign = 1.0 if target == 1 else -1.0
        score: dict[int, float] = {}
        for root in self._ensemble.roots:
            leaves = self._leaves(int(root), cells, most)
            if not leaves:
                return None, most
            variables = [program.variable(0.0) for _ in leaves]
            program.add(dict.fromkeys(variables, 1.0), 1.0, 1.0)
            score |= {at: sign * leaf.value for at, leaf in zip(variables, leaves, strict=True)}
            for j in {j for leaf in leaves for j in leaf.cells}:
                for asked in choices[j].halves([leaf.cells[j] for leaf in leaves if j in leaf.cells]):
                    inside = [
                        at
                        for at, leaf in zip(variables, leaves, strict=True)
                        if j in leaf.cells and not leaf.cells[j] & ~asked
                    ]
                    terms, constant = choices[j].is_in(asked)
                    program.add(
                        {**dict.fromkeys(inside, 1.0), **{at: -w for at, w in terms.items()}}, -np.inf, constant
                    )
        program.add(score, margin - sign * self._base, np.inf)
        program.add(program.costs(), -np.inf, 1.0 + TOLERANCE - program.constant)
        solution, bound = program.solve(seconds)
        if solution is None:
            return None, bound * most
        found = row.copy()
        for j, choice in choices.items():
            found[j] = cells[j][choice.taken(solution)][0]
        return found, bound * most


class _Program:
    """A mixed-integer program that grows."""

    def __init__(self) -> None:
        self._cost: list[float] = []
        self._is_integer: list[bool] = []
        self._rows: list[dict[int, float]] = []
        self._low: list[float] = []
        self._high: list[float] = []
        self.constant = 0.0

    def variable(self, cost: float, *, is_integer: bool = False) -> int:
        self._cost.append(cost)
        self._is_integer.append(is_integer)
        return len(self._cost) - 1

    def add(self, terms: dict[int, float], low: float, high: float) -> None:
        self._rows.append(terms)
        self._low.append(low)
        self._high.append(high)

    def costs(self) -> dict[int, float]:
        return {at: cost for at, cost in enumerate(self._cost) if cost}

    def solve(self, seconds: float) -> tuple[np.ndarray | None, float]:
        """The best solution, None if there is none, and a bound: 1 if there is none."""
        at = [(line, column, weight) for line, terms in enumerate(self._rows) for column, weight in terms.items()]
        lines, columns, weights = zip(*at, strict=True)
        # Older versions of scipy hand indices to the solver as they are, and it takes only these.
        places = np.array([lines, columns], dtype=np.int32)
        matrix = coo_array((weights, tuple(places)), shape=(len(self._rows), len(self._cost))).tocsc()
        found = milp(
            np.array(self._cost),
            integrality=np.array(self._is_integer, dtype=int),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, self._low, self._high),
            options={"time_limit": max(0.1, seconds), "mip_rel_gap": 0.0},
        )
        if found.status not in (_SOLVED, _TIME_LIMIT):  # infeasible: nothing is as cheap as what is known
            return None, 1.0
        bound = found.mip_dual_bound if found.mip_dual_bound is not None else 0.0
        return found.x, float(bound) + self.constant


@dataclass(frozen=True)
class _Choice:
    """The variables of one feature. Ordered: 1 beyond each border between two cells; else 1 for the cell chosen."""

    cells: list[int]
    variables: list[int]
    is_ordered: bool

    @classmethod
    def of(cls, program: _Program, cells: dict[int, tuple[float, float]], *, is_ordered: bool, most: float) -> _Choice:
        order = sorted(cells)
        costs = [cells[one][1] / most for one in order]
        if not is_ordered:
            variables = [program.variable(cost, is_integer=True) for cost in costs]
            program.add(dict.fromkeys(variables, 1.0), 1.0, 1.0)
            return cls(order, variables, is_ordered)
        # From the first cell on; what is below the row's own value becomes cheaper with each border passed.
        program.constant += costs[0]
        variables = [program.variable(b - a, is_integer=True) for a, b in pairwise(costs)]
        for one, following in pairwise(variables):
            program.add({following: 1.0, one: -1.0}, -np.inf, 0.0)
        return cls(order, variables, is_ordered)

    def halves(self, masks: list[int]) -> set[int]:
        """What leaves ask for, as sets that ``is_in`` can express: all cells up to a border, or all beyond it."""
        if not self.is_ordered:
            return set(masks)
        every, sides = _mask(self.cells), set()
        for mask in masks:
            first, last = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
            sides |= {every & ((1 << (last + 1)) - 1), every & ~((1 << first) - 1)}
        return sides - {every}

    def is_in(self, mask: int) -> tuple[dict[int, float], float]:
        """Whether the cell is among some, as weights of variables and a constant."""
        if not self.is_ordered:
            return {at: 1.0 for at, cell in zip(self.variables, self.cells, strict=True) if mask >> cell & 1}, 0.0
        n_inside = mask.bit_count()
        if mask >> self.cells[0] & 1:
            return {self.variables[n_inside - 1]: -1.0}, 1.0
        return {self.variables[len(self.cells) - n_inside - 1]: 1.0}, 0.0

    def taken(self, solution: np.ndarray) -> int:
        """The cell chosen."""
        chosen = np.round(solution[self.variables]).astype(int)
        return self.cells[int(chosen.sum()) if self.is_ordered else int(chosen.argmax())]


def _mask(cells: Any) -> int:
    mask = 0
    for cell in cells:
        mask |= 1 << cell
    return mask


def _bits(mask: int) -> list[int]:
    return [at for at in range(mask.bit_length()) if mask >> at & 1]
