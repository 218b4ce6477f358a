"""Many explanations in two tables: equal to plain loops over the rows, for every kind of group and table."""

import statistics
from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints, OptionError, Summary
from nicecf.testing import Scorecard, applicants

X, Y = applicants(200)
ROWS = X.iloc[:90]
nan = np.nan


@pytest.fixture(scope="module")
def nice():
    return NICE(Scorecard(), optimize="none", constraints=Constraints(immutable=["age"], max_changes=3)).fit(X, Y)


@pytest.fixture(scope="module")
def cfs(nice):
    """Some of them not found, with changes from and to missing values."""
    cfs = nice.explain(ROWS)
    assert 0 < cfs.found.sum() < len(cfs)
    return cfs


@cache
def explanations(cfs):
    """Each explanation with its distance."""
    return list(zip(cfs, cfs.metrics()["proximity"], strict=True))


def plainly(cfs, of_row):
    """Lists of the explanations of each class and group, in plain Python."""
    cells = {}
    for place, (one, distance) in enumerate(explanations(cfs)):
        cells.setdefault((one.predicted, of_row(place)), []).append((one, distance))
    return cells


def check_features(lines, found):
    moving = [one for one in found if one.changes]
    assert sorted(lines["feature"]) == sorted(X.columns)
    assert lines["changed"].is_monotonic_decreasing
    for line in lines.to_dict("records"):
        changes = [change for one in found for change in one.changes if change.feature == line["feature"]]
        assert line["rows"] == len(found)
        assert line["changed"] == len(changes)
        assert line["share"] == (len(changes) / len(found) if found else nan) or not found
        pairs = [(c.before, c.after) for c in changes]
        if line["feature"] in ("age", "income", "children"):
            whole = [(before, after) for before, after in pairs if before is not None and after is not None]
            moves = [float(after - before) for before, after in whole]
            quantiles = [line[name] for name in ("p10_change", "median_change", "p90_change")]
            if moves:
                ranks = np.array([0.1, 0.5, 0.9]) * (len(moves) - 1)
                low, high = (np.sort(moves)[to(ranks).astype(int)] for to in (np.floor, np.ceil))
                assert all(one in (a, b) for one, a, b in zip(quantiles, low, high, strict=True))
                assert quantiles == sorted(quantiles)
            else:
                assert np.isnan(quantiles).all()
            np.testing.assert_allclose(line["increased"], np.mean([move > 0 for move in moves]) if moves else nan)
            assert pd.isna(line["times"])
            if whole:
                # The typical row is one of them, and its change the median that stands beside it.
                assert (line["before"], line["after"]) in whole
                assert line["after"] - line["before"] == line["median_change"]
                same = [before for before, after in whole if after - before == line["median_change"]]
                assert line["before"] == statistics.median_low(same)
        elif pairs:
            counts = Counter(pairs)
            assert line["times"] == max(counts.values()) == counts[line["before"], line["after"]]
            assert np.isnan([line["median_change"], line["increased"]]).all()
        else:
            assert (line["before"], line["after"], pd.isna(line["times"])) == (None, None, True)
    if moving:
        np.testing.assert_allclose(lines["distance_share"].sum(), 1.0)


def check(summary, cfs, of_row, key):
    cells = plainly(cfs, of_row)
    assert [tuple(line[name] for name in key) for line in summary.groups[key].to_dict("records")] == sorted(
        (cell[: len(key)] for cell in cells), key=lambda cell: [(one is None, one) for one in cell]
    )
    for cell, those in cells.items():
        is_here = [
            all(a is b or a == b for a, b in zip(one, cell, strict=False)) for one in summary.groups[key].to_numpy()
        ]
        (line,) = summary.groups[is_here].to_dict("records")
        found = [one for one, _ in those if one.found]
        distances = [distance for one, distance in those if one.found]
        assert (line["rows"], line["found"], line["coverage"]) == (len(those), len(found), len(found) / len(those))
        assert line["mean_changes"] == pytest.approx(np.mean([len(one.changes) for one in found]))
        assert line["mean_distance"] == pytest.approx(np.mean(distances))
        assert line["median_distance"] == pytest.approx(np.median(distances))
        is_here = [
            all(a is b or a == b for a, b in zip(one, cell, strict=False)) for one in summary.features[key].to_numpy()
        ]
        check_features(summary.features[is_here], found)


