"""Photograph the page for the documentation: ``python docs/make_screenshots.py`` writes docs/pictures/page*.png.

Needs Debian's chromium and playwright. The page is that of ``nicecf serve --demo``, light and dark.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image  # matplotlib brings it
from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent / "pictures"
FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-component-update"


def main() -> None:
    """Serve the demo, and photograph its page."""
    command = [sys.executable, "-m", "nicecf.cli", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        assert server.stdout is not None
        said = iter(server.stdout.readline, "")
        url = next(found[0] for line in said if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS.split())
        for ground, scheme in (("", "light"), ("-dark", "dark")):
            tab = browser.new_page(
                viewport={"width": 1640, "height": 1180}, color_scheme=scheme, locale="en-GB", device_scale_factor=1.25
            )
            tab.goto(url)
            path = FOLDER / f"page{ground}.png"
            photograph(tab, path)
            print(f"{path.relative_to(FOLDER.parent)}  {path.stat().st_size / 1000:.0f} kB")
        browser.close()
        server.terminate()


def photograph(tab: Page, path: Path) -> None:
    """A case that is locked and shaped a little, with a plan that is tried out."""
    tab.wait_for_selector("article")
    tab.click('button[aria-label="Keep customer of the bank as it is"]')
    tab.click('button[aria-label="Which changes of yearly income are possible?"]')
    tab.get_by_label("yearly income: at most").fill("90")
    tab.wait_for_selector("[aria-busy=true]", state="detached")
    for at in (0, 1):
        tab.locator("article").nth(at).get_by_role("button", name="Keep").click()
    tab.locator("article").nth(0).get_by_role("button", name="Try it").click()
    tab.wait_for_selector(".ncf-outcome-box .ncf-decided")
    tab.wait_for_selector(".ncf-region")
    tab.wait_for_timeout(6_500)  # until the note that a plan is kept has gone
    tab.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    tab.screenshot(path=path)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
