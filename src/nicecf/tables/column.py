"""One column: what ``fit`` saw of it, and its categories as codes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import NicecfError, SchemaError, plain
from nicecf.support.types import Cells, Floats, Ints
from nicecf.tables import Container
from nicecf.tables.cells import level_key
from nicecf.tables.temporal import Temporal, check_same_sort

# Of fewer values nobody can tell whether they are free text.
_FEWEST_VALUES = 50


@dataclass(frozen=True, eq=False)
class Column:
    """One column of the table that ``fit`` got."""

    name: Hashable
    is_categorical: bool
    prototype: Cells = field(repr=False)
    levels: tuple[Any, ...] = field(default=(), repr=False)
    # How an object column marks a missing cell (None, nan, NA): models tell them apart.
    missing: Any = np.nan
    has_missing: bool = False
    native_levels: Any = field(default=None, repr=False)
    # The values that a counterfactual may take of the training data, encoded; None: all.
    common: Floats | None = field(default=None, repr=False)
    # Text that is somebody's own, such as notes: it is not handed to others unless that is asked for.
    is_free_text: bool = False
    # Categories that the distance compares by rank: they are encoded by it, missing as NaN (see `ordered`).
    is_ordinal: bool = False
    # What the dates or durations are that the numbers of this column stand for; None for any other column.
    temporal: Temporal | None = None

    @cached_property
    def _code_of(self) -> Mapping[Any, int]:
        return {level_key(level, self._by_type): code for code, level in enumerate(self.levels)}

    @property
    def _by_type(self) -> bool:
        # Among objects, a model may tell 1 from True; elsewhere all cells are of one type, and 1.0 may stand for 1.
        return bool(self.prototype.dtype == np.dtype(object))

    @property
    def told_levels(self) -> tuple[Any, ...]:
        """The categories that may be shared: all, or those that enough training rows hold."""
        if self.common is None:
            return self.levels
        return tuple(self.levels[int(code)] for code in self.common if code >= 0)

    @property
    def missing_code(self) -> float:
        """What stands for a missing cell."""
        return -1.0 if self.is_categorical and not self.is_ordinal else np.nan

    def code(self, value: Any) -> int | None:
        """The code of a category, None for one that is not known."""
        return self._code_of.get(level_key(value, self._by_type))


def fit_categories(container: Container, cells: Cells, name: Hashable) -> tuple[Column, Floats]:
    """A categorical column of the training table, and its cells as codes."""
    codes, levels = container.factorize(cells, name)
    prototype = container.prototype(cells)
    column = Column(
        name,
        True,
        prototype,
        tuple(levels),
        _missing_marker(cells, codes, name),
        bool((codes < 0).any()),
        container.native_levels(levels, prototype),
        is_free_text=looks_like_free_text(levels, int(np.count_nonzero(codes >= 0))),
    )
    return column, codes.astype(np.float64)


def fit_moments(container: Container, cells: Cells, name: Hashable) -> tuple[Column, Floats]:
    """A column of dates or durations of the training table, and its cells as numbers."""
    read = container.moments(cells, name)
    if read is None:
        raise NicecfError(f"column {name!r} holds no dates. This is a bug in nicecf: please report it.")
    temporal, numbers = read
    marker: Any = pd.NaT
    has_missing = False
    if temporal.cell is not None:
        has_missing = bool(np.isnan(numbers).any())
        marker = _missing_marker(cells, _known(numbers), name) if has_missing else pd.NaT
    column = Column(name, False, container.prototype(cells), missing=marker, has_missing=has_missing, temporal=temporal)
    return column, numbers


def read_moments(container: Container, cells: Cells, column: Column) -> tuple[Column, Floats]:
    """The cells of rows to explain as numbers, and the column with the marker for missing that they use."""
    assert column.temporal is not None
    read = container.moments(cells, column.name)
    is_empty = read is None and bool((container.factorize(cells, column.name)[0] < 0).all())
    if not is_empty:
        check_same_sort(None if read is None else read[0], column.temporal, cells.dtype, column.name)
    numbers = np.full(len(cells), np.nan) if read is None else read[1]
    return (_with_marker(cells, _known(numbers), column) if cells.dtype == np.dtype(object) else column), numbers


def _known(numbers: Floats) -> Ints:
    """Codes that only tell which cells are missing."""
    return np.where(np.isnan(numbers), -1, 0).astype(np.intp)


def looks_like_free_text(levels: Sequence[Any], n_values: int, n_levels: int | None = None) -> bool:
    """Whether a column looks like free text: most of its values, if there are not too few to tell, are unlike.

    ``n_levels``: how many levels there are, if ``levels`` are but some of them. Saved explainers are checked by it:
    with another rule, those of before need this one.
    """
    is_unlike = n_values >= _FEWEST_VALUES and (len(levels) if n_levels is None else n_levels) > n_values / 2
    return is_unlike and all(isinstance(level, str) for level in levels)


def read_categories(container: Container, cells: Cells, column: Column) -> tuple[Column, Floats]:
    """The cells of rows to explain as codes, and the column extended by the categories that training never saw."""
    codes, values = container.factorize(cells, column.name)
    column = _with_marker(cells, codes, column)
    seen = np.unique(codes[codes >= 0])
    unseen = [values[code] for code in seen if column.code(values[code]) is None]
    if unseen:
        _check_same_sort(unseen, column)
        levels = (*column.levels, *unseen)
        column = replace(
            column,
            levels=levels,
            native_levels=container.native_levels(levels, column.prototype),
        )
    # A categorical dtype may name categories that no cell holds, and that training never saw.
    known = [column.code(value) for value in values]
    table = np.array([-1 if code is None else code for code in known] + [-1], dtype=np.float64)
    return column, table[codes]


def _check_same_sort(unseen: list[Any], column: Column) -> None:
    """Text where training had numbers, or the reverse, is a mistake and not an unseen category."""
    was = {_sort(level) for level in column.levels}
    wrong = [value for value in unseen if _sort(value) not in was]
    if was and wrong:
        now = {_sort(value) for value in wrong}
        example = f" (such as {plain(column.told_levels[0])!r})" if column.told_levels else ""
        raise SchemaError(
            f"column {column.name!r} held {' and '.join(sorted(was))} when fit saw it{example}, but now holds "
            f"{' and '.join(sorted(now))} (such as {plain(wrong[0])!r}). Convert it as it was for the training data."
        )


def _sort(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "booleans"
    if isinstance(value, Real):
        return "numbers"
    return "text" if isinstance(value, (str, bytes)) else type(value).__name__


def _missing_marker(cells: Cells, codes: Any, name: Hashable) -> Any:
    if cells.dtype != np.dtype(object) or not (codes < 0).any():
        return np.nan
    markers = list(np.asarray(cells, dtype=object)[codes < 0])
    kinds = {type(marker).__name__ for marker in markers}
    if len(kinds) > 1:
        raise SchemaError(
            f"column {name!r} marks missing values in more than one way ({' and '.join(sorted(kinds))}); a model may "
            f"tell them apart. Use one: X[{name!r}] = X[{name!r}].where(X[{name!r}].notna(), None)."
        )
    return markers[0]


def _with_marker(cells: Cells, codes: Any, column: Column) -> Column:
    """The column with the marker that the rows to explain use, if training had none; SchemaError if it had another."""
    if column.prototype.dtype != np.dtype(object) or not (codes < 0).any():
        return column
    marker = np.asarray(cells, dtype=object)[codes < 0][0]
    if not column.has_missing:
        return replace(column, missing=marker, has_missing=True)
    if type(marker) is not type(column.missing):
        raise SchemaError(
            f"column {column.name!r} marks missing values by {marker!r}, but used {column.missing!r} when fit saw "
            "it; a model may tell them apart. Convert it as it was for the training data."
        )
    return column
