"""Two versions of nicecf side by side: the cells of speed.py and growth.py, in turns, and what they ask of the model.

Each version runs in a process of its own, with the same tables and models. In every round both time every cell, one
right after the other; the ratio of a cell is the median over the rounds. Calls and rows of the model are counted apart,
without looking ahead: what rides along in a call depends on how long calls take.

    git worktree add ../before <commit>
    python benchmarks/versions.py --old ../before/src --new src --out versions.md
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from common import MIXED_CATEGORICAL, Report, linear_model, machine, markdown_table, mixed, progress, real_or_generated

VARIANTS = ("none", "sparsity", "proximity", "plausibility")
# On the average, and in any cell: how much slower the new version may be.
MOST_ON_AVERAGE, MOST_IN_A_CELL = 1.05, 1.2


def cells(data: str | None, n_rows: int) -> dict[str, Callable[[], Any]]:
    """What is timed, by name: fitting, explaining rows one by one, and many rows at once."""
    from nicecf import NICE

    p = real_or_generated(data)
    order = np.random.default_rng(0).permutation(len(p.y))
    train, rest = order[: 4 * len(order) // 5], order[4 * len(order) // 5 :]
    X, y, rows = p.X[train], p.y[train], p.X[rest[:n_rows]]
    categorical = list(p.categorical)
    numeric = [j for j in range(p.X.shape[1]) if j not in categorical]
    timed: dict[str, Callable[[], Any]] = {}
    for name, classifier in (
        ("forest", RandomForestClassifier(100, random_state=0, n_jobs=1)),
        ("MLP", MLPClassifier((50,), early_stopping=True, random_state=0)),
    ):
        encoder = ColumnTransformer(
            [("codes", OneHotEncoder(handle_unknown="ignore"), categorical), ("numbers", StandardScaler(), numeric)]
        )
        model = make_pipeline(encoder, classifier).fit(X, y)
        for variant in VARIANTS:
            n_fit = 5000 if variant == "plausibility" else len(X)  # an autoencoder takes its time
            nice = NICE(model, optimize=variant, search="greedy", categorical_features=categorical)  # type: ignore[arg-type]
            nice.fit(X[:n_fit], y[:n_fit])
            timed[f"{name}, {variant}, {n_rows} rows"] = lambda nice=nice: nice.explain(rows)
            timed[f"{name}, {variant}, one by one"] = lambda nice=nice: [
                nice.explain(rows[i : i + 1]) for i in range(20)
            ]
        nice = NICE(model, search="thorough", categorical_features=categorical).fit(X[:5000], y[:5000])
        timed[f"{name}, thorough, 20 rows"] = lambda nice=nice: nice.explain(rows[:20])
    for size in (10_000, 100_000):
        table = mixed(size, seed=0)
        labels = linear_model(table).argmax(axis=1)
        nice = NICE(linear_model, search="greedy", categorical_features=MIXED_CATEGORICAL)
        timed[f"growth, {size:,} rows, fit"] = lambda nice=nice, table=table, labels=labels: nice.fit(table, labels)
        timed[f"growth, {size:,} rows, one by one"] = lambda nice=nice: [
            nice.explain(mixed(20, seed=1)[i : i + 1]) for i in range(20)
        ]
        timed[f"growth, {size:,} rows, 100 rows"] = lambda nice=nice: nice.explain(mixed(100, seed=1))
    return timed


def nothing_ahead() -> AbstractContextManager[None]:
    """Without looking ahead, wherever a version has it."""
    try:
        from nicecf.models.scorer import nothing_ahead
    except ImportError:
        from nicecf.scorer import nothing_ahead  # type: ignore[import-not-found, no-redef]  # until issue 16
    return nothing_ahead()


def serve(data: str | None, n_rows: int) -> None:
    """A version: reads names of cells, answers with seconds, or with what the model was asked."""
    timed = cells(data, n_rows)
    print(json.dumps(list(timed)), flush=True)
    for line in sys.stdin:
        name, is_counted = json.loads(line)
        if is_counted:
            with nothing_ahead():
                result = timed[name]()
            results = result if isinstance(result, list) else [result]
            calls = (
                [getattr(one, "model_calls", 0) for one in results],
                [getattr(one, "model_rows", 0) for one in results],
            )
            print(json.dumps([sum(calls[0]), sum(calls[1])]), flush=True)
            continue
        start = process_time()
        timed[name]()
        print(json.dumps(process_time() - start), flush=True)


class Version:
    """A process that has a version of nicecf."""

    def __init__(self, source: str, arguments: list[str]) -> None:
        environment = os.environ | {"PYTHONPATH": str(Path(source).resolve()), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--serve", *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.cells: list[str] = self._read()

    def ask(self, name: str, *, counted: bool = False) -> Any:
        """Seconds of the processor for a cell, or calls and rows of the model."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, counted]) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a version ended before it was done")
        return json.loads(line)


def main() -> int:
    """Measure and report; 1 if the new version asks more of the model, or is slower than it may be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", help="folder with the package of the version before")
    parser.add_argument("--new", default="src", help="folder with the package of the new version")
    parser.add_argument("--data", help="folder with raw/adult/adult.csv.gz; default: NICECF_DATA")
    parser.add_argument("--rows", type=int, default=1000, help="rows of one call")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", help="also write the report to this file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.data, options.rows)
        return 0
    arguments = ["--rows", str(options.rows), *(["--data", options.data] if options.data else [])]
    old, new = Version(options.old, arguments), Version(options.new, arguments)
    asked = {name: (old.ask(name, counted=True), new.ask(name, counted=True)) for name in old.cells}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in old.cells}
    for round in range(options.rounds):
        progress(f"round {round + 1} of {options.rounds}")
        for name in old.cells:
            # In turns: who comes first changes, too.
            first, second = (old, new) if round % 2 == 0 else (new, old)
            pair = first.ask(name), second.ask(name)
            seconds[name].append(pair if first is old else pair[::-1])
    return _report(options, asked, seconds)


def _report(options: argparse.Namespace, asked: dict[str, Any], seconds: dict[str, list[tuple[float, float]]]) -> int:
    ratios = {name: float(np.median([new / old for old, new in pairs])) for name, pairs in seconds.items()}
    rows = [
        (
            name,
            f"{1e3 * np.median([old for old, _ in pairs]):.3g}",
            f"{1e3 * np.median([new for _, new in pairs]):.3g}",
            f"{ratios[name]:.2f}",
            "as before" if asked[name][0] == asked[name][1] else f"{asked[name][0]} -> {asked[name][1]}",
        )
        for name, pairs in seconds.items()
    ]
    mean, most = float(np.exp(np.mean(np.log(list(ratios.values()))))), max(ratios.values())
    report = Report(options.out)
    report.say("# Two versions side by side")
    report.say(machine("numpy", "scikit-learn"))
    report.say(markdown_table(["cell", "old, ms", "new, ms", "new / old", "calls and rows of the model"], rows))
    report.say(f"Geometric mean {mean:.3f} (at most {MOST_ON_AVERAGE}), highest {most:.2f} (at most {MOST_IN_A_CELL}).")
    report.save()
    is_same = all(one == other for one, other in asked.values())
    return 0 if is_same and mean <= MOST_ON_AVERAGE and most <= MOST_IN_A_CELL else 1


if __name__ == "__main__":
    sys.exit(main())
