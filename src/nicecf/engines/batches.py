"""The serial reference, which every engine calls: batches of Arrow in, batches of answers out, one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from nicecf.engines.asked import Asked
from nicecf.engines.job import Job, one_batch
from nicecf.engines.opened import opened
from nicecf.exceptions import OptionError
from nicecf.nice import NICE
from nicecf.rules.constraints import Constraints
from nicecf.tables.files.arrow import pyarrow


def explain_batches(
    explainer: NICE | str | os.PathLike[str],
    model: Any,
    batches: Iterable[Any],
    *,
    id: str | None = None,
    target_class: Any = "other",
    target_score: Any = None,
    constraints: Constraints | None = None,
    n_counterfactuals: int = 1,
    time_budget: float | None = None,
) -> Iterator[Any]:
    """Explain the rows of Arrow batches: one batch of answers for each, made when it is asked for.

    ``explainer``: the path of a file from ``nice.save``, which is opened once in a process and shared by its threads,
    with its ``model``: the object, or the path of a file of it. Or a fitted NICE, and None for the model. ``batches``:
    ``pyarrow.RecordBatch`` or ``Table`` objects, all of one schema. Columns that training did not have are left out,
    except for ``id``, the column with the labels of the rows; without it, rows are numbered through the stream. The
    other options are those of :meth:`nicecf.NICE.explain`; ``time_budget`` is for each batch.

    Every batch of answers has the same schema, also an empty one: the id, or ``row``; ``counterfactual``, its number
    from 0; ``found``; ``reason_kind`` and ``reason``, where there is none; ``changes``, a list of ``feature``,
    ``before`` and ``after``, as text; ``score_before`` and ``score_after``, the probability of the class decided on, or
    the score; ``decision_before`` and ``decision_after``, as text; then the counterfactual, each column in the type in
    which it came (or in a wider one, where training has values that this type cannot hold), null where none was found.
    A feature whose name is one of these gets the prefix ``cf_``.

    A missing column, or one of a type that training cannot have had, is a SchemaError before the model is asked about
    any row; a cell that training cannot have had (an infinite number, an unknown level of an ordered category) is the
    reason of its row, of the kind ``refused``. A model that fails is a ModelError.

    >>> import pyarrow as pa
    >>> from nicecf import NICE, testing
    >>> X, y = testing.applicants()
    >>> nice = NICE(testing.Scorecard()).fit(X, y)
    >>> (answer,) = explain_batches(nice, None, [pa.RecordBatch.from_pandas(X.iloc[[3]], preserve_index=False)])
    >>> answer.column("found").to_pylist()
    [True]
    """
    pyarrow("nicecf.engines")
    asked = Asked(target_class, target_score, constraints, n_counterfactuals, time_budget)
    nice = opened(explainer, model)
    asked.check(nice)
    schema = getattr(batches, "schema", None)  # of a reader: then what is wrong with it is said at once
    job = None if schema is None or not hasattr(schema, "field") else Job.of(nice, asked, schema, id)
    return _answered(nice, asked, id, _each(batches), job)


def _answered(nice: NICE, asked: Asked, id: str | None, batches: Iterator[Any], job: Job | None) -> Iterator[Any]:
    first = 0
    for batch in batches:
        job = Job.of(nice, asked, batch.schema, id) if job is None else job
        yield job.answered(batch, first)
        first += batch.num_rows


def _each(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches, one at a time; OptionError if they are anything else."""
    pa = pyarrow("nicecf.engines")
    if isinstance(batches, (pa.RecordBatch, pa.Table)):
        batches = [batches]
    if not isinstance(batches, Iterable) or hasattr(batches, "columns"):
        raise OptionError(
            f"batches must be an iterable of pyarrow.RecordBatch, got {type(batches).__name__}. {_ADVICE}"
        )
    return (_batch(pa, one) for one in batches)


_ADVICE = "Convert a frame with pyarrow.Table.from_pandas(frame)."


def _batch(pa: Any, one: Any) -> Any:
    if isinstance(one, pa.RecordBatch):
        return one
    if isinstance(one, pa.Table):
        return one_batch(one)
    raise OptionError(f"batches must hold pyarrow.RecordBatch, got {type(one).__name__}. {_ADVICE}")
