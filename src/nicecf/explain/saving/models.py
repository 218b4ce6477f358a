"""The models of a saved explainer: their descriptions, and whether those passed on load are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from nicecf.exceptions import ModelError, NicecfError, OptionError, listed, plain
from nicecf.explain.fitted import Fitted, Models
from nicecf.explain.training import Canaries, ModelOptions, measured_cost, sample_of, twin_for
from nicecf.models.boosters import Booster, columns_of, is_booster
from nicecf.models.classifier import CELLS_PER_CALL, Classifier
from nicecf.models.decision import Member, Panel, Rule, member_of
from nicecf.models.scores import Regressor, is_regressor
from nicecf.search.donors import DonorSearch
from nicecf.search.neighbors import DonorIndex
from nicecf.support.json_values import from_json, to_json
from nicecf.support.types import Floats, Ints, Objects
from nicecf.tables.requirements import untrained
from nicecf.tables.schema import Schema

# How many stored rows the model is asked about.
_ROWS_ASKED = 1000
# How much an error of plausibility may differ from the saved one.
_SAME_MEASURE = 1e-4


def models_to_json(models: Sequence[Any], fitted: Fitted) -> dict[str, Any]:
    """A description of the models: their classes, features, and decision rules."""
    differs = [member.predict_differs for member in fitted.panel.members]
    return {
        "classes": to_json(list(fitted.panel.classes)),
        "rules": [_rule_to_json(member.rule) for member in fitted.panel.members],
        "features": [_features(model) for model in models],
        **({"are_scores": True} if fitted.panel.is_regressor else {}),
        **({"predict_differs": differs} if any(differs) else {}),
    }


def measured(fitted: Fitted) -> list[float] | None:
    """The errors of the plausibility measure for the canaries, used to recognise it on load."""
    if fitted.plausibility is None:
        return None
    return fitted.plausibility.for_rows(fitted.schema)(fitted.models.canaries.values).tolist()


def check_measured(fitted: Fitted, then: Sequence[float] | None) -> None:
    """ModelError unless the given plausibility function has the same errors."""
    is_own = fitted.plausibility is not None and fitted.plausibility.is_own
    now = None if is_own else measured(fitted)
    if now is None:
        return
    errors = np.array([] if then is None else then, dtype=np.float64)
    if len(errors) != len(now) or not np.allclose(now, errors, rtol=_SAME_MEASURE, atol=1e-9):
        raise ModelError(
            "plausibility is not the function that the explainer was saved with: its errors for training rows differ. "
            "Pass the same function, or fit again."
        )


def models_of(
    options: ModelOptions,
    said: Mapping[str, Any],
    *,
    accelerate: bool | str | None,
    may_be_read: bool,
    schema: Schema,
    donors: DonorSearch,
    canaries: Canaries,
) -> Models:
    """Ask the models about some stored rows; ModelError if they are not those that the explainer was saved with.

    ``donors``: with the outputs of the models at ``fit``. ``accelerate``, ``may_be_read``: see `twin_for`.
    """
    models, index, outputs = [options.model, *options.robust_to], donors.index, donors.outputs
    panel = _panel(models, said, options.decision, options.min_probability).with_spread(outputs)
    for number, (model, features) in enumerate(zip(models, said["features"], strict=True)):
        _check_features(_who(number), _features(model), features)
    most = max(1, min(_ROWS_ASKED, CELLS_PER_CALL // len(schema.full.columns)))
    some = np.unique(np.linspace(0, len(index.values) - 1, most).astype(np.intp)) if len(index.values) else np.arange(0)
    asked = Canaries(
        np.concatenate([canaries.values, index.values[some]]),
        np.concatenate([canaries.outputs, outputs[some]]),
        np.concatenate([canaries.positions, index.positions[some]]),
    )
    table = schema.decode(asked.values)
    start = perf_counter()
    try:
        answers = panel.outputs(table, len(asked.values))
    except ModelError as error:
        _check_columns(models, schema.full, error)
        raise
    seconds = perf_counter() - start
    asked.check(answers, panel)
    _check_decisions(panel, index, outputs)
    _check_canaries(panel, canaries, donors.n_decided)
    cost = measured_cost(panel, schema, canaries, seconds=seconds, calls=1, n_rows=len(asked.values))
    sample = sample_of(len(asked.values))
    known = asked.values[sample], answers[sample]
    try:
        twin = twin_for(accelerate, models[0], schema, canaries, known, cost, may_be_read=may_be_read)
        return Models(panel, cost, canaries, *twin)
    except OptionError as error:
        raise ModelError(
            f"the explainer was saved with accelerate=, and there is no faster way to the same digits for this "
            f"{type(models[0]).__name__}: {error.__cause__}. Pass the classifier itself, as it was when the explainer "
            "was saved, or fit again with accelerate=False."
        ) from None


def _panel(models: Sequence[Any], said: Mapping[str, Any], decision: Any, min_probability: float | None) -> Panel:
    names = from_json(said["classes"])
    classes = np.empty(len(names), dtype=object)
    classes[:] = names
    members = [
        _scoring(number, model) if said.get("are_scores") else _member(number, model, rule, decision, classes)
        for number, (model, rule) in enumerate(zip(models, said["rules"], strict=True))
    ]
    # The training rows by which it was known at fit are not all in the file.
    differs = said.get("predict_differs", [member.predict_differs for member in members])
    members = [replace(one, predict_differs=is_so) for one, is_so in zip(members, differs, strict=True)]
    return Panel(tuple(members), min_probability)


def _scoring(number: int, model: Any) -> Member:
    if not is_regressor(model):
        raise ModelError(
            f"{_who(number)} is not the one that the explainer was saved with: that returned scores, and this "
            f"{type(model).__name__} does not."
        )
    regressor = Regressor.of(model)
    return member_of(model, regressor, None, regressor.classes)


def _check_has_classes(number: int, model: Any) -> None:
    if is_regressor(model):
        raise ModelError(
            f"{_who(number)} is not the one that the explainer was saved with: that had classes, and this "
            f"{type(model).__name__} returns scores."
        )


def _member(number: int, model: Any, said: Mapping[str, Any], decision: Any, classes: Objects) -> Member:
    _check_has_classes(number, model)
    has_names = hasattr(model, "classes_")
    try:
        classifier = Classifier.of(model, classes=None if has_names else classes, y=None)
        is_same = set(classifier.classes) == set(classes) and (number > 0 or list(classifier.classes) == list(classes))
    except OptionError as error:
        raise ModelError(f"{_who(number)} cannot be explained: {error}") from error
    if not is_same:
        raise ModelError(
            f"{_who(number)} is not the one that the explainer was saved with: its classes are "
            f"{listed(classifier.classes)}, they were {listed(classes)}."
        )
    try:
        # At fit, predict may have turned out not to follow the model's threshold.
        asks_predict = decision is None and said["by_predict"]
        member = member_of(model, classifier, "predict" if asks_predict else decision, classes)
    except NicecfError as error:
        raise ModelError(
            f"{_who(number)} cannot decide like the one that the explainer was saved with: {error}"
        ) from error
    now = _rule_to_json(member.rule)
    if now != said:
        raise ModelError(
            f"{_who(number)} is not the one that the explainer was saved with: it decides by {_rule_in_words(now)}, "
            f"not by {_rule_in_words(said)}."
        )
    return member


def _check_decisions(panel: Panel, index: DonorIndex, outputs: Floats) -> None:
    """The groups of the index are the decisions at ``fit``: a decision function must still agree."""
    n_classes = len(panel.classes)
    group = index.group(np.arange(len(index.values)))
    decided = panel.decide(outputs) if len(outputs) else group
    is_accepted = panel.accepts(outputs, np.eye(n_classes, dtype=bool)[decided])
    n_differ = int(np.count_nonzero(np.where(is_accepted, decided, n_classes + decided) != group))
    if n_differ:
        raise ModelError(
            f"decision is not the one that the explainer was saved with: it differs for {n_differ} of {len(group)} "
            "training rows. Pass the same function, or fit again."
        )


def _check_canaries(panel: Panel, canaries: Canaries, n_decided: Ints) -> None:
    """One for each class that was decided on, in the order of the classes."""
    if not np.array_equal(panel.decide(canaries.outputs), np.flatnonzero(n_decided)):
        raise ModelError(
            "decision is not the one that the explainer was saved with: it differs for some of the first training rows "
            "of each class. Pass the same function, or fit again."
        )


def _check_features(who: str, now: Mapping[str, Any], then: Mapping[str, Any]) -> None:
    if now["names"] and then["names"] and now["names"] != then["names"]:
        missing = [name for name in then["names"] if name not in now["names"]]
        added = [name for name in now["names"] if name not in then["names"]]
        differ = untrained("the explainer", added, missing) if missing or added else "they are in another order"
        raise ModelError(f"{who} is not the one that the explainer was saved with: its features differ; {differ}.")
    if now["n"] and then["n"] and now["n"] != then["n"]:
        raise ModelError(
            f"{who} is not the one that the explainer was saved with: it has {now['n']} features, not {then['n']}."
        )


def _check_columns(models: Sequence[Any], table: Schema, error: ModelError) -> None:
    """Name the columns that a model lacks or does not know, if that may be why it failed; else nothing is raised."""
    for number, model in enumerate(models):
        names = columns_of(model, table.names) if is_booster(model) else _features(model)["names"]
        known = {str(name) for name in table.names}
        missing, extra = [name for name in names or () if name not in known], sorted(known.difference(names or ()))
        if names and missing:
            raise ModelError(f"{untrained('the explainer', missing, extra)}: {_who(number)} is another one.") from error


def _who(number: int) -> str:
    return "the model" if number == 0 else f"model {number} of robust_to"


def _features(model: Any) -> dict[str, Any]:
    """The features that a model names, if it does."""
    if is_booster(model):
        booster = Booster.of(model)
        return {"names": None if booster.names is None else list(booster.names), "n": booster.n_features}
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
