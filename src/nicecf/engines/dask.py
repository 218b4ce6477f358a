"""Explanations on Dask: ``map_partitions``, with the explainer scattered to all workers."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pandas as pd

from nicecf.engines.answers import CHANGES, ROW
from nicecf.engines.asked import Asked
from nicecf.engines.columns import usual_type
from nicecf.engines.job import Job, one_batch
from nicecf.engines.on_cluster import ClusterNICE
from nicecf.engines.packed import PackedExplainer, PickledExplainer, dump_or_raise, one_thread, packed
from nicecf.exceptions import OptionError, SchemaError
from nicecf.nice import NICE
from nicecf.rules.constraints import Constraints
from nicecf.support.extras import require
from nicecf.tables.files.arrow import pyarrow

_NEEDED_BY = "nicecf.engines.dask"
# A partition may be any part of a table; this is what is explained at once.
_ROWS_AT_ONCE = 10_000


def explain(
    frame: Any,
    explainer: NICE | str | os.PathLike[str],
    *,
    id: str | None = None,
    model: Any = None,
    target_class: Any = "other",
    target_score: Any = None,
    constraints: Constraints | None = None,
    n_counterfactuals: int = 1,
    time_budget: float | None = None,
) -> Any:
    """Explain the rows of a Dask DataFrame: a DataFrame with the columns of :func:`nicecf.engines.explain_batches`.

    ``explainer``: a fitted NICE, or the path of a saved one, with its ``model``: an object that can be pickled, or the
    path of a file of it. Both are read here and sent to the workers, which need no common disk; they need nicecf, and
    the libraries of the model. ``id``: the column with the labels of the rows; the index of the frame is kept as well,
    and so is the order. The other options are those of :meth:`nicecf.NICE.explain`; ``time_budget`` is for each 10,000
    rows of a partition. All columns have dtypes of Arrow, so that missing values leave them what they are; ``changes``
    is text, as JSON.

    What is wrong with the columns, the options or the model is raised here, before a job starts.
    """
    require("dask.dataframe", extra="dask", needed_by=_NEEDED_BY)
    cloudpickle = require("cloudpickle", extra="dask", needed_by=_NEEDED_BY)
    _check_frame(frame)
    asked = Asked(target_class, target_score, constraints, n_counterfactuals, time_budget)
    nice, sent = packed(explainer, model, cloudpickle.dumps)
    asked.check(nice)
    dump_or_raise(asked, cloudpickle.dumps, "constraints")
    given = _arrow_schema(frame._meta, nice, id)
    job = Job.of(nice, asked, given, id)
    needed = pyarrow(_NEEDED_BY).schema([given.field(name) for name in job.needed])
    like = _in_pandas(job.schema.empty_table(), frame._meta.index[:0], id)
    return frame[job.needed].map_partitions(_answered, on_workers(sent), asked, id, needed, meta=like)


def fit(
    frame: Any, label: str, model: Any, *, id: str | None = None, sample: int = 10_000, **options: Any
) -> ClusterNICE:
    """Fit NICE to a Dask DataFrame that stays where it is: an explainer whose ``explain`` takes a pandas frame.

    ``label``: the column of labels; all others are features, except for ``id``, a column of unique whole numbers from
    0: the positions of the training rows, by which ties are broken and donors are named. Without it, a position is the
    number of the row in the frame. ``sample``: about how many rows are brought here besides those that say what the
    columns are. ``options``: those of :class:`nicecf.NICE`; the search is the greedy one, and what needs the whole
    table is refused.

    A first pass reads the columns, a second one asks the model about every row; its outputs are kept in the memory of
    the workers, with the rows, until ``unpersist()`` is called. Each ``explain`` is one pass more, or two. The answers
    are those of ``NICE(model, search="greedy", **options).fit(table, labels).explain(X)`` for the whole table: see
    "From laptop to cluster" for what is of a sample. Raises OptionError where the columns or options are wrong.
    """
    require("dask.dataframe", extra="dask", needed_by=_NEEDED_BY)
    _check_frame(frame)
    from nicecf.engines.dask_training import fitted_on

    return fitted_on(frame, label, model, id, sample, options)


def _check_frame(frame: Any) -> None:
    from dask.dataframe import DataFrame

    if not isinstance(frame, DataFrame):
        kind = type(frame)
        raise OptionError(f"frame must be a Dask DataFrame, got {kind.__module__}.{kind.__name__}.")


def on_workers(sent: PackedExplainer | PickledExplainer) -> Any:
    """An explainer where the tasks are: sent once to each worker of a cluster, and not with every task."""
    try:
        from distributed import get_client

        client: Any = get_client()
    except (ImportError, ValueError):  # threads or processes of this machine
        return sent
    return client.scatter(sent, broadcast=True)


def _answered(part: pd.DataFrame, sent: PackedExplainer, asked: Asked, id: str | None, schema: Any) -> pd.DataFrame:
    """The answers for a partition."""
    pa = pyarrow(_NEEDED_BY)
    try:
        table = pa.Table.from_pandas(part, schema=schema, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(
            f"a partition does not have the types of its frame: {' '.join(map(str, error.args))}. Convert the column "
            "with astype() before."
        ) from error
    with one_thread():
        job = Job.of(sent.opened(), asked, schema, id)
        places, answers = [], []
        for start in range(0, table.num_rows, _ROWS_AT_ONCE):
            at, answer = job.placed(one_batch(table.slice(start, _ROWS_AT_ONCE)))
            places.append(start + at)
            answers.append(answer)
    index = part.index[np.concatenate([np.empty(0, dtype=np.intp), *places])]
    return _in_pandas(pa.Table.from_batches(answers, schema=job.schema), index, id)


def _in_pandas(answers: Any, index: pd.Index[Any], id: str | None) -> pd.DataFrame:
    """Answers as a frame with the index of their rows, which is all that says whose they are if there is no id."""
    at = answers.schema.get_field_index(CHANGES)
    # pandas writes nested columns of Arrow to Parquet, but cannot read them back.
    texts = [json.dumps(changes, ensure_ascii=False) for changes in answers.column(at).to_pylist()]
    answers = answers.set_column(at, CHANGES, [pyarrow(_NEEDED_BY).array(texts, "string")])
    frame: pd.DataFrame = answers.to_pandas(types_mapper=pd.ArrowDtype)
    frame = frame if id is not None else frame.drop(columns=ROW)
    return frame.set_axis(index, axis="index")


def _arrow_schema(meta: pd.DataFrame, nice: NICE, id: str | None) -> Any:
    """The columns as Arrow has them: by their dtypes, or where these say nothing, as training had them."""
    pa = pyarrow(_NEEDED_BY)
    trained = {str(column.name): column for column in nice._fitted.schema.full.columns}
    fields = []
    for name, dtype in meta.dtypes.items():
        if dtype == np.dtype(object) or isinstance(dtype, pd.CategoricalDtype):
            kind = usual_type(trained[str(name)]) if str(name) in trained else pa.string()
        else:
            kind = pa.Schema.from_pandas(meta[[name]], preserve_index=False).field(0).type
        fields.append(pa.field(str(name), kind))
    return pa.schema(fields)
