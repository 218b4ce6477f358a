"""Requests that arrive together become one call, in a thread of its own; the number of those that wait is bounded.

A request waits only if it must, or if it pays: while a call runs, and for a few milliseconds where the call before
served several at once. So a single client never waits for others.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeAlias

from nicecf.service.limits import Limits
from nicecf.service.refusals import Refused, busy

# Rows and seconds in; out comes one answer for each row.
Work: TypeAlias = Callable[[list[Any], float], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Waiting:
    """A request in the queue: its rows, the work to be done on them, and when the search for them ends.

    Requests with the same ``key`` have the same work.
    """

    key: Hashable
    rows: Sequence[Any]
    work: Work
    deadline: float
    answer: asyncio.Future[list[Any]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Merger:
    """The queue of one explainer, and the thread that works on it. All but the work happens in the event loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._queue: deque[Waiting] = deque()
        self._arrived = asyncio.Event()
        self._thread = _Thread()
        self._n_before = 1
        self._seconds_before = 0.0
        self.is_hanging = False
        self.on_call: Callable[[int], None] = lambda n_rows: None
        self._running = asyncio.create_task(self._run())

    def __len__(self) -> int:
        """The number of requests that wait."""
        return len(self._queue)

    def put(self, waiting: Waiting) -> None:
        """Queue a request; Refused if the queue is full, or the model hangs."""
        if self.is_hanging:
            raise _hanging()
        if len(self._queue) >= self._limits.queue:
            ahead = len(self._queue) / max(1, self._n_before)
            raise busy(429, "too many requests are waiting; try again later", ahead * self._seconds_before)
        self._queue.append(waiting)
        self._arrived.set()

    def leave(self, waiting: Waiting) -> None:
        """The client has gone: its place is free again."""
        waiting.answer.cancel()
        with suppress(ValueError):  # it is being worked on
            self._queue.remove(waiting)

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
                start = monotonic()
                await self._serve(batch)
                self._n_before, self._seconds_before = len(batch), monotonic() - start

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
        for one in list(self._queue):
            fits = not batch or (one.key == batch[0].key and n_rows + len(one.rows) <= self._limits.together)
            if fits and (not batch or self._limits.window):
                self._queue.remove(one)
                batch.append(one)
                n_rows += len(one.rows)
        return batch

    async def _serve(self, batch: list[Waiting]) -> None:
        batch = [one for one in batch if not one.answer.done()]
        if not batch:
            return
        rows = [row for one in batch for row in one.rows]
        seconds = max(0.001, min(one.deadline for one in batch) - monotonic())
        work = batch[0].work
        self.on_call(len(rows))
        call = self._thread.run(lambda: work(rows, seconds))
        await asyncio.wait({call}, timeout=seconds + self._limits.patience)
        if not call.done():
            await self._hang(batch, call)
            return
        error = call.exception()
        if error is not None and len(batch) > 1:  # one of them is at fault: the others need not know
            for one in batch:
                await self._serve([one])
        elif error is not None:
            _settle(batch[0], error=error)
        else:
            answers, at = call.result(), 0
            for one in batch:
                _settle(one, answers[at : at + len(one.rows)])
                at += len(one.rows)

    async def _hang(self, batch: list[Waiting], call: asyncio.Future[Any]) -> None:
        """The model does not return: nobody waits for it any longer, and nobody else is let in until it does."""
        self.is_hanging = True
        for one in batch:
            _settle(one, error=Refused(504, "the model did not answer in time"))
        self._refuse_all(_hanging())
        await asyncio.wait({call})
        call.exception()  # looked at: nobody else will
        self.is_hanging = False

    def _refuse_all(self, refusal: Refused) -> None:
        for one in self._queue:
            _settle(one, error=refusal)
        self._queue.clear()


def _hanging() -> Refused:
    return busy(503, "the model does not answer; its requests are refused until it does", 1.0)


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
