"""Explainers that are open in this process: each is loaded once, and shared by all threads."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from nicecf.exceptions import FileError, OptionError
from nicecf.models import files as modelfiles
from nicecf.nice import NICE
from nicecf.support.files import checked, existing, reason

# A worker process explains with one explainer, or with the versions of it that follow each other.
_MOST_OPEN = 4
_lock = threading.Lock()
_open: OrderedDict[Hashable, tuple[NICE, Any]] = OrderedDict()


def kept_open(key: Hashable, load: Callable[[], NICE], owner: Any = None) -> NICE:
    """The explainer with that key, loaded if it is not open yet; other threads wait for it meanwhile.

    ``owner`` is kept as long as the explainer: an object whose id is part of the key.
    """
    with _lock:
        if key not in _open:
            _open[key] = load(), owner
            while len(_open) > _MOST_OPEN:
                _open.popitem(last=False)
        _open.move_to_end(key)
        return _open[key][0]


def opened(explainer: NICE | str | os.PathLike[str], model: Any = None) -> NICE:
    """A fitted explainer: itself, or the one in a file, with its ``model``, an object or the path of a file.

    A file is loaded again when it has changed: by its path, its inode, its size and the times that the system keeps.
    """
    if isinstance(explainer, NICE):
        if model is not None:
            raise OptionError("model is for an explainer from a file; a fitted NICE has its own. Leave it out.")
        explainer._check_fitted()
        return explainer
    if not isinstance(explainer, (str, os.PathLike)):
        raise OptionError(
            f"explainer must be a fitted NICE, or the path of a file from nice.save(path), got "
            f"{type(explainer).__name__}."
        )
    path = existing(explainer)
    if model is None:
        raise OptionError(f"{path} has no model in it; pass the one that it was saved with: model=.")
    if not is_file(model):
        return kept_open((_state(path), id(model)), lambda: NICE.load(path, model=model), owner=model)
    key = _state(path), _state(model) if modelfiles.kind_of(model) != "python" else os.fspath(model)
    return kept_open(key, lambda: NICE.load(path, model=model_in(model)))


def is_file(model: Any) -> bool:
    """Whether a model is given by the path of its file, or as ``module:object``."""
    return isinstance(model, (str, os.PathLike))


def model_in(path: str | os.PathLike[str]) -> Any:
    """The model in a file; OptionError for a pickle, which runs code: whoever trusts it loads it."""
    if modelfiles.kind_of(path) == "pickle":
        raise OptionError(
            f"{os.fspath(path)} is a pickle, and loading one runs any code in it. If you trust its source, pass "
            f"model=joblib.load({os.fspath(path)!r}); to be safe, save the model as .skops or .onnx."
        )
    try:
        return modelfiles.load(path)
    except FileError as error:
        if "--trust" not in str(error):
            raise
        raise OptionError(
            f"{str(error).partition(' If you trust')[0]} If you trust its source, load it and pass the model itself: "
            "model=skops.io.load(path, trusted=[...])."
        ) from error


def _state(path: str | os.PathLike[str]) -> tuple[str, int, int, int, int]:
    """Return what changes when a file does; the time of writing alone can be set back, as copies of files do."""
    name = existing(checked(path))
    try:
        said = os.stat(name)
    except OSError as error:
        raise FileError(f"{name} cannot be read: {reason(error)}.") from error
    return os.path.realpath(name), said.st_ino, said.st_size, said.st_mtime_ns, said.st_ctime_ns
