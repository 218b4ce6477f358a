"""Proofs on the command line: asked for, told, kept in tables and records, and refused where the solver is missing."""

import json
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from nicecf import cli
from nicecf.cli.codes import DONE, FAILED, INCOMPLETE, MISUSED

pytest.importorskip("ortools", reason="proofs need the extra 'exact'")

FIT = ("fit", "--train", "train.csv", "--label", "y", "--model", "m.joblib", "--trust-pickle", "--out", "e.nice")
EXPLAIN = ("explain", "e.nice", "rows.csv", "--trust-pickle", "--out", "out.csv")
BETTER = "Proven: no other counterfactual with values of training rows is better."


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with a table and a model: the exit code, and what was printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.integers(0, 6, (120, 3)) + 0.5, columns=["income", "debt", "years"])
    y = np.where(X.income - X.debt + random.normal(0, 1, 120) > 0, "yes", "no")
    joblib.dump(GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y), "m.joblib")
    X.assign(y=y).to_csv("train.csv", index=False)
    X[:5].to_csv("rows.csv", index=False)

    def run_command(*arguments):
        capsys.readouterr()
        code = cli.main(list(arguments))
        return code, *capsys.readouterr()

    return run_command


@pytest.fixture
def fitted(run):
    code, out, err = run(*FIT, "--optimize", "proximity", "--search", "exact")
    assert code == DONE, err
    assert "proximity, exact search" in out
    return run


def test_proofs_are_told_written_and_shown(fitted):
    code, out, err = fitted(*EXPLAIN, "--time-budget", "60")
    assert (code, err) == (DONE, "")
    assert "  proven       5 are the nearest possible\n" in out
    table = pd.read_csv("out.csv")
    assert table.proof.tolist() == ["optimal"] * 5
    assert table.gap.tolist() == [0.0] * 5
    assert fitted("show", "out.csv", "0")[1].endswith(f"\n\n{BETTER}\n")
    assert "Bewiesen: Keine andere kontrafaktische Erklärung" in fitted("show", "out.csv", "0", "--language", "de")[1]
    assert "Proven" not in fitted("show", "out.csv", "0", "--style", "letter")[1]


def test_that_there_is_none_is_told_once(fitted):
    code, out, _ = fitted(*EXPLAIN, "--immutable", "income,debt", "--language", "de", "--target", "yes")
    assert code == INCOMPLETE
    assert "gibt es keine" in out
    table = pd.read_csv("out.csv")
    at = table.index[table.proof == "infeasible"][0]
    assert np.isnan(table.gap[at])
    assert fitted("show", "out.csv", str(at))[1].lower().count("bewiesen") == 1
    german = fitted("show", "out.csv", str(at), "--language", "de")[1]
    assert german.endswith("\n\nBewiesen: Aus Werten von Trainingszeilen gibt es keine kontrafaktische Erklärung.\n")


def test_a_search_can_be_asked_for_in_explain_and_others_tell_nothing(run):
    run(*FIT)
    out = run(*EXPLAIN)[1]
    assert "proven" not in out
    out = run(*EXPLAIN, "--search", "exact")[1]
    assert "  proven       5 have the fewest changes possible\n" in out


def test_without_time_nothing_is_proven_and_that_is_told(fitted):
    _, out, _ = fitted(*EXPLAIN, "--time-budget", "1e-9")
    assert "  proven       nothing about 5\n" in out
    table = pd.read_csv("out.csv")
    assert not table.proof.isin(["optimal"]).any()
    assert "Proven:" not in fitted("show", "out.csv", "0")[1]


@pytest.mark.parametrize("search", ["exact", "greedy"])
def test_help_names_the_search_and_what_it_needs(run, search):
    for command in ("fit", "explain"):
        text = " ".join(run(command, "--help")[1].split())
        assert search in text[text.index("--search HOW ") :], command
    assert "pip install 'nicecf[exact]'" in " ".join(run("fit", "--help")[1].split())


def test_a_missing_solver_is_one_line_with_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools", None)
    code, out, err = fitted(*EXPLAIN)
    assert (code, out) == (FAILED, "")
    assert err.startswith("nicecf: search='exact' needs ortools, which is not installed. Install it with: pip install")
    assert err.count("\n") == 1
    assert not Path("out.csv").exists()


def test_gaps_are_written_and_read_with_a_decimal_comma(fitted):
    """Whatever the search proves: the file is made of one that it wrote."""
    pd.read_csv("rows.csv").to_csv("rows.csv", index=False, sep=";", decimal=",")
    assert fitted(*EXPLAIN)[0] == DONE
    table = pd.read_csv("out.csv", sep=";", decimal=",").assign(proof="bound", gap=0.1201)
    table.to_csv("out.csv", index=False, sep=";", decimal=",")
    assert ";bound;0,1201;" in Path("out.csv").read_text()
    code, out, err = fitted("show", "out.csv", "0")
    assert code == DONE, err
    assert out.endswith("Not proven to be the best: another counterfactual could be up to 13 % better.\n")


def test_records_hold_proofs_and_boxes_and_replay(fitted):
    assert fitted(*EXPLAIN, "--records", "r.jsonl", "--boxes")[0] == DONE
    records = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
    assert [one["proof"]["status"] for one in records] == ["optimal"] * 5
    assert all({"low", "high"} <= set(one["boxes"][0]) for one in records)
    code, out, _ = fitted("replay", "r.jsonl", "--trust-pickle")
    assert (code, out) == (DONE, "All 5 records are the same.\n")
    fitted(*EXPLAIN, "--records", "r.jsonl")
    assert "boxes" not in json.loads(Path("r.jsonl").read_text().splitlines()[0])


def test_boxes_need_records_and_folders_have_neither_boxes_nor_regions(fitted):
    assert fitted(*EXPLAIN, "--boxes") == (MISUSED, "", "nicecf: --boxes is for records: add --records FILE.\n")
    Path("rows").mkdir()
    for option in ("--boxes", "--regions"):
        code, _, err = fitted("explain", "e.nice", "rows", "--out", "answers/", option, "--trust-pickle")
        assert code == MISUSED
        assert f"{option} is for results in one file" in err


def test_regions_are_worded_where_they_are_asked_for(fitted):
    fitted(*EXPLAIN)
    plain = pd.read_csv("out.csv").text
    assert not plain.str.contains("at least|at most").any()
    fitted(*EXPLAIN, "--regions", "--report", "r.html")
    text = pd.read_csv("out.csv").text
    assert text.str.contains("were at least|were at most|were between").all()
    assert text[0].replace(" %", "\N{NO-BREAK SPACE}%") in Path("r.html").read_text("utf-8")
    shown = " ".join(fitted("show", "out.csv", "0")[1].split())
    assert text[0] in shown
    fitted(*EXPLAIN, "--regions", "--language", "de")
    assert pd.read_csv("out.csv").text.str.contains("mindestens|höchstens|zwischen").all()
    Path("w.toml").write_text('[names]\nincome = "the income"\n')
    fitted(*EXPLAIN, "--regions", "--wording", "w.toml")
    worded = pd.read_csv("out.csv").text
    assert worded.str.contains("the income were (?:at least|at most|between)").any()
