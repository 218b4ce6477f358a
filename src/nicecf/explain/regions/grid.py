"""Boxes of cells: grown cell by cell, in the order of the changes, first towards the row and then away from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np

from nicecf.explain.regions.rooms import Room
from nicecf.results.box import Side
from nicecf.support.types import Bools, Floats, Ints

# Whether whole rows in the place of a counterfactual are as good as it is.
Holds = Callable[[Floats], Bools]


@dataclass(frozen=True, eq=False)
class Axis:
    """The cells of one changed feature, each with all its values, and one that stands for them.

    ``own``: the cell of the new value. Categories have no order: the new one is the first.
    """

    room: Room
    points: Floats
    low: Floats
    high: Floats
    own: int

    @property
    def is_ordered(self) -> bool:
        """Whether the cells are those of a number."""
        return self.room.codes is None

    @classmethod
    def of_categories(cls, room: Room) -> Axis:
        """A cell for each category that may be taken."""
        assert room.codes is not None
        return cls(room, room.codes, room.codes, room.codes, 0)

    def side(self, chosen: Ints) -> Side:
        """What the chosen cells are as a side of a box, in numbers that the column is written with."""
        room = self.room
        if not self.is_ordered:
            return Side(room.position, np.nan, np.nan, tuple(self.points[chosen].tolist()))
        first, last = chosen[0], chosen[-1]
        low, high = float(self.low[first]), float(self.high[last])
        # A cell of one value is that value, with all its digits.
        low = low if low == self.high[first] else room.scale.up(low)
        high = high if high == self.low[last] else room.scale.down(high)
        return Side(room.position, min(low, room.after), max(high, room.after))


class Judge(Protocol):
    """Tells which cells of one axis can be added to a box."""

    def valid(self, axes: list[Axis], box: list[Ints], at: int, cells: Ints, *, in_order: bool) -> Bools:
        """Whether all is valid that each of the cells of axis ``at`` makes with the box in all other axes.

        ``in_order``: the first that is not valid ends it: nothing need be known of those behind it.
        """


def grown(axes: list[Axis], judge: Judge) -> list[Ints]:
    """The cells of the box, for each axis: those that all hold together."""
    box: list[Ints] = [np.array([axis.own], dtype=np.intp) for axis in axes]
    for at, axis in enumerate(axes):
        if not axis.is_ordered:
            cells = np.arange(1, len(axis.points))
            box[at] = np.append(box[at], cells[judge.valid(axes, box, at, cells, in_order=False)])
            continue
        down, up = np.arange(axis.own)[::-1], np.arange(axis.own + 1, len(axis.points))
        for cells in (down, up) if axis.room.before < axis.room.after else (up, down):
            is_valid = judge.valid(axes, box, at, cells, in_order=True)
            run = cells[: len(cells) if is_valid.all() else int(np.argmin(is_valid))]
            box[at] = np.sort(np.append(box[at], run))
    return box


def rows_of(after: Floats, axes: list[Axis], cells: Iterator[tuple[int, ...]] | list[tuple[int, ...]]) -> Floats:
    """Counterfactuals with other cells, one for each tuple of a cell for every axis."""
    some = list(cells)
    rows = np.tile(after, (len(some), 1))
    for at, axis in enumerate(axes):
        here = np.array([one[at] for one in some], dtype=np.intp)
        rows[:, axis.room.position] = np.where(here == axis.own, axis.room.after, axis.points[here])
    return rows


@dataclass(eq=False)
class Asked:
    """Asks about every point of a box: what a model answers between two of them, nobody knows.

    ``left``: how many rows may still be asked about; what would take more is not added.
    """

    after: Floats
    holds: Holds
    left: int

    def valid(self, axes: list[Axis], box: list[Ints], at: int, cells: Ints, *, in_order: bool) -> Bools:
        is_valid = np.zeros(len(cells), dtype=bool)
        others = [chosen.tolist() for chosen in box]
        per_cell = int(np.prod([len(one) for k, one in enumerate(others) if k != at]))
        done, size = 0, 16
        while done < len(cells):  # ends: every round looks at cells, or returns
            n_cells = min(size, len(cells) - done, self.left // per_cell)
            if not n_cells:
                return is_valid
            some = cells[done : done + n_cells].tolist()
            rows = rows_of(self.after, axes, list(product(*(some if k == at else one for k, one in enumerate(others)))))
            self.left -= len(rows)
            held = self.holds(rows).reshape([len(some if k == at else one) for k, one in enumerate(others)])
            is_valid[done : done + n_cells] = np.moveaxis(held, at, 0).reshape(n_cells, -1).all(axis=1)
            done, size = done + n_cells, 4 * size
            if in_order and not is_valid[:done].all():
                return is_valid
        return is_valid


def observed(room: Room, values: Floats) -> Axis:
    """A cell for each value that a training row holds, within the room of a feature."""
    inside = values[(values >= room.low) & (values <= room.high)]
    points = np.unique(np.append(inside, room.after))
    return Axis(room, points, points, points, int(np.searchsorted(points, room.after)))
