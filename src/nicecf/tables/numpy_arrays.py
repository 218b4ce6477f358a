"""Two-dimensional numpy arrays of numbers, strings or objects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import SchemaError
from nicecf.support.types import Bools, Floats, Ints, Objects, Table
from nicecf.tables import cells as shared
from nicecf.tables.cells import Kind
from nicecf.tables.temporal import Temporal


class NumpyArrays:
    """Two-dimensional numpy arrays of numbers, strings or objects."""

    label = "numpy array"

    def names(self, X: Objects) -> list[Hashable]:
        return [f"x{position}" for position in range(X.shape[1])]

    def n_rows(self, X: Objects) -> int:
        return len(X)

    def column(self, X: Objects, position: int) -> Objects:
        return X[:, position]

    def by_columns(self, X: Objects) -> Objects:
        return X

    def rows(self, X: Objects, where: slice) -> Objects:
        return X[where]

    def take(self, X: Objects, rows: Ints) -> Objects:
        return X[rows]

    def read_all(self, X: Objects, names: list[Hashable]) -> Floats | None:
        return None

    def plain_numbers(self, X: Objects) -> tuple[Ints, Floats]:
        positions = np.arange(X.shape[1] if shared.is_plain_number(X.dtype) else 0)
        return shared.exact_columns(positions, X[:, positions].astype(np.float64))

    def write_all(self, values: Floats, like: Objects) -> Any | None:
        return None

    def kind(self, cells: Objects, name: Hashable) -> Kind:
        if cells.dtype.kind in "mMcV":
            raise SchemaError(shared.refusal(name, cells.dtype, of_array=True))
        shared.refuse_long_floats(cells.dtype, name)
        return "number"

    def numbers(self, cells: Objects, name: Hashable) -> Floats:
        if cells.dtype.kind in "OUST":
            return shared.floats_of_objects(cells.astype(object), name)
        if cells.dtype.kind in "iu" and len(cells):
            shared.refuse_large_integers(cells.min(), cells.max(), name)
        return cells.astype(np.float64)

    def moments(self, cells: Objects, name: Hashable) -> tuple[Temporal, Floats] | None:
        return None  # dates are columns of frames

    def write_moments(self, values: Floats, temporal: Temporal, like: Objects, missing: Any) -> Any:
        raise AssertionError("an array has no columns of dates: `moments` finds none")

    def factorize(self, cells: Objects, name: Hashable) -> tuple[Ints, list[Any]]:
        is_text = cells.dtype.kind in "UST"
        return shared.factorize(cells.astype(object) if is_text else cells, name, by_type=cells.dtype == object)

    def ordered(self, cells: Objects) -> tuple[Ints, list[Any]] | None:
        return None  # numpy has no such dtype

    def native_levels(self, levels: Sequence[Any], like: Objects, order: Sequence[Any] | None = None) -> Objects:
        return shared.array_of(levels, np.dtype(object) if like.dtype.kind in "UST" else like.dtype)

    def write_numbers(self, values: Floats, like: Objects) -> Any:
        return values  # ``assemble`` gives the whole array its dtype

    def number_dtype(self, like: Objects) -> np.dtype[Any]:
        return like.dtype

    def write_levels(self, codes: Ints, native_levels: Any, missing: Any) -> Any:
        if (codes >= 0).all():
            return native_levels.take(codes)
        if native_levels.dtype == object:
            return shared.take_objects(native_levels, codes, missing)
        written = np.full(len(codes), np.nan)
        written[codes >= 0] = native_levels.take(codes[codes >= 0])
        return written

    def objects(self, cells: Objects, rows: Ints) -> Objects:
        return shared.plain_objects(cells[rows].tolist())

    def labels(self, X: Objects) -> pd.Index[Any]:
        return pd.RangeIndex(len(X))

    def assemble(self, columns: list[Any], header: Objects, index: Table | None) -> Any:
        dtype = header.dtype
        if dtype.kind in "biuf":
            # Column by column: an array of floats would round the integers that only a category can hold.
            fitted = [shared.held(column, dtype) for column in columns]
            return np.column_stack(fitted if all(c.dtype == dtype for c in fitted) else columns)
        table = np.empty((len(columns[0]), len(columns)), dtype=object)
        for position, column in enumerate(columns):
            table[:, position] = column
        if dtype.kind not in "US":
            return table.astype(dtype)
        text = table.astype(dtype.type)  # as wide as its longest cell
        return text.astype(dtype) if text.dtype.itemsize < dtype.itemsize else text

    def prototype(self, cells: Objects) -> Objects:
        return cells[:0].copy()

    def overlay(self, cells: Objects, where: Bools, replacement: Objects) -> Objects:
        if cells.dtype != object:
            return replacement
        merged = cells.copy()
        merged[where] = replacement[where]
        return merged

    def blank(self, X: Objects, rows: Bools) -> Any:
        # Objects, where the dtype has no missing value: as floats, the other rows would not be what the model saw.
        blanked: Any = X.copy() if X.dtype.kind == "f" else X.astype(object)
        blanked[rows] = np.nan
        return blanked
