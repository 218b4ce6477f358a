"""Counterfactual explanations for any classifier on tabular data."""

from nicecf import baselines as baselines
from nicecf.classifier import from_score
from nicecf.constraints import Constraints, Relaxation
from nicecf.exceptions import (
    DecisionWarning,
    ExperimentError,
    ModelError,
    NicecfError,
    NotFittedError,
    OptionError,
    SchemaError,
)
from nicecf.nice import NICE
from nicecf.result import Change, Counterfactual, Counterfactuals

__all__ = [
    "NICE",
    "Change",
    "Constraints",
    "Counterfactual",
    "Counterfactuals",
    "DecisionWarning",
    "ExperimentError",
    "ModelError",
    "NicecfError",
    "NotFittedError",
    "OptionError",
    "Relaxation",
    "SchemaError",
    "from_score",
]
