"""A table that somebody uploads -> rows as requests have them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import FileError, NicecfError
from nicecf.service import page
from nicecf.service.refusals import wrong
from nicecf.service.rows import RowReader
from nicecf.support.types import Json
from nicecf.tables import files
from nicecf.tables.column import Column
from nicecf.tables.files.cells import FileTable
from nicecf.tables.files.json_lines import json_cell

_NAME = "the file"
# Options of commands and of functions, in messages that are written for these.
_OPTION = re.compile(r"--(decimal|encoding|format|id|ignore|sep|text)\b")
_ADVICE = "Save the file again as CSV in UTF-8, with one decimal mark in all numbers."
# Reading costs time for each line and column, so files with far too many are refused before. Text in quotes may go over
# several lines, and a file may have columns that the explainer does not know: both bounds are far above real files.
_LINES_PER_ROW = 20
_MORE_COLUMNS = 1_000


@dataclass(frozen=True, eq=False)
class Upload:
    """The rows of a file, what each is called, and the columns that the explainer does not know."""

    instances: list[dict[str, Json]]
    labels: list[str]
    left_out: list[str]
    layout: dict[str, str]


def read_csv(content: bytes, reader: RowReader, most_rows: int) -> Upload:
    """A CSV file, laid out as any spreadsheet does; Refused with what is wrong, where, and what to do."""
    try:
        return _read(content, reader, most_rows)
    except NicecfError as error:
        raise wrong("", _without_options(str(error))) from None


def _read(content: bytes, reader: RowReader, most_rows: int) -> Upload:
    if not content.strip():
        raise FileError(f"{_NAME} is empty; it needs a header with the names of the columns, and rows below it.")
    if content.startswith(b"\x1f\x8b"):
        raise FileError(f"{_NAME} is compressed; unpack it first.")
    _check_size(content, most_rows, len(reader.columns) + _MORE_COLUMNS)
    columns = [_in_pandas(one) for one in reader.schema.columns]
    table = _named(_without_apostrophes(files.FORMATS["csv"].read(content, _NAME)), columns, reader)
    if not len(table.frame):
        raise FileError(f"{_NAME} has no rows below its header.")
    if len(table.frame) > most_rows:
        raise FileError(f"{_NAME} has {len(table.frame):,} rows; send at most {most_rows:,} at a time.")
    known = {str(one.name) for one in columns}
    left_out = [str(name) for name in table.frame.columns if str(name) not in known]
    frame = files.like(table, columns, ignore=left_out)
    cells = [[json_cell(value) for value in frame.iloc[:, j].tolist()] for j in range(frame.shape[1])]
    rows = list(zip(*cells, strict=True))
    for at, row in enumerate(rows):
        for one, cell in zip(reader.columns, row, strict=True):
            if (said := one.check(cell)) is not None:
                raise FileError(f"{_NAME}, {table.where(at)}: column {one.key!r}: {said}.")
    keys = [one.key for one in reader.columns]
    instances = [dict(zip(keys, row, strict=True)) for row in rows]
    recognised = files.with_decimal(table, files.number_columns(columns)).recognised
    return Upload(instances, _labels(table, left_out), left_out, recognised)


def _check_size(content: bytes, most_rows: int, most_columns: int) -> None:
    """Raise FileError for a file with far too many lines or columns."""
    most_lines = most_rows * _LINES_PER_ROW
    if max(content.count(b"\n"), content.count(b"\r")) > most_lines:
        raise FileError(f"{_NAME} has more than {most_lines:,} lines; send at most {most_rows:,} rows at a time.")
    # Separators and line ends are the same bytes in all encodings but UTF-16, which has zeros beside them.
    text = io.StringIO(content.decode("latin-1").replace("\0", ""), newline="")
    for separator in ",;\t|":
        text.seek(0)
        try:
            # The first of these may name the separator, and the second is the header then.
            widths = [len(cells) for cells in islice(filter(None, csv.reader(text, delimiter=separator)), 2)]
        except csv.Error:
            continue
        if max(widths, default=0) > most_columns:
            raise FileError(f"{_NAME} has more than {most_columns:,} columns; leave out those that nobody needs.")


def _without_apostrophes(table: FileTable) -> FileTable:
    """Return the table; one that the page saved has no apostrophes before what looks like a formula any more."""
    names = [str(name) for name in table.frame.columns[:2]]
    saved = [[words[f"table_{name}"] for name in ("row", "state")] for words in map(page.words, page.LANGUAGES)]
    return files.without_apostrophes(table) if names in saved else table


def _named(table: FileTable, columns: list[Column], reader: RowReader) -> FileTable:
    """The table; where the columns of training had no names of their own, those of a file are taken one by one."""
    own = [str(one.name) for one in columns]
    names = [str(name) for name in table.frame.columns]
    if reader.schema.container.label != "numpy array" or len(names) != len(own) or set(names) & set(own):
        return table
    return replace(table, frame=table.frame.set_axis(own, axis="columns"))


def _in_pandas(column: Column) -> Column:
    """A column like those that files are read into, where it is of another container."""
    if isinstance(column.prototype, (pd.Series, np.ndarray)):
        return column
    dtype: Any = object if column.is_categorical or column.temporal is not None else np.float64
    return replace(column, prototype=pd.Series([], dtype=dtype))


def _without_options(message: str) -> str:
    """What is wrong with a file, without advice about options, which are not for whoever uploads it.

    >>> _without_options("column 'a' holds '1,5'; say that the file has decimal commas (--decimal ,).")
    "column 'a' holds '1,5'. Save the file again as CSV in UTF-8, with one decimal mark in all numbers."
    """
    parts = re.split(r"(?<=[.;:]) ", message)
    kept = [one for one in parts if not _OPTION.search(one)]
    return message if len(kept) == len(parts) else f"{' '.join(kept).rstrip('.;:')}. {_ADVICE}"


def _labels(table: FileTable, left_out: list[str]) -> list[str]:
    """What the rows are called: by the first column that is no feature and has another value in each, or numbers."""
    for name in left_out:
        cells: pd.Series[Any] = table.frame[name].astype(str)
        if cells.is_unique and (cells.str.strip() != "").all():
            return cells.tolist()
    return [str(at + 1) for at in range(len(table.frame))]
