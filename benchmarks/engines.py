"""Rows per second on one process, on Spark and on Dask, the bytes that are moved, and the bill for a billion rows.

Covertype, if NICECF_DATA has it, else the generated loan book. Train on some rows, explain others with the greedy
search: one process and one thread by explain_batches, as many processes as cores, then as many executors of Spark and
processes of Dask, all on this machine. The time of an engine is that of its second job of the kind: processes, imports
and the explainer are there already, as in a job of hours. Seconds of processors are compared, of all processes of an
engine: those on the clock depend on what else the machine does.
python benchmarks/engines.py [--rows N] [--train N] [--executors N]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from common import machine  # type: ignore[import-not-found]
from nicecf import NICE
from nicecf.engines import explain_batches
from nicecf.engines.packed import packed

BILLION = 10**9
MOST_OVERHEAD = 1.5
PARTITIONS = 8


@dataclass(frozen=True)
class Measured:
    """How long one way of explaining all rows took, and until the first job could start.

    ``cpu``: the seconds of processors that this process and all that it started have used: on a machine that has other
    work too, it says more than the seconds on the clock.
    """

    name: str
    cores: int
    seconds: float
    cpu: float
    start: float = 0.0


def cpu_now() -> float:
    """The seconds of processors of this process and of those that it started and that are still there."""
    own = psutil.Process()
    total = 0.0
    for one in [own, *own.children(recursive=True)]:
        with suppress(psutil.Error):
            times = one.cpu_times()
            total += times.user + times.system
    return total


def problem(n_train: int, n_rows: int) -> tuple[str, NICE, pd.DataFrame]:
    """An explainer, and rows that it was not fitted on, with an id."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    from nicecf.benchmark.datasets import loan_book

    folder = os.environ.get("NICECF_DATA")
    path = Path(folder, "raw", "covertype", "covertype.csv.gz") if folder else None
    if path is not None and path.exists():
        table = pd.read_csv(path).sample(frac=1, random_state=0, ignore_index=True)
        name, X, y = "covertype", table.drop(columns="Cover_Type"), table["Cover_Type"]
    else:
        name, (X, y) = "the loan book", loan_book(n_train + n_rows)
    words = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer(
        (words, make_column_selector(dtype_exclude=["number", "bool"])), remainder="passthrough"
    )
    model = make_pipeline(columns, HistGradientBoostingClassifier(max_iter=50, random_state=0))
    model.fit(X[:n_train], y[:n_train])
    nice = NICE(model, search="greedy").fit(X[:n_train], y[:n_train], progress=False)
    repeats = -(-n_rows // max(1, len(X) - n_train))
    rows = pd.concat([X[n_train:]] * repeats, ignore_index=True)[:n_rows]
    return name, nice, rows.assign(id=range(len(rows)))


@contextmanager
def timed(into: list[tuple[float, float]]) -> Iterator[None]:
    """Seconds on the clock, and of processors."""
    started, cpu = time.perf_counter(), cpu_now()
    yield
    into.append((time.perf_counter() - started, cpu_now() - cpu))


def one_process(nice: NICE, files: Path) -> tuple[Measured, pa.Table]:
    """All rows by one thread."""
    took: list[tuple[float, float]] = []
    with threadpool_limits(1), timed(took):
        batches = (batch for path in sorted(files.iterdir()) for batch in pq.ParquetFile(path).iter_batches(10_000))
        answers = pa.Table.from_batches(explain_batches(nice, None, batches, id="id"))
    return Measured("one process", 1, *took[0]), answers


def several_processes(nice: NICE, files: Path, folder: Path, n: int) -> Measured:
    """All rows by processes without an engine, as many as an engine has: what the machine itself allows."""
    import joblib

    nice.save(folder / "explainer.nice")
    joblib.dump(nice.model, folder / "model.joblib")
    paths = sorted(files.iterdir())
    took: list[tuple[float, float]] = []
    with ProcessPoolExecutor(n, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_explain_files, [(folder, paths[:1])] * n))
        with timed(took):
            list(pool.map(_explain_files, [(folder, paths[at::n]) for at in range(n)]))
    return Measured(f"{n} processes", n, *took[0])


def _explain_files(job: tuple[Path, list[Path]]) -> int:
    folder, paths = job
    with threadpool_limits(1):
        batches = (batch for path in paths for batch in pq.ParquetFile(path).iter_batches(10_000))
        answers = explain_batches(folder / "explainer.nice", _model(folder / "model.joblib"), batches, id="id")
        return sum(one.num_rows for one in answers)


@cache
def _model(path: Path) -> Any:
    import joblib

    return joblib.load(path)


