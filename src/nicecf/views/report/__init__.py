"""A batch of explanations as one HTML page for people: what was asked, what changes, what it costs, and every row."""

from __future__ import annotations

import os

from nicecf.results.batch import Batch
from nicecf.support.files import writing
from nicecf.views.documents.page import page
from nicecf.views.report import chapters
from nicecf.views.report.formatting import HtmlFormatter
from nicecf.views.report.look import SCRIPT, STYLE
from nicecf.views.report.rows import every_row, not_found
from nicecf.views.summary import summary_of
from nicecf.views.words.formatting import Formatter
from nicecf.views.words.wording import Wording

__all__ = ["report_html", "write_report"]

# So many rows show whether all are under the same rules.
_ROWS_OF_RULES = 100


def report_html(batch: Batch, *, title: str | None = None, wording: Wording | None = None) -> str:
    """The page. The same batch gives the same bytes; all values in it are escaped."""
    formatter = HtmlFormatter(Formatter.of(batch, wording))
    title = "Counterfactual explanations" if title is None else str(title)
    summary = summary_of(batch, None)
    about = batch.provenance.about()
    rules = [batch.provenance.rules(int(row)) for row in batch.rows[:_ROWS_OF_RULES]]
    parts = [
        chapters.head(title, len(batch), summary),
        chapters.asked(batch, about, rules, formatter),
        chapters.unseen(summary, formatter),
        not_found(batch, formatter),
        chapters.what_changes(batch, summary, formatter),
        chapters.costs(summary, about["options"], formatter),
        every_row(batch, formatter),
        chapters.made_by(about),
    ]
    return page(title, "\n".join(part for part in parts if part), style=STYLE, script=SCRIPT)


def write_report(text: str, path: str | os.PathLike[str]) -> None:
    """Write the page, completely or not at all; raises FileError if the file cannot be written."""
    with writing(path) as file:
        file.write(text.encode())
