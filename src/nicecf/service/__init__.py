"""Explainers behind HTTP: requests that arrive together are explained together, in the form of KServe's V1 protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nicecf.support.extras import require

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from nicecf.nice import NICE
    from nicecf.service.limits import Limits


def asgi_app(
    explainers: Mapping[str, NICE], *, keys: str | os.PathLike[str] | None = None, limits: Limits | None = None
) -> ASGIApp:
    """Return fitted explainers as an application to mount in your own, such as one of FastAPI or Starlette.

    It has all routes of ``nicecf serve``, the page included, under the path that it is mounted at. Who may ask is up to
    the application around it: that a request names this machine is not checked, unlike by ``nicecf serve``.

    Parameters
    ----------
    explainers
        ``{name: a fitted NICE}``.
    keys
        A file of API keys, from ``nicecf serve --keys FILE --new-key NAME``: with it, each request needs one.
    limits
        The limits of requests and of the queue, a :class:`nicecf.service.limits.Limits`.
    """
    for module in ("msgspec", "prometheus_client", "starlette"):
        require(module, extra="serve", needed_by="nicecf.service.asgi_app", package=module.replace("_", "-"))
    from nicecf.service.explainers import Service, Source
    from nicecf.service.mounted import Mounted

    sources = {name: Source(lambda nice=nice: nice) for name, nice in explainers.items()}  # type: ignore[misc]  # mypy does not infer lambdas with defaults
    return Mounted(Service(sources, limits=limits, keys_file=None if keys is None else os.fspath(keys)))
