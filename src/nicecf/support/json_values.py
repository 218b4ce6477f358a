"""Values of tables and options as JSON, each read back as it was: what JSON cannot express is written with its type.

Records and saved explainers come from elsewhere: what is read is only what is written here, within bounds.
"""

from __future__ import annotations

import datetime as dt
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from nicecf.support.time_zones import zone_of

# Lists in lists, and so on.
_DEEPEST = 50
# The digits of a decimal, and the zeros that its exponent stands for.
_MOST_DIGITS = 10_000
_DECIMAL = re.compile(r"-?(\d+(\.\d*)?(E[+-]\d{1,6})?|NaN\d*|Infinity)", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?([+-]\d\d:\d\d(:\d\d)?)?", re.ASCII)
_NUMPY_NUMBERS = {
    np.dtype(kind).str[1:]: kind
    for kind in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64),
    )
}
_NUMPY_DTYPE = re.compile(r"[<>|=]([biuf]\d|[US]\d+)", re.ASCII)


class NotHeld(TypeError):  # noqa: N818  # whoever asked says what cannot be written, and what to do
    """A value that cannot be written; the message is the name of its type."""


def to_json(value: Any) -> Any:
    """A value of Python, numpy or pandas as what ``json.dumps(allow_nan=False)`` takes; NotHeld if there is no way.

    >>> to_json([1, "own", None, float("inf"), (1, 2), np.int8(3), {"a": 0.5}])
    ... # doctest: +NORMALIZE_WHITESPACE
    [1, 'own', None, {'type': 'float', 'value': 'inf'}, {'type': 'tuple', 'value': [1, 2]},
     {'type': 'numpy', 'value': ['|i1', 3]}, {'a': 0.5}]
    """
    return _written(value, 0)


def from_json(value: Any) -> Any:
    """What ``to_json`` was given; ValueError if it cannot have made this.

    >>> from_json({"type": "decimal", "value": "0.10"})
    Decimal('0.10')
    """
    return _read(value, 0)


def _written(value: Any, depth: int) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and isfinite(value)):
        return value
    if depth > _DEEPEST:
        raise NotHeld(f"{kind.__name__} nested too deeply")
    if kind is list:
        return [_written(one, depth + 1) for one in value]
    if isinstance(value, Mapping):
        pairs = [[_written(key, depth + 1), _written(one, depth + 1)] for key, one in value.items()]
        is_plain = all(type(key) is str for key in value) and "type" not in value
        return dict(pairs) if is_plain else _typed("dict", pairs)
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        item = value.item()
        if isinstance(item, np.generic):  # such as a long double, which Python has no number for
            raise NotHeld(kind.__name__)
        return _typed("numpy", [value.dtype.str, _written(item, depth + 1)])
    for name, (of, write, _) in _TYPES.items():
        if kind is of:
            return _typed(name, write(value, depth + 1))
    raise NotHeld(kind.__name__)


def _read(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, list):
        return [_read(one, depth + 1) for one in value]
    if not (isinstance(value, dict) and all(isinstance(key, str) for key in value)):
        raise ValueError(f"a value of the type {type(value).__name__} is never written")
    if "type" not in value:
        return {key: _read(one, depth + 1) for key, one in value.items()}
    if set(value) != {"type", "value"}:
        raise ValueError("it must hold a type and its value, and nothing else")
    name = value["type"]
    if name == "dict":
        return _dict(value["value"], depth)
    if name == "numpy":
        return _numpy(value["value"], depth)
    if not isinstance(name, str) or name not in _TYPES:
        raise ValueError(f"the type {name!r} is never written")
    try:
        return _TYPES[name][2](value["value"], depth)
    except (TypeError, ArithmeticError) as error:
        raise ValueError(f"its {name} is invalid") from error


def _typed(name: str, value: Any) -> dict[str, Any]:
    return {"type": name, "value": value}


def _listed(held: Any, length: int | None = None) -> list[Any]:
    if not isinstance(held, list) or (length is not None and len(held) != length):
        raise ValueError("a list of another length is expected" if isinstance(held, list) else "a list is written")
    return held


def _dict(held: Any, depth: int) -> dict[Any, Any]:
    pairs = [[_read(one, depth + 1) for one in _listed(pair, 2)] for pair in _listed(held)]
    try:
        made = {key: one for key, one in pairs}  # noqa: C416 - lists of two
    except TypeError as error:
        raise ValueError("a key is a list or a dict") from error
    if len(made) < len(pairs):
        raise ValueError("a key is there twice")
    return made


def _numpy(held: Any, depth: int) -> Any:
    dtype, value = _listed(held, 2)
    match = _NUMPY_DTYPE.fullmatch(dtype) if isinstance(dtype, str) else None
    if match is None:
        raise ValueError(f"a numpy value of the dtype {str(dtype)[:40]!r} is never written")
    code, value = match[1], _read(value, depth + 1)
    if code[0] in "US":
        if type(value) is not (str if code[0] == "U" else bytes):
            raise ValueError(f"its numpy text is of the type {type(value).__name__}")
        return np.str_(value) if code[0] == "U" else np.bytes_(value)
    kind = _NUMPY_NUMBERS.get(code)
    allowed = {"b": (bool,), "i": (int,), "u": (int,), "f": (float, int)}[code[0]]
    if kind is None or type(value) not in allowed:
        raise ValueError(f"its numpy number of the dtype {dtype!r} is of the type {type(value).__name__}")
    if code[0] in "iu" and not np.iinfo(code).min <= value <= np.iinfo(code).max:
        raise ValueError(f"its numpy number of the dtype {dtype!r} is too large")
    with np.errstate(over="ignore"):
        made: Any = kind(value)
    if made.item() != value and value == value:
        raise ValueError(f"its numpy number is not of dtype {dtype!r}")
    return made


