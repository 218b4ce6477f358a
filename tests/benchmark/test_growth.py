"""What an explanation takes as tables grow: sizes, what is kept, and what is not measured twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nicecf import cli
from nicecf.benchmark import growth, models
from nicecf.benchmark.datasets import Dataset
from nicecf.benchmark.store import Store
from nicecf.exceptions import SchemaError


def table(name: str, n_rows: int, n_features: int) -> Dataset:
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(n_rows, n_features)), columns=[f"x{j}" for j in range(n_features)])
    return Dataset(name, X, (X["x0"] + X["x1"] > 0).to_numpy(dtype=np.intp), [], (0, 1))


@pytest.fixture
def small(monkeypatch):
    """Small tables in place of the real ones, and forests of few trees alone."""
    monkeypatch.setattr(growth, "load", lambda name, folder: table(name, 600, 16 if name == "clean2" else 4))
    monkeypatch.setattr(models, "MODELS", ("rf",))
    monkeypatch.setattr(growth, "_METHODS", ("nice-none", "nice-spars"))
    monkeypatch.setitem(growth._PARAMETERS, "rf", lambda n_inputs: {"n_estimators": 5, "max_depth": 3})


def test_every_size_is_measured_and_none_twice(small, tmp_path, monkeypatch):
    found = growth.measure(tmp_path, tables=("clean2", "adult"), rows=3, command="nicecf benchmark growth")
    assert Store.open(tmp_path).about()["commands"] == ["nicecf benchmark growth"]
    by_table = found[found["method"] == "nice-spars"].groupby("table")
    assert by_table.get_group("clean2")["n_features"].tolist() == [2, 4, 8, 16]
    assert by_table.get_group("clean2")["n_training"].unique().tolist() == [400]
    assert by_table.get_group("adult")["n_training"].tolist() == [50, 100, 200, 400]
    assert by_table.get_group("adult")["n_features"].unique().tolist() == [4]
    assert (found[["ms", "ms_in_batch"]] > 0).all(axis=None)
    monkeypatch.setattr(growth, "_timed", lambda *_: pytest.fail("it was measured before"))
    pd.testing.assert_frame_equal(growth.measure(tmp_path, tables=("clean2", "adult"), rows=3), found)


def test_the_model_does_not_grow_with_the_rows(small, monkeypatch):
    sizes = list(growth._sizes("adult", None, 3, 0))
    assert len({id(size.classifier) for size in sizes}) == 1
    sizes = list(growth._sizes("clean2", None, 3, 0))
    assert len({id(size.classifier) for size in sizes}) == 4


def test_covertype_is_pine_or_not(tmp_path):
    folder = tmp_path / "raw" / "covertype"
    folder.mkdir(parents=True)
    frame = pd.DataFrame(
        {"Elevation": np.arange(12) + 0.5, "Soil": "a", "Cover_Type": ["Aspen", "Lodgepole Pine", "Krummholz"] * 4}
    )
    frame.to_csv(folder / "covertype.csv.gz", index=False)
    dataset = growth.covertype(tmp_path)
    assert dataset.y.tolist() == [0, 1, 0] * 4
    assert dataset.categorical == ["Soil"]
    with pytest.raises(SchemaError, match=r"there is no file .*covertype\.csv\.gz\. .*--tables clean2 adult"):
        growth.covertype(tmp_path / "elsewhere")


def test_the_command_line_names_the_tables(capsys, tmp_path):
    assert cli.main(["benchmark", "growth", "--out", str(tmp_path), "--tables", "iris"]) == 2
    assert capsys.readouterr().err == "nicecf: --tables names 'iris'; choose from clean2, adult, covertype.\n"
