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
from nicecf.tables.seen import SeenColumn, new_values


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


def check_seen(seen: tuple[SeenColumn, ...] | None, schema: Schema, known: Floats, *, is_guarded: bool) -> None:
    """Damaged if some of the training rows, ``known`` with all columns, would be new to an explainer.

    With a guard rare values are new, as they must be. What is computed may be rounded otherwise than in the table.
    """
    if is_guarded or seen is None:
        return
    is_new = new_values(known, schema.full, seen).any(axis=0) & ~schema.is_computed
    if is_new.any():
        name = schema.full.names[int(np.argmax(is_new))]
        raise Damaged(f"its training rows have values in column {name!r} that no training row is said to hold")
