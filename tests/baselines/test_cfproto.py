"""CFproto: worked by hand, against plain loops, and where it meets categories, gaps and whole numbers."""

import functools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from clock import Clock, set_clock
from nicecf import OptionError, testing
from nicecf.baselines import cfproto
from nicecf.baselines.cfproto import CFproto, Prototypes
from nicecf.baselines.embedding import Embedding, Line

SMALL = functools.partial(CFproto, c_steps=2, max_iterations=30)
ENDS = np.array([[0.0], [10.0]])
ROW = np.array([[3.0]])


def tenths(X):
    return np.column_stack([1 - X[:, 0] / 10, X[:, 0] / 10])


def by_hand(model=tenths, **options):
    settings = {"theta": 0.5, "beta": 0.1, "c_steps": 1, **options}
    return CFproto(model, classes=[*range(model(ENDS).shape[1])], **settings).fit(ENDS)


def test_two_steps_as_worked_by_hand():
    # As points: the row is at -0.4, its prototype at 1; the score is the point itself, so the hinge falls by 1, and
    # counts twice. First step: pull 2 * 0.5 * (-0.4 - 1) = -1.4, so -0.4 + 0.12 * (1.4 + 2) = 0.008, shrunk -0.092.
    # A quarter of that move ahead lies -0.092 + 0.308 / 4 = -0.015. There the pull is 2 * 0.385 - 1.015 = -0.245, so
    # -0.015 + 0.12 * sqrt(1 / 2) * 2.245 - 0.1 = 0.0755: past 0, where the model changes its mind.
    point = -0.015 + 0.12 * math.sqrt(0.5) * 2.245 - 0.1
    cfs = by_hand(learning_rate=0.12, max_iterations=2).explain(ROW)
    assert cfs.to_numpy()[0, 0] == pytest.approx(5 + 5 * point, abs=1e-9)


def test_one_step_that_is_not_enough_says_what_was_wanted():
    cfs = by_hand(learning_rate=0.12, max_iterations=1).explain(ROW)
    assert not cfs.found[0]
    assert cfs.reasons[0] == "no step of CFproto's c_steps x max_iterations = 1 reached 1"


@pytest.mark.parametrize(("n_classes", "gradient"), [(2, 1.4 + 2), (3, 1.4 + 1.5)])
def test_the_hinge_counts_more_the_fewer_classes_there_are(n_classes, gradient):
    model = lambda X: np.column_stack([tenths(X), np.zeros((len(X), n_classes - 2))])
    cfs = by_hand(model, learning_rate=0.2, max_iterations=1).explain(ROW, target_class=1)
    assert cfs.to_numpy()[0, 0] == pytest.approx(5 + 5 * (-0.4 + 0.2 * gradient - 0.1))


def test_the_gradient_is_measured_eps_to_both_sides():
    asked = []
    model = lambda X: (asked.extend(X[:, 0].tolist()), tenths(X))[1]
    method = by_hand(model, eps=0.01, max_iterations=1)
    asked.clear()
    method.explain(ROW)
    assert {2.95, 3.05} <= {round(value, 9) for value in asked}


def test_c_grows_until_something_is_found():
    # Without a prototype's pull, 0.01 * 2 * c must exceed beta for the first step to leave the row.
    options = {"theta": 0.0, "beta": 0.01, "c_init": 0.1, "max_iterations": 200}
    assert not by_hand(**options).explain(ROW).found[0]
    assert by_hand(**{**options, "c_steps": 2}).explain(ROW).found[0]


def logistic(X, weights=(2.0, -1.5, 0.5)):
    positive = 1 / (1 + np.exp(-(X @ np.array(weights))))
    return np.column_stack([1 - positive, positive])


