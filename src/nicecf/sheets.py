"""Rules from a table with one line for each feature -> the parameters of Constraints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from nicecf.exceptions import OptionError, listed, plain
from nicecf.given import Feature, check_known, is_missing


def parameters(frame: pd.DataFrame) -> dict[str, Any]:
    """Read a sheet, as :meth:`nicecf.Constraints.from_frame` describes it."""
    if not isinstance(frame, pd.DataFrame):
        raise OptionError(f"from_frame needs a pandas frame, got {type(frame).__name__}.")
    known = ("feature", "immutable", "direction", "order", "low", "high", "allowed", "forbid", "step", "group")
    check_known("the frame has the column", frame.columns, known)
    if "feature" not in frame or frame.empty:
        raise OptionError("the frame needs a column 'feature' and a line for each feature that has a rule.")
    if frame["feature"].isna().any():
        raise OptionError("the frame has a line without a feature; every rule needs one.")
    if frame["feature"].duplicated().any():
        twice = frame["feature"][frame["feature"].duplicated()]
        raise OptionError(f"the frame has more than one line for {listed(twice)}; use one line for each feature.")
    lines = [{name: value for name, value in line.items() if _is_filled(value)} for line in frame.to_dict("records")]
    return {
        "immutable": [line["feature"] for line in lines if _is_true(line)],
        "increasing": _of_direction(lines, "increasing"),
        "decreasing": _of_direction(lines, "decreasing"),
        "ranges": {
            line["feature"]: (line.get("low"), line.get("high")) for line in lines if "low" in line or "high" in line
        },
        "allowed": {line["feature"]: _split(line["allowed"]) for line in lines if "allowed" in line},
        "forbid": {line["feature"]: _transitions(line) for line in lines if "forbid" in line},
        "step": {line["feature"]: line["step"] for line in lines if "step" in line},
        "groups": list(_by_word(lines).values()),
    }


def _is_filled(value: Any) -> bool:
    return not is_missing(value) and not (isinstance(value, str) and not value.strip())


def _is_true(line: dict[str, Any]) -> bool:
    value = line.get("immutable", False)
    words = {"true": True, "yes": True, "x": True, "1": True, "false": False, "no": False, "0": False}
    is_true = words.get(str(plain(value)).strip().lower().removesuffix(".0"))
    if is_true is None:
        raise OptionError(f"immutable is {value!r} for {line['feature']!r}; write true or false.")
    return is_true


def _of_direction(lines: list[dict[str, Any]], direction: str) -> dict[Feature, Any]:
    for line in lines:
        if line.get("direction", "increasing") not in ("increasing", "decreasing"):
            raise OptionError(
                f"direction is {line['direction']!r} for {line['feature']!r}; write 'increasing' or 'decreasing'."
            )
        if "order" in line and "direction" not in line:
            raise OptionError(f"{line['feature']!r} has an order but no direction; write 'increasing' or 'decreasing'.")
    return {
        line["feature"]: _split(line["order"]) if "order" in line else None
        for line in lines
        if line.get("direction") == direction
    }


def _split(cell: Any) -> list[Any]:
    if isinstance(cell, str):
        return [part.strip() for part in cell.split("|")]
    return list(cell) if isinstance(cell, Iterable) else [cell]


def _transitions(line: dict[str, Any]) -> list[tuple[Any, Any]]:
    if not isinstance(line["forbid"], str):
        return list(line["forbid"])
    pairs = [tuple(part.strip() for part in one.split(">")) for one in line["forbid"].split("|")]
    if any(len(pair) != 2 for pair in pairs):
        raise OptionError(
            f"forbid is {line['forbid']!r} for {line['feature']!r}; write before > after, with | between pairs."
        )
    return pairs  # type: ignore[return-value]  # pairs, as was just checked


def _by_word(lines: list[dict[str, Any]]) -> dict[Any, list[Feature]]:
    groups: dict[Any, list[Feature]] = {}
    for line in lines:
        if "group" in line:
            groups.setdefault(line["group"], []).append(line["feature"])
    return groups
