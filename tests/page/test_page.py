"""The page in a real browser: the whole journey, and the journeys that go wrong."""

import base64
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import nicecf
from nicecf import NICE, Constraints
from nicecf.benchmark.datasets import loan_book
from nicecf.service.keys import Keys, new_key
from page.conftest import csv_of, served

LOCK = 'button[aria-label="Keep {} as it is"]'
SHAPE = 'button[aria-label="Which changes of {} are possible?"]'


def first_feature(one):
    return sorted(one.features_of_plans()[0])[0]


def test_the_whole_journey(visit, service, loans, tmp_path):
    one = visit(service.url).opened()
    page = one.page
    assert page.locator("h1").inner_text() == "What would have to be different?"
    decision = page.locator(".ncf-decided strong").first.inner_text()
    assert decision in ("approved", "denied")
    assert "The line is at 50\N{NO-BREAK SPACE}%" in page.locator(".ncf-gauge-text").first.inner_text()
    badges = page.locator("article .ncf-badge").all_inner_texts()
    assert set(badges) == {"Fewest changes", "Smallest changes", "Most plausible"}
    outcomes = set(page.locator(".ncf-outcome").all_inner_texts())
    assert outcomes == {"approved", "denied"} - {decision}

    # Shape it: what the first plan changes must stay.
    locked = first_feature(one)
    page.click(LOCK.format(locked))
    one.answered()
    assert all(locked not in features for features in one.features_of_plans())
    assert page.locator(LOCK.format(locked)).get_attribute("aria-pressed") == "true"

    # Keep two, try one out.
    page.locator("article").nth(0).get_by_role("button", name="Keep").click()
    page.locator("article").nth(1).get_by_role("button", name="Keep").click()
    assert page.locator(".ncf-kept thead th").count() == 4
    page.locator("article").nth(0).get_by_role("button", name="Try it").click()
    one.answered()
    said = page.locator(".ncf-outcome-box .ncf-decided").inner_text()
    assert said.startswith("Then the model says:")
    assert decision not in said

    # The letter, and the record, which is replayed.
    page.locator("article").nth(0).get_by_role("button", name="Letter").click()
    letter = page.locator("dialog pre").inner_text()
    assert f"Its decision is: {decision}." in letter
    page.get_by_role("button", name="Close").click()
    with page.expect_download() as download:
        page.locator("article").nth(0).get_by_role("button", name="Record").click()
    download.value.save_as(tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text())
    assert locked.replace(" ", "_") in record["call"]["constraints"]["immutable"]
    assert nicecf.replay(record, loans).is_same

    # A link brings all of it back, and the service never hears of what is in it.
    page.get_by_role("button", name="Copy a link to this").click()
    page.wait_for_selector("text=The link is copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    again = visit(link).opened()
    again.page.wait_for_selector(".ncf-total >> text=…", state="detached")
    assert again.features_of_plans() == one.features_of_plans()
    assert again.page.locator(LOCK.format(locked)).get_attribute("aria-pressed") == "true"
    assert again.page.locator(".ncf-kept").inner_text() == page.locator(".ncf-kept").inner_text()
    fragment = link.partition("#")[2]
    assert len(fragment) > 200
    assert not any(fragment[:40] in path for path in service.paths)
    assert {url.split("/")[2] for _, url in one.requests + again.requests} == {service.url.split("/")[2]}


def test_a_case_does_not_name_what_is_protected_and_a_table_may(visit, tmp_path):
    X, y = loan_book(300)
    X = X[["age", "income", "dependents"]]
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    nice = NICE(model, constraints=Constraints(protected=["dependents"])).fit(X, y)
    with served(nice) as service:
        one = visit(service.url).opened()
        page = one.page
        named = lambda: "dependents" in page.locator("main").inner_html()
        assert page.locator(".ncf-lines .ncf-name").all_inner_texts() == ["age", "income"]
        assert page.locator(".ncf-whatif select option").all_inner_texts() == ["choose a feature", "age", "income"]
        for name in ("age", "income"):
            page.click(LOCK.format(name))
            one.answered()
        assert page.locator(".ncf-none").count() == 1
        assert not named()

        page.get_by_role("tab", name="A table").click()
        X[:3].to_csv(tmp_path / "new.csv", index=False)
        page.set_input_files("input[type=file]", tmp_path / "new.csv")
        page.get_by_role("button", name="Explain all").click()
        page.wait_for_selector("text=3 rows explained")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        assert "dependents" in download.value.path().read_text("utf-8-sig")

        row = {"age": 30, "income": 1_000, "dependents": "many"}
        state = {
            "model": "loans",
            "language": "en",
            "row": row,
            "example": 0,
            "shape": {},
            "most": None,
            "target": None,
        }
        link = {"version": 1, **state, "score": [None, None], "kept": []}
        fragment = base64.urlsafe_b64encode(json.dumps(link).encode()).decode().rstrip("=")
        other = visit(f"{service.url}#{fragment}")
        other.page.wait_for_selector(".ncf-alert >> text=The service did not accept this.")
        assert "dependents" not in other.page.locator("body").inner_html()
        other.forgive("400")


class TestShaping:
    @pytest.mark.deep
    def test_every_touch_is_one_question(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        for touch in (
            lambda: page.click(LOCK.format("age")),
            lambda: page.select_option("text=At most so many changes >> .. >> select", "2"),
            lambda: page.click(LOCK.format("age")),
        ):
            before = one.asked("explain")
            touch()
            one.answered()
            assert one.asked("explain") == before + 1

    def test_a_range_is_dragged_on_the_training_distribution_and_kept(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        page.click(SHAPE.format("credit score"))
        low = page.get_by_label("credit score: at least")
        low.focus()
        for _ in range(30):
            page.keyboard.press("ArrowRight")
        one.answered()
        bound = float(low.get_attribute("aria-valuetext"))
        assert page.locator(".ncf-outside").count() > 0
        for plan in page.locator("article").all():
            lines = plan.locator("ul.ncf-changes:not(.ncf-follows) li").all()
            for line in lines:
                if line.locator(".ncf-feature").inner_text() == "credit score":
                    assert float(line.locator("strong").inner_text()) >= bound

    @pytest.mark.deep
    def test_a_range_is_dragged_by_mouse(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        page.click(SHAPE.format("income"))
        handle = page.get_by_label("income: at most").bounding_box()
        y = handle["y"] + handle["height"] / 2
        page.mouse.move(handle["x"] + handle["width"] - 8, y)
        page.mouse.down()
        page.mouse.move(handle["x"] + handle["width"] / 2, y, steps=8)
        page.mouse.up()
        one.answered()
        assert page.locator(".ncf-chip", has_text="up to").count() == 1

    @pytest.mark.deep
    def test_one_way_only_and_what_is_hard(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        page.click(SHAPE.format("loan amount"))
        page.get_by_label("only down").check()
        page.get_by_label("hard").check()
        one.answered()
        assert page.locator(".ncf-chip").all_inner_texts()[:2] == ["only down", "hard"]

    @pytest.mark.deep
    def test_only_some_values_are_possible(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        page.click(SHAPE.format("purpose"))
        page.get_by_label("business").uncheck()
        one.answered()
        assert "5 values possible" in page.locator(".ncf-chip").all_inner_texts()

    def test_where_nothing_is_possible_it_says_which_lock_to_open_and_opens_it(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        examples = iter(range(36))
        while len(one.features_of_plans()[0]) > 1:  # a case for which one change is enough
            page.get_by_label("Case", exact=True).select_option(str(next(examples)))
            one.answered()
        for lock in page.locator("button.ncf-lock").all():
            lock.click()
        one.answered()
        assert page.locator(".ncf-none h3").inner_text() == "We found no way within these limits"
        assert "may not change" in page.locator(".ncf-none").inner_text()
        page.locator(".ncf-none button.ncf-main").click()
        page.wait_for_selector("article")
        one.answered()
        pressed = [lock.get_attribute("aria-pressed") for lock in page.locator("button.ncf-lock[aria-pressed]").all()]
        assert pressed.count("false") == 1
        page.get_by_role("button", name="Undo all my limits").click()
        one.answered()
        assert page.locator("button.ncf-lock[aria-pressed=true]").count() == 0

    def test_where_one_lock_is_not_enough_it_says_so_and_opens_all(self, visit):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 10, (300, 2)), columns=["a", "b"])
        y = np.where((X > 4).all(axis=1), "yes", "no")
        model = lambda X: np.column_stack([1 - (ok := (X > 4).all(axis=1).to_numpy(float)), ok])
        with served(NICE(model, classes=["no", "yes"]).fit(X, y)) as service:
            one = visit(service.url).opened()
            for value in "ab":
                one.page.get_by_label(value, exact=True).fill("1")
                one.page.keyboard.press("Tab")
                one.answered()
                one.page.click(LOCK.format(value))
                one.answered()
            assert (
                "Undoing one of these limits alone does not seem to be enough."
                in one.page.locator(".ncf-none").inner_text()
            )
            one.page.locator(".ncf-none").get_by_role("button", name="Undo all my limits").click()
            one.page.wait_for_selector("article")

    def test_limits_on_how_many_change_can_be_raised(self, visit):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 10, (300, 4)), columns=list("abcd"))
        y = np.where(X.sum(axis=1) > 22, "yes", "no")
        nice = NICE(LogisticRegression().fit(X, y)).fit(X, y)
        with served(nice) as service:
            one = visit(service.url).opened()
            for value in "abcd":
                one.page.get_by_label(value, exact=True).fill("1")
                one.page.keyboard.press("Tab")
                one.answered()
            one.page.select_option("text=At most so many changes >> .. >> select", "1")
            one.answered()
            assert one.page.locator(".ncf-none").count() == 1
            one.page.locator(".ncf-none button.ncf-main").click()
            one.page.wait_for_selector("article")


class TestTheCase:
    def test_a_value_is_typed_in_and_what_follows_is_computed(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        before = page.locator("output.ncf-derived").inner_text()
        page.get_by_label("monthly debt", exact=True).fill("2500")
        page.keyboard.press("Tab")
        one.answered()
        assert page.locator("output.ncf-derived").inner_text() != before
        assert page.locator("text=my own values").count() == 1
        assert page.get_by_label("Case", exact=True).input_value() == "own"
        assert page.locator("article, .ncf-none").count() > 0

    @pytest.mark.deep
    def test_a_value_can_be_missing(self, visit, service):
        one = visit(service.url).opened()
        one.page.get_by_label("savings", exact=True).fill("")
        one.page.keyboard.press("Tab")
        one.answered()
        one.page.get_by_label("housing", exact=True).select_option(label="missing")
        one.answered()
        assert one.page.locator(".ncf-alert:visible").count() == 0
        assert one.page.locator("article, .ncf-none").count() > 0

    def test_a_value_that_the_schema_refuses_is_told_at_its_field(self, visit, service):
        one = visit(service.url).opened()
        field = one.page.get_by_label("savings", exact=True)
        field.fill("1e200")
        one.page.keyboard.press("Tab")
        one.page.wait_for_selector(".ncf-refusal:visible")
        assert one.page.locator(".ncf-refusal:visible > span").inner_text() == "This number is too large."
        assert field.get_attribute("aria-invalid") == "true"
        field.fill("3000")
        one.page.keyboard.press("Tab")
        one.page.wait_for_selector("[aria-invalid]", state="detached")
        one.forgive("400")

    def test_other_values_are_tried_out_without_a_search(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        searches = one.asked("explain")
        page.get_by_label("Change", exact=True).select_option("credit_score")
        one.answered()
        slider = page.locator(".ncf-move input[type=range]")
        slider.focus()
        page.keyboard.press("End")
        one.answered()
        first = page.locator(".ncf-outcome-box .ncf-gauge-text").inner_text()
        page.keyboard.press("Home")
        one.answered()
        assert page.locator(".ncf-outcome-box .ncf-gauge-text").inner_text() != first
        assert one.asked("explain") == searches


class TestTrouble:
    def test_the_service_goes_away_and_comes_back(self, visit, loans):
        with served(loans) as service:
            one = visit(service.url).opened()
            service.stop()
            one.page.click(LOCK.format("age"))
            one.page.wait_for_selector("text=The service does not answer.")
            assert one.page.locator("article").count() > 0  # what was there is still there
            service.start()
            one.page.get_by_role("button", name="Try again").click()
            one.page.wait_for_selector(".ncf-alert", state="hidden")
            one.answered()
            assert one.page.locator(LOCK.format("age")).get_attribute("aria-pressed") == "true"
            one.forgive("ERR_CONNECTION")

    def test_a_key_is_asked_for_and_kept_for_this_tab(self, visit, loans, tmp_path):
        key, line = new_key("page")
        (tmp_path / "keys.txt").write_text(f"{line}\n")
        with served(loans, keys=Keys.of_file(str(tmp_path / "keys.txt"))) as service:
            one = visit(service.url)
            one.page.get_by_label("Key").fill("wrong")
            one.page.get_by_role("button", name="Open").click()
            one.page.wait_for_selector("text=This key was not accepted.")
            one.page.get_by_label("Key").fill(key)
            one.page.get_by_role("button", name="Open").click()
            one.opened()
            one.page.reload()
            one.opened()
            assert not any(key in path for path in service.paths)
            one.forgive("401")

    def test_a_link_of_something_else_is_said_to_be_so(self, visit, service):
        one = visit(f"{service.url}#eyJ2ZXJzaW9uIjoxLCJtb2RlbCI6ImxvYW5zIiwicm93Ijp7ImEiOjF9LCJrZXB0IjpbXX0").opened()
        assert one.page.locator("text=The link does not fit this model").count() == 1

    @pytest.mark.deep
    def test_a_model_that_fails_is_told_and_nothing_is_lost(self, visit, loans):
        class Fragile:
            classes_ = loans.model.classes_
            is_broken = False

            def predict_proba(self, X):
                if self.is_broken:
                    raise RuntimeError("secret of the model")
                return loans.model.predict_proba(X)

        model = Fragile()
        X, y = loan_book(200)
        with served(NICE(model).fit(X, y)) as service:
            one = visit(service.url).opened()
            model.is_broken = True
            one.page.click(LOCK.format("age"))
            one.page.wait_for_selector(".ncf-alert:visible")
            assert "secret" not in one.page.locator(".ncf-alert").inner_text()
            model.is_broken = False
            one.page.get_by_role("button", name="Try again").click()
            one.page.wait_for_selector(".ncf-alert", state="hidden")
            one.forgive("502")


class TestEveryModel:
    def test_many_classes_dates_booleans_and_two_models(self, visit, loans):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(
            {
                "size": rng.normal(10, 3, 300).round(1),
                "is_new": rng.random(300) < 0.5,
                "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), unit="D"),
                "grade": pd.Categorical(rng.choice(["low", "mid", "high"], 300), ["low", "mid", "high"], ordered=True),
            }
        )
        y = np.select([X["size"] > 12, X["size"] > 8], ["large", "medium"], "small")

        def probabilities(X):
            size = X["size"].to_numpy(float) + 0.5 * X["is_new"].to_numpy(float)
            scores = np.exp(-np.abs(size[:, None] - np.array([14.0, 10.0, 6.0])))
            return scores / scores.sum(axis=1, keepdims=True)

        nice = NICE(probabilities, classes=["large", "medium", "small"]).fit(X, y)
        with served({"loans": loans, "sizes": nice}) as service:
            one = visit(service.url).opened()
            page = one.page
            page.get_by_label("Model").select_option("sizes")
            page.wait_for_selector("label:has-text('is new')")
            one.opened()
            page.get_by_label("Wanted decision").select_option("small")
            one.answered()
            assert set(page.locator(".ncf-outcome").all_inner_texts()) <= {"small"}
            page.click(SHAPE.format("since"))
            page.get_by_label("only later").check()
            page.get_by_label("since: at most").focus()
            page.keyboard.press("ArrowLeft")
            one.answered()
            page.get_by_label("since", exact=True).fill("2021-05-03")
            page.keyboard.press("Tab")
            one.answered()
            assert page.locator(".ncf-alert:visible").count() == 0
            page.click(SHAPE.format("grade"))
            assert page.get_by_label("only up").count() == 1

    def test_a_model_of_scores(self, visit):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"rooms": rng.integers(1, 8, 300), "age": rng.integers(0, 90, 300)})
        y = 100.0 * X["rooms"] - X["age"]
        with served(NICE(LinearRegression().fit(X, y)).fit(X, y)) as service:
            one = visit(service.url).opened()
            page = one.page
            assert page.locator("article").count() > 0  # it begins with one that is not there yet
            page.get_by_label("Wanted: at least").fill("650")
            page.keyboard.press("Tab")
            one.answered()
            assert "score" in page.locator(".ncf-gauge-text").first.inner_text()
            assert "at least 650" in page.locator(".ncf-results").inner_text()

    @pytest.mark.deep
    def test_rules_of_the_explainer_are_no_choices(self, visit, loans):
        X = csv_of(300).drop(columns="customer")
        rules = Constraints(immutable=["age"], increasing=["credit_score"])
        y = loans.model.predict(X)
        with served(NICE(loans.model, constraints=rules).fit(X, y)) as service:
            one = visit(service.url).opened()
            assert one.page.locator(LOCK.format("age")).count() == 0
            assert one.page.locator(".ncf-line", has_text="cannot change").locator("label").inner_text() == "age"
            one.page.click(SHAPE.format("credit score"))
            assert one.page.locator(".ncf-shape").get_by_label("only down").count() == 0


class TestForEverybody:
    @pytest.mark.parametrize(
        ("width", "scheme"),
        [
            (360, "dark"),
            (800, "light"),
            pytest.param(1600, "dark", marks=pytest.mark.deep),
            pytest.param(360, "light", marks=pytest.mark.deep),
            pytest.param(800, "dark", marks=pytest.mark.deep),
            (1600, "light"),
        ],
    )
    def test_nothing_is_in_the_way_of_a_screen_reader_and_nothing_is_cut_off(self, visit, service, width, scheme):
        one = visit(service.url, viewport={"width": width, "height": 900}, color_scheme=scheme).opened()
        page = one.page
        assert one.violations() == []
        assert not one.is_too_wide()
        if page.locator(".ncf-case").get_attribute("open") != "":
            page.locator(".ncf-case > summary").click()
        page.click(SHAPE.format("income"))
        page.click(SHAPE.format("purpose"))
        page.locator("article").nth(0).get_by_role("button", name="Keep").click()
        page.locator("article").nth(0).get_by_role("button", name="Try it").click()
        one.answered()
        assert one.violations() == []
        assert not one.is_too_wide()

    @pytest.mark.deep
    def test_nor_where_there_is_no_way_in_the_letter_in_a_table_and_before_the_key(
        self, visit, service, loans, tmp_path
    ):
        one = visit(service.url).opened()
        one.page.locator("article").nth(0).get_by_role("button", name="Letter").click()
        one.page.wait_for_selector("dialog")
        assert one.violations() == []
        one.page.keyboard.press("Escape")
        for lock in one.page.locator("button.ncf-lock").all():
            lock.click()
        one.page.wait_for_selector(".ncf-none")
        one.answered()
        assert one.violations() == []
        csv_of(5).to_csv(tmp_path / "new.csv", index=False)
        one.page.get_by_role("tab", name="A table").click()
        one.page.set_input_files("input[type=file]", tmp_path / "new.csv")
        one.page.get_by_role("button", name="Explain all").click()
        one.page.wait_for_selector(".ncf-batch table")
        assert one.violations() == []
        with served(loans, keys=Keys(())) as locked:
            other = visit(locked.url)
            other.page.wait_for_selector(".ncf-key")
            assert other.violations() == []
            other.forgive("401")

    def test_by_keyboard_alone(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        page.locator(LOCK.format("age")).focus()
        page.keyboard.press("Space")
        one.answered()
        assert page.locator(LOCK.format("age")).get_attribute("aria-pressed") == "true"
        assert page.evaluate("document.activeElement.className") == "ncf-lock"  # the focus stays where it was
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.locator(SHAPE.format("age")).get_attribute("aria-expanded") == "true"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.type") == "radio"
        page.keyboard.press("ArrowDown")
        one.answered()
        page.get_by_role("tab", name="One case").focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.innerText") == "A table"

    def test_what_was_found_is_announced(self, visit, service):
        one = visit(service.url).opened()
        said = one.page.locator(".ncf-results [aria-live=polite]")
        n_plans = one.page.locator("article").count()
        assert said.inner_text() == f"{n_plans} ways to another decision."

    @pytest.mark.deep
    def test_in_german(self, visit, service):
        one = visit(service.url, locale="de-DE").opened()
        page = one.page
        assert page.evaluate("document.documentElement.lang") == "de"
        text = page.locator("body").inner_text()
        for word in (
            "Was müsste anders sein?",
            "Das Modell sagt:",
            "Wenigste Änderungen",
            "Die Grenze liegt bei 50\N{NO-BREAK SPACE}%",
        ):
            assert word in text
        for word in ("The ", "Keep", "Fewest", "instead of", "probability", "missing"):
            assert word not in text
        page.locator("article").nth(0).get_by_role("button", name="Brief").click()
        assert "Entscheidung" in page.locator("dialog pre").inner_text()
        page.keyboard.press("Escape")
        page.get_by_label("Sprache").select_option("en")
        page.wait_for_selector("text=The model says:")
        assert page.evaluate("document.documentElement.lang") == "en"


class TestWhatBelongsTogether:
    """What is shown is of the row, the model and the values that are there now, in whatever order answers come."""

    def delayed(self, visit, service, verb):
        """A visit in which the next request of a kind waits until it is let go."""
        one = visit(service.url).opened()
        held = []
        one.intercept(verb, held.append)
        return one, held

    def until(self, one, is_so):
        for _ in range(200):
            if is_so():
                return
            one.page.wait_for_timeout(25)
        pytest.fail("it did not happen")

    @pytest.mark.deep
    def test_a_late_answer_about_another_row_is_not_shown(self, visit, service):
        one, held = self.delayed(visit, service, "explain")
        case = one.page.get_by_label("Case", exact=True)
        case.select_option("5")
        self.until(one, lambda: held)
        assert one.page.locator("article").count() == 0  # nothing of the row before can be kept or tried
        case.select_option("9")
        held.pop().continue_()
        one.answered()
        shown = one.features_of_plans()
        again = visit(service.url).opened()
        again.page.get_by_label("Case", exact=True).select_option("9")
        again.answered()
        assert shown == again.features_of_plans()

    def test_an_edit_that_is_answered_late_does_not_undo_what_was_chosen_since(self, visit, service):
        one, held = self.delayed(visit, service, "what-if")
        one.page.get_by_label("savings", exact=True).fill("77777")
        one.page.keyboard.press("Tab")
        self.until(one, lambda: held)
        one.page.get_by_label("Case", exact=True).select_option("7")
        held.pop().continue_()
        one.page.wait_for_timeout(300)
        one.answered()
        assert one.page.get_by_label("savings", exact=True).input_value() != "77,777"
        assert one.page.get_by_label("Case", exact=True).input_value() == "7"

    def test_a_letter_is_of_the_plan_that_was_clicked_or_of_none(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        other = json.dumps({"explanations": [{"counterfactuals": []}]})
        one.intercept("explain", lambda route: route.fulfill(body=other, content_type="application/json"))
        page.locator("article").nth(1).get_by_role("button", name="Letter").click()
        page.wait_for_selector("text=The plans have changed; look again.")
        one.answered()
        assert page.locator("dialog").count() == 0
        changed = page.locator("article").nth(1).locator("ul.ncf-changes:not(.ncf-follows) strong").all_inner_texts()
        page.locator("article").nth(1).get_by_role("button", name="Letter").click()
        letter = page.locator("dialog pre").inner_text()
        assert all(value in letter for value in changed)

    def test_an_answer_that_breaks_off_is_told_and_the_page_goes_on(self, visit, service):
        one = visit(service.url).opened()
        one.intercept("explain", lambda route: route.fulfill(body="<html>", content_type="text/html"))
        one.page.click(LOCK.format("age"))
        one.page.wait_for_selector("text=The service does not answer.")
        one.page.get_by_role("button", name="Try again").click()
        one.page.wait_for_selector(".ncf-alert", state="hidden")
        one.answered()
        assert one.page.locator("article").count() > 0

    def test_a_kept_what_if_has_the_answer_of_its_own_values(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        page.get_by_label("Change", exact=True).select_option("credit_score")
        one.answered()
        field = page.locator(".ncf-move input[type=text]")
        field.fill("1e200")
        page.keyboard.press("Tab")
        page.wait_for_selector(".ncf-whatif .ncf-refusal:visible")
        assert page.locator(".ncf-case [aria-invalid]").count() == 0  # the case itself is all right
        field.fill("800")
        page.keyboard.press("Tab")
        one.answered()
        said = page.locator(".ncf-outcome-box .ncf-decided strong").inner_text()
        page.locator(".ncf-whatif").get_by_role("button", name="Keep").click()
        assert said in page.locator(".ncf-total td").nth(1).inner_text()
        one.forgive("400")

    @pytest.mark.deep
    def test_another_language_keeps_what_was_chosen(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        page.click(LOCK.format("age"))
        one.answered()
        page.locator("article").nth(0).get_by_role("button", name="Keep").click()
        page.locator("article").nth(0).get_by_role("button", name="Try it").click()
        one.answered()
        page.get_by_label("Language").select_option("de")
        page.wait_for_selector("text=Das Modell sagt:")
        page.wait_for_selector(".ncf-total >> text=…", state="detached")
        one.answered()
        assert page.locator("button.ncf-lock[aria-pressed=true]").count() == 1
        assert page.locator(".ncf-move").count() >= 1
        assert page.locator(".ncf-kept thead th").count() == 3

    @pytest.mark.deep
    def test_a_damaged_link_is_said_to_be_one(self, visit, service):
        for fragment in ("nonsense", "eyJ2ZXJzaW9uIjoxLCJyb3ciOnt9LCJrZXB0IjpbbnVsbF0sInNoYXBlIjpudWxsfQ"):
            one = visit(f"{service.url}#{fragment}").opened()
            assert one.page.locator("text=The link does not fit this model").count() == 1


class TestSliders:
    def slider(self, visit, values, label):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"x": values, "z": rng.normal(size=len(values))})
        y = np.where(X["z"] > 0, "yes", "no")
        nice = NICE(lambda X: np.column_stack([1 - (ok := (X["z"] > 0).to_numpy(float)), ok]), classes=["no", "yes"])
        service = served(nice.fit(X, y))
        one = visit(service.__enter__().url).opened()
        one.page.click(SHAPE.format("x"))
        return one, service, one.page.get_by_label(label)

    def test_measurements_without_decimals_of_their_own_have_open_ends(self, visit):
        values = np.random.default_rng(1).uniform(20.3, 170.67, 300)
        one, service, low = self.slider(visit, values, "x: at least")
        with_chips = one.page.locator(".ncf-chip")
        low.focus()
        one.page.keyboard.press("ArrowRight")
        one.answered()
        assert with_chips.count() == 1
        assert with_chips.inner_text().startswith("from ")  # nobody has chosen an upper end
        service.__exit__(None, None, None)

    @pytest.mark.deep
    def test_whole_numbers_have_a_place_each(self, visit):
        one, service, high = self.slider(visit, np.arange(300) % 7, "x: at most")
        high.focus()
        one.page.keyboard.press("ArrowLeft")
        one.answered()
        assert one.page.locator(".ncf-chip").inner_text() == "up to 5"
        service.__exit__(None, None, None)

    def test_durations_stay_where_they_were_put(self, visit):
        values = pd.to_timedelta(np.arange(300) % 41, unit="D")
        one, service, low = self.slider(visit, values, "x: at least")
        low.focus()
        for _ in range(12):
            one.page.keyboard.press("ArrowRight")
        one.answered()
        said = low.get_attribute("aria-valuetext")
        one.page.click(LOCK.format("z"))
        one.answered()
        one.page.get_by_role("button", name="Undo all my limits").first.is_visible()
        one.page.get_by_label("z", exact=True).fill("0.5")
        one.page.keyboard.press("Tab")
        one.answered()
        assert low.get_attribute("aria-valuetext") == said
        service.__exit__(None, None, None)
