"""The training data that counterfactuals are measured against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nicecf.exceptions import OptionError, SchemaError, plain
from nicecf.search.autoencoder import Autoencoder
from nicecf.search.distance import Heom, Scale
from nicecf.search.neighbors import DonorIndex
from nicecf.support.options import check_seed, choose
from nicecf.support.types import Floats, Label, Objects, Table
from nicecf.tables.ordered import Ordinal
from nicecf.tables.requirements import check_order
from nicecf.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class Reference:
    """The training data that counterfactuals are measured against; made by :meth:`of`.

    What is costly to learn (autoencoders, an index of neighbors) is learned when it is first asked for.
    """

    schema: Schema
    training: Floats
    labels: Objects | None
    seed: int

    @classmethod
    def of(
        cls,
        X: Table,
        y: Iterable[Label] | None = None,
        *,
        categorical_features: object = "auto",
        ordinal: Ordinal = "rank",
        random_state: int | None = None,
    ) -> Reference:
        """Read the training table; ``y``, the labels, is needed by IM1 and IM2 alone.

        ``categorical_features`` and ``ordinal`` as in :class:`nicecf.NICE`; ``random_state`` is the seed of the
        autoencoders.
        """
        check_seed(random_state)
        choose("ordinal", ordinal, ("rank", "overlap"))
        schema, training = Schema.of(X, categorical_features, ordinal)
        if y is None:
            return cls(schema, training, None, random_state or 0)
        check_order(y, X)
        labels = plain_labels(y)
        if len(labels) != len(training):
            raise SchemaError(f"X has {len(training):,} rows, but y has {len(labels):,} labels.")
        return cls(schema, training, labels, random_state or 0)

    def encoded(self, X: Table) -> Floats:
        """A table with the columns of the training data as float rows."""
        return self.schema.encode(X)[0]

    def distance(self, scale: Scale) -> Heom:
        """HEOM with the ranges or the standard deviations of the training columns."""
        return self._by_range if scale == "range" else self._by_deviation

    @cached_property
    def _by_range(self) -> Heom:
        return Heom.of_table(self.training, self.schema, "range")

    @cached_property
    def _by_deviation(self) -> Heom:
        return Heom.of_table(self.training, self.schema, "std")

    @cached_property
    def autoencoder(self) -> Autoencoder:
        """Trained on all rows: that of NICE's own plausibility."""
        return Autoencoder.train(self.training, self.schema.by_equality, seed=self.seed)

    @cached_property
    def autoencoders(self) -> dict[Label, Autoencoder]:
        """One for each label, trained on its rows alone; all have the inputs of the one for all rows."""
        if self.labels is None:
            raise OptionError("IM1 and IM2 need an autoencoder for each class: pass the labels, Reference.of(X, y).")
        inputs, by_equality = self.autoencoder.inputs, self.schema.by_equality
        return {
            label: Autoencoder.train(self.training[self.labels == label], by_equality, seed=self.seed, inputs=inputs)
            for label in dict.fromkeys(self.labels)
        }

    @cached_property
    def neighbors(self) -> DonorIndex:
        """All training rows, to be searched by their distance over the ranges."""
        one_group = np.zeros(len(self.training), dtype=np.intp)
        return DonorIndex.of(self.training.copy(order="F"), one_group, 1, self._by_range)


def plain_labels(y: Iterable[Label]) -> Objects:
    """Labels of any library as an array of Python values."""
    values = [plain(one) for one in (y.tolist() if isinstance(y, np.ndarray) else y)]
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels
