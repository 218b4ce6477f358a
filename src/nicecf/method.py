"""The one verb of every algorithm: ``explain(X, *, target_class=...)``.

Every algorithm starts alike: it learns the columns, the classes and the model's view of the training rows (`learn`),
and it is asked about rows and what is wanted of them (`ask`). What it does in between is its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import pandas as pd

from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.classifier import CELLS_PER_CALL, Classifier
from nicecf.decision import Juror, Jury, Option, juror_of
from nicecf.distance import Heom
from nicecf.exceptions import DecisionWarning, OptionError, SchemaError, listed, plain
from nicecf.origin import fingerprint
from nicecf.profile import Profile
from nicecf.result import Counterfactuals
from nicecf.schema import Schema
from nicecf.scorer import Cost, Scorer
from nicecf.twin import NotSupported, Twin, twin_of

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
    jury: Jury
    values: Floats
    outputs: Floats
    decisions: Ints
    labels: Ints | None
    profile: Profile
    seconds: float
    calls: int

    @cached_property
    def by_range(self) -> Heom:
        """NICE's distance over the ranges; to be asked for before anyone takes the rows over."""
        return Heom.of(self.values, self.schema.is_categorical, "range")

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """Of the model, by what it says of training rows, and of the training data, whatever the model and the options.

        To be asked for before anyone takes the rows over.
        """
        kinds = [(column.name, column.is_categorical, [*map(plain, column.levels)]) for column in self.schema.columns]
        said = self.jury.probabilities(self.outputs[_sample(len(self.outputs))])
        # By columns: they need no copy of the table. There are many NaNs, and two zeros.
        columns = (np.where(np.isnan(column), np.nan, column + 0.0) for column in self.values.T)
        return {
            "model": fingerprint(list(self.jury.classes), np.round(said, 6) + 0.0),
            "training": fingerprint(kinds, *columns, self.labels),
        }


@dataclass(frozen=True, eq=False)
class Witnesses:
    """A training row of each class with the model's answer at ``fit``: they tell whether it is still the same model."""

    values: Floats
    outputs: Floats
    positions: Ints

    @classmethod
    def of(cls, training: Training) -> Witnesses:
        """The first training row that the model puts in each class."""
        _, first = np.unique(training.decisions, return_index=True)
        return cls(training.values[first].copy(), training.outputs[first], first)

    def check(self, outputs: Floats, jury: Jury) -> None:
        """Raise ModelError if a model answers otherwise than at ``fit``."""
        jury.check_unchanged(self.outputs, outputs, self.positions)


@dataclass(frozen=True, eq=False)
class Question:
    """What ``explain`` was asked: the rows, what the models say of them, and the classes wanted of each.

    ``is_answered``: rows that need no counterfactual, because they are accepted in a wanted class already.
    """

    X: Table
    schema: Schema
    rows: Floats
    outputs: Floats
    wanted: Bools
    is_answered: Bools
    scorer: Scorer


