"""An explainer as bytes, for the workers of an engine: packed once, and opened once in each process.

Bytes, and not a path: a worker need not see the disk of the driver. On a worker, the explainer is a file for as long as
it takes to load it: it holds training rows, which should not stay on disks that nobody thinks of.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nicecf.engines.opened import is_file, kept_open, model_in, opened
from nicecf.exceptions import OptionError
from nicecf.explain.saving import FUNCTIONS
from nicecf.models import files as modelfiles
from nicecf.nice import NICE
from nicecf.support.files import contents, existing

_EXPLAINER = "explainer.nice"
# How an engine pickles functions: with those that are defined in a notebook.
Dump = Callable[[Any], bytes]


@dataclass(frozen=True, repr=False)
class PackedExplainer:
    """An explainer as it was saved, and what it was saved without: its model, and functions.

    ``model``: pickled, or the contents of its file, whose name is ``model_file`` then. ``digest`` tells them apart.
    """

    explainer: bytes
    model: bytes
    model_file: str | None
    functions: bytes
    digest: str

    def opened(self) -> NICE:
        """The explainer, ready to use; in one process, it is loaded once."""
        return kept_open(self.digest, self._load)

    def __len__(self) -> int:
        """Its size in bytes."""
        return len(self.explainer) + len(self.model) + len(self.functions)

    def _load(self) -> NICE:
        with tempfile.TemporaryDirectory(prefix="nicecf-") as folder:
            path = Path(folder, _EXPLAINER)
            path.write_bytes(self.explainer)
            if self.model_file is None:
                model = pickle.loads(self.model)
            else:
                place = Path(folder, self.model_file)
                place.write_bytes(self.model)
                model = model_in(place)
            return NICE.load(path, model=model, **pickle.loads(self.functions))


@dataclass(frozen=True, repr=False)
class PickledExplainer:
    """An explainer that was fitted to a sample, pickled with its model; ``digest`` tells them apart."""

    content: bytes
    digest: str

    @classmethod
    def of(cls, nice: NICE, dump: Dump) -> PickledExplainer:
        """Raises OptionError if it cannot be pickled."""
        content = dump_or_raise(nice, dump, "explainer")
        return cls(content, hashlib.sha256(content).hexdigest())

    def opened(self) -> NICE:
        """The explainer, ready to use."""
        return kept_open(self.digest, lambda: pickle.loads(self.content))


def packed(explainer: NICE | str | os.PathLike[str], model: Any, dump: Dump) -> tuple[NICE, PackedExplainer]:
    """The explainer itself, to check what is asked of it before a job starts, and as it is sent.

    ``model``: for the path of a saved explainer, its model; for a fitted one, None, or the path of a file of its model,
    which is shipped in place of the object. Raises OptionError if the model cannot be pickled.
    """
    is_fitted = isinstance(explainer, NICE)
    nice = opened(explainer, None if is_fitted and is_file(model) else model)
    held = _saved(nice) if is_fitted else contents(existing(explainer))
    name, shipped = _model(nice, model, dump)
    functions = dump_or_raise(functions_of(nice) if is_fitted else {}, dump, "functions of the explainer")
    digest = hashlib.sha256()
    for part in (held, shipped, functions, str(name).encode()):
        digest.update(hashlib.sha256(part).digest())
    return nice, PackedExplainer(held, shipped, name, functions, digest.hexdigest())


def _saved(nice: NICE) -> bytes:
    with tempfile.TemporaryDirectory(prefix="nicecf-") as folder:
        nice.save(Path(folder, _EXPLAINER))
        return Path(folder, _EXPLAINER).read_bytes()


def _model(nice: NICE, model: Any, dump: Dump) -> tuple[str | None, bytes]:
    """The name of the file of a model and its contents; or None, and the model pickled."""
    if is_file(model) and modelfiles.kind_of(model) not in ("python", "pickle"):
        return Path(os.fspath(model)).name, contents(model)
    return None, dump_or_raise(nice.model, dump, "model")


def functions_of(nice: NICE) -> dict[str, Any]:
    """Return what a saved explainer must be loaded with besides its model, by the names of the options."""
    given = nice.get_params(deep=False)
    functions = {
        name: given[name] for name in FUNCTIONS if callable(given[name]) or (name == "robust_to" and given[name])
    }
    rules = given["constraints"]
    derived = {} if rules is None else {name: how for name, how in rules.derived.items() if callable(how)}
    return {**functions, **({"derived": derived} if derived else {})}


def dump_or_raise(one: Any, dump: Dump, what: str) -> bytes:
    """Pickled for the workers; OptionError, with what is wrong in it, if that cannot be."""
    try:
        return dump(one)
    except Exception as error:  # whatever an object raises that holds a lock, a socket, an open file
        words = " ".join(str(error).split())
        raise OptionError(
            f"the {what} cannot be sent to other processes: pickling {type(one).__name__} raised "
            f"{type(error).__name__}: {words[:200]}. It must not hold open connections, files or locks: open these in "
            "the function that uses them, or save the model to a file (.skops, .onnx) and pass its path as model=."
        ) from error


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for the libraries below a model: an engine runs one task on each core."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield
