"""The OpenAPI document of a service: the columns of each explainer, with a request that can be sent as it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from nicecf.service.examples import example_target
from nicecf.service.limits import Limits
from nicecf.service.messages import Parameters, Range
from nicecf.service.page import LANGUAGES
from nicecf.service.rows import ColumnReader, RowReader
from nicecf.service.version import Version
from nicecf.tables.files.json_lines import json_cell

_SCHEMAS = "#/components/schemas/{name}"


def document(versions: Mapping[str, Version], limits: Limits, *, has_keys: bool, root: str = "") -> dict[str, Any]:
    """Return the document, for the explainers as they are now; ``root``: the path that all others begin with."""
    _, schemas = msgspec.json.schema_components([Range], ref_template=_SCHEMAS)
    schemas |= {"Error": _ERROR, "Explanation": _EXPLANATION}
    paths: dict[str, Any] = {
        "/healthz": _get("Whether the process runs", {"type": "object"}),
        "/readyz": _ready(),
        "/v1/models": _get("The names of the explainers", _object(models=_list({"type": "string"}))),
    }
    for name, one in versions.items():
        paths[f"/v1/models/{name}"] = _get(f"What {name} explains", {"type": "object"})
        paths[f"/v1/models/{name}/schema"] = _schema()
        paths[f"/v1/models/{name}/example"] = _get(
            "Rows that work; none is a training row", _object(instances=_list({"type": "object"}))
        )
        paths |= _verbs(name, one, limits)
        schemas |= {f"Row-{name}": _row(one.reader), f"Changes-{name}": _changes(one.reader)}
        schemas |= _parameters(name, one, limits)
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "nicecf", "version": version("nicecf"), "summary": "Counterfactual explanations"},
        **({"servers": [{"url": root}]} if root else {}),
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if has_keys:
        made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"key": []}]
    return made


def _verbs(name: str, one: Version, limits: Limits) -> dict[str, Any]:
    """What can be asked of an explainer with POST, each with a request that can be sent as it is."""
    needed = example_target(one.nice)
    rows, asked = one.examples[:1], ({"parameters": needed} if needed else {})
    explanations = _json(
        "An explanation for each row", _object(explanations=_list({"$ref": _SCHEMAS.format(name="Explanation")}))
    )
    explain = {"instances": rows, **asked}
    what_if = {"instances": rows, "changes": [_change(one)], **asked}
    shown = one.examples[:3]
    report = {"instances": shown, "labels": [f"case {at + 1}" for at in range(len(shown))], **asked}
    page = {"description": "A report for people on all rows", "content": {"text/html": {"schema": {"type": "string"}}}}
    wanted = {
        "explain": (
            "What would have to be different for the answer to change",
            _asking(_request(name, limits.rows, needed), explain if rows else None),
            explanations,
        ),
        "what-if": (
            "What the model would say of other values; what follows from other columns is computed",
            _asking(_request(name, limits.rows, needed, takes="changes"), what_if if rows else None),
            explanations,
        ),
        "report": (
            "The counterfactuals of rows as one HTML page",
            _asking(_request(name, limits.report_rows, needed, takes="labels"), report if rows else None),
            page,
        ),
        "read": (
            f"The rows of a CSV file, at most {limits.table_rows:,}, as the other verbs take them",
            _asking({"type": "string"}, _csv(one) if rows else None, kind="text/csv"),
            _json("The rows, what each is called, and how the file was read", _UPLOAD),
        ),
    }
    return {f"/v1/models/{name}:{verb}": {"post": _post(f"{verb}-{name}", *of)} for verb, of in wanted.items()}


def _request(name: str, most_rows: int, needed: dict[str, Any], *, takes: str = "") -> dict[str, Any]:
    row, changes, parameters = (
        {"$ref": _SCHEMAS.format(name=f"{kind}-{name}")} for kind in ("Row", "Changes", "Parameters")
    )
    properties: dict[str, Any] = {
        "instances": {"type": "array", "minItems": 1, "maxItems": most_rows, "items": row},
        "parameters": parameters,
    }
    if takes == "labels":
        properties["labels"] = {"type": "array", "maxItems": most_rows, "items": {"type": "string", "maxLength": 1_000}}
    if takes == "changes":
        properties["changes"] = {"type": "array", "minItems": 1, "maxItems": most_rows, "items": changes}
        of_answers = {"record": {"const": False}, "include": {"maxItems": 0}}
        properties["parameters"] = {"allOf": [parameters], "properties": of_answers}
    required = ["instances", *(["changes"] if takes == "changes" else []), *(["parameters"] if needed else [])]
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


def _asking(schema: dict[str, Any], example: Any, *, kind: str = "application/json") -> dict[str, Any]:
    return {
        "required": True,
        "content": {kind: {"schema": schema, **({} if example is None else {"example": example})}},
    }


def _post(operation: str, summary: str, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    statuses = (400, 401, 408, 413, 415, 429, 502, 503, 504)
    return {
        "summary": summary,
        "operationId": operation,
        "requestBody": body,
        "responses": {"200": answer, **{str(status): _refusal() for status in statuses}},
    }


def _change(one: Version) -> dict[str, Any]:
    """Another value for the first example: that of another one, of a column that does not follow from others."""
    is_computed = one.nice._fitted.schema.for_distances().is_computed
    keys = [reader.key for reader, follows in zip(one.reader.columns, is_computed, strict=True) if not follows]
    pairs = [(key, row[key]) for key in keys for row in one.examples[1:] if row[key] != one.examples[0][key]]
    return dict(pairs[:1])


def _csv(one: Version) -> str:
    """The first examples as a file."""
    text = io.StringIO()
    rows = csv.DictWriter(text, [reader.key for reader in one.reader.columns], lineterminator="\n")
    rows.writeheader()
    rows.writerows(one.examples[:2])
    return text.getvalue()


def _parameters(name: str, one: Version, limits: Limits) -> dict[str, Any]:
    """The parameters of a request, with the features and the classes that this explainer has."""
    _, schemas = msgspec.json.schema_components([Parameters], ref_template=_SCHEMAS)
    parameters, rules = schemas["Parameters"], schemas["Rules"]
    feature = {"enum": [column.key for column in one.reader.columns]}
    properties = parameters["properties"]
    for key, said in _DESCRIPTIONS.items():
        properties[key]["description"] = said
    properties["n"]["maximum"] = limits.n
    properties["budget"]["description"] = f"in seconds; more than {limits.seconds:g} count as that"
    properties["rules"] = {"anyOf": [{"type": "null"}, {"$ref": _SCHEMAS.format(name=f"Rules-{name}")}]}
    labels = {"enum": [json_cell(label) for label in one.nice.classes_]}
    if labels["enum"]:
        properties["target"] = {"anyOf": [labels, {"type": "array", "items": labels, "minItems": 1}, {"type": "null"}]}
    for key, schema in [*rules["properties"].items(), ("feature_weights", properties["feature_weights"])]:
        for part in (schema, *schema.get("anyOf", [])):
            if part.get("type") == "object":
                part["propertyNames"] = feature
            if key not in ("relations", "groups") and part.get("items") == {"type": "string"}:
                part["items"] = feature
    rules["properties"]["groups"]["items"]["items"] = feature
    return {f"Parameters-{name}": parameters, f"Rules-{name}": rules}


def _changes(reader: RowReader) -> dict[str, Any]:
    columns = {one.key: _cell(one) for one in reader.columns}
    return {"type": "object", "properties": columns, "additionalProperties": False}


def _row(reader: RowReader) -> dict[str, Any]:
    columns = {one.key: _cell(one) for one in reader.columns}
    as_object = {"type": "object", "required": list(columns), "properties": columns, "additionalProperties": False}
    as_list = {
        "type": "array",
        "prefixItems": list(columns.values()),
        "minItems": len(columns),
        "maxItems": len(columns),
    }
    return {"anyOf": [as_object, as_list]}


def _cell(one: ColumnReader) -> dict[str, Any]:
    if one.column.temporal is not None:
        described = {"type": ["string", "null"], "description": f"{one.column.temporal.words} as ISO writes them"}
        return described if one.column.temporal.kind == "duration" else {**described, "format": "date"}
    if one.is_closed and one.column.common is None and not one.column.is_free_text:
        return {"enum": [*(json_cell(level) for level in one.column.told_levels), None]}
    kinds = {"number": ["number"], "text": ["string"], "boolean": ["boolean"]}
    return {"type": [*kinds.get(one.kind, ["string", "number", "boolean"]), "null"]}


def _get(summary: str, schema: dict[str, Any], *statuses: int) -> dict[str, Any]:
    refusals = {str(status): _refusal() for status in (401, *statuses)}
    return {"get": {"summary": summary, "responses": {"200": _json(summary, schema), **refusals}}}


def _schema() -> dict[str, Any]:
    answer = _object(features=_list(_FEATURE), classes=_list({}), class_titles=_list({"type": "string"}))
    made = _get("Its columns: names, kinds, values that may be told, and how training looked", answer, 400)
    language = {"name": "language", "in": "query", "required": False, "schema": {"enum": list(LANGUAGES)}}
    made["get"]["parameters"] = [language]
    return made


def _ready() -> dict[str, Any]:
    made = _get("Whether every explainer can answer", {"type": "object"})
    made["get"]["responses"]["503"] = _json("Some cannot", _object(ready={"type": "boolean"}))
    return made


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _refusal() -> dict[str, Any]:
    return _json("What is wrong, and what to do", {"$ref": _SCHEMAS.format(name="Error")})


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _with(required: dict[str, Any], **more: dict[str, Any]) -> dict[str, Any]:
    """An object that may have more: what a request asks for besides."""
    return {**required, "properties": {**required["properties"], **more}, "additionalProperties": False}


_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "number"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_MAYBE_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_PROOF = (
    "only where something is proven. optimal: with values of training rows, no other counterfactual is better by the "
    "objective; infeasible: there is none; bound: one could be better by gap at most"
)
_GAP = "only beside proof: by which share of its cost the best counterfactual could be better; null if there is none"
# What the parameters are that are not read off their types.
_DESCRIPTIONS = {
    "search": "exact: the best counterfactual with values of training rows, and a proof; of trees and linear models",
    "plans": "true: a menu for each row, the best by each measure and then the n that change different features",
    "min_probability": "the least probability of a counterfactual's class; not less than the explainer's own",
    "include": "regions: add what each changed feature may be, all of them at once, with the same decision; not of "
    "what-if",
    "language": "that of all texts",
    "display": "true: add names, values and the line to cross as people read them, for a page",
    "letter": "true: add a letter about each counterfactual, or about a row without one",
    "record": "true: add the audit record of each counterfactual, for nicecf replay; not of what-if",
}
_ERROR = _object(error=_TEXT)
_FEATURE = _with(
    _object(
        name=_TEXT,
        kind=_TEXT,
        title=_TEXT,
        categorical=_FLAG,
        missing=_FLAG,
        derived=_FLAG,
        fixed=_FLAG,
        protected=_FLAG,
    ),
    direction={"enum": ["increasing", "decreasing", None]},
    values=_list({}),
    titles=_list(_TEXT),
    ordered=_FLAG,
    unit=_TEXT,
    decimals={"type": "integer"},
    edges=_list(_NUMBER),
    edges_as_text=_list(_TEXT),
    counts=_list({"type": "integer"}),
)
_UPLOAD = _object(
    instances=_list({"type": "object"}), labels=_list(_TEXT), left_out=_list(_TEXT), layout={"type": "object"}
)
_QUANTITY = _object(
    name=_MAYBE_TEXT,
    before=_NUMBER,
    after=_NUMBER,
    before_text=_TEXT,
    after_text=_TEXT,
    limits=_list(_NUMBER),
    line=_TEXT,
)
_SHOWN_CHANGE = _with(
    _object(feature=_TEXT, name=_TEXT, before=_TEXT, after=_TEXT, goes={"enum": [-1, 0, 1]}, together=_FLAG),
    contribution={**_TEXT, "description": "how far it moves the number that decides; empty in what-if"},
    region={**_MAYBE_TEXT, "description": "only with include: regions. What it may be, such as at least 6,200"},
)
_REGIONS = {
    **_object(
        proof={"enum": ["proven", "checked"]},
        features={
            "type": "object",
            "additionalProperties": _object(low={}, high={}, values={"type": ["array", "null"]}),
        },
    ),
    "type": ["object", "null"],
    "description": "what each changed feature may be, all of them at once: from low to high, null for an open end, or "
    "one of the values. null if there was no time to find out",
}
_RELAXATION = _object(rule=_TEXT, features=_list(_TEXT), blocks=_TEXT, text=_TEXT, n_changes={"type": "integer"})
_CHANGE = _with(_object(feature=_TEXT, before={}, after={}), derived={"const": True})
_DECIDED: dict[str, Any] = {"decision": {}, "probability": _NUMBER, "score": _NUMBER}
_COUNTERFACTUAL = _with(
    _object(values={"type": "object"}, changes=_list(_CHANGE), text=_TEXT),
    **_DECIDED,
    reached={**_FLAG, "description": "of what-if: whether this is what was asked for"},
    strengths=_list({"enum": ["fewest", "nearest", "most_plausible"]}),
    n_changes={"type": "integer"},
    distance=_NUMBER,
    error={"type": ["number", "null"]},
    letter=_MAYBE_TEXT,
    record={"type": "object"},
    regions=_REGIONS,
    display=_object(decision=_TEXT, quantity=_QUANTITY, changes=_list(_SHOWN_CHANGE), derived=_list(_SHOWN_CHANGE)),
)
_EXPLANATION = _with(
    _object(found=_FLAG, text=_TEXT, counterfactuals=_list(_COUNTERFACTUAL), reason=_MAYBE_TEXT, notes=_list(_TEXT)),
    **_DECIDED,
    stopped_early={"const": True, "description": "only where time was up before the search ended"},
    proof={"enum": ["optimal", "infeasible", "bound"], "description": _PROOF},
    gap={"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": _GAP},
    letter=_MAYBE_TEXT,
    display=_object(
        decision=_TEXT,
        quantity=_QUANTITY,
        obstacle=_TEXT,
        relaxation={"anyOf": [_RELAXATION, {"type": "null"}]},
        notes=_list(_TEXT),
        proof={**_TEXT, "description": "what is proven of the best counterfactual, or that there is none, in words"},
    ),
)
