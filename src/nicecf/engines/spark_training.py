"""A training table that stays on Spark: `spark.fit`. Three functions for each partition, by ``mapInArrow``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from nicecf.engines.on_cluster import (
    ClusterNICE,
    Sketch,
    checked_explainer,
    checked_positions,
    checked_roles,
    starts_of,
)
from nicecf.engines.packed import PickledExplainer, dump_or_raise, one_thread
from nicecf.engines.spark import arrow_schema, mapped, quoted
from nicecf.engines.training_parts import Counts, NearestAsked, Part, Roles, Sketcher, nearest_in, predicted
from nicecf.exceptions import SchemaError
from nicecf.support.types import Floats, Ints
from nicecf.tables.files.arrow import in_floats, pyarrow

_NEEDED_BY = "nicecf.engines.spark"
_ROWS_IN_BATCH = 10_000
# Columns beside those of the table.
_OURS = "_nicecf_"
_PART, _OFFSET, _COUNTS = f"{_OURS}part", f"{_OURS}offset", f"{_OURS}counts"
_POSITION, _LABEL, _DECISION, _OUTPUTS = (f"{_OURS}{name}" for name in ("position", "label", "decision", "outputs"))
_ROW, _PURPOSE, _RANK, _DISTANCE = (f"{_OURS}{name}" for name in ("row", "purpose", "rank", "distance"))


def fitted_on(
    frame: Any, label: str, model: Any, id: str | None, sample: int, options: Mapping[str, Any]
) -> ClusterNICE:
    """See `spark.fit`."""
    from pyspark import cloudpickle

    nice = checked_explainer(model, options)
    roles = checked_roles(frame.columns, label, id, sample)
    given = arrow_schema(frame, roles.columns)
    dump_or_raise(model, cloudpickle.dumps, "model")
    table = frame.select(*quoted(roles.columns))
    sketcher = Sketcher.of(nice, roles, sample=sample, n_parts=max(1, table.rdd.getNumPartitions()))
    chosen, sketch = _sketch(table, given, sketcher)
    sketch = sketch.reduced(sketcher, sample)
    fitted = sketch.fitted(nice, sketcher)
    like = _typical(chosen.select(list(roles.features)))
    training = _Training(table, roles, given, PickledExplainer.of(fitted, cloudpickle.dumps), like)
    known = training.predicted(None if id is not None else sketch.counts)
    counts = {row[_DECISION]: row["count"] for row in known.groupBy(_DECISION).count().collect()}
    n_decided = np.array([counts.get(at, 0) for at in range(len(fitted.classes_))], dtype=np.intp)

    def find(asked: NearestAsked) -> Part:
        return training.nearest(known, asked)

    return ClusterNICE(fitted, sketch.part(fitted, roles), n_decided, find, known.unpersist)


def _sketch(table: Any, given: Any, sketcher: Sketcher) -> tuple[Any, Sketch]:
    """The rows that all partitions choose, in training order: as Arrow has them, and as a sketch."""
    pa = pyarrow(_NEEDED_BY)
    roles = sketcher.roles
    fields = [given.field(name) for name in roles.columns]
    fields += [pa.field(_PART, pa.int32()), pa.field(_OFFSET, pa.int64()), pa.field(_COUNTS, pa.list_(pa.int64()))]

    def sketched(batches: Iterator[Any]) -> Iterator[Any]:
        part = _in_order(_table(batches), roles)
        if part is None:
            return
        offsets, counts = sketcher(_frame(part, roles.columns))
        n_rows = len(offsets)
        numbers = pa.array([counts.in_list()] + [None] * (n_rows - 1), pa.list_(pa.int64()))
        ours = [pa.array(np.full(n_rows, _number(), np.int32)), pa.array(offsets), numbers]
        yield from _with_columns(part.take(pa.array(offsets)), [_PART, _OFFSET, _COUNTS], ours)

    rows = mapped(table, sketched, pa.schema(fields)).toArrow()
    if not rows.num_rows:
        raise SchemaError("the frame has no rows; it needs at least one.")
    order = np.lexsort((rows.column(_OFFSET).to_numpy(), rows.column(_PART).to_numpy()))
    rows = rows.take(pa.array(order))
    number, offset = rows.column(_PART).to_numpy(), rows.column(_OFFSET).to_numpy()
    told = zip(number.tolist(), rows.column(_COUNTS).to_pylist(), strict=True)
    counts = {part: Counts.of_list(numbers) for part, numbers in told if numbers is not None}
    if roles.id is not None:
        positions = checked_positions(rows.column(roles.id).to_pandas(), roles.id)
        by_id = np.argsort(positions, kind="stable")
        rows, positions = rows.take(pa.array(by_id)), positions[by_id]
    else:
        starts = starts_of(counts)
        positions = np.array([starts[part] for part in number.tolist()], dtype=np.intp) + offset
    return rows, Sketch(_frame(rows, [*roles.features, roles.label]), positions, counts)


class _Training:
    """The training table on its cluster. ``like``: rows by which the dtypes of any part are those of the whole."""

    def __init__(self, table: Any, roles: Roles, given: Any, shipped: PickledExplainer, like: Any) -> None:
        self._table = table
        self._roles = roles
        self._like = like
        self._shipped = table.sparkSession.sparkContext.broadcast(shipped)
        pa = pyarrow(_NEEDED_BY)
        self._features = [given.field(name) for name in roles.features]
        ours = {_POSITION: pa.int64(), _LABEL: pa.int32(), _DECISION: pa.int32(), _OUTPUTS: pa.list_(pa.float64())}
        self._known = [*self._features, *(pa.field(name, kind) for name, kind in ours.items())]

    def predicted(self, counts: Mapping[int, Counts] | None) -> Any:
        """The features of all rows with what the models say of them; ``counts``: if their order gives the positions."""
        from pyspark import StorageLevel

        pa = pyarrow(_NEEDED_BY)
        roles, like, shipped = self._roles, self._like, self._shipped
        starts = None if counts is None else starts_of(counts)
        n_rows = None if counts is None else {part: one.n_rows for part, one in counts.items()}

        def asked(batches: Iterator[Any]) -> Iterator[Any]:
            table = _in_order(_table(batches), roles)
            if table is None:
                return
            if starts is None or n_rows is None:
                positions = checked_positions(table.column(roles.id).to_pandas(), str(roles.id))
            else:
                number = _number()
                _check_same(table.num_rows, n_rows.get(number, 0))
                positions = starts[number] + np.arange(table.num_rows)
            with one_thread():
                frame = _frame(table, roles.features, like)
                part = predicted(shipped.value.opened(), frame, table.column(roles.label).to_pandas(), positions)
            ours = [
                pa.array(part.positions),
                pa.array(part.labels.astype(np.int32)),
                pa.array(part.decisions.astype(np.int32)),
                _lists(pa, part.outputs),
            ]
            table = table.select(list(roles.features))
            yield from _with_columns(table, [_POSITION, _LABEL, _DECISION, _OUTPUTS], ours)

        return mapped(self._table, asked, pa.schema(self._known)).persist(StorageLevel.DISK_ONLY)

    def nearest(self, known: Any, asked: NearestAsked) -> Part:
        """The candidates of all partitions, the nearest of each row alone."""
        from pyspark import cloudpickle
        from pyspark.sql import Window
        from pyspark.sql.functions import col, row_number

        pa = pyarrow(_NEEDED_BY)
        roles, like, shipped = self._roles, self._like, self._shipped
        content = known.sparkSession.sparkContext.broadcast(dump_or_raise(asked, cloudpickle.dumps, "call"))
        ours = {_ROW: pa.int64(), _PURPOSE: pa.int32(), _RANK: pa.int32(), _DISTANCE: pa.float64()}

        def found(batches: Iterator[Any]) -> Iterator[Any]:
            import pickle

            table = _table(batches)
            if table is None:
                return
            with one_thread():
                part = _part(table, roles, like)
                candidates = nearest_in(shipped.value.opened(), part, pickle.loads(content.value))
            offsets = np.searchsorted(part.positions, candidates.part.positions)
            arrays = [
                pa.array(candidates.row.astype(np.int64)),
                pa.array(candidates.purpose.astype(np.int32)),
                pa.array(candidates.near.rank.astype(np.int32)),
                pa.array(candidates.near.distance),
            ]
            yield from _with_columns(table.take(pa.array(offsets)), list(ours), arrays)

        schema = pa.schema([*self._known, *(pa.field(name, kind) for name, kind in ours.items())])
        nearest = Window.partitionBy(_ROW, _PURPOSE).orderBy(_RANK, _DISTANCE, _POSITION)
        number = f"{_OURS}number"
        first = mapped(known, found, schema).withColumn(number, row_number().over(nearest))
        collected = first.where(col(number) <= asked.most).toArrow()
        content.unpersist()
        return _part(collected, roles, like)


def _number() -> int:
    """The number of the partition that this process is at."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _table(batches: Iterator[Any]) -> Any:
    """A partition as one table; None if it has no rows."""
    pa = pyarrow(_NEEDED_BY)
    rows = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(rows) if rows else None


