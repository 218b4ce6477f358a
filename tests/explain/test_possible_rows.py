"""Rows that could exist: derived columns, relations, one-hot groups, twins, free text; in every search and baseline."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from markers import deep
from nicecf import NICE, Constraints, OptionError, RulesWarning, baselines

N = 400
RATIO = "round(debt * 12 / income, 2)"
DUMMIES = ["for_car", "for_shop", "for_tv"]
NUMBER_OF = {"school": 1, "college": 2, "university": 3}
ALL = Constraints(derived={"ratio": RATIO}, relations=["late <= months"], groups="auto")


def loans(n=N, seed=0):
    """A table in which much follows from the rest; whole numbers, so that an expression is exact."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": random.integers(20, 120, n) * 500.0,
            "debt": random.integers(1, 60, n) * 50.0,
            "months": random.integers(0, 60, n),
            "education": random.choice(list(NUMBER_OF), n),
        }
    )
    X["late"] = np.minimum(random.integers(0, 24, n), X["months"])
    X["education_number"] = X["education"].map(NUMBER_OF)
    X["ratio"] = (X["debt"] * 12 / X["income"]).round(2)
    purpose = pd.Series(random.choice(["car", "shop", "tv"], n))
    return pd.concat([X, pd.get_dummies(purpose, prefix="for").astype(int)], axis=1)


def model(X):
    """Wants all that can contradict itself: a low ratio, few months late, and education or a shop."""
    X = X.astype({name: float for name in X.columns if name != "education"})
    odds = 2.0 - 5 * X["ratio"] - 0.15 * X["late"] + X["education_number"] + 1.5 * X["for_shop"] - 0.01 * X["months"]
    chance = 1 / (1 + np.exp(-odds + 1))
    return np.column_stack([1 - chance, chance])


X = loans()
Y = model(X).argmax(axis=1)
ROWS = loans(60, seed=1)


def check_possible(cfs, rows=ROWS):
    found = cfs[cfs.found].to_frame()
    numbers = found.astype({name: float for name in found.columns if name != "education"})
    assert len(found)
    np.testing.assert_allclose(numbers["ratio"], (numbers["debt"] * 12 / numbers["income"]).round(2))
    assert (numbers["late"] <= numbers["months"]).all()
    assert (numbers[DUMMIES].sum(axis=1) == 1).all()
    assert (found["education"].map(NUMBER_OF) == numbers["education_number"]).all()


def explained(rows=ROWS, constraints=ALL, **options):
    return NICE(model, classes=[0, 1], constraints=constraints, **options).fit(X, Y).explain(rows, progress=False)


