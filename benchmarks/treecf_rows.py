"""Rows explained by treecf, in an environment of its own: this file needs nothing but numpy and treecf there.

treecf reads the JSON dumps of XGBoost and LightGBM, so that no model library is needed either; a forest of scikit-learn
comes as its arrays. It gets our distance: the ranges of the training table for numbers, one unit for a category. Its
values are free: between training values, and beyond them.

    python -m venv .venv-treecf && .venv-treecf/bin/pip install treecf==0.3.2
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any

import numpy as np

BACKENDS = ("genetic", "exact")
# A forest is in class 1 above a half, and in class 0 at it. Sums of leaves are rounded by less than this.
ROUNDING = 1e-9
_TREE = ("children_left", "children_right", "feature", "threshold", "value")


@dataclass(frozen=True, eq=False)
class Answers:
    """One line per row: values, NaN where nothing was found; whether they are claimed to be optimal; ms it took.

    ``is_impossible``: it claims that there is none. ``batch``: ms per row with all rows in one call, NaN if not asked.
    """

    values: np.ndarray
    is_proven: np.ndarray
    wall: np.ndarray
    process: np.ndarray
    is_impossible: np.ndarray
    batch: np.ndarray


def forest_dump(forest: Any, categorical: Sequence[int]) -> dict[str, Any]:
    """A random forest of scikit-learn, for two classes, as arrays; ``categorical``: features that hold codes."""
    trees = [tree.tree_ for tree in forest.estimators_]
    arrays = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in _TREE}
    sizes = np.array([tree.node_count for tree in trees])
    n_features = np.array(forest.n_features_in_)
    return {"forest": {**arrays, "sizes": sizes, "categorical": np.array(categorical, int), "n_features": n_features}}


def answered(
    python: str,
    dump: dict[str, Any],
    X: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    *,
    seconds: float,
    backends: Sequence[str] = BACKENDS,
    node_budget: int | None = None,
    rules: Mapping[str, Any] | None = None,
    in_batch: bool = False,
    most_seconds: float | None = None,
) -> dict[str, Answers]:
    """What treecf answers by each of its searches, each row by itself; ``seconds``: its limit for one row.

    ``dump``: of XGBoost or LightGBM, or of ``forest_dump``. ``node_budget``: of the exact search, where its own limit
    of nodes is not to come before that of time. ``rules``: features by position that are ``immutable`` or
    ``increasing``, and ``ranges`` as (feature, low, high). ``most_seconds``: what one search may take for all rows,
    with all that it builds before: of forests with a million nodes it does not keep to its own limit. Rows that it did
    not get to have no answer, and took forever.
    """
    options = {"seconds": seconds, "node_budget": node_budget, "in_batch": in_batch, "rules": rules or {}}
    with tempfile.TemporaryDirectory() as folder:
        if "forest" in dump:
            np.savez(Path(folder, "forest.npz"), **dump["forest"])
        else:
            Path(folder, "model.json").write_text(json.dumps(dump))
        Path(folder, "options.json").write_text(json.dumps(options))
        np.savez(Path(folder, "asked.npz"), X=X, rows=rows, targets=targets)
        return {backend: _of_process(python, folder, backend, rows, most_seconds) for backend in backends}


def _of_process(python: str, folder: str, backend: str, rows: np.ndarray, most_seconds: float | None) -> Answers:
    """The answers of one search, in a process of its own."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run([python, __file__, folder, backend], check=True, timeout=most_seconds)
    path, nothing = Path(folder, f"{backend}.npz"), np.full(len(rows), np.inf)
    there = dict(np.load(path).items()) if path.exists() else {}
    n_done = len(there.get("wall", ()))
    none = {"values": np.full(rows.shape, np.nan), "wall": nothing, "process": nothing}
    none |= {name: np.zeros(len(rows), dtype=bool) for name in ("is_proven", "is_impossible")}
    every = {name: np.concatenate([there.get(name, rest[:0]), rest[n_done:]]) for name, rest in none.items()}
    return Answers(**every, batch=there.get("batch", np.array(np.nan)))


