"""Beside everybody: NICEx, DiCE, treecf, oceanpy and nicecf on the same models and rows.

Three parts. Proofs: how many optima our exact search and the exact searches for trees prove, in which time. Quality:
distance, changes, and plausibility by an autoencoder that no method saw, of all methods. Rules: how many answers keep
three rules. The model itself is asked about every answer.

Each table, model and method is kept as a file in ``--state`` as soon as it is measured, and not measured again by a run
with the same rows and seconds. After a change of the code, delete what it concerns. treecf and oceanpy live in
environments of their own; without them, they are left out.

    python benchmarks/rivals.py --treecf .venv-treecf/bin/python --ocean .venv-ocean/bin/python --out rivals.md
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from common import Problem, Report, machine, markdown_table, progress, short
from nicecf.search.autoencoder import Autoencoder
from optimum import SAME, Model, means
from oracle import Grid
from quality import Split, geometric_mean, sources
from rivals_methods import EXACT, FEWEST, METHODS, MIXED, MODELS, OCEAN, PROVEN, TREECF, CannotError, Case, Rules

TABLES = ("credit_g", "adult", "diabetes", "magic", "churn", "wdbc")
PARTS = ("proofs", "quality", "rules")
# Of all rows of boosted trees, the share that our exact search should prove in time.
TARGET = 0.95
# No method trains an autoencoder here; this one is for judging alone.
SEED = 7
BOOSTING = "boosting 100x3"
MODELS_OF = {
    "proofs": (BOOSTING, "forest 50x8", "forest 100 full"),
    "quality": (BOOSTING, "forest 50x8", "MLP"),
    "rules": (BOOSTING,),
}
METHODS_OF = {
    "proofs": (EXACT, FEWEST, TREECF, OCEAN),
    "quality": tuple(METHODS),
    "rules": (
        "NICEx",
        "DiCE random",
        "DiCE genetic",
        "treecf genetic",
        TREECF,
        "ours: greedy",
        "ours: one donor",
        MIXED,
        EXACT,
    ),
}
# Of the columns of PMLB. Adult: race and sex stay, age grows, 20 to 60 hours. German credit: personal status (and sex)
# and foreign worker stay, age grows, 6 to 36 months.
RULES = {
    "adult": Rules(immutable=(8, 9), increasing=(0,), ranges={12: (20.0, 60.0)}),
    "credit_g": Rules(immutable=(8, 19), increasing=(12,), ranges={1: (6.0, 36.0)}),
}
SHORT_OF_A_RESULT = "-"


@dataclass(frozen=True, eq=False)
class Cell:
    """One table, model and method, a line per row; NaN where the model accepts no answer.

    ``found``: whether there was an answer; ``proofs``: what is claimed of it. ``on_grid``: the distance with each new
    number moved on to the next training value. ``keeps``: whether the answer keeps the rules, if there are any.
    ``cannot``: why the method was not asked.
    """

    table: str
    model: str
    method: str
    has_rules: bool
    limit: float
    n_rows: int
    found: list[bool]
    distance: list[float]
    on_grid: list[float]
    changes: list[float]
    error: list[float]
    keeps: list[bool]
    seconds: list[float]
    proofs: list[str]
    batch: float
    cannot: str = ""

    def column(self, measure: str) -> np.ndarray:
        """One measure of each row."""
        return np.array(getattr(self, measure), dtype=np.float64)

    @property
    def is_valid(self) -> np.ndarray:
        """Which rows have an answer that the model accepts."""
        return ~np.isnan(self.column("distance"))

    @property
    def is_proven(self) -> np.ndarray:
        """Which rows are proven, by what the method says."""
        return np.isin(self.proofs, PROVEN)

    def mean(self, measure: str) -> float:
        """Over the rows with an answer that the model accepts."""
        values = self.column(measure)[self.is_valid]
        return float(values.mean()) if len(values) else np.nan


@dataclass(frozen=True)
class Store:
    """The folder of cells that are finished."""

    folder: Path

    def _path(self, table: str, model: str, method: str, has_rules: bool) -> Path:
        words = [table, model, method, *(["rules"] if has_rules else [])]
        return self.folder / ("--".join(words).replace(" ", "_").replace(":", "").replace(",", "") + ".json")

    def read(self, *key: Any, n_rows: int, limit: float) -> Cell | None:
        """A cell, if there is one with so many rows and this limit."""
        path = self._path(*key)
        if not path.exists():
            return None
        cell = Cell(**json.loads(path.read_text()))
        return cell if (cell.n_rows, cell.limit) == (n_rows, limit) else None

    def write(self, cell: Cell) -> None:
        """Keep a cell; whole, or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(cell.table, cell.model, cell.method, cell.has_rules)
        path.with_suffix(".part").write_text(json.dumps(asdict(cell)))
        path.with_suffix(".part").rename(path)


