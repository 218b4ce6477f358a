"""A service at a free port of this machine, and a real browser in front of it."""

import asyncio
import contextlib
import shutil
import threading
import time

import pandas as pd
import pytest
import uvicorn

from nicecf import NICE
from nicecf.benchmark.datasets import loan_book, loan_rules
from nicecf.cli.showcase import forest
from nicecf.service.app import app_of
from nicecf.service.explainers import Service, Source

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# As root there is no sandbox; without the others, the browser asks its maker's hosts for this and that.
FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-component-update --disable-sync"


# What is wrong with the geometry of elements that have text of their own, or a value: each as "what: where".
SQUEEZED = r"""
() => {
  const pen = document.createElement("canvas").getContext("2d");
  const width = (text, style) => { pen.font = style.font; return pen.measureText(text).width; };
  const parents = (one) => { const all = []; for (let up = one.parentElement; up; up = up.parentElement) all.push(up); return all; };
  const isSaidOnly = (one) => [one, ...parents(one)].some((each) => getComputedStyle(each).clipPath === "inset(50%)");
  const overflow = (one) => getComputedStyle(one).overflowX;
  const inside = (one) => {
    const style = getComputedStyle(one);
    return one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  };
  const block = (one) => [one, ...parents(one)].find((each) => !["inline", "contents"].includes(getComputedStyle(each).display));
  const found = [];
  const wrong = (what, one) => found.push(`${what}: <${one.tagName.toLowerCase()} class="${one.className}"> ${(one.value ?? one.textContent).trim().slice(0, 60)}`);
  for (const one of document.body.querySelectorAll("*")) {
    if (["OPTION", "SCRIPT", "NOSCRIPT"].includes(one.tagName) || one instanceof SVGElement) continue;
    if (!one.checkVisibility({ visibilityProperty: true }) || isSaidOnly(one)) continue;
    const style = getComputedStyle(one);
    const texts = [...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    const isField = ["text", "password", "date", "number"].includes(one.type) || one.tagName === "SELECT";
    if (!texts.length && !isField) continue;
    const box = one.getBoundingClientRect();
    if (box.width < 1 || box.height < 1) { wrong("no size", one); continue; }
    const around = parents(one);
    const isScrolled = around.some((up) => ["auto", "scroll"].includes(overflow(up)) && up.scrollWidth > up.clientWidth);
    if (!isScrolled && (box.left < -0.5 || box.right > innerWidth + 0.5)) wrong("outside of the window", one);
    const scrolls = ["auto", "scroll"].includes(overflow(one));
    if (one.clientWidth && !scrolls && one.scrollWidth > one.clientWidth + 1) wrong("wider than its box", one);
    if (one.tagName === "SELECT" && width(one.selectedOptions[0]?.textContent ?? "", style) + 15 > inside(one)) wrong("does not fit", one);
    const room = inside(block(one));
    for (const node of texts) {
      const longest = Math.max(...node.textContent.trim().split(/\s+/).map((word) => width(word, style)));
      if (longest > room + 1) wrong("narrower than a word", one);
      const range = document.createRange();
      range.selectNodeContents(node);
      const ink = range.getBoundingClientRect();
      const cuts = [one, ...around].filter((up) => ["hidden", "clip"].includes(overflow(up)));
      if (cuts.some((up) => { const edge = up.getBoundingClientRect(); return ink.left < edge.left - 1 || ink.right > edge.right + 1 || ink.bottom > edge.bottom + 1; })) wrong("cut off", one);
    }
  }
  return found;
}
"""


class Served:
    """A service in a thread, which can go away and come back at the same address."""

    def __init__(self, make):
        self._make = make
        self._port = 0
        self.paths = []
        self.start()

    def start(self):
        async def watched(scope, receive, send):
            if scope["type"] == "http":
                self.paths.append(scope["raw_path"].decode() + "?" + scope["query_string"].decode())
            await app(scope, receive, send)

        app = app_of(self._make())
        config = uvicorn.Config(watched, host="127.0.0.1", port=self._port, log_level="error", http="h11")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve()), daemon=True)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.02)
        self._port = self._server.servers[0].sockets[0].getsockname()[1]

    def stop(self):
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(20)

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}/"


@contextlib.contextmanager
def served(nice, **options):
    sources = nice if isinstance(nice, dict) else {"loans": nice}
    one = Served(lambda: Service({name: Source(lambda nice=nice: nice) for name, nice in sources.items()}, **options))
    try:
        yield one
    finally:
        one.stop()


