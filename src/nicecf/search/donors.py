"""Which donor each row walks to: the nearest one that counts, as the row may take it.

A donor is known by what the model said of it at ``fit``. With rules, a row sees a donor through them: what it may not
take is its own. Such a view is a new row, and the model is asked about it. It is asked about the donor that a row takes
as well: a model that has changed since ``fit`` is found out, whatever else it says.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.models.decision import Panel
from nicecf.models.scorer import OutOfTime
from nicecf.rules.row_rules import Rules
from nicecf.search.distance import Heom
from nicecf.search.groups import Groups
from nicecf.search.lookahead import hybrids_ahead
from nicecf.search.neighbors import DonorIndex
from nicecf.search.question import Question
from nicecf.search.single_changes import DonorValues
from nicecf.search.training_values import Cells, TrainingValues
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs, with_own_cells

# Donors that are tried together for all rows, one after the other; then all others, row by row, in growing parts.
_TRIED_TOGETHER = (1, 32)
_FIRST_PART = 64
_FEW, _VERY_FEW = 16, 4


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
class Nearness:
    """How near donors are to their rows: those in the target, of ``rank`` 0, before all others, and then by distance.

    A row without a donor has the rank 2.
    """

    rank: Ints
    distance: Floats

    def take(self, lines: Ints | Bools) -> Nearness:
        """That of some rows."""
        return Nearness(self.rank[lines], self.distance[lines])

    def reach(self, line: int, rank: int) -> float:
        """How far a donor of that rank may be from a row to be as near to it as its own is; negative: none is."""
        if rank == self.rank[line]:
            return float(self.distance[line])
        return np.inf if rank < self.rank[line] else -1.0


@dataclass(frozen=True, eq=False)
class DonorSearch:
    """The donors of a fitted explainer, with what all models said of them at ``fit``.

    The index has a group for each class, of the training rows that are accepted in it; there may be as many groups
    again for the rows that the model puts into a class, but that are not accepted there (see `Panel.accepts`).
    ``n_decided``: how many training rows the model puts into each class, donors or not. ``cells``: of all
    training values, which the model cannot tell apart, if that is known.
    """

    index: DonorIndex
    outputs: Floats
    n_decided: Ints
    cells: Ints | None = None

    @cached_property
    def distinct(self) -> DonorValues:
        """The values of all donors; made once, when first needed."""
        return DonorValues.of(self.index)

    @cached_property
    def values(self) -> TrainingValues:
        """The values that training rows hold; made once, when first needed."""
        return TrainingValues.of(self.index, self.cells)

    def with_cells(self, cells: Cells) -> DonorSearch:
        """The same donors, and which values the model cannot tell apart."""
        values = TrainingValues.of(self.index, cells)
        known = replace(self, cells=values.cells)
        vars(known)["values"] = values  # they need not be read again
        return known

    def weighed(self, distance: Heom) -> DonorSearch:
        """The same donors, for a distance with other weights."""
        known = replace(self, index=self.index.weighed(distance))
        # Which values there are does not depend on weights.
        vars(known).update({name: vars(self)[name] for name in ("distinct", "values") if name in vars(self)})
        return known

    def regrouped(self, groups: Ints, n_groups: int, n_decided: Ints) -> DonorSearch:
        """Return the same training rows with other groups of the donors, by their places; -1 is no donor any more."""
        index, places = self.index.regrouped(groups, n_groups)
        chosen = DonorSearch(index, self.outputs[places], n_decided, self.cells)
        if "values" in vars(self):  # those of all training rows, whatever their groups: they need not be read again
            vars(chosen)["values"] = self.values
        return chosen

    def in_target(self, wanted: Bools) -> Bools:
        """The groups whose rows are accepted in a wanted class as they are."""
        more = len(self.index.leaves) - wanted.shape[1]
        return np.concatenate([wanted, np.zeros((len(wanted), more), dtype=bool)], axis=1)

    def nearest(
        self,
        question: Question,
        *,
        is_limited: bool = False,
        most: int | None = None,
        is_refused: Callable[[Floats], Bools] | None = None,
        within: Nearness | None = None,
    ) -> Donors:
        """The nearest donor that is accepted as each row may take it; in the end, all training rows are tried.

        Those in a wanted class come first, then all others: put through the rules, they may be accepted too.
        ``is_limited``: only donors that keep to the largest number of changes. ``most``: try no more than so many.
        ``is_refused``: rows that may not be taken, though they are accepted. ``within``: how near each row has a donor
        already, elsewhere: of those that are farther, not all are tried.
        """
        search = _Search(self, question, is_limited, is_refused, within)
        with suppress(OutOfTime):
            search.run(most)
        return Donors(search.place, search.values, search.reached)

    def nearness(self, question: Question, donors: Donors) -> Nearness:
        """How near the donors of some rows are, as these may take them."""
        has_donor = donors.place >= 0
        rank, distance = np.full(len(question), 2), np.full(len(question), np.inf)
        in_target = self.in_target(question.wanted)
        rank[has_donor] = ~in_target[has_donor, self.index.group(donors.place[has_donor])]
        for line in np.flatnonzero(has_donor).tolist():
            rules = None if question.rules is None else question.rules.take(np.array([line]))
            distance[line] = self.index.distances_to(question.rows[line], donors.place[[line]], rules)[0]
        return Nearness(rank, distance)

    def check_unchanged(self, panel: Panel, places: Ints, outputs: Floats) -> None:
        """Raise ModelError if a model says something else of some donors, by their places, than it did at ``fit``."""
        panel.check_unchanged(self.outputs[places], outputs, self.index.positions[places])

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
        question: Question,
        is_limited: bool,
        is_refused: Callable[[Floats], Bools] | None,
        within: Nearness | None,
    ) -> None:
        self._within = within
        self._donors = donors
        self._question = question
        self._panel = question.panel
        self._rows = rows = question.rows
        self._wanted = question.wanted
        self._rules = question.rules
        self._is_refused = is_refused
        self._most_changes = question.most_changes if is_limited else rows.shape[1]
        self.place = np.full(len(rows), -1, dtype=np.intp)
        self.values = rows.copy()
        self.reached = np.full((len(rows), donors.outputs.shape[1]), np.nan)

    def run(self, most: int | None) -> None:
        index, rules, likely = self._donors.index, self._rules, self._question.likely
        if likely is not None and rules is None:
            self._offer(np.flatnonzero(likely >= 0), likely[likely >= 0])
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
        index, panel = self._donors.index, self._panel
        rules = None if self._rules is None else self._rules.take(np.array([line]))
        has_several_views = (rules is not None and rules.can_block) or len(index.leaves) > len(panel.classes)
        if self._question.score.is_out_of_time():
            raise OutOfTime
        orders: list[Ints] = []
        for rank, groups in enumerate((in_target, ~in_target) if has_several_views else (in_target,)):
            places = self._donors.places(groups)
            if rules is None:
                places = places[panel.accepts(self._donors.outputs[places], self._wanted[line])]
            distances = index.distances_to(self._rows[line], places, rules)
            if self._within is not None:
                is_near = distances <= self._within.reach(line, rank)
                places, distances = places[is_near], distances[is_near]
            # Without a margin, or without a model that must agree, others are accepted as they are as well.
            is_other = ~panel.accepts(self._donors.outputs[places], self._wanted[line])
            orders.append(places[np.lexsort((index.positions[places], distances, is_other))])
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
        """Take, for each row, the first of some donors that is accepted; those of one row are next to each other.

        OutOfTime is raised in the end if there were rows that there was no time for; they take none.
        """
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
        score = self._question.score.until(None) if rules is None else self._question.score
        is_row_itself = (changes == 0) & ~is_new
        if is_row_itself.any():  # a training row that is to be explained: what the model says of it is known by now
            donors.check_unchanged(self._panel, places[is_row_itself], score(values[is_row_itself]))
        is_new &= is_open
        is_left = np.zeros(len(rows), dtype=bool)  # for want of time
        if is_new.any():
            outputs[is_new], is_in_time = score.in_time(values[is_new])
            is_left = np.isin(lines, lines[is_new][~is_in_time])
        is_accepted = is_open & ~is_left
        is_accepted[is_accepted] = self._question.accepts(lines[is_accepted], values[is_accepted], outputs[is_accepted])
        is_asked = is_new
        # Ends: every turn asks about a donor that was not asked about before.
        while True:
            at = np.flatnonzero(is_accepted)
            line, first = np.unique(lines[at], return_index=True)
            chosen = at[first]
            unknown = chosen[~is_asked[chosen]]
            if not len(unknown):
                break
            asked, is_in_time = score.in_time(values[unknown])
            is_left |= np.isin(lines, lines[unknown[~is_in_time]])
            is_accepted &= ~is_left
            unknown, asked = unknown[is_in_time], asked[is_in_time]
            donors.check_unchanged(self._panel, places[unknown], asked)
            outputs[unknown], is_asked[unknown] = asked, True
            # At a cut-off, the last digit can be another decision: then the next donor is taken.
            is_accepted[unknown] = self._question.accepts(lines[unknown], values[unknown], asked)
        self.place[line] = places[chosen]
        self.values[line] = values[chosen]
        self.reached[line] = outputs[chosen]
        if is_left.any():
            raise OutOfTime


@dataclass(frozen=True, eq=False)
class Ahead:
    """What may be wanted next of rows whose classes are not known yet, to be scored together with them.

    ``first`` and ``second``: the places of the donors that each row can turn out to have, -1 for none; None if nobody
    has looked. ``rows``: these donors as the rows may take them and, if the search has any, hybrids towards them.
    """

    rows: Floats
    first: Ints | None = None
    second: Ints | None = None

    def likely(self, index: DonorIndex, wanted: Bools) -> Ints | None:
        """The donor that each row probably has, by the classes wanted of it."""
        if self.first is None or self.second is None:
            return None
        is_first = wanted[np.arange(len(wanted)), index.group(self.first)]
        return np.where(is_first, self.first, self.second)


class FirstQuestions(Protocol):
    """What a search asks about first, before it knows what the model says of the rows."""

    def n_near(self, n_features: int) -> int:
        """How many of the nearest donors it looks at."""

    def ahead(self, rows: Floats, rules: Rules | None, near: Ints) -> Floats:
        """What it asks about if rows have these places of donors near, -1 for none."""


def look_ahead(
    donors: DonorSearch,
    rows: Floats,
    targets: Bools,
    rules: Rules | None,
    *,
    budget: int,
    has_hybrids: bool,
    first_questions: FirstQuestions | None = None,
) -> Ahead:
    """Donors and hybrids that may be wanted, before the classes of the rows are known.

    ``targets``: the classes named for each row, or none. ``budget``: how many rows may ride along in the first call of
    the model; if it does not cover the rows, there is nothing to look for.

    The donor is the nearest one in a named target. Without one it is the nearest of all, or, should the row be of
    that donor's class, the nearest of another class: there is no third possibility, but for rules that block it.
    """
    # Of many rows, a second donor costs more than a call: that is worth it for the hybrids alone.
    if 2 * len(rows) > budget or (len(rows) > _FEW and not has_hybrids):
        return Ahead(rows[:0])
    index, k = donors.index, 1 if first_questions is None else max(1, first_questions.n_near(rows.shape[1]))
    is_named = np.asarray(targets.any(axis=1))
    any_class = targets | ~is_named[:, None]
    nearest = index.nearest_many(rows, donors.in_target(any_class), k=k, rules=rules)[0]
    first = nearest[:, 0]
    group = np.where(is_named | (first < 0), -1, index.group(first))
    other = (np.arange(targets.shape[1]) != group[:, None]) & (group >= 0)[:, None]
    others = index.nearest_many(rows, donors.in_target(other), k=k, rules=rules)[0]
    second = others[:, 0]
    row, donor = np.tile(np.arange(len(rows)), 2), np.concatenate([first, second])
    row, donor = row[donor >= 0], donor[donor >= 0]
    starts = rows[row]
    ends, _ = with_own_cells(starts, index.values[donor] if rules is None else rules.project(row, index.values[donor]))
    if not has_hybrids:
        return Ahead(ends, first, second)
    groups = Groups.of(rules)
    hybrids = hybrids_ahead(starts, ends, groups.first(differs(starts, ends)), budget=budget, groups=groups)
    # There are several questions for each column: where they do not all go into the call, they save none.
    if first_questions is not None and len(rows) <= _VERY_FEW and rows.shape[1] < budget:
        # The nearest donor is mostly of the row's own class: the others are those that it will look at.
        more = first_questions.ahead(rows, rules, np.where(is_named[:, None], nearest, others))
        hybrids = np.concatenate([hybrids, more[: max(0, budget - len(hybrids))]])
    return Ahead(np.concatenate([ends, hybrids]), first, second)
