"""The post-hoc step of DiCE: numbers that changed little move back towards the row's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.baselines.asking import rounded, towards
from nicecf.baselines.dice_data import Table
from nicecf.search.question import Question
from nicecf.support.types import Floats

# dice-ml's posthoc_sparsity_param.
_QUANTILE = 0.1
_MOST_STEPS = 100


@dataclass(frozen=True)
class _Column:
    feature: int
    # The largest change that may be taken back.
    reach: float
    decimals: int


@dataclass(frozen=True)
class MovesBack:
    """Numbers move back, one column after the other; columns that may move far come first."""

    columns: tuple[_Column, ...]

    @classmethod
    def of(cls, table: Table) -> MovesBack:
        """How far each column may move, by the training data."""
        if not len(table.values):
            return cls(())
        deviations = table.deviations()
        columns = []
        for feature, deviation, decimals in zip(table.numbers, deviations, table.decimals.values(), strict=True):
            distinct = np.unique(table.values[:, feature])
            reach = min(float(np.quantile(np.abs(distinct - np.median(distinct)), _QUANTILE)), deviation)
            columns.append(_Column(int(feature), reach, decimals))
        return cls(tuple(sorted(columns, key=lambda one: one.reach, reverse=True)))

    def __call__(self, question: Question, line: int, values: Floats) -> None:
        """Move counterfactuals of one row back, in place: all of them stay accepted.

        Raises OutOfTime past the deadline; the columns that were done by then have moved.
        """
        for column in self.columns:
            own = question.rows[line, column.feature]
            gaps = own - values[:, column.feature]
            near = np.flatnonzero((gaps != 0) & (np.abs(gaps) <= column.reach))
            if not len(near):
                continue
            paths = [_path(values[at, column.feature], own, column.decimals) for at in near]
            at = np.repeat(near, [len(path) for path in paths])
            tried = values[at]
            tried[:, column.feature] = np.concatenate(paths)
            lines = np.full(len(at), line)
            tried = rounded(question, lines, tried)
            is_accepted, _ = towards(question, lines, tried)
            for one in near:
                of_one = np.flatnonzero(at == one)
                n_steps = int(np.argmin(np.append(is_accepted[of_one], False)))
                if n_steps:
                    values[one] = tried[of_one[n_steps - 1]]


def _path(start: float, end: float, decimals: int) -> Floats:
    """The numbers on the way, and the end: in units of the last decimal, or in equal steps where these are too many."""
    unit = 10.0**-decimals
    gap = abs(end - start)
    n_steps = _MOST_STEPS if gap > _MOST_STEPS * unit else max(1, round(gap / unit))
    path = np.linspace(start, end, n_steps + 1)[1:]
    path[:-1] = path[:-1].round(decimals)
    return path
