"""A part of a table in few of its rows: with those of all parts, a schema is read as from the whole table."""

from __future__ import annotations

import numpy as np

from nicecf.support.types import Floats, Ints
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema


def representatives(values: Floats, schema: Schema, *, n_spread: int, most_levels: int) -> Ints:
    """Rows of a part, ascending: of each column the first with each level, the smallest and the largest number.

    Also the first without a value, and ``n_spread`` rows that are spread evenly. Of the levels of a column, those that
    come first, ``most_levels``: in free text, hardly two cells are alike. What stands in the order of the rows,
    such as which level comes first, does so for all parts too, if their rows are in the order of the parts.
    """
    chosen = [np.linspace(0, len(values) - 1, min(n_spread, len(values))).astype(np.intp)]
    for j, column in enumerate(schema.columns):
        has_levels = column.is_categorical and not column.is_ordinal
        chosen.append(first_of_each(codes_of(values[:, j]), most_levels) if has_levels else _ends(values[:, j]))
    return np.unique(np.concatenate(chosen))


def first_of_each(codes: Ints, most: int) -> Ints:
    """The first row with each code: of those that come first, so many, and the one for a missing value."""
    levels, first = np.unique(codes, return_index=True)
    is_level = levels >= 0
    return np.concatenate([first[~is_level], np.sort(first[is_level])[:most]])


def counted(values: Floats, schema: Schema) -> tuple[Ints, Ints]:
    """Of each column how many cells of a part hold a value, and of those with levels how many of these it holds."""
    n_values, n_levels = np.zeros(len(schema.columns), np.int64), np.zeros(len(schema.columns), np.int64)
    for j, column in enumerate(schema.columns):
        codes = codes_of(values[:, j]) if column.is_categorical else np.where(np.isnan(values[:, j]), -1, 0)
        n_values[j] = np.count_nonzero(codes >= 0)
        n_levels[j] = len(np.unique(codes[codes >= 0])) if column.is_categorical else 0
    return n_values, n_levels


def _ends(column: Floats) -> Ints:
    """The first row with the smallest number, with the largest, and without any."""
    missing = np.flatnonzero(np.isnan(column))[:1]
    if len(column) == 0 or np.isnan(column).all():
        return missing
    return np.concatenate([missing, [np.nanargmin(column), np.nanargmax(column)]])
