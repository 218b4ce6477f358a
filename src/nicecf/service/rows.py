"""Rows of a request <-> rows of the training table: cells of JSON, checked by the column that they are for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from nicecf.exceptions import did_you_mean, listed, plain
from nicecf.results.records import feature_keys
from nicecf.service.messages import Cell
from nicecf.service.refusals import shown, wrong
from nicecf.support.types import Floats, Table
from nicecf.tables.column import Column
from nicecf.tables.files.json_lines import json_cell
from nicecf.tables.schema import Schema

# As in tables: squares and sums of larger numbers overflow.
LARGEST = 1e150
_LONGEST_TEXT = 10_000


@dataclass(frozen=True, eq=False)
class ColumnReader:
    """One column: what its cells are in JSON, and which number stands for each.

    ``kind``: number, boolean, text, date or duration, or category where it is of several kinds. ``codes``: the
    categories that training had, as JSON has them. ``is_closed``: there can be no others. ``largest``: the largest
    number that is read.
    """

    key: str
    column: Column
    kind: str
    codes: Mapping[tuple[bool, Any], int] = field(default_factory=dict)
    is_closed: bool = False
    largest: float = LARGEST

    @classmethod
    def of(cls, key: str, column: Column, largest: float) -> ColumnReader:
        """The reader of a column of the training table."""
        if column.temporal is not None:
            return cls(key, column, column.temporal.kind)
        if not column.is_categorical:
            return cls(key, column, "number", largest=largest)
        levels = [json_cell(level) for level in column.levels]
        sorts = {_sort(level) for level in levels}
        kind = next(iter(sorts)) if len(sorts) == 1 else "category"
        is_own = all(isinstance(plain(level), (str, bool, int, float)) for level in column.levels)
        codes = {_key(level): code for code, level in enumerate(levels)}
        return cls(key, column, kind, codes, column.is_ordinal or not is_own or kind == "boolean")

    def check(self, cell: Any) -> str | None:
        """What is wrong with a cell; None if it is one of this column."""
        if cell is None:
            return None
        if isinstance(cell, (list, dict)):
            return f"a cell is a number, text, true, false or null, got {shown(cell)}"
        if self.column.temporal is not None:
            return self._check_moment(cell)
        if self.kind != "category" and _sort(cell) != self.kind:
            return f"expected {_EXPECTED[self.kind]} or null, got {shown(cell)}"
        if not isinstance(cell, (str, bool)) and not abs(cell) <= self.largest:
            return f"the number is too large, got {shown(cell)}; it can be at most {self.largest:.2g}"
        if isinstance(cell, str) and len(cell) > _LONGEST_TEXT:
            return f"text has at most {_LONGEST_TEXT:,} characters, got {len(cell):,}"
        if self.column.is_categorical and self.is_closed and _key(cell) not in self.codes:
            known = [json_cell(level) for level in self.column.told_levels]
            return f"{shown(cell)} is not one of its values: {listed(known)}.{did_you_mean(cell, known)}"
        return None

    def _check_moment(self, cell: Any) -> str | None:
        temporal = self.column.temporal
        assert temporal is not None
        if not isinstance(cell, str):
            return f"expected {temporal.words} as text or null, got {shown(cell)}"
        try:
            number = temporal.number(cell)
        except (ValueError, OverflowError) as error:
            return f"expected {temporal.words} or null, got {shown(cell)}: {error}"
        return f"expected a date without a time, got {shown(cell)}" if number % temporal.smallest else None

    def encoded(self, cells: Sequence[Cell]) -> tuple[Floats, Column]:
        """Checked cells as numbers, and the column, with the categories that training never saw."""
        column, nothing = self.column, self.column.missing_code
        if column.temporal is not None:
            read: Callable[[Any], float] = column.temporal.number
        elif not column.is_categorical:
            read = float
        else:
            unseen = list(
                dict.fromkeys(_key(cell) for cell in cells if cell is not None and _key(cell) not in self.codes)
            )
            codes = {**self.codes, **{key: len(column.levels) + at for at, key in enumerate(unseen)}}
            column = replace(column, levels=(*column.levels, *(cell for _, cell in unseen))) if unseen else column

            def read(cell: Any) -> float:
                return codes[_key(cell)]

        return np.array([nothing if cell is None else read(cell) for cell in cells], dtype=np.float64), column


@dataclass(frozen=True, eq=False)
class RowReader:
    """The columns of an explainer, and the way between rows of JSON and tables like the one that ``fit`` got."""

    schema: Schema
    columns: tuple[ColumnReader, ...]

    @classmethod
    def of(cls, schema: Schema, *, largest: float = LARGEST) -> RowReader:
        """Return the reader for tables of a schema; SchemaError if two columns would have the same name in JSON.

        ``largest``: the largest number that the model takes.
        """
        columns = zip(feature_keys(schema.names), schema.columns, strict=True)
        return cls(schema, tuple(ColumnReader.of(key, one, largest) for key, one in columns))

    def named(self, key: str, field: str) -> Hashable:
        """The name of a feature in the training table, by its name in JSON; Refused if there is none."""
        if key not in self._positions:
            raise wrong(field, f"there is no feature {key[:100]!r}.{did_you_mean(key[:100], self._positions)}")
        return self.columns[self._positions[key]].column.name

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {one.key: position for position, one in enumerate(self.columns)}

    def read(self, instances: Sequence[Any]) -> list[list[Cell]]:
        """The cells of each row in the order of ``fit``, checked; Refused with the field that is wrong."""
        return [self._row(instance, f"instances[{at}]") for at, instance in enumerate(instances)]

    def changed(self, rows: Sequence[Sequence[Cell]], changes: Sequence[Mapping[str, Cell]]) -> list[list[Cell]]:
        """Rows that were read, with other cells in some places; Refused with the field that is wrong."""
        changed = [list(row) for row in rows]
        for at, (row, cells) in enumerate(zip(changed, changes, strict=True)):
            for key, cell in cells.items():
                self.named(key, f"changes[{at}]")
                position = self._positions[key]
                if (said := self.columns[position].check(cell)) is not None:
                    raise wrong(f"changes[{at}].{key}", said)
                row[position] = cell
        return changed

    def _row(self, instance: Any, where: str) -> list[Cell]:
        if isinstance(instance, dict):
            cells = self._of_object(instance, where)
        elif isinstance(instance, list):
            cells = instance
            if len(cells) != len(self.columns):
                raise wrong(where, f"expected {len(self.columns)} cells in the order of the schema, got {len(cells)}")
        else:
            raise wrong(where, f"a row is an object or a list, got {shown(instance)}")
        for column, cell in zip(self.columns, cells, strict=True):
            if (said := column.check(cell)) is not None:
                raise wrong(f"{where}.{column.key}", said)
        return cells

    def _of_object(self, instance: Mapping[str, Any], where: str) -> list[Cell]:
        keys = self._positions
        more = next((key[:100] for key in instance if key not in keys), None)
        if more is not None:
            raise wrong(f"{where}.{more}", f"there is no such feature.{did_you_mean(more, keys)}")
        lacking = next((key for key in keys if key not in instance), None)
        if lacking is not None:
            raise wrong(f"{where}.{lacking}", "it is missing; send null if the value is not known")
        return [instance[key] for key in keys]

    def table(self, rows: Sequence[Sequence[Cell]]) -> Table:
        """A table like the one that ``fit`` got, of rows that were read."""
        values = np.empty((len(rows), len(self.columns)))
        columns = []
        for j, reader in enumerate(self.columns):
            values[:, j], column = reader.encoded([row[j] for row in rows])
            if column is not reader.column:
                native = self.schema.container.native_levels(column.levels, column.prototype)
                column = replace(column, native_levels=native)
            columns.append(column)
        return replace(self.schema, columns=tuple(columns)).decode(values)

    def shown(self, table: Table, n_rows: int) -> list[dict[str, Any]]:
        """The rows of a table as objects of JSON."""
        container, everyone = self.schema.container, np.arange(n_rows)
        by_columns, columns = container.by_columns(table), {}
        for reader, position in zip(self.columns, self.schema.positions(table), strict=True):
            objects = container.objects(container.column(by_columns, position), everyone)
            columns[reader.key] = [json_cell(value) for value in objects]
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


_EXPECTED = {"number": "a number", "boolean": "true or false", "text": "text"}


def _sort(cell: Any) -> str:
    if isinstance(cell, bool):
        return "boolean"
    return "text" if isinstance(cell, str) else "number"


def _key(cell: Any) -> tuple[bool, Any]:
    """True is not 1."""
    return isinstance(cell, bool), cell
