"""``feature_weights`` of one call: what ``fit`` learned, as a fit with these weights would have learned it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nicecf.explain.fitted import Fitted, refusal
from nicecf.explain.search_options import SearchOptions
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.neighbors import DonorIndex
from nicecf.support.types import Floats


def weighed(weights: Floats, fitted: Fitted, options: SearchOptions) -> Fitted:
    """What was learned, with other weights, one for each column of the table. The model is not asked again."""
    assert fitted.neighborhood is not None
    distance = Heom(fitted.distance.scales, fitted.schema.reduced_weights(weights))
    donors = _indexed(fitted.neighborhood.donors, distance)
    search, neighborhood = options.searching(
        donors,
        distance,
        is_refused=refusal(fitted.privacy, fitted.schema),
        plausibility=fitted.plausibility,
    )
    return replace(fitted, distance=distance, search=search, neighborhood=neighborhood)


def _indexed(donors: DonorSearch, distance: Heom) -> DonorSearch:
    """The same donors in new leaves.

    Those of before would give the same distances. But of several donors with the same value, the first in the leaves
    is told, and that must be the one that a fit tells.
    """
    before = donors.index
    n_donors, n_rows = len(before.positions), len(before.positions) + len(before.other_positions)
    training = np.empty((n_rows, before.values.shape[1]), order="F")
    training[before.positions], training[before.other_positions] = before.values, before.other_values
    groups, place = np.full(n_rows, -1), np.empty(n_rows, dtype=np.intp)
    groups[before.positions] = before.group(np.arange(n_donors))
    place[before.positions] = np.arange(n_donors)
    index = DonorIndex.of(training, groups, len(before.leaves), distance)
    return DonorSearch(index, donors.outputs[place[index.positions]], donors.n_decided, donors.cells)