class Bench:
    """One table: what its cells share is made once, when the first of them is measured."""

    def __init__(self, load: Callable[[], Problem], options: argparse.Namespace) -> None:
        self._load = load
        self._options = options
        self._models: dict[str, Model] = {}

    @cached_property
    def problem(self) -> Problem:
        return self._load()

    @cached_property
    def split(self) -> Split:
        return Split.of(self.problem, n_explained=10 * self._options.rows, seed=0)

    @cached_property
    def grid(self) -> Grid:
        return Grid(self.split.X, self.problem.categorical)

    @cached_property
    def autoencoder(self) -> Autoencoder:
        return Autoencoder.train(self.split.X, ~self.grid.is_ordered, seed=SEED)

    def model(self, name: str) -> Model:
        """Fitted once."""
        if name not in self._models:
            self._models[name] = MODELS[name](self.problem, self.split)
        return self._models[name]

    def measure(self, model_name: str, method: str, *, has_rules: bool) -> Cell:
        """Ask the method, and judge its answers."""
        options, model, rules = self._options, self.model(model_name), None
        rows = self.split.explained[: options.rows]
        if has_rules:
            rules = RULES[self.problem.name]
            rows = rules.start_in(self.split.explained)[: options.rows]
        predict = model.fitted.predict
        targets = 1 - predict(rows).astype(int)
        case = Case(
            self.problem, self.split, model, rows, targets, options.seconds, rules, options.treecf, options.ocean
        )
        key = (self.problem.name, model_name, method, has_rules, options.seconds, options.rows)
        try:
            asked = METHODS[method](case)
        except CannotError as reason:
            return Cell(*key, [], [], [], [], [], [], [], [], np.nan, str(reason))
        found = ~np.isnan(asked.values).any(axis=1)
        valid = np.zeros(len(rows), dtype=bool)
        if found.any():
            valid[found] = predict(asked.values[found]) == targets[found]
        distance, on_grid, changes, error = np.full((4, len(rows)), np.nan)
        for i in np.flatnonzero(valid):
            distance[i] = self.grid.distance(rows[i], asked.values[i])
            changes[i] = (rows[i] != asked.values[i]).sum()
            moved = self.grid.on_grid(rows[i], asked.values[i])
            if not np.isnan(moved).any() and predict(moved[None])[0] == targets[i]:
                on_grid[i] = self.grid.distance(rows[i], moved)
        if valid.any():
            error[valid] = self.autoencoder(asked.values[valid])
        keeps = [bool(rules and rules.are_kept(*pair)) for pair in zip(rows, asked.values, strict=True)]
        columns = (found, distance, on_grid, changes, error, np.array(keeps), asked.seconds)
        return Cell(*key, *(column.tolist() for column in columns), asked.proofs, asked.batch)


def planned(options: argparse.Namespace) -> Iterator[tuple[str, str, str, bool]]:
    """The cells asked for: table, model, method, and whether under rules."""
    seen = set()
    for table in options.tables:
        for part in options.parts:
            if part == "rules" and table not in RULES:
                continue
            for model in (one for one in MODELS_OF[part] if one in options.models):
                for method in (one for one in METHODS_OF[part] if one in options.methods):
                    key = (table, model, method, part == "rules")
                    if key not in seen:
                        seen.add(key)
                        yield key


