"""Explanations as records for an audit: JSON that says what was asked, what was answered, and by whom.

The same explanation gives the same record, so there is no time of day in it. The digest tells whether a record was
changed after it was made; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from nicecf.exceptions import SchemaError, listed, plain
from nicecf.json_values import NotHeld, to_json

FORMAT = "nicecf record"
VERSION = 1


def records_of(cfs: Any) -> list[dict[str, Any]]:
    """A record of each of some `Counterfactuals`; SchemaError where a value has no place in JSON."""
    origin, schema = cfs._origin, cfs._schema
    about = origin.about()
    keys = feature_keys(schema.names)
    rows, found = _cells(cfs, cfs._X, keys), _cells(cfs, cfs._filled, keys)
    markers = _markers(schema, keys)
    classes = [_written(label, "a class") for label in cfs.classes]
    records = []
    for at, line in enumerate(cfs.rows.tolist()):
        is_found = bool(cfs.found[at])
        donor = cfs.donors[at]
        row = {key: cells[at] for key, cells in rows.items()}
        after = {key: cells[at] for key, cells in found.items()} if is_found else None
        call = {name: _written(value, name) for name, value in origin.call_of(line).items()}
        record = {
            "format": FORMAT,
            "version": VERSION,
            "label": _label(cfs._labels[at]),
            "row": row,
            "missing": {key: marker for key, marker in markers.items() if row[key] is None},
            "found": is_found,
            "counterfactual": after,
            "changes": _changes(cfs, at, row, after, keys),
            "reason": cfs.reasons[at],
            "note": cfs.notes[at],
            "decision": {
                "before": classes[cfs._decided[at]],
                "after": classes[cfs._decided_after[at]] if is_found else None,
            },
            "probabilities": [
                {"class": label, "before": float(before), "after": float(later) if is_found else None}
                for label, before, later in zip(classes, cfs._before[at], cfs._after[at], strict=True)
            ],
            "donor": int(donor) if isinstance(donor, (int, np.integer)) else None,
            "explainer": about["explainer"],
            "options": _written(about["options"], "options"),
            "call": {**call, "which": int(cfs._numbers[at])},
            "seed": about["options"].get("random_state") or 0,
            "versions": about["versions"],
            "fingerprints": about["fingerprints"],
        }
        records.append({**record, "digest": digest_of(record)})
    return records


def with_files(records: Sequence[Mapping[str, Any]], files: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same records, with what they were made of (the names of files, another search), and the digests of that."""
    noted = [
        {key: value for key, value in record.items() if key != "digest"} | {"files": dict(files)} for record in records
    ]
    return [{**record, "digest": digest_of(record)} for record in noted]


def digest_of(record: Mapping[str, Any]) -> str:
    """The digest of a record's content, whatever the order of its keys and the way its numbers are written."""
    content = {key: value for key, value in record.items() if key != "digest"}
    text = json.dumps(_canonical(content), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def feature_keys(names: Sequence[Hashable]) -> list[str]:
    """The names of features as keys of JSON; SchemaError where two would have the same.

    >>> feature_keys(["age", 7])
    ['age', '7']
    """
    keys = [str(name) for name in names]
    if len(set(keys)) < len(keys):
        twice = [name for name in names if keys.count(str(name)) > 1]
        raise SchemaError(f"the features {listed(twice)} would have the same name in a record. Rename one of them.")
    return keys


def _cells(cfs: Any, table: Any, keys: list[str]) -> dict[str, list[Any]]:
    """All cells of a table by the features, in the order of ``fit``."""
    container, everyone = cfs._schema.container, np.arange(len(cfs))
    cells = {}
    for key, position in zip(keys, cfs._schema.positions(table), strict=True):
        objects = container.objects(container.column(table, position), everyone)
        cells[key] = [_written(value, f"feature {key!r}") for value in objects]
    return cells


def _markers(schema: Any, keys: list[str]) -> dict[str, Any]:
    """How columns of objects mark a missing cell, where it is not None: a model may tell that from NaN."""
    return {
        key: to_json(column.missing)
        for key, column in zip(keys, schema.columns, strict=True)
        if column.is_categorical and column.prototype.dtype == np.dtype(object) and column.missing is not None
    }


def _changes(
    cfs: Any, at: int, row: dict[str, Any], after: dict[str, Any] | None, keys: list[str]
) -> list[dict[str, Any]]:
    steps = cfs._steps
    mine = range(steps.starts[at], steps.starts[at + 1] if after is not None else steps.starts[at])
    return [
        {
            "feature": keys[steps.feature[one]],
            "before": row[keys[steps.feature[one]]],
            "after": after[keys[steps.feature[one]]] if after is not None else None,
            "step": int(steps.step[one]),
            "probability": float(steps.reached[one, cfs._decided_after[at]]),
        }
        for one in mine
    ]


def _label(label: Any) -> Any:
    """What the row is called; in words where JSON has no place for it, such as a date."""
    try:
        return to_json(plain(label))
    except NotHeld:
        return str(label)


def _written(value: Any, what: str) -> Any:
    try:
        return to_json(plain(value))
    except NotHeld as error:
        raise SchemaError(
            f"{what} has a value of the type {error}, for which a record has no place. Use text, numbers or booleans."
        ) from None


def _canonical(value: Any) -> Any:
    """A value in which 40.0 is 40, as some tools write it."""
    if isinstance(value, Mapping):
        return {key: _canonical(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
