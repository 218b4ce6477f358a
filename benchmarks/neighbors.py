"""Ways to find exact nearest donors, compared on 20 thousand and on 1 million rows.

The distance is HEOM: the sum of |a - b| / range over numbers and of mismatches over categories. Metric trees and faiss
know only the L1 distance of numbers, so for them a category of k levels becomes k columns of 0 or 1/2: two different
levels are then 1 apart. All donors are of one class and the rows that ask are of the other, as in NICE. Each option
runs in a process of its own, within a budget of seconds; the answers are checked against brute force.

    python benchmarks/neighbors.py --data DIR --out neighbors.md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from common import (
    MIXED_CATEGORICAL,
    Report,
    adult,
    adult_path,
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
from nicecf.search.distance import Heom
from nicecf.search.neighbors import DonorIndex

N_QUERIES = 100
N_SINGLE = 20
# Brute force looks at this many donors at a time: 100 x 4096 distances stay in the processor's cache.
BLOCK = 4096

Search = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Donors:
    """Encoded donors (numbers as they are, categories as codes) and rows that ask for the nearest of them."""

    rows: np.ndarray
    queries: np.ndarray
    is_categorical: np.ndarray

    @cached_property
    def heom(self) -> Heom:
        """The distance, with its scales learned from the donors."""
        return Heom.of(self.rows, self.is_categorical, "range")

    @cached_property
    def n_levels(self) -> np.ndarray:
        """The number of levels of each categorical column."""
        return self.rows[:, self.is_categorical].max(axis=0).astype(int) + 1

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """The number columns, divided by their scale."""
        is_number = ~self.is_categorical
        return np.ascontiguousarray(rows[:, is_number] / self.heom.scales[is_number])

    def one_hot(self, rows: np.ndarray, on: float, dtype: Any) -> np.ndarray:
        """The categories, one column per level."""
        table = np.zeros((len(rows), int(self.n_levels.sum())), dtype=dtype)
        first = np.cumsum(self.n_levels) - self.n_levels
        for at, n_levels, codes in zip(first, self.n_levels, rows[:, self.is_categorical].T, strict=True):
            seen = np.flatnonzero(codes < n_levels)
            table[seen, at + codes[seen].astype(int)] = on
        return table

    def embedded(self, rows: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """Rows whose L1 distance is HEOM."""
        numbers = self.numbers(rows).astype(dtype, copy=False)
        if not self.is_categorical.any():
            return numbers
        return np.concatenate([numbers, self.one_hot(rows, 0.5, dtype)], axis=1)


def nicecf_index(donors: Donors) -> Search:
    """Ours: leaves with boxes."""
    taken_over = np.asfortranarray(donors.rows, dtype=np.float64).copy(order="F")
    index = DonorIndex.of(taken_over, np.zeros(len(taken_over), dtype=np.intp), 1, donors.heom)
    return lambda rows: index.positions[index.nearest(rows, np.ones((len(rows), 1), dtype=bool))[0]]


def numpy_blocks(donors: Donors) -> Search:
    """Feature by feature, block by block."""
    columns, heom = np.asfortranarray(donors.rows), donors.heom

    def distances(rows: np.ndarray, block: slice) -> np.ndarray:
        total = np.zeros((len(rows), len(columns[block])))
        for j in range(columns.shape[1]):
            total += heom.feature(j, rows[:, j, None], columns[None, block, j])
        return total

    return lambda rows: _nearest_in_blocks(rows, len(columns), distances)


def scipy_cdist(donors: Donors) -> Search:
    """Scipy's cdist on the embedding, block by block."""
    from scipy.spatial.distance import cdist

    table = donors.embedded(donors.rows)

    def search(rows: np.ndarray) -> np.ndarray:
        asked = donors.embedded(rows)
        return _nearest_in_blocks(asked, len(table), lambda asked, block: cdist(asked, table[block], "cityblock"))

    return search


