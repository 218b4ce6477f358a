"""``increasing=["age"]``, ``decreasing=[...]``: features that change in one direction, of categories by an order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError, did_you_mean, listed
from nicecf.rules.columns import RuledRows, code_of
from nicecf.rules.kinds.kind import Candidate, Contradiction, PerFeature, Relaxed
from nicecf.rules.kinds.ranges import Between
from nicecf.rules.parameters import Feature, Line, distinct, features, in_cell, is_list, value_of
from nicecf.rules.row_rules import Condition
from nicecf.support.phrases import Features, Statement, Values
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.column import Column
from nicecf.tables.ordered import codes_of

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

# The values of a categorical feature from low to high; None where its numbers, or its dtype, have an order.
Order: TypeAlias = tuple[Any, ...] | None

# What people call the directions of dates.
_OF_DATES: Mapping[Any, str] = {"later": "increasing", "earlier": "decreasing"}


def of_dates(one: Statement, is_date: Callable[[Feature], bool]) -> Statement:
    """A statement about a direction as one of dates, if it is about one: later for increasing."""
    section, _, direction = one.phrase.partition(".")
    word = {increase: word for word, increase in _OF_DATES.items()}.get(direction)
    feature = one.fields.get("feature")
    if word is None or not isinstance(feature, Features) or not is_date(feature.names[0]):
        return one
    return replace(one, phrase=f"{section}.{word}")


class OneWay(PerFeature[Order]):
    """Features that change in one direction only."""

    columns = ("direction", "order")

    def __init__(self, name: Literal["increasing", "decreasing"]) -> None:
        self.name = name
        self._opposite = "decreasing" if name == "increasing" else "increasing"

    def read(self, given: Any) -> dict[Feature, Order]:
        return super().read(given if isinstance(given, Mapping) else dict.fromkeys(features(self.name, given)))

    def read_one(self, feature: Feature, given: Any) -> Order:
        if given is None or given is True:
            return None
        if not is_list(given):
            raise OptionError(
                f"{self.name} has {given!r} for {feature!r}; pass the values from low to high, as a list."
            )
        values = tuple(value_of(self.name, feature, value) for value in given)
        if len(values) < 2 or len(distinct(values)) < len(values):
            raise OptionError(
                f"{self.name} has the order {list(values)!r} for {feature!r}; it needs at least two values, each of "
                "them once."
            )
        return values

    def to_plain(self, rule: dict[Feature, Order]) -> Any:
        return list(rule) if all(order is None for order in rule.values()) else super().to_plain(rule)

    def plain_one(self, one: Order) -> Any:
        return True if one is None else list(one)

    def from_line(self, line: Line) -> Any:
        feature, direction = line["feature"], line.get("direction")
        direction = _OF_DATES.get(direction, direction)
        if direction not in ("increasing", "decreasing", None):
            raise OptionError(
                f"direction is {direction!r} for {feature!r}; write 'increasing' or 'decreasing' (of dates, 'later' or "
                "'earlier' as well)."
            )
        if direction is None and "order" in line:
            raise OptionError(f"{feature!r} has an order but no direction; write 'increasing' or 'decreasing'.")
        if direction != self.name:
            return None
        return in_cell(line["order"]) if "order" in line else True

    def merge_one(self, feature: Feature, mine: Order, theirs: Order) -> Order:
        return theirs if mine is None else mine

    def check(self, rules: Constraints) -> None:
        both = [one for one in rules.increasing if one in rules.decreasing]
        if both:
            raise OptionError(
                f"{listed(both)} is in increasing and in decreasing. Name it in one of them; if it may not change at "
                "all, make it immutable."
            )
        super().check(rules)

    def contradictions(self, mine: Constraints, theirs: Constraints) -> Iterable[Contradiction]:
        same, opposite = getattr(theirs, self.name), getattr(theirs, self._opposite)
        for feature, order in getattr(mine, self.name).items():
            who, other = Features((feature,)), same.get(feature)
            if feature in opposite:
                names = self.name, self._opposite
                first, last = (Statement(f"rule.{name}", {"feature": who}) for name in names)
                yield Contradiction(feature, (first, last))
            elif order is not None and other is not None and order != other:
                first, last = (
                    Statement("rule.order", {"feature": who, "values": Values(one)}) for one in (order, other)
                )
                yield Contradiction(feature, (first, last))

    def condition(self, feature: Feature, one: Order, rows: RuledRows) -> Condition:
        j = rows.position(feature, self.name)
        column, own = rows.schema.columns[j], rows.rows[:, j]
        if column.is_ordinal and one is None:
            return self._from(own)
        if column.is_categorical:
            ranks = self._ranks(feature, one, column, rows)
            return Ranked(ranks, self._from(ranks[codes_of(own)]))
        if one is not None:
            raise OptionError(
                f"{self.name} gives an order for {feature!r}, which is numeric: its numbers are in order already."
            )
        return self._from(own)

    def _from(self, own: Floats) -> Between:
        anything = np.full(len(own), np.inf)
        return Between(own, anything) if self.name == "increasing" else Between(-anything, own)

    def _ranks(self, feature: Feature, order: Order, column: Column, rows: RuledRows) -> Floats:
        """Return the rank of each code; NaN for a level that the order leaves out, and for a missing value.

        Whether a change from or to one of these goes up or down cannot be told, so that it is not allowed.
        """
        if order is None and (ordered := rows.schema.container.ordered(column.prototype)) is not None:
            order = tuple(ordered[1])
        if order is None:
            raise OptionError(
                f"{self.name} names {feature!r}, which is categorical and has no order. Give one: "
                f"{self.name}={{{feature!r}: [{listed(column.told_levels, limit=3)}, ...]}}, from low to high."
            )
        if not rows.is_checked:
            self._check_levels(feature, order, rows.trained.columns[rows.position(feature, self.name)])
        ranks = np.full(len(column.levels) + 1, np.nan)
        for rank, value in enumerate(order):
            code = code_of(value, column)
            if code is not None:  # an order may name values that no row has
                ranks[code] = rank
        return ranks

    def _check_levels(self, feature: Feature, order: tuple[Any, ...], trained: Column) -> None:
        """Raise OptionError if the order names an unknown level and leaves out a known one: it may mean that one.

        Levels that too few training rows hold (``min_count``) are as unknown as those that no row holds.
        """
        codes = [code_of(value, trained) for value in order]
        levels = {trained.code(level): level for level in trained.told_levels}
        unknown = [value for value, code in zip(order, codes, strict=True) if code not in levels and value is not None]
        left_out = [level for code, level in levels.items() if code not in codes]
        if unknown and left_out:
            raise OptionError(
                f"{self.name} gives an order of {feature!r} with {listed(unknown)}, which no training row has"
                f"{'' if trained.common is None else ' (or too few: min_count)'}, and without {listed(left_out)}. Name "
                "levels of the table; one that is left out has no order, and neither changes nor is changed to."
                f"{did_you_mean(unknown[0], left_out)}"
            )

    def words_of(self, feature: Feature, one: Order) -> Statement:
        return Statement(f"rule.{self.name}", {"feature": Features((feature,))})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        instead, changes = super().relax(rules, about, found)
        if found.direction(about) is not None:
            instead = Statement(f"relaxation.{self._opposite}", {"feature": Features((about,))})
        return instead, changes


@dataclass(frozen=True, eq=False)
class Ranked:
    """Between bounds that are ranks; ``ranks`` are those of all codes, NaN for what has none: it is not allowed."""

    ranks: Floats
    within: Between

    @property
    def is_interval(self) -> bool:
        return False

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        return self.within.allows(lines, row, self.ranks[codes_of(new)])

    def take(self, lines: Ints) -> Ranked:
        return Ranked(self.ranks, self.within.take(lines))
