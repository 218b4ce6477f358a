"""What comes out has the form of what went in; the model gets what it was trained on."""

from datetime import date, time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from columns import COLUMNS, flag, with_flag
from nicecf import NICE, Constraints, SchemaError
from nicecf.tables import cells, container_of
from nicecf.tables.pandas_frames import PandasFrames
from nicecf.tables.schema import Schema
from nicecf.views import exported_table as outcomes
from strategies import as_lists


@pytest.mark.parametrize("name", COLUMNS)
def test_every_dtype_survives_the_way_to_floats_and_back(name):
    X = with_flag(COLUMNS[name])
    schema, values = Schema.of(X)
    assert values.dtype == np.float64
    pd.testing.assert_frame_equal(schema.decode(values), X)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_dtype_comes_out_as_it_went_in(name):
    X = with_flag(COLUMNS[name])
    X.index = pd.Index([10, 20, 20, 40, 50, 60], name="id")
    cfs = NICE(flag, optimize="none").fit(X, [0, 0, 0, 1, 1, 1]).explain(X)
    frame = cfs.to_frame()
    donors = X.iloc[np.array(cfs.donors, dtype=int)].set_axis(X.index)
    pd.testing.assert_frame_equal(frame, donors)
    assert cfs.changes()["row"].isin(X.index).all()


def test_unchanged_cells_are_the_callers_own_objects():
    # Real floats would come back as 3.0, None as nan.
    X = pd.DataFrame({"a": pd.Series([3, None, 5], dtype=object), "b": [0, 0, 1]})
    cfs = (
        NICE(lambda X: np.column_stack([1 - X["b"], X["b"]]), categorical_features=["a"])
        .fit(X, [0, 0, 1])
        .explain(X[:2])
    )
    assert cfs.to_frame()["a"].tolist() == [3, None]
    assert [type(cell) for cell in cfs.to_frame()["a"]] == [int, type(None)]


def test_a_dtype_is_widened_only_where_it_cannot_hold_the_new_value():
    train = pd.DataFrame({"a": [0.0, 2.5], "b": [0.0, 3.0]})
    model = lambda X: np.column_stack([X["a"] + X["b"] < 5, X["a"] + X["b"] >= 5]).astype(float)
    row = pd.DataFrame({"a": [0], "b": [0]}, dtype="int32")
    frame = NICE(model).fit(train, [0, 1]).explain(row).to_frame()
    assert frame.dtypes.astype(str).to_dict() == {"a": "float64", "b": "int32"}
    assert frame.to_numpy().tolist() == [[2.5, 3.0]]


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "int32[pyarrow]", "float[pyarrow]", "float32", "int8"])
def test_a_narrow_column_is_widened_for_the_donors_exact_value(dtype):
    train = pd.DataFrame({"a": [0.0, 2.1]})
    model = lambda X: np.column_stack([X["a"] != 2.1, X["a"] == 2.1]).astype(float)
    frame = NICE(model).fit(train, [0, 1]).explain(pd.DataFrame({"a": [0]}).astype({"a": dtype})).to_frame()
    assert frame["a"].tolist() == [2.1]


@pytest.mark.parametrize("dtype", [pl.Int16, pl.Float32])
def test_a_narrow_polars_column_is_widened_for_the_donors_exact_value(dtype):
    train = pl.DataFrame({"a": [0.0, 2.1]})
    model = lambda X: np.column_stack([X["a"].to_numpy() != 2.1, X["a"].to_numpy() == 2.1]).astype(float)
    frame = NICE(model).fit(train, [0, 1]).explain(pl.DataFrame({"a": pl.Series([0], dtype=dtype)})).to_frame()
    assert frame["a"].to_list() == [2.1]


def test_categories_are_widened_only_where_needed():
    train = pd.DataFrame({"home": pd.Categorical(["own", "rent", "other"]), "city": pd.Categorical(["x", "y", "x"])})
    model = lambda X: np.column_stack([X["home"] != "rent", X["home"] == "rent"]).astype(float)
    row = pd.DataFrame({"home": pd.Categorical(["own"]), "city": pd.Categorical(["x"], ["w", "x"])})
    frame = NICE(model).fit(train, [0, 1, 0]).explain(row).to_frame()
    assert list(frame["home"].cat.categories) == ["own", "rent"]
    assert list(frame["city"].cat.categories) == ["w", "x"]
    assert frame["home"].tolist() == ["rent"]


