"""CFproto of nicecf beside that of alibi 0.9.4: the same tables, models, rows and parameters.

alibi needs older versions of what we use: it runs in an environment of its own (``pip install alibi==0.9.4
tensorflow``) and a process of its own, which this script starts; models go there as plain arrays. Tables are scaled to
[-1, 1], so that both descend in the same space; categories are codes, which the model turns into one-hot inputs, and
lie on a line by the association-based distance in both (``--data`` has the tables with categories). alibi takes one row
at a time; ours is timed on the same single rows and on all rows in one call. alibi answers twice, because it is not
deterministic: one session run writes the point and reads it for the momentum, in either order.

    python benchmarks/cfproto_alibi.py --alibi .venv-alibi/bin/python --rows 5 --data DIR
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

# Whatever else is needed is imported late: the environment of alibi has neither nicecf nor what ``common`` imports.

PARAMETERS = {"beta": 0.01, "theta": 10.0, "c_init": 1.0, "c_steps": 5, "max_iterations": 500}
LEARNING_RATE, EPS = 1e-2, 1e-3
# How far mean distances may lie apart to count as the same.
TOLERANCE = 0.2
# Tables of the NICE paper with categories: german and churn have numbers, too.
MIXED = ("german", "churn", "tic_tac_toe", "monk2")


@dataclass(frozen=True, eq=False)
class Problem:
    """A training table, rows to explain, and a model as the weights and biases of its layers (relu, then sigmoid).

    ``n_levels``: how many codes a column has, from 0; 0 for a column of numbers.
    """

    name: str
    X: np.ndarray
    rows: np.ndarray
    layers: list[tuple[np.ndarray, np.ndarray]]
    n_levels: np.ndarray

    def save(self, path: Path) -> None:
        """Write it as plain arrays."""
        weights = {f"weights_{i}": w for i, (w, _) in enumerate(self.layers)}
        biases = {f"biases_{i}": b for i, (_, b) in enumerate(self.layers)}
        np.savez(path, name=self.name, X=self.X, rows=self.rows, n_levels=self.n_levels, **weights, **biases)

    @classmethod
    def load(cls, path: Path) -> Problem:
        """Read it again."""
        arrays = np.load(path)
        n_layers = sum(name.startswith("weights_") for name in arrays.files)
        layers = [(arrays[f"weights_{i}"], arrays[f"biases_{i}"]) for i in range(n_layers)]
        return cls(str(arrays["name"]), arrays["X"], arrays["rows"], layers, arrays["n_levels"])

    @property
    def is_categorical(self) -> np.ndarray:
        """Which columns hold codes."""
        return self.n_levels > 0


def inputs_of(X: np.ndarray, n_levels: np.ndarray) -> np.ndarray:
    """What a model gets of a table: numbers as they are, codes one-hot."""
    blocks = [X[:, [j]] == np.arange(n) if n else X[:, [j]] for j, n in enumerate(n_levels.tolist())]
    return np.concatenate(blocks, axis=1, dtype=np.float64)


class Counted:
    """Probabilities of two classes in plain numpy, counting calls and rows."""

    def __init__(self, problem: Problem) -> None:
        self._layers, self._n_levels = problem.layers, problem.n_levels
        self.calls = self.rows = 0

    def __call__(self, X: Any) -> np.ndarray:
        self.calls += 1
        self.rows += len(X)
        values = inputs_of(np.asarray(X, dtype=np.float64), self._n_levels)
        for i, (weights, biases) in enumerate(self._layers):
            values = (np.maximum(values, 0.0) if i else values) @ weights + biases
        positive = 1.0 / (1.0 + np.exp(-values[:, 0]))
        return np.column_stack([1.0 - positive, positive])


@dataclass(frozen=True, eq=False)
class Answers:
    """What one of the two gave: NaN where it found nothing, what it asked of the model and took, per row."""

    values: np.ndarray
    calls: float
    model_rows: float
    seconds: float


def answered_by_alibi(folder: Path) -> None:
    """Explain all problems in a folder with alibi; runs in the environment of alibi."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.compat.v1.disable_v2_behavior()  # before alibi is imported: it builds a graph of the first version
    from alibi.explainers import CounterfactualProto

    for path in sorted(folder.glob("problem_*.npz")):
        problem = Problem.load(path)
        model = Counted(problem)
        low = np.where(problem.is_categorical, -1.0, problem.X.min(axis=0))
        high = np.where(problem.is_categorical, 1.0, problem.X.max(axis=0))
        method = CounterfactualProto(
            model,
            shape=(1, problem.X.shape[1]),
            cat_vars={int(j): int(problem.n_levels[j]) for j in np.flatnonzero(problem.is_categorical)},
            ohe=False,  # the model does that
            feature_range=(low[None].astype(np.float32), high[None].astype(np.float32)),
            use_kdtree=True,
            learning_rate_init=LEARNING_RATE,
            eps=(EPS, EPS),
            **PARAMETERS,
        )
        method.fit(problem.X, d_type="abdm")
        for turn in range(2):
            values, n = np.full(problem.rows.shape, np.nan), len(problem.rows)
            model.calls = model.rows = 0
            start = perf_counter()
            for row in range(n):
                explanation = method.explain(problem.rows[[row]])
                if explanation.cf is not None:
                    values[row] = explanation.cf["X"][0]
            seconds = (perf_counter() - start) / n
            answers = Answers(values, model.calls / n, model.rows / n, seconds)
            np.savez(folder / path.name.replace("problem", f"answers_{turn}"), **vars(answers))


