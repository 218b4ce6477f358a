"""Bound the connections of a server: how many are open, and how long each may take to send a request or read an answer.

A connection without a request gives way to a new one. Where all have one, a few more are let in for health checks
alone, so that whoever watches the service can tell a busy one from a dead one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from time import monotonic
from typing import Any

from h11 import DONE
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nicecf.service.limits import Limits

log = logging.getLogger("nicecf.service")

HEALTH = ("/healthz", "/readyz")
# Connections beyond the limit, for health checks.
RESERVE = 32
# Connections that wait to be accepted, and that are accepted at once: with more, the limit would be passed by far.
BACKLOG = 64
# Seconds for a client to stop sending a body that nobody reads: closed at once, it might not see the answer.
_LINGER = 2.0
# Seconds for the client to read an answer.
_READING = 30.0
_TOO_MANY = "there were too many"
# Seconds between two lines of the log about the same thing, and until the first one, which counts what comes at once.
_QUIET, _GATHERING = 60.0, 0.5


class Connections:
    """The open connections of one server; makes the protocol of each, as uvicorn asks for it."""

    def __init__(self, limits: Limits) -> None:
        self.header_seconds = limits.header_seconds
        self.request_seconds = limits.header_seconds + 2 * limits.seconds + limits.patience + _READING
        self._most = limits.connections
        self._open: set[Connection] = set()
        # Of both, the one that has waited longest comes first.
        self._idle: dict[Connection, None] = {}
        self._spare: dict[Connection, None] = {}  # beyond the limit, for health checks
        self._closed: Counter[str] = Counter()
        self._line_to_come: asyncio.TimerHandle | None = None
        self._last_line = -_QUIET

    def __call__(self, **options: Any) -> Connection:
        """Return the protocol of a new connection."""
        return Connection(self, **options)

    def add(self, connection: Connection) -> None:
        """Take in a connection; where there is no room, close one that has no request."""
        if len(self._open) >= self._most and self._idle:
            self.close(next(iter(self._idle)), _TOO_MANY)
        if len(self._open) < self._most:
            self._open.add(connection)
            self._idle[connection] = None
            return
        connection.serve_health_alone()
        self._spare[connection] = None
        if len(self._spare) > RESERVE:
            self.close(next(iter(self._spare)), _TOO_MANY)

    def set_busy(self, connection: Connection, is_busy: bool) -> None:
        """Note whether a connection has a request."""
        self._idle.pop(connection, None)
        if not is_busy and connection in self._open:
            self._idle[connection] = None

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed."""
        self._open.discard(connection)
        self._idle.pop(connection, None)
        self._spare.pop(connection, None)

    def close(self, connection: Connection, reason: str) -> None:
        """Close a connection; the log tells how many there were, once in a while."""
        self.remove(connection)
        connection.transport.abort()
        self._closed[reason] += 1
        if self._line_to_come is None:
            wait = max(_GATHERING, self._last_line + _QUIET - monotonic())
            self._line_to_come = connection.loop.call_later(wait, self._log)

    def _log(self) -> None:
        counts = ", ".join(f"{count:,} as {reason}" for reason, count in self._closed.items())
        log.warning("connections were closed: %s", counts)
        self._closed.clear()
        self._line_to_come, self._last_line = None, monotonic()


class Connection(H11Protocol):
    """A connection that has a time to send its headers, and a time for each request."""

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._connections = connections
        self._timer: asyncio.TimerHandle | None = None
        self._is_busy = False

    def serve_health_alone(self) -> None:
        """Answer nothing but health checks."""
        self.app = _HealthAlone(self.app)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._wait_for_headers()
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if is_busy != self._is_busy:
            self._set_busy(is_busy)
        elif not is_busy and self._timer is None and not self.transport.is_closing():
            self._wait_for_headers()

    def on_response_complete(self) -> None:
        self._set_busy(False)
        if self.conn.their_state is not DONE and not self.transport.is_closing():
            self._start_timer(_LINGER, "nobody reads what they send")
        super().on_response_complete()  # a request that has been waiting may begin here
        if self.cycle is not None and not self.cycle.response_complete:
            self._set_busy(True)

    def _set_busy(self, is_busy: bool) -> None:
        self._is_busy = is_busy
        self._connections.set_busy(self, is_busy)
        self._stop_timer()
        if is_busy:
            self._start_timer(self._connections.request_seconds, "they took too long")

    def _wait_for_headers(self) -> None:
        self._start_timer(self._connections.header_seconds, "no request came")

    def _start_timer(self, seconds: float, reason: str) -> None:
        self._timer = self.loop.call_later(seconds, self._connections.close, self, reason)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _HealthAlone:
    """An application whose other routes are closed for a moment."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in HEALTH:
            await self._app(scope, receive, send)
            return
        headers = {"Retry-After": "1", "Connection": "close"}
        await JSONResponse({"error": "too many connections are open; try again later"}, 503, headers)(
            scope, receive, send
        )


class OnceInAWhile(logging.Filter):
    """Lets a message through once a minute: what one client can cause must not fill a disk."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now, message = monotonic(), str(record.msg)
        is_due = now - self._last.get(message, -_QUIET) >= _QUIET
        if is_due:
            self._last[message] = now
        return is_due
