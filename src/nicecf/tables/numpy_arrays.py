"""Two-dimensional numpy arrays of numbers, strings or objects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.exceptions import SchemaError
from nicecf.tables import cells as shared
from nicecf.tables.cells import Kind


class NumpyArrays:
    """Two-dimensional numpy arrays of numbers, strings or objects."""

    label = "numpy array"

    def names(self, X: Objects) -> list[Hashable]:
        return [f"x{position}" for position in range(X.shape[1])]

    def n_rows(self, X: Objects) -> int:
        return len(X)

    def column(self, X: Objects, position: int) -> Objects:
        return X[:, position]

    def rows(self, X: Objects, where: slice) -> Objects:
        return X[where]

    def take(self, X: Objects, rows: Ints) -> Objects:
        return X[rows]

    def kind(self, cells: Objects, name: Hashable) -> Kind:
        if cells.dtype.kind in "mMcV":
            raise SchemaError(shared.refusal(name, cells.dtype))
        return "number"

    def numbers(self, cells: Objects, name: Hashable) -> Floats:
        if cells.dtype.kind in "OUST":
            return shared.floats_of_objects(cells.astype(object), name)
        if cells.dtype.kind in "iu" and len(cells):
            shared.refuse_large_integers(cells.min(), cells.max(), name)
        return cells.astype(np.float64)

    def factorize(self, cells: Objects, name: Hashable) -> tuple[Ints, list[Any]]:
        codes, levels = shared.factorize(cells.astype(object) if cells.dtype.kind in "UST" else cells, name)
        return codes, list(levels)

    def native_levels(self, levels: Sequence[Any], like: Objects) -> Objects:
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
        return np.where(codes >= 0, native_levels.astype(float).take(codes), np.nan)

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
        return table.astype(dtype.type) if dtype.kind in "US" else table.astype(dtype)

    def prototype(self, cells: Objects) -> Objects:
        return cells[:0].copy()

    def overlay(self, cells: Objects, where: Bools, replacement: Objects) -> Objects:
        if cells.dtype != object:
            return replacement
        merged = cells.copy()
        merged[where] = replacement[where]
        return merged

    def blank(self, X: Objects, rows: Bools) -> Any:
        if X.dtype.kind == "f":
            blanked: Any = X.copy()
        elif X.dtype.kind in "biu" and np.array_equal(X.astype(np.float64), X):
            blanked = X.astype(np.float64)
        else:
            blanked = X.astype(object)  # text, and integers that a float would round
        blanked[rows] = np.nan
        return blanked
