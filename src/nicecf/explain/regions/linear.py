"""Boxes that are proven for linear models: what all corners of a box have, every point of it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from nicecf.explain.regions.rooms import Room
from nicecf.models.linear import LinearModel
from nicecf.results.box import Side
from nicecf.support.types import Bools, Floats

# How many corners a box may have; a feature that would make more of them keeps its value.
MOST_CORNERS = 1024
# Ends that are tried in one call of the model.
_ENDS_AT_ONCE = 15
# How many steps away the first ends are that are tried.
_STEPS = np.exp2(np.arange(53.0))


@dataclass(eq=False)
class Linear:
    """Grows the box of one counterfactual. ``holds``: whether rows are accepted, and clearly."""

    after: Floats
    decided: int
    model: LinearModel
    holds: Callable[[Floats], Bools]

    def grown(self, rooms: list[Room]) -> list[Side]:
        """The sides, each as wide as the others allow, in the order of the changes."""
        sides = [_single(room) for room in rooms]
        for at, room in enumerate(rooms):
            if _n_corners(sides, at) * (2 if room.codes is None else 1) > MOST_CORNERS:
                continue
            if room.codes is not None:
                is_valid = self._hold(sides, at, room.codes[1:])
                sides[at] = replace(sides[at], codes=(room.after, *room.codes[1:][is_valid].tolist()))
                while _n_corners(sides, -1) > MOST_CORNERS:  # ends: one category is enough
                    sides[at] = replace(sides[at], codes=(sides[at].codes or ())[:-1])
                continue
            for way in (-1, 1) if room.before < room.after else (1, -1):
                end = self._end(sides, at, room, way)
                sides[at] = replace(sides[at], low=end) if way < 0 else replace(sides[at], high=end)
        return sides

    def _end(self, sides: list[Side], at: int, room: Room, way: int) -> float:
        """How far the box reaches to one side of a feature: a number that the column is written with, or no end."""
        limit = room.high if way > 0 else room.low
        if (way * self.model.slopes(room.position, self.decided) >= 0).all():
            if np.isinf(limit):
                return limit
            last = room.scale.down(limit) if way > 0 else room.scale.up(limit)
            return last if (last - room.after) * way > 0 else room.after
        ends = self._within(room, way, _STEPS)
        steps = _STEPS[: len(ends)]
        is_valid = self._hold(sides, at, ends)
        n_valid = len(ends) if is_valid.all() else int(np.argmin(is_valid))
        least = float(steps[n_valid - 1]) if n_valid else 0.0
        most = float(steps[n_valid]) if n_valid < len(steps) else (2 * least if least else 1.0)
        while most - least > 1:  # ends: what is between them gets less
            tried = np.unique(np.floor(np.linspace(least, most, _ENDS_AT_ONCE + 2)[1:-1]))
            tried = tried[tried > least]
            ends = self._within(room, way, tried)
            is_valid = self._hold(sides, at, ends)
            n_valid = len(ends) if is_valid.all() else int(np.argmin(is_valid))
            most = float(tried[n_valid]) if n_valid < len(tried) else most
            least = float(tried[n_valid - 1]) if n_valid else least
        return float(self._within(room, way, np.array([least]))[0]) if least else room.after

    @staticmethod
    def _within(room: Room, way: int, steps: Floats) -> Floats:
        """Ends some steps away from the value next to the new one, as far as they are in the room."""
        start = room.scale.down(room.after) if way > 0 else room.scale.up(room.after)
        ends = room.scale.moved(start, way * steps)
        is_in = (ends >= room.low) & (ends <= room.high) & ((ends - room.after) * way > 0)
        return ends[: len(ends) if is_in.all() else int(np.argmin(is_in))]

    def _hold(self, sides: list[Side], at: int, values: Floats) -> Bools:
        """Whether all corners hold that the box has with each of some values of one feature."""
        if not len(values):
            return np.zeros(0, dtype=bool)
        # What is open to both sides makes no difference.
        others = [
            (self.after[side.feature],) if k == at else _ends(side) or (self.after[side.feature],)
            for k, side in enumerate(sides)
        ]
        corners = list(product(*others))
        rows = np.tile(self.after, (len(values), len(corners), 1))
        for k, side in enumerate(sides):
            rows[:, :, side.feature] = np.array([one[k] for one in corners])
        rows[:, :, sides[at].feature] = values[:, None]
        held = self.holds(rows.reshape(-1, rows.shape[2]))
        return np.asarray(held.reshape(len(values), len(corners)).all(axis=1))


def _single(room: Room) -> Side:
    if room.codes is not None:
        return Side(room.position, np.nan, np.nan, (room.after,))
    return Side(room.position, room.after, room.after)


def _ends(side: Side) -> tuple[float, ...]:
    """Where the corners of a box are; towards an open end the answer only becomes clearer."""
    if side.codes is not None:
        return side.codes
    return tuple(dict.fromkeys(end for end in (side.low, side.high) if np.isfinite(end)))


def _n_corners(sides: list[Side], but: int) -> int:
    return int(np.prod([max(1, len(_ends(side))) for at, side in enumerate(sides) if at != but]))
