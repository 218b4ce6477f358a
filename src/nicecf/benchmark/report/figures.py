"""Numbers -> pictures: trade-offs with their efficient frontier, critical-difference diagrams, growth.

Every function takes plain numbers and gives a matplotlib figure. Names are written as they are, dollar signs included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from nicecf.benchmark.report.names import OURS, Kind, kind, pretty
from nicecf.benchmark.statistics import cliques, efficient
from nicecf.support.types import Floats
from nicecf.views.plots import canvas
from nicecf.views.plots.canvas import INK, LARGE, PALE, SMALL, as_svg, matplotlib, new_figure, save, text_size
from nicecf.views.plots.labels import Box, around, levels, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["as_svg", "critical_difference_diagram", "growth", "save", "trade_off"]

# Okabe and Ito's colours, which all eyes tell apart (their yellow is too light for lines on white).
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKERS = "osD^vPXhp<>"
_LONGEST_NAME = 32
_POINTS = 72  # in an inch
_SHEET, _ROW, _BAR = 8.0, 0.26, 0.12  # inches: the width of a diagram, the height of a line of it, of a bar


class _Look(NamedTuple):
    label: str
    color: str
    marker: str
    size: float


class _Scale(NamedTuple):
    """Ranks -> inches."""

    left: float
    low: float
    unit: float

    def x(self, rank: float) -> float:
        return self.left + (rank - self.low) * self.unit


_LOOKS: dict[Kind, _Look] = {
    "nice": _Look("NICE, as in the paper", _COLORS[0], "o", 8.5),
    "benchmark": _Look("benchmarks of the paper", _COLORS[1], "s", 7.5),
    "beyond": _Look("beyond the paper", _COLORS[2], "D", 7.5),
}


def trade_off(
    points: Mapping[str, tuple[float, float]], x_label: str, y_label: str, title: str, ours: Collection[str] = OURS
) -> Figure:
    """Two qualities of each method against each other (average ranks, lower is better), and the efficient frontier.

    The names of the methods on the frontier are bold. ``ours``: the methods beyond the paper; so is every name that the
    paper does not have. A method without one of the two ranks (NaN) is left out, and a note says so.
    """
    names = [method for method, point in points.items() if np.isfinite(point).all()]
    places = np.array([points[method] for method in names], dtype=np.float64).reshape(-1, 2)
    with _style():
        figure, axes = _axes(
            title, width=6.6, height=5.4, beside=0.75, below=1.05, note=_left_out(points, names, "rank")
        )
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.grid()
        axes.set_xlim(*_padded(places[:, 0]))
        axes.set_ylim(*_padded(places[:, 1]))
        if not names:
            _say(axes, "no method has both ranks")
            return figure
        is_efficient = efficient(places)
        frontier = _frontier(places[is_efficient], right=axes.get_xlim()[1], top=axes.get_ylim()[1])
        axes.plot(*frontier.T, color=INK, linewidth=1.1, linestyle=(0, (5, 3)), label="efficient frontier", zorder=2)
        kinds = ["beyond" if method in ours else kind(method) for method in names]
        for one, look in _LOOKS.items():
            if one in kinds:
                _mark(axes, places[[other == one for other in kinds]], look)
        _name_points(axes, names, places, is_efficient.tolist(), frontier)
        # Below: inside the axes it would lie on points in one figure or another.
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.47, -0.1), ncols=2, frameon=False, fontsize=SMALL,
            columnspacing=1.2, handletextpad=0.3,
        )  # fmt: skip
        return figure


def critical_difference_diagram(average_ranks: Mapping[str, float], cd: float, title: str) -> Figure:
    """Demšar's diagram: methods on an axis of average ranks; a bar joins those that are not significantly different.

    ``cd``: the critical difference; no bars and no ruler where it is NaN. A method without a rank (NaN) is left out,
    and a note says so.
    """
    methods = sorted((m for m, rank in average_ranks.items() if np.isfinite(rank)), key=average_ranks.__getitem__)
    at = [float(average_ranks[method]) for method in methods]
    bars = [(at[group[0]], at[group[-1]]) for group in cliques(at, cd)]
    n_left = (len(methods) + 1) // 2
    note = "Average ranks, lower is better."
    if np.isfinite(cd):
        note += " Bars join methods that are no more than the critical difference (CD) apart."
    note = "\n".join(filter(None, [note, _left_out(average_ranks, methods, "rank")]))
    with _style():
        to_names = 0.3 + _BAR * (1 + max(levels(bars), default=-1))
        figure, axes, height = _sheet(title, height=0.85 + to_names + _ROW * n_left, note=note)
        if not methods:
            axes.text(_SHEET / 2, height - 0.6, "no method has a rank", ha="center", color=PALE)
            return figure
        names = [
            f"{_short(method)}  {rank:.2f}" if i < n_left else f"{rank:.2f}  {_short(method)}"
            for i, (method, rank) in enumerate(zip(methods, at, strict=True))
        ]
        widths = [text_size(axes, name)[0] for name in names]
        left, right = 0.4 + max(widths[:n_left]), _SHEET - 0.4 - max(widths[n_left:], default=0.0)
        low, high = math.floor(at[0]), max(math.ceil(at[-1]), math.floor(at[0]) + 1)
        scale = _Scale(left, low, (right - left) / max(high - low, cd if np.isfinite(cd) else 0.0))
        y_axis = height - 0.75
        _rank_axis(axes, y_axis, {str(rank): scale.x(rank) for rank in range(low, high + 1)})
        if np.isfinite(cd):
            _ruler(axes, y_axis + 0.55, left, scale.x(low + cd), f"CD = {cd:.3f}")
        _join(axes, y_axis - 0.17, [(scale.x(first), scale.x(last)) for first, last in bars])
        _name_ranks(axes, names, [scale.x(rank) for rank in at], (left, right), (y_axis, y_axis - to_names))
        return figure


def growth(lines: Mapping[str, Sequence[tuple[float, float]]], x_label: str, title: str) -> Figure:
    """Milliseconds per explanation against what grows (features, training rows), both logarithmic, a line per method.

    Points that no logarithm has (NaN, or not above zero) are left out; so is a method without any other, and a note
    says so.
    """
    drawn = {}
    for method, line in lines.items():
        points = np.array(line, dtype=np.float64).reshape(-1, 2)
        points = points[(np.isfinite(points) & (points > 0)).all(axis=1)]
        if len(points):
            drawn[method] = points[np.argsort(points[:, 0], kind="stable")]
    with _style():
        figure, axes = _axes(title, width=7.4, height=4.8, beside=1.15, below=0.6, note=_left_out(lines, drawn, "time"))
        axes.set_xlabel(x_label)
        axes.set_ylabel("milliseconds per explanation")
        axes.grid()
        every_point = np.concatenate([np.empty((0, 2)), *drawn.values()])
        _logarithmic(axes, "x", every_point[:, 0])
        _logarithmic(axes, "y", every_point[:, 1])
        if not drawn:
            _say(axes, "nothing was measured")
            return figure
        colors = [_COLORS[i % len(_COLORS)] for i in range(len(drawn))]
        for i, points in enumerate(drawn.values()):
            # Where the colours start again, the lines are dashed.
            dashes = "--" if i // len(_COLORS) % 2 else "-"
            axes.plot(*points.T, dashes + _MARKERS[i % len(_MARKERS)], color=colors[i], linewidth=1.6, markersize=6)
        _name_ends(axes, drawn, colors)
        return figure


def _style() -> AbstractContextManager[None]:
    return canvas.style(extra="benchmark", needed_by="nicecf benchmark report")


def _axes(title: str, *, width: float, height: float, beside: float, below: float, note: str) -> tuple[Figure, Axes]:
    """A figure of one pair of axes, with room beside (to the left) and below; sizes in inches."""
    wrapped = fill(title, 64)
    above = 0.5 + 0.18 * wrapped.count("\n")
    height += above - 0.5 + _note_height(note)
    below += _note_height(note)
    figure = new_figure(width, height, title)
    axes = figure.add_axes((beside / width, below / height, 1 - (beside + 0.2) / width, 1 - (below + above) / height))
    axes.set_title(wrapped, loc="left", fontsize=LARGE, weight="bold", pad=10)
    figure.text(0.15 / width, 0.1 / height, note, fontsize=SMALL, color=PALE)
    return figure, axes


def _sheet(title: str, *, height: float, note: str) -> tuple[Figure, Axes, float]:
    """A figure to draw on in inches, so high between its title and its note; and where the title ends."""
    wrapped = fill(title, 78)
    below = _note_height(note)
    whole = below + height + 0.3 + 0.18 * wrapped.count("\n")
    figure = new_figure(_SHEET, whole, title)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, _SHEET)
    axes.set_ylim(0, whole)
    axes.text(0.15, whole - 0.12, wrapped, va="top", fontsize=LARGE, weight="bold")
    axes.text(0.15, 0.1, note, fontsize=SMALL, color=PALE)
    return figure, axes, below + height


def _note_height(note: str) -> float:
    return 0.1 + 0.16 * (1 + note.count("\n")) if note else 0.0


def _left_out(given: Iterable[str], drawn: Iterable[str], what: str) -> str:
    """The note on what is not in a figure; empty where all is."""
    names = [_short(method) for method in given if method not in set(drawn)]
    return fill(f"Left out, without a {what}: {', '.join(names)}", 86) if names else ""


def _short(method: str) -> str:
    name = pretty(method)
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _say(axes: Axes, words: str) -> None:
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", color=PALE)


def _mark(axes: Axes, places: Floats, look: _Look) -> None:
    axes.plot(
        *places.T,
        look.marker,
        color=look.color,
        markersize=look.size,
        markeredgecolor="white",
        label=look.label,
        zorder=4,
    )


def _padded(values: Floats) -> tuple[float, float]:
    """The limits of an axis, with room for labels; something to see even of one place, or of none."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 2.0)
    span = high - low if high > low else 4.0
    # More below: there, nothing is in the way of the names of the efficient ones.
    return low - 0.16 * span, high + 0.12 * span


