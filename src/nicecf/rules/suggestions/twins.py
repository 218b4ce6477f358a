"""Twins: columns that determine each other one to one, such as a word and its code; and copies."""

from __future__ import annotations

import numpy as np

from nicecf.rules.suggestions.suggestion import Suggestion, suggest_group
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts

_FEWEST_ROWS = 50
# Two rare values fall together by accident sooner than many.
_FEWEST_UNUSUAL = 10


def twins(facts: TableFacts) -> list[Suggestion]:
    """Groups of columns of which each tells all the others, in every row; missing counts as a value.

    Columns with a value of its own in most rows tell each other whatever they mean: at least half of the distinct rows
    must repeat a value, unless the columns are copies. Two columns of two values each are a guess.
    """
    if facts.n_rows < _FEWEST_ROWS:
        return []
    classes: dict[bytes, list[ColumnFacts]] = {}
    for column in facts.columns:
        if column.n_distinct > 1 and column.is_unusual.sum() >= _FEWEST_UNUSUAL:
            # Columns that determine each other have the same codes, as these are given by first occurrence.
            classes.setdefault(column.codes.tobytes(), []).append(column)
    return [one for columns in classes.values() if len(columns) > 1 for one in _suggested(columns, facts)]


def copies(columns: list[ColumnFacts]) -> list[list[ColumnFacts]]:
    """The columns, those together that hold the same numbers in every row."""
    classes: dict[bytes, list[ColumnFacts]] = {}
    for column in columns:
        classes.setdefault((column.values + 0.0).tobytes(), []).append(column)  # + 0.0: -0.0 is 0.0
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
    if n_values > facts.n_distinct_rows / 2:
        # Copies among them are certain all the same.
        same = [one for one in copies([one for one in columns if one.is_number]) if len(one) > 1]
        return [one for group in same for one in _suggested(group, facts)]
    seen = f"each value goes with one value of the other: {n_values:,} pairs in all {facts.n_rows:,} rows"
    return [suggest_group("twins", [one.name for one in columns], is_certain=n_values > 2, seen=seen)]
