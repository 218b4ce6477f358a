"""Proofs, beside the enumeration of everything that a row can become."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE, Constraints, replay
from nicecf.exceptions import OptionError

pytest.importorskip("ortools", reason="proofs need the extra 'exact'")


def table(seed: int, *, n_classes: int = 2, n_rows: int = 90, levels: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Few distinct values, so that thresholds and ties happen; some noise in the labels."""
    random = np.random.default_rng(seed)
    X = random.integers(0, levels, (n_rows, 4)) * np.array([1.0, 0.5, 10.0, 1.0])
    score = X[:, 0] + 2 * X[:, 1] - 0.1 * X[:, 2] + random.normal(0, 0.7, n_rows)
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X, y


def forest(X, y):
    return RandomForestClassifier(7, max_depth=4, random_state=0).fit(X, y)


def deep_forest(X, y):
    return ExtraTreesClassifier(6, random_state=0).fit(X, y)


def boosting(X, y):
    return GradientBoostingClassifier(n_estimators=8, random_state=0).fit(X, y)


def histograms(X, y):
    return HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=3, random_state=0).fit(X, y)


def linear(X, y):
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)


def xgboost(X, y):
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, random_state=0).fit(X, y)


def lightgbm(X, y):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=8, min_child_samples=3, n_jobs=1, random_state=0, verbose=-1).fit(X, y)


MODELS = [forest, deep_forest, boosting, histograms, linear, xgboost, lightgbm]


def everything(X: np.ndarray, row: np.ndarray) -> np.ndarray:
    """All rows that can be made of the values of training rows and of the row's own."""
    values = [np.unique(np.append(column, own)) for column, own in zip(X.T, row, strict=True)]
    return np.array(list(itertools.product(*values)))


def costs_of(X: np.ndarray, row: np.ndarray, others: np.ndarray, optimize: str, weights=None) -> np.ndarray:
    if optimize == "sparsity":
        return (others != row).sum(axis=1).astype(float)
    parts = np.abs(others - row) / np.ptp(X, axis=0)
    return (parts * (1.0 if weights is None else weights)).sum(axis=1)


def turned(fitted, rows):
    """Whether the model decides otherwise than on one of some rows."""
    before = fitted.predict(rows)
    return lambda i, others: fitted.predict(others) != before[i]


def check(nice, X, rows, is_accepted, optimize, *, is_allowed=None, weights=None, **asked):
    """Every answer is the cheapest of all that are accepted, or proven not to exist where there is none."""
    cfs = nice.explain(rows, **asked)
    for i, row in enumerate(rows):
        others = everything(X, row)
        if is_allowed is not None:
            others = others[is_allowed(row, others)]
        good = others[is_accepted(i, others)]
        good = good[(good != row).any(axis=1)]
        if not len(good):
            assert not cfs.found[i]
            assert cfs.proof[i] == "infeasible"
            continue
        best = costs_of(X, row, good, optimize, weights).min()
        assert cfs.proof[i] == "optimal"
        assert cfs.gap[i] == 0
        found = cfs.to_numpy()[i].astype(float)
        assert is_accepted(i, found[None])[0]
        assert costs_of(X, row, found[None], optimize, weights)[0] == pytest.approx(best, rel=1e-6)
    return cfs


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.__name__)
def test_nothing_is_better_than_what_is_said_to_be_optimal(model, optimize):
    for seed in range(2):
        X, y = table(seed)
        fitted = model(X, y)
        nice = NICE(fitted, search="exact", optimize=optimize).fit(X, y)
        rows = X[:6] + np.array([0.0, 0.0, 0.0, 0.25])  # a value that no training row has
        check(nice, X, rows, turned(fitted, rows), optimize)


