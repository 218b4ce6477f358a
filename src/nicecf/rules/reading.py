"""Constraints and a table -> the rules for its rows; OptionError where they do not fit each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nicecf.rules.columns import RuledRows
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds import KINDS
from nicecf.rules.kinds.allowed import Among
from nicecf.rules.row_rules import Condition, Rules
from nicecf.support.types import Floats
from nicecf.tables.schema import Schema


def rules_of(
    constraints: Constraints,
    schema: Schema,
    rows: Floats,
    *,
    trained: Schema,
    index: pd.Index[Any] | None = None,
    is_checked: bool = False,
) -> Rules:
    """Read constraints for some rows.

    ``trained`` is the schema of the training table: it knows which values a donor can have. ``index`` are the labels of
    the rows, which those of per-row bounds must equal. ``is_checked``: they were read before, so that a value that no
    counterfactual could have is not a mistake, but one that other rows have.
    """
    table = RuledRows(schema, rows, trained, index, is_checked)
    meanings = [kind.meaning(getattr(constraints, kind.name), table) for kind in KINDS]
    is_fixed = np.zeros(len(schema.columns), dtype=bool)
    # What too few training rows hold is taken by nobody, whatever the rules.
    conditions: list[list[Condition]] = [
        [] if column.common is None else [Among(column.common)] for column in trained.columns
    ]
    for meaning in meanings:
        is_fixed[list(meaning.fixed)] = True
        for j, condition in meaning.conditions:
            conditions[j].append(condition)
    return Rules(
        rows,
        is_fixed,
        tuple(tuple(of_feature) for of_feature in conditions),
        tuple(group for meaning in meanings for group in meaning.groups),
        min((one.max_changes for one in meanings if one.max_changes is not None), default=None),
    )