def _float(held: Any, depth: int) -> float:
    if held not in ("inf", "-inf", "nan"):  # all others are numbers of JSON
        raise ValueError("its float is a number of JSON, or none")
    return float(held)


def _bytes(held: Any, depth: int) -> bytes:
    return b64decode(held.encode("ascii") if isinstance(held, str) else held, validate=True)


def _decimal_text(value: Decimal, depth: int) -> str:
    if not _is_bounded(value):
        raise NotHeld("Decimal")
    return str(value)


def _decimal(held: Any, depth: int) -> Decimal:
    if not isinstance(held, str) or len(held) > 2 * _MOST_DIGITS or not _DECIMAL.fullmatch(held):
        raise ValueError("its decimal is invalid or too long")
    value = Decimal(held)
    if not _is_bounded(value):
        raise ValueError("its decimal is too large, or too long")
    return value


def _is_bounded(value: Decimal) -> bool:
    if not value.is_finite():
        return not value.is_snan()
    return len(value.as_tuple().digits) <= _MOST_DIGITS and abs(value.adjusted()) <= _MOST_DIGITS


def _interval(held: Any, depth: int) -> pd.Interval[Any]:
    left, right, closed = _listed(held, 3)
    return pd.Interval(_read(left, depth + 1), _read(right, depth + 1), closed)


def _written_datetime(value: dt.datetime, depth: int) -> list[str | None]:
    if value.tzinfo is None:
        return [value.isoformat(), None]
    zone = str(value.tzinfo)
    try:
        is_known = str(zone_of(zone)) == zone
    except ValueError:
        is_known = False
    if not is_known:
        raise NotHeld(f"datetime in the time zone {zone}")
    return [value.isoformat(), zone]


def _datetime(held: Any, depth: int) -> dt.datetime:
    text, zone = _listed(held, 2)
    when = dt.datetime.fromisoformat(text)
    if (when.tzinfo is None) != (zone is None):
        raise ValueError("its time has no zone, or no offset")
    return when if zone is None else when.astimezone(zone_of(zone))


def _timestamp(held: Any, depth: int) -> pd.Timestamp:
    text, zone, unit = _listed(held, 3)
    if not isinstance(text, str) or not _TIMESTAMP.fullmatch(text):
        raise ValueError("its time is not as it is written")
    when = pd.Timestamp(text).as_unit(_unit(unit))
    if (when.tzinfo is None) != (zone is None):
        raise ValueError("its time has no zone, or no offset")
    return when if zone is None else when.tz_convert(zone_of(zone))


def _written_timestamp(value: pd.Timestamp, depth: int) -> list[Any]:
    zone = None if value.tzinfo is None else _written_datetime(value, depth)[1]
    return [value.isoformat(), zone, value.unit]


def _timedelta(held: Any, depth: int) -> dt.timedelta:
    if type(held) is not int:
        raise ValueError("its duration is not a whole number of microseconds")
    return dt.timedelta(microseconds=held)


def _pandas_timedelta(held: Any, depth: int) -> pd.Timedelta:
    count, unit = _listed(held, 2)
    if type(count) is not int or not -(2**63) < count < 2**63:
        raise ValueError("its duration is not a whole number")
    return pd.Timedelta(np.timedelta64(count, _unit(unit)))


def _unit(held: Any) -> Any:
    if held not in ("s", "ms", "us", "ns"):
        raise ValueError("its unit of time is never written")
    return held


def _nothing(value: Any) -> Callable[[Any, int], Any]:
    def read(held: Any, depth: int) -> Any:
        if held is not None:
            raise ValueError("a missing value holds something")
        return value

    return read


# For each type: how it is written, and how it is read.
_TYPES: dict[str, tuple[type, Callable[[Any, int], Any], Callable[[Any, int], Any]]] = {
    "float": (float, lambda value, depth: str(value), _float),
    "tuple": (
        tuple,
        lambda value, depth: [_written(one, depth) for one in value],
        lambda held, depth: tuple(_read(one, depth + 1) for one in _listed(held)),
    ),
    "bytes": (bytes, lambda value, depth: b64encode(value).decode(), _bytes),
    "decimal": (Decimal, _decimal_text, _decimal),
    "interval": (
        pd.Interval,
        lambda value, depth: [_written(value.left, depth), _written(value.right, depth), value.closed],
        _interval,
    ),
    "date": (dt.date, lambda value, depth: value.isoformat(), lambda held, depth: dt.date.fromisoformat(held)),
    "datetime": (dt.datetime, _written_datetime, _datetime),
    "duration": (dt.timedelta, lambda value, depth: value // dt.timedelta(microseconds=1), _timedelta),
    "timestamp": (pd.Timestamp, _written_timestamp, _timestamp),
    "timedelta": (
        pd.Timedelta,
        lambda value, depth: [int(value.to_numpy().astype(np.int64)), value.unit],
        _pandas_timedelta,
    ),
    "NA": (type(pd.NA), lambda value, depth: None, _nothing(pd.NA)),
    "NaT": (type(pd.NaT), lambda value, depth: None, _nothing(pd.NaT)),
}
