"""Constraints and a table -> the rules for its rows; OptionError where they do not fit each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nicecf.rules.columns import RuledRows
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds import KINDS
from nicecf.rules.kinds.allowed import Among
from nicecf.rules.kinds.groups import joined_groups
from nicecf.rules.row_rules import Condition, Meaning, Rules
from nicecf.rules.whole_rows import OwnRules, Together, WholeRows
from nicecf.support.types import Floats, Ints
from nicecf.tables.reduced import ReducedSchema
from nicecf.tables.schema import Schema


def rules_of(
    constraints: Constraints,
    schema: Schema,
    rows: Floats,
    *,
    trained: Schema,
    index: pd.Index[Any] | None = None,
    is_checked: bool = False,
    given: Floats | None = None,
) -> Rules:
    """Read constraints for some rows.

    ``trained`` is the schema of the training table: it knows which values a donor can have. ``index`` are the labels of
    the rows, which those of per-row bounds must equal. ``is_checked``: they were read before, so that a value that no
    counterfactual could have is not a mistake, but one that other rows have. ``given``: the rows with all columns, as
    they were handed in, where that is known.
    """
    whole = schema.expand(rows) if given is None else given
    table = RuledRows(schema.full, whole, trained.full, index, is_checked)
    meanings = [kind.meaning(getattr(constraints, kind.name), table) for kind in KINDS]
    fixed = {j for meaning in meanings for j in meaning.fixed}
    conditions: list[list[Condition]] = [[] for _ in schema.full.columns]
    for meaning in meanings:
        for j, condition in meaning.conditions:
            conditions[j].append(condition)
    of_columns = _of_moving_columns(schema, fixed, conditions)
    # What too few training rows hold is taken by nobody, whatever the rules.
    rare = [() if column.common is None else (Among(column.common),) for column in trained.columns]
    return Rules(
        rows,
        np.array([is_fixed for is_fixed, _ in of_columns], dtype=bool),
        tuple((*of_column, *own) for of_column, (_, own) in zip(rare, of_columns, strict=True)),
        _groups(schema, meanings),
        min((one.max_changes for one in meanings if one.max_changes is not None), default=None),
        _of_whole_rows(schema, whole, meanings, fixed, conditions),
    )


def _of_moving_columns(
    schema: Schema, fixed: set[int], conditions: list[list[Condition]]
) -> list[tuple[bool, tuple[Condition, ...]]]:
    """Of each column that moves whether it is fixed, and its conditions: those of the columns that it stands for."""
    if not isinstance(schema, ReducedSchema):
        return [(j in fixed, tuple(conditions[j])) for j in range(len(schema.columns))]
    of_columns: list[tuple[bool, tuple[Condition, ...]]] = []
    for unit in schema.units:
        if unit >= 0:
            of_columns.append((unit in fixed, tuple(conditions[unit])))
            continue
        combination = schema.combinations[-1 - unit]
        members = combination.members.tolist()
        is_fixed, own = tuple(j in fixed for j in members), tuple(tuple(conditions[j]) for j in members)
        together = (Together(combination.patterns, is_fixed, own),) if any(is_fixed) or any(own) else ()
        of_columns.append((all(is_fixed), together))
    return of_columns


def _groups(schema: Schema, meanings: list[Meaning]) -> tuple[Ints, ...]:
    groups = [group for meaning in meanings for group in meaning.groups]
    if not isinstance(schema, ReducedSchema):
        return tuple(groups)
    # Columns that move together anyway are one, and groups that both have it are one too.
    moving = joined_groups([int(j) for j in np.unique(schema.unit_of[group]) if j >= 0] for group in groups)
    return tuple(np.unique(np.array(group, dtype=np.intp)) for group in moving if len(group) > 1)


def _of_whole_rows(
    schema: Schema, whole: Floats, meanings: list[Meaning], fixed: set[int], conditions: list[list[Condition]]
) -> WholeRows | None:
    relations = tuple(one for meaning in meanings for one in meaning.relations)
    computed = schema.computed if isinstance(schema, ReducedSchema) else ()
    if not relations and not computed:
        return None
    own = (OwnRules(one.position, one.position in fixed, tuple(conditions[one.position])) for one in computed)
    return WholeRows(schema, whole, relations, tuple(one for one in own if one.is_fixed or one.conditions))
