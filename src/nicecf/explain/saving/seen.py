"""What training rows held of each column, as JSON and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.checks import floats, keys, sequence, switch, wholes
from nicecf.support.types import Floats
from nicecf.tables.column import Column
from nicecf.tables.schema import Schema
from nicecf.tables.seen import OneHotGroup, SeenColumn, new_values
from nicecf.tables.statistics import TableStatistics


def seen_to_json(seen: SeenColumn) -> dict[str, Any]:
    """A column; there is no NaN in JSON."""
    return {
        "low": None if np.isnan(seen.low) else seen.low,
        "high": None if np.isnan(seen.high) else seen.high,
        "held": np.flatnonzero(seen.held).tolist(),
        "has_missing": seen.has_missing,
        "is_compared": seen.is_compared,
    }


def seen_from_json(said: Any, columns: Sequence[Column]) -> tuple[SeenColumn, ...]:
    """All columns; Damaged unless each can be one of its kind."""
    each = sequence(said, "seen", len(columns))
    return tuple(_column(one, column) for one, column in zip(each, columns, strict=True))


def _column(said: Any, column: Column) -> SeenColumn:
    keys(said, ("low", "high", "held", "has_missing", "is_compared"), "what training rows held")
    has_range = (said["low"], said["high"]) != (None, None)
    low, high = floats([said["low"], said["high"]], "a range", 2).tolist() if has_range else (np.nan, np.nan)
    held, n_levels = wholes(said["held"], "held"), len(column.levels)
    if low > high or any(code >= n_levels for code in held) or (column.is_categorical and has_range):
        raise Damaged(f"column {column.name!r} is said to have held what it cannot hold")
    return SeenColumn(
        low,
        high,
        np.isin(np.arange(n_levels), held),
        switch(said["has_missing"], "has_missing"),
        switch(said["is_compared"], "is_compared"),
    )


def one_hot_to_json(group: OneHotGroup) -> dict[str, Any]:
    """Return a one-hot group as plain values."""
    on = [int(code) for code in group.on.tolist()]
    return {"columns": group.columns.tolist(), "on": on, "has_none": group.has_none}


def one_hot_from_json(said: Any, columns: Sequence[Column]) -> OneHotGroup:
    """Read a one-hot group; Damaged unless it can be one of these columns."""
    keys(said, ("columns", "on", "has_none"), "a one-hot group")
    group = wholes(said["columns"], "columns")
    on = wholes(said["on"], "on")
    if len(set(group)) < max(len(group), 2) or len(on) != len(group) or any(j >= len(columns) for j in group):
        raise Damaged(f"a one-hot group has the columns {group}, which are none of its table")
    return OneHotGroup(np.array(group), np.array(on, dtype=np.float64), switch(said["has_none"], "has_none"))


def check_seen(statistics: TableStatistics, schema: Schema, known: Floats, *, is_guarded: bool) -> None:
    """Damaged if some of the training rows, ``known`` with all columns, would be new to an explainer.

    With a guard rare values are new, as they must be. What is computed may be rounded otherwise than in the table.
    """
    if any(group.is_new(known).any() for group in statistics.one_hot):
        raise Damaged("its training rows have several columns of a one-hot group on, or none")
    seen = statistics.seen
    if is_guarded or seen is None:
        return
    is_new = new_values(known, schema.full, seen).any(axis=0) & ~schema.is_computed
    if is_new.any():
        name = schema.full.names[int(np.argmax(is_new))]
        raise Damaged(f"its training rows have values in column {name!r} that no training row is said to hold")
