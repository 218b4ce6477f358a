"""Boosters in the files of XGBoost (.json, .ubj) and LightGBM (.txt): text and numbers, which run no code."""

from __future__ import annotations

import re
from typing import Any

from nicecf.exceptions import FileError
from nicecf.models.files.model_format import Trust, said
from nicecf.support.extras import require

# How a model file of LightGBM begins, and what stands behind its last tree.
_START, _END = b"tree", b"\nend of trees"
# Where in the code of XGBoost an error was raised, and when.
_PLACE = re.compile(r"\[[\d:]+\] \S+:\d+: ")


def from_xgboost(path: str, trust: Trust) -> Any:
    """The booster in a file that XGBoost's ``save_model`` wrote, of a booster or of one of its classifiers."""
    xgboost = require("xgboost", extra=None, needed_by=f"loading {path}")
    booster = xgboost.Booster()
    try:
        booster.load_model(path)
    except Exception as error:
        raise FileError(
            f"{path} cannot be loaded by XGBoost ({_without_place(error)}). Save the model with "
            "booster.save_model(path)."
        ) from error
    return booster


def from_lightgbm(path: str, trust: Trust) -> Any:
    """The booster in a file that LightGBM's ``save_model`` wrote."""
    lightgbm = require("lightgbm", extra=None, needed_by=f"loading {path}")
    with open(path, "rb") as file:
        content = file.read()
    if not (content.startswith(_START) and _END in content):  # LightGBM would write to the terminal what it raises
        raise FileError(
            f"{path} is not a model of LightGBM, or not complete. Save the model with booster.save_model(path)."
        )
    try:
        return lightgbm.Booster(model_file=path)
    except Exception as error:
        raise FileError(
            f"{path} cannot be loaded by LightGBM ({said(error)}). Save the model with booster.save_model(path)."
        ) from error


def _without_place(error: Exception) -> str:
    """An error of XGBoost in a line, without its stack and the place in its code."""
    return _PLACE.sub("", said(error).partition(" Stack trace:")[0])
