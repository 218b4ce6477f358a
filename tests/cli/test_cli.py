"""The command line: from a model file to explanations and back, and one clear line wherever something is wrong."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from markers import deep
from nicecf import NICE, Constraints, cli
from nicecf.benchmark.datasets import loan_book
from nicecf.cli import showcase as demo
from nicecf.explain import saving

pytest.importorskip("pyarrow")

OWN_MODULE = """
import time
import numpy as np

def model(X):
    p = 1 / (1 + np.exp(-(X["credit_score"].to_numpy(float) - 640) / 30))
    return np.column_stack([p, 1 - p])

def slow(X):
    if len(X) < 500:
        time.sleep(30)
    return model(X)

def talking(X):
    print("asked")
    return model(X)

def broken(X):
    raise ValueError("two\\nlines")

class Lazy:
    @property
    def classes_(self):
        raise RuntimeError("two\\nlines")

    def predict_proba(self, X):
        return model(X)

lazy = Lazy()
number = 3
"""

NEW = slice(611, 623)  # the rows of new.csv: four of them are denied


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with tables, models and an explainer, made once."""
    folder = tmp_path_factory.mktemp("made")
    X, y = loan_book(700, seed=2)
    new = X[NEW].reset_index(drop=True)
    new.insert(0, "customer", [f"c{number:03}" for number in range(len(new))])
    X[:600].assign(decision=y[:600]).to_parquet(folder / "train.parquet")
    X[:600].assign(decision=y[:600]).to_csv(folder / "train.csv", index=False)
    new.to_csv(folder / "new.csv", index=False)
    by_kind = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(by_kind, LogisticRegression(max_iter=1_000)).fit(X[:600], y[:600])
    joblib.dump(model, folder / "model.joblib")
    (folder / "nicecf_own.py").write_text(OWN_MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        fit = ["fit", "--train", "train.parquet", "--label", "decision", "--model", "model.joblib", "--trust-pickle"]
        assert cli.main([*fit, "--out", "credit.nice"]) == 0
        # Of another name than what the tests write: these files are there for every one of them.
        assert cli.main([*EXPLAIN[:6], "explained.csv", "--trust-pickle"]) == 0
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch) -> Path:
    """A copy of that folder, as the current one."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "nicecf_own", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(here, capsys) -> Run:
    """Run a command: the exit code, and what was printed to stdout and stderr."""

    def run_command(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


@pytest.fixture
def refused(run, here) -> Callable[..., str]:
    """Run a command that must fail: with an exit code, one line on stderr, nothing on stdout and no new file."""

    def run_command(*arguments: str, code: int = 1) -> str:
        before = sorted(here.iterdir())
        found, out, err = run(*arguments)
        assert (found, out) == (code, ""), err
        assert err.startswith("nicecf: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert [one for one in sorted(here.iterdir()) if one.name != "__pycache__"] == before
        return err

    return run_command


FIT = ("fit", "--train", "train.parquet", "--label", "decision", "--out", "own.nice")
OWN = ("--model", "nicecf_own:model")
EXPLAIN = ("explain", "credit.nice", "new.csv", "--id", "customer", "--out", "out.csv", "--trust-pickle")


class TestHelp:
    @pytest.mark.parametrize(
        "command", [[], ["fit"], ["explain"], ["show"], ["replay"], ["demo"], ["benchmark", "run"]]
    )
    def test_help_is_printed_and_fits_a_terminal(self, run, command):
        code, out, err = run(*command, "--help")
        assert (code, err) == (0, "")
        assert out.startswith("usage: nicecf")
        assert max(map(len, out.splitlines())) <= 90

    def test_help_does_not_wait_for_anything_heavy(self):
        code = (
            "import sys\nfrom nicecf.cli import main\ncode = main(['explain', '--help'])\n"
            "print(code, sorted({name.partition('.')[0] for name in sys.modules} & {'numpy', 'pandas', 'sklearn', 'scipy'}))"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ran.stdout.splitlines()[-1] == "0 []"

    @pytest.mark.parametrize("module", ["nicecf", "nicecf.cli"])
    def test_it_runs_as_a_module_and_tells_its_version(self, module):
        from importlib.metadata import version

        ran = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
        assert ran.stdout == f"nicecf {version('nicecf')}\n"

    def test_a_command_that_is_not_known_is_one_line(self, refused):
        assert "invalid choice: 'frobnicate'" in refused("frobnicate", code=2)
        assert "required: command" in refused(code=2)
        assert "required: EXPLAINER, TABLE, --out. See: nicecf explain --help" in refused("explain", code=2)
        assert "unrecognized arguments: --immut age" in refused(*EXPLAIN, "--immut", "age", code=2)
        assert "--n: invalid int value: 'x'" in refused(*EXPLAIN, "--n", "x", code=2)


class TestTheWholeWay:
    def test_from_a_skops_file_to_a_replay(self, run, here, monkeypatch):
        pytest.importorskip("skops.io").dump(joblib.load("model.joblib"), "model.skops")
        code, out, err = run(*FIT[:-1], "safe.nice", "--model", "model.skops", "--immutable", "region,channel")
        assert (code, err) == (0, "")
        assert out.startswith("safe.nice is ready.\n")
        assert "600 rows, 23 features: 15 numbers and 8 categories" in out
        assert "immutable region channel" in out
        assert max(map(len, out.splitlines())) <= 80

        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("new.csv").read_bytes())))
        ask = ("explain", "safe.nice", "-", "--id", "customer", "--target", "approved")
        code, out, err = run(*ask, "--out", "out.parquet", "--report", "report.html", "--records", "records.jsonl")
        assert (code, err) == (0, "")
        assert out.startswith("12 rows, 12 with a counterfactual; for ")
        assert "out.parquet, report.html, records.jsonl" in out
        assert "</html>" in Path("report.html").read_text()

        table = pd.read_parquet("out.parquet")
        X = pd.read_csv("new.csv")
        assert table["row"].tolist() == X["customer"].tolist()
        changed = table[table["n_changes"] > 0]
        assert len(changed) >= 3
        assert (changed["decision"] == "denied").all()
        assert (table["decision_after"] == "approved").all()
        model = joblib.load("model.joblib")
        features = table[list(model.feature_names_in_)]
        assert (model.predict(features.astype({"region": "category"})) == "approved").all()
        assert (features["region"].astype(str) == X["region"]).all()

        label = str(changed["row"].iloc[0])
        code, out, _ = run("show", "out.parquet", label)
        assert code == 0
        assert " ".join(str(changed["text"].iloc[0]).split()) in " ".join(out.split())
        assert f"Row {label}: denied (" in out
        assert "P(approved)" in out

        records = Path("records.jsonl").read_text().splitlines()
        assert len(records) == 12
        Path("records.jsonl").write_text("\n".join(records[:8]))
        code, out, err = run("replay", "records.jsonl")
        assert (code, out, err) == (0, "All 8 records are the same.\n", "")

    def test_results_go_to_standard_output_and_talk_to_stderr(self, run):
        run(*FIT, *OWN)
        ask = ("explain", "own.nice", "new.csv", "--model", "nicecf_own:talking", "--id", "customer", "--out", "-")
        code, out, err = run(*ask, "--out-format", "jsonl")
        assert code == 0
        lines = [json.loads(line) for line in out.splitlines()]
        assert len(lines) == 12
        assert all(line["found"] for line in lines)
        assert "asked" in err  # what the model prints must not get among the results
        assert "12 rows, 12 with a counterfactual" in err

    @pytest.mark.parametrize("ending", ["csv", "tsv.gz", "jsonl", "parquet", "arrow"])
    def test_explanations_are_shown_from_every_kind_of_file(self, run, ending):
        code, _, _ = run(*EXPLAIN[:-2], f"out.{ending}", "--trust-pickle")
        assert code == 0
        code, listed, _ = run("show", f"out.{ending}")
        assert code == 0
        assert "12 rows, 12 with a counterfactual" in listed
        assert "... and 2 more" in listed
        assert max(map(len, listed.splitlines())) <= 80
        assert run("show", f"out.{ending}", "4")[1] == run("show", f"out.{ending}", "c004")[1]

    def test_the_same_rows_give_the_same_answers_from_every_kind_of_file(self, run, here):
        new = pd.read_csv("new.csv")
        new.to_parquet("new.parquet")
        new.to_json("new.jsonl", orient="records", lines=True, double_precision=15)
        answers = []
        for name in ("new.csv", "new.parquet", "new.jsonl"):
            assert run("explain", "credit.nice", name, "--id", "customer", "--out", "o.csv", "--trust-pickle")[0] == 0
            answers.append(pd.read_csv("o.csv").drop(columns="changes"))
        # How many rows the model is asked about at once is for the clock to say, and with it the last digit.
        for other in answers[1:]:
            pd.testing.assert_frame_equal(other, answers[0], rtol=1e-9)

    def test_the_library_gives_the_same(self, run, here):
        run(*EXPLAIN, "--immutable", "region", "--increasing", "age,savings", "--max-changes", "4")
        X = pd.read_parquet("train.parquet")
        y = X.pop("decision")
        rows = loan_book(700, seed=2)[0][NEW]
        rules = Constraints(immutable=["region"], increasing=["age", "savings"], max_changes=4)
        cfs = NICE(joblib.load("model.joblib")).fit(X, y).explain(rows, constraints=rules)
        table = pd.read_csv("out.csv")
        assert table["found"].tolist() == cfs.found.tolist()
        assert table["text"].tolist() == cfs.texts()
        changes = [[one["feature"] for one in json.loads(line)] for line in table["changes"]]
        assert [sorted(line) for line in changes] == [sorted(str(c.feature) for c in one.changes) for one in cfs]

    def test_rows_without_a_counterfactual_are_told_by_the_exit_code(self, run):
        rules = "immutable = ['credit_score', 'interest_rate']\nmax_changes = 1\n"
        Path("rules.toml").write_text(rules)
        code, out, _ = run(*EXPLAIN, "--rules", "rules.toml")
        assert code == 3
        assert "no training row gives" in " ".join(out.split())
        table = pd.read_csv("out.csv")
        assert not table["found"].all()
        assert table.loc[~table["found"], "reason"].notna().all()
        assert table.loc[~table["found"], "age"].isna().all()
        assert "38.0" not in Path("out.csv").read_text()  # whole numbers stay whole
        label = str(table.loc[~table["found"], "row"].iloc[0])
        assert "no counterfactual" in run("show", "out.csv", label)[1]

    def test_rules_may_be_a_sheet(self, run):
        Path("rules.csv").write_text("feature,immutable,direction\ncredit_score,yes,\nage,,increasing\n")
        assert run(*EXPLAIN, "--rules", "rules.csv")[0] in (0, 3)
        assert not pd.read_csv("out.csv")["changes"].str.contains("credit_score").any()

    def test_several_counterfactuals_of_a_row(self, run):
        model = ("--model", "model.joblib", "--trust-pickle")
        assert run(*FIT, *model, "--seed", "1")[0] == 0
        Path("one.csv").write_text("\n".join(Path("new.csv").read_text().splitlines()[:2]))
        assert run("explain", "own.nice", "one.csv", *model, "--id", "customer", "--out", "o.csv", "--n", "2")[0] == 0
        assert pd.read_csv("o.csv")["counterfactual"].tolist() == [0, 1]
        assert "(2 of 2)" in run("show", "o.csv", "c000")[1]

    def test_a_style_and_a_wording_of_ones_own(self, run):
        Path("w.toml").write_text("[names]\ncredit_score = 'score of the bureau'\n[classes]\ndenied = 'no loan'\n")
        run(*FIT, *OWN)
        run(
            "explain",
            "own.nice",
            "new.csv",
            *OWN,
            "--id",
            "customer",
            "--out",
            "o.csv",
            "--wording",
            "w.toml",
            "--style",
            "bullets",
        )
        text = pd.read_csv("o.csv")["text"]
        assert text.str.contains("- score of the bureau: ").all()
        letter = run("show", "o.csv", "0", "--style", "letter", "--wording", "w.toml")[1]
        assert letter.startswith("One way to a different decision\n")
        assert "score of the bureau: " in letter
        assert "P(" not in letter

    def test_feature_names_that_are_taken_get_a_prefix(self, run):
        train = pd.DataFrame({"text": ["a", "b"] * 20, "row": range(40), "cf_row": 1.0, "label": ["n", "y"] * 20})
        train.to_csv("t.csv", index=False)
        Path("nicecf_own2.py").write_text(
            "import numpy as np\ndef model(X):\n    p = (X['text'] == 'b') * 0.8 + 0.1\n    return np.column_stack([1 - p, p])\n"
        )
        try:
            assert (
                run("fit", "--train", "t.csv", "--label", "label", "--model", "nicecf_own2:model", "--out", "t.nice")[0]
                == 0
            )
            code, _, err = run("explain", "t.nice", "t.csv", "--model", "nicecf_own2:model", "--out", "o.parquet")
            assert code == 0
            assert err == "nicecf: ignored, as in fit: label.\n"
        finally:
            sys.modules.pop("nicecf_own2", None)
        table = pd.read_parquet("o.parquet")
        assert list(table.columns[-3:]) == ["cf_text", "cf_row", "cf_cf_row"]
        assert table["cf_text"].tolist() == ["b", "a"] * 20

    def test_an_explainer_of_an_array_takes_columns_by_their_place(self, run):
        X = np.random.default_rng(0).normal(size=(60, 2))
        model = LogisticRegression().fit(X, X[:, 0] > 0)
        joblib.dump(model, "array.joblib")
        NICE(model).fit(X, X[:, 0] > 0).save("array.nice")
        pd.DataFrame({"who": ["p", "q"], "a": [1.0, -1.0], "b": [0.0, 0.5]}).to_csv("a.csv", index=False)
        ask = ("explain", "array.nice", "a.csv", "--model", "array.joblib", "--trust-pickle", "--out", "o.csv")
        assert run(*ask, "--ignore", "who", "--target", "True")[0] == 0
        assert pd.read_csv("o.csv")["decision_after"].tolist() == [True, True]
        assert "has 3 feature columns, but array.nice was fitted on an array with 2" in run(*ask)[2]

    def test_an_onnx_model_is_explained(self, run):
        pytest.importorskip("onnxruntime")
        skl2onnx = pytest.importorskip("skl2onnx")
        train = pd.read_parquet("train.parquet")[["age", "credit_score", "decision"]]
        train.to_csv("t.csv", index=False)
        X = train[["age", "credit_score"]].to_numpy(np.float32)
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, X[:, 1] > 640)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            Path("m.onnx").write_bytes(skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}).SerializeToString())
        train.assign(decision=X[:, 1] > 640).to_csv("t.csv", index=False)
        code, out, err = run("fit", "--train", "t.csv", "--label", "decision", "--model", "m.onnx", "--out", "o.nice")
        assert (code, err) == (0, "")
        assert "False " in out
        code, _, err = run("explain", "o.nice", "t.csv", "--out", "o.csv", "--target", "True")
        assert (code, err) == (0, "nicecf: ignored, as in fit: decision.\n")
        assert pd.read_csv("o.csv")["decision_after"].all()


class TestFit:
    def test_the_model_is_remembered_with_its_checksum(self, here):
        notes = saving.notes("credit.nice")
        assert notes["model"]["given"] == "model.joblib"
        assert len(notes["model"]["sha256"]) == 64
        assert notes["label"] == "decision"

    def test_options_reach_the_explainer(self, run):
        code, _, err = run(
            *FIT, *OWN, "--optimize", "proximity", "--decision", "denied=0.3", "--min-probability", "0.35",
            "--no-justified", "--min-count", "2", "--no-share-donor", "--categorical", "education,region,employment,housing,is_customer,purpose,has_guarantor,channel,dependents",
            "--classes", "approved,denied", "--seed", "7", "--search", "thorough", "--one-donor",
        )  # fmt: skip
        assert (code, err) == (0, "")
        from nicecf.models.files import load

        nice = NICE.load("own.nice", model=load("nicecf_own:model"))
        assert nice.decision == {"denied": 0.3}
        options = nice.get_params(deep=False)
        expected = {
            "optimize": "proximity",
            "min_probability": 0.35,
            "justified": False,
            "min_count": 2,
            "share_donor": False,
            "random_state": 7,
            "search": "thorough",
            "mix_donors": False,
        }
        assert {name: options[name] for name in expected} == expected
        assert nice._fitted.schema.is_categorical.sum() == 9

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ((), "sparsity, thorough search"),
            (("--optimize", "none"), "none, greedy search"),
            (("--search", "greedy"), "sparsity, greedy search"),
            (("--optimize", "balanced"), "balanced, thorough search"),
        ],
    )
    def test_the_search_is_thorough_unless_the_goal_compares_nothing(self, run, given, said):
        code, out, _ = run(*FIT, *OWN, *given)
        assert (code, f"seeks    {said}" in out) == (0, True)

    @pytest.mark.parametrize(
        ("given", "expected"), [("0.3", 0.3), ('{"denied": 0.25}', {"denied": 0.25}), ("predict", "predict")]
    )
    def test_decisions_are_given_in_several_ways(self, here, given, expected):
        from nicecf.cli.fit import _decision

        assert _decision(given, ["approved", "denied"]) == expected

    def test_labels_that_are_numbers_are_named_by_their_digits(self, run):
        train = pd.read_csv("train.csv").assign(decision=lambda X: (X["decision"] == "denied").astype(int))
        train.to_csv("t.csv", index=False)
        assert (
            run("fit", "--train", "t.csv", "--label", "decision", *OWN, "--out", "t.nice", "--decision", "1=0.4")[0]
            == 0
        )
        ask = ("explain", "t.nice", "new.csv", *OWN, "--id", "customer", "--out", "o.csv")
        assert run(*ask, "--target", "0")[0] == 0
        assert set(pd.read_csv("o.csv")["decision_after"]) == {0}
        assert (
            "--target names '2', which is not a class of the model; choose one of 0, 1" in run(*ask, "--target", "2")[2]
        )

    BAD: ClassVar = {
        "no label": (["fit", "--train", "train.csv", *OWN, "--out", "a.nice"], 2, "--label is missing"),
        "wrong label": ([*FIT[:4], "decisions", *FIT[5:], *OWN], 1, "has no column 'decisions', which --label names"),
        "wrong file": (["fit", "--train", "trains.csv", "--label", "decision", *OWN, "--out", "a.nice"], 1, "there is no file trains.csv. Did you mean 'train.csv'?"),
        "kind of file": (["fit", "--train", "train.xls", "--label", "decision", *OWN, "--out", "a.nice"], 1, "Save it as .xlsx"),
        "kind of model": ([*FIT, "--model", "model.h5"], 1, "'model.h5' is not a supported model"),
        "pickle": ([*FIT, "--model", "model.joblib"], 1, "add --trust-pickle"),
        "no model": ([*FIT, "--model", "nope.onnx"], 1, "there is no file nope.onnx"),
        "no object": ([*FIT, "--model", "nicecf_own:models"], 1, "Did you mean 'model'?"),
        "no function": ([*FIT, "--model", "nicecf_own:number"], 2, "model must be a fitted classifier"),
        "broken model": ([*FIT, "--model", "nicecf_own:broken"], 1, "the model raised ValueError when asked for"),
        "option": ([*FIT, *OWN, "--optimize", "sparcity"], 2, "Did you mean 'sparsity'?"),
        "cut-off": ([*FIT, *OWN, "--decision", "high"], 2, "--decision 'high' is not known; use a cut-off such as 0.3"),
        "class of cut-off": ([*FIT, *OWN, "--decision", "denid=0.3"], 2, "Did you mean 'denied'?"),
        "category": ([*FIT, *OWN, "--categorical", "regions"], 2, "Did you mean 'region'?"),
        "text": ([*FIT, *OWN, "--text", "regions"], 2, "Did you mean 'region'?"),
        "ignored": ([*FIT, *OWN, "--ignore", "agee"], 1, "has no column 'agee', which --ignore names"),
        "label ignored": ([*FIT, *OWN, "--ignore", "decision"], 1, "'decision' is the label column; it cannot be ignored"),
        "feature ignored": ([*FIT, "--model", "model.joblib", "--trust-pickle", "--ignore", "age"], 1, "has no column 'age', which the model was trained on"),
        "over its input": ([*FIT[:-1], "train.parquet", *OWN], 2, "would overwrite an input file"),
        "no folder": ([*FIT[:-1], "no/a.nice", *OWN], 1, "there is no folder no. Make it first"),
        "no rules": ([*FIT, *OWN, "--rules", "nope.toml"], 1, "there is no file nope.toml"),
        "a deep cut-off": ([*FIT, *OWN, "--decision", '{"a":' * 50_000], 2, "use a cut-off such as 0.3"),
        "a model that raises": ([*FIT, "--model", "nicecf_own:lazy"], 1, "the model raised RuntimeError when asked for its classes_: two lines"),
        "names in two lines": ([*FIT, *OWN, "--immutable", "a\rb"], 2, "is not a list of names: put names with a line break in quotes"),
        "a zero byte": ([*FIT, *OWN, "--immutable", "a\0b"], 2, "an argument contains a zero byte"),
    }  # fmt: skip

    @pytest.mark.parametrize("case", BAD)
    def test_bad_input_is_one_line(self, refused, case):
        arguments, code, expected = self.BAD[case]
        assert expected in refused(*arguments, code=code)

    def test_a_column_that_the_model_was_not_trained_on_is_named(self, refused):
        pd.read_parquet("train.parquet").assign(person=1).to_parquet("more.parquet")
        message = refused("fit", "--train", "more.parquet", *FIT[3:], "--model", "model.joblib", "--trust-pickle")
        assert (
            "has the column 'person', which the model was not trained on. Leave it out with --ignore person" in message
        )

    def test_columns_that_the_model_lacks_and_has_are_named_together(self, refused):
        pd.read_parquet("train.parquet").rename(columns={"age": "aeg"}).to_parquet("less.parquet")
        message = refused("fit", "--train", "less.parquet", *FIT[3:], "--model", "model.joblib", "--trust-pickle")
        assert (
            "less.parquet has no column 'age', which the model was trained on, but 'aeg', which it was not trained on. "
            "Is it 'aeg'?" in message
        )

    def test_columns_are_counted_for_a_model_that_knows_no_names(self, refused):
        table = pd.read_parquet("train.parquet").select_dtypes("number").fillna(0)
        y = pd.read_parquet("train.parquet")["decision"]
        joblib.dump(GaussianNB().fit(table.to_numpy()[:, :2], y), "two.joblib")
        table.iloc[:, :3].assign(decision=y).to_parquet("three.parquet")
        message = refused("fit", "--train", "three.parquet", *FIT[3:], "--model", "two.joblib", "--trust-pickle")
        assert re.search(
            "three.parquet has 3 feature columns, '.*, but the model was trained on 2 .without names.", message
        )

    def test_explain_names_the_columns_of_another_model_as_fit_does(self, refused, run):
        table = pd.read_parquet("train.parquet").select_dtypes("number")
        y = pd.read_parquet("train.parquet")["decision"]
        joblib.dump(GaussianNB().fit(table.fillna(0).rename(columns={"age": "years"}), y), "other.joblib")
        table.assign(decision=y).to_parquet("numbers.parquet")
        assert run("fit", "--train", "numbers.parquet", *FIT[3:], *OWN)[0] == 0  # a function, which names no features
        table[:3].to_csv("numbers.csv", index=False)
        message = refused(
            "explain", FIT[-1], "numbers.csv", "--model", "other.joblib", "--trust-pickle", "--out", "o.csv"
        )
        assert (
            "the explainer has no column 'years', which the model was trained on, but 'age', which it was not trained on"
            in message
        )

    def test_bad_toml_is_one_line(self, refused):
        for text, expected in {
            "immutable = [\n": "r.toml is not TOML: ",
            "imutable = ['age']\n": "has the key 'imutable', which is not known",
            "immutable = ['aeg']\n": "Did you mean 'age'?",
        }.items():
            Path("r.toml").write_text(text)
            assert expected in refused(*FIT, "--model", "model.joblib", "--trust-pickle", "--rules", "r.toml", code=2)


class TestExplain:
    BAD: ClassVar = {
        "extra column": ([*EXPLAIN[:3], *EXPLAIN[5:]], 1, "has the column 'customer', which fit did not see. Leave it out"),
        "wrong id": ([*EXPLAIN[:4], "customers", *EXPLAIN[5:]], 1, "has no column 'customers', which id names"),
        "id ignored": ([*EXPLAIN, "--ignore", "customer"], 2, "--id and --ignore both name 'customer'"),
        "no table": (["explain", "credit.nice", "nope.csv", *EXPLAIN[5:]], 1, "there is no file nope.csv"),
        "no explainer": (["explain", "credits.nice", *EXPLAIN[2:]], 1, "there is no file credits.nice. Did you mean 'credit.nice'?"),
        "a table for an explainer": (["explain", "train.csv", *EXPLAIN[2:]], 1, "train.csv is not a saved explainer"),
        "an explainer for a table": (["explain", "credit.nice", "credit.nice", *EXPLAIN[5:]], 1, "That is an explainer, not a table"),
        "pickle": ([*EXPLAIN[:-1]], 1, "model.joblib is a pickle, and loading one runs any code in it"),
        "target": ([*EXPLAIN, "--target", "approve"], 2, "--target names 'approve', which is not a class of the model"),
        "immutable": ([*EXPLAIN, "--immutable", "regions"], 2, "immutable names 'regions', which is not a column"),
        "max changes": ([*EXPLAIN, "--max-changes", "0"], 2, "max_changes must be a whole number of at least 1"),
        "optimize": ([*EXPLAIN, "--optimize", "plausibility"], 2, "this explainer was fitted without a measure of plausibility"),
        "goal": ([*EXPLAIN, "--optimize", "sparcity"], 2, "Did you mean 'sparsity'?"),
        "several": ([*EXPLAIN, "--search", "greedy", "--n", "3"], 2, "n_counterfactuals"),
        "time": ([*EXPLAIN, "--time-budget", "-1"], 2, "time_budget must be a number of seconds above 0"),
        "style": ([*EXPLAIN, "--style", "poem"], 2, "invalid choice: 'poem'"),
        "wording": ([*EXPLAIN, "--wording", "nope.toml"], 1, "there is no file nope.toml"),
        "over its input": ([*EXPLAIN[:5], "--out", "new.csv", "--trust-pickle"], 2, "--out new.csv would overwrite an input file"),
        "twice": ([*EXPLAIN, "--report", "out.csv"], 2, "--report and --out name the same file"),
        "report to stdout": ([*EXPLAIN, "--report", "-"], 2, "--report needs a file"),
        "ending": ([*EXPLAIN[:5], "--out", "out.dat", "--trust-pickle"], 1, "Give it such a name"),
        "no folder": ([*EXPLAIN, "--records", "no/r.jsonl"], 1, "there is no folder no"),
        "a file as folder": ([*EXPLAIN, "--report", "new.csv/r.html"], 1, "new.csv is not a folder"),
        "another model": ([*EXPLAIN, "--model", "nicecf_own:model"], 1, "the model"),
    }  # fmt: skip

    @pytest.mark.parametrize("case", BAD)
    def test_bad_input_is_one_line(self, refused, case):
        arguments, code, expected = self.BAD[case]
        assert expected in refused(*arguments, code=code)

    @pytest.mark.skipif(
        not Path("/proc/version").exists(), reason="a folder that not even root may write to is in /proc"
    )
    def test_no_permission_is_one_line_and_said_before_the_work(self, refused, monkeypatch):
        monkeypatch.setattr(NICE, "explain", None)
        assert "/proc/out.csv cannot be written" in refused(*EXPLAIN[:5], "--out", "/proc/out.csv", "--trust-pickle")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
    def test_a_full_disk_is_one_line(self, refused):
        to_full = [*EXPLAIN[:5], "--out", "/dev/full", "--out-format", "csv", "--trust-pickle"]
        assert "/dev/full cannot be written: the disk is full" in refused(*to_full)

    def test_a_damaged_explainer_is_one_line(self, refused):
        content = Path("credit.nice").read_bytes()
        for damaged, expected in {
            content[:3_000]: "is not a complete saved explainer",
            content[:3_000] + b"x" + content[3_001:]: "is damaged",
            b"": "is not a saved explainer",
        }.items():
            Path("credit.nice").write_bytes(damaged)
            assert expected in refused(*EXPLAIN)

    def test_a_cell_with_a_typo_is_named_with_its_line(self, refused):
        lines = Path("new.csv").read_text().splitlines()
        cells = lines[2].split(",")
        cells[1] = "12k"
        Path("new.csv").write_text("\n".join([*lines[:2], ",".join(cells), *lines[3:]]))
        assert "new.csv, line 3: column 'age' holds '12k', which is not a number" in refused(*EXPLAIN)

    def test_a_model_file_that_changed_is_not_used(self, refused, run):
        with open("model.joblib", "ab") as file:
            file.write(b"x")
        assert "the model file model.joblib has changed since credit.nice was fitted" in refused(*EXPLAIN)
        assert run(*EXPLAIN, "--model", "model.joblib")[0] == 0  # asked for, and it answers as it did

    def test_a_model_file_is_found_beside_the_explainer(self, run, here, refused):
        (here / "elsewhere").mkdir()
        for name in ("model.joblib", "credit.nice"):
            (here / name).rename(here / "elsewhere" / name)
        ask = [*EXPLAIN[2:], "--target", "approved"]
        assert run("explain", "elsewhere/credit.nice", *ask)[0] == 0
        (here / "elsewhere" / "model.joblib").rename(here / "moved.joblib")
        (here / "out.csv").unlink()
        assert "was fitted with the model model.joblib, which is neither there" in refused(
            "explain", "elsewhere/credit.nice", *ask
        )
        assert run("explain", "elsewhere/credit.nice", *ask, "--model", "moved.joblib")[0] == 0

    def test_code_is_run_only_if_it_is_named_again(self, run, refused):
        run(*FIT, *OWN)
        message = refused("explain", "own.nice", *EXPLAIN[2:], code=2)
        assert "own.nice was fitted with nicecf_own:model, which is code" in message
        assert "add --model nicecf_own:model" in message

    def test_an_explainer_saved_by_python_says_that_it_needs_a_model(self, refused):
        X = pd.read_parquet("train.parquet")
        y = X.pop("decision")
        NICE(joblib.load("model.joblib")).fit(X, y).save("python.nice")
        assert "does not say where its model is; add --model" in refused("explain", "python.nice", *EXPLAIN[2:], code=2)

    @pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
    def test_a_table_without_rows_gives_results_without_rows(self, run, monkeypatch, ending):
        asked = []

        def explain(nice: NICE, X: pd.DataFrame, **options: Any) -> Any:
            asked.append(X)
            return whole[:0]

        whole = NICE.load("credit.nice", model=joblib.load("model.joblib")).explain(loan_book(700, seed=2)[0][NEW])
        monkeypatch.setattr(NICE, "explain", explain)
        Path("new.csv").write_text(Path("new.csv").read_text().splitlines()[0] + "\n")
        ask = (*EXPLAIN[:6], f"out.{ending}", "--report", "r.html", "--records", "r.jsonl", "--trust-pickle")
        code, out, err = run(*ask)
        assert (code, err) == (0, "")
        assert out == f"0 rows, 0 with a counterfactual.\n  written  out.{ending}, r.html, r.jsonl\n"
        assert len(asked[0]) == 0
        assert asked[0].dtypes.tolist() == whole.batch.table.dtypes.tolist()
        assert Path("r.jsonl").read_text() == ""
        if ending == "jsonl":
            assert Path("out.jsonl").read_text() == ""
            return
        table = pd.read_csv("out.csv") if ending == "csv" else pd.read_parquet("out.parquet")
        assert len(table) == 0
        assert list(table.columns[:2]) == ["row", "counterfactual"]
        assert table.columns[17:].tolist() == asked[0].columns.tolist()
        assert run("show", f"out.{ending}") == (0, f"out.{ending}: 0 rows, 0 with a counterfactual\n", "")
        assert "has no row '0'; it has no rows" in run("show", f"out.{ending}", "0")[2]

    def test_a_training_table_without_rows_is_refused(self, refused):
        Path("t.csv").write_text(Path("train.csv").read_text().splitlines()[0] + "\n")
        assert "t.csv has no rows below its header" in refused(
            "fit", "--train", "t.csv", "--label", "decision", *OWN, "--out", "t.nice"
        )

    def test_missing_extras_say_what_to_install(self, refused, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        message = refused(*EXPLAIN[:5], "--out", "out.parquet", "--trust-pickle")
        assert "pip install 'nicecf[files]'" in message

    def test_a_defect_is_one_line_too_unless_it_is_looked_for(self, refused, monkeypatch):
        def broken(*_: Any, **__: Any) -> None:
            raise KeyError("two\nlines")

        monkeypatch.setattr(NICE, "explain", broken)
        assert "KeyError: 'two\\nlines'. This should not happen: please report it" in refused(*EXPLAIN)
        monkeypatch.setenv("NICECF_DEBUG", "1")
        with pytest.raises(KeyError):
            cli.main(list(EXPLAIN))

    def test_code_that_ends_the_program_is_one_line(self, refused):
        Path("nicecf_ends.py").write_text("import sys\ndef model(X):\n    sys.exit(0)\n")
        assert "the code of the model ended the program (SystemExit: 0)" in refused(
            *FIT, "--model", "nicecf_ends:model"
        )

    def test_a_terminal_without_some_characters_gets_their_codes(self, run, monkeypatch):
        run(*EXPLAIN)
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main(["show", "out.csv"]) == 0
        assert b"\\u2192" in out.buffer.getvalue()
        assert out.errors == "strict"

    def test_a_warning_is_one_line(self, here):
        Path("nicecf_warned.py").write_text(
            "import warnings\nfrom nicecf_own import model\nwarnings.warn('mind\\nthis')\n"
        )
        command = [sys.executable, "-m", "nicecf", *FIT, "--model", "nicecf_warned:model"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ran.stderr == "nicecf: warning: mind this\n"

    def test_a_long_run_is_announced_in_one_line(self, run, monkeypatch):
        for name, value in {"progress._LONG": -1.0, "progress._JUDGED_BY": 0.0}.items():
            monkeypatch.setattr(f"nicecf.support.{name}", value)
        monkeypatch.setattr("nicecf.search.mixed._MOST_ROWS", 10)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            code, _, err = run(*EXPLAIN)
            assert (code, run(*EXPLAIN, "--time-budget", "1000")[2]) == (0, "")
        assert re.fullmatch(
            r"nicecf: warning: explaining \d+ rows \(.+\) will take about \d+ minutes or more\. search='greedy' is faster "
            r"and gives the paper's answers; time_budget= limits the time\.\n",
            err,
        )


class TestWordsComeLast:
    """An error of a text, a letter or a report never costs the answers: they are written before."""

    @pytest.mark.parametrize(
        ("options", "files", "message"),
        [
            (["--letters", "letters", "--template", "eu"], {}, "has the field {role}, which nothing is known of"),
            (
                ["--wording", "w.toml"],
                {"w.toml": '[names]\nincmoe = "income"\n'},
                "the feature 'incmoe', which does not",
            ),
        ],
    )
    def test_the_answers_are_written_where_the_words_fail(self, run, here, options, files, message):
        assert run(*EXPLAIN)[0] == 0
        first = pd.read_csv("out.csv")
        Path("out.csv").unlink()
        for name, content in files.items():
            (here / name).write_text(content)
        code, _, err = run(*EXPLAIN, "--records", "r.jsonl", *options)
        assert code != 0
        assert message in err
        pd.testing.assert_frame_equal(pd.read_csv("out.csv"), first)
        assert len(Path("r.jsonl").read_text().splitlines()) == len(first)


class TestShow:
    def test_what_is_no_file_of_explanations_is_one_line(self, refused, run):
        assert "new.csv does not hold explanations: it has no column 'row'" in refused("show", "new.csv")
        assert "there is no file nope.csv" in refused("show", "nope.csv")
        run(*EXPLAIN)
        assert "out.csv has no row '99'; its rows are 'c000'" in refused("show", "out.csv", "99", code=2)
        assert "invalid choice: 'analyst'" in refused("show", "out.csv", "0", "--style", "analyst", code=2)
        table = pd.read_csv("out.csv")
        table.assign(changes="{").to_csv("out.csv", index=False)
        assert "out.csv is damaged: row 1 is not as nicecf explain writes it" in refused("show", "out.csv")

    @pytest.mark.parametrize("classes", [[False, True], [0.0, 1.0], ["", "yes"]], ids=str)
    def test_labels_are_shown_as_the_texts_say_them(self, run, classes):
        from nicecf import NICE
        from nicecf.views import exported_table as outcomes

        X = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 1.0]})
        model = lambda X: np.column_stack([1 - X["a"], X["a"]])
        cfs = NICE(model, classes=classes).fit(X, classes).explain(X)
        outcomes.table(cfs.batch, style="sentence", wording=None).to_csv("o.csv", index=False)
        for number, one in enumerate(cfs):
            _, out, _ = run("show", "o.csv", str(number), "--style", "sentence")
            assert one.text() in " ".join(out.split())
            assert (outcomes.read_outcomes(pd.read_csv("o.csv"), "o.csv")[number].decision) in one.text()

    def test_a_missing_value_and_a_long_name_are_shown(self, run):
        from nicecf.views.exported_table import COLUMNS

        changes = [{"feature": "f" * 90, "before": None, "after": "x" * 90, "step": 1, "probability": 0.6}]
        said = [{"before": None, "after": "x" * 90, "direction": 0}]
        cells = dict.fromkeys(COLUMNS) | {
            "row": 7, "counterfactual": 0, "found": True, "decision": 0, "probability": 0.9, "decision_after": 1,
            "probability_after": 0.6, "text": "words", "changes": json.dumps(changes), "said": json.dumps(said),
        }  # fmt: skip
        pd.DataFrame([cells]).to_parquet("o.parquet")
        out = run("show", "o.parquet", "7")[1]
        assert "Row 7: 0 (P(1) 10 %), would be 1 (P(1) 60 %)" in out
        assert max(map(len, out.splitlines())) <= 80
        assert "missing" in out
        assert "were" in run("show", "o.parquet", "7", "--style", "sentence")[1]

    @pytest.mark.parametrize(
        ("column", "cell"),
        [
            ("counterfactual", "inf"), ("counterfactual", ""), ("found", "[" * 100_000), ("probability", "1e999"),
            ("probability", ""), ("probability_after", "-1"), ("changes", "[" * 100_000), ("changes", "9" * 5_000),
            ("changes", "null"), ("changes", '[{"feature": "a", "step": 1e999, "probability": 1}]'),
            ("changes", '[{"feature": "a", "step": 1, "probability": NaN}]'), ("said", "[{}]"),
            ("said", '[{"before": {}, "after": "1", "direction": 0}]'),
            ("said", '[{"before": "0", "after": "1", "direction": 7}]'),
        ],
    )  # fmt: skip
    def test_a_damaged_line_is_said_in_one(self, refused, column, cell):
        from nicecf.views.exported_table import COLUMNS

        changes = [{"feature": "age", "before": None, "after": "x", "step": 1, "probability": 0.6}]
        said = [{"before": None, "after": "x", "direction": 0}]
        line = dict.fromkeys(COLUMNS, "") | {
            "row": "7", "counterfactual": "0", "found": "True", "decision": "0", "probability": "0.9",
            "decision_after": "1", "probability_after": "0.6", "changes": json.dumps(changes), "said": json.dumps(said),
        }  # fmt: skip
        pd.DataFrame([line, line | {column: cell}]).to_csv("o.csv", index=False)
        for style in ([], ["7", "--style", "letter"]):
            message = refused("show", "o.csv", *style)
            assert message.startswith("nicecf: o.csv is damaged: row 2 is not as nicecf explain writes it (")
            assert len(message) < 300

    def test_a_label_of_several_rows_shows_them_all_and_says_so(self, run):
        lines = Path("new.csv").read_text().splitlines()
        Path("new.csv").write_text("\n".join(line.replace("c004", "c001") for line in lines[:7]))
        run(*EXPLAIN)
        code, out, err = run("show", "out.csv", "c001")
        assert code == 0
        assert (
            err
            == "nicecf: 2 rows of out.csv have the label 'c001', at positions 1, 4 (counted from 0); all of them are shown.\n"
        )
        assert out.index("Row c001, at position 1: ") < out.index("Row c001, at position 4: ")
        texts = pd.read_csv("out.csv")["text"]
        for at in (1, 4):
            alone = run("show", "out.csv", str(at))
            assert alone[2] == ""
            assert alone[1].startswith("Row c001: ")
            for shown in (out, alone[1]):
                assert texts[at] in " ".join(shown.split())
        assert "(1 of 2)" not in out
        assert run("show", "out.csv", "5")[1].startswith("Row c005: ")
        assert "out.csv: 6 rows, 6 with a counterfactual" in run("show", "out.csv")[1]
        letters = run("show", "out.csv", "c001", "--style", "letter")
        assert letters[1].count("One way to a different decision\n") == 2
        assert "2 rows of out.csv have the label" in letters[2]

    def test_a_label_may_begin_with_a_dash_and_a_position_be_long(self, run, refused):
        Path("new.csv").write_text(Path("new.csv").read_text().replace("c001", "-c"))
        lines = Path("new.csv").read_text().splitlines()
        Path("new.csv").write_text("\n".join([lines[0], lines[2]]))
        out = run(*EXPLAIN)[1]
        assert "nicecf show -- out.csv -c" in out
        assert run("show", "--", "out.csv", "-c")[1].startswith("Row -c: ")
        assert "has no row '9999" in refused("show", "out.csv", "9" * 5_000, code=2)


class TestFormulas:
    @pytest.fixture
    def odd(self, run, here) -> list[str]:
        """An explainer of a table with a name, a category, a class and labels that spreadsheets would obey."""
        train = pd.DataFrame({"=kind": ["=1+1", "'=1+1"] * 20, "n": np.arange(40.0) % 7, "label": ["@no", "-yes"] * 20})
        train.to_csv("t.csv", index=False)
        Path("nicecf_own3.py").write_text(
            "import numpy as np\ndef model(X):\n    p = (X['=kind'] == '=1+1') * 0.8 + 0.1\n"
            "    return np.column_stack([1 - p, p])\n"
        )
        fit = ("fit", "--train", "t.csv", "--label", "label", "--model", "nicecf_own3:model", "--out", "t.nice")
        code, out, _ = run(*fit, "--classes=-yes,@no")
        assert code == 0
        assert "-yes 20, @no 20 of these rows" in out
        labels = ["=cmd|' /C calc'!A0", "'@x", "+1+1", "7", "-3"]
        train[["=kind", "n"]][:5].assign(id=labels).to_csv("new.csv", index=False)
        yield labels
        sys.modules.pop("nicecf_own3", None)

    ASK: ClassVar = ("explain", "t.nice", "new.csv", "--model", "nicecf_own3:model", "--id", "id", "--out")

    def test_nothing_in_the_results_is_one_and_all_of_it_comes_back(self, run, odd):
        assert run(*self.ASK, "out.csv")[0] == 0
        table = pd.read_csv("out.csv", dtype=str)
        assert table["row"].tolist() == ["'" + label for label in odd[:3]] + odd[3:]
        assert table["decision"].tolist() == ["'@no", "'-yes"] * 2 + ["'@no"]
        assert table["'=kind"].tolist() == ["''=1+1", "'=1+1"] * 2 + ["''=1+1"]
        assert not table.map(str).apply(lambda cells: cells.str.match(r"[=@]|[-+](?![\d.]+$)")).any(axis=None)
        for label in odd:
            assert run("show", "--", "out.csv", label)[1].startswith(f"Row {label}: ")
        shown = run("show", "out.csv", "1")[1]
        assert "Row '@x: -yes (P(@no) 10 %), would be @no (P(@no) 90 %)" in shown
        assert "feature  now    then  P(@no)\n=kind    '=1+1  =1+1" in shown
        table = pd.read_csv("out.csv")
        own = list(table.columns[1:17])
        again = (
            "explain",
            "t.nice",
            "out.csv",
            *self.ASK[3:5],
            "--id",
            "row",
            "--ignore",
            ",".join(own),
            "--out",
            "a.parquet",
        )
        assert run(*again)[0] == 0
        back = pd.read_parquet("a.parquet")
        assert back["row"].tolist() == odd
        assert back["=kind"].tolist() == ["=1+1", "'=1+1"] * 2 + ["=1+1"]

    def test_cells_are_as_they_are_where_that_is_asked_for(self, run, odd):
        assert run(*self.ASK, "out.tsv", "--raw-csv")[0] == 0
        table = pd.read_csv("out.tsv", dtype=str, sep="\t")
        assert table["row"].tolist() == odd
        assert table["=kind"].tolist() == ["'=1+1", "=1+1"] * 2 + ["'=1+1"]
        assert run("show", "out.tsv", "'@x", "--raw-csv")[1].startswith("Row '@x: -yes")
        for ending in ("jsonl", "parquet"):
            assert run(*self.ASK, f"out.{ending}")[0] == 0
            read = pd.read_json("out.jsonl", lines=True) if ending == "jsonl" else pd.read_parquet("out.parquet")
            assert read["row"].tolist() == odd

    def test_apostrophes_in_tables_of_ones_own_stay(self, run, odd):
        assert run(*self.ASK, "out.parquet")[0] == 0
        results = pd.read_parquet("out.parquet")
        assert results["row"].tolist() == odd  # '@x among them
        assert set(results["=kind"]) == set(pd.read_csv("t.csv")["=kind"]) == {"=1+1", "'=1+1"}


class TestTerminal:
    EVIL: ClassVar = "\x1b[2J\u202e\r\x9b"

    def no_escapes(self, *printed: str) -> None:
        for text in printed:
            assert not set(text) & {"\x1b", "\u202e", "\r", "\x9b", "\x07"}

    def test_names_of_files_are_shown_and_not_obeyed(self, run, here):
        name = f"a{self.EVIL}\nnicecf: all is well.csv"
        for arguments in (
            ["show", name],
            ["explain", name, name, "--out", "o.csv"],
            ["explain", "credit.nice", name, "--out", "o.csv", "--trust-pickle"],
            [*EXPLAIN, "--rules", name],
            [*EXPLAIN, "--wording", name],
            [*EXPLAIN, "--report", f"no/{name}"],
            [*EXPLAIN, "--target", name],
            [*EXPLAIN, "--target", f'"{name}"'],
            [*EXPLAIN, "--immutable", f'"{name}"'],
            [*EXPLAIN, "--ignore", f'"{name}"'],
            ["fit", "--train", name, "--label", "x", *OWN, "--out", "o.nice"],
            [*FIT, "--model", name],
            ["replay", name],
            ["benchmark", "report", name],
            [name],
            ["show", "--format", name, "x"],
        ):
            code, out, err = run(*arguments)
            assert code in (1, 2)
            self.no_escapes(out, err)
            assert err.count("\n") == 1
            assert "\\x1b[2J" in err or "\\u202e" in err
        shutil.copy("new.csv", name)
        code, out, err = run("explain", "credit.nice", name, *EXPLAIN[3:5], "--trust-pickle", "--out", f"o{name}")
        assert code == 0
        self.no_escapes(out, err)
        assert "\nnicecf: all" not in out
        code, out, err = run("show", f"o{name}")
        assert code == 0
        self.no_escapes(out, err)
        assert "\nnicecf: all" not in out
        code, out, err = run(*FIT[:-1], f"{name}.nice", *OWN)
        assert code == 0
        self.no_escapes(out, err)
        assert "\nnicecf: all" not in out

    def test_cells_and_names_of_columns_are_shown_and_not_obeyed(self, run, here):
        evil = f"k{self.EVIL}"
        train = pd.DataFrame({evil: ["a", evil] * 20, "label": [evil, "no"] * 20})
        train.to_parquet("t.parquet")
        Path("nicecf_own4.py").write_text(
            "import numpy as np\ndef model(X):\n    p = (X.iloc[:, 0] == 'a') * 0.8 + 0.1\n"
            "    return np.column_stack([1 - p, p])\n"
        )
        own = ("--model", "nicecf_own4:model")
        try:
            code, out, err = run(
                "fit", "--train", "t.parquet", "--label", "label", *own, "--out", "t.nice", "--classes", f'no,"{evil}"'
            )
            assert code == 0
            self.no_escapes(out, err)
            train[:4].drop(columns="label").assign(id=[evil, "x", "y\x07", "z"]).to_parquet("new.parquet")
            code, out, err = run(
                "explain", "t.nice", "new.parquet", *own, "--id", "id", "--out", "o.parquet", "--records", "r.jsonl"
            )
            assert code == 0
            self.no_escapes(out, err)
            for row in ([], ["0"], ["1"], [evil], ["0", "--style", "letter"], ["nope"]):
                _, out, err = run("show", "o.parquet", *row)
                self.no_escapes(out, err)
                assert out or err
            table = pd.read_parquet("o.parquet").assign(text=self.EVIL, note=self.EVIL, decision=self.EVIL)
            table.to_parquet("o.parquet")
            self.no_escapes(*run("show", "o.parquet", "1")[1:])
            records = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
            records[0]["label"] = f"{self.EVIL}\nAll 4 records are the same."
            Path("r.jsonl").write_text("\n".join(map(json.dumps, records)))
            code, out, err = run("replay", "r.jsonl", *own)
            self.no_escapes(out, err)
            assert code == 3
            assert "\nAll 4 records" not in out
            for part, value in (
                ("predicted", self.EVIL),
                ("versions", {self.EVIL: self.EVIL}),
                ("options", {self.EVIL: 1}),
            ):
                Path("r.json").write_text(json.dumps(records[1] | {part: value}))
                code, out, err = run("replay", "r.json", *own)
                assert code in (1, 3)
                self.no_escapes(out, err)
            records[0]["files"]["explainer"] = records[0]["schema"] = f"{self.EVIL}\nx"
            Path("r.jsonl").write_text("\n".join(map(json.dumps, records)))
            code, out, err = run("replay", "r.jsonl", *own)
            assert (code, out, err.count("\n")) == (1, "", 1)
            self.no_escapes(err)
        finally:
            sys.modules.pop("nicecf_own4", None)

    @pytest.mark.filterwarnings("always")
    def test_a_warning_and_a_defect_are_shown_and_not_obeyed(self, run, monkeypatch):
        def broken(*_: Any, **__: Any) -> None:
            warnings.warn(self.EVIL, stacklevel=1)
            raise LookupError(self.EVIL)

        monkeypatch.setattr(NICE, "explain", broken)
        _, out, err = run(*EXPLAIN)
        self.no_escapes(out, err)
        assert err.count("\n") == 2
        assert err.count("\\x1b[2J") == 2


@pytest.mark.skipif(os.name != "posix", reason="streams of POSIX shells")
class TestStreams:
    def shell(self, command: str, **environment: str) -> tuple[int, str, str]:
        nicecf = f"{sys.executable} -m nicecf"
        ran = subprocess.run(
            ["bash", "-c", command.replace("nicecf ", f"{nicecf} ", 1)],
            capture_output=True, text=True, env={**os.environ, **environment},
        )  # fmt: skip
        return ran.returncode, ran.stdout, ran.stderr

    ASK: ClassVar = "nicecf explain credit.nice new.csv --id customer --trust-pickle"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
    @pytest.mark.parametrize(
        ("command", "unbuffered"),
        [
            ("nicecf --help", ""),
            (f"{ASK} --out -", ""),
            *deep(
                ("nicecf show explained.csv", ""),
                (f"{ASK} --out out.csv", "1"),
                ("nicecf --help", "1"),
                ("nicecf --version", ""),
                ("nicecf --version", "1"),
                ("nicecf show explained.csv", "1"),
                (f"{ASK} --out out.csv", ""),
                (f"{ASK} --out -", "1"),
            ),
        ],
    )
    def test_a_full_standard_output_is_one_line(self, here, command, unbuffered):
        code, _, err = self.shell(f"{command} > /dev/full", PYTHONUNBUFFERED=unbuffered)
        assert (code, err.splitlines()[-1]) == (
            1,
            "nicecf: standard output cannot be written: no space left on device.",
        )
        assert len(err.splitlines()) == 1

    @pytest.mark.parametrize("command", ["nicecf show out.csv", f"{ASK} --out o.csv", f"{ASK} --out -"])
    def test_a_closed_standard_output_is_one_line_before_the_work(self, here, command):
        code, _, err = self.shell(f"{command} >&-")
        assert (code, err) == (
            1,
            "nicecf: standard output is closed; open it, or redirect it, for example to /dev/null.\n",
        )
        assert not Path("o.csv").exists()

    def test_a_closed_or_strange_standard_input_is_one_line(self, run, monkeypatch):
        ask = self.ASK.replace("new.csv", "- --out o.csv")
        code, out, err = self.shell(f"{ask} <&-")
        assert (code, out) == (1, "")
        assert err.startswith("nicecf: standard input is closed; give the path of a file")
        # What Python makes of "0> written.txt" and of "< /dev/null".
        with open(os.open("written.txt", os.O_WRONLY | os.O_CREAT), encoding="utf-8") as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            code, out, err = run(*ask.split()[1:])
        assert (code, out, err) == (1, "", "nicecf: standard input cannot be read: bad file descriptor.\n")
        with open(os.devnull, encoding="utf-8") as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            code, out, err = run(*ask.split()[1:])
        assert (code, out) == (1, "")
        assert err.startswith("nicecf: standard input is empty")

    @pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
    @pytest.mark.deep
    def test_what_cannot_be_said_beside_results_does_not_get_among_them(self, here, where):
        code, out, _ = self.shell(f"{self.ASK} --out - {where}")
        assert code == 0
        assert pd.read_csv(io.StringIO(out))["row"].tolist() == pd.read_csv("explained.csv")["row"].tolist()

    @pytest.mark.parametrize("where", [*deep("2>&-"), "2>/dev/full"])
    def test_an_error_that_cannot_be_said_does_not_get_among_results(self, here, where):
        code, out, _ = self.shell(f"nicecf show nope.csv {where}")
        assert (code, out) == (1, "")


class TestReplay:
    @pytest.fixture
    def recorded(self, run) -> list[dict[str, Any]]:
        Path("new.csv").write_text("\n".join(Path("new.csv").read_text().splitlines()[:7]))
        assert run(*EXPLAIN, "--records", "r.jsonl")[0] == 0
        return [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]

    def test_records_name_their_files_and_replay_the_same(self, run, recorded, here):
        assert recorded[0]["files"] == {"explainer": "credit.nice", "model": "model.joblib"}
        assert run("replay", "r.jsonl", "--trust-pickle") == (0, "All 6 records are the same.\n", "")
        Path("one.json").write_text(json.dumps(recorded[4], indent=2))
        assert run("replay", "one.json", "--trust-pickle") == (0, "The record is the same.\n", "")
        (here / "kept").mkdir()
        for name in ("r.jsonl", "credit.nice", "model.joblib"):
            (here / name).rename(here / "kept" / name)
        assert run("replay", "kept/r.jsonl", "--trust-pickle")[0] == 0

    def test_another_goal_than_that_of_fit_is_used_and_replayed(self, run, recorded):
        own = pd.read_csv("out.csv")
        assert run(*EXPLAIN, "--optimize", "none", "--records", "r.jsonl")[0] == 0
        donors = pd.read_csv("out.csv")
        assert (donors["n_changes"] >= own["n_changes"]).all()
        assert (donors["n_changes"] > own["n_changes"]).any()
        assert json.loads(Path("r.jsonl").read_text().splitlines()[0])["files"]["search"] == {"optimize": "none"}
        assert run("replay", "r.jsonl", "--trust-pickle") == (0, "All 6 records are the same.\n", "")

    def test_what_is_different_is_said_with_where(self, run, recorded):
        recorded[4]["row"]["age"] += 1
        Path("r.jsonl").write_text("\n".join(map(json.dumps, recorded)))
        code, out, err = run("replay", "r.jsonl", "--trust-pickle")
        assert (code, err) == (3, "")
        assert "row c004 is different:\n  - the record was changed after it was made" in out
        assert "5 of 6 records the same, 1 different." in out

    def test_another_explainer_is_different(self, run, recorded):
        fit = [*FIT, "--model", "model.joblib", "--trust-pickle", "--optimize", "proximity"]
        assert run(*fit)[0] == 0
        code, out, _ = run("replay", "r.jsonl", "--explainer", "own.nice", "--trust-pickle")
        assert code == 3
        assert "option optimize: 'sparsity' in the record, 'proximity' now" in out
        assert "... and 1 more are different" in out

    def test_what_is_no_record_is_one_line(self, refused):
        for text, expected, code in [
            ("", "holds no records", 1),
            ("[]", "holds no records", 1),
            ("[1]", "holds no records", 1),
            ("{\n", "line 1, is not JSON", 1),
            ('{"a": 1}', "record 1, does not say which explainer made it; add --explainer", 2),
            ('{"a": 1, "files": {"explainer": "nope.nice"}}', "there is no file nope.nice", 1),
            ('{"a": 1, "files": {"explainer": "credit.nice"}}', "r.json, record 1: this is no record of nicecf", 1),
        ]:
            Path("r.json").write_text(text)
            assert expected in refused("replay", "r.json", "--trust-pickle", code=code)
        for path in ("\0", "\ud800"):
            Path("r.json").write_text(json.dumps({"files": {"explainer": path}}))
            assert "which is not a valid path; add --explainer FILE" in refused("replay", "r.json")
        Path("r.json").write_bytes(b"\xff\xfe")
        assert "it is not UTF-8 text" in refused("replay", "r.json")
        assert "there is no file nope.json" in refused("replay", "nope.json")


class TestDemo:
    def test_it_tells_where_the_report_is(self, run, monkeypatch):
        told = []
        monkeypatch.setattr(demo, "main", lambda *, report: told.append(report))
        assert run("demo")[0] == 0
        assert run("demo", "--report", "mine.html")[0] == 0
        assert told[1] == "mine.html"
        assert told[0].endswith("report.html")
        os.rmdir(os.path.dirname(told[0]))  # its own folder, and empty

    def test_the_report_is_written(self, here, capsys, monkeypatch):
        monkeypatch.delenv("NICECF_DATA", raising=False)
        demo.main(n_train=300, n_test=20, report="demo.html")
        assert "who got denied is in demo.html" in capsys.readouterr().out
        assert "</html>" in Path("demo.html").read_text()

    def test_a_report_that_cannot_be_written_is_said_first(self, refused, monkeypatch):
        monkeypatch.setattr(demo, "main", None)
        assert "the path of a file to write is empty" in refused("demo", "--report", "")
        assert "there is no folder no" in refused("demo", "--report", "no/report.html")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
class TestStopping:
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    @pytest.mark.deep
    def test_stopped_work_leaves_no_file(self, run, here, number, code):
        run(*FIT, *OWN)
        before = sorted(one.name for one in here.iterdir())
        Path("nicecf_waits.py").write_text(
            "import sys, time\nfrom nicecf_own import model as quick\n"
            "def model(X):\n"
            "    if 'explaining' in globals():\n        print('waiting', file=sys.stderr, flush=True)\n        time.sleep(60)\n"
            "    return quick(X)\n"
        )
        command = [sys.executable, "-c", STOPPABLE, "explain", "own.nice", "new.csv", "--model", "nicecf_waits:model"]
        command += ["--id", "customer", "--out", "out.parquet", "--report", "r.html", "--records", "r.jsonl"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == "waiting\n"
            process.send_signal(number)
            assert process.wait(timeout=30) == code
            assert process.stderr.read() == "nicecf: stopped; finished work is kept, and no file is half-written.\n"
        left = sorted(one.name for one in here.iterdir() if one.name != "__pycache__")
        assert left == sorted([*before, "nicecf_waits.py"])

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_fit_that_is_stopped_while_plausibility_is_learned_is_stopped(self, run, here, monkeypatch, number, code):
        """The networks of scikit-learn make a warning of it, and go on."""
        activations, tanh = itertools.count(), np.tanh

        def stopped_tanh(*args, **options):
            if next(activations) == 200:
                signal.raise_signal(number)
            return tanh(*args, **options)

        before = sorted(here.iterdir())
        monkeypatch.setattr(np, "tanh", stopped_tanh)
        ended, _, err = run(*FIT, *OWN, "--optimize", "plausibility")
        assert ended == code
        assert err == "nicecf: stopped; finished work is kept, and no file is half-written.\n"
        assert [one for one in sorted(here.iterdir()) if one.name != "__pycache__"] == before

    def test_signals_are_as_they_were_afterwards(self, run):
        before = signal.getsignal(signal.SIGTERM)
        run("--help")
        assert signal.getsignal(signal.SIGTERM) is before

    def test_whoever_stops_reading_is_no_error(self, here):
        command = f"{sys.executable} -m nicecf show explained.csv | true"
        ran = subprocess.run(["bash", "-o", "pipefail", "-c", f"sleep 0; {command}"], capture_output=True, text=True)
        assert ran.stderr == ""


# The model is asked while the explainer is loaded too; only after that it waits.
STOPPABLE = """
import sys
import nicecf, nicecf.nice
load = nicecf.NICE.load
def and_then(*arguments, **options):
    nice = load(*arguments, **options)
    sys.modules["nicecf_waits"].explaining = True
    return nice
