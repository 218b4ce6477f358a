"""Dates and durations in saved explainers, records, pickles and twins."""

import datetime as dt
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import moments
from nicecf import NICE, Constraints, replay
from nicecf.exceptions import FileError
from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.columns import schema_from_json, schema_to_json
from nicecf.models.inputs import NotSupported
from nicecf.models.twin import TreeTwin
from nicecf.support.json_values import NotHeld, from_json, to_json
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import TableStatistics

TABLES = moments.tables()


def flagged(name):
    """A table of many rows with a column of dates, and one that alone decides."""
    X, flags = TABLES[name], [0, 1] * 20
    if isinstance(X, pl.DataFrame):
        return pl.concat([X] * 10).with_columns(flag=pl.Series(flags))
    return pd.concat([X] * 10, ignore_index=True).assign(flag=flags)


def by_flag(X):
    p = np.asarray(X["flag"], dtype=float)
    return np.column_stack([1 - p, p])


def same(one, other):
    return one.equals(other) and (list(one.dtypes) == list(other.dtypes))


@pytest.mark.parametrize("categorical", ["auto", ["when"]], ids=["dates", "categories"])
@pytest.mark.parametrize("name", TABLES)
def test_saved_explainers_records_and_pickles_give_the_same(name, categorical, tmp_path):
    X = flagged(name)
    nice = NICE(by_flag, classes=[0, 1], categorical_features=categorical).fit(X, [0, 1] * 20)
    cfs = nice.explain(X[:6])
    nice.save(tmp_path / "dates.nice")
    again = NICE.load(tmp_path / "dates.nice", model=by_flag)
    assert same(again.explain(X[:6]).to_frame(), cfs.to_frame())
    for record in cfs.to_records():
        assert replay(json.loads(json.dumps(record)), again).is_same
    assert same(pickle.loads(pickle.dumps(cfs)).to_frame(), cfs.to_frame())
    again.save(tmp_path / "again.nice")
    assert (tmp_path / "again.nice").read_bytes() == (tmp_path / "dates.nice").read_bytes()


def test_the_table_of_a_saved_explainer_holds_dates_for_other_tools(tmp_path):
    X, y = moments.loans(60)
    X = X.assign(late=X["late"].dt.date)
    NICE(moments.approve, classes=[0, 1]).fit(X, y).save(tmp_path / "loans.nice")
    with zipfile.ZipFile(tmp_path / "loans.nice") as file:
        (name,) = (one for one in file.namelist() if one.endswith(".arrow"))
        table = pa.ipc.open_file(pa.BufferReader(file.read(name))).read_all()
    assert [str(table.schema.field(one).type) for one in ("opened", "late", "waited")] == [
        "timestamp[us]", "date32[day]", "duration[us]"]  # fmt: skip
    assert table["opened"].to_pylist()[0] in set(X["opened"].dt.to_pydatetime())


def test_rules_of_dates_are_saved_and_recorded(tmp_path):
    X, y = moments.loans()
    rules = Constraints(
        ranges={"opened": ("2016-01-01", dt.date(2022, 1, 1))}, step={"waited": "6 hours"}, increasing=["late"],
        relations=["opened <= late"],
    )  # fmt: skip
    nice = NICE(moments.approve, classes=[0, 1], constraints=rules).fit(X, y)
    nice.save(tmp_path / "loans.nice")
    again = NICE.load(tmp_path / "loans.nice", model=moments.approve)
    assert again.constraints.to_dict() == rules.to_dict()
    call = Constraints(ranges={"late": (None, "2023-01-01")}, forbid={"opened": [("2018-01-01", "2019-01-01")]})
    cfs = nice.explain(X.head(10), constraints=call)
    for record in json.loads(json.dumps(cfs.to_records())):
        assert replay(record, again).is_same


def test_a_time_zone_without_a_name_cannot_be_saved(tmp_path):
    class Odd(dt.tzinfo):
        def utcoffset(self, when):
            return dt.timedelta(hours=1)

        def dst(self, when):
            return dt.timedelta(0)

        def tzname(self, when):
            return "odd"

        def fromutc(self, when):
            return when + dt.timedelta(hours=1)

        def __str__(self):
            return "Odd/Zone"

    X = pd.DataFrame({"when": moments.objects([dt.datetime(2024, 1, day, tzinfo=Odd()) for day in (1, 2, 3, 4)])})
    X["flag"] = [0, 1, 0, 1]
    nice = NICE(by_flag, classes=[0, 1]).fit(X, [0, 1, 0, 1])
    with pytest.raises(FileError, match=r"the time zone Odd/Zone cannot be saved.*tz_convert"):
        nice.save(tmp_path / "odd.nice")