def test_a_fit_warns_once_of_what_no_rule_covers_with_the_line_to_add():
    with pytest.warns(RulesWarning, match="no rule says what follows") as seen:
        NICE(model, classes=[0, 1]).fit(X, Y)
    assert len(seen) == 1
    said = str(seen[0].message)
    assert seen[0].filename == __file__
    line = "Constraints(groups=['auto'], derived={'ratio': 'round(debt * 12 / income, 2)'})"
    assert line in said
    assert "'education', 'education_number'" in said
    own_groups = [DUMMIES, ["education", "education_number"]]
    for rules in (line, f"Constraints(derived={{'ratio': {RATIO!r}}}, groups={own_groups})"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            NICE(model, classes=[0, 1], constraints=eval(rules)).fit(X, Y)
            baselines.WIT(model, classes=[0, 1]).fit(X, Y)


def test_without_rules_rows_contradict_themselves():
    with pytest.raises(AssertionError):
        check_possible(explained(constraints=None, search="greedy"))


@pytest.mark.parametrize(
    "options",
    [
        {"search": "greedy"},
        {"search": "greedy", "optimize": "none"},
        {"search": "greedy", "optimize": "proximity"},
        {},
        {"optimize": "proximity", "mix_donors": False},
        *deep({"optimize": "plausibility"}),
        {"share_donor": False},
        *deep({"min_count": 2, "scale": "std"}, {"min_probability": 0.6}),
    ],
    ids=str,
)
def test_every_search_keeps_what_follows(options):
    cfs = explained(**options)
    check_possible(cfs)
    assert cfs.found.mean() > 0.9


@pytest.mark.parametrize("name", ["WIT", "CBR", "SEDC", "GeCo", *deep("DiCE", "CFproto")])
def test_every_baseline_keeps_what_follows(name):
    method = getattr(baselines, name)
    if name == "DiCE":
        pytest.importorskip("dice_ml")
    short = {"CFproto": {"max_iterations": 50, "c_steps": 1}}.get(name, {})
    found = method(model, classes=[0, 1], constraints=ALL, **short).fit(X, Y).explain(ROWS[:15], progress=False)
    check_possible(found)


def test_a_derived_column_is_listed_but_not_counted():
    cfs = explained()
    changes, metrics = cfs.changes(), cfs.metrics()
    derived = changes[changes["derived"]]
    assert set(derived["feature"]) == {"ratio"}
    assert derived["donor"].isna().all()
    own = changes[~changes["derived"]]
    # Columns that move together are one change, whichever of them differ.
    unit = own["feature"].replace(dict.fromkeys(DUMMIES, "purpose") | {"education_number": "education"})
    counted = own.assign(unit=unit).groupby("row")["unit"].nunique()
    assert counted.to_dict() == metrics["sparsity"][counted.index].to_dict()
    # It changes exactly where what it follows from does, and in the last step.
    last = own.groupby("row")["step"].max()
    assert (derived["step"].to_numpy() == last[derived["row"]].to_numpy()).all()
    assert [one.derived for one in cfs[int(derived["row"].iloc[0])].changes].count(True) == 1


def test_what_moves_together_is_one_change_at_distance_one():
    rows = ROWS[:1].assign(for_car=0, for_shop=0, for_tv=1)
    only = Constraints(groups="auto", immutable=["income", "debt", "ratio", "late", "months", "education"])
    cfs = (
        NICE(model, classes=[0, 1], constraints=only, justified=False)
        .fit(X)
        .explain(
            rows.assign(education="college", education_number=2, late=0, months=0, debt=50, income=400.0, ratio=0.7)
        )
    )
    assert cfs.found.all()
    assert set(cfs.changes()["feature"]) == {"for_shop", "for_tv"}
    assert cfs.metrics()[["sparsity", "proximity"]].to_numpy().tolist() == [[1, 1.0]]
    assert "derived" not in cfs.changes()


@pytest.mark.deep
def test_first_dummies_may_be_dropped():
    dropped = X.drop(columns="for_car")
    full = lambda table: model(table.assign(for_car=0))
    rules = Constraints(groups="auto", derived={"ratio": RATIO})
    nice = NICE(full, classes=[0, 1], constraints=rules).fit(dropped, Y)
    assert [column.name for column in nice._fitted.schema.columns if " + " in str(column.name)] == [
        "education + education_number"
    ]  # two columns that exclude each other are a guess
    three = dropped.assign(for_bike=np.where(X["for_car"] & (np.arange(N) % 2 == 0), 1, 0))
    nice = NICE(lambda t: full(t.drop(columns="for_bike")), classes=[0, 1], constraints=rules).fit(three, Y)
    others = [name for name in three if not name.startswith("for_") and name != "ratio"]
    cfs = nice.explain(three[:150], constraints=Constraints(immutable=others))
    cfs = cfs[cfs.found]
    assert (cfs.to_frame()[["for_shop", "for_tv", "for_bike"]].sum(axis=1) <= 1).all()
    assert {1, 2} == set(cfs.changes().groupby("row").size())  # from none of them, and from one to another
    assert (cfs.metrics()[["sparsity", "proximity"]].dropna() == 1).all(axis=None)


def test_rules_of_a_derived_column_are_checked_after_it_is_computed():
    bounded = ALL & Constraints(ranges={"ratio": (0.1, 0.3)})
    cfs = explained(constraints=bounded)
    check_possible(cfs)
    moved = cfs.changes().query("feature == 'ratio'")["after"].astype(float)
    assert moved.between(0.1, 0.3).all()
    assert not explained().changes().query("feature == 'ratio'")["after"].astype(float).between(0.1, 0.3).all()
    fixed = explained(constraints=ALL & Constraints(immutable=["ratio"]))
    assert "ratio" not in set(fixed.changes()["feature"])
    check_possible(fixed)
    falling = explained(constraints=ALL & Constraints(increasing=["ratio"])).changes().query("feature == 'ratio'")
    assert (falling["after"].astype(float) > falling["before"].astype(float)).all()


def test_a_rule_for_one_dummy_holds_for_what_moves_with_it():
    kept = explained(constraints=ALL & Constraints(immutable=["for_shop"]))
    assert "for_shop" not in set(kept.changes()["feature"])
    check_possible(kept)
    rising = explained(constraints=ALL & Constraints(increasing=["education_number"])).changes()
    rising = rising.query("feature == 'education_number'")
    assert (rising["after"].astype(int) > rising["before"].astype(int)).all()


def test_rows_that_contradict_themselves_say_so_and_the_batch_goes_on():
    rows = ROWS[model(ROWS).argmax(axis=1) == 0][:4].reset_index(drop=True)
    rows.loc[0, "ratio"] += 0.5
    rows.loc[1, "late"] = rows.loc[1, "months"] + 1
    cfs = explained(rows)
    assert cfs.found.tolist() == [False, False, True, True]
    assert list(cfs.reason_kinds[:2]) == ["contradicts_derived", "breaks_relation"]
    right = round(float(rows["debt"][0] * 12 / rows["income"][0]), 2)
    assert f"'ratio' is {rows['ratio'][0]:g}" in cfs.reasons[0]
    assert f"{right:g} follows" in cfs.reasons[0]
    assert "late <= months" in cfs.reasons[1]


def test_a_row_within_the_rounding_is_scored_as_it_was_handed_in():
    rows = ROWS[:20].assign(ratio=lambda table: table["debt"] * 12 / table["income"])
    assert (rows["ratio"] != rows["ratio"].round(2)).any()
    cfs = explained(rows)
    np.testing.assert_allclose(cfs.batch.before.probabilities, model(rows))
    assert cfs.found.all()


def test_what_follows_from_nothing_that_changed_stays_as_it_was():
    rows = ROWS[:30].assign(ratio=lambda table: table["debt"] * 12 / table["income"])
    cfs = explained(rows, constraints=ALL & Constraints(immutable=["debt", "income"]))
    cfs = cfs[cfs.found]
    after = cfs.to_frame()
    stays = (after["ratio"] == rows.loc[after.index, "ratio"]).to_numpy()
    assert stays.mean() > 0.8
    np.testing.assert_allclose(cfs.batch.after.probabilities, model(after))
    # But for rows that the model would not accept then.
    own = after[~stays].assign(ratio=rows["ratio"])
    assert (model(own).argmax(axis=1) == cfs.batch.before.decided[~stays]).all()


def test_relations_can_be_those_of_a_call_or_of_a_row():
    nice = NICE(model, classes=[0, 1], constraints=Constraints(derived={"ratio": RATIO})).fit(X, Y)
    rule = Constraints(relations=["late <= months", 'education == "school" implies for_tv == 0'])

    def breaks(cfs):
        found = cfs[cfs.found].to_frame()
        return int(
            ((found["late"] > found["months"]) | (found["education"].eq("school") & (found["for_tv"] == 1))).sum()
        )

    fine = ROWS[~(ROWS["education"].eq("school") & ROWS["for_tv"].eq(1))].reset_index(drop=True)
    free = nice.explain(fine)
    assert breaks(free)
    assert not breaks(nice.explain(fine, constraints=rule))
    half = nice.explain(fine, constraints=[rule if line % 2 else None for line in range(len(fine))])
    np.testing.assert_array_equal(half[::2].to_frame(), free[::2].to_frame())
    assert not breaks(half[1::2])


def test_a_relation_that_blocks_is_named_and_can_be_relaxed():
    nice = NICE(lambda t: np.column_stack([t["a"] <= 1, t["a"] > 1]).astype(float), classes=[0, 1], justified=False)
    table = pd.DataFrame({"a": np.arange(60) % 3, "b": np.arange(60) % 2})
    cfs = nice.fit(table).explain(table[:1], constraints=Constraints(relations=["a <= b"]))
    assert not cfs.found.any()
    assert "Blocked by: a <= b" in cfs.reasons[0]
    assert cfs.relaxations[0].constraints.relations == ()
    assert nice.explain(table[:1], constraints=cfs.relaxations[0].constraints).found.all()


def test_batches_are_their_rows():
    together = explained()
    alone = [explained(ROWS[line : line + 1]).to_frame() for line in range(4)]
    pd.testing.assert_frame_equal(pd.concat(alone), together[:4].to_frame())


def test_a_function_of_the_table_derives_too():
    def ratio(table):
        return (table["debt"] * 12 / table["income"]).round(2)

    def education(table):
        return table["education_number"].map({number: name for name, number in NUMBER_OF.items()})

    rules = Constraints(derived={"ratio": ratio, "education": education}, relations=["late <= months"])
    cfs = explained(constraints=rules)
    found = cfs.to_frame()
    assert (found["education"].map(NUMBER_OF) == found["education_number"]).all()
    assert repr(rules).count("function") == 2
    by_text = explained(constraints=Constraints(derived={"ratio": RATIO}, relations=["late <= months"]))
    both = (by_text.metrics()["sparsity"] - cfs.metrics()["sparsity"]).to_numpy()
    assert both.mean() >= 0  # education, in the first, goes with its number and is no change


def test_derived_columns_may_follow_from_derived_ones():
    table = X.assign(yearly=X["debt"] * 12)
    rules = Constraints(derived={"ratio": "round(yearly / income, 2)", "yearly": "debt * 12"})
    ask = lambda t: model(t.drop(columns="yearly"))
    cfs = NICE(ask, classes=[0, 1], constraints=rules).fit(table, Y).explain(table[:30])
    found = cfs.to_frame()
    np.testing.assert_allclose(found["yearly"], found["debt"] * 12)
    np.testing.assert_allclose(found["ratio"], (found["yearly"] / found["income"]).round(2))


def test_a_division_by_zero_is_no_counterfactual():
    table = pd.DataFrame({"a": np.arange(120) % 4 + 1.0, "b": np.arange(120) % 3 + 1.0})
    table["share"] = table["a"] / (table["a"] + table["b"] - 3)
    table = table[np.isfinite(table["share"])].reset_index(drop=True)
    rules = Constraints(derived={"share": "a / (a + b - 3)"})
    nice = NICE(lambda t: np.column_stack([t["a"] <= 2, t["a"] > 2]).astype(float), classes=[0, 1], constraints=rules)
    found = nice.fit(table, (table["a"] > 2).astype(int)).explain(table).to_frame()
    assert np.isfinite(found["share"]).all()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"derived": {"ratio": "debt * 12 /"}}, "derived has 'debt \\* 12 /' for 'ratio'"),
        ({"derived": {"ratio": 3}}, "pass an expression"),
        ({"relations": "late <= months"}, "not a list of relations"),
        ({"relations": ["late <= (months"]}, "relations has 'late <= \\(months'"),
        ({"relations": [1]}, "a relation is a text"),
        ({"derived": {"ratio": RATIO}, "groups": [["ratio", "late"]]}, "cannot be in a group"),
        ({"may_become_missing": "no"}, "must be True or False"),
        ({"may_change": ["a"], "immutable": ["a"]}, "immutable"),
    ],
    ids=str,
)
def test_rules_that_make_no_sense(rules, message):
    with pytest.raises(OptionError, match=message):
        Constraints(**rules)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"derived": {"ratio": "debt * 12 / incom"}}, "'incom', which is not a column"),
        ({"derived": {"rate": "debt"}}, "derived names 'rate'"),
        ({"derived": {"ratio": "ratio + debt"}}, "names itself"),
        ({"derived": {"ratio": "debt / income", "debt": "ratio * income"}}, "circular: 'ratio', 'debt'"),
        ({"derived": {"ratio": "debt * 12 / income"}}, r"in \d+ of 400 training rows .* needs round"),
        ({"derived": {"ratio": "debt / (months - months)"}}, "400 of 400 training rows .*no value"),
        ({"derived": {"education": "late"}}, "categorical"),
        ({"derived": {"ratio": "education * 2"}}, "'education' is used as a number"),
        ({"derived": {"ratio": lambda table: table["nothing"]}}, "raised KeyError"),
        ({"derived": {"ratio": lambda table: [1.0]}}, r"returned shape \(1,\)"),
        ({"derived": {"ratio": lambda table: table["debt"] * np.nan}}, "no value"),
        ({"derived": {"ratio": lambda table: table["education"]}}, "returned no numbers"),
        ({"derived": {"ratio": {"function": "ratio"}}}, "Pass it again"),
        ({"relations": ["late <= month"]}, "'month', which is not a column"),
        ({"relations": ["education <= months"]}, "does not fit its columns"),
        ({"relations": ['late == "a"']}, "does not fit its columns"),
    ],
)
def test_rules_that_do_not_fit_the_table_are_one_error_at_fit(rules, message):
    with pytest.raises(OptionError, match=message):
        NICE(model, classes=[0, 1], constraints=Constraints(**rules)).fit(X, Y)


