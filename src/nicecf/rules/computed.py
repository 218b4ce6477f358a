"""Columns that follow from others, one class for each way: an expression, a function of the table, a twin.

All are `Computed` (see `nicecf.tables.reduced`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError, SchemaError, plain
from nicecf.rules.columns import labels_of
from nicecf.rules.expressions import Expression
from nicecf.rules.expressions.nodes import Rounded
from nicecf.rules.expressions.predicates import numbers_of
from nicecf.support.types import Bools, Floats, Objects
from nicecf.tables.cells import nearest_held
from nicecf.tables.column import Column, read_moments
from nicecf.tables.ordered import codes_of
from nicecf.tables.pandas_frames import PandasFrames
from nicecf.tables.schema import Schema

# How far a value may be from the one computed, as a share of it: another order of the same sums.
_ROUNDING = 1e-9
# Larger numbers cannot be in a table (see `schema`).
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class ByExpression:
    """A column by an expression; see `Computed`.

    ``may_be_missing``: whether training rows have no value where it divides by zero, so that others may have none.
    """

    position: int
    inputs: tuple[int, ...]
    fallback: float
    may_be_missing: bool
    tolerance: float
    expression: Expression

    @classmethod
    def of(
        cls,
        position: int,
        inputs: tuple[int, ...],
        fallback: float,
        expression: Expression,
        schema: Schema,
        rows: Floats,
    ) -> ByExpression:
        """As whole training rows show it."""
        tolerance = tolerance_of(schema, position, rows[:, position], expression.digits)
        one = cls(position, inputs, fallback, False, tolerance, expression)
        is_nothing = np.isnan(rows[:, position]) & ~one._has_missing(rows, schema)
        return replace(one, may_be_missing=bool(is_nothing.any()))

    def values(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        may_be_missing = self._has_missing(rows, schema) | self.may_be_missing
        return _held(
            self._evaluated(self.expression, rows, schema), may_be_missing, self.position, self.fallback, schema
        )

    def contradicts(self, rows: Floats, schema: Schema) -> Bools:
        """Where the value that rows have is not the computed one, beyond the rounding of either."""
        root = self.expression.root
        exact = Expression(root.operand) if isinstance(root, Rounded) else self.expression
        rounding = _ROUNDING if schema.columns[self.position].temporal is None else 0.0
        return _differ(rows[:, self.position], self._evaluated(exact, rows, schema), self.tolerance, rounding)

    @property
    def twin(self) -> int | None:
        return None

    def extended(self, rows: Floats) -> ByExpression:
        return self

    def _evaluated(self, expression: Expression, rows: Floats, schema: Schema) -> Floats:
        return expression.evaluated(
            {
                name: _numbers(name, schema, j, rows[:, j])
                for name, j in zip(self.expression.columns, self.inputs, strict=True)
            }
        )

    def _has_missing(self, rows: Floats, schema: Schema) -> Bools:
        is_missing = np.isnan(rows[:, self.inputs]) | (
            schema.by_equality[list(self.inputs)] & (rows[:, self.inputs] < 0)
        )
        return np.asarray(is_missing.any(axis=1))


@dataclass(frozen=True, eq=False)
class ByFunction:
    """A column by a function of the table; see `Computed`.

    ``hidden``: columns that are computed later, or by itself; the function sees their ``stand_ins``.
    ``may_be_missing``: whether it may say that there is no value, as it does for training rows.
    """

    position: int
    inputs: tuple[int, ...]
    hidden: tuple[int, ...]
    stand_ins: tuple[float, ...]
    may_be_missing: bool
    tolerance: float
    function: Callable[[Any], Any]

    @property
    def fallback(self) -> float:
        """What stands where there is no value."""
        return self.stand_ins[self.hidden.index(self.position)]

    def values(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        whole = rows.copy()
        whole[:, self.hidden] = self.stand_ins
        computed, is_known = self._called(whole, schema)
        may_be_missing = np.full(len(rows), self.may_be_missing)
        values, is_value = _held(computed, may_be_missing, self.position, self.fallback, schema)
        return np.where(is_known, values, self.fallback), is_value & is_known

    def contradicts(self, rows: Floats, schema: Schema) -> Bools:
        """Where the value that rows have is not the computed one."""
        return _differ(rows[:, self.position], self.values(rows, schema)[0], self.tolerance)

    @property
    def twin(self) -> int | None:
        return None

    def extended(self, rows: Floats) -> ByFunction:
        return self

    def _called(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        """What the function says, encoded, and where its column can hold it."""
        column = schema.columns[self.position]
        if not len(rows):
            return np.empty(0), np.empty(0, dtype=bool)
        try:
            given = self.function(schema.decode(rows))
            cells = _cells_of(given)
        except Exception as error:
            raise OptionError(
                f"the function that derives {column.name!r} raised {type(error).__name__} for {len(rows):,} rows: "
                f"{error} (the original error is above)."
            ) from error
        if cells.shape != (len(rows),):
            raise OptionError(
                f"the function that derives {column.name!r} returned shape {cells.shape} for {len(rows):,} rows; it "
                "must return one value for each."
            )
        if column.is_categorical:
            codes = [column.code(plain(cell)) for cell in cells]
            is_known = np.array([code is not None for code in codes]) | (pd.isna(cells) & self.may_be_missing)
            return np.array([column.missing_code if code is None else float(code) for code in codes]), is_known
        if column.temporal is not None:
            return self._moments(given, column, schema), np.ones(len(rows), dtype=bool)
        try:
            if cells.dtype.kind in "mM":
                raise TypeError(f"they are of dtype {cells.dtype}")
            return np.where(pd.isna(cells), np.nan, cells).astype(np.float64), np.ones(len(rows), dtype=bool)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"the function that derives {column.name!r}, a numeric column, returned no numbers: {error}."
            ) from error

    def _moments(self, given: Any, column: Column, schema: Schema) -> Floats:
        """The dates or durations that the function returned, as its column has them."""
        try:
            own = given if type(given) is type(column.prototype) else pd.Series(given)
            container = schema.container if own is given else PandasFrames()
            return read_moments(container, own, column)[1]
        except SchemaError as error:
            raise OptionError(f"the function that derives {column.name!r} returned other values: {error}") from error


def _cells_of(given: Any) -> Objects:
    """A column that a function returned, as an array; what is in a list keeps its types."""
    if hasattr(given, "to_numpy"):
        return np.asarray(given.to_numpy())
    if isinstance(given, np.ndarray) or not hasattr(given, "__len__"):
        return np.asarray(given)
    cells = np.empty(len(given), dtype=object)
    for at, cell in enumerate(given):
        cells[at] = cell
    return cells


@dataclass(frozen=True, eq=False)
class Partner:
    """A number that goes with another, value by value, as training rows show it; of an unknown one, the nearest."""

    position: int
    inputs: tuple[int, ...]
    keys: Floats
    partners: Floats
    of_missing: float | None

    @property
    def twin(self) -> int | None:
        return self.inputs[0]

    @classmethod
    def of(cls, key: int, position: int, values: Floats) -> Partner:
        """As whole training rows show it."""
        return cls(position, (key,), np.empty(0), np.empty(0), None).extended(values)

    def extended(self, rows: Floats) -> Partner:
        """The same with the numbers of whole rows that were not known; those that were go with what they went with."""
        known, own = np.concatenate([self.keys, rows[:, self.inputs[0]]]), rows[:, self.position]
        partners = np.concatenate([self.partners, own])
        keys, first = np.unique(known, return_index=True)  # the first of equal ones; NaN, where there is one, is last
        is_there = ~np.isnan(keys)
        of_missing = self.of_missing
        if of_missing is None and not is_there.all():
            of_missing = float(partners[first[-1]])
        return replace(self, keys=keys[is_there], partners=partners[first[is_there]], of_missing=of_missing)

    def values(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        given = rows[:, self.inputs[0]]
        right = np.clip(np.searchsorted(self.keys, given), 1, max(1, len(self.keys) - 1))
        left = right - 1
        right = np.minimum(right, len(self.keys) - 1)
        nearest = np.where(np.abs(given - self.keys[left]) <= np.abs(self.keys[right] - given), left, right)
        of_missing = np.nan if self.of_missing is None else self.of_missing
        values = np.where(np.isnan(given), of_missing, self.partners[nearest])
        return values, np.ones(len(rows), dtype=bool)

    def contradicts(self, rows: Floats, schema: Schema) -> Bools:
        """Where numbers do not go together."""
        return _differ(rows[:, self.position], self.values(rows, schema)[0], 0.0)


def _numbers(name: str, schema: Schema, j: int, values: Floats) -> Floats:
    """A column as an expression takes it: true and false are 1 and 0."""
    if not schema.columns[j].is_categorical:
        return values
    every = labels_of(schema, j, np.arange(-1.0, len(schema.columns[j].levels)))
    return numbers_of(name, every)[codes_of(values) + 1]


def _held(exact: Floats, may_be_missing: Bools, position: int, fallback: float, schema: Schema) -> tuple[Floats, Bools]:
    """Computed values as their column holds them, and where they are values: nothing was divided by zero."""
    is_there = np.isfinite(exact) & (np.abs(exact) <= _LARGEST)
    is_value = is_there | (np.isnan(exact) & may_be_missing)
    values = np.where(is_value, exact, fallback)
    column = schema.columns[position]
    if column.temporal is not None:
        values = np.where(is_there, column.temporal.held(np.where(is_there, values, 0.0)), values)
    elif not column.is_categorical:
        dtype = schema.container.number_dtype(column.prototype)
        values = np.where(is_there, nearest_held(np.where(is_there, values, 0.0), dtype), values)
    return values, is_value


def tolerance_of(schema: Schema, j: int, training: Floats, digits: int | None = None) -> float:
    """How far a value may be from the one computed: half of the last digit, and what the dtype of its column loses."""
    column, half = schema.columns[j], 0.0 if digits is None else 0.5 * 10.0**-digits
    if column.is_categorical:
        return 0.0
    if column.temporal is not None:
        return column.temporal.smallest / 2
    dtype = schema.container.number_dtype(column.prototype)
    if dtype.kind in "iu":
        return max(half, 0.5)
    if dtype.kind == "f" and dtype.itemsize < 8:
        # Of the training column, not of each row: a sum loses digits of its largest term. A power of two, so that it
        # is the same for values that were computed anew.
        largest = float(np.nanmax(np.abs(training), initial=0.0))
        return half + float(np.finfo(dtype).eps) * 2.0 ** np.frexp(largest)[1]
    return half


def _differ(given: Floats, computed: Floats, tolerance: float, rounding: float = _ROUNDING) -> Bools:
    with np.errstate(invalid="ignore"):
        is_near = np.abs(given - computed) <= tolerance + rounding * np.maximum(np.abs(given), np.abs(computed))
    return np.asarray(~is_near & ~(np.isnan(given) & np.isnan(computed)))