def described(name):
    X = TABLES[name]
    schema, values = Schema.of(X)
    return schema_to_json(schema, TableStatistics.of(values, schema))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pandas datetime64[us]", {"kind": "date"}),
        ("pandas datetime64[us]", {"zone": "Europe/Berlin"}),
        ("pandas datetime64[us]", {"unit": 7}),
        ("pandas datetime64[us]", {"cell": "datetime"}),
        ("pandas object dates", {"cell": "timedelta"}),
        ("pandas object dates", {"cell": None}),
        ("pandas object dates", {"unit": 1}),
        ("polars Date", {"kind": "duration"}),
    ],
)
def test_a_file_whose_dates_do_not_match_its_dtypes_is_damaged(name, change):
    said = described(name)
    said["columns"][0]["temporal"] |= change
    with pytest.raises(Damaged, match="what it says of a column of dates does not match"):
        schema_from_json(said)


def test_a_file_that_does_not_say_what_its_dates_are_is_damaged():
    said = described("pandas zone")
    del said["columns"][0]["temporal"]
    with pytest.raises(Damaged, match="a column of dates does not say what they are"):
        schema_from_json(said)
    said = described("pandas zone")
    said["columns"][0]["levels"] = ["a"]
    with pytest.raises(Damaged, match="a column of dates is said to be something else"):
        schema_from_json(said)


@pytest.mark.parametrize(
    "value",
    [*moments.DAYS[:2], *moments.TIMES[:2], *moments.AWARE[:2], *moments.WAITS[:2], pd.Timestamp("2024-01-01", tz="UTC"),
     pd.Timestamp(5), pd.Timedelta(7), pd.Timedelta(days=3).as_unit("s"),
     dt.datetime(2024, 10, 27, 2, 30, tzinfo=moments.BERLIN, fold=1)],
    ids=repr,
)  # fmt: skip
def test_dates_and_durations_come_back_from_json(value):
    again = from_json(json.loads(json.dumps(to_json(value))))
    assert type(again) is type(value)
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize(
    ("held", "match"),
    [
        ({"type": "datetime", "value": ["2024-01-01T00:00:00", "UTC"]}, "no zone, or no offset"),
        ({"type": "datetime", "value": ["2024-01-01T00:00:00+00:00", "Nowhere/Zone"]}, "is not a time zone"),
        ({"type": "timestamp", "value": ["now", None, "us"]}, "not as it is written"),
        ({"type": "timestamp", "value": ["2024-01-01T00:00:00", None, "years"]}, "unit of time is never written"),
        ({"type": "duration", "value": "1"}, "not a whole number of microseconds"),
        ({"type": "timedelta", "value": [1.5, "s"]}, "not a whole number"),
    ],
)
def test_json_that_is_no_date_is_refused(held, match):
    with pytest.raises(ValueError, match=match):
        from_json(held)


def test_a_zone_that_has_no_name_is_not_held():
    with pytest.raises(NotHeld, match="datetime in the time zone"):
        to_json(dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=61), "mine")))


def days_before(table):
    return np.column_stack([(moments.TODAY - table[name]).dt.days.fillna(9999) for name in table]).astype(float)


def loans_pipeline(**parts):
    X, y = moments.loans(300)
    step = make_column_transformer(
        (FunctionTransformer(days_before), ["opened", "late"]), (StandardScaler(), ["income"]), **parts
    )
    return make_pipeline(step, RandomForestClassifier(n_estimators=15, random_state=0)).fit(X, y), X, y


def test_a_forest_behind_a_step_that_turns_dates_into_days_is_read_right():
    model, X, y = loans_pipeline()
    schema, values = Schema.of(X)
    twin = TreeTwin(model, schema)
    assert np.abs(twin(values, schema) - model.predict_proba(X)).max() < 1e-12
    nice = NICE(model, accelerate=True).fit(X, y)
    plain = NICE(model, accelerate=False).fit(X, y)
    assert nice.explain(X.head(15)).to_frame().equals(plain.explain(X.head(15)).to_frame())


def test_dates_that_reach_the_trees_as_they_are_have_no_twin():
    X, y = moments.loans(100)
    X = X[["opened", "income"]]
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X.assign(opened=X["opened"].astype("int64")), y)
    with pytest.raises(NotSupported, match="it takes dates or durations as they are, in column 'opened'"):
        TreeTwin(forest, Schema.of(X)[0])
    model, X, _ = loans_pipeline()
    model.steps[0][1].transformers_[0] = ("dates", "passthrough", ["opened", "late"])
    model.steps[0][1].output_indices_["dates"] = slice(0, 2)
    model.steps[0][1]._transformer_to_input_indices["dates"] = [0, 1]
    with pytest.raises(NotSupported, match="as they are, in column 'opened'"):
        TreeTwin(model, Schema.of(X)[0])
