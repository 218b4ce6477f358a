"""The cheapest combination of cells that a model accepts, by CP-SAT of ortools: found, or proven not to exist.

- A unit whose cells are only ever cut in their order has a variable for each cut, "the cell is before it"; any other
  unit has one for each cell.
- A tree has a variable for each leaf within reach; exactly one is true, and those that ask for some cells of a unit are
  at most one together with the statement that the unit is elsewhere.
- The leaves add up to what one of the alternatives asks for.

Whole numbers stand for costs and leaves: costs are rounded down, leaves up, so that nothing is excluded that exists.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from nicecf.models.linear_sums import LinearSums
from nicecf.models.readable import Formula
from nicecf.search.exact.cells import Cells, Leaf, Reachable
from nicecf.search.exact.margins import Alternative, Inequality
from nicecf.support.extras import require
from nicecf.support.types import Floats, Ints

# Costs are whole numbers up to this, and sums up to that.
_COST_STEPS = 2**26
_SUM_STEPS = 2**36
# Smaller sums are nothing.
_TINY = 1e-200
_DYADIC = 2**20
# How often it is looked whether somebody wants to stop: a signal that reaches another thread wakes up nobody here.
_SECONDS_TO_NOTICE = 0.1


@dataclass(frozen=True, eq=False)
class Part:
    """One model of a panel for one row: its formula, what is left of it, and what its sums must be."""

    number: int
    formula: Formula
    reachable: Reachable | None
    owner: Ints
    alternatives: list[Alternative]

    def can_hold(self, way: Alternative, cells: list[Cells]) -> bool:
        """Whether the best of everything within reach keeps each inequality of an alternative by itself."""
        return all(self._most(one, cells) >= one.bound - self.slack(one, cells) for one in way.inequalities)

    def slack(self, inequality: Inequality, cells: list[Cells] | None = None) -> float:
        """How far the model's own sum may be from an exact one."""
        if self.reachable is not None:
            # Twice: of two probabilities that add up to 1, the other one may be what is compared.
            return 2.0 * float(self.reachable.rounding @ np.abs(inequality.weights))
        sums = self.formula.sums
        assert isinstance(sums, LinearSums)
        assert cells is not None
        of_inputs = contributions_of(cells, self, inequality.weights @ sums.coefficients)
        sizes = sum(float(np.abs(one).max()) for one in of_inputs.by_cell) + abs(of_inputs.base)
        return linear_rounding(sizes + abs(float(inequality.weights @ sums.base)), len(sums.inputs))

    def _most(self, inequality: Inequality, cells: list[Cells]) -> float:
        """The largest that a weighted sum can be, by the best leaf of each tree or the best cell of each unit."""
        weights, sums = inequality.weights, self.formula.sums
        if self.reachable is None:
            assert isinstance(sums, LinearSums)
            of_inputs = contributions_of(cells, self, weights @ sums.coefficients)
            return float(weights @ sums.base) + of_inputs.base + sum(float(one.max()) for one in of_inputs.by_cell)
        total = float(self.reachable.base @ weights)
        return total + sum(max(float(leaf.values @ weights) for leaf in leaves) for leaves in self.reachable.trees)


@dataclass(frozen=True, eq=False)
class Outcome:
    """``cells``: the number of the cell of each unit, None if nothing was found. ``bound``: nothing costs less.

    ``is_proven``: nothing is cheaper than what was found; or, if nothing was found, there is nothing within the limit.
    ``work``: what it took, in the solver's own measure of time.
    """

    cells: list[int] | None
    bound: float
    is_proven: bool
    work: float


