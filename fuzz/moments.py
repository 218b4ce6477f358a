"""Dates and durations of every sort, and a way to read them as numbers that shares nothing with nicecf: in hours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Random = np.random.Generator

_EPOCH = dt.datetime(1970, 1, 1)
_BERLIN = ZoneInfo("Europe/Berlin")


def hours(value: Any) -> float:
    """A date, a time or a duration as a number of hours, since 1970 in UTC or as it lasts."""
    if isinstance(value, dt.timedelta):
        return value / dt.timedelta(hours=1)
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    since = value.replace(tzinfo=None) - _EPOCH - (value.utcoffset() or dt.timedelta(0))
    return float(since / dt.timedelta(hours=1))


def number_of(value: Any) -> float:
    """A value of a rule as a number: of dates, also as ISO text."""
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    return hours(value) if is_moment(value) else float(value)


def is_moment(value: Any) -> bool:
    """Whether it is a date, a time or a duration."""
    return isinstance(value, (dt.date, dt.timedelta)) and value is not pd.NaT


def are_moments(cells: Any) -> bool:
    """Whether a column has a dtype of dates or durations."""
    if isinstance(cells, pl.Series):
        return bool(cells.dtype.is_temporal())
    return getattr(cells.dtype, "kind", "") in ("m", "M") or str(cells.dtype).startswith("date")


def unseen(pool: list[Any]) -> list[Any]:
    """Values that are not in a pool: later and earlier ones."""
    return [max(pool) + dt.timedelta(days=3), min(pool) - dt.timedelta(days=2)]


def bounds(random: Random, pool: list[Any]) -> list[Any]:
    """Two bounds of a range, in order, as people write them."""
    ends = sorted(pool[at] for at in random.integers(0, len(pool), 2))
    if isinstance(ends[0], dt.timedelta) or random.random() < 0.5:
        return ends
    return [end.isoformat() for end in ends]


def _dates(random: Random) -> list[Any]:
    days = random.choice([0, 1, 30, 59, 60, 365, 3000, -9000], int(random.integers(1, 7)), replace=False)
    return [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in sorted(days)]


def _times(zone: Any = None) -> Callable[[Random], list[Any]]:
    def pool(random: Random) -> list[Any]:
        clock = random.choice([0, 0.5, 9, 23], int(random.integers(1, 3)), replace=False)
        return sorted(
            dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC if zone else None) + dt.timedelta(hours=float(hour))
            for day in _dates(random)
            for hour in clock
        )

    def in_zone(random: Random) -> list[Any]:
        return [value.astimezone(zone) for value in pool(random)]

    return in_zone if zone else pool


def _durations(random: Random) -> list[Any]:
    count = int(random.integers(1, 6))
    return [dt.timedelta(hours=float(one)) for one in sorted({*random.choice([0, 0.5, 6, 24, 30, -48, 2000], count)})]


def _typed(dtype: Any) -> Callable[[list[Any]], pd.Series]:
    def build(values: list[Any]) -> pd.Series:
        cells = [value if is_moment(value) else None for value in values]
        zone = getattr(dtype, "tz", None)
        if isinstance(dtype, pd.ArrowDtype):
            return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(cells, type=dtype.pyarrow_dtype)))
        if zone is not None:
            return pd.Series(pd.to_datetime(pd.Series(cells, dtype=object), utc=True)).astype(dtype)
        return pd.Series(np.array(cells, dtype=dtype))

    return build


def _objects(convert: Callable[[Any], Any], marker: Any) -> Callable[[list[Any]], pd.Series]:
    def build(values: list[Any]) -> pd.Series:
        cells = np.empty(len(values), dtype=object)
        cells[:] = [convert(value) if is_moment(value) else marker for value in values]
        return pd.Series(cells, dtype=object)

    return build


def pandas_families(family: Any) -> list[Any]:
    """The families of pandas columns; ``family`` makes one of them."""
    found = []
    for unit in ("s", "ms", "us", "ns"):
        other = "ns" if unit == "s" else "s"
        rows_as = (f"datetime64[{other}]", "object datetimes")
        found += [
            family(f"datetime64[{unit}]", False, _times(), _typed(f"datetime64[{unit}]"), True, rows_as=rows_as),
            family(
                f"timedelta64[{unit}]",
                False,
                _durations,
                _typed(f"timedelta64[{unit}]"),
                True,
                rows_as=(f"timedelta64[{other}]",),
            ),
        ]
    berlin = pd.DatetimeTZDtype("us", "Europe/Berlin")
    found += [
        family("datetime64[us, Europe/Berlin]", False, _times(_BERLIN), _typed(berlin), True),
        family("datetime64[ns, UTC]", False, _times(dt.UTC), _typed(pd.DatetimeTZDtype("ns", "UTC")), True),
        family("object dates", False, _dates, _objects(lambda value: value, None), True, rows_as=("date32[pyarrow]",)),
        family("object datetimes", False, _times(), _objects(lambda value: value, None), True),
        family("object datetimes, zone", False, _times(_BERLIN), _objects(lambda value: value, pd.NaT), True),
        family("object Timestamps", False, _times(), _objects(pd.Timestamp, pd.NaT), True),
        family("object timedeltas", False, _durations, _objects(lambda value: value, np.nan), True),
    ]
    for name, of_arrow, pool in (
        ("date32", pa.date32(), _dates),
        ("date64", pa.date64(), _dates),
        ("timestamp[ms]", pa.timestamp("ms"), _times()),
        ("timestamp[us, zone]", pa.timestamp("us", "Europe/Berlin"), _times(_BERLIN)),
        ("duration[s]", pa.duration("s"), _durations),
    ):
        found.append(family(f"{name}[pyarrow]", False, pool, _typed(pd.ArrowDtype(of_arrow)), True))
    return found


def polars_families(family: Any) -> list[Any]:
    """The families of polars columns."""

    def build(dtype: Any) -> Callable[[list[Any]], pl.Series]:
        return lambda values: pl.Series([value if is_moment(value) else None for value in values], dtype=dtype)

    return [
        family("pl.Date", False, _dates, build(pl.Date), True),
        *(
            family(f"pl.Datetime {unit}", False, _times(), build(pl.Datetime(unit)), True, rows_as=("pl.Datetime us",))
            for unit in ("ms", "us", "ns")
        ),
        family("pl.Datetime, zone", False, _times(_BERLIN), build(pl.Datetime("us", "Europe/Berlin")), True),
        family("pl.Duration", False, _durations, build(pl.Duration("us")), True),
    ]
