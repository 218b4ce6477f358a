"""Values as people call them, and pieces of the page: what is text is escaped here."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from nicecf.support.formats import one_line
from nicecf.support.types import CellValue, Json, Label
from nicecf.views.documents import html
from nicecf.views.documents.columns import significant
from nicecf.views.documents.html import TableLook, text
from nicecf.views.words.formatting import Formatter
from nicecf.views.words.wording import Wording


@dataclass(frozen=True)
class HtmlFormatter:
    """Names of features and classes, and values with their units, as HTML."""

    formatter: Formatter

    @property
    def wording(self) -> Wording:
        """How people call things."""
        return self.formatter.wording

    def name(self, feature: Hashable) -> str:
        """What a feature is called."""
        return text(self.formatter.name(feature))

    def label(self, label: Label) -> str:
        """What a class is called."""
        return text(self.formatter.label(label))

    def value(self, feature: Hashable, value: CellValue) -> str:
        """A value of a feature; a number with the digits that count."""
        if isinstance(value, float):
            return text(self.wording.measured(feature, self.formatter.number(significant(value))))
        if isinstance(value, bool):
            return text(self.wording.phrases["value.true" if value else "value.false"])
        if isinstance(value, (date, timedelta)):
            return text(self.wording.measured(feature, self.formatter.text(value)))
        return text(self.wording.phrases["value.missing"] if value is None else one_line(str(value)))


def chance(decision: str, percent: str) -> str:
    """A decision and its probability, which stays on one line."""
    return f'{text(decision)} <span class="n">({text(percent)})</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = (), kind: str = "") -> str:
    """A table of cells that are HTML, which can be scrolled; ``kind`` is its class in the style sheet."""
    return _wide(html.table(head, rows, _look(kind), right=right))


def facts(known: Mapping[str, Json]) -> str:
    """Names and what is known of each, as a table without a head; values that are not text as JSON."""
    rows = [(text(name), text(fact(value))) for name, value in known.items()]
    return _wide(html.table((), rows, _look("facts"), row_heads=True))


def _look(kind: str) -> TableLook:
    return TableLook(f' class="{kind}"' if kind else "")


def _wide(inner: str) -> str:
    return f'<div class="wide">{inner}</div>'


def fact(value: Json) -> str:
    r"""A value of an option.

    Names may be tuples, as those of a frame with several levels of columns are.

    >>> fact(None), fact("greedy"), fact(["age", "sex"]), fact({"age": {"low": 18}})
    ('none', 'greedy', 'age, sex', 'age: {"low": 18}')
    >>> fact([("a", 1)]), fact({"ranges": {("a", 1): {"low": 18}}})
    ("('a', 1)", 'ranges: {"(\'a\', 1)": {"low": 18}}')
    """
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, (str, tuple)) for one in value):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(
            f"{name}: {fact(one) if isinstance(one, (str, list)) else _json(one)}" for name, one in value.items()
        )
    return _json(value)


def _json(value: Json) -> str:
    return json.dumps(_with_text_for_names(value), ensure_ascii=False, default=str)


def _with_text_for_names(value: Json) -> Json:
    """Names that are not text as text: JSON has no other keys."""
    if isinstance(value, Mapping):
        return {str(name): _with_text_for_names(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_text_for_names(one) for one in value]
    return str(value) if isinstance(value, tuple) else value


def folded(title: str, inner: str) -> str:
    """Behind a line to click on; the title is HTML already."""
    return f"<details><summary>{title}</summary>\n{inner}\n</details>"


def section(title: str, *parts: str) -> str:
    """A chapter of the page."""
    return f"<section>\n<h2>{text(title)}</h2>\n" + "\n".join(part for part in parts if part) + "\n</section>"
