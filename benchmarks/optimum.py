"""How far the thorough search is from the best there is, on boosted trees, where the best can be proven.

For each table and model: the nearest counterfactual by ``search="thorough"``, and the proven nearest one over the same
values, those of training rows (``oracle.py``); with ``--changes``, the fewest changes, too. Rows whose optimum is not
proven in time are counted and left out of the means. The oracle starts from our answer, so it can only be better; the
model itself is asked about every row that is compared.

treecf, a counterfactual explainer for trees alone, stands beside it if an environment with it is given: its genetic and
its exact search, by our distance, each row by itself. Its values are free, and often a hair beyond a threshold; so its
answers are also measured with every new number moved on to the next training value, if the model accepts that.

    python benchmarks/optimum.py --data DIR --treecf .venv-treecf/bin/python --out optimum.md
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np

import treecf_rows
from common import Problem, Report, machine, markdown_table, progress, short
from nicecf import NICE
from oracle import Optimum, Oracle
from quality import Split, geometric_mean, sources

# Of PMLB: few and many features, numbers and categories.
TABLES = ("adult", "australian", "churn", "credit_g", "diabetes", "magic", "phoneme", "wdbc")
# The most that the thorough search may be above the proven optimum, over all rows.
TARGET = 1.05
# Costs that are only rounding apart.
SAME = 1e-4


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted classifier, and the dump of it that treecf reads."""

    fitted: Any
    dump: Callable[[], dict[str, Any]]


def xgboost(problem: Problem, split: Split) -> Model:
    """100 trees of depth 3; categories are split by sets."""
    from xgboost import XGBClassifier

    kinds = ["c" if j in problem.categorical else "q" for j in range(problem.X.shape[1])]
    model = XGBClassifier(
        n_estimators=100,
        max_depth=3,
        learning_rate=0.1,
        enable_categorical=True,
        feature_types=kinds,
        n_jobs=1,
        random_state=0,
    ).fit(split.X, split.y)
    return Model(model, lambda: json.loads(model.get_booster().save_raw("json")))