def _in_order(table: Any, roles: Roles) -> Any:
    """A partition in training order."""
    if table is None or roles.id is None:
        return table
    ids = table.column(roles.id)
    if ids.null_count:
        raise SchemaError(f"id={roles.id!r} must hold a whole number for each row; {ids.null_count:,} rows have none.")
    return table.take(pyarrow(_NEEDED_BY).array(roles.order(ids.to_numpy())))


def _frame(table: Any, columns: Any, like: Any = None) -> pd.DataFrame:
    """Columns in pandas, with the dtypes that they have together with the rows of ``like``."""
    pa = pyarrow(_NEEDED_BY)
    table = table.select(list(columns))
    if like is None:
        return in_floats(table.to_pandas())
    both = pa.concat_tables([like, table.cast(like.schema)])
    return in_floats(both.to_pandas()).iloc[like.num_rows :].reset_index(drop=True)


def _typical(rows: Any) -> Any:
    """Of each column a row with a value and one without, as far as there are any."""
    chosen = {0}
    for column in rows.columns:
        is_null = column.is_null().to_numpy()
        chosen |= {int(np.argmin(is_null)), int(np.argmax(is_null))}
    return rows.take(pyarrow(_NEEDED_BY).array(sorted(chosen)))


def _part(table: Any, roles: Roles, like: Any) -> Part:
    labels, decisions, positions = (table.column(name).to_numpy() for name in (_LABEL, _DECISION, _POSITION))
    frame = _frame(table, roles.features, like)
    return Part(frame, _whole(positions), _whole(labels), _whole(decisions), _matrix(table.column(_OUTPUTS)))


def _whole(numbers: Any) -> Ints:
    return np.asarray(numbers, dtype=np.intp)


def _matrix(column: Any) -> Floats:
    """Lists of as many numbers each as lines of an array."""
    values = column.combine_chunks()
    flat = np.asarray(values.flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
    return flat.reshape(len(values), -1) if len(values) else np.empty((0, 0))


def _lists(pa: Any, outputs: Floats) -> Any:
    bounds = np.arange(len(outputs) + 1, dtype=np.int32) * outputs.shape[1]
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), pa.array(outputs.ravel()))


def _with_columns(table: Any, names: list[str], arrays: list[Any]) -> Iterator[Any]:
    """The rows with columns more, in batches."""
    for name, array in zip(names, arrays, strict=True):
        table = table.append_column(name, array)
    yield from table.to_batches(max_chunksize=_ROWS_IN_BATCH)


def _check_same(n_rows: int, n_before: int) -> None:
    if n_rows != n_before:
        raise SchemaError(
            f"a partition of the training table has {n_rows:,} rows, but had {n_before:,} a moment ago: Spark makes it "
            "anew each time, and not the same. Name the column with the positions of the rows, id=, or write the table "
            "to a file and fit to that."
        )
