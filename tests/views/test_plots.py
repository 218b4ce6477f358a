"""Pictures of counterfactuals: the numbers that they show, by hand, and what is drawn, by the texts in the figure."""

import pickle
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit

import nicecf
from nicecf import NICE, Constraints, FileError, OptionError, Wording, plots
from nicecf.tables.statistics import ColumnStatistics
from nicecf.testing import LookupModel, Scorecard, applicants
from nicecf.views.plots.data.changes import Bar, Categories, changes_of
from nicecf.views.plots.data.common import Message, Step, evened
from nicecf.views.plots.data.frequencies import Group, Shares, frequencies_of
from nicecf.views.plots.data.pareto import pareto_of
from nicecf.views.plots.data.regions import regions_of
from nicecf.views.plots.data.variants import Cell, variants_of
from nicecf.views.plots.data.walk import Stop, walk_of
from nicecf.views.plots.draw.look import DARK, LIGHT
from nicecf.views.plots.draw.ruler import broken
from nicecf.views.plots.draw.scale import Scale, ticks

drawing = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed: pip install 'nicecf[plots]'"
)

HOMES = pd.DataFrame({"age": [20, 30, 40, 50], "home": ["rent", "rent", "own", "own"]})
GRANTED = {"rent": [0.1, 0.2, 0.3, 0.35], "own": [0.4, 0.6, 0.8, 0.9]}
HOME_MODEL = LookupModel(
    {(age, home): p for home in GRANTED for age, p in zip(HOMES["age"], GRANTED[home], strict=True)}, default=0.25
)


def explained(rows=HOMES, search="greedy", **options):
    """By the walk of the paper, which goes all the way to the age of the donor: unlike values for each step."""
    return NICE(HOME_MODEL, search=search, **options).fit(HOMES, [0, 0, 1, 1]).explain(rows)


@pytest.fixture(scope="module")
def tenant():
    """The first row, 20 and renting: owning gives 0.4, being 40 too gives 0.8."""
    return explained()[0]


@pytest.fixture(scope="module")
def thorough():
    """All rows, by the thorough search; the older, the more plausible."""
    return explained(search="thorough", mix_donors=False, plausibility=lambda X: 60.0 - X["age"].to_numpy(dtype=float))


class Sum:
    """A model of two classes that adds up what it gets: numbers about 50, texts by their length."""

    classes_ = np.array([False, True])

    def predict_proba(self, X):
        parts = [
            X[name].str.count("i") % 3 - 1 if isinstance(X[name].iloc[0], str) else (X[name] - 50) / 12 for name in X
        ]
        p = expit(np.sum([np.asarray(part, dtype=float) for part in parts], axis=0) / 3)
        return np.column_stack([1 - p, p])


LONG = "the $longest$ name_of_a_feature that\nanyone has_ever_seen, with <tags> & ünïcode: Ж → number {}, to be cut"


def wide(n_features, *, is_long=False, n_rows=300):
    random = np.random.default_rng(0)
    columns = {}
    for j in range(n_features):
        name = LONG.format(j) if is_long else f"feature_{j}"
        if j % 3 == 2:
            levels = [(LONG if is_long else "kind {}").format(k * "i") for k in range(9)]
            columns[name] = random.choice(levels, n_rows)
        else:
            columns[name] = np.round(random.normal(50, 12, n_rows), 2)
    return pd.DataFrame(columns)


@pytest.fixture(
    scope="module", params=[(3, False), (3, True), (60, False), (60, True)], ids=["3", "3 long", "60", "60 long"]
)
def pictures(request):
    """Every picture of a table with so many features, of the row that is furthest from the other class."""
    n_features, is_long = request.param
    X = wide(n_features, is_long=is_long)
    p = Sum().predict_proba(X)[:, 1]
    rows = X.iloc[np.argsort(p)[:12]]
    none, near = (NICE(Sum(), optimize=name).fit(X, p > 0.5).explain(rows) for name in ("none", "proximity"))
    drawn = {
        "variants": lambda **look: plots.variants({"none": none[0], "proximity": near[0]}, **look),
        "walk": lambda **look: plots.walk(near[0], **look),
        "walk at once": lambda **look: plots.walk(none[0], **look),
        "changes": lambda **look: plots.changes(none[0], **look),
        "frequencies": lambda **look: plots.frequencies(near, **look),
    }
    if n_features == 3:
        found = NICE(Sum(), search="thorough", plausibility=lambda X: len(X) * [0.0]).fit(X, p > 0.5).explain(rows[:2])
        drawn["pareto"] = lambda **look: plots.pareto(found, 1, **look)
        drawn["regions"] = lambda **look: plots.regions(near[0], **look)
    return drawn


def boxes(picture):
    """What is written in a picture, with the box that it takes, in pixels."""
    (axes,) = picture.figure.axes
    return [(text.get_text(), text.get_window_extent()) for text in axes.texts if text.get_text()]


def written(picture):
    return [text.get_text() for text in picture.figure.axes[0].texts if text.get_text()]


