"""Each change on the distribution of its feature in the training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nicecf.results.box import Side
from nicecf.results.boxes import boxes_of
from nicecf.results.counterfactual import Counterfactual
from nicecf.support.types import Floats
from nicecf.tables.ordered import codes_of
from nicecf.tables.statistics import ColumnStatistics
from nicecf.tables.temporal import Temporal
from nicecf.views.plots.data.common import Caption, Explanation, Message, Step, evened
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording

_MOST_CHANGES = 8
_MOST_CATEGORIES = 6
_OUTER, _MOSTLY = 0.005, 0.6


@dataclass(frozen=True, eq=False)
class Numbers:
    """A histogram of the training values, and the two values (NaN: missing) among them.

    ``heights``: how many rows a bar stands for, evened out where bars hold different numbers of possible values.
    ``missing`` is what that is called, ``chance`` its share of the training rows as it is written, empty if none.
    ``is_cut``: the outermost values are far away, and left out. ``is_whole``: all training values are whole numbers.
    ``temporal``: the dates that the numbers stand for. ``region``: from where to where the answer is proven to hold,
    None where only the new value is known; infinite for an open end.
    """

    edges: Floats
    heights: Floats
    before: float
    after: float
    share_missing: float
    missing: str
    chance: str
    is_cut: bool
    is_whole: bool = False
    temporal: Temporal | None = None
    region: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bar:
    """How many training rows hold a category."""

    label: str
    count: int


@dataclass(frozen=True)
class Categories:
    """The most frequent categories, among them the two; ``rest``: all others, as one.

    ``region``: those with which the answer holds, if that is more than the new one.
    """

    bars: tuple[Bar, ...]
    before: int
    after: int
    rest: Bar | None
    region: tuple[int, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One change."""

    step: Step
    spread: Numbers | Categories


@dataclass(frozen=True)
class Changes:
    """The changes, the most important first, then what follows from them."""

    caption: Caption
    panels: tuple[Panel, ...]
    n_rows: int
    teller: Teller


def changes_of(one: Counterfactual, wording: Wording | None = None) -> Changes | Message:
    """A panel for each change, and for what follows from them; those beyond the eighth are named in a note."""
    this = Explanation.of(one, wording, who="changes()")
    teller = this.teller
    if this.nothing:
        return this.message(teller.say("plot.changes_title_of_none"))
    title = teller.say("plot.changes_title", target=this.target, decision=this.decided)
    features = this.by_importance()
    steps = [this.step(j) for j in features]
    rest = [step for step in steps[_MOST_CHANGES:] if not step.is_derived]
    derived = [step for step in steps[_MOST_CHANGES:] if step.is_derived]
    alt = teller.say("plot.changes_alt", title=title, changes=this.told(steps, 5), now=this.now, then=this.then)
    statistics = this.batch.provenance.statistics
    sides = _sides(this)
    panels = tuple(_panel(this, j, statistics.columns[j], sides.get(j)) for j in features[:_MOST_CHANGES])
    notes = [teller.counted("plot.changes_more", len(rest), changes=this.told(rest, 30))] if rest else []
    if derived:
        notes.append(teller.say("plot.changes_more_derived", changes=this.told(derived, 10)))
    if any(isinstance(panel.spread, Numbers) and panel.spread.is_cut for panel in panels):
        notes.append(teller.say("plot.changes_cut"))
    return Changes(Caption(title, f"{this.now} → {this.then}", tuple(notes), alt), panels, statistics.n_rows, teller)


def _sides(this: Explanation) -> dict[int, Side]:
    """By feature, with which values the answer still holds, where that is asked for and more than one."""
    batch = this.batch
    if not this.formatter.formatter.wording.regions or batch.is_best_effort:
        return {}
    (box,) = boxes_of(batch)
    stated = {side.feature: box.stated(side.feature) for side in box.sides}
    return {feature: side for feature, side in stated.items() if side is not None}


