"""The page as a widget: the same module, with the kernel in place of a service."""

import re

import numpy as np
import pytest

from nicecf import NICE, Wording
from nicecf.benchmark.datasets import loan_book
from nicecf.service import page as page_files
from nicecf.service.widget import Desk

# What a notebook does for a widget, in a few lines: the module is loaded, and its messages go to Python and back.
HOST = """
async ([module, css]) => {
  const listeners = [];
  const model = {
    on: (name, listener) => listeners.push(listener),
    off: () => {},
    get: (name) => name,
    send: async (message) => { const answer = await window.kernel(message); listeners.forEach((one) => one(answer)); },
    set: (name, value) => { window.kept = value; },
    save_changes: () => {},
  };
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const el = document.getElementById("cell");
  widget.render({ model, el });
}
"""


@pytest.fixture
def notebook(browser):
    """Shows a widget for an explainer and rows in a cell of some width; fails for errors in the console."""
    context = browser.new_context(locale="en-GB", viewport={"width": 1300, "height": 900})
    errors = []

    def shown(nice, X=None, wording=None, background="#ffffff", width=900):
        desk = Desk.of(nice, X, wording)
        tab = context.new_page()
        tab.set_default_timeout(20_000)
        tab.on("console", lambda one: errors.append(one.text) if one.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.expose_function("kernel", desk.answer)
        tab.set_content(
            f'<html lang="en"><title>x</title><main id="cell" style="width: {width}px; background: {background}"></main></html>'
        )
        tab.evaluate(HOST, [page_files.as_one_module("widget.js"), page_files.file("page.css").decode()])
        tab.wait_for_selector(".ncf-plan, .ncf-none")
        tab.wait_for_selector("[aria-busy=true]", state="detached")
        return tab

    yield shown
    context.close()
    assert errors == []


def rows(n=4):
    X, _ = loan_book(60, seed=3)
    return X[:n].set_axis([f"C{at}" for at in range(n)])


def test_where_no_kernel_answers_a_sentence_says_so(browser):
    """As in a page that was exported from a notebook, which was blank."""
    tab = browser.new_context().new_page()
    tab.set_content('<html lang="en"><title>x</title><main id="cell"></main></html>')
    tab.evaluate("() => { window.kernel = () => new Promise(() => {}); }")
    tab.evaluate(HOST, [page_files.as_one_module("widget.js"), ""])
    assert tab.inner_text("#cell") == "without_kernel"
    tab.close()


@pytest.mark.parametrize(
    ("language", "said"), [("en", "run the cell to use it"), ("de", "die Zelle aus, um es zu benutzen")]
)
def test_what_cannot_show_a_widget_shows_a_sentence(language, said):
    pytest.importorskip("anywidget")
    X, y = loan_book(60)
    X = X[["income", "savings"]].fillna(0.0)
    model = lambda X: np.where(X[["income"]] > 30_000, [0.1, 0.9], [0.9, 0.1])
    shown = NICE(model, classes=["denied", "approved"]).fit(X, y).widget(X[:2], wording=Wording(language=language))
    bundle = shown._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    assert said in bundle["text/html"]
    assert said in bundle["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert said in shown.without_kernel


class TestTheWidget:
    def test_shows_the_rows_it_was_given_and_their_plans(self, notebook, loans):
        tab = notebook(loans, rows())
        options = tab.get_by_label("Case", exact=True).locator("option").all_inner_texts()
        assert [re.sub(":.*", "", one) for one in options[:4]] == [
            "Example C0",
            "Example C1",
            "Example C2",
            "Example C3",
        ]
        assert tab.get_by_label("income", exact=True).input_value() == f"{rows()['income'].iloc[0]:,}"
        assert tab.locator("article").count() > 1
        assert tab.get_by_role("tab").count() == 0  # no uploads
        assert tab.get_by_role("button", name="Copy a link to this").count() == 0

    def test_touches_are_answered_by_the_kernel_and_what_is_kept_is_known_there(self, notebook, loans):
        tab = notebook(loans, rows())
        tab.click('button[aria-label="Keep age as it is"]')
        tab.wait_for_selector("[aria-busy=true]", state="detached")
        tab.locator("article").nth(0).get_by_role("button", name="Keep").click()
        tab.locator("article").nth(0).get_by_role("button", name="Try it").click()
        tab.wait_for_selector(".ncf-outcome-box .ncf-decided")
        (kept,) = tab.evaluate("window.kept")
        assert kept
        assert set(kept) <= set(rows().columns) - {"age"}
        tab.locator("article").nth(0).get_by_role("button", name="Letter").click()
        assert "decision" in tab.locator("dialog pre").inner_text()

    def test_what_is_refused_is_told_at_its_field(self, notebook, loans):
        tab = notebook(loans, rows())
        tab.get_by_label("savings", exact=True).fill("1e200")
        tab.keyboard.press("Tab")
        tab.wait_for_selector(".ncf-refusal:visible")
        assert "too large" in tab.locator(".ncf-refusal:visible").inner_text()

    def test_is_dark_in_a_dark_notebook_and_has_one_column_in_a_narrow_cell(self, notebook, loans):
        assert notebook(loans, rows()).locator(".ncf").first.get_attribute("data-theme") == "light"
        tab = notebook(loans, rows(), background="#111111", width=500)
        assert tab.locator(".ncf").first.get_attribute("data-theme") == "dark"
        left, middle = (tab.locator(one).bounding_box() for one in (".ncf-left", ".ncf-middle"))
        assert left["x"] == middle["x"]

    def test_speaks_the_words_it_was_given(self, notebook, loans):
        tab = notebook(loans, rows(), Wording(names={"income": "yearly income"}, classes={"denied": "declined"}))
        assert tab.get_by_label("yearly income", exact=True).count() == 1
        assert "declined" in tab.locator(".ncf-results").inner_text()


class TestTheDesk:
    def test_rows_must_be_like_those_of_fit(self, loans):
        with pytest.raises(Exception, match="income"):
            Desk.of(loans, rows().drop(columns="income"), None)

    def test_without_rows_there_are_examples(self, loans):
        examples = Desk.of(loans, None, None).answer({"number": 1, "verb": "examples", "body": None})["answer"]
        assert len(examples) > 10

    def test_whatever_goes_wrong_there_is_an_answer(self, loans, monkeypatch):
        desk = Desk.of(loans, rows(), None)
        monkeypatch.setattr("nicecf.service.description.about", lambda version: 1 / 0)
        answer = desk.answer({"number": "a 1", "verb": "about", "body": None})
        assert (answer["number"], answer["kind"]) == ("a 1", "failed")

    def test_a_model_that_fails_is_told_with_its_message(self):
        X, y = loan_book(100)
        is_broken = []

        def model(X):
            if is_broken:
                raise RuntimeError("no more")
            yes = (X["credit_score"].to_numpy(float) > 680).astype(float)
            return np.column_stack([yes, 1 - yes])

        desk = Desk.of(NICE(model, classes=["approved", "denied"]).fit(X, y), X[:1], None)
        (example,) = desk.answer({"number": 1, "verb": "examples", "body": None})["answer"]
        is_broken.append(True)
        answer = desk.answer({"number": 2, "verb": "explain", "body": {"instances": [example["row"]]}})
        assert (answer["number"], answer["kind"]) == (2, "failed")
        assert "no more" in answer["error"]


def test_the_widget_itself_holds_the_module_and_answers_messages(loans):
    widget = loans.widget(rows())
    sent = []
    widget.send = sent.append
    widget._handle_custom_msg({"number": 7, "verb": "about", "body": None}, [])
    assert sent[0]["number"] == 7
    assert sent[0]["answer"]["classes"] == ["approved", "denied"]
    assert "export default" in widget._esm
    assert widget.kept == []


def test_every_name_on_the_page_is_there_once_so_that_its_modules_can_be_one():
    modules = [name for name in page_files._files() if name.endswith(".js") and name not in ("start.js",)]
    names = []
    for module in modules:
        text = page_files.file(module).decode()
        names += re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", text, re.MULTILINE)
    assert len(names) > 30
    assert sorted({name for name in names if names.count(name) > 1}) == []
    whole = page_files.as_one_module("widget.js")
    assert not re.search(r"^import ", whole, re.MULTILINE)
    assert all(f"class {name}" in whole for name in ("Page", "CaseForm", "KernelClient", "Words"))


def test_every_phrase_that_the_page_says_is_there():
    said = set()
    for name in page_files._files():
        if name.endswith(".js"):
            text = page_files.file(name).decode()
            said |= set(re.findall(r'words\.say\("(\w+)"', text)) | set(re.findall(r'action\("(\w+)"', text))
    for language in page_files.LANGUAGES:
        assert sorted(name for name in said if name not in page_files.words(language)) == []
    assert len(said) > 60
