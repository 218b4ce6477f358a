"""How features, classes and values are written in pictures: as in the texts, each in one line."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from nicecf.exceptions import plain
from nicecf.models.scores import ScoreTarget
from nicecf.results.batch import Batch
from nicecf.support.formats import one_line as in_one_line
from nicecf.support.formats import whole_percent
from nicecf.support.phrases import Statement
from nicecf.support.types import CellValue, Label
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import TableStatistics
from nicecf.tables.temporal import plain_moment
from nicecf.views.telling import Teller
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.rounding import digits, formatted_numbers
from nicecf.views.words.wording import Wording

# What a float holds: more digits than that are not in the data.
_MOST_DECIMALS = 15
# How many more than its column a value may have that is longer.
_MORE = 6


@dataclass(frozen=True, eq=False)
class PlotFormatter:
    """The names and values of one result, in a wording."""

    schema: Schema
    statistics: TableStatistics
    formatter: Formatter
    classes: tuple[Label, ...]
    target: ScoreTarget | None = None

    @classmethod
    def of(cls, batch: Batch, wording: Wording | None) -> PlotFormatter:
        """Raises OptionError if the wording is not one, or names what the batch does not have."""
        classes = tuple(plain(label) for label in batch.classes)
        return cls(batch.schema, batch.provenance.statistics, Formatter.of(batch, wording), classes, batch.target)

    @property
    def teller(self) -> Teller:
        """Says the words of the picture."""
        return Teller(self.formatter.wording)

    @property
    def missing(self) -> str:
        """What a missing value is called."""
        return self.formatter.wording.phrases["value.missing"]

    def feature(self, j: int) -> str:
        """The name of a feature."""
        return self._seen(self.formatter.name(self.schema.columns[j].name))

    def label(self, code: int) -> str:
        """The name of a class, by its position."""
        called = self.formatter.wording.label(self.classes[code])
        return self._text(self.classes[code]) if called is None else self._seen(called)

    def percent(self, probability: float) -> str:
        """A probability; never rounded to certainty."""
        return self.formatter.percent(int(whole_percent(np.array([probability]))[0]))

    def chance(self, probability: float) -> str:
        """A probability or, where the target is scores, a score."""
        return self.formatter.chances(np.array([probability]), self.target)[0]

    def reason(self, one: Statement) -> str:
        """Why there is no counterfactual."""
        return self.formatter.statement(one)

    def value(self, j: int, value: float) -> str:
        """An encoded value."""
        return self.pair(j, value, value)[0]

    def pair(self, j: int, before: float, after: float) -> tuple[str, str]:
        """Two encoded values of a feature; if they differ, so does what is written."""
        if self.schema.columns[j].is_categorical:
            return self._level(j, before), self._level(j, after)
        temporal = self.schema.columns[j].temporal
        if temporal is not None:
            return self._moment(j, temporal.value(before)), self._moment(j, temporal.value(after))
        decimals = self.statistics.columns[j].decimals
        while decimals < _MOST_DECIMALS and before != after and number(before, decimals) == number(after, decimals):
            decimals += 1
        return self._number(j, before, decimals), self._number(j, after, decimals)

    def changes(self, batch: Batch) -> list[dict[int, tuple[str, str]]]:
        """For each counterfactual the values before and after each change, by feature, as the texts show them."""
        formatted: list[dict[int, tuple[str, str]]] = [{} for _ in range(len(batch))]
        lines, features = batch.steps.row().tolist(), batch.steps.feature.tolist()
        for line, j, pair in zip(lines, features, formatted_numbers(batch), strict=True):
            if pair is None:
                formatted[line][j] = self.pair(j, batch.before.values[line, j], batch.after.values[line, j])
            else:
                formatted[line][j] = self._measured(j, pair.before), self._measured(j, pair.after)
        return formatted

    def _level(self, j: int, code: float) -> str:
        return self._text(self.schema.columns[j].levels[int(code)]) if code >= 0 else self.missing

    def _text(self, value: CellValue) -> str:
        if isinstance(value, (bool, np.bool_)):
            return self.formatter.wording.phrases["value.true" if value else "value.false"]
        value = plain(plain_moment(value))
        if isinstance(value, (date, timedelta)):
            return self.formatter.text(value)
        return self.formatter.number(digits(value)) if isinstance(value, float) else self._seen(str(value))

    def _moment(self, j: int, value: CellValue) -> str:
        if value is None:
            return self.missing
        return self._seen(self.formatter.wording.measured(self.schema.columns[j].name, self.formatter.text(value)))

    def _number(self, j: int, value: float, decimals: int) -> str:
        if np.isnan(value):
            return self.missing
        if self.statistics.columns[j].is_exact and round(value, decimals) != value and abs(value) < 1e15:
            return self._measured(j, digits(round(value, decimals + _MORE)))
        return self._measured(j, number(value, decimals))

    def _measured(self, j: int, text: str | None) -> str:
        if text is None:
            return self.missing
        return self._seen(self.formatter.wording.measured(self.schema.columns[j].name, self.formatter.number(text)))

    def _seen(self, text: str) -> str:
        return seen(text, self.formatter.wording)


def number(value: float, decimals: int) -> str:
    """A number with the given number of decimals.

    >>> number(1234.5, 2), number(-0.001, 1), number(2.5e17, 0)
    ('1234.50', '0.0', '2.5e+17')
    """
    if abs(value) >= 1e15:
        return f"{value:.6g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def seen(text: str, wording: Wording) -> str:
    r"""Any text in one line that can be seen.

    >>> seen("a\n b", Wording()), seen(" ", Wording())
    ('a b', '(empty)')
    """
    return in_one_line(text) or wording.say("plot.empty")
