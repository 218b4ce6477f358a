"""The guard for privacy: how many rows still get a counterfactual, and what it costs.

Whether the guard holds is found out from the frames, by code that shares nothing with the library: no counterfactual is
a training row, and every new value is held by at least ``min_count`` training rows.

    python benchmarks/privacy.py --data DIR --out privacy.md
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from common import Report, machine, markdown_table
from nicecf import NICE, Counterfactuals

TABLES = {
    "adult": ("adult/adult.csv.gz", "income"),
    "german credit": ("german_credit/german_credit.csv.gz", "credit_risk"),
}
GUARDS: tuple[dict[str, Any], ...] = (
    {},
    {"share_donor": False},
    {"min_count": 5},
    {"min_count": 20},
    {"share_donor": False, "min_count": 100},
)
OPTIMIZE = ("none", "sparsity")


def main() -> int:
    """Measure and report; 1 if the guard let something through."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with raw/adult and raw/german_credit; default: NICECF_DATA")
    parser.add_argument("--rows", type=int, default=300, help="rows explained of each table")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    folder = options.data or os.environ.get("NICECF_DATA")
    if not folder:
        print("Nothing measured: the tables are adult and german credit. Set NICECF_DATA.")
        return 0
    report = Report(options.out)
    report.say("# The guard for privacy")
    report.say(
        f"A forest of 100 trees, {options.rows} test rows. " + machine("nicecf", "numpy", "pandas", "scikit-learn")
    )
    lines, n_wrong = [], 0
    with threadpool_limits(1):
        for name, (file, label) in TABLES.items():
            for line, wrong in measured(name, pd.read_csv(Path(folder) / "raw" / file), label, options.rows):
                lines.append(line)
                n_wrong += wrong
    head = ["table", "optimize", "guard", "coverage", "changes", "distance", "training rows", "rare values", "ms/row"]
    report.say(markdown_table(head, lines))
    report.say(f"Handed out against the guard: {n_wrong}.")
    report.save()
    return 1 if n_wrong else 0


def measured(name: str, table: pd.DataFrame, label: str, n_rows: int) -> Any:
    """A line for each variant and guard, with the number of things that the guard let through."""
    X, y = table.drop(columns=label), table[label]
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=n_rows, random_state=0, stratify=y)
    model = forest().fit(X_train, y_train)
    for optimize in OPTIMIZE:
        for guard in GUARDS:
            nice = NICE(model, optimize=optimize, search="greedy", **guard).fit(X_train, y_train)
            start = perf_counter()
            cfs = nice.explain(X_test, progress=False)
            seconds = perf_counter() - start
            n_shared, n_rare = let_through(cfs, X_train, X_test, guard.get("min_count", 1))
            metrics = cfs.metrics()
            words = ", ".join(f"{option}={value}" for option, value in guard.items()) or "-"
            yield (
                [
                    name,
                    optimize,
                    words,
                    f"{cfs.found.mean():.1%}",
                    f"{metrics['sparsity'].mean():.2f}",
                    f"{metrics['proximity'].mean():.3f}",
                    str(n_shared),
                    str(n_rare),
                    f"{1000 * seconds / n_rows:.1f}",
                ],
                (n_shared if "share_donor" in guard else 0) + (n_rare if "min_count" in guard else 0),
            )


def let_through(cfs: Counterfactuals, X_train: pd.DataFrame, X_test: pd.DataFrame, min_count: int) -> tuple[int, int]:
    """How many counterfactuals are training rows, and how many new values fewer than ``min_count`` of these hold."""
    known = set(map(tuple, X_train.astype(str).to_numpy()))
    found = cfs.to_frame()[cfs.found]
    n_shared = sum(row in known for row in map(tuple, found.astype(X_train.dtypes).astype(str).to_numpy()))
    counts = {column: X_train[column].value_counts() for column in X_train}
    changes = cfs.changes()
    n_rare = sum(
        counts[feature].get(after, 0) < max(min_count, 5)
        for feature, after in zip(changes["feature"], changes["after"], strict=True)
    )
    return n_shared, n_rare


def forest() -> Pipeline:
    """Text one-hot encoded, numbers as they are."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
        remainder="passthrough",
    )
    return make_pipeline(columns, RandomForestClassifier(100, min_samples_leaf=5, random_state=0))


if __name__ == "__main__":
    sys.exit(main())
