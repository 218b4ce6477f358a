"""SEDC: the walk of NICE(spars), towards the mean and the mode of every feature."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf import rewards
from nicecf._typing import Bools, Floats
from nicecf.baselines.baseline import Baseline, Found, Search, Task
from nicecf.distance import Heom
from nicecf.exceptions import plain
from nicecf.method import Training
from nicecf.schema import differs
from nicecf.scorer import OutOfTime
from nicecf.search.greedy import walk_greedily


class SEDC(Baseline):
    """SEDC for tables (Fernandez-Loria, Provost and Han, "Explaining data-driven decisions", 2020).

    One feature after the other takes the mean (numbers) or the mode (categories) of the training data, the one first
    that brings the model's score furthest, until the decision changes. Where all are taken and it has not, there is no
    counterfactual.

    Where it is not the paper: the mean of an integer column is rounded to a whole number, so that the answer has
    the column's type (and a float32 to a float32); on a tie of modes the first category wins (of pandas' category
    dtype by its order, else in the training data); missing values count for neither, and a feature without any value
    stays as it is. All rows walk together: as many model calls as the longest walk has steps.

    >>> X, model = np.array([[0.0, 0.0], [8.0, 2.0]]), lambda X: np.column_stack([X[:, 0] < 3, X[:, 0] >= 3]) * 1.0
    >>> SEDC(model, classes=[0, 1]).fit(X).explain(np.array([[1.0, 5.0]])).to_numpy().tolist()
    [[4.0, 5.0]]
    """

    def _search_of(self, training: Training) -> Search:
        is_categorical = training.schema.is_categorical
        center = training.schema.rounded(_mean_or_mode(training.values, is_categorical)[None])[0]
        return _ToTheCenter(center, training.by_range)


@dataclass(frozen=True, eq=False)
class _ToTheCenter:
    center: Floats
    distance: Heom

    def __call__(self, task: Task) -> Found:
        found = Found.nothing(task)
        ends = np.where(np.isnan(self.center), task.rows, self.center)
        try:
            end_outputs = task.score(ends)
        except OutOfTime:
            found.is_cut[:] = True
            return found
        walks = walk_greedily(
            task.rows,
            task.outputs,
            ends,
            end_outputs,
            task.wanted,
            jury=task.jury,
            score=task.score,
            reward=rewards.sparsity,
            distance=self.distance,
            report=task.report,
        )
        is_there = task.jury.accepts(walks.outputs, task.wanted) & differs(task.rows, walks.values).any(axis=1)
        found.is_found[:] = is_there
        found.is_cut[:] = walks.is_cut
        decided = task.jury.decide(end_outputs)
        for line in np.flatnonzero(~is_there):
            found.reasons[line] = (
                f"with the mean or the mode of every feature the model still says "
                f"{plain(task.jury.classes[decided[line]])!r}, and nothing on the way there is "
                f"{task.jury.named(task.wanted[line])}"
            )
        return replace(found, values=walks.values, walks=walks)


def _mean_or_mode(training: Floats, is_categorical: Bools) -> Floats:
    """One value for each feature, of those that are not missing; NaN where there is none."""
    center = np.full(training.shape[1], np.nan)
    for j, column in enumerate(training.T):
        if is_categorical[j]:
            counts = np.bincount(column[column >= 0].astype(np.intp))
            if len(counts):
                center[j] = counts.argmax()
        elif not np.isnan(column).all():
            center[j] = np.nanmean(column)
    return center