@pytest.mark.parametrize(
    "model", [forest, deep_forest, boosting, histograms, linear, xgboost], ids=lambda one: one.__name__
)
def test_with_many_classes_and_a_named_target(model):
    X, y = table(3, n_classes=3)
    fitted = model(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity").fit(X, y)
    before = fitted.predict(X[:5])
    check(nice, X, X[:5], lambda i, others: fitted.predict(others) != before[i], "proximity")
    rows = X[:8][fitted.predict(X[:8]) != 2]
    check(nice, X, rows, lambda i, others: fitted.predict(others) == 2, "proximity", target_class=2)
    rows = X[:8][fitted.predict(X[:8]) == 1]
    check(nice, X, rows, lambda i, others: np.isin(fitted.predict(others), [0, 2]), "proximity", target_class=[0, 2])


@pytest.mark.parametrize("model", [forest, boosting, linear, xgboost], ids=lambda one: one.__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_margin_is_kept_by_what_is_optimal(model, n_classes):
    X, y = table(4, n_classes=n_classes)
    fitted = model(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity", min_probability=0.62).fit(X, y)

    def is_accepted(i, others):
        shares = fitted.predict_proba(others)
        return (shares.argmax(axis=1) == 0) & (shares[:, 0] >= 0.62)

    rows = X[:10][fitted.predict(X[:10]) != 0][:4]
    check(nice, X, rows, is_accepted, "proximity", target_class=0)


@pytest.mark.parametrize("model", [forest, deep_forest, boosting, linear, xgboost], ids=lambda one: one.__name__)
@pytest.mark.parametrize("cutoff", [0.3, 0.5, 0.75])
def test_the_decision_is_the_one_that_is_deployed(model, cutoff):
    X, y = table(5)
    fitted = model(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity", decision=cutoff).fit(X, y)
    before = fitted.predict_proba(X[:6])[:, 1] >= cutoff
    check(nice, X, X[:6], lambda i, others: (fitted.predict_proba(others)[:, 1] >= cutoff) != before[i], "proximity")


@pytest.mark.parametrize("model", [forest, boosting], ids=lambda one: one.__name__)
def test_cutoffs_of_several_classes(model):
    X, y = table(6, n_classes=3)
    fitted = model(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity", decision={2: 0.25}).fit(X, y)
    rows = X[:10][fitted.predict_proba(X[:10])[:, 2] < 0.25][:4]
    check(nice, X, rows, lambda i, others: fitted.predict_proba(others)[:, 2] >= 0.25, "proximity", target_class=2)
    rows = X[fitted.predict_proba(X)[:, 2] >= 0.25][:4]

    def is_accepted(i, others):
        shares = fitted.predict_proba(others)
        return (shares[:, 2] < 0.25) & (shares[:, 0] >= shares[:, 1])

    check(nice, X, rows, is_accepted, "proximity", target_class=0)


def test_scores_that_are_wanted():
    X, y = table(7)
    fitted = boosting(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity").fit(X, y)
    rows = X[:10][fitted.predict_proba(X[:10])[:, 1] < 0.55][:4]

    def is_accepted(i, others):
        shares = fitted.predict_proba(others)[:, 1]
        return (shares >= 0.6) & (shares <= 0.8)

    check(nice, X, rows, is_accepted, "proximity", target_score=(0.6, 0.8))


def test_all_models_that_must_agree():
    X, y = table(8)
    one, other, third = boosting(X, y), forest(X, y), linear(X, y)
    nice = NICE(one, search="exact", optimize="proximity", robust_to=[other, third]).fit(X, y)
    rows = X[:12][(one.predict(X[:12]) == 0)][:4]

    def is_accepted(i, others):
        return (one.predict(others) == 1) & (other.predict(others) == 1) & (third.predict(others) == 1)

    check(nice, X, rows, is_accepted, "proximity", target_class=1)


def test_weights_count_in_the_distance():
    X, y = table(9)
    fitted, weights = boosting(X, y), [5.0, 0.2, 1.0, 3.0]
    nice = NICE(fitted, search="exact", optimize="proximity", feature_weights=weights).fit(X, y)
    before = fitted.predict(X[:6])
    check(nice, X, X[:6], lambda i, o: fitted.predict(o) != before[i], "proximity", weights=np.array(weights))


RULES = {
    "immutable": ({"immutable": [0]}, lambda row, o: o[:, 0] == row[0]),
    "one way": ({"increasing": [0], "decreasing": [2]}, lambda row, o: (o[:, 0] >= row[0]) & (o[:, 2] <= row[2])),
    "range": ({"ranges": {1: (0.4, 1.1)}}, lambda row, o: ((o[:, 1] >= 0.4) & (o[:, 1] <= 1.1)) | (o[:, 1] == row[1])),
    "allowed": ({"allowed": {2: [0.0, 30.0]}}, lambda row, o: np.isin(o[:, 2], [0.0, 30.0]) | (o[:, 2] == row[2])),
    "forbid": ({"forbid": {0: [(0.0, 3.0)]}}, lambda row, o: ~((row[0] == 0.0) & (o[:, 0] == 3.0))),
    "step": ({"step": {2: 20}}, lambda row, o: (np.abs(o[:, 2] - row[2]) % 20) == 0),
    "within": (
        {"within": {1: 0.3, 2: "50%"}},
        lambda row, o: (np.abs(o[:, 1] - row[1]) <= 0.3 + 1e-12) & (np.abs(o[:, 2] - row[2]) <= np.abs(row[2]) / 2),
    ),
    "max changes": ({"max_changes": 1}, lambda row, o: (o != row).sum(axis=1) <= 1),
}


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("name", RULES)
def test_rules_are_kept_by_what_is_optimal(name, optimize):
    given, is_allowed = RULES[name]
    for seed in (10, 11):
        X, y = table(seed)
        fitted = boosting(X, y)
        nice = NICE(fitted, search="exact", optimize=optimize, constraints=Constraints(**given)).fit(X, y)
        check(nice, X, X[:6], turned(fitted, X[:6]), optimize, is_allowed=is_allowed)


def named(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["a", "b", "c", "d"])


def test_relations_hold_in_what_is_optimal(monkeypatch):
    X, y = table(12)
    fitted = boosting(named(X), y)
    rules = Constraints(relations=["a + b <= d + 2", "c >= 20 implies a >= 1"])

    def is_allowed(row, o):
        return (o[:, 0] + o[:, 1] <= o[:, 3] + 2) & ((o[:, 2] < 20) | (o[:, 0] >= 1))

    rows = X[is_allowed(None, X)][:8]
    before = fitted.predict(named(rows))
    for most in (200_000, 4):  # looked at together, and where that is too much, afterwards
        monkeypatch.setattr("nicecf.search.exact.units.MOST_COMBINATIONS", most)
        nice = NICE(fitted, search="exact", optimize="proximity", constraints=rules).fit(named(X), y)
        cfs = nice.explain(named(rows))
        for i, row in enumerate(rows):
            others = everything(X, row)
            others = others[is_allowed(row, others)]
            good = others[fitted.predict(named(others)) != before[i]]
            best = costs_of(X, row, good, "proximity").min()
            assert cfs.proof[i] == "optimal"
            assert cfs.metrics()["proximity"][i] == pytest.approx(best, rel=1e-6)


def test_columns_that_follow_from_others():
    X, y = table(13)
    frame = named(X).assign(total=X[:, 0] + 2 * X[:, 1])
    y = ((frame["total"] > 3) ^ (X[:, 3] > 2)).astype(int).to_numpy()
    fitted = boosting(frame, y)
    nice = NICE(fitted, search="exact", optimize="sparsity", constraints=Constraints(derived={"total": "a + 2 * b"}))
    cfs = nice.fit(frame, y).explain(frame[:8])
    before = fitted.predict(frame[:8])
    for i, row in enumerate(X[:8]):
        others = everything(X, row)
        whole = named(others).assign(total=others[:, 0] + 2 * others[:, 1])
        good = others[fitted.predict(whole) != before[i]]
        assert cfs.proof[i] == "optimal"
        assert cfs.metrics()["sparsity"][i] == (good != row).sum(axis=1).min()


def test_groups_take_values_of_one_donor():
    X, y = table(14)
    fitted = boosting(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity", constraints=Constraints(groups=[[0, 1]])).fit(X, y)
    donors = X[fitted.predict(X) == y]
    pairs = {tuple(pair) for pair in donors[:, :2]}
    before = fitted.predict(X[:6])

    def is_allowed(row, o):
        return np.array([tuple(one[:2]) in pairs or tuple(one[:2]) == tuple(row[:2]) for one in o])

    check(nice, X, X[:6], lambda i, o: fitted.predict(o) != before[i], "proximity", is_allowed=is_allowed)


def test_categories_and_missing_values_in_splits():
    from xgboost import XGBClassifier

    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "kind": pd.Categorical(random.choice(["p", "q", "r", "s"], 120)),
            "size": random.choice([1.0, 2.0, 3.0, np.nan], 120),
            "rate": random.choice([0.1, 0.2, 0.30000001], 120).astype(np.float32),
        }
    )
    y = np.where(X["kind"].isin(["p", "s"]) ^ (X["size"].fillna(5) > 2), "yes", "no")
    codes = (y == "yes").astype(int)
    model = XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True, n_jobs=1, random_state=0).fit(X, codes)
    nice = NICE(model, search="exact", optimize="sparsity").fit(X, codes)
    cfs = nice.explain(X[:12])
    before = model.predict(X[:12])
    for i in range(12):
        own = X.iloc[i]
        sizes = [1.0, 2.0, 3.0] + ([own["size"]] if np.isnan(own["size"]) else [])  # nobody is told to become missing
        grid = list(itertools.product(["p", "q", "r", "s"], sizes, X["rate"].unique()))
        others = pd.DataFrame(grid, columns=X.columns).astype({"rate": np.float32})
        others["kind"] = pd.Categorical(others["kind"], categories=["p", "q", "r", "s"])
        good = others[model.predict(others) != before[i]]
        is_same = (good["kind"] == own["kind"], good["rate"] == own["rate"])
        same_size = (good["size"] == own["size"]) | (good["size"].isna() & np.isnan(own["size"]))
        assert cfs.proof[i] == "optimal"
        assert cfs.metrics()["sparsity"][i] == (3 - is_same[0] - is_same[1] - same_size).min()


def test_one_hot_codes_behind_a_linear_model():
    random = np.random.default_rng(1)
    X = pd.DataFrame({"kind": random.choice(list("pqrs"), 150), "size": random.integers(0, 9, 150).astype(float)})
    y = ((X["kind"].isin(["p", "s"]) * 3 + X["size"]) > 6).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder=StandardScaler())
    model = make_pipeline(encode, LogisticRegression()).fit(X, y)
    nice = NICE(model, search="exact", optimize="proximity").fit(X, y)
    cfs = nice.explain(X[:8])
    before = model.predict(X[:8])
    for i in range(8):
        others = pd.DataFrame(itertools.product("pqrs", np.arange(9.0)), columns=X.columns)
        good = others[model.predict(others) != before[i]]
        distances = (good["kind"] != X["kind"][i]) + np.abs(good["size"] - X["size"][i]) / 8
        assert cfs.proof[i] == "optimal"
        assert cfs.metrics()["proximity"][i] == pytest.approx(distances.min())


def test_values_that_only_rows_of_too_few_people_hold_are_not_used():
    X, y = table(15, levels=6)
    fitted = boosting(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity", min_count=14).fit(X, y)
    common = [{value for value in column if (column == value).sum() >= 14} for column in X.T]
    before = fitted.predict(X[:5])

    def is_allowed(row, o):
        return np.array([all(v in own or v == r for v, r, own in zip(one, row, common, strict=True)) for one in o])

    check(nice, X, X[:5], lambda i, o: fitted.predict(o) != before[i], "proximity", is_allowed=is_allowed)


def test_nothing_that_is_optimal_is_a_training_row_that_may_not_be_shared():
    X, y = table(16)
    fitted = boosting(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity", share_donor=False).fit(X, y)
    shared = {tuple(one) for one in X}
    before = fitted.predict(X[:6])
    check(
        nice,
        X,
        X[:6],
        lambda i, o: (fitted.predict(o) != before[i]) & np.array([tuple(one) not in shared for one in o]),
        "proximity",
    )


def test_what_no_training_row_reaches_is_found_all_the_same():
    # The presolve of ortools 9.15 lost the best answer of such rows, and "proved" a worse one.
    for seed, line in ((435, 7), (1268, 0)):
        random = np.random.default_rng(seed)
        k = int(random.choice([2, 3, 4]))
        X = random.integers(0, 3, (25, 4)).astype(float)
        y = np.digitize(X @ random.normal(size=4) + random.normal(0, 0.3, 25), [-0.7, 0.7, 1.5][: k - 1])
        random.random()
        n_trees = int(random.integers(3, 9))
        fitted = GradientBoostingClassifier(n_estimators=n_trees, max_depth=2, random_state=0).fit(X, y)
        shares = fitted.predict_proba(everything(X, X[0]))
        c = int(random.integers(k)) % shares.shape[1]
        own = np.unique(shares[shares.argmax(axis=1) == c, c])
        own = own[own > fitted.predict_proba(X)[:, c].max() + 1e-6]
        if not len(own):
            continue
        margin = float((fitted.predict_proba(X)[:, c].max() + own[0]) / 2)
        nice = NICE(fitted, search="exact", optimize="proximity", min_probability=margin).fit(X, y)

        def is_accepted(i, others, fitted=fitted, c=c, margin=margin):
            shares = fitted.predict_proba(others)
            return (shares.argmax(axis=1) == c) & (shares[:, c] >= margin)

        check(nice, X, X[[line]], is_accepted, "proximity", target_class=fitted.classes_[c])


def test_distances_are_told_apart_however_large_one_of_them_is():
    random = np.random.default_rng(24)
    X = random.integers(0, 4, (60, 4)) + random.integers(0, 3, (60, 4)) * 0.13
    y = (X[:, 0] + X[:, 1] + random.normal(0, 1.5, 60) > 3).astype(int)
    fitted = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0).fit(X, y)
    best = max(fitted.predict_proba(everything(X, X[0]))[:, 1])
    margin = float((fitted.predict_proba(X)[:, 1].max() + best) / 2)
    row = X[[np.argmin(fitted.predict_proba(X)[:, 1])]].copy()
    row[0, 3] = 1e9
    nice = NICE(fitted, search="exact", optimize="proximity", min_probability=margin).fit(X, y)
    check(nice, X, row, lambda i, o: fitted.predict_proba(o)[:, 1] >= margin, "proximity", target_class=1)


def test_models_of_a_conflict_are_named_once_and_the_search_for_it_ends():
    random = np.random.default_rng(0)
    X = random.integers(0, 4, (60, 2)).astype(float)
    y = (X[:, 0] > 1).astype(int)
    one, other = (DecisionTreeClassifier(max_depth=depth).fit(X, y) for depth in (2, 1))
    rules = Constraints(immutable=[0])
    cfs = NICE(one, search="exact", robust_to=[other], constraints=rules).fit(X, y).explain(X[:1])
    assert cfs.proof[0] == "infeasible"
    assert "In conflict: 0 may not change" in cfs.reasons[0]
    assert "model" not in cfs.reasons[0].partition("In conflict")[2]


def test_shares_of_several_classes_that_are_wanted_do_not_go_round_in_circles():
    random = np.random.default_rng(0)
    X = random.integers(0, 4, (60, 1)).astype(float)
    y = np.digitize(X[:, 0] + random.normal(0, 1, 60), [0.7, 1.5, 2.3])
    fitted = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, y)
    nice = NICE(fitted, search="exact", decision={2: 0.2}, min_probability=0.4).fit(X, y)
    cfs = nice.explain(np.array([[0.0]]), target_class=[0, 3], time_budget=20)
    assert cfs.proof[0] in ("optimal", "infeasible")


def test_a_model_that_says_one_thing_within_reach_beside_another():
    random = np.random.default_rng(64)
    X = random.integers(0, 3, (60, 3)).astype(float)
    y = (X.sum(axis=1) + random.normal(0, 0.5, 60) > 3).astype(int)
    one = RandomForestClassifier(5, max_depth=3, random_state=64).fit(X, y)
    other = DecisionTreeClassifier(max_depth=1).fit(X, y)
    nice = NICE(one, search="exact", robust_to=[other]).fit(X, y)
    before = one.predict(X[[2]])

    def is_accepted(i, others):
        return (one.predict(others) != before[i]) & (other.predict(others) != before[i])

    check(nice, X, X[[2]], is_accepted, "sparsity")


@pytest.mark.parametrize(
    "model", [HistGradientBoostingClassifier(max_iter=2), LogisticRegression()], ids=["trees", "linear"]
)
def test_a_model_that_says_the_same_of_everything(model):
    X, y = np.ones((60, 1)), np.arange(60) % 3
    cfs = NICE(model.fit(X, y), search="exact").fit(X, y).explain(X[:1])
    assert cfs.proof.tolist() == ["infeasible"]


@pytest.mark.parametrize("cutoff", [1e-7, 1 - 1e-7])
def test_cutoffs_beyond_single_precision(cutoff):
    from xgboost import XGBClassifier

    X, y = table(30)
    sure = {"learning_rate": 1.0, "reg_lambda": 0.0, "min_child_weight": 0.0}
    fitted = XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1, **sure).fit(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity", decision=cutoff).fit(X, y)

    def is_high(others):
        return fitted.predict_proba(others)[:, 1].astype(float) >= cutoff

    before = is_high(X[:4])
    check(nice, X, X[:4], lambda i, others: is_high(others) != before[i], "proximity")


def test_rules_in_conflict_are_named_and_no_others():
    X, y = table(17)
    fitted = boosting(named(X), y)
    rules = Constraints(immutable=["a", "b", "c"], ranges={"d": (0, 2)})
    nice = NICE(fitted, search="exact", constraints=rules).fit(named(X), y)
    cfs = nice.explain(named(X[:10]))
    blocked = np.flatnonzero(cfs.proof == "infeasible")
    assert len(blocked)
    for i in blocked:
        assert cfs.reasons[i].startswith("proven: ")
        assert cfs.reason_kinds[i] == "infeasible_under"
        said = [name for name in "abcd" if f"'{name}' " in cfs.reasons[i]]
        assert said
        # What is named is enough to block, and without any one of them there is a way.
        for kept in [said, *(set(said) - {one} for one in said)]:
            others = everything(X, X[i])
            fixed = [at for at, name in enumerate("abc") if name in kept]
            others = others[(others[:, fixed] == X[i, fixed]).all(axis=1)]
            if "d" in kept:
                others = others[(others[:, 3] <= 2) | (others[:, 3] == X[i, 3])]
            changes = fitted.predict(named(others)) != fitted.predict(named(X[[i]]))
            assert changes.any() == (kept is not said)


def test_where_the_model_says_the_same_of_everything_that_is_proven():
    X, y = table(18)
    fitted = boosting(X, y)
    nice = NICE(fitted, search="exact", min_probability=0.9999999).fit(X, y)
    cfs = nice.explain(X[:2])
    assert set(cfs.proof) == {"infeasible"}
    assert cfs.reasons[0].endswith("In conflict: the probability must be at least 99.99999 %")


def test_a_batch_gives_the_same_as_its_rows_and_pickles_with_its_proof():
    X, y = table(19)
    nice = NICE(boosting(X, y), search="exact", optimize="proximity").fit(X, y)
    cfs = nice.explain(X[:6])
    for i in range(6):
        one = nice.explain(X[[i]])
        assert np.array_equal(one.to_numpy()[0], cfs.to_numpy()[i])
        assert one.proof[0] == cfs.proof[i]
    assert pickle.loads(pickle.dumps(cfs)).proof.tolist() == cfs.proof.tolist()
    assert cfs[0].proof == "optimal"
    assert cfs[0].gap == 0


def test_a_budget_too_short_for_a_proof_leaves_the_best_so_far_and_says_so():
    X, y = table(20, n_rows=400, levels=60)
    fitted = RandomForestClassifier(60, random_state=0).fit(X, y)
    nice = NICE(fitted, search="exact", optimize="proximity").fit(X, y)
    cfs = nice.explain(X[:3], time_budget=0.02)
    assert cfs.found.all()
    assert set(cfs.proof) <= {"bound", "none", "optimal"}
    assert "bound" in cfs.proof or "none" in cfs.proof
    is_bound = cfs.proof == "bound"
    assert ((cfs.gap[is_bound] > 0) & (cfs.gap[is_bound] <= 1)).all()
    assert np.isnan(cfs.gap[cfs.proof == "none"]).all()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
def test_an_interrupt_while_the_solver_runs_stops_it_and_ends_the_search(monkeypatch):
    from ortools.sat.python.cp_model import CpSolver

    stopped, solved = threading.Event(), []

    def solve(solver, model):
        solved.append(solver.parameters.catch_sigint_signal)
        os.kill(os.getpid(), signal.SIGINT)
        assert stopped.wait(30)

    monkeypatch.setattr(CpSolver, "solve", solve)
    monkeypatch.setattr(CpSolver, "stop_search", lambda solver: stopped.set())
    X, y = table(0)
    nice = NICE(linear(X, y), search="exact").fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        nice.explain(X[:6])
    assert solved == [False]  # otherwise the solver takes the signal for itself


def test_models_that_cannot_be_read_are_an_error_that_says_what_is_possible():
    X, y = table(21)
    network = MLPClassifier((4,), max_iter=50, random_state=0)
    with pytest.warns(ConvergenceWarning):
        network.fit(X, y)
    with pytest.raises(
        OptionError, match="cannot read this MLPClassifier.*random forests.*LogisticRegression.*thorough"
    ):
        NICE(network, search="exact").fit(X, y)
    with pytest.raises(OptionError, match="its decision is not made by cut-offs"):
        NICE(boosting(X, y), search="exact", decision="predict").fit(X, y)
    rules = Constraints(derived={"c": lambda table: table["a"] * 10})
    frame = named(X).assign(c=X[:, 0] * 10)
    with pytest.raises(OptionError, match="how 'c' is computed.*function.*expression"):
        NICE(boosting(frame, y), search="exact", constraints=rules).fit(frame, y)


def test_options_that_do_not_go_together():
    X, y = table(22)
    with pytest.raises(
        OptionError, match="search='exact' proves.*'plausibility'.*'sparsity' or 'proximity'|'proximity'"
    ):
        NICE(boosting(X, y), search="exact", optimize="plausibility")
    nice = NICE(boosting(X, y), search="exact").fit(X, y)
    with pytest.raises(OptionError, match="needs search='thorough': the exact search finds one per row"):
        nice.explain(X[:1], n_counterfactuals=2)


def test_without_the_solver_the_message_has_the_install_line(monkeypatch):
    X, y = table(23)
    nice = NICE(boosting(X, y), search="exact").fit(X, y)
    monkeypatch.setitem(sys.modules, "ortools", None)
    with pytest.raises(ImportError, match=r"search='exact' needs ortools.*pip install 'nicecf\[exact\]'"):
        nice.explain(X[:1])


def test_an_explainer_is_asked_for_proofs_later_and_loaded_with_them(tmp_path):
    X, y = table(24)
    fitted = boosting(X, y)
    nice = NICE(fitted, optimize="proximity").fit(X, y)
    exact = nice.with_search(search="exact")
    assert exact.search_ == "exact"
    cfs = exact.explain(X[:4])
    exact.save(tmp_path / "exact.nice")
    again = NICE.load(tmp_path / "exact.nice", model=fitted).explain(X[:4])
    assert again.proof.tolist() == cfs.proof.tolist() == ["optimal"] * 4
    assert np.array_equal(again.to_numpy(), cfs.to_numpy())
    with pytest.raises(OptionError, match="cannot read"):
        NICE(lambda X: fitted.predict_proba(X), optimize="proximity").fit(X, y).with_search(search="exact")


def test_a_record_holds_its_proof_and_replay_makes_it_again(monkeypatch):
    X, y = table(25)
    nice = NICE(boosting(X, y), search="exact", optimize="proximity").fit(X, y)
    record = nice.explain(X[:1])[0].to_record()
    proof = record["proof"]
    assert proof["status"] == "optimal"
    assert proof["objective"] == "distance"
    assert proof["bound"] == proof["cost"]
    assert proof["gap"] == 0
    again = replay(record, nice)
    assert again.is_same
    wrong = {**record, "proof": {**proof, "status": "bound", "gap": 0.5}}
    assert any(line.startswith("proof, status") for line in replay(wrong, nice).differences)
    monkeypatch.setitem(sys.modules, "ortools", None)
    without = replay(record, nice)
    assert without.is_same
    assert any("not proven again" in note and "nicecf[exact]" in note for note in without.notes)
