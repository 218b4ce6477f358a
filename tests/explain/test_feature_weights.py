"""``feature_weights`` of a call: the answers of a fit with them, to the last bit."""

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints, OptionError, replay
from nicecf.search import neighbors


def table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.integers(0, 12, n_rows).astype(float),
            "b": rng.normal(size=n_rows).round(1),
            "c": rng.choice(["x", "y", "z"], n_rows),
            "d": rng.integers(0, 5, n_rows),
        }
    )


def model(X):
    score = X["a"] / 4 + X["b"] + (X["c"] == "x") + X["d"] / 3 - 3
    yes = (1 / (1 + np.exp(-score))).to_numpy()
    return np.column_stack([1 - yes, yes])


WEIGHTS = {"a": 7.0, "c": 0.1}
X, ROWS = table(400), table(25, seed=1)
LABELS = (model(X)[:, 1] > 0.5).astype(int)
CASES = {
    "the default": ({}, {}),
    "greedy": ({"search": "greedy"}, {}),
    "greedy, proximity": ({"search": "greedy", "optimize": "proximity"}, {}),
    "proximity": ({"optimize": "proximity"}, {}),
    "one donor": ({"mix_donors": False}, {}),
    "guarded": ({"share_donor": False, "min_count": 2}, {}),
    "rules": ({"constraints": Constraints(immutable=["d"])}, {"constraints": Constraints(max_changes=2)}),
    "several": ({}, {"n_counterfactuals": 3}),
    "scores": ({}, {"target_score": (0.7, None)}),
}


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch):
    """Many leaves, so that their order matters."""
    monkeypatch.setattr(neighbors.DonorIndex.of.__func__, "__kwdefaults__", {"leaf_size": 16})


@pytest.mark.parametrize("case", CASES)
def test_the_answers_are_those_of_a_fit_with_the_weights(case):
    options, call = CASES[case]
    plain, weighed = (
        NICE(model, classes=[0, 1], feature_weights=one, **options).fit(X, LABELS) for one in (None, WEIGHTS)
    )
    here, there = plain.explain(ROWS, feature_weights=WEIGHTS, **call), weighed.explain(ROWS, **call)
    assert here.to_frame().equals(there.to_frame())
    assert here.changes().equals(there.changes())
    assert here.metrics().equals(there.metrics())
    assert here.reasons.tolist() == there.reasons.tolist()
    assert here.donors.to_numpy(na_value=-1).tolist() == there.donors.to_numpy(na_value=-1).tolist()
    # They matter, and nothing of them is left behind.
    assert not plain.explain(ROWS, **call).metrics().equals(here.metrics())
    assert (
        plain.explain(ROWS, **call)
        .metrics()
        .equals(NICE(model, classes=[0, 1], **options).fit(X, LABELS).explain(ROWS, **call).metrics())
    )


def test_the_weights_of_a_call_take_the_place_of_the_explainers():
    nice = NICE(model, classes=[0, 1], feature_weights={"b": 50.0}).fit(X, LABELS)
    other = NICE(model, classes=[0, 1], feature_weights=WEIGHTS).fit(X, LABELS)
    assert nice.explain(ROWS, feature_weights=WEIGHTS).metrics().equals(other.explain(ROWS).metrics())


def test_a_loaded_explainer_does_the_same(tmp_path):
    nice = NICE(model, classes=[0, 1]).fit(X, LABELS)
    nice.save(tmp_path / "some.nice")
    loaded = NICE.load(tmp_path / "some.nice", model=model)
    assert (
        loaded.explain(ROWS, feature_weights=WEIGHTS)
        .changes()
        .equals(nice.explain(ROWS, feature_weights=WEIGHTS).changes())
    )


def test_a_record_names_the_weights_and_is_replayed_with_them():
    nice = NICE(model, classes=[0, 1]).fit(X, LABELS)
    record = nice.explain(ROWS[:1], feature_weights=WEIGHTS)[0].to_record()
    assert record["call"]["feature_weights"] == [7.0, 1.0, 0.1, 1.0]
    assert replay(record, nice).is_same
    assert "feature_weights" not in nice.explain(ROWS[:1])[0].to_record()["call"]


@pytest.mark.parametrize(
    ("weights", "message"), [({"e": 1}, "'e'"), ({"a": 0}, "a weight is a number above 0"), ([1, 2], "2 numbers")]
)
def test_weights_that_are_none_are_refused(weights, message):
    nice = NICE(model, classes=[0, 1]).fit(X, LABELS)
    with pytest.raises(OptionError, match=message):
        nice.explain(ROWS, feature_weights=weights)
