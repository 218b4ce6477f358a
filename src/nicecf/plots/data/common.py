"""What all pictures say: a title, the decisions, and the words where there is nothing to draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nicecf._typing import Bools, Floats
from nicecf.exceptions import OptionError
from nicecf.plots.spelling import Spelling
from nicecf.profile import ColumnProfile
from nicecf.schema import differs
from nicecf.words.telling import by_importance


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
    """One feature that changes."""

    feature: str
    before: str
    after: str

    def __str__(self) -> str:
        """``credit_score 626 → 708``."""
        return f"{self.feature} {self.before} → {self.after}"


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explanation, encoded, and how to write it; ``said``: the values before and after each change."""

    batch: Any
    spelling: Spelling
    said: Mapping[int, tuple[str, str]]

    @classmethod
    def of(cls, one: Any, wording: Any | None, *, who: str) -> Explanation:
        """Read a Counterfactual; OptionError for anything else."""
        batch = getattr(one, "_batch", None)
        if batch is None:
            raise OptionError(
                f"{who} draws one explanation, such as cfs[0], got {type(one).__name__}. Choose one by its position."
            )
        return cls.each(batch, wording)[0]

    @classmethod
    def each(cls, batch: Any, wording: Any | None) -> list[Explanation]:
        """All of a Counterfactuals, one by one."""
        spelling = Spelling.of(batch, wording)
        said = spelling.changes(batch)
        return [cls(batch[[i]], spelling, said[i]) for i in range(len(batch))]

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return bool(self.batch.found[0])

    @property
    def row(self) -> Floats:
        """The encoded row."""
        return self.batch._rows[0]

    @property
    def values(self) -> Floats:
        """The encoded counterfactual."""
        return self.batch._values[0]

    @property
    def is_changed(self) -> Bools:
        """Which features change."""
        return differs(self.row, self.values) & self.found

    @property
    def target(self) -> str:
        """The counterfactual's class."""
        return self.spelling.label(self.batch._decided_after[0])

    @property
    def decided(self) -> str:
        """The row's class."""
        return self.spelling.label(self.batch._decided[0])

    @property
    def now(self) -> str:
        """The decision on the row: ``denied (51 %)``."""
        probability = self.batch._before[0, self.batch._decided[0]]
        return f"{self.decided} ({self.spelling.percent(probability)})"

    @property
    def then(self) -> str:
        """The decision on the counterfactual."""
        probability = self.batch._after[0, self.batch._decided_after[0]]
        return f"{self.target} ({self.spelling.percent(probability)})"

    @property
    def distance(self) -> float:
        """From the row to the counterfactual."""
        return float(self.batch._distance.between(self.batch._rows, self.batch._values)[0])

    @property
    def nothing(self) -> str | None:
        """Why there is nothing to draw, in words; None where something changes."""
        if not self.found:
            return f"No counterfactual was found: {self.spelling.reason(self.batch.reasons[0])}."
        return None if self.said else f"The model says {self.now} already; nothing has to change."

    def step(self, j: int) -> Step:
        """The change of a feature."""
        return Step(self.spelling.feature(j), *self.said[j])

    def by_importance(self) -> list[int]:
        """The features that change, what matters most first."""
        return [int(j) for j in self.batch._steps.feature[by_importance(self.batch)]]


def check_many(cfs: Any, *, who: str) -> None:
    """OptionError unless it is a Counterfactuals."""
    if not hasattr(cfs, "_steps"):
        raise OptionError(f"{who} draws what explain gives, a Counterfactuals, got {type(cfs).__name__}.")


def listed(parts: Iterable[object], most: int) -> str:
    """The first few, and how many more there are.

    >>> listed(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    every = list(map(str, parts))
    if len(every) <= most:
        return ", ".join(every)
    return f"{', '.join(every[:most])} and {len(every) - most:,} more"


def evened(profile: ColumnProfile) -> Floats:
    """The counts as if all bars held equally many possible values: of 62 whole numbers in 40 bars, some hold two."""
    if not profile.is_exact or not len(profile.edges):
        return profile.counts.astype(np.float64)
    steps = np.ceil(np.round(profile.edges * 10.0**profile.decimals, 6))
    held = np.diff(steps)
    held[-1] += profile.edges[-1] * 10.0**profile.decimals == steps[-1]  # the last edge belongs to its bar
    return np.asarray(profile.counts * np.median(held) / np.maximum(held, 1))


def counted(n: int, what: str, more: str | None = None) -> str:
    """A number and what it counts.

    >>> counted(1, "change"), counted(1200, "change")
    ('1 change', '1,200 changes')
    """
    return f"{n:,} {what if n == 1 else more or what + 's'}"
