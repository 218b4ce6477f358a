"""What views say in the language of a wording: phrases with counts, numbers, names and values as the table has them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property

import numpy as np

from nicecf.results.batch import Batch
from nicecf.support.formats import localised, one_line, padded, said_moment, shown, signed_duration, whole_percent
from nicecf.support.phrases import Statement, Voice, percent_of, percent_text
from nicecf.support.types import CellValue, Label
from nicecf.views.documents.columns import significant
from nicecf.views.words.line import Line
from nicecf.views.words.wording import Wording


@dataclass(frozen=True)
class Teller:
    """Says things of a result in a wording; names that it does not give are those of the table.

    ``decimals``: with how many decimals the numbers of each feature are written at least.
    """

    wording: Wording
    decimals: Mapping[Hashable, int] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: Batch, wording: Wording | None) -> Teller:
        """Raises OptionError if the wording is not one, or names what the batch does not have."""
        columns = batch.provenance.statistics.columns
        decimals = {name: column.decimals for name, column in zip(batch.schema.names, columns, strict=True)}
        return cls(Wording.given(wording, batch.schema.names, batch.classes), decimals)

    def say(self, phrase: str, **fields: object) -> str:
        """A phrase with its fields filled in; whole numbers in the manner of the language."""
        return self.wording.say(phrase, **{name: self._field(value) for name, value in fields.items()})

    def _field(self, value: object) -> object:
        is_count = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        return self.count(int(value)) if is_count else value  # type: ignore[call-overload]  # it is a number

    def counted(self, phrase: str, count: int, **fields: object) -> str:
        """What is said of so many: of one, the phrase with ``_one`` behind its name."""
        return self.say(f"{phrase}_one" if count == 1 else phrase, count=count, **fields)

    def count(self, count: int) -> str:
        """A whole number.

        >>> Teller(Wording()).count(1234)
        '1,234'
        """
        return self.number(f"{count:,}")

    def number(self, text: str) -> str:
        """A number that Python wrote, with a comma between thousands if they are to be apart."""
        return localised(text.replace(",", ""), self.wording.phrases, is_grouped="," in text)

    def significant(self, value: float, digits: int = 4) -> str:
        """A number with the digits that count, from 10,000 on with its thousands apart.

        >>> Teller(Wording()).significant(23700.0), Teller(Wording()).significant(2024.0)
        ('23,700', '2024')
        """
        text = significant(value, digits)
        whole, point, rest = text.partition(".")
        if abs(value) >= 10_000 and whole.removeprefix("-").isdigit():
            whole = f"{int(whole):,}"
        return self.number(f"{whole}{point}{rest}")

    def percent(self, share: float) -> str:
        """A share or a probability; never rounded to certainty."""
        return percent_of(int(whole_percent(np.array(share))), self.wording.phrases)

    def signed(self, value: float | timedelta) -> str:
        """A difference, with its sign.

        >>> Teller(Wording()).signed(-12.5), Teller(Wording()).signed(3.0)
        ('\u221212.5', '+3')
        """
        if isinstance(value, timedelta):
            written = signed_duration(value, self.wording.phrases)
        else:
            written = f"{'+' if value > 0 else ''}{self.significant(value, 3)}"
        return f"\N{MINUS SIGN}{written[1:]}" if written.startswith("-") else written

    def date(self, value: date) -> str:
        """A date."""
        return said_moment(value, self.wording.phrases)

    def listed(self, parts: Iterable[str], most: int) -> str:
        """The first few, and how many more there are.

        >>> Teller(Wording()).listed(["a", "b", "c", "d"], 2)
        'a, b and 2 more'
        """
        every, between = list(parts), self.wording.phrases["list.between"]
        if len(every) <= most:
            return between.join(every)
        return self.say("statement.more", named=between.join(every[:most]), count=len(every) - most)

    def name(self, feature: Hashable) -> str:
        """What a feature is called, in one line."""
        given = self.wording.given_name(feature)
        return one_line(str(feature)) if given is None else given

    def label(self, label: Label) -> str:
        """What a class is called, in one line."""
        called = self.wording.label(label)
        return one_line(str(label)) if called is None else called

    def value(self, feature: Hashable, value: CellValue) -> str:
        """A value of a feature as the table has it, with its unit."""
        if value is None:
            return self.wording.phrases["value.missing"]
        if isinstance(value, (date, timedelta)):
            return self.wording.measured(feature, said_moment(value, self.wording.phrases))
        if isinstance(value, (bool, str)):
            return shown(value)
        if isinstance(value, float):
            return self.wording.measured(feature, self.number(padded(shown(value), self.decimals.get(feature, 0))))
        return self.wording.measured(feature, shown(value))

    def percentage(self, number: str) -> str:
        """Return a number of percent as text."""
        return percent_text(number, self.wording.phrases)

    def probability_of(self, label: Label) -> str:
        """Return what stands above probabilities of a class."""
        return self.say("listing.probability_of", label=self.label(label))

    def chance_of_line(self, line: Line, number: str) -> str:
        """Return the quantity of a line with its value, a number of percent."""
        return self.say("line.of", quantity_of=self.label(line.label), chance=self.percentage(number))

    def statement(self, *statements: Statement) -> str:
        """Reasons, notes or rules in words; names that nobody gave are in quotes."""
        return self._voice.joined(statements)

    @cached_property
    def _voice(self) -> Voice:
        return Voice(
            self.wording.phrases,
            feature=lambda feature: self.wording.given_name(feature) or repr(feature),
            label=lambda label: self.wording.label(label) or repr(label),
        )
