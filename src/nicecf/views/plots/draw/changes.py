"""Changes as arrows on the distribution of their feature in the training data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nicecf.views.plots.data.changes import Categories, Changes, Numbers, Panel
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.date_ticks import ticks_of
from nicecf.views.plots.draw.figure_pen import FigurePen
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.ruler import SMALL
from nicecf.views.plots.draw.scale import Scale
from nicecf.views.plots.draw.sheet import MARGIN, P, Sheet
from nicecf.views.telling import Teller

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _NAMES = 8.0, 2.35
_LEFT, _RIGHT = MARGIN + _NAMES + 0.25, _WIDTH - MARGIN
_PAD = 0.14  # above and below what a panel holds
_HISTOGRAM, _ARROW, _AXIS = 0.5, 0.3, 0.22
_BAR = 0.22
_BAND = 0.06  # how thick a region is on its axis
_MISSING_ROOM = 1.2


def draw_changes(shown: Changes, look: Look) -> Figure:
    """One panel for each change: its name and values, and where they lie among the training values."""
    return changes_sheet(shown, look, FigurePen).pen.figure


def changes_sheet(shown: Changes, look: Look, pen: type[P]) -> Sheet[P]:
    """The same, drawn by any pen."""
    names = [_names(panel, shown.teller) for panel in shown.panels]
    heights = [
        2 * _PAD + max(_height(panel), len(lines) * ruler.line_height())
        for panel, lines in zip(shown.panels, names, strict=True)
    ]
    sheet = Sheet(shown.caption, look, pen, width=_WIDTH, height=0.26 + sum(heights))
    y = sheet.top
    _legend(sheet, y + 0.08, shown)
    y += 0.26
    for panel, lines, height in zip(shown.panels, names, heights, strict=True):
        sheet.line([MARGIN, _RIGHT], [y, y], look.faint, 1.0, over=1)
        n_names = len(lines) - len(_values(panel, shown.teller))
        below = sheet.lines(MARGIN, y + _PAD, lines[:n_names], bold=True)
        sheet.lines(MARGIN, below, lines[n_names:], color=look.pale)
        middle = y + height / 2 - _height(panel) / 2
        if isinstance(panel.spread, Numbers):
            _histogram(sheet, panel.spread, middle, shown.teller)
        else:
            _bars(sheet, panel.spread, middle, shown.teller)
        y += height
    return sheet


def _names(panel: Panel, teller: Teller) -> list[str]:
    return [*ruler.broken(panel.step.feature, _NAMES, bold=True, most=2), *_values(panel, teller)]


def _values(panel: Panel, teller: Teller) -> list[str]:
    """``626 → 708`` in one line, or in two where that is too long; and whether it follows from the other changes."""
    before, after = panel.step.before, panel.step.after
    follows = [teller.say("plot.follows")] if panel.step.is_derived else []
    if ruler.width(f"{before} → {after}") <= _NAMES:
        return [f"{before} → {after}", *follows]
    before, after = ruler.cut_apart([before, after], [_NAMES, _NAMES - ruler.width("→ ")])
    return [before, f"→ {after}", *follows]


def _height(panel: Panel) -> float:
    if isinstance(panel.spread, Numbers):
        return _ARROW + _HISTOGRAM + _AXIS
    return _BAR * (len(panel.spread.bars) + (panel.spread.rest is not None))


def _legend(sheet: Sheet[P], y: float, shown: Changes) -> None:
    look, teller = sheet.look, shown.teller
    has_region = any(panel.spread.region for panel in shown.panels)
    x = MARGIN if has_region else _LEFT  # in German, four of them are longer than the axes
    for form, color, size, words in (
        ("o", look.row, 7.0, teller.say("plot.row")),
        ("D", look.after, 6.5, teller.say("plot.counterfactual")),
    ):
        sheet.mark(x + 0.06, y, form, color, size)
        sheet.text(x + 0.16, y, words, SMALL)
        x += 0.16 + ruler.width(words, SMALL) + 0.25
    if has_region:
        sheet.box(x, y - _BAND / 2, 0.2, _BAND, look.after)
        words = teller.say("plot.region")
        sheet.text(x + 0.26, y, words, SMALL)
        x += 0.26 + ruler.width(words, SMALL) + 0.25
    sheet.box(x, y - 0.05, 0.16, 0.1, look.bar)
    words = teller.counted("plot.training_rows", shown.n_rows)
    sheet.text(x + 0.22, y, ruler.cut(words, _RIGHT - x - 0.22, SMALL), SMALL, color=look.pale)


def _histogram(sheet: Sheet[P], spread: Numbers, top: float, teller: Teller) -> None:
    look = sheet.look
    marks = [value for value in (spread.before, spread.after) if not np.isnan(value)]
    has_gap = len(marks) < 2 or spread.share_missing > 0
    ends = [end for end in spread.region or () if np.isfinite(end)]
    limits = [*marks, *ends, *spread.edges.tolist()]
    low, high = (min(limits), max(limits)) if limits else (0.0, 0.0)
    end = _RIGHT - (_MISSING_ROOM if has_gap else 0.1)
    scale = Scale(low, high, _LEFT + 0.1, end - (0.2 if spread.is_cut else 0.0))
    base = top + _ARROW + _HISTOGRAM
    most = max(spread.heights.tolist(), default=0.0) or 1.0
    for count, start, stop in zip(spread.heights.tolist(), spread.edges, spread.edges[1:], strict=False):
        if count:
            # Never so low that what is there cannot be seen.
            height = max(_HISTOGRAM * count / most, 0.012)
            sheet.box(scale.at(start), base - height, scale.at(stop) - scale.at(start), height, look.bar)
    sheet.line([_LEFT, scale.end + 0.1], [base, base], look.pale, 0.8)
    if spread.region is not None:
        # An open end goes on to the end of the axis.
        start, stop = (scale.at(end) if np.isfinite(end) else None for end in spread.region)
        start, stop = _LEFT if start is None else start, scale.end + 0.1 if stop is None else stop
        sheet.box(start, base - _BAND / 2, max(stop - start, 0.03), _BAND, look.after, over=3)
    if spread.is_cut:
        sheet.text(scale.end + 0.13, base, "···", color=look.pale)
    for tick in ticks_of(low, high, 6, spread.temporal, teller, whole=spread.is_whole):
        x = scale.at(tick.value)
        sheet.line([x, x], [base, base + 0.04], look.pale, 0.8)
        sheet.text(x, base + 0.13, tick.text, SMALL, color=look.pale, across="center")
    gap = _RIGHT - 0.42
    if has_gap:
        _missing(sheet, spread, gap, base)
    before, after = (gap if np.isnan(value) else scale.at(value) for value in (spread.before, spread.after))
    y = top + _ARROW / 2
    # Too near to each other for an arrow: one above the other.
    is_near = abs(after - before) < 0.24
    y_before, y_after = (y - 0.07, y + 0.09) if is_near else (y, y)
    for x, start, color in ((before, y_before, look.row), (after, y_after, look.after)):
        sheet.line([x, x], [start, base], color, 1.0, dashes=(2, 2), over=4)
    if not is_near:
        sheet.arrow((before, y), (after, y), look.ink, shrink=(4, 5))
    sheet.mark(before, y_before, "o", look.row, 7.5)
    sheet.mark(after, y_after, "D", look.after, 7.0)


def _missing(sheet: Sheet[P], spread: Numbers, x: float, base: float) -> None:
    """The missing values of a column, at the side: a bar as high as their share."""
    look = sheet.look
    height = _HISTOGRAM * spread.share_missing
    sheet.box(x - 0.14, base - height, 0.28, height, look.bar)
    sheet.line([x - 0.2, x + 0.2], [base, base], look.pale, 0.8)
    words = ruler.cut(f"{spread.missing} {spread.chance}".rstrip(), _MISSING_ROOM - 0.2, SMALL)
    sheet.text(x, base + 0.13, words, SMALL, color=look.pale, across="center")


def _bars(sheet: Sheet[P], spread: Categories, top: float, teller: Teller) -> None:
    look = sheet.look
    bars = [*spread.bars, *([spread.rest] if spread.rest else [])]
    labels = min(max(ruler.width(bar.label, SMALL, bold=True) for bar in bars), 2.3)
    words = ruler.cut_apart([bar.label for bar in bars], [labels] * len(bars), SMALL, bold=True)
    counts = [teller.count(bar.count) for bar in bars]
    room = max(ruler.width(count, SMALL) for count in counts)
    start = _LEFT + 0.45 + labels + 0.1
    scale = Scale(0.0, max(bar.count for bar in spread.bars) or 1, start, _RIGHT - room - 0.15)
    middles = [top + (i + 0.5) * _BAR for i in range(len(bars))]
    for i, (bar, middle, count) in enumerate(zip(bars, middles, counts, strict=True)):
        is_end = i in (spread.before, spread.after)
        color = look.ink if is_end else look.pale
        sheet.text(start - 0.1, middle, words[i], SMALL, bold=is_end, across="right", color=color)
        # All others together are not a category: only their number is shown.
        width = 0.0 if bar is spread.rest else max(scale.at(bar.count) - start, 0.012)
        sheet.box(start, middle - 0.32 * _BAR, width, 0.64 * _BAR, look.bar)
        sheet.text(start + width + 0.06, middle, count, SMALL, color=look.pale)
    for i in spread.region:
        sheet.box(start - _BAND, middles[i] - 0.32 * _BAR, _BAND, 0.64 * _BAR, look.after, over=3)
    x, before, after = _LEFT + 0.3, middles[spread.before], middles[spread.after]
    # Bent to the left, away from the labels, whichever way it goes; to the next line it is straight.
    bend = 0.0 if abs(spread.after - spread.before) == 1 else 0.35 if after < before else -0.35
    sheet.arrow((x, before), (x, after), look.ink, bend=-bend, shrink=(4, 4))
    sheet.mark(x, before, "o", look.row, 7.5)
    sheet.mark(x, after, "D", look.after, 7.0)