def _panel(this: Explanation, j: int, statistics: ColumnStatistics, side: Side | None) -> Panel:
    before, after = float(this.row[j]), float(this.values[j])
    spread: Numbers | Categories
    if this.batch.schema.columns[j].is_categorical:
        old, new = codes_of(np.array([before, after])).tolist()
        chosen = () if side is None or side.codes is None else codes_of(np.array(side.codes)).tolist()
        spread = _categories(this, j, statistics, old, new, chosen)
    else:
        spread = _numbers(this, j, statistics, before, after, side)
    return Panel(this.step(j), spread)


def _numbers(
    this: Explanation, j: int, statistics: ColumnStatistics, before: float, after: float, side: Side | None
) -> Numbers:
    n_rows = this.batch.provenance.statistics.n_rows
    share = statistics.n_missing / n_rows if n_rows else 0.0
    chance = this.formatter.percent(share) if statistics.n_missing else ""
    temporal = this.batch.schema.columns[j].temporal
    region = None if side is None else (side.low, side.high)
    ends = [] if region is None else [end for end in region if np.isfinite(end)]
    edges, heights, is_cut = _seen(statistics.edges, evened(statistics, temporal), np.array([before, after, *ends]))
    is_whole = temporal is None and statistics.is_exact and statistics.decimals == 0
    missing = this.formatter.missing
    return Numbers(edges, heights, before, after, share, missing, chance, is_cut, is_whole, temporal, region)


def _seen(edges: Floats, heights: Floats, marks: Floats) -> tuple[Floats, Floats, bool]:
    """The bars without the outermost, where these take up most of the axis and no mark lies among them."""
    if heights.sum() <= 0:
        return edges, heights, False
    share = np.cumsum(heights) / heights.sum()
    first, last = np.searchsorted(share, _OUTER), np.searchsorted(share, 1 - _OUTER)
    present = marks[~np.isnan(marks)]
    if len(present):
        first = min(first, np.clip(np.searchsorted(edges, present.min(), side="right") - 1, 0, len(heights) - 1))
        last = max(last, np.clip(np.searchsorted(edges, present.max()) - 1, 0, len(heights) - 1))
    if last + 1 - first > _MOSTLY * len(heights):
        return edges, heights, False
    return edges[first : last + 2], heights[first : last + 1], True


def _categories(
    this: Explanation, j: int, statistics: ColumnStatistics, before: int, after: int, region: Sequence[int]
) -> Categories:
    """The two categories and the most frequent others, the most frequent first; a missing value comes last.

    Of ordered categories, the lowest first.
    """
    column = this.batch.schema.columns[j]
    n_levels = len(column.levels)
    counts = np.zeros(n_levels + 1, dtype=np.intp)
    counts[: len(statistics.counts)] = statistics.counts  # a category that training never saw has none
    counts[-1] = statistics.n_missing  # by the code of a missing value, -1, too
    order = [int(code) for code in np.argsort(-counts[:-1], kind="stable")]
    if statistics.n_missing or -1 in (before, after):
        order.append(-1)
    asked = {before, after}
    room = _MOST_CATEGORIES - len(asked)
    others = [code for code in order if code not in asked and counts[code]]  # unseen in training, or kept back
    kept = others if len(others) <= room else others[: room - 1]
    left_out = [code for code in others if code not in kept]
    shown = [code for code in order if code in asked or code in kept]
    if column.is_ordinal:
        shown.sort(key=lambda code: code % (n_levels + 1))  # a missing value, -1, comes last
    bars = [Bar(this.formatter.value(j, code), int(counts[code])) for code in shown]
    n_left_out = sum(int(counts[code]) for code in left_out)
    rest = Bar(this.teller.counted("plot.others", len(left_out)), n_left_out) if left_out else None
    inside = tuple(shown.index(code) for code in region if code in shown)
    return Categories(tuple(bars), shown.index(before), shown.index(after), rest, inside)
