"""Candidates: float rows, each for one row of a question, and moves from one to another, as tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf.support.types import Bools, Floats, Ints

# Differences of costs that are only rounding.
LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Candidates:
    """Float rows, each for one row of a question, with what the model said of them."""

    line: Ints
    values: Floats
    outputs: Floats
    scores: Floats
    changes: Ints
    distances: Floats
    costs: Floats
    is_valid: Bools

    def __len__(self) -> int:
        """How many there are."""
        return len(self.line)

    def take(self, places: Ints | Bools) -> Candidates:
        """Some of them."""
        return Candidates(*(getattr(self, name)[places] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Proposals:
    """Candidates that the model was not asked about yet, and the scores that they are expected to have, if any."""

    line: Ints
    values: Floats
    scores: Floats

    @classmethod
    def of(cls, line: Ints, values: Floats) -> Proposals:
        """Candidates of which nothing is expected."""
        return cls(line, values, np.zeros(len(line)))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.line)

    def take(self, places: Ints | Bools) -> Proposals:
        """Some of them."""
        return Proposals(self.line[places], self.values[places], self.scores[places])

    def __add__(self, others: Proposals | Candidates) -> Proposals:
        """These, and then others."""
        line = np.append(self.line, others.line)
        return Proposals(line, np.concatenate([self.values, others.values]), np.append(self.scores, others.scores))


@dataclass(frozen=True, eq=False)
class Moves:
    """Single values for some of the candidates: which one, which feature, and the value."""

    of: Ints
    feature: Ints
    value: Floats

    def take(self, places: Ints | Bools) -> Moves:
        """Some of them."""
        return Moves(self.of[places], self.feature[places], self.value[places])

    def applied_to(self, values: Floats) -> Floats:
        """The candidates that move, each after its move."""
        moved = values[self.of]
        moved[np.arange(len(moved)), self.feature] = self.value
        return moved


def joined_moves(parts: list[Moves]) -> Moves:
    """Several as one."""
    names = ("of", "feature", "value")
    return Moves(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def joined(parts: list[Candidates]) -> Candidates:
    """Several as one."""
    names = Candidates.__dataclass_fields__
    return Candidates(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def best_of_each(best: Candidates, of: Ints, others: Candidates) -> Candidates:
    """Each candidate, or the best valid one of others that belong to it, if that is better."""
    valid = np.flatnonzero(others.is_valid)
    order = valid[np.lexsort((others.costs[valid], of[valid]))]
    order = order[rank_of(of[order]) == 0]
    order = order[(others.costs[order] < best.costs[of[order]] - LEAST) | ~best.is_valid[of[order]]]
    return replaced(best, of[order], others.take(order))


def replaced(candidates: Candidates, places: Ints, others: Candidates) -> Candidates:
    """The candidates, with others in some places."""
    changed = {name: getattr(candidates, name).copy() for name in candidates.__dataclass_fields__}
    for name, values in changed.items():
        values[places] = getattr(others, name)
    return replace(candidates, **changed)


def rank_of(groups: Ints) -> Ints:
    """The number of each member within its group, of groups that are one after the other.

    >>> rank_of(np.array([4, 4, 4, 7, 9, 9])).tolist()
    [0, 1, 2, 0, 0, 1]
    """
    is_first = np.concatenate([[True], groups[1:] != groups[:-1]]) if len(groups) else np.zeros(0, dtype=bool)
    starts = np.flatnonzero(is_first)
    return np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))


def rank_within(groups: Ints, worth: Floats) -> Ints:
    """The number of each member within its group, the most worthy first.

    >>> rank_within(np.array([1, 0, 1]), np.array([0.5, 1.0, 2.0])).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((-worth, groups))
    rank = np.empty(len(groups), dtype=np.intp)
    rank[order] = rank_of(groups[order])
    return rank


def first_places(groups: Ints, worth: Floats, n_groups: int, most: int) -> Ints:
    """The places of the most worthy of each group, one line for each group; -1 where there are no more.

    >>> first_places(np.array([1, 1, 0]), np.array([0.5, 2.0, 1.0]), 3, 2).tolist()
    [[2, -1], [1, 0], [-1, -1]]
    """
    places = np.full((n_groups, most), -1)
    order = np.lexsort((-worth, groups))
    rank = rank_of(groups[order])
    order, rank = order[rank < most], rank[rank < most]
    places[groups[order], rank] = order
    return places


def distinct(groups: Ints, values: Floats) -> Ints:
    """The places of the first of equal rows within each group."""
    rows = np.ascontiguousarray(np.column_stack([groups.astype(np.float64), values + 0.0]))
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])
