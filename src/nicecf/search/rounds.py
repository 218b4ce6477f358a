"""From valid candidates to better ones: single values are pulled back towards the row, other changes pay for them.

What one move does to the score is measured, and what several do together is taken to be the sum: good enough to choose
what to ask about next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf.search.block import Block
from nicecf.search.candidates import (
    LEAST,
    Candidates,
    Moves,
    Proposals,
    best_of_each,
    distinct,
    first_places,
    joined,
    joined_moves,
    rank_within,
    replaced,
)
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

# Candidates of a row that are improved after each round, and how many rounds there are.
_KEPT = (6, 4, 3, 2, 2, 1)
_ROUNDS = 8
# Of the gap back to the row: what is tried. Besides, the next cells.
_BACK, _NEXT_CELLS, _FURTHER = (1.0, 0.75, 0.5, 0.25, 0.125), (1, 2), (1, 4)
# Features of a candidate that are pulled back one by one, the farthest first; all are tried at the row's own value.
_PULLED_BACK = 32
# Changes that pay for others: tried in the first round (more later), and combined with steps back.
_PAYING, _COMBINED = 16, 8
_STEPS_BACK = 24
# The round in which the strongest change of every feature is tried, and for how many candidates of a row.
_ROUND_OF_ALL, _TRIED_BY_ALL = 1, 2
# A change that pays may be pulled back to so much of itself later.
_PULLED_BACK_LATER = 0.5
# Of more rows, some would hardly be guessed right: a call is saved only if all are.
_FEW = 4
# How far the sum of the measured effects is believed.
_BELIEVED = (0.7, 1.0, 1.4)


@dataclass(frozen=True, eq=False)
class _Tried:
    """Single moves of candidates and where they lead; ``ranks``: how many cells back, -1 if it is not that."""

    moves: Moves
    ranks: Ints
    proposals: Proposals


class Rounds:
    """Rounds of improvement.

    ``singles``: changes of the rows that help, ``worth``: what each gains for its cost. ``strongest``: for each row and
    feature the number or category that raises the score most, or lowers it least; NaN for none.
    """

    def __init__(self, block: Block, singles: Moves, worth: Floats, strongest: Floats) -> None:
        self._block = block
        self._singles = singles
        self._strongest = strongest
        self._paying = first_places(singles.of, worth, len(block.rows), 4 * _PAYING)
        # Alone they are not enough, or among the candidates: with another change, they cost no less than this.
        self._with_another = block.alone(singles, n_changes=2)
        self._at_best = block.alone(singles, n_changes=2, share=_PULLED_BACK_LATER)

    def run(self, centers: Candidates, others: Proposals) -> None:
        """Improve candidates round after round, until nothing gets better.

        ``others`` are asked about in the first round; those that are valid are improved in the next ones.
        """
        active = np.arange(len(centers))
        # Ends: after so many rounds.
        for number in range(_ROUNDS):
            if not len(active) and not len(others):
                return
            some = centers.take(active)
            better, added = self._one_round(some, others, number)
            is_better = better.costs < some.costs - LEAST
            centers = joined([replaced(centers, active, better), added])
            active = np.append(active[is_better], np.arange(len(centers) - len(added), len(centers)))
            rank = rank_within(centers.line, -centers.costs)
            active = active[rank[active] < _KEPT[min(number, len(_KEPT) - 1)]]
            active = active[self._block.is_open()[centers.line[active]]]
            others = others.take(np.empty(0, dtype=np.intp))

    def ahead(self, proposals: Proposals, number: int = 0) -> Floats:
        """What a round will ask about first if candidates turn out to be valid, as far as it is worth a call.

        Those first that are expected to be, and of them the best.
        """
        block, budget = self._block, self._block.question.score.cost.rows_worth_a_call
        if not budget or len(block.rows) > _FEW:
            return block.rows[:0]
        costs = block.measured(proposals.line, proposals.values)
        order = np.lexsort((costs, proposals.scores <= 0))[: budget // 2]  # each of them has several moves
        some = proposals.take(order)
        tried = self._tried(some.line, some.values, costs[order], number)
        values = tried.proposals.values[np.argsort(tried.moves.of, kind="stable")]
        return values[distinct(np.zeros(len(values), dtype=np.intp), values)[:budget]]

    def _one_round(self, centers: Candidates, others: Proposals, number: int) -> tuple[Candidates, Candidates]:
        """Each candidate, or a better one: single moves first, then what they promise together.

        And, of others that are asked about besides, those that are valid.
        """
        block = self._block
        tried = self._tried(centers.line, centers.values, centers.costs, number)
        asked, added = block.ask_both(tried.proposals, others)
        best = best_of_each(centers, tried.moves.of, asked)
        of, proposals = self._together(centers, tried.moves, asked)
        closer = self._closer(centers, tried, asked)
        fewer, without_one = self._without_one(centers)
        of = np.concatenate([of, closer.of, fewer])
        proposals += Proposals.of(centers.line[closer.of], closer.applied_to(centers.values))
        proposals += Proposals.of(centers.line[fewer], without_one)
        better = np.flatnonzero(block.measured(proposals.line, proposals.values) < best.costs[of] - LEAST)
        once = better[distinct(of[better], proposals.values[better])]
        of, proposals = of[once], proposals.take(once)
        asked = block.ask(proposals, lambda: self.ahead(proposals + best, number + 1))
        return best_of_each(best, of, asked), added.take(added.is_valid)

    def _tried(self, line: Ints, values: Floats, costs: Floats, number: int) -> _Tried:
        """The single moves of some candidates that a round asks about."""
        block, singles = self._block, self._singles
        back = block.back_to_row(line, values)
        pulled, ranks = self._pulled_back(line, values, back, looks_further=number > 0)
        paying = self._paying[line][:, : _PAYING * (1 + number // 2)]
        if len(singles.of):
            is_useful = self._with_another[paying] < costs[:, None]
            is_useful &= self._at_best[paying] < block.lowest[line][:, None]
            paying = np.where(is_useful, paying, -1)
        of, at = np.nonzero(paying >= 0)
        place = paying[of, at]
        pays = Moves(of, singles.feature[place], singles.value[place])
        if number == _ROUND_OF_ALL:
            # What does nothing by itself may do a lot here.
            is_tried = (rank_within(line, -costs) < _TRIED_BY_ALL)[:, None] & ~np.isnan(self._strongest[line])
            of, feature = np.nonzero(is_tried)
            strongest = Moves(line[of], feature, self._strongest[line[of], feature])
            is_useful = block.alone(strongest, n_changes=2) < costs[of]
            pays = joined_moves([pays, replace(strongest, of=of).take(is_useful)])
        pays = pays.take(differs(values[pays.of, pays.feature], pays.value))
        moves = joined_moves([back, pulled, pays])
        moved = np.concatenate([block.put_back(line, values, back), pulled.applied_to(values), pays.applied_to(values)])
        ranks = np.concatenate([np.full(len(back.of), -1), ranks, np.full(len(pays.of), -1)])
        # What costs twice as much will hardly pay for itself.
        is_tried = block.measured(line[moves.of], moved) <= 2 * costs[moves.of]
        moves = moves.take(is_tried)
        return _Tried(moves, ranks[is_tried], Proposals.of(line[moves.of], moved[is_tried]))

    def _pulled_back(self, line: Ints, values: Floats, back: Moves, *, looks_further: bool) -> tuple[Moves, Ints]:
        """Values of ordered features between a candidate's and the row's own; how many cells back each is."""
        block, training = self._block, self._block.training
        is_between = training.is_ordered[back.feature] & ~block.in_group[back.feature]
        current, own = values[back.of, back.feature], back.value
        is_between &= ~np.isnan(current) & ~np.isnan(own)
        # Of very many changes, those that count most.
        far = np.where(is_between, np.abs(current - own) / np.maximum(block.distance.scales[back.feature], LEAST), 0)
        most = first_places(back.of, np.nan_to_num(far), len(values), _PULLED_BACK)
        is_between &= np.isin(np.arange(len(back.of)), most)
        of, feature = back.of[is_between], back.feature[is_between]
        current, own = current[is_between], own[is_between]
        here, (below, above) = training.cell(feature, current), training.beside(feature, own)
        last = np.where(current > own, above, below)
        gap, sign = np.abs(last - here), np.sign(last - here)
        steps = [np.round(gap * share).astype(np.intp) for share in _BACK]
        steps = [np.where(step > _NEXT_CELLS[-1], step, 0) for step in steps]
        steps += [np.where(gap >= ahead, ahead, 0) for ahead in _NEXT_CELLS]
        if looks_further:
            steps += [np.full(len(of), -away) for away in _FURTHER]
        which, step = np.tile(np.arange(len(of)), len(steps)), np.concatenate(steps)
        cell: Ints = here[which] + sign[which].astype(np.intp) * step
        is_one = (step != 0) & (sign[which] != 0) & (cell >= 0) & (cell < training.n_cells[feature[which]])
        # Within its cell, a value goes back for nothing.
        which, step = np.append(which[is_one], np.arange(len(of))), np.append(step[is_one], np.zeros_like(here))
        cell = np.concatenate([cell[is_one], here])
        moves = Moves(of[which], feature[which], training.at(feature[which], cell, own[which]))
        is_move = differs(moves.value, current[which])
        moves, step = moves.take(is_move), step[is_move]
        is_allowed = block.may_take(line[moves.of], moves)
        return moves.take(is_allowed), np.maximum(step, -1)[is_allowed]

    def _together(self, centers: Candidates, moves: Moves, asked: Candidates) -> tuple[Ints, Proposals]:
        """Several steps back at once, by themselves or after a change that pays for them; and of which candidates."""
        dearer, gained = asked.costs - centers.costs[moves.of], asked.scores - centers.scores[moves.of]
        back, pays = np.flatnonzero(dearer < 0), np.flatnonzero((dearer > 0) & (gained > 0))
        worth = np.where(gained >= 0, 1e9 - dearer, -dearer / np.maximum(-gained, LEAST))[back]
        backward = first_places(moves.of[back], worth, len(centers), _STEPS_BACK)
        backward = np.where(backward >= 0, back[backward] if len(back) else -1, -1)
        forward = first_places(moves.of[pays], (gained / np.maximum(dearer, LEAST))[pays], len(centers), _COMBINED)
        forward = np.where(forward >= 0, pays[forward] if len(pays) else -1, -1)
        # Each candidate as it is, and after each change that pays; each with all degrees of belief.
        starts = np.column_stack([np.full(len(centers), -1), forward])
        of, at = np.nonzero((starts >= 0) | (np.arange(starts.shape[1]) == 0))
        n_beliefs = len(_BELIEVED)
        of, first = np.repeat(of, n_beliefs), np.repeat(starts[of, at], n_beliefs)
        share = np.tile(_BELIEVED, len(of) // n_beliefs)
        is_more, stepped = self._stepped_back(centers.take(of), first, share, backward[of], (moves, dearer, gained))
        return of[is_more], stepped.take(is_more)

    def _stepped_back(
        self,
        centers: Candidates,
        first: Ints,
        share: Floats,
        backward: Ints,
        measured: tuple[Moves, Floats, Floats],
    ) -> tuple[Bools, Proposals]:
        """Some candidates after one move (-1: none) and all steps back that it seems to pay for.

        First, which of them made more than was asked about before. ``measured``: all moves, what each costs, and gains.
        """
        moves, dearer, gained = measured
        current, at = centers.values.copy(), np.arange(len(centers))
        pays = np.flatnonzero(first >= 0)
        taken = np.full(len(centers), -1)
        taken[pays] = moves.feature[first[pays]]
        current[pays, taken[pays]] = moves.value[first[pays]]
        scores = centers.scores.copy()
        scores[pays] += gained[first[pays]]
        slack = scores * share
        saved, lost = np.zeros(current.shape), np.zeros(current.shape)
        n_steps = np.zeros(len(centers), dtype=np.intp)
        for step in backward.T:
            feature, save, loss = moves.feature[step], -dearer[step], gained[step]
            is_made = (step >= 0) & (feature != taken) & (save > saved[at, feature] + LEAST)
            is_made &= slack + loss - lost[at, feature] > 0
            made = np.flatnonzero(is_made)
            if not len(made):
                continue
            feature, move = feature[made], step[made]
            current[made, feature] = moves.value[move]
            self._close_groups(current, centers.line, made, feature)
            for sums in (slack, scores):
                sums[made] += loss[made] - lost[made, feature]
            saved[made, feature], lost[made, feature] = save[made], loss[made]
            n_steps[made] += 1
        return n_steps > np.where(first < 0, 1, 0), Proposals(centers.line, current, scores)

    def _without_one(self, centers: Candidates) -> tuple[Ints, Floats]:
        """Each candidate with one feature put back, and the other changes where they raise the row's score most."""
        block = self._block
        back = block.back_to_row(centers.line, centers.values)
        strongest = self._strongest[centers.line]
        is_pushed = differs(block.rows[centers.line], centers.values) & ~np.isnan(strongest)
        pushed = np.where(is_pushed, strongest, centers.values)
        return back.of, block.put_back(centers.line, pushed, back)

    def _close_groups(self, current: Floats, line: Ints, made: Ints, feature: Ints) -> None:
        """What belongs together with a feature that was put back goes back, too: groups have no other moves."""
        for group in self._block.question.groups.groups:
            back = made[np.isin(feature, group)]
            current[np.ix_(back, group)] = self._block.rows[np.ix_(line[back], group)]

    def _closer(self, centers: Candidates, tried: _Tried, asked: Candidates) -> Moves:
        """Of each feature that was pulled back: cells between the last that was valid and the next that was not."""
        block, moves = self._block, tried.moves
        at = np.flatnonzero(tried.ranks > 0)
        if not len(at):
            return moves.take(at)
        n_features = centers.values.shape[1]
        key, which = np.unique(moves.of[at] * n_features + moves.feature[at], return_inverse=True)
        rank, is_valid, score = tried.ranks[at], asked.is_valid[at], asked.scores[at]
        good, bad = np.zeros(len(key), dtype=np.intp), np.full(len(key), np.iinfo(np.intp).max)
        np.maximum.at(good, which[is_valid], rank[is_valid])
        is_beyond = rank > good[which]
        np.minimum.at(bad, which[is_beyond], rank[is_beyond])
        at_good, at_bad = centers.scores[key // n_features], np.zeros(len(key))
        is_good = is_valid & (rank == good[which])
        at_good[which[is_good]] = score[is_good]
        is_bad = is_beyond & (rank == bad[which])
        at_bad[which[is_bad]] = score[is_bad]
        is_open = (bad < np.iinfo(np.intp).max) & (bad - good > 1)
        key, good, bad = key[is_open], good[is_open], bad[is_open]
        at_good, at_bad = at_good[is_open], at_bad[is_open]
        # Where the score would be just enough if it fell evenly, and halfway to it from both sides.
        share = np.clip(at_good / np.maximum(at_good - at_bad, LEAST), 0.0, 1.0)
        even = good + np.floor((bad - good) * share).astype(np.intp)
        steps = np.stack([even, (good + even) // 2, (even + bad) // 2], axis=1)
        at, one = np.nonzero((steps > good[:, None]) & (steps < bad[:, None]))
        of, feature, step = key[at] // n_features, key[at] % n_features, steps[at, one]
        current, own = centers.values[of, feature], block.rows[centers.line[of], feature]
        cell = block.training.cell(feature, current) + np.where(current > own, -step, step)
        closer = Moves(of, feature, block.training.at(feature, cell, own))
        return closer.take(block.may_take(centers.line[of], closer))
