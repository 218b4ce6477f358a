"""What training rows held of each column: the range of its numbers, its categories, and whether any was missing.

By it, a row is known to have a value that training never saw. Unlike a histogram, it is of all rows, and exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.cells import nearest_held
from nicecf.tables.column import Column, looks_like_free_text
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema

# What is new about a value: 0 for nothing.
OUTSIDE, CATEGORY, MISSING = 1, 2, 3
# Of a guarded column: if more of its training values than this are not told, one beside them is nothing unusual.
_MOST_NOT_TOLD = 0.1


@dataclass(frozen=True, eq=False)
class SeenColumn:
    """One training column.

    ``low`` and ``high``: its smallest and its largest number, NaN where there is none. ``held``: which of its
    categories training rows hold, by code. ``has_missing``: whether some row has no value. Not ``is_compared``: a new
    value means nothing, as in free text, or it may not be told what is new.
    """

    low: float
    high: float
    held: Bools
    has_missing: bool
    is_compared: bool = True

    @classmethod
    def of(cls, values: Floats, column: Column, *, min_count: int = 1) -> SeenColumn:
        """Look at all encoded values of a column; of a guarded one, only at those that ``min_count`` rows share."""
        if column.common is not None:
            return _shared(values, column, min_count)
        if column.is_categorical:
            codes = codes_of(values)
            codes = codes[codes >= 0]
            held = np.bincount(codes, minlength=len(column.levels)) > 0
            is_compared = not looks_like_free_text(column.levels, len(codes))
            return cls(np.nan, np.nan, held, len(codes) < len(values), is_compared)
        low, high = np.fmin.reduce(values, initial=np.nan), np.fmax.reduce(values, initial=np.nan)
        return cls(float(low), float(high), _NO_CATEGORIES, bool(np.isnan(values).any()))

    def new(self, values: Floats, column: Column) -> npt.NDArray[np.int8]:
        """What is new about encoded values; ``column`` may have categories that training never saw."""
        if column.is_categorical:
            codes = codes_of(values)
            is_missing = codes < 0
            is_known = np.append(self.held, False)[np.minimum(codes, len(self.held))]
            kind = CATEGORY
        else:
            is_missing, is_known = np.isnan(values), (values >= self.low) & (values <= self.high)
            kind = OUTSIDE
        is_new = ~is_known & ~is_missing & self.is_compared
        return np.where(is_new, kind, np.where(is_missing & (not self.has_missing), MISSING, 0)).astype(np.int8)


@dataclass(frozen=True, eq=False)
class OneHotGroup:
    """Columns of 0 and 1 of which no training row has more than one on.

    ``columns``: their positions. ``on``: the encoded value of 1 in each. ``has_none``: whether in some training row
    none is on.
    """

    columns: Ints
    on: Floats
    has_none: bool

    @classmethod
    def of(cls, columns: Ints, values: Floats, schema: Schema) -> OneHotGroup | None:
        """Look at all encoded training rows; None if one of them has several on."""
        on = np.array([_code_of_one(schema.columns[j]) for j in columns.tolist()])
        n_on = cls(columns, on, False).n_on(values)
        return None if (n_on > 1).any() else cls(columns, on, bool((n_on == 0).any()))

    def n_on(self, values: Floats) -> Ints:
        """Count for each encoded row the columns that are on."""
        return np.asarray((values[:, self.columns] == self.on).sum(axis=1))

    def is_new(self, values: Floats) -> Bools:
        """Return which encoded rows have a number of columns on that no training row has."""
        n_on = self.n_on(values)
        return (n_on > 1) | ((n_on == 0) & (not self.has_none))


def _code_of_one(column: Column) -> float:
    ones = [code for code, level in enumerate(column.levels) if level == 1]
    return float(ones[0]) if ones else 1.0


_NO_CATEGORIES: Bools = np.zeros(0, dtype=bool)


def new_values(values: Floats, schema: Schema, seen: Sequence[SeenColumn] | None) -> npt.NDArray[np.int8]:
    """What is new about each cell of encoded rows: `OUTSIDE`, `CATEGORY`, `MISSING`, or 0.

    ``schema`` is that of the rows. Numbers are compared as the training column would hold them: 0.1 is what a column of
    single precision makes of it. ``seen`` is None where it was not learned: then nothing is known to be new.
    """
    if seen is None:
        return np.zeros(values.shape, dtype=np.int8)
    new = np.empty(values.shape, dtype=np.int8)
    for j, (one, column) in enumerate(zip(seen, schema.columns, strict=True)):
        new[:, j] = one.new(_as_held(values[:, j], column, schema), column)
    return new


def _as_held(values: Floats, column: Column, schema: Schema) -> Floats:
    if column.is_categorical or column.temporal is not None:
        return values
    dtype = schema.container.number_dtype(column.prototype)
    # Integers are not made of other numbers: 90.4 is beyond 90.
    return nearest_held(values, dtype) if dtype.kind == "f" else values


def _shared(values: Floats, column: Column, min_count: int) -> SeenColumn:
    """What at least ``min_count`` training rows share. Nothing more is told, not even that there is more."""
    found, counts = np.unique(values, return_counts=True)  # all missing numbers count as one value
    is_missing = codes_of(found) < 0 if column.is_categorical else np.isnan(found)
    is_common = counts >= min_count
    common = found[is_common & ~is_missing]
    held = np.isin(np.arange(len(column.levels)), common)
    low, high = (float(common[0]), float(common[-1])) if len(common) and not column.is_categorical else (np.nan, np.nan)
    is_beside = ~is_common if column.is_categorical else ~((found >= low) & (found <= high))
    n_beside, n_present = counts[is_beside & ~is_missing].sum(), counts[~is_missing].sum()
    is_told = column.common is not None and len(column.common) > 0  # of what is computed, nothing is
    return SeenColumn(
        low,
        high,
        held,
        bool((is_common & is_missing).any()) or not is_told,
        is_told and len(common) > 0 and bool(n_beside <= _MOST_NOT_TOLD * n_present),
    )
