"""How numbers are shown: with the decimals of their column, and so that the model's answer stays the same.

A text is meant to be taken literally: with its numbers put into the row, the model gives the decision it names, at the
probability that it names. Most numbers are those of training rows and as short as their column is written. Longer ones
are rounded, and the model is asked whether the rounded ones will do; where not, they get more digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from nicecf.results.batch import Batch, picked
from nicecf.results.provenance import Maker
from nicecf.support.formats import whole_percent
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.cells import nearest_held

# How many more digits than those of the column are tried, before all of them are shown.
_MOST_LEVELS = 16
# How many more the row itself may show where all training values are shorter: its own value is not an approximation.
_MORE_OF_THE_ROW = 6
# Beyond these, numbers are written with an exponent.
_MOST_PLACES, _LARGEST_IN_DIGITS = 20, 1e16

Dtype: TypeAlias = np.dtype[Any]
_FLOAT64, _OBJECT = np.dtype(np.float64), np.dtype(object)


@dataclass(frozen=True)
class FormattedNumber:
    """A changed number before and after, with a decimal point; None where it is missing."""

    before: str | None
    after: str | None


def formatted_numbers(batch: Batch, *, ask: bool = True) -> list[FormattedNumber | None]:
    """The changed numbers of a batch as text, in the order of its steps; None for what is not a number.

    Without ``ask``, or if there is no model left to ask, numbers longer than their column have all digits.
    """
    lines: list[int] = batch.steps.row().tolist()
    numbers = _numbers(batch)
    long = {line for line, number in zip(lines, numbers, strict=True) if number is not None and number.is_long}
    levels = dict.fromkeys(long, _MOST_LEVELS)
    if ask and long and batch.provenance.maker is not None:
        of_line: dict[int, list[_Number]] = {line: [] for line in long}
        for line, number in zip(lines, numbers, strict=True):
            if number is not None and line in long:
                of_line[line].append(number)
        levels |= _first_that_hold(batch, batch.provenance.maker, of_line)
    return [
        None if number is None else number.formatted(levels.get(line, 0))[0]
        for line, number in zip(lines, numbers, strict=True)
    ]


def digits(value: float, dtype: Dtype = _FLOAT64) -> str:
    """The shortest text that gives the number back in a column of this dtype.

    >>> digits(40.0), digits(0.1), digits(float(np.float32(0.1)), np.dtype("float32")), digits(1e300)
    ('40', '0.1', '0.1', '1e+300')
    """
    return _fixed(value, _places(_shortest(value, dtype)), dtype)


@dataclass(frozen=True)
class _Number:
    """A number that changes; NaN if missing.

    ``decimals``: with how many its column is written; ``is_exact``: whether no training value has more. ``given``: the
    dtype of the column in the rows explained.
    """

    feature: int
    before: float
    after: float
    decimals: int
    is_exact: bool
    given: Dtype

    @cached_property
    def is_long(self) -> bool:
        """Whether it is longer than its column is written, so that something else is said of it first."""
        return not _is_same(self.formatted(0)[1], self.after)

    @property
    def n_levels(self) -> int:
        """With how many more digits it is exact."""
        return min(_MOST_LEVELS, max(0, self._exact_places - self.decimals))

    def formatted(self, level: int) -> tuple[FormattedNumber, float]:
        """The text with ``level`` more digits than the column has, and the value that it puts into the row.

        Digits are added as long as before and after read the same, or in the wrong order.
        """
        if level < _MOST_LEVELS:
            start = min(self.decimals + level, max(self.decimals, self._exact_places))
            for places in range(start, self.decimals + _MOST_LEVELS + 1):
                pair = FormattedNumber(self._before_at(places), self._after_at(places))
                value = self._taken(pair.after)
                if self._reads_well(pair, value):
                    return pair, value
        return self._in_full(), self.after

    @cached_property
    def _read_as(self) -> Dtype:
        """The dtype in which the new value is read: that of the rows, unless it must be widened for it."""
        return self.given if _is_same(_held(self.after, self.given), self.after) else _FLOAT64

    @cached_property
    def _exact_places(self) -> int:
        return 0 if np.isnan(self.after) else _places(_shortest(self.after, self._read_as))

    def _after_at(self, places: int) -> str | None:
        return None if np.isnan(self.after) else _fixed(self.after, places, self._read_as)

    def _before_at(self, places: int) -> str | None:
        if np.isnan(self.before):
            return None
        if self.is_exact:
            own = _places(_shortest(round(self.before, self.decimals + _MORE_OF_THE_ROW), self.given))
            places = max(places, min(own, self.decimals + _MORE_OF_THE_ROW))
        return _fixed(self.before, places, self.given)

    def _taken(self, after: str | None) -> float:
        """The value that a text puts into the row."""
        if after is None:
            return np.nan
        return _held(float(after), self._read_as)

    def _reads_well(self, pair: FormattedNumber, value: float) -> bool:
        if pair.before is None or pair.after is None:
            return True
        is_up = self.after > self.before
        before, after = float(pair.before), float(pair.after)
        return (after > before and value > self.before) if is_up else (after < before and value < self.before)

    def _in_full(self) -> FormattedNumber:
        for dtypes in ((self.given, self._read_as), (_FLOAT64, _FLOAT64)):
            before = None if np.isnan(self.before) else digits(self.before, dtypes[0])
            after = None if np.isnan(self.after) else digits(self.after, dtypes[1])
            if before != after:
                break
        return FormattedNumber(before, after)


def _numbers(batch: Batch) -> list[_Number | None]:
    """The numbers among the changes."""
    schema, container, statistics = batch.schema, batch.schema.container, batch.provenance.statistics
    lines, features = batch.steps.row(), batch.steps.feature
    numbers: list[_Number | None] = [None] * len(features)
    for j, position in enumerate(schema.positions(batch.table)):
        here = np.flatnonzero(features == j)
        if schema.columns[j].is_categorical or not len(here):
            continue
        given = container.number_dtype(container.column(batch.table, position))
        if given.kind == "b":  # yes or no
            continue
        decimals, is_exact = statistics.columns[j].decimals, statistics.columns[j].is_exact
        before, after = (each.values[lines[here], j].tolist() for each in (batch.before, batch.after))
        for at, old, new in zip(here.tolist(), before, after, strict=True):
            numbers[at] = _Number(j, old, new, decimals, is_exact, given)
    return numbers


def _first_that_hold(batch: Batch, maker: Maker, of_line: dict[int, list[_Number]]) -> dict[int, int]:
    """For each line the least level at which the model says the same; lines without one are left out.

    Most hold with the digits of their column, and most of the others with one or two more: these are tried first.
    """
    n_levels = {line: max(number.n_levels for number in numbers) for line, numbers in of_line.items()}
    found: dict[int, int] = {}
    for first, end in ((0, 1), (1, 3), (3, _MOST_LEVELS)):
        entries = [
            (line, level) for line in of_line if line not in found for level in range(first, min(end, n_levels[line]))
        ]
        if not entries:
            break
        lines = np.array([line for line, _ in entries], dtype=np.intp)
        values = batch.after.values[lines]
        for at, (line, level) in enumerate(entries):
            for number in of_line[line]:
                values[at, number.feature] = number.formatted(level)[1]
        for (line, level), is_same in zip(entries, _say_the_same(batch, maker, lines, values), strict=True):
            if is_same:
                found.setdefault(line, level)
    return found


def _say_the_same(batch: Batch, maker: Maker, lines: Ints, values: Floats) -> Bools:
    """Whether the model says of values what it says of the counterfactuals of some lines, in whole percent."""
    decided = batch.after.decided[lines]
    is_held, probabilities = maker.holds(batch.rows[lines], values, decided)
    now, then = picked(probabilities, decided), batch.after.probability[lines]
    return is_held & (whole_percent(now) == whole_percent(then))


def _fixed(value: float, places: int, dtype: Dtype = _FLOAT64) -> str:
    """A number with ``places`` decimals; very large and very small ones with all their digits and an exponent.

    >>> _fixed(7.5, 2), _fixed(-0.0001, 1), _fixed(1e-30, 30)
    ('7.50', '0.0', '1e-30')
    """
    if abs(value) >= _LARGEST_IN_DIGITS or places > _MOST_PLACES:
        return _shortest(value, dtype).removesuffix(".0")
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _shortest(value: float, dtype: Dtype) -> str:
    return str(dtype.type(value)) if dtype.kind == "f" and dtype.itemsize < 8 else repr(float(value))


def _places(text: str) -> int:
    """How many decimals a number is written with.

    >>> _places("1.25"), _places("40.0"), _places("1.5e-07"), _places("1e+300")
    (2, 0, 8, 0)
    """
    if "e" in text:
        return max(0, -int(Decimal(text).as_tuple().exponent))
    whole = text.removesuffix(".0")
    return len(whole) - whole.find(".") - 1 if "." in whole else 0


def _held(value: float, dtype: Dtype) -> float:
    """The nearest number that a column of this dtype holds."""
    return value if dtype in (_FLOAT64, _OBJECT) else float(nearest_held(np.array([value]), dtype)[0])


def _is_same(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)
