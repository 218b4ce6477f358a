"""The clock that time limits go by, and how long work takes on a machine that does nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter, process_time

# A process that uses the processor for less than this share of the time waits, for a server or for other processes. A
# busy machine leaves it more than that, unless ten others compete for each core.
_LEAST_SHARE = 0.1

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


@dataclass(frozen=True)
class Moment:
    """A time by the clock, and the processor time that the process had used until then."""

    by_clock: float
    by_processor: float

    @classmethod
    def now(cls) -> Moment:
        """Return the present moment."""
        return cls(perf_counter(), process_time())

    def work_until(self, later: Moment) -> float:
        """Return the seconds of work between two moments, as a forecast needs them.

        What computes in this process takes its processor time: while other programs hold it up, the clock runs on, and
        a forecast by the clock would be many times too long. Several threads use more processor time than passes, so
        that the clock is the limit. A model behind a server, or in other processes, uses hardly any processor time
        here: it takes what the clock says.
        """
        by_clock, by_processor = later.by_clock - self.by_clock, later.by_processor - self.by_processor
        return by_clock if by_processor < _LEAST_SHARE * by_clock else min(by_clock, by_processor)

    def work_since(self) -> float:
        """Return the seconds of work from this moment on."""
        return self.work_until(Moment.now())
