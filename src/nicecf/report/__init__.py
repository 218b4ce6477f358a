"""A batch of explanations as one HTML page for people: what was asked, what changes, what it costs, and every row."""

from __future__ import annotations

import os
from typing import Any

from nicecf.documents.page import page
from nicecf.files import writing
from nicecf.report import chapters
from nicecf.report.look import SCRIPT, STYLE
from nicecf.report.rows import every_row, not_found
from nicecf.report.said import Said
from nicecf.summary import summary_of

__all__ = ["report_html", "write_report"]

# So many rows show whether all are under the same rules.
_ROWS_OF_RULES = 100


def report_html(batch: Any, *, title: str | None = None, wording: Any = None) -> str:
    """The page. The same batch gives the same bytes; all values in it are escaped."""
    said = Said.of(batch, wording)
    title = "Counterfactual explanations" if title is None else str(title)
    summary = summary_of(batch, None)
    about = batch._origin.about()
    parts = [
        chapters.head(title, len(batch), summary),
        chapters.asked(about, [batch._origin.rules(int(row)) for row in batch.rows[:_ROWS_OF_RULES]], batch, said),
        not_found(batch, said),
        chapters.what_changes(summary, said),
        chapters.costs(summary, about["options"], said),
        every_row(batch, said),
        chapters.made_by(about),
    ]
    return page(title, "\n".join(part for part in parts if part), style=STYLE, script=SCRIPT)


def write_report(text: str, path: str | os.PathLike[str]) -> None:
    """Write the page, all of it or nothing; FileError where that cannot be."""
    with writing(path) as file:
        file.write(text.encode())
