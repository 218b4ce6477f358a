"""A training table that comes in parts, so that it need not fit in memory: read once, into a file of floats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nicecf.exceptions import SchemaError
from nicecf.support.mapped import array_in_file
from nicecf.support.types import Floats, Ints, Table
from nicecf.tables.column import Column, looks_like_free_text
from nicecf.tables.ordered import Ordinal, codes_of
from nicecf.tables.schema import Schema


class TableInParts(ABC):
    """A table in parts, in the order of its rows, that can be gone through more than once."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows all parts have."""

    @abstractmethod
    def like(self) -> Table:
        """A few rows by which the columns are known: of each a cell that is not missing, if it has one."""

    @abstractmethod
    def __iter__(self) -> Iterator[Table]:
        """The parts, each a table with the columns and dtypes of `like`."""


@dataclass(frozen=True, eq=False)
class SketchedTable:
    """Rows of a table that is not here, which hold all that a schema says of it: see `representatives`.

    ``n_values``: of each column, how many cells of the whole table hold a value; ``n_levels``: how many unlike
    ones there are at most, where ``rows`` may not have them all, else 0.
    """

    rows: Table
    n_values: Ints
    n_levels: Ints


def read_training(
    X: Table | TableInParts | SketchedTable, categorical_features: Any, ordinal: Ordinal
) -> tuple[Schema, Floats]:
    """The schema of a training table, whole or in parts, and its rows as floats: in a file, if it comes in parts.

    What is read is what the whole table would give, however it is cut into parts.
    """
    if isinstance(X, SketchedTable):
        return _read_sketched(X, categorical_features, ordinal)
    if not isinstance(X, TableInParts):
        return Schema.of(X, categorical_features, ordinal)
    schema, _ = Schema.of(X.like(), categorical_features, ordinal)
    schema = replace(schema, columns=tuple(_before_any_row(column, schema) for column in schema.columns))
    rows = array_in_file((X.n_rows, len(schema.columns)))
    at = 0
    for part in X:
        values, schema = schema.encode(part)
        if at + len(values) > len(rows):
            raise _changed(X)
        rows[at : at + len(values)] = values
        at += len(values)
    if at < len(rows):
        raise _changed(X)
    columns = (_as_of_all(column, rows[:, j]) for j, column in enumerate(schema.columns))
    return replace(schema, columns=tuple(columns)), rows


def _read_sketched(X: SketchedTable, categorical_features: Any, ordinal: Ordinal) -> tuple[Schema, Floats]:
    """The schema of the whole table, and the rows that are here."""
    schema, values = Schema.of(X.rows, categorical_features, ordinal)
    columns = [
        replace(
            column,
            is_free_text=column.is_categorical
            and not column.is_ordinal
            and looks_like_free_text(column.levels, int(X.n_values[j]), int(X.n_levels[j]) or None),
        )
        for j, column in enumerate(schema.columns)
    ]
    return replace(schema, columns=tuple(columns)), values


def _before_any_row(column: Column, schema: Schema) -> Column:
    """A column with the categories of its dtype, if that has any: others come in the order of the rows."""
    if not column.is_categorical or column.is_ordinal:
        return column
    levels = schema.container.factorize(column.prototype, column.name)[1]
    native = schema.container.native_levels(levels, column.prototype)
    return replace(column, levels=tuple(levels), native_levels=native)


def _as_of_all(column: Column, cells: Floats) -> Column:
    """A column that grew part by part, as it is by all its cells."""
    if not column.is_categorical:
        return column
    n_missing = int(np.count_nonzero(codes_of(cells) < 0))
    is_free_text = not column.is_ordinal and looks_like_free_text(column.levels, len(cells) - n_missing)
    return replace(column, has_missing=n_missing > 0, is_free_text=is_free_text)


def _changed(X: TableInParts) -> SchemaError:
    return SchemaError(
        f"the training table has another number of rows than the {X.n_rows:,} that it had a moment ago: it changes "
        "while it is read. Fit on files that nobody writes to."
    )
