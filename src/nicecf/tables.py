"""Tables as people have them: one adapter for each container, all with the same methods.

An adapter reads a column into floats or codes and writes floats or codes back as a column. It knows
nothing of what a column means; that is ``schema.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np
import pandas as pd

from nicecf._typing import Bools, Cells, Floats, Ints, Objects, Table
from nicecf.exceptions import SchemaError, plain

Kind: TypeAlias = Literal["number", "category", "numbers as objects"]

# Beyond this, float64 no longer holds every integer, and a value could come back changed.
_LARGEST_EXACT_INTEGER = 2**53

_CATEGORY_LIKE = {"string", "boolean", "mixed", "mixed-integer", "empty", "bytes", "categorical"}
_NUMBERS_AS_OBJECTS = {"integer", "floating", "mixed-integer-float", "decimal"}


class Container(Protocol):
    """What the rest of the package needs to know of a kind of table."""

    label: str

    def names(self, X: Table) -> list[Hashable]: ...
    def n_rows(self, X: Table) -> int: ...
    def column(self, X: Table, position: int) -> Cells: ...
    def rows(self, X: Table, where: slice) -> Table: ...
    def take(self, X: Table, rows: Ints) -> Table: ...

    def kind(self, cells: Cells, name: Hashable) -> Kind:
        """What the column looks like; SchemaError when it can be neither number nor category."""

    def numbers(self, cells: Cells, name: Hashable) -> Floats:
        """The cells as floats, missing as NaN; may share memory with the caller's table."""

    def factorize(self, cells: Cells) -> tuple[Ints, list[Any]]:
        """The cells as codes into their distinct values, missing as -1."""

    def native_levels(self, levels: Sequence[Any], like: Cells) -> Any:
        """The distinct values in the form that ``write_levels`` takes from."""

    def write_numbers(self, values: Floats, like: Cells) -> Cells:
        """Floats as a column of the dtype of ``like``, or a wider one where that cannot hold them."""

    def write_levels(self, codes: Ints, native_levels: Any, missing: Any) -> Cells:
        """Codes as a column; -1 becomes missing."""

    def objects(self, cells: Cells, rows: Ints) -> Objects:
        """Some cells as plain Python values, missing as None."""

    def labels(self, X: Table) -> pd.Index[Any]:
        """What people call the rows: the index of a frame that has one, else positions."""

    def assemble(self, columns: list[Cells], names: list[Hashable], like: Table | None) -> Table:
        """Columns as a table; with ``like``, it has that table's index and types."""

    def prototype(self, cells: Cells) -> Cells:
        """A stand-in for the column: its dtype and its way to mark missing, without its cells."""

    def overlay(self, cells: Cells, where: Bools, replacement: Cells) -> Cells:
        """A copy of the cells with those under ``where`` taken from ``replacement``."""

    def blank(self, X: Table, rows: Bools) -> Table:
        """A copy of the table in which all cells of ``rows`` are missing."""


