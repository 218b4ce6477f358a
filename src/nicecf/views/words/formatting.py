"""Explanations cut into their parts, each of them in words: what the styles of a text put together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from string import Formatter as Phrase
from typing import TypeAlias

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError, plain
from nicecf.models.scores import ScoreTarget
from nicecf.results.batch import Batch, picked
from nicecf.rules.relaxations import Relaxation
from nicecf.support.formats import localised, one_line, readable, said_moment, whole_percent
from nicecf.support.phrases import Statement, Voice, percent_of, percent_text
from nicecf.support.types import CellValue, Floats, Ints, Label, is_number
from nicecf.views.words.importance import by_importance, parts_of
from nicecf.views.words.line import Line, lines_of
from nicecf.views.words.rounding import FormattedNumber, digits, formatted_numbers
from nicecf.views.words.wording import Wording

# What stands between the name of a category and one of its values, where each has a column of its own.
_BETWEEN = "_=.:-/| "
# Whole numbers between these may be years.
_YEARS = (1799, 2201)


@dataclass(frozen=True)
class FormattedChange:
    """A change, said; ``column``: the feature as the table calls it.

    ``goes``: 1 for a number or a date that goes up, -1 for one that goes down, else 0. ``is_together``: it is one
    change with the one before it, such as two columns of one category; ``whole``: such a category as one change, at
    the first of its columns. ``number``: its digits, if it is one, before they are put in the manner of a language.
    """

    feature: str
    before: str
    after: str
    column: Hashable = None
    goes: int = 0
    step: int = 0
    chance: str = ""
    share: str = ""
    is_together: bool = False
    whole: FormattedChange | None = None
    number: FormattedNumber | None = None


@dataclass(frozen=True)
class FormattedExplanation:
    """An explanation, said: the parts that the styles put together.

    ``derived``: what follows from the changes. ``obstacle``: the reason as a letter says it. ``is_score``: a chance
    is a score, and the decision whether it lies in the target; ``out_of_reach``: the target, if it does not.
    ``quantity``: where a decision and its chance do not say it all, what every chance here is of, the same before and
    after; ``quantity_of``: the class it is the probability of; ``line``: what decides. ``is_same``: the decision stays
    as it is, and what changes is that it meets all that was asked for. ``target``: the decision that was asked for, if
    it was a certain one.
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
    obstacle: str
    note: str | None
    derived: tuple[FormattedChange, ...] = ()
    is_score: bool = False
    out_of_reach: str | None = None
    quantity: str | None = None
    quantity_of: str = ""
    line: str = ""
    is_same: bool = False
    target: str | None = None

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
            "other_chance_before": self.other_chance_before,
            "quantity": self.quantity or "",
            "quantity_of": self.quantity_of,
            "line": self.line,
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
    lines = lines_of(batch)
    told: list[dict[str, str]] = [{} for _ in range(len(batch))]
    if lines is not None:
        every = lines.all()
        now, then = ([formatter.percentage(getattr(one, when)) for one in every] for when in ("before", "after"))
        told = [formatter.told(one) for one in every]
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
            obstacle=""
            if batch.reasons[i] is None
            else obstacle(batch.reasons[i].kind, batch.relaxations[i], formatter),
            note=formatter.statement(*batch.notes[i]) or None,
            derived=derived[i],
            is_score=batch.target is not None,
            out_of_reach=labels[1] if batch.is_best_effort else None,
            is_same=bool(changes[i] and batch.target is None and batch.before.decided[i] == batch.after.decided[i]),
            target=_asked_for(batch, i, formatter),
            **told[i],
        )
        for i in range(len(batch))
    ]


def _asked_for(batch: Batch, i: int, formatter: Formatter) -> str | None:
    """The decision that was asked for, or several of them; None if any other would do."""
    asked = batch.provenance.call_of(int(batch.rows[i]))["target_class"]
    if batch.target is not None or asked == "other":
        return None
    labels = asked if isinstance(asked, list) else [asked]
    return formatter.wording.phrases["statement.or"].join(formatter.label(label) for label in labels)


def _formatted_donor(batch: Batch, i: int, formatter: Formatter) -> str | None:
    """The position of the donor; of several, each with the feature it is for. None if there is nothing to tell."""
    if batch.donors[i] is not pd.NA:
        return str(batch.donors[i])
    features = np.flatnonzero(batch.held[i] >= 0)
    several = [f"{batch.held[i, j]} ({formatter.name(batch.schema.names[j])})" for j in features]
    return ", ".join(several) or None


def obstacle(kind: str, relaxation: Relaxation | None, formatter: Formatter) -> str:
    """Why there is no counterfactual, for the person concerned: without words that only a data scientist knows."""
    say = formatter.wording.say
    if relaxation is None:
        phrase = next((phrase for phrase, kinds in _OBSTACLES.items() if kind in kinds), "letter.none_by_method")
        return say(phrase)
    blocks = relaxation.blocks
    own = f"letter.rule_{blocks.kind}"
    rule = formatter.statement(Statement(own, blocks.fields) if own in formatter.wording.phrases else blocks)
    if blocks.kind in _NOT_THE_READERS:
        return say("letter.blocked_for_now", rule=rule)
    return say("letter.blocked", rule=rule)


