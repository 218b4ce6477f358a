"""A search that is told its answer: a record is checked, where what found it is not there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf.search import objectives
from nicecf.search.answers import Answers, Points, no_answers, nothing_said
from nicecf.search.distance import Heom
from nicecf.search.donors import Donors
from nicecf.search.greedy import walk_greedily
from nicecf.search.question import Question, tell_nobody
from nicecf.support.types import Floats


@dataclass(frozen=True, eq=False)
class Given:
    """The values for one row, and the place of their donor, -1 for none; no values if it has no answer."""

    values: Floats | None
    donor: int
    distance: Heom

    def __call__(self, question: Question) -> Answers:
        """The answer that was given, if the models accept it."""
        if self.values is None or not len(question):
            return no_answers(question.rows, question.outputs)
        values = np.tile(self.values, (len(question), 1))
        outputs = question.score(values)
        donors = np.full(len(question), self.donor)
        walks = walk_greedily(
            replace(question, report=tell_nobody),
            Donors(donors, values, outputs),
            reward=objectives.sparsity,
            distance=self.distance,
            to_the_end=True,
        )
        points = Points(np.arange(len(question)), donors, values, outputs)
        return Answers(points, walks, nothing_said(len(question)), nothing_said(len(question)))
