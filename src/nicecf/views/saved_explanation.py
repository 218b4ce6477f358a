"""One line of a table of explanations, read back: what it says, in any wording, with the digits of the table."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from nicecf.results.batch import OUT_OF_TIME
from nicecf.rules.moments import moment_of
from nicecf.search.proofs import NO_PROOF, Proof
from nicecf.support.formats import one_line
from nicecf.support.options import choose
from nicecf.support.phrases import REFERENCE
from nicecf.support.types import Label
from nicecf.views import words
from nicecf.views.words.formatter import Formatter, readable_names
from nicecf.views.words.formatting import FormattedChange, FormattedExplanation, obstacle
from nicecf.views.words.line import Line
from nicecf.views.words.proven import proof_sentence
from nicecf.views.words.saying import named_chance
from nicecf.views.words.wording import Wording

# The styles that a table has all the parts of; the analyst's needs distances.
SavedStyle: TypeAlias = Literal["sentence", "bullets", "letter"]


@dataclass(frozen=True)
class SavedChange:
    """A change as a table holds it: values as they are said, rounded where the decision allows it; None: missing.

    ``kind``: what these texts are; those of an earlier version are said as they are. ``is_together``: it is one change
    with the one before it; ``whole``: that change in three words, if it is a category in several columns. ``derived``:
    it follows from the others.
    """

    feature: str
    before: str | None
    after: str | None
    step: int
    probability: float
    direction: int
    kind: Literal["text", "number", "year", "moment"] = "text"
    is_together: bool = False
    whole: tuple[str, str, str] | None = None
    derived: bool = False

    def formatted(self, formatter: Formatter) -> FormattedChange:
        """The change in a wording, with the digits of the table."""
        own = Formatter(formatter.wording, formatter.is_letter, readable_names([self.feature]), self._years)
        before, after = (self._value(value, own) for value in (self.before, self.after))
        whole = None if self.whole is None else FormattedChange(*self.whole)
        return FormattedChange(
            own.name(self.feature),
            before,
            after,
            column=self.feature,
            goes=self.direction,
            step=self.step,
            is_together=self.is_together,
            whole=whole,
        )

    @property
    def _years(self) -> frozenset[Hashable]:
        return frozenset([self.feature] if self.kind == "year" else [])

    def _value(self, text: str | None, formatter: Formatter) -> str:
        if text is None:
            return formatter.value(self.feature, None)
        if self.kind in ("number", "year"):
            return formatter.measured(self.feature, text)
        moment = moment_of(text) if self.kind == "moment" else None
        said = formatter.wording.value(self.feature, text) if moment is None else formatter.text(moment)
        return formatter.wording.measured(self.feature, text if said is None else said)


@dataclass(frozen=True)
class Outcome:
    """One line of a table, read back; ``number``: which it is among the counterfactuals of its row.

    ``is_score``: its probabilities are scores. ``proof``: without what was compared, and what that was.
    """

    row: str
    number: int
    found: bool
    predicted: Label
    probability_before: float
    predicted_after: Label
    probability: float
    changes: tuple[SavedChange, ...]
    text: str
    reason: str | None
    note: str | None
    is_score: bool = False
    reason_kind: str | None = None
    line: Line | None = None
    proof: Proof = NO_PROOF

    def chance(self, probability: float, wording: Wording | None = None) -> str:
        """A probability for people, or a score."""
        formatter = Formatter(Wording() if wording is None else wording)
        if self.is_score:
            return formatter.number(f"{probability:.6g}")
        return formatter.chances(np.array([probability]))[0]

    def chance_after(self, change: SavedChange, wording: Wording | None = None) -> str:
        """Return the probability or the score after a step, the last as it is elsewhere."""
        line = self._line
        if line is None or change.probability != self.probability:
            return self.chance(change.probability, wording)
        return Formatter(Wording() if wording is None else wording).percentage(line.after)

    @property
    def chance_of(self) -> str:
        """What stands above probabilities, or scores."""
        return "score" if self.is_score else f"P({self.decision_after})"

    @property
    def decision(self) -> str:
        """What the decision is called where there is no wording."""
        return Formatter(Wording()).label(self.predicted)

    @property
    def decision_after(self) -> str:
        """The same for the counterfactual."""
        return Formatter(Wording()).label(self.predicted_after)

    def decided(self, *, is_after: bool, wording: Wording | None = None) -> str:
        """A decision with its chance: that of the row, or that of the counterfactual."""
        one = self.parts(Formatter(Wording() if wording is None else wording))
        label, chance = (one.other, one.other_chance) if is_after else (one.decision, one.chance)
        wording = wording or Wording()
        return wording.say("table.decision", decision=label, chance=named_chance(one, wording, chance))

    def parts(self, formatter: Formatter) -> FormattedExplanation:
        """The explanation in parts, with the digits of the table: there is no model to ask."""
        wording = formatter.wording
        line = self._line
        if line is None:
            now, then = (self.chance(one, wording) for one in (self.probability_before, self.probability))
        else:
            now, then = (formatter.percentage(text) for text in (line.before, line.after))
        told: dict[str, Any] = {} if line is None else formatter.told(line)
        changes = [one.formatted(formatter) for one in self.changes]
        return FormattedExplanation(
            is_found=self.found,
            decision=formatter.label(self.predicted),
            chance=now,
            other=formatter.label(self.predicted_after),
            other_chance=then,
            changes=tuple(one for one, of in zip(changes, self.changes, strict=True) if not of.derived),
            distance="",
            donor=None,
            reason=self._reason(formatter),
            obstacle="" if self.reason_kind is None else obstacle(self.reason_kind, None, formatter),
            note=self.note,
            derived=tuple(one for one, of in zip(changes, self.changes, strict=True) if of.derived),
            is_score=self.is_score,
            is_same=bool(changes) and not self.is_score and self.predicted == self.predicted_after,
            proof=self._proven(wording),
            is_cut=self.reason_kind in OUT_OF_TIME,
            **told,
        )

    @property
    def _line(self) -> Line | None:
        """Return what decides; files of earlier versions leave it out for two classes."""
        if self.line is not None or self.is_score:
            return self.line
        before = self.probability_before
        if not self.found or self.predicted == self.predicted_after:
            return Line.plain(self.predicted, before, self.probability if self.found else before)
        return Line.plain(self.predicted_after, 1 - before, self.probability)

    def _proven(self, wording: Wording) -> str | None:
        """What is proven, in words; nothing where the file does not say, or says no more than the reason."""
        if self.proof == NO_PROOF:
            return None
        is_changed = any(not one.derived for one in self.changes)
        # In other languages a reason is said by its kind alone, without what is proven.
        kind = (self.reason_kind if wording.language == REFERENCE else None) or "other"
        return proof_sentence(self.proof, wording, is_changed=is_changed, reason_kind=None if self.found else kind)

    def _reason(self, formatter: Formatter) -> str:
        """Why there is no counterfactual: a file holds it in English, and its kind for other languages."""
        if formatter.wording.language == REFERENCE or self.reason_kind is None:
            return _renamed(self.reason or "", formatter.wording)
        return obstacle(self.reason_kind, None, formatter).removesuffix(".")

    def restyled(self, style: str, wording: Wording | None = None) -> str:
        """The explanation in another style, with the digits of the table: there is no model to ask."""
        choose("style", style, get_args(SavedStyle))
        wording = Wording() if wording is None else wording
        return words.in_style(self.parts(Formatter(wording, is_letter=style == "letter")), style, wording)


def _renamed(reason: str, wording: Wording) -> str:
    """An English reason in which the names of a wording stand for what is in quotes: a file holds no statements."""
    for one, name in {**wording.names, **wording.classes}.items():
        reason = reason.replace(repr(one), name) if isinstance(one, str) else reason
    return one_line(reason)
