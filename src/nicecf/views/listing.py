"""Explanations as they print themselves: a line for each of many, or one with its changes as a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.counterfactual import Change, changes_of
from nicecf.support.formats import one_line
from nicecf.support.types import Label
from nicecf.views import words
from nicecf.views.documents.columns import aligned
from nicecf.views.summary.totals import totals_of
from nicecf.views.telling import Teller
from nicecf.views.words.line import Lines
from nicecf.views.words.proven import counted_proofs, formatted_proofs
from nicecf.views.words.wording import Wording

_ROWS_SHOWN = 10


@dataclass(frozen=True)
class Entry:
    """One explanation of a batch; ``reason`` and ``note`` in words, None where there is nothing to say.

    ``changes`` in the order of the walk, those that follow from others last, and not among the ``n_changes``;
    ``chances``: the probability, or the score, that each leads to, and ``chance_of`` what that is. ``chance_before``
    and ``chance``: those of the row and of its counterfactual, of one quantity if that takes naming. ``proof``: what is
    proven of it, a sentence, where that was asked for.
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
    proof: str | None


def entries(batch: Batch, teller: Teller | None = None) -> list[Entry]:
    """The explanations of a batch, read at once: asking them one by one would take a hundred times as long."""
    teller = teller or Teller(Wording())
    follows, reached, now, then, names = teller.say("listing.follows"), *_chances(batch, teller)
    changes, chances = [], []
    for each, start in zip(changes_of(batch), batch.steps.starts.tolist(), strict=False):
        order = sorted(range(len(each)), key=lambda at: each[at].derived)
        changes.append(tuple(each[at] for at in order))
        chances.append(tuple(follows if each[at].derived else reached[start + at] for at in order))

    values = zip(
        batch.labels,
        batch.found.tolist(),
        (None if reason is None else teller.statement(reason) for reason in batch.reasons),
        (teller.statement(*notes) or None for notes in batch.notes),
        batch.predicted,
        batch.predicted_after,
        now,
        then,
        changes,
        chances,
        names,
        batch.n_changes.tolist(),
        formatted_proofs(batch, teller.wording),
        strict=True,
    )
    return [Entry(*one) for one in values]


def _chances(batch: Batch, teller: Teller) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the scores or probabilities after each step, of each row and of its counterfactual, and their name."""
    if batch.target is not None:
        text = batch.target.text
        reached, now, then = (
            [teller.number(text(score)) for score in scores.tolist()]
            for scores in (batch.steps.reached[:, 0], batch.before.probability, batch.after.probability)
        )
        return reached, now, then, [teller.say("listing.score")] * len(batch)
    lines = Lines(batch)
    every = lines.all()
    return (
        [teller.percentage(one) for one in lines.steps()],
        [teller.chance_of_line(one, one.before) for one in every],
        [teller.chance_of_line(one, one.after) for one in every],
        [teller.probability_of(one.label) for one in every],
    )


def many_as_text(batch: Batch, wording: Wording | None = None) -> str:
    """A summary line and the first rows."""
    teller = Teller.of(batch, wording)
    first = entries(batch.take(np.arange(min(len(batch), _ROWS_SHOWN))), teller)
    labels = [one_line(str(one.label)) for one in first]
    width = max(map(len, labels), default=0)
    lines = [f"{label:>{width}}  {_line(one, teller)}" for label, one in zip(labels, first, strict=True)]
    if len(batch) > _ROWS_SHOWN:
        what = "listing.more_counterfactuals" if batch.has_several else "listing.more_rows"
        lines.append(teller.counted(what, len(batch) - _ROWS_SHOWN))
    return "\n".join([headline(batch, teller), *(f"  {line}" for line in lines + remarks(batch, teller))])


def one_as_text(batch: Batch, wording: Wording | None = None) -> str:
    """The sentence of a batch of one, its changes as a table, its proof and its note. The model is not asked."""
    teller = Teller.of(batch, wording)
    (one,) = entries(batch, teller)
    parts = [
        *words.texts(batch, wording=wording, ask=False),
        _table(one, teller) if one.changes else "",
        one.proof or "",
        teller.say("listing.note", note=one.note) if one.note else "",
    ]
    return "\n\n".join(part for part in parts if part)


def headline(batch: Batch, teller: Teller) -> str:
    """How many rows there are, how many were found, and how much changes in those that change."""
    if batch.is_best_effort:
        return teller.counted("listing.headline_nearest", len(batch))
    totals = totals_of(batch)
    if not totals.rows:
        return teller.say("listing.headline_empty")
    several = teller.say("listing.several", count=int(batch.found.sum())) if batch.has_several else ""
    changes = ""
    if totals.changed:
        phrase = "listing.average_of_others" if totals.unchanged else "listing.average"
        mean = teller.number(f"{totals.mean_changes:.1f}")
        changes = teller.say(phrase, unchanged=totals.unchanged, changes=mean)
    elif totals.unchanged:
        changes = teller.say("listing.unchanged")
    return teller.counted(
        "listing.headline",
        totals.rows,
        found=totals.found,
        share=teller.number(f"{100 * totals.coverage:.1f}"),
        several=several,
        changes=changes,
    )


def remarks(batch: Batch, teller: Teller) -> list[str]:
    """How many answers are proven, where that was asked for, and where to find the notes, if there are any."""
    proven = counted_proofs(batch, teller.wording)
    count = len(np.unique(batch.rows[[len(notes) > 0 for notes in batch.notes]]))
    return [
        *([teller.say("listing.proven", counts=proven)] if proven else []),
        *([teller.counted("listing.notes", count)] if count else []),
    ]


def change_line(one: Change, teller: Teller | None = None) -> str:
    """``age: 39 -> 41``, or with ``(follows)`` behind it."""
    teller = teller or Teller(Wording())
    return teller.say(
        "listing.change_follows" if one.derived else "listing.change",
        feature=teller.name(one.feature),
        before=teller.value(one.feature, one.before),
        after=teller.value(one.feature, one.after),
    )


def _line(one: Entry, teller: Teller) -> str:
    decision = teller.label(one.predicted)
    if not one.found:
        return one_line(teller.say("listing.not_found", decision=decision, reason=one.reason))
    changes = ", ".join(change_line(each, teller) for each in one.changes) or teller.say("listing.nothing")
    return teller.say("listing.becomes", decision=decision, other=teller.label(one.predicted_after), changes=changes)


def _table(one: Entry, teller: Teller) -> str:
    head = (*(teller.say(f"listing.{name}") for name in ("feature", "before", "after")), one.chance_of)
    changes = zip(one.changes, one.chances, strict=True)
    rows = [(*_cells(each, teller), chance) for each, chance in changes]
    return aligned(head, rows)


def _cells(each: Change, teller: Teller) -> tuple[str, str, str]:
    """The feature and both values; a name as long as it is."""
    given = teller.wording.given_name(each.feature) or str(each.feature)
    return given, teller.value(each.feature, each.before), teller.value(each.feature, each.after)
