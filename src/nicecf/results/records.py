"""Explanations as records for an audit: JSON that says what was asked, what was answered, and by whom.

The same explanation gives the same record, so there is no time of day in it. The digest tells whether a record was
changed after it was made; it is not a signature.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from nicecf.exceptions import SchemaError, listed, plain
from nicecf.results.batch import Batch
from nicecf.results.box import Box, Side
from nicecf.results.boxes import boxes_of, held
from nicecf.search.proofs import NO_PROOF
from nicecf.support.digests import json_digest
from nicecf.support.json_values import NotHeld, to_json
from nicecf.support.phrases import english, in_english
from nicecf.support.types import CellValue, Json, Label, Table
from nicecf.tables.schema import Schema
from nicecf.tables.temporal import is_date_or_duration

Record: TypeAlias = dict[str, Json]

FORMAT = "nicecf record"
VERSION = 1


def records_of(batch: Batch, *, boxes: bool = False) -> list[Record]:
    """A record of each entry of a batch, with its box if asked for; SchemaError if JSON cannot hold a value."""
    found_boxes = boxes_of(batch) if boxes else []
    keys = feature_keys(batch.schema.names)
    rows, found = _cells(batch, batch.table, keys), _cells(batch, batch.filled, keys)
    markers = _markers(batch.schema, keys)
    shared = _shared(batch)
    records = []
    for at in range(len(batch)):
        row = {key: cells[at] for key, cells in rows.items()}
        after = {key: cells[at] for key, cells in found.items()} if batch.found[at] else None
        record = {
            "format": FORMAT,
            "version": VERSION,
            "label": _label(batch.labels[at]),
            "row": row,
            "missing": {key: marker for key, marker in markers.items() if row[key] is None},
            "found": after is not None,
            "counterfactual": after,
            "changes": _changes(batch, at, row, after, keys),
            **({"boxes": _box(batch, at, found_boxes[at], keys)} if boxes else {}),
            **_outcome(batch, at),
            **(shared | {"call": _call(batch, at)}),
        }
        records.append({**record, "digest": digest_of(record)})
    return records


def _shared(batch: Batch) -> Record:
    """What is the same in all records of one ``explain`` call, the call itself left open."""
    about = batch.provenance.about()
    return {
        "explainer": about["explainer"],
        "options": _as_json(about["options"], "options"),
        "call": {},  # of each row
        "seed": about["options"].get("random_state") or 0,
        "versions": about["versions"],
        "fingerprints": about["fingerprints"],
    }


def _outcome(batch: Batch, at: int) -> Record:
    """What the model decided on before and after, how sure it was, and why there is nothing to hand out."""
    classes = [_as_json(label, "a class") for label in batch.classes]
    reason, donor, is_found = batch.reasons[at], batch.donors[at], bool(batch.found[at])
    return {
        "reason": None if reason is None else english(reason),
        "note": in_english((*batch.search[at], *batch.notes[at])) or None,
        "decision": {
            "before": classes[batch.before.decided[at]],
            "after": classes[batch.after.decided[at]] if is_found else None,
        },
        "probabilities": [
            {"class": label, "before": float(before), "after": float(after) if is_found else None}
            for label, before, after in zip(
                classes, batch.before.probabilities[at], batch.after.probabilities[at], strict=True
            )
        ],
        "donor": None if donor is pd.NA else int(donor),
        # Records of searches that prove nothing have none, as those of before.
        **({"proof": proof.to_plain()} if (proof := batch.proofs[at]) != NO_PROOF else {}),
    }


def _call(batch: Batch, at: int) -> Record:
    """What was asked for one row, and which of its counterfactuals this is."""
    call = batch.provenance.call_of(int(batch.rows[at]))
    return {**{name: _as_json(value, name) for name, value in call.items()}, "which": int(batch.numbers[at])}


def with_files(records: Sequence[Mapping[str, Json]], files: Mapping[str, Json]) -> list[Record]:
    """The same records, with what they were made of (the names of files, another search), and the digests of that."""
    noted = [
        {key: value for key, value in record.items() if key != "digest"} | {"files": dict(files)} for record in records
    ]
    return [{**record, "digest": digest_of(record)} for record in noted]


def digest_of(record: Mapping[str, Json]) -> str:
    """The digest of a record's content, whatever the order of its keys and the way its numbers are written."""
    return json_digest({key: value for key, value in record.items() if key != "digest"})


