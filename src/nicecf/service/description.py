"""What an explainer explains, and its columns: what a form is made of, and what may change."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from nicecf.models.criterion import Criterion
from nicecf.nice import NICE
from nicecf.rules.columns import positions_of
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds.may_change import fixed_text
from nicecf.service.examples import example_target
from nicecf.service.rows import ColumnReader
from nicecf.service.version import Version
from nicecf.tables.column import Column
from nicecf.tables.files.json_lines import json_cell
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import ColumnStatistics
from nicecf.views.words.formatter import Formatter, readable_names
from nicecf.views.words.wording import Wording

# How far over its line a probability is safe, unless that is more than half the way to certainty: a guess. A model that
# is trained again on other rows of the same people moves its probabilities by about so much.
_SAFELY = 0.1
# More values of a category than these are not listed.
_MOST_VALUES = 200


def about(version: Version) -> dict[str, Any]:
    """Its classes, none of a model that returns scores, its search, and what a request needs at least.

    ``wanted``: the decision that people want, if that is known.
    """
    nice = version.nice
    return {
        "classes": [json_cell(label) for label in nice.classes_],
        "optimize": nice.optimize if isinstance(nice.optimize, str) else "a function",
        "search": nice.search_,
        "has_plausibility": nice._fitted.plausibility is not None,
        "safe_probabilities": safe_probabilities(nice),
        "parameters": example_target(nice),
        **({} if version.target is None else {"wanted": json_cell(version.target)}),
    }


def safe_probabilities(nice: NICE) -> list[float]:
    """Return for each class the ``min_probability`` that is safely over its line; nothing for models of scores."""
    lines = Criterion.of(nice._fitted.panel).lines if len(nice.classes_) else ()
    return [round(min(line + _SAFELY, (line + 1) / 2), 6) for line in lines]


def schema(version: Version, language: str = "en") -> dict[str, Any]:
    """The columns and the classes, and what these are called."""
    return {
        "features": features(version, language),
        "classes": [json_cell(label) for label in version.nice.classes_],
        "class_titles": class_titles(version, language),
    }


def features(version: Version, language: str = "en") -> list[dict[str, Any]]:
    """Each column: its name and kind, the values of a category that may be told, how training looked, its rules."""
    nice, wording = version.nice, version.wording(language)
    fitted = nice._fitted
    names = readable_names(one.column.name for one in version.reader.columns)
    formatter = Formatter(wording, names=names)
    is_computed = fitted.schema.for_distances().is_computed
    rules = _rules(fitted.constraints, fitted.schema.full)
    columns = zip(version.reader.columns, fitted.statistics.columns, is_computed.tolist(), rules, strict=True)
    return [
        {
            **_kind(reader),
            "title": formatter.name(reader.column.name),
            **_titles(reader.column, formatter),
            **({"unit": unit} if (unit := _unit(reader.column.name, wording)) else {}),
            **_looks(reader.column, looks),
            "derived": is_derived,
            **of_rules,
        }
        for reader, looks, is_derived, of_rules in columns
    ]


def class_titles(version: Version, language: str = "en") -> list[str]:
    """What the decisions of a model are called; none of a model that returns scores."""
    formatter = Formatter(version.wording(language))
    return [formatter.label(label) for label in version.nice.classes_]


def _kind(reader: ColumnReader) -> dict[str, Any]:
    column = reader.column
    described: dict[str, Any] = {"name": reader.key, "kind": reader.kind, "categorical": column.is_categorical}
    codes = _codes(column)
    if codes is not None:
        described |= {"values": [json_cell(column.levels[code]) for code in codes], "ordered": column.is_ordinal}
    return described


def _codes(column: Column) -> list[int] | None:
    """The categories of a column that may be told, by their codes; None where there are none, or too many, to tell."""
    if not column.is_categorical or column.is_free_text or len(column.told_levels) > _MOST_VALUES:
        return None
    told = range(len(column.levels)) if column.common is None else column.common[column.common >= 0].astype(int)
    codes = [int(code) for code in told]
    # Not in the order of the training rows, which is nobody's business.
    return codes if column.is_ordinal else sorted(codes, key=lambda code: str(json_cell(column.levels[code])))


def _titles(column: Column, formatter: Formatter) -> dict[str, Any]:
    codes = _codes(column)
    if codes is None:
        return {}
    return {"titles": [formatter.value(column.name, column.levels[code]) for code in codes]}


def _unit(name: Hashable, wording: Wording) -> str | None:
    shown = wording.measured(name, "{}")
    return None if shown == "{}" else shown


def _looks(column: Column, looks: ColumnStatistics) -> dict[str, Any]:
    """How the training column is spread, as far as its values may be told."""
    described: dict[str, Any] = {"missing": looks.n_missing > 0}
    codes = _codes(column)
    if codes is not None:
        described["counts"] = [int(looks.counts[code]) for code in codes]
    elif not column.is_categorical and len(looks.edges):
        described |= {"decimals": looks.decimals, "edges": looks.edges.tolist(), "counts": looks.counts.tolist()}
        if column.temporal is not None:
            described["edges_as_text"] = [_moment(column, edge) for edge in looks.edges]
    return described


def _moment(column: Column, number: float) -> str:
    assert column.temporal is not None
    return str(json_cell(column.temporal.value(float(column.temporal.rounded(np.array([number]))[0]))))


def _rules(constraints: Constraints, schema: Schema) -> list[dict[str, Any]]:
    """What the explainer's own rules say of each column: a page does not offer what is ruled out."""
    protected = positions_of(constraints.protected, schema, "protected")
    fixed = positions_of(constraints.immutable, schema, "immutable") | protected
    fixed |= set(fixed_text(constraints.may_change, schema))
    directions = {
        schema.position(one, way): way for way in ("increasing", "decreasing") for one in getattr(constraints, way)
    }
    return [
        {"fixed": j in fixed, "protected": j in protected, "direction": directions.get(j)}
        for j in range(len(schema.columns))
    ]
