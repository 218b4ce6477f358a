"""Explanations on Spark: ``mapInArrow``, with the explainer as a broadcast variable."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from nicecf.engines.asked import Asked
from nicecf.engines.cargo import dump_or_raise, one_thread, packed
from nicecf.engines.job import Job
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
    from pyspark.sql.pandas.types import from_arrow_schema

    asked = Asked(target_class, target_score, constraints, n_counterfactuals, time_budget)
    nice, cargo = packed(explainer, model, cloudpickle.dumps)
    asked.check(nice)
    dump_or_raise(asked, cloudpickle.dumps, "constraints")
    job = Job.of(nice, asked, _arrow_schema(frame, nice, id), id)
    shipped, needed = frame.sparkSession.sparkContext.broadcast(cargo), job.needed

    def answered(batches: Iterator[Any]) -> Iterator[Any]:
        job = None
        with one_thread():
            for batch in (pyarrow(_NEEDED_BY).RecordBatch.from_arrays(one.columns, needed) for one in batches):
                job = job or Job.of(shipped.value.opened(), asked, batch.schema, id)
                yield job.answered(batch)

    columns = [f"`{name.replace('`', '``')}`" for name in needed]
    # With names of its own: mapInArrow takes a dot in a name for a field of a struct.
    numbered = frame.select(*columns).toDF(*(f"c{at}" for at in range(len(needed))))
    return numbered.mapInArrow(answered, from_arrow_schema(job.schema))


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


def _check_frame(frame: Any) -> None:
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame) or not hasattr(frame, "_jdf"):
        kind = type(frame)
        connect = " Spark Connect is not supported: use a session of its own." if "connect" in kind.__module__ else ""
        raise OptionError(f"frame must be a Spark DataFrame, got {kind.__module__}.{kind.__name__}.{connect}")


def _arrow_schema(frame: Any, nice: NICE, id: str) -> Any:
    """The columns that are needed as Arrow has them; SchemaError for types of Spark that Arrow has none for."""
    pa = pyarrow(_NEEDED_BY)
    from pyspark.sql.pandas.types import to_arrow_type

    features = {str(name) for name in nice._fitted.schema.full.names}
    is_array = nice._fitted.schema.full.container.label == "numpy array"
    fields = []
    for field in frame.schema.fields:
        if not (is_array or field.name == id or field.name in features):
            fields.append(pa.field(field.name, pa.null()))  # not needed, and not sent
            continue
        try:
            fields.append(pa.field(field.name, to_arrow_type(field.dataType)))
        except Exception as error:
            raise SchemaError(
                f"column {field.name!r} has the type {field.dataType.simpleString()}, which cannot be sent to Python "
                "as Arrow. Cast it to a number, text, a date or a timestamp."
            ) from error
    return pa.schema(fields)
