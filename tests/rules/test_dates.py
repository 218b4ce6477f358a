"""Rules of dates and durations: what people write, what it means, and what makes no sense."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import moments
from nicecf import NICE, Constraints, suggest_rules
from nicecf.exceptions import OptionError
from nicecf.rules.expressions import Relation
from nicecf.rules.expressions.dates import relation_of
from nicecf.rules.reading import rules_of
from nicecf.tables.schema import Schema
from nicecf.tables.temporal import Temporal

X, Y = moments.loans()
ROWS = X.head(40)
DATES = Temporal("datetime")
BERLIN = Temporal("datetime", "Europe/Berlin", tz=moments.BERLIN)


def explained(rows=ROWS, table=X, **rules):
    return NICE(moments.approve, classes=[0, 1], constraints=Constraints(**rules)).fit(table, Y).explain(rows)


def changed(cfs, feature):
    """The values before and after, of the rows in which a feature changes."""
    changes = cfs.changes()
    changes = changes[changes["feature"] == feature]
    return list(zip(changes["before"], changes["after"], strict=True))


def test_increasing_means_later_and_decreasing_earlier():
    later = changed(explained(increasing=["opened"], may_become_missing=False), "opened")
    earlier = changed(explained(decreasing=["opened"], may_become_missing=False), "opened")
    assert later
    assert earlier
    assert all(after > before for before, after in later)
    assert all(after < before for before, after in earlier)


def test_reasons_speak_of_later_and_earlier_dates_and_of_higher_numbers():
    cfs = explained(increasing=["opened", "late"], immutable=["income", "waited"], may_become_missing=False)
    reasons = [reason for reason in cfs.reasons if reason]
    assert any("'opened' may only become later" in reason for reason in reasons)
    assert any("allow 'opened' to become earlier" in reason for reason in reasons)
    cfs = explained(increasing=["waited", "late"], immutable=["income", "opened"], may_become_missing=False)
    assert any("'waited' may only increase" in reason for reason in cfs.reasons if reason)
    relaxation = next(one for one in cfs.relaxations if one is not None)
    assert "become" in relaxation.action or "decrease" in relaxation.action


@pytest.mark.parametrize(
    "low", ["2018-06-01", dt.date(2018, 6, 1), dt.datetime(2018, 6, 1), pd.Timestamp("2018-06-01"),
            np.datetime64("2018-06-01")], ids=repr,
)  # fmt: skip
def test_a_range_of_dates_is_kept_however_it_is_written(low):
    rules = Constraints(ranges={"opened": (low, "2019-06-01 12:00")})
    assert rules.to_dict() == {"ranges": {"opened": {"low": "2018-06-01", "high": "2019-06-01 12:00"}}}
    assert Constraints(**rules.to_dict()).to_dict() == rules.to_dict()
    after = [value for _, value in changed(explained(ranges={"opened": (low, "2019-06-01 12:00")}), "opened")]
    assert after
    assert all(dt.datetime(2018, 6, 1) <= value <= dt.datetime(2019, 6, 1, 12) for value in after)


def test_a_range_with_a_bound_for_each_row():
    bounds = ROWS["opened"] - pd.Timedelta(days=400)
    bounds.iloc[3] = pd.NaT
    cfs = explained(ranges={"waited": (None, "10 days")})
    nice = NICE(moments.approve, classes=[0, 1]).fit(X, Y)
    for given in (bounds, bounds.to_numpy(), bounds.dt.date.tolist()):
        cfs = nice.explain(ROWS, constraints=Constraints(ranges={"opened": (given, None)}))
        changes = cfs.changes()
        changes = changes[changes["feature"] == "opened"]
        assert len(changes)
        low = bounds.loc[changes["row"]].to_numpy()
        assert all(np.isnat(bound) or np.datetime64(after) >= bound
                   for bound, after in zip(low, changes["after"], strict=True))  # fmt: skip
        merged = Constraints(ranges={"opened": (given, None)}) & Constraints(ranges={"opened": ("2017-01-01", None)})
        kept = merged.for_row(3).ranges["opened"], merged.for_row(0).ranges["opened"]
        assert kept[0] == (dt.datetime(2017, 1, 1), None)
        assert kept[1] == (max(dt.datetime(2017, 1, 1), bounds.iloc[0].to_pydatetime()), None)


def test_steps_are_whole_numbers_of_a_duration():
    for step in ("30 days", dt.timedelta(days=30), pd.Timedelta(days=30)):
        rules = Constraints(step={"opened": step, "waited": "12 hours"})
        assert rules.to_dict() == {"step": {"opened": "30 days", "waited": "12 hours"}}
        moves = changed(explained(step={"opened": step}), "opened")
        assert moves
        assert all((after - before) % dt.timedelta(days=30) == dt.timedelta(0) for before, after in moves)
    assert (rules & Constraints(step={"opened": "60 days"})).step["opened"] == dt.timedelta(days=60)
    with pytest.raises(
        OptionError, match=r"two rules of 'opened' contradict each other: .* steps of 30 days; .* steps of 45 days"
    ):
        _ = rules & Constraints(step={"opened": "45 days"})
    with pytest.raises(
        OptionError, match=r"two rules of 'opened' contradict each other: .* steps of 30 days; .* steps of 3\."
    ):
        _ = rules & Constraints(step={"opened": 3})


def test_allowed_and_forbidden_dates():
    some = X["opened"].drop_duplicates().head(60)
    allowed = [some.iloc[0], some.iloc[1].date(), *some.iloc[2:].dt.strftime("%Y-%m-%d")]
    rules = {"allowed": {"opened": allowed}, "immutable": ["late"]}
    after = {value for _, value in changed(explained(**rules), "opened")}
    assert after
    assert after <= set(some.dt.to_pydatetime() if hasattr(some.dt, "to_pydatetime") else some)
    before, value = changed(explained(), "opened")[0]
    pairs = [(before.date(), f"{value:%Y-%m-%d}")]
    assert (before, value) not in changed(explained(forbid={"opened": pairs}), "opened")
    plain = Constraints(forbid={"opened": [(before, value.date())]}).to_dict()
    assert plain == {"forbid": {"opened": [[f"{before:%Y-%m-%d}", f"{value:%Y-%m-%d}"]]}}


def test_rules_from_a_toml_file_with_dates(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(
        'increasing = ["late"]\nrelations = ["opened <= late"]\n[ranges]\nopened = {low = 2017-01-01, high = "2023-01-01"}\n'
        '[step]\nwaited = "6 hours"\n[allowed]\nlate = [2020-05-17, 2020-05-18T00:00:00]\n'
    )
    rules = Constraints.from_toml(path)
    assert rules.to_dict() == {
        "increasing": ["late"],
        "ranges": {"opened": {"low": "2017-01-01", "high": "2023-01-01"}},
        "allowed": {"late": ["2020-05-17", "2020-05-18"]},
        "step": {"waited": "6 hours"},
        "relations": ["opened <= late"],
    }


def test_a_sheet_has_dates_beside_numbers_and_says_later():
    sheet = pd.DataFrame(
        {
            "feature": ["opened", "late", "income", "waited"],
            "direction": ["earlier", "later", "increasing", ""],
            "low": ["2016-01-01", "", "20", ""],
            "step": ["", "", "5", "6 hours"],
        }
    )
    assert Constraints.from_frame(sheet).to_dict() == {
        "increasing": ["late", "income"],
        "decreasing": ["opened"],
        "ranges": {"opened": {"low": "2016-01-01"}, "income": {"low": 20.0}},
        "step": {"income": 5.0, "waited": "6 hours"},
    }
    with pytest.raises(OptionError, match=r"direction is 'sooner'.*of dates, 'later' or 'earlier' as well"):
        Constraints.from_frame(pd.DataFrame({"feature": ["opened"], "direction": ["sooner"]}))


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        ({"ranges": {"opened": (3, None)}}, r"ranges has 3 for 'opened', a column of dates with times: write a date"),
        ({"ranges": {"income": ("2024-01-01", None)}}, "the range of 'income' is one of dates .* column of numbers"),
        ({"ranges": {"opened": ("2024-01-01+01:00", None)}}, "not a number"),
        ({"ranges": {"opened": ("2024-01-01T00:00+01:00", None)}}, "its column has no time zone"),
        ({"ranges": {"opened": ("last week", None)}}, "a bound that is not a number: 'last week'.*'2024-03-01'"),
        ({"ranges": {"opened": ("2024-02-01", "2024-01-01")}}, "is empty: its low bound 2024-02-01 is above"),
        ({"ranges": {"opened": ("2024-02-01", "3 days")}}, "2024-02-01 and 3 days of 'opened' cannot be compared"),
        ({"ranges": {"opened": ([dt.date(2024, 1, 1), 3], None)}}, "has 3 among bounds that are dates"),
        ({"step": {"opened": 30}}, "step has 30 for 'opened', a column of dates with times; write a duration"),
        ({"step": {"income": "30 days"}}, "step has '30 days' for 'income', a column of numbers; write a number"),
        ({"step": {"opened": "30"}}, "step has '30' .*a duration such as '30 days'"),
        ({"step": {"opened": dt.timedelta(0)}}, "must be a number above 0 or"),
        (
            {"allowed": {"opened": ["soon"]}},
            "allowed has 'soon' for 'opened', a column of dates with times: write a date",
        ),
        ({"forbid": {"waited": [("1 day", 4)]}}, "forbid has 4 for 'waited', a column of durations: write a duration"),
        ({"relations": ["opened <= 30"]}, "'opened <= 30' compares a date with a number"),
        ({"relations": ["opened + late <= opened"]}, "adds dates to each other"),
        ({"relations": ["late - opened <= 30"]}, "compares a duration with a number"),
        ({"relations": ["late - opened + income <= waited"]}, "adds a number and a date or a duration"),
        ({"relations": ["-opened <= late"]}, "'-opened' computes with a date as if it were a number"),
        ({"relations": ['opened != "soon"']}, "compares a column of dates or durations with a text"),
        ({"relations": ["opened implies income >= 0"]}, "'opened' is a column of dates .* neither true nor false"),
        ({"relations": ["waited * 2 <= opened"]}, "compares a duration with a date"),
        (
            {"relations": ['opened <= "2024-01-01T00:00+01:00"']},
            "does not fit the dates that it stands beside: its col",
        ),
    ],
)
def test_rules_that_do_not_fit_a_column_of_dates_say_what_to_write(rules, match):
    with pytest.raises(OptionError, match=match):
        explained(rows=ROWS.head(1), **rules)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= b", [True, False, True]),
        ('b - a <= "1 day"', [True, True, True]),
        ('b - a > "1 day"', [False, False, True]),
        ("b - a >= 0", [True, False, True]),
        ('a >= "2024-01-02"', [False, True, True]),
        ('"2024-01-01 12:00" > a', [True, False, True]),
        ('a == "2024-01-01"', [True, False, True]),
        ('a != "2024-01-01T00:00"', [False, True, True]),
        ('a + "36 hours" >= b', [True, True, True]),
        ('min(a, b) + "1 day" >= max(a, b)', None),
        ('(b - a) / "12 hours" <= 2', [True, True, True]),
        ('a >= "2024-01-02" implies n == 1', [True, False, True]),
    ],
)
def test_relations_of_dates(text, expected):
    a, b = (np.array([DATES.number(one) for one in days] + [np.nan]) for days in
            (("2024-01-01", "2024-01-03"), ("2024-01-02", "2024-01-02")))  # fmt: skip
    if expected is None:
        with pytest.raises(OptionError, match="function of columns"):
            Relation.parse(text)
        return
    relation = Relation.parse(text)
    assert str(Relation.parse(str(relation))) == str(relation)
    fitted = relation_of(relation, tuple((name, DATES) for name in relation.columns if name != "n"))
    columns = {"a": a, "b": b, "n": np.array([0.0, 0.0, 0.0])}
    # Where a date is missing, a relation is open, and holds.
    wanted = [*expected[:2], True]
    assert fitted.holds({name: columns[name] for name in relation.columns}).tolist() == wanted


def test_dates_in_quotes_are_in_the_zone_of_their_columns():
    relation = relation_of(Relation.parse('a >= "2024-01-01"'), (("a", BERLIN),))
    at = np.array([BERLIN.number("2023-12-31T23:00+00:00"), BERLIN.number("2023-12-31T22:59+00:00")])
    assert relation.holds({"a": at}).tolist() == [True, False]
    with pytest.raises(OptionError, match=r"with and without a time zone: 'a' \(Europe/Berlin\), 'b' \(none\)"):
        relation_of(Relation.parse("a <= b"), (("a", BERLIN), ("b", DATES)))
    utc = Temporal("datetime", "UTC", tz=dt.UTC)
    assert relation_of(Relation.parse("a <= b"), (("a", BERLIN), ("b", utc))).holds({"a": at, "b": at}).all()
    with pytest.raises(OptionError, match="compared with dates in several time zones"):
        relation_of(Relation.parse('a - b <= a - "2024-01-01"'),
                    (("a", BERLIN), ("b", utc)))  # fmt: skip


def test_relations_of_dates_are_kept_and_those_of_training_rows_are_found():
    cfs = explained(relations=["opened <= late", 'opened >= "2016-06-01"'])
    frame = cfs.to_frame()[cfs.found]
    assert ((frame["opened"] <= frame["late"]) | frame["late"].isna()).all()
    reasons = [reason for reason in cfs.reasons if reason]
    assert all("the row itself breaks a relation" in reason and "2016-06-01" in reason for reason in reasons)
    table, y = moments.loans(1500)
    found = suggest_rules(table, y)
    assert "opened <= late" in str(found)
    assert "waited" not in "".join(line for line in str(found).splitlines() if "<=" in line)


def derived_table():
    table = X.assign(held=X["late"] - X["opened"], ends=X["opened"] + pd.Timedelta(days=730))
    return table.assign(held_days=(table["held"] / pd.Timedelta(days=1)))


def by_function(table):
    return table["opened"] + pd.Timedelta(days=730)


@pytest.mark.parametrize(
    "derived",
    [
        {"held": "late - opened", "ends": 'opened + "730 days"', "held_days": '(late - opened) / "1 day"'},
        {"ends": by_function, "held": lambda table: list(table["late"] - table["opened"])},
        {"ends": lambda table: by_function(table).to_numpy()},
    ],
)
def test_columns_that_follow_from_dates(derived):
    table = derived_table()
    cfs = explained(table=table, rows=table.head(30), derived=derived)
    frame = cfs.to_frame()[cfs.found]
    assert len(frame)
    if "ends" in derived:
        assert (frame["ends"] == frame["opened"] + pd.Timedelta(days=730)).all()
    if "held" in derived:
        assert ((frame["held"] == frame["late"] - frame["opened"]) | frame["late"].isna()).all()
    if "held_days" in derived:
        assert ((frame["held_days"] == (frame["late"] - frame["opened"]).dt.days) | frame["late"].isna()).all()


@pytest.mark.parametrize(
    ("derived", "match"),
    [
        ({"held": "opened + late"}, "derived has 'opened . late' for 'held': 'opened . late' adds dates"),
        ({"held_days": "late - opened"}, r"gives a duration, but its column holds numbers. Divide it.*\"1 day\""),
        ({"held": 'opened + "3 days"'}, "gives a date, but its column holds durations"),
        ({"held_days": "round(late - opened)"}, "rounds a date or a duration"),
        ({"held_days": "min(opened, held)"}, "is of dates and durations"),
        ({"held_days": "income / (late - opened)"}, "multiplies durations, or divides by one"),
        ({"ends": 'opened + "700 days"'}, r"row 0 has \d{4}-\d\d-\d\d, but \d{4}-\d\d-\d\d is computed"),
        (
            {"held_days": lambda table: table["late"] - table["opened"]},
            "returned no numbers: they are of dtype timedelta",
        ),
        ({"ends": lambda table: table["income"]}, "that derives 'ends' returned other values: .*held dates with times"),
    ],
)
def test_columns_that_cannot_follow_from_dates(derived, match):
    with pytest.raises(OptionError, match=match):
        explained(table=derived_table(), rows=ROWS.head(1), derived=derived)


def test_categories_that_are_dates_are_named_as_people_write_them():
    table = pd.DataFrame({"when": pd.to_datetime(["2024-01-01", "2024-01-02"] * 5), "n": range(10)})
    schema, values = Schema.of(table, ["when"])
    rules = rules_of(Constraints(allowed={"when": ["2024-01-02"]}), schema, values, trained=schema)
    assert rules is not None
    with pytest.raises(OptionError, match="allowed has '2024-01-03' for 'when', a value that no training row has"):
        rules_of(Constraints(allowed={"when": ["2024-01-03"]}), schema, values, trained=schema)


def test_allowed_dates_are_the_same_as_in_a_record():
    moment = pd.Timestamp("2020-12-31 09:00")
    rules = Constraints(allowed={"opened": [moment, "2020-01-31"]})
    again = Constraints(**rules.to_dict())
    assert (rules & again).to_dict() == (again & rules).to_dict() == rules.to_dict()


def test_forbidden_dates_are_the_same_as_in_a_record():
    rules = Constraints(forbid={"opened": [(pd.Timestamp("2020-12-31 09:00"), None), ("2020-01-31", "2020-02-01")]})
    again = Constraints(**rules.to_dict())
    assert (rules & again).to_dict() == (again & rules).to_dict() == rules.to_dict()
