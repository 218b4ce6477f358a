"""How numbers are shown: with the decimals of their column, and so that the model's answer stays the same.

A text is meant to be taken literally: with its numbers put into the row, the model gives the decision it names, at the
probability that it names. Most numbers are those of training rows and as short as their column is written. Longer ones
are rounded, and the model is asked whether the rounded ones will do; where not, they get more digits. It is never asked
about a number outside the range of the training rows, which it may not be made for: a small value is not tried as 0.

A column that follows from others is what follows from them as they are shown. It is rounded too, as its column is
written, but never moved: the model must say the same of what follows and of what is shown for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from nicecf.exceptions import NicecfError
from nicecf.results.batch import Batch, picked
from nicecf.results.provenance import Maker
from nicecf.support.formats import padded
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.cells import nearest_held
from nicecf.tables.schema import differs
from nicecf.tables.seen import OUTSIDE, new_values
from nicecf.views.words.line import lines_of

# How many more digits than those of the column are tried, before all of them are shown.
_MOST_LEVELS = 16
# How many more the row itself may show where all training values are shorter: its own value is not an approximation.
_MORE_OF_THE_ROW = 6
# Beyond these, numbers are written with an exponent.
_MOST_PLACES, _LARGEST_IN_DIGITS = 20, 1e16

Dtype: TypeAlias = np.dtype[Any]
# The changed numbers of a row, by feature.
Shown: TypeAlias = "dict[int, FormattedNumber]"
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
    of_line: dict[int, list[_Number]] = {line: [] for line in long}
    for line, number in zip(lines, numbers, strict=True):
        if number is not None and line in long:
            of_line[line].append(number)
    shown = {line: {one.feature: one.formatted(_MOST_LEVELS)[0] for one in those} for line, those in of_line.items()}
    if ask and long and batch.provenance.maker is not None:
        try:
            for line, found in _first_that_hold(batch, batch.provenance.maker, of_line):
                shown[line] = found
        except NicecfError as error:  # A text is true without it, and must not cost the answers.
            warnings.warn(f"numbers in texts are not rounded as far as they could be: {error}", stacklevel=2)
    return [
        None if number is None else shown[line][number.feature] if line in long else number.formatted(0)[0]
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
    dtype of the column in the rows explained. ``low`` and ``high``: the range of the training rows, which a number is
    not rounded out of; NaN where that is not known.
    """

    feature: int
    before: float
    after: float
    decimals: int
    is_exact: bool
    given: Dtype
    low: float = np.nan
    high: float = np.nan

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
        if np.isnan(self.after):
            return None
        text = _fixed(self.after, places, self._read_as)
        outwards = int(float(text) > self.high >= self.after) - int(float(text) < self.low <= self.after)
        return _fixed(self.after - outwards * 10.0**-places, places, self._read_as) if outwards else text

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
            before = None if np.isnan(self.before) else padded(digits(self.before, dtypes[0]), self.decimals)
            after = None if np.isnan(self.after) else padded(digits(self.after, dtypes[1]), self.decimals)
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
        # Dates are as short as they are: rounded, they would be others.
        if schema.columns[j].is_categorical or schema.columns[j].temporal is not None or not len(here):
            continue
        given = container.number_dtype(container.column(batch.table, position))
        if given.kind == "b":  # yes or no
            continue
        decimals, is_exact = statistics.columns[j].decimals, statistics.columns[j].is_exact
        low, high = (np.nan, np.nan) if statistics.seen is None else (statistics.seen[j].low, statistics.seen[j].high)
        before, after = (each.values[lines[here], j].tolist() for each in (batch.before, batch.after))
        for at, old, new in zip(here.tolist(), before, after, strict=True):
            numbers[at] = _Number(j, old, new, decimals, is_exact, given, low, high)
    return numbers


def _first_that_hold(batch: Batch, maker: Maker, of_line: dict[int, list[_Number]]) -> Iterator[tuple[int, Shown]]:
    """Find the numbers of each line at the least level at which the model says the same, where there is one.

    Most hold with the digits of their column, and most of the others with one or two more: these are tried first.
    """
    n_levels = {line: max(number.n_levels for number in numbers) for line, numbers in of_line.items()}
    found: set[int] = set()
    for first, end in ((0, 1), (1, 3), (3, _MOST_LEVELS)):
        entries = [
            (line, level) for line in of_line if line not in found for level in range(first, min(end, n_levels[line]))
        ]
        if not entries:
            break
        lines = np.array([line for line, _ in entries], dtype=np.intp)
        tried = [(of_line[line], level) for line, level in entries]
        shown, values, as_shown, is_same = _tried(batch, maker, lines, tried)
        is_same &= _change_alike(batch, lines, values)
        is_same &= _are_in_range(batch, lines, values) & _are_in_range(batch, lines, as_shown)
        for check in (_say_the_same, _taken_literally):
            is_same[is_same] &= check(batch, maker, lines[is_same], values[is_same], as_shown[is_same])
        for at in np.flatnonzero(is_same).tolist():
            if entries[at][0] not in found:
                found.add(entries[at][0])
                yield entries[at][0], shown[at]


