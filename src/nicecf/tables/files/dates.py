"""Columns of text that are dates: CSV and JSON lines have no type for them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import FileError
from nicecf.tables.files.cells import MISSING_WORDS, FileTable
from nicecf.tables.pandas_frames import PandasFrames
from nicecf.tables.temporal import Temporal

_PLAIN = Temporal("datetime")
_IN_UTC = Temporal("datetime", "UTC", tz=dt.UTC)


def with_dates(table: FileTable, names: Collection[str]) -> pd.DataFrame:
    """The table in which these columns are dates with times (datetime64); raises FileError for a cell that is none.

    Times with an offset are in UTC then. Columns of which the file knows the type keep it.
    """
    dates = {name: _dates(table.frame[name], name, table) for name in names if _has_text(table.frame[name])}
    return table.frame.assign(**dates)


def look_like_dates(frame: pd.DataFrame) -> list[str]:
    """The columns of text in which every cell is an ISO date, with or without a time, or missing."""
    return [str(name) for name in frame if _has_text(frame[name]) and _are_dates(frame[name])]


def _has_text(cells: pd.Series[Any]) -> bool:
    return pd.api.types.infer_dtype(cells, skipna=True) == "string"


def _are_dates(cells: pd.Series[Any]) -> bool:
    # Eight digits may be a number of anything.
    return all(cell[4:5] == "-" and _reader(cell) is not None for cell in cells.dropna().unique())


def _reader(word: str) -> Temporal | None:
    """What reads such a date; None if it is none."""
    for one in (_PLAIN, _IN_UTC):
        try:
            one.number(word)
        except ValueError:
            continue
        return one
    return None


def _dates(cells: pd.Series[Any], name: str, table: FileTable) -> Any:
    words = [None if pd.isna(cell) or cell.strip() in MISSING_WORDS else cell.strip() for cell in cells]
    reader = _reader(next((word for word in words if word is not None), "")) or _PLAIN
    numbers = np.full(len(words), np.nan)
    for row, word in enumerate(words):
        try:
            numbers[row] = np.nan if word is None else reader.number(word)
        except ValueError as error:
            raise FileError(
                f"{table.name}, {table.where(row)}: column {name!r} holds {word!r}, which cannot be read as a date; "
                f"{error}."
            ) from None
    like = pd.Series([], dtype="datetime64[us]" if reader is _PLAIN else "datetime64[us, UTC]")
    return PandasFrames().write_moments(numbers, reader, like, pd.NaT)
