"""WIT: the nearest training row of another class, as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf._typing import Floats, Ints
from nicecf.baselines.baseline import Baseline, Found, Search, Task
from nicecf.distance import Heom
from nicecf.method import Training
from nicecf.neighbors import DonorIndex
from nicecf.reasons import no_donor


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

    def _search_of(self, training: Training) -> Search:
        n_classes = len(training.jury.classes)
        distance = Heom.of(training.values, training.schema.is_categorical, "std")
        n_decided = np.bincount(training.decisions, minlength=n_classes)
        index = DonorIndex.of(training.values, training.decisions, n_classes, distance)
        return _Nearest(index, training.outputs[index.positions], n_decided)


@dataclass(frozen=True, eq=False)
class _Nearest:
    index: DonorIndex
    outputs: Floats
    n_decided: Ints

    def __call__(self, task: Task) -> Found:
        found = Found.nothing(task)
        places, _ = self.index.nearest(task.rows, task.wanted)
        for line, place in enumerate(places.tolist()):
            if place < 0:
                found.reasons[line] = no_donor(task.jury, self.n_decided, task.wanted[line])
                continue
            found.take(line, self.index.values[place])
            found.outputs[line] = self.outputs[place]
            found.donors[line] = self.index.positions[place]
        return found
