"""SEDC: the walk of NICE(spars), towards the mean and the mode of every feature."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf.baselines.baseline import Baseline, Find, Found
from nicecf.explain.training import Training
from nicecf.models.scorer import OutOfTime
from nicecf.search import objectives
from nicecf.search.distance import Heom
from nicecf.search.donors import Donors
from nicecf.search.greedy import walk_greedily
from nicecf.search.question import Question
from nicecf.support.phrases import Statement, plain_classes
from nicecf.support.types import Bools, Floats
from nicecf.tables.schema import differs


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

    def _search_of(self, training: Training, values: Floats) -> Find:
        is_categorical = training.schema.is_categorical
        center = training.schema.rounded(_mean_or_mode(values, is_categorical)[None])[0]
        return _ToTheCenter(center, training.by_range)


@dataclass(frozen=True, eq=False)
class _ToTheCenter:
    center: Floats
    distance: Heom

    def __call__(self, question: Question) -> Found:
        found = Found.nothing(question)
        ends = np.where(np.isnan(self.center), question.rows, self.center)
        try:
            end_outputs = question.score(ends)
        except OutOfTime:
            found.is_cut[:] = True
            return found
        ends_at = Donors(np.full(len(question), -1), ends, end_outputs)
        walks = walk_greedily(question, ends_at, reward=objectives.sparsity, distance=self.distance)
        is_there = question.panel.accepts(walks.outputs, question.wanted)
        is_there &= differs(question.rows, walks.values).any(axis=1)
        found.is_found[:] = is_there
        found.is_cut[:] = walks.is_cut
        decided = question.panel.decide(end_outputs)
        for line in np.flatnonzero(~is_there).tolist():
            still = plain_classes([question.panel.classes[decided[line]]])
            found.reasons[line] = Statement("reason.sedc_none", {"still": still, "target": question.target(line)})
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
