"""An explainer as it was loaded at one time, and what requests can ask of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from nicecf.exceptions import ModelError, OptionError, did_you_mean, listed
from nicecf.explain.ask import Call
from nicecf.explain.min_probability import check_margin
from nicecf.explain.what_if import what_if
from nicecf.models.remote import RemoteModel
from nicecf.nice import NICE
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.results.provenance import called
from nicecf.rules.constraints import Constraints
from nicecf.search.exact import solver_version
from nicecf.service.answers import Answers, answers_of, counted
from nicecf.service.examples import examples_of
from nicecf.service.messages import Cell, Parameters, Rules
from nicecf.service.refusals import wrong
from nicecf.service.rows import LARGEST, RowReader
from nicecf.support.clock import now
from nicecf.support.types import Json, Label, Table
from nicecf.tables.files.json_lines import json_cell
from nicecf.views.words.wording import Wording

Rows = Sequence[Sequence[Cell]]

# No number of single precision, which trees compute in, is as large.
_BEYOND_SINGLE = 1e39


@dataclass(frozen=True, eq=False)
class Version:
    """A fitted explainer; requests are answered by the version that they were checked by.

    ``wordings``: how features and classes are called, by language; another language has the names of the first.
    ``target``: the decision that people want, where it is known; a page begins with it.
    """

    nice: NICE
    reader: RowReader
    examples: list[dict[str, Json]]
    wordings: Mapping[str, Wording] = field(default_factory=dict)
    target: Label | None = None
    _variants: dict[tuple[str | None, str | None], NICE] = field(default_factory=dict)

    def arguments(self, parameters: Parameters) -> dict[str, Any]:
        """The parameters of a request as arguments of ``explain``; Refused with the field that is wrong."""
        asked: dict[str, Any] = {"n_counterfactuals": parameters.n}
        if parameters.target is not None:
            asked["target_class"] = self._target(parameters.target)
        if parameters.target_score is not None:
            asked["target_score"] = tuple(parameters.target_score)
        if parameters.min_probability is not None:
            asked["min_probability"] = self._margin(parameters)
        if parameters.rules is not None:
            asked["constraints"] = self._constraints(parameters.rules)
        if parameters.feature_weights is not None:
            asked["feature_weights"] = {
                self.reader.named(key, f"parameters.feature_weights.{key}"): weight
                for key, weight in parameters.feature_weights.items()
            }
        return asked

    def explain(self, rows: Rows, arguments: dict[str, Any], parameters: Parameters, seconds: float) -> Answers:
        """Explain checked rows, all in one call; a search that takes longer ends with what it has."""
        deadline = now() + seconds
        cfs = self._explained(rows, arguments, parameters, seconds)
        return answers_of(cfs, self.reader, len(rows), parameters, self._wording_for(parameters), deadline=deadline)

    def report(
        self,
        rows: Rows,
        arguments: dict[str, Any],
        parameters: Parameters,
        seconds: float,
        labels: Sequence[str] | None = None,
    ) -> Answers:
        """Explain checked rows as one HTML page; ``labels``: what each of them is called."""
        cfs = self._explained(rows, arguments, parameters, seconds)
        if labels is not None:
            cfs = Counterfactuals(replace(cfs.batch, labels=pd.Index(labels)[cfs.batch.rows]))
        return counted(cfs, [cfs.to_html(wording=self._wording_for(parameters))], len(rows))

    def what_if(self, rows: Rows, others: Rows, parameters: Parameters) -> Answers:
        """What the model says of rows and of others in their place; nothing is searched for."""
        if parameters.include:
            raise wrong("parameters.include", "there are no regions of what was not searched for; leave it out")
        arguments = self.arguments(parameters)
        target, scores = arguments.get("target_class", "other"), arguments.get("target_score")
        fitted, wanted, asked = self.nice._aimed(target, scores, None, arguments.get("min_probability"))
        call = Call(
            self.reader.table([*rows, *others]),
            wanted,
            options=self.nice._options,
            asked=called(target, n_counterfactuals=1, time_budget=None, **asked),
        )
        cfs = Counterfactuals(what_if(call, fitted, len(rows)))
        return answers_of(cfs, self.reader, len(rows), parameters, self._wording_for(parameters), are_chosen=True)

    def check_model(self) -> list[bool]:
        """Ask the model about rows that it knows; ModelError if it fails, or has changed. The answer of one query."""
        fitted = self.nice._fitted
        canaries = fitted.models.canaries
        outputs = fitted.panel.outputs(fitted.schema.decode(canaries.values), len(canaries.values))
        canaries.check(outputs, fitted.panel)
        return [True]

    def wording(self, language: str) -> Wording:
        """How things are called in a language."""
        if language in self.wordings:
            return self.wordings[language]
        return replace(next(iter(self.wordings.values()), Wording()), language=language)

    def _wording_for(self, parameters: Parameters) -> Wording:
        """Return how things are called in an answer: a target of scores makes classes of its own, without names."""
        wording = self.wording(parameters.language)
        return wording if parameters.target_score is None else replace(wording, classes={}, probabilities={})

    def _explained(
        self, rows: Rows, arguments: dict[str, Any], parameters: Parameters, seconds: float
    ) -> Counterfactuals:
        nice = self._variant(parameters.optimize, parameters.search)
        if nice.search_ == "exact":
            _check_solver()
        cfs = nice.explain(self.reader.table(rows), **arguments, time_budget=seconds, progress=False)
        return cfs.plans() if parameters.plans else cfs

    def _variant(self, optimize: str | None, search: str | None) -> NICE:
        if optimize is None and search is None:
            return self.nice
        key = (optimize, search)
        if key not in self._variants:
            self._variants[key] = self.nice.with_search(optimize=optimize, search=search)  # type: ignore[arg-type]  # checked by the message
        return self._variants[key]

    def _margin(self, parameters: Parameters) -> float:
        least, panel = parameters.min_probability, self.nice._fitted.panel
        assert least is not None
        if parameters.target_score is not None:
            raise wrong("parameters.min_probability", "it is for classes; target_score says which scores are wanted")
        try:
            check_margin(least, panel)
        except OptionError as error:
            raise wrong("parameters", str(error)) from None
        return least

    def _target(self, given: Any) -> Any:
        classes = list(self.nice.classes_)
        known = [json_cell(label) for label in classes]
        if not classes:
            raise wrong("parameters.target", "the model returns scores: use target_score, such as [5000, null]")
        for one in given if isinstance(given, list) else [given]:
            if (type(one), one) not in [(type(label), label) for label in known]:
                name = one[:100] if isinstance(one, str) else one
                raise wrong(
                    "parameters.target", f"{name!r} is not a class: {listed(known)}.{did_you_mean(name, known)}"
                )
        if given == []:
            raise wrong("parameters.target", f"name at least one class: {listed(known)}.")
        return [classes[known.index(one)] for one in (given if isinstance(given, list) else [given])]

    def _constraints(self, rules: Rules) -> Constraints:
        given = msgspec.to_builtins(rules)

        def named(key: str, name: str) -> Any:
            return self.reader.named(key, f"parameters.rules.{name}")

        for name, value in given.items():
            if name == "groups":
                given[name] = [[named(key, name) for key in group] for group in value]
            elif isinstance(value, dict):
                given[name] = {named(key, name): one for key, one in value.items()}
            elif isinstance(value, list) and name != "relations":
                given[name] = [named(key, name) for key in value]
        return Constraints(**given)


def version_of(
    nice: NICE,
    wordings: Mapping[str, Wording] | None = None,
    *,
    target: str | None = None,
    with_examples: bool = True,
    examples: Table | None = None,
) -> Version:
    """Return a fitted explainer, ready for requests; OptionError if it has no such class as ``target``.

    ``examples``: rows to try it with, in place of drawn ones.
    """
    nice._check_fitted()
    reader = RowReader.of(nice._fitted.schema.full, largest=_largest_number(nice))
    made = examples_of(nice, reader, examples) if with_examples else []
    return Version(nice, reader, made, wordings or {}, _class_of(nice, target))


def _largest_number(nice: NICE) -> float:
    """Return the largest number that the model takes: it is asked about one beyond those of single precision.

    A row that the model refuses costs every request that it is merged with a call.
    """
    if isinstance(nice.model, RemoteModel):  # its log would have an error for each attempt
        return LARGEST
    schema = nice._fitted.schema
    row = schema.expand(nice._fitted.models.canaries.values[:1]).copy()
    is_number = np.array([not one.is_categorical and one.temporal is None for one in schema.full.columns])
    row[:, is_number] = _BEYOND_SINGLE
    try:
        with np.errstate(all="ignore"):
            nice._fitted.panel.outputs(schema.full.decode(row), len(row))
    except ModelError:
        return float(np.finfo(np.float32).max)
    return LARGEST


def _check_solver() -> None:
    """Refused if proofs are asked for, and the solver is not installed here."""
    try:
        solver_version()
    except ImportError as error:
        raise wrong("parameters.search", str(error)) from None


def _class_of(nice: NICE, target: str | None) -> Label | None:
    """The class with this text: '1' is the class 1."""
    if target is None:
        return None
    classes = {str(json_cell(label)): label for label in nice.classes_}
    if target not in classes:
        raise OptionError(
            f"the target {target!r} is not a class of the model; choose one of {listed(classes)}."
            f"{did_you_mean(target, classes)}"
        )
    return classes[target]
