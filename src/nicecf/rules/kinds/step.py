"""``step={"loan_amount": 500}``: features that change by whole steps only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError, plain
from nicecf.rules.columns import RuledRows, float_dtype
from nicecf.rules.kinds.kind import PerFeature
from nicecf.rules.moments import moment_of, number_of_cell, plain_text
from nicecf.rules.parameters import Feature, Line
from nicecf.support.phrases import Features, Statement, Value
from nicecf.support.types import Bools, Floats, Ints, is_number
from nicecf.tables.temporal import Temporal

# How far a change may be from a whole number of steps, as a share of the values: decimal fractions are not exact.
_ROUNDING = 1e-9


Size: TypeAlias = float | timedelta


class Step(PerFeature[Size]):
    """The size of the steps by which a feature changes: a number, or, of dates and durations, a duration."""

    name = "step"
    columns = ("step",)

    def read_one(self, feature: Feature, given: Any) -> Size:
        moment = moment_of(given)
        if isinstance(moment, timedelta) and moment > timedelta(0):
            return moment
        if not (is_number(given) and 0 < given < np.inf):
            raise OptionError(
                f"step has {given!r} for {feature!r}; it must be a number above 0 or, for dates and durations, a "
                "duration such as '30 days'."
            )
        return plain(given)  # type: ignore[return-value]  # a Python number

    def plain_one(self, one: Size) -> Any:
        return plain_text(one)

    def from_line(self, line: Line) -> Any:
        return number_of_cell(line.get("step"))

    def merge_one(self, feature: Feature, mine: Size, theirs: Size) -> Size:
        return mine if _ratio(mine, theirs) >= 1 else theirs

    def conflict(self, feature: Feature, mine: Size, theirs: Size) -> int | None:
        ratio = max(_ratio(mine, theirs), _ratio(theirs, mine))
        is_multiple = np.isclose(ratio, np.round(ratio), rtol=1e-9, atol=0)
        return None if is_multiple else 0

    def condition(self, feature: Feature, one: Size, rows: RuledRows) -> InSteps:
        rows.check_numeric(feature, self.name)
        j = rows.position(feature, self.name)
        step = number_of_size(self.name, feature, one, rows.trained.columns[j].temporal)
        if isinstance(one, timedelta):
            return InSteps(step, 0.0)
        # Each end of a change may be half a unit of its last place away from what was meant.
        return InSteps(step, _ROUNDING + float(np.finfo(float_dtype(rows.trained, j)).eps))

    def words_of(self, feature: Feature, one: Size) -> Statement:
        return Statement("rule.step", {"feature": Features((feature,)), "step": Value(one)})


def number_of_size(option: str, feature: Feature, size: Size, temporal: Temporal | None) -> float:
    """Return the size of a change as its column holds numbers; OptionError unless it is of dates a duration."""
    if isinstance(size, timedelta) != (temporal is not None):
        need = "a number" if temporal is None else "a duration, such as '30 days'"
        holds = "numbers" if temporal is None else temporal.words
        raise OptionError(f"{option} has {plain_text(size)!r} for {feature!r}, a column of {holds}; write {need}.")
    return Temporal.duration(size) if isinstance(size, timedelta) else size


def _ratio(one: Size, other: Size) -> float:
    """How many times the other fits into one; no number of times if only one of them is a duration."""
    if isinstance(one, timedelta) and isinstance(other, timedelta):
        return one / other
    return np.nan if isinstance(one, timedelta) or isinstance(other, timedelta) else one / other


@dataclass(frozen=True, eq=False)
class InSteps:
    """A whole number of steps away."""

    step: float
    rounding: float

    @property
    def is_interval(self) -> bool:
        return False

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that are too small to count
            steps = np.round((new - row) / self.step)
            away = np.abs(new - row - steps * self.step)
        return away <= self.rounding * np.maximum(np.abs(new), np.abs(row))

    def take(self, lines: Ints) -> InSteps:
        return self
