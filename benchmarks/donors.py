"""The donor search with numba, without it, and as it was before, side by side in one process.

The search of before is read from the history of this repository. Each answer is compared with its: places and
distances, bit by bit. Tables of 20 features: *uniform*, independent random numbers, where no box rules out much;
*factors*, mixtures of five hidden numbers and a little noise, as measurements often are; *mixed*, 12 numbers and 8
categories in clusters. Processor time on one thread, each search by turns.

    python benchmarks/donors.py --sizes 100000 1000000 --out donors.md
    python benchmarks/donors.py --tables factors --sizes 100000 1000000 10000000
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from common import MIXED_CATEGORICAL, Report, machine, markdown_table, mixed, progress, short
from nicecf.search import neighbors, sketch
from nicecf.search.distance import Heom

BEFORE = "a572852"
N_FEATURES = 20
TARGET = 5.0
MOST_GROWTH = 4.0
AT_ONCE = 100_000


def uniform(n_rows: int, *, seed: int) -> np.ndarray:
    """Independent numbers: nothing to learn from where donors are."""
    return np.random.default_rng(seed).random((n_rows, N_FEATURES))


def factors(n_rows: int, *, seed: int) -> np.ndarray:
    """Mixtures of five hidden numbers, the same mixtures for each seed, and a little noise."""
    mixture = np.random.default_rng(12345).normal(size=(5, N_FEATURES))
    random = np.random.default_rng(seed)
    table = np.empty((n_rows, N_FEATURES))
    for at in range(0, n_rows, AT_ONCE):
        part = table[at : at + AT_ONCE]
        part[:] = random.normal(size=(len(part), 5)) @ mixture + 0.1 * random.normal(size=part.shape)
    return table


TABLES: dict[str, Callable[..., np.ndarray]] = {"uniform": uniform, "factors": factors, "mixed": mixed}


@dataclass(frozen=True)
class Measured:
    """Milliseconds of processor time per row asked."""

    table: str
    n_rows: int
    n_asked: int
    before: float
    plain: float
    compiled: float


def search_of_before() -> ModuleType:
    """The module as it was in the commit ``BEFORE``."""
    folder = Path(__file__).resolve().parents[1]
    command = ["git", "-C", str(folder), "show", f"{BEFORE}:src/nicecf/search/neighbors.py"]
    source = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    module = ModuleType("neighbors_before")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(source, "neighbors_before.py", "exec"), vars(module))
    return module


@contextmanager
def switched(is_compiled: bool) -> Iterator[None]:
    """The compiled search for every table, or for none."""
    os.environ[sketch.SWITCH] = "1" if is_compiled else "0"
    yield
    del os.environ[sketch.SWITCH]


def measure(table: str, n_rows: int, asked: list[int], k: int, before: ModuleType) -> list[Measured]:
    """One table: building, then each number of rows asked, with answers compared."""
    training, rows = TABLES[table](n_rows, seed=0), TABLES[table](max(asked), seed=1)
    is_categorical = np.isin(np.arange(N_FEATURES), MIXED_CATEGORICAL if table == "mixed" else [])
    heom = Heom.of(training, is_categorical, "range")
    groups = np.zeros(n_rows, dtype=np.intp)
    built, seconds = [], []
    for module in (before, neighbors):
        taken_over = training.copy(order="F")
        start = process_time()
        built.append(module.DonorIndex.of(taken_over, groups, 1, heom))
        seconds.append(process_time() - start)
    del training
    with switched(True):
        start = process_time()
        sketches = built[1].sketches.of_groups
        in_bytes = process_time() - start
    size = sum(part.nbytes for part in sketches[0])
    progress(
        f"{table}, {n_rows:,}: built in {seconds[0]:.2f} s before, {seconds[1]:.2f} s now, and its bytes in "
        f"{in_bytes:.2f} s; they take {size / built[1].values.nbytes:.1%} of the table"
    )
    cells = []
    for n_asked in asked:
        took, answers = zip(
            *(_timed(index, rows, n_asked, k, is_compiled) for index, is_compiled in _turns(built)), strict=True
        )
        assert len(set(answers)) == 1, f"the searches of {n_asked} rows differ"
        cells.append(Measured(table, n_rows, n_asked, *took))
    return cells


def _turns(built: list[Any]) -> list[tuple[Any, bool]]:
    return [(built[0], False), (built[1], False), (built[1], True)]


def _timed(index: Any, rows: np.ndarray, n_asked: int, k: int, is_compiled: bool) -> tuple[float, bytes]:
    """Milliseconds per row, and the answers. Few rows are asked several times, each time others."""
    n_calls = max(1, min(20, 100 // n_asked))
    wanted = np.ones((n_asked, 1), dtype=bool)
    answers = []
    with switched(is_compiled), threadpool_limits(1):
        index.nearest_many(rows[:1], wanted[:1], k=k)
        start = process_time()
        for call in range(n_calls):
            answers += index.nearest_many(rows[call * n_asked : (call + 1) * n_asked], wanted, k=k)
        took = process_time() - start
    return 1000 * took / (n_calls * n_asked), b"".join(answer.tobytes() for answer in answers)


def time_table(measured: list[Measured]) -> str:
    """Milliseconds per row, and how many times faster than before."""
    head = ["table", "training rows", "rows asked", "before", "without numba", "ratio", "with numba", "ratio"]
    lines = []
    for m in measured:
        plain, compiled = f"{m.before / m.plain:.2f}x", f"{m.before / m.compiled:.1f}x"
        sizes = f"{m.n_rows:,}", f"{m.n_asked:,}"
        lines.append((m.table, *sizes, short(m.before), short(m.plain), plain, short(m.compiled), compiled))
    return markdown_table(head, lines)


def growth_table(measured: list[Measured]) -> str:
    """How much longer a row takes with numba from one size to the next, as a power of ten."""
    lines = []
    for table, n_asked in dict.fromkeys((m.table, m.n_asked) for m in measured):
        cells = [m for m in measured if (m.table, m.n_asked) == (table, n_asked)]
        for less, more in pairwise(cells):
            growth = (more.compiled / less.compiled) ** (1 / np.log10(more.n_rows / less.n_rows))
            verdict = "" if table != "factors" else "pass" if growth <= MOST_GROWTH else "FAIL"
            lines.append((table, f"{n_asked:,}", f"{less.n_rows:,} to {more.n_rows:,}", f"{growth:.1f}x", verdict))
    return markdown_table(["table", "rows asked", "training rows", "for 10 times the rows", ""], lines)


def main() -> int:
    """Measure and report; 1 if the target is missed. A wrong answer is an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000], help="training rows")
    parser.add_argument("--asked", nargs="+", type=int, default=[1, 100, 1000], help="rows asked in a call")
    parser.add_argument("--neighbors", type=int, default=1, help="how many donors each row looks for")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    with switched(True):
        if sketch.compiled_for(1) is None:
            parser.error("numba is not installed. Install it with: pip install 'nicecf[fast]'")
    before = search_of_before()
    measured = []
    for table in options.tables:
        for n_rows in sorted(options.sizes):
            measured += measure(table, n_rows, options.asked, options.neighbors, before)
    report = Report(options.out)
    report.say("# The donor search")
    report.say(
        f"{N_FEATURES} features, {options.neighbors} nearest. Milliseconds of processor time per row, on one thread. "
        f"Before: the commit {BEFORE}. All answers were equal. " + machine("nicecf", "numpy", "numba")
    )
    report.say("## Time\n\n" + time_table(measured))
    report.say("## Growth with numba\n\n" + growth_table(measured))
    is_met = all(m.before / m.compiled >= TARGET for m in measured if m.n_rows >= 10**6 and m.n_asked >= 100)
    report.say(f"At least {TARGET:g}x for batches, from a million training rows on: {'pass' if is_met else 'FAIL'}.")
    report.save()
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
