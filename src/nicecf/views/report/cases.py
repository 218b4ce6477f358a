"""What each case changes, where features that move together are one change: what the lead and the examples count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nicecf.results.batch import Batch
from nicecf.support.types import Bools, Ints
from nicecf.tables.schema import differs
from nicecf.views.summary.totals import is_changed


@dataclass(frozen=True, eq=False)
class Cases:
    """The rows of a batch, each with its first counterfactual: ``batch`` has one entry for each."""

    batch: Batch

    @classmethod
    def from_batch(cls, batch: Batch) -> Cases:
        """Take the first entry of each row."""
        return cls(batch.take(batch.first_of_rows))

    @cached_property
    def is_changed(self) -> Bools:
        """Which cases have a counterfactual that changes something."""
        return is_changed(self.batch)

    @cached_property
    def changes(self) -> Bools:
        """Whether each case makes each change: ``(n_cases, n_units)``; what follows from others is none."""
        units, is_different = self.batch.units, differs(self.batch.before.values, self.batch.after.values)
        changes = np.zeros((len(self.batch), int(units.max(initial=-1)) + 1), dtype=bool)
        for column in np.flatnonzero(units >= 0):
            changes[:, units[column]] |= is_different[:, column] & self.is_changed
        return changes

    @cached_property
    def decided(self) -> Ints:
        """The class that the model decides on for each case, as a position."""
        return self.batch.before.decided
