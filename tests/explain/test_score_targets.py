"""Targets that are scores: regressors, score functions, and probabilities as scores."""

import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nicecf
from nicecf import NICE, Constraints, FileError, ModelError, OptionError, SchemaError, from_score
from nicecf.baselines import WIT
from nicecf.explain.saving.arrays import npy
from nicecf.models.scores import ScoreTarget
from nicecf.search.distance import Heom
from nicecf.search.neighbors import DonorIndex
from saved_files import forge
from strategies import constraints_of, fewer, problems, rules_for

SIXTEENTH = 1 / 16


class Limits:
    """A credit limit: a plain sum, so that what can be reached is known."""

    _estimator_type = "regressor"

    def predict(self, X):
        housing = X["housing"].map({"own": 900.0, "rent": 0.0, "free": 300.0}).to_numpy(dtype=float)
        return 2.0 * X["income"].to_numpy() - 5.0 * X["debt"].to_numpy() + housing


def customers(n, seed=0):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": draw.integers(10, 50, n) * 50.0,
            "debt": draw.integers(0, 40, n) * 10,
            "housing": draw.choice(["own", "rent", "free"], n),
        }
    )


@pytest.fixture
def limits():
    X = customers(120)
    return NICE(Limits(), search="greedy").fit(X, Limits().predict(X))


@pytest.fixture
def new():
    return customers(40, seed=1)


# --- the same answers as for classes ----------------------------------------------------------------------------------


@given(problems(n_to_explain=st.integers(1, 4)), st.sampled_from(["none", "sparsity", "proximity", "plausibility"]))
def test_a_probability_as_score_gives_the_answers_of_its_class(p, optimize):
    if len(p.classes) != 2:
        p = type(p)(**{**vars(p), "classes": ["bad", "good"], "model": type(p.model)(2, p.model.seed),
                       "labels": [["bad", "good"][hash(str(label)) % 2] for label in p.labels]})  # fmt: skip
    rows, X = p.frame(p.to_explain), p.frame(p.rows)
    nice = p.nice(optimize, search="greedy").fit(X, p.labels)
    by_class = nice.explain(rows, target_class=["good"])
    # The highest probability decides, and a tie goes to the first class: "good" from 9/16 on.
    by_score = nice.explain(rows, target_score=(9 * SIXTEENTH, None))
    scored = from_score(lambda table: p.model(table)[:, 1], kind="score")
    numbers = [float(label == "good") for label in p.labels]
    options = {"optimize": optimize, "scale": p.scale, "justified": p.justified, "plausibility": p.error}
    by_function = NICE(scored, search="greedy", categorical_features=p.is_categorical, **options).fit(X, numbers)
    by_function = by_function.explain(rows, target_score=(9 * SIXTEENTH, None))
    # Where no donor helps, a target of scores is climbed to.
    same = by_class.found
    for other in (by_score, by_function):
        assert other.found[same].all()
        pd.testing.assert_frame_equal(other[same].to_frame(), by_class[same].to_frame())
        assert other.donors[same].tolist() == by_class.donors[same].tolist()
    scores = [p.model.probabilities(row)[1] for row in p.to_explain]
    assert by_score.predicted.tolist() == by_function.predicted.tolist() == scores


