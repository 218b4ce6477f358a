"""`mix_donors=True`: counterfactuals with values of several training rows, found by local search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.models.scorer import OutOfTime
from nicecf.rules.row_rules import Rules
from nicecf.search import objectives
from nicecf.search.alternatives import Alternatives
from nicecf.search.answers import Answers, Points, by_row, joined, no_points, nothing_said
from nicecf.search.block import Block, RowMoves
from nicecf.search.candidates import Candidates
from nicecf.search.candidates import joined as joined_candidates
from nicecf.search.climb import PROPOSALS_PER_ROW, SOURCES
from nicecf.search.distance import Heom
from nicecf.search.donors import Donors, DonorSearch
from nicecf.search.first_candidates import CELLS_TRIED, single_changes
from nicecf.search.front import unbeaten, unlike
from nicecf.search.greedy import walk_greedily
from nicecf.search.local_search import search_locally
from nicecf.search.question import Question, tell_nobody
from nicecf.search.thorough import Thorough
from nicecf.search.training_values import other_zero
from nicecf.support.phrases import Statement
from nicecf.support.types import Bools, Floats, Ints, Objects
from nicecf.tables.schema import differs, with_own_cells

# Donors that are pruned for each row; fewer where rows are wide, since every feature of each is put back by itself.
_NEIGHBORS = 8
_FEATURES_PUT_BACK = 4096
# Rows that are searched side by side: the candidates of a step fit into memory.
_CANDIDATES_PER_ROW = 1024
_MOST_ROWS = 256


@dataclass(frozen=True, eq=False)
class Mixed:
    """The best counterfactual by changes and distance, whichever training rows its values come from.

    ``one_donor`` finds the counterfactuals that follow the first one where several are asked for. With ``has_errors``
    its answers are also what the search starts from, and what is handed over as the front has its members, too: they
    are compared by plausibility. Without it they are where several are asked for and there is a measure of it, as far
    as the search came across any. ``neighbors``: how many donors are looked at, None for a number that suits most
    tables. ``is_refused``: rows that may not be handed out, though the models accept them.
    """

    donors: DonorSearch
    distance: Heom
    objective: str
    one_donor: Thorough
    neighbors: int | None = None
    is_refused: Callable[[Floats], Bools] | None = None
    has_errors: bool = False
    climbs: bool = False

    def __call__(self, question: Question, donors: Donors) -> Answers:
        """Search for each row; ``donors`` are their nearest accepted donors, as far as there are any.

        For want of time, the answer of a row is the paper's, or the donor.
        """
        seeking = np.flatnonzero((donors.place >= 0) | (question.rules is not None) | self.climbs)
        found = self._search(question.take(seeking), donors.take(seeking))
        return joined([(seeking, found)], len(question))

    def _search(self, question: Question, donors: Donors) -> Answers:
        others = None
        is_twofold = self.has_errors or question.n_wanted > 1
        if is_twofold:  # the first half of the work, for all rows
            half = replace(question, report=lambda n_done: question.report(n_done // 2))
            others = self._allowed(self.one_donor(half, donors))
        chosen = _Chosen(question)
        n_cells = (PROPOSALS_PER_ROW if self.climbs else _CANDIDATES_PER_ROW) * question.rows.shape[1]
        block = int(np.clip(CELLS_PER_CALL // n_cells, 1, _MOST_ROWS))
        for at in range(0, len(question), block):
            lines = np.arange(at, min(at + block, len(question)))
            some = replace(question.take(lines), report=tell_nobody)
            kept = Alternatives(some.rows, question.error) if question.n_wanted > 1 else None
            search = Block(some, self.donors.values, self.distance, self._cost, self.is_refused, kept)
            places = self._near(some, donors.take(lines))
            first = _first_of(others, lines) if self.has_errors else None
            is_cut = not self._run(search, some, donors.take(lines), places, first)
            self._choose(search, some, lines, places, chosen, is_cut=is_cut)
            if kept is not None and len(search.found):
                chosen.on_the_way.append(self._points(kept.nearest(some.most_changes), some, lines, places))
                if self._has_choice(question):
                    chosen.fronts.append(self._points(kept.unbeaten(some.most_changes), some, lines, places))
            n_done = int(lines[-1]) + 1
            question.report((len(question) + n_done) // 2 if is_twofold else n_done)
        points, notes, front = by_row(chosen.best), chosen.notes, by_row(chosen.fronts)
        if others is not None:
            points, notes = _with_others(question, points, others, by_row(chosen.on_the_way), notes)
            front = front if others.front is None else self._front(question, by_row([front, others.front]))
        ends = Donors(points.donor, points.values, points.outputs)
        some = replace(question.take(points.row), report=tell_nobody)
        walks = walk_greedily(some, ends, reward=objectives.sparsity, distance=self.distance, to_the_end=True)
        return Answers(points, walks, notes, nothing_said(len(question)), front, by_row(chosen.beyond))

    def _has_choice(self, question: Question) -> bool:
        """Whether plausible ones are kept on the way, though the search does not look for them."""
        return question.n_wanted > 1 and question.error is not None

    def _points(self, found: Candidates, question: Question, lines: Ints, places: Ints) -> Points:
        donor = self._donor(question, found.line, found.values, places)
        return Points(lines[found.line], donor, found.values, found.outputs)

    def _allowed(self, answers: Answers) -> Answers:
        """Answers without what may not be handed out: for want of time, there is some of it among them."""
        if self.is_refused is None:
            return answers
        front = answers.front
        front = None if front is None else front.take(~self.is_refused(front.values))
        return replace(answers, points=answers.points.take(~self.is_refused(answers.points.values)), front=front)

    def _cost(self, changes: Ints, distances: Floats) -> Floats:
        # In units of a usual weight: what is a small difference depends on them.
        distances = distances / (1.0 if self.distance.weights is None else float(np.median(self.distance.weights)))
        cost = objectives.BY_NAME[self.objective].cost
        costs: Floats = np.asarray(cost(changes, distances, np.zeros(len(changes))), dtype=np.float64)
        # Of those with as many changes, the nearest.
        return costs + distances / (1.0 + distances) if self.objective == "sparsity" else costs

    def _front(self, question: Question, points: Points) -> Points:
        """Of what two searches found, what nothing beats, by row, then changes; one of several equal ones."""
        rows, errors = question.rows[points.row], np.zeros(len(points.row))
        is_compared = self.has_errors or self._has_choice(question)
        if is_compared and question.error is not None and len(errors):
            errors = question.error(points.values)
        changes, distances = self.distance.changes_and_distance(rows, points.values)
        of_rows = np.split(np.arange(len(errors)), np.flatnonzero(np.diff(points.row)) + 1)
        return points.take(
            np.concatenate([own[unbeaten(changes[own], distances[own], errors[own])] for own in of_rows])
        )

    def ahead(self, rows: Floats, rules: Rules | None, near: Ints) -> Floats:
        """What the search will ask about first, if rows have these places of donors near, -1 for none."""
        moves = RowMoves(rows, self.donors.values, rules)
        line, at = np.nonzero(near >= 0)
        donors = self.donors.index.values[near[line, at]]
        donors, _ = with_own_cells(rows[line], donors if rules is None else rules.project(line, donors))
        is_small = differs(rows[line], donors).sum(axis=1) * rows.shape[1] <= CELLS_TRIED
        line, donors = line[is_small], donors[is_small]
        put_back = moves.put_back(line, donors, moves.back_to_row(line, donors))
        return np.concatenate([moves.from_rows(single_changes(moves)).values, put_back])

    def n_near(self, n_features: int) -> int:
        """How many of the nearest donors are pruned for each row."""
        k = int(np.clip(_FEATURES_PUT_BACK // n_features, 2, self.neighbors or _NEIGHBORS))
        return min(max(k, self.neighbors or 0), len(self.donors.index.values))

    def _near(self, question: Question, donors: Donors) -> Ints:
        """The places of the nearest donors of each row, -1 where there are no more; its own comes first."""
        in_target, k = self.donors.in_target(question.wanted), self.n_near(question.rows.shape[1])
        near, _ = self.donors.index.nearest_many(question.rows, in_target, k=k, rules=question.rules)
        return np.column_stack([donors.place, np.where(near == donors.place[:, None], -1, near)])

    def _run(self, search: Block, question: Question, donors: Donors, places: Ints, others: Points | None) -> bool:
        """Run a search to its end, if there is time."""
        walked = np.flatnonzero(donors.place >= 0)
        ends = donors.take(walked)
        reward = objectives.BY_NAME[self.objective].reward
        walks = walk_greedily(question.take(walked), ends, reward=reward, distance=self.distance)
        start = [search.known(walked, walks.values, walks.outputs), search.known(walked, ends.values, ends.outputs)]
        if others is None:
            others = self._where_walks_fail(question, donors, start[0])
        start.append(search.known(others.row, others.values, others.outputs))
        try:
            if question.score.is_out_of_time():  # before a wide table is prepared for nothing
                raise OutOfTime
            sources = self._sources(search, question) if self.climbs else None
            search_locally(search, joined_candidates(start), self._to_prune(search, question, places), sources)
        except OutOfTime:
            search.keep(joined_candidates(start))
            return False
        return not walks.is_cut.any()

    def _sources(self, search: Block, question: Question) -> Candidates:
        """Return the training rows with the highest scores, as the rows may take them."""
        scores = np.array([question.panel.scores(self.donors.outputs, one, least=True) for one in question.wanted])
        places = np.argsort(-scores, axis=1, kind="stable")[:, :SOURCES]
        line, place = np.repeat(np.arange(len(question)), places.shape[1]), places.ravel()
        values, rules = self.donors.index.values[place], question.rules
        values, _ = with_own_cells(question.rows[line], values if rules is None else rules.project(line, values))
        return search.known(line, values, question.score(values))

    def _where_walks_fail(self, question: Question, donors: Donors, walks: Candidates) -> Points:
        """Where the paper's answer changes too much, or may not be handed out: the best with one donor.

        The greedy search falls back on it there, and no answer is to be worse than the greedy one.
        """
        helps = walks.is_valid & question.keep_to_limit(walks.line, walks.values)
        left = np.setdiff1d(np.arange(len(question)), walks.line[helps])
        found = self.one_donor(replace(question.take(left), n_wanted=1, report=tell_nobody), donors.take(left)).points
        return replace(found, row=left[found.row])

    def _to_prune(self, search: Block, question: Question, places: Ints) -> Candidates:
        """The nearest donors as their rows may take them, with what the model said of them at ``fit``, or says now."""
        line, at = np.nonzero(places >= 0)
        place = places[line, at]
        as_they_are = self.donors.index.values[place]
        rules = question.rules
        values, is_new = with_own_cells(
            question.rows[line], as_they_are if rules is None else rules.project(line, as_they_are)
        )
        is_new |= differs(values, as_they_are).any(axis=1)
        outputs = self.donors.outputs[place]
        if is_new.any():
            outputs[is_new] = question.score(values[is_new])
        candidates = search.known(line, values, outputs)
        # Of each of them there will be a row for every feature in which it differs.
        is_small = candidates.changes * question.rows.shape[1] <= CELLS_TRIED
        return candidates.take((candidates.is_valid | is_new) & is_small)

    def _choose(
        self, search: Block, question: Question, lines: Ints, places: Ints, chosen: _Chosen, *, is_cut: bool
    ) -> None:
        """The best of what was found for each row; or, where it changes too many features, that there is something."""
        found = search.found
        changes = found.changes
        is_within = changes <= question.most_changes
        order = np.lexsort((found.distances, changes, found.costs, ~is_within, found.line))
        _, first = np.unique(found.line[order], return_index=True)
        best = order[first]
        donor = self._donor(question, found.line, found.values, places)
        points = Points(lines[found.line], donor, found.values, found.outputs)
        chosen.best.append(points.take(best[is_within[best]]))
        chosen.beyond.append(points.take(best[~is_within[best]]))
        chosen.fronts.append(points.take(is_within))
        n_near = (places >= 0).sum(axis=1) - (places[:, 1:] == places[:, :1]).any(axis=1)
        for at, line in enumerate(lines.tolist()):
            notes = [Statement("note.cut_search")] if is_cut else []
            if self.neighbors is not None and n_near[at] < self.neighbors:
                notes.append(Statement("search.neighbors", {"found": int(n_near[at]), "asked": self.neighbors}))
            if notes and (found.line == at).any():
                chosen.notes[line] = tuple(notes)

    def _donor(self, question: Question, line: Ints, values: Floats, places: Ints) -> Ints:
        """The place of a donor that has all the new values of a candidate; -1 if none is known.

        Of a group with a new value, it has the other values, too.
        """
        changed = differs(question.rows[line], values)
        needed = changed.copy()
        for group in question.groups.groups:
            needed[:, group] |= changed[:, group].any(axis=1, keepdims=True)
        places = np.column_stack([places[line], self._holding(question, line, values, needed)])
        donor = np.full(len(line), -1, dtype=np.intp)
        for near in places.T[::-1]:
            there = np.flatnonzero(near >= 0)
            held = self.donors.index.values[near[there]]
            is_other = (needed[there] & differs(values[there], held)) | (
                changed[there] & other_zero(values[there], held)
            )
            has_all = ~is_other.any(axis=1)
            donor[there[has_all]] = near[there[has_all]]
        return donor

    def _holding(self, question: Question, line: Ints, values: Floats, needed: Bools) -> Ints:
        """Where a candidate needs one value alone: the place of any donor that has it, whatever else it has."""
        donor = np.full(len(line), -1, dtype=np.intp)
        alone = np.flatnonzero(needed.sum(axis=1) == 1)
        feature = needed[alone].argmax(axis=1)
        donor[alone] = self.donors.distinct.holding(question.wanted[line[alone]], feature, values[alone, feature])
        return donor


class _Chosen:
    """What is chosen of all that was found."""

    def __init__(self, question: Question) -> None:
        none = no_points(question.rows, question.outputs)
        self.best, self.fronts, self.beyond, self.on_the_way = [none], [none], [none], [none]
        self.notes = nothing_said(len(question))


def _first_of(answers: Answers | None, lines: Ints) -> Points | None:
    """The first answer for each of some lines, by their positions among them."""
    if answers is None:
        return None
    points = answers.points.take(np.isin(answers.points.row, lines))
    points = points.take(np.unique(points.row, return_index=True)[1])
    return replace(points, row=points.row - lines[0])


def _with_others(
    question: Question, points: Points, others: Answers, on_the_way: Points, notes: Objects
) -> tuple[Points, Objects]:
    """The best of each row first, then counterfactuals of another search that change other features.

    Where these are too few, those follow that the search for the best came across.
    """
    n_wanted, chosen, notes = question.n_wanted, [points.take(slice(0, 0))], notes.copy()
    for line in range(len(question)):
        own = by_row([one.take(one.row == line) for one in (points, others.points, on_the_way)])
        changed = differs(question.rows[own.row], own.values)
        kept = unlike(changed, n_wanted)
        chosen.append(own.take(kept))
        said = [one for one in (*(notes[line] or ()), *(others.notes[line] or ())) if one.phrase != "note.fewer"]
        said = list({one.phrase: one for one in said}.values())
        if 0 < len(kept) < n_wanted:
            said.append(Statement("note.fewer", {"found": len(kept), "asked": n_wanted}))
        notes[line] = tuple(said) or None
    return by_row(chosen), notes