def test_what_the_columns_are_is_not_said_for_one_call():
    nice = NICE(model, classes=[0, 1]).fit(X, Y)
    for rules in (Constraints(derived={"ratio": RATIO}), Constraints(groups="auto")):
        with pytest.raises(OptionError, match="cannot be set for one call"):
            nice.explain(ROWS[:1], constraints=rules)


def test_a_baseline_refuses_rules_that_it_cannot_keep():
    with pytest.raises(OptionError, match="WIT keeps no 'immutable'"):
        baselines.WIT(model, classes=[0, 1], constraints=Constraints(immutable=["late"])).fit(X, Y)


def test_the_model_is_asked_once_a_round():
    cfs = NICE(model, classes=[0, 1], search="greedy", constraints=ALL).fit(X, Y).explain(ROWS)
    assert cfs.model_calls <= cfs.metrics()["rounds"].max() + 2


NOTES = X[["income", "late"]].assign(note=[f"Mr {line}, call 555-{line:04}" for line in range(N)])


def by_note(table):
    is_even = table["note"].str[-1].isin(list("02468")) & (table["late"] < 10)
    return np.column_stack([~is_even, is_even]).astype(float)


def test_free_text_of_others_is_handed_to_nobody():
    rows = NOTES[(NOTES["late"] >= 10).to_numpy()][:20]
    nice = NICE(by_note, classes=[0, 1]).fit(NOTES, by_note(NOTES).argmax(axis=1))
    cfs = nice.explain(rows)
    assert "note" not in set(cfs.changes()["feature"])
    assert cfs.found.any()
    assert not cfs.found.all()
    assert all("looks like free text: 'note'" in one for one in cfs.notes)
    assert "looks like free text may not change: 'note'" in next(reason for reason in cfs.reasons if reason)
    named = nice.explain(rows, constraints=Constraints(may_change=["note"]))
    assert named.found.all()
    assert "note" in set(named.changes()["feature"])
    assert not any(named.notes)
    silent = nice.explain(rows, constraints=Constraints(immutable=["note"]))
    assert not any(silent.notes)


