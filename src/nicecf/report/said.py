"""Values as people call them, and pieces of the page: what is text is escaped here."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nicecf.documents.columns import significant
from nicecf.documents.inline import text
from nicecf.exceptions import OptionError
from nicecf.words.telling import Speaker
from nicecf.words.wording import Wording, one_line


@dataclass(frozen=True)
class Said:
    """Names of features and classes, and values with their units, as HTML."""

    speaker: Speaker

    @classmethod
    def of(cls, batch: Any, wording: Wording | None) -> Said:
        """OptionError where the wording speaks of what the batch does not have."""
        if wording is None:
            wording = Wording()
        if not isinstance(wording, Wording):
            raise OptionError(f"wording must be a nicecf.Wording, or None, got {type(wording).__name__}.")
        wording.check(batch._schema.names, batch.classes)
        return cls(Speaker(wording, is_letter=False))

    @property
    def wording(self) -> Wording:
        """How people call things."""
        return self.speaker.wording

    def name(self, feature: Hashable) -> str:
        """What a feature is called."""
        return text(self.speaker.name(feature))

    def label(self, label: Any) -> str:
        """What a class is called."""
        return text(self.speaker.label(label))

    def value(self, feature: Hashable, value: Any) -> str:
        """A value of a feature; a number with the digits that count."""
        if isinstance(value, float):
            return text(self.wording.measured(feature, self.speaker.number(significant(value))))
        if isinstance(value, bool):
            return text(self.wording.phrases["value.true" if value else "value.false"])
        return text(self.wording.phrases["value.missing"] if value is None else one_line(str(value)))


def chance(decision: str, percent: str) -> str:
    """A decision and its probability, which stays on one line."""
    return f'{text(decision)} <span class="n">({text(percent)})</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = (), kind: str = "") -> str:
    """A table of cells that are HTML; the columns in ``numbers`` are set to the right."""
    right = set(numbers)
    marks = [' class="n"' if at in right else "" for at in range(len(head))]
    heading = "".join(f'<th scope="col"{mark}>{html}</th>' for html, mark in zip(head, marks, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{mark}>{html}</td>" for html, mark in zip(row, marks, strict=True)) + "</tr>"
        for row in rows
    )
    named = f' class="{kind}"' if kind else ""
    return (
        f'<div class="wide"><table{named}>\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
    )


def facts(known: Mapping[str, Any]) -> str:
    """Names and what is known of each, as a table without a head; values that are no text as JSON."""
    rows = "\n".join(
        f'<tr><th scope="row">{text(str(name))}</th><td>{text(fact(value))}</td></tr>' for name, value in known.items()
    )
    return f'<div class="wide"><table class="facts"><tbody>\n{rows}\n</tbody></table></div>'


def fact(value: Any) -> str:
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


def _json(value: Any) -> str:
    return json.dumps(_with_text_for_names(value), ensure_ascii=False, default=str)


def _with_text_for_names(value: Any) -> Any:
    """Names that are no text as text: JSON has no other keys."""
    if isinstance(value, Mapping):
        return {str(name): _with_text_for_names(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_text_for_names(one) for one in value]
    return str(value) if isinstance(value, tuple) else value


def folded(title: str, html: str) -> str:
    """Behind a line to click on; the title is HTML already."""
    return f"<details><summary>{title}</summary>\n{html}\n</details>"


def section(title: str, *htmls: str) -> str:
    """A chapter of the page."""
    return f"<section>\n<h2>{text(title)}</h2>\n" + "\n".join(html for html in htmls if html) + "\n</section>"
