"""What all pictures say: a title, the decisions, and the words where there is nothing to draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.results.batch import Batch
from nicecf.results.counterfactual import Counterfactual
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.types import Bools, Floats
from nicecf.tables.schema import differs
from nicecf.tables.statistics import ColumnStatistics
from nicecf.tables.temporal import Temporal
from nicecf.views.plots.formatting import PlotFormatter
from nicecf.views.telling import Teller
from nicecf.views.words.importance import by_importance
from nicecf.views.words.line import lines_of
from nicecf.views.words.wording import Wording


@dataclass(frozen=True)
class Caption:
    """What stands above and below a picture; ``alt`` says it all in words."""

    title: str
    subtitle: str
    notes: tuple[str, ...]
    alt: str


@dataclass(frozen=True)
class Message:
    """What is shown where there is nothing to draw."""

    caption: Caption
    words: str


@dataclass(frozen=True)
class Step:
    """One feature that changes; ``is_derived``: because it follows from others."""

    feature: str
    before: str
    after: str
    is_derived: bool = False


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explanation, encoded; ``formatted``: the values before and after each change, by feature."""

    batch: Batch
    formatter: PlotFormatter
    formatted: Mapping[int, tuple[str, str]]

    @classmethod
    def of(cls, one: Counterfactual, wording: Wording | None, *, who: str) -> Explanation:
        """Read a Counterfactual; OptionError for anything else."""
        if not isinstance(one, Counterfactual):
            raise OptionError(
                f"{who} draws one explanation, such as cfs[0], got {type(one).__name__}. Choose one by its position."
            )
        return cls.each(one.batch, wording)[0]

    @classmethod
    def each(cls, batch: Batch, wording: Wording | None) -> list[Explanation]:
        """All of a batch, one by one."""
        formatter = PlotFormatter.of(batch, wording)
        changes = formatter.changes(batch)
        return [cls(batch.take(np.array([i])), formatter, changes[i]) for i in range(len(batch))]

    @property
    def teller(self) -> Teller:
        """Says the words of the picture."""
        return self.formatter.teller

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return bool(self.batch.found[0])

    @property
    def row(self) -> Floats:
        """The encoded row."""
        return self.batch.before.values[0]

    @property
    def values(self) -> Floats:
        """The encoded counterfactual."""
        return self.batch.after.values[0]

    @property
    def is_changed(self) -> Bools:
        """Which features change."""
        return differs(self.row, self.values) & self.found

    @property
    def target(self) -> str:
        """The counterfactual's class."""
        return self.formatter.label(self.batch.after.decided[0])

    @property
    def decided(self) -> str:
        """The row's class."""
        return self.formatter.label(self.batch.before.decided[0])

    @property
    def now(self) -> str:
        """Return the decision on the row: ``denied (P(approved) 49 %)``."""
        lines = lines_of(self.batch)
        before = self.batch.before
        if lines is None:
            return self._with_chance(self.decided, self.formatter.chance(before.probability[0]))
        (line,) = lines.all()
        return self._with_chance(self.decided, self.formatter.formatter.chance_of(line, line.before))

    @property
    def then(self) -> str:
        """Return the decision on the counterfactual."""
        return self.decision_on(int(self.batch.after.decided[0]), self.batch.after.probabilities[0])

    def decision_on(self, decided: int, probabilities: Floats) -> str:
        """Return a decision with its score, or with the probability of the class that is told of the row."""
        lines, label = lines_of(self.batch), self.formatter.label(decided)
        if lines is None:
            return self._with_chance(label, self.formatter.chance(probabilities[decided]))
        (line,), (number,) = lines.all(), lines.after(np.array([0]), probabilities[None])
        return self._with_chance(label, self.formatter.formatter.chance_of(line, number))

    def _with_chance(self, decision: str, chance: str) -> str:
        return self.teller.say("table.decision", decision=decision, chance=chance)

    @property
    def distance(self) -> float:
        """From the row to the counterfactual."""
        return float(self.batch.distances[0])

    @property
    def n_changes(self) -> int:
        """How many changes there are; columns that move together are one, those that follow from others none."""
        return int(self.batch.n_changes[0])

    @property
    def nothing(self) -> str | None:
        """Why there is nothing to draw, in words; None where something changes."""
        if not self.found:
            return self.teller.say("plot.not_found", reason=self.formatter.reason(self.batch.reasons[0]))
        return None if self.formatted else self.teller.say("plot.unchanged", decision=self.now)

    def step(self, j: int) -> Step:
        """The change of a feature."""
        return Step(self.formatter.feature(j), *self.formatted[j], is_derived=bool(self.batch.is_derived[j]))

    def told(self, steps: Iterable[Step], most: int) -> str:
        """The first few changes in a line, ``credit_score 626 → 708``, and how many more there are."""
        return self.teller.listed((told(self.teller, step) for step in steps), most)

    def message(self, title: str) -> Message:
        """What is shown in place of a picture with this title, where there is nothing to draw."""
        words = self.nothing or ""
        alt = self.teller.say("plot.alt_message", title=title, words=words)
        return Message(Caption(title, self.teller.say("plot.model_says", decision=self.now), (), alt), words)

    def by_importance(self) -> list[int]:
        """The features that change, what matters most first, and what follows from others last."""
        return [int(j) for j in self.batch.steps.feature[by_importance(self.batch)]]

    def made_to_change(self) -> list[int]:
        """The same without those that follow from others."""
        return [j for j in self.by_importance() if not self.batch.is_derived[j]]

    def derived(self) -> list[Step]:
        """What follows from the changes."""
        return [self.step(j) for j in self.by_importance() if self.batch.is_derived[j]]


def told(teller: Teller, step: Step) -> str:
    """``credit_score 626 → 708``, or with ``(follows)`` behind it."""
    phrase = "plot.step_follows" if step.is_derived else "plot.step"
    return teller.say(phrase, feature=step.feature, before=step.before, after=step.after)


def check_many(cfs: Counterfactuals, *, who: str) -> None:
    """OptionError unless it is a Counterfactuals."""
    if not isinstance(cfs, Counterfactuals):
        raise OptionError(f"{who} draws what explain gives, a Counterfactuals, got {type(cfs).__name__}.")


def evened(statistics: ColumnStatistics, temporal: Temporal | None = None) -> Floats:
    """The counts as if all bars held equally many possible values: of 62 whole numbers in 40 bars, some hold two.

    The same of dates: they are multiples of a unit, such as whole days.
    """
    if not statistics.is_exact or not len(statistics.edges):
        return statistics.counts.astype(np.float64)
    per_one = 10.0**statistics.decimals if temporal is None else 1 / temporal.unit
    steps = np.ceil(np.round(statistics.edges * per_one, 6))
    held = np.diff(steps)
    held[-1] += np.round(statistics.edges[-1] * per_one, 6) == steps[-1]  # the last edge belongs to its bar
    return np.asarray(statistics.counts * np.median(held) / np.maximum(held, 1))
