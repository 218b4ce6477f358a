"""The two classifiers of the paper's experiments, tuned as its appendix says.

Categories are one-hot encoded and numbers scaled to [-1, 1]; a missing number is the column's median with an input of
its own. The grid search is by five-fold cross-validation and AUC. The profile ``"quick"`` looks at a small part of the
grid, on a sample of the training rows; the model itself is then trained on all of them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from nicecf._typing import Floats, Ints
from nicecf.exceptions import SchemaError

MODELS = ("rf", "ann")

_N_FOLDS = 5


@dataclass(frozen=True)
class Profile:
    """How much of the appendix's grid is searched. ``sizes``: hidden neurons, in steps of 0.15 times the inputs."""

    n_estimators: tuple[int, ...]
    max_depth: tuple[int | None, ...]
    sizes: tuple[int, ...]
    most_rows: int | None

    @property
    def words(self) -> str:
        """What it searches, for people."""
        sample = "all training rows" if self.most_rows is None else f"a sample of {self.most_rows:,} training rows"
        smallest = "2, " if 0 in self.sizes else ""
        steps = ", ".join(f"{0.15 * size:g}k" for size in self.sizes if size)
        return (
            f"forests of {', '.join(map(str, self.n_estimators))} trees, of depth "
            f"{', '.join('any' if depth is None else str(depth) for depth in self.max_depth)}; "
            f"networks of {smallest}{steps} neurons for k inputs; five-fold, by AUC, on {sample}"
        )


PROFILES = {
    "paper": Profile((50, 100, 250, 500, 1000), (1, 2, 5, 10, 25, None), tuple(range(11)), None),
    "quick": Profile((100,), (10, None), (1, 5), 2_000),
}


def candidates(name: str, profile: str, n_inputs: int) -> list[dict[str, Any]]:
    """The grid: what the classifier is given besides the appendix's fixed settings.

    >>> [one["hidden_layer_sizes"][0] for one in candidates("ann", "paper", 168)]
    [2, 25, 50, 76, 101, 126, 151, 176, 202, 227, 252]
    """
    grid = PROFILES[profile]
    if name == "rf":
        return [{"n_estimators": n, "max_depth": depth} for depth in grid.max_depth for n in grid.n_estimators]
    sizes = dict.fromkeys(max(2, round(0.15 * n_inputs * size)) for size in grid.sizes)
    return [{"hidden_layer_sizes": [size]} for size in sizes]


def train(
    name: str,
    X: Floats,
    y: Ints,
    categorical: list[int],
    *,
    profile: str,
    seed: int,
    parameters: dict[str, Any] | None = None,
) -> tuple[Pipeline, dict[str, Any]]:
    """The classifier trained on all rows with the best of the grid, or with ``parameters`` known from before."""
    encoder = encoder_of(X, categorical)
    if parameters is None:
        n_inputs = clone(encoder).fit_transform(X).shape[1]
        grid = candidates(name, profile, n_inputs)
        sample = _sample(y, PROFILES[profile].most_rows, seed)
        parameters = _best(name, encoder, grid, X[sample], y[sample], seed)
    return _fitted(name, encoder, parameters, X, y, seed), parameters


def encoder_of(X: Floats, categorical: list[int]) -> ColumnTransformer:
    """One-hot categories and numbers in [-1, 1]; to be fitted."""
    numeric = [j for j in range(X.shape[1]) if j not in categorical]
    scale: Any = MinMaxScaler((-1, 1))
    if np.isnan(X[:, numeric]).any():
        scale = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), scale)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [("categories", one_hot, categorical), ("numbers", scale, numeric)]
    return ColumnTransformer([part for part in parts if part[2]])


def auc(model: Any, X: Floats, y: Ints) -> float:
    """The area under the ROC curve."""
    return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))


def _classifier(name: str, parameters: dict[str, Any], seed: int) -> Any:
    if name == "rf":
        return RandomForestClassifier(class_weight="balanced", random_state=seed, **parameters)
    return MLPClassifier(random_state=seed, **parameters)


def _fitted(name: str, encoder: Any, parameters: dict[str, Any], X: Floats, y: Ints, seed: int) -> Pipeline:
    model = Pipeline([("encode", clone(encoder)), ("classify", _classifier(name, parameters, seed))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # scikit-learn's default number of rounds, as in the paper
        return model.fit(X, y)


def _best(name: str, encoder: Any, grid: list[dict[str, Any]], X: Floats, y: Ints, seed: int) -> dict[str, Any]:
    """The candidate with the highest mean AUC over the folds; on a tie the first."""
    if len(grid) == 1:
        return grid[0]
    if np.bincount(y, minlength=2).min() < _N_FOLDS:
        raise SchemaError(
            f"a class has only {np.bincount(y, minlength=2).min()} training rows, too few for {_N_FOLDS}-fold "
            "cross-validation. Use a table with more rows of it."
        )
    folds = list(StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed).split(X, y))
    scores = [
        np.mean(
            [
                auc(_fitted(name, encoder, parameters, X[inside], y[inside], seed), X[outside], y[outside])
                for inside, outside in folds
            ]
        )
        for parameters in grid
    ]
    return grid[int(np.argmax(scores))]


def _sample(y: Ints, most: int | None, seed: int) -> Ints:
    """Rows for the grid search: at most so many, each class with its share and at least with what the folds need."""
    if most is None or len(y) <= most:
        return np.arange(len(y))
    random = np.random.default_rng(seed)
    chosen = []
    for label in (0, 1):
        rows = np.flatnonzero(y == label)
        n_chosen = min(len(rows), max(10 * _N_FOLDS, round(most * len(rows) / len(y))))
        chosen.append(random.choice(rows, size=n_chosen, replace=False))
    return np.sort(np.concatenate(chosen))
