"""A format of model files: the endings of their names, and how to load a model."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Trust:
    """What the user trusts: pickles, which run any code in them, and types in other files."""

    pickles: bool = False
    types: Collection[str] = ()


@dataclass(frozen=True)
class ModelFormat:
    """A format of model files, whose names have one of the ``endings``.

    ``load``: the path of a file, and what is trusted -> an object with ``predict_proba`` and, if the file names them,
    ``classes_``, or a booster. FileError if it cannot be loaded. Without the user's trust, it must not run any code in
    the file.
    """

    endings: tuple[str, ...]
    load: Callable[[str, Trust], Any]


def said(error: BaseException) -> str:
    """An error as part of a line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words if len(words) <= 200 else words[:200] + ' ...'}".removesuffix(": ")
