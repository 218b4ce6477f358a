"""Values, names and labels in a wording: what is formatted in the same manner in every text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from string import Formatter as Phrase

import numpy as np

from nicecf.exceptions import plain
from nicecf.models.scores import ScoreTarget
from nicecf.results.batch import Batch
from nicecf.support.formats import localised, one_line, readable, said_moment, whole_percent
from nicecf.support.phrases import Statement, Voice, percent_of, percent_text
from nicecf.support.types import CellValue, Floats, Label, is_number
from nicecf.views.words.line import Line
from nicecf.views.words.rounding import FormattedNumber, digits
from nicecf.views.words.wording import Wording

# Whole numbers between these may be years.
_YEARS = (1799, 2201)


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
        wording = Wording.given(wording, batch.schema.names, batch.classes)
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
        fixed += [phrases["region.or"]] if self.wording.regions else []
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
