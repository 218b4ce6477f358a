"""Named tables and files: what is read, where it is looked for, and what is refused."""

import datetime as dt
import gzip
import os
import re
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nicecf.benchmark import datasets
from nicecf.benchmark.datasets import ALIASES, PAPER, Facts, checksum, is_path, kinds, load, name_of
from nicecf.exceptions import OptionError, SchemaError

SMALL = pd.DataFrame({"code": [0, 1, 1, 2], "size": [0.5, np.nan, 2.0, 3.25], "target": [2, 1, 2, 2]})
WHOLE = SMALL.assign(size=[0.5, 1.5, 2.0, 3.25])


def real_data():
    folder = os.environ.get("NICECF_DATA")
    return folder if folder and (Path(folder) / "pmlb").is_dir() else None


REAL_DATA = real_data()  # now: the tests take NICECF_DATA out of the environment


def read_as_pmlb_does(name, local_cache_dir=None, dropna=True):
    if local_cache_dir is None:
        raise ValueError("Dataset not found in PMLB.")
    table = pd.read_csv(Path(local_cache_dir) / name / f"{name}.tsv.gz", sep="\t", compression="gzip")
    return table.dropna() if dropna else table


@pytest.fixture(autouse=True)
def pmlb(monkeypatch):
    """A pmlb that reads its cache and has no network; tests give it something to download."""
    fake = SimpleNamespace(fetch_data=read_as_pmlb_does, dataset_names=["mux6", "small", "adult", "pima"])
    monkeypatch.setitem(sys.modules, "pmlb", fake)
    monkeypatch.delenv("NICECF_DATA", raising=False)
    monkeypatch.setattr(datasets, "_MOVED_TO", "no/such/folder/{0}.tsv.gz")
    return fake


@pytest.fixture
def paper_has(monkeypatch):
    """Makes a table of the test's own the paper's dataset of that name."""

    def replace(name, table):
        n_features = table.shape[1] - 1
        facts = Facts(name, len(table), n_features, 0, n_features, 0.5, 0.5, 0.5, checksum(table))
        monkeypatch.setitem(PAPER, name, facts)

    return replace


def put(cache, name, table=SMALL):
    path = cache / name / f"{name}.tsv.gz"
    path.parent.mkdir(parents=True)
    table.to_csv(path, sep="\t", index=False)
    return path


def offers(pmlb, tables):
    """What the fake pmlb has to download; gives the list of names it was asked for."""
    asked = []

    def fetch_data(name, local_cache_dir=None, dropna=True):
        if local_cache_dir is not None:
            return read_as_pmlb_does(name, local_cache_dir, dropna)
        asked.append(name)
        if name not in tables:
            raise ValueError("Dataset not found in PMLB.")
        return tables[name].dropna() if dropna else tables[name]

    pmlb.fetch_data = fetch_data
    return asked


# The paper's table


def test_the_paper_has_forty_datasets_under_their_pmlb_names():
    assert len(PAPER) == 40
    assert all(facts.categorical + facts.numerical == facts.features for facts in PAPER.values())
    assert all(re.fullmatch("[0-9a-f]{32}", facts.checksum) for facts in PAPER.values())
    # chess and kr_vs_kp, buggyCrx and credit_a are the same rows, but their files differ in names or order.
    assert len({facts.checksum for facts in PAPER.values()}) == 40
    assert list(ALIASES) == ["GAMETES1", "GAMETES2", "GAMETES3", "GAMETES4", "Hill_Valley"]
    assert PAPER[ALIASES["Hill_Valley"]].printed == "Hill_Valley"


def test_the_printed_number_of_instances_is_kept_apart_from_the_real_one():
    assert PAPER["agaricus_lepiota"].instances == 8154
    assert PAPER["agaricus_lepiota"].shape == (8145, 23)
    assert PAPER["adult"].shape == (48_842, 15)
    assert [name for name, facts in PAPER.items() if facts.rows is not None] == ["agaricus_lepiota"]


