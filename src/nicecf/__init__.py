"""Counterfactual explanations for any classifier on tabular data."""

from nicecf.classifier import from_score
from nicecf.exceptions import DecisionWarning, ModelError, NicecfError, NotFittedError, OptionError, SchemaError
from nicecf.nice import NICE
from nicecf.result import Change, Counterfactual, Counterfactuals

__all__ = [
    "NICE",
    "Change",
    "Counterfactual",
    "Counterfactuals",
    "DecisionWarning",
    "ModelError",
    "NicecfError",
    "NotFittedError",
    "OptionError",
    "SchemaError",
    "from_score",
]
