"""Numbers as people write them: decimal points or commas, and the other of the two between thousands.

What a column tells is told by all of its cells: ``1,5`` is a number with a decimal comma alone, ``1.5`` with a point
alone, and ``1.234`` reads both ways.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from nicecf.exceptions import FileError, OptionError
from nicecf.tables.files.cells import MISSING_WORDS, FileTable

MARKS = (".", ",")
_OTHER = {".": ",", ",": "."}
# The same number, whatever the mark.
_NEUTRAL = re.compile(r"[-+]?(\d+([eE][-+]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
# What may be a number one way or another: a column with a cell that is not so is text.
_PERHAPS = re.compile(r"[-+]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?", re.ASCII)
# Thousands are in threes, and numbers with them never start with 0: 0.125 is no such number.
_NUMBERS = {
    mark: re.compile(
        rf"[-+]?((\d+({re.escape(mark)}\d*)?|{re.escape(mark)}\d+)([eE][-+]?\d+)?"
        rf"|[1-9]\d{{0,2}}({re.escape(_OTHER[mark])}\d{{3}})+({re.escape(mark)}\d*)?)",
        re.ASCII,
    )
    for mark in MARKS
}
_SAMPLE = 100
_WORDS = {".": "point", ",": "comma"}


@dataclass(frozen=True)
class Told:
    """What one column tells: the marks by which all of its cells are numbers, and a cell that shows it."""

    name: str
    fits: tuple[str, ...]
    example: str

    @property
    def reads_both_ways(self) -> bool:
        return len(self.fits) == len(MARKS)


def may_be_numbers(cells: pd.Series[Any]) -> bool:
    """Whether the first cells of a column of text could be numbers with marks in them."""
    words = [str(cell).strip() for cell in cells.dropna().iloc[:_SAMPLE]]
    return bool(words) and all(_PERHAPS.fullmatch(word) for word in words)


def plain(word: str, decimal: str) -> str | None:
    """A number as Python writes it; None if it is none with this decimal mark.

    >>> plain("1.234,5", ","), plain("1,234.5", "."), plain("1.5", ","), plain("0.125", ",")
    ('1234.5', '1234.5', None, None)
    """
    word = word.strip()
    return None if _NUMBERS[decimal].fullmatch(word) is None else _with_points(word, decimal)


def _with_points(number: str, decimal: str) -> str:
    return number.replace(_OTHER[decimal], "").replace(decimal, ".")


def has_thousands(words: Iterable[str], decimal: str) -> bool:
    """Whether a mark stands between the thousands of one of these numbers."""
    return any(_OTHER[decimal] in word and word not in MISSING_WORDS for word in words)


def _is_text(cells: pd.Series[Any]) -> bool:
    return pd.api.types.infer_dtype(cells, skipna=True) == "string"


def told_by(name: str, words: Iterable[str]) -> Told | None:
    """What a column of cells tells about the decimal mark; None if nothing: no marks, or text."""
    fits, example, decisive = set(MARKS), None, None
    for word in words:
        word = word.strip()
        if word in MISSING_WORDS or _NEUTRAL.fullmatch(word):
            continue
        still = {mark for mark in fits if _NUMBERS[mark].fullmatch(word)}
        if not still:
            return None
        example = word if example is None or ("," in word and "," not in example) else example
        decisive = word if len(still) < len(fits) else decisive
        fits = still
    if example is None:
        return None
    return Told(name, tuple(mark for mark in MARKS if mark in fits), decisive or example)


def look_like_decimal_commas(table: FileTable) -> list[str]:
    """The columns of text whose cells are all numbers with decimal commas, if the file has commas between fields."""
    if table.layout.sep != "," or table.layout.decimal == ",":
        return []
    words = {
        str(name): table.frame[name].dropna().unique()
        for name in table.frame
        if _is_text(table.frame[name]) and may_be_numbers(table.frame[name])
    }
    columns, _ = _told(words)
    return [one.name for one in columns if one.fits == (",",)]


def decided(columns: Sequence[Told], name: str, *, sep: str, given: str | None, advice: str = "") -> str | None:
    """The decimal mark of a file by what its columns tell; None if nothing in it depends on that.

    A file with commas between its fields has decimal points unless told otherwise. Raises FileError if columns
    contradict each other, or if nothing tells how to read one that reads both ways; OptionError if ``given``
    contradicts them. ``advice``: how else a column may be read, for messages.
    """
    alone = {mark: next((one for one in columns if one.fits == (mark,)), None) for mark in MARKS}
    if given is not None:
        against = alone[_OTHER[given]]
        if against is not None:
            raise OptionError(
                f"decimal={given!r} (--decimal) does not fit {name}: column {against.name!r} holds "
                f"{against.example!r}. Pass {_OTHER[given]!r}, or leave it out to have it recognised"
                f"{advice.format(shlex.quote(against.name))}."
            )
        return given
    point, comma = alone["."], alone[","]
    if sep == ",":
        unclear = next((one for one in columns if one.reads_both_ways and "," in one.example), None)
        if unclear is not None and point is None:
            raise _reads_both_ways(unclear, name, advice)
        return "."
    if point is not None and comma is not None:
        both = f"{shlex.quote(point.name)} or --text {shlex.quote(comma.name)}"
        raise FileError(
            f"{name} has decimal points in column {point.name!r} ({point.example!r}) and decimal commas in "
            f"{comma.name!r} ({comma.example!r}). Write all numbers one way{advice.format(both)}."
        )
    if point is None and comma is None:
        unclear = next((one for one in columns if one.reads_both_ways), None)
        if unclear is not None:
            raise _reads_both_ways(unclear, name, advice)
        return None
    return "." if comma is None else ","


def _reads_both_ways(one: Told, name: str, advice: str) -> FileError:
    by_point, by_comma = (plain(one.example, mark) for mark in MARKS)
    return FileError(
        f"{name}: column {one.name!r} holds {one.example!r}, which reads both ways: as {by_point} with a decimal "
        f"point, as {by_comma} with a decimal comma. Say which with the option decimal (--decimal . or --decimal ,)"
        f"{advice.format(shlex.quote(one.name))}."
    )


def with_decimal(table: FileTable, names: Collection[str]) -> FileTable:
    """A table of cells with the decimal mark that some columns, which must be numbers, tell; cells are unchanged."""
    if not table.is_text or table.layout.sep is None:
        return table
    columns, distinct = _told({name: table.frame[name] for name in names if name in table.frame})
    return _settled(table, columns, distinct, "")


def _told(cells: Mapping[str, Iterable[str]]) -> tuple[list[Told], dict[str, list[str]]]:
    """What each of some columns tells, if it does, and the distinct cells of all."""
    distinct = {name: list(dict.fromkeys(words)) for name, words in cells.items()}
    return [told for name, words in distinct.items() if (told := told_by(name, words)) is not None], distinct


def _settled(table: FileTable, columns: Sequence[Told], distinct: Mapping[str, list[str]], advice: str) -> FileTable:
    """The table, with the decimal mark and the columns with thousands that were found in it."""
    assert table.layout.sep is not None
    decimal = decided(columns, table.name, sep=table.layout.sep, given=table.given.decimal, advice=advice)
    grouped = [
        one.name
        for one in columns
        if decimal is not None and decimal in one.fits and has_thousands(distinct[one.name], decimal)
    ]
    return replace(table, layout=replace(table.layout, decimal=decimal), grouped=tuple(grouped))


def in_plain_numbers(table: FileTable, names: Collection[str], *, if_all: Collection[str] = ()) -> FileTable:
    """A table of cells with the numbers of some columns as Python writes them; other cells stay as they are.

    Raises FileError for a number with the other decimal mark than the file has. ``if_all``: columns that may be text,
    and are changed only if all of their cells are numbers.
    """
    if not table.is_text:
        return table
    table = with_decimal(table, names)
    decimal = table.layout.decimal
    if decimal is None:
        return table
    changed: dict[str, Any] = {}
    for name in [name for name in (*names, *if_all) if name in table.frame]:
        cells = table.frame[name]
        numbers = {word: plain(word, decimal) for word in cells.unique()}
        odd = [word for word, number in numbers.items() if number is None and word not in MISSING_WORDS]
        if name in if_all and odd:
            continue
        wrong = next((word for word in odd if plain(word, _OTHER[decimal]) is not None), None)
        if wrong is not None and decimal == ",":  # with points, whoever wants numbers refuses all others
            row = int((cells == wrong).to_numpy().argmax())
            raise FileError(
                f"{table.name}, {table.where(row)}: column {name!r} holds {wrong!r}, which is not a number with a "
                f"decimal {_WORDS[decimal]}, as the file has them. Correct it, or say which mark it has (--decimal)."
            )
        new = {word: number for word, number in numbers.items() if number is not None and number != word}
        if new:
            changed[name] = cells.map(lambda word, new=new: new.get(word, word))
    return replace(table, frame=table.frame.assign(**changed)) if changed else table


def typed(table: FileTable, raw: Mapping[str, Sequence[str]], as_column: Callable[[list[str]], Any]) -> FileTable:
    """A table whose columns pandas has typed, in which all numbers are numbers, whatever their decimal mark.

    ``raw``: all columns that may depend on the mark, as they stand in the file. ``as_column``: cells with decimal
    points -> a column of the type that pandas takes it for.
    """
    columns, distinct = _told(raw)
    table = _settled(table, columns, distinct, ", or keep the column as text (--text {})")
    decimal = table.layout.decimal
    changed: dict[str, Any] = {}
    for one in columns:
        if decimal is not None and decimal in one.fits:
            numbers = {
                word: word if word in MISSING_WORDS else _with_points(word.strip(), decimal)
                for word in distinct[one.name]
            }
            if any(number != word.strip() for word, number in numbers.items()):
                changed[one.name] = as_column([numbers[word] for word in raw[one.name]])
    return replace(table, frame=table.frame.assign(**changed)) if changed else table
