"""The search for values of several donors: first candidates, then rounds in which they get better.

All rows of a block are searched side by side: a candidate is a float row and the line of the row that it is for. The
model is asked about all candidates of a step in one call, and what is kept was asked about.
"""

from __future__ import annotations

import numpy as np

from nicecf.search.block import Block
from nicecf.search.candidates import (
    LEAST,
    Candidates,
    Moves,
    Proposals,
    best_of_each,
    distinct,
    joined,
    rank_of,
    rank_within,
)
from nicecf.search.climb import climb
from nicecf.search.first_candidates import between, extended, pairs, paths, single_changes, steps_back
from nicecf.search.rounds import Rounds
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import differs

# Candidates of a row that are improved in the first round.
_CENTERS = 8
# What costs so many times as much as the best is not improved: it would hardly become the best.
_HOPELESS = 3.0
# Single changes of a feature that are combined with others: the best by gain, and by gain for the cost.
_OF_EACH = 4


def search_locally(block: Block, start: Candidates, donors: Candidates, sources: Candidates | None = None) -> None:
    """Search from valid candidates and from donors, whose outputs need not be what the model says today.

    What the block has found only gets better, and the search can be stopped at any time. ``sources``: training rows
    as the rows may take them, for rows to climb from for which nothing else is found.
    """
    block.keep(start)
    moves = single_changes(block)
    # A change that costs more than all of what is known is not tried, whatever comes with it.
    costs = block.alone(moves, n_changes=1)
    is_useful = (costs < block.lowest[moves.of]) & block.is_open()[moves.of]
    moves, costs = moves.take(is_useful), costs[is_useful]
    back = block.back_to_row(donors.line, donors.values)
    put_back = block.put_back(donors.line, donors.values, back)
    singles, shorter = block.ask_both(block.from_rows(moves), Proposals.of(donors.line[back.of], put_back))
    gains = singles.scores - block.scores[moves.of]
    helping, worth = _helping(block, moves, gains, costs)
    useful, gained, worth = moves.take(helping), gains[helping], worth[helping]
    rounds = Rounds(block, useful, worth, _strongest(block, moves, gains))
    of, pruned = steps_back(block, donors, back, shorter)
    more = block.better(
        paths(block, useful, gained, worth)
        + pairs(block, useful, gained, worth)
        + block.from_rows(between(block, moves, singles))
    )
    known = _centers(block, joined([start, singles, best_of_each(donors, back.of, shorter)]))
    asked, much_shorter = block.ask_both(more, pruned, lambda: rounds.ahead(more + pruned + known))
    shortest = best_of_each(donors, np.append(back.of, of), joined([shorter, much_shorter]))
    longer = block.better(extended(block, joined([singles, asked]), moves, gains))
    rounds.run(_centers(block, joined([start, singles, asked, shortest])), longer)
    if sources is not None and block.is_unanswered().any():
        climb(block, joined([singles, asked]), sources, moves, gains)
        rounds.run(_centers(block, block.found), longer.take(np.empty(0, dtype=np.intp)))


def _helping(block: Block, moves: Moves, gains: Floats, costs: Floats) -> tuple[Ints, Floats]:
    """The places of the single changes that help, the best of each feature; and what all gain for their cost."""
    # The last digits are rounding, and should not decide between changes that are worth the same.
    worth = (gains / np.maximum(costs, LEAST)).astype(np.float32).astype(np.float64)
    feature = moves.of * block.rows.shape[1] + moves.feature
    is_kept = (rank_within(feature, worth) < _OF_EACH) | (rank_within(feature, gains) < _OF_EACH)
    return np.flatnonzero(is_kept & (gains > 0)), worth


def _strongest(block: Block, moves: Moves, gains: Floats) -> Floats:
    """For each row and feature, the number or category that gains most; NaN where none was tried."""
    strongest = np.full(block.rows.shape, np.nan)
    order = np.argsort(gains, kind="stable")
    order = order[~np.isnan(moves.value[order])]
    strongest[moves.of[order], moves.feature[order]] = moves.value[order]
    return strongest


def _centers(block: Block, candidates: Candidates) -> Candidates:
    """The best few of each row that change different features, but those that will hardly lead to anything better."""
    # Where one change is best, and any two would cost more: single changes were tried, and what is nearer is worth it.
    is_one_best = block.lowest <= block.costs(np.array([2]), np.zeros(1))
    leads_on = (candidates.changes == 1) | ~is_one_best[candidates.line]
    leads_on |= candidates.distances < block.nearest[candidates.line, 1]
    # By what they cost without a limit: what changes too many features may be pulled back within it.
    costs = block.unlimited(candidates.changes, candidates.distances)
    leads_on &= costs <= _HOPELESS * block.lowest[candidates.line]
    valid = candidates.take(candidates.is_valid & leads_on & block.is_open()[candidates.line])
    changed = differs(block.rows[valid.line], valid.values)
    order = np.lexsort((valid.costs, valid.line))
    once = distinct(valid.line[order], changed[order].astype(np.float64))
    kept = order[np.sort(once)]
    return valid.take(kept[rank_of(valid.line[kept]) < _CENTERS])