def plain_loops(row, X, *, beta, theta, c, c_steps, n_steps, rate, eps):
    """CFproto for one row of numbers that span [-1, 1] and a model of two classes: one number at a time."""
    start = logistic(row[None])[0].argmax()
    others = [one for one in X if logistic(one[None])[0].argmax() != start]
    prototype = min(others, key=lambda one: math.dist(one, row))
    ahead_of = lambda point: logistic(point[None])[0, 1 - start] - logistic(point[None])[0, start]
    lower, upper, best, cheapest = 0.0, math.inf, None, math.inf
    for _ in range(c_steps):
        point, ahead, is_there = list(row), list(row), False
        for i in range(n_steps):
            here, new = np.array(ahead), []
            is_over = ahead_of(here) > 0
            for j in range(len(row)):
                up, down = here.copy(), here.copy()
                up[j] += eps
                down[j] -= eps
                slope = 0.0 if is_over else -2 * (ahead_of(up) - ahead_of(down)) / (2 * eps)
                gradient = 2 * (here[j] - row[j]) + 2 * theta * (here[j] - prototype[j]) + c * slope
                moved = here[j] - rate * math.sqrt(1 - i / n_steps) * gradient
                if moved - row[j] > beta:
                    new.append(min(moved - beta, 1.0))
                elif moved - row[j] < -beta:
                    new.append(max(moved + beta, -1.0))
                else:
                    new.append(row[j])
            ahead = [min(max(b + (i + 1) / (i + 4) * (b - a), -1.0), 1.0) for a, b in zip(point, new, strict=True)]
            point = new
            cost = sum(beta * abs(a - b) + (a - b) ** 2 for a, b in zip(point, row, strict=True))
            if ahead_of(np.array(point)) > 0:
                is_there = True
                if cost < cheapest:
                    best, cheapest = point, cost
        if is_there:
            upper = min(upper, c)
        else:
            lower = max(lower, c)
        c = c * 10 if upper == math.inf else (lower + upper) / 2
    return best


@pytest.mark.parametrize(
    ("beta", "theta", "c", "rate"),
    [(0.01, 10.0, 1.0, 0.01), (0.01, 0.1, 1.0, 0.01), (0.01, 0.1, 10.0, 0.01), (0.2, 0.1, 30.0, 0.5)],
    ids=["as in the paper of NICE", "little pull", "past the border and back", "beyond the ranges and back"],
)
def test_it_equals_plain_loops(beta, theta, c, rate):
    X = np.vstack([np.random.default_rng(1).uniform(-1, 1, (40, 3)), [[1.0] * 3, [-1.0] * 3]])
    settings = {"beta": beta, "theta": theta, "c_steps": 3}
    method = CFproto(logistic, classes=[0, 1], c_init=c, max_iterations=25, learning_rate=rate, **settings).fit(X)
    cfs = method.explain(X[:8])
    expected = [plain_loops(row, X, c=c, n_steps=25, rate=rate, eps=1e-3, **settings) for row in X[:8]]
    assert cfs.found.tolist() == [one is not None for one in expected]
    assert cfs.found.any()
    for found, one in zip(cfs.to_numpy(), expected, strict=True):
        assert one is None or found.tolist() == pytest.approx(one, abs=1e-9)


def test_a_gradient_counts_up_to_a_thousand():
    cfs = by_hand(c_init=1e4, learning_rate=6e-4, max_iterations=1).explain(ROW)
    assert cfs.to_numpy()[0, 0] == pytest.approx(5 + 5 * (-0.4 + 6e-4 * (1000 + 1.4) - 0.1))


def test_the_prototype_is_the_nearest_of_all_wanted_classes():
    points = np.array([[0.0], [0.3], [0.5], [-0.2], [0.9]])
    prototypes = Prototypes.of(points, np.array([0, 1, 1, 2, 2]), 4)
    wanted = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]], dtype=bool)
    nearest, has_one = prototypes.nearest(np.array([[0.0], [0.0], [0.1], [0.0]]), wanted)
    assert nearest[:3, 0].tolist() == [-0.2, 0.3, 0.3]
    assert has_one.tolist() == [True, True, True, False]


@pytest.mark.parametrize("n_rows", [1, 7])
def test_each_step_is_one_model_call_for_all_rows(n_rows):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    cfs = CFproto(logistic, classes=[0, 1], c_steps=2, max_iterations=10).fit(X).explain(X[:n_rows])
    assert cfs.model_calls == 1 + 1 + 2 * 10  # what the rows are now, the slopes there, the steps
    assert cfs.model_rows <= n_rows * (1 + 21 * (2 + 2 * 3)) + 2


def test_trees_are_asked_about_their_steps_alone_and_answer_as_before():
    random = np.random.default_rng(0)
    X = np.round(random.uniform(-1, 1, (200, 6)), 2)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0.1).astype(int)
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y)
    read = SMALL(forest).fit(X, y).explain(X[:12])
    asked = SMALL(lambda X: forest.predict_proba(X), classes=[0, 1]).fit(X, y).explain(X[:12])
    assert np.array_equal(read.to_numpy(), asked.to_numpy(), equal_nan=True)
    assert read.found.any()
    assert read.model_rows < 0.6 * asked.model_rows


