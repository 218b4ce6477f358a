"""Rules that a training table suggests: planted structures are found, near misses and random tables give none."""

import json
import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf.rules.expressions import Expression, Relation
from nicecf.rules.suggestions import TableFacts, auto_groups, certain_findings, suggestions_of, to_toml
from nicecf.rules.suggestions.suggestion import in_expression, quoted, suggest_group, suggest_immutable
from nicecf.rules.suggestions.words import is_plainly_protected, one_way_by, protected_by, words_of

N = 400


def rng(seed=0):
    return np.random.default_rng(seed)


def numbers(n=N, seed=0):
    """Unlike columns of whole numbers, none of which tells another."""
    random = rng(seed)
    return pd.DataFrame(
        {
            "debt": random.integers(100, 2_000, n),
            "income": random.integers(10_000, 90_000, n),
            "rent": random.integers(200, 1_800, n),
            "items": random.integers(1, 90, n),
        }
    )


def found(X, *kinds, **options):
    """The entries of some kinds in the file; of a group its features, though the file has them all as "auto"."""
    some = [one for one in suggestions_of(X, **options) if one.kind in kinds]
    return {json.dumps(one.features) if one.toml == '"auto"' else one.toml: one.is_certain for one in some}


def dummies(dtype, *, drop_first=False):
    housing = rng(1).choice(["own", "rent_free", "rent_paid"], N)
    job = rng(2).choice(["none", "skilled", "unskilled"], N)
    X = pd.DataFrame({"housing": housing, "job": job, "housing_cost": rng(3).integers(0, 900, N)})
    return pd.get_dummies(X, columns=["housing", "job"], dtype=dtype, drop_first=drop_first)


# One-hot groups.


@pytest.mark.parametrize("dtype", [int, bool, float])
def test_one_hot_columns_are_a_group(dtype):
    assert found(dummies(dtype), "one_hot") == {
        '["housing_own", "housing_rent_free", "housing_rent_paid"]': True,
        '["job_none", "job_skilled", "job_unskilled"]': True,
    }


def test_one_hot_columns_that_were_declared_categories_are_a_group():
    X = dummies(int)
    names = [name for name in X if name != "housing_cost"]
    assert found(X, "one_hot", categorical_features=names) == found(X, "one_hot")


def test_rare_categories_and_many_rows_are_seen_and_so_is_a_single_broken_row():
    job = np.where(np.arange(20_000) < 7, "rare", rng(1).choice(["none", "skilled", "unskilled"], 20_000))
    X = pd.get_dummies(pd.DataFrame({"job": job}), dtype=int)
    X = X.assign(**{f"flag_{j}": rng(j).integers(0, 2, len(X)) for j in range(20)})
    assert found(X, "one_hot") == {'["job_none", "job_rare", "job_skilled", "job_unskilled"]': True}
    X.loc[9_999, "job_rare"] = 1
    assert found(X, "one_hot") == {}


def test_a_row_without_any_or_with_two_of_the_columns_breaks_the_group():
    X = dummies(int)
    X.loc[7, ["job_none", "job_skilled", "job_unskilled"]] = [1, 1, 0]
    assert found(X, "one_hot") == {'["housing_own", "housing_rent_free", "housing_rent_paid"]': True}


def test_dummies_with_the_first_left_out_are_a_group_and_two_of_them_a_guess():
    X = pd.get_dummies(
        pd.DataFrame({"grade": rng(1).choice(list("abcd"), N), "job": rng(2).choice(list("xyz"), N)}), drop_first=True
    )
    assert found(X, "one_hot") == {'["grade_b", "grade_c", "grade_d"]': True, '["job_y", "job_z"]': False}


def test_one_hot_columns_are_found_without_common_names_too():
    X = pd.get_dummies(pd.Series(rng(1).choice(["red", "green", "blue"], N))).astype(int)
    X.insert(1, "amount", rng(2).integers(0, 900, N))
    X["male"] = rng(3).integers(0, 2, N)
    X["other"] = rng(4).integers(0, 2, N)
    X["female"] = 1 - X["male"]
    assert found(X, "one_hot") == {'["blue", "green", "red"]': True, '["male", "female"]': True}


def test_columns_that_exclude_each_other_are_found_among_others():
    colors = pd.get_dummies(pd.Series(rng(1).choice(["red", "green", "blue"], N))).astype(int)
    sizes = pd.get_dummies(pd.Series(rng(2).choice(["large", "middle", "small"], N))).astype(int)
    X = pd.concat([colors, sizes], axis=1)[["red", "large", "green", "middle", "blue", "small"]]
    assert found(X, "one_hot") == {'["red", "green", "blue"]': True, '["large", "middle", "small"]': True}


def test_two_columns_that_differ_in_a_single_row_are_no_group():
    X = pd.DataFrame({"alive": (np.arange(N) != 5).astype(int), "abroad": (np.arange(N) == 5).astype(int)})
    assert found(X, "one_hot") == {}


