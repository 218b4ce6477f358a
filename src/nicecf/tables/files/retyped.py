"""Cells of a file -> the types that the training table had: what the file says is kept, not what it looks like."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

import numpy as np
import pandas as pd

from nicecf.exceptions import FileError, did_you_mean, listed, plain
from nicecf.support.types import Bools, Floats, Objects
from nicecf.tables.cells import nearest_held
from nicecf.tables.files.cells import MISSING_WORDS, FileTable
from nicecf.tables.files.numerals import in_plain_numbers
from nicecf.tables.pandas_frames import PandasFrames
from nicecf.tables.temporal import Temporal

# Narrower than float(): no 1_000, no infinity.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
# Spreadsheets write them in the language of whoever saved the file.
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "1", "1.0", "wahr", "ja"), True),
    **dict.fromkeys(("false", "no", "0", "0.0", "falsch", "nein"), False),
}


class ColumnLike(Protocol):
    """What is needed to know of a column of the training table."""

    @property
    def name(self) -> Hashable: ...
    @property
    def is_categorical(self) -> bool: ...
    @property
    def prototype(self) -> Any: ...
    @property
    def levels(self) -> Sequence[Any]: ...
    @property
    def told_levels(self) -> Sequence[Any]: ...
    @property
    def missing(self) -> Any: ...
    @property
    def is_ordinal(self) -> bool: ...
    @property
    def has_missing(self) -> bool: ...
    @property
    def temporal(self) -> Temporal | None: ...


def like(
    table: FileTable,
    columns: Sequence[ColumnLike],
    *,
    ignore: Collection[str] = (),
    id: str | None = None,
    refused: dict[int, str] | None = None,
) -> pd.DataFrame:
    """The rows of a file as the training table had them: its columns, in its order, of its types.

    Text that training had as text stays text ('01234'), numbers are numbers, 'true', 'True' and '1' are True where
    it had booleans, and dates are read as ISO writes them; an empty cell is missing, and so is 'NA' unless training had
    a category of that name. What cannot be so is a FileError that names the column, the line and the value. A category
    that training never saw is kept, but not among ordered ones: it would have no place there.

    ``id`` names the column with the labels of the rows, ``ignore`` columns that are left out; others that training
    did not have are an error. ``refused``: a dict to fill, where one bad cell must not stop the other rows; it gets, by
    the position of its row, what is wrong with the first such cell, which is missing in the result.
    """
    _check_columns(table, [str(column.name) for column in columns], ignore, id)
    labels = _index(table, id)
    table = in_plain_numbers(table, number_columns(columns))
    given = table.frame.set_axis([str(name) for name in table.frame.columns], axis="columns")
    cells = {at: _read(_Cells(given[str(column.name)], column, table, refused)) for at, column in enumerate(columns)}
    frame = pd.DataFrame(cells, copy=False)
    frame.columns = pd.Index([column.name for column in columns])
    frame.index = labels
    return frame


def number_columns(columns: Sequence[ColumnLike]) -> list[str]:
    """The columns that held numbers when fit saw them, as measures or as categories."""
    return [str(column.name) for column in columns if column.temporal is None and _holds_numbers(column)]


def _holds_numbers(column: ColumnLike) -> bool:
    levels = [plain(level) for level in column.levels] if column.is_categorical else []
    is_number = [isinstance(level, (int, float)) and not isinstance(level, bool) for level in levels]
    return all(is_number) and (bool(levels) or not column.is_categorical)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of one column of a file, beside the column of the training table."""

    cells: pd.Series[Any]
    column: ColumnLike
    table: FileTable
    # What is wrong with a row, by its position; None where the first bad cell is an error.
    refused: dict[int, str] | None

    def converted(self, convert: Callable[[Any], Any]) -> tuple[list[Any], Any]:
        """The distinct values, converted, and the code of each cell among them; -1 is a missing cell.

        ``convert`` returns None for a missing value and raises _UnfitError for one that is invalid.
        """
        try:
            codes, values = pd.factorize(self.cells, use_na_sentinel=True)
        except TypeError as error:
            row, cell = next((at, cell) for at, cell in enumerate(self.cells) if not isinstance(cell, Hashable))
            raise FileError(
                f"{self.table.name}, {self.table.where(row)}: column {self.column.name!r} holds a "
                f"{type(cell).__name__}; a cell is a number, text, true, false or missing."
            ) from error
        distinct = []
        for code, value in enumerate(values):
            try:
                distinct.append(convert(plain(value)))
            except _UnfitError as error:
                self._refuse(codes == code, f"column {self.column.name!r} {error}.")
                distinct.append(None)
        return distinct, codes

    def _refuse(self, rows: Bools, problem: str) -> None:
        if self.refused is None:
            raise FileError(f"{self.table.name}, {self.table.where(int(np.argmax(rows)))}: {problem}") from None
        for row in np.flatnonzero(rows).tolist():
            self.refused.setdefault(row, problem)


