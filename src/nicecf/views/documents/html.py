"""HTML for every page and piece: text that is escaped, and tables.

What is called ``html`` in this package is markup already; what is called ``text`` is escaped here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from nicecf.support.formats import harmless

_BEFORE_PERCENT = re.compile(r"(?<=\d) (?=%)")


@dataclass(frozen=True)
class TableLook:
    """Attributes for the tags of a table: by default classes, for a style sheet to say what they look like."""

    table: str = ""
    words: str = ""
    number: str = ' class="n"'
    quiet: str = ' class="quiet"'


def text(value: object) -> str:
    """A text as HTML that shows it as it stands, between tags and inside an attribute.

    What a browser would obey or refuse (control characters, those that turn the direction of what follows, halves of
    a surrogate pair) is shown as unknown. A number of percent is not broken before its sign.

    >>> text('<script> & "x"')
    '&lt;script&gt; &amp; &quot;x&quot;'
    """
    return escape(_BEFORE_PERCENT.sub("\N{NO-BREAK SPACE}", harmless(str(value))), quote=True)


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    look: TableLook | None = None,
    *,
    right: Collection[int] = (),
    row_heads: bool = False,
    quiet: Collection[int] = (),
) -> str:
    r"""A table of cells that are HTML; without a ``head``, of its rows alone.

    The columns in ``right`` hold numbers and are set to the right. With ``row_heads`` the first cell of each row is
    its head. The rows in ``quiet`` belong to the row above them.

    >>> print(table(["name", "n"], [["a", "1"]], right=[1]))
    <table>
    <thead><tr><th scope="col">name</th><th scope="col" class="n">n</th></tr></thead>
    <tbody>
    <tr><td>a</td><td class="n">1</td></tr>
    </tbody></table>
    """
    look = look or TableLook()

    def cells(htmls: Sequence[str], tags: Sequence[str]) -> str:
        marks = (look.number if at in right else look.words for at in range(len(htmls)))
        return "".join(
            f"<{tag}{mark}>{html}</{tag.split()[0]}>" for tag, mark, html in zip(tags, marks, htmls, strict=True)
        )

    def line(at: int, row: Sequence[str]) -> str:
        first = ['th scope="row"'] if row_heads else ["td"]
        return f"<tr{look.quiet if at in quiet else ''}>{cells(row, first + ['td'] * (len(row) - 1))}</tr>"

    heads = cells(head, ['th scope="col"'] * len(head))
    top = f"<thead><tr>{heads}</tr></thead>\n" if head else ""
    body = "\n".join(line(at, row) for at, row in enumerate(rows))
    return f"<table{look.table}>\n{top}<tbody>\n{body}\n</tbody></table>"
