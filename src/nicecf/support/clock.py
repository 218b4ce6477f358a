"""The clock that time limits go by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter, process_time

_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=perf_counter)


def now() -> float:
    """Seconds since some moment; only differences mean anything."""
    return _clock.get()()


@contextmanager
def processor_time() -> Iterator[None]:
    """Inside, limits go by the processor time of this process: what else the machine does, cuts nothing short."""
    token = _clock.set(process_time)
    try:
        yield
    finally:
        _clock.reset(token)