@pytest.fixture(scope="session")
def loans():
    """Loans with a column that follows from others, a relation, and a measure of plausibility."""
    X, y = loan_book(400)
    model = forest().set_params(randomforestclassifier__n_estimators=20).fit(X, y)
    return NICE(model, optimize="balanced", constraints=loan_rules()).fit(X, y).with_search(optimize="sparsity")


@pytest.fixture(scope="session")
def service(loans):
    with served(loans) as one:
        yield one


@pytest.fixture(scope="module")  # while it is open, an event loop runs, which tests of other modules would stumble over
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield one
        one.close()


def is_of_a_touch(request):
    """Whether a request is one that a person waits for: regions are asked for later, when nobody does."""
    return "regions" not in (request.post_data or "")


class Visit:
    """A tab of the browser; what goes wrong in it is remembered."""

    def __init__(self, browser, url, **options):
        given = {
            "locale": "en-GB",
            "viewport": {"width": 1280, "height": 900},
            "permissions": ["clipboard-read", "clipboard-write"],
        }
        self._context = browser.new_context(**given | options)
        self.page = self._context.new_page()
        self.page.set_default_timeout(20_000)
        self.errors, self.requests, self._unmissed = [], [], 0
        self.page.on("console", lambda one: self.errors.append(one.text) if one.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda one: is_of_a_touch(one) and self.requests.append((one.method, one.url)))
        self.page.on("response", lambda one: one.status >= 400 and self._miss(one.request))
        self.page.on("requestfailed", self._miss)
        self.page.goto(url)

    def close(self):
        self._context.close()

    def _miss(self, request):
        self._unmissed += not is_of_a_touch(request)

    @property
    def noticed(self):
        """The errors, but for those of requests that nobody waits for, such as to a service that was just stopped."""
        unmissed = [error for error in self.errors if error.startswith("Failed to load resource")][: self._unmissed]
        return [error for error in self.errors if error not in unmissed]

    def opened(self):
        """Wait until the page is there and has its first answer."""
        self.page.wait_for_selector(".ncf-menu > *")
        return self.answered()

    def answered(self):
        """Wait until nothing is being asked."""
        self.page.wait_for_selector("[aria-busy=true]", state="detached")
        return self

    def forgive(self, *words):
        """Leave out what the browser itself logs of a request that was to fail."""
        self.errors[:] = [error for error in self.errors if not any(word in error for word in words)]

    def intercept(self, verb, handle):
        """Handle the next request of a kind in place of the service."""
        pending = [handle]

        def routed(route):
            if pending and is_of_a_touch(route.request):
                pending.pop()(route)
            else:
                route.continue_()

        self.page.route(f"**/*:{verb}", routed)

    def stop_early(self):
        """Ask again; the answer is that time was up before anything was found."""

        def stopped(route):
            answer = route.fetch()
            body = answer.json()
            display = {**body["explanations"][0]["display"], "relaxation": None, "obstacle": "Something is in the way."}
            body["explanations"][0] |= {
                "found": False,
                "stopped_early": True,
                "counterfactuals": [],
                "display": display,
            }
            route.fulfill(response=answer, json=body)

        self.page.get_by_role("radio").nth(1).check()  # just enough: there is no second question
        self.answered()
        self.intercept("explain", stopped)
        self.page.locator(".ncf-pick select").nth(1).select_option("")
        self.answered()

    def asked(self, verb):
        return sum(url.endswith(f":{verb}") for method, url in self.requests)

    def features_of_plans(self):
        """The features that each plan changes, as the page shows them; not what follows from them."""
        plans = self.page.locator("article").all()
        return [set(one.locator("ul.ncf-changes:not(.ncf-follows) .ncf-feature").all_inner_texts()) for one in plans]

    def violations(self):
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]

    def squeezed(self):
        """What is not visible, not inside the window, or narrower than its text."""
        return self.page.evaluate(SQUEEZED)

    def is_too_wide(self):
        return self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.fixture
def visit(browser):
    """Open an address; at the end nothing must have been written to the console."""
    visits = []

    def visited(url, **options):
        visits.append(Visit(browser, url, **options))
        return visits[-1]

    yield visited
    errors = [error for one in visits for error in one.noticed]
    for one in visits:
        one.close()
    assert errors == []


def csv_of(n_rows, seed=7):
    X, _ = loan_book(n_rows, seed=seed)
    return pd.concat([pd.DataFrame({"customer": [f"C{at}" for at in range(n_rows)]}), X], axis=1)