@pytest.mark.parametrize("dtype", ["object", "str", "category", "string"])
def test_a_category_unseen_in_training_is_legal(dtype):
    train = pd.DataFrame({"home": pd.Series(["own", "rent", "own"], dtype=dtype), "rooms": [1, 2, 3]})
    asked = []

    def model(X):
        asked.append(X)
        p = (X["home"] == "own").to_numpy(dtype=float, na_value=0.0) * 0.9
        return np.column_stack([1 - p, p])

    row = pd.DataFrame({"home": pd.Series(["castle"], dtype=dtype), "rooms": [2]})
    cfs = NICE(model).fit(train, [1, 0, 1]).explain(row)
    assert cfs.to_frame()["home"].tolist() == ["own"]
    assert cfs.to_frame()["home"].dtype == row["home"].dtype or dtype == "category"
    assert cfs[0].changes[0].before == "castle"
    assert asked[2]["home"].tolist()[0] == "castle"  # the first two calls were those of fit
    assert "castle" not in NICE(model).fit(train, [1, 0, 1])._fitted.schema.columns[0].levels


def test_missing_values_travel_in_both_directions():
    train = pd.DataFrame({"late": [np.nan, 3.0, np.nan, 5.0], "home": ["own", None, "own", "rent"]})
    model = lambda X: np.column_stack([X["late"].notna(), X["late"].isna()]).astype(float)
    nice = NICE(model).fit(train, [1, 0, 1, 0])
    to_value = nice.explain(train.iloc[[0]]).to_frame()
    assert to_value["late"].tolist() == [3.0]
    to_missing = nice.explain(train.iloc[[1]])
    assert to_missing.to_frame()["late"].isna().all()
    assert (
        to_missing[0].text()
        == "If late were missing instead of 3, the model would say 1 instead of 0: the probability of 1 would be 100 % instead of 0 %."
    )


def test_an_integer_row_can_become_missing():
    train = pd.DataFrame({"late": [np.nan, 3.0]})
    model = lambda X: np.column_stack([X["late"].notna(), X["late"].isna()]).astype(float)
    frame = NICE(model).fit(train, [1, 0]).explain(pd.DataFrame({"late": [3]})).to_frame()
    assert frame["late"].isna().all()


@pytest.mark.parametrize("marker", [None, np.nan, pd.NA])
def test_the_model_sees_missing_text_marked_as_in_training(marker):
    train = pd.DataFrame({"a": pd.Series(["x", marker, "y"], dtype=object), "b": [0, 0, 1]})
    seen = []

    def model(X):
        seen.extend(X["a"])
        return np.column_stack([1 - X["b"], X["b"]])

    NICE(model).fit(train, [0, 0, 1]).explain(train)
    assert {type(cell) for cell in seen if not isinstance(cell, str)} == {type(marker)}


def test_rows_that_are_not_found_are_missing_in_place():
    X = pd.DataFrame({"n": [1, 2, 3], "t": ["a", "b", "c"], "b": [True, False, True]}, index=[7, 8, 9])
    cfs = NICE(lambda X: np.tile([1.0, 0.0], (len(X), 1))).fit(X, [0, 0, 1]).explain(X, target_class=[0, 1])
    assert cfs.found.all()
    cfs = (
        NICE(lambda X: np.tile([1.0, 0.0], (len(X), 1))).fit(X, [0, 0, 1]).explain(X, target_class=np.array([0, 1, 1]))
    )
    assert cfs.found.tolist() == [True, False, False]
    frame = cfs.to_frame()
    assert frame.index.tolist() == [7, 8, 9]
    assert frame.loc[7].tolist() == [1, "a", True]
    assert frame.loc[[8, 9]].isna().all(axis=None)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, bool, object])
def test_arrays_keep_their_dtype(dtype):
    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=dtype)
    model = lambda X: np.column_stack([X[:, 0] == 0, X[:, 0] == 1]).astype(float)
    y = [0, 1, 0, 1]
    for categorical in ("auto", [0], [0, 1], [True, False]):
        cfs = NICE(model, categorical_features=categorical).fit(X, y).explain(X[:2])
        assert cfs.to_numpy().dtype == dtype
        assert cfs.to_numpy().tolist() == X[[1, 0]].tolist()
    assert list(cfs.to_frame().columns) == ["x0", "x1"]