def test_classes_are_counted_as_plain_loops_count_them(cfs):
    summary = cfs.summary()
    assert isinstance(summary, Summary)
    assert summary.by is None
    assert "ratio" not in summary.groups
    check(summary, cfs, lambda place: None, ["predicted"])


@pytest.mark.parametrize("by", ["city", "home", "guarantor", "children", "income"])
def test_groups_of_a_column_are_counted_as_plain_loops_count_them(cfs, by):
    summary = cfs.summary(by)
    assert summary.by == by
    values = [None if pd.isna(value) else value for value in ROWS[by].astype(object)]
    check(summary, cfs, lambda place: values[place], ["predicted", "group"])
    if by in ("children", "income"):
        assert summary.groups["group"].isna().any()


def test_a_number_with_many_values_is_cut_into_quarters_that_hold_their_limits(cfs):
    summary = cfs.summary("age")
    groups = summary.groups.drop_duplicates("group").sort_values("group")["group"].tolist()
    limits = [tuple(map(int, one.split(" to "))) for one in groups]
    assert len(limits) == 4
    assert limits[0][0] == ROWS["age"].min()
    assert limits[-1][1] == ROWS["age"].max()
    assert all(low <= high < following for (low, high), (following, _) in pairwise(limits))
    sizes = [ROWS["age"].between(*one).sum() for one in limits]
    assert sum(sizes) == len(ROWS)
    assert min(sizes) > 15
    of_age = {age: group for group, one in zip(groups, limits, strict=True) for age in range(one[0], one[1] + 1)}
    check(summary, cfs, lambda place: of_age[ROWS["age"].iloc[place]], ["predicted", "group"])


def test_limits_that_look_alike_get_more_digits():
    values = 1.0 + np.arange(40) * 1e-7
    cfs = NICE(lambda X: np.tile([0.8, 0.2], (len(X), 1))).fit(np.eye(2), [0, 1]).explain(np.tile(np.eye(2), (20, 1)))
    groups = cfs.summary(values).groups["group"].tolist()
    assert groups == ["1 to 1.0000009", "1.000001 to 1.0000019", "1.000002 to 1.0000029", "1.000003 to 1.0000039"]


def test_a_heavy_value_leaves_fewer_groups_and_none_is_empty(cfs):
    values = np.r_[np.zeros(80), np.arange(1, 11)]
    assert cfs.summary(values).groups.groupby("group")["rows"].sum().to_dict() == {"0": 80, "1 to 10": 10}


def test_the_ratio_is_that_to_the_group_best_off_by_the_same_decision(cfs):
    groups = cfs.summary("city").groups
    for _, those in groups.groupby("predicted"):
        assert those["ratio"].min() == 1.0
        np.testing.assert_allclose(those["ratio"], those["mean_distance"] / those["mean_distance"].min())


def test_a_group_that_nothing_was_found_for_has_no_cost(cfs):
    groups = cfs.summary(np.where(cfs.found, "reachable", "blocked")).groups
    blocked, reachable = groups[groups["group"] == "blocked"], groups[groups["group"] == "reachable"]
    assert blocked["coverage"].eq(0).all()
    assert blocked[["mean_changes", "mean_distance", "median_distance", "ratio"]].isna().all(axis=None)
    assert reachable["ratio"].eq(1).all()


def values_as(kind):
    cities = ROWS["city"].tolist()
    return {
        "list": cities,
        "tuple": tuple(cities),
        "array": np.array(cities, dtype=object),
        "strings": np.array(cities),
        "series": ROWS["city"],
        "shuffled": X["city"].sample(frac=1, random_state=0),
        "categorical": pd.Categorical(cities),
        "index": pd.Index(cities),
    }[kind]


