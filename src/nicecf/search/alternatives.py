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

    These are the nearest and, by ``error``, if there is a measure, the most plausible.
    """

    def __init__(self, rows: Floats, error: RowFunction | None) -> None:
        self._rows = rows
        self._error = error
        self._kept: tuple[Candidates, Floats] | None = None

    def add(self, valid: Candidates) -> None:
        """Valid candidates, of any of the rows."""
        errors = np.zeros(len(valid)) if self._error is None else np.asarray(self._error(valid.values), dtype=float)
        if self._kept is not None:
            valid, errors = joined([self._kept[0], valid]), np.append(self._kept[1], errors)
        alike = self._alike(valid)
        kept = _first_of_each(alike, np.lexsort((errors, valid.distances, alike)))
        if self._error is not None:
            kept = np.union1d(kept, _first_of_each(alike, np.lexsort((valid.distances, errors, alike))))
        self._kept = valid.take(kept), errors[kept]

    def nearest(self, most_changes: int) -> Candidates:
        """Of those that change the same features the nearest, by row, the least costly first."""
        found, _ = self._within(most_changes)
        alike = self._alike(found)
        found = found.take(_first_of_each(alike, np.lexsort((found.distances, alike))))
        return found.take(np.lexsort((found.distances, found.changes, found.costs, found.line)))

    def unbeaten(self, most_changes: int) -> Candidates:
        """Of each row that has any, those that nothing beats in changes, distance and error."""
        found, errors = self._within(most_changes)
        own = [np.flatnonzero(found.line == line) for line in np.unique(found.line)]
        places = [of[unbeaten(found.changes[of], found.distances[of], errors[of])] for of in own]
        return found.take(np.concatenate([np.empty(0, dtype=np.intp), *places]))

    def _within(self, most_changes: int) -> tuple[Candidates, Floats]:
        assert self._kept is not None
        found, errors = self._kept
        is_within = found.changes <= most_changes
        return found.take(is_within), errors[is_within]

    def _alike(self, candidates: Candidates) -> Ints:
        """The same number for those of one row that change the same features."""
        changed = np.packbits(differs(self._rows[candidates.line], candidates.values), axis=1)
        _, alike = np.unique(np.column_stack([candidates.line, changed]), axis=0, return_inverse=True)
        return np.asarray(alike).ravel()


def _first_of_each(groups: Ints, order: Ints) -> Ints:
    """The first place of each group in an order that has them one after the other."""
    is_first = np.diff(groups[order], prepend=-1) != 0
    return order[is_first]
