"""Where labels go so that none covers another: pure functions of places and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from nicecf._typing import Floats

_ANGLES = np.arange(16) * np.pi / 8
_RINGS = np.arange(9)
# Each sweep takes every label up once and puts it where it is best by then. More sweeps than this change nothing.
_SWEEPS = 4


class Box(NamedTuple):
    """A rectangle."""

    left: float
    bottom: float
    right: float
    top: float


def around(points: Floats, sizes: Floats, *, bounds: Box, gap: float, lines: Floats) -> Floats:
    """The centre of the label of each point: next to it, over no other label, no point and, if possible, no line.

    ``sizes``: width and height of each label. ``gap``: the least distance from the edge of a label to a point. ``lines``:
    places to keep clear of where that is cheap. Labels stay within the bounds if there is room.

    >>> around(np.array([[5.0, 5.0]]), np.array([[2.0, 1.0]]), bounds=Box(0, 0, 10, 10), gap=1.0, lines=np.empty((0, 2)))
    array([[7., 5.]])
    """
    centres = points + [np.inf, 0.0]  # out of the way until it has its place
    for _ in range(_SWEEPS):
        for i, point in enumerate(points):
            candidates = _candidates(point, sizes[i], gap)
            others = np.arange(len(points)) != i
            costs = (
                20 * _covered(candidates, sizes[i] + gap / 2, centres[others], sizes[others])
                + 20 * _covered(candidates, sizes[i], points, np.full(points.shape, 2 * gap))
                + 2 * _covered(candidates, sizes[i], lines, np.full(lines.shape, gap))
                + 50 * _outside(candidates, sizes[i], bounds)
                + np.repeat(_RINGS, len(_ANGLES)) * gap * sizes[i, 1]
            )
            centres[i] = candidates[np.argmin(np.round(costs, 6))]
    return centres


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


def levels(spans: Sequence[tuple[float, float]], *, gap: float) -> list[int]:
    """On which line, counted from 0, to draw each span so that those of one line are more than ``gap`` apart.

    >>> levels([(1, 3), (2, 5), (4, 6)], gap=0.5)
    [0, 1, 0]
    """
    ends: list[float] = []
    found = []
    for start, end in spans:
        level = next((level for level, last in enumerate(ends) if start - last > gap), len(ends))
        ends[level:] = [end, *ends[level + 1 :]]
        found.append(level)
    return found


def _candidates(point: Floats, size: Floats, gap: float) -> Floats:
    """Centres of a label round a point, in all directions, ring by ring; to the right first."""
    directions = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    # To the edge of the label in that direction: a wide label is further away sideways than above.
    reach = directions * (size / 2 + gap)
    squarer = reach / np.maximum(np.abs(directions).max(axis=1, keepdims=True), 1e-9)
    rings = [squarer + directions * ring * 1.5 * gap for ring in _RINGS]
    return np.round(point + np.concatenate(rings), 9)


def _covered(centres: Floats, size: Floats, others: Floats, other_sizes: Floats) -> Floats:
    """How much of the other boxes a box of that size covers, for each of its centres."""
    apart = np.abs(centres[:, None, :] - others[None, :, :])
    overlap = np.clip((size + other_sizes) / 2 - apart, 0, np.minimum(size, other_sizes))
    return np.asarray(overlap.prod(axis=2).sum(axis=1))


def _outside(centres: Floats, size: Floats, bounds: Box) -> Floats:
    """By how much a box sticks out of the bounds, as an area."""
    low, high = centres - size / 2, centres + size / 2
    out = np.clip([bounds.left, bounds.bottom] - low, 0, None) + np.clip(high - [bounds.right, bounds.top], 0, None)
    return np.asarray((out * size[::-1]).sum(axis=1))
