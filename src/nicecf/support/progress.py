"""A progress bar for long work, on a terminal after a second; and a warning, before it takes very long."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import TextIO

import numpy as np

from nicecf.exceptions import LongRunWarning, OptionError
from nicecf.support.clock import Moment

Report = Callable[[int], None]
# What a user may pass: None, True, False, or a function of (rows done, rows in all).
Choice = bool | Callable[[int, int], object] | None

_FIRST_AFTER, _THEN_EVERY = 1.0, 0.1
_GUESSED_FROM = 0.05
# Seconds that are still to come, and seconds of work that they are judged by.
_LONG, _JUDGED_BY = 60.0, 2.0
_WIDTH = 24
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


@contextmanager
def reporting(
    choice: Choice,
    total: int,
    *,
    already: int = 0,
    verb: str = "explaining",
    unit: str = "rows",
    if_long: str | None = None,
) -> Iterator[Report]:
    """How far the work is, as a function of the rows done; the bar is wiped out at the end.

    ``already``: how many were done before, and say nothing about how long one takes. ``if_long``: what to do if the
    rest takes long, for a LongRunWarning; None for no warning. With progress=False there is none either.
    """
    is_switch, stream = isinstance(choice, (bool, np.bool_)), sys.stderr
    has_bar = bool(choice) if is_switch else choice is None and _is_terminal(stream)
    bar = _Bar(stream, total, already, verb, unit) if has_bar and stream is not None else None
    outlook = None
    if if_long is not None and not is_off(choice):
        is_shown = bar is not None or callable(choice)
        hint = if_long if is_shown else f"{if_long} progress=True shows how much is left."
        outlook = _Outlook(total, hint, verb, unit, bar)

    def report(done: int) -> None:
        if bar is not None:
            bar(done)
        if callable(choice):
            choice(done, total)
        if outlook is not None:
            outlook(done)

    try:
        yield report
    finally:
        if bar is not None:
            bar.wipe()


def check_choice(choice: object) -> None:
    """Raise OptionError for anything that is not a choice."""
    if not (choice is None or isinstance(choice, (bool, np.bool_)) or callable(choice)):
        raise OptionError(
            f"progress={choice!r} is not known; pass True, False, None (a bar on a terminal only) or a function of "
            "(rows done, rows in all)."
        )


def is_off(choice: Choice) -> bool:
    """Whether nobody wants to know: no bar, and no warning."""
    return isinstance(choice, (bool, np.bool_)) and not choice


def warn_ahead(choice: Choice, seconds: float, what: str, *, if_long: str) -> bool:
    """Warn, before work starts, if it will take long; whether that was said. ``what``: the work, with its numbers."""
    if is_off(choice) or seconds <= _LONG:
        return False
    _warn(f"{what} will take about {duration(seconds)} or more. {if_long}")
    return True


def _warn(text: str) -> None:
    with suppress(ValueError):  # of a standard error that is closed: the work goes on
        warnings.warn(text, LongRunWarning, stacklevel=outside())


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


class _Outlook:
    """Warns, once, if the rest of the work will take long.

    The first report is where the clock starts: what is done once, for all rows, comes before it, and so does the first
    call of the model, which may take longer than others. And a search may work on many rows at a time: from the end of
    the first to that of the next is what they take. It goes by the seconds of work (see `Moment`).
    """

    def __init__(self, total: int, if_long: str, verb: str, unit: str, bar: _Bar | None) -> None:
        self._total = total
        self._if_long = if_long
        self._words = verb, unit
        self._bar = bar
        self._first: tuple[int, Moment] | None = None
        self._is_told = False

    def __call__(self, done: int) -> None:
        if self._is_told:
            return
        if self._first is None:
            self._first = done, Moment.now()
        already, started = self._first
        seconds = started.work_since()
        if done == already or seconds < _JUDGED_BY:
            return
        each, left = seconds / (done - already), self._total - done
        if left * each > _LONG:
            self._is_told = True
            self._warn(left, each)

    def _warn(self, left: int, each: float) -> None:
        if self._bar is not None:
            self._bar.wipe()
        verb, unit = self._words
        _warn(f"{verb} the other {left:,} {unit} will take about {duration(left * each)}. {self._if_long}")


def duration(seconds: float) -> str:
    """A time in words, of a minute or more.

    >>> duration(61), duration(2400), duration(7000), duration(1e6)
    ('1 minute', '40 minutes', '2 hours', '12 days')
    """
    size, unit = next((one for one in _UNITS if seconds >= 1.5 * one[0]), _UNITS[-1])
    count = round(seconds / size)
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def outside() -> int:
    """How far up the first caller is that is no part of nicecf, for the line that a warning names."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "nicecf":
        frame, level = frame.f_back, level + 1
    return level


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
