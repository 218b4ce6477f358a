"""The model's own ``predict``, where it differs from its highest probability: noticed at fit, and noted in answers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from nicecf import NICE, DecisionWarning, baselines, replay
from nicecf.models.deciding import can_differ
from nicecf.models.decision import rule_of

X = pd.DataFrame({"income": np.arange(100.0), "debts": np.arange(100.0) % 7})
Y = np.where(X["income"] >= 50, "yes", "no")


class ByIncome:
    """The probability of yes is the income in percent; predict says no up to ``cut``. It counts calls of predict."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, cut=50):
        self.cut, self.asked = cut, []

    def predict_proba(self, X):
        p = np.asarray(X["income"], dtype=float) / 100
        return np.column_stack([1 - p, p])

    def predict(self, X):
        self.asked.append(len(X))
        return np.where(np.asarray(X["income"]) >= self.cut, "yes", "no")


def test_ordinary_models_are_asked_for_predict_once_at_fit_and_never_later():
    model = ByIncome()
    nice = NICE(model).fit(X, Y)
    nice.explain(X)
    assert model.asked == [100]


def test_answers_that_predict_does_not_confirm_are_noted_counted_and_warned_of():
    model = ByIncome(cut=60)
    with pytest.warns(DecisionWarning, match="for 9 of 100 training rows"):
        nice = NICE(model).fit(X, Y)
    model.asked.clear()
    with pytest.warns(DecisionWarning, match="does not confirm 60 of 80 counterfactuals: .* Pass decision='predict'"):
        cfs = nice.explain(X[:80])
    assert model.asked == [160]
    wrong = model.predict(cfs.to_frame()) == model.predict(X[:80])
    assert [note is not None for note in cfs.notes] == wrong.tolist()
    assert cfs.notes[0] == "not confirmed by the model's own predict, which says 'no' of the row and 'no' of this counterfactual (see decision='predict')"  # fmt: skip
    assert cfs.note_kinds[0] == ("own_predict",)
    assert cfs.summary().n_denied_by_predict == wrong.sum()
    assert "The model's predict does not confirm 60 counterfactuals: see cfs.notes" in str(cfs.summary())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            NICE(model, decision="predict", justified=False).fit(X).explain(X[:80]).summary().n_denied_by_predict == 0
        )


def test_rows_near_the_border_are_compared_at_fit_though_no_sample_has_them():
    table = pd.DataFrame({"income": np.tile([10.0, 90.0], 2500), "debts": 0.0})
    table.loc[1, "income"] = 52.0
    with pytest.warns(DecisionWarning, match=r"for 1 of 1,\d+ training rows"):
        NICE(ByIncome(cut=60), optimize="none").fit(table, np.where(table["income"] >= 50, "yes", "no"))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("wrapped", ["alone", "pipeline", "search", "one versus rest"])
def test_support_vector_machines_are_known_to_differ(wrapped):
    table, y = load_iris(return_X_y=True, as_frame=True)
    model = SVC(probability=True, random_state=0)
    model = {
        "alone": model,
        "pipeline": make_pipeline(StandardScaler(), model),
        "search": GridSearchCV(model, {"C": [1.0]}, cv=2),
        "one versus rest": OneVsRestClassifier(model),
    }[wrapped].fit(table, y)
    assert can_differ(model)
    assert not can_differ(make_pipeline(StandardScaler(), LogisticRegression()).fit(table, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecisionWarning)
        nice = NICE(model, optimize="none").fit(table, y)
        cfs = nice.explain(table[::5])
        with pytest.warns(DecisionWarning, match="the model's predict does not confirm"):
            greedy = nice.with_search(optimize="sparsity", search="greedy").explain(table[::5])
    for one in (cfs, greedy):
        unchanged = model.predict(one.to_frame()) == model.predict(table[::5])
        assert one.summary().n_denied_by_predict == unchanged.sum()


def test_models_that_must_agree_are_compared_too():
    other = ByIncome(cut=60)
    with pytest.warns(DecisionWarning, match=r"the predict of robust_to\[0\] differs .* for 9 of 100"):
        nice = NICE(ByIncome(), robust_to=[other]).fit(X, Y)
    with pytest.warns(DecisionWarning, match=r"the predict of robust_to\[0\] does not confirm 51 of 100"):
        cfs = nice.explain(X)
    assert cfs.notes[0].startswith("not confirmed by predict of a model in robust_to, which says 'no' of the row")
    assert not any(cfs.notes[51:])  # it says no of these rows already, and of their counterfactuals


def test_saved_explainers_and_records_keep_the_comparison(tmp_path):
    model = ByIncome(cut=60)
    with pytest.warns(DecisionWarning):
        nice = NICE(model).fit(X, Y)
    nice.save(tmp_path / "a.nice")
    loaded = NICE.load(tmp_path / "a.nice", model=model)
    with pytest.warns(DecisionWarning):
        cfs = nice.explain(X[:3])
    with pytest.warns(DecisionWarning):
        assert loaded.explain(X[:3]).notes.tolist() == cfs.notes.tolist()
    with pytest.warns(DecisionWarning):
        assert replay(cfs[0].to_record(), loaded).is_same


def test_members_of_the_front_are_not_answers_and_have_no_such_note():
    with pytest.warns(DecisionWarning):
        cfs = NICE(ByIncome(cut=60)).fit(X, Y).explain(X[:3])
    assert cfs.notes[0] is not None
    assert cfs.pareto().notes[0] is None


def test_baselines_have_the_notes_too():
    with pytest.warns(DecisionWarning):
        cfs = baselines.CBR(ByIncome(cut=60)).fit(X, Y).explain(X[:3])
    assert cfs.summary().n_denied_by_predict == (ByIncome(cut=60).predict(cfs.to_frame()) == "no").sum()


@pytest.mark.parametrize("predicted", [lambda n: 1 / 0, lambda n: np.zeros((n, 2)), lambda n: None])
def test_a_predict_that_returns_no_labels_is_not_compared(predicted):
    model = ByIncome()
    model.predict = lambda X: predicted(len(X))
    NICE(model).fit(X, Y).explain(X[:3])


def test_probabilities_as_scores_have_nothing_to_compare():
    with pytest.warns(DecisionWarning):
        nice = NICE(ByIncome(cut=60)).fit(X, Y)
    assert nice.explain(X[:3], target_score=(0.55, None)).notes.tolist() == [None] * 3


def test_a_threshold_inside_a_search_is_understood():
    FixedThresholdClassifier = pytest.importorskip("sklearn.model_selection").FixedThresholdClassifier
    inner = FixedThresholdClassifier(LogisticRegression(), threshold=0.3, response_method="predict_proba")
    model = GridSearchCV(inner, {"estimator__C": [1.0]}, cv=2).fit(X, Y)
    assert rule_of(None, model, model.classes_).cutoffs[1] == 0.3
    NICE(model, justified=False).fit(X)
