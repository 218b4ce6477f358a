"""Dates and durations for people: texts, tables, summaries, pictures, exported tables."""

import datetime as dt
import json

import pandas as pd
import pytest

import moments
from nicecf import NICE, Constraints, Wording, plots
from nicecf.support.phrases import phrases_of
from nicecf.tables.temporal import Temporal
from nicecf.views import exported_table
from nicecf.views.plots.draw.date_ticks import date_ticks, ticks_of
from nicecf.views.telling import Teller

X, Y = moments.loans()


@pytest.fixture(scope="module")
def cfs():
    rules = Constraints(immutable=["income"], may_become_missing=False, decreasing=["opened"])
    return NICE(moments.approve, classes=[0, 1], constraints=rules).fit(X, Y).explain(X[Y == 0].head(40))


@pytest.fixture(scope="module")
def one():
    """An explanation in which a date becomes earlier and a duration shorter."""
    rules = Constraints(immutable=["income", "late"], decreasing=["opened", "waited"])
    nice = NICE(moments.approve, classes=[0, 1], constraints=rules, search="greedy", optimize="proximity").fit(X, Y)
    return next(each for each in nice.explain(X[Y == 0]) if len(each.changes) == 2)


def test_sentences_have_iso_dates_and_durations_in_words(one):
    opened = next(change for change in one.changes if change.feature == "opened")
    waited = next(change for change in one.changes if change.feature == "waited")
    assert type(opened.before) is dt.datetime
    assert type(waited.before) is dt.timedelta
    for style in ("sentence", "bullets", "letter"):
        text = one.text(style)
        assert f"{opened.after:%Y-%m-%d} instead of {opened.before:%Y-%m-%d}" in text
        assert "00:00" not in text
        assert "day" in text
    assert f"opened: {opened.before:%Y-%m-%d} -> {opened.after:%Y-%m-%d}" in one.text("analyst")


def test_dates_are_never_rounded_and_numbers_beside_them_are():
    table = X.assign(income=X["income"] + 1 / 3, late=X["late"] + pd.Timedelta("1h 2min 3.25s"))
    found = NICE(moments.approve, classes=[0, 1]).fit(table, Y).explain(table[Y == 0].head(30))
    for each, text in zip(found, found.texts(), strict=True):
        for change in each.changes:
            if change.feature == "late" and change.after is not None:
                assert f"late were {change.after:%Y-%m-%d} 01:02:03.250000 instead of" in text
            if change.feature == "income":
                assert str(change.after) not in text


def test_a_language_writes_dates_and_durations_its_own_way(tmp_path, one):
    english = phrases_of("en")
    sections = {}
    for key, phrase in english.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = phrase
    sections["date"]["day"] = "{day}.{month}.{year}"
    sections["duration"] |= {"days": "{count} dagen", "days_one": "{count} dag", "hours": "{count} uren"}
    path = tmp_path / "de.toml"
    path.write_text(
        "\n".join(
            [
                line
                for section, phrases in sections.items()
                for line in (f"[{section}]", *(f"{name} = {json.dumps(text)}" for name, text in phrases.items()))
            ]
        )
    )
    wording = Wording(language=path, units={"waited": "ca. {}"})
    opened = next(change for change in one.changes if change.feature == "opened")
    text = one.text(wording=wording)
    assert f"{opened.after:%d.%m.%Y} instead of {opened.before:%d.%m.%Y}" in text
    assert "dagen" in text
    assert "were ca. " in text


def test_a_time_is_told_as_far_as_there_is_one():
    table = X.assign(opened=X["opened"] + pd.to_timedelta(range(len(X)), "min"))
    found = NICE(moments.approve, classes=[0, 1]).fit(table, Y).explain(table[Y == 0].head(30))
    text = "\n".join(found.texts())
    assert pd.Series([text]).str.contains(r"opened were \d{4}-\d\d-\d\d \d\d:\d\d(?::00)? instead of").any()
    assert ":00 " not in text.replace(":00 instead", "")


def test_tables_in_a_terminal_and_in_a_notebook(cfs, one):
    opened = next(change for change in one.changes if change.feature == "opened")
    for shown in (str(one), one._repr_html_(), cfs._repr_html_()):
        assert f"{opened.before:%Y-%m-%d}" in shown
    assert "datetime" not in str(one) + one._repr_html_() + str(cfs)


def test_a_report_has_dates(tmp_path, cfs):
    cfs.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "2016-" in page
    assert "datetime." not in page
    assert "00:00:00" not in page


