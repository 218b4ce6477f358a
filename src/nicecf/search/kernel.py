"""The donor search as compiled code, called through `sketch` where numba is installed.

A row goes down a tree of boxes, the nearest box first, until the next one is farther than what it has found. Of a leaf
it first reads one byte per value: enough for a lower bound of each distance. Only donors that their bound does not rule
out are compared exactly, in the order of the columns, as `Heom.between` does: the answers are the same to the last bit.
Measured in docs/adr/0032-a-compiled-donor-search.md.

Importing this file compiles it, or reads what an earlier import compiled. Nothing is written to but what a caller
passes in to be filled, and the interpreter's lock is released: any number of threads may search at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types

from nicecf.search.sketch import FAN_OUT, Metric, Near, Sketch
from nicecf.support.types import Bools, Floats, Ints

# The byte of a missing value; all other values have smaller ones.
MISSING = 255
_LAST = 254

# Bytes are added up in float32: each term is rounded up to four times, each sum once, by 2^-24 at most. Twice that also
# covers what was rounded in float64 before. What is too small for float32 is far below _TINY.
_ROUNDING = 2.0**-23
_TINY = 1e-30

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(signature: Any) -> Callable[[_Function], _Function]:
    """Compile now, for these types alone, and keep the result on disk where some folder for it can be written to."""

    def compile_(function: _Function) -> _Function:
        try:
            return numba.njit(signature, nogil=True, cache=True)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return numba.njit(signature, nogil=True)(function)

    return compile_


def _part_of_it(function: _Function) -> _Function:
    """Compile into the functions that call it."""
    return numba.njit(nogil=True)(function)


def _read(dtype: Any, n_dimensions: int, layout: str = "C") -> Any:
    """An array that is only read; layout A is any."""
    return types.Array(dtype, n_dimensions, layout, readonly=True)


_METRIC = types.NamedTuple(
    (types.int64[::1], types.float64[::1], types.float64[::1], types.float64, types.float64[::1]), Metric
)
_NEAR = types.NamedTuple((types.float64[:, ::1], types.int64[:, ::1], types.int64[:, ::1]), Near)
_SKETCH = types.NamedTuple(
    (
        types.int64[::1],
        types.int64[::1],
        types.int64[::1],
        types.float64[:, :, ::1],
        types.float64[:, :, ::1],
        types.boolean[:, :, ::1],
        types.uint8[::1],
    ),
    Sketch,
)


@_part_of_it
def _byte_of(value: float) -> int:
    """A byte for a value that is compared by equality: the same for equal values, also for 0.0 and -0.0."""
    turns = value * 0.6180339887498949  # the golden ratio spreads codes 0, 1, 2, ... over all bytes
    part = turns - np.floor(turns)
    return int(part * _LAST) if part < 1.0 else 0


@_compiled(types.void(_read(types.float64, 2, "A"), _read(types.boolean, 1), _SKETCH))
def encode(values: Floats, by_equality: Bools, sketch: Sketch) -> None:
    """Fill in the bytes of the donors of a group: leaf by leaf, and in a leaf feature by feature.

    A number becomes the nearest of 255 steps from one end of its leaf's box to the other.
    """
    n_features, starts = values.shape[1], sketch.starts
    for leaf in range(len(starts) - 1):
        begin, n_donors = starts[leaf], starts[leaf + 1] - starts[leaf]
        for j in range(n_features):
            at = (begin - starts[0]) * n_features + j * n_donors
            column, filled = values[begin : begin + n_donors, j], sketch.codes[at : at + n_donors]
            lowest = sketch.low[leaf // FAN_OUT, j, leaf % FAN_OUT]
            width = sketch.high[leaf // FAN_OUT, j, leaf % FAN_OUT] - lowest
            is_interval = 0.0 < width < np.inf
            for i in range(n_donors):
                if np.isnan(column[i]):
                    filled[i] = MISSING
                elif by_equality[j]:
                    filled[i] = _byte_of(column[i])
                else:  # not times 254 / width, which is infinite for the smallest widths
                    filled[i] = int((column[i] - lowest) / width * _LAST + 0.5) if is_interval else 0


@_part_of_it
def _part(a: float, b: float, scale: float) -> float:
    """What a feature adds to the distance, before its weight."""
    if np.isnan(a) or np.isnan(b):
        return 0.0 if np.isnan(a) and np.isnan(b) else 1.0
    if scale == 0.0:
        return 0.0 if a == b else 1.0
    return abs(a - b) / scale


@_part_of_it
def _distance(metric: Metric, row: Floats, donor: Floats) -> float:
    """The distance itself."""
    total = 0.0
    for j in metric.columns:
        total += _part(row[j], donor[j], metric.scales[j]) * metric.weights[j]
    return total


@_part_of_it
def _bound_boxes(metric: Metric, row: Floats, low: Floats, high: Floats, has_missing: Any, bounds: Floats) -> None:
    """Fill in lower bounds of the distance to any donor in the boxes of a block, by the sums of `_distance_to_boxes`.

    All branches on the row are outside the loops over boxes: these run on several boxes at once.
    """
    bounds[:] = 0.0
    for j in metric.columns:
        value, scale, weight = row[j], metric.scales[j], metric.weights[j]
        lowest, highest, missing = low[j], high[j], has_missing[j]
        if np.isnan(value):
            for i in range(FAN_OUT):
                bounds[i] += 0.0 if missing[i] else weight
        elif scale == 0.0:
            for i in range(FAN_OUT):
                bounds[i] += weight if (value < lowest[i]) | (value > highest[i]) else 0.0
        else:
            for i in range(FAN_OUT):
                part = max(max(lowest[i] - value, value - highest[i]), 0.0) / scale
                bounds[i] += (min(part, 1.0) if missing[i] else part) * weight


@_part_of_it
def _add_numbers(sums: Any, codes: Any, step: Any, offset: Any) -> None:
    for i in range(len(sums)):
        sums[i] += abs(np.float32(codes[i]) * step - offset)


@_part_of_it
def _add_numbers_or_missing(sums: Any, codes: Any, step: Any, offset: Any, weight: Any) -> None:
    for i in range(len(sums)):
        sums[i] += weight if codes[i] == MISSING else abs(np.float32(codes[i]) * step - offset)


@_part_of_it
def _add_unlike(sums: Any, codes: Any, code: Any, weight: Any) -> None:
    for i in range(len(sums)):
        sums[i] += np.float32(0.0) if codes[i] == code else weight


@_part_of_it
def _sum_bytes(
    metric: Metric, row: Floats, low: Floats, high: Floats, has_missing: Any, codes: Any, sums: Any
) -> float:
    """Fill in the distances to a leaf's donors by their bytes; returns by how much a true one may be below its sum.

    What all donors of the leaf have in common is not in the sums, but taken off what is returned: no need to look at
    them for it. Two values that are compared by equality may have the same byte: a true distance may be far larger.
    """
    n_donors = len(sums)
    sums[:] = 0.0
    same = half_steps = size = 0.0
    for j in metric.columns:
        value, scale, weight = row[j], metric.scales[j], metric.weights_in_units[j]
        own = codes[j * n_donors : (j + 1) * n_donors]
        if low[j] > high[j]:
            same += _part(value, np.nan, scale) * weight
        elif low[j] == high[j] and not has_missing[j]:
            same += _part(value, low[j], scale) * weight
        elif np.isnan(value):
            _add_unlike(sums, own, np.uint8(MISSING), np.float32(weight))
        elif scale == 0.0:
            _add_unlike(sums, own, np.uint8(_byte_of(value)), np.float32(weight))
        else:
            step, offset = (high[j] - low[j]) / scale * (weight / _LAST), (value - low[j]) / scale * weight
            if has_missing[j]:
                _add_numbers_or_missing(sums, own, np.float32(step), np.float32(offset), np.float32(weight))
            else:
                _add_numbers(sums, own, np.float32(step), np.float32(offset))
            half_steps += 0.5 * step
            size += abs(offset) + (_LAST + 1) * step
        size += weight
    return 1.0001 * half_steps + (len(metric.columns) + 8) * _ROUNDING * (size + same) + _TINY - same


@_part_of_it
def _insert(near: Near, distance: float, place: int, position: int) -> None:
    """Put a donor in its place among the nearest, if it has one there; the last falls out."""
    at = len(near.distance)
    while at and (
        distance < near.distance[at - 1] or (distance == near.distance[at - 1] and position < near.position[at - 1])
    ):
        at -= 1
        if at + 1 < len(near.distance):
            near.distance[at + 1] = near.distance[at]
            near.place[at + 1] = near.place[at]
            near.position[at + 1] = near.position[at]
    if at < len(near.distance):
        near.distance[at], near.place[at], near.position[at] = distance, place, position


@_part_of_it
def _farthest_sum(metric: Metric, near: Near, margin: float) -> Any:
    """The largest sum whose donor may still be among the nearest."""
    farthest = near.distance[-1] / metric.unit + margin
    return np.float32(farthest + 1e-6 * abs(farthest))  # never rounded down


@_part_of_it
def _compare(
    metric: Metric, row: Floats, values: Floats, positions: Ints, begin: int, sums: Any, margin: float, near: Near
) -> None:
    """Offer the row the donors from place ``begin`` on that their sums do not rule out."""
    farthest = _farthest_sum(metric, near, margin)
    n_left = 0
    for i in range(len(sums)):  # counted first: that is quick, and mostly there are none
        n_left += not sums[i] > farthest
    if not n_left:
        return
    likely = int(np.argmin(sums))  # before the others: it probably rules most of them out
    _insert(near, _distance(metric, row, values[begin + likely]), begin + likely, positions[begin + likely])
    farthest = _farthest_sum(metric, near, margin)
    for i in range(len(sums)):
        # Not <=: what became of numbers too large for float32 is ruled out by nothing.
        if not sums[i] > farthest and i != likely:
            _insert(near, _distance(metric, row, values[begin + i]), begin + i, positions[begin + i])
            farthest = _farthest_sum(metric, near, margin)


@_part_of_it
def _push(bounds: Floats, nodes: Ints, size: int, bound: float, node: int) -> None:
    """Add a box to the queue, a binary heap of ``size`` boxes with the nearest on top."""
    at = size
    while at and bounds[(at - 1) // 2] > bound:
        bounds[at], nodes[at] = bounds[(at - 1) // 2], nodes[(at - 1) // 2]
        at = (at - 1) // 2
    bounds[at], nodes[at] = bound, node


@_part_of_it
def _pop(bounds: Floats, nodes: Ints, size: int) -> int:
    """Take the nearest box off the queue."""
    nearest, bound, node = nodes[0], bounds[size - 1], nodes[size - 1]
    at, child = 0, 1
    while child < size - 1:
        if child + 1 < size - 1 and bounds[child + 1] < bounds[child]:
            child += 1
        if bounds[child] >= bound:
            break
        bounds[at], nodes[at] = bounds[child], nodes[child]
        at, child = child, 2 * child + 1
    bounds[at], nodes[at] = bound, node
    return nearest


@_compiled(
    types.void(
        _read(types.float64, 2, "A"),
        _read(types.int64, 1, "A"),
        _METRIC,
        _read(types.float64, 2, "A"),
        _read(types.int64, 1, "A"),
        _SKETCH,
        _NEAR,
    )
)
def search(
    rows: Floats, asking: Ints, metric: Metric, values: Floats, positions: Ints, sketch: Sketch, found: Near
) -> None:
    """Improve what the rows that ask have found by the donors of one group, each row by itself.

    ``values`` and ``positions`` are those of all donors. ``found`` is filled in.
    """
    starts, levels, low, high, has_missing = sketch.starts, sketch.levels, sketch.low, sketch.high, sketch.has_missing
    queue, nodes = np.empty(levels[-1]), np.empty(levels[-1], dtype=np.int64)
    room, bounds = np.empty(np.diff(starts).max(), dtype=np.float32), np.empty(FAN_OUT)
    n_features = rows.shape[1]
    for line in asking:
        row = rows[line]
        near = Near(found.distance[line], found.place[line], found.position[line])
        queue[0], nodes[0], size = 0.0, levels[-2], 1
        # A box at exactly the largest distance may hold an equally near donor that comes first in training.
        while size and queue[0] <= near.distance[-1]:
            node = _pop(queue, nodes, size)
            size -= 1
            if node < levels[1]:
                begin, end = starts[node], starts[node + 1]
                own = sketch.codes[(begin - starts[0]) * n_features : (end - starts[0]) * n_features]
                sums = room[: end - begin]
                block, at = node // FAN_OUT, node % FAN_OUT
                margin = _sum_bytes(
                    metric, row, low[block, :, at], high[block, :, at], has_missing[block, :, at], own, sums
                )
                _compare(metric, row, values, positions, begin, sums, margin, near)
                continue
            level = np.searchsorted(levels, node, side="right") - 1
            first = (node - levels[level]) * FAN_OUT  # of its boxes in the level below
            begin = levels[level - 1] + first
            block = begin // FAN_OUT
            _bound_boxes(metric, row, low[block], high[block], has_missing[block], bounds)
            for i in range(min(FAN_OUT, sketch.sizes[level - 1] - first)):
                if bounds[i] <= near.distance[-1]:
                    _push(queue, nodes, size, bounds[i], begin + i)
                    size += 1
