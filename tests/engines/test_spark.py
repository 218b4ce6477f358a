"""Spark with two executors, in processes of their own: the same answers, whatever happens to the executors."""

import contextlib
import os
import shutil
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nicecf import NICE, Constraints, NicecfError, OptionError, SchemaError
from same_answers import check_same

pyspark = pytest.importorskip("pyspark", reason="needs pyspark: pip install 'nicecf[spark]'")
if shutil.which("java") is None:
    pytest.skip("needs Java: apt-get install openjdk-17-jre-headless", allow_module_level=True)
if tuple(map(int, pd.__version__.split(".")[:2])) < (2, 2):
    pytest.skip("pyspark 4 needs pandas 2.2", allow_module_level=True)

from cluster_fit import check_the_training_table_stays  # noqa: E402
from nicecf.engines import spark as engine  # noqa: E402

# It works with pandas 3, and says so of all that it has for pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::nicecf.RulesWarning"),
    pytest.mark.filterwarnings("ignore::nicecf.SampleWarning"),
]


def framed(spark, rows, tmp_path, partitions=4):
    """A Spark frame by way of Parquet: with the types that a file has."""
    path = str(tmp_path / f"rows-{len(os.listdir(tmp_path))}.parquet")
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), path)
    return spark.read.parquet(path).repartition(partitions)


# One test, so that no more than one process of the tests starts a cluster.
def test_two_executors_give_the_answers_of_explain(spark, loans, saved, rows, expected, tmp_path):
    frame = framed(spark, rows, tmp_path)
    check_answers_by_a_saved_explainer_and_without_arrow_settings(spark, frame, saved, loans, expected, tmp_path)
    check_skewed_and_empty_partitions(spark, loans, rows, expected, tmp_path)
    check_a_failing_model_is_seen(spark, tmp_path)
    check_timestamps(spark, tmp_path)
    check_bad_input_is_said_before_a_job_starts(spark, loans, frame)
    check_the_training_table_stays(spark, tmp_path)


def check_answers_by_a_saved_explainer_and_without_arrow_settings(spark, frame, saved, loans, expected, tmp_path):
    spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "false")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    answers = engine.explain(frame, saved, model=loans.model, id="customer")
    answers.write.parquet(str(tmp_path / "out"))
    read = pq.read_table(tmp_path / "out")
    check_same(read, expected)
    assert [(f.name, f.dataType.simpleString()) for f in answers.schema] == [
        (f.name, f.dataType.simpleString()) for f in spark.read.parquet(str(tmp_path / "out")).schema
    ]
    assert {f.name: f.dataType for f in answers.schema if f.name in loans.feature_names_in_} == {
        f.name: f.dataType for f in frame.schema if f.name != "customer"
    }


def check_skewed_and_empty_partitions(spark, loans, rows, expected, tmp_path):
    # By a constant: all rows in one of four partitions, and a filter that leaves no row.
    frame = framed(spark, rows.assign(one=1), tmp_path).repartition(4, "one")
    check_same(engine.explain(frame, loans, id="customer").toArrow(), expected)
    nothing = engine.explain(frame.where("age < 0"), loans, id="customer").toArrow()
    assert nothing.num_rows == 0
    assert "cf_age" not in nothing.column_names


def check_a_failing_model_is_seen(spark, tmp_path):
    X = pd.DataFrame({"income": [10.0, 30.0, 60.0, 90.0]})

    def broken(X):
        if (X["income"] == 13).any():
            raise RuntimeError("the feature store is down")
        p = (X["income"] > 50).to_numpy(dtype=float)
        return np.column_stack([1 - p, p])

    nice = NICE(broken, classes=["no", "yes"], search="greedy").fit(X, ["no", "no", "yes", "yes"])
    answers = engine.explain(framed(spark, X.assign(id=range(4), income=13.0), tmp_path, 1), nice, id="id")
    with pytest.raises(Exception, match=r"ModelError[\s\S]*the feature store is down"):
        answers.collect()