def texts_that_touch(picture, *, within=1.0):
    """Pairs of texts of which one lies on the other, and texts that are cut off."""
    width, height = picture.figure.bbox.width, picture.figure.bbox.height
    there = boxes(picture)
    pairs = [
        (one, other)
        for (one, a), (other, b) in combinations(there, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > within and min(a.y1, b.y1) - max(a.y0, b.y0) > within
    ]
    return pairs + [words for words, b in there if b.x0 < 0 or b.y0 < 0 or b.x1 > width or b.y1 > height]


class TestNumbersOfTheWalk:
    def test_each_stop_has_the_probability_reached_and_the_decision_where_it_turns(self, tenant):
        walk = walk_of(tenant)
        assert walk.stops == (
            Stop(0, (), 0, 0.1, "10 %", 0.9, "0", False),
            Stop(1, (Step("home", "rent", "own"),), 0, 0.4, "40 %", 0.6, None, False),
            Stop(2, (Step("age", "20", "40"),), 0, 0.8, "80 %", pytest.approx(0.2), "1", True),
        )
        assert (walk.threshold, walk.turn, walk.rival, walk.folded) == (0.5, "1 from 50 % on", None, 0)
        assert walk.caption.subtitle == "Probability of 1 after each step: 10 % becomes 80 %"

    def test_changes_made_at_once_are_one_stop(self):
        walk = walk_of(explained(optimize="none")[0])
        assert [len(stop.changes) for stop in walk.stops] == [0, 2]

    @pytest.mark.parametrize(
        ("decision", "threshold"), [(0.35, 0.35), ({1: 0.3}, 0.3), ({0: 0.75}, 0.25), ({0: 0.5, 1: 0.4}, None)]
    )
    def test_the_threshold_is_that_of_the_decision(self, decision, threshold):
        walk = walk_of(explained(decision=decision)[0])
        assert walk.threshold == threshold

    def test_there_is_no_threshold_where_a_function_decides(self):
        walk = walk_of(explained(decision=lambda p: (p[:, 1] > 0.5).astype(int))[0])
        assert walk.threshold is None
        assert [stop.is_there for stop in walk.stops] == [False, False, True]

    def test_without_a_model_to_ask_the_decision_turns_at_the_end(self, tenant):
        walk = walk_of(pickle.loads(pickle.dumps(tenant)))
        assert walk.threshold is None
        assert [stop.is_there for stop in walk.stops] == [False, False, True]

    def test_of_three_classes_the_rows_own_is_shown_too(self):
        X, y = applicants()
        cfs = NICE(Scorecard(), optimize="proximity", search="greedy").fit(X, y).explain(X, target_class="yes")
        two_steps = next(i for i, one in enumerate(cfs) if len(one.changes) == 2 and one.predicted == "no")
        walk = walk_of(cfs[two_steps])
        assert (walk.target, walk.rival, walk.threshold) == ("yes", "no", None)
        assert walk.stops[0].rival == pytest.approx(cfs[two_steps].probability_before)
        assert walk.stops[-1].rival < walk.stops[-1].probability

    def test_of_many_steps_those_in_the_middle_are_folded(self):
        X = pd.DataFrame(np.tile([[0.0], [1.0]], (1, 40)), columns=[f"x{j}" for j in range(40)])
        share = lambda X: np.column_stack([1 - X.mean(axis=1), X.mean(axis=1)])
        one = NICE(share, decision=0.99, classes=[0, 1]).fit(X, [0, 1]).explain(X[:1])[0]
        walk = walk_of(one)
        assert (len(one.changes), walk.fold, walk.folded) == (40, 15, 10)
        assert [stop.number for stop in walk.stops] == [*range(16), *range(26, 41)]


class TestNumbersOfTheChanges:
    def test_the_change_that_gains_most_comes_first_on_its_training_values(self, tenant):
        age, home = changes_of(tenant).panels
        assert (age.step, home.step) == (Step("age", "20", "40"), Step("home", "rent", "own"))
        assert (age.spread.before, age.spread.after, age.spread.share_missing) == (20.0, 40.0, 0.0)
        assert age.spread.edges[np.flatnonzero(age.spread.heights)].tolist() == [19.5, 29.5, 39.5, 49.5]
        assert home.spread == Categories((Bar("rent", 2), Bar("own", 2)), 0, 1, None)

    def test_the_most_frequent_categories_are_shown_and_always_the_two(self):
        X = pd.DataFrame({"kind": [*"aaaaabbbbccccdddeeeffg", "z", None]})
        p = np.where(X["kind"].isin(["z"]), 0.9, 0.1)
        model = lambda X: np.column_stack([X["kind"] != "z", X["kind"] == "z"]).astype(float)
        (panel,) = changes_of(NICE(model).fit(X, (p > 0.5).astype(int)).explain(X[19:20])[0]).panels
        assert panel.spread.bars == (Bar("a", 5), Bar("b", 4), Bar("c", 4), Bar("f", 2), Bar("z", 1))
        assert (panel.spread.before, panel.spread.after) == (3, 4)
        assert panel.spread.rest == Bar("4 others", 8)

    def test_a_category_that_training_never_saw_has_no_rows_and_a_missing_one_comes_last(self):
        for home in ("tent", None):
            (one,) = explained(pd.DataFrame({"age": [40], "home": [home]}), optimize="none")
            (panel,) = changes_of(one).panels
            bars = (Bar("rent", 2), Bar("own", 2), Bar(home or "missing", 0))
            assert panel.spread == Categories(bars, 2, 1, None)

    def test_a_missing_number_is_said_to_be_missing(self):
        X = pd.DataFrame({"income": [1.0, 2.0, np.nan, 3.5]})
        model = lambda X: np.column_stack([X["income"].isna(), X["income"].notna()]).astype(float)
        (panel,) = changes_of(NICE(model).fit(X, [1, 1, 0, 1]).explain(X[2:3])[0]).panels
        assert panel.step == Step("income", "missing", "1.0")
        assert np.isnan(panel.spread.before)
        assert (panel.spread.share_missing, panel.spread.missing, panel.spread.chance) == (0.25, "missing", "25 %")

    def test_values_far_out_are_left_out_unless_a_mark_is_there(self):
        X = pd.DataFrame({"x": [*np.arange(1_000) / 100, 5_000.0]})
        model = lambda X: np.column_stack([X["x"] < 5, X["x"] >= 5]).astype(float)
        nice = NICE(model).fit(X, (X["x"] >= 5).astype(int))
        (near,) = changes_of(nice.explain(X[:1])[0]).panels
        (far,) = changes_of(nice.explain(X[-1:])[0]).panels
        assert (near.spread.is_cut, near.spread.edges[-1]) == (True, 125.0)
        assert (far.spread.is_cut, far.spread.edges[-1]) == (False, 5_000.0)
        assert "outermost 1 %" in changes_of(nice.explain(X[:1])[0]).caption.notes[0]

    def test_bars_that_hold_two_values_are_no_higher_than_those_that_hold_one(self):
        values = np.arange(60.0)
        counts, edges = np.histogram(values, bins=np.linspace(0, 59, 41))
        assert set(counts.tolist()) == {1, 2}
        even = evened(ColumnStatistics(0, True, edges, counts, 0))
        assert even.min() == even.max()

    def test_those_beyond_the_eighth_are_named_in_a_note(self):
        X = wide(30)
        p = Sum().predict_proba(X)[:, 1]
        one = NICE(Sum(), optimize="none").fit(X, p > 0.5).explain(X.iloc[[np.argmin(p)]])[0]
        changes = changes_of(one)
        n_more = len(one.changes) - 8
        assert (len(changes.panels), n_more > 12) == (8, True)
        assert changes.caption.notes[0].startswith(f"… and {n_more} more changes: ")


class TestNumbersOfTheVariants:
    def test_cells_that_change_are_marked_and_the_foot_adds_up(self, tenant):
        table = variants_of({"sparsity": tenant, "again": tenant})
        assert table.columns == ("row", "sparsity", "again")
        assert [line.name for line in table.lines] == ["age", "home"]
        assert table.lines[0].cells == (Cell("20"), Cell("40", True), Cell("40", True))
        assert [[cell.text for cell in line.cells] for line in table.foot] == [
            ["0 (P(1) 10 %)", "1 (P(1) 80 %)", "1 (P(1) 80 %)"],
            ["", "2", "2"],
            ["", "1.667", "1.667"],  # 20 of 30 years, and a category
        ]
        assert table.folded == ()

    def test_what_more_variants_change_comes_first_and_what_nobody_changes_is_folded(self):
        X = pd.DataFrame(np.zeros((4, 60)), columns=[f"x{j}" for j in range(60)])
        X.loc[1, ["x7", "x9"]] = 1.0
        model = lambda X: np.column_stack([1 - X["x9"], X["x9"]])
        ones = {
            name: NICE(model, optimize=name).fit(X, [0, 1, 0, 0]).explain(X[:1])[0] for name in ("none", "sparsity")
        }
        table = variants_of(ones)
        assert [line.name for line in table.lines] == ["x9", "x7"]
        assert [[cell.is_changed for cell in line.cells] for line in table.lines] == [
            [False, True, True],
            [False, True, False],
        ]
        assert table.folded == ("… and 58 more that nobody changes",)

    def test_what_was_not_found_says_why(self, tenant):
        none = explained(constraints=Constraints(immutable=["age", "home"]))[0]
        table = variants_of({"free": tenant, "bound": none})
        assert [cell.text for cell in table.lines[0].cells] == ["20", "40", "-"]
        assert [line.cells[2].text for line in table.foot] == ["not found", "-", "-"]
        assert table.caption.notes[0].startswith("bound: No counterfactual was found: no training row gives")

    @pytest.mark.parametrize("given", [{}, [1, 2], None])
    def test_anything_but_explanations_by_name_is_refused(self, given):
        with pytest.raises(OptionError, match=r"variants\(\) takes the explanations by their names"):
            variants_of(given)

    def test_explanations_of_different_rows_are_refused(self):
        cfs = explained()
        with pytest.raises(OptionError, match="'a' and 'b' explain different rows"):
            variants_of({"a": cfs[0], "b": cfs[1]})


def test_no_line_of_a_picture_begins_with_a_percent_sign():
    text = "the decision is good from 46 % on, and another model has to agree by 50 %"
    for room in np.linspace(0.5, 5, 60):
        lines = broken(text, room, most=20)
        assert " ".join(lines) == text or room < 1
        assert not any(line.startswith("%") for line in lines)


class TestNumbersOfTheParetoSet:
    def test_a_single_point_is_told_and_not_drawn(self, thorough):
        """Alone between two axes, it would show nothing."""
        only = next(
            shown for row in range(4) if isinstance(shown := pareto_of(thorough, row), Message) and "★" in shown.words
        )
        assert re.fullmatch(
            r"★ chosen: 1 change, distance .+: .+\. No other counterfactual is better in any of these\.", only.words
        )

    def test_the_points_are_those_that_nothing_beats_and_the_chosen_one_is_marked(self, thorough):
        shown = pareto_of(thorough, 0)
        points = [(p.n_changes, p.distance, p.error, p.is_chosen) for p in shown.points]
        assert points == [(2, pytest.approx(5 / 3), 20.0, True), (2, pytest.approx(2.0), 10.0, False)]
        assert shown.has_errors
        assert shown.caption.notes[0].startswith("★ chosen: 2 changes, distance 1.67, plausibility error 20: ")

    def test_a_row_is_meant_by_its_position_in_the_call(self, thorough):
        assert pareto_of(thorough[2:], 3) == pareto_of(thorough, 3)
        with pytest.raises(OptionError, match=r"row=0 does not exist: the rows of this result are 2 to 3"):
            pareto_of(thorough[2:], 0)

    def test_a_greedy_search_has_no_such_set(self):
        with pytest.raises(OptionError, match="search='thorough'"):
            pareto_of(explained(), 0)


class TestNumbersOfTheFrequencies:
    def test_shares_are_of_the_rows_of_a_decision_by_direction(self):
        shown = frequencies_of(explained())
        assert shown.groups == (Group("0", 2), Group("1", 2))
        home, age = shown.lines
        assert (home.feature, age.feature) == ("home", "age")
        assert home.shares == (Shares(0.0, 0.0, 1.0, "100 %"), Shares(0.0, 0.0, 1.0, "100 %"))
        assert age.shares == (Shares(0.5, 0.0, 0.0, "50 %"), Shares(0.0, 0.0, 0.0, "0 %"))

    def test_a_number_that_goes_down_is_told_from_one_that_goes_up(self):
        X = pd.DataFrame({"x": [0.0, 1.0]})
        cfs = NICE(lambda X: np.column_stack([X["x"], 1 - X["x"]])).fit(X, ["low", "high"]).explain(X)
        (line,) = frequencies_of(cfs).lines
        assert [(shares.up, shares.down) for shares in line.shares] == [(0.0, 1.0), (1.0, 0.0)]

    def test_a_row_counts_once_and_those_without_an_answer_are_counted_apart(self, thorough):
        several = thorough.pareto()
        assert len(several) > 4
        assert [group.n_rows for group in frequencies_of(several).groups] == [2, 2]
        bound = explained(constraints=Constraints(immutable=["age"]))
        assert frequencies_of(bound).caption.notes == ("1 row without a counterfactual not counted.",)

    def test_a_decision_of_which_nothing_changes_has_no_panel_but_a_note(self):
        cfs = NICE(HOME_MODEL, search="greedy").fit(HOMES, [0, 0, 1, 1]).explain(HOMES, target_class=1)
        shown = frequencies_of(cfs)
        assert shown.groups == (Group("0", 2),)
        assert [line.shares[0].chance for line in shown.lines] == ["100 %", "50 %"]
        assert shown.caption.notes == ("2 rows in the target already not counted: nothing changes.",)
        assert frequencies_of(cfs[2:]).words == "All 2 rows are in the target already: nothing changes."

    def test_where_nothing_was_found_it_says_so(self):
        shown = frequencies_of(explained(constraints=Constraints(immutable=["age", "home"])))
        assert shown.words == "No counterfactual was found for any of 4 rows."


class TestNumbersOfTheRegions:
    def test_an_axis_that_does_not_change_is_explained(self):
        X = pd.DataFrame({"a": np.arange(20), "b": np.tile([1, 2], 10)})
        model = lambda X: np.where(X[["a"]] > 9, [0.1, 0.9], [0.9, 0.1])
        one = NICE(model).fit(X, (X["a"] > 9).astype(int)).explain(X[:1])[0]
        note = "b does not change; it is shown since a map needs two features."
        assert note in regions_of(one).caption.notes
        assert note not in regions_of(one, ["a", "b"]).caption.notes
        german = regions_of(one, None, Wording(language="de"))
        assert "b ändert sich nicht; es steht hier, weil eine Karte zwei Merkmale braucht." in german.caption.notes

    def test_the_model_is_asked_once_about_all_places_and_all_marks(self, tenant):
        shown = regions_of(tenant)
        assert (shown.x.name, shown.y.name, shown.y.levels) == ("age", "home", ("rent", "own"))
        assert shown.x.values.tolist() == list(range(18, 53))  # whole numbers only
        is_known = {20: (0, 0), 30: (0, 1), 40: (0, 1), 50: (0, 1)}
        for i, age in enumerate(shown.x.values.astype(int)):
            assert tuple(shown.decided[:, i]) == is_known.get(age, (0, 0))
        assert shown.probability[1, list(shown.x.values).index(40)] == 0.8
        assert [(mark.kind, mark.x, mark.y) for mark in shown.marks] == [
            ("row", 20.0, 0.0), ("donor", 40.0, 1.0), ("counterfactual", 40.0, 1.0),
        ]  # fmt: skip
        assert shown.marks[1].words == "donor (training row 2): age 40, home own: 1 (P(1) 80 %)"

    def test_numbers_that_change_are_chosen_then_those_in_which_the_donor_differs(self):
        X = pd.DataFrame({"a": [0.0, 1.0, 0.3], "b": [0.0, 0.2, 1.0], "c": [0.0, 0.9, 1.0], "same": [5.0] * 3})
        model = lambda X: np.column_stack([X["b"] < 0.1, X["b"] >= 0.1]).astype(float)
        one = NICE(model).fit(X, [0, 1, 1]).explain(X[:1])[0]
        assert [change.feature for change in one.changes] == ["b"]
        shown = regions_of(one)
        assert (shown.x.name, shown.y.name) == ("b", "a")

    def test_a_category_is_always_drawn_upwards(self, tenant):
        assert regions_of(tenant, ["home", "age"]).y.name == "home"

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            ("age", r"features='age' is not a pair. Choose two features, at least one of them a number: 'age'"),
            (["age"], "is not a pair"),
            (["age", "age"], "names one feature twice"),
            (["age", "hom"], "features names 'hom', which is not a column of X.*Did you mean 'home'"),
        ],
    )
    def test_what_is_no_pair_of_features_is_refused(self, tenant, features, message):
        with pytest.raises(OptionError, match=message):
            regions_of(tenant, features)

    def test_two_categories_are_no_map(self):
        X = pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]})
        model = lambda X: np.column_stack([X["a"] == "x", X["a"] == "y"]).astype(float)
        one = NICE(model).fit(X, [0, 1]).explain(X[:1])[0]
        with pytest.raises(OptionError, match="are both categorical"):
            regions_of(one, ["a", "b"])
        with pytest.raises(OptionError, match="at least one of them a number, which this table does not have"):
            regions_of(one)

    def test_without_a_model_it_says_so(self, tenant):
        with pytest.raises(OptionError, match=r"regions\(\) asks the model, which this result does not hold"):
            regions_of(pickle.loads(pickle.dumps(tenant)))

    def test_a_smooth_model_is_drawn_finer_than_it_is_asked(self):
        X = pd.DataFrame({"a": np.linspace(0, 1, 50), "b": np.linspace(0, 1, 50)})
        asked = []

        def model(X):
            asked.append(len(X))
            p = expit(20 * (X["a"] + X["b"] - 1))
            return np.column_stack([1 - p, p])

        X = X.round(3)  # so that the model is not asked how far numbers may be rounded
        one = NICE(model).fit(X, (X["a"] > 0.5).astype(int)).explain(X[:1])[0]
        asked.clear()
        shown = regions_of(one)
        assert asked == [160 * 120 + 3]
        assert shown.decided.shape == (4 * 119 + 1, 4 * 159 + 1)
        a, b = np.meshgrid(shown.x.values, shown.y.values)
        assert (shown.decided == (a + b > 1)).mean() > 0.999

    @pytest.mark.parametrize(("least", "is_below"), [(0.0, False), (-1.0, True)])
    def test_no_axis_goes_below_zero_where_no_value_does(self, least, is_below):
        X = pd.DataFrame({"a": np.linspace(least, 9, 50), "b": np.arange(50) % 10})
        model = lambda X: np.column_stack([X["a"] < 5, X["a"] >= 5]).astype(float)
        shown = regions_of(NICE(model).fit(X, (X["a"] >= 5).astype(int)).explain(X[:1])[0])
        assert (shown.x.low < 0, shown.y.low) == (is_below, 0.0)

    def test_no_donor_is_drawn_where_it_is_not_to_be_shared(self):
        shown = regions_of(explained(share_donor=False)[0])
        assert "donor" not in [mark.kind for mark in shown.marks]


