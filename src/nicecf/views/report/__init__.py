"""A batch of explanations as one HTML page for people: what the model asks of them, what it costs, and every case.

It leads with what a manager asks; what only those need who check it, such as fingerprints, stands at the end.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping

from nicecf.results.batch import Batch
from nicecf.support.files import writing
from nicecf.views.documents.page import page
from nicecf.views.plots.draw.look import PAGE_STYLE
from nicecf.views.report import basis, chapters
from nicecf.views.report.cases import Cases
from nicecf.views.report.examples import examples
from nicecf.views.report.formatting import HtmlFormatter
from nicecf.views.report.lead import head
from nicecf.views.report.look import SCRIPT, STYLE
from nicecf.views.report.rows import every_row
from nicecf.views.summary import summary_of
from nicecf.views.words.wording import Wording

__all__ = ["report_html", "write_report"]


def report_html(
    batch: Batch,
    *,
    title: str | None = None,
    wording: Wording | None = None,
    about: Mapping[str, str] | None = None,
    date: dt.date | None = None,
) -> str:
    """The page; all values in it are escaped. The same batch gives the same bytes on the same day.

    ``about``: what else the end says; ``date``: the day, by default today.
    """
    formatter = HtmlFormatter.of(batch, wording)
    phrases = formatter.wording.phrases
    title = phrases["report.title"] if title is None else str(title)
    cases, summary = Cases.from_batch(batch), summary_of(batch, None, formatter.wording)
    parts = [
        head(title, date or dt.date.today(), cases, len(batch), formatter),
        chapters.what_changes(cases, summary, formatter),
        examples(cases, formatter),
        chapters.no_way(cases, formatter),
        chapters.costs(cases, summary, batch.provenance.options, formatter),
        chapters.unseen(cases, formatter),
        basis.asked(batch, formatter),
        every_row(batch, formatter),
        basis.about(batch, about or {}, formatter),
    ]
    body = "\n".join(part for part in parts if part)
    return page(title, body, style=PAGE_STYLE + STYLE, script=SCRIPT, language=phrases["report.language"])


def write_report(text: str, path: str | os.PathLike[str]) -> None:
    """Write the page, completely or not at all; raises FileError if the file cannot be written."""
    with writing(path) as file:
        file.write(text.encode())