def learn(
    model: Any,
    X: Table,
    y: Any,
    *,
    classes: Iterable[Any] | None,
    categorical_features: Any,
    needs_labels: bool,
    decision: Option = None,
    min_probability: float | None = None,
    robust_to: Sequence[Any] = (),
) -> Training:
    """Read the training table and ask the model about every row of it, in chunks.

    ``decision``, ``min_probability`` and ``robust_to`` as in :class:`nicecf.NICE`.
    """
    schema, values = Schema.of(X, categorical_features)
    labels = None if y is None else _labels(y, len(values))
    if labels is None and needs_labels:
        raise SchemaError(
            "y is missing: pass the labels of the training rows, fit(X, y). They tell which rows the model gets right; "
            "with justified=False rows that it gets wrong may be donors too, and y is not needed."
        )
    classifier = Classifier.of(model, classes=classes, y=labels)
    codes = None if labels is None else classifier.codes(labels)
    others = [_other(one, classifier.classes) for one in robust_to]
    jurors = [
        _juror(one, its, decision, classifier.classes, schema, values)
        for one, its in zip([model, *robust_to], [classifier, *others], strict=True)
    ]
    jury = Jury(tuple(jurors), min_probability)
    # An eighth at a time: what the model is handed is a copy, and the table should not be held twice for it.
    chunk = max(1, min(max(1000, len(values) // 8), CELLS_PER_CALL // values.shape[1]))
    start = perf_counter()
    # What is handed out later is decoded from floats: so is what is recorded here. The two cannot differ.
    parts = [values[at : at + chunk] for at in range(0, len(values), chunk)]
    outputs = np.concatenate([jury.outputs(schema.decode(part), len(part)) for part in parts])
    seconds = perf_counter() - start
    decisions = jury.decide(outputs)
    if decision is None and jurors[0].rule.is_highest:
        _warn_if_decided_otherwise(model, schema, values, jury.probabilities(outputs), decisions, jury.classes)
    profile = Profile.of(values, schema)
    return Training(schema, jury, values, outputs, decisions, codes, profile, seconds, len(parts))


def _other(model: Any, classes: Objects) -> Classifier:
    """A model of ``robust_to``: it names its classes itself, or has those of the model that is explained."""
    return Classifier.of(model, classes=None if hasattr(model, "classes_") else classes, y=None)


def _juror(
    model: Any, classifier: Classifier, decision: Option, classes: Objects, schema: Schema, values: Floats
) -> Juror:
    """A model with its rule. A threshold that was read off the model is believed if ``predict`` follows it."""
    juror = juror_of(model, classifier, decision, classes)
    if decision is not None or juror.rule.cutoffs is None:
        return juror
    table = schema.decode(values[_sample(len(values))])
    outputs = juror.outputs(table, len(_sample(len(values))))
    predicted = np.asarray(model.predict(table), dtype=object)
    is_followed = (predicted == classes[juror.rule.decide(outputs, classes)]).all()
    return juror if is_followed else juror_of(model, classifier, "predict", classes)


def _sample(n_rows: int) -> Ints:
    return np.unique(np.linspace(0, n_rows - 1, _ROWS_COMPARED).astype(np.intp))


def _warn_if_decided_otherwise(
    model: Any, schema: Schema, values: Floats, probabilities: Floats, decisions: Ints, classes: Objects
) -> None:
    """Warn of a model whose ``predict`` is not the arg-max of its probabilities, such as one with a threshold."""
    if not (hasattr(model, "predict_proba") and callable(getattr(model, "predict", None))):
        return
    sample = _sample(len(values))
    predicted = np.ravel(np.asarray(model.predict(schema.decode(values[sample])), dtype=object))
    highest = np.sort(probabilities[sample], axis=1)
    is_tie = highest[:, -1] - highest[:, -2] < 1e-9
    n_differ = int(np.count_nonzero((predicted != classes[decisions[sample]]) & ~is_tie))
    if n_differ:
        warnings.warn(
            f"the model's predict differs from its highest probability for {n_differ} of {len(sample)} training rows "
            "looked at (does it have a threshold of its own?). nicecf explains the highest probability: its "
            "counterfactuals need not change what predict says. Pass decision='predict', or the threshold itself.",
            DecisionWarning,
            stacklevel=4,
        )


def measure(training: Training, witnesses: Witnesses) -> Cost:
    """What a call of the model costs, and a row in it: by one more call, for the witnesses."""
    table = training.schema.decode(witnesses.values)
    start = perf_counter()
    outputs = training.jury.outputs(table, len(witnesses.values))
    call = perf_counter() - start
    witnesses.check(outputs, training.jury)
    in_rows = max(training.seconds - training.calls * call, 0.1 * training.seconds)
    return Cost(call, in_rows / len(training.values))


def find_twin(model: Any, training: Training, witnesses: Witnesses) -> tuple[Twin, Cost]:
    """A faster twin of the model, and what it costs; OptionError if there is none."""
    sample = _sample(len(training.values))
    rows = training.values[sample]
    twin = twin_of(model, training.schema, rows, training.outputs[sample])
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
    X: Table,
    rows: Floats,
    schema: Schema,
    jury: Jury,
    cost: Cost,
    witnesses: Witnesses,
    target_class: Any,
    look_ahead: Callable[[Bools], Floats] | None = None,
    deadline: float | None = None,
    twin: Twin | None = None,
) -> Question:
    """Score the rows to explain, ``X`` as ``rows`` by ``schema``, in one call; what is wrong is said before that call.

    ``look_ahead`` gets the classes named for each row (none: any other than its own) and returns rows that may be
    wanted next: they are scored in the same call. ``deadline`` holds for all later calls: without this one,
    there is no answer at all. With a ``twin``, it is asked in place of the model; NotSupported where it cannot answer.
    """
    targets = _targets(target_class, jury.classes, len(rows))
    scorer = _scorer(jury, schema, cost, twin)
    outputs = np.empty((0, jury.width))
    if len(rows):  # of no rows there is nothing to ask
        answers = scorer(
            rows if twin else np.concatenate([rows, witnesses.values]),
            None if look_ahead is None else lambda: look_ahead(targets),
        )
        if not twin:
            witnesses.check(answers[len(rows) :], jury)
        outputs = answers[: len(rows)]
    scorer.deadline = deadline
    other = np.arange(len(jury.classes))[None, :] != jury.decide(outputs)[:, None]
    wanted = np.where(targets.any(axis=1, keepdims=True), targets, other)
    snapshot = schema.container.take(X, np.arange(len(rows)))
    return Question(snapshot, schema, rows, outputs, wanted, jury.accepts(outputs, wanted), scorer)


def _scorer(jury: Jury, schema: Schema, cost: Cost, twin: Twin | None) -> Scorer:
    def by_the_model(rows: Floats) -> Floats:
        return jury.outputs(schema.decode(rows), len(rows))

    def by_the_twin(rows: Floats) -> Floats:
        assert twin is not None
        try:
            return twin(rows, schema)
        except Exception as error:  # what the model makes of these rows is for the model to say
            raise NotSupported from error

    return Scorer(by_the_twin if twin else by_the_model, width=jury.width, cost=cost)


def confirm(
    question: Question, jury: Jury, cost: Cost, witnesses: Witnesses, values: Floats, outputs: Floats
) -> tuple[Question, Floats]:
    """Ask the model itself about the rows, and about ``values`` for which its twin gave ``outputs``.

    Returns the question and the outputs of the values as the model sees them; NotSupported if it sees anything
    otherwise than its twin.
    """
    scorer = _scorer(jury, question.schema, cost, None)
    n_rows, n_values = len(question.rows), len(values)
    answers = scorer(np.concatenate([question.rows, values, witnesses.values]))
    witnesses.check(answers[n_rows + n_values :], jury)
    said = np.concatenate([question.outputs, outputs])
    answers = answers[: n_rows + n_values]
    # The same digits but for the last: at a cut-off that can be another decision.
    if np.abs(answers - said).max() > _SAME_ANSWER or (jury.decide(answers) != jury.decide(said)).any():
        raise NotSupported
    question = replace(question, outputs=answers[:n_rows], scorer=scorer)
    return question, answers[n_rows : n_rows + n_values]


@dataclass(frozen=True, eq=False)
class Asked:
    """The models after an ``explain`` call, to be asked again about encoded rows of it: see `nicecf.origin.Maker`.

    ``is_kept`` tells whether values for rows of the call keep the rules, ``donor_at`` gives training rows by their
    positions.
    """

    schema: Schema
    jury: Jury
    is_kept: Callable[[Ints, Floats], Bools]
    donor_at: Callable[[int], Floats | None]

    def outputs(self, values: Floats) -> tuple[Ints, Floats]:
        outputs = self.jury.outputs(self.schema.decode(values), len(values))
        return self.jury.decide(outputs), self.jury.probabilities(outputs)

    def holds(self, lines: Ints, values: Floats, decided: Ints) -> tuple[Bools, Floats]:
        outputs = self.jury.outputs(self.schema.decode(values), len(values))
        is_accepted = self.jury.accepts(outputs, np.eye(len(self.jury.classes), dtype=bool)[decided])
        return is_accepted & self.is_kept(lines, values), self.jury.probabilities(outputs)

    def donor(self, position: int) -> Floats | None:
        return self.donor_at(position)


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


def in_order_of_rows(target_class: Any, X: Table) -> Any:
    """A Series with one class per row, put in the order of the rows by its labels; anything else as it is."""
    if not (isinstance(target_class, pd.Series) and isinstance(X, pd.DataFrame)):
        return target_class
    labels = target_class.index
    if labels.equals(X.index):
        return target_class
    if not labels.is_unique or not X.index.isin(labels).all():
        raise OptionError(
            "target_class is a Series whose labels are not those of the rows, so it is not clear which class is for "
            "which row. Give it the index of the rows, or pass target_class.to_numpy() if it is in their order."
        )
    return target_class.loc[X.index]


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
        named = [_class(one, position_of, "target_class") for one in target_class]
        if len(set(named)) < len(named):
            raise OptionError(
                "target_class names a class twice. A list names classes that will all do, whatever the row; for one "
                "class for each row, pass an array: np.array([...], dtype=object)."
            )
        targets[:, named] = True
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
