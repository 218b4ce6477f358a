"""Many cases at once: a file is explained, and its rows are sorted, filtered, grouped, opened and saved."""

import contextlib
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from nicecf import NICE
from nicecf.service.limits import Limits
from nicecf.tables.files.formulas import protected
from page.conftest import csv_of, is_of_a_touch, served

ENGLISH = {"tab": "A table", "explain": "Explain all", "done": "explained:", "save": "Save as CSV"}
GERMAN = {"tab": "Eine Tabelle", "explain": "erklären", "done": "erklärt:", "save": "Als CSV speichern"}


def people(n_rows, seed=0):
    """Rows of a small table: who has enough of two things gets a yes; the name is no feature."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.uniform(1_000, 6_000, n_rows).round(2),
            "years": rng.integers(0, 20, n_rows),
            "job": rng.choice(["clerk", "nurse", "smith"], n_rows),
            "savings": np.where(rng.random(n_rows) < 0.1, np.nan, rng.integers(0, 9, n_rows) + 0.5),
        }
    )
    return pd.concat([pd.DataFrame({"name": [f"P{at}" for at in range(n_rows)]}), X], axis=1)


def points(X):
    return X["income"].to_numpy(float) / 1_000 + X["years"].to_numpy(float) / 10


def chances(X):
    yes = 1 / (1 + np.exp(4 - points(X)))
    return np.column_stack([1 - yes, yes])


def explainer(**options):
    X = people(300, seed=1).drop(columns="name")
    y = np.where(chances(X)[:, 1] > 0.5, "yes", "no")
    return NICE(chances, classes=["no", "yes"], **options).fit(X, y)


@pytest.fixture(scope="module")
def small():
    with served(explainer(), limits=Limits(report_rows=40)) as one:
        yield one


class Table:
    """The view of many cases in a tab of the browser."""

    def __init__(self, one, words=ENGLISH):
        self.one, self.page, self.words = one, one.page, words
        self.page.get_by_role("tab", name=words["tab"]).click()

    def read(self, X, path):
        content = X if isinstance(X, bytes) else X.to_csv(index=False).encode()
        (path / "new.csv").write_bytes(content)
        with self.page.expect_response("**/*:read"):
            self.page.set_input_files("input[type=file]", path / "new.csv")
        return self

    def begin(self):
        self.page.get_by_role("button", name=self.words["explain"]).click()
        return self

    def explained(self):
        self.begin()
        return self.done()

    def done(self):
        self.page.wait_for_selector(f".ncf-batch [role=status] >> text={self.words['done']}")
        return self

    def status(self):
        return self.page.locator(".ncf-batch > [role=status]").inner_text()

    def labels(self):
        return self.page.locator(".ncf-cases tbody th").all_inner_texts()

    def column(self, title):
        heads = [text.rstrip(" ↕↑↓") for text in self.page.locator(".ncf-cases thead th").all_inner_texts()]
        return self.page.locator(f".ncf-cases tbody tr > :nth-child({heads.index(title) + 1})").all_inner_texts()

    def head(self, title):
        return self.page.locator(".ncf-cases thead th", has_text=re.compile(f"^{title}$"))

    def sort(self, title):
        self.head(title).locator("button").click()
        return self.head(title).get_attribute("aria-sort")

    def choose(self, label, option):
        self.page.locator(".ncf-tools-row").get_by_label(label).select_option(label=option)

    def state(self, name):
        return self.page.locator(".ncf-states button", has_text=name)

    def counted(self):
        return self.page.locator(".ncf-counted").inner_text()

    def groups(self):
        heads = self.page.locator(".ncf-groups thead th").all_inner_texts()
        lines = [
            line.locator("th, td.ncf-number").all_inner_texts()
            for line in self.page.locator(".ncf-groups tbody tr").all()
        ]
        return pd.DataFrame(lines, columns=heads).set_index(heads[0]).astype(int)

    def income(self):
        """Return the income of the case in the first tab."""
        field = self.page.locator(".ncf-case").get_by_label("income", exact=True)
        return float(field.input_value().replace(",", ""))

    def saved(self):
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=self.words["save"]).click()
        return download.value.path().read_bytes()


@pytest.fixture
def opened(visit, tmp_path):
    """A table of some rows in the page of a service, explained unless told otherwise."""

    def table(service, X, *, target=None, is_explained=True, words=ENGLISH, **options):
        one = visit(service.url, **options).opened()
        if target is not None:
            label = "Wanted decision" if words is ENGLISH else "Gewünschte Entscheidung"
            one.page.get_by_label(label).select_option(label=target)
            one.answered()
        table = Table(one, words).read(X, tmp_path)
        return table.explained() if is_explained else table

    return table


@pytest.fixture(scope="module", name="X")
def rows_of_people():
    return people(230, seed=2)


def yes(X):
    return (chances(X)[:, 1] > 0.5).tolist()


class TestAFile:
    def test_it_is_explained_with_progress_a_table_and_a_report(self, opened, service, tmp_path):
        table = opened(service, csv_of(60), is_explained=False)
        page = table.page
        page.wait_for_selector("text=new.csv: 60 rows were read. Columns that the model does not know: customer.")
        before = table.one.asked("explain")
        table.explained()
        assert table.one.asked("explain") == before + 3
        assert table.labels() == [f"C{at}" for at in range(60)]
        out = pd.read_csv(io.BytesIO(table.saved()))
        assert out["Case"].tolist() == [f"C{at}" for at in range(60)]
        assert set(out["Decision"]) == {"approved", "denied"}
        with page.expect_download() as download:
            page.get_by_role("button", name="Save a report").click()
        assert "<h1" in download.value.path().read_text(encoding="utf-8")
        page.get_by_role("button", name="C7", exact=True).click()
        table.one.answered()
        assert page.get_by_role("tab", name="One case").get_attribute("aria-selected") == "true"
        assert table.income() == csv_of(60)["income"][7]

    def test_what_is_wrong_with_it_is_told(self, opened, small, X):
        table = opened(small, X[:3].assign(years="old"), is_explained=False)
        table.page.wait_for_selector(".ncf-alert:visible")
        assert "column 'years' holds 'old'" in table.page.locator(".ncf-alert").text_content()
        table.one.forgive("400")

    def test_another_one_is_not_mixed_with_the_one_before(self, opened, small, X, tmp_path):
        table = opened(small, X[:30])
        table.read(X[40:44], tmp_path).page.wait_for_selector("text=4 rows were read.")
        assert table.page.locator(".ncf-cases:visible").count() == 0
        table.explained()
        assert table.labels() == X["name"][40:44].tolist()

    def test_a_row_without_a_need_to_change_does_not_count_as_one_with_a_way(self, opened, small, X):
        n_yes = sum(yes(X[:40]))
        assert 2 < n_yes < 38
        english = opened(small, X[:40], target="yes")
        assert english.status() == f"40 rows explained: {40 - n_yes} with a way, {n_yes} need no change, 0 without."
        german = opened(small, X[:40], target="yes", words=GERMAN, locale="de-DE")
        assert german.status() == f"40 Zeilen erklärt: {40 - n_yes} mit einem Weg, {n_yes} brauchen keine Änderung, 0 ohne Weg."  # fmt: skip

    def test_a_way_that_is_just_over_the_line_is_one_where_none_is_safely_over_it(self, opened, X):
        X = X[:30].drop(columns="name")
        is_rich = X["income"] > 3_000
        model = lambda X: np.column_stack([1 - (chance := np.where(X["income"] > 3_000, 0.55, 0.2)), chance])
        with served(NICE(model, classes=["no", "yes"]).fit(X, np.where(is_rich, "yes", "no"))) as service:
            table = opened(service, X, target="yes")
            assert table.status().startswith(
                f"30 rows explained: {(~is_rich).sum()} with a way, {is_rich.sum()} need no change"
            )
            assert set(table.column("What would change")) == {"income", "No change needed"}

    def test_what_comes_to_nothing_is_told_apart(self, opened, small, X):
        answers = [
            {"found": False, "decision": "no", "probability": 0.9, "text": "none", "counterfactuals": []},
            {"found": False, "decision": "no", "probability": 0.8, "text": "late", "counterfactuals": [], "stopped_early": True},
        ]  # fmt: skip
        table = opened(small, X[:2], is_explained=False)
        body = json.dumps({"explanations": answers})
        table.page.route("**/*:explain", lambda route: route.fulfill(body=body, content_type="application/json"))
        table.explained()
        assert table.status() == "2 rows explained: 0 with a way, 0 need no change, 1 without, 1 stopped early."
        assert table.column("What would change") == ["No way", "Stopped early"]
        table.state("Stopped early").click()
        assert table.labels() == ["P1"]


class TestOrder:
    def test_every_column_sorts_up_down_and_as_in_the_file(self, opened, small, X):
        X = X[:60]
        table = opened(small, X)
        assert table.sort("Probability of yes") == "ascending"
        up = X["name"].iloc[np.argsort(points(X), kind="stable")].tolist()
        assert table.labels() == up
        assert table.sort("Probability of yes") == "descending"
        assert table.labels() == X["name"].iloc[np.argsort(-points(X), kind="stable")].tolist()
        assert table.sort("Probability of yes") == "none"
        assert table.labels() == X["name"].tolist()
        for title in ("Case", "Decision", "What would change", "Decision then"):
            before = table.column(title)
            assert table.sort(title) == "ascending"
            after = table.column(title)
            assert sorted(after) == sorted(before)
            key = (lambda text: (text.count(","), text)) if title == "What would change" else (lambda text: (len(text), text)) if title == "Case" else str  # fmt: skip
            assert after == sorted(before, key=key)
        assert table.page.locator(".ncf-cases [aria-sort=ascending]").count() == 1

    def test_columns_of_the_file_are_shown_and_sorted_on_demand(self, opened, small, X):
        X = X[:30]
        assert X["savings"].isna().any()
        table = opened(small, X)
        table.page.locator(".ncf-columns summary").click()
        table.page.locator(".ncf-columns").get_by_label("savings").check()
        assert table.column("savings") == ["missing" if np.isnan(value) else f"{value:g}" for value in X["savings"]]
        table.page.locator(".ncf-columns summary").click()
        for ascending in (True, False):
            table.sort("savings")
            expected = X.sort_values("savings", ascending=ascending, kind="stable", na_position="last")
            assert table.labels() == expected["name"].tolist()
        table.page.locator(".ncf-columns summary").click()
        table.page.locator(".ncf-columns").get_by_label("savings").uncheck()
        assert table.labels() == X["name"].tolist()

    def test_a_page_at_a_time_is_drawn_and_the_table_says_which_lines_they_are(self, opened, small, X):
        table = opened(small, X)
        page = table.page
        assert page.locator(".ncf-cases tbody tr").count() == 100
        assert page.locator(".ncf-cases").get_attribute("aria-rowcount") == "231"
        assert page.get_by_role("button", name="Back").is_disabled()
        page.get_by_role("button", name="Next").click()
        assert page.locator(".ncf-pager").inner_text().split("\n")[2] == "101 to 200"
        page.get_by_role("button", name="Last").click()
        assert table.labels() == X["name"][200:].tolist()
        assert page.locator(".ncf-cases tbody tr").first.get_attribute("aria-rowindex") == "202"
        assert page.get_by_role("button", name="Next").is_disabled()
        table.sort("Case")  # begins with the first page again
        assert table.labels()[0] == "P0"


class TestFilters:
    def test_they_show_rows_by_decision_result_change_and_text_together(self, opened, small, X):
        X = X[:80]
        table = opened(small, X, target="yes")
        table.choose("Decision", "no")
        is_no = ~np.array(yes(X))
        assert table.labels() == X["name"][is_no].tolist()
        assert table.counted().startswith(f"{is_no.sum()} of 80 rows shown.")
        table.choose("What would change", "income")
        changes = table.column("What would change")
        assert changes
        assert all("income" in one for one in changes)
        table.page.get_by_label("Search").fill("NURSE p1")
        assert table.labels() == [name for name in table.labels() if name.startswith("P1")]
        jobs = dict(zip(X["name"], X["job"], strict=True))
        assert {jobs[name] for name in table.labels()} == {"nurse"}
        table.page.get_by_label("Search").fill("nobody")
        assert table.page.locator(".ncf-cases tbody").inner_text() == "No row is like that."
        table.page.get_by_role("button", name="Show all").click()
        assert table.labels() == X["name"].tolist()
        assert table.page.evaluate("document.activeElement.type") == "search"
        table.state("No change needed").click()
        assert table.labels() == X["name"][~is_no].tolist()
        assert table.state("No change needed").get_attribute("aria-pressed") == "true"
        assert table.page.evaluate("document.activeElement.dataset.key") == "unneeded"
        assert table.state("With a way").inner_text().split()[-1] == str(is_no.sum())

    def test_groups_have_counts_and_a_click_shows_one(self, opened, small, X):
        table = opened(small, X, target="yes")
        table.choose("Group by", "job")
        expected = pd.crosstab(X["job"], np.where(yes(X), "No change needed", "With a way"))
        groups = table.groups()
        assert groups["All"].to_dict() == X["job"].value_counts().to_dict()
        for title in expected:
            assert groups[title].to_dict() == expected[title].to_dict()
        nurse = table.page.locator(".ncf-groups").get_by_role("button", name="nurse")
        nurse.click()
        assert table.counted().startswith(f"{(X['job'] == 'nurse').sum()} of 230")
        assert nurse.get_attribute("aria-pressed") == "true"
        assert table.groups().equals(groups)
        nurse.click()
        assert table.counted().startswith("230 of 230")
        table.choose("Group by", "Decision")
        assert table.groups()["All"].to_dict() == {"yes": sum(yes(X)), "no": 230 - sum(yes(X))}
        table.choose("Group by", "What would change")
        for feature, count in table.groups()["All"].items():
            table.page.locator(".ncf-groups").get_by_role("button", name=feature).click()
            assert table.counted().startswith(f"{count} of 230")
        table.choose("Group by", "nothing")
        assert table.counted().startswith("230 of 230")
        assert table.page.locator(".ncf-groups:visible").count() == 0


class TestKeyboard:
    def test_arrows_go_from_row_to_row_and_enter_opens_one(self, opened, small, X):
        table = opened(small, X)
        page = table.page
        focused = lambda: page.evaluate("document.activeElement.innerText")
        assert page.locator(".ncf-cases tbody button[tabindex='0']").count() == 1
        page.locator(".ncf-cases tbody button").first.focus()
        for _ in range(3):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        assert focused() == "P2"
        page.keyboard.press("End")
        assert focused() == "P99"
        page.keyboard.press("ArrowDown")
        assert focused() == "P99"
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
        assert page.locator(".ncf-cases tbody button[tabindex='0']").all_inner_texts() == ["P1"]
        page.keyboard.press("Enter")
        table.one.answered()
        assert page.get_by_role("tab", name="One case").get_attribute("aria-selected") == "true"
        assert page.evaluate("document.activeElement.tagName") == "H1"
        assert table.income() == X["income"][1]
        page.get_by_role("tab", name="A table").click()  # everything is as it was left
        assert table.labels() == X["name"][:100].tolist()

    def test_a_column_is_sorted_and_a_page_turned_without_losing_the_focus(self, opened, small, X):
        table = opened(small, X)
        page = table.page
        table.head("Decision then").locator("button").focus()
        page.keyboard.press("Enter")
        assert table.head("Decision then").get_attribute("aria-sort") == "ascending"
        assert page.evaluate("document.activeElement.innerText").startswith("Decision then")
        page.get_by_role("button", name="Last").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.getAttribute('role')") == "region"

    def test_the_row_that_has_the_focus_keeps_it_while_others_arrive(self, opened, small, X):
        table = opened(small, X, is_explained=False)
        with holding(table.page) as held:
            table.begin()
            held.go()
            table.page.wait_for_selector(".ncf-cases tbody >> text=P24")
            table.sort("Probability of yes")
            table.page.get_by_role("button", name="P24", exact=True).focus()
            before = table.labels().index("P24")
            held.go()
            table.page.wait_for_selector(".ncf-cases tbody >> text=P49")
            assert table.labels().index("P24") != before
            assert table.page.evaluate("document.activeElement.innerText") == "P24"
            assert table.page.locator(".ncf-cases tbody button[tabindex='0']").all_inner_texts() == ["P24"]


class Held:
    """Requests that wait until they are let go, one after the other."""

    def __init__(self, page):
        self.page, self.routes = page, []
        self.bodies, self.is_over = [], False

    def put(self, route):
        if self.is_over or not is_of_a_touch(route.request):
            route.continue_()
            return
        self.bodies.append(json.loads(route.request.post_data))
        self.routes.append(route)

    def next(self):
        for _ in range(400):
            if self.routes:
                return self.routes.pop(0)
            self.page.wait_for_timeout(10)
        return pytest.fail("nothing was asked")

    def go(self):
        self.next().continue_()

    def answer(self, status, error="busy", **headers):
        self.next().fulfill(
            status=status, headers=headers, body=json.dumps({"error": error}), content_type="application/json"
        )

    @property
    def sizes(self):
        return [len(body["instances"]) for body in self.bodies]


@contextlib.contextmanager
def holding(page):
    held = Held(page)
    page.route("**/*:explain", held.put)
    yield held
    held.is_over = True
    for route in held.routes:
        route.continue_()


class TestTrouble:
    def test_what_is_there_when_it_is_stopped_is_kept_and_the_rest_is_explained_later(self, opened, small, X, tmp_path):
        table = opened(small, X[:60], is_explained=False)
        page = table.page
        with holding(page) as held:
            table.begin()
            held.go()
            page.wait_for_selector(".ncf-cases tbody >> text=P24")
            waiting = held.next()
            page.get_by_role("button", name="Stop").click()
            waiting.continue_()
            table.done()
            assert len(table.labels()) == 50
            assert table.status().startswith("50 rows explained:")
            assert len(pd.read_csv(io.BytesIO(table.saved()))) == 50
            page.get_by_role("button", name="Go on").click()
            held.go()
            table.page.wait_for_selector("text=60 rows explained:")
            assert held.sizes == [25, 25, 10]
            asked = [row for body in held.bodies for row in body["instances"]]
        assert [row["income"] for row in asked] == X["income"][:60].tolist()
        assert table.labels() == X["name"][:60].tolist()
        assert page.get_by_role("button", name="Go on").count() == 0

    def test_a_service_that_is_busy_is_asked_again_when_it_says(self, opened, small, X):
        table = opened(small, X[:40], is_explained=False)
        with holding(table.page) as held:
            table.begin()
            held.go()
            for status in (429, 503):
                held.answer(status, **{"Retry-After": "1"})
                table.page.wait_for_selector("text=The service is busy. It goes on by itself.")
                assert table.page.locator(".ncf-alert:visible").count() == 0
            held.go()
            table.done()
            assert held.sizes == [25, 15, 15, 15]
        assert table.labels() == X["name"][:40].tolist()
        table.one.forgive("429", "503")

    def test_stop_ends_the_wait_for_a_service_that_is_busy(self, opened, small, X):
        table = opened(small, X[:40], is_explained=False)
        with holding(table.page) as held:
            table.begin()
            held.answer(503, **{"Retry-After": "3000"})
            table.page.wait_for_selector("text=The service is busy. It goes on by itself.")
            table.page.get_by_role("button", name="Stop").click()
            table.page.get_by_role("button", name="Explain all").wait_for()
            assert held.sizes == [25]
        table.one.forgive("503")

    def test_a_row_that_cannot_be_explained_costs_its_own_answer_only(self, opened, small, X):
        bad = 123_456.5
        X = X[:40].assign(income=X["income"].where(X.index != 13, bad))
        table = opened(small, X, is_explained=False)

        def answer(route):
            rows = json.loads(route.request.post_data)["instances"]
            if any(row["income"] == bad for row in rows):
                route.fulfill(status=502, body='{"error": "the model failed on this request"}')
            else:
                route.continue_()

        table.page.route("**/*:explain", answer)
        table.explained()
        assert table.status().endswith(", 1 not explained.")
        assert table.labels() == X["name"][:40].tolist()
        assert [at for at, text in enumerate(table.column("What would change")) if text == "Not explained"] == [13]
        saved = pd.read_csv(io.BytesIO(table.saved()))
        assert saved["Result"][13] == "Not explained"
        assert saved["What would have to be different"][13] == "the model failed on this request"
        table.one.forgive("502")

    def test_where_no_row_can_be_explained_it_says_so_and_can_go_on(self, opened, small, X):
        table = opened(small, X[:40], is_explained=False)
        failing = lambda route: route.fulfill(status=502, body='{"error": "the model failed"}')
        table.page.route("**/*:explain", failing)
        table.explained()
        assert "the model failed" in table.page.locator(".ncf-alert").text_content()
        assert table.status().startswith("3 rows explained:")
        table.page.unroute("**/*:explain")
        table.page.get_by_role("button", name="Go on").click()
        table.page.wait_for_selector("text=40 rows explained:")
        assert table.status().endswith(", 3 not explained.")
        table.one.forgive("502")

    def test_the_service_goes_away_and_the_rest_is_explained_when_it_is_back(self, opened, X):
        with served(explainer()) as service:
            table = opened(service, X[:60], is_explained=False)
            with holding(table.page) as held:
                table.begin()
                held.go()
                table.page.wait_for_selector(".ncf-cases tbody >> text=P24")
                waiting = held.next()
                service.stop()
                waiting.continue_()
                table.page.wait_for_selector("text=The service does not answer.")
            table.done()
            assert len(table.labels()) == 25
            service.start()
            table.page.get_by_role("button", name="Go on").click()
            table.page.wait_for_selector("text=60 rows explained:")
            assert table.labels() == X["name"][:60].tolist()
            table.one.forgive("ERR_")

    def test_another_language_keeps_the_rows_and_their_answers(self, opened, small, X):
        table = opened(small, X[:30])
        n_asked = table.one.asked("explain")
        changes = table.column("What would change")
        table.page.get_by_label("Language").select_option("de")
        table.page.get_by_role("tab", name="Eine Tabelle").click()
        assert table.labels() == X["name"][:30].tolist()
        assert table.column("Was sich ändern müsste") == changes
        assert table.one.asked("explain") == n_asked + 1  # that of the first tab


class TestReports:
    def test_they_have_the_rows_shown_up_to_a_limit_that_is_told(self, opened, small, X):
        table = opened(small, X[:60])
        hint = table.page.locator("text=A report has at most 40 rows")
        assert hint.is_visible()
        table.sort("Probability of yes")
        asked = []
        table.page.route(
            "**/*:report", lambda route: asked.append(json.loads(route.request.post_data)) or route.continue_()
        )
        with table.page.expect_download():
            table.page.get_by_role("button", name="Save a report").click()
        expected = X[:60].iloc[np.argsort(points(X[:60]), kind="stable")]["income"].tolist()
        assert [row["income"] for row in asked[0]["instances"]] == expected[:40]
        table.choose("Group by", "job")
        table.page.locator(".ncf-groups").get_by_role("button", name="nurse").click()
        assert hint.count() == 0 or not hint.is_visible()


class TestCSV:
    @pytest.mark.parametrize(("words", "locale"), [(ENGLISH, "en-GB"), (GERMAN, "de-DE")], ids=["english", "german"])
    def test_a_saved_file_is_that_of_the_language_and_is_read_again(self, opened, small, words, locale, tmp_path):
        names = ["=1+1", " =A1", "\t@x", "+491234", "-1.5", "\uff1d1", 'Ada; Bob, "Eve"', "two\nlines"]
        X = people(8, seed=3).assign(name=names)
        X.loc[:, "income"] = [1234.125, 1.234, 999.999, 0.5, 1e-7, 5000, 3, 4.25]
        table = opened(small, X, target="yes", words=words, locale=locale)
        content = table.saved()
        assert content.startswith(b"\xef\xbb\xbf")
        sep, decimal = (",", ".") if words is ENGLISH else (";", ",")
        out = pd.read_csv(io.BytesIO(content), sep=sep, decimal=decimal)
        assert out.columns[0] == ("Case" if words is ENGLISH else "Fall")
        assert out.iloc[:, 0].tolist() == [protected(name) for name in names]
        assert out.iloc[:, 0].tolist()[:6] == ["'=1+1", "' =A1", "'\t@x", "+491234", "-1.5", "'\uff1d1"]
        states = ["No change needed", "With a way"] if words is ENGLISH else ["Keine Änderung nötig", "Mit einem Weg"]
        assert out.iloc[:, 1].tolist() == [states[0] if one else states[1] for one in yes(X)]
        assert out["income"].tolist() == pytest.approx(X["income"].tolist())
        assert out.iloc[:, 3].tolist() == pytest.approx(chances(X)[:, 1].tolist())
        new = out["income (new)" if words is ENGLISH else "income (neu)"]
        assert new.dtype == float
        table.read(content, tmp_path).page.wait_for_selector("text=/8 (rows were read|Zeilen wurden gelesen)/")
        read = f"{small.url}v1/models/loans:read"
        upload = table.page.request.post(read, data=content, headers={"Content-Type": "text/csv"}).json()
        assert [row["income"] for row in upload["instances"]] == X["income"].tolist()
        assert [row["job"] for row in upload["instances"]] == X["job"].tolist()
        assert [row["savings"] for row in upload["instances"]] == X["savings"].replace({np.nan: None}).tolist()
        assert upload["labels"] == names

    def test_numbers_that_could_be_thousands_are_none(self, opened, small, tmp_path):
        X = people(2, seed=3).assign(income=[1.234, 999.125], savings=np.nan)
        table = opened(small, X, words=GERMAN, locale="de-DE")
        content = table.saved()
        assert b";1,2340;" in content
        table.read(content, tmp_path).page.wait_for_selector("text=2 Zeilen wurden gelesen")
        read = f"{small.url}v1/models/loans:read"
        upload = table.page.request.post(read, data=content, headers={"Content-Type": "text/csv"}).json()
        assert [row["income"] for row in upload["instances"]] == [1.234, 999.125]

    def test_only_rows_that_are_shown_are_saved_in_their_order(self, opened, small, X):
        table = opened(small, X)
        table.choose("Decision", "no")
        table.sort("Probability of yes")
        chosen = X[~np.array(yes(X))]
        expected = chosen["name"].iloc[np.argsort(points(chosen), kind="stable")].tolist()
        assert pd.read_csv(io.BytesIO(table.saved()))["Case"].tolist() == expected

    def test_text_is_protected_as_in_the_other_files_of_nicecf(self, visit, small):
        page = visit(small.url).opened().page
        signs = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "x", "5", "'", ""]
        before = ["", " ", "\t", "\u3000", "\u200b", "'", "\n", "\xa0", "\x85", "\ufeff", "\x1f"]
        after = ["", "1", " 1", "-1.5e3", "A1", " ", "\x1f", "\x1fA", "\uff11"]
        texts = [a + sign + b for a in before for sign in signs for b in after]
        shown = page.evaluate("async (texts) => { const { withApostrophe } = await import('/page/csv.js'); return texts.map(withApostrophe); }", texts)  # fmt: skip
        assert shown == [protected(text) for text in texts]


class TestNames:
    def test_columns_may_be_called_like_parts_of_the_language_or_of_the_file(self, opened, tmp_path):
        names = {"income": "constructor", "years": "__proto__", "job": "toString"}
        own = people(20, seed=4).rename(columns=names)
        X = people(300, seed=1).rename(columns=names).drop(columns="name").assign(Decision=1.5)
        back = {new: old for old, new in names.items()}
        y = np.where(chances(X.rename(columns=back))[:, 1] > 0.5, "yes", "no")
        nice = NICE(lambda X: chances(X.rename(columns=back)), classes=["no", "yes"]).fit(X, y)
        with served(nice) as service:
            table = opened(service, own.assign(Decision=1.5), is_explained=False)
            table.explained()
            assert set(table.column("What would change")) <= {"constructor", "__proto__", "constructor, __proto__", "__proto__, constructor"}  # fmt: skip
            table.choose("Group by", "to string")
            assert table.groups()["All"].to_dict() == own["toString"].value_counts().to_dict()
            table.page.locator(".ncf-columns summary").click()
            table.page.locator(".ncf-columns").get_by_label("__proto__").check()
            assert table.column("__proto__") == own["__proto__"].astype(str).tolist()
            out = pd.read_csv(io.BytesIO(table.saved()))
            assert out["__proto__"].tolist() == own["__proto__"].tolist()
            assert out["Decision"].tolist() == [1.5] * 20
            assert set(out["Decision 2"]) == {"no", "yes"}
            table.read(table.saved(), tmp_path)
            table.page.wait_for_selector("text=20 rows were read.")


def test_scores_are_shown_where_there_are_no_decisions(opened):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"rooms": rng.integers(1, 8, 300), "age": rng.integers(0, 90, 300)})
    y = 100.0 * X["rooms"] - X["age"]
    with served(NICE(LinearRegression().fit(X, y)).fit(X, y)) as service:
        table = opened(service, X[:20])
        assert table.page.locator(".ncf-cases thead th").count() == 4
        assert [round(float(text.replace("\u2212", "-"))) for text in table.column("Score")] == y[:20].round().tolist()
        table.sort("Score")
        assert table.column("Case") == [str(at + 1) for at in np.argsort(y[:20], kind="stable")]
        assert table.page.locator(".ncf-tools-row").get_by_label("Decision").count() == 0


class TestForEverybody:
    @pytest.mark.parametrize(
        ("width", "scheme", "words", "locale"),
        [
            (360, "dark", GERMAN, "de-DE"),
            (800, "light", GERMAN, "de-DE"),
            (1600, "dark", ENGLISH, "en-GB"),
            pytest.param(360, "light", ENGLISH, "en-GB", marks=pytest.mark.deep),
            pytest.param(800, "dark", ENGLISH, "en-GB", marks=pytest.mark.deep),
            pytest.param(1600, "light", GERMAN, "de-DE", marks=pytest.mark.deep),
        ],
    )
    def test_everything_can_be_seen_and_heard(self, opened, small, X, width, scheme, words, locale):
        X = X.assign(name="Anna Maria von und zu " + X["name"])
        table = opened(
            small, X, words=words, locale=locale, viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        page = table.page
        page.locator(".ncf-tools-row select").last.select_option(index=3)
        page.locator(".ncf-cases thead button").nth(2).click()
        assert table.one.squeezed() == []
        page.locator(".ncf-columns summary").click()
        for box in page.locator(".ncf-columns input").all():
            box.check()
        assert table.one.squeezed() == []
        page.locator(".ncf-columns summary").click()
        assert table.one.squeezed() == []
        assert table.one.violations() == []
        assert not table.one.is_too_wide()
        box = page.locator(".ncf-cases-box").bounding_box()
        assert box["width"] >= min(width, 1_500) * 0.9
        assert box["height"] >= 300
        row = page.locator(".ncf-cases tbody tr").first.bounding_box()
        assert row["height"] < (90 if width == 1600 else 180)
