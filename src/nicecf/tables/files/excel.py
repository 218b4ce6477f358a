"""Excel: one sheet of an .xlsx file, with its types; needs openpyxl."""

from __future__ import annotations

import datetime as dt
import io
import math
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias
from xml.etree import ElementTree

import pandas as pd

from nicecf.exceptions import FileError, did_you_mean, listed
from nicecf.exceptions import plain as plain_value
from nicecf.support.extras import require
from nicecf.support.formats import shown_date
from nicecf.tables.files.cells import MISSING_WORDS, FileTable, TableFormat, check_header
from nicecf.tables.files.formulas import protected
from nicecf.tables.files.layout import Layout
from nicecf.tables.temporal import plain_moment

# A row of a sheet: its number, counted from 1, and its cells.
Row: TypeAlias = tuple[int, list[Any]]

_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1_048_576, 16_384, 32_767
# Excel shows and computes fifteen digits of a number.
_LARGEST = 10**15
# How a file of Excel says characters that XML cannot hold, or would change.
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_TO_ESCAPE = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", dt.timedelta: "a duration"}
# Before March 1900 Excel counts days wrongly.
_FIRST_DAY = dt.datetime(1900, 3, 1)


def format_of(*, endings: tuple[str, ...], layout: Layout | None = None) -> TableFormat:
    """The format, with the sheet that a layout names; it compresses by itself."""
    sheet = None if layout is None else layout.sheet
    return TableFormat(
        endings,
        partial(read, sheet=sheet),
        written,
        guess=lambda content, name, text: guessed(read(content, name, sheet=sheet), text),
        can_be_zipped=False,
        check=openpyxl,
        takes=("sheet",),
        laid_out=lambda layout: format_of(endings=endings, layout=layout),
    )


def openpyxl(name: str) -> Any:
    """The package, or an ImportError that says how to get it."""
    return require("openpyxl", extra="excel", needed_by=name)


def read(content: bytes, name: str, *, sheet: str | None = None) -> FileTable:
    """The table of a sheet, the first visible one unless it is named: names in its first row, rows below it.

    Numbers, text, dates, durations and booleans are as the sheet has them; rows and columns without any cell are left
    out. Raises FileError for what would be read wrongly: merged cells, formulas that were never computed, errors, and
    a header that does not name every column.
    """
    package = openpyxl(f"reading {name}")
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileError(f"{name} is protected by a password, or an old .xls file: save it as .xlsx without a password.")
    try:
        book = package.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        visible = [one for one in book.worksheets if one.sheet_state == "visible"]
        chosen = _chosen(book.worksheets, visible, sheet, name)
        place = f"{name}, sheet {chosen.title!r}"
        _check_cells(content, chosen, place)
        rows = list(_rows(chosen, place))
    except FileError:
        raise
    except Exception as error:  # of a file that is damaged, or made by hand: whatever can be wrong in it
        words = " ".join(str(error).split())[:200]
        raise FileError(
            f"{name} cannot be read as Excel ({type(error).__name__}: {words}). Is it complete, and an .xlsx file?"
        ) from error
    names, kept = _header(rows, place)
    numbers = [number for number, _ in rows[1:]]
    cells = {
        key: [row[at] if at < len(row) else None for _, row in rows[1:]] for key, at in zip(names, kept, strict=True)
    }
    frame = pd.DataFrame({key: pd.Series(values, dtype=object) for key, values in cells.items()})
    recognised = chosen.title if sheet is not None or len(visible) > 1 else None
    return FileTable(name, frame, False, partial(_where, numbers), Layout(sheet=recognised), Layout(sheet=sheet))


def guessed(table: FileTable, text: Collection[str]) -> FileTable:
    """The same table, each column of the type that all of its cells have; those in ``text`` stay text.

    Raises FileError if cells of a column differ in their types: the words for missing cells stand for these among
    numbers.
    """
    columns = {name: _typed(table, name, is_text=name in text) for name in table.frame}
    return replace(table, frame=pd.DataFrame(columns, index=table.frame.index))


def _typed(table: FileTable, name: str, *, is_text: bool) -> Any:
    values = table.frame[name].tolist()
    kinds = {_kind(value) for value in values if value is not None}
    if "text" in kinds and len(kinds) > 1:
        values = [None if isinstance(value, str) and value in MISSING_WORDS else value for value in values]
        kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) > 1:
        if is_text:
            return pd.Series([None if value is None else str(value) for value in values], dtype=object)
        first = _kind(next(value for value in values if value is not None))
        row = next(at for at, value in enumerate(values) if value is not None and _kind(value) != first)
        raise FileError(
            f"{table.name}, {table.where(row)}: column {name!r} holds {_kind(values[row])} ({shown(values[row])!r}), "
            f"but a row above holds {first}. Use one kind in the sheet, or read all of them as text (--text {name})."
            f"{_second_header(table, name, row, values)}"
        )
    return pd.Series(values, dtype=None if kinds else float)  # a column without cells is one of numbers, as of CSV


