"""How time and memory grow with the training rows: 10 thousand, 100 thousand and 1 million.

A synthetic mixed table (12 numbers, 8 categories as codes in a float array) and a linear model, so cheap that what is
measured is nicecf. Each size runs in a process of its own, once for time and resident memory, once more under
tracemalloc (which slows everything down). Memory is that of fit and explain above the level before fit: the caller's
own table is there before and does not count.

    python benchmarks/growth.py --out growth.md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from common import (
    MIXED_CATEGORICAL,
    Report,
    forget_peak,
    linear_model,
    machine,
    markdown_table,
    memory_now,
    mixed,
    peak_memory,
    progress,
    short,
)
from nicecf import NICE

SIZES = (10_000, 100_000, 1_000_000)
N_EXPLAINED = 100
MOST_MEMORY = 2.5


def problem(n_rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table and its labels, of which the model gets nine in ten right."""
    X = mixed(n_rows, seed=seed)
    random = np.random.default_rng(seed)
    y = np.empty(n_rows, dtype=np.int64)
    for at in range(0, n_rows, 50_000):
        decision = linear_model(X[at : at + 50_000]).argmax(axis=1)
        y[at : at + 50_000] = np.where(random.random(len(decision)) < 0.1, 1 - decision, decision)
    return X, y


def explainer(optimize: str) -> NICE:
    """The explainer that is measured."""
    variant: Any = optimize
    return NICE(linear_model, optimize=variant, search="greedy", categorical_features=MIXED_CATEGORICAL)


def measure(n_rows: int, optimize: str) -> dict[str, float]:
    """Time and resident memory of one fit and of explanations."""
    X, y = problem(n_rows, seed=0)
    rows, _ = problem(N_EXPLAINED, seed=1)
    _warm_up(optimize)
    before = memory_now()
    forget_peak()
    start = perf_counter()
    nice = explainer(optimize).fit(X, y)
    fit = perf_counter() - start
    batch = _median(lambda: nice.explain(rows), 5)
    peak = peak_memory() - before
    single = [_median(lambda row=rows[i : i + 1]: nice.explain(row), 3) for i in range(20)]
    return {
        "fit": fit,
        "batch_ms": 1000 * batch / N_EXPLAINED,
        "single_ms": 1000 * float(np.median(single)),
        "resident": peak,
        "matrix": X.nbytes,
    }


def trace(n_rows: int, optimize: str) -> dict[str, float]:
    """The most memory that Python and numpy ask for, at any moment of fit and explain, and what stays."""
    X, y = problem(n_rows, seed=0)
    rows, _ = problem(N_EXPLAINED, seed=1)
    _warm_up(optimize)
    tracemalloc.start()
    nice = explainer(optimize).fit(X, y)
    kept, fit_peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    nice.explain(rows)
    explain_peak = tracemalloc.get_traced_memory()[1]
    return {"traced": max(fit_peak, explain_peak), "kept": kept, "explain": explain_peak - kept}


def _warm_up(optimize: str) -> None:
    """Pay for lazy imports and thread pools before the measurement."""
    X, y = problem(2_000, seed=2)
    explainer(optimize).fit(X, y).explain(X[:50])


def _median(run: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return float(np.median(times))


def in_child(what: str, n_rows: int, optimize: str) -> dict[str, float]:
    """Run one measurement in a fresh process."""
    progress(f"{what} {n_rows:,} rows")
    command = [sys.executable, __file__, "--child", what, "--sizes", str(n_rows), "--optimize", optimize]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Measure and report; 1 if memory grows past its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of training rows")
    parser.add_argument("--optimize", default="sparsity")
    parser.add_argument("--out", help="also write the report to this file")
    parser.add_argument("--child", choices=["measure", "trace"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run = measure if options.child == "measure" else trace
        print(json.dumps(run(options.sizes[0], options.optimize)))
        return 0

    report = Report(options.out)
    report.say("# Growth with the training rows")
    report.say(
        f"20 features of which 8 categorical, a linear model, optimize={options.optimize!r}. "
        + machine("nicecf", "numpy")
    )
    rows, all_met = [], True
    for n_rows in options.sizes:
        m = in_child("measure", n_rows, options.optimize) | in_child("trace", n_rows, options.optimize)
        # Of a small table the resident memory says little: a process grows in steps larger than that.
        worst = (max(m["resident"], m["traced"]) if m["matrix"] > 10e6 else m["traced"]) / m["matrix"]
        all_met &= worst <= MOST_MEMORY
        rows.append(
            (
                f"{n_rows:,}",
                short(m["fit"]),
                short(m["single_ms"]),
                short(m["batch_ms"]),
                short(m["matrix"] / 1e6),
                f"{m['resident'] / m['matrix']:.2f}x",
                f"{m['traced'] / m['matrix']:.2f}x",
                f"{m['kept'] / m['matrix']:.2f}x",
                short(m["explain"] / 1e6),
                "pass" if worst <= MOST_MEMORY else "FAIL",
            )
        )
    head = [
        "training rows",
        "fit s",
        "1 row: ms",
        f"{N_EXPLAINED} rows: ms/row",
        "matrix MB",
        "peak resident",
        "peak traced",
        "kept after fit",
        "explain adds MB",
        f"peak <= {MOST_MEMORY}x",
    ]
    report.say(markdown_table(head, rows))
    report.say(
        "Memory as multiples of the encoded training matrix (rows x features x 8 bytes). "
        "Resident memory counts from a matrix of 10 MB on."
    )
    report.save()
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