def on_spark(nice: NICE, files: Path, out: Path, n: int) -> Measured:
    """All rows by executors of Spark with one core each."""
    import pyspark
    from pyspark.sql import SparkSession

    from nicecf.engines import spark

    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    start: list[tuple[float, float]] = []
    with timed(start):
        builder = SparkSession.builder.master(f"local-cluster[{n},1,2048]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.files.maxPartitionBytes", "1m").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        rows = session.read.parquet(str(files)).repartition(PARTITIONS)
        rows.cache().count()
    try:
        took = _second(lambda path: spark.explain(rows, nice, id="id").write.parquet(path), out, start)
    finally:
        session.stop()
    return Measured("Spark", n, *took, sum(wall for wall, _ in start))


def on_dask(nice: NICE, files: Path, out: Path, n: int) -> Measured:
    """All rows by processes of Dask with one thread each."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from nicecf.engines import dask

    start: list[tuple[float, float]] = []
    with LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        rows = dd.read_parquet(files)
        took = _second(lambda path: dask.explain(rows, nice, id="id").to_parquet(path, write_index=False), out, start)
    return Measured("Dask", n, *took, sum(wall for wall, _ in start))


def _second(job: Callable[[str], Any], out: Path, start: list[tuple[float, float]]) -> tuple[float, float]:
    """What the second job took; what the first took more is part of the start."""
    took: list[tuple[float, float]] = []
    for number in range(2):
        with timed(took):
            job(str(out / str(number)))
    start.append((max(0.0, took[0][0] - took[1][0]), 0.0))
    return took[1]


def report(name: str, sent: tuple[int, int], sizes: tuple[int, int, int], measured: list[Measured]) -> None:
    """Tables in markdown: what was measured, and what follows from it for a billion rows."""
    n, into, back = sizes
    alone = measured[0].cpu
    print(f'\n{name}, {n:,} rows explained, `search="greedy"`. {machine("nicecf", "pyspark", "dask", "pyarrow")}\n')
    print("| | cores | s | rows/s | processor ms/row | beside one process | start, s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for one in measured:
        mark = "" if one.cpu <= MOST_OVERHEAD * alone else f" (more than {MOST_OVERHEAD}x)"
        print(
            f"| {one.name} | {one.cores} | {one.seconds:.1f} | {n / one.seconds:,.0f} | {1000 * one.cpu / n:.2f} | "
            f"{one.cpu / alone:.2f}x{mark} | {one.start:.1f} |"
        )
    print(
        f"\nArrow in {into / n:,.0f} bytes a row, out {back / n:,.0f}; to each worker {sent[0] / 1e6:,.1f} MB of "
        f"explainer and {sent[1] / 1e6:,.1f} MB of model, once.\n"
    )
    print("| a billion rows on | core hours | hours on 100 cores | Arrow in | Arrow out |")
    print("|---|---:|---:|---:|---:|")
    for one in measured[1:]:
        hours = BILLION * one.cpu / n / 3600
        print(f"| {one.name} | {hours:,.0f} | {hours / 100:,.1f} | {into / n:,.0f} GB | {back / n:,.0f} GB |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--train", type=int, default=100_000)
    parser.add_argument("--executors", type=int, default=2)
    options = parser.parse_args()
    import cloudpickle

    name, nice, rows = problem(options.train, options.rows)
    _, sent = packed(nice, None, cloudpickle.dumps)
    with tempfile.TemporaryDirectory() as folder:
        files, out = Path(folder, "rows"), Path(folder, "out")
        files.mkdir()
        step = -(-len(rows) // PARTITIONS)
        for at in range(PARTITIONS):
            rows[at * step : (at + 1) * step].to_parquet(files / f"{at}.parquet", index=False)
        alone, answers = one_process(nice, files)
        print(f"one process: {alone.seconds:.1f} s", file=sys.stderr)
        measured = [alone, several_processes(nice, files, Path(folder), options.executors)]
        print(f"processes: {measured[-1].seconds:.1f} s", file=sys.stderr)
        measured.append(on_spark(nice, files, out / "spark", options.executors))
        print(f"Spark: {measured[-1].seconds:.1f} s", file=sys.stderr)
        measured.append(on_dask(nice, files, out / "dask", options.executors))
    given = pa.Table.from_pandas(rows, preserve_index=False)
    found = answers["found"].to_pylist()
    report(
        f"{name}: {options.train:,} training rows, {sum(found) / len(found):.1%} found",
        (len(sent.explainer), len(sent.model)),
        (len(rows), given.nbytes, answers.nbytes),
        measured,
    )


if __name__ == "__main__":
    main()
