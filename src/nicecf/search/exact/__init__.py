"""`search="exact"`: the best counterfactual over all values that training rows hold, with a proof that it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nicecf.models.readable import Formula
from nicecf.models.trees.ensemble import NotSupported
from nicecf.search import objectives
from nicecf.search.answers import Answers, Points
from nicecf.search.distance import Heom
from nicecf.search.donors import Donors, DonorSearch
from nicecf.search.exact.row_proof import Best, RowProof, Verdict
from nicecf.search.exact.units import TooLarge
from nicecf.search.greedy import walk_greedily
from nicecf.search.proofs import NO_PROOF, Proof
from nicecf.search.question import Question, Search, tell_nobody
from nicecf.support.clock import now
from nicecf.support.extras import require
from nicecf.support.phrases import Statement
from nicecf.support.types import Bools, Floats, Objects

# How much the solver may work on one row where nothing else limits it, in its own units, about a second each.
WORK = 60.0


@dataclass(frozen=True, eq=False)
class Exact:
    """Another search, and then for each row a proof that its answer is the best, or a better one.

    ``objective``: "sparsity" or "proximity". ``is_refused``: rows that may not be handed out.
    """

    start: Search
    donors: DonorSearch
    distance: Heom
    objective: str
    formulas: tuple[Formula, ...]
    is_refused: Callable[[Floats], Bools] | None = None

    def __call__(self, question: Question) -> Answers:
        """The best answer of each row, with what is proven of it."""
        solver = solver_version()
        answers = self.start(replace(question, report=tell_nobody))
        best = self._known(question, answers)
        proofs: Objects = np.full(len(question), NO_PROOF, dtype=object)
        notes = answers.notes.copy()
        for line in range(len(question)):
            try:
                proof, best[line] = self._proven(question, line, best[line], solver)
                proofs[line] = proof
            except (NotSupported, TooLarge) as why:
                key = "search.too_large" if isinstance(why, TooLarge) else "search.not_read"
                notes[line] = (*(notes[line] or ()), Statement(key))
            question.report(line + 1)
        points = _points(question, best, answers.points)
        ends = Donors(points.donor, points.values, points.outputs)
        some = replace(question.take(points.row), report=tell_nobody)
        walks = walk_greedily(some, ends, reward=objectives.sparsity, distance=self.distance, to_the_end=True)
        return replace(answers, points=points, walks=walks, notes=notes, front=None, proofs=proofs)

    def is_infeasible(self, question: Question, line: int) -> bool:
        """Whether it is proven that a row has no counterfactual, with the rules that the question has."""
        try:
            proof, _ = self._proven(question, line, None, solver_version())
        except (NotSupported, TooLarge):
            return False
        return proof.status == "infeasible"

    @property
    def _by_changes(self) -> bool:
        return self.objective == "sparsity"

    def _known(self, question: Question, answers: Answers) -> list[Best | None]:
        """The answers that rows have before anything is proven."""
        best: list[Best | None] = [None] * len(question)
        points = answers.points
        rows = question.rows[points.row]
        changes, distances = self.distance.changes_and_distance(rows, points.values)
        costs = changes if self._by_changes else distances
        is_held_back = np.zeros(len(rows), dtype=bool) if self.is_refused is None else self.is_refused(points.values)
        for at, line in enumerate(points.row.tolist()):
            if best[line] is None and not is_held_back[at]:
                best[line] = Best(points.values[at], points.outputs[at], float(costs[at]))
        return best

    def _proven(self, question: Question, line: int, known: Best | None, solver: str) -> tuple[Proof, Best | None]:
        """What is proven of a row, and its answer."""
        deadline = question.score.deadline
        if deadline is not None:  # a fair share of what is left for this row
            deadline = now() + (deadline - now()) / (len(question) - line)
        row = RowProof(
            replace(question, score=question.score.until(None)),
            line,
            [one for number, one in enumerate(self.formulas) if number not in question.panel.silent],
            self.donors,
            self.distance,
            self.is_refused,
        )
        verdict = row.run(known, by_changes=self._by_changes, most_changes=None, deadline=deadline, work=WORK)
        proof = self._said(verdict, solver)
        best = verdict.best
        if self._by_changes and best is not None:
            best = self._nearest(row, best, deadline)
        return proof, best

    def _nearest(self, row: RowProof, best: Best, deadline: float | None) -> Best:
        """Of all with as few changes, the nearest, as far as time allows."""
        of_row = row.question.rows[[row.line]]
        (n_changes,), (distance,) = self.distance.changes_and_distance(of_row, best.values[None])
        known = replace(best, cost=float(distance))
        nearer = row.run(known, by_changes=False, most_changes=int(n_changes), deadline=deadline, work=WORK).best
        return best if nearer is None else replace(nearer, cost=best.cost)

    def _said(self, verdict: Verdict, solver: str) -> Proof:
        objective, by = "changes" if self._by_changes else "distance", solver if verdict.by_solver else "leaves"
        best = verdict.best
        if best is None:
            return Proof("infeasible" if verdict.is_proven else "none", objective, None, 0.0, by)
        if verdict.is_proven:
            return Proof("optimal", objective, best.cost, best.cost, by)
        bound = max(np.ceil(verdict.bound - 1e-6), 1.0) if self._by_changes else verdict.bound
        return Proof("optimal" if bound >= best.cost else "bound", objective, best.cost, float(bound), by)


def solver_version() -> str:
    """The solver and its version; ImportError, with what to install, if it is not there."""
    return f"ortools {require('ortools', extra='exact', needed_by='search=' + repr('exact')).__version__}"


def _points(question: Question, best: list[Best | None], start: Points) -> Points:
    """One point for each row that has an answer; with its donor, if it is the one that the search started from."""
    lines = np.array([line for line, one in enumerate(best) if one is not None], dtype=np.intp)
    found = [one for one in best if one is not None]
    if not found:
        return start.take(np.empty(0, dtype=np.intp))
    values, outputs = np.array([one.values for one in found]), np.array([one.outputs for one in found])
    donor = np.full(len(lines), -1, dtype=np.intp)
    first = {int(row): at for at, row in reversed(list(enumerate(start.row.tolist())))}
    for at, line in enumerate(lines.tolist()):
        if line in first and np.array_equal(start.values[first[line]], values[at], equal_nan=True):
            donor[at] = start.donor[first[line]]
    return Points(lines, donor, values, outputs)
