"""HEOM, the distance of the paper (its equation 1), with the open points decided.

The distance of two rows is the sum over the features of: for numbers |a - b| / scale, for categories 0 if equal
and 1 if not. A number column that never varies in training counts like a category. Missing against missing is 0,
missing against a value is 1. Ordered categories are numbers, their ranks, over the steps from the lowest level of the
dtype to the highest. Nothing is clipped: a row outside the training range may add more than 1. A weight, what
it costs to change a feature, multiplies its part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.support.types import Bools, Floats, Ints, is_number
from nicecf.tables.schema import Schema, differs

Scale: TypeAlias = Literal["range", "std"]

# Beyond these, what a feature adds to a distance could overflow, or be nothing at all.
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e100


@dataclass(frozen=True, eq=False)
class Heom:
    """The distance with its scales, learned from the training rows.

    ``scales`` divides the difference of a number column; 0 marks a column compared by equality alone.
    """

    scales: Floats
    weights: Floats | None = None

    @classmethod
    def of(cls, training: Floats, is_categorical: Bools, scale: Scale, weights: Floats | None = None) -> Heom:
        """Learn the scales: range (or standard deviation) of each number column, missing values left out."""
        scales = np.zeros(training.shape[1])
        for j in np.flatnonzero(~is_categorical):  # column by column: no second copy of the table
            present = training[~np.isnan(training[:, j]), j]
            # By the range, not by the deviation: that of a constant column can be 1e-17 instead of 0.
            if len(present) and (spread := np.ptp(present)) > 0:
                scales[j] = spread if scale == "range" else np.std(present)
        return cls(scales, weights)

    @classmethod
    def of_table(cls, training: Floats, schema: Schema, scale: Scale, weights: Floats | None = None) -> Heom:
        """The same by the columns of a schema.

        Ordered categories have a scale of their own, whatever training rows hold: the steps between their first level
        and their last.
        """
        learned = cls.of(training, schema.by_equality, scale, weights)
        return replace(learned, scales=np.where(schema.is_ordinal, schema.n_steps, learned.scales))

    def feature(self, j: int, a: Floats, b: Floats) -> Floats:
        """The part of feature ``j`` in the distance of values ``a`` and ``b`` (broadcast against each other)."""
        part = self._unweighted(j, a, b)
        if self.weights is not None:
            part *= self.weights[j]
        return part

    def _unweighted(self, j: int, a: Floats, b: Floats) -> Floats:
        if self.scales[j] == 0.0:
            unequal = a != b
            if np.isnan(a).any() and np.isnan(b).any():
                unequal = unequal & ~(np.isnan(a) & np.isnan(b))
            return unequal.astype(np.float64)
        part: Floats = a - b
        np.abs(part, out=part)
        part /= self.scales[j]
        # Looking at a and b costs less than looking at all their differences.
        if np.isnan(a).any() or np.isnan(b).any():
            part = np.where(np.isnan(part), np.where(np.isnan(a) & np.isnan(b), 0.0, 1.0), part)
        return part

    def features(self, rows: Floats, others: Floats) -> Floats:
        """The parts of all features in the distance of paired rows: shape (rows, features)."""
        return np.column_stack([self.feature(j, rows[:, j], others[:, j]) for j in range(len(self.scales))])

    def changes_and_distance(self, rows: Floats, others: Floats) -> tuple[Ints, Floats]:
        """In how many features paired rows differ, and their distance: that of `between`, where most are alike."""
        changed = differs(rows, others)
        line, feature = np.nonzero(changed)
        a, b, scales = rows[line, feature], others[line, feature], self.scales[feature]
        parts = np.abs(a - b) / np.where(scales > 0, scales, 1.0)
        parts[(scales == 0) | np.isnan(parts)] = 1.0  # compared by equality, or one of the two is missing
        if self.weights is not None:
            parts *= self.weights[feature]
        # Added up in the order of the features, as there: equal to the last bit.
        distances: Floats = np.bincount(line, parts, minlength=len(rows)).astype(np.float64)
        return changed.sum(axis=1), distances

    def between(self, rows: Floats, others: Floats) -> Floats:
        """The distance of paired rows."""
        total = np.zeros(len(rows))
        for j in range(
            len(self.scales)
        ):  # one after the other: a sum whose order is fixed does not depend on the batch
            total += self.feature(j, rows[:, j], others[:, j])
        return total


def weights_of(feature_weights: Any, schema: Schema) -> Floats | None:
    """What it costs to change each feature, by names or positions, or one number for each; 1 where nothing is said."""
    if feature_weights is None:
        return None
    if isinstance(feature_weights, Mapping):
        given = [(schema.position(one, "feature_weights"), weight) for one, weight in feature_weights.items()]
    elif isinstance(feature_weights, (list, tuple, np.ndarray)):
        if len(feature_weights) != len(schema.names):
            raise OptionError(
                f"feature_weights has {len(feature_weights)} numbers, but X has {len(schema.names)} columns. Pass one "
                "for each, or a dict {feature: weight}."
            )
        given = list(enumerate(feature_weights))
    else:
        raise OptionError(
            f"feature_weights must be a dict {{feature: weight}} or one number for each feature, got "
            f"{type(feature_weights).__name__}."
        )
    weights = np.ones(len(schema.names))
    for position, weight in given:
        if not (is_number(weight) and _SMALLEST_WEIGHT <= weight <= _LARGEST_WEIGHT):
            raise OptionError(
                f"feature_weights has {weight!r} for {schema.names[position]!r}; a weight is a number above 0, from "
                f"{_SMALLEST_WEIGHT:g} to {_LARGEST_WEIGHT:g}: what it costs to change the feature, 1 by default. What "
                "may not change at all goes into Constraints(immutable=[...])."
            )
        weights[position] = weight
    return weights
