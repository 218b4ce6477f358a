"""Parquet, and Arrow's own files (Feather) and streams; needs pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nicecf._extras import require
from nicecf.exceptions import FileError
from nicecf.tablefiles.cells import FileTable


def pyarrow(name: str) -> Any:
    """The package, or an ImportError that says how to get it."""
    require("pyarrow.parquet", extra="files", needed_by=name)
    return require("pyarrow", extra="files", needed_by=name)


def read(content: bytes, name: str, kind: str) -> FileTable:
    """A table with the types, and the row labels, that the file has."""
    pa = pyarrow(f"reading {name}")
    source = pa.BufferReader(content)
    try:
        table = pa.parquet.read_table(source) if kind == "parquet" else _read_arrow(pa, content)
        frame: pd.DataFrame = table.to_pandas()
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        what = "Parquet" if kind == "parquet" else "Arrow"
        raise FileError(
            f"{name} cannot be read as {what} ({_told(error)}). Is it complete, and is it what its name says?"
        ) from error
    return FileTable(name, in_floats(frame), False, _where)


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


def _read_arrow(pa: Any, content: bytes) -> Any:
    is_file = content.startswith(b"ARROW1")
    opened = pa.ipc.open_file(content) if is_file else pa.ipc.open_stream(content)
    return opened.read_all()


def _told(error: Exception) -> str:
    words = " ".join(str(error).split())
    return words if len(words) <= 200 else f"{words[:200]} ..."


def _where(row: int) -> str:
    return f"row {row:,}"