@pytest.mark.deep
def test_rows_in_blocks_give_what_they_give_together(monkeypatch):
    X, y = testing.applicants()
    together = SMALL(testing.Scorecard()).fit(X, y).explain(X.iloc[:9])
    monkeypatch.setattr(cfproto, "_MOST_CELLS", 2 * 6**2 * 4)
    done = []
    in_blocks = SMALL(testing.Scorecard()).fit(X, y).explain(X.iloc[:9], progress=lambda n, total: done.append(n))
    testing.assert_same(together, in_blocks)
    assert done == sorted(done)
    assert done[-1] == 9


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("beta", -1, "beta must be a number of at least 0, got -1"),
        ("c_init", "much", "c_init must be a number of at least 0, got 'much'"),
        ("c_steps", 0, "c_steps must be a whole number of at least 1, got 0"),
        ("max_iterations", 2.5, "max_iterations must be a whole number of at least 1, got 2.5"),
        ("theta", float("nan"), "theta must be a number of at least 0, got nan"),
        ("learning_rate", 0, "learning_rate must be a number above 0, got 0"),
        ("eps", 0.0, "eps must be a number above 0, got 0.0"),
    ],
)
def test_options_that_cannot_be_are_named(option, value, message):
    with pytest.raises(OptionError, match=message):
        CFproto(tenths, classes=[0, 1], **{option: value}).fit(ENDS)


def test_without_a_training_row_in_the_wanted_class_there_is_no_prototype():
    cfs = CFproto(tenths, classes=["no", "yes"]).fit(np.array([[0.0], [4.0]])).explain(ROW)
    assert cfs.reasons[0] == "the model predicts 'no' for all 2 training rows, so no donor for 'yes' exists"
    assert cfs.model_calls == 1


def test_the_gradient_leads_up_to_a_high_cutoff():
    # Without a pull to the prototype, only the slope beyond a half leads on.
    cfs = by_hand(theta=0.0, beta=0.01, c_steps=3, max_iterations=200, decision=0.7).explain(ROW)
    assert 7.0 <= cfs.to_numpy()[0, 0] < 7.5


def test_time_that_is_up_leaves_the_best_so_far(monkeypatch):
    clock = Clock(tenths)
    set_clock(monkeypatch, clock)
    fitted = CFproto(clock, classes=[0, 1]).fit(ENDS)
    early, later = (fitted.explain(ROW, time_budget=seconds) for seconds in (3.0, 30.0))
    assert early.reasons[0] == "time_budget was used up before CFproto reached 1"
    assert later.found[0]
    assert later.model_calls <= 31
    assert later[0].note == "time_budget was used up before the search ended: this is the best so far"


def paid(X):
    """A model that a category decides."""
    positive = np.where(X["pays"] == "monthly", 0.9, 0.2)
    return np.column_stack([1 - positive, positive])


def payers():
    return pd.DataFrame(
        {
            "pays": pd.Categorical(["never", "late", "monthly"] * 10, ["never", "late", "monthly", "weekly"]),
            "arrears": [9, 8, 0] * 10,
            "age": [30, 40, 50, 40, 30, 50] * 5,
        }
    )


def test_a_category_is_changed_by_the_pull_of_the_prototype():
    X = payers()
    cfs = CFproto(paid, classes=[0, 1], c_steps=1, max_iterations=100).fit(X).explain(X.iloc[:2])
    assert cfs.found.all()
    frame = cfs.to_frame()
    assert frame["pays"].tolist() == ["monthly", "monthly"]
    assert frame.dtypes.equals(X.dtypes)


