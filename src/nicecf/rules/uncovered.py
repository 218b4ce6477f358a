"""What the training table shows without a doubt, and no rule says: a fit warns of it, once."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Sequence

import numpy as np

from nicecf.exceptions import RulesWarning, listed
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds.groups import AUTO, own_groups
from nicecf.rules.parameters import Feature
from nicecf.rules.suggestions import Suggestion, TableFacts, certain_findings
from nicecf.support.types import Floats
from nicecf.tables.schema import Schema
from nicecf.tables.seen import OneHotGroup

# More findings are not named one by one.
_MOST_NAMED = 3
# What a million rows show is looked for in no more: of a table that is not in memory, much would be copied.
_MOST_ROWS = 1_000_000


def facts_of(schema: Schema, values: Floats) -> TableFacts:
    """Return what is looked at of a training table."""
    return TableFacts.of_rows(schema, values).sample(_MOST_ROWS)


def one_hot_in(found: Sequence[Suggestion], schema: Schema, values: Floats) -> tuple[OneHotGroup, ...]:
    """Return the one-hot groups that are certain, as far as all training rows agree with them."""
    names = {name: j for j, name in enumerate(schema.names)}
    positions = [np.array([names[one] for one in group.features]) for group in found if group.is_certain]
    groups = (OneHotGroup.of(columns, values, schema) for columns in positions)
    return tuple(group for group in groups if group is not None)


def warn_of_uncovered(facts: TableFacts, one_hot: Sequence[Suggestion], constraints: Constraints | None) -> None:
    """Warn, in one message with the line to add, of columns that follow from others without a rule that says so."""
    rules = constraints or Constraints()
    found = [one for one in certain_findings(facts, one_hot) if not _is_covered(one, rules)]
    if not found:
        return
    named = [f"{listed(one.features)} ({one.seen})" for one in found[:_MOST_NAMED]]
    more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    warnings.warn(
        f"no rule says what follows from what in this table, so that counterfactuals may contradict themselves: "
        f"{'; '.join(named)}{more}. Pass NICE(..., constraints={_rules_for(found)}), or silence this "
        "RulesWarning. nicecf.suggest_rules(X), or nicecf rules on the command line, suggests more.",
        RulesWarning,
        stacklevel=4,
    )


def _is_covered(found: Suggestion, rules: Constraints) -> bool:
    if set(found.features) <= {*rules.immutable, *rules.protected}:
        return True
    if found.kind == "derived":
        return found.features[0] in rules.derived
    left = set(found.features) - set(rules.derived)
    return AUTO in rules.groups or len(left) < 2 or any(left <= set(group) for group in own_groups(rules.groups))


def _rules_for(found: Sequence[Suggestion]) -> Constraints:
    lines = [tomllib.loads(one.toml) for one in found if one.kind == "derived"]
    derived: dict[Feature, str] = {feature: how for line in lines for feature, how in line.items()}
    return Constraints(derived=derived, groups=AUTO if any(one.kind != "derived" for one in found) else ())
