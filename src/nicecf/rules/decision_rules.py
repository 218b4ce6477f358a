"""Rules of the decision: a margin (``min_probability``), and other models that must agree (``robust_to``).

They are options of the explainer, not of Constraints; what blocks a row may be one of them all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from nicecf.models.decision import Panel
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds.kind import Candidate, Relaxed
from nicecf.support.phrases import Probability, Statement


class DecisionRule(Protocol):
    """One kind of rule of the decision; ``name`` is the option of the explainer."""

    name: str

    def abouts(self, panel: Panel) -> Iterable[Any]:
        """What each part of the rule is about that can be left out by itself."""

    def without(self, panel: Panel, about: Any) -> Panel:
        """The models, with one part of the rule left out."""

    def words(self, rules: Constraints, about: Any) -> Statement:
        """One part of the rule."""

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """The least that must be relaxed of one part for a row to get the candidate; no parameter of Constraints."""


class MinProbability:
    """What the class of a counterfactual must have at least."""

    name = "min_probability"

    def abouts(self, panel: Panel) -> Iterable[float]:
        return () if panel.min_probability is None else (panel.min_probability,)

    def without(self, panel: Panel, about: Any) -> Panel:
        return replace(panel, min_probability=None)

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.min_probability", {"probability": Probability(about, is_exact=True)})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        return Statement("relaxation.min_probability", {"probability": found.margin}), None


class RobustTo:
    """Other models that must agree, each by its number."""

    name = "robust_to"

    def abouts(self, panel: Panel) -> Iterable[int]:
        return (number for number in range(1, len(panel.members)) if number not in panel.silent)

    def without(self, panel: Panel, about: Any) -> Panel:
        return panel.without(about)

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.robust_to", {"number": about})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        return Statement("relaxation.robust_to", {"number": about}), None


DECISION_RULES: tuple[DecisionRule, ...] = (MinProbability(), RobustTo())