def test_rare_flags_that_exclude_each_other_by_accident_are_no_group():
    X = pd.DataFrame(np.zeros((N, 4), dtype=int), columns=[f"sick_{name}" for name in "abcd"])
    for j in range(4):
        X.iloc[j * 10 : j * 10 + 6, j] = 1
    assert found(X, "one_hot") == {}


# Twins.


def test_columns_that_determine_each_other_are_twins():
    degree = rng(1).choice(["school", "college", "university", None], N)
    X = pd.DataFrame({"degree": degree, "years": pd.Series(degree).map({"school": 9, "college": 13, "university": 18})})
    X["age"] = rng(2).integers(18, 80, N)
    assert found(X, "twins") == {'["degree", "years"]': True}
    X.loc[5, "years"] = 18 if degree[5] != "university" else 9
    assert found(X, "twins") == {}


def test_unique_columns_are_twins_only_if_they_are_copies():
    X = pd.DataFrame(rng(1).normal(size=(N, 3)), columns=["a", "b", "c"])
    X["again"] = X["b"]
    assert found(X, "twins") == {'["b", "again"]': True}


def test_repeated_rows_make_no_twins():
    X = pd.DataFrame(rng(1).normal(size=(N, 3)), columns=["a", "b", "c"])
    assert found(pd.concat([X, X, X], ignore_index=True), "twins") == {}


@pytest.mark.parametrize("empty", [np.nan, 0.0])
def test_columns_that_are_empty_together_and_unique_elsewhere_are_no_twins(empty):
    is_empty = rng(1).random(N) < 0.6
    X = pd.DataFrame({name: np.where(is_empty, empty, rng(j).random(N)) for j, name in enumerate("ab")})
    assert found(X, "twins") == {}


def test_twins_are_found_in_many_rows_and_a_single_row_is_enough_against_them():
    code = rng(1).integers(0, 3_000, 30_000)
    X = pd.DataFrame({"code": code, "price": rng(2).permutation(3_000)[code] / 7, "size": rng(3).random(30_000)})
    assert found(X, "twins") == {'["code", "price"]': True}
    X.loc[12_345, "price"] += 1
    assert found(X, "twins") == {}


def test_groups_that_share_a_column_are_one():
    X = dummies(int)
    X["job_code"] = X["job_skilled"] + 2 * X["job_unskilled"]
    X["wanted"] = X["job_skilled"]
    assert found(X, "one_hot", "twins") == {
        '["housing_own", "housing_rent_free", "housing_rent_paid"]': True,
        '["job_none", "job_skilled", "job_unskilled", "wanted", "job_code"]': True,
    }


# Derived columns.

