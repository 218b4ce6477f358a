"""Dates and durations as rules have them, before it is known which column they are for."""

from __future__ import annotations

import datetime as dt
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nicecf.support.formats import shown_duration
from nicecf.tables.temporal import Temporal, is_date_or_duration, iso_date, plain_moment

# A date at its first moment, or a duration.
Moment: TypeAlias = dt.datetime | dt.timedelta


def moment_of(given: Any) -> Moment | None:
    """A date or a duration in one form, of what people write: also of ISO text, and of words such as "30 days".

    None for anything else.

    >>> moment_of("2024-03-01"), moment_of(dt.date(2024, 3, 1)), moment_of("30 days"), moment_of("owned")
    (datetime.datetime(2024, 3, 1, 0, 0), datetime.datetime(2024, 3, 1, 0, 0), datetime.timedelta(days=30), None)
    """
    if isinstance(given, str):
        return _of_text(given)
    if not is_date_or_duration(given):
        return None
    if isinstance(given, np.datetime64 | np.timedelta64):
        given = pd.Timestamp(given) if isinstance(given, np.datetime64) else pd.Timedelta(given)
        if given is pd.NaT:
            return None
    value = plain_moment(given)
    if isinstance(value, dt.datetime | dt.timedelta):
        return value
    return dt.datetime(value.year, value.month, value.day)


def _of_text(text: str) -> Moment | None:
    date = iso_date(text)
    if date is not None:
        return date
    try:
        return dt.timedelta(microseconds=Temporal.duration(text))
    except ValueError:
        return None


def number_of_cell(cell: Any) -> Any:
    """What a cell of a sheet holds: a number that is text, since a date stands elsewhere in its column, as a number."""
    if isinstance(cell, str):
        try:
            return float(cell)
        except ValueError:
            return cell
    return cell


def plain_text(value: Any) -> Any:
    """A value of a rule as text, numbers and so on: dates and durations as text that is read as the same again.

    >>> plain_text(dt.datetime(2024, 3, 1)), plain_text(dt.timedelta(days=-2, hours=-6)), plain_text(20)
    ('2024-03-01', 'minus 2 days 6 hours', 20)
    >>> moment_of("minus 2 days 6 hours") == dt.timedelta(days=-2, hours=-6)
    True
    """
    if isinstance(value, dt.timedelta):
        return shown_duration(value)
    if not isinstance(value, dt.date):
        return value
    if isinstance(value, dt.datetime) and (value.tzinfo is not None or value.time() != dt.time()):
        return value.isoformat(" ", timespec="auto" if value.second or value.microsecond else "minutes")
    return f"{value:%Y-%m-%d}"


def comparable(value: Any, with_: Any) -> Any:
    """A value of a column in the form of a bound of its rule: a bound without a time zone is in that of the column."""
    value = moment_of(value) or value
    if isinstance(value, dt.datetime) and isinstance(with_, dt.datetime) and with_.tzinfo is None:
        return value.replace(tzinfo=None)
    return value
