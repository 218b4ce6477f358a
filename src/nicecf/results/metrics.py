"""What a counterfactual is worth, by the measures of the paper's experiments: one function each.

All take tables as they are handed out (``cfs.to_frame()``, or anyone else's counterfactuals in the same columns) and
give one number per row, NaN where there is no counterfactual: where the mask ``found`` says so or, without one, where
every cell of a line is missing. What is measured against the training data takes a :class:`Reference`, which learns
from it once. Lower is better, except for :func:`is_valid` and :func:`holds_for`. ``cfs.metrics(reference)`` calls all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from time import process_time
from typing import Literal

import numpy as np
import numpy.typing as npt

from nicecf.exceptions import OptionError, SchemaError, plain
from nicecf.models.classifier import Classifier
from nicecf.models.decision import member_of
from nicecf.models.scores import Regressor, ScoreTarget, is_regressor
from nicecf.results.reference import Reference, plain_labels
from nicecf.search.autoencoder import Autoencoder, rounded_errors
from nicecf.search.distance import Scale
from nicecf.support.options import check_count, choose
from nicecf.support.types import Bools, Floats, Ints, Label, Objects, Table
from nicecf.tables import container_of
from nicecf.tables.requirements import check_order
from nicecf.tables.schema import Schema, differs

# As in the paper that IM1 and IM2 come from (Van Looveren and Klaise, 2021): no division by zero.
_EPSILON = 1e-8
# Distances that are equal except for the order of a sum must tie when methods are ranked.
_DIGITS = 10


def is_valid(
    model: object,
    X: Table,
    counterfactuals: Table,
    *,
    target_class: Label = "other",
    classes: Iterable[Label] | None = None,
    decision: object = None,
    found: npt.ArrayLike | None = None,
) -> Bools:
    """Whether the model, asked again about the table as it is, puts each counterfactual where it should be.

    ``target_class="other"``, or None: in another class than the row; else in that class. ``classes`` and ``decision``
    as in :class:`nicecf.NICE`. A row without a counterfactual is not valid.

    >>> model = lambda X: np.column_stack([X[:, 0] < 3, X[:, 0] >= 3]).astype(float)
    >>> X, found = np.array([[0.0], [1.0], [2.0]]), np.array([[3.0], [2.5], [np.nan]])
    >>> is_valid(model, X, found, classes=[0, 1]).tolist()
    [True, False, False]
    """
    _check_rows(X, counterfactuals)
    is_there = _is_there(counterfactuals, found)
    after = _decided(model, counterfactuals, is_there, classes, decision)
    if target_class is None or (isinstance(target_class, str) and target_class == "other"):
        before = _decided(model, X, np.ones(len(is_there), dtype=bool), classes, decision)
        return np.asarray(is_there & (after != before))
    return np.asarray(is_there & (after == plain(target_class)))


def coverage(
    model: object,
    X: Table,
    counterfactuals: Table,
    *,
    target_class: Label = "other",
    classes: Iterable[Label] | None = None,
    decision: object = None,
    found: npt.ArrayLike | None = None,
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


def sparsity(X: Table, counterfactuals: Table, *, found: npt.ArrayLike | None = None) -> Floats:
    """How many features differ; missing and missing do not.

    >>> sparsity(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), np.array([[1.0, 0.0, 9.0], [1.0, 2.0, 3.0]])).tolist()
    [2.0, 0.0]
    """
    _check_rows(X, counterfactuals)
    schema, rows = Schema.of(X, ordinal="overlap")  # whatever the levels are, equal is equal
    values, _ = schema.encode(counterfactuals)
    return np.where(_is_there(counterfactuals, found), differs(rows, values).sum(axis=1), np.nan)


def proximity(
    X: Table,
    counterfactuals: Table,
    reference: Reference,
    *,
    norm: Literal["l1", "l2"] = "l1",
    scale: Scale = "range",
    found: npt.ArrayLike | None = None,
) -> Floats:
    """The distance of each row and its counterfactual.

    The parts of the features are those of HEOM (|a - b| / ``scale``; 0 or 1 for categories, for ordered
    ones as ``reference`` has it). ``norm="l1"`` is their
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


def autoencoder_error(counterfactuals: Table, reference: Reference, *, found: npt.ArrayLike | None = None) -> Floats:
    """How badly an autoencoder of the training data reconstructs each counterfactual: its plausibility in the paper.

    >>> X = np.linspace(0, 1, 40).repeat(2).reshape(-1, 2)
    >>> usual, odd = autoencoder_error(np.array([[0.5, 0.5], [0.5, 3.0]]), Reference.of(X))
    >>> bool(usual < odd)
    True
    """
    return _of_those_there(counterfactuals, reference, reference.autoencoder, found)


def im1(
    counterfactuals: Table,
    reference: Reference,
    *,
    before: Iterable[Label],
    after: Iterable[Label],
    found: npt.ArrayLike | None = None,
) -> Floats:
    """IM1: the error by the autoencoder of the class reached, over that by the autoencoder of the class left.

    ``before`` and ``after``: the class of each row and of its counterfactual. Below 1, the counterfactual looks more
    like the class that it is to be of. NaN for a class without training rows.

    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]]).repeat(30, axis=0)
    >>> reference = Reference.of(X, np.array(["low", "high"]).repeat(30))
    >>> bool(im1(np.array([[1.0, 1.0]]), reference, before=["low"], after=["high"])[0] < 1)
    True
    """
    of = [_labels_of(counterfactuals, after, "after"), _labels_of(counterfactuals, before, "before")]

    def ratio(rows: Floats, lines: Ints) -> Floats:
        errors = [_by_class(reference, rows, labels[lines], _error) for labels in of]
        return np.asarray(errors[0] / (errors[1] + _EPSILON))

    return _of_those_there(counterfactuals, reference, ratio, found, with_lines=True)