def _second_header(table: FileTable, name: str, row: int, values: list[Any]) -> str:
    """A hint if only the first row differs from all others: it may belong to the header."""
    first, *others = values
    if row == 1 and isinstance(first, str) and not any(isinstance(one, str) for one in others):
        return f" If {table.where(0)} belongs to the header, delete it: one row names the columns."
    return ""


def _kind(value: Any) -> str:
    return "a date" if isinstance(value, dt.date) else _KINDS.get(type(value), "text")


def shown(value: Any) -> Any:
    """A cell in a message: a date as ISO writes it."""
    return shown_date(value) if isinstance(value, dt.date) else value


def _chosen(sheets: Sequence[Any], visible: Sequence[Any], sheet: str | None, name: str) -> Any:
    titles = [one.title for one in sheets]
    if sheet is None:
        if not visible:
            raise FileError(f"{name} has no visible sheet with cells; name one (--sheet): {listed(titles)}.")
        return visible[0]
    if sheet not in titles:
        raise FileError(f"{name} has no sheet {sheet!r}; its sheets are {listed(titles)}.{did_you_mean(sheet, titles)}")
    return sheets[titles.index(sheet)]


def _rows(sheet: Any, place: str) -> Iterator[Row]:
    """The rows that hold anything."""
    sheet.reset_dimensions()  # what the file says about its size may be wrong
    for cells in sheet.iter_rows():
        wrong = next((cell for cell in cells if cell.data_type == "e" and cell.value not in MISSING_WORDS), None)
        if wrong is not None:
            raise FileError(
                f"{place}, cell {wrong.coordinate}, holds the error {wrong.value}. Correct its formula, or empty it."
            )
        values = [None if cell.data_type == "e" else _value(cell.value) for cell in cells]
        if any(value is not None for value in values):
            yield next(cell.row for cell in cells if cell.value is not None), values


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), value) if "_x" in value else value or None
    if isinstance(value, dt.time):  # of the day: there is no such type elsewhere
        return value.isoformat()
    return value


def _header(rows: Sequence[Row], place: str) -> tuple[list[str], list[int]]:
    """The names of the columns, and where these are; FileError unless each column with cells has a name."""
    if not rows:
        raise FileError(f"{place}, is empty; it needs a header with the names of the columns, and rows below it.")
    width = max(len(row) for _, row in rows)
    kept = [at for at in range(width) if any(at < len(row) and row[at] is not None for _, row in rows)]
    number, first = rows[0]
    names = [first[at] if at < len(first) else None for at in kept]
    nameless = [f"{_letters(at)}{number}" for at, name in zip(kept, names, strict=True) if not str(name or "").strip()]
    if nameless:
        raise FileError(
            f"{place}, row {number}: {listed(nameless, limit=3)} should hold the name of a column, and is empty. The "
            "first row must name every column, in one cell each: delete titles above it, and unmerge its cells."
        )
    header = [str(shown(name)) for name in names]
    check_header(header, place, is_text=True)
    return header, kept


