"""Rows as points: numbers over their range, categories on a line on which alike levels are near each other.

Levels are alike when the other features are distributed alike given them: the association-based distance of Le and Ho
("An association-based dissimilarity measure for categorical data", 2005), which CFproto uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from nicecf.support.types import Bools, Floats, Ints

# Where numbers are cut into bins, so that they can be counted like categories.
_QUARTERS = (25.0, 50.0, 75.0)
# Instead of a share of zero: its logarithm must be finite.
_NO_SHARE = 1e-12
_MOST_ROUNDS = 300
# Levels that can be compared with each other: their distances are a table of so many squared.
MOST_LEVELS = 1000
_SETTLED = 1e-9


@dataclass(frozen=True, eq=False)
class Line:
    """Where the levels of one categorical feature lie: NaN for those that no training row has.

    ``places`` is read by codes: after the levels come one place for all levels that are new, NaN, and, where -1 finds
    it, that of missing values.
    """

    places: Floats

    @cached_property
    def stops(self) -> tuple[Ints, Floats]:
        """The levels along the line and where they lie; of levels at the same place the first stands for all."""
        codes = np.flatnonzero(~np.isnan(self.places[:-1]))
        places, first = np.unique(self.places[codes], return_index=True)
        return codes[first], places

    @cached_property
    def _borders(self) -> Floats:
        return (self.stops[1][1:] + self.stops[1][:-1]) / 2.0

    def place(self, codes: Floats) -> Floats:
        """Where levels lie; NaN for one that training never had."""
        return self.places[np.minimum(codes, len(self.places) - 2).astype(np.intp)]

    def level(self, points: Floats, own: Floats) -> Floats:
        """The code of the nearest level; a row's own, where that is as near as any."""
        codes, places = self.stops
        nearest = np.searchsorted(self._borders, points)
        return np.where(places[nearest] == self.place(own), own, codes[nearest])


@dataclass(frozen=True, eq=False)
class Embedding:
    """The way between encoded rows and points, all within [-1, 1] for the training rows.

    ``middle``, ``half`` and ``mean`` belong to the numbers (a number that never varies has half a range of zero),
    ``lines`` to the categories, by their position.
    """

    middle: Floats
    half: Floats
    mean: Floats
    lines: Mapping[int, Line]

    @classmethod
    def of(cls, training: Floats, is_categorical: Bools, n_levels: Ints) -> Embedding:
        """The embedding of some training rows; ``n_levels`` is read where a feature is categorical."""
        n_features = training.shape[1]
        middle, half, mean = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
        for j in np.flatnonzero(~is_categorical):
            column = training[:, j][~np.isnan(training[:, j])]
            if len(column):
                low, high = column.min(), column.max()
                middle[j], half[j], mean[j] = (low + high) / 2.0, (high - low) / 2.0, column.mean()
        return cls(middle, half, mean, _lines(training, is_categorical, n_levels))

    def place(self, rows: Floats) -> tuple[Floats, Bools]:
        """Rows as points, and which of their features can be moved.

        Those cannot that are missing, that never vary, and categories that training never saw. A missing number lies
        at the mean, a category that training never saw in the middle.
        """
        can_move = ~np.isnan(rows) & (self.half > 0)
        shifted = np.where(np.isnan(rows), self.mean, rows) - self.middle
        points = np.divide(shifted, self.half, out=np.zeros_like(rows), where=self.half > 0)
        for j, line in self.lines.items():
            places = line.place(rows[:, j])
            points[:, j] = np.nan_to_num(places)
            can_move[:, j] = (rows[:, j] >= 0) & ~np.isnan(places) & (len(line.stops[0]) > 1)
        return points, can_move

    def read(self, points: Floats, starts: Floats, rows: Floats) -> Floats:
        """Points as encoded rows, numbers not rounded; where a point is at its start, the row's own value."""
        values = self.middle + self.half * points
        for j, line in self.lines.items():
            if len(line.stops[0]):
                values[:, j] = line.level(points[:, j], rows[:, j])
        return np.where(points == starts, rows, values)


def _lines(training: Floats, is_categorical: Bools, n_levels: Ints) -> dict[int, Line]:
    """A line for each categorical feature: the one whose levels differ most fills [-1, 1], the others less of it."""
    codes = [_codes(training[:, j], is_categorical[j], n_levels[j]) for j in range(training.shape[1])]
    sizes = [int(n_levels[j]) + 2 if is_categorical[j] else len(_QUARTERS) + 2 for j in range(training.shape[1])]
    away = {}
    for j in np.flatnonzero(is_categorical).tolist():
        away[j] = np.full(sizes[j], np.nan)
        seen = np.unique(codes[j])
        if len(seen) > MOST_LEVELS:
            continue
        tables = [_shares(codes[j], codes[k], sizes[j], sizes[k])[seen] for k in range(len(codes)) if k != j]
        away[j][seen] = _from_the_outermost(sum((_unlike(shares) for shares in tables), np.zeros((len(seen),) * 2)))
    widest = max((np.nanmax(one) for one in away.values() if not np.isnan(one).all()), default=0.0)
    return {j: Line(_centered(2.0 * one / widest if widest else one)) for j, one in away.items()}


def _codes(column: Floats, is_categorical: bool, n_levels: int) -> Ints:
    """A column in whole numbers from 0: levels or quarters, missing last."""
    if is_categorical:
        return np.where(column < 0, n_levels + 1, column).astype(np.intp)
    is_missing = np.isnan(column)
    if is_missing.all():
        return np.zeros(len(column), dtype=np.intp)
    cuts = np.percentile(column[~is_missing], _QUARTERS)
    return np.where(is_missing, len(_QUARTERS) + 1, np.searchsorted(cuts, column)).astype(np.intp)


def _shares(codes: Ints, others: Ints, n_codes: int, n_others: int) -> Floats:
    """How another feature is distributed given each level: one line for each level."""
    counts = np.bincount(codes * n_others + others, minlength=n_codes * n_others).reshape(n_codes, n_others)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _unlike(shares: Floats) -> Floats:
    """The symmetric Kullback-Leibler divergence of each two lines."""
    logs = np.log(shares + _NO_SHARE)
    cross = shares @ logs.T
    own = np.diag(cross)
    return np.maximum(own[:, None] + own[None] - cross - cross.T, 0.0)


def _from_the_outermost(distances: Floats) -> Floats:
    """Levels on a line: in a plane that keeps their distances as well as it can, how far each is from the outermost."""
    plane = _plane(distances)
    return np.linalg.norm(plane - plane[np.linalg.norm(plane, axis=1).argmax()], axis=1)


def _plane(distances: Floats) -> Floats:
    """Multidimensional scaling: classical first, then by majorization (SMACOF), which lets the stress only fall."""
    n = len(distances)
    centering = np.eye(n) - 1.0 / n
    strengths, directions = np.linalg.eigh(-centering @ distances**2 @ centering / 2.0)
    plane = directions[:, ::-1][:, :2] * np.sqrt(np.maximum(strengths[::-1][:2], 0.0))
    for _ in range(_MOST_ROUNDS):
        drawn = cdist(plane, plane)
        ratios = np.divide(distances, drawn, out=np.zeros_like(distances), where=drawn > 0)
        moved = (ratios.sum(axis=1)[:, None] * plane - ratios @ plane) / n
        if np.abs(moved - plane).max() <= _SETTLED * distances.max():
            break
        plane = moved
    return plane


def _centered(places: Floats) -> Floats:
    if np.isnan(places).all():
        return places
    return places - (np.nanmin(places) + np.nanmax(places)) / 2.0
