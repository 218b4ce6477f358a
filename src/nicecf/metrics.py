"""What a counterfactual is worth, by the measures of the paper's experiments: one function each.

All take tables as they are handed out (``cfs.to_frame()``, or anyone else's counterfactuals in the same columns) and
give one number per row, NaN where there is no counterfactual: where the mask ``found`` says so or, without one, where
every cell of a line is missing. What is measured
against the training data takes a :class:`Reference`, which learns from it once. Lower is better, but for
:func:`is_valid` and :func:`holds_for`. ``cfs.metrics(reference)`` calls them all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from time import process_time
from typing import Any, Literal

import numpy as np

from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.autoencoder import Autoencoder, rounded_errors
from nicecf.classifier import Classifier
from nicecf.decision import juror_of
from nicecf.distance import Heom, Scale
from nicecf.exceptions import OptionError, SchemaError, plain
from nicecf.neighbors import DonorIndex
from nicecf.options import check_count, check_seed, choose
from nicecf.schema import Schema, differs
from nicecf.tables import container_of

# As in the paper that IM1 and IM2 come from (Van Looveren and Klaise, 2021): no division by zero.
_EPSILON = 1e-8
# Distances that are equal but for the order of a sum must tie when methods are ranked.
_DIGITS = 10


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
        cls, X: Table, y: Any = None, *, categorical_features: Any = "auto", random_state: int | None = None
    ) -> Reference:
        """Read the training table; ``y``, the labels, is needed by IM1 and IM2 alone.

        ``categorical_features`` as in :class:`nicecf.NICE`; ``random_state`` is the seed of the autoencoders.
        """
        check_seed(random_state)
        schema, training = Schema.of(X, categorical_features)
        if y is None:
            return cls(schema, training, None, random_state or 0)
        labels = _labels(y)
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
        return Heom.of(self.training, self.schema.is_categorical, "range")

    @cached_property
    def _by_deviation(self) -> Heom:
        return Heom.of(self.training, self.schema.is_categorical, "std")

    @cached_property
    def autoencoder(self) -> Autoencoder:
        """Trained on all rows: that of NICE's own plausibility."""
        return Autoencoder.train(self.training, self.schema.is_categorical, seed=self.seed)

    @cached_property
    def autoencoders(self) -> dict[Any, Autoencoder]:
        """One for each label, trained on its rows alone; all have the inputs of the one for all rows."""
        if self.labels is None:
            raise OptionError("IM1 and IM2 need an autoencoder for each class: pass the labels, Reference.of(X, y).")
        inputs, is_categorical = self.autoencoder.inputs, self.schema.is_categorical
        return {
            label: Autoencoder.train(self.training[self.labels == label], is_categorical, seed=self.seed, inputs=inputs)
            for label in dict.fromkeys(self.labels)
        }

    @cached_property
    def neighbors(self) -> DonorIndex:
        """All training rows, to be searched by their distance over the ranges."""
        one_group = np.zeros(len(self.training), dtype=np.intp)
        return DonorIndex.of(self.training.copy(order="F"), one_group, 1, self._by_range)


def is_valid(
    model: Any,
    X: Table,
    counterfactuals: Table,
    *,
    target_class: Any = "other",
    classes: Iterable[Any] | None = None,
    decision: Any = None,
    found: Any = None,
) -> Bools:
    """Whether the model, asked again about the table as it is, puts each counterfactual where it should be.

    ``target_class="other"``: in another class than the row; else in that class. ``classes`` and ``decision`` as in
    :class:`nicecf.NICE`. A row without a counterfactual is not valid.

    >>> model = lambda X: np.column_stack([X[:, 0] < 3, X[:, 0] >= 3]).astype(float)
    >>> X, found = np.array([[0.0], [1.0], [2.0]]), np.array([[3.0], [2.5], [np.nan]])
    >>> is_valid(model, X, found, classes=[0, 1]).tolist()
    [True, False, False]
    """
    _check_rows(X, counterfactuals)
    is_there = _is_there(counterfactuals, found)
    after = _decided(model, counterfactuals, is_there, classes, decision)
    if isinstance(target_class, str) and target_class == "other":
        before = _decided(model, X, np.ones(len(is_there), dtype=bool), classes, decision)
        return np.asarray(is_there & (after != before))
    return np.asarray(is_there & (after == plain(target_class)))