# Rules about models and training data: to relax one is nothing that a letter can speak of.
_NOT_THE_READERS = ("robust_to", "min_count", "min_probability")
# Kinds of reasons, by what a letter says of them.
_OBSTACLES = {
    "letter.none_like_this": ("no_donor", "no_score", "not_justified"),
    # Of a result that was read from a file, which rules these are is not known.
    "letter.none_by_limits": ("blocked", "blocked_by_each", "too_rare"),
    "letter.none_within_limits": ("not_enough", "not_enough_nearest"),
    "letter.none_to_share": ("kept_back",),
    "letter.none_contradiction": ("contradicts_derived", "contradicts_itself", "not_computed", "breaks_relation"),
    "letter.none_in_time": ("out_of_time", "method_out_of_time", "dice_out_of_time"),
}


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
    numbers, parts = formatted_numbers(batch, ask=ask), parts_of(batch)
    distances = batch.distances[line]
    shares = np.divide(parts, distances, out=np.zeros_like(parts), where=distances > 0)
    share = formatter.chances(shares)
    lines = lines_of(batch)
    if lines is None:
        chance = formatter.chances(picked(steps.reached, batch.after.decided[line]), batch.target)
    else:
        chance = [formatter.percentage(one) for one in lines.steps()]
    feature, before, after, step = (table[name].tolist() for name in ("feature", "before", "after", "step"))
    ups = np.sign(batch.after.values[line, steps.feature] - batch.before.values[line, steps.feature])
    is_ordered = ~batch.schema.by_equality[steps.feature] & ~np.isnan(ups)
    # A column of a category that is spread over several does not go up or down.
    is_ordered &= ~batch.is_together[steps.feature]
    goes = np.where(is_ordered, ups, 0).astype(int).tolist()
    is_together = _are_together(batch, order)
    wholes = _wholes(batch, formatter, order, is_together)
    return [
        FormattedChange(
            formatter.name(feature[at]),
            *formatter.pair(feature[at], before[at], after[at], numbers[at]),
            column=feature[at],
            goes=goes[at],
            step=step[at],
            chance=chance[at],
            share=share[at],
            is_together=together,
            whole=wholes.get(at),
            number=numbers[at],
        )
        for at, together in zip(order.tolist(), is_together, strict=True)
    ]


def _wholes(batch: Batch, formatter: Formatter, order: Ints, is_together: list[bool]) -> dict[int, FormattedChange]:
    """Categories that have a column for each of their values, as one change: by the first of the two that change."""
    found: dict[int, FormattedChange] = {}
    features, changes = batch.steps.feature, batch.changes
    for place in np.flatnonzero(is_together).tolist():
        first, second = int(order[place - 1]), int(order[place])
        is_pair = not is_together[place - 1] and not (place + 1 < len(order) and is_together[place + 1])
        before, after = ([changes[name].iat[at] for at in (first, second)] for name in ("before", "after"))
        if not (is_pair and before == [1, 0] and after == [0, 1]):
            continue
        is_member = batch.units == batch.units[features[first]]
        members = [str(name) for name, of_it in zip(batch.schema.names, is_member, strict=True) if of_it]
        stem = _stem(members)
        names = [changes["feature"].iat[at] for at in (first, second)]
        if stem and all(formatter.wording.given_name(name) is None for name in names):
            values = [formatter.text(str(name).removeprefix(stem)) for name in names]
            feature = readable(one_line(stem.rstrip(_BETWEEN)))
            found[first] = FormattedChange(feature, values[0], values[1], column=stem.rstrip(_BETWEEN))
    return found


def _stem(names: list[str]) -> str:
    """What the names of a category's columns begin with, up to a mark between it and the value; else nothing.

    >>> _stem(["home_own", "home_other"]), _stem(["job=clerk", "job=chef"]), _stem(["red", "rest"])
    ('home_', 'job=', '')
    """
    common = os.path.commonprefix(names)  # noqa: RUF071  # names, not paths
    stem = common[: max(common.rfind(mark) for mark in _BETWEEN) + 1]
    return stem if stem.rstrip(_BETWEEN) and all(len(name) > len(stem) for name in names) else ""


def _are_together(batch: Batch, order: Ints) -> list[bool]:
    """Whether each change is one with that before it."""
    line, unit = batch.steps.row()[order], batch.units[batch.steps.feature[order]]
    is_same = (line[1:] == line[:-1]) & (unit[1:] == unit[:-1]) & (unit[1:] >= 0)
    return [False, *is_same.tolist()][: len(order)]


