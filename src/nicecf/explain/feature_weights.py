"""``feature_weights`` of one call: what ``fit`` learned, as a fit with these weights would have learned it."""

from __future__ import annotations

from dataclasses import replace

from nicecf.explain.fitted import Fitted, refusal
from nicecf.explain.search_options import SearchOptions
from nicecf.search.distance import Heom
from nicecf.support.types import Floats


def weighed(weights: Floats, fitted: Fitted, options: SearchOptions) -> Fitted:
    """What was learned, with other weights, one for each column of the table. The model is not asked again."""
    assert fitted.neighborhood is not None
    distance = Heom(fitted.distance.scales, fitted.schema.reduced_weights(weights))
    donors = fitted.neighborhood.donors.weighed(distance)
    search, neighborhood = options.searching(
        donors,
        distance,
        is_refused=refusal(fitted.privacy, fitted.schema),
        plausibility=fitted.plausibility,
        basis=fitted.models.basis,
    )
    return replace(fitted, distance=distance, search=search, neighborhood=neighborhood)
