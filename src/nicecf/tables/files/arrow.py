"""Parquet, and Arrow's own files (Feather) and streams; needs pyarrow."""

from __future__ import annotations

import base64
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from nicecf.exceptions import FileError
from nicecf.support.extras import require
from nicecf.tables.files.cells import FileTable, TableFormat

_EXTENSION = b"ARROW:extension:name"


def format_of(kind: Literal["parquet", "arrow"], *, endings: tuple[str, ...]) -> TableFormat:
    """One of the two; both compress by themselves."""
    read_kind, write_kind = partial(read, kind=kind), partial(written, kind=kind)
    return TableFormat(endings, read_kind, write_kind, can_be_zipped=False, check=pyarrow)


def pyarrow(name: str) -> Any:
    """The package, or an ImportError that says how to get it."""
    require("pyarrow.parquet", extra="files", needed_by=name)
    return require("pyarrow", extra="files", needed_by=name)


def read(content: bytes, name: str, kind: str) -> FileTable:
    """A table with the types, and the row labels, that the file has."""
    pa = pyarrow(f"reading {name}")
    what = "Parquet" if kind == "parquet" else "Arrow"
    try:
        opened, schemas = _opened(pa, content, kind)
        found = next((found for schema in schemas if (found := extension_in(schema))), None)
        frame = None if found else _frame(opened, kind)
    except Exception as error:  # of a file that is damaged, or made by hand: whatever can be wrong in it
        raise FileError(
            f"{name} cannot be read as {what} ({_told(error)}). Is it complete, and is it what its name says?"
        ) from error
    if found:
        column, of = found
        raise FileError(
            f"{name} cannot be used: column {column!r} is of the extension type {of!r}, which {what} does not have "
            f"itself. Convert it to text or a number, as by table[{column!r}].astype(str), and write the file again."
        )
    return FileTable(name, in_floats(frame), False, _where)


def extension_in(schema: Any) -> tuple[str, str] | None:
    """The first column of an Arrow schema with a type that others define, and its name; None if there is none.

    Such a type may come with code that is run when it is read, and means nothing where that code is not known.
    """
    pa = pyarrow("a table of Arrow")
    for field in schema:
        of = _extension(pa, field.type, field.metadata)
        if of is not None:
            return field.name, of
    return None


def _extension(pa: Any, kind: Any, metadata: Any) -> str | None:
    if isinstance(kind, pa.BaseExtensionType):
        return str(kind.extension_name)
    if metadata and _EXTENSION in metadata:  # one that is not known here
        return str(metadata[_EXTENSION].decode("utf-8", "replace"))
    types = pa.types
    inner: list[tuple[Any, Any]] = []
    if types.is_struct(kind) or types.is_union(kind):
        inner = [(kind.field(at).type, kind.field(at).metadata) for at in range(kind.num_fields)]
    elif types.is_map(kind):
        inner = [(field.type, field.metadata) for field in (kind.key_field, kind.item_field)]
    elif hasattr(kind, "value_field"):  # lists of any kind
        inner = [(kind.value_field.type, kind.value_field.metadata)]
    elif hasattr(kind, "value_type"):  # dictionaries and runs
        inner = [(kind.value_type, None)]
    return next((of for of in (_extension(pa, *one) for one in inner) if of is not None), None)


def in_floats(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table, decimals as floats: distances and models cannot use them."""
    decimals = [name for name in frame if pd.api.types.infer_dtype(frame[name], skipna=True) == "decimal"]
    return frame.astype(dict.fromkeys(decimals, np.float64)) if decimals else frame


def written(frame: pd.DataFrame, name: str, kind: str) -> bytes:
    """A frame as a file; a column of values that Arrow has no common type for becomes text."""
    pa = pyarrow(f"writing {name}")
    columns = [_column(pa, frame.iloc[:, at]) for at in range(frame.shape[1])]
    table = pa.Table.from_arrays(columns, names=[str(column) for column in frame.columns])
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pa.parquet.write_table(table, sink)
    else:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _column(pa: Any, cells: pd.Series[Any]) -> Any:
    try:
        return pa.Array.from_pandas(cells)
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array([None if missing else str(cell) for cell, missing in zip(cells, cells.isna(), strict=True)])


def _opened(pa: Any, content: bytes, kind: str) -> tuple[Any, list[Any]]:
    """The file, of which nothing but schemas has been read, and these: its own, and that of the table written to it."""
    if kind == "parquet":
        file = pa.parquet.ParquetFile(pa.BufferReader(content))
        # Older pyarrow forgets the extension types within a map; the schema that the writer left still names them.
        left = (file.metadata.metadata or {}).get(b"ARROW:schema")
        written_as = [] if left is None else [pa.ipc.read_schema(pa.py_buffer(base64.b64decode(left)))]
        return file, [file.schema_arrow, *written_as]
    reader = pa.ipc.open_file(content) if content.startswith(b"ARROW1") else pa.ipc.open_stream(content)
    return reader, [reader.schema]


def _frame(opened: Any, kind: str) -> pd.DataFrame:
    table = opened.read() if kind == "parquet" else opened.read_all()
    table.validate(full=True)  # Arrow believes a file that says where its texts end
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _told(error: Exception) -> str:
    words = " ".join(str(error).split())
    if isinstance(error, LookupError):  # whose words are but a name
        words = f"{type(error).__name__}: {words}"
    return words if len(words) <= 200 else f"{words[:200]} ..."


def _where(row: int) -> str:
    return f"row {row:,}"
