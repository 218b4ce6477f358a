"""The decision as it is deployed, in words: one quantity before and after, and the line that it must cross."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nicecf.models.criterion import percentages
from nicecf.results.batch import Batch, picked
from nicecf.support.phrases import Probability, Statement, plain_classes
from nicecf.support.types import Floats, Ints, Label


@dataclass(frozen=True)
class Line:
    """For one explanation the class whose probability is told, that before and after, in percent, and what decides.

    ``clauses``: what decides, what was asked for, who else must agree.
    """

    label: Label
    before: str
    after: str
    clauses: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Lines:
    """The quantities and lines of a batch, for which the more probable of two classes is not all there is to it."""

    batch: Batch

    @cached_property
    def quantities(self) -> tuple[Ints, Floats]:
        """The class whose probability is told, as a position, for each entry; and the cut-off it crosses, or NaN."""
        before, after = self.batch.before, self.batch.after
        return self.batch.criterion.quantities(before.probabilities, after.probabilities, before.decided, after.decided)

    def after(self, entries: Ints, probabilities: Floats) -> list[str]:
        """How the quantity of some entries would be shown if the model said something else of the counterfactuals."""
        of, limits = self.quantities
        before = picked(self.batch.before.probabilities[entries], of[entries])
        pairs = zip(
            before.tolist(), picked(probabilities, of[entries]).tolist(), limits[entries].tolist(), strict=True
        )
        return [percentages(one, other, self._limits(limit))[1] for one, other, limit in pairs]

    def all(self) -> list[Line]:
        """That of each entry."""
        of, limits = self.quantities
        before = picked(self.batch.before.probabilities, of).tolist()
        after = picked(self.batch.after.probabilities, of).tolist()
        return [
            Line(
                self.batch.classes[of[i]],
                *percentages(before[i], after[i], self._limits(limits[i])),
                self._clauses(i),
            )
            for i in range(len(self.batch))
        ]

    def _limits(self, cutoff: float) -> tuple[float, ...]:
        least = self.batch.criterion.least
        return (*(() if np.isnan(cutoff) else (cutoff,)), *(() if least is None else (least,)))

    def _clauses(self, i: int) -> tuple[Statement, ...]:
        criterion, (of, limits) = self.batch.criterion, self.quantities
        if not np.isnan(limits[i]):
            label = plain_classes([self.batch.classes[of[i]]])
            clauses = [Statement("line.cutoff", {"label": label, "limit": Probability(float(limits[i]), is_exact=True)})]
        else:
            clauses = [Statement(f"line.{criterion.kind}")]
        if criterion.least is not None:
            clauses.append(Statement("line.least", {"limit": Probability(criterion.least, is_exact=True)}))
        if criterion.n_more:
            fields = {} if criterion.n_more == 1 else {"count": criterion.n_more}
            clauses.append(Statement("line.more_one" if criterion.n_more == 1 else "line.more", fields))
        return tuple(clauses)


def lines_of(batch: Batch) -> Lines | None:
    """The quantities and lines of a batch; None where a decision and its probability say it all."""
    return None if batch.criterion.is_plain or batch.target is not None else Lines(batch)
