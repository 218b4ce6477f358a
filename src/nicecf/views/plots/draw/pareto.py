"""The Pareto set: changes against distance, and against plausibility."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nicecf.support.types import Floats
from nicecf.views.plots.data.pareto import Pareto
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.figure_pen import FigurePen
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.ruler import SMALL
from nicecf.views.plots.draw.scale import Scale, ticks
from nicecf.views.plots.draw.sheet import MARGIN, Sheet, figure_sheet
from nicecf.views.plots.labels import Box

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANEL, _HEIGHT = 3.3, 2.9
_BESIDE, _BELOW = 0.75, 0.5
_MANY = 60  # points, from which on they are smaller


def draw_pareto(shown: Pareto, look: Look) -> Figure:
    """The chosen one is a star with its numbers; the colour of a point is its plausibility, as in the second panel."""
    errors = np.array([point.error for point in shown.points])
    teller = shown.teller
    panels = [(teller.say("plot.distance"), [point.distance for point in shown.points])]
    if shown.has_errors:
        panels.append((teller.say("plot.error"), errors.tolist()))
    colors = _colors(errors, look) if shown.has_errors else [look.row] * len(shown.points)
    one = len(panels) == 1
    width = MARGIN + (5.2 if one else 2 * (_BESIDE + _PANEL)) + MARGIN
    sheet = figure_sheet(shown.caption, look, width=width, height=_HEIGHT + _BELOW + 0.3)
    changes = [point.n_changes for point in shown.points]
    for i, (name, values) in enumerate(panels):
        left = MARGIN + _BESIDE + i * (_PANEL + _BESIDE)
        right = width - MARGIN if one else left + _PANEL - 0.1
        _panel(sheet, (left, right), name, changes, values, colors, shown)
    return sheet.pen.figure


def _panel(
    sheet: Sheet[FigurePen],
    sides: tuple[float, float],
    name: str,
    changes: Sequence[int],
    values: Sequence[float],
    colors: Sequence[str],
    shown: Pareto,
) -> None:
    points, teller = shown.points, shown.teller
    look, (left, right) = sheet.look, sides
    top, bottom = sheet.top + 0.3, sheet.top + 0.3 + _HEIGHT
    span = max(values) - min(values) or max(abs(max(values)), 1e-9)
    x_scale = Scale(min(changes) - 0.6, max(changes) + 0.6, left, right)
    # Nothing below zero, where no value is; a little room above the axis all the same.
    least = min(values) - 0.16 * span
    y_scale = Scale(max(least, 0.0) if min(values) >= 0 else least, max(values) + 0.16 * span, bottom, top)
    for tick in ticks(y_scale.low, y_scale.high, 6):
        y = y_scale.at(tick.value)
        sheet.line([left, right], [y, y], look.faint, 1.0, over=1)
        sheet.text(left - 0.08, y, teller.number(tick.text), SMALL, color=look.pale, across="right")
    for tick in ticks(min(changes), max(changes), 12, whole=True):
        sheet.text(
            x_scale.at(tick.value), bottom + 0.14, teller.number(tick.text), SMALL, color=look.pale, across="center"
        )
    sheet.line([left, right], [bottom, bottom], look.pale, 0.8)
    sheet.text((left + right) / 2, bottom + 0.36, teller.say("plot.changes"), SMALL, across="center")
    sheet.text(left - 0.55, top - 0.16, name, SMALL, bold=True)
    for n_changes, value, color, point in zip(changes, values, colors, points, strict=True):
        if not point.is_chosen:
            size = 7.5 if len(points) <= _MANY else 5.5
            sheet.mark(x_scale.at(n_changes), y_scale.at(value), "o", color, size)
    places = np.array([(x_scale.at(n), y_scale.at(value)) for n, value in zip(changes, values, strict=True)])
    is_chosen = np.array([point.is_chosen for point in points])
    for x, y in places[is_chosen]:
        sheet.mark(x, y, "*", look.ink, 15.0, over=7)
    _labels(sheet, places[is_chosen], places[~is_chosen], Box(left, top, right, bottom), teller.say("plot.chosen"))


def _labels(sheet: Sheet[FigurePen], chosen: Floats, others: Floats, panel: Box, words: str) -> None:
    """Write beside each chosen point what it is, where the fewest other points are; nowhere if that is on another."""
    size = np.array([ruler.width(words, SMALL, bold=True) + 0.06, ruler.line_height(SMALL)])
    away = size / 2 + 0.1
    sides = away * np.array([(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)])
    written = np.empty((0, 2))
    for place in chosen:
        centres = place + sides
        is_outside = (centres - size / 2 < panel[:2]).any(axis=1) | (centres + size / 2 > panel[2:]).any(axis=1)
        is_taken = (np.abs(centres[:, None] - written) < size).all(axis=2).any(axis=1)
        n_covered = (np.abs(centres[:, None] - others) < size / 2 + 0.05).all(axis=2).sum(axis=1)
        best = np.argmin(n_covered + 1_000 * (is_outside | is_taken))
        if is_taken[best]:
            continue
        x, y = centres[best]
        sheet.box(x - size[0] / 2, y - size[1] / 2, size[0], size[1], sheet.look.background, over=5.5)
        sheet.text(x, y, words, SMALL, bold=True, across="center")
        written = np.concatenate([written, centres[[best]]])


def _colors(errors: Floats, look: Look) -> list[str]:
    """From little error to much, along the shades of the look."""
    low, high = errors.min(), errors.max()
    shares = (errors - low) / (high - low) if high > low else np.zeros(len(errors))
    shades = np.array([[int(shade[i : i + 2], 16) for i in (1, 3, 5)] for shade in look.shades])
    at = shares * (len(shades) - 1)
    mixed = np.column_stack([np.interp(at, np.arange(len(shades)), shades[:, i]) for i in range(3)])
    return ["#" + "".join(f"{round(part):02x}" for part in color) for color in mixed.tolist()]
