"""What holds for every request: who may ask, the headers of the answer, and a line in the audit log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nicecf.service.explainers import Service
from nicecf.service.refusals import Refused

# Nothing that a page could load comes from elsewhere, or stands in the page itself.
_HEADERS = (
    (b"content-security-policy", b"default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
# Of W3C's trace context: what a request is part of, for the logs of all services that take part.
_TRACE = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
# The page has nothing in it that is anybody's: what it shows, it asks for with a key.
_OPEN = ("/", "/healthz", "/readyz")


@dataclass
class Entry:
    """What the audit log says of a request: nothing of what is in its rows."""

    start: float
    key: str | None = None
    model: str | None = None
    rows: int | None = None
    status: int = 499  # of a client that left before there was an answer

    def as_json(self) -> dict[str, Any]:
        """Return the entry, with the time and how long it took."""
        return {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "key": self.key,
            "model": self.model,
            "rows": self.rows,
            "status": self.status,
            "seconds": round(monotonic() - self.start, 4),
        }


class Guard:
    """The application behind a key, or behind this machine's own name, with strict headers and an audit log."""

    def __init__(self, app: ASGIApp, service: Service, is_mounted: bool) -> None:
        self._app = app
        self._service = service
        self._is_mounted = is_mounted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        trace = headers.get(b"traceparent", b"")
        own = [*_HEADERS, *([(b"traceparent", trace)] if _TRACE.fullmatch(trace) else [])]
        entry = scope["nicecf"] = Entry(start=monotonic())

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry.status = message["status"]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        path = scope["path"].removeprefix(scope.get("root_path", ""))
        refusal = self._refusal(path, headers, entry)
        answer: ASGIApp = self._app if refusal is None else as_error(refusal)
        try:
            await answer(scope, receive, send_with_headers)
        finally:
            if self._service.audit is not None:
                client = (scope.get("client") or ("",))[0]
                traceparent = trace.decode() if len(own) > len(_HEADERS) else None
                about = {"client": client, "method": scope["method"], "path": scope["path"][:200]}
                self._service.audit.write(entry.as_json() | about | {"traceparent": traceparent})

    def _refusal(self, path: str, headers: dict[bytes, bytes], entry: Entry) -> Refused | None:
        if b"content-length" in headers and b"transfer-encoding" in headers:
            message = "send Content-Length or Transfer-Encoding, not both: what is between us may read them otherwise"
            return Refused(400, message, {"Connection": "close"})
        keys = self._service.keys
        if keys is None:
            # Without keys the service is for this machine alone: a page elsewhere may point a name of its own at it.
            host = re.sub(r":\d*$", "", headers.get(b"host", b"").decode("latin-1"))
            is_own = self._is_mounted or host in ("127.0.0.1", "localhost", "[::1]")
            return None if is_own else Refused(403, "without API keys, requests are for 127.0.0.1 or localhost")
        scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        entry.key = keys.name_of(key.strip()) if scheme.lower() == "bearer" else None
        if entry.key is not None or path in _OPEN or path.startswith("/page/"):
            return None
        self._service.measures.unauthorized.inc()
        return Refused(401, "send a valid key: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})


def as_error(refusal: Refused) -> Response:
    """Return a refusal as an answer."""
    return as_json({"error": str(refusal)}, refusal.status, refusal.headers)


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer of JSON."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")
