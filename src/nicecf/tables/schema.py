"""What the columns are: kinds and categories; tables <-> float rows.

Inside the package a table is one float matrix: numbers as they are (missing: NaN), dates and durations as numbers
(`temporal`), categories as codes (missing: -1), ordered ones as ranks (missing: NaN). Only this file and the model
adapter know what the table looked like.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from nicecf.exceptions import SchemaError
from nicecf.support.types import Bools, Cells, Floats, Ints, Table
from nicecf.tables import Container, container_of
from nicecf.tables.cells import nearest_held
from nicecf.tables.column import Column, fit_categories, fit_moments, read_categories, read_moments
from nicecf.tables.numpy_arrays import NumpyArrays
from nicecf.tables.ordered import Ordinal, codes_of, fit_ranks, read_ranks
from nicecf.tables.requirements import (
    all_finite,
    check_none_chosen,
    check_shape,
    check_still_numeric,
    chosen_as_categories,
    difference_in_columns,
    finite,
    position_of,
)

# Squares and sums of larger numbers overflow.
_LARGEST_NUMBER = 1e150


def differs(rows: Floats, others: Floats) -> Bools:
    """Where two encoded arrays hold different values; two missing values do not differ.

    >>> differs(np.array([1.0, np.nan, 2.0]), np.array([1.0, np.nan, np.nan])).tolist()
    [False, False, True]
    """
    return (rows != others) & ~(np.isnan(rows) & np.isnan(others))


def with_own_cells(rows: Floats, values: Floats) -> tuple[Floats, Bools]:
    """Values for paired rows in which every cell that does not differ is the row's own, and whose line that changes.

    0.0 and -0.0 are equal, yet a model may tell them apart: what it is asked about must be what is handed out.

    >>> values, is_changed = with_own_cells(np.array([[-0.0, 1.0]]), np.array([[0.0, 2.0]]))
    >>> values.tolist(), is_changed.tolist()
    ([[-0.0, 2.0]], [True])
    """
    is_other = (rows == values) & (np.signbit(rows) != np.signbit(values))
    if not is_other.any():
        return values, np.zeros(len(values), dtype=bool)
    return np.where(is_other, rows, values), np.asarray(is_other.any(axis=1))


@dataclass(frozen=True, eq=False)
class Schema:
    """What the columns of a table are, and the way between that table and float rows."""

    container: Container
    columns: tuple[Column, ...]
    empty: Table = field(repr=False)

    @classmethod
    def of(cls, X: Table, categorical_features: Any = "auto", ordinal: Ordinal = "rank") -> tuple[Schema, Floats]:
        """Read the schema from the training table, and the table as float rows.

        ``categorical_features``: "auto" takes the text, category and bool columns of a frame and none of an
        array, and dates and durations are numbers; a list of names or positions, or a mask, takes exactly those.
        ``ordinal``: whether those of an ordered dtype are read by their order.
        """
        container = container_of(X)
        names = container.names(X)
        check_shape(container.n_rows(X), names)
        chosen = chosen_as_categories(categorical_features, names)
        columns: list[Column] = []
        numbers = container.read_all(X, names)
        if numbers is not None:
            check_none_chosen(chosen, names, container.label)
            prototype = container.prototype(np.empty(0, dtype=X.dtype))
            columns = [Column(name, False, prototype) for name in names]
            return cls(container, tuple(columns), container.rows(X, slice(0, 0))), all_finite(numbers, names)
        values = np.empty((container.n_rows(X), len(names)), order="F")
        for position, name in enumerate(names):
            cells = container.column(X, position)
            kind = container.kind(cells, name)
            if chosen is None and kind == "numbers as objects":
                raise SchemaError(
                    f"column {name!r} has dtype object but holds only numbers, so it could be meant as numeric or as "
                    f"categorical. Convert it (X[{name!r}] = X[{name!r}].astype(float), or X.infer_objects() for all "
                    "columns), or name the categorical columns in categorical_features."
                )
            if chosen[position] if chosen is not None else kind == "category":
                by_rank = fit_ranks(container, cells, name) if ordinal == "rank" else None
                column, values[:, position] = by_rank or fit_categories(container, cells, name)
            elif kind == "temporal":
                column, values[:, position] = fit_moments(container, cells, name)
            else:
                values[:, position] = finite(container.numbers(cells, name), name)
                column = Column(name, False, container.prototype(cells))
            columns.append(column)
        return cls(container, tuple(columns), container.rows(X, slice(0, 0))), values

    @cached_property
    def names(self) -> list[Hashable]:
        """Column names in the order of ``fit``."""
        return [column.name for column in self.columns]

    @cached_property
    def is_categorical(self) -> Bools:
        """Which columns are categorical, ordered or not: they have levels."""
        return np.array([column.is_categorical for column in self.columns])

    @cached_property
    def is_ordinal(self) -> Bools:
        """Which columns are categories that are encoded by their rank."""
        return np.array([column.is_ordinal for column in self.columns])

    @property
    def by_equality(self) -> Bools:
        """Which columns a distance compares by equality alone: categories without an order."""
        return self.is_categorical & ~self.is_ordinal

    @property
    def n_steps(self) -> Floats:
        """Of each column with levels how many steps there are from the first to the last; 0 for others."""
        return np.array([max(0, len(column.levels) - 1) for column in self.columns], dtype=np.float64)

    @property
    def full(self) -> Schema:
        """All columns of the table: this schema itself, unless some are left out (see `reduced`)."""
        return self

    def expand(self, rows: Floats) -> Floats:
        """Rows with all columns of the table."""
        return rows

    def reduce(self, rows: Floats, full: Schema) -> tuple[Floats, Schema]:
        """Rows of the whole table, encoded by ``full``, as rows of this schema, and it with what is new to them."""
        return rows, full

    def reduced_cells(self, cells: Ints) -> Ints:
        """Which values a model cannot tell apart, of the whole table -> of this schema."""
        return cells

    def moving(self, position: int) -> int:
        """The column of this schema that a column of the whole table moves with; -1 if it is computed."""
        return position

    def reduced_weights(self, weights: Floats | None) -> Floats | None:
        """Weights of the columns of the whole table -> of this schema."""
        return weights

    def with_common(self, common: Sequence[Floats]) -> Schema:
        """The same columns, of which only some values may be used and told."""
        columns = (replace(column, common=held) for column, held in zip(self.columns, common, strict=True))
        return replace(self, columns=tuple(columns))

    def for_distances(self) -> Schema:
        """The same, with no more than distances between rows need."""
        return self

    def spread(self, parts: Floats, rows: Floats, others: Floats) -> Floats:
        """A number for each column of this schema -> for those of the whole table that differ between paired rows."""
        return parts

    @cached_property
    def is_computed(self) -> Bools:
        """Which columns of the whole table follow from others."""
        return np.zeros(len(self.columns), dtype=bool)

    def known(self, rows: Floats) -> tuple[Floats, Bools]:
        """Rows of the whole table as rows of this schema, and which of them it knows all of."""
        return rows, np.ones(len(rows), dtype=bool)

    def n_changes(self, rows: Floats, others: Floats) -> Ints:
        """How many changes there are between rows of the whole table."""
        return np.asarray(differs(rows, others).sum(axis=1))

    def position(self, feature: object, option: str) -> int:
        """The position of a feature that an option names or counts; raises OptionError if it does not exist."""
        return position_of(feature, self.names, option)

    def encode(self, X: Table) -> tuple[Floats, Schema]:
        """Rows to explain as floats, and this schema extended by the categories that training never saw."""
        positions = self.positions(X)
        numbers = self.container.read_all(X, self.names)
        if numbers is not None:
            return np.ascontiguousarray(all_finite(numbers, self.names)), self
        values = np.empty((self.container.n_rows(X), len(self.columns)))
        # Taking single columns out of a frame takes longer than all the rest.
        is_read = self._read_plain(X, positions, values)
        columns = []
        for j, (column, position) in enumerate(zip(self.columns, positions, strict=True)):
            if is_read[j]:
                columns.append(column)
                continue
            cells = self.container.column(X, position)
            if column.is_ordinal:
                values[:, j] = read_ranks(self.container, cells, column)
            elif column.is_categorical:
                column, values[:, j] = read_categories(self.container, cells, column)
            elif column.temporal is not None:
                column, values[:, j] = read_moments(self.container, cells, column)
            else:
                check_still_numeric(self.container, cells, column.name)
                values[:, j] = finite(self.container.numbers(cells, column.name), column.name)
            columns.append(column)
        return values, replace(self, columns=tuple(columns))

    def _read_plain(self, X: Table, positions: list[int], values: Floats) -> Bools:
        """Fill in the number columns of ``values`` that can be read together, and return which columns these are."""
        plain, numbers = self.container.plain_numbers(X)
        place = np.full(len(positions), -1)
        place[plain] = np.arange(len(plain))
        place = np.where(self._is_number, place[positions], -1)
        is_read = place >= 0
        values[:, is_read] = numbers[:, place[is_read]]
        all_finite(values[:, is_read], [name for name, is_one in zip(self.names, is_read, strict=True) if is_one])
        return is_read

    @cached_property
    def _is_number(self) -> Bools:
        """Which columns hold numbers: neither categories nor dates."""
        return np.array([not column.is_categorical and column.temporal is None for column in self.columns])

    def decode(self, values: Floats) -> Table:
        """Float rows as a table like the one that ``fit`` got."""
        table = self.container.write_all(values, self.empty) if self._is_number.all() else None
        if table is not None:
            return table
        values = np.array(values, order="F")  # a copy: what the model does with its table stays there
        columns = [self._write(column, values[:, j]) for j, column in enumerate(self.columns)]
        return self.container.assemble(columns, self.empty, None)

    def rounded(self, values: Floats) -> Floats:
        """Float rows in which every number is one that its column's dtype holds: what is new stays of its kind.

        Ranks are whole, and those of levels.
        """
        ranks = np.flatnonzero(self.is_ordinal).tolist()
        temporal = [(j, column.temporal) for j, column in enumerate(self.columns) if column.temporal is not None]
        if not self._narrow and not ranks and not temporal:
            return values
        values = values.copy()
        for j in ranks:
            values[:, j] = np.clip(np.rint(values[:, j]), 0.0, len(self.columns[j].levels) - 1) + 0.0
        for j, dates in temporal:
            values[:, j] = dates.rounded(values[:, j])
        for j, dtype in self._narrow.items():
            values[:, j] = nearest_held(values[:, j], dtype)
        return values

    @cached_property
    def _narrow(self) -> dict[int, np.dtype[Any]]:
        """The number columns that do not hold every float, with their dtypes."""
        dtypes = {
            j: self.container.number_dtype(column.prototype)
            for j, column in enumerate(self.columns)
            if self._is_number[j]
        }
        return {j: dtype for j, dtype in dtypes.items() if dtype not in (np.dtype(np.float64), np.dtype(object))}

    def restore(self, X: Table, rows: Floats, values: Floats) -> Table:
        """A copy of ``X``, whose encoded form is ``rows``, with the cells that differ in ``values`` replaced.

        Columns, order, index and dtypes are those of ``X``; a dtype or a set of categories is widened only where
        it cannot hold a new value.
        """
        container = self.container
        changed = differs(rows, values)
        positions = self.positions(X)
        if self._is_number.all():
            table = container.write_all(np.where(changed, values, rows)[:, np.argsort(positions)], X)
            if table is not None:
                return table
        columns: list[Cells] = [container.column(X, position) for position in range(len(self.columns))]
        for j, position in enumerate(positions):
            if changed[:, j].any():
                written = self._write_like(self.columns[j], values[:, j], columns[position])
                columns[position] = container.overlay(columns[position], changed[:, j], written)
        return container.assemble(columns, X, X)

    @property
    def _is_array(self) -> bool:
        return isinstance(self.container, NumpyArrays)

    def _write(self, column: Column, values: Floats) -> Cells:
        """Encoded values as a column of the table that ``fit`` got."""
        if column.temporal is not None:
            return self.container.write_moments(values, column.temporal, column.prototype, column.missing)
        if not column.is_categorical:
            return self.container.write_numbers(values, column.prototype)
        return self.container.write_levels(codes_of(values), column.native_levels, column.missing)

    def _write_like(self, column: Column, values: Floats, like: Cells) -> Cells:
        """Encoded values as a column like another one, which may know fewer categories or another dtype."""
        if column.temporal is not None:
            return self.container.write_moments(values, column.temporal, like, column.missing)
        if not column.is_categorical:
            return self.container.write_numbers(values, like)
        codes = codes_of(values)
        used, places = np.unique(codes[codes >= 0], return_inverse=True)
        codes[codes >= 0] = places
        order = column.levels if column.is_ordinal else None
        levels = self.container.native_levels([column.levels[code] for code in used], like, order)
        return self.container.write_levels(codes, levels, column.missing)

    def positions(self, X: Table) -> list[int]:
        """Where each column of ``fit`` stands in ``X``; SchemaError when the columns are not the same."""
        container = container_of(X, as_in_fit=self.container)
        if type(container) is not type(self.container):
            raise SchemaError(
                f"fit got a {self.container.label}, but this is a {container.label}. Pass the rows to explain in the "
                "container that fit got: it is what the model is handed."
            )
        names = container.names(X)
        if self._is_array:
            if len(names) != len(self.columns):
                raise SchemaError(f"X has {len(names)} columns, but fit got {len(self.columns)}.")
            return list(range(len(names)))
        position_of = {name: position for position, name in enumerate(names)}
        missing = [name for name in self.names if name not in position_of]
        trained = set(self.names)
        extra = [name for name in names if name not in trained]
        if missing or extra or len(names) != len(self.columns):
            raise SchemaError(difference_in_columns(missing, extra, names))
        return [position_of[name] for name in self.names]
