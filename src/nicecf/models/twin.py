"""Trees, scored without the overhead of a call: the same splits, the same sums, the same digits.

A tree model spends most of a small call on checking and copying its table, and a `ColumnTransformer` in front of it as
much again on splitting and joining tables. A twin holds the trees as arrays and the user's own fitted encoders, and
does only the arithmetic. Whether it answers as the model does is checked: `twin_of` compares both on training rows, and
unless told otherwise `explain` asks the model itself about what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from nicecf.models import trees
from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.models.inputs import Asked, ByColumn, Direct, Whole, is_passed_through
from nicecf.models.trees.ensemble import NotSupported as NotSupported
from nicecf.models.trees.ensemble import TreeEnsemble
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import Schema, differs


class Twin(Protocol):
    """A faster way to the probabilities of a model."""

    @property
    def rounding(self) -> float:
        """How far they may be from the model's own: its precision."""

    def __call__(self, rows: Floats, schema: Schema) -> Floats:
        """The probabilities for encoded rows of this schema; NotSupported if the model itself must be asked."""

    def cells(self, rows: Floats, schema: Schema) -> Ints:
        """Of each value, which others the model cannot tell from it: equal numbers; -1 for a feature if unknown."""

    def cells_by(self, rows: Floats, schema: Schema) -> Callable[[Floats, Schema], Ints]:
        """The same for other rows, again and again, if they are like these."""


def twin_of(model: Any, schema: Schema, rows: Floats, probabilities: Floats) -> Twin:
    """A faster twin of a fitted model; NotSupported, with the reason, if there is none, or it answers differently.

    The two are compared on ``rows``, for which the model gives ``probabilities``.
    """
    try:
        twin = TreeTwin(model, schema)
        answers = twin(rows, schema)
    except NotSupported:
        raise
    except Exception as error:  # private parts of the libraries may be missing or changed in another version
        raise NotSupported(f"its trees could not be read ({type(error).__name__}: {error})") from error
    is_near = answers.shape == probabilities.shape and np.abs(answers - probabilities).max() <= twin.rounding
    if not is_near or (answers.argmax(axis=1) != probabilities.argmax(axis=1)).any():
        raise NotSupported("what was read of its trees does not answer as the model does")
    return twin


class TreeTwin:
    """The trees of a fitted model, after the step that turns encoded rows into their inputs."""

    def __init__(self, model: Any, schema: Schema) -> None:
        step, head = step_and_head(model)
        self._ensemble = trees.read(head)
        self._model, self._trained = head, trees.trained(head)
        self._inputs = inputs_of(step, self._ensemble, schema.full)

    @property
    def rounding(self) -> float:
        """How far the probabilities may be from the model's own."""
        return self._ensemble.rounding

    def __call__(self, rows: Floats, schema: Schema) -> Floats:
        """The probabilities for encoded rows; NotSupported if the model was trained again, or would refuse them."""
        if not trees.is_same_training(self._trained, trees.trained(self._model)):
            raise NotSupported("the model was trained again")
        return self._ensemble.probabilities(self._inputs(schema.expand(rows), schema.full))

    @property
    def parts(self) -> tuple[TreeEnsemble, Direct | ByColumn | Whole, Any, object]:
        """The trees, what turns rows into their inputs, the model itself, and what another training would replace."""
        return self._ensemble, self._inputs, self._model, self._trained

    def cells(self, rows: Floats, schema: Schema) -> Ints:
        """Which values of a feature no tree tells apart: equal numbers; -1 where a feature is more than one input."""
        return self.cells_by(rows, schema)(rows, schema)

    def cells_by(self, rows: Floats, schema: Schema) -> TwinCells:
        """The same for other rows, again and again; ``rows`` show which feature is which input."""
        own = self._own_inputs(schema.expand(rows), schema.full)
        thresholds = {j: self._ensemble.thresholds(own[j]) for j in np.flatnonzero(own >= 0).tolist()}
        return TwinCells(self._inputs, self._ensemble, own, thresholds)

    def _own_inputs(self, rows: Floats, schema: Schema) -> Ints:
        """The input that depends on one numeric feature alone, if the feature moves nothing else; -1 for none.

        One move shows which input it is, but not that it is the only one: that the step must be known for.
        """
        n_features = rows.shape[1]
        moved = np.tile(rows[0], (n_features, 1))
        places = np.arange(n_features)
        ends = np.array([np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)])
        moved[places, places] = np.where(ends[1] != rows[0], ends[1], ends[0])
        inputs = self._inputs(np.concatenate([rows[:1], moved]), schema)
        is_moved = differs(inputs[1:], inputs[:1])
        is_own = (is_moved.sum(axis=1) == 1) & (is_moved & (is_moved.sum(axis=0) == 1)).any(axis=1)
        is_own &= ~schema.is_categorical & self._inputs.by_column(n_features)
        own = np.where(is_own, is_moved.argmax(axis=1), -1)
        return np.where(np.isin(own, self._ensemble.split_by_sets), -1, own)


@dataclass(frozen=True, eq=False)
class TwinCells:
    """The cells of rows; ``own``: the input of each feature, ``thresholds``: what the trees compare it with."""

    inputs: Callable[[Floats, Schema], Floats]
    ensemble: TreeEnsemble
    own: Ints
    thresholds: Mapping[int, Floats]

    def __call__(self, rows: Floats, schema: Schema) -> Ints:
        """See `TreeTwin.cells`."""
        cells = np.full((len(rows), len(schema.full.columns)), -1, dtype=np.intp)
        n_at_once = max(1, CELLS_PER_CALL // max(len(self.ensemble.inputs), 1))
        for at in range(0, len(rows), n_at_once):
            some = slice(at, at + n_at_once)
            inputs = self.ensemble.compared(self.inputs(schema.expand(rows[some]), schema.full))
            for j, numbers in self.thresholds.items():
                cells[some, j] = np.searchsorted(numbers, inputs[:, self.own[j]], side="left")
        return schema.reduced_cells(cells)


def step_and_head(model: Any) -> tuple[Any, Any]:
    """The preprocessing step in front of a model, None for none, and the model itself; NotSupported for several."""
    *before, head = [step for _, step in model.steps] if type(model) is Pipeline else [model]
    before = [step for step in before if not is_passed_through(step)]
    if len(before) > 1:
        raise NotSupported(f"it has {len(before)} preprocessing steps in front of it, not one")
    return before[0] if before else None, head


def inputs_of(step: Any, ensemble: Asked, schema: Schema) -> Direct | ByColumn | Whole:
    """How encoded rows of a table become the inputs of trees, through a step or none."""
    if step is None:
        return Direct(ensemble, schema)
    return ByColumn(step, ensemble, schema) if type(step) is ColumnTransformer else Whole(step, ensemble)