@fewer(0.5)
@given(problems(n_to_explain=st.integers(1, 4)), st.data())
def test_every_answer_lies_in_the_target_and_keeps_the_rules(p, data):
    low, high = data.draw(
        st.sampled_from([(0.5, None), (None, 0.25), (0.25, 0.5), (0.5, 0.5), (1.5, None), (None, -1)])
    )
    constraints = constraints_of(data.draw(rules_for(p)), p)
    search = data.draw(st.sampled_from(["greedy", "thorough"]))
    scored = from_score(lambda table: p.model(table)[:, 0], kind="score")
    nice = NICE(scored, search=search, justified=False, categorical_features=p.is_categorical, constraints=constraints)
    cfs = nice.fit(p.frame(p.rows)).explain(p.frame(p.to_explain), target_score=(low, high))
    margins = np.minimum(
        cfs.predicted - (-np.inf if low is None else low), (np.inf if high is None else high) - cfs.predicted
    )
    after = scored.score(cfs.batch.filled)
    inside = (after >= (-np.inf if low is None else low)) & (after <= (np.inf if high is None else high))
    assert inside[cfs.found].all()
    assert (cfs.metrics()["sparsity"].to_numpy()[cfs.found & (margins >= 0)] == 0).all()
    near = cfs.nearest()
    assert not near.found.any()
    assert not cfs.found[np.isin(cfs.rows, near.rows)].any()
    reached = scored.score(near.batch.filled) if len(near) else np.empty(0)
    assert near.probability.tolist() == reached.tolist()
    now = np.minimum(reached - (-np.inf if low is None else low), (np.inf if high is None else high) - reached)
    assert (now < 0).all()
    assert (now > margins[near.rows]).all()
    for part in (cfs[cfs.found], near):
        by_row = nice.explain(p.frame(p.to_explain), target_score=(low, high), constraints=constraints)
        assert by_row.found.tolist() == cfs.found.tolist()  # the rules of the explainer once more change nothing
        if constraints.max_changes is not None:
            assert (part.batch.n_changes <= constraints.max_changes).all()
        for feature in constraints.immutable:
            assert feature not in set(part.changes()["feature"])


@fewer(0.5)
@given(problems(n_to_explain=st.integers(2, 4)), st.sampled_from(["greedy", "thorough"]))
def test_a_batch_gives_what_its_rows_give(p, search):
    scored = from_score(lambda table: p.model(table)[:, 0], kind="score")
    nice = NICE(scored, search=search, justified=False, categorical_features=p.is_categorical).fit(p.frame(p.rows))
    rows, target = p.frame(p.to_explain), (0.75, None)
    cfs = nice.explain(rows, target_score=target)
    alone = [nice.explain(rows.iloc[[at]], target_score=target) for at in range(len(rows))]
    assert cfs.found.tolist() == [one.found[0] for one in alone]
    assert cfs.texts() == [one[0].text() for one in alone]
    near = [one.nearest().probability.tolist() for one in alone if len(one.nearest())]
    assert cfs.nearest().probability.tolist() == [score for scores in near for score in scores]


# --- donors -----------------------------------------------------------------------------------------------------------


def test_a_donor_lies_in_the_target_and_if_justified_its_label_too():
    X = pd.DataFrame({"income": [0.0, 1.0, 2.0, 3.0, 4.0]})
    model = from_score(lambda table: table["income"].to_numpy(), kind="score")
    labels = [0.0, 0.0, 0.0, 3.0, 0.0]  # the label of the nearest row in the target is not in it
    row = X.iloc[[0]]
    cfs = NICE(model, search="greedy").fit(X, labels).explain(row, target_score=(2, None))
    assert cfs.to_frame()["income"].tolist() == [3.0]
    cfs = NICE(model, justified=False).fit(X).explain(row, target_score=(2, None))
    assert cfs.to_frame()["income"].tolist() == [2.0]
    assert cfs.donors.tolist() == [2]
    none = NICE(model, search="greedy").fit(X, np.zeros(5)).explain(row, target_score=(2, None))
    assert none.reason_kinds.tolist() == ["not_justified"]
    assert none.nearest().to_frame()["income"].tolist() == [1.0]  # nor is what comes nearest from such a row


