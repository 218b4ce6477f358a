"""Quality of the thorough search beside the paper's greedy variants, row by row.

Both get the same float64 matrix, the same fitted model and the same error function. Whatever the thorough search
returns must be valid and no worse than the paper's answer for the same objective (and, balanced, no worse than
NICE(spars) in everything); how much better it is, is a ratio of means over rows, then a geometric mean over tables.
For changes and distance donors are mixed; what one donor gives stands beside it. How it compares with GeCo is measured
by ``geco.py``, how far it is from the best there is by ``optimum.py``.

Each table and model is kept in a file as soon as it is measured, and not measured again by a later run with the same
rows, seed and version. Processes that measure different tables may share that file. After a change of the code that
keeps the version, delete it.

    python benchmarks/quality.py --data DIR --out quality.md
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from common import Problem, Report, generated, machine, markdown_table, progress, short, stored
from nicecf import NICE
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.search import row_search
from nicecf.search.autoencoder import Autoencoder

Objective = Literal["sparsity", "proximity", "plausibility", "balanced"]

MODELS = ("forest", "MLP")
# What is compared: the objective, which is also its column in metrics(), and what that column measures.
MEASURES: dict[Objective, str] = {"sparsity": "changes", "proximity": "distance", "plausibility": "error"}
# The most that the thorough search may leave of the paper's mean, over all tables and models.
TARGETS: dict[Objective, float] = {"sparsity": 0.638, "proximity": 0.63, "plausibility": 0.40}
# Tables with the rows of another, under other codes or labels: one of each group counts in the means without copies.
COPIES = {
    "agaricus_lepiota": "mushroom",
    "buggyCrx": "credit_a",
    "crx": "credit_a",
    "german": "credit_g",
    "kr_vs_kp": "chess",
    "pima": "diabetes",
}
TOLERANCE = 1e-6
N_EXAMPLES = 3
# Every hybrid of every donor is looked at where a table has no more features, and no more training rows.
WIDEST, LONGEST = 9, 1000
LIMITED: tuple[Objective, ...] = ("sparsity", "proximity")


@dataclass(frozen=True)
class Comparison:
    """One objective and one measure: means over the rows explained, and how many rows are worse than the paper's."""

    objective: Objective
    measure: Objective
    paper: float
    thorough: float
    n_worse: int

    @property
    def ratio(self) -> float:
        """What is left of the paper's mean; 1 where there was nothing to improve."""
        return self.thorough / self.paper if self.paper > 0 else 1.0

    @property
    def name(self) -> str:
        """``changes``, or ``balanced: changes``."""
        return MEASURES[self.measure] if self.objective == self.measure else f"balanced: {MEASURES[self.measure]}"


