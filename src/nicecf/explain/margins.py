"""How high a margin can be for rows that have no answer within it: the highest probability that is known to be reached.

Candidates are training rows as a row may take them, those first of which the models are most certain; and, where
donors may be mixed, the best single changes of the row, alone and one after the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nicecf.explain.fitted import Neighborhood
from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.search.answers import Points, by_row, no_points
from nicecf.search.block import RowMoves
from nicecf.search.candidates import first_places
from nicecf.search.first_candidates import single_changes
from nicecf.search.question import Question
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs, with_own_cells

# Single changes of one row, roughly: so many rows at a time fit into memory; and how many are made together at most.
_CHANGES_PER_ROW, _TOGETHER = 4096, 64


def surest_donors(question: Question, near: Neighborhood, is_refused: Callable[[Floats], Bools], most: int) -> Points:
    """Return for each row the training row with the highest probability, of the ``most`` that scored best at ``fit``.

    The panel of ``question`` asks for no margin. A row that no training row helps has no point.
    """
    donors, panel = near.donors, question.panel
    found = [no_points(question.rows, question.outputs)]
    for line, wanted in enumerate(question.wanted):
        # Through rules, a training row may be accepted that is not as it is.
        is_donor = panel.accepts(donors.outputs, wanted) | (question.rules is not None)
        places = np.flatnonzero(is_donor)
        places = places[np.argsort(-panel.scores(donors.outputs[places], wanted), kind="stable")[:most]]
        lines, as_they_are = np.full(len(places), line), donors.index.values[places]
        seen = as_they_are if question.rules is None else question.rules.project(lines, as_they_are)
        values, is_new = with_own_cells(question.rows[lines], seen)
        is_new |= differs(values, as_they_are).any(axis=1)
        outputs = donors.outputs[places]
        if is_new.any():
            outputs[is_new] = question.score(values[is_new])
        found.append(_surest(question, Points(lines, places, values, outputs), is_refused))
    return by_row(found)


def surest_changes(question: Question, near: Neighborhood, is_refused: Callable[[Floats], Bools]) -> Points:
    """Return for each row the highest probability that its best single changes reach, alone or together."""
    block = max(1, CELLS_PER_CALL // (_CHANGES_PER_ROW * question.rows.shape[1]))
    found = [no_points(question.rows, question.outputs)]
    for start in range(0, len(question), block):
        some = question.take(np.arange(start, min(start + block, len(question))))
        moves = RowMoves(some.rows, near.donors.values, some.rules)
        singles = single_changes(moves)
        values = moves.from_rows(singles).values
        outputs = some.score(values) if len(values) else some.outputs[:0]
        gains = some.panel.scores(outputs, some.wanted[singles.of])
        of_feature = singles.of * some.rows.shape[1] + singles.feature
        best = first_places(of_feature, gains, len(some) * some.rows.shape[1], 1).ravel()
        best = best[best >= 0]
        places = first_places(singles.of[best], gains[best], len(some), _TOGETHER)
        order = best[places[places >= 0]]
        line, together = _one_after_the_other(
            some.rows, singles.of[order], singles.feature[order], singles.value[order]
        )
        line, together = np.concatenate([singles.of, line]), np.concatenate([values, together])
        outputs = some.score(together) if len(together) else outputs
        points = _surest(some, Points(line, np.full(len(line), -1), together, outputs), is_refused)
        found.append(Points(points.row + start, points.donor, points.values, points.outputs))
    return by_row(found)


def _one_after_the_other(rows: Floats, line: Ints, feature: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Return the rows after their first two changes, their first three, and so on; changes of one row are together."""
    is_made = (line[:, None] == line) & (np.arange(len(line)) <= np.arange(len(line))[:, None])
    values = rows[line]
    of, change = np.nonzero(is_made)
    values[of, feature[change]] = value[change]
    return line, values


def _surest(question: Question, points: Points, is_refused: Callable[[Floats], Bools]) -> Points:
    """Return the point of each row that all models accept with the highest probability."""
    row, values = points.row, points.values
    is_good = question.accepts(row, values, points.outputs) & question.keep_to_limit(row, values)
    is_good &= differs(question.rows[row], values).any(axis=1) & ~is_refused(values)
    points = points.take(np.flatnonzero(is_good))
    order = np.lexsort((-question.panel.confidence(points.outputs), points.row))
    return points.take(order[np.unique(points.row[order], return_index=True)[1]])
