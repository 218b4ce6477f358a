"""``immutable=["tenure"]``: features that never change; ``protected=["sex"]``: nor are they named to a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nicecf.rules.columns import RuledRows
from nicecf.rules.kinds.kind import Candidate, FeatureList, Relaxed
from nicecf.rules.parameters import Feature
from nicecf.rules.row_rules import Meaning
from nicecf.support.phrases import Features, Statement

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints


class Immutable(FeatureList):
    """Features that never change."""

    name = "immutable"
    columns = ("immutable",)

    def merge(
        self, mine: tuple[Feature, ...], theirs: tuple[Feature, ...], fixed: Sequence[Feature]
    ) -> tuple[Feature, ...]:
        return tuple(fixed)

    def abouts(self, rule: tuple[Feature, ...]) -> Iterable[Feature]:
        return rule

    def without(self, rule: tuple[Feature, ...], about: Any) -> tuple[Feature, ...]:
        return tuple(feature for feature in rule if feature != about)

    def meaning(self, rule: tuple[Feature, ...], rows: RuledRows) -> Meaning:
        return Meaning(fixed=tuple(rows.position(feature, self.name) for feature in rule))

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.immutable", {"feature": Features((about,))})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """A number may change in the direction of the candidate, a category to its value."""
        changes: dict[str, Any] = {self.name: self.without(tuple(rules.immutable), about)}
        direction = found.direction(about)
        if direction is None:
            _, after, _ = found.change(about)
            return found.allowed(about), {**changes, "allowed": {**rules.allowed, about: [after]}}
        one_way = {**getattr(rules, direction), about: None}
        return Statement(f"relaxation.{direction}", {"feature": Features((about,))}), {**changes, direction: one_way}


class Protected(Immutable):
    """Features that never change, and that no text, letter, reason or relaxation names."""

    name = "protected"
    columns = ("protected",)

    def merge(
        self, mine: tuple[Feature, ...], theirs: tuple[Feature, ...], fixed: Sequence[Feature]
    ) -> tuple[Feature, ...]:
        return tuple(dict.fromkeys([*mine, *theirs]))

    def abouts(self, rule: tuple[Feature, ...]) -> Iterable[Feature]:
        return ()  # to relax one would name it

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.protected")
