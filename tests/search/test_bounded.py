"""What the leaves of trees prove of the thorough search's answers, beside the enumeration of everything."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from nicecf import NICE, Constraints, replay
from nicecf.models.scorer import nothing_ahead


def table(seed: int, *, n_classes: int = 2, n_rows: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """Few distinct values, so that thresholds and ties happen; some noise in the labels."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 4, (n_rows, 4)) * np.array([1.0, 0.5, 10.0, 1.0])
    score = X[:, 0] + 2 * X[:, 1] - 0.1 * X[:, 2] + random.normal(0, 0.7, n_rows)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))


def boosting(X, y):
    return GradientBoostingClassifier(n_estimators=8, random_state=0).fit(X, y)


def stumps(X, y):
    return GradientBoostingClassifier(n_estimators=12, max_depth=1, random_state=0).fit(X, y)


def forest(X, y):
    return RandomForestClassifier(7, max_depth=4, random_state=0).fit(X, y)


def histograms(X, y):
    return HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=3, random_state=0).fit(X, y)


def xgboost(X, y):
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, random_state=0).fit(X, y)


MODELS = [boosting, stumps, forest, histograms, xgboost]


def cheapest(model, X: np.ndarray, row: np.ndarray, optimize: str, spread: np.ndarray) -> float:
    """What the best of all combinations of training values costs; infinite if there is none."""
    every = [pd.unique(np.append(column, own)) for column, own in zip(X.T, row, strict=True)]
    others = np.array(list(itertools.product(*every)))
    others = others[model.predict(others) != model.predict(row[None])[0]]
    is_same = (others == row) | (np.isnan(others) & np.isnan(row))
    parts = np.where(np.isnan(others) | np.isnan(row), 1.0, np.abs(others - row) / spread) * ~is_same
    costs = (~is_same).sum(axis=1) if optimize == "sparsity" else parts.sum(axis=1)
    return float(costs.min()) if len(costs) else np.inf


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.__name__)
def test_what_is_said_of_answers_is_true(model, n_classes, optimize):
    statuses = set()
    for seed in range(3):
        X, y = table(seed, n_classes=n_classes)
        fitted = model(X, y)
        rows = X[:8] + np.array([0.0, 0.0, 0.0, 0.25])  # a value that no training row has
        cfs = NICE(fitted, optimize=optimize).fit(X, y).explain(rows)
        costs = cfs.metrics()["sparsity" if optimize == "sparsity" else "proximity"].to_numpy()
        for row, proof, gap, cost in zip(rows, cfs.proof, cfs.gap, costs, strict=True):
            statuses.add(proof)
            best = cheapest(fitted, X, row, optimize, np.ptp(X, axis=0))
            if proof == "optimal":
                assert cost == pytest.approx(best)
                assert gap == 0
            elif proof == "bound":
                assert best >= cost * (1 - gap) - 1e-9
                assert 0 < gap < 1
    assert "optimal" in statuses


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
def test_missing_values_are_values(optimize):
    X, y = table(4)
    random = np.random.default_rng(0)
    X[random.random(X.shape) < 0.15] = np.nan
    fitted = histograms(X, y)
    cfs = NICE(fitted, optimize=optimize).fit(X, y).explain(X[:12])
    spread = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    costs = cfs.metrics()["sparsity" if optimize == "sparsity" else "proximity"].to_numpy()
    for row, proof, gap, cost in zip(X, cfs.proof, cfs.gap, costs, strict=False):
        best = cheapest(fitted, X, row, optimize, spread)
        assert proof in ("optimal", "bound", "none")
        if proof != "none":
            assert best >= cost * (1 - gap) - 1e-9
    assert "optimal" in cfs.proof


def test_categories_of_a_frame():
    random = np.random.default_rng(1)
    X = pd.DataFrame({"a": random.integers(0, 4, 120), "home": random.choice(["own", "rent", "free"], 120)})
    X["home"] = X["home"].astype("category")
    y = (X["a"] + 2 * (X["home"] == "own") + random.normal(0, 0.5, 120) > 2.5).astype(int)
    fitted = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3, categorical_features="from_dtype").fit(X, y)
    cfs = NICE(fitted, optimize="proximity").fit(X, y).explain(X[:20])
    found = cfs.to_frame()
    assert "optimal" in cfs.proof
    for i in np.flatnonzero(cfs.proof == "optimal"):
        others = pd.DataFrame(itertools.product(range(4), ["own", "rent", "free"]), columns=["a", "home"])
        others["home"] = others["home"].astype(X["home"].dtype)
        others = others[fitted.predict(others) != fitted.predict(X[i : i + 1])[0]]
        costs = (others["a"] - X["a"][i]).abs() / 3 + (others["home"] != X["home"][i])
        assert abs(found["a"].iloc[i] - X["a"][i]) / 3 + (found["home"].iloc[i] != X["home"][i]) == pytest.approx(
            costs.min()
        )


