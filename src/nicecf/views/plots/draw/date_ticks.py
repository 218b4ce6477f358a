"""Where an axis of dates or durations has its ticks: at whole years, months, days, hours and so on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator

from nicecf.tables.temporal import Temporal
from nicecf.views.plots.draw.scale import Tick, ticks
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording

_SECOND = 1.0
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_MONTH, _YEAR = 30.4 * _DAY, 365.25 * _DAY
# How long steps are, in seconds, and how many of which unit.
_SHORT = [
    *((n * unit, name, n) for unit, name in ((_SECOND, "second"), (_MINUTE, "minute")) for n in (1, 2, 5, 10, 15, 30)),
    *((n * _HOUR, "hour", n) for n in (1, 2, 3, 6, 12)),
]
_OF_DATES = [
    *_SHORT,
    *((n * _DAY, "day", n) for n in (1, 2, 5, 10)),
    *((n * _MONTH, "month", n) for n in (1, 2, 3, 6)),
    *((n * _YEAR, "year", n) for n in (1, 2, 5, 10, 20, 50, 100, 200)),
]
_OF_DURATIONS = [
    *_SHORT,
    *((n * power * _DAY, "day", n * power) for power in (1, 10, 100, 1000, 10_000) for n in (1, 2, 5)),
]
_CLOCK = {"hour": "%H:%M", "minute": "%H:%M", "second": "%H:%M:%S"}


def ticks_of(
    low: float, high: float, most: int, temporal: Temporal | None, teller: Teller, *, whole: bool = False
) -> list[Tick]:
    """The ticks of an axis of numbers, or of the dates that they stand for, in the manner of a language."""
    if temporal is None:
        # Of whole numbers, none between two of them.
        found = ticks(low, high, most, whole=whole and high - low >= 1)
        return [Tick(tick.value, teller.number(tick.text)) for tick in found]
    return date_ticks(low, high, most, temporal, teller)


def date_ticks(low: float, high: float, most: int, temporal: Temporal, teller: Teller | None = None) -> list[Tick]:
    """At most ``most`` round dates or durations between two numbers of a column; at least one of them.

    >>> days = Temporal("date")
    >>> span = days.number("2019-03-01"), days.number("2024-06-01")
    >>> [tick.text for tick in date_ticks(*span, 6, days)]
    ['2020', '2021', '2022', '2023', '2024']
    >>> waits = Temporal("duration")
    >>> [tick.text for tick in date_ticks(0.0, waits.number("90 days"), 6, waits)]
    ['0 days', '20 days', '40 days', '60 days', '80 days']
    """
    teller = teller or Teller(Wording())
    ends = temporal.value(low), temporal.value(high)
    if isinstance(ends[0], dt.timedelta) and isinstance(ends[1], dt.timedelta):
        found = _of_durations(ends[0], ends[1], most, temporal, teller)
    else:
        first, last = (_as_datetime(end) for end in ends)
        found = _of_dates(first, last, most, temporal, teller)
    return [tick for tick in found if low <= tick.value <= high] or [_alone(low, temporal, teller)]


def _alone(number: float, temporal: Temporal, teller: Teller) -> Tick:
    return Tick(number, teller.value(None, temporal.value(number)))


def _as_datetime(value: object) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    assert isinstance(value, dt.date)
    return dt.datetime(value.year, value.month, value.day)


def _of_durations(low: dt.timedelta, high: dt.timedelta, most: int, temporal: Temporal, teller: Teller) -> list[Tick]:
    span = (high - low).total_seconds()
    length = next((length for length, _, _ in _OF_DURATIONS if span / length <= most - 1), None)
    if length is None or span <= 0:
        return []
    step = dt.timedelta(seconds=length)
    counts = range(-(-low // step), high // step + 1)
    return [Tick(temporal.number(count * step), teller.value(None, count * step)) for count in counts]


def _of_dates(low: dt.datetime, high: dt.datetime, most: int, temporal: Temporal, teller: Teller) -> list[Tick]:
    span = (high - low).total_seconds()
    if span <= 0:
        return []
    finest = _DAY if temporal.kind == "date" else 0.0
    for length, unit, n in _OF_DATES:
        if length >= finest and span / length <= most:
            ticks = [Tick(temporal.number(when), _written(when, unit, teller)) for when in _STEPS[unit](low, high, n)]
            if len(ticks) <= most:
                return ticks
    return []


def _written(when: dt.datetime, unit: str, teller: Teller) -> str:
    """A date as exactly as the steps of an axis need it."""
    if unit in ("minute", "second"):
        return f"{when:{_CLOCK[unit]}}"
    time = f"{when:{_CLOCK['hour']}}"
    return teller.say(
        f"plot.tick_{unit}",
        year=f"{when:%Y}",
        month=f"{when:%m}",
        day=f"{when:%d}",
        **({"time": time} if unit == "hour" else {}),
    )


def _years(low: dt.datetime, high: dt.datetime, n: int) -> Iterator[dt.datetime]:
    for year in range(-(-low.year // n) * n, high.year + 1, n):
        yield dt.datetime(year, 1, 1, tzinfo=low.tzinfo)


def _months(low: dt.datetime, high: dt.datetime, n: int) -> Iterator[dt.datetime]:
    for month in range((12 * low.year + low.month - 1) // n * n, 12 * high.year + high.month, n):
        yield dt.datetime(month // 12, month % 12 + 1, 1, tzinfo=low.tzinfo)


def _days(low: dt.datetime, high: dt.datetime, n: int) -> Iterator[dt.datetime]:
    """From the first of each month on, so that they stay the same in a window that is a little wider."""
    for first in _months(low, high, 1):
        day = first
        # Two that stand close together, at the end of a month, would be written over each other.
        while day.month == first.month and (n == 1 or day.day + n <= 32):
            if low <= day <= high:
                yield day
            day += dt.timedelta(days=n)


def _within_days(seconds: float) -> Callable[[dt.datetime, dt.datetime, int], Iterator[dt.datetime]]:
    def steps(low: dt.datetime, high: dt.datetime, n: int) -> Iterator[dt.datetime]:
        step = dt.timedelta(seconds=n * seconds)
        when = low.replace(hour=0, minute=0, second=0, microsecond=0)
        when += -(-(low - when) // step) * step
        while when <= high:
            yield when
            when += step

    return steps


_STEPS: dict[str, Callable[[dt.datetime, dt.datetime, int], Iterator[dt.datetime]]] = {
    "year": _years,
    "month": _months,
    "day": _days,
    "hour": _within_days(_HOUR),
    "minute": _within_days(_MINUTE),
    "second": _within_days(_SECOND),
}
