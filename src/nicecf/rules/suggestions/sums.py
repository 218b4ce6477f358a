"""Sums of three columns or more that are another column, and shares that add up to 1 or 100."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from scipy.optimize import nnls

from nicecf.rules.suggestions.derived_search import Form, Match, Search
from nicecf.rules.suggestions.table_facts import ColumnFacts, spread
from nicecf.support.types import Bools, Floats

# Rows by which the parts of a sum are guessed: a few for each of 60 columns. Then all rows tell.
_SCREENED_ROWS = 400
_WHOLES = (1.0, 100.0)
# A part of a sum counts once; a smaller weight comes from rounded values.
_LEAST_WEIGHT = 0.5
_MOST_SUMS = 10


def sums(search: Search, columns: Sequence[ColumnFacts], among: Sequence[int]) -> Iterator[Match]:
    """Yield the sums in columns without missing cells; of shares, the last one as what the others leave of the whole.

    The parts of a column are found by non-negative least squares over the others, instead of a trial of all subsets. A
    total that was found is left out from then on, as sums of the same parts hide each other.
    """
    left = [j for j in among if columns[j].is_present.all()]
    rows = spread(len(columns[0].values), _SCREENED_ROWS)
    for _ in range(_MOST_SUMS):
        if len(left) < 2:
            break
        table = np.column_stack([columns[j].values[rows] for j in left])
        found = next(filter(None, (_verified(search, *guess) for guess in _guesses(table, left))), None)
        if found is None:
            break
        yield found
        left.remove(found.target)


def _guesses(table: Floats, among: Sequence[int]) -> Iterator[tuple[int | None, list[int], float]]:
    """Yield what may be a total and its parts; or shares of a whole, without a total."""
    positions = np.array(among)
    for place, total in enumerate(among):
        weights = _weights(table, np.arange(len(among)) != place, table[:, place])
        yield total, positions[weights > _LEAST_WEIGHT].tolist(), 0.0
    for whole in _WHOLES:
        is_share = (table.min(axis=0) >= 0) & (table.max(axis=0) <= whole)
        weights = _weights(table, is_share, np.full(len(table), whole))
        # If several groups of shares add up, the weights may be a mixture of them: one weight for each group.
        for weight in np.unique(np.round(weights[weights > 1e-3], 3)):
            yield None, positions[np.abs(weights - weight) <= 1e-3].tolist(), whole


def _weights(table: Floats, use: Bools, wanted: Floats) -> Floats:
    """Return the weights, at least 0, with which the columns in use add up to what is wanted as nearly as possible."""
    scales = np.abs(table).max(axis=0)
    use = use & (scales > 0)
    weights = np.zeros(table.shape[1])
    # Where some columns follow from others, it may need too many iterations, and older versions refuse.
    with suppress(RuntimeError, np.linalg.LinAlgError):
        weights[use] = nnls(table[:, use] / scales[use], wanted)[0] / scales[use] if use.any() else 0.0
    return weights


def _verified(search: Search, total: int | None, parts: Sequence[int], whole: float) -> Match | None:
    """Return the sum, if it holds in all rows; of shares, solved for the last one that tells enough."""
    if len(parts) < (2 if total is None else 3):
        return None
    names = [f"{{{place}}}" for place in range(len(parts))]
    if total is not None:
        form = Form(" + ".join(names), "", lambda *of: sum(of), len(parts), True, (1.0,), is_open=True)
        return search.verified(total, form, tuple(parts), 1.0)
    text = " - ".join([f"{whole:g}", *names[:-1]])
    form = Form(text, "", lambda *of: whole - sum(of), len(parts) - 1, True, (1.0,), is_open=True)
    others = {part: tuple(one for one in parts if one != part) for part in reversed(parts)}
    return next(filter(None, (search.verified(part, form, others[part], 1.0) for part in others)), None)
