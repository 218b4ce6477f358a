"""What people pass as rules, each parameter checked by itself and brought into one form."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nicecf._typing import is_number
from nicecf.exceptions import OptionError, did_you_mean, listed, plain

# A feature by its name, or by its position in an array.
Feature: TypeAlias = Hashable
# One bound for all rows, one for each row, or none.
Bound: TypeAlias = Any

# Larger numbers are no numbers that a table could hold.
_LARGEST = 1e300


def names(option: str, given: Any) -> list[Feature]:
    """Features, as a list without repeats."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise OptionError(f"{option}={given!r} is not a list of features; pass [{given!r}].")
    if isinstance(given, Mapping):
        raise OptionError(f"{option} is a dict; pass a list of features.")
    names = [plain(one) for one in given]
    for one in names:
        if not isinstance(one, Hashable) or isinstance(one, bool) or one is None:
            raise OptionError(f"{option} names {one!r}, which is no feature; pass names, or positions for arrays.")
    return list(dict.fromkeys(names))


def mapping(option: str, given: Any) -> dict[Feature, Any]:
    """What is said of each feature."""
    if not isinstance(given, Mapping):
        raise OptionError(f"{option} must be a dict with the features as keys, got {type(given).__name__}.")
    return {plain(one): value for one, value in given.items()}


def directions(option: str, given: Any) -> dict[Feature, tuple[Any, ...] | None]:
    """Each feature that has a direction, and the order of its values where one is given."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(names(option, given))
    orders: dict[Feature, tuple[Any, ...] | None] = {}
    for one, order in given.items():
        if order is None or order is True:
            orders[plain(one)] = None
            continue
        if isinstance(order, (str, bytes)) or not isinstance(order, Iterable):
            raise OptionError(f"{option} has {order!r} for {one!r}; pass the values from low to high, as a list.")
        values = tuple(_value(option, one, value) for value in order)
        if len(values) < 2 or len(set(values)) < len(values):
            raise OptionError(
                f"{option} has the order {list(values)!r} for {one!r}; it needs two different values at least."
            )
        orders[plain(one)] = values
    return orders


def range_of(one: Feature, pair: Any) -> tuple[Bound, Bound]:
    """The two ends of a range; None for an open one."""
    if isinstance(pair, Mapping):
        check_known(f"the range of {one!r} has", pair, ("low", "high"))
        pair = (pair.get("low"), pair.get("high"))
    if isinstance(pair, (str, bytes)) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise OptionError(f"the range of {one!r} must be (low, high), with None for an open end, got {pair!r}.")
    low: Bound = _bound(one, pair[0], open_end=-np.inf)
    high: Bound = _bound(one, pair[1], open_end=np.inf)
    if low is None and high is None:
        raise OptionError(f"the range of {one!r} is open at both ends, so it says nothing. Leave it out.")
    if np.ndim(low) and np.ndim(high) and len(low) != len(high):
        raise OptionError(f"the range of {one!r} has {len(low)} low ends and {len(high)} high ends; pass as many.")
    if any(is_number(end) and end == closed for end, closed in ((low, np.inf), (high, -np.inf))):
        raise OptionError(f"the range of {one!r} is empty. A feature that may not change at all is immutable.")
    if low is not None and high is not None and np.any(np.asarray(low) > np.asarray(high)):
        raise OptionError(
            f"the range of {one!r} is empty: its low end {_first_above(low, high)}. Exchange the ends; a feature that "
            "may not change at all is immutable."
        )
    return low, high


def _first_above(low: Bound, high: Bound) -> str:
    lows, highs = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
    row = int(np.argmax(lows > highs))
    where = f" (row {row})" if np.ndim(low) or np.ndim(high) else ""
    return f"{plain(lows[row])} is above its high end {plain(highs[row])}{where}"


def _bound(one: Feature, bound: Any, *, open_end: float) -> Bound:
    if bound is None:
        return None
    if is_number(bound):
        if bound != bound:
            raise OptionError(f"the range of {one!r} has an end that is missing (NaN); use None for an open end.")
        if abs(bound) > _LARGEST:
            return None if (bound > 0) == (open_end > 0) else -open_end
        return plain(bound)
    has_numbers = isinstance(bound, (Sequence, np.ndarray)) or hasattr(bound, "to_numpy")
    if isinstance(bound, (str, bytes)) or not has_numbers:
        return _refuse_bound(one, bound)
    try:
        array = np.array([np.nan if is_missing(value) else value for value in bound], dtype=np.float64)
    except (TypeError, ValueError):
        return _refuse_bound(one, bound)
    # A Series keeps its index: that it is the index of the rows is checked once they are known.
    return pd.Series(array, index=bound.index) if isinstance(bound, pd.Series) else array


def _refuse_bound(one: Feature, bound: Any) -> Bound:
    raise OptionError(
        f"the range of {one!r} has an end that is no number: {str(bound)[:60]!r}. Pass a number, None for an open "
        "end, or one number per row. For categories, use allowed."
    )


def allowed(one: Feature, values: Any) -> tuple[Any, ...]:
    """What a feature may change to."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise OptionError(f"allowed has {values!r} for {one!r}; pass a list of values.")
    read = tuple(dict.fromkeys(_value("allowed", one, value) for value in values))
    if not read:
        raise OptionError(f"allowed names no value for {one!r}. A feature that may not change is immutable.")
    return read