PLANTED = {
    "total = debt + rent": lambda X: X["debt"] + X["rent"],
    "net = income - debt": lambda X: X["income"] - X["debt"],
    "cost = debt * items": lambda X: X["debt"] * X["items"],
    "dti = round(debt * 12 / income, 2)": lambda X: (X["debt"] * 12 / X["income"]).round(2),
    "dti = debt / income": lambda X: X["debt"] / X["income"],
    "pct = round(rent * 100 / (rent + debt), 1)": lambda X: (100 * X["rent"] / (X["rent"] + X["debt"])).round(1),
    "monthly = round(income / 12, 2)": lambda X: (X["income"] / 12).round(2),
    "tax = round(income * 0.19, 2)": lambda X: (X["income"] * 0.19).round(2),
    "total = debt + income + rent": lambda X: X["debt"] + X["income"] + X["rent"],
    "rest_total = income - debt - rent": lambda X: X["income"] - X["debt"] - X["rent"],
    "dti = round((debt + rent) * 12 / income, 3)": lambda X: ((X["debt"] + X["rent"]) * 12 / X["income"]).round(3),
    "margin = round((income - debt) * 100 / items, 1)": lambda X: (100 * (X["income"] - X["debt"]) / X["items"]).round(
        1
    ),
    "per = round(debt * items / rent, 3)": lambda X: (X["debt"] * X["items"] / X["rent"]).round(3),
    "volume = debt * rent * items": lambda X: X["debt"] * X["rent"] * X["items"],
    "pct = round(rent * 100 / (rent + debt + items), 2)": lambda X: (
        100 * X["rent"] / (X["rent"] + X["debt"] + X["items"])
    ).round(2),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_computed_column_is_derived(planted):
    X = numbers()
    name, _, expression = planted.partition(" = ")
    X.insert(1, name, PLANTED[planted](X))
    (one,) = (one for one in suggestions_of(X) if one.kind == "derived")
    assert tomllib.loads(to_toml([one])) == {"derived": {name: expression}}
    assert one.seen == "equal in all 400 rows with these values"
    again = Expression.parse(expression).evaluated({column: X[column].to_numpy() for column in X})
    assert again == pytest.approx(X[name].to_numpy(), abs=0.51 * 10.0 ** -(Expression.parse(expression).digits or 9))


@pytest.mark.parametrize("planted", PLANTED)
def test_one_broken_row_is_enough_against_a_derived_column(planted):
    X = numbers()
    name = planted.partition(" = ")[0]
    X[name] = PLANTED[planted](X)
    X.loc[300, name] += 3 if X[name].dtype.kind == "i" else 0.3 + 0.2 * X.loc[300, name]
    assert found(X, "derived") == {}


def test_rows_with_missing_cells_say_nothing_of_a_derived_column():
    X = numbers()
    X["total"] = (X["debt"] + X["rent"]).astype(float)
    X.loc[X.index % 5 == 0, "rent"] = np.nan
    X.loc[X.index % 7 == 0, "total"] = np.nan
    (one,) = (one for one in suggestions_of(X) if one.kind == "derived")
    assert (one.toml, one.is_certain) == ('total = "debt + rent"', True)
    assert one.seen == f"equal in all {X[['rent', 'total']].notna().all(axis=1).sum()} rows with these values"


def test_an_equation_that_can_be_solved_for_any_column_is_a_guess():
    X = numbers()[["debt", "rent"]].assign(both=lambda X: X["debt"] + X["rent"])
    assert found(X, "derived") == {'both = "debt + rent"': False}


def test_what_is_undefined_in_a_row_is_no_derived_column():
    X = numbers()
    X.loc[3, ["debt", "items"]] = 0
    X["per"] = (X["debt"] / X["items"]).fillna(0.0)
    assert found(X, "derived") == {'debt = "items * per"': False}


def test_parts_that_hardly_matter_derive_nothing():
    X = numbers()
    X["flag"] = rng(5).integers(0, 2, N)
    X["rare"] = np.where(np.arange(N) < 4, np.arange(N), 0)
    X["flagged"] = X["debt"] * X["flag"]
    X["nearly"] = X["debt"] + X["rare"]
    assert found(X, "derived") == {}


def test_no_column_is_derived_from_itself_in_a_circle():
    X = numbers()
    X["total"] = X["debt"] + X["rent"]
    X["share"] = X["debt"] / X["total"]
    X["grand_total"] = X["total"] + X["income"]
    derived = {one.features[0]: set(one.features[1:]) for one in suggestions_of(X) if one.kind == "derived"}
    assert derived.keys() == {"total", "share", "grand_total"}
    while derived:
        free = {name for name, parts in derived.items() if not parts & derived.keys()}
        assert free
        derived = {name: parts for name, parts in derived.items() if name not in free}


def test_a_derived_column_needs_no_step():
    X = pd.DataFrame({"rent": 50 * rng(1).integers(1, 90, N), "debt": 50 * rng(2).integers(1, 90, N)})
    X["total"] = X["rent"] + X["debt"]
    assert found(X, "step", "derived") == {"rent = 50": True, "debt = 50": True, 'total = "rent + debt"': True}


# Sums of many columns, and shares of a whole.


def amounts(n_columns, n=N):
    return pd.DataFrame(rng(1).integers(0, 900, (n, n_columns)), columns=[f"of_{j}" for j in range(n_columns)])


def test_a_sum_of_many_columns_is_derived_and_certain_if_only_the_total_is_called_one():
    X = amounts(9)
    parts = ["of_0", "of_2", "of_3", "of_5", "of_8"]
    text = " + ".join(parts)
    assert found(X.assign(total=X[parts].sum(axis=1)), "derived") == {f'total = "{text}"': True}
    assert found(X.assign(all=X[parts].sum(axis=1)), "derived") == {f'all = "{text}"': False}
    halves = (X / 8).round(2)
    rounded = halves.assign(total=halves[parts].sum(axis=1).round(1))
    assert found(rounded, "derived") == {f'total = "round({text}, 1)"': True}
    rounded.loc[3, "total"] += 0.2
    assert found(rounded, "derived") == {}


def test_sums_with_the_same_parts_do_not_hide_each_other():
    X = amounts(9)
    X["paid"] = X[["of_0", "of_1", "of_2", "of_3"]].sum(axis=1)
    X["total"] = X["paid"] + X["of_5"] + X["of_6"] + X["of_7"] + X["of_8"]
    derived = {one.features[0]: set(one.features[1:]) for one in suggestions_of(X) if one.kind == "derived"}
    assert derived["paid"] == {"of_0", "of_1", "of_2", "of_3"}
    assert derived["total"] in ({*X} - {"paid", "total", "of_4"}, {"paid", "of_5", "of_6", "of_7", "of_8"})


@pytest.mark.parametrize(("whole", "decimals"), [(1, None), (100, 1)])
def test_shares_of_a_whole_are_a_guess_of_the_last_one(whole, decimals):
    X = pd.DataFrame(whole * rng(1).dirichlet(np.full(4, 5.0), N), columns=["rent", "food", "travel", "rest"])
    other = pd.DataFrame(rng(2).dirichlet(np.ones(3), N), columns=["a", "b", "c"])
    if decimals is not None:
        X = X.round(decimals).assign(rest=lambda X: (whole - X["rent"] - X["food"] - X["travel"]).round(decimals))
    expected = f"{whole} - rent - food - travel"
    expected = expected if decimals is None else f"round({expected}, {decimals})"
    table = X.join(amounts(4)).join(other)
    assert found(table, "derived") == {f'rest = "{expected}"': False, 'c = "1 - a - b"': False}
    table.loc[9, ["rest", "c"]] += 0.3
    assert found(table, "derived") == {}


# Dates.


def moments(tz=None):
    start = pd.Timestamp("2015-02-01", tz=tz) + pd.to_timedelta(rng(1).integers(0, 2_500, N), unit="D")
    return pd.DataFrame({"start": start, "end": start + pd.to_timedelta(rng(2).integers(0, 300, N), unit="D")})


def test_the_time_from_one_date_to_another_is_derived():
    X = moments().assign(lasted=lambda X: X["end"] - X["start"])
    X["days"] = X["lasted"].dt.days
    X["weeks"] = (X["days"] / 7).round(1)
    X["opened_before"] = (X["days"] + (np.arange(N) == 7)).astype(float)
    assert found(X[["start", "end", "days", "lasted"]], "derived") == {
        'days = "(end - start) / \\"1 day\\""': True,
        'lasted = "end - start"': True,
    }
    assert found(X[["weeks", "end", "start"]], "derived") == {'weeks = "round((end - start) / \\"7 days\\", 1)"': True}
    assert found(X[["opened_before", "end", "start"]], "derived") == {}
    X.loc[X.index % 5 == 0, "end"] = pd.NaT
    (one,) = (one for one in suggestions_of(X[["start", "end", "days"]]) if one.kind == "derived")
    assert one.seen == "equal in all 320 rows with these values"


@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_parts_of_a_date_come_from_the_same_row_as_the_date(tz):
    X = moments(tz).assign(year=lambda X: X["start"].dt.year, month=lambda X: X["start"].dt.month_name())
    X["ends_on"] = X["end"].dt.day_name()
    X["size"] = rng(3).integers(0, 9, N)
    assert found(X, "calendar") == {'["start", "year", "month"]': True, '["end", "ends_on"]': True}
    rules = tomllib.loads(to_toml(suggestions_of(X)))
    assert rules["groups"] == [["start", "year", "month"], ["end", "ends_on"]]
    X.loc[5, ["year", "ends_on"]] = [2035, "never"]
    assert found(X, "calendar") == {'["start", "month"]': True}


# Orders of levels.


@pytest.mark.parametrize(
    "levels",
    [
        ["... < 100 DM", "100 <= ... < 500 DM", "... >= 500 DM / or a salary for 1 year"],
        ["0-9", "10-19", "20-29", "100+"],
        ["bis 1.000 €", "1.000 bis 2.500 €", "über 2.500 €"],
        ["[-10,0)", "[0,10)", "[10,200)"],
        ["Low", "Medium", "High"],
        ["very poor", "poor", "good"],
    ],
    ids=str,
)
def test_levels_that_say_their_order_are_a_guess_of_it(levels):
    X = pd.DataFrame({"level": rng(1).choice([*levels, "unknown"], N), "age": rng(2).integers(18, 80, N)})
    entry = f"level = [{', '.join(json.dumps(level, ensure_ascii=False) for level in levels)}]"
    assert found(X, "order") == {entry: False}
    text = to_toml(suggestions_of(X))
    assert tomllib.loads(text)["increasing"] == {}
    read = tomllib.loads(text.replace("# level = ", "level = ").replace("# age = ", "age = "))
    assert read["increasing"] == {"age": True, "level": levels}


@pytest.mark.parametrize(
    "levels",
    [
        ["1", "2", "3"],
        ["A11", "A12", "A13"],
        ["2020-05-01", "2020-06-01", "2021-01-01"],
        ["0-10", "5-15", "15-20"],
        ["< 5", "> 5"],
        ["red", "green", "low", "blue"],
        ["own", "rent", "for free"],
        ["< 5", "5-9", "none", "unknown", "lost"],
    ],
    ids=str,
)
def test_other_levels_have_no_order(levels):
    assert found(pd.DataFrame({"level": rng(1).choice(levels, N)}), "order") == {}


def test_a_column_of_an_ordered_dtype_has_its_order_already():
    levels = ["low", "medium", "high"]
    X = pd.DataFrame({"level": pd.Categorical(rng(1).choice(levels, N), levels, ordered=True)})
    assert found(X, "order") == {}


# Relations.


def limits(n=2_000):
    low = rng(1).integers(0, 100, n)
    return pd.DataFrame({"price_min": low, "price_max": low + rng(2).integers(0, 40, n), "price": rng(3).random(n)})


def test_a_relation_is_certain_if_names_and_equal_rows_and_many_rows_say_so():
    assert found(limits(), "relation") == {'"price_min <= price_max"': True}
    assert found(limits(500), "relation") == {'"price_min <= price_max"': False}
    apart = limits().assign(price_max=lambda X: X["price_max"] + 1)
    assert found(apart, "relation") == {'"price_min <= price_max"': False}
    assert found(limits().rename(columns={"price_min": "price_a", "price_max": "price_b"}), "relation") == {
        '"price_a <= price_b"': False
    }


def test_what_may_be_an_accident_is_no_relation():
    broken = limits()
    broken.loc[9, "price_max"] = broken.loc[9, "price_min"] - 1
    assert found(broken, "relation") == {}
    assert found(limits().rename(columns={"price_min": "height"}), "relation") == {}
    above = limits().assign(price_max=100 + rng(2).integers(0, 30, 2_000))  # whatever the rows, it holds
    assert found(above, "relation") == {}


def test_only_the_nearest_relations_are_told():
    X = limits().assign(price_top=lambda X: X["price_max"] + rng(4).integers(0, 40, len(X)))
    assert set(found(X, "relation")) == {'"price_min <= price_max"', '"price_max <= price_top"'}
    for relation in found(X, "relation"):
        assert Relation.parse(relation.strip('"')).holds({column: X[column].to_numpy() for column in X}).all()


def test_a_derived_column_needs_no_relation_to_its_parts():
    X = numbers()[["debt", "rent"]].rename(columns={"debt": "cost_a", "rent": "cost_b"})
    X["cost_total"] = X["cost_a"] + X["cost_b"]
    assert found(X, "derived", "relation") == {'cost_total = "cost_a + cost_b"': True}


# Identifiers, free text and names.


def test_identifiers_and_free_text_never_change():
    X = numbers()
    X["row"] = np.arange(N)
    X["customer_id"] = rng(1).permutation(10**9 + 7919 * np.arange(N))
    X["amount"] = rng(2).permutation(17 * np.arange(N) ** 2)
    X["ticket"] = rng(6).permutation(3 * np.arange(N))
    X["shop_id"] = rng(3).integers(0, 9, N)
    X["code"] = [f"x{j:04}" for j in range(N)]
    X["remark"] = [f"paid on day {j // 2} by card" for j in range(N)]
    X["reason"] = [f"no answer since day {j // 4}" for j in range(N)]
    X["ring_number"] = rng(4).integers(0, 3, N)
    X["weight"] = rng(5).random(N)
    kinds = {one.features: (one.kind, one.is_certain) for one in suggestions_of(X) if one.section == "immutable"}
    assert kinds == {
        ("row",): ("identifier", True),
        ("customer_id",): ("identifier", True),
        ("ticket",): ("identifier", False),
        ("shop_id",): ("identifier", False),
        ("code",): ("identifier", True),
        ("remark",): ("free_text", False),
        ("reason",): ("free_text", False),
    }


@pytest.mark.parametrize(
    ("name", "values", "is_certain"),
    [
        ("number", rng(1).permutation(N), True),
        ("row", np.arange(N), True),
        ("back", np.arange(N)[::-1], True),
        ("visit", 1_000 + np.cumsum(rng(2).integers(1, 3, N)), True),
        ("x", rng(1).permutation(N) + 1, False),
        ("price", rng(1).permutation(N) + 1, None),
        ("cost", np.arange(N) + 1, None),
        ("total_amount", rng(1).permutation(N) + 1, None),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_unique_numbers_are_identifiers_for_certain_if_they_count_rows_or_are_called_so(name, values, is_certain):
    found = [one.is_certain for one in suggestions_of(pd.DataFrame({name: values})) if one.section == "immutable"]
    assert found == ([] if is_certain is None else [is_certain])


def test_text_that_is_mostly_new_is_certain():
    X = pd.DataFrame({"remark": [f"paid on day {j // 2 if j < 150 else j} by card" for j in range(N)]})
    (one,) = (one for one in suggestions_of(X) if one.section)
    assert (one.kind, one.is_certain, one.seen) == ("free_text", True, "325 different values in 400 rows")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("sex", "sex"), ("personalStatusSex", "sex"), ("AGE", "age"), ("age2", "age"), ("page", None), ("average", None),
        ("vehicle_age", None), ("native-country", "native country"), ("country", None), ("Marital Status", "marital status"),
        ("Staatsangehörigkeit", "staatsangehoerigkeit"), ("Familienstand", "familienstand"), ("Nationalität", "nationalitaet"),
        ("Gehalter", None), ("dateOfBirth", "birth"), ("essex", None), (3, None), ("MARRIAGE", "marriage"), ("married", "married"),
        ("verheiratet", "verheiratet"), ("Religionszugehörigkeit", "religionszugehoerigkeit"), ("Lebensalter", "lebensalter"),
    ],
)  # fmt: skip
def test_protected_names_are_whole_words(name, word):
    assert protected_by(words_of(name)) == word


@pytest.mark.parametrize(
    ("name", "is_plain"),
    [
        ("sex", True), ("Customer Age", True), ("personal_status_sex", True), ("foreign_worker", True), ("sex_male", True),
        ("date_of_birth", True), ("Geschlecht", True), ("Alter des Kunden", True), ("race_time", False),
        ("foreign_exchange", False), ("age_of_oldest_line", False), ("income", False), ("vehicle_age", False),
    ],
)  # fmt: skip
def test_a_name_that_says_nothing_else_leaves_no_doubt(name, is_plain):
    assert is_plainly_protected(words_of(name)) == is_plain


@pytest.mark.parametrize(
    ("name", "is_one_way"),
    [
        ("age", True), ("vehicleAge", True), ("months_as_customer", True), ("years_employed", True), ("Alter", True),
        ("Betriebszugehörigkeit", True), ("months_since_last_order", False), ("years", False), ("usage", False),
        ("education-num", True), ("remaining_tenure", False),
    ],
)  # fmt: skip
def test_names_that_only_grow(name, is_one_way):
    assert (one_way_by(words_of(name)) is not None) == is_one_way


def test_a_plain_name_fixes_a_feature_and_a_direction_is_a_guess_and_needs_numbers():
    X = pd.DataFrame({"age": [20, 30], "race_time": [5, 6], "tenure": [1, 2], "seniority": ["junior", "senior"]})
    told = [(one.section, one.features, one.is_certain, one.seen) for one in suggestions_of(X) if one.section]
    often = "often protected by law, or not for a person to change: the name says"
    assert told == [
        ("protected", ("age",), True, f"{often} age"),
        ("protected", ("race_time",), False, f"{often} race"),
        ("increasing", ("age",), False, "the name says age, which only grows; take it out of protected first"),
        ("increasing", ("tenure",), False, "the name says tenure, which only grows"),
    ]


def test_what_is_certain_wins_over_a_guess_of_another_rule():
    X = pd.DataFrame({"race_time_id": np.arange(N)})
    ((section, is_certain, seen),) = [
        (one.section, one.is_certain, one.seen) for one in suggestions_of(X) if one.section
    ]
    assert (section, is_certain) == ("immutable", True)
    assert "the name says race" in seen


def test_the_columns_of_a_protected_feature_stand_in_one_line():
    X = pd.get_dummies(pd.DataFrame({"race": rng(1).choice(["a", "b", "c"], N)}))
    assert found(X, "protected", "one_hot") == {'"race_a", "race_b", "race_c"': True}  # which never change, as a group


def test_what_is_computed_is_not_fixed_by_its_name():
    X = pd.DataFrame({"birth_year": rng(1).integers(1930, 2005, N), "year": rng(2).integers(2010, 2024, N)})
    X["age_total"] = X["year"] - X["birth_year"]
    assert found(X, "protected", "derived") == {'"birth_year"': True, 'age_total = "year - birth_year"': True}


# Steps, and missing values.


def test_steps_are_found_and_one_broken_row_has_none():
    X = pd.DataFrame(
        {
            "fifties": 50 * rng(1).integers(0, 40, N),
            "halves": 0.5 * rng(2).integers(0, 40, N),
            "sevens": 7 * rng(3).integers(0, 40, N),
            "whole": rng(4).integers(0, 40, N).astype(float),
            "integers": rng(5).integers(0, 40, N),
            "cents": rng(6).integers(0, 4000, N) / 100,
            "few": 50 * rng(7).integers(0, 3, N),
        }
    )
    assert found(X, "step") == {"fifties = 50": True, "halves = 0.5": True, "sevens = 7": False, "whole = 1": True}
    X.loc[3, ["fifties", "sevens"]] = [51, 8]
    X.loc[3, ["halves", "whole"]] = 0.3
    assert found(X, "step") == {}


def test_a_grid_that_does_not_begin_at_zero_has_no_step():
    celsius = rng(1).integers(-10, 40, N)
    X = pd.DataFrame(
        {
            "fahrenheit": celsius * 9 / 5 + 32,
            "of_tenths": (rng(2).integers(-100, 400, N) / 10 * 1.8 + 32).round(2),
            "of_halves": rng(3).integers(-20, 80, N) * 0.9 + 32,
            "kelvin": (celsius / 2 + 273.15).round(2),
            "celsius": celsius / 2,
        }
    )
    assert found(X, "step") == {"celsius = 0.5": True}


def test_numbers_that_are_rounded_by_their_size_have_no_step():
    sizes = np.exp(rng(1).normal(9, 3, N))
    X = pd.DataFrame({"bytes": [float(f"{10 * size:.2e}") for size in np.rint(sizes)]})
    assert (X["bytes"] % 10 == 0).all()
    assert found(X, "step") == {}


def test_what_is_never_missing_is_one_sentence():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None], "c": [1.0, np.nan]})
    (one,) = (one for one in suggestions_of(X) if one.kind == "never_missing")
    assert one.features == ("a",)
    assert one.seen.startswith("1 of 3 columns are filled in all 2 rows")
    assert f"# {one.seen}.\n" in to_toml([one])
    assert found(pd.DataFrame({"a": [1.0, np.nan]}), "never_missing") == {}


