"""Constraints as people write them: what is refused, files and sheets, what blocks, and what it costs."""

import re
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nicecf import NICE, Constraints, OptionError
from nicecf.models.scorer import Cost
from nicecf.search import row_search


def people(n_rows=200, seed=0):
    """Loans are good if points of age, income and education add up; sex adds nothing."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.integers(20, 70, n_rows).astype(float),
            "income": random.integers(10, 90, n_rows).astype(float),
            "education": random.choice(["school", "college", "university"], n_rows),
            "sex": random.choice(["f", "m"], n_rows),
        }
    )
    return X, Points().predict(X)


class Points:
    classes_ = np.array(["bad", "good"], dtype=object)
    worth: ClassVar = {"school": 0.0, "college": 10.0, "university": 20.0}

    def __init__(self, cut=100):
        self.cut = cut
        self.calls = 0

    def predict_proba(self, X):
        self.calls += 1
        points = np.asarray(X["age"]) + np.asarray(X["income"]) + np.array([self.worth[one] for one in X["education"]])
        p = 1 / (1 + np.exp((self.cut - points) / 10))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


POOR = pd.DataFrame({"age": [30.0], "income": [40.0], "education": ["school"], "sex": ["f"]})
EVERYTHING = ("age", "income", "education", "sex")


@pytest.fixture(scope="module")
def nice():
    return NICE(Points()).fit(*people())


def all_needed(X):
    """Yes, if all that is needed is there: each of it can block."""
    is_yes = (np.asarray(X[["a", "b"]], dtype=float) >= 1).all(axis=1) & (np.asarray(X["c"]) == "yes")
    return np.column_stack([~is_yes, is_yes]).astype(float)


def some_have_it():
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.choice([0.0, 1.0, 2.0], 60) for name in ("a", "b", "d", "e")})
    X["c"] = random.choice(["no", "yes", "perhaps"], 60)
    nearest = pd.DataFrame({"a": [1.0], "b": [1.0], "d": [2.0], "e": [0.0], "c": ["yes"]})
    return pd.concat([X, nearest], ignore_index=True)[["a", "b", "c", "d", "e"]]


@pytest.fixture(scope="module")
def needing():
    return NICE(all_needed, classes=["no", "yes"], justified=False).fit(some_have_it())


NOTHING_THERE = pd.DataFrame({"a": [0.0], "b": [0.0], "c": ["no"], "d": [0.0], "e": [0.0]})
HARMLESS = {"increasing": ["b", "e"], "immutable": ["d"], "ranges": {"e": (None, 5)}, "max_changes": 4}
# The rule that is planted, what it is called, and what is offered instead.
PLANTED = [
    ({"immutable": ["a"]}, "'a' may not change", "allow 'a' to increase"),
    ({"decreasing": ["a"]}, "'a' may only decrease", "allow 'a' to increase"),
    ({"ranges": {"a": (None, 0.5)}}, "'a' may only change to at most 0.5", "allow 'a' to change to 1"),
    ({"ranges": {"a": (3, 4)}}, "'a' may only change to between 3 and 4",
     "allow 'a' to change to 1"),
    ({"ranges": {"a": (3, None)}}, "'a' may only change to at least 3", "allow 'a' to change to 1"),
    ({"allowed": {"a": [0, 7]}}, "'a' may only become 0, 7", "allow 'a' to change from 0 to 1"),
    ({"step": {"a": 10}}, "'a' may only change by whole steps of 10", "allow 'a' to change from 0 to 1"),
    ({"forbid": {"a": [(0, 1), (0, 2)]}}, "'a' may not go from 0 to 1, 0 to 2", "allow 'a' to change from 0 to 1"),
    ({"immutable": ["c"]}, "'c' may not change", "allow 'c' to change from no to yes"),
    ({"allowed": {"c": ["perhaps"]}}, "'c' may only become perhaps", "allow 'c' to change from no to yes"),
    ({"forbid": {"c": [("no", "yes")]}}, "'c' may not go from no to yes", "allow 'c' to change from no to yes"),
    ({"decreasing": {"c": ["no", "perhaps", "yes"]}}, "'c' may only decrease", "allow 'c' to change from no to yes"),
    ({"max_changes": 2}, "at most 2 features may change", "allow 3 changes"),
]  # fmt: skip


@pytest.mark.parametrize("search", ["greedy", "thorough"])
@pytest.mark.parametrize(("planted", "rule", "action"), PLANTED, ids=[rule for _, rule, _ in PLANTED])
def test_planted_blockers_are_named_exactly(needing, planted, rule, action, search):
    nice = NICE(**{**needing.get_params(), "search": search}).fit(some_have_it())
    both = Constraints(**HARMLESS) & Constraints(**planted)
    cfs = nice.explain(NOTHING_THERE, constraints=both)
    assert cfs.reasons[0] == (
        f"no training row gives 'yes' under the rules. Blocked by: {rule}. Cheapest relaxation: {cfs[0].relaxation}"
    )
    assert cfs[0].relaxation.rule == rule
    assert cfs[0].relaxation.action == action
    again = nice.explain(NOTHING_THERE, constraints=cfs[0].relaxation.constraints)
    assert again.found[0]
    assert again.metrics()["sparsity"][0] == cfs[0].relaxation.n_changes == 3
    if search == "greedy":
        assert again.metrics()["proximity"][0] == cfs[0].relaxation.distance


def test_two_planted_blockers_are_both_named_and_no_single_one_is_offered(needing):
    rules = Constraints(immutable=["a", "d"], forbid={"c": [("no", "yes")]})
    cfs = needing.explain(NOTHING_THERE, constraints=rules)
    assert cfs[0].relaxation is None
    assert cfs.reasons[0] == (
        "no training row gives 'yes' under the rules, and relaxing one of them is not enough: 'a' may not change; 'd' may "
        "not change; 'c' may not go from no to yes"
    )


def test_what_belongs_together_blocks_together(needing):
    rules = Constraints(immutable=["e"], groups=[["a", "e"]])
    row = NOTHING_THERE.assign(e=9.0)
    cfs = needing.explain(row, constraints=rules)
    assert {"'e' may not change", "'a' and 'e' may only change together"} == set(
        re.search("Blocked by each of: (.*)\\. Cheapest", cfs.reasons[0]).group(1).split("; ")
    )
    assert cfs[0].relaxation.action == "allow 'a' and 'e' to change separately"


def test_what_blocks_by_itself_is_all_that_is_named(nice):
    # Whatever else is ruled out: only to let the income grow helps, and only that is said.
    rules = Constraints(immutable=["sex"], decreasing=["age", "income"], allowed={"education": ["college"]})
    cfs = nice.explain(POOR, constraints=rules)
    assert re.fullmatch(
        r"no training row gives 'good' under the rules. Blocked by each of: 'age' may only decrease; 'income' may only "
        r"decrease. Cheapest relaxation: allow '(income|age)' to increase: [12] changes?, distance [\d.]+",
        cfs.reasons[0],
    )
    assert cfs[0].text() == f"No counterfactual: {cfs.reasons[0]}."
    assert "Blocked by each of" in repr(cfs)


def test_of_forbidden_transitions_only_the_one_that_blocks_is_given_up(needing):
    cfs = needing.explain(NOTHING_THERE, constraints=Constraints(forbid={"c": [("no", "yes"), ("no", "perhaps")]}))
    assert cfs[0].relaxation.constraints.to_dict() == {"forbid": {"c": [["no", "perhaps"]]}}


def test_a_range_that_leaves_out_the_rows_own_value_does_not_force_a_change(nice):
    rules = Constraints(ranges={"age": (50, 60)}, immutable=["education", "sex"], increasing=["income"])
    cfs = nice.explain(POOR.assign(income=65.0), constraints=rules)
    after = cfs.to_frame()
    assert after["age"][0] == 30 or 50 <= after["age"][0] <= 60
    only_income = nice.explain(POOR, constraints=Constraints(ranges={"age": (65, 66)}, immutable=["education", "sex"]))
    assert only_income.to_frame()["age"][0] in (30, 65, 66)


def test_one_row_under_rules_takes_one_call(nice):
    X, y = people()
    slow = NICE(Points(), search="greedy").fit(X, y)
    # As if a call took a second whatever its size: then one is all that is worth making.
    object.__setattr__(slow._fitted.models, "cost", Cost(call=1.0, row=1e-5))
    for rules in (
        None,
        Constraints(immutable=["sex"]),
        Constraints(immutable=["sex"], increasing=["age"], max_changes=2),
    ):
        before = slow.model.calls
        cfs = slow.explain(POOR, constraints=rules)
        assert cfs.found[0]
        assert slow.model.calls - before == cfs.model_calls == 1


def test_many_rows_are_tried_side_by_side(nice):
    X, _ = people(seed=1)
    rules = Constraints(immutable=["income", "sex"], increasing=["age"])
    cfs = nice.explain(X, target_class="good", constraints=rules)
    assert 0 < cfs.found.sum() < len(X)
    assert cfs.model_calls < 40


def test_time_that_is_up_is_the_reason_then(nice):
    rules = Constraints(immutable=["income", "education", "sex"], decreasing=["age"])
    cfs = nice.explain(POOR, constraints=rules, time_budget=1e-9)
    assert cfs.reasons[0] == "time_budget was used up before all training rows were tried for 'good'"


def test_rules_by_position_for_arrays():
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 5.0], [1.0, 1.0]])

    def model(X):
        p = (X.sum(axis=1) >= 2).astype(float)
        return np.column_stack([1 - p, p])

    nice = NICE(model).fit(X, [0, 1, 1, 1])
    assert nice.explain(X[:1], constraints=Constraints(immutable=[0])).to_numpy().tolist() == [[0.0, 5.0]]
    assert nice.explain(X[:1], constraints=Constraints(immutable=["x1"])).to_numpy().tolist() == [[3.0, 0.0]]
    blocked = nice.explain(X[:1], constraints=Constraints(immutable=[0, -1]))
    assert "Blocked by each of: 0 may not change; -1 may not change. Cheapest relaxation: allow" in blocked.reasons[0]


def test_with_a_weight_of_2_for_categories_the_distance_is_l1_over_one_hot_columns():
    X, y = people()
    nice = NICE(Points(), optimize="none", feature_weights={"education": 2, "sex": 2}).fit(X, y)
    cfs = nice.explain(X, constraints=Constraints(immutable=["age"], within={"income": 15}))

    def one_hot(table):
        scaled = [table[[name]] / np.ptp(X[name]) for name in ("age", "income")]
        levels = [np.asarray(table[[name]]) == np.unique(X[name]) for name in ("education", "sex")]
        return np.hstack([*scaled, *levels]).astype(float)

    found = cfs[cfs.found]
    l1 = np.abs(one_hot(found.to_frame()) - one_hot(X[cfs.found])).sum(axis=1)
    assert {"education", "income"} <= set(found.changes()["feature"])
    assert found.metrics()["proximity"].tolist() == pytest.approx(l1.tolist())


def test_a_weight_makes_a_change_dear():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [4.0, 4.0]])

    def model(X):
        p = (X.sum(axis=1) >= 1).astype(float)
        return np.column_stack([1 - p, p])

    plain = NICE(model).fit(X, [0, 1, 1, 1]).explain(X[:1])
    assert (plain.to_numpy().tolist(), plain.metrics()["proximity"][0]) == ([[1.0, 0.0]], 0.25)
    for weights in ({0: 3.0}, [3.0, 1.0], np.array([3.0, 1.0]), {"x0": 3.0}):
        dear = NICE(model, feature_weights=weights).fit(X, [0, 1, 1, 1]).explain(X[:1])
        assert (dear.to_numpy().tolist(), dear.metrics()["proximity"][0]) == ([[0.0, 2.0]], 0.5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"agee": 2}, "feature_weights names 'agee', which is not a column of X; .* Did you mean 'age'?"),
        ({"age": 0}, "feature_weights has 0 for 'age'; a weight is a number above 0"),
        ({"age": 1e300}, r"has 1e\+300 for 'age'; a weight is a number above 0, from 1e-100 to 1e\+100: .* Constraints.immutable"),
        ({"age": 1e-300}, "has 1e-300 for 'age'; a weight is a number above 0, from 1e-100"),
        ({"age": -1}, "has -1"), ({"age": float("nan")}, "has nan"), ({"age": True}, "has True"), ({"age": "2"}, "has '2'"),
        ([1, 2], "feature_weights has 2 numbers, but X has 4 columns"),
        (3, "feature_weights must be a dict"),
    ],
)  # fmt: skip
def test_bad_weights(weights, message):
    with pytest.raises(OptionError, match=message):
        NICE(Points(), feature_weights=weights).fit(*people())


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"immutable": "sex"}, r"immutable='sex' is not a list of features; pass \['sex'\]"),
        ({"immutable": [["sex"]]}, r"immutable names \['sex'\], which is not a feature"),
        ({"immutable": [None]}, "immutable names None"),
        ({"immutable": ["age"], "increasing": ["age"]}, "'age' is immutable, so it cannot be in increasing as well"),
        ({"immutable": ["age"], "ranges": {"age": (1, 2)}}, "'age' is immutable, so it cannot be in ranges as well"),
        ({"increasing": ["age"], "decreasing": ["age"]}, "'age' is in increasing and in decreasing"),
        ({"increasing": {"education": "school"}}, "increasing has 'school' for 'education'; pass the values from low to high"),
        ({"increasing": {"education": ["school", "school"]}}, "it needs at least two values, each of them once"),
        ({"ranges": ["age"]}, "ranges must be a dict with the features as keys, got list"),
        ({"ranges": {"age": 3}}, r"the range of 'age' must be \(low, high\), with None for no bound, got 3"),
        ({"ranges": {"age": (3, 2)}}, "the range of 'age' is empty: its low bound 3 is above its high bound 2. Swap the bounds"),
        ({"ranges": {"age": ([1, 5], 2)}}, r"its low bound 5.0 is above its high bound 2 \(row 1\)"),
        ({"ranges": {"age": (None, None)}}, "has no bounds, so it says nothing"),
        ({"ranges": {"age": (b"old", None)}}, "the range of 'age' has a bound that is not a number: \"b'old'\""),
        *(({"ranges": {"age": ([one], None)}}, "the range of 'age' has a bound that is not a number")
          for one in (True, np.True_, "5")),
        ({"ranges": {"age": (float("nan"), 2)}}, "use None for no bound"),
        ({"ranges": {"age": {"min": 2}}}, "the range of 'age' has 'min', which is not known; choose among 'low', 'high'"),
        ({"allowed": {"education": []}}, "allowed names no value for 'education'. A feature that may not change is immutable"),
        ({"allowed": {"education": "school"}}, "allowed has 'school' for 'education'; pass a list of values"),
        ({"max_changes": 0}, "max_changes must be a whole number of at least 1, or None for no limit, got 0"),
        ({"max_changes": 1.5}, "max_changes"), ({"max_changes": True}, "max_changes"),
        ({"forbid": {"education": [("school",)]}}, "pass pairs"),
        ({"forbid": {"education": [("school", "school")]}}, "to stay is not a change"),
        ({"forbid": {"education": []}}, "forbid names no change of 'education'"),
        ({"step": {"age": 0}}, "step has 0 for 'age'; it must be a number above 0"),
        ({"groups": [["age"]]}, r"groups has \['age'\]; a group needs at least two features"),
        ({"groups": [["age", "sex"], ["sex", "income"]]}, "'sex' is in two groups"),
        ({"groups": "age"}, "groups='age' is not a list of lists"),
    ],
)  # fmt: skip
def test_rules_that_make_no_sense(rules, message):
    with pytest.raises(OptionError, match=message):
        Constraints(**rules)


@pytest.mark.parametrize("when", ["fit", "explain"])
@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"immutable": ["sexx"]}, "immutable names 'sexx', which is not a column of X; its columns are .* Did you mean 'sex'?"),
        ({"groups": [["age", "incom"]]}, "groups names 'incom', .* Did you mean 'income'?"),
        ({"max_changes": 2, "step": {9: 1}}, "step names 9, which is not a column"),
        ({"increasing": ["education"]}, "increasing names 'education', which is categorical and has no order. Give one: increasing={'education': \\['"),
        ({"increasing": {"education": ["school", "colege", "university"]}}, "increasing gives an order of 'education' with 'colege', which no training row has, and without 'college'.* Did you mean 'college'?"),
        ({"decreasing": {"education": ["school", "unknown"]}}, "decreasing gives an order of 'education' with 'unknown', which no training row has, and without "),
        ({"increasing": {"age": [1, 2]}}, "gives an order for 'age', which is numeric"),
        ({"ranges": {"education": (1, 2)}}, "ranges names 'education', which is categorical; use allowed"),
        ({"ranges": {"age": ("old", None)}}, "the range of 'age' has a bound that is not a number: 'old'"),
        ({"step": {"education": 1}}, "step names 'education', which is categorical"),
        ({"allowed": {"education": ["colege"]}}, "allowed has 'colege' for 'education', a value that no training row has: .* Did you mean 'college'?"),
        ({"allowed": {"age": ["old"]}}, "allowed has 'old' for 'age', which is numeric; pass a number"),
        *(({"allowed": {"age": [one]}}, "for 'age', which is numeric; pass a number")
          for one in (True, np.True_, "nan", "inf", "1_000", b"5", np.inf, 10**400)),
        ({"forbid": {"age": [(True, 3)]}}, "forbid has True for 'age', which is numeric; pass a number"),
        ({"forbid": {"education": [("school", "PhD")]}}, "forbid has 'PhD' for 'education', a value that no training row has"),
        ({"allowed": {"education": [5]}}, "allowed has 5 for 'education', a value that no training row has"),
    ],
)  # fmt: skip
def test_rules_that_do_not_fit_the_table(nice, rules, message, when):
    constraints = Constraints(**rules)
    ask = {
        "fit": lambda: NICE(Points(), constraints=constraints).fit(*people()),
        "explain": lambda: nice.explain(POOR, constraints=constraints),
    }[when]
    with pytest.raises(OptionError, match=message):
        ask()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ([0, 1] * 5, True, r"allowed has True for 'x', a value that no training row has: .* Its values are 0, 1\."),
        (
            [False, True] * 5,
            1,
            r"allowed has 1 for 'x', a value that no training row has: .* Its values are False, True\.",
        ),
        ([False, True] * 5, "true", None),  # as a sheet has it
        (["0", "1"] * 5, 1, r"allowed has 1 for 'x', .* Did you mean '1'\?"),
    ],
)
def test_a_boolean_is_no_number_of_a_category_and_a_number_no_boolean(column, value, message):
    X = pd.DataFrame({"x": pd.Series(column, dtype=None if isinstance(column[0], str) else "category"), "y": range(10)})
    fitted = NICE(split_at(0.5), justified=False, constraints=Constraints(allowed={"x": [value]}), classes=[0, 1])
    if message is None:
        fitted.fit(X[["y", "x"]])
        return
    with pytest.raises(OptionError, match=message):
        fitted.fit(X[["y", "x"]])


@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
def test_a_level_without_an_order_stays_and_nothing_changes_to_it(direction):
    levels = ["low", "high", "unknown"]
    X = pd.DataFrame({"level": levels * 20, "x": [0.0, 1.0] * 30})
    accepted = {level: lambda X, level=level: (X["level"] == level).to_numpy() for level in levels}

    def found(before, after):
        says = accepted[after]
        nice = NICE(lambda X: np.column_stack([~says(X), says(X)]).astype(float), classes=[0, 1], justified=False)
        rules = Constraints(**{direction: {"level": ["low", "high"]}})
        return nice.fit(X).explain(X[X["level"] == before][:1], constraints=rules).found[0]

    allowed = {(before, after) for before in levels for after in levels if before != after and found(before, after)}
    assert allowed == {("low", "high") if direction == "increasing" else ("high", "low")}


def test_an_order_may_name_levels_that_no_row_has_where_it_leaves_out_none(nice):
    order = ["none", "school", "college", "university", "doctorate"]
    assert nice.explain(POOR, constraints=Constraints(increasing={"education": order})).found.all()


def test_an_array_of_booleans_may_be_ruled_by_booleans():
    X = np.array([[True, False], [False, True], [False, False]])
    nice = NICE(split_at(0.5), justified=False, constraints=Constraints(allowed={0: [True]}), classes=[0, 1]).fit(X)
    assert nice.explain(X[1:]).found.all()


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"immutable": ["sex"]}, "constraints must be nicecf.Constraints, or a list with one .* got dict"),
        ("sex", "constraints must be nicecf.Constraints"),
        ([Constraints()] * 2, "constraints has 2 entries, one for each row, but X has 1 rows"),
        (["sex"], "constraints of row 0 must be nicecf.Constraints or None, got str"),
        ([Constraints(ranges={"age": ([1], None)})], "constraints of row 0 have bounds for each row; in a list"),
        (Constraints(ranges={"age": ([1, 2], None)}), "the range of 'age' has bounds for 2 rows, but 1 are to be explained"),
        (Constraints(ranges={"age": (pd.Series([1.0], index=["x"]), None)}), "bounds whose index is not that of the rows"),
    ],
)  # fmt: skip
def test_constraints_of_a_call_that_are_none(nice, constraints, message):
    with pytest.raises(OptionError, match=message):
        nice.explain(POOR, constraints=constraints)


def test_constraints_of_the_explainer():
    with pytest.raises(OptionError, match="constraints must be nicecf.Constraints, or None, got dict"):
        NICE(Points(), constraints={"immutable": ["sex"]})
    with pytest.raises(OptionError, match="cannot have bounds per row: .* explain\\(X, constraints=...\\)"):
        NICE(Points(), constraints=Constraints(ranges={"age": ([1, 2], None)}))
    own = NICE(Points(), constraints=Constraints(immutable=["income"])).fit(*people())
    cfs = own.explain(people(seed=1)[0].iloc[:50], constraints=Constraints(immutable=["age"]))
    frame, before = cfs.to_frame()[cfs.found], people(seed=1)[0].iloc[:50][cfs.found]
    assert cfs.found.any()
    assert frame[["income", "age"]].equals(before[["income", "age"]])
    assert own.get_params()["constraints"].to_dict() == {"immutable": ["income"]}


def test_bounds_from_a_table_of_the_rows(nice):
    X, _ = people(seed=3)
    rows = X.iloc[::7]
    rules = Constraints(
        ranges={
            "income": (rows["income"], rows["income"] + 15),
            "age": (None, np.where(rows["age"] > 40, np.nan, 45.0)),
        }
    )
    cfs = nice.explain(rows, target_class="good", constraints=rules)
    after, before = cfs.to_frame()[cfs.found], rows[cfs.found]
    assert 0 < cfs.found.sum() < len(rows)
    assert (after["income"] >= before["income"]).all()
    assert (after["income"] <= before["income"] + 15).all()
    assert ((after["age"] <= 45) | (after["age"] == before["age"]) | (before["age"] > 40)).all()
    assert "'income' may only change to between" in "".join(filter(None, cfs.reasons))


SHEET = """feature,immutable,direction,order,low,high,allowed,forbid,step,group
sex,yes,,,,,,,,
age,no,increasing,,,65,,,,work
education,,increasing,school|college|university,,,,,,
income,,,,20,,,,5,work
"""

IN_TOML = """
immutable = ["sex"]
max_changes = 3
groups = [["age", "income"]]

