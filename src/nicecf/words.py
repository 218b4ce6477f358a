"""One explanation for people: a sentence, a line, a plain table, HTML. Every value is escaped there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from html import escape
from typing import Any, Protocol

# Inline, because notebooks, mail programs and editors drop style sheets; transparent, to suit light and dark.
_CELL = 'style="text-align:left;vertical-align:top;padding:2px 16px 2px 0;border-bottom:1px solid rgba(128,128,128,.3)"'
_MARK = 'style="background:rgba(255,176,0,.28);padding:0 3px;border-radius:3px;color:inherit"'


class Changed(Protocol):
    """What the words need to know of a change."""

    @property
    def feature(self) -> Hashable: ...
    @property
    def before(self) -> Any: ...
    @property
    def after(self) -> Any: ...
    @property
    def probability(self) -> float: ...


class Explained(Protocol):
    """What the words need to know of an explanation."""

    @property
    def found(self) -> bool: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def predicted(self) -> Any: ...
    @property
    def predicted_after(self) -> Any: ...
    @property
    def probability_before(self) -> float: ...
    @property
    def probability(self) -> float: ...
    @property
    def changes(self) -> Sequence[Changed]: ...


def sentence(one: Explained) -> str:
    """The explanation in one sentence."""
    now = f"{one.predicted} ({percent(one.probability_before)})"
    if not one.found:
        return f"No counterfactual: {one.reason}."
    if not one.changes:
        return f"The model says {now} already; nothing has to change."
    parts = [f"{c.feature} were {shown(c.after)} instead of {shown(c.before)}" for c in one.changes]
    condition = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"If {condition}, the model would say {one.predicted_after} ({percent(one.probability)}) instead of {now}."


def line(one: Explained) -> str:
    """The explanation in one line of a list."""
    if not one.found:
        return f"{one.predicted}: not found, {one.reason}"
    changes = ", ".join(map(change, one.changes)) or "nothing has to change"
    return f"{one.predicted} -> {one.predicted_after}  {changes}"


def change(one: Changed) -> str:
    """``age: 39 -> 41``."""
    return f"{one.feature}: {shown(one.before)} -> {shown(one.after)}"


def text_table(one: Explained) -> str:
    """The changes, one line each, in columns."""
    head = ("feature", "before", "after", f"P({one.predicted_after})")
    rows = [(str(c.feature), shown(c.before), shown(c.after), percent(c.probability)) for c in one.changes]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    )


def html_table(one: Explained) -> str:
    """The changes as an HTML table."""
    rows = (
        [escape(str(c.feature)), escape(shown(c.before)), _marked(c.after), percent(c.probability)] for c in one.changes
    )
    return html(["feature", "before", "after", f"P({escape(str(one.predicted_after))})"], rows)


def html_cells(one: Explained) -> list[str]:
    """The explanation as three cells of an HTML table: decision, becomes, changes."""
    now = f"{escape(str(one.predicted))} ({percent(one.probability_before)})"
    if not one.found:
        return [now, "not found", escape(str(one.reason))]
    changes = [f"{escape(str(c.feature))}: {escape(shown(c.before))} &rarr; {_marked(c.after)}" for c in one.changes]
    then = f"{escape(str(one.predicted_after))} ({percent(one.probability)})"
    return [now, then, "<br>".join(changes) or "nothing has to change"]


def html(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    heading = "".join(f"<th {_CELL}>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{cell}</td>' for cell in row)}</tr>" for row in rows)
    style = "border-collapse:collapse;color:inherit"
    return f'<table style="{style}"><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>'


def shown(value: Any) -> str:
    """A value for people.

    >>> shown(None), shown(23700.0), shown(0.5), shown("own")
    ('missing', '23700', '0.5', 'own')
    """
    if value is None:
        return "missing"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def percent(probability: float) -> str:
    """A probability for people; never rounded to certainty.

    >>> percent(0.614), percent(0.9999), percent(0.0004)
    ('61 %', '>99 %', '<1 %')
    """
    value = 100 * probability
    if 99.5 <= value < 100:
        return ">99 %"
    if 0 < value < 0.5:
        return "<1 %"
    return f"{value:.0f} %"


def _marked(value: Any) -> str:
    return f"<mark {_MARK}>{escape(shown(value))}</mark>"
