"""Preprocessing steps that turn each number into one number, which grows with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, QuantileTransformer, RobustScaler, StandardScaler

from nicecf.models.inputs import ByColumn, Direct, Whole, acts_by_column, is_passed_through
from nicecf.tables.schema import Schema

_MONOTONE = (MaxAbsScaler, MinMaxScaler, QuantileTransformer, RobustScaler, StandardScaler)


def is_monotone(step: Any) -> bool:
    """Whether a fitted step makes one number of each number, and never a lower one of a higher one."""
    if type(step) is Pipeline:
        return all(is_monotone(inner) for _, inner in step.steps)
    if is_passed_through(step) or type(step) in _MONOTONE:
        return True
    if type(step) is not SimpleImputer or step.add_indicator or step.missing_values == step.missing_values:
        return False  # what stands for a missing value may be any number, and that would move
    return step.statistics_.dtype.kind == "f" and not np.isnan(step.statistics_).any()


def acts_alone(inputs: Direct | ByColumn | Whole, n_features: int, position: int) -> bool:
    """Whether what a model gets of a column says nothing of the other columns, nor they of it."""
    if isinstance(inputs, Direct):
        return bool(inputs.by_column(n_features)[position])
    if isinstance(inputs, Whole):
        steps = [] if inputs._transformer is None else [inputs._transformer]
    else:
        steps = [part.step for part in inputs._parts if position in part.columns]
    inner = [one for step in steps for one in ([one for _, one in step.steps] if type(step) is Pipeline else [step])]
    return all(is_passed_through(one) or acts_by_column(one) for one in inner)


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
