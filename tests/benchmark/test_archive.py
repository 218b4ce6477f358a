"""Finished tables as Parquet files: what a run leaves, and what another takes up."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nicecf import cli
from nicecf.benchmark import archive, models, run
from nicecf.benchmark.plan import Plan
from nicecf.benchmark.store import FILE, Store
from nicecf.exceptions import ExperimentError, OptionError

TABLES = ("records", "cells", "models", "datasets", "autoencoders")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)
    for name in ("one", "two"):
        numbers = random.normal(size=(500, 3)).round(3)
        label = (numbers[:, 0] + numbers[:, 1] + 0.5 * random.normal(size=500) > 0.3).astype(int)
        pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": numbers[:, 2], "target": label}).to_csv(
            folder / f"{name}.csv", index=False
        )
    return folder


def plan_of(data: Path, *names: str, **options) -> Plan:
    settings = {"methods": ("nice-none", "sedc"), "models": ("ann",), "rows": 20, "alone": 1} | options
    return Plan(datasets=tuple(str(data / f"{name}.csv") for name in names), **settings)


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "results"
    assert run.run(plan_of(data, "one", "two"), folder).failures == {}
    return folder


@pytest.fixture
def copied(finished, tmp_path) -> Path:
    """What a repository holds of a run: the files of its tables, and no database."""
    shutil.copytree(finished / archive.FOLDER, tmp_path / "copied" / archive.FOLDER)
    return tmp_path / "copied"


def test_the_files_hold_all_that_the_store_does(finished, copied):
    assert sorted(path.name for path in (copied / archive.FOLDER).iterdir()) == ["one.parquet", "two.parquet"]
    before, after = Store.open(finished), archive.opened(copied)
    for table in TABLES:
        pd.testing.assert_frame_equal(getattr(before, table)(), getattr(after, table)())
    assert after.about() == before.about()


def test_a_run_takes_up_from_the_files_and_does_nothing_twice(data, copied, monkeypatch):
    asked = []
    run_cell = run.run_cell
    monkeypatch.setattr(
        run, "run_cell", lambda problem, method, *rest: asked.append(method) or run_cell(problem, method, *rest)
    )
    assert run.run(plan_of(data, "one", "two", methods=("nice-none", "sedc", "wit")), copied).failures == {}
    assert asked == ["wit", "wit"]
    assert set(pd.read_parquet(copied / archive.FOLDER / "one.parquet")["method"]) == {"nice-none", "sedc", "wit"}


def test_a_table_is_a_file_only_when_all_of_it_is_done(data, tmp_path, monkeypatch):
    run_cell = run.run_cell

    def fails_for_sedc(problem, method, *rest):
        if method == "sedc":
            raise RuntimeError("no")
        return run_cell(problem, method, *rest)

    monkeypatch.setattr(run, "run_cell", fails_for_sedc)
    assert run.run(plan_of(data, "one"), tmp_path / "r").n_done == 1
    assert not (tmp_path / "r" / archive.FOLDER).exists()


def test_files_that_come_later_are_taken_up_as_well(finished, copied, data):
    """As after a pull: a table more, and one with more methods."""
    whole = Store.open(finished).records()
    later = copied / archive.FOLDER / "two.parquet"
    kept = later.read_bytes()
    later.unlink()
    assert set(archive.opened(copied).records()["dataset"]) == {"one"}
    later.write_bytes(kept)
    pd.testing.assert_frame_equal(archive.opened(copied).records(), whole)
    with closing(sqlite3.connect(copied / FILE)) as connection, connection:
        for table in ("cells", "records"):
            connection.execute(f"DELETE FROM {table} WHERE method = 'sedc' AND dataset = 'one'")
    pd.testing.assert_frame_equal(archive.opened(copied).records(), whole)


def test_a_file_of_other_classifiers_than_the_store_is_refused(copied):
    archive.opened(copied)
    with closing(sqlite3.connect(copied / FILE)) as connection, connection:
        connection.execute("DELETE FROM cells WHERE method = 'sedc'")
        connection.execute("UPDATE models SET outputs = 'others'")
    with pytest.raises(ExperimentError, match=r"one\.parquet is of another ann than the results in .*results\.sqlite"):
        archive.opened(copied)


def test_a_report_beside_the_files_is_no_obstacle(copied):
    (copied / "report").mkdir()
    assert len(archive.opened(copied).records())


@pytest.mark.deep
def test_a_file_that_could_not_be_written_is_written_by_the_next_run(data, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(archive.os, "replace", full)
        with pytest.raises(ExperimentError, match=r"one\.parquet cannot be written: No space left on device"):
            run.run(plan_of(data, "one"), tmp_path / "r")
    assert run.run(plan_of(data, "one"), tmp_path / "r") == run.Outcome(2, 2, {})
    assert (tmp_path / "r" / archive.FOLDER / "one.parquet").is_file()


def test_all_machines_and_versions_are_told(data, copied, monkeypatch):
    store = archive.opened(copied)
    store.tell(machine="an abacus", versions={"numpy": "0.1"})
    run.run(plan_of(data, "one", "two"), copied)  # nothing to do
    assert store.about()["machine"] == "an abacus"
    run.run(plan_of(data, "one", methods=("wit",)), copied)
    assert store.about()["machine"].startswith("an abacus; ")
    assert store.about()["versions"]["numpy"] == f"0.1; {np.__version__}"


@pytest.mark.deep
def test_files_of_another_run_are_not_mixed_in(data, copied, tmp_path):
    with pytest.raises(OptionError, match="holds a run with seed=0, but this one has seed=1"):
        run.run(plan_of(data, "one", seed=1), copied)
    other = tmp_path / "other"
    run.run(plan_of(data, "two", seed=1), other)
    shutil.copy(other / archive.FOLDER / "two.parquet", copied / archive.FOLDER / "two.parquet")
    (copied / FILE).unlink()
    with pytest.raises(ExperimentError, match=r"two\.parquet is of a run with seed=1, .* with seed=0"):
        archive.opened(copied)


@pytest.mark.parametrize("content", [b"", b"PAR1 no", None])
def test_a_file_that_is_none_of_ours(copied, content):
    path = copied / archive.FOLDER / "one.parquet"
    if content is None:
        pd.DataFrame({"a": [1]}).to_parquet(path)
    else:
        path.write_bytes(content)
    with pytest.raises(ExperimentError, match=r"one\.parquet (cannot be read|holds no results)"):
        archive.opened(copied)


def test_a_network_that_was_trained_to_something_else_is_not_taken_for_the_first(data, copied, monkeypatch):
    """As on another processor, where rounding differs."""
    archive.opened(copied)
    train = models.train

    def otherwise(*arguments, seed, **options):
        return train(*arguments, seed=seed + 1, **options)

    monkeypatch.setattr(models, "train", otherwise)
    outcome = run.run(plan_of(data, "one", methods=("nice-none", "sedc", "wit")), copied)
    assert "is not the one that the results so far are of" in outcome.failures["one"]
    assert outcome.n_done == 2


def test_parameters_of_another_run_are_taken_in_place_of_a_search(data, copied, tmp_path, monkeypatch):
    with closing(sqlite3.connect(archive.opened(copied).folder / FILE)) as connection, connection:
        connection.execute("""UPDATE models SET parameters = '{"hidden_layer_sizes": [3]}' WHERE dataset = 'one'""")
    run.run(plan_of(data, "one", seed=1, tuned=str(copied)), tmp_path / "second")
    known = Store.open(tmp_path / "second").models()
    assert known["parameters"].tolist() == ['{"hidden_layer_sizes": [3]}']


@pytest.mark.deep
def test_a_classifier_without_results_is_replaced(data, tmp_path):
    store = Store.create(tmp_path / "r")
    known = {"parameters": '{"hidden_layer_sizes": [3]}', "auc": 0.123, "fit_seconds": 0.0, "outputs": "others"}
    store.write("models", {"dataset": "one", "model": "ann", **known})
    for methods in (("nice-none",), ("nice-none", "wit")):
        assert run.run(plan_of(data, "one", methods=methods), tmp_path / "r").failures == {}
    assert store.models()["auc"].tolist() != [0.123]


def test_parameters_of_another_grid_are_refused(data, copied, tmp_path):
    with pytest.raises(OptionError, match="is a run with profile='quick', but this one has profile='paper'"):
        run.run(plan_of(data, "one", seed=1, profile="paper", tuned=str(copied)), tmp_path / "second")
    run.run(plan_of(data, "one", seed=1, tuned=str(copied)), tmp_path / "third")
    about = Store.open(tmp_path / "third").about()
    assert about["tuned_by_seed"] == 0
    assert about["grid"].endswith("; searched in another split, whose parameters were taken")


def test_a_report_can_be_made_of_the_files_alone(copied, tmp_path, capsys):
    assert cli.main(["benchmark", "report", str(copied), "--out", str(tmp_path / "report")]) == 0
    assert "one" in (tmp_path / "report" / "report.md").read_text()
