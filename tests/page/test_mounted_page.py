"""The page under a path of somebody's own application: it asks what is there, and nothing at the root."""

from fastapi import FastAPI

from nicecf.service import asgi_app
from page import conftest


def test_the_page_works_under_a_path(visit, loans, monkeypatch):
    outer = FastAPI()
    outer.mount("/bank/explain", asgi_app({"loans": loans}))
    monkeypatch.setattr(conftest, "app_of", lambda app: app)
    service = conftest.Served(lambda: outer)
    try:
        one = visit(f"{service.url}bank/explain/").opened()
        assert one.page.locator("article").count() >= 2
        assert {path.split("/")[1:3] == ["bank", "explain"] for path in service.paths} == {True}
        assert one.errors == []
    finally:
        service.stop()
