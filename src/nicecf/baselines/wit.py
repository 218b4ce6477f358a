"""WIT: the nearest training row of another class, as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.baselines.baseline import Baseline, Find, Found
from nicecf.explain.training import Training
from nicecf.explain.why_not import no_donor
from nicecf.search.distance import Heom
from nicecf.search.neighbors import DonorIndex
from nicecf.search.question import Question
from nicecf.support.types import Floats, Ints


class WIT(Baseline):
    """The counterfactual of the What-If Tool (Wexler et al., "The What-If Tool", 2019).

    The nearest training row that the model puts into a wanted class, whatever its label is: NICE(none), but with
    differences over the standard deviation and without asking whether the model gets that row right.

    Where it is not the tool: the tool counts two unlike categories as the chance that two training rows share a
    value; here they count 1, as in the experiments of the NICE paper. All rows are searched for together.

    >>> X, model = np.array([[0.0], [4.0], [9.0]]), lambda X: np.column_stack([X < 3, X >= 3]).astype(float)
    >>> WIT(model, classes=[0, 1]).fit(X).explain(np.array([[1.0]])).to_numpy().tolist()
    [[4.0]]
    """

    def _search_of(self, training: Training, values: Floats) -> Find:
        n_classes = len(training.panel.classes)
        distance = Heom.of(values, training.schema.is_categorical, "std")
        n_decided = np.bincount(training.decisions, minlength=n_classes)
        index = DonorIndex.of(values, training.decisions, n_classes, distance)
        return _Nearest(index, n_decided)


@dataclass(frozen=True, eq=False)
class _Nearest:
    index: DonorIndex
    n_decided: Ints

    def __call__(self, question: Question) -> Found:
        found = Found.nothing(question)
        places, _ = self.index.nearest(question.rows, question.wanted)
        for line, place in enumerate(places.tolist()):
            if place < 0:
                found.reasons[line] = no_donor(question.panel, self.n_decided, question.wanted[line])
                continue
            found.take(line, self.index.values[place])
            found.donors[line] = self.index.positions[place]
        return found
