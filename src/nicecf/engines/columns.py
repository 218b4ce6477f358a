"""Columns of Arrow beside those of the training table: which types will do, and in which the answers come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import SchemaError, plain
from nicecf.support.types import CellValue, Floats, Objects
from nicecf.tables.column import Column
from nicecf.tables.files.arrow import pyarrow
from nicecf.tables.temporal import DAY

# How many microseconds each unit of a type lasts; a nanosecond is less than one.
_PER_UNIT = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}
_NUMBERS = "a type of numbers, such as int64, double or decimal"
_TEXT = "text (string)"


class UnholdableError(Exception):
    """A value that the type of its column cannot hold."""


@dataclass(frozen=True, eq=False)
class ArrowColumn:
    """A column of the rows to explain: its type, and the type of its counterfactual values.

    That is the same, unless training has values that it cannot hold: fractions in an integer column, a time in a column
    of dates, any value in one without a type. Then it is a wider one.
    """

    trained: Column
    name: str
    given: Any
    answered: Any

    @classmethod
    def of(cls, trained: Column, field: Any, training_values: Floats) -> ArrowColumn:
        """Raises SchemaError if the type cannot be that of the training column.

        ``training_values``: what a counterfactual may take over, encoded.
        """
        pa = pyarrow("nicecf.engines")
        given, expected = _values_of(pa, field.type), _expected(pa, trained)
        if not (pa.types.is_null(given) or expected.takes(given)):
            raise SchemaError(
                f"column {field.name!r} has the type {field.type}, but held {expected.held} when fit saw it, which "
                f"needs {expected.words}. {expected.advice}"
            )
        answered = field.type
        if pa.types.is_null(given):
            answered = expected.usual
        elif not _holds(pa, given, _distinct(trained, training_values), trained):
            answered = expected.wide
        return cls(trained, field.name, field.type, answered)

    def array(self, values: Objects) -> Any:
        """Values of a counterfactual as an array of the type of the answers, without a dictionary.

        Raises UnholdableError if one of them does not fit in.
        """
        pa = pyarrow("nicecf.engines")
        kind = _values_of(pa, self.answered)
        try:
            return _array(pa, [None if pd.isna(value) else plain(value) for value in values], kind)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise UnholdableError(str(error)) from error

    def in_dictionary(self, array: Any) -> Any:
        """The array in the type of the answers, with a dictionary if that has one."""
        pa = pyarrow("nicecf.engines")
        kind = self.answered
        if not pa.types.is_dictionary(kind):
            return array
        encoded = array.dictionary_encode()
        try:
            indices = encoded.indices.cast(kind.index_type)
        except pa.ArrowInvalid as error:
            raise SchemaError(
                f"column {self.name!r} has the type {kind}, whose {kind.index_type} cannot count the "
                f"{len(encoded.dictionary):,} values of this batch. Use a dictionary with int32, or plain values."
            ) from error
        return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=kind.ordered)


def usual_type(trained: Column) -> Any:
    """The type that Arrow has for what a training column holds."""
    return _expected(pyarrow("nicecf.engines"), trained).usual


@dataclass(frozen=True)
class _Expected:
    """What a training column asks of a type: what it held, and the types that will do."""

    held: str
    words: str
    tests: tuple[Any, ...]
    usual: Any
    wide: Any
    advice: str = "Cast the column before."

    def takes(self, given: Any) -> bool:
        return any(test(given) for test in self.tests)


def _expected(pa: Any, column: Column) -> _Expected:
    types = pa.types
    numbers = (types.is_integer, types.is_floating, types.is_decimal)
    text = (
        types.is_string,
        types.is_large_string,
        *([types.is_string_view] if hasattr(types, "is_string_view") else []),
    )
    if column.temporal is not None:
        return _expected_moment(pa, column)
    if not column.is_categorical:
        return _Expected("numbers", _NUMBERS, numbers, pa.float64(), pa.float64())
    levels = [plain(level) for level in column.levels]
    if levels and all(isinstance(level, bool) for level in levels):
        return _Expected(
            "true and false", "bool, or integers 0 and 1", (types.is_boolean, types.is_integer), pa.bool_(), pa.bool_()
        )
    if levels and all(isinstance(level, (int, float)) for level in levels):
        is_whole = all(float(str(level)).is_integer() for level in levels)
        usual = pa.int64() if is_whole else pa.float64()
        return _Expected("numbers as categories", _NUMBERS, numbers, usual, usual)
    if levels and all(isinstance(level, str) for level in levels):
        return _Expected("text", _TEXT, text, pa.string(), pa.string())
    return _Expected(
        "categories of several kinds",
        f"{_TEXT}, a number or bool",
        (*text, *numbers, types.is_boolean),
        pa.string(),
        pa.string(),
    )


def _expected_moment(pa: Any, column: Column) -> _Expected:
    types, temporal = pa.types, column.temporal
    assert temporal is not None
    if temporal.kind == "duration":
        return _Expected("durations", "a duration", (types.is_duration,), pa.duration("us"), pa.duration("us"))
    zone = temporal.zone

    def is_moment(given: Any) -> bool:
        if types.is_timestamp(given):
            return (given.tz is None) == (zone is None)
        return bool(types.is_date(given)) and zone is None

    kind = pa.timestamp("us", tz=zone)
    if zone is None:
        words, advice = (
            "a date, or a timestamp without a time zone",
            "Cast the column before (in Spark: timestamp_ntz).",
        )
    else:
        words, advice = "a timestamp with a time zone", "Cast the column before (in Spark: timestamp)."
    return _Expected(
        temporal.words, words, (is_moment,), pa.date32() if temporal.kind == "date" else kind, kind, advice
    )


def _values_of(pa: Any, kind: Any) -> Any:
    """The type of the values of a dictionary; any other type as it is."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _distinct(column: Column, values: Floats) -> Floats | Sequence[Any]:
    """What a counterfactual may take over from training: numbers, or the levels of categories."""
    if not column.is_categorical:
        return values[~np.isnan(values)]
    return [plain(level) for level in column.levels]


