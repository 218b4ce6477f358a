"""Loans explained by the greedy search; the same rows by an engine must have the same answers."""

import os
import sys

import pytest

from nicecf import NICE
from nicecf.benchmark.datasets import loan_book
from nicecf.cli.showcase import forest


@pytest.fixture(scope="session")
def loans():
    X, y = loan_book(400)
    model = forest().set_params(randomforestclassifier__n_estimators=10).fit(X, y)
    return NICE(model, search="greedy").fit(X, y)


@pytest.fixture(scope="session")
def rows():
    """Rows to explain, and a label for each that is not its position."""
    X, _ = loan_book(120, seed=5)
    return X.assign(customer=[f"C{7 * at:04}" for at in range(len(X))])


@pytest.fixture(scope="session")
def saved(loans, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "loans.nice"
    loans.save(path)
    return path


@pytest.fixture(scope="session")
def expected(loans, rows):
    """What the explainer itself says, with the labels of the rows."""
    return loans.explain(rows.drop(columns="customer").set_axis(rows["customer"]))


@pytest.fixture(scope="session")
def spark():
    """Two executors, in processes of their own."""
    import pyspark
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        # Started fast, and not to run for long.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", os.path.dirname(pyspark.__file__))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tests of nicecf")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
