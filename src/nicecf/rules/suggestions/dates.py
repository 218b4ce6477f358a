"""What follows from dates: how long it is from one to another, and the year, month or weekday of a date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
# Pairs of dates grow by the square of these.
_MOST_DATES, _MOST_NUMBERS = 12, 60
_MICROSECONDS = {"1 day": 86_400e6, "7 days": 7 * 86_400e6, "1 hour": 3_600e6, "1 minute": 60e6}
_PARTS = ("year", "quarter", "month", "day", "day_of_week", "hour")


def durations(facts: TableFacts) -> list[Suggestion]:
    """Return each column that is, in every row, the time from one date to another: as a duration, or in a unit."""
    dates = _dates(facts)[:_MOST_DATES]
    others = [one for one in facts.columns if one.is_number and not one.is_binary and one.temporal in (None, "duration")]
    rows = spread(facts.n_rows, _SCREENED_ROWS)
    pairs = [pair for pair in permutations(dates, 2) if pair[0].temporal == pair[1].temporal]
    found = []
    for column in others[:_MOST_NUMBERS]:
        if facts.n_rows < _FEWEST_ROWS or not column.has_values(_FEWEST_VALUES):
            continue
        for end, start in pairs:
            unit = _unit(column, end.values[rows] - start.values[rows], column.values[rows])
            if unit is not None and _is_duration(column, end.values - start.values, column.values, unit):
                found.append(_suggested(column, end, start, unit))
                break
    return found


def _dates(facts: TableFacts) -> list[ColumnFacts]:
    return [one for one in facts.columns if one.temporal is not None and one.temporal != "duration"]


def _unit(column: ColumnFacts, lasted: Floats, values: Floats) -> str | None:
    """Return the unit in which some durations are these values; empty for a column of durations."""
    units: Sequence[str] = [""] if column.temporal is not None else list(_MICROSECONDS)
    return next((unit for unit in units if _is_duration(column, lasted, values, unit)), None)


def _is_duration(column: ColumnFacts, lasted: Floats, values: Floats, unit: str) -> bool:
    use = ~np.isnan(lasted) & ~np.isnan(values)
    tolerance = 0.0 if not unit or column.decimals == 0 else 0.5 * 10.0 ** -(column.decimals or 9) + 1e-9
    errors = np.abs(lasted[use] / _MICROSECONDS.get(unit, 1.0) - values[use])
    return bool(2 * use.sum() > len(use) and (errors <= tolerance).all())


def _suggested(column: ColumnFacts, end: ColumnFacts, start: ColumnFacts, unit: str) -> Suggestion:
    text = f"{in_expression(end.name)} - {in_expression(start.name)}"
    if unit:
        text = f'({text}) / "{unit}"'
    if unit and column.decimals:
        text = f"round({text}, {column.decimals})"
    n_rows = int((column.is_present & end.is_present & start.is_present).sum())
    seen = f"equal in all {n_rows:,} rows with these values"
    features = (column.name, end.name, start.name)
    toml = f"{key(column.name)} = {quoted(text)}"
    return suggest("derived", "derived", features, toml, is_certain=True, seen=seen)


def calendar_groups(facts: TableFacts) -> list[Suggestion]:
    """Return each date with the columns that go one to one with its year, month, weekday and so on, in every row.

    No expression computes them, but as a group they all come from the same training row.
    """
    found = []
    for date in _dates(facts) if facts.n_rows >= _FEWEST_ROWS else []:
        parts = {part.codes.tobytes(): name for name, part in _parts(date).items()}
        of_column = {
            column.name: parts[codes]
            for column in facts.columns
            if column is not date and column.n_distinct > 2 and (codes := column.codes.tobytes()) in parts
        }
        if of_column:
            found.append(_group(date, of_column, facts.n_rows))
    return found


def _group(date: ColumnFacts, of_column: Mapping[object, str], n_rows: int) -> Suggestion:
    features = (date.name, *of_column)
    toml = f"[{', '.join(named(one) for one in features)}]"
    which = ", ".join(dict.fromkeys(of_column.values())).replace("day_of_week", "weekday")
    seen = f"the {which} of the date in all {n_rows:,} rows"
    return suggest("calendar", "groups", features, toml, is_certain=True, seen=seen)


def _parts(date: ColumnFacts) -> dict[str, ColumnFacts]:
    """Return the year, month and so on of a date, in its time zone; a part that is the same in all rows tells nothing."""
    moments = pd.to_datetime(pd.Series(date.values), unit="us", utc=True).dt.tz_convert(date.zone)
    parts = {part: getattr(moments.dt, part).to_numpy(dtype=np.float64) for part in _PARTS}
    facts = {part: replace(date, values=values) for part, values in parts.items()}
    return {part: one for part, one in facts.items() if one.n_distinct > 2}
