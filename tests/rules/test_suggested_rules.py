"""``suggest_rules``: the file that it writes is read back as rules, and what it is given is checked."""

import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import nicecf
from nicecf import NICE, Constraints, OptionError, SchemaError, suggest_rules
from nicecf.testing import Scorecard, applicants

N = 400


def rng(seed=0):
    return np.random.default_rng(seed)


def people(n=N):
    return pd.DataFrame(
        {
            "sex": rng(1).choice(["f", "m"], n),
            "age": rng(2).integers(18, 80, n),
            "payment": 50 * rng(3).integers(1, 90, n),
            "member": np.arange(n),
        }
    )


def planted(n=1_200):
    """A table that suggests every kind of rule."""
    X = people(n).join(pd.get_dummies(pd.DataFrame({"job": rng(4).choice(list("abc"), n)}), dtype=int))
    X["price_min"] = rng(5).integers(0, 100, n)
    X["price_max"] = X["price_min"] + rng(6).integers(0, 40, n)
    X["debt"] = rng(7).integers(1, 900, n)
    X["total"] = X["debt"] + X["payment"]
    return X


def test_the_certain_rules_are_those_of_the_active_lines():
    rules = suggest_rules(people())
    assert rules.constraints.to_dict() == {
        "immutable": ["member"],
        "protected": ["sex", "age"],
        "step": {"payment": 50},
    }
    assert tomllib.loads(str(rules)) == rules.constraints.to_dict() | {"increasing": []}


def test_the_file_is_read_as_it_was_written(tmp_path):
    rules = suggest_rules(people())
    (tmp_path / "rules.toml").write_text(str(rules), "utf-8")
    assert Constraints.from_toml(tmp_path / "rules.toml").to_dict() == rules.constraints.to_dict()


def test_every_certain_rule_is_one_that_constraints_know():
    assert suggest_rules(planted()).constraints.to_dict() == {
        "immutable": ["member"],
        "protected": ["sex", "age"],
        "step": {"payment": 50},
        "groups": ["auto"],
        "derived": {"total": "payment + debt"},
        "relations": ["price_min <= price_max"],
    }


def test_suggested_rules_are_kept():
    X = planted()
    y = (X["total"] > 2_000).astype(int)
    by_total = lambda rows: np.column_stack([rows["total"] <= 2_000, rows["total"] > 2_000]).astype(float)
    cfs = NICE(by_total, constraints=suggest_rules(X, y).constraints).fit(X, y).explain(X[:40])
    after = cfs.to_frame()
    assert cfs.found.all()
    assert (after["total"] == after["debt"] + after["payment"]).all()
    assert (after[["job_a", "job_b", "job_c"]].sum(axis=1) == 1).all()
    assert after[["sex", "age", "member"]].equals(X[["sex", "age", "member"]][:40])


@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(1, 6))
def test_what_is_certain_of_any_table_are_rules_that_do_not_contradict_each_other(seed, n_rows, n_columns):
    random = rng(seed)
    X = pd.DataFrame(index=range(n_rows))
    for j in range(n_columns):
        kind = random.integers(0, 8)
        base = random.integers(0, random.integers(1, 50) + 1, n_rows)
        X[f"{'age' if j % 2 else 'size'}_{j}"] = [
            base, base * 0.5, base.astype(str), np.where(base % 3 == 0, np.nan, base), base % 2 == 0,
            np.arange(n_rows) * 5, pd.Timestamp("2020-03-01") + pd.to_timedelta(base * 40, unit="D"),
            np.array(["< 5", "5-9", "> 9"])[base % 3],
        ][kind]  # fmt: skip
    X["copy"] = X["size_0"]
    if n_columns > 3 and len(numbers := X.select_dtypes("number").columns) > 1:
        X["total"] = X[numbers].sum(axis=1, skipna=False)
    if len(dates := X.select_dtypes("datetime").columns):
        X["year"], X["days"] = X[dates[0]].dt.year, (X[dates[-1]] - X[dates[0]]).dt.days
    read = tomllib.loads(str(suggest_rules(X)))
    fixed = {*read.get("immutable", []), *read.get("protected", [])}
    assert not fixed & (read.get("step", {}).keys() | read.get("derived", {}).keys())
    suggest_rules(X).constraints  # noqa: B018 - that it can be made is the test


