"""Explanations as they print themselves: a line for each of many, or one with its changes as a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.counterfactual import Change, changes_of
from nicecf.support.formats import one_line, shown
from nicecf.support.phrases import english, in_english
from nicecf.support.types import Label
from nicecf.views import words
from nicecf.views.documents.columns import aligned

_ROWS_SHOWN = 10
# What is said of a change that follows from others, where its probability would stand: it is no step of the walk.
FOLLOWS = "follows"


@dataclass(frozen=True)
class Entry:
    """One explanation of a batch; ``reason`` and ``note`` in English, None where there is nothing to say.

    ``changes`` in the order of the walk, those that follow from others last, and not among the ``n_changes``;
    ``chances``: the probability, or the score, that each leads to, and ``chance_of`` what that is.
    """

    label: Label
    found: bool
    reason: str | None
    note: str | None
    predicted: Label
    predicted_after: Label
    chance_before: str
    chance: str
    changes: tuple[Change, ...]
    chances: tuple[str, ...]
    chance_of: str
    n_changes: int


def entries(batch: Batch) -> list[Entry]:
    """The explanations of a batch, read at once: asking them one by one would take a hundred times as long."""
    changes = [tuple(sorted(each, key=lambda one: one.derived)) for each in changes_of(batch)]
    values = zip(
        batch.labels,
        batch.found.tolist(),
        (None if reason is None else english(reason) for reason in batch.reasons),
        (in_english(notes) or None for notes in batch.notes),
        batch.predicted,
        batch.predicted_after,
        map(batch.chance, batch.before.probability.tolist()),
        map(batch.chance, batch.after.probability.tolist()),
        changes,
        (tuple(FOLLOWS if one.derived else batch.chance(one.probability) for one in each) for each in changes),
        map(batch.chance_of, batch.predicted_after),
        batch.n_changes.tolist(),
        strict=True,
    )
    return [Entry(*one) for one in values]


def many_as_text(batch: Batch) -> str:
    """A summary line and the first rows."""
    first = entries(batch.take(np.arange(min(len(batch), _ROWS_SHOWN))))
    labels = [one_line(str(one.label)) for one in first]
    width = max(map(len, labels), default=0)
    lines = [f"{label:>{width}}  {_line(one)}" for label, one in zip(labels, first, strict=True)]
    if len(batch) > _ROWS_SHOWN:
        what = "counterfactuals" if batch.has_several else "rows"
        lines.append(f"... and {len(batch) - _ROWS_SHOWN:,} more {what}")
    return "\n".join([headline(batch), *(f"  {line}" for line in lines + remarks(batch))])


def one_as_text(batch: Batch) -> str:
    """The sentence of a batch of one, its changes as a table, and its note. The model is not asked."""
    (one,) = entries(batch)
    parts = [
        *words.texts(batch, ask=False),
        _table(one) if one.changes else "",
        f"({one.note})" if one.note else "",
    ]
    return "\n\n".join(part for part in parts if part)


def headline(batch: Batch) -> str:
    """How many rows there are, how many were found, and how much changes."""
    if batch.is_best_effort:
        return f"Out of reach: {len(batch):,} rows, each with the answer whose score comes nearest to the target"
    n_rows, n_found = len(np.unique(batch.rows)), len(np.unique(batch.rows[batch.found]))
    n_counterfactuals = int(batch.found.sum())
    share = f"{n_found / n_rows:.1%}" if n_rows else "-"
    several = f", {n_counterfactuals:,} counterfactuals" if batch.has_several else ""
    changes = f", {batch.n_changes.sum() / n_counterfactuals:.1f} changes on average" if n_found else ""
    return f"Counterfactuals: {n_rows:,} rows, {n_found:,} found ({share}){several}{changes}"


def remarks(batch: Batch) -> list[str]:
    """Where to find the notes, if there are any."""
    count = len(np.unique(batch.rows[[len(notes) > 0 for notes in batch.notes]]))
    return [f"{count:,} {'row has a note' if count == 1 else 'rows have notes'}: cfs.notes"] if count else []


def change_line(one: Change) -> str:
    """``age: 39 -> 41``, or with ``(follows)`` behind it."""
    follows = f" ({FOLLOWS})" if one.derived else ""
    return f"{one_line(str(one.feature))}: {shown(one.before)} -> {shown(one.after)}{follows}"


def _line(one: Entry) -> str:
    if not one.found:
        return one_line(f"{one.predicted}: not found, {one.reason}")
    changes = ", ".join(map(change_line, one.changes)) or "nothing has to change"
    return f"{one_line(str(one.predicted))} -> {one_line(str(one.predicted_after))}  {changes}"


def _table(one: Entry) -> str:
    head = ("feature", "before", "after", one.chance_of)
    changes = zip(one.changes, one.chances, strict=True)
    rows = [(str(each.feature), shown(each.before), shown(each.after), chance) for each, chance in changes]
    return aligned(head, rows)
