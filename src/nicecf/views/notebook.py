"""Explanations as pieces of HTML, for notebooks, editors and mail. Every value in them is escaped."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.counterfactual import Change
from nicecf.support.formats import shown
from nicecf.support.types import CellValue
from nicecf.views import listing, words
from nicecf.views.documents import inline
from nicecf.views.listing import Entry

_CHANGES_SHOWN = 15
_CHANGES_IN_A_SENTENCE = 8
_CHANGES_IN_A_LINE = 8
_ROWS_SHOWN = 10
# Beyond these a browser gets slow, and nobody reads.
_MOST_ROWS = 200


def one_as_html(batch: Batch) -> str:
    """The sentence of a batch of one, its changes as a table and, folded, the features that stay as they are."""
    (one,) = listing.entries(batch)
    parts = [_sentence(one, *words.texts(batch, ask=False))]
    head = ["feature", "before", "after", inline.text(one.chance_of)]
    rows = [
        [inline.text(c.feature), inline.text(shown(c.before)), _after(c), inline.text(chance)]
        for c, chance in zip(one.changes, one.chances, strict=True)
    ]
    if rows:
        parts.append(inline.table(head, rows[:_CHANGES_SHOWN], right=[3]))
    if len(rows) > _CHANGES_SHOWN:
        n_more = sum(not c.derived for c in one.changes[_CHANGES_SHOWN:])
        title = _counted(n_more, "more change") if n_more else "What follows"
        parts.append(inline.folded(title, inline.table(head, rows[_CHANGES_SHOWN:], right=[3])))
    if one.note:
        parts.append(inline.paragraph(f"({inline.text(one.note)})"))
    stay = [[inline.text(feature), inline.text(shown(value))] for feature, value in _unchanged(batch)]
    if stay:
        title = "1 feature stays as it is" if len(stay) == 1 else f"{len(stay):,} features stay as they are"
        if not one.found:
            title = f"The row ({_counted(len(stay), 'feature')})"
        parts.append(inline.folded(title, inline.table(["feature", "value"], stay)))
    return inline.piece(*parts)


def _sentence(one: Entry, sentence: str) -> str:
    """The sentence; where it would be long, in short, with the sentence folded."""
    in_full = inline.paragraph(inline.text(sentence))
    if len(one.changes) <= _CHANGES_IN_A_SENTENCE:
        return in_full
    then = inline.chance(one.predicted_after, one.chance)
    now = inline.chance(one.predicted, one.chance_before)
    count = "this change" if one.n_changes == 1 else f"{one.n_changes:,} changes together"
    brief = f"With {count}, the model would say {then} instead of {now}."
    return inline.paragraph(brief) + inline.folded("In one sentence", in_full)


def _unchanged(batch: Batch) -> list[tuple[Hashable, CellValue]]:
    """The features of a batch of one that stay as they are, with their values."""
    container, first = batch.schema.container, np.array([0])
    table = container.by_columns(batch.table)
    same = set(range(len(batch.schema.columns))) - set(batch.steps.feature.tolist())
    return [
        (batch.schema.columns[j].name, container.objects(container.column(table, position), first)[0])
        for j, position in enumerate(batch.schema.positions(batch.table))
        if j in same
    ]


def many_as_html(batch: Batch) -> str:
    """A summary line, the first rows as a table, the following ones folded."""
    head = ["row", "decision", "becomes", "changes"]
    first = listing.entries(batch.take(np.arange(min(len(batch), _MOST_ROWS))))
    rows = [[f"<b>{inline.text(one.label)}</b>", *_cells(one)] for one in first]
    parts = [inline.paragraph(inline.text(listing.headline(batch)))]
    if rows:
        parts.append(inline.table(head, rows[:_ROWS_SHOWN]))
    if len(rows) > _ROWS_SHOWN:
        parts.append(inline.folded(f"{len(rows) - _ROWS_SHOWN:,} more", inline.table(head, rows[_ROWS_SHOWN:])))
    remarks = listing.remarks(batch)
    if len(batch) > len(rows):
        more = f"... and {len(batch) - len(rows):,} more that are not shown: cfs[{len(rows)}:], cfs.changes()"
        remarks = [more, *remarks]
    return inline.piece(*parts, *(inline.paragraph(inline.quiet(one)) for one in remarks))


def _cells(one: Entry) -> list[str]:
    now = inline.chance(one.predicted, one.chance_before)
    if not one.found:
        return [now, "not found", inline.text(one.reason)]
    changes = [_change(c) for c in one.changes]
    cell = "<br>".join(changes[:_CHANGES_IN_A_LINE]) or "nothing has to change"
    if len(changes) > _CHANGES_IN_A_LINE:
        cell += inline.folded(f"{len(changes) - _CHANGES_IN_A_LINE:,} more", "<br>".join(changes[_CHANGES_IN_A_LINE:]))
    return [now, inline.chance(one.predicted_after, one.chance), cell]


def _change(one: Change) -> str:
    line = f"{inline.text(one.feature)}: {inline.text(shown(one.before))} &rarr; {_after(one)}"
    return f"{line} {inline.quiet(f'({listing.FOLLOWS})')}" if one.derived else line


def _after(one: Change) -> str:
    """The new value, marked where it is one to bring about."""
    return inline.text(shown(one.after)) if one.derived else inline.marked(shown(one.after))


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