def test_an_array_is_handed_to_the_model_in_the_dtype_of_training():
    dtypes = set()

    def model(X):
        dtypes.add(X.dtype)
        return np.column_stack([X[:, 0] < 1, X[:, 0] >= 1]).astype(float)

    X = np.array([[0, 0], [1, 1]], dtype=np.float32)
    NICE(model).fit(X, [0, 1]).explain(X.astype(np.float64))
    assert dtypes == {np.dtype(np.float32)}


def test_arrays_of_objects_keep_numbers_numbers():
    X = np.array([[1.5, "a", None], [2.5, "b", 3], [0.5, "b", 4]], dtype=object)
    model = lambda X: np.array([[0.0, 1.0] if row[1] == "b" else [1.0, 0.0] for row in X])
    cfs = NICE(model, categorical_features=[1]).fit(X, [0, 1, 1]).explain(X[:1])
    assert cfs.to_numpy().tolist() == [[1.5, "b", None]]


POLARS = pl.DataFrame(
    {
        "i": pl.Series([1, None, 3, 4], dtype=pl.Int16),
        "f": pl.Series([0.5, 1.5, None, 2.5], dtype=pl.Float32),
        "t": ["a", None, "b", "c"],
        "c": pl.Series(["x", "y", None, "x"], dtype=pl.Categorical),
        "e": pl.Series(["lo", "hi", "lo", "hi"], dtype=pl.Enum(["lo", "hi"])),
        "b": [True, False, None, True],
        "flag": [0, 0, 1, 1],
    }
)


def test_polars_frames_come_out_as_they_went_in():
    seen = []

    def model(X):
        seen.append(X)
        p = X["flag"].to_numpy().astype(float)
        return np.column_stack([1 - p, p])

    cfs = NICE(model, optimize="none").fit(POLARS, pl.Series(["n", "n", "y", "y"])).explain(POLARS)
    frame = cfs.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.schema == POLARS.schema
    assert frame.rows() == [POLARS.rows()[int(d)] for d in cfs.donors]
    assert all(isinstance(X, pl.DataFrame) and X.schema == POLARS.schema for X in seen)
    schema, values = Schema.of(POLARS)
    assert schema.decode(values).equals(POLARS)


def test_polars_equals_pandas():
    frame = pd.DataFrame({"n": [0.0, 1, 2, 3, 4, 5], "t": list("aabbcc"), "m": [0.5, np.nan, 1, 2, np.nan, 3]})

    def model(X):
        points = np.array([row[0] + (row[1] == "b") - (row[2] is None) for row in as_lists(X)])
        return np.column_stack([points < 3, points >= 3]).astype(float)

    y = model(frame).argmax(axis=1)
    by_pandas = NICE(model).fit(frame, y).explain(frame)
    by_polars = NICE(model).fit(pl.from_pandas(frame), y).explain(pl.from_pandas(frame))
    assert as_lists(by_polars.to_frame()) == as_lists(by_pandas.to_frame())
    assert list(by_polars.donors) == list(by_pandas.donors)


def test_polars_unseen_enum_and_not_found_rows():
    row = POLARS[:1].with_columns(pl.Series("e", ["mid"], dtype=pl.Enum(["mid"])))
    model = lambda X: np.column_stack([1 - X["flag"].to_numpy(), X["flag"].to_numpy()])
    cfs = NICE(model, optimize="none", ordinal="overlap").fit(POLARS, [0, 0, 1, 1]).explain(row)
    assert cfs.to_frame()["e"].to_list() == [POLARS["e"][int(cfs.donors[0])]]
    nothing = NICE(lambda X: np.tile([1.0, 0.0], (X.height, 1))).fit(POLARS, [0, 0, 1, 1]).explain(POLARS)
    assert nothing.to_frame().null_count().row(0) == (4,) * 7
    assert nothing.to_frame().schema == POLARS.schema


