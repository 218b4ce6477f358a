"""What an explanation takes as the features and the training rows grow: the appendix's complexity, measured.

clean2 with an eighth, a quarter, half and all of its 168 features; adult and covertype with more and more of their
training rows. As the rows grow, the model stays the same, trained on a sample of them: what grows is NICE alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from nicecf import metrics
from nicecf.benchmark import methods, models
from nicecf.benchmark.datasets import Dataset, kinds, load
from nicecf.benchmark.plan import Plan
from nicecf.benchmark.run import Problem, prepared
from nicecf.benchmark.store import Store
from nicecf.exceptions import SchemaError
from nicecf.support.options import check_count
from nicecf.support.progress import Choice, reporting

TABLES = ("clean2", "adult", "covertype")
_METHODS = ("nice-none", "nice-spars", "nice-prox", "nice-plaus", "nice-thorough")
_SHARES = {
    "clean2": (1 / 8, 1 / 4, 1 / 2, 1),
    "adult": (1 / 8, 1 / 4, 1 / 2, 1),
    "covertype": (1 / 64, 1 / 16, 1 / 4, 1),
}
# Trained once, on so many rows: a network on half a million of them takes an hour.
_MODEL_ROWS = 10_000
_PARAMETERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "rf": lambda n_inputs: {"n_estimators": 100, "max_depth": 10},
    "ann": lambda n_inputs: {"hidden_layer_sizes": [max(2, round(0.75 * n_inputs))]},
}


@dataclass(frozen=True, eq=False)
class Size:
    """A table at one size, with the model to explain."""

    table: str
    model: str
    problem: Problem
    classifier: Any

    @property
    def key(self) -> dict[str, Any]:
        """What tells it from the others."""
        n_training, n_features = self.problem.X_train.shape
        return {"table": self.table, "model": self.model, "n_features": n_features, "n_training": n_training}


def measure(
    folder: str | Path,
    *,
    data: str | None = None,
    tables: tuple[str, ...] = TABLES,
    rows: int = 20,
    seed: int = 0,
    progress: Choice = None,
    command: str = "",
) -> pd.DataFrame:
    """Milliseconds of processor time for an explanation at every size, kept in the folder of a run.

    ``ms`` is that of a row explained alone, ``ms_in_batch`` that of one among ``rows``. What is there already is not
    measured again.
    """
    check_count("rows", rows)
    store = Store.create(folder)
    with store.alone(), threadpool_limits(1):
        store.check_settings({"growth": {"rows": rows, "seed": seed}})
        store.tell_command(command)
        n_all = sum(len(_SHARES[table]) for table in tables) * len(models.MODELS) * len(_METHODS)
        with reporting(progress, n_all, verb="measuring", unit="sizes") as report:
            n_done = 0
            for table in tables:
                for size in _sizes(table, data, rows, seed):
                    for method in _METHODS:
                        if not store.has("growth", size.key | {"method": method}):
                            store.write("growth", size.key | {"method": method} | _timed(size, method, seed))
                        n_done += 1
                        report(n_done)
    return store.growth()


def _timed(size: Size, method: str, seed: int) -> dict[str, float]:
    problem = size.problem
    explainer = methods.make(method, size.classifier, categorical=problem.categorical, seed=seed, time_limit=None)
    explainer.fit(problem.X_train, problem.y_train)
    explainer.explain(problem.rows[:1])  # what is done once is not part of it
    alone = metrics.cpu_seconds(explainer.explain, problem.rows)
    start = process_time()
    explainer.explain(problem.rows, progress=False)
    return {"ms": 1e3 * float(alone.mean()), "ms_in_batch": 1e3 * (process_time() - start) / len(problem.rows)}


def _sizes(table: str, data: str | None, rows: int, seed: int) -> Iterator[Size]:
    whole = _problem(table, data, rows, seed)
    for model in models.MODELS:
        if table == "clean2":
            order = np.random.default_rng(seed).permutation(whole.X_train.shape[1])
            for share in _SHARES[table]:
                problem = _with_features(whole, np.sort(order[: math.ceil(share * len(order))]))
                yield Size(table, model, problem, _trained(model, problem, len(problem.y_train), seed))
        else:
            classifier = _trained(model, whole, _MODEL_ROWS, seed)
            for share in _SHARES[table]:
                n_rows = math.ceil(share * len(whole.y_train))
                part = replace(whole, X_train=whole.X_train[:n_rows], y_train=whole.y_train[:n_rows])
                yield Size(table, model, part, classifier)


def _problem(table: str, data: str | None, rows: int, seed: int) -> Problem:
    """The split of an experiment, its training rows in random order, so that the first of them are a fair sample."""
    dataset = covertype(data) if table == "covertype" else load(table, folder=data)
    plan = Plan(datasets=("clean2",), methods=("nice-none",), rows=rows, seed=seed)
    problem = prepared(dataset, plan)
    order = np.random.default_rng(seed).permutation(len(problem.y_train))
    return replace(problem, X_train=problem.X_train[order], y_train=problem.y_train[order])


def covertype(folder: str | Path | None) -> Dataset:
    """The UCI Covertype table, lodgepole pine against the rest, from ``<folder>/raw/covertype/covertype.csv.gz``."""
    path = Path(folder or ".") / "raw" / "covertype" / "covertype.csv.gz"
    if not path.is_file():
        raise SchemaError(
            f"there is no file {path}. The folder (--data, or NICECF_DATA) must hold raw/covertype/covertype.csv.gz, "
            "the UCI Covertype rows with a header; or leave covertype out (--tables clean2 adult)."
        )
    X = pd.read_csv(path)
    is_pine = (X.pop("Cover_Type") == "Lodgepole Pine").to_numpy(dtype=np.intp)
    return Dataset("covertype", X, is_pine, kinds(X), ("other", "Lodgepole Pine"))


def _with_features(problem: Problem, features: np.ndarray[Any, Any]) -> Problem:
    places = features.tolist()
    return replace(
        problem,
        X_train=problem.X_train[:, features],
        X_test=problem.X_test[:, features],
        rows=problem.rows[:, features],
        categorical=[places.index(j) for j in problem.categorical if j in places],
    )


def _trained(model: str, problem: Problem, n_rows: int, seed: int) -> Any:
    X, y = problem.X_train[:n_rows], problem.y_train[:n_rows]
    n_inputs = models.Encoder(tuple(problem.categorical)).fit_transform(X).shape[1]
    parameters = _PARAMETERS[model](n_inputs)
    return models.train(model, X, y, problem.categorical, profile="quick", seed=seed, parameters=parameters)[0]