@given(problems(n_to_explain=st.integers(1, 5)), st.data())
def test_an_index_with_other_groups_finds_what_a_new_one_finds(p, data):
    values = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 4, (60, 3)).astype(float)
    values[::7, 1] = np.nan
    distance = Heom.of(values, np.array([False, False, True]), "range")
    before = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=60, max_size=60)))
    index = DonorIndex.of(values.copy(), before, 2, distance, leaf_size=8)
    after = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=60, max_size=60)))
    groups = after[index.positions]
    regrouped, places = index.regrouped(groups, 3)
    fresh = DonorIndex.of(values.copy(), np.where(before < 0, -1, after), 3, distance, leaf_size=8)
    assert np.array_equal(index.positions[places], regrouped.positions)
    assert np.array_equal(regrouped.values, values[regrouped.positions], equal_nan=True)
    rows, wanted = values[:5] + 0.25, np.array([[True, False, True]] * 5)
    for one, other in zip(
        regrouped.nearest_many(rows, wanted, k=4), fresh.nearest_many(rows, wanted, k=4), strict=True
    ):
        if one.dtype == np.float64:
            assert np.array_equal(one, other)
        else:
            positions = [np.where(of >= 0, index_.positions[of] if len(index_.positions) else of, -1)
                         for of, index_ in ((one, regrouped), (other, fresh))]  # fmt: skip
            assert np.array_equal(*positions)


# --- out of reach -----------------------------------------------------------------------------------------------------


def test_the_nearest_score_of_a_plain_sum_is_the_best_that_training_values_give(new):
    X = customers(120)
    nice = NICE(Limits()).fit(X, Limits().predict(X))
    best = pd.DataFrame(list(itertools.product(X["income"].unique(), X["debt"].unique(), X["housing"].unique())))
    best = float(Limits().predict(best.set_axis(list(X), axis=1)).max())
    cfs = nice.explain(new, target_score=(best + 1, None))
    near = cfs.nearest()
    assert not cfs.found.any()
    assert near.probability.tolist() == [best] * len(new)
    assert Limits().predict(near.to_frame()).tolist() == [best] * len(new)
    assert near.to_frame().dtypes.tolist() == new.dtypes.tolist()
    assert near.rows.tolist() == list(range(len(new)))
    assert set(cfs.note_kinds) == {("nearest",)}
    assert cfs.notes[0] == f"the nearest score within reach is {best:,g}"
    assert cfs.reasons[0] == f"the score of none of the 120 training rows that may be donors is 'at least {best + 1:g}'"


def test_what_mixing_reaches_in_the_target_is_found_though_no_donor_is_there(new):
    X = customers(120)
    highest = Limits().predict(X).max() + 1
    cfs = NICE(Limits()).fit(X, Limits().predict(X)).explain(new, target_score=(highest, None))
    assert cfs.found.all()
    assert (Limits().predict(cfs.to_frame()) >= highest).all()
    assert len(cfs.nearest()) == 0
    assert "0 rows" in repr(cfs.nearest())


def test_the_nearest_is_said_as_such_and_counted_nowhere(limits, new):
    cfs = limits.explain(new, target_score=(9_000, None))
    near = cfs.nearest()
    assert cfs.summary().groups["found"].tolist() == near.summary().groups["found"].tolist() == [0]
    assert repr(near).startswith("Out of reach: 40 rows, each with the answer whose score comes nearest to the target")
    assert "found" not in repr(near).splitlines()[0]
    for refused in (near.to_records, near[0].to_record, near.pareto):
        with pytest.raises(
            OptionError, match=r"nearest\(\) holds no answers: there is neither a record nor a Pareto set"
        ):
            refused()
    assert near[0].found is False
    assert near[0].reason == cfs.reasons[0]
    texts = near.texts()
    assert all(
        re.match(r"The target \(at least 9,000\) is out of reach. The nearest to it: if ", text) for text in texts
    )
    assert "and the target (at least 9,000) is out of reach" in near[0].text("bullets")
    assert "the nearest to at least 9,000 within reach" in near[0].text("analyst")
    assert "We found no way to the result that was asked for (at least 9,000)." in near[0].text("letter")
    assert "40 cases without a way, and why" in near.to_html()
    assert near.nearest() is near
    assert cfs[[7, 3]].nearest().rows.tolist() == [7, 3]
    assert pickle.loads(pickle.dumps(cfs)).nearest().probability.tolist() == near.probability.tolist()
    near[0].plot(), near[0].plot("walk")


