"""The feasible changes of `GeCo`: what training rows have in a feature, or in a group of features that belong together.

Each is a number, the *change*. A candidate is the set of its changes, and nothing else is kept of it: a line of change
numbers in ascending order, filled up with `FeasibleSpace.none`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nicecf.search.distance import Heom
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs


@dataclass(frozen=True, eq=False)
class FeasibleSpace:
    """All changes, those of a group one after the other.

    ``groups``: the features of each group. ``has_numbers``: which groups are not of categories alone. ``example``: a
    training row that has a change. ``n_rows``: how many have it. ``group``: the group of a change.
    """

    training: Floats
    groups: tuple[Ints, ...]
    has_numbers: Bools
    example: Ints
    n_rows: Ints
    group: Ints

    @classmethod
    def of(cls, training: Floats, is_categorical: Bools, together: Sequence[Sequence[int]]) -> FeasibleSpace:
        """The changes that the training rows offer; features that are in no group are alone."""
        grouped = {feature for group in together for feature in group}
        alone = [[feature] for feature in range(training.shape[1]) if feature not in grouped]
        groups = sorted([sorted(group) for group in together] + alone)
        is_missing = np.isnan(training) | (is_categorical & (training < 0))
        examples, counts, of_group = [], [], []
        for number, group in enumerate(groups):
            there = np.flatnonzero(~is_missing[:, group].any(axis=1))
            _, first, count = np.unique(training[there][:, group], axis=0, return_index=True, return_counts=True)
            examples.append(there[first])
            counts.append(count)
            of_group.append(np.full(len(first), number))
        return cls(
            training,
            tuple(np.array(group, dtype=np.intp) for group in groups),
            np.array([not is_categorical[group].all() for group in groups]),
            np.concatenate(examples),
            np.concatenate(counts),
            np.append(np.concatenate(of_group), len(groups)),
        )

    @property
    def none(self) -> int:
        """What a line of changes is filled up with."""
        return len(self.example)

    @cached_property
    def bounds(self) -> Ints:
        """The changes of group ``i`` are ``bounds[i]:bounds[i + 1]``."""
        return np.searchsorted(self.group, np.arange(len(self.groups) + 1))

    def around(self, row: Floats, distance: Heom) -> tuple[Ints, Floats]:
        """For one row and each change: how many features it changes, and by what distance; 0 for ``none``."""
        n_features = np.zeros(self.none + 1, dtype=np.intp)
        distances = np.zeros(self.none + 1)
        for features, first, last in zip(self.groups, self.bounds[:-1], self.bounds[1:], strict=True):
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


@dataclass(frozen=True, eq=False)
class Draws:
    """Random changes for one row, each as often as training rows have it; ``n_rows`` have one in each group."""

    upto: Ints
    start: Ints
    n_rows: Ints
    random: np.random.Generator

    @classmethod
    def of(cls, space: FeasibleSpace, *, is_change: Bools, random: np.random.Generator) -> Draws:
        """Of the changes that really change the row."""
        upto = np.cumsum(np.where(is_change[:-1], space.n_rows, 0))
        at_bounds = np.append(0, upto)[space.bounds]
        return cls(upto, at_bounds[:-1], np.diff(at_bounds), random)

    def of_groups(self, groups: Ints) -> Ints:
        """A change in each of some groups that have any."""
        rows = self.start[groups] + self.random.integers(self.n_rows[groups])
        return np.searchsorted(self.upto, rows, side="right")


@dataclass(frozen=True, eq=False)
class NearerDraws:
    """Random changes that cost less than one in the same group, each as often as training rows have it.

    ``order``: all changes, those of a group by their cost. ``upto``: how many training rows have one of them, added up
    in that order. ``start``, ``n_rows``: for each change, where its group begins there, and how many training rows have
    a cheaper one.
    """

    order: Ints
    upto: Ints
    start: Ints
    n_rows: Ints
    random: np.random.Generator

    @classmethod
    def of(cls, space: FeasibleSpace, costs: Floats, *, is_change: Bools, random: np.random.Generator) -> NearerDraws:
        """Of the changes that really change the row; ``costs`` has one number for each change."""
        costs, group = costs[:-1], space.group[:-1]
        order = np.lexsort((costs, group))
        n_rows = np.where(is_change[:-1] & space.has_numbers[group], space.n_rows, 0)[order]
        before = np.cumsum(n_rows) - n_rows
        is_new_group = np.diff(group[order], prepend=-1) != 0
        is_new_cost = is_new_group | (np.diff(costs[order], prepend=np.nan) != 0)
        start, cheaper = np.empty_like(order), np.empty_like(order)
        start[order] = np.maximum.accumulate(np.where(is_new_group, before, 0))
        cheaper[order] = np.maximum.accumulate(np.where(is_new_cost, before, 0))
        return cls(order, before + n_rows, start, cheaper - start, random)

    def than(self, changes: Ints) -> Ints:
        """A cheaper change for each of some that have any."""
        rows = self.start[changes] + self.random.integers(self.n_rows[changes])
        return self.order[np.searchsorted(self.upto, rows, side="right")]


def as_wide(parts: list[Ints], none: int) -> list[Ints]:
    """Candidates with unlike numbers of changes in lines of one width."""
    width = max(part.shape[1] for part in parts)
    return [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=none) for part in parts]


def distinct(parts: list[Ints], none: int) -> Ints:
    """All candidates in one table, each once, in an order that depends on nothing but the candidates."""
    table = np.concatenate(as_wide(parts, none))
    # What np.unique(table, axis=0) gives, for a tenth of the time: that compares whole lines byte by byte.
    table = table[np.lexsort(table.T[::-1])]
    is_new = np.ones(len(table), dtype=bool)
    is_new[1:] = (table[1:] != table[:-1]).any(axis=1)
    return table[is_new]
