"""Tables in files: CSV, TSV and JSON lines (also .gz), Parquet and Arrow; ``-`` is standard input or output.

``read`` guesses the types of columns as pandas does: for the training table. ``read_cells`` leaves text as it stands
in the file, and ``like`` gives it the types that the training table had: for rows to explain.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Collection
from typing import Literal, TypeAlias, get_args

import pandas as pd

from nicecf.exceptions import FileError, OptionError, did_you_mean, listed
from nicecf.files import contents, reason, writing
from nicecf.tablefiles import arrow, json_lines, separated
from nicecf.tablefiles.cells import FileTable, check_header
from nicecf.tablefiles.retyped import ColumnLike, like
from nicecf.tablefiles.separated import without_apostrophes

__all__ = [
    "FORMATS",
    "ColumnLike",
    "FileTable",
    "Format",
    "like",
    "read",
    "read_cells",
    "without_apostrophes",
    "write",
]

Format: TypeAlias = Literal["csv", "tsv", "jsonl", "parquet", "arrow"]
Path: TypeAlias = str | os.PathLike[str]
FORMATS: tuple[Format, ...] = get_args(Format)

_BY_ENDING: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_SEPARATORS = {"csv": ",", "tsv": "\t"}
_STANDARD = "-"


def read(path: Path, *, format: Format | None = None, text: Collection[str] = ()) -> pd.DataFrame:
    """The table in a file, each column of the type that its cells look like; FileError where there is none, or no row.

    CSV has no types: columns are read as ``pandas.read_csv`` does, so that a model which was trained on what that
    gives gets the same; those named in ``text`` stay text, such as codes with leading zeros. ``format`` is needed
    where the name of the file does not tell it.
    """
    table = _read(path, format, guess=True, text=text)
    if not len(table.frame):
        raise FileError(f"{table.name} has no rows below its header.")
    names = table.frame.columns
    for name in text:
        if name not in names:
            raise OptionError(
                f"text names {name!r}, but {table.name} has the columns {listed(names)}.{did_you_mean(name, names)}"
            )
        if pd.api.types.is_numeric_dtype(table.frame[name].dtype):
            raise OptionError(f"text names {name!r}, but {table.name} knows its own types, and has numbers there.")
    return table.frame


def read_cells(path: Path, *, format: Format | None = None) -> FileTable:
    """The table in a file, cells of CSV as the text that they are, an empty one as ""; FileError where there is none.

    Rows that a Parquet or Arrow file has labels for (an index of pandas) keep these. A header without rows is a table.
    """
    return _read(path, format, guess=False)


def _read(path: Path, format: Format | None, *, guess: bool, text: Collection[str] = ()) -> FileTable:
    name = _name(path, "standard input")
    kind, is_zipped = _kind(path, format)
    content = _content(path, name)
    if content and (is_zipped or content.startswith(b"\x1f\x8b")):
        content = _unzipped(content, name)
    if not content:
        needed = (
            "an object in each line" if kind == "jsonl" else "a header with the names of the columns, and rows below it"
        )
        raise FileError(f"{name} is empty; it needs {needed}.")
    if kind in _SEPARATORS:
        table = separated.read(content, name, _SEPARATORS[kind], guess=guess, text=text)
    elif kind == "jsonl":
        table = json_lines.read(content, name)
    else:
        table = arrow.read(content, name, kind)
    check_header(list(table.frame.columns), name, is_text=kind in _SEPARATORS)
    return table


def write(frame: pd.DataFrame, path: Path, *, format: Format | None = None, protect: bool = True) -> None:
    """Write the columns of a frame, without its index, in one step: the file is there as a whole or not at all.

    In CSV and TSV, text that a spreadsheet would take for a formula (``=1+1``) is written with an apostrophe before
    it, unless ``protect`` is False; :func:`without_apostrophes` takes these off again.
    """
    kind, is_zipped = _kind(path, format, to_write=True)
    if kind in _SEPARATORS:
        content = separated.written(frame, _SEPARATORS[kind], protect=protect)
    elif kind == "jsonl":
        content = json_lines.written(frame)
    else:
        content = arrow.written(frame, _name(path, "standard output"), kind)
    if is_zipped:
        content = gzip.compress(content, compresslevel=6, mtime=0)
    if os.fspath(path) == _STANDARD:
        _print(content)
        return
    with writing(path) as file:
        file.write(content)


def _print(content: bytes) -> None:
    if sys.stdout is None:
        raise FileError("standard output is closed; give the path of a file in its place.")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # whoever read it has had enough
        raise
    except OSError as error:
        raise FileError(f"standard output cannot be written: {reason(error)}.") from error


def check_format(path: Path, format: Format | None = None) -> None:
    """FileError unless a table can be kept under that name: to be said before long work."""
    kind, _ = _kind(path, format, to_write=True)
    if kind in ("parquet", "arrow"):
        arrow.pyarrow(_name(path, "standard output"))


def _name(path: Path, standard: str) -> str:
    return standard if os.fspath(path) == _STANDARD else os.fspath(path)


def _kind(path: Path, format: Format | None, *, to_write: bool = False) -> tuple[Format, bool]:
    """The format, by its name or by the ending of the file, and whether the ending says that it is zipped."""
    if format is not None and format not in FORMATS:
        raise OptionError(
            f"format={format!r} is not known; choose one of {listed(FORMATS)}.{did_you_mean(format, FORMATS)}"
        )
    given = os.fspath(path)
    if given == _STANDARD:
        return format or "csv", False
    name = os.path.basename(given).lower()
    is_zipped = name.endswith(".gz")
    ending = os.path.splitext(name.removesuffix(".gz"))[1]
    kind = format or _BY_ENDING.get(ending)
    if kind is None or (is_zipped and kind in ("parquet", "arrow")):
        raise FileError(
            f"{given or repr(given)} is no table that can be used: its name must end in {', '.join(_BY_ENDING)} or, "
            f"zipped, in .csv.gz, .tsv.gz or .jsonl.gz.{' Give it such a name.' if to_write else _advice(ending)}"
        )
    return kind, is_zipped


def _advice(ending: str) -> str:
    special = {
        ".json": " Write JSON with one object in each line, and call it .jsonl.",
        ".xlsx": " Save the sheet as CSV (UTF-8).",
        ".xls": " Save the sheet as CSV (UTF-8).",
        ".nice": " That is an explainer, not a table: it comes first.",
    }
    return special.get(ending, " Convert it, or say what it holds with the option format (--format).")


def _content(path: Path, name: str) -> bytes:
    if os.fspath(path) != _STANDARD:
        return contents(path)
    if sys.stdin is None:
        raise FileError("standard input is closed; give the path of a file, or send a table into it: < table.csv.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise FileError(f"{name} cannot be read: {reason(error)}.") from error


def _unzipped(content: bytes, name: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            return file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(
            f"{name} is no whole gzip file ({error}). Is it complete, or is its name wrong? Get it again."
        ) from error