def im2(
    counterfactuals: Table, reference: Reference, *, after: Iterable[Label], found: npt.ArrayLike | None = None
) -> Floats:
    """IM2: how much what the class's own autoencoder makes of the counterfactual differs from what that of all does.

    The squared difference over the sum of the absolute inputs. ``after``: the class of each counterfactual.

    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]]).repeat(30, axis=0)
    >>> reference = Reference.of(X, np.array(["low", "high"]).repeat(30))
    >>> im2(np.array([[1.0, 1.0]]), reference, after=["high"]).shape
    (1,)
    """
    labels = _labels_of(counterfactuals, after, "after")

    def difference(network: Autoencoder, table: Floats) -> Floats:
        apart = ((network.reconstructed(table) - reference.autoencoder.reconstructed(table)) ** 2).sum(axis=1)
        return np.asarray(apart / (np.abs(table).sum(axis=1) + _EPSILON))

    def of_class(rows: Floats, lines: Ints) -> Floats:
        return _by_class(reference, rows, labels[lines], difference)

    return _of_those_there(counterfactuals, reference, of_class, found, with_lines=True)


def neighbor_distance(
    counterfactuals: Table, reference: Reference, *, k: int = 5, found: npt.ArrayLike | None = None
) -> Floats:
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
    model: object,
    counterfactuals: Table,
    *,
    after: Iterable[Label],
    classes: Iterable[Label] | None = None,
    decision: object = None,
    found: npt.ArrayLike | None = None,
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


def score_holds_for(model: object, counterfactuals: Table, *, target: ScoreTarget, found: npt.ArrayLike) -> Floats:
    """The same of scores: 1 where that of another model lies in the target, 0 where not; NaN where none was found."""
    is_there = _is_there(counterfactuals, found)
    asked = container_of(counterfactuals).take(counterfactuals, np.flatnonzero(is_there))
    classes = None if hasattr(model, "classes_") else [False, True]
    scored = Regressor.of(model) if is_regressor(model) else Classifier.of(model, classes=classes, y=None)
    holds = np.full(len(is_there), np.nan)
    if is_there.any():
        holds[is_there] = target.holds(scored.probabilities(asked, int(is_there.sum()))[:, 1])
    return holds


def best_by_row(values: npt.ArrayLike, rows: npt.ArrayLike, n_rows: int, *, highest: bool = False) -> Floats:
    """Of several counterfactuals of a row the best value (the lowest, or the highest), as the paper scored them.

    ``rows``: the row that each belongs to, as ``cfs.rows``. NaN for a row without any.

    >>> best_by_row([3.0, 1.0, np.nan, 2.0], [0, 0, 1, 2], 4).tolist()
    [1.0, nan, 2.0, nan]
    """
    numbers, of = np.asarray(values, dtype=np.float64), np.asarray(rows)
    if numbers.shape != of.shape or (of < 0).any() or (of >= n_rows).any():
        raise OptionError(f"rows must hold, for each of the {len(numbers)} values, a position from 0 to {n_rows - 1}.")
    worst = -np.inf if highest else np.inf
    best = np.full(n_rows, worst)
    keep = np.maximum if highest else np.minimum
    keep.at(best, of, np.where(np.isnan(numbers), worst, numbers))
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
    found: npt.ArrayLike | None,
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
            "is none. (If a row has several, repeat the row, and see best_by_row.)"
        )


def _labels_of(counterfactuals: Table, labels: Iterable[Label], option: str) -> Objects:
    """The labels of an option, one for each counterfactual."""
    n_found = container_of(counterfactuals).n_rows(counterfactuals)
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Sized) or len(labels) != n_found:
        raise OptionError(f"{option} must be a list or array of {n_found:,} labels, one for each counterfactual.")
    check_order(labels, counterfactuals, option, "counterfactuals")
    return plain_labels(labels)


def _is_there(counterfactuals: Table, found: npt.ArrayLike | None) -> Bools:
    """Which lines hold a counterfactual: those of the mask or, without one, those with a value in any cell."""
    container = container_of(counterfactuals)
    n_rows, names = container.n_rows(counterfactuals), container.names(counterfactuals)
    if found is not None:
        mask = np.asarray(found)
        if mask.shape != (n_rows,) or mask.dtype != np.bool_:
            raise OptionError(f"found must be a mask of the {n_rows:,} counterfactuals: one boolean for each.")
        return mask
    is_there, counterfactuals = np.zeros(n_rows, dtype=bool), container.by_columns(counterfactuals)
    for position, _ in enumerate(names):
        cells = container.objects(container.column(counterfactuals, position), np.arange(n_rows))
        is_there |= np.array([not _is_missing(cell) for cell in cells], dtype=bool)
    return is_there


def _is_missing(cell: object) -> bool:
    # pandas' NA is neither equal nor unequal to itself, NaN is not equal to itself.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _decided(model: object, X: Table, is_asked: Bools, classes: Iterable[Label] | None, decision: object) -> Objects:
    """The label that the model decides on for the rows that are asked for; None for the others."""
    container = container_of(X)
    asked = container.take(X, np.flatnonzero(is_asked))
    classifier = Classifier.of(model, classes=classes, y=None)
    member = member_of(model, classifier, decision, classifier.classes)
    decided = np.full(len(is_asked), None, dtype=object)
    if is_asked.any():
        outputs = member.outputs(asked, int(is_asked.sum()))
        decided[is_asked] = classifier.classes[member.rule.decide(outputs, classifier.classes)]
    return decided
