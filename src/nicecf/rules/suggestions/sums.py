"""Sums of three columns or more that are another column, and shares that add up to 1 or 100."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from scipy.optimize import nnls

from nicecf.rules.suggestions.derived_search import Form, Match, Search
from nicecf.rules.suggestions.table_facts import ColumnFacts, spread
from nicecf.support.types import Bools, Floats

# Rows by which the columns of a sum are guessed: some for each of the 60 columns at most; then all rows tell.
_SCREENED_ROWS = 400
_WHOLES = (1.0, 100.0)
# A part of a sum counts once: a smaller weight comes from rounded values.
_LEAST_WEIGHT = 0.5
_MOST_SUMS = 10


def sums(search: Search, columns: Sequence[ColumnFacts], among: Sequence[int]) -> Iterator[Match]:
    """Yield the sums and shares in columns without missing cells, each solved for all of its columns.

    For each column, non-negative least squares over the others find the parts, instead of a trial of all subsets. Once
    a sum is found, its total is left out, so that sums of the same parts do not hide each other.
    """
    left = [j for j in among if columns[j].is_present.all()]
    for _ in range(_MOST_SUMS):
        found = _first_sum(search, columns, left)
        if not found:
            break
        yield from found
        left.remove(found[0].target)


def _first_sum(search: Search, columns: Sequence[ColumnFacts], among: Sequence[int]) -> list[Match]:
    """Return the first sum, solved for its total and then for each part; or shares, solved for each."""
    if len(among) < 2:
        return []
    rows = spread(len(columns[among[0]].values), _SCREENED_ROWS)
    table = np.column_stack([columns[j].values[rows] for j in among])
    for place, total in enumerate(among):
        others = np.arange(len(among)) != place
        parts = [among[part] for part in np.flatnonzero(_weights(table, others, table[:, place]) > _LEAST_WEIGHT)]
        if len(parts) > 2 and (found := _solutions(search, parts, total, 0.0)):
            return found
    for whole in _WHOLES:
        is_share = (table.min(axis=0) >= 0) & (table.max(axis=0) <= whole)
        weights = _weights(table, is_share, np.full(len(rows), whole))
        # If several groups of shares add up, the solution may be a mixture of them, each with a weight of its own.
        for weight in np.unique(np.round(weights[weights > 1e-3], 3)):
            shares = [among[part] for part in np.flatnonzero(np.abs(weights - weight) <= 1e-3)]
            if len(shares) > 1 and (found := _solutions(search, shares, None, whole)):
                return found
    return []


def _weights(table: Floats, use: Bools, wanted: Floats) -> Floats:
    """Return the weights, at least 0, with which the columns in use add up to what is wanted as nearly as possible."""
    scales = np.abs(table).max(axis=0)
    use = use & (scales > 0)
    weights = np.zeros(table.shape[1])
    if use.any():
        with suppress(RuntimeError):  # too many iterations: columns of which some nearly follow from others
            weights[use] = nnls(table[:, use] / scales[use], wanted)[0] / scales[use]
    return weights


def _solutions(search: Search, parts: Sequence[int], total: int | None, whole: float) -> list[Match]:
    """Return the equation solved for its total, if that is a column, and for each part, where this holds in all rows."""
    numbers = [f"{{{place}}}" for place in range(len(parts))]
    found = []
    if total is not None:
        form = Form(" + ".join(numbers), "", lambda *of: sum(of), len(parts), True, (1.0,))
        found.append(search.verified(total, form, tuple(parts), 1.0))
        if found == [None]:
            return []
    for part in parts:
        others = tuple(one for one in parts if one != part)
        if total is None:
            form = Form(" - ".join([f"{whole:g}", *numbers[:-1]]), "", lambda *of: whole - sum(of), 0, False, (1.0,))
            found.append(search.verified(part, form, others, 1.0))
        else:
            form = Form(" - ".join(numbers), "", lambda first, *of: first - sum(of), 0, False, (1.0,))
            found.append(search.verified(part, form, (total, *others), 1.0))
    return [one for one in found if one is not None]
