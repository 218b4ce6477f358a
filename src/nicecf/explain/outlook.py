"""How long an ``explain`` call will take, before the search starts: by the columns that differ and what a row costs."""

from __future__ import annotations

import numpy as np

from nicecf.explain.ask import Call
from nicecf.explain.fitted import Fitted
from nicecf.search.question import Question
from nicecf.support.progress import warn_ahead
from nicecf.tables.schema import differs

# At least so many rows are sent to the model for each column in which a row differs from its donors. (Measured: 2 to 4
# by the greedy search, and by the thorough one 12 of 1,000 columns and 50 of 10.)
_ROWS_PER_COLUMN = {"greedy": 1, "thorough": 3, "exact": 3}
# By how many rows it is judged in how many columns they differ from training rows.
_ROWS_COMPARED = 50


def warn_of_wide(call: Call, question: Question, fitted: Fitted) -> bool:
    """Warn of a call that will take more than a minute, in the first step of its search; whether that was said.

    Rules may leave few columns that can change: then the first rows that are done must tell.
    """
    if call.if_long is None or fitted.neighborhood is None or any(part.rules is not None for part in question.parts):
        return False
    lines = np.flatnonzero(question.is_open)
    if not len(lines) or call.options.get("optimize") == "none":
        return False
    rows = question.rows[lines[:_ROWS_COMPARED], None]
    n_differ = float(differs(rows, fitted.models.canaries.values[None]).sum(axis=2).max(axis=1).mean())
    n_asked = n_differ * _ROWS_PER_COLUMN[call.options["search"]]
    # While fit measured what a row costs, the model may have been called for the first time, or the machine been busy.
    meter = question.score.meter
    each = min(meter.cost.row, meter.work / max(1, meter.rows))
    what = (
        f"explaining {len(lines):,} {'row' if len(lines) == 1 else 'rows'} (in {n_differ:,.0f} columns, with a model "
        f"that takes {1e3 * each:.2g} ms for a row)"
    )
    return warn_ahead(call.progress, len(lines) * n_asked * each, what, if_long=call.if_long)
