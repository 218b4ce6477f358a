"""``allowed={"housing": ["owned"]}``: what a feature may change to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.rules.columns import RuledRows
from nicecf.rules.kinds.kind import Candidate, PerFeature, Relaxed
from nicecf.rules.moments import plain_text
from nicecf.rules.parameters import Feature, Line, are_alike, distinct, in_cell, is_list, value_of
from nicecf.support.phrases import Features, Statement, Values
from nicecf.support.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

AllowedValues: TypeAlias = tuple[Any, ...]


class Allowed(PerFeature[AllowedValues]):
    """What a feature may change to; None: it may become missing."""

    name = "allowed"
    columns = ("allowed",)

    def read_one(self, feature: Feature, given: Any) -> AllowedValues:
        if not is_list(given):
            raise OptionError(f"allowed has {given!r} for {feature!r}; pass a list of values.")
        values = distinct(value_of(self.name, feature, value) for value in given)
        if not values:
            raise OptionError(f"allowed names no value for {feature!r}. A feature that may not change is immutable.")
        return values

    def plain_one(self, one: AllowedValues) -> list[Any]:
        return [plain_text(value) for value in one]

    def from_line(self, line: Line) -> Any:
        return in_cell(line["allowed"]) if "allowed" in line else None

    def merge_one(self, feature: Feature, mine: AllowedValues, theirs: AllowedValues) -> AllowedValues:
        # In a record, or a file, a date is text.
        others = [plain_text(other) for other in theirs]
        return tuple(value for value in mine if any(are_alike(plain_text(value), other) for other in others))

    def conflict(self, feature: Feature, mine: AllowedValues, theirs: AllowedValues) -> int | None:
        return None if self.merge_one(feature, mine, theirs) else 0

    def condition(self, feature: Feature, one: AllowedValues, rows: RuledRows) -> Among:
        j = rows.position(feature, self.name)
        return Among(np.array([rows.new_value(value, j, self.name) for value in one]))

    def words_of(self, feature: Feature, one: AllowedValues) -> Statement:
        return Statement("rule.allowed", {"feature": Features((feature,)), "values": Values(one)})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """The value of the candidate is allowed too."""
        _, after, _ = found.change(about)
        return found.allowed(about), {self.name: {**rules.allowed, about: [*rules.allowed[about], after]}}


@dataclass(frozen=True, eq=False)
class Among:
    """One of some values."""

    values: Floats

    @property
    def is_interval(self) -> bool:
        return False

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        is_missing = np.isnan(new) & np.isnan(self.values).any()
        return np.broadcast_to(np.isin(new, self.values) | is_missing, np.broadcast_shapes(row.shape, new.shape))

    def take(self, lines: Ints) -> Among:
        return self
