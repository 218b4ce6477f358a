"""What all searches for rules look at: the columns as floats, with the facts that more than one of them needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import plain
from nicecf.rules.parameters import Feature
from nicecf.rules.suggestions.words import words_of
from nicecf.support.types import Bools, Floats, Ints, Table
from nicecf.tables.column import Column
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema

# Past this, a number was measured or computed, and not written with so many decimals.
_MOST_DECIMALS = 6
# How far a number may be from a decimal, as a share of it: decimal fractions are not exact.
_ROUNDING = 1e-9
# Enough to see that a column does not hold some kind of values; only if they do not tell, all cells are looked at.
_FIRST_CELLS = 100
# To count rows that differ: columns that are read before it is counted again, and rows for each that is needed.
_COLUMNS_AT_A_TIME = 8
_ENOUGH_ROWS = 20


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """One column: ``values`` are its numbers, booleans as 0 and 1, or the codes of its categories; missing is NaN."""

    name: Feature
    values: Floats
    levels: tuple[Any, ...]
    is_number: bool
    holds_fractions: bool
    # The relative error with which its dtype holds a number.
    precision: float
    # Of dates and durations, what they are: they can only be compared with their like.
    temporal: str | None = None
    # Of dates, their time zone, if they have one; of categories, whether their dtype has an order.
    zone: Any = None
    is_ordinal: bool = False

    @classmethod
    def of(cls, column: Column, values: Floats, dtype: np.dtype[Any] | None) -> ColumnFacts:
        """The facts of a column with these encoded cells; ``dtype`` is that of its numbers, None of categories."""
        if column.temporal is not None:
            sort = "duration" if column.temporal.kind == "duration" else f"date, {column.temporal.zone is not None}"
            return cls(column.name, values, (), True, False, 0.0, sort, column.temporal.tz)
        if dtype is not None:
            precision = float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
            return cls(column.name, values, (), True, dtype.kind not in "biu", max(precision, _ROUNDING))
        codes = codes_of(values)
        numbers = np.array([*range(len(column.levels)), np.nan])
        if _are_zeros_and_ones(column.levels):
            numbers[:-1] = [float(level) for level in column.levels]
        return cls(column.name, numbers[codes], column.levels, False, False, _ROUNDING, is_ordinal=column.is_ordinal)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return words_of(self.name)

    @cached_property
    def is_present(self) -> Bools:
        """Which cells are not missing."""
        return ~np.isnan(self.values)

    @cached_property
    def present(self) -> Floats:
        """The cells that are not missing."""
        return self.values[self.is_present]

    @cached_property
    def codes(self) -> Ints:
        """The cells as codes in the order of first occurrence; a missing cell has a code like any other."""
        return pd.factorize(self.values, use_na_sentinel=False)[0].astype(np.intp)

    @cached_property
    def n_distinct(self) -> int:
        """How many values it has, without missing ones."""
        return int(self.codes.max()) + 1 - int(not self.is_present.all())

    def as_bytes(self) -> bytes:
        """The same for columns that hold the same numbers in every row; -0.0 is 0.0, and missing is missing."""
        return np.where(self.is_present, self.values + 0.0, np.nan).tobytes()

    def has_values(self, at_least: int) -> bool:
        """Whether it has so many values or more; of most columns the first cells tell."""
        return len(np.unique(self.present[: at_least * _FIRST_CELLS])) >= at_least or self.n_distinct >= at_least

    @cached_property
    def is_unusual(self) -> Bools:
        """Which cells are present, and do not hold the most common value: the others may agree by being empty."""
        counts = np.bincount(self.codes[self.is_present], minlength=1)
        return self.is_present & (self.codes != int(np.argmax(counts)))

    @cached_property
    def is_binary(self) -> bool:
        """Whether every cell is 0 or 1, of numbers, booleans or categories, and both occur."""
        if not (self.is_number or _are_zeros_and_ones(self.levels)):
            return False
        if not np.isin(self.values[:_FIRST_CELLS], (0.0, 1.0)).all():
            return False
        is_one = self.values == 1.0
        return bool((is_one | (self.values == 0.0)).all() and is_one.any() and not is_one.all())

    @cached_property
    def is_text(self) -> bool:
        """Whether its categories are text."""
        return bool(self.levels) and all(isinstance(level, str) for level in self.levels)

    @cached_property
    def decimals(self) -> int | None:
        """How many decimals its numbers are written with; None: with more than anybody writes."""
        for decimals in range(_MOST_DECIMALS + 1):
            if self._has(decimals, self.present[:_FIRST_CELLS]) and self._has(decimals, self.present):
                return decimals
        return None

    def _has(self, decimals: int, values: Floats) -> bool:
        away = np.abs(np.round(values, decimals) - values)
        return bool((away <= self.precision * np.abs(values)).all())

    @cached_property
    def tolerance(self) -> Floats:
        """How far each cell may be from what it was computed as: half a unit of its last decimal, and float errors."""
        largest = float(np.abs(self.present).max(initial=0.0))
        half = 0.0 if self.decimals is None else 0.5 * 10.0**-self.decimals
        return half + self.precision * (np.abs(self.values) + 1e-3 * largest)


def _are_zeros_and_ones(levels: Sequence[Any]) -> bool:
    """Whether categories are booleans, or the numbers 0 and 1."""
    return bool(levels) and all(isinstance(plain(one), (bool, int, float)) and one in (0, 1) for one in levels)


@dataclass(frozen=True, eq=False)
class TableFacts:
    """The columns of a training table."""

    columns: tuple[ColumnFacts, ...]
    n_rows: int

    @classmethod
    def of(cls, X: Table, categorical_features: Any = "auto") -> TableFacts:
        """Read a training table, as ``fit`` does; SchemaError for one that ``fit`` would not take."""
        return cls.of_rows(*Schema.of(X, categorical_features))

    @classmethod
    def of_rows(cls, schema: Schema, values: Floats) -> TableFacts:
        """The same of a training table that was read before: its schema, and its encoded rows."""
        facts = []
        for j, column in enumerate(schema.columns):
            dtype = None if column.is_categorical else schema.container.number_dtype(column.prototype)
            facts.append(ColumnFacts.of(column, values[:, j], dtype))
        return cls(tuple(facts), len(values))

    @property
    def dates(self) -> list[ColumnFacts]:
        """The columns of dates."""
        return [one for one in self.columns if one.temporal not in (None, "duration")]

    def sample(self, n_rows: int) -> TableFacts:
        """At most so many rows of it, from first to last."""
        if n_rows >= self.n_rows:
            return self
        rows = spread(self.n_rows, n_rows)
        return TableFacts(tuple(replace(one, values=one.values[rows]) for one in self.columns), len(rows))

    def only(self, names: Collection[Feature]) -> TableFacts:
        """Some columns of it."""
        return TableFacts(tuple(one for one in self.columns if one.name in names), self.n_rows)

    def has_distinct_rows(self, at_least: int, among: Bools) -> bool:
        """Whether so many of some rows differ from each other in some cell: repeated rows are no further evidence."""
        rows = np.flatnonzero(among)
        few = rows[spread(len(rows), _ENOUGH_ROWS * at_least)]
        return self._differ(at_least, few) or (len(few) < len(rows) and self._differ(at_least, rows))

    def _differ(self, at_least: int, rows: Ints) -> bool:
        # Sums of cells by random weights, modulo 2**64: rows that differ have different ones, but by a rare accident.
        random = np.random.default_rng(0)
        weights = random.integers(0, 2**64, size=len(self.columns), dtype=np.uint64) | np.uint64(1)
        digests = np.zeros(len(rows), dtype=np.uint64)
        for j, (column, weight) in enumerate(zip(self.columns, weights, strict=True), 1):
            bits = np.frombuffer(replace(column, values=column.values[rows]).as_bytes(), dtype=np.uint64)
            digests += (bits ^ (bits >> np.uint64(29))) * weight
            # Columns are read until enough rows differ: mostly, a few tell.
            is_time = j % _COLUMNS_AT_A_TIME == 0 or j == len(self.columns)
            if is_time and len(np.unique(digests)) >= at_least:
                return True
        return False


def spread(n_rows: int, n_wanted: int) -> Ints:
    """Positions of at most so many rows, from first to last."""
    if n_wanted >= n_rows:
        return np.arange(n_rows)
    return np.unique(np.linspace(0, n_rows - 1, n_wanted).astype(np.intp))
