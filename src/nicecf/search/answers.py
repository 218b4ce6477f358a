"""What a search hands over: counterfactuals of rows, with the donors they lean on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf._typing import Floats, Ints, Objects
from nicecf.search.greedy import Walks


@dataclass(frozen=True, eq=False)
class Points:
    """Counterfactuals, several for a row where asked for: ``row`` tells whose; ``donor`` is a place in the index."""

    row: Ints
    donor: Ints
    values: Floats
    outputs: Floats


@dataclass(frozen=True, eq=False)
class Answers:
    """What was found for some rows.

    ``points`` are ordered by row, the best of each first, and ``walks`` has the steps to each. ``notes`` says for each
    row in words where less was done than asked for, or is None. ``front``: what nothing beats, if that is known.
    """

    points: Points
    walks: Walks
    notes: Objects
    front: Points | None = None

    def all_points(self) -> tuple[Floats, Floats]:
        """Values and outputs of all that can be handed out."""
        parts = [self.points] if self.front is None else [self.points, self.front]
        values, outputs = [part.values for part in parts], [part.outputs for part in parts]
        return np.concatenate(values), np.concatenate(outputs)

    def with_outputs(self, outputs: Floats) -> Answers:
        """The same with other outputs, in the order of `all_points`."""
        n = len(self.points.row)
        front = None if self.front is None else replace(self.front, outputs=outputs[n:])
        return replace(self, points=replace(self.points, outputs=outputs[:n]), front=front)


def one_for_each(donors: Ints, walks: Walks) -> Answers:
    """The paper's answers: one walk for each row."""
    notes = np.full(len(donors), None, dtype=object)
    notes[walks.is_cut] = "time_budget was used up before the walk ended: this is the donor itself"
    return Answers(Points(np.arange(len(donors)), donors, walks.values, walks.outputs), walks, notes)