def test_rules_only_make_answers_cost_more():
    X, y = table(5)
    fitted = boosting(X, y)
    rules = Constraints(immutable=[0], increasing=[1], max_changes=2)
    cfs = NICE(fitted, optimize="proximity", constraints=rules).fit(X, y).explain(X[:20])
    free = NICE(fitted, optimize="proximity").fit(X, y).explain(X[:20])
    bounds, others = ([proof.bound for proof in one.batch.proofs] for one in (cfs, free))
    both = cfs.found & free.found
    assert both.any()
    # What is known of a row is the same with rules and without; what it proves is about its own answer.
    assert all(one <= other + 1e-12 or other == 0 for one, other in zip(others, bounds, strict=True) if other)
    assert (cfs.proof[~cfs.found] == "none").all()


def test_the_search_stops_at_what_cannot_be_better():
    X, y = table(6, n_rows=300)
    X += np.random.default_rng(6).normal(0, 0.2, X.shape)
    nice = NICE(stumps(X, y), optimize="proximity", accelerate=False).fit(X, y)
    with nothing_ahead():
        bounded = nice.explain(X[:60])
        nice._fitted = replace(nice._fitted, search=nice._fitted.search.search)
        plain = nice.explain(X[:60])
    np.testing.assert_array_equal(bounded.to_numpy(), plain.to_numpy())
    assert (bounded.proof == "optimal").sum() > 10
    assert (plain.proof == "none").all()
    assert bounded.batch.model_rows < plain.batch.model_rows


def test_a_batch_says_the_same_as_its_rows():
    X, y = table(7)
    nice = NICE(boosting(X, y), optimize="proximity").fit(X, y)
    cfs = nice.explain(X[:10])
    assert cfs.proof.tolist() == [nice.explain(X[i : i + 1]).proof[0] for i in range(10)]
    again = pickle.loads(pickle.dumps(cfs))
    assert again.proof.tolist() == cfs.proof.tolist()
    assert [one.proof for one in cfs] == cfs.proof.tolist()


def test_only_the_best_of_several_is_proven():
    X, y = table(8)
    nice = NICE(boosting(X, y)).fit(X, y)
    cfs = nice.explain(X[:10], n_counterfactuals=3)
    is_first = np.append(True, cfs.rows[1:] != cfs.rows[:-1])
    assert "optimal" in cfs.proof[is_first]
    assert (cfs.proof[~is_first] == "none").all()


def test_a_row_in_its_target_needs_nothing_better():
    X, y = table(9)
    fitted = boosting(X, y)
    rows = X[fitted.predict(X) == 1][:3]
    cfs = NICE(fitted).fit(X, y).explain(rows, target_class=1)
    assert cfs.proof.tolist() == ["optimal"] * 3
    assert (cfs.gap == 0).all()


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (lambda X, y: LogisticRegression().fit(X, y), {}),
        (boosting, {"search": "greedy"}),
        (boosting, {"mix_donors": False}),
        (boosting, {"decision": "predict"}),
        (
            lambda X, y: RandomForestClassifier(60, random_state=0).fit(
                X + np.random.default_rng(0).random(X.shape), y
            ),
            {},
        ),
    ],
    ids=["no trees", "greedy", "one donor", "decided by predict", "too many leaves"],
)
def test_where_nothing_is_known_nothing_is_said(model, options):
    X, y = table(10, n_rows=900)
    cfs = NICE(model(X, y), **options).fit(X, y).explain(X[:4])
    assert cfs.proof.tolist() == ["none"] * 4
    assert np.isnan(cfs.gap).all()
    assert "proof" not in cfs.to_records()[0]


def test_a_model_that_was_trained_again_proves_nothing():
    X, y = table(11)
    fitted = boosting(X, y)
    nice = NICE(fitted).fit(X, y)
    assert "optimal" in nice.explain(X[:5]).proof
    bounds = nice._fitted.search.bounds
    fitted.fit(X, 1 - y)
    assert not bounds.formula.is_current()


def test_a_record_of_before_that_says_nothing_of_proofs_is_still_the_same():
    from nicecf.results.records import digest_of

    X, y = table(12)
    nice = NICE(boosting(X, y)).fit(X, y)
    record = nice.explain(X[:1]).to_records()[0]
    assert record["proof"]["solver"] == "leaves"
    assert replay(record, nice).is_same
    before = {name: value for name, value in record.items() if name not in ("proof", "digest")}
    assert replay(before | {"digest": digest_of(before)}, nice).is_same
    record["proof"]["bound"] = 7
    assert not replay(record, nice).is_same
