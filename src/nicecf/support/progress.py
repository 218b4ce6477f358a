"""A progress bar for long work: on a terminal after a second, silent everywhere else unless asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import TextIO

import numpy as np

from nicecf.exceptions import OptionError

Report = Callable[[int], None]
# What a user may pass: None, True, False, or a function of (rows done, rows in all).
Choice = bool | Callable[[int, int], object] | None

_FIRST_AFTER, _THEN_EVERY = 1.0, 0.1
_GUESSED_FROM = 0.05
_WIDTH = 24


@contextmanager
def reporting(
    choice: Choice, total: int, *, already: int = 0, verb: str = "explaining", unit: str = "rows"
) -> Iterator[Report]:
    """How far the work is, as a function of the rows done; the bar is wiped out at the end.

    ``already``: how many were done before, and say nothing about how long one takes.
    """
    if choice is None or isinstance(choice, (bool, np.bool_)):
        stream = sys.stderr
        if choice is None:
            choice = _is_terminal(stream)
        if not choice or stream is None:
            yield lambda done: None
            return
        bar = _Bar(stream, total, already, verb, unit)
        try:
            yield bar
        finally:
            bar.wipe()
    else:
        report = choice
        yield lambda done: (report(done, total), None)[1]


def check_choice(choice: object) -> None:
    """Raise OptionError for anything that is not a choice."""
    if not (choice is None or isinstance(choice, (bool, np.bool_)) or callable(choice)):
        raise OptionError(
            f"progress={choice!r} is not known; pass True, False, None (a bar on a terminal only) or a function of "
            "(rows done, rows in all)."
        )


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether anyone is looking; a service may have no stderr, or a closed one."""
    return stream is not None and not stream.closed and stream.isatty()


class _Bar:
    def __init__(self, stream: TextIO, total: int, already: int, verb: str, unit: str) -> None:
        self._stream = stream
        self._total = total
        self._already = already
        self._words = verb, unit
        self._started = perf_counter()
        self._next = self._started + _FIRST_AFTER
        self._shown = 0

    def __call__(self, done: int) -> None:
        now = perf_counter()
        if now < self._next:
            return
        self._next = now + _THEN_EVERY
        verb, unit = self._words
        line = bar_line(done, self._total, now - self._started, already=self._already, verb=verb, unit=unit)
        self._stream.write(f"\r{line.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(line)

    def wipe(self) -> None:
        """Leave the line as it was."""
        if self._shown:
            self._stream.write(f"\r{' ' * self._shown}\r")
            self._stream.flush()


def bar_line(
    done: int, total: int, seconds: float, *, already: int = 0, verb: str = "explaining", unit: str = "rows"
) -> str:
    """The bar as text.

    >>> bar_line(250, 1000, seconds=20.0)
    'explaining [######                  ] 250 of 1,000 rows, 1:00 left'
    """
    full = int(_WIDTH * done / total)
    left = _left(done - already, total - already, seconds)
    return f"{verb} [{'#' * full}{' ' * (_WIDTH - full)}] {done:,} of {total:,} {unit}{left}"


class Lines:
    """Progress for a log: a line on stderr now and then, in place of a bar. The first call is where the work begins."""

    def __init__(self, *, unit: str, every: float = 60.0) -> None:
        self._unit = unit
        self._every = every
        self._first: tuple[int, float] | None = None
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = perf_counter()
        if self._first is None:
            self._first, self._next = (done, now), now + self._every
        if now < self._next:
            return
        self._next = now + self._every
        already, started = self._first
        left = _left(done - already, total - already, now - started)
        with suppress(OSError, ValueError):  # work goes on even if nobody can see it
            print(f"{done:,} of {total:,} {self._unit}{left}", file=sys.stderr, flush=True)


def _left(done: int, total: int, seconds: float) -> str:
    # A guess from the first few would be far off.
    return f", {_clock(seconds * (total - done) / done)} left" if done and done >= _GUESSED_FROM * total else ""


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
