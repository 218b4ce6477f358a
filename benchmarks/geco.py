"""The thorough search beside GeCo, in the cells of the paper's tables: 40 tables, a forest and a network each.

Tables, splits, models and rows are those of ``nicecf benchmark run --profile quick`` (the first of its rows). On the
rows for which GeCo, with its own defaults, finds an answer, ``search="thorough"`` should have no more changes by
``optimize="sparsity"``, and be no farther by ``optimize="proximity"``: means over rows, cell by cell.

Each cell is kept in a file as soon as it is measured, with what GeCo answered and how the model was tuned. A later run
with the same rows, seed and limit measures what is missing; ``--again`` measures our search anew, and only that.

    python benchmarks/geco.py --data DIR --out geco.md
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np

from common import Report, machine, markdown_table, progress, short, stored
from nicecf import NICE
from nicecf.baselines import GeCo
from nicecf.benchmark import models
from nicecf.benchmark.datasets import load
from nicecf.benchmark.paper_datasets import PAPER
from nicecf.benchmark.plan import Plan
from nicecf.benchmark.run import Problem, prepared
from quality import geometric_mean

MEASURES: dict[Literal["sparsity", "proximity"], str] = {"sparsity": "changes", "proximity": "distance"}
# Rows explained in the paper's run, of which the first are explained here.
ROWS_OF_RUN = 200
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Measured:
    """Of one method: changes and distance of each row, None where nothing was found, and ms per row."""

    sparsity: list[float | None]
    proximity: list[float | None]
    ms: float


@dataclass(frozen=True)
class Cell:
    """One table and one model, as it was measured. ``seconds``: the limit of GeCo, per row."""

    dataset: str
    model: str
    rows: int
    seed: int
    seconds: float
    parameters: dict[str, Any]
    geco: Measured
    ours: Measured

    @classmethod
    def of_json(cls, line: str) -> Cell:
        """Read back what was written."""
        record = json.loads(line)
        return cls(**record | {name: Measured(**record[name]) for name in ("geco", "ours")})

    @property
    def key(self) -> tuple[str, str, int, int, float]:
        """What makes measuring it again pointless."""
        return self.dataset, self.model, self.rows, self.seed, self.seconds

    def means(self, measure: Literal["sparsity", "proximity"]) -> tuple[float, float]:
        """Ours and GeCo's, over the rows that both explain."""
        ours, theirs = self.pairs(measure)
        return float(ours.mean()), float(theirs.mean())

    def pairs(self, measure: Literal["sparsity", "proximity"]) -> np.ndarray:
        """Ours and GeCo's, of each row that both explain."""
        both = np.array([getattr(self.ours, measure), getattr(self.geco, measure)], dtype=np.float64)
        return np.asarray(both[:, ~np.isnan(both).any(axis=0)])

    @property
    def n_found(self) -> int:
        """Rows that GeCo explains."""
        return sum(one is not None for one in self.geco.sparsity)

    @property
    def n_compared(self) -> int:
        """Rows that both explain."""
        return self.pairs("sparsity").shape[1]

    def ratio(self, measure: Literal["sparsity", "proximity"]) -> float:
        """Our mean over GeCo's; 1 where both are nothing."""
        ours, theirs = self.means(measure)
        return ours / theirs if theirs > 0 else 1.0

    @property
    def worst(self) -> float:
        """The larger of the two ratios; 0 without rows that both explain."""
        return max(self.ratio(measure) for measure in MEASURES) if self.n_compared else 0.0


def measure(problem: Problem, name: str, known: Cell | None, options: argparse.Namespace) -> Cell:
    """Explain the rows with both; where a cell is known, only with ours."""
    model, parameters = models.train(
        name,
        problem.X_train,
        problem.y_train,
        problem.categorical,
        profile="quick",
        seed=options.seed,
        parameters=None if known is None else known.parameters,
    )
    rows = problem.rows[: options.rows]

    def explained(method: Any, **how: Any) -> tuple[Any, float]:
        method.fit(problem.X_train, problem.y_train)
        start = perf_counter()
        cfs = method.explain(rows, progress=False, **how)
        return cfs, 1000 * (perf_counter() - start) / len(rows)

    def column(cfs: Any, measured: str) -> list[float | None]:
        numbers = cfs.metrics()[measured].to_numpy(dtype=np.float64, na_value=np.nan)
        return [None if np.isnan(number) else float(number) for number in numbers]

    def ours(optimize: Literal["sparsity", "proximity"]) -> tuple[list[float | None], float]:
        nice = NICE(model, search="thorough", optimize=optimize, categorical_features=problem.categorical)
        cfs, ms = explained(nice)
        return column(cfs, optimize), ms

    changes, distances = ours("sparsity"), ours("proximity")
    measured = Measured(changes[0], distances[0], distances[1])
    if known is not None:
        return replace(known, ours=measured)
    geco = GeCo(model, categorical_features=problem.categorical, random_state=options.seed)
    cfs, ms = explained(geco, time_budget=options.seconds * len(rows))
    theirs = Measured(column(cfs, "sparsity"), column(cfs, "proximity"), ms)
    return Cell(problem.name, name, options.rows, options.seed, options.seconds, parameters, theirs, measured)


