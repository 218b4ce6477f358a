"""What every algorithm learns first: the columns, the classes, and the model's view of the training rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np

from nicecf.exceptions import OptionError, plain
from nicecf.explain.asking_all import ask_about_all
from nicecf.explain.labels import check_agreement, labels_of
from nicecf.explain.own_predict import compared_at_fit
from nicecf.models.boosters import for_classes
from nicecf.models.classifier import Classifier, names_its_classes
from nicecf.models.decision import Member, Option, Panel, member_of
from nicecf.models.scorer import Cost
from nicecf.models.scores import Regressor, is_regressor, scores_of
from nicecf.models.trees import READABLE
from nicecf.models.twin import NotSupported, Twin, twin_of
from nicecf.rules.constraints import Constraints
from nicecf.rules.moving import moving
from nicecf.rules.suggestions import one_hot_groups
from nicecf.rules.uncovered import facts_of, one_hot_in, warn_of_uncovered
from nicecf.search.distance import Heom
from nicecf.support.digests import fingerprint
from nicecf.support.progress import Choice
from nicecf.support.types import Floats, Ints, Objects, Table
from nicecf.tables.ordered import Ordinal
from nicecf.tables.parts import SketchedTable, TableInParts, read_training
from nicecf.tables.requirements import check_order
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import TableStatistics

# How many training rows the model's predict is compared on with its probabilities.
_ROWS_COMPARED = 1000
# A twin that takes so many times longer for a row than the model is not used unless it is asked for.
_MUCH_SLOWER = 3.0


@dataclass(frozen=True, eq=False)
class Canaries:
    """A training row of each class with the model's answer at ``fit``: they tell whether it is still the same model."""

    values: Floats
    outputs: Floats
    positions: Ints

    @classmethod
    def of(cls, values: Floats, outputs: Floats, decisions: Ints) -> Canaries:
        """The first training row that the model puts in each class."""
        _, first = np.unique(decisions, return_index=True)
        return cls(values[first].copy(), outputs[first], first)

    def check(self, outputs: Floats, panel: Panel) -> None:
        """Raise ModelError if a model answers otherwise than at ``fit``."""
        panel.check_unchanged(self.outputs, outputs, self.positions)


@dataclass(frozen=True, eq=False)
class Training:
    """What every algorithm knows after ``fit``, but for the encoded rows themselves: they go to the search.

    ``labels`` and ``decisions`` are positions among the classes; ``labels`` is None when no labels were given.
    ``label_scores``: the labels of a regressor, as numbers.
    ``by_range``: NICE's distance over the ranges. ``fingerprints``: of the model, by what it says of training rows, and
    of the training data, whatever the model and the options. ``sample``: positions of some rows, with their values.
    ``seconds`` is what the model took for all rows, in ``calls`` calls.
    """

    schema: Schema
    panel: Panel
    outputs: Floats
    decisions: Ints
    labels: Ints | None
    label_scores: Floats | None
    statistics: TableStatistics
    by_range: Heom
    fingerprints: dict[str, str]
    canaries: Canaries
    sample: tuple[Ints, Floats]
    seconds: float
    calls: int


@dataclass(frozen=True, eq=False)
class ModelOptions:
    """The model that is explained, and what counts as its decision: options of :class:`nicecf.NICE`.

    ``progress``: who is told how far ``fit`` is with asking it.
    """

    model: Any
    classes: Iterable[Any] | None
    decision: Option = None
    min_probability: float | None = None
    robust_to: Sequence[Any] = ()
    progress: Choice = None