def coverage(
    model: Any,
    X: Table,
    counterfactuals: Table,
    *,
    target_class: Any = "other",
    classes: Iterable[Any] | None = None,
    decision: Any = None,
    found: Any = None,
) -> float:
    """The share of rows with a valid counterfactual; see :func:`is_valid`. Higher is better.

    >>> model = lambda X: np.column_stack([X[:, 0] < 3, X[:, 0] >= 3]).astype(float)
    >>> coverage(model, np.array([[0.0], [1.0]]), np.array([[3.0], [2.5]]), classes=[0, 1])
    0.5
    """
    valid = is_valid(
        model, X, counterfactuals, target_class=target_class, classes=classes, decision=decision, found=found
    )
    return float(valid.mean())


def cpu_seconds(explain: Callable[[Table], object], X: Table) -> Floats:
    """The processor time that each row takes when it is explained alone, as in the paper: not that of a batch.

    >>> cpu_seconds(lambda row: sum(range(1000)), np.zeros((3, 2))).shape
    (3,)
    """
    container = container_of(X)
    seconds = np.empty(container.n_rows(X))
    for row in range(len(seconds)):
        one = container.rows(X, slice(row, row + 1))
        start = process_time()
        explain(one)
        seconds[row] = process_time() - start
    return seconds


def sparsity(X: Table, counterfactuals: Table, *, found: Any = None) -> Floats:
    """How many features differ; missing and missing do not.

    >>> sparsity(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), np.array([[1.0, 0.0, 9.0], [1.0, 2.0, 3.0]])).tolist()
    [2.0, 0.0]
    """
    _check_rows(X, counterfactuals)
    schema, rows = Schema.of(X)
    values, _ = schema.encode(counterfactuals)
    return np.where(_is_there(counterfactuals, found), differs(rows, values).sum(axis=1), np.nan)


def proximity(
    X: Table,
    counterfactuals: Table,
    reference: Reference,
    *,
    norm: Literal["l1", "l2"] = "l1",
    scale: Scale = "range",
    found: Any = None,
) -> Floats:
    """The distance of each row and its counterfactual.

    The parts of the features are those of HEOM (|a - b| / ``scale``; 0 or 1 for categories). ``norm="l1"`` is their
    sum, ``"l2"`` the root of the sum of their squares.

    >>> reference = Reference.of(np.array([[0.0, 0.0], [10.0, 4.0]]))
    >>> X, found = np.array([[1.0, 1.0]]), np.array([[4.0, 3.0]])
    >>> proximity(X, found, reference).tolist()
    [0.8]
    >>> proximity(X, found, reference, norm="l2", scale="std").round(3).tolist()
    [1.166]
    """
    choose("norm", norm, ("l1", "l2"))
    choose("scale", scale, ("range", "std"))
    _check_rows(X, counterfactuals)
    rows, schema = reference.schema.encode(X)
    values = schema.encode(counterfactuals)[0]
    parts = reference.distance(scale).features(rows, values)
    distances = parts.sum(axis=1) if norm == "l1" else np.sqrt((parts**2).sum(axis=1))
    return np.where(_is_there(counterfactuals, found), np.round(distances, _DIGITS), np.nan)


def autoencoder_error(counterfactuals: Table, reference: Reference, *, found: Any = None) -> Floats:
    """How badly an autoencoder of the training data reconstructs each counterfactual: its plausibility in the paper.

    >>> X = np.linspace(0, 1, 40).repeat(2).reshape(-1, 2)
    >>> usual, odd = autoencoder_error(np.array([[0.5, 0.5], [0.5, 3.0]]), Reference.of(X))
    >>> bool(usual < odd)
    True
    """
    return _of_those_there(counterfactuals, reference, reference.autoencoder, found)


