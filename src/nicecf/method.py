"""The one verb of every algorithm: ``explain(X, *, target_class=...)``.

Every algorithm starts alike: it learns the columns, the classes and the model's view of the training rows (`learn`),
and it is asked about rows and what is wanted of them (`ask`). What it does in between is its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import pandas as pd

from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.classifier import CELLS_PER_CALL, Classifier, decide
from nicecf.exceptions import DecisionWarning, ModelError, OptionError, SchemaError, listed, plain
from nicecf.result import Counterfactuals
from nicecf.schema import Schema
from nicecf.scorer import Cost, Scorer
from nicecf.twin import NotSupported, Twin, twin_of

# How far the model may move on a training row between fit and explain: more than rounding on other batch sizes or
# on a graphics card does, less than any other model would.
_SAME_MODEL = 1e-4


# How far a twin may be from the model: the order in which a forest adds up its trees.
_SAME_ANSWER = 1e-9

# How many training rows the model's predict is compared on with its probabilities.
_ROWS_COMPARED = 1000


class Method(Protocol):
    """A counterfactual algorithm."""

    def fit(self, X: Table, y: Any) -> Method:
        """Learn from the training rows."""

    def explain(self, X: Table, *, target_class: Any = "other") -> Counterfactuals:
        """One counterfactual for each row of ``X``."""


@dataclass(frozen=True, eq=False)
class Training:
    """What every algorithm knows after ``fit``: encoded rows and what the model and the labels say of them.

    ``labels`` and ``decisions`` are positions among the classes; ``labels`` is None when no labels were given.
    ``seconds`` is what the model took for all rows, in ``calls`` calls.
    """

    schema: Schema
    classifier: Classifier
    values: Floats
    probabilities: Floats
    decisions: Ints
    labels: Ints | None
    seconds: float
    calls: int


@dataclass(frozen=True, eq=False)
class Witnesses:
    """A training row of each class with the model's answer at ``fit``: they tell whether it is still the same model."""

    values: Floats
    probabilities: Floats
    positions: Ints

    @classmethod
    def of(cls, training: Training) -> Witnesses:
        """The first training row that the model puts in each class."""
        _, first = np.unique(training.decisions, return_index=True)
        return cls(training.values[first].copy(), training.probabilities[first], first)

    def check(self, probabilities: Floats, classes: Objects) -> None:
        """Raise ModelError if the model answers otherwise than at ``fit``."""
        moved = np.abs(probabilities - self.probabilities).max(axis=1)
        worst = int(np.argmax(moved))
        if moved[worst] > _SAME_MODEL:
            label = decide(self.probabilities)[worst]
            raise ModelError(
                f"the model is not the one that fit saw: for training row {self.positions[worst]} it gave "
                f"{plain(classes[label])!r} a probability of {self.probabilities[worst, label]:.4g} then and gives "
                f"{probabilities[worst, label]:.4g} now. If it was trained again, call fit again; if its answers are "
                "random (dropout left on?), make them deterministic."
            )


@dataclass(frozen=True, eq=False)
class Question:
    """What ``explain`` was asked: the rows, what the model says of them, and the classes wanted of each."""

    X: Table
    schema: Schema
    rows: Floats
    probabilities: Floats
    decisions: Ints
    wanted: Bools
    scorer: Scorer

    @property
    def is_answered(self) -> Bools:
        """Rows that are in a wanted class already."""
        return self.wanted[np.arange(len(self.rows)), self.decisions]


