"""Growing Spheres: the nearest point of another class, looked for at random in ever larger shells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nicecf.baselines.asking import generators, read, rounded
from nicecf.baselines.baseline import Baseline, Find, Found
from nicecf.baselines.lock_step import RowSearch, found_row_by_row
from nicecf.exceptions import SchemaError, listed
from nicecf.explain.training import Training
from nicecf.models.scorer import OutOfTime
from nicecf.rules.constraints import Constraints
from nicecf.search.distance import Heom
from nicecf.search.lock_step import RowSteps
from nicecf.search.question import Question
from nicecf.support.options import check_amount, check_count, check_seed
from nicecf.support.phrases import Statement
from nicecf.support.types import Bools, Floats

# A sphere that was halved so often is smaller than what floats tell apart.
_MOST_HALVINGS = 60


class GrowingSpheres(Baseline):
    """Growing Spheres (Laugel, Lesot, Marsala, Renard and Detyniecki, "Inverse classification", 2017); numbers only.

    Points are drawn in a sphere around the row. As long as one of them is in a wanted class, the sphere is halved; then
    it grows shell by shell until one is. The nearest such point is made sparse: the features that moved least go back
    to the row's own values, one after the other, while the class stays.

    Parameters
    ----------
    n_samples
        Points that are drawn in each shell.
    first_radius
        Radius of the first sphere, in standard deviations.
    max_shells
        After so many shells without a point of a wanted class, the row has no counterfactual.
    random_state
        Seed; None is 0.

    Notes
    -----
    Points are not bound to the range of the training data: a number that is never negative there may be here.

    Where it is not the paper: features are measured in standard deviations of the training data; the paper grows for
    ever. In integer columns whole numbers are drawn, what is missing stays missing, and a feature that never varies in
    training stays as it is. All rows grow together, each with random numbers of its own.

    Examples
    --------
    >>> X, model = np.array([[0.0], [4.0], [8.0]]), lambda X: np.column_stack([X < 3, X >= 3]).astype(float)
    >>> cfs = GrowingSpheres(model, classes=[0, 1], random_state=0).fit(X).explain(np.array([[1.0]]))
    >>> bool(3.0 <= cfs.to_numpy()[0, 0] < 3.1)
    True
    """

    takes_categories = False

    def __init__(
        self,
        model: Any,
        *,
        n_samples: int = 2000,
        first_radius: float = 0.1,
        max_shells: int = 300,
        random_state: int | None = None,
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
        self.n_samples = n_samples
        self.first_radius = first_radius
        self.max_shells = max_shells
        self.random_state = random_state

    def _check_options(self) -> None:
        check_count("n_samples", self.n_samples)
        check_amount("first_radius", self.first_radius, may_be_zero=False)
        check_count("max_shells", self.max_shells)
        check_seed(self.random_state)

    def _search_of(self, training: Training, values: Floats) -> Find:
        is_categorical = training.schema.is_categorical
        if is_categorical.any():
            names = [column.name for column in training.schema.columns if column.is_categorical]
            raise SchemaError(
                f"GrowingSpheres draws points around a row and takes numbers only, but {listed(names)} "
                f"{'is' if len(names) == 1 else 'are'} categorical. Use another algorithm (NICE, WIT, GeCo, ...), or a "
                "model on numbers alone."
            )
        deviations = Heom.of(values, is_categorical, "std").scales
        return _Spheres(deviations, self.n_samples, self.first_radius, self.max_shells, self.random_state)


@dataclass(frozen=True, eq=False)
class _Spheres:
    deviations: Floats
    n_samples: int
    first_radius: float
    max_shells: int
    random_state: int | None

    def __call__(self, question: Question) -> Found:
        random = generators(question, self.random_state)
        return found_row_by_row(
            question, lambda line: self._search(question, line, random[line]), values_each=self.n_samples
        )

    def _search(self, question: Question, line: int, random: np.random.Generator) -> RowSearch:
        row, scales = question.rows[line], self._scales(question.rows[line])
        target = question.target(line)
        if not scales.any():
            return Statement("reason.spheres_nothing_moves", {"target": target})

        def drawn(low: float, high: float) -> Floats:
            points = row + _in_shell(random, self.n_samples, scales, low, high)
            return rounded(question, np.full(len(points), line), points)

        nearest: Floats | None = None
        radius = self.first_radius
        try:
            for _ in range(_MOST_HALVINGS):
                points = drawn(0.0, radius)
                is_enemy, _ = read(question, line, points, (yield "score", points))
                if not is_enemy.any():
                    break
                nearest = _nearest(row, scales, points, is_enemy)
                radius /= 2
            for shell in range(1, self.max_shells + 1):
                points = drawn(shell * radius, (shell + 1) * radius)
                is_enemy, _ = read(question, line, points, (yield "score", points))
                if is_enemy.any():
                    nearest = _nearest(row, scales, points, is_enemy)
                    break
            if nearest is not None:  # in a shell, or in a sphere where the shells missed it
                return (yield from _sparse(partial(read, question, line), row, scales, nearest))
        except OutOfTime:
            if nearest is None:
                raise
            return nearest
        return Statement("reason.spheres_none", {"points": self.n_samples, "shells": self.max_shells, "target": target})

    def _scales(self, row: Floats) -> Floats:
        """The deviations of the features that can be moved, else 0."""
        return np.where(np.isnan(row), 0.0, self.deviations)


def _in_shell(random: np.random.Generator, n_samples: int, scales: Floats, low: float, high: float) -> Floats:
    """Points drawn evenly between two radii, in units of the scales; features of scale 0 do not move."""
    moved = np.flatnonzero(scales)
    directions = random.normal(size=(n_samples, len(moved)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # Volume grows with the power of the dimension; as a share of the outer radius it cannot overflow.
    share = (low / high) ** len(moved)
    radii = high * (share + random.random(n_samples) * (1.0 - share)) ** (1.0 / len(moved))
    points = np.zeros((n_samples, len(scales)))
    points[:, moved] = directions * radii[:, None] * scales[moved]
    return points


def _nearest(row: Floats, scales: Floats, points: Floats, is_enemy: Bools) -> Floats:
    moved = np.flatnonzero(scales)
    enemies = points[is_enemy]
    apart = (((enemies - row)[:, moved] / scales[moved]) ** 2).sum(axis=1)
    return np.asarray(enemies[np.argmin(apart)])


def _sparse(
    said: Callable[[Floats, Floats], tuple[Bools, Floats]], row: Floats, scales: Floats, enemy: Floats
) -> RowSteps[Floats]:
    """Put the features that moved least back, one after the other, while the class stays: all in one question."""
    moved = np.flatnonzero((scales > 0) & (enemy != row))
    order = moved[np.argsort(np.abs(enemy - row)[moved] / scales[moved], kind="stable")]
    candidates = np.tile(enemy, (len(order), 1))
    for k, feature in enumerate(order):
        candidates[k:, feature] = row[feature]
    is_enemy, _ = said(candidates, (yield "score", candidates))
    n_back = int(np.argmin(is_enemy))  # the last candidate is the row itself, and no enemy
    return enemy if n_back == 0 else np.asarray(candidates[n_back - 1])
