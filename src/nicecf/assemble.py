"""What a search found -> Counterfactuals: one entry for each counterfactual, and one for each row without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from nicecf._typing import Bools, Floats, Objects, Table
from nicecf.decision import Jury
from nicecf.distance import Heom
from nicecf.long_tables import Front, Steps
from nicecf.origin import Origin
from nicecf.result import Counterfactuals
from nicecf.schema import Schema
from nicecf.search.answers import Answers, Points


def answer(
    *,
    X: Table,
    schema: Schema,
    rows: Floats,
    before: Floats,
    is_found: Bools,
    reasons: Objects,
    relaxations: Objects,
    answers: Answers,
    jury: Jury,
    distance: Heom,
    error: Callable[[Floats], Floats] | None,
    model_calls: int,
    model_rows: int,
    several: bool,
    origin: Origin,
) -> Counterfactuals:
    """Put a result together.

    Rows without answers have none, or (``is_found``) need none. Donors are positions in the training data, -1 for
    none. ``before`` are the outputs for the rows; ``error`` measures the plausibility of float rows.
    """
    points = answers.points
    still = np.setdiff1d(np.arange(len(rows)), points.row)
    row = np.concatenate([still, points.row])
    order = np.argsort(row, kind="stable")
    row = row[order]

    def merged(others: Any, found: Any) -> Any:
        return np.concatenate([others, found])[order]

    values = merged(rows[still], points.values)
    after = merged(before[still], points.outputs)
    donors = merged(np.full(len(still), -1), points.donor)
    is_found = is_found[row]
    errors = np.full(len(row), np.nan)
    if error is not None and is_found.any():
        errors[is_found] = error(values[is_found])
    entry = np.empty(len(order), dtype=np.intp)
    entry[order] = np.arange(len(order))
    walks = answers.walks
    return Counterfactuals(
        found=is_found,
        reasons=reasons[row],
        relaxations=relaxations[row],
        notes=answers.notes[row],
        rows=row,
        donors=pd.arrays.IntegerArray(donors.astype(np.int64), donors < 0),
        classes=jury.classes,
        model_calls=model_calls,
        model_rows=model_rows,
        _X=X if not several else schema.container.take(X, row),
        _labels=schema.container.labels(X)[row],
        _schema=schema,
        _rows=rows[row],
        _values=values,
        _before=jury.probabilities(before)[row],
        _after=jury.probabilities(after),
        _decided=jury.decide(before)[row],
        _decided_after=jury.decide(after),
        _steps=Steps.of(
            len(row), entry[len(still) + walks.walk], walks.feature, walks.step, jury.probabilities(walks.reached)
        ),
        _distance=distance,
        _errors=errors,
        _front=None if answers.front is None else _front(len(rows), answers.front, jury, error),
        _several=several,
        _origin=origin,
        _numbers=np.arange(len(row)) - np.searchsorted(row, row),
    )


def _front(
    n_rows: int,
    points: Points,
    jury: Jury,
    error: Callable[[Floats], Floats] | None,
) -> Front:
    counts = np.bincount(points.row, minlength=n_rows)
    errors = np.full(len(points.row), np.nan) if error is None else error(points.values)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    return Front(
        starts,
        points.values,
        jury.probabilities(points.outputs),
        jury.decide(points.outputs),
        points.donor,
        errors,
    )
