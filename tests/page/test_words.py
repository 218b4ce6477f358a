"""Numbers as people of a language write them, in the browser: read, refused, and written into fields."""

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE
from nicecf.service import page as page_files
from page.conftest import served

# Of each text the number that it is in English and in German; None where it is refused.
NUMBERS = [
    ("0", 0, 0),
    (" 17 ", 17, 17),
    ("0.35", 0.35, None),
    ("0,35", None, 0.35),
    ("0,350", None, 0.35),
    ("0.350", 0.35, None),
    ("1,234", 1234, 1.234),
    ("1.234", 1.234, 1234),
    ("1,234.5", 1234.5, None),
    ("1.234,5", None, 1234.5),
    ("1,23", None, 1.23),
    ("1.23", 1.23, None),
    ("12,34,567", None, None),
    ("1,234,567", 1234567, None),
    ("1.234.567", None, 1234567),
    ("1,2345", None, 1.2345),
    ("01,234", None, 1.234),
    ("1 234 567", 1234567, 1234567),
    ("1\N{NO-BREAK SPACE}234", 1234, 1234),
    ("1\N{NARROW NO-BREAK SPACE}234,5", None, 1234.5),
    ("12 34", None, None),
    ("1 234.567", 1234.567, None),
    ("1.234 567", None, None),
    ("-5", -5, -5),
    ("\N{MINUS SIGN}5", -5, -5),
    ("\N{MINUS SIGN} 5", -5, -5),
    ("+5", 5, 5),
    ("--5", None, None),
    (".5", 0.5, None),
    (",5", None, 0.5),
    ("5.", 5, None),
    ("5,", None, 5),
    ("1e3", 1000, 1000),
    ("1.5e-7", 1.5e-7, None),
    ("1,5e-7", None, 1.5e-7),
    ("1e999", None, None),
    ("Infinity", None, None),
    ("0x10", None, None),
    ("12 EUR", None, None),
    ("1-2", None, None),
    ("", None, None),
]
PARSE = """
async ([phrases, texts]) => {
  const { Words } = await import("/page/words.js");
  const words = new Words(phrases);
  return texts.map((text) => words.parse(text));
}
"""
WRITE = PARSE.replace("texts.map((text) => words.parse(text))", "texts.map((number) => words.written(number))")


@pytest.fixture(scope="module")
def tab(browser):
    X = pd.DataFrame({"share": np.linspace(0, 1, 101).round(2), "income": np.arange(101) * 1_000})
    y = np.where(X["share"] > 0.5, "yes", "no")
    nice = NICE(lambda X: np.column_stack([X["share"] <= 0.5, X["share"] > 0.5]).astype(float), classes=["no", "yes"])
    with served(nice.fit(X, y)) as service:
        page = browser.new_page(locale="de-DE")
        page.goto(service.url)
        page.wait_for_selector(".ncf-menu > *")
        yield page
        page.close()


@pytest.mark.parametrize(("language", "place"), [("en", 1), ("de", 2)])
def test_a_number_is_read_as_its_language_writes_it_or_not_at_all(tab, language, place):
    found = tab.evaluate(PARSE, [page_files.words(language), [one[0] for one in NUMBERS]])
    expected = [one[place] for one in NUMBERS]
    texts = [one[0] for one in NUMBERS]
    assert dict(zip(texts, found, strict=True)) == dict(zip(texts, expected, strict=True))


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_is_written_into_a_field_is_read_as_the_same_number(tab, language):
    rng = np.random.default_rng(0)
    numbers = [0, -1, 0.1, 1e-9, 1e21, 1e150, 2024, 12345, 60400, -1234567.891, 1 / 3, 1_000_000]
    numbers += (rng.normal(size=300) * 10.0 ** rng.integers(-9, 12, 300)).tolist()
    texts = tab.evaluate(WRITE, [page_files.words(language), numbers])
    assert tab.evaluate(PARSE, [page_files.words(language), texts]) == numbers
    assert texts[6:9] == {"en": ["2024", "12,345", "60,400"], "de": ["2024", "12.345", "60.400"]}[language]


def test_a_field_says_what_it_cannot_read_and_keeps_its_value_until_then(tab):
    field = tab.get_by_label("share", exact=True)
    field.fill("0,35")
    field.blur()
    tab.wait_for_selector("[aria-busy=true]", state="detached")
    assert field.get_attribute("aria-invalid") is None
    assert field.input_value() == "0,35"
    for text in ("0.41", "viel"):
        field.fill(text)
        field.blur()
        tab.wait_for_selector("[aria-busy=true]", state="detached")
        said = tab.locator(".ncf-refusal:visible")
        assert said.inner_text().startswith(f"„{text}“ lässt sich hier nicht als Zahl lesen.")
        assert field.get_attribute("aria-describedby") == said.get_attribute("id")
        assert field.input_value() == text
    # Another touch is answered, of the value of before; what is no number is still told.
    tab.locator("button.ncf-lock").nth(1).click()
    tab.wait_for_selector("[aria-busy=true]", state="detached")
    assert tab.locator(".ncf-refusal:visible").count() == 1
    field.fill("0,41")
    field.blur()
    tab.wait_for_selector(".ncf-refusal:visible", state="detached")
