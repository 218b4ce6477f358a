"""Which donor each row walks to: settled once the row's class is known, guessed before where that saves a call."""

from __future__ import annotations

import numpy as np

from nicecf._typing import Bools, Floats, Ints
from nicecf.neighbors import DonorIndex
from nicecf.schema import differs
from nicecf.search.lookahead import hybrids_ahead


class DonorChoice:
    """The donors of the rows of one ``explain`` call.

    ``budget`` is how many rows may ride along in the first model call. If it covers the rows, hybrids towards all
    donors that a row can turn out to have are scored together with the row itself.
    """

    def __init__(self, index: DonorIndex, *, budget: int) -> None:
        self._index = index
        self._budget = budget
        self._guess: tuple[Ints, Ints] | None = None

    def look_ahead(self, rows: Floats, targets: Bools) -> Floats:
        """Hybrids that may be wanted, before the classes of the rows are known; ``targets`` as named, or none.

        The donor is the nearest one in a named target. Without one it is the nearest of all, or, should the row be of
        that donor's class, the nearest of another class: there is no third possibility.
        """
        if 2 * len(rows) > self._budget:
            return rows[:0]
        is_named = np.asarray(targets.any(axis=1))
        first, _ = self._index.nearest(rows, targets | ~is_named[:, None])
        second = self._index.of_another_group(rows, np.where(is_named, -1, first))
        self._guess = first, second
        row, donor = np.tile(np.arange(len(rows)), 2), np.concatenate(self._guess)
        starts, ends = rows[row[donor >= 0]], self._index.values[donor[donor >= 0]]
        return hybrids_ahead(starts, ends, differs(starts, ends), budget=self._budget)

    def settle(self, rows: Floats, wanted: Bools, is_asked: Bools) -> Ints:
        """The place of each row's donor in the index; -1 where there is none or none is asked for."""
        donors = np.full(len(rows), -1, dtype=np.intp)
        if self._guess is None:
            donors[is_asked] = self._index.nearest(rows[is_asked], wanted[is_asked])[0]
            return donors
        first, second = self._guess
        is_first = wanted[np.arange(len(rows)), self._index.group(first)]
        return np.where(is_asked, np.where(is_first, first, second), donors)
