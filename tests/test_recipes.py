"""Every recipe of the contributing page, followed to the letter in a copy of the package, gives what it promises.

The test reads the steps from the page and applies them; then this file runs itself by the copy, in a process of its own:
``python tests/test_recipes.py objective``.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from markers import deep

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "contributing.md"
RECIPES = {
    "An objective": "objective",
    "A rule": "rule",
    "A table format": "table_format",
    "A model format": "model_format",
    "A baseline": "baseline",
    "A language": "language",
}


@dataclass(frozen=True)
class Step:
    """A step of a recipe: what it says, in one line, and the file and the text of its block, if it has one."""

    says: str
    file: str | None
    text: str


def steps_of(recipe):
    """The numbered steps of a recipe."""
    section = re.search(rf"^### {recipe}\n(.*?)^##", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[1]
    steps = []
    for part in re.split(r"^\*\*\d+\.\*\* ", section, flags=re.MULTILINE)[1:]:
        block = re.search(r'^```\w+ title="([^"]+)"\n(.*?)^```$', part, re.MULTILINE | re.DOTALL)
        says = " ".join((part if block is None else part[: block.start()]).split())
        steps.append(Step(says, *(block.groups() if block else (None, ""))))
    return steps


def follow(step, folder):
    """Do what a step says to the files of a folder: copy a file, make a new one, or put lines into one."""
    copied = re.search(r"Copy `([^`]+)` to `([^`]+)`", step.says)
    if copied:
        shutil.copy(folder / copied[1], folder / copied[2])
    if step.file is None:
        assert copied, f"nothing to do: {step.says}"
        return
    assert f"`{step.file}`" in step.says, "the text must name the file: not every viewer shows the title of a block"
    path = folder / step.file
    where = re.search(r"(after|before|in place of) the line (that starts with )?`([^`]+)`", step.says)
    if where is None:
        assert "new file" in step.says
        assert not path.exists()
        path.write_text(step.text, "utf-8")
        return
    lines = path.read_text("utf-8").splitlines(keepends=True)
    at = [n for n, line in enumerate(lines) if (line.strip().startswith if where[2] else line.strip().__eq__)(where[3])]
    assert len(at) == 1, f"{step.file} has {len(at)} lines {where[3]!r}; the page names one"
    first, last = {"after": (at[0] + 1, at[0] + 1), "before": (at[0], at[0]), "in place of": (at[0], at[0] + 1)}[
        where[1]
    ]
    path.write_text("".join([*lines[:first], step.text, *lines[last:]]), "utf-8")


def test_every_recipe_of_the_page_is_followed():
    there = re.findall(r"^### (.*)$", PAGE.read_text("utf-8").partition("## How to add\n")[2], re.MULTILINE)
    assert there == [*RECIPES, "A picture", "A page of this site"]


@pytest.mark.parametrize("recipe", [*list(RECIPES)[:1], *deep(*list(RECIPES)[1:])])
def test_what_a_recipe_adds_works_everywhere(recipe, tmp_path):
    shutil.copytree(ROOT / "src" / "nicecf", tmp_path / "src" / "nicecf")
    steps = steps_of(recipe)
    assert steps
    for step in steps:
        follow(step, tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", str(Path(__file__)), RECIPES[recipe]],
        cwd=work,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


# What follows runs in a process of its own, by the copy with the recipe in it.


def nicecf(*arguments, code=0):
    """Run a command; returns what it printed, and what it complained of."""
    from nicecf.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = main([str(one) for one in arguments])
    assert ended == code, f"{arguments}: exit code {ended}\n{out.getvalue()}\n{err.getvalue()}"
    return out.getvalue() + err.getvalue()


def applicants():
    """A small table, its labels and its model; the same as files for the command line."""
    from nicecf import testing

    X, y = testing.applicants(90)
    X = X.astype({"home": str, "children": float}).reset_index(drop=True)
    y = y.reset_index(drop=True)
    X.assign(decision=y).to_csv("train.csv", index=False)
    X.head(8).to_csv("new.csv", index=False)
    Path("bank.py").write_text("from nicecf.testing import Scorecard\n\nmodel = Scorecard()\n")
    return X, y, testing.Scorecard()


FIT = ("fit", "--train", "train.csv", "--label", "decision", "--out", "bank.nice")
FIT_BANK = (*FIT, "--model", "bank:model")
EXPLAIN_BANK = ("explain", "bank.nice", "new.csv", "--model", "bank:model", "--out", "out.jsonl")


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def see_objective():
    from typing import get_args

    import numpy as np

    from nicecf import NICE, Constraints, OptionError, replay
    from nicecf.search.objectives import Goal
    from nicecf.testing import assert_same

    X, y, model = applicants()
    rows = X.head(12)

    def cost(cfs):
        return cfs.metrics()["proximity"] + 0.1 * cfs.metrics()["sparsity"]

    # The greedy search follows the reward: as a function of the user's that is written out.
    by_hand = NICE(model, optimize=lambda r: (r.score - r.previous_score) / (r.step_distance + 0.1)).fit(X, y)
    greedy = NICE(model, optimize="effort", search="greedy").fit(X, y)
    assert_same(greedy.explain(rows), by_hand.explain(rows))

    # The thorough search makes the cost small: nothing that it knows of is better, and nothing that is greedy.
    # With values of several donors, and of one.
    one_donor, thorough = (
        NICE(model, optimize="effort", search="thorough", mix_donors=mix).fit(X, y) for mix in (False, True)
    )
    for nice in (one_donor, thorough):
        best = nice.explain(rows)
        assert (cost(best) <= cost(greedy.explain(rows)) + 1e-12).all()
        least = cost(best.pareto()).groupby(best.pareto().rows).min()
        assert np.allclose(cost(best).astype(float), least.astype(float))  # older pandas hands numpy objects otherwise
        for other in ("sparsity", "proximity"):  # neither of which is the same
            assert (cost(nice.explain(X)) < cost(nice.with_search(optimize=other).explain(X)) - 1e-9).any()
        assert cost(nice.explain(rows, n_counterfactuals=2)).notna().all()
    assert (cost(thorough.explain(X)) < cost(one_donor.explain(X)) - 1e-9).any()
    assert (thorough.explain(X).donors.isna() & thorough.explain(X).found).any()

    # Under rules, with every search that comes after the first, and with a guard.
    rules = Constraints(immutable=["home"], increasing=["age"], max_changes=2)
    cheap, walked = (one.explain(rows, target_class="yes", constraints=rules) for one in (thorough, greedy))
    assert cheap.found.tolist() == walked.found.tolist()
    assert cheap.found.any()
    assert (cost(cheap) <= cost(walked) + 1e-12)[cheap.found].all()
    assert NICE(model, optimize="effort", share_donor=False).fit(X, y).explain(rows).found.all()

    # Saved and loaded, and in records.
    for nice in (greedy, thorough):
        nice.save("saved.nice")
        again = NICE.load("saved.nice", model=model)
        assert again.optimize == "effort"
        cfs = nice.explain(rows)
        assert_same(cfs, again.explain(rows))
        record = cfs.to_records()[0]
        assert record["options"]["optimize"] == "effort"
        assert replay(record, again).is_same

    # On the command line; and it is known where it is misspelt, or looked for.
    assert "effort, thorough search" in nicecf(*FIT_BANK, "--optimize", "effort")
    nicecf(*EXPLAIN_BANK)
    other = json.dumps([line["n_changes"] for line in lines_of("out.jsonl")])
    assert other == json.dumps([int(n) for n in thorough.explain(X.head(8)).metrics()["sparsity"]])
    nicecf(*EXPLAIN_BANK, "--search", "greedy", "--optimize", "effort", "--records", "records.jsonl")
    assert lines_of("records.jsonl")[0]["options"]["optimize"] == "effort"
    nicecf("replay", "records.jsonl", "--model", "bank:model")
    assert "Did you mean 'effort'?" in nicecf(*FIT_BANK, "--optimize", "efort", code=2)
    with pytest.raises(OptionError, match="choose one of .*'effort'"):
        NICE(model, optimize="effect")
    assert "effort" in get_args(Goal)


def see_rule():
    import pandas as pd

    from nicecf import NICE, Constraints, NicecfError, OptionError, Wording
    from nicecf.support import phrases
    from nicecf.testing import assert_same

    X, y, model = applicants()
    rows = X.head(20)

    def keeps(cfs, percent):
        before, after = (table["age"][cfs.found].to_numpy(float) for table in (rows, cfs.to_frame()))
        assert cfs.found.any()
        assert (abs(after - before) <= percent / 100 * before).all()
        assert (abs(after - before) > 0).any(), "a rule that nothing tries is not tested"

    # By Python, TOML and a sheet; merged with others; what makes no sense is refused.
    rules = Constraints(max_percent={"age": 20})
    assert repr(rules) == "Constraints(max_percent={'age': 20.0})"
    Path("rules.toml").write_text("[max_percent]\nage = 20\n")
    sheet = pd.DataFrame({"feature": ["age", "city"], "max_percent": [20, None], "immutable": ["", "yes"]})
    sheet.to_csv("rules.csv", index=False)
    assert Constraints.from_toml("rules.toml").to_dict() == rules.to_dict() == {"max_percent": {"age": 20.0}}
    assert Constraints.from_frame(sheet).to_dict() == {"immutable": ["city"], "max_percent": {"age": 20.0}}
    assert (rules & Constraints(max_percent={"age": 5})).to_dict() == {"max_percent": {"age": 5.0}}
    for wrong, says in ((-1, "must be a number above 0"), ("a lot", "must be a number above 0")):
        with pytest.raises(OptionError, match=says):
            Constraints(max_percent={"age": wrong})
    with pytest.raises(OptionError, match="max_percent names 'home', which is categorical"):
        NICE(model, constraints=Constraints(max_percent={"home": 5})).fit(X, y)
    with pytest.raises(OptionError, match="'age' is immutable, so it cannot be in max_percent"):
        Constraints(immutable=["age"], max_percent={"age": 5})

    # Every search keeps it, and so does what comes after where the first does not help.
    thorough = NICE(model, search="thorough").fit(X, y)
    greedy = thorough.with_search(search="greedy")
    others = Constraints(immutable=["home", "guarantor"], max_changes=2)
    for nice in (greedy, thorough, NICE(model, share_donor=False).fit(X, y)):
        keeps(nice.explain(rows, constraints=rules), 20)
        keeps(nice.explain(rows, constraints=rules & others), 20)
    front = thorough.explain(rows, constraints=rules).pareto()
    assert (abs(front.to_frame()["age"] - front.batch.table["age"]) <= 0.2 * front.batch.table["age"])[
        front.found
    ].all()

    # Where it blocks, the reason says so, and the relaxation that is offered helps.
    tight = Constraints(immutable=["home", "guarantor", "income"], max_percent={"age": 1})
    cfs = greedy.explain(rows, target_class="yes", constraints=tight)
    row = next(at for at, one in enumerate(cfs.relaxations) if one is not None and "at most 1 %" in one.rule)
    assert "'age' may change by at most 1 %" in cfs.reasons[row]
    relaxation = cfs.relaxations[row]
    assert re.match(r"allow 'age' to change from \d+ to \d+", relaxation.action)
    assert relaxation.constraints.max_percent == {}
    assert greedy.explain(rows.iloc[[row]], target_class="yes", constraints=relaxation.constraints).found.all()
    letter = cfs[row].text("letter", wording=Wording(names={"age": "your age"}))
    assert "your age may change by at most 1 %" in letter

    # Saved and loaded, and in records.
    ruled = NICE(model, constraints=rules).fit(X, y)
    ruled.save("saved.nice")
    again = NICE.load("saved.nice", model=model)
    assert again.constraints.to_dict() == rules.to_dict()
    assert_same(ruled.explain(rows), again.explain(rows))
    assert ruled.explain(rows).to_records()[0]["call"]["constraints"] == rules.to_dict()

    # On the command line.
    assert "max_percent {'age': 20.0}" in nicecf(*FIT_BANK, "--rules", "rules.toml")
    expected = thorough.explain(X.head(8), constraints=Constraints.from_frame(sheet))
    nicecf(*EXPLAIN_BANK, "--rules", "rules.csv", code=0 if expected.found.all() else 3)
    assert [line["age"] for line in lines_of("out.jsonl")] == expected.to_frame()["age"].tolist()

    # A language of before says it in English; a phrase that no language has is refused.
    english = Path(phrases.__file__).with_name("en.toml").read_text("utf-8")
    Path("xx.toml").write_text(re.sub(r"^max_percent.*\n", "", english, flags=re.MULTILINE), "utf-8")
    assert Wording(language="xx.toml").phrases["rule.max_percent"] == phrases.shipped("en")["rule.max_percent"]
    with pytest.raises(NicecfError, match=r"no phrase 'rule.max_share'; add it to phrases/en.toml"):
        phrases.english(phrases.Statement("rule.max_share"))


def see_table_format():
    import pandas as pd

    from nicecf import FileError
    from nicecf.tables import files

    X, y, _ = applicants()
    # Every type comes back.
    table = X.assign(decision=y, code=[f"{n:03}" for n in range(len(X))])
    for name in ("train.json", "train.json.gz"):
        files.write(table, name)
        pd.testing.assert_frame_equal(files.read(name), table)
    assert json.loads(Path("train.json").read_text())["code"][7] == "007"
    assert set(table.dtypes.map(str)) >= {"int64", "float64", "bool"}
    assert table.isna().any(axis=None)
    cells = files.read_cells("train.json")
    assert not cells.is_text
    assert cells.where(1234) == "row 1,234"
    for content, says in (
        (b"[1, 2", "bad.json is not JSON with a list"),
        (b"", "it needs an object of lists"),
    ):
        Path("bad.json").write_bytes(content)
        with pytest.raises(FileError, match=says):
            files.read("bad.json")

    # The command line reads and writes it, by the ending or by --format.
    files.write(X.head(8), "new.json")
    nicecf("fit", "--train", "train.json", "--ignore", "code", *FIT_BANK[3:])
    explain = ("explain", "bank.nice", "new.json", "--model", "bank:model", "--out")
    nicecf(*explain, "out.json")
    nicecf(*explain, "out.csv")
    by_csv, by_json = (files.read(f"out.{ending}") for ending in ("csv", "json"))
    pd.testing.assert_frame_equal(by_json[X.columns], by_csv[X.columns], check_dtype=False)
    assert by_json[X.columns].dtypes.equals(X.dtypes)
    assert by_json["text"].tolist() == by_csv["text"].tolist()
    assert nicecf("show", "out.json", "0") == nicecf("show", "out.csv", "0")
    Path("new.txt").write_bytes(Path("new.json").read_bytes())
    piped = nicecf(
        "explain",
        "bank.nice",
        "new.txt",
        "--model",
        "bank:model",
        "--format",
        "json",
        "--out",
        "o",
        "--out-format",
        "json",
    )
    assert "8 rows" in piped
    assert Path("o").read_bytes() == Path("out.json").read_bytes()
    says = nicecf("fit", "--format", "jsn", "--train", "train.json", *FIT_BANK[3:], code=2)
    assert "'jsn' is not known; choose one of 'json', 'csv'" in says
    assert ".json, .csv" in nicecf(
        "explain", "bank.nice", "new.doc", "--model", "bank:model", "--out", "out.csv", code=1
    )


def see_model_format():
    import numpy as np

    from nicecf import NICE
    from nicecf.models.files import load
    from nicecf.tables import files

    X, _, _ = applicants()
    X = X[["age", "income", "city"]].fillna({"income": 1.0})
    card = {"classes": ["no", "yes"], "base": -4.0, "points": {"age": 0.05, "income": 1.0}}
    Path("bank.scorecard").write_text(json.dumps(card))
    model = load("bank.scorecard")
    assert np.allclose(model.predict_proba(X.head(1).assign(age=60, income=1.0)), [[0.5, 0.5]])
    assert model.predict_proba(X.head(1).assign(age=80, income=1.0))[0, 1] > 0.7
    decided = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert set(decided) == {"no", "yes"}
    X.assign(decision=decided).to_csv("train.csv", index=False)
    X.head(8).to_csv("new.csv", index=False)

    fitted = nicecf(*FIT, "--model", "bank.scorecard", "--immutable", "city")
    assert "bank.scorecard" in fitted
    explain = ("explain", "bank.nice", "new.csv", "--out", "out.csv")
    nicecf(*explain)  # the explainer remembers which file its model is in
    found = files.read("out.csv")
    rules = NICE.load("bank.nice", model=model)
    assert found["age"].tolist() == rules.explain(X.head(8)).to_frame()["age"].tolist()
    assert (found["decision"] != found["decision_after"]).all()
    again = model.classes_[model.predict_proba(found).argmax(axis=1)]
    assert np.array_equal(again, found["decision_after"])

    Path("other.scorecard").write_text(json.dumps(card | {"base": -3.0}))
    assert "the model" in nicecf(*explain, "--model", "other.scorecard", code=1)
    Path("bank.scorecard").write_text(json.dumps(card | {"base": -3.0}))
    assert "the model file bank.scorecard has changed" in nicecf(*explain, code=1)
    Path("bad.scorecard").write_text("{}")
    assert "bad.scorecard is not a scorecard (KeyError: 'classes')" in nicecf(*FIT, "--model", "bad.scorecard", code=1)
    assert ".scorecard" in nicecf(*FIT, "--model", "model.h5", code=1)


def see_baseline():
    from nicecf import baselines, testing
    from nicecf.baselines import RandomRow
    from nicecf.benchmark.store import Store

    assert RandomRow in baselines.ALL
    assert "RandomRow" in baselines.__all__
    for check in testing.all_checks:
        check(RandomRow)
    X, y, model = applicants()
    cfs = RandomRow(model).fit(X, y).explain(X.head(8))
    assert cfs.to_records()[0]["explainer"] == "RandomRow"
    assert "training row" in cfs[0].text("analyst")

    numbers = X[["age", "children"]].fillna(0).assign(target=(X["age"] > 40).astype(int))
    numbers.to_csv("ages.csv", index=False)
    nicecf(
        *(
            "benchmark",
            "run",
            "--out",
            "results",
            "--datasets",
            "ages.csv",
            "--models",
            "rf",
            "--rows",
            "4",
            "--alone",
            "0",
        ),
        *("--methods", "random-row", "nice-none"),
    )
    records = Store.open(Path("results")).records()
    assert set(records["method"]) == {"random-row", "nice-none"}
    assert set(records["status"]) == {"found"}
    says = nicecf("benchmark", "run", "--out", "results", "--datasets", "ages.csv", "--methods", "random-rows", code=2)
    assert "Did you mean 'random-row'?" in says


def see_language():
    from nicecf import NICE, Constraints, OptionError, Wording
    from nicecf.support import phrases
    from nicecf.tables import files

    X, y, model = applicants()
    rows = X.head(6)
    thorough = NICE(model, search="thorough", neighbors=1000).fit(X, y)
    assert thorough.explain(rows).texts(wording=Wording(language="nl"))[0].startswith("Als ")

    # Now every phrase is in the language of capitals: whatever is not is a phrase that no language can word.
    file = Path(phrases.__file__).with_name("nl.toml")
    lines = [
        re.sub(r"(?<= = ).*", lambda said: in_capitals(said[0]), line) for line in file.read_text("utf-8").split("\n")
    ]
    file.write_text("\n".join(lines), "utf-8")
    phrases.shipped.cache_clear()
    capitals = Wording(
        language="nl",
        names={name: name.upper() for name in X},
        classes={label: label.upper() for label in model.classes_},
    )
    assert capitals.say("sentence.not_found", reason="X") == "NO COUNTERFACTUAL: X."
    blocked = Constraints(
        immutable=["home", "guarantor"], ranges={"age": (None, 40)}, allowed={"income": [0.5]}, max_changes=1
    )
    cfs = {
        "found": thorough.explain(rows),
        "blocked": thorough.explain(X, target_class="yes", constraints=blocked),
        "unchanged": thorough.explain(X[model.predict(X) == "no"].head(2), target_class="no"),
    }
    some = cfs["blocked"]
    assert cfs["found"].note_kinds[0] == ("neighbors",)
    assert {"blocked", "blocked_by_each"} <= set(some.reason_kinds)
    cfs["blocked"] = some[~some.found]
    for style in ("sentence", "bullets", "analyst", "letter"):
        for name, one in cfs.items():
            for text in one.texts(style, wording=capitals):
                left = re.sub(r"\b(own|rent|other|Aalst|Brugge|Gent)\b", "", text)  # values of the table
                assert left == left.upper(), f"{style}, {name}: {text}"
    relaxable = next(at for at, one in enumerate(cfs["blocked"].relaxations) if one is not None)
    letter = cfs["blocked"][relaxable].text("letter", wording=capitals)
    assert "WHAT STANDS IN THE WAY" in letter
    analyst = cfs["found"][0].text("analyst", wording=capitals)
    assert re.search(r"NOTE: \d+ OF 1,000 NEIGHBORS: THERE ARE NO MORE DONORS", analyst)

    # On the command line, by the file of a wording.
    Path("words.toml").write_text('language = "nl"\n\n[names]\nage = "LEEFTIJD"\n')
    nicecf(*FIT_BANK)
    nicecf(*EXPLAIN_BANK[:-1], "out.csv", "--wording", "words.toml")
    assert files.read("out.csv")["text"].str.startswith("ALS ").all()

    with pytest.raises(OptionError, match="language='xx' is not known; choose one of 'en', 'nl'"):
        Wording(language="xx")
    for wrong, says in (
        (r"{changes}, ", "it needs {chance} and {changes} and"),
        (None, "lacks the phrases 'sentence.found'"),
    ):
        text = "\n".join(lines)
        found = re.search(r"\[sentence\].*?\n(found = .*?\n)", text, re.DOTALL)[1]
        file.write_text(text.replace(found, "" if wrong is None else found.replace(wrong, "")), "utf-8")
        phrases.shipped.cache_clear()
        with pytest.raises(OptionError, match=says):
            Wording(language="nl")


def in_capitals(said):
    """A phrase of a TOML file in capitals, its fields as they are."""
    return re.sub(r"\{\w*\}|[^{]+", lambda part: part[0] if part[0].startswith("{") else part[0].upper(), said)


if __name__ == "__main__":
    import nicecf as copied

    assert Path(copied.__file__).is_relative_to(Path.cwd().parent), "not the copy"
    globals()[f"see_{sys.argv[1]}"]()