def scipy_blas(donors: Donors) -> Search:
    """Scipy's cdist on the numbers; mismatches counted by a product of one-hot matrices (BLAS)."""
    from scipy.spatial.distance import cdist

    numbers, levels = donors.numbers(donors.rows), donors.one_hot(donors.rows, 1.0, np.float32)
    n_categorical = int(donors.is_categorical.sum())

    def search(rows: np.ndarray) -> np.ndarray:
        asked, asked_levels = donors.numbers(rows), donors.one_hot(rows, 1.0, np.float32)

        def distances(asked: np.ndarray, block: slice) -> np.ndarray:
            return cdist(asked, numbers[block], "cityblock") + (n_categorical - asked_levels @ levels[block].T)

        return _nearest_in_blocks(asked, len(numbers), distances)

    return search


def scipy_hamming(donors: Donors) -> Search:
    """The cdist of scipy twice, on columns of one table: weighted L1 of the numbers, Hamming of the codes."""
    from scipy.spatial.distance import cdist

    is_categorical = donors.is_categorical
    order, n_numbers = np.argsort(is_categorical, kind="stable"), int((~is_categorical).sum())
    table, n_categorical = donors.rows[:, order], int(is_categorical.sum())
    weights = 1.0 / donors.heom.scales[~is_categorical]

    def distances(rows: np.ndarray, block: slice) -> np.ndarray:
        total = cdist(rows[:, :n_numbers], table[block, :n_numbers], "cityblock", w=weights)
        return total + n_categorical * cdist(rows[:, n_numbers:], table[block, n_numbers:], "hamming")

    return lambda rows: _nearest_in_blocks(rows[:, order], len(table), distances)


