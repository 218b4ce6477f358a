"""From a counterfactual that may not be handed out, a training row as it is, back towards the row."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from nicecf._typing import Bools, Floats, Ints
from nicecf.classifier import CELLS_PER_CALL
from nicecf.decision import Jury
from nicecf.distance import Heom
from nicecf.schema import differs
from nicecf.scorer import OutOfTime, Scorer
from nicecf.search.answers import Points
from nicecf.search.donors import Seekers


def step_back(
    seekers: Seekers,
    points: Points,
    *,
    jury: Jury,
    score: Scorer,
    distance: Heom,
    is_refused: Callable[[Floats], Bools],
) -> Points:
    """Put one more feature back to the row's own, where the decision stays, and again if that is a training row too.

    Of several the one that is nearest to its row, on a tie the leftmost feature. Returns those of the points for which
    there is a way.
    """
    values, outputs = points.values.copy(), points.outputs.copy()
    # All ways back of some points at a time: as many rows as the model is asked about at once.
    block = max(1, CELLS_PER_CALL // max(1, values.shape[1]) ** 2)
    done = [
        _taken_back(seekers, points.row, values, outputs, some, jury, score, distance, is_refused)
        for some in (np.arange(at, min(at + block, len(values))) for at in range(0, len(values), block))
    ]
    found = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *done]))
    return Points(points.row[found], points.donor[found], values[found], outputs[found])


def _taken_back(
    seekers: Seekers,
    row: Ints,
    values: Floats,
    outputs: Floats,
    left: Ints,
    jury: Jury,
    score: Scorer,
    distance: Heom,
    is_refused: Callable[[Floats], Bools],
) -> Ints:
    """Take some of the points back, in place; those for which there is a way."""
    done = np.empty(0, dtype=np.intp)
    with suppress(OutOfTime):
        # Ends: every turn puts back a feature of each point that is left.
        while len(left):
            at, hybrids = _one_step_back(seekers, row[left], values[left])
            own = row[left][at]
            reached = score(hybrids) if len(hybrids) else outputs[:0]
            is_good = jury.accepts(reached, seekers.wanted[own]) & differs(seekers.rows[own], hybrids).any(axis=1)
            at, hybrids, reached, own = at[is_good], hybrids[is_good], reached[is_good], own[is_good]
            refused = is_refused(hybrids)
            # Of each point the best: one that may be handed out, then the nearest.
            order = np.lexsort((distance.between(seekers.rows[own], hybrids), refused, at))
            here, first = np.unique(at[order], return_index=True)
            best = order[first]
            values[left[here]], outputs[left[here]] = hybrids[best], reached[best]
            done = np.concatenate([done, left[here[~refused[best]]]])
            left = left[here[refused[best]]]
    return done


def _one_step_back(seekers: Seekers, row: Ints, values: Floats) -> tuple[Ints, Floats]:
    """All hybrids in which one more feature is the row's own, with all that belong together with it."""
    rows = seekers.rows[row]
    changed = differs(rows, values)
    at, feature = np.nonzero(seekers.groups.first(changed))
    goes_back = seekers.groups.moving(feature, changed[at])
    return at, np.where(goes_back, rows[at], values[at])
