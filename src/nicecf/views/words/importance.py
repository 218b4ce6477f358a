"""What matters most among the changes of an explanation: the order in which texts and tables name them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nicecf.results.batch import Batch
from nicecf.support.types import Bools, Floats, Ints


def by_importance(batch: Batch) -> Ints:
    """The changes, ordered by row and then by what matters most; what follows from others comes last.

    That is what a change adds to the probability of the counterfactual's class; changes of one step share what it adds.
    Equal ones by their part in the distance, then by the order of the columns. Columns that are one change stand
    together: first the category that the row has, if each has a column of its own.
    """
    feature = batch.steps.feature
    keys = (
        feature,
        *_order_within(batch),
        # Rounded: what differs by an error of rounding is equal.
        -parts_of(batch).round(9),
        -_gains(batch).round(9),
        batch.is_derived[feature],
        batch.steps.row(),
    )
    return np.lexsort(keys)


def _order_within(batch: Batch) -> tuple[Bools, Ints] | tuple[()]:
    """Keys that keep columns together that are one change, and put that first which the row has; the last key first."""
    if not batch.is_together.any():
        return ()
    _, first, place = np.unique(batch.units, return_index=True, return_inverse=True)
    feature = batch.steps.feature
    lead = np.where(batch.is_derived[feature], feature, first[place][feature])
    has = np.array([value is not None and value == 1 for value in batch.changes["before"]], dtype=bool)
    return ~has, lead


def _gains(batch: Batch) -> Floats:
    """What each change adds to the probability of the counterfactual's class; what follows from others, nothing."""
    # A score may have to fall.
    return gains_of(
        batch, batch.after.decided, (lambda values: values) if batch.target is None else batch.target.margins
    )


def gains_of(batch: Batch, label: Ints, measure: Callable[[Floats], Floats]) -> Floats:
    """Return what each change adds to a measure of the probability of a class, one for each entry.

    What follows from other changes adds nothing.
    """
    steps, line = batch.steps, batch.steps.row()
    label = label[line]
    reached = measure(steps.reached[np.arange(len(line)), label])
    at_first = measure(batch.before.probabilities[line, label])
    is_first = np.append(True, (np.diff(line) != 0) | (np.diff(steps.step) != 0))[: len(line)]
    step = np.cumsum(is_first) - 1
    start = np.flatnonzero(is_first)[step]
    before = np.where(start == steps.starts[line], at_first, reached[start - 1])
    unit = batch.units[steps.feature]
    changes = np.unique(np.column_stack([step, unit])[unit >= 0], axis=0)
    n_changes = np.bincount(changes[:, 0], minlength=len(step))[step]
    return np.where(unit >= 0, (reached - before) / np.maximum(n_changes, 1), 0.0)


def parts_of(batch: Batch) -> Floats:
    """The part of each change in the distance."""
    lines, features = batch.steps.row(), batch.steps.feature
    parts: Floats = batch.distance.features(batch.before.values, batch.after.values)[lines, features]
    return parts
