"""Relations: a column that is at most another one in every row, such as the smallest and the largest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from nicecf.rules.parameters import Feature
from nicecf.rules.suggestions.suggestion import Suggestion, in_expression, quoted, suggest
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts
from nicecf.rules.suggestions.words import HIGH, LOW

_FEWEST_ROWS = 100
_FEWEST_VALUES = 5
# Fewer rows are not enough to be certain that the relation holds everywhere.
_ROWS_FOR_CERTAINTY = 1000
# If the columns had nothing to do with each other, at least this share of the rows would break the relation.
_LEAST_BROKEN = 0.05
# Two columns that never come near each other are two things: this share of rows within that share of the range.
_LEAST_NEAR = 0.05
_NEAR = 0.2
# How much larger the values of one column may be than those of the other.
_LARGEST_RATIO = 10.0
_MOST_COLUMNS = 60
_SCREENED_ROWS = 256
_SAMPLED_ROWS = 5000
_MOST = 10


@dataclass(frozen=True)
class _Relation:
    low: int
    high: int
    n_rows: int
    n_equal: int
    # The share of rows that would break it by accident.
    broken: float
    # Whether one name says that it is small, or the other that it is large.
    is_in_names: bool


def relations(facts: TableFacts, known: Collection[frozenset[Feature]] = ()) -> list[Suggestion]:
    """At most ten relations ``a <= b`` that hold in every row in which both are present, the strongest first.

    Only of columns of the same units, as far as numbers and names tell: their ranges overlap, so that many rows would
    break the relation if it held by accident; their values are alike in size; rows come near to equality, or reach it;
    and their names differ in at most one word, or both are dates, or durations. Certain if the names say it (min, max,
    total) and equality is reached in a table of 1,000 rows. What follows from other relations, or is among the
    ``known`` sets of features, is left out. Of the first 60 columns only.
    """
    usable = [column for column in facts.columns if column.is_number and column.n_distinct >= _FEWEST_VALUES]
    columns = usable[:_MOST_COLUMNS]
    if facts.n_rows < _FEWEST_ROWS or len(columns) < 2:
        return []
    rows = np.unique(np.linspace(0, facts.n_rows - 1, _SCREENED_ROWS).astype(np.intp))
    screen = np.stack([column.values[rows] for column in columns])
    found = []
    for low, values in enumerate(screen):
        for high in np.flatnonzero(~(values > screen).any(axis=1)).tolist():
            pair = frozenset((columns[low].name, columns[high].name))
            if low != high and not any(pair <= one for one in known):
                relation = _verified(low, high, columns)
                found += [relation] if relation is not None else []
    kept = _without_consequences(found)
    kept.sort(key=lambda one: (one.is_in_names, one.n_equal > 0, one.broken), reverse=True)
    return [_suggested(one, columns) for one in kept[:_MOST]]


def _verified(low: int, high: int, columns: Sequence[ColumnFacts]) -> _Relation | None:
    one, other = columns[low], columns[high]
    use = one.is_present & other.is_present
    a, b = one.values[use], other.values[use]
    if not _are_alike(one, other) or len(a) < _FEWEST_ROWS or (a > b).any() or np.array_equal(a, b):
        return None
    # Two columns that are 0 in most rows are equal there without any relation.
    n_equal = int(((a == b) & one.is_unusual[use] & other.is_unusual[use]).sum())
    n_rows, every = len(a), -(-len(a) // _SAMPLED_ROWS)
    a, b = a[::every], b[::every]  # of shapes and sizes, a sample tells enough
    size_a, size_b = (float(np.quantile(np.abs(values), 0.9)) for values in (a, b))
    if max(size_a, size_b) > _LARGEST_RATIO * min(size_a, size_b):
        return None
    broken = float(np.searchsorted(np.sort(b), a, side="left").mean()) / len(b)
    span = float(max(a.max(), b.max()) - min(a.min(), b.min()))
    near = float((b - a <= _NEAR * span).mean())
    if broken < _LEAST_BROKEN or (near < _LEAST_NEAR and not n_equal):
        return None
    return _Relation(low, high, n_rows, n_equal, broken, _is_in_names(one, other))


def _are_alike(one: ColumnFacts, other: ColumnFacts) -> bool:
    """Whether both are dates, or durations, or their names have all words but one in common: cpu_avg, cpu_max."""
    if one.temporal is not None or other.temporal is not None:
        return one.temporal == other.temporal
    common = set(one.words) & set(other.words)
    return bool(common) and all(len(set(column.words) - common) <= 1 for column in (one, other))


def _is_in_names(low: ColumnFacts, high: ColumnFacts) -> bool:
    only_low, only_high = set(low.words) - set(high.words), set(high.words) - set(low.words)
    if only_low & HIGH or only_high & LOW:
        return bool(only_low & LOW and only_high & HIGH)
    return bool(only_low & LOW or only_high & HIGH)


def _without_consequences(found: Sequence[_Relation]) -> list[_Relation]:
    """Those that do not follow from two others."""
    pairs = {(one.low, one.high) for one in found}
    middles = {place for pair in pairs for place in pair}
    return [one for one in found if not any((one.low, by) in pairs and (by, one.high) in pairs for by in middles)]


def _suggested(one: _Relation, columns: Sequence[ColumnFacts]) -> Suggestion:
    names = (columns[one.low].name, columns[one.high].name)
    text = " <= ".join(in_expression(name) for name in names)
    seen = f"holds in all {one.n_rows:,} rows"
    seen += f", in {one.n_equal:,} as equality" if one.n_equal else ""
    seen += f"; by accident, {one.broken:.0%} of the rows would break it"
    is_certain = one.is_in_names and one.n_equal > 0 and one.n_rows >= _ROWS_FOR_CERTAINTY
    return suggest("relation", "relations", names, quoted(text), is_certain=is_certain, seen=seen)
