"""What a search hands over: counterfactuals of rows, with the donors they lean on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf._typing import Floats, Ints, Objects
from nicecf.search.greedy import Walks


@dataclass(frozen=True, eq=False)
class Points:
    """Counterfactuals, several for a row where asked for: ``row`` tells whose; ``donor`` is a place in the index."""

    row: Ints
    donor: Ints
    values: Floats
    probabilities: Floats


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


def one_for_each(donors: Ints, walks: Walks) -> Answers:
    """The paper's answers: one walk for each row."""
    notes = np.full(len(donors), None, dtype=object)
    notes[walks.is_cut] = "time_budget was used up before the walk ended: this is the donor itself"
    return Answers(Points(np.arange(len(donors)), donors, walks.values, walks.probabilities), walks, notes)
