"""Dates and durations: numbers inside, dates outside, for every dtype that holds them."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import moments
from nicecf import NICE
from nicecf.exceptions import SchemaError
from nicecf.support.formats import shown, shown_duration
from nicecf.support.phrases import shipped
from nicecf.tables.schema import Schema
from nicecf.tables.temporal import DAY, Temporal

HOUR = DAY / 24
TABLES = moments.tables()


def same(one, other):
    if isinstance(one, pl.DataFrame):
        return one.schema == other.schema and one.equals(other)
    pd.testing.assert_frame_equal(one, other)
    return True


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_dates_comes_back_as_it_was(name):
    X = TABLES[name]
    schema, values = Schema.of(X)
    assert not schema.is_categorical.any()
    assert schema.columns[0].temporal is not None
    assert np.isnan(values[2, 0])
    assert same(schema.decode(values), X)
    again, _ = schema.encode(X)
    assert np.array_equal(again, values, equal_nan=True)


@pytest.mark.parametrize("name", TABLES)
def test_numbers_are_microseconds_in_utc(name):
    values = Schema.of(TABLES[name])[1][:, 0]
    temporal = Schema.of(TABLES[name])[0].columns[0].temporal
    expected = {"duration": moments.WAITS, "date": moments.DAYS}.get(temporal.kind, moments.TIMES)
    zone = None if temporal.zone is None else moments.BERLIN if "+" not in temporal.zone else temporal.tz
    for value, cell in zip(values, expected, strict=True):
        if cell is None:
            continue
        if temporal.kind == "duration":
            assert value == cell / dt.timedelta(microseconds=1)
            continue
        moment = dt.datetime(cell.year, cell.month, cell.day) if temporal.kind == "date" else cell
        moment = moment.replace(tzinfo=zone or dt.UTC)
        assert value == moment.timestamp() * 1e6


@pytest.mark.parametrize("name", TABLES)
def test_cells_for_people_are_plain_python(name):
    X = TABLES[name]
    schema, values = Schema.of(X)
    container, temporal = schema.container, schema.columns[0].temporal
    cells = container.objects(container.column(X, 0), np.arange(4))
    kind = {"duration": dt.timedelta, "date": dt.date, "datetime": dt.datetime}[temporal.kind]
    assert [type(cell) for cell in cells] == [kind, kind, type(None), kind]
    assert [temporal.value(number) for number in values[:, 0]] == cells.tolist()
    assert [temporal.number(cell) for cell in cells if cell is not None] == values[[0, 1, 3], 0].tolist()


@pytest.mark.parametrize("name", TABLES)
def test_a_changed_cell_is_written_in_the_dtype_of_the_rows(name):
    X = TABLES[name]
    schema, values = Schema.of(X)
    after = values[[1, 0, 3, 2]]
    back = schema.restore(X, values, after)
    again, _ = schema.encode(back)
    assert np.array_equal(again, after, equal_nan=True)
    if isinstance(X, pl.DataFrame):
        assert back.schema == X.schema
    else:
        assert back["when"].dtype == X["when"].dtype
        if X["when"].dtype == object:
            assert {type(cell) for cell in back["when"]} == {type(cell) for cell in X["when"]}


def test_a_dtype_of_larger_units_is_widened_where_it_cannot_hold_a_value():
    fine = pd.DataFrame({"when": pd.to_datetime(["2024-01-01 00:00:00.25", "2024-01-02"], format="ISO8601")})
    schema, values = Schema.of(fine)
    coarse = pd.DataFrame({"when": pd.to_datetime(["2024-01-02"]).astype("datetime64[s]")})
    back = schema.restore(coarse, schema.encode(coarse)[0], values[:1])
    assert back["when"].dtype == "datetime64[us]"
    assert back["when"].tolist() == [pd.Timestamp("2024-01-01 00:00:00.25")]
    back = pl.DataFrame({"when": pl.Series([dt.datetime(2024, 1, 1, 0, 0, 0, 1)])})
    schema, values = Schema.of(back)
    coarse = pl.DataFrame({"when": pl.Series([dt.datetime(2024, 1, 2)], dtype=pl.Datetime("ms"))})
    assert schema.restore(coarse, schema.encode(coarse)[0], values).equals(back)


def test_made_up_values_are_multiples_of_what_training_values_are():
    X = pd.DataFrame(
        {
            "days": pd.to_datetime(["2024-01-01", "2024-01-03"]),
            "hours": pd.to_datetime(["2024-01-01 10:00", "2024-01-03"], format="ISO8601"),
            "waits": pd.to_timedelta([90, 30], "min"),
            "zone": pd.to_datetime(["2024-01-01", "2024-07-01"]).tz_localize("Europe/Berlin"),
        }
    )
    schema, values = Schema.of(X)
    assert [column.temporal.unit for column in schema.columns] == [DAY, HOUR, HOUR / 60, HOUR]
    between = schema.rounded(values + 0.7 * DAY)
    assert np.array_equal(between[:, 0], values[:, 0] + DAY)
    assert (between % np.array([DAY, HOUR, HOUR / 60, HOUR]) == 0).all()
    assert np.abs(schema.rounded(np.full((1, 4), 1e30))).max() < 2**63 / 1000


def test_dates_may_be_named_as_categories():
    X = pd.DataFrame({"when": moments.PANDAS["datetime64[us]"], "n": [1, 2, 3, 4]})
    schema, values = Schema.of(X, ["when"])
    assert schema.is_categorical.tolist() == [True, False]
    assert values[:, 0].tolist() == [0, 1, -1, 2]
    pd.testing.assert_frame_equal(schema.decode(values), X)


def test_rows_of_which_all_dates_are_missing_are_read():
    schema, _ = Schema.of(pd.DataFrame({"when": moments.PANDAS["object dates"]}))
    assert np.isnan(schema.encode(pd.DataFrame({"when": pd.Series([None], dtype=object)}))[0]).all()
    schema, _ = Schema.of(pd.DataFrame({"when": moments.PANDAS["datetime64[us]"]}))
    assert np.isnan(schema.encode(pd.DataFrame({"when": [np.nan]}))[0]).all()
    assert np.isnan(schema.encode(pd.DataFrame({"when": pd.Series([pd.NaT], dtype=object)}))[0]).all()


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        (pd.Series(["9999-12-31"], dtype="datetime64[s]"), r"row 0 that is out of range \(allowed: 1677.*make it miss"),
        (moments.objects([dt.date(2024, 1, 1), dt.date(9999, 12, 31)]), "row 1 that is out of range.*9999-12-31"),
        (moments.objects([dt.timedelta(days=200_000)]), "row 0 that is out of range .allowed: at most 292 years"),
        (pd.Series([dt.date(9999, 12, 31)], dtype=pd.ArrowDtype(pa.date32())), "out of range"),
        (pd.Series([5], dtype="datetime64[ns]"), r"row 0 with more digits.*dt\.round\('ms'\)"),
        (moments.objects([pd.Timestamp(5)]), "row 0 with more digits"),
        (moments.objects([pd.Timedelta(5)]), "a duration in row 0 with more digits"),
        (pd.Series([2**53 + 1], dtype="datetime64[us]"), "more digits than can be kept exactly"),
        (
            moments.objects([moments.TIMES[0], moments.AWARE[0]]),
            r"mixes time zones \(Europe/Berlin and None; .*utc=True",
        ),
        (
            moments.objects([moments.AWARE[0], moments.AWARE[1].astimezone(dt.UTC)]),
            r"mixes time zones \(Europe/Berlin and UTC",
        ),
        (moments.objects([moments.DAYS[0], moments.TIMES[0]]), "objects of the type date and datetime; .*to_datetime"),
        (moments.objects([pd.Timestamp(0), moments.TIMES[0]]), "objects of the type Timestamp and datetime"),
        (moments.objects([None, pd.NaT, moments.DAYS[0]]), "marks missing values in more than one way"),
    ],
)
def test_what_cannot_be_kept_exactly_or_compared_is_refused(cells, match):
    with pytest.raises(SchemaError, match=f"column 'when' .*{match}"):
        Schema.of(pd.DataFrame({"when": cells}))


@pytest.mark.parametrize(
    ("was", "now", "match"),
    [
        (
            "datetime64[us]",
            "zone",
            r"held dates with times when fit saw it, but holds .* in the time zone Europe.*None",
        ),
        ("zone", "datetime64[us]", r"but holds dates with times now.*tz_localize\('Europe/Berlin'\)"),
        ("zone", "zone, ns", r"in the time zone UTC now.*tz_convert\('Europe/Berlin'\)"),
        ("datetime64[us]", "object dates", r"but holds dates now.*pd.to_datetime\(X\['when'\]\)\.$"),
        ("object dates", "datetime64[us]", r"held dates when .* but holds dates with times now.*\.dt\.date"),
        ("timedelta64[s]", "datetime64[us]", r"held durations when.*pd\.to_timedelta"),
    ],
)
def test_dates_of_another_sort_than_in_training_are_refused(was, now, match):
    schema, _ = Schema.of(pd.DataFrame({"when": moments.PANDAS[was]}))
    with pytest.raises(SchemaError, match=f"column 'when' .*{match}"):
        schema.encode(pd.DataFrame({"when": moments.PANDAS[now]}))


def test_numbers_and_text_where_training_had_dates_are_refused_and_the_reverse():
    dates = pd.DataFrame({"when": moments.PANDAS["datetime64[us]"]})
    schema, _ = Schema.of(dates)
    for cells in ([1.0, 2.0], ["2024-01-01", "x"]):
        with pytest.raises(SchemaError, match=r"column 'when' held dates with times .* but has dtype .*to_datetime"):
            schema.encode(pd.DataFrame({"when": cells}))
    with pytest.raises(
        SchemaError, match="column 'when' was numeric when fit saw it, but holds dates or durations now"
    ):
        Schema.of(pd.DataFrame({"when": [1.0]}))[0].encode(dates)
    with pytest.raises(SchemaError, match="held text when fit saw it .* but now holds Timestamp"):
        Schema.of(pd.DataFrame({"when": ["a"]}))[0].encode(dates)
    with pytest.raises(SchemaError, match="marks missing values by NaT, but used None"):
        Schema.of(pd.DataFrame({"when": moments.PANDAS["object dates"]}))[0].encode(
            pd.DataFrame({"when": moments.objects(moments.DAYS, pd.NaT)})
        )


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ("2024-03-01", 0.0),
        (dt.date(2024, 3, 1), 0.0),
        (pd.Timestamp("2024-03-01 06:00"), 6 * HOUR),
        (np.datetime64("2024-03-02"), DAY),
        ("2024-03-01T00:00:00.000001", 1.0),
    ],
)
def test_what_people_write_for_a_date(given, number):
    dates = Temporal("datetime")
    assert dates.number(given) - dates.number(dt.datetime(2024, 3, 1)) == number


@pytest.mark.parametrize(
    ("given", "hours"),
    [("30 days", 720), ("1 day 6 hours", 30), (dt.timedelta(hours=1), 1), (pd.Timedelta("2h"), 2), ("90 min", 1.5),
     (np.timedelta64(3, "h"), 3), ("P1DT6H", 30), ("2 weeks", 336), ("-1 days +23:00:00", -1)],
)  # fmt: skip
def test_what_people_write_for_a_duration(given, hours):
    assert Temporal("duration").number(given) == hours * HOUR


@pytest.mark.parametrize(
    ("temporal", "given", "match"),
    [
        (Temporal("datetime"), "last week", "write a date, such as '2024-03-01'"),
        (Temporal("datetime"), 20240301, "write a date"),
        (Temporal("datetime"), "2024-01-01T00:00:00.0000001", "to the microsecond"),
        (Temporal("datetime"), pd.Timestamp(1), "to the microsecond"),
        (Temporal("date"), "2024-03-01T00:00+01:00", "its column has no time zone"),
        (Temporal("date"), "9999-12-31", "between 1677-09-21 and 2262-04-11"),
        (Temporal("duration"), "30", "write a duration, such as '30 days'"),
        (Temporal("duration"), "3 months", "write a duration"),
        (Temporal("duration"), dt.date(2024, 1, 1), "write a duration"),
    ],
)
def test_what_is_no_date_and_no_duration(temporal, given, match):
    with pytest.raises(ValueError, match=match):
        temporal.number(given)


def test_a_date_without_a_zone_is_in_that_of_its_column():
    berlin = Temporal("datetime", "Europe/Berlin", tz=moments.BERLIN)
    assert berlin.number("2024-01-01") == berlin.number("2023-12-31T23:00+00:00")
    assert berlin.value(berlin.number("2024-07-01 12:00")).isoformat() == "2024-07-01T12:00:00+02:00"
    assert berlin.number("2024-03-31 02:30") == berlin.number("2024-03-31T03:00+02:00")  # there is no such time


def test_dates_and_durations_in_words():
    assert shown(dt.datetime(2024, 3, 1, 0, 0, 0, 500)) == "2024-03-01 00:00:00.000500"
    assert [shown_duration(dt.timedelta(hours=hours)) for hours in (0, 1, 24, 49)] == [
        "0 days", "1 hour", "1 day", "2 days 1 hour"]  # fmt: skip
    dutch = {**shipped("en"), "duration.days": "{count} dagen", "duration.negative": "minus {duration}",
              "number.decimal_point": ",", "duration.seconds": "{count} seconden"}  # fmt: skip
    assert shown_duration(-dt.timedelta(days=3, seconds=1.5), dutch) == "minus 3 dagen 1,5 seconden"


def test_the_model_gets_the_dates_as_fit_got_them():
    X, y = moments.loans()
    X = X.assign(opened=X["opened"].dt.date, late=X["late"].astype("datetime64[s]"))
    asked = []

    def model(table):
        asked.append(table)
        return moments.approve(table)

    cfs = NICE(model, classes=[0, 1]).fit(X, y).explain(X.head(20))
    assert cfs.found.all()
    for table in asked:
        assert table.dtypes.equals(X.dtypes)
        assert {type(cell) for cell in table["opened"]} == {dt.date}
    assert (moments.approve(cfs.to_frame()).argmax(axis=1) == cfs.predicted_after).all()
    assert cfs.to_frame().dtypes.equals(X.dtypes)
