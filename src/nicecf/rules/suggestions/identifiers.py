"""Identifiers and free text: columns that nobody can change, and whose values no other row should get."""

from __future__ import annotations

import numpy as np

from nicecf.rules.suggestions.suggestion import Finding, Suggestion, suggest_immutable
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts
from nicecf.rules.suggestions.words import AMOUNTS, COMPUTED, IDENTIFIER, NUMBERED

_FEWEST_VALUES = 50
# Of whole numbers, a column of amounts may have so many values as well; of text, hardly ever.
_NEARLY_ALL = 0.99
_MOST = 0.5
# Of random numbers in the same range, so many pairs would be equal: that none are is no accident.
_FEWEST_REPEATED = 10.0
# Numbers that were given one after the other leave few out.
_LARGEST_GAP = 2.0
# Text that somebody wrote; a category may have a long name too, but then it comes back.
_MANY_WORDS = 4.0
_SOME_NEW = 0.2


def identifiers(facts: TableFacts) -> list[Suggestion]:
    """Columns that look like identifiers or free text.

    Text with a new value in more than half of 50 rows or more is certain, and so are whole numbers of which 99 % are
    unique if their name says so (id, number), or if they leave few numbers out and only grow, or only fall, from row to
    row. Otherwise unique whole numbers are a guess, if random ones would repeat, like a name that says id of values
    that repeat. Only with such a name too, a price, an income and the like are identifiers.
    """
    return [one for column in facts.columns if (one := _identifier(column)) is not None]


def _identifier(column: ColumnFacts) -> Suggestion | None:
    n_cells = len(column.present)
    if not n_cells:
        return None
    share = column.n_distinct / n_cells
    seen = f"{column.n_distinct:,} different values in {n_cells:,} rows"
    is_called_id = bool(IDENTIFIER & set(column.words))
    if n_cells >= _FEWEST_VALUES and not column.is_number and share > _MOST:
        kind: Finding = "free_text" if not is_called_id and _n_words(column) > 1.5 else "identifier"
        return suggest_immutable(kind, column.name, is_certain=True, seen=seen)
    if n_cells >= _FEWEST_VALUES and column.is_text and share > _SOME_NEW and _n_words(column) >= _MANY_WORDS:
        return suggest_immutable("free_text", column.name, is_certain=False, seen=f"{seen}, of many words")
    is_whole = column.is_number and column.temporal is None and column.decimals == 0
    if n_cells >= _FEWEST_VALUES and is_whole and share >= _NEARLY_ALL:
        span, changes = float(np.ptp(column.present)), np.diff(column.present)
        is_counted = span < _LARGEST_GAP * n_cells and bool((changes > 0).all() or (changes < 0).all())
        is_named = is_called_id or bool(NUMBERED & set(column.words))
        is_amount = not is_named and bool((AMOUNTS | COMPUTED) & set(column.words))
        is_certain = is_named or (is_counted and not is_amount)
        if is_certain or (not is_amount and n_cells**2 / (2 * span) >= _FEWEST_REPEATED):
            return suggest_immutable("identifier", column.name, is_certain=is_certain, seen=f"{seen}, whole numbers")
    if is_called_id and (is_whole or column.is_text) and column.n_distinct > 2:
        return suggest_immutable("identifier", column.name, is_certain=False, seen=f"called an identifier; {seen}")
    return None


def _n_words(column: ColumnFacts) -> float:
    """How many words its values have, on average."""
    return float(np.mean([len(str(level).split()) for level in column.levels[:1000]]))
