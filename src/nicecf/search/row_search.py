"""Beyond the paper: many donors, every hybrid of small lattices, beam and local search in large ones.

The search of one row is written as if the row were alone: a generator that asks for errors and for scores where it
needs them. `in_lock_step` runs the searches of many rows side by side and answers all of them with one call.

Changes, distance and error of a hybrid are known before the model is asked. So the model is only asked about hybrids
that no valid one beats in all three, the most promising first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Literal, TypeAlias, TypeVar

import numpy as np

from nicecf._typing import Bools, Floats
from nicecf.decision import Jury
from nicecf.scorer import OutOfTime
from nicecf.search.front import Front, Sparsest, orders
from nicecf.search.lattice import Hybrids, Lattices, joined

# What a search asks for: the errors of float rows, or the model's outputs.
Request: TypeAlias = tuple[Literal["error", "score"], Floats]
Search: TypeAlias = Generator[Request, Floats, None]
Label = TypeVar("Label")

# The hybrids of whole lattices, nearest donors first, that are looked at for one row.
WHOLE_LATTICES = 4096
# The hybrids with one change towards the other donors.
FIRST_STEPS = 4096
# Questions to the model for one row: in the beam, and around what was found.
IN_BEAM = 1500
AROUND = 1500

# The first questions about a lattice: so many of the best by each objective; then twice as many, and so on.
_BEST = 32
# Around what was found: about so many hybrids are looked at in a round, and so many by each objective asked about.
_LOOKED_AT, _NEIGHBORS = 1024, 128


class RowSearch:
    """The thorough search for one row.

    ``found`` are the valid hybrids worth keeping. They only get better, and the search can be stopped at any time:
    to begin with they are of ``start``, whose errors must be measured first. The first ``n_asked`` of those are known
    to be valid; the others, donors, were so at ``fit``, and ``check`` compares what the model says of them now with
    that. With ``alternatives``, a second search follows, for hybrids that change unlike features: then these are
    ``found``. ``is_exhaustive`` if there are not too many hybrids to look at every one; for ``n_large`` donors there
    are. ``is_refused``: rows that may not be found, though they are valid. ``only_sparsest``: of all that is found,
    nobody asks for more than the best by sparsity; it is the same one, for fewer questions.
    """

    def __init__(
        self,
        lattices: Lattices,
        start: Hybrids,
        score: float,
        wanted: Bools,
        singles: Hybrids,
        jury: Jury,
        is_refused: Callable[[Floats], Bools] | None = None,
        *,
        n_asked: int,
        check: Callable[[Hybrids, Floats], None],
        alternatives: bool = False,
        only_sparsest: bool = False,
    ) -> None:
        self.lattices = lattices
        self.start = start
        self.found = start.take(slice(0, n_asked))
        self.n_known = n_asked
        self._recorded = start.take(slice(n_asked, None))
        self._check = check
        self.is_measured = self.is_done = False
        sizes = 2.0 ** np.minimum(lattices.sizes, 60)
        self._is_whole = np.cumsum(sizes) <= WHOLE_LATTICES
        large = np.flatnonzero(~self._is_whole)
        self._large = large[: 1 + np.count_nonzero(np.cumsum(lattices.sizes[large]) <= FIRST_STEPS)]
        self.n_large = len(large)
        self.is_exhaustive = not self.n_large
        self._score = score
        self._wanted = wanted
        self._whole_front = Front(by_features=False)
        self._wants_alternatives = alternatives
        self._only_sparsest = only_sparsest
        self._singles = singles
        self._jury = jury
        self._is_refused = is_refused
        self._alone: Hybrids | None = None
        self._seen: set[int] = set()
        self._n_asked = 0
        self._not_valid: list[Hybrids] = []

    @property
    def alone(self) -> Hybrids:
        """What is found where no alternatives are asked for: the same with and without them."""
        return self.found if self._alone is None else self._alone

    def run(self) -> Search:
        """Search until nothing is left to ask for."""
        self.start = yield from self._measured(self.start)
        self._begin()
        self.is_measured = True
        hybrids = yield from self._measured(self._new(self._first_hybrids()))
        yield from self._search(hybrids)
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
        self._keep(self.start.take(slice(0, self.n_known)))
        recorded = self.start.take(slice(self.n_known, None))
        recorded = recorded.take(~self._front.beats(self.found, recorded))
        self._recorded = recorded.take(self._front.of(recorded))

    def _search(self, hybrids: Hybrids) -> Search:
        yield from self._enumerate(hybrids)
        if len(self._recorded):
            yield from self._ask(self.start.take(slice(0, 0)))
        if not self.is_exhaustive and not self._has_sparsest:
            yield from self._beam()
            yield from self._look_around()

    @property
    def _has_sparsest(self) -> bool:
        """Whether nothing that is sparser, or as sparse and nearer, is left to find once small steps are enumerated."""
        has_all_steps = len(self._large) == self.n_large
        return self._only_sparsest and has_all_steps and bool((self.found.changes == 1).any())

    @property
    def _front(self) -> Front | Sparsest:
        """What is worth asking about. Where a beam follows, it walks on from what others leave out, if need be."""
        is_enough = self._only_sparsest and (self.is_exhaustive or self._has_sparsest)
        return Sparsest() if is_enough else self._whole_front

    def _first_hybrids(self) -> Hybrids:
        """Small lattices as a whole, of the others the hybrids with one change; single changes to farther donors."""
        sizes = self.lattices.sizes
        whole, large = np.flatnonzero(self._is_whole), self._large
        donors = np.concatenate([whole, large])
        most = np.concatenate([sizes[whole], np.ones_like(large)])
        return joined([self.lattices.up_to(donors, most), self._singles])

    def _enumerate(self, hybrids: Hybrids) -> Search:
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

    def _beam(self) -> Search:
        """Walk on from the best hybrids that are not valid yet."""
        last = self._n_asked + IN_BEAM
        hybrids = joined(self._not_valid) if self._not_valid else self.found.take(slice(0, 0))
        # Ends: each round adds a swap to every hybrid, and asks for one at least.
        while len(hybrids) and self._n_asked < last:
            hybrids = self._new(self.lattices.further(self._closest_to_valid(hybrids)))
            hybrids = self._unbeaten((yield from self._measured(hybrids)))
            hybrids = yield from self._ask(hybrids)

    def _closest_to_valid(self, hybrids: Hybrids) -> Hybrids:
        """The hybrids with the highest scores, and with the highest gain in score per distance."""
        # As wide as the questions allow for a walk that is no longer than the shortest known one.
        rounds = max(2, int(self.found.changes.min()) if len(self.found) else 0)
        width = int(np.clip(IN_BEAM / (self.lattices.sizes.mean() * rounds), 4, 24))
        scores = self._jury.scores(hybrids.outputs, self._wanted)
        gains = (scores - self._score) / np.maximum(hybrids.distances, 1e-12)
        by_score, by_gain = (np.argsort(-by, kind="stable") for by in (scores, gains))
        return hybrids.take(np.union1d(by_score[:width], by_gain[: width // 2]))

    def _look_around(self) -> Search:
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

    def _measured(self, hybrids: Hybrids) -> Generator[Request, Floats, Hybrids]:
        if not len(hybrids):
            return hybrids
        if self._only_sparsest:  # nobody compares errors
            return hybrids.measured(np.zeros(len(hybrids)))
        return hybrids.measured((yield "error", self.lattices.values(hybrids)))

    def _ask(self, hybrids: Hybrids) -> Generator[Request, Floats, Hybrids]:
        """Ask the model about hybrids; keep the valid ones, return the others. Donors ride along in the first call."""
        recorded, self._recorded = self._recorded, self._recorded.take(slice(0, 0))
        if not len(hybrids) and not len(recorded):
            return hybrids
        outputs = yield "score", self.lattices.values(joined([recorded, hybrids]))
        if len(recorded):
            self._check(recorded, outputs[: len(recorded)])
            recorded = recorded.scored(outputs[: len(recorded)])
            self._keep(joined([self.found, recorded.take(self._jury.accepts(recorded.outputs, self._wanted))]))
        hybrids = hybrids.scored(outputs[len(recorded) :])
        self._seen.update(hybrids.keys.tolist())
        self._n_asked += len(hybrids)
        is_valid = self._jury.accepts(hybrids.outputs, self._wanted)
        if is_valid.any():
            self._keep(joined([self.found, hybrids.take(is_valid)]))
        self._not_valid.append(hybrids.take(~is_valid))
        return self._not_valid[-1]

    def _keep(self, hybrids: Hybrids) -> None:
        if self._is_refused is not None:
            hybrids = hybrids.take(~self._is_refused(self.lattices.values(hybrids)))
        self.found = hybrids.take(self._front.of(hybrids))


def in_lock_step(
    searches: Iterable[tuple[Label, RowSearch]],
    *,
    score: Callable[[Floats], Floats],
    error: Callable[[Floats], Floats],
    at_once: int,
    is_out_of_time: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Label, RowSearch]]:
    """Run labelled searches side by side, ``at_once`` of them at a time; each comes back when it is done.

    When time is up, all come back as they are, but for those whose start is not measured yet.
    """
    waiting = iter(searches)
    running: list[_Running[Label]] = []
    while True:
        begun = [_Running.of(label, search) for label, search in islice(waiting, at_once - len(running))]
        if not begun and not running:
            return
        yield from ((one.label, one.search) for one in begun if one.search.is_done)
        running += [one for one in begun if not one.search.is_done]
        for kind, function in (("error", error), ("score", score)):
            asking = [one for one in running if one.request[0] == kind]
            running = [one for one in running if one.request[0] != kind]
            if not asking:
                continue
            try:
                if is_out_of_time():
                    raise OutOfTime
                answers = function(np.concatenate([one.request[1] for one in asking]))
            except OutOfTime:
                yield from ((one.label, one.search) for one in asking if one.search.is_measured)
                continue
            at = 0
            for one in asking:
                n_rows = len(one.request[1])
                if one.goes_on(answers[at : at + n_rows]):
                    running.append(one)
                else:
                    yield one.label, one.search
                at += n_rows


@dataclass
class _Running(Generic[Label]):
    """A search that waits for an answer."""

    label: Label
    search: RowSearch
    steps: Search
    request: Request

    @classmethod
    def of(cls, label: Label, search: RowSearch) -> _Running[Label]:
        steps = search.run()
        # Without a start, and with no hybrid to look at, it asks for nothing.
        return cls(label, search, steps, next(steps, ("error", search.lattices.row[None])))

    def goes_on(self, answer: Floats) -> bool:
        try:
            self.request = self.steps.send(answer)
        except StopIteration:
            return False
        return True


def _best_of_each(hybrids: Hybrids, count: int) -> Bools:
    """Which hybrids are among the best by changes, by distance or by error."""
    chosen = np.zeros(len(hybrids), dtype=bool)
    for order in orders(hybrids):
        chosen[order[:count]] = True
    return chosen


def _not_among(keys: set[int], hybrids: Hybrids) -> Bools:
    return np.array([key not in keys for key in hybrids.keys.tolist()], dtype=bool)
