"""Models whose scores are sums that can be read: trees and linear models, behind steps that act column by column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from nicecf.models import linear_sums, trees
from nicecf.models.linear_sums import LinearSums
from nicecf.models.trees.ensemble import NotSupported, TreeEnsemble
from nicecf.models.twin import TreeTwin, inputs_of, step_and_head
from nicecf.support.types import Bools, Floats
from nicecf.tables.schema import Schema

Sums: TypeAlias = TreeEnsemble | LinearSums

# How far what was read may be from what the model says: single precision.
_SAME_ANSWER = 1e-6


@dataclass(frozen=True, eq=False)
class NodeLists:
    """What is asked of single nodes on the way down a tree: see `Nodes`."""

    feature: list[int]
    children: list[list[int]]
    is_leaf: list[bool]
    question: list[int]  # equal numbers where nodes ask the same of the same input

    @classmethod
    def of(cls, ensemble: TreeEnsemble) -> NodeLists:
        """Of all nodes."""
        nodes = ensemble.nodes
        asked = np.column_stack([nodes.feature, nodes.missing_left, nodes.category_set, nodes.threshold])
        _, question = np.unique(asked, axis=0, return_inverse=True)
        return cls(nodes.feature.tolist(), nodes.children.tolist(), nodes.is_leaf.tolist(), question.ravel().tolist())


@dataclass(frozen=True, eq=False)
class Formula:
    """A model as a sum of parts, each of which asks for some inputs; an input follows from one column alone."""

    sums: Sums
    inputs: Any
    model: Any
    trained: object

    @classmethod
    def of(cls, model: Any, schema: Schema, rows: Floats, probabilities: Floats) -> Formula:
        """Read a fitted model; NotSupported, with the reason, if it cannot be read, or not right.

        ``rows``: some encoded training rows, for which the model gives ``probabilities``.
        """
        try:
            step, head = step_and_head(model)
            is_linear = linear_sums.is_linear(head)
            sums: Sums = linear_sums.read(head) if is_linear else trees.read(head)
            inputs = inputs_of(step, sums, schema.full)
            formula = cls(sums, inputs, head, None if is_linear else trees.trained(head))
            answers = formula.probabilities(rows, schema)
        except NotSupported:
            raise
        except Exception as error:  # private parts of the libraries may be missing or changed in another version
            raise NotSupported(f"it could not be read ({type(error).__name__}: {error})") from error
        if not formula.by_column(schema).all():
            raise NotSupported("a preprocessing step in front of it is not known to look at one column at a time")
        if answers.shape != probabilities.shape or np.abs(answers - probabilities).max(initial=0.0) > _SAME_ANSWER:
            raise NotSupported("what was read of it does not answer as the model does")
        return formula

    @classmethod
    def of_twin(cls, twin: TreeTwin) -> Formula:
        """The same of a model whose trees are read already."""
        return cls(*twin.parts)

    def by_column(self, schema: Schema) -> Bools:
        """Which columns of the table are looked at one by one."""
        return np.asarray(self.inputs.by_column(len(schema.full.columns)))

    def compared(self, rows: Floats, schema: Schema) -> Floats:
        """The inputs of encoded rows, as the model compares or multiplies them."""
        if not self.is_current():
            raise NotSupported("the model was trained again")
        return self.sums.compared(self.inputs(schema.expand(rows), schema.full))

    def thresholds(self, number: int) -> Floats:
        """The numbers that one of the inputs of trees is compared with, in ascending order."""
        assert isinstance(self.sums, TreeEnsemble)
        return self._thresholds[number]

    @cached_property
    def _thresholds(self) -> list[Floats]:
        assert isinstance(self.sums, TreeEnsemble)
        return self.sums.all_thresholds()

    @cached_property
    def nodes(self) -> NodeLists:
        """The nodes of trees as lists, in which single ones are looked up faster than in arrays."""
        assert isinstance(self.sums, TreeEnsemble)
        return NodeLists.of(self.sums)

    def is_current(self) -> bool:
        """Whether the model was not trained again since it was read."""
        if isinstance(self.sums, LinearSums):
            return self.sums.is_of(self.model)
        return trees.is_same_training(self.trained, trees.trained(self.model))

    def probabilities(self, rows: Floats, schema: Schema) -> Floats:
        """What the formula gives for encoded rows."""
        return self.sums.probabilities(self.inputs(schema.expand(rows), schema.full))
