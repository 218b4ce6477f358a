"""For a target of scores that no donor reaches: the answer within reach whose score comes nearest to it.

A climb: from the row, and from the donor with the best score, one change after the other towards the target; then every
change that the score does not need is taken back. It may turn out to arrive in the target after all: then it is brought
back towards the row as far as the target allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.search.answers import Points, by_row, no_points
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.lock_step import RowSteps, in_lock_step
from nicecf.search.question import Question
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs, with_own_cells

# Donors with the best scores whose values are tried, and values of each feature besides, where donors may be mixed: few
# as long as they gain anything, then more.
_BEST_DONORS, _VALUES = 64, (16, 128)
# Values of a feature on the way back to the row.
_VALUES_BACK = 64
_MOST_ROUNDS = 50
# A change that gains less than this share of what scores range over is none: it would be an error of rounding.
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, eq=False)
class BestScores:
    """Looks for the best scores that rows can reach; ``mixes``: with values of several donors, whatever their score."""

    donors: DonorSearch
    distance: Heom
    is_refused: Callable[[Floats], Bools]
    mixes: bool

    def __call__(self, question: Question) -> tuple[Points, Bools]:
        """One point for each row whose score can come nearer to the target, in it or not; rows share their rules.

        Also which rows were searched to the end: others for want of time not.
        """
        is_done = np.zeros(len(question), dtype=bool)
        nearest_first = np.argsort(-question.panel.nearness(self.donors.outputs), kind="stable")
        places = nearest_first[:_BEST_DONORS]
        if not len(places):
            return no_points(question.rows, question.outputs), ~is_done
        climbs = ((line, _Climb(self, question, line, places).run()) for line in range(len(question)))
        at_once = max(1, CELLS_PER_CALL // (question.rows.shape[1] ** 2 * _BEST_DONORS))
        found = [no_points(question.rows, question.outputs)]
        for one in in_lock_step(climbs, question.score, at_once=at_once):
            is_done[one.label] = not one.is_cut
            if one.result is not None:
                found.append(Points(np.array([one.label]), *one.result))
        return by_row(found), is_done

    @cached_property
    def values(self) -> list[Floats]:
        """The numbers or categories that donors hold, of each feature in ascending order."""
        columns = [np.unique(column) for column in self.donors.index.values.T]
        return [column[~np.isnan(column)] for column in columns]


class _Climb:
    """The climb of one row, written as if it were alone. A score of at least 0 is in the target."""

    def __init__(self, search: BestScores, question: Question, line: int, places: Ints) -> None:
        self._search, self._question, self._line = search, question, line
        self._row = question.rows[line]
        self._own = float(question.panel.nearness(question.outputs[[line]])[0])
        donors = search.donors.index.values[places]
        seen = donors if question.rules is None else question.rules.project(np.full(len(places), line), donors)
        self._ends, _ = with_own_cells(np.broadcast_to(self._row, seen.shape), seen)
        self._places = places

    def run(self) -> RowSteps[tuple[Ints, Floats, Floats] | None]:
        """The best that was reached: the place of its donor (-1: several), values and outputs; None for nothing."""
        scores = yield from self._asked(self._ends)
        first = int(np.argmax(scores))
        reached = []
        for start, score in ((self._row, self._own), (self._ends[first], float(scores[first]))):
            if score > -np.inf:
                values, score = yield from self._climb(start, score, first)
                values, score = yield from self._without_the_needless(values, score)
                reached.append((yield from self._brought_back(values, score)))
        values, score = max(reached, key=lambda one: (min(one[1], 0.0), *-self._costs(one[0][None])[0]))
        if not score > self._own + _LEAST_GAIN:
            return None
        outputs = yield "score", values[None]
        donor = self._search.donors.index.values[self._places[first]]
        is_of_one = ~differs(values, self._row) | ~differs(values, donor)
        return np.array([self._places[first] if is_of_one.all() else -1]), values[None], outputs

    def _climb(self, values: Floats, score: float, first: int) -> RowSteps[tuple[Floats, float]]:
        """The best single change, as long as it gains anything and the target is not reached."""
        fewest, most = _VALUES
        for _ in range(_MOST_ROUNDS):
            moves = self._moves(values, first, fewest)
            if score >= 0 or not len(moves):
                break
            scores = yield from self._asked(moves)
            # Of those that arrive, the nearest to the row.
            best = self._nearest(moves, scores >= 0) if (scores >= 0).any() else int(np.argmax(scores))
            if scores[best] > score + _LEAST_GAIN:
                values, score = moves[best], float(scores[best])
            elif fewest < most and self._search.mixes:
                fewest = most
            else:
                break
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
            scores = yield from self._asked(fewer)
            is_good = scores >= min(score - _LEAST_GAIN, 0.0)
            if not is_good.any():
                return values, score
            best = self._nearest(fewer, is_good)
            values, score = fewer[best], float(scores[best])

    def _brought_back(self, values: Floats, score: float) -> RowSteps[tuple[Floats, float]]:
        """In the target, smaller changes where they are enough: each feature to the nearest value that donors hold."""
        if score < 0 or not self._search.mixes:
            return values, score
        # Ends: every turn takes a value that is nearer to the row, and there are so many of them.
        while True:
            changed = np.flatnonzero(differs(self._row, values) & ~self._is_grouped)
            nearer = [self._between(values, j) for j in changed.tolist()]
            moves = np.concatenate([values[None][:0], *nearer])
            if not len(moves):
                return values, score
            scores = yield from self._asked(moves)
            if not (scores >= 0).any():
                return values, score
            best = self._nearest(moves, scores >= 0)
            values, score = moves[best], float(scores[best])

    def _asked(self, values: Floats) -> RowSteps[Floats]:
        """How near to the target values come; what may not be handed out, never."""
        outputs = yield "score", values
        question, lines = self._question, np.full(len(values), self._line)
        is_good = ~self._search.is_refused(values) & question.keep_to_limit(lines, values)
        if question.rules is not None:
            is_good &= question.rules.are_possible(lines, values)
        return np.where(is_good, question.panel.nearness(outputs), -np.inf)

    def _costs(self, values: Floats) -> Floats:
        """How many changes, and how far from the row: one line each."""
        rows = np.broadcast_to(self._row, values.shape)
        return np.column_stack([differs(rows, values).sum(axis=1), self._search.distance.between(rows, values)])

    def _nearest(self, values: Floats, is_good: Bools) -> int:
        """Of those that are good, the one that is nearest to the row."""
        distances = np.where(is_good, self._costs(values)[:, 1], np.inf)
        return int(np.argmin(distances))

    @cached_property
    def _is_grouped(self) -> Bools:
        grouped = np.concatenate([np.empty(0), *self._question.groups.groups])
        return np.isin(np.arange(len(self._row)), grouped)

    def _moves(self, values: Floats, first: int, n_values: int) -> Floats:
        """All rows with one more change: to a value of a donor; or with one that is undone."""
        ends = self._ends if self._search.mixes else self._ends[[first]]
        moves, groups = [], self._question.groups
        changed = differs(self._row, values)
        for features, sources in ((np.flatnonzero(changed), self._row[None]), (np.arange(len(values)), ends)):
            for j in features.tolist():
                moving = groups.moving(np.array([j]), np.ones((1, len(values)), dtype=bool))[0]
                moves.append(np.where(moving, sources, values))
        for j in np.flatnonzero(~self._is_grouped).tolist() if self._search.mixes else ():
            moves.append(self._with(values, j, self._search.values[j], n_values))
        every = np.unique(np.concatenate(moves), axis=0)
        return every[differs(every, values).any(axis=1)]

    def _between(self, values: Floats, j: int) -> Floats:
        """Rows in which one changed feature is nearer to the row's own value."""
        held = self._search.values[j]
        own, now = (np.full(len(held), one) for one in (self._row[j], values[j]))
        distance = self._search.distance.feature
        is_nearer = (distance(j, held, own) < distance(j, now, own)) & (held != self._row[j])
        return self._with(values, j, held[is_nearer], _VALUES_BACK)

    def _with(self, values: Floats, j: int, held: Floats, most: int) -> Floats:
        """Rows with other values of one feature, at most so many, as far as the rules allow them."""
        held = held[np.unique(np.linspace(0, len(held) - 1, most).astype(np.intp))] if len(held) else held
        rules = self._question.rules
        if rules is not None:
            held = held[rules.may_change(j, np.full(len(held), self._line), held)]
        moved = np.repeat(values[None], len(held), axis=0)
        moved[:, j] = held
        return moved
