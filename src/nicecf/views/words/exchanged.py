"""Whether a text that others wrote exchanges what is and what would be: values, probabilities, scores or decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from nicecf.results.batch import Batch
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.line import lines_of

IS_NUMBER = re.compile(r"[-\u2212]?[\d.,]+")
# How far apart two values may stand that are compared ("from ... to ...").
_NEAR = 40
# What ends a sentence, or a line of a list.
_ENDS = (". ", "; ", "\n")


@dataclass(frozen=True)
class Mention:
    """A value in a text: a number, with so many ``places``, a category, or a moment.

    ``matches``: the cells it can be of, (column, is_after).
    """

    start: int
    end: int
    text: str
    matches: tuple[tuple[int, bool], ...]
    number: float | None = None
    places: int = 0
    is_percent: bool = False


@dataclass(frozen=True, eq=False)
class Exchange:
    """A text about the only entry of a batch."""

    batch: Batch
    formatter: Formatter
    text: str

    def of_values(self, mentions: Iterable[Mention], changed: Sequence[int]) -> Iterator[tuple[int, Mention, Mention]]:
        """Find columns with the old value where the new one should stand, and the other way round, side by side."""
        by_span: dict[tuple[int, int], Mention] = {}
        for one in mentions:
            known = by_span.get((one.start, one.end))
            by_span[one.start, one.end] = one if known is None else replace(one, matches=known.matches + one.matches)
        for one, other in pairwise(by_span[span] for span in sorted(by_span)):
            is_after_first = self._order(one, other)
            if is_after_first is None:
                continue
            sides = is_after_first, not is_after_first
            is_right = any((j, sides[0]) in one.matches and (j, sides[1]) in other.matches for j in changed)
            wrong = [j for j in changed if (j, sides[1]) in one.matches and (j, sides[0]) in other.matches]
            if wrong and not is_right:
                yield wrong[0], one, other

    def _order(self, one: Mention, other: Mention) -> bool | None:
        """Return whether the first of two values that stand side by side is said to be the new one; None if unclear."""
        between, lead = self.text[one.end : other.start], self.text[max(0, one.start - _NEAR) : one.start]
        if len(between) > _NEAR or "\n" in between:
            return None
        instead, start, end = (self._words(name) for name in ("instead", "from", "to"))
        if instead.search(between):
            return True
        is_before_first = instead.search(lead[-len(self.formatter.wording.phrases["check.instead"]) - 2 :]) or (
            end.search(between) and start.search(lead)
        )
        return False if is_before_first else None

    def of_outcome(self, numbers: Iterable[Mention]) -> Iterator[tuple[str, tuple[int, int]]]:
        """Find probabilities or scores, and decisions, that all stand on the wrong side, some on each.

        A text that has one of them right may mean something else by the others.
        """
        chances = [(one, sides) for one in numbers if (sides := self._sides_of_number(one))]
        for mentions, phrase in ((chances, "check.swapped_chance"), (self._decisions, "check.swapped_decision")):
            said = [(one, sides, side) for one, sides in mentions if (side := self._side(one)) is not None]
            if len({side for _, _, side in said}) == 2 and not any(side in sides for _, sides, side in said):
                span = said[0][0].start, said[-1][0].end
                before, after = self._labels
                fields = {"before": before, "after": after} if phrase == "check.swapped_decision" else {}
                yield self.formatter.wording.say(phrase, text=self.text[slice(*span)].strip(), **fields), span

    @property
    def _labels(self) -> tuple[str, str]:
        before, after = (
            self.formatter.label(self.batch.classes[one.decided[0]]) for one in (self.batch.before, self.batch.after)
        )
        return before, after

    @cached_property
    def _decisions(self) -> list[tuple[Mention, set[bool]]]:
        """Where the text names the decision and the one it would become, but not as part of something else."""
        before, after = self._labels
        if before == after or IS_NUMBER.fullmatch(before) or IS_NUMBER.fullmatch(after):
            return []
        masked = self.text
        lines = lines_of(self.batch)
        clauses = "" if lines is None else self.formatter.told(lines.all()[0])["line"]
        quantities = [self.formatter.quantity(label) for label in self.batch.classes]
        for part in (clauses, *quantities):
            masked = masked.replace(part, "\0" * len(part)) if part else masked
        found = [
            (Mention(one.start(), one.end(), one[0], ()), {is_after})
            for is_after, label in ((False, before), (True, after))
            for one in word_pattern(label, re.IGNORECASE).finditer(masked)
        ]
        return sorted(found, key=lambda one: one[0].start)

    def _sides_of_number(self, one: Mention) -> set[bool]:
        """Return the sides on which a number is a score, or a probability of the class that was named last before."""
        batch, number = self.batch, one.number or 0.0
        if not one.is_percent:
            if batch.target is None:
                return set()
            pair = [(float(batch.before.probability[0]), False), (float(batch.after.probability[0]), True)]
            return {side for score, side in pair if reads_as(score, number, one.places)}
        lead = self.text[: one.start]
        named = [(lead.rfind(self.formatter.quantity(label)), k) for k, label in enumerate(batch.classes)]
        last = max(named)
        classes = [last[1]] if last[0] >= 0 else range(len(batch.classes))
        return {
            side
            for side, scored in ((False, batch.before), (True, batch.after))
            for k in classes
            if _is_shown(float(scored.probabilities[0, k]), one, lead[-1:])
        }

    def _side(self, one: Mention) -> bool | None:
        """Return whether a text says of something that it would be (True), or that it is; None if that is not clear."""
        start = max(found + len(mark) if (found := self.text.rfind(mark, 0, one.start)) >= 0 else 0 for mark in _ENDS)
        lead = self.text[start : one.start]
        cues = [
            (found.end(), side)
            for side, name in ((True, "then"), (False, "now"))
            for found in self._words(name).finditer(lead)
        ]
        if not cues:
            return None
        at, side = max(cues)
        if self._words("not").search(lead[at:]):
            return None
        *_, last = [0, *(found.end() for found in self._words("instead").finditer(lead[at:]))]
        is_instead = last > 0 and re.fullmatch(r"\W*(?:\w+\W+){0,2}", lead[at + last :]) is not None
        return not side if is_instead else side

    def _words(self, name: str) -> re.Pattern[str]:
        """Return a pattern for any of the words of a phrase, which are between bars."""
        every = "|".join(map(re.escape, self.formatter.wording.phrases[f"check.{name}"].split("|")))
        return re.compile(rf"(?<!\w)(?:{every})(?!\w)", re.IGNORECASE)


def _is_shown(probability: float, one: Mention, mark: str) -> bool:
    """Return whether a number of percent shows a probability; behind a mark, as in ">99", a nearly certain one."""
    number, percent = one.number or 0.0, 100 * probability
    if mark == ">":
        return number < percent < 100
    return 0 < percent < number if mark == "<" else reads_as(percent, number, one.places)


def reads_as(value: float, number: float, places: int) -> bool:
    """Return whether a number with so many decimals is a value, rounded."""
    if value == number:
        return True
    return abs(round(value, places) - number) < 0.5 * 10.0 ** -(places + 6) and number != 0


def word_pattern(word: str, flags: re.RegexFlag = re.RegexFlag.NOFLAG) -> re.Pattern[str]:
    """Return a pattern for a word, or a number, that is no part of a longer one."""
    if IS_NUMBER.fullmatch(word):
        return re.compile(rf"(?<![\w\u2212-])(?<!\d[.,]){re.escape(word)}(?!\w)(?![.,]\d)", flags)
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", flags)
