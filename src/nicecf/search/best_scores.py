"""For a target of scores that no donor reaches: the answer within reach whose score comes nearest to it.

A climb: from the row, and from the donor with the best score, one change after the other towards the target; then every
change that the score does not need is taken back. It may turn out to arrive in the target after all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.search.answers import Points, by_row, no_points
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.lock_step import RowSteps, in_lock_step
from nicecf.search.question import Question
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs, with_own_cells

# Donors with the best scores whose values are tried, and values of each feature besides, where donors may be mixed.
_BEST_DONORS, _VALUES = 64, 16
_MOST_ROUNDS = 50
# A change that gains less than this share of what scores range over is none: it would be an error of rounding.
_LEAST_GAIN = 1e-9
# Above every score that is not in the target.
_IN_TARGET = 2.0


@dataclass(frozen=True, eq=False)
class BestScores:
    """Looks for the best scores that rows can reach; ``mixes``: with values of several training rows."""

    donors: DonorSearch
    distance: Heom
    is_refused: Callable[[Floats], Bools]
    mixes: bool

    def __call__(self, question: Question) -> Points:
        """One point for each row whose score can come nearer to the target, in it or not; rows share their rules."""
        best = np.argsort(-question.panel.scores(self.donors.outputs, np.array([[False, True]])), kind="stable")
        places = best[:_BEST_DONORS]
        if not len(places):
            return no_points(question.rows, question.outputs)
        climbs = ((line, _Climb(self, question, line, places).run()) for line in range(len(question)))
        at_once = max(1, CELLS_PER_CALL // (question.rows.shape[1] ** 2 * _BEST_DONORS))
        found = [
            Points(np.array([one.label]), *one.result)
            for one in in_lock_step(climbs, question.score, at_once=at_once)
            if one.result is not None
        ]
        return by_row([no_points(question.rows, question.outputs), *found])


class _Climb:
    """The climb of one row, written as if it were alone."""

    def __init__(self, search: BestScores, question: Question, line: int, places: Ints) -> None:
        self._search, self._question, self._line = search, question, line
        self._row, self._wanted = question.rows[line], question.wanted[[line]]
        self._own = float(question.panel.scores(question.outputs[[line]], self._wanted)[0])
        donors = search.donors.index.values[places]
        lines = np.full(len(places), line)
        seen = donors if question.rules is None else question.rules.project(lines, donors)
        self._ends, _ = with_own_cells(np.broadcast_to(self._row, seen.shape), seen)
        self._places = places

    def run(self) -> RowSteps[tuple[Ints, Floats, Floats] | None]:
        """The best that was reached: the place of its donor (-1: several), values and outputs; None for nothing."""
        outputs = yield "score", self._ends
        scores = self._scores(self._ends, outputs)
        first = int(np.argmax(scores))
        reached = []
        for start, score in ((self._row, self._own), (self._ends[first], float(scores[first]))):
            if score > -np.inf:
                values, score = yield from self._climb(start, score, first)
                reached.append((yield from self._without_the_needless(values, score)))
        values, score = max(reached, key=lambda one: (min(one[1], _IN_TARGET), -differs(self._row, one[0]).sum()))
        if not score > self._own + _LEAST_GAIN:
            return None
        outputs = yield "score", values[None]
        is_of_one = ~differs(values, self._row) | ~differs(
            values, self._search.donors.index.values[self._places[first]]
        )
        return np.array([self._places[first] if is_of_one.all() else -1]), values[None], outputs

    def _climb(self, values: Floats, score: float, first: int) -> RowSteps[tuple[Floats, float]]:
        """The best single change, as long as it gains anything and the target is not reached."""
        for _ in range(_MOST_ROUNDS):
            if score >= _IN_TARGET:
                break
            moves = self._moves(values, first)
            if not len(moves):
                break
            outputs = yield "score", moves
            scores = self._scores(moves, outputs)
            best = int(np.argmax(scores))
            if not scores[best] > score + _LEAST_GAIN:
                break
            values, score = moves[best], float(scores[best])
        return values, score

    def _without_the_needless(self, values: Floats, score: float) -> RowSteps[tuple[Floats, float]]:
        """Put back what the score does not need: of several the one that is farthest from the row."""
        groups = self._question.groups
        # Ends: every turn puts back a feature.
        while True:
            changed = differs(self._row, values)
            features = np.flatnonzero(groups.first(changed))
            if len(features) < 2:
                return values, score
            back = groups.moving(features, np.broadcast_to(changed, (len(features), len(changed))))
            fewer = np.where(back, self._row, values)
            outputs = yield "score", fewer
            scores = self._scores(fewer, outputs)
            distances = self._search.distance.between(np.broadcast_to(self._row, fewer.shape), fewer)
            good = np.flatnonzero(scores >= min(score - _LEAST_GAIN, _IN_TARGET))
            if not len(good):
                return values, score
            best = good[np.argmin(distances[good])]
            values, score = fewer[best], float(scores[best])

    def _scores(self, values: Floats, outputs: Floats) -> Floats:
        """How near to the target values come, from `_IN_TARGET` on if in it; what may not be handed out, never."""
        question, lines = self._question, np.full(len(values), self._line)
        scores = question.panel.scores(outputs, np.broadcast_to(self._wanted, (len(values), 2)))
        is_good = ~self._search.is_refused(values) & question.keep_to_limit(lines, values)
        if question.rules is not None:
            is_good &= question.rules.are_possible(lines, values)
        # Of several models, some may be in the target and others not: what they agree on is more than that.
        is_there = question.panel.accepts(outputs, self._wanted)
        scores = np.where(is_there, np.maximum(scores, 0.0) + _IN_TARGET, scores)
        return np.where(is_good, scores, -np.inf)

    def _moves(self, values: Floats, first: int) -> Floats:
        """All rows with one more change: to a value of a donor, or of any training row; or with one that is undone."""
        ends = self._ends if self._search.mixes else self._ends[[first]]
        moves, groups = [], self._question.groups
        changed = differs(self._row, values)
        for features, sources in ((np.flatnonzero(changed), self._row[None]), (np.arange(len(values)), ends)):
            for j in features.tolist():
                moving = groups.moving(np.array([j]), np.ones((1, len(values)), dtype=bool))[0]
                moves.append(np.where(moving, sources, values))
        is_grouped = np.isin(np.arange(len(values)), np.concatenate([np.empty(0), *groups.groups]))
        for j in np.flatnonzero(~is_grouped).tolist() if self._search.mixes else ():
            moves.append(self._with_training_values(values, j))
        every = np.unique(np.concatenate(moves), axis=0)
        return every[differs(every, values).any(axis=1)]

    def _with_training_values(self, values: Floats, j: int) -> Floats:
        held = self._search.donors.values.of_feature(j)
        held = held[np.unique(np.linspace(0, len(held) - 1, _VALUES).astype(np.intp))] if len(held) else held
        rules = self._question.rules
        if rules is not None:
            held = held[rules.may_change(j, np.full(len(held), self._line), held)]
        moved = np.repeat(values[None], len(held), axis=0)
        moved[:, j] = held
        return moved
