"""Folders of Parquet files, by the function and by the command: no half file, and no work that is lost."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

from nicecf import NICE, Constraints, FileError, OptionError, SchemaError
from nicecf.cli import main
from nicecf.engines import folders
from same_answers import check_same


@pytest.fixture
def source(rows, tmp_path):
    """Three files in two folders, one of them without rows."""
    parts = {"a.parquet": rows[:50], "day=1/b.parquet": rows[50:], "day=1/c.pq": rows[:0]}
    for name, part in parts.items():
        (tmp_path / "rows" / name).parent.mkdir(parents=True, exist_ok=True)
        part.to_parquet(tmp_path / "rows" / name)
    (tmp_path / "rows" / "_SUCCESS").touch()
    return tmp_path / "rows"


def test_a_file_of_answers_for_each_file_of_rows(loans, source, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "ROWS_AT_ONCE", 7)
    totals = folders.explain(source, loans, out=tmp_path / "out", id="customer")
    assert totals == folders.Totals(3, 0, 120, 120, None)
    names = ["a.parquet", "day=1/b.parquet", "day=1/c.pq"]
    assert sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.p*")) == names
    tables = [pq.ParquetFile(tmp_path / "out" / name).read() for name in names]
    assert len({one.schema.remove_metadata() for one in tables}) == 1
    check_same(pa.concat_tables(one.replace_schema_metadata() for one in tables), expected)


def test_a_stopped_job_goes_on_where_it_was(loans, source, tmp_path, monkeypatch):
    explained, answered = [], folders.Job.answered

    def some(job, batch, first=0):
        explained.append(batch.num_rows)
        if len(explained) == 2:
            raise KeyboardInterrupt
        return answered(job, batch, first)

    monkeypatch.setattr(folders.Job, "answered", some)
    with contextlib.suppress(KeyboardInterrupt):
        folders.explain(source, loans, out=tmp_path / "out", id="customer")
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["a.parquet"]
    first = (tmp_path / "out" / "a.parquet").stat()
    totals = folders.explain(source, loans, out=tmp_path / "out", id="customer")
    assert (totals.files, totals.kept, totals.rows) == (3, 1, 120)
    assert explained == [50, 70, 70]
    assert (tmp_path / "out" / "a.parquet").stat().st_mtime_ns == first.st_mtime_ns


class Limit:
    """A model that approves from a limit on, and is picky about a few rows."""

    classes_ = np.array(["denied", "approved"])

    def __init__(self, limit=50.0, picky=0.0):
        self.limit, self.picky = limit, picky

    def predict_proba(self, X):
        income = X["income"].to_numpy(dtype=float)
        p = ((income > self.limit) & (income % 10 != self.picky)).astype(float)
        return np.column_stack([1 - p, p])


# The models agree on all rows of this table, as far as their probabilities tell.
TRAIN = pd.DataFrame({"income": [15.0, 25.0, 45.0, 55.0, 65.0, 95.0], "age": [30.0, 40.0, 20.0, 50.0, 60.0, 25.0]})
PEOPLE = pd.DataFrame({"income": [11.0, 72.0, 33.0, 94.0], "age": [21.0, 31.0, 41.0, 51.0], "who": [*"abcd"]})


def limited(model=None, train=TRAIN, **options):
    model = Limit() if model is None else model
    labels = np.where(train["income"] > 50, "approved", "denied")
    return NICE(model, **{"classes": ["denied", "approved"], **options}).fit(train, labels)


def store(people, path):
    """Store rows so that files of other values have the same size, and the same end."""
    tail = pa.array(["x" * 40_000] * len(people))
    table = pa.Table.from_pandas(people, preserve_index=False).append_column("tail", tail)
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    os.utime(path, (1_700_000_000, 1_700_000_000))


def exchanged(people):
    """The same rows, of which two have exchanged one value."""
    return people.assign(income=people["income"].to_numpy()[[1, 0, 2, 3]])


def with_one_row_less(out):
    table = pq.read_table(out)
    pq.write_table(table.slice(1), out)  # with the metadata that it had


# What is changed between two calls: (explainer, options, rows).
CHANGES = {
    "two values exchanged": lambda: (limited(), {}, exchanged(PEOPLE)),
    "a model that differs in no training row": lambda: (limited(Limit(picky=2.0)), {}, PEOPLE),
    "other training rows": lambda: (limited(train=TRAIN.assign(age=TRAIN["age"] + 1)), {}, PEOPLE),
    "other labels": lambda: (limited(train=TRAIN[::-1].reset_index(drop=True)), {}, PEOPLE),
    "another goal": lambda: (limited(optimize="proximity"), {}, PEOPLE),
    "rules of the explainer": lambda: (limited(constraints=Constraints(immutable=["age"])), {}, PEOPLE),
    "a second model": lambda: (limited(robust_to=[Limit(51.0)]), {}, PEOPLE),
    "rules": lambda: (limited(), {"constraints": Constraints(ranges={"income": (None, 60)})}, PEOPLE),
    "target": lambda: (limited(), {"target_class": "approved"}, PEOPLE),
    "how many": lambda: (limited(), {"n_counterfactuals": 2}, PEOPLE),
    "time budget": lambda: (limited(), {"time_budget": 60.0}, PEOPLE),
    "id": lambda: (limited(), {"id": None}, PEOPLE),
}


@pytest.mark.parametrize("change", CHANGES)
def test_answers_of_anything_else_are_computed_again(tmp_path, change):
    store(PEOPLE, tmp_path / "rows.parquet")
    before = (tmp_path / "rows.parquet").stat()
    first = folders.explain(tmp_path / "rows.parquet", limited(), out=tmp_path / "out", id="who")
    again = folders.explain(tmp_path / "rows.parquet", limited(), out=tmp_path / "out", id="who")
    assert (first.kept, first.replaced, again.kept, again.replaced) == (0, 0, 1, 0)
    nice, options, people = CHANGES[change]()
    options = {"id": "who", **options}
    store(people, tmp_path / "rows.parquet")
    after = (tmp_path / "rows.parquet").stat()
    assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    totals = folders.explain(tmp_path / "rows.parquet", nice, out=tmp_path / "out", **options)
    assert (totals.kept, totals.replaced) == (0, 1)
    fresh = folders.explain(tmp_path / "rows.parquet", nice, out=tmp_path / "fresh", **options)
    assert pq.read_table(tmp_path / "out").equals(pq.read_table(tmp_path / "fresh"))
    assert (totals.rows, totals.found) == (fresh.rows, fresh.found)
    assert folders.explain(tmp_path / "rows.parquet", nice, out=tmp_path / "out", **options).kept == 1


def test_the_same_size_and_the_same_end_fool_nobody(tmp_path):
    """The files of the test above differ in their first bytes alone."""
    store(PEOPLE, tmp_path / "a.parquet")
    store(exchanged(PEOPLE), tmp_path / "b.parquet")
    one, other = ((tmp_path / name).read_bytes() for name in ("a.parquet", "b.parquet"))
    assert one != other
    assert one[-65_536:] == other[-65_536:]


def test_answers_that_lost_a_row_are_computed_again(tmp_path):
    store(PEOPLE, tmp_path / "rows.parquet")
    folders.explain(tmp_path / "rows.parquet", limited(), out=tmp_path / "out", id="who")
    with_one_row_less(tmp_path / "out" / "rows.parquet")
    assert folders.explain(tmp_path / "rows.parquet", limited(), out=tmp_path / "out", id="who").replaced == 1
    assert len(pq.read_table(tmp_path / "out")) == 4


def test_answers_of_another_version_are_computed_again(tmp_path, monkeypatch):
    store(PEOPLE, tmp_path / "rows.parquet")
    folders.explain(tmp_path / "rows.parquet", limited(), out=tmp_path / "out")
    monkeypatch.setattr(folders, "versions", lambda: {"nicecf": "next"})
    assert folders.explain(tmp_path / "rows.parquet", limited(), out=tmp_path / "out").replaced == 1


@pytest.mark.parametrize("model", ["function", "method", "service", "locked"])
def test_a_model_without_content_to_compare_is_asked_again(tmp_path, monkeypatch, model):
    store(PEOPLE, tmp_path / "rows.parquet")
    given = Limit()
    if model == "function":
        given = lambda X: Limit().predict_proba(X)
    elif model == "method":
        given = Limit().predict_proba
    elif model == "service":
        from nicecf.models.remote import RemoteModel

        monkeypatch.setattr(RemoteModel, "predict_proba", lambda self, X: Limit().predict_proba(X))
        given = RemoteModel("http://127.0.0.1:1/v1/models/loans:predict")
    else:
        given.lock = threading.Lock()
    nice = limited(given)
    kept = [folders.explain(tmp_path / "rows.parquet", nice, out=tmp_path / "out").kept for _ in range(2)]
    assert kept == [0, 0]


def test_the_code_of_a_model_is_part_of_it(tmp_path, monkeypatch):
    store(PEOPLE, tmp_path / "rows.parquet")
    monkeypatch.syspath_prepend(tmp_path)
    totals = []
    for sign in (">", ">="):
        (tmp_path / "own_model.py").write_text(
            "import numpy as np\n"
            "class Model:\n"
            "    def predict_proba(self, X):\n"
            f"        p = (X['income'].to_numpy() {sign} 72).astype(float)\n"
            "        return np.column_stack([1 - p, p])\n"
        )
        monkeypatch.delitem(sys.modules, "own_model", raising=False)
        import own_model

        nice = limited(own_model.Model(), justified=False)
        totals.append(folders.explain(tmp_path / "rows.parquet", nice, out=tmp_path / "out", id="who"))
    assert [one.replaced for one in totals] == [0, 1]
    decisions = dict(zip("abcd", pq.read_table(tmp_path / "out")["decision_before"].to_pylist(), strict=True))
    assert decisions == {"a": "denied", "b": "approved", "c": "denied", "d": "approved"}


def test_an_explainer_with_the_same_size_and_time_is_another_one(tmp_path):
    store(PEOPLE, tmp_path / "rows.parquet")
    model, path = Limit(), tmp_path / "loans.nice"
    others = TRAIN.assign(age=TRAIN["age"].to_numpy()[[1, 0, 2, 3, 4, 5]])
    limited(model, train=others).save(tmp_path / "others.nice")
    limited(model).save(path)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    size = path.stat().st_size
    folders.explain(tmp_path / "rows.parquet", path, model=model, out=tmp_path / "out")
    # The explainer is the same whether it comes from the file or not.
    assert folders.explain(tmp_path / "rows.parquet", limited(model), out=tmp_path / "out").kept == 1
    path.write_bytes((tmp_path / "others.nice").read_bytes())
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert path.stat().st_size == size
    assert folders.explain(tmp_path / "rows.parquet", path, model=model, out=tmp_path / "out").replaced == 1


def test_files_without_answers_are_not_overwritten(loans, source, rows, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    rows.to_parquet(out / "a.parquet")
    before = (out / "a.parquet").read_bytes()
    with pytest.raises(
        FileError,
        match="a.parquet is there already, and does not hold answers of nicecf. Remove it, or give another folder",
    ):
        folders.explain(source, loans, out=out, id="customer")
    assert (out / "a.parquet").read_bytes() == before
    assert not (out / "day=1").exists()


def test_answers_for_rows_that_are_gone_are_told_of(loans, source, rows, tmp_path):
    out = tmp_path / "out"
    folders.explain(source, loans, out=out, id="customer")
    (source / "a.parquet").unlink()
    with pytest.raises(
        FileError, match="out/a.parquet holds answers of an earlier call, for a file of rows that is not there any more"
    ):
        folders.explain(source, loans, out=out, id="customer")
    # One file after the other may go into a folder.
    assert folders.explain(source / "day=1" / "b.parquet", loans, out=out, id="customer").files == 1
    (out / "a.parquet").unlink()
    (out / "b.parquet").unlink()
    rows.to_parquet(out / "mine.parquet")
    assert folders.explain(source, loans, out=out, id="customer").kept == 2


def test_what_is_wrong_with_any_file_is_said_before_the_first_is_explained(loans, source, rows, tmp_path):
    rows.drop(columns="age").to_parquet(source / "z.parquet")
    with pytest.raises(SchemaError, match="no column 'age'"):
        folders.explain(source, loans, out=tmp_path / "out", id="customer")
    (source / "z.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FileError, match="z.parquet cannot be read as Parquet .* Is it complete?"):
        folders.explain(source, loans, out=tmp_path / "out", id="customer")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "out", "error", "said"),
    [
        ("rows", "rows", OptionError, "the answers must not go into .*rows itself, among the rows. Give another folder"),
        ("rows", "rows/answers", OptionError, "must not go into"),
        ("rows/a.parquet", "rows", OptionError, "must not go into"),
        ("rows", "rows/a.parquet", FileError, "a.parquet is a file; give the path of a folder"),
        ("empty", "out", FileError, "the folder .*empty has no Parquet files: none that ends in .parquet or .pq"),
        ("nowhere", "out", FileError, "there is no file .*nowhere"),
    ],
)  # fmt: skip
def test_folders_that_will_not_do_are_named(loans, source, tmp_path, given, out, error, said):
    (tmp_path / "empty").mkdir()
    with pytest.raises(error, match=said):
        folders.explain(tmp_path / given, loans, out=tmp_path / out)


@pytest.fixture
def credit(tmp_path, monkeypatch):
    """An explainer that the command can load, and rows in a folder; one cannot be explained."""
    import skops.io

    monkeypatch.chdir(tmp_path)
    X = pd.DataFrame({"income": np.arange(40.0), "age": np.arange(40)[::-1] % 7})
    model = LogisticRegression().fit(X, X["income"] > 20)
    skops.io.dump(model, "model.skops")
    NICE(model, search="greedy").fit(X, X["income"] > 20).save("credit.nice")
    os.mkdir("rows")
    X.assign(customer=range(100, 140)).to_parquet("rows/a.parquet")
    X[:2].assign(customer=[1, 2], income=[3.0, np.inf]).to_parquet("rows/b.parquet")
    return "explain credit.nice rows --model model.skops"


def run(line, capsys):
    code = main(line.split())
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command_explains_a_folder(credit, capsys):
    code, out, err = run(f"{credit} --out answers/ --id customer", capsys)
    assert code == 3
    assert out.startswith("42 rows, 41 with a counterfactual.\n")
    assert "without  1; the first: column 'income' holds an infinite value" in out
    assert "nicecf: answers/b.parquet is finished: 42 rows so far." in err or "answers/b.parquet" in err
    answers = pq.read_table("answers/a.parquet")
    assert answers.schema.field("customer").type == answers.schema.field("age").type == pa.int64()
    code, out, _ = run(f"{credit} --out answers/ --id customer", capsys)
    assert code == 3
    assert "2 of 2 files were finished before" in out
    assert "written again" not in out
    code, out, _ = run(f"{credit} --out answers/ --id customer --target True", capsys)
    assert code == 3
    assert "replaced  2 of 2 files held answers that are not known to be of the same rows," in out


def test_the_command_explains_a_file_into_a_folder(credit, capsys):
    line = credit.replace(" rows ", " rows/a.parquet ")
    assert run(f"{line} --out answers/", capsys)[0] == 0
    assert pq.read_table("answers/a.parquet")["row"].to_pylist() == list(range(40))
    assert run(f"{line} --out one.csv --ignore customer", capsys)[0] == 0


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--out answers/ --report r.html", 2, "--report is for results in one file; a folder or an engine has Parquet files with Parquet files of results, in plain words. Leave out --report"),
        ("--out answers/ --records r.jsonl", 2, "--records is for results in one file"),
        ("--out answers/ --letters letters", 2, "--letters is for results in one file"),
        ("--out -", 2, "a folder or an engine needs paths: neither TABLE nor --out can be -"),
        ("--out answers/ --ignore age", 2, "--ignore names 'age', which the explainer needs"),
        ("--out answers/ --id custommer", 2, "id='custommer', but the rows have no column 'custommer'; .* Did you mean 'customer'?"),
        ("--out answers/ --engine ray://host", 2, r"--engine 'ray://host' is not known; write the address of Spark, such as local\[2\]"),
        ("--out answers/ --engine localhost:8786", 2, "--engine 'localhost:8786' is not known; .* or of the scheduler of Dask: tcp://host:8786"),
        ("--out answers/ --engine local[2]", 2, "--engine needs --id: an engine keeps no order"),
        ("--out rows --engine local[2] --id customer", 1, "--out rows is there already; an engine writes a new folder"),
        ("--out answers --engine tcp://127.0.0.1:1 --id customer", 2, "--engine tcp://127.0.0.1:1: no scheduler of Dask answers there"),
    ],
)  # fmt: skip
def test_the_command_says_what_will_not_do(credit, capsys, monkeypatch, options, code, said):
    if "tcp://" in options:
        pytest.importorskip("distributed")
        import distributed

        monkeypatch.setattr(distributed, "Client", lambda *given, **named: (_ for _ in ()).throw(OSError("timed out")))
    got, _, err = run(f"{credit} {options}", capsys)
    assert got == code
    assert re.search(said, err), err


def test_spark_without_java_is_an_error_that_says_how_to_get_it(credit, capsys, monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    code, _, err = run(f"{credit} --out answers --engine local[2] --id customer", capsys)
    assert code == 2
    assert "Spark needs Java, which is not installed: --engine local[2] cannot be started. Install Java 17" in err


@pytest.mark.parametrize(
    ("module", "engine", "extra"), [("pyspark", "local[2]", "spark"), ("dask", "tcp://host:1", "dask")]
)
def test_an_engine_that_is_not_installed_is_named_with_the_line_that_installs_it(
    credit, capsys, monkeypatch, module, engine, extra
):
    for name in [module, f"{module}.sql", f"{module}.dataframe"]:
        monkeypatch.setitem(sys.modules, name, None)
    code, _, err = run(f"{credit} --out answers --engine {engine} --id customer", capsys)
    assert code == 1
    assert f"needs {module}, which is not installed. Install it with: pip install 'nicecf[{extra}]'" in err


@pytest.mark.deep
@pytest.mark.parametrize("engine", ["spark", "dask"])
def test_the_command_explains_a_folder_by_an_engine(credit, capsys, engine):
    """In a process of its own: what it starts ends with it."""
    with address_of(engine) as address:
        line = [*credit.split(), "--out", "answers", "--id", "customer", "--engine", address]
        done = subprocess.run([sys.executable, "-m", "nicecf.cli", *line], capture_output=True, text=True)
        assert done.returncode == 3, done.stderr
        assert done.stdout.startswith("42 rows, 41 with a counterfactual.\n")
        again = subprocess.run([sys.executable, "-m", "nicecf.cli", *line], capture_output=True, text=True)
        assert again.returncode == 1
        assert "--out answers is there already" in again.stderr
    assert run(f"{credit} --out here/ --id customer", capsys)[0] == 3
    here, there = (
        pa.concat_tables(
            pq.ParquetFile(path).read().replace_schema_metadata() for path in sorted(Path(folder).rglob("*.parquet"))
        )
        for folder in ("here", "answers")
    )
    by_id = [one.sort_by("customer").to_pylist() for one in (here, there)]
    if engine == "dask":
        by_id[1] = [line | {"changes": json.loads(line["changes"])} for line in by_id[1]]
    assert by_id[0] == by_id[1]


@contextlib.contextmanager
def address_of(engine):
    if engine == "spark":
        if shutil.which("java") is None:
            pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")
        yield "local[2]"
        return
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.deep
def test_the_command_says_what_a_model_said_on_spark(credit):
    if shutil.which("java") is None:
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")
    Path("broken.py").write_text(
        "import numpy as np\n"
        "def model(X):\n"
        "    if (X['income'] == 13).any() and len(X) < 40: raise RuntimeError('the feature store is down')\n"
        "    p = (X['income'] > 20).to_numpy(dtype=float)\n"
        "    return np.column_stack([1 - p, p])\n"
    )
    X = pd.DataFrame({"income": np.arange(40.0) + 100 * (np.arange(40.0) == 13)})
    X.assign(label=X["income"] > 20).to_csv("train.csv", index=False)
    assert (
        main(["fit", "--train", "train.csv", "--label", "label", "--model", "broken:model", "--out", "broken.nice"])
        == 0
    )
    pd.DataFrame({"income": [13.0], "customer": [1]}).to_parquet("one.parquet")
    line = "explain broken.nice one.parquet --model broken:model --out answers --id customer --engine local[1]"
    done = subprocess.run([sys.executable, "-m", "nicecf.cli", *line.split()], capture_output=True, text=True)
    assert done.returncode == 1
    assert "the feature store is down" in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("nicecf: ")