def test_few_or_repeated_texts_are_no_free_text():
    for table in (NOTES[:49], NOTES.assign(note=NOTES["note"].str[-1:])):
        nice = NICE(by_note, classes=[0, 1], justified=False).fit(table)
        assert nice.explain(table[:3]).notes.tolist() == [None] * 3


def test_nothing_becomes_missing_in_one_word():
    table = pd.DataFrame({"a": [1.0, np.nan, 3.0] * 20, "b": ["x", None, "y"] * 20})
    ask = lambda t: np.column_stack([t["a"].notna(), t["a"].isna()]).astype(float)
    nice = NICE(ask, classes=[0, 1], justified=False).fit(table)
    assert nice.explain(table[:1]).found.all()
    cfs = nice.explain(table[:1], constraints=Constraints(may_become_missing=False))
    assert not cfs.found.any()
    assert "no value may become missing" in cfs.reasons[0]
    assert cfs.relaxations[0].action == "allow values to become missing"


# Values that were rounded otherwise than the rule rounds: halves, up instead of to the even neighbor.


def halves(seed=0, n=400):
    random = np.random.default_rng(seed)
    a, c = random.integers(0, 40, n), random.integers(0, 20, n)
    return pd.DataFrame({"a": a, "c": c, "d": np.floor(a / 2 + 0.5).astype(int)})


