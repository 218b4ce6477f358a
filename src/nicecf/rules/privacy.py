"""What of the training data may be handed out: no row as it is, no value that only few rows hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nicecf.support.types import Bools, Floats
from nicecf.tables.schema import Schema

_PRIME = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Privacy:
    """The guard of an explainer.

    ``common``: of each column the values that at least ``min_count`` training rows hold; None where all may be used.
    ``digests`` of all training rows, sorted; None where a row may be handed out as it is.
    """

    min_count: int = 1
    common: tuple[Floats, ...] | None = None
    digests: npt.NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, training: Floats, *, share_donor: bool, min_count: int) -> Privacy:
        """Learn from encoded training rows what may not be handed out."""
        common = None if min_count == 1 else tuple(_held_by(column, min_count) for column in training.T)
        return cls(min_count, common, None if share_donor else np.unique(_digests(training)))

    def is_training_row(self, values: Floats) -> Bools:
        """Which rows are training rows as they are, where these may not be handed out.

        By digests: of some 10^19 other rows, one may be taken for a training row; never the reverse.
        """
        if self.digests is None:
            return np.zeros(len(values), dtype=bool)
        digests = _digests(values)
        at = np.searchsorted(self.digests, digests)
        return np.asarray(self.digests[np.minimum(at, len(self.digests) - 1)] == digests)

    def guarded(self, schema: Schema) -> Schema:
        """The schema of the training data, with the values of each column that may be used."""
        return schema if self.common is None else schema.with_common(self.common)


def _held_by(column: Floats, min_count: int) -> Floats:
    values, counts = np.unique(column, return_counts=True)  # all missing numbers count as one value
    return values[counts >= min_count]


def _digests(rows: Floats) -> npt.NDArray[np.uint64]:
    """A number for each row: equal rows have equal ones."""
    digests = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        # Adding zero turns -0.0 into 0.0; there are many NaNs, too.
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        digests = (digests ^ bits) * _PRIME
        digests ^= digests >> np.uint64(29)
    return digests