def feature_keys(names: Sequence[Hashable]) -> list[str]:
    """The names of features as keys of JSON; raises SchemaError if two would be the same.

    >>> feature_keys(["age", 7])
    ['age', '7']
    """
    keys = [str(name) for name in names]
    if len(set(keys)) < len(keys):
        twice = [name for name in names if keys.count(str(name)) > 1]
        raise SchemaError(f"the features {listed(twice)} would have the same name in a record. Rename one of them.")
    return keys


def _cells(batch: Batch, table: Table, keys: list[str]) -> dict[str, list[Json]]:
    """All cells of a table by the features, in the order of ``fit``."""
    container, everyone = batch.schema.container, np.arange(len(batch))
    cells, by_columns = {}, container.by_columns(table)
    for key, position in zip(keys, batch.schema.positions(table), strict=True):
        objects = container.objects(container.column(by_columns, position), everyone)
        cells[key] = [_as_json(value, f"feature {key!r}") for value in objects]
    return cells


def _markers(schema: Schema, keys: list[str]) -> Record:
    """How columns of objects mark a missing cell, where it is not None: a model may tell that from NaN."""
    return {
        key: to_json(column.missing)
        for key, column in zip(keys, schema.columns, strict=True)
        if (column.is_categorical or column.temporal is not None)
        and column.prototype.dtype == np.dtype(object)
        and column.missing is not None
    }


def _changes(batch: Batch, at: int, row: Record, after: Record | None, keys: list[str]) -> list[Record]:
    if after is None:
        return []
    steps, decided = batch.steps, batch.after.decided[at]
    is_mixed = batch.donors[at] is pd.NA
    return [
        {
            "feature": keys[steps.feature[one]],
            "before": row[keys[steps.feature[one]]],
            "after": after[keys[steps.feature[one]]],
            "step": int(steps.step[one]),
            "probability": float(steps.reached[one, decided]),
            **({"derived": True} if batch.is_derived[steps.feature[one]] else {}),
            # With one donor for all changes, it stands beside them.
            **({"donor": int(donor)} if is_mixed and (donor := batch.held[at, steps.feature[one]]) >= 0 else {}),
        }
        for one in range(steps.starts[at], steps.starts[at + 1])
    ]


def _box(batch: Batch, at: int, box: Box, keys: list[str]) -> list[Record]:
    """What each changed feature may be; an end that is open is None."""

    def cell(side: Side, value: float) -> Json:
        return _as_json(held(batch, at, side.feature, value), f"column {keys[side.feature]!r}")

    return [
        {
            "feature": keys[side.feature],
            **(
                {
                    name: cell(side, end) if np.isfinite(end) else None
                    for name, end in (("low", side.low), ("high", side.high))
                }
                if side.codes is None
                else {"values": [cell(side, code) for code in side.codes]}
            ),
            "proof": box.proof,
        }
        for side in box.sides
    ]


def _label(label: Label) -> Json:
    """What the row is called; as text where JSON has no word for it, such as a date: it is only read by people."""
    if is_date_or_duration(label):
        return str(label)
    try:
        return to_json(plain(label))
    except NotHeld:
        return str(label)


def _as_json(value: CellValue, what: str) -> Json:
    try:
        return to_json(plain(value))
    except NotHeld as error:
        raise SchemaError(
            f"{what} has a value of the type {error}, which a record cannot hold. Use text, numbers or booleans."
        ) from None
