"""How often the default search finds a counterfactual where there is one, by ``search="exact"``.

Tables, models whose structure can be read, rules and margins are combined. Every row that the default search leaves
without an answer is given to the exact search, which finds one over the same values, those of training rows, or proves
that there is none; rows for which neither comes out in time are counted apart. Margins are the minimum probability of
the target: that of the class decided, that of the best tenth of the training rows, and two that no training row
reaches, though combinations of their values may.

    python benchmarks/found.py --data DIR --out found.md
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from common import Problem, Report, machine, markdown_table, progress
from nicecf import NICE, Constraints
from quality import Split, sources

# Of PMLB: few and many features, numbers and categories.
TABLES = ("churn", "credit_g", "diabetes")
# The share of the rows found by the exact search that the default search must find as well.
TARGET = 0.995
# Training rows: the exact search grows with their values.
N_TRAINING = 1_000
# How far beyond the best training row a margin lies, in log-odds.
BEYOND, FAR_BEYOND = 0.3, 1.0
MARGINS = ("none", "best tenth", "beyond", "far beyond")


@dataclass(frozen=True)
class Cell:
    """Rows of one table under one model, set of rules and margin: how many each search finds."""

    dataset: str
    model: str
    rules: str
    margin: str
    n_rows: int
    by_default: int
    by_exact: int
    undecided: int
    seconds: float


def fitted(problem: Problem, split: Split) -> dict[str, list[Any]]:
    """The models by name, each with the others that must agree with it."""
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((StandardScaler(), problem.numeric), (encoder, problem.categorical))
    linear = make_pipeline(columns, LogisticRegression(max_iter=1_000)).fit(split.X, split.y)
    boosting = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(split.X, split.y)
    forest = RandomForestClassifier(10, max_depth=6, random_state=0).fit(split.X, split.y)
    return {"linear": [linear], "boosting": [boosting], "forest": [forest], "linear + boosting": [linear, boosting]}


def rule_sets(problem: Problem, X: np.ndarray) -> dict[str, dict[str, Any]]:
    """Rules by name: each kind alone, and seven at once."""
    n_features = X.shape[1]
    order = np.random.default_rng(1).permutation(n_features).tolist()
    numeric = [j for j in order if j in problem.numeric and len(np.unique(X[:, j])) > 2]
    fixed = {"immutable": order[: n_features // 3]}
    free = [j for j in numeric if j not in fixed["immutable"]] or numeric
    one_way: dict[str, Any] = {"increasing": free[:2], "decreasing": free[2:3]}
    ranges = {"ranges": {j: tuple(np.quantile(X[:, j], (0.1, 0.6)).tolist()) for j in free[3:6]}}
    pairs = [j for j in order[::-1] if j not in [*free[:6], *fixed["immutable"]]]
    groups = {"groups": [pairs[:2]]} if len(pairs) > 1 else {}
    sets = {
        "none": {},
        "immutable": fixed,
        "one way": one_way,
        "ranges": ranges if free[3:6] else {},
        "groups": groups,
        "1 change": {"max_changes": 1},
        "3 changes": {"max_changes": 3},
        "seven rules": fixed | one_way | ranges | groups | {"max_changes": 4, "may_become_missing": False},
    }
    return {name: rules for name, rules in sets.items() if rules or name == "none"}


def margins(models: list[Any], X: np.ndarray, target: int) -> Iterator[tuple[str, float | None]]:
    """The minimum probabilities of the target, by name; of several models, by the one that is least sure."""
    each = np.min([model.predict_proba(X)[:, target] for model in models], axis=0)
    best = np.clip(each.max(), 1e-9, 1 - 1e-9)
    beyond = [float(1 / (1 + (1 / best - 1) * np.exp(-more))) for more in (BEYOND, FAR_BEYOND)]
    values: list[float | None] = [None, float(np.quantile(each, 0.9)), *beyond]
    yield from zip(MARGINS, values, strict=True)


def measure(problem: Problem, options: argparse.Namespace) -> Iterator[Cell]:
    """All cells of one table."""
    split = Split.of(problem, n_explained=options.rows, seed=0)
    X, y, rows = split.X[:N_TRAINING], split.y[:N_TRAINING], split.explained
    split = Split(X, y, rows)
    for name, models in fitted(problem, split).items():
        # Towards the class that fewer rows have.
        target = int(y.mean() < 0.5)
        away = rows[models[0].predict(rows) != target]
        for margin, probability in margins(models, X, target):
            if margin not in options.margins:
                continue
            nice, exact = (
                NICE(
                    models[0],
                    robust_to=models[1:],
                    min_probability=probability,
                    categorical_features=problem.categorical,
                    search=search,
                ).fit(X, y)
                for search in (None, "exact")
            )
            for rules, given in rule_sets(problem, X).items():
                start = perf_counter()
                call = {"target_class": target, "constraints": Constraints(**given), "progress": False}
                found = nice.explain(away, **call).found
                more = undecided = 0
                for row in away[~found][: options.proofs]:
                    cfs = exact.explain(row[None], time_budget=options.seconds, **call)
                    more += int(cfs.found[0])
                    undecided += int(not cfs.found[0] and cfs.proof[0] != "infeasible")
                counts = len(away), int(found.sum()), int(found.sum()) + more, undecided
                yield Cell(problem.name, name, rules, margin, *counts, perf_counter() - start)


def table(cells: list[Cell], by: str) -> str:
    """Found by default and by the exact search, summed over what is not named."""
    lines = []
    for name in dict.fromkeys(getattr(cell, by) for cell in cells):
        own = [cell for cell in cells if getattr(cell, by) == name]
        n_rows, ours, exact, undecided = (
            sum(getattr(cell, count) for cell in own) for count in ("n_rows", "by_default", "by_exact", "undecided")
        )
        lines.append([name, n_rows, exact, ours, f"{ours / exact:.2%}" if exact else "-", undecided])
    return markdown_table([by, "rows", "found by exact", "found by default", "share", "undecided"], lines)


def main() -> int:
    """Measure and report; 1 if the default search misses more than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with pmlb/<name>/<name>.tsv.gz; default: NICECF_DATA")
    parser.add_argument("--datasets", nargs="+", help=f"names of tables; default: {', '.join(TABLES)}, or generated")
    parser.add_argument("--rows", type=int, default=5, help="rows explained of each table")
    parser.add_argument("--margins", nargs="+", choices=MARGINS, default=MARGINS)
    parser.add_argument("--proofs", type=int, default=5, help="rows of a cell at most that the exact search is asked")
    parser.add_argument("--seconds", type=float, default=2.0, help="limit of the exact search for one row")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    tables = sources(options.data or os.environ.get("NICECF_DATA"))
    names = options.datasets or [name for name in TABLES if name in tables] or list(tables)
    if unknown := set(names) - set(tables):
        parser.error(f"no table called {', '.join(sorted(unknown))}; there are {', '.join(tables)}.")
    warnings.simplefilter("ignore")
    report = Report(options.out)
    cells = []
    for name in names:
        for cell in measure(tables[name](), options):
            cells.append(cell)
            if cell.by_default < cell.by_exact or cell.undecided:
                progress(str(cell))
        progress(f"{name}: {sum(cell.seconds for cell in cells if cell.dataset == cells[-1].dataset):.0f} s")
    report.say("# Found by the default search, and by the exact one")
    report.say(f"Up to {options.rows} rows of each table. " + machine("nicecf", "scikit-learn", "ortools"))
    for by in ("dataset", "model", "rules", "margin"):
        report.say(table(cells, by))
    ours, exact = (sum(getattr(cell, count) for cell in cells) for count in ("by_default", "by_exact"))
    share = ours / exact
    report.say(
        f"Found: {ours:,} of {exact:,}, {share:.2%}; target {TARGET:.1%}: {'pass' if share >= TARGET else 'FAIL'}."
    )
    report.save()
    return 0 if share >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
