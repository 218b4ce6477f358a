"""Excel in and out: every type comes back, and what would be read wrongly is an error that names the cell."""

from __future__ import annotations

import datetime as dt
import io
import sys
import tempfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf.exceptions import FileError, OptionError
from nicecf.tables.files import Layout, check_format, like, read, read_cells, read_typed, write
from nicecf.tables.schema import Schema

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def sheet_of(*rows: list[Any], merge: str | None = None, cells: dict[str, Any] | None = None) -> str:
    """A file with these rows, as a person would make it."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for where, value in (cells or {}).items():
        book.active[where] = value
    if merge:
        book.active.merge_cells(merge)
    book.save("a.xlsx")
    return "a.xlsx"


def refusal(act: Any) -> str:
    with pytest.raises(FileError) as error:
        act()
    message = str(error.value)
    assert "\n" not in message
    return message


FRAME = pd.DataFrame(
    {
        "whole": [1, 2, -3],
        "gap": [1.0, np.nan, 3.0],
        "third": [1 / 3, 2.5, -1e-300],
        "is_on": [True, False, True],
        "word": ["=1+1", "línea\nnueva", " _x0041_ \x07\r\n"],
        "some": ["x", None, "#N/A"],
        "day": pd.to_datetime(["2024-03-01", None, "1900-03-01"]),
        "moment": pd.to_datetime(["2024-03-01 12:34:56.789", "1999-12-31 23:59:59", "2024-01-01"], format="ISO8601"),
        "wait": pd.to_timedelta(["1 day 02:00:00", "0 days", None]),
        "2019": [5, 6, 7],
    }
)


def test_every_type_comes_back():
    write(FRAME, "a.xlsx")
    back = read("a.xlsx")
    pd.testing.assert_frame_equal(
        back.drop(columns="some"), FRAME.drop(columns="some"), check_dtype=False, check_exact=True
    )
    kinds = {name: kind.kind for name, kind in back.dtypes.items() if isinstance(kind, np.dtype) and kind.kind != "O"}
    assert {name: kinds[name] for name in ("whole", "gap", "third", "is_on", "day", "moment", "wait", "2019")} == {
        "whole": "i", "gap": "f", "third": "f", "is_on": "b", "day": "M", "moment": "M", "wait": "m", "2019": "i",
    }  # fmt: skip
    assert back["some"][0] == "x"
    assert pd.isna(back["some"][1])
    assert back["some"][2] == "#N/A"  # text: the error of that name is another


def test_the_rows_to_explain_are_those_of_training():
    training = FRAME.drop(columns="some")
    write(training, "a.xlsx")
    rows = like(read_cells("a.xlsx"), Schema.of(training)[0].columns)
    pd.testing.assert_frame_equal(rows, training, check_exact=True)


def test_the_same_table_is_the_same_file_at_any_time(monkeypatch):
    write(FRAME, "a.xlsx")
    first = Path("a.xlsx").read_bytes()

    class Later(dt.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2050, 1, 1, tzinfo=tz)

    monkeypatch.setattr("openpyxl.writer.excel.datetime", SimpleNamespace(datetime=Later, timezone=dt.timezone))
    write(FRAME, "a.xlsx")
    assert Path("a.xlsx").read_bytes() == first
    parts = zipfile.ZipFile(io.BytesIO(first)).infolist()
    assert {part.date_time[0] for part in parts} == {1980}


@pytest.mark.parametrize("protect", [True, False])
def test_no_cell_is_a_formula(protect):
    words = ["=1+1", "=cmd|' /C calc'!A0", "@SUM(1)", "+1+1", "-2+3", "\t=1", "#REF!", "'=1", "plain", "-1.5"]
    write(pd.DataFrame({"=name": words}), "a.xlsx", protect=protect)
    cells = [row[0] for row in openpyxl.load_workbook("a.xlsx").active.iter_rows()]
    assert {cell.data_type for cell in cells} == {"s"}
    assert [bool(cell.quotePrefix) for cell in cells] == [
        True,
        True,
        True,
        True,
        True,
        True,
        True,
        False,
        True,
        False,
        False,
    ]
    assert read("a.xlsx")["=name"].tolist() == words


TOO_MUCH = {
    "long integers": ([10**15, 1], ["1000000000000000", "1"]),
    "old dates": ([dt.datetime(1900, 2, 28), dt.datetime(2024, 1, 1)], ["1900-02-28", "2024-01-01"]),
    "dates of a zone": (pd.to_datetime(["2024-01-01 12:00+00:00"]), ["2024-01-01 12:00+00:00"]),
    "parts of a millisecond": (pd.to_datetime(["2024-01-01 00:00:00.000001"]), ["2024-01-01 00:00:00.000001"]),
    "negative durations": ([dt.timedelta(days=-1)], ["-1 day, 0:00:00"]),
    "infinite numbers": ([np.inf, 1.0], ["inf", "1.0"]),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_excel_cannot_hold_is_text_for_the_whole_column(case):
    values, expected = TOO_MUCH[case]
    write(pd.DataFrame({"a": values}), "a.xlsx")
    assert read("a.xlsx")["a"].tolist() == expected


def test_what_excel_has_no_room_for_is_refused(monkeypatch):
    message = refusal(lambda: write(pd.DataFrame({"a": ["x"], "b": ["y" * 32_768]}), "a.xlsx"))
    assert "a.xlsx cannot be written: cell B2 would hold 32,768 characters, and Excel has room for 32,767" in message
    monkeypatch.setattr("nicecf.tables.files.excel._MOST_ROWS", 3)
    write(pd.DataFrame({"a": [1, 2]}), "b.xlsx")
    message = refusal(lambda: write(pd.DataFrame({"a": [1, 2, 3]}), "b.xlsx"))
    assert "room for 2 rows and 16,384 columns, and the table has 3 and 1. Write it as .csv" in message
    assert read("b.xlsx")["a"].tolist() == [1, 2]
    assert not Path("a.xlsx").exists()


def test_rows_and_columns_without_cells_are_left_out_and_lines_keep_their_numbers():
    name = sheet_of(
        [], [None, "a", None, "b"], [None, 1, None, "x"], [], [None, 2, None, None], [None, "NA", None, "z"]
    )
    table = read_typed(name)
    assert table.frame["a"].tolist()[:2] == [1.0, 2.0]
    assert table.frame["b"].tolist()[::2] == ["x", "z"]
    assert table.frame.isna().to_numpy().tolist() == [[False, False], [False, True], [True, False]]
    assert [table.where(row) for row in range(3)] == ["row 3", "row 5", "row 6"]


def test_a_cell_that_does_not_fit_is_named_with_its_row():
    columns = Schema.of(pd.DataFrame({"a": [1.5, 2.0]}))[0].columns
    assert "a.xlsx, row 3: column 'a' holds '12k'" in refusal(
        lambda: like(read_cells(sheet_of(["a"], [1], ["12k"])), columns)
    )


BROKEN = {
    "empty": ([], {}, "sheet 'Sheet', is empty; it needs a header"),
    "a nameless column": ([["a", None, "c"], [1, 2, 3]], {}, "row 1: 'B1' should hold the name of a column, and is empty"),
    "a title": ([["Credit 2024"], ["a", "b"], [1, 2]], {}, "row 1: 'B1' should hold the name of a column, and is empty. The first row must name every column"),
    "a column beyond the names": ([["a"], [1, 2]], {}, "'B1' should hold the name of a column"),
    "merged names": ([["a", "b"], [1, 2]], {"merge": "A1:B1"}, "the cells A1:B1 are merged. Unmerge them, and fill in each cell"),
    "merged cells": ([["a", "b"], ["x", 2], [None, 3]], {"merge": "A2:A3"}, "the cells A2:A3 are merged"),
    "a formula": ([["a", "b"], [1, None]], {"cells": {"B2": "=A2+1"}}, "sheet 'Sheet', cell B2, holds a formula without a result. Open the file in Excel"),
    "an error": ([["a", "b"], [1, "#DIV/0!"]], {}, "cell B2, holds the error #DIV/0!. Correct its formula, or empty it"),
    "the same name": ([["a", "a"], [1, 2]], {}, "has several columns called 'a'"),
    "no names": ([[1.5, 7], [2, 3]], {}, "has no header: its first line holds numbers ('1.5', '7')"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("act", [read, read_cells])
def test_what_would_be_read_wrongly_is_refused(act, case):
    rows, more, said = BROKEN[case]
    message = refusal(lambda: act(sheet_of(*rows, **more)))
    assert message.startswith("a.xlsx, sheet 'Sheet'")
    assert said in message


def test_a_column_of_two_kinds_is_refused_or_read_as_text():
    name = sheet_of(["a", "b"], [1, "x"], ["C2", "y"])
    assert "a.xlsx, row 3: column 'a' holds text ('C2'), but a row above holds a number" in (
        message := refusal(lambda: read(name))
    )
    assert "--text a" in message
    assert "belongs to the header" not in message
    assert read(name, text=["a"])["a"].tolist() == ["1", "C2"]
    assert read_cells(name).frame["a"].tolist() == [1, "C2"]
    name = sheet_of(["a"], [1], [True])
    assert "holds true or false (True), but a row above holds a number" in refusal(lambda: read(name))


def test_a_second_row_of_names_is_noticed():
    name = sheet_of(["income", "opened"], ["EUR", "day"], [1, dt.date(2024, 1, 1)], [2, dt.date(2024, 1, 2)])
    message = refusal(lambda: read(name))
    assert "row 3: column 'income' holds a number (1), but a row above holds text" in message
    assert "If row 2 belongs to the header, delete it: one row names the columns." in message


def edited(name: str, changes: dict[str, str]) -> None:
    """Change the XML of the sheet, where no program does what is needed."""
    with zipfile.ZipFile(name) as file:
        parts = {entry: file.read(entry) for entry in file.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    for old, new in changes.items():
        assert old in sheet
        sheet = sheet.replace(old, new)
    with zipfile.ZipFile(name, "w") as file:
        for entry, part in (parts | {"xl/worksheets/sheet1.xml": sheet.encode()}).items():
            file.writestr(entry, part)


def test_computed_formulas_are_their_results():
    name = sheet_of(["a", "b", "c"], [1, None, "x"], cells={"B2": "=A2+1", "C2": '=""'})
    empty = '<c r="C2"><f>""</f><v />', '<c r="C2" t="str"><f>""</f><v></v>'
    edited(name, dict([("A2+1</f><v />", "A2+1</f><v>2</v>"), empty]))
    table = read(name)
    assert table["b"].tolist() == [2]
    assert table["c"].isna().all()


def test_what_a_file_says_about_its_size_is_not_believed():
    name = sheet_of(["a", "b"], [1, 2], [3, 4])
    edited(name, {'<dimension ref="A1:B3" />': '<dimension ref="A1:A2" />'})
    assert read(name).to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_a_sheet_is_the_first_that_is_seen_or_the_one_that_is_named():
    book = openpyxl.Workbook()
    book.active.title = "Hidden"
    book.active.sheet_state = "hidden"
    for number, title in enumerate(["Data", "Other"]):
        book.create_sheet(title).append(["a"])
        book[title].append([number])
    book.save("a.xlsx")
    assert read("a.xlsx")["a"].tolist() == [0]
    assert read_typed("a.xlsx").recognised == {"sheet": "Data"}
    other = read_typed("a.xlsx", layout=Layout(sheet="Other"))
    assert other.frame["a"].tolist() == [1]
    assert other.recognised == {}
    assert "has no sheet 'Others'; its sheets are 'Hidden', 'Data', 'Other'. Did you mean 'Other'?" in refusal(
        lambda: read("a.xlsx", layout=Layout(sheet="Others"))
    )
    assert read_typed(sheet_of(["a"], [1])).recognised == {}
    with pytest.raises(
        OptionError, match=r"sep \(--sep\) is for files of the format csv and tsv, and a.xlsx is not one"
    ):
        read("a.xlsx", layout=Layout(sep=";"))


@pytest.mark.parametrize("content", [b"junk" * 9, b"PK\x03\x04junk", b"\xd0\xcf\x11\xe0" * 9])
def test_what_is_not_excel_is_said(content):
    Path("a.xlsx").write_bytes(content)
    message = refusal(lambda: read("a.xlsx"))
    assert (
        "cannot be read as Excel (" if content[:1] != b"\xd0" else "is protected by a password, or an old .xls"
    ) in message


def test_a_zip_with_something_else_in_it_is_said():
    with zipfile.ZipFile("a.xlsx", "w") as file:
        file.writestr("a.txt", "x")
    assert "cannot be read as Excel (" in refusal(lambda: read("a.xlsx"))
    assert "a zip archive, such as those of Excel, not text; if it is one of these, call it .xlsx" in refusal(
        lambda: read("a.xlsx", format="csv")
    )


def test_without_openpyxl_the_message_says_what_to_install(monkeypatch):
    Path("a.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"reading a.xlsx needs openpyxl.*pip install 'nicecf\[excel\]'"):
        read("a.xlsx")
    with pytest.raises(ImportError, match=r"writing b.xlsx needs openpyxl"):
        write(FRAME, "b.xlsx")
    with pytest.raises(ImportError, match=r"pip install 'nicecf\[excel\]'"):
        check_format("out.xlsx")


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
            st.one_of(st.none(), st.floats(-1e149, 1e149)),
            st.integers(-(10**15) + 1, 10**15 - 1),
            st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(2200, 1, 1)).map(
                lambda when: when.replace(microsecond=0)
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_cell_comes_back(rows):
    frame = pd.DataFrame(rows, columns=["text", "number", "whole", "when"]).astype({"number": float})
    with tempfile.TemporaryDirectory() as folder:
        write(frame, f"{folder}/t.xlsx")
        back = like(read_cells(f"{folder}/t.xlsx"), Schema.of(frame, ["text"])[0].columns)
    for name in frame:
        assert back[name].isna().tolist() == frame[name].isna().tolist()
        assert back[name].dropna().tolist() == frame[name].dropna().tolist()