_MOST_DIGITS = 400


class _UnfitError(Exception):
    """Why a value cannot be one of its column; the end of a message that starts with the column."""


def _read(cells: _Cells) -> Any:
    temporal = cells.column.temporal
    if temporal is not None:
        distinct, codes = cells.converted(_as_moment(temporal))
        numbers = np.array([np.nan if one is None else one for one in distinct] + [np.nan])
        return _moments(numbers[codes], temporal, cells.column)
    if not cells.column.is_categorical:
        distinct, codes = cells.converted(_as_measure)
        numbers = np.array([np.nan if one is None else float(one) for one in distinct] + [np.nan])
        return _numbers(numbers[codes], cells.column.prototype.dtype)
    as_level = _as_level(cells.column, is_text=cells.table.is_text)
    if cells.column.is_ordinal:
        as_level = _known_level(as_level, cells.column)
    distinct, codes = cells.converted(as_level)
    values = np.empty(len(distinct) + 1, dtype=object)
    values[:] = [*distinct, None]
    return _levels(values[codes], cells.column)


def _as_moment(temporal: Temporal) -> Callable[[Any], float | None]:
    """How a value becomes a date or a duration, as the number that stands for it."""

    def as_moment(value: Any) -> float | None:
        if isinstance(value, str) and value.strip() in MISSING_WORDS:
            return None
        try:
            number = temporal.number(value)
        except ValueError as error:
            raise _UnfitError(f"holds {value!r}, but held {temporal.words} when fit saw it; {error}") from None
        if number % temporal.smallest:
            raise _UnfitError(f"holds {value!r}, which has a time, but held dates alone when fit saw it")
        return number

    return as_moment


def _moments(values: Floats, temporal: Temporal, column: ColumnLike) -> Any:
    """Dates or durations in the dtype of the training table; where that is not one of pandas, in its own."""
    like = column.prototype
    if not isinstance(like, pd.Series):
        like = pd.Series([], dtype=object)
        temporal = replace(
            temporal, cell={"date": "date", "datetime": "datetime", "duration": "timedelta"}[temporal.kind]
        )
    written = PandasFrames().write_moments(values, temporal, like, column.missing)
    return pd.Series(written, dtype=object) if like.dtype == object else written


def _as_measure(value: Any) -> float | int | None:
    """A number of a number column, which holds floats."""
    number = _as_number(value)
    if isinstance(number, int) and int(float(number)) != number:
        raise _UnfitError(f"holds {number}, an integer that a float cannot hold exactly; rescale it")
    return number


def _as_number(value: Any) -> float | int | None:
    if isinstance(value, str):
        word = value.strip()
        if word in MISSING_WORDS:
            return None
        if not _NUMBER.fullmatch(word):
            raise _UnfitError(f"holds {value!r}, which is not a number{_number_hint(word)}")
        if len(word) > _MOST_DIGITS:
            raise _UnfitError(f"holds a number of {len(word):,} characters; write it shorter")
        number = float(word)
        # Exact, where the column has large whole numbers for categories.
        value = int(word) if number.is_integer() and word.lstrip("+-").isdigit() else number
    if isinstance(value, (Real, Decimal)):
        if not math.isfinite(value):
            raise _UnfitError("holds an infinite value; distances need finite numbers")
        return value  # type: ignore[return-value]  # bool, int, float, or a Decimal that float() takes
    raise _UnfitError(f"holds {value!r}, which is not a number")


def _number_hint(word: str) -> str:
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", word):
        return "; write it without commas for thousands"
    if re.fullmatch(r"[-+]?\d+,\d+", word):
        return "; write it with a decimal point, or say that the file has decimal commas (--decimal ,)"
    return "; correct it, or leave the cell empty if it is not known"


def _as_level(column: ColumnLike, *, is_text: bool) -> Callable[[Any], Any]:
    """How a value becomes one of the categories that training had, or one of their sort."""
    levels = [plain(level) for level in column.levels]
    has_text = any(isinstance(level, str) for level in levels)
    if levels and all(isinstance(level, bool) for level in levels):
        return _as_boolean
    if levels and all(isinstance(level, (int, float)) for level in levels):
        return _as_number
    by_word = {str(level): level for level in levels}

    def as_text(value: Any) -> Any:
        if not isinstance(value, str):
            if has_text and isinstance(value, (bool, int, float)) and value not in levels:
                example = f" (such as {plain(column.told_levels[0])!r})" if column.told_levels else ""
                raise _UnfitError(
                    f"holds the number {value!r}, but held text when fit saw it{example}; write it as text, as it was "
                    "for the training data"
                )
            return value
        if value in by_word and value:
            return by_word[value]
        return None if is_text and value in MISSING_WORDS else value

    return as_text


