"""The columns of a table, as JSON and back, and encoded rows as an Arrow file that other tools can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import FileError, NicecfError, plain
from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.batches import uncompressed
from nicecf.explain.saving.checks import check_column, check_statistics, floats, keys, sequence, switch, whole, wholes
from nicecf.explain.saving.dtypes import (
    CONTAINERS,
    WITHOUT_NAMES,
    arrow,
    container_name,
    header_from_json,
    header_to_json,
    is_same_dtype,
    prototype_from_json,
    prototype_to_json,
)
from nicecf.explain.saving.moments import temporal_from_json, temporal_to_json
from nicecf.explain.saving.seen import one_hot_from_json, one_hot_to_json, seen_from_json, seen_to_json
from nicecf.support.json_values import NotHeld, from_json, to_json
from nicecf.support.types import Floats
from nicecf.tables.column import Column
from nicecf.tables.files.arrow import extension_in
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import ColumnStatistics, TableStatistics
from nicecf.tables.temporal import DAY, Temporal, whole_numbers


def schema_to_json(schema: Schema, statistics: TableStatistics) -> dict[str, Any]:
    """Everything about the columns; raises FileError if part of it cannot be saved."""
    kind = container_name(schema)
    said = {
        "container": kind,
        "header": _written(lambda: header_to_json(schema, kind), "the names of the columns"),
        "columns": [
            _written(lambda one=one, of=of: _column_to_json(one, of, kind), f"column {one.name!r}")
            for one, of in zip(schema.columns, statistics.columns, strict=True)
        ],
        "profile_rows": statistics.n_rows,
        "seen": None if statistics.seen is None else [seen_to_json(one) for one in statistics.seen],
        "one_hot": [one_hot_to_json(one) for one in statistics.one_hot],
    }
    _check_it_comes_back(schema, said)
    return said


def schema_from_json(said: dict[str, Any]) -> tuple[Schema, TableStatistics]:
    """The columns from their description."""
    named = ("container", "header", "columns", "profile_rows", "seen", "one_hot")
    keys({"seen": None, "one_hot": [], **said}, named, "its table")
    kind = said["container"]
    container = CONTAINERS[kind]()
    columns, statistics = [], []
    for one in sequence(said["columns"], "columns"):
        column = _column_from_json(one, container, kind)
        columns.append(column)
        statistics.append(_statistics_from_json(one["profile"], column))
    if len({"is_free_text" in one for one in said["columns"]}) > 1:  # files of before do not say it of any
        raise Damaged("it says of some columns only whether they are free text")
    names = [column.name for column in columns]
    if len(set(names)) < len(names) or (kind in WITHOUT_NAMES and names != [f"x{at}" for at in range(len(names))]):
        raise Damaged("the names of its columns are invalid")
    empty = header_from_json(said["header"], columns, kind)
    if kind not in WITHOUT_NAMES and list(empty.columns) != names:
        raise Damaged("the names of its columns do not match its header")
    n_rows = whole(said["profile_rows"], "rows", least=1)
    # Files of before do not say what training rows held: then nothing is known to be new.
    seen = None if said.get("seen") is None else seen_from_json(said["seen"], columns)
    one_hot = tuple(one_hot_from_json(one, columns) for one in sequence(said.get("one_hot", []), "one_hot"))
    return Schema(container, tuple(columns), empty), TableStatistics(tuple(statistics), n_rows, seen, one_hot)


def _column_from_json(said: Any, container: Any, kind: str) -> Column:
    named = ("name", "kind", "dtype", "levels", "missing", "has_missing")
    # Files of before do not say whether a column is free text, that it is read by its order, or that it holds dates.
    later = {"is_free_text": False, "is_ordinal": False, "temporal": None}
    keys({**later, **said}, (*named, *later, "profile"), "a column")
    is_ordinal = switch(said.get("is_ordinal", False), "is_ordinal")
    is_free_text = switch(said.get("is_free_text", False), "is_free_text")
    levels = tuple(from_json(sequence(said["levels"], "levels")))
    prototype = prototype_from_json(said["dtype"], levels, kind)
    has_missing, missing = switch(said["has_missing"], "has_missing"), from_json(said["missing"])
    if said["kind"] not in ("category", "number"):
        raise Damaged(f"a column has the unknown kind {said['kind']!r}")
    temporal = temporal_from_json(said.get("temporal"), said["kind"] == "number", prototype, container)
    if temporal is not None:
        if levels or is_free_text or not pd.isna(missing):
            raise Damaged("a column of dates is said to be something else")
        return Column(
            from_json(said["name"]), False, prototype, missing=missing, has_missing=has_missing, temporal=temporal
        )
    if said["kind"] == "number":
        if (
            levels
            or has_missing
            or is_free_text
            or is_ordinal
            or not (isinstance(missing, float) and np.isnan(missing))
        ):
            raise Damaged("a numeric column has categories")
        return Column(from_json(said["name"]), False, prototype)
    column = Column(
        from_json(said["name"]),
        True,
        prototype,
        levels,
        missing,
        has_missing,
        container.native_levels(levels, prototype),
        is_free_text=is_free_text,
        is_ordinal=is_ordinal,
    )
    check_column(column, container)
    return column


def _statistics_from_json(said: Any, column: Column) -> ColumnStatistics:
    keys(said, ("decimals", "is_exact", "edges", "counts", "n_missing"), "a histogram")
    statistics = ColumnStatistics(
        whole(said["decimals"], "decimals"),
        switch(said["is_exact"], "is_exact"),
        floats(said["edges"], "edges"),
        np.array(wholes(said["counts"], "counts"), dtype=np.intp),
        whole(said["n_missing"], "n_missing"),
    )
    check_statistics(statistics, column)
    return statistics


def _column_to_json(column: Column, statistics: ColumnStatistics, kind: str) -> dict[str, Any]:
    return {
        "name": to_json(column.name),
        "kind": "category" if column.is_categorical else "number",
        "dtype": prototype_to_json(column.prototype, kind),
        "levels": to_json(list(column.levels)),
        "missing": to_json(column.missing),
        "has_missing": column.has_missing,
        "is_free_text": column.is_free_text,
        "is_ordinal": column.is_ordinal,
        **({} if column.temporal is None else {"temporal": temporal_to_json(column.temporal)}),
        "profile": {
            "decimals": statistics.decimals,
            "is_exact": statistics.is_exact,
            "edges": statistics.edges.tolist(),
            "counts": statistics.counts.tolist(),
            "n_missing": statistics.n_missing,
        },
    }


def _written(write: Any, what: str) -> Any:
    try:
        return write()
    except NotHeld as error:
        raise FileError(
            f"{what} cannot be saved: values of type {error} are not supported. Use text, numbers or "
            "booleans instead, and fit again."
        ) from None


def _check_it_comes_back(schema: Schema, said: dict[str, Any]) -> None:
    """Check now that it can be read: later there may be only the file."""
    for column, one in zip(schema.columns, said["columns"], strict=True):
        dtype = column.prototype.dtype
        try:
            again = prototype_from_json(one["dtype"], column.levels, said["container"]).dtype
        except (TypeError, ValueError, NotImplementedError):
            again = None
        if again is None or not is_same_dtype(again, dtype):
            raise FileError(
                f"column {column.name!r} cannot be saved: its dtype {dtype} cannot be restored from its name. Convert "
                "it, to float64 or object, and fit again."
            )
    try:
        again, _ = schema_from_json(said)
        is_same = again.names == schema.names and _same_header(again.empty, schema.empty)
    except (TypeError, ValueError):
        is_same = False
    if not is_same:
        raise FileError(
            "the names of the columns cannot be saved: they would not come back unchanged. Use text, as in "
            "X.columns = [str(name) for name in X.columns], and fit again."
        )


def _same_header(one: Any, other: Any) -> bool:
    if not hasattr(one, "columns"):
        return is_same_dtype(one.dtype, other.dtype)
    names, others = one.columns, other.columns
    if isinstance(names, list):  # polars
        return names == others
    return type(names) is type(others) and names.identical(others) and is_same_dtype(names.dtype, others.dtype)


def table_to_arrow(values: Floats, schema: Schema) -> bytes:
    """Encoded rows as an Arrow file: numbers in the dtype of their column, categories as values."""
    pa, ipc = arrow(), arrow(".ipc")
    sink = pa.BufferOutputStream()
    forms = _forms(schema)
    columns = [form.checked(values[:, j]) for j, form in enumerate(forms)]
    batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema([(form.name, form.type) for form in forms]))
    with ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    held: bytes = sink.getvalue().to_pybytes()
    return held


def table_from_arrow(held: bytes, schema: Schema, n_rows: int) -> Floats:
    """The encoded rows from the file; Damaged if it does not have the columns of the schema."""
    pa, forms = arrow(), _forms(schema)
    with uncompressed(held) as reader:
        expected = pa.schema([(form.name, form.type) for form in forms])
        found = extension_in(reader.schema)
        if found is not None:
            raise Damaged(f"column {found[0]!r} of its table is of the extension type {found[1]!r}")
        if not reader.schema.equals(expected):
            raise Damaged("the columns of its table do not match its manifest")
        batches = list(reader)
    if len(batches) != 1:
        raise Damaged("its table is split into several batches")
    (batch,) = batches
    batch.validate(full=True)
    if batch.num_rows != n_rows:
        raise Damaged(f"its table has {batch.num_rows} rows, but its manifest says {n_rows}")
    values = np.empty((n_rows, len(forms)), order="F")
    for j, form in enumerate(forms):
        values[:, j] = form.read(batch.column(j))
    return values


@dataclass(frozen=True, eq=False)
class _Form:
    """One column in an Arrow file. ``levels``: the categories as stored; ``missing``: how a missing one is encoded."""

    name: str
    type: Any
    is_categorical: bool
    levels: Any
    dtype: np.dtype[Any]
    missing: float = np.nan
    # Of dates and durations: how many of our units one of the file's lasts.
    per: int = 0

    def checked(self, values: Floats) -> Any:
        """The cells to write; they are read back at once, because later there may be only the file."""
        cells = self.written(values)
        if not np.array_equal(self.read(cells), values, equal_nan=True):
            raise NicecfError(
                f"{self.name!r} would not come back unchanged. This is a bug in nicecf: please report it."
            )
        return cells

    def written(self, values: Floats) -> Any:
        pa = arrow()
        if self.per:
            whole, missing = whole_numbers(values)
            return pa.array((whole // self.per).astype(self.dtype), mask=missing).cast(self.type)
        if not self.is_categorical:
            missing = np.isnan(values)
            return pa.array(np.where(missing, 0.0, values).astype(self.dtype), self.type, mask=missing)
        codes = codes_of(values)
        missing, codes = codes < 0, np.maximum(codes, 0).astype(self.dtype)
        indices = pa.array(codes, mask=missing)
        if pa.types.is_dictionary(self.type):
            return pa.DictionaryArray.from_arrays(indices, self.levels)
        return self.levels.take(indices)

    def read(self, cells: Any) -> Floats:
        pa = arrow()
        if self.per:
            whole = cells.cast(pa.from_numpy_dtype(self.dtype)).cast(pa.int64())
            held: Floats = whole.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64) * self.per
            held[cells.is_null().to_numpy(zero_copy_only=False)] = np.nan
            return held
        if not self.is_categorical:
            numbers = cells.cast(pa.int8()) if pa.types.is_boolean(self.type) else cells
            values: Floats = numbers.cast(pa.float64()).to_numpy(zero_copy_only=False)
            if np.count_nonzero(np.isnan(values)) != cells.null_count:
                raise Damaged(f"the column {self.name!r} of its table holds NaN, but a missing number must be null")
            return values
        if pa.types.is_dictionary(self.type):
            if not cells.dictionary.equals(self.levels):
                raise Damaged(f"the column {self.name!r} of its table has other categories than its manifest")
            codes = cells.indices
        else:
            codes = arrow(".compute").index_in(cells, value_set=self.levels)
            if codes.null_count != cells.null_count:
                raise Damaged(f"the column {self.name!r} of its table has a category that is not in its manifest")
        values = codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.float64)
        return np.where(values < 0, self.missing, values)


def _forms(schema: Schema) -> list[_Form]:
    names = [str(name) for name in schema.names]
    if len(set(names)) < len(names):  # such as 1 and '1'
        names = [f"{position}: {name}" for position, name in enumerate(names)]
    return [
        _form_of_categories(name, column) if column.is_categorical else _form_of_numbers(name, column, schema)
        for name, column in zip(names, schema.columns, strict=True)
    ]


def _form_of_numbers(name: str, column: Column, schema: Schema) -> _Form:
    pa = arrow()
    if column.temporal is not None:
        return _form_of_moments(name, column.temporal)
    dtype = schema.container.number_dtype(column.prototype)
    if dtype.kind == "f" and dtype.itemsize < 4:
        dtype = np.dtype(np.float32)  # few tools read half-precision floats
    elif dtype.kind not in "biuf" or dtype.itemsize > 8:
        dtype = np.dtype(np.float64)
    dtype = dtype.newbyteorder("=")
    return _Form(name, pa.from_numpy_dtype(dtype), False, None, dtype)


def _form_of_moments(name: str, temporal: Temporal) -> _Form:
    pa, whole = arrow(), np.dtype(np.int64)
    if temporal.kind == "date":
        return _Form(name, pa.date32(), False, None, np.dtype(np.int32), per=DAY)
    if temporal.kind == "duration":
        return _Form(name, pa.duration("us"), False, None, whole, per=1)
    return _Form(name, pa.timestamp("us", None if temporal.zone is None else "UTC"), False, None, whole, per=1)


def _form_of_categories(name: str, column: Column) -> _Form:
    pa = arrow()
    levels: list[Any] = [plain(level) for level in column.levels]
    n_levels = len(levels)
    dtype = np.dtype(np.int8 if n_levels < 2**7 else np.int16 if n_levels < 2**15 else np.int32)
    kinds = {type(level) for level in levels}
    for kind, of_arrow in ((bool, pa.bool_()), (int, pa.int64()), (float, pa.float64())):
        is_one_each = len(set(levels)) == n_levels  # not true of 0.0 and -0.0
        if kinds == {kind} and is_one_each and (kind is not int or all(-(2**63) <= one < 2**63 for one in levels)):
            return _Form(name, of_arrow, True, pa.array(levels, of_arrow), dtype, column.missing_code)
    try:
        texts = pa.array([str(level) for level in levels], pa.string())
    except UnicodeEncodeError:
        raise FileError(f"column {column.name!r} cannot be saved: one of its categories is not valid text.") from None
    return _Form(name, pa.dictionary(pa.from_numpy_dtype(dtype), pa.string()), True, texts, dtype, column.missing_code)
