"""Merge requests that arrive together into one call, in a thread of its own, and bound how many wait and how long.

A request waits only if it must, or if it pays: while a call runs, and for a few milliseconds where the call before
served several at once. So a single client never waits for others. A request that would wait, or has waited, until
hardly any of its time is left is refused: the answer would be one that nobody searched for.
"""

from __future__ import annotations

import asyncio
import math
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from nicecf.exceptions import ModelError
from nicecf.service.limits import Limits
from nicecf.service.refusals import Refused, busy

# Rows and seconds in; out comes one answer for each row.
Work: TypeAlias = Callable[[list[Any], float], Sequence[Any]]

# The share of a request's time that must be left for the search when its turn comes. More refuses requests that could
# still be answered well; less lets one late request cut short the search of all that are merged with it.
_LEAST_SHARE = 0.1
# Seconds that a request may wait however little time it asks for: it gets what is known at once, with a note.
_SHORT_WAIT = 0.05
# The calls that tell how long the next one takes, by their median: one report does not make all others wait in vain.
_CALLS = 5


@dataclass(frozen=True, eq=False)
class Waiting:
    """A request in the queue: its rows, the work to be done on them, and the ``seconds`` that it has in all.

    Requests with the same ``key`` have the same work.
    """

    key: Hashable
    rows: Sequence[Any]
    work: Work
    seconds: float
    arrival: float = field(default_factory=monotonic)
    answer: asyncio.Future[list[Any]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def deadline(self) -> float:
        """The time at which the search for its rows ends."""
        return self.arrival + self.seconds

    @property
    def latest_start(self) -> float:
        """The time from which on a search would have hardly any of its time left."""
        return max(self.deadline - _LEAST_SHARE * self.seconds, self.arrival + _SHORT_WAIT)


class Merger:
    """The queue of one explainer, and the thread that works on it. All but the work happens in the event loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._queue: deque[Waiting] = deque()
        self._called: list[Waiting] = []  # those in the call that is running
        self._parts: list[list[Waiting]] = []  # of a call that failed, to be called again
        self._arrived = asyncio.Event()
        self._thread = _Thread()
        self._n_before = 1
        self._call_times: deque[float] = deque(maxlen=_CALLS)
        self._call_start: float | None = None
        self.is_hanging = False
        self.on_call: Callable[[int], None] = lambda n_rows: None
        self.on_refusal: Callable[[str], None] = lambda reason: None
        self._running = asyncio.create_task(self._run())

    def __len__(self) -> int:
        """The number of requests that wait."""
        return len(self._queue)

    def put(self, waiting: Waiting) -> None:
        """Queue a request; Refused if the queue is full, the wait would take its time, or the model hangs."""
        if self.is_hanging:
            self.on_refusal("hanging")
            raise _hanging()
        wait = self._expected_wait(waiting)
        if len(self._queue) >= self._limits.queue:
            self.on_refusal("queue_full")
            raise busy(429, "too many requests are waiting; try again later", wait)
        if monotonic() + wait > waiting.latest_start:
            self.on_refusal("no_time")
            raise _too_late(wait)
        self._queue.append(waiting)
        self._arrived.set()

    @property
    def _call_seconds(self) -> float:
        return median(self._call_times) if self._call_times else 0.0

    def _expected_wait(self, waiting: Waiting) -> float:
        """Return the seconds until the call of a request would start, if calls take as long as the last ones."""
        if self._call_start is None and not self._queue:
            return 0.0
        running = 0.0 if self._call_start is None else self._call_seconds - (monotonic() - self._call_start)
        return max(0.0, running) + self._calls_before(waiting) * self._call_seconds

    def _calls_before(self, waiting: Waiting) -> int:
        """Return how many calls the queue makes before the one that a new request would be part of."""
        if not self._limits.window:
            return len(self._queue)
        n_rows = Counter({waiting.key: 0})
        for one in self._queue:
            n_rows[one.key] += len(one.rows)
        most = self._limits.together
        return sum(n // most if key == waiting.key else math.ceil(n / most) for key, n in n_rows.items())

    def leave(self, waiting: Waiting) -> bool:
        """Free the place of a request whose client has gone; return whether it was still in the queue."""
        waiting.answer.cancel()
        is_waiting = waiting in self._queue
        if is_waiting:
            self._queue.remove(waiting)
        return is_waiting

    async def close(self) -> None:
        """End; whoever still waits is refused."""
        self._running.cancel()
        self._refuse_all(Refused(503, "the service is shutting down"))
        self._thread.close()

    async def _run(self) -> None:
        while True:
            while not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
            await self._others()
            if batch := self._taken():
                self._n_before = len(batch)
                await self._serve(batch)

    async def _others(self) -> None:
        """Wait until as many are there as the call before served, or the window is over."""
        end = monotonic() + self._limits.window
        while len(self._queue) < self._n_before and (left := end - monotonic()) > 0:
            self._arrived.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), left)

    def _taken(self) -> list[Waiting]:
        """The first in the queue and all that can go with it, in the order in which they came."""
        batch: list[Waiting] = []
        n_rows = 0
        self._queue = deque(self._in_time(self._queue))
        for one in list(self._queue):
            fits = not batch or (one.key == batch[0].key and n_rows + len(one.rows) <= self._limits.together)
            if fits and (not batch or self._limits.window):
                self._queue.remove(one)
                batch.append(one)
                n_rows += len(one.rows)
        return batch

    async def _serve(self, batch: list[Waiting]) -> None:
        """Answer some requests by one call; where it fails, whoever is at fault costs the others a call or two."""
        self._parts = [batch]
        while self._parts:
            part = self._in_time(self._parts.pop())
            error = await self._call(part) if part else None
            if error is None:
                continue
            at_fault = _at_fault(part, error)
            if at_fault is None:
                middle = len(part) // 2
                self._parts += [part[middle:], part[:middle]]
            else:
                _settle(at_fault, error=error)
                self._parts.append(part)

    def _in_time(self, requests: Iterable[Waiting]) -> list[Waiting]:
        """Return those that wait for an answer; those that have waited for nearly all of their time are refused."""
        time = monotonic()
        for one in requests:
            if not one.answer.done() and time > one.latest_start:
                self.on_refusal("no_time")
                _settle(one, error=_too_late(self._call_seconds))
        return [one for one in requests if not one.answer.done()]

    async def _call(self, batch: list[Waiting]) -> BaseException | None:
        """Answer some requests by one call; return what it raised, if it did."""
        rows = [row for one in batch for row in one.rows]
        self._called = batch
        self._call_start = start = monotonic()
        seconds = round(max(0.001, min(one.deadline for one in batch) - start), 3)
        work = batch[0].work
        self.on_call(len(rows))
        call = self._thread.run(lambda: work(rows, seconds))
        await asyncio.wait({call}, timeout=seconds + self._limits.patience)
        if not call.done():
            await self._hang(batch, call)
            return None
        self._call_start, took = None, monotonic() - start
        self._call_times.append(took)
        error = call.exception()
        if error is None:
            answers, at = call.result(), 0
            for one in batch:
                _settle(one, answers[at : at + len(one.rows)])
                at += len(one.rows)
        return error

    async def _hang(self, batch: list[Waiting], call: asyncio.Future[Any]) -> None:
        """The model does not return: nobody waits for it any longer, and nobody else is let in until it does."""
        self.is_hanging = True
        for one in batch:
            _settle(one, error=Refused(504, "the model did not answer in time"))
        self._refuse_all(_hanging())
        await asyncio.wait({call})
        call.exception()  # looked at: nobody else will
        self._call_start = None
        self.is_hanging = False

    def _refuse_all(self, refusal: Refused) -> None:
        for one in (*self._called, *self._queue, *(one for part in self._parts for one in part)):
            _settle(one, error=refusal)
        self._queue.clear()


def _hanging() -> Refused:
    return busy(503, "the model does not answer; its requests are refused until it does", 1.0)


def _too_late(seconds: float) -> Refused:
    return busy(503, "too many requests are waiting to search within the time of this one; try again later", seconds)


def _at_fault(batch: Sequence[Waiting], error: BaseException) -> Waiting | None:
    """Return the request with the row that an error names, or the only one; None where nobody knows."""
    if len(batch) == 1:
        return batch[0]
    row = error.row if isinstance(error, ModelError) else None
    ends = np.cumsum([len(one.rows) for one in batch])
    return None if row is None or row >= ends[-1] else batch[int(np.searchsorted(ends, row, side="right"))]


def _settle(one: Waiting, answers: Sequence[Any] = (), *, error: BaseException | None = None) -> None:
    if one.answer.done():  # the client has gone
        return
    if error is None:
        one.answer.set_result(list(answers))
    else:
        one.answer.set_exception(error)


class _Thread:
    """One thread that does one thing after the other. It ends with the process, also if a model never returns."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="nicecf", daemon=True).start()

    def run(self, job: Callable[[], Any]) -> asyncio.Future[Any]:
        """Do something; the result is set in the event loop."""
        future = self._loop.create_future()
        self._jobs.put((job, future))
        return future

    def close(self) -> None:
        self._jobs.put(None)

    def _work(self) -> None:
        while (todo := self._jobs.get()) is not None:
            job, future = todo
            try:
                result, error = job(), None
            except BaseException as raised:  # also SystemExit of a model: the thread must go on
                result, error = None, raised
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(_resolve, future, result, error)
            del job, future, todo, result, error


def _resolve(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(
            error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__} was raised")
        )