def im1(counterfactuals: Table, reference: Reference, *, before: Any, after: Any, found: Any = None) -> Floats:
    """IM1: the error by the autoencoder of the class reached, over that by the autoencoder of the class left.

    ``before`` and ``after``: the class of each row and of its counterfactual. Below 1, the counterfactual looks more
    like the class that it is to be of. NaN for a class without training rows.

    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]]).repeat(30, axis=0)
    >>> reference = Reference.of(X, np.array(["low", "high"]).repeat(30))
    >>> bool(im1(np.array([[1.0, 1.0]]), reference, before=["low"], after=["high"])[0] < 1)
    True
    """
    before, after = _labels_of(counterfactuals, before, "before"), _labels_of(counterfactuals, after, "after")

    def ratio(rows: Floats, lines: Ints) -> Floats:
        errors = [_by_class(reference, rows, labels[lines], _error) for labels in (after, before)]
        return np.asarray(errors[0] / (errors[1] + _EPSILON))

    return _of_those_there(counterfactuals, reference, ratio, found, with_lines=True)


def im2(counterfactuals: Table, reference: Reference, *, after: Any, found: Any = None) -> Floats:
    """IM2: how much what the class's own autoencoder makes of the counterfactual differs from what that of all does.

    The squared difference over the sum of the absolute inputs. ``after``: the class of each counterfactual.

    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]]).repeat(30, axis=0)
    >>> reference = Reference.of(X, np.array(["low", "high"]).repeat(30))
    >>> im2(np.array([[1.0, 1.0]]), reference, after=["high"]).shape
    (1,)
    """
    after = _labels_of(counterfactuals, after, "after")

    def difference(network: Autoencoder, table: Floats) -> Floats:
        apart = ((network.reconstructed(table) - reference.autoencoder.reconstructed(table)) ** 2).sum(axis=1)
        return np.asarray(apart / (np.abs(table).sum(axis=1) + _EPSILON))

    def of_class(rows: Floats, lines: Ints) -> Floats:
        return _by_class(reference, rows, after[lines], difference)

    return _of_those_there(counterfactuals, reference, of_class, found, with_lines=True)


def neighbor_distance(counterfactuals: Table, reference: Reference, *, k: int = 5, found: Any = None) -> Floats:
    """The mean distance to the ``k`` nearest training rows (to all, where there are fewer), by HEOM over the ranges.

    >>> reference = Reference.of(np.array([[0.0], [1.0], [4.0], [10.0]]))
    >>> neighbor_distance(np.array([[1.0]]), reference, k=3).round(3).tolist()
    [0.133]
    """
    check_count("k", k)

    def mean_distance(rows: Floats) -> Floats:
        everywhere = np.ones((len(rows), 1), dtype=bool)
        k_there = min(k, len(reference.training))
        distances = reference.neighbors.nearest_many(rows, everywhere, k=k_there)[1].mean(axis=1)
        return np.asarray(np.round(distances, _DIGITS))

    return _of_those_there(counterfactuals, reference, mean_distance, found)


def holds_for(
    model: Any,
    counterfactuals: Table,
    *,
    after: Any,
    classes: Iterable[Any] | None = None,
    decision: Any = None,
    found: Any = None,
) -> Floats:
    """Cross-model robustness: 1 where another model puts the counterfactual into the same class, 0 where not.

    ``after``: the class that it has by the model that was explained. Higher is better.

    >>> other = lambda X: np.column_stack([X[:, 0] < 2, X[:, 0] >= 2]).astype(float)
    >>> holds_for(other, np.array([[3.0], [1.5]]), after=[1, 1], classes=[0, 1]).tolist()
    [1.0, 0.0]
    """
    labels, is_there = _labels_of(counterfactuals, after, "after"), _is_there(counterfactuals, found)
    decided = _decided(model, counterfactuals, is_there, classes, decision)
    return np.where(is_there, (decided == labels).astype(np.float64), np.nan)


def best_by_row(values: Any, rows: Any, n_rows: int, *, highest: bool = False) -> Floats:
    """Of several counterfactuals of a row the best value (the lowest, or the highest), as the paper scored them.

    ``rows``: the row that each belongs to, as ``cfs.rows``. NaN for a row without any.

    >>> best_by_row([3.0, 1.0, np.nan, 2.0], [0, 0, 1, 2], 4).tolist()
    [1.0, nan, 2.0, nan]
    """
    values, rows = np.asarray(values, dtype=np.float64), np.asarray(rows)
    if values.shape != rows.shape or (rows < 0).any() or (rows >= n_rows).any():
        raise OptionError(f"rows must hold, for each of the {len(values)} values, a position from 0 to {n_rows - 1}.")
    worst = -np.inf if highest else np.inf
    best = np.full(n_rows, worst)
    keep = np.maximum if highest else np.minimum
    keep.at(best, rows, np.where(np.isnan(values), worst, values))
    return np.where(best == worst, np.nan, best)


