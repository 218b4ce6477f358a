"""The report in a real browser: at every width its words are within the window, and it needs no script."""

import pytest

from nicecf import Constraints, Wording
from nicecf.benchmark.datasets import loan_book

# Elements with words of their own that are shown, but not those in a box that scrolls by itself.
OUTSIDE = """
() => [...document.querySelectorAll("main *")]
  .filter((one) => [...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim()))
  .filter((one) => one.checkVisibility() && !one.closest(".wide, .search[hidden], svg"))
  .map((one) => [one.getBoundingClientRect(), one.textContent.slice(0, 40)])
  .filter(([box]) => box.left < 0 || box.right > innerWidth + 0.5 || box.width < 8 || box.height < 8)
  .map(([box, words]) => `${words}: ${box.left} to ${box.right}`)
"""


@pytest.fixture(scope="module")
def pages(loans, tmp_path_factory):
    """The report on some loans in both languages, some of them without a way."""
    X, _ = loan_book(80, seed=3)
    fixed = ["age", "education", "years_employed", "region", "credit_score", "late_payments", "interest_rate"]
    cfs = loans.explain(X, target_class="approved", constraints=Constraints(immutable=fixed, max_changes=1))
    assert 0 < cfs.found.sum() < len(cfs)
    folder = tmp_path_factory.mktemp("reports")
    for language in ("en", "de"):
        cfs.to_html(folder / f"{language}.html", wording=Wording(language=language))
    return folder


@pytest.mark.parametrize("width", [360, 800, 1600])
@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("de", "dark")])
def test_all_words_are_within_the_window_at_every_width(browser, pages, language, scheme, width):
    with browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme) as context:
        tab = context.new_page()
        tab.goto(f"file://{pages}/{language}.html")
        for _ in range(2):
            assert tab.evaluate("document.documentElement.scrollWidth") == width
            assert tab.evaluate(OUTSIDE) == []
            tab.click(".search button")  # now every case is open


def test_without_script_every_case_is_there_and_can_be_opened(browser, pages):
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(f"file://{pages}/en.html")
        assert tab.locator(".row").count() == 80
        assert not tab.locator(".search").is_visible()
        row = tab.locator(".row.changed").first
        row.locator("> summary").click()
        assert row.locator("table").is_visible()
        tab.locator('input[value="none"]').check()
        assert not row.is_visible()


def test_the_sentence_is_what_is_read_first(browser, pages):
    with browser.new_context(viewport={"width": 360, "height": 800}) as context:
        tab = context.new_page()
        tab.goto(f"file://{pages}/en.html")
        box = tab.locator(".lead").bounding_box()
        assert box["y"] + box["height"] < 800
        assert box["width"] > 300
        sizes = tab.eval_on_selector_all(
            "main p", "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
        )
        assert tab.eval_on_selector(".lead", "one => parseFloat(getComputedStyle(one).fontSize)") == max(sizes)
