"""Explanations as pieces of HTML, for notebooks, editors and mail. Every value in them is escaped."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from nicecf.documents import inline
from nicecf.words import Explained, percent, shown

_CHANGES_SHOWN = 15
_CHANGES_IN_A_SENTENCE = 8
_CHANGES_IN_A_LINE = 8
_ROWS_SHOWN = 10
# Beyond these a browser gets slow, and nobody reads.
MOST_ROWS = 200


@dataclass(frozen=True)
class Step:
    """A change, and the probability that it reaches."""

    feature: Hashable
    before: Any
    after: Any
    probability: float


@dataclass(frozen=True)
class Line:
    """One explanation among many."""

    label: Hashable
    found: bool
    reason: str | None
    note: str | None
    predicted: Any
    predicted_after: Any
    probability_before: float
    probability: float
    changes: tuple[Step, ...]


def lines(batch: Any) -> list[Line]:
    """The explanations of a batch, read at once: asking them one by one would take a hundred times as long."""
    table = batch.changes()
    steps = [
        Step(*values)
        for values in zip(
            *(table[name].tolist() for name in ("feature", "before", "after", "probability")), strict=True
        )
    ]
    starts = batch._steps.starts.tolist()
    before = batch._before[np.arange(len(batch)), batch._decided].tolist()
    values = zip(
        batch._labels,
        batch.found.tolist(),
        batch.reasons,
        batch.notes,
        batch.predicted,
        batch.predicted_after,
        before,
        batch.probability.tolist(),
        (tuple(steps[start:end]) for start, end in pairwise(starts)),
        strict=True,
    )
    return [Line(*one) for one in values]


def unchanged(batch: Any) -> list[tuple[Hashable, Any]]:
    """The features of a batch of one that stay as they are, with their values."""
    schema, X = batch._schema, batch._X
    container, first = schema.container, np.array([0])
    same = set(range(len(schema.columns))) - set(batch._steps.feature.tolist())
    return [
        (schema.columns[j].name, container.objects(container.column(X, position), first)[0])
        for j, position in enumerate(schema.positions(X))
        if j in same
    ]


class Noted(Explained, Protocol):
    """An explanation with its note."""

    @property
    def note(self) -> str | None: ...


def one_html(one: Noted, sentence: str, others: Iterable[tuple[Hashable, Any]]) -> str:
    """The sentence, the changes as a table, and, folded, the ``others``: features that stay as they are."""
    parts = [inline.paragraph(inline.text(sentence))]
    if len(one.changes) > _CHANGES_IN_A_SENTENCE:
        then = inline.chance(one.predicted_after, percent(one.probability))
        now = inline.chance(one.predicted, percent(one.probability_before))
        brief = f"With {len(one.changes):,} changes together, the model would say {then} instead of {now}."
        parts = [inline.paragraph(brief), inline.folded("In one sentence", parts[0])]
    head = ["feature", "before", "after", f"P({inline.text(one.predicted_after)})"]
    rows = [
        [inline.text(c.feature), inline.text(shown(c.before)), inline.marked(shown(c.after)), percent(c.probability)]
        for c in one.changes
    ]
    if rows:
        parts.append(inline.table(head, rows[:_CHANGES_SHOWN], right=[3]))
    if len(rows) > _CHANGES_SHOWN:
        more = inline.table(head, rows[_CHANGES_SHOWN:], right=[3])
        parts.append(inline.folded(f"{_counted(len(rows) - _CHANGES_SHOWN, 'more change')}", more))
    if one.note:
        parts.append(inline.paragraph(f"({inline.text(one.note)})"))
    stay = [[inline.text(feature), inline.text(shown(value))] for feature, value in others]
    if stay:
        title = "1 feature stays as it is" if len(stay) == 1 else f"{len(stay):,} features stay as they are"
        if not one.found:
            title = f"The row ({_counted(len(stay), 'feature')})"
        parts.append(inline.folded(title, inline.table(["feature", "value"], stay)))
    return inline.piece(*parts)


def many_html(summary: str, shown_lines: Sequence[Line], n_lines: int, remarks: Iterable[str]) -> str:
    """A summary line, the first rows as a table, the following ones folded; ``n_lines``: how many there are in all."""
    head = ["row", "decision", "becomes", "changes"]
    rows = [[f"<b>{inline.text(one.label)}</b>", *_cells(one)] for one in shown_lines[:MOST_ROWS]]
    parts = [inline.paragraph(inline.text(summary))]
    if rows:
        parts.append(inline.table(head, rows[:_ROWS_SHOWN]))
    if len(rows) > _ROWS_SHOWN:
        parts.append(inline.folded(f"{len(rows) - _ROWS_SHOWN:,} more", inline.table(head, rows[_ROWS_SHOWN:])))
    if n_lines > len(rows):
        remarks = [
            f"... and {n_lines - len(rows):,} more that are not shown: cfs[{len(rows)}:], cfs.changes()",
            *remarks,
        ]
    return inline.piece(*parts, *(inline.paragraph(inline.quiet(one)) for one in remarks))


def _cells(one: Line) -> list[str]:
    now = inline.chance(one.predicted, percent(one.probability_before))
    if not one.found:
        return [now, "not found", inline.text(one.reason)]
    changes = [
        f"{inline.text(c.feature)}: {inline.text(shown(c.before))} &rarr; {inline.marked(shown(c.after))}"
        for c in one.changes
    ]
    cell = "<br>".join(changes[:_CHANGES_IN_A_LINE]) or "nothing has to change"
    if len(changes) > _CHANGES_IN_A_LINE:
        cell += inline.folded(f"{len(changes) - _CHANGES_IN_A_LINE:,} more", "<br>".join(changes[_CHANGES_IN_A_LINE:]))
    return [now, inline.chance(one.predicted_after, percent(one.probability)), cell]


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
