"""Columns of an ordered dtype: read by rank, written with their levels, refused where their order is not known."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nicecf import SchemaError
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema

RATINGS = ["C", "B", "A", "AA", "AAA"]
ORDERED = pd.CategoricalDtype(RATINGS, ordered=True)
nan = np.nan


def table(values, dtype=ORDERED):
    return pd.DataFrame({"rating": pd.Series(values, dtype=dtype), "n": np.arange(float(len(values)))})


def test_cells_are_ranks_and_missing_is_nan():
    schema, values = Schema.of(table(["AA", "C", None, "AAA"]))
    np.testing.assert_array_equal(values[:, 0], [3, 0, nan, 4])
    assert schema.is_categorical.tolist() == [True, False]
    assert schema.is_ordinal.tolist() == [True, False]
    assert schema.by_equality.tolist() == [False, False]
    assert schema.columns[0].levels == tuple(RATINGS)
    assert schema.columns[0].has_missing
    pd.testing.assert_frame_equal(schema.decode(values), table(["AA", "C", None, "AAA"]))


def test_overlap_and_categories_without_an_order_are_codes():
    schema, values = Schema.of(table(["AA", "C", None]), ordinal="overlap")
    assert values[:, 0].tolist() == [3, 0, -1]
    assert schema.by_equality.tolist() == [True, False]
    schema, values = Schema.of(table(["AA", "C", None], "category"))
    assert not schema.is_ordinal.any()
    assert values[-1, 0] == -1


def test_an_enum_of_polars_is_ordered_as_polars_says_and_a_categorical_is_not():
    cells = ["AA", None, "C"]
    X = pl.DataFrame({"e": pl.Series(cells, dtype=pl.Enum(RATINGS)), "c": pl.Series(cells, dtype=pl.Categorical)})
    schema, values = Schema.of(X)
    assert schema.is_ordinal.tolist() == [True, False]
    np.testing.assert_array_equal(values[:, 0], [3, nan, 0])
    assert schema.decode(values).equals(X)
    assert X["e"].sort().to_list() == [None, "C", "AA"]
    assert X["e"].to_pandas().dtype.ordered


def test_an_ordered_dictionary_of_arrow_is_an_ordered_category_of_pandas():
    pa = pytest.importorskip("pyarrow")
    cells = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(["low", "high"]), ordered=True)
    schema, values = Schema.of(pa.table({"d": cells}).to_pandas())
    assert schema.is_ordinal.tolist() == [True]
    np.testing.assert_array_equal(values[:, 0], [1, 0, nan])


@pytest.mark.parametrize("missing", [[], [None]], ids=["complete", "with missing"])
@pytest.mark.parametrize(
    "dtype",
    [ORDERED, pd.CategoricalDtype(["C", "AA"], ordered=True), pd.CategoricalDtype(["AA", "zz", "C"]), "object", "str"],
    ids=["same", "fewer levels", "no order", "objects", "text"],
)
def test_rows_may_come_with_fewer_levels_without_an_order_or_as_text(dtype, missing):
    schema, _ = Schema.of(table(RATINGS))
    values, extended = schema.encode(table(["AA", "C", *missing], dtype))
    np.testing.assert_array_equal(values[:, 0], [3, 0, nan][: 2 + len(missing)])
    assert extended.columns[0] is schema.columns[0]


def test_numbers_may_stand_for_levels_that_are_numbers():
    schema, _ = Schema.of(table([1, 2, 3], pd.CategoricalDtype([1, 2, 3], ordered=True)))
    assert schema.encode(table([3.0, 1.0], "float64"))[0][:, 0].tolist() == [2, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (table(["A"], pd.CategoricalDtype(["A", "D", "E"], ordered=True)), "column 'rating' has an ordered dtype with 'D', 'E' among its levels, which it did not have .* from low to high, its levels were 'C', 'B', 'A'"),
        (table(["A"], pd.CategoricalDtype(["A", "B"], ordered=True)), "column 'rating' has its levels in another order than when fit saw it: now 'A', 'B', but from low to high, its levels were 'C', 'B'"),
        (table(["A", "D"], "object"), r"column 'rating' holds 'D' \(row 1\), which is not one of its levels: from low to high, .* with ordinal='overlap'"),
        (table(["A", None, "D"], "category"), r"column 'rating' holds 'D' \(row 2\), which is not one of its levels"),
    ],
)  # fmt: skip
def test_levels_that_are_unknown_or_in_another_order_are_refused(rows, message):
    schema, _ = Schema.of(table(RATINGS))
    with pytest.raises(SchemaError, match=message):
        schema.encode(rows)


def test_an_enum_with_other_levels_is_refused():
    schema, _ = Schema.of(pl.DataFrame({"e": pl.Series(["A"], dtype=pl.Enum(RATINGS))}))
    with pytest.raises(SchemaError, match="column 'e' has an ordered dtype with 'D' among its levels"):
        schema.encode(pl.DataFrame({"e": pl.Series(["A"], dtype=pl.Enum(["A", "D"]))}))


def test_levels_that_may_not_be_told_are_not():
    schema, values = Schema.of(table(["A", "A", "B"]))
    guarded = schema.with_common([np.array([2.0]), np.unique(values[:, 1])])
    with pytest.raises(SchemaError, match=r"its levels were 'A'\. Correct"):
        guarded.encode(table(["D"], "object"))
    nobody = schema.with_common([np.array([]), np.unique(values[:, 1])])
    with pytest.raises(SchemaError, match=r"none of its levels may be told \(min_count\)"):
        nobody.encode(table(["D"], "object"))


def test_a_row_with_fewer_levels_gets_the_new_one_in_its_place():
    schema, _ = Schema.of(table(RATINGS))
    rows = table(["C", "AAA"], pd.CategoricalDtype(["C", "AAA"], ordered=True))
    before, after = schema.encode(rows)[0], np.array([[2.0, 0.0], [4.0, 1.0]])
    changed = schema.restore(rows, before, after)["rating"]
    assert changed.tolist() == ["A", "AAA"]
    assert changed.dtype == pd.CategoricalDtype(["C", "A", "AAA"], ordered=True)
    same = schema.restore(rows, before, np.array([[4.0, 0.0], [0.0, 1.0]]))["rating"]
    assert same.dtype == rows["rating"].dtype
    enum = pl.DataFrame({"e": pl.Series(["C", "AAA"], dtype=pl.Enum(["C", "AAA"]))})
    schema, _ = Schema.of(pl.DataFrame({"e": pl.Series(RATINGS, dtype=pl.Enum(RATINGS))}))
    changed = schema.restore(enum, schema.encode(enum)[0], np.array([[2.0], [4.0]]))
    assert changed["e"].dtype == pl.Enum(["C", "A", "AAA"])
    assert changed["e"].to_list() == ["A", "AAA"]


def test_made_up_ranks_become_whole_ones_of_levels():
    schema, _ = Schema.of(table(RATINGS))
    rounded = schema.rounded(np.array([[1.6, 0.5], [-3.0, 0.5], [9.0, 0.5], [nan, 0.5], [-0.2, 0.5]]))
    np.testing.assert_array_equal(rounded[:, 0], [2, 0, 4, nan, 0])
    assert not np.signbit(rounded[:, 0]).any()
    assert (rounded[:, 1] == 0.5).all()


def test_codes_of_either_way_to_mark_missing():
    assert codes_of(np.array([nan, -1.0, 0.0, 3.0])).tolist() == [-1, -1, 0, 3]