def lightgbm(problem: Problem, split: Split) -> Model:
    """100 trees of depth 4; categories are split by sets."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=100, max_depth=4, num_leaves=15, learning_rate=0.1, n_jobs=1, random_state=0, verbose=-1
    ).fit(split.X, split.y, categorical_feature=problem.categorical or "auto")
    return Model(model, model.booster_.dump_model)


def gradient_boosting(problem: Problem, split: Split) -> Model:
    """100 trees of depth 3 of scikit-learn; the codes of categories are split as numbers."""
    from sklearn.ensemble import GradientBoostingClassifier

    def dump() -> dict[str, Any]:
        raise NotImplementedError("treecf has no dump format for scikit-learn")

    return Model(GradientBoostingClassifier(n_estimators=100, random_state=0).fit(split.X, split.y), dump)


MODELS = {"XGBoost": xgboost, "LightGBM": lightgbm, "scikit-learn": gradient_boosting}


@dataclass(frozen=True, eq=False)
class Answers:
    """One line per row: costs, NaN where nothing valid was found, and ms per row. ``on_grid``: with training values."""

    costs: np.ndarray
    on_grid: np.ndarray
    wall: np.ndarray
    process: np.ndarray
    n_proven: int = 0
    n_invalid: int = 0


@dataclass(frozen=True, eq=False)
class Cell:
    """One table and one model.

    ``batch_ms``: process time of ours per row, all rows in one call. ``changes``: ours, and the fewest.
    """

    dataset: str
    model: str
    n_rows: int
    n_features: int
    ours: Answers
    batch_ms: float
    optima: list[Optimum]
    changes: list[tuple[float, Optimum]]
    treecf: dict[str, Answers]
    examples: list[str]

    @property
    def ratios(self) -> np.ndarray:
        """Of each proven row, our distance over the optimum."""
        found = self.ours.costs[~np.isnan(self.ours.costs)]
        return np.array([own / best.cost for own, best in zip(found, self.optima, strict=True) if best.is_proven])

    @property
    def change_ratios(self) -> np.ndarray:
        """The same for changes."""
        return np.array([own / best.cost for own, best in self.changes if best.is_proven])


def measure(name: str, problem: Problem, options: argparse.Namespace) -> Cell:
    """Explain rows that were not trained on, and prove how near they could be."""
    split = Split.of(problem, n_explained=options.rows, seed=0)
    model = MODELS[name](problem, split)
    rows, predict = split.explained, model.fitted.predict
    targets = 1 - predict(rows).astype(int)
    oracle = Oracle(model.fitted, split.X, problem.categorical)

    def explainer(optimize: Literal["proximity", "sparsity"]) -> NICE:
        nice = NICE(model.fitted, search="thorough", optimize=optimize, categorical_features=problem.categorical)
        return nice.fit(split.X, split.y)

    def valid_costs(values: np.ndarray) -> np.ndarray:
        """Costs by our distance, of what the model accepts."""
        costs = np.full(len(rows), np.nan)
        there = np.flatnonzero(~np.isnan(values).any(axis=1))
        valid = there[predict(values[there]) == targets[there]] if len(there) else there
        costs[valid] = [oracle.distance(rows[i], values[i]) for i in valid]
        return costs

    def judged(values: np.ndarray, wall: np.ndarray, process: np.ndarray, n_proven: int = 0) -> Answers:
        moved = np.array([oracle.on_grid(row, own) for row, own in zip(rows, values, strict=True)])
        costs, on_grid = valid_costs(values), valid_costs(moved)
        n_invalid = int((np.isnan(costs) & ~np.isnan(values).any(axis=1)).sum())
        return Answers(costs, on_grid, wall, process, n_proven, n_invalid)

    nice = explainer("proximity")
    nice.explain(rows[:1], progress=False)  # the first call pays for lazy imports
    start = process_time()
    cfs = nice.explain(rows, progress=False)
    batch_ms = 1000 * (process_time() - start) / len(rows)
    values = np.where(cfs.found[:, None], cfs.to_numpy(), np.nan).astype(np.float64)
    ours = judged(values, *timed(nice, rows))
    optima, examples = [], []
    for i in np.flatnonzero(~np.isnan(ours.costs)):
        best = oracle.nearest(rows[i], int(targets[i]), values[i], seconds=options.seconds)
        check(oracle, rows[i], best, ours.costs[i], predict(best.values[None])[0] == targets[i])
        optima.append(best)
        if ours.costs[i] > best.cost * (1 + SAME):
            examples.append(example(int(i), rows[i], values[i], ours.costs[i], best))
    changes = []
    if options.changes:
        fewest = explainer("sparsity").explain(rows, progress=False)
        for i in np.flatnonzero(fewest.found):
            own = fewest.to_numpy()[i].astype(np.float64)
            changes.append(
                (
                    float((own != rows[i]).sum()),
                    oracle.nearest(rows[i], int(targets[i]), own, by="changes", seconds=options.seconds),
                )
            )
    theirs = {}
    if options.treecf and name != "scikit-learn":
        answers = treecf_rows.answered(
            options.treecf, model.dump(), split.X, rows, targets, seconds=options.treecf_seconds
        )
        theirs = {
            backend: judged(one.values, one.wall, one.process, int(one.is_proven.sum()))
            for backend, one in answers.items()
        }
    return Cell(problem.name, name, len(rows), rows.shape[1], ours, batch_ms, optima, changes, theirs, examples)


def timed(nice: NICE, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wall and process time in ms of each row by itself."""
    walls, processes = [], []
    for i in range(len(rows)):
        wall, process = perf_counter(), process_time()
        nice.explain(rows[i : i + 1], progress=False)
        walls.append(1000 * (perf_counter() - wall))
        processes.append(1000 * (process_time() - process))
    return np.array(walls), np.array(processes)


