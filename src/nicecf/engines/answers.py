"""Counterfactuals as arrays of Arrow: what was found, why not, the changes, and the counterfactual in given types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np

from nicecf.engines.columns import ArrowColumn, UnholdableError
from nicecf.exceptions import plain
from nicecf.results.batch import Batch
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.rules.moments import plain_text
from nicecf.support.types import Bools, CellValue, Ints, Objects
from nicecf.tables.files.arrow import pyarrow
from nicecf.tables.schema import differs

# The number of the row in its stream, where no column has labels of the rows.
ROW = "row"
CHANGES = "changes"
# Why a row has no answer, besides the reasons that explain gives: a cell that the table of the training cannot have,
# and a counterfactual that the type of a column cannot hold.
REFUSED, UNHOLDABLE = "refused", "unholdable"


def fixed_fields() -> list[Any]:
    """The columns of every answer, between the label of the row and its features."""
    pa = pyarrow("nicecf.engines")
    change = pa.struct([("feature", pa.string()), ("before", pa.string()), ("after", pa.string())])
    return [
        pa.field("counterfactual", pa.int32()),
        pa.field("found", pa.bool_()),
        pa.field("reason_kind", pa.string()),
        pa.field("reason", pa.string()),
        pa.field(CHANGES, pa.list_(change)),
        pa.field("score_before", pa.float64()),
        pa.field("score_after", pa.float64()),
        pa.field("decision_before", pa.string()),
        pa.field("decision_after", pa.string()),
    ]


def answers(columns: Sequence[ArrowColumn], cells: Sequence[Any], cfs: Counterfactuals, places: Ints) -> list[Any]:
    """The arrays of all columns but the label, a line for each entry of ``cfs``.

    ``cells``: the columns of the batch as they came, and ``places``: where in it the rows of ``cfs`` are. A cell that
    is not changed is the one that came, whatever its type; so nothing is lost on the way through the search.
    """
    batch = cfs.batch
    entries = _Entries(batch, places[batch.rows], cfs.found.copy(), cfs.reason_kinds.copy(), cfs.reasons.copy())
    changed = {at: entries.new_values(at, column) for at, column in enumerate(columns)}
    before = [array.take(pyarrow("nicecf.engines").array(entries.rows)) for array in cells]
    features = [entries.features(at, column, before[at], *changed[at]) for at, column in enumerate(columns)]
    return [*_about(entries, columns, before, features), *map(ArrowColumn.in_dictionary, columns, features)]


def refusals(refused: Mapping[int, str], schema: Any) -> list[Any]:
    """The same for rows that could not be read, with what is wrong with them."""
    pa = pyarrow("nicecf.engines")
    n = len(refused)
    known = {
        "counterfactual": pa.array([0] * n, pa.int32()),
        "found": pa.array([False] * n),
        "reason_kind": pa.array([REFUSED] * n),
        "reason": pa.array(list(refused.values()), pa.string()),
        CHANGES: pa.array([[]] * n, schema.field(CHANGES).type),
    }
    return [known[field.name] if field.name in known else pa.nulls(n, field.type) for field in list(schema)[1:]]


class _Entries:
    """The entries of a result, of which some turn out to be ones that their columns cannot hold."""

    def __init__(self, batch: Batch, rows: Ints, found: Bools, kinds: Objects, reasons: Objects) -> None:
        self.batch, self.rows = batch, rows
        self.found, self.kinds, self.reasons = found, kinds, reasons
        self.changes = differs(batch.before.values, batch.after.values) & found[:, None]
        self._filled = batch.schema.container.by_columns(batch.filled)
        self._positions = batch.schema.positions(batch.table)

    def new_values(self, at: int, column: ArrowColumn) -> tuple[Ints, Any]:
        """The entries that change a column, and its new values; an entry that it cannot hold is no answer."""
        container = self.batch.schema.container
        entries = np.flatnonzero(self.changes[:, at])
        values = container.objects(container.column(self._filled, self._positions[at]), entries)
        try:
            return entries, column.array(values)
        except UnholdableError:
            held = [self._is_held(entry, value, column) for entry, value in zip(entries.tolist(), values, strict=True)]
            return entries[held], column.array(values[held])

    def _is_held(self, entry: int, value: CellValue, column: ArrowColumn) -> bool:
        try:
            column.array(np.array([value], dtype=object))
        except UnholdableError:
            self.found[entry], self.kinds[entry] = False, UNHOLDABLE
            self.reasons[entry] = (
                f"a counterfactual has {plain(value)!r} in the column {column.name!r}, which its type "
                f"{column.answered} cannot hold. Cast the column to a wider type."
            )
            return False
        return True

    def features(self, at: int, column: ArrowColumn, before: Any, entries: Ints, new: Any) -> Any:
        """A column of the counterfactuals: the cells that came, the new values in their places, null if not found."""
        pa = pyarrow("nicecf.engines")
        source = np.arange(len(self.found))
        source[entries] = len(source) + np.arange(len(entries))
        return pa.concat_arrays([before.cast(new.type), new]).take(pa.array(source, mask=~self.found))


def _about(entries: _Entries, columns: Sequence[ArrowColumn], before: list[Any], features: list[Any]) -> list[Any]:
    """The columns of every answer."""
    pa = pyarrow("nicecf.engines")
    batch, found = entries.batch, entries.found
    arrays: dict[str, Any] = {
        "counterfactual": batch.numbers,
        "found": found,
        "reason_kind": entries.kinds,
        "reason": entries.reasons,
        CHANGES: _changes(entries, columns, before, features),
        "score_before": batch.before.probability,
        "score_after": batch.after.probability,
        "decision_before": [str(plain(label)) for label in batch.predicted],
        "decision_after": [None if label is None else str(plain(label)) for label in batch.predicted_after],
    }
    only_found = {"score_after", "decision_after"}
    return [
        pa.array(arrays[field.name], field.type, mask=~found if field.name in only_found else None)
        for field in fixed_fields()
    ]


def _changes(
    entries: _Entries, columns: Sequence[ArrowColumn], before: list[Any], features: list[Any]
) -> list[list[dict[str, str | None]]]:
    """The changes of each entry, in the order in which they were made, values as text."""
    steps, names = entries.batch.steps, [column.name for column in columns]
    entry, feature = steps.row(), steps.feature
    texts = {
        at: [
            _texts(array[at].take(pyarrow("nicecf.engines").array(entry[feature == at])))
            for array in (before, features)
        ]
        for at in np.unique(feature).tolist()
    }
    each = {at: zip(*both, strict=True) for at, both in texts.items()}
    changes: list[list[dict[str, str | None]]] = [[] for _ in entries.found]
    for of, at in zip(entry.tolist(), feature.tolist(), strict=True):
        was, becomes = next(each[at])
        if entries.found[of]:
            changes[of].append({"feature": names[at], "before": was, "after": becomes})
    return changes


def _texts(array: Any) -> list[str | None]:
    return [None if value is None else _text(value) for value in array.to_pylist()]


def _text(value: CellValue) -> str:
    return str(plain_text(value)) if isinstance(value, (date, timedelta)) else str(value)
