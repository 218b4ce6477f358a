"""The loop of the paper (Algorithm 1, step 3), many rows in lock-step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nicecf import classifier, rewards
from nicecf._typing import Bools, Floats, Ints
from nicecf.decision import Jury
from nicecf.distance import Heom
from nicecf.rewards import Round
from nicecf.schema import differs
from nicecf.scorer import OutOfTime, Scorer
from nicecf.search.groups import Groups
from nicecf.search.lookahead import hybrids_ahead

_NO_GROUPS = Groups()

RowFunction = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Walks:
    """Where the walks ended, and how they got there.

    ``values`` and ``outputs`` have one line per walk; ``is_cut`` where time was up before the end, so that the
    walk jumped to the donor. The steps are a long table, ordered by round: at
    ``step[i]`` the walk ``walk[i]`` took the donor's value of ``feature[i]`` and reached ``reached[i]``.
    """

    values: Floats
    outputs: Floats
    walk: Ints
    feature: Ints
    step: Ints
    reached: Floats
    is_cut: Bools

    def take(self, walks: Ints) -> Walks:
        """Some of the walks, in the order asked for."""
        number = np.full(len(self.values), -1)
        number[walks] = np.arange(len(walks))
        kept = np.flatnonzero(number[self.walk] >= 0)
        return Walks(
            self.values[walks],
            self.outputs[walks],
            number[self.walk[kept]],
            self.feature[kept],
            self.step[kept],
            self.reached[kept],
            self.is_cut[walks],
        )


def jump(rows: Floats, donors: Floats, donor_outputs: Floats) -> Walks:
    """The paper's NICE(none): all of the donor's values at once, in one step."""
    walk, feature = np.nonzero(differs(rows, donors))
    not_cut = np.zeros(len(rows), dtype=bool)
    return Walks(donors, donor_outputs, walk, feature, np.ones_like(walk), donor_outputs[walk], not_cut)


def walk_greedily(
    rows: Floats,
    row_outputs: Floats,
    donors: Floats,
    donor_outputs: Floats,
    wanted: Bools,
    *,
    jury: Jury,
    score: Scorer,
    reward: Callable[[Round], Floats] | None,
    distance: Heom,
    error: RowFunction | None = None,
    groups: Groups = _NO_GROUPS,
    to_the_end: bool = False,
    report: Callable[[int], None] = lambda n_arrived: None,
) -> Walks:
    """Walk each row towards its donor, all rows in lock-step, until the model's decision is a wanted class.

    Every donor must have been put in a wanted class by the model: that is what guarantees an end, and why the donor
    itself is not asked for again. Each round keeps the swap with the highest reward; on a tie the leftmost feature
    wins. At most one call of the model a round, for the hybrids of all walks; where there are few, the call takes the
    hybrids of later rounds along.

    Without a reward it is NICE(none): a jump to the donor. ``error`` is asked for by rewards that need it only.
    Features of one of the ``groups`` are swapped in one step. ``to_the_end`` walks on to the donor in any case. When
    time is up, walks that have not arrived jump to the donor. ``report`` is told how many have arrived.
    """
    if reward is None:
        return jump(rows, donors, donor_outputs)
    if not rewards.needs_plausibility(reward):
        error = None
    current = rows.copy()
    outputs = row_outputs.copy()
    scores = jury.scores(outputs, wanted)
    parts = groups.summed(distance.features(rows, donors))
    gone = np.zeros(len(rows))
    errors = None if error is None else error(rows)
    unlike = differs(rows, donors)
    left = groups.first(unlike)
    steps: list[tuple[Ints, Ints, Floats]] = []

    def look_ahead() -> Floats:
        return hybrids_ahead(
            current[active], donors[active], left[active], budget=score.cost.rows_worth_a_call, groups=groups
        )

    active = np.flatnonzero(left.any(axis=1))
    while len(active):
        # Ends: each round takes one difference off every active walk, and none is active without differences.
        walk, feature = np.nonzero(left[active])
        walk = active[walk]
        reached = donor_outputs[walk]
        is_hybrid = left.sum(axis=1)[walk] > 1  # else only the donor is left to step on
        reached_error = np.empty(len(walk) if error else 0)
        try:
            for some in _chunks(len(walk), current.shape[1]):
                hybrids = current[walk[some]]
                groups.swap(hybrids, donors[walk[some]], feature[some])
                if is_hybrid[some].any():
                    reached[some][is_hybrid[some]] = score(hybrids[is_hybrid[some]], look_ahead)
                if error:
                    reached_error[some] = error(hybrids)
        except OutOfTime:
            break
        reached_score = jury.scores(reached, wanted[walk])
        step_distance = parts[walk, feature]
        round = Round(
            features=feature,
            score=reached_score,
            previous_score=scores[walk],
            distance=gone[walk] + step_distance,
            previous_distance=gone[walk],
            step_distance=step_distance,
            error=reached_error if error else None,
            previous_error=None if errors is None else errors[walk],
        )
        best = _best_of_each_walk(walk, rewards.checked(reward, round))

        moved, swapped = walk[best], feature[best]
        hybrid = current[moved]
        groups.swap(hybrid, donors[moved], swapped)
        current[moved] = hybrid
        left[moved, swapped] = False
        outputs[moved] = reached[best]
        scores[moved] = reached_score[best]
        gone[moved] += step_distance[best]
        if errors is not None:
            errors[moved] = reached_error[best]
        line, features = np.nonzero(groups.moving(swapped, unlike[moved]))
        steps.append((moved[line], features, reached[best][line]))
        has_arrived = jury.accepts(outputs[moved], wanted[moved]) & (not to_the_end)
        active = moved[~has_arrived & left[moved].any(axis=1)]
        report(len(rows) - len(active))

    walks = _walks(current, outputs, steps)
    return _cut(walks, active, rows, donors, donor_outputs) if len(active) else walks


def _chunks(n_hybrids: int, n_features: int) -> Iterator[slice]:
    """Hybrids in pieces that the model takes in one call: all of them at once need not fit into memory."""
    size = max(1, classifier.CELLS_PER_CALL // n_features)
    return (slice(at, at + size) for at in range(0, n_hybrids, size))


def _best_of_each_walk(walk: Ints, reward: Floats) -> Ints:
    """The place of the highest reward of each walk; the first (leftmost) on a tie. ``walk`` is sorted."""
    order = np.lexsort((np.arange(len(walk)), -reward, walk))
    return order[np.unique(walk[order], return_index=True)[1]]


def _walks(values: Floats, outputs: Floats, steps: list[tuple[Ints, Ints, Floats]]) -> Walks:
    nothing = np.empty(0, dtype=np.intp)
    return Walks(
        values,
        outputs,
        np.concatenate([nothing, *(moved for moved, _, _ in steps)]),
        np.concatenate([nothing, *(swapped for _, swapped, _ in steps)]),
        np.concatenate([nothing, *(np.full(len(moved), k) for k, (moved, _, _) in enumerate(steps, start=1))]),
        np.concatenate([np.empty((0, outputs.shape[1])), *(reached for _, _, reached in steps)]),
        np.zeros(len(values), dtype=bool),
    )


def _cut(walks: Walks, active: Ints, rows: Floats, donors: Floats, donor_outputs: Floats) -> Walks:
    """The walks, but those that are still active jump to their donors instead."""
    is_cut = walks.is_cut.copy()
    is_cut[active] = True
    jumps = jump(rows, donors, donor_outputs)
    kept, jumped = ~is_cut[walks.walk], is_cut[jumps.walk]

    def steps(name: str) -> Any:
        return np.concatenate([getattr(walks, name)[kept], getattr(jumps, name)[jumped]])

    values = np.where(is_cut[:, None], donors, walks.values)
    outputs = np.where(is_cut[:, None], donor_outputs, walks.outputs)
    return Walks(values, outputs, steps("walk"), steps("feature"), steps("step"), steps("reached"), is_cut)
