"""Bound the connections of a server: how many are open, and how long each may take to send a request or read an answer.

A connection without a request gives way to a new one. Where all have one, a few more are let in for health checks
alone, so that whoever watches the service can tell a busy one from a dead one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from time import monotonic
from typing import Any, Literal, TypeAlias

from h11 import SEND_BODY, LocalProtocolError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nicecf.service.limits import Limits

log = logging.getLogger("nicecf.service")

# Without a request; with one; with an answer that the client does not read; with a body that nobody reads.
State: TypeAlias = Literal["idle", "busy", "unread", "unwanted"]

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
# Messages that are remembered.
_MESSAGES = 1_000


class Connections:
    """The open connections of one server; makes the protocol of each, as uvicorn asks for it."""

    def __init__(self, limits: Limits) -> None:
        self.times: dict[State, tuple[float, str]] = {
            "idle": (limits.header_seconds, "no request came"),
            "busy": (limits.header_seconds + 2 * limits.seconds + limits.patience, "they took too long"),
            "unread": (_READING, "they did not read their answer"),
            "unwanted": (_LINGER, "nobody reads what they send"),
        }
        self._most = limits.connections
        self._open: set[Connection] = set()
        # Of each, the one that has waited longest comes first.
        self._idle: dict[Connection, None] = {}
        self._unread: dict[Connection, None] = {}
        self._spare: dict[Connection, None] = {}  # beyond the limit, for health checks
        self._closed: Counter[str] = Counter()
        self._line_to_come: asyncio.TimerHandle | None = None
        self._last_line = -_QUIET

    def __call__(self, **options: Any) -> Connection:
        """Return the protocol of a new connection."""
        return Connection(self, **options)

    def add(self, connection: Connection) -> None:
        """Take in a connection; where there is no room, close one that has no request, or whose answer nobody reads."""
        gives_way = self._idle or self._unread
        if len(self._open) >= self._most and gives_way:
            self.close(next(iter(gives_way)), _TOO_MANY)
        if len(self._open) < self._most:
            self._open.add(connection)
            self._idle[connection] = None
            return
        connection.serve_health_alone()
        self._spare[connection] = None
        if len(self._spare) > RESERVE:
            self.close(next(iter(self._spare)), _TOO_MANY)

    def note(self, connection: Connection, state: State) -> None:
        """Remember whether a connection would give way to a new one."""
        self._idle.pop(connection, None)
        self._unread.pop(connection, None)
        if connection not in self._open or state == "busy":
            return
        gives_way = self._unread if state == "unread" else self._idle
        gives_way[connection] = None

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed."""
        self._open.discard(connection)
        self._idle.pop(connection, None)
        self._unread.pop(connection, None)
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
    """A connection that has a time for whatever it does."""

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._connections = connections
        self._timer: asyncio.TimerHandle | None = None
        self._doing: tuple[State, object] | None = None
        self._is_unread = False

    def serve_health_alone(self) -> None:
        """Answer nothing but health checks."""
        self.app = _HealthAlone(self.app)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._connections.add(self)
        self._update()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except LocalProtocolError:  # uvicorn answers a broken body, though the answer has been given
            self._connections.close(self, "what they sent is no HTTP")
            return
        self._update()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # a request that has been waiting may begin here
        self._update()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._is_unread = True
        self._update()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_unread = False
        self._update()

    @property
    def _state(self) -> State:
        """What the connection is doing."""
        if self._is_unread:
            return "unread"
        if self.cycle is not None and not self.cycle.response_complete:
            return "busy"
        return "unwanted" if self.conn.their_state is SEND_BODY else "idle"

    def _update(self) -> None:
        """Start the time of what the connection is doing, unless it is doing it already."""
        state = self._state
        if self._doing == (state, self.cycle):
            return
        self._doing = state, self.cycle
        self._connections.note(self, state)
        if self._timer is not None:
            self._timer.cancel()
        seconds, reason = self._connections.times[state]
        self._timer = self.loop.call_later(seconds, self._connections.close, self, reason)


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
        # Further lines hold addresses, which differ each time.
        now, message = monotonic(), str(record.msg).partition("\n")[0]
        if now - self._last.get(message, -_QUIET) < _QUIET:
            return False
        if len(self._last) >= _MESSAGES:
            self._last.clear()
        self._last[message] = now
        return True
