"""Pieces of HTML for notebooks, editors and mail.

Every style is inline, because these drop style sheets; colours are see-through, or inherited, to suit light and dark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from nicecf.views.documents import html
from nicecf.views.documents.html import TableLook, text

__all__ = ["chance", "folded", "heading", "marked", "paragraph", "piece", "quiet", "table", "text"]

_LINE = "1px solid rgba(128,128,128,.3)"
_CELL = f"vertical-align:top;padding:3px 16px 3px 0;border-bottom:{_LINE}"
_WORDS = f"{_CELL};text-align:left;overflow-wrap:break-word;min-width:4em;max-width:44em"
_NUMBER = f"{_CELL};text-align:right;white-space:nowrap"
_MARK = "background:rgba(255,176,0,.28);padding:0 3px;border-radius:3px;color:inherit"
_QUIET = "opacity:.72"
_LOOK = TableLook(
    ' style="border-collapse:collapse;color:inherit;font-variant-numeric:tabular-nums;margin:0 0 8px 0"',
    words=f' style="{_WORDS}"',
    number=f' style="{_NUMBER}"',
    quiet=f' style="{_QUIET}"',
)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """A table of cells that are HTML; the columns in ``right`` hold numbers and are set to the right."""
    return html.table(head, rows, _LOOK, right=right)


def marked(value: object) -> str:
    """A value that changed."""
    return f'<mark style="{_MARK}">{text(value)}</mark>'


def chance(decision: object, percent: str) -> str:
    """A decision and its probability, which stays on one line."""
    return f'{text(decision)} <span style="white-space:nowrap">({text(percent)})</span>'


def quiet(value: object) -> str:
    """A text that stands back."""
    return f'<span style="{_QUIET}">{text(value)}</span>'


def folded(title: str, inner: str) -> str:
    """What few readers want, behind a line to click on; programs that cannot fold show it as it is."""
    return f'<details style="margin:4px 0"><summary style="cursor:pointer">{text(title)}</summary>{inner}</details>'


def paragraph(inner: str) -> str:
    """A paragraph."""
    return f'<p style="margin:4px 0 8px 0;max-width:60em;overflow-wrap:anywhere">{inner}</p>'


def heading(value: object) -> str:
    """A line above a table."""
    return f'<p style="margin:12px 0 4px 0;overflow-wrap:anywhere"><b>{text(value)}</b></p>'


def piece(*htmls: str) -> str:
    """All of them as one piece that a notebook shows."""
    return '<div style="overflow-x:auto" tabindex="0">' + "".join(htmls) + "</div>"
