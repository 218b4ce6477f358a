"""What features and values of rules are in the columns of a table: positions and floats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Number
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from nicecf.exceptions import OptionError, did_you_mean, listed, plain
from nicecf.rules.parameters import Feature, are_alike
from nicecf.support.formats import shown
from nicecf.support.types import Floats
from nicecf.tables.cells import nearest_held
from nicecf.tables.column import Column
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema
from nicecf.tables.temporal import Temporal, is_date_or_duration, plain_moment

# The code of a value that no cell has.
NOTHING = -2.0
_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class RuledRows:
    """Rows that rules are read for, with the columns of their table.

    ``trained`` is the schema of the training table: it knows which values a donor can have. ``index`` are the labels of
    the rows, where they are known. ``is_checked``: the rules were read before, so that a value that no counterfactual
    could have is not a mistake, but one that other rows have.
    """

    schema: Schema
    rows: Floats
    trained: Schema
    index: pd.Index[Any] | None = None
    is_checked: bool = False

    def position(self, feature: Feature, option: str) -> int:
        """Where the feature stands; OptionError, with the name of the parameter, if it is not a column."""
        return self.schema.position(feature, option)

    def check_numeric(self, feature: Feature, option: str) -> None:
        """OptionError for a categorical feature, ordered or not."""
        if self.schema.columns[self.position(feature, option)].is_categorical:
            raise OptionError(f"{option} names {feature!r}, which is categorical; use allowed for its values.")

    def own_value(self, value: Any, j: int, option: str) -> float:
        """A value that a row may have. Of a guarded column nobody is told whether any training row has it."""
        code = encoded(value, self.trained, j, option)
        if code is None and self.trained.columns[j].common is None:
            self._refuse(value, j, option)
        return NOTHING if code is None else code

    def new_value(self, value: Any, j: int, option: str) -> float:
        """A value that a row may change to: one that counterfactuals may have, else OptionError."""
        code, column = encoded(value, self.trained, j, option), self.trained.columns[j]
        common = column.common if column.is_categorical and value is not None else None
        is_kept_back = common is not None and code not in common
        if (code is None or is_kept_back) and not self.is_checked:
            self._refuse(value, j, option)
        return NOTHING if code is None else code

    def _refuse(self, value: Any, j: int, option: str) -> NoReturn:
        column = self.trained.columns[j]
        levels = column.told_levels
        who = "no training row has" if column.common is None else "too few training rows have (min_count), or none"
        known = f"Its values are {listed(levels)}." if levels else "None of its values may be used."
        raise OptionError(
            f"{option} has {value!r} for {column.name!r}, a value that {who}: no counterfactual could have it. "
            f"{known}{did_you_mean(value, levels)}"
        )


def positions_of(features: Iterable[Feature], schema: Schema, option: str) -> set[int]:
    """Return where features stand in a table; raise OptionError for one that is not a column."""
    return {schema.position(feature, option) for feature in features}


def missing(schema: Schema, j: int) -> float:
    """What stands for a missing value of a column."""
    return schema.columns[j].missing_code


def is_date(schema: Schema, j: int) -> bool:
    """Whether a column holds dates: they are not higher or lower, but later or earlier."""
    temporal = schema.columns[j].temporal
    return temporal is not None and temporal.kind != "duration"


def cell_of(schema: Schema, j: int, value: float) -> Any:
    """An encoded value of a column as a plain Python value; None if it is missing."""
    temporal = schema.columns[j].temporal
    if temporal is not None:
        return temporal.value(value)
    cell = labels_of(schema, j, np.array([value]))[0]
    return None if cell is None or cell != cell else plain(cell)


def labels_of(schema: Schema, j: int, values: Floats) -> npt.NDArray[Any]:
    """Encoded values of a column as relations compare them: numbers as they are, categories as labels or None."""
    column = schema.columns[j]
    if not column.is_categorical:
        return values
    labels = np.empty(len(column.levels) + 1, dtype=object)
    labels[:-1] = [plain(level) for level in column.levels]
    return labels[codes_of(values)]  # the last, None, is that of -1


def encoded(value: Any, schema: Schema, j: int, option: str) -> float | None:
    """A value of column ``j`` as the float that stands for it; None for a category that is not known."""
    column = schema.columns[j]
    if value is None:
        return missing(schema, j)
    if column.temporal is not None:
        return moment(value, column.temporal, column.name, option)
    if not column.is_categorical:
        is_of_booleans = (
            schema.container.number_dtype(column.prototype).kind == "b"
        )  # an array of them is one of numbers
        number = _finite_number(int(value) if is_of_booleans and isinstance(value, bool) else value)
        if number is None:
            raise OptionError(f"{option} has {value!r} for {column.name!r}, which is numeric; pass a number.")
        return float(held(np.array(number), float_dtype(schema, j)))
    code = code_of(value, column)
    return None if code is None else float(code)


def _finite_number(value: Any) -> float | None:
    """Return a number, or text of one as sheets have it; None for everything else, such as booleans."""
    is_text = isinstance(value, str) and "_" not in value  # Python reads 1_000 as a number
    if isinstance(value, bool) or not (isinstance(value, Number) or is_text):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def moment(value: Any, temporal: Temporal, name: Feature, option: str) -> float:
    """A date or a duration of a rule as its column holds it; OptionError if it is none, with what to write."""
    try:
        return temporal.number(value)
    except ValueError as error:
        raise OptionError(f"{option} has {value!r} for {name!r}, a column of {temporal.words}: {error}.") from None


def code_of(value: Any, column: Column) -> int | None:
    """The code of a category; a sheet or a file may have text where the table has numbers, booleans or dates."""
    known = column.code(value)
    if known is not None and are_alike(plain(column.levels[known]), value):
        return known
    alike = [
        code
        for code, level in enumerate(column.levels)
        if are_alike(plain(level), value) or (not isinstance(level, str) and _written(level) == _written(value))
    ]
    return alike[0] if len(alike) == 1 else None


def _written(value: Any) -> str:
    """How people write a category that is not text."""
    value = plain(plain_moment(value))
    return shown(value) if is_date_or_duration(value) else str(value).lower()


def float_dtype(schema: Schema, j: int) -> np.dtype[Any]:
    """The dtype of floats in which the numbers of a column are held; that of all encoded values for other columns."""
    column = schema.columns[j]
    dtype = _FLOAT64 if column.is_categorical else schema.container.number_dtype(column.prototype)
    return dtype if dtype.kind == "f" and dtype.itemsize < _FLOAT64.itemsize else _FLOAT64


def held(values: Floats, dtype: np.dtype[Any]) -> Floats:
    """Numbers of a rule as a column of this dtype holds them; those that are too large for it as they are."""
    return np.where(np.abs(values) <= np.finfo(dtype).max, nearest_held(values, dtype), values)