def transitions(one: Feature, pairs: Any) -> tuple[tuple[Any, Any], ...]:
    """Changes (before, after) of a feature."""
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise OptionError(f"forbid has {pairs!r} for {one!r}; pass a list of pairs (before, after).")
    read = []
    for pair in pairs:
        if isinstance(pair, (str, bytes)) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise OptionError(f"forbid has {pair!r} for {one!r}; pass pairs (before, after).")
        before, after = (_value("forbid", one, value) for value in pair)
        if before == after:
            raise OptionError(
                f"forbid has ({before!r}, {after!r}) for {one!r}: what stays is no change, it is always allowed."
            )
        read.append((before, after))
    if not read:
        raise OptionError(f"forbid names no change of {one!r}. Leave it out.")
    return tuple(dict.fromkeys(read))


def step_of(one: Feature, step: Any) -> float:
    """The step of a feature."""
    if not (is_number(step) and 0 < step < np.inf):
        raise OptionError(f"step has {step!r} for {one!r}; it must be a number above 0.")
    return plain(step)  # type: ignore[return-value]  # a Python number


def groups(given: Any) -> tuple[tuple[Feature, ...], ...]:
    """Groups of features, each feature in one at most."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise OptionError(f"groups={given!r} is not a list of lists of features.")
    groups = [tuple(names("groups", group)) for group in given]
    seen: set[Feature] = set()
    for group in groups:
        if len(group) < 2:
            raise OptionError(f"groups has {list(group)!r}; two features at least can belong together.")
        twice = [one for one in group if one in seen]
        if twice:
            raise OptionError(f"{listed(twice)} is in two groups; join them if all of their features belong together.")
        seen.update(group)
    return tuple(groups)


def check_known(who: str, given: Iterable[Any], known: Sequence[str]) -> None:
    """OptionError for a key or column that nobody reads."""
    for one in given:
        if one not in known:
            raise OptionError(
                f"{who} {one!r}, which is not known; choose among {listed(known, limit=20)}.{did_you_mean(one, known)}"
            )


def _value(option: str, one: Feature, value: Any) -> Any:
    """A value of a feature; None if it is missing."""
    if is_missing(value):
        return None
    if not isinstance(plain(value), Hashable):
        raise OptionError(f"{option} has {value!r} for {one!r}, which is not a value of a feature.")
    return plain(value)


def is_missing(value: Any) -> bool:
    """Whether it stands for a missing value."""
    return value is None or (np.ndim(value) == 0 and bool(pd.isna(value)))
