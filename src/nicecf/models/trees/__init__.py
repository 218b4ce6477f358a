"""Fitted tree ensembles of scikit-learn, XGBoost, LightGBM and CatBoost, read once and answered without their calls.

One file per library, found by where the model's class comes from: no library is imported for another one's model.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from nicecf.models.trees.ensemble import NotSupported, TreeEnsemble

READABLE = (
    "the random forests, extra trees, decision trees and gradient boosting of scikit-learn, XGBoost, LightGBM and "
    "CatBoost classifiers, and boosters of XGBoost and LightGBM"
)
_FILES = {"sklearn": "scikit_learn", "xgboost": "xgboost", "lightgbm": "lightgbm", "catboost": "catboost"}


def read(model: Any) -> TreeEnsemble:
    """The trees of a fitted classifier; NotSupported, with the reason, if they cannot be read right."""
    ensemble: TreeEnsemble = _reader(model).read(model)
    return ensemble


def trained(model: Any) -> object:
    """What another training of the same model replaces: see `is_same_training`."""
    return _reader(model).trained(model)


def is_same_training(then: object, now: object) -> bool:
    """Whether a model was not trained again between two calls of `trained`."""
    return now is then or (isinstance(then, str) and now == then)


def _reader(model: Any) -> ModuleType:
    file = _FILES.get(type(model).__module__.partition(".")[0])
    if file is None:
        raise NotSupported(f"{type(model).__name__} is not a known classifier made of trees")
    return import_module(f"nicecf.models.trees.{file}")