# Tables that hold nothing, and all kinds of tables.


@pytest.mark.parametrize("seed", range(5))
def test_random_tables_give_no_groups_no_derived_columns_and_no_relations(seed):
    random = rng(seed)
    X = pd.DataFrame({f"whole_{j}": random.integers(0, 200, N) for j in range(12)})
    X = X.assign(**{f"size_{j}": np.round(random.normal(50, 9, N), 1) for j in range(8)})
    X = X.assign(**{f"rare_{j}": np.where(random.random(N) < 0.8, 0, random.integers(0, 90, N)) for j in range(8)})
    X = X.assign(**{f"flag_{j}": (random.random(N) < 0.1).astype(int) for j in range(8)})
    X = X.assign(**{f"kind_{j}": random.choice(list("abcd"), N) for j in range(4)})
    assert found(X, "one_hot", "twins", "derived", "relation", "identifier", "free_text") == {}


def test_every_container_gives_the_same_suggestions():
    X = dummies(int).assign(age=rng(7).integers(20, 60, N), cost=50 * rng(8).integers(1, 90, N))
    X["total"] = X["cost"] + X["housing_cost"]
    X["id"] = np.arange(N)
    expected = suggestions_of(X)
    assert {one.kind for one in expected} >= {"one_hot", "derived", "identifier", "step", "protected", "one_way"}
    assert suggestions_of(pl.from_pandas(X)) == expected
    assert suggestions_of(X.convert_dtypes(dtype_backend="pyarrow")) == expected
    array = suggestions_of(X.to_numpy())
    assert [one.features for one in array if one.kind == "one_hot"] == [("x1", "x2", "x3"), ("x4", "x5", "x6")]
    assert [one.toml for one in array if one.section == "derived"] == ['x9 = "x0 + x8"']


def test_a_table_that_was_read_stays_as_it_was():
    X = numbers().assign(total=lambda X: X["debt"] + X["rent"])
    before = X.copy()
    suggestions_of(X)
    pd.testing.assert_frame_equal(X, before)


# What a fit asks for.


def test_auto_groups_are_the_certain_ones_without_what_is_computed():
    X = dummies(int).assign(cost=rng(8).integers(0, 40, N))
    X["cents"], X["again"] = 100 * X["cost"], X["cost"]
    facts = TableFacts.of(X)
    housing = ("one_hot", ("housing_own", "housing_rent_free", "housing_rent_paid"))
    job = ("one_hot", ("job_none", "job_skilled", "job_unskilled"))
    assert auto_groups(facts) == [housing, job, ("twins", ("cost", "cents", "again"))]
    assert auto_groups(facts, computed=["cents"]) == [housing, job, ("twins", ("cost", "again"))]
    assert auto_groups(facts, computed=["cents", "cost"]) == [housing, job]
    assert auto_groups(facts, computed=["job_none"])[1] == ("one_hot", ("job_skilled", "job_unskilled"))
    assert auto_groups(facts, computed=["job_none", "job_skilled"]) == [housing, ("twins", ("cost", "cents", "again"))]
    with_code = TableFacts.of(X.assign(job_code=X["job_skilled"] + 2 * X["job_unskilled"]))
    assert set(auto_groups(with_code)[-1].features) == {*job[1], "job_code"}
    assert ("one_hot", job[1]) in auto_groups(with_code, computed=["job_code"])


