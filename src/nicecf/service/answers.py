"""One call of ``explain`` for the rows of several requests, and its answer as JSON, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from nicecf.exceptions import did_you_mean, listed
from nicecf.nice import NICE
from nicecf.results.batch import Batch
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.rules.constraints import Constraints
from nicecf.service.messages import Cell, Parameters, Rules
from nicecf.service.refusals import wrong
from nicecf.service.rows import RowReader
from nicecf.support.phrases import english
from nicecf.support.types import Json
from nicecf.tables.files.json_lines import json_cell
from nicecf.views import words


@dataclass(frozen=True, eq=False)
class Answers:
    """What one call gave: JSON for each row; how many have no counterfactual; what was asked of the model."""

    explanations: list[Json]
    n_not_found: int
    model_calls: int
    model_rows: int


@dataclass(frozen=True, eq=False)
class Version:
    """An explainer as it was loaded at one time: requests are answered by the version that they were checked by."""

    nice: NICE
    reader: RowReader
    examples: list[dict[str, Json]]
    _variants: dict[tuple[str | None, str | None], NICE] = field(default_factory=dict)

    def arguments(self, parameters: Parameters) -> dict[str, Any]:
        """The parameters of a request as arguments of ``explain``; Refused with the field that is wrong."""
        asked: dict[str, Any] = {"n_counterfactuals": parameters.n}
        if parameters.target is not None:
            asked["target_class"] = self._target(parameters.target)
        if parameters.target_score is not None:
            asked["target_score"] = tuple(parameters.target_score)
        if parameters.rules is not None:
            asked["constraints"] = self._constraints(parameters.rules)
        if parameters.feature_weights is not None:
            asked["feature_weights"] = {
                self.reader.named(key, f"parameters.feature_weights.{key}"): weight
                for key, weight in parameters.feature_weights.items()
            }
        return asked

    def explain(
        self, rows: Sequence[Sequence[Cell]], arguments: dict[str, Any], parameters: Parameters, seconds: float
    ) -> Answers:
        """Explain checked rows, all in one call; a search that takes longer ends with what it has."""
        nice = self._variant(parameters.optimize, parameters.search)
        table = self.reader.table(rows)
        cfs = nice.explain(table, **arguments, time_budget=seconds, progress=False)
        return Answers(
            _explanations(cfs, self.reader, len(rows), with_records=parameters.record),
            len(rows) - len(set(cfs.rows[cfs.found].tolist())),
            cfs.model_calls,
            cfs.model_rows,
        )

    def _variant(self, optimize: str | None, search: str | None) -> NICE:
        if optimize is None and search is None:
            return self.nice
        key = (optimize, search)
        if key not in self._variants:
            self._variants[key] = self.nice.with_search(optimize=optimize, search=search)  # type: ignore[arg-type]  # checked by the message
        return self._variants[key]

    def _target(self, given: Any) -> Any:
        classes = list(self.nice.classes_)
        known = [json_cell(label) for label in classes]
        if not classes:
            raise wrong("parameters.target", "the model returns scores: use target_score, such as [5000, null]")
        for one in given if isinstance(given, list) else [given]:
            if (type(one), one) not in [(type(label), label) for label in known]:
                raise wrong("parameters.target", f"{one!r} is not a class: {listed(known)}.{did_you_mean(one, known)}")
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


def _explanations(cfs: Counterfactuals, reader: RowReader, n_rows: int, *, with_records: bool) -> list[Json]:
    batch = cfs.batch
    texts = words.texts(batch)
    values = reader.shown(batch.filled, len(batch))
    records = cfs.to_records() if with_records else None
    explained: list[dict[str, Any]] = [{} for _ in range(n_rows)]
    for at, row in enumerate(batch.rows.tolist()):
        if not explained[row]:
            explained[row] = _outcome(batch, at, texts[at])
        if batch.found[at]:
            one = _counterfactual(batch, at, values[at], texts[at])
            explained[row]["counterfactuals"].append(one)
            if records is not None:
                one["record"] = records[at]
    return list(explained)


def _outcome(batch: Batch, at: int, text: str) -> dict[str, Any]:
    """What holds for a row, whatever was found."""
    reason = batch.reasons[at]
    return {
        "found": bool(batch.found[at]),
        **_decided(batch, batch.before.decided[at], batch.before.probability[at]),
        "text": text,
        "counterfactuals": [],
        "reason": None if reason is None else english(reason),
        "notes": [english(one) for one in batch.notes[at]],
    }


def _counterfactual(batch: Batch, at: int, values: dict[str, Json], text: str) -> dict[str, Any]:
    changes = batch.changes.iloc[batch.steps.starts[at] : batch.steps.starts[at + 1]]
    derived = changes["derived"].tolist() if "derived" in changes else [False] * len(changes)
    cells = zip(changes["feature"], changes["before"], changes["after"], derived, strict=True)
    return {
        **_decided(batch, batch.after.decided[at], batch.after.probability[at]),
        "values": values,
        "changes": [
            {
                "feature": str(feature),
                "before": json_cell(before),
                "after": json_cell(after),
                **({"derived": True} if is_derived else {}),
            }
            for feature, before, after, is_derived in cells
        ],
        "text": text,
    }


def _decided(batch: Batch, decided: int, probability: float) -> dict[str, Json]:
    """The decision and its probability; of a model that returns scores, the score."""
    if batch.target is not None:
        return {"score": float(probability)}
    return {"decision": json_cell(batch.classes[decided]), "probability": float(probability)}