def _frontier(places: Floats, *, right: float, top: float) -> Floats:
    """The border of what the efficient places dominate: a staircase from the top of the axes to their right."""
    steps = places[np.lexsort((places[:, 1], places[:, 0]))]
    corners = [(steps[0, 0], top)]
    for x, y in steps.tolist():
        corners += [(x, corners[-1][1]), (x, y)]
    return np.array([*corners, (right, corners[-1][1])])


def _name_points(axes: Axes, names: Sequence[str], places: Floats, is_bold: Sequence[bool], line: Floats) -> None:
    """Write each name next to its place; a thin line leads there where it had to move away."""
    weights = ["bold" if bold else "normal" for bold in is_bold]
    shown = [_short(name) for name in names]
    sizes = _POINTS * np.array(
        [text_size(axes, n, font_size=SMALL, weight=w) for n, w in zip(shown, weights, strict=True)]
    )
    in_points = _to_points(axes)
    anchors = in_points(places)
    corners = in_points(np.column_stack([axes.get_xlim(), axes.get_ylim()]))
    gap = 6.0
    centres = around(anchors, sizes, bounds=Box(*corners[0], *corners[1]), gap=gap, lines=_along(in_points(line), gap))
    for anchor, centre, size, place, name, weight in zip(anchors, centres, sizes, places, shown, weights, strict=True):
        is_away = (np.abs(centre - anchor) - size / 2).max() > 2 * gap
        axes.annotate(
            name,
            place,
            centre - anchor,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SMALL,
            weight=weight,
            zorder=3,
            bbox={"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": PALE, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 3}
            if is_away
            else None,
        )