def test_levels_that_go_with_alike_values_lie_near_each_other():
    X = payers()
    codes = np.column_stack([X["pays"].cat.codes, X["arrears"] // 2, X["age"]]).astype(float)
    line = Embedding.of(codes, np.array([True, False, False]), np.array([4, 0, 0])).lines[0]
    never, late, monthly, weekly = line.places[:4]
    assert abs(never - late) < abs(never - monthly)
    assert min(never, late, monthly) == pytest.approx(-1.0)
    assert max(never, late, monthly) == pytest.approx(1.0)
    assert np.isnan(weekly)  # nobody pays so


def test_the_nearest_level_is_read_and_the_own_one_on_a_tie():
    line = Line(np.array([-1.0, 0.5, np.nan, 0.5, np.nan, 0.0]))  # level 2 was never seen; missing lies at 0
    points = np.array([-0.9, -0.2, 0.0, 0.4, 0.4, 0.4])
    own = np.array([1.0, 1.0, 0.0, 0.0, 3.0, -1.0])
    assert line.level(points, own).tolist() == [0.0, 1.0, 1.0, 1.0, 3.0, 1.0]


def test_points_at_their_start_are_the_row_to_the_last_digit():
    rows = np.random.default_rng(0).normal(size=(50, 2)) * [1e6, 1e-6]
    embedding = Embedding.of(rows, np.array([False, False]), np.array([0, 0]))
    points, can_move = embedding.place(rows)
    assert np.abs(points).max() == pytest.approx(1.0)
    assert can_move.all()
    assert np.array_equal(embedding.read(points, points, rows), rows)
    moved = np.where([True, False], points / 2, points)
    assert np.allclose(embedding.place(embedding.read(moved, points, rows))[0], moved)


def test_gaps_lie_at_the_mean_and_what_cannot_vary_cannot_move():
    rows = np.array([[0.0, 7.0, 0.0, 0.0], [10.0, 7.0, 1.0, 0.0], [2.0, 7.0, 0.0, -1.0], [np.nan, 7.0, -1.0, 0.0]])
    embedding = Embedding.of(rows, np.array([False, False, True, True]), np.array([0, 0, 2, 1]))
    points, can_move = embedding.place(np.vstack([rows, [[5.0, 8.0, 2.0, 1.0]]]))
    assert points[:, 0].tolist() == pytest.approx([-1.0, 1.0, -0.6, -0.2, 0.0])
    assert can_move.tolist() == [
        [True, False, True, False],
        [True, False, True, False],
        [True, False, True, False],
        [False, False, False, False],
        [True, False, False, False],
    ]


def test_what_is_missing_new_or_never_varies_stays_as_it_is():
    X, y = testing.applicants()
    X["branch"] = 7
    fitted = SMALL(testing.Scorecard()).fit(X, y)
    rows = X.iloc[:12].copy()
    rows["city"] = ["Paris", None, "Rome"] * 4
    rows.loc[rows.index[::2], "income"] = np.nan
    cfs = fitted.explain(rows)
    frame = cfs.to_frame()[cfs.found]
    before = rows[cfs.found]
    assert len(frame) >= 6
    assert frame["branch"].eq(7).all()
    assert frame["city"].fillna("-").tolist() == before["city"].fillna("-").tolist()
    assert frame["income"].isna().tolist() == before["income"].isna().tolist()
    assert frame["children"].isna().tolist() == before["children"].isna().tolist()


def test_a_batch_with_new_categories_equals_its_rows():
    X, y = testing.applicants()
    fitted = SMALL(testing.Scorecard()).fit(X, y)
    rows = X.iloc[:6].copy()
    rows["city"] = ["Paris", "Gent", None, "Rome", "Gent", "Aalst"]
    batch = fitted.explain(rows, target_class="yes")
    for row in range(len(rows)):
        testing.assert_same(batch[row : row + 1], fitted.explain(rows.iloc[[row]], target_class="yes"))


def test_a_training_row_with_a_missing_category_gives_no_gap():
    X, y = testing.applicants()
    X["home"] = X["home"].where(np.arange(len(X)) % 3 > 0)
    cfs = SMALL(testing.Scorecard()).fit(X, y).explain(X.iloc[:30])
    assert cfs.found.any()
    kept = X.iloc[:30][cfs.found]
    assert cfs.to_frame()[cfs.found]["home"].isna().tolist() == kept["home"].isna().tolist()


def test_whole_numbers_are_put_to_the_model_as_they_are_handed_out():
    # A model that takes 7 for something else than 7.0, as a lookup by text does.
    model = lambda X: tenths(X) if X.dtype == np.int64 else tenths(10.0 - X)
    ends, row = np.array([[0], [10]]), np.array([[3]])
    method = CFproto(model, classes=[0, 1], c_steps=3, max_iterations=30).fit(ends)
    cfs = method.explain(row)
    after = cfs.to_numpy().astype(np.int64)
    assert not cfs.found[0] or model(after)[0].argmax() == 1
    assert not cfs.found[0] or cfs.metrics()["probability"][0] == pytest.approx(model(after)[0].max())


def test_what_was_said_of_a_row_as_floats_is_not_what_is_handed_out():
    def model(X):
        p = np.where(X[:, 0] == 2, 0.9, 0.1 + 0.2 * X[:, 0]) + X[:, 1] * 1e-4
        p = p - (0.05 if X.dtype.kind == "f" else 0.0)
        return np.column_stack([1 - p, p])

    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 3, 60), random.integers(0, 100, 60)]).astype(np.uint8)
    method = SMALL(model, classes=[0, 1], categorical_features=[0], theta=10.0, beta=0.01).fit(X)
    cfs = method.explain(X[model(X)[:, 1] < 0.5])
    values = cfs.to_frame()[cfs.found].to_numpy().astype(np.uint8)
    assert len(values)
    assert cfs.probability[cfs.found].tolist() == model(values)[:, 1].tolist()
