"""What the training columns look like: how their values are spread, and with how many decimals they are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.support.types import Floats, Ints
from nicecf.tables.cells import nearest_held
from nicecf.tables.column import Column
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema
from nicecf.tables.seen import OneHotGroup, SeenColumn

# A sample shows the shape of a column as well as a million rows do.
_MOST_ROWS = 10_000
_BINS = 40
# Past this, a number is a measurement whose last digits nobody reads.
_MOST_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """One training column.

    Numbers: ``counts`` of a histogram with its ``edges``; ``decimals``: how many its values are written with. Where
    not ``is_exact``, the values have more, and these show the range of the column in about three digits. Categories:
    ``counts`` by code, no edges.
    """

    decimals: int
    is_exact: bool
    edges: Floats
    counts: Ints
    n_missing: int


@dataclass(frozen=True, eq=False)
class TableStatistics:
    """The training columns, by a sample of ``n_rows`` rows; ``seen`` and ``one_hot``: by all of them.

    ``seen`` is None if it was not learned. Of a guarded table no ``one_hot`` groups are known.
    """

    columns: tuple[ColumnStatistics, ...]
    n_rows: int
    seen: tuple[SeenColumn, ...] | None = None
    one_hot: tuple[OneHotGroup, ...] = ()

    @classmethod
    def of(cls, values: Floats, schema: Schema, *, min_count: int = 1) -> TableStatistics:
        """Look at encoded training rows. Of a guarded schema, only at values that may be handed out."""
        sample = np.unique(np.linspace(0, len(values) - 1, _MOST_ROWS).astype(np.intp))
        columns = [
            _statistics_of(_common(values[sample, j], column), column, schema)
            for j, column in enumerate(schema.columns)
        ]
        seen = (SeenColumn.of(values[:, j], one, min_count=min_count) for j, one in enumerate(schema.columns))
        return cls(tuple(columns), len(sample), tuple(seen))


def _common(values: Floats, column: Column) -> Floats:
    if column.common is None:
        return values
    return values[np.isin(values, column.common) | (np.isnan(values) & np.isnan(column.common).any())]


def _statistics_of(values: Floats, column: Column, schema: Schema) -> ColumnStatistics:
    if column.is_categorical:
        counts = np.bincount(values[values >= 0].astype(np.intp), minlength=len(column.levels))
        return ColumnStatistics(0, True, np.empty(0), counts.astype(np.intp), int((codes_of(values) < 0).sum()))
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    if not len(present):
        return ColumnStatistics(0, True, np.empty(0), np.empty(0, dtype=np.intp), n_missing)
    decimals, is_exact = _decimals(present, schema.container.number_dtype(column.prototype))
    is_whole = is_exact and decimals == 0 and column.temporal is None
    counts, edges = np.histogram(present, bins=_edges(present, is_whole=is_whole))
    return ColumnStatistics(decimals, is_exact, edges, counts.astype(np.intp), n_missing)


def _decimals(present: Floats, dtype: np.dtype[np.generic]) -> tuple[int, bool]:
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(nearest_held(np.round(present, decimals), dtype), present):
            return decimals, True
    spread = float(np.ptp(present)) or float(np.abs(present).max())
    return int(np.clip(2 - np.floor(np.log10(spread)), 0, 15)), False


def _edges(present: Floats, *, is_whole: bool) -> Floats:
    low, high = float(present.min()), float(present.max())
    # Of very large numbers, half of one is nothing: no value may fall out of its own bar.
    half = max(0.5, float(np.spacing(max(abs(low), abs(high)))))
    if low == high:
        return np.array([low - half, low + half])
    if is_whole and high - low < _BINS and half == 0.5:  # a bar for each value
        return np.arange(low - 0.5, high + 1.0)
    return np.linspace(low, high, _BINS + 1)
