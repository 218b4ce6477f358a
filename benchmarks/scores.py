"""Score targets beside class targets, on the same models and rows: share found, changes, distance, processor time.

The paper's 40 datasets with a forest: rows of one class towards the other, as a class and as a score (a probability of
more than 0.5), and towards a score of 0.8. And two regressors on two tables, towards their highest quarter.

    python benchmarks/scores.py --data DIR --out scores.md
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from common import Report, machine, markdown_table, progress
from nicecf import NICE, RulesWarning
from nicecf.benchmark.datasets import load
from nicecf.benchmark.paper_datasets import PAPER
from nicecf.benchmark.run import as_floats

_MOST_TRAINING, _ROWS = 2_000, 50
_JUST_MORE = float(np.nextafter(0.5, 1.0))


@dataclass(frozen=True)
class Cell:
    """What one target gave on one table: means over the rows, and processor milliseconds a row."""

    table: str
    search: str
    target: str
    found: float
    nearest: float
    changes: float
    distance: float
    ms: float


def explained(nice: NICE, rows: Any, table: str, target: str, asked: dict[str, Any]) -> Cell:
    start = process_time()
    cfs = nice.explain(rows, **asked, progress=False)
    ms = 1000 * (process_time() - start) / len(rows)
    measured = cfs.metrics()[cfs.found]
    near = len(cfs.nearest()) / len(cfs) if "target_score" in asked else 0.0
    return Cell(
        table,
        nice.search_,
        target,
        float(cfs.found.mean()),
        near,
        float(measured["sparsity"].mean()) if len(measured) else np.nan,
        float(measured["proximity"].mean()) if len(measured) else np.nan,
        ms,
    )


def probabilities(folder: str, names: list[str], report: Any) -> Iterator[Cell]:
    for name in names:
        report(name)
        dataset = load(name, folder=folder)
        values, y = as_floats(dataset), dataset.y
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[: min(_MOST_TRAINING, len(y) // 2)], order[min(_MOST_TRAINING, len(y) // 2) :]
        X, y = np.nan_to_num(values, nan=-1.0), np.asarray(y)
        model = RandomForestClassifier(50, min_samples_leaf=2, random_state=0, n_jobs=1).fit(X[train], y[train])
        categorical = [list(dataset.X.columns).index(one) for one in dataset.categorical]
        rows = X[test][model.predict(X[test]) == 0][:_ROWS]
        if not len(rows):
            continue
        for search in ("greedy", "thorough"):
            nice = NICE(model, search=search, categorical_features=categorical).fit(X[train], y[train])
            nice.explain(rows[:1], target_score=(_JUST_MORE, None))  # sorts the donors for it
            yield explained(nice, rows, name, "class", {"target_class": 1})
            yield explained(nice, rows, name, "score > 0.5", {"target_score": (_JUST_MORE, None)})
            yield explained(nice, rows, name, "score >= 0.8", {"target_score": (0.8, None)})


def regressors(folder: Path, report: Any) -> Iterator[tuple[str, Cell]]:
    """Two regressors on two tables: hours of adult, the amount of german credit."""
    adult = pd.read_csv(folder / "raw/adult/adult.csv.gz", keep_default_na=False).drop(columns="fnlwgt")[:6_000]
    german = pd.read_csv(next((folder / "raw").glob("german*/*.csv*")))
    amount = next(name for name in german if "amount" in name.lower())
    for name, table, label in (("adult, hours", adult, "hours-per-week"), ("german credit, amount", german, amount)):
        y, X = table[label].astype(float), table.drop(columns=label)
        half = len(X) // 2
        text = make_column_selector(dtype_exclude="number")
        for kind, last in (
            ("forest", RandomForestRegressor(50, min_samples_leaf=3, random_state=0, n_jobs=1)),
            ("ridge", Ridge()),
        ):
            report(f"{name}, {kind}")
            encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), remainder=StandardScaler())
            model = make_pipeline(encode, last).fit(X[:half], y[:half])
            scores = model.predict(X[half:])
            rows = X[half:][scores < np.median(scores)][:_ROWS]
            goal = float(np.quantile(model.predict(X[:half]), 0.75))
            for search in ("greedy", "thorough"):
                nice = NICE(model, search=search).fit(X[:half], y[:half])
                nice.explain(rows[:1], target_score=(goal, None))
                for target in (goal, 10 * goal):
                    said = "highest quarter" if target == goal else "ten times that"
                    yield kind, explained(nice, rows, name, said, {"target_score": (target, None)})


def by_target(cells: list[Cell]) -> str:
    """Means over the tables; distance and time also beside those of the class, table by table."""
    frame = pd.DataFrame(cells)
    lines = []
    for (search, target), these in frame.groupby(["search", "target"], sort=False):
        base = frame[(frame["search"] == search) & (frame["target"] == "class")].set_index("table")
        own = these.set_index("table")
        ratios = {name: np.exp(np.nanmean(np.log(own[name] / base[name]))) for name in ("distance", "changes", "ms")}
        lines.append(
            [
                search,
                target,
                str(len(own)),
                f"{own['found'].mean():.1%}",
                f"{own['nearest'].mean():.1%}",
                f"{ratios['changes']:.3f}",
                f"{ratios['distance']:.3f}",
                f"{own['ms'].mean():.2f}",
                f"{ratios['ms']:.2f}x",
            ]
        )
    head = ["search", "target", "tables", "found", "nearest only", "changes", "distance", "ms/row", "time"]
    return markdown_table(head, lines)


def of_regressors(cells: list[tuple[str, Cell]]) -> str:
    lines = [
        [
            one.table,
            kind,
            one.search,
            one.target,
            f"{one.found:.0%}",
            f"{one.nearest:.0%}",
            f"{one.changes:.2f}",
            f"{one.distance:.3f}",
            f"{one.ms:.1f}",
        ]
        for kind, one in cells
    ]
    head = ["table", "model", "search", "target", "found", "nearest only", "changes", "distance", "ms/row"]
    return markdown_table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("NICECF_DATA"), help="folder with the datasets")
    parser.add_argument("--tables", nargs="+", default=list(PAPER), metavar="NAME")
    parser.add_argument("--out", help="file for the report (default: standard output)")
    options = parser.parse_args()
    if not options.data:
        sys.exit("pass --data, or set NICECF_DATA: these are real tables")
    warnings.simplefilter("ignore", RulesWarning)
    with threadpool_limits(1):
        cells = list(probabilities(options.data, options.tables, progress))
        numbers = list(regressors(Path(options.data), progress))
    report = Report(options.out)
    report.say(machine("nicecf", "numpy", "scikit-learn"))
    report.say("Probabilities as scores; changes, distance and time as geometric means of ratios to the class.")
    report.say(by_target(cells))
    report.say(of_regressors(numbers))
    report.save()


if __name__ == "__main__":
    main()
