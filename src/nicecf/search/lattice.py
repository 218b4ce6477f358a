"""The hybrids between one row and its donors: which features each has swapped, and how good it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nicecf.search.distance import Heom
from nicecf.search.groups import Groups
from nicecf.search.lookahead import subsets_up_to
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

_NO_GROUPS = Groups()

Keys = npt.NDArray[np.uint64]

# Exchanges of swaps that are looked at together: in wide tables there are far more, and most are of no use.
_MOST_EXCHANGES = 2048


@dataclass(frozen=True, eq=False)
class Hybrids:
    """Some hybrids of one row, one line each.

    ``donor`` is a position among the row's donors, ``swapped`` marks the features that have the donor's value. Equal
    hybrids have equal ``keys``, whichever donors they come from. ``errors`` and ``outputs`` are NaN until they
    are measured.
    """

    donor: Ints
    swapped: Bools
    changes: Ints
    distances: Floats
    keys: Keys
    errors: Floats
    outputs: Floats

    def __len__(self) -> int:
        """The number of hybrids."""
        return len(self.donor)

    def take(self, places: Ints | Bools | slice) -> Hybrids:
        """Some of them, in the order asked for."""
        return Hybrids(*(getattr(self, name)[places] for name in _COLUMNS))

    def measured(self, errors: Floats) -> Hybrids:
        """With their errors."""
        return replace(self, errors=errors)

    def scored(self, outputs: Floats) -> Hybrids:
        """With the model's answers."""
        return replace(self, outputs=outputs)

    def distinct(self) -> Hybrids:
        """Each distinct hybrid once: the first of equal ones."""
        return self.take(np.sort(np.unique(self.keys, return_index=True)[1]))


_COLUMNS = tuple(field.name for field in fields(Hybrids))


def joined(parts: Iterable[Hybrids]) -> Hybrids:
    """Several groups of hybrids of one row as one."""
    parts = list(parts)
    return Hybrids(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))


