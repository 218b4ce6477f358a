"""The hybrids that a greedy walk may want in its next rounds, so that they can be scored in one call.

A call of most models costs nearly the same for 1 row and for 300. Which hybrids the walk will want is not known before
the scores are, but all that it could want are parts of the lattice between row and donor, and that is often small.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from nicecf.search.groups import Groups
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

_NO_GROUPS = Groups()


def hybrids_ahead(current: Floats, donors: Floats, left: Bools, *, budget: int, groups: Groups = _NO_GROUPS) -> Floats:
    """Hybrids between paired rows, all with one swap before any with two, at most ``budget`` in all.

    ``left`` marks the features in which they still differ (of a group, the first). The donor itself is left out: it is
    known. Each pair gets an equal share, and only whole rounds: half a round saves no call.
    """
    parts = [np.empty((0, current.shape[1]))]
    share = budget // max(1, len(current))
    if share < 2:  # the first round of any walk that has one needs two hybrids
        return parts[0]
    for row, donor, features in zip(current, donors, left, strict=True):
        places = np.flatnonzero(features)
        parts.append(_hybrids(row, donor, places, rounds_within(len(places), share), groups))
    return np.concatenate(parts)


def _hybrids(row: Floats, donor: Floats, places: Ints, rounds: int, groups: Groups) -> Floats:
    swapped = np.zeros((len(subsets_up_to(len(places), rounds)), len(row)), dtype=bool)
    swapped[:, places] = subsets_up_to(len(places), rounds)
    return np.where(groups.closed(swapped, differs(row, donor)[None]), donor, row)


def rounds_within(n: int, share: int) -> int:
    """How many rounds of a walk over ``n`` differences fit into a share of rows; the last one is the donor's.

    >>> rounds_within(4, 10), rounds_within(4, 9), rounds_within(4, 3)
    (2, 1, 0)
    """
    rows = 0
    for rounds in range(1, n):
        rows += comb(n, rounds)
        if rows > share:
            return rounds - 1
    return max(0, n - 1)


def subsets_up_to(n: int, rounds: int) -> Bools:
    """All subsets of ``n`` things with 1 to ``rounds`` members, one per line, smaller ones first."""
    # The single ones are quickly made, and of wide tables too many to keep.
    return np.eye(n, dtype=bool) if rounds == 1 else _subsets_up_to(n, rounds)


@lru_cache(maxsize=256)
def _subsets_up_to(n: int, rounds: int) -> Bools:
    chosen = [subset for size in range(1, rounds + 1) for subset in combinations(range(n), size)]
    table = np.zeros((len(chosen), n), dtype=bool)
    for line, subset in enumerate(chosen):
        table[line, list(subset)] = True
    table.setflags(write=False)
    return table