def test_the_nearest_keeps_rules_and_guards(new):
    X = customers(120)
    rules = Constraints(immutable=["housing"], increasing=["income"], max_changes=1, ranges={"income": (None, 1500)})
    nice = NICE(Limits(), constraints=rules, share_donor=False, min_count=3).fit(X, Limits().predict(X))
    cfs = nice.explain(new, target_score=(50_000, None))
    near = cfs.nearest()
    assert len(near)
    after, before = near.to_frame(), new.iloc[near.rows]
    assert (near.batch.n_changes == 1).all()
    assert after["housing"].tolist() == before["housing"].tolist()
    rose = after["income"].to_numpy() != before["income"].to_numpy()
    assert (after["income"].to_numpy()[rose] > before["income"].to_numpy()[rose]).all()
    assert (after["income"].to_numpy()[rose] <= 1500).all()
    counts = X["debt"].value_counts()
    fell = after["debt"].to_numpy() != before["debt"].to_numpy()
    assert (counts[after["debt"].to_numpy()[fell]] >= 3).all()
    merged = near.to_frame().merge(X.drop_duplicates(), how="inner")
    assert merged.empty


def test_nearest_is_for_scores_alone():
    X = customers(60)
    y = np.where(Limits().predict(X) > 2000, "yes", "no")
    model = make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0))
    cfs = NICE(model.fit(X[["income", "debt"]], y)).fit(X[["income", "debt"]], y).explain(X[["income", "debt"]][:2])
    with pytest.raises(OptionError, match=r"nearest\(\) is for targets that are scores: explain\(X, target_score="):
        cfs.nearest()


# --- found by a review -------------------------------------------------------------------------------------------------


def score_of(function):
    return from_score(lambda X: np.asarray(function(X), dtype=float), kind="score")


def test_of_several_models_the_nearest_is_nearer_for_the_one_explained():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"a": draw.integers(0, 50, 200), "b": draw.integers(0, 50, 200)})
    nice = NICE(score_of(lambda X: X["a"] - X["b"]), robust_to=[score_of(lambda X: 3 * X["b"])], justified=False)
    cfs = nice.fit(X).explain(pd.DataFrame({"a": [48, 10], "b": [29, 0]}), target_score=(60, None))
    near = cfs.nearest()
    assert len(near)
    assert (near.predicted_after > cfs.predicted[near.rows]).all()


def test_a_climb_that_arrives_leaves_no_reason_behind():
    draw = np.random.default_rng(9)
    X = pd.DataFrame({name: draw.integers(0, 3, 30) for name in "abc"})
    nice = NICE(score_of(lambda X: X.sum(axis=1)), share_donor=False).fit(X, X.sum(axis=1))
    cfs = nice.explain(X.iloc[[16]], target_score=(5, None))
    assert cfs.found.all()
    assert cfs.reasons.tolist() == [None]


def test_a_climb_takes_no_value_that_only_unjustified_rows_hold():
    X = pd.DataFrame({"a": np.arange(50).repeat(4)})
    cfs = (
        NICE(score_of(lambda X: X["a"]))
        .fit(X, np.where(X["a"] >= 45, 0.0, X["a"]))
        .explain(X[:1], target_score=(45, None))
    )
    assert cfs.reason_kinds.tolist() == ["not_justified"]
    assert cfs.nearest().predicted_after.tolist() == [44]


def test_a_row_far_outside_of_training_comes_nearer_too():
    X = pd.DataFrame({"income": np.arange(20, 60), "debt": np.arange(40) % 10})
    model = score_of(lambda X: 100 * X["income"] - 10 * X["debt"])
    nice = NICE(model, constraints=Constraints(immutable=["income"]), justified=False).fit(X)
    near = nice.explain(pd.DataFrame({"income": [5, 22], "debt": [9, 9]}), target_score=(5_500, None)).nearest()
    assert near.rows.tolist() == [0, 1]
    assert near.predicted_after.tolist() == [500, 2_200]


