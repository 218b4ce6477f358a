"""What moves: a training table without the columns that rules, or the table itself, make follow from others.

See `nicecf.tables.reduced` for the rows that a search gets then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError, listed, plain
from nicecf.rules.columns import cell_of, labels_of, missing
from nicecf.rules.constraints import Constraints
from nicecf.rules.expressions import Expression, check_columns
from nicecf.rules.expressions.nodes import Rounded
from nicecf.rules.expressions.predicates import numbers_of
from nicecf.rules.kinds.derived import Derivation, FunctionName
from nicecf.rules.kinds.groups import AUTO
from nicecf.rules.suggestions import TableFacts, auto_groups
from nicecf.support.types import Bools, Floats
from nicecf.tables.reduced import Computed, ReducedSchema
from nicecf.tables.schema import MISSING_CATEGORY, Schema

# How far a value may be from the one computed, as a share of it: another order of the same sums.
_ROUNDING = 1e-9
# Larger numbers cannot be in a table (see `schema`).
_LARGEST = 1e150


def moving(schema: Schema, values: Floats, constraints: Constraints | None) -> tuple[Schema, Floats]:
    """The columns that move, and the training rows in them; the table itself if nothing follows from anything.

    OptionError where a derived column is not what the rules say, for some training row.
    """
    if constraints is None or not (constraints.derived or AUTO in constraints.groups):
        return schema, values
    derived = computed_of(constraints.derived, schema, values)
    _check_followed(derived, constraints.derived, schema, values)
    taken = {one.position for one in derived}
    groups: list[list[int]] = []
    if AUTO in constraints.groups:
        for group in _found_groups(schema, values, taken):
            if not schema.is_categorical[group].any() and _are_twins(values[:, group]):
                # Numbers that go with each other are as near to other numbers as they were.
                derived = (*(Partner.of(group[0], j, values) for j in group[1:]), *derived)
            else:
                groups.append(group)
    if not groups and not derived:
        return schema, values
    return ReducedSchema.without(schema, values, groups, derived)


def computed_of(derived: Mapping[Any, Derivation], schema: Schema, values: Floats) -> tuple[Computed, ...]:
    """Derived columns in an order in which each has its inputs; OptionError where there is none."""
    waiting = {schema.position(feature, "derived"): one for feature, one in derived.items()}
    columns = {}
    for j, one in waiting.items():
        columns[j] = _computed(j, one, schema, values[:, j], is_derived=set(waiting))
    ordered: list[Computed] = []
    # Ends: every turn takes at least one out of those that wait.
    while columns:
        ready = [j for j, one in columns.items() if not any(other in columns for other in one.inputs)]
        if not ready:
            names = [schema.names[j] for j in columns]
            raise OptionError(f"derived is circular: {listed(names)} follow from each other. Leave one of them out.")
        # A function may look at all columns: those by expressions are there first.
        ready.sort(key=lambda j: isinstance(columns[j], ByFunction))
        ordered += [columns.pop(j) for j in ready]
    return tuple(ordered)


def contradictions(schema: Schema, rows: Floats) -> list[tuple[int, Bools, Floats]]:
    """Of each computed column its position, where whole rows have another value, and the one that is computed."""
    if not isinstance(schema, ReducedSchema):
        return []
    return [(one.position, *_contradicted(one, schema.full, rows)) for one in schema.computed]


def _computed(j: int, derivation: Derivation, schema: Schema, training: Floats, *, is_derived: set[int]) -> Computed:
    name, fallback = schema.names[j], _fallback(training)
    if isinstance(derivation, FunctionName):
        raise OptionError(
            f"derived has the function {derivation.name!r} for {name!r}, which a file cannot hold. Pass it again: "
            f"derived={{{name!r}: {derivation.name}}}."
        )
    if isinstance(derivation, Expression):
        if schema.columns[j].is_categorical:
            raise OptionError(
                f"derived has an expression for {name!r}, which is categorical; an expression gives numbers. Pass a "
                "function of the table that returns its values."
            )
        check_columns(derivation.columns, schema.names, option=f"derived, for {name!r},")
        inputs = tuple(schema.position(one, "derived") for one in derivation.columns)
        if j in inputs:
            raise OptionError(f"derived has {str(derivation)!r} for {name!r}, which names itself.")
        return ByExpression(j, inputs, fallback, _has_gaps(schema, j, training), derivation)
    others = tuple(k for k in range(len(schema.columns)) if k != j and k not in is_derived)
    return ByFunction(j, others, fallback, _has_gaps(schema, j, training), derivation)


def _has_gaps(schema: Schema, j: int, training: Floats) -> bool:
    """Whether training rows leave the column empty: then it may be where nothing can be computed."""
    return bool((training < 0 if schema.columns[j].is_categorical else np.isnan(training)).any())


def _fallback(training: Floats) -> float:
    """What stands where there is no value: one that the model knows."""
    present = training[~np.isnan(training)]
    return float(present[0]) if len(present) else float("nan")


@dataclass(frozen=True, eq=False)
class ByExpression:
    """A column by an expression; see `Computed`."""

    position: int
    inputs: tuple[int, ...]
    fallback: float
    has_gaps: bool
    expression: Expression

    def values(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        exact = self._evaluated(self.expression, rows, schema)
        may_be_missing = self._has_missing(rows, schema) | self.has_gaps
        return _held(exact, may_be_missing, self.position, self.fallback, schema)

    def contradicts(self, rows: Floats, schema: Schema) -> Bools:
        """Where the value that rows have is not the computed one, beyond the rounding of either."""
        root = self.expression.root
        exact, half = self.expression, 0.0
        if isinstance(root, Rounded):
            exact, half = Expression(root.operand), 0.5 * 10.0**-root.digits
        return _differ(rows[:, self.position], self._evaluated(exact, rows, schema), half, schema, self.position)

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
            schema.is_categorical[list(self.inputs)] & (rows[:, self.inputs] < 0)
        )
        return np.asarray(is_missing.any(axis=1))


@dataclass(frozen=True, eq=False)
class ByFunction:
    """A column by a function of the table; see `Computed`."""

    position: int
    inputs: tuple[int, ...]
    fallback: float
    has_gaps: bool
    function: Callable[[Any], Any]

    def values(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        whole = rows.copy()
        whole[:, self.position] = self.fallback  # its own column is not one of its inputs
        computed, is_known = self._called(whole, schema)
        may_be_missing = np.full(len(rows), self.has_gaps)
        values, is_value = _held(computed, may_be_missing, self.position, self.fallback, schema)
        return values, is_value & is_known

    def contradicts(self, rows: Floats, schema: Schema) -> Bools:
        """Where the value that rows have is not the computed one."""
        return _differ(rows[:, self.position], self.values(rows, schema)[0], 0.0, schema, self.position)

    def extended(self, rows: Floats) -> ByFunction:
        return self

    def _called(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        name = schema.names[self.position]
        if not len(rows):
            return np.empty(0), np.empty(0, dtype=bool)
        try:
            given = self.function(schema.decode(rows))
        except Exception as error:
            raise OptionError(
                f"the function that derives {name!r} raised {type(error).__name__} for {len(rows):,} rows: {error} "
                "(the original error is above)."
            ) from error
        cells = np.asarray(given.to_list() if hasattr(given, "to_list") else given, dtype=object)
        if cells.shape != (len(rows),):
            raise OptionError(
                f"the function that derives {name!r} returned shape {cells.shape} for {len(rows):,} rows; it must "
                "return one value for each."
            )
        column = schema.columns[self.position]
        if column.is_categorical:
            is_missing = np.asarray(pd.isna(cells))
            codes = [None if gap else column.code(plain(cell)) for cell, gap in zip(cells, is_missing, strict=True)]
            is_known = np.array([code is not None for code in codes]) | (is_missing & self.has_gaps)
            return np.array([MISSING_CATEGORY if code is None else float(code) for code in codes]), is_known
        try:
            return cells.astype(np.float64), np.ones(len(rows), dtype=bool)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"the function that derives {name!r}, a numeric column, returned no numbers: {error}."
            ) from error


@dataclass(frozen=True, eq=False)
class Partner:
    """A number that goes with another, value by value, as training rows show it; of an unknown one, the nearest."""

    position: int
    inputs: tuple[int, ...]
    keys: Floats
    partners: Floats
    of_missing: float

    @classmethod
    def of(cls, key: int, position: int, values: Floats) -> Partner:
        return cls(position, (key,), np.empty(0), np.empty(0), float("nan")).extended(values)

    @property
    def fallback(self) -> float:
        return float(self.partners[0]) if len(self.partners) else self.of_missing

    def extended(self, rows: Floats) -> Partner:
        """The same with the numbers of whole rows that were not known; those that were go with what they went with."""
        known, own = np.concatenate([self.keys, rows[:, self.inputs[0]]]), rows[:, self.position]
        partners = np.concatenate([self.partners, own])
        keys, first = np.unique(known, return_index=True)  # the first of equal ones; NaN, where there is one, is last
        is_there = ~np.isnan(keys)
        of_missing = self.of_missing
        if np.isnan(of_missing) and not is_there.all():
            of_missing = float(partners[first[-1]])
        return replace(self, keys=keys[is_there], partners=partners[first[is_there]], of_missing=of_missing)

    def values(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        given = rows[:, self.inputs[0]]
        right = np.clip(np.searchsorted(self.keys, given), 1, max(1, len(self.keys) - 1))
        left = right - 1
        right = np.minimum(right, len(self.keys) - 1)
        nearest = np.where(np.abs(given - self.keys[left]) <= np.abs(self.keys[right] - given), left, right)
        values = np.where(np.isnan(given), self.of_missing, self.partners[nearest])
        return values, np.ones(len(rows), dtype=bool)

    def contradicts(self, rows: Floats, schema: Schema) -> Bools:
        """Where numbers do not go together."""
        return _differ(rows[:, self.position], self.values(rows, schema)[0], 0.0, schema, self.position)


def _numbers(name: str, schema: Schema, j: int, values: Floats) -> Floats:
    """A column as an expression takes it: true and false are 1 and 0."""
    if not schema.columns[j].is_categorical:
        return values
    every = labels_of(schema, j, np.arange(-1.0, len(schema.columns[j].levels)))
    return numbers_of(name, every)[values.astype(np.intp) + 1]


def _held(exact: Floats, may_be_missing: Bools, position: int, fallback: float, schema: Schema) -> tuple[Floats, Bools]:
    """Computed values as their column holds them, and where they are values: nothing was divided by zero."""
    is_there = np.isfinite(exact) & (np.abs(exact) <= _LARGEST)
    is_value = is_there | (np.isnan(exact) & may_be_missing)
    values = np.where(is_value, exact, fallback)
    if not schema.columns[position].is_categorical:
        line = np.zeros((len(values), len(schema.columns)))
        line[:, position] = np.where(is_there, values, 0.0)
        values = np.where(is_there, schema.rounded(line)[:, position], values)
    return values, is_value


def _differ(given: Floats, computed: Floats, half: float, schema: Schema, position: int) -> Bools:
    column = schema.columns[position]
    if column.is_categorical:
        return np.asarray(given != computed)
    dtype = schema.container.number_dtype(column.prototype)
    if dtype.kind in "iu":
        half = max(half, 0.5)
    elif dtype.kind == "f" and dtype.itemsize < 8:
        half += float(np.finfo(dtype).eps) * float(np.nanmax(np.abs(given), initial=0.0))
    with np.errstate(invalid="ignore"):
        is_far = ~(np.abs(given - computed) <= half + _ROUNDING * np.maximum(np.abs(given), np.abs(computed)))
    return np.asarray(is_far & ~(np.isnan(given) & np.isnan(computed)))


def _contradicted(one: Computed, schema: Schema, rows: Floats) -> tuple[Bools, Floats]:
    values, is_value = one.values(rows, schema)
    values = np.where(is_value, values, missing(schema, one.position))
    return one.contradicts(rows, schema) | ~is_value, values


def _check_followed(
    computed: tuple[Computed, ...], derived: Mapping[Any, Derivation], schema: Schema, values: Floats
) -> None:
    for one in computed:
        is_wrong, by_rule = _contradicted(one, schema, values)
        if not is_wrong.any():
            continue
        name, first, n_wrong = schema.names[one.position], int(np.argmax(is_wrong)), int(np.count_nonzero(is_wrong))
        rule = next(rule for feature, rule in derived.items() if schema.position(feature, "derived") == one.position)
        how = f"{str(rule)!r}" if isinstance(rule, Expression) else "its function"
        has, would = (_shown(schema, one.position, cell) for cell in (values[first, one.position], by_rule[first]))
        raise OptionError(
            f"derived: {name!r} does not follow from {how} in {n_wrong:,} of {len(values):,} training rows "
            f"({n_wrong / len(values):.1%}): row {first} has {has}, but {would} is computed. Correct the rule (a "
            "column that is rounded needs round(..., digits)) or the rows."
        )


def _shown(schema: Schema, j: int, value: float) -> str:
    cell = cell_of(schema, j, value)
    return "no value" if cell is None else repr(cell)


def _are_twins(values: Floats) -> bool:
    """Whether each column tells all others; one column of a one-hot group does not."""
    n_values = {len(np.unique(column)) for column in values.T}
    return len(n_values) == 1 and n_values.pop() == len(np.unique(values, axis=0, equal_nan=True)) > 2


def _found_groups(schema: Schema, values: Floats, taken: set[int]) -> list[list[int]]:
    """One-hot groups and twins of the training table, by positions, without columns that are taken."""
    facts = TableFacts.of_rows(schema, values)
    groups = auto_groups(facts, computed={schema.names[j] for j in taken})
    return [[schema.names.index(feature) for feature in group.features] for group in groups]
