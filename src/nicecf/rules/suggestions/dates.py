"""What follows from dates: how long it is from one to another, and the year, month or weekday of a date."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd

from nicecf.rules.suggestions.suggestion import Suggestion, in_expression, key, named, quoted, suggest
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts, spread
from nicecf.support.types import Floats

_FEWEST_ROWS = 100
_FEWEST_VALUES = 20
_SCREENED_ROWS = 64
# What is tried grows by the square of the first, times the second.
_MOST_DATES, _MOST_OTHERS = 12, 60
_MICROSECONDS = {"1 day": 86_400e6, "7 days": 7 * 86_400e6, "1 hour": 3_600e6, "1 minute": 60e6}
_PARTS = ("year", "quarter", "month", "day", "day_of_week", "hour")


def durations(facts: TableFacts) -> list[Suggestion]:
    """Return each column that is the time from one date to another in every row: as a duration, or in a unit."""
    pairs = [pair for pair in permutations(facts.dates[:_MOST_DATES], 2) if pair[0].temporal == pair[1].temporal]
    others = [one for one in facts.columns if one.is_number and one.temporal in (None, "duration")]
    rows = spread(facts.n_rows, _SCREENED_ROWS)
    found = []
    for column in others[:_MOST_OTHERS] if pairs and facts.n_rows >= _FEWEST_ROWS else []:
        ways = (
            (end, start, unit)
            for end, start in pairs
            for unit in ([""] if column.temporal else _MICROSECONDS)
            if _is_duration(column, column.values[rows], end.values[rows] - start.values[rows], unit)
            and _is_duration(column, column.values, end.values - start.values, unit)
        )
        way = next(ways, None) if column.has_values(_FEWEST_VALUES) else None
        if way is not None:
            found.append(_duration(column, *way))
    return found


def _is_duration(column: ColumnFacts, values: Floats, lasted: Floats, unit: str) -> bool:
    """Return whether values are durations in a unit, in all rows that have both; most rows must."""
    tolerance = 0.5 * 10.0**-column.decimals + 1e-9 if column.decimals and unit else 1e-9
    errors = np.abs(lasted / _MICROSECONDS.get(unit, 1.0) - values)
    return bool(2 * np.isnan(errors).sum() < len(errors) and not (errors > tolerance).any())


def _duration(column: ColumnFacts, end: ColumnFacts, start: ColumnFacts, unit: str) -> Suggestion:
    text = f"{in_expression(end.name)} - {in_expression(start.name)}"
    text = f'({text}) / "{unit}"' if unit else text
    text = f"round({text}, {column.decimals})" if unit and column.decimals else text
    n_rows = int((column.is_present & end.is_present & start.is_present).sum())
    toml, seen = f"{key(column.name)} = {quoted(text)}", f"equal in all {n_rows:,} rows with these values"
    return suggest("derived", "derived", (column.name, end.name, start.name), toml, is_certain=True, seen=seen)


def calendar_groups(facts: TableFacts) -> list[Suggestion]:
    """Return each date with the columns that go one to one with its year, month, weekday and so on, in every row.

    No expression computes them; as a group they all come from the same training row.
    """
    found = []
    for date in facts.dates if facts.n_rows >= _FEWEST_ROWS else []:
        parts = _parts(date)
        others = [one for one in facts.columns if one is not date and one.codes.tobytes() in parts]
        if others:
            features = [date.name, *(one.name for one in others)]
            toml = f"[{', '.join(named(one) for one in features)}]"
            which = ", ".join(dict.fromkeys(parts[one.codes.tobytes()] for one in others))
            seen = f"the {which} of the date in all {facts.n_rows:,} rows"
            found.append(suggest("calendar", "groups", features, toml, is_certain=True, seen=seen))
    return found


def _parts(date: ColumnFacts) -> dict[bytes, str]:
    """Return the codes of the year, month and so on of a date, in its time zone; of three values or more, to tell."""
    moments = pd.to_datetime(pd.Series(date.values), unit="us", utc=True, errors="coerce").dt.tz_convert(date.zone).dt
    columns = {part: replace(date, values=getattr(moments, part).to_numpy(np.float64)) for part in _PARTS}
    return {one.codes.tobytes(): part.replace("_", " ") for part, one in columns.items() if one.n_distinct > 2}
