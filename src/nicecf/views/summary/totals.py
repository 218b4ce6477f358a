"""How many rows changed, need no change or have no counterfactual, and what it takes on average where they change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.results.batch import Batch
from nicecf.support.types import Bools


@dataclass(frozen=True)
class Totals:
    """Over all rows, each counted once; of several counterfactuals, the first.

    ``changed``: rows with a counterfactual that changes something; ``unchanged``: those in the target already;
    ``not_found``: those without a counterfactual. ``mean_changes`` and ``mean_distance`` are over the rows that
    changed, NaN if there are none: the one average that texts, tables, reports and the command line give.
    """

    rows: int
    changed: int
    unchanged: int
    not_found: int
    mean_changes: float
    mean_distance: float

    @property
    def found(self) -> int:
        """How many rows have a counterfactual, changed or not."""
        return self.changed + self.unchanged

    @property
    def coverage(self) -> float:
        """Their share of the rows; NaN if there are none."""
        return self.found / self.rows if self.rows else float("nan")


def is_changed(batch: Batch) -> Bools:
    """Which entries have a counterfactual that changes something."""
    return np.asarray(batch.found & (batch.n_changes > 0))


def totals_of(batch: Batch) -> Totals:
    """The totals of a batch."""
    first = batch.first_of_rows
    found, changed = batch.found[first], is_changed(batch)[first]
    n_changed = int(changed.sum())
    return Totals(
        rows=len(first),
        changed=n_changed,
        unchanged=int(found.sum()) - n_changed,
        not_found=int((~found).sum()),
        mean_changes=float(batch.n_changes[first][changed].mean()) if n_changed else float("nan"),
        mean_distance=float(batch.distances[first][changed].mean()) if n_changed else float("nan"),
    )