def check(oracle: Oracle, row: np.ndarray, best: Optimum, ours: float, is_valid: bool) -> None:
    """The oracle's own mistakes: a row that is none, or farther than ours."""
    assert is_valid, "the model does not accept the optimum"
    assert best.cost <= ours * (1 + SAME), f"the optimum, {best.cost}, is farther than ours, {ours}"
    assert oracle.is_on_grid(row, best.values), "the optimum has a value that no training row holds"


def example(i: int, row: np.ndarray, ours: np.ndarray, cost: float, best: Optimum) -> str:
    """One row that is not optimal: what we change and what the optimum changes."""

    def changed(values: np.ndarray) -> str:
        return ", ".join(f"x{j} {row[j]:g} -> {values[j]:g}" for j in np.flatnonzero(values != row))

    proof = "" if best.is_proven else " or better"
    return f"row {i}: {cost:.4f} ({changed(ours)}); optimum{proof} {best.cost:.4f} ({changed(best.values)})"


def optimum_table(cells: list[Cell]) -> str:
    """Our search beside the proven optimum."""
    head = ["dataset", "model", "rows", "proven", "ours / optimum", "at the optimum", "worst", "solver s/row, most"]
    head += ["changes: proven", "ours / fewest"] if any(cell.changes for cell in cells) else []
    lines = []
    for cell in cells:
        seconds = [best.seconds for best in cell.optima]
        line = [cell.dataset, cell.model, cell.n_rows, len(cell.ratios), *_ratio_columns(cell.ratios)]
        line.append(f"{short(float(np.mean(seconds)))}, {short(max(seconds))}")
        if cell.changes:
            line += [len(cell.change_ratios), f"{geometric_mean(list(cell.change_ratios)):.3f}"]
        lines.append(line)
    every = np.concatenate([cell.ratios for cell in cells])
    total = ["**all rows**", "", sum(cell.n_rows for cell in cells), len(every), *_ratio_columns(every), ""]
    fewest = np.concatenate([cell.change_ratios for cell in cells])
    lines.append([*total, len(fewest), f"{geometric_mean(list(fewest)):.3f}"] if len(fewest) else total)
    return markdown_table(head, lines)


def _ratio_columns(ratios: np.ndarray) -> list[str]:
    if not len(ratios):
        return ["-"] * 3
    return [f"{geometric_mean(list(ratios)):.3f}", f"{np.mean(ratios <= 1 + SAME):.0%}", f"{ratios.max():.2f}"]


def treecf_table(cells: list[Cell]) -> str:
    """Mean distances over the rows that all of them explain."""
    head = ["dataset", "model", "rows", "ours", "optimum", "genetic", "exact", "ours / genetic", "ours / exact"]
    head += ["on training values: rows", "ours / genetic", "ours / exact", "proven by it", "invalid"]
    lines = []
    for cell in (one for one in cells if one.treecf):
        genetic, exact = cell.treecf["genetic"], cell.treecf["exact"]
        best = np.full(cell.n_rows, np.nan)
        best[~np.isnan(cell.ours.costs)] = [one.cost for one in cell.optima]
        free = means([cell.ours.costs, best, genetic.costs, exact.costs])
        moved = means([cell.ours.costs, genetic.on_grid, exact.on_grid])
        lines.append(
            [
                cell.dataset,
                cell.model,
                free[0],
                *(f"{mean:.4f}" for mean in free[1:]),
                *(f"{free[1] / mean:.3f}" for mean in free[3:]),
                moved[0],
                *(f"{moved[1] / mean:.3f}" for mean in moved[2:]),
                exact.n_proven,
                genetic.n_invalid + exact.n_invalid,
            ]
        )
    return markdown_table(head, lines)


def means(columns: list[np.ndarray]) -> list[Any]:
    """How many rows have them all, and their means over these."""
    table = np.stack(columns)
    table = table[:, ~np.isnan(table).any(axis=0)]
    return [table.shape[1], *(table.mean(axis=1) if table.shape[1] else np.full(len(columns), np.nan))]


