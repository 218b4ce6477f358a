"""``ranges={"hours": (20, None)}``: where a changed value must lie, for all rows or for each of them.

Of a category with an order, bounds are levels: ``ranges={"rating": ("BB", None)}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError, did_you_mean, listed, plain
from nicecf.rules import moment_bounds
from nicecf.rules.columns import RuledRows, code_of, float_dtype, held
from nicecf.rules.kinds.kind import Candidate, Contradiction, PerFeature, Relaxed
from nicecf.rules.moments import comparable, moment_of, number_of_cell, plain_text
from nicecf.rules.parameters import Feature, Line, check_known, is_missing, is_pair
from nicecf.support.phrases import Features, Statement, Value
from nicecf.support.types import Bools, Floats, Ints, is_number
from nicecf.tables.column import Column
from nicecf.tables.schema import Schema

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

# One bound for all rows, one for each row, or none.
Bound: TypeAlias = Any
Pair: TypeAlias = tuple[Bound, Bound]

# Larger numbers are none that a table could hold.
_LARGEST = 1e300


class Ranges(PerFeature[Pair]):
    """Where a changed value must lie, both bounds included."""

    name = "ranges"
    columns = ("low", "high")

    def read_one(self, feature: Feature, given: Any) -> Pair:
        if isinstance(given, Mapping):
            check_known(f"the range of {feature!r} has", given, ("low", "high"))
            given = (given.get("low"), given.get("high"))
        if not is_pair(given):
            raise OptionError(f"the range of {feature!r} must be (low, high), with None for no bound, got {given!r}.")
        low, high = _bound(feature, given[0], none=-np.inf), _bound(feature, given[1], none=np.inf)
        _check_not_empty(feature, low, high)
        return low, high

    def plain_one(self, one: Pair) -> Any:
        named = zip(("low", "high"), one, strict=True)
        return {name: _plain_bound(bound) for name, bound in named if bound is not None}

    def from_line(self, line: Line) -> Any:
        low, high = (number_of_cell(line.get(name)) for name in ("low", "high"))
        return (low, high) if "low" in line or "high" in line else None

    def merge_one(self, feature: Feature, mine: Pair, theirs: Pair) -> Pair:
        both = zip(mine, theirs, strict=True)
        lows, highs = (_different([bound for bound in bounds if bound is not None]) for bounds in both)
        if any(len(bounds) > 1 and any(isinstance(one, str) for one in bounds) for bounds in (lows, highs)):
            # Which of two levels is the higher one only the table knows.
            raise OptionError(f"two rules have a bound on the same side for the levels of {feature!r}. Give one.")
        if any(_has_moments(bound) for bound in (*lows, *highs)):
            return moment_bounds.stricter(feature, lows, max), moment_bounds.stricter(feature, highs, min)
        low = lows[0] if len(lows) == 1 else np.fmax(*_comparable(lows)) if lows else None
        high = highs[0] if len(highs) == 1 else np.fmin(*_comparable(highs)) if highs else None
        return low, high

    def conflict(self, feature: Feature, mine: Pair, theirs: Pair) -> int | None:
        rows = np.flatnonzero(conflicting_rows(feature, mine, theirs))
        return int(rows[0]) if len(rows) else None

    def is_per_row(self, rule: dict[Feature, Pair]) -> bool:
        return any(np.ndim(bound) for pair in rule.values() for bound in pair)

    def for_row(self, rule: dict[Feature, Pair], row: int) -> dict[Feature, Pair]:
        of_row = {feature: (_bound_of(low, row), _bound_of(high, row)) for feature, (low, high) in rule.items()}
        return {feature: pair for feature, pair in of_row.items() if pair != (None, None)}

    def take(self, rule: dict[Feature, Pair], rows: Ints) -> dict[Feature, Pair]:
        def taken(bound: Bound) -> Bound:
            return bound if not np.ndim(bound) else bound.iloc[rows] if isinstance(bound, pd.Series) else bound[rows]

        return {feature: (taken(low), taken(high)) for feature, (low, high) in rule.items()}

    def condition(self, feature: Feature, one: Pair, rows: RuledRows) -> Between:
        j = rows.position(feature, self.name)
        if rows.schema.columns[j].is_ordinal:
            return _between_levels(feature, one, rows)
        rows.check_numeric(feature, self.name)
        texts = [bound for bound in one if isinstance(bound, str)]
        if texts:
            _refuse(feature, texts[0])
        if rows.trained.columns[j].temporal is not None:
            one = moment_bounds.of_column(feature, one, rows.trained.columns[j])
        elif any(_has_moments(bound) for bound in one):
            raise OptionError(f"the range of {feature!r} is one of dates or durations, but it is a column of numbers.")
        dtype = float_dtype(rows.trained, j)
        low, high = (_of_rows(feature, bound, none, rows) for bound, none in zip(one, (-np.inf, np.inf), strict=True))
        return Between(held(low, dtype), held(high, dtype))

    def words_of(self, feature: Feature, one: Pair) -> Statement:
        low, high = one
        who, least, most = Features((feature,)), Value(low), Value(high)
        if low is None:
            return Statement("rule.ranges_high", {"feature": who, "high": most})
        if high is None:
            return Statement("rule.ranges_low", {"feature": who, "low": least})
        return Statement("rule.ranges", {"feature": who, "low": least, "high": most})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """The range becomes as wide as the candidate needs."""
        if found.direction(about) is None:
            return super().relax(rules, about, found)
        low, high = rules.ranges[about]
        _, after, _ = found.change(about)
        wider = (
            None if low is None else min(low, comparable(after, low)),
            None if high is None else max(high, comparable(after, high)),
        )
        instead = Statement("relaxation.ranges", {"feature": Features((about,)), "after": Value(after)})
        return instead, {self.name: {**rules.ranges, about: wider}}

    def less(self, rules: Constraints, about: Any, found: Candidate) -> dict[str, Any] | None:
        """Return a range that ends just before the value of the candidate; of dates and levels, none is known.

        A row that is outside the range itself gets the value that is nearest to its own, not to the range.
        """
        low, high = rules.ranges[about]
        before, after, _ = found.change(about)
        if not all(end is None or is_number(end) for end in (before, after, low, high)) or None in (before, after):
            return None
        if low is not None and after < low <= before:
            low = float(np.nextafter(float(after), np.inf))
        elif high is not None and after > high >= before:
            high = float(np.nextafter(float(after), -np.inf))
        else:
            return None
        return {self.name: {**rules.ranges, about: (low, high)}}


@dataclass(frozen=True, eq=False)
class Between:
    """Between bounds, one pair for each row. NaN is in no range."""

    low: Floats
    high: Floats

    @property
    def is_interval(self) -> bool:
        return True

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        shape = (len(lines),) + (1,) * (row.ndim - 1)
        low, high = self.low[lines].reshape(shape), self.high[lines].reshape(shape)
        # Without any bound there is no rule for a row: then a value may become missing too.
        return ((new >= low) & (new <= high)) | (np.isneginf(low) & np.isposinf(high))

    def take(self, lines: Ints) -> Between:
        return Between(self.low[lines], self.high[lines])


def _bound(feature: Feature, given: Any, *, none: float) -> Bound:
    """A bound as a number or an array; None where there is none, as ``none`` says."""
    if given is None:
        return None
    if is_number(given):
        if given != given:
            raise OptionError(f"the range of {feature!r} has a bound that is missing (NaN); use None for no bound.")
        if abs(given) > _LARGEST:
            return None if (given > 0) == (none > 0) else -none
        return plain(given)
    moment = moment_of(given)
    if moment is not None:
        return moment
    if isinstance(given, str):
        return given  # a level, if the column has an order: that is checked once it is known
    has_numbers = isinstance(given, (Sequence, np.ndarray)) or hasattr(given, "to_numpy")
    if isinstance(given, bytes) or not has_numbers:
        _refuse(feature, given)
    moments = moment_bounds.of_rows(feature, given)
    if moments is not None:
        return moments
    # numpy would read booleans, and text of digits, as numbers.
    if any(isinstance(value, (bool, np.bool_, str, bytes)) for value in given):
        _refuse(feature, given)
    try:
        array = np.array([np.nan if is_missing(value) else value for value in given], dtype=np.float64)
    except (TypeError, ValueError):
        _refuse(feature, given)
    # A Series keeps its index: that it is the index of the rows is checked once they are known.
    return pd.Series(array, index=given.index) if isinstance(given, pd.Series) else array


def _refuse(feature: Feature, given: Any) -> NoReturn:
    raise OptionError(
        f"the range of {feature!r} has a bound that is not a number: {str(given)[:60]!r}. Pass a number, None for no "
        "bound, or one number per row; of dates, a date such as '2024-03-01', of durations one such as '30 days', and "
        "of an ordered category one of its levels. For other categories, use allowed."
    )


def _check_not_empty(feature: Feature, low: Bound, high: Bound) -> None:
    if low is None and high is None:
        raise OptionError(f"the range of {feature!r} has no bounds, so it says nothing. Leave it out.")
    if np.ndim(low) and np.ndim(high) and len(low) != len(high):
        raise OptionError(
            f"the range of {feature!r} has {len(low)} low bounds and {len(high)} high bounds; pass as many of both."
        )
    if any(is_number(bound) and bound == nothing for bound, nothing in ((low, np.inf), (high, -np.inf))):
        raise OptionError(f"the range of {feature!r} is empty. A feature that may not change at all is immutable.")
    empty = np.flatnonzero(_are_empty(feature, low, high))
    if len(empty):
        row = int(empty[0])
        where = f" (row {row})" if np.ndim(low) or np.ndim(high) else ""
        first, last = (plain_text(_bound_of(bound, row)) for bound in (low, high))
        raise OptionError(
            f"the range of {feature!r} is empty: its low bound {first} is above its high bound {last}{where}. Swap the "
            "bounds; a feature that may not change at all is immutable."
        )


def _are_empty(feature: Feature, low: Bound, high: Bound) -> Bools:
    """Return for which rows a low bound is above the high one; one answer if both bounds are for all rows."""
    # Which of two levels is the higher one only the table knows.
    if low is None or high is None or isinstance(low, str) or isinstance(high, str):
        return np.zeros(1, dtype=bool)
    if any(_has_moments(bound) for bound in (low, high)):
        return moment_bounds.are_empty(feature, low, high)
    return np.atleast_1d(np.asarray(low) > np.asarray(high))


def conflicting_rows(feature: Feature, mine: Pair, theirs: Pair) -> Bools:
    """Return for which rows two ranges have no value in common; one answer if all bounds are for all rows."""
    if any(isinstance(bound, str) for bound in (*mine, *theirs)):
        return np.zeros(1, dtype=bool)  # levels: see with_stricter_levels
    return _are_empty(feature, *Ranges().merge_one(feature, mine, theirs))


def _plain_bound(bound: Bound) -> Any:
    if np.ndim(bound) and _has_moments(bound):
        return [plain_text(one) for one in bound]
    return bound.tolist() if hasattr(bound, "tolist") else plain_text(bound)


def _has_moments(bound: Bound) -> bool:
    return isinstance(bound, (datetime, timedelta)) or (np.ndim(bound) > 0 and np.asarray(bound).dtype == object)


def _bound_of(bound: Bound, row: int) -> Bound:
    own = np.asarray(bound)[row] if np.ndim(bound) else bound
    if isinstance(own, (str, datetime, timedelta)):
        return own
    return None if own is None or not np.isfinite(own) else plain(own)


def _between_levels(feature: Feature, one: Pair, rows: RuledRows) -> Between:
    """Between two levels of a category with an order, or on one side of a level; the same for all rows."""
    j = rows.position(feature, Ranges.name)
    column, ends = rows.trained.columns[j], []
    for bound in one:
        if np.ndim(bound):
            raise OptionError(
                f"the range of {feature!r}, an ordered category, has bounds for each row. Pass one level for all rows, "
                "and different rules for different rows as a list: explain(X, constraints=[...])."
            )
        rank = _rank(bound, column)
        if bound is not None and rank is None:
            raise OptionError(
                f"the range of {feature!r} has the bound {bound!r}, which is not one of its levels, from low to high "
                f"{listed(column.told_levels)}.{did_you_mean(bound, column.told_levels)}"
            )
        ends.append(rank)
    low, high = -np.inf if ends[0] is None else ends[0], np.inf if ends[1] is None else ends[1]
    if low > high:
        raise OptionError(
            f"the range of {feature!r} is empty: its low bound {one[0]!r} is above its high bound {one[1]!r} in the "
            "order of its levels. Swap the bounds; a feature that may not change at all is immutable."
        )
    return Between(np.full(len(rows.rows), float(low)), np.full(len(rows.rows), float(high)))


def _rank(bound: Bound, column: Column) -> int | None:
    """The rank of a level; one may be called what else is read as a date or a duration."""
    if bound is None or not _has_moments(bound):
        return None if bound is None else code_of(bound, column)
    return next((rank for rank, level in enumerate(column.levels) if moment_of(level) == bound), None)


def with_stricter_levels(
    mine: Constraints, theirs: Constraints, schema: Schema
) -> tuple[Constraints, Constraints, list[Contradiction]]:
    """Make the ranges of ordered categories the stricter of both, and return those that have no level in common.

    Which of two levels is the higher one only the table knows: not their numbers or names.
    """
    position = {feature: schema.position(feature, "ranges") for one in (mine, theirs) for feature in one.ranges}
    of_theirs = {position[feature]: feature for feature in theirs.ranges}
    changed = [dict(mine.ranges), dict(theirs.ranges)]
    contradictions = []
    for feature, pair in mine.ranges.items():
        j = position[feature]
        if j in of_theirs and schema.columns[j].is_ordinal:
            other = changed[1].pop(of_theirs[j])
            ends = zip(pair, other, (max, min), strict=True)
            stricter = tuple(_stricter_level(one, another, of, schema.columns[j]) for one, another, of in ends)
            changed[0][feature], changed[1][feature] = stricter, stricter
            low, high = (_rank(bound, schema.columns[j]) for bound in stricter)
            if low is not None and high is not None and low > high:
                first, last = (Ranges().words_of(feature, one) for one in (pair, other))
                contradictions.append(Contradiction(feature, (first, last)))
    return replace(mine, ranges=changed[0]), replace(theirs, ranges=changed[1]), contradictions


def _stricter_level(one: Bound, other: Bound, of: Callable[..., Any], column: Column) -> Bound:
    ranks = {rank: bound for bound in (one, other) if (rank := _rank(bound, column)) is not None}
    return ranks[of(ranks)] if ranks else one  # what is no level is told of when it is read


def _different(bounds: list[Bound]) -> list[Bound]:
    """Bounds, but one of two that are the same."""
    if len(bounds) == 2 and not any(np.ndim(bound) for bound in bounds) and bounds[0] == bounds[1]:
        return bounds[:1]
    return bounds


def _comparable(bounds: list[Bound]) -> list[Bound]:
    """Bounds that can be compared row by row, not by their labels."""
    if sum(np.ndim(bound) for bound in bounds) > 1:
        if len({len(bound) for bound in bounds}) > 1:
            raise OptionError("two rules have bounds for different numbers of rows.")
        return [np.asarray(bound) for bound in bounds]
    return bounds


def _of_rows(feature: Feature, bound: Bound, none: float, rows: RuledRows) -> Floats:
    """The bound of each row; ``none`` where it has none."""
    n_rows = len(rows.rows)
    if bound is None or np.ndim(bound) == 0:
        return np.full(n_rows, none if bound is None else float(bound))
    if len(bound) != n_rows:
        raise OptionError(
            f"the range of {feature!r} has bounds for {len(bound)} rows, but {n_rows} are to be explained. Pass one "
            "bound for each row, or a number for all."
        )
    if isinstance(bound, pd.Series) and rows.index is not None and not bound.index.equals(rows.index):
        raise OptionError(
            f"the range of {feature!r} has bounds whose index is not that of the rows. Put them in the order of the "
            "rows: bounds.loc[X.index]; or pass bounds.to_numpy() if they are."
        )
    bounds = np.asarray(bound, dtype=np.float64)
    if bounds.ndim != 1:
        raise OptionError(f"the range of {feature!r} has bounds of shape {bounds.shape}; pass one number for each row.")
    return np.where(np.isnan(bounds), none, bounds)
