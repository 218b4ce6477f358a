"""How often each feature changes: a line for each, a column of bars for each decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicecf.views.plots.data.frequencies import Frequencies, Shares
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.figure_pen import FigurePen
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.ruler import SMALL
from nicecf.views.plots.draw.scale import Scale, ticks
from nicecf.views.plots.draw.sheet import MARGIN, Sheet, figure_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE, _BAR = 0.27, 0.16
_NAMES = (0.9, 2.6)
_KEYS = ("up", "down", "other")
_NUMBER = 0.5  # for the share behind a bar


def draw_frequencies(shown: Frequencies, look: Look) -> Figure:
    """Parts of a bar: raised is filled, lowered is hatched, what has no direction is grey."""
    names = min(max(_NAMES[0], *(ruler.width(line.feature) for line in shown.lines)), _NAMES[1])
    column = {1: 4.6, 2: 2.7, 3: 2.1, 4: 1.8}[len(shown.groups)]
    gap = 0.25
    n_lines = len(shown.lines) + (shown.folded is not None)
    heads = [
        ruler.broken(
            shown.teller.counted("plot.frequencies_group", group.n_rows, label=group.label), column, bold=True, most=3
        )
        for group in shown.groups
    ]
    head = 0.32 + max(map(len, heads)) * ruler.line_height() + 0.06
    width = MARGIN + names + len(heads) * (column + gap) + MARGIN
    sheet = figure_sheet(shown.caption, look, width=width, height=head + n_lines * _LINE + 0.3)
    _legend(sheet, shown)
    first = sheet.top + head
    axis = first + len(shown.lines) * _LINE
    highest = max((shares.total for line in shown.lines for shares in line.shares), default=0.0) or 1.0
    for i, words in enumerate(heads):
        start = MARGIN + names + gap + i * (column + gap)
        scale = Scale(0.0, highest, start, start + column - _NUMBER)
        sheet.lines(start, sheet.top + 0.32, words, bold=True)
        for tick in ticks(0.0, 100 * highest, 4):
            x = scale.at(tick.value / 100)
            sheet.line([x, x], [first, axis], look.faint, 1.0, over=1)
            sheet.text(
                x,
                axis + 0.13,
                shown.teller.say("number.percent", number=shown.teller.number(tick.text)),
                SMALL,
                color=look.pale,
                across="center",
            )
        for number, line in enumerate(shown.lines):
            _bar(sheet, line.shares[i], scale, first + (number + 0.5) * _LINE)
        sheet.line([start, start], [first, axis], look.pale, 0.8)
    features = ruler.cut_apart([line.feature for line in shown.lines], [names] * len(shown.lines))
    for number, feature in enumerate(features):
        sheet.text(MARGIN + names, first + (number + 0.5) * _LINE, feature, across="right")
    if shown.folded:
        room = width - 2 * MARGIN
        sheet.text(MARGIN, sheet.bottom - 0.1, ruler.cut(shown.folded, room, SMALL), SMALL, color=look.pale)
    return sheet.pen.figure


def _bar(sheet: Sheet[FigurePen], shares: Shares, scale: Scale, middle: float) -> None:
    reached = 0.0
    for kind in _KEYS:
        share = getattr(shares, kind)
        if share > 0:
            x = scale.at(reached)
            _part(sheet, kind, x, middle, scale.at(reached + share) - x)
        reached += share
    color = sheet.look.ink if reached else sheet.look.pale
    sheet.text(scale.at(reached) + 0.06, middle, shares.chance, SMALL, color=color)


def _part(sheet: Sheet[FigurePen], kind: str, x: float, middle: float, width: float) -> None:
    look = sheet.look
    fill = {"up": look.after, "down": look.background, "other": look.bar}[kind]
    is_striped = kind == "down"
    sheet.box(x, middle - _BAR / 2, width, _BAR, fill, edge=look.row if is_striped else None, is_striped=is_striped)


def _legend(sheet: Sheet[FigurePen], shown: Frequencies) -> None:
    x, y = MARGIN, sheet.top + 0.1
    for kind in _KEYS:
        if any(getattr(shares, kind) for line in shown.lines for shares in line.shares):
            name = shown.teller.say(f"plot.frequencies_{kind}")
            _part(sheet, kind, x, y, 0.3)
            sheet.text(x + 0.37, y, name, SMALL)
            x += 0.37 + ruler.width(name, SMALL) + 0.3
