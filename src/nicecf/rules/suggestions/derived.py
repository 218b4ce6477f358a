"""Derived columns: numbers that were computed from other columns, such as a total or a ratio."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nicecf.rules.suggestions.derived_search import (
    FEWEST_ROWS,
    PAIRS,
    PRODUCTS,
    TRIPLES,
    Match,
    Search,
)
from nicecf.rules.suggestions.suggestion import Suggestion, in_expression, key, quoted, suggest
from nicecf.rules.suggestions.sums import sums
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts
from nicecf.rules.suggestions.words import COMPUTED

# Bounds of the search, as the number of expressions grows by the square and the cube of these.
_MOST_COLUMNS = 60
_MOST_OF_THREE = 25


def derived_columns(facts: TableFacts, *, most_columns: int = _MOST_COLUMNS) -> list[Suggestion]:
    """Columns that are equal to an expression of others in every row in which all of them are present.

    Equal within the rounding of the column itself: half a unit of its last decimal. The expressions are a sum,
    difference, product, ratio or share a / (a + b) of two columns, or of three (a + b - c, (a + b) / c, a * b / c, ..),
    times 1, 12, 1/12 or, but for sums and differences, a power of ten; and one column times, or divided by, a factor of
    at most three digits. Sums of any number of columns without missing cells, and shares that add up to 1 or 100, are
    found as `sums` says.

    What is tried is bounded: the first ``most_columns`` of numbers with three values or more that are no copies, and of
    three columns the first 25 that are not explained yet, or half of ``most_columns``. All expressions are screened on
    64 rows, and need five of these without a missing cell; of each form, at most 50 for a column and factor are then
    verified on all rows. A column needs 50 values, and 100 rows.

    Where an equation can be solved for more than one column, the derived one is that with the most decimals, or with a
    word such as total or ratio in its name, or a product. If none of these tells, the last one in the table is a guess,
    and so is a column with fewer decimals than its parts.
    """
    columns = _usable(facts, most_columns) if facts.n_rows >= FEWEST_ROWS else []
    if len(columns) < 2:
        return []
    search = Search(columns)
    chosen: dict[int, tuple[Match, bool]] = {}
    _choose(search.multiples(), columns, chosen)
    # An exact multiple is the same column once more: whatever is tied to the one is tied to the other.
    distinct = [j for j in range(len(columns)) if j not in chosen or chosen[j][0].is_rounded]
    _choose(search.matches(PAIRS, distinct), columns, chosen)
    left = [j for j in range(len(columns)) if j not in chosen][: min(_MOST_OF_THREE, most_columns // 2)]
    _choose(search.matches(TRIPLES, left), columns, chosen)
    _choose(sums(search, columns, [j for j in range(len(columns)) if j not in chosen]), columns, chosen)
    return [_suggested(match, columns, is_certain) for match, is_certain in chosen.values()]


def _usable(facts: TableFacts, most: int) -> list[ColumnFacts]:
    """The first columns of numbers with three values or more that are no copies of another."""
    usable: dict[bytes, ColumnFacts] = {}
    for column in facts.columns:
        if len(usable) == most:
            break
        if column.is_number and column.temporal is None and column.has_values(3):
            usable.setdefault(column.as_bytes(), column)
    return list(usable.values())


def _choose(matches: Iterable[Match], columns: Sequence[ColumnFacts], chosen: dict[int, tuple[Match, bool]]) -> None:
    """Add to ``chosen`` one match for each equation, solved for its derived column, and whether that is certain."""
    equations: dict[frozenset[int], list[Match]] = {}
    for match in matches:
        equations.setdefault(match.together, []).append(match)
    for solutions in equations.values():
        match, is_certain = _solved(solutions, columns)
        if match.target not in chosen and not _reaches(match.parts, match.target, chosen):
            chosen[match.target] = (match, is_certain)


def _solved(solutions: Sequence[Match], columns: Sequence[ColumnFacts]) -> tuple[Match, bool]:
    """The match of the column that was most likely computed, and whether that is clear."""

    def evidence(match: Match) -> tuple[float, bool]:
        return _decimals(columns[match.target]), _is_called_computed(columns[match.target])

    first = {match.target: match for match in reversed(solutions)}
    best = max(evidence(match) for match in first.values())
    tied = [match for match in first.values() if evidence(match) == best]
    # Were one of them computed as a ratio, it would have more decimals than the product.
    tied = [match for match in tied if match.form in PRODUCTS] or tied
    # Of sums and differences, what was computed was more likely added later.
    match = max(tied, key=lambda match: match.target)
    # Whole numbers are seldom computed from fractions.
    is_coarse = best[0] < max(_decimals(columns[part]) for part in match.parts)
    if match.form.is_open:
        return match, best[1] and not any(_is_called_computed(columns[part]) for part in match.parts)
    return match, len(tied) == 1 and (not is_coarse or best[1])


def _decimals(column: ColumnFacts) -> float:
    return np.inf if column.decimals is None else column.decimals


def _is_called_computed(column: ColumnFacts) -> bool:
    return bool(COMPUTED & set(column.words))


def _reaches(parts: Sequence[int], target: int, chosen: dict[int, tuple[Match, bool]]) -> bool:
    """Whether some part is itself computed, step by step, from the target."""
    return any(part == target or (part in chosen and _reaches(chosen[part][0].parts, target, chosen)) for part in parts)


def _suggested(match: Match, columns: Sequence[ColumnFacts], is_certain: bool) -> Suggestion:
    column, parts = columns[match.target], [columns[part] for part in match.parts]
    text = _expression(match, [in_expression(part.name) for part in parts], column.decimals)
    seen = f"equal in all {match.n_rows:,} rows with these values"
    if not is_certain:
        seen += "; it may as well be the other way round"
    toml = f"{key(column.name)} = {quoted(text)}"
    features = (column.name, *(part.name for part in parts))
    return suggest("derived", "derived", features, toml, is_certain=is_certain, seen=seen)


def _expression(match: Match, names: Sequence[str], decimals: int | None) -> str:
    times, by = _factor_text(match.scale)
    text = (match.form.text if match.scale == 1.0 else match.form.scaled).format(*names, times=times, by=by)
    # Even what is exact on paper has float errors in its last digits, which no cell of the column has.
    if decimals is None or (decimals == 0 and not match.is_rounded):
        return text
    return f"round({text}, {decimals})"


def _factor_text(scale: float) -> tuple[str, str]:
    """A factor as a multiplication or, where that is shorter, as a division.

    >>> _factor_text(12.0), _factor_text(1 / 12), _factor_text(0.17)
    ((' * 12', ''), ('', ' / 12'), (' * 0.17', ''))
    """
    times, by = f"{scale:.12g}", f"{1 / scale:.12g}"
    return (f" * {times}", "") if len(times) <= len(by) else ("", f" / {by}")
