"""CSV and TSV: text without types."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import FileError
from nicecf.tables.files.cells import FileTable, TableFormat, check_header
from nicecf.tables.files.encodings import UTF8, decoded
from nicecf.tables.files.formulas import protected, unprotected
from nicecf.tables.files.layout import Layout
from nicecf.tables.files.numerals import may_be_numbers, typed

# pandas before 3 is off in the last digit unless told; the same number in two files must be the same.
_EXACT = {"float_precision": "round_trip"} if int(pd.__version__.partition(".")[0]) < 3 else {}

_WORDS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "|"}
# The separator is chosen by the header and the lines after it, up to so many characters and lines.
_SAMPLE = 1_000_000
_LINES = 1_000
# Whole numbers with leading zeros: they are mostly codes.
_ZERO_PADDED = re.compile(r"\s*0\d+\s*", re.ASCII)
_ZERO_FIRST = re.compile(r"(?<![\w.:-])0\d", re.ASCII)
# How a file for Excel may begin.
_SAYS_ITSELF = re.compile(r'"?sep=([^\w"\r\n])"?(?=\r?\n)', re.IGNORECASE)


def format_of(
    separator: str, *, endings: tuple[str, ...], others: str = "", layout: Layout | None = None
) -> TableFormat:
    """The format whose fields are separated so, or by one of ``others``, which are recognised; as a layout says."""
    how = Layout() if layout is None else layout
    read_so = partial(read, given=how, candidates=separator + others)
    return TableFormat(
        endings,
        partial(read_so, guess=False),
        lambda frame, name: written(frame, replace(how, sep=how.sep or separator), protect=False),
        guess=lambda content, name, text: read_so(content, name, guess=True, text=text),
        write_protected=lambda frame, name: written(frame, replace(how, sep=how.sep or separator), protect=True),
        takes=("sep", "decimal", "encoding"),
        laid_out=lambda layout: format_of(separator, endings=endings, others=others, layout=layout),
    )


def read(
    content: bytes, name: str, *, given: Layout, candidates: str, guess: bool, text: Collection[str] = ()
) -> FileTable:
    """A table of text; with ``guess`` each column of the type that ``pandas.read_csv`` takes it for.

    Those in ``text`` stay text. With another decimal mark, or with marks between thousands, a column of numbers has the
    type that it would have without. What ``given`` does not say is recognised, the separator among ``candidates``.
    Raises FileError that says where it is not a table.
    """
    words, encoding = decoded(content, name, given.encoding)
    words, separator = _separated(words, name, given.sep, candidates)
    header = _checked(words, name, separator)
    check_header(header, name, is_text=True)
    layout = Layout(separator, given.decimal, encoding)
    # pandas skips lines without a value, which are rows of a table with one column.
    in_quotes = _one_column(words, separator) if len(header) == 1 else words
    as_table = partial(_by_pandas, in_quotes, name, separator=separator, header=header)
    as_text: dict[str, Any] = {"dtype": str, "na_filter": False}
    how = as_text if not guess else {"dtype": dict.fromkeys(text, "str"), "low_memory": False, **_EXACT}
    where = partial(_where, words, separator)
    table = FileTable(name, as_table(**how), not guess, where, layout, given, usual_sep=candidates[0])
    if guess:
        table = replace(table, zero_padded=_zero_padded(table.frame, words, as_table))
    unclear = _unclear(table.frame, text, layout) if guess else []
    if not unclear:
        return table
    raw = as_table(usecols=unclear, **as_text)
    return typed(table, {column: raw[column].tolist() for column in unclear}, _as_column)


def _one_column(words: str, separator: str) -> str:
    """Return a table with one column with every cell in quotes, and nothing in the quotes of a blank one."""
    text = io.StringIO()
    cells = (cells[0] for _, cells in _lines(words, separator))
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
        [cell if cell.strip() else ""] for cell in cells
    )
    return text.getvalue()


def _by_pandas(words: str, name: str, *, separator: str, header: list[str], **how: Any) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = pd.read_csv(
            io.StringIO(words), sep=separator, header=0, names=header, index_col=False, **how
        )
        return frame
    except (ValueError, pd.errors.ParserError) as error:
        raise FileError(f"{name} cannot be read as a table ({' '.join(str(error).split())}).") from error


def _zero_padded(frame: pd.DataFrame, words: str, as_table: Callable[..., pd.DataFrame]) -> dict[str, str]:
    """Return the first cell with leading zeros of each column that was read as numbers and has one."""
    numbers = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name].dtype)]
    # Most files have no such cell, and are not read twice.
    if not numbers or not _ZERO_FIRST.search(words):
        return {}
    raw = as_table(usecols=numbers, dtype=str, na_filter=False)
    padded = {name: raw[name][raw[name].str.fullmatch(_ZERO_PADDED)] for name in numbers}
    return {name: cells.iloc[0].strip() for name, cells in padded.items() if len(cells)}


def _unclear(frame: pd.DataFrame, text: Collection[str], layout: Layout) -> list[str]:
    """The columns whose types depend on the decimal mark: none in a plain file with commas between its fields."""
    others = [name for name in frame if name not in text]
    words = [
        name for name in others if not pd.api.types.is_numeric_dtype(frame[name].dtype) and may_be_numbers(frame[name])
    ]
    if not words and layout.sep == "," and layout.decimal != ",":
        return []
    return [name for name in others if name in words or pd.api.types.is_float_dtype(frame[name].dtype)]


def _as_column(numbers: list[str]) -> Any:
    """Numbers with decimal points as pandas types them."""
    lines = io.StringIO("\n".join(["number", *numbers, ""]))
    return pd.read_csv(lines, skip_blank_lines=False, low_memory=False, **_EXACT)["number"].to_numpy()


def written(frame: pd.DataFrame, layout: Layout, *, protect: bool) -> bytes:
    """A frame as text; a missing cell is empty. ``protect``: text that looks like a formula gets an apostrophe.

    Raises UnicodeEncodeError if the encoding lacks a character, unless it is one of Unicode.
    """
    header = [str(name) for name in frame.columns]
    columns = {at: frame.iloc[:, at] for at in range(frame.shape[1])}
    if protect:
        columns = {at: _protected(cells) for at, cells in columns.items()}
        header = [protected(name) for name in header]
    decimal = layout.decimal or "."
    if decimal != ".":
        columns = {at: _with_decimal(cells, decimal) for at, cells in columns.items()}
    frame = pd.DataFrame(columns, index=frame.index, copy=False)
    how: dict[str, Any] = {
        "index": False,
        "sep": layout.sep,
        "decimal": decimal,
        "lineterminator": "\n",
        "header": header,
    }
    words: str = frame.to_csv(**how)
    if "\r" in words:
        # Python before 3.13 leaves a carriage return outside of quotes, where it would end the line.
        words = frame.to_csv(**how, quoting=csv.QUOTE_NONNUMERIC)
    encoding = layout.encoding or UTF8
    return words.encode(encoding, "backslashreplace" if encoding.startswith("utf") else "strict")


def _protected(cells: pd.Series[Any]) -> Any:
    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return cells
    return cells.astype(object).map(lambda cell: protected(cell) if isinstance(cell, str) else cell)


def _with_decimal(cells: pd.Series[Any], decimal: str) -> Any:
    """The cells with floats as text, where pandas would write them with a point all the same: among other values."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return cells
    is_float = (float, np.floating)
    return cells.astype(object).map(
        lambda cell: str(cell).replace(".", decimal) if isinstance(cell, is_float) and not np.isnan(cell) else cell
    )


