"""All that a training table suggests, of every kind, in the order of the file; certain rules do not contradict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nicecf.rules.parameters import Feature
from nicecf.rules.suggestions.auto_groups import groups_of
from nicecf.rules.suggestions.by_name import one_way, protected
from nicecf.rules.suggestions.dates import calendar_groups, durations
from nicecf.rules.suggestions.derived import derived_columns
from nicecf.rules.suggestions.identifiers import identifiers
from nicecf.rules.suggestions.never_missing import never_missing
from nicecf.rules.suggestions.orders import orders
from nicecf.rules.suggestions.relations import relations
from nicecf.rules.suggestions.steps import steps
from nicecf.rules.suggestions.suggestion import Suggestion
from nicecf.rules.suggestions.table_facts import TableFacts
from nicecf.support.types import Table


def suggestions_of(X: Table, *, categorical_features: Any = "auto") -> tuple[Suggestion, ...]:
    """The rules that a training table, without its label, suggests; see `to_toml` for a file of them.

    Raises SchemaError for a table that ``fit`` would not take.

    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [30, 40, 50], "page": [1, 2, 3]})
    >>> [(one.kind, one.toml, one.is_certain) for one in suggestions_of(X) if one.section]
    [('protected', '"age"', True), ('one_way', '"age"', False)]
    """
    return findings(TableFacts.of(X, categorical_features))


def findings(facts: TableFacts) -> tuple[Suggestion, ...]:
    """All that is found in a table.

    Those that are certain do not contradict each other: `Constraints` takes them all. A guess may contradict others,
    as only one of them can be right.
    """
    lasting = durations(facts)
    of_dates = {one.features[0] for one in lasting}
    derived = [*lasting, *(one for one in derived_columns(facts) if one.features[0] not in of_dates)]
    # A guess is no rule until somebody says so: until then, its column is like any other.
    computed = {one.features[0] for one in derived if one.is_certain}
    maybe_computed = {one.features[0] for one in derived}
    ids = [one for one in identifiers(facts) if one.features[0] not in maybe_computed]
    known_ids = {one.features[0] for one in ids if one.is_certain}
    groups = groups_of(facts, computed=computed)
    by_name = [one for one in protected(facts, [one.features for one in groups]) if not computed & set(one.features)]
    never_change = _once([*by_name, *ids])
    fixed = {feature for one in never_change if one.is_certain for feature in one.features}
    taken = computed.union(*(one.features for one in groups))
    groups += [one for one in calendar_groups(facts) if not taken & set(one.features)]
    groups = [one for one in groups if not set(one.features) <= fixed]
    tied = [frozenset(one.features) for one in [*derived, *groups] if one not in lasting]
    return (
        *never_missing(facts),
        *never_change,
        *_directions(facts, fixed - known_ids, without=known_ids | computed),
        *(one for one in orders(facts) if one.features[0] not in fixed | computed),
        *groups,
        *(one for one in relations(facts, known=tied) if not known_ids & set(one.features)),
        *(one for one in steps(facts) if one.features[0] not in fixed | maybe_computed),
        *derived,
    )


def _once(never_change: Sequence[Suggestion]) -> list[Suggestion]:
    """Return each feature once, with all that was seen of it; what is certain wins, and then what comes first."""
    of: dict[tuple[Feature, ...], Suggestion] = {}
    for one in never_change:
        first = of.setdefault(one.features, one)
        if first is not one:
            wins = one if one.is_certain and not first.is_certain else first
            of[one.features] = replace(wins, seen=f"{first.seen}; {one.seen}")
    return list(of.values())


def _directions(facts: TableFacts, fixed: set[Feature], *, without: set[Feature]) -> list[Suggestion]:
    """The directions, all of them guesses; what is ``fixed`` by its name would have to leave that list first."""
    found = [one for one in one_way(facts) if one.features[0] not in without]
    return [
        replace(one, seen=f"{one.seen}; take it out of protected first") if one.features[0] in fixed else one
        for one in found
    ]
