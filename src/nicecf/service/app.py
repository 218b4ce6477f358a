"""The routes: what is asked over HTTP -> what the explainers answer."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nicecf.exceptions import ModelError, NicecfError
from nicecf.service import messages, openapi
from nicecf.service.answers import Version
from nicecf.service.explainers import Service
from nicecf.service.merging import Merger, Waiting
from nicecf.service.refusals import Refused, wrong
from nicecf.tables.files.json_lines import json_cell

log = logging.getLogger("nicecf.service")

# Nothing that a page could load comes from elsewhere, or stands in the page itself.
_HEADERS = (
    (b"content-security-policy", b"default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
_OPEN = ("/healthz", "/readyz")
_ABOUT = """\
nicecf: what would have to be different for the model's answer to change?

POST /v1/models/<name>:explain    {"instances": [...]} -> {"explanations": [...]}
GET  /v1/models                   the names of the explainers
GET  /v1/models/<name>            what one explains
GET  /v1/models/<name>/schema     its columns
GET  /v1/models/<name>/example    rows to try it with
GET  /openapi.json                all of this for programs, with requests that run
GET  /healthz, /readyz, /metrics
"""


def app_of(service: Service) -> ASGIApp:
    """The service as an ASGI application."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    def route(path: str, answer: Callable[[Service, Request], Any], method: str = "GET") -> Route:
        return Route(path, partial(answer, service), methods=[method])

    routes = [
        route("/", _about),
        route("/healthz", _health),
        route("/readyz", _ready),
        route("/metrics", _metrics),
        route("/openapi.json", _openapi),
        route("/v1/models", _models),
        route("/v1/models/{name}:explain", _explain, "POST"),
        route("/v1/models/{name}/schema", _schema),
        route("/v1/models/{name}/example", _example),
        route("/v1/models/{name}", _model),
    ]
    handlers: Any = {Refused: _refused, HTTPException: _not_there, Exception: _failed}
    return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), service)


class Guard:
    """What holds for every request: headers that keep browsers strict, the key, and the host if there are no keys."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        answer: ASGIApp = self._app if refusal is None else _error(refusal)
        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Refused | None:
        headers, keys = dict(scope["headers"]), self._service.keys
        if keys is None:
            # Without keys the service is for this machine alone: a page elsewhere may point a name of its own at it.
            host = re.sub(r":\d*$", "", headers.get(b"host", b"").decode("latin-1"))
            is_own = host in ("127.0.0.1", "localhost", "[::1]")
            return None if is_own else Refused(403, "without API keys, requests are for 127.0.0.1 or localhost")
        scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scope["path"] in _OPEN or (scheme.lower() == "bearer" and keys.has(key.strip())):
            return None
        return Refused(401, "send a valid key: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})


async def _explain(service: Service, request: Request) -> Response:
    name = request.path_params["name"]
    version = _version(service, name)
    start = monotonic()
    status = 500
    try:
        answer = await _explained(service, name, version, request)
        status = 200
        return answer
    except Refused as refusal:
        status = refusal.status
        raise
    except ClientDisconnect:
        status = 499
        return Response(status_code=499)
    finally:
        service.measures.requests.labels(name, str(status)).inc()
        service.measures.seconds.labels(name).observe(monotonic() - start)


async def _explained(service: Service, name: str, version: Version, request: Request) -> Response:
    limits = service.limits
    message = messages.read(await _body(request, limits.bytes, limits.seconds))
    parameters = message.parameters
    if not 1 <= len(message.instances) <= limits.rows:
        raise wrong("instances", f"expected 1 to {limits.rows} rows, got {len(message.instances):,}")
    if parameters.n > limits.n:
        raise wrong("parameters.n", f"expected at most {limits.n}, got {parameters.n}")
    rows = version.reader.read(message.instances)
    try:
        arguments = version.arguments(parameters)
    except NicecfError as error:
        raise wrong("parameters.rules", str(error)) from None
    seconds = min(limits.seconds, parameters.budget or limits.seconds)

    def work(rows: list[Any], seconds: float) -> list[Any]:
        answers = version.explain(rows, arguments, parameters, seconds)
        measures = service.measures
        measures.rows.labels(name).inc(len(rows))
        measures.not_found.labels(name).inc(answers.n_not_found)
        measures.model_calls.labels(name).inc(answers.model_calls)
        measures.model_rows.labels(name).inc(answers.model_rows)
        return [msgspec.Raw(msgspec.json.encode(one)) for one in answers.explanations]

    key = (id(version), msgspec.json.encode(parameters))
    explanations = await _answer(service.mergers[name], Waiting(key, rows, work, monotonic() + seconds), request)
    return _json({"explanations": explanations})


async def _answer(merger: Merger, waiting: Waiting, request: Request) -> list[Any]:
    """The answers for a request, as soon as they are there; if the client goes, its place is free."""
    merger.put(waiting)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        either: set[asyncio.Future[Any]] = {waiting.answer, gone}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.answer.done():
            raise ClientDisconnect
        return waiting.answer.result()
    except (Refused, ClientDisconnect):
        raise
    except ModelError as error:
        log.warning("the model failed: %s", error)
        raise Refused(502, "the model failed on this request") from None
    except NicecfError as error:
        raise Refused(400, str(error)) from None
    except Exception:
        log.exception("a request failed")
        raise Refused(500, "this should not happen; the log of the service says more") from None
    finally:
        gone.cancel()
        merger.leave(waiting)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request, most: int, seconds: float) -> bytes:
    """The body of a request, read up to a size and a time."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # a page elsewhere can send other kinds without asking
        raise Refused(415, "send the body as Content-Type: application/json")
    too_large = Refused(
        413, f"a request has at most {most:,} bytes; send fewer rows at a time", {"Connection": "close"}
    )
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length[:20]) > most:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        raise Refused(408, "the body did not arrive in time", {"Connection": "close"}) from None
    return bytes(body)


