"""Rows to try an explainer with: drawn column by column from what training looked like, and never a training row."""

from __future__ import annotations

from typing import Any

import numpy as np

from nicecf.exceptions import NicecfError
from nicecf.nice import NICE
from nicecf.rules.privacy import Privacy
from nicecf.service.rows import RowReader
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.column import Column
from nicecf.tables.statistics import ColumnStatistics

_MOST, _TRIED = 36, 72
# For all of them: what is not explained by then does not become an example.
_SECONDS = 3.0


def examples_of(nice: NICE, reader: RowReader) -> list[dict[str, Any]]:
    """A few dozen rows that the explainer explains, of all decisions by turns, the rarest first.

    None, if it explains none that can be drawn.
    """
    fitted = nice._fitted
    assert fitted.neighborhood is not None
    schema, index = fitted.schema, fitted.neighborhood.donors.index
    rng = np.random.default_rng(0)
    columns = zip(schema.full.columns, fitted.statistics.columns, strict=True)
    drawn = np.column_stack([_drawn(column, looks, rng) for column, looks in columns])
    moving, is_known = schema.known(schema.full.rounded(drawn))
    moving = moving[is_known]
    training = np.concatenate([index.values, index.other_values])
    of_training = Privacy.of(training, share_donor=False, min_count=1)
    moving = moving[~of_training.is_training_row(moving)]
    if not len(moving):
        return []
    table = schema.full.decode(schema.expand(moving))
    try:
        chosen = _by_turns(*_explained(nice, table, len(moving)))[:_MOST]
    except NicecfError:  # a model that refuses such rows; they are only examples
        return []
    rows = reader.shown(table, len(moving))
    return [rows[at] for at in chosen.tolist()]


def example_target(nice: NICE) -> dict[str, Any]:
    """The parameters that a request needs at least: none, or scores of which a quarter of the training rows is."""
    if len(nice.classes_):
        return {}
    assert nice._fitted.neighborhood is not None
    scores = nice._fitted.panel.probabilities(nice._fitted.neighborhood.donors.outputs)[:, 0]
    return {"target_score": [float(f"{np.quantile(scores, 0.75):.2g}"), None]}


def _explained(nice: NICE, table: Any, n_rows: int) -> tuple[Bools, Ints]:
    """Which rows are explained, and what is decided on each."""
    cfs = nice.explain(table, **example_target(nice), time_budget=_SECONDS, progress=False)
    return cfs.found[:n_rows], cfs.batch.before.decided[:n_rows]


def _by_turns(is_good: Bools, decided: Ints) -> Ints:
    """The places of good rows: one of each decision, then the next of each, those that are rare first.

    >>> _by_turns(np.array([True, True, True, False, True]), np.array([1, 1, 1, 0, 0])).tolist()
    [4, 0, 1, 2]
    """
    places = np.flatnonzero(is_good)
    counts = np.bincount(decided[places])
    turn = np.array([np.count_nonzero(decided[places[:at]] == decided[one]) for at, one in enumerate(places)])
    return places[np.lexsort((places, counts[decided[places]], turn))] if len(places) else places


def _drawn(column: Column, looks: ColumnStatistics, rng: np.random.Generator) -> Floats:
    """Values of one column, by how often training had them; of free text, which is somebody's own, none."""
    counts = looks.counts.astype(np.float64)
    if column.is_free_text or counts.sum() + looks.n_missing == 0 or counts.sum() == 0:
        return np.full(_TRIED, column.missing_code)
    bars = rng.choice(len(counts), size=_TRIED, p=counts / counts.sum())
    values = bars.astype(np.float64)
    if not column.is_categorical:
        low, high = looks.edges[bars], looks.edges[bars + 1]
        values = np.round(low + (high - low) * rng.random(_TRIED), looks.decimals)
        values = np.clip(values, looks.edges[0], looks.edges[-1])
    is_missing = rng.random(_TRIED) < looks.n_missing / (counts.sum() + looks.n_missing)
    return np.where(is_missing, column.missing_code, values)
