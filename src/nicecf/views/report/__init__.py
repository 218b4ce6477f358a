"""A batch of explanations as one HTML page for people: what it is about, what changes, what it costs, and every row."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping

from nicecf.results.batch import Batch
from nicecf.support.files import writing
from nicecf.views.documents.page import page
from nicecf.views.plots.draw.look import PAGE_STYLE
from nicecf.views.report import chapters
from nicecf.views.report.formatting import HtmlFormatter
from nicecf.views.report.look import SCRIPT, STYLE
from nicecf.views.report.rows import every_row, not_found
from nicecf.views.summary import summary_of
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.wording import Wording

__all__ = ["report_html", "write_report"]

# So many rows show whether all are under the same rules.
_ROWS_OF_RULES = 100


def report_html(
    batch: Batch,
    *,
    title: str | None = None,
    wording: Wording | None = None,
    about: Mapping[str, str] | None = None,
    date: dt.date | None = None,
) -> str:
    """The page; all values in it are escaped. The same batch gives the same bytes on the same day.

    ``about``: what else the head says; ``date``: the day, by default today.
    """
    formatter = HtmlFormatter(Formatter.of(batch, wording))
    phrases = formatter.wording.phrases
    title = phrases["report.title"] if title is None else str(title)
    summary = summary_of(batch, None, formatter.wording)
    known = batch.provenance.about()
    rules = [batch.provenance.rules(int(row)) for row in batch.rows[:_ROWS_OF_RULES]]
    parts = [
        chapters.head(title, len(batch), summary, formatter),
        chapters.about(batch, known, about or {}, date or dt.date.today(), formatter),
        chapters.asked(batch, known, rules, formatter),
        chapters.unseen(summary, formatter),
        not_found(batch, formatter),
        chapters.what_changes(batch, summary, formatter),
        chapters.costs(summary, known["options"], formatter),
        every_row(batch, formatter),
    ]
    body = "\n".join(part for part in parts if part)
    return page(title, body, style=PAGE_STYLE + STYLE, script=SCRIPT, language=phrases["report.language"])


def write_report(text: str, path: str | os.PathLike[str]) -> None:
    """Write the page, completely or not at all; raises FileError if the file cannot be written."""
    with writing(path) as file:
        file.write(text.encode())
