"""pandas, version 2 and 3."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import SchemaError
from nicecf.support.types import Bools, Floats, Ints, Objects
from nicecf.tables import cells as shared
from nicecf.tables import pandas_temporal
from nicecf.tables.cells import Kind
from nicecf.tables.temporal import Temporal


class PandasFrames:
    """pandas, version 2 and 3."""

    label = "pandas DataFrame"

    def names(self, X: pd.DataFrame) -> list[Hashable]:
        return list(X.columns)

    def n_rows(self, X: pd.DataFrame) -> int:
        return len(X)

    def column(self, X: pd.DataFrame, position: int) -> pd.Series[Any]:
        return X.iloc[:, position]

    def by_columns(self, X: pd.DataFrame) -> pd.DataFrame:
        return X

    def rows(self, X: pd.DataFrame, where: slice) -> pd.DataFrame:
        return X.iloc[where]

    def take(self, X: pd.DataFrame, rows: Ints) -> pd.DataFrame:
        return X.iloc[rows]

    def read_all(self, X: pd.DataFrame, names: list[Hashable]) -> Floats | None:
        return None

    def plain_numbers(self, X: pd.DataFrame) -> tuple[Ints, Floats]:
        positions = np.flatnonzero([shared.is_plain_number(dtype) for dtype in X.dtypes])
        return shared.exact_columns(positions, X.iloc[:, positions].to_numpy(dtype=np.float64))

    def write_all(self, values: Floats, like: pd.DataFrame) -> pd.DataFrame | None:
        if not (like.dtypes == np.float64).all():
            return None
        index = like.index if len(like) == len(values) else None
        return pd.DataFrame(np.array(values, order="F"), index=index, columns=like.columns, copy=False)

    def kind(self, cells: pd.Series[Any], name: Hashable) -> Kind:
        dtype = cells.dtype
        if isinstance(dtype, np.dtype):
            shared.refuse_long_floats(dtype, name)
        if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
            return "category"
        if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
            return "number"
        inferred = pandas_temporal.inferred_of(cells)
        if pandas_temporal.is_temporal(cells, inferred):
            return "temporal"
        return shared.kind_of_values(inferred, dtype, name)

    def numbers(self, cells: pd.Series[Any], name: Hashable) -> Floats:
        dtype = cells.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            raise SchemaError(
                f"column {name!r} has dtype category but is not named in categorical_features. Name it there, or "
                "convert it to numbers if that is what it holds."
            )
        if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            return shared.floats_of_objects(cells.to_numpy(dtype=object), name)
        if pd.api.types.is_integer_dtype(dtype) and len(cells):
            shared.refuse_large_integers(cells.min(), cells.max(), name)
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)

    def moments(self, cells: pd.Series[Any], name: Hashable) -> tuple[Temporal, Floats] | None:
        return pandas_temporal.read(cells, name)

    def write_moments(self, values: Floats, temporal: Temporal, like: pd.Series[Any], missing: Any) -> Any:
        return pandas_temporal.write(values, temporal, like, missing)

    def factorize(self, cells: pd.Series[Any], name: Hashable) -> tuple[Ints, list[Any]]:
        if isinstance(cells.dtype, pd.CategoricalDtype):
            return cells.cat.codes.to_numpy(dtype=np.intp), list(cells.cat.categories)
        return shared.factorize(cells, name, by_type=cells.dtype == object)

    def ordered(self, cells: pd.Series[Any]) -> tuple[Ints, list[Any]] | None:
        dtype = cells.dtype
        return self.factorize(cells, "") if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered else None

    def native_levels(self, levels: Sequence[Any], like: pd.Series[Any], order: Sequence[Any] | None = None) -> Any:
        dtype = like.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            own = dtype.categories
            known = set(own)
            unseen = [level for level in levels if level not in known]
            categories = own.append(pd.Index(unseen)) if unseen else own
            if unseen and dtype.ordered and order is not None:
                categories = pd.Index([level for level in order if level in {*known, *unseen}])
            return pd.Categorical(levels, categories, ordered=dtype.ordered)
        return shared.array_of(levels, dtype)

    def write_numbers(self, values: Floats, like: pd.Series[Any]) -> Any:
        dtype = like.dtype
        if dtype == np.float64:
            return values
        if isinstance(dtype, np.dtype):
            return shared.held(values, dtype)
        try:
            written = pd.array(pd.Series(values, copy=False).astype("Float64").mask(np.isnan(values)), dtype=dtype)
            exact = shared.are_same(written.to_numpy(dtype=np.float64, na_value=np.nan), values)
        except (TypeError, ValueError, OverflowError):
            return values
        return written if exact else values

    def number_dtype(self, like: pd.Series[Any]) -> np.dtype[Any]:
        dtype = like.dtype.subtype if isinstance(like.dtype, pd.SparseDtype) else like.dtype
        if isinstance(dtype, pd.DatetimeTZDtype):
            return dtype.base
        return np.dtype(getattr(dtype, "numpy_dtype", dtype))

    def write_levels(self, codes: Ints, native_levels: Any, missing: Any) -> Any:
        if (codes >= 0).all():
            return native_levels.take(codes)
        if isinstance(native_levels, np.ndarray) and native_levels.dtype == object:
            return shared.take_objects(native_levels, codes, missing)
        return pd.api.extensions.take(native_levels, codes, allow_fill=True)

    def objects(self, cells: pd.Series[Any], rows: Ints) -> Objects:
        return shared.plain_objects(cells.iloc[rows].astype(object).to_numpy())

    def labels(self, X: pd.DataFrame) -> pd.Index[Any]:
        return X.index

    def assemble(self, columns: list[Any], header: pd.DataFrame, index: pd.DataFrame | None) -> pd.DataFrame:
        frame = pd.DataFrame({at: _as_given(column) for at, column in enumerate(columns)}, copy=False)
        frame.columns = header.columns
        if index is not None:
            frame.index = index.index
        return frame

    def prototype(self, cells: pd.Series[Any]) -> pd.Series[Any]:
        return cells.iloc[:0]

    def overlay(self, cells: pd.Series[Any], where: Bools, replacement: Any) -> Any:
        if cells.dtype == object:
            merged = cells.to_numpy(dtype=object, copy=True)
            merged[where] = np.asarray(replacement, dtype=object)[where]
            return merged
        if replacement.dtype != cells.dtype or isinstance(cells.dtype, pd.SparseDtype):
            return replacement  # wider, or of a kind that cannot be written to
        own = cells.array.copy()
        own[where] = replacement[where]
        return own

    def blank(self, X: pd.DataFrame, rows: Bools) -> pd.DataFrame:
        positions = X.set_axis(range(X.shape[1]), axis=1)
        nullable = {at: _nullable(dtype) for at, dtype in enumerate(X.dtypes)}
        nullable = {at: dtype for at, dtype in nullable.items() if dtype is not None}
        blanked = positions.astype(nullable).where(np.broadcast_to(~rows[:, None], X.shape))
        return blanked.set_axis(X.columns, axis=1)


def _nullable(dtype: Any) -> str | None:
    """The dtype that holds the same values, and missing ones too; None where this one does.

    pandas would make floats of integers and objects of booleans, also in rows that have a counterfactual.
    """
    own = dtype.subtype if isinstance(dtype, pd.SparseDtype) else dtype
    if not (isinstance(own, np.dtype) and own.kind in "iub"):
        return None
    return "boolean" if own.kind == "b" else f"{'U' if own.kind == 'u' else ''}Int{8 * own.itemsize}"


def _as_given(column: Any) -> Any:
    """A column that a DataFrame takes as it is: it would read Python strings as its own string dtype."""
    return (
        pd.Series(np.asarray(column), dtype=object, copy=False)
        if column.dtype == np.dtype(object)
        else (column.array if isinstance(column, pd.Series) else column)
    )