class TestSpelling:
    def test_a_wording_names_features_classes_and_units(self, tenant):
        wording = Wording(names={"age": "years of age"}, units={"age": "{} years"}, classes={0: "no", 1: "yes"})
        changes = changes_of(tenant, wording)
        assert changes.panels[0].step == Step("years of age", "20 years", "40 years")
        assert changes.caption.title == "What would make it yes instead of no"

    def test_a_wording_of_other_names_or_anything_else_is_refused(self, tenant):
        with pytest.raises(OptionError, match="refers to the feature 'agee'"):
            plots.changes(tenant, wording=Wording(names={"agee": "years"}))
        with pytest.raises(OptionError, match=r"wording must be a nicecf.Wording, or None, got dict"):
            plots.changes(tenant, wording={"age": "years"})

    def test_numbers_have_the_decimals_of_their_column_and_more_where_they_would_read_the_same(self):
        X = pd.DataFrame({"rate": [1.25, 3.5, 4.75, 3.501]})
        model = lambda X: np.column_stack([X["rate"] > 3.5, X["rate"] <= 3.5]).astype(float)
        table = variants_of({"a": NICE(model).fit(X[:3], [1, 1, 0]).explain(X[3:])[0]})
        assert [cell.text for cell in table.lines[0].cells] == ["3.501", "3.50"]

    def test_numbers_in_pictures_are_those_of_the_text(self):
        X = pd.DataFrame({"x": [0.123456789, 0.923456789]})
        one = NICE(lambda X: np.column_stack([1 - X["x"], X["x"]])).fit(X, [0, 1]).explain(X[:1])[0]
        step = changes_of(one).panels[0].step
        assert f"x were {step.after} instead of {step.before}" in one.text()