@pytest.mark.skipif(REAL_DATA is None, reason="NICECF_DATA names no folder with pmlb in it")
@pytest.mark.parametrize("name", PAPER)
def test_the_real_datasets_are_those_of_the_paper(name):
    facts = PAPER[name]
    found = load(facts.printed, folder=REAL_DATA)
    assert found.name == name
    assert len(found.categorical) == facts.categorical
    assert found.X.shape[1] - len(found.categorical) == facts.numerical
    # The paper cut some shares where it should have rounded, and prints 0.371 for wdbc, which has 0.3726.
    assert found.y.mean() == pytest.approx(facts.imbalance, abs=2e-3)


# Datasets by name


def test_a_named_dataset_keeps_its_missing_values_and_has_labels_0_and_1(tmp_path):
    put(tmp_path, "small")
    found = load("small", folder=tmp_path)
    assert found.name == "small"
    assert list(found.X) == ["code", "size"]
    assert found.X["size"].isna().sum() == 1
    assert found.X["code"].tolist() == [0, 1, 1, 2]
    assert found.y.tolist() == [1, 0, 1, 1]
    assert found.y.dtype.kind == "i"
    assert found.labels == (1, 2)
    assert found.categorical == ["code"]


def test_the_folder_may_be_the_one_above_pmlb(tmp_path):
    put(tmp_path / "pmlb", "small")
    put(tmp_path, "small", SMALL.head(3))
    assert len(load("small", folder=str(tmp_path)).y) == 4
    assert len(load("small", folder=tmp_path / "pmlb").y) == 4


def test_the_folder_is_the_argument_then_the_environment_then_the_cache_of_the_user(tmp_path, monkeypatch):
    put(tmp_path / "given", "small", SMALL)
    put(tmp_path / "environment", "small", SMALL.head(3))
    put(tmp_path / "cache" / "nicecf" / "pmlb", "small", SMALL.head(2))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert len(load("small").y) == 2
    monkeypatch.setenv("NICECF_DATA", str(tmp_path / "environment"))
    assert len(load("small").y) == 3
    assert len(load("small", folder=tmp_path / "given").y) == 4
    monkeypatch.setenv("NICECF_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "cache").rename(tmp_path / ".cache")
    assert len(load("small").y) == 2


def test_a_short_name_stands_for_its_dataset(tmp_path, paper_has):
    name = "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_50_EDM_2_001"
    paper_has(name, WHOLE)
    put(tmp_path, name, WHOLE)
    assert load("GAMETES3", folder=tmp_path).name == name
    assert load(name, folder=tmp_path).name == name


def test_a_dataset_of_the_paper_with_another_shape_is_refused(tmp_path):
    path = put(tmp_path, "adult")
    expected = (
        f"{path} is not the dataset of the paper: it has 4 rows and 3 columns instead of 48,842 rows and 15 columns. "
        "Delete it to fetch it anew; to use a table of your own, give the path of its file."
    )
    with pytest.raises(SchemaError, match=re.escape(expected)):
        load("adult", folder=tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        WHOLE.assign(size=[0.5, 1.5, 2.0, 3.2501]),
        WHOLE.assign(target=[1, 1, 2, 2]),
        WHOLE.rename(columns={"code": "Code"}),
        WHOLE[["size", "code", "target"]],
        WHOLE.iloc[::-1],
        WHOLE.assign(size=[0.5, np.nan, 2.0, 3.25]),
    ],
    ids=["a value", "a label", "a name", "order of columns", "order of rows", "a gap"],
)
def test_a_dataset_of_the_paper_with_other_content_is_refused(changed, tmp_path, paper_has):
    paper_has("monk1", WHOLE)
    path = put(tmp_path, "monk1", changed)
    with pytest.raises(
        SchemaError, match=rf"{re.escape(str(path))} is not .*: names or values differ \(checksum .*Delete"
    ):
        load("monk1", folder=tmp_path)


def test_text_in_a_dataset_of_the_paper_is_refused(tmp_path, paper_has):
    paper_has("monk1", WHOLE)
    put(tmp_path, "monk1", WHOLE.assign(code=["a", "b", "c", "d"]))
    with pytest.raises(SchemaError, match="it holds values that are no numbers. Delete it"):
        load("monk1", folder=tmp_path)