def test_auto_groups_name_any_column_and_guesses_are_not_among_them():
    X = pd.get_dummies(pd.Series(rng(1).choice(list("abc"), N))).astype(int)
    X.columns = pd.MultiIndex.from_product([["kind"], ["a", "b", "c"]])
    assert auto_groups(TableFacts.of(X)) == [("one_hot", (("kind", "a"), ("kind", "b"), ("kind", "c")))]
    guess = pd.get_dummies(pd.DataFrame({"job": rng(2).choice(list("xyz"), N)}), drop_first=True)
    assert found(guess, "one_hot") == {'["job_y", "job_z"]': False}
    assert auto_groups(TableFacts.of(guess)) == []


def test_certain_findings_are_among_all_suggestions():
    X = pd.concat([dummies(int)] * 20, ignore_index=True)
    X["cost"], X["debt"] = rng(8).integers(1, 900, len(X)), rng(9).integers(1, 900, len(X))
    X["total"] = X["cost"] + X["debt"]
    X["either"] = X["cost"] - X["housing_cost"]
    certain = certain_findings(TableFacts.of(X))
    assert [(one.kind, one.features[0]) for one in certain] == [
        ("one_hot", "housing_own"), ("one_hot", "job_none"), ("derived", "total"),
    ]  # fmt: skip
    assert set(certain) < set(suggestions_of(X))


