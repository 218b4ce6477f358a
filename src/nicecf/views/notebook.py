"""Explanations as pieces of HTML, for notebooks, editors and mail. Every value in them is escaped."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.counterfactual import Change
from nicecf.support.types import CellValue
from nicecf.views import listing, words
from nicecf.views.documents import inline
from nicecf.views.listing import Entry
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording

_CHANGES_SHOWN = 15
_CHANGES_IN_A_SENTENCE = 8
_CHANGES_IN_A_LINE = 8
_ROWS_SHOWN = 10
# Beyond these a browser gets slow, and nobody reads.
_MOST_ROWS = 200


def one_as_html(batch: Batch, wording: Wording | None = None) -> str:
    """The sentence of a batch of one, its changes as a table and, folded, the features that stay as they are."""
    teller = Teller.of(batch, wording)
    (one,) = listing.entries(batch, teller)
    parts = [_sentence(one, teller, *words.texts(batch, wording=wording, ask=False))]
    head = [*(inline.text(teller.say(f"listing.{name}")) for name in ("feature", "before", "after"))]
    head.append(inline.text(one.chance_of))
    rows = [
        [
            inline.text(teller.name(c.feature)),
            inline.text(teller.value(c.feature, c.before)),
            _after(c, teller),
            inline.text(chance),
        ]
        for c, chance in zip(one.changes, one.chances, strict=True)
    ]
    if rows:
        parts.append(inline.table(head, rows[:_CHANGES_SHOWN], right=[3]))
    if len(rows) > _CHANGES_SHOWN:
        n_more = sum(not c.derived for c in one.changes[_CHANGES_SHOWN:])
        title = teller.counted("notebook.more_changes", n_more) if n_more else teller.say("notebook.what_follows")
        parts.append(inline.folded(title, inline.table(head, rows[_CHANGES_SHOWN:], right=[3])))
    if one.proof:
        parts.append(inline.paragraph(inline.quiet(one.proof)))
    if one.note:
        parts.append(inline.paragraph(inline.text(teller.say("listing.note", note=one.note))))
    stay = [
        [inline.text(teller.name(feature)), inline.text(teller.value(feature, value))]
        for feature, value in _unchanged(batch)
    ]
    if stay:
        title = teller.counted("notebook.stay" if one.found else "notebook.the_row", len(stay))
        head = [inline.text(teller.say(name)) for name in ("listing.feature", "notebook.value")]
        parts.append(inline.folded(title, inline.table(head, stay)))
    return inline.piece(*parts)


def _sentence(one: Entry, teller: Teller, sentence: str) -> str:
    """The sentence; where it would be long, in short, with the sentence folded."""
    in_full = inline.paragraph(inline.text(sentence))
    if len(one.changes) <= _CHANGES_IN_A_SENTENCE:
        return in_full
    brief = teller.counted(
        "notebook.brief",
        one.n_changes,
        other=teller.label(one.predicted_after),
        other_chance=one.chance,
        decision=teller.label(one.predicted),
        chance=one.chance_before,
    )
    return inline.paragraph(inline.text(brief)) + inline.folded(teller.say("notebook.in_one_sentence"), in_full)


def _unchanged(batch: Batch) -> list[tuple[Hashable, CellValue]]:
    """Return the features of a batch of one that stay as they are and may be named, with their values."""
    container, first = batch.schema.container, np.array([0])
    table = container.by_columns(batch.table)
    same = set(range(len(batch.schema.columns))) - set(batch.steps.feature.tolist()) - batch.protected(0)
    return [
        (batch.schema.columns[j].name, container.objects(container.column(table, position), first)[0])
        for j, position in enumerate(batch.schema.positions(batch.table))
        if j in same
    ]


def many_as_html(batch: Batch, wording: Wording | None = None) -> str:
    """A summary line, the first rows as a table, the following ones folded."""
    teller = Teller.of(batch, wording)
    head = [inline.text(teller.say(f"notebook.{name}")) for name in ("row", "decision", "becomes", "changes")]
    first = listing.entries(batch.take(np.arange(min(len(batch), _MOST_ROWS))), teller)
    rows = [[f"<b>{inline.text(one.label)}</b>", *_cells(one, teller)] for one in first]
    parts = [inline.paragraph(inline.text(listing.headline(batch, teller)))]
    if rows:
        parts.append(inline.table(head, rows[:_ROWS_SHOWN]))
    if len(rows) > _ROWS_SHOWN:
        title = teller.say("notebook.more", count=len(rows) - _ROWS_SHOWN)
        parts.append(inline.folded(title, inline.table(head, rows[_ROWS_SHOWN:])))
    remarks = listing.remarks(batch, teller)
    if len(batch) > len(rows):
        remarks = [teller.say("notebook.not_shown", count=len(batch) - len(rows), first=len(rows)), *remarks]
    return inline.piece(*parts, *(inline.paragraph(inline.quiet(one)) for one in remarks))


def _cells(one: Entry, teller: Teller) -> list[str]:
    now = inline.chance(teller.label(one.predicted), one.chance_before)
    if not one.found:
        return [now, inline.text(teller.say("notebook.not_found")), inline.text(one.reason)]
    changes = [_change(c, teller) for c in one.changes]
    cell = "<br>".join(changes[:_CHANGES_IN_A_LINE]) or inline.text(teller.say("listing.nothing"))
    if len(changes) > _CHANGES_IN_A_LINE:
        title = teller.say("notebook.more", count=len(changes) - _CHANGES_IN_A_LINE)
        cell += inline.folded(title, "<br>".join(changes[_CHANGES_IN_A_LINE:]))
    return [now, inline.chance(teller.label(one.predicted_after), one.chance), cell]


def _change(one: Change, teller: Teller) -> str:
    before = inline.text(teller.value(one.feature, one.before))
    line = f"{inline.text(teller.name(one.feature))}: {before} &rarr; {_after(one, teller)}"
    return f"{line} {inline.quiet('(' + teller.say('listing.follows') + ')')}" if one.derived else line


def _after(one: Change, teller: Teller) -> str:
    """The new value, marked where it is one to bring about."""
    value = teller.value(one.feature, one.after)
    return inline.text(value) if one.derived else inline.marked(value)