def all_cells(names: list[str], options: argparse.Namespace) -> list[Cell]:
    """Each table with each model: from the store where it is there, else measured and put there."""
    known, cells = stored(options.store, Cell.of_json), []
    for name in names:
        keys = {model: (name, model, options.rows, options.seed, options.seconds) for model in models.MODELS}
        missing = [model for model, key in keys.items() if options.again or key not in known]
        if missing:
            plan = Plan((name,), methods=("geco",), rows=ROWS_OF_RUN, seed=options.seed, data=options.data)
            problem = prepared(load(name, folder=options.data), plan)
        for model in missing:
            start = perf_counter()
            cell = measure(problem, model, known.get(keys[model]), options)
            with options.store.open("a") as file:
                file.write(json.dumps(asdict(cell)) + "\n")
            known[cell.key] = cell
            progress(f"{name}, {model}: {perf_counter() - start:.0f} s; {', '.join(in_short(cell))}")
        cells += [known[key] for key in keys.values()]
    return cells


def in_short(cell: Cell) -> list[str]:
    """Both ratios."""
    if not cell.n_compared:
        return ["GeCo finds nothing"]
    return [f"{word} {cell.ratio(measure):.3f}" for measure, word in MEASURES.items()]


def table(cells: list[Cell]) -> str:
    """One line per cell, the worst first."""
    head = ["dataset", "model", "rows", "found by GeCo", "changes: GeCo", "ours", "ratio", "rows behind"]
    head += ["distance: GeCo", "ours", "ratio", "rows behind", "GeCo ms/row", "ours ms/row"]
    lines = []
    for cell in sorted(cells, key=lambda cell: -cell.worst):
        line: list[Any] = [cell.dataset, cell.model, cell.rows, cell.n_found]
        for measure in MEASURES:
            if not cell.n_compared:
                line += ["-"] * 4
                continue
            (ours, theirs), pairs = cell.means(measure), cell.pairs(measure)
            is_behind = pairs[0] > pairs[1] * (1 + TOLERANCE)
            line += [short(theirs), short(ours), f"{cell.ratio(measure):.3f}", int(is_behind.sum())]
        lines.append([*line, short(cell.geco.ms), short(cell.ours.ms)])
    return markdown_table(head, lines)


def main() -> int:
    """Measure and report; 1 if we are behind in a cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("NICECF_DATA"), help="folder with pmlb/; default: NICECF_DATA")
    parser.add_argument("--datasets", nargs="+", default=list(PAPER), help="names of tables; default: all 40")
    parser.add_argument("--rows", type=int, default=25, help=f"rows explained of each table, at most {ROWS_OF_RUN}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=2.0, help="limit of GeCo for one row")
    parser.add_argument("--again", action="store_true", help="measure our search again; GeCo's answers stay")
    parser.add_argument("--store", type=Path, default=Path(tempfile.gettempdir()) / "nicecf-geco.jsonl")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    if unknown := set(options.datasets) - set(PAPER):
        parser.error(f"no table called {', '.join(sorted(unknown))}; there are {', '.join(PAPER)}.")
    report = Report(options.out)
    report.say("# The thorough search beside GeCo")
    report.say(
        f"{options.rows} rows of each table, seed {options.seed}, GeCo with at most {options.seconds:g} s per row. "
        + machine("nicecf", "numpy", "scikit-learn")
    )
    cells = all_cells(options.datasets, options)
    report.say("## Each table and model, those where we are behind first\n\n" + table(cells))
    compared = [cell for cell in cells if cell.n_compared]
    n_behind = 0
    for measure, word in MEASURES.items():
        behind = [f"{cell.dataset} {cell.model}" for cell in compared if cell.ratio(measure) > 1 + TOLERANCE]
        n_behind += len(behind)
        mean = geometric_mean([cell.ratio(measure) for cell in compared])
        report.say(
            f"{word.capitalize()}: at least level in {len(compared) - len(behind)} of {len(compared)} cells, geometric "
            f"mean {mean:.3f}." + (f" Behind: {', '.join(behind)}." if behind else "")
        )
    report.save()
    return 1 if n_behind else 0


if __name__ == "__main__":
    sys.exit(main())
