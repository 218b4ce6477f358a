"""The training table stays on Spark: the answers are those of a fit to the whole table here.

What of this runs with every change is in test_spark.py, which starts the one cluster for it.
"""

import os
import shutil

import pandas as pd
import pytest

from nicecf import NICE

pyspark = pytest.importorskip("pyspark", reason="needs pyspark: pip install 'nicecf[spark]'")
if shutil.which("java") is None:
    pytest.skip("needs Java: apt-get install openjdk-17-jre-headless", allow_module_level=True)
if tuple(map(int, pd.__version__.split(".")[:2])) < (2, 2):
    pytest.skip("pyspark 4 needs pandas 2.2", allow_module_level=True)

from cluster_fit import (  # noqa: E402
    check_a_failing_model_is_seen,
    check_answers_and_rules,
    check_equal,
    check_positions_of_a_column,
    here,
    trained,
)
from nicecf.engines import spark as engine  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::nicecf.RulesWarning"),
    pytest.mark.filterwarnings("ignore::nicecf.SampleWarning"),
]


@pytest.mark.deep
def test_positions_of_a_column_and_models_that_fail(spark, tmp_path):
    frame, X, y, model = trained(spark, tmp_path)
    check_answers_and_rules(frame.drop("at"), X, y, model, most_changes=4)
    check_positions_of_a_column(frame, model)
    check_a_failing_model_is_seen(frame.drop("at"), model)


@pytest.mark.deep
@pytest.mark.skipif("NICECF_DATA" not in os.environ, reason="needs real data: NICECF_DATA")
@pytest.mark.parametrize("table", ["adult", "covertype"])
def test_real_tables_have_the_answers_of_a_fit_here(spark, tmp_path, table):
    from real_tables import explained_here

    nice, rows, _ = explained_here(table)
    X, y = trained_on(table)
    path = str(tmp_path / "rows.parquet")
    X.assign(label_=y).to_parquet(path)
    frame = spark.read.parquet(path).repartition(4)
    X, y = here(frame, "label_")
    rows = rows.drop(columns="customer")
    expected = NICE(nice.model, search="greedy").fit(X, y).explain(rows)
    check_equal(engine.fit(frame, "label_", nice.model, sample=100).explain(rows), expected)


def trained_on(table):
    from nicecf.benchmark.datasets import adult
    from real_tables import covertype

    X, y = (adult if table == "adult" else covertype)(os.environ["NICECF_DATA"])
    return X.iloc[:3800], y.iloc[:3800]