@dataclass(frozen=True)
class Formatter:
    """Says values, names and labels in a wording.

    ``names``: what features are called that the wording says nothing of. ``years``: features whose numbers are years,
    or look so: their thousands are not set apart. ``targets``: what scores inside and outside of a target are called.
    """

    wording: Wording
    is_letter: bool = False
    names: Mapping[Hashable, str] = field(default_factory=dict)
    years: frozenset[Hashable] = frozenset()
    targets: Mapping[Label, Statement] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: Batch, wording: Wording | None, *, is_letter: bool = False) -> Formatter:
        """Raises OptionError if the wording is not one, or names what the batch does not have."""
        if wording is None:
            wording = Wording()
        elif not isinstance(wording, Wording):
            raise OptionError(f"wording must be a nicecf.Wording, or None, got {type(wording).__name__}.")
        wording.check(batch.schema.names, batch.classes)
        targets = {} if batch.target is None else zip(batch.classes, batch.target.statements, strict=True)
        return cls(wording, is_letter, readable_names(batch.schema.names), _years(batch), dict(targets))

    def name(self, feature: Hashable) -> str:
        """What a feature is called."""
        name = self.wording.name(feature)
        return self.names.get(feature, name) if name == one_line(str(feature)) else name

    def label(self, label: Label) -> str:
        """What a class is called."""
        called = self.wording.label(label)
        if called is None and label in self.targets:
            return self.statement(self.targets[label])
        return self.text(label) if called is None else called

    def quantity(self, label: Label) -> str:
        """What the probability of a class is called."""
        called = self.wording.probability(label)
        return self.wording.say("line.quantity", label=self.label(label)) if called is None else called

    def told(self, line: Line) -> dict[str, str]:
        """What is said of a quantity and its line, as parts of an explanation."""
        return {
            "quantity": self.quantity(line.label),
            "quantity_of": self.label(line.label),
            "line": self.clauses(*line.clauses),
        }

    def chance_of(self, line: Line, number: str) -> str:
        """The quantity of a line with its value, a number of percent, in a table or a picture."""
        chance = self.percentage(number)
        return self.wording.say("line.of", quantity_of=self.label(line.label), chance=chance)

    def number(self, text: str, feature: Hashable = None) -> str:
        """A number as Python writes it, in the manner of the language; of a feature, if that is known."""
        return localised(text, self.wording.phrases, is_grouped=feature is None or feature not in self.years)

    def measured(self, feature: Hashable, number: str) -> str:
        """A number of a feature, with its unit."""
        return self.wording.measured(feature, self.number(number, feature))

    def percentage(self, number: str) -> str:
        """A number of percent as text."""
        return percent_text(number, self.wording.phrases)

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
        pair = [self.value(feature, value, text) for value, text in zip((before, after), numbers, strict=True)]
        if pair[0] == pair[1]:  # such as categories that differ in white space only, or 1 and "1"
            pair = [repr(before), repr(after)]
        return pair[0], pair[1]

    def value(self, feature: Hashable, value: CellValue, number: str | None = None) -> str:
        """A value of a feature, with its unit; ``number``: its digits, if it is one."""
        if number is not None:
            return self.measured(feature, number)
        if value is None:
            return self.wording.phrases["letter.missing" if self.is_letter else "value.missing"]
        called = self.wording.value(feature, plain(value))
        return self.wording.measured(feature, self.text(value) if called is None else called)

    def text(self, value: CellValue) -> str:
        """A category, a date or a label, in one line."""
        if isinstance(value, (bool, np.bool_)):
            return self.wording.phrases["value.true" if value else "value.false"]
        if isinstance(value, (date, timedelta)):
            return said_moment(value, self.wording.phrases)
        if is_number(value):  # a code, whose thousands are not apart
            number = digits(value) if isinstance(value, float) else str(value)
            return localised(number, self.wording.phrases, is_grouped=False)
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

    def clauses(self, *statements: Statement) -> str:
        """Parts of a sentence of ours, in one line: names are as in the rest of it."""
        return one_line(Voice(self.wording.phrases, feature=self.name, label=self.label).joined(statements))

    @cached_property
    def _voice(self) -> Voice:
        return Voice(self.wording.phrases, feature=self._feature_in_statement, label=self._label_in_statement)

    def _feature_in_statement(self, feature: Hashable) -> str:
        is_given = self.wording.name(feature) != one_line(str(feature))
        return self.name(feature) if is_given or self.is_letter else repr(feature)

    def _label_in_statement(self, label: Label) -> str:
        is_named = self.is_letter or label in self.targets or self.wording.label(label) is not None
        return self.label(label) if is_named else repr(label)


def readable_names(names: Iterable[Hashable]) -> dict[Hashable, str]:
    """What features are called by default; those that would be called the same keep the names of their columns.

    >>> readable_names(["late_payments", "zip", "a_b", "a-b"])
    {'late_payments': 'late payments', 'zip': 'zip', 'a_b': 'a_b', 'a-b': 'a-b'}
    """
    called = {name: readable(one_line(str(name))) for name in names}
    times = Counter(called.values())
    return {name: text if times[text] == 1 else one_line(str(name)) for name, text in called.items()}


def _years(batch: Batch) -> frozenset[Hashable]:
    """Features with whole numbers that could all be years."""
    first, last = _YEARS
    columns = zip(batch.schema.names, batch.provenance.statistics.columns, strict=True)
    return frozenset(
        name
        for name, one in columns
        if one.decimals == 0 and one.is_exact and len(one.edges) and first < one.edges[0] and one.edges[-1] < last
    )
