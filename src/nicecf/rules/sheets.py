"""Rules from a table with one line for each feature -> the parameters of Constraints."""

from __future__ import annotations

from typing import Any

import pandas as pd

from nicecf.exceptions import OptionError, listed
from nicecf.rules.kinds import KINDS
from nicecf.rules.parameters import check_known, is_missing


def parameters(frame: pd.DataFrame) -> dict[str, Any]:
    """Read a sheet, as :meth:`nicecf.Constraints.from_frame` describes it."""
    if not isinstance(frame, pd.DataFrame):
        raise OptionError(f"from_frame needs a pandas frame, got {type(frame).__name__}.")
    known = list(dict.fromkeys(["feature", *(column for kind in KINDS for column in kind.columns)]))
    check_known("the frame has the column", frame.columns, known)
    if "feature" not in frame or frame.empty:
        raise OptionError("the frame needs a column 'feature' and a line for each feature that has a rule.")
    if frame["feature"].isna().any():
        raise OptionError("the frame has a line without a feature; every rule needs one.")
    if frame["feature"].duplicated().any():
        twice = frame["feature"][frame["feature"].duplicated()]
        raise OptionError(f"the frame has more than one line for {listed(twice)}; use one line for each feature.")
    lines = [{name: value for name, value in line.items() if _is_filled(value)} for line in frame.to_dict("records")]
    return {kind.name: kind.from_sheet(lines) for kind in KINDS}


def _is_filled(value: Any) -> bool:
    return not is_missing(value) and not (isinstance(value, str) and not value.strip())
