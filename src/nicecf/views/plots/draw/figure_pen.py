"""Draws with matplotlib, in inches from the top left corner.

Of everything that is drawn, the colour, font and line are set here: the settings of matplotlib are neither changed nor
followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nicecf.views.plots.canvas import matplotlib, new_figure
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.pen import Across

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FigurePen:
    """A pen whose picture is a matplotlib figure."""

    def __init__(self, width: float, height: float, alt: str, look: Look) -> None:
        self.background = look.background
        self.figure: Figure = new_figure(width, height, alt, background=look.background)
        axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0.0, width)
        axes.set_ylim(height, 0.0)
        self.axes = axes

    def text(
        self, x: float, y: float, words: str, size: float, color: str, *, bold: bool, across: Across, turned: bool
    ) -> None:
        """One line of text; nothing in it is read as mathematics."""
        self.axes.text(
            x,
            y,
            words,
            color=color,
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

    def line(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        color: str,
        width: float,
        *,
        dashes: tuple[float, ...] | None,
        over: float,
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
        self, x: float, y: float, width: float, height: float, color: str, *, edge: str | None, over: float
    ) -> None:
        """A rectangle, from its top left corner."""
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

    def mark(self, x: float, y: float, form: str, color: str, size: float, *, is_open: bool, over: float) -> None:
        """A sign at a place, of a size in points; an open one is filled with the background."""
        background = self.background
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
        width: float,
        *,
        bend: float,
        shrink: tuple[float, float],
        over: float,
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
