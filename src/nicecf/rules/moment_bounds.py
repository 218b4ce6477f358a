"""Bounds of ranges that are dates or durations: one for all rows, or an array of objects with one for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError
from nicecf.rules.columns import moment
from nicecf.rules.moments import moment_of, plain_text
from nicecf.rules.parameters import Feature, is_missing
from nicecf.support.types import Bools, is_number
from nicecf.tables.column import Column


def of_rows(feature: Feature, given: Any) -> Any:
    """Dates or durations, one for each row (None: no bound); None if these are not such bounds."""
    if not any(moment_of(value) is not None for value in given):
        return None
    bounds = np.full(len(given), None, dtype=object)
    for at, value in enumerate(given):
        if is_missing(value):
            continue
        bounds[at] = moment_of(value)
        if bounds[at] is None:
            raise OptionError(
                f"the range of {feature!r} has {value!r} among bounds that are dates or durations. Pass one for each "
                "row, or None for no bound."
            )
    return pd.Series(bounds, index=given.index, dtype=object) if isinstance(given, pd.Series) else bounds


def are_empty(feature: Feature, low: Any, high: Any) -> Bools:
    """Return for which rows a low bound is after the high one; OptionError where they cannot be compared."""
    lows, highs = np.broadcast_arrays(np.atleast_1d(np.asarray(low)), np.atleast_1d(np.asarray(high)))
    pairs = zip(lows, highs, strict=True)
    are_there = ((one, other) if not (_is_none(one) or _is_none(other)) else None for one, other in pairs)
    later = [
        pair is not None and pair[0] != pair[1] and _compared(feature, *pair, max) is pair[0] for pair in are_there
    ]
    return np.array(later, dtype=bool)


def stricter(feature: Feature, bounds: list[Any], of: Callable[..., Any]) -> Any:
    """The stricter of two bounds, ``of`` them max or min, row by row; None if there is none."""
    if len(bounds) < 2:
        return bounds[0] if bounds else None
    if not any(np.ndim(bound) for bound in bounds):
        return _compared(feature, bounds[0], bounds[1], of)
    if sum(np.ndim(bound) for bound in bounds) > 1 and len(bounds[0]) != len(bounds[1]):
        raise OptionError("two rules have bounds for different numbers of rows.")
    both = np.broadcast_arrays(*(np.asarray(bound) for bound in bounds))
    merged = np.full(len(both[0]), None, dtype=object)
    for row, (one, other) in enumerate(zip(*both, strict=True)):
        there = [bound for bound in (one, other) if not _is_none(bound)]
        merged[row] = _compared(feature, there[0], there[1], of) if len(there) == 2 else there[0] if there else None
    return merged


def of_column(feature: Feature, pair: tuple[Any, Any], column: Column) -> tuple[Any, Any]:
    """Bounds as the numbers that stand for them in a column of dates or durations; OptionError if they are none."""
    assert column.temporal is not None

    def read(bound: Any) -> Any:
        if bound is None:
            return None
        if np.ndim(bound) == 0:
            return moment(bound, column.temporal, feature, "ranges")  # type: ignore[arg-type]  # it is one
        numbers = np.array([np.nan if _is_none(one) else read(one) for one in np.asarray(bound)], dtype=np.float64)
        return pd.Series(numbers, index=bound.index) if isinstance(bound, pd.Series) else numbers

    return read(pair[0]), read(pair[1])


def _is_none(bound: Any) -> bool:
    return bound is None or (is_number(bound) and bound != bound)


def _compared(feature: Feature, one: Any, other: Any, of: Callable[..., Any]) -> Any:
    try:
        return of(one, other)
    except TypeError:
        raise OptionError(
            f"the bounds {plain_text(one)} and {plain_text(other)} of {feature!r} cannot be compared: one is a date "
            "and the other is not, or only one has a time zone. Write both in the same way."
        ) from None