@pytest.mark.parametrize("kind", ["list", "tuple", "array", "strings", "series", "shuffled", "categorical", "index"])
def test_one_value_per_row_in_any_container_gives_the_same_groups(cfs, kind):
    expected, summary = cfs.summary("city"), cfs.summary(values_as(kind))
    pd.testing.assert_frame_equal(summary.groups, expected.groups)
    pd.testing.assert_frame_equal(summary.features, expected.features)


def test_groups_of_an_ordered_category_stand_in_its_order(cfs):
    sizes = pd.Categorical(["small", "large", "medium"] * 30, ["small", "medium", "large"], ordered=True)
    first = cfs.summary(sizes).groups.drop_duplicates("group")["group"].tolist()
    assert first == ["small", "medium", "large"]
    turned = X.assign(home=X["home"].cat.reorder_categories(["rent", "own", "other"]))
    groups = NICE(Scorecard()).fit(turned, Y).explain(turned[:30]).summary("home").groups
    assert groups[groups["predicted"] == "yes"]["group"].tolist() == ["rent", "own", "other"]


def test_values_of_many_kinds_are_groups_too(cfs):
    mixed = np.array([1, "1", None] * 30, dtype=object)
    groups = cfs.summary(mixed).groups
    assert set(groups["group"]) == {1, "1", None}
    assert groups.groupby("group", dropna=False)["rows"].sum().tolist() == [30, 30, 30]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("citty", "by names 'citty', which is not a column of X; its columns are .* Did you mean 'city'"),
        (99, "by names 99, which is not a column of X"),
        (["a"] * 89, "by has 89 values, but 90 rows were explained; pass the name of a column, or one value per row"),
        (np.zeros((90, 2)), "by must be the name of a column, or one value per row"),
        ({"a": 1}, "by must be the name of a column, or one value per row, got a dict"),
        ([{}] * 90, "by holds a value that cannot be a group"),
        (
            pd.Series(["a"] * 90),
            "by is a Series without the labels of 90 of 90 rows explained, such as 'applicant 0', .* pass by.to_numpy()",
        ),
        (
            X["city"].iloc[2:],
            "by is a Series without the labels of 2 of 90 rows explained, such as 'applicant 0', 'app",
        ),
        (
            pd.concat([X["city"], X["city"]]),
            "by is a Series in which labels occur more than once, such as 'applicant 0'",
        ),
    ],
)
def test_a_by_that_cannot_be_understood_is_refused(cfs, by, message):
    with pytest.raises(OptionError, match=message):
        cfs.summary(by)


def test_a_part_of_the_rows_is_aligned_with_a_series_of_all(cfs):
    some = cfs[[40, 3, 77]]
    assert some.summary(X["city"]).groups["rows"].sum() == 3
    pd.testing.assert_frame_equal(some.summary(X["city"]).groups, some.summary("city").groups)


def test_of_several_counterfactuals_the_first_of_each_row_counts():
    nice = NICE(Scorecard(), search="thorough", plausibility=lambda X: np.zeros(len(X))).fit(X, Y)
    one, several = nice.explain(ROWS[:12]), nice.explain(ROWS[:12], n_counterfactuals=3)
    assert len(several) > 12
    first = several[np.unique(several.rows, return_index=True)[1]]
    pd.testing.assert_frame_equal(several.summary().groups, first.summary().groups)
    pd.testing.assert_frame_equal(several.summary().features, first.summary().features)
    assert several.summary().groups["rows"].sum() == 12
    assert f"of {len(several)} counterfactuals, the first of each row" in repr(several.summary())
    assert one.summary().note is None
    by_row = several.summary(ROWS["city"][:12].tolist())
    pd.testing.assert_frame_equal(several.summary("city").groups, by_row.groups)
    per_counterfactual = ROWS["city"].to_numpy()[several.rows]
    pd.testing.assert_frame_equal(several.summary("city").groups, several.summary(per_counterfactual).groups)
    assert not one.summary().groups["mean_plausibility"].isna().any()


