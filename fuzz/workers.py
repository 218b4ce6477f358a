"""Cases in processes of their own: one that dies, or hangs, takes no other with it and is told by its case."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from time import monotonic

from fuzz.cases import Outcome, run_case

# A case takes a fraction of a second; the slowest baselines some seconds.
SECONDS_PER_CASE = 300.0
# Models and numpy must not use more cores than there are workers.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


class Worker:
    """A process that runs one case after the other."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.number: int | None = None
        self._begun = 0.0
        self._start()

    def _start(self) -> None:
        for name in _ONE_THREAD:
            os.environ.setdefault(name, "1")
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.seed, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def begin(self, number: int) -> None:
        """Hand a case over."""
        self.number, self._begun = number, monotonic()
        self.connection.send(number)

    def outcome(self) -> Outcome:
        """What came of the case; if the process died over it, that."""
        number, self.number = self.number, None
        assert number is not None
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            return self._lost(number, f"the worker died with exit code {self._process.exitcode}")

    def given_up(self) -> Outcome | None:
        """The outcome of a case that takes too long: its process is ended."""
        if self.number is None or monotonic() - self._begun < SECONDS_PER_CASE:
            return None
        number, self.number = self.number, None
        self._process.kill()
        self._process.join()
        return self._lost(number, f"the case took more than {SECONDS_PER_CASE:.0f} seconds")

    def _lost(self, number: int, why: str) -> Outcome:
        outcome = Outcome(number)
        outcome.note("the worker survives", [why])
        self._start()
        return outcome

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def finished(workers: list[Worker], seconds: float) -> list[Outcome]:
    """The outcomes of cases that ended, waiting for some time for one."""
    busy = [worker for worker in workers if worker.number is not None]
    ready = wait([worker.connection for worker in busy], timeout=seconds)
    outcomes = [worker.outcome() for worker in busy if worker.connection in ready]
    given_up = [worker.given_up() for worker in workers]
    return outcomes + [outcome for outcome in given_up if outcome is not None]


def _serve(seed: int, connection: Connection) -> None:
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):  # whoever hands out the cases is gone
        while True:
            connection.send(run_case(seed, connection.recv()))