def test_the_checksum_is_of_the_content_not_of_the_file(tmp_path, paper_has):
    paper_has("monk1", WHOLE)
    # pmlb writes what it downloads anew: other bytes, whole numbers perhaps as floats, decimals off in the last digits.
    put(tmp_path, "monk1", WHOLE.astype(float) * (1 + 4e-16) - 0.0)
    assert load("monk1", folder=tmp_path).X.shape == (4, 2)
    assert checksum(pd.DataFrame({"a": [0.0]})) == checksum(pd.DataFrame({"a": [-0.0]}))


def test_a_damaged_file_is_named(tmp_path):
    path = put(tmp_path, "small")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SchemaError, match=rf"{re.escape(str(path))} cannot be read \(\w+.*\)\. Delete it, and load"):
        load("small", folder=tmp_path)


def test_a_pmlb_dataset_has_its_label_in_target(tmp_path):
    put(tmp_path, "small")
    with pytest.raises(
        OptionError, match="label='code' is for files; the label of 'small', a PMLB dataset, is 'target'"
    ):
        load("small", folder=tmp_path, label="code")


# Downloads


def test_what_is_not_there_is_downloaded_and_kept(tmp_path, pmlb):
    asked = offers(pmlb, {"mux6": SMALL})
    first = load("mux6", folder=tmp_path / "new")
    again = load("mux6", folder=tmp_path / "new")
    assert asked == ["mux6"]
    pd.testing.assert_frame_equal(first.X, again.X)
    assert len(first.y) == 4
    assert [path.name for path in (tmp_path / "new" / "mux6").iterdir()] == ["mux6.tsv.gz"]


def test_a_dataset_that_pmlb_moved_is_fetched_from_its_new_place(tmp_path, pmlb, paper_has, monkeypatch):
    paper_has("pima", WHOLE)
    asked = offers(pmlb, {})
    monkeypatch.setattr(datasets, "_MOVED_TO", str(tmp_path / "pmlb's/_deprecated_{0}/_deprecated_{0}.tsv.gz"))
    put(tmp_path / "pmlb's", "_deprecated_pima", WHOLE)
    assert load("pima", folder=tmp_path / "cache").name == "pima"
    assert load("pima", folder=tmp_path / "cache").name == "pima"
    assert asked == ["pima"]
    assert (tmp_path / "cache" / "pima" / "pima.tsv.gz").is_file()


def test_only_moved_datasets_are_looked_for_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "_MOVED_TO", str(tmp_path / "_deprecated_{0}" / "_deprecated_{0}.tsv.gz"))
    put(tmp_path, "_deprecated_adult", WHOLE)
    with pytest.raises(SchemaError, match="could not be downloaded"):
        load("adult", folder=tmp_path / "cache")


def test_a_copy_of_the_newest_pmlb_serves_as_the_folder(tmp_path, paper_has):
    paper_has("pima", WHOLE)
    put(tmp_path, "_deprecated_pima", WHOLE)
    assert load("pima", folder=tmp_path).name == "pima"


@pytest.mark.parametrize("name", ["adult", "pima", "mux6"])
def test_a_failed_download_says_what_was_looked_for_and_what_to_do(name, tmp_path):
    path = tmp_path / name / f"{name}.tsv.gz"
    expected = (
        rf"there is no file {re.escape(str(path))}, and the dataset '{name}' could not be downloaded \(\w+: .*\)\. "
    )
    with pytest.raises(SchemaError, match=expected + "Connect to .* folder= here, --data in .*, NICECF_DATA") as caught:
        load(name, folder=tmp_path)
    assert caught.value.__cause__ is not None
    assert list(tmp_path.iterdir()) == []


def test_long_reasons_are_cut(tmp_path, pmlb):
    def fetch_data(name, **options):
        raise ConnectionError("no route " * 100)

    pmlb.fetch_data = fetch_data
    with pytest.raises(SchemaError, match=r"ConnectionError: no route .*\.\.\.\)") as caught:
        load("adult", folder=tmp_path)
    assert len(str(caught.value)) < 700


