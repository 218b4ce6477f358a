"""A picture to draw on in inches, counted from its top left corner, with a heading and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from nicecf.views.plots.data.common import Caption
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.figure_pen import FigurePen
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.pen import Across, Pen
from nicecf.views.plots.draw.ruler import LARGE, SMALL, USUAL

MARGIN = 0.25
_STRIPE = 0.055

P = TypeVar("P", bound=Pen)


class Sheet(Generic[P]):
    """A picture in the making. ``top`` and ``bottom`` are where the picture itself begins and ends."""

    def __init__(self, caption: Caption, look: Look, pen: type[P], *, width: float, height: float) -> None:
        """``height`` is that of the picture, between its heading and its notes."""
        room = width - 2 * MARGIN
        title = ruler.broken(caption.title, room, LARGE, bold=True, most=3) if caption.title else []
        subtitle = ruler.broken(caption.subtitle, room, USUAL, most=3) if caption.subtitle else []
        notes = [line for note in caption.notes for line in ruler.broken(note, room, SMALL, most=6)]
        self.top = MARGIN + _height(title, LARGE) + _height(subtitle, USUAL) + (0.12 if title or subtitle else 0.0)
        self.bottom = self.top + height
        self.width = width
        self.height = self.bottom + (0.12 + _height(notes, SMALL) if notes else 0.0) + MARGIN
        self.look = look
        self.pen = pen(width, self.height, caption.alt, look)
        y = self.lines(MARGIN, MARGIN, title, LARGE, bold=True)
        self.lines(MARGIN, y, subtitle, USUAL, color=look.pale)
        self.lines(MARGIN, self.bottom + 0.12, notes, SMALL, color=look.pale)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = USUAL,
        *,
        color: str | None = None,
        bold: bool = False,
        across: Across = "left",
        turned: bool = False,
    ) -> None:
        """One line of text."""
        self.pen.text(x, y, words, size, color or self.look.ink, bold=bold, across=across, turned=turned)

    def lines(
        self,
        x: float,
        y: float,
        words: Sequence[str],
        size: float = USUAL,
        *,
        color: str | None = None,
        bold: bool = False,
    ) -> float:
        """Lines of text below each other from ``y`` on; gives where they end."""
        step = ruler.line_height(size)
        for i, line in enumerate(words):
            self.text(x, y + (i + 0.5) * step, line, size, color=color, bold=bold)
        return y + len(words) * step

    def line(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        color: str,
        width: float = 1.0,
        *,
        dashes: tuple[float, ...] | None = None,
        over: float = 3,
    ) -> None:
        """A line through some places."""
        self.pen.line(xs, ys, color, width, dashes=dashes, over=over)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        color: str,
        *,
        edge: str | None = None,
        is_striped: bool = False,
        over: float = 2,
    ) -> None:
        """A rectangle, from its top left corner; stripes have the colour of the edge."""
        self.pen.box(x, y, width, height, color, edge=edge, over=over)
        # By hand: how wide the lines of matplotlib's own hatching are is a setting.
        if edge is not None and is_striped:
            for right in np.arange(x + _STRIPE / 2, x + width + height, _STRIPE):
                low, high = max(right - height, x), min(right, x + width)
                self.line([low, high], [y + right - low, y + right - high], edge, 0.8, over=over)

    def mark(
        self, x: float, y: float, form: str, color: str, size: float = 7.0, *, is_open: bool = False, over: float = 6
    ) -> None:
        """A sign at a place, of a size in points; an open one is filled with the background."""
        self.pen.mark(x, y, form, color, size, is_open=is_open, over=over)

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        color: str,
        width: float = 1.6,
        *,
        bend: float = 0.0,
        shrink: tuple[float, float] = (0.0, 0.0),
        over: float = 5,
    ) -> None:
        """An arrow, bent to one side by a share of its length; shrunk at its ends by some points."""
        self.pen.arrow(start, end, color, width, bend=bend, shrink=shrink, over=over)


def figure_sheet(caption: Caption, look: Look, *, width: float, height: float) -> Sheet[FigurePen]:
    """A sheet that becomes a figure."""
    return Sheet(caption, look, FigurePen, width=width, height=height)


def _height(lines: Sequence[str], size: float) -> float:
    return len(lines) * ruler.line_height(size)