def test_a_summary_counts_days(cfs):
    summary = cfs.summary()
    of = summary.features.set_index("feature")
    assert isinstance(of.loc["opened", "median_change"], dt.timedelta)
    assert of.loc["opened", "median_change"] < dt.timedelta(0)
    assert of.loc["opened", "median_change"].seconds == 0  # whole days, as all training values are
    assert isinstance(of.loc["opened", "before"], dt.datetime)
    assert of.loc["opened", "increased"] == 0
    assert "\N{MINUS SIGN}" in str(summary)
    assert " days" in str(summary)
    assert "minus" not in str(summary)
    assert "days" in summary._repr_html_()


def test_a_summary_by_dates(cfs):
    groups = cfs.summary(by="opened").groups["group"]
    assert all(pd.Series(groups).str.fullmatch(r"\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d"))
    rows = X[Y == 0].head(40)
    by_series = cfs.summary(by=rows["opened"]).groups["group"]
    assert by_series.tolist() == groups.tolist()
    years = cfs.summary(by=rows["opened"].dt.to_period("Y").dt.start_time).groups["group"]
    assert {type(group) for group in years} == {dt.datetime}


def test_exported_tables_hold_dates_as_text_and_as_dates(cfs):
    table = exported_table.table(cfs.batch)
    assert table["opened"].dtype == X["opened"].dtype
    changes = [change for cell in table["changes"] for change in json.loads(cell)]
    dates = [change["after"] for change in changes if change["feature"] == "opened"]
    assert dates
    assert all(dt.date.fromisoformat(one) for one in dates)
    waits = [change["after"] for change in changes if change["feature"] == "waited"]
    assert all(Temporal("duration").number(one) >= 0 for one in waits)


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        ("2010-05-01", "2024-06-01", 6, ["2015", "2020"]),
        ("2019-03-01", "2024-06-01", 6, ["2020", "2021", "2022", "2023", "2024"]),
        ("2024-01-10", "2024-06-01", 6, ["2024-02", "2024-03", "2024-04", "2024-05", "2024-06"]),
        ("2023-01-10", "2024-03-01", 6, ["2023-04", "2023-07", "2023-10", "2024-01"]),
        ("2024-02-27", "2024-03-02", 6, ["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"]),
        ("2024-01-01", "2024-02-15", 6, ["2024-01-01", "2024-01-11", "2024-01-21", "2024-02-01", "2024-02-11"]),
        ("2024-01-01 10:00", "2024-01-01 22:00", 5, ["01-01 12:00", "01-01 15:00", "01-01 18:00", "01-01 21:00"]),
        ("2024-01-01 10:01", "2024-01-01 10:05", 6, ["10:01", "10:02", "10:03", "10:04", "10:05"]),
        ("2024-01-01 10:00:01", "2024-01-01 10:00:02", 6, ["10:00:01", "10:00:02"]),
        ("2024-01-01", "2024-01-01", 6, ["2024-01-01"]),
    ],
)
def test_an_axis_of_dates_has_round_ticks(low, high, most, expected):
    for temporal in (Temporal("datetime"), Temporal("datetime", "Europe/Berlin", tz=moments.BERLIN)):
        ticks = date_ticks(temporal.number(low), temporal.number(high), most, temporal)
        assert [tick.text.removesuffix("+01:00") for tick in ticks] == expected
        assert [tick.value for tick in ticks] == sorted(tick.value for tick in ticks)


def test_an_axis_of_durations_has_round_ticks():
    waits = Temporal("duration")
    teller = Teller(Wording())
    ticks = ticks_of(waits.number("-2 hours"), waits.number("9 hours"), 6, waits, teller)
    assert [tick.text for tick in ticks] == ["0 days", "3 hours", "6 hours", "9 hours"]
    assert [tick.text for tick in ticks_of(5.0, 5.0, 6, waits, teller)] == ["0.000005 seconds"]
    assert [tick.text for tick in ticks_of(0.0, 1.0, 3, None, teller)] == ["0.0", "0.5", "1.0"]


def test_pictures_have_dates_on_their_axes(one):
    for draw in (plots.changes, plots.regions):
        texts = [text.get_text() for text in draw(one).figure.findobj(lambda artist: hasattr(artist, "get_text"))]
        assert len({"2016", "2017", "2018", "2019", "2020", "2021", "2022"} & set(texts)) >= 3
        assert not any("e+15" in text for text in texts)
