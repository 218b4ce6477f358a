"""Hybrids to be scored ahead: those of each pair by themselves, one pair after the other."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nicecf.search.groups import Groups
from nicecf.search.lookahead import hybrids_ahead, rounds_within, subsets_up_to
from nicecf.tables.schema import differs


@settings(max_examples=10 * settings.default.max_examples)
@given(st.integers(0, 10_000), st.integers(0, 4), st.integers(1, 5), st.integers(0, 60), st.booleans())
def test_the_hybrids_of_many_pairs_are_those_of_each(seed, n, d, budget, has_group):
    random = np.random.default_rng(seed)
    current, donors = random.integers(0, 3, (2, n, d)).astype(float)
    current[random.random((n, d)) < 0.1] = np.nan
    groups = Groups((np.array([0, d - 1]),)) if has_group and d > 1 else Groups()
    left = groups.first(differs(current, donors))
    expected = []
    share = budget // max(1, n)
    for row, donor, features in zip(current, donors, left, strict=True):
        places = np.flatnonzero(features)
        for subset in subsets_up_to(len(places), rounds_within(len(places), share)) if share >= 2 else []:
            hybrid = row.copy()
            for place in places[subset]:
                groups.swap(hybrid[None], donor[None], np.array([place]))
            expected.append(hybrid)
    found = hybrids_ahead(current, donors, left, budget=budget, groups=groups)
    assert found.shape == (len(expected), d)
    assert np.array_equal(found, np.array(expected).reshape(-1, d), equal_nan=True)
