"""Cells of a column, whatever the container: what all adapters share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import copysign
from numbers import Number, Real
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from nicecf.exceptions import SchemaError, plain
from nicecf.support.types import Floats, Ints, Objects
from nicecf.tables.temporal import plain_moment

Kind: TypeAlias = Literal["number", "category", "numbers as objects", "temporal"]

# Beyond this, float64 no longer holds every integer, and a value could come back changed.
LARGEST_EXACT_INTEGER = 2**53

_CATEGORY_LIKE = {"string", "boolean", "mixed", "mixed-integer", "empty", "bytes", "categorical"}
_NUMBERS_AS_OBJECTS = {"integer", "floating", "mixed-integer-float", "decimal"}


def kind_of_values(inferred: str, dtype: object, name: Hashable) -> Kind:
    """What a column is by the kind of its values; SchemaError when it is neither number nor category."""
    if inferred in _CATEGORY_LIKE:
        return "category"
    if inferred in _NUMBERS_AS_OBJECTS:
        return "numbers as objects"
    raise SchemaError(refusal(name, dtype, inferred))


def refusal(name: Hashable, dtype: object, inferred: str = "", *, of_array: bool = False) -> str:
    """Why a column cannot be used, and what to do. ``of_array``: it is one of an array, which holds no dates."""
    if of_array and str(dtype).startswith(("datetime", "timedelta")):
        return (
            f"column {name!r} has dtype {dtype}: dates and durations cannot be read from an array. Pass a DataFrame, "
            "as the model's training data too: each of its columns has a dtype of its own."
        )
    what = f"{dtype} (holding {inferred} values)" if str(dtype) == "object" else f"{dtype}"
    return (
        f"column {name!r} has dtype {what}, which a distance between rows cannot use. Allowed are numbers, "
        "booleans, text, categories, dates with or without times, and durations. Turn it into one of them (a period "
        "into its first day, a time of day into hours), train the model on that, or drop the column."
    )


def refuse_large_integers(low: Any, high: Any, name: Hashable) -> None:
    """Raise SchemaError for a column with integers that float64 cannot hold."""
    if pd.isna(low) or max(abs(int(low)), abs(int(high))) <= LARGEST_EXACT_INTEGER:
        return
    worst = low if abs(int(low)) > LARGEST_EXACT_INTEGER else high
    raise SchemaError(
        f"column {name!r} holds {int(worst)}, an integer that a float cannot hold exactly (the limit is 2**53). "
        "If it is an identifier, drop it or name it in categorical_features; otherwise rescale it."
    )


def is_plain_number(dtype: object) -> bool:
    """Return whether it is a numpy dtype of numbers of at most 64 bits, which marks missing cells by NaN alone."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiu" and dtype.itemsize <= 8


def exact_columns(positions: Ints, numbers: Floats) -> tuple[Ints, Floats]:
    """Return the positions and cells of those columns in which no number is too large to be exact as a float.

    >>> exact_columns(np.array([3, 7]), np.array([[1.0, 2.0**53], [np.nan, 0.0]]))[0].tolist()
    [3]
    """
    is_exact = ~(np.abs(numbers) >= LARGEST_EXACT_INTEGER).any(axis=0)
    return positions[is_exact], numbers[:, is_exact]


def floats_of_objects(values: Objects, name: Hashable) -> Floats:
    """Python values as floats, missing as NaN; SchemaError names the row that holds no number."""
    floats = np.full(len(values), np.nan)
    for position, value in enumerate(values):
        if isinstance(value, (Real, Decimal, np.bool_)):
            floats[position] = float(value)
            if abs(floats[position]) > LARGEST_EXACT_INTEGER and floats[position] != value:
                refuse_large_integers(value, value, name)
        elif not pd.api.types.is_scalar(value) or not pd.isna(value):
            is_date = isinstance(value, (date, timedelta))
            of_dates = " Dates are read from the columns of a DataFrame." if is_date else ""
            raise SchemaError(
                f"column {name!r} is declared numeric but row {position} holds {value!r}. "
                f"Clean the value, or name the column in categorical_features.{of_dates}"
            )
    return floats


def level_key(value: Any, by_type: bool) -> Any:
    """What a category is known by: equal values of one category have equal keys.

    -0.0 is not 0.0; ``by_type``, neither is 1 nor True nor Decimal("1.0").

    >>> level_key(0.0, False) == level_key(-0.0, False), level_key(1, True) == level_key(True, True)
    (False, False)
    >>> level_key(1, False) == level_key(np.float32(1.0), False)
    True
    """
    if type(value) is str:
        return value
    value = plain(value)
    if by_type and isinstance(value, (Number, tuple)):
        return type(value), repr(value)
    is_negative_zero = isinstance(value, float) and value == 0 and copysign(1.0, value) < 0
    return (float, "-0.0") if is_negative_zero else value