def _name_ends(axes: Axes, drawn: Mapping[str, Floats], colors: Sequence[str]) -> None:
    """Write each name right of the axes, at the height at which its line ends, or as near to it as there is room."""
    figure = _figure_of(axes)
    names = [_short(name) for name in drawn]
    room = max(text_size(axes, name, font_size=SMALL)[0] for name in names) + 0.45
    box, inches = axes.get_position(), figure.get_size_inches()
    axes.set_position((box.x0, box.y0, 1 - room / inches[0] - box.x0, box.height))
    in_points = _to_points(axes)
    ends = in_points(np.array([points[-1] for points in drawn.values()]))
    low, high = in_points(np.column_stack([axes.get_xlim(), axes.get_ylim()]))
    heights = spread(ends[:, 1], gap=13.0, low=low[1], high=high[1])
    for name, color, points, end, y in zip(names, colors, drawn.values(), ends, heights, strict=True):
        axes.annotate(
            name,
            points[-1],
            (high[0] + 14 - end[0], y - end[1]),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            arrowprops={
                "arrowstyle": "-",
                "color": color,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )


def _to_points(axes: Axes) -> Callable[[Floats], Floats]:
    """From the units of the axes to points (72 to an inch), in which the sizes of text and markers are."""
    dpi = _figure_of(axes).dpi
    return lambda places: np.asarray(axes.transData.transform(places)) * _POINTS / dpi


def _figure_of(axes: Axes) -> Figure:
    figure: Any = axes.figure  # never a part of a figure: no axes of ours are in one
    return figure


def _along(line: Floats, step: float) -> Floats:
    """Places along a line, about a step apart."""
    parts = [np.linspace(start, end, max(2, int(np.hypot(*(end - start)) / step))) for start, end in pairwise(line)]
    return np.concatenate(parts)


def _rank_axis(axes: Axes, y: float, ticks: Mapping[str, float]) -> None:
    places = list(ticks.values())
    axes.plot([places[0], places[-1]], [y, y], color=INK, linewidth=1.2)
    for name, x in ticks.items():
        axes.plot([x, x], [y, y + 0.08], color=INK, linewidth=1.2)
        axes.text(x, y + 0.13, name, ha="center", fontsize=SMALL)


def _ruler(axes: Axes, y: float, start: float, end: float, words: str) -> None:
    axes.plot([start, end], [y, y], color=INK, linewidth=1.2)
    for x in (start, end):
        axes.plot([x, x], [y - 0.05, y + 0.05], color=INK, linewidth=1.2)
    axes.text(end + 0.1, y, words, va="center_baseline", fontsize=SMALL)


def _join(axes: Axes, y: float, bars: Sequence[tuple[float, float]]) -> None:
    for (start, end), level in zip(bars, levels(bars), strict=True):
        # A little longer: that of two equal ranks would not be seen.
        x, height = [start - 0.04, end + 0.04], [y - _BAR * level] * 2
        axes.plot(x, height, color=_COLORS[0], linewidth=4, solid_capstyle="butt", zorder=3)


def _name_ranks(
    axes: Axes, names: Sequence[str], at: Sequence[float], sides: tuple[float, float], heights: tuple[float, float]
) -> None:
    """Write the names, the better half to the left; a line leads from each to its place on the axis.

    The best is top left and the worst top right: so no two lines cross.
    """
    (left, right), (y_axis, y_names), n_left = sides, heights, (len(names) + 1) // 2
    for i, (name, x) in enumerate(zip(names, at, strict=True)):
        is_left = i < n_left
        y = y_names - _ROW * (i if is_left else len(names) - 1 - i)
        end, away, side = (left, -0.07, "right") if is_left else (right, 0.07, "left")
        axes.plot([x, x, end], [y_axis, y, y], color=INK, linewidth=0.9, zorder=2)
        axes.text(end + away, y, name, ha=side, va="center_baseline")


def _logarithmic(axes: Axes, which: Literal["x", "y"], values: Floats) -> None:
    """A logarithmic axis with plain numbers, room at both ends, and never so short that noise looks like growth."""
    ticker = matplotlib("matplotlib.ticker")
    axes.set(**{f"{which}scale": "log"})
    low, high = (values.min(), values.max()) if len(values) else (1.0, 10.0)
    pad = max(1.25, math.sqrt(5 * low / high))
    axes.set(**{f"{which}lim": (low / pad, high * pad)})
    steps = (1.0, 2.0, 5.0) if high / low < 50 else (1.0,)
    axis = getattr(axes, f"{which}axis")
    axis.set_major_locator(ticker.LogLocator(subs=steps, numticks=20))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
