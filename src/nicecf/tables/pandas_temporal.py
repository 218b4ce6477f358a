"""Dates, times and durations of pandas: its own dtypes, Arrow's, and Python objects <-> numbers."""

from __future__ import annotations

from collections.abc import Hashable
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from nicecf.support.time_zones import zone_of
from nicecf.support.types import Floats
from nicecf.tables.temporal import (
    DAY,
    PER_UNIT,
    Temporal,
    TemporalKind,
    Whole,
    is_date_or_duration,
    numbers_of_units,
    read_objects,
    unit_of,
    whole_numbers,
    write_objects,
)

_OBJECTS = {"datetime", "date", "timedelta"}


def inferred_of(cells: pd.Series[Any]) -> str:
    """What kind of values a column holds, as pandas says; a column of which all are missing is empty, even of NaT."""
    inferred = str(pd.api.types.infer_dtype(cells, skipna=True))
    is_empty = cells.dtype == object and inferred in _OBJECTS and bool(cells.isna().all())
    return "empty" if is_empty else inferred


def is_temporal(cells: pd.Series[Any], inferred: str | None = None) -> bool:
    """Whether a column holds dates, times or durations that can be read. Of objects, ``inferred`` is what they are."""
    if cells.dtype == object:
        return inferred in _OBJECTS or (inferred == "mixed" and _are_all_temporal(cells))
    return _form(cells.dtype) is not None


def _are_all_temporal(cells: pd.Series[Any]) -> bool:
    """Whether objects of several types are all dates or durations: that is a mistake, and not a category."""
    return all(is_date_or_duration(cell) for cell in cells.dropna())


def _form(dtype: Any) -> tuple[TemporalKind, str, Any] | None:
    """Kind, unit and time zone of a dtype; None if it is not one of dates or durations."""
    if isinstance(dtype, pd.DatetimeTZDtype):
        return "datetime", dtype.unit, dtype.tz
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        return "datetime" if dtype.kind == "M" else "duration", np.datetime_data(dtype)[0], None
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow_form(dtype.pyarrow_dtype)
    return None


def _arrow_form(of_arrow: Any) -> tuple[TemporalKind, str, Any] | None:
    types = import_module("pyarrow").types
    if types.is_date(of_arrow):
        return "date", "D" if types.is_date32(of_arrow) else "ms", None
    if types.is_timestamp(of_arrow):
        return "datetime", of_arrow.unit, None if of_arrow.tz is None else zone_of(of_arrow.tz)
    return ("duration", of_arrow.unit, None) if types.is_duration(of_arrow) else None


def read(cells: pd.Series[Any], name: Hashable) -> tuple[Temporal, Floats] | None:
    """The column as numbers, and what it holds; None if it holds no dates or durations."""
    if not is_temporal(cells, inferred_of(cells) if cells.dtype == object else None):
        return None
    if cells.dtype == object:
        return read_objects(cells.to_numpy(dtype=object), name)
    kind, unit, tz = _form(cells.dtype) or ("datetime", "us", None)
    missing = cells.isna().to_numpy(dtype=bool)
    numbers = numbers_of_units(_held(cells), missing, unit, kind, name)
    smallest = DAY if kind == "date" else PER_UNIT[unit]
    return Temporal(kind, None if tz is None else str(tz), unit_of(numbers, smallest), None, tz), numbers


def _held(cells: pd.Series[Any]) -> Whole:
    """What the dtype holds, in its own units; anything where a cell is missing."""
    if isinstance(cells.dtype, pd.ArrowDtype):
        arrow: Any = cells.array.__arrow_array__()
        is_days = str(arrow.type).startswith("date32")
        whole = (arrow.cast("int32") if is_days else arrow).cast("int64").fill_null(0)
        held: Whole = whole.to_numpy().astype(np.int64)
        return held
    own: Any = cells.array
    return np.asarray(own.asi8, dtype=np.int64)


def write(values: Floats, temporal: Temporal, like: pd.Series[Any], missing: Any) -> Any:
    """Numbers as cells of the dtype of ``like``, or of one with smaller units where that cannot hold them."""
    if like.dtype == object:
        return write_objects(values, temporal, missing)
    whole, is_missing = whole_numbers(values)
    kind, unit, tz = _form(like.dtype) or (temporal.kind, "us", temporal.tz)
    if kind == "date" and (whole % DAY).any():
        kind = "datetime"
    if PER_UNIT[unit] > 1 and (whole % PER_UNIT[unit]).any():
        unit = "us"
    held = whole * 1000 if unit == "ns" else whole // PER_UNIT[unit]
    if isinstance(like.dtype, pd.ArrowDtype):
        return _of_arrow(held, is_missing, kind, unit, like.dtype.pyarrow_dtype)
    held[is_missing] = np.iinfo(np.int64).min
    if kind == "duration":
        return pd.Series(held.view(f"timedelta64[{unit}]")).array
    naive = pd.Series(held.view(f"datetime64[{unit}]"))
    return (naive if tz is None else naive.dt.tz_localize("UTC").dt.tz_convert(tz)).array


def _of_arrow(held: Whole, is_missing: Any, kind: TemporalKind, unit: str, like: Any) -> Any:
    pa: Any = import_module("pyarrow")
    if kind == "date":
        of_arrow = like
    else:
        zone = getattr(like, "tz", None)
        of_arrow = pa.duration(unit) if kind == "duration" else pa.timestamp(unit, zone)
    cells = pa.array(held, mask=is_missing)
    cells = cells.cast(pa.int32()) if of_arrow == pa.date32() else cells
    return pd.arrays.ArrowExtensionArray(cells.cast(of_arrow))
