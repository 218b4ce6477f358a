"""``min_probability`` of a call: the answers of a fit with it, to the last bit."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from explain.test_feature_weights import LABELS, ROWS, X, model
from nicecf import NICE, Constraints, OptionError, from_score, replay
from nicecf.explain.min_probability import with_margin
from nicecf.search import neighbors

NUMBERS = X[["a", "b", "d"]]
WEIGHTS_OF_NUMBERS = {"a": 7.0}
THREE = np.digitize(NUMBERS["a"] + 3 * NUMBERS["b"], [3.0, 9.0])
FOREST = RandomForestClassifier(20, max_depth=5, random_state=0).fit(NUMBERS, LABELS)
LINEAR = LogisticRegression(max_iter=1000).fit(NUMBERS, LABELS)
CLASSES = RandomForestClassifier(20, max_depth=5, random_state=0).fit(NUMBERS, THREE)
SMALL = RandomForestClassifier(4, max_depth=3, random_state=0).fit(NUMBERS, LABELS)
CASES = {
    "a function": (model, {"classes": [0, 1]}, {}),
    "a forest": (FOREST, {}, {}),
    "a linear model": (LINEAR, {"optimize": "proximity"}, {}),
    "several classes": (CLASSES, {}, {}),
    "a class of several": (CLASSES, {}, {"target_class": 2}),
    "a cut-off": (FOREST, {"decision": 0.3}, {}),
    "a decision of its own": (FOREST, {"decision": lambda shares: (shares[:, 1] > 0.4).astype(int)}, {}),
    "predict": (FOREST, {"decision": "predict"}, {}),
    "models that agree": (FOREST, {"robust_to": [LINEAR]}, {}),
    "greedy": (FOREST, {"search": "greedy"}, {}),
    "one donor": (FOREST, {"mix_donors": False}, {}),
    "guarded": (FOREST, {"share_donor": False, "min_count": 2}, {}),
    "exact": (SMALL, {"search": "exact"}, {}),
    "rules": (FOREST, {"constraints": Constraints(increasing=["a"])}, {"constraints": Constraints(max_changes=1)}),
    "several answers": (FOREST, {}, {"n_counterfactuals": 3}),
    "weights": (FOREST, {}, {"feature_weights": WEIGHTS_OF_NUMBERS}),
    "any label": (FOREST, {"justified": False}, {}),
}


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch):
    """Many leaves, so that their order matters."""
    monkeypatch.setattr(neighbors.DonorIndex.of.__func__, "__kwdefaults__", {"leaf_size": 16})


def told(cfs):
    """All that is told of answers, to be compared."""
    return {
        "rows": cfs.to_frame(),
        "changes": cfs.changes().drop(columns="donor"),
        "metrics": cfs.metrics(),
        "reasons": cfs.reasons.tolist(),
        "relaxations": [str(one) for one in cfs.relaxations],
        "texts": cfs.texts(),
        "proofs": [str(one) for one in cfs.proof],
    }


def different(one, other):
    """The names of what is told otherwise."""

    def is_same(name):
        return one[name].equals(other[name]) if hasattr(one[name], "equals") else one[name] == other[name]

    return [name for name in one if not is_same(name)]


@pytest.mark.parametrize("case", CASES)
def test_the_answers_are_those_of_a_fit_with_the_margin(case):
    of, options, call = CASES[case]
    table, rows = (X, ROWS) if of is model else (NUMBERS, ROWS[list(NUMBERS)])
    labels = THREE if of is CLASSES else LABELS
    rows = rows[:8] if of is SMALL else rows
    plain, higher, high = (NICE(of, min_probability=one, **options).fit(table, labels) for one in (None, 0.6, 0.8))
    there = told(high.explain(rows, **call))
    here = plain.explain(rows, min_probability=0.8, **call)
    assert different(told(here), there) == []
    # Of several training rows that hold a new value, either may be named.
    named = here.changes().dropna(subset="donor")
    assert [table[each.feature].iloc[each.donor] for each in named.itertuples()] == named["after"].tolist()
    assert different(told(higher.explain(rows, min_probability=0.8, **call)), there) == []
    # The margin matters, and nothing of it is left behind.
    before = told(NICE(of, **options).fit(table, labels).explain(rows, **call))
    assert different(before, there)
    assert different(told(plain.explain(rows, **call)), before) == []


def test_a_loaded_explainer_does_the_same(tmp_path):
    nice = NICE(FOREST).fit(NUMBERS, LABELS)
    nice.save(tmp_path / "some.nice")
    loaded = NICE.load(tmp_path / "some.nice", model=FOREST)
    rows = ROWS[list(NUMBERS)]
    here, there = (told(one.explain(rows, min_probability=0.8)) for one in (loaded, nice))
    assert different(here, there) == []


def test_a_record_names_the_margin_and_is_replayed_with_it():
    nice = NICE(FOREST).fit(NUMBERS, LABELS)
    rows = ROWS[list(NUMBERS)][:1]
    record = nice.explain(rows, min_probability=0.8)[0].to_record()
    assert record["call"]["min_probability"] == 0.8
    assert replay(record, nice).is_same
    assert "min_probability" not in nice.explain(rows)[0].to_record()["call"]
    without = {**record, "call": {name: value for name, value in record["call"].items() if name != "min_probability"}}
    assert any("counterfactual" in line for line in replay(without, nice).differences)


@pytest.mark.parametrize("asked", [{"min_probability": 0.8}, {"feature_weights": WEIGHTS_OF_NUMBERS}])
def test_a_proven_record_is_checked_without_the_solver_as_it_was_asked_for(asked, monkeypatch):
    nice = NICE(SMALL, search="exact").fit(NUMBERS, LABELS)
    record = nice.explain(ROWS[list(NUMBERS)][:1], **asked)[0].to_record()
    monkeypatch.setattr("nicecf.explain.replay.find_spec", lambda name: None)
    monkeypatch.setattr("nicecf.search.exact.require", lambda *name, **why: pytest.fail("the solver was asked"))
    again = replay(record, nice)
    assert again.is_same, again
    assert any("not proven again" in note for note in again.notes)


def test_a_margin_is_learned_once_and_a_few_are_kept(monkeypatch):
    nice = NICE(FOREST, search="greedy").fit(NUMBERS, LABELS)
    made = []

    def counted(least, *given):
        made.append(least)
        return with_margin(least, *given)

    monkeypatch.setattr("nicecf.nice.with_margin", counted)
    rows = ROWS[list(NUMBERS)][:2]
    for least in (0.7, 0.8, 0.7, 0.8):
        nice.explain(rows, min_probability=least)
    assert made == [0.7, 0.8]
    for least in np.linspace(0.55, 0.6, 20).tolist():
        nice.explain(rows, min_probability=least)
    assert len(nice._last_margins._kept) == 4
    monkeypatch.setattr("nicecf.explain.saving.large.LEAST_VALUES", 1)
    large = NICE(FOREST).fit(NUMBERS, LABELS)
    for least in (0.7, 0.8):
        large.explain(rows, min_probability=least)
    assert list(large._last_margins._kept) == [0.8]


@pytest.mark.parametrize(
    ("options", "call", "message"),
    [
        ({"min_probability": 0.7}, {"min_probability": 0.6}, "less than the explainer's own, 0.7"),
        ({}, {"min_probability": 0}, "above 0 and at most 1"),
        ({}, {"min_probability": "0.6"}, "above 0 and at most 1"),
        ({}, {"min_probability": True}, "above 0 and at most 1"),
        ({}, {"min_probability": 0.6, "target_score": (0.6, None)}, "Put the margin into target_score"),
    ],
)
def test_a_margin_that_cannot_be_is_refused(options, call, message):
    nice = NICE(FOREST, **options).fit(NUMBERS, LABELS)
    with pytest.raises(OptionError, match=message):
        nice.explain(ROWS[list(NUMBERS)], **call)


def test_models_of_scores_have_no_margin():
    nice = NICE(from_score(lambda rows: rows["a"], kind="score")).fit(NUMBERS, NUMBERS["a"])
    with pytest.raises(OptionError, match=r"for models with classes.*target_score"):
        nice.explain(ROWS[list(NUMBERS)], min_probability=0.6, target_score=(5, None))
