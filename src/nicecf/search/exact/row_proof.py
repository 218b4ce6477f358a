"""The proof for one row: what it could become, what is left of the models, and what the solver makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nicecf.models.linear_sums import LinearSums
from nicecf.models.readable import Formula
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.exact.cells import Cells, Descent, Reachable, cells_of, restricted
from nicecf.search.exact.margins import Alternative, Inequality, alternatives
from nicecf.search.exact.solver import Part, Program, contributions_of, linear_rounding
from nicecf.search.exact.units import Limit, TooLarge, Unit, joined, linked_features, units_of
from nicecf.search.question import Question
from nicecf.support.clock import now
from nicecf.support.types import Bools, Floats

# Solutions that turn out to be none: how many of them are cut off before the proof is given up.
_MOST_CUTS = 2_000


@dataclass(frozen=True, eq=False)
class Best:
    """The best that is known for a row: its values and what the models say of them; what it costs."""

    values: Floats
    outputs: Floats
    cost: float


@dataclass(frozen=True, eq=False)
class Verdict:
    """What came of a proof: the best answer, None for none; no answer costs less than ``bound``.

    ``by_solver``: whether the solver was needed.
    """

    best: Best | None
    bound: float
    is_proven: bool
    by_solver: bool


@dataclass(frozen=True, eq=False)
class RowProof:
    """One row of a question, all that is known of the models, and how costs are counted."""

    question: Question
    line: int
    formulas: list[Formula]
    donors: DonorSearch
    distance: Heom
    is_refused: Callable[[Floats], Bools] | None
    workers: int = 1

    def run(
        self, known: Best | None, *, by_changes: bool, most_changes: int | None, deadline: float | None, work: float
    ) -> Verdict:
        """Prove that nothing costs less than what is known, or find what does."""
        limit = np.inf if known is None else known.cost
        cells, parts = self._reduced(limit, by_changes, most_changes)
        if any(not part.alternatives for part in parts):
            return Verdict(known, limit, is_proven=True, by_solver=False)
        program = Program(cells, parts, limit, self._most_changes(most_changes))
        row, bound = self.question.rows[self.line], 0.0
        for _ in range(_MOST_CUTS):
            seconds = 1e9 if deadline is None else deadline - now()
            if seconds <= 0:
                break
            outcome = program.solve(seconds=seconds, work=work, workers=self.workers)
            bound = max(bound, outcome.bound)
            if outcome.cells is None:
                return Verdict(known, bound, outcome.is_proven, by_solver=True)
            found = self._assembled(row, cells, outcome.cells, by_changes)
            if found is not None:
                return Verdict(found, bound, outcome.is_proven, by_solver=True)
            self._cut(program, cells, parts, outcome.cells)
        return Verdict(known, bound, is_proven=False, by_solver=True)

    def _most_changes(self, most_changes: int | None) -> int | None:
        own = None if self.question.rules is None else self.question.rules.max_changes
        given = [one for one in (own, most_changes) if one is not None]
        return min(given, default=None)

    # --- the problem --------------------------------------------------------------------------------------------------

    def _reduced(self, limit: float, by_changes: bool, most_changes: int | None) -> tuple[list[Cells], list[Part]]:
        question, line, row = self.question, self.line, self.question.rows[self.line]
        most = self._most_changes(most_changes)
        of_changes = np.inf if most is None else most + 1
        bounds = Limit(changes=min(limit, of_changes)) if by_changes else Limit(limit, of_changes)
        units, told_apart = self._units(bounds)
        costs = [unit.changes.astype(np.float64) if by_changes else unit.distances for unit in units]
        cells, owners = cells_of(
            units,
            self.formulas,
            row,
            question.schema,
            costs,
            told_apart=told_apart,
            by_changes=most is not None,
        )
        members = [member for number, member in enumerate(question.panel.members) if number not in question.panel.silent]
        wanted, descents = question.wanted[line], []
        reached: list[Reachable | None] = []
        for number, (formula, owner) in enumerate(zip(self.formulas, owners, strict=True)):
            if isinstance(formula.sums, LinearSums):
                reached.append(None)
                continue
            inputs = formula.compared(row[None], question.schema)
            descent = Descent(number, formula, cells, owner, inputs)
            reached.append(descent.run(limit))
            descents.append(descent)
        if len(descents) == len(self.formulas):
            cells, reached = _merged(cells, descents, reached, told_apart)
        parts = []
        for number, (formula, owner, reach, member) in enumerate(
            zip(self.formulas, owners, reached, members, strict=True)
        ):
            ways = alternatives(question.panel, member, formula, wanted)
            part = Part(number, formula, reach, owner, ways)
            parts.append(replace(part, alternatives=[way for way in ways if _can_hold(way, part, cells)]))
        return cells, parts

    def _units(self, limit: Limit) -> tuple[list[Unit], Bools]:
        """The units of the row, in which what must be looked at together is one; and features told apart."""
        question, line, row = self.question, self.line, self.question.rows[self.line]
        training, index = self.donors.values, self.donors.index
        units = units_of(question, line, training, index, self.distance, limit)
        computed, ruled = linked_features(question)
        told_apart = np.full(len(row), self.is_refused is not None)
        for number, features in enumerate([*computed, *ruled]):
            some = [unit for unit in units if features & set(unit.features.tolist())]
            if not some:
                continue
            try:
                one = joined(some, row, self.distance, limit) if len(some) > 1 else some[0]
            except TooLarge:
                if number < len(computed):
                    raise
                told_apart[list(features)] = True  # what breaks the rule is cut off once it is found
                continue
            units = [unit for unit in units if unit not in some] + [one]
        return [self._possible(unit, ruled) for unit in units], told_apart

    def _possible(self, unit: Unit, ruled: list[set[int]]) -> Unit:
        """The lines of a unit that keep the rules of whole rows that look at nothing else."""
        rules, row, features = self.question.rules, self.question.rows[self.line], set(unit.features.tolist())
        if rules is None or not any(one <= features for one in ruled) or any(
            one & features and not one <= features for one in ruled
        ):
            return unit
        rows = unit.rows(row)
        is_possible = rules.are_possible(np.full(len(rows), self.line), rows)
        return unit.take(is_possible | (unit.changes == 0))

    # --- what was found -----------------------------------------------------------------------------------------------

    def _assembled(self, row: Floats, cells: list[Cells], chosen: list[int], by_changes: bool) -> Best | None:
        """What was found as a row; None if it is none: the models do not accept it, or it breaks a rule."""
        values = self._values(row, cells, chosen)
        outputs = self.question.score(values[None])
        lines = np.array([self.line])
        if not self.question.accepts(lines, values[None], outputs)[0]:
            return None
        if self.is_refused is not None and self.is_refused(values[None])[0]:
            return None
        changes, distances = self.distance.changes_and_distance(row[None], values[None])
        return Best(values, outputs[0], float(changes[0] if by_changes else distances[0]))

    @staticmethod
    def _values(row: Floats, cells: list[Cells], chosen: list[int]) -> Floats:
        values = row.copy()
        for one, at in zip(cells, chosen, strict=True):
            values[one.unit.features] = one.unit.values[at]
        return values

    def _cut(self, program: Program, cells: list[Cells], parts: list[Part], chosen: list[int]) -> None:
        """Exclude what was found and is no answer, and what is no answer for the same reason."""
        values = self._values(self.question.rows[self.line], cells, chosen)
        rules, lines = self.question.rules, np.array([self.line])
        if rules is not None and not rules.are_possible(lines, values[None])[0]:
            program.cuts.append(self._impossible(cells, chosen, values))
            return
        tangents = list(_tangents(parts, values, self.question))
        program.more += tangents
        if not tangents:
            program.cuts.append(self._alike(cells, parts, chosen))

    def _alike(self, cells: list[Cells], parts: list[Part], chosen: list[int]) -> list[tuple[int, int]]:
        """The cells that lead to the very same leaves as those chosen, by unit: the models say the same of them."""
        if self.is_refused is not None or any(part.reachable is None for part in parts):
            return [(unit, 1 << at) for unit, at in enumerate(chosen) if len(cells[unit]) > 1]
        alike = [one.everything for one in cells]
        for part in parts:
            assert part.reachable is not None
            for leaves in part.reachable.trees:
                leaf = next(one for one in leaves if all(mask >> chosen[u] & 1 for u, mask in one.cells.items()))
                for unit, mask in leaf.cells.items():
                    alike[unit] &= mask
        return [(unit, mask) for unit, mask in enumerate(alike) if mask != cells[unit].everything]

    def _impossible(self, cells: list[Cells], chosen: list[int], values: Floats) -> list[tuple[int, int]]:
        """A box of cells around what breaks a rule, all of which break it: of the units that the rules look at."""
        _, ruled = linked_features(self.question)
        features = set().union(*ruled)
        units = [unit for unit, one in enumerate(cells) if features & set(one.unit.features.tolist())]
        box = {unit: (chosen[unit], chosen[unit]) for unit in units}
        for unit in units:
            for side in (-1, 1):
                step = 1
                while step:  # terminates: it grows while it can, and is halved when it cannot
                    low, high = box[unit]
                    low, high = (max(low - step, 0), high) if side < 0 else (low, min(high + step, len(cells[unit]) - 1))
                    wider = {**box, unit: (low, high)}
                    if wider != box and self._all_break(cells, wider, values):
                        box, step = wider, 2 * step
                    else:
                        step //= 2
        return [(unit, ((1 << (high + 1)) - 1) & ~((1 << low) - 1)) for unit, (low, high) in box.items()]

    def _all_break(self, cells: list[Cells], box: dict[int, tuple[int, int]], values: Floats) -> bool:
        """Whether all rows in a box break a rule; False if they are too many to be looked at."""
        sizes = [high - low + 1 for low, high in box.values()]
        if np.prod(np.array(sizes, dtype=np.float64)) > 2**16:
            return False
        at = np.indices(sizes).reshape(len(sizes), -1)
        rows = np.tile(values, (at.shape[1], 1))
        for offsets, (unit, (low, _)) in zip(at, box.items(), strict=True):
            rows[:, cells[unit].unit.features] = cells[unit].unit.values[low + offsets]
        assert self.question.rules is not None
        return not self.question.rules.are_possible(np.full(len(rows), self.line), rows).any()


def _merged(
    cells: list[Cells], descents: list[Descent], reached: list[Reachable | None], told_apart: Bools
) -> tuple[list[Cells], list[Reachable | None]]:
    """The cells that splits within reach tell apart, and the leaves in terms of them."""
    merged = []
    for unit, one in enumerate(cells):
        masks = set().union(*(descent.split_by[unit] for descent in descents))
        is_kept = bool(told_apart[one.unit.features].any()) or len(one.unit.features) > 1
        merged.append(one if is_kept else one.merged(masks))
    left: list[Reachable | None] = []
    for one_model in reached:
        assert one_model is not None
        left.append(replace(one_model, trees=[restricted(leaves, cells, merged) for leaves in one_model.trees]))
    return merged, left


def _can_hold(way: Alternative, part: Part, cells: list[Cells]) -> bool:
    """Whether the best of everything within reach keeps each inequality by itself."""
    for inequality in way.inequalities:
        most, slack = _most(inequality, part, cells)
        if most < inequality.bound - slack:
            return False
    return True


def _most(inequality: Inequality, part: Part, cells: list[Cells]) -> tuple[float, float]:
    """The largest that a weighted sum can be, by the best leaf of each tree or the best cell of each unit."""
    weights, sums = inequality.weights, part.formula.sums
    if part.reachable is None:
        assert isinstance(sums, LinearSums)
        of_inputs = contributions_of(cells, part, weights @ sums.coefficients)
        best = [float(one.max()) for one in of_inputs.by_cell]
        total = float(weights @ sums.base) + of_inputs.base + sum(best)
        sizes = sum(float(np.abs(one).max()) for one in of_inputs.by_cell)
        return total, linear_rounding(sizes + abs(total), len(sums.inputs))
    total = float(part.reachable.base @ weights)
    for leaves in part.reachable.trees:
        total += max(float(leaf.values @ weights) for leaf in leaves)
    return total, float(part.reachable.rounding @ np.abs(weights))


def _tangents(parts: list[Part], values: Floats, question: Question) -> list[tuple[int, int, Inequality]]:
    """Inequalities that exclude values whose share of the probability is too small, where that is what is wrong."""
    found = []
    for part in parts:
        sums = part.formula.sums.raw_sums(part.formula.compared(values[None], question.schema))[0]
        for place, way in enumerate(part.alternatives):
            if way.share is None:
                continue
            tangent = way.share.tangent(sums)
            if tangent.weights @ sums < tangent.bound - 1e-6:
                found.append((part.number, place, tangent))
    return found