def test_what_follows_from_nothing_that_changed_stays_as_it_is_in_the_nearest():
    X = pd.DataFrame({"a": [0.1, 0.3, 0.7] * 20, "c": np.arange(60) % 9.0})
    X["t"] = (X["a"] * 3).round(6)
    rules = Constraints(derived={"t": "a * 3"}, immutable=["a"])
    nice = NICE(score_of(lambda X: X["t"] + X["c"]), constraints=rules, justified=False).fit(X)
    assert set(nice.explain(X[:3], target_score=(99, None)).nearest().changes()["feature"]) == {"c"}


def test_in_the_target_a_climb_goes_no_farther_than_it_must():
    X = pd.DataFrame({"a": np.arange(30) % 10, "b": np.arange(30) // 3})
    X = X[X.sum(axis=1) <= 14]
    nice = NICE(score_of(lambda X: X["a"] + X["b"]), justified=False).fit(X)
    cfs = nice.explain(pd.DataFrame({"a": [5], "b": [5]}), target_score=(15, None), n_counterfactuals=3)
    assert cfs.predicted_after.tolist() == [15]
    assert cfs.notes.tolist() == ["1 of 3 counterfactuals"]


def test_a_climb_that_is_cut_short_says_so(new):
    X = customers(120)
    nice = NICE(Limits(), search="greedy").fit(X, Limits().predict(X))
    cfs = nice.explain(new, target_score=(30_000, None), time_budget=1e-9)
    assert set(cfs.note_kinds) == {("cut_search",)}


def test_small_scores_that_changed_are_noticed():
    sign = [1.0]
    X = pd.DataFrame({"a": np.arange(50.0)})
    nice = NICE(score_of(lambda X: sign[0] * 1e-9 * X["a"]), justified=False).fit(X)
    sign[0] = -1.0
    with pytest.raises(ModelError, match="its score was 3e-08 then and is -3e-08 now"):
        nice.explain(X[:2], target_score=(3e-8, None))


def test_options_set_after_fit_are_for_the_next_fit(new):
    X = customers(120)
    nice = NICE(Limits()).fit(X, Limits().predict(X))
    before = nice.explain(new, target_score=(3_000, None)).texts()
    nice.set_params(search="greedy")
    nice.explain(new, target_score=(2_000, None))
    assert nice.explain(new, target_score=(3_000, None)).texts() == before


def test_a_classifiers_file_is_not_loaded_with_a_score(tmp_path):
    pytest.importorskip("pyarrow")
    X = customers(60)[["income", "debt"]]
    y = (X["income"] > 1_000).astype(int)
    NICE(RandomForestClassifier(5, random_state=0).fit(X, y)).fit(X, y).save(tmp_path / "some.nice")
    with pytest.raises(ModelError, match="that had classes, and this ScoreModel returns scores"):
        NICE.load(tmp_path / "some.nice", model=score_of(lambda X: X["income"]))


# --- models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["greedy", "thorough"])
@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        RandomForestRegressor(20, random_state=0),
        make_pipeline(StandardScaler(), LinearRegression()),
    ],
    ids=["linear", "forest", "pipeline"],
)
def test_regressors_of_scikit_learn(model, search):
    X = customers(200)[["income", "debt"]]
    y = 2.0 * X["income"] - 5.0 * X["debt"]
    nice = NICE(model.fit(X, y), search=search).fit(X, y)
    for target in ((3_000, None), (None, 800), (2_000, 2_500)):
        cfs = nice.explain(X[:20], target_score=target)
        low, high = (-np.inf if target[0] is None else target[0], np.inf if target[1] is None else target[1])
        after = model.predict(cfs.to_frame())
        assert cfs.found.all()
        assert ((after >= low) & (after <= high)).all()
        assert np.allclose(cfs.predicted_after, after)
        assert cfs.metrics(model=model)["valid"].all()
        assert list(cfs.metrics())[:4] == ["sparsity", "proximity", "plausibility", "score"]
        assert "score" in cfs.changes()
        assert "probability" not in cfs.changes()


def test_a_boosted_regressor_answers_in_single_precision():
    xgboost = pytest.importorskip("xgboost")
    X = customers(200)[["income", "debt"]]
    y = 2e6 * X["income"] - 5.0 * X["debt"]
    model = xgboost.XGBRegressor(n_estimators=20, n_jobs=1).fit(X, y)
    cfs = NICE(model).fit(X, y).explain(X[:30], target_score=(3e9, None))
    assert cfs.found.all()
    assert (model.predict(cfs.to_frame()) >= 3e9).all()