def without_apostrophes(table: FileTable) -> FileTable:
    """A table of cells as it was before ``written`` protected it, header and all; one that has types is as it is."""
    if not table.is_text:
        return table
    frame = table.frame.map(unprotected).set_axis([unprotected(name) for name in table.frame.columns], axis="columns")
    return replace(table, frame=frame)


def _separated(text: str, name: str, given: str | None, candidates: str) -> tuple[str, str]:
    """The text, without a first line that only names the separator, and the separator."""
    itself = _SAYS_ITSELF.match(text)
    if itself is not None and given in (None, itself[1]):
        return text[itself.end() :], itself[1]  # what is left starts with a line end: lines keep their numbers
    if given is not None or len(candidates) == 1:
        return text, given or candidates
    shares = {one: share for one in candidates if (share := _share_of_lines(text, one)) is not None}
    whole = [one for one, share in shares.items() if share == 1]
    if len(whole) > 1 and _has_rows(text):
        whole = [one for one in whole if _is_whole(text, one)]
        # A quote that is left in a name was in the middle of it: what was to be kept together was taken apart.
        whole = [one for one in whole if '"' not in "".join(next(_lines(text, one))[1])] or whole
        if len(whole) > 1:
            raise FileError(
                f"{name} can be read with {_WORDS[whole[0]]} or with {_WORDS[whole[1]]} between its fields: its header "
                f"and all lines have as many of each. Say which with the option sep (--sep {whole[0]!r} or --sep "
                f"{whole[1]!r})."
            )
    return text, next(iter(whole), None) or max(shares, key=lambda one: shares[one], default=candidates[0])


