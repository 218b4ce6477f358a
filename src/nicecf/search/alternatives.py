"""What a search comes across besides the best: the most plausible of the candidates that change the same features."""

from __future__ import annotations

import numpy as np

from nicecf.models.scorer import RowFunction
from nicecf.search.candidates import Candidates, joined
from nicecf.search.front import unbeaten
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import differs


class Alternatives:
    """The valid candidates of a search for some rows; of those that change the same features, the best two.

    These are the nearest and, by ``error``, the most plausible.
    """

    def __init__(self, rows: Floats, error: RowFunction | None) -> None:
        assert error is not None
        self._rows = rows
        self._error = error
        self._kept: tuple[Candidates, Floats] | None = None

    def add(self, valid: Candidates) -> None:
        """Valid candidates, of any of the rows."""
        errors = np.asarray(self._error(valid.values), dtype=np.float64)
        if self._kept is not None:
            valid, errors = joined([self._kept[0], valid]), np.append(self._kept[1], errors)
        changed = np.packbits(differs(self._rows[valid.line], valid.values), axis=1)
        alike = np.unique(np.column_stack([valid.line, changed]), axis=0, return_inverse=True)[1].ravel()
        nearest = _first_of_each(alike, np.lexsort((errors, valid.distances, alike)))
        plausible = _first_of_each(alike, np.lexsort((valid.distances, errors, alike)))
        kept = np.union1d(nearest, plausible)
        self._kept = valid.take(kept), errors[kept]

    def unbeaten(self, most_changes: int) -> Candidates:
        """Of each row that has any, those that nothing beats in changes, distance and error."""
        assert self._kept is not None
        found, errors = self._kept
        own = [np.flatnonzero((found.line == line) & (found.changes <= most_changes)) for line in np.unique(found.line)]
        places = [of[unbeaten(found.changes[of], found.distances[of], errors[of])] for of in own]
        return found.take(np.concatenate(places))


def _first_of_each(groups: Ints, order: Ints) -> Ints:
    """The first place of each group in an order that has them one after the other."""
    is_first = np.diff(groups[order], prepend=-1) != 0
    return order[is_first]
