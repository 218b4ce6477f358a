"""Constraints(within=...): a feature changes by at most so much from the row's own value."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints, OptionError, Wording


def takes(own, values, limit, dtype=float):
    """Which values of a column a row may change to: the model wants exactly that value, one after another."""
    X = pd.DataFrame({"x": np.array([*values, own], dtype=dtype), "y": 0.0})
    rules = Constraints(within={"x": limit})

    def is_taken(value):
        is_it = lambda table: (table["x"] == value).to_numpy()
        model = lambda table: np.column_stack([~is_it(table), is_it(table)]).astype(float)
        return NICE(model, classes=[0, 1], justified=False).fit(X).explain(X[-1:], constraints=rules).found[0]

    return [value for value in values if is_taken(X["x"].dtype.type(value))]


@pytest.mark.parametrize(
    ("own", "values", "limit", "expected"),
    [
        (30, [27.5, 28, 29, 32, 32.5], 2, [28, 29, 32]),
        (0.8, [0.6, 0.7, 0.9, 1.0], 0.1, [0.7, 0.9]),  # 0.8 - 0.1 is more than 0.7
        (0.1, [-0.1, 0.3], 0.2, [-0.1, 0.3]),
        (100, [89, 90, 110, 111], "10%", [90, 110]),
        (-100, [-111, -110, -90, -89, 90], "10 %", [-110, -90]),
        (0, [-1, 1], "50%", []),
        (100, [50, 90, 95, 105, 110], ["10%", 5], [95, 105]),
        (1e10, [1e10 - 3, 1e10 - 2, 1e10 + 2, 1e10 + 3], 2, [1e10 - 2, 1e10 + 2]),
        (np.nan, [1, 2], 5, []),
    ],
)
def test_a_value_changes_by_at_most_the_limit_in_both_directions(own, values, limit, expected):
    assert takes(own, values, limit) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_short_numbers_are_compared_as_they_were_meant(dtype):
    assert takes(0.8, [0.6, 0.7, 0.9, 1.0], 0.1, dtype=dtype) == [0.7, 0.9]


DATES = pd.DataFrame(
    {
        "opened": pd.to_datetime(["2024-01-01", "2024-01-31", "2024-02-01", "2023-12-02"]),
        "waited": pd.to_timedelta([10, 11, 12, 30], unit="D"),
    }
)


def opened(model, **rules):
    nice = NICE(lambda X: np.column_stack([~model(X), model(X)]).astype(float), classes=[0, 1], justified=False)
    return nice.fit(DATES).explain(DATES[:1], constraints=Constraints(**rules))


@pytest.mark.parametrize(("column", "day", "limit", "is_found"), [
    ("opened", "2024-01-31", "30 days", True), ("opened", "2023-12-02", dt.timedelta(days=30), True),
    ("opened", "2024-02-01", "30 days", False), ("waited", "11 days", "10%", True), ("waited", "12 days", "10%", False),
    ("waited", "12 days", pd.Timedelta(days=2), True),
])  # fmt: skip
def test_dates_and_durations_change_by_a_duration(column, day, limit, is_found):
    value = pd.Timestamp(day) if column == "opened" else pd.Timedelta(day)
    assert opened(lambda X: (X[column] == value).to_numpy(), within={column: limit}).found[0] == is_found


def test_of_two_rules_the_smaller_limit_holds():
    one, other = Constraints(within={"a": 2, "b": 3}), Constraints(within={"a": 1, "b": "10%", "c": "5%"})
    assert (one & other).to_dict() == {"within": {"a": 1, "b": [3, "10%"], "c": "5%"}}
    assert (other & Constraints(within={"c": "2.5%"})).within["c"] == ("2.5%",)


def test_the_smallest_limit_that_helps_is_offered_in_both_languages():
    X = pd.DataFrame({"age": [30.0, 35.5, 60.0], "income": [0.5, 0.5, 0.8]})
    model = lambda X: np.column_stack([X["age"] < 35, X["age"] >= 35]).astype(float)
    nice = NICE(model, classes=["no", "yes"], justified=False).fit(X)
    cfs = nice.explain(X[:1], constraints=Constraints(within={"age": 2}))
    assert "Blocked by: 'age' may change by at most 2." in cfs.reasons[0]
    assert cfs.relaxations[0].action == "allow 'age' to change by up to 5.5"
    assert nice.explain(X[:1], constraints=cfs.relaxations[0].constraints).found[0]
    text = cfs.worded(Wording(language="de"))[0].text()
    assert "'age' darf sich höchstens um 2 ändern" in text
    assert "'age' um bis zu 5,5 ändern lassen" in text
    by_percent = nice.explain(X[:1], constraints=Constraints(within={"age": "10%"}))
    assert "'age' may change by at most 10 %" in by_percent.reasons[0]
    assert by_percent.relaxations[0].constraints.to_dict() == {"within": {"age": 5.5}}


def test_what_is_offered_of_dates_is_a_duration():
    cfs = opened(lambda X: (X["opened"] >= "2024-02-01").to_numpy(), within={"opened": "2 weeks"})
    assert cfs.relaxations[0].action == "allow 'opened' to change by up to 31 days"
    assert cfs.relaxations[0].constraints.to_dict() == {"within": {"opened": "31 days"}}


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        *((limit, r"within has .* for 'waited'; it must be a number above 0, a percentage such as '10%' or, for dates")
          for limit in (0, -1, True, np.True_, np.nan, np.inf, "2", "ten", "0%", "-5%", "-3 days", None, [], [1, 2], {"low": 1})),
        (3, r"within has 3 for 'waited', a column of durations; write a duration, such as '30 days'\."),
    ],
)  # fmt: skip
def test_limits_that_make_no_sense(limit, message):
    with pytest.raises(OptionError, match=message):
        opened(lambda X: np.ones(len(X), dtype=bool), within={"waited": limit})


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"opened": "10%"}, "within has '10%' for 'opened', a column of dates; write a duration, such as '30 days'"),
        ({"number": "3 days"}, "within has '3 days' for 'number', a column of numbers; write a number"),
        ({"level": 1}, "within names 'level', which is categorical"),
        ({"numb": 1}, "within names 'numb', which is not a column of X; .* Did you mean 'number'?"),
    ],
)
def test_limits_that_do_not_fit_the_table(rules, message):
    X = DATES.assign(number=1.0, level="a")
    with pytest.raises(OptionError, match=message):
        NICE(lambda X: np.ones((len(X), 2)) / 2, classes=[0, 1], constraints=Constraints(within=rules)).fit(X, [0] * 4)
