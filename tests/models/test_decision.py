"""The decision as it is deployed: cut-offs, predict, a margin, several models that must agree."""

import functools
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nicecf import NICE, Constraints, DecisionWarning, ModelError, OptionError, testing
from strategies import HashModel, as_lists, problems


def probabilities_of(model, cfs):
    return np.array([model.probabilities(row) for row in as_lists(cfs.to_frame())])


def decided(probabilities, cutoffs, classes):
    """By plain loops: of the classes that reach their cut-off the furthest past it, else the best of the others."""
    decisions = []
    for line in probabilities:
        reached = [c for c, label in enumerate(classes) if label in cutoffs and line[c] >= cutoffs[label]]
        free = [c for c, label in enumerate(classes) if label not in cutoffs]
        if reached:
            decisions.append(max(reached, key=lambda c: (line[c] / cutoffs[classes[c]], -c)))
        elif free:
            decisions.append(max(free, key=lambda c: (line[c], -c)))
        else:
            decisions.append(max(range(len(classes)), key=lambda c: (line[c] / cutoffs[classes[c]], -c)))
    return decisions


@pytest.mark.parametrize("search", ["greedy", "thorough"])
@given(p=problems(n_to_explain=st.integers(1, 3)), data=st.data())
def test_every_counterfactual_passes_the_cutoffs_of_its_class(search, p, data):
    named = data.draw(st.lists(st.sampled_from(p.classes), min_size=1, unique=True))
    cutoffs = {label: data.draw(st.sampled_from([1 / 16, 0.12, 0.25, 0.5, 0.9])) for label in named}
    nice = p.nice("sparsity", decision=cutoffs, search=search).fit(p.frame(p.rows), p.labels)
    cfs = nice.explain(p.frame(p.to_explain), target_class=p.target)
    before = decided([p.model.probabilities(row) for row in p.to_explain], cutoffs, p.classes)
    assert list(cfs.predicted) == [p.classes[c] for c in before]
    found = cfs[cfs.found]
    after = [p.classes[c] for c in decided(probabilities_of(p.model, found), cutoffs, p.classes)]
    assert list(found.predicted_after) == after
    for one, own, label in zip(found, np.array(before)[cfs.found], after, strict=True):
        assert label != p.classes[own] if p.target == "other" else label in p.target
        assert one.probability == dict(zip(p.classes, *probabilities_of(p.model, one).tolist(), strict=True))[label]
    # Every training row that is decided so (and labelled so) is a donor; combinations may help where there is none.
    decisions = decided([p.model.probabilities(row) for row in p.rows], cutoffs, p.classes)
    for i, own in enumerate(before):
        wanted = [c for c in range(len(p.classes)) if (c != own if p.target == "other" else p.classes[c] in p.target)]
        donors = [
            c in wanted and (not p.justified or p.classes[c] == label)
            for c, label in zip(decisions, p.labels, strict=True)
        ]
        has_donor = own in wanted or any(donors)
        assert cfs.found[i] >= has_donor if search == "thorough" else cfs.found[i] == has_donor


@pytest.mark.parametrize("search", ["greedy", "thorough"])
@given(
    p=problems(n_to_explain=st.integers(1, 3)),
    seeds=st.lists(st.integers(0, 99), min_size=1, max_size=2),
    margin=st.sampled_from([None, 0.4, 0.6]),
)
def test_all_models_agree_by_the_margin_asked_for_wherever_a_training_row_shows_that_they_can(search, p, seeds, margin):
    others = [HashModel(len(p.classes), seed) for seed in seeds]
    nice = p.nice("sparsity", robust_to=others, min_probability=margin, search=search).fit(p.frame(p.rows), p.labels)
    cfs = nice.explain(p.frame(p.to_explain), target_class=p.target)

    def is_accepted(row, wanted):
        lines = [np.array(model.probabilities(row)) for model in (p.model, *others)]
        return all(line.argmax() in wanted and line.max() >= (margin or 0) for line in lines)

    for i, (one, row) in enumerate(zip(cfs, p.to_explain, strict=True)):
        own = int(np.argmax(p.model.probabilities(row)))
        wanted = [c for c in range(len(p.classes)) if (c != own if p.target == "other" else p.classes[c] in p.target)]
        if one.found:
            assert is_accepted(*as_lists(one.to_frame()), wanted)
        right = [
            candidate
            for candidate, label in zip(p.rows, p.labels, strict=True)
            if not p.justified or p.classes[int(np.argmax(p.model.probabilities(candidate)))] == label
        ]
        is_shown = is_accepted(row, wanted) or any(is_accepted(candidate, wanted) for candidate in right)
        assert one.found >= is_shown if search == "thorough" else one.found == is_shown, i


