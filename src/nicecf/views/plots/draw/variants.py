"""The table of several explanations of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicecf.views.plots.data.variants import Line, Variants
from nicecf.views.plots.draw import ruler
from nicecf.views.plots.draw.figure_pen import FigurePen
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.ruler import SMALL
from nicecf.views.plots.draw.sheet import MARGIN, Sheet, figure_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = 0.27
_GAP = 0.22  # between two columns, where the sign of a change stands
_NAME, _COLUMN = (0.9, 2.6), (0.75, 1.9)  # how narrow and how wide a column may be


def draw_variants(table: Variants, look: Look) -> Figure:
    """Changed cells are filled, bold and signed."""
    name_width = _fitting([line.name for line in (*table.lines, *table.foot)], _NAME)
    names = ruler.cut_apart([line.name for line in table.lines], [name_width] * len(table.lines))
    columns = [
        _fitting([head, *(line.cells[i].text for line in (*table.lines, *table.foot))], _COLUMN)
        for i, head in enumerate(table.columns)
    ]
    starts = [MARGIN + name_width]
    for column in columns:
        starts.append(starts[-1] + _GAP + column)
    width = max(starts[-1] + MARGIN, 4.6)
    n_lines = 1 + len(table.lines) + len(table.folded) + len(table.foot)
    sheet = figure_sheet(table.caption, look, width=width, height=n_lines * _LINE + 0.16)
    right = width - MARGIN

    y = sheet.top
    for i, head in enumerate(table.columns):
        sheet.text(starts[i] + _GAP, y + _LINE / 2, ruler.cut(head, columns[i], bold=True), bold=True)
    y += _LINE
    sheet.line([MARGIN, right], [y, y], look.pale, 1.0)
    y += 0.04
    for number, line in enumerate(table.lines):
        if number % 2:
            sheet.box(MARGIN - 0.08, y, right - MARGIN + 0.16, _LINE, look.stripe, over=0)
        _line(sheet, y, names[number], line, starts, columns)
        y += _LINE
    for words in table.folded:
        sheet.text(MARGIN, y + _LINE / 2, ruler.cut(words, right - MARGIN, SMALL), SMALL, color=look.pale)
        y += _LINE
    y += 0.04
    sheet.line([MARGIN, right], [y, y], look.pale, 1.0)
    y += 0.04
    for line in table.foot:
        _line(sheet, y, line.name, line, starts, columns, pale=True)
        y += _LINE
    return sheet.pen.figure


def _line(
    sheet: Sheet[FigurePen],
    y: float,
    name: str,
    line: Line,
    starts: list[float],
    columns: list[float],
    *,
    pale: bool = False,
) -> None:
    look = sheet.look
    sheet.text(MARGIN, y + _LINE / 2, name, color=look.pale if pale else look.ink)
    # As if all were bold, which is wider: so that a value is cut alike in all columns.
    texts = ruler.cut_apart([cell.text for cell in line.cells], columns, bold=True)
    for cell, text, start, column in zip(line.cells, texts, starts, columns, strict=False):
        if cell.is_changed:
            sheet.box(start + 0.05, y + 0.02, _GAP + column - 0.05, _LINE - 0.04, look.marked)
            sheet.text(start + _GAP - 0.05, y + _LINE / 2, "▸", color=look.after, across="right")
        sheet.text(start + _GAP, y + _LINE / 2, text, bold=cell.is_changed)


def _fitting(texts: list[str], limits: tuple[float, float]) -> float:
    """As wide as the widest text, within limits; bold, since any of them may be."""
    narrow, wide = limits
    return min(max(narrow, *(ruler.width(text, bold=True) for text in texts)), wide)