class TestScales:
    def test_ticks_are_round_and_within(self):
        for low, high in [(0, 1), (-3.2, 9.9), (17, 83), (1e-7, 3e-7), (0.0, 6.5e5), (2e9, 3e9)]:
            found = ticks(low, high, 6)
            assert 2 <= len(found) <= 6
            assert all(low <= tick.value <= high for tick in found)
            assert len({tick.text for tick in found}) == len(found)

    def test_one_value_is_in_the_middle(self):
        assert Scale(3.0, 3.0, 0.0, 10.0).at(3.0) == 5.0


def contrast(one, other):
    """Of two colours, as the accessibility guidelines of the web define it."""

    def light(color):
        parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted([light(one), light(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_and_marks_stand_out(look):
    for text in (look.ink, look.pale, look.after):
        assert contrast(text, look.background) >= 4.5
    assert contrast(look.pale, look.stripe) >= 4.5
    assert contrast(look.after, look.marked) >= 3
    for region in (*look.classes, look.marked):
        assert contrast(look.ink, region) >= 4.5
    for mark in (look.row, look.after, look.donor):
        assert contrast(mark, look.background) >= 3


@drawing
def test_where_a_model_knows_nothing_beyond_training_regions_go_no_further():
    """A model with a logarithm raises of 0, and of what is less."""
    X = pd.DataFrame({"a": np.exp(np.linspace(-4, 4, 60)), "b": np.tile([1, 2, 3], 20), "c": 1.0})
    asked = []

    def model(X):
        if X.to_numpy().min() <= 0 or X["a"].max() > 60:
            raise ValueError("math domain error")
        asked.append(X)
        p = (np.log(X["a"] * X["b"] * X["c"]) > 1).to_numpy() * 0.8 + 0.1
        return np.column_stack([1 - p, p])

    row = X[:1].assign(a=0.001)
    one = NICE(model, classes=["no", "yes"]).fit(X, np.where(X["a"] * X["b"] > np.e, "yes", "no")).explain(row)[0]
    for pair in (None, ["a", "b"], ["a", "c"]):
        asked.clear()
        shown = regions_of(one, pair)
        table = pd.concat(asked)
        assert (table.min() >= [0.001, 1, 1]).all()
        assert (table.max() <= X.max()).all()
        assert set(np.unique(shown.decided)) == {0, 1}


class TestDrawing:
    @pytest.mark.deep
    def test_no_text_lies_on_another_in_any_picture_nor_is_cut_off(self, pictures):
        for name, draw in pictures.items():
            light = draw()
            assert texts_that_touch(light) == [], name
            light.figure.set_dpi(150)  # that of a file
            assert texts_that_touch(light) == [], name
            dark = draw(dark=True)
            assert written(light) == written(dark), name
            assert (light.figure.get_facecolor()[0], dark.figure.get_facecolor()[0] < 0.1) == (1.0, True)
            assert {text.get_color() for text in dark.figure.axes[0].texts} <= {DARK.ink, DARK.pale, DARK.after}

    def test_long_names_are_cut_where_they_do_not_look_alike(self):
        X = wide(60, is_long=True)
        p = Sum().predict_proba(X)[:, 1]
        cfs = NICE(Sum(), optimize="none").fit(X, p > 0.5).explain(X.iloc[np.argsort(p)[:5]])
        shown = frequencies_of(cfs)
        texts = written(plots.frequencies(cfs))
        names = [text for text in texts if text.endswith("…") or "…" in text[1:]]
        assert len(set(names)) == len(names) == len(shown.lines) == 20
        assert all("\n" not in text for text in texts)

    def test_the_walk_says_each_step(self, tenant):
        texts = written(plots.walk(tenant))
        assert {"home rent → own", "age 20 → 40", "10 %", "40 %", "80 %", "1 from 50 % on", "the row as it is"} <= set(
            texts
        )

    def test_the_changes_say_both_values_and_the_categories(self, tenant):
        assert {"age", "20 → 40", "home", "rent → own", "rent", "own", "4 training rows"} <= set(
            written(plots.changes(tenant))
        )

    def test_the_variants_say_all_values(self, tenant):
        texts = written(plots.variants({"sparsity": tenant, "$none$": tenant}))
        assert {
            "row",
            "sparsity",
            "$none$",
            "age",
            "20",
            "40",
            "rent",
            "own",
            "0 (P(1) 10 %)",
            "1 (P(1) 80 %)",
            "1.667",
        } <= set(texts)
        assert texts.count("▸") == 4

    def test_the_regions_name_classes_marks_and_features(self, tenant):
        texts = written(plots.regions(tenant))
        assert {"age", "home", "rent", "own", "row", "donor and counterfactual", "0"} <= set(texts)

    def test_the_axes_of_whole_numbers_and_of_the_pareto_set_begin_at_zero_at_the_lowest(self, thorough):
        X = pd.DataFrame({"children": [0, 0, 1, 1] * 5})
        model = lambda X: np.column_stack([X["children"] < 1, X["children"] >= 1]).astype(float)
        one = NICE(model).fit(X, (X["children"] >= 1).astype(int)).explain(X[:1])[0]
        numbers = {text for text in written(plots.changes(one)) if text.lstrip("-").replace(".", "").isdigit()}
        assert numbers == {"0", "1"}
        least = explained(search="thorough", mix_donors=False, plausibility=lambda X: 50.0 - X["age"].to_numpy(float))
        texts = {text.get_text(): text for text in plots.pareto(least).figure.axes[0].texts}
        below = texts["changes"].get_position()[1] - texts["0"].get_position()[1]
        assert below == pytest.approx(0.36)  # the axis itself

    def test_no_label_of_the_frequencies_of_many_classes_lies_on_another(self):
        X, names = wide(6, is_long=True, n_rows=200), [f"{'a long class ' * 2}{i}" for i in range(4)]

        def model(X):
            scores = np.exp(np.column_stack([np.asarray(X.iloc[:, j], dtype=float) for j in (0, 1, 3, 4)]) / 10)
            return scores / scores.sum(axis=1, keepdims=True)

        labels = np.array(names)[model(X).argmax(axis=1)]
        cfs = NICE(model, classes=names, search="greedy").fit(X, labels).explain(X[:40])
        assert len(frequencies_of(cfs).groups) == 4
        assert texts_that_touch(plots.frequencies(cfs)) == []

    def test_the_frequencies_name_classes_with_their_rows(self):
        assert {"0: 2 rows", "1: 2 rows", "age", "home", "raised", "another category, or missing"} <= set(
            written(plots.frequencies(explained()))
        )

    def test_the_pareto_set_says_what_was_chosen(self, thorough):
        texts = written(plots.pareto(thorough))
        assert {"distance", "plausibility error", "chosen"} <= set(texts)
        assert any("home rent → own, age 20 → 40" in text for text in texts)

    def test_what_was_not_found_and_what_need_not_change_is_said_in_words(self):
        none = explained(constraints=Constraints(immutable=["age", "home"]))[0]
        done = NICE(HOME_MODEL).fit(HOMES, [0, 0, 1, 1]).explain(HOMES[2:3], target_class=1)[0]
        for draw in (plots.walk, plots.changes):
            assert any(
                text.startswith("No counterfactual was found: no training row gives") for text in written(draw(none))
            )
            assert "The model says 1 (P(1) 80 %) already; nothing has to change." in written(draw(done))
        assert any("No counterfactual was found" in text for text in written(plots.regions(none)))
        assert "nothing has to change" in " ".join(written(plots.regions(done)))

    def test_marks_of_missing_values_stand_aside(self):
        X, y = applicants()
        rows = X[:60].assign(income=np.nan)
        cfs = NICE(Scorecard(), optimize="proximity", search="greedy").fit(X, y).explain(rows, target_class="yes")
        one = next(one for one in cfs if "income" in [change.feature for change in one.changes])
        picture = plots.regions(one, ["age", "income"])
        assert "missing" in written(picture)
        assert texts_that_touch(picture) == []
        assert any(text.startswith("missing") for text in written(plots.changes(one)))

    def test_constant_columns_and_certain_models_are_drawn(self):
        X = np.column_stack([np.linspace(-1, 1, 40), np.full(40, 7.0)])
        model = lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float)
        nice = NICE(model).fit(X, (X[:, 0] >= 0).astype(int))
        one = nice.explain(np.array([[-1.0, 8.0]]))[0]
        for draw in (plots.walk, plots.changes, plots.regions):
            assert texts_that_touch(draw(one)) == []
        assert {"0 %", "100 %"} <= set(written(plots.walk(one)))

    def test_polars_frames_are_drawn_as_pandas_frames_are(self, tenant):
        class Polars:
            classes_ = np.array([0, 1])

            def predict_proba(self, X):
                return HOME_MODEL.predict_proba(X.to_pandas())

        one = NICE(Polars(), search="greedy").fit(pl.from_pandas(HOMES), [0, 0, 1, 1]).explain(pl.from_pandas(HOMES))[0]
        assert written(plots.changes(one)) == written(plots.changes(tenant))
        assert written(plots.regions(one)) == written(plots.regions(tenant))

    def test_a_region_without_room_for_its_name_is_in_the_legend(self, tenant):
        assert written(plots.regions(tenant)).count("1") == 1  # two years of fifty: only in the legend


@drawing
class TestPicture:
    @pytest.mark.parametrize(
        ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
    )
    def test_is_written_by_the_end_of_the_name_the_same_each_time(self, tenant, tmp_path, suffix, start):
        paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
        for path in paths:
            plots.changes(tenant).save(path)
        one, other = (path.read_bytes() for path in paths)
        assert one.startswith(start)
        assert one == other

    def test_an_svg_says_its_texts_and_refers_to_what_is_there(self, tenant, tmp_path):
        plots.walk(tenant).save(tmp_path / "walk.svg")
        svg = (tmp_path / "walk.svg").read_text()
        ET.fromstring(svg)
        ids = {element.get("id") for element in ET.fromstring(svg).iter() if element.get("id")}
        asked = {part.split('"')[0] for part in svg.split('xlink:href="#')[1:]} | {
            part.split(")")[0] for part in svg.split("url(#")[1:]
        }
        assert asked <= ids
        assert asked

    def test_other_kinds_of_files_are_refused(self, tenant, tmp_path):
        with pytest.raises(OptionError, match=r"a picture is a .png, .svg or .pdf file, not '.*walk.jpeg'"):
            plots.walk(tenant).save(tmp_path / "walk.jpeg")
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_is_not_there_is_one_clear_line(self, tenant, tmp_path):
        with pytest.raises(FileError, match="no/walk.png"):
            plots.walk(tenant).save(tmp_path / "no" / "walk.png")

    def test_shows_itself_in_a_notebook_and_says_what_it_shows(self, tenant):
        picture = plots.changes(tenant)
        assert picture._repr_png_().startswith(b"\x89PNG")
        assert (
            picture.alt
            == "What would make it 1 instead of 0: age 20 → 40, home rent → own. The decision goes from 0 (P(1) 10 %) to 1 (P(1) 80 %)."
        )
        assert repr(picture).startswith("<Picture: What would make it 1 instead of 0: age 20 → 40")
        assert picture.figure.get_label() == picture.alt

    def test_its_words_go_with_it_into_notebooks_and_files(self, tenant, tmp_path):
        picture = plots.changes(tenant)
        html = picture._repr_html_()
        assert f'<img alt="{picture.alt}"' in html.replace("\N{NO-BREAK SPACE}%", " %")
        shown, about = picture._repr_mimebundle_()
        assert (shown["text/html"], shown["image/png"]) == (html, picture._repr_png_())
        assert about == {"image/png": {"alt": picture.alt}}
        for suffix, start in (("png", "Description"), ("svg", 'role="img" aria-label="'), ("pdf", "/Subject")):
            picture.save(tmp_path / f"one.{suffix}")
            contents = (tmp_path / f"one.{suffix}").read_bytes()
            assert start.encode() in contents
            assert suffix == "pdf" or picture.alt.encode() in contents

    def test_the_settings_of_matplotlib_neither_count_nor_change(self, tenant):
        import matplotlib

        cfs = explained()
        draws = (
            lambda: plots.changes(tenant),
            lambda: plots.regions(tenant),
            lambda: plots.frequencies(cfs),
            lambda: plots.walk(tenant),
        )
        as_they_are = [draw()._repr_png_() for draw in draws]
        loud = {
            "font.size": 30, "font.family": "monospace", "text.color": "red", "text.parse_math": True, "lines.linewidth": 9, "lines.marker": "x",
            "axes.facecolor": "red", "axes.grid": True, "figure.facecolor": "red", "figure.autolayout": True, "figure.dpi": 300, "savefig.dpi": 30,
            "savefig.bbox": "tight", "savefig.transparent": True, "savefig.facecolor": "red", "image.interpolation": "bicubic", "image.origin": "lower",
            "patch.linewidth": 9, "patch.edgecolor": "red", "patch.force_edgecolor": True, "hatch.linewidth": 9,
        }  # fmt: skip
        with matplotlib.rc_context(loud):
            before = dict(matplotlib.rcParams)
            assert [draw()._repr_png_() for draw in draws] == as_they_are
            assert dict(matplotlib.rcParams) == before

    @pytest.mark.deep
    def test_many_threads_draw_what_one_draws(self, tenant):
        import matplotlib

        before = dict(matplotlib.rcParams)
        cfs = explained()
        draws = [plots.walk, plots.changes] * 3
        expected = [draw(tenant)._repr_png_() for draw in draws]
        shared = plots.frequencies(cfs)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda draw: draw(tenant)._repr_png_(), draws)) == expected
            assert len(set(pool.map(lambda _: shared._repr_png_(), range(8)))) == 1
        assert dict(matplotlib.rcParams) == before


