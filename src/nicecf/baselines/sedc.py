"""SEDC: the walk of NICE(spars), towards the mean and the mode of every feature."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from nicecf.baselines.asking import read
from nicecf.baselines.baseline import Baseline, Find, Found
from nicecf.baselines.lock_step import RowSearch, found_row_by_row
from nicecf.explain.training import Training
from nicecf.models.scorer import OutOfTime
from nicecf.rules.constraints import Constraints
from nicecf.search import objectives
from nicecf.search.distance import Heom
from nicecf.search.donors import Donors
from nicecf.search.greedy import walk_greedily
from nicecf.search.question import Question
from nicecf.support.options import check_count
from nicecf.support.phrases import Statement, plain_classes
from nicecf.support.types import Bools, Floats
from nicecf.tables.schema import differs


class SEDC(Baseline):
    """SEDC for tables (Fernandez-Loria, Provost and Han, "Explaining data-driven decisions", 2020).

    One feature after the other takes the mean (numbers) or the mode (categories) of the training data, the one first
    that brings the model's score furthest, until the decision changes. Where all are taken and it has not, there is no
    counterfactual.

    That walk is greedy: it never takes a change back. The published algorithm is a best-first search that does, with
    ``expansions``: of all sets of features that were tried, the one with the best score is extended by each feature
    that it lacks, until a set changes the decision. It may find sets that are not on the walk, where the walk ends with
    nothing or is longer; and it may give up where the walk arrives, because it goes back to smaller sets as long as
    these have better scores.

    Parameters
    ----------
    expansions
        How many sets of features are extended for a row, at most; None is the greedy walk. The experiments of the NICE
        paper allowed 100.

    Notes
    -----
    Where it is not the paper: the mean of an integer column is rounded to a whole number, so that the answer has
    the column's type (and a float32 to a float32); on a tie of modes the first category wins (of pandas' category
    dtype by its order, else in the training data); missing values count for neither, and a feature without any value
    stays as it is. No set is extended twice, and no answer is pruned. All rows walk together: as many model calls as
    the longest walk has steps, or as there are expansions.

    Examples
    --------
    >>> X, model = np.array([[0.0, 0.0], [8.0, 2.0]]), lambda X: np.column_stack([X[:, 0] < 3, X[:, 0] >= 3]) * 1.0
    >>> SEDC(model, classes=[0, 1]).fit(X).explain(np.array([[1.0, 5.0]])).to_numpy().tolist()
    [[4.0, 5.0]]
    """

    def __init__(
        self,
        model: Any,
        *,
        expansions: int | None = None,
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
        self.expansions = expansions

    def _check_options(self) -> None:
        if self.expansions is not None:
            check_count("expansions", self.expansions, or_none=True)

    def _search_of(self, training: Training, values: Floats) -> Find:
        is_categorical = training.schema.is_categorical
        center = training.schema.rounded(_mean_or_mode(values, is_categorical)[None])[0]
        if self.expansions is not None:
            return _BestFirst(center, self.expansions)
        return _ToTheCenter(center, training.by_range)


@dataclass(frozen=True, eq=False)
class _ToTheCenter:
    center: Floats
    distance: Heom

    def __call__(self, question: Question) -> Found:
        found = Found.nothing(question)
        ends = _ends(question, self.center)
        try:
            end_outputs = question.score(ends)
        except OutOfTime:
            found.is_cut[:] = True
            return found
        ends_at = Donors(np.full(len(question), -1), ends, end_outputs)
        walks = walk_greedily(question, ends_at, reward=objectives.sparsity, distance=self.distance)
        is_there = question.accepts(np.arange(len(question)), walks.values, walks.outputs)
        is_there &= differs(question.rows, walks.values).any(axis=1)
        found.is_found[:] = is_there
        found.is_cut[:] = walks.is_cut
        decided = question.panel.decide(end_outputs)
        for line in np.flatnonzero(~is_there).tolist():
            still = plain_classes([question.panel.classes[decided[line]]])
            found.reasons[line] = Statement("reason.sedc_none", {"still": still, "target": question.target(line)})
        return replace(found, values=walks.values, walks=walks)


@dataclass(frozen=True, eq=False)
class _BestFirst:
    center: Floats
    expansions: int

    def __call__(self, question: Question) -> Found:
        ends = _ends(question, self.center)
        return found_row_by_row(
            question, lambda line: self._search(question, line, ends[line]), values_each=question.rows.shape[1]
        )

    def _search(self, question: Question, line: int, end: Floats) -> RowSearch:
        row = question.rows[line]
        features = np.flatnonzero(differs(row, end)).tolist()
        # Sets of features as bits: of a wide table there are many thousands.
        best = 0
        known = {best}
        # By what they lack; of sets that lack the same, the one that was tried first.
        waiting: list[tuple[float, int, int]] = []
        for _ in range(self.expansions):
            larger = [best | 1 << j for j in features if not best >> j & 1]
            new = [one for one in larger if one not in known]
            if new:
                is_taken = np.array([[one >> j & 1 for j in range(len(row))] for one in new], dtype=bool)
                values = np.where(is_taken, end, row)
                is_accepted, far = read(question, line, values, (yield "score", values))
                if is_accepted.any():
                    return np.asarray(values[np.where(is_accepted, far, -np.inf).argmax()])
                for lacks, one in zip((1.0 - far).tolist(), new, strict=True):
                    heappush(waiting, (lacks, len(known), one))
                    known.add(one)
            if not waiting:
                break
            best = heappop(waiting)[2]
        return Statement("reason.sedc_none_tried", {"tried": len(known) - 1, "target": question.target(line)})


def _ends(question: Question, center: Floats) -> Floats:
    """The rows with all features at their mean or mode; their own where there is neither."""
    return np.where(np.isnan(center), question.rows, center)


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