nicecf.NICE.load = and_then
from nicecf.cli import main
sys.exit(main())
"""


def test_progress_is_a_line_in_a_log(run, monkeypatch, capsys):
    from nicecf.support import progress

    monkeypatch.setattr(progress.Lines.__init__, "__kwdefaults__", {"every": 0.0})
    _, _, err = run(*EXPLAIN)
    assert err.splitlines()[-1].startswith("12 of 12 rows")


def test_names_are_separated_by_commas_and_may_be_quoted():
    from nicecf.cli.common import names

    assert names("a, b") == ["a", "b"]
    assert names('"income, gross",age') == ["income, gross", "age"]
    assert names("") == []


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX systems")
def test_benchmarks_say_what_the_system_says_of_a_name(refused):
    long = "x" * 5_000
    assert "the system says: file name too long" in refused("benchmark", "report", long)
    assert "a name with bytes that are not text" in refused(
        "benchmark", "run", "--datasets", "\udcff.csv", "--out", "b", code=2
    )


def test_a_folder_of_parquet_files_is_fitted_like_one_file(run, refused, here, monkeypatch):
    monkeypatch.setattr("nicecf.tables.files.parquet_parts.ROWS_IN_PART", 100)
    train = pd.read_parquet("train.parquet")
    Path("train").mkdir()
    for at in range(0, 600, 250):
        train.iloc[at : at + 250].to_parquet(f"train/{at:03}.parquet")
    options = ["--label", "decision", "--model", "model.joblib", "--trust-pickle", "--out", "of_parts.nice"]
    code, out, _ = run("fit", "--train", "train", *options)
    assert code == 0
    assert "600 rows" in out
    model = joblib.load("model.joblib")
    parts, whole = (NICE.load(path, model=model) for path in ("of_parts.nice", "credit.nice"))
    new = train.drop(columns="decision").iloc[:20]
    pd.testing.assert_frame_equal(parts.explain(new).to_frame(), whole.explain(new).to_frame())
    assert "--text is for a file, and train is a folder" in refused(
        "fit", "--train", "train", *options, "--text", "age", code=2
    )
    assert "train has no column 'decisions', which --label names" in refused(
        "fit", "--train", "train", "--label", "decisions", *options[2:]
    )
