"""Random models of every kind: most are cheap functions of the cells, few are trained."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.tables import Random, Reader, Tables, n_rows

LABELS: dict[int, list[list[Any]]] = {
    2: [["bad", "good"], [0, 1], [-1, 1], [False, True], [1, 2], ["other", "yes"]],
    3: [["no", "perhaps", "yes"], [1, 2, 3]],
    4: [[-1, 0, 1, 2], list("abcd")],
    5: [list("abcde"), [0, 1, 2, 3, 4]],
}


@dataclass(eq=False)
class Model:
    """A model as the library gets it (``given``), and as the checks ask it (``ask``: rows -> one column per class).

    ``is_steady``: whether it answers a row alone, bit by bit, as in a batch. ``of_cells``: the same function of the
    matrix that a `Reader` makes, for models that are one. ``change``: turns it, in place, into another model.
    """

    kind: str
    given: Any
    ask: Callable[[Any], np.ndarray]
    classes: list[Any]
    names_classes: bool
    is_steady: bool
    of_cells: Callable[[np.ndarray], np.ndarray] | None = None
    change: Callable[[], None] | None = None
    predict: Callable[[Any], Any] | None = None
    is_forest: bool = False
    labels: list[Any] | None = None
    function: CellModel | None = None
    keeps: list[Any] = field(default_factory=list)  # what must live as long as the model


# --- functions of the cells -------------------------------------------------------------------------------------------

_PRIME = np.uint64(0x9E3779B97F4A7C15)


def hashed(cells: np.ndarray, seed: int) -> np.ndarray:
    """A number for each row that depends on every bit of it."""
    with np.errstate(over="ignore"):
        mixed = np.full(len(cells), np.uint64(seed * 2 + 1))
        for column in cells.T:
            bits = np.where(np.isnan(column), np.nan, column).view(np.uint64)  # there are many NaNs
            mixed = (mixed ^ bits) * _PRIME
            mixed ^= mixed >> np.uint64(29)
    return mixed


@dataclass(eq=False)
class HashCells:
    """Probabilities drawn from a hash of the cells: in sixteenths, so that ties happen, or with all digits."""

    n_classes: int
    seed: int
    sixteenths: bool

    def __call__(self, cells: np.ndarray) -> np.ndarray:
        draws = np.column_stack([hashed(cells, self.seed * 8 + c) >> np.uint64(40) for c in range(self.n_classes)])
        weights = draws.astype(float) + 1.0
        if not self.sixteenths:
            return weights / weights.sum(axis=1, keepdims=True)
        parts = np.floor(15 * weights / weights.sum(axis=1, keepdims=True))
        parts[:, 0] += 16 - parts.sum(axis=1)
        return parts / 16


@dataclass(eq=False)
class LinearCells:
    """Points for every number and category, added column by column, so that a batch gives what its rows give."""

    n_classes: int
    seed: int
    is_category: tuple[bool, ...]
    centre: np.ndarray
    spread: np.ndarray
    single_precision: bool = False

    def __call__(self, cells: np.ndarray) -> np.ndarray:
        random = np.random.default_rng(self.seed)
        weights = random.normal(size=(cells.shape[1], self.n_classes))
        table = random.normal(size=(11, self.n_classes))
        points = np.zeros((len(cells), self.n_classes))
        for j, category in enumerate(self.is_category):
            if category:
                points += table[(cells[:, j].astype(np.int64) + j) % 11]
            else:
                scaled = np.nan_to_num((cells[:, j] - self.centre[j]) / self.spread[j], nan=-0.7)
                points += np.clip(scaled, -50, 50)[:, None] * weights[j]
        odds = np.exp(points - points.max(axis=1, keepdims=True))
        total = np.zeros(len(cells))
        for c in range(self.n_classes):
            total = total + odds[:, c]
        answer = odds / total[:, None]
        return answer.astype(np.float32) if self.single_precision else answer


@dataclass(eq=False)
class Changing:
    """A function of cells that can become another one: of some rows, the classes change places."""

    of_cells: Callable[[np.ndarray], np.ndarray]
    one_in: int = 0

    def __call__(self, cells: np.ndarray) -> np.ndarray:
        answer = self.of_cells(cells)
        if not self.one_in:
            return answer
        is_other = hashed(cells, 77) % np.uint64(self.one_in) == 0
        return np.where(is_other[:, None], np.roll(answer, 1, axis=1), answer)


class CellModel:
    """A function of cells as a model of tables; ``reach``: the cells that it knows, as a logarithm knows no 0."""

    def __init__(self, reader: Reader, of_cells: Callable[[np.ndarray], np.ndarray]) -> None:
        self.reader = reader
        self.of_cells = of_cells
        self.reach: tuple[np.ndarray, np.ndarray] | None = None
        self.beyond: list[float] = []

    def __call__(self, X: Any) -> np.ndarray:
        cells = self.reader.encode(X)
        if self.reach is not None:
            is_outside = (cells < self.reach[0]) | (cells > self.reach[1])
            is_outside &= ~np.array(self.reader.is_category, dtype=bool)
            self.beyond += cells[is_outside].tolist()
            if is_outside.any():
                raise ValueError(f"math domain error: {cells[is_outside][:5].tolist()}")
        return self.of_cells(cells)


class CellEstimator:
    """The same with the methods of scikit-learn's classifiers."""

    def __init__(self, function: CellModel, classes: list[Any]) -> None:
        self.function = function
        self.classes_ = np.array(classes)

    def predict_proba(self, X: Any) -> np.ndarray:
        """One column per class."""
        return self.function(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the highest probability; the first on a tie."""
        return self.classes_[self.function(X).argmax(axis=1)]


class NearlyByProbability(CellEstimator):
    """An estimator whose predict is not its highest probability near the border: for one row in three there."""

    def predict(self, X: Any) -> np.ndarray:
        """The second class where the two highest probabilities are close and a hash of the row says so."""
        probabilities = self.function(X)
        order = np.argsort(-probabilities, axis=1, kind="stable")
        highest = np.take_along_axis(probabilities, order, axis=1)
        is_second = (highest[:, 0] - highest[:, 1] < 0.2) & (
            hashed(self.function.reader.encode(X), 5) % np.uint64(3) == 0
        )
        return self.classes_[np.where(is_second, order[:, 1], order[:, 0])]


def cell_model(random: Random, tables: Tables, n_classes: int | None = None) -> Model:
    """A cheap model: a hash of the cells, or linear."""
    n_classes = int(random.choice([2, 2, 2, 3, 4, 5])) if n_classes is None else n_classes
    classes = list(_pick(random, LABELS[n_classes]))
    seed = int(random.integers(1, 2**31))
    kind = str(random.choice(["hash in sixteenths", "hash", "linear", "linear, float32"], p=[0.3, 0.25, 0.35, 0.1]))
    of_cells: Any
    if kind.startswith("hash"):
        of_cells = HashCells(n_classes, seed, kind == "hash in sixteenths")
    else:
        centre, spread = _centre(tables)
        of_cells = LinearCells(n_classes, seed, tables.reader.is_category, centre, spread, "float32" in kind)
    of_cells = Changing(of_cells)
    function = CellModel(tables.reader, of_cells)
    one_in = int(random.choice([1, 2, 4, 10]))

    def change() -> None:
        of_cells.one_in = one_in

    if n_classes == 2 and random.random() < 0.15:
        return _score_model(random, kind, function, classes, change)
    as_estimator = random.random() < 0.5
    is_own = as_estimator and random.random() < 0.15
    estimator = (NearlyByProbability if is_own else CellEstimator)(function, classes)
    given = estimator if as_estimator else function
    return Model(
        f"{kind}{', its own predict' if is_own else ', estimator' if as_estimator else ', function'}",
        given,
        lambda X: np.asarray(function(X), dtype=float),
        classes,
        as_estimator,
        True,
        lambda cells: np.asarray(of_cells(cells), dtype=float),
        change,
        estimator.predict if as_estimator else None,
        function=function,
    )


def _score_model(
    random: Random, kind: str, function: CellModel, classes: list[Any], change: Callable[[], None]
) -> Model:
    """A model with one score per row, by from_score; what it means is worked out here once more."""
    from nicecf import from_score

    form = str(random.choice(["probability", "margin"]))

    def score(X: Any) -> np.ndarray:
        probability = np.asarray(function(X), dtype=float)[:, 1]
        return probability if form == "probability" else (probability - 0.5) * 8

    def of_score(scores: np.ndarray) -> np.ndarray:
        up = scores if form == "probability" else 1 / (1 + np.exp(-scores))
        down = 1 - scores if form == "probability" else 1 / (1 + np.exp(scores))
        return np.column_stack([down, up])

    def of_cells(cells: np.ndarray) -> np.ndarray:
        probability = np.asarray(function.of_cells(cells), dtype=float)[:, 1]
        return of_score(probability if form == "probability" else (probability - 0.5) * 8)

    steady = form == "probability"  # numpy's exp and scipy's need not agree in the last digit
    given = from_score(score, kind=form)  # type: ignore[arg-type]
    return Model(
        f"from_score {form}",
        given,
        lambda X: of_score(score(X)),
        classes,
        False,
        steady,
        of_cells if steady else None,
        change,
        function=function,
    )


def _centre(tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    cells = tables.reader.encode(tables.train)
    centre, spread = np.zeros(cells.shape[1]), np.ones(cells.shape[1])
    for j, category in enumerate(tables.reader.is_category):
        known = cells[~np.isnan(cells[:, j]), j]
        if not category and len(known):
            centre[j] = known.mean()
            spread[j] = known.std() or 1.0
    return centre, spread


# --- trained models ---------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Encoded:
    """An estimator of numbers as a model of any table: categories as small codes, missing numbers as a number."""

    reader: Reader
    estimator: Any
    classes_: Any = None
    dtype: Any = np.float64

    def features(self, X: Any) -> np.ndarray:
        """The table as numbers without missing values."""
        cells = self.reader.encode(X).copy()
        for j, category in enumerate(self.reader.is_category):
            if category:
                cells[:, j] %= 13
        return np.nan_to_num(np.clip(cells, -1e6, 1e6), nan=-999.0).astype(self.dtype)

    def predict_proba(self, X: Any) -> np.ndarray:
        """One column per class."""
        return self.estimator.predict_proba(self.features(X))

    def predict(self, X: Any) -> Any:
        """What the estimator says."""
        return self.estimator.predict(self.features(X))


def trained_labels(random: Random, tables: Tables, n_classes: int) -> np.ndarray:
    """Positions of classes that a model can learn: by a hidden linear rule, with noise; every class occurs."""
    centre, spread = _centre(tables)
    hidden = LinearCells(n_classes, int(random.integers(2**31)), tables.reader.is_category, centre, spread)
    cells = tables.reader.encode(tables.train)
    codes = hidden(cells).argmax(axis=1)
    noisy = random.random(len(codes)) < 0.1
    codes[noisy] = random.integers(0, n_classes, int(noisy.sum()))
    codes[:n_classes] = np.arange(n_classes)[: len(codes)]
    return codes


def _light(random: Random) -> tuple[str, Any, bool]:
    """An estimator of numbers that is quick to train: its name, itself, whether it is steady."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    return _pick(
        random,
        [
            ("logistic", LogisticRegression(max_iter=30), False),
            ("tree", DecisionTreeClassifier(max_depth=4, random_state=0), True),
            ("tree, full", DecisionTreeClassifier(random_state=0), True),
            ("GaussianNB", GaussianNB(var_smoothing=0.1), False),
            ("KNN", KNeighborsClassifier(1), False),
        ],
    )


