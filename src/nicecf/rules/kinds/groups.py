"""``groups=[["education", "education-num"]]``: features whose values belong together.

``"auto"``, alone or among them: one-hot groups and twin columns are found in the training table, and are one feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError, listed
from nicecf.rules.columns import RuledRows
from nicecf.rules.kinds.kind import Candidate, Kind, Relaxed
from nicecf.rules.parameters import Feature, Line, features, is_list
from nicecf.rules.row_rules import Meaning
from nicecf.support.phrases import Features, Statement

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

Group: TypeAlias = tuple[Feature, ...]
# In the place of a group: those that the training table shows.
AUTO = "auto"


class Groups(Kind[tuple[Any, ...]]):
    """Features whose values are all the row's, or all of the same training row."""

    name = "groups"
    columns = ("group",)

    def read(self, given: Any) -> tuple[Any, ...]:
        """Groups of two features or more, each feature in one of them at most; else OptionError."""
        if isinstance(given, str) and given == AUTO:
            given = [AUTO]
        if not is_list(given):
            raise OptionError(f"groups={given!r} is not a list of lists of features, nor 'auto'.")
        given = list(given)
        auto = (AUTO,) if any(isinstance(one, str) and one == AUTO for one in given) else ()
        groups = tuple(features(self.name, one) for one in given if not (isinstance(one, str) and one == AUTO))
        seen: set[Feature] = set()
        for group in groups:
            if len(group) < 2:
                raise OptionError(f"groups has {list(group)!r}; a group needs at least two features.")
            twice = [one for one in group if one in seen]
            if twice:
                raise OptionError(
                    f"{listed(twice)} is in two groups; join them if all of their features belong together."
                )
            seen.update(group)
        return (*auto, *groups)

    def to_plain(self, rule: tuple[Any, ...]) -> list[list[Feature]]:
        return [group if group == AUTO else list(group) for group in rule]

    def from_sheet(self, lines: Sequence[Line]) -> list[list[Feature]]:
        groups: dict[Any, list[Feature]] = {}
        for line in lines:
            if "group" in line:
                groups.setdefault(line["group"], []).append(line["feature"])
        return list(groups.values())

    def merge(self, mine: tuple[Any, ...], theirs: tuple[Any, ...], fixed: Sequence[Feature]) -> tuple[Any, ...]:
        auto = (AUTO,) if AUTO in (*mine, *theirs) else ()
        return (*auto, *map(tuple, joined_groups([*own_groups(mine), *own_groups(theirs)])))

    def abouts(self, rule: tuple[Any, ...]) -> Iterable[Group]:
        return own_groups(rule)  # what was found in the table is no rule that could be relaxed

    def features_of(self, about: Any) -> Iterable[Feature]:
        return tuple(about)

    def without(self, rule: tuple[Any, ...], about: Any) -> tuple[Any, ...]:
        return tuple(group for group in rule if group != about)

    def meaning(self, rule: tuple[Any, ...], rows: RuledRows) -> Meaning:
        # A name and a position may mean the same feature, so that only now is it clear which groups are one.
        positions = joined_groups([rows.position(one, self.name) for one in group] for group in own_groups(rule))
        return Meaning(groups=tuple(np.unique(np.array(group, dtype=np.intp)) for group in positions))

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.groups", {"features": Features(about)})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """Its features may change separately."""
        others = [group for group in rules.groups if group != about]
        return Statement("relaxation.groups", {"features": Features(about)}), {self.name: others}


def own_groups(rule: Iterable[Any]) -> list[Group]:
    """The groups that someone wrote."""
    return [group for group in rule if group != AUTO]


def joined_groups(groups: Iterable[Sequence[Feature]]) -> list[list[Feature]]:
    """Groups that share no feature: those that do are one.

    >>> joined_groups([["a", "b"], ["c", "d"], ["b", "c"]])
    [['a', 'b', 'c', 'd']]
    """
    separate: list[list[Feature]] = []
    for group in groups:
        touching = [other for other in separate if set(other) & set(group)]
        separate = [other for other in separate if other not in touching]
        separate.append(list(dict.fromkeys([*(one for other in touching for one in other), *group])))
    return separate
