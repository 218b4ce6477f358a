"""Optional packages: imported when they are needed, and not before, with an error that says how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, *, extra: str | None, needed_by: str, package: str | None = None) -> Any:
    """Import a module; raises ImportError with what to install if its package is missing.

    ``package``: the name it is installed by, where that is not the module's. ``extra``: the extra of nicecf that
    installs it, if there is one. A package that is there but broken raises its own error.

    >>> require("no_such_module", extra="more", needed_by="nicecf.More", package="no-such-package")
    Traceback (most recent call last):
        ...
    ImportError: nicecf.More needs no-such-package, which is not installed. Install it with: pip install 'nicecf[more]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name not in (module, top):
            raise
        install = package or top if extra is None else f"'nicecf[{extra}]'"
        raise ImportError(
            f"{needed_by} needs {package or top}, which is not installed. Install it with: pip install {install}",
            name=top,
        ) from error