def _share_of_lines(text: str, separator: str) -> float | None:
    """How many of the first lines have as many cells as the header; None if that has only one."""
    lines = _lines(text[:_SAMPLE], separator)
    try:
        _, header = next(lines, (0, []))
        if len(header) < 2:
            return None
        counts = [len(cells) for _, cells in islice(lines, _LINES + 1)]
    except csv.Error:
        return None
    if len(text) > _SAMPLE or len(counts) > _LINES:
        counts = counts[:-1]  # it may be cut off
    return sum(count == len(header) for count in counts) / len(counts) if counts else 1.0


def _is_whole(text: str, separator: str) -> bool:
    try:
        return len({len(cells) for _, cells in _lines(text, separator)}) == 1
    except csv.Error:
        return False


def _has_rows(text: str) -> bool:
    return bool(text.strip().partition("\n")[2])


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
                other = "" if separator == "," else f" (with {_called(separator)} between them)"
                raise FileError(
                    f"{name}, line {line:,}, has {_cells(len(cells))}{other}, but the header has {len(header)}. Put "
                    f'text that holds {_called(separator)} in quotes ("), and fill in what is missing.'
                )
    except csv.Error as error:
        raise FileError(f"{name} cannot be read as a table ({error}). Is a closing quote missing?") from error
    return header


def _check_separator(header: list[str], name: str, separator: str) -> None:
    if len(header) > 1:
        return
    other = next((one for one in (";", "\t", ",", "|") if one != separator and one in header[0]), None)
    if other is not None:
        told = "tab" if other == "\t" else other
        raise FileError(
            f"{name} has only one column with {_called(separator)} between fields, and its header holds "
            f"{_WORDS[other]}. If these are between fields, say so with the option sep (--sep {told!r}); else "
            "rename the column."
        )


def _called(separator: str) -> str:
    return _WORDS.get(separator, repr(separator))


def _lines(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row, with the number of its first line; a row may go over several lines.

    Empty lines are no rows, except between rows of a table with one column: there, they are missing cells.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    line, n_columns = 1, 0
    empty: list[int] = []
    for cells in reader:
        if cells:
            n_columns = n_columns or len(cells)
            yield from ((number, [""]) for number in empty)
            empty = []
            yield line, cells
        elif n_columns == 1:
            empty.append(line)
        line = reader.line_num + 1


def _where(text: str, separator: str, row: int) -> str:
    lines = _lines(text, separator)
    next(lines)
    return next((f"line {line:,}" for at, (line, _) in enumerate(lines) if at == row), f"row {row:,}")


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