def step_data():
    X = pd.DataFrame({"income": np.arange(0.0, 100.0), "age": np.tile(40.0, 100)})
    return X, np.where(X["income"] > 50, "good", "bad")


class ByIncome:
    """Probability of good: a hundredth of the income."""

    classes_ = np.array(["bad", "good"], dtype=object)

    def predict_proba(self, X):
        p = np.asarray(X["income"], dtype=float) / 100
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize("threshold", [0.05, 0.12, 0.5, 0.88, 0.95])
def test_a_cutoff_is_for_the_second_class_and_reached_by_equality(threshold):
    X, _ = step_data()
    y = np.where(X["income"] / 100 >= threshold, "good", "bad")
    nice = NICE(ByIncome(), decision=threshold).fit(X, y)
    cfs = nice.explain(X)
    assert cfs.found.all()
    assert ((X["income"] / 100 >= threshold) != (cfs.to_frame()["income"] / 100 >= threshold)).all()
    first_above = nice.explain(X.iloc[:1]).to_frame()["income"].item()
    assert first_above == min(income for income in X["income"] if income / 100 >= threshold)
    assert nice.explain(X.iloc[:1])[0].probability == first_above / 100


def test_a_decision_function_gets_probabilities_and_returns_labels():
    X, _ = step_data()
    seen = []

    def decision(probabilities):
        seen.append(probabilities.shape[1])
        return np.where(probabilities[:, 1] > 0.7, "good", "bad")

    cfs = NICE(ByIncome(), decision=decision, justified=False).fit(X).explain(X.iloc[[10]])
    assert cfs.to_frame()["income"].item() == 71
    assert set(seen) == {2}
    assert str(cfs[0]).startswith(
        "If income were 71 instead of 10, the model would say good instead of bad: the probability of good would be 71 % instead of 10 % (a rule on the probabilities decides)."
    )


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            lambda p: p[:, 0] > 0.5,
            "the decision function returned (True|False), which is not a class of the model; its classes are 'bad', 'good'",
        ),
        (lambda p: "good", r"the decision function returned shape \(\), expected \(100,\): one label per row"),
        (lambda p: p, r"the decision function returned shape \(100, 2\)"),
    ],
)
def test_a_decision_function_that_returns_something_else(returned, message):
    X, y = step_data()
    with pytest.raises(ModelError, match=message):
        NICE(ByIncome(), decision=returned).fit(X, y)


class AtSeventy(ByIncome):
    def predict(self, X):
        return np.where(np.asarray(X["income"]) >= 70, "good", "bad")


def test_predict_decides_where_it_is_asked_to():
    X, y = step_data()
    with pytest.warns(DecisionWarning, match="Pass decision='predict', or the threshold itself"):
        NICE(AtSeventy()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nice = NICE(AtSeventy(), decision="predict", justified=False).fit(X)
    cfs = nice.explain(X)
    assert (AtSeventy().predict(cfs.to_frame()) != AtSeventy().predict(X)).all()
    assert (cfs.predicted == AtSeventy().predict(X)).all()
    assert cfs[0].probability == 0.7


THRESHOLDS = [
    "fixed",
    "fixed, for the first class",
    "fixed, of the decision function",
    "fixed, as it comes",
    "tuned",
    "tuned, on booleans",
    "tuned, for the first class",
    "last in a pipeline",
]


@functools.cache
def fitted_models():
    pytest.importorskip("sklearn.frozen", reason="scikit-learn has no thresholds for fitted models before 1.6")
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(400, 3)), columns=["a", "b", "c"])
    y = np.where(X.sum(axis=1) + random.normal(size=400) > 0.8, "yes", "no")
    model = LogisticRegression().fit(X, y)
    return X, y, model, {
        "fixed": FixedThresholdClassifier(FrozenEstimator(model), threshold=0.12).fit(X, y),
        "fixed, for the first class": FixedThresholdClassifier(FrozenEstimator(model), threshold=0.2, pos_label="no").fit(X, y),
        "fixed, of the decision function": FixedThresholdClassifier(FrozenEstimator(model), threshold=-1.0, response_method="decision_function").fit(X, y),
        "fixed, as it comes": FixedThresholdClassifier(FrozenEstimator(model)).fit(X, y),
        "tuned, for the first class": TunedThresholdClassifierCV(LogisticRegression(), scoring=make_scorer(f1_score, pos_label="no")).fit(X, y),
        "tuned": TunedThresholdClassifierCV(LogisticRegression(), scoring="balanced_accuracy").fit(X, y),
        "tuned, on booleans": TunedThresholdClassifierCV(LogisticRegression(), scoring="f1_macro").fit(X, np.where(y == "no", "a", "z") == "z"),
        "last in a pipeline": make_pipeline(StandardScaler(), FixedThresholdClassifier(LogisticRegression(), threshold=0.7)).fit(X, y),
    }  # fmt: skip


