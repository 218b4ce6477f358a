"""An experiment from the plan to the records: known answers, kills, crowds, full disks and wrong names."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from markers import deep
from nicecf import cli, metrics
from nicecf.benchmark import methods, models, processes, run, store
from nicecf.benchmark.datasets import Dataset
from nicecf.benchmark.plan import Plan
from nicecf.benchmark.report.names import pretty
from nicecf.benchmark.store import TIMINGS, Store
from nicecf.exceptions import ExperimentError, OptionError, SchemaError
from nicecf.models.scorer import Cost
from nicecf.results.batch import OUT_OF_TIME
from store_writers import die_while_writing, write_cells

N_ROWS, N_CONSTANT = 1500, 12
QUICK = models.PROFILES["quick"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    """Two tables whose answers can be worked out by hand.

    switch: one feature, 0 or 1, which is the label. steps: a number, 0.5, 10.5 or 20.5, and the label says whether it
    is above 5. Both have columns besides that never vary: the more inputs a network has, the more neurons it gets.
    """
    folder = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(0)
    switch = random.integers(0, 2, N_ROWS)
    constant, number = {f"c{j}": 1 for j in range(N_CONSTANT)}, {f"c{j}": 1.5 for j in range(N_CONSTANT)}
    pd.DataFrame({"switch": switch, **constant, "target": switch}).to_csv(folder / "switch.csv", index=False)
    steps = random.choice([0.5, 10.5, 20.5], N_ROWS)
    labels = np.where(steps > 5, "high", "low")
    pd.DataFrame({"steps": steps, **number, "target": labels}).to_csv(folder / "steps.csv", index=False)
    return folder


def plan_of(tables: Path, *names: str, **options) -> Plan:
    paths = tuple(str(tables / f"{name}.csv") for name in names or ("switch", "steps"))
    options = {"methods": ("nice-spars", "sedc"), "rows": 30, "alone": 2} | options
    return Plan(datasets=paths, **options)


def _remembered(function):
    """Training is most of the time of a run, and always comes to the same for the same rows."""
    known = {}

    def remembered(name, encoder, parameters, X, y, seed):
        key = (name, repr(encoder), repr(parameters), X.tobytes(), y.tobytes(), seed)
        if key not in known:
            known[key] = function(name, encoder, parameters, X, y, seed)
        return known[key]

    return remembered


@pytest.fixture(scope="module", autouse=True)
def trained_once():
    with pytest.MonkeyPatch.context() as patch:
        for function in ("_best", "_fitted"):
            patch.setattr(models, function, _remembered(getattr(models, function)))
        patch.setitem(models.PROFILES, "quick", replace(QUICK, n_estimators=(20,)))
        yield


@pytest.fixture(scope="module")
def finished(tables, tmp_path_factory) -> Store:
    """What a run without trouble left."""
    folder = tmp_path_factory.mktemp("finished") / "results"
    assert run.run(plan_of(tables), folder) == run.Outcome(8, 8, {})
    return Store.open(folder)


@pytest.fixture(scope="module")
def networks(tables, tmp_path_factory) -> Store:
    """The same with the networks alone, which are trained faster, for runs in other processes."""
    folder = tmp_path_factory.mktemp("networks") / "results"
    assert run.run(plan_of(tables, models=("ann",)), folder) == run.Outcome(4, 4, {})
    return Store.open(folder)


def untimed(results: Store) -> bytes:
    """All records, and what was asked of the models for them, as bytes; timings aside."""
    cells = results.cells().drop(columns=["fit_seconds", "seconds"])
    return b"".join(
        frame.to_csv(index=False).encode() for frame in (results.records().drop(columns=list(TIMINGS)), cells)
    )


@pytest.mark.deep
def test_what_is_asked_of_the_model_does_not_depend_on_how_fast_it_is(tables, monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 6))
    y = (X.sum(axis=1) > 0).astype(int)
    problem = run.Problem("noise", X[:200], y[:200], X[200:], y[200:], X[200:230], [])
    reference = metrics.Reference.of(problem.X_train, problem.y_train, categorical_features=[])
    model, _ = models.train("rf", problem.X_train, problem.y_train, [], profile="quick", seed=0)
    counts = []
    for call, row in ((1.0, 1e-6), (0.0, 1.0)):  # as if calls were dear, and as if they cost nothing
        cost = Cost(call, row)
        monkeypatch.setattr(Cost, "after", lambda *_, cost=cost: cost)
        monkeypatch.setattr("nicecf.nice.measured_cost", lambda *_, cost=cost, **__: cost)
        figures, _ = run.run_cell(problem, "nice-spars", model, None, reference, plan_of(tables))
        counts.append((figures["model_calls"], figures["model_rows"]))
    assert counts[0] == counts[1]


def test_known_answers_of_two_datasets_and_two_methods(tables, finished):
    records = finished.records()
    assert len(records) == 2 * 2 * 2 * 30
    switch = records[records["dataset"] == "switch"]
    nice = switch[switch["method"] == "nice-spars"]
    # The other value is one change away, a category, and training rows that have it abound.
    for measure, value in [("sparsity", 1), ("l1_range", 1), ("l2_std", 1), ("nn5", 0), ("valid_for_other", 1)]:
        assert (nice[measure] == value).all(), measure
    steps = records[records["dataset"] == "steps"]
    nice = steps[steps["method"] == "nice-spars"]
    assert (nice["status"] == "found").all()
    # From low, the nearest high value is half of the range away; from high, low is: half of it, or all.
    assert set(nice.loc[nice["predicted"] == 1, "l1_range"]) == {0.5}
    assert set(nice.loc[nice["predicted"] == 0, "l1_range"]) == {0.5, 1.0}


def test_the_report_of_two_datasets_and_two_methods_says_what_is_known(finished, tmp_path, capsys):
    assert cli.main(["benchmark", "report", str(finished.folder), "--out", str(tmp_path / "report")]) == 0
    assert str(tmp_path / "report") in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "report" / "tables" / "main_paper_rf.csv", index_col=0)
    records = finished.records().query("model == 'rf'")
    of_sedc = records[records["method"] == "sedc"]
    n_low = int(((of_sedc["dataset"] == "steps") & (of_sedc["predicted"] == 1)).sum())
    # SEDC's mode of the switch is one of its two values: it reaches that class, and of the steps the low ones.
    n_switched = int(((of_sedc["dataset"] == "switch") & (of_sedc["status"] == "found")).sum())
    assert 0 < n_switched < 30
    coverage = table.loc["Coverage (%)"].astype(float)
    assert coverage["NICE (spars)"] == 100.0
    assert coverage["SEDC"] == pytest.approx(100 * (n_low + n_switched) / 60)
    # Both change one feature, so they tie at rank 1 wherever SEDC finds something; where not, it has rank 2.
    assert float(table.loc["Spars. rank", "NICE (spars)"]) == 1.0
    assert float(table.loc["Spars. rank", "SEDC"]) == pytest.approx(2 - (n_low + n_switched) / 60)
    page = (tmp_path / "report" / "report.html").read_text()
    assert "<svg" in page
    assert "src=" not in page.replace('src="data:', "")  # nothing is fetched
    text = (tmp_path / "report" / "report.md").read_text()
    assert "All versions of NICE have 100 % coverage" in text
    for figure in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (tmp_path / "report" / figure).is_file()


def test_sedc_reaches_the_class_of_the_mean_and_no_other(tables, finished):
    problem = run.prepared(run.load(tables / "steps.csv"), plan_of(tables))
    mean = problem.X_train[:, 0].mean()
    assert mean > 5
    sedc = finished.records().query("dataset == 'steps' and method == 'sedc'")
    # Sorted, "high" is 0 and "low" is 1: only the low ones get to the mean, which is high.
    assert (sedc.loc[sedc["predicted"] == 0, "status"] == "not found").all()
    assert sedc.loc[sedc["predicted"] == 0, "reason"].notna().all()
    assert sedc.loc[sedc["predicted"] == 0, "l1_range"].isna().all()
    low = sedc[sedc["predicted"] == 1]
    assert (low["status"] == "found").all()
    assert low["l1_range"].to_numpy() == pytest.approx((mean - 0.5) / 20)


def test_what_is_kept_beside_the_records(finished):
    kept = finished.datasets().set_index("dataset")
    assert kept.loc["switch", ["n_rows", "n_features", "n_categorical", "n_numerical"]].tolist() == [N_ROWS, 13, 13, 0]
    assert kept.loc["steps", ["n_training", "n_test"]].tolist() == [1200, 300]
    assert (finished.models()["auc"] == 1.0).all()
    cells = finished.cells()
    assert (cells["status"] == "done").all()
    assert (cells["model_calls"] >= 1).all()
    records = finished.records()
    assert records.groupby(["dataset", "model", "method"])["seconds_alone"].count().unique().tolist() == [2]
    assert (records["seconds"] > 0).all()
    about = finished.about()
    assert (about["seed"], about["rows"], about["profile"]) == (0, 30, "quick")
    assert about["versions"]["scikit-learn"]
    assert "forests of 20 trees" in about["grid"]  # as the fixture has it
    assert "forests of 100 trees" in QUICK.words


@pytest.mark.deep
def test_the_records_do_not_depend_on_the_number_of_processes_or_the_order(tables, networks, tmp_path):
    outcome = run.run(plan_of(tables, "steps", "switch", models=("ann",)), tmp_path / "two", jobs=2)
    assert outcome == run.Outcome(4, 4, {})
    assert untimed(Store.open(tmp_path / "two")) == untimed(networks)


@pytest.mark.deep
def test_a_run_adds_what_is_missing_and_leaves_the_rest(tables, finished, tmp_path, monkeypatch):
    run.run(plan_of(tables, "switch", methods=("sedc",), models=("rf",)), tmp_path)
    before = Store.open(tmp_path).records()
    searched = []
    monkeypatch.setattr(models, "_best", lambda *arguments: searched.append(arguments))
    monkeypatch.setattr(run, "_trained", _counting(run._trained, trained := []))
    plan = plan_of(tables, "switch", models=("rf",))
    run.run(plan, tmp_path)
    assert not searched  # the parameters were known
    assert len(trained) == 1
    now = Store.open(tmp_path).records()
    pd.testing.assert_frame_equal(now[now["method"] == "sedc"].reset_index(drop=True), before)
    run.run(plan, tmp_path)
    assert len(trained) == 1  # nothing was left to do
    same = finished.records().query("dataset == 'switch' and model == 'rf'").reset_index(drop=True)
    left_out = [*TIMINGS, "valid_for_other"]  # there is no other model here
    pd.testing.assert_frame_equal(now.drop(columns=left_out), same.drop(columns=left_out))


def _counting(function, calls):
    def counted(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return counted


def command(tables: Path, folder: Path, *more: str) -> list[str]:
    """The run that left ``networks``."""
    paths = [str(tables / "switch.csv"), str(tables / "steps.csv")]
    options = ["--methods", "nice-spars", "sedc", "--models", "ann", "--rows", "30", "--alone", "2"]
    start = [sys.executable, "-m", "nicecf.cli", "benchmark", "run"]
    return [*start, "--out", str(folder), "--datasets", *paths, *options, *more]


@pytest.mark.parametrize("jobs", [*deep("1"), "2"])
@pytest.mark.deep
def test_killed_and_started_again_it_ends_with_the_same_bytes(tables, networks, tmp_path, jobs):
    folder = tmp_path / "results"
    process = subprocess.Popen(command(tables, folder, "--jobs", jobs))
    while process.poll() is None:
        if (folder / store.FILE).exists() and _n_cells(folder) >= 1:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.02)
    assert process.wait() == -signal.SIGKILL
    assert 1 <= _n_cells(folder) < 4
    subprocess.run(command(tables, folder, "--jobs", jobs), check=True, stdout=subprocess.DEVNULL)
    assert untimed(Store.open(folder)) == untimed(networks)


def _n_cells(folder: Path) -> int:
    try:
        return len(Store.open(folder).finished())
    except ExperimentError:  # the tables are not there yet
        return 0


@pytest.mark.deep
def test_a_second_run_in_the_same_folder_is_turned_away(tables, tmp_path, capsys):
    with Store.create(tmp_path).alone():
        second = subprocess.run(command(tables, tmp_path), capture_output=True, text=True)
    assert second.returncode == 1
    assert (
        second.stderr == f"nicecf: another run is at work in {tmp_path}. Wait for it to end, or pass another folder.\n"
    )
    with Store.create(tmp_path).alone():  # the first has let go of it
        pass


@pytest.mark.deep
def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path):
    results = Store.create(tmp_path)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_cells, args=(tmp_path, model)) for model in ("a", "b", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(results.records()) == 3 * 25 * 20
    with sqlite3.connect(tmp_path / store.FILE) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.deep
def test_a_full_disk_loses_nothing_of_before(tables, tmp_path, monkeypatch):
    one = plan_of(tables, "switch", methods=("sedc",), models=("rf",))
    run.run(one, tmp_path)
    before = untimed(Store.open(tmp_path))
    connect = Store._connect

    def to_a_full_disk(self):
        connection = connect(self)
        n_pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {n_pages}")
        return connection

    monkeypatch.setattr(Store, "_connect", to_a_full_disk)
    with pytest.raises(ExperimentError, match=r"full\. What was written before is safe; make room .* run the same"):
        run.run(plan_of(tables, methods=("sedc", "wit"), models=("rf",)), tmp_path)
    monkeypatch.undo()
    assert set(before.splitlines()) <= set(untimed(Store.open(tmp_path)).splitlines())
    assert run.run(plan_of(tables, models=("rf",)), tmp_path).n_done == 4  # room was made: it goes on


@pytest.mark.deep
def test_a_cell_that_fails_is_kept_with_its_error_and_stops_no_other(tables, finished, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no luck today")

    monkeypatch.setitem(methods.METHODS, "wit", broken)
    plan = plan_of(tables, methods=("wit", "sedc"), models=("rf",))
    outcome = run.run(plan, tmp_path)
    assert outcome.n_done == 2
    assert outcome.failures["steps rf wit"] == "RuntimeError: no luck today"
    assert len(outcome.failures) == 2
    monkeypatch.undo()
    assert run.run(plan, tmp_path) == run.Outcome(4, 4, {})  # tried again


@pytest.mark.deep
def test_a_dataset_that_fails_is_kept_with_its_error_and_stops_no_other(tables, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,target\n" + "1.5,1\n2.5,1\n" * 300)
    plan = Plan(datasets=(str(bad), str(tables / "switch.csv")), models=("rf",), methods=("sedc",), rows=20, alone=0)
    outcome = run.run(plan, tmp_path / "results")
    assert outcome.n_done == 1
    assert outcome.failures == {"bad": outcome.failures["bad"]}
    assert "bad has 1 class(es) in 'target', but exactly two are needed: 1 (600 rows)" in outcome.failures["bad"]
    assert Store.open(tmp_path / "results").records()["dataset"].unique().tolist() == ["switch"]
    bad.write_text("a,target\n" + "1.5,1\n2.5,0\n" * 300)
    assert run.run(plan, tmp_path / "results") == run.Outcome(2, 2, {})


@pytest.mark.deep
def test_what_is_known_of_a_dataset_outlives_its_failure(tables, tmp_path):
    plan = plan_of(tables, "switch", methods=("sedc",), models=("rf",))
    run.run(plan, tmp_path)
    results = Store.open(tmp_path)
    results.write_failure("switch", "the disk was unplugged")
    results.write_failure("steps", "there is no file")
    kept = results.datasets().set_index("dataset")
    assert (kept.loc["switch", "n_rows"], kept.loc["switch", "error"]) == (N_ROWS, "the disk was unplugged")
    assert kept.loc["steps", "error"] == "there is no file"


def test_a_cell_that_is_done_is_not_replaced(tmp_path):
    results = Store.create(tmp_path)
    cell = {"dataset": "d", "model": "rf", "method": "wit", "status": "done"}
    record = {"dataset": "d", "model": "rf", "method": "wit", "row": 0, "status": "found"}
    results.write_cell(cell | {"status": "failed"}, [])
    results.write_cell(cell, [record])
    results.write_cell(cell | {"status": "failed"}, [])  # by a process whose run was killed
    assert results.cells()["status"].tolist() == ["done"]
    assert len(results.records()) == 1


@pytest.mark.deep
def test_another_table_of_the_same_name_is_not_mixed_in(tables, tmp_path):
    own = tmp_path / "switch.csv"
    frame = pd.read_csv(tables / "switch.csv")
    frame.to_csv(own, index=False)
    plan = Plan(datasets=(str(own),), methods=("wit",), models=("rf",), rows=20, alone=0)
    assert run.run(plan, tmp_path / "results") == run.Outcome(1, 1, {})
    frame.assign(target=1 - frame["target"]).to_csv(own, index=False)
    more = Plan(datasets=(str(own),), methods=("wit", "sedc"), models=("rf",), rows=20, alone=0)
    for again in (plan, more):
        with pytest.raises(SchemaError, match=r"switch\.csv is not the table that the results of switch in"):
            run.run(again, tmp_path / "results")
    assert Store.open(tmp_path / "results").cells()["method"].tolist() == ["wit"]
    assert Store.open(tmp_path / "results").datasets()["error"].isna().all()


@pytest.mark.parametrize("name", ["a?x", *deep("a%41b", "a#1", "plain")])
def test_killed_in_the_middle_of_writing_the_results_are_as_before(tmp_path, name):
    folder = tmp_path / name
    results = Store.create(folder)
    write_cells(folder, "a")
    before = untimed(results)
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=die_while_writing, args=(folder,))
    writer.start()
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    assert (folder / f"{store.FILE}-journal").exists()
    assert untimed(Store.open(folder)) == before
    assert "half" not in Store.create(folder).about()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_process_that_dies_takes_only_its_dataset_along(tmp_path):
    results = Store.create(tmp_path)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    sender.close()
    processes._hear(results, "adult", -9, receiver)
    assert results.datasets()["error"].tolist() == [
        "its process ended with signal 9 (out of memory?); the cells before are kept"
    ]
    receiver, sender = multiprocessing.Pipe(duplex=False)
    sender.send("the disk is full")
    with pytest.raises(ExperimentError, match="the disk is full"):
        processes._hear(results, "adult", 0, receiver)


def test_nothing_to_report(tmp_path, capsys):
    Store.create(tmp_path)
    assert cli.main(["benchmark", "report", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"nicecf: nothing to report: no cell is done in {tmp_path}")
    assert cli.main(["benchmark", "report", str(tmp_path / "elsewhere")]) == 1
    assert "holds no results: there is no file results.sqlite" in capsys.readouterr().err


@pytest.mark.deep
def test_what_does_not_apply_is_said_and_not_counted_as_not_found(tables, tmp_path):
    outcome = run.run(plan_of(tables, methods=("growing-spheres",), models=("rf",)), tmp_path)
    assert outcome == run.Outcome(2, 2, {})
    cells = Store.open(tmp_path).cells().set_index("dataset")
    assert cells.loc["switch", "status"] == "does not apply"
    assert cells.loc["switch", "error"] == "it takes numbers alone, and 13 features are categorical"
    records = Store.open(tmp_path).records()
    assert records["dataset"].unique().tolist() == ["steps"]
    assert records["valid_for_other"].isna().all()  # there is no other model


class Never:
    """A method whose time is always up."""

    def __init__(self, *_, **__):
        self.given = []

    def get_params(self, deep):
        return {"seconds_per_row": None}

    def set_params(self, **options):
        self.options = options
        return self


def test_cbr_is_that_of_the_papers_experiments():
    cbr = methods.make("cbr", lambda X: X, categorical=[], seed=0, time_limit=None)
    assert (cbr.partner, cbr.neighbors, cbr.tolerance, cbr.max_differences) == ("fewest_differences", None, 0.2, 2)


def test_a_method_is_given_the_seed_and_the_time_limit_where_it_takes_them(monkeypatch):
    monkeypatch.setitem(methods.METHODS, "never", Never)
    assert methods.make("never", None, categorical=[], seed=3, time_limit=2.0).options == {"seconds_per_row": 2.0}
    assert methods.make("never", None, categorical=[], seed=3, time_limit=None).options == {}
    pytest.importorskip("dice_ml", reason="dice-ml is not installed: pip install 'nicecf[dice]'")
    # Without one it may look for ever.
    assert methods.make("paper-geco", None, categorical=[], seed=3, time_limit=None).seconds_per_row == 60
    geco = methods.make("geco", None, categorical=[1], seed=3, time_limit=None)
    assert (geco.random_state, geco.categorical_features) == (3, [1])


@pytest.mark.deep
def test_rows_that_run_out_of_time_are_counted_as_such(tables, tmp_path):
    # So short that the search cannot even begin, and a method that has nothing to hand out then.
    run.run(plan_of(tables, "steps", methods=("geco",), models=("rf",), time_limit=1e-9, alone=0), tmp_path)
    records = Store.open(tmp_path).records()
    assert set(records["status"]) == {"time limit"}
    assert records["reason"].str.startswith("time_budget was used up").all()
    assert "dice_out_of_time" in OUT_OF_TIME  # what test_dice sees


@pytest.mark.deep
def test_a_search_that_is_cut_short_is_found_and_says_so(tables, tmp_path):
    plan = plan_of(tables, "steps", methods=("nice-thorough",), models=("rf",), time_limit=1e-9, alone=1)
    run.run(plan, tmp_path)
    records = Store.open(tmp_path).records()
    assert (records["status"] == "found").all()
    assert records["note"].notna().all()
    alone = records["seconds_alone"].dropna()
    assert (len(alone), alone.iloc[0] > 1e-9) == (1, True)  # timed without the limit
    assert cli.main(["benchmark", "report", str(tmp_path)]) == 0
    outcomes = pd.read_csv(tmp_path / "report" / "tables" / "outcomes.csv", index_col=0)
    assert outcomes.loc["NICE (thorough)", ["RF: found", "RF: cut short"]].tolist() == [0, 30]


@pytest.mark.deep
def test_several_counterfactuals_are_scored_by_the_best_in_each_measure(tables):
    plan = plan_of(tables)
    problem = run.prepared(run.load(tables / "steps.csv"), plan)
    model, _ = models.train("rf", problem.X_train, problem.y_train, [], profile="quick", seed=0)
    reference = run.metrics.Reference.of(problem.X_train, problem.y_train)
    nice = run.methods.make("nice-thorough", model, categorical=[], seed=0, time_limit=None)
    cfs = nice.fit(problem.X_train, problem.y_train).explain(problem.rows).pareto()
    several = cfs[np.repeat(np.arange(len(cfs)), 2)]
    alone = np.full(30, np.nan)
    records = run._records(several, problem.rows, model, None, reference, 0.0, alone)
    assert [record["l1_range"] for record in records] == [
        record["l1_range"] for record in run._records(cfs, problem.rows, model, None, reference, 0.0, alone)
    ]
    assert len(records) == 30


@pytest.mark.parametrize("method", ["dice", "paper-geco"])
@pytest.mark.deep
def test_of_three_counterfactuals_of_dice_ml_the_best_in_each_measure_counts(tables, method):
    pytest.importorskip("dice_ml", reason="dice-ml is not installed: pip install 'nicecf[dice]'")
    plan = plan_of(tables, rows=8, methods=(method,), alone=0)
    problem = run.prepared(run.load(tables / "steps.csv"), plan)
    model, _ = models.train("rf", problem.X_train, problem.y_train, [], profile="quick", seed=0)
    reference = run.metrics.Reference.of(problem.X_train, problem.y_train)
    _, records = run.run_cell(problem, method, model, None, reference, plan)
    explainer = methods.make(method, model, categorical=[], seed=plan.seed, time_limit=plan.time_limit)
    cfs = explainer.fit(problem.X_train, problem.y_train).explain(problem.rows)
    measured = cfs.metrics(reference, model=model).assign(row=cfs.rows)
    n_each = measured.groupby("row").size()
    assert len(records) == 8
    assert n_each.max() == 3
    best = measured.groupby("row")[["sparsity", "l1_range"]].min()
    assert (measured.groupby("row")["l1_range"].max() > best["l1_range"]).any()
    assert [record["sparsity"] for record in records] == best["sparsity"].tolist()
    assert [record["l1_range"] for record in records] == pytest.approx(best["l1_range"].tolist())


@pytest.mark.parametrize("method", ["dice", "paper-geco"])
def test_a_plan_says_what_to_install_for_dice_ml(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "dice_ml", None)
    with pytest.raises(ImportError, match=f"the method {method} needs dice-ml"):
        Plan(datasets=("monk2",), methods=(method,))


def test_what_the_paper_calls_geco_is_the_genetic_search_of_dice_ml():
    made = methods.make("paper-geco", None, categorical=[], seed=0, time_limit=7.0)
    assert (made.method, made.n_counterfactuals, made.seconds_per_row) == ("genetic", 3, 7.0)
    assert pretty("paper-geco") == "GeCo (of the paper)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"methods": ("nice-sparse",)},
            "methods names 'nice-sparse', which is not known; .* Did you mean 'nice-spars'",
        ),
        ({"models": ("forest",)}, "models names 'forest', which is not known; choose from 'rf', 'ann'"),
        ({"methods": ()}, "methods names nothing; choose from"),
        ({"methods": ("wit", "wit")}, "methods names one twice"),
        ({"datasets": ()}, "datasets names nothing to run on"),
        ({"datasets": ("monk2", "monk22")}, "dataset 'monk22' is not known; .* Did you mean 'monk2'"),
        ({"datasets": ("GAMETES1", "GAMETES_Epistasis_2_Way_20atts_0.1H_EDM_1_1")}, "datasets names one twice"),
        ({"profile": "fast"}, "profile='fast' is not known; choose one of 'paper', 'quick'"),
        ({"rows": 0}, "rows must be a whole number of at least 1"),
        ({"seed": -1}, "random_state must be an integer"),
        ({"time_limit": 0}, "time_limit must be a number of seconds above 0"),
        ({"label": "y"}, "label='y' is for datasets that are files"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_before_anything_is_run(options, message):
    with pytest.raises(OptionError, match=message):
        Plan(**({"datasets": ("monk2",)} | options))


def test_a_file_with_the_name_of_a_dataset_of_the_paper_is_not_taken_for_it(tmp_path):
    path = tmp_path / "adult.csv"
    path.write_text("a,target\n1,2\n")
    with pytest.raises(OptionError, match=r"adult\.csv' has the name of a dataset of the paper .* Rename the file"):
        Plan(datasets=(str(path),))


def test_other_settings_need_another_folder(tables, finished):
    with pytest.raises(OptionError, match="holds a run with seed=0, but this one has seed=1"):
        run.run(plan_of(tables, seed=1), finished.folder)
    with pytest.raises(OptionError, match=r"holds a run with models=\['ann', 'rf'\], but this one has models=\['rf'\]"):
        run.run(plan_of(tables, models=("rf",)), finished.folder)
    assert finished.about()["seed"] == 0


@pytest.mark.deep
def test_settings_of_a_run_that_came_to_nothing_do_not_stick(tables, tmp_path):
    assert run.run(plan_of(tables, "steps", rows=400, models=("rf",)), tmp_path).n_done == 0
    assert run.run(plan_of(tables, "steps", methods=("wit",), models=("rf",)), tmp_path) == run.Outcome(1, 1, {})


def test_a_lock_that_is_none(tables, tmp_path):
    Store.create(tmp_path)
    (tmp_path / "running.sqlite").write_bytes(b"nonsense" * 600)
    with pytest.raises(
        ExperimentError, match=r"running\.sqlite, which keeps a second run out, cannot be used: .* Delete"
    ):
        run.run(plan_of(tables), tmp_path)


def test_a_folder_with_other_things_in_it_is_left_alone(tables, tmp_path):
    (tmp_path / "thesis.docx").write_text("my only copy")
    with pytest.raises(
        ExperimentError, match=r"is not empty and holds no results of nicecf \('thesis\.docx' is there\)"
    ):
        run.run(plan_of(tables), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


@pytest.mark.parametrize(
    ("content", "message"), [(b"", None), (b"not a database" * 100, "is damaged, or not a file of results")]
)
def test_a_file_of_results_that_is_none(tmp_path, content, message):
    (tmp_path / store.FILE).write_bytes(content)
    if message is None:  # killed before the first table was made
        assert len(Store.create(tmp_path).records()) == 0
    else:
        with pytest.raises(ExperimentError, match=message):
            Store.create(tmp_path)


def test_a_file_of_another_program_or_another_format_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / store.FILE) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    with pytest.raises(ExperimentError, match="SQLite file of another program: nothing was written"):
        Store.create(tmp_path)
    results = Store.create(tmp_path / "new")
    with sqlite3.connect(results.folder / store.FILE) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ExperimentError, match="has format 99, and this nicecf knows format"):
        Store.open(results.folder)


def test_a_folder_that_cannot_be_written_to(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ExperimentError, match=r"results cannot be kept in .*file.*Pass another folder"):
        Store.create(blocked / "results")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ExperimentError, match="may not be written to"):
        Store.create(tmp_path)


def test_results_that_are_not_there(tmp_path):
    with pytest.raises(ExperimentError, match="holds no results: there is no file results.sqlite"):
        Store.open(tmp_path)


def test_more_rows_than_the_test_set_has(tables):
    dataset = run.load(tables / "steps.csv")
    with pytest.raises(SchemaError, match=r"steps has 1,500 rows, of which 300 are for testing: fewer than the 301"):
        run.prepared(dataset, plan_of(tables, rows=301))
    small = Dataset("small", dataset.X.head(50), dataset.y[:50], [], dataset.labels)
    assert len(run.prepared(small, plan_of(tables, rows=25)).rows) == 25
    lonely = Dataset("lonely", dataset.X.head(50), np.arange(50) == 7, [], dataset.labels)
    with pytest.raises(SchemaError, match="lonely has only one row of a class"):
        run.prepared(lonely, plan_of(tables, rows=25))


def test_the_split_is_the_papers(tables):
    dataset = run.load(tables / "steps.csv")
    problem = run.prepared(dataset, plan_of(tables))
    assert (len(problem.y_train), len(problem.y_test), len(problem.rows)) == (1200, 300, 30)
    shares = [part.mean() for part in (problem.y_train, problem.y_test)]
    assert shares == pytest.approx([dataset.y.mean()] * 2, abs=0.002)
    half = Dataset("half", dataset.X.head(600), dataset.y[:600], [], dataset.labels)
    assert len(run.prepared(half, plan_of(tables)).y_test) == 200  # at least 200, a third of the table here
    other = run.prepared(dataset, plan_of(tables, seed=1))
    assert not np.array_equal(other.rows, problem.rows)


def test_text_and_missing_values_become_float_rows(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame(
        {"job": ["nurse", None, "baker"] * 40, "age": [30.5, 60.5, np.nan] * 40, "target": ["a", "b", "a"] * 40}
    ).to_csv(path, index=False)
    dataset = run.load(path)
    values = run.as_floats(dataset)
    np.testing.assert_array_equal(values[:3], [[1.0, 30.5], [np.nan, 60.5], [0.0, np.nan]])
    plan = Plan(datasets=(str(path),), methods=("nice-none", "nice-plaus"), rows=20, alone=0)
    assert run.run(plan, tmp_path / "results") == run.Outcome(4, 4, {})
    assert (Store.open(tmp_path / "results").records()["status"] == "found").all()


def test_the_encoder_is_that_of_scikit_learn():
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 4, 100), random.normal(size=100), random.normal(size=100)])
    X[3, 0] = X[5, 1] = np.nan
    others = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), [0]),
        (make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler((-1, 1))), [1, 2]),
    ).fit(X)
    ours = models.Encoder((0,)).fit(X)
    asked = X.copy()
    asked[0, 0] = 77.0  # never seen
    np.testing.assert_allclose(ours.transform(asked)[:, :-1], others.transform(asked), atol=1e-12)
    assert ours.transform(asked)[:, -1].tolist() == np.isnan(X[:, 1]).astype(float).tolist()


def test_the_grids_of_the_appendix():
    assert len(models.candidates("rf", "paper", 10)) == 5 * 6
    assert [one["hidden_layer_sizes"] for one in models.candidates("ann", "paper", 4)] == [[2], [3], [4], [5], [6]]
    assert len(models.candidates("rf", "quick", 10)) == 2


def test_the_grid_search_takes_the_best_by_auc(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = (np.sin(3 * X[:, 0]) * np.sin(3 * X[:, 1]) > 0).astype(int)  # a stump knows nothing of it
    stump, forest = {"n_estimators": 10, "max_depth": 1}, {"n_estimators": 10, "max_depth": None}
    monkeypatch.setattr(models, "candidates", lambda *_: [stump, forest])
    _, chosen = models.train("rf", X, y, [], profile="paper", seed=0)
    assert chosen == forest
    few = np.zeros(400, dtype=int)
    few[:3] = 1
    with pytest.raises(SchemaError, match="only 3 training rows, too few for 5-fold"):
        models.train("rf", X, few, [], profile="paper", seed=0)


def test_the_sample_of_the_quick_search_keeps_a_rare_class():
    y = np.zeros(10_000, dtype=int)
    y[:60] = 1
    sample = models._sample(y, 2_000, seed=0)
    assert len(sample) < 2_100
    assert y[sample].sum() == 50
    assert len(np.unique(sample)) == len(sample)


def test_the_command_line_runs_and_says_where_to_look(tables, tmp_path, capsys):
    arguments = ["--rows", "10", "--alone", "0", "--methods", "wit", "--models", "rf"]
    code = cli.main(["benchmark", "run", "--out", str(tmp_path), "--datasets", str(tables / "switch.csv"), *arguments])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert out == f"1 of 1 cells are done. For the report: nicecf benchmark report {tmp_path}\n"
    assert json.loads(json.dumps(Store.open(tmp_path).about()))["commands"][0].startswith("nicecf benchmark run --out")


def test_the_command_line_says_what_is_wrong_in_one_line(tables, tmp_path, capsys):
    misspelt = ["benchmark", "run", "--out", str(tmp_path), "--methods", "witt", "--datasets", "monk1"]
    assert cli.main(misspelt) == 2
    assert capsys.readouterr().err.startswith("nicecf: methods names 'witt', which is not known;")
    too_many = ["--rows", "400", "--methods", "wit", "--datasets", str(tables / "steps.csv")]
    assert cli.main(["benchmark", "run", "--out", str(tmp_path / "a"), *too_many]) == 1
    out, err = capsys.readouterr()
    assert out == "0 of 2 cells are done.\n"
    assert err == (
        "nicecf: failed: steps: SchemaError: steps has 1,500 rows, of which 300 are for testing: fewer than the 400 that are "
        "to be explained. Ask for at most 300 (--rows).\n"
    )