def answered_by_us(problem: Problem, *, together: bool) -> Answers:
    """Explain all rows of a problem with nicecf, in one call or one by one."""
    from nicecf.baselines.cfproto import CFproto

    model, n = Counted(problem), len(problem.rows)
    options: dict[str, Any] = {"learning_rate": LEARNING_RATE, "eps": EPS, **PARAMETERS}
    columns = np.flatnonzero(problem.is_categorical).tolist()
    method = CFproto(model, classes=[0, 1], categorical_features=columns, **options).fit(problem.X)
    model.calls = model.rows = 0
    start = perf_counter()
    size = n if together else 1
    parts = [method.explain(problem.rows[at : at + size]).to_numpy() for at in range(0, n, size)]
    seconds = (perf_counter() - start) / n
    return Answers(np.concatenate(parts), model.calls / n, model.rows / n, seconds)


def problems(n_rows: int, data: str | None) -> list[Problem]:
    """Tables, each with a logistic regression and a small network; rows that were not trained on."""
    from sklearn.datasets import load_breast_cancer, make_classification

    made = make_classification(n_samples=800, n_features=10, n_informative=6, random_state=0)
    tables = {"breast cancer": load_breast_cancer(return_X_y=True), "made, 10 features": made}
    found = []
    for name, (X, y) in tables.items():
        found += _with_both_models(name, X, y, np.zeros(X.shape[1], dtype=np.intp), n_rows)
    if data is None:
        return found
    from nicecf.benchmark.datasets import load
    from nicecf.benchmark.plan import Plan
    from nicecf.benchmark.run import prepared

    for name in MIXED:
        table = prepared(load(name, folder=data), Plan((name,), methods=("cfproto",), data=data))
        X, y = np.concatenate([table.X_train, table.X_test]), np.concatenate([table.y_train, table.y_test])
        n_levels = np.zeros(X.shape[1], dtype=np.intp)
        for j in table.categorical:
            levels, X[:, j] = np.unique(X[:, j], return_inverse=True)
            n_levels[j] = len(levels)
        found += _with_both_models(name, X, y, n_levels, n_rows)
    return found


def _with_both_models(name: str, X: np.ndarray, y: np.ndarray, n_levels: np.ndarray, n_rows: int) -> list[Problem]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import MinMaxScaler

    order = np.random.default_rng(0).permutation(len(X))
    explained, trained = order[:n_rows], order[n_rows:]
    scaler = MinMaxScaler((-1.0, 1.0)).fit(X[trained])
    train = np.where(n_levels > 0, X[trained], scaler.transform(X[trained]))
    rows = np.where(n_levels > 0, X[explained], np.clip(scaler.transform(X[explained]), -1.0, 1.0))
    inputs = inputs_of(train, n_levels)
    line = LogisticRegression(max_iter=5000).fit(inputs, y[trained])
    network = MLPClassifier((16,), max_iter=2000, random_state=0).fit(inputs, y[trained])
    layers = list(zip(network.coefs_, network.intercepts_, strict=True))
    return [
        Problem(f"{name}, logistic regression", train, rows, [(line.coef_.T, line.intercept_)], n_levels),
        Problem(f"{name}, MLP", train, rows, layers, n_levels),
    ]


