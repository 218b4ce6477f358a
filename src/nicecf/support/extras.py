"""Optional packages: imported when they are needed, and not before, with an error that says how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, *, extra: str | None, needed_by: str, package: str | None = None) -> Any:
    """Import a module; raises ImportError with what to install, from an index or in a clone, if its package is missing.

    ``package``: the name it is installed by, where that is not the module's. ``extra``: the extra of nicecf that
    installs it, if there is one. A package that is there but broken raises its own error.

    >>> require("no_such_module", extra=None, needed_by="nicecf.More", package="no-such-package")
    Traceback (most recent call last):
        ...
    ImportError: nicecf.More needs no-such-package, which is not installed. Install it with: pip install no-such-package
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name not in (module, top):
            raise
        raise ImportError(
            f"{needed_by} needs {package or top}, which is not installed. Install it with: "
            f"{'pip install ' + (package or top) if extra is None else installing(extra)}",
            name=top,
        ) from error


def installing(extra: str) -> str:
    """How to install an extra: by its name from an index, which knows nothing of a clone, or there.

    >>> installing("plots")
    "pip install 'nicecf[plots]' (in a clone: pip install -e '.[plots]')"
    """
    return f"pip install 'nicecf[{extra}]' (in a clone: pip install -e '.[{extra}]')"