def test_polars_float_columns_keep_their_way_to_mark_missing():
    X = pl.DataFrame({"nulls": [1.0, None, 2.0], "nans": [1.0, float("nan"), 2.0]})
    schema, values = Schema.of(X)
    back = schema.decode(values)
    assert back["nulls"].null_count() == 1
    assert back["nans"].null_count() == 0


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.period_range("2024-01", periods=2, freq="M")),
        pd.Series([time(8, 30), time(9, 0)], dtype=object),
        pd.Series([time(8, 30), time(9, 0)], dtype="time64[us][pyarrow]"),
        pd.Series([1 + 2j, 3j]),
    ],
    ids=str,
)
def test_periods_times_and_other_odd_columns_are_refused(column):
    X = pd.DataFrame({"opened": column, "n": [0, 1]})
    for declared in ("auto", ["opened"], []):
        with pytest.raises(
            SchemaError, match=r"column 'opened' has dtype .* distance between rows cannot use.*Turn it into one of"
        ):
            Schema.of(X, declared)
    nice = NICE(lambda X: np.column_stack([1 - X["n"], X["n"]])).fit(X.assign(opened=[1.0, 2.0]), [0, 1])
    with pytest.raises(SchemaError, match="column 'opened' has dtype"):
        nice.explain(X)


@pytest.mark.parametrize("column", [pl.Series([time(8, 30), time(9, 0)]), pl.Series([[1], [2]])], ids=str)
def test_odd_polars_columns_are_refused(column):
    with pytest.raises(SchemaError, match="column 'opened' has dtype"):
        Schema.of(pl.DataFrame({"opened": column, "n": [0, 1]}))


def test_odd_arrays_are_refused():
    with pytest.raises(SchemaError, match="column 'x0' has dtype datetime64.*Pass a DataFrame"):
        Schema.of(np.array([["2024-01-01"]], dtype="datetime64[D]"))
    with pytest.raises(SchemaError, match="column 'x0' has dtype complex128"):
        Schema.of(np.array([[1j]]))


def test_dates_in_an_array_of_objects_are_refused():
    with pytest.raises(SchemaError, match=r"row 0 holds datetime.date.*Dates are read from the columns of a DataFrame"):
        Schema.of(np.array([[date(2024, 1, 1)]], dtype=object))


def test_numbers_kept_as_objects_must_be_declared():
    X = pd.DataFrame({"n": pd.Series([1, 2, None], dtype=object), "m": [0, 1, 1]})
    with pytest.raises(SchemaError, match=r"column 'n' has dtype object but holds only numbers.*infer_objects"):
        Schema.of(X)
    schema, values = Schema.of(X, categorical_features=[])
    assert not schema.is_categorical.any()
    assert np.array_equal(values[:, 0], [1, 2, np.nan], equal_nan=True)
    schema, values = Schema.of(X, categorical_features=["n"])
    assert values[:, 0].tolist() == [0, 1, -1]


def test_decimals_are_numbers():
    X = pd.DataFrame({"n": pd.Series([Decimal("1.5"), Decimal(2)], dtype=object)})
    assert Schema.of(X, [])[1].ravel().tolist() == [1.5, 2.0]


def test_integers_that_a_float_cannot_hold_are_refused_as_numbers_and_fine_as_categories():
    X = pd.DataFrame({"id": [2**53 + 1, 5]})
    with pytest.raises(SchemaError, match=r"column 'id' holds 9007199254740993.*categorical_features"):
        Schema.of(X)
    schema, values = Schema.of(X, ["id"])
    assert schema.decode(values)["id"].tolist() == [2**53 + 1, 5]
    with pytest.raises(SchemaError, match="column 'x0' holds 9007199254740993"):
        Schema.of(X.to_numpy())
    with pytest.raises(SchemaError, match="column 'id' holds -9007199254740993"):
        Schema.of(pl.DataFrame({"id": [-(2**53) - 1, 5]}))


def test_categorical_features_by_name_position_and_mask():
    X = pd.DataFrame({"a": [1, 2], "b": [3, 4], 7: [5, 6]})
    for asked, expected in (
        (["b"], [0, 1, 0]),
        ([1], [0, 1, 0]),
        ([-1], [0, 0, 1]),
        ([7], [0, 0, 1]),
        ([True, False, True], [1, 0, 1]),
        (np.array([False, True, False]), [0, 1, 0]),
        ((), [0, 0, 0]),
    ):
        assert Schema.of(X, asked)[0].is_categorical.tolist() == [bool(e) for e in expected]