def test_all_models_of_robust_to_must_reach_the_target():
    X = customers(200)[["income", "debt"]]
    y = 2.0 * X["income"] - 5.0 * X["debt"]
    first, second = LinearRegression().fit(X, y), RandomForestRegressor(20, random_state=0).fit(X, y + 300)
    cfs = NICE(first, robust_to=[second]).fit(X, y).explain(X[:20], target_score=(3_000, None))
    assert cfs.found.all()
    for model in (first, second):
        assert (model.predict(cfs.to_frame()) >= 3_000).all()
    assert (second.predict(X[:20]) < 3_000).any()
    with pytest.raises(
        OptionError, match=r"a model in robust_to is a RandomForestClassifier, but the model to explain"
    ):
        NICE(first, robust_to=[RandomForestClassifier(5).fit(X, y > 0)]).fit(X, y)


def test_a_classifier_with_two_classes_has_the_probability_of_the_second_as_score():
    X = customers(200)[["income", "debt"]]
    y = np.where(2.0 * X["income"] - 5.0 * X["debt"] > 1500, "approved", "denied")
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    cfs = NICE(model).fit(X, y).explain(X[:20], target_score=(None, 0.08))
    assert cfs.found.all()
    assert (model.predict_proba(cfs.to_frame())[:, 1] <= 0.08).all()
    assert cfs.metrics(model=model)["valid"].all()
    assert set(cfs.classes) == {"above 0.08", "at most 0.08"}


def test_the_model_is_called_as_often_as_for_classes(limits, new):
    calls = []
    score = from_score(lambda X: (calls.append(len(X)), Limits().predict(X))[1], kind="score")
    X = customers(120)
    nice = NICE(score, search="greedy").fit(X, Limits().predict(X))
    calls.clear()
    cfs = nice.explain(new, target_score=(3_000, None))
    assert len(calls) == cfs.model_calls <= cfs.metrics()["rounds"].max() + 2


# --- words, files, records --------------------------------------------------------------------------------------------


def test_the_score_stands_where_probabilities_stand(limits, new):
    cfs = limits.explain(new, target_score=(3_000, None))
    one = cfs[int(np.argmax(~(cfs.predicted >= 3_000)))]
    before, after = f"{one.predicted:,.0f}", f"{one.predicted_after:,.0f}"
    assert one.text().endswith(f"the score would be {after} instead of {before} (target: at least 3,000).")
    assert f"The score is {before} (below 3,000)." in one.text("bullets")
    assert one.text("analyst").startswith(f"score {before} (below 3,000) -> {after} (at least 3,000); ")
    assert f"the result would have been {after} (at least 3,000) if" in one.text("letter")
    assert "%" not in repr(one)
    assert repr(one).splitlines()[2].split() == ["feature", "before", "after", "score"]
    html = cfs.to_html()
    assert f"({before})" in html
    assert ">score<" in html
    there = cfs[int(np.argmax(cfs.predicted >= 3_000))]
    assert there.text() == f"The score is {there.predicted:,.0f} (at least 3,000) already; nothing has to change."
    assert set(cfs.summary().groups["predicted"]) == {"below 3000", "at least 3000"}
    one.plot("walk"), one.plot("regions"), cfs.plot()


def test_every_number_of_a_text_can_be_put_into_the_row():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"a": draw.normal(size=150), "b": draw.normal(size=150)})
    y = 3 * X["a"] + X["b"] ** 3
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    cfs = NICE(model).fit(X, y).explain(X[:60], target_score=(2.5, None))
    rows = X[:60].copy()
    for at, text in enumerate(cfs.texts()):
        for feature, value in re.findall(r"\b([ab]) were (-?[\d.]+) instead of", text):
            rows.loc[at, feature] = float(value)
    scores = model.predict(rows)
    assert (scores >= 2.5).all()
    said = [re.search(r"(?:would be|score is) (-?[\d.]+)", text)[1] for text in cfs.texts()]
    assert all(float(text) >= 2.5 and abs(float(text) - score) < 0.06 for text, score in zip(said, scores, strict=True))


