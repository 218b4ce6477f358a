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
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nicecf.search.distance import Heom
from nicecf.support.types import Bools, Floats, Ints

# NICECF_COMPILED=0 never compiles, 1 always does; anything else leaves it to the size of the table.
SWITCH = "NICECF_COMPILED"
# Below, a search takes well under a millisecond anyway, and a process would wait for numba longer than it gains.
FEWEST_DONORS = 10_000


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


@dataclass(frozen=True, eq=False)
class Sketch:
    """The donors of one group, for the compiled search.

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
    codes: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, values: Floats, leaves: Boxes, by_equality: Bools, kernel: Any) -> Sketch:
        """Sketch the donors of some leaves; there must be at least one."""
        levels = list(_levels(leaves, kernel.FAN_OUT))
        low, high, has_missing = (
            np.concatenate([_in_blocks(boxes, kernel.FAN_OUT) for boxes in of_levels])
            for of_levels in zip(*levels, strict=True)
        )
        starts = leaves.starts.astype(np.int64)
        codes = np.empty((starts[-1] - starts[0]) * values.shape[1], dtype=np.uint8)
        kernel.encode(values, starts, low, high, by_equality, codes)
        sizes = np.array([len(boxes) for boxes, _, _ in levels], dtype=np.int64)
        ends = np.cumsum(-(-sizes // kernel.FAN_OUT) * kernel.FAN_OUT)
        return cls(starts, np.concatenate([[0], ends]), sizes, low, high, has_missing, codes)


def _levels(leaves: Boxes, fan_out: int) -> Iterator[tuple[Floats, Floats, Bools]]:
    """The boxes of each level, from the leaves to one around all. Leaves that were cut last stand side by side."""
    low, high, has_missing = leaves.low, leaves.high, leaves.has_missing
    yield low, high, has_missing
    while len(low) > 1:
        first = np.arange(0, len(low), fan_out)
        low, high = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
        has_missing = np.logical_or.reduceat(has_missing, first)
        yield low, high, has_missing


def _in_blocks(boxes: npt.NDArray[Any], fan_out: int) -> npt.NDArray[Any]:
    """Sides of boxes, of shape (boxes, features), as (blocks, features, fan_out); the last block is filled up."""
    n_blocks = -(-len(boxes) // fan_out)
    blocks = np.zeros((n_blocks * fan_out, boxes.shape[1]), dtype=boxes.dtype)
    blocks[: len(boxes)] = boxes
    return np.ascontiguousarray(blocks.reshape(n_blocks, fan_out, -1).swapaxes(1, 2))


@dataclass(frozen=True, eq=False)
class Sketches:
    """The sketches of all groups of an index, made when the first of them is needed.

    They do not depend on weights, so that an index may share them with one that weighs features otherwise.
    """

    values: Floats
    positions: Ints
    leaves: Sequence[Boxes]
    by_equality: Bools

    def __reduce__(self) -> Any:
        return Sketches, (self.values, self.positions, self.leaves, self.by_equality)  # what is made is made again

    @cached_property
    def of_groups(self) -> tuple[Sketch | None, ...]:
        """One sketch for each group that has donors."""
        kernel = _kernel()
        return tuple(
            Sketch.of(self.values, leaves, self.by_equality, kernel) if len(leaves.low) else None
            for leaves in self.leaves
        )

    def search(
        self, distance: Heom, rows: Floats, wanted: Bools, is_fixed: Bools, into: tuple[Floats, Ints, Ints]
    ) -> None:
        """Fill in the nearest donors: distances, places and positions, of shape (rows, k); features may be left out."""
        columns = np.flatnonzero(~is_fixed)
        weights = np.ones(len(distance.scales)) if distance.weights is None else distance.weights
        for group, sketch in enumerate(self.of_groups):
            asking = np.flatnonzero(wanted[:, group])
            if sketch is None or not len(asking):
                continue
            _kernel().search(
                rows,
                asking,
                columns,
                distance.scales,
                weights,
                self.values,
                self.positions,
                *(
                    getattr(sketch, name)
                    for name in ("starts", "levels", "sizes", "low", "high", "has_missing", "codes")
                ),
                *into,
            )
