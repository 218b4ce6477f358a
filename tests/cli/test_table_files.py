"""The command line on the files that people have: German CSV and Excel, in and out."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nicecf import cli
from nicecf.support.phrases import shipped

pytest.importorskip("openpyxl")
pytest.importorskip("pyarrow")

MODULE = """
import numpy as np

def model(X):
    p = 1 / (1 + np.exp(-(X["income"].to_numpy(float) - 2000) / 300))
    return np.column_stack([1 - p, p])
"""
MODEL = ("--model", "nicecf_loans:model")
FIT = (*MODEL, "--classes", "no,yes", "--label", "decision", "--out", "loans.nice")
EXPLAIN = ("explain", "loans.nice")
HOW = (*MODEL, "--id", "Kunde", "--out")


def german(frame, name, encoding="cp1252"):
    frame.to_csv(name, index=False, sep=";", decimal=",", encoding=encoding)


def in_excel(csv, name):
    pd.read_csv(csv, dtype={"code": str}).to_excel(name, index=False)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command that must end with an exit code: what it printed to stdout and stderr."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": rng.integers(500, 4000, 80) + 0.5,
            "city": rng.choice(["Köln", "Münster", "Jena"], 80),
            "code": rng.choice(["01234", "1,5"], 80),
        }
    )
    train = X.assign(decision=np.where(X["income"] > 2000, "yes", "no"))
    new = X.head(6).assign(Kunde=[f"Müller {number}" for number in range(6)])
    monkeypatch.chdir(tmp_path)
    train.to_csv("plain.csv", index=False)
    new.to_csv("plain_new.csv", index=False)
    german(train, "train.csv")
    german(new, "new.csv")
    Path("nicecf_loans.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "nicecf_loans", raising=False)

    def run_command(*arguments: str, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        found = cli.main(list(arguments))
        printed = capsys.readouterr()
        assert found == code, printed.err
        return printed.out, printed.err

    return run_command


SAID = "read with ';' between fields, decimal comma, encoding cp1252 (--sep, --decimal, --encoding override this)\n"


def fit(run, train="train.csv", *more):
    return run("fit", "--train", train, *FIT, "--text", "code", *more)


def test_german_files_give_the_same_answers_and_german_files(run):
    _, err = fit(run, "plain.csv")
    assert err == ""
    _, err = run(*EXPLAIN, "plain_new.csv", *HOW, "expected.csv")
    assert err == ""
    _, err = fit(run)
    assert err == f"train.csv: {SAID}"
    _, err = run(*EXPLAIN, "new.csv", *HOW, "out.csv")
    assert err == f"new.csv: {SAID}"
    expected = pd.read_csv("expected.csv", dtype={"code": str})
    found = pd.read_csv("out.csv", sep=";", decimal=",", encoding="cp1252", dtype={"code": str})
    pd.testing.assert_frame_equal(found, expected)
    assert found["probability"].dtype == float

    shown, err = run("show", "out.csv", "Müller 1")
    assert err == f"out.csv: {SAID}"
    assert shown == run("show", "expected.csv", "Müller 1")[0]
    assert shown.startswith("Row Müller 1: ")
    assert run("show", "out.csv", "--sep", ";", "--decimal", ",", "--encoding", "cp1252")[1] == ""


def test_excel_gives_the_same_answers_and_excel(run):
    _, err = fit(run, "plain.csv")
    run(*EXPLAIN, "plain_new.csv", *HOW, "expected.csv")
    in_excel("plain.csv", "train.xlsx")
    in_excel("plain_new.csv", "new.xlsx")
    out, err = run("fit", "--train", "train.xlsx", *FIT)
    assert err == ""
    assert "80 rows, 3 features: 1 number and 2 categories" in out
    _, err = run(*EXPLAIN, "new.xlsx", *HOW, "out.xlsx")
    assert err == ""
    found, expected = pd.read_excel("out.xlsx", dtype={"code": str}), pd.read_csv("expected.csv", dtype={"code": str})
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert run("show", "out.xlsx", "Müller 1") == run("show", "expected.csv", "Müller 1")
    run(*EXPLAIN, "new.xlsx", *HOW, "out.csv")
    assert Path("out.csv").read_bytes() == Path("expected.csv").read_bytes()


def test_a_sheet_is_named_by_its_option_or_told(run):
    with pd.ExcelWriter("several.xlsx") as book:
        pd.read_csv("plain.csv", dtype={"code": str}).to_excel(book, sheet_name="Kredite", index=False)
        pd.DataFrame({"x": [1]}).to_excel(book, sheet_name="Notizen", index=False)
    _, err = run("rules", "several.xlsx", "--label", "decision")
    assert err.startswith("several.xlsx: read the sheet 'Kredite', the first of several (--sheet overrides this)\n")
    _, err = run("rules", "several.xlsx", "--label", "decision", "--sheet", "Kredite")
    assert "sheet" not in err
    _, err = run("rules", "several.xlsx", "--label", "decision", "--sheet", "Kredit", code=1)
    assert (
        err
        == "nicecf: several.xlsx has no sheet 'Kredit'; its sheets are 'Kredite', 'Notizen'. Did you mean 'Kredite'?\n"
    )


def test_numbers_that_read_both_ways_are_asked_for_in_every_command(run):
    german(pd.DataFrame({"income": ["1.234", "2.500"], "city": "Jena", "decision": ["no", "yes"]}), "train.csv")
    asked = "nicecf: train.csv: column 'income' holds '1.234', which reads both ways: as 1.234 with a decimal point"
    for command in (("fit", "--train", "train.csv", *FIT), ("rules", "train.csv", "--label", "decision")):
        _, err = run(*command, code=1)
        assert err.startswith(asked)
        assert err.count("\n") == 1
    _, err = run("rules", "train.csv", "--label", "decision", "--decimal", ",")
    assert err.startswith(
        "train.csv: read with ';' between fields, points between thousands in 'income' (--sep, --decimal, --encoding"
    )
    fit(run, "plain.csv")
    german(pd.DataFrame({"income": ["1.234"], "city": "1.234", "code": "1.234", "Kunde": "1.234"}), "new.csv")
    _, err = run(*EXPLAIN, "new.csv", *HOW, "out.csv", code=1)
    assert "new.csv: column 'income' holds '1.234', which reads both ways" in err
    run(*EXPLAIN, "new.csv", *HOW, "out.csv", "--decimal", ",")
    table = pd.read_csv("out.csv", sep=";", decimal=",", dtype={"row": str, "city": str})
    assert table["row"].tolist() == ["1.234"]
    assert table["changes"].str.contains('"before": 1234').all()


WRONG = {
    ("--sep", ";;"): "sep=';;' cannot stand between fields",
    ("--decimal", "x"): "decimal='x' is not a decimal mark; use '.' or ','",
    ("--encoding", "utf-9"): "encoding='utf-9' is not known",
    ("--decimal", "."): "decimal='.' (--decimal) does not fit",
    ("--sheet", "x"): "sheet (--sheet) is for files of the format xlsx",
}


def test_wrong_options_are_usage_errors_in_every_command(run):
    fit(run)
    run(*EXPLAIN, "new.csv", *HOW, "o.csv")
    commands = [
        ("fit", "--train", "train.csv", *FIT, "--text", "code"),
        ("rules", "train.csv", "--text", "code"),
        (*EXPLAIN, "new.csv", *HOW, "out.csv"),
        ("show", "o.csv"),
    ]
    for command in commands:
        for options, said in WRONG.items():
            _, err = run(*command, *options, code=2)
            assert err.startswith("nicecf: ")
            assert err.count("\n") == 1
            assert said in err
    assert not Path("out.csv").exists()


def test_rules_in_a_german_sheet_or_in_excel_are_rules(run):
    fit(run, "plain.csv")
    sheet = pd.DataFrame({"feature": ["income", "city"], "high": ["2.250,5", ""], "immutable": ["", "yes"]})
    german(sheet, "rules.csv", "utf-8")
    _, err = run(*EXPLAIN, "new.csv", *HOW, "out.csv", "--rules", "rules.csv", "--target", "yes")
    assert "rules.csv: read with ';' between fields, decimal comma, points between thousands in 'high' (" in err
    table = pd.read_csv("out.csv", sep=";", decimal=",", encoding="cp1252")
    assert (table.loc[table["n_changes"] > 0, "income"] <= 2250.5).all()
    pd.DataFrame({"feature": ["income"], "immutable": [True]}).to_excel("rules.xlsx", index=False)
    run(*EXPLAIN, "new.csv", *HOW, "out.csv", "--rules", "rules.xlsx", code=3)


def test_options_may_be_for_the_rules_alone(run):
    fit(run, "plain.csv")
    german(pd.DataFrame({"feature": ["income"], "high": ["3.000"]}), "rules.csv")
    in_excel("plain_new.csv", "new.xlsx")
    ask = (*EXPLAIN, "new.xlsx", *HOW, "out.csv", "--rules", "rules.csv", "--target", "yes")
    assert "rules.csv: column 'high' holds '3.000', which reads both ways" in run(*ask, code=1)[1]
    run(*ask, "--decimal", ",")
    run(*ask, "--decimal", ".", code=3)


def test_what_an_encoding_cannot_hold_is_told(run):
    fit(run)
    Path("w.toml").write_text("[names]\nincome = 'income \u2192 net'\n", "utf-8")
    _, err = run(*EXPLAIN, "new.csv", *HOW, "out.csv", "--wording", "w.toml")
    assert err == f"new.csv: {SAID}out.csv: written in UTF-8 for the character \u2192, and not in cp1252\n"
    assert Path("out.csv").read_text("utf-8-sig").startswith("row;")
    _, err = run("show", "out.csv")
    assert err == "out.csv: read with ';' between fields, decimal comma (--sep, --decimal, --encoding override this)\n"


def test_results_are_written_so_that_they_are_recognised_again(run):
    fit(run)
    wording = "[names]\nincome = 'Einkommen in €'\n"
    Path("w.toml").write_text(wording, "utf-8")
    _, err = run(*EXPLAIN, "new.csv", *HOW, "out.csv", "--wording", "w.toml")
    assert err.endswith("out.csv: written in UTF-8 for the character €, and not in cp1252\n")
    assert "Einkommen in €" in run("show", "out.csv", "0", "--wording", "w.toml")[0]
    # An encoding that was named is kept: whoever named it can do so again.
    run(*EXPLAIN, "new.csv", *HOW, "out.csv", "--wording", "w.toml", "--encoding", "cp1252")
    assert "Einkommen in €" in Path("out.csv").read_text("cp1252")
    assert "its encoding cannot be told from its letters" in run("show", "out.csv", code=1)[1]
    run("show", "out.csv", "--encoding", "cp1252")


def test_training_tables_in_an_encoding_that_cannot_be_told_are_not_guessed_at(run):
    german(pd.read_csv("plain.csv").replace({"Köln": "Plzeň"}), "train.csv", "cp1250")
    _, err = run("fit", "--train", "train.csv", *FIT, "--text", "code", code=1)
    assert "'Plzeò' in cp1252, 'Plzeň' in cp1250" in err
    fit(run, "train.csv", "--encoding", "cp1250")


def test_letters_of_an_earlier_run_stop_the_next_one_before_it_explains(run, monkeypatch):
    fit(run)
    command = (*EXPLAIN, "new.csv", *HOW, "out.csv", "--letters", "letters")
    run(*command)
    run(*command)
    before = {path: path.read_bytes() for path in (Path("out.csv"), *Path("letters").iterdir())}
    assert len(before) == 1 + 2 * 6
    german(pd.read_csv("plain_new.csv").head(5), "new.csv")
    with monkeypatch.context() as patch:
        patch.setattr("nicecf.NICE.explain", None)
        _, err = run(*command, code=1)
    assert "the folder letters holds letters that are not of these rows" in err
    assert "'letter-Müller_5.html', 'letter-Müller_5.txt'" in err
    assert {path: path.read_bytes() for path in before} == before
    for ending in ("txt", "html"):
        Path(f"letters/letter-Müller_5.{ending}").unlink()
    run(*command)


def test_numbers_that_lost_leading_zeros_are_told_of(run):
    Path("zip.csv").write_text(
        "zip,day,time,n,share,label,note\n1067,2024-01-02,09:30,0,0.5,01,x\n"
        "01067,2024-01-03,09:31,-1,0.25,02, 007\n,2024-01-03,09:31,10,0.01,02,y\n"
    )
    _, err = run("rules", "zip.csv", "--label", "label")
    assert (
        "Read as numbers without their leading zeros (01067 as 1067): 'zip', 'label'. If they are codes, and the model "
        "was trained on text, add --text zip,label.\n"
    ) in err
    for options in (("--text", "zip,label"), ("--text", "label", "--ignore", "zip")):
        assert "leading zeros" not in run("rules", "zip.csv", "--label", "label", *options)[1]
    assert "leading zeros" not in fit(run, "plain.csv")[1]


def test_classes_that_are_numbers_are_shown_from_german_files(run):
    table = pd.read_csv("plain.csv").assign(decision=lambda frame: (frame["income"] > 2000) + 0.5)
    german(table.drop(columns="code"), "train.csv")
    german(table.drop(columns=["code", "decision"]).head(4), "new.csv")
    run("fit", "--train", "train.csv", *FIT[:2], "--classes", "0.5,1.5", *FIT[4:])
    run(*EXPLAIN, "new.csv", *MODEL, "--out", "out.csv")
    assert ";1,5;" in Path("out.csv").read_text("cp1252")
    assert run("show", "out.csv", "0")[0].startswith("Row 0: 1.5 (P(0.5) 1 %), would be 0.5 (P(0.5) ")


def test_text_that_may_be_numbers_is_told_in_a_plain_file(run):
    Path("pairs.csv").write_text('a,b,c,y\n"1,5","2,5",x,no\n"2,75","3,5",y,yes\n')
    _, err = run("rules", "pairs.csv", "--label", "y", "--text", "b")
    assert err.startswith(
        "Read as text, though every cell is a number with a decimal comma: 'a'. If they are numbers, add --decimal ,\n"
    )
    _, err = run("rules", "pairs.csv", "--label", "y", "--decimal", ",")
    assert "Read as text" not in err


def test_a_german_file_goes_through_a_pipe(run, monkeypatch):
    fit(run)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("new.csv").read_bytes())))
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", out)
    assert cli.main([*EXPLAIN, "-", *HOW, "-"]) == 0
    assert "Müller 0;0;True;" in out.buffer.getvalue().decode("cp1252")


def test_every_phrase_about_files_is_used_and_a_language_is_passed_on():
    from nicecf.cli import common

    source = "".join(Path(one.__file__).read_text("utf-8") for one in (common, cli.explain))
    for name in (name for name in shipped("en") if name.startswith("files.")):
        assert f'"{name}"' in source
    assert common.phrase("files.separator", mark=";", language="en") == "';' between fields"
