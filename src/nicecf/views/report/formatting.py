"""Values as people call them, and pieces of the page: what is text is escaped here."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

import numpy as np

from nicecf.results.batch import Batch
from nicecf.support.types import CellValue, Json, Label, is_number
from nicecf.tables.statistics import ColumnStatistics
from nicecf.views.documents import html
from nicecf.views.documents.columns import significant
from nicecf.views.documents.document import NOTHING
from nicecf.views.documents.html import TableLook, text
from nicecf.views.documents.page import bar
from nicecf.views.telling import Teller
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.wording import Wording

# A name that is longer may be broken between its parts.
_LONG_NAME = 24
# Beyond these, digits before the point are no longer those of the number.
_LARGEST_IN_DIGITS = 1e15


@dataclass(frozen=True)
class HtmlFormatter:
    """Names of features and classes, and values with their units, as HTML.

    ``columns``: what the training columns look like, by feature. ``protected``: the positions of the features that
    the page does not name, since they are protected in some row.
    """

    formatter: Formatter
    columns: Mapping[Hashable, ColumnStatistics]
    protected: frozenset[int]
    protected_names: frozenset[Hashable]

    @classmethod
    def of(cls, batch: Batch, wording: Wording | None) -> HtmlFormatter:
        """Raises OptionError if the wording is not one, or names what the batch does not have."""
        protected = frozenset[int]().union(*map(batch.protected, batch.first_of_rows.tolist()))
        names = frozenset(batch.schema.names[j] for j in protected)
        columns = zip(batch.schema.names, batch.provenance.statistics.columns, strict=True)
        return cls(Formatter.of(batch, wording), dict(columns), protected, names)

    @property
    def wording(self) -> Wording:
        """How people call things."""
        return self.formatter.wording

    @property
    def teller(self) -> Teller:
        """Says the words of the page."""
        return Teller(self.wording)

    def say(self, phrase: str, **fields: object) -> str:
        """A phrase of the page, escaped; so are its fields."""
        return text(self.teller.say(f"report.{phrase}", **fields))

    def counted(self, phrase: str, count: int, **fields: object) -> str:
        """The same, of so many."""
        return text(self.teller.counted(f"report.{phrase}", count, **fields))

    def name(self, feature: Hashable) -> str:
        """What a feature is called."""
        return breakable(self.formatter.name(feature))

    def label(self, label: Label) -> str:
        """What a class is called."""
        return text(self.formatter.label(label))

    def value(self, feature: Hashable, value: CellValue) -> str:
        """Return a value of a feature; a number with the decimals of its column."""
        # A category may be a whole number, whose thousands are not set apart.
        if isinstance(value, float) or (is_number(value) and len(self.columns[feature].edges)):
            return text(self.formatter.measured(feature, self._digits(feature, float(value))))
        if isinstance(value, (date, timedelta)):
            return text(self.wording.measured(feature, self.formatter.text(value)))
        return text(self.formatter.value(feature, value))

    def difference(self, feature: Hashable, before: float, after: float | timedelta) -> str:
        """Return what two numbers of a feature differ by, as they are shown, with its sign; a duration as it is."""
        if isinstance(after, timedelta):
            return self.teller.signed(after)
        difference = Decimal(self._digits(feature, after)) - Decimal(self._digits(feature, before))
        return ("+" if difference > 0 else "") + self.formatter.number(f"{difference:f}")

    def _digits(self, feature: Hashable, value: float) -> str:
        """Return a number as Python writes it, with as many decimals as its column is written with."""
        if not abs(value) < _LARGEST_IN_DIGITS:
            return significant(value)
        column = self.columns[feature]
        fixed = f"{value:.{column.decimals}f}"
        # What a column of single precision holds has more digits than it was written with.
        is_same = np.float32(fixed) == np.float32(value)
        # Of a measurement, the last digits tell nobody anything; a number that its column cannot hold is shown in full.
        is_rounded = not column.is_exact and float(fixed) != 0
        return fixed if is_same or is_rounded else significant(value)

    def disclosed(self, known: Mapping[str, Json]) -> dict[str, Json]:
        """Return what is known of options or rules, without what is protected."""
        return {name: self._disclosed(value) for name, value in known.items() if name not in self.protected_names}

    def _disclosed(self, value: Json) -> Json:
        if isinstance(value, Mapping):
            return self.disclosed(value)
        if isinstance(value, list):
            is_kept = [isinstance(one, (list, Mapping)) or one not in self.protected_names for one in value]
            return [self._disclosed(one) for one, keep in zip(value, is_kept, strict=True) if keep]
        return value


def breakable(name: str) -> str:
    """A name that is broken between its parts, where it is long, and nowhere else if there is room.

    >>> breakable("credit_score"), breakable("months_since_the_last_late_payment")[:21]
    ('credit_score', 'months_<wbr>since_<wb')
    """
    return text(name) if len(name) <= _LONG_NAME else re.sub("([_/.-])", r"\1<wbr>", text(name))


def shared(words: str, share: float) -> str:
    """A share in words, with a bar beside it."""
    return f'<div class="share"><span>{text(words)}</span>{bar(share)}</div>'


def chance(decision: str, percent: str) -> str:
    """A decision and its probability, which stays on one line."""
    return f'{text(decision)} <span class="n">({text(percent)})</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = (), kind: str = "") -> str:
    """A table of cells that are HTML, which can be scrolled; ``kind`` is its class in the style sheet."""
    return _wide(html.table(head, rows, _look(kind), right=right))


def facts(known: Mapping[str, Json]) -> str:
    """Names and what is known of each, as a table without a head; values that are not text as JSON."""
    rows = [(text(name), breakable(fact(value))) for name, value in known.items()]
    return _wide(html.table((), rows, _look("facts"), row_heads=True))


def _look(kind: str) -> TableLook:
    return TableLook(f' class="{kind}"' if kind else "")


def _wide(inner: str) -> str:
    return f'<div class="wide" tabindex="0">{inner}</div>'


def fact(value: Json) -> str:
    r"""A value of an option.

    Names may be tuples, as those of a frame with several levels of columns are.

    >>> fact(None), fact("greedy"), fact(["age", "sex"]), fact({"age": {"low": 18}})
    ('\u2013', 'greedy', 'age, sex', 'age: {"low": 18}')
    >>> fact([("a", 1)]), fact({"ranges": {("a", 1): {"low": 18}}})
    ("('a', 1)", 'ranges: {"(\'a\', 1)": {"low": 18}}')
    """
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, (str, tuple)) for one in value):
        return ", ".join(map(str, value)) or NOTHING
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
    """A chapter of the page; its title is HTML already."""
    return f"<section>\n<h2>{title}</h2>\n" + "\n".join(part for part in parts if part) + "\n</section>"
