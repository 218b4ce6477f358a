"""The service inside of somebody's own application, under a path of it."""

import asyncio
import re
import sys
import threading
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from nicecf.cli import main
from nicecf.service import asgi_app
from nicecf.service.explainers import Service
from nicecf.service.limits import Limits
from service.conftest import rows_of, table

ROOT = "/bank/explain"
EXPLAIN = f"{ROOT}/v1/models/credit:explain"
BODY = {"instances": rows_of(table(3))}
PAGE = Path(__file__).parents[2] / "docs" / "service.md"


def in_fastapi(app):
    outer = FastAPI()

    @outer.get("/own")
    def own():
        return {"whose": "the outer application's"}

    outer.mount(ROOT, app)
    return outer


OUTER = {"FastAPI": in_fastapi, "Starlette": lambda app: Starlette(routes=[Mount(ROOT, app)])}


def ask(app, method, path, **options):
    """One request, in an event loop of its own."""

    async def talk():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="https://bank.example") as client:
            return await client.request(method, path, follow_redirects=True, **options)

    return asyncio.run(talk())


@pytest.fixture(params=OUTER.values(), ids=OUTER)
def app(request, nice):
    return request.param(asgi_app({"credit": nice}))


def test_explanations_are_those_of_the_library_whatever_event_loop_runs(app, nice):
    for _ in range(2):
        answer = ask(app, "POST", EXPLAIN, json=BODY)
        assert answer.status_code == 200, answer.text
        assert [one["text"] for one in answer.json()["explanations"]] == nice.explain(table(3)).texts()


def test_the_thread_of_an_event_loop_that_has_ended_ends(nice):
    app, threads = in_fastapi(asgi_app({"credit": nice})), []
    for _ in range(3):
        before = set(threading.enumerate())
        assert ask(app, "POST", EXPLAIN, json=BODY).status_code == 200
        threads += [one for one in threading.enumerate() if one.name == "nicecf" and one not in before]
    assert len(threads) == 3
    for thread in threads[:-1]:
        thread.join(10)
    assert [thread.is_alive() for thread in threads] == [False, False, True]


def test_every_route_is_under_the_path(app):
    paths = ("/healthz", "/readyz", "/metrics", "/v1/models", "/v1/models/credit/schema", "/v1/models/credit/example")
    assert {ask(app, "GET", ROOT + path).status_code for path in paths} == {200}
    assert ask(app, "GET", f"{ROOT}/v1/models/other").status_code == 404
    assert ask(app, "GET", "/v1/models").status_code == 404
    assert "POST /v1/models/<name>:explain" in ask(app, "GET", f"{ROOT}/").text


def test_the_page_names_its_files_as_seen_from_where_it_is(app):
    page = ask(app, "GET", ROOT, headers={"Accept": "text/html"})  # the outer application adds the slash
    assert str(page.url) == f"https://bank.example{ROOT}/"
    files = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert len(files) == 4
    assert {ask(app, "GET", str(page.url.join(file))).status_code for file in files} == {200}


def test_the_document_says_where_its_paths_begin(app):
    document = ask(app, "GET", f"{ROOT}/openapi.json").json()
    assert document["servers"] == [{"url": ROOT}]
    (body,) = document["paths"]["/v1/models/credit:explain"]["post"]["requestBody"]["content"].values()
    assert ask(app, "POST", EXPLAIN, json=body["example"]).status_code == 200


def test_it_starts_once_with_the_first_request_also_of_many_at_once(nice, monkeypatch):
    starts, start = [], Service.start

    async def slow(service):
        starts.append(service)
        await asyncio.sleep(0.05)
        await start(service)

    monkeypatch.setattr(Service, "start", slow)

    async def talk():
        transport = httpx.ASGITransport(in_fastapi(asgi_app({"credit": nice})))
        async with httpx.AsyncClient(transport=transport, base_url="http://bank.example") as client:
            leaving = asyncio.create_task(client.get(f"{ROOT}/v1/models"))
            while not starts:
                await asyncio.sleep(0)
            answers = asyncio.gather(*(client.post(EXPLAIN, json=BODY) for _ in range(5)))
            leaving.cancel()
            return [one.status_code for one in await answers]

    assert asyncio.run(talk()) == [200] * 5
    assert len(starts) == 1


def test_served_by_itself_its_own_lifespan_starts_and_stops_it(nice, monkeypatch):
    calls = []
    for name in ("start", "stop"):
        monkeypatch.setattr(Service, name, noted(getattr(Service, name), name, calls))

    async def talk():
        app, received, sent = asgi_app({"credit": nice}), asyncio.Queue(), asyncio.Queue()
        running = asyncio.create_task(app({"type": "lifespan", "state": {}}, received.get, sent.put))
        received.put_nowait({"type": "lifespan.startup"})
        assert (await sent.get())["type"] == "lifespan.startup.complete"
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://bank.example") as client:
            assert (await client.post("/v1/models/credit:explain", json=BODY)).status_code == 200
        received.put_nowait({"type": "lifespan.shutdown"})
        assert (await sent.get())["type"] == "lifespan.shutdown.complete"
        await running

    asyncio.run(talk())
    assert calls == ["start", "stop"]


def noted(method, name, calls):
    async def wrapped(service):
        calls.append(name)
        await method(service)

    return wrapped


def test_with_keys_each_request_needs_one_but_the_page_is_open(nice, tmp_path, capsys):
    path = tmp_path / "keys.txt"
    assert main(["serve", "--keys", str(path), "--new-key", "desk"]) == 0
    key = capsys.readouterr().out.splitlines()[0]
    app = in_fastapi(asgi_app({"credit": nice}, keys=path))
    for file in ("", "page/start.js", "healthz"):
        assert ask(app, "GET", f"{ROOT}/{file}").status_code == 200
    assert ask(app, "GET", f"{ROOT}/v1/models").status_code == 401
    assert ask(app, "GET", f"{ROOT}/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    assert ask(app, "GET", "/own").json() == {"whose": "the outer application's"}


def test_its_limits_are_its_own(nice):
    answer = ask(in_fastapi(asgi_app({"credit": nice}, limits=Limits(rows=2))), "POST", EXPLAIN, json=BODY)
    assert answer.status_code == 400
    assert "expected 1 to 2 rows" in answer.json()["error"]


def test_a_missing_extra_says_what_to_install(nice, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ImportError, match=r"nicecf.service.asgi_app needs prometheus-client.*nicecf\[serve\]"):
        asgi_app({"credit": nice})


def test_the_application_of_the_page_explains():
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    examples = ask(names["app"], "GET", "/explain/v1/models/tumours/example").json()["instances"]
    answer = ask(names["app"], "POST", "/explain/v1/models/tumours:explain", json={"instances": examples[:1]})
    assert answer.json()["explanations"][0]["found"]