@dataclass(eq=False)
class Program:
    """The problem of one row as a program for CP-SAT, to which more can be added once something is found.

    ``limit``: only what costs less is looked for. ``most_changes``: how many features may change.
    """

    cells: list[Cells]
    parts: list[Part]
    limit: float
    most_changes: int | None
    cuts: list[list[tuple[int, int]]] = field(default_factory=list)
    more: list[tuple[int, int, Inequality]] = field(default_factory=list)

    def solve(self, *, seconds: float, work: float, workers: int = 1) -> Outcome:
        """The cheapest combination of cells; ``work`` limits the solver's own measure of time, which is repeatable."""
        cp_model = require("ortools.sat.python.cp_model", extra="exact", needed_by="search='exact'")
        model = _Model(cp_model, self)
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = workers
        parameters.random_seed = 0
        parameters.max_time_in_seconds = max(seconds, 0.01)
        parameters.max_deterministic_time = work
        parameters.linearization_level = 2
        # Its presolve loses solutions (ortools 9.15: "optimal" for what is not), and boxes leave it little to do.
        # Without it, what simplifies clauses on the way fails a check of its own and ends the process: off, too.
        parameters.cp_model_presolve = False
        parameters.cp_model_probing_level = 0
        parameters.use_sat_inprocessing = False
        # By default it takes Ctrl-C for itself: it stops, and the search would go on with the next row.
        parameters.catch_sigint_signal = False
        status = _interruptible(solver, model.model)
        work = solver.response_proto.deterministic_time
        if status == cp_model.INFEASIBLE:
            return Outcome(None, self.limit, True, work)
        has_solution = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        bound = solver.best_objective_bound / model.cost_steps if np.isfinite(solver.best_objective_bound) else 0.0
        cells = [model.value(solver, unit) for unit in range(len(self.cells))] if has_solution else None
        return Outcome(cells, max(0.0, min(bound, self.limit)), status == cp_model.OPTIMAL, work)


def _interruptible(solver: Any, model: Any) -> Any:
    """Solve in another thread: in this one, an interrupt would wait until the solver has finished."""
    with ThreadPoolExecutor(1) as pool:
        status = pool.submit(solver.solve, model)
        try:
            while not status.done():
                wait([status], timeout=_SECONDS_TO_NOTICE)
        except BaseException:
            while not status.done():  # it may only be about to start, and not notice
                solver.stop_search()
                wait([status], timeout=_SECONDS_TO_NOTICE)
            raise
        return status.result()