def test_a_wrong_download_is_not_kept(tmp_path, pmlb):
    offers(pmlb, {"adult": SMALL})
    with pytest.raises(SchemaError, match="what PMLB offers as 'adult' is not .* it has 4 rows .* It was not kept"):
        load("adult", folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, pmlb):
    offers(pmlb, {"mux6": SMALL})
    (tmp_path / "mux6").write_text("in the way")
    with pytest.raises(OptionError, match=r"cannot be kept as .*mux6\.tsv\.gz \(FileExistsError.*Name a folder"):
        load("mux6", folder=tmp_path)


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, pmlb, monkeypatch):
    offers(pmlb, {"mux6": SMALL})

    def full(self, path, **options):
        Path(path).write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(OptionError, match="No space left on device"):
        load("mux6", folder=tmp_path)
    assert list((tmp_path / "mux6").iterdir()) == []


def test_the_folder_must_be_one(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=r"folder='.*file' is a file; name the folder"):
        load("adult", folder=tmp_path / "file")


def test_the_real_pmlb_reads_a_cache_as_the_fake_one_does(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "pmlb")
    real = pytest.importorskip("pmlb")
    put(tmp_path, "small")
    found = load("small", folder=tmp_path)
    pd.testing.assert_frame_equal(found.X, SMALL.drop(columns="target"))
    assert set(PAPER) <= set(real.dataset_names) | {f"_deprecated_{name}" for name in real.dataset_names}


def test_without_pmlb_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pmlb", None)
    with pytest.raises(
        ImportError, match=r"loading the dataset 'adult' needs pmlb, .* pip install 'nicecf\[benchmark\]'"
    ):
        load("adult", folder=tmp_path)
    with pytest.raises(OptionError, match=r"'adul' is not known; .*nicecf\[benchmark\]'.* Did you mean 'adult'\?"):
        load("adul", folder=tmp_path)


# Names and paths


@pytest.mark.parametrize(
    ("given", "meant"),
    [("adlut", "adult"), ("GAMETTES4", "GAMETES4"), ("mux66", "mux6"), ("Hill_Valleys", "Hill_Valley")],
)
def test_an_unknown_name_is_refused_with_the_one_that_was_meant(given, meant, tmp_path):
    with pytest.raises(
        OptionError, match=rf"dataset '{given}' is not known; .*CSV or Parquet file\. Did you mean '{meant}'\?"
    ):
        load(given, folder=tmp_path)
    with pytest.raises(OptionError, match=f"Did you mean '{meant}'"):
        name_of(given, folder=tmp_path)


@pytest.mark.parametrize("given", ["", "zzzz", ".."])
def test_a_name_like_no_other_gets_no_suggestion(given, tmp_path):
    with pytest.raises(OptionError, match=r"is not known; .*CSV or Parquet file\.$"):
        load(given, folder=tmp_path)


@pytest.mark.parametrize("given", [None, 3, ["adult"], b"adult"])
def test_a_dataset_is_given_by_text_or_a_path(given):
    with pytest.raises(OptionError, match="given by its name or the path of a file, got"):
        load(given)


def test_a_name_of_the_paper_is_never_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("adult").touch()
    Path("other").touch()
    assert not is_path("adult")
    assert is_path("other")
    assert is_path(Path("adult"))
    assert is_path("./adult")
    assert is_path("NOT_THERE.CSV")
    with pytest.raises(
        OptionError, match=r"other is no table that can be read; the name must end in one of '\.csv', '\.csv\.gz'"
    ):
        load("other")


def test_names_are_known_without_loading(tmp_path):
    put(tmp_path, "mine")
    (tmp_path / "My table.CSV.gz").touch()
    assert name_of("GAMETES1") == "GAMETES_Epistasis_2_Way_20atts_0.1H_EDM_1_1"
    assert name_of("adult", folder=tmp_path) == "adult"
    assert name_of("mine", folder=tmp_path) == "mine"
    assert name_of(tmp_path / "My table.CSV.gz") == "My table"
    with pytest.raises(SchemaError, match=r"there is no file .*gone\.csv; give the path"):
        name_of(tmp_path / "gone.csv")


