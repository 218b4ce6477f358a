"""Walks: the steps from rows towards their donors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs


@dataclass(frozen=True, eq=False)
class Walks:
    """Where the walks ended, and how they got there.

    ``values`` and ``outputs`` have one line per walk; ``is_cut`` where time was up before the end, so that the
    walk jumped to the donor. The steps are a long table, ordered by round: at
    ``step[i]`` the walk ``walk[i]`` took the donor's value of ``feature[i]`` and reached ``reached[i]``.
    """

    values: Floats
    outputs: Floats
    walk: Ints
    feature: Ints
    step: Ints
    reached: Floats
    is_cut: Bools

    def take(self, walks: Ints) -> Walks:
        """Some of the walks, in the order asked for."""
        number = np.full(len(self.values), -1)
        number[walks] = np.arange(len(walks))
        kept = np.flatnonzero(number[self.walk] >= 0)
        return Walks(
            self.values[walks],
            self.outputs[walks],
            number[self.walk[kept]],
            self.feature[kept],
            self.step[kept],
            self.reached[kept],
            self.is_cut[walks],
        )


def jump(rows: Floats, donors: Floats, donor_outputs: Floats) -> Walks:
    """The paper's NICE(none): all of the donor's values at once, in one step."""
    walk, feature = np.nonzero(differs(rows, donors))
    not_cut = np.zeros(len(rows), dtype=bool)
    return Walks(donors, donor_outputs, walk, feature, np.ones_like(walk), donor_outputs[walk], not_cut)


def walks_of(values: Floats, outputs: Floats, steps: list[tuple[Ints, Ints, Floats]]) -> Walks:
    """Walks that ended at some values, of the steps of each round: walk, feature and outputs reached."""
    nothing = np.empty(0, dtype=np.intp)
    return Walks(
        values,
        outputs,
        np.concatenate([nothing, *(moved for moved, _, _ in steps)]),
        np.concatenate([nothing, *(swapped for _, swapped, _ in steps)]),
        np.concatenate([nothing, *(np.full(len(moved), k) for k, (moved, _, _) in enumerate(steps, start=1))]),
        np.concatenate([np.empty((0, outputs.shape[1])), *(reached for _, _, reached in steps)]),
        np.zeros(len(values), dtype=bool),
    )


def cut_short(walks: Walks, active: Ints, rows: Floats, donors: Floats, donor_outputs: Floats) -> Walks:
    """The walks, but those that are still active jump to their donors instead."""
    is_cut = walks.is_cut.copy()
    is_cut[active] = True
    jumps = jump(rows, donors, donor_outputs)
    kept, jumped = ~is_cut[walks.walk], is_cut[jumps.walk]

    def steps(name: str) -> Any:
        return np.concatenate([getattr(walks, name)[kept], getattr(jumps, name)[jumped]])

    values = np.where(is_cut[:, None], donors, walks.values)
    outputs = np.where(is_cut[:, None], donor_outputs, walks.outputs)
    return Walks(values, outputs, steps("walk"), steps("feature"), steps("step"), steps("reached"), is_cut)
