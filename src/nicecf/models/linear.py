"""Linear models: each number moves every score one way, and each category by an amount of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from nicecf.models.inputs import acts_by_column, is_passed_through
from nicecf.models.linear_sums import is_linear
from nicecf.models.monotone import is_monotone
from nicecf.support.types import Floats
from nicecf.tables.schema import Schema

# Of a column, the input that it becomes: none of its own, where it is a category that is spread over several.
_SPREAD = -1


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A model whose scores are sums over the columns. ``inputs``: by column, those that are known to act alone.

    ``is_softmax``: whether its probabilities are those of a softmax, so that one that is the highest, or high enough,
    at all corners of a box is so inside, however far an open end goes; of two classes they always are.
    """

    coefficients: Floats
    inputs: dict[int, int]
    is_softmax: bool

    def acts_alone(self, position: int, *, is_categorical: bool) -> bool:
        """Whether a column adds to the scores by itself; a number, in one direction."""
        return position in self.inputs and (is_categorical or self.inputs[position] != _SPREAD)

    def slopes(self, position: int, decided: int) -> Floats:
        """How the score of a class grows with a number, compared with that of each other class."""
        slopes = self.coefficients[:, self.inputs[position]]
        if len(slopes) == 1:  # the score is that of the second of two classes
            return slopes if decided == 1 else -slopes
        return np.asarray(slopes[decided] - np.delete(slopes, decided))


def linear_of(model: Any, schema: Schema) -> LinearModel | None:
    """What is linear of a fitted model, alone or behind steps that look at each column by itself; None if it is not."""
    *before, head = [step for _, step in model.steps] if type(model) is Pipeline else [model]
    if not _is_linear(head):
        return None
    inputs: dict[int, int] | None = {j: j for j, column in enumerate(schema.columns) if column.temporal is None}
    for number, step in enumerate(before):
        inputs = None if inputs is None else _through(step, inputs, schema, is_first=number == 0)
    if inputs is None:
        return None
    is_softmax = type(head) is not SGDClassifier and getattr(head, "solver", None) != "liblinear"
    is_softmax &= getattr(head, "multi_class", None) != "ovr"
    coefficients = np.asarray(head.coef_, dtype=np.float64)
    return LinearModel(coefficients, inputs, is_softmax or len(head.classes_) == 2)


def _is_linear(head: Any) -> bool:
    return is_linear(head) and (type(head) is not SGDClassifier or str(head.loss) == "log_loss")


def _through(step: Any, inputs: dict[int, int], schema: Schema, *, is_first: bool) -> dict[int, int] | None:
    """The inputs behind a step; None if what it makes of one column may depend on others."""
    if is_monotone(step):
        return inputs
    if not is_first:
        return None
    if type(step) in (OneHotEncoder, OrdinalEncoder):
        return {j: _SPREAD for j in inputs if schema.columns[j].is_categorical}
    if type(step) is not ColumnTransformer:
        return None
    found: dict[int, int] = {}
    places = step._transformer_to_input_indices
    names = getattr(step, "feature_names_in_", None)
    seen: list[int] = []
    for name, one, _ in step.transformers_:
        columns = [int(j) if names is None else schema.names.index(names[j]) for j in places[name]]
        if isinstance(one, str) and one == "drop":
            continue
        steps = [inner for _, inner in one.steps] if type(one) is Pipeline else [one]
        start = step.output_indices_[name].start
        is_kept = all(is_passed_through(inner) or is_monotone(inner) for inner in steps)
        is_code = type(steps[-1]) in (OneHotEncoder, OrdinalEncoder) and all(map(_looks_at_each, steps[:-1]))
        for at, j in enumerate(columns):
            if is_kept and j in inputs:
                found[j] = start + at
            elif is_code and schema.columns[j].is_categorical:
                found[j] = _SPREAD
        seen += columns
    return {j: place for j, place in found.items() if seen.count(j) == 1}


def _looks_at_each(step: Any) -> bool:
    return is_passed_through(step) or acts_by_column(step)