def test_nothing_found():
    nice = NICE(lambda X: np.tile([0.8, 0.2], (len(X), 1)), classes=["no", "yes"]).fit(np.eye(2), ["no", "yes"])
    cfs = nice.explain(np.eye(2))
    summary = cfs.summary(["a", "b"])
    assert summary.groups[["rows", "found", "coverage"]].to_numpy().tolist() == [[1, 0, 0], [1, 0, 0]]
    assert summary.groups[["mean_changes", "mean_distance", "median_distance", "ratio"]].isna().all(axis=None)
    assert summary.features["share"].isna().all()
    assert repr(cfs.summary()).splitlines()[0] == "Summary: 2 rows, none found"
    assert "no, 0 rows: nothing was found" in repr(cfs.summary())
    assert "nothing was found" in repr(summary)


def test_rows_that_are_in_the_target_already_are_in_no_average():
    nice = NICE(Scorecard()).fit(X, Y)
    is_yes = Scorecard().predict(ROWS) == "yes"
    summary = nice.explain(ROWS[is_yes], target_class="yes").summary("city")
    assert summary.groups["changed"].eq(0).all()
    assert summary.groups[["mean_changes", "mean_distance", "ratio"]].isna().all(axis=None)
    assert repr(summary).splitlines()[0].endswith("found (100 %), nothing has to change")
    mixed, others = (nice.explain(rows, target_class="yes").summary() for rows in (ROWS, ROWS[~is_yes]))
    assert (mixed.totals.changed, mixed.totals.unchanged) == (len(ROWS) - is_yes.sum(), is_yes.sum())
    assert mixed.totals.mean_changes == others.totals.mean_changes
    assert mixed.totals.mean_distance == others.totals.mean_distance
    assert mixed.groups["mean_distance"].max() == others.groups["mean_distance"].max()
    assert f"nothing has to change for {is_yes.sum()}; for the others {mixed.totals.mean_changes:.1f} changes" in repr(
        mixed
    )


def test_no_rows_and_one_row(cfs):
    for by in (None, "city", "age"):
        empty = cfs[:0].summary(by)
        assert len(empty.groups) == len(empty.features) == 0
        assert list(empty.features.columns) == list(cfs.summary(by).features.columns)
        assert repr(empty) == "Summary: 0 rows, none found"
        assert "0 rows" in empty._repr_html_()
        one = cfs[np.flatnonzero(cfs.found)[:1]].summary(by)
        assert one.groups["rows"].tolist() == [1]
        assert repr(one).startswith("Summary: 1 row, 1 found (100 %)")


def test_arrays_and_polars_frames_are_summarised_like_pandas():
    polars = pytest.importorskip("polars")
    numbers = pd.DataFrame({"x0": [0.0, 1.0, 2.0, 3.0, 0.5, 2.5], "x1": [1.0, 0.0, 1.0, 0.0, 1.0, nan]})
    model = lambda X: (lambda p: np.column_stack([p < 1.5, p >= 1.5]).astype(float))(np.asarray(X)[:, 0].astype(float))
    labels = [0, 0, 1, 1, 0, 1]
    made = {}
    for kind, table in (("pandas", numbers), ("polars", polars.from_pandas(numbers)), ("numpy", numbers.to_numpy())):
        made[kind] = NICE(model, optimize="none").fit(table, labels).explain(table)
    for by in (None, "x1", 1, polars.Series(["a", "b"] * 3), np.array([nan, 1, 1, 2, 2, 2])):
        expected = made["pandas"].summary(by)
        for kind in ("polars", "numpy"):
            pd.testing.assert_frame_equal(made[kind].summary(by).groups, expected.groups)
            pd.testing.assert_frame_equal(made[kind].summary(by).features, expected.features)