HALF = {"d": "round(a / 2)"}


def over_twelve(table):
    return np.column_stack([table["c"] <= 12, table["c"] > 12]).astype(float)


def test_own_values_that_stay_contradict_nothing():
    table = halves().assign(e=lambda table: table["d"] + table["c"])
    rules = Constraints(derived={**HALF, "e": "d + c"})
    nice = NICE(over_twelve, classes=[0, 1], constraints=rules, justified=False).fit(table)
    cfs = nice.explain(table[table["c"] <= 12])
    after = cfs.to_frame()
    assert cfs.found.all()
    assert (after["d"] + after["c"] == after["e"]).all()
    assert nice.explain(after, target_class=0).found.all()

    # Nor where the outer one follows from nothing else.
    table = halves().assign(e=lambda table: table["d"] * 2)
    nice = NICE(over_twelve, classes=[0, 1], constraints=Constraints(derived={**HALF, "e": "d * 2"}), justified=False)
    after = nice.fit(table).explain(table[table["c"] <= 12]).to_frame()
    assert (after["d"] * 2 == after["e"]).all()


def test_own_values_that_stay_keep_relations():
    table = halves()
    table = table[table["d"] + table["c"] <= 19].reset_index(drop=True)
    rules = Constraints(derived=HALF, relations=["d + c <= 19"])
    nice = NICE(over_twelve, classes=[0, 1], constraints=rules, justified=False).fit(table)
    after = nice.explain(table[table["c"] <= 12]).to_frame().dropna()
    assert len(after)
    assert (after["d"] + after["c"] <= 19).all()


