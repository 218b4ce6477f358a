"""The OpenAPI document of a service: the columns of each explainer, with a request that can be sent as it is."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from nicecf.service.examples import example_target
from nicecf.service.limits import Limits
from nicecf.service.messages import Parameters, Range
from nicecf.service.rows import ColumnReader, RowReader
from nicecf.service.version import Version
from nicecf.tables.files.json_lines import json_cell

_SCHEMAS = "#/components/schemas/{name}"


def document(versions: Mapping[str, Version], limits: Limits, *, has_keys: bool) -> dict[str, Any]:
    """The document, for the explainers as they are now."""
    _, schemas = msgspec.json.schema_components([Range], ref_template=_SCHEMAS)
    schemas |= {"Error": _ERROR, "Explanation": _EXPLANATION}
    paths: dict[str, Any] = {
        "/healthz": _get("Whether the process runs", {"type": "object"}),
        "/readyz": _ready(),
        "/v1/models": _get("The names of the explainers", _object(models=_list({"type": "string"}))),
    }
    for name, one in versions.items():
        paths[f"/v1/models/{name}"] = _get(f"What {name} explains", {"type": "object"})
        paths[f"/v1/models/{name}/schema"] = _get("Its columns", {"type": "object"})
        paths[f"/v1/models/{name}/example"] = _get(
            "Rows that work; none is a training row", _object(instances=_list({"type": "object"}))
        )
        paths[f"/v1/models/{name}:explain"] = {"post": _explain(name, one, limits)}
        schemas[f"Row-{name}"] = _row(one.reader)
        schemas |= _parameters(name, one, limits)
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "nicecf", "version": version("nicecf"), "summary": "Counterfactual explanations"},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if has_keys:
        made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"key": []}]
    return made


def _explain(name: str, one: Version, limits: Limits) -> dict[str, Any]:
    needed = example_target(one.nice)
    request: dict[str, Any] = {
        "type": "object",
        "required": ["instances", *(["parameters"] if needed else [])],
        "additionalProperties": False,
        "properties": {
            "instances": {
                "type": "array",
                "minItems": 1,
                "maxItems": limits.rows,
                "items": {"$ref": _SCHEMAS.format(name=f"Row-{name}")},
            },
            "parameters": {"$ref": _SCHEMAS.format(name=f"Parameters-{name}")},
        },
    }
    example = {"instances": one.examples[:1], **({"parameters": needed} if needed else {})}
    answer = _object(explanations=_list({"$ref": _SCHEMAS.format(name="Explanation")}))
    statuses = (400, 401, 408, 413, 415, 429, 502, 503, 504)
    return {
        "summary": "What would have to be different for the answer to change",
        "operationId": f"explain-{name}",
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": request, **({"example": example} if one.examples else {})}},
        },
        "responses": {
            "200": _json("An explanation for each row", answer),
            **{str(one): _refusal() for one in statuses},
        },
    }


def _parameters(name: str, one: Version, limits: Limits) -> dict[str, Any]:
    """The parameters of a request, with the features and the classes that this explainer has."""
    _, schemas = msgspec.json.schema_components([Parameters], ref_template=_SCHEMAS)
    parameters, rules = schemas["Parameters"], schemas["Rules"]
    feature = {"enum": [column.key for column in one.reader.columns]}
    properties = parameters["properties"]
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


_ERROR = _object(error={"type": "string"})
_CHANGE = _object(feature={"type": "string"}, before={}, after={})
_COUNTERFACTUAL = _object(values={"type": "object"}, changes=_list(_CHANGE), text={"type": "string"})
_EXPLANATION = _object(
    found={"type": "boolean"},
    text={"type": "string"},
    counterfactuals=_list(_COUNTERFACTUAL),
    reason={"type": ["string", "null"]},
    notes=_list({"type": "string"}),
)
