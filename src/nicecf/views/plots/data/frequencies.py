"""How often each feature changes, over many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.types import Bools
from nicecf.tables.schema import differs
from nicecf.views.plots.data.common import Caption, Message, check_many
from nicecf.views.plots.formatting import PlotFormatter
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording

_FEW = 12
_MOST_FEATURES = 20
_MOST_CLASSES = 4


@dataclass(frozen=True)
class Group:
    """The rows that the model decides on alike."""

    label: str
    n_rows: int


@dataclass(frozen=True)
class Shares:
    """Of the rows of a group: in how many a feature goes up, down, or to another category (or a missing value)."""

    up: float
    down: float
    other: float
    chance: str

    @property
    def total(self) -> float:
        """In how many it changes, which ``chance`` writes."""
        return self.up + self.down + self.other


@dataclass(frozen=True)
class Line:
    """One feature, with its shares for each group."""

    feature: str
    shares: tuple[Shares, ...]


@dataclass(frozen=True)
class Frequencies:
    """One line for each feature, the most frequent first."""

    caption: Caption
    groups: tuple[Group, ...]
    lines: tuple[Line, ...]
    folded: str | None
    teller: Teller


def frequencies_of(cfs: Counterfactuals, wording: Wording | None = None) -> Frequencies | Message:
    """The shares. Each row counts once: of several counterfactuals, the first.

    Columns that follow from others are left out: they are not what anyone would change.
    """
    check_many(cfs, who="frequencies()")
    batch = cfs.batch.take(cfs.batch.first_of_rows)
    formatter = PlotFormatter.of(batch, wording)
    teller = formatter.teller
    title = teller.say("plot.frequencies_title")
    n_found = int(batch.found.sum())
    if not n_found:
        return _message(teller, title, teller.counted("plot.frequencies_not_found", len(batch)))
    changed = differs(batch.before.values, batch.after.values) & batch.found[:, None] & ~batch.is_derived
    rows, values = (
        np.where(np.isnan(batch.before.values), 0.0, batch.before.values),
        np.where(np.isnan(batch.after.values), 0.0, batch.after.values),
    )
    is_number = ~batch.schema.by_equality & ~np.isnan(batch.before.values) & ~np.isnan(batch.after.values)
    up, down = changed & is_number & (values > rows), changed & is_number & (values < rows)
    is_moving = batch.found & changed.any(axis=1)
    if not is_moving.any():
        return _message(teller, title, teller.counted("plot.frequencies_unchanged", n_found))
    # A decision of which no row changes would be an empty panel: a note counts its rows.
    decided, counts = np.unique(batch.before.decided[is_moving], return_counts=True)
    largest = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CLASSES])
    groups = [(int(decided[i]), is_moving & (batch.before.decided == decided[i])) for i in largest]
    totals = changed.sum(axis=0)
    order = np.argsort(-totals, kind="stable")
    order = order[~batch.is_derived[order]]
    n_changing = int((totals > 0).sum())
    shown = order if len(order) <= _FEW else order[: min(n_changing, _MOST_FEATURES)]
    other = changed & ~up & ~down
    lines = [
        Line(
            formatter.feature(j),
            tuple(_shares(formatter, up[mine, j], down[mine, j], other[mine, j]) for _, mine in groups),
        )
        for j in shown
    ]
    labels = tuple(Group(formatter.label(code), int(mine.sum())) for code, mine in groups)
    n_moving = int(is_moving.sum())
    top = [
        teller.say("plot.frequencies_of", feature=formatter.feature(j), share=formatter.percent(totals[j] / n_moving))
        for j in order[:5]
        if totals[j]
    ]
    alt = teller.counted("plot.frequencies_alt", n_moving, title=title, features=teller.listed(top, 5))
    return Frequencies(
        Caption(
            title,
            teller.say("plot.frequencies_subtitle"),
            _notes(batch, changed, len(decided) - len(groups), formatter),
            alt,
        ),
        labels,
        tuple(lines),
        _folded(teller, n_changing - len(shown), len(order) - max(n_changing, len(shown))),
        teller,
    )


def _message(teller: Teller, title: str, words: str) -> Message:
    return Message(Caption(title, "", (), teller.say("plot.alt_message", title=title, words=words)), words)


def _shares(formatter: PlotFormatter, up: Bools, down: Bools, other: Bools) -> Shares:
    shares = [float(each.mean()) for each in (up, down, other)]
    return Shares(shares[0], shares[1], shares[2], formatter.percent(sum(shares)))


def _notes(batch: Batch, changed: Bools, n_classes_left_out: int, formatter: PlotFormatter) -> tuple[str, ...]:
    teller = formatter.teller
    derived = teller.listed((formatter.feature(j) for j in np.flatnonzero(batch.is_derived).tolist()), 4)
    n_missed = int((~batch.found).sum())
    n_as_they_are = int((batch.found & ~changed.any(axis=1)).sum())
    notes = [
        teller.counted("plot.frequencies_missed", n_missed) if n_missed else "",
        teller.counted("plot.frequencies_as_they_are", n_as_they_are) if n_as_they_are else "",
        teller.counted("plot.frequencies_left_out", n_classes_left_out) if n_classes_left_out else "",
        teller.say("summary.derived", derived=derived) if derived else "",
    ]
    return tuple(filter(None, notes))


def _folded(teller: Teller, n_seldom: int, n_never: int) -> str | None:
    if n_seldom > 0 and n_never > 0:
        return teller.say("plot.frequencies_seldom_and_never", seldom=n_seldom, never=n_never)
    if n_seldom > 0:
        return teller.counted("plot.frequencies_seldom", n_seldom)
    return teller.counted("plot.frequencies_never", n_never) if n_never > 0 else None
