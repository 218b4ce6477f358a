"""Rules that a training table suggests, for a person to read and edit: one file for each kind of finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from nicecf.rules.kinds.groups import joined_groups
from nicecf.rules.parameters import Feature
from nicecf.rules.suggestions.by_name import one_way, protected
from nicecf.rules.suggestions.derived import derived_columns
from nicecf.rules.suggestions.identifiers import identifiers
from nicecf.rules.suggestions.never_missing import never_missing
from nicecf.rules.suggestions.one_hot import one_hot_groups
from nicecf.rules.suggestions.relations import relations
from nicecf.rules.suggestions.steps import steps
from nicecf.rules.suggestions.suggestion import Suggestion, suggest_group
from nicecf.rules.suggestions.table_facts import TableFacts
from nicecf.rules.suggestions.toml_writer import to_toml
from nicecf.rules.suggestions.twins import twins
from nicecf.support.types import Table

__all__ = ["Suggestion", "suggestions_of", "to_toml"]


def suggestions_of(X: Table, *, categorical_features: Any = "auto") -> tuple[Suggestion, ...]:
    """The rules that a training table, without its label, suggests; see `to_toml` for a file of them.

    Those that are certain do not contradict each other: `Constraints` takes them all. A guess may contradict others,
    as only one of them can be right. Raises SchemaError for a table that ``fit`` would not take.

    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [30, 40, 50], "page": [1, 2, 3]})
    >>> [(one.kind, one.toml, one.is_certain) for one in suggestions_of(X) if one.section]
    [('protected', '"age"', False), ('one_way', '"age"', False)]
    """
    facts = TableFacts.of(X, categorical_features)
    derived = derived_columns(facts)
    computed = {one.features[0] for one in derived}
    # A copy of a column, times something, needs no group if it is computed.
    pairs = [one for one in twins(facts) if len(set(one.features) - computed) > 1]
    immutable = [one for one in identifiers(facts) if one.features[0] not in computed]
    fixed = {one.features[0] for one in immutable if one.is_certain}
    groups = [one for one in _joined([*one_hot_groups(facts), *pairs]) if not set(one.features) <= fixed]
    tied = [frozenset(one.features) for one in [*derived, *groups]]
    found = [
        *_once([*immutable, *protected(facts, [one.features for one in groups])]),
        *(one for one in one_way(facts) if one.features[0] not in fixed),
        *groups,
        *(one for one in relations(facts, known=tied) if not fixed & set(one.features)),
        *(one for one in steps(facts) if one.features[0] not in fixed | computed),
        *derived,
    ]
    return (*never_missing(facts), *found)


def auto_groups(
    X: Table, *, categorical_features: Any = "auto", computed: Iterable[Feature] = ()
) -> list[tuple[str, tuple[Feature, ...]]]:
    """The certain one-hot groups and twins."""
    facts = TableFacts.of(X, categorical_features)
    left = set(computed)
    found = [one for one in [*one_hot_groups(facts), *twins(facts)] if one.is_certain and not left & set(one.features)]
    return [(one.kind, one.features) for one in _joined(found)]


def _once(immutable: Sequence[Suggestion]) -> list[Suggestion]:
    """Each feature once, with all that was seen of it; what is certain wins."""
    of: dict[tuple[Feature, ...], Suggestion] = {}
    for one in immutable:
        first = of.setdefault(one.features, one)
        if first is not one:
            of[one.features] = replace(first, seen=f"{first.seen}; {one.seen}")
    return list(of.values())


def _joined(groups: Iterable[Suggestion]) -> list[Suggestion]:
    """Groups that share no feature, as rules want them: certain ones that do are one, a guess gives way to them."""
    groups = list(groups)
    joined = []
    for features in joined_groups([one.features for one in groups if one.is_certain]):
        parts = [one for one in groups if one.is_certain and set(one.features) <= set(features)]
        seen = "; ".join(dict.fromkeys(one.seen for one in parts))
        joined.append(suggest_group(parts[0].kind, features, is_certain=True, seen=seen))
    taken = {feature for one in joined for feature in one.features}
    return [*joined, *(one for one in groups if not one.is_certain and not taken & set(one.features))]