def _holds(pa: Any, kind: Any, values: Floats | Sequence[Any], column: Column) -> bool:
    """Whether a type holds all of these values, exactly."""
    types = pa.types
    if column.temporal is not None:
        unit = DAY if types.is_date(kind) else _PER_UNIT[kind.unit]
        return bool((np.asarray(values) % unit == 0).all())
    if not all(isinstance(value, (int, float)) for value in values[:1]) or types.is_boolean(kind):
        return True
    if types.is_float64(kind):
        return True
    if column.is_categorical:
        try:
            _array(pa, list(values), kind)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return False
        return True
    numbers = np.asarray(values, dtype=np.float64)
    if types.is_integer(kind):
        low, high = _bounds(kind)
        return bool((numbers == np.rint(numbers)).all() and (numbers >= low).all() and (numbers <= high).all())
    if types.is_decimal(kind):
        is_round = np.round(numbers, kind.scale) == numbers
        return bool(is_round.all() and (np.abs(numbers) < 10.0 ** (kind.precision - kind.scale)).all())
    with np.errstate(over="ignore"):
        return bool((numbers.astype(kind.to_pandas_dtype()) == numbers).all())


def _bounds(kind: Any) -> tuple[int, int]:
    limits = np.iinfo(kind.to_pandas_dtype())
    return int(limits.min), int(limits.max)


def _array(pa: Any, values: list[CellValue], kind: Any) -> Any:
    """Plain values as an array of a type; ValueError or an error of Arrow if one cannot be held exactly."""
    types = pa.types
    if types.is_integer(kind):
        return pa.array([None if value is None else _whole(value) for value in values], kind)
    if types.is_floating(kind):
        floats = [None if value is None else float(value) for value in values]
        array = pa.array(floats, pa.float64()).cast(kind, safe=False)
        if array.cast(pa.float64()).to_pylist() != floats:
            raise ValueError(f"{kind} rounds it")
        return array
    if types.is_decimal(kind):
        return pa.array([None if value is None else Decimal(repr(value)) for value in values], kind)
    if types.is_boolean(kind):
        return pa.array([None if value is None else bool(value) for value in values], kind)
    if types.is_timestamp(kind):
        return pa.array(values, pa.timestamp("us", tz=kind.tz)).cast(kind)
    if types.is_date(kind):
        return pa.array([None if value is None else _day(value) for value in values], kind)
    if types.is_duration(kind):
        return pa.array(values, pa.duration("us")).cast(kind)
    return pa.array([None if value is None else str(value) for value in values], kind)


def _whole(value: CellValue) -> int:
    if value != int(value):
        raise ValueError(f"{value!r} is not whole")
    return int(value)


def _day(value: CellValue) -> date:
    day = value.date() if hasattr(value, "date") else value
    if pd.Timestamp(value) != pd.Timestamp(day):
        raise ValueError(f"{value} has a time")
    return day