def _version(service: Service, name: str) -> Version:
    if name not in service.versions:
        raise Refused(404, "there is no such explainer; GET /v1/models names them")
    return service.versions[name]


async def _about(service: Service, request: Request) -> Response:
    return PlainTextResponse(_ABOUT)


async def _health(service: Service, request: Request) -> Response:
    return _json({"status": "alive"})


async def _ready(service: Service, request: Request) -> Response:
    waiting = service.not_ready
    return _json({"ready": not waiting, **({"not_ready": waiting} if waiting else {})}, 503 if waiting else 200)


async def _metrics(service: Service, request: Request) -> Response:
    return Response(service.measures.text(), media_type="text/plain; version=0.0.4")


async def _openapi(service: Service, request: Request) -> Response:
    return _json(openapi.document(service.versions, service.limits, has_keys=service.keys is not None))


async def _models(service: Service, request: Request) -> Response:
    return _json({"models": list(service.versions)})


async def _model(service: Service, request: Request) -> Response:
    name = request.path_params["name"]
    if name.endswith(":explain"):
        raise Refused(405, "send rows to this path with POST", {"Allow": "POST"})
    nice = _version(service, name).nice
    return _json(
        {
            "name": name,
            "ready": name not in service.not_ready,
            "classes": [json_cell(label) for label in nice.classes_],
            "optimize": nice.optimize if isinstance(nice.optimize, str) else "a function",
            "search": nice.search_,
        }
    )


async def _schema(service: Service, request: Request) -> Response:
    version = _version(service, request.path_params["name"])
    classes = [json_cell(label) for label in version.nice.classes_]
    return _json({"features": openapi.features(version.reader), "classes": classes})


async def _example(service: Service, request: Request) -> Response:
    return _json({"instances": _version(service, request.path_params["name"]).examples})


async def _refused(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refused)
    return _error(refusal)


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {404: "there is nothing here; / lists what there is", 405: "this path has another method; / lists them"}
    return _error(Refused(error.status_code, said.get(error.status_code, "this is not possible"), error.headers))


async def _failed(request: Request, error: Exception) -> Response:
    return _error(Refused(500, "this should not happen; the log of the service says more"))


def _error(refusal: Refused) -> Response:
    return _json({"error": str(refusal)}, refusal.status, refusal.headers)


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")