@pytest.mark.parametrize("name", THRESHOLDS)
def test_scikit_learns_thresholds_are_understood(name):
    X, _, _, models = fitted_models()
    model = models[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nice = NICE(model, justified=False).fit(X)
    cfs = nice.explain(X.iloc[:60])
    assert cfs.found.all()
    assert (cfs.predicted == model.predict(X.iloc[:60])).all()
    assert (model.predict(cfs.to_frame()) != model.predict(X.iloc[:60])).all()


def test_a_threshold_read_off_the_model_costs_no_call_of_predict():
    X, _, _, models = fitted_models()
    model = models["fixed"]
    nice = NICE(model, justified=False).fit(X)
    assert nice._fitted.panel.members[0].rule.cutoffs is not None
    nice = NICE(models["fixed, of the decision function"], justified=False).fit(X)
    assert nice._fitted.panel.members[0].rule.by_predict


def test_a_margin_is_kept_and_rows_in_the_target_without_it_are_moved_on():
    X, y = step_data()
    nice = NICE(ByIncome(), min_probability=0.8).fit(X, y)
    cfs = nice.explain(X.iloc[[10, 60, 90]], target_class="good")
    assert cfs.to_frame()["income"].tolist() == [80, 80, 90]
    assert [len(one.changes) for one in cfs] == [1, 1, 0]
    assert nice.explain(X.iloc[[90]]).to_frame()["income"].item() == 20


def test_models_that_must_agree_may_name_their_classes_in_another_order():
    X, y = step_data()

    class Reversed(ByIncome):
        classes_ = np.array(["good", "bad"], dtype=object)

        def predict_proba(self, X):
            p = np.clip((np.asarray(X["income"], dtype=float) - 20) / 100, 0, 1)
            return np.column_stack([p, 1 - p])

    cfs = NICE(ByIncome(), robust_to=[Reversed()]).fit(X, y).explain(X.iloc[[10]])
    assert cfs.to_frame()["income"].item() == 71


def test_where_the_models_cannot_agree_the_reason_says_which_one_blocks():
    X, y = step_data()

    def never(X):
        return np.tile([0.9, 0.1], (len(X), 1))

    cfs = NICE(ByIncome(), robust_to=[ByIncome(), never], min_probability=0.6).fit(X, y).explain(X.iloc[[10]])
    assert not cfs.found[0]
    assert cfs.reasons[0].startswith(
        "no training row gives 'good' as required. Blocked by: model 2 of robust_to must agree. "
    )
    assert cfs[0].relaxation.action == "leave out model 2 of robust_to"
    assert cfs[0].relaxation.constraints is None
    assert cfs[0].relaxation.n_changes == 1
    strict = NICE(ByIncome(), min_probability=0.999).fit(X, y).explain(X.iloc[[10]])
    assert "Blocked by: the probability must be at least 99.9 %." in strict.reasons[0]
    assert strict[0].relaxation.action == "accept a probability of 0.99"


def test_a_reason_where_several_rules_block_each_other():
    X, y = step_data()

    def never(X):
        return np.tile([0.9, 0.1], (len(X), 1))

    nice = NICE(ByIncome(), robust_to=[never]).fit(X, y)
    reason = nice.explain(X.iloc[[10]], constraints=Constraints(immutable=["income"])).reasons[0]
    assert "relaxing one of them is not enough: 'income' may not change; model 1 of robust_to must agree" in reason


def test_a_decision_that_is_the_highest_probability_changes_nothing():
    X, y = testing.applicants()
    plain = NICE(testing.Scorecard()).fit(X, y).explain(X.iloc[:5])
    same = (
        NICE(testing.Scorecard(), decision=lambda p: testing.Scorecard.classes_[p.argmax(axis=1)])
        .fit(X, y)
        .explain(X.iloc[:5])
    )
    testing.assert_same(plain, same)
    assert plain.found.all()


def test_a_twin_follows_a_cutoff():
    from sklearn.ensemble import RandomForestClassifier

    X, y = testing.applicants()
    X, y = X[["age"]].assign(income=X["income"].fillna(0)), np.asarray(y) == "yes"
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    options = {"decision": 0.3, "justified": False}
    by_model = NICE(model, accelerate=False, **options).fit(X).explain(X)
    for accelerate in (True, "unconfirmed"):
        testing.assert_same(by_model, NICE(model, accelerate=accelerate, **options).fit(X).explain(X))
    assert ((model.predict_proba(by_model.to_frame())[:, 1] >= 0.3) != (model.predict_proba(X)[:, 1] >= 0.3)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decision": 0.0}, "cut-off 0.0 for 'good'; it must be a number greater than 0 and less than 1"),
        ({"decision": 1}, "cut-off 1 for 'good'"),
        ({"decision": -0.5}, "cut-off -0.5"),
        ({"decision": float("nan")}, "cut-off nan"),
        ({"decision": True}, "decision=True is not known; pass a cut-off"),
        ({"decision": "predikt"}, "decision='predikt' is not known; .* Did you mean 'predict'?"),
        ({"decision": {}}, "names no class"),
        ({"decision": {"maybe": 0.5}}, "cut-off for 'maybe', which is not a class of the model; choose one of 'bad', 'good'"),
        ({"decision": {"good": "high"}}, "cut-off 'high' for 'good'"),
        ({"decision": [0.5, 0.5]}, r"decision=\[0.5, 0.5\] is not known"),
        ({"min_probability": 0}, "min_probability must be a number above 0 and at most 1"),
        ({"min_probability": 1.5}, "min_probability .* got 1.5"),
        ({"min_probability": "high"}, "min_probability .* got 'high'"),
        ({"robust_to": ByIncome()}, "robust_to must be a list of models that must agree on every counterfactual, got ByIncome. Pass \\[model\\]"),
        ({"robust_to": [3]}, "model must be a fitted classifier"),
        ({"robust_to": [ByIncome()], "accelerate": True}, "accelerate and robust_to exclude each other"),
        ({"decision": "predict", "accelerate": True}, "accelerate and decision='predict' exclude each other"),
    ],
)  # fmt: skip
def test_bad_options(options, message):
    X, y = step_data()
    with pytest.raises(OptionError, match=message):
        NICE(ByIncome(), **options).fit(X, y)


