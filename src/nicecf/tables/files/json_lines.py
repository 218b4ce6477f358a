"""JSON lines: an object in each line, with its own types; a name that an object leaves out is a missing cell."""

from __future__ import annotations

import json
import re
import sys
from datetime import date
from functools import partial
from typing import Any

import pandas as pd

from nicecf.exceptions import FileError, plain
from nicecf.support.formats import shown_date
from nicecf.tables.files.cells import FileTable
from nicecf.tables.files.encodings import in_utf8
from nicecf.tables.temporal import plain_moment

# Python reads half a pair of surrogates, which is not a character: no other program accepts it.
_SURROGATE = re.compile("[\ud800-\udfff]")
# No float is larger, and older pandas cannot make a column of whole numbers that are.
_LARGEST = int(sys.float_info.max)
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text"}


def read(content: bytes, name: str) -> FileTable:
    """A table of what the objects hold; raises FileError that names a line which is not such an object."""
    records, lines = [], []
    for line, words in enumerate(in_utf8(content, name).split("\n"), 1):
        if not words.strip():
            continue
        records.append(_record(words, f"{name}, line {line:,},"))
        lines.append(line)
    columns = list(dict.fromkeys(key for record in records for key in record))
    cells = {column: [record.get(column) for record in records] for column in columns}
    for column, values in cells.items():
        _check_one_kind(column, values, lines, name)
    return FileTable(name, pd.DataFrame(cells), False, partial(_where, lines))


def write(frame: pd.DataFrame, name: str) -> bytes:
    """A frame, one object in each line."""
    columns = [[json_cell(value) for value in frame.iloc[:, at].tolist()] for at in range(frame.shape[1])]
    names = [str(name) for name in frame.columns]
    lines = (
        json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n"
        for values in zip(*columns, strict=True)
    )
    return "".join(lines).encode("utf-8", "surrogateescape")


def _record(words: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(words, object_pairs_hook=partial(_object, place))
    except ValueError as error:
        raise FileError(
            f'{place} is not JSON ({error}). Each line must hold one object, such as {{"age": 39}}.'
        ) from error
    except RecursionError:
        raise FileError(f"{place} is nested too deeply. Each line must hold one object with plain values.") from None
    if not isinstance(record, dict):
        raise FileError(f'{place} does not hold an object. Each line must hold one, such as {{"age": 39}}.')
    for key, value in record.items():
        if _SURROGATE.search(key) or (isinstance(value, str) and _SURROGATE.search(value)):
            raise FileError(f"{place} holds half a character in {key!r}, by an escape such as \\ud800; write it whole.")
        if isinstance(value, int) and abs(value) > _LARGEST:
            digits = len(str(abs(value)))
            raise FileError(f"{place} holds a number of {digits:,} digits in {key!r}; write it shorter.")
        if isinstance(value, (dict, list)):
            raise FileError(
                f"{place} holds {'an object' if isinstance(value, dict) else 'a list'} in {key!r}; a cell is a "
                "number, text, true, false or null."
            )
    return record


def _object(place: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise FileError(f"{place} holds {twice!r} twice; keep one.")
    return record


def _check_one_kind(column: str, values: list[Any], lines: list[int], name: str) -> None:
    first = ""
    for line, value in zip(lines, values, strict=True):
        kind = "" if value is None else _KINDS[type(value)]
        if kind and first and kind != first:
            raise FileError(
                f"{name}, line {line:,}, holds {kind} in {column!r} ({value!r}), but a line above holds {first}. "
                "Use one kind: numbers without quotes, or all in quotes."
            )
        first = first or kind


def _where(lines: list[int], row: int) -> str:
    return f"line {lines[row]:,}"


def json_cell(value: Any) -> Any:
    """A cell as JSON has it; what is not a number, text or boolean, as text."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    value = plain(plain_moment(value))
    if isinstance(value, date):
        return shown_date(value)
    return value if isinstance(value, (bool, int, float, str)) else str(value)
