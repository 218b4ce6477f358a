"""What moves: a training table without the columns that rules, or the table itself, make follow from others.

See `nicecf.tables.reduced` for the rows that a search gets then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nicecf.exceptions import OptionError, listed
from nicecf.rules.columns import cell_of, missing
from nicecf.rules.computed import ByExpression, ByFunction, Partner, tolerance_of
from nicecf.rules.constraints import Constraints
from nicecf.rules.expressions import Expression, check_columns
from nicecf.rules.expressions.dates import expression_of, sort_of
from nicecf.rules.kinds.derived import Derivation, FunctionName
from nicecf.rules.kinds.groups import AUTO
from nicecf.rules.suggestions import TableFacts, auto_groups
from nicecf.support.formats import shown
from nicecf.support.types import Bools, Floats
from nicecf.tables.reduced import Combination, Computed, ReducedSchema
from nicecf.tables.schema import Schema
from nicecf.tables.temporal import is_date_or_duration


def moving(schema: Schema, values: Floats, constraints: Constraints | None) -> tuple[Schema, Floats]:
    """The columns that move, and the training rows in them; the table itself if nothing follows from anything.

    OptionError where a derived column is not what the rules say, for some training row.
    """
    if constraints is None or not (constraints.derived or AUTO in constraints.groups):
        return schema, values
    derived = computed_of(constraints.derived, schema, values)
    _check_followed(derived, constraints.derived, schema, values)
    groups: list[list[int]] = []
    partners: list[Computed] = []
    if AUTO in constraints.groups:
        for group in _found_groups(schema, values, {one.position for one in derived}):
            if not schema.is_categorical[group].any() and _are_twins(values[:, group]):
                # Numbers that go with each other are as near to other numbers as they were.
                partners += [Partner.of(group[0], j, values) for j in group[1:]]
            else:
                groups.append(group)
    if not groups and not partners and not derived:
        return schema, values
    if len(derived) == len(schema.columns):
        raise OptionError("derived names all columns of X, so that none is left that could change. Leave one out.")
    reduced, rows = ReducedSchema.without(schema, values, groups, (*partners, *derived))
    # What is learned of training rows is learned of them as they are computed: a saved explainer has no others.
    derived = computed_of(constraints.derived, schema, reduced.expand(rows))
    return replace(reduced, computed=(*partners, *derived)), rows


def computed_of(derived: Mapping[Any, Derivation], schema: Schema, values: Floats) -> tuple[Computed, ...]:
    """Derived columns in an order in which each has its inputs; OptionError where there is none.

    Functions are called in the order in which they are given, each as soon as nothing else can be computed: it sees the
    columns that were computed before it. ``values`` are whole training rows.
    """
    waiting = {schema.position(feature, "derived"): one for feature, one in derived.items()}
    if len(waiting) < len(derived):
        raise OptionError(f"derived names a column twice, by its name and by its position: {listed(derived)}.")
    stand_ins = {j: _fallback(values[:, j]) for j in waiting}
    inputs = {j: _inputs(j, one, schema) for j, one in waiting.items() if isinstance(one, Expression)}
    ordered: list[Computed] = []
    # Ends: every turn takes one out of those that wait.
    while waiting:
        ready = [j for j in waiting if j in inputs and not any(other in waiting for other in inputs[j])]
        j = next(iter([*ready, *(j for j in waiting if j not in inputs)]), None)
        if j is None:
            names = [schema.names[j] for j in waiting]
            raise OptionError(f"derived is circular: {listed(names)} follow from each other. Leave one of them out.")
        one = waiting[j]
        if isinstance(one, Expression):
            one = _of_dates(j, one, schema)
            ordered.append(ByExpression.of(j, inputs[j], stand_ins[j], one, schema, values))
        else:
            hidden = {other: stand_ins[other] for other in waiting}
            ordered.append(_by_function(j, one, schema, values[:, j], hidden))
        del waiting[j]
    return tuple(ordered)


def contradictions(schema: Schema, rows: Floats) -> list[tuple[int, Bools, Floats]]:
    """Of each computed column its position, where whole rows have another value, and the one that is computed."""
    if not isinstance(schema, ReducedSchema):
        return []
    return [(one.position, *_contradicted(one, schema.full, rows)) for one in schema.computed]


def _inputs(j: int, expression: Expression, schema: Schema) -> tuple[int, ...]:
    """The positions of the columns in an expression for column ``j``; OptionError where it cannot be one."""
    name = schema.names[j]
    if schema.columns[j].is_categorical:
        raise OptionError(
            f"derived has an expression for {name!r}, which is categorical; an expression gives numbers. Pass a "
            "function of the table that returns its values."
        )
    check_columns(expression.columns, schema.names, option=f"derived, for {name!r},")
    inputs = tuple(schema.position(one, "derived") for one in expression.columns)
    if j in inputs:
        raise OptionError(f"derived has {str(expression)!r} for {name!r}, which names itself.")
    return inputs


def _of_dates(j: int, expression: Expression, schema: Schema) -> Expression:
    """The expression for column ``j`` as one of columns of which some hold dates; OptionError if it makes no sense."""
    columns = {name: schema.columns[schema.position(name, "derived")].temporal for name in expression.columns}
    of = {name: temporal for name, temporal in columns.items() if temporal is not None}
    try:
        return Expression(expression_of(expression.root, of, sort_of(schema.columns[j].temporal)))
    except OptionError as error:
        raise OptionError(f"derived has {str(expression)!r} for {schema.names[j]!r}: {error}") from error


def _by_function(
    j: int, function: FunctionName | Callable[[Any], Any], schema: Schema, training: Floats, hidden: dict[int, float]
) -> ByFunction:
    column = schema.columns[j]
    if isinstance(function, FunctionName):
        raise OptionError(
            f"derived has the function {function.name!r} for {column.name!r}, which a file cannot hold. Pass it again: "
            f"derived={{{column.name!r}: {function.name}}}."
        )
    inputs = tuple(k for k in range(len(schema.columns)) if k not in hidden)
    may_be_missing = column.has_missing if column.is_categorical else bool(np.isnan(training).any())
    tolerance = tolerance_of(schema, j, training)
    return ByFunction(j, inputs, tuple(hidden), tuple(hidden.values()), may_be_missing, tolerance, function)


def _fallback(training: Floats) -> float:
    """What stands where there is no value: one that the model knows."""
    present = training[~np.isnan(training)]
    return float(present[0]) if len(present) else float("nan")


def _contradicted(one: Computed, schema: Schema, rows: Floats) -> tuple[Bools, Floats]:
    values, is_value = one.values(rows, schema)
    return one.contradicts(rows, schema) | ~is_value, np.where(is_value, values, missing(schema, one.position))


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
        advice = "Correct the rule (a column that is rounded needs round(..., digits)) or the rows."
        if isinstance(one, ByFunction) and len(one.hidden) > 1:
            later = [schema.names[j] for j in one.hidden if j != one.position]
            advice += f" If it needs {listed(later)}, name it after them: it sees what is computed before it."
        has, would = (_shown(schema, one.position, cell) for cell in (values[first, one.position], by_rule[first]))
        raise OptionError(
            f"derived: {name!r} does not follow from {how} in {n_wrong:,} of {len(values):,} training rows "
            f"({n_wrong / len(values):.1%}): row {first} has {has}, but {would} is computed. {advice}"
        )


def _shown(schema: Schema, j: int, value: float) -> str:
    cell = cell_of(schema, j, value)
    return "no value" if cell is None else shown(cell) if is_date_or_duration(cell) else repr(cell)


def _are_twins(values: Floats) -> bool:
    """Whether each column tells all others; one column of a one-hot group does not."""
    n_values = {len(np.unique(column)) for column in values.T}
    # Of rows, numpy does not know that NaN is NaN.
    n_together = len(Combination.of(np.arange(values.shape[1]), values).patterns)
    return n_values == {n_together} and n_together > 2


def _found_groups(schema: Schema, values: Floats, taken: set[int]) -> list[list[int]]:
    """One-hot groups and twins of the training table, by positions, without columns that are taken."""
    facts = TableFacts.of_rows(schema, values)
    groups = auto_groups(facts, computed={schema.names[j] for j in taken})
    return [[schema.names.index(feature) for feature in group.features] for group in groups]
