"""The decision as it is deployed, in words: one probability before and after, and the line that it must cross."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from nicecf.models.criterion import Kind, percentages
from nicecf.results.batch import Batch, picked
from nicecf.support.phrases import Probability, Statement, plain_classes
from nicecf.support.types import Floats, Ints, Label

# How a result is decided; "plain": the more probable of two classes, of which nothing more has to be said.
LineKind: TypeAlias = Kind | Literal["plain"]
# The cut-off of a plain decision.
_HALF = 0.5


@dataclass(frozen=True)
class Line:
    """For one explanation the class whose probability is told, that before and after, in percent, and what decides.

    ``cutoff``: the one that is crossed, if any. ``least`` and ``n_more`` as in `Criterion`.
    """

    label: Label
    before: str
    after: str
    kind: LineKind
    cutoff: float | None = None
    least: float | None = None
    n_more: int = 0

    @classmethod
    def plain(cls, label: Label, before: float, after: float) -> Line:
        """Return that of a plain decision: the probabilities of a class before and after."""
        return cls(label, *percentages(before, after, (_HALF,)), "plain")

    @property
    def clauses(self) -> tuple[Statement, ...]:
        """What decides, what was asked for, who else must agree; nothing if the decision is plain."""
        if self.kind == "plain":
            return ()
        if self.cutoff is None:
            clauses = [Statement("line.cutoffs" if self.kind == "cutoff" else f"line.{self.kind}")]
        else:
            phrase = "line.cutoff" if self.kind == "cutoff" else "line.cutoff_of_several"
            limit = Probability(self.cutoff, is_exact=True)
            clauses = [Statement(phrase, {"label": plain_classes([self.label]), "limit": limit})]
        if self.least is not None:
            clauses.append(Statement("line.least", {"limit": Probability(self.least, is_exact=True)}))
        if self.n_more == 1:
            clauses.append(Statement("line.more_one"))
        elif self.n_more:
            clauses.append(Statement("line.more", {"count": self.n_more}))
        return tuple(clauses)


@dataclass(frozen=True, eq=False)
class Lines:
    """The quantities and lines of a batch of decisions."""

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
        pairs = zip(before.tolist(), picked(probabilities, of[entries]).tolist(), limits[entries].tolist(), strict=True)
        return [percentages(one, other, self._limits(limit))[1] for one, other, limit in pairs]

    def steps(self) -> list[str]:
        """The quantity after each step, as the last of them shows it."""
        of, limits = self.quantities
        steps, line = self.batch.steps, self.batch.steps.row()
        before = picked(self.batch.before.probabilities, of)[line]
        pairs = zip(before.tolist(), picked(steps.reached, of[line]).tolist(), limits[line].tolist(), strict=True)
        return [percentages(one, other, self._limits(limit))[1] for one, other, limit in pairs]

    def all(self) -> list[Line]:
        """That of each entry."""
        of, limits = self.quantities
        before = picked(self.batch.before.probabilities, of).tolist()
        after = picked(self.batch.after.probabilities, of).tolist()
        criterion = self.batch.criterion
        return [
            Line(
                self.batch.classes[of[i]],
                *percentages(before[i], after[i], self._limits(limits[i])),
                "plain" if criterion.is_plain else criterion.kind,
                None if np.isnan(limits[i]) else float(limits[i]),
                # Where there is no counterfactual, this class is not the one that it was asked of.
                criterion.least if self.batch.found[i] else None,
                criterion.n_more,
            )
            for i in range(len(self.batch))
        ]

    def _limits(self, cutoff: float) -> tuple[float, ...]:
        if self.batch.criterion.is_plain:
            return (_HALF,)
        least = self.batch.criterion.least
        return (*(() if np.isnan(cutoff) else (cutoff,)), *(() if least is None else (least,)))


def lines_of(batch: Batch) -> Lines | None:
    """Return the quantities and lines of a batch; None if its model gives scores."""
    return None if batch.target is not None else Lines(batch)