def test_what_a_sample_shows_is_confirmed_in_all_rows():
    X = pd.DataFrame({"cost": rng(8).integers(1, 900, 9_000), "debt": rng(9).integers(1, 900, 9_000)})
    X["total"] = X["cost"] + X["debt"]
    X["code"] = X["cost"] // 100
    X["name"] = X["code"].map("k{}".format)
    assert [one.kind for one in certain_findings(TableFacts.of(X))] == ["twins", "derived"]
    X.loc[5_432, ["total", "name"]] = [1, "k99"]
    assert certain_findings(TableFacts.of(X)) == []


# The file.


def test_the_file_has_active_lines_for_what_is_certain_and_comments_for_guesses():
    X = dummies(int).assign(age=rng(7).integers(20, 60, N), cost=50 * rng(8).integers(1, 90, N))
    X["total"] = X["cost"] + X["housing_cost"]
    X["id"] = np.arange(N)
    text = to_toml(suggestions_of(X))
    assert tomllib.loads(text) == {
        "immutable": ["id"],
        "protected": ["age"],
        "increasing": [],
        "groups": ["auto"],
        "step": {"cost": 50},
        "derived": {"total": "housing_cost + cost"},
    }
    assert '    "id",  # 400 different values in 400 rows, whole numbers\n' in text
    assert '    # "age",  # the name says age, which only grows; take it out of protected first\n' in text
    seen = "exactly one of the 3 columns is 1 in all 400 rows"
    assert f'    #   job_none, job_skilled, job_unskilled: {seen}\n    "auto",\n]\n' in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_guessed_groups_are_written_out_and_long_comments_wrapped():
    X = pd.get_dummies(pd.DataFrame({"of_some_region": rng(1).integers(0, 40, 9_000), "job": rng(2).choice(list("xyz"), 9_000)}), columns=["of_some_region", "job"])  # fmt: skip
    text = to_toml(suggestions_of(X.drop(columns="job_x")))
    assert tomllib.loads(text) == {"groups": ["auto"]}
    assert '    # ["job_y", "job_z"],  # at most one of the 2 columns is 1' in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_a_file_without_suggestions_is_a_comment():
    assert tomllib.loads(to_toml([])) == {}