@pytest.mark.parametrize("rule", ["immutable", "increasing"])
def test_rules_of_a_derived_column_are_about_the_value_that_was_handed_in(rule):
    table = halves()
    even = lambda table: np.column_stack([table["a"] % 2 != 0, table["a"] % 2 == 0]).astype(float)
    rules = Constraints(derived=HALF, **{rule: ["d"]})
    rows = table[table["a"] % 2 == 1]
    cfs = NICE(even, classes=[0, 1], constraints=rules, justified=False).fit(table).explain(rows)
    change = (cfs.to_frame()["d"] - rows["d"])[cfs.found]
    assert len(change)
    assert (change == 0).all() if rule == "immutable" else (change >= 0).all()


def twins(n=400):
    random = np.random.default_rng(0)
    key = random.integers(0, 15, n)
    partner = 100.0 + random.permutation(15)[key]
    x, z = random.normal(size=(2, n)).round(1)
    return pd.DataFrame({"k": key.astype(float), "p": partner, "x": x, "z": z})


def by_key(table):
    chance = 1 / (1 + np.exp(-(table["k"] - 7.5 + 0.1 * table["z"] + 0.1 * table["x"])))
    return np.column_stack([1 - chance, chance])


@pytest.mark.parametrize("group", [["p", "x"], ["k", "x"]], ids=str)
def test_a_group_of_ones_own_may_name_either_twin(group):
    table = twins()
    rules = Constraints(groups=["auto", group])
    rows = table[by_key(table).argmax(axis=1) == 0]
    cfs = NICE(by_key, classes=[0, 1], constraints=rules, justified=False).fit(table).explain(rows)
    known = set(zip(table["p"], table["x"], strict=True))
    after = cfs.to_frame()
    assert all(pair in known for pair in zip(after["p"], after["x"], strict=True))


