"""Rows that are searched side by side: what their candidates cost, what the model says of them, the best so far."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nicecf.models.scorer import OutOfTime
from nicecf.rules.row_rules import Rules
from nicecf.search.alternatives import Alternatives
from nicecf.search.candidates import LEAST, Candidates, Moves, Proposals, distinct, joined
from nicecf.search.distance import Heom
from nicecf.search.groups import Groups
from nicecf.search.question import SAME, Question
from nicecf.search.training_values import TrainingValues
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

# Cells that are compared with those of their rows at a time: they stay in the processor's cache.
_CELLS_AT_ONCE = 2**17

# Scores closer to certainty are not told apart.
_SURE = 1 - 1e-9
# How much the mean over the models counts beside the score of the one that is farthest off: hardly, but for ties.
_SHARE_OF_MEAN = 1e-3

Cost = Callable[[Ints, Floats], Floats]


class RowMoves:
    """Rows, and the moves that they may make: to values that training rows hold, and back to their own."""

    def __init__(self, rows: Floats, training: TrainingValues, rules: Rules | None) -> None:
        self.rows = rows
        self.training = training if rules is None else training.told_apart(rules.tells_apart)
        self._rules = rules
        self._groups = Groups.of(rules)
        self.in_group = np.zeros(rows.shape[1], dtype=bool)
        for group in self._groups.groups:
            self.in_group[group] = True

    def from_rows(self, moves: Moves) -> Proposals:
        """The rows after one move each."""
        return Proposals.of(moves.of, moves.applied_to(self.rows))

    def may_take(self, line: Ints, moves: Moves) -> Bools:
        """Whether rows may take the values of moves, by their rules."""
        rules, may = self._rules, np.ones(len(line), dtype=bool)
        if rules is not None:
            for j in np.flatnonzero(rules.restricts).tolist():
                here = np.flatnonzero(moves.feature == j)
                may[here] = rules.may_change(j, line[here], moves.value[here])
        return may

    def back_to_row(self, line: Ints, values: Floats) -> Moves:
        """One move for each feature that differs from the row, or group of them: back to the row's own."""
        rows = self.rows[line]
        of, feature = np.nonzero(self._groups.first(differs(rows, values)))
        return Moves(of, feature, rows[of, feature])

    def put_back(self, line: Ints, values: Floats, moves: Moves) -> Floats:
        """Candidates after moves back to the row's own value; of a group, all its values go back."""
        rows, changed = self.rows[line[moves.of]], values[moves.of]
        goes_back = self._groups.moving(moves.feature, differs(rows, changed))
        goes_back[np.arange(len(moves.of)), moves.feature] = True
        return np.where(goes_back, rows, changed)


