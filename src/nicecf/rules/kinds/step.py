"""``step={"loan_amount": 500}``: features that change by whole steps only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nicecf.exceptions import OptionError, plain
from nicecf.rules.columns import RuledRows, float_dtype
from nicecf.rules.kinds.kind import PerFeature
from nicecf.rules.parameters import Feature, Line
from nicecf.support.phrases import Features, Statement, Value
from nicecf.support.types import Bools, Floats, Ints, is_number

# How far a change may be from a whole number of steps, as a share of the values: decimal fractions are not exact.
_ROUNDING = 1e-9


class Step(PerFeature[float]):
    """The size of the steps by which a feature changes."""

    name = "step"
    columns = ("step",)

    def read_one(self, feature: Feature, given: Any) -> float:
        if not (is_number(given) and 0 < given < np.inf):
            raise OptionError(f"step has {given!r} for {feature!r}; it must be a number above 0.")
        return plain(given)  # type: ignore[return-value]  # a Python number

    def from_line(self, line: Line) -> Any:
        return line.get("step")

    def merge_one(self, feature: Feature, mine: float, theirs: float) -> float:
        larger, smaller = max(mine, theirs), min(mine, theirs)
        if not np.isclose(larger / smaller, np.round(larger / smaller), rtol=1e-9, atol=0):
            raise OptionError(
                f"{feature!r} has two steps, {mine!r} and {theirs!r}, and neither is a multiple of the other. Give one."
            )
        return larger

    def condition(self, feature: Feature, one: float, rows: RuledRows) -> InSteps:
        rows.check_numeric(feature, self.name)
        # Each end of a change may be half a unit of its last place away from what was meant.
        dtype = float_dtype(rows.trained, rows.position(feature, self.name))
        return InSteps(one, _ROUNDING + float(np.finfo(dtype).eps))

    def words_of(self, feature: Feature, one: float) -> Statement:
        return Statement("rule.step", {"feature": Features((feature,)), "step": Value(one)})


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