def learn(
    model: Any, X: Table, y: Any, *, classes: Iterable[Any] | None, categorical_features: Any, needs_labels: bool
) -> Training:
    """Read the training table and ask the model about every row of it, in chunks."""
    schema, values = Schema.of(X, categorical_features)
    labels = None if y is None else _labels(y, len(values))
    if labels is None and needs_labels:
        raise SchemaError(
            "y is missing: pass the labels of the training rows, fit(X, y). They tell which rows the model gets right; "
            "with justified=False rows that it gets wrong may be donors too, and y is not needed."
        )
    classifier = Classifier.of(model, classes=classes, y=labels)
    codes = None if labels is None else classifier.codes(labels)
    # An eighth at a time: what the model is handed is a copy, and the table should not be held twice for it.
    chunk = max(1, min(max(1000, len(values) // 8), CELLS_PER_CALL // values.shape[1]))
    start = perf_counter()
    # What is handed out later is decoded from floats: so is what is recorded here. The two cannot differ.
    parts = [values[at : at + chunk] for at in range(0, len(values), chunk)]
    probabilities = np.concatenate([classifier.probabilities(schema.decode(part), len(part)) for part in parts])
    seconds = perf_counter() - start
    _warn_if_decided_otherwise(model, schema, values, probabilities, classifier.classes)
    return Training(schema, classifier, values, probabilities, decide(probabilities), codes, seconds, len(parts))


def _warn_if_decided_otherwise(
    model: Any, schema: Schema, values: Floats, probabilities: Floats, classes: Objects
) -> None:
    """Warn of a model whose ``predict`` is not the arg-max of its probabilities, such as one with a threshold."""
    if not (hasattr(model, "predict_proba") and callable(getattr(model, "predict", None))):
        return
    sample = np.unique(np.linspace(0, len(values) - 1, _ROWS_COMPARED).astype(np.intp))
    predicted = np.ravel(np.asarray(model.predict(schema.decode(values[sample])), dtype=object))
    highest = np.sort(probabilities[sample], axis=1)
    is_tie = highest[:, -1] - highest[:, -2] < 1e-9
    n_differ = int(np.count_nonzero((predicted != classes[decide(probabilities[sample])]) & ~is_tie))
    if n_differ:
        warnings.warn(
            f"the model's predict differs from its highest probability for {n_differ} of {len(sample)} training rows "
            "looked at (does it have a threshold of its own?). nicecf explains the highest probability: its "
            "counterfactuals need not change what predict says.",
            DecisionWarning,
            stacklevel=4,
        )


def measure(training: Training, witnesses: Witnesses) -> Cost:
    """What a call of the model costs, and a row in it: by one more call, for the witnesses."""
    table = training.schema.decode(witnesses.values)
    start = perf_counter()
    probabilities = training.classifier.probabilities(table, len(witnesses.values))
    call = perf_counter() - start
    witnesses.check(probabilities, training.classifier.classes)
    in_rows = max(training.seconds - training.calls * call, 0.1 * training.seconds)
    return Cost(call, in_rows / len(training.values))


def find_twin(model: Any, training: Training, witnesses: Witnesses) -> tuple[Twin, Cost]:
    """A faster twin of the model, and what it costs; OptionError if there is none."""
    sample = np.unique(np.linspace(0, len(training.values) - 1, _ROWS_COMPARED).astype(np.intp))
    rows = training.values[sample]
    twin = twin_of(model, training.schema, rows, training.probabilities[sample])
    if twin is None:
        raise OptionError(
            "accelerate knows scikit-learn's RandomForestClassifier and ExtraTreesClassifier, alone or behind one "
            f"preprocessing step, and no faster way to the same digits for this {type(model).__name__}. Leave "
            "accelerate=False."
        )
    seconds = []
    for some in (witnesses.values, rows):
        start = perf_counter()
        twin(some, training.schema)
        seconds.append(perf_counter() - start)
    return twin, Cost(seconds[0], max(0.0, seconds[1] - seconds[0]) / len(rows))


def ask(
    schema: Schema,
    classifier: Classifier,
    cost: Cost,
    witnesses: Witnesses,
    X: Table,
    target_class: Any,
    look_ahead: Callable[[Floats, Bools], Floats] | None = None,
    deadline: float | None = None,
    twin: Twin | None = None,
) -> Question:
    """Read the rows to explain and score them in one call; everything that can be wrong is said before that call.

    ``look_ahead`` gets the rows and the classes named for each (none: any other than its own) and returns rows that
    may be wanted next: they are scored in the same call. ``deadline`` holds for all later calls: without this one,
    there is no answer at all. With a ``twin``, it is asked in place of the model; NotSupported where it cannot answer.
    """
    rows, schema = schema.encode(X)
    targets = _targets(target_class, classifier.classes, len(rows))
    scorer = _scorer(classifier, schema, cost, twin)
    answers = scorer(
        rows if twin else np.concatenate([rows, witnesses.values]),
        None if look_ahead is None else lambda: look_ahead(rows, targets),
    )
    scorer.deadline = deadline
    if not twin:
        witnesses.check(answers[len(rows) :], classifier.classes)
    probabilities = answers[: len(rows)]
    decisions = decide(probabilities)
    other = np.arange(len(classifier.classes))[None, :] != decisions[:, None]
    wanted = np.where(targets.any(axis=1, keepdims=True), targets, other)
    snapshot = schema.container.take(X, np.arange(len(rows)))
    return Question(snapshot, schema, rows, probabilities, decisions, wanted, scorer)


def _scorer(classifier: Classifier, schema: Schema, cost: Cost, twin: Twin | None) -> Scorer:
    def by_the_model(rows: Floats) -> Floats:
        return classifier.probabilities(schema.decode(rows), len(rows))

    def by_the_twin(rows: Floats) -> Floats:
        assert twin is not None
        try:
            return twin(rows, schema)
        except Exception as error:  # what the model makes of these rows is for the model to say
            raise NotSupported from error

    return Scorer(by_the_twin if twin else by_the_model, n_classes=len(classifier.classes), cost=cost)


def confirm(
    question: Question, classifier: Classifier, cost: Cost, witnesses: Witnesses, values: Floats, probabilities: Floats
) -> tuple[Question, Floats]:
    """Ask the model itself about the rows, and about ``values`` for which its twin gave ``probabilities``.

    Returns the question and the probabilities of the values as the model sees them; NotSupported if it sees anything
    otherwise than its twin.
    """
    scorer = _scorer(classifier, question.schema, cost, None)
    n_rows, n_values = len(question.rows), len(values)
    answers = scorer(np.concatenate([question.rows, values, witnesses.values]))
    witnesses.check(answers[n_rows + n_values :], classifier.classes)
    said = np.concatenate([question.probabilities, probabilities])
    if np.abs(answers[: n_rows + n_values] - said).max() > _SAME_ANSWER:
        raise NotSupported
    question = replace(question, probabilities=answers[:n_rows], scorer=scorer)
    return question, answers[n_rows : n_rows + n_values]


def _labels(y: Any, n_rows: int) -> Objects:
    labels = np.asarray(y.to_list() if hasattr(y, "to_list") else y, dtype=object)
    if labels.ndim != 1:
        raise SchemaError(
            f"y must have one label per row, got shape {labels.shape}. Pass one column, such as y.iloc[:, 0]."
        )
    if len(labels) != n_rows:
        raise SchemaError(f"y has {len(labels)} labels, but X has {n_rows} rows. Pass one label per row.")
    missing = pd.isna(labels)
    if missing.any():
        raise SchemaError(f"y has no label for row {int(np.argmax(missing))}. Drop the rows without a label.")
    return labels


def _targets(target_class: Any, classes: Objects, n_rows: int) -> Bools:
    """The classes named for each row, shape (rows, classes); a row of False means any other class than its own."""
    position_of = {label: position for position, label in enumerate(classes)}
    targets = np.zeros((n_rows, len(classes)), dtype=bool)
    if isinstance(target_class, np.ndarray) and target_class.ndim == 0:
        target_class = target_class.item()
    if isinstance(target_class, str) and target_class == "other":
        return targets
    if isinstance(target_class, (list, tuple, set, frozenset)):
        if not target_class:
            raise OptionError(f"target_class names no class; choose among {listed(classes)}, or pass 'other'.")
        targets[:, [_class(one, position_of, "target_class") for one in target_class]] = True
        return targets
    if not isinstance(target_class, (str, bytes)) and hasattr(target_class, "__len__"):
        return _targets_by_row(target_class, position_of, targets)
    targets[:, _class(target_class, position_of, "target_class")] = True
    return targets


def _targets_by_row(target_class: Any, position_of: dict[Any, int], targets: Bools) -> Bools:
    labels = np.asarray(target_class, dtype=object)
    if labels.shape != (len(targets),):
        raise OptionError(
            f"target_class is an array of shape {labels.shape}, one class per row, but X has {len(targets)} rows. "
            "For several classes that will all do, pass a list."
        )
    for row, label in enumerate(labels):
        if isinstance(label, str) and label == "other":
            if label in position_of:
                raise OptionError(
                    f"target_class of row {row}='other' could be the class of that name or any other class. Explain "
                    "these rows apart: ['other'] names the class, 'other' means any other."
                )
            continue
        targets[row, _class(label, position_of, f"target_class of row {row}")] = True
    return targets


def _class(label: Any, position_of: dict[Any, int], what: str) -> int:
    try:
        return position_of[plain(label)]
    except (KeyError, TypeError):
        raise OptionError(
            f"{what}={plain(label)!r} is not a class of the model; choose one of {listed(position_of)}, a list of "
            "them, an array with one per row, or 'other'."
        ) from None
