"""What turns probabilities into a decision, in so far as people can be told: one quantity, and the line it crosses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from nicecf.models.decision import Panel
from nicecf.support.types import Floats, Ints

# One cut-off, of one class; or several, of which more than one can be reached.
Kind: TypeAlias = Literal["highest", "cutoff", "cutoffs", "predict", "function"]

# A probability that rises by less does not tell why its class wins.
_TELLING = 0.005
# Decimals of a percentage are added as long as it would be read as lying on the other side of a line.
_MOST_DECIMALS = 12


@dataclass(frozen=True)
class Criterion:
    """How the model to explain decides: no model, no function, so that a result can be kept without them.

    ``cutoffs``: one per class, NaN where a class has none. ``least``: the probability that was asked for, if any.
    ``n_more``: how many further models must agree.
    """

    kind: Kind
    cutoffs: tuple[float, ...]
    least: float | None = None
    n_more: int = 0

    @classmethod
    def of(cls, panel: Panel) -> Criterion:
        """That of some models."""
        rule, n_classes = panel.members[0].rule, len(panel.classes)
        kind: Kind = "highest"
        if rule.by_predict:
            kind = "predict"
        elif rule.function is not None:
            kind = "function"
        elif rule.cutoffs is not None:
            kind = "cutoff" if np.sum(~np.isnan(rule.cutoffs)) == 1 else "cutoffs"
        cutoffs = np.full(n_classes, np.nan) if rule.cutoffs is None else rule.cutoffs
        n_more = len(panel.members) - 1 - len(panel.silent)
        return cls(kind, tuple(cutoffs.tolist()), panel.min_probability, n_more)

    @property
    def is_plain(self) -> bool:
        """Whether the more probable of two classes is decided, and nothing else matters."""
        return self.kind == "highest" and len(self.cutoffs) == 2 and self.least is None and not self.n_more

    def quantities(self, before: Floats, after: Floats, decided: Ints, then: Ints) -> tuple[Ints, Floats]:
        """The class whose probability tells why the decision turns, for each row; and its cut-off, NaN if it has none.

        ``before`` and ``after``: the probabilities of the row and of its counterfactual; ``decided`` and ``then``: the
        classes decided on, the same where nothing changes.
        """
        line, cutoffs = np.arange(len(decided)), np.array(self.cutoffs)
        limits = np.full(len(decided), np.nan)
        if self.kind not in ("cutoff", "cutoffs"):
            rise = after[line, then] - before[line, then]
            fall = before[line, decided] - after[line, decided]
            # A class may win because another loses: then the loss tells, unless something was asked of the winner.
            # With two classes, one rises by what the other falls.
            loses = (rise < _TELLING) & (fall > rise) & (decided != then) & (self.least is None) & (len(cutoffs) > 2)
            return np.where(loses, decided, then), limits
        rises = (after[line, then] >= cutoffs[then]) & ~(before[line, then] >= cutoffs[then])
        falls = (before[line, decided] >= cutoffs[decided]) & ~(after[line, decided] >= cutoffs[decided])
        with_cutoff = np.flatnonzero(~np.isnan(cutoffs))
        only = with_cutoff[0] if len(with_cutoff) == 1 else -1
        if self.least is not None:  # what was asked for is of the new class; if it was met before, the line tells
            falls, only = falls & (before[line, then] >= self.least), -1
        tells = np.where(falls & ~rises, decided, then)
        still = decided == then
        tells = np.where(still & (only >= 0), only, tells)
        crosses = rises | falls | (still & (self._is_reached(before, tells) | (only >= 0)))
        return tells, np.where(crosses, cutoffs[tells], np.nan)

    @property
    def lines(self) -> tuple[float, ...]:
        """The probability from which each class is decided, whatever the probabilities of the others are.

        What predict or a function decides is not known: there it is one half, as for the highest of two.
        """
        return tuple(max(self._line(label), self.least or 0.0) for label in range(len(self.cutoffs)))

    def _line(self, label: int) -> float:
        cutoffs = np.array(self.cutoffs)
        others = np.delete(cutoffs, label)
        if not np.isnan(cutoffs[label]):
            return float(cutoffs[label])
        # No other class reaches its cut-off, and none of those without one is more probable.
        beyond = 1 - np.nanmin(others) if not np.isnan(others).all() else 0.0
        return float(max(beyond, 0.5 if np.isnan(others).any() else 0.0))

    def _is_reached(self, probabilities: Floats, classes: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        cutoffs = np.array(self.cutoffs)[classes]
        return np.asarray(probabilities[np.arange(len(classes)), classes] >= cutoffs)


def percentages(before: float, after: float, limits: tuple[float, ...]) -> tuple[str, str]:
    """Two probabilities in percent, with as many decimals as their sides of some lines and their difference take.

    What is nearly certain is never rounded to certainty: ``>99``, ``<1``.

    >>> percentages(0.31, 0.26, (0.3,)), percentages(0.3004, 0.2996, (0.3,)), percentages(0.9999, 0.4, ())
    (('31', '26'), ('30.04', '29.96'), ('>99', '40'))
    """
    pair = (before, after)
    for decimals in range(_MOST_DECIMALS):
        texts = tuple(_in_percent(one, decimals) for one in pair)
        is_clear = all(_is_on_its_side(text, one, limits) for text, one in zip(texts, pair, strict=True))
        if is_clear and (texts[0] != texts[1] or before == after):
            break
    return texts[0], texts[1]


def _in_percent(probability: float, decimals: int) -> str:
    text, least = f"{100 * probability:.{decimals}f}", 10.0**-decimals
    if 0 < probability < 1 and float(text) in (0.0, 100.0):
        return f"<{least:.{decimals}f}" if float(text) == 0 else f">{100 - least:.{decimals}f}"
    return text


def _is_on_its_side(text: str, probability: float, limits: tuple[float, ...]) -> bool:
    if text.startswith("<"):
        return all(100 * limit >= float(text[1:]) for limit in limits)
    if text.startswith(">"):
        return all(100 * limit <= float(text[1:]) for limit in limits)
    return all((float(text) >= round(100 * limit, 10)) == (probability >= limit) for limit in limits)
