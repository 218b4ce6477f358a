"""Models in files: ONNX, skops, pickle and joblib if trusted, and objects of Python modules."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import warnings
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal, TypeAlias

from nicecf._extras import require
from nicecf.exceptions import FileError, did_you_mean, listed
from nicecf.files import existing
from nicecf.modelfiles import onnx

Kind: TypeAlias = Literal["onnx", "skops", "pickle", "python"]

_BY_ENDING: dict[str, Kind] = {
    ".onnx": "onnx",
    ".skops": "skops",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "pickle",
}
_ENTRY_POINT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")

# What skops asks about although it only holds values: the dtype of an empty array, and a choice of columns by dtype.
_HARMLESS = {"numpy.dtype", "sklearn.compose._column_transformer.make_column_selector"}


def kind_of(spec: str | os.PathLike[str]) -> Kind:
    """What a model is given by; FileError if it is no kind that is known.

    >>> kind_of("model.skops"), kind_of("bank.models:credit")
    ('skops', 'python')
    """
    given = os.fspath(spec)
    kind = _BY_ENDING.get(os.path.splitext(given)[1].lower())
    if kind is not None:
        return kind
    if _ENTRY_POINT.fullmatch(given):
        return "python"
    raise FileError(
        f"{given!r} is no model that can be used: give a file that ends in {', '.join(_BY_ENDING)}, or "
        "module:object for one that Python code makes."
    )


def load(spec: str | os.PathLike[str], *, trust_pickle: bool = False, trust: Collection[str] = ()) -> Any:
    """The model in a file, or an object of a Python module, given as ``module:object``.

    A pickle runs code when it is loaded, so it needs ``trust_pickle=True``. A skops file does not; types in it that
    skops does not know to be safe must be named in ``trust``. Modules are looked for in the current folder too.
    """
    given = os.fspath(spec)
    kind = kind_of(given)
    if kind == "python":
        return _imported(given)
    path = existing(given)
    if kind == "onnx":
        return onnx.load(path)
    with _versions_told(path):
        return _unpickled(path, trust_pickle=trust_pickle) if kind == "pickle" else _from_skops(path, trust)


def checksum(spec: str | os.PathLike[str]) -> str | None:
    """The sha256 of a model's file; None for an object of a module."""
    if kind_of(spec) == "python":
        return None
    with open(existing(spec), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _from_skops(path: str, trust: Collection[str]) -> Any:
    skops = require("skops.io", extra="skops", needed_by=f"loading {path}")
    if not zipfile.is_zipfile(path):
        raise FileError(f"{path} is no skops file, or is damaged. Save the model again, by skops.io.dump(model, path).")
    try:
        unknown = skops.get_untrusted_types(file=path)
        refused = [name for name in unknown if name not in {*trust, *_HARMLESS}]
        if not refused:
            return skops.load(path, trusted=unknown)
    except Exception as error:
        raise FileError(
            f"{path} cannot be loaded ({_told(error)}). Save the model again, by skops.io.dump(model, path)."
        ) from error
    raise FileError(
        f"{path} holds types that are not known to be safe: {', '.join(refused)}. If you trust where it comes from, "
        f"add --trust {','.join(refused)} (trust=[...] in Python)."
    )


def _unpickled(path: str, *, trust_pickle: bool) -> Any:
    if not trust_pickle:
        raise FileError(
            f"{path} is a pickle, and loading one runs whatever code is in it. If you trust where it comes from, add "
            "--trust-pickle (trust_pickle=True in Python); to be safe, save the model as .skops or .onnx."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:
        raise FileError(
            f"{path} cannot be loaded ({_told(error)}). Is it complete, and are the packages installed that it was "
            "made with?"
        ) from error


def _imported(given: str) -> Any:
    """The object of a module; whatever the module's code raises is told in one line."""
    module_name, _, dotted = given.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise FileError(
                f"{given}: there is no module {error.name!r} in the current folder, nor is one installed."
            ) from None
        raise FileError(f"{given}: importing it raised {_told(error)}.") from error
    except (Exception, SystemExit) as error:
        raise FileError(f"{given}: importing it raised {_told(error)}.") from error
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


@contextmanager
def _versions_told(path: str) -> Iterator[None]:
    """One warning in place of one for each part of a model that another version of scikit-learn saved."""
    from sklearn.exceptions import InconsistentVersionWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.simplefilter("always", InconsistentVersionWarning)
        yield
    told = False
    for one in caught:
        if not issubclass(one.category, InconsistentVersionWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        elif not told:
            told = True
            warning: Any = one.message
            warnings.warn(
                f"{path} was saved with scikit-learn {warning.original_sklearn_version}, but "
                f"{warning.current_sklearn_version} is installed: it may answer otherwise, or fail. Use the same "
                "version, or train the model again.",
                stacklevel=5,
            )


def _told(error: BaseException) -> str:
    """What was raised, in part of a line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words if len(words) <= 200 else words[:200] + ' ...'}".removesuffix(": ")