def test_a_score_near_the_limit_is_never_shown_on_its_other_side():
    target = ScoreTarget(90.0, np.inf, scale=250.0)
    assert [target.text(score) for score in (218.14, 89.96, 89.999999, 90.0, -0.2)] == [
        "218",
        "89.96",
        "89.999999",
        "90",
        "0",
    ]


def test_saved_explainers_records_and_copies_give_the_same(limits, new, tmp_path):
    pytest.importorskip("pyarrow")
    cfs = limits.explain(new, target_score=(3_000, None))
    limits.save(tmp_path / "limits.nice")
    loaded = NICE.load(tmp_path / "limits.nice", model=Limits())
    for other in (loaded, pickle.loads(pickle.dumps(limits))):
        pd.testing.assert_frame_equal(other.explain(new, target_score=(3_000, None)).to_frame(), cfs.to_frame())
    record = cfs[0].to_record()
    assert record["call"]["target_score"] == [3_000, None]
    assert nicecf.replay(record, loaded).is_same
    out_of_reach = limits.explain(new, target_score=(30_000, None))[0].to_record()
    assert nicecf.replay(out_of_reach, loaded).is_same
    with pytest.raises(ModelError, match=r"that returned scores, and this function does not"):
        NICE.load(tmp_path / "limits.nice", model=lambda X: np.zeros((len(X), 2)))
    with pytest.raises(ModelError, match=r"its score was .* then and is .* now"):
        NICE.load(tmp_path / "limits.nice", model=from_score(lambda X: Limits().predict(X) + 1, kind="score"))


def test_a_model_that_changed_is_told_by_its_score(new):
    shift = [0.0]
    X = customers(120)
    model = from_score(lambda X: Limits().predict(X) + shift[0], kind="score")
    nice = NICE(model).fit(X, Limits().predict(X))
    shift[0] = 1.0
    with pytest.raises(ModelError, match=r"for training row \d+ its score was [\d.-]+ then and is [\d.-]+ now"):
        nice.explain(new, target_score=(3_000, None))


def test_a_damaged_file_of_a_regressor_is_refused(limits, tmp_path):
    pytest.importorskip("pyarrow")
    limits.save(tmp_path / "limits.nice")

    def unsaid(manifest, members):
        manifest["models"]["are_scores"] = False

    with pytest.raises(FileError, match="does not say whether its models return scores"):
        NICE.load(forge(tmp_path / "limits.nice", tmp_path, unsaid), model=Limits())

    def unequal(manifest, members):
        members["outputs.npy"] = npy(np.random.default_rng(0).normal(size=(120, 2)))

    with pytest.raises(FileError, match="its outputs are not scores"):
        NICE.load(forge(tmp_path / "limits.nice", tmp_path, unequal), model=Limits())


def test_a_time_budget_leaves_what_was_found(limits, new):
    cfs = limits.explain(new, target_score=(3_000, None), time_budget=1e-9)
    assert cfs.found.all()
    assert (Limits().predict(cfs.to_frame()) >= 3_000).all()
    assert not limits.explain(new, target_score=(30_000, None), time_budget=1e-9).found.any()


# --- misuse -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            None,
            r"the model returns scores, not classes: say which are wanted, explain\(X, target_score=\(low, high\)\)",
        ),
        (5000, r"target_score=5000 is not a pair; pass \(low, high\) with two numbers, both included, or None"),
        ((1,), r"target_score=\(1,\) is not a pair"),
        ("12", r"target_score='12' is not a pair"),
        ((None, None), r"target_score=\(None, None\) has no bound, so that every score lies in it"),
        ((float("nan"), 3), r"target_score=\(nan, 3\) has the bound nan; pass \(low, high\)"),
        (("a", 3), r"target_score=\('a', 3\) has the bound 'a'"),
        ((True, 3), r"has the bound True"),
        ((3, 2), r"target_score=\(3, 2\) is empty: no score is at least 3 and at most 2. Swap the bounds"),
        ((np.inf, None), r"is empty: no score is at least inf"),
    ],
)
def test_a_target_that_is_none_is_one_clear_error(limits, new, target, message):
    with pytest.raises(OptionError, match=message):
        limits.explain(new, target_score=target)


