"""``forbid={"education": [("college", "school")]}``: changes of a feature that are not possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.rules.columns import NOTHING, RuledRows, encoded, float_dtype
from nicecf.rules.kinds.kind import Candidate, PerFeature, Relaxed
from nicecf.rules.moments import plain_text
from nicecf.rules.parameters import Feature, Line, are_alike, distinct, in_cell, is_list, is_pair, value_of
from nicecf.support.phrases import Features, Statement, Value, Values
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.cells import nearest_held
from nicecf.tables.schema import Schema, differs

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

# Changes (before, after).
Pairs: TypeAlias = tuple[tuple[Any, Any], ...]


class Forbid(PerFeature[Pairs]):
    """Changes of a feature that are not possible."""

    name = "forbid"
    columns = ("forbid",)

    def read_one(self, feature: Feature, given: Any) -> Pairs:
        if not is_list(given):
            raise OptionError(f"forbid has {given!r} for {feature!r}; pass a list of pairs (before, after).")
        pairs = distinct(self._pair(feature, pair) for pair in given)
        if not pairs:
            raise OptionError(f"forbid names no change of {feature!r}. Leave it out.")
        return pairs

    def _pair(self, feature: Feature, given: Any) -> tuple[Any, Any]:
        if not is_pair(given):
            raise OptionError(f"forbid has {given!r} for {feature!r}; pass pairs (before, after).")
        before, after = (value_of(self.name, feature, value) for value in given)
        if are_alike(before, after):
            raise OptionError(
                f"forbid has ({before!r}, {after!r}) for {feature!r}: to stay is not a change, and always allowed."
            )
        return before, after

    def plain_one(self, one: Pairs) -> list[list[Any]]:
        return [[plain_text(value) for value in pair] for pair in one]

    def from_line(self, line: Line) -> Any:
        given = line.get("forbid")
        if not isinstance(given, str):
            return given
        pairs = [tuple(part.strip() for part in pair.split(">")) for pair in in_cell(given)]
        if any(len(pair) != 2 for pair in pairs):
            raise OptionError(
                f"forbid is {given!r} for {line['feature']!r}; write before > after, with | between pairs."
            )
        return pairs

    def merge_one(self, feature: Feature, mine: Pairs, theirs: Pairs) -> Pairs:
        # In a record, or a file, a date is text.
        return distinct([*mine, *(pair for pair in theirs if not any(_are_alike(pair, one) for one in mine))])

    def condition(self, feature: Feature, one: Pairs, rows: RuledRows) -> NotFromTo:
        j = rows.position(feature, self.name)
        before = np.array([rows.own_value(value, j, self.name) for value, _ in one])
        after = np.array([rows.new_value(value, j, self.name) for _, value in one])
        return NotFromTo(before, after, float_dtype(rows.trained, j))

    def words_of(self, feature: Feature, one: Pairs) -> Statement:
        changes = tuple(
            Statement("rule.forbid_change", {"before": Value(before), "after": Value(after)}) for before, after in one
        )
        return Statement("rule.forbid", {"feature": Features((feature,)), "changes": Values(changes)})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """The change of the candidate is possible; all others of the feature remain forbidden."""
        others = [pair for pair in rules.forbid[about] if not found.is_change(about, pair)]
        forbidden = {**rules.forbid, about: others}
        return found.allowed(about), {self.name: {one: pairs for one, pairs in forbidden.items() if pairs}}


@dataclass(frozen=True, eq=False)
class NotFromTo:
    """Not from one value to another, both as a column of ``dtype`` holds them; a row may hold its own more exactly."""

    before: Floats
    after: Floats
    dtype: np.dtype[Any]

    @property
    def is_interval(self) -> bool:
        return False

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        row = nearest_held(row, self.dtype)
        is_allowed = np.ones(np.broadcast_shapes(row.shape, new.shape), dtype=bool)
        for before, after in zip(self.before, self.after, strict=True):
            is_allowed &= differs(row, before) | differs(new, after)
        return is_allowed

    def take(self, lines: Ints) -> NotFromTo:
        return self


def forbids(pair: tuple[Any, Any], schema: Schema, j: int, before: float, after: float) -> bool:
    """Whether a pair (before, after) of a rule means the change of column ``j`` between two encoded values."""
    codes = [encoded(value, schema, j, "forbid") for value in pair]
    first, last = (np.array([NOTHING if code is None else code]) for code in codes)
    rule = NotFromTo(first, last, float_dtype(schema, j))
    return not rule.allows(np.zeros(1, dtype=np.intp), np.array([before]), np.array([after]))[0]


def _are_alike(pair: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return all(are_alike(plain_text(one), plain_text(another)) for one, another in zip(pair, other, strict=True))
