"""The walk: a line for each step, the probability to its right."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from nicecf.views.plots.data.walk import Stop, Walk
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.figure_pen import FigurePen
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.ruler import SMALL
from nicecf.views.plots.draw.scale import Scale, Tick, ticks
from nicecf.views.plots.draw.sheet import MARGIN, Sheet, figure_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUMBER = 0.3
_LABELS = (1.5, 3.4)  # how narrow and how wide the column of labels may be
_CHART = 3.4
_HEAD, _TAIL = 0.24, 0.34  # above the lines, for the threshold, and below, for the axis
_LEAST = 0.3  # the height of a step


class _Row(NamedTuple):
    stop: Stop | None  # None: steps left out
    lines: list[str]
    height: float


def draw_walk(shown: Walk, look: Look) -> Figure:
    """The probability goes from stop to stop; where the target is decided on, the stop is filled."""
    rows = _rows(shown)
    labels = _NUMBER + max(_LABELS[0], *(ruler.width(line) for row in rows for line in row.lines))
    stops = [row.stop for row in rows if row.stop]
    chances = max(ruler.width(stop.chance, bold=True) for stop in stops)
    decisions = min(
        max(ruler.width(name, bold=True) for name in (shown.teller.say("plot.decision"), *_decisions(stops))), 2.0
    )
    legend = 0.28 if shown.rival else 0.0
    height = legend + _HEAD + sum(row.height for row in rows) + _TAIL
    left = MARGIN + labels + 0.2
    beside = left + _CHART + 0.2 + chances
    sheet = figure_sheet(shown.caption, look, width=beside + 0.15 + decisions + MARGIN, height=height)
    scale = Scale(*(shown.limits or (0.0, 1.0)), left, left + _CHART)
    top = sheet.top + legend + _HEAD
    bottom = sheet.bottom - _TAIL
    if shown.rival:
        _legend(sheet, shown)
    _axis(sheet, scale, _ticks(shown), top, bottom)
    sheet.text(beside + 0.15, top - 0.14, shown.teller.say("plot.decision"), SMALL, color=look.pale)
    if shown.threshold is not None:
        _threshold(sheet, scale, shown, top, bottom)

    y, places = top, []
    for row in rows:
        middle = y + row.height / 2
        if row.stop is None:
            sheet.text(MARGIN + _NUMBER, middle, row.lines[0], SMALL, color=look.pale)
        else:
            places.append((row.stop, middle))
            _label(sheet, row, y)
            is_turn = row.stop.is_there and row.stop.decision is not None
            color = look.after if is_turn else look.ink
            sheet.text(beside, middle, row.stop.chance, bold=is_turn, color=color, across="right")
            decision = ruler.cut(row.stop.decision or "", decisions, bold=True)
            sheet.text(beside + 0.15, middle, decision, bold=is_turn, color=color)
        y += row.height
    if shown.rival:
        _path(sheet, [(scale.at(stop.rival), y) for stop, y in places], look.row, dashes=(3, 2))
        for stop, y in places:
            sheet.mark(scale.at(stop.rival), y, "s", look.row, 5.0, is_open=True)
    _path(sheet, [(scale.at(stop.probability), y) for stop, y in places], look.after)
    for stop, y in places:
        is_there = stop.is_there
        sheet.mark(scale.at(stop.probability), y, "o", look.after, 9.0 if is_there else 7.0, is_open=not is_there)
    return sheet.pen.figure


def _rows(shown: Walk) -> list[_Row]:
    rows = []
    room = _LABELS[1]
    labels = iter(ruler.cut_steps([step for stop in shown.stops for step in stop.changes], room))
    for i, stop in enumerate(shown.stops):
        lines = [next(labels) for _ in stop.changes] or [shown.teller.say("plot.walk_row")]
        if stop.n_more:
            lines.append(shown.teller.say("plot.walk_more_at_once", count=stop.n_more))
        rows.append(_Row(stop, lines, max(_LEAST, len(lines) * ruler.line_height() + 0.12)))
        if i == shown.fold:
            rows.append(_Row(None, [shown.teller.counted("plot.walk_folded", shown.folded)], _LEAST))
    return rows


def _decisions(stops: list[Stop]) -> list[str]:
    return [stop.decision for stop in stops if stop.decision]


def _label(sheet: Sheet[FigurePen], row: _Row, y: float) -> None:
    look = sheet.look
    start = y + (row.height - len(row.lines) * ruler.line_height()) / 2
    is_row = row.stop is not None and row.stop.number == 0
    sheet.lines(MARGIN + _NUMBER, start, row.lines, color=look.pale if is_row else look.ink)
    if row.stop and row.stop.number:
        sheet.text(MARGIN + _NUMBER - 0.1, start + ruler.line_height() / 2, str(row.stop.number),
                   color=look.pale, across="right")  # fmt: skip


def _ticks(shown: Walk) -> list[Tick]:
    if shown.limits is not None:
        return [Tick(tick.value, shown.teller.number(tick.text)) for tick in ticks(*shown.limits, 5)]
    return [
        Tick(share, shown.teller.say("number.percent", number=f"{100 * share:.0f}"))
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]


def _axis(sheet: Sheet[FigurePen], scale: Scale, ticks: list[Tick], top: float, bottom: float) -> None:
    look = sheet.look
    for tick in ticks:
        x = scale.at(tick.value)
        sheet.line([x, x], [top, bottom], look.faint, 1.0, over=1)
        sheet.text(x, bottom + 0.17, tick.text, SMALL, color=look.pale, across="center")


def _threshold(sheet: Sheet[FigurePen], scale: Scale, shown: Walk, top: float, bottom: float) -> None:
    threshold = shown.threshold or 0.0
    x = scale.at(threshold)
    sheet.line([x, x], [top - 0.04, bottom], sheet.look.pale, 1.2, dashes=(4, 3), over=2)
    words = ruler.cut(shown.turn, 2.4, SMALL)
    half = ruler.width(words, SMALL) / 2
    middle = min(max(x, scale.start - 0.3 + half), scale.end + 0.3 - half)
    sheet.text(middle, top - 0.14, words, SMALL, color=sheet.look.pale, across="center")


def _legend(sheet: Sheet[FigurePen], shown: Walk) -> None:
    look, x, y = sheet.look, MARGIN, sheet.top + 0.1
    keys = (("o", look.after, shown.target, None), ("s", look.row, shown.rival or "", (3.0, 2.0)))
    for form, color, name, dashes in keys:
        name = ruler.cut(name, 2.4, SMALL)
        sheet.line([x, x + 0.34], [y, y], color, 1.6, dashes=dashes)
        sheet.mark(x + 0.17, y, form, color, 6.0, is_open=True)
        sheet.text(x + 0.42, y, name, SMALL)
        x += 0.42 + ruler.width(name, SMALL) + 0.35


def _path(
    sheet: Sheet[FigurePen], places: list[tuple[float, float]], color: str, dashes: tuple[float, ...] | None = None
) -> None:
    """From stop to stop: down first, then to the new probability, so that a step is seen as long as its gain."""
    for (x, y), (next_x, next_y) in pairwise(places):
        sheet.line([x, x, next_x], [y, next_y, next_y], color, 1.6, dashes=dashes, over=4)