class Cells:
    """All cells that are there, by table, model and method."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = {(one.table, one.model, one.method, one.has_rules): one for one in cells}

    def get(self, table: str, model: str, method: str, *, has_rules: bool = False) -> Cell | None:
        """One of them, if it was measured."""
        cell = self._cells.get((table, model, method, has_rules))
        return cell if cell is not None and not cell.cannot else None

    def reasons(self) -> list[str]:
        """Why methods were not asked, each reason once."""
        said = Counter(f"{cell.method}: {cell.cannot}" for cell in self._cells.values() if cell.cannot)
        return [f"- {reason} ({count} cells)." for reason, count in said.items()]

    def where(self, part: str, *methods: str) -> list[tuple[str, str]]:
        """The tables and models of a part for which one of the methods was measured."""
        every = [(table, model) for table in TABLES for model in MODELS_OF[part]]
        return [one for one in every if any(self.get(*one, method) for method in methods)]


def percent(part: float, whole: float) -> str:
    """``97%``, or a dash of nothing."""
    return f"{part / whole:.0%}" if whole else SHORT_OF_A_RESULT


def proof_table(cells: Cells) -> str:
    """Ours beside the exact searches for trees."""
    rivals = [method for method in (TREECF, OCEAN) if cells.where("proofs", method)]
    asked = (EXACT, *rivals)
    head = ["dataset", "model", "rows", *(f"proven: {name}" for name in asked)]
    head += [f"s, median (most): {name}" for name in asked]
    head += ["as many proven as by the best of them"]
    lines = []
    for table, model in cells.where("proofs", *asked):
        every = [cells.get(table, model, method) for method in asked]
        line: list[Any] = [table, model, max(len(one.seconds) for one in every if one)]
        line += [percent(one.is_proven.sum(), len(one.seconds)) if one else SHORT_OF_A_RESULT for one in every]
        line += [_times(one) for one in every]
        reached = _is_level(cells, table, model)
        lines.append([*line, SHORT_OF_A_RESULT if reached is None else "yes" if reached else "NO"])
    return markdown_table(head, lines)


def _is_level(cells: Cells, table: str, model: str) -> bool | None:
    """Whether ours proves at least as many rows as the best of its rivals; None if nothing can be compared."""
    own = cells.get(table, model, EXACT)
    theirs = [one for method in (TREECF, OCEAN) if (one := cells.get(table, model, method))]
    if own is None or not theirs:
        return None
    return bool(own.is_proven.sum() >= max(one.is_proven.sum() for one in theirs))


def _times(cell: Cell | None) -> str:
    if cell is None:
        return SHORT_OF_A_RESULT
    return f"{short(float(np.median(cell.seconds)))} ({short(max(cell.seconds))})"


def distance_table(cells: Cells) -> str:
    """Mean distances of proofs, each rival beside ours over the rows that both explain."""
    head = ["dataset", "model", "rival", "rows", "ours", "its", "ours / its", "on training values: rows", "ours / its"]
    head += ["its answers that the model rejects", "its answers that ours rules out"]
    lines = []
    for table, model in cells.where("proofs", EXACT):
        own = cells.get(table, model, EXACT)
        for rival in (TREECF, OCEAN):
            theirs = cells.get(table, model, rival)
            if own is None or theirs is None:
                continue
            free = means([own.column("distance"), theirs.column("distance")])
            moved = means([own.column("distance"), theirs.column("on_grid")])
            n_invalid = int((np.array(theirs.found) & ~theirs.is_valid).sum())
            # On training values, and nearer than what we call the nearest on training values: one of the two is wrong.
            nearer = theirs.column("on_grid") < own.column("distance") * (1 - SAME)
            n_ruled_out = int((nearer & (np.array(own.proofs) == "optimal")).sum())
            line = [free[0], f"{free[1]:.4f}", f"{free[2]:.4f}", f"{free[1] / free[2]:.3f}"]
            lines.append([table, model, rival, *line, moved[0], f"{moved[1] / moved[2]:.3f}", n_invalid, n_ruled_out])
    return markdown_table(head, lines)


def fewest_table(cells: Cells) -> str:
    """The exact search for the fewest changes, beside the thorough one where that was asked."""
    head = ["dataset", "model", "rows", "proven", "s, median (most)", "changes", "changes: ours, mixed"]
    lines = []
    for table, model in cells.where("proofs", FEWEST):
        one, mixed = cells.get(table, model, FEWEST), cells.get(table, model, f"{MIXED}, changes")
        if one is not None:
            line = [len(one.seconds), percent(one.is_proven.sum(), len(one.seconds)), _times(one)]
            lines.append(
                [table, model, *line, short(one.mean("changes")), short(mixed.mean("changes")) if mixed else "-"]
            )
    return markdown_table(head, lines)


def proof_verdict(cells: Cells, limit: float) -> tuple[str, bool]:
    """One line on both aims, and whether both are reached."""
    asked = cells.where("proofs", EXACT)
    beside = [reached for where in asked if (reached := _is_level(cells, *where)) is not None]
    boosting = [own for where in asked if (own := cells.get(*where, EXACT)) and own.model == BOOSTING]
    in_time = [float(np.mean(own.is_proven & (own.column("seconds") <= limit))) for own in boosting]
    n_rows = [len(own.seconds) for own in boosting]
    if not beside or not in_time:
        return "No verdict: without boosting, our exact search or a rival's there is none.", True
    share = float(np.average(in_time, weights=n_rows))
    line = f"At least as many proven as by the best of them in {sum(beside)} of {len(beside)} cells: "
    line += f"{_passed(all(beside))}."
    line += f" Boosting: {share:.1%} of {sum(n_rows)} rows proven within {limit:g} s, target {TARGET:.0%}: "
    return line + f"{_passed(share >= TARGET)}.", all(beside) and share >= TARGET


def _passed(is_reached: bool) -> str:
    return "pass" if is_reached else "FAIL"


def summary(cells: Cells, model: str) -> list[list[Any]]:
    """One line per method: means over tables, beside our mixed search over the rows that both explain."""
    lines = []
    for method in METHODS:
        every = [one for table in TABLES if (one := cells.get(table, model, method))]
        if not every:
            continue
        n_rows, n_found = sum(len(one.seconds) for one in every), sum(sum(one.found) for one in every)
        n_valid = sum(int(one.is_valid.sum()) for one in every)
        ratios = [ratio_to_mixed(cells, every, measure) for measure in ("distance", "changes", "error")]
        alone = float(np.median(np.concatenate([one.seconds for one in every])))
        in_batch = [one.batch for one in every if not np.isnan(one.batch)]
        batch = float(np.median(in_batch)) if in_batch else np.nan
        lines.append(
            [method, len(every), n_rows, percent(n_found, n_rows), percent(n_valid, n_found), *ratios, alone, batch]
        )
    return lines


def ratio_to_mixed(cells: Cells, every: list[Cell], measure: str) -> float:
    """The geometric mean over tables of the ratio of means, over the rows that both explain."""
    ratios = []
    for one in every:
        beside = cells.get(one.table, one.model, MIXED)
        both = means([one.column(measure), beside.column(measure)]) if beside else [0]
        if both[0] and both[2] > 0:
            ratios.append(both[1] / both[2])
    return geometric_mean(ratios) if ratios else np.nan


def summary_table(lines: list[list[Any]]) -> str:
    """As markdown."""
    head = [
        "method",
        "tables",
        "rows",
        "found",
        "valid",
        "distance",
        "changes",
        "error",
        "s, one row",
        "s per row, batch",
    ]
    return markdown_table(
        head, [[*line[:5], *(f"{one:.2f}" for one in line[5:8]), *map(short, line[8:])] for line in lines]
    )


def losses(model: str, lines: list[list[Any]]) -> list[str]:
    """Where a rival does better than everything of ours."""
    said = []
    for at, measure in ((5, "distance"), (6, "changes"), (7, "error"), (8, "time for one row"), (9, "time in a batch")):
        known = [(line[at], line[0]) for line in lines if not np.isnan(line[at])]
        own = min(((value, name) for value, name in known if name.startswith("ours")), default=(np.inf, ""))
        for value, name in sorted(known):
            if not name.startswith("ours") and value < own[0]:
                said.append(
                    f"- {model}, {measure}: {name} {short(value)}, the best of ours {short(own[0])} ({own[1]})."
                )
    return said


def detail_table(cells: Cells, model: str) -> str:
    """All methods on each table."""
    head = ["dataset", "method", "found", "valid", "distance", "changes", "error", "s, one row", "s per row, batch"]
    lines = []
    for table in TABLES:
        for method in METHODS:
            if one := cells.get(table, model, method):
                shares = [percent(sum(one.found), len(one.found)), percent(one.is_valid.sum(), sum(one.found))]
                measures = [short(one.mean(measure)) for measure in ("distance", "changes", "error")]
                times = [short(float(np.median(one.seconds))), short(one.batch)]
                lines.append([table, method, *shares, *measures, *times])
    return markdown_table(head, lines)


def rules_table(cells: Cells) -> str:
    """How many answers keep the rules."""
    head = ["dataset", "model", "method", "rows", "found", "valid", "all rules kept", "distance", "s, one row"]
    lines = []
    for table in RULES:
        for model in MODELS_OF["rules"]:
            for method in METHODS_OF["rules"]:
                if one := cells.get(table, model, method, has_rules=True):
                    kept = int((np.array(one.keeps) & np.array(one.found)).sum())
                    shares = [percent(sum(one.found), len(one.found)), percent(one.is_valid.sum(), sum(one.found))]
                    ends = [short(one.mean("distance")), short(float(np.median(one.seconds)))]
                    lines.append([table, model, method, len(one.found), *shares, percent(kept, sum(one.found)), *ends])
    return markdown_table(head, lines)


def main() -> int:
    """Measure what is not there yet, and report; 1 if an aim is missed or a method failed."""
    options = _read_options()
    store, tables = Store(Path(options.state)), sources(options.data or os.environ.get("NICECF_DATA"))
    benches = {name: Bench(tables[name], options) for name in options.tables}
    measured, failures = [], Counter[str]()
    for key in planned(options):
        cell = store.read(*key, n_rows=options.rows, limit=options.seconds)
        if cell is None:
            start = perf_counter()
            try:
                cell = benches[key[0]].measure(key[1], key[2], has_rules=key[3])
            except Exception as error:  # a method that fails must not end a run of hours
                words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
                failures[f"{key[2]}: {words}"] += 1
                progress(f"FAILED {', '.join(map(str, key))}: {words}")
                continue
            # What is only not installed may be there in the next run.
            if not cell.cannot:
                store.write(cell)
            progress(f"{', '.join(map(str, key))}: {perf_counter() - start:.0f} s {cell.cannot}")
        measured.append(cell)
    return report(Cells(measured), [f"- {words} ({count} cells)" for words, count in failures.items()], options)


def report(cells: Cells, failures: list[str], options: argparse.Namespace) -> int:
    """Say what was measured; 1 if an aim is missed or a method failed."""
    page, is_reached = Report(options.out), True
    page.say("# Beside everybody")
    page.say(
        f"Up to {options.rows} rows of each table, at most {options.seconds:g} s for each. "
        + machine("nicecf", "numpy", "scikit-learn", "xgboost-cpu", "ortools", "NICEx", "dice_ml")
    )
    if "proofs" in options.parts:
        line, is_reached = proof_verdict(cells, options.seconds)
        page.say("## Proofs\n\n" + proof_table(cells))
        page.say(line)
        page.say("### Distance\n\n" + distance_table(cells))
        page.say("### Fewest changes\n\n" + fewest_table(cells))
    if "quality" in options.parts:
        lost = []
        for model in MODELS_OF["quality"]:
            if lines := summary(cells, model):
                page.say(f"## Quality: {model}\n\n" + summary_table(lines))
                lost += losses(model, lines)
        page.say("### Where a rival is better than everything of ours\n\n" + ("\n".join(lost) or "Nowhere."))
        for model in MODELS_OF["quality"]:
            page.say(f"### Each table: {model}\n\n" + detail_table(cells, model))
    if "rules" in options.parts:
        page.say("## Rules kept\n\n" + rules_table(cells))
    if reasons := cells.reasons():
        page.say("## Not asked\n\n" + "\n".join(reasons))
    if failures:
        page.say("## Failed\n\n" + "\n".join(failures))
    page.save()
    return 0 if is_reached and not failures else 1


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with pmlb/<name>/<name>.tsv.gz; default: NICECF_DATA")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--tables", nargs="+", help=f"default: {', '.join(TABLES)}")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rows", type=int, default=30, help="rows explained of each table")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit for one row, of methods that have one")
    parser.add_argument("--state", default="results/rivals", help="folder for what is finished")
    parser.add_argument("--treecf", metavar="PYTHON", help="an interpreter that can import treecf")
    parser.add_argument("--ocean", metavar="PYTHON", help="an interpreter (3.12 or later) that can import ocean")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    known = sources(options.data or os.environ.get("NICECF_DATA"))
    options.tables = options.tables or [name for name in TABLES if name in known]
    if unknown := set(options.tables) - set(TABLES) | set(options.tables) - set(known):
        parser.error(f"no table called {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}, in NICECF_DATA.")
    if not options.tables:
        parser.error("no tables: set NICECF_DATA, or --data, to a folder with those of PMLB.")
    return options


if __name__ == "__main__":
    sys.exit(main())
