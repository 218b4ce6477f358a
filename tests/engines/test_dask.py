"""Dask with two processes, and without any: the same answers, whatever happens to a process."""

import json
import os
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from nicecf import NICE, Constraints, ModelError, OptionError, SchemaError
from nicecf.benchmark.datasets import loan_book
from same_answers import check_same

dask = pytest.importorskip("dask", reason="needs dask: pip install 'nicecf[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'nicecf[dask]'")
distributed = pytest.importorskip("distributed", reason="needs dask: pip install 'nicecf[dask]'")

from nicecf.engines import dask as engine  # noqa: E402


def in_arrow(frame):
    """The answers with their changes as lists: in the frame they are JSON, which pandas reads back from Parquet."""
    return pa.Table.from_pylist(
        [
            line | {"changes": json.loads(line["changes"])}
            for line in pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
        ]
    )


@pytest.fixture
def frame(rows):
    return dd.from_pandas(rows.set_index(pd.Index(range(1000, 1000 + len(rows)), name="at")), npartitions=4)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as one,
    ):
        yield one


def test_threads_give_the_answers_of_explain_in_the_order_of_the_rows(frame, loans, rows, expected):
    answers = engine.explain(frame, loans, id="customer")
    computed = answers.compute(scheduler="threads")
    check_same(in_arrow(computed), expected)
    assert computed["customer"].tolist() == rows["customer"].tolist()
    assert computed.index.equals(frame.compute(scheduler="sync").index)
    assert computed.dtypes.equals(answers.dtypes)


def test_without_an_id_the_index_says_whose_an_answer_is(frame, loans):
    answers = engine.explain(frame.drop(columns="customer"), loans).compute(scheduler="sync")
    assert answers.index.equals(frame.compute(scheduler="sync").index)
    assert answers.columns[0] == "counterfactual"


@pytest.mark.deep
def test_empty_partitions_and_many_rows_at_once(frame, loans, expected, monkeypatch):
    monkeypatch.setattr(engine, "_ROWS_AT_ONCE", 7)
    some = engine.explain(frame, loans, id="customer").compute(scheduler="sync")
    check_same(in_arrow(some), expected)
    nothing = engine.explain(frame[frame["age"] < 0], loans, id="customer")
    computed = nothing.compute(scheduler="sync")
    assert len(computed) == 0
    assert computed.dtypes.equals(nothing.dtypes)


