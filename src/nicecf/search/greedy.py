"""The loop of the paper (Algorithm 1, step 3), many rows in lock-step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nicecf.models import classifier
from nicecf.search import objectives
from nicecf.search.answers import Answers, joined, one_for_each
from nicecf.search.distance import Heom
from nicecf.search.donors import Donors
from nicecf.search.lookahead import hybrids_ahead
from nicecf.search.objectives import Reward, Round
from nicecf.search.question import Question
from nicecf.search.walks import Walks, cut_short, jump, walks_of
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import differs


@dataclass(frozen=True, eq=False)
class Greedy:
    """The paper's search: a walk from each row to its donor. Without a reward, NICE(none), it is a jump."""

    reward: Reward | None
    distance: Heom

    def __call__(self, question: Question, donors: Donors) -> Answers:
        """The walks of the rows that have a donor, as far as they keep to the largest number of changes."""
        walking = np.flatnonzero(donors.place >= 0)
        some, ends = question.take(walking), donors.take(walking)
        walks = walk_greedily(some, ends, reward=self.reward, distance=self.distance)
        is_kept = some.keep_to_limit(np.arange(len(some)), walks.values)
        return joined([(walking, one_for_each(ends.place, walks, is_kept))], len(question))


def walk_greedily(
    question: Question, donors: Donors, *, reward: Reward | None, distance: Heom, to_the_end: bool = False
) -> Walks:
    """Walk each row towards its donor, all rows in lock-step, until the model's decision is a wanted class.

    Every donor must have been put in a wanted class by the model: that is what guarantees an end, and why the donor
    itself is not asked for again. Each round keeps the swap with the highest reward; on a tie the leftmost feature
    wins. At most one call of the model a round, for the hybrids of all walks; where there are few, the call takes the
    hybrids of later rounds along.

    Without a reward it is NICE(none): a jump to the donor. ``to_the_end`` walks on to the donor in any case. When
    time is up, walks go on by what the model was asked about before, and jump to the donor where that is not enough.
    """
    if reward is None:
        return jump(question.rows, donors.values, donors.outputs)
    walking = _Walking(question, donors, reward, distance)
    # Ends: each round takes one difference off every active walk, and none is active without differences.
    while len(walking.active):
        walking.step(to_the_end=to_the_end)
        question.report(len(question) - len(walking.active))
    walks = walks_of(walking.current, walking.outputs, walking.steps)
    return cut_short(walks, np.flatnonzero(walking.is_cut), question.rows, donors.values, donors.outputs)


class _Walking:
    """Walks that are under way: where they are, which are still ``active``, and which the deadline cut short."""

    def __init__(self, question: Question, donors: Donors, reward: Reward, distance: Heom) -> None:
        self._question = question
        self._donors = np.ascontiguousarray(donors.values)
        self._donor_outputs = donors.outputs
        self._groups = question.groups
        self._reward = reward
        self._error = question.error if objectives.needs_plausibility(reward) else None
        rows = question.rows
        self.current = rows.copy()
        self.outputs = question.outputs.copy()
        self.steps: list[tuple[Ints, Ints, Floats]] = []
        self._scores = question.panel.scores(self.outputs, question.wanted)
        self._parts = self._groups.summed(distance.features(rows, self._donors))
        self._gone = np.zeros(len(rows))
        self._errors = None if self._error is None else self._error(rows)
        self._unlike = differs(rows, self._donors)
        self._left = self._groups.first(self._unlike)
        self.active = np.flatnonzero(self._left.any(axis=1))
        self.is_cut = np.zeros(len(rows), dtype=bool)

    def step(self, *, to_the_end: bool) -> None:
        """One step of every active walk: the swap with the highest reward."""
        walk, feature = np.nonzero(self._left[self.active])
        walk = self.active[walk]
        reached = self._ask(walk, feature)
        kept = ~self.is_cut[walk]
        walk, feature, reached = walk[kept], feature[kept], reached[kept]
        error = self._errors_of(walk, feature)
        score = self._question.panel.scores(reached, self._question.wanted[walk])
        step_distance = self._parts[walk, feature]
        round = Round(
            features=feature,
            score=score,
            previous_score=self._scores[walk],
            distance=self._gone[walk] + step_distance,
            previous_distance=self._gone[walk],
            step_distance=step_distance,
            error=error,
            previous_error=None if self._errors is None else self._errors[walk],
        )
        best = _best_of_each_walk(walk, objectives.checked(self._reward, round))
        moved = walk[best]
        self._scores[moved] = score[best]
        self._gone[moved] += step_distance[best]
        if self._errors is not None and error is not None:
            self._errors[moved] = error[best]
        self._move(moved, feature[best], reached[best])
        has_arrived = self._question.accepts(moved, self.current[moved], self.outputs[moved]) & (not to_the_end)
        self.active = moved[~has_arrived & self._left[moved].any(axis=1)]

    def _ask(self, walk: Ints, feature: Ints) -> Floats:
        """Return what the models say of the hybrids with one more swap; walks for which there is no time are cut."""
        reached = self._donor_outputs[walk]
        is_hybrid = self._left.sum(axis=1)[walk] > 1  # else only the donor is left to step on
        for some in _chunks(len(walk), self.current.shape[1]):
            here = np.flatnonzero(is_hybrid[some] & ~self.is_cut[walk[some]])
            if len(here):
                hybrids = self._hybrids(walk[some][here], feature[some][here])
                reached[some][here], is_known = self._question.score.in_time(hybrids, self._ahead)
                self.is_cut[walk[some][here[~is_known]]] = True
        return reached

    def _errors_of(self, walk: Ints, feature: Ints) -> Floats | None:
        """Return how implausible the hybrids with one more swap are; None if that does not count."""
        if self._error is None:
            return None
        chunks = _chunks(len(walk), self.current.shape[1])
        return np.concatenate([np.empty(0), *(self._error(self._hybrids(walk[at], feature[at])) for at in chunks)])

    def _hybrids(self, walk: Ints, feature: Ints) -> Floats:
        hybrids = self.current[walk]
        self._groups.swap(hybrids, self._donors[walk], feature)
        return hybrids

    def _ahead(self) -> Floats:
        """Hybrids that the next rounds may want."""
        active, budget = self.active, self._question.score.cost.rows_worth_a_call
        return hybrids_ahead(
            self.current[active], self._donors[active], self._left[active], budget=budget, groups=self._groups
        )

    def _move(self, moved: Ints, swapped: Ints, reached: Floats) -> None:
        hybrids = self.current[moved]
        self._groups.swap(hybrids, self._donors[moved], swapped)
        self.current[moved] = hybrids
        self.outputs[moved] = reached
        self._left[moved, swapped] = False
        line, features = np.nonzero(self._groups.moving(swapped, self._unlike[moved]))
        self.steps.append((moved[line], features, reached[line]))


def _chunks(n_hybrids: int, n_features: int) -> Iterator[slice]:
    """Hybrids in pieces that the model takes in one call: all of them at once need not fit into memory."""
    size = max(1, classifier.CELLS_PER_CALL // n_features)
    return (slice(at, at + size) for at in range(0, n_hybrids, size))


def _best_of_each_walk(walk: Ints, reward: Floats) -> Ints:
    """The place of the highest reward of each walk; the first (leftmost) on a tie. ``walk`` is sorted."""
    order = np.lexsort((np.arange(len(walk)), -reward, walk))
    return order[np.unique(walk[order], return_index=True)[1]]