def test_object_columns_that_nothing_changes_stay_objects():
    X = pd.DataFrame({"n": [0.0, 1, 2, 3], "c": pd.Series(["a", None, "b", "a"], dtype=object)})
    frame = (
        NICE(lambda X: np.column_stack([X["n"] < 2, X["n"] >= 2]).astype(float))
        .fit(X, [0, 0, 1, 1])
        .explain(X)
        .to_frame()
    )
    assert frame["c"].dtype == object
    assert frame["c"].tolist() == ["a", None, "b", "a"]


def test_a_polars_column_without_any_value_takes_the_donors():
    X = pl.DataFrame({"age": [20.0, 30, 40, 50], "home": ["own", "rent", "own", "rent"]})

    def model(X):
        p = np.array([home == "own" for home in X["home"]]) * 0.8 + 0.1
        return np.column_stack([1 - p, p])

    nice = NICE(model).fit(X, [1, 0, 1, 0])
    for nothing in (pl.Series([None]), pl.Series([None], dtype=pl.String), pl.Series([None], dtype=pl.Int64)):
        frame = nice.explain(pl.DataFrame({"age": [33.0], "home": nothing})).to_frame()
        assert frame["home"].to_list() == ["own"]
    missing_age = nice.explain(pl.DataFrame({"age": pl.Series([None]), "home": ["rent"]}))
    assert missing_age.to_frame()["home"].to_list() == ["own"]


def test_polars_columns_that_mark_missing_in_two_ways_are_refused():
    with pytest.raises(SchemaError, match="column 'f' marks missing values in two ways, by null and by NaN"):
        Schema.of(pl.DataFrame({"f": [None, float("nan"), 1.0]}))


def test_polars_names_are_not_patterns():
    X = pl.DataFrame({"^x.*$": [1.0, None], "x1": [1.0, 2.0]})
    schema, values = Schema.of(X)
    assert schema.decode(values).equals(X)


def test_decisions_are_recorded_on_what_is_handed_out():
    """None in a numeric object column comes back as NaN: the model must have been asked about NaN."""
    X = np.array([[None, 0.0], [1.0, 1.0], [None, 2.0], [3.0, 0.5]], dtype=object)
    model = lambda X: np.array([[0.1, 0.9] if row[0] is None else [0.9, 0.1] for row in X])
    cfs = NICE(model, justified=False, classes=[0, 1]).fit(X).explain(X[[1]])
    assert not cfs.found.any()  # the model never says 1 about anything that nicecf can hand it


@pytest.mark.parametrize(("at_fit", "now"), [(None, np.nan), (np.nan, None), (None, pd.NA)])
def test_another_marker_for_missing_than_in_training_is_refused(at_fit, now):
    X = pd.DataFrame({"c": pd.Series(["a", at_fit, "b"], dtype=object), "n": [0, 0, 1]})
    nice = NICE(lambda X: np.column_stack([1 - X["n"], X["n"]])).fit(X, [0, 0, 1])
    with pytest.raises(SchemaError, match="column 'c' marks missing values by"):
        nice.explain(pd.DataFrame({"c": pd.Series([now], dtype=object), "n": [0]}))


def test_a_marker_for_missing_that_training_did_not_need_is_the_rows_own():
    X = pd.DataFrame({"c": pd.Series(["a", "b"], dtype=object), "n": [0, 1]})
    seen = []

    def model(X):
        seen.extend(X["c"])
        return np.column_stack([1 - X["n"], X["n"]])

    NICE(model).fit(X, [0, 1]).explain(pd.DataFrame({"c": pd.Series([None], dtype=object), "n": [0]}))
    assert None in seen


def test_large_identifiers_survive_as_categories():
    ids = np.array([2**60 + 1, 2**60 + 3, 2**60 + 5])
    flags = np.array([0, 0, 1])
    model = lambda X: np.column_stack([1 - np.asarray(X)[:, 1].astype(float), np.asarray(X)[:, 1].astype(float)])
    target = np.array([1, 0, 0])
    for X in (np.column_stack([ids, flags]), pd.DataFrame({"id": ids, "flag": flags})):
        cfs = NICE(model, categorical_features=[0], optimize="none").fit(X, [0, 0, 1]).explain(X, target_class=target)
        assert cfs.to_frame().iloc[:, 0].tolist() == [ids[2], ids[1], ids[0]]
        never = NICE(lambda X: np.tile([1.0, 0.0], (len(X), 1)), categorical_features=[0]).fit(X, [0, 0, 1])
        blanked = never.explain(X, target_class=np.array([0, 1, 0])).to_frame()
        assert blanked.iloc[[0, 2], 0].tolist() == [ids[0], ids[2]]
        assert blanked.iloc[1].isna().all()


