"""Boxes: every point of them is valid and keeps the rules, and they are as wide as they can be."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE, Constraints
from nicecf.exceptions import OptionError

N = 600
HOMES = ("own", "rent", "free", "other")


def table(seed: int = 0, n_classes: int = 2) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "score": rng.integers(300, 850, N),
            "rate": rng.normal(8, 3, N).round(2),
            "income": rng.lognormal(3, 1, N),
            "home": rng.choice(HOMES, N),
        }
    )
    worth = (
        (X.score - 550) / 80 - (X.rate - 8) / 2 + np.log(X.income) - 3 + 1.5 * (X.home == "own") - (X.home == "free")
    )
    cuts = np.quantile(worth, np.linspace(0, 1, n_classes + 1)[1:-1] + 0.1)
    return X, pd.Series(np.digitize(worth + rng.normal(0, 0.3, N), cuts))


def encoded(head, *, scaler=None):
    numbers = ["score", "rate", "income"]
    steps = make_column_transformer((scaler or "passthrough", numbers), (OneHotEncoder(), ["home"]))
    return make_pipeline(steps, head)


def xgboost(**options):
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=20, max_depth=4, random_state=0, **options)


def lightgbm(**options):
    lgb = pytest.importorskip("lightgbm")
    return lgb.LGBMClassifier(n_estimators=20, num_leaves=12, random_state=0, verbose=-1, **options)


PROVEN = {
    "tree": lambda: encoded(DecisionTreeClassifier(max_depth=6, random_state=0)),
    "forest": lambda: encoded(RandomForestClassifier(20, random_state=0, max_depth=7)),
    "extra": lambda: encoded(ExtraTreesClassifier(20, random_state=0, max_depth=7), scaler=StandardScaler()),
    "imputed": lambda: encoded(
        RandomForestClassifier(20, random_state=0, max_depth=7), scaler=make_pipeline(SimpleImputer(), StandardScaler())
    ),
    "boosting": lambda: encoded(GradientBoostingClassifier(n_estimators=20, random_state=0), scaler=MinMaxScaler()),
    "xgboost": lambda: encoded(xgboost()),
    "lightgbm": lambda: encoded(lightgbm()),
    "logistic": lambda: encoded(LogisticRegression(max_iter=5000), scaler=StandardScaler()),
    "lda": lambda: encoded(LinearDiscriminantAnalysis(), scaler=StandardScaler()),
    "sgd": lambda: encoded(SGDClassifier(loss="log_loss", random_state=0), scaler=StandardScaler()),
}


def explained(model, X, y, *, n_rows=12, seed=0, target_class="other", options=None, **call):
    nice = NICE(model, random_state=0, **(options or {})).fit(X, y)
    # Rows far from the decision, so that several features change.
    rows = X.sample(n_rows, random_state=seed)
    return nice.explain(rows, target_class=target_class, progress=False, **call)


def points_in(cfs, at: int, rng: np.random.Generator, count: int = 400) -> pd.DataFrame:
    """Random points of a box, its corners among them."""
    box = cfs[at].boxes()
    points = pd.concat([cfs[at].to_frame()] * count, ignore_index=True)
    ends = []
    for side in box.itertuples():
        if side.values is not None:
            drawn = rng.choice(np.array(side.values, dtype=object), count)
            ends.append(list(side.values))
        else:
            # Far beyond all that was seen, where a side has no end.
            low = side.after - rng.choice([1.0, 30.0, 1e6]) if side.low is None else side.low
            high = side.after + rng.choice([1.0, 30.0, 1e6]) if side.high is None else side.high
            drawn = rng.uniform(low, high, count)
            if isinstance(side.after, int):
                drawn = np.clip(np.rint(drawn), low, high).astype(int)
            ends.append([low, high])
        points[side.feature] = drawn
    for line, corner in zip(range(count // 2), product(*ends), strict=False):
        for feature, value in zip(box.feature, corner, strict=True):
            points.loc[line, feature] = value
    return points.astype({"score": np.int64})


def check_boxes(cfs, model, *, proof="proven", min_probability=0.0) -> pd.DataFrame:
    """All of them hold what they promise."""
    rng = np.random.default_rng(0)
    boxes = cfs.boxes()
    assert set(boxes.proof) <= {proof, "proven"}
    for at in np.flatnonzero(cfs.found & (cfs.batch.n_changes > 0)).tolist():
        points = points_in(cfs, at, rng)
        decided = cfs[at].predicted_after
        assert (model.predict(points) == decided).all(), (at, cfs[at].boxes())
        probabilities = model.predict_proba(points)[:, list(cfs.classes).index(decided)]
        assert (probabilities >= min_probability).all()
        for side in cfs[at].boxes().itertuples():
            if side.values is None:
                assert side.low is None or side.low <= side.after
                assert side.high is None or side.high >= side.after
                assert not (
                    (side.low is None or side.low <= side.before) and (side.high is None or side.high >= side.before)
                )
            else:
                assert side.values[0] == side.after
                assert side.before not in side.values
    return boxes


def is_wide(boxes: pd.DataFrame) -> pd.Series:
    low, high = boxes.low.where(boxes.low.notna(), -np.inf), boxes.high.where(boxes.high.notna(), np.inf)
    return (low < high).where(boxes["values"].isna(), boxes["values"].map(lambda one: one is not None and len(one) > 1))


@pytest.mark.parametrize(
    ("name", "n_classes"), [(name, k) for k in (2, 3) for name in PROVEN if (name, k) != ("sgd", 3)]
)
def test_every_point_of_a_proven_box_is_valid(name, n_classes):
    X, y = table(n_classes=n_classes)
    model = PROVEN[name]().fit(X, y)
    target = 1 if n_classes == 2 else "other"
    rows = X[model.predict(X) == 0].head(15)
    cfs = NICE(model).fit(X, y).explain(rows, target_class=target, progress=False)
    boxes = check_boxes(cfs, model)
    assert (boxes.proof == "proven").all()
    assert is_wide(boxes).mean() > 0.3  # else there would be nothing to test
    if n_classes == 2:  # the middle one of three has an end on both sides
        assert boxes[["low", "high"]].isna().any(axis=1)[boxes["values"].isna()].any()


@pytest.mark.parametrize("name", ["forest", "boosting", "xgboost", "logistic"])
def test_of_several_changes_too(name):
    X, y = table(seed=3)
    model = PROVEN[name]().fit(X, y)
    probability = model.predict_proba(X)[:, 1]
    nice = NICE(model, optimize="proximity", min_probability=0.7).fit(X, y)
    rows = X.iloc[np.argsort(probability)[:15]]
    cfs = nice.explain(rows, target_class=1, progress=False)
    assert (cfs.batch.n_changes > 1).sum() > 5
    boxes = check_boxes(cfs, model, min_probability=0.7)
    assert (boxes.proof == "proven").all()
    assert is_wide(boxes).any()


def test_a_box_of_trees_is_as_wide_as_it_can_be():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 12, (500, 3)), columns=list("abc"))
    y = (X.a + X.b - X.c + rng.normal(0, 2, 500) > 6).astype(int)
    model = RandomForestClassifier(9, random_state=0).fit(X, y)
    rows = X[model.predict(X) == 0].head(25)
    cfs = NICE(model, optimize="proximity").fit(X, y).explain(rows, target_class=1, progress=False)
    for one in cfs:
        box = one.boxes()
        ranges = {s.feature: (s.low, s.high) for s in box.itertuples()}
        expected = by_hand(model, one, list(box.feature), range(-3, 16))
        assert ranges == expected


def by_hand(model, one, features, numbers):
    """The box cell by cell: whole numbers are the cells."""
    after = one.to_frame().iloc[0]
    before = {change.feature: change.before for change in one.changes}
    box = {feature: [after[feature]] * 2 for feature in features}

    def holds(feature, value):
        others = [range(box[f][0], box[f][1] + 1) if f != feature else [value] for f in features]
        points = pd.DataFrame([after] * int(np.prod([len(o) for o in others])), columns=after.index)
        points[features] = list(product(*others))
        return (model.predict(points) == one.predicted_after).all()

    for feature in features:
        ways = (-1, 1) if before[feature] < after[feature] else (1, -1)
        for way in ways:
            value = after[feature] + way
            while value in numbers and value != before[feature] and holds(feature, value):
                box[feature][way > 0] = value
                value += way
    ends = (numbers[0], numbers[-1])
    return {f: tuple(None if v == end else v for v, end in zip(box[f], ends, strict=True)) for f in features}


def test_a_linear_box_ends_at_the_last_decimal():
    X, y = table()
    model = PROVEN["logistic"]().fit(X, y)
    rows = X[model.predict(X) == 0].head(15)
    cfs = NICE(model).fit(X, y).explain(rows, target_class=1, progress=False)
    looked_at = 0
    for one in cfs:
        box = one.boxes()
        if len(box) != 1 or box["values"][0] is not None or box.feature[0] == "income":
            continue
        looked_at += 1
        side = next(box.itertuples())
        is_up = side.before < side.after
        end, step = (side.low if is_up else side.high), {"score": 1, "rate": 0.01}[side.feature]
        beyond = one.to_frame()
        beyond[side.feature] = round(end - step if is_up else end + step, 2)
        assert model.predict(beyond)[0] == 0
        assert (side.high if is_up else side.low) is None
    assert looked_at > 3


def test_one_versus_rest_is_only_checked():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(0, 1, N).round(2), "b": rng.normal(0, 1, N).round(2)})
    y = np.digitize(X.a + 0.5 * X.b, [-0.5, 0.5])
    model = make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)).fit(X, y)
    boxes = NICE(model).fit(X, y).explain(X.head(30), progress=False).boxes()
    assert (boxes.proof[is_wide(boxes)] == "checked").all()
    assert is_wide(boxes).any()
    assert not boxes[["low", "high"]].isna().any(axis=None)  # far out all sigmoids are 1, and class 0 wins


def test_other_models_are_checked_at_observed_values():
    X, y = table()
    model = encoded(MLPClassifier((8,), max_iter=3000, random_state=0), scaler=StandardScaler()).fit(X, y)
    rows = X[model.predict(X) == 0].head(10)
    nice = NICE(model).fit(X, y)
    cfs = nice.explain(rows, target_class=1, progress=False)
    boxes = cfs.boxes()
    numbers = boxes[boxes["values"].isna()]
    assert "checked" in set(boxes.proof)
    for side in numbers.itertuples():
        assert side.low in set(X[side.feature])
        assert side.high in set(X[side.feature])
    for at in range(len(cfs)):
        grid = [
            side.values or sorted({v for v in X[side.feature] if side.low <= v <= side.high})
            for side in cfs[at].boxes().itertuples()
        ]
        assert np.prod([len(one) for one in grid]) <= 4096
        corners = list(product(*grid))
        points = pd.concat([cfs[at].to_frame()] * len(corners), ignore_index=True)
        points[list(cfs[at].boxes().feature)] = corners
        assert (model.predict(points.astype(X.dtypes.to_dict())) == 1).all()


def test_trees_behind_an_unknown_step_are_only_checked():
    X, y = table()
    X = X.drop(columns="home")
    model = make_pipeline(FunctionTransformer(np.sqrt), DecisionTreeClassifier(max_depth=4, random_state=0))
    X = X.abs()
    model.fit(X, y)
    rows = X[model.predict(X) == 0].head(5)
    boxes = NICE(model).fit(X, y).explain(rows, target_class=1, progress=False).boxes()
    assert (boxes.proof[is_wide(boxes)] == "checked").all()
    assert is_wide(boxes).any()


def test_an_imputer_that_replaces_a_number_is_not_monotone():
    X, y = table()
    X = X[["score", "rate"]].astype(float)
    steps = make_column_transformer(
        (SimpleImputer(missing_values=700.0, strategy="constant", fill_value=300.0), ["score", "rate"])
    )
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    rows = X[model.predict(X) == 0].head(10)
    cfs = NICE(model).fit(X, y).explain(rows, target_class=1, progress=False)
    for one in cfs:
        for side in one.boxes().itertuples():
            if side.feature == "score" and side.low is not None and side.low < 700:
                assert side.proof == "checked" or (side.high is not None and side.high < 700)


def test_categories_behind_an_imputer_act_alone():
    X, y = table()
    categories = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    numbers = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
    steps = make_column_transformer((numbers, ["score", "rate", "income"]), (categories, ["home"]))
    model = make_pipeline(steps, RandomForestClassifier(20, random_state=0, max_depth=7)).fit(X, y)
    rows = X[model.predict(X) == 0].head(15)
    nice = NICE(model, optimize="proximity", constraints=Constraints(immutable=["income", "score"])).fit(X, y)
    cfs = nice.explain(rows, target_class=1, progress=False)
    boxes = check_boxes(cfs[cfs.found], model)
    assert (boxes.proof == "proven").all()
    assert "home" in set(boxes.feature)


def test_an_imputer_and_a_scaler_in_front_of_trees_are_monotone():
    X, y = table()
    X = X[["score", "rate", "income"]]
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    model = make_pipeline(numbers, RandomForestClassifier(9, max_depth=7, random_state=0))
    rows = X[model.fit(X, y).predict(X) == 0].head(15)
    boxes = check_boxes(NICE(model).fit(X, y).explain(rows, target_class=1, progress=False), model)
    assert (boxes.proof == "proven").all()
    assert is_wide(boxes).any()


def test_a_step_that_looks_at_other_columns_proves_nothing():
    X, y = table()
    X = X[["score", "rate", "income"]]
    numbers = make_pipeline(StandardScaler(), FunctionTransformer(lambda some: some - some[:, ::-1]))
    model = make_pipeline(make_column_transformer((numbers, list(X.columns))), DecisionTreeClassifier(max_depth=5))
    rows = X[model.fit(X, y).predict(X) == 0].head(15)
    boxes = NICE(model).fit(X, y).explain(rows, target_class=1, progress=False).boxes()
    assert (boxes.proof[is_wide(boxes)] == "checked").all()


def test_rules_are_kept_by_every_point():
    X, y = table()
    model = PROVEN["boosting"]().fit(X, y)
    rules = Constraints(
        ranges={"score": (None, 760)}, decreasing=["rate"], allowed={"home": ["rent", "own"]}, immutable=["income"]
    )
    rows = X[model.predict(X) == 0].head(30)
    cfs = NICE(model, constraints=rules).fit(X, y).explain(rows, target_class=1, progress=False)
    boxes = check_boxes(cfs[cfs.found], model)
    score = boxes[boxes.feature == "score"]
    assert (score.high <= 760).all()
    assert (score.high == 760).any()
    homes = boxes[boxes.feature == "home"]
    assert all(set(one) <= {"own", "rent"} for one in homes["values"])
    rate = boxes[boxes.feature == "rate"]
    assert (rate.high < rate.before).all()


@pytest.mark.parametrize(
    "rules",
    [
        Constraints(step={"score": 10}),
        Constraints(relations=["score > rate"]),
        Constraints(groups=[["score", "rate"]]),
    ],
    ids=["step", "relation", "group"],
)
def test_what_a_rule_ties_down_keeps_its_value(rules):
    X, y = table()
    model = PROVEN["tree"]().fit(X, y)
    rows = X[model.predict(X) == 0].head(20)
    cfs = NICE(model, constraints=rules).fit(X, y).explain(rows, target_class=1, progress=False)
    boxes = cfs.boxes()
    score = boxes[boxes.feature == "score"]
    assert len(score)
    assert (score.low == score.after).all()
    assert (score.high == score.after).all()


@pytest.mark.parametrize("guard", [{"share_donor": False}, {"min_count": 5}])
def test_a_guarded_explainer_tells_nothing_more(guard):
    X, y = table()
    X["income"] = X.income.round(-1)
    model = PROVEN["tree"]().fit(X, y)
    rows = X[model.predict(X) == 0].head(20)
    boxes = NICE(model, **guard).fit(X, y).explain(rows, target_class=1, progress=False).boxes()
    assert len(boxes)
    assert not is_wide(boxes).any()


def test_a_missing_value_keeps_its_place():
    X, y = table()
    X.loc[::5, "rate"] = np.nan
    model = lightgbm().fit(X.drop(columns="home"), y)
    X = X.drop(columns="home")
    rows = X[(model.predict(X) == 0) & X.rate.isna()]
    rules = Constraints(immutable=["score", "income"])
    cfs = NICE(model, constraints=rules).fit(X, y).explain(rows, target_class=1, progress=False)
    rate = cfs.boxes().query("feature == 'rate'")
    assert len(rate)
    assert (rate.low == rate.after).all()
    assert rate.before.isna().all()


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_categories_of_the_library_itself(name):
    X, y = table()
    X["home"] = X.home.astype("category")
    model = (xgboost(enable_categorical=True) if name == "xgboost" else lightgbm()).fit(X, y)
    rows = X[model.predict(X) == 0].head(30)
    cfs = NICE(model).fit(X, y).explain(rows, target_class=1, progress=False)
    rng = np.random.default_rng(0)
    for at in range(len(cfs)):
        points = points_in(cfs, at, rng, 200)
        points["home"] = pd.Categorical(points.home, categories=X.home.cat.categories)
        assert (model.predict(points) == 1).all()
    homes = cfs.boxes().query("feature == 'home'")
    assert (homes["values"].map(len) > 0).all()
    assert (cfs.boxes().proof == "proven").all()


def test_single_precision_columns_end_at_their_own_numbers():
    X, y = table()
    X = X[["rate", "income"]].astype(np.float32)
    model = xgboost().fit(X, y)
    rows = X[model.predict(X) == 0].head(20)
    cfs = NICE(model).fit(X, y).explain(rows, target_class=1, progress=False)
    for one in cfs:
        for side in one.boxes().itertuples():
            for end in (side.low, side.high):
                if end is not None:
                    assert np.float32(end) == end
                    at_end = one.to_frame()
                    at_end[side.feature] = np.float32(end)
                    assert model.predict(at_end)[0] == 1


def test_a_cut_off_counts():
    X, y = table()
    model = PROVEN["boosting"]().fit(X, y)
    probability = model.predict_proba(X)[:, 1]
    rows = X[probability < 0.3].head(10)
    cfs = NICE(model, decision=0.8).fit(X, y).explain(rows, target_class=1, progress=False)
    rng = np.random.default_rng(0)
    for at in range(len(cfs)):
        assert (model.predict_proba(points_in(cfs, at, rng))[:, 1] >= 0.8).all()
    assert (cfs.boxes().proof == "proven").all()
    assert is_wide(cfs.boxes()).any()


def test_models_that_must_agree_do_so_in_the_box():
    X, y = table()
    model, other = PROVEN["tree"]().fit(X, y), PROVEN["logistic"]().fit(X, y)
    rows = X[(model.predict(X) == 0) & (other.predict(X) == 0)].head(5)
    cfs = NICE(model, robust_to=[other]).fit(X, y).explain(rows, target_class=1, progress=False)
    boxes = cfs.boxes()
    assert (boxes.proof[is_wide(boxes) & boxes["values"].isna()] == "checked").all()
    for one in cfs:
        for side in one.boxes().itertuples():
            for end in side.values or (side.low, side.high):
                at_end = one.to_frame()
                at_end[side.feature] = end
                assert model.predict(at_end)[0] == other.predict(at_end)[0] == 1


@pytest.mark.parametrize("step", [{}, {"score": 1, "rate": 0.01, "income": 0.001}])
def test_where_models_disagree_on_the_class_nothing_is_proven(step):
    X, y = table(n_classes=3)
    X = X[["score", "rate", "income"]]
    model = RandomForestClassifier(9, max_depth=7, random_state=0).fit(X, y)
    other = LogisticRegression(max_iter=3000).fit(X, y)
    cfs = (
        NICE(model, robust_to=[other], constraints=Constraints(step=step))
        .fit(X, y)
        .explain(X.head(120), progress=False)
    )
    cfs = cfs[cfs.found & (cfs.batch.n_changes > 0)]
    apart = [one for one in cfs if other.predict(one.to_frame())[0] != one.predicted_after]
    assert apart
    for one in apart:
        assert (one.boxes().proof == "checked").all()
        assert not is_wide(one.boxes()).any()


def test_the_same_box_each_time_and_row_by_row():
    X, y = table()
    model = PROVEN["forest"]().fit(X, y)
    rows = X[model.predict(X) == 0].head(6)
    cfs = NICE(model).fit(X, y).explain(rows, target_class=1, progress=False)
    pd.testing.assert_frame_equal(cfs.boxes(), cfs.boxes())
    one_by_one = pd.concat([one.boxes() for one in cfs], ignore_index=True)
    pd.testing.assert_frame_equal(cfs.boxes(), one_by_one)


def test_several_counterfactuals_are_counted():
    X, y = table()
    model = PROVEN["tree"]().fit(X, y)
    rows = X[model.predict(X) == 0].head(3)
    cfs = NICE(model).fit(X, y).explain(rows, target_class=1, n_counterfactuals=2, progress=False)
    assert list(cfs.boxes().columns[:3]) == ["row", "counterfactual", "feature"]


def test_rows_without_changes_have_no_lines():
    X, y = table()
    model = PROVEN["tree"]().fit(X, y)
    cfs = NICE(model).fit(X, y).explain(X[model.predict(X) == 1].head(3), target_class=1, progress=False)
    assert len(cfs.boxes()) == 0
    assert "proof" in cfs.boxes().columns


def test_what_others_are_computed_from_keeps_its_value():
    X, y = table()
    X = X.drop(columns="home")
    X["double"] = X.score * 2
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    rows = X[model.predict(X) == 0].head(20)
    rules = Constraints(derived={"double": "score * 2"})
    boxes = NICE(model, constraints=rules).fit(X, y).explain(rows, target_class=1, progress=False).boxes()
    assert "double" not in set(boxes.feature)
    score = boxes[boxes.feature == "score"]
    assert len(score)
    assert (score.low == score.after).all()
    assert (score.high == score.after).all()


def test_dates_are_shown_as_dates():
    X, y = table()
    X = X[["score", "rate"]].assign(since=pd.Timestamp("2020-01-01") + pd.to_timedelta(X.score - 300, unit="D"))

    def days(frame):
        return np.column_stack([frame.rate, (frame.since - pd.Timestamp("2020-01-01")).dt.days])

    model = make_pipeline(FunctionTransformer(days), DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    rows = X[model.predict(X) == 0].head(20)
    cfs = (
        NICE(model, constraints=Constraints(immutable=["rate"])).fit(X, y).explain(rows, target_class=1, progress=False)
    )
    boxes = cfs.boxes()
    assert len(boxes)
    assert (boxes.proof == "checked").any()
    for side in boxes.itertuples():
        assert isinstance(side.low, type(side.after))
        assert side.low <= side.after <= side.high


def test_a_pickled_result_has_no_model_to_ask():
    X, y = table()
    model = PROVEN["tree"]().fit(X, y)
    cfs = NICE(model).fit(X, y).explain(X.head(3), progress=False)
    with pytest.raises(OptionError, match=r"boxes\(\) asks the model, which this result does not hold"):
        pickle.loads(pickle.dumps(cfs)).boxes()