def time_table(cells: list[Cell]) -> str:
    """Milliseconds per row, each row by itself, and ours in one call."""
    head = ["dataset", "model", "features", "ours, row by row", "ours, in one call", "genetic", "exact"]
    lines = []
    for cell in (one for one in cells if one.treecf):
        theirs = [_ms(cell.treecf[backend]) for backend in treecf_rows.BACKENDS]
        lines.append([cell.dataset, cell.model, cell.n_features, _ms(cell.ours), short(cell.batch_ms), *theirs])
    return markdown_table(head, lines)


def _ms(answers: Answers) -> str:
    return f"{short(float(answers.process.mean()))} ({short(float(answers.wall.mean()))})"


def importable(names: Iterable[str]) -> list[str]:
    """The models whose libraries are there; scikit-learn's only for want of others."""
    from importlib.util import find_spec

    there = [name for name in names if name != "scikit-learn" and find_spec(name.lower())]
    return there or ["scikit-learn"]


def main() -> int:
    """Measure and report; 1 if the search is farther from the optimum than it may be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with pmlb/<name>/<name>.tsv.gz; default: NICECF_DATA")
    parser.add_argument(
        "--datasets", nargs="+", help=f"names of tables; default: {', '.join(TABLES)}, or generated ones"
    )
    parser.add_argument(
        "--models", nargs="+", choices=MODELS, help="default: those of XGBoost and LightGBM that are there"
    )
    parser.add_argument("--rows", type=int, default=40, help="rows explained of each table")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of the proof for one row")
    parser.add_argument("--changes", action="store_true", help="the fewest changes, too")
    parser.add_argument("--treecf", metavar="PYTHON", help="an interpreter that can import treecf")
    parser.add_argument("--treecf-seconds", type=float, default=5.0, help="limit of its exact search for one row")
    parser.add_argument("--examples", type=int, default=0, help="list so many rows of each cell that are not optimal")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    if options.treecf and not Path(options.treecf).exists():
        parser.error(f"--treecf {options.treecf} does not exist; see benchmarks/treecf_rows.py for how to install it.")
    tables = sources(options.data or os.environ.get("NICECF_DATA"))
    names = options.datasets or [name for name in TABLES if name in tables] or list(tables)
    if unknown := set(names) - set(tables):
        parser.error(f"no table called {', '.join(sorted(unknown))}; there are {', '.join(tables)}.")
    models = options.models or importable(MODELS)

    report = Report(options.out)
    report.say("# The thorough search beside the proven optimum, on boosted trees")
    report.say(
        f"Up to {options.rows} rows of each table, at most {options.seconds:g} s for each proof. "
        + machine("nicecf", "numpy", "scipy", "xgboost-cpu", "lightgbm")
    )
    cells = []
    for name in names:
        problem = tables[name]()
        for model in models:
            start = perf_counter()
            cell = measure(model, problem, options)
            cells.append(cell)
            ratio = geometric_mean(list(cell.ratios)) if len(cell.ratios) else np.nan
            progress(f"{name}, {model}: {perf_counter() - start:.0f} s; {ratio:.3f} of the optimum")
            for one in cell.examples[: options.examples]:
                progress("  " + one)
    report.say("## Distance\n\n" + optimum_table(cells))
    every = np.concatenate([cell.ratios for cell in cells])
    mean = geometric_mean(list(every))
    report.say(
        f"Geometric mean over {len(every):,} proven rows of {sum(cell.n_rows for cell in cells):,}: {mean:.3f}; "
        f"target {TARGET:.2f}: {'pass' if mean <= TARGET else 'FAIL'}."
    )
    if any(cell.treecf for cell in cells):
        report.say("## treecf: distance\n\n" + treecf_table(cells))
        report.say(
            "Means over the rows that all explain, and ratios of means. Optimum: over training values; where it is not "
            "proven, the best known. The values of treecf are free; on training values: with each of its new numbers "
            "moved on to the next training value, over the rows that the model then still accepts. Proven by it: rows "
            "that treecf says are optimal. Invalid: its rows that the model itself does not put in the target."
        )
        report.say("## treecf: process time (wall time) in ms per row\n\n" + time_table(cells))
    report.save()
    return 0 if mean <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
