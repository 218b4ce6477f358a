"""A figure to draw on in inches, counted from its top left corner, with a heading and notes.

Of everything that is drawn, the colour, font and line are set here: the settings of matplotlib are neither changed nor
followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nicecf.views.plots.canvas import matplotlib, new_figure
from nicecf.views.plots.data.common import Caption
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.ruler import LARGE, SMALL, USUAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN = 0.25
_STRIPE = 0.055


class Sheet:
    """A figure in the making. ``top`` and ``bottom`` are where the picture itself begins and ends."""

    def __init__(self, caption: Caption, look: Look, *, width: float, height: float) -> None:
        """``height`` is that of the picture, between its heading and its notes."""
        room = width - 2 * MARGIN
        title = ruler.broken(caption.title, room, LARGE, bold=True, most=3)
        subtitle = ruler.broken(caption.subtitle, room, USUAL, most=3) if caption.subtitle else []
        notes = [line for note in caption.notes for line in ruler.broken(note, room, SMALL, most=6)]
        self.top = MARGIN + _height(title, LARGE) + _height(subtitle, USUAL) + 0.12
        self.bottom = self.top + height
        self.width = width
        self.height = self.bottom + (0.12 + _height(notes, SMALL) if notes else 0.0) + MARGIN
        self.look = look
        self.figure: Figure = new_figure(width, self.height, caption.alt, background=look.background)
        axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0.0, width)
        axes.set_ylim(self.height, 0.0)
        self.axes = axes
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
        across: Literal["left", "center", "right"] = "left",
        turned: bool = False,
    ) -> None:
        """One line of text; nothing in it is read as mathematics."""
        self.axes.text(
            x,
            y,
            words,
            color=color or self.look.ink,
            fontproperties=ruler.font(size, bold=bold),
            horizontalalignment=across,
            verticalalignment="center" if turned else "center_baseline",
            rotation=90 if turned else 0,
            rotation_mode="default",
            parse_math=False,
            usetex=False,
            clip_on=False,
            zorder=10,
        )

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
        self.axes.add_line(
            matplotlib("matplotlib.lines").Line2D(
                xs,
                ys,
                color=color,
                linewidth=width,
                linestyle=(0, dashes) if dashes else "-",
                marker="None",
                antialiased=True,
                solid_capstyle="butt",
                solid_joinstyle="miter",
                dash_capstyle="butt",
                zorder=over,
            )
        )

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
        self.axes.add_patch(
            matplotlib("matplotlib.patches").Rectangle(
                (x, y),
                width,
                height,
                facecolor=color,
                edgecolor=edge or "none",
                linewidth=0.8 if edge else 0.0,
                antialiased=bool(edge),
                zorder=over,
            )
        )
        # By hand: how wide the lines of matplotlib's own hatching are is a setting.
        if edge is not None and is_striped:
            for right in np.arange(x + _STRIPE / 2, x + width + height, _STRIPE):
                low, high = max(right - height, x), min(right, x + width)
                self.line([low, high], [y + right - low, y + right - high], edge, 0.8, over=over)

    def mark(
        self, x: float, y: float, form: str, color: str, size: float = 7.0, *, is_open: bool = False, over: float = 6
    ) -> None:
        """A sign at a place, of a size in points; an open one is filled with the background."""
        background = self.look.background
        self.axes.add_line(
            matplotlib("matplotlib.lines").Line2D(
                [x],
                [y],
                linestyle="None",
                marker=form,
                markersize=size,
                markerfacecolor=background if is_open else color,
                markeredgecolor=color if is_open else background,
                markeredgewidth=1.4 if is_open else 1.0,
                fillstyle="full",
                antialiased=True,
                zorder=over,
            )
        )

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
        patches = matplotlib("matplotlib.patches")
        self.axes.add_patch(
            patches.FancyArrowPatch(
                start,
                end,
                arrowstyle=patches.ArrowStyle("-|>", head_length=0.35, head_width=0.18),
                connectionstyle=patches.ConnectionStyle("arc3", rad=bend),
                mutation_scale=14,
                shrinkA=shrink[0],
                shrinkB=shrink[1],
                color=color,
                linewidth=width,
                capstyle="butt",
                joinstyle="miter",
                antialiased=True,
                zorder=over,
            )
        )


def _height(lines: Sequence[str], size: float) -> float:
    return len(lines) * ruler.line_height(size)
