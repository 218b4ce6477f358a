"""Preprocessing steps that turn each number into one number, which grows with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, QuantileTransformer, RobustScaler, StandardScaler

from nicecf.models.inputs import ByColumn, Direct, Whole, is_passed_through
from nicecf.tables.schema import Schema

_MONOTONE = (MaxAbsScaler, MinMaxScaler, QuantileTransformer, RobustScaler, StandardScaler)


def is_monotone(step: Any) -> bool:
    """Whether a fitted step makes one number of each number, and never a lower one of a higher one."""
    if is_passed_through(step) or type(step) in _MONOTONE:
        return True
    if type(step) is not SimpleImputer or step.add_indicator or step.missing_values == step.missing_values:
        return False  # what stands for a missing value may be any number, and that would move
    return step.statistics_.dtype.kind == "f" and not np.isnan(step.statistics_).any()


def is_monotone_input(
    inputs: Direct | ByColumn | Whole, schema: Schema, position: int, *, zero_may_be_missing: bool
) -> bool:
    """Whether a column of numbers reaches a model as one input that grows with it."""
    if sparse.issparse(schema.empty) and zero_may_be_missing:
        return False
    if isinstance(inputs, Direct):
        return position not in inputs._numbers_as_categories
    if isinstance(inputs, Whole):
        return inputs._transformer is None or is_monotone(inputs._transformer)
    parts = [part for part in inputs._parts if position in part.columns]
    return len(parts) == 1 and is_monotone(parts[0].step) and not inputs._zero_is_missing
