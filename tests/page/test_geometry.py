"""Whatever the page shows is there to be read: visible, inside the window, and as wide as its text; in every state."""

import json

import pytest

from nicecf.service.keys import Keys
from page.conftest import csv_of, served

WIDTHS = (360, 800, 1600)
# The smallest side of what a finger is to hit, in pixels.
FINGER = 44
# Each control with its label where it has one around or beside it, and the sizes of both together.
TARGETS = """
() => [...document.querySelectorAll("button, select, input, summary, a")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".ncf-hidden, .ncf-skip"))
  .map((one) => {
    const whole = one.closest(".ncf-radio, .ncf-check, .ncf-handles") ?? one;
    const box = whole.getBoundingClientRect();
    return [one.tagName.toLowerCase(), one.className || one.type, Math.round(box.width), Math.round(box.height)];
  })
"""

# What scripts of the page itself could not do: its content security policy forbids styles from elsewhere.
STYLE = """
(rule) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rule);
  document.adoptedStyleSheets = [sheet];
}
"""


def buttons(one, place):
    """The button at a place of the first plan: keep, try, letter, record."""
    return one.page.locator("article").nth(0).locator("footer button").nth(place)


def start(one, tmp_path):
    one.opened()


def shaped(one, tmp_path):
    start(one, tmp_path)
    one.page.locator(".ncf-case").evaluate("form => form.open = true")
    for more in one.page.locator("button.ncf-more").all():
        more.click()
    one.page.locator("button.ncf-lock[aria-pressed]").nth(0).click()
    one.answered()


def no_way(one, tmp_path):
    start(one, tmp_path)
    one.page.locator(".ncf-case").evaluate("form => form.open = true")
    for lock in one.page.locator("button.ncf-lock[aria-pressed]").all():
        lock.click()
    one.answered()
    one.page.wait_for_selector(".ncf-none")


def stopped(one, tmp_path):
    start(one, tmp_path)
    one.stop_early()
    one.page.wait_for_selector(".ncf-none")


def letter(one, tmp_path):
    start(one, tmp_path)
    buttons(one, 2).click()
    one.page.wait_for_selector("dialog")


def comparison(one, tmp_path):
    start(one, tmp_path)
    for plan in one.page.locator("article:visible").all():
        plan.locator("footer button").nth(0).click()
    one.page.wait_for_selector(".ncf-kept table")


def what_if(one, tmp_path):
    start(one, tmp_path)
    buttons(one, 1).click()
    one.answered()
    one.page.wait_for_selector(".ncf-outcome-box .ncf-decided")


def refused(one, tmp_path):
    start(one, tmp_path)
    one.page.locator(".ncf-case").evaluate("form => form.open = true")
    field = one.page.locator(".ncf-line input[inputmode=decimal]").nth(0)
    field.fill("about 40 or 50")
    field.blur()
    one.page.wait_for_selector(".ncf-refusal:visible")


def failed(one, tmp_path):
    start(one, tmp_path)
    sentence = json.dumps({"error": "parameters.rules: income may only become higher, and lower"})
    one.intercept("explain", lambda route: route.fulfill(status=400, body=sentence, content_type="application/json"))
    one.page.locator(".ncf-pick select").nth(1).select_option("")
    one.page.locator(".ncf-alert summary").click()
    one.forgive("400")


def table(one, tmp_path):
    start(one, tmp_path)
    csv_of(5).to_csv(tmp_path / "new.csv", index=False)
    one.page.get_by_role("tab").nth(1).click()
    one.page.set_input_files("input[type=file]", tmp_path / "new.csv")
    one.page.locator(".ncf-batch .ncf-main:visible").click()
    one.page.wait_for_selector(".ncf-batch table")


STATES = (start, shaped, no_way, stopped, letter, comparison, what_if, refused, failed, table)


def fits(one):
    for width in WIDTHS:
        one.page.set_viewport_size({"width": width, "height": 900})
        assert one.squeezed() == [], width
        assert not one.is_too_wide(), width


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
@pytest.mark.parametrize("locale", [pytest.param("en-GB", marks=pytest.mark.deep), "de-DE"])
def test_everything_with_text_is_as_wide_as_its_text(visit, service, tmp_path, state, locale):
    """In German, whose words are longer; in English with the others that take long."""
    one = visit(service.url, locale=locale)
    state(one, tmp_path)
    fits(one)


@pytest.mark.deep
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_in_any_state_is_in_the_way_of_a_screen_reader(visit, service, tmp_path, state, scheme):
    one = visit(service.url, color_scheme=scheme, viewport={"width": 800, "height": 900})
    state(one, tmp_path)
    assert one.violations() == []


def test_so_is_the_form_for_a_key(visit, loans):
    with served(loans, keys=Keys(())) as locked:
        one = visit(locked.url, locale="de-DE")
        one.page.wait_for_selector(".ncf-key")
        fits(one)
        one.forgive("401")


def test_what_is_squeezed_is_noticed(visit, service):
    """What a rule of the stylesheet once did to the letter, and other ways to lose text."""
    one = visit(service.url)
    letter(one, None)
    for style, what, where in (
        (".ncf-dialog { container-type: inline-size }", "no size", "ncf-letter"),
        (".ncf-gauge-text { width: 3rem }", "narrower than a word", "ncf-gauge-text"),
        (".ncf-decided { white-space: nowrap; width: 5rem }", "wider than its box", "ncf-decided"),
        (".ncf-decision { overflow: hidden; height: 1rem }", "cut off", "ncf-decided"),
        (".ncf-head { transform: translateX(90vw) }", "outside of the window", "ncf-hint"),
        (".ncf-pick select { width: 3rem }", "does not fit", "select"),
    ):
        one.page.evaluate(STYLE, style)
        assert [said for said in one.squeezed() if said.startswith(what) and where in said], style
    one.page.evaluate(STYLE, "")
    assert one.squeezed() == []


@pytest.mark.parametrize("state", [shaped, no_way, comparison, what_if, table], ids=lambda state: state.__name__)
def test_on_a_phone_a_finger_hits_every_control(visit, service, tmp_path, state):
    one = visit(service.url, viewport={"width": 360, "height": 780}, has_touch=True)
    state(one, tmp_path)
    targets = one.page.evaluate(TARGETS)
    assert len(targets) > 10
    assert [target for target in targets if min(target[2:]) < FINGER] == []


def test_plans_that_are_kept_have_the_width_beside_the_form(visit, service):
    for width in WIDTHS:
        one = visit(service.url, viewport={"width": width, "height": 900})
        comparison(one, None)
        kept, plans, beside = (
            one.page.locator(name).bounding_box() for name in (".ncf-kept", ".ncf-middle", ".ncf-whatif")
        )
        ends = [box["x"] + box["width"] for box in (plans, beside)]
        assert kept["x"] == pytest.approx(plans["x"], abs=1)
        assert kept["x"] + kept["width"] == pytest.approx(max(ends), abs=1)
