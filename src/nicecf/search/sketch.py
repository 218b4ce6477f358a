"""What the compiled donor search reads beside the donors: boxes of boxes, and a byte for each value.

Made when an index is first searched, and only where the compiled search is used: `pip install 'nicecf[fast]'`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from nicecf.search.distance import Heom
from nicecf.support.types import Bools, Floats, Ints

# NICECF_COMPILED=0 never compiles, 1 always does; anything else leaves it to the size of the table.
SWITCH = "NICECF_COMPILED"
# Below, a search takes well under a millisecond anyway, and a process would wait for numba longer than it gains.
FEWEST_DONORS = 10_000
# Boxes in a box of the next level.
FAN_OUT = 16

Codes: TypeAlias = npt.NDArray[np.uint8]


class Boxes(Protocol):
    """The leaves of a group of donors: `neighbors.Leaves`."""

    @property
    def starts(self) -> Ints: ...
    @property
    def low(self) -> Floats: ...
    @property
    def high(self) -> Floats: ...
    @property
    def has_missing(self) -> Bools: ...


def compiled_for(n_donors: int) -> Any:
    """The compiled search (`kernel`) if it pays for so many donors; None if it does not, or numba is not installed."""
    switch = os.environ.get(SWITCH)
    if switch == "0" or (switch != "1" and n_donors < FEWEST_DONORS):
        return None
    return _kernel()


@cache
def _kernel() -> Any:
    try:
        return import_module("nicecf.search.kernel")
    except ModuleNotFoundError as error:
        if error.name != "numba":
            raise
    except ImportError as error:  # as when numba is too old for this numpy
        warnings.warn(f"nicecf searches donors without numba, which cannot be imported: {error}", stacklevel=2)
    return None


class Metric(NamedTuple):
    """A distance: the features that count, in their order; the scales and weights of all features.

    Sums of bytes are in units of ``unit``, the largest weight, so that no weight is too large for float32.
    """

    columns: Ints
    scales: Floats
    weights: Floats
    unit: float
    weights_in_units: Floats

    @classmethod
    def of(cls, distance: Heom, is_fixed: Bools) -> Metric:
        """The distance without some features."""
        weights = np.ones(len(is_fixed)) if distance.weights is None else distance.weights.copy()
        unit = float(weights[~is_fixed].max(initial=0.0)) or 1.0
        return cls(np.flatnonzero(~is_fixed), distance.scales.copy(), weights, unit, weights / unit)


class Near(NamedTuple):
    """The nearest donors so far, by distance and then position: of rows, of shape (rows, k), or of one row."""

    distance: Floats
    place: Ints
    position: Ints


class Sketch(NamedTuple):
    """The donors of one group.

    ``starts``: as in the leaves. ``low``, ``high`` and ``has_missing``, of shape (blocks, features, `FAN_OUT`), are the
    boxes of the leaves, then those around each block of them, and so on up to one box around all: a row that looks into
    a box reads one piece of memory. ``levels`` says where each level begins, counted in boxes, and where all end;
    ``sizes`` how many boxes it has, as its last block may not be full. ``codes``: see `kernel.encode`.
    """

    starts: Ints
    levels: Ints
    sizes: Ints
    low: Floats
    high: Floats
    has_missing: Bools
    codes: Codes

    @classmethod
    def of(cls, values: Floats, leaves: Boxes, by_equality: Bools, codes: Codes | None = None) -> Sketch:
        """Sketch the donors of some leaves; there must be at least one. ``codes``: if a file has them already."""
        levels = list(_levels(leaves))
        low, high, has_missing = (np.concatenate([_in_blocks(one) for one in of]) for of in zip(*levels, strict=True))
        starts = leaves.starts.astype(np.int64)
        sizes = np.array([len(boxes) for boxes, _, _ in levels], dtype=np.int64)
        ends = np.cumsum(-(-sizes // FAN_OUT) * FAN_OUT)
        room = np.empty((starts[-1] - starts[0]) * values.shape[1], dtype=np.uint8) if codes is None else codes
        sketch = cls(starts, np.concatenate([[0], ends]), sizes, low, high, has_missing, room)
        if codes is None:
            _kernel().encode(values, by_equality, sketch)
        return sketch


def _levels(leaves: Boxes) -> Iterator[tuple[Floats, Floats, Bools]]:
    """The boxes of each level, from the leaves to one around all. Leaves that were cut last stand side by side."""
    low, high, has_missing = leaves.low, leaves.high, leaves.has_missing
    yield low, high, has_missing
    while len(low) > 1:
        first = np.arange(0, len(low), FAN_OUT)
        low, high = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
        has_missing = np.logical_or.reduceat(has_missing, first)
        yield low, high, has_missing


def _in_blocks(boxes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sides of boxes, of shape (boxes, features), as (blocks, features, FAN_OUT); the last block is filled up."""
    n_blocks = -(-len(boxes) // FAN_OUT)
    blocks = np.zeros((n_blocks * FAN_OUT, boxes.shape[1]), dtype=boxes.dtype)
    blocks[: len(boxes)] = boxes
    return np.ascontiguousarray(blocks.reshape(n_blocks, FAN_OUT, -1).swapaxes(1, 2))


@dataclass(frozen=True, eq=False)
class Sketches:
    """The sketches of all groups of an index, made when the first of them is needed.

    They do not depend on weights, so that an index may share them with one that weighs features otherwise. ``codes``:
    those of all donors, if a file has them.
    """

    values: Floats
    positions: Ints
    leaves: Sequence[Boxes]
    by_equality: Bools
    codes: Codes | None = None

    def __reduce__(self) -> Any:
        return Sketches, (self.values, self.positions, self.leaves, self.by_equality)  # what is made is made again

    def _codes_of(self, leaves: Boxes) -> Codes | None:
        width = self.values.shape[1]
        return None if self.codes is None else self.codes[leaves.starts[0] * width : leaves.starts[-1] * width]

    @cached_property
    def of_groups(self) -> tuple[Sketch | None, ...]:
        """One sketch for each group that has donors."""
        return tuple(
            Sketch.of(self.values, leaves, self.by_equality, self._codes_of(leaves)) if len(leaves.low) else None
            for leaves in self.leaves
        )

    def search(self, metric: Metric, rows: Floats, wanted: Bools, found: Near) -> None:
        """Fill in the nearest donors of each row among those of the groups that are wanted of it."""
        for group, sketch in enumerate(self.of_groups):
            asking = np.flatnonzero(wanted[:, group])
            if sketch is not None and len(asking):
                _kernel().search(rows, asking, metric, self.values, self.positions, sketch, found)
