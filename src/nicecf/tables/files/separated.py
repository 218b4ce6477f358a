"""CSV and TSV: text without types."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from nicecf.exceptions import FileError
from nicecf.tables.files.cells import FileTable, TableFormat, check_header
from nicecf.tables.files.formulas import protected, unprotected

# pandas before 3 is off in the last digit unless told; the same number in two files must be the same.
_EXACT = {"float_precision": "round_trip"} if int(pd.__version__.partition(".")[0]) < 3 else {}

# How files begin that are taken for text by a wrong name.
_OTHER_KINDS = {
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
    b"PAR1": "a Parquet file; call it .parquet, or say so with the option format (--format parquet)",
    b"ARROW1": "an Arrow file; call it .arrow, or say so with the option format (--format arrow)",
    b"PK\x03\x04": "a zip archive, such as those of Excel, not text; save the table as CSV (UTF-8)",
}
_WORDS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "|"}


def format_of(separator: str, *, endings: tuple[str, ...]) -> TableFormat:
    """The format whose cells are separated so."""
    return TableFormat(
        endings,
        partial(read, separator=separator, guess=False),
        lambda frame, name: written(frame, separator, protect=False),
        guess=lambda content, name, text: read(content, name, separator=separator, guess=True, text=text),
        write_protected=lambda frame, name: written(frame, separator, protect=True),
    )


def read(content: bytes, name: str, *, separator: str, guess: bool, text: Collection[str] = ()) -> FileTable:
    """A table of text; with ``guess`` each column of the type that ``pandas.read_csv`` takes it for.

    Those in ``text`` stay text. Raises FileError that says where it is not a table.
    """
    words = decoded(content, name)
    header = _checked(words, name, separator)
    check_header(header, name, is_text=True)
    how: dict[str, Any] = (
        {"dtype": dict.fromkeys(text, "str"), "low_memory": False, **_EXACT}
        if guess
        else {"dtype": str, "na_filter": False}
    )
    try:
        frame = pd.read_csv(io.StringIO(words), sep=separator, header=0, names=header, index_col=False, **how)
    except (ValueError, pd.errors.ParserError) as error:
        raise FileError(f"{name} cannot be read as a table ({' '.join(str(error).split())}).") from error
    return FileTable(name, frame, not guess, partial(_where, words, separator))


def written(frame: pd.DataFrame, separator: str, *, protect: bool) -> bytes:
    """A frame as text; a missing cell is empty. ``protect``: text that looks like a formula gets an apostrophe."""
    header = [str(name) for name in frame.columns]
    if protect:
        columns = {at: _protected(frame.iloc[:, at]) for at in range(frame.shape[1])}
        frame, header = pd.DataFrame(columns, index=frame.index, copy=False), [protected(name) for name in header]
    words: str = frame.to_csv(index=False, sep=separator, lineterminator="\n", header=header)
    if "\r" in words:
        # Python before 3.13 leaves a carriage return outside of quotes, where it would end the line.
        words = frame.to_csv(
            index=False, sep=separator, lineterminator="\n", header=header, quoting=csv.QUOTE_NONNUMERIC
        )
    return words.encode("utf-8", "backslashreplace")


def _protected(cells: pd.Series[Any]) -> Any:
    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return cells
    return cells.astype(object).map(lambda cell: protected(cell) if isinstance(cell, str) else cell)


def without_apostrophes(table: FileTable) -> FileTable:
    """A table of cells as it was before ``written`` protected it, header and all; one that has types is as it is."""
    if not table.is_text:
        return table
    frame = table.frame.map(unprotected).set_axis([unprotected(name) for name in table.frame.columns], axis="columns")
    return replace(table, frame=frame)


def decoded(content: bytes, name: str) -> str:
    """Bytes as text; raises FileError that names the first that is not."""
    for start, what in _OTHER_KINDS.items():
        if content.startswith(start):
            raise FileError(f"{name} is {what}.")
    try:
        text = content.decode("utf-8-sig")
        wrong = text.find("\0")
        if wrong < 0:
            return text
        line = text.count("\n", 0, wrong) + 1
        problem = "holds a zero byte, which text never does: it is not text, or it is damaged"
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = (
            f"is not UTF-8: byte {error.start:,} is 0x{content[error.start]:02x}. If it is text, save it as UTF-8 "
            f"(such as by iconv -f latin1 -t utf-8)"
        )
    raise FileError(f"{name}, line {line:,}, {problem}.")


def _checked(text: str, name: str, separator: str) -> list[str]:
    """The header; FileError unless every line has as many cells. pandas would fill up those that are short."""
    lines = _lines(text, separator)
    try:
        _, header = next(lines, (0, []))
        if not header:
            raise FileError(f"{name} is empty; it needs a header with the names of the columns, and rows below it.")
        _check_separator(header, name, separator)
        for line, cells in lines:
            if len(cells) != len(header):
                if separator == "," and sum(one.count(";") for one in header) >= len(header) - 1 > 0:
                    raise FileError(
                        f"{name} holds more semicolons than commas in its header: cells must be separated by commas, "
                        "and numbers need a decimal point. Save it that way."
                    )
                raise FileError(
                    f"{name}, line {line:,}, has {_cells(len(cells))}, but the header has {len(header)}. Put text "
                    f'that holds {_WORDS[separator]} in quotes ("), and fill in what is missing.'
                )
    except csv.Error as error:
        raise FileError(f"{name} cannot be read as a table ({error}). Is a closing quote missing?") from error
    return header


def _check_separator(header: list[str], name: str, separator: str) -> None:
    if len(header) > 1:
        return
    other = next((one for one in (";", "\t", ",", "|") if one != separator and one in header[0]), None)
    if other is not None:
        rename = " Or call it .tsv, or say --format tsv." if other == "\t" else ""
        raise FileError(
            f"{name} has only one column, and its header holds {_WORDS[other]}: cells must be separated by "
            f"{_WORDS[separator]}. Save it that way.{rename}"
        )


def _lines(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Each row, with the number of its first line; a row may go over several lines, and empty lines are none."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    line = 1
    for cells in reader:
        if cells:
            yield line, cells
        line = reader.line_num + 1


def _where(text: str, separator: str, row: int) -> str:
    lines = _lines(text, separator)
    next(lines)
    return next((f"line {line:,}" for at, (line, _) in enumerate(lines) if at == row), f"row {row:,}")


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
