"""The models of a saved explainer: what is written of them, and whether those given at loading are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from nicecf._typing import Floats, Ints, Objects
from nicecf.autoencoder import error_by
from nicecf.classifier import CELLS_PER_CALL, Classifier
from nicecf.decision import Juror, Jury, Rule, juror_of
from nicecf.exceptions import ModelError, NicecfError, OptionError, listed, plain
from nicecf.fitted import Fitted
from nicecf.json_values import from_json, to_json
from nicecf.method import Training, Witnesses, find_twin, measure
from nicecf.neighbors import DonorIndex
from nicecf.profile import Profile
from nicecf.schema import Schema
from nicecf.scorer import Cost
from nicecf.twin import Twin

# How many stored rows the model is asked about.
_ROWS_ASKED = 1000
# How far a plausibility may be from what it was.
_SAME_MEASURE = 1e-4


def models_to_json(models: Sequence[Any], fitted: Fitted) -> dict[str, Any]:
    """What is known of the models: their classes, features, and how they decide."""
    return {
        "classes": to_json(list(fitted.jury.classes)),
        "rules": [_rule_to_json(juror.rule) for juror in fitted.jury.jurors],
        "features": [_features(model) for model in models],
    }


def measured(fitted: Fitted) -> list[float] | None:
    """What the measure of plausibility says of the witnesses: to know it again by."""
    if fitted.measure_error is None:
        return None
    measure = fitted.measure_error if fitted.is_own_measure else error_by(fitted.measure_error, fitted.schema)
    return measure(fitted.witnesses.values).tolist()


def check_measured(fitted: Fitted, then: Sequence[float] | None) -> None:
    """ModelError unless the plausibility that was given says the same."""
    now = None if fitted.is_own_measure else measured(fitted)
    if now is None:
        return
    if then is None or len(then) != len(now) or not np.allclose(now, then, rtol=_SAME_MEASURE, atol=1e-9):
        raise ModelError(
            "plausibility is not the function that the explainer was saved with: its errors of training rows are "
            "others. Pass the same function, or fit again."
        )


@dataclass(frozen=True, eq=False)
class Models:
    """The models given at loading, known to be those of ``fit``, with what they cost and a twin if asked for."""

    jury: Jury
    cost: Cost
    twin: Twin | None
    twin_cost: Cost


def models_of(
    models: Sequence[Any],
    said: Mapping[str, Any],
    *,
    decision: Any,
    min_probability: float | None,
    is_accelerated: bool,
    schema: Schema,
    profile: Profile,
    index: DonorIndex,
    outputs: Floats,
    witnesses: Witnesses,
    n_decided: Ints,
) -> Models:
    """Ask the models about some of the stored rows; ModelError if they are not those that the explainer was saved with.

    ``models``: the one explained, then those of ``robust_to``. ``outputs``: what they said of the donors at ``fit``.
    """
    jury = _jury(models, said, decision, min_probability)
    for number, (model, features) in enumerate(zip(models, said["features"], strict=True)):
        _check_features(_who(number), _features(model), features)
    most = max(1, min(_ROWS_ASKED, CELLS_PER_CALL // len(schema.columns)))
    some = np.unique(np.linspace(0, len(index.values) - 1, most).astype(np.intp)) if len(index.values) else np.arange(0)
    asked = Witnesses(
        np.concatenate([witnesses.values, index.values[some]]),
        np.concatenate([witnesses.outputs, outputs[some]]),
        np.concatenate([witnesses.positions, index.positions[some]]),
    )
    table = schema.decode(asked.values)
    start = perf_counter()
    answers = jury.outputs(table, len(asked.values))
    seconds = perf_counter() - start
    asked.check(answers, jury)
    _check_decisions(jury, index, outputs)
    _check_witnesses(jury, witnesses, n_decided)
    training = Training(
        schema,
        jury,
        asked.values,
        answers,
        jury.decide(answers),
        labels=None,
        profile=profile,
        seconds=seconds,
        calls=1,
    )
    cost = measure(training, witnesses)
    if not is_accelerated:
        return Models(jury, cost, None, cost)
    try:
        return Models(jury, cost, *find_twin(models[0], training, witnesses))
    except OptionError:
        raise ModelError(
            f"the explainer was saved with accelerate=, and there is no faster way to the same digits for this "
            f"{type(models[0]).__name__}. Pass the forest itself, or fit again with accelerate=False."
        ) from None


def _jury(models: Sequence[Any], said: Mapping[str, Any], decision: Any, min_probability: float | None) -> Jury:
    names = from_json(said["classes"])
    classes = np.empty(len(names), dtype=object)
    classes[:] = names
    jurors = [
        _juror(number, model, rule, decision, classes)
        for number, (model, rule) in enumerate(zip(models, said["rules"], strict=True))
    ]
    return Jury(tuple(jurors), min_probability)


def _juror(number: int, model: Any, said: Mapping[str, Any], decision: Any, classes: Objects) -> Juror:
    has_names = hasattr(model, "classes_")
    try:
        classifier = Classifier.of(model, classes=None if has_names else classes, y=None)
        is_same = set(classifier.classes) == set(classes) and (number > 0 or list(classifier.classes) == list(classes))
    except OptionError as error:
        raise ModelError(f"{_who(number)} cannot be explained: {error}") from error
    if not is_same:
        raise ModelError(
            f"{_who(number)} is not the one that the explainer was saved with: its classes are "
            f"{listed(classifier.classes)}, then they were {listed(classes)}."
        )
    try:
        # At fit, predict may have been found not to follow the threshold that the model names.
        asks_predict = decision is None and said["by_predict"]
        juror = juror_of(model, classifier, "predict" if asks_predict else decision, classes)
    except NicecfError as error:
        raise ModelError(
            f"{_who(number)} cannot decide as the one did that the explainer was saved with: {error}"
        ) from error
    now = _rule_to_json(juror.rule)
    if now != said:
        raise ModelError(
            f"{_who(number)} is not the one that the explainer was saved with: it decides by {_rule_in_words(now)}, "
            f"then it was by {_rule_in_words(said)}."
        )
    return juror


def _check_decisions(jury: Jury, index: DonorIndex, outputs: Floats) -> None:
    """The groups of the index are what was decided at ``fit``: a decision that is a function must say the same."""
    n_classes = len(jury.classes)
    group = index.group(np.arange(len(index.values)))
    decided = jury.decide(outputs) if len(outputs) else group
    is_accepted = jury.accepts(outputs, np.eye(n_classes, dtype=bool)[decided])
    n_differ = int(np.count_nonzero(np.where(is_accepted, decided, n_classes + decided) != group))
    if n_differ:
        raise ModelError(
            f"decision is not what the explainer was saved with: of {len(group)} training rows it decides {n_differ} "
            "otherwise. Pass the same function, or fit again."
        )


def _check_witnesses(jury: Jury, witnesses: Witnesses, n_decided: Ints) -> None:
    """One of each class that was decided on, in the order of the classes."""
    if not np.array_equal(jury.decide(witnesses.outputs), np.flatnonzero(n_decided)):
        raise ModelError(
            "decision is not what the explainer was saved with: of the first training rows of each class it decides "
            "some otherwise. Pass the same function, or fit again."
        )


def _check_features(who: str, now: Mapping[str, Any], then: Mapping[str, Any]) -> None:
    if now["names"] and then["names"] and now["names"] != then["names"]:
        missing = [name for name in then["names"] if name not in now["names"]]
        added = [name for name in now["names"] if name not in then["names"]]
        parts = [f"it lacks {listed(missing)}"] if missing else []
        parts += [f"it has {listed(added)}"] if added else []
        raise ModelError(
            f"{who} is not the one that the explainer was saved with: its features are others "
            f"({', '.join(parts) or 'they are in another order'})."
        )
    if now["n"] and then["n"] and now["n"] != then["n"]:
        raise ModelError(
            f"{who} is not the one that the explainer was saved with: it has {now['n']} features, then it had "
            f"{then['n']}."
        )


def _who(number: int) -> str:
    return "the model" if number == 0 else f"model {number} of robust_to"


def _features(model: Any) -> dict[str, Any]:
    """The features that a model says it has, if it does."""
    names, n_features = None, None
    with suppress(Exception):
        names = [str(plain(name)) for name in model.feature_names_in_]
    with suppress(Exception):
        n_features = int(model.n_features_in_)
    return {"names": names, "n": n_features}


def _rule_to_json(rule: Rule) -> dict[str, Any]:
    cutoffs = None if rule.cutoffs is None else [None if np.isnan(one) else float(one) for one in rule.cutoffs]
    return {"cutoffs": cutoffs, "by_function": rule.function is not None, "by_predict": rule.by_predict}


def _rule_in_words(said: Mapping[str, Any]) -> str:
    if said["by_predict"]:
        return "its predict"
    if said["by_function"]:
        return "a function"
    return "the highest probability" if said["cutoffs"] is None else f"the cut-offs {said['cutoffs']}"
