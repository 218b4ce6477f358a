"""A table that somebody uploads -> rows as requests have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from nicecf.exceptions import FileError, NicecfError
from nicecf.service.refusals import Refused, wrong
from nicecf.service.rows import RowReader
from nicecf.support.types import Json
from nicecf.tables import files
from nicecf.tables.files.cells import FileTable, check_header
from nicecf.tables.files.json_lines import json_cell

_NAME = "the file"


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
        raise wrong("", str(error)) from None


def _read(content: bytes, reader: RowReader, most_rows: int) -> Upload:
    if not content.strip():
        raise FileError(f"{_NAME} is empty; it needs a header with the names of the columns, and rows below it.")
    table = files.FORMATS["csv"].read(content, _NAME)
    check_header(list(table.frame.columns), _NAME, is_text=True)
    if not 1 <= len(table.frame) <= most_rows:
        raise Refused(400, f"{_NAME} has {len(table.frame):,} rows; here it may have 1 to {most_rows:,}.")
    columns = reader.schema.columns
    if reader.schema.container.label == "numpy array" and table.frame.shape[1] == len(columns):
        table = replace(table, frame=table.frame.set_axis([str(one.name) for one in columns], axis="columns"))
    known = {str(one.name) for one in columns}
    left_out = [str(name) for name in table.frame.columns if str(name) not in known]
    frame = files.like(table, columns, ignore=left_out)
    cells = [[json_cell(value) for value in frame.iloc[:, j].tolist()] for j in range(frame.shape[1])]
    rows = list(zip(*cells, strict=True))
    for at, row in enumerate(rows):
        for one, cell in zip(reader.columns, row, strict=True):
            if (said := one.check(cell)) is not None:
                raise FileError(f"{table.where(at)}, column {one.key!r}: {said}")
    keys = [one.key for one in reader.columns]
    instances = [dict(zip(keys, row, strict=True)) for row in rows]
    return Upload(instances, _labels(table, left_out), left_out, table.recognised)


def _labels(table: FileTable, left_out: list[str]) -> list[str]:
    """What the rows are called: by the first column that is no feature and has another value in each, or numbers."""
    for name in left_out:
        cells: pd.Series[Any] = table.frame[name].astype(str)
        if cells.is_unique and (cells.str.strip() != "").all():
            return cells.tolist()
    return [str(at + 1) for at in range(len(table.frame))]
