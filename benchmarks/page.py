"""The page, touched by a hand that does not wait: how long it takes from a touch to what it shows on the screen.

A server in a process of its own at a free port of 127.0.0.1, and Debian's chromium in front of it, on one machine. The
time is taken in the browser: from the event of a touch until the plans of its answer are drawn, and from a click in the
table of many cases until it is sorted or filtered. Adult with a forest of 100 trees, 39,073 training rows (without
NICECF_DATA the loan book): python benchmarks/page.py [--touches N] [--cases N] [--clicks N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from service import Server

FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-component-update"

# A touch, and the time until its answer is drawn. Whatever is asked, the section is busy until then.
TOUCH = """
async ([selector, how, value]) => {
  const touched = document.querySelector(selector);
  const results = document.querySelector(how === "try" ? ".ncf-whatif" : ".ncf-results");
  const answered = new Promise((resolve) => {
    const watch = new MutationObserver(() => {
      if (results.getAttribute("aria-busy") !== "false") return;
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now()), 0));
    });
    watch.observe(results, { attributes: true, attributeFilter: ["aria-busy"] });
  });
  const start = performance.now();
  if (how === "click") touched.click();
  else {
    touched.value = value ?? String(Math.round(touched.max * 0.37));
    touched.dispatchEvent(new Event(how === "choose" ? "change" : "input", { bubbles: true }));
  }
  return (await answered) - start;
}
"""

# A click or a choice in the table of many cases, and the time until its lines are drawn.
CLICK = """
async ([selector, index, value]) => {
  const element = document.querySelectorAll(selector)[index];
  const start = performance.now();
  if (value === null) element.click();
  else {
    element.value = value;
    element.dispatchEvent(new Event(element.type === "search" ? "input" : "change", { bubbles: true }));
  }
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  return performance.now() - start;
}
"""
# So many cases are explained by the service, and their answers are repeated for the others.
EXPLAINED = 400


def explainer(folder: Path, n_cases: int) -> str:
    """Fit and save an explainer that knows what is plausible, and a table of cases; return what it is about."""
    import skops.io

    from nicecf import NICE
    from nicecf.benchmark.datasets import adult, loan_book
    from nicecf.cli.showcase import forest

    data = os.environ.get("NICECF_DATA")
    X, y = adult(data) if data else loan_book(12_000)
    n_train = len(X) * 4 // 5
    model = forest().fit(X[:n_train], y[:n_train])
    skops.io.dump(model, folder / "page.skops")
    NICE(model, optimize="balanced").fit(X[:n_train], y[:n_train]).save(folder / "page.nice")
    X.tail(n_cases).to_csv(folder / "cases.csv", index=False)
    return f"{'adult' if data else 'the loan book'}, {n_train:,} training rows, a forest of 100 trees"


def touch(page: Any, rng: np.random.Generator) -> tuple[str, float]:
    """Touch something at random; what it was, and how many milliseconds the answer took."""
    kind = str(rng.choice(["lock", "direction", "range", "effort", "most", "what-if"]))
    line = f".ncf-line:nth-child({int(rng.choice(page.shaped))})"
    ranged = f".ncf-line:nth-child({int(rng.choice(page.ranged))})"
    asked = {
        "lock": (f"{line} button.ncf-lock", "click", None),
        "direction": (f"{ranged} .ncf-radio:nth-of-type({rng.integers(1, 4)}) input:not(:checked)", "click", None),
        "range": (f"{ranged} .ncf-handles input:nth-child({rng.integers(1, 3)})", "slide", None),
        "effort": (f"{line} fieldset:last-child .ncf-radio input:not(:checked)", "click", None),
        "most": (".ncf-most select", "choose", str(rng.integers(1, 6))),
        "what-if": (".ncf-move input[type=range]", "try", str(rng.integers(5, 60))),
    }[kind]
    if not page.tab.locator(asked[0]).count():
        return touch(page, rng)
    return kind, float(page.tab.evaluate(TOUCH, list(asked)))


class Cases:
    """The table of many cases in a tab, with all of them explained."""

    def __init__(self, tab: Any, url: str, path: Path) -> None:
        self.tab = tab
        self.answers: list[Any] = []
        self.seconds_to_explain = 0.0
        tab.set_default_timeout(600_000)
        tab.goto(url)
        tab.wait_for_selector(".ncf-plan, .ncf-none")
        tab.route("**/*:explain", self.answer)
        tab.get_by_role("tab", name="A table").click()
        start = time.perf_counter()
        tab.set_input_files("input[type=file]", path)
        tab.wait_for_selector("text=rows were read")
        self.seconds_to_read = time.perf_counter() - start
        tab.get_by_role("button", name="Explain all").click()
        tab.wait_for_selector("text=rows explained")
        tab.unroute("**/*:explain")

    def answer(self, route: Any) -> None:
        """Answer by the service for the first rows, and as it answered these for the others."""
        if "regions" in route.request.post_data:  # of the case in the first tab
            route.continue_()
            return
        if len(self.answers) < EXPLAINED:
            start = time.perf_counter()
            response = route.fetch()
            self.seconds_to_explain += time.perf_counter() - start
            self.answers += response.json()["explanations"]
            route.fulfill(response=response)
            return
        count = len(json.loads(route.request.post_data)["instances"])
        first = int(np.random.default_rng(len(self.answers)).integers(EXPLAINED - count + 1))
        self.answers += self.answers[first : first + count]
        route.fulfill(json={"explanations": self.answers[-count:]})

    def click(self, kind: str, rng: np.random.Generator) -> float:
        """Do something to the table with all its rows; how many milliseconds it took until that was drawn."""
        everything = self.tab.get_by_role("button", name="Show all")
        if everything.is_visible():
            everything.click()
        heads = self.tab.locator(".ncf-cases thead button").count()
        selector, index, value = {
            "sort": (".ncf-cases thead button", int(rng.integers(heads)), None),
            "filter by result": (".ncf-states button", int(rng.integers(1, 4)), None),
            "filter by decision": (".ncf-tools-row select", 0, str(rng.choice(["0", "1"]))),
            "filter by change": (".ncf-tools-row select", 1, self._option(1, rng)),
            "search": (".ncf-tools-row input[type=search]", 0, str(rng.choice(["p", "pr", "private", "40 husb"]))),
            "group": (".ncf-tools-row select", 2, self._option(2, rng)),
            "next page": (".ncf-pager button", int(rng.integers(2, 4)), None),
        }[kind]
        return float(self.tab.evaluate(CLICK, [selector, index, value]))

    def _option(self, select: int, rng: np.random.Generator) -> str:
        options = self.tab.locator(".ncf-tools-row select").nth(select).locator("option")
        return str(options.nth(int(rng.integers(1, options.count()))).get_attribute("value"))


CLICKS = ("sort", "filter by result", "filter by decision", "filter by change", "search", "group", "next page")


def measure_cases(chromium: Any, url: str, path: Path, clicks: int) -> None:
    """Print how long it takes until many cases are sorted or filtered."""
    tab = chromium.new_page(viewport={"width": 1280, "height": 900}, locale="en-GB")
    cases = Cases(tab, url, path)
    print(
        f"\n{len(cases.answers):,} cases, read in {cases.seconds_to_read:.1f} s; {EXPLAINED} of them explained by the "
        f"service in {cases.seconds_to_explain:.1f} s, whose answers are repeated for the others"
    )
    for box in tab.locator(".ncf-columns input").all()[:3]:  # three columns of the file beside the usual ones
        box.evaluate("(box) => box.click()")
    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(clicks):
        for kind in CLICKS:
            found[kind].append(cases.click(kind, rng))
    tab.close()
    print_times("click", found)


class Opened:
    """The page in a tab, with all controls unfolded; which lines have controls, and which a range."""

    def __init__(self, tab: Any, url: str) -> None:
        self.tab = tab
        tab.goto(url)
        tab.wait_for_selector(".ncf-plan, .ncf-none")
        for button in tab.locator("button.ncf-more").all():
            button.click()
        tab.select_option("text=Change >> .. >> select >> nth=-1", index=1)
        lines = tab.locator(".ncf-line").all()
        self.shaped = [at + 1 for at, line in enumerate(lines) if line.locator("button.ncf-lock").count()]
        self.ranged = [at + 1 for at, line in enumerate(lines) if line.locator(".ncf-handles").count()]
        tab.wait_for_selector("[aria-busy=true]", state="detached")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--touches", type=int, default=50)
    parser.add_argument("--cases", type=int, default=10_000, help="the rows of the table")
    parser.add_argument("--clicks", type=int, default=40, help="how often each kind of click in the table")
    parser.add_argument("--rows", type=int, default=3, help="the examples that are looked at, one after the other")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        print(explainer(Path(folder), options.cases))
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS.split())
        with Server(Path(folder), ["page"]) as server:
            rng = np.random.default_rng(0)
            for row in range(options.rows):
                tab = chromium.new_page(viewport={"width": 1280, "height": 900}, locale="en-GB")
                opened = Opened(tab, f"http://127.0.0.1:{server.port}/")
                tab.select_option("label:text('Case') >> .. >> select", str(row))
                tab.wait_for_selector("[aria-busy=true]", state="detached")
                tab.select_option("text=Change >> .. >> select >> nth=-1", index=1)
                tab.wait_for_selector("[aria-busy=true]", state="detached")
                for _ in range(options.touches):
                    kind, milliseconds = touch(opened, rng)
                    # Where there is no way, the service looks for what stands in it, which takes longer.
                    has_way = kind == "what-if" or not tab.locator(".ncf-none").count()
                    found[kind if has_way else "no way is found"].append(milliseconds)
                tab.close()
            if options.touches:
                print_times("touch", found)
            if options.clicks:
                url = f"http://127.0.0.1:{server.port}/"
                measure_cases(chromium, url, Path(folder) / "cases.csv", options.clicks)
        chromium.close()


def print_times(title: str, found: Mapping[str, list[float]]) -> None:
    """Print a table of milliseconds."""
    print(f"| {title} | times | p50, ms | p95, ms | longest, ms |\n|---|---:|---:|---:|---:|")
    every = [one for of_kind in found.values() for one in of_kind]
    ways = [one for kind, of_kind in found.items() for one in of_kind if kind != "no way is found"]
    totals = [("all with a way", ways)] * (len(ways) < len(every)) + [("all", every)]
    for kind, times in [*sorted(found.items()), *totals]:
        p50, p95 = np.quantile(times, [0.5, 0.95])
        print(f"| {kind} | {len(times)} | {p50:.0f} | {p95:.0f} | {max(times):.0f} |")


if __name__ == "__main__":
    main()
