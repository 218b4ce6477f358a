"""Digests of content: the same for the same content, in every process and on every machine."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from nicecf.exceptions import FileError
from nicecf.support.files import existing, reason
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


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return a digest of the whole content of a file, which is read in pieces; FileError if it cannot be read."""
    try:
        with open(existing(path), "rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()
    except OSError as error:
        raise FileError(f"{os.fspath(path)} cannot be read: {reason(error)}.") from error


def object_digest(value: object) -> str | None:
    """Return a digest of an object by all that it holds and by the source of its classes and functions.

    None if that does not tell what it does: if it is itself a function, whose globals may be anything, if it cannot be
    pickled, or if the source of some of its code is not in a file.
    """
    # partial objects and bound methods are as little known as the functions in them.
    if callable(value) and not hasattr(value, "predict"):
        return None
    content = _ContentHasher()
    try:
        content.dump(value)
        sources = [Path(path).read_bytes() for path in sorted(content.sources)]
    except Exception:  # whatever an object raises that holds a lock, a socket, an open file, or code of a notebook
        return None
    return fingerprint([content.digest.digest(), *sources])


class _ContentHasher(pickle._Pickler):
    """Pickle an object into a digest that is the same whenever the same file was loaded.

    The pickles themselves are not: they say which strings are one object in memory, and have the bytes between the
    fields of structured arrays, such as the nodes of trees, which nobody ever set. ``sources``: the files with the
    source of all classes and functions.
    """

    def __init__(self) -> None:
        self.digest = hashlib.blake2b()
        self.sources: set[str] = set()
        super().__init__(SimpleNamespace(write=self.digest.update), protocol=4)

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
            obj = (type(obj).__name__, repr(obj.dtype), obj.shape, _digest_of_array(obj))
        elif isinstance(obj, (set, frozenset)):
            obj = (type(obj).__name__, sorted(obj, key=repr))
        elif isinstance(obj, (type, FunctionType)) and (path := _source_of(obj)) is not None:
            self.sources.add(path)
        super().save(obj, save_persistent_id)  # type: ignore[misc]

    def memoize(self, obj: Any) -> None:
        if not isinstance(obj, (str, bytes)):
            super().memoize(obj)  # type: ignore[misc]


def _digest_of_array(array: np.ndarray) -> str:
    """Return a digest of the values of an array, field by field."""
    if array.dtype.names is not None:
        return " ".join(_digest_of_array(array[name]) for name in array.dtype.names)
    return hashlib.blake2b(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()


def _source_of(code: Any) -> str | None:
    """Return the path of the source of a class or function; None where it is compiled, as in extension modules."""
    try:
        return inspect.getsourcefile(code)
    except TypeError:
        return None
