"""Columns that no training row leaves empty: nothing is changed to missing there, as no donor has such a cell."""

from __future__ import annotations

from nicecf.exceptions import listed
from nicecf.rules.suggestions.suggestion import Suggestion
from nicecf.rules.suggestions.table_facts import TableFacts


def never_missing(facts: TableFacts) -> list[Suggestion]:
    """One finding for all columns; it needs no rule."""
    filled = [column.name for column in facts.columns if column.is_present.all()]
    if not filled:
        return []
    which = (
        f"all {len(filled):,}" if len(filled) == len(facts.columns) else f"{len(filled):,} of {len(facts.columns):,}"
    )
    others = [column.name for column in facts.columns if not column.is_present.all()]
    seen = f"{which} columns are filled in all {facts.n_rows:,} rows: no counterfactual changes them to missing"
    if others:
        seen += f"; {listed(others)} have empty cells"
    return [Suggestion("never_missing", None, tuple(filled), "", True, seen)]
