"""Rows explained by treecf, in an environment of its own: this file needs nothing but numpy and treecf there.

treecf reads the JSON dumps of XGBoost and LightGBM, so that no model library is needed either. It gets our distance:
the ranges of the training table for numbers, one unit for a category. Its values are free: between training values,
and beyond them.

    python -m venv .venv-treecf && .venv-treecf/bin/pip install treecf==0.3.2
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

BACKENDS = ("genetic", "exact")


@dataclass(frozen=True, eq=False)
class Answers:
    """One line per row: values, NaN where nothing was found; whether they are claimed to be optimal; ms it took."""

    values: np.ndarray
    is_proven: np.ndarray
    wall: np.ndarray
    process: np.ndarray


def answered(
    python: str, dump: dict[str, Any], X: np.ndarray, rows: np.ndarray, targets: np.ndarray, *, seconds: float
) -> dict[str, Answers]:
    """What treecf answers by each of its searches, each row by itself; ``seconds``: its limit for one row."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.json").write_text(json.dumps(dump))
        np.savez(Path(folder, "asked.npz"), X=X, rows=rows, targets=targets, seconds=seconds)
        subprocess.run([python, __file__, folder], check=True)
        return {backend: Answers(**dict(np.load(Path(folder, f"{backend}.npz")).items())) for backend in BACKENDS}


def _answer(folder: Path) -> None:
    """Explain what ``answered`` asks for; runs in the environment of treecf."""
    from treecf import Explainer, Target
    from treecf.ir.parsers import parse_model

    asked = np.load(folder / "asked.npz")
    trees = parse_model(str(folder / "model.json"))
    spreads = np.ptp(asked["X"], axis=0)
    scales = [1.0 if j in trees.categorical or spread == 0 else float(spread) for j, spread in enumerate(spreads)]
    # A dump only names the codes that some tree splits off.
    n_codes = np.concatenate([asked["X"], asked["rows"]]).max(axis=0).astype(int) + 1
    categories = {trees.feature_names[j]: [str(code) for code in range(n_codes[j])] for j in trees.categorical}
    explainer = Explainer(
        trees,
        background=asked["X"],
        normalizers=dict(zip(trees.feature_names, scales, strict=True)),
        categories=categories,
    )
    to = {1: Target.probability(op=">=", value=0.5), 0: Target.probability(op="<=", value=0.5)}
    for backend in BACKENDS:
        # The first call pays for what is built once.
        explainer.explain(asked["rows"][0], to[int(asked["targets"][0])], seed=0, time_budget_s=0.1, backend=backend)
        lines = []
        for row, target in zip(asked["rows"], asked["targets"], strict=True):
            start, used = perf_counter(), process_time()
            found = explainer.explain(
                row, to[int(target)], seed=0, backend=backend, time_budget_s=float(asked["seconds"])
            )
            ms = 1000 * (perf_counter() - start), 1000 * (process_time() - used)
            lines.append((getattr(found, "x_cf", np.full(len(row), np.nan)), found.proof == "optimal", *ms))
        values, is_proven, wall, process = (np.array(column) for column in zip(*lines, strict=True))
        np.savez(folder / backend, values=values, is_proven=is_proven, wall=wall, process=process)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _answer(Path(sys.argv[1]))