@dataclass(frozen=True)
class Cell:
    """One table and one model, as it was measured; without comparisons where no row can be explained.

    ``n_unlike``: rows that some variant explains and another does not. ``share_exhaustive``: of the rows explained,
    those for which the balanced search looked at every hybrid of its donors. Times and rows asked of the model are
    those for proximity. ``one_donor``: the ratios of changes and distance if donors are not mixed;
    ``n_worse_than_one_donor``: rows that have more changes, or are farther, than that. ``error_of_mixed``: of the
    nearest, the mean error with mixed donors over that with one; NaN if errors are not measured.
    """

    dataset: str
    model: str
    rows: int
    seed: int
    version: str
    n_explained: int
    n_not_found: int
    n_unlike: int
    n_invalid: int
    reason: str | None
    comparisons: tuple[Comparison, ...]
    examples: tuple[str, ...]
    greedy_ms: float
    thorough_ms: float
    model_rows: float
    share_exhaustive: float
    one_donor: tuple[float, ...]
    n_worse_than_one_donor: int
    error_of_mixed: float

    @classmethod
    def of_json(cls, line: str) -> Cell:
        """Read back what ``to_json`` wrote."""
        record = json.loads(line)
        comparisons = tuple(Comparison(**comparison) for comparison in record["comparisons"])
        lists = {name: tuple(record[name]) for name in ("examples", "one_donor")}
        return cls(**record | {"comparisons": comparisons} | lists)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """What makes measuring it again pointless."""
        return self.dataset, self.model, self.rows, self.seed, self.version

    @property
    def n_worse(self) -> int:
        """Rows worse than the paper's, summed over the comparisons; a row that only some explain is worse, too."""
        return self.n_unlike + sum(comparison.n_worse for comparison in self.comparisons)

    def comparison(self, objective: Objective, measure: Objective) -> Comparison:
        """The one comparison asked for."""
        return next(c for c in self.comparisons if (c.objective, c.measure) == (objective, measure))


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows, and the rows that are explained: the first of those held out."""

    X: np.ndarray
    y: np.ndarray
    explained: np.ndarray

    @classmethod
    def of(cls, problem: Problem, *, n_explained: int, seed: int) -> Split:
        """Hold out a fifth of the rows, at least 200 (but never more than half)."""
        order = np.random.default_rng(seed).permutation(len(problem.X))
        n_test = min(max(200, len(order) // 5), len(order) // 2)
        training = order[n_test:]
        return cls(problem.X[training], problem.y[training], problem.X[order[:n_test][:n_explained]])


@dataclass(frozen=True, eq=False)
class Variant:
    """What one explainer answered, and how long all rows took it."""

    cfs: Counterfactuals
    seconds: float

    def column(self, measure: Objective) -> np.ndarray:
        """One measure of each row, NaN where nothing was found."""
        return self.cfs.metrics()[measure].to_numpy(dtype=np.float64, na_value=np.nan)


def sources(folder: str | None) -> dict[str, Callable[[], Problem]]:
    """The tables by name, read when called: PMLB's where they are, else three that need no files."""
    paths = sorted(Path(folder).glob("pmlb/*/*.tsv.gz"), key=lambda path: path.parent.name.lower()) if folder else []
    if paths:
        return {path.parent.name: partial(pmlb, path) for path in paths}
    return {"loan book": small_loan_book, "breast cancer": breast_cancer, "wine": wine}


def tables_asked_for(parser: argparse.ArgumentParser, options: argparse.Namespace) -> dict[str, Callable[[], Problem]]:
    """The tables of ``--data`` and ``--datasets``; ends with an error if there is no such folder or table."""
    if options.data and not (Path(options.data) / "pmlb").is_dir():
        parser.error(f"--data {options.data} has no folder pmlb. Leave the option out to use generated tables.")
    tables = sources(options.data or os.environ.get("NICECF_DATA"))
    unknown = set(options.datasets or []) - set(tables)
    if unknown:
        parser.error(f"no table called {', '.join(sorted(unknown))}; there are {', '.join(tables)}.")
    return {name: tables[name] for name in options.datasets or tables}


def pmlb(path: Path) -> Problem:
    """A table of PMLB; its larger label is class 1."""
    table = pd.read_csv(path, sep="\t")
    is_one = table["target"] == table["target"].max()
    return _coded(path.parent.name, table.drop(columns="target").to_numpy(dtype=np.float64), is_one.to_numpy())


def small_loan_book() -> Problem:
    """6,000 rows of the generated loan book."""
    book = generated()
    return replace(book, X=book.X[:6_000], y=book.y[:6_000])


def breast_cancer() -> Problem:
    """scikit-learn's breast cancer table."""
    X, y = load_breast_cancer(return_X_y=True)
    return _coded("breast cancer", X, y == 1)


def wine() -> Problem:
    """scikit-learn's wine table: its first class, or not."""
    X, y = load_wine(return_X_y=True)
    return _coded("wine", X, y == 0)


def _coded(name: str, X: np.ndarray, is_one: np.ndarray) -> Problem:
    """Columns of at most 10 distinct whole numbers are categorical and become codes 0, 1, ..., as in the paper."""
    X = X.astype(np.float64)
    categorical = []
    for j in range(X.shape[1]):
        values, codes = np.unique(X[:, j], return_inverse=True)
        if len(values) <= 10 and (values == np.round(values)).all():
            categorical.append(j)
            X[:, j] = codes
    return Problem(name, X, is_one.astype(np.int64), categorical)