class Block(RowMoves):
    """Some rows, and the valid candidates for them that nothing beats in changes and distance: ``found``.

    ``lowest``: what the best one of each row costs, ``least``: what any costs at least, ``nearest``: the least distance
    of those with at most so many changes, one column for each number of them; infinite where there is none.
    ``scores``: the log-odds of the rows themselves. ``cost`` is of numbers of changes and distances. ``is_refused``:
    rows that may not be handed out, though the models accept them.
    """

    def __init__(
        self,
        question: Question,
        training: TrainingValues,
        distance: Heom,
        cost: Cost,
        is_refused: Callable[[Floats], Bools] | None,
        alternatives: Alternatives | None = None,
    ) -> None:
        super().__init__(question.rows, training, question.rules)
        self._alternatives = alternatives
        self.question = question
        self.distance = distance
        self._cost = cost
        self._is_refused = is_refused
        self.scores = _odds(question.panel.scores(question.outputs, question.wanted))
        n_rows, n_features = question.rows.shape
        self.nearest = np.full((n_rows, n_features + 1), np.inf)
        self.lowest = np.full(n_rows, np.inf)
        self.least = np.full(n_rows, -np.inf)
        if question.least is not None:
            changes = np.minimum(question.least.changes, n_features).astype(np.intp)  # infinite for no answer at all
            self.least = cost(changes, question.least.distance)
        self.found = self.known(np.empty(0, dtype=np.intp), question.rows[:0], question.outputs[:0])

    # --- candidates ---------------------------------------------------------------------------------------------------

    def known(self, line: Ints, values: Floats, outputs: Floats) -> Candidates:
        """Candidates of which the outputs are known."""
        question = self.question
        changes, distances = self._changes_and_distance(line, values)
        is_valid = question.accepts(line, values, outputs) & (changes > 0)
        if self._is_refused is not None and is_valid.any():
            is_valid[is_valid] = ~self._is_refused(values[is_valid])
        scores = _odds(question.panel.scores(outputs, question.wanted[line]))
        costs = self.costs(changes, distances)
        return Candidates(line, values, outputs, scores, changes, distances, costs, is_valid)

    def ask(self, proposals: Proposals, ahead: Callable[[], Floats] | None = None) -> Candidates:
        """Ask the model about candidates, and keep those that are valid and not beaten.

        ``ahead``: rows that may be wanted next, if the model is called at all. OutOfTime is raised after the candidates
        that there was time for are kept.
        """
        line, values = proposals.line, proposals.values
        if not len(values):
            return self.known(line, values, self.question.outputs[:0])
        outputs, is_known = self.question.score.in_time(values, ahead)
        asked = self.known(line[is_known], values[is_known], outputs[is_known])
        self.keep(asked)
        if len(asked) < len(values):
            raise OutOfTime
        return asked

    def ask_both(
        self, some: Proposals, others: Proposals, ahead: Callable[[], Floats] | None = None
    ) -> tuple[Candidates, Candidates]:
        """The same for two kinds of candidates, in one call."""
        asked = self.ask(some + others, ahead)
        at = np.arange(len(asked))
        return asked.take(at < len(some)), asked.take(at >= len(some))

    def keep(self, candidates: Candidates) -> None:
        """Keep those that are valid and that nothing beats."""
        valid = candidates.take(candidates.is_valid)
        if not len(valid):
            return
        np.minimum.at(self.lowest, valid.line, valid.costs)
        if self._alternatives is not None:
            self._alternatives.add(valid)
        self.found = self._front(joined([self.found, valid]))

    def _front(self, valid: Candidates) -> Candidates:
        """Those that nothing beats in changes and distance, by line and changes; one of several equal ones."""
        order = np.lexsort((valid.distances, valid.changes, valid.line))
        line, changes, distances = valid.line[order], valid.changes[order], valid.distances[order]
        np.minimum.at(self.nearest, (line, changes), distances)
        np.minimum.accumulate(self.nearest, axis=1, out=self.nearest)
        is_first = np.concatenate([[True], (line[1:] != line[:-1]) | (changes[1:] != changes[:-1])])
        before = np.where(changes > 0, self.nearest[line, np.maximum(changes - 1, 0)], np.inf)
        return valid.take(order[is_first & (distances < before)])

    def is_open(self) -> Bools:
        """Which rows have not the best answer that there can be."""
        return np.asarray(self.lowest > self.least * (1 + SAME))

    def is_unanswered(self) -> Bools:
        """Return which rows have no valid candidate within the limit on changes, though there may be one."""
        most = min(self.question.most_changes, self.rows.shape[1])
        return np.isinf(self.nearest[:, most]) & self.is_open()

    def heights(self, candidates: Candidates) -> Floats:
        """Compute how close candidates are to the target by the model that is farthest off; -inf where impossible.

        On a tie, the mean over the models decides: what helps one of several models is progress.
        """
        question, line = self.question, candidates.line
        scores = question.panel.scores(candidates.outputs, question.wanted[line], least=True)
        heights = _odds(scores) + _SHARE_OF_MEAN * candidates.scores
        is_possible = candidates.changes <= question.most_changes
        if question.rules is not None:
            is_possible &= question.rules.are_possible(line, candidates.values)
        return np.where(is_possible, heights, -np.inf)

    # --- what they cost -----------------------------------------------------------------------------------------------

    def measured(self, line: Ints, values: Floats) -> Floats:
        """What candidates cost, before the model is asked."""
        return self.costs(*self._changes_and_distance(line, values))

    def alone(self, moves: Moves, *, n_changes: int, share: float = 1.0) -> Floats:
        """What single moves from the row cost, or a ``share`` of them, with other changes that cost nothing."""
        return self.costs(np.full(len(moves.of), n_changes), self.alone_distance(moves) * share)

    def alone_distance(self, moves: Moves) -> Floats:
        """How far single moves go from the row.

        By the features that move: a whole row would be measured for each of them.
        """
        parts = np.zeros(len(moves.of))
        order = np.argsort(moves.feature, kind="stable")
        features, starts = np.unique(moves.feature[order], return_index=True)
        for j, first, n_moves in zip(features.tolist(), starts, np.diff(np.append(starts, len(order))), strict=True):
            here = order[first : first + n_moves]
            parts[here] = self.distance.feature(j, self.rows[moves.of[here], j], moves.value[here])
        return parts

    def better(self, proposals: Proposals) -> Proposals:
        """Candidates that would be better than what is known, each once."""
        proposals = proposals.take(np.flatnonzero(self.is_open()[proposals.line]))
        line, values = proposals.line, proposals.values
        better = np.flatnonzero(self.measured(line, values) < self.lowest[line] - LEAST)
        return proposals.take(better[distinct(line[better], values[better])])

    def unlimited(self, changes: Ints, distances: Floats) -> Floats:
        """What candidates cost if any number of features may change."""
        return self._cost(changes, distances)

    def costs(self, changes: Ints, distances: Floats) -> Floats:
        """What candidates cost; one that changes too many features more than any that does not."""
        costs = self.unlimited(changes, distances)
        excess = changes - self.question.most_changes
        return np.where(excess > 0, 1e12 * excess + np.minimum(costs, 1e11), costs)

    def _changes_and_distance(self, line: Ints, values: Floats) -> tuple[Ints, Floats]:
        """Of each candidate, in parts: their rows are not all copied at once."""
        n_at_once = max(1, _CELLS_AT_ONCE // values.shape[1])
        parts = [
            self.distance.changes_and_distance(self.rows[line[at : at + n_at_once]], values[at : at + n_at_once])
            for at in range(0, max(1, len(line)), n_at_once)
        ]
        changes, distances = zip(*parts, strict=True)
        return np.concatenate(changes), np.concatenate(distances)


def _odds(scores: Floats) -> Floats:
    """Scores as log-odds, in which the effects of several changes add up better than in probabilities."""
    return np.asarray(np.arctanh(np.clip(scores, -_SURE, _SURE)))