@pytest.mark.parametrize(
    ("change", "options", "error", "said"),
    [
        (lambda frame: frame.compute(scheduler="sync"), {}, OptionError, "frame must be a Dask DataFrame, got pandas"),
        (lambda frame: frame, {"id": "custommer"}, OptionError, "id='custommer', but the rows have no column 'custommer'.* Did you mean 'customer'?"),
        (lambda frame: frame.drop(columns="age"), {}, SchemaError, "the rows have no column 'age'"),
        (lambda frame: frame.assign(age=frame["age"].astype("string")), {}, SchemaError, "column 'age' has the type (large_)?string, but held numbers when fit saw it"),
        (lambda frame: frame, {"target_class": "maybe"}, OptionError, "maybe"),
        (lambda frame: frame, {"constraints": Constraints(immutable=["ago"])}, OptionError, "Did you mean 'age'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_a_job_starts(frame, loans, change, options, error, said):
    with pytest.raises(error, match=said):
        engine.explain(change(frame), loans, **options)


def test_objects_that_are_not_what_training_had_are_an_error(loans, rows):
    odd = rows.astype({"age": object})
    odd.loc[3, "age"] = "12k"
    said = "a partition does not have the types of its frame: .*age.* Convert the column with astype"
    with dask.config.set({"dataframe.convert-string": False}), pytest.raises(SchemaError, match=said):
        engine.explain(dd.from_pandas(odd, npartitions=1), loans).compute(scheduler="sync")


def test_a_model_that_fails_fails_the_job_with_its_message(client):
    X = pd.DataFrame({"income": [10.0, 30.0, 60.0, 90.0]})

    def broken(X):
        if (X["income"] == 13).any():
            raise RuntimeError("the feature store is down")
        p = (X["income"] > 50).to_numpy(dtype=float)
        return np.column_stack([1 - p, p])

    nice = NICE(broken, classes=["no", "yes"], search="greedy").fit(X, ["no", "no", "yes", "yes"])
    with pytest.raises(ModelError, match="the feature store is down"):
        engine.explain(dd.from_pandas(X * 0 + 13, npartitions=2), nice).compute()
    check_processes_give_the_answers_of_explain(client)


def check_processes_give_the_answers_of_explain(client):
    """Functions that an explainer is saved without go with it."""
    X = pd.DataFrame({"income": [10.0, 30.0, 60.0, 90.0], "half": [5.0, 15.0, 30.0, 45.0]})
    rules = Constraints(derived={"half": lambda X: X["income"] / 2})

    def model(X):
        p = (X["income"] > 50).to_numpy(dtype=float)
        return np.column_stack([1 - p, p])

    nice = NICE(
        model,
        classes=["no", "yes"],
        search="greedy",
        constraints=rules,
        decision=lambda p: np.where(p[:, 1] > 0.5, "yes", "no"),
    ).fit(X, ["no", "no", "yes", "yes"])
    answers = engine.explain(dd.from_pandas(X, npartitions=2), nice).compute()
    assert answers["half"].tolist() == nice.explain(X).to_frame()["half"].tolist()


@pytest.mark.filterwarnings("ignore::nicecf.RulesWarning")
@pytest.mark.filterwarnings("ignore::nicecf.SampleWarning")
def test_the_training_table_stays_where_it_is(client, loans, rows):
    X, y = loan_book(240)
    X = pd.concat([X, X.iloc[:80]], ignore_index=True)
    table, new = X.assign(decision=[*y, *y[:80]], at=range(len(X))), rows.drop(columns="customer").iloc[:30]
    # Sorted by a column: a position is not the place in the frame; and a partition without rows.
    by_age = table.sort_values("age", ignore_index=True)
    frame = dd.concat([dd.from_pandas(by_age.iloc[:9], npartitions=1), dd.from_pandas(by_age.iloc[9:], npartitions=3)])
    options = {"constraints": Constraints(immutable=["age"], increasing=["credit_score"])}
    for id, whole in ((None, by_age), ("at", table)):
        expected = NICE(loans.model, search="greedy", **options).fit(whole[X.columns], whole["decision"]).explain(new)
        given = frame if id else frame.drop(columns="at")
        fitted = engine.fit(given[given["age"] > 0], "decision", loans.model, id=id, sample=8, **options)
        found = fitted.explain(new)
        assert found.found.tolist() == expected.found.tolist()
        assert found.donors.tolist() == expected.donors.tolist()
        pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame(), check_exact=True)
    fitted.unpersist()
    assert fitted.explain(new.iloc[:1]).donors.tolist() == expected.donors[:1].tolist()


def test_what_is_wrong_with_a_training_table_is_said(frame, loans):
    with pytest.raises(OptionError, match="frame must be a Dask DataFrame, got pandas"):
        engine.fit(pd.DataFrame(), "decision", loans.model)
    with pytest.raises(OptionError, match="label='decision' must be the name of one column"):
        engine.fit(frame, "decision", loans.model)
    given = frame.assign(late=frame["age"] / 7)
    with pytest.raises(SchemaError, match="id='late' must hold a whole number"):
        engine.fit(given, "customer", loans.model, id="late")
    with pytest.raises(SchemaError, match="the frame has no rows"), dask.config.set(scheduler="sync"):
        engine.fit(frame[frame["age"] < 0], "customer", loans.model)


def slow(model):
    """A model that takes its time, so that there is some to kill its process in."""

    class Slow:
        classes_ = model.classes_

        def predict_proba(self, X):
            import time

            time.sleep(0.1)
            return model.predict_proba(X)

    return Slow()


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")  # of a cluster that loses a worker
def test_a_killed_worker_costs_time_and_no_rows(client, loans, rows, expected, tmp_path):
    import signal

    nice = NICE(slow(loans.model), search="greedy").fit(*loan_book(400))
    answers = engine.explain(dd.from_pandas(rows, npartitions=12), nice, id="customer")
    future = client.compute(answers)
    pids = list(client.run(os.getpid).values())
    time.sleep(3)
    assert not future.done()
    os.kill(pids[0], signal.SIGKILL)
    check_same(in_arrow(future.result()), expected)


@pytest.mark.deep
def test_answers_written_to_parquet_are_read_back_the_same(client, frame, saved, loans, expected, tmp_path):
    engine.explain(frame, saved, model=loans.model, id="customer").to_parquet(tmp_path / "out", write_index=False)
    check_same(in_arrow(pd.read_parquet(tmp_path / "out", dtype_backend="pyarrow")), expected)


@pytest.mark.deep
@pytest.mark.skipif("NICECF_DATA" not in os.environ, reason="needs real data: NICECF_DATA")
@pytest.mark.parametrize("table", ["adult", "covertype"])
def test_real_tables_have_the_answers_of_explain(client, table):
    from real_tables import explained_here

    nice, rows, cfs = explained_here(table)
    answers = engine.explain(dd.from_pandas(rows, npartitions=4), nice, id="customer")
    check_same(in_arrow(answers.compute()), cfs)
