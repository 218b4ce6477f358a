"""How often each feature changes, over many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.types import Bools
from nicecf.tables.schema import differs
from nicecf.views.plots.data.common import Caption, Message, check_many, counted, listed
from nicecf.views.plots.formatting import PlotFormatter
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


def frequencies_of(cfs: Counterfactuals, wording: Wording | None = None) -> Frequencies | Message:
    """The shares. Each row counts once: of several counterfactuals, the first.

    Columns that follow from others are left out: they are not what anyone would change.
    """
    check_many(cfs, who="frequencies()")
    batch = cfs.batch.take(cfs.batch.first_of_rows)
    formatter = PlotFormatter.of(batch, wording)
    title = "How often each feature changes"
    n_found = int(batch.found.sum())
    if not n_found:
        words = f"No counterfactual was found for {'any of ' if len(batch) > 1 else ''}{counted(len(batch), 'row')}."
        return Message(Caption(title, "", (), f"{title}. {words}"), words)
    changed = differs(batch.before.values, batch.after.values) & batch.found[:, None] & ~batch.is_derived
    rows, values = (
        np.where(np.isnan(batch.before.values), 0.0, batch.before.values),
        np.where(np.isnan(batch.after.values), 0.0, batch.after.values),
    )
    is_number = ~batch.schema.by_equality & ~np.isnan(batch.before.values) & ~np.isnan(batch.after.values)
    up, down = changed & is_number & (values > rows), changed & is_number & (values < rows)
    decided, counts = np.unique(batch.before.decided[batch.found], return_counts=True)
    largest = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CLASSES])
    groups = [(int(decided[i]), batch.found & (batch.before.decided == decided[i])) for i in largest]
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
    top = [f"{formatter.feature(j)} in {formatter.percent(totals[j] / n_found)}" for j in order[:5] if totals[j]]
    alt = f"{title}, over {counted(n_found, 'row')} with a counterfactual: {listed(top, 5) or 'none changes'}."
    subtitle = (
        "Share of the rows with a counterfactual in which the feature changes, by the model's decision on the row"
    )
    return Frequencies(
        Caption(title, subtitle, _notes(batch, changed, len(decided) - len(groups), formatter), alt),
        labels,
        tuple(lines),
        _folded(n_changing - len(shown), len(order) - max(n_changing, len(shown))),
    )


def _shares(formatter: PlotFormatter, up: Bools, down: Bools, other: Bools) -> Shares:
    shares = [float(each.mean()) for each in (up, down, other)]
    return Shares(shares[0], shares[1], shares[2], formatter.percent(sum(shares)))


def _notes(batch: Batch, changed: Bools, n_classes_left_out: int, formatter: PlotFormatter) -> tuple[str, ...]:
    derived = listed((formatter.feature(j) for j in np.flatnonzero(batch.is_derived).tolist()), 4)
    n_missed = int((~batch.found).sum())
    n_as_they_are = int((batch.found & ~changed.any(axis=1)).sum())
    notes = [
        f"{counted(n_missed, 'row')} without a counterfactual not counted." if n_missed else "",
        f"{counted(n_as_they_are, 'row')} in the target already: nothing changes." if n_as_they_are else "",
        f"{counted(n_classes_left_out, 'further decision')} with fewer rows not shown." if n_classes_left_out else "",
        f"Columns that follow from others are not counted: {derived}." if derived else "",
    ]
    return tuple(filter(None, notes))


def _folded(n_seldom: int, n_never: int) -> str | None:
    parts = [f"{n_seldom:,} more that change"] if n_seldom > 0 else []
    parts += [f"{n_never:,} that never change"] if n_never > 0 else []
    return f"… and {' and '.join(parts)}" if parts else None
