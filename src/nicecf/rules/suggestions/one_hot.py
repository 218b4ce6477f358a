"""One-hot groups: 0/1 columns of which exactly one is 1 in every row, or at most one where the first was left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from nicecf.rules.suggestions.suggestion import Suggestion, suggest_group
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts, spread
from nicecf.support.types import Floats, Ints

# In fewer rows, columns exclude each other by accident.
_FEWEST_ROWS = 50
_FEWEST_ON = 5
_LEAST_USUAL = 0.8
# Under independence, so many rows would have two of the columns on: that none has is no accident.
_LEAST_OVERLAP = 10.0
# Rows that show of most columns that they exclude no other, and rows that are counted at a time.
_SCREENED_ROWS = 1000
_ROWS_AT_A_TIME = 8192
_SEPARATOR = re.compile(r"[_=.:-]+")


def one_hot_groups(facts: TableFacts) -> list[Suggestion]:
    """Groups of 0/1 columns, of numbers or booleans, that share no column.

    Exactly one column on in every row is certain, however the columns are called; without a common beginning of their
    names, only neighbors in the table, pairs, and columns that exclude each other and no further one are tried. At most
    one on needs a common beginning, nearly all columns on in a few rows, and more rows than could agree by accident.
    """
    columns = [column for column in facts.columns if column.is_binary]
    if len(columns) < 2 or facts.n_rows < _FEWEST_ROWS:
        return []
    together = _together(columns)
    found: list[Suggestion] = []
    taken: set[int] = set()
    prefixed = _by_prefix(columns)
    # A column that is nearly always on and one that is nearly never on add up by accident.
    others = [one for one in _partitions(together, facts.n_rows) if _is_no_accident(one, together, facts.n_rows)]
    for group in [*prefixed, *others]:
        if not taken & set(group) and _is_exclusive(group, together) and _n_on(group, together) == facts.n_rows:
            taken.update(group)
            seen = f"exactly one of the {len(group)} columns is 1 in all {facts.n_rows:,} rows"
            found.append(suggest_group("one_hot", [columns[j].name for j in group], is_certain=True, seen=seen))
    for group in prefixed:
        if taken & set(group) or not _is_exclusive(group, together):
            continue
        if not _is_no_accident(group, together, facts.n_rows):
            continue
        # A rare category is on in a row or two; but a group of nothing else is no group.
        if (np.diag(together)[group] >= _FEWEST_ON).mean() < _LEAST_USUAL:
            continue
        taken.update(group)
        n_on = _n_on(group, together)
        seen = f"at most one of the {len(group)} columns is 1 in all {facts.n_rows:,} rows, in {n_on:,} of them one"
        # Two flags may exclude each other without being values of one thing.
        is_certain = len(group) > 2
        found.append(suggest_group("one_hot", [columns[j].name for j in group], is_certain=is_certain, seen=seen))
    return found


def _together(columns: list[ColumnFacts]) -> Floats:
    """How many rows have each two of the columns on; of two that some row has on, perhaps only that there is one."""
    n_rows = len(columns[0].values)
    together = _counted(columns, spread(n_rows, _SCREENED_ROWS))
    excludes = ((together == 0) & ~np.eye(len(columns), dtype=bool)).any(axis=1)
    exclusive = np.flatnonzero(excludes)
    if len(exclusive):
        together[np.ix_(exclusive, exclusive)] = _counted([columns[j] for j in exclusive], np.arange(n_rows))
    np.fill_diagonal(together, [np.count_nonzero(column.values) for column in columns])
    return together


def _counted(columns: list[ColumnFacts], rows: Ints) -> Floats:
    together = np.zeros((len(columns), len(columns)))
    # Some rows at a time: the table is not held twice, and the short floats, which are faster, hold the counts.
    for at in range(0, len(rows), _ROWS_AT_A_TIME):
        some = rows[at : at + _ROWS_AT_A_TIME]
        values = np.column_stack([column.values[some].astype(np.float32) for column in columns])
        together += values.T @ values
    return together


def _by_prefix(columns: list[ColumnFacts]) -> list[list[int]]:
    """All columns that begin alike, up to a separator or a number at the end; the largest groups first."""
    groups: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        for prefix in _prefixes(str(column.name)):
            groups.setdefault(prefix, []).append(j)
    distinct = dict.fromkeys(tuple(group) for group in groups.values() if len(group) > 1)
    return sorted(map(list, distinct), key=len, reverse=True)


def _prefixes(name: str) -> Iterator[str]:
    """Where a name may have been joined: a category can have separators of its own."""
    places = {match.start() for match in _SEPARATOR.finditer(name) if match.start()}
    number = re.search(r"\d+$", name)
    if number and number.start():
        places.add(number.start())
    return (name[:place] for place in sorted(places))


def _partitions(together: Floats, n_rows: int) -> Iterable[list[int]]:
    """Columns that could be on in one row each: neighbors, pairs, and those that exclude each other and no other."""
    counts = np.diag(together)
    ends = np.concatenate([[0.0], np.cumsum(counts)])
    starts = {end: place for place, end in enumerate(ends[:-1].tolist())}
    for last, end in enumerate(ends[1:].tolist()):
        first = starts.get(end - n_rows)
        if first is not None and last > first:
            yield list(range(first, last + 1))
    for one, other in np.argwhere(np.triu((together == 0) & (counts[:, None] + counts == n_rows), 1)).tolist():
        yield [one, other]
    excluded = {tuple(np.flatnonzero((row == 0) | (np.arange(len(row)) == j))) for j, row in enumerate(together)}
    yield from (list(map(int, group)) for group in sorted(excluded) if len(group) > 1)


def _is_exclusive(group: list[int], together: Floats) -> bool:
    part = together[np.ix_(group, group)]
    return bool((part - np.diag(np.diag(part)) == 0).all())


def _n_on(group: list[int], together: Floats) -> int:
    return int(np.diag(together)[group].sum())


def _is_no_accident(group: list[int], together: Floats, n_rows: int) -> bool:
    """Whether many rows would have two of the columns on, if these had nothing to do with each other."""
    counts = np.diag(together)[group]
    return bool((counts.sum() ** 2 - (counts**2).sum()) / (2 * n_rows) >= _LEAST_OVERLAP)
