"""Explanations on Spark: ``mapInArrow``, with the explainer as a broadcast variable."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from nicecf.engines.asked import Asked
from nicecf.engines.job import Job
from nicecf.engines.on_cluster import ClusterNICE
from nicecf.engines.packed import dump_or_raise, one_thread, packed
from nicecf.exceptions import OptionError, SchemaError
from nicecf.nice import NICE
from nicecf.rules.constraints import Constraints
from nicecf.support.extras import require
from nicecf.tables.files.arrow import pyarrow

_NEEDED_BY = "nicecf.engines.spark"


def explain(
    frame: Any,
    explainer: NICE | str | os.PathLike[str],
    *,
    id: str,
    model: Any = None,
    target_class: Any = "other",
    target_score: Any = None,
    constraints: Constraints | None = None,
    n_counterfactuals: int = 1,
    time_budget: float | None = None,
) -> Any:
    """Explain the rows of a Spark DataFrame: a DataFrame with the columns of :func:`nicecf.engines.explain_batches`.

    ``explainer``: a fitted NICE, or the path of a saved one, with its ``model``: an object that can be pickled, or the
    path of a file of it. Both are read here and sent to the workers, which need no common disk; they need nicecf, and
    the libraries of the model. ``id``: the column by which rows are known again, since Spark keeps no order. The other
    options are those of :meth:`nicecf.NICE.explain`; ``time_budget`` is for each batch of Arrow.

    What is wrong with the columns, the options or the model is raised here, before a job starts. The job itself is
    lazy, as all of Spark: a model that fails does so in the action that asks for its rows.
    """
    require("pyspark", extra="spark", needed_by=_NEEDED_BY)
    _check_frame(frame)
    if not isinstance(id, str):
        raise OptionError("id must be the name of the column by which rows are known again: Spark keeps no order.")
    from pyspark import cloudpickle

    asked = Asked(target_class, target_score, constraints, n_counterfactuals, time_budget)
    nice, sent = packed(explainer, model, cloudpickle.dumps)
    asked.check(nice)
    dump_or_raise(asked, cloudpickle.dumps, "constraints")
    job = Job.of(nice, asked, _arrow_schema(frame, nice, id), id)
    shipped = frame.sparkSession.sparkContext.broadcast(sent)

    def answered(batches: Iterator[Any]) -> Iterator[Any]:
        job = None
        with one_thread():
            for batch in batches:
                job = job or Job.of(shipped.value.opened(), asked, batch.schema, id)
                yield job.answered(batch)

    return mapped(frame.select(*quoted(job.needed)), answered, job.schema)


def fit(
    frame: Any, label: str, model: Any, *, id: str | None = None, sample: int = 10_000, **options: Any
) -> ClusterNICE:
    """Fit NICE to a Spark DataFrame that stays where it is: an explainer whose ``explain`` takes a pandas frame.

    ``label``: the column of labels; all others are features, except for ``id``, a column of unique whole numbers from
    0: the positions of the training rows, by which ties are broken and donors are named. Without it, a position is the
    number of the row in the order of the partitions, which must be the same each time that Spark makes them.
    ``sample``: about how many rows are brought here besides those that say what the columns are. ``options``: those of
    :class:`nicecf.NICE`; the search is the greedy one, and what needs the whole table is refused.

    A first job reads the columns, a second one asks the model about every row; its outputs are kept on the disks of the
    workers, with the rows, until the session ends or ``unpersist()`` is called. Each ``explain`` is one job more, or
    two: a worker holds one partition at a time. The answers are those of ``NICE(model, search="greedy",
    **options).fit(table, labels).explain(X)`` for the whole table: see "From laptop to cluster" for what is of a
    sample. Raises OptionError and SchemaError before a job starts where the columns or options are wrong.
    """
    require("pyspark", extra="spark", needed_by=_NEEDED_BY)
    _check_frame(frame)
    from nicecf.engines.spark_training import fitted_on

    return fitted_on(frame, label, model, id, sample, options)


def session_of(master: str) -> Any:
    """A session at that master, for the command line; OptionError if there is no Java to start it with."""
    sql = require("pyspark.sql", extra="spark", needed_by=f"--engine {master}")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and os.path.exists(os.path.join(home, "bin", "java"))):
        raise OptionError(
            f"Spark needs Java, which is not installed: --engine {master} cannot be started. Install Java 17 (on "
            "Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME."
        )
    if master.startswith("local"):  # the processes are on this machine: with this Python, and Spark as it is here
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault(
            "SPARK_HOME", os.path.dirname(require("pyspark", extra="spark", needed_by=master).__file__)
        )
    session = sql.SparkSession.builder.master(master).appName("nicecf explain").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def quoted(names: Iterable[str]) -> list[str]:
    """Names of columns as Spark reads them, whatever is in them."""
    return [f"`{name.replace('`', '``')}`" for name in names]


def mapped(frame: Any, function: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> Any:
    """``mapInArrow``, which would take a dot in the name of a column for a field of it (pyspark 4.3)."""
    from pyspark.sql.pandas.types import from_arrow_schema

    names = frame.columns

    def of_names(batches: Iterator[Any]) -> Iterator[Any]:
        pa = pyarrow(_NEEDED_BY)
        return function(pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)

    numbered = frame.toDF(*(f"column_{at}" for at in range(len(names))))
    return numbered.mapInArrow(of_names, from_arrow_schema(schema))


def _check_frame(frame: Any) -> None:
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame) or not hasattr(frame, "_jdf"):
        kind = type(frame)
        connect = " Spark Connect is not supported: use a session of its own." if "connect" in kind.__module__ else ""
        raise OptionError(f"frame must be a Spark DataFrame, got {kind.__module__}.{kind.__name__}.{connect}")


def _arrow_schema(frame: Any, nice: NICE, id: str) -> Any:
    """The columns that are needed as Arrow has them; SchemaError for types of Spark that Arrow has none for."""
    features = {str(name) for name in nice._fitted.schema.full.names}
    is_array = nice._fitted.schema.full.container.label == "numpy array"
    return arrow_schema(frame, [field.name for field in frame.schema if is_array or field.name in {id, *features}])


def arrow_schema(frame: Any, needed: Collection[str]) -> Any:
    """The columns of a frame as Arrow has them, those that are not needed without a type; SchemaError as above."""
    pa = pyarrow(_NEEDED_BY)
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import TimestampType

    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    fields = []
    for field in frame.schema.fields:
        if field.name not in needed:
            fields.append(pa.field(field.name, pa.null()))  # not needed, and not sent
            continue
        if isinstance(field.dataType, TimestampType):
            # to_arrow_type needs the zone, and the name of that argument depends on the version of pyspark.
            fields.append(pa.field(field.name, pa.timestamp("us", tz=zone)))
            continue
        try:
            fields.append(pa.field(field.name, to_arrow_type(field.dataType)))
        except Exception as error:
            raise SchemaError(
                f"column {field.name!r} has the type {field.dataType.simpleString()}, which cannot be sent to Python "
                "as Arrow. Cast it to a number, text, a date or a timestamp."
            ) from error
    return pa.schema(fields)
