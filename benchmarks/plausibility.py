"""Plausibility as the objective of the thorough search, beside the best hybrid there is.

On small tables every hybrid of every donor can be measured: each takes any of the features that differ from one donor.
The lowest error among those that the model accepts is the best that any search with one donor can reach. For each table
and model: how many rows reach it, the geometric mean of the ratios to it, and the processor time for a row.

    python benchmarks/plausibility.py --data DIR --out plausibility.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from common import Problem, Report, machine, markdown_table, progress, short
from nicecf import NICE
from nicecf.search.autoencoder import Autoencoder
from quality import MODELS, Split, fitted_model, geometric_mean, tables_asked_for

# Tables with more features, or more training rows, have too many hybrids to measure every one.
WIDEST, LONGEST = 10, 1000
# Hybrids that are measured together, and that the model is asked about together.
AT_ONCE, ASKED = 2**16, 2**11
TARGET, TOLERANCE = 1.05, 1e-9


@dataclass(frozen=True)
class Reached:
    """One table and one model: of each row explained the error reached, over the lowest one there is."""

    dataset: str
    model: str
    n_donors: float
    ratios: tuple[float, ...]
    ms: float

    @property
    def share_best(self) -> float:
        """The share of rows with the lowest error of all."""
        return float(np.mean(np.array(self.ratios) <= 1 + TOLERANCE))

    @property
    def mean(self) -> float:
        """The geometric mean of the ratios."""
        return geometric_mean(list(self.ratios))


def lowest_error(row: np.ndarray, donors: np.ndarray, model: Any, error: Callable[[Any], np.ndarray]) -> float:
    """The lowest error of a valid hybrid of a row and one of its donors, of every one of them."""
    n_features, own = len(row), model.predict(row[None])[0]
    swapped = (np.arange(1, 2**n_features)[:, None] >> np.arange(n_features)) % 2 == 1
    parts = np.array_split(donors, max(1, len(donors) * len(swapped) // AT_ONCE))
    every = [np.where(swapped[None], some[:, None], row).reshape(-1, n_features) for some in parts]
    hybrids, errors = np.concatenate(every), np.concatenate([error(some) for some in every])
    order = np.argsort(errors, kind="stable")
    for at in range(0, len(order), ASKED):
        # Many donors share values: their hybrids are the same ones.
        asked, first = np.unique(hybrids[order[at : at + ASKED]], axis=0, return_index=True)
        is_valid = model.predict(asked) != own
        if is_valid.any():
            return float(errors[order[at + first[is_valid].min()]])
    return np.nan


def measure(problem: Problem, split: Split, model_name: str, error: Callable[[Any], np.ndarray]) -> Reached:
    """Explain the rows for plausibility, and measure every hybrid of every donor beside that."""
    model = fitted_model(model_name, problem, split)
    options: dict[str, Any] = {"plausibility": error, "categorical_features": problem.categorical}
    nice = NICE(model, search="thorough", optimize="plausibility", **options).fit(split.X, split.y)
    nice.explain(split.explained[:1], progress=False)  # the first call pays for lazy imports
    start = process_time()
    cfs = nice.explain(split.explained, progress=False)
    seconds = process_time() - start
    found = np.flatnonzero(cfs.found)
    reached = error(cfs.to_numpy()[found].astype(np.float64))
    said = model.predict(split.X)
    is_donor = said == split.y
    n_donors, ratios = [], []
    for row, mine in zip(split.explained[found], reached, strict=True):
        donors = split.X[is_donor & (said != model.predict(row[None])[0])]
        n_donors.append(len(donors))
        ratios.append(float(mine / lowest_error(row, donors, model, error)))
    return Reached(
        problem.name, model_name, float(np.mean(n_donors)), tuple(ratios), 1000 * seconds / len(split.explained)
    )


def table(measured: list[Reached]) -> str:
    """One line per table and model."""
    head = ["dataset", "model", "donors", "rows at the best", "error over the best", "largest", "ms per row", ""]
    lines = [
        (
            one.dataset,
            one.model,
            short(one.n_donors),
            f"{one.share_best:.0%}",
            f"{one.mean:.3f}",
            f"{max(one.ratios):.2f}",
            short(one.ms),
            "pass" if one.mean <= TARGET else "FAIL",
        )
        for one in measured
    ]
    return markdown_table(head, lines)


def main() -> int:
    """Measure and report; 1 if a table is further from the best than it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with pmlb/<name>/<name>.tsv.gz; default: NICECF_DATA")
    parser.add_argument("--datasets", nargs="+", help="names of tables; default: all that are small enough")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rows", type=int, default=30, help="rows explained of each table")
    parser.add_argument("--seed", type=int, default=0, help="which rows are training rows and which are explained")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    tables = tables_asked_for(parser, options)
    report = Report(options.out)
    report.say("# Plausibility: the thorough search beside the best hybrid of all donors")
    measured = []
    for name, load in tables.items():
        problem = load()
        split = Split.of(problem, n_explained=options.rows, seed=options.seed)
        if problem.X.shape[1] > WIDEST or (len(split.X) > LONGEST and not options.datasets):
            continue
        is_categorical = np.isin(np.arange(problem.X.shape[1]), problem.categorical)
        error = Autoencoder.train(split.X, is_categorical, seed=0).__call__
        for model_name in options.models:
            progress(f"{name}, {model_name}")
            measured.append(measure(problem, split, model_name, error))
    if not measured:
        parser.error(f"no table has at most {WIDEST} features and {LONGEST:,} training rows.")
    report.say(
        f"Up to {options.rows} rows of each table explained, seed {options.seed}. "
        + machine("nicecf", "numpy", "scikit-learn")
    )
    report.say(table(measured))
    report.save()
    return int(any(one.mean > TARGET for one in measured))


if __name__ == "__main__":
    sys.exit(main())
