"""Rows explained by oceanpy (CP-SAT), in an environment of its own: it needs Python 3.12 or later, and pins ortools.

Tables of numbers only: it takes categories one-hot, and a model of these would be another one. It measures distances in
features scaled to one unit, so it gets the model with its thresholds scaled; answers come back in the table's units, a
hair beyond the threshold that they pass.

    python3.12 -m venv .venv-ocean && .venv-ocean/bin/pip install oceanpy==2.0.7
"""

from __future__ import annotations

import contextlib
import json
import pickle
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Answers:
    """One line per row: values, NaN where nothing was found; what is claimed of them; seconds it took."""

    values: np.ndarray
    is_proven: np.ndarray
    is_impossible: np.ndarray
    wall: np.ndarray


def answered(
    python: str,
    model: Any,
    X: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    *,
    seconds: float,
    most_seconds: float,
) -> Answers:
    """What oceanpy answers, each row by itself; ``model``: of XGBoost, or a forest of the same scikit-learn.

    ``most_seconds``: for all rows, with the program that it builds before. Rows that it did not get to took forever.
    """
    with tempfile.TemporaryDirectory() as folder:
        is_booster = hasattr(model, "get_booster")
        dump = model.get_booster().save_raw("json") if is_booster else pickle.dumps(model)
        Path(folder, "model.json" if is_booster else "model.pickle").write_bytes(dump)
        np.savez(Path(folder, "asked.npz"), X=X, rows=rows, targets=targets, seconds=seconds)
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([python, __file__, folder], check=True, timeout=most_seconds)
        path = Path(folder, "answers.npz")
        there = dict(np.load(path).items()) if path.exists() else {}
        n_done = len(there.get("wall", ()))
        none = {"values": np.full(rows.shape, np.nan), "wall": np.full(len(rows), np.inf)}
        none |= {name: np.zeros(len(rows), dtype=bool) for name in ("is_proven", "is_impossible")}
        return Answers(
            **{name: np.concatenate([there.get(name, rest[:0]), rest[n_done:]]) for name, rest in none.items()}
        )


def _scaled_booster(path: Path, low: np.ndarray, spread: np.ndarray) -> tuple[Any, list[np.ndarray]]:
    """The booster with scaled thresholds, and the thresholds of each feature as they were."""
    import xgboost

    dump = json.loads(path.read_text())
    thresholds: list[list[float]] = [[] for _ in low]
    for tree in dump["learner"]["gradient_booster"]["model"]["trees"]:
        for node, left in enumerate(tree["left_children"]):
            if left != -1:
                j, border = tree["split_indices"][node], tree["split_conditions"][node]
                thresholds[j].append(border)
                tree["split_conditions"][node] = float((border - low[j]) / spread[j] - 0.5)
    booster = xgboost.Booster(model_file=bytearray(json.dumps(dump).encode()))
    booster.feature_names = [f"f{j}" for j in range(len(low))]
    return booster, [np.unique(one) for one in thresholds]


def _scaled_forest(path: Path, low: np.ndarray, spread: np.ndarray) -> tuple[Any, list[np.ndarray]]:
    """The same for a forest."""
    forest = pickle.loads(path.read_bytes())
    thresholds: list[list[float]] = [[] for _ in low]
    for one in forest.estimators_:
        tree = one.tree_
        for node in np.flatnonzero(tree.children_left != -1):
            j = tree.feature[node]
            thresholds[j].append(tree.threshold[node])
            tree.threshold[node] = (tree.threshold[node] - low[j]) / spread[j] - 0.5
    return forest, [np.unique(one) for one in thresholds]


def _beyond(row: np.ndarray, scaled: np.ndarray, moved: np.ndarray, there: np.ndarray, thresholds: list[Any]) -> Any:
    """An answer in the table's units: each changed number just beyond the threshold that it passed."""
    values = row.copy()
    for j in np.flatnonzero(np.abs(moved - scaled) > 1e-12):
        border = thresholds[j][np.abs(thresholds[j] - there[j]).argmin()]
        side = np.float32(np.inf if moved[j] > scaled[j] else -np.inf)
        values[j] = np.nextafter(np.float32(border), side)
    return values


def _answer(folder: Path) -> None:
    """Explain what ``answered`` asks for; runs in the environment of oceanpy."""
    import pandas as pd
    from ocean import ConstraintProgrammingExplainer
    from ocean.feature import parse_features

    asked = np.load(folder / "asked.npz")
    X, rows, targets, seconds = asked["X"], asked["rows"], asked["targets"], float(asked["seconds"])
    low, spread = X.min(axis=0), np.ptp(X, axis=0)
    is_booster = (folder / "model.json").exists()
    read = _scaled_booster if is_booster else _scaled_forest
    model, thresholds = read(folder / ("model.json" if is_booster else "model.pickle"), low, spread)
    _, mapper = parse_features(pd.DataFrame(X, columns=[f"f{j}" for j in range(len(low))]))
    explainer = ConstraintProgrammingExplainer(model, mapper=mapper)
    # It only knows cells between the least and the largest training value, and half a range beyond. XGBoost has singles
    # for thresholds, which are often values of rows: these must stay equal.
    singles = np.float32 if is_booster else np.float64
    asked_for = np.clip((rows.astype(singles).astype(np.float64) - low) / spread - 0.5, -1.0, 1.0)
    lines = []
    for row, scaled, target in zip(rows, asked_for.astype(singles).astype(np.float64), targets, strict=True):
        start = perf_counter()
        found = explainer.explain(scaled, y=int(target), norm=1, max_time=seconds)
        took = perf_counter() - start
        status, values = explainer.get_solving_status(), np.full(len(row), np.nan)
        if found is not None:
            moved = found.to_numpy()
            values = _beyond(row, scaled, moved, (moved + 0.5) * spread + low, thresholds)
        lines.append((values, status == "OPTIMAL", status == "INFEASIBLE", took))
        columns = (np.array(column) for column in zip(*lines, strict=True))
        names = ("values", "is_proven", "is_impossible", "wall")
        np.savez(folder / "part.npz", **dict(zip(names, columns, strict=True)))
        (folder / "part.npz").replace(folder / "answers.npz")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _answer(Path(sys.argv[1]))
