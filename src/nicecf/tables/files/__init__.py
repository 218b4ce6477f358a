"""Tables in files: CSV, TSV and JSON lines (also .gz), Parquet, Arrow and Excel; ``-`` is standard input or output.

``read`` guesses the types of columns as pandas does: for the training table. ``read_cells`` leaves text as it stands
in the file, and ``like`` gives it the types that the training table had: for rows to explain. How CSV is laid out
(separator, decimal mark, encoding) is recognised, unless a ``Layout`` says it.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeAlias

import pandas as pd

from nicecf.exceptions import FileError, OptionError, did_you_mean, listed
from nicecf.support.files import contents, reason, writing
from nicecf.tables.files import arrow, excel, json_lines, separated
from nicecf.tables.files.cells import FileTable, TableFormat, check_header
from nicecf.tables.files.dates import look_like_dates, with_dates
from nicecf.tables.files.encodings import UTF8_MARKED, WESTERN, first_in_doubt
from nicecf.tables.files.layout import Layout
from nicecf.tables.files.numerals import in_plain_numbers, look_like_decimal_commas, with_decimal
from nicecf.tables.files.retyped import ColumnLike, like, number_columns
from nicecf.tables.files.separated import without_apostrophes

__all__ = [
    "FORMATS",
    "ColumnLike",
    "FileTable",
    "Layout",
    "TableFormat",
    "in_plain_numbers",
    "like",
    "look_like_dates",
    "look_like_decimal_commas",
    "number_columns",
    "read",
    "read_cells",
    "read_typed",
    "takes",
    "with_decimal",
    "without_apostrophes",
    "write",
]

Path: TypeAlias = str | os.PathLike[str]

# By the names that ``format`` and ``--format`` have for them.
FORMATS: dict[str, TableFormat] = {
    "csv": separated.format_of(",", endings=(".csv",), others=";\t|"),
    "tsv": separated.format_of("\t", endings=(".tsv",)),
    "jsonl": TableFormat((".jsonl", ".ndjson"), json_lines.read, json_lines.write, needs="an object in each line"),
    "parquet": arrow.format_of("parquet", endings=(".parquet", ".pq")),
    "arrow": arrow.format_of("arrow", endings=(".arrow", ".feather", ".ipc")),
    "xlsx": excel.format_of(endings=(".xlsx",)),
}
_STANDARD = "-"


def read(
    path: Path,
    *,
    format: str | None = None,
    text: Collection[str] = (),
    dates: Collection[str] = (),
    layout: Layout | None = None,
) -> pd.DataFrame:
    """The table in a file, each column of the type its cells look like; raises FileError if there is no row.

    CSV has no types: columns are read as ``pandas.read_csv`` does, so that a model which was trained on what that
    gives gets the same; those named in ``text`` stay text, such as codes with leading zeros, and those in ``dates`` are
    read as ISO dates, as ``pandas.read_csv(parse_dates=...)`` does. ``format`` is needed if the name of the file does
    not tell it, and ``layout`` where it is not recognised how the file is laid out.
    """
    return read_typed(path, format=format, text=text, dates=dates, layout=layout).frame


def read_typed(
    path: Path,
    *,
    format: str | None = None,
    text: Collection[str] = (),
    dates: Collection[str] = (),
    ignore: Collection[str] = (),
    layout: Layout | None = None,
) -> FileTable:
    """The same, with how it was read; columns in ``ignore``, if there are any, are of no account, and text in CSV."""
    table = _read(path, format, layout, guess=True, text=[*text, *dates, *ignore])
    if not len(table.frame):
        raise FileError(f"{table.name} has no rows below its header.")
    names = table.frame.columns
    for option, name in [*(("text", name) for name in text), *(("dates", name) for name in dates)]:
        if name not in names:
            raise OptionError(
                f"{option} names {name!r}, but {table.name} has the columns {listed(names)}.{did_you_mean(name, names)}"
            )
        if pd.api.types.is_numeric_dtype(table.frame[name].dtype):
            raise OptionError(f"{option} names {name!r}, but {table.name} knows its own types, and has numbers there.")
    return replace(table, frame=with_dates(table, dates)) if dates else table


def read_cells(path: Path, *, format: str | None = None, layout: Layout | None = None) -> FileTable:
    """The table in a file, cells of CSV as text, an empty one as ""; raises FileError if there is none.

    Rows that a Parquet or Arrow file has labels for (an index of pandas) keep these. A header without rows is a table.
    Numbers stay as they stand in the file: :func:`like` and :func:`in_plain_numbers` know their decimal mark.
    """
    return _read(path, format, layout, guess=False)


def _read(
    path: Path, format: str | None, layout: Layout | None, *, guess: bool, text: Collection[str] = ()
) -> FileTable:
    name = _name(path, "standard input")
    kind, is_zipped = _kind(path, format)
    kind = _laid_out(kind, layout, name)
    content = _content(path, name)
    if content and (is_zipped or content.startswith(b"\x1f\x8b")):
        content = _unzipped(content, name)
    if not content:
        raise FileError(f"{name} is empty; it needs {kind.needs}.")
    table = kind.guess(content, name, text) if guess and kind.guess is not None else kind.read(content, name)
    check_header(list(table.frame.columns), name, is_text=kind.guess is not None)
    return table


def _laid_out(kind: TableFormat, layout: Layout | None, name: str) -> TableFormat:
    """The format as a layout says; OptionError if that says what means nothing to the format."""
    said = {} if layout is None else layout.given
    if layout is None or not said:
        return kind
    vain = next((one for one in said if one not in kind.takes), None)
    if vain is not None or kind.laid_out is None:
        *some, last = [key for key, one in FORMATS.items() if vain in one.takes]
        those = f"{', '.join(some)} and {last}" if some else last
        raise OptionError(f"{vain} (--{vain}) is for files of the format {those}, and {name} is not one. Leave it out.")
    return kind.laid_out(layout)


def write(
    frame: pd.DataFrame,
    path: Path,
    *,
    format: str | None = None,
    protect: bool = True,
    beside: FileTable | None = None,
) -> str | None:
    """Write the columns of a frame, without its index, in one step: the file is there as a whole or not at all.

    In CSV and TSV, text that a spreadsheet would take for a formula (``=1+1``) is written with an apostrophe before
    it, unless ``protect`` is False; :func:`without_apostrophes` takes these off again. In Excel, text is never a
    formula. ``beside``: a table from a file; CSV is laid out as that is. Where its encoding lacks a character, or would
    not be recognised with it, the file is written in UTF-8, and the first such character is returned.
    """
    kind, is_zipped = _kind(path, format, to_write=True)
    layout = _layout_beside(kind, beside)
    name, lacking = _name(path, "standard output"), None
    try:
        content = _to_bytes(kind, layout, protect=protect)(frame, name)
        if layout.encoding == WESTERN and beside is not None and beside.given.encoding is None:
            lacking = first_in_doubt(content)
    except UnicodeEncodeError as error:
        lacking = error.object[error.start]
    if lacking is not None:
        content = _to_bytes(kind, replace(layout, encoding=UTF8_MARKED), protect=protect)(frame, name)
    if is_zipped:
        content = gzip.compress(content, compresslevel=6, mtime=0)
    if os.fspath(path) == _STANDARD:
        _print(content)
        return lacking
    with writing(path) as file:
        file.write(content)
    return lacking


def _to_bytes(kind: TableFormat, layout: Layout, *, protect: bool) -> Callable[[pd.DataFrame, str], bytes]:
    kind = kind if kind.laid_out is None else kind.laid_out(layout)
    return kind.write_protected if protect and kind.write_protected is not None else kind.write


def _layout_beside(kind: TableFormat, beside: FileTable | None) -> Layout:
    """How a file is laid out that goes with one that was read: the same program should open both."""
    if beside is None or not beside.layout.sep or "sep" not in kind.takes:
        return Layout()
    read_so, usual = beside.layout, "\t" if kind is FORMATS["tsv"] else ","
    # Where no number tells, a semicolon does: spreadsheets use it where the comma is the decimal mark.
    decimal = read_so.decimal or ("," if read_so.sep == ";" else ".")
    other = ";" if usual == decimal else usual
    return Layout(read_so.sep if beside.usual_sep == usual else other, decimal, read_so.encoding)


def _print(content: bytes) -> None:
    if sys.stdout is None:
        raise FileError("standard output is closed; give the path of a file instead.")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader has stopped reading
        raise
    except OSError as error:
        raise FileError(f"standard output cannot be written: {reason(error)}.") from error


def check_format(path: Path, format: str | None = None) -> None:
    """Raises FileError unless a table can be written under that name: to be checked before long work."""
    kind, _ = _kind(path, format, to_write=True)
    if kind.check is not None:
        kind.check(_name(path, "standard output"))


def takes(path: Path, format: str | None = None) -> tuple[str, ...]:
    """The fields of a layout that mean something to a file of that name."""
    return _kind(path, format)[0].takes


def _name(path: Path, standard: str) -> str:
    return standard if os.fspath(path) == _STANDARD else os.fspath(path)


def _kind(path: Path, format: str | None, *, to_write: bool = False) -> tuple[TableFormat, bool]:
    """The format, by its name or by the ending of the file, and whether the ending says that it is compressed."""
    if format is not None and format not in FORMATS:
        raise OptionError(
            f"format={format!r} is not known; choose one of {listed(FORMATS)}.{did_you_mean(format, FORMATS)}"
        )
    given = os.fspath(path)
    if given == _STANDARD:
        return FORMATS[format or "csv"], False
    name = os.path.basename(given).lower()
    is_zipped = name.endswith(".gz")
    ending = os.path.splitext(name.removesuffix(".gz"))[1]
    by_ending = {one: kind for kind in FORMATS.values() for one in kind.endings}
    kind = by_ending.get(ending) if format is None else FORMATS[format]
    if kind is None or (is_zipped and not kind.can_be_zipped):
        *some, last = [f"{one.endings[0]}.gz" for one in FORMATS.values() if one.can_be_zipped]
        raise FileError(
            f"{given or repr(given)} is not a supported table: its name must end in {', '.join(by_ending)} or, "
            f"compressed, in {', '.join(some)} or {last}.{' Give it such a name.' if to_write else _advice(ending)}"
        )
    return kind, is_zipped


def _advice(ending: str) -> str:
    special = {
        ".json": " Write JSON with one object in each line, and call it .jsonl.",
        ".xls": " Save it as .xlsx.",
        ".xlsm": " Save it as .xlsx, without macros.",
        ".ods": " Save it as .xlsx or .csv.",
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
            f"{name} is not a complete gzip file ({error}). Is it complete, or is its name wrong? Get it again."
        ) from error
