"""A training table that stays on Spark, beside the same table here; workers cannot import this module."""

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints, OptionError, SchemaError
from nicecf.benchmark.datasets import loan_book
from nicecf.engines import spark as engine


def check_the_training_table_stays(spark, tmp_path):
    frame, X, y, model = trained(spark, tmp_path)
    check_answers_and_rules(frame.drop("at"), X, y, model)
    check_bad_input_is_said_before_a_job_starts(spark, frame.drop("at"), model)


def check_equal(found, expected):
    assert found.found.tolist() == expected.found.tolist()
    assert found.donors.tolist() == expected.donors.tolist()
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame(), check_exact=True)


def here(frame, label):
    """The whole table, in the order of its partitions, and its labels."""
    table = frame.toArrow().to_pandas()
    return table.drop(columns=label), table[label]


def loans_of(n_rows):
    """Loans with free text, a third of which come twice."""
    X, y = loan_book(n_rows)
    X = X.assign(
        note=[f"note {at}" for at in range(n_rows)], **{"a.b": 1.0}, decision=y, region=X["region"].astype(str)
    )
    return pd.concat([X, X.iloc[: n_rows // 3]], ignore_index=True)


def trained(spark, tmp_path):
    """A frame with a partition with few rows, one with most, and empty ones; the same here; a model of it."""
    table = loans_of(300)
    path = str(tmp_path / "loans.parquet")
    table.assign(at=np.arange(len(table))[::-1]).to_parquet(path)
    frame = spark.read.parquet(path)
    frame = frame.repartition(5, (frame["age"] > 30).cast("int"))
    X, y = here(frame.drop("at"), "decision")
    return frame, X, y, Scored().fit(X, y)


def check_answers_and_rules(frame, X, y, model, most_changes=None):
    rows = X.sample(40, random_state=0).assign(note="mine").reset_index(drop=True)
    fitted = engine.fit(frame, "decision", model, sample=20)
    whole = NICE(model, search="greedy").fit(X, y)
    assert fitted.n_rows_ == len(X)
    check_equal(fitted.explain(rows), whole.explain(rows))
    options = {
        "constraints": Constraints(immutable=["age"], increasing=["credit_score"], max_changes=most_changes),
        "feature_weights": {"income": 2.0},
    }
    check_equal(fitted.explain(rows, **options), whole.explain(rows, **options))
    fitted.unpersist()


def check_positions_of_a_column(frame, model):
    table = frame.toArrow().to_pandas().sort_values("at", ignore_index=True)
    X, y = table.drop(columns=["decision", "at"]), table["decision"]
    fitted = engine.fit(frame.repartition(3), "decision", model, id="at", sample=20)
    check_equal(fitted.explain(X.iloc[:10]), NICE(model, search="greedy").fit(X, y).explain(X.iloc[:10]))
    with pytest.raises(Exception, match="id='at' is not unique: several training rows have"):
        engine.fit(frame.selectExpr("* EXCEPT (at)", "at % 7 AS at"), "decision", model, id="at")
    with pytest.raises(SchemaError, match="id='at' must hold positions, from 0; it holds -1"):
        engine.fit(frame.selectExpr("* EXCEPT (at)", "at - 1 AS at"), "decision", model, id="at")


def check_a_failing_model_is_seen(frame, model):
    with pytest.raises(Exception, match=r"ModelError[\s\S]*the feature store is down"):
        engine.fit(frame, "decision", Broken(model), sample=20)


def check_bad_input_is_said_before_a_job_starts(spark, frame, model):
    refusals = [
        (pd.DataFrame(), {}, OptionError, "frame must be a Spark DataFrame, got pandas"),
        (frame, {"label": "decisions"}, OptionError, "label='decisions' must be the name of one column.* Did you mean 'decision'?"),
        (frame, {"id": "at"}, OptionError, "id='at' must be the name of one column"),
        (frame, {"scale": "std"}, OptionError, "scale='std' needs all training rows in one place"),
        (frame.selectExpr("*", "interval 1 month AS odd"), {}, SchemaError, "column 'odd' has the type interval month"),
        (frame, {"sample": 0}, OptionError, "sample"),
    ]  # fmt: skip
    before = spark.sparkContext.statusTracker().getJobIdsForGroup()
    for given, options, error, said in refusals:
        with pytest.raises(error, match=said):
            engine.fit(given, **{"label": "decision", "model": model, **options})
    with pytest.raises(OptionError, match="the model cannot be sent to other processes"):
        engine.fit(frame, "decision", Locked(model))
    assert spark.sparkContext.statusTracker().getJobIdsForGroup() == before


def Scored():  # noqa: N802  # workers cannot import this module: the class travels with the call
    class Score:
        classes_ = np.array(["approved", "denied"], dtype=object)

        def fit(self, X, y):
            self.classes_ = np.array(sorted(set(y)), dtype=object)
            return self

        def predict_proba(self, X):
            score = (
                X["credit_score"] / 100 - X["utilisation"].fillna(0) * 3 - X["late_payments"] + (X["housing"] == "own")
            )
            p = 1 / (1 + np.exp(5.5 - score.to_numpy(dtype=float)))
            return np.column_stack([p, 1 - p])

    return Score()


def Broken(model):  # noqa: N802
    class Breaks:
        classes_ = model.classes_

        def predict_proba(self, X):
            if len(X) > 50 and "pyspark" in __import__("sys").modules.get("pyspark.worker", type("", (), {})).__name__:
                raise RuntimeError("the feature store is down")
            return model.predict_proba(X)

    return Breaks()


class Locked:
    """A model that holds what cannot be sent."""

    def __init__(self, model):
        import threading

        self.lock, self.model, self.classes_ = threading.Lock(), model, model.classes_

    def predict_proba(self, X):
        return self.model.predict_proba(X)
