"""``within={"age": 2, "income": "10%"}``: by how much a feature may change, up or down, from the row's own value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError, plain
from nicecf.rules.columns import RuledRows, float_dtype, is_date
from nicecf.rules.kinds.kind import Candidate, PerFeature, Relaxed
from nicecf.rules.kinds.ranges import Between
from nicecf.rules.kinds.step import number_of_size
from nicecf.rules.moments import moment_of, number_of_cell, plain_text
from nicecf.rules.parameters import Feature, Line, in_cell
from nicecf.support.phrases import Features, Field, Probability, Statement, Value
from nicecf.support.types import Floats, is_number

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

# A number, a duration, or text such as "10%". Both a size and a share can limit a feature: then both hold.
Limit: TypeAlias = float | timedelta | str
Limits: TypeAlias = tuple[Limit, ...]

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
# Of the size of numbers: a limit that is smaller by less is the same limit, in columns of 32-bit floats.
_MORE_THAN_ROUNDING = 1e-6
# Larger distances lead beyond all numbers that a table could hold.
_LARGEST = 1e300


class Within(PerFeature[Limits]):
    """By how much a feature may change: a number, a duration, or a percentage of the size of the row's own value."""

    name = "within"
    columns = ("within",)

    def read_one(self, feature: Feature, given: Any) -> Limits:
        limits = [_limit(one) for one in (given if isinstance(given, (list, tuple)) else [given])]
        known = _smallest(limit for limit in limits if limit is not None)
        if len(known) != len(limits) or not known:
            raise OptionError(
                f"within has {given!r} for {feature!r}; it must be a number above 0, a percentage such as '10%' or, "
                "for dates and durations, a duration such as '30 days'. Pass one, or a list of one and a percentage."
            )
        return known

    def plain_one(self, one: Limits) -> Any:
        limits = [plain_text(limit) for limit in one]
        return limits[0] if len(limits) == 1 else limits

    def from_line(self, line: Line) -> Any:
        return [number_of_cell(part) for part in in_cell(line["within"])] if "within" in line else None

    def merge_one(self, feature: Feature, mine: Limits, theirs: Limits) -> Limits:
        return _smallest([*mine, *theirs])

    def condition(self, feature: Feature, one: Limits, rows: RuledRows) -> Between:
        rows.check_numeric(feature, self.name)
        j = rows.position(feature, self.name)
        own = rows.rows[:, j]
        distance = np.full(len(own), _LARGEST)
        for limit in one:
            distance = np.minimum(distance, self._distance(feature, limit, own, rows))
        # Own value, limit and new value may each be half a unit of the last place away from what was meant.
        is_exact = rows.trained.columns[j].temporal is not None
        rounding = 0.0 if is_exact else 2 * float(np.finfo(float_dtype(rows.trained, j)).eps)
        distance = distance + rounding * (np.abs(own) + distance)
        return Between(own - distance, own + distance)

    def _distance(self, feature: Feature, limit: Limit, own: Floats, rows: RuledRows) -> Floats:
        j = rows.position(feature, self.name)
        if not isinstance(limit, str):
            return np.full(len(own), number_of_size(self.name, feature, limit, rows.trained.columns[j].temporal))
        if is_date(rows.trained, j):
            raise OptionError(
                f"within has {limit!r} for {feature!r}, a column of dates; write a duration, such as '30 days'."
            )
        return np.abs(own) * _share(limit)

    def words_of(self, feature: Feature, one: Limits) -> Statement:
        named: dict[str, Field] = {"feature": Features((feature,))}
        for limit in one:
            if isinstance(limit, str):
                named["percent"] = Probability(_share(limit), is_exact=True)
            else:
                named["limit"] = Value(limit)
        kind = "" if "percent" not in named else "_percent" if "limit" not in named else "_both"
        return Statement(f"rule.within{kind}", named)

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """Let the feature change by as much as the candidate needs."""
        needed = _needed(about, found)
        if needed is None:
            return super().relax(rules, about, found)
        instead = Statement("relaxation.within", {"feature": Features((about,)), "limit": Value(needed)})
        return instead, {self.name: {**rules.within, about: (needed,)}}

    def less(self, rules: Constraints, about: Any, found: Candidate) -> dict[str, Any] | None:
        """Return a limit just below what the candidate needs."""
        needed = _needed(about, found)
        if isinstance(needed, timedelta):
            less: Limit = needed - timedelta(microseconds=1)
        elif needed is None:
            return None
        else:
            less = needed - _MORE_THAN_ROUNDING * (abs(float(found.change(about)[0])) + needed)
        zero = timedelta(0) if isinstance(less, timedelta) else 0
        return {self.name: {**rules.within, about: (less,)}} if less > zero else None  # type: ignore[operator]


def _needed(feature: Feature, found: Candidate) -> float | timedelta | None:
    """Return by how much a candidate changes a feature; None for a change from or to a missing value."""
    if found.direction(feature) is None:
        return None
    before, after, _ = found.change(feature)
    # As decimals: from 0.5 to 0.8 it is 0.3.
    needed = abs(Decimal(str(after)) - Decimal(str(before))) if is_number(after) else abs(after - before)
    return needed if isinstance(needed, timedelta) else float(needed)


def _limit(given: Any) -> Limit | None:
    """Read one limit; None if it is not one."""
    if is_number(given):
        return plain(given) if 0 < given < _LARGEST else None  # type: ignore[return-value]  # a Python number
    percent = _PERCENT.fullmatch(given) if isinstance(given, str) else None
    if percent:
        number = float(percent[1])
        return f"{number:.12g}%" if 0 < number < _LARGEST else None
    moment = moment_of(given)
    return moment if isinstance(moment, timedelta) and moment > timedelta(0) else None


def _share(percent: str) -> float:
    return float(percent.removesuffix("%")) / 100


def _smallest(limits: Iterable[Limit]) -> Limits:
    """Return the smallest limit of each sort: numbers, durations, percentages."""
    smallest: dict[str, Limit] = {}
    for limit in limits:
        sort = "percentage" if isinstance(limit, str) else "duration" if isinstance(limit, timedelta) else "number"
        size = _share(limit) if isinstance(limit, str) else limit
        known = smallest.get(sort)
        if known is None or size < (_share(known) if isinstance(known, str) else known):  # type: ignore[operator]
            smallest[sort] = limit
    return tuple(smallest.values())