def test_labels_and_names_of_any_kind():
    X = pd.DataFrame([[0, 1], [1, 1], [0, 2], [1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    model = lambda X: np.column_stack([X.iloc[:, 0] == 0, X.iloc[:, 0] == 1]).astype(float)
    summary = NICE(model, classes=[False, True]).fit(X, [False, True] * 2).explain(X).summary(("a", 2))
    assert summary.groups["predicted"].tolist() == [False, False, True, True]
    assert summary.groups["group"].tolist() == [1, 2, 1, 2]
    assert summary.features["feature"].tolist() == [("a", 1), ("a", 2)] * 4
    assert "('a', 1)" in repr(summary)


def test_a_summary_is_told_in_a_hundred_columns(cfs):
    long = X.rename(columns={name: f"{name}: " + "a long explanation of what that is " * 3 for name in X})
    model = lambda rows: Scorecard().predict_proba(rows.set_axis(X.columns, axis=1))
    classes = [label + " and more words about it" * 4 for label in Scorecard.classes_]
    wide = NICE(model, classes=classes).fit(long, [classes[list(Scorecard.classes_).index(one)] for one in Y])
    wide = wide.explain(long[:40])
    for summary in (
        cfs.summary(),
        *(cfs.summary(by) for by in X),
        wide.summary(),
        wide.summary(long.columns[2]),
        wide.summary([f"a group with a name that is rather long, number {i}" for i in range(40)]),
    ):
        assert max(map(len, repr(summary).splitlines())) <= 100


def test_the_words_of_a_summary():
    X = pd.DataFrame({"income": [10, 40, 30, 45], "home": ["rent", "own", "rent", "own"], "age": [30, 30, 30, 30]})

    def model(X):
        p = (X["income"] / 100 + (X["home"] == "own") * 0.3).to_numpy()
        return np.column_stack([p, 1 - p])

    cfs = NICE(model, optimize="none").fit(X, ["denied", "approved", "denied", "approved"]).explain(X)
    assert repr(cfs.summary()).replace("\N{EN DASH}", "~").splitlines() == [
        "Summary: 4 rows, 4 found (100 %), 2.0 changes and distance 1.46 on average",
        "",
        "decision  rows  found  coverage  changes  distance  median",
        "approved     2      2     100 %     2.00     1.357   1.357",
        "denied       2      2     100 %     2.00     1.571   1.571",
        "",
        "approved, 2 rows",
        "feature  changed  share  typical           median  10 to 90 %   up  of distance",
        "income         2  100 %  45 -> 30             \N{MINUS SIGN}15  \N{MINUS SIGN}15 to \N{MINUS SIGN}10  0 %         26 %",
        "home           2  100 %  own -> rent (2x)       ~           ~    ~         74 %",
        "1 feature never changes.",
        "",
        "denied, 2 rows",
        "feature  changed  share  typical           median  10 to 90 %     up  of distance",
        "income         2  100 %  30 -> 40             +10  +10 to +30  100 %         34 %",
        "home           2  100 %  rent -> own (2x)       ~           ~      ~         66 %",
        "1 feature never changes.",
    ]
    assert repr(cfs.summary(["a", "a", "b", "a"])).splitlines()[2:14] == [
        "decision  group  rows  found  coverage  changes  distance  median  ratio",
        "approved  a         2      2     100 %     2.00     1.357   1.357   1.00",
        "denied    a         1      1     100 %     2.00     1.857   1.857   1.44",
        "denied    b         1      1     100 %     2.00     1.286   1.286   1.00",
        "",
        "approved, 2 rows: in how many of them each feature changes",
        "feature      a",
        "income   100 %",
        "home     100 %",
        "1 feature never changes.",
        "",
        "denied, 2 rows: in how many of them each feature changes",
    ]


def test_few_rows_are_said_to_be_few(cfs):
    assert "mostly chance" in repr(cfs[:20].summary("city"))
    assert "mostly chance" not in repr(cfs[:20].summary())


def test_a_summary_is_frozen(cfs):
    with pytest.raises(AttributeError):
        cfs.summary().groups = None
