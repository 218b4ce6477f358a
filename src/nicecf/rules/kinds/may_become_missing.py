"""``may_become_missing=False``: what a row has may change, but is not lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.rules.columns import RuledRows
from nicecf.rules.kinds.kind import Candidate, Kind, Relaxed
from nicecf.rules.parameters import Feature, Line
from nicecf.rules.row_rules import Meaning
from nicecf.support.phrases import Statement
from nicecf.support.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints


class MayBecomeMissing(Kind[bool]):
    """Whether a feature may change to a missing value."""

    name = "may_become_missing"

    def read(self, given: Any) -> bool:
        if not isinstance(given, (bool, np.bool_)):
            raise OptionError(f"may_become_missing must be True or False, got {given!r}.")
        return bool(given)

    def to_plain(self, rule: bool) -> bool | None:
        return None if rule else False

    def from_sheet(self, lines: Sequence[Line]) -> bool:
        """No line can say it: each is about one feature."""
        return True

    def merge(self, mine: bool, theirs: bool, fixed: Sequence[Feature]) -> bool:
        return mine and theirs

    def abouts(self, rule: bool) -> Iterable[str]:
        return () if rule else (self.name,)

    def features_of(self, about: Any) -> Iterable[Feature]:
        return ()

    def without(self, rule: bool, about: Any) -> bool:
        return True

    def meaning(self, rule: bool, rows: RuledRows) -> Meaning:
        if rule:
            return Meaning()
        return Meaning(conditions=tuple((j, _PRESENT[one]) for j, one in enumerate(rows.schema.by_equality.tolist())))

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.may_become_missing")

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        return Statement("relaxation.may_become_missing"), {self.name: True}


@dataclass(frozen=True)
class Present:
    """A value that is not missing; ``by_code``: of a category, where -1 is missing."""

    by_code: bool

    @property
    def is_interval(self) -> bool:
        return True

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        is_there = new >= 0 if self.by_code else ~np.isnan(new)
        return np.asarray(np.broadcast_to(is_there, np.broadcast_shapes(row.shape, new.shape)))

    def take(self, lines: Ints) -> Present:
        return self


_PRESENT = {True: Present(True), False: Present(False)}
