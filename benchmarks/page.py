"""The page, touched by a hand that does not wait: how long it takes from a touch to the answer on the screen.

A server in a process of its own at a free port of 127.0.0.1, and Debian's chromium in front of it, on one machine. The
time is taken in the browser: from the event of a touch until the plans of its answer are drawn. Adult with a forest of
100 trees, 39,073 training rows (the loan book without NICECF_DATA): python benchmarks/page.py [--touches N]
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections import defaultdict
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


def explainer(folder: Path) -> str:
    """Fit and save an explainer that knows what is plausible; what it is of."""
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
    parser.add_argument("--rows", type=int, default=3, help="the examples that are looked at, one after the other")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        print(explainer(Path(folder)))
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
                    found[kind].append(milliseconds)
                tab.close()
        chromium.close()
    print("| touch | times | p50, ms | p95, ms | longest, ms |\n|---|---:|---:|---:|---:|")
    every = [one for of_kind in found.values() for one in of_kind]
    for kind, times in [*sorted(found.items()), ("all", every)]:
        p50, p95 = np.quantile(times, [0.5, 0.95])
        print(f"| {kind} | {len(times)} | {p50:.0f} | {p95:.0f} | {max(times):.0f} |")


if __name__ == "__main__":
    main()