class PandasFrames:
    """pandas, version 2 and 3."""

    label = "pandas DataFrame"

    def names(self, X: pd.DataFrame) -> list[Hashable]:
        return list(X.columns)

    def n_rows(self, X: pd.DataFrame) -> int:
        return len(X)

    def column(self, X: pd.DataFrame, position: int) -> pd.Series[Any]:
        return cast("pd.Series[Any]", X.iloc[:, position])

    def rows(self, X: pd.DataFrame, where: slice) -> pd.DataFrame:
        return X.iloc[where]

    def take(self, X: pd.DataFrame, rows: Ints) -> pd.DataFrame:
        return X.iloc[rows]

    def kind(self, cells: pd.Series[Any], name: Hashable) -> Kind:
        dtype = cells.dtype
        if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
            return "category"
        if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
            return "number"
        return _kind_of_values(pd.api.types.infer_dtype(cells, skipna=True), dtype, name)

    def numbers(self, cells: pd.Series[Any], name: Hashable) -> Floats:
        dtype = cells.dtype
        if isinstance(dtype, pd.CategoricalDtype) or not (
            pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
        ):
            return _floats_of_objects(cells.to_numpy(dtype=object), name)
        if pd.api.types.is_integer_dtype(dtype) and len(cells):
            _refuse_large_integers(cells.min(), cells.max(), name)
        return cast(Floats, cells.to_numpy(dtype=np.float64, na_value=np.nan))

    def factorize(self, cells: pd.Series[Any]) -> tuple[Ints, list[Any]]:
        if isinstance(cells.dtype, pd.CategoricalDtype):
            return cells.cat.codes.to_numpy(dtype=np.intp), list(cells.cat.categories)
        codes, levels = _factorize(cells)
        return codes, list(levels)

    def native_levels(self, levels: Sequence[Any], like: pd.Series[Any]) -> Any:
        dtype = like.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            own = dtype.categories
            known = set(own)
            unseen = [level for level in levels if level not in known]
            categories = own.append(pd.Index(unseen)) if unseen else own
            return pd.Categorical(levels, categories, ordered=dtype.ordered)
        return _array_of(levels, dtype)

    def write_numbers(self, values: Floats, like: pd.Series[Any]) -> Any:
        dtype = like.dtype
        if dtype == np.float64:
            return values
        if isinstance(dtype, np.dtype):
            return _held(values, dtype)
        try:
            written = pd.array(pd.Series(values, copy=False).astype("Float64").mask(np.isnan(values)), dtype=dtype)
            exact = np.array_equal(written.to_numpy(dtype=np.float64, na_value=np.nan), values, equal_nan=True)
        except (TypeError, ValueError, OverflowError):
            return values
        return written if exact else values

    def write_levels(self, codes: Ints, native_levels: Any, missing: Any) -> Any:
        if (codes >= 0).all():
            return native_levels.take(codes)
        if isinstance(native_levels, np.ndarray) and native_levels.dtype == object:
            return _take_objects(native_levels, codes, missing)
        return pd.api.extensions.take(native_levels, codes, allow_fill=True)

    def objects(self, cells: pd.Series[Any], rows: Ints) -> Objects:
        return _plain_objects(cells.iloc[rows].astype(object).to_numpy())

    def labels(self, X: pd.DataFrame) -> pd.Index[Any]:
        return X.index

    def assemble(self, columns: list[Any], names: list[Hashable], like: pd.DataFrame | None) -> pd.DataFrame:
        frame = pd.DataFrame({at: _as_given(column) for at, column in enumerate(columns)}, copy=False)
        frame.columns = pd.Index(names) if like is None else like.columns
        if like is not None:
            frame.index = like.index
        return frame

    def prototype(self, cells: pd.Series[Any]) -> pd.Series[Any]:
        return cells.iloc[:0]

    def overlay(self, cells: pd.Series[Any], where: Bools, replacement: Any) -> Any:
        if cells.dtype != object:
            return replacement
        merged = cells.to_numpy(dtype=object, copy=True)
        merged[where] = np.asarray(replacement, dtype=object)[where]
        return merged

    def blank(self, X: pd.DataFrame, rows: Bools) -> pd.DataFrame:
        return X.where(np.broadcast_to(~rows[:, None], X.shape))


