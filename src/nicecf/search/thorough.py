"""`search="thorough"`: what the searches of all rows start from, and what is chosen of all they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nicecf import rewards
from nicecf._typing import Bools, Floats, Ints
from nicecf.classifier import CELLS_PER_CALL
from nicecf.decision import Jury
from nicecf.distance import Heom
from nicecf.neighbors import DonorIndex
from nicecf.schema import differs, with_own_cells
from nicecf.scorer import Scorer
from nicecf.search.answers import Answers, Points, by_row
from nicecf.search.donors import Donors, DonorSearch, Seekers
from nicecf.search.front import Front, best_first, unlike
from nicecf.search.greedy import Walks, walk_greedily
from nicecf.search.lattice import Hybrids, Lattices, joined
from nicecf.search.row_search import WHOLE_LATTICES, RowSearch, in_lock_step
from nicecf.search.single_changes import DonorValues
from nicecf.search.step_back import step_back

_NEIGHBORS = 100
# Rows whose donors are looked for together: few enough that the first of them are searched soon.
_BLOCK = 256

Walk = Callable[..., Walks]


@dataclass(frozen=True, eq=False)
class Thorough:
    """The thorough search with its options: how many donors, the objective, how many counterfactuals are wanted.

    ``neighbors=None`` is a number that suits most tables, and single changes towards all donors besides; that there are
    fewer donors is then nothing to tell.
    """

    search: DonorSearch
    donor_values: DonorValues
    distance: Heom
    neighbors: int | None
    objective: str
    n_wanted: int
    # Rows that may not be handed out, though the model accepts them.
    is_refused: Callable[[Floats], Bools] | None = None
    # Whether all that nothing beats is asked for, or the best alone.
    wants_front: bool = True

    @property
    def index(self) -> DonorIndex:
        """All donors."""
        return self.search.index

    @property
    def jury(self) -> Jury:
        """The models that must agree."""
        return self.search.jury

    def __call__(
        self,
        seekers: Seekers,
        donors: Donors,
        *,
        score: Scorer,
        error: Callable[[Floats], Floats],
        report: Callable[[int], None],
    ) -> Answers:
        """Search for each row; ``donors`` are their nearest accepted donors, as far as there are any.

        For want of time, the answer of a row is the paper's, or the donor. A row has none if under the rules none was
        found.
        """
        rows, row_outputs = seekers.rows, seekers.outputs
        walk = partial(self._walk, score=score, error=error)
        has_donor = np.flatnonzero(donors.place >= 0)
        own = rewards.BY_NAME.get(self.objective, rewards.BY_NAME["sparsity"]).reward
        # Not for plausibility: the paper's walk may end at a row that is less plausible than the donor.
        reward = None if rewards.needs_plausibility(own) else own
        known = walk(reward, seekers.take(has_donor), donors.take(has_donor))
        searches = self._searches(seekers, donors, walk, score)
        nothing = Points(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), rows[:0], row_outputs[:0])
        chosen, fronts, beyond = [nothing], [nothing], [nothing]
        notes = np.full(len(rows), None, dtype=object)
        at_once = max(1, CELLS_PER_CALL // (WHOLE_LATTICES * rows.shape[1]))
        done = in_lock_step(searches, score=score, error=error, at_once=at_once, is_out_of_time=score.is_out_of_time)
        is_searched = np.zeros(len(rows), dtype=bool)
        for n_done, ((i, places), search) in enumerate(done, 1):
            is_searched[i] = True
            report(n_done)
            # What changes too many features beats nothing that does not: the front of those is not missing any.
            most = max(seekers.most_changes, int(search.alone.changes.min(initial=len(rows[i]))))
            found = search.alone.take(search.alone.changes <= most)
            best = found.take(self._best_first(search, found, seekers.most_changes)[:1])
            if most > seekers.most_changes:
                beyond.append(_points(i, places, search.lattices, best))
                continue
            if self.n_wanted > 1 and len(best):
                # The best alone comes first, whatever else was found on the way to the others.
                others = search.found.take(search.found.changes <= most)
                found = joined([found, others])
                in_order = joined([best, others.take(self._best_first(search, others, seekers.most_changes))])
                best = in_order.take(unlike(in_order, np.arange(len(in_order)), self.n_wanted))
            chosen.append(_points(i, places, search.lattices, best))
            fronts.append(_points(i, places, search.lattices, found.take(Front(by_features=False).of(found))))
            notes[i] = self._note(search, n_found=len(best))
        left = np.flatnonzero(~is_searched[has_donor] & seekers.keep_to_limit(has_donor, known.values))
        for i, is_cut in zip(has_donor[left].tolist(), known.is_cut[left].tolist(), strict=True):
            notes[i] = self._note_for_want_of_time(is_donor=reward is None or is_cut)
        chosen.append(Points(has_donor[left], donors.place[has_donor[left]], known.values[left], known.outputs[left]))
        fronts.append(chosen[-1])
        points = by_row(chosen)
        walks = walk_greedily(
            rows[points.row],
            row_outputs[points.row],
            points.values,
            points.outputs,
            seekers.wanted[points.row],
            jury=self.jury,
            score=score,
            reward=rewards.sparsity,
            distance=self.distance,
            groups=seekers.groups,
            to_the_end=True,
        )
        return Answers(points, walks, notes, by_row(fronts), by_row(beyond))

    def _best_first(self, search: RowSearch, hybrids: Hybrids, most_changes: int) -> Ints:
        # Where NICE(spars) has no answer, or none that may be handed out, there is nothing to balance against.
        reference = search.start.take(slice(0, min(1, search.n_known)))
        is_kept_back = self.is_refused is not None and self.is_refused(search.lattices.values(reference)).any()
        has_reference = len(reference) and not is_kept_back and reference.changes[0] <= most_changes
        objective = self.objective if has_reference else self.objective.replace("balanced", "sparsity")
        return best_first(objective, hybrids, reference)

    def _searches(
        self,
        seekers: Seekers,
        donors: Donors,
        walk: Walk,
        score: Scorer,
    ) -> Iterator[tuple[tuple[int, Ints], RowSearch]]:
        """The searches of all rows, each with the number of its row and the places of its donors.

        Prepared in blocks, when it is their turn: the donors of a million rows would not fit into memory.
        """
        rows, wanted, rules, groups = seekers.rows, seekers.wanted, seekers.rules, seekers.groups
        # Where the nearest donor may be of no use, the greedy search falls back on many donors: this looks at no fewer.
        is_ruled = rules is not None and (rules.can_block or seekers.most_changes < rows.shape[1])
        is_wide = self.neighbors is None or is_ruled or self.is_refused is not None
        k = min(max(self.neighbors or 0, _NEIGHBORS if is_wide else 0), len(self.index.values))
        block = max(1, min(_BLOCK, CELLS_PER_CALL // max(k, rows.shape[1])))
        for at in range(0, len(rows), block):
            if score.is_out_of_time():
                return
            some = np.arange(at, min(at + block, len(rows)))
            some_rules = None if rules is None else rules.take(some)
            in_target = self.search.in_target(wanted[some])
            nearest, _ = self.index.nearest_many(rows[some], in_target, k=k, rules=some_rules)
            # NICE(spars), the reference of "balanced", comes first; NICE(none) is the nearest donor.
            walked = some[donors.place[some] >= 0]
            walks = [
                walk(reward, seekers.take(walked), donors.take(walked))
                for reward in (rewards.sparsity, rewards.proximity, rewards.plausibility)
            ]
            if self.is_refused is not None:
                walks = [self._stepped_back(each, seekers.take(walked), score) for each in walks]
            scores = self.jury.scores(seekers.outputs[some], wanted[some])
            for j, i in enumerate(some.tolist()):
                if score.is_out_of_time():
                    return
                near, own = nearest[j][nearest[j] >= 0], donors.place[[i]]
                near = np.concatenate([own[own >= 0], near[near != own]])
                others, features = self.donor_values.towards(rows[i], wanted[i]) if is_wide else (near[:0], near[:0])
                mine = np.concatenate([near, others])
                values = as_they_are = self.index.values[mine]
                if rules is not None:
                    values = rules.project(np.full(len(mine), i), as_they_are)
                lattices = Lattices(
                    rows[i], values, self.distance, n_near=len(near), width=self.jury.width, groups=groups
                )
                singles = lattices.single(len(near) + np.arange(len(others)), features)
                outputs = self.search.outputs[near]
                _, is_new = with_own_cells(np.broadcast_to(rows[i], values.shape), values)
                is_known = ~(is_new | differs(values, as_they_are).any(axis=1))[: len(near)]
                start, n_asked = [], 0
                if own[0] >= 0:
                    at_walk = int(np.searchsorted(walked, i))
                    paper = lattices.towards(0, np.array([each.values[at_walk] for each in walks]))
                    start.append(paper.scored(np.array([each.outputs[at_walk] for each in walks])))
                    outputs[0], is_known[0] = donors.outputs[i], True
                    n_asked = len(paper) + 1
                start.append(lattices.ends().scored(outputs).take(is_known))
                yield (
                    (i, mine),
                    RowSearch(
                        lattices,
                        joined(start),
                        scores[j],
                        wanted[i],
                        singles,
                        self.jury,
                        self.is_refused,
                        n_asked=n_asked,
                        check=partial(self._check, mine),
                        alternatives=self.n_wanted > 1,
                        only_sparsest=self.objective == "sparsity" and not self.wants_front,
                    ),
                )

    def _stepped_back(self, walks: Walks, seekers: Seekers, score: Scorer) -> Walks:
        """The walks, but those that ended at a row that may not be handed out a little nearer to their own."""
        assert self.is_refused is not None
        ends = Points(np.arange(len(walks.values)), np.full(len(walks.values), -1), walks.values, walks.outputs)
        refused = ends.take(self.is_refused(ends.values))
        back = step_back(
            seekers, refused, jury=self.jury, score=score, distance=self.distance, is_refused=self.is_refused
        )
        values, outputs = walks.values.copy(), walks.outputs.copy()
        values[back.row], outputs[back.row] = back.values, back.outputs
        return replace(walks, values=values, outputs=outputs)

    def _check(self, places: Ints, hybrids: Hybrids, outputs: Floats) -> None:
        """Raise ModelError if the model says something else of whole donors of a row than at ``fit``."""
        self.search.check_unchanged(places[hybrids.donor], outputs)

    def _walk(
        self,
        reward: Callable[[rewards.Round], Floats] | None,
        seekers: Seekers,
        donors: Donors,
        *,
        score: Scorer,
        error: Callable[[Floats], Floats],
    ) -> Walks:
        """The paper's walk of each row to a donor; without a reward the donor itself."""
        return walk_greedily(
            seekers.rows,
            seekers.outputs,
            donors.values,
            donors.outputs,
            seekers.wanted,
            jury=self.jury,
            score=score,
            reward=reward,
            distance=self.distance,
            error=error,
            groups=seekers.groups,
        )

    def _note_for_want_of_time(self, *, is_donor: bool) -> str:
        what = "the donor itself" if is_donor else "the paper's answer"
        fewer = f"; 1 of {self.n_wanted} counterfactuals" if self.n_wanted > 1 else ""
        return f"time_budget was used up before the search began: this is {what}{fewer}"

    def _note(self, search: RowSearch, n_found: int) -> str | None:
        notes = []
        n_donors = search.lattices.n_near
        if self.neighbors is not None and n_donors < self.neighbors:
            notes.append(f"{n_donors} of {self.neighbors} neighbors: there are no more donors")
        if not search.is_done:
            notes.append("time_budget was used up before the search ended")
        elif not search.is_exhaustive:
            notes.append(
                f"beam and local search: for {search.n_large} of {n_donors} donors there are too many hybrids to look "
                "at every one"
            )
        if 0 < n_found < self.n_wanted:
            notes.append(
                f"{n_found} of {self.n_wanted} counterfactuals: no more that change unlike features were found"
            )
        return "; ".join(notes) or None


def _points(i: int, donors: Ints, lattices: Lattices, hybrids: Hybrids) -> Points:
    """Some of what the search of row ``i`` found; ``donors`` are the places of its donors in the index."""
    row = np.full(len(hybrids), i)
    return Points(row, donors[hybrids.donor], lattices.values(hybrids), hybrids.outputs)
