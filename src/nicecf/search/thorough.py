"""`search="thorough"`: what the searches of all rows start from, and what is chosen of all they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from nicecf import rewards
from nicecf._typing import Bools, Floats, Ints
from nicecf.classifier import CELLS_PER_CALL, score_towards
from nicecf.distance import Heom
from nicecf.neighbors import DonorIndex
from nicecf.scorer import Scorer
from nicecf.search.answers import Answers, Points
from nicecf.search.front import Front, best_first, unlike
from nicecf.search.greedy import Walks, walk_greedily
from nicecf.search.lattice import Hybrids, Lattices, joined
from nicecf.search.row_search import WHOLE_LATTICES, RowSearch, in_lock_step

_NEIGHBORS = 100


@dataclass(frozen=True, eq=False)
class Thorough:
    """The thorough search with its options: how many donors, the objective, how many counterfactuals are wanted.

    ``neighbors=None`` is a number that suits most tables; that there are fewer donors is then nothing to tell.
    """

    index: DonorIndex
    donor_probabilities: Floats
    distance: Heom
    neighbors: int | None
    objective: str
    n_wanted: int

    def __call__(
        self,
        rows: Floats,
        row_probabilities: Floats,
        wanted: Bools,
        *,
        score: Scorer,
        error: Callable[[Floats], Floats],
        report: Callable[[int], None],
    ) -> Answers:
        """Search for each row, which must have a donor."""
        donors, _ = self.index.nearest_many(rows, wanted, k=self.neighbors or _NEIGHBORS)
        paper = self._walks_of_the_paper(rows, row_probabilities, donors[:, 0], wanted, score, error)
        scores = score_towards(row_probabilities, wanted)
        front = Front(by_features=self.n_wanted > 1)

        def searches() -> Iterator[tuple[int, RowSearch]]:
            for i, row in enumerate(rows):
                mine = donors[i][donors[i] >= 0]
                lattices = Lattices(row, self.index.values[mine], self.distance, n_classes=wanted.shape[1])
                start = self._start(
                    lattices, mine, [walks.values[i] for walks in paper], [walks.probabilities[i] for walks in paper]
                )
                yield i, RowSearch(lattices, start, scores[i], wanted[i], front, score.is_out_of_time)

        chosen: list[Points] = []
        fronts: list[Points] = []
        notes = np.full(len(rows), None, dtype=object)
        at_once = max(1, CELLS_PER_CALL // (WHOLE_LATTICES * rows.shape[1]))
        for n_done, (i, search) in enumerate(in_lock_step(searches(), score=score, error=error, at_once=at_once), 1):
            order = best_first(self.objective, search.found, search.start.take(slice(0, 1)))
            best = order[:1] if self.n_wanted == 1 else unlike(search.found, order, self.n_wanted)
            chosen.append(self._points(i, search, best, donors[i]))
            fronts.append(self._points(i, search, Front(by_features=False).of(search.found), donors[i]))
            notes[i] = self._note(search, n_found=len(best))
            report(n_done)
        nothing = Points(donors[:0, 0], donors[:0, 0], rows[:0], row_probabilities[:0])
        points = _by_row(chosen, nothing)
        walks = walk_greedily(
            rows[points.row],
            row_probabilities[points.row],
            points.values,
            points.probabilities,
            wanted[points.row],
            score=score,
            reward=rewards.sparsity,
            distance=self.distance,
            to_the_end=True,
        )
        return Answers(points, walks, notes, _by_row(fronts, nothing))

    def _walks_of_the_paper(
        self,
        rows: Floats,
        row_probabilities: Floats,
        donors: Ints,
        wanted: Bools,
        score: Scorer,
        error: Callable[[Floats], Floats],
    ) -> list[Walks]:
        """NICE(spars), NICE(prox) and NICE(plaus); NICE(none) is the donor."""
        return [
            walk_greedily(
                rows,
                row_probabilities,
                self.index.values[donors],
                self.donor_probabilities[donors],
                wanted,
                score=score,
                reward=reward,
                distance=self.distance,
                error=error if rewards.needs_plausibility(reward) else None,
            )
            for reward in rewards.BY_NAME.values()
        ]

    def _start(
        self, lattices: Lattices, donors: Ints, walked: Sequence[Floats], probabilities: Sequence[Floats]
    ) -> Hybrids:
        """The paper's answers, NICE(spars) first, and all donors."""
        walks = lattices.towards(0, np.array(walked)).scored(np.array(probabilities))
        return joined([walks, lattices.ends().scored(self.donor_probabilities[donors])])

    def _points(self, i: int, search: RowSearch, places: Ints, donors: Ints) -> Points:
        hybrids = search.found.take(places)
        row = np.full(len(hybrids), i)
        return Points(row, donors[hybrids.donor], search.lattices.values(hybrids), hybrids.probabilities)

    def _note(self, search: RowSearch, n_found: int) -> str | None:
        notes = []
        n_donors = len(search.lattices.donors)
        if self.neighbors is not None and n_donors < self.neighbors:
            notes.append(f"{n_donors} of {self.neighbors} neighbors: there are no more donors")
        if not search.is_done:
            notes.append("time_budget was used up before the search ended")
        elif not search.is_exhaustive:
            notes.append(
                f"beam and local search: the lattices of {search.n_large} of {n_donors} donors are too large to look "
                "at every hybrid"
            )
        if n_found < self.n_wanted:
            notes.append(
                f"{n_found} of {self.n_wanted} counterfactuals: no more that change unlike features were found"
            )
        return "; ".join(notes) or None


def _by_row(parts: list[Points], nothing: Points) -> Points:
    """All points, ordered by row."""
    parts = [nothing, *sorted(parts, key=lambda part: int(part.row[0]))]
    return Points(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Points)))
