"""CFproto: gradient descent towards a prototype of the wanted class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from nicecf.baselines.asking import rounded
from nicecf.baselines.baseline import Baseline, Find, Found
from nicecf.baselines.embedding import Embedding
from nicecf.explain.training import Training
from nicecf.explain.why_not import no_donor
from nicecf.models.scorer import OutOfTime
from nicecf.models.twin import twin_of
from nicecf.rules.constraints import Constraints
from nicecf.search.question import Question
from nicecf.support.options import check_amount, check_count
from nicecf.support.phrases import Statement
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import Schema, differs

_STEEPEST = 1000.0
# Rows descend together in blocks whose perturbations have at most this many cells: 128 MB.
_MOST_CELLS = 2**24


class CFproto(Baseline):
    """CFproto (Van Looveren and Klaise, "Interpretable counterfactual explanations guided by prototypes", 2021).

    Each row becomes a point that descends, by FISTA, on ``c * hinge + beta * L1 + L2 + theta * prototype``: how far the
    model is from a wanted class, the L1 and the squared L2 distance from the row, and the squared distance to the
    prototype, the nearest training row that the model puts into a wanted class. Of all points on the way that the model
    accepts, the one with the smallest ``beta * L1 + L2`` is the counterfactual. The model is a black box: the gradient
    of the hinge is measured. Nothing is random. The variant with k-d trees and without an autoencoder.

    Parameters
    ----------
    beta, theta
        The weights of L1 and of the prototype.
    c_init, c_steps
        The weight of the hinge in the first descent, and how many descents there are: from one to the next the weight
        is raised tenfold until something is found, and then halved into place.
    max_iterations
        Steps of a descent. One row takes about ``c_steps * max_iterations`` model calls, a batch no more: many rows at
        once are cheap, one is not. ``time_budget`` gives what is best so far.
    learning_rate, eps
        The first step size, and how far to both sides of a feature the gradient is measured: alibi's defaults (the
        authors' package). All others have the values of the experiments of the NICE paper.

    Notes
    -----
    Numbers count over their range in the training data, and no step leads out of it; categories lie on a line, by the
    paper's association-based distance.

    As in alibi, where the paper is silent: the learning rate falls to zero over a descent; a step shrinks by ``beta``
    itself; the gradient of the hinge counts twice with two classes, n / (n - 1) times with n, and is clipped at 1000.

    Where it is neither the paper nor alibi: the hinge is towards the wanted classes, whichever the row's own is; it has
    a gradient from the first step on (alibi's from the second), and every step has its momentum (alibi now and then
    loses it, which makes it differ from run to run); multidimensional scaling starts from the classical one, not at
    random. What is found is checked as it is handed out, with a level for each category and whole numbers in integer
    columns; the gradient is measured without that rounding, so the model must take such numbers. What is missing in a
    row stays missing, a category that training never saw stays as it is, and so do what never varies in the training
    data, a category that the other features say nothing about, and one with more than 1,000 levels. For the prototypes,
    a missing number is the mean, a missing category a level of its own, which no counterfactual gets.

    All rows descend together: one model call for each of the ``c_steps * max_iterations`` steps and one before, with
    two rows for each number and row that wants a counterfactual. A model of steps, such as a forest, has no gradient
    but at its steps: mostly the prototype leads. Where the trees can be read, only the steps are asked about.

    Examples
    --------
    >>> X, model = np.array([[0.0], [4.0], [9.0]]), lambda X: np.column_stack([X < 3, X >= 3]).astype(float)
    >>> CFproto(model, classes=[0, 1]).fit(X).explain(np.array([[1.0]])).to_numpy().round(2).tolist()
    [[3.0]]
    """

    def __init__(
        self,
        model: Any,
        *,
        beta: float = 0.01,
        c_init: float = 1.0,
        c_steps: int = 5,
        max_iterations: int = 500,
        theta: float = 10.0,
        learning_rate: float = 1e-2,
        eps: float = 1e-3,
        classes: Iterable[Any] | None = None,
        categorical_features: Any = "auto",
        decision: Any = None,
        constraints: Constraints | None = None,
    ) -> None:
        super().__init__(
            model,
            classes=classes,
            categorical_features=categorical_features,
            decision=decision,
            constraints=constraints,
        )
        self.beta = beta
        self.c_init = c_init
        self.c_steps = c_steps
        self.max_iterations = max_iterations
        self.theta = theta
        self.learning_rate = learning_rate
        self.eps = eps

    def _check_options(self) -> None:
        check_amount("beta", self.beta)
        check_amount("c_init", self.c_init)
        check_count("c_steps", self.c_steps)
        check_count("max_iterations", self.max_iterations)
        check_amount("theta", self.theta)
        check_amount("learning_rate", self.learning_rate, may_be_zero=False)
        check_amount("eps", self.eps, may_be_zero=False)

    def _search_of(self, training: Training, values: Floats) -> Find:
        schema, n_classes = training.schema, len(training.panel.classes)
        n_levels = np.array([len(column.levels) for column in schema.columns])
        embedding = Embedding.of(values, schema.is_categorical, n_levels)
        points, _ = embedding.place(values)
        return _Descents(
            embedding,
            Prototypes.of(points, training.decisions, n_classes),
            np.bincount(training.decisions, minlength=n_classes),
            None if isinstance(self.decision, str) else _cells_of(self.model, training, values),
            beta=float(self.beta),
            c_init=float(self.c_init),
            c_steps=int(self.c_steps),
            max_iterations=int(self.max_iterations),
            theta=float(self.theta),
            learning_rate=float(self.learning_rate),
            eps=float(self.eps),
        )


def _cells_of(model: Any, training: Training, values: Floats) -> Callable[[Floats, Schema], Ints] | None:
    """Which values of a feature the trees of a model cannot tell apart; None if it has none that can be read."""
    positions, rows = training.sample
    try:
        return twin_of(model, training.schema, rows, training.outputs[positions]).cells_by(values, training.schema)
    except Exception:  # NotSupported, or whatever the model's own preprocessing raises: the search does without
        return None


@dataclass(frozen=True, eq=False)
class Prototypes:
    """The training rows as points, in one k-d tree for each class that the model puts any into."""

    trees: tuple[KDTree | None, ...]

    @classmethod
    def of(cls, points: Floats, decisions: Ints, n_classes: int) -> Prototypes:
        """The trees of some training rows."""
        by_class = [points[decisions == position] for position in range(n_classes)]
        return cls(tuple(KDTree(some) if len(some) else None for some in by_class))

    def nearest(self, points: Floats, wanted: Bools) -> tuple[Floats, Bools]:
        """For each point the nearest one of a wanted class, and whether there is any; on a tie, of the first class."""
        prototypes, best = points.copy(), np.full(len(points), np.inf)
        for position, tree in enumerate(self.trees):
            lines = np.flatnonzero(wanted[:, position])
            if tree is None or not len(lines):
                continue
            distances, places = tree.query(points[lines])
            is_nearer = distances < best[lines]
            nearer = lines[is_nearer]
            best[nearer] = distances[is_nearer]
            prototypes[nearer] = tree.data[places[is_nearer]]
        return prototypes, np.isfinite(best)


@dataclass(frozen=True, eq=False)
class _Descending:
    """Rows on their way together: which of the question they are, where they start and where they are drawn to."""

    lines: Ints
    rows: Floats
    starts: Floats
    can_move: Bools
    prototypes: Floats

    def take(self, at: slice) -> _Descending:
        return _Descending(self.lines[at], self.rows[at], self.starts[at], self.can_move[at], self.prototypes[at])


@dataclass(frozen=True, eq=False)
class _Descents:
    embedding: Embedding
    prototypes: Prototypes
    n_decided: Ints
    cells: Callable[[Floats, Schema], Ints] | None
    beta: float
    c_init: float
    c_steps: int
    max_iterations: int
    theta: float
    learning_rate: float
    eps: float

    def __call__(self, question: Question) -> Found:
        found = Found.nothing(question)
        starts, can_move = self.embedding.place(question.rows)
        prototypes, has_one = self.prototypes.nearest(starts, question.wanted)
        n_steps = self.c_steps * self.max_iterations
        for line, wanted in enumerate(question.wanted):
            if not has_one[line]:
                found.reasons[line] = no_donor(question.panel, self.n_decided, wanted)
            elif not can_move[line].any():
                found.reasons[line] = Statement("reason.cfproto_nothing_moves", {"target": question.target(line)})
            else:
                found.reasons[line] = Statement(
                    "reason.cfproto_none", {"steps": n_steps, "target": question.target(line)}
                )
        lines = np.flatnonzero(has_one & can_move.any(axis=1))
        descending = _Descending(lines, question.rows[lines], starts[lines], can_move[lines], prototypes[lines])
        block = max(1, _MOST_CELLS // (2 * starts.shape[1] ** 2))
        for at in range(0, len(lines), block):
            try:
                self._tune(question, descending.take(slice(at, at + block)), found, n_done=at)
            except OutOfTime:
                found.is_cut[lines[at:]] = True
                break
        return found

    def _tune(self, question: Question, descending: _Descending, found: Found, *, n_done: int) -> None:
        """Descend again and again, each row with a ``c`` that is just enough: ten times more, then by bisection."""
        n = len(descending.lines)
        c, lower, upper = np.full(n, self.c_init), np.zeros(n), np.full(n, np.inf)
        best = np.full(n, np.inf)
        _, _, first_slopes = self._ask(question, descending, descending.starts, descending.starts)
        for step in range(self.c_steps):
            is_there = self._descend(question, descending, c, first_slopes, best, found)
            upper = np.where(is_there, np.minimum(upper, c), upper)
            lower = np.where(is_there, lower, np.maximum(lower, c))
            c = np.where(np.isinf(upper), 10.0 * c, (lower + np.where(np.isinf(upper), 0.0, upper)) / 2.0)
            question.report(n_done + n * (step + 1) // self.c_steps)

    def _descend(
        self, question: Question, descending: _Descending, c: Floats, slopes: Floats, best: Floats, found: Found
    ) -> Bools:
        """One descent of all rows, with all better answers put into ``best`` and ``found``; which rows had any."""
        starts, is_there = descending.starts, np.zeros(len(c), dtype=bool)
        points = ahead = starts
        for i in range(self.max_iterations):
            rate = self.learning_rate * np.sqrt(1.0 - i / self.max_iterations)
            pull = 2.0 * (ahead - starts) + 2.0 * self.theta * (ahead - descending.prototypes)
            gradient = np.clip(pull, -_STEEPEST, _STEEPEST) + np.clip(c[:, None] * slopes, -_STEEPEST, _STEEPEST)
            before, points = points, self._shrunk(ahead - rate * gradient, descending)
            ahead = np.clip(points + (i + 1) / (i + 4) * (points - before), -1.0, 1.0)
            values, is_accepted, slopes = self._ask(question, descending, points, ahead)
            moves = np.abs(points - starts)
            costs = self.beta * moves.sum(axis=1) + (moves**2).sum(axis=1)
            is_there |= is_accepted
            is_better = is_accepted & (costs < best)
            best[is_better] = costs[is_better]
            found.values[descending.lines[is_better]] = values[is_better]
            found.is_found[descending.lines[is_better]] = True
        return is_there

    def _shrunk(self, points: Floats, descending: _Descending) -> Floats:
        """Points drawn ``beta`` towards their start, within the ranges; a feature that is nearer than that is back."""
        moves = points - descending.starts
        nearer = np.where(moves > 0, np.minimum(points - self.beta, 1.0), np.maximum(points + self.beta, -1.0))
        return np.where((np.abs(moves) > self.beta) & descending.can_move, nearer, descending.starts)

    def _ask(
        self, question: Question, descending: _Descending, points: Floats, ahead: Floats
    ) -> tuple[Floats, Bools, Floats]:
        """Points as they would be handed out, which are accepted, and the slopes at those ahead."""
        n, n_classes = len(points), len(question.panel.classes)
        step = np.where(descending.can_move, self.eps, 0.0)
        reached, here, above, below = (
            self.embedding.read(some, descending.starts, descending.rows)
            for some in (points, ahead, ahead + step, ahead - step)
        )
        values = rounded(question, descending.lines, reached)
        at, feature = np.nonzero(self._may_differ(question, above, below))
        higher, lower, each = here[at], here[at], np.arange(len(at))
        higher[each, feature], lower[each, feature] = above[at, feature], below[at, feature]
        between = np.concatenate([here, higher, lower])
        if differs(question.trained.rounded(between), between).any():
            # The model gets whole numbers as floats if one of them is none, and may answer the same row otherwise then:
            # what would be handed out is asked about, and remembered, by itself.
            outputs = np.concatenate([question.score(values), question.score.without_memory()(between)])
        else:
            outputs = question.score(np.concatenate([values, between]))
        lines = np.concatenate([descending.lines, descending.lines])
        is_accepted = question.accepts(lines, np.concatenate([values, here]), outputs[: 2 * n])
        wanted = question.wanted[descending.lines]
        # Not ``far`` of the question, which stands still between a half and a higher cut-off.
        scores = question.panel.scores(outputs[2 * n :], wanted[np.concatenate([at, at])])
        slopes = np.zeros_like(points)
        slopes[at, feature] = (scores[len(at) :] - scores[: len(at)]) / (2.0 * self.eps) * n_classes / (n_classes - 1)
        slopes[is_accepted[n:]] = 0.0
        return values, is_accepted[:n], slopes

    def _may_differ(self, question: Question, above: Floats, below: Floats) -> Bools:
        """Where the model may tell the two sides of a feature apart; elsewhere there is nothing to ask."""
        may_differ = differs(above, below)  # most steps leave a category as it is
        if self.cells is None:
            return may_differ
        try:
            higher, lower = (self.cells(some, question.schema) for some in (above, below))
        except Exception:  # what the model makes of these rows is for the model to say
            return may_differ
        return may_differ & ((higher != lower) | (higher < 0))