def test_a_model_that_must_agree_needs_the_same_classes():
    X, y = step_data()
    other = LogisticRegression().fit(X, np.where(y == "good", 1, 0))
    with pytest.raises(
        OptionError,
        match=re.escape("a model in robust_to has the classes 0, 1, but the model to explain has 'bad', 'good'"),
    ):
        NICE(ByIncome(), robust_to=[other]).fit(X, y)


def test_one_cutoff_for_more_than_two_classes_is_refused():
    X, y = testing.applicants()
    with pytest.raises(OptionError, match=r"one cut-off, but the model has 3 classes .* decision=\{'yes': 0.3\}"):
        NICE(testing.Scorecard(), decision=0.3).fit(X, y)


def test_predict_needs_a_model_that_has_it():
    X, y = step_data()
    with pytest.raises(OptionError, match="decision='predict' needs a model with predict; this method has none"):
        NICE(ByIncome().predict_proba, decision="predict").fit(X, y)


def test_a_decision_function_is_never_asked_about_nothing_and_its_errors_are_named():
    X, y = step_data()
    decision = lambda p: np.vectorize(lambda v: "good" if v > 0.5 else "bad")(p[:, 1])  # fails for no rows
    cfs = NICE(ByIncome(), decision=decision).fit(X, y).explain(X[:1], constraints=Constraints(immutable=["income"]))
    assert not cfs.found[0]
    with pytest.raises(
        ModelError, match="the decision function raised ZeroDivisionError when asked for 100 rows: division by zero"
    ):
        NICE(ByIncome(), decision=lambda p: 1 / 0).fit(X, y)


def test_the_probability_that_is_offered_will_do():
    X = np.arange(10.0)[:, None]
    model = lambda X: np.column_stack([1 - np.where(X[:, 0] >= 5, 0.5795, 0.2), np.where(X[:, 0] >= 5, 0.5795, 0.2)])
    y = (X[:, 0] >= 5).astype(int)
    action = NICE(model, min_probability=0.9).fit(X, y).explain(X[:1])[0].relaxation.action
    assert action == "accept a probability of 0.579"
    assert NICE(model, min_probability=0.579).fit(X, y).explain(X[:1]).found[0]