def _known_level(as_level: Callable[[Any], Any], column: ColumnLike) -> Callable[[Any], Any]:
    """The same, of a column whose categories have an order: one that is not among them is refused."""
    levels = [plain(level) for level in column.levels]

    def known(value: Any) -> Any:
        level = as_level(value)
        if level is not None and level not in levels:
            raise _UnfitError(
                f"holds {value!r}, which is not one of its levels, from low to high {listed(column.told_levels)}; "
                "correct it, or leave the cell empty if it is not known"
            )
        return level

    return known


def _as_boolean(value: Any) -> bool | None:
    if isinstance(value, str) and value.strip() in MISSING_WORDS:
        return None
    is_true = _BOOLEANS.get(str(value).strip().lower())
    if is_true is None:
        raise _UnfitError(f"holds {value!r}, but is true or false; write one of these, or leave it empty")
    return is_true


def _numbers(values: Floats, dtype: Any) -> Any:
    """Floats in the dtype of the training table, or in one that holds them where that does not."""
    if isinstance(dtype, np.dtype):
        if dtype.kind not in "iuf":
            return values
        if dtype.kind == "f":
            values = nearest_held(values, dtype)
        elif np.isnan(values).any():
            dtype = pd.Int64Dtype()
    return PandasFrames().write_numbers(values, pd.Series(dtype=dtype))


def _levels(values: Objects, column: ColumnLike) -> Any:
    """Categories, None where missing, in the dtype of the training table, or in one that holds them."""
    dtype = column.prototype.dtype
    missing = np.array([value is None for value in values], dtype=bool)
    if isinstance(dtype, pd.CategoricalDtype):
        known = set(dtype.categories)
        unseen = list(dict.fromkeys(value for value in values[~missing] if value not in known))
        # What may not be shared is not kept as a category that no cell holds.
        kept_back = set(column.levels) - set(column.told_levels) - set(values[~missing])
        categories = dtype.categories[[one not in kept_back for one in dtype.categories]]
        categories = categories.append(pd.Index(unseen)) if unseen else categories
        return pd.Categorical(values, categories=categories, ordered=dtype.ordered)
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        exact = np.array(values[~missing].tolist())
        if exact.dtype.kind in "iu" and not missing.any():
            return exact
        return _numbers(np.array([np.nan if value is None else value for value in values], dtype=np.float64), dtype)
    if isinstance(dtype, np.dtype):
        if dtype == np.dtype(bool) and not missing.any():
            return values.astype(bool)
        values[missing] = column.missing if column.has_missing else np.nan
        return pd.Series(values, dtype=object)
    try:
        return pd.array(list(values), dtype=dtype)
    except (TypeError, ValueError):
        return pd.Series(values, dtype=object)


def _check_columns(table: FileTable, needed: list[str], ignore: Collection[str], id: str | None) -> None:
    present = [str(name) for name in table.frame.columns]
    for option, names in (("ignore", ignore), ("id", [] if id is None else [id])):
        unknown = [name for name in names if name not in present]
        if unknown:
            raise FileError(
                f"{table.name} has no column {listed(unknown)}, which {option} names; its columns are "
                f"{listed(present)}.{did_you_mean(unknown[0], present)}"
            )
        wanted = [name for name in names if name in needed]
        if wanted and option == "ignore":
            raise FileError(f"ignore names {listed(wanted)}, which the explainer needs: the model was trained on it.")
    missing = [name for name in needed if name not in present]
    known = {*needed, *ignore, id}
    extra = [name for name in present if name not in known]
    if missing:
        close = did_you_mean(missing[0], [name for name in present if name not in needed])
        others = f", but {listed(extra)}, which fit did not see" if extra else f"; its columns are {listed(present)}"
        raise FileError(
            f"{table.name} has no column {listed(missing)}, which the explainer needs{others}."
            f"{close.replace('Did you mean', 'Is it')}"
        )
    if extra:
        raise FileError(
            f"{table.name} has the column {listed(extra)}, which fit did not see. Leave it out (ignore, on the command "
            f"line --ignore {shlex.quote(','.join(extra[:8]))}), or take it for the labels of the rows (id, --id "
            f"{shlex.quote(extra[0])})."
        )


def _index(table: FileTable, id: str | None) -> pd.Index[Any]:
    if id is None:
        return table.frame.index
    labels = table.frame[id]
    empty = labels.isna() | (labels.astype(object) == "")
    if empty.any():
        row = int(np.argmax(empty))
        raise FileError(f"{table.name}, {table.where(row)}: column {id!r}, the label of the row, is empty. Fill it in.")
    return pd.Index(labels, name=id)
