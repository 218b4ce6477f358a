"""Which rules are in conflict, where it is proven that a row has no counterfactual under all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nicecf.models.decision import Panel
from nicecf.rules.constraints import Constraints
from nicecf.rules.parts import Part
from nicecf.rules.reading import rules_of
from nicecf.rules.relaxations import Relaxable, nameable, relaxables
from nicecf.search.exact import Exact
from nicecf.search.question import Question
from nicecf.support.phrases import Statement

# Rules that are left out one after the other; with more of them, all are named.
_MOST_RULES = 64


def conflict(question: Question, line: int, part: Part, search: Exact) -> list[Statement]:
    """Rules that cannot be kept together, none of which could be missing; none, if it is not the rules.

    Rules are left out one by one, and stay out if there is still no counterfactual without them.
    """
    constraints, schema = part.constraints.for_row(int(np.searchsorted(part.lines, line))), question.trained.full
    panel, kept = question.panel, 0
    if constraints.protected:
        # What may not be named is left out first, all at once: then what is named does not depend on it.
        named = nameable(constraints, schema)
        if _is_infeasible(question, line, named, panel, search):
            constraints = named
    # Terminates: every turn leaves a rule out, or keeps one more.
    while kept < _MOST_RULES:
        rules = list(relaxables(constraints, panel, schema))
        if kept >= len(rules):
            break
        without = rules[kept]
        if _is_infeasible(question, line, without.constraints, without.panel, search):
            constraints, panel = without.constraints, without.panel
        else:
            kept += 1
    unnamed = [Statement("rule.protected")] if constraints.protected else []
    return [_words(one, constraints) for one in relaxables(constraints, panel, schema)] + unnamed


def _words(rule: Relaxable, constraints: Constraints) -> Statement:
    return rule.kind.words(constraints, rule.about)


def _is_infeasible(question: Question, line: int, constraints: Constraints, panel: Panel, search: Exact) -> bool:
    row = question.take(np.array([line]))
    rules = rules_of(constraints, row.schema, row.rows, trained=row.trained, is_checked=True, given=row.given)
    return search.is_infeasible(replace(row, rules=rules, panel=panel), 0)
