"""What all searches for rules look at: the columns as floats, with the facts that more than one of them needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import plain
from nicecf.rules.parameters import Feature
from nicecf.rules.suggestions.words import words_of
from nicecf.support.types import Bools, Floats, Ints, Table
from nicecf.tables.column import Column
from nicecf.tables.schema import Schema

# Past this, a number was measured or computed, and not written with so many decimals.
_MOST_DECIMALS = 6
# How far a number may be from a decimal, as a share of it: decimal fractions are not exact.
_ROUNDING = 1e-9
# Enough to see that a column is not written with so many decimals; only if they do not, all cells are looked at.
_FIRST_CELLS = 100


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

    @classmethod
    def of(cls, column: Column, values: Floats, dtype: np.dtype[Any] | None) -> ColumnFacts:
        """The facts of a column with these encoded cells; ``dtype`` is that of its numbers, None of categories."""
        if dtype is not None:
            precision = float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
            return cls(column.name, values, (), True, dtype.kind not in "biu", max(precision, _ROUNDING))
        codes = values.astype(np.intp)
        numbers = np.array([*range(len(column.levels)), np.nan])
        if column.levels and all(isinstance(plain(level), bool) for level in column.levels):
            numbers[:-1] = [float(level) for level in column.levels]
        return cls(column.name, numbers[codes], column.levels, False, False, _ROUNDING)

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

    @cached_property
    def is_unusual(self) -> Bools:
        """Which cells are present, and do not hold the most common value: the others may agree by being empty."""
        counts = np.bincount(self.codes[self.is_present], minlength=1)
        return self.is_present & (self.codes != int(np.argmax(counts)))

    @cached_property
    def is_binary(self) -> bool:
        """Whether every cell is 0 or 1, and both occur."""
        is_coded = self.is_number or any(isinstance(plain(level), bool) for level in self.levels)
        return is_coded and self.n_distinct == 2 and bool(np.isin(self.values, (0.0, 1.0)).all())

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


@dataclass(frozen=True, eq=False)
class TableFacts:
    """The columns of a training table."""

    columns: tuple[ColumnFacts, ...]
    n_rows: int

    @classmethod
    def of(cls, X: Table, categorical_features: Any = "auto") -> TableFacts:
        """Read a training table, as ``fit`` does."""
        schema, values = Schema.of(X, categorical_features)
        facts = []
        for j, column in enumerate(schema.columns):
            dtype = None if column.is_categorical else schema.container.number_dtype(column.prototype)
            facts.append(ColumnFacts.of(column, values[:, j], dtype))
        return cls(tuple(facts), len(values))

    @cached_property
    def n_distinct_rows(self) -> int:
        """How many rows differ in some cell: repeated rows are no further evidence."""
        # Sums of codes by random weights, modulo 2**64: rows that differ have different ones, but by a rare accident.
        weights = np.random.default_rng(0).integers(1, 2**63, size=len(self.columns), dtype=np.uint64)
        digests = np.zeros(self.n_rows, dtype=np.uint64)
        for column, weight in zip(self.columns, weights, strict=True):
            digests += column.codes.astype(np.uint64) * weight
        return len(np.unique(digests))
