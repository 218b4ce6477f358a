"""Dates, times and durations: numbers inside, dates outside.

Inside the package such a column is a column of numbers: whole microseconds since 1970-01-01 in UTC, or those that a
duration lasts. Only `tables` knows that; everybody else asks a `Temporal` for the way in and out.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from nicecf.exceptions import SchemaError, plain
from nicecf.support.types import Bools, Floats

TemporalKind: TypeAlias = Literal["datetime", "date", "duration"]
Whole: TypeAlias = npt.NDArray[np.int64]

KINDS: tuple[TemporalKind, ...] = ("datetime", "date", "duration")
DAY = 86_400_000_000
# How many microseconds each unit of a dtype lasts; a nanosecond is less than one.
PER_UNIT = {"D": DAY, "s": 1_000_000, "ms": 1000, "us": 1, "ns": 0}
# What made-up values are multiples of: the first that all training values are multiples of.
UNITS = (DAY, 3_600_000_000, 60_000_000, 1_000_000, 1000, 1)
# What pandas can hold in nanoseconds. What lies beyond is no date, but a sign, such as 9999-12-31 for "no end": as a
# number it would be all there is to the range of its column.
LARGEST = (2**63 - 1) // 1000
_EARLIEST, _LATEST = "1677-09-21", "2262-04-11"
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_ONE_OF = {"datetime": "a date with a time", "date": "a date", "duration": "a duration"}
# "30" would be nanoseconds to pandas.
_NUMBER = re.compile(r"[+-]?[\d.,\s]*")
_WEEKS = re.compile(r"(\d+(?:\.\d+)?)\s*weeks?\b")  # which pandas does not read
# Python takes any sign between date and time, and leaves out digits after the sixth.
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ](?!.*[.,]\d{7}).+)?")


@dataclass(frozen=True)
class Temporal:
    """What the dates or durations of a column are.

    ``zone`` is the name of their time zone, ``tz`` the zone itself. ``unit``: all training values are multiples of so
    many microseconds, and so is what is made up. ``cell`` is the Python type of the cells of an object column.
    """

    kind: TemporalKind
    zone: str | None = None
    unit: int = 1
    cell: str | None = None
    tz: Any = field(default=None, compare=False, repr=False)

    @property
    def words(self) -> str:
        """What its values are, in a message."""
        plural = {"datetime": "dates with times", "date": "dates", "duration": "durations"}[self.kind]
        return f"{plural} in the time zone {self.zone}" if self.zone else plural

    def value(self, number: float) -> dt.datetime | dt.date | dt.timedelta | None:
        """A number as a plain Python value; None if it is missing."""
        if number != number:
            return None
        since = dt.timedelta(microseconds=round(number))
        if self.kind == "duration":
            return since
        if self.kind == "date":
            return (_EPOCH + since).date()
        return _EPOCH + since if self.tz is None else (_EPOCH_UTC + since).astimezone(self.tz)

    def number(self, given: Any) -> float:
        """What people write for a value of the column as a number; ValueError, with what to write, if it is none.

        Dates and times of Python, numpy or pandas, or as ISO text; durations also in words, such as "30 days". A date
        is its first moment. Without a time zone, it is in that of the column.
        """
        given = plain(given) if isinstance(given, np.generic) else given
        if self.kind == "duration":
            return self.duration(given)
        when = _date_of(given)
        if when is None:
            raise ValueError("write a date, such as '2024-03-01' or '2024-03-01 14:30', to the microsecond at most")
        if when.tzinfo is None and self.tz is not None:
            when = pd.Timestamp(when).tz_localize(self.tz, ambiguous=False, nonexistent="shift_forward").to_pydatetime()
        if when.tzinfo is not None and self.tz is None:
            raise ValueError("its column has no time zone; write it without one")
        since = when - (_EPOCH_UTC if when.tzinfo is not None else _EPOCH)
        return _bounded(since // _MICROSECOND)

    @staticmethod
    def duration(given: Any) -> float:
        """What people write for a duration, as a number; ValueError, with what to write, if it is none."""
        given = plain(given) if isinstance(given, np.generic) else given
        if isinstance(given, str) and given.lower().startswith("minus "):  # as texts say it
            return -Temporal.duration(given[len("minus ") :])
        # Without a unit it is none: pandas would read "2024-02" as some nanoseconds.
        if isinstance(given, str) and not _NUMBER.fullmatch(given) and re.search("[A-Za-z:]", given):
            try:
                is_iso = given.startswith(("P", "-P"))
                given = pd.Timedelta(given if is_iso else _WEEKS.sub(_in_days, given.lower()))
            except ValueError:
                raise ValueError("write a duration, such as '30 days' or '1 day 6 hours'") from None
        if not isinstance(given, dt.timedelta) or given is pd.NaT:
            raise ValueError("write a duration, such as '30 days' or '1 day 6 hours'")
        if isinstance(given, pd.Timedelta):
            given = given.to_pytimedelta()
        return _bounded(given // _MICROSECOND)

    @property
    def smallest(self) -> int:
        """What all values that the column can hold are multiples of: whole days, if it holds dates alone."""
        return DAY if self.kind == "date" else 1

    def held(self, values: Floats) -> Floats:
        """The nearest numbers that stand for values that the column can hold."""
        return _multiples(values, self.smallest)

    def rounded(self, values: Floats) -> Floats:
        """The nearest numbers that stand for values like those of the column, such as whole days for dates."""
        return _multiples(values, self.unit)


def _multiples(values: Floats, unit: int) -> Floats:
    most = LARGEST // unit * unit
    return np.clip(np.rint(values / unit) * unit, -most, most) + 0.0


def _in_days(weeks: re.Match[str]) -> str:
    return f"{7 * float(weeks[1])} days"


def _bounded(number: int) -> float:
    if abs(number) > LARGEST:
        raise ValueError(f"it must lie between {_EARLIEST} and {_LATEST}, or last at most 292 years")
    return float(number)


def iso_date(text: str) -> dt.datetime | None:
    """A date as ISO writes it, with or without a time; None if the text is none, or is finer than a microsecond.

    >>> iso_date("2024-03-01 14:05"), iso_date("1 March")
    (datetime.datetime(2024, 3, 1, 14, 5), None)
    """
    try:
        return dt.datetime.fromisoformat(text.strip()) if _ISO.fullmatch(text.strip()) else None
    except ValueError:
        return None


def _date_of(given: Any) -> dt.datetime | None:
    if isinstance(given, str):
        return iso_date(given)
    if given is pd.NaT:
        return None
    if isinstance(given, pd.Timestamp):
        return None if given.nanosecond else given.to_pydatetime()
    if isinstance(given, dt.datetime):
        return given
    return dt.datetime(given.year, given.month, given.day) if isinstance(given, dt.date) else None


def is_date_or_duration(value: object) -> bool:
    """Whether it is a date, a time or a duration of Python, numpy or pandas."""
    return isinstance(value, (dt.date, dt.timedelta, np.datetime64, np.timedelta64)) and value is not pd.NaT


def plain_moment(value: Any) -> Any:
    """A value of a table without the types of pandas: its dates and durations as those of Python, if they hold them.

    >>> plain_moment(pd.Timestamp("2024-03-01")), plain_moment("own")
    (datetime.datetime(2024, 3, 1, 0, 0), 'own')
    """
    if isinstance(value, pd.Timestamp) and not value.nanosecond:
        return value.to_pydatetime()
    if isinstance(value, pd.Timedelta) and not value.nanoseconds:
        return value.to_pytimedelta()
    return value


def numbers_of_units(held: Whole, missing: Bools, unit: str, kind: TemporalKind, name: Hashable) -> Floats:
    """What a dtype holds in units since 1970 as our numbers; SchemaError if they are not the same.

    ``held`` may be anything where ``missing``.
    """
    held = np.where(missing, 0, held)
    if unit == "ns":
        whole, rest = np.divmod(held, 1000)
        if rest.any():
            _refuse_digits(name, int(np.argmax(rest != 0)), kind)
    else:
        outside = np.abs(held) > LARGEST // PER_UNIT[unit]
        if outside.any():
            _refuse_far(name, int(np.argmax(outside)), kind)
        whole = held * PER_UNIT[unit]
    return checked_numbers(whole, missing, kind, name)


def checked_numbers(whole: Whole, missing: Bools, kind: TemporalKind, name: Hashable) -> Floats:
    """Microseconds as floats, missing NaN; SchemaError for those that floats do not hold exactly."""
    numbers = whole.astype(np.float64)
    inexact = numbers.astype(np.int64) != whole
    if inexact.any():
        _refuse_digits(name, int(np.argmax(inexact)), kind)
    numbers[missing] = np.nan
    return numbers


def _refuse_digits(name: Hashable, row: int, kind: TemporalKind) -> None:
    raise SchemaError(
        f"column {name!r} holds {_ONE_OF[kind]} in row {row} with more digits than can be kept exactly: whole "
        "microseconds, or, beyond 285 years around 1970, every second one. Round it as the model's training data were: "
        f"X[{name!r}] = X[{name!r}].dt.round('ms')."
    )


def _refuse_far(name: Hashable, row: int, kind: TemporalKind) -> None:
    allowed = "at most 292 years" if kind == "duration" else f"{_EARLIEST} to {_LATEST}"
    raise SchemaError(
        f"column {name!r} holds {_ONE_OF[kind]} in row {row} that is out of range (allowed: {allowed}). If it means "
        "that there is none, such as 9999-12-31 for 'no end', make it missing, in the model's training data too."
    )


def unit_of(numbers: Floats, smallest: int) -> int:
    """The largest usual unit, at least ``smallest``, that all numbers are multiples of.

    >>> unit_of(np.array([0.0, 3 * 3_600_000_000.0, np.nan]), 1)
    3600000000
    """
    there = numbers[~np.isnan(numbers)]
    return next(unit for unit in UNITS if unit <= max(smallest, 1) or not (there % unit).any())


def whole_numbers(values: Floats) -> tuple[Whole, Bools]:
    """Our numbers as integers, 0 where they are missing, and where that is."""
    missing = np.isnan(values)
    return np.rint(np.where(missing, 0.0, values)).astype(np.int64), missing


# Python cells, of object columns

_CELLS: dict[type, tuple[TemporalKind, str]] = {
    dt.datetime: ("datetime", "datetime"),
    pd.Timestamp: ("datetime", "Timestamp"),
    dt.date: ("date", "date"),
    dt.timedelta: ("duration", "timedelta"),
    pd.Timedelta: ("duration", "Timedelta"),
}
CELL_TYPES = {name: kind for kind, name in _CELLS.values()}


def read_objects(cells: npt.NDArray[np.object_], name: Hashable) -> tuple[Temporal, Floats]:
    """Python dates or durations as numbers, and what they are; SchemaError if they are not all of one sort."""
    missing = pd.isna(cells)
    there = np.flatnonzero(~missing)
    types = {type(cells[at]) for at in there}
    unknown = [one for one in types if one not in _CELLS]
    if unknown or len(types) != 1:
        held = sorted(one.__name__ for one in types)
        raise SchemaError(
            f"column {name!r} holds objects of the type {' and '.join(held)}; dates and durations must all be of one: "
            f"date, datetime, Timestamp, timedelta or Timedelta. Convert it: X[{name!r}] = pd.to_datetime(X[{name!r}])."
        )
    kind, cell = _CELLS[types.pop()]
    tz = _one_zone(cells[there], name) if kind == "datetime" else None
    whole = np.zeros(len(cells), dtype=np.int64)
    for at in there:
        whole[at] = _microseconds(cells[at], kind, name, int(at))
    numbers = checked_numbers(whole, missing, kind, name)
    unit = unit_of(numbers, DAY if kind == "date" else 1)
    return Temporal(kind, None if tz is None else str(tz), unit, cell, tz), numbers


def _one_zone(cells: Any, name: Hashable) -> Any:
    zones = {str(cell.tzinfo): cell.tzinfo for cell in cells}
    if len(zones) > 1:
        raise SchemaError(
            f"column {name!r} mixes time zones ({' and '.join(sorted(zones)[:4])}; None is a time without one). Use "
            f"one for all: X[{name!r}] = pd.to_datetime(X[{name!r}], utc=True)."
        )
    return next(iter(zones.values()))


def _microseconds(cell: Any, kind: TemporalKind, name: Hashable, row: int) -> int:
    if getattr(cell, "nanosecond", 0) or (isinstance(cell, pd.Timedelta) and cell.nanoseconds):
        _refuse_digits(name, row, kind)
    try:
        if kind == "duration":
            whole = (cell.to_pytimedelta() if isinstance(cell, pd.Timedelta) else cell) // _MICROSECOND
        elif kind == "date":
            whole = (cell - _EPOCH.date()) // _MICROSECOND
        else:
            when = cell.to_pydatetime() if isinstance(cell, pd.Timestamp) else cell
            whole = (when - (_EPOCH if when.tzinfo is None else _EPOCH_UTC)) // _MICROSECOND
    except (OverflowError, ValueError):
        _refuse_far(name, row, kind)
    if abs(whole) > LARGEST:
        _refuse_far(name, row, kind)
    return int(whole)


def write_objects(values: Floats, temporal: Temporal, missing: Any) -> npt.NDArray[np.object_]:
    """Numbers as Python cells of the type that the column has."""
    cells = np.full(len(values), missing, dtype=object)
    for at in np.flatnonzero(~np.isnan(values)):
        value: Any = temporal.value(values[at])
        if temporal.cell in ("Timestamp", "Timedelta"):
            value = getattr(pd, temporal.cell)(value)
        cells[at] = value
    return cells


def check_same_sort(now: Temporal | None, was: Temporal, dtype: object, name: Hashable) -> None:
    """SchemaError if a column no longer holds what it held when fit saw it; it says how to convert it."""
    if now is not None and (now.kind, now.zone) == (was.kind, was.zone):
        return
    holds = f"has dtype {dtype}" if now is None else f"holds {now.words}"
    column = f"X[{name!r}]"
    if now is not None and now.kind == was.kind == "datetime":
        if now.zone is None:
            advice = f"{column}.dt.tz_localize({was.zone!r})"
        elif was.zone is None:
            advice = f"{column}.dt.tz_convert(...).dt.tz_localize(None), in the zone of the training data"
        else:
            advice = f"{column}.dt.tz_convert({was.zone!r})"
    elif was.kind == "datetime":
        zone = f".dt.tz_localize({was.zone!r})" if was.zone else ""
        advice = f"pd.to_datetime({column}){zone}"
    else:
        advice = f"pd.to_datetime({column}).dt.date" if was.kind == "date" else f"pd.to_timedelta({column})"
    raise SchemaError(
        f"column {name!r} held {was.words} when fit saw it, but {holds} now. Convert it as it was for the training "
        f"data: {advice}."
    )
