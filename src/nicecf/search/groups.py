"""Features that are swapped together: each group is stepped on by its first feature that differs, and moves as one."""

from __future__ import annotations

import numpy as np

from nicecf.rules.row_rules import Rules
from nicecf.support.types import Bools, Floats, Ints


class Groups:
    """Groups of features, by their positions; a feature in none of them moves alone."""

    def __init__(self, groups: tuple[Ints, ...] = ()) -> None:
        self.groups = groups

    @classmethod
    def of(cls, rules: Rules | None) -> Groups:
        """Those that rules name."""
        return cls() if rules is None else cls(rules.groups)

    def first(self, differs: Bools) -> Bools:
        """Of the features that differ, those to step on: one for each group.

        >>> Groups((np.array([0, 2]),)).first(np.array([[True, True, True], [False, True, True]])).tolist()
        [[True, True, False], [False, True, True]]
        """
        if not self.groups:
            return differs
        first = differs.copy()
        for group in self.groups:
            members = differs[..., group]
            first[..., group] = members & (np.cumsum(members, axis=-1) == 1)
        return first

    def closed(self, swapped: Bools, differs: Bools) -> Bools:
        """Swapped features, and with each of them all of its group that differ."""
        if not self.groups:
            return swapped
        closed = swapped.copy()
        for group in self.groups:
            closed[..., group] = swapped[..., group].any(axis=-1, keepdims=True) & differs[..., group]
        return closed

    def moving(self, features: Ints, differs: Bools) -> Bools:
        """For one feature to step on in each line: all features that move, of those that differ."""
        moving = np.zeros(differs.shape, dtype=bool)
        moving[np.arange(len(features)), features] = True
        return self.closed(moving, differs)

    def swap(self, into: Floats, donors: Floats, features: Ints) -> None:
        """Give each line the donor's value of one feature, and of all of its group."""
        line = np.arange(len(features))
        into[line, features] = donors[line, features]
        for group in self.groups:
            here = np.isin(features, group)
            into[np.ix_(here, group)] = donors[np.ix_(here, group)]

    def summed(self, parts: Floats) -> Floats:
        """Parts of a distance by feature -> by step: each feature of a group has the sum of all."""
        if not self.groups:
            return parts
        summed = parts.copy()
        for group in self.groups:
            summed[:, group] = parts[:, group].sum(axis=1, keepdims=True)
        return summed
