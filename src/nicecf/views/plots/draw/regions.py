"""The map of what the model says as two features vary, with the row, its donor and its counterfactual."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import ndimage

from nicecf.support.types import Bools, Floats, Ints
from nicecf.views.plots.canvas import matplotlib
from nicecf.views.plots.data.regions import Axis, Kind, Mark, Regions
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.date_ticks import ticks_of
from nicecf.views.plots.draw.figure_pen import FigurePen
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.ruler import SMALL, USUAL
from nicecf.views.plots.draw.scale import Scale
from nicecf.views.plots.draw.sheet import MARGIN, Sheet, figure_sheet
from nicecf.views.plots.labels import Box, around
from nicecf.views.telling import Teller

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS, _UP = 5.4, 3.9
_STRIP = 0.38  # for how the training values are spread
_GUTTER = 0.6  # for missing values
_LEVELS = (0.3, 2.0)
_KEY = 0.24
_FORMS: dict[Kind, tuple[str, float]] = {"row": ("o", 10.0), "donor": ("s", 13.0), "counterfactual": ("*", 16.0)}


class _Map(NamedTuple):
    """Where the map is, and where its values are on it."""

    x: Scale
    y: Scale
    gutter_x: float
    gutter_y: float

    def place(self, mark: Mark) -> tuple[float, float]:
        return (
            self.gutter_x if np.isnan(mark.x) else self.x.at(mark.x),
            self.gutter_y if np.isnan(mark.y) else self.y.at(mark.y),
        )


def draw_regions(shown: Regions, look: Look) -> Figure:
    """Regions are filled, bounded by lines and named; a paler colour is a lower probability."""
    beside = _beside(shown.y, shown.teller)
    misses = (any(np.isnan(mark.x) for mark in shown.marks), any(np.isnan(mark.y) for mark in shown.marks))
    left = MARGIN + 0.3 + beside + (_GUTTER if misses[0] else 0.0)
    present = np.unique(shown.decided)
    height = _STRIP + _UP + (_GUTTER / 2 if misses[1] else 0.0) + 0.55 + _KEY * (len(shown.marks) + 1)
    sheet = figure_sheet(shown.caption, look, width=left + _ACROSS + _STRIP + 0.1 + MARGIN, height=height)
    top = sheet.top + _STRIP
    bottom = top + _UP
    chart = _Map(
        Scale(shown.x.low, shown.x.high, left, left + _ACROSS),
        Scale(shown.y.low, shown.y.high, bottom, top),
        left - _GUTTER / 2,
        bottom + _GUTTER / 4,
    )
    _fill(sheet, shown, chart)
    _borders(sheet, shown, chart)
    _axes(sheet, shown, chart, misses, beside)
    _spread_across(sheet, shown.x, chart.x, top)
    _spread_up(sheet, shown.y, chart.y, left + _ACROSS)
    boxes = _marks(sheet, shown.marks, chart, shown.teller)
    for code in present:
        _name_region(sheet, shown, chart, int(code), boxes)
    _keys(sheet, shown, present)
    return sheet.pen.figure


def _beside(axis: Axis, teller: Teller) -> float:
    """How much room the labels of the vertical axis take."""
    words = axis.levels or [tick.text for tick in ticks_of(axis.low, axis.high, 7, axis.temporal, teller)]
    return min(max(_LEVELS[0], *(ruler.width(one, SMALL) for one in words)), _LEVELS[1]) + 0.1


def _cells(axis: Axis) -> Floats:
    """Where one asked value ends and the next begins."""
    return np.concatenate([[axis.low], (axis.values[1:] + axis.values[:-1]) / 2, [axis.high]])


def _fill(sheet: Sheet[FigurePen], shown: Regions, chart: _Map) -> None:
    look = sheet.look
    classes = np.array([_rgb(color) for color in _colors(shown, look)])
    least = 1 / len(shown.classes)
    sure = np.clip((shown.probability - least) / (1 - least), 0.0, 1.0) if least < 1 else np.ones(shown.decided.shape)
    # In steps, so that a probability is read as a level and the file stays small.
    strength = 0.4 + 0.6 * np.round(sure * 8)[..., None] / 8
    colors = strength * classes[shown.decided] + (1 - strength) * np.array(_rgb(look.background))
    across = np.searchsorted(_cells(shown.x)[1:-1], np.linspace(shown.x.low, shown.x.high, 540))
    up = np.searchsorted(_cells(shown.y)[1:-1], np.linspace(shown.y.high, shown.y.low, 390))
    sheet.pen.axes.imshow(
        colors[np.ix_(up, across)],
        extent=(chart.x.start, chart.x.end, chart.y.start, chart.y.end),
        origin="upper",
        aspect="auto",
        interpolation="nearest",
        resample=False,
        zorder=1,
    )


def _colors(shown: Regions, look: Look) -> list[str]:
    """The colour of each class: of the row's class that of the row, of the counterfactual's that of the latter."""
    first = [code for code in (shown.own, shown.target) if code is not None]
    order = list(dict.fromkeys([*first, *range(len(shown.classes))]))
    return [look.classes[order.index(code) % len(look.classes)] for code in range(len(shown.classes))]


def _rgb(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def _borders(sheet: Sheet[FigurePen], shown: Regions, chart: _Map) -> None:
    """A line wherever the decision of one place is not that of the next."""
    xs = [chart.x.at(edge) for edge in _cells(shown.x)]
    ys = [chart.y.at(edge) for edge in _cells(shown.y)]
    decided = shown.decided
    sides = [
        [(xs[i + 1], ys[start]), (xs[i + 1], ys[end])]
        for i, column in enumerate((decided[:, 1:] != decided[:, :-1]).T)
        for start, end in _runs(column)
    ]
    lids = [
        [(xs[start], ys[k + 1]), (xs[end], ys[k + 1])]
        for k, line in enumerate(decided[1:] != decided[:-1])
        for start, end in _runs(line)
    ]
    sheet.pen.axes.add_collection(
        matplotlib("matplotlib.collections").LineCollection(
            sides + lids, colors=[sheet.look.ink], linewidths=[1.2], linestyles="solid", capstyle="projecting", zorder=3
        ),
        autolim=False,
    )


def _runs(is_there: Bools) -> list[tuple[int, int]]:
    """Where what is there begins and ends: one line for each, since the joints of many would show.

    >>> _runs(np.array([False, True, True, False, True]))
    [(1, 3), (4, 5)]
    """
    turns = np.flatnonzero(np.diff(np.concatenate([[False], is_there, [False]]).astype(np.int8)))
    return list(zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True))


def _axes(sheet: Sheet[FigurePen], shown: Regions, chart: _Map, misses: tuple[bool, bool], beside: float) -> None:
    look = sheet.look
    left, right, bottom, top = chart.x.start, chart.x.end, chart.y.start, chart.y.end
    sheet.line([left, right, right, left, left], [bottom, bottom, top, top, bottom], look.pale, 0.8, over=4)
    below = bottom + (_GUTTER / 2 if misses[1] else 0.0)
    for tick in ticks_of(shown.x.low, shown.x.high, 7, shown.x.temporal, shown.teller):
        x = chart.x.at(tick.value)
        sheet.line([x, x], [bottom, bottom + 0.04], look.pale, 0.8)
        sheet.text(x, below + 0.14, tick.text, SMALL, color=look.pale, across="center")
    outer = left - (_GUTTER if misses[0] else 0.0)
    places = (
        [(level, float(i)) for i, level in enumerate(shown.y.levels)]
        if shown.y.levels
        else [
            (tick.text, tick.value) for tick in ticks_of(shown.y.low, shown.y.high, 7, shown.y.temporal, shown.teller)
        ]
    )
    for words, value in places:
        y = chart.y.at(value)
        sheet.line([left - 0.04, left], [y, y], look.pale, 0.8)
        sheet.text(outer - 0.08, y, ruler.cut(words, beside - 0.1, SMALL), SMALL, color=look.pale, across="right")
    if misses[0]:
        sheet.text(chart.gutter_x, below + 0.14, shown.missing, SMALL, color=look.pale, across="center")
    if misses[1]:
        sheet.text(outer - 0.08, chart.gutter_y, shown.missing, SMALL, color=look.pale, across="right")
    sheet.text(
        (left + right) / 2, below + 0.36, ruler.cut(shown.x.name, _ACROSS, bold=True), bold=True, across="center"
    )
    name = ruler.cut(shown.y.name, _UP, bold=True)
    sheet.text(MARGIN + 0.08, (top + bottom) / 2, name, bold=True, across="center", turned=True)


def _spread_across(sheet: Sheet[FigurePen], axis: Axis, scale: Scale, base: float) -> None:
    inside = [(max(a, axis.low), min(b, axis.high)) for a, b in zip(axis.edges, axis.edges[1:], strict=False)]
    seen = [(a, b, n) for (a, b), n in zip(inside, axis.counts.tolist(), strict=True) if b > a]
    most = max([n for _, _, n in seen], default=0) or 1
    for a, b, n in seen:
        height = (_STRIP - 0.1) * n / most
        sheet.box(scale.at(a), base - 0.03 - height, scale.at(b) - scale.at(a), height, sheet.look.bar)


def _spread_up(sheet: Sheet[FigurePen], axis: Axis, scale: Scale, base: float) -> None:
    if axis.levels is None:
        inside = [(max(a, axis.low), min(b, axis.high)) for a, b in zip(axis.edges, axis.edges[1:], strict=False)]
    else:
        inside = [(i - 0.3, i + 0.3) for i in range(len(axis.levels))]
    seen = [(a, b, n) for (a, b), n in zip(inside, axis.counts.tolist(), strict=True) if b > a]
    most = max([n for _, _, n in seen], default=0) or 1
    for a, b, n in seen:
        width = (_STRIP - 0.1) * n / most
        sheet.box(base + 0.03, scale.at(b), width, scale.at(a) - scale.at(b), sheet.look.bar)


def _marks(sheet: Sheet[FigurePen], marks: tuple[Mark, ...], chart: _Map, teller: Teller) -> Floats:
    """Draw and name the rows; gives the boxes that they and their names take."""
    look = sheet.look
    places = {mark.kind: chart.place(mark) for mark in marks}
    if "donor" in places and _apart(places["row"], places["donor"]):
        xs, ys = zip(places["row"], places["donor"], strict=True)
        sheet.line(xs, ys, look.ink, 1.0, dashes=(3, 3), over=5)
    if "counterfactual" in places and _apart(places["row"], places["counterfactual"]):
        sheet.arrow(places["row"], places["counterfactual"], look.ink, 2.0, shrink=(7, 9), over=6)
    for kind, (x, y) in places.items():
        form, size = _FORMS[kind]
        sheet.mark(x, y, form, _color(look, kind), size, over=7 if kind == "donor" else 8)
    names: dict[tuple[float, float], list[str]] = {}
    for kind, (x, y) in places.items():
        names.setdefault((round(x, 2), round(y, 2)), []).append(teller.say(f"plot.{kind}"))
    points = np.array(list(names)) * 72
    words = [teller.wording.listed(kinds) for kinds in names.values()]
    sizes = np.array([(ruler.width(one, bold=True) * 72 + 6, USUAL * 1.5) for one in words])
    bounds = Box(chart.x.start * 72 + 3, chart.y.end * 72 + 3, chart.x.end * 72 - 3, chart.y.start * 72 - 3)
    ways = [np.linspace(places["row"], place, 30) * 72 for kind, place in places.items() if kind != "row"]
    centres = around(points, sizes, bounds=bounds, gap=8.0, lines=np.concatenate([np.empty((0, 2)), *ways]))
    for (x, y), one, (width, height) in zip(centres / 72, words, sizes / 72, strict=True):
        sheet.box(x - width / 2, y - height / 2, width, height, look.background, over=9)
        sheet.text(x, y, one, bold=True, across="center")
    taken = [np.column_stack([centres, sizes]), np.column_stack([points, np.full((len(points), 2), 20.0)])]
    return np.concatenate(taken) / 72


def _apart(place: tuple[float, float], other: tuple[float, float]) -> bool:
    return max(abs(place[0] - other[0]), abs(place[1] - other[1])) > 0.02


def _color(look: Look, kind: Kind) -> str:
    return {"row": look.row, "donor": look.donor, "counterfactual": look.after}[kind]


def _name_region(sheet: Sheet[FigurePen], shown: Regions, chart: _Map, code: int, taken: Floats) -> None:
    """Write the name of a class where its region is widest and nothing is in the way, if there is room."""
    words = ruler.cut(shown.classes[code], 1.8)
    half = np.array([ruler.width(words) / 2 + 0.08, ruler.line_height() / 2 + 0.06])
    step = 0.05
    xs, ys = (np.arange(step, size, step) for size in (_ACROSS, _UP))
    across = np.searchsorted(_cells(shown.x)[1:-1], shown.x.low + xs / _ACROSS * (shown.x.high - shown.x.low))
    up = np.searchsorted(_cells(shown.y)[1:-1], shown.y.high - ys / _UP * (shown.y.high - shown.y.low))
    free = shown.decided[np.ix_(up, across)] == code
    for x, y, width, height in taken - [chart.x.start, chart.y.end, 0.0, 0.0]:
        free[np.ix_(np.abs(ys - y) < height / 2, np.abs(xs - x) < width / 2)] = False
    room = _room(free, step / half)
    if room.max() < 1.0:
        return
    row, column = np.unravel_index(int(room.argmax()), room.shape)
    sheet.text(chart.x.start + xs[column], chart.y.end + ys[row], words, across="center")


def _room(free: Ints, sampling: Floats) -> Floats:
    """How far each place is from what is not free, or from the edge, in widths and heights of a name."""
    padded = np.pad(free, 1)
    return ndimage.distance_transform_edt(padded, sampling=sampling[::-1])[1:-1, 1:-1] / np.sqrt(2)


def _keys(sheet: Sheet[FigurePen], shown: Regions, present: Ints) -> None:
    look = sheet.look
    room = sheet.width - 2 * MARGIN - 0.3
    words = [mark.words for mark in shown.marks]
    if any(ruler.width(one, SMALL) > room for one in words):
        words = ruler.cut_apart([mark.short for mark in shown.marks], [room] * len(words), SMALL)
    y = sheet.bottom - _KEY * (len(shown.marks) + 0.5)
    x = MARGIN
    for code in present:
        name = ruler.cut(shown.classes[code], 1.8, SMALL)
        sheet.box(x, y - 0.07, 0.2, 0.14, _colors(shown, look)[int(code)], edge=look.ink)
        sheet.text(x + 0.28, y, name, SMALL)
        x += 0.28 + ruler.width(name, SMALL) + 0.3
    sheet.text(x, y, shown.shading, SMALL, color=look.pale)
    for i, mark in enumerate(shown.marks):
        y = sheet.bottom - _KEY * (len(shown.marks) - i - 0.5)
        form, size = _FORMS[mark.kind]
        sheet.mark(MARGIN + 0.1, y, form, _color(look, mark.kind), size * 0.75)
        sheet.text(MARGIN + 0.28, y, words[i], SMALL)
