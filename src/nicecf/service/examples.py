"""Rows to try an explainer with: given, or drawn column by column and similar to training rows, but none of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from nicecf.exceptions import NicecfError
from nicecf.nice import NICE
from nicecf.rules.privacy import Privacy
from nicecf.rules.suggestions import TableFacts
from nicecf.rules.suggestions.relations import relations
from nicecf.service.rows import RowReader
from nicecf.support.types import Bools, Floats, Ints, Table
from nicecf.tables.column import Column
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import ColumnStatistics

_MOST, _TRIED = 36, 72
# Columns are drawn one by one, so most draws combine what does not go together (an age of 23 and 25 years in a job).
# The nearest of so many to training rows are kept; more make the loan book's hardly better, and take time.
_DRAWN = 1_440
# For all of them: what is not explained by then does not become an example.
_SECONDS = 3.0


def examples_of(nice: NICE, reader: RowReader, table: Table | None = None) -> list[dict[str, Any]]:
    """Return a few dozen rows that the explainer explains, of all decisions by turns, the rarest first.

    They are those of a ``table``, or else drawn. An empty list, if it explains none of these.
    """
    if table is None:
        table, n_rows = _drawn_table(nice)
    else:
        n_rows = len(table)
    try:
        chosen = _by_turns(*_explained(nice, table, n_rows))[:_MOST] if n_rows else np.empty(0, dtype=np.intp)
    except NicecfError:  # a model that refuses such rows; they are only examples
        return []
    rows = reader.shown(table, n_rows) if len(chosen) else []
    return [rows[row] for row in chosen.tolist()]


def _drawn_table(nice: NICE) -> tuple[Table, int]:
    """Draw rows that are no training rows, the most similar to training rows first; return them and their number."""
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
    moving = moving[_go_together(schema.full, schema.expand(moving), schema.expand(training))]
    # Those nearest to training rows of each class by turns, so that rare decisions are among them. Where training rows
    # are guarded, the first: nothing is told of which values go together.
    ranks = np.arange(len(moving)) if nice.min_count > 1 else np.full(len(moving), len(moving))
    for group in range(len(index.leaves)) if nice.min_count == 1 else ():
        is_group = np.zeros((len(moving), len(index.leaves)), dtype=bool)
        is_group[:, group] = True
        order = np.argsort(index.nearest(moving, is_group)[1], kind="stable")
        ranks[order] = np.minimum(ranks[order], np.arange(len(moving)))
    nearest = moving[np.argsort(ranks, kind="stable")[:_TRIED]]
    return schema.full.decode(schema.expand(nearest)), len(nearest)


def _go_together(schema: Schema, drawn: Floats, training: Floats) -> Bools:
    """Return which drawn rows keep the relations that all training rows show; those of rules are seen to later."""
    kept, names = np.ones(len(drawn), dtype=bool), list(schema.names)
    for found in relations(TableFacts.of_rows(schema, training)):
        low, high = (drawn[:, names.index(one)] for one in found.features)
        kept &= ~(low > high)
    return kept


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
        return np.full(_DRAWN, column.missing_code)
    bars = rng.choice(len(counts), size=_DRAWN, p=counts / counts.sum())
    values = bars.astype(np.float64)
    if not column.is_categorical:
        low, high = looks.edges[bars], looks.edges[bars + 1]
        values = np.round(low + (high - low) * rng.random(_DRAWN), looks.decimals)
        values = np.clip(values, looks.edges[0], looks.edges[-1])
    is_missing = rng.random(_DRAWN) < looks.n_missing / (counts.sum() + looks.n_missing)
    return np.where(is_missing, column.missing_code, values)
