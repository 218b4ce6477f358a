"""Digests of content: the same for the same content, in every process and on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

import numpy as np

from nicecf.support.types import Json


def fingerprint(parts: Iterable[object]) -> str:
    """A digest of arrays (their dtypes, shapes and bytes) and of anything else by its repr."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(repr(part).encode())
    return f"sha256:{digest.hexdigest()}"


def json_digest(value: Json) -> str:
    """A digest of what JSON holds, whatever the order of its keys and the way its numbers are written.

    >>> json_digest({"a": 40, "b": [1.5]}) == json_digest({"b": [1.5], "a": 40.0})
    True
    """
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _canonical(value: Json) -> Json:
    """A value in which 40.0 is 40, as some tools write it."""
    if isinstance(value, Mapping):
        return {key: _canonical(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
