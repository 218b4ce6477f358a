"""How CSV is laid out: what is recognised is right, what reads both ways is asked, and nothing else is touched."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf.exceptions import FileError, NicecfError, OptionError
from nicecf.tables.files import (
    Layout,
    in_plain_numbers,
    like,
    look_like_decimal_commas,
    read,
    read_cells,
    read_typed,
    with_decimal,
    write,
)
from nicecf.tables.schema import Schema


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Store a file, and give its name."""
    monkeypatch.chdir(tmp_path)

    def store(content: str | bytes, name: str = "a.csv", encoding: str = "utf-8") -> str:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return name

    return store


def refusal(act: Any, kind: type[NicecfError] = FileError) -> str:
    with pytest.raises(kind) as error:
        act()
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


# The text of a file, the values that must come out, and what is recognised.
FILES = {
    "plain": ("a,b\n1.234,x\n2.5,y\n", {"a": [1.234, 2.5], "b": ["x", "y"]}, {}),
    "semicolons": ("a;b\n1;x\n2;y\n", {"a": [1, 2], "b": ["x", "y"]}, {"sep": ";"}),
    "tabs": ("a\tb\n1\tx, y\n2\ty;z\n", {"a": [1, 2], "b": ["x, y", "y;z"]}, {"sep": "\t"}),
    "bars": ("a|b\n1|x\n", {"a": [1], "b": ["x"]}, {"sep": "|"}),
    "decimal commas": ("a;b\n1,5;x, y\n-,25;y\n", {"a": [1.5, -0.25], "b": ["x, y", "y"]}, {"sep": ";", "decimal": ","}),
    "commas in the header": ('a;"b, c"\n1,5;2\n', {"a": [1.5], "b, c": [2]}, {"sep": ";", "decimal": ","}),
    "semicolons and points": ("a;b\n1.5;1.234\n2;3.25\n", {"a": [1.5, 2.0], "b": [1.234, 3.25]}, {"sep": ";"}),
    "thousands points": ("a;b\n1.234,56;x\n999;y\n", {"a": [1234.56, 999.0], "b": ["x", "y"]}, {"sep": ";", "decimal": ","}),
    "thousands points twice": ("a;b\n1.234.567;1\n2;1\n", {"a": [1_234_567, 2], "b": [1, 1]}, {"sep": ";", "decimal": ","}),
    "thousands commas": ('a,b\n"1,234.56",x\n999,y\n', {"a": [1234.56, 999.0], "b": ["x", "y"]}, {}),
    "a column that another decides": ("a;b\n1.234;0,5\n5;1\n", {"a": [1234, 5], "b": [0.5, 1.0]}, {"sep": ";", "decimal": ","}),
    "a column that a point decides": ("a;b\n1.234;0.5\n5;1\n", {"a": [1.234, 5.0], "b": [0.5, 1.0]}, {"sep": ";"}),
    "a quoted column that a point decides": ('a,b\n"1,234",0.5\n5,1\n', {"a": [1234, 5], "b": [0.5, 1.0]}, {}),
    "a leading zero decides": ("a;b\n0.125;x\n1.250;y\n", {"a": [0.125, 1.25], "b": ["x", "y"]}, {"sep": ";"}),
    "four digits decide": ("a;b\n1234,567;x\n", {"a": [1234.567], "b": ["x"]}, {"sep": ";", "decimal": ","}),
    "exponents": ("a;b\n1,5e3;x\n", {"a": [1500.0], "b": ["x"]}, {"sep": ";", "decimal": ","}),
    "missing cells": ("a;b\n1,5;NA\n;2\n1.#IND;3\n", {"a": [1.5, np.nan, np.nan], "b": [np.nan, 2, 3]}, {"sep": ";", "decimal": ","}),
    "dates of Germany stay text": ("a;b\n31.12.2024;1,5\n", {"a": ["31.12.2024"], "b": [1.5]}, {"sep": ";", "decimal": ","}),
    "pairs stay text": ('a,b\n"1,5",1\n"2,3",2\n', {"a": ["1,5", "2,3"], "b": [1, 2]}, {}),
    "text with commas stays text": ('a,b\n"Doe, Jane",1\n"1,234",2\n', {"a": ["Doe, Jane", "1,234"], "b": [1, 2]}, {}),
    "addresses stay text": ("a;b\n10.0.0.1;1,5\n", {"a": ["10.0.0.1"], "b": [1.5]}, {"sep": ";", "decimal": ","}),
    "a line for Excel": ("sep=;\r\na;b\r\n1;x\r\n", {"a": [1], "b": ["x"]}, {"sep": ";"}),
    "one column": ("a\n1.234\n", {"a": [1.234]}, {}),
    "a file of tabs by its name": ("a\tb\n1\tx\n", {"a": [1], "b": ["x"]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_a_file_is_read_as_it_is_laid_out(stored, case):
    content, expected, recognised = FILES[case]
    table = read_typed(stored(content, "a.tsv" if "by its name" in case else "a.csv"))
    pd.testing.assert_frame_equal(table.frame, pd.DataFrame(expected))
    assert table.recognised == recognised


def test_columns_with_thousands_are_named(stored):
    name = stored("a;b;c\n1.234,5;1.000;2,5\n1;2;3\n")
    assert read_typed(name).grouped == ("a", "b")
    assert with_decimal(read_cells(name), ["b", "c"]).grouped == ("b",)
    assert read_typed(stored("a;b\n1,5;x\n1.#IND;y\n")).grouped == ()


def test_the_last_line_of_a_column_decides_too(stored):
    few = "".join(f"{number}.234;x\n" for number in range(1, 900))
    assert "reads both ways" in refusal(lambda: read(stored(f"a;b\n{few}")))
    assert read(stored(f"a;b\n{few}1,5;x\n"))["a"].tolist()[-2:] == [899_234, 1.5]
    assert read(stored(f"a;b\n{few}1.5;x\n"))["a"].tolist()[-2:] == [899.234, 1.5]
    assert read(stored(f"a;b\n{few}1,5;x\nno;x\n", "b.csv"))["a"].tolist()[-3:] == ["899.234", "1,5", "no"]


# What is asked for, and the option that answers.
UNCLEAR = {
    "one point": ("a;b\n1.234;x\n7;y\n", "'1.234', which reads both ways: as 1.234 with a decimal point, as 1234 with a decimal comma"),
    "one comma": ("a;b\n1,234;x\n7;y\n", "'1,234', which reads both ways: as 1234 with a decimal point, as 1.234 with a decimal comma"),
    "tabs": ("a\tb\n1.234\tx\n", "'1.234', which reads both ways"),
    "quoted": ('a,b\n"1,234",x\n', "'1,234', which reads both ways"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNCLEAR)
def test_a_column_that_reads_both_ways_is_an_error_that_names_the_option(stored, case):
    content, said = UNCLEAR[case]
    name = stored(content)
    message = refusal(lambda: read(name))
    assert f"a.csv: column 'a' holds {said}" in message
    assert "--decimal . or --decimal ," in message
    assert "--text a" in message
    by_point, by_comma = (read(name, layout=Layout(decimal=mark))["a"][0] for mark in ".,")
    assert {by_point, by_comma} == {1.234, 1234}
    assert (by_comma == 1.234) == ("," in said[:7])
    assert read(name, text=["a"])["a"][0] in ("1.234", "1,234")


def test_a_column_with_both_marks_is_asked_for_whichever_comes_first(stored):
    for content in ('a,b\n1.234,x\n"1,234",x\n', 'a,b\n"1,234",x\n1.234,x\n'):
        assert "holds '1,234', which reads both ways" in refusal(lambda content=content: read(stored(content)))


def test_columns_that_contradict_each_other_are_both_named(stored):
    name = stored("version;price\n1.5;2,75\n")
    message = refusal(lambda: read(name))
    assert "decimal points in column 'version' ('1.5') and decimal commas in 'price' ('2,75')" in message
    assert "--text version or --text price" in message
    table = read(name, text=["version"])
    assert (table["version"][0], table["price"][0]) == ("1.5", 2.75)
    assert "'01.234'" in refusal(lambda: read(stored("a;b\n01.234;1,5\n")))
    # Of its cells, the one that decides is named.
    assert "column 'a' ('2.5')" in refusal(lambda: read(stored("a;b\n1.234;1,5\n2.5;1,5\n")))


def test_separators_that_fit_both_are_asked_for(stored):
    name = stored("age;income, net\n30;1500,50\n")
    message = refusal(lambda: read(name))
    assert "can be read with commas or with semicolons between its fields" in message
    assert "(--sep ',' or --sep ';')" in message
    assert read(name, layout=Layout(sep=";"))["income, net"][0] == 1500.5
    assert list(read(name, layout=Layout(sep=","))) == ["age;income", " net"]
    assert read(stored("age;income, net\n30;1500,50\n30;1500\n", "b.csv"))["income, net"].tolist() == [1500.5, 1500]
    assert "can be read with commas or with semicolons" in refusal(lambda: read(stored('a"x;b, c\n1;2,5\n')))
    assert list(read_cells(stored("age;income, net\n")).frame) == ["age;income", " net"]  # no row tells: as it was


def test_the_first_lines_choose_the_separator_of_a_long_file_and_all_are_checked(stored, monkeypatch):
    monkeypatch.setattr("nicecf.tables.files.separated._SAMPLE", 40)
    monkeypatch.setattr("nicecf.tables.files.separated._LINES", 3)
    content = "a;b\n" + "1,5;x, y\n" * 40
    assert read(stored(content)).shape == (40, 2)
    assert "line 42, has 3 cells (with semicolons between them)" in refusal(lambda: read(stored(content + "1;2;3\n")))
    # What fits both in the first lines is looked at as a whole.
    both = "age;income, net\n" + "30;1500,50\n" * 4
    assert read(stored(both + "30;1500\n"))["income, net"].tolist() == [1500.5] * 4 + [1500]
    monkeypatch.setattr("nicecf.tables.files.separated._SAMPLE", len("age;income, net\n30;1500,50\n30;1500"))
    assert "can be read with commas or with semicolons" in refusal(lambda: read(stored(both)))


def test_lines_are_counted_from_the_one_that_names_the_separator(stored):
    assert "line 4, has 1 cell" in refusal(lambda: read(stored("sep=;\na;b\n1;x\n1\n")))
    assert "line 3, has 2 cells" in refusal(lambda: read(stored("sep=;\na;b;c\n1;x\n"), layout=Layout(sep=";")))


@pytest.mark.parametrize("blank", ["", "  ", "\t", '""'])
def test_a_blank_line_in_a_table_with_one_column_is_a_missing_cell(stored, blank):
    name = stored(f'a\r\n"x\r\ny"\r\n{blank}\r\n7\r\nNA\r\n\r\n\r\n')
    cells = read_cells(name)
    assert cells.frame["a"].tolist() == ["x\r\ny", "", "7", "NA"]
    assert [cells.where(row) for row in range(4)] == ["line 2", "line 4", "line 5", "line 6"]
    numbers = read(stored(f"a\n1,5\n{blank}\n2\n", "b.csv"), layout=Layout(sep=";"))
    np.testing.assert_array_equal(numbers["a"], [1.5, np.nan, 2])
    column = Schema.of(pd.DataFrame({"a": [1.5, 2.0, 3.0]}), [])[0].columns
    assert "a.csv, line 2: column 'a' holds 'x" in refusal(lambda: like(cells, column))
    name = stored(f"a\n\n1\n{blank}\nno\n", "b.csv")
    assert "b.csv, line 5: column 'a' holds 'no'" in refusal(lambda: like(read_cells(name), column))


def test_as_many_rows_are_read_as_a_file_has_whatever_is_blank_in_it(stored):
    cells = ['""', '" "', " ", "", "1", '"a\nb"', '"\n"', '"\r\n"']
    rng = np.random.default_rng(0)
    n_read = 0
    for sep, n_columns in [(",", 1), (",", 2), (" ", 2), ("tab", 1), ("tab", 2)]:
        mark = "\t" if sep == "tab" else sep
        for _ in range(40):
            rows = [mark.join(rng.choice(cells, n_columns)) for _ in range(4)]
            if n_columns > 1 and any(len(row.split(mark)) != n_columns or not row for row in rows):
                continue  # a blank before the separator " "
            content = mark.join("xyz"[:n_columns]) + "\n" + "\n".join([*rows, mark.join(["1"] * n_columns)]) + "\n"
            assert len(read(stored(content), layout=Layout(sep=sep))) == 5
            assert len(read_cells(stored(content), layout=Layout(sep=sep)).frame) == 5
            n_read += 1
    assert n_read > 150


ENCODED = {
    "utf-8-sig": "utf-8-sig",
    "utf-16": "utf-16",
    "utf-16-be with a mark": "utf-16",
    "cp1252": "cp1252",
    "latin-1": "cp1252",
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_encodings_are_recognised(stored, encoding):
    text = "größe;ort\n1,5;Köln, Straße 1\n2;Pécs\n"
    content = "\ufeff" + text if "mark" in encoding else text
    table = read_typed(stored(content, encoding=encoding.partition(" ")[0]))
    assert table.frame.to_dict("list") == {"größe": [1.5, 2.0], "ort": ["Köln, Straße 1", "Pécs"]}
    assert table.layout.encoding == ENCODED[encoding]
    assert table.recognised.get("encoding") == (None if "utf-8" in encoding else ENCODED[encoding])


@pytest.mark.parametrize("encoding", ["cp1252", "cp1250", "cp1254", "cp1257", "latin-1", "iso8859-2", "iso8859-15"])
def test_letters_that_all_latin_encodings_share_are_read_as_they_were_written(stored, encoding):
    words = [*"ÄÖÜäöüßéó", "Pécs", "Kraków"]
    name = stored("a;b\n" + "".join(f"{word};1\n" for word in words), encoding=encoding)
    assert read(name)["a"].tolist() == words


@pytest.mark.parametrize(
    ("word", "encoding", "said"),
    [
        ("Plzeň", "cp1250", "'Plzeò' in cp1252, 'Plzeň' in cp1250, 'Plzeт' in cp1251, 'PlzeÚ' in mac-roman"),
        ("Łódź", "cp1250", "'£ódŸ' in cp1252, 'Łódź' in cp1250"),
        ("Győr", "cp1250", "'Gyõr' in cp1252, 'Győr' in cp1250"),
        ("Köln", "mac-roman", "'Kšln' in cp1252, 'Kšln' in cp1250, 'Kљln' in cp1251, 'Köln' in mac-roman"),
        ("Málaga", "mac-roman", "'M‡laga' in cp1252"),
        ("Malmö, Åre", "cp1252", "'Åre' in cp1252, 'Ĺre' in cp1250"),
        ("5 €", "cp1252", "'€' in cp1252"),
        ("İzmir", "cp1254", "'Ýzmir' in cp1252"),
        ("Klaipėda", "cp1257", "'Klaipëda' in cp1252"),
        ("да", "cp1251", "'äà' in cp1252, 'äŕ' in cp1250, 'да' in cp1251"),
        ("für", "cp850", "'fЃr' in cp1251, 'fÅr' in mac-roman"),
    ],
)
def test_letters_that_encodings_do_not_share_are_asked_for(stored, word, encoding, said):
    name = stored(f"a;b\nUlm;1\n{word};2\n", encoding=encoding)
    message = refusal(lambda: read(name))
    assert message.startswith(
        "a.csv, line 3, is not UTF-8, and its encoding cannot be told from its letters: it holds "
    )
    assert said in message
    assert "Name its encoding (such as --encoding cp1252), or save it as UTF-8." in message
    assert read(name, layout=Layout(encoding=encoding))["a"][1] == word


@pytest.mark.parametrize("encoding", ["cp1250", "cp1252", "cp1254", "cp1257", "latin-1", "iso8859-2", "iso8859-13"])
def test_no_letter_is_read_as_another(stored, encoding):
    n_read = 0
    for byte in range(0xA0, 0x100):
        letter = bytes([byte]).decode(encoding, "replace")
        with contextlib.suppress(FileError):
            assert read(stored(b"a,b\n" + b"x%cy" % byte + b",1\n"))["a"].tolist() == [f"x{letter}y"]
            n_read += 1
    assert n_read == len("ÄÖÜäöüßéó")


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1250", "mac-roman", "cp437", "koi8-r"])
def test_text_in_utf_8_is_not_read_in_an_encoding_that_takes_every_byte(stored, encoding):
    name = stored("a;b\nKöln;1\n")
    assert "line 2, holds 'ö' in UTF-8. Leave encoding=" in refusal(
        lambda: read(name, layout=Layout(encoding=encoding))
    )


NOT_TEXT = {
    "damaged": ("a,b\n1,ä\n2,ö\n".encode() + b"3,\xe4\n", "line 4, is not UTF-8: byte 16 is 0xe4, though the rest of it is"),
    "cut": ("\ufeffa,b\n1,ä".encode()[:-1], "though the rest of it is. It is damaged there"),
    "utf-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), "holds a zero byte, which text never does: it is not text"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_TEXT)
def test_text_in_an_encoding_that_cannot_be_told_is_not_guessed_at(stored, case):
    content, said = NOT_TEXT[case]
    message = refusal(lambda: read(stored(content)))
    assert said in message
    assert "--encoding" in message


def test_what_is_given_is_not_recognised(stored):
    name = stored("a;b\n1.234;привет\n", encoding="cp1251")
    table = read_typed(name, layout=Layout("semicolon", "comma", "windows-1251"))
    assert table.frame.to_dict("list") == {"a": [1234], "b": ["привет"]}
    assert table.recognised == {}
    assert table.layout == Layout(";", ",", "cp1251")
    assert read(stored("a~b\n1~2\n"), layout=Layout(sep="~")).shape == (1, 2)
    assert read(stored("a,b\n1,2\n".encode("utf-16-le")), layout=Layout(encoding="utf-16-le")).shape == (1, 2)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sep": ";;"}, "sep=';;' cannot stand between fields; use ',', ';', '|', 'tab' or another single character"),
        ({"sep": "x"}, "sep='x' cannot stand between fields"),
        ({"sep": '"'}, "cannot stand between fields"),
        ({"sep": ""}, "sep='' cannot stand between fields"),
        ({"sep": 1}, "sep must be text, or None to have it recognised, got 1"),
        ({"decimal": ";"}, "decimal=';' is not a decimal mark; use '.' or ','"),
        ({"encoding": "uft-8"}, "encoding='uft-8' is not known; use one of 'utf-8', 'cp1252'.*Did you mean 'utf-8'?"),
        ({"encoding": "hex"}, "encoding='hex' is not known"),
        ({"encoding": "a\0b"}, "is not known"),
    ],
)
def test_layouts_that_cannot_be_are_refused(wrong, said):
    with pytest.raises(OptionError, match=said):
        Layout(**wrong)


WRONG = {
    "sep": (Layout(sep="|"), FileError, "has only one column with | between fields, and its header holds semicolons"),
    "comma": (Layout(sep=","), FileError, "(--sep ';')"),
    "decimal": (Layout(decimal="."), OptionError, "decimal='.' (--decimal) does not fit a.csv: column 'a' holds '1,5'. Pass ','"),
    "utf-16": (Layout(encoding="utf-16"), FileError, "is not utf-16 text: it has no zero byte"),
    "cp1252": (Layout(encoding="cp1252"), FileError, "line 2, holds 'ä' in UTF-8. Leave encoding='cp1252' (--encoding) out"),
    "ascii": (Layout(encoding="ascii"), FileError, "line 2, is not ascii text (byte 8: ordinal not in range(128)). Leave encoding"),
    "sheet": (Layout(sheet="x"), OptionError, "sheet (--sheet) is for files of the format xlsx, and a.csv is not one"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_layout_that_does_not_fit_the_file_is_refused(stored, case):
    layout, kind, said = WRONG[case]
    name = stored("a;b\n1,5;ä\n")
    assert said in refusal(lambda: read(name, layout=layout), kind)
    assert read(name, layout=Layout(";", ",", "utf8")).equals(read(name))
    assert "column 'a' holds '1.5'. Pass '.'" in refusal(
        lambda: read(stored("a,b\n1.5,x\n"), layout=Layout(decimal=",")), OptionError
    )


def test_layouts_of_text_are_not_for_files_with_types(stored):
    write(pd.DataFrame({"a": [1]}), "a.jsonl")
    message = refusal(lambda: read("a.jsonl", layout=Layout(decimal=",")), OptionError)
    assert (
        message == "decimal (--decimal) is for files of the format csv and tsv, and a.jsonl is not one. Leave it out."
    )


@pytest.fixture
def columns():
    training = pd.DataFrame({"name": ["1.5", "x", "y"], "n": [1.5, 2.0, 3.0], "grade": [1, 2, 1]})
    return Schema.of(training, ["name", "grade"])[0].columns


def test_rows_to_explain_have_the_numbers_of_their_file(stored, columns):
    rows = like(read_cells(stored("grade;name;n\n1;1.500;1.234,5\n2,0;1.5;2,5\n1;7,25;\n")), columns)
    assert rows["n"].tolist()[:2] == [1234.5, 2.5]
    assert rows["n"].isna().tolist() == [False, False, True]
    assert rows["name"].tolist() == ["1.500", "1.5", "7,25"]  # text, whatever it looks like
    assert rows["grade"].tolist() == [1, 2, 1]


def test_a_row_to_explain_that_reads_both_ways_is_an_error_and_text_never_is(stored, columns):
    name = stored("grade;name;n\n1;1.234;1.234\n")
    assert "column 'n' holds '1.234', which reads both ways" in (
        message := refusal(lambda: like(read_cells(name), columns))
    )
    assert "--text" not in message
    assert like(read_cells(name, layout=Layout(decimal=",")), columns)["n"][0] == 1234
    assert like(read_cells(name, layout=Layout(decimal=".")), columns)["n"][0] == 1.234
    assert like(read_cells(stored("grade;name;n\n1;1.234;1234\n")), columns)["n"][0] == 1234
    assert like(read_cells(stored("grade,name,n\n1,1.234,1.234\n")), columns)["n"][0] == 1.234
    assert like(read_cells(stored('grade,name,n\n1,x,"1,234.5"\n')), columns)["n"][0] == 1234.5


def test_a_cell_with_the_other_mark_is_named_with_its_line(stored, columns):
    name = stored("grade;name;n\n1;x;1,5\n2,0;x;12.5\n")
    message = refusal(lambda: like(read_cells(name, layout=Layout(decimal=",")), columns))
    assert "a.csv, line 3: column 'n' holds '12.5', which is not a number with a decimal comma" in message
    assert "column 'n' holds '12.5'" in refusal(lambda: like(read_cells(name), columns))
    assert "line 2: column 'n' holds '12k'" in refusal(
        lambda: like(read_cells(stored("grade;name;n\n1,0;x;12k\n")), columns)
    )


def test_labels_of_rows_are_as_they_stand_in_the_file(stored, columns):
    rows = like(read_cells(stored("id;grade;name;n\n1.234;1;x;1,5\n")), columns, id="id")
    assert rows.index.tolist() == ["1.234"]
    rows = like(read_cells(stored("grade;name;n\n1;x;1.234,5\n")), columns, id="n")
    assert (rows.index[0], rows["n"].iloc[0]) == ("1.234,5", 1234.5)


def test_columns_that_are_ignored_decide_nothing(stored):
    name = stored("id;n\n1.234;5\n")
    assert "reads both ways" in refusal(lambda: read(name))
    assert read_typed(name, ignore=["id", "other"]).frame.to_dict("list") == {"id": ["1.234"], "n": [5]}


def test_columns_that_may_be_text_become_numbers_as_a_whole_or_not_at_all(stored):
    cells = read_cells(stored("p;q;r\n0,5;1,0;a\n0,25;2,0;2,0\n"))
    plainly = in_plain_numbers(cells, ["p"], if_all=["q", "r"])
    assert plainly.frame.to_dict("list") == {"p": ["0.5", "0.25"], "q": ["1.0", "2.0"], "r": ["a", "2,0"]}


def test_text_that_looks_like_decimal_commas_is_noticed(stored):
    table = read_typed(stored('a,b,c\n"1,5",x,"1,5"\n"2,25",y,z\n'))
    assert look_like_decimal_commas(table) == ["a"]
    assert look_like_decimal_commas(read_typed(stored("a;b\n1,5;x\n"))) == []
    assert look_like_decimal_commas(read_typed(stored("a,b\n1.5,x\n"), text=["a"])) == []


def test_a_file_is_written_as_the_one_beside_it_was_read(stored):
    frame = pd.DataFrame(
        {"n": [1.5, np.nan], "whole": [1, 2], "word": ["a;b", "Köln"], "any": [2.5, "x"], "more": [True, None]}
    )
    beside = read_typed(stored("a;b\n1,5;Köln\n", encoding="cp1252"))
    assert write(frame, "out.csv", beside=beside) is None
    assert Path("out.csv").read_bytes().decode("cp1252") == (
        'n;whole;word;any;more\n1,5;1;"a;b";2,5;True\n;2;Köln;x;\n'
    )
    write(frame, "out.tsv", beside=beside)
    assert Path("out.tsv").read_bytes().decode("cp1252").startswith("n\twhole\tword\tany\tmore\n1,5\t1\ta;b\t2,5\t")
    write(frame, "plain.csv")
    assert Path("plain.csv").read_text().startswith("n,whole,word,any,more\n1.5,1,a;b,2.5,True\n")


@pytest.mark.parametrize(
    ("content", "name", "first"),
    [
        ("a;b\n1;x\n", "in.csv", "n;w\n1,5;"),  # where nothing tells, a semicolon does
        ("a;b\n1.5;x\n", "in.csv", "n;w\n1.5;"),
        ("a\tb\n1\tx\n", "in.csv", "n\tw\n1.5\t"),
        ("a\tb\n1\tx\n", "in.tsv", "n,w\n1.5,"),
        ("a\tb\n1,5\tx\n", "in.tsv", "n;w\n1,5;"),
        ('{"a": 1}\n', "in.jsonl", "n,w\n1.5,"),
        ("\ufeffa,b\n1,x\n", "in.csv", "\ufeffn,w\n1.5,"),
    ],
)
def test_the_program_that_wrote_the_table_opens_the_results(stored, content, name, first):
    write(pd.DataFrame({"n": [1.5], "w": ["x"]}), "out.csv", beside=read_typed(stored(content, name)))
    assert Path("out.csv").read_bytes().decode().startswith(first)


def test_what_an_encoding_lacks_is_written_in_utf_8_and_said(stored):
    beside = read_typed(stored("a;b\n1;ä\n", encoding="cp1252"))
    assert write(pd.DataFrame({"b": ["ä \u2192 ö"]}), "out.csv", beside=beside) == "\u2192"
    assert Path("out.csv").read_bytes() == "\ufeffb\nä \u2192 ö\n".encode()
    utf_16 = read_typed(stored("a;b\n1;ä\n", encoding="utf-16"))
    assert write(pd.DataFrame({"b": ["ä \u2192 ö"]}), "out.csv", beside=utf_16) is None
    assert Path("out.csv").read_text("utf-16") == "b\nä \u2192 ö\n"


@given(
    numbers=st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=6),
    words=st.lists(st.text(st.sampled_from("aä;,.\t1'=\" |"), min_size=1, max_size=4), min_size=6, max_size=6),
    sep=st.sampled_from(";\t|,"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
)
def test_any_table_comes_back_from_any_layout(numbers, words, sep, encoding):
    """With the decimal mark given: of a few numbers it cannot always be told."""
    frame = pd.DataFrame({"n": pd.Series(numbers, dtype=float), "w": words[: len(numbers)], "k": "x"})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        Path(folder, "in.csv").write_text(f"a{sep}b\n1{sep}ä\n", encoding=encoding)
        beside = read_typed(path.with_name("in.csv"), layout=Layout(decimal=","))
        assert write(frame, path, beside=beside, protect=False) is None
        cells = read_cells(path, layout=Layout(sep, ",", encoding))
        assert cells.frame["w"].tolist() == frame["w"].tolist()
        rows = like(cells, Schema.of(frame, ["w", "k"])[0].columns)
        assert rows["n"].tolist() == pytest.approx(frame["n"].tolist(), rel=0, abs=0, nan_ok=True)
        back = read(path, text=["w"], layout=Layout(sep, ",", encoding))
        assert back["n"].tolist() == pytest.approx(frame["n"].tolist(), rel=0, abs=0, nan_ok=True)


@given(
    st.lists(
        st.sampled_from(["1", "1.5", "1.234", "1,5", "1,234", "1.234,5", "1,234.5", "x", ""]), min_size=1, max_size=4
    )
)
def test_a_plain_file_is_read_as_pandas_reads_it_unless_commas_stand_between_thousands(cells):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text("a,b\n" + "".join(f'"{cell}",k\n' for cell in cells))
        expected = pd.read_csv(path)
        is_grouped = all(cell in ("1", "1.5", "1.234", "1,234", "1,234.5", "") for cell in cells) and any(
            "," in cell for cell in cells
        )
        if not is_grouped:
            pd.testing.assert_frame_equal(read(path), expected)
        elif not {"1.5", "1,234.5"} & set(cells):
            assert "reads both ways" in refusal(lambda: read(path))
        else:
            assert read(path)["a"].dtype == np.float64
