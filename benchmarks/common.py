"""What the benchmarks share: tables to measure on, memory of this process, and reports in markdown."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, eq=False)
class Problem:
    """A table as float64 with categories as codes 0, 1, ... at the positions ``categorical``; labels 0 and 1."""

    name: str
    X: np.ndarray
    y: np.ndarray
    categorical: list[int]

    @property
    def numeric(self) -> list[int]:
        """The positions of the number columns."""
        return [j for j in range(self.X.shape[1]) if j not in self.categorical]


class Cell(Protocol):
    """Something measured; two with one key are the same measurement."""

    @property
    def key(self) -> tuple[Any, ...]: ...


AnyCell = TypeVar("AnyCell", bound=Cell)


def stored(store: Path, read: Callable[[str], AnyCell]) -> dict[tuple[Any, ...], AnyCell]:
    """What earlier runs measured, the last of each. A line that an interrupted run left unfinished is passed over."""
    cells = {}
    for line in store.read_text().splitlines() if store.exists() else []:
        try:
            cell = read(line)
        except (ValueError, KeyError, TypeError):
            continue
        cells[cell.key] = cell
    return cells


def real_or_generated(folder: str | None) -> Problem:
    """Adult from ``folder`` (or from NICECF_DATA) when it is there, else the generated loan book."""
    path = adult_path(folder)
    return generated() if path is None else adult(path)


def adult_path(folder: str | None) -> Path | None:
    """Where adult lies; None without it."""
    folder = folder or os.environ.get("NICECF_DATA")
    path = Path(folder) / "raw" / "adult" / "adult.csv.gz" if folder else None
    return path if path is not None and path.exists() else None


def adult(path: Path) -> Problem:
    """UCI Adult, 14 features of which 8 categorical."""
    table = pd.read_csv(path)
    return _coded("adult", table.drop(columns="income"), table["income"] == ">50K")


def generated() -> Problem:
    """The generated loan book. NICEx takes no missing values: columns that are often missing go, then rows."""
    from nicecf.benchmark.datasets import loan_book  # only needed without real data

    X, y = loan_book(60_000, seed=0)
    X = X.loc[:, X.isna().mean() < 0.1]
    is_whole = X.notna().all(axis=1)
    return _coded("loan book", X[is_whole], y[is_whole] == sorted(y.unique())[1])


def _coded(name: str, X: pd.DataFrame, y: pd.Series[Any]) -> Problem:
    is_number = [pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) for dtype in X.dtypes]
    columns = [
        X.iloc[:, j].to_numpy(dtype=np.float64) if number else pd.factorize(X.iloc[:, j], sort=True)[0]
        for j, number in enumerate(is_number)
    ]
    categorical = [j for j, number in enumerate(is_number) if not number]
    return Problem(name, np.column_stack(columns).astype(np.float64), y.to_numpy(dtype=np.int64), categorical)


def mixed(n_rows: int, *, seed: int = 0, n_clusters: int = 200) -> np.ndarray:
    """Float rows with 12 numbers and then 8 categories as codes, in clusters of unequal size, as real tables are.

    Half of the numbers are rounded, so that values repeat and distances tie. Made chunk by chunk: hardly more memory
    than the table. The clusters depend on nothing but their number, so tables of any size and seed resemble each
    other.
    """
    world = np.random.default_rng(12345)
    weights = world.dirichlet(np.full(n_clusters, 0.5))
    centers = world.normal(size=(n_clusters, 12))
    widths = world.uniform(0.05, 0.4, size=(n_clusters, 12))
    n_levels = np.array([2, 3, 4, 5, 7, 9, 15, 40])
    favourites = (world.random((n_clusters, 8)) * n_levels).astype(int)
    random = np.random.default_rng(seed)
    table = np.empty((n_rows, 20))
    for at in range(0, n_rows, 50_000):
        part = table[at : at + 50_000]
        cluster = random.choice(n_clusters, size=len(part), p=weights)
        part[:, :12] = random.normal(centers[cluster], widths[cluster])
        part[:, :6] = np.round(part[:, :6], 1)
        strays = random.random((len(part), 8)) < 0.2
        part[:, 12:] = np.where(strays, (random.random((len(part), 8)) * n_levels).astype(int), favourites[cluster])
    return table


MIXED_CATEGORICAL = list(range(12, 20))


def linear_model(X: np.ndarray) -> np.ndarray:
    """Probabilities of two classes for the rows of ``mixed``: cheap, and every feature matters."""
    weights = np.array([1.0, -0.8, 0.6, -0.5, 0.4, -0.3] * 2 + [0.5, -0.4, 0.3, -0.2, 0.1, -0.1, 0.05, -0.02])
    margin = X @ weights
    positive = 1.0 / (1.0 + np.exp(-margin))
    return np.column_stack([1.0 - positive, positive])


def memory_now() -> int:
    """Bytes of memory that this process holds."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except OSError:
        return peak_memory()


def peak_memory() -> int:
    """The most bytes that this process has held.

    Not ru_maxrss where Linux offers better: a child inherits that of the process that started it.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak() -> None:
    """Let the peak start again from what is held now, where the system can do that (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with numbers to the right; the first column is text."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def short(number: float) -> str:
    """A measured number with three digits that mean something.

    >>> short(0.01234), short(1.5), short(152.3), short(41234.0)
    ('0.0123', '1.50', '152', '41,234')
    """
    if not np.isfinite(number):
        return "-"
    if number == 0 or abs(number) >= 100:
        return f"{number:,.0f}"
    digits = max(0, 2 - int(np.floor(np.log10(abs(number)))))
    return f"{number:.{digits}f}"


def machine(*packages: str) -> str:
    """One line on where this was measured."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = ", ".join(f"{package} {_version(package)}" for package in packages)
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}."


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


class Report:
    """Markdown that appears as it is measured and, at the end, in a file."""

    def __init__(self, out: str | None) -> None:
        self._out = out
        self._parts: list[str] = []

    def say(self, part: str) -> None:
        """Print a part and keep it."""
        print(part, end="\n\n", flush=True)
        self._parts.append(part)

    def save(self) -> None:
        """Write all parts to the file, if one was asked for."""
        if self._out:
            Path(self._out).write_text("\n\n".join(self._parts) + "\n")


def progress(text: str) -> None:
    """What is being measured, on stderr: the report stays clean."""
    print(text, file=sys.stderr, flush=True)
