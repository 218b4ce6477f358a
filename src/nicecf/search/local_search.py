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
from nicecf.search.first_candidates import between, pairs, paths, single_changes, steps_back
from nicecf.search.rounds import Rounds
from nicecf.support.types import Floats
from nicecf.tables.schema import differs

# Candidates of a row that are improved in the first round.
_CENTERS = 8
# Single changes of a feature that are combined with others: the best by gain, and by gain for the cost.
_OF_EACH = 4


def search_locally(block: Block, start: Candidates, donors: Candidates) -> None:
    """Search from valid candidates and from donors, whose outputs need not be what the model says today.

    What the block has found only gets better, and the search can be stopped at any time.
    """
    block.keep(start)
    moves = single_changes(block)
    # A change that costs more than all of what is known is not tried, whatever comes with it.
    costs = block.alone(moves, n_changes=1)
    is_useful = costs < block.lowest[moves.of]
    moves, costs = moves.take(is_useful), costs[is_useful]
    back = block.back_to_row(donors.line, donors.values)
    put_back = block.put_back(donors.line, donors.values, back)
    singles, shorter = block.ask_both(block.from_rows(moves), Proposals.of(donors.line[back.of], put_back))
    helping, gains, worth = _helping(block, moves, singles, costs)
    rounds = Rounds(block, helping, worth)
    of, pruned = steps_back(block, donors, back, shorter)
    more = block.better(
        paths(block, helping, gains, worth)
        + pairs(block, helping, gains, worth)
        + block.from_rows(between(block, moves, singles))
    )
    known = _centers(block, joined([start, singles, best_of_each(donors, back.of, shorter)]))
    several, much_shorter = block.ask_both(more, pruned, lambda: rounds.ahead(more + pruned + known))
    shortest = best_of_each(donors, np.append(back.of, of), joined([shorter, much_shorter]))
    rounds.run(_centers(block, joined([start, singles, several, shortest])))


def _helping(block: Block, moves: Moves, asked: Candidates, costs: Floats) -> tuple[Moves, Floats, Floats]:
    """The single changes that raise the score, by how much, and by how much for what they cost."""
    gains = asked.scores - block.scores[moves.of]
    # The last digits are rounding, and should not decide between changes that are worth the same.
    worth = (gains / np.maximum(costs, LEAST)).astype(np.float32).astype(np.float64)
    feature = moves.of * block.rows.shape[1] + moves.feature
    is_kept = (rank_within(feature, worth) < _OF_EACH) | (rank_within(feature, gains) < _OF_EACH)
    kept = np.flatnonzero(is_kept & (gains > 0))
    return moves.take(kept), gains[kept], worth[kept]


def _centers(block: Block, candidates: Candidates) -> Candidates:
    """The best few of each row that change different features."""
    valid = candidates.take(candidates.is_valid)
    changed = differs(block.rows[valid.line], valid.values)
    order = np.lexsort((valid.costs, valid.line))
    once = distinct(valid.line[order], changed[order].astype(np.float64))
    kept = order[np.sort(once)]
    return valid.take(kept[rank_of(valid.line[kept]) < _CENTERS])
