"""Models in files, one entry in ``FORMATS`` per format, and objects in Python modules."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Collection
from importlib import import_module
from typing import Any

from nicecf.exceptions import FileError, did_you_mean, listed
from nicecf.models.files import boosters, onnx, pickled
from nicecf.models.files.model_format import ModelFormat, Trust, said
from nicecf.support.files import existing

FORMATS: dict[str, ModelFormat] = {
    "onnx": ModelFormat((".onnx",), onnx.load),
    "skops": ModelFormat((".skops",), pickled.from_skops),
    "xgboost": ModelFormat((".json", ".ubj"), boosters.from_xgboost),
    "lightgbm": ModelFormat((".txt",), boosters.from_lightgbm),
    "pickle": ModelFormat((".pkl", ".pickle", ".joblib"), pickled.from_pickle),
}
_ENTRY_POINT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def kind_of(spec: str | os.PathLike[str]) -> str:
    """The name of a model's format, or "python" for ``module:object``; FileError if it is neither.

    >>> kind_of("model.skops"), kind_of("bank.models:credit")
    ('skops', 'python')
    """
    given = os.fspath(spec)
    by_ending = {ending: name for name, one in FORMATS.items() for ending in one.endings}
    kind = by_ending.get(os.path.splitext(given)[1].lower())
    if kind is not None:
        return kind
    if _ENTRY_POINT.fullmatch(given):
        return "python"
    raise FileError(
        f"{given!r} is not a supported model: use a file that ends in {', '.join(by_ending)}, or "
        "module:object for an object in a Python module."
    )


def load(spec: str | os.PathLike[str], *, trust_pickle: bool = False, trust: Collection[str] = ()) -> Any:
    """The model in a file, or an object in a Python module, given as ``module:object``.

    A pickle runs code when it is loaded, so it needs ``trust_pickle=True``. A skops file does not; types in it that
    skops does not consider safe must be named in ``trust``. Modules are also looked for in the current folder.
    """
    given = os.fspath(spec)
    kind = kind_of(given)
    if kind == "python":
        return _imported(given)
    return FORMATS[kind].load(existing(given), Trust(trust_pickle, trust))


def checksum(spec: str | os.PathLike[str]) -> str | None:
    """The sha256 of a model's file; None for an object in a module."""
    if kind_of(spec) == "python":
        return None
    with open(existing(spec), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _imported(given: str) -> Any:
    """The object in a module; an exception in the module's code becomes a message in one line."""
    module_name, _, dotted = given.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise FileError(f"{given}: there is no module {error.name!r} in the current folder or installed.") from None
        raise FileError(f"{given}: importing it raised {said(error)}.") from error
    except (Exception, SystemExit) as error:
        raise FileError(f"{given}: importing it raised {said(error)}.") from error
    for name in dotted.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            names = [one for one in dir(found) if not one.startswith("_")]
            raise FileError(
                f"{given}: there is no {name!r} in {module_name}.{did_you_mean(name, names)} It has "
                f"{listed(names, limit=8)}."
            ) from None
    return found
