"""Counterfactuals that could exist: what follows from other columns does, in tables of every sort."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

from following import RATIO, Lender, households, ratio
from nicecf import NICE, Constraints, OptionError
from nicecf.testing import assert_same

X = households()
MODEL = Lender()
RULES = {"derived": {"ratio": RATIO}, "groups": "auto", "relations": ["debt <= income"]}
HOMES, LEVELS = ["home_own", "home_free", "home_shared"], ["level", "level_name"]


def fitted(table=X, model=MODEL, *, rules=RULES, **options):
    return NICE(model, constraints=Constraints(**rules), justified=False, **options).fit(table)


def combinations(table, columns):
    return {tuple(line) for line in table[columns].astype(object).where(table[columns].notna(), None).to_numpy()}


def assert_possible(nice, table, rows):
    """Everything that the rules promise, by pandas: nothing of the library is relied on."""
    cfs = nice.explain(rows)
    assert cfs.found.all()
    found = cfs.to_frame()
    found, table = (one.to_pandas() if isinstance(one, pl.DataFrame) else one for one in (found, table))
    numbers = found[["income", "debt", "ratio", "dollars"]].astype(float)
    precision = 1e-6 if str(found["ratio"].dtype).lower() == "float32" else 1e-9
    assert ((numbers["debt"] * 12 / numbers["income"]).round(2) - numbers["ratio"]).abs().max() < precision
    assert combinations(found, HOMES) <= combinations(table, HOMES)
    assert combinations(found, LEVELS) <= combinations(table, LEVELS)
    assert np.allclose(numbers["dollars"], numbers["income"] * 1.25)
    assert (cfs.batch.n_changes <= 5).all()
    for at in range(3):  # a row alone gets what it gets among others
        assert nice.explain(rows[at : at + 1]).to_frame().equals(cfs[at : at + 1].to_frame())
    return cfs


TABLES = {
    "as they are": X,
    "Int64": X.astype(dict.fromkeys(["income", "age", "level", *HOMES], "Int64")),
    "Float64": X.astype(dict.fromkeys(["income", "debt", "ratio", "dollars"], "Float64")),
    "float32": X.astype(dict.fromkeys(["income", "debt", "ratio", "dollars"], "float32")),
    "int16": X.astype(dict.fromkeys(["income", "age"], "int16")),
    "bool": X.astype(dict.fromkeys(HOMES, bool)),
    "boolean": X.astype(dict.fromkeys(HOMES, "boolean")),
    "category": X.astype({"level_name": "category"}),
    "object": X.astype({"level_name": object, "home_own": bool}),
    "polars": pl.from_pandas(X),
}


@pytest.mark.parametrize("name", TABLES)
def test_counterfactuals_could_exist_in_every_table(name):
    table = TABLES[name]
    assert_possible(fitted(table), table, table[:12])


@pytest.mark.parametrize("name", ["as they are", "Float64", "float32", "polars"])
def test_a_function_takes_the_table_as_it_is(name):
    table = TABLES[name]
    by_function = fitted(table, rules=RULES | {"derived": {"ratio": ratio}})
    cfs = assert_possible(by_function, table, table[:12])
    assert_same(cfs, fitted(table).explain(table[:12]))


@pytest.mark.parametrize(
    "options",
    [{"search": "greedy"}, {"mix_donors": False}, {"optimize": "none"}, {"min_count": 3}, {"share_donor": False}],
    ids=str,
)
def test_counterfactuals_could_exist_with_every_search(options):
    assert_possible(fitted(**options), X, X[:12])


def test_of_an_array_columns_are_named_by_their_places():
    table = X.drop(columns=["level_name"]).to_numpy(float)
    model = lambda rows: MODEL.predict_proba(pd.DataFrame(rows, columns=X.columns.drop("level_name")))
    rules = {"derived": {"x3": "round(x1 * 12 / x0, 2)"}, "groups": "auto"}
    found = fitted(table, model, rules=rules, classes=["no", "yes"]).explain(table[:12]).to_numpy()
    assert np.allclose(np.round(found[:, 1] * 12 / found[:, 0], 2), found[:, 3])
    assert np.allclose(found[:, 8], found[:, 0] * 1.25)
    by_function = {"derived": {3: lambda rows: np.round(rows[:, 1] * 12 / rows[:, 0], 2)}, "groups": "auto"}
    again = fitted(table, model, rules=by_function, classes=["no", "yes"]).explain(table[:12]).to_numpy()
    assert np.array_equal(found, again)


def test_no_rows_and_several_counterfactuals():
    nice = fitted()
    assert len(nice.explain(X[:0])) == 0
    assert nice.explain(X[:0]).changes().empty
    several = nice.explain(X[:4], n_counterfactuals=3).to_frame()
    assert len(several) > 4
    assert np.allclose(ratio(several), several["ratio"])
    optima = fitted(optimize="balanced").explain(X[:4]).pareto().to_frame()
    assert np.allclose(ratio(optima), optima["ratio"])


# ---- what is missing


def test_what_is_missing_makes_what_follows_missing():
    table = X.astype({"debt": float})
    table.loc[::6, "debt"] = np.nan
    table["ratio"] = ratio(table)
    for derived in (RATIO, ratio):
        found = fitted(table, rules={"derived": {"ratio": derived}}).explain(table[:24]).to_frame()
        assert (found["ratio"].isna() == found["debt"].isna()).all()
        assert np.allclose(ratio(found), found["ratio"], equal_nan=True)


def test_a_division_by_zero_gives_what_training_rows_show():
    table = X.copy()
    table.loc[::6, ["income", "dollars"]] = 0
    table["ratio"] = ratio(table.astype({"income": float})).replace(np.inf, np.nan)
    nice = fitted(table, rules={"derived": {"ratio": RATIO}})
    schema, index = nice._fitted.schema, nice._fitted.neighborhood.donors.index
    whole = schema.expand(index.values)
    # Donors are what the table has: no value where the income is zero, not some other.
    assert (np.isnan(whole[:, 3]) == (whole[:, 0] == 0)).all()
    found = nice.explain(table[:12])
    assert found.found.all()
    assert (found.to_frame()["ratio"].isna() == (found.to_frame()["income"] == 0)).all()
    # Where training rows show no such thing, there is no such row.
    never = fitted(rules={"derived": {"ratio": RATIO}}).explain(table[:1])
    assert never.reasons[0].startswith("'ratio' follows from other columns, but has no value for those of this row")


def test_a_function_may_say_that_there_is_no_value_if_training_rows_have_none():
    late = lambda X: X["age"].where(X["age"] > 40).astype("Int64")
    word = lambda X: np.where(X["age"] > 40, "old", None)
    table = X.assign(late=late(X), word=word(X))
    nice = fitted(table, rules={"derived": {"late": late, "word": word}})
    found = nice.explain(table[:12]).to_frame()
    assert (found["late"].isna() == (found["age"] <= 40)).all()
    assert (found["word"].isna() == (found["age"] <= 40)).all()
    strict = lambda X: X["age"].where(X["age"] > table["age"].min())
    with pytest.raises(OptionError, match=r"row \d+ has 18.0?, but no value is computed"):
        fitted(X.assign(late=X["age"]), rules={"derived": {"late": strict}})


def test_what_goes_with_a_missing_number_stays_with_it():
    table = X.astype({"income": float})
    table.loc[::5, ["income", "dollars"]] = np.nan
    nice = fitted(table, rules={"groups": "auto"})
    assert nice._fitted.schema.names[0] == "income"  # as near to other numbers as it was
    assert "dollars" not in nice._fitted.schema.names
    row = table[:1].assign(dollars=7.0)
    said = "the row contradicts itself: 'dollars' is 7, but missing follows from its other columns"
    assert nice.explain(row).reasons.tolist() == [said]
    assert nice.explain(table[:12]).found.all()


def test_the_message_of_a_rule_that_does_not_hold_names_what_is_computed():
    table = X.assign(income=X["income"].where(X.index > 0, 0), ratio=X["ratio"])
    with pytest.raises(
        OptionError, match=r"in 1 of 120 training rows \(0.8%\): row 0 has .*, but no value is computed"
    ):
        fitted(table, rules={"derived": {"ratio": RATIO}})


# ---- the order in which columns are computed


def test_a_function_sees_what_is_computed_before_it():
    table = X.assign(double=X["age"] * 2, more=X["age"] * 2 + 1, name=np.where(X["age"] * 2 + 1 > 90, "old", "young"))
    derived = {
        "more": lambda X: X["double"] + 1,
        "name": lambda X: np.where(X["more"] > 90, "old", "young"),
        "double": "age * 2",
    }
    found = fitted(table, rules={"derived": derived}).explain(table[:12]).to_frame()
    assert (found["more"] == found["age"] * 2 + 1).all()
    assert (found["name"] == np.where(found["more"] > 90, "old", "young")).all()
    in_another_order = {name: derived[name] for name in ("name", "more", "double")}
    with pytest.raises(OptionError, match="If it needs 'more', name it after them"):
        fitted(table, rules={"derived": in_another_order})


def test_a_function_does_not_see_its_own_column():
    with pytest.raises(OptionError, match="'ratio' does not follow from its function"):
        fitted(rules={"derived": {"ratio": lambda X: X["ratio"]}})


def test_what_leaves_nothing_to_change_is_refused():
    table = pd.DataFrame({"a": np.arange(9.0), "b": np.arange(9.0)})
    model = lambda X: np.column_stack([X["a"] < 4, X["a"] >= 4]).astype(float)
    derived = {"a": lambda X: np.arange(len(X)) * 1.0, "b": "a"}
    with pytest.raises(OptionError, match="derived names all columns of X"):
        fitted(table, model, rules={"derived": derived}, classes=[0, 1])
    with pytest.raises(OptionError, match="derived names a column twice, by its name and by its position: 'b', 1"):
        fitted(table, model, rules={"derived": {"b": "a", 1: "a"}}, classes=[0, 1])


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda X: 1.0, r"returned shape \(\) for 120 rows"),
        (lambda X: X[["ratio"]], r"returned shape \(120, 1\) for 120 rows"),
        (lambda X: ["?"] * len(X), "a numeric column, returned no numbers: could not convert"),
        (lambda X: X["nothing"], "raised KeyError for 120 rows: 'nothing'"),
        (lambda X: [*ratio(X), 1.0], r"returned shape \(121,\) for 120 rows"),
    ],
)
def test_a_function_that_returns_something_else_is_refused(function, match):
    with pytest.raises(OptionError, match=f"the function that derives 'ratio',? ?.*{match}"):
        fitted(rules={"derived": {"ratio": function}})


def test_what_a_function_returns_in_a_list_keeps_its_types():
    of = lambda X: [1 if age > 50 else "young" for age in X["age"]]
    table = X.assign(kind=pd.Series(of(X), dtype=object))
    found = fitted(table, rules={"derived": {"kind": of}}).explain(table[:12]).to_frame()
    assert found["kind"].tolist() == of(found)


# ---- rows that could not exist


def test_a_row_whose_values_are_rounded_otherwise_says_what_is_wrong():
    # 0.005 is 0.01 in the row, and is computed as 0: what follows from that is divided by zero, or breaks a relation.
    table = X.assign(part=(X["debt"] / 100).round(2)).assign(inverse=lambda X: 1 / X["part"])
    row = table[:1].assign(debt=0.5, part=0.01, inverse=100.0, ratio=0.0)
    part = {"part": "round(debt / 100, 2)"}
    never = fitted(table, rules={"derived": part | {"inverse": "1 / part"}}).explain(row)
    assert never.reasons[0].startswith("'inverse' follows from other columns, but has no value")
    never = fitted(table, rules={"derived": part, "relations": ["part >= 0.01"]}).explain(row)
    assert never.reasons[0] == "the row itself breaks a relation that every counterfactual keeps: part >= 0.01"


def test_how_far_a_value_may_be_off_does_not_depend_on_other_rows():
    table = X.assign(sum=(X["income"] + X["debt"]).astype("float32"))
    nice = fitted(table, rules={"derived": {"sum": "income + debt"}})
    odd = table[:2].copy()
    odd.loc[0, "sum"] += np.float32(0.25)
    huge = odd.copy()
    huge.loc[1, ["income", "sum"]] = [10**8, np.float32(10**8 + huge.loc[1, "debt"])]
    alone, together = nice.explain(odd[:1]), nice.explain(huge)
    assert not alone.found[0]
    assert alone.reasons[0] == together.reasons[0]


def test_one_row_that_could_not_exist_does_not_slow_the_others_down():
    numbers = X.drop(columns="level_name")
    labels = MODEL.predict(X)
    forest = RandomForestClassifier(20, random_state=0).fit(numbers, labels)
    nice = fitted(numbers, forest, accelerate=True)
    odd = numbers[:12].copy()
    low = int(odd["ratio"].idxmin())
    odd.loc[low, "ratio"] = 9.0
    assert not np.array_equal(forest.predict_proba(odd), forest.predict_proba(numbers[:12]))
    cfs = nice.explain(odd)
    # The trees are read; the model is asked once about what is handed out, and once about the row as it is.
    assert cfs.model_calls == 2
    assert cfs.model_rows <= 12 + 11 + 2 + 1
    assert not cfs.found[low]
    assert np.array_equal(cfs.batch.before.probabilities, forest.predict_proba(odd))
    assert_same(cfs, fitted(numbers, forest, accelerate=False).explain(odd))
    assert fitted(numbers, forest, accelerate=False).explain(odd[low : low + 1]).model_calls == 2
