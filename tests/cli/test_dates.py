"""The command line on tables with dates: Parquet knows them, CSV is told by --dates."""

import datetime as dt
import json

import pandas as pd
import pytest

import moments
from nicecf import cli
from nicecf.exceptions import FileError, OptionError
from nicecf.tables import files
from nicecf.tables.schema import Schema

MODULE = """
import sys
sys.path.insert(0, {tests!r})
from moments import approve as predict_proba
"""
EXPLAIN = ["explain", "loans.nice", "new.csv", "--model", "loans_model:predict_proba"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    X, y = moments.loans(150)
    table = X.assign(decision=y)
    table.to_parquet(tmp_path / "train.parquet")
    table.to_csv(tmp_path / "train.csv", index=False)
    new = X[y == 0].head(8).assign(late=X["late"].dt.strftime("%Y-%m-%d"))
    new.to_csv(tmp_path / "new.csv", index=False)
    new.assign(opened=new["opened"].astype(str), waited=new["waited"].astype(str)).to_json(
        tmp_path / "new.jsonl", orient="records", lines=True
    )
    X[y == 0].head(8).reset_index(drop=True).to_parquet(tmp_path / "new.parquet")
    (tmp_path / "loans_model.py").write_text(MODULE.format(tests=str(moments.__file__).rpartition("/")[0]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def fit(train, *more):
    return cli.main(
        ["fit", "--train", train, "--label", "decision", "--model", "loans_model:predict_proba", "--classes", "0,1",
         "--out", "loans.nice", *more]
    )  # fmt: skip


def test_what_parquet_has_as_dates_is_read_so_from_every_file(here, capsys):
    assert fit("train.parquet") == 0
    answers = []
    for rows in ("new.csv", "new.jsonl", "new.parquet"):
        assert cli.main([*EXPLAIN[:2], rows, *EXPLAIN[3:], "--out", "out.parquet"]) == 0
        answers.append(pd.read_parquet("out.parquet"))
        assert pd.api.types.is_datetime64_any_dtype(answers[-1]["opened"])
        assert answers[-1].equals(answers[0])
    for out in ("out.csv", "out.jsonl"):
        assert cli.main([*EXPLAIN, "--out", out]) == 0
    table = pd.read_csv("out.csv", parse_dates=["opened"])
    assert table["opened"].equals(answers[0]["opened"].astype(table["opened"].dtype))
    first = json.loads((here / "out.jsonl").read_text().splitlines()[0])
    assert dt.date.fromisoformat(first["opened"])
    assert "instead of" in first["text"]


def test_dates_of_csv_are_named_and_text_that_looks_like_dates_is_told(here, capsys):
    csv = pd.read_csv("train.csv").drop(columns="waited").assign(waited=0)
    csv.to_csv("train.csv", index=False)
    assert cli.main(["rules", "train.csv", "--label", "decision"]) == 0
    assert "Read as text, though every cell is a date: 'opened', 'late'." in capsys.readouterr().err
    assert cli.main(["rules", "train.csv", "--label", "decision", "--dates", "opened,late"]) == 0
    printed = capsys.readouterr()
    assert "though every cell is a date" not in printed.err
    assert "opened <= late" in printed.out
    table = files.read("train.csv", dates=["opened", "late"])
    assert str(table["opened"].dtype) == "datetime64[us]"
    assert table["opened"].equals(pd.read_parquet("train.parquet")["opened"].astype("datetime64[us]"))
    assert table["late"].isna().any()


def test_dates_with_an_offset_are_in_utc(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n2024-01-01T00:00+01:00,1\n,2\n2024-01-01T00:00Z,3\n")
    table = files.read(tmp_path / "t.csv", dates=["a"])
    assert str(table["a"].dtype) == "datetime64[us, UTC]"
    assert table["a"].iloc[0] == pd.Timestamp("2023-12-31 23:00", tz="UTC")


def test_what_is_no_date_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n2024-01-01,1\nsoon,2\n")
    with pytest.raises(FileError, match=r"t.csv, line 3: column 'a' holds 'soon', which cannot be read as a date"):
        files.read(tmp_path / "t.csv", dates=["a"])
    with pytest.raises(OptionError, match="dates names 'c', but .* has the columns 'a', 'b'"):
        files.read(tmp_path / "t.csv", dates=["c"])
    assert files.look_like_dates(pd.DataFrame({"a": ["20240101"], "b": ["2024-01-01"], "c": [1], "d": ["x"]})) == ["b"]


@pytest.mark.parametrize(
    ("name", "cell", "match"),
    [
        (
            "datetime64[us]",
            "soon",
            "line 2: column 'when' holds 'soon', but held dates with times when fit saw it; write",
        ),
        ("object dates", "2024-01-01 10:00", "which has a time, but held dates alone when fit saw it"),
        ("timedelta64[s]", "3", "held durations when fit saw it; write a duration"),
        ("datetime64[us]", "2024-01-01T00:00Z", "its column has no time zone"),
    ],
)
def test_cells_that_cannot_be_what_training_had_are_refused(name, cell, match, tmp_path):
    (tmp_path / "rows.csv").write_text(f"when\n{cell}\n")
    schema, _ = Schema.of(pd.DataFrame({"when": moments.PANDAS[name]}))
    with pytest.raises(FileError, match=match):
        files.like(files.read_cells(tmp_path / "rows.csv"), schema.columns)


@pytest.mark.parametrize("name", moments.PANDAS)
def test_a_written_table_is_read_as_it_was(name, tmp_path):
    X = pd.DataFrame({"when": moments.PANDAS[name], "n": [1, 2, 3, 4]})
    schema, _ = Schema.of(X)
    for ending in ("csv", "jsonl", "parquet"):
        files.write(X, tmp_path / f"t.{ending}")
        again = files.like(files.read_cells(tmp_path / f"t.{ending}"), schema.columns)
        pd.testing.assert_frame_equal(again, X)


@pytest.mark.parametrize("name", moments.POLARS)
def test_rows_of_a_file_for_an_explainer_of_polars_frames(name, tmp_path):
    X = moments.tables()[f"polars {name}"]
    schema, values = Schema.of(X)
    files.write(X.to_pandas(), tmp_path / "t.parquet")
    rows = files.like(files.read_cells(tmp_path / "t.parquet"), schema.columns)
    assert [schema.columns[0].temporal.value(number) for number in values[:, 0]] == [
        None if pd.isna(cell) else cell for cell in rows["when"]]  # fmt: skip