@drawing
class TestPlot:
    @pytest.mark.parametrize("kind", ["changes", "walk", "regions"])
    def test_a_picture_is_asked_for_by_its_kind(self, tenant, kind):
        assert written(tenant.plot(kind)) == written(getattr(plots, kind)(tenant))

    def test_changes_and_frequencies_are_what_is_drawn_first(self, tenant):
        assert tenant.plot().alt == plots.changes(tenant).alt
        assert explained().plot(dark=True).alt == plots.frequencies(explained()).alt

    def test_the_pareto_set_of_one_is_that_of_its_row(self, thorough):
        assert thorough[1].plot("pareto").alt == plots.pareto(thorough, 1).alt

    def test_an_unknown_kind_is_refused_with_the_one_that_was_meant(self, tenant):
        with pytest.raises(
            OptionError,
            match=r"kind='walks' is not known; choose one of 'changes', 'walk', 'pareto', 'regions'. Did you mean 'walk'\?",
        ):
            tenant.plot("walks")
        with pytest.raises(OptionError, match=r"kind='frequency' is not known; choose 'frequencies'. Did you mean"):
            explained().plot("frequency")

    def test_one_is_not_many_and_many_are_not_one(self, tenant):
        with pytest.raises(OptionError, match=r"walk\(\) draws one explanation, such as cfs\[0\], got Counterfactuals"):
            plots.walk(explained())
        with pytest.raises(
            OptionError, match=r"frequencies\(\) draws what explain gives, a Counterfactuals, got Counterfactual"
        ):
            plots.frequencies(tenant)


SCRIPT = """
import sys
import numpy as np
from nicecf import NICE, plots
from nicecf.views.plots.data.changes import changes_of
X = np.array([[0.0], [1.0]])
cfs = NICE(lambda X: np.column_stack([1 - X, X])).fit(X, [0, 1]).explain(X)
changes_of(cfs[0])
assert 'class="picture"' in cfs.to_html()
assert "matplotlib" not in sys.modules
cfs[0].plot()._repr_png_()
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""


@pytest.mark.deep
@drawing
def test_matplotlib_is_imported_when_something_is_drawn_and_pyplot_never():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_matplotlib_the_error_says_what_to_install(tenant, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError) as caught:
        tenant.plot()
    assert str(caught.value) == (
        "nicecf.plots needs matplotlib, which is not installed. Install it with: pip install 'nicecf[plots]' "
        "(in a clone: pip install -e '.[plots]')"
    )


def test_the_public_names_are_listed():
    assert nicecf.plots is plots
    assert plots.__all__ == ["Picture", "changes", "frequencies", "pareto", "regions", "variants", "walk"]