def _heavy(random: Random, n_train: int) -> tuple[str, Any, bool]:
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier
    from xgboost import XGBClassifier

    choices = [
        ("forest", RandomForestClassifier(8, max_depth=5, random_state=0), True),
        ("HistGradientBoosting", HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2), True),
        ("MLP", MLPClassifier((6,), max_iter=25, random_state=0), False),
        ("XGBoost", XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1), False),
        ("LightGBM", LGBMClassifier(n_estimators=6, min_child_samples=2, n_jobs=1, verbose=-1), False),
        (
            "CatBoost",
            CatBoostClassifier(iterations=6, depth=3, verbose=0, thread_count=1, allow_writing_files=False),
            False,
        ),
    ]
    if n_train >= 40:
        choices += [
            ("SVC, calibrated", CalibratedClassifierCV(SVC(), cv=2), False),
            ("SVC, probability", SVC(probability=True, random_state=0), False),
            ("calibrated", CalibratedClassifierCV(DecisionTreeClassifier(max_depth=3, random_state=0), cv=2), False),
            ("GridSearchCV", GridSearchCV(LogisticRegression(max_iter=30), {"C": [0.1, 1.0]}, cv=2), False),
        ]
    return _pick(random, choices)


def trained(random: Random, tables: Tables, *, heavy: bool, n_classes: int = 2) -> Model:
    """An estimator behind the reader of the tables, or by itself on an array of plain numbers."""
    from sklearn.tree import DecisionTreeClassifier

    classes = list(_pick(random, LABELS[n_classes]))
    codes = trained_labels(random, tables, n_classes)
    for _ in range(8 if heavy else 0):  # cross-validation wants some rows of each class
        codes[random.integers(0, len(codes), 2 * n_classes)] = np.repeat(np.arange(n_classes), 2)
    name, estimator, steady = _heavy(random, n_rows(tables.train)) if heavy else _light(random)
    is_constant = len(np.unique(tables.reader.encode(tables.train), axis=0)) == 1
    if name == "GaussianNB" and is_constant:  # it divides by the variance
        name, estimator, steady = "tree", DecisionTreeClassifier(random_state=0), True
    is_position = name == "XGBoost"
    if is_position:
        classes = list(range(n_classes))
    y = np.array(classes)[codes]
    plain = (
        isinstance(tables.train, np.ndarray) and tables.train.dtype.kind in "fiu" and not any(tables.reader.is_category)
    )
    if (
        plain
        and not np.isnan(np.asarray(tables.train, dtype=float)).any()
        and not np.isnan(np.asarray(tables.rows, dtype=float)).any()
    ):
        estimator.fit(tables.train, y)
        given, features = estimator, lambda X: X
    else:
        given = Encoded(tables.reader, estimator)
        estimator.fit(given.features(tables.train), y)
        given.classes_, features = estimator.classes_, given.features
    return Model(
        name,
        given,
        lambda X: np.asarray(estimator.predict_proba(features(X)), dtype=float),
        [label.item() if isinstance(label, np.generic) else label for label in estimator.classes_],
        True,
        steady,
        change=_refit(estimator, lambda: features(tables.train), y, int(random.choice([1, 3]))),
        predict=given.predict,
        labels=y.tolist(),
    )