def check_timestamps(spark, tmp_path):
    """The plain type of Spark has a time zone: that of the session."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    seen = pd.to_datetime(["2024-01-01 06:00", "2024-02-01 00:00", "2024-03-31 00:30", "2024-05-01 12:00"]).as_unit(
        "us"
    )
    y = np.array(["no", "no", "yes", "yes"])
    X = pd.DataFrame({"seen": seen.tz_localize("UTC"), "income": [1.0, 2.0, 3.0, 4.0]})

    def late(X):
        p = (pd.DatetimeIndex(X["seen"]).month > 2).astype(float)
        return np.column_stack([1 - p, p])

    nice = NICE(late, classes=["no", "yes"], search="greedy").fit(X, y)
    frame = framed(spark, X.assign(customer=range(4), at=seen.tz_localize("UTC"), decision=y), tmp_path, 2)
    assert dict(frame.dtypes)["seen"] == "timestamp"
    expected = nice.explain(X)
    assert engine.explain(frame, nice, id="customer").orderBy("customer").toArrow()["seen"].to_pylist() == [
        moment.to_pydatetime() for moment in expected.to_frame()["seen"]
    ]
    assert dict(engine.explain(frame, nice, id="at").dtypes)["at"] == "timestamp"
    in_parts = engine.fit(frame.drop("at"), "decision", late, id="customer", classes=["no", "yes"])
    pd.testing.assert_frame_equal(in_parts.explain(X).to_frame(), expected.to_frame())
    in_parts.unpersist()
    # A type that does not fit is told of with one that does.
    naive = NICE(late, classes=["no", "yes"], search="greedy").fit(X.assign(seen=seen), y)
    as_ntz = frame.withColumn("seen", frame["seen"].cast("timestamp_ntz"))
    for given, explainer, other in [(frame, naive, "timestamp_ntz"), (as_ntz, nice, "timestamp")]:
        with pytest.raises(SchemaError, match=rf"column 'seen' has the type timestamp.*\(in Spark: {other}\)"):
            engine.explain(given, explainer, id="customer")
    assert "seen" in engine.explain(as_ntz, naive, id="customer").columns


def check_bad_input_is_said_before_a_job_starts(spark, loans, frame):
    refusals = [
        (pd.DataFrame(), {}, OptionError, "frame must be a Spark DataFrame, got pandas"),
        (frame, {"id": None}, OptionError, "id must be the name of the column by which rows are known again"),
        (frame, {"id": "custommer"}, OptionError, "id='custommer', but the rows have no column 'custommer'.* Did you mean 'customer'?"),
        (frame.drop("age"), {}, SchemaError, "the rows have no column 'age', which the explainer needs"),
        (frame.withColumn("age", frame["age"].cast("string")), {}, SchemaError, "column 'age' has the type string, but held numbers when fit saw it"),
        (frame.drop("age").selectExpr("map('a', 1) AS age", "*"), {}, SchemaError, "column 'age' has the type map<"),
        (frame.drop("age").selectExpr("named_struct('a', 1) AS age", "*"), {}, SchemaError, "column 'age' has the type struct<"),
        (frame.drop("age").selectExpr("parse_json('1') AS age", "*"), {}, SchemaError, "column 'age' has the type"),
        (frame.drop("age").selectExpr("interval 1 month AS age", "*"), {}, SchemaError, "column 'age' has the type interval month, which cannot be sent to Python as Arrow"),
        (frame, {"target_class": "maybe"}, OptionError, "maybe"),
        (frame, {"n_counterfactuals": 3}, OptionError, "needs search='thorough'"),
        (frame, {"constraints": Constraints(immutable=["ago"])}, OptionError, "Did you mean 'age'"),
    ]  # fmt: skip
    before = spark.sparkContext.statusTracker().getJobIdsForGroup()
    for given, options, error, said in refusals:
        with pytest.raises(error, match=said):
            engine.explain(given, loans, **{"id": "customer", **options})
    assert engine.explain(frame.selectExpr("*", "age AS `a.b`"), loans, id="a.b").columns[0] == "a.b"
    # What is odd in a column that nobody needs is nobody's business.
    engine.explain(frame.selectExpr("*", "map('a', 1) AS odd"), loans, id="customer")
    with pytest.raises(
        OptionError,
        match=r"the model cannot be sent to other processes: pickling Locked raised TypeError: cannot pickle '_thread.lock' object. It must not hold open connections, files or locks",
    ):
        engine.explain(frame, NICE(Locked(loans.model), search="greedy").fit(*training(loans)), id="customer")
    assert issubclass(OptionError, NicecfError)
    assert spark.sparkContext.statusTracker().getJobIdsForGroup() == before


def training(loans):
    from nicecf.benchmark.datasets import loan_book

    return loan_book(400)


class Locked:
    """A model that holds what cannot be sent."""

    def __init__(self, model):
        self.lock, self.model, self.classes_ = threading.Lock(), model, model.classes_

    def predict_proba(self, X):
        return self.model.predict_proba(X)


def slow(model):
    """A model that takes its time, so that there is some to kill its process in; workers cannot import this module."""

    class Slow:
        classes_ = model.classes_

        def predict_proba(self, X):
            import time

            time.sleep(0.1)
            return model.predict_proba(X)

    return Slow()


@pytest.mark.deep
@pytest.mark.parametrize("victim", ["pyspark.daemon", "CoarseGrainedExecutorBackend"])
def test_a_killed_worker_costs_time_and_no_rows(spark, loans, rows, expected, tmp_path, victim):
    import psutil

    nice = NICE(slow(loans.model), search="greedy").fit(*training(loans))
    answers = engine.explain(framed(spark, rows, tmp_path, 12), nice, id="customer")
    collected = []
    job = threading.Thread(target=lambda: collected.append(answers.toArrow()), daemon=True)
    job.start()
    killed = None
    while killed is None:
        assert job.is_alive()
        time.sleep(0.2)
        active = spark.sparkContext.statusTracker().getActiveStageIds()
        infos = [spark.sparkContext.statusTracker().getStageInfo(one) for one in active]
        if any(info is not None and info.numCompletedTasks >= 2 and info.numTasks == 12 for info in infos):
            killed = kill_one(psutil, victim)
    job.join()
    assert killed
    check_same(collected[0], expected)


def kill_one(psutil, victim):
    """Kill a process that this one started, by way of Spark; a Python worker is what a daemon forked."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            found += [one] * any(victim in word for word in one.cmdline())
    found = [one for one in found if victim != "pyspark.daemon" or one.parent() in found] or found
    found[-1].kill()
    return found[-1].pid


@pytest.mark.deep
@pytest.mark.skipif("NICECF_DATA" not in os.environ, reason="needs real data: NICECF_DATA")
@pytest.mark.parametrize("table", ["adult", "covertype"])
def test_real_tables_have_the_answers_of_explain(spark, tmp_path, table):
    from real_tables import explained_here

    nice, rows, cfs = explained_here(table)
    check_same(engine.explain(framed(spark, rows, tmp_path), nice, id="customer").toArrow(), cfs)
