"""From a counterfactual that may not be handed out, a training row as it is, back towards the row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.search.answers import Points, by_row
from nicecf.search.distance import Heom
from nicecf.search.question import Question
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs


def step_back(question: Question, points: Points, *, distance: Heom, is_refused: Callable[[Floats], Bools]) -> Points:
    """Put one more feature back to the row's own, where the decision stays, and again if that is a training row too.

    Of several the one that is nearest to its row, on a tie the leftmost feature. Returns those of the points for which
    there is a way.
    """
    # All ways back of some points at a time: as many rows as the model is asked about at once.
    block = max(1, CELLS_PER_CALL // max(1, points.values.shape[1]) ** 2)
    done = [
        _taken_back(question, points.take(slice(at, at + block)), distance, is_refused)
        for at in range(0, len(points.row), block)
    ]
    return by_row([points.take(slice(0, 0)), *done])


def _taken_back(question: Question, points: Points, distance: Heom, is_refused: Callable[[Floats], Bools]) -> Points:
    """Take some of the points back; those for which there is a way."""
    row, values, outputs = points.row, points.values.copy(), points.outputs.copy()
    left, done = np.arange(len(row)), np.empty(0, dtype=np.intp)
    # Ends: every turn puts back a feature of each point that is left.
    while len(left):
        at, hybrids = _one_step_back(question, row[left], values[left])
        own = row[left][at]
        reached, is_known = question.score.in_time(hybrids) if len(hybrids) else (outputs[:0], np.ones(0, dtype=bool))
        is_good = ~np.isin(at, at[~is_known])  # a point for which there is no time has no way back
        is_good[is_good] = question.accepts(own[is_good], hybrids[is_good], reached[is_good])
        is_good &= differs(question.rows[own], hybrids).any(axis=1)
        at, hybrids, reached, own = at[is_good], hybrids[is_good], reached[is_good], own[is_good]
        refused = is_refused(hybrids)
        # Of each point the best: one that may be handed out, then the nearest.
        order = np.lexsort((distance.between(question.rows[own], hybrids), refused, at))
        here, first = np.unique(at[order], return_index=True)
        best = order[first]
        values[left[here]], outputs[left[here]] = hybrids[best], reached[best]
        done = np.concatenate([done, left[here[~refused[best]]]])
        left = left[here[refused[best]]]
    return replace(points, values=values, outputs=outputs).take(np.sort(done))


def _one_step_back(question: Question, row: Ints, values: Floats) -> tuple[Ints, Floats]:
    """All hybrids in which one more feature is the row's own, with all that belong together with it."""
    rows = question.rows[row]
    changed = differs(rows, values)
    at, feature = np.nonzero(question.groups.first(changed))
    goes_back = question.groups.moving(feature, changed[at])
    return at, np.where(goes_back, rows[at], values[at])
