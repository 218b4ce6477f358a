"""Folders of Parquet files as one table, read file by file and part by part; needs pyarrow."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from nicecf.exceptions import FileError, did_you_mean, listed
from nicecf.support.files import existing
from nicecf.tables.files.arrow import extension_in, pyarrow
from nicecf.tables.parts import TableInParts

# A part of this many rows takes little memory, and is large enough for a model to be asked about at once.
ROWS_IN_PART = 100_000
ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class ParquetTable(TableInParts):
    """The Parquet files of a folder as one table, by the order of their names.

    ``columns``: those that are read; ``schema``: the types of all of them.
    """

    name: str
    paths: tuple[Path, ...]
    columns: tuple[str, ...]
    schema: Any

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> ParquetTable:
        """A folder of Parquet files, or one such file; FileError if there is none, or if their columns differ."""
        paths = parquet_files(path)
        for one in paths:
            _check_not_partitioned(one, path)
        schema = _schema_of(paths[0])
        for one in paths[1:]:
            schema = _joined(schema, _schema_of(one), paths[0], one)
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        columns = tuple(one for one in schema.names if one not in index)
        return cls(os.fspath(path), tuple(paths), columns, schema)

    def without(self, columns: Collection[str]) -> ParquetTable:
        """The same rows without some columns."""
        left = tuple(one for one in self.columns if one not in set(columns))
        return replace(self, columns=left)

    def only(self, columns: Sequence[str]) -> ParquetTable:
        """The same rows with these columns, in this order; FileError where there is no such column."""
        columns = [str(one) for one in columns]
        for one in columns:
            if one not in self.columns:
                raise FileError(
                    f"{self.name} has no column {one!r}; its columns are {listed(self.columns)}."
                    f"{did_you_mean(one, self.columns)}"
                )
        return replace(self, columns=tuple(columns))

    def labels(self, column: str) -> pd.Series[Any]:
        """A column as a whole, text as categories; FileError where there is no such column, or a cell without value."""
        parts = [part.iloc[:, 0] for part in self.only([column])]
        n_missing = sum(int(part.isna().sum()) for part in parts)
        if n_missing:
            raise FileError(f"{self.name} has {n_missing:,} rows without a label in {column!r}; remove them.")
        if parts and not pd.api.types.is_numeric_dtype(parts[0].dtype):
            return pd.Series(union_categoricals([part.astype("category") for part in parts]), name=column)
        return pd.concat(parts, ignore_index=True) if parts else pd.Series(name=column)

    @cached_property
    def n_rows(self) -> int:
        """By what the files say of themselves; asked once, since there may be thousands."""
        return sum(opened_parquet(path).metadata.num_rows for path in self.paths)

    def like(self) -> pd.DataFrame:
        """The first part; and for a column without a value there, a row with one."""
        parts = iter(self)
        first = next((part for part in parts if len(part)), None)
        if first is None:
            raise FileError(f"{self.name} has no rows.")
        rows, empty = [first], [name for name in first if first[name].isna().all()]
        for part in parts if empty else ():
            found = {name: part[name].first_valid_index() for name in empty}
            rows += [part.loc[[row]] for row in found.values() if row is not None]
            empty = [name for name, row in found.items() if row is None]
            if not empty:
                break
        return pd.concat(rows, ignore_index=True) if len(rows) > 1 else first

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for path in self.paths:
            for batch in _batches(path, self.columns):
                yield self._frame(batch)

    def _frame(self, batch: Any) -> pd.DataFrame:
        """A part as a frame, with the dtypes that the whole table would have."""
        pa = pyarrow("a folder of Parquet files")
        table = pa.Table.from_batches([batch]).select(list(self.columns))
        fields = [self.schema.field(name) for name in self.columns]
        # A column of nulls in one file has no type of its own. Widths of dictionaries are up to each file.
        types = [field if pa.types.is_null(own.type) else own for field, own in zip(fields, table.schema, strict=True)]
        frame: pd.DataFrame = table.cast(pa.schema(types, self.schema.metadata)).to_pandas()
        wanted: dict[Any, Any] = {}
        for field, name, dtype in zip(fields, frame.columns, frame.dtypes, strict=True):
            # Integers and booleans with a missing value are something else in pandas, wherever in the table it is.
            if field.name in self._with_missing and isinstance(dtype, np.dtype) and dtype.kind in "biu":
                wanted[name] = "object" if dtype.kind == "b" else "float64"
            elif pa.types.is_decimal(field.type):
                wanted[name] = "float64"
            elif field.name in self._categories:
                wanted[name] = pd.CategoricalDtype(self._categories[field.name], ordered=field.type.ordered)
        return frame.astype(wanted).reset_index(drop=True)

    @cached_property
    def _categories(self) -> dict[str, list[Any]]:
        """The categories of columns that are dictionaries, in the order in which files and their parts name them."""
        pa = pyarrow("a folder of Parquet files")
        names = [name for name in self.columns if pa.types.is_dictionary(self.schema.field(name).type)]
        found: dict[str, dict[Any, None]] = {name: {} for name in names}
        for path in self.paths if names else ():
            for batch in _batches(path, names):
                for name in names:
                    column = batch.column(batch.schema.get_field_index(name))
                    if not pa.types.is_null(column.type):
                        found[name] |= dict.fromkeys(column.dictionary.to_pylist())
        return {name: [one for one in levels if one is not None] for name, levels in found.items()}

    @cached_property
    def _with_missing(self) -> frozenset[str]:
        """The columns in which some cell is missing, by what the files say, or by looking at them."""
        return frozenset(name for path in self.paths for name in _with_missing_in(path, self.columns))


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """The Parquet files in a folder and below it, by name, or the one that is named; FileError if there is none.

    What begins with a dot or an underscore is not a part of the table: Spark and others mark so what is not finished.
    """
    if not os.path.isdir(path):
        return [Path(existing(path))]
    found = [one for one in sorted(Path(path).rglob("*")) if one.suffix.lower() in ENDINGS and one.is_file()]
    found = [one for one in found if not any(part.startswith(("_", ".")) for part in one.relative_to(path).parts)]
    if not found:
        raise FileError(f"the folder {os.fspath(path)} has no Parquet files: none that ends in {' or '.join(ENDINGS)}.")
    return found


def opened_parquet(path: Path) -> Any:
    """A Parquet file; FileError if it is none."""
    parquet = pyarrow(f"reading {path}").parquet
    try:
        return parquet.ParquetFile(path)
    except Exception as error:  # of a file that is damaged: whatever can be wrong in it
        raise FileError(
            f"{path} cannot be read as Parquet ({' '.join(str(error).split())[:200]}). Is it complete, and is it what "
            "its name says?"
        ) from error


def _batches(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    pa = pyarrow(f"reading {path}")
    try:
        yield from opened_parquet(path).iter_batches(ROWS_IN_PART, columns=list(columns), use_threads=False)
    except pa.ArrowException as error:
        raise FileError(f"{path} cannot be read as Parquet ({' '.join(str(error).split())[:200]}).") from error


def _schema_of(path: Path) -> Any:
    schema = opened_parquet(path).schema_arrow
    twice = [name for name in dict.fromkeys(schema.names) if schema.names.count(name) > 1]
    if twice:
        raise FileError(f"{path} has more than one column called {listed(twice)}; rename one of them.")
    if found := extension_in(schema):
        column, of = found
        raise FileError(
            f"{path} cannot be used: column {column!r} is of the extension type {of!r}, which Parquet does not have "
            "itself. Convert it to text or a number, and write the file again."
        )
    return schema


def _joined(first: Any, schema: Any, of_first: Path, path: Path) -> Any:
    """The schema of two files; FileError unless they have the same columns, of the same types."""
    pa = pyarrow(f"reading {path}")
    missing = [name for name in first.names if name not in schema.names]
    extra = [name for name in schema.names if name not in first.names]
    if missing or extra:
        what = f"lacks {listed(missing)}" if missing else f"also has {listed(extra)}"
        raise FileError(f"{path} {what}, unlike {of_first}: all files of a folder must have the same columns.")
    for at, name in enumerate(first.names):
        own, other = schema.field(name).type, first.field(name).type
        if pa.types.is_null(other):  # a column in which all is missing
            first = first.set(at, schema.field(name))
        elif not own.equals(other) and not pa.types.is_null(own) and not _are_like_dictionaries(own, other):
            raise FileError(
                f"column {name!r} is {own} in {path}, but {other} in {of_first}: all files of a folder must have the "
                "same types. Convert one of them."
            )
    return first


def _are_like_dictionaries(one: Any, other: Any) -> bool:
    """Whether two types are dictionaries of the same values, whatever the width of their codes."""
    pa = pyarrow("a folder of Parquet files")
    if not (pa.types.is_dictionary(one) and pa.types.is_dictionary(other)):
        return False
    return bool(one.value_type.equals(other.value_type) and one.ordered == other.ordered)


def _check_not_partitioned(path: Path, folder: str | os.PathLike[str]) -> None:
    """FileError for a file in a folder that stands for the value of a column: the file itself does not have it."""
    named = [part for part in path.parts[len(Path(folder).parts) : -1] if "=" in part]
    if named:
        raise FileError(
            f"{os.fspath(folder)} is partitioned: {named[0]} stands for a column that {path.name} does not have. Write "
            "the table again with that column in its files."
        )


def _with_missing_in(path: Path, columns: Sequence[str]) -> list[str]:
    """The columns of a file in which some cell is missing."""
    metadata = opened_parquet(path).metadata
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    statistics: dict[str, list[Any]] = {}
    for group in groups:
        for at in range(group.num_columns):
            column = group.column(at)
            statistics.setdefault(column.path_in_schema, []).append(column.statistics)
    return [name for name in columns if _has_missing(path, name, statistics.get(name, [None]))]


def _has_missing(path: Path, column: str, statistics: Sequence[Any]) -> bool:
    """By what the file says of its row groups or, where it does not, by looking: of lists, it says nothing."""
    if all(one is not None and one.has_null_count for one in statistics):
        return any(one.null_count for one in statistics)
    return any(batch.column(0).null_count for batch in _batches(path, [column]))