def factorize(cells: Any, name: Hashable, *, by_type: bool = False) -> tuple[Ints, list[Any]]:
    """Cells as codes into their distinct values (see `level_key`), missing as -1."""
    codes, levels = _factorize(cells, name)
    if any(_may_hide_another(level, by_type) for level in levels):
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "f" and not _has_negative_zero(cells):
            return codes, levels.tolist()  # what follows, without a look at each cell
        return _factorize_by_key(cells, codes, by_type)
    return codes, list(levels)


def _may_hide_another(level: Any, by_type: bool) -> bool:
    """Whether a value can be equal to one that is not the same."""
    if by_type:
        return isinstance(level, (Number, tuple))
    return isinstance(level, (float, np.floating)) and level == 0


def _has_negative_zero(numbers: Any) -> bool:
    return bool((np.signbit(numbers) & (numbers == 0)).any())


def _factorize_by_key(cells: Any, codes: Ints, by_type: bool) -> tuple[Ints, list[Any]]:
    """The same for cells of which some may be equal, yet not the same; ``codes`` tells which are missing."""
    there = np.flatnonzero(codes >= 0)
    code_of: dict[Any, int] = {}
    levels: list[Any] = []
    codes = codes.copy()
    for at, value in zip(there.tolist(), np.asarray(cells, dtype=object)[there], strict=True):
        code = code_of.setdefault(level_key(value, by_type), len(levels))
        if code == len(levels):
            levels.append(value)
        codes[at] = code
    return codes, levels


def _factorize(cells: Any, name: Hashable) -> tuple[Ints, Any]:
    try:
        codes, levels = pd.factorize(cells, use_na_sentinel=True)
    except TypeError as error:
        raise SchemaError(
            f"column {name!r} holds a value that cannot be a category ({error}). "
            "Allowed are strings, numbers, booleans and other hashable values."
        ) from error
    return codes.astype(np.intp, copy=False), levels


def array_of(levels: Sequence[Any], dtype: Any) -> Any:
    """Levels as an array of this dtype, or of one that can hold them where it cannot."""
    if dtype != np.dtype(object):
        try:
            array = pd.array(list(levels), dtype=dtype) if not isinstance(dtype, np.dtype) else np.array(levels, dtype)
            if list(array) == list(levels):
                return array
        except (TypeError, ValueError, OverflowError):
            pass
        if all(isinstance(level, (Real, np.bool_)) for level in levels):
            return np.array(levels)
    objects = np.empty(len(levels), dtype=object)
    for at, level in enumerate(levels):  # one by one: tuples would be read as a table
        objects[at] = level
    return objects


def take_objects(levels: Objects, codes: Ints, missing: Any) -> Objects:
    """Objects by their codes; -1 becomes the marker for missing."""
    taken = np.full(len(codes), missing, dtype=object)
    taken[codes >= 0] = levels.take(codes[codes >= 0])
    return taken


def refuse_long_floats(dtype: np.dtype[Any], name: Hashable) -> None:
    """Raise SchemaError for floats with more digits than ours: they would be rounded."""
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise SchemaError(
            f"column {name!r} has dtype {dtype}, whose digits float64 cannot hold. Convert it as the model's training "
            "data were: .astype(float)."
        )


def held(values: Any, dtype: np.dtype[Any]) -> Any:
    """The values in this dtype if it holds every one of them exactly, else as they are."""
    if values.dtype == dtype:
        return values
    if dtype in (np.dtype(object), np.dtype(np.float64)):
        return values.astype(dtype, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        cast_values = values.astype(dtype)
    return cast_values if are_same(cast_values.astype(np.float64), values) else values


def are_same(numbers: Floats, others: Floats) -> bool:
    """Whether floats are the same, cell by cell: missing is missing, and -0.0, which integers do not hold, not 0.0."""
    is_other_zero = (numbers == 0) & (np.signbit(numbers) != np.signbit(others))
    return np.array_equal(numbers, others, equal_nan=True) and not is_other_zero.any()


def nearest_held(values: Floats, dtype: np.dtype[Any]) -> Floats:
    """The nearest numbers that this dtype holds: whole ones for integers, 0 or 1 for booleans; missing stays missing.

    >>> nearest_held(np.array([1.7, 300.0, np.nan]), np.dtype("uint8")).tolist()
    [2.0, 255.0, nan]
    """
    if dtype.kind == "b":
        return np.clip(np.rint(values), 0.0, 1.0) + 0.0
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = max(limits.min, -LARGEST_EXACT_INTEGER), min(limits.max, LARGEST_EXACT_INTEGER)
        return np.clip(np.rint(values), low, high) + 0.0  # integers have no -0.0
    if dtype.kind == "f" and dtype.itemsize < 8:
        limit = np.finfo(dtype).max
        return np.clip(values, -limit, limit).astype(dtype).astype(np.float64)
    return values


def plain_objects(values: Iterable[Any]) -> Objects:
    """Python values for people: no numpy scalars, missing as None."""
    values = [plain(plain_moment(value)) for value in values]
    objects = np.empty(len(values), dtype=object)
    objects[:] = [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in values]
    return objects
