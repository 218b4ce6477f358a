"""``max_changes=3``: how many features may change at most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.rules.columns import RuledRows
from nicecf.rules.kinds.kind import Candidate, Kind, Relaxed
from nicecf.rules.parameters import Feature, Line
from nicecf.rules.row_rules import Meaning
from nicecf.support.phrases import Statement

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints


class MaxChanges(Kind[int | None]):
    """How many features may change at most; None for no limit."""

    name = "max_changes"

    def read(self, given: Any) -> int | None:
        if given is None:
            return None
        if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < 1:
            raise OptionError(f"max_changes must be a whole number of at least 1, or None for no limit, got {given!r}.")
        return int(given)

    def to_plain(self, rule: int | None) -> int | None:
        return rule

    def from_sheet(self, lines: Sequence[Line]) -> None:
        """No line can say it: each is about one feature."""
        return None

    def merge(self, mine: int | None, theirs: int | None, fixed: Sequence[Feature]) -> int | None:
        return min((limit for limit in (mine, theirs) if limit is not None), default=None)

    def abouts(self, rule: int | None) -> Iterable[int]:
        return () if rule is None else (rule,)

    def features_of(self, about: Any) -> Iterable[Feature]:
        return ()

    def without(self, rule: int | None, about: Any) -> None:
        return None

    def meaning(self, rule: int | None, rows: RuledRows) -> Meaning:
        return Meaning(max_changes=rule)

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.max_changes_one") if about == 1 else Statement("rule.max_changes", {"count": about})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """As many changes are allowed as the candidate has."""
        return Statement("relaxation.max_changes", {"count": found.n_changes}), {self.name: found.n_changes}

    def less(self, rules: Constraints, about: Any, found: Candidate) -> dict[str, Any] | None:
        """Return a limit of one change fewer."""
        return {self.name: found.n_changes - 1} if found.n_changes > about else None
