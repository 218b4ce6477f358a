"""Explanations cut into their parts, each of them in words: what the styles of a text put together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from string import Formatter as Phrase
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError
from nicecf.models.scores import ScoreTarget
from nicecf.results.batch import Batch, picked
from nicecf.rules.expressions.dates import sort_of
from nicecf.rules.relaxations import Relaxation
from nicecf.support.formats import one_line, said_moment, whole_percent
from nicecf.support.phrases import Statement, Voice, percent_of
from nicecf.support.types import Bools, CellValue, Floats, Ints, Label, is_number
from nicecf.views.words.rounding import FormattedNumber, digits, formatted_numbers
from nicecf.views.words.wording import Wording


@dataclass(frozen=True)
class FormattedChange:
    """A change, said; ``direction``: 1 for a number or a date that helps by going up, -1 by going down, else 0.

    ``is_together``: it is one change with the one before it, such as two columns of one category.
    """

    feature: str
    before: str
    after: str
    direction: int
    step: int
    chance: str
    share: str
    is_together: bool = False
    kind: Literal["number", "date", "duration"] = "number"


@dataclass(frozen=True)
class FormattedExplanation:
    """An explanation, said: the parts that the styles put together.

    ``derived``: what follows from the changes. ``relaxation``: a rule, and what to do instead. ``is_score``: a chance
    is a score, and the decision whether it lies in the target; ``out_of_reach``: the target, if it does not.
    """

    is_found: bool
    decision: str
    chance: str
    other: str
    other_chance: str
    other_chance_before: str
    changes: tuple[FormattedChange, ...]
    distance: str
    donor: str | None
    reason: str
    relaxation: tuple[str, str] | None
    note: str | None
    derived: tuple[FormattedChange, ...] = ()
    is_score: bool = False
    out_of_reach: str | None = None

    @property
    def n_changes(self) -> int:
        """How many changes there are; what changes together is one."""
        return sum(not each.is_together for each in self.changes)

    @property
    def outcome(self) -> dict[str, str]:
        """What is said of the decision, as fields of a phrase."""
        return {
            "decision": self.decision,
            "chance": self.chance,
            "other": self.other,
            "other_chance": self.other_chance,
        }


def formatted(batch: Batch, formatter: Formatter, *, ask: bool) -> list[FormattedExplanation]:
    """The explanations in parts. ``ask``: whether the model may be asked how far numbers can be rounded."""
    changes, derived = _formatted_changes(batch, formatter, ask=ask)
    now, then, of_then = (
        formatter.chances(each, batch.target)
        for each in (
            batch.before.probability,
            batch.after.probability,
            picked(batch.before.probabilities, batch.after.decided),
        )
    )
    labels = [formatter.label(label) for label in batch.classes]
    return [
        FormattedExplanation(
            is_found=bool(batch.found[i]),
            decision=labels[batch.before.decided[i]],
            chance=now[i],
            other=labels[batch.after.decided[i]],
            other_chance=then[i],
            other_chance_before=of_then[i],
            changes=changes[i],
            distance=formatter.number(f"{batch.distances[i]:.3g}"),
            donor=_formatted_donor(batch, i, formatter),
            reason="" if batch.reasons[i] is None else formatter.statement(batch.reasons[i]),
            relaxation=_formatted_relaxation(batch.relaxations[i], formatter),
            note=formatter.statement(*batch.notes[i]) or None,
            derived=derived[i],
            is_score=batch.target is not None,
            out_of_reach=labels[1] if batch.is_best_effort else None,
        )
        for i in range(len(batch))
    ]


def _formatted_donor(batch: Batch, i: int, formatter: Formatter) -> str | None:
    """The position of the donor; of several, each with the feature it is for. None if there is nothing to tell."""
    if batch.donors[i] is not pd.NA:
        return str(batch.donors[i])
    features = np.flatnonzero(batch.held[i] >= 0)
    several = [f"{batch.held[i, j]} ({formatter.name(batch.schema.names[j])})" for j in features]
    return ", ".join(several) or None


def _formatted_relaxation(relaxation: Relaxation | None, formatter: Formatter) -> tuple[str, str] | None:
    if relaxation is None:
        return None
    return formatter.statement(relaxation.blocks), formatter.statement(relaxation.instead)


Said: TypeAlias = list[tuple[FormattedChange, ...]]


def _formatted_changes(batch: Batch, formatter: Formatter, *, ask: bool) -> tuple[Said, Said]:
    """The changes of each row in words, what matters most first; and what follows from them."""
    order = by_importance(batch)
    each = _each_formatted(batch, formatter, order, ask=ask)
    starts = batch.steps.starts
    ends = starts[1:] - np.bincount(batch.steps.row()[batch.is_derived[batch.steps.feature]], minlength=len(batch))
    spans = [(starts[:-1], ends), (ends, starts[1:])]
    changes, derived = ([tuple(each[a:b]) for a, b in zip(*span, strict=True)] for span in spans)
    return changes, derived


def _each_formatted(batch: Batch, formatter: Formatter, order: Ints, *, ask: bool) -> list[FormattedChange]:
    """All changes in words, in an order in which those that are one stand together."""
    table, steps, line = batch.changes, batch.steps, batch.steps.row()
    numbers, parts = formatted_numbers(batch, ask=ask), _parts(batch)
    distances = batch.distances[line]
    shares = np.divide(parts, distances, out=np.zeros_like(parts), where=distances > 0)
    share = formatter.chances(shares)
    chance = formatter.chances(table["probability"].to_numpy(dtype=float), batch.target)
    feature, before, after, step = (table[name].tolist() for name in ("feature", "before", "after", "step"))
    ups = np.sign(batch.after.values[line, steps.feature] - batch.before.values[line, steps.feature])
    is_ordered = ~batch.schema.by_equality[steps.feature] & ~np.isnan(ups)
    # A column of a category that is spread over several is not too high or too low.
    is_ordered &= ~batch.is_together[steps.feature]
    kinds = [sort_of(column.temporal) for column in batch.schema.columns]
    direction = np.where(is_ordered & (_gains(batch) > 0), ups, 0).astype(int).tolist()
    return [
        FormattedChange(
            formatter.name(feature[at]),
            *formatter.pair(feature[at], before[at], after[at], numbers[at]),
            direction=direction[at],
            step=step[at],
            chance=chance[at],
            share=share[at],
            is_together=together,
            kind=kinds[steps.feature[at]],
        )
        for at, together in zip(order.tolist(), _are_together(batch, order), strict=True)
    ]


def _are_together(batch: Batch, order: Ints) -> list[bool]:
    """Whether each change is one with that before it."""
    line, unit = batch.steps.row()[order], batch.units[batch.steps.feature[order]]
    is_same = (line[1:] == line[:-1]) & (unit[1:] == unit[:-1]) & (unit[1:] >= 0)
    return [False, *is_same.tolist()][: len(order)]


@dataclass(frozen=True)
class Formatter:
    """Says values, names and labels in a wording."""

    wording: Wording
    is_letter: bool = False

    @classmethod
    def of(cls, batch: Batch, wording: Wording | None, *, is_letter: bool = False) -> Formatter:
        """Raises OptionError if the wording is not one, or names what the batch does not have."""
        if wording is None:
            return cls(Wording(), is_letter)
        if not isinstance(wording, Wording):
            raise OptionError(f"wording must be a nicecf.Wording, or None, got {type(wording).__name__}.")
        wording.check(batch.schema.names, batch.classes)
        return cls(wording, is_letter)

    def name(self, feature: Hashable) -> str:
        """What a feature is called; in a letter, names of columns are made words."""
        name = self.wording.name(feature)
        return name.replace("_", " ") if self.is_letter and name == str(feature) else name

    def label(self, label: Label) -> str:
        """What a class is called."""
        called = self.wording.label(label)
        return self.text(label) if called is None else called

    def number(self, text: str) -> str:
        return text.replace(".", self.wording.phrases["number.decimal_point"])

    def chances(self, values: Floats, target: ScoreTarget | None = None) -> list[str]:
        """Probabilities or, with their target, scores."""
        if target is not None:
            return [self.number(target.text(score)) for score in values.tolist()]
        return [self.percent(whole) for whole in whole_percent(values).tolist()]

    def percent(self, whole: int) -> str:
        """A probability, of what `whole_percent` makes of it."""
        return percent_of(whole, self.wording.phrases)

    def pair(
        self, feature: Hashable, before: CellValue, after: CellValue, number: FormattedNumber | None
    ) -> tuple[str, str]:
        """The values before and after a change; they never read the same."""
        numbers = (None, None) if number is None else (number.before, number.after)
        pair = [self._value(feature, value, text) for value, text in zip((before, after), numbers, strict=True)]
        if pair[0] == pair[1]:  # such as categories that differ in white space only, or 1 and "1"
            pair = [repr(before), repr(after)]
        return pair[0], pair[1]

    def _value(self, feature: Hashable, value: CellValue, number: str | None) -> str:
        if number is not None:
            return self.wording.measured(feature, self.number(number))
        if value is None:
            return self.wording.phrases["letter.missing" if self.is_letter else "value.missing"]
        return self.wording.measured(feature, self.text(value))

    def text(self, value: CellValue) -> str:
        """A category, a date or a label, in one line."""
        if isinstance(value, (bool, np.bool_)):
            return self.wording.phrases["value.true" if value else "value.false"]
        if isinstance(value, (date, timedelta)):
            return said_moment(value, self.wording.phrases)
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
        """What joins a sentence: a category that contains it would be taken for part of the sentence."""
        phrases = self.wording.phrases
        joining = ("sentence.change", "derived.sentence", "derived.change")
        fixed = [part[0] for key in joining for part in Phrase().parse(phrases[key])]
        return [mark for mark in (phrases["list.between"].strip(), phrases["list.last"], *fixed) if mark.strip()]

    def statement(self, *statements: Statement) -> str:
        """Reasons, notes or rules in words, in one line; names that nobody gave are in quotes."""
        return one_line(self._voice.joined(statements))

    @cached_property
    def _voice(self) -> Voice:
        return Voice(self.wording.phrases, feature=self._feature_in_statement, label=self._label_in_statement)

    def _feature_in_statement(self, feature: Hashable) -> str:
        name = self.name(feature)
        return repr(feature) if name == str(feature) else name

    def _label_in_statement(self, label: Label) -> str:
        called = self.wording.label(label)
        return repr(label) if called is None else called


def by_importance(batch: Batch) -> Ints:
    """The changes, ordered by row and then by what matters most; what follows from others comes last.

    That is what a change adds to the probability of the counterfactual's class; changes of one step share what it adds.
    Equal ones by their part in the distance, then by the order of the columns. Columns that are one change stand
    together: first the category that the row has, if each has a column of its own.
    """
    feature = batch.steps.feature
    keys = (
        feature,
        *_order_within(batch),
        # Rounded: what differs by an error of rounding is equal.
        -_parts(batch).round(9),
        -_gains(batch).round(9),
        batch.is_derived[feature],
        batch.steps.row(),
    )
    return np.lexsort(keys)


def _order_within(batch: Batch) -> tuple[Bools, Ints] | tuple[()]:
    """Keys that keep columns together that are one change, and put that first which the row has; the last key first."""
    if not batch.is_together.any():
        return ()
    _, first, place = np.unique(batch.units, return_index=True, return_inverse=True)
    feature = batch.steps.feature
    lead = np.where(batch.is_derived[feature], feature, first[place][feature])
    has = np.array([value is not None and value == 1 for value in batch.changes["before"]], dtype=bool)
    return ~has, lead


def _gains(batch: Batch) -> Floats:
    """What each change adds to the probability of the counterfactual's class; what follows from others, nothing."""
    steps, line = batch.steps, batch.steps.row()
    decided = batch.after.decided[line]
    reached, at_first = steps.reached[np.arange(len(line)), decided], batch.before.probabilities[line, decided]
    if batch.target is not None:  # a score may have to fall
        reached, at_first = batch.target.margins(reached), batch.target.margins(at_first)
    is_first = np.append(True, (np.diff(line) != 0) | (np.diff(steps.step) != 0))[: len(line)]
    step = np.cumsum(is_first) - 1
    start = np.flatnonzero(is_first)[step]
    before = np.where(start == steps.starts[line], at_first, reached[start - 1])
    unit = batch.units[steps.feature]
    changes = np.unique(np.column_stack([step, unit])[unit >= 0], axis=0)
    n_changes = np.bincount(changes[:, 0], minlength=len(step))[step]
    return np.where(unit >= 0, (reached - before) / np.maximum(n_changes, 1), 0.0)


def _parts(batch: Batch) -> Floats:
    """The part of each change in the distance."""
    lines, features = batch.steps.row(), batch.steps.feature
    parts: Floats = batch.distance.features(batch.before.values, batch.after.values)[lines, features]
    return parts
