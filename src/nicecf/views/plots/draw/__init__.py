"""Plain numbers and strings -> figures: one file for each picture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from nicecf.views.plots.data.changes import Changes
from nicecf.views.plots.data.common import Message
from nicecf.views.plots.data.frequencies import Frequencies
from nicecf.views.plots.data.pareto import Pareto
from nicecf.views.plots.data.regions import Regions
from nicecf.views.plots.data.variants import Variants
from nicecf.views.plots.data.walk import Walk
from nicecf.views.plots.draw.changes import changes_sheet, draw_changes
from nicecf.views.plots.draw.frequencies import draw_frequencies
from nicecf.views.plots.draw.look import DARK, LIGHT, PAGE
from nicecf.views.plots.draw.message import draw_message
from nicecf.views.plots.draw.pareto import draw_pareto
from nicecf.views.plots.draw.regions import draw_regions
from nicecf.views.plots.draw.svg_pen import SvgPen
from nicecf.views.plots.draw.variants import draw_variants
from nicecf.views.plots.draw.walk import draw_walk

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Shown", "figure_of", "svg_of_changes"]

Shown: TypeAlias = Changes | Frequencies | Message | Pareto | Regions | Variants | Walk


def figure_of(shown: Shown, *, dark: bool = False) -> Figure:
    """The figure of what is to be shown."""
    look = DARK if dark else LIGHT
    match shown:
        case Changes():
            return draw_changes(shown, look)
        case Frequencies():
            return draw_frequencies(shown, look)
        case Message():
            return draw_message(shown, look)
        case Pareto():
            return draw_pareto(shown, look)
        case Regions():
            return draw_regions(shown, look)
        case Variants():
            return draw_variants(shown, look)
        case Walk():
            return draw_walk(shown, look)


def svg_of_changes(shown: Changes) -> str:
    """Changes as an ``<svg>`` element for a page with `look.PAGE_STYLE`; the page says what it is about itself."""
    bare = replace(shown, caption=replace(shown.caption, title="", subtitle=""))
    return changes_sheet(bare, PAGE, SvgPen).pen.svg