def learn(
    options: ModelOptions,
    X: Table | TableInParts | SketchedTable,
    y: Any,
    *,
    categorical_features: Any,
    ordinal: Ordinal,
    needs_labels: bool,
    constraints: Constraints | None = None,
    is_baseline: bool = False,
) -> tuple[Training, Floats]:
    """Read the training table and ask the model about every row of it, in chunks; also the encoded rows.

    By the ``constraints``, columns that follow from others are left out of these: see `moving`. A baseline is the
    published algorithm: it may change free text, and nobody is warned of rules that it has no place for.
    """
    if is_baseline:
        _check_has_classes(options.model)
    table, whole = read_training(X, categorical_features, ordinal)
    if is_baseline:
        table = replace(table, columns=tuple(replace(column, is_free_text=False) for column in table.columns))
    schema, values = moving(table, whole, constraints)
    facts = facts_of(table, whole)
    one_hot = one_hot_groups(facts)
    if not is_baseline:
        warn_of_uncovered(facts, one_hot, constraints)
    check_order(y, X)
    labels = labels_of(y, len(values), is_needed=needs_labels)
    panel, codes = _panel(options, labels, schema, values)
    label_scores = None if labels is None or not panel.is_regressor else scores_of(labels, options.model)
    asked = ask_about_all(panel, schema, values, options.progress)
    outputs = asked.outputs
    panel = panel.with_spread(outputs)
    decisions, sample = panel.decide(outputs), sample_of(len(values))
    if codes is not None and not panel.is_regressor:
        check_agreement([options.model, *options.robust_to], options.classes, panel, outputs, codes)
    panel = compared_at_fit(panel, schema, values, outputs, sample)
    training = Training(
        schema=schema,
        panel=panel,
        outputs=outputs,
        decisions=decisions,
        labels=codes,
        label_scores=label_scores,
        statistics=replace(TableStatistics.of(whole, table), one_hot=one_hot_in(one_hot, table, whole)),
        by_range=Heom.of_table(values, schema, "range"),
        fingerprints=_fingerprints(
            table, panel, whole, outputs[sample], codes if label_scores is None else label_scores
        ),
        canaries=Canaries.of(values, outputs, decisions),
        sample=(sample, values[sample]),
        seconds=asked.seconds,
        calls=asked.calls,
    )
    return training, values


def _panel(options: ModelOptions, labels: Objects | None, schema: Schema, values: Floats) -> tuple[Panel, Ints | None]:
    """The models that must agree, and the labels as positions among their classes."""
    classifier: Classifier | Regressor
    if is_regressor(options.model):
        _check_scored(options)
        classifier = Regressor.of(options.model)
        others: list[Any] = [Regressor.of(one) for one in options.robust_to]
    else:
        classifier = Classifier.of(options.model, classes=options.classes, y=labels)
        others = [_other(one, classifier.classes) for one in options.robust_to]
    codes = None if labels is None else classifier.codes(labels)
    members = [
        _member(one, its, options.decision, classifier.classes, schema, values)
        for one, its in zip([options.model, *options.robust_to], [classifier, *others], strict=True)
    ]
    return Panel(tuple(members), options.min_probability), codes


def _check_scored(options: ModelOptions) -> None:
    """OptionError for what is about classes, where the model returns scores."""
    asked = {"classes": options.classes, "decision": options.decision, "min_probability": options.min_probability}
    for name, value in asked.items():
        if value is not None:
            raise OptionError(
                f"{name}={value!r} is for models with classes, and this {type(options.model).__name__} returns scores. "
                "Leave it out; explain(X, target_score=(low, high)) says which scores are wanted."
            )


def _fingerprints(
    schema: Schema, panel: Panel, values: Floats, outputs: Floats, labels: Ints | Floats | None
) -> dict[str, str]:
    """Of the model, by its ``outputs`` for some training rows, and of the training data."""
    kinds = [(column.name, column.is_categorical, [*map(plain, column.levels)]) for column in schema.columns]
    said = panel.probabilities(outputs)
    # By columns: they need no copy of the table. There are many NaNs, and two zeros.
    # A missing category is one, whether it is read by its rank or not.
    missing = (-1.0 if column.is_categorical else np.nan for column in schema.columns)
    columns = (np.where(np.isnan(cells), empty, cells + 0.0) for cells, empty in zip(values.T, missing, strict=True))
    return {
        "model": fingerprint([list(panel.classes), np.round(said, 6) + 0.0]),
        "training": fingerprint(chain([kinds], columns, [labels])),
    }


def _other(model: Any, classes: Objects) -> Classifier:
    """A model of ``robust_to``: it names its classes itself, or has those of the model that is explained."""
    return Classifier.of(model, classes=None if names_its_classes(model) else classes, y=None)


