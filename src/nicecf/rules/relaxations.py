"""Which rules a row could be without, and what the least is that would have to be relaxed of each.

Each rule is left out in turn, and the row tried again. What is offered in the end is the least that helps: not "let age
change", but "allow 'age' to increase".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from nicecf.models.decision import Panel
from nicecf.rules.columns import positions_of
from nicecf.rules.constraints import Constraints
from nicecf.rules.decision_rules import DECISION_RULES, DecisionRule
from nicecf.rules.kinds import KINDS
from nicecf.rules.kinds.kind import Candidate, Kind
from nicecf.support.phrases import Field, Statement, english
from nicecf.tables.schema import Schema


@dataclass(frozen=True, eq=False, repr=False)
class Relaxation:
    """What would have to be relaxed for a row to get a counterfactual, and what that one would be like.

    ``rule``: what blocks, in words; ``action``: what to allow instead. ``constraints``: all rules of the row, with this
    one relaxed; None where it is not a constraint that blocks. (Rules of the explainer still hold in its ``explain``:
    to relax one of those, make an explainer with these.) ``blocks``, ``instead`` and ``statement``: what blocks, what
    to allow, and all of it, as statements that can be worded in other languages.
    """

    blocks: Statement
    instead: Statement
    n_changes: int
    distance: float
    constraints: Constraints | None

    @property
    def rule(self) -> str:
        """What blocks, in English."""
        return english(self.blocks)

    @property
    def action(self) -> str:
        """What to allow instead, in English."""
        return english(self.instead)

    @property
    def statement(self) -> Statement:
        """What to allow instead, and what the row would get then."""
        fields: dict[str, Field] = {"action": self.instead, "distance": float(f"{self.distance:.2g}")}
        if self.instead.fields.get("count") == self.n_changes:  # it says how many changes there are
            return Statement("relaxation.offer_of_changes", fields)
        if self.n_changes == 1:
            return Statement("relaxation.offer_one", fields)
        return Statement("relaxation.offer", {**fields, "count": self.n_changes})

    def __getstate__(self) -> dict[str, Any]:
        """In a pickle, functions of derived columns are only named: a result can be stored without anybody's code."""
        rules = self.constraints
        return {**vars(self), "constraints": None if rules is None else rules.without_functions()}

    def __deepcopy__(self, memo: dict[int, object]) -> Relaxation:
        """The same: a copy within this process keeps the functions."""
        return self

    def __str__(self) -> str:
        """``allow 'age' to increase: 3 changes, distance 0.4``."""
        return english(self.statement)

    def __repr__(self) -> str:
        """Return what blocks and what to allow, in words, and the rest as it is, without rules on what is protected."""
        rules = self.constraints
        constraints = repr(rules) if rules is None or not rules.protected else "Constraints(...)"
        return (
            f"Relaxation(rule={self.rule!r}, action={self.action!r}, n_changes={self.n_changes!r}, "
            f"distance={self.distance!r}, constraints={constraints})"
        )


@dataclass(frozen=True, eq=False)
class Relaxable:
    """One rule that can be left out: its kind, and what it is about (a feature, a group, a limit, a model).

    ``constraints`` and ``panel`` are all rules but this one.
    """

    kind: Kind[Any] | DecisionRule
    about: Any
    constraints: Constraints
    panel: Panel

    @property
    def name(self) -> str:
        """The parameter, or the option, that the rule stands in."""
        return self.kind.name

    def less(self, rules: Constraints, found: Candidate) -> Constraints | None:
        """Return rules that are relaxed a little less than a candidate needs; None if there is nothing in between."""
        changes = self.kind.less(rules, self.about, found) if isinstance(self.kind, Kind) else None
        return None if changes is None else replace(rules, **changes)

    def relaxation(self, rules: Constraints, found: Candidate) -> Relaxation:
        """The least that must be relaxed for a candidate to be allowed; ``rules`` are all rules of its row."""
        instead, changes = self.kind.relax(rules, self.about, found)
        relaxed = None if changes is None else replace(rules, **changes)
        return Relaxation(self.kind.words(rules, self.about), instead, found.n_changes, found.distance, relaxed)


def relaxables(rules: Constraints, panel: Panel, schema: Schema) -> Iterator[Relaxable]:
    """Yield each rule that can be left out and names nothing protected, those of the decision last."""
    for kind, about in _nameable(rules, schema):
        rule = getattr(rules, kind.name)
        yield Relaxable(kind, about, replace(rules, **{kind.name: kind.without(rule, about)}), panel)
    for one in DECISION_RULES:
        for about in one.abouts(panel):
            yield Relaxable(one, about, rules, one.without(panel, about))


def statements_of(rules: Constraints, panel: Panel, schema: Schema) -> list[Statement]:
    """Return the rules of a row that name nothing protected, in the order of ``relaxables``."""
    of_changes = [kind.words(rules, about) for kind, about in _nameable(rules, schema)]
    return of_changes + [one.words(rules, about) for one in DECISION_RULES for about in one.abouts(panel)]


def nameable(rules: Constraints, schema: Schema) -> Constraints:
    """Return the rules without what is protected, and without each rule that names it."""
    named = list(_nameable(rules, schema))
    left = {kind.name: getattr(rules, kind.name) for kind in KINDS}
    for kind in KINDS:
        for about in kind.abouts(left[kind.name]):
            if (kind, about) not in named:
                left[kind.name] = kind.without(left[kind.name], about)
    return replace(rules, **{**left, "protected": ()})


def _nameable(rules: Constraints, schema: Schema) -> Iterator[tuple[Kind[Any], Any]]:
    """Yield each part of a rule that can be left out, and that names nothing protected."""
    protected = positions_of(rules.protected, schema, "protected")
    for kind in KINDS:
        for about in kind.abouts(getattr(rules, kind.name)):
            if not protected or protected.isdisjoint(positions_of(kind.features_of(about), schema, kind.name)):
                yield kind, about