def numba_brute(donors: Donors) -> Search:
    """Compiled loops over all donors, on all cores; a donor is given up as soon as it is too far."""
    start = perf_counter()
    import numba

    _tell(numba_import=perf_counter() - start)
    n_numbers = int((~donors.is_categorical).sum())

    @numba.njit(parallel=True)
    def nearest(queries: np.ndarray, table: np.ndarray, n_numbers: int, n_parts: int) -> np.ndarray:
        n_rows, n_features = table.shape
        best = np.full((len(queries), n_parts), np.inf)
        place = np.zeros((len(queries), n_parts), dtype=np.int64)
        for task in numba.prange(len(queries) * n_parts):
            query, part = task // n_parts, task % n_parts
            nearest_yet = np.inf
            nearest_row = 0
            for i in range(part * n_rows // n_parts, (part + 1) * n_rows // n_parts):
                distance = 0.0
                for j in range(n_numbers):
                    distance += abs(queries[query, j] - table[i, j])
                    if distance >= nearest_yet:
                        break
                if distance < nearest_yet:
                    for j in range(n_numbers, n_features):
                        if queries[query, j] != table[i, j]:
                            distance += 1.0
                    if distance < nearest_yet:
                        nearest_yet = distance
                        nearest_row = i
            best[query, part] = nearest_yet
            place[query, part] = nearest_row
        result = np.empty(len(queries), dtype=np.int64)
        for query in range(len(queries)):
            result[query] = place[query, np.argmin(best[query])]
        return result

    def arranged(rows: np.ndarray) -> np.ndarray:
        return np.concatenate([donors.numbers(rows), rows[:, donors.is_categorical]], axis=1)

    table = arranged(donors.rows)
    start = perf_counter()
    nearest(arranged(donors.queries[:1]), table[:10], n_numbers, 8)
    _tell(numba_compile=perf_counter() - start)
    return lambda rows: nearest(arranged(rows), table, n_numbers, 8)


def sklearn_kd_tree(donors: Donors) -> Search:
    """scikit-learn's KDTree on the embedding."""
    from sklearn.neighbors import KDTree

    tree = KDTree(donors.embedded(donors.rows), metric="manhattan")
    return lambda rows: tree.query(donors.embedded(rows), k=1, return_distance=False)[:, 0]


def sklearn_ball_tree(donors: Donors) -> Search:
    """scikit-learn's BallTree on the embedding."""
    from sklearn.neighbors import BallTree

    tree = BallTree(donors.embedded(donors.rows), metric="manhattan")
    return lambda rows: tree.query(donors.embedded(rows), k=1, return_distance=False)[:, 0]


def scipy_kd_tree(donors: Donors) -> Search:
    """Scipy's cKDTree on the embedding."""
    from scipy.spatial import cKDTree

    tree = cKDTree(donors.embedded(donors.rows))
    return lambda rows: tree.query(donors.embedded(rows), k=1, p=1)[1]


def faiss_flat(donors: Donors) -> Search:
    """faiss, brute force in float32 on the embedding: nearest up to rounding only."""
    import faiss

    table = donors.embedded(donors.rows, np.float32)
    index = faiss.IndexFlat(table.shape[1], faiss.METRIC_L1)
    index.add(table)
    return lambda rows: index.search(donors.embedded(rows, np.float32), 1)[1][:, 0]


OPTIONS: dict[str, Callable[[Donors], Search]] = {
    "nicecf DonorIndex": nicecf_index,
    "numpy blocks": numpy_blocks,
    "scipy cdist blocks": scipy_cdist,
    "scipy cdist + BLAS": scipy_blas,
    "scipy cdist + Hamming": scipy_hamming,
    "numba brute force": numba_brute,
    "scikit-learn KDTree": sklearn_kd_tree,
    "scikit-learn BallTree": sklearn_ball_tree,
    "scipy cKDTree": scipy_kd_tree,
    "faiss flat, float32": faiss_flat,
}


def _nearest_in_blocks(
    rows: np.ndarray, n_donors: int, distances: Callable[[np.ndarray, slice], np.ndarray]
) -> np.ndarray:
    best = np.full(len(rows), np.inf)
    place = np.zeros(len(rows), dtype=np.intp)
    for at in range(0, n_donors, BLOCK):
        total = distances(rows, slice(at, min(at + BLOCK, n_donors)))
        first = total.argmin(axis=1)
        found = total[np.arange(len(rows)), first]
        better = found < best
        best[better], place[better] = found[better], at + first[better]
    return place


def _tell(**facts: Any) -> None:
    """One line for the parent; what was told before the budget ran out still counts."""
    print(json.dumps(facts), flush=True)


def measure(option: str, folder: Path) -> None:
    """In the child: build, ask, and tell what it took."""
    donors = _load(folder)
    donors.embedded(donors.queries)  # learns scales and levels, which fit has anyway
    before = memory_now()
    forget_peak()
    start = perf_counter()
    search = OPTIONS[option](donors)
    _tell(build=perf_counter() - start, kept=memory_now() - before, peak=peak_memory() - before)
    start = perf_counter()
    places = search(donors.queries)
    took = [perf_counter() - start]
    found = donors.heom.between(donors.queries, donors.rows[places])
    _tell(
        batch=took[0],
        same_distance=int((np.abs(found - np.load(folder / "distances.npy")) <= 1e-9).sum()),
        same_row=int((places == np.load(folder / "places.npy")).sum()),
    )
    single = []
    for i in range(N_SINGLE):
        start = perf_counter()
        search(donors.queries[i : i + 1])
        single.append(perf_counter() - start)
        _tell(single=float(np.median(single)))
    for _ in range(4):
        start = perf_counter()
        search(donors.queries)
        took.append(perf_counter() - start)
        _tell(batch=float(np.median(took)), peak=peak_memory() - before)


def _load(folder: Path) -> Donors:
    return Donors(*(np.load(folder / f"{name}.npy") for name in ("rows", "queries", "is_categorical")))


def _save(donors: Donors, folder: Path) -> None:
    for name in ("rows", "queries", "is_categorical"):
        np.save(folder / f"{name}.npy", getattr(donors, name))
    places = numpy_blocks(donors)(donors.queries)
    np.save(folder / "places.npy", places)
    np.save(folder / "distances.npy", donors.heom.between(donors.queries, donors.rows[places]))


def in_child(option: str, folder: Path, budget: float) -> dict[str, Any]:
    """Run one option in a fresh process; what it told, and whether its time ran out."""
    progress(f"  {option}")
    command = [sys.executable, __file__, "--child", option, "--folder", str(folder)]
    with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as errors:
        facts: dict[str, Any] = {}
        try:
            status = subprocess.run(command, stdout=told, stderr=errors, timeout=budget, check=False).returncode
            errors.seek(0)
            if status:
                last = (errors.read().strip().splitlines() or [f"exit status {status}"])[-1]
                facts["problem"] = last if status > 0 else "too big: killed by the system"
        except subprocess.TimeoutExpired:
            facts["problem"] = f"too slow: more than {budget:g} s"
        told.seek(0)
        for line in told.read().splitlines():
            facts |= json.loads(line)
    return facts


def tables(data: str | None, sizes: list[int]) -> Iterator[tuple[str, Donors]]:
    """What is searched: adult when it is there, mixed rows in clusters, uniform numbers (the worst case for trees)."""
    path = adult_path(data)
    if path is not None:
        problem = adult(path)
        is_categorical = np.isin(np.arange(problem.X.shape[1]), problem.categorical)
        yield "adult", Donors(problem.X[problem.y == 0], problem.X[problem.y == 1][:N_QUERIES], is_categorical)
    for n_rows in sizes:
        is_categorical = np.isin(np.arange(20), MIXED_CATEGORICAL)
        rows = _of_class(1, mixed(3 * n_rows, seed=0), n_rows)
        yield "mixed", Donors(rows, _of_class(0, mixed(10 * N_QUERIES, seed=1), N_QUERIES), is_categorical)
        random = np.random.default_rng(0)
        yield "uniform", Donors(random.random((n_rows, 20)), random.random((N_QUERIES, 20)), np.zeros(20, dtype=bool))


def _of_class(label: int, rows: np.ndarray, n_rows: int) -> np.ndarray:
    chosen = rows[linear_model(rows).argmax(axis=1) == label][:n_rows]
    assert len(chosen) == n_rows, "too few rows of this class were drawn"
    return chosen


def line(option: str, m: dict[str, Any], matrix: float) -> tuple[Any, ...]:
    """One line of a table; what was not reached is a dash."""
    if "build" not in m:
        return (option, *("-" * 7), m.get("problem", ""))
    return (
        option,
        short(m["build"]),
        f"{m['kept'] / matrix:.1f}x",
        f"{m['peak'] / matrix:.1f}x",
        short(1000 * m["single"]) if "single" in m else "-",
        short(1000 * m["batch"] / N_QUERIES) if "batch" in m else "-",
        f"{m['same_distance']} %" if "batch" in m else "-",
        f"{m['same_row']} %" if "batch" in m else "-",
        m.get("problem", ""),
    )


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with raw/adult/adult.csv.gz; default: NICECF_DATA")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 1_000_000], help="numbers of donors")
    parser.add_argument("--budget", type=float, default=300, help="seconds for one option on one table")
    parser.add_argument("--options", nargs="+", choices=list(OPTIONS), default=list(OPTIONS))
    parser.add_argument("--out", help="also write the report to this file")
    parser.add_argument("--child", choices=list(OPTIONS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(options.child, Path(options.folder))
        return 0

    report = Report(options.out)
    report.say("# Exact nearest donors: the options")
    report.say(machine("nicecf", "numpy", "scipy", "scikit-learn", "numba", "faiss-cpu"))
    head = [
        "option",
        "build s",
        "memory kept",
        "peak",
        "1 query: ms",
        f"{N_QUERIES} queries: ms each",
        "same distance",
        "same row",
        "",
    ]
    numba_costs: list[tuple[float, float]] = []
    for name, donors in tables(options.data, options.sizes):
        title = f"{name}, {len(donors.rows):,} rows, {donors.rows.shape[1]} features"
        progress(title)
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            _save(donors, Path(folder))
            for option in options.options:
                if option.startswith("scipy cdist +") and not donors.is_categorical.any():
                    continue  # without categories it is plain cdist
                m = in_child(option, Path(folder), options.budget)
                rows.append(line(option, m, donors.rows.nbytes))
                if "numba_compile" in m:
                    numba_costs.append((m["numba_import"], m["numba_compile"]))
        report.say(f"## {title}, {int(donors.is_categorical.sum())} categorical\n\n{markdown_table(head, rows)}")
    report.say(
        "Memory: multiples of the float64 matrix (rows x features x 8 bytes), over the caller's own copy of it. Same "
        "row: the first in training order where several are nearest."
    )
    if numba_costs:
        imported, compiled = np.median(numba_costs, axis=0)
        report.say(f"numba: import {imported:.2f} s, compilation {compiled:.2f} s (medians; both part of its build).")
    report.save()
    return 0


if __name__ == "__main__":
    sys.exit(main())
