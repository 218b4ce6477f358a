"""IM2 as the experiments of the paper computed it, which is not its published formula (`nicecf.metrics.im2`)."""

from __future__ import annotations

import numpy as np

from nicecf.metrics import Reference
from nicecf.search.autoencoder import rounded_errors
from nicecf.support.types import Floats, Objects

_EPSILON = 1e-8


def im2_by_code(rows: Floats, counterfactuals: Floats, before: Objects, reference: Reference) -> Floats:
    """By the autoencoder of the class that is left, not of the one reached, and over the distance, not the size.

    Paired float rows; ``before``: the class of each row. NaN where a counterfactual is missing altogether, and for a
    class without training rows.
    """
    measured = np.full(len(rows), np.nan)
    is_there = ~np.isnan(counterfactuals).all(axis=1)
    network = reference.autoencoder
    for label, of_class in reference.autoencoders.items():
        here = np.flatnonzero(is_there & (before == label))
        if len(here):
            table = network.inputs(reference.encoded(counterfactuals[here]))
            moved = np.abs(table - network.inputs(reference.encoded(rows[here]))).sum(axis=1)
            apart = ((of_class.reconstructed(table) - network.reconstructed(table)) ** 2).sum(axis=1)
            measured[here] = rounded_errors(apart / (moved + _EPSILON))
    return measured