def _letters(at: int) -> str:
    """What Excel calls the column at a position.

    >>> _letters(0), _letters(25), _letters(26)
    ('A', 'Z', 'AA')
    """
    letters = ""
    at += 1
    while at:  # ends: it is divided each time
        at, rest = divmod(at - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _check_cells(content: bytes, sheet: Any, place: str) -> None:
    """FileError if cells are merged, or hold a formula without a result: openpyxl would give both as empty cells."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(sheet._worksheet_path) as file:
        for _, element in ElementTree.iterparse(file):
            tag = element.tag.rpartition("}")[2]
            if tag == "mergeCell":
                raise FileError(
                    f"{place}: the cells {element.get('ref')} are merged. Unmerge them, and fill in each cell."
                )
            if tag == "c":
                parts = {one.tag.rpartition("}")[2]: one for one in element}
                if "f" in parts and ("v" not in parts or (not parts["v"].text and element.get("t") != "str")):
                    raise FileError(
                        f"{place}, cell {element.get('r')}, holds a formula without a result. Open the file in Excel "
                        "and save it, which computes all formulas, or paste the values in their place."
                    )
            if tag == "row":
                element.clear()


def _where(numbers: Sequence[int], row: int) -> str:
    return f"row {numbers[row]:,}" if row < len(numbers) else f"row {row:,}"


def written(frame: pd.DataFrame, name: str) -> bytes:
    """A frame as a file with one sheet; text is text, whatever it looks like, and never a formula.

    Where Excel cannot hold the values of a column as they are (integers of more than fifteen digits, dates before
    March 1900, moments with a time zone or parts of a millisecond), the column is text. The same frame gives the same
    bytes. Raises FileError if Excel has no room for a cell, or for all rows and columns.
    """
    package = openpyxl(f"writing {name}")
    if len(frame) >= _MOST_ROWS or frame.shape[1] > _MOST_COLUMNS:
        raise FileError(
            f"{name} cannot be written: a sheet of Excel has room for {_MOST_ROWS - 1:,} rows and {_MOST_COLUMNS:,} "
            f"columns, and the table has {len(frame):,} and {frame.shape[1]:,}. Write it as .csv or .parquet."
        )
    book = package.Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    sheet.freeze_panes = "A2"
    cell = partial(_cell, _maker(package, sheet), name)
    # All cells before the first row: a sheet that was begun must be ended.
    columns = [
        [
            cell(value, row, at)
            for row, value in enumerate([str(frame.columns[at]), *_values(package, frame.iloc[:, at])])
        ]
        for at in range(frame.shape[1])
    ]
    for values in zip(*columns, strict=True):
        sheet.append(values)
    file = io.BytesIO()
    book.save(file)
    return _without_time(file.getvalue())


def _maker(package: Any, sheet: Any) -> Callable[[str, str], Any]:
    """What makes a cell of a text, and of what openpyxl is to take it for: "s" for text, "n" for a number."""
    make = package.cell.WriteOnlyCell

    def typed_cell(text: str, kind: str) -> Any:
        cell = make(sheet, value=text)
        cell.data_type = kind  # whatever it looks like
        # Excel's own apostrophe: what is edited there stays text too.
        cell.quotePrefix = kind == "s" and protected(text) != text
        return cell

    return typed_cell


def _cell(typed_cell: Callable[[str, str], Any], name: str, value: Any, row: int, at: int) -> Any:
    if isinstance(value, float) and float(f"{value:.16g}") != value:
        return typed_cell(repr(value), "n")  # openpyxl would leave out the last digit
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode()
    text = _TO_ESCAPE.sub(lambda found: f"_x{ord(found.group()):04X}_", text)
    if len(text) > _LONGEST:
        raise FileError(
            f"{name} cannot be written: cell {_letters(at)}{row + 1} would hold {len(text):,} characters, and Excel "
            f"has room for {_LONGEST:,}. Write the table as .csv or .parquet."
        )
    return typed_cell(text, "s") if text.startswith(("=", "#")) or protected(text) != text else text


def _values(package: Any, cells: pd.Series[Any]) -> list[Any]:
    """The cells of a column as Excel holds them, None where missing; all of them as text if it cannot hold one."""
    given = [
        None if missing else plain_moment(plain_value(value))
        for value, missing in zip(cells.tolist(), cells.isna(), strict=True)
    ]
    values = [None if value is pd.NaT else value for value in given]
    if not all(_is_held(package.utils.datetime, value) for value in values):
        return [value if value is None or isinstance(value, str) else _as_text(value) for value in values]
    if values and all(
        value is None or (isinstance(value, dt.datetime) and value.time() == dt.time()) for value in values
    ):
        return [None if value is None else value.date() for value in values]
    return values


def _is_held(serial: Any, value: Any) -> bool:
    if value is None or isinstance(value, (bool, str)):
        return True
    if isinstance(value, int):
        return abs(value) < _LARGEST
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dt.datetime):
        is_plain = value.tzinfo is None and value >= _FIRST_DAY
        return bool(is_plain and serial.from_excel(serial.to_excel(value)) == value)
    if isinstance(value, dt.date):
        return value >= _FIRST_DAY.date()
    if isinstance(value, dt.timedelta):
        return bool(value >= dt.timedelta() and serial.from_excel(serial.to_excel(value), timedelta=True) == value)
    return False


def _as_text(value: Any) -> str:
    return shown_date(value) if isinstance(value, dt.date) else str(value)


def _without_time(content: bytes) -> bytes:
    """The file without the time at which it was written."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            part = old.read(entry)
            if entry == "docProps/core.xml":
                part = re.sub(rb"\d{4}-\d\d-\d\dT[\d:.]+Z", b"2000-01-01T00:00:00Z", part)
            new.writestr(zipfile.ZipInfo(entry), part, zipfile.ZIP_DEFLATED)
    return made.getvalue()
