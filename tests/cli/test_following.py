"""The command line and tables in which columns follow from others: rules in a file, from fit to replay."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from following import RATIO, Lender, households, ratio
from nicecf import NICE, Constraints, cli
from nicecf.cli.codes import DONE, INCOMPLETE, MISUSED
from nicecf.explain import saving

pytest.importorskip("pyarrow")

RULES = f"""
groups = "auto"
relations = ["debt <= income"]
may_become_missing = false

[derived]
ratio = "{RATIO}"
"""
FIT = ["fit", "--train", "train.csv", "--label", "decision", "--model", "model.joblib", "--trust-pickle"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table, a model of it and rules, as the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    X = households(160)
    y = Lender().predict(X)
    X[:120].assign(decision=y[:120]).to_csv("train.csv", index=False)
    X[120:].to_csv("new.csv", index=False)
    inputs = make_column_transformer(
        (OneHotEncoder(), ["level_name"]), (StandardScaler(), make_column_selector(dtype_include="number"))
    )
    joblib.dump(make_pipeline(inputs, LogisticRegression()).fit(X[:120], y[:120]), "model.joblib")
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


@pytest.fixture
def run(here, capsys):
    def run_command(*arguments):
        capsys.readouterr()
        code = cli.main(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


def explain(explainer, rows, *more):
    return ["explain", explainer, rows, "--trust-pickle", "--out", "out.csv", *more]


@pytest.mark.deep
def test_from_rules_to_a_replay(run):
    code, out, err = run(*FIT, "--rules", "rules.toml", "--out", "a.nice")
    assert code == DONE, err
    assert "120 rows, 10 features: 9 numbers and 1 category" in out
    code, out, err = run(*explain("a.nice", "new.csv", "--records", "records.jsonl"))
    assert code == DONE, err
    found = pd.read_csv("out.csv")
    assert np.allclose(ratio(found), found["ratio"])
    assert np.allclose(found["dollars"], found["income"] * 1.25)
    # What follows is neither counted nor named.
    assert f"{found['n_changes'][found['n_changes'] > 0].mean():.1f} on average" in " ".join(out.split())
    told = out[out.index("changes") : out.index("written")]
    assert "ratio" not in told
    assert "dollars" not in told
    code, out, err = run("replay", "records.jsonl", "--trust-pickle")
    assert (code, out) == (DONE, "All 40 records are the same.\n"), err


def test_rows_that_could_not_exist_say_so_and_are_replayed(run):
    run(*FIT, "--rules", "rules.toml", "--out", "a.nice")
    odd = pd.read_csv("new.csv").iloc[:3]
    odd.loc[0, "ratio"] = 9.0
    odd.loc[1, "dollars"] = 1.5
    odd.to_csv("odd.csv", index=False)
    code, _, _ = run(*explain("a.nice", "odd.csv", "--records", "records.jsonl"))
    assert code == INCOMPLETE
    reasons = pd.read_csv("out.csv")["reason"].tolist()
    assert reasons[0].startswith("the row contradicts itself: 'ratio' is 9, but")
    assert reasons[1].startswith("the row contradicts itself: 'dollars' is 1.5, but")
    code, out, err = run("replay", "records.jsonl", "--trust-pickle")
    assert (code, out) == (DONE, "All 3 records are the same.\n"), err


@pytest.mark.deep
def test_the_same_rules_may_be_given_again_with_more(run, here):
    run(*FIT, "--rules", "rules.toml", "--out", "a.nice")
    (here / "more.toml").write_text(RULES.replace("groups", "max_changes = 2\ngroups"))
    code, _, err = run(*explain("a.nice", "new.csv", "--rules", "more.toml", "--n", "2", "--records", "records.jsonl"))
    assert code in (DONE, INCOMPLETE), err
    assert pd.read_csv("out.csv")["n_changes"].max() <= 2
    record = json.loads((here / "records.jsonl").read_text().splitlines()[0])
    assert record["call"]["constraints"]["derived"] == {"ratio": RATIO}
    code, _, err = run("replay", "records.jsonl", "--trust-pickle")
    assert code == DONE, err
    (here / "other.toml").write_text(RULES.replace("12", "13"))
    code, _, err = run(*explain("a.nice", "new.csv", "--rules", "other.toml"))
    assert (code, err.count("\n")) == (MISUSED, 1)
    assert "'ratio' is derived in two ways" in err


def test_a_derived_column_may_be_in_a_sheet(run, here):
    pd.DataFrame({"feature": ["ratio", "age"], "derived": [RATIO, ""], "immutable": ["", "yes"]}).to_csv(
        "rules.csv", index=False
    )
    code, _, err = run(*FIT, "--rules", "rules.csv", "--out", "a.nice")
    assert code == DONE, err
    assert NICE.load("a.nice", model=joblib.load("model.joblib"))._fitted.schema.names[:4] == [
        *("income", "debt", "age", "home_own"),
    ]


def test_a_rule_that_does_not_hold_is_one_line(run, here):
    (here / "rules.toml").write_text(RULES.replace("12", "13"))
    code, out, err = run(*FIT, "--rules", "rules.toml", "--out", "a.nice")
    assert (code, out, err.count("\n")) == (MISUSED, "", 1)
    assert "'ratio' does not follow from 'round(debt * 13 / income, 2)'" in err
    assert not (here / "a.nice").exists()


def test_an_explainer_with_a_function_is_not_for_the_command_line(run, here):
    table = pd.read_csv("train.csv")
    X, y = table.drop(columns="decision"), table["decision"]
    model = joblib.load("model.joblib")
    nice = NICE(model, constraints=Constraints(derived={"ratio": ratio})).fit(X, y)
    saving.save(nice, "a.nice", notes={"model": {"given": "model.joblib"}})
    code, out, err = run(*explain("a.nice", "new.csv"))
    assert (code, out, err.count("\n")) == (MISUSED, "", 1)
    assert "was saved with the function 'ratio' for the derived column 'ratio', which a file cannot hold" in err
