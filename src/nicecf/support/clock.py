"""The clock that time limits go by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter, process_time

_by_processor: ContextVar[bool] = ContextVar("by_processor", default=False)


def now() -> float:
    """Seconds since some moment; only differences mean anything."""
    return process_time() if _by_processor.get() else perf_counter()


@contextmanager
def processor_time() -> Iterator[None]:
    """Inside, limits go by the processor time of this process: what else the machine does, cuts nothing short."""
    token = _by_processor.set(True)
    try:
        yield
    finally:
        _by_processor.reset(token)
