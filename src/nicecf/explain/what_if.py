"""What the models say of rows with other values, which somebody chose: nothing is searched for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nicecf.explain.ask import Call, ask
from nicecf.explain.fitted import Fitted
from nicecf.explain.pipeline import batch_of
from nicecf.explain.why_not import Reasons
from nicecf.results.batch import Batch
from nicecf.search.answers import Points, in_one_step, joined, nothing_said


def what_if(call: Call, fitted: Fitted, n_rows: int) -> Batch:
    """An entry for each of some rows, in which other values stand in the place of a counterfactual.

    The table of the call has the rows first, and then, in the same order, what they are to become. What follows from
    other columns is computed. Whether the decision changes is for the reader to see: all of them count as found.
    """
    question = ask(call, fitted)
    lines, others = np.arange(n_rows), np.arange(n_rows, 2 * n_rows)
    values = question.rows[others]
    points = Points(lines, np.full(n_rows, -1), values, question.score(values))
    own = in_one_step(question.rows[lines], points)
    answers = joined([(lines, own)], len(question))
    nothing = nothing_said(len(question))
    batch = batch_of(call, fitted, question, answers, Reasons(nothing, nothing), by_twin_alone=False)
    return replace(batch.take(np.flatnonzero(batch.rows < n_rows)), front=None)
