"""From valid candidates to better ones: single values are pulled back towards the row, others pay for them.

All rows of a block are searched side by side: a candidate is a float row and the line of the row that it is for. The
model is asked about all candidates of a step in one call. What one change does to the score is measured one by one,
and what several do together is taken to be the sum: good enough to choose what to ask about next. What is kept was
asked about.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nicecf.search.candidates import (
    LEAST,
    Candidates,
    Moves,
    best_of_each,
    distinct,
    first_places,
    joined,
    joined_moves,
    rank_of,
    replaced,
)
from nicecf.search.distance import Heom
from nicecf.search.question import Question
from nicecf.search.training_values import TrainingValues
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

# Values of an ordered feature that are tried in the beginning: so many ranks away, on both sides, if there is room.
_OFFSETS = np.unique(np.round(1.5 ** np.arange(45)).astype(np.intp)) - 1
# Single changes that are asked about for one row; wide tables get fewer values of each feature.
_SINGLE_CHANGES = 4096
# Gaps between the values that were tried that are looked into.
_PEAKS = 16
# Steps of the ways from the row by the best single changes.
_WAY = 32
# Candidates of a row that are improved: in the beginning, and after each round.
_CENTERS, _KEPT = 8, (6, 4, 3, 2, 2, 1)
_ROUNDS = 8
# Of the gap back to the row: what is tried. Besides, the next ranks.
_BACK, _NEXT_RANKS, _FURTHER = (1.0, 0.75, 0.5, 0.25, 0.125), (1, 2), (1, 4)
# Features of a candidate that are pulled back one by one, the farthest first; all are tried at the row's own value.
_PULLED_BACK = 32
# Changes that pay for others: tried in the first round (more later), and combined with steps back.
_PAYING, _COMBINED = 16, 8
_STEPS_BACK = 24
# How far the sum of the measured effects is believed.
_BELIEVED = (0.7, 1.0, 1.4)
# Where a donor differs in more features than this, not every number of steps back is tried.
_ALL_STEPS = 48
# Cells that are compared with those of their rows at a time: they stay in the processor's cache.
_CELLS_AT_ONCE = 2**17

Cost = Callable[[Ints, Floats], Floats]


class LocalSearch:
    """The search of a block of rows; ``found`` are the valid candidates that nothing beats in changes and distance.

    ``found`` only gets better, and the search can be stopped at any time.
    """

    def __init__(
        self,
        question: Question,
        values: TrainingValues,
        distance: Heom,
        cost: Cost,
        is_refused: Callable[[Floats], Bools] | None,
    ) -> None:
        self._question = question
        self._rows = question.rows
        self._values = values
        self._distance = distance
        self._cost = cost
        self._is_refused = is_refused
        self._in_group = np.zeros(question.rows.shape[1], dtype=bool)
        for group in question.groups.groups:
            self._in_group[group] = True
        self._scores = question.panel.scores(question.outputs, question.wanted)
        n_rows, n_features = question.rows.shape
        self._nearest = np.full((n_rows, n_features + 1), np.inf)
        self._lowest = np.full(n_rows, np.inf)
        self.found = self.known(np.empty(0, dtype=np.intp), question.rows[:0], question.outputs[:0])

    def run(self, start: Candidates, donors: Candidates) -> None:
        """Search from valid candidates and from donors, whose outputs need not be what the model says today."""
        self.keep(start)
        moves = self._first_values()
        # A change that costs more than all of what is known is of no use, whatever comes with it.
        costs = self._alone(moves, n_changes=1)
        is_useful = costs < self._lowest[moves.of]
        moves, costs = moves.take(is_useful), costs[is_useful]
        back = self._back_to_row(donors.values, donors.line)
        singles, shorter = self._ask_both(
            (moves.of, self._applied(self._rows, moves)),
            (donors.line[back.of], self._put_back(donors.values, donors.line, back)),
        )
        gains = singles.scores - self._scores[moves.of]
        is_gain = gains > 0
        helping = moves.take(is_gain)
        gains, worth = gains[is_gain], gains[is_gain] / np.maximum(costs[is_gain], LEAST)
        of, values = self._steps_back(donors, back, shorter)
        ways, between = self._ways(helping, gains, worth), self._between(moves, singles)
        both = np.concatenate([ways[0], between.of]), np.concatenate([ways[1], self._applied(self._rows, between)])
        more, much_shorter = self._ask_both(self._better(*both), (donors.line[of], values))
        pruned = best_of_each(donors, np.concatenate([back.of, of]), joined([shorter, much_shorter]))
        self._improve(self._centers(joined([start, singles, more, pruned])), helping, worth)

    def known(self, line: Ints, values: Floats, outputs: Floats) -> Candidates:
        """Candidates of which the outputs are known."""
        question = self._question
        changes, distances = self._changes_and_distance(line, values)
        is_valid = question.panel.accepts(outputs, question.wanted[line]) & (changes > 0)
        if self._is_refused is not None and is_valid.any():
            is_valid[is_valid] = ~self._is_refused(values[is_valid])
        scores = question.panel.scores(outputs, question.wanted[line])
        costs = self._costs(changes, distances)
        return Candidates(line, values, outputs, scores, changes, distances, costs, is_valid)

    def _costs(self, changes: Ints, distances: Floats) -> Floats:
        """What candidates cost; one that changes too many features more than any that does not."""
        costs = self._cost(changes, distances)
        excess = changes - self._question.most_changes
        return np.where(excess > 0, 1e12 * excess + np.minimum(costs, 1e11), costs)

    def _measured(self, line: Ints, values: Floats) -> Floats:
        return self._costs(*self._changes_and_distance(line, values))

    def _changes_and_distance(self, line: Ints, values: Floats) -> tuple[Ints, Floats]:
        """Of each candidate, in parts: their rows are not all copied at once."""
        n_at_once = max(1, _CELLS_AT_ONCE // values.shape[1])
        parts = [
            self._distance.changes_and_distance(self._rows[line[at : at + n_at_once]], values[at : at + n_at_once])
            for at in range(0, max(1, len(line)), n_at_once)
        ]
        changes, distances = zip(*parts, strict=True)
        return np.concatenate(changes), np.concatenate(distances)

    def _alone(self, moves: Moves, *, n_changes: int) -> Floats:
        """What single moves cost from the row; ``n_changes``: what they cost at least together with others.

        By the features that move: a whole row would be measured for each of them.
        """
        parts = np.zeros(len(moves.of))
        order = np.argsort(moves.feature, kind="stable")
        features, starts = np.unique(moves.feature[order], return_index=True)
        for j, first, n_moves in zip(features.tolist(), starts, np.diff(np.append(starts, len(order))), strict=True):
            here = order[first : first + n_moves]
            parts[here] = self._distance.feature(j, self._rows[moves.of[here], j], moves.value[here])
        return self._costs(np.full(len(parts), n_changes), parts)

    def _ask(self, line: Ints, values: Floats) -> Candidates:
        """Ask the model about candidates, and keep those that are valid and not beaten."""
        outputs = self._question.score(values) if len(values) else self._question.outputs[:0]
        asked = self.known(line, values, outputs)
        self.keep(asked)
        return asked

    def _ask_both(self, some: tuple[Ints, Floats], others: tuple[Ints, Floats]) -> tuple[Candidates, Candidates]:
        """The same for two kinds of candidates, in one call."""
        asked = self._ask(np.concatenate([some[0], others[0]]), np.concatenate([some[1], others[1]]))
        at = np.arange(len(asked))
        return asked.take(at < len(some[0])), asked.take(at >= len(some[0]))

    def _better(self, line: Ints, values: Floats) -> tuple[Ints, Floats]:
        """Candidates that would be better than what is known, each once."""
        if not len(line):
            return line, values
        is_better = self._measured(line, values) < self._lowest[line] - LEAST
        line, values = line[is_better], values[is_better]
        once = distinct(line, values)
        return line[once], values[once]

    def keep(self, candidates: Candidates) -> None:
        """Keep those that are valid and that nothing beats."""
        valid = candidates.take(candidates.is_valid)
        if not len(valid):
            return
        np.minimum.at(self._lowest, valid.line, valid.costs)
        self.found = self._front(joined([self.found, valid]))

    def _front(self, valid: Candidates) -> Candidates:
        """Those that nothing beats in changes and distance, by line and changes; one of several equal ones."""
        order = np.lexsort((valid.distances, valid.changes, valid.line))
        line, changes, distances = valid.line[order], valid.changes[order], valid.distances[order]
        np.minimum.at(self._nearest, (line, changes), distances)
        np.minimum.accumulate(self._nearest, axis=1, out=self._nearest)
        is_first = np.concatenate([[True], (line[1:] != line[:-1]) | (changes[1:] != changes[:-1])])
        before = np.where(changes > 0, self._nearest[line, np.maximum(changes - 1, 0)], np.inf)
        return valid.take(order[is_first & (distances < before)])

    # --- from the row: single changes, and ways of several of them --------------------------------------------------

    def _first_values(self) -> Moves:
        """For each row and feature the values to begin with, as far as the row may take them."""
        n_rows, n_features = self._rows.shape
        room = max(2, _SINGLE_CHANGES // n_features)
        parts = []
        for j in np.flatnonzero(~self._in_group).tolist():
            if self._values.is_ordered[j]:
                line, value = self._around(j, room)
            else:
                levels = self._values.common[j][:room]
                line, value = np.repeat(np.arange(n_rows), len(levels)), np.tile(levels, n_rows)
            if self._values.missing[j] >= 0:
                line, value = np.append(line, np.arange(n_rows)), np.append(value, np.full(n_rows, np.nan))
            parts.append(Moves(line, np.full(len(line), j), value))
        nothing = np.empty(0, dtype=np.intp)
        return self._allowed(joined_moves([Moves(nothing, nothing, np.empty(0)), *parts]))

    def _around(self, j: int, room: int) -> tuple[Ints, Floats]:
        """Values of an ordered feature on both sides of each row's own: all, or more and more ranks away."""
        values, own = self._values.of_feature(j), self._rows[:, j]
        n_rows, n_values = len(own), len(values)
        if n_values <= min(room, 12):
            return np.repeat(np.arange(n_rows), n_values), np.tile(values, n_rows)
        offsets = _OFFSETS[n_values > _OFFSETS]
        offsets = offsets[:: -(-2 * len(offsets) // max(1, room - 2))]
        middle = np.full(n_rows, n_values // 2)
        is_there = ~np.isnan(own)
        below = np.where(is_there, np.searchsorted(values, own, side="left"), middle) - 1
        above = np.where(is_there, np.searchsorted(values, own, side="right"), middle)
        ends = np.tile([0, n_values - 1], (n_rows, 1))
        ranks = np.sort(np.concatenate([below[:, None] - offsets, above[:, None] + offsets, ends], axis=1), axis=1)
        is_one = (ranks >= 0) & (ranks < n_values)
        is_one[:, 1:] &= ranks[:, 1:] != ranks[:, :-1]
        line, at = np.nonzero(is_one)
        return line, values[ranks[line, at]]

    def _between(self, moves: Moves, asked: Candidates) -> Moves:
        """Values between those of an ordered feature that were tried, on both sides of the best ones.

        The score of many trees has peaks that the first values miss.
        """
        ordered = np.flatnonzero(self._values.is_ordered[moves.feature] & ~np.isnan(moves.value))
        ordered = ordered[np.lexsort((moves.value[ordered], moves.feature[ordered], moves.of[ordered]))]
        of, feature = moves.of[ordered], moves.feature[ordered]
        rank = self._values.ranks(feature, moves.value[ordered])
        is_next = np.concatenate([(of[1:] == of[:-1]) & (feature[1:] == feature[:-1]), [False]])[: len(of)]
        gap = np.where(is_next, np.append(rank[1:], 0)[: len(rank)] - rank, 0)
        score = asked.scores[ordered]
        worth = np.maximum(score, np.append(score[1:], 0)[: len(score)])
        open_ = np.flatnonzero(gap > 1)
        places = first_places(of[open_], worth[open_], len(self._rows), _PEAKS)
        chosen = open_[places[places >= 0]]
        shares = np.array([0.25, 0.5, 0.75])
        new = np.unique(
            np.column_stack(
                [
                    np.repeat(of[chosen], len(shares)),
                    np.repeat(feature[chosen], len(shares)),
                    (
                        np.repeat(rank[chosen], len(shares))
                        + np.repeat(gap[chosen], len(shares)) * np.tile(shares, len(chosen))
                    ),
                ]
            ).astype(np.intp),
            axis=0,
        )
        return self._allowed(Moves(new[:, 0], new[:, 1], self._values.at(new[:, 1], new[:, 2])))

    def _allowed(self, moves: Moves) -> Moves:
        """Moves of the rows themselves that change something and that they may make."""
        is_change = differs(self._rows[moves.of, moves.feature], moves.value)
        return moves.take(is_change & self._may_take(moves.of, moves))

    def _may_take(self, line: Ints, moves: Moves) -> Bools:
        """Whether rows may take the values of moves, by their rules."""
        rules, may = self._question.rules, np.ones(len(line), dtype=bool)
        if rules is not None:
            for j in np.flatnonzero(rules.restricts).tolist():
                here = np.flatnonzero(moves.feature == j)
                may[here] = rules.may_change(j, line[here], moves.value[here])
        return may

    def _applied(self, base: Floats, moves: Moves) -> Floats:
        values = base[moves.of]
        values[np.arange(len(values)), moves.feature] = moves.value
        return values

    def _ways(self, moves: Moves, gains: Floats, worth: Floats) -> tuple[Ints, Floats]:
        """From each row by its best single changes, one after the other: by ``worth``, gain for cost, and by gain."""
        lines, values = [np.empty(0, dtype=np.intp)], [self._rows[:0]]
        for by in (worth, gains):
            places = first_places(moves.of, by, len(self._rows), _WAY)
            current, reached = self._rows.copy(), np.zeros(self._rows.shape)
            for step in range(places.shape[1]):
                line = np.flatnonzero(places[:, step] >= 0)
                place = places[line, step]
                is_more = gains[place] > reached[line, moves.feature[place]]
                line, place = line[is_more], place[is_more]
                current[line, moves.feature[place]] = moves.value[place]
                reached[line, moves.feature[place]] = gains[place]
                if step:
                    lines.append(line)
                    values.append(current[line])
        return np.concatenate(lines), np.concatenate(values)

    # --- from donors: features put back ------------------------------------------------------------------------------

    def _steps_back(self, donors: Candidates, back: Moves, asked: Candidates) -> tuple[Ints, Floats]:
        """Donors with more and more features put back, those first that cost little score; and which donor each is.

        ``asked``: what the model says if one of them is put back.
        """
        lost, saved = donors.scores[back.of] - asked.scores, donors.costs[back.of] - asked.costs
        worth = np.where(lost <= 0, 1e9 + saved, saved / np.maximum(lost, LEAST))
        order, n_each = np.lexsort((-worth, back.of)), np.bincount(back.of, minlength=len(donors))
        feature, first = back.feature[order], np.cumsum(n_each) - n_each
        of, values, current = [back.of[:0]], [donors.values[:0]], donors.values.copy()
        for step in range(int(n_each.max(initial=0)) - 1):
            here = np.flatnonzero(n_each > step + 1)
            moves = Moves(here, feature[first[here] + step], np.empty(len(here)))
            current[here] = self._put_back(current, donors.line, moves)
            is_tried = (n_each[here] <= _ALL_STEPS) | _is_round(step + 2) | _is_round(n_each[here] - step - 1)
            of.append(here[is_tried])
            values.append(current[here[is_tried]])
        return np.concatenate(of), np.concatenate(values)

    def _back_to_row(self, values: Floats, line: Ints) -> Moves:
        """One move for each feature that differs from the row, or group of them: back to the row's own."""
        rows = self._rows[line]
        of, feature = np.nonzero(self._question.groups.first(differs(rows, values)))
        return Moves(of, feature, rows[of, feature])

    def _put_back(self, values: Floats, line: Ints, moves: Moves) -> Floats:
        rows, changed = self._rows[line[moves.of]], values[moves.of]
        goes_back = self._question.groups.moving(moves.feature, differs(rows, changed))
        goes_back[np.arange(len(moves.of)), moves.feature] = True
        return np.where(goes_back, rows, changed)

    # --- from valid candidates: pulled back, and paid for ------------------------------------------------------------

    def _centers(self, candidates: Candidates) -> Candidates:
        """The best few of each row that change different features."""
        valid = candidates.take(candidates.is_valid)
        changed = differs(self._rows[valid.line], valid.values)
        order = np.lexsort((valid.costs, valid.line))
        once = distinct(valid.line[order], changed[order].astype(np.float64))
        kept = order[np.sort(once)]
        return valid.take(kept[rank_of(valid.line[kept]) < _CENTERS])

    def _improve(self, centers: Candidates, singles: Moves, worth: Floats) -> None:
        """Round after round, until nothing gets better; ``worth``: of single changes of the rows, gain for the cost."""
        paying = first_places(singles.of, worth, len(self._rows), 4 * _PAYING)
        # Alone they are not enough, or among the candidates: with another change, they cost no less than this.
        with_another = self._alone(singles, n_changes=2)
        active = np.arange(len(centers))
        # Ends: after so many rounds.
        for round in range(_ROUNDS):
            if not len(active):
                return
            some = centers.take(active)
            tried = paying[some.line][:, : _PAYING * (1 + round // 2)]
            tried = np.where(with_another[tried] < some.costs[:, None], tried, -1) if len(with_another) else tried
            better = self._one_round(some, singles, tried, looks_further=round > 0)
            is_better = better.costs < some.costs - LEAST
            centers = replaced(centers, active, better)
            order = np.lexsort((centers.costs, centers.line))
            rank = np.empty(len(centers), dtype=np.intp)
            rank[order] = rank_of(centers.line[order])
            active = active[is_better & (rank[active] < _KEPT[min(round, len(_KEPT) - 1)])]

    def _one_round(self, centers: Candidates, singles: Moves, paying: Ints, *, looks_further: bool) -> Candidates:
        """Each candidate, or a better one: single moves first, then what they promise together."""
        back = self._back_to_row(centers.values, centers.line)
        between, ranks = self._pulled_back(centers, back, looks_further=looks_further)
        of, at = np.nonzero(paying >= 0)
        place = paying[of, at]
        pays = Moves(of, singles.feature[place], singles.value[place])
        pays = pays.take(differs(centers.values[of, pays.feature], pays.value))
        moves = joined_moves([back, between, pays])
        values = np.concatenate(
            [
                self._put_back(centers.values, centers.line, back),
                self._applied(centers.values, between),
                self._applied(centers.values, pays),
            ]
        )
        ranks = np.concatenate([np.full(len(back.of), -1), ranks, np.full(len(pays.of), -1)])
        line = centers.line[moves.of]
        # What costs twice as much will hardly pay for itself.
        is_tried = self._measured(line, values) <= 2 * centers.costs[moves.of]
        moves, values, ranks, line = moves.take(is_tried), values[is_tried], ranks[is_tried], line[is_tried]
        asked = self._ask(line, values)
        best = best_of_each(centers, moves.of, asked)
        of, values = self._together(centers, moves, asked)
        closer = self._closer(centers, moves, ranks, asked)
        of = np.concatenate([of, closer.of])
        values = np.concatenate([values, self._applied(centers.values, closer)])
        if not len(of):
            return best
        is_better = self._measured(centers.line[of], values) < best.costs[of] - LEAST
        of, values = of[is_better], values[is_better]
        once = distinct(of, values)
        of, values = of[once], values[once]
        return best_of_each(best, of, self._ask(centers.line[of], values))

    def _pulled_back(self, centers: Candidates, back: Moves, *, looks_further: bool) -> tuple[Moves, Ints]:
        """Values of ordered features between a candidate's and the row's own; how many ranks back each is."""
        is_between = self._values.is_ordered[back.feature] & ~self._in_group[back.feature]
        current, own = centers.values[back.of, back.feature], back.value
        is_between &= ~np.isnan(current) & ~np.isnan(own)
        # Of very many changes, those that count most.
        far = np.where(is_between, np.abs(current - own) / np.maximum(self._distance.scales[back.feature], LEAST), 0)
        most = first_places(back.of, np.nan_to_num(far), len(centers), _PULLED_BACK)
        is_between &= np.isin(np.arange(len(back.of)), most)
        of, feature = back.of[is_between], back.feature[is_between]
        current, own = current[is_between], own[is_between]
        here = self._values.ranks(feature, current)
        last = self._values.ranks(feature, own, after=current > own) - (current < own)
        gap, sign = np.abs(last - here), np.sign(last - here)
        steps = [np.round(gap * share).astype(np.intp) for share in _BACK]
        steps = [np.where(step > _NEXT_RANKS[-1], step, 0) for step in steps]
        steps += [np.where(gap >= ahead, ahead, 0) for ahead in _NEXT_RANKS]
        tried, at = np.stack(steps, axis=1), np.arange(len(of))
        parts = [(at, step) for step in tried.T]
        if looks_further:
            parts += [(at, np.full(len(of), -away)) for away in _FURTHER]
        which, step = (np.concatenate(some) for some in zip(*parts, strict=True))
        rank = here[which] + sign[which] * step
        is_one = (step != 0) & (sign[which] != 0) & (rank >= 0) & (rank < self._values.counts[feature[which]])
        which, step, rank = which[is_one], step[is_one], rank[is_one]
        moves = Moves(of[which], feature[which], self._values.at(feature[which], rank))
        is_allowed = self._may_take(centers.line[moves.of], moves)
        return moves.take(is_allowed), np.maximum(step, -1)[is_allowed]

    def _together(self, centers: Candidates, moves: Moves, asked: Candidates) -> tuple[Ints, Floats]:
        """Several steps back at once, by themselves or after a change that pays for them."""
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
        is_more, values = self._stepped_back(centers.take(of), first, share, backward[of], (moves, dearer, gained))
        return of[is_more], values[is_more]

    def _stepped_back(
        self,
        centers: Candidates,
        first: Ints,
        share: Floats,
        backward: Ints,
        measured: tuple[Moves, Floats, Floats],
    ) -> tuple[Bools, Floats]:
        """Some candidates after one move (-1: none) and all steps back that it seems to pay for.

        Also which of them made more than was asked about before. ``measured``: all moves, what each costs, and gains.
        """
        moves, dearer, gained = measured
        current, at = centers.values.copy(), np.arange(len(centers))
        pays = np.flatnonzero(first >= 0)
        taken = np.full(len(centers), -1)
        taken[pays] = moves.feature[first[pays]]
        current[pays, taken[pays]] = moves.value[first[pays]]
        slack = centers.scores.copy()
        slack[pays] += gained[first[pays]]
        slack *= share
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
            slack[made] += loss[made] - lost[made, feature]
            saved[made, feature], lost[made, feature] = save[made], loss[made]
            n_steps[made] += 1
        return n_steps > np.where(first < 0, 1, 0), current

    def _close_groups(self, current: Floats, line: Ints, made: Ints, feature: Ints) -> None:
        """What belongs together with a feature that was put back goes back, too: groups have no other moves."""
        for group in self._question.groups.groups:
            back = made[np.isin(feature, group)]
            current[np.ix_(back, group)] = self._rows[np.ix_(line[back], group)]

    def _closer(self, centers: Candidates, moves: Moves, ranks: Ints, asked: Candidates) -> Moves:
        """Of each feature that was pulled back: ranks between the last that was valid and the next that was not."""
        tried = np.flatnonzero(ranks > 0)
        if not len(tried):
            return moves.take(tried)
        n_features = centers.values.shape[1]
        key, which = np.unique(moves.of[tried] * n_features + moves.feature[tried], return_inverse=True)
        rank, is_valid, score = ranks[tried], asked.is_valid[tried], asked.scores[tried]
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
        current, own = centers.values[of, feature], self._rows[centers.line[of], feature]
        rank = self._values.ranks(feature, current) + np.where(current > own, -step, step)
        closer = Moves(of, feature, self._values.at(feature, rank))
        return closer.take(self._may_take(centers.line[of], closer))


def _is_round(numbers: Ints | int) -> Bools:
    """Whether a number is a power of two, or one and a half of one: about two of each size."""
    exponents = np.log2(np.maximum(numbers, 1))
    fraction = exponents - np.floor(exponents)
    return np.asarray((fraction < 1e-9) | (np.abs(fraction - np.log2(1.5)) < 1e-9))
