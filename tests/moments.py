"""Columns of dates and durations, of every dtype that holds them; and a loan book with dates."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

BERLIN = ZoneInfo("Europe/Berlin")
DAYS = [date(2024, 3, 31), date(2023, 11, 17), None, date(2020, 2, 29)]
TIMES = [None if day is None else datetime(day.year, day.month, day.day, 14, 5) for day in DAYS]
AWARE = [None if time is None else time.replace(tzinfo=BERLIN) for time in TIMES]
WAITS = [timedelta(days=12), timedelta(hours=30), None, timedelta(minutes=-5)]


def objects(cells, missing=None):
    filled = np.empty(len(cells), dtype=object)
    filled[:] = [missing if cell is None else cell for cell in cells]
    return pd.Series(filled, dtype=object)


def stamps(cells):
    return objects([None if cell is None else pd.Timestamp(cell) for cell in cells], pd.NaT)


PANDAS = {
    **{f"datetime64[{unit}]": pd.Series(TIMES, dtype=f"datetime64[{unit}]") for unit in ("s", "ms", "us", "ns")},
    **{f"timedelta64[{unit}]": pd.Series(WAITS, dtype=f"timedelta64[{unit}]") for unit in ("s", "ms", "us", "ns")},
    "zone": pd.Series(AWARE, dtype="datetime64[us, Europe/Berlin]"),
    "zone, ns": pd.Series(AWARE, dtype="datetime64[ns, UTC]"),
    "fixed offset": pd.Series(TIMES, dtype="datetime64[us]").dt.tz_localize("UTC+01:00"),
    "object dates": objects(DAYS),
    "object datetimes": objects(TIMES, np.nan),
    "object datetimes, zone": objects(AWARE),
    "object datetimes, UTC": objects([None if one is None else one.astimezone(UTC) for one in AWARE]),
    "object Timestamps": stamps(AWARE),
    "object timedeltas": objects(WAITS),
    "object Timedeltas": objects([None if one is None else pd.Timedelta(one) for one in WAITS], pd.NaT),
    "date32": pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())),
    "date64": pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date64())),
    "timestamp": pd.Series(TIMES, dtype=pd.ArrowDtype(pa.timestamp("s"))),
    "timestamp, zone": pd.Series(AWARE, dtype=pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin"))),
    "duration": pd.Series(WAITS, dtype=pd.ArrowDtype(pa.duration("ms"))),
}
POLARS = {
    "Date": pl.Series(DAYS, dtype=pl.Date),
    **{f"Datetime {unit}": pl.Series(TIMES, dtype=pl.Datetime(unit)) for unit in ("ms", "us", "ns")},
    "Datetime, zone": pl.Series(AWARE, dtype=pl.Datetime("us", "Europe/Berlin")),
    **{f"Duration {unit}": pl.Series(WAITS, dtype=pl.Duration(unit)) for unit in ("ms", "us", "ns")},
}


def tables():
    """Each column in a table of its own, by what it is called."""
    named = {f"pandas {name}": pd.DataFrame({"when": column}) for name, column in PANDAS.items()}
    return named | {f"polars {name}": pl.DataFrame({"when": column}) for name, column in POLARS.items()}


TODAY = pd.Timestamp("2024-06-01")


def loans(n_rows=200, seed=0):
    """Loans with the day on which they were opened, that of the last late payment, and how long the client waited."""
    random = np.random.default_rng(seed)
    opened = pd.Timestamp("2016-01-01") + pd.to_timedelta(random.integers(0, 2500, n_rows), "D")
    late = pd.Series(opened + pd.to_timedelta(random.integers(0, 500, n_rows), "D"))
    X = pd.DataFrame(
        {
            "opened": opened,
            "late": late.where(random.random(n_rows) > 0.2),
            "waited": pd.to_timedelta(random.integers(1, 40, n_rows) * 6, "h"),
            "income": random.integers(15, 90, n_rows),
        }
    )
    return X, approve(X).argmax(axis=1)


def approve(X):
    """Two classes: older loans, an older last late payment and a higher income are better, a long wait is worse."""
    X = pd.DataFrame(X)
    age, since = ((TODAY - pd.to_datetime(X[name])) / pd.Timedelta(days=1000) for name in ("opened", "late"))
    points = age + since.fillna(3.0) + X["income"] / 30 - X["waited"] / pd.Timedelta(days=5) - 4
    p = 1 / (1 + np.exp(-points.to_numpy(dtype=float)))
    return np.column_stack([1 - p, p])