def test_no_class_is_wanted_where_scores_are(limits, new):
    asked = limits.explain(new, target_class=None, target_score=(5000, None))
    assert asked.to_records() == limits.explain(new, target_score=(5000, None)).to_records()
    with pytest.raises(OptionError, match=r"^the model returns scores, not classes: say which are wanted"):
        limits.explain(new, target_class=None)


def test_classes_and_scores_do_not_mix(limits, new):
    with pytest.raises(OptionError, match=r"target_class='approved' names a class, but the model returns scores"):
        limits.explain(new, target_class="approved")
    with pytest.raises(OptionError, match=r"target_class and target_score exclude each other"):
        limits.explain(new, target_class="approved", target_score=(1, None))
    X = customers(60)
    for option in ({"decision": 0.3}, {"min_probability": 0.6}, {"classes": [0, 1]}):
        with pytest.raises(OptionError, match=rf"{next(iter(option))}=.* is for models with classes, and this Limits"):
            NICE(Limits(), **option).fit(X, Limits().predict(X))
    with pytest.raises(OptionError, match=r"the baselines are for models with classes, and this Limits returns scores"):
        WIT(Limits()).fit(X, Limits().predict(X))
    numbers = X[["income", "debt"]]
    three = RandomForestClassifier(5, random_state=0).fit(numbers, X["housing"])
    with pytest.raises(
        OptionError, match=r"target_score needs a model with one score per row, but this one has 3 classes"
    ):
        NICE(three).fit(numbers, X["housing"]).explain(numbers[:1], target_score=(0.5, None))
    two = RandomForestClassifier(5, random_state=0).fit(numbers, X["housing"] == "own")
    with pytest.raises(OptionError, match=r"min_probability=0.7 is a margin for classes"):
        NICE(two, min_probability=0.7).fit(numbers, X["housing"] == "own").explain(
            numbers[:1], target_score=(0.5, None)
        )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda X: np.full(len(X), np.nan),
            r"the model returned nan for row 0 of \d+: a score must be a finite number",
        ),
        (lambda X: np.zeros((len(X), 2)), r"the model returned shape \(8, 2\), expected \(8,\): one score per row"),
        (lambda X: ["high"] * len(X), r"the model returned list, which is not numbers"),
        (lambda X: 1 / 0, r"the model raised ZeroDivisionError when asked for 8 rows"),
    ],
)
def test_what_is_no_score_is_refused(answer, message):
    X = customers(120)
    with pytest.raises(ModelError, match=message):
        NICE(from_score(answer, kind="score"), justified=False).fit(X)


def test_labels_of_a_regressor_are_numbers():
    X = customers(30)
    with pytest.raises(SchemaError, match=r"y holds 'high' \(row 0\), but the model returns scores: pass the numbers"):
        NICE(Limits()).fit(X, ["high"] * 30)
    with pytest.raises(SchemaError, match=r"y is missing"):
        NICE(Limits()).fit(X)


def test_scores_beyond_those_of_training_are_told_apart():
    """All training scores are near the target: the walk still takes the step that leads towards it."""

    def score(rows):
        return np.array([{(0, 0): 0.5, (1, 0): 0.4, (0, 1): 0.55, (1, 1): 0.6}[tuple(row)] for row in rows.astype(int)])

    nice = NICE(from_score(score, kind="score"), search="greedy", categorical_features=[0, 1])
    nice.fit(np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]), [0.6, 0.6, 0.55])
    cfs = nice.explain(np.array([[0.0, 0.0]]), target_score=(0.6, None))
    assert cfs.changes()["feature"].tolist() == ["x1", "x0"]
