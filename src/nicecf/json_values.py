"""Values of tables and options as JSON, each coming back as what it was: what JSON has no word for gets a type."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd


class NotHeld(TypeError):  # noqa: N818  # whoever asked says what cannot be written, and what to do
    """A value that cannot be written; the message is the name of its type."""


def to_json(value: Any) -> Any:
    """A value of Python, numpy or pandas as what ``json.dumps(allow_nan=False)`` takes; NotHeld if there is no way.

    >>> to_json([1, "own", None, float("inf"), (1, 2), np.int8(3), {"a": 0.5}])
    ... # doctest: +NORMALIZE_WHITESPACE
    [1, 'own', None, {'type': 'float', 'value': 'inf'}, {'type': 'tuple', 'value': [1, 2]},
     {'type': 'numpy', 'value': ['|i1', 3]}, {'a': 0.5}]
    """
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and isfinite(value)):
        return value
    if kind is list:
        return [to_json(one) for one in value]
    if isinstance(value, Mapping):
        pairs = [[to_json(key), to_json(one)] for key, one in value.items()]
        is_plain = all(type(key) is str for key in value) and "type" not in value
        return dict(pairs) if is_plain else _typed("dict", pairs)
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        return _typed("numpy", [value.dtype.str, to_json(value.item())])
    for name, (of, write, _) in _TYPES.items():
        if kind is of:
            return _typed(name, write(value))
    raise NotHeld(kind.__name__)


def from_json(value: Any) -> Any:
    """What ``to_json`` was given; ValueError, KeyError or TypeError if it cannot have made this.

    >>> from_json({"type": "decimal", "value": "0.10"})
    Decimal('0.10')
    """
    if isinstance(value, list):
        return [from_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "type" not in value:
        return {key: from_json(one) for key, one in value.items()}
    name, held = value["type"], value["value"]
    if name == "dict":
        return {from_json(key): from_json(one) for key, one in held}
    if name == "numpy":
        return np.dtype(held[0]).type(from_json(held[1]))
    return _TYPES[name][2](held)


def _typed(name: str, value: Any) -> dict[str, Any]:
    return {"type": name, "value": value}


def _interval(held: list[Any]) -> pd.Interval[Any]:
    return pd.Interval(from_json(held[0]), from_json(held[1]), held[2])


# For each type: how it is written, and how it is read.
_TYPES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (float, str, float),
    "tuple": (tuple, lambda value: [to_json(one) for one in value], lambda held: tuple(map(from_json, held))),
    "bytes": (bytes, lambda value: b64encode(value).decode(), b64decode),
    "decimal": (Decimal, str, Decimal),
    "interval": (pd.Interval, lambda value: [to_json(value.left), to_json(value.right), value.closed], _interval),
    "NA": (type(pd.NA), lambda value: None, lambda held: pd.NA),
    "NaT": (type(pd.NaT), lambda value: None, lambda held: pd.NaT),
}
