"""Groups that a training table shows without a doubt: what ``groups="auto"`` means, and what a fit may warn of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, cast

import numpy as np

from nicecf.rules.parameters import Feature
from nicecf.rules.suggestions.derived import derived_columns
from nicecf.rules.suggestions.one_hot import one_hot_groups
from nicecf.rules.suggestions.suggestion import Suggestion, suggest_group
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts
from nicecf.rules.suggestions.twins import twins

# For a warning, expressions are looked for in so many rows and columns; only what these show is looked for in all.
_SAMPLED_ROWS = 1000
_SAMPLED_COLUMNS = 24


class AutoGroup(NamedTuple):
    """Features whose values belong together, and why: of joined groups, the kind of the first."""

    kind: Literal["one_hot", "twins"]
    features: tuple[Feature, ...]


def auto_groups(facts: TableFacts, *, computed: Collection[Feature] = ()) -> list[AutoGroup]:
    """The one-hot groups and twins that a training table shows for certain, by the names of its columns.

    No feature is in two of them: groups that share one are joined. Columns that are ``computed`` from others are left
    out, as they follow by themselves. Of a table that ``fit`` has read, pass ``TableFacts.of_rows(schema, values)``.

    >>> import numpy as np, pandas as pd
    >>> color = np.random.default_rng(0).choice(["blue", "green", "red"], 200)
    >>> X = pd.get_dummies(pd.DataFrame({"color": color})).assign(size=range(200))
    >>> auto_groups(TableFacts.of(X))
    [AutoGroup(kind='one_hot', features=('color_blue', 'color_green', 'color_red'))]
    """
    groups = [one for one in groups_of(facts, computed=computed) if one.is_certain]
    return [AutoGroup(cast(Literal["one_hot", "twins"], one.kind), one.features) for one in groups]


def certain_findings(facts: TableFacts, one_hot: Sequence[Suggestion] | None = None) -> list[Suggestion]:
    """One-hot groups, twins and derived columns of which there is no doubt, at little cost: for a warning of ``fit``.

    Derived columns are looked for in 1,000 rows of the first 24 columns of numbers, and then in all rows among those
    that were found: some are missed that :func:`nicecf.suggest_rules` finds. The groups are those of
    :func:`auto_groups`; ``one_hot``: the one-hot groups of the table, where they are known already.
    """
    found = derived_columns(facts.sample(_SAMPLED_ROWS), most_columns=_SAMPLED_COLUMNS)
    involved = {feature for one in found for feature in one.features}
    derived = [one for one in derived_columns(facts.only(involved)) if one.is_certain] if involved else []
    groups = groups_of(facts, computed={one.features[0] for one in derived}, one_hot=one_hot)
    return [*(one for one in groups if one.is_certain), *derived]


def groups_of(
    facts: TableFacts, *, computed: Collection[Feature] = (), one_hot: Sequence[Suggestion] | None = None
) -> list[Suggestion]:
    """All one-hot groups and twins but for ``computed`` features, the certain ones first, joined where they meet.

    A feature is in one of the certain groups at most, and a guess that shares a feature with these is left out.
    """
    # Only now: the kinds of rules may ask for groups themselves.
    from nicecf.rules.kinds.groups import joined_groups

    found = list(_without(computed, _one_hot_and_twins(facts, one_hot_groups(facts) if one_hot is None else one_hot)))
    joined = []
    for features in joined_groups([one.features for one in found if one.is_certain]):
        parts = [one for one in found if one.is_certain and set(one.features) <= set(features)]
        seen = "; ".join(dict.fromkeys(one.seen for one in parts))
        joined.append(suggest_group(parts[0].kind, features, is_certain=True, seen=seen))
    taken = {feature for one in joined for feature in one.features}
    return [*joined, *(one for one in found if not one.is_certain and not taken & set(one.features))]


def _one_hot_and_twins(facts: TableFacts, one_hot: Sequence[Suggestion]) -> list[Suggestion]:
    """One-hot groups, and twins: a group may have one too, such as the number of a category beside its dummies."""
    certain: dict[Feature, Sequence[Feature]] = {
        f"\0one-hot group {k}": one.features for k, one in enumerate(one_hot) if one.is_certain
    }
    by_name = {column.name: column for column in facts.columns}
    as_one = [_as_column(str(name), [by_name[one] for one in members]) for name, members in certain.items()]
    found = twins(TableFacts((*facts.columns, *as_one), facts.n_rows))
    return [*one_hot, *(_with_members(one, certain) for one in found)]


def _as_column(name: str, members: Sequence[ColumnFacts]) -> ColumnFacts:
    """The category that 0/1 columns stand for: the number of the one that is on, 0 where none is."""
    codes = np.zeros(len(members[0].values))
    for number, member in enumerate(members, start=1):
        codes[member.values == 1.0] = number
    return replace(members[0], name=name, values=codes, levels=(), is_number=False)


def _with_members(twin: Suggestion, groups: Mapping[Feature, Sequence[Feature]]) -> Suggestion:
    features = [member for one in twin.features for member in groups.get(one, [one])]
    return suggest_group("twins", features, is_certain=twin.is_certain, seen=twin.seen)


def _without(computed: Collection[Feature], groups: Iterable[Suggestion]) -> Iterable[Suggestion]:
    for one in groups:
        left = [feature for feature in one.features if feature not in computed]
        if len(left) == len(one.features):
            yield one
        elif len(left) > 1:
            yield suggest_group(one.kind, left, is_certain=one.is_certain, seen=one.seen)