def compared(problem: Problem, theirs: Answers, again: Answers, ours: Answers, alone: Answers) -> str:
    """Both side by side, as markdown; distances over the rows that have a valid answer from all."""
    from common import markdown_table, short

    three = (theirs, again, ours)
    is_valid = [_is_valid(problem, some) for some in three]
    in_all = np.logical_and.reduce(is_valid)
    lines = [["valid", *(f"{some.sum()} of {len(in_all)}" for some in is_valid), ""]]
    moves = [_apart(problem, some.values, problem.rows)[in_all] for some in three]
    for name, order in (("L1, over the ranges", 1), ("L2, over the ranges", 2)):
        means = [_mean(np.linalg.norm(some, ord=order, axis=1)) for some in moves]
        ratio = means[2] / ((means[0] + means[1]) / 2.0)
        is_apart = not abs(ratio - 1.0) <= TOLERANCE
        lines.append([f"mean distance, {name}", *map(short, means), short(ratio) + (" (apart)" if is_apart else "")])
    apart = [_apart(problem, some.values, theirs.values)[in_all] for some in three[1:]]
    largest = [short(some[:, ~problem.is_categorical].max(initial=0.0)) for some in apart]
    lines.append(["largest difference of a number from alibi's, over its range", "", *largest, ""])
    if problem.is_categorical.any():
        n_changes = [_mean(some[:, problem.is_categorical].sum(axis=1)) for some in moves]
        lines.append(["mean changes of categories", *map(short, n_changes), ""])
        same = [int((~some[:, problem.is_categorical].any(axis=1)).sum()) for some in apart]
        lines.append(["rows with the categories of alibi's first answer", "", *same, f"of {in_all.sum()}"])
    for name, their, then, our in (
        ("model calls per row, one by one", theirs.calls, again.calls, alone.calls),
        ("model calls per row, all rows in one call", np.nan, np.nan, ours.calls),
        ("rows sent to the model per row", theirs.model_rows, again.model_rows, ours.model_rows),
        ("seconds per row, one by one", theirs.seconds, again.seconds, alone.seconds),
        ("seconds per row, all rows in one call", np.nan, np.nan, ours.seconds),
    ):
        lines.append([name, short(their), short(then), short(our), short(our / ((their + then) / 2.0))])
    return f"## {problem.name}\n\n" + markdown_table(["", "alibi", "alibi again", "nicecf", "ratio"], lines)


def _is_valid(problem: Problem, answers: Answers) -> np.ndarray:
    """Which rows have an answer that the model puts into another class."""
    model = Counted(problem)
    before, after = model(problem.rows).argmax(axis=1), model(np.nan_to_num(answers.values)).argmax(axis=1)
    return ~np.isnan(answers.values).any(axis=1) & (before != after)


def _apart(problem: Problem, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How far rows are apart in each feature: numbers over their range, which is 2; 1 for unlike categories."""
    return np.where(problem.is_categorical, one != other, np.abs(one - other) / 2.0)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def main(python: str, n_rows: int, data: str | None, out: str | None) -> None:
    """Let both answer all problems, and report."""
    from common import Report, machine, progress

    if not Path(python).exists():
        sys.exit(f"{python} does not exist: make an environment with alibi 0.9.4 and tensorflow, and name its python.")
    report = Report(out)
    report.say(f"CFproto, {n_rows} rows for each model. {machine('numpy', 'nicecf')}")
    with tempfile.TemporaryDirectory() as temporary:
        folder, todo = Path(temporary), problems(n_rows, data)
        for i, problem in enumerate(todo):
            problem.save(folder / f"problem_{i}.npz")
        progress("alibi ...")
        subprocess.run([python, __file__, "--peer", temporary], check=True, stdout=sys.stderr)
        for i, problem in enumerate(todo):
            progress(f"nicecf: {problem.name} ...")
            theirs, again = (Answers(**np.load(folder / f"answers_{turn}_{i}.npz")) for turn in range(2))
            ours, alone = (answered_by_us(problem, together=together) for together in (True, False))
            report.say(compared(problem, theirs, again, ours, alone))
    report.save()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alibi", default=".venv-alibi/bin/python", help="the python of an environment with alibi")
    parser.add_argument("--rows", type=int, default=5, help="rows to explain for each model; alibi is slow")
    data_help = "folder with pmlb/, for the tables with categories; default: NICECF_DATA, without it they are left out"
    parser.add_argument("--data", default=os.environ.get("NICECF_DATA"), help=data_help)
    parser.add_argument("--out", help="a file for the report")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.peer:
        answered_by_alibi(Path(chosen.peer))
    else:
        main(chosen.alibi, chosen.rows, chosen.data, chosen.out)