class PolarsFrames:
    """polars; imported by the caller, never by us."""

    label = "polars DataFrame"

    def names(self, X: Table) -> list[Hashable]:
        return list(X.columns)

    def n_rows(self, X: Table) -> int:
        return int(X.height)

    def column(self, X: Table, position: int) -> Cells:
        return X.to_series(position)

    def rows(self, X: Table, where: slice) -> Table:
        return X[where]

    def take(self, X: Table, rows: Ints) -> Table:
        return X[rows]

    def kind(self, cells: Cells, name: Hashable) -> Kind:
        pl = _polars()
        if cells.dtype.is_numeric():
            return "number"
        if cells.dtype in (pl.Boolean, pl.String, pl.Categorical, pl.Enum, pl.Null):
            return "category"
        return _kind_of_values(str(cells.dtype).lower(), cells.dtype, name)

    def numbers(self, cells: Cells, name: Hashable) -> Floats:
        pl = _polars()
        if not (cells.dtype.is_numeric() or cells.dtype == pl.Boolean):
            return _floats_of_objects(np.array(cells.to_list(), dtype=object), name)
        if cells.dtype.is_integer() and len(cells) > cells.null_count():
            _refuse_large_integers(cells.min(), cells.max(), name)
        return cast(Floats, cells.cast(pl.Float64).to_numpy())

    def factorize(self, cells: Cells) -> tuple[Ints, list[Any]]:
        pl = _polars()
        if cells.dtype in (pl.Categorical, pl.Enum):
            cells = cells.cast(pl.String)
        codes, levels = _factorize(np.array([*cells.to_list(), None], dtype=object)[:-1])
        return codes, list(levels)

    def native_levels(self, levels: Sequence[Any], like: Cells) -> Any:
        pl = _polars()
        dtype = like.dtype
        if dtype == pl.Enum:
            own = dtype.categories.to_list()
            unseen = [level for level in levels if level not in set(own)]
            dtype = pl.Enum([*own, *unseen]) if unseen else dtype
        return pl.Series(list(levels), dtype=dtype, strict=False)

    def write_numbers(self, values: Floats, like: Cells) -> Cells:
        pl = _polars()
        # A float column may mark missing by null or by NaN: keep to the one it uses.
        plain = pl.Series(values, nan_to_null=not like.dtype.is_float() or like.null_count() > 0)
        if like.dtype == pl.Float64:
            return plain
        written = plain.cast(like.dtype, strict=False)
        exact = np.array_equal(written.cast(pl.Float64).to_numpy(), values, equal_nan=True)
        return written if exact else plain

    def write_levels(self, codes: Ints, native_levels: Any, missing: Any) -> Cells:
        pl = _polars()
        positions = pl.Series(codes, dtype=pl.Int64)
        if (codes < 0).any():
            positions = positions.set(positions < 0, None)
        return native_levels.gather(positions)

    def objects(self, cells: Cells, rows: Ints) -> Objects:
        return _plain_objects(cells.gather(rows).to_list())

    def labels(self, X: Table) -> pd.Index[Any]:
        return pd.RangeIndex(X.height)

    def assemble(self, columns: list[Cells], names: list[Hashable], like: Table | None) -> Table:
        pl = _polars()
        return pl.DataFrame([c.alias(str(name)) for c, name in zip(columns, names, strict=True)])

    def prototype(self, cells: Cells) -> Cells:
        return cells.filter(cells.is_null()).head(1)

    def overlay(self, cells: Cells, where: Bools, replacement: Cells) -> Cells:
        return replacement

    def blank(self, X: Table, rows: Bools) -> Table:
        pl = _polars()
        keep = pl.lit(pl.Series(~rows))
        return X.select(pl.when(keep).then(pl.all()).otherwise(None).name.keep())


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
            raise SchemaError(_refusal(name, cells.dtype))
        return "number"

    def numbers(self, cells: Objects, name: Hashable) -> Floats:
        if cells.dtype.kind in "OUS":
            return _floats_of_objects(cells.astype(object), name)
        if cells.dtype.kind in "iu" and len(cells):
            _refuse_large_integers(cells.min(), cells.max(), name)
        return cells.astype(np.float64)

    def factorize(self, cells: Objects) -> tuple[Ints, list[Any]]:
        codes, levels = _factorize(cells.astype(object) if cells.dtype.kind in "US" else cells)
        return codes, list(levels)

    def native_levels(self, levels: Sequence[Any], like: Objects) -> Objects:
        return _array_of(levels, np.dtype(object) if like.dtype.kind in "US" else like.dtype)

    def write_numbers(self, values: Floats, like: Objects) -> Objects:
        return cast(Objects, values)  # ``assemble`` gives the whole array its dtype

    def write_levels(self, codes: Ints, native_levels: Any, missing: Any) -> Objects:
        if (codes >= 0).all():
            return cast(Objects, native_levels.take(codes))
        if native_levels.dtype == object:
            return _take_objects(native_levels, codes, missing)
        return cast(Objects, np.where(codes >= 0, native_levels.astype(float).take(codes), np.nan))

    def objects(self, cells: Objects, rows: Ints) -> Objects:
        return _plain_objects(cells[rows].tolist())

    def labels(self, X: Objects) -> pd.Index[Any]:
        return pd.RangeIndex(len(X))

    def assemble(self, columns: list[Objects], names: list[Hashable], like: Table | None) -> Objects:
        dtype = np.dtype(object) if like is None else like.dtype
        if dtype.kind in "biuf":
            return _held(np.column_stack(columns).astype(np.float64, copy=False), dtype)
        table = np.empty((len(columns[0]), len(columns)), dtype=object)
        for position, column in enumerate(columns):
            table[:, position] = column
        return table.astype(dtype.type) if dtype.kind in "US" else table

    def prototype(self, cells: Objects) -> Objects:
        return cells[:0].copy()

    def overlay(self, cells: Objects, where: Bools, replacement: Objects) -> Objects:
        if cells.dtype != object:
            return replacement
        merged = cells.copy()
        merged[where] = replacement[where]
        return merged

    def blank(self, X: Objects, rows: Bools) -> Objects:
        blanked = X.astype(float if X.dtype.kind in "biu" else object if X.dtype.kind in "US" else X.dtype)
        blanked[rows] = np.nan
        return blanked


