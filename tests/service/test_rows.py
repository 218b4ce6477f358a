"""Rows of JSON <-> rows of the training table, for every kind of column and container."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nicecf.service.refusals import Refused
from nicecf.service.rows import RowReader
from nicecf.tables.schema import Schema

FRAME = pd.DataFrame(
    {
        "whole": [1, 2, 3],
        "nullable": pd.array([1, None, 3], dtype="Int64"),
        "text": ["a", None, "b"],
        "mixed": np.array([True, 1.5, "1"], dtype=object),
        "level": pd.Categorical(["low", "high", "low"], categories=["low", "high"], ordered=True),
        "flag": [True, False, True],
        "day": pd.to_datetime(["2024-01-01", "2024-02-01", None]),
        "span": pd.to_timedelta([1, 2, 3], unit="D"),
    }
)


def reader_of(table):
    return RowReader.of(Schema.of(table)[0])


def test_a_frame_comes_back_as_it_was():
    reader = reader_of(FRAME)
    rows = reader.shown(FRAME, 3)
    assert rows[1] == {"whole": 2, "nullable": None, "text": None, "mixed": 1.5, "level": "high", "flag": False, "day": "2024-02-01", "span": rows[1]["span"]}  # fmt: skip
    pd.testing.assert_frame_equal(reader.table(reader.read(rows)), FRAME)


def test_polars_and_arrays_come_back_as_they_were():
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.5, None]})
    reader = reader_of(frame)
    assert reader.table(reader.read(reader.shown(frame, 2))).equals(frame)
    array = np.array([[1.0, np.nan], [2.0, 3.0]])
    reader = reader_of(array)
    assert np.array_equal(reader.table(reader.read([[1, None], [2, 3]])), array, equal_nan=True)


def test_true_is_not_one_and_one_is_not_text():
    reader = reader_of(FRAME)
    row = reader.shown(FRAME, 1)[0]
    cells = [True, 1, "1", 1.5]
    table = reader.table(reader.read([{**row, "mixed": cell} for cell in cells]))
    assert [(type(one), one) for one in table["mixed"]] == [(type(cell), cell) for cell in cells]


def test_a_category_that_is_new_is_kept_but_not_among_levels_with_an_order():
    reader = reader_of(FRAME)
    row = reader.shown(FRAME, 1)[0]
    assert reader.table(reader.read([{**row, "text": "new"}]))["text"].tolist() == ["new"]
    with pytest.raises(
        Refused, match=r"instances\[0\].level: \"lo\" is not one of its values: 'low', 'high'. Did you mean 'low'"
    ):
        reader.read([{**row, "level": "lo"}])


def test_a_whole_column_takes_fractions_and_gaps():
    reader = reader_of(FRAME)
    row = reader.shown(FRAME, 1)[0]
    table = reader.table(reader.read([{**row, "whole": 1.5}, {**row, "whole": None}]))
    assert table["whole"].tolist()[0] == 1.5
    assert table["whole"].isna().tolist() == [False, True]