@pytest.mark.parametrize("container", ["numpy", "pandas"])
def test_a_model_that_writes_into_its_table_harms_nothing(container):
    X = np.array([[0.0, 5.0], [1.0, 6.0], [3.0, 7.0], [4.0, 8.0]])
    table = X.copy() if container == "numpy" else pd.DataFrame(X, columns=["a", "b"])

    def vandal(X):
        first = (X[:, 0] if container == "numpy" else X["a"].to_numpy()).copy()
        if container == "numpy":
            X -= 100
        else:
            X.loc[:, "a"] = -100.0
        return np.column_stack([first < 2, first >= 2]).astype(float)

    cfs = NICE(vandal).fit(table, [0, 0, 1, 1]).explain(table)
    assert np.array_equal(np.asarray(table), X)
    assert cfs.to_numpy()[:, 0].tolist() == [3.0, 3.0, 1.0, 1.0]


def test_columns_of_two_levels():
    X = pd.DataFrame([[0.0, 1], [1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")], names=["l", "m"]))
    seen = []
    model = lambda X: seen.append(X.columns) or np.column_stack([1 - X[("a", "x")], X[("a", "x")]])
    nice = NICE(model).fit(X, [0, 1])
    assert nice.feature_names_in_.tolist() == [("a", "x"), ("a", "y")]
    assert nice.explain(X).to_frame().columns.equals(X.columns)
    assert all(columns.equals(X.columns) and columns.names == X.columns.names for columns in seen)


def test_numpy_strings_of_any_kind():
    X = np.array([["a", "x"], ["b", "y"]])
    if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):  # numpy 2
        X = X.astype(np.dtypes.StringDType())
    model = lambda X: np.array([[0.0, 1.0] if row[0] == "b" else [1.0, 0.0] for row in X.tolist()])
    assert NICE(model, categorical_features=[0, 1]).fit(X, [0, 1]).explain(X).to_numpy().tolist() == [
        ["b", "x"],
        ["a", "y"],
    ]
    with pytest.raises(SchemaError, match="column 'x0' is declared numeric but row 0 holds 'a'"):
        Schema.of(X)


def test_a_nullable_column_without_any_value_can_be_missing_altogether():
    X = pd.DataFrame({"a": [0.0, 1.0], "n": pd.array([1, 2], dtype="Int64")})
    nice = NICE(lambda X: np.column_stack([np.ones(len(X)), np.zeros(len(X))])).fit(X, [0, 1])
    row = pd.DataFrame({"a": [0.0], "n": pd.array([None], dtype="Int64")})
    cfs = nice.explain(row)
    assert not cfs.found[0]
    assert cfs.to_frame()["n"].isna().all()


def test_polars_integers_of_128_bits_are_guarded_like_others():
    X = pl.DataFrame({"a": [0, 0, 2, 3], "b": [1, 2, 3, 3]}, schema={"a": pl.Int128, "b": pl.Int128})
    model = lambda X: np.eye(2)[(X["a"] > 1).cast(pl.Int64).to_numpy()]
    cfs = NICE(model, classes=[0, 1], justified=False, share_donor=False).fit(X).explain(X[:1])
    assert cfs.to_frame().rows() in ([(2, 1)], [(3, 1)])


@pytest.mark.parametrize("container", ["pandas", "polars", "numpy", "arrow"])
def test_whole_numbers_stay_whole_in_a_table_of_outcomes_where_a_row_has_none(container):
    X = pd.DataFrame({"x0": [0, 1, 2], "x1": [1, 2, 3]})
    X = {"pandas": X, "polars": pl.from_pandas(X), "numpy": X.to_numpy(), "arrow": X.astype("int64[pyarrow]")}[
        container
    ]
    model = lambda X: np.eye(2)[(np.asarray(X)[:, 0] > 1).astype(int)]
    nice = NICE(model, classes=[0, 1], justified=False).fit(X)
    frame = outcomes.table(nice.explain(X[:2], constraints=[Constraints(immutable=[0]), None]).batch)
    assert [str(value) for value in frame["x0"]] == ["<NA>", "2"]


def test_a_table_of_arrow_says_what_to_pass():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(
        SchemaError, match=r"got pyarrow.lib.Table. Of Arrow, pass X.to_pandas\(\) or polars.from_arrow"
    ):
        container_of(pa.table({"a": [1.0]}))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("values", [[2, 0, np.nan, 0, 1, 2], [0, -0.0, 1, -0.0], [-0.0, np.nan], [np.nan, 0], []])
def test_arrays_of_floats_have_the_categories_that_a_look_at_each_cell_finds(values, dtype):
    column = np.array(values, dtype=dtype)
    codes, levels = cells.factorize(column, "a")
    expected, of_cells = cells._factorize_by_key(column, np.where(np.isnan(column), -1, 0), False)
    assert codes.tolist() == expected.tolist()
    assert repr(levels) == repr([float(level) for level in of_cells])


def wide(n_numbers=40):
    """A frame of floats, whole numbers, a float column of categories and text, in turn."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(6, n_numbers)), columns=[f"x{j}" for j in range(n_numbers)])
    X.iloc[2, 3] = np.nan
    X["age"] = random.integers(18, 90, size=6).astype(np.int16)
    X["code"] = [1.0, 2.0, 1.0, 3.0, 2.0, 1.0]
    X["text"] = pd.Series(list("abcabc"), dtype=object)
    return X


def test_only_columns_that_are_no_plain_numbers_are_taken_out_of_a_frame_one_by_one(monkeypatch):
    X = wide()
    schema, values = Schema.of(X, categorical_features=["code", "text"])
    taken = []
    column = PandasFrames.column
    monkeypatch.setattr(
        PandasFrames,
        "column",
        lambda self, X, position: (taken.append(X.columns[position]), column(self, X, position))[1],
    )
    backwards = X.iloc[:, ::-1]
    for table in (X, backwards):
        encoded, _ = schema.encode(table)
        assert np.array_equal(encoded, values, equal_nan=True)
    assert sorted(taken) == ["code", "code", "text", "text"]
    pd.testing.assert_frame_equal(schema.decode(values), X)
    pd.testing.assert_frame_equal(schema.restore(backwards, values, values), backwards)


def test_a_frame_of_floats_is_written_as_a_whole(monkeypatch):
    X = wide().loc[:, :"x39"].set_axis(list("qwerty"))
    schema, values = Schema.of(X)
    monkeypatch.setattr(PandasFrames, "write_numbers", None)
    pd.testing.assert_frame_equal(schema.decode(values), X.reset_index(drop=True))
    backwards = X.iloc[:, ::-1]
    changed = values.copy()
    changed[1, 5] = 7.5
    restored = schema.restore(backwards, values, changed)
    assert restored.columns.equals(backwards.columns)
    assert restored.index.equals(X.index)
    assert restored.loc["w", "x5"] == 7.5
    assert restored.compare(backwards).shape == (1, 2)
    decoded = schema.decode(values)
    decoded.iloc[0, 0] = 99.0
    assert values[0, 0] != 99.0


def test_a_column_of_floats_that_is_a_category_is_written_as_one():
    X = pd.DataFrame({"size": [38.0, 39.5, 41.0], "x": [0.5, 1.5, 2.5]})
    schema, values = Schema.of(X, categorical_features=["size"])
    pd.testing.assert_frame_equal(schema.decode(values), X)
    pd.testing.assert_frame_equal(schema.restore(X, values, values), X)


@pytest.mark.parametrize("of", [lambda cells: pd.DataFrame(cells, columns=["x0", "x1"]), np.array])
def test_what_cannot_be_computed_with_is_refused_in_tables_of_plain_numbers_too(of):
    schema, _ = Schema.of(of([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(SchemaError, match=r"column 'x1' holds an infinite value, or one beyond 1e150 \(row 1\)"):
        schema.encode(of([[1.0, 2.0], [3.0, np.inf]]))
    with pytest.raises(SchemaError, match="column 'x0' holds 9007199254740993, an integer that a float cannot hold"):
        schema.encode(of([[2**53 + 1, 2], [3, 4]]))
    encoded, _ = schema.encode(of([[2**53, 2], [-(2**53), 4]]))
    assert encoded.tolist() == [[2.0**53, 2.0], [-(2.0**53), 4.0]]