class Lattices:
    """All hybrids between one row and its donors.

    The first ``n_near`` donors are the nearest ones, nearest first; others may follow, of which single values are used.
    ``sizes`` are the numbers of steps from the row to the nearest ones: one for each feature that differs, or group.
    """

    def __init__(
        self,
        row: Floats,
        donors: Floats,
        distance: Heom,
        *,
        n_near: int,
        width: int,
        groups: Groups = _NO_GROUPS,
    ) -> None:
        self.row = row
        self.donors = donors
        self.n_near = n_near
        self.differs = differs(donors, row[None])
        self._groups = groups
        self._steps = groups.first(self.differs)
        self.sizes = self._steps[:n_near].sum(axis=1)
        self._parts = distance.features(np.broadcast_to(row, donors.shape), donors)
        # By feature: hybrids are made feature by feature.
        self._parts_of, self._keys_of = np.ascontiguousarray(self._parts.T), np.ascontiguousarray(_keys(donors).T)
        self._width = width

    def hybrids(self, donor: Ints, swapped: Bools) -> Hybrids:
        """Hybrids with their number of changes and their distance from the row."""
        n = len(donor)
        swapped = self._groups.closed(swapped, self.differs[donor])
        distances, keys = np.zeros(n), np.zeros(n, dtype=np.uint64)
        # Feature by feature, as the distance itself is summed: equal to it to the last bit.
        is_swapped = np.ascontiguousarray(swapped.T)
        for j in np.flatnonzero(is_swapped.any(axis=1)):
            distances += np.where(is_swapped[j], self._parts_of[j].take(donor), 0.0)
            keys += np.where(is_swapped[j], self._keys_of[j].take(donor), np.uint64(0))
        unknown = np.full((n, self._width), np.nan)
        return Hybrids(donor, swapped, swapped.sum(axis=1), distances, keys, np.full(n, np.nan), unknown)

    def values(self, hybrids: Hybrids) -> Floats:
        """Hybrids as float rows."""
        return np.where(hybrids.swapped, self.donors[hybrids.donor], self.row)

    def towards(self, donor: int, values: Floats) -> Hybrids:
        """Float rows that are hybrids towards one donor."""
        return self.hybrids(np.full(len(values), donor), differs(values, self.row[None]))

    def ends(self, donors: Ints | None = None) -> Hybrids:
        """Some donors themselves; the nearest ones by default."""
        donors = np.arange(self.n_near) if donors is None else donors
        return self.hybrids(donors, self.differs[donors])

    def single(self, donors: Ints, features: Ints) -> Hybrids:
        """One change each: the value that a donor has of a feature, where it is another one."""
        is_other = self.differs[donors, features]
        swapped = np.zeros((np.count_nonzero(is_other), len(self.row)), dtype=bool)
        swapped[np.arange(len(swapped)), features[is_other]] = True
        return self.hybrids(donors[is_other], swapped)

    def up_to(self, donors: Ints, changes: Ints) -> Hybrids:
        """For each of some donors all hybrids with at most so many changes."""
        parts = [np.empty((0, len(self.row)), dtype=bool)]
        for donor, most in zip(donors, changes, strict=True):
            subsets = subsets_up_to(int(self.sizes[donor]), int(most))
            parts.append(np.zeros((len(subsets), len(self.row)), dtype=bool))
            parts[-1][:, self._steps[donor]] = subsets
        return self.hybrids(np.repeat(donors, [len(part) for part in parts[1:]]), np.concatenate(parts))

    def further(self, hybrids: Hybrids) -> Hybrids:
        """All hybrids that are one more swap away."""
        return self._one_away(hybrids, self._steps[hybrids.donor] & ~hybrids.swapped)

    def around(self, hybrids: Hybrids) -> Hybrids:
        """All hybrids that are close: one swap more or less, a shorter swap for another, the same swaps elsewhere."""
        one_away = self._one_away(hybrids, self._steps[hybrids.donor])
        return joined([one_away, self._exchanged(hybrids), self._elsewhere(hybrids, np.arange(self.n_near))])

    def beside(self, hybrids: Hybrids, donors: Ints) -> Hybrids:
        """All hybrids that are one swap more or less away, or have the same swaps towards some other donors."""
        return joined([self._one_away(hybrids, self._steps[hybrids.donor]), self._elsewhere(hybrids, donors)])

    def n_around(self, hybrids: Hybrids) -> float:
        """About how many hybrids are close to one of them, on average."""
        n_swapped, n_left = hybrids.changes, self.differs[hybrids.donor].sum(axis=1) - hybrids.changes
        return float(np.mean(n_swapped + n_left + n_swapped * n_left / 2)) + self.n_near

    def _one_away(self, hybrids: Hybrids, where: Bools) -> Hybrids:
        at, feature = np.nonzero(where)
        donor = hybrids.donor[at]
        return self.hybrids(donor, hybrids.swapped[at] ^ self._groups.moving(feature, self.differs[donor]))

    def _exchanged(self, hybrids: Hybrids) -> Hybrids:
        """One swap taken back, another made that is shorter."""
        at, back = np.nonzero(hybrids.swapped & self._steps[hybrids.donor])
        donor, swapped = hybrids.donor[at], hybrids.swapped[at]
        is_shorter = self._parts[donor] < self._parts[donor, back][:, None]
        line, forth = np.nonzero(self._steps[donor] & ~swapped & is_shorter)
        if len(line) > _MOST_EXCHANGES:
            saved = self._parts[donor[line], back[line]] - self._parts[donor[line], forth]
            most = np.sort(np.argsort(-saved, kind="stable")[:_MOST_EXCHANGES])
            line, forth = line[most], forth[most]
        unlike = self.differs[donor[line]]
        swapped = swapped[line] & ~self._groups.moving(back[line], unlike)
        return self.hybrids(donor[line], swapped | self._groups.moving(forth, unlike))

    def _elsewhere(self, hybrids: Hybrids, donors: Ints) -> Hybrids:
        """The same features swapped, but for the values of other donors."""
        donor = np.tile(donors, len(hybrids))
        return self.hybrids(donor, np.repeat(hybrids.swapped, len(donors), axis=0) & self.differs[donor])


def _keys(donors: Floats) -> Keys:
    """A number of 64 bits for each cell; the key of a hybrid is their sum over its swapped features.

    Cells of one column have equal keys if their bits are equal. (That two of the hybrids of a row get one key, so
    that one of them is overlooked, is less likely than one in 10**12.)
    """
    bits: Any = np.ascontiguousarray(donors).view(np.uint64)
    columns = np.arange(1, donors.shape[1] + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):  # the last steps of splitmix64, which count on overflow
        x = bits + columns * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys: Keys = x ^ (x >> np.uint64(31))
    return keys
