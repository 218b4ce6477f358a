"""The routes: what is asked over HTTP -> what the explainers answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from nicecf.exceptions import ModelError, NicecfError
from nicecf.service import description, messages, openapi, page
from nicecf.service.answers import Answers
from nicecf.service.explainers import Service
from nicecf.service.guard import Entry, Guard, as_error, as_json
from nicecf.service.limits import Limits
from nicecf.service.merging import Waiting
from nicecf.service.messages import Cell, Parameters
from nicecf.service.refusals import Refused, busy, wrong
from nicecf.service.uploads import read_csv
from nicecf.service.version import Version

log = logging.getLogger("nicecf.service")

_ABOUT = """\
nicecf: what would have to be different for the model's answer to change?

GET  /                            a page, for browsers
POST /v1/models/<name>:explain    {"instances": [...]} -> {"explanations": [...]}
POST /v1/models/<name>:what-if    the same with {"changes": [...]}: what the model says then
POST /v1/models/<name>:report     {"instances": [...]} -> a report for people, as HTML
POST /v1/models/<name>:read       a CSV file -> {"instances": [...]}
GET  /v1/models                   the names of the explainers
GET  /v1/models/<name>            what one explains
GET  /v1/models/<name>/schema     its columns
GET  /v1/models/<name>/example    rows to try it with
GET  /openapi.json                all of this for programs, with requests that run
GET  /healthz, /readyz, /metrics
"""


def app_of(service: Service, *, is_mounted: bool = False) -> ASGIApp:
    """Return the service as an ASGI application; ``is_mounted``: in another one, which decides who may ask."""

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
        route("/", _front),
        route("/page/{file}", _page),
        route("/healthz", _health),
        route("/readyz", _ready),
        route("/metrics", _metrics),
        route("/openapi.json", _openapi),
        route("/v1/models", _models),
        *(
            Route(f"/v1/models/{{name}}:{verb}", partial(_answered, service, answer), methods=["POST"])
            for verb, answer in _VERBS.items()
        ),
        route("/v1/models/{name}/schema", _schema),
        route("/v1/models/{name}/example", _example),
        route("/v1/models/{name}", _model),
    ]
    handlers: Any = {Refused: _refused, HTTPException: _not_there, Exception: _failed}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False  # a redirect would name the host that the request does
    return Guard(app, service, is_mounted)


async def _answered(service: Service, answer: Callable[..., Any], request: Request) -> Response:
    """An answer of an explainer, counted and timed."""
    name = request.path_params["name"]
    version = _version(service, name)
    entry: Entry = request.scope["nicecf"]
    entry.model = name
    status = 500
    try:
        response: Response = await answer(service, name, version, request)
        status = 200
        return response
    except Refused as refusal:
        status = refusal.status
        raise
    except ClientDisconnect:
        status = 499
        return Response(status_code=499)
    finally:
        service.measures.requests.labels(name, str(status), entry.key or "").inc()
        service.measures.seconds.labels(name).observe(monotonic() - entry.start)


async def _explain(service: Service, name: str, version: Version, request: Request) -> Response:
    asked = await _asked(service, version, request, service.limits.rows)

    def work(rows: list[Any], seconds: float) -> list[Any]:
        return _counted(service, name, version.explain(rows, asked.arguments, asked.parameters, seconds), len(rows))

    key = (id(version), msgspec.json.encode(asked.parameters))
    waiting = Waiting(key, asked.rows, work, asked.seconds)
    return as_json({"explanations": await _answer(service, name, waiting, request)})


async def _what_if(service: Service, name: str, version: Version, request: Request) -> Response:
    asked = await _asked(service, version, request, service.limits.rows, takes="changes")
    if asked.parameters.record:
        raise wrong("parameters.record", "there is none of what was not searched for; leave it out")
    if asked.changes is None:
        raise wrong("changes", "it is missing; send one object for each row, such as [{}]")
    if len(asked.changes) != len(asked.rows):
        raise wrong("changes", f"expected one for each of {len(asked.rows)} rows, got {len(asked.changes)}")
    others = version.reader.changed(asked.rows, asked.changes)

    def work(pairs: list[Any], seconds: float) -> list[Any]:
        rows, then = zip(*pairs, strict=True)
        return _counted(service, name, version.what_if(rows, then, asked.parameters), len(pairs))

    key = (id(version), "what-if", msgspec.json.encode(asked.parameters))
    pairs = list(zip(asked.rows, others, strict=True))
    waiting = Waiting(key, pairs, work, asked.seconds)
    return as_json({"explanations": await _answer(service, name, waiting, request)})


async def _report(service: Service, name: str, version: Version, request: Request) -> Response:
    asked = await _asked(service, version, request, service.limits.report_rows, takes="labels")

    def work(requests: list[Any], seconds: float) -> list[Any]:
        (rows,) = requests
        report = version.report(rows, asked.arguments, asked.parameters, seconds, asked.labels)
        _count(service, name, report, len(rows))
        return report.explanations

    # One report is one thing in the queue, whatever its rows; it is not merged with any other.
    waiting = Waiting(object(), [asked.rows], work, asked.seconds)
    (report,) = await _answer(service, name, waiting, request)
    headers = {"Content-Disposition": f'attachment; filename="{name}.html"'}
    return Response(report, headers=headers, media_type="text/html")


async def _read(service: Service, name: str, version: Version, request: Request) -> Response:
    limits = service.limits
    if service.uploads.locked():
        raise busy(429, "too many files are being read; try again later", 1.0)
    async with service.uploads:
        content = await _body(request, limits.file_bytes, limits.seconds, kind="text/csv")
        upload = await asyncio.to_thread(read_csv, content, version.reader, limits.table_rows)
    return as_json(upload)


# What can be asked of an explainer with POST, by the verb behind its name.
_VERBS: dict[str, Callable[..., Any]] = {"explain": _explain, "what-if": _what_if, "report": _report, "read": _read}


@dataclass(frozen=True, eq=False)
class _Asked:
    """A request that was read and checked."""

    rows: list[list[Cell]]
    changes: list[dict[str, Cell]] | None
    labels: list[str] | None
    parameters: Parameters
    arguments: dict[str, Any]
    seconds: float


async def _asked(service: Service, version: Version, request: Request, most_rows: int, *, takes: str = "") -> _Asked:
    limits = service.limits
    body = await _body(request, limits.bytes, limits.seconds)
    # Not in the event loop, where everybody else would wait for it.
    check = partial(_checked, limits, version, body, most_rows, takes)
    asked = await asyncio.get_running_loop().run_in_executor(service.checker, check)
    request.scope["nicecf"].rows = len(asked.rows)
    return asked


def _checked(limits: Limits, version: Version, body: bytes, most_rows: int, takes: str) -> _Asked:
    """Read and check the body of a request; Refused with the field that is wrong.

    ``takes``: the field beside the rows that this route takes.
    """
    message = messages.read(body)
    parameters = message.parameters
    for field, verb in (("changes", "what-if"), ("labels", "report")):
        if getattr(message, field) is not None and field != takes:
            raise wrong(field, f"they are for :{verb}; here, leave them out")
    if message.labels is not None and len(message.labels) != len(message.instances):
        raise wrong("labels", f"expected one for each of {len(message.instances)} rows, got {len(message.labels)}")
    if not 1 <= len(message.instances) <= most_rows:
        raise wrong("instances", f"expected 1 to {most_rows} rows, got {len(message.instances):,}")
    if parameters.n > limits.n:
        raise wrong("parameters.n", f"expected at most {limits.n}, got {parameters.n}")
    rows = version.reader.read(message.instances)
    try:
        arguments = version.arguments(parameters)
    except NicecfError as error:
        raise wrong("parameters.rules", str(error)) from None
    seconds = min(limits.seconds, parameters.budget or limits.seconds)
    return _Asked(rows, message.changes, message.labels, parameters, arguments, seconds)


def _counted(service: Service, name: str, answers: Answers, n_rows: int) -> list[Any]:
    _count(service, name, answers, n_rows)
    return [msgspec.Raw(msgspec.json.encode(one)) for one in answers.explanations]


def _count(service: Service, name: str, answers: Answers, n_rows: int) -> None:
    measures = service.measures
    measures.rows.labels(name).inc(n_rows)
    measures.not_found.labels(name).inc(answers.n_not_found)
    measures.stopped_early.labels(name).inc(answers.n_stopped_early)
    measures.model_calls.labels(name).inc(answers.model_calls)
    measures.model_rows.labels(name).inc(answers.model_rows)


async def _answer(service: Service, name: str, waiting: Waiting, request: Request) -> list[Any]:
    """The answers for a request, as soon as they are there; if the client goes, its place is free."""
    merger = service.mergers[name]
    merger.put(waiting)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        either: set[asyncio.Future[Any]] = {waiting.answer, gone}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.answer.done():
            raise ClientDisconnect
        answers = waiting.answer.result()
        service.note_answer(name, has_failed=False)
        return answers
    except (Refused, ClientDisconnect):
        raise
    except ModelError as error:
        service.note_answer(name, has_failed=True)
        log.warning("the model failed: %s", error)
        raise Refused(502, "the model failed on this request, or has changed since fit; the log says which") from None
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


async def _body(request: Request, most: int, seconds: float, *, kind: str = "application/json") -> bytes:
    """The body of a request, read up to a size and a time."""
    # A page elsewhere can send plain text and forms without asking; not these kinds.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise Refused(415, f"send the body as Content-Type: {kind}")
    # Neither closes the connection: it would be reset while the client sends, who would not see the answer.
    too_large = Refused(413, f"a request has at most {most:,} bytes; send fewer rows at a time")
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
        raise Refused(408, "the body did not arrive in time") from None
    return bytes(body)


def _version(service: Service, name: str) -> Version:
    if name not in service.versions:
        raise Refused(404, "there is no such explainer; GET /v1/models names them")
    return service.versions[name]


async def _front(service: Service, request: Request) -> Response:
    """The page for browsers, and a list of the routes for everybody else."""
    if "text/html" in request.headers.get("accept", ""):
        return Response(page.file("index.html"), media_type="text/html")
    return PlainTextResponse(_ABOUT)


async def _page(service: Service, request: Request) -> Response:
    name = request.path_params["file"]
    content = page.file(name)
    if content is None:
        raise Refused(404, "the page has no such file")
    return Response(content, media_type=page.kind_of(name))


async def _health(service: Service, request: Request) -> Response:
    return as_json({"status": "alive"})


async def _ready(service: Service, request: Request) -> Response:
    waiting = await service.not_ready()
    return as_json({"ready": not waiting, **({"not_ready": waiting} if waiting else {})}, 503 if waiting else 200)


async def _metrics(service: Service, request: Request) -> Response:
    return Response(service.measures.text(), media_type="text/plain; version=0.0.4")


async def _openapi(service: Service, request: Request) -> Response:
    root = request.scope.get("root_path", "")
    return as_json(openapi.document(service.versions, service.limits, has_keys=service.keys is not None, root=root))


async def _models(service: Service, request: Request) -> Response:
    return as_json({"models": list(service.versions)})


async def _model(service: Service, request: Request) -> Response:
    name = request.path_params["name"]
    if name.rpartition(":")[2] in _VERBS:
        raise Refused(405, "send rows to this path with POST", {"Allow": "POST"})
    version, limits = _version(service, name), service.limits
    return as_json(
        {
            "name": name,
            "ready": name not in await service.not_ready(),
            **description.about(version),
            "limits": {
                "rows": limits.rows,
                "table_rows": limits.table_rows,
                "report_rows": limits.report_rows,
                "n": limits.n,
            },
        }
    )


async def _schema(service: Service, request: Request) -> Response:
    version = _version(service, request.path_params["name"])
    language = request.query_params.get("language", "en")
    if language not in page.LANGUAGES:
        raise wrong("language", f"choose one of {', '.join(page.LANGUAGES)}")
    return as_json(description.schema(version, language))


async def _example(service: Service, request: Request) -> Response:
    return as_json({"instances": _version(service, request.path_params["name"]).examples})


async def _refused(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refused)
    return as_error(refusal)


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {404: "there is nothing here; / lists what there is", 405: "this path has another method; / lists them"}
    return as_error(Refused(error.status_code, said.get(error.status_code, "this is not possible"), error.headers))


async def _failed(request: Request, error: Exception) -> Response:
    return as_error(Refused(500, "this should not happen; the log of the service says more"))