def fitted_model(name: str, problem: Problem, split: Split) -> Any:
    """A forest or a network behind a one-hot encoder, as in the paper's experiments."""
    columns = ColumnTransformer(
        [
            ("categories", OneHotEncoder(handle_unknown="ignore"), problem.categorical),
            ("numbers", MinMaxScaler((-1, 1)), problem.numeric),
        ]
    )
    heads = {
        "forest": RandomForestClassifier(100, random_state=0, n_jobs=1),
        "MLP": MLPClassifier((50,), max_iter=500, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a bounded effort will do: it is only to be explained
        return make_pipeline(columns, heads[name]).fit(split.X, split.y)


def measure(
    problem: Problem,
    split: Split,
    model_name: str,
    error: Callable[[Any], np.ndarray] | None,
    *,
    rows: int,
    seed: int,
) -> Cell:
    """Explain the rows in several ways and compare row by row; without an error function, by changes and distance only.

    The search with one donor is the same for changes, distance and balanced, which only pick from what nothing beats.
    So it is run once, and the picks are taken from its Pareto set. For plausibility it looks at more donors.
    """
    model = fitted_model(model_name, problem, split)

    def variant(search: Literal["greedy", "thorough"], optimize: Objective, **options: Any) -> Variant:
        if optimize in ("plausibility", "balanced"):
            options["plausibility"] = error
        nice = NICE(model, search=search, optimize=optimize, categorical_features=problem.categorical, **options)
        nice.fit(split.X, split.y)
        nice.explain(split.explained[:1], progress=False)  # the first call pays for lazy imports
        start = perf_counter()
        cfs = nice.explain(split.explained, progress=False)
        return Variant(cfs, perf_counter() - start)

    measures = LIMITED if error is None else tuple(MEASURES)
    paper = {objective: variant("greedy", objective) for objective in measures}
    thorough = {objective: variant("thorough", objective) for objective in LIMITED}
    if error is None:
        one_donor = {objective: variant("thorough", objective, mix_donors=False) for objective in LIMITED}
        searched = one_donor["sparsity"]
    else:
        searched = variant("thorough", "balanced")
        one_donor = {objective: Variant(picked(searched.cfs, objective), searched.seconds) for objective in LIMITED}
        thorough |= {"plausibility": variant("thorough", "plausibility"), "balanced": searched}
    found = np.array([v.cfs.found for v in (*paper.values(), *thorough.values())])
    is_found: np.ndarray = np.logical_and.reduce(found)
    comparisons, examples = [], []
    if is_found.any():
        pairs = [(objective, objective, objective) for objective in measures]
        pairs += [("balanced", "sparsity", objective) for objective in measures if error is not None]
        for objective, beside, column in pairs:
            before, after = _column(paper[beside], column, error), _column(thorough[objective], column, error)
            comparison, worse = compare(objective, column, before, after, is_found)
            comparisons.append(comparison)
            examples += [f"row {i}: {comparison.name} {before[i]:.9g} -> {after[i]:.9g}" for i in worse[:N_EXAMPLES]]
    n_invalid = 0
    for search, variants in (("greedy", paper), ("thorough", thorough)):
        for objective, answered in variants.items():
            wrong = invalid_rows(model, split.explained, answered.cfs)
            n_invalid += len(wrong)
            examples += [f"row {i}: {search} {objective} is invalid" for i in wrong[:N_EXAMPLES]]
    n_rows, mixed = len(split.explained), thorough["proximity"]
    beside_one_donor = [
        compare(one, one, _column(one_donor[one], one, error), _column(thorough[one], one, error), is_found)
        for one in (LIMITED if is_found.any() else ())
    ]
    errors = [math.nan, math.nan]
    if error is not None and is_found.any():
        errors = [
            float(_column(one, "plausibility", error)[is_found].mean()) for one in (mixed, one_donor["proximity"])
        ]
    return Cell(
        dataset=problem.name,
        model=model_name,
        rows=rows,
        seed=seed,
        version=version("nicecf"),
        n_explained=n_rows,
        n_not_found=int((~found.any(axis=0)).sum()),
        n_unlike=int((found.any(axis=0) & ~is_found).sum()),
        n_invalid=n_invalid,
        reason=None if is_found.any() else searched.cfs.reasons[0],
        comparisons=tuple(comparisons),
        examples=tuple(examples),
        greedy_ms=1000 * paper["proximity"].seconds / n_rows,
        thorough_ms=1000 * mixed.seconds / n_rows,
        model_rows=mixed.cfs.model_rows / n_rows,
        share_exhaustive=sum(all(one.kind != "beam" for one in said) for said in searched.cfs.batch.search[is_found])
        / max(1, is_found.sum()),
        one_donor=tuple(
            beside.paper / own.paper if own.paper > 0 else 1.0
            for (beside, _), own in zip(beside_one_donor, comparisons, strict=False)
        ),
        n_worse_than_one_donor=sum(len(worse) for _, worse in beside_one_donor),
        error_of_mixed=errors[0] / errors[1] if errors[1] else math.nan,
    )


def _column(variant: Variant, measure: Objective, error: Callable[[Any], np.ndarray] | None) -> np.ndarray:
    """One measure of each row, NaN where nothing was found; errors by the function that all are compared by."""
    if measure != "plausibility" or error is None:
        return variant.column(measure)
    errors = np.full(len(variant.cfs), np.nan)
    found = np.flatnonzero(variant.cfs.found)
    if len(found):
        errors[found] = error(variant.cfs.to_numpy()[found].astype(np.float64))
    return errors


def picked(cfs: Counterfactuals, objective: Objective) -> Counterfactuals:
    """The best of each row's Pareto set by one objective; ties as the thorough search breaks them."""
    front = cfs.pareto()
    table = front.metrics().astype(dict.fromkeys(MEASURES, np.float64))
    others = [name for name in MEASURES if name != objective]
    order = np.lexsort([table[name] for name in reversed([objective, *others])] + [front.rows])
    _, first = np.unique(front.rows[order], return_index=True)
    return front[order[first]]


def compare(
    objective: Objective, column: Objective, before: np.ndarray, after: np.ndarray, is_found: np.ndarray
) -> tuple[Comparison, np.ndarray]:
    """Means over the rows found, and the positions of those that are worse by more than rounding."""
    worse = np.flatnonzero(is_found & (after > before * (1 + TOLERANCE)))
    means = float(before[is_found].mean()), float(after[is_found].mean())
    return Comparison(objective, column, *means, n_worse=len(worse)), worse


def invalid_rows(model: Any, rows: np.ndarray, cfs: Counterfactuals) -> np.ndarray:
    """The positions of counterfactuals that the model itself puts in the class of their row."""
    found = np.flatnonzero(cfs.found)
    if not len(found):
        return found
    return found[model.predict(cfs.to_numpy()[found]) == model.predict(rows[found])]


def measured(
    tables: dict[str, Callable[[], Problem]],
    models: Iterable[str],
    store: Path,
    *,
    rows: int,
    seed: int,
    with_errors: bool,
) -> Iterator[Cell]:
    """Each table with each model: from the store where it is there, else measured and put there."""
    known = stored(store, Cell.of_json)
    for name, load in tables.items():
        keys = {model: (name, model, rows, seed, version("nicecf")) for model in models}
        if all(key in known for key in keys.values()):
            yield from (known[key] for key in keys.values())
            continue
        problem = load()
        split = Split.of(problem, n_explained=rows, seed=seed)
        error = None
        if with_errors:
            progress(f"{name}: training the autoencoder on {len(split.X):,} rows, {problem.X.shape[1]} features")
            is_categorical = np.isin(np.arange(problem.X.shape[1]), problem.categorical)
            # As a function of the caller's rows: handed over as an Autoencoder, it would get NICE's own category codes.
            error = Autoencoder.train(split.X, is_categorical, seed=0).__call__
        for model, key in keys.items():
            if key not in known:
                start = perf_counter()
                cell = measure(problem, split, model, error, rows=rows, seed=seed)
                with store.open("a") as file:
                    file.write(cell.to_json() + "\n")
                known[key] = cell
                progress(f"{name}, {model}: {perf_counter() - start:.0f} s; {', '.join(ratios(cell)) or cell.reason}")
            yield known[key]


def ratios(cell: Cell) -> list[str]:
    """All comparisons of a cell, in short."""
    return [f"{comparison.name} {comparison.ratio:.2f}" for comparison in cell.comparisons]


def cell_table(cells: list[Cell]) -> str:
    """One line per table and model."""
    head = [
        "dataset",
        "model",
        "changes: paper -> thorough",
        "changes",
        "distance",
        "error",
        "balanced: changes",
        "distance",
        "error",
        "worse rows",
        "invalid rows",
        "not found",
        "one donor: changes",
        "distance",
        "rows worse than that",
        "error of mixed",
        "greedy ms/row",
        "thorough ms/row",
        "model rows per row",
        "exhaustive",
    ]
    rows = []
    for cell in cells:
        counts = [cell.n_worse, cell.n_invalid, cell.n_not_found]
        if not cell.comparisons:
            reason = f"left out: {cell.reason}" if not cell.n_unlike else "left out: no row that all variants explain"
            rows.append([cell.dataset, cell.model, reason, *["-"] * 6, *counts, *["-"] * 8])
            continue
        changes = cell.comparison("sparsity", "sparsity")
        rows.append(
            [
                cell.dataset,
                cell.model,
                f"{changes.paper:.2f} -> {changes.thorough:.2f}",
                *[f"{comparison.ratio:.2f}" for comparison in cell.comparisons],
                *["-"] * (6 - len(cell.comparisons)),
                *counts,
                *[f"{ratio:.2f}" for ratio in cell.one_donor],
                cell.n_worse_than_one_donor,
                f"{cell.error_of_mixed:.2f}",
                short(cell.greedy_ms),
                short(cell.thorough_ms),
                short(cell.model_rows),
                f"{cell.share_exhaustive:.0%}",
            ]
        )
    return markdown_table(head, rows)


def mean_table(groups: dict[str, list[Cell]]) -> str:
    """Geometric means of the ratios over groups of cells, beside the targets."""
    head = ["ratio to the paper", "target"]
    for name, cells in groups.items():
        head += [f"{name}: {len(cells)} cells of {len({cell.dataset for cell in cells})} datasets", ""]
    known = next(cells for cells in groups.values())[0].comparisons
    rows = []
    for objective, column in [(comparison.objective, comparison.measure) for comparison in known]:
        target = TARGETS.get(objective)
        line = []
        for cells in groups.values():
            compared = [cell.comparison(objective, column) for cell in cells]
            mean = geometric_mean([comparison.ratio for comparison in compared])
            verdict = "-" if target is None else "pass" if mean <= target else "FAIL"
            line += [f"{mean:.3f}", verdict]
        rows.append([compared[0].name, "-" if target is None else f"{target:.3f}", *line])
    for at, measure in enumerate(LIMITED):
        means = [geometric_mean([cell.one_donor[at] for cell in cells]) for cells in groups.values()]
        line = [part for mean in means for part in (f"{mean:.3f}", "-")]
        rows.append([f"one donor: {MEASURES[measure]}", "-", *line])
    return markdown_table(head, rows)


def geometric_mean(values: list[float]) -> float:
    """The geometric mean of one number or more; 0 if one of them is.

    >>> round(geometric_mean([0.5, 2.0]), 9), geometric_mean([0.0, 1.0])
    (1.0, 0.0)
    """
    with np.errstate(divide="ignore"):
        return float(np.exp(np.mean(np.log(values))))


def floor_line(cells: list[Cell]) -> str:
    """How low the ratio of the changes could get at all."""
    floor = geometric_mean([1 / cell.comparison("sparsity", "sparsity").paper for cell in cells])
    return (
        "A counterfactual needs at least one change, so no search can leave less than 1 / (the paper's mean changes) "
        f"of the changes: geometric mean {floor:.3f}."
    )


def limit_table(tables: dict[str, Callable[[], Problem]], models: list[str], *, rows: int, seed: int) -> str:
    """What hybrids of one donor offer at all: the best of every hybrid of every donor, for tables narrow enough.

    Changes and distance only; the error function is left out, so that no hybrid needs to be measured.
    """
    lines, ratios = [], []
    for name, load in tables.items():
        problem = load()
        split = Split.of(problem, n_explained=rows, seed=seed)
        if problem.X.shape[1] > WIDEST or len(split.X) > LONGEST:
            continue
        for model_name in models:
            progress(f"{name}, {model_name}: every hybrid of every donor")
            model = fitted_model(model_name, problem, split)
            paper = [_mean(objective, problem, split, model) for objective in LIMITED]
            usual = [_mean(objective, problem, split, model, neighbors=None) for objective in LIMITED]
            with whole_lattices():
                limit = [_mean(objective, problem, split, model, neighbors=len(split.X)) for objective in LIMITED]
            ratios.append([*np.divide(usual, paper), *np.divide(limit, paper)])
            lines.append((name, model_name, *(f"{ratio:.3f}" for ratio in ratios[-1])))
    if not ratios:
        return f"No table has at most {WIDEST} features and {LONGEST:,} training rows."
    means = [geometric_mean(list(column)) for column in np.array(ratios).T]
    lines.append(("**geometric mean**", "", *(f"**{mean:.3f}**" for mean in means)))
    head = ["dataset", "model", "changes", "distance", "changes, every hybrid", "distance, every hybrid"]
    return markdown_table(head, lines)


def _mean(objective: Objective, problem: Problem, split: Split, model: Any, **thorough: Any) -> float:
    """The mean of a measure over the rows explained; by the paper's search unless ``neighbors`` are given."""
    how = {**thorough, "search": "thorough", "mix_donors": False} if thorough else {"search": "greedy"}
    nice = NICE(model, optimize=objective, categorical_features=problem.categorical, **how)
    cfs = nice.fit(split.X, split.y).explain(split.explained, progress=False)
    return float(cfs.metrics()[objective].to_numpy(dtype=np.float64, na_value=np.nan)[cfs.found].mean())


@contextmanager
def whole_lattices() -> Iterator[None]:
    """No lattice is too large."""
    usual = row_search.WHOLE_LATTICES
    row_search.WHOLE_LATTICES = sys.maxsize
    try:
        yield
    finally:
        row_search.WHOLE_LATTICES = usual


def main() -> int:
    """Measure and report; 1 if an answer is worse than the paper's, or invalid."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with pmlb/<name>/<name>.tsv.gz; default: NICECF_DATA")
    parser.add_argument("--datasets", nargs="+", help="names of tables; default: all that are there")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rows", type=int, default=100, help="rows explained of each table")
    parser.add_argument("--seed", type=int, default=0, help="which rows are training rows and which are explained")
    parser.add_argument(
        "--store",
        type=Path,
        default=Path(tempfile.gettempdir()) / "nicecf-quality.jsonl",
        help="file that keeps what was measured; default: %(default)s",
    )
    parser.add_argument("--limit", action="store_true", help="instead: how far hybrids of one donor can go at all")
    parser.add_argument("--no-errors", action="store_true", help="changes and distance only: no autoencoder is trained")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    if options.rows < 1:
        parser.error(f"--rows {options.rows} leaves nothing to explain; pass 1 or more.")
    tables = tables_asked_for(parser, options)

    report = Report(options.out)
    report.say("# Quality: the thorough search beside the paper's greedy variants")
    report.say(
        f"{len(tables)} tables, up to {options.rows} rows of each explained, seed {options.seed}. "
        + machine("nicecf", "numpy", "scikit-learn")
    )
    if options.limit:
        report.say("## The limit\n\n" + limit_table(tables, options.models, rows=options.rows, seed=options.seed))
        report.save()
        return 0
    cells = list(
        measured(
            tables,
            options.models,
            options.store,
            rows=options.rows,
            seed=options.seed,
            with_errors=not options.no_errors,
        )
    )
    report.say("## Each table and model\n\n" + cell_table(cells))
    report.say(
        "Ratios are the thorough search's mean over the mean of the paper's variant for the same objective, over the "
        "rows explained; balanced is compared with NICE(spars). Worse rows: worse than the paper's answer in one of "
        "the comparisons, each counted (floats: by more than a millionth), or explained by some variants only. Invalid "
        "rows: those of all variants. One donor: the same ratios if donors are not mixed, and how many rows are worse "
        "by changes or by distance than that. Error of mixed: of the nearest, the mean error over that with one donor. "
        "Exhaustive: rows for which every hybrid of the nearest donors was looked at. Times and model rows: for "
        "proximity, all rows in one call, once."
    )
    compared = [cell for cell in cells if cell.comparisons]
    if compared:
        names = {cell.dataset for cell in compared}
        originals = [cell for cell in compared if COPIES.get(cell.dataset) not in names]
        report.say("## Geometric means\n\n" + mean_table({"all": compared, "without copies": originals}))
        report.say(floor_line(compared))
    n_worse, n_invalid = (sum(getattr(cell, count) for cell in cells) for count in ("n_worse", "n_invalid"))
    examples = [f"- {cell.dataset}, {cell.model}, {example}." for cell in cells for example in cell.examples]
    report.say("\n".join([f"In all, {n_worse:,} worse rows and {n_invalid:,} invalid ones.", "", *examples]).rstrip())
    report.save()
    return 1 if n_worse or n_invalid else 0  # a target missed is printed, a wrong answer is an error


if __name__ == "__main__":
    sys.exit(main())
