"""The two classifiers of the paper's experiments, tuned as its appendix and its authors' code say.

Categories are one-hot encoded and numbers scaled to [-1, 1]; a missing number is the column's median with an input of
its own. Forests are balanced by class; networks have one hidden layer and are trained by L-BFGS. The grid search is by
five-fold cross-validation and AUC, on a sample of the training rows; the model itself is then trained on all of them.
The profile ``"quick"`` looks at a small part of the grid.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline

from nicecf.exceptions import SchemaError
from nicecf.support.types import Floats, Ints

MODELS = ("rf", "ann")

_N_FOLDS = 5
# Of the network's training, as in the authors' code. By Adam, scikit-learn's default, a network learns nothing of
# Hill_Valley, on which the paper prints an AUC of 0.99.
_SOLVER, _MOST_ITERATIONS = "lbfgs", 1_000


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
            f"networks of {smallest}{steps} neurons for k inputs, by L-BFGS, at most {_MOST_ITERATIONS:,} iterations; "
            f"five-fold, by AUC, on {sample}"
        )


PROFILES = {
    "paper": Profile((50, 100, 250, 500, 1000), (1, 2, 5, 10, 25, None), tuple(range(11)), 5_000),
    "quick": Profile((100,), (10, None), (5,), 2_000),
}


class Encoder(TransformerMixin, BaseEstimator):
    """One-hot categories, numbers scaled to [-1, 1]; a missing number is the median and switches on an input.

    A category that training never saw switches on none. Does what scikit-learn's OneHotEncoder, MinMaxScaler and
    SimpleImputer do behind a ColumnTransformer, without sorting every column anew for each call: most of what a method
    asks of a model are such calls.
    """

    acts_by_column = True

    def __init__(self, categorical: tuple[int, ...] = ()) -> None:
        self.categorical = categorical

    def fit(self, X: Floats, y: Any = None) -> Encoder:
        """Learn categories, ranges and medians."""
        self.levels_ = {j: np.unique(X[:, j]) for j in self.categorical}  # NaN, where there is one, comes last
        self.numeric_ = [j for j in range(X.shape[1]) if j not in self.levels_]
        numbers = X[:, self.numeric_]
        self.low_ = np.nanmin(numbers, axis=0)
        spread = np.nanmax(numbers, axis=0) - self.low_
        self.half_ = np.where(spread > 0, spread, 1.0) / 2.0
        self.median_ = np.nanmedian(numbers, axis=0)
        self.has_gaps_ = np.isnan(numbers).any(axis=0)
        return self

    def transform(self, X: Floats) -> Floats:
        """The inputs of the classifier."""
        blocks = []
        for j, levels in self.levels_.items():
            column = X[:, j, None]
            block = column == levels
            if np.isnan(levels[-1]):
                block[:, -1] = np.isnan(column[:, 0])
            blocks.append(block)
        numbers = X[:, self.numeric_]
        is_missing = np.isnan(numbers)
        numbers = np.where(is_missing, self.median_, numbers)
        blocks += [(numbers - self.low_) / self.half_ - 1.0, is_missing[:, self.has_gaps_]]
        return np.concatenate(blocks, axis=1, dtype=np.float64)


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
    encoder = Encoder(tuple(categorical))
    if parameters is None:
        n_inputs = clone(encoder).fit_transform(X).shape[1]
        grid = candidates(name, profile, n_inputs)
        sample = _sample(y, PROFILES[profile].most_rows, seed)
        parameters = _best(name, encoder, grid, X[sample], y[sample], seed)
    return _fitted(name, encoder, parameters, X, y, seed), parameters


def auc(model: Any, X: Floats, y: Ints) -> float:
    """The area under the ROC curve."""
    return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))


def _classifier(name: str, parameters: dict[str, Any], seed: int) -> Any:
    if name == "rf":
        return RandomForestClassifier(class_weight="balanced", random_state=seed, **parameters)
    return MLPClassifier(random_state=seed, solver=_SOLVER, max_iter=_MOST_ITERATIONS, **parameters)


def _fitted(name: str, encoder: Any, parameters: dict[str, Any], X: Floats, y: Ints, seed: int) -> Pipeline:
    model = Pipeline([("encode", clone(encoder)), ("classify", _classifier(name, parameters, seed))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a bounded effort is what is wanted
        model.fit(X, y)
    if name == "rf":
        model[-1].predict_proba = partial(_votes, [tree.tree_ for tree in model[-1].estimators_])
    return model


def _votes(trees: list[Any], inputs: Floats) -> Floats:
    """What a forest answers, to the last digit, without a task and a check for each of its trees.

    These take longer than the trees themselves, and a forest of 1,000 trees is asked millions of times.
    """
    rows = np.asarray(inputs, dtype=np.float32)  # what scikit-learn's trees look at
    votes = np.zeros((len(rows), 2))
    for tree in trees:
        votes += tree.predict(rows)
    return np.asarray(votes / len(trees))


def _best(name: str, encoder: Any, grid: list[dict[str, Any]], X: Floats, y: Ints, seed: int) -> dict[str, Any]:
    """The candidate with the highest mean AUC over the folds; on a tie the first."""
    if len(grid) == 1:
        return grid[0]
    if np.bincount(y, minlength=2).min() < _N_FOLDS:
        raise SchemaError(
            f"a class has only {np.bincount(y, minlength=2).min()} training rows, too few for {_N_FOLDS}-fold "
            "cross-validation. Use a table with more rows of it."
        )
    scores = np.zeros(len(grid))
    for inside, outside in StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed).split(X, y):
        fold = [X[inside], y[inside], X[outside], y[outside]]
        scores += (
            _forest_scores(encoder, grid, fold, seed) if name == "rf" else _scores(name, encoder, grid, fold, seed)
        )
    return grid[int(np.argmax(scores))]


def _scores(name: str, encoder: Any, grid: list[dict[str, Any]], fold: list[Any], seed: int) -> Floats:
    """The AUC of each candidate on the rows outside of a fold."""
    X, y, X_outside, y_outside = fold
    return np.array([auc(_fitted(name, encoder, one, X, y, seed), X_outside, y_outside) for one in grid])


def _forest_scores(encoder: Any, grid: list[dict[str, Any]], fold: list[Any], seed: int) -> Floats:
    """As `_scores`, in a fraction of the time: the first trees of a large forest are those of a small one."""
    X, y, X_outside, y_outside = fold
    scores = np.empty(len(grid))
    for depth in dict.fromkeys(one["max_depth"] for one in grid):
        those = [at for at, one in enumerate(grid) if one["max_depth"] == depth]
        largest = max(grid[at]["n_estimators"] for at in those)
        forest = _fitted("rf", encoder, {"n_estimators": largest, "max_depth": depth}, X, y, seed)
        inputs = forest[0].transform(X_outside).astype(np.float32)
        votes = np.zeros(len(inputs))
        score_of = {}
        for n_trees, tree in enumerate(forest[-1].estimators_, start=1):
            votes += tree.predict_proba(inputs, check_input=False)[:, 1]
            if any(grid[at]["n_estimators"] == n_trees for at in those):
                score_of[n_trees] = roc_auc_score(y_outside, votes)
        scores[those] = [score_of[grid[at]["n_estimators"]] for at in those]
    return scores


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
