"""The feasible changes of `GeCo`: what training rows have in a feature, or in a group of features that belong together.

Each is a number, the *change*. A candidate is the set of its changes, and nothing else is kept of it: a line of change
numbers in ascending order, filled up with `FeasibleSpace.none`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nicecf._typing import Bools, Floats, Ints
from nicecf.distance import Heom
from nicecf.schema import differs


@dataclass(frozen=True, eq=False)
class FeasibleSpace:
    """All changes, those of a group one after the other.

    ``groups``: the features of each group. ``changes``: that of each training row in each group, -1 where a value is
    missing. ``example``: a training row that has a change. ``group``: the group of a change.
    """

    training: Floats
    groups: tuple[Ints, ...]
    changes: Ints
    example: Ints
    group: Ints

    @classmethod
    def of(cls, training: Floats, is_categorical: Bools, together: Sequence[Sequence[int]]) -> FeasibleSpace:
        """The changes that the training rows offer; features that are in no group are alone."""
        grouped = {feature for group in together for feature in group}
        alone = [[feature] for feature in range(training.shape[1]) if feature not in grouped]
        groups = sorted([sorted(group) for group in together] + alone)
        is_missing = np.isnan(training) | (is_categorical & (training < 0))
        columns, examples, of_group = [], [], []
        n_changes = 0
        for number, group in enumerate(groups):
            there = np.flatnonzero(~is_missing[:, group].any(axis=1))
            _, first, place = np.unique(training[there][:, group], axis=0, return_index=True, return_inverse=True)
            column = np.full(len(training), -1, dtype=np.intp)
            column[there] = n_changes + place.reshape(-1)
            columns.append(column)
            examples.append(there[first])
            of_group.append(np.full(len(first), number))
            n_changes += len(first)
        return cls(
            training,
            tuple(np.array(group, dtype=np.intp) for group in groups),
            np.column_stack(columns),
            np.concatenate(examples),
            np.append(np.concatenate(of_group), len(groups)),
        )

    @property
    def none(self) -> int:
        """What a line of changes is filled up with."""
        return len(self.example)

    def around(self, row: Floats, distance: Heom) -> tuple[Ints, Floats]:
        """For one row and each change: how many features it changes, and by what distance; 0 for ``none``."""
        n_features = np.zeros(self.none + 1, dtype=np.intp)
        distances = np.zeros(self.none + 1)
        bounds = np.searchsorted(self.group, np.arange(len(self.groups) + 1))
        for features, first, last in zip(self.groups, bounds[:-1], bounds[1:], strict=True):
            for feature in features:
                values = self.training[self.example[first:last], feature]
                n_features[first:last] += differs(row[feature], values)
                distances[first:last] += distance.feature(feature, row[feature], values)
        return n_features, distances

    def applied(self, row: Floats, candidates: Ints) -> Floats:
        """The row with the changes of each candidate made."""
        values = np.tile(row, (len(candidates), 1))
        line, column = np.nonzero(candidates != self.none)
        changes = candidates[line, column]
        for number, features in enumerate(self.groups):
            mine = np.flatnonzero(self.group[changes] == number)
            if len(mine):
                values[line[mine][:, None], features] = self.training[self.example[changes[mine]]][:, features]
        return values

    def by_group(self, candidates: Ints) -> Ints:
        """The change of each candidate in each group, -1 for none: shape (candidates, groups)."""
        table = np.full((len(candidates), len(self.groups) + 1), -1, dtype=np.intp)
        np.put_along_axis(table, self.group[candidates], candidates, axis=1)
        return table[:, :-1]

    def from_groups(self, table: Ints) -> Ints:
        """The reverse of `by_group`: lines as short as they can be."""
        lines = np.sort(np.where(table < 0, self.none, table), axis=1)
        return lines[:, : max(1, int((table >= 0).sum(axis=1).max(initial=0)))]


def as_wide(parts: list[Ints], none: int) -> list[Ints]:
    """Candidates with unlike numbers of changes in lines of one width."""
    width = max(part.shape[1] for part in parts)
    return [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=none) for part in parts]


def distinct(parts: list[Ints], none: int) -> Ints:
    """All candidates in one table, each once, in an order that depends on nothing but the candidates."""
    return np.unique(np.concatenate(as_wide(parts, none)), axis=0)