[increasing]
age = true
education = ["school", "college", "university"]

[ranges]
age = {high = 65}
income = [20, inf]

[step]
income = 5
"""


def test_rules_live_in_sheets_and_files(tmp_path, nice):
    (tmp_path / "rules.csv").write_text(SHEET)
    (tmp_path / "rules.toml").write_text(IN_TOML)
    from_sheet = Constraints.from_frame(pd.read_csv(tmp_path / "rules.csv"), max_changes=3)
    from_file = Constraints.from_toml(tmp_path / "rules.toml")
    expected = {
        "immutable": ["sex"],
        "increasing": {"age": True, "education": ["school", "college", "university"]},
        "ranges": {"age": {"high": 65}, "income": {"low": 20}},
        "max_changes": 3,
        "step": {"income": 5},
        "groups": [["age", "income"]],
    }
    assert from_sheet.to_dict() == from_file.to_dict() == expected
    assert Constraints(**from_file.to_dict()).to_dict() == expected
    assert repr(eval(repr(from_file))) == repr(from_file)
    assert nice.explain(POOR, constraints=from_file).found[0]


def test_lists_of_values_in_a_sheet_fit_the_columns_they_are_for():
    sheet = pd.DataFrame(
        {
            "feature": ["income", "is_owner", "education"],
            "allowed": ["50|60", "True", None],
            "forbid": [None, None, "school > university | college > school"],
        }
    )
    rules = Constraints.from_frame(sheet)
    assert rules.to_dict()["forbid"] == {"education": [["school", "university"], ["college", "school"]]}
    X, _ = people()
    X["is_owner"] = X["age"] > 40
    model = lambda X: Points().predict_proba(X)
    nice = NICE(model, classes=["bad", "good"], justified=False).fit(X)
    after = nice.explain(X, target_class="good", constraints=rules).to_frame().dropna()
    changed = after["income"] != X.loc[after.index, "income"]
    assert changed.any()
    assert set(after["income"][changed]) == {50.0, 60.0}
    assert after["is_owner"][(after["is_owner"] != X.loc[after.index, "is_owner"])].all()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"feature": ["age"], "lowest": [1]}, "the frame has the column 'lowest', which is not known; .* Did you mean 'low'?"),
        ({"low": [1]}, "needs a column 'feature'"),
        ({"feature": []}, "needs a column 'feature' and a line for each"),
        ({"feature": ["age"], "low": [None]}, "the frame contains no rules"),
        ({"feature": ["age", "age"], "low": [1, 2]}, "more than one line for 'age'"),
        ({"feature": ["age"], "immutable": ["perhaps"]}, "immutable is 'perhaps' for 'age'; write true or false"),
        ({"feature": ["age"], "direction": ["up"]}, "direction is 'up' for 'age'; write 'increasing' or 'decreasing'"),
        ({"feature": ["age"], "order": ["a|b"]}, "'age' has an order but no direction"),
        ({"feature": ["age"], "forbid": ["a"]}, "forbid is 'a' for 'age'; write before > after"),
    ],
)  # fmt: skip
def test_sheets_that_make_no_sense(frame, message):
    with pytest.raises(OptionError, match=message):
        Constraints.from_frame(pd.DataFrame(frame))
    with pytest.raises(OptionError, match="from_frame needs a pandas frame, got str"):
        Constraints.from_frame("rules.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("imutable = ['sex']", "has the key 'imutable', which is not known; .* Did you mean 'immutable'?"),
        ("", "contains no rules; its keys may be 'immutable', "),
        ("immutable = [", "is not TOML"),
    ],
)
def test_files_that_make_no_sense(tmp_path, text, message):
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(OptionError, match=message):
        Constraints.from_toml(tmp_path / "rules.toml")


def test_two_sets_of_rules_as_one():
    one = Constraints(
        increasing=["age"],
        immutable=["sex"],
        ranges={"income": (10, None)},
        allowed={"education": ["school", "college"]},
        max_changes=3,
        groups=[["a", "b"]],
        step={"x": 2},
        forbid={"y": [(1, 2)]},
    )
    other = Constraints(
        decreasing=["sex"],
        ranges={"income": (5, 50)},
        allowed={"education": ["college", "university"]},
        max_changes=4,
        groups=[["b", "c"]],
        step={"x": 6},
        forbid={"y": [(2, 3)]},
    )
    both = {
        "immutable": ["sex"],
        "increasing": ["age"],
        "ranges": {"income": {"low": 10, "high": 50}},
        "allowed": {"education": ["college"]},
        "max_changes": 3,
        "forbid": {"y": [[1, 2], [2, 3]]},
        "step": {"x": 6},
        "groups": [["a", "b", "c"]],
    }
    assert (one & other).to_dict() == both
    assert not Constraints()
    assert one


def test_what_was_given_is_not_kept_by_reference():
    given = {"immutable": ["sex"], "ranges": {"age": np.array([1.0, 2.0])}}
    lows = np.array([1.0, 2.0])
    rules = Constraints(immutable=given["immutable"], ranges={"age": (lows, None)})
    given["immutable"].append("age")
    lows[:] = 9
    assert rules.to_dict() == {"immutable": ["sex"], "ranges": {"age": {"low": [1.0, 2.0]}}}


def split_at(cut):
    def model(X):
        p = (np.asarray(X)[:, 0].astype(float) > cut).astype(float)
        return np.column_stack([1 - p, p])

    return model


@pytest.mark.parametrize(
    ("values", "cut", "step", "expected"),
    [
        ([250_000.0, 250_001.0, 1_250_000.0], 250_000.5, 1_000_000, 1_250_000.0),
        ([0.1, 0.25, 0.4], 0.2, 0.1, 0.4),
        ([100.0, 100.65, 101.3], 100.5, 0.1, 101.3),
        ([0.0, 1.0, 2.0], 0.5, 5e-324, None),
        ([0.0, 1.0, 2.0], 0.5, 1e308, None),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_steps_are_whole_and_not_none(values, cut, step, expected, dtype):
    X = np.array(values, dtype=dtype)[:, None]
    cfs = NICE(split_at(cut)).fit(X, [0, 1, 1]).explain(X[:1], constraints=Constraints(step={0: step}))
    assert cfs.found[0] == (expected is not None)
    if expected is not None:
        assert cfs.to_numpy()[0, 0] == dtype(expected)


def test_values_of_float32_columns_are_what_they_are_written_as():
    X = np.array([[100.1], [100.6]], dtype=np.float32)
    nice = NICE(split_at(100.5)).fit(X, [0, 1])
    for rules, is_found in [
        ({"forbid": {0: [(100.1, 100.6)]}}, False),
        ({"allowed": {0: [100.6]}}, True),
        ({"ranges": {0: (None, 100.6)}}, True),
        ({"ranges": {0: (100.6, None)}}, True),
    ]:
        assert nice.explain(X[:1], constraints=Constraints(**rules)).found[0] == is_found


def one_column(dtype, values):
    """A table of one column of numbers in some dtype, of numpy, pandas, Arrow or polars."""
    if dtype.startswith("numpy "):
        return np.array(values, dtype=dtype.removeprefix("numpy "))[:, None]
    if dtype.startswith("polars "):
        return pl.DataFrame({"x0": pl.Series(values, dtype=getattr(pl, dtype.removeprefix("polars ")))})
    if dtype == "decimal[pyarrow]":
        decimals = [Decimal(str(value)) for value in values]
        return pd.DataFrame({"x0": pd.Series(decimals, dtype=pd.ArrowDtype(pa.decimal128(10, 3)))})
    if dtype == "halffloat[pyarrow]":  # older pyarrow takes nothing but numpy's own for these
        values = np.array(values, dtype=np.float16)
    return pd.DataFrame({"x0": pd.Series(values, dtype=dtype)})


FLOATS = [
    *("numpy float16", "numpy float32", "numpy float64", "float16", "float32", "float64", "Float32", "Float64"),
    *("halffloat[pyarrow]", "float[pyarrow]", "double[pyarrow]", "decimal[pyarrow]", "Sparse[float32]"),
    *("polars Float32", "polars Float64"),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("rules", "is_found"),
    [
        ({"allowed": {0: [20.3]}}, True),
        ({"ranges": {0: (20.3, 20.3)}}, True),
        ({"ranges": {0: (None, 20.3)}}, True),
        ({"step": {0: 0.1}}, True),
        ({"step": {0: 3.4}}, True),
        ({"step": {0: 0.4}}, False),
        ({"ranges": {0: (None, 15.0)}}, False),
        ({"ranges": {0: (1e6, None)}}, False),
        ({"allowed": {0: [15.0, 1e6]}}, False),
        ({"forbid": {0: [(10.1, 20.3)]}}, False),
        ({"forbid": {0: [(10.2, 20.3)]}}, True),
    ],
)
def test_a_rule_means_the_number_as_the_column_holds_it(dtype, rules, is_found):
    X = one_column(dtype, [10.1, 20.3])
    cfs = NICE(split_at(15.0)).fit(X, [0, 1]).explain(X[:1], constraints=Constraints(**rules))
    assert cfs.found[0] == is_found
    if not is_found:
        assert cfs.relaxations[0] is not None
        again = NICE(split_at(15.0)).fit(X, [0, 1]).explain(X[:1], constraints=cfs.relaxations[0].constraints)
        assert again.found[0]


def test_a_step_is_no_looser_than_the_column():
    # Half precision holds every whole number up to 2048.
    X = np.array([[1000], [1009], [1010]], dtype=np.float16)
    cfs = NICE(split_at(1005)).fit(X, [0, 1, 1]).explain(X[:1], constraints=Constraints(step={0: 5}))
    assert cfs.to_numpy().tolist() == [[1010]]


def test_a_row_in_double_precision_is_under_the_rules_of_a_column_in_single_precision():
    X = pd.DataFrame({"x0": [10.1, 10.6]}, dtype="float32")
    row = pd.DataFrame({"x0": [10.1]})
    nice = NICE(split_at(10.5)).fit(X, [0, 1])
    assert not nice.explain(row, constraints=Constraints(forbid={"x0": [(10.1, 10.6)]})).found[0]
    assert nice.explain(row, constraints=Constraints(step={"x0": 0.5})).found[0]


def test_text_in_a_file_stands_for_booleans_and_numbers_when_it_is_relaxed_too():
    X = pd.DataFrame({"f": [True, False] * 10, "n": [1.0, 0.0] * 10})

    def model(X):
        p = X["f"].to_numpy(dtype=float) * (X["n"] > 0.5)
        return np.column_stack([1 - p, p])

    nice = NICE(model).fit(X, X["f"].astype(int))
    for forbid in ({"f": [("false", "true")]}, {"n": [("0", "1")]}):
        blocked = nice.explain(X[1:2], constraints=Constraints(forbid=forbid))
        assert not blocked.found[0]
        assert not blocked[0].relaxation.constraints
        assert nice.explain(X[1:2], constraints=blocked[0].relaxation.constraints).found[0]


def test_numbers_are_names_where_columns_have_them(nice):
    X = pd.DataFrame({1: [0.0, 3.0], 2: [0.0, 3.0]})
    numbered = NICE(split_at(1)).fit(X, [0, 1])
    with pytest.raises(OptionError, match="immutable names 0, which is not a column of X; its columns are 1, 2"):
        numbered.explain(X[:1], constraints=Constraints(immutable=[0]))
    assert numbered.explain(X[:1], constraints=Constraints(immutable=[2])).to_frame()[1][0] == 3


def test_a_feature_by_name_and_by_position_is_one():
    X, y = people()
    nice = NICE(Points()).fit(X, y)
    rules = Constraints(groups=[["income", "education"], ["age", 2]], ranges={"age": (30, 31)})
    cfs = nice.explain(X.iloc[:30], constraints=rules)
    assert cfs.found.any()


def test_the_order_of_an_ordered_category_is_known_and_numbers_may_be_text():
    levels = ["low", "middle", "high"]
    X = pd.DataFrame({"level": pd.Categorical(levels * 4, levels, ordered=True)})

    def model(X):
        p = (X["level"] != "middle").to_numpy(dtype=float)
        return np.column_stack([1 - p, p])

    nice = NICE(model).fit(X, (X["level"] != "middle").astype(int))
    middle = X[1:2]
    assert nice.explain(middle, constraints=Constraints(increasing=["level"])).to_frame()["level"].item() == "high"
    assert nice.explain(middle, constraints=Constraints(decreasing=["level"])).to_frame()["level"].item() == "low"
    coded = X.assign(level=X["level"].cat.codes.astype(int))
    by_code = lambda X: model(pd.DataFrame({"level": np.array(levels)[X["level"]]}))
    nice = NICE(by_code, categorical_features=["level"], classes=[0, 1], justified=False).fit(coded)
    upwards = Constraints(increasing={"level": ["0", "1", "2"]})
    assert nice.explain(coded[1:2], constraints=upwards).to_frame()["level"].item() == 2


def test_a_model_that_refuses_rows_that_break_a_rule_does_not_stop_the_reasons():
    X = pd.DataFrame({"city": ["A", "B"] * 6, "zip": [1, 2] * 6})

    def model(X):
        if (X["city"].map({"A": 1, "B": 2}) != X["zip"]).any():
            raise ValueError("zip is not in city")
        p = (X["city"] == "B").to_numpy(dtype=float)
        return np.column_stack([1 - p, p])

    rules = Constraints(groups=[["city", "zip"]], immutable=["zip"])
    cfs = NICE(model).fit(X, [0, 1] * 6).explain(X, target_class=1, constraints=rules)
    assert cfs.found.tolist() == [False, True] * 6
    assert "Blocked by: 'zip' may not change" in cfs.reasons[0]


@pytest.mark.deep
def test_hundreds_of_rules_are_not_all_listed_and_few_rows_are_tried_for_each():
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(300, 120)), random.normal(size=120)

    def model(X):
        p = 1 / (1 + np.exp(-X @ weights))
        return np.column_stack([1 - p, p])

    cfs = (
        NICE(model)
        .fit(X, (X @ weights > 0).astype(int))
        .explain(X[:1], constraints=Constraints(immutable=list(range(120))))
    )
    assert not cfs.found[0]
    assert len(cfs.reasons[0]) < 500
    assert cfs.model_rows < 120 * 34 * 2 + 300


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"immutable": {"age": False}}, "immutable is a dict; pass a list of features"),
        ({"ranges": {"age": (np.inf, 5)}}, "the range of 'age' is empty. A feature that may not change"),
        ({"ranges": {"age": (None, -np.inf)}}, "the range of 'age' is empty"),
        ({"ranges": {"age": (-np.inf, np.inf)}}, "has no bounds"),
        ({"ranges": {"age": ([1, 2], [1, 2, 3])}}, "has 2 low bounds and 3 high bounds"),
        ({"allowed": {"education": [["x"]]}}, r"allowed has \['x'\] for 'education', which is not a value"),
        ({"forbid": {"education": [(["x"], "y")]}}, "which is not a value of a feature"),
        ({"increasing": {"education": [["x"], ["y"]]}}, "which is not a value of a feature"),
    ],
)
def test_more_rules_that_make_no_sense(rules, message):
    with pytest.raises(OptionError, match=message):
        Constraints(**rules)


def test_odd_bounds(nice):
    with pytest.raises(TypeError, match="unsupported operand"):
        Constraints(immutable=["sex"]) & {"immutable": ["age"]}
    with pytest.raises(OptionError, match=r"bounds of shape \(1, 2\)"):
        nice.explain(POOR, constraints=Constraints(ranges={"age": (np.ones((1, 2)), None)}))
    with pytest.raises(OptionError, match="a line without a feature"):
        Constraints.from_frame(pd.DataFrame({"feature": ["age", None], "low": [1, 2]}))
    assert Constraints(ranges={"age": (1, 10**400)}).to_dict() == {"ranges": {"age": {"low": 1}}}
    missing = Constraints(ranges={"age": (pd.Series([1, None], dtype="Int64"), None)})
    assert repr(Constraints(**missing.to_dict())) == repr(missing)
    bounds = pd.Series([1.0, 2.0])
    rules = Constraints(ranges={"age": (bounds, None)})
    bounds.iloc[0] = 99
    assert rules.to_dict()["ranges"]["age"]["low"] == [1.0, 2.0]
    two = pd.concat([POOR, POOR], ignore_index=True)
    infinite = Constraints(
        ranges={"age": ([-np.inf, 20], None)}, immutable=["income"], allowed={"education": ["school"]}
    )
    assert not nice.explain(
        two, target_class="good", constraints=infinite & Constraints(decreasing=["age"])
    ).found.any()


def test_bounds_from_polars(nice):
    polars = pytest.importorskip("polars")
    rules = Constraints(ranges={"age": (polars.Series([20.0]), None)})
    assert nice.explain(POOR, constraints=rules).found[0]


@pytest.mark.parametrize("search", ["greedy", "thorough"])
def test_a_far_training_row_with_few_changes_is_found_in_the_end(search, monkeypatch):
    monkeypatch.setattr(row_search, "IN_BEAM", 0)  # which might come across it
    monkeypatch.setattr(row_search, "AROUND", 0)
    # 150 nearer rows need three changes each, one at the end of the table needs two: exactly as many as may be made.
    near = 0.1 + np.arange(150)[:, None] / 1000 + np.zeros((150, 3))
    X = np.vstack([np.zeros((1, 3)), near, [[9.0, 9.0, 0.0]]])

    def model(X):
        is_yes = (X >= 0.1).all(axis=1) | (X[:, :2] >= 9).all(axis=1)
        return np.column_stack([~is_yes, is_yes]).astype(float)

    nice = NICE(model, search=search, plausibility=lambda X: np.zeros(len(X))).fit(X, model(X).argmax(axis=1))
    cfs = nice.explain(X[:1], constraints=Constraints(max_changes=2))
    assert cfs.to_numpy().tolist() == [[9.0, 9.0, 0.0]]
    assert cfs.changes()["donor"].tolist() == [151, 151]
    # The thorough search comes across the two changes by itself, and the rule is relaxed no more than needed.
    n_changes = {"greedy": 3, "thorough": 2}[search]
    assert (
        f"Blocked by: only 1 feature may change. Cheapest relaxation: allow {n_changes} changes: distance"
        in (nice.explain(X[:1], constraints=Constraints(max_changes=1)).reasons[0])
    )


def test_a_row_without_bounds_in_a_table_of_bounds_is_under_no_rule():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, np.nan]])

    def model(X):
        is_yes = np.isnan(X[:, 1])
        return np.column_stack([~is_yes, is_yes]).astype(float)

    nice = NICE(model).fit(X, [0, 0, 1])
    bounds = Constraints(ranges={1: ([None, -1.0], [None, None])})
    cfs = nice.explain(X[:2], constraints=bounds)
    assert cfs.found.tolist() == [True, False]
    assert cfs[1].relaxation.action == "allow 1 to change from 0 to missing"
    blocked = nice.explain(X[:2], constraints=bounds & Constraints(allowed={1: [5]}))
    assert "Blocked by: 1 may only become 5" in blocked.reasons[0]
    assert "is not enough: 1 may only change to at least \N{MINUS SIGN}1; 1 may only become 5" in blocked.reasons[1]


def test_values_that_python_takes_for_one_are_values_of_their_own():
    X = np.array([[False], [0], ["x"]], dtype=object)
    model = lambda rows: np.array([[0.1, 0.9] if type(one) is int else [0.9, 0.1] for one in rows[:, 0]])
    nice = NICE(model, classes=["no", "yes"], categorical_features=[0], justified=False).fit(X)
    explained = lambda allowed: nice.explain(X[:1], constraints=Constraints(allowed={0: allowed}))
    assert explained([False, 0, "x"]).to_numpy().tolist() == [[0]]
    assert type(explained([False, 0, "x"]).to_numpy()[0, 0]) is int
    assert not explained([False, "x"]).found[0]
    rules = Constraints(forbid={"x": [(0, 1), (False, True), (0, False)]}, increasing={"y": [False, 0, 1]})
    assert len(rules.forbid["x"]) == 3
    assert [repr(value) for value in rules.increasing["y"]] == ["False", "0", "1"]
    assert (Constraints(allowed={"x": [False, 2, 3]}) & Constraints(allowed={"x": [0, 2.0]})).allowed["x"] == (2,)
