"""The last resort for rows without an answer: candidates climb towards the target, one ADD or PAIR at a time.

The other parts of the search look near rows that the model accepts. Where no training row is accepted as a row may take
it, combinations of training values still may be. Several candidates of each row climb: the best ones made of its
singles, and the training rows that come closest to the target. In every step each takes the change that brings it
closest. Where none of the usual values does, those of all cells are tried, and then pairs of changes. A row is done as
soon as one of its candidates is valid.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nicecf.search.block import Block
from nicecf.search.candidates import Candidates, Moves, Proposals, distinct, first_places, joined, rank_within
from nicecf.search.first_candidates import CELLS_TRIED, all_cells
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

# Training rows with the highest scores that each row looks at: with 16, rules leave too little of them.
SOURCES = 128
# Proposals of one row in one step, roughly: blocks of rows are made small enough for them. Those that climb are more,
# but few rows do: they climb a part of the block at a time.
PROPOSALS_PER_ROW = 2**13
_PARTS = 4
# Candidates of a row that climb, so many of each kind: the score of a few trees has many peaks. Of 19 rows that 12 find
# nothing for, under small forests and boosting, 64 solve 19, 48 solve 16, 24 solve 14; 96 use up the proposals below.
_CLIMBERS = 64
# Singles that a candidate tries in a step.
_ADDED = 128
# Candidates of a row that try more where no single helps: the highest. Values of all features that they try, which are
# all cells where the model tells them.
_STUCK, _ALL_CELLS = 16, 512
# Singles that are tried in place of each change of a candidate that may not change more features, or changes all; and
# how many such exchanges, unless it has more changes.
_IN_PLACE, _EXCHANGES = 16, 256
# Changes of which pairs are made, and how many of them may be of one feature: without pairs, 19 cases fewer.
_PAIRED, _OF_EACH = 32, 2
# Values of groups that a candidate tries in a step, over all groups; the row itself tries those of all sources.
_GROUP_VALUES = 64
# Bounds on what a row may cost for which nothing is found: steps, and proposals in all of them.
_STEPS_UP, _MOST_PROPOSALS = 24, 2**16
# What rises less is rounding.
_LEAST_RISE = 1e-9


def climb(block: Block, made: Candidates, sources: Candidates, moves: Moves, gains: Floats) -> None:
    """Climb where no valid candidate is known yet; the block keeps what is found.

    ``made``: candidates made of singles. ``sources``: training rows as their rows may take them, those with the highest
    scores first. ``moves`` and ``gains``: the singles that were measured.
    """
    climber = _Climber(block, sources, moves, gains)
    grouped = block.ask(Proposals.of(*climber.with_groups(np.arange(len(block.rows)), block.rows, sources)))
    centers = joined([_highest(block, joined([made, grouped])), _highest(block, sources)])
    for lines in np.array_split(np.unique(centers.line), _PARTS):
        _climb_from(centers.take(np.isin(centers.line, lines)), block, climber)


def _climb_from(centers: Candidates, block: Block, climber: _Climber) -> None:
    """Climb from candidates until their rows have an answer, or nothing brings them closer to the target."""
    heights, n_proposed = block.heights(centers), np.zeros(len(block.rows), dtype=np.intp)
    # Ends: after so many steps.
    for _ in range(_STEPS_UP):
        climbs = (block.is_unanswered() & (n_proposed < _MOST_PROPOSALS))[centers.line]
        centers, heights = centers.take(climbs), heights[climbs]
        if not len(centers):
            return
        of, asked = climber.ask(centers, *climber.one_more(centers))
        best, rises = _risen(of, block.heights(asked), heights)
        for others in (climber.other_cells, climber.pairs):
            is_stuck = ~rises & (rank_within(centers.line, np.where(rises, -np.inf, heights)) < _STUCK)
            also, more = climber.ask(centers, *others(centers, of, asked, is_stuck))
            of, asked = np.append(of, also), joined([asked, more])
            best, rises = _risen(of, block.heights(asked), heights)
        n_proposed += np.bincount(asked.line, minlength=len(block.rows))
        centers = asked.take(best[rises])
        centers = centers.take(distinct(centers.line, centers.values))
        heights = block.heights(centers)


def _highest(block: Block, candidates: Candidates) -> Candidates:
    """Return the highest candidates of each row without an answer, each once."""
    candidates = candidates.take(block.is_unanswered()[candidates.line] & (block.heights(candidates) > -np.inf))
    candidates = candidates.take(distinct(candidates.line, candidates.values))
    # Each change of each of them is tried without it: rows of very wide tables have fewer that climb.
    most = int(np.clip(CELLS_TRIED // (2 * block.rows.shape[1] ** 2), 1, _CLIMBERS))
    places = first_places(candidates.line, block.heights(candidates), len(block.rows), most)
    return candidates.take(places[places >= 0])


def _risen(of: Ints, heights: Floats, before: Floats) -> tuple[Ints, Bools]:
    """Return the highest proposal for each candidate (-1: none), and whether it is higher than the candidate."""
    best = first_places(of, heights, len(before), 1)[:, 0]
    return best, (best >= 0) & (np.append(heights, -np.inf)[best] > before + _LEAST_RISE)


class _Climber:
    """The changes that candidates of a block may make."""

    def __init__(self, block: Block, sources: Candidates, moves: Moves, gains: Floats) -> None:
        self._block = block
        self._moves = moves
        room = int(np.clip(CELLS_TRIED // (2 * _CLIMBERS * block.rows.shape[1]), 1, _ADDED))
        self._order = first_places(moves.of, gains, len(block.rows), room)
        n_groups = len(block.question.groups.groups)
        rank = rank_within(sources.line, -np.arange(len(sources), dtype=np.float64))
        self._sources = sources.take(rank < _GROUP_VALUES // max(1, n_groups))

    def ask(self, centers: Candidates, of: Ints, values: Floats) -> tuple[Ints, Candidates]:
        """Ask about candidates after their changes, but for those that change too many features; of which each is."""
        block, line = self._block, centers.line[of]
        is_within = differs(block.rows[line], values).sum(axis=1) <= block.question.most_changes
        return of[is_within], block.ask(Proposals.of(line[is_within], values[is_within]))

    def one_more(self, centers: Candidates) -> tuple[Ints, Floats]:
        """Return each candidate with one ADD or REVERT, or, where it may not have more changes, with both."""
        block, moves = self._block, self._moves
        of, rank = np.nonzero(self._order[centers.line] >= 0)
        place = self._order[centers.line[of], rank]
        adds = Moves(of, moves.feature[place], moves.value[place])
        is_change = differs(centers.values[of, adds.feature], adds.value)
        adds, rank = adds.take(is_change), rank[is_change]
        back = block.back_to_row(centers.line, centers.values)
        reverted = block.put_back(centers.line, centers.values, back)
        is_full = centers.changes >= block.question.most_changes
        in_place = adds.take(rank < np.clip(_EXCHANGES // np.maximum(centers.changes, 1), 1, _IN_PLACE)[adds.of])
        which, add = np.nonzero((back.of[:, None] == in_place.of) & is_full[back.of][:, None])
        exchanged = replace(in_place.take(add), of=which).applied_to(reverted)
        grouped_of, grouped = self.with_groups(centers.line, centers.values, self._sources)
        return (
            np.concatenate([adds.of, back.of, back.of[which], grouped_of]),
            np.concatenate([adds.applied_to(centers.values), reverted, exchanged, grouped]),
        )

    def with_groups(self, line: Ints, values: Floats, sources: Candidates) -> tuple[Ints, Floats]:
        """Return candidates with the values that training rows have of one group; of which each is."""
        of, source = np.nonzero(line[:, None] == sources.line)
        changed, groups = [values[:0]], self._block.question.groups.groups
        for group in groups:
            changed.append(values[of])
            changed[-1][:, group] = sources.values[source][:, group]
        return np.tile(of, len(groups)), np.concatenate(changed)

    def other_cells(self, centers: Candidates, of: Ints, asked: Candidates, is_stuck: Bools) -> tuple[Ints, Floats]:
        """Return stuck candidates with one value of any cell; of which each is."""
        block, stuck = self._block, np.flatnonzero(is_stuck)
        most = int(np.clip(CELLS_TRIED // (_STUCK * block.rows.shape[1]), 1, _ALL_CELLS))
        moves = all_cells(block, np.unique(centers.line[stuck]), most)
        which, place = np.nonzero(centers.line[stuck][:, None] == moves.of)
        adds = replace(moves.take(place), of=stuck[which])
        adds = adds.take(differs(centers.values[adds.of, adds.feature], adds.value))
        return adds.of, adds.applied_to(centers.values)

    def pairs(self, centers: Candidates, of: Ints, asked: Candidates, is_stuck: Bools) -> tuple[Ints, Floats]:
        """Return the pairs of the changes that lower a stuck candidate least."""
        heights = self._block.heights(asked)
        touched = differs(centers.values[of], asked.values)
        for group in self._block.question.groups.groups:
            touched[:, group] |= touched[:, group].any(axis=1, keepdims=True)
        usable = np.flatnonzero(is_stuck[of] & (heights > -np.inf) & touched.any(axis=1))
        feature = of[usable] * touched.shape[1] + touched[usable].argmax(axis=1)
        usable = usable[rank_within(feature, heights[usable]) < _OF_EACH]
        places = first_places(of[usable], heights[usable], len(centers), _PAIRED)
        first, second = np.triu_indices(_PAIRED, k=1)
        is_pair = (places[:, first] >= 0) & (places[:, second] >= 0)
        one, other = usable[places[:, first][is_pair]], usable[places[:, second][is_pair]]
        is_apart = ~(touched[one] & touched[other]).any(axis=1)
        one, other = one[is_apart], other[is_apart]
        return of[one], np.where(touched[one], asked.values[one], asked.values[other])