def _are_in_range(batch: Batch, lines: Ints, values: Floats) -> Bools:
    """Return whether the numbers that differ from the counterfactuals of some lines lie where training rows do."""
    is_outside = new_values(values, batch.schema, batch.provenance.statistics.seen) == OUTSIDE
    return np.asarray(~(is_outside & differs(batch.after.values[lines], values)).any(axis=1))


def _tried(
    batch: Batch, maker: Maker, lines: Ints, tried: Sequence[tuple[Sequence[_Number], int]]
) -> tuple[list[Shown], Floats, Floats, Bools]:
    """Return the numbers of some lines, each at a level: as they are shown, the rows that they make, these as shown.

    In the rows, what follows from other columns is computed from these as they are shown; the two differ where that
    has more digits than it is shown with. Last, whether the numbers lie in the range of training: where not, nothing
    is computed from them.
    """
    shown: list[Shown] = [{} for _ in tried]
    values = batch.after.values[lines]
    for at, (numbers, level) in enumerate(tried):
        for one in numbers:
            if not batch.is_derived[one.feature]:
                shown[at][one.feature], values[at, one.feature] = one.formatted(level)
    is_in_range = _are_in_range(batch, lines, values)
    values[~is_in_range] = batch.after.values[lines[~is_in_range]]
    values = maker.completed(values) if batch.is_derived.any() else values
    as_shown = values.copy()
    for at, (numbers, level) in enumerate(tried):
        for one in numbers:
            if batch.is_derived[one.feature]:
                follows = replace(one, after=float(values[at, one.feature]))
                shown[at][one.feature], as_shown[at, one.feature] = follows.formatted(level)
    return shown, values, as_shown, is_in_range


def _change_alike(batch: Batch, lines: Ints, values: Floats) -> Bools:
    """Whether the same columns change in values as in the counterfactuals of some lines, categories to the same values.

    So do dates. What follows from rounded numbers may stay as it is where it would have changed, or the other way
    round.
    """
    before, after = batch.before.values[lines], batch.after.values[lines]
    is_other = differs(before, after) != differs(before, values)
    is_exact = batch.schema.is_categorical | np.array([one.temporal is not None for one in batch.schema.columns])
    is_other |= is_exact & differs(after, values)
    return np.asarray(~is_other.any(axis=1))


def _say_the_same(batch: Batch, maker: Maker, lines: Ints, values: Floats, _: Floats) -> Bools:
    """Return whether the model says of values what it says of the counterfactuals of some lines, as texts show it."""
    if not len(lines):
        return np.zeros(0, dtype=bool)
    decided = batch.after.decided[lines]
    is_held, probabilities = maker.holds(batch.rows[lines], values, decided)
    return is_held & _are_as_probable(batch, lines, probabilities)


def _taken_literally(batch: Batch, maker: Maker, lines: Ints, values: Floats, as_shown: Floats) -> Bools:
    """The same of rows as they are shown, where they are not the values: what follows from others was rounded."""
    is_same = np.ones(len(lines), dtype=bool)
    some = np.flatnonzero(differs(values, as_shown).any(axis=1))
    if len(some):
        panel, decided = maker.panel, batch.after.decided[lines[some]]
        outputs = panel.outputs(batch.schema.decode(as_shown[some]), len(some))
        is_accepted = panel.accepts(outputs, np.eye(len(panel.classes), dtype=bool)[decided])
        is_same[some] = is_accepted & _are_as_probable(batch, lines[some], panel.probabilities(outputs))
    return is_same


def _are_as_probable(batch: Batch, lines: Ints, probabilities: Floats) -> Bools:
    """Whether the decisions on the counterfactuals of some lines are as probable as these were, as a text shows it."""
    of_lines, target, then = lines_of(batch), batch.target, batch.after.probabilities[lines]
    if of_lines is not None:
        texts = [of_lines.after(lines, one) for one in (probabilities, then)]
    else:
        assert target is not None  # Without lines, the model gives scores.
        texts = [
            [target.text(score) for score in picked(one, batch.after.decided[lines]).tolist()]
            for one in (probabilities, then)
        ]
    return np.array([now == before for now, before in zip(*texts, strict=True)], dtype=bool)


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
