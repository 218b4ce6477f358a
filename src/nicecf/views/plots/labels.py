"""Where labels go so that none covers another: pure functions of places and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from nicecf.support.types import Floats, Ints

_ANGLES = np.arange(12) * np.pi / 6
_RINGS = np.array([0.0, 2.0, 4.0, 7.0, 11.0])  # in gaps, beyond where a label just touches its point
_STARTS, _SWEEPS = 10, 20


class Box(NamedTuple):
    """A rectangle."""

    left: float
    bottom: float
    right: float
    top: float


def around(points: Floats, sizes: Floats, *, bounds: Box, gap: float, lines: Floats) -> Floats:
    """The centre of the label of each point: near it, over no other label, no point and, if possible, no line.

    ``sizes``: width and height of each label. ``gap``: the least distance from the edge of a label to a point.
    ``lines``: places to keep clear of where that is cheap. Labels stay within the bounds if there is room; where they
    are not next to their point, nothing lies on the way there, if possible.

    >>> point, size, nothing = np.array([[5.0, 5.0]]), np.array([[2.0, 1.0]]), np.empty((0, 2))
    >>> around(point, size, bounds=Box(0, 0, 10, 10), gap=1.0, lines=nothing)
    array([[7., 5.]])
    """
    if not len(points):
        return np.empty((0, 2))
    candidates = np.stack([_candidates(point, size, gap) for point, size in zip(points, sizes, strict=True)])
    alone = np.stack(
        [_alone(candidates[i], sizes[i], i, points, bounds=bounds, gap=gap, lines=lines) for i in range(len(points))]
    )
    chosen = _cheapest(np.round(alone, 6), np.round(_together(candidates, points, sizes, gap), 6))
    return candidates[np.arange(len(points)), chosen]


def spread(positions: Floats, *, gap: float, low: float, high: float) -> Floats:
    """The positions, moved as little as possible (in squares) so that they are ``gap`` apart and within the limits.

    Their order stays; those that are equal keep the order given. Where there is no room for all, they start at ``low``.

    >>> spread(np.array([5.0, 1.0, 5.0]), gap=1.0, low=0.0, high=9.0)
    array([4.5, 1. , 5.5])
    """
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(positions))
    spread_out = np.empty(len(positions))
    if len(positions):
        last = max(low, high - steps[-1])
        spread_out[order] = isotonic_regression(positions[order] - steps, y_min=low, y_max=last) + steps
    return spread_out


def levels(spans: Sequence[tuple[float, float]]) -> list[int]:
    """On which line, counted from 0, to draw each span so that no two of one line touch.

    The spans must be in the order of their starts.

    >>> levels([(1, 3), (2, 5), (4, 6)])
    [0, 1, 0]
    """
    ends: list[float] = []
    found = []
    for start, end in spans:
        level = next((level for level, last in enumerate(ends) if last < start), len(ends))
        ends[level:] = [end, *ends[level + 1 :]]
        found.append(level)
    return found


def _candidates(point: Floats, size: Floats, gap: float) -> Floats:
    """Centres of a label round a point, in all directions, ring by ring; to the right first."""
    directions = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    # On the edge of a rectangle, not of a circle: a wide label is further away sideways than above.
    touching = directions / np.abs(directions).max(axis=1, keepdims=True) * (size / 2 + gap)
    return np.round(point + np.concatenate([touching + directions * ring * gap for ring in _RINGS]), 9)


def _alone(centres: Floats, size: Floats, i: int, points: Floats, *, bounds: Box, gap: float, lines: Floats) -> Floats:
    """What each place of the label of point ``i`` costs, wherever the other labels are."""
    others = points[np.hypot(*(points - points[i]).T) > gap]  # not those that lie on it: they are always in the way
    return np.asarray(
        20 * _covered(centres, size, points, np.full(points.shape, 2 * gap)).sum(axis=1)
        + 4 * _covered(centres, size, lines, np.full(lines.shape, gap)).sum(axis=1)
        + 50 * _outside(centres, size, bounds)
        + 3 * size[1] * _astray(centres, size, points[i], others, gap)
        + size[1] * gap * np.repeat(_RINGS, len(_ANGLES))
    )


def _together(candidates: Floats, points: Floats, sizes: Floats, gap: float) -> Floats:
    """What it costs that two labels are where they are: shape (labels, places, labels, places), symmetric."""
    n_labels, n_places, _ = candidates.shape
    centres, all_sizes = candidates.reshape(-1, 2), np.repeat(sizes, n_places, axis=0)
    costs = np.zeros((n_labels, n_places, n_labels, n_places))
    for i in range(n_labels):  # one by one: all at once would be gigabytes
        covered = _covered(candidates[i], sizes[i] + gap / 2, centres, all_sizes)
        crossed = _inside(_between(points[i], candidates[i]), centres, all_sizes).sum(axis=1)
        costs[i] += (10 * covered + 20 * gap**2 * crossed).reshape(n_places, n_labels, n_places)
        costs[i, :, i, :] = 0.0
    return costs + costs.transpose(2, 3, 0, 1)


def _cheapest(alone: Floats, together: Floats) -> Ints:
    """One place for each label: better ones are taken, label by label, until none is left; the best of many starts."""
    n_labels = len(alone)
    every = np.arange(n_labels)
    random = np.random.default_rng(0)
    best, least = np.zeros(n_labels, dtype=np.intp), np.inf
    for _ in range(_STARTS):
        chosen = alone.argmin(axis=1)
        for _ in range(_SWEEPS):
            before = chosen.copy()
            for i in random.permutation(n_labels):
                chosen[i] = (alone[i] + together[i][:, every, chosen].sum(axis=1)).argmin()
            if np.array_equal(chosen, before):
                break
        total = alone[every, chosen].sum() + sum(together[i, chosen[i], every, chosen].sum() for i in every) / 2
        if total < least - 1e-6:
            best, least = chosen, total
    return best


def _between(start: Floats, ends: Floats) -> Floats:
    """Places on the way from the start to each of the ends: shape (ends, places, 2)."""
    shares = np.linspace(0.15, 0.9, 6)[None, :, None]
    return np.asarray(start * (1 - shares) + ends[:, None, :] * shares)


def _inside(ways: Floats, centres: Floats, sizes: Floats) -> Floats:
    """Which places on each way lie in which of the boxes: shape (ways, places, boxes)."""
    apart = np.abs(ways[:, :, None, :] - centres)
    return np.asarray((apart < sizes / 2).all(axis=3))


def _covered(centres: Floats, size: Floats, others: Floats, other_sizes: Floats) -> Floats:
    """How much of each other box is covered by a box of that size, for each of its centres: shape (centres, others)."""
    apart = np.abs(centres[:, None, :] - others[None, :, :])
    overlap = np.clip((size + other_sizes) / 2 - apart, 0, np.minimum(size, other_sizes))
    return np.asarray(overlap.prod(axis=2))


def _outside(centres: Floats, size: Floats, bounds: Box) -> Floats:
    """By how much a box sticks out of the bounds, as an area."""
    low, high = centres - size / 2, centres + size / 2
    out = np.clip([bounds.left, bounds.bottom] - low, 0, None) + np.clip(high - [bounds.right, bounds.top], 0, None)
    return np.asarray((out * size[::-1]).sum(axis=1))


def _astray(centres: Floats, size: Floats, point: Floats, others: Floats, gap: float) -> Floats:
    """By how much each box seems to belong to other points: they are nearly as near to it as its own, or nearer."""

    def distances(points: Floats) -> Floats:
        apart = np.clip(np.abs(centres[:, None, :] - points[None, :, :]) - size / 2, 0, None)
        return np.hypot(apart[..., 0], apart[..., 1])

    return np.asarray(np.clip(distances(point[None, :]) + gap - distances(others), 0, None).sum(axis=1))