# Files


def write(path, table):
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet(path)
    else:
        table.to_csv(path, sep="\t" if ".tsv" in path.name else ",", index=False)
    return path


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".CSV"])
def test_a_file_stands_in_for_a_dataset(ending, tmp_path):
    words = pd.DataFrame(
        {"age": [20, 30, 40], "job": ["a", None, "b"], "ok": ["yes", "no", "yes"], "new": [True, False, True]}
    )
    path = write(tmp_path / f"my.loans{ending}", words)
    found = load(str(path), label="ok")
    assert found.name == "my.loans"
    assert list(found.X) == ["age", "job", "new"]
    assert found.X["job"].isna().tolist() == [False, True, False]
    assert found.categorical == ["age", "job", "new"]
    assert found.y.tolist() == [1, 0, 1]
    assert found.labels == ("no", "yes")
    assert load(path, label="new").labels == (False, True)


def test_the_label_of_a_file_is_target_unless_named(tmp_path):
    path = write(tmp_path / "a.csv", SMALL)
    assert load(path).labels == (1, 2)
    two = write(tmp_path / "b.csv", SMALL.rename(columns={"target": "targets"}))
    with pytest.raises(
        SchemaError,
        match=r"b has no column 'target'; its columns are 'code', 'size', 'targets'\. Did you mean 'targets'\? .*label=",
    ):
        load(two)
    with pytest.raises(SchemaError, match=r"no column 'tarlets'; its columns are .*\. Did you mean 'targets'\?$"):
        load(two, label="tarlets")


def test_a_file_with_another_separator_is_noticed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;target\n1;2;0\n3;4;1\n")
    with pytest.raises(SchemaError, match=r"its columns are 'a;b;target'\..* by commas in \.csv"):
        load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a\.csv cannot be read \(EmptyDataError: No columns to parse from file\)\. Check that"),
        ("a,target\n", r"a\.csv has no rows below its header"),
        ("target\n0\n1\n", "a has no features: its only column is the label 'target'"),
        ("a,b,a,b,c,target\n1,2,3,4,5,0\n1,2,3,4,5,1\n", r"a\.csv has several columns named 'a', 'b'; give each"),
        (",a,target\n0,5,0\n1,6,1\n", r"a\.csv has no name over column 1\. If it is a saved index, .*index=False"),
        ("a,target\n1,2,0\n3,4,1\n", r"a\.csv cannot be read \(ParserWarning: Length of header .* does not match"),
        ("a,target\n1,0\n3,4,1\n", r"a\.csv cannot be read \(ParserError: .* Expected 2 fields in line 3, saw 3"),
        ("a,b,c,target\n1,,,0\n2,,,1\n", "a has no value at all in 'b', 'c'; leave such columns out"),
        ("a,target\n1,0\n2,\n3,1\n4,\n", "a has 2 of 4 rows without a label in 'target'; remove these rows"),
        (
            "a,target\n1,x\n2,x\n",
            r"a has 1 class\(es\) in 'target', but exactly two are needed: 'x' \(2 rows\)\. Leave",
        ),
        ("a,target\n1,0\n2,5\n3,5\n4,7\n", r"has 3 class\(es\) .*: 0 \(1 rows\), 5 \(2 rows\), 7 \(1 rows\)\."),
        (
            "a,target\n" + "".join(f"1,{i}\n" for i in range(1_010)),
            r"has 1,010 class\(es\) .*7 \(1 rows\), 1,002 more\.",
        ),
    ],
)
def test_a_file_that_does_not_do_is_refused(text, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(SchemaError, match=message):
        load(path)


def test_marks_and_commas_that_spreadsheets_leave_do_no_harm(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeffage,"home, owned",target\r\n20,1,0,\r\n30,0,1,\r\n'.encode())
    assert list(load(path).X) == ["age", "home, owned"]
    assert load(path).X["age"].tolist() == [20, 30]


def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"a,target\n1,0\n2,1\n"))
    (tmp_path / "a.csv.gz").write_text("a,target\n1,0\n2,1\n")
    (tmp_path / "a.parquet").write_text("a,target\n1,0\n2,1\n")
    (tmp_path / "folder.csv").mkdir()
    for name in ["a.csv", "a.csv.gz", "a.parquet"]:
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow")
        with pytest.raises(
            SchemaError, match=rf"{name} cannot be read \(\w+: .*\)\. Check that it is a whole table"
        ) as caught:
            load(tmp_path / name)
        assert caught.value.__cause__ is not None
    with pytest.raises(SchemaError, match=r"there is no file .*folder\.csv"):
        load(tmp_path / "folder.csv")


