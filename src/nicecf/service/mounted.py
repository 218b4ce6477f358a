"""The service inside of another ASGI application, which decides who may ask."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Receive, Scope, Send

from nicecf.service.app import app_of
from nicecf.service.explainers import Service


class Mounted:
    """A service that starts with its first request: applications do not run the lifespan of what is mounted in them.

    If it is served by itself, its own lifespan starts and stops it.
    """

    def __init__(self, service: Service) -> None:
        self._app: ASGIApp = app_of(service, is_mounted=True)
        self._service = service
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        if scope["type"] == "lifespan":
            self._loop, self._starting = loop, None
        elif self._loop is not loop:
            self._loop, self._starting = loop, loop.create_task(self._start())
        if self._starting is not None:
            await asyncio.shield(self._starting)  # a client that leaves must not stop it for the others
        await self._app(scope, receive, send)

    async def _start(self) -> None:
        if self._service.mergers:  # of an event loop that has ended, as clients of tests have one for each request
            with suppress(RuntimeError):
                await self._service.stop()
        await self._service.start()