def _member(
    model: Any, classifier: Classifier | Regressor, decision: Option, classes: Objects, schema: Schema, values: Floats
) -> Member:
    """A model with its rule. A threshold that was read off the model is believed if ``predict`` follows it."""
    member = member_of(model, classifier, decision, classes)
    if decision is not None or member.rule.cutoffs is None:
        return member
    sample = values[sample_of(len(values))]
    table = schema.decode(sample)
    outputs = member.outputs(table, len(sample))
    predicted = np.asarray(model.predict(table), dtype=object)
    is_followed = (predicted == classes[member.rule.decide(outputs, classes)]).all()
    return member if is_followed else member_of(model, classifier, "predict", classes)


def sample_of(n_rows: int) -> Ints:
    """Positions of at most 1,000 rows, from first to last."""
    return np.unique(np.linspace(0, n_rows - 1, _ROWS_COMPARED if n_rows else 0).astype(np.intp))


def measured_cost(panel: Panel, schema: Schema, canaries: Canaries, *, seconds: float, calls: int, n_rows: int) -> Cost:
    """What a call of the models costs, and a row in it: by one more call, for the canaries.

    ``seconds``: what ``n_rows`` rows took in ``calls`` calls.
    """
    table = schema.decode(canaries.values)
    start = perf_counter()
    outputs = panel.outputs(table, len(canaries.values))
    call = perf_counter() - start
    canaries.check(outputs, panel)
    in_rows = max(seconds - calls * call, 0.1 * seconds)
    return Cost(call, in_rows / n_rows)


def find_twin(model: Any, schema: Schema, canaries: Canaries, rows: Floats, outputs: Floats) -> tuple[Twin, Cost]:
    """A faster twin of the model, and what it costs; OptionError if there is none.

    ``rows``: some training rows, with the ``outputs`` of the model, which the twin must give too.
    """
    try:
        twin = twin_of(model, schema, rows, outputs)
    except NotSupported as why:
        raise OptionError(
            f"accelerate has no faster way to the same digits for this {type(model).__name__}: {why}. It reads "
            f"{READABLE}, alone or behind one preprocessing step. Leave accelerate=False."
        ) from why
    seconds = []
    for some in (canaries.values, rows):
        start = perf_counter()
        twin(some, schema)
        seconds.append(perf_counter() - start)
    return twin, Cost(seconds[0], max(0.0, seconds[1] - seconds[0]) / len(rows))


def twin_for(
    accelerate: bool | str | None,
    model: Any,
    schema: Schema,
    canaries: Canaries,
    sample: tuple[Floats, Floats],
    cost: Cost,
    *,
    may_be_read: bool,
) -> tuple[Twin | None, Cost, bool]:
    """A twin of the model, what it costs, and whether it is asked in the model's place.

    ``accelerate`` is the option of NICE: without it, trees are read if they may be, and asked if they are not much
    slower in large calls: they save many small ones. ``sample``: training rows and what the model says of them.
    """
    if accelerate:
        return *find_twin(model, schema, canaries, *sample), True
    if may_be_read:
        with suppress(OptionError):
            twin, twin_cost = find_twin(model, schema, canaries, *sample)
            return twin, twin_cost, accelerate is None and twin_cost.row <= _MUCH_SLOWER * cost.row
    return None, cost, False


@dataclass(frozen=True, eq=False)
class TreeCells:
    """Which values the model cannot tell apart, by its trees."""

    twin: Twin
    schema: Schema

    def __call__(self, rows: Floats) -> Ints:
        """The number of the cell of each value; -1 where it is not known."""
        try:
            return self.twin.cells(rows, self.schema)
        except Exception:  # of the model's own preprocessing, or for a row that it refuses: the search does without
            return np.full(rows.shape, -1, dtype=np.intp)


def _check_has_classes(model: Any) -> None:
    if is_regressor(model):
        raise OptionError(
            f"the baselines are for models with classes, and this {type(model).__name__} returns scores. nicecf.NICE "
            f"explains it: NICE(model).fit(X, y).explain(X, target_score=(low, high)).{for_classes(model)}"
        )
