"""Rules that contradict each other: an error for all rows, and for single rows a feature that does not change."""

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints, OptionError, Wording, replay

GRADES = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
X = pd.DataFrame(
    {
        "age": np.tile([20.0, 30.0, 40.0, 50.0], 6),
        "job": np.repeat(["clerk", "nurse", "cook"], 8),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(24) * 30, unit="D"),
        "grade": pd.Series(np.tile(["low", "middle", "high"], 8)).astype(GRADES),
        "income": np.arange(24.0),
    }
)
ROWS = X[:3].reset_index(drop=True)


def needs(feature):
    """A model that accepts rows whose feature is another one than that of all three rows."""
    own = ROWS[feature].tolist()

    def model(table):
        accepted = ~table[feature].isin(own).to_numpy() | (table["income"] > 20).to_numpy()
        return np.column_stack([~accepted, accepted]).astype(float)

    return model


CONTRADICTIONS = {
    "numbers": ("age", {"ranges": {"age": (None, 60)}}, {"ranges": {"age": (70, None)}},
                "'age' may only change to at most 60; 'age' may only change to at least 70"),
    "dates": ("since", {"ranges": {"since": ("2024-01-01", None)}}, {"ranges": {"since": (None, "2023-01-01")}},
              "'since' may only change to at least 2024-01-01; 'since' may only change to at most 2023-01-01"),
    "levels": ("grade", {"ranges": {"grade": ("high", None)}}, {"ranges": {"grade": (None, "middle")}},
               "'grade' may only change to at least high; 'grade' may only change to at most middle"),
    "allowed": ("job", {"allowed": {"job": ["cook", "nurse"]}}, {"allowed": {"job": ["clerk"]}},
                "'job' may only become cook, nurse; 'job' may only become clerk"),
    "step": ("age", {"step": {"age": 10}}, {"step": {"age": 15}},
             "'age' may only change by whole steps of 10; 'age' may only change by whole steps of 15"),
    "directions": ("age", {"increasing": ["age"]}, {"decreasing": ["age"]},
                   "'age' may only increase; 'age' may only decrease"),
    "directions of dates": ("since", {"decreasing": ["since"]}, {"increasing": ["since"]},
                            "'since' may only become earlier; 'since' may only become later"),
    "orders": ("job", {"increasing": {"job": ["clerk", "cook", "nurse"]}}, {"increasing": {"job": ["clerk", "nurse", "cook"]}},
               "'job' has the order clerk, cook, nurse; 'job' has the order clerk, nurse, cook"),
}  # fmt: skip
EACH = pytest.mark.parametrize(
    ("feature", "own", "of_row", "rules"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys()
)


def fitted(feature, **own):
    return NICE(needs(feature), classes=[0, 1], constraints=Constraints(**own)).fit(X, needs(feature)(X).argmax(axis=1))


@EACH
def test_one_row_whose_rule_contradicts_the_explainers_keeps_its_value_and_says_why(feature, own, of_row, rules):
    nice = fitted(feature, **own)
    assert nice.explain(ROWS).found.all()
    together = nice.explain(ROWS, constraints=[None, Constraints(**of_row), None])
    assert together.found.all()
    assert together.to_frame()[feature].tolist()[1] == ROWS[feature].tolist()[1]
    assert together[1].changes[0].feature == "income"
    assert together.notes[1] == f"'{feature}' is not changed, since two rules contradict each other ({rules})"
    assert together.note_kinds[1] == ("contradiction",)
    assert not together.notes[0]
    alone = nice.explain(ROWS)
    assert together.to_frame().iloc[[0, 2]].equals(alone.to_frame().iloc[[0, 2]])


@EACH
def test_the_same_contradiction_for_all_rows_is_an_error_that_names_both_rules(feature, own, of_row, rules):
    message = rf"two rules of '{feature}' contradict each other: .*; .*\. Take one of them back"
    with pytest.raises(OptionError, match=message):
        fitted(feature, **own).explain(ROWS, constraints=Constraints(**of_row))
    if feature != "grade":  # which level is the higher one only the table knows
        with pytest.raises(OptionError, match=message):
            Constraints(**own) & Constraints(**of_row)
    fixed = Constraints(immutable=[feature]) & Constraints(**own)
    assert (fixed & Constraints(**of_row)).to_dict() == {"immutable": [feature]}


@EACH
def test_a_record_of_such_a_row_is_replayed(feature, own, of_row, rules):
    nice = fitted(feature, **own)
    cfs = nice.explain(ROWS, constraints=[None, Constraints(**of_row), None])
    record = cfs[1].to_record()
    assert record["call"]["constraints"] == Constraints(**of_row).to_dict()
    assert replay(record, nice).differences == ()


def test_where_nothing_else_helps_there_is_a_reason_and_no_error():
    nice = fitted("age", ranges={"age": (None, 60)}, immutable=["income"])
    cfs = nice.explain(ROWS, constraints=[None, Constraints(ranges={"age": (70, None)}), None])
    assert cfs.found.tolist() == [True, False, True]
    both = "two rules contradict each other ('age' may only change to at most 60; 'age' may only change to at least 70)"
    assert f"Blocked by each of: 'income' may not change; 'age' is not changed, since {both}" in cfs.reasons[1]
    assert both in cfs.notes[1]
    text = cfs.worded(Wording(language="de"))[1].text()
    assert "weil sich zwei Regeln widersprechen ('age' darf sich nur auf höchstens 60 ändern" in text


@pytest.mark.parametrize("as_given", [list, np.array, lambda low: pd.Series(low, index=ROWS.index)])
@pytest.mark.parametrize(("column", "high", "low"), [
    ("age", 45, [None, 70.0, 35.0]), ("since", "2021-06-01", [None, "2021-07-01", "2021-05-01"]),
])  # fmt: skip
def test_of_bounds_for_each_row_only_those_that_contradict_fix_a_row(column, high, low, as_given):
    if column == "age" and as_given is np.array:
        low = [np.nan, *low[1:]]
    nice = fitted(column, ranges={column: (None, high)})
    cfs = nice.explain(ROWS, constraints=Constraints(ranges={column: (as_given(low), None)}))
    one_each = [None if line == 0 else Constraints(ranges={column: (low[line], None)}) for line in range(3)]
    listed = nice.explain(ROWS, constraints=one_each)
    assert cfs.found.all()
    assert cfs.to_frame().equals(listed.to_frame())
    assert list(cfs.notes) == list(listed.notes)
    assert [bool(note) for note in cfs.notes] == [False, True, False]
    assert cfs.to_frame()[column].iloc[1] == ROWS[column].iloc[1]
    assert all(replay(record, nice).is_same for record in cfs.to_records())


def test_rows_may_all_contradict():
    nice = fitted("age", ranges={"age": (None, 60)})
    cfs = nice.explain(ROWS, constraints=Constraints(ranges={"age": ([70, 80, 90], None)}))
    assert cfs.to_frame()["age"].tolist() == ROWS["age"].tolist()
    assert len(set(cfs.notes)) == 3


@pytest.mark.parametrize(
    ("own", "of_row", "message"),
    [
        ({"step": {"age": 10}}, {"step": {"age": "3 days"}}, "step has '3 days' for 'age', a column of numbers"),
        ({"allowed": {"job": ["cook"]}}, {"allowed": {"job": ["cok"]}}, "allowed has 'cok' for 'job'.* Did you mean 'cook'"),
        ({"ranges": {"grade": ("high", None)}}, {"ranges": {"grade": ("middle", "low")}}, "the range of 'grade' is empty"),
    ],
)  # fmt: skip
def test_a_rule_of_a_row_that_does_not_fit_the_table_is_still_an_error(own, of_row, message):
    nice = fitted("age", **own)
    with pytest.raises(OptionError, match=message):
        nice.explain(ROWS, constraints=[None, Constraints(**of_row), None])


def test_bounds_for_rows_that_contradict_among_themselves_are_an_error():
    with pytest.raises(OptionError, match=r"its low bound 5.0 is above its high bound 2 \(row 1\). Swap the bounds"):
        Constraints(ranges={"age": ([1, 5], 2)})
    low, high = Constraints(ranges={"age": ([1, 5], None)}), Constraints(ranges={"age": (None, 2)})
    with pytest.raises(OptionError, match="'age' may only change to at least 5; 'age' may only change to at most 2"):
        low & high
