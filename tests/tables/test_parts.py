"""Training tables in parts: what is read does not depend on the parts, and nothing is lost between them."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from nicecf import NICE
from nicecf.benchmark.datasets import loan_book
from nicecf.exceptions import FileError, SchemaError
from nicecf.support import mapped
from nicecf.tables.files import parquet_parts
from nicecf.tables.files.parquet_parts import ParquetTable
from nicecf.tables.parts import TableInParts, read_training
from nicecf.tables.schema import Schema


def odd_table(n_rows=120):
    """Columns of which the first part tells too little."""
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "number": random.normal(size=n_rows),
            "whole": random.integers(0, 5, n_rows),
            "late_gap": np.where(np.arange(n_rows) == n_rows - 1, np.nan, np.arange(n_rows)),
            "text": random.choice(["a", "b", "c"], n_rows),
            "late_text": [None] * (n_rows - 20) + ["x", "y"] * 10,
            "late_day": [None] * (n_rows - 5) + [datetime.date(2020, 1, 1)] * 5,
            "flag": random.random(n_rows) < 0.5,
            "late_none": [True] * (n_rows - 1) + [None],
            "note": [f"note {i}" for i in range(n_rows)],
            "nullable": pd.array([*range(n_rows - 1), None], "Int64"),
            "single": random.normal(size=n_rows).astype(np.float32),
            "kind": pd.Categorical(random.choice(["low", "high"], n_rows), ["low", "mid", "high"]),
            "rank": pd.Categorical(random.choice(["low", "high"], n_rows), ["low", "mid", "high"], ordered=True),
            "when": pd.date_range("2020-01-01", periods=n_rows),
        }
    )


def written(frame, folder, n_files=3):
    folder.mkdir(exist_ok=True)
    size = -(-len(frame) // n_files)
    for i in range(n_files):
        frame.iloc[i * size : (i + 1) * size].to_parquet(folder / f"part-{i}.parquet")
    return folder


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(parquet_parts, "ROWS_IN_PART", 7)


def described(column):
    marker = type(column.missing) if column.prototype.dtype == object else None
    return (
        column.name, column.is_categorical, column.prototype.dtype, column.levels, column.has_missing,
        column.is_free_text, column.is_ordinal, column.temporal, marker,
    )  # fmt: skip


def test_what_is_read_is_what_the_whole_table_gives(tmp_path, small_parts):
    whole = odd_table()
    table = ParquetTable.of(written(whole, tmp_path / "train"))
    schema, rows = read_training(table, "auto", "rank")
    expected, values = Schema.of(whole.astype({"late_none": object}))
    assert table.n_rows == len(whole)
    np.testing.assert_array_equal(rows, values)
    for column, other in zip(schema.columns, expected.columns, strict=True):
        if column.name == "late_none":  # pandas has pd.NA there, and Parquet a null
            assert column.levels == other.levels
            continue
        assert described(column) == described(other)
    pd.testing.assert_frame_equal(
        schema.decode(rows[:40]).drop(columns="late_none"), expected.decode(values[:40]).drop(columns="late_none")
    )


def test_an_explainer_of_parts_answers_like_one_of_the_whole(tmp_path, small_parts):
    X, y = loan_book(600)
    X, new = X[["age", "income", "credit_score", "housing", "purpose"]], X.iloc[500:]
    model = make_pipeline(OrdinalEncoder(), HistGradientBoostingClassifier(max_iter=20)).fit(X, y)
    table = ParquetTable.of(written(X[:500].assign(label=y[:500]), tmp_path / "train"))
    labels = table.labels("label")
    assert isinstance(labels.dtype, pd.CategoricalDtype)
    parts = NICE(model).fit(table.without(["label"]), labels).explain(new[X.columns])
    whole = NICE(model).fit(X[:500], y[:500]).explain(new[X.columns])
    pd.testing.assert_frame_equal(parts.to_frame(), whole.to_frame())
    assert parts.donors.tolist() == whole.donors.tolist()
    one, other = (cfs.to_records()[0]["fingerprints"] for cfs in (parts, whole))
    assert one == other


def test_the_rows_are_in_a_file_and_not_in_memory(tmp_path, small_parts, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "nicecf.tables.parts.array_in_file", lambda shape: asked.append(shape) or np.zeros(shape, order="F")
    )
    read_training(ParquetTable.of(written(odd_table()[["number", "whole"]], tmp_path / "train")), "auto", "rank")
    assert asked == [(120, 2)]
    held = mapped.array_in_file((3, 2))
    held[:, 1] = [1.0, 2.0, 3.0]
    assert held.flags.f_contiguous
    assert held.base is not None
    assert held.sum() == 6.0
    assert mapped.array_in_file((0, 2)).shape == (0, 2)


def test_a_full_disk_is_told_before_anything_is_read(monkeypatch):
    def full(descriptor, start, size):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(
        FileError,
        match=r"need 0\.8 GB in .*: no space left on device\. Free some space, or let the environment variable TMPDIR",
    ):
        mapped.array_in_file((10_000_000, 10))


class Shrinking(TableInParts):
    """Says that it has more rows than it has, or fewer."""

    def __init__(self, n_said):
        self.n_said = n_said

    @property
    def n_rows(self):
        return self.n_said

    def like(self):
        return pd.DataFrame({"a": [1.0, 2.0]})

    def __iter__(self):
        yield from [self.like(), self.like()]


@pytest.mark.parametrize("n_said", [3, 5])
def test_a_table_that_changes_while_it_is_read_is_refused(n_said):
    with pytest.raises(SchemaError, match=rf"another number of rows than the {n_said} that it had a moment ago"):
        read_training(Shrinking(n_said), "auto", "rank")
    assert read_training(Shrinking(4), "auto", "rank")[1].shape == (4, 1)


def test_files_that_do_not_go_together_are_refused(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for name, other, message in [
        (
            "lacks",
            frame[["a"]],
            r"1\.parquet lacks 'b', unlike .*0\.parquet: all files of a folder must have the same columns",
        ),
        ("more", frame.assign(c=1), r"1\.parquet also has 'c', unlike"),
        ("types", frame.assign(a=["1", "2"]), r"column 'a' is (large_)?string in .*1\.parquet, but int64 in"),
    ]:
        folder = tmp_path / name
        folder.mkdir()
        frame.to_parquet(folder / "0.parquet")
        other.to_parquet(folder / "1.parquet")
        with pytest.raises(FileError, match=message):
            ParquetTable.of(folder)


def test_a_folder_must_hold_parquet_files_with_rows(tmp_path):
    with pytest.raises(FileError, match="there is no file"):
        ParquetTable.of(tmp_path / "none")
    with pytest.raises(FileError, match=r"has no Parquet files: none that ends in"):
        ParquetTable.of(tmp_path)
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "half.parquet").write_bytes(b"half")  # what Spark leaves of a job that failed
    with pytest.raises(FileError, match=r"has no Parquet files: none that ends in"):
        ParquetTable.of(tmp_path)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(FileError, match=r"bad\.parquet cannot be read as Parquet"):
        ParquetTable.of(tmp_path)
    (tmp_path / "bad.parquet").unlink()
    pd.DataFrame({"a": np.empty(0)}).to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(FileError, match="has no rows"):
        NICE(lambda X: X, classes=[0, 1], justified=False).fit(ParquetTable.of(tmp_path))


def test_columns_are_named_and_labels_are_there(tmp_path):
    table = ParquetTable.of(written(pd.DataFrame({"age": [1, 2, 3], "label": ["a", "b", None]}), tmp_path / "t", 1))
    with pytest.raises(FileError, match=r"has no column 'ages'; its columns are 'age', 'label'\. Did you mean 'age'\?"):
        table.only(["ages"])
    with pytest.raises(FileError, match=r"has 1 rows without a label in 'label'"):
        table.labels("label")
    assert table.labels("age").tolist() == [1, 2, 3]


def test_missing_values_are_found_where_a_file_does_not_tell(tmp_path):
    table = pa.table({"a": pa.array([1, None, 3]), "b": [1, 2, 3]})
    (tmp_path / "t").mkdir()
    pq.write_table(table, tmp_path / "t" / "a.parquet", write_statistics=False)
    read = ParquetTable.of(tmp_path / "t")
    assert [str(dtype) for dtype in read.like().dtypes] == ["float64", "int64"]


def test_categories_are_those_of_all_files_wherever_they_are_named(tmp_path):
    """A model may go by the codes of categories: an unused one counts, and so does their order."""
    many = [f"level {i}" for i in range(200)]
    files = [
        pd.DataFrame({"a": pd.Categorical(["x"] * 4), "late": [np.nan] * 4, "wide": pd.Categorical(many[:2] * 2)}),
        pd.DataFrame(
            {
                "a": pd.Categorical(["x", "y"] * 2, ["w", "x", "y"]),
                "late": [1.0] * 4,
                "wide": pd.Categorical(many[:2] * 2, many),
            }
        ),
    ]
    for at, frame in enumerate(files):
        frame.to_parquet(tmp_path / f"{at}.parquet")
    table = ParquetTable.of(tmp_path)
    for frame in (table.like(), *table):
        assert frame["a"].dtype == pd.CategoricalDtype(["x", "w", "y"])
        assert frame["wide"].dtype == pd.CategoricalDtype(many)
    schema, rows = read_training(table, "auto", "rank")
    assert schema.decode(rows)["a"].tolist() == ["x"] * 4 + ["x", "y"] * 2
    assert list(schema.decode(rows)["a"].dtype.categories) == ["x", "w", "y"]


def test_decimals_are_floats_also_where_the_first_file_has_none(tmp_path):
    kind = pa.decimal128(5, 2)
    pq.write_table(pa.table({"a": pa.array([None, None], kind)}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": pa.array([Decimal("1.50"), None], kind)}), tmp_path / "2.parquet")
    _, rows = read_training(ParquetTable.of(tmp_path), "auto", "rank")
    np.testing.assert_array_equal(rows[:, 0], [np.nan, np.nan, 1.5, np.nan])


def test_names_that_are_numbers(tmp_path):
    whole = pa.Table.from_pandas(pd.DataFrame({0: [1, 2], 1: [0, 1]}))
    with_gap = whole.set_column(0, "0", pa.array([1, None]))
    for at, one in enumerate((whole, with_gap)):
        pq.write_table(one, tmp_path / f"{at}.parquet")
    table = ParquetTable.of(tmp_path)
    assert table.labels("1").tolist() == table.labels(1).tolist() == [0, 1, 0, 1]
    assert {str(frame.dtypes.iloc[0]) for frame in table} == {"float64"}


def test_what_cannot_be_read_in_parts_is_said(tmp_path):
    (tmp_path / "hive" / "g=1").mkdir(parents=True)
    pd.DataFrame({"a": [1.0]}).to_parquet(tmp_path / "hive" / "g=1" / "x.parquet")
    with pytest.raises(FileError, match=r"hive is partitioned: g=1 stands for a column that x\.parquet does not have"):
        ParquetTable.of(tmp_path / "hive")
    (tmp_path / "twice").mkdir()
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["f", "f"])
    pq.write_table(twice, tmp_path / "twice" / "x.parquet")
    with pytest.raises(FileError, match=r"x\.parquet has more than one column called 'f'"):
        ParquetTable.of(tmp_path / "twice")
    (tmp_path / "lists").mkdir()
    pq.write_table(pa.table({"a": [[1], [2]], "b": [1, 2]}), tmp_path / "lists" / "x.parquet")
    with pytest.raises(SchemaError, match="column 'a'"):
        read_training(ParquetTable.of(tmp_path / "lists"), "auto", "rank")
