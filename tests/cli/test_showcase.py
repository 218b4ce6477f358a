"""The tables that come with the package, and the demo that runs on them."""

from __future__ import annotations

import gzip
import os
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nicecf import OptionError, SchemaError
from nicecf.benchmark.datasets import adult, loan_book, loan_rules
from nicecf.cli import showcase as demo

COLUMNS = ["sparsity", "proximity", "balanced", "paper"]
TWO_ADULTS = "age,workclass,fnlwgt,income\n39,Private,77516,<=50K\n50,?,83311,>50K\n"


@pytest.fixture(scope="module")
def book() -> tuple[pd.DataFrame, pd.Series]:
    return loan_book(10_000, seed=3)


@pytest.fixture(scope="module")
def printed() -> str:
    """What a small demo on the loan book prints, run once: it trains a forest and an autoencoder."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out:
        patch.delenv("NICECF_DATA", raising=False)
        demo.main(n_train=600, n_test=120)
    return out.getvalue()


def write_adult(folder: Path, text: str = TWO_ADULTS) -> Path:
    path = folder / "raw" / "adult" / "adult.csv.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(text.encode()))
    return folder


def test_the_loan_book_mixes_kinds_of_columns(book):
    X, y = book
    kinds = {
        "int": sum(dtype == np.int64 for dtype in X.dtypes),
        "float": sum(dtype == np.float64 for dtype in X.dtypes),
        "bool": sum(dtype == np.bool_ for dtype in X.dtypes),
        "nullable": sum(dtype == pd.Int64Dtype() for dtype in X.dtypes),
        "category": sum(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes),
    }
    kinds["text"] = sum(pd.api.types.infer_dtype(X[name].dropna()) == "string" for name in X)
    assert kinds == {"int": 9, "float": 5, "bool": 2, "nullable": 1, "category": 1, "text": 5}
    assert X.shape == (10_000, 23)
    assert y.name == "decision"
    assert set(y) == {"approved", "denied"}


def test_the_loan_book_has_gaps_in_text_and_numbers_only_where_meant(book):
    X, _ = book
    share = X.isna().mean()
    assert set(share[share > 0].index) == {"housing", "savings", "months_since_late"}
    assert 0.02 < share["housing"] < 0.06
    assert 0.05 < share["savings"] < 0.11


def test_loans_agree_with_themselves(book):
    X, _ = book
    never_late = X["months_since_late"].isna()
    assert (X.loc[never_late, "late_payments"] == 0).all()
    assert ((X["late_payments"] > 0) == X["months_since_late"].le(24).fillna(False)).all()
    assert (X["years_employed"] <= X["age"] - 15).all()
    assert (X.loc[X["employment"].isin(["unemployed", "retired", "student"]), "years_employed"] == 0).all()
    monthly = X["interest_rate"] / 1200
    instalment = X["loan_amount"] * monthly / (1 - (1 + monthly) ** -X["term_months"])
    np.testing.assert_allclose(X["debt_to_income"], 12 * (X["monthly_debt"] + instalment) / X["income"], atol=0.0051)
    assert (X["income"] % 100 == 0).all()
    assert (X["interest_rate"].round(2) == X["interest_rate"]).all()


def test_the_loan_book_keeps_its_own_rules(book):
    X, _ = book
    rules = loan_rules()
    np.testing.assert_array_equal(rules.derived["debt_to_income"](X), X["debt_to_income"])
    known = X.dropna(subset=["months_since_late"])
    assert (known["months_since_late"][known["late_payments"] >= 1] <= 24).all()
    assert (known["late_payments"] >= 1).any()


def test_columns_depend_on_each_other_as_in_a_bank(book):
    X, y = book
    income = X.groupby("education")["income"].median()
    assert income["primary"] < income["secondary"] < income["bachelor"] < income["master"]
    assert X["interest_rate"].corr(X["credit_score"]) < -0.6
    assert X["loan_amount"].corr(X["income"]) > 0.4
    score = X["credit_score"].groupby(y).mean()
    assert score["approved"] > score["denied"] + 30


@pytest.mark.parametrize("seed", range(5))
def test_a_quarter_or_so_is_denied(seed):
    assert 0.2 < (loan_book(4_000, seed=seed)[1] == "denied").mean() < 0.35


def test_a_seed_decides_everything():
    X, y = loan_book(300, seed=1)
    X_again, y_again = loan_book(300, seed=1)
    pd.testing.assert_frame_equal(X, X_again)
    pd.testing.assert_series_equal(y, y_again)
    X_other, y_other = loan_book(300, seed=2)
    assert all((X[name].astype(str) != X_other[name].astype(str)).any() for name in X)
    assert (y != y_other).any()


def test_a_loan_book_of_one_row_keeps_its_dtypes():
    assert (loan_book(1)[0].dtypes == loan_book(500)[0].dtypes).all()


def test_a_loan_book_needs_rows_and_a_seed():
    with pytest.raises(OptionError, match="n_rows=0 leaves no table; pass 1 or more"):
        loan_book(0)
    with pytest.raises(OptionError, match="seed=-1 is negative; pass an integer from 0"):
        loan_book(10, seed=-1)


def test_adult_is_split_into_features_and_label(tmp_path):
    X, y = adult(write_adult(tmp_path))
    assert list(X) == ["age", "workclass", "fnlwgt"]
    assert X["workclass"].tolist() == ["Private", "?"]
    assert y.name == "income"
    assert y.tolist() == ["<=50K", ">50K"]


def test_adult_says_where_it_looked(tmp_path):
    looked_for = re.escape(str(tmp_path / "raw" / "adult" / "adult.csv.gz"))
    with pytest.raises(SchemaError, match=rf"no file {looked_for}\. The folder must hold raw/adult/adult\.csv\.gz"):
        adult(str(tmp_path))


def test_adult_needs_its_label(tmp_path):
    with pytest.raises(SchemaError, match=r"has no column 'income'.*its columns are \['age', 'sex'\]"):
        adult(write_adult(tmp_path, "age,sex\n39,Male\n"))


@pytest.mark.skipif(not os.environ.get("NICECF_DATA"), reason="NICECF_DATA names no folder with the real tables")
def test_adult_as_published(monkeypatch, capsys):
    X, y = adult(os.environ["NICECF_DATA"])
    assert X.shape == (48_842, 14)
    assert (y == ">50K").mean() == pytest.approx(0.239, abs=5e-4)
    assert not X.isna().any(axis=None)
    demo.main(n_train=600, n_test=120)
    out = capsys.readouterr().out
    assert "UCI Adult" in out
    assert re.search(r"coverage +100\.0 % +100\.0 %\n", out)
    assert "fnlwgt" not in out


def test_the_demo_shows_four_answers_side_by_side_the_default_first(printed):
    lines = printed.splitlines()
    assert "a generated loan book (NICECF_DATA is not set)" in lines[0]
    start = lines.index(next(line for line in lines if line.startswith("feature")))
    assert lines[start].split() == ["feature", "row", *COLUMNS]
    assert re.search("^  sparsity +few changes: the default$", printed, flags=re.MULTILINE)
    body = lines[start + 2 : start + 25]
    assert sorted(line.split()[0] for line in body) == sorted(loan_book(1)[0])
    assert max(map(len, lines[start : start + 30])) <= 120
    assert "\033" not in printed


def test_the_demo_marks_what_changed_and_nothing_else(printed):
    lines = printed.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("feature")))
    width = lines[start].index("sparsity") - lines[start].index("row")
    places = [lines[start].index(name) for name in ["row", *COLUMNS]]
    marks = []
    for line in lines[start + 2 : start + 25]:
        cells = [line[place : place + width - 2].strip() for place in places]
        marks.append([line[place - 2 : place - 1] == "*" for place in places])
        follows = [line[place - 2 : place - 1] == "=" for place in places]
        assert line.startswith("debt_to_income") or not any(follows)
        assert [one or other for one, other in zip(marks[-1], follows, strict=True)] == [
            cell != cells[0] for cell in cells
        ], line
    footer = {line.split("  ")[0]: line for line in lines[start + 26 : start + 30]}
    assert list(footer) == ["predicted", "changes", "distance", "plausibility error"]
    assert np.sum(marks, axis=0).tolist() == [0, *map(int, footer["changes"].split()[1:])]
    assert footer["predicted"].count("denied") == 1
    assert footer["predicted"].count("approved") == 4
    n_changes, distances, errors = (
        [float(number) for number in re.findall(r"[\d.]+", footer[name])]
        for name in ["changes", "distance", "plausibility error"]
    )
    assert [len(n_changes), len(distances), len(errors)] == [4, 4, 5]
    fixed = {
        line.split()[0] for line, of_line in zip(lines[start + 2 : start + 25], marks, strict=True) if not any(of_line)
    }
    assert set(demo.BEYOND_APPLICANTS) <= fixed
    assert f"What a person cannot choose stays as it is: {', '.join(demo.BEYOND_APPLICANTS)}." in printed
    # A person for whom the answers differ, and each is the best at what it is for; changed features first.
    assert [min(n_changes), min(distances)] == [n_changes[0], distances[1]]
    assert n_changes[0] < n_changes[3]
    assert all(each[2] <= each[3] for each in (n_changes, distances, errors[1:]))  # balanced and the paper's
    assert len({tuple(column) for column in np.transpose(marks)[1:].tolist()}) >= 3


def test_the_demo_explains_the_whole_test_set(printed):
    assert re.search(r"^If [\w ]+ were .* the model would say approved instead of denied", printed, flags=re.M)
    assert "All 120 test rows" in printed
    assert re.search(r"^ +thorough \(the default\) +greedy \(the paper's\)$", printed, flags=re.MULTILINE)
    assert re.search(r"coverage +100\.0 % +100\.0 %\n", printed)
    for measure in ("changes", "distance"):
        ours, papers = re.search(rf"^  {measure} +([\d.]+) +([\d.]+)$", printed, flags=re.MULTILINE).groups()
        assert float(ours) < float(papers)
    # The forest learns something, and cannot learn everything.
    assert 0.75 < float(re.search(r"AUC (0\.\d+)", printed).group(1)) < 0.95
    assert re.search(r"speed( +[\d,]+ rows per second){2}\n", printed)


@pytest.mark.deep
def test_coverage_is_what_the_model_says_now(monkeypatch, capsys):
    monkeypatch.delenv("NICECF_DATA", raising=False)
    monkeypatch.setattr(demo.Counterfactuals, "to_frame", lambda cfs: cfs.batch.table)
    demo.main(n_train=600, n_test=120)
    assert re.search(r"coverage +0\.0 % +0\.0 %\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("no_color", "is_terminal", "in_colour"), [("", True, True), ("1", True, False), ("", False, False)]
)
def test_colour_is_for_terminals_that_want_it(monkeypatch, no_color, is_terminal, in_colour):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    assert ("\033" in demo._padded("5178", 20, "*")) == in_colour
    assert "* 5178" in demo._padded("5178", 20, "*")
    assert demo._padded("5178", 20, " ").split() == ["5178"]


def test_long_values_are_cut():
    assert demo._padded("Married-civ-spouse", 20, "*") == "  * Married-civ-spo…"
    assert demo._padded("home improvement", 20, " ") == "    home improvement"
