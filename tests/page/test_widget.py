"""The page as a widget: the same module, with the kernel in place of a service."""

import re

import numpy as np
import pytest

from nicecf import NICE, Wording
from nicecf.benchmark.datasets import loan_book
from nicecf.service import page as page_files
from nicecf.service import widget as widget_module
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


def without_kernel(browser, shown):
    """Open what an exported page shows of a widget: its module runs, and no kernel answers."""
    tab = browser.new_context(viewport={"width": 360, "height": 800}).new_page()
    tab.set_content('<html lang="en"><title>x</title><main id="cell"></main></html>')
    tab.evaluate("(html) => { window.kernel = () => new Promise(() => {}); window.html = html; }", shown)
    tab.evaluate(
        HOST.replace("get: (name) => name", "get: () => window.html"), [page_files.as_one_module("widget.js"), ""]
    )
    return tab


SECONDS = widget_module._SECONDS


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch):
    """However busy the machine is, what is shown is what ``explain`` finds."""
    monkeypatch.setattr(widget_module, "_SECONDS", 60.0)


EVIL = "<img src=x onerror=\"document.title='stolen'\">"


def by_income(X):
    return np.where(X[["income"]] > 30_000, [0.1, 0.9], [0.9, 0.1])


def widget(n=4, model=by_income, wording=None, classes=("denied", "approved")):
    """A widget of an explainer that takes no time, with rows of which some are denied; and the rows."""
    pytest.importorskip("anywidget")
    X, y = loan_book(60)
    X = X[["income", "savings"]].fillna(0.0)
    nice = NICE(model, classes=list(classes)).fit(X, np.where(y == "denied", *classes))
    X = X.iloc[np.arange(n) % 60]
    return nice.widget(X, wording=wording), nice, X


def html_of(shown):
    bundle = shown._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "<" not in bundle["text/plain"]
    return bundle["text/html"]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "run the cell to use it"), ("de", "die Zelle aus, um es zu benutzen")]
)
def test_what_cannot_show_a_widget_says_that_it_needs_a_kernel_and_shows_the_results(language, said):
    shown, nice, X = widget(wording=Wording(language=language))
    html = html_of(shown)
    assert said in html
    expected = nice.explain(X).worded(Wording(language=language))._repr_html_()
    assert expected in html
    assert html_of(shown) == shown.without_kernel == html


def test_where_no_kernel_answers_the_table_is_seen_and_scrolls_in_its_own_box(browser):
    shown, nice, X = widget(8)
    tab = without_kernel(browser, html_of(shown))
    table = tab.locator("table")
    assert table.is_visible()
    assert table.locator("tbody tr").count() == 8
    cells = table.locator("tbody tr").first.locator("td").all_inner_texts()
    (change,) = nice.explain(X)[0].changes
    assert change.feature in cells[3]
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
    tab.context.close()


def test_hostile_classes_are_only_text_where_no_kernel_answers(browser):
    shown, *_ = widget(classes=(EVIL, "approved"))
    tab = without_kernel(browser, html_of(shown))
    assert EVIL in tab.inner_text("#cell")
    assert tab.locator("img").count() == 0
    tab.context.close()


def test_a_few_rows_are_explained_and_none_before_the_widget_is_shown(monkeypatch):
    explained = []
    explain = NICE.explain
    monkeypatch.setattr(NICE, "explain", lambda nice, X, **o: explained.append((len(X), o)) or explain(nice, X, **o))
    shown, *_ = widget(500)
    assert explained == []
    html = html_of(shown)
    html_of(shown)
    ((n_rows, options),) = explained
    assert n_rows == 20
    assert options["time_budget"] == 60.0
    assert SECONDS <= 1.0
    assert "the first 20 of 500 rows" in html


def test_a_model_that_fails_leaves_the_sentence():
    is_broken = []

    def model(X):
        if is_broken:
            raise RuntimeError("no more")
        return by_income(X)

    shown, *_ = widget(model=model)
    is_broken.append(True)
    html = html_of(shown)
    assert "run the cell to use it" in html
    assert "<table" not in html


def test_without_rows_the_results_are_those_of_the_examples(loans):
    pytest.importorskip("anywidget")
    html = html_of(loans.widget())
    first = Desk.of(loans, None, None).rows[:20]
    assert loans.explain(first)._repr_html_() in html


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
