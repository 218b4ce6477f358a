"""Pieces of HTML for notebooks, editors and mail.

Every style is inline, because these drop style sheets; colours are see-through, or inherited, to suit light and dark.
What is called ``html`` here is markup already; what is called ``text`` is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_OBEYED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LINE = "1px solid rgba(128,128,128,.3)"
_CELL = f"vertical-align:top;padding:3px 16px 3px 0;border-bottom:{_LINE}"
_WORDS = f"{_CELL};text-align:left;overflow-wrap:anywhere;min-width:4em;max-width:44em"
_NUMBER = f"{_CELL};text-align:right;white-space:nowrap"
_MARK = "background:rgba(255,176,0,.28);padding:0 3px;border-radius:3px;color:inherit"
_QUIET = "opacity:.72"


def text(value: object) -> str:
    """A text as HTML that shows it as it stands, between tags and inside an attribute.

    What a browser would obey or refuse (control characters, those that turn the direction of what follows, halves of
    a surrogate pair) is shown as unknown.

    >>> text('<script> & "x"')
    '&lt;script&gt; &amp; &quot;x&quot;'
    """
    return escape(harmless(str(value)), quote=True)


def harmless(text: str) -> str:
    r"""Text in which what a terminal or a page would obey, or no file can hold, is shown as unknown.

    >>> harmless("\x1b[2J\u202eevil")
    '\ufffd[2J\ufffdevil'
    """
    return _OBEYED.sub("\ufffd", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table of cells that are HTML; the columns in ``right`` hold numbers and are set to the right."""
    to_right = set(right)
    styles = [_NUMBER if at in to_right else _WORDS for at in range(len(head))]
    heading = _line("th", head, styles)
    body = "".join(_line("td", row, styles) for row in rows)
    return (
        '<table style="border-collapse:collapse;color:inherit;font-variant-numeric:tabular-nums;margin:0 0 8px 0">'
        f"<thead>{heading}</thead><tbody>{body}</tbody></table>"
    )


def _line(tag: str, htmls: Sequence[str], styles: Sequence[str]) -> str:
    cells = (f'<{tag} style="{style}">{html}</{tag}>' for html, style in zip(htmls, styles, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def marked(value: object) -> str:
    """A value that changed."""
    return f'<mark style="{_MARK}">{text(value)}</mark>'


def chance(decision: object, percent: str) -> str:
    """A decision and its probability, which stays on one line."""
    return f'{text(decision)} <span style="white-space:nowrap">({text(percent)})</span>'


def quiet(value: object) -> str:
    """A text that stands back."""
    return f'<span style="{_QUIET}">{text(value)}</span>'


def folded(title: str, html: str) -> str:
    """What few readers want, behind a line to click on; programs that cannot fold show it as it is."""
    return f'<details style="margin:4px 0"><summary style="cursor:pointer">{text(title)}</summary>{html}</details>'


def paragraph(html: str) -> str:
    """A paragraph."""
    return f'<p style="margin:4px 0 8px 0;max-width:60em;overflow-wrap:anywhere">{html}</p>'


def heading(value: object) -> str:
    """A line above a table."""
    return f'<p style="margin:12px 0 4px 0;overflow-wrap:anywhere"><b>{text(value)}</b></p>'


def piece(*htmls: str) -> str:
    """All of them as one piece that a notebook shows."""
    return '<div style="overflow-x:auto">' + "".join(htmls) + "</div>"
