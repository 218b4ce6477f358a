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
    share = budget // max(1, len(current))
    if share < 2:  # the first round of any walk that has one needs two hybrids
        return np.empty((0, current.shape[1]))
    pair, swapped = _swapped(left, share)
    is_new = groups.closed(swapped, differs(current, donors)[pair])
    return np.where(is_new, donors[pair], current[pair])


def _swapped(left: Bools, share: int) -> tuple[Ints, Bools]:
    """Which features each hybrid swaps, and of which pair it is; those of one pair are next to each other."""
    n_left = left.sum(axis=1)
    subsets = {n: subsets_up_to(n, rounds_within(n, share)) for n in np.unique(n_left).tolist()}
    n_hybrids = np.array([len(subsets[n]) for n in n_left.tolist()], dtype=np.intp)
    first = np.cumsum(n_hybrids) - n_hybrids
    swapped = np.zeros((n_hybrids.sum(), left.shape[1]), dtype=bool)
    for n, of_places in subsets.items():  # pairs with as many differences at once: there may be thousands
        pairs = np.flatnonzero(n_left == n)
        lines = first[pairs, None] + np.arange(len(of_places))
        places = np.nonzero(left[pairs])[1].reshape(len(pairs), n)
        swapped[lines[:, :, None], places[:, None, :]] = of_places
    return np.repeat(np.arange(len(left)), n_hybrids), swapped


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