def test_parquet_needs_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"reading a\.parquet needs pyarrow, which is not installed"):
        load(tmp_path / "a.parquet")


def test_types_that_others_define_in_parquet_are_refused(tmp_path):
    path = write(tmp_path / "a.parquet", SMALL.assign(month=pd.period_range("2024-01", periods=4, freq="M")))
    with pytest.raises(SchemaError, match="column 'month' is of the extension type 'pandas.period'"):
        load(path)


def test_a_saved_index_of_parquet_is_no_feature(tmp_path):
    path = write(tmp_path / "a.parquet", SMALL.set_index(pd.Index([7, 8, 9, 7], name="id")))
    found = load(path)
    assert list(found.X) == ["code", "size"]
    assert found.X.index.tolist() == [0, 1, 2, 3]


def test_decimals_of_parquet_are_numbers(tmp_path):
    path = write(tmp_path / "a.parquet", SMALL.assign(size=[Decimal("1.5"), None, Decimal("2"), Decimal("3")]))
    found = load(path)
    assert found.X["size"].dtype == np.float64
    assert found.categorical == ["code"]


def test_labels_of_two_kinds_have_no_order(tmp_path):
    with pytest.raises(SchemaError, match="a has labels that cannot be put in order: 1, 'x'. Make both text"):
        datasets._dataset("a", pd.DataFrame({"a": [1, 2], "target": pd.Series([1, "x"], dtype=object)}), "target")


def test_categories_of_the_label_that_no_row_has_are_no_classes(tmp_path):
    path = write(tmp_path / "a.parquet", SMALL.assign(target=pd.Categorical([*"baba"], categories=[*"cba"])))
    assert load(path).labels == ("a", "b")
    assert load(path).y.tolist() == [1, 0, 1, 0]


# Kinds of features


@pytest.mark.parametrize(
    ("values", "is_categorical"),
    [
        (list(range(10)), True),
        (list(range(11)), False),
        ([float(i) for i in range(10)] * 2, True),
        ([0.0, 1.0, 1.5], False),
        ([0.0, 1.0, np.nan], True),
        ([*range(10), None], True),
        ([1.0, np.inf], False),
        ([-3, 5, 10**12], True),
        (pd.array([1, 2, None], dtype="Int64"), True),
        (pd.array([*range(11), None], dtype="Int64"), False),
        ([True, False], True),
        (pd.array([True, None], dtype="boolean"), True),
        ([str(i) for i in range(50)], True),
        (pd.Categorical([i / 2 for i in range(50)]), True),
        ([Decimal("1.5"), Decimal("2")], False),
        (pd.Series(["a", 1, None], dtype=object), True),
        ([np.nan, np.nan], True),
    ],
)
def test_whole_numbers_with_at_most_ten_values_are_categories(values, is_categorical):
    assert kinds(pd.DataFrame({"a": values})) == ["a"] * is_categorical


@pytest.mark.parametrize("values", [pd.to_datetime(["2020-01-01"]), [dt.date(2020, 1, 1)], [pd.Timedelta("1h")]])
def test_dates_are_neither_numbers_nor_categories(values):
    with pytest.raises(SchemaError, match="column 'when' holds values of kind .*; only numbers, text"):
        kinds(pd.DataFrame({"when": values}))


def test_datasets_of_generated_and_readable_tables_are_found_where_they_were():
    from nicecf.benchmark import loan_book

    assert datasets.loan_book is loan_book.loan_book
    assert callable(datasets.adult)