def _error(network: Autoencoder, table: Floats) -> Floats:
    return np.asarray(((network.reconstructed(table) - table) ** 2).sum(axis=1))


def _by_class(
    reference: Reference, rows: Floats, labels: Objects, measure: Callable[[Autoencoder, Floats], Floats]
) -> Floats:
    """A measure of each row by the autoencoder of its class; NaN where there is none."""
    measured = np.full(len(rows), np.nan)
    table = reference.autoencoder.inputs(rows)
    for label, network in reference.autoencoders.items():
        here = np.flatnonzero(labels == label)
        if len(here):
            # Rounded: the last digits depend on which rows are asked for together.
            measured[here] = rounded_errors(measure(network, table[here]))
    return measured


def _of_those_there(
    counterfactuals: Table,
    reference: Reference,
    measure: Callable[..., Floats],
    found: Any,
    *,
    with_lines: bool = False,
) -> Floats:
    lines = np.flatnonzero(_is_there(counterfactuals, found))
    measured = np.full(container_of(counterfactuals).n_rows(counterfactuals), np.nan)
    if len(lines):
        rows = reference.encoded(counterfactuals)[lines]
        measured[lines] = measure(rows, lines) if with_lines else measure(rows)
    return measured


def _check_rows(X: Table, counterfactuals: Table) -> None:
    n_rows, n_found = (container_of(table).n_rows(table) for table in (X, counterfactuals))
    if n_rows != n_found:
        raise SchemaError(
            f"there are {n_rows:,} rows, but {n_found:,} counterfactuals: pass one for each row, missing where there "
            "is none. (Of several for a row, repeat the row, and see best_by_row.)"
        )


def _labels_of(counterfactuals: Table, labels: Any, option: str) -> Objects:
    """The labels of an option, one for each counterfactual."""
    n_found = container_of(counterfactuals).n_rows(counterfactuals)
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__len__") or len(labels) != n_found:
        raise OptionError(f"{option} must be a list or array of {n_found:,} labels, one for each counterfactual.")
    return _labels(labels)


def _is_there(counterfactuals: Table, found: Any) -> Bools:
    """Which lines hold a counterfactual: those of the mask or, without one, those with a value in any cell."""
    container = container_of(counterfactuals)
    n_rows, names = container.n_rows(counterfactuals), container.names(counterfactuals)
    if found is not None:
        mask = np.asarray(found)
        if mask.shape != (n_rows,) or mask.dtype != np.bool_:
            raise OptionError(f"found must be a mask of the {n_rows:,} counterfactuals: one boolean for each.")
        return mask
    is_there = np.zeros(n_rows, dtype=bool)
    for position, _ in enumerate(names):
        cells = container.objects(container.column(counterfactuals, position), np.arange(n_rows))
        is_there |= np.array([not _is_missing(cell) for cell in cells], dtype=bool)
    return is_there


def _is_missing(cell: object) -> bool:
    # pandas' NA is neither equal nor unequal to itself, NaN is not equal to itself.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _decided(model: Any, X: Table, is_asked: Bools, classes: Iterable[Any] | None, decision: Any) -> Objects:
    """The label that the model decides on for the rows that are asked for; None for the others."""
    container = container_of(X)
    asked = container.take(X, np.flatnonzero(is_asked))
    classifier = Classifier.of(model, classes=classes, y=None)
    juror = juror_of(model, classifier, decision, classifier.classes)
    decided = np.full(len(is_asked), None, dtype=object)
    if is_asked.any():
        outputs = juror.outputs(asked, int(is_asked.sum()))
        decided[is_asked] = classifier.classes[juror.rule.decide(outputs, classifier.classes)]
    return decided


def _labels(y: Any) -> Objects:
    values: list[Hashable] = [plain(one) for one in (y.tolist() if isinstance(y, np.ndarray) else y)]
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels
