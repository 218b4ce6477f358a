"""A search that is told what answers cost at least: it stops at one that costs no more, which is then proven."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf.search.answers import Answers
from nicecf.search.distance import Heom
from nicecf.search.leaf_bounds import LeafBounds
from nicecf.search.proofs import NO_PROOF, Proof
from nicecf.search.question import SAME, Least, Question, Search
from nicecf.support.types import Objects


@dataclass(frozen=True, eq=False)
class Bounded:
    """Another search, and what the leaves of trees prove of its answers. ``objective``: "sparsity" or "proximity"."""

    search: Search
    bounds: LeafBounds
    distance: Heom
    objective: str

    def __call__(self, question: Question) -> Answers:
        """The answers of the search, with what is proven of them."""
        if not len(question) or not self.bounds.formula.is_current():
            return self.search(question)
        # Of the nearest, the number of changes does not matter.
        changes = self.bounds.least(question, None) if self._by_changes else np.zeros(len(question))
        least = Least(changes, self.bounds.least(question, self.distance))
        answers = self.search(replace(question, least=least))
        return replace(answers, proofs=self._proofs(question, answers, least))

    @property
    def _by_changes(self) -> bool:
        return self.objective == "sparsity"

    def _proofs(self, question: Question, answers: Answers, least: Least) -> Objects:
        proofs: Objects = np.full(len(question), NO_PROOF, dtype=object)
        name, bounds = ("changes", least.changes) if self._by_changes else ("distance", least.distance)
        for line in np.flatnonzero(np.isinf(bounds)).tolist():
            proofs[line] = Proof("infeasible", name, by="leaves")
        points = answers.points
        first = np.unique(points.row, return_index=True)[1]
        changes, distances = self.distance.changes_and_distance(question.rows[points.row[first]], points.values[first])
        for line, cost in zip(
            points.row[first].tolist(), (changes if self._by_changes else distances).tolist(), strict=True
        ):
            bound = min(float(bounds[line]), float(cost))
            if cost <= bound * (1 + SAME):
                proofs[line] = Proof("optimal", name, float(cost), float(cost), "leaves")
            elif bound > 0:
                proofs[line] = Proof("bound", name, float(cost), bound, "leaves")
        return proofs