def container_of(X: Table) -> Container:
    """The adapter for a table, or a SchemaError that says what to pass instead."""
    if isinstance(X, pd.DataFrame):
        return PandasFrames()
    if isinstance(X, np.ndarray):
        if X.ndim == 2:
            return NumpyArrays()
        raise SchemaError(
            f"X must have two dimensions, got an array of shape {X.shape}. "
            "Pass one row as X[[0]] or row.reshape(1, -1)."
        )
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.DataFrame):
        return PolarsFrames()
    advice = {
        "Series": "Pass one row as a table: X.iloc[[0]] keeps the columns and their types.",
        "LazyFrame": "Call .collect() first.",
        "list": "Pass np.asarray(X), or a DataFrame to keep each column's type.",
        "dict": "Pass pd.DataFrame(X).",
    }.get(type(X).__name__, "")
    if hasattr(X, "toarray"):
        advice = "Pass X.toarray()."
    raise SchemaError(
        f"X must be a pandas DataFrame, a polars DataFrame or a two-dimensional numpy array, "
        f"got {type(X).__module__}.{type(X).__name__}. {advice}".rstrip()
    )


def _plain_objects(values: Iterable[Any]) -> Objects:
    """Python values for people: no numpy scalars, missing as None."""
    values = [plain(value) for value in values]
    objects = np.empty(len(values), dtype=object)
    objects[:] = [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in values]
    return objects


def _as_given(column: Any) -> Any:
    """A column that a DataFrame takes as it is: it would read an array of Python strings as its own string dtype."""
    if isinstance(column, pd.Series):
        return column.array
    is_objects = isinstance(column, np.ndarray) and column.dtype == np.dtype(object)
    return pd.Series(column, dtype=object, copy=False) if is_objects else column


def _polars() -> Any:
    return sys.modules["polars"]


def _kind_of_values(inferred: str, dtype: object, name: Hashable) -> Kind:
    if inferred in _CATEGORY_LIKE:
        return "category"
    if inferred in _NUMBERS_AS_OBJECTS:
        return "numbers as objects"
    raise SchemaError(_refusal(name, dtype, inferred))


def _refusal(name: Hashable, dtype: object, inferred: str = "") -> str:
    what = f"{dtype} (holding {inferred} values)" if str(dtype) == "object" else f"{dtype}"
    return (
        f"column {name!r} has dtype {what}, which has no place in a distance between rows. Allowed are numbers, "
        "booleans, text and categories. Turn it into a number (for a date, such as days before a fixed day) or a "
        "category, train the model on that, or drop the column."
    )


def _refuse_large_integers(low: Any, high: Any, name: Hashable) -> None:
    if pd.isna(low) or max(abs(int(low)), abs(int(high))) <= _LARGEST_EXACT_INTEGER:
        return
    worst = low if abs(int(low)) > _LARGEST_EXACT_INTEGER else high
    raise SchemaError(
        f"column {name!r} holds {int(worst)}, an integer that a float cannot hold exactly (the limit is 2**53). "
        "If it is an identifier, drop it or name it in categorical_features; otherwise rescale it."
    )


def _floats_of_objects(values: Objects, name: Hashable) -> Floats:
    floats = np.full(len(values), np.nan)
    for position, value in enumerate(values):
        if isinstance(value, (Real, Decimal, np.bool_)):
            floats[position] = float(value)
        elif not pd.api.types.is_scalar(value) or not pd.isna(value):
            raise SchemaError(
                f"column {name!r} is declared numeric but row {position} holds {value!r}. "
                "Clean the value, or name the column in categorical_features."
            )
    return floats


def _factorize(cells: Any) -> tuple[Ints, Any]:
    try:
        codes, levels = pd.factorize(cells, use_na_sentinel=True)
    except TypeError as error:
        raise SchemaError(
            f"a categorical column holds a value that cannot be a category ({error}). "
            "Allowed are strings, numbers, booleans and other hashable values."
        ) from error
    return codes.astype(np.intp, copy=False), levels


def _array_of(levels: Sequence[Any], dtype: Any) -> Any:
    """Levels as an array of this dtype, or of one that can hold them where it cannot."""
    if dtype != np.dtype(object):
        try:
            array = pd.array(list(levels), dtype=dtype) if not isinstance(dtype, np.dtype) else np.array(levels, dtype)
            if list(array) == list(levels):
                return array
        except (TypeError, ValueError, OverflowError):
            pass
        if all(isinstance(level, (Real, np.bool_)) for level in levels):
            return np.array(levels)
    objects = np.empty(len(levels), dtype=object)
    objects[:] = levels
    return objects


def _take_objects(levels: Objects, codes: Ints, missing: Any) -> Objects:
    taken = np.full(len(codes), missing, dtype=object)
    taken[codes >= 0] = levels.take(codes[codes >= 0])
    return taken


def _held(values: Floats, dtype: np.dtype[Any]) -> Any:
    """The values in this dtype if it holds every one of them exactly, else as they are."""
    if dtype in (np.dtype(object), np.dtype(np.float64)):
        return values.astype(dtype, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        cast_values = values.astype(dtype)
    return cast_values if np.array_equal(cast_values.astype(np.float64), values, equal_nan=True) else values
