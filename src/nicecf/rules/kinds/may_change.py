"""``may_change=["notes"]``: columns that look like free text, and may change all the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nicecf.rules.columns import RuledRows
from nicecf.rules.kinds.kind import Candidate, FeatureList, Relaxed, check_may_change
from nicecf.rules.parameters import Feature
from nicecf.rules.row_rules import Meaning
from nicecf.support.phrases import Features, Statement
from nicecf.tables.schema import Schema

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints


def fixed_text(permitted: Sequence[Feature], schema: Schema) -> list[int]:
    """The positions of columns that look like free text, and are not permitted to change."""
    named = {schema.position(feature, "may_change") for feature in permitted}
    return [j for j, column in enumerate(schema.columns) if column.is_free_text and j not in named]


class MayChange(FeatureList):
    """What looks like free text belongs to one person: it is not handed to another unless it is named here."""

    name = "may_change"
    columns = ("may_change",)

    def merge(
        self, mine: tuple[Feature, ...], theirs: tuple[Feature, ...], fixed: Sequence[Feature]
    ) -> tuple[Feature, ...]:
        return tuple(one for one in dict.fromkeys([*mine, *theirs]) if one not in fixed)

    def check(self, rules: Constraints) -> None:
        check_may_change(rules, self.name)

    def abouts(self, rule: tuple[Feature, ...]) -> Iterable[Feature]:
        return ()  # it permits, and blocks nothing

    def without(self, rule: tuple[Feature, ...], about: Any) -> tuple[Feature, ...]:
        return rule

    def meaning(self, rule: tuple[Feature, ...], rows: RuledRows) -> Meaning:
        return Meaning(fixed=tuple(fixed_text(rule, rows.trained)))

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.may_change", {"features": Features((about,))})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        return self.words(rules, about), None