def test_either_twin_may_have_a_weight():
    table = twins()
    rows = table[by_key(table).argmax(axis=1) == 0]
    options = {"constraints": Constraints(groups="auto"), "justified": False, "optimize": "proximity"}
    free, by_one, by_other = (
        NICE(by_key, classes=[0, 1], feature_weights=weights, **options).fit(table).explain(rows).metrics()["proximity"]
        for weights in (None, {"k": 50}, {"p": 50})
    )
    assert (by_one == by_other).all()
    assert (by_one > free).any()


@pytest.mark.parametrize("options", [{}, {"mix_donors": False}, {"search": "greedy", "share_donor": False}], ids=str)
def test_groups_of_ones_own_that_meet_in_a_found_one_are_one(options):
    random = np.random.default_rng(0)
    table = pd.get_dummies(pd.Series(random.choice(list("abc"), 300)), prefix="col").astype(int)
    table = pd.concat([table, pd.DataFrame(random.normal(size=(300, 3)), columns=list("beh"))], axis=1)

    def ask(rows):
        chance = 1 / (1 + np.exp(-(rows["b"] + rows["e"] + rows["h"] + 2 * rows["col_a"] - 1)))
        return np.column_stack([1 - chance, chance])

    rules = Constraints(groups=["auto", ["col_a", "b"], ["col_b", "e"]])
    rows = table[ask(table).argmax(axis=1) == 0][:40]
    cfs = NICE(ask, classes=[0, 1], constraints=rules, justified=False, **options).fit(table).explain(rows)
    together = ["col_a", "col_b", "col_c", "b", "e"]
    known = {*table[together].itertuples(index=False, name=None)}
    after = cfs[cfs.found].to_frame()
    assert len(after)
    assert all(values in known for values in after[together].itertuples(index=False, name=None))


def test_a_guarded_explainer_does_not_tell_what_goes_with_a_rare_value():
    table = twins()
    table.loc[len(table)] = [99.0, 777.0, 0.0, 0.0]
    nice = NICE(by_key, classes=[0, 1], constraints=Constraints(groups="auto"), min_count=5, justified=False).fit(table)
    cfs = nice.explain(table[:1].assign(k=99.0, p=100.0), target_class=0)
    assert list(cfs.reason_kinds) == ["contradicts_itself"]
    assert "777" not in cfs.reasons[0]


def test_values_that_a_relation_tells_apart_are_not_taken_for_one_another():
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.integers(0, 20, 400), "b": random.integers(0, 20, 400)})
    table = table[(table["a"] < 10) | (table["a"] >= table["b"])].reset_index(drop=True)
    label = (table["a"] >= 10).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(table, label)
    rules = Constraints(relations=["a >= 10 implies a >= b"])
    rows = table[label == 0]
    read, asked = (
        NICE(model, classes=classes, constraints=rules).fit(table, label).explain(rows).metrics()["proximity"].mean()
        for model, classes in ((tree, None), (tree.predict_proba, [0, 1]))
    )
    assert read == pytest.approx(asked)
