"""Tables with any number of lines for a row, ordered by row: the steps of the walks, and what nothing beats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.support.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Steps:
    """The changes of all rows, ordered by row and step: those of row ``i`` are ``starts[i]:starts[i + 1]``."""

    starts: Ints
    feature: Ints
    step: Ints
    reached: Floats

    @classmethod
    def of(cls, n_rows: int, row: Ints, feature: Ints, step: Ints, reached: Floats) -> Steps:
        """Sort a long table of changes."""
        order = np.lexsort((feature, step, row))
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))])
        return cls(starts, feature[order], step[order], reached[order])

    def row(self) -> Ints:
        """The row of each change."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def take(self, rows: Ints) -> Steps:
        """The changes of some rows, in the order asked for."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        places = _places(self.starts[rows], lengths)
        return Steps(starts, self.feature[places], self.step[places], self.reached[places])


@dataclass(frozen=True, eq=False)
class Front:
    """What nothing beats, for all rows, ordered by row: the members of row ``i`` are ``starts[i]:starts[i + 1]``."""

    starts: Ints
    values: Floats
    probabilities: Floats
    decided: Ints
    donors: Ints
    held: Ints
    errors: Floats

    def members(self, rows: Ints, entries: Ints) -> tuple[Ints, Ints]:
        """For the rows of some entries: the entry of each member, and its place; -1 for a row that has no members."""
        counts = np.diff(self.starts)[rows[entries]]
        lines = np.maximum(counts, 1)
        place = _places(self.starts[rows[entries]], lines)
        return entries.repeat(lines), np.where(counts.repeat(lines) > 0, place, -1)


def _places(starts: Ints, lengths: Ints) -> Ints:
    """The lines of some rows, one row after the other.

    >>> _places(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