@pytest.mark.parametrize(
    ("name", "written"),
    [("income", "income"), ("loan amount", "`loan amount`"), ("a`b", "`a``b`"), ("round", "`round`"), ("if", "`if`")],
)
def test_odd_names_stand_in_backquotes_in_an_expression(name, written):
    assert in_expression(name) == written


@pytest.mark.deep
@given(st.lists(st.text(), min_size=2, max_size=4, unique=True))
def test_every_name_is_valid_toml_and_is_read_back(names):
    X = pd.DataFrame({name: rng(j).integers(0, 60, 120) * 50 for j, name in enumerate(names)})
    X["total"] = X[names[0]] + X[names[1]] if "total" not in names else 1
    suggestions = suggestions_of(X)
    read = tomllib.loads(to_toml(suggestions))
    steps = {name for name in read.get("step", {}) if name in names}
    derived = {one.features[0] for one in suggestions if one.kind == "derived" and one.is_certain}
    assert steps == set(names) - derived - {*read.get("immutable", []), *read.get("protected", [])}  # such as "age"
    assert derived == set(read.get("derived", {}))
    listed = [suggest_immutable("protected", *names, is_certain=True, seen="".join(names))]
    listed.append(suggest_group("twins", names, is_certain=True, seen="\n".join(names)))
    text = to_toml(listed)
    assert tomllib.loads(text) == {"immutable": names, "groups": ["auto"]}
    guess = to_toml([suggest_group("twins", names, is_certain=False, seen="\n".join(names))])
    assert tomllib.loads(guess) == {"groups": []}
    group = next(line for line in guess.splitlines() if line.startswith("    # ["))
    assert tomllib.loads(f"groups = [{group.removeprefix('    # ')}\n]") == {"groups": [names]}


@given(st.text())
def test_quoted_text_is_read_back_and_holds_nothing_that_a_terminal_would_obey(text):
    assert tomllib.loads(f"text = {quoted(text)}") == {"text": text}
    assert quoted(text).isprintable()


@pytest.mark.parametrize("name", ["\ud800", ("a", 1), 2.5])
def test_a_name_that_toml_cannot_hold_is_commented_out(name):
    one = suggest_immutable("identifier", name, is_certain=True, seen="unique")
    assert not one.is_certain
    assert "write this rule in Python" in one.seen
    text = to_toml([one])
    assert tomllib.loads(text) == {"immutable": []}
    text.encode()


def test_columns_that_are_numbered_can_be_listed_but_are_no_keys():
    X = pd.DataFrame({0: np.arange(N), 1: 50 * rng(1).integers(0, 90, N), 2: rng(2).integers(0, 9, N)})
    assert tomllib.loads(to_toml(suggestions_of(X))) == {"immutable": [0], "step": {}}


def test_a_one_hot_group_may_have_a_twin():
    names = np.random.default_rng(0).choice(["low", "middle", "high"], 200)
    number = pd.Series(names).map({"low": 1.0, "middle": 2.5, "high": 9.0})
    X = pd.get_dummies(pd.DataFrame({"grade": names}), dtype=int).assign(number=number, other=np.arange(200) % 3)
    (group,) = auto_groups(TableFacts.of(X))
    assert sorted(group.features) == ["grade_high", "grade_low", "grade_middle", "number"]
    X.loc[0, "number"] = 7.0
    assert [len(group.features) for group in auto_groups(TableFacts.of(X))] == [3]
