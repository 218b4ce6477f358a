"""What the models say of every training row: in large calls, or if they are slow in short ones, with a bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from nicecf.exceptions import ModelError
from nicecf.explain.refused_rows import located
from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.models.decision import Panel
from nicecf.support.progress import Choice, is_off, reporting
from nicecf.support.types import Floats
from nicecf.tables.schema import Schema

# How many rows are asked about first, to see what a row takes; of fewer than so many all at once.
_FIRST, _FEW = 8, 100
# How many seconds a call may take, so that one sees it go on; if all rows take no longer than so many, none does.
_STEP, _QUICK = 2.0, 30.0
# How many training rows are tried to find one that the model accepts, where it raises for others.
_ROWS_TRIED = 5
_IF_LONG = "fit asks the model about every training row; a sample of them is often enough."


@dataclass(frozen=True, eq=False)
class AllAsked:
    """The ``outputs`` of all rows, and what they took: ``seconds``, in ``calls`` calls."""

    outputs: Floats
    seconds: float
    calls: int


def ask_about_all(panel: Panel, schema: Schema, values: Floats, progress: Choice) -> AllAsked:
    """Ask the models about all rows; with a bar, and with a warning if the rest will take more than a minute.

    Of quick models the calls do not depend on the clock, so that answers which depend on what is asked for together do
    not either: the few rows that were asked about first are then asked about again.
    """
    # An eighth at a time: what the model is handed is a copy, and the table should not be held twice for it.
    most = max(1, min(max(1000, len(values) // 8), CELLS_PER_CALL // values.shape[1], len(values)))
    taken: list[_Taken] = []
    parts: list[Floats] = []
    with reporting(progress, len(values), verb="fitting", unit="training rows", if_long=_IF_LONG) as report:
        is_quick = len(values) < _FEW or is_off(progress)
        done, n_next = 0, most if is_quick else _FIRST
        # Terminates: every turn asks about at least one row more, but for the first ones, which are asked about twice.
        while done < len(values):
            rows = values[done : done + n_next]
            start = perf_counter()
            # What is handed out later is decoded from floats: so is what is recorded here. The two cannot differ.
            try:
                parts.append(panel.outputs(schema.decode(rows), len(rows)))
            except ModelError as error:
                known = schema.expand(values[np.linspace(0, len(values) - 1, _ROWS_TRIED).astype(np.intp)])
                raise located(error, panel, schema.full, schema.expand(rows), known, first=done) from error.__cause__
            taken.append(_Taken(perf_counter() - start, len(rows)))
            done += len(rows)
            is_first = len(taken) == 1 and n_next < most
            n_next = most if is_quick else min(most, _rows_in_a_step(taken))
            if is_first and (n_next == most or taken[0].seconds / taken[0].rows * len(values) <= _QUICK):
                taken, parts, done, n_next, is_quick = [], [], 0, most, True
            else:
                report(done)
    return AllAsked(np.concatenate(parts), sum(one.seconds for one in taken), len(parts))


@dataclass(frozen=True)
class _Taken:
    """What a call took, for so many rows."""

    seconds: float
    rows: int


def _rows_in_a_step(taken: Sequence[_Taken]) -> int:
    """How many rows the next call may have: of the first call, nobody knows yet how much of its time was for rows."""
    last = taken[-1]
    row = last.seconds / last.rows
    if len(taken) > 1 and last.rows != taken[0].rows:
        row = max(0.0, (last.seconds - taken[0].seconds) / (last.rows - taken[0].rows))
    return max(1, int(min(_STEP / max(row, 1e-9), 1e9)))
