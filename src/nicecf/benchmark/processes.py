"""Datasets side by side, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing import connection, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

from threadpoolctl import threadpool_limits

from nicecf.benchmark.datasets import name_of
from nicecf.benchmark.plan import Plan
from nicecf.benchmark.store import Store
from nicecf.exceptions import ExperimentError

# A function of a module: a process finds it by its name.
RunDataset: TypeAlias = Callable[[Store, Plan, str], None]

_POLL_SECONDS = 0.5


def in_processes(
    run_dataset: RunDataset,
    store: Store,
    plan: Plan,
    waiting: Sequence[str],
    *,
    jobs: int,
    watch: Callable[[], None],
) -> None:
    """One process for each dataset, so many at a time; one that dies takes its own dataset along and no other."""
    has_server = "forkserver" in multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if has_server else "spawn")
    if has_server:
        context.set_forkserver_preload([run_dataset.__module__])
    queue = list(waiting)
    running: dict[Any, tuple[Any, Any, str]] = {}
    try:
        while queue or running:
            while queue and len(running) < jobs:
                dataset = queue.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(run_dataset, store.folder, plan, dataset, sender))
                process.start()
                sender.close()
                running[process.sentinel] = (process, receiver, dataset)
            for ended in connection.wait(list(running), timeout=_POLL_SECONDS):
                process, receiver, dataset = running.pop(ended)
                process.join()
                _hear(store, name_of(dataset, folder=plan.data), process.exitcode, receiver)
            watch()
    finally:
        for process, _, _ in running.values():
            process.terminate()
        for process, _, _ in running.values():
            process.join()


def _work(run_dataset: RunDataset, folder: Path, plan: Plan, dataset: str, sender: Any) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        with threadpool_limits(1):
            run_dataset(Store.open(folder), plan, dataset)
    except ExperimentError as error:
        sender.send(str(error))
    except KeyboardInterrupt:
        return


def _end_with_parent() -> None:
    """A process whose run was killed ends at once: the next run does the rest, and alone."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _hear(store: Store, name: str, exitcode: int, receiver: Any) -> None:
    """What a process had to say at its end: that nothing can be written stops the run, its death stops its dataset."""
    try:
        raise ExperimentError(receiver.recv())
    except EOFError:
        pass
    if exitcode:
        how = f"signal {-exitcode}" if exitcode < 0 else f"code {exitcode}"
        store.write_failure(name, f"its process ended with {how} (out of memory?); the cells before are kept")
