"""Explanations cut into their parts, each of them in words: what the styles of a text put together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd

from nicecf._typing import Floats, Ints, is_number
from nicecf.words.rounding import Written, digits, whole_percent, written
from nicecf.words.wording import Wording, one_line


@dataclass(frozen=True)
class SaidChange:
    """A change, said; ``direction``: 1 for a number that helps by going up, -1 by going down, else 0."""

    feature: str
    before: str
    after: str
    direction: int
    step: int
    chance: str
    share: str


@dataclass(frozen=True)
class Told:
    """An explanation, said: the parts that the styles put together. ``relaxation``: a rule, and what to do instead."""

    is_found: bool
    decision: str
    chance: str
    other: str
    other_chance: str
    other_chance_before: str
    changes: tuple[SaidChange, ...]
    distance: str
    donor: str | None
    reason: str
    relaxation: tuple[str, str] | None
    note: str | None

    @property
    def outcome(self) -> dict[str, str]:
        """What is said of the decision, as fields of a phrase."""
        return {
            "decision": self.decision,
            "chance": self.chance,
            "other": self.other,
            "other_chance": self.other_chance,
        }


def told(cfs: Any, speaker: Speaker, *, ask: bool) -> list[Told]:
    """The explanations in parts. ``ask``: whether the model may be asked how far numbers can be rounded."""
    lines, relaxations = np.arange(len(cfs)), cfs.relaxations
    renamed = partial(speaker.renamed, names=cfs._schema.names, classes=cfs.classes)
    starts, changes, distances = cfs._steps.starts, *_said(cfs, speaker, ask=ask)
    now, then, of_then = (
        whole_percent(each[lines, decided]).tolist()
        for each, decided in (
            (cfs._before, cfs._decided),
            (cfs._after, cfs._decided_after),
            (cfs._before, cfs._decided_after),
        )
    )
    labels = [speaker.label(label) for label in cfs.classes]
    return [
        Told(
            is_found=bool(cfs.found[i]),
            decision=labels[cfs._decided[i]],
            chance=speaker.percent(now[i]),
            other=labels[cfs._decided_after[i]],
            other_chance=speaker.percent(then[i]),
            other_chance_before=speaker.percent(of_then[i]),
            changes=tuple(changes[starts[i] : starts[i + 1]]),
            distance=speaker.number(f"{distances[i]:.3g}"),
            donor=None if cfs.donors[i] is pd.NA else str(cfs.donors[i]),
            reason="" if cfs.reasons[i] is None else renamed(cfs.reasons[i]),
            relaxation=None
            if relaxations[i] is None
            else (renamed(relaxations[i].rule), renamed(relaxations[i].action)),
            note=None if cfs.notes[i] is None else one_line(cfs.notes[i]),
        )
        for i in lines.tolist()
    ]


def _said(cfs: Any, speaker: Speaker, *, ask: bool) -> tuple[list[SaidChange], Floats]:
    """All changes in words, by row and importance, and the distance of each row."""
    table, steps, line = cfs.changes(), cfs._steps, cfs._steps.row()
    numbers, parts = written(cfs, ask=ask), _parts(cfs)
    distances = np.bincount(line, weights=parts, minlength=len(cfs)).astype(np.float64)
    shares = np.divide(parts, distances[line], out=np.zeros_like(parts), where=distances[line] > 0)
    share, chance = (whole_percent(each).tolist() for each in (shares, table["probability"].to_numpy(dtype=float)))
    feature, before, after, step = (table[name].tolist() for name in ("feature", "before", "after", "step"))
    ups = np.sign(cfs._values[line, steps.feature] - cfs._rows[line, steps.feature])
    is_ordered = ~cfs._schema.is_categorical[steps.feature] & ~np.isnan(ups)
    direction = np.where(is_ordered & (_gains(cfs) > 0), ups, 0).astype(int).tolist()
    changes = [
        SaidChange(
            speaker.name(feature[at]),
            *speaker.pair(feature[at], before[at], after[at], numbers[at]),
            direction=direction[at],
            step=step[at],
            chance=speaker.percent(chance[at]),
            share=speaker.percent(share[at]),
        )
        for at in by_importance(cfs).tolist()
    ]
    return changes, distances


@dataclass(frozen=True)
class Speaker:
    """Says values, names and labels in a wording."""

    wording: Wording
    is_letter: bool

    def name(self, feature: Hashable) -> str:
        """What a feature is called; in a letter, names of columns are made words."""
        name = self.wording.name(feature)
        return name.replace("_", " ") if self.is_letter and name == str(feature) else name

    def label(self, label: Any) -> str:
        """What a class is called."""
        called = self.wording.label(label)
        return self._text(label) if called is None else called

    def number(self, text: str) -> str:
        return text.replace(".", self.wording.phrases["number.decimal_point"])

    def percent(self, whole: int) -> str:
        """A probability, of what `whole_percent` makes of it."""
        if whole == 101:
            return self.wording.say("number.percent_above", number=99)
        if whole == -1:
            return self.wording.say("number.percent_below", number=1)
        return self.wording.say("number.percent", number=whole)

    def pair(self, feature: Hashable, before: Any, after: Any, number: Written | None) -> tuple[str, str]:
        """The values before and after a change; they never read the same."""
        numbers = (None, None) if number is None else (number.before, number.after)
        pair = [self._value(feature, value, text) for value, text in zip((before, after), numbers, strict=True)]
        if pair[0] == pair[1]:  # such as categories that differ in white space only, or 1 and "1"
            pair = [repr(before), repr(after)]
        return pair[0], pair[1]

    def _value(self, feature: Hashable, value: Any, number: str | None) -> str:
        if number is not None:
            return self.wording.measured(feature, self.number(number))
        if value is None:
            return self.wording.phrases["letter.missing" if self.is_letter else "value.missing"]
        return self.wording.measured(feature, self._text(value))

    def _text(self, value: Any) -> str:
        """A value that is no number of a number column: a category or a label, in one line."""
        if isinstance(value, (bool, np.bool_)):
            return self.wording.phrases["value.true" if value else "value.false"]
        if is_number(value):
            return self.number(digits(value) if isinstance(value, float) else str(value))
        text = one_line(str(value))
        is_unclear = not text or text in self._words or any(mark in text for mark in self._marks)
        return self.wording.say("value.quoted", text=text) if is_unclear else text

    @cached_property
    def _words(self) -> set[str]:
        return {self.wording.phrases[key] for key in ("value.missing", "letter.missing")}

    @cached_property
    def _marks(self) -> list[str]:
        """What holds a sentence together: a category that has it in itself could not be told from the rest."""
        phrases = self.wording.phrases
        fixed = [part[0] for part in Formatter().parse(phrases["sentence.change"])]
        return [mark for mark in (phrases["list.between"].strip(), phrases["list.last"], *fixed) if mark.strip()]

    def renamed(self, text: str, names: Sequence[Hashable], classes: Sequence[Hashable]) -> str:
        """A reason with the names that people use, where it quotes features and classes."""
        labels = {one: name for one in classes if (name := self.wording.label(one)) is not None}
        called = labels | {one: self.name(one) for one in names}
        for one, name in called.items():
            if isinstance(one, str) and name != one:
                text = text.replace(repr(one), name)
        return one_line(text)


def by_importance(cfs: Any) -> Ints:
    """The changes, ordered by row and then by what matters most.

    That is what a change adds to the probability of the counterfactual's class; changes of one step share what it adds.
    Equal ones by their part in the distance, then by the order of the columns.
    """
    # Rounded: what differs by an error of rounding is equal.
    return np.lexsort((cfs._steps.feature, -_parts(cfs).round(9), -_gains(cfs).round(9), cfs._steps.row()))


def _gains(cfs: Any) -> Floats:
    """What each change adds to the probability of the counterfactual's class."""
    steps, line = cfs._steps, cfs._steps.row()
    decided = cfs._decided_after[line]
    reached = steps.reached[np.arange(len(line)), decided]
    is_first = np.append(True, (np.diff(line) != 0) | (np.diff(steps.step) != 0))[: len(line)]
    step = np.cumsum(is_first) - 1
    start = np.flatnonzero(is_first)[step]
    before = np.where(start == steps.starts[line], cfs._before[line, decided], reached[start - 1])
    return np.asarray((reached - before) / np.bincount(step)[step])


def _parts(cfs: Any) -> Floats:
    """The part of each change in the distance."""
    lines, features = cfs._steps.row(), cfs._steps.feature
    parts = np.zeros(len(lines))
    for j in np.unique(features).tolist():
        here = np.flatnonzero(features == j)
        parts[here] = cfs._distance.feature(j, cfs._rows[lines[here], j], cfs._values[lines[here], j])
    return parts
