"""A training table larger than memory, in Parquet files: fitted to, saved, loaded, asked; time and memory of each step.

Numbers of five hidden factors in 20 features, and a linear model, so cheap that what is measured is nicecf. Each step
runs in a process of its own; before the file is loaded it is put out of the cache of the system.

    python benchmarks/large.py --rows 10000000
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from common import Report, forget_peak, machine, markdown_table, peak_memory, progress, short
from nicecf import NICE
from nicecf.engines import folders

N_FEATURES, N_FACTORS, ROWS_IN_FILE = 20, 5, 1_000_000
MOST_ANONYMOUS, MOST_AT_FIT = 2.0, 3.0


class Linear:
    """A model that puts rows with a positive sum into the second class."""

    classes_ = np.array(["no", "yes"], dtype=object)

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """The logistic function of the sum."""
        p = 1 / (1 + np.exp(-X.to_numpy().sum(axis=1)))
        return np.column_stack([1 - p, p])


def table(n_rows: int, seed: int) -> pd.DataFrame:
    """Rows with their labels, of which the model gets nine in ten right."""
    mixture = np.random.default_rng(0).normal(size=(N_FACTORS, N_FEATURES))
    random = np.random.default_rng(seed)
    values = random.normal(size=(n_rows, N_FACTORS)) @ mixture + 0.1 * random.normal(size=(n_rows, N_FEATURES))
    is_second = (values.sum(axis=1) > 0) ^ (random.random(n_rows) < 0.1)
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(N_FEATURES)])
    return frame.assign(label=np.where(is_second, "yes", "no"))


def write(folder: Path, n_rows: int) -> None:
    for at in range(0, n_rows, ROWS_IN_FILE):
        part = table(min(ROWS_IN_FILE, n_rows - at), seed=at + 1)
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"{at // ROWS_IN_FILE:04}.parquet")


class Anonymous:
    """The most memory of this process that is not in a file, while it lasts."""

    def __enter__(self) -> Anonymous:
        self.peak, self._is_over = 0.0, False
        self._watching = threading.Thread(target=self._watch)
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._watching.join()

    def _watch(self) -> None:
        while not self._is_over:
            lines = Path("/proc/self/status").read_text().splitlines()
            held = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            self.peak = max(self.peak, held / 1e6)
            sleep(0.01)


def measured(name: str, run: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    forget_peak()
    with Anonymous() as anonymous:
        start, processor = perf_counter(), process_time()
        result = run()
        seconds, processor = perf_counter() - start, process_time() - processor
    facts = {"step": name, "seconds": seconds, "processor": processor}
    return facts | {"memory": peak_memory() / 1e9, "anonymous": anonymous.peak}, result


def fit_and_save(folder: Path, path: Path) -> list[dict[str, Any]]:
    def fit() -> NICE:
        X, y = folders.training(folder, "label")
        return NICE(Linear(), search="greedy").fit(X, y, progress=False)

    fitted, nice = measured("fit", fit)
    saved, _ = measured("save", lambda: nice.save(path))
    return [fitted, saved]


def load_and_explain(path: Path) -> list[dict[str, Any]]:
    rows = table(1_001, seed=10**9).drop(columns="label")
    loaded, nice = measured("load", lambda: NICE.load(path, model=Linear()))
    first, _ = measured("explain the first row", lambda: nice.explain(rows[:1]))
    many, _ = measured("explain 1,000 rows", lambda: nice.explain(rows[1:], progress=False))
    return [loaded, first, many]


def in_child(what: str, *paths: Path) -> list[dict[str, Any]]:
    progress(what)
    command = [sys.executable, __file__, "--child", what, *map(str, paths)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Measure and report; 1 if a step takes more memory than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--out", help="also write the report to this file")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        what, *paths = options.child
        run = fit_and_save if what == "fit" else load_and_explain
        print(json.dumps(run(*map(Path, paths))))
        return 0
    report = Report(options.out)
    report.say("# A training table larger than memory")
    report.say(f"{options.rows:,} rows, {N_FEATURES} features, search='greedy'. {machine('nicecf', 'numpy', 'numba')}")
    with tempfile.TemporaryDirectory(prefix="nicecf-bench-") as name:
        folder, path = Path(name, "train"), Path(name, "large.nice")
        folder.mkdir()
        progress("writing the table")
        write(folder, options.rows)
        steps = in_child("fit", folder, path)
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
        steps += in_child("load", path)
        sizes = [sum(file.stat().st_size for file in folder.iterdir()) / 1e9, path.stat().st_size / 1e9]
    rows = [
        (one["step"], *(short(one[name]) for name in ("seconds", "processor", "memory", "anonymous"))) for one in steps
    ]
    head = ("step", "seconds", "of the processor", "memory at its peak, GB", "not in files, GB")
    report.say(markdown_table(head, rows))
    report.say(f"The Parquet files have {sizes[0]:.2f} GB, the explainer {sizes[1]:.2f} GB.")
    report.save()
    at_explain = max(one["anonymous"] for one in steps if one["step"] not in ("fit", "save"))
    return int(at_explain > MOST_ANONYMOUS or steps[0]["memory"] > MOST_AT_FIT)


if __name__ == "__main__":
    raise SystemExit(main())
