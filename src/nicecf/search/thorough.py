"""`search="thorough"`: what the searches of all rows start from, and what is chosen of all they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.search import objectives
from nicecf.search.answers import Answers, Points, by_row, joined, no_points, nothing_said
from nicecf.search.distance import Heom
from nicecf.search.donors import Donors, DonorSearch
from nicecf.search.front import Front, best_first, unlike
from nicecf.search.greedy import walk_greedily
from nicecf.search.lattice import Hybrids, Lattices
from nicecf.search.lattice import joined as joined_hybrids
from nicecf.search.lock_step import RowSteps, in_lock_step
from nicecf.search.objectives import Reward
from nicecf.search.plausible_donors import PlausibleDonors
from nicecf.search.question import Question, tell_nobody
from nicecf.search.row_search import WHOLE_LATTICES, RowSearch, RowTask
from nicecf.search.step_back import step_back
from nicecf.search.walks import Walks
from nicecf.support.phrases import Statement
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs, with_own_cells

_NEIGHBORS = 100
# Rows whose donors are looked for together: few enough that the first of them are searched soon.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class Thorough:
    """The hybrids of many donors, and the best of them by the objective.

    ``neighbors``: how many donors; None is a number that suits most tables, and single changes towards all donors
    besides; that there are fewer donors is then nothing to tell. ``is_refused``: rows that may not be handed out,
    though the models accept them. ``has_errors``: whether hybrids are compared by their plausibility too.
    ``wants_front``: whether all that nothing beats is handed over, or the best alone. ``donor_errors``: how implausible
    all donors are, if that is known; where it counts and is not, it is measured for some of them.
    """

    donors: DonorSearch
    distance: Heom
    objective: str
    neighbors: int | None = None
    is_refused: Callable[[Floats], Bools] | None = None
    has_errors: bool = True
    wants_front: bool = True
    donor_errors: Floats | None = None

    def __call__(self, question: Question, donors: Donors) -> Answers:
        """Search for each row; ``donors`` are their nearest accepted donors, as far as there are any.

        For want of time, the answer of a row is the paper's, or the donor. A row has none if there is no donor, or if
        none was found under its rules: there, hybrids may help where no donor as a whole does.
        """
        seeking = np.flatnonzero((donors.place >= 0) | (question.rules is not None))
        error = question.error if self.has_errors and question.error is not None else _no_error
        found = self._search(replace(question.take(seeking), error=error), donors.take(seeking))
        return joined([(seeking, found if self.wants_front else replace(found, front=None))], len(question))

    def _search(self, question: Question, donors: Donors) -> Answers:
        known = self._known(question, donors)
        chosen = _Chosen(question)
        at_once = max(1, CELLS_PER_CALL // (WHOLE_LATTICES * question.rows.shape[1]))
        searches = self._searches(question, donors)
        ended = in_lock_step(searches, question.score, error=question.error, at_once=at_once)
        n_done = 0
        for one in ended:
            if one.result is not None:
                n_done += 1
                question.report(n_done)
                self._choose(question, one.label, one.result, chosen)
        chosen.add_known(known, n_wanted=question.n_wanted)
        points = by_row(chosen.best)
        ends = Donors(points.donor, points.values, points.outputs)
        some = replace(question.take(points.row), report=tell_nobody)
        walks = walk_greedily(some, ends, reward=objectives.sparsity, distance=self.distance, to_the_end=True)
        reasons = nothing_said(len(question))
        return Answers(points, walks, chosen.notes, reasons, by_row(chosen.fronts), by_row(chosen.beyond))

    @property
    def _own_reward(self) -> Reward:
        """What the greedy search would follow for the same objective; sparsity if that has no reward of its own."""
        return objectives.BY_NAME.get(self.objective, objectives.BY_NAME["sparsity"]).reward

    def _known(self, question: Question, donors: Donors) -> _Known:
        """The answers that rows have before they are searched for: the paper's, or the donor."""
        own = self._own_reward
        # Not for plausibility: the paper's walk may end at a row that is less plausible than the donor.
        reward = None if objectives.needs_plausibility(own) else own
        has_donor = np.flatnonzero(donors.place >= 0)
        ends = donors.take(has_donor)
        walks = self._walk(reward, question.take(has_donor), ends)
        is_kept = question.keep_to_limit(has_donor, walks.values)
        points = Points(has_donor, ends.place, walks.values, walks.outputs)
        return _Known(points.take(is_kept), walks.is_cut[is_kept] | (reward is None))

    def _choose(self, question: Question, label: _Label, search: RowSearch, chosen: _Chosen) -> None:
        """The best of what was found for a row; or, where it changes too many features, that there is something."""
        line, places = label
        # What changes too many features beats nothing that does not: the front of those is not missing any.
        least = int(search.alone.changes.min(initial=question.rows.shape[1]))
        most = max(question.most_changes, least)
        found = search.alone.take(search.alone.changes <= most)
        best = found.take(self._best_first(search, found, question.most_changes)[:1])
        points = partial(_points, line, places, search.lattices)
        if most > question.most_changes:
            chosen.add_beyond(line, points(best))
            return
        if question.n_wanted > 1 and len(best):
            # The best alone comes first, whatever else was found on the way to the others.
            others = search.found.take(search.found.changes <= most)
            found = joined_hybrids([found, others])
            in_order = self._best_first(search, others, question.most_changes)
            candidates = joined_hybrids([best, others.take(in_order)])
            best = candidates.take(unlike(candidates.swapped, question.n_wanted))
        chosen.add(
            line,
            points(best),
            front=points(found.take(Front(by_features=False).of(found))),
            notes=self._notes(search, question.wanted[line], n_found=len(best), n_wanted=question.n_wanted),
        )

    def _best_first(self, search: RowSearch, hybrids: Hybrids, most_changes: int) -> Ints:
        # Where NICE(spars) has no answer, or none that may be handed out, there is nothing to balance against.
        reference = search.start.take(slice(0, min(1, search.n_known)))
        is_kept_back = self.is_refused is not None and self.is_refused(search.lattices.values(reference)).any()
        has_reference = len(reference) and not is_kept_back and reference.changes[0] <= most_changes
        objective = self.objective if has_reference else self.objective.replace("balanced", "sparsity")
        return best_first(objective, hybrids, reference)

    def _searches(self, question: Question, donors: Donors) -> Iterator[tuple[_Label, RowSteps[RowSearch]]]:
        """The searches of all rows, each with the number of its row and the places of its donors.

        Prepared in blocks, when it is their turn: the donors of a million rows would not fit into memory.
        """
        k = min(max(self.neighbors or 0, _NEIGHBORS if self._is_wide(question) else 0), len(self.donors.index.values))
        block = max(1, min(_BLOCK, CELLS_PER_CALL // max(k, question.rows.shape[1])))
        plausible: PlausibleDonors | None = None
        for at in range(0, len(question), block):
            if question.score.is_out_of_time():
                return
            plausible = self._plausible(question) if plausible is None else plausible
            some = np.arange(at, min(at + block, len(question)))
            asked = replace(question.take(some), report=tell_nobody)
            prepared = self._prepared(asked, donors.take(some), k, plausible)
            for line in range(len(some)):
                if question.score.is_out_of_time():
                    return
                places, task = self._task(asked, prepared, line)
                yield (int(some[line]), places), RowSearch(task).run()

    def _is_wide(self, question: Question) -> bool:
        """Whether many donors are looked at, whatever ``neighbors`` says.

        Where the nearest donor may be of no use, the greedy search falls back on many donors: this looks at no fewer.
        """
        rules = question.rules
        is_ruled = rules is not None and (rules.can_block or question.most_changes < question.rows.shape[1])
        return self.neighbors is None or is_ruled or self.is_refused is not None

    @property
    def _climbs(self) -> bool:
        """Whether the answer may be far from the row: what is most plausible need not be near."""
        return objectives.needs_plausibility(self._own_reward)

    def _plausible(self, question: Question) -> PlausibleDonors:
        """The most plausible donors, if they are looked at besides the nearest ones; else none."""
        is_asked = self._climbs and self.neighbors is None and question.error is not None
        wanted = question.wanted & is_asked
        return PlausibleDonors.of(self.donors, wanted, question.error or _no_error, self.donor_errors)

    def _prepared(self, question: Question, donors: Donors, k: int, plausible: PlausibleDonors) -> _Prepared:
        in_target = self.donors.in_target(question.wanted)
        nearest, _ = self.donors.index.nearest_many(question.rows, in_target, k=k, rules=question.rules)
        walked = np.flatnonzero(donors.place >= 0)
        some, ends = question.take(walked), donors.take(walked)
        # NICE(spars), the reference of "balanced", comes first; NICE(none) is the nearest donor.
        rewards = dict.fromkeys((objectives.sparsity, objectives.proximity, objectives.plausibility, self._own_reward))
        walks = [self._walk(reward, some, ends) for reward in rewards]
        if self.is_refused is not None:
            walks = [self._stepped_back(each, some) for each in walks]
        scores = question.panel.scores(question.outputs, question.wanted)
        return _Prepared(donors, nearest, plausible, walked, tuple(walks), scores)

    def _task(self, question: Question, prepared: _Prepared, line: int) -> tuple[Ints, RowTask]:
        """The places of the donors of a row, and what its search starts from."""
        row, wanted, rules, width = question.rows[line], question.wanted[line], question.rules, question.panel.width
        near, own = prepared.nearest[line][prepared.nearest[line] >= 0], prepared.donors.place[[line]]
        near = np.concatenate([own[own >= 0], near[near != own]])
        plausible = prepared.plausible.towards(wanted)
        looked_at = np.concatenate([near, plausible[~np.isin(plausible, near)]])
        is_wide = self._is_wide(question)
        others, features = self.donors.distinct.towards(row, wanted) if is_wide else (near[:0], near[:0])
        places = np.concatenate([looked_at, others])
        values = as_they_are = self.donors.index.values[places]
        if rules is not None:
            values = rules.project(np.full(len(places), line), as_they_are)
        lattices = Lattices(row, values, self.distance, n_near=len(near), width=width, groups=question.groups)
        outputs = self.donors.outputs[looked_at]
        _, is_new = with_own_cells(np.broadcast_to(row, values.shape), values)
        is_known = ~(is_new | differs(values, as_they_are).any(axis=1))[: len(looked_at)]
        start, n_asked = [], 0
        if own[0] >= 0:
            at_walk = int(np.searchsorted(prepared.walked, line))
            paper = lattices.towards(0, np.array([each.values[at_walk] for each in prepared.walks]))
            start.append(paper.scored(np.array([each.outputs[at_walk] for each in prepared.walks])))
            outputs[0], is_known[0] = prepared.donors.outputs[line], True
            n_asked = len(paper) + 1
        start.append(lattices.ends(np.arange(len(looked_at))).scored(outputs).take(is_known))
        task = RowTask(
            lattices,
            joined_hybrids(start),
            n_asked,
            prepared.scores[line],
            wanted,
            singles=lattices.single(len(looked_at) + np.arange(len(others)), features),
            panel=question.panel,
            accepts=lambda values, outputs: question.accepts(np.full(len(values), line), values, outputs),
            check=partial(self._check, question, places),
            is_refused=self.is_refused,
            alternatives=question.n_wanted > 1,
            only_sparsest=self.objective == "sparsity" and not self.wants_front,
            cost=self._cost if self._climbs else None,
            n_donors=len(looked_at),
            most_changes=question.most_changes,
        )
        return places, task

    def _cost(self, hybrids: Hybrids) -> Floats:
        cost = objectives.BY_NAME[self.objective].cost
        return np.asarray(cost(hybrids.changes, hybrids.distances, hybrids.errors), dtype=np.float64)

    def _check(self, question: Question, places: Ints, hybrids: Hybrids, outputs: Floats) -> None:
        """Raise ModelError if the model says something else of whole donors of a row than at ``fit``."""
        self.donors.check_unchanged(question.panel, places[hybrids.donor], outputs)

    def _stepped_back(self, walks: Walks, question: Question) -> Walks:
        """The walks, but those that ended at a row that may not be handed out a little nearer to their own."""
        assert self.is_refused is not None
        ends = Points(np.arange(len(walks.values)), np.full(len(walks.values), -1), walks.values, walks.outputs)
        refused = ends.take(self.is_refused(ends.values))
        back = step_back(question, refused, distance=self.distance, is_refused=self.is_refused)
        values, outputs = walks.values.copy(), walks.outputs.copy()
        values[back.row], outputs[back.row] = back.values, back.outputs
        return replace(walks, values=values, outputs=outputs)

    def _walk(self, reward: Reward | None, question: Question, donors: Donors) -> Walks:
        """The paper's walk of each row to a donor; without a reward the donor itself."""
        return walk_greedily(replace(question, report=tell_nobody), donors, reward=reward, distance=self.distance)

    def _notes(self, search: RowSearch, wanted: Bools, *, n_found: int, n_wanted: int) -> list[Statement]:
        notes = []
        n_donors, n_near = search.n_donors, search.lattices.n_near
        if self.neighbors is not None and n_near < self.neighbors:
            notes.append(Statement("search.neighbors", {"found": n_near, "asked": self.neighbors}))
        # What is sparse or near is found among the nearest donors; what is plausible may be anywhere.
        if self.neighbors is None and (self._climbs or self.objective == "balanced"):
            there_are = len(self.donors.places(self.donors.in_target(wanted[None])[0]))
            if n_donors < there_are:
                notes.append(Statement("search.donors", {"looked_at": n_donors, "donors": there_are}))
        if not search.is_done:
            notes.append(Statement("note.cut_search"))
        elif not search.is_exhaustive:
            notes.append(Statement("search.beam", {"large": search.n_large, "donors": n_donors}))
        if 0 < n_found < n_wanted:
            notes.append(Statement("note.fewer", {"found": n_found, "asked": n_wanted}))
        return notes


# The number of a row, and the places of its donors in the index.
_Label = tuple[int, Ints]


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What the searches of a block of rows share: their nearest donors, and the walks of those that have one."""

    donors: Donors
    nearest: Ints
    plausible: PlausibleDonors
    walked: Ints
    walks: tuple[Walks, ...]
    scores: Floats


@dataclass(frozen=True, eq=False)
class _Known:
    """Answers known before the search; ``is_donor`` where it is no more than the donor itself."""

    points: Points
    is_donor: Bools


class _Chosen:
    """What is chosen of all that was found, row by row."""

    def __init__(self, question: Question) -> None:
        none = no_points(question.rows, question.outputs)
        self.best, self.fronts, self.beyond = [none], [none], [none]
        self.notes = nothing_said(len(question))
        self._is_searched = np.zeros(len(question), dtype=bool)

    def add(self, line: int, best: Points, *, front: Points, notes: list[Statement]) -> None:
        """The answers of a row."""
        self._is_searched[line] = True
        self.best.append(best)
        self.fronts.append(front)
        self.notes[line] = tuple(notes) or None

    def add_beyond(self, line: int, best: Points) -> None:
        """What a row would have if more features were to change than may."""
        self._is_searched[line] = True
        self.beyond.append(best)

    def add_known(self, known: _Known, *, n_wanted: int) -> None:
        """The rows that were not searched for want of time have what is known."""
        is_left = ~self._is_searched[known.points.row]
        left = known.points.take(is_left)
        for line, is_donor in zip(left.row.tolist(), known.is_donor[is_left].tolist(), strict=True):
            note = Statement("note.not_searched_donor" if is_donor else "note.not_searched")
            fewer = Statement("note.one_of", {"asked": n_wanted})
            self.notes[line] = (note, fewer) if n_wanted > 1 else (note,)
        self.best.append(left)
        self.fronts.append(left)


def _points(line: int, donors: Ints, lattices: Lattices, hybrids: Hybrids) -> Points:
    """Some of what the search of a row found; ``donors`` are the places of its donors in the index."""
    row = np.full(len(hybrids), line)
    return Points(row, donors[hybrids.donor], lattices.values(hybrids), hybrids.outputs)


def _no_error(rows: Floats) -> Floats:
    """The measure of an explainer that has none: all rows are as plausible."""
    return np.zeros(len(rows))
