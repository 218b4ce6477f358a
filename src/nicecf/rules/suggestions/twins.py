"""Twins: columns that determine each other one to one, such as a word and its code; and copies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nicecf.rules.suggestions.suggestion import Suggestion, suggest_group
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts, spread
from nicecf.support.types import Ints

_FEWEST_ROWS = 50
# Two rare values fall together by accident sooner than many.
_FEWEST_UNUSUAL = 10
# Rows that are looked at first. If half of all rows repeated a value, so many pairs of these would be equal.
_SCREENED_ROWS = 1000
_PAIRS_EXPECTED = 20


def twins(facts: TableFacts) -> list[Suggestion]:
    """Groups of columns of which each tells all the others, in every row; missing counts as a value.

    Columns with a value of its own in most rows tell each other whatever they mean: of the rows that do not hold the
    most common value, and differ from each other, at least half must repeat a value, unless the columns are copies.
    Two columns of two values each are a guess.
    """
    if facts.n_rows < _FEWEST_ROWS:
        return []
    classes: dict[bytes, list[ColumnFacts]] = {}
    for column in _screened(facts):
        if column.n_distinct > 1 and column.is_unusual.sum() >= _FEWEST_UNUSUAL:
            # Columns that determine each other have the same codes, as these are given by first occurrence.
            classes.setdefault(column.codes.tobytes(), []).append(column)
    return [one for columns in classes.values() if len(columns) > 1 for one in _suggested(columns, facts)]


def _screened(facts: TableFacts) -> list[ColumnFacts]:
    """The columns that some other one may determine, by some of the rows: few are left of most tables."""
    rows = spread(facts.n_rows, max(_SCREENED_ROWS, math.isqrt(_PAIRS_EXPECTED * facts.n_rows)))
    classes: dict[bytes, list[int]] = {}
    for j, column in enumerate(facts.columns):
        classes.setdefault(_as_seen(column, rows), []).append(j)
    left = sorted(j for columns in classes.values() if len(columns) > 1 for j in columns)
    return [facts.columns[j] for j in left]


def _as_seen(column: ColumnFacts, rows: Ints) -> bytes:
    """What columns that determine each other have in common in some rows; where no value repeats, only copies do."""
    some = replace(column, values=column.values[rows])
    is_unique = int(some.codes[-1]) == len(rows) - 1 and len(rows) >= _SCREENED_ROWS
    return some.as_bytes() if is_unique else some.codes.tobytes()


def _copies(columns: Iterable[ColumnFacts]) -> list[list[ColumnFacts]]:
    """The columns, those together that hold the same numbers in every row."""
    classes: dict[bytes, list[ColumnFacts]] = {}
    for column in columns:
        classes.setdefault(column.as_bytes(), []).append(column)
    return list(classes.values())


def _suggested(columns: list[ColumnFacts], facts: TableFacts) -> list[Suggestion]:
    n_values = int(columns[0].codes.max()) + 1
    if all(np.array_equal(columns[0].values, one.values, equal_nan=True) for one in columns) and all(
        one.is_number == columns[0].is_number and one.levels == columns[0].levels for one in columns
    ):
        seen = f"the same in all {facts.n_rows:,} rows"
        return [suggest_group("twins", [one.name for one in columns], is_certain=True, seen=seen)]
    if n_values == 2 and all(one.is_binary for one in columns):
        return []  # a column and its opposite: a one-hot group
    if not _repeats(columns[0], facts):
        # Copies among them are certain all the same.
        same = [one for one in _copies([one for one in columns if one.is_number]) if len(one) > 1]
        return [one for group in same for one in _suggested(group, facts)]
    seen = f"each value goes with one value of the other: {n_values:,} pairs in all {facts.n_rows:,} rows"
    return [suggest_group("twins", [one.name for one in columns], is_certain=n_values > 2, seen=seen)]


def _repeats(column: ColumnFacts, facts: TableFacts) -> bool:
    """Whether at least half of the rows repeat a value: those that hold neither the most common one nor none."""
    n_values = len(np.unique(column.codes[column.is_unusual]))
    if 2 * n_values > column.is_unusual.sum():
        return False
    return facts.has_distinct_rows(2 * n_values, column.is_unusual)
