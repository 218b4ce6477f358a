"""The searches of a baseline, one for each row, run side by side: one model call answers all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from nicecf.baselines.baseline import Found
from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.search.lock_step import RowSteps, in_lock_step
from nicecf.search.question import Question
from nicecf.support.phrases import Statement
from nicecf.support.types import Floats

# The search of a row: returns a counterfactual or, as a statement, why there is none.
RowSearch: TypeAlias = RowSteps[Floats | Statement]


def found_row_by_row(question: Question, begin: Callable[[int], RowSearch], *, values_each: int) -> Found:
    """Run the searches of all rows of a question; ``begin`` starts that of a line.

    So many run at a time that their questions, of about ``values_each`` values each, fit into one model call.
    """
    found = Found.nothing(question)
    at_once = max(1, CELLS_PER_CALL // (values_each * question.rows.shape[1]))
    searches = ((line, begin(line)) for line in range(len(question)))
    is_ended = np.zeros(len(question), dtype=bool)
    for n_done, one in enumerate(in_lock_step(searches, question.score, at_once=at_once), start=1):
        is_ended[one.label] = not one.is_cut
        if isinstance(one.result, Statement):
            found.reasons[one.label] = one.result
        elif one.result is not None:
            found.take(one.label, one.result)
        question.report(n_done)
    found.is_cut[:] = ~is_ended
    return found