class _Model:
    """Variables and constraints."""

    def __init__(self, cp_model: Any, program: Program) -> None:
        self.model = cp_model.CpModel()
        self.program = program
        finite = max((float(one.costs.max()) for one in program.cells), default=1.0)
        largest = program.limit if np.isfinite(program.limit) else max(finite * len(program.cells), _TINY)
        is_whole = all((one.costs == np.floor(one.costs)).all() for one in program.cells) and largest < _COST_STEPS
        self.cost_steps = 1.0 if is_whole else _COST_STEPS / largest
        self._cuts: list[list[Any] | None] = []
        self._literals: list[dict[int, Any]] = []
        self._cells: list[list[Any]] = []
        for number in range(len(program.cells)):
            self._add_unit(number)
        for part in program.parts:
            self._add_part(part)
        self._add_costs()
        for cut in program.cuts:
            self.model.add_bool_or([~self.literal(unit, mask) for unit, mask in cut])

    # --- units --------------------------------------------------------------------------------------------------------

    def _masks(self, number: int) -> set[int]:
        """The sets of cells of a unit that something asks for."""
        masks = {mask for cut in self.program.cuts for unit, mask in cut if unit == number}
        for part in self.program.parts:
            if part.reachable is not None:
                masks |= {leaf.cells[number] for tree in part.reachable.trees for leaf in tree if number in leaf.cells}
        return masks

    def _add_unit(self, number: int) -> None:
        cells = self.program.cells[number]
        n_cells, model = len(cells), self.model
        self._literals.append({})
        is_run = all(_is_run(mask) for mask in self._masks(number))
        if is_run and n_cells > 2:
            cuts = [model.new_bool_var("") for _ in range(n_cells - 1)]
            for one, following in pairwise(cuts):
                model.add_implication(one, following)
            self._cuts.append(cuts)
            self._cells.append([])
            return
        self._cuts.append(None)
        if n_cells == 1:
            self._cells.append([model.new_constant(1)])
        elif n_cells == 2:
            one = model.new_bool_var("")
            self._cells.append([one, ~one])
        else:
            variables = [model.new_bool_var("") for _ in range(n_cells)]
            model.add_exactly_one(variables)
            self._cells.append(variables)

    def literal(self, number: int, mask: int) -> Any:
        """The statement that the cell of a unit is one of some."""
        known = self._literals[number].get(mask)
        if known is None:
            known = self._literals[number][mask] = self._new_literal(number, mask)
        return known

    def _new_literal(self, number: int, mask: int) -> Any:
        cells, cuts = self.program.cells[number], self._cuts[number]
        everything = cells.everything
        if cuts is not None:
            low = (mask & -mask).bit_length() - 1
            high = mask.bit_length() - 1
            after, before = (None if low == 0 else ~cuts[low - 1]), (None if high == len(cells) - 1 else cuts[high])
            if after is None or before is None:
                one = after if before is None else before
                return self.model.new_constant(1) if one is None else one
            both = self.model.new_bool_var("")
            self.model.add_implication(both, after)
            self.model.add_implication(both, before)
            self.model.add_bool_or([both, ~after, ~before])
            return both
        inside = [one for at, one in enumerate(self._cells[number]) if mask >> at & 1]
        outside = [one for at, one in enumerate(self._cells[number]) if not mask >> at & 1]
        if not outside:
            return self.model.new_constant(1)
        if len(inside) == 1:
            return inside[0]
        if len(outside) == 1:
            return ~outside[0]
        other = self._literals[number].get(everything & ~mask)
        if other is not None:
            return ~other
        one = self.model.new_bool_var("")
        self.model.add_exactly_one([one, *outside])
        return one

    def by_cell(self, number: int, numbers: list[int]) -> Any:
        """A number for each cell of a unit, as a sum over its variables."""
        cuts = self._cuts[number]
        if cuts is None:
            return sum(value * one for value, one in zip(numbers, self._cells[number], strict=True) if value)
        total: Any = numbers[-1]
        for value, following, cut in zip(numbers[:-1], numbers[1:], cuts, strict=True):
            if value != following:
                total = total + (value - following) * cut
        return total

    def value(self, solver: Any, number: int) -> int:
        """The number of the cell that was found."""
        cuts = self._cuts[number]
        if cuts is None:
            return next(at for at, one in enumerate(self._cells[number]) if solver.boolean_value(one))
        return next((at for at, cut in enumerate(cuts) if solver.boolean_value(cut)), len(cuts))

    # --- models -------------------------------------------------------------------------------------------------------

    def _add_part(self, part: Part) -> None:
        trees = [] if part.reachable is None else [self._add_tree(leaves) for leaves in part.reachable.trees]
        chosen: list[Any] = [None]
        if len(part.alternatives) != 1:
            chosen = [self.model.new_bool_var("") for _ in part.alternatives]
            self.model.add_bool_or(chosen)  # of none, nothing is accepted
        for place, (alternative, is_chosen) in enumerate(zip(part.alternatives, chosen, strict=False)):
            added = [one for number, at, one in self.program.more if number == part.number and at == place]
            for inequality in (*alternative.inequalities, *added):
                constraint = self._inequality(part, inequality, trees)
                if is_chosen is not None:
                    constraint.only_enforce_if(is_chosen)

    def _add_tree(self, leaves: list[Leaf]) -> list[Any]:
        variables = [self.model.new_bool_var("") for _ in leaves]
        self.model.add_exactly_one(variables)
        asked = {pair for leaf in leaves for pair in leaf.cells.items()}
        sides = {(unit, side) for unit, mask in asked for side in self._sides(unit, mask)}
        for unit, side in sorted(sides):
            # All leaves that ask for nothing outside of these cells, not only those that ask for just these.
            asking = [one for one, leaf in zip(variables, leaves, strict=True) if not leaf.cells.get(unit, -1) & ~side]
            self.model.add_at_most_one([*asking, ~self.literal(unit, side)])
        return variables

    def _sides(self, number: int, mask: int) -> list[int]:
        """A set of cells as those that it is the intersection of: of a run, all before its end, all from its start."""
        if self._cuts[number] is None:
            return [mask]
        cells = self.program.cells[number]
        low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
        sides = []
        if low > 0:
            sides.append(cells.everything & ~((1 << low) - 1))
        if high < len(cells) - 1:
            sides.append((1 << (high + 1)) - 1)
        return sides

    def _inequality(self, part: Part, inequality: Inequality, trees: list[list[Any]]) -> Any:
        """Whatever the model accepts keeps this: rounded up on its left, and down on its right."""
        weights, reachable = inequality.weights, part.reachable
        if reachable is None:
            return self._linear_inequality(part, inequality)
        added = [np.array([leaf.values @ weights for leaf in leaves]) for leaves in reachable.trees]
        base = float(reachable.base @ weights)
        every = np.concatenate([*added, [base, inequality.bound]])
        is_exact = part.formula.sums.link == "identity" and bool((every * _DYADIC == np.round(every * _DYADIC)).all())
        largest = max(sum((float(np.abs(one).max()) for one in added), abs(base) + abs(inequality.bound)), _TINY)
        if is_exact:
            # Sums of such numbers are not rounded at all.
            common = float(np.gcd.reduce(np.round(np.abs(every) * _DYADIC).astype(np.int64))) or 1.0
            steps, slack = _DYADIC / common, 0.0
        else:
            steps = _SUM_STEPS / largest
            slack = part.slack(inequality)
        terms: Any = 0
        least = (inequality.bound - base - slack) * steps
        needed = int(np.floor(least)) + (1 if is_exact and inequality.is_strict else 0)
        for variables, values in zip(trees, added, strict=True):
            whole = np.ceil(values * steps).astype(np.int64)
            lowest = int(whole.min())
            needed -= lowest
            more = (whole - lowest).tolist()
            terms = terms + sum(value * one for value, one in zip(more, variables, strict=True) if value)
        return self.model.add(terms >= needed)

    def _linear_inequality(self, part: Part, inequality: Inequality) -> Any:
        sums = part.formula.sums
        assert isinstance(sums, LinearSums)
        weights = inequality.weights @ sums.coefficients
        contributions = contributions_of(self.program.cells, part, weights)
        base = float(inequality.weights @ sums.base) + contributions.base
        most = sum(float(np.abs(one).max()) for one in contributions.by_cell) + abs(base) + abs(inequality.bound)
        steps = _SUM_STEPS / max(most, _TINY)
        slack = part.slack(inequality, self.program.cells)
        needed = int(np.floor((inequality.bound - base - slack) * steps))
        terms = sum(
            self.by_cell(number, np.ceil(one * steps).astype(np.int64).tolist())
            for number, one in enumerate(contributions.by_cell)
            if np.ptp(one) > 0 or one[0] != 0
        )
        return self.model.add(terms >= needed)

    # --- costs --------------------------------------------------------------------------------------------------------

    def _add_costs(self) -> None:
        program = self.program
        whole = [np.floor(one.costs * self.cost_steps).astype(np.int64) for one in program.cells]
        total = sum(self.by_cell(number, one.tolist()) for number, one in enumerate(whole))
        if np.isfinite(program.limit):
            # What is no cheaper but for rounding is not looked for.
            most = int(np.ceil(program.limit * self.cost_steps)) - 1 - (len(whole) if self.cost_steps != 1.0 else 0)
            self.model.add(total <= most)
        if program.most_changes is not None:
            changes = sum(self.by_cell(number, one.unit.changes.tolist()) for number, one in enumerate(program.cells))
            self.model.add(changes <= program.most_changes)
        self.model.minimize(total)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each cell of each unit adds to a linear score, and what is added whatever the cells are."""

    base: float
    by_cell: list[Floats]


def contributions_of(cells: list[Cells], part: Part, weights: Floats) -> Contributions:
    """The parts of units in a weighted sum of the inputs of a linear model."""
    fixed = part.owner < 0
    base = float(cells[0].inputs[part.number][0, fixed] @ weights[fixed])
    by_cell = [
        one.inputs[part.number][:, part.owner == unit] @ weights[part.owner == unit] for unit, one in enumerate(cells)
    ]
    return Contributions(base, by_cell)


def linear_rounding(most: float, n_terms: int) -> float:
    """How far a sum of products may be from an exact one, in any order; ``most``: the sum of their sizes."""
    return float(np.finfo(np.float64).eps) * (n_terms + 4) * most


def _is_run(mask: int) -> bool:
    """Whether a set of cells is without gaps."""
    shifted = mask // (mask & -mask)
    return shifted & (shifted + 1) == 0
