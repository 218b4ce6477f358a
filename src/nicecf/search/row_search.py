"""Beyond the paper: many donors, every hybrid of small lattices, beam and local search in large ones.

The search of one row is written as if the row were alone: a generator that asks for errors and for scores where it
needs them. `lock_step` runs the searches of many rows side by side and answers all of them with one call.

Changes, distance and error of a hybrid are known before the model is asked. So the model is only asked about hybrids
that no valid one beats in all three, the most promising first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from nicecf.models.decision import Panel
from nicecf.models.scorer import OutOfTime
from nicecf.search.front import Front, Sparsest, orders
from nicecf.search.lattice import Hybrids, Lattices, joined
from nicecf.search.lock_step import RowSteps
from nicecf.support.types import Bools, Floats

# The hybrids of whole lattices, nearest donors first, that are looked at for one row.
WHOLE_LATTICES = 4096
# The hybrids with one change towards the other donors.
FIRST_STEPS = 4096
# Questions to the model for one row: in the beam, and around what was found.
IN_BEAM = 1500
AROUND = 1500
# The same of the climb towards the lowest cost, and the hybrids that it looks at.
CLIMBING = 500
CLIMBED = 2**14

# The first questions about a lattice: so many of the best by each objective; then twice as many, and so on.
_BEST = 32
# Around what was found: about so many hybrids are looked at in a round, and so many by each objective asked about.
_LOOKED_AT, _NEIGHBORS = 1024, 128
# The climb goes on from so many of the best at a time, and asks about so many in a round.
_CLIMBERS, _CLIMBERS_ASK = 32, 64

# What a hybrid costs by an objective, one number for each of some.
Cost: TypeAlias = Callable[[Hybrids], Floats]


@dataclass(frozen=True, eq=False)
class RowTask:
    """What the search of one row starts from.

    ``start``: hybrids whose outputs are known; the first ``n_asked`` of them are known to be valid, the others, donors,
    were so at ``fit``, and ``check`` compares what the model says of them now with that. ``score``: of the row itself.
    ``singles``: hybrids with one change towards farther donors. ``is_refused``: rows that may not be found, though they
    are valid. With ``alternatives``, a second search follows, for hybrids that change other features.
    ``only_sparsest``: of all that is found, nobody asks for more than the best by sparsity; it is the same one, for
    fewer questions.
    ``cost``: what is to be lowest, if the front of the nearest donors is no way to it; then ``n_donors`` is the number
    of donors, the nearest ones first, whose hybrids are looked at for it. ``most_changes``: how many features of an
    answer may change.
    """

    lattices: Lattices
    start: Hybrids
    n_asked: int
    score: float
    wanted: Bools
    singles: Hybrids
    panel: Panel
    accepts: Callable[[Floats, Floats], Bools]
    check: Callable[[Hybrids, Floats], None]
    is_refused: Callable[[Floats], Bools] | None = None
    alternatives: bool = False
    only_sparsest: bool = False
    cost: Cost | None = None
    n_donors: int = 0
    most_changes: int | None = None


class RowSearch:
    """The thorough search for one row.

    ``found`` are the valid hybrids worth keeping. They only get better, and the search can be stopped at any time:
    to begin with they are of ``start``, whose errors must be measured first. ``is_exhaustive`` if there are not too
    many hybrids to look at every one; for ``n_large`` donors there are.
    """

    def __init__(self, task: RowTask) -> None:
        lattices = task.lattices
        self.lattices = lattices
        self.start = task.start
        self.n_known = task.n_asked
        self.found = task.start.take(slice(0, task.n_asked))
        self._recorded = task.start.take(slice(task.n_asked, None))
        self._check = task.check
        self._accepts = task.accepts
        self.is_measured = self.is_done = False
        sizes = 2.0 ** np.minimum(lattices.sizes, 60)
        self._is_whole = np.cumsum(sizes) <= WHOLE_LATTICES
        large = np.flatnonzero(~self._is_whole)
        self._large = large[: 1 + np.count_nonzero(np.cumsum(lattices.sizes[large]) <= FIRST_STEPS)]
        # Of donors beyond the nearest ones, no lattice is enumerated.
        self.n_donors = max(task.n_donors, lattices.n_near)
        self.n_large = len(large) + self.n_donors - lattices.n_near
        self.is_exhaustive = not self.n_large
        self._has_large = bool(len(large))
        self._score = task.score
        self._wanted = task.wanted
        self._whole_front = Front(by_features=False)
        self._wants_alternatives = task.alternatives
        self._only_sparsest = task.only_sparsest
        self._singles = task.singles
        self._panel = task.panel
        self._is_refused = task.is_refused
        self._cost = task.cost
        self._most_changes = task.most_changes
        self._climbed = task.start.take(slice(0, 0))
        self._alone: Hybrids | None = None
        self._seen: set[int] = set()
        self._n_asked = 0
        self._not_valid: list[Hybrids] = []

    @property
    def alone(self) -> Hybrids:
        """What is found where no alternatives are asked for: the same with and without them."""
        return self.found if self._alone is None else self._alone

    def run(self) -> RowSteps[RowSearch]:
        """Search until nothing is left to ask for, or time is up; OutOfTime if not even the start is measured then."""
        try:
            yield from self._run()
        except OutOfTime:
            if not self.is_measured:
                raise
        return self

    def _run(self) -> RowSteps[None]:
        self.start = yield from self._measured(self.start)
        self._begin()
        self.is_measured = True
        hybrids = yield from self._measured(self._new(self._first_hybrids()))
        yield from self._search(hybrids)
        if self._cost is not None and not self.is_exhaustive:
            yield from self._climb(self._cost, hybrids)
        if self._wants_alternatives:
            # From the beginning: what was asked before is remembered, and what was beaten then may be kept now.
            self._alone = self.found
            self._whole_front = Front(by_features=True)
            self._begin()
            yield from self._search(hybrids)
        self.is_done = True

    def _begin(self) -> None:
        self._seen = set(self.start.keys.tolist())
        self._n_asked = 0
        self._not_valid = []
        self._keep(joined([self.start.take(slice(0, self.n_known)), self._climbed]))
        recorded = self.start.take(slice(self.n_known, None))
        recorded = recorded.take(~self._front.beats(self.found, recorded))
        self._recorded = recorded.take(self._front.of(recorded))

    def _search(self, hybrids: Hybrids) -> RowSteps[None]:
        yield from self._enumerate(hybrids)
        if len(self._recorded):
            yield from self._ask(self.start.take(slice(0, 0)))
        if self._has_large and not self._has_sparsest:
            yield from self._beam()
            yield from self._look_around()

    @property
    def _has_sparsest(self) -> bool:
        """Whether nothing that is sparser, or as sparse and nearer, is left to find once small steps are enumerated."""
        has_all_steps = len(self._large) == np.count_nonzero(~self._is_whole)
        return self._only_sparsest and has_all_steps and bool((self.found.changes == 1).any())

    @property
    def _front(self) -> Front | Sparsest:
        """What is worth asking about. Where a beam follows, it walks on from what others leave out, if need be."""
        is_enough = self._only_sparsest and (not self._has_large or self._has_sparsest)
        return Sparsest() if is_enough else self._whole_front

    def _first_hybrids(self) -> Hybrids:
        """Small lattices as a whole, of the others the hybrids with one change; single changes to farther donors."""
        sizes = self.lattices.sizes
        whole, large = np.flatnonzero(self._is_whole), self._large
        donors = np.concatenate([whole, large])
        most = np.concatenate([sizes[whole], np.ones_like(large)])
        return joined([self.lattices.up_to(donors, most), self._singles])

    def _climb(self, cost: Cost, hybrids: Hybrids) -> RowSteps[None]:
        """Improve the best by one cost alone: one swap more or less, or the same swaps towards any of the donors.

        What nothing beats in changes, distance and error is mostly near the row. The lowest error is often far away,
        near a donor that the front would never lead to; from there it is a few steps.
        """
        ends = yield from self._measured(self._new(self.lattices.ends(np.arange(self.n_donors))))
        valid = self._within(joined([self.start, self.found]).distinct())
        waiting = self._within(self._new(joined([hybrids, ends])))
        n_before, looked_at, done = len(valid), set(joined([valid, waiting]).keys.tolist()), set[int]()
        last, most = self._n_asked + CLIMBING, len(looked_at) + CLIMBED
        # Ends: every round asks about hybrids that were not asked about before, or goes on from new ones.
        while self._n_asked < last and len(looked_at) < most:
            allowed = _cheapest(cost, self._allowed(valid))
            best = joined([_cheapest(cost, valid), allowed]).distinct()
            centers = best.take(_not_among(done, best)).take(slice(0, max(1, CLIMBED // (4 * self.n_donors))))
            if len(centers):
                done.update(centers.keys.tolist())
                more = self.lattices.beside(centers, np.arange(self.n_donors)).distinct()
                more = yield from self._measured(more.take(_not_among(looked_at, more)))
                looked_at.update(more.keys.tolist())
                waiting = joined([waiting, self._within(more)])
            costs = cost(waiting)
            order = np.argsort(costs, kind="stable")
            # Only from the best ones the climb goes on: what is not among them need not be asked about.
            bound = cost(allowed)[-1] if len(allowed) == _CLIMBERS else np.inf
            waiting = waiting.take(order[costs[order] < bound])
            if not len(waiting) and not len(centers):
                break
            answered, _ = yield from self._ask(waiting.take(slice(0, _CLIMBERS_ASK)))
            waiting = waiting.take(slice(_CLIMBERS_ASK, None))
            valid = joined([valid, answered])
        self._climbed = self._allowed(valid.take(slice(n_before, None)))

    def _within(self, hybrids: Hybrids) -> Hybrids:
        """Those that change no more features than may change."""
        return hybrids if self._most_changes is None else hybrids.take(hybrids.changes <= self._most_changes)

    def _allowed(self, hybrids: Hybrids) -> Hybrids:
        if self._is_refused is None or not len(hybrids):
            return hybrids
        return hybrids.take(~self._is_refused(self.lattices.values(hybrids)))

    def _enumerate(self, hybrids: Hybrids) -> RowSteps[None]:
        """Ask about all that nothing beats, the best first."""
        is_open = np.ones(len(hybrids), dtype=bool)
        sorted_once, known, count = orders(hybrids), None, _BEST
        # Ends: every turn asks about one at least, of those that are left.
        while True:
            if self.found is not known:
                known = self.found
                is_open[is_open] = ~self._front.beats(known, hybrids.take(is_open))
            sorted_once = [order[is_open[order]] for order in sorted_once]
            if not len(sorted_once[0]):
                return
            chosen = np.unique(np.concatenate([order[:count] for order in sorted_once]))
            yield from self._ask(hybrids.take(chosen))
            is_open[chosen] = False
            count *= 2

    def _beam(self) -> RowSteps[None]:
        """Walk on from the best hybrids that are not valid yet."""
        last = self._n_asked + IN_BEAM
        hybrids = joined(self._not_valid) if self._not_valid else self.found.take(slice(0, 0))
        # Ends: each round adds a swap to every hybrid, and asks for one at least.
        while len(hybrids) and self._n_asked < last:
            hybrids = self._new(self.lattices.further(self._closest_to_valid(hybrids)))
            hybrids = self._unbeaten((yield from self._measured(hybrids)))
            _, hybrids = yield from self._ask(hybrids)

    def _closest_to_valid(self, hybrids: Hybrids) -> Hybrids:
        """The hybrids with the highest scores, and with the highest gain in score per distance."""
        # As wide as the questions allow for a walk that is no longer than the shortest known one.
        rounds = max(2, int(self.found.changes.min()) if len(self.found) else 0)
        width = int(np.clip(IN_BEAM / (self.lattices.sizes.mean() * rounds), 4, 24))
        scores = self._panel.scores(hybrids.outputs, self._wanted)
        gains = (scores - self._score) / np.maximum(hybrids.distances, 1e-12)
        by_score, by_gain = (np.argsort(-by, kind="stable") for by in (scores, gains))
        return hybrids.take(np.union1d(by_score[:width], by_gain[: width // 2]))

    def _look_around(self) -> RowSteps[None]:
        """Improve what was found by small changes, until nothing improves."""
        last = self._n_asked + AROUND
        done: set[int] = set()
        # Ends: every round looks around hybrids that it has not looked around before, and asks about new ones only.
        while self._n_asked < last:
            centers = self.found.take(_not_among(done, self.found))
            if not len(centers):
                return
            n_around = self.lattices.n_around(centers)
            centers = centers.take(_best_of_each(centers, int(np.clip(_LOOKED_AT / (3 * n_around), 1, 4))))
            done.update(centers.keys.tolist())
            hybrids = self._unbeaten((yield from self._measured(self._new(self.lattices.around(centers)))))
            yield from self._ask(hybrids.take(_best_of_each(hybrids, _NEIGHBORS)))

    def _new(self, hybrids: Hybrids) -> Hybrids:
        """Each hybrid once that was not asked about before."""
        hybrids = hybrids.distinct()
        return hybrids.take(_not_among(self._seen, hybrids))

    def _unbeaten(self, hybrids: Hybrids) -> Hybrids:
        return hybrids.take(~self._front.beats(self.found, hybrids))

    def _measured(self, hybrids: Hybrids) -> RowSteps[Hybrids]:
        if not len(hybrids):
            return hybrids
        if self._only_sparsest:  # nobody compares errors
            return hybrids.measured(np.zeros(len(hybrids)))
        return hybrids.measured((yield "error", self.lattices.values(hybrids)))

    def _ask(self, hybrids: Hybrids) -> RowSteps[tuple[Hybrids, Hybrids]]:
        """Ask the model about hybrids: the valid ones, which are kept, and the others.

        Donors ride along in the first call.
        """
        recorded, self._recorded = self._recorded, self._recorded.take(slice(0, 0))
        if not len(hybrids) and not len(recorded):
            return hybrids, hybrids
        values = self.lattices.values(joined([recorded, hybrids]))
        outputs = yield "score", values
        is_valid = self._accepts(values, outputs)
        if len(recorded):
            self._check(recorded, outputs[: len(recorded)])
            recorded = recorded.scored(outputs[: len(recorded)])
            self._keep(joined([self.found, recorded.take(is_valid[: len(recorded)])]))
        hybrids = hybrids.scored(outputs[len(recorded) :])
        self._seen.update(hybrids.keys.tolist())
        self._n_asked += len(hybrids)
        is_valid = is_valid[len(recorded) :]
        valid, not_valid = hybrids.take(is_valid), hybrids.take(~is_valid)
        if len(valid):
            self._keep(joined([self.found, valid]))
        self._not_valid.append(not_valid)
        return valid, not_valid

    def _keep(self, hybrids: Hybrids) -> None:
        hybrids = self._allowed(hybrids)
        self.found = hybrids.take(self._front.of(hybrids))


def _best_of_each(hybrids: Hybrids, count: int) -> Bools:
    """Which hybrids are among the best by changes, by distance or by error."""
    chosen = np.zeros(len(hybrids), dtype=bool)
    for order in orders(hybrids):
        chosen[order[:count]] = True
    return chosen


def _cheapest(cost: Cost, hybrids: Hybrids) -> Hybrids:
    """The best by a cost, best first: those from which to go on."""
    return hybrids.take(np.argsort(cost(hybrids), kind="stable")[:_CLIMBERS])


def _not_among(keys: set[int], hybrids: Hybrids) -> Bools:
    return np.array([key not in keys for key in hybrids.keys.tolist()], dtype=bool)