def _refit(estimator: Any, features: Callable[[], Any], y: np.ndarray, every: int) -> Callable[[], None]:
    """Train again, in place, with other labels for one row in so many."""

    def change() -> None:
        names = np.unique(y)
        turned = dict(zip(names.tolist(), np.roll(names, 1).tolist(), strict=True))
        other = np.array([turned[label] for label in y.tolist()])
        estimator.fit(features(), np.where(np.arange(len(y)) % every == 0, other, y))

    return change


def pipeline(random: Random, tables: Tables, *, n_classes: int = 2) -> Model:
    """scikit-learn's own way from a frame to probabilities: encoders by column, and an estimator."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    classes = list(_pick(random, LABELS[n_classes]))
    y = np.array(classes)[trained_labels(random, tables, n_classes)]
    is_category = np.array(tables.reader.is_category)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), np.flatnonzero(is_category).tolist()),
        (StandardScaler() if random.random() < 0.5 else "passthrough", np.flatnonzero(~is_category).tolist()),
    )
    forest = bool(random.random() < 0.6)
    last = RandomForestClassifier(8, random_state=0) if forest else LogisticRegression(max_iter=50)
    model = make_pipeline(encode, last).fit(tables.train, y)
    return Model(
        "pipeline, forest" if forest else "pipeline, logistic",
        model,
        lambda X: np.asarray(model.predict_proba(_in_order(X, tables)), dtype=float),
        [label.item() if isinstance(label, np.generic) else label for label in model.classes_],
        True,
        forest,
        change=_refit(model, lambda: tables.train, y, int(random.choice([1, 3]))),
        predict=lambda X: model.predict(_in_order(X, tables)),
        is_forest=forest,
        labels=y.tolist(),
    )


def _in_order(X: Any, tables: Tables) -> Any:
    return X[list(tables.train.columns)] if isinstance(X, pd.DataFrame) else X


def onnx(random: Random, tables: Tables) -> Model:
    """A small classifier in an ONNX file, opened as the command line opens it."""
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    from nicecf.models.files import load

    codes = trained_labels(random, tables, 2)
    train = np.asarray(tables.train, dtype=np.float32)
    inner = LogisticRegression(max_iter=50) if random.random() < 0.5 else DecisionTreeClassifier(max_depth=4)
    inner.fit(train, codes)
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "model.onnx"
    path.write_bytes(to_onnx(inner, train[:1], options={"zipmap": False}).SerializeToString())
    model = load(path)
    return Model(
        "ONNX",
        model,
        lambda X: np.asarray(model.predict_proba(X), dtype=float),
        [int(label) for label in inner.classes_],
        hasattr(model, "classes_"),
        False,
        labels=codes.tolist(),
        keeps=[folder],
    )


def _pick(random: Random, choices: list[Any]) -> Any:
    return choices[int(random.integers(len(choices)))]
