"""The oracle of benchmarks/optimum.py, beside every combination of training values."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import GradientBoostingClassifier
from xgboost import XGBClassifier

CATEGORICAL = [2]
MODELS = {
    "LightGBM": lambda X, y: LGBMClassifier(n_estimators=12, min_child_samples=3, n_jobs=1, verbose=-1).fit(
        X, y, categorical_feature=CATEGORICAL
    ),
    "scikit-learn": lambda X, y: GradientBoostingClassifier(n_estimators=12, random_state=0).fit(X, y),
    "XGBoost": lambda X, y: XGBClassifier(
        n_estimators=12, max_depth=3, n_jobs=1, enable_categorical=True, feature_types=["q", "q", "c"]
    ).fit(X, y),
}


@pytest.fixture(scope="module")
def oracle():
    sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
    try:
        import oracle
    finally:
        del sys.path[0]
    return oracle


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_finds_the_best_of_all_combinations(oracle, model, seed):
    random = np.random.default_rng(seed)
    X = np.column_stack([np.round(random.normal(size=(60, 2)), 1), random.integers(0, 4, 60)]).astype(float)
    y = (X[:, 0] * X[:, 1] + (X[:, 2] == 1) + 0.3 * random.normal(size=60) > 0.3).astype(int)
    row = np.array([*random.normal(size=2), float(random.integers(0, 4))])
    fitted = MODELS[model](X, y)
    target = 1 - int(fitted.predict(row[None])[0])
    every = np.array(
        list(itertools.product(*(np.unique([*column, own]) for column, own in zip(X.T, row, strict=True))))
    )
    valid = every[fitted.predict(every) == target]
    own = oracle.Oracle(fitted, X, CATEGORICAL)
    for by, costs in (
        ("distance", [own.distance(row, one) for one in valid]),
        ("changes", (valid != row).sum(axis=1)),
    ):
        found = own.nearest(row, target, valid[-1], by=by)
        assert found.is_proven
        assert found.cost == pytest.approx(min(costs))
        assert fitted.predict(found.values[None])[0] == target