def test_it_shows_how_much_of_each_kind_was_found():
    assert (
        repr(suggest_rules(planted()))
        == """\
SuggestedRules: 7 certain, 1 guess
  immutable   certain: member
  protected   certain: sex, age
  increasing  guess: age
  groups      certain: job_a + job_b + job_c
  relations   certain: price_min <= price_max
  step        certain: payment
  derived     certain: total
print() shows the rules file, .constraints are the certain rules."""
    )


def test_many_are_counted_and_control_characters_are_not_shown():
    X = pd.DataFrame({f"size\x1b_{j}": 50 * rng(j).integers(0, 90, N) for j in range(7)})
    shown = repr(suggest_rules(X))
    assert "and 3 more\n" in shown
    assert "\x1b" not in shown


def test_nothing_suggested_is_no_rule():
    rules = suggest_rules(pd.DataFrame({"size": rng().normal(size=60)}))
    assert not rules.constraints
    assert repr(rules).startswith("SuggestedRules: 0 certain, 0 guesses\n")


def test_suggestions_cannot_be_changed():
    rules = suggest_rules(people())
    with pytest.raises(AttributeError):
        rules.suggestions = ()
    assert isinstance(rules.suggestions, tuple)


# Labels and model.


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [1.5, None], [False, True]])
def test_a_column_that_is_the_label_is_told_at_the_top(labels):
    X = people()
    code = rng(9).integers(0, 2, N)
    X["approved"] = np.where(code == 1, "A", "D")
    y = pd.Series([labels[one] for one in code], dtype=object)
    rules = suggest_rules(X, y)
    assert "# 'approved' looks like the label: it goes one to one with it in all 400 rows." in str(rules)
    assert "note        'approved' looks like the label" in repr(rules)
    assert suggest_rules(X, y.to_numpy()).suggestions == rules.suggestions
    assert "looks like the label" not in str(suggest_rules(X, rng(8).permutation(y)))
    assert "looks like the label" not in str(suggest_rules(X))
    assert "looks like the label" not in str(suggest_rules(X.drop(columns="approved"), y))


def test_labels_of_their_own_in_each_row_are_no_leak():
    assert "looks like the label" not in str(suggest_rules(people(), np.arange(N) * 3))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], "y has 2 labels, but X has 400 rows. Pass one label per row."),
        (np.zeros((N, 2)), r"y must have one label per row, got shape \(400, 2\). Pass one column of labels."),
    ],
)
def test_labels_must_be_one_for_each_row(y, message):
    with pytest.raises(SchemaError, match=message):
        suggest_rules(people(), y)


def test_the_columns_must_be_those_of_the_model():
    X = people().drop(columns="sex")
    model = LogisticRegression(max_iter=10_000).fit(X, rng(1).integers(0, 2, N))
    assert suggest_rules(X, model=model).suggestions == suggest_rules(X).suggestions
    assert suggest_rules(X[X.columns[::-1]], model=model).suggestions
    with pytest.raises(SchemaError, match="X has no column 'age', which the model was trained on. Pass the table"):
        suggest_rules(X.drop(columns="age"), model=model)
    with pytest.raises(SchemaError, match="X has the column 'sex', which the model was not trained on. Leave it out"):
        suggest_rules(people(), model=model)
    with pytest.raises(SchemaError, match="X has the column 'sex'"):
        suggest_rules(pl.from_pandas(people()), model=model)
    assert suggest_rules(X.to_numpy(), model=model).suggestions


def test_a_model_that_says_nothing_of_its_features_is_not_asked():
    X, y = applicants()
    assert suggest_rules(X, y, Scorecard()).suggestions == suggest_rules(X, y).suggestions

    class Broken:
        @property
        def feature_names_in_(self):
            raise ValueError("not today")

    with pytest.raises(nicecf.ModelError, match="raised ValueError when asked for its feature_names_in_: not today"):
        suggest_rules(X, y, Broken())


def test_what_fit_would_not_take_is_an_error():
    with pytest.raises(SchemaError, match="no rows"):
        suggest_rules(people(0))
    with pytest.raises(OptionError, match="'sexx'"):
        suggest_rules(people(), categorical_features=["sexx"])
