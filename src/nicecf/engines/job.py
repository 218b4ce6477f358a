"""One job: an explainer, what is asked of it, and the columns that go in and come out; it answers batch by batch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nicecf.engines.answers import ROW, answers, fixed_fields, refusals
from nicecf.engines.asked import Asked
from nicecf.engines.columns import ArrowColumn
from nicecf.exceptions import OptionError, SchemaError, did_you_mean, listed
from nicecf.nice import NICE
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.types import Ints, Table
from nicecf.tables.files import FileTable, like
from nicecf.tables.files.arrow import in_floats, pyarrow
from nicecf.tables.schema import Schema
from nicecf.views.exported_table import PREFIX

# Of a message about one row: that it is the first of one.
_ROW = re.compile(r" \(row 0\)")
_ARRAY, _FRAME = "numpy array", "pandas DataFrame"


@dataclass(frozen=True, eq=False)
class Job:
    """What a batch is answered with; ``schema`` is the Arrow schema of every answer."""

    nice: NICE
    asked: Asked
    columns: tuple[ArrowColumn, ...]
    id: str | None
    schema: Any

    @classmethod
    def of(cls, nice: NICE, asked: Asked, given: Any, id: str | None) -> Job:
        """A job for batches of the Arrow schema ``given``.

        Raises SchemaError if a column is missing, or of a type that cannot be that of the training table.
        """
        pa = pyarrow("nicecf.engines")
        trained = nice._fitted.schema.full
        fields = _fields(trained, given, id)
        training = _training_values(nice)
        columns = tuple(
            ArrowColumn.of(column, field, training[:, at])
            for at, (column, field) in enumerate(zip(trained.columns, fields, strict=True))
        )
        label = pa.field(ROW, pa.int64()) if id is None else given.field(id).remove_metadata()
        names = _free_names([column.name for column in columns], label.name)
        features = [pa.field(name, column.answered) for name, column in zip(names, columns, strict=True)]
        return cls(nice, asked, columns, id, pa.schema([label, *fixed_fields(), *features]))

    @property
    def needed(self) -> list[str]:
        """The names of the columns that the job reads."""
        names = [column.name for column in self.columns]
        return names if self.id is None or self.id in names else [self.id, *names]

    def answered(self, batch: Any, first: int = 0) -> Any:
        """The answers for a batch; ``first`` is the number of its first row, for rows without an id."""
        return self.placed(batch, first)[1]

    def placed(self, batch: Any, first: int = 0) -> tuple[Ints, Any]:
        """The position in the batch of the row that each answer is for, and the answers, in the order of the rows."""
        pa = pyarrow("nicecf.engines")
        self._check_types(batch.schema)
        labels = pa.array(np.arange(first, first + batch.num_rows)) if self.id is None else batch.column(self.id)
        cells = [_decoded(pa, batch.column(column.name)) for column in self.columns]
        rows, refused = self._read(cells)
        kept = np.array([row for row in range(batch.num_rows) if row not in refused], dtype=np.intp)
        parts = []
        for places, cfs in self._explained(_taken(rows, kept) if refused else rows, kept, refused):
            parts.append((places[cfs.rows], answers(self.columns, cells, cfs, places)))
        if refused:
            parts.append((np.array(list(refused), dtype=np.intp), refusals(refused, self.schema)))
        return _in_order(pa, parts, labels, self.schema)

    def _read(self, cells: list[Any]) -> tuple[Table, dict[int, str]]:
        """The rows as the training table had them; and what is wrong with some, by their positions."""
        refused: dict[int, str] = {}
        trained = self.nice._fitted.schema.full
        given = {str(at): _in_pandas(array) for at, array in enumerate(cells)}
        frame = pd.DataFrame(given, copy=False).set_axis([str(name) for name in trained.names], axis="columns")
        table = FileTable("the batch", in_floats(frame), False, lambda row: f"row {row:,}")
        rows = like(table, trained.columns, refused=refused)
        if trained.container.label == _ARRAY:
            return rows.to_numpy(dtype=trained.empty.dtype), refused
        return rows, refused

    def _explained(self, rows: Table, places: Ints, refused: dict[int, str]) -> Iterator[tuple[Ints, Counterfactuals]]:
        """The rows explained; where one of them cannot be a row of the table, it is found by halves, and refused."""
        try:
            yield places, self.asked.of(self.nice, rows)
        except SchemaError as error:
            if len(places) == 1:
                refused[int(places[0])] = _ROW.sub("", str(error))
                return
            half = len(places) // 2
            for part in (slice(0, half), slice(half, None)):
                yield from self._explained(
                    rows[part] if isinstance(rows, np.ndarray) else rows.iloc[part], places[part], refused
                )

    def _check_types(self, given: Any) -> None:
        """SchemaError if a later batch has other types than the first."""
        types = {column.name: column.given for column in self.columns}
        if self.id is not None:
            types[self.id] = self.schema.field(0).type
        for name, kind in types.items():
            at = given.get_field_index(name)
            if at < 0 or given.field(at).type != kind:
                found = "is missing" if at < 0 else f"has the type {given.field(at).type}"
                raise SchemaError(
                    f"column {name!r} {found} in a later batch, but has the type {kind} in the first. Cast all batches "
                    "to one schema."
                )


def _fields(trained: Schema, given: Any, id: str | None) -> list[Any]:
    """The field of each training column."""
    _check_id(given, id)
    label = trained.container.label
    if label == _ARRAY:
        fields = [field for field in given if field.name != id]
        if len(fields) != len(trained.columns):
            raise SchemaError(
                f"the rows have {len(fields)} columns ({listed(field.name for field in fields)}), but the explainer "
                f"was fitted on an array with {len(trained.columns)}, whose columns have no names. Pass just these, in "
                "their order, and the id."
            )
        return fields
    if label != _FRAME:
        raise SchemaError(
            f"the explainer was fitted on a {label}, but rows from an engine become pandas frames. Fit it on a "
            "pandas frame."
        )
    names = [str(name) for name in trained.names]
    missing = [name for name in names if name not in given.names]
    if missing:
        others = [name for name in given.names if name not in names]
        raise SchemaError(
            f"the rows have no column {listed(missing)}, which the explainer needs; their columns are "
            f"{listed(given.names)}.{did_you_mean(missing[0], others)}"
        )
    for name in names:
        if given.names.count(name) > 1:
            raise SchemaError(f"the rows have several columns called {name!r}; give each a name of its own.")
    return [given.field(name) for name in names]


def _check_id(given: Any, id: str | None) -> None:
    if id is None:
        return
    if not isinstance(id, str):
        raise OptionError(f"id must be the name of a column, got {type(id).__name__}.")
    if given.names.count(id) != 1:
        problem = "no column" if id not in given.names else "several columns called"
        raise OptionError(
            f"id={id!r}, but the rows have {problem} {id!r}; their columns are {listed(given.names)}."
            f"{did_you_mean(id, given.names)}"
        )
    taken = [field.name for field in fixed_fields()]
    if id in taken:
        raise OptionError(f"id={id!r} is also the name of a column of the answers. Rename the column with the ids.")


def _training_values(nice: NICE) -> Any:
    """What a counterfactual may take over: the donors, with all columns of the table, encoded."""
    fitted = nice._fitted
    assert fitted.neighborhood is not None
    return fitted.schema.expand(fitted.neighborhood.donors.index.values)


def _free_names(names: list[str], label: str) -> list[str]:
    taken = {label, *(field.name for field in fixed_fields())}
    free = []
    for name in names:
        while name in taken:
            name = f"{PREFIX}{name}"
        taken.add(name)
        free.append(name)
    return free


def _decoded(pa: Any, array: Any) -> Any:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _in_pandas(array: Any) -> Any:
    """A column of pandas; whole numbers with gaps stay whole numbers."""
    pa = pyarrow("nicecf.engines")
    if pa.types.is_integer(array.type) and array.null_count:
        values = array.fill_null(0).to_numpy(zero_copy_only=False)
        return pd.arrays.IntegerArray(values.copy(), array.is_null().to_numpy(zero_copy_only=False))
    return array.to_pandas()


def _taken(rows: Table, places: Ints) -> Table:
    return rows[places] if isinstance(rows, np.ndarray) else rows.iloc[places]


def _in_order(pa: Any, parts: list[tuple[Ints, Any]], labels: Any, schema: Any) -> tuple[Ints, Any]:
    """Answers for some rows each, put together in the order of the rows, each with the label of its row."""
    places = np.concatenate([np.empty(0, dtype=np.intp), *(at for at, _ in parts)])
    arrays = [labels.take(pa.array(places))]
    if len(parts) == 1:
        return places, pa.RecordBatch.from_arrays([*arrays, *parts[0][1]], schema=schema)
    columns = [
        pa.chunked_array([one[at] for _, one in parts], schema.field(at + 1).type) for at in range(len(schema) - 1)
    ]
    order = np.argsort(places, kind="stable")
    table = pa.Table.from_arrays([pa.chunked_array(arrays), *columns], schema=schema).take(pa.array(order))
    return places[order], one_batch(table)


def one_batch(table: Any) -> Any:
    """A table as one batch, also if it has no rows."""
    pa = pyarrow("nicecf.engines")
    arrays = [column.combine_chunks() for column in table.columns]
    arrays = [one.chunk(0) if isinstance(one, pa.ChunkedArray) else one for one in arrays]
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)
