"""A picture without anything to draw: it says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicecf.views.plots.data.common import Message
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.sheet import MARGIN, figure_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 7.0


def draw_message(shown: Message, look: Look) -> Figure:
    """The words, beside a line in the colour of what did not come about."""
    lines = ruler.broken(shown.words, _WIDTH - 2 * MARGIN - 0.2, most=12)
    height = len(lines) * ruler.line_height() + 0.1
    sheet = figure_sheet(shown.caption, look, width=_WIDTH, height=height)
    sheet.box(MARGIN, sheet.top, 0.05, height, look.pale)
    sheet.lines(MARGIN + 0.2, sheet.top + 0.05, lines)
    return sheet.pen.figure
