"""Which donor each row walks to: the nearest one that counts, as the row may take it.

A donor is known by what the model said of it at ``fit``. With rules, a row sees a donor through them: what it may not
take is its own. Such a view is a new row, and the model is asked about it. It is asked about the donor that a row takes
as well: a model that has changed since ``fit`` is found out, whatever else it says.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from nicecf._typing import Bools, Floats, Ints
from nicecf.classifier import CELLS_PER_CALL
from nicecf.decision import Jury
from nicecf.neighbors import DonorIndex
from nicecf.rules import Rules
from nicecf.schema import differs, with_own_cells
from nicecf.scorer import OutOfTime, Scorer
from nicecf.search.groups import Groups
from nicecf.search.lookahead import hybrids_ahead

# Donors that are tried together for all rows, one after the other; then all others, row by row, in growing parts.
_TRIED_TOGETHER = (1, 32)
_FIRST_PART = 64
_FEW = 16


@dataclass(frozen=True, eq=False)
class Seekers:
    """Rows in search of a counterfactual: what the models say of them, the classes wanted, the rules they are under."""

    rows: Floats
    outputs: Floats
    wanted: Bools
    rules: Rules | None

    def take(self, lines: Ints | Bools) -> Seekers:
        """Some of them."""
        rules = None if self.rules is None else self.rules.take(np.arange(len(self.rows))[lines])
        return Seekers(self.rows[lines], self.outputs[lines], self.wanted[lines], rules)

    @property
    def groups(self) -> Groups:
        """Which features move together."""
        return Groups() if self.rules is None else Groups(self.rules.groups)

    @property
    def most_changes(self) -> int:
        """How many features may change."""
        most = None if self.rules is None else self.rules.max_changes
        return self.rows.shape[1] if most is None else most

    def keep_to_limit(self, lines: Ints, values: Floats) -> Bools:
        """Whether values for some of the rows change no more features than may change."""
        return np.asarray(differs(self.rows[lines], values).sum(axis=1) <= self.most_changes)


@dataclass(frozen=True, eq=False)
class Donors:
    """One donor for each of some rows: its place in the index (-1: none), its values and outputs as the row sees it.

    When time is up before all donors were tried, there is none.
    """

    place: Ints
    values: Floats
    outputs: Floats

    def take(self, lines: Ints | Bools) -> Donors:
        """Those of some rows."""
        return Donors(self.place[lines], self.values[lines], self.outputs[lines])


@dataclass(frozen=True, eq=False)
class DonorSearch:
    """The donors of a fitted explainer, with what all models said of them at ``fit``.

    The index has a group for each class, of the training rows that are accepted in it; there may be as many groups
    again for the rows that the model puts into a class, but that are not accepted there (see `Jury.accepts`).
    """

    index: DonorIndex
    outputs: Floats
    jury: Jury

    def in_target(self, wanted: Bools) -> Bools:
        """The groups whose rows are accepted in a wanted class as they are."""
        more = len(self.index.leaves) - wanted.shape[1]
        return np.concatenate([wanted, np.zeros((len(wanted), more), dtype=bool)], axis=1)

    def nearest(
        self,
        seekers: Seekers,
        score: Scorer,
        *,
        is_limited: bool = False,
        most: int | None = None,
        first: Ints | None = None,
        is_refused: Callable[[Floats], Bools] | None = None,
    ) -> Donors:
        """The nearest donor that is accepted as each row may take it; in the end, all training rows are tried.

        Those in a wanted class come first, then all others: put through the rules, they may be accepted too.
        ``is_limited``: only donors that keep to the largest number of changes. ``most``: try no more than so many.
        ``first``: the places of donors to try before all others, -1 for none. ``is_refused``: rows that may not be
        taken, though they are accepted.
        """
        search = _Search(self, seekers, score, is_limited, is_refused)
        with suppress(OutOfTime):
            search.run(most, first)
        return Donors(search.place, search.values, search.reached)

    def check_unchanged(self, places: Ints, outputs: Floats) -> None:
        """Raise ModelError if a model says something else of some donors, by their places, than it did at ``fit``."""
        self.jury.check_unchanged(self.outputs[places], outputs, self.index.positions[places])

    def places(self, groups: Bools) -> Ints:
        """The places of all donors of some groups."""
        bounds = [
            (leaves.starts[0], leaves.starts[-1])
            for leaves, is_wanted in zip(self.index.leaves, groups, strict=True)
            if is_wanted
        ]
        return np.concatenate([np.empty(0, dtype=np.intp), *(np.arange(first, last) for first, last in bounds)])


class _Search:
    """The search of some rows for their nearest accepted donors."""

    def __init__(
        self,
        donors: DonorSearch,
        seekers: Seekers,
        score: Scorer,
        is_limited: bool,
        is_refused: Callable[[Floats], Bools] | None,
    ) -> None:
        self._donors = donors
        self._rows = rows = seekers.rows
        self._wanted = seekers.wanted
        self._rules = seekers.rules
        self._score = score
        self._is_refused = is_refused
        self._most_changes = seekers.most_changes if is_limited else rows.shape[1]
        self.place = np.full(len(rows), -1, dtype=np.intp)
        self.values = rows.copy()
        self.reached = np.full((len(rows), donors.jury.width), np.nan)

    def run(self, most: int | None, first: Ints | None) -> None:
        index, rules = self._donors.index, self._rules
        if first is not None:
            self._offer(np.flatnonzero(first >= 0), first[first >= 0])
        in_target = self._donors.in_target(self._wanted)
        for k in _TRIED_TOGETHER:
            left = np.flatnonzero(self.place < 0)
            if not len(left):
                return
            rules_left = None if rules is None else rules.take(left)
            places, _ = index.nearest_many(
                self._rows[left], in_target[left], k=min(k, max(1, len(index.values))), rules=rules_left
            )
            lines = np.repeat(left, places.shape[1])
            self._offer(lines[places.ravel() >= 0], places.ravel()[places.ravel() >= 0])
            if rules is None:
                break  # the nearest donor is accepted as it is, unless there is none: then all are tried
        left = np.flatnonzero(self.place < 0)
        block = max(1, CELLS_PER_CALL // max(1, len(index.values)))
        for at in range(0, len(left), block):
            some = left[at : at + block]
            self._try_all([self._in_order(line, in_target[line], most) for line in some.tolist()], some)

    def _in_order(self, line: int, in_target: Bools, most: int | None) -> Ints:
        """All training rows, nearest first: those in the target, then all others, which may be accepted as well."""
        index, jury = self._donors.index, self._donors.jury
        rules = None if self._rules is None else self._rules.take(np.array([line]))
        has_several_views = (rules is not None and rules.can_block) or len(index.leaves) > len(jury.classes)
        if self._score.is_out_of_time():
            raise OutOfTime
        orders: list[Ints] = []
        for groups in (in_target, ~in_target) if has_several_views else (in_target,):
            places = self._donors.places(groups)
            if rules is None:
                places = places[jury.accepts(self._donors.outputs[places], self._wanted[line])]
            distances = index.distances_to(self._rows[line], places, rules)
            orders.append(places[np.lexsort((index.positions[places], distances))])
        # Those in the target all come first: of the others none is tried before them.
        return np.concatenate(orders)[:most]

    def _try_all(self, orders: list[Ints], lines: Ints) -> None:
        """Try the donors of some rows in their order, the rows side by side, in growing parts."""
        at, size = 0, _FIRST_PART
        # Ends: every turn takes off a part of the donors of all rows.
        while True:
            parts = [
                (line, order[at : at + size])
                for line, order in zip(lines.tolist(), orders, strict=True)
                if self.place[line] < 0 and at < len(order)
            ]
            if not parts:
                return
            self._offer(
                np.repeat([line for line, _ in parts], [len(some) for _, some in parts]),
                np.concatenate([some for _, some in parts]),
            )
            most_rows = max(1, CELLS_PER_CALL // self._rows.shape[1])
            at, size = at + size, max(1, min(4 * size, most_rows // len(parts)))

    def _offer(self, lines: Ints, places: Ints) -> None:
        """Take, for each row, the first of some donors that is accepted; those of one row are next to each other."""
        donors, rules, rows = self._donors, self._rules, self._rows[lines]
        as_they_are = donors.index.values[places]
        values, is_new = with_own_cells(rows, as_they_are if rules is None else rules.project(lines, as_they_are))
        outputs = donors.outputs[places]
        changes = differs(rows, values).sum(axis=1)
        is_open = (changes > 0) & (changes <= self._most_changes)
        if self._is_refused is not None:
            is_open &= ~self._is_refused(values)
        if rules is not None:
            is_new |= differs(values, as_they_are).any(axis=1)
        # Without rules every row has a donor, also when time is short.
        score = self._score.in_any_case if rules is None else self._score
        is_row_itself = (changes == 0) & ~is_new
        if is_row_itself.any():  # a training row that is to be explained: what the model says of it is known by now
            donors.check_unchanged(places[is_row_itself], score(values[is_row_itself]))
        is_new &= is_open
        if is_new.any():
            outputs[is_new] = score(values[is_new])
        is_accepted = is_open & donors.jury.accepts(outputs, self._wanted[lines])
        is_asked = is_new
        # Ends: every turn asks about a donor that was not asked about before.
        while True:
            at = np.flatnonzero(is_accepted)
            line, first = np.unique(lines[at], return_index=True)
            chosen = at[first]
            unknown = chosen[~is_asked[chosen]]
            if not len(unknown):
                break
            outputs[unknown] = score(values[unknown])
            donors.check_unchanged(places[unknown], outputs[unknown])
            is_asked[unknown] = True
            # At a cut-off, the last digit can be another decision: then the next donor is taken.
            is_accepted[unknown] = donors.jury.accepts(outputs[unknown], self._wanted[lines[unknown]])
        self.place[line] = places[chosen]
        self.values[line] = values[chosen]
        self.reached[line] = outputs[chosen]


class DonorChoice:
    """The donors of the rows of one ``explain`` call.

    ``budget`` is how many rows may ride along in the first model call. If it covers the rows, all donors that a row can
    turn out to have are scored together with the row itself and, if the search ``has_hybrids``, hybrids towards them.
    """

    def __init__(self, donors: DonorSearch, *, budget: int, has_hybrids: bool) -> None:
        self._donors = donors
        self._budget = budget
        self._has_hybrids = has_hybrids
        self._guess: tuple[Ints, Ints] | None = None

    def look_ahead(self, rows: Floats, targets: Bools, rules: Rules | None) -> Floats:
        """Donors and hybrids that may be wanted, before the classes of the rows are known.

        ``targets``: the classes named for each row, or none.

        The donor is the nearest one in a named target. Without one it is the nearest of all, or, should the row be of
        that donor's class, the nearest of another class: there is no third possibility, but for rules that block it.
        """
        # Of many rows, a second donor costs more than a call: that is worth it for the hybrids alone.
        if 2 * len(rows) > self._budget or (len(rows) > _FEW and not self._has_hybrids):
            return rows[:0]
        index = self._donors.index
        is_named = np.asarray(targets.any(axis=1))
        any_class = targets | ~is_named[:, None]
        first = index.nearest_many(rows, self._donors.in_target(any_class), k=1, rules=rules)[0][:, 0]
        group = np.where(is_named | (first < 0), -1, index.group(first))
        other = (np.arange(targets.shape[1]) != group[:, None]) & (group >= 0)[:, None]
        second = index.nearest_many(rows, self._donors.in_target(other), k=1, rules=rules)[0][:, 0]
        self._guess = first, second
        row, donor = np.tile(np.arange(len(rows)), 2), np.concatenate(self._guess)
        row, donor = row[donor >= 0], donor[donor >= 0]
        starts = rows[row]
        groups = Groups(() if rules is None else rules.groups)
        ends, _ = with_own_cells(
            starts, index.values[donor] if rules is None else rules.project(row, index.values[donor])
        )
        if not self._has_hybrids:
            return ends
        left = groups.first(differs(starts, ends))
        hybrids = hybrids_ahead(starts, ends, left, budget=self._budget, groups=groups)
        return np.concatenate([ends, hybrids])

    def settle(self, seekers: Seekers, is_asked: Bools, score: Scorer) -> Donors:
        """The donor of each row that is asked for."""
        n_rows = len(seekers.rows)
        place = np.full(n_rows, -1, dtype=np.intp)
        values, outputs = seekers.rows.copy(), np.full((n_rows, self._donors.jury.width), np.nan)
        asking, likely = np.flatnonzero(is_asked), None
        if seekers.rules is None and self._guess is not None:
            first, second = self._guess
            is_first = seekers.wanted[np.arange(n_rows), self._donors.index.group(first)]
            likely = np.where(is_first, first, second)[asking]
        if len(asking):
            found = self._donors.nearest(seekers.take(asking), score, first=likely)
            place[asking], values[asking], outputs[asking] = found.place, found.values, found.outputs
        return Donors(place, values, outputs)
