"""The proof for one row: what it could become, what is left of the models, and what the solver makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nicecf.models.linear_sums import LinearSums
from nicecf.models.readable import Formula
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.exact.boxes import Box
from nicecf.search.exact.cells import Cells, Descent, cells_of
from nicecf.search.exact.margins import Inequality, alternatives
from nicecf.search.exact.solver import Outcome, Part, Program
from nicecf.search.exact.units import Limit, TooLarge, Unit, joined, linked_features, units_of
from nicecf.search.question import Question
from nicecf.support.clock import now
from nicecf.support.types import Bools, Floats

# Solutions that turn out to be none: how many of them are cut off before the proof is given up.
_MOST_CUTS = 2_000
# Leaves that the solver gets at once; of more, the box is cut in two first.
_MOST_SOLVED = 700
# What is looked for first: something cheaper than what is known. There is less to look at, and often it is there.
_SHARES = (0.75, 0.95)
# Boxes that are looked at for it: where it is not found soon, there is probably nothing.
_MOST_TURNS = 8


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


class _Effort:
    """The time and the work that are left for a row."""

    def __init__(self, deadline: float | None, work: float) -> None:
        self._deadline = deadline
        self._work = work
        self.is_used = False

    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self._work <= 0 or (self._deadline is not None and now() >= self._deadline)

    def solve(self, program: Program, workers: int) -> Outcome:
        """Let the solver work as long as there is time."""
        seconds = 1e9 if self._deadline is None else self._deadline - now()
        self.is_used = True
        outcome = program.solve(seconds=seconds, work=self._work, workers=workers)
        self._work -= outcome.work
        return outcome


def _stages(limit: float, by_changes: bool) -> list[float]:
    """Limits on what is looked for, one after the other: the last is what is known."""
    if not np.isfinite(limit):
        return [limit]
    if by_changes:
        return [float(one) for one in range(2, int(limit) + 1)] or [limit]
    return [*(share * limit for share in _SHARES), limit]


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
        effort = _Effort(deadline, work)
        stages = _stages(np.inf if known is None else known.cost, by_changes)
        bound = 0.0
        while stages:  # terminates: each is taken off, and what is put on costs less than what was found before
            stage = stages.pop(0)
            if effort.is_over():
                return Verdict(known, bound, is_proven=False, by_solver=effort.is_used)
            most_turns = _MOST_TURNS if stages else np.inf
            found, bound, is_proven = self._best_within(stage, effort, bound, by_changes, most_changes, most_turns)
            known = known if found is None else found
            if not is_proven and (not stages or effort.is_over()):
                return Verdict(known, bound, is_proven=False, by_solver=effort.is_used)
            if found is not None:
                # Without a limit, distances are told apart roughly: below what was found, they are told apart again.
                is_rough = not by_changes and not np.isfinite(stage)
                stages = [found.cost] if is_rough or not is_proven else []
        return Verdict(known, bound, is_proven=True, by_solver=effort.is_used)

    def _best_within(
        self,
        limit: float,
        effort: _Effort,
        bound: float,
        by_changes: bool,
        most_changes: int | None,
        most_turns: float,
    ) -> tuple[Best | None, float, bool]:
        """The best that costs less than a limit; that nothing costs less than a bound; whether all was looked at."""
        best: Best | None = None
        n_turns = 0
        box = self._reduced(limit, by_changes, most_changes)
        boxes = [] if box is None else [box]
        # Terminates: a box is solved, or cut into two smaller ones.
        while boxes:
            n_turns += 1
            if effort.is_over() or n_turns > most_turns:
                return best, max(bound, min(box.least for box in boxes)), False
            box = boxes.pop()
            if best is not None:
                box = box.limited(best.cost)
            box = box if box is None else box.probed()
            if box is None:
                continue
            halves = box.halves() if box.n_leaves > _MOST_SOLVED else None
            if halves is not None:
                # What is near comes first: what is found there leaves less of the rest.
                near, far = (box.within(*half) for half in halves)
                boxes += [one for one in (far, near) if one is not None]
                continue
            found, of_box, is_proven = self._solved(box, effort, by_changes, most_changes)
            best = best if found is None else found
            if not is_proven:
                lowest = min([of_box, *(one.least for one in boxes)])
                return best, max(bound, min(lowest, limit)), False
        return best, limit if best is None else best.cost, True

    def _solved(
        self, box: Box, effort: _Effort, by_changes: bool, most_changes: int | None
    ) -> tuple[Best | None, float, bool]:
        """The best in a box, by the solver."""
        cells, parts = box.compact()
        program = Program(cells, parts, box.limit, self._most_changes(most_changes))
        row, bound = self.question.rows[self.line], box.least
        for _ in range(_MOST_CUTS):
            if effort.is_over():
                break
            outcome = effort.solve(program, self.workers)
            bound = max(bound, outcome.bound)
            if outcome.cells is None:
                return None, bound, outcome.is_proven
            found = self._assembled(row, cells, outcome.cells, by_changes)
            if found is not None:
                return found, bound, outcome.is_proven
            self._cut(program, cells, parts, outcome.cells)
        return None, bound, False

    def _most_changes(self, most_changes: int | None) -> int | None:
        own = None if self.question.rules is None else self.question.rules.max_changes
        given = [one for one in (own, most_changes) if one is not None]
        return min(given, default=None)

    # --- the problem --------------------------------------------------------------------------------------------------

    def _reduced(self, limit: float, by_changes: bool, most_changes: int | None) -> Box | None:
        """What is left of the models for something that costs less than a limit; None for nothing."""
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
        members = [
            member for number, member in enumerate(question.panel.members) if number not in question.panel.silent
        ]
        parts = []
        for number, (formula, owner, member) in enumerate(zip(self.formulas, owners, members, strict=True)):
            reachable = None
            if not isinstance(formula.sums, LinearSums):
                inputs = formula.compared(row[None], question.schema)
                reachable = Descent(number, formula, cells, owner, inputs).run(limit)
            ways = alternatives(question.panel, member, formula, question.wanted[line])
            part = Part(number, formula, reachable, owner, ways)
            parts.append(replace(part, alternatives=[way for way in ways if part.can_hold(way, cells)]))
        return Box.of(cells, parts, limit) if all(part.alternatives for part in parts) else None

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
        if (
            rules is None
            or not any(one <= features for one in ruled)
            or any(one & features and not one <= features for one in ruled)
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
        # Not only by tangents: they may be of another alternative than the one that was chosen.
        program.more += _tangents(parts, values, self.question)
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
                    low, high = (
                        (max(low - step, 0), high) if side < 0 else (low, min(high + step, len(cells[unit]) - 1))
                    )
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
