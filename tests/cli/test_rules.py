"""``nicecf rules``: a training table in, a rules file out, and nothing else on standard output."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nicecf import cli, suggest_rules

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Run:
    """Run a command in a folder with a table: the exit code, and what was printed to stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    table().to_csv("train.csv", index=False)

    def run_command(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(["rules", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


@pytest.fixture
def refused(run, tmp_path) -> Callable[..., str]:
    """Run a command that must fail: with an exit code, one line on stderr, nothing on stdout and no new file."""

    def run_command(*arguments: str, code: int = 1) -> str:
        before = sorted(tmp_path.iterdir())
        found, out, err = run(*arguments)
        assert (found, out) == (code, ""), err
        assert err.startswith("nicecf: ")
        assert err.count("\n") == 1
        assert sorted(tmp_path.iterdir()) == before
        return err

    return run_command


def table(n: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"Geschlecht": random.choice(["männlich", "weiblich"], n), "loan": 50 * random.integers(1, 90, n)})
    X["tenure"] = random.integers(0, 30, n)
    X["zip"] = random.integers(0, 90, n)
    X["decision"] = random.choice(["approved", "denied"], n)
    return X


def test_the_rules_go_to_standard_output_and_the_rest_to_standard_error(run):
    code, out, err = run("train.csv", "--label", "decision")
    assert code == 0
    assert tomllib.loads(out) == {"protected": ["Geschlecht"], "increasing": [], "step": {"loan": 50}}
    assert out == str(suggest_rules(table().drop(columns="decision")))
    assert err == ("2 rules, and commented out 1 guess: read and edit them.\nNext: nicecf fit --rules rules.toml ...\n")


def test_the_rules_go_to_a_file(run):
    assert run("train.csv", "--label", "decision", "--out", "my rules.toml")[:2] == (0, "")
    written = Path("my rules.toml").read_text("utf-8")
    assert written == run("train.csv", "--label", "decision")[1]
    assert run("train.csv", "--out", "my rules.toml")[2].endswith("Next: nicecf fit --rules 'my rules.toml' ...\n")


def test_tables_are_read_as_fit_reads_them(run):
    text = run("train.csv", "--ignore", "Geschlecht,loan", "--text", "zip", "--categorical", "zip,decision")[1]
    assert tomllib.loads(text) == {"increasing": []}
    table().to_csv("train.txt", index=False, sep="\t")
    assert run("train.txt", "--format", "tsv", "--label", "decision")[1] == run("train.csv", "--label", "decision")[1]
    pytest.importorskip("pyarrow")
    table().to_parquet("train.parquet")
    assert run("train.parquet", "--label", "decision")[1] == run("train.csv", "--label", "decision")[1]


def test_a_column_that_is_the_label_is_told(run):
    table().assign(code=lambda X: X["decision"].str[:1]).to_csv("train.csv", index=False)
    code, out, err = run("train.csv", "--label", "decision")
    assert code == 0
    assert "# 'code' looks like the label" in out
    assert "Beware: 'code' looks like the label: it goes one to one with it in all 300 rows." in err


def test_standard_input_is_read_and_output_is_utf_8_whatever_the_encoding(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "nicecf", "rules", "-", "--label", "decision"],
        input=table().rename(columns={"loan": "höhe"}).to_csv(index=False).encode(),
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(done.stdout.decode("utf-8"))["step"] == {"höhe": 50}


def test_names_cannot_control_the_terminal_and_stay_exact(run):
    table().rename(columns={"loan": "\x1b[2Jloan\u202e"}).to_csv("train.csv", index=False)
    out = run("train.csv")[1]
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert tomllib.loads(out)["step"] == {"\x1b[2Jloan\u202e": 50}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train.cvs"], 1, "train.cvs"),
        (["trains.csv"], 1, "there is no file trains.csv. Did you mean 'train.csv'?"),
        (["train.csv", "--label", "decisions"], 1, "has no column 'decisions', which --label names"),
        (["train.csv", "--ignore", "x"], 1, "has no column 'x', which --ignore names"),
        (["train.csv", "--label", "decision", "--ignore", "decision"], 1, "is the label column; it cannot be ignored"),
        (["train.csv", "--out", "train.csv"], 2, "--out train.csv would overwrite an input file. Use another name."),
        (["train.csv", "--out", "no/rules.toml"], 1, "there is no folder no. Make it first"),
        (["train.csv", "--categorical", "zipp"], 2, "'zipp'"),
        (["train.csv", "--format", "xls"], 2, "'xls' is not known; choose one of"),
        (["train.csv", "--drop", "x"], 2, "unrecognized arguments: --drop x"),
        ([], 2, "the following arguments are required: TABLE"),
    ],
)
def test_what_is_wrong_is_one_line(refused, arguments, code, message):
    assert message in refused(*arguments, code=code)


def test_rows_without_a_label_are_told(run, refused):
    table().assign(decision=lambda X: X["decision"].where(X.index > 2)).to_csv("train.csv", index=False)
    Path("other.csv").write_text(Path("train.csv").read_text())
    assert "has 3 rows without a label in 'decision'; remove them." in refused("other.csv", "--label", "decision")