def _forest(arrays: Mapping[str, np.ndarray], n_codes: np.ndarray) -> Any:
    """The forest as treecf parses it. Codes up to a threshold become a set: a change of category costs one unit."""
    from treecf.ir.model import CategoricalFeature
    from treecf.ir.parsers.sklearn import parse_sklearn

    ends = np.cumsum(arrays["sizes"])[:-1]
    columns = [np.split(arrays[name], ends) for name in _TREE]
    estimators = [
        SimpleNamespace(
            tree_=SimpleNamespace(node_count=len(one[0]), missing_go_to_left=None, **dict(zip(_TREE, one, strict=True)))
        )
        for one in zip(*columns, strict=True)
    ]
    # It knows models by the names of their classes.
    named = type("RandomForestClassifier", (SimpleNamespace,), {})
    parsed = parse_sklearn(named(estimators_=estimators, n_classes_=2, n_features_in_=int(arrays["n_features"])))
    categorical = {int(j) for j in arrays["categorical"]}

    def by_sets(node: Any) -> Any:
        if node.feature not in categorical:
            return node
        return replace(node, threshold=None, op=None, categories=frozenset(range(int(node.threshold) + 1)))

    trees = tuple(replace(tree, nodes=tuple(map(by_sets, tree.nodes))) for tree in parsed.trees)
    return replace(parsed, trees=trees, categorical={j: CategoricalFeature(int(n_codes[j])) for j in categorical})


def _constraints(rules: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    from treecf import Freeze, Monotone, Range

    frozen = [Freeze(names[j]) for j in rules.get("immutable", ())]
    upwards = [Monotone(names[j], "increase") for j in rules.get("increasing", ())]
    return [*frozen, *upwards, *(Range(names[j], low, high) for j, low, high in rules.get("ranges", ()))]


def _answer(folder: Path, backend: str) -> None:
    """Explain what ``answered`` asks for, by one search; runs in the environment of treecf."""
    from treecf import Explainer, Target
    from treecf.ir.parsers import parse_model

    asked, options = np.load(folder / "asked.npz"), json.loads((folder / "options.json").read_text())
    X, rows, targets = asked["X"], asked["rows"], asked["targets"].astype(int)
    # A dump only names the codes that some tree splits off.
    n_codes = np.concatenate([X, rows]).max(axis=0).astype(int) + 1
    if (folder / "forest.npz").exists():
        trees = _forest(dict(np.load(folder / "forest.npz").items()), n_codes)
        border = 0.5 + ROUNDING
        to = {1: Target.raw(op=">=", value=border), 0: Target.raw(op="<=", value=border)}
    else:
        trees = parse_model(str(folder / "model.json"))
        to = {1: Target.probability(op=">=", value=0.5), 0: Target.probability(op="<=", value=0.5)}
    spreads = np.ptp(X, axis=0)
    scales = [1.0 if j in trees.categorical or spread == 0 else float(spread) for j, spread in enumerate(spreads)]
    categories = {trees.feature_names[j]: [str(code) for code in range(n_codes[j])] for j in trees.categorical}
    explainer = Explainer(
        trees,
        background=X,
        constraints=_constraints(options["rules"], trees.feature_names),
        normalizers=dict(zip(trees.feature_names, scales, strict=True)),
        categories=categories,
    )
    how: dict[str, Any] = {"backend": backend, "seed": 0}
    if backend == "exact" and options["node_budget"]:
        how["node_budget"] = options["node_budget"]
    # The first call pays for what is built once.
    explainer.explain(rows[0], to[targets[0]], time_budget_s=0.1, **how)
    lines = []
    for row, target in zip(rows, targets, strict=True):
        start, used = perf_counter(), process_time()
        found = explainer.explain(row, to[target], time_budget_s=options["seconds"], **how)
        ms = 1000 * (perf_counter() - start), 1000 * (process_time() - used)
        values = getattr(found, "x_cf", np.full(len(row), np.nan))
        lines.append((values, found.proof == "optimal", *ms, found.proof == "certified"))
        _save(folder, backend, lines)
    if options["in_batch"]:
        start = perf_counter()
        for target in set(targets.tolist()):
            explainer.explain_batch(rows[targets == target], to[target], time_budget_s=options["seconds"], **how)
        _save(folder, backend, lines, batch=1000 * (perf_counter() - start) / len(rows))


def _save(folder: Path, backend: str, lines: list[Any], *, batch: float = np.nan) -> None:
    """What is answered so far; whole, if the process ends meanwhile."""
    names = ("values", "is_proven", "wall", "process", "is_impossible")
    columns = dict(zip(names, (np.array(column) for column in zip(*lines, strict=True)), strict=True))
    np.savez(folder / "part.npz", batch=np.array(batch), **columns)
    (folder / "part.npz").replace(folder / f"{backend}.npz")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _answer(Path(sys.argv[1]), sys.argv[2])
