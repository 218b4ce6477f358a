"""The donors with the lowest errors of all, near or far: where plausibility is what counts, hybrids of them go far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nicecf.search.donors import DonorSearch
from nicecf.support.types import Bools, Floats, Ints

# Donors that are looked at for one row besides the nearest ones: so many, or of narrow tables as many values.
FEWEST, CELLS = 400, 2**12
# Donors of each class whose errors are measured in a call, where `fit` has not measured all of them.
_MEASURED = 4096


@dataclass(frozen=True, eq=False)
class PlausibleDonors:
    """For each class the places of its donors with the lowest errors, lowest first, and these errors.

    ``most``: how many of them are looked at for one row.
    """

    most: int
    places: tuple[Ints, ...]
    errors: tuple[Floats, ...]

    @classmethod
    def of(
        cls, donors: DonorSearch, wanted: Bools, error: Callable[[Floats], Floats], known: Floats | None
    ) -> PlausibleDonors:
        """Those of the classes that some row wants; ``known``: the errors of all donors, if ``fit`` measured them."""
        n_classes, most = wanted.shape[1], max(FEWEST, CELLS // donors.index.values.shape[1])
        places, errors = [np.empty(0, dtype=np.intp)] * n_classes, [np.empty(0)] * n_classes
        for c in np.flatnonzero(wanted.any(axis=0)):
            own = donors.places(np.arange(len(donors.index.leaves)) == c)
            if known is None and len(own) > _MEASURED:
                # From all over: in the index, similar donors are next to each other.
                own = own[np.linspace(0, len(own) - 1, _MEASURED).astype(np.intp)]
            if not len(own):
                continue
            measured = error(donors.index.values[own]) if known is None else known[own]
            order = np.lexsort((donors.index.positions[own], measured))[:most]
            places[c], errors[c] = own[order], measured[order]
        return cls(most, tuple(places), tuple(errors))

    def towards(self, wanted: Bools) -> Ints:
        """The places of the donors of some classes with the lowest errors, lowest first."""
        classes = np.flatnonzero(wanted)
        places = np.concatenate([np.empty(0, dtype=np.intp), *(self.places[c] for c in classes)])
        errors = np.concatenate([np.empty(0), *(self.errors[c] for c in classes)])
        return places[np.argsort(errors, kind="stable")][: self.most]
