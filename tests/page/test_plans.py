"""What a person makes of the plans: names, how far over the line they are, what is proven, and where time was up."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE
from nicecf.service import page as page_files
from page.conftest import served

NAMES = """
async ([phrases, features, plans]) => {
  const { Words } = await import("/page/words.js");
  const { planNames } = await import("/page/names.js");
  const changes = (plan) => plan.map(([feature, after, goes, together]) => ({ feature, name: feature, after, goes, together: Boolean(together) }));
  return planNames(plans.map((plan) => ({ changes: changes(plan) })), { features }, new Words(phrases));
}
"""
FEATURES = [
    {"name": "savings", "kind": "number"},
    {"name": "debts", "kind": "number"},
    {"name": "since", "kind": "date", "edges_as_text": ["2020-01-01", "2021-01-01"]},
    {"name": "purpose", "kind": "text"},
]
UP, DOWN = ["savings", "5,000 EUR", 1], ["debts", "200 EUR", -1]


def shares(yes):
    return np.column_stack([1 - yes, yes])


def people(n_rows=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.integers(10, 90, n_rows), "debt": rng.integers(5, 60, n_rows)})
    return X, np.where((X["income"] > 50) & (X["debt"] < 40), "yes", "no")


@pytest.fixture(scope="module")
def trees():
    """What is proven of each change is more than a single value."""
    X, y = people()
    with served(NICE(RandomForestClassifier(10, random_state=0).fit(X, y)).fit(X, y)) as one:
        yield one


def parameters(one):
    """The parameters of each question for plans that the page has sent, with those for regions."""
    sent = []
    one.page.on("request", lambda request: request.url.endswith(":explain") and sent.append(request.post_data_json["parameters"]))  # fmt: skip
    return sent


def own_case(one, **values):
    for label, value in values.items():
        one.page.get_by_label(label, exact=True).fill(str(value))
        one.page.keyboard.press("Tab")
        one.answered()


class TestNames:
    @pytest.mark.parametrize(
        ("plans", "english", "german"),
        [
            ([[UP]], ["Higher savings"], ["Savings höher"]),
            ([[DOWN, UP]], ["Lower debts and higher savings"], ["Debts niedriger und savings höher"]),
            ([[["since", "2021-03-01", 1]]], ["Later since"], ["Since später"]),
            ([[["since", "2020-03-01", -1]]], ["Earlier since"], ["Since früher"]),
            ([[["purpose", "car", 0]]], ["Purpose: car"], ["Purpose: car"]),
            ([[UP, ["purpose", "car", 0, True]]], ["Higher savings"], ["Savings höher"]),
            (
                [[UP, DOWN, ["purpose", "car", 0]]],
                ["Higher savings, lower debts and 1 more"],
                ["Savings höher, debts niedriger und 1 weitere"],
            ),
            (
                [[UP, DOWN, ["purpose", "car", 0]], [UP, DOWN, ["since", "2021-03-01", 1]]],
                ["Higher savings, lower debts and purpose: car", "Higher savings, lower debts and later since"],
                ["Savings höher, debts niedriger und purpose: car", "Savings höher, debts niedriger und since später"],
            ),
            (
                [[UP], [["savings", "9,000 EUR", 1]]],
                ["Higher savings (5,000 EUR)", "Higher savings (9,000 EUR)"],
                ["Savings höher (5,000 EUR)", "Savings höher (9,000 EUR)"],
            ),
            (
                [[UP, DOWN], [UP, ["debts", "90 EUR", -1]]],
                ["Higher savings and lower debts (200 EUR)", "Higher savings and lower debts (90 EUR)"],
                ["Savings höher und debts niedriger (200 EUR)", "Savings höher und debts niedriger (90 EUR)"],
            ),
            (
                [[UP], [UP]],
                ["Higher savings (5,000 EUR)", "Higher savings (5,000 EUR) (2)"],
                ["Savings höher (5,000 EUR)", "Savings höher (5,000 EUR) (2)"],
            ),
        ],
        ids=str,
    )
    def test_a_plan_is_called_by_what_it_changes_and_no_two_are_called_the_same(
        self, visit, service, plans, english, german
    ):
        one = visit(service.url)
        for language, expected in (("en", english), ("de", german)):
            assert one.page.evaluate(NAMES, [page_files.words(language), FEATURES, plans]) == expected

    def test_at_most_three_plans_are_there_at_first_and_the_others_at_a_touch(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        examples = iter(range(36))
        while page.locator("article").count() < 5:
            page.get_by_label("Case", exact=True).select_option(str(next(examples)))
            one.answered()
        names = page.locator("article h3").all_inner_texts()
        assert len(set(names)) == len(names)
        assert page.locator("article:visible").count() == 3
        page.get_by_role("button", name=f"Show {len(names) - 3} more plans").click()
        assert page.locator("article:visible").count() == len(names)
        assert page.evaluate("document.activeElement.innerText") == names[3]
        assert page.get_by_role("button", name="more plan").count() == 0

    def test_each_change_says_how_far_it_moves_the_probability(self, visit, service):
        one = visit(service.url).opened()
        for plan in one.page.locator("article:visible").all():
            lines = plan.locator("ul.ncf-changes:not(.ncf-follows) li")
            gains = lines.locator(".ncf-gain").all_inner_texts()
            assert len(gains) == lines.count() > 0
            assert all("point" in gain for gain in gains)


class TestMargin:
    def test_plans_are_safely_over_the_line_unless_just_enough_is_chosen(self, visit, trees):
        one = visit(trees.url).opened()
        page = one.page
        sent = parameters(one)
        own_case(one, income=30, debt=50)
        assert sent[0]["min_probability"] == 0.6
        page.get_by_label("just enough").check()
        one.answered()
        assert "min_probability" not in sent[-1]
        page.get_by_role("button", name="Copy a link to this").click()
        link = page.evaluate("navigator.clipboard.readText()")
        again = visit(link).opened()
        assert again.page.get_by_label("just enough").is_checked()

    def test_where_nothing_is_safe_what_is_just_enough_is_found_and_told(self, visit):
        X, y = people()
        nice = NICE(lambda X: shares(np.where(X["income"] > 50, 0.55, 0.2)), classes=["no", "yes"]).fit(X, y)
        with served(nice) as service:
            one = visit(service.url).opened()
            own_case(one, income=20)
            assert one.page.locator("article").count() > 0
            assert "Nothing was found that is safely over the line" in one.page.locator(".ncf-remarks").inner_text()
            one.page.get_by_label("just enough").check()
            one.answered()
            assert one.page.locator("article").count() > 0
            assert one.page.locator(".ncf-remarks li").count() == 0

    def test_where_nothing_was_safe_the_next_touch_does_not_wait_for_what_is(self, visit):
        X, y = people()
        yes = lambda X: np.where(X["income"] > 50, np.where(X["debt"] < 10, 0.9, 0.55), 0.2)
        nice = NICE(lambda X: shares(yes(X)), classes=["no", "yes"]).fit(X, y)
        with served(nice) as service:
            one = visit(service.url).opened()
            own_case(one, income=20, debt=30)
            sent = parameters(one)
            one.page.click('button[aria-label="Keep debt as it is"]')
            one.answered()
            assert [asked.get("min_probability") for asked in sent] == [0.6, None]
            assert "Nothing was found that is safely over" in one.page.locator(".ncf-remarks").inner_text()
            one.page.click('button[aria-label="Keep debt as it is"]')
            one.answered()
            assert [asked.get("min_probability") for asked in sent] == [0.6, None, None]
            assert "is looked into after a moment" in one.page.locator(".ncf-remarks").inner_text()
            one.page.wait_for_selector(".ncf-remarks li", state="detached")  # there is a way now, and it is shown
            assert "90\N{NO-BREAK SPACE}%" in one.page.locator("article .ncf-gauge-text").first.inner_text()

    def test_what_only_makes_the_wanted_decision_safer_is_said_to_do_so(self, visit):
        X, y = people()
        yes = lambda X: shares(1 / (1 + np.exp((50 - X["income"].to_numpy(float)) / 10)))
        with served(NICE(yes, classes=["no", "yes"]).fit(X, y)) as service:
            one = visit(service.url).opened()
            own_case(one, income=51)
            one.page.get_by_label("Wanted decision").select_option("yes")
            one.answered()
            assert "has the wanted decision already" in one.page.locator(".ncf-remarks").inner_text()
            one.page.get_by_label("just enough").check()
            one.answered()
            assert one.page.locator(".ncf-menu").inner_text() == "This case has the wanted decision already."


class TestProofsAndRegions:
    def test_an_explainer_fitted_exact_is_asked_exactly_and_says_what_is_proven(self, visit):
        pytest.importorskip("ortools", reason="proofs need the extra 'exact'")
        X, y = people()
        exact = NICE(DecisionTreeClassifier(random_state=0).fit(X, y), search="exact", optimize="proximity").fit(X, y)
        with served(exact) as service:
            one = visit(service.url).opened()
            sent = parameters(one)
            own_case(one, income=30, debt=50)
            assert not {"search", "optimize"} & set(sent[0])
            assert one.page.locator("article").count() == 1
            assert "nothing nearer exists" in one.page.locator(".ncf-remarks").inner_text()

    def test_what_the_new_values_may_be_comes_after_the_plans(self, visit, trees):
        one = visit(trees.url).opened()
        sent = parameters(one)
        own_case(one, income=30, debt=50)
        assert one.page.locator("article").count() > 0
        assert one.page.locator(".ncf-region").count() == 0
        assert "include" not in sent[-1]
        one.page.wait_for_selector(".ncf-region")
        assert sent[-1]["include"] == ["regions"]
        assert one.page.locator(".ncf-region").first.inner_text().startswith("Enough: ")

    def test_regions_of_a_question_that_is_no_longer_the_last_are_not_shown(self, visit, trees):
        one = visit(trees.url).opened()
        held = []
        one.page.route("**/*:explain", lambda route: held.append(route) if "regions" in route.request.post_data else route.continue_())  # fmt: skip
        own_case(one, income=30, debt=50)
        for _ in range(100):
            one.page.wait_for_timeout(25)
            if held:
                break
        one.page.get_by_label("just enough").check()
        one.answered()
        assert held[0].request.failure  # it was ended: nobody waits for it
        assert one.page.locator(".ncf-region").count() == 0

    def test_without_regions_nothing_is_missed(self, visit, trees):
        one = visit(trees.url).opened()
        own_case(one, income=30, debt=50)
        one.page.route("**/*:explain", lambda route: route.fulfill(status=503, json={"error": "busy"}))
        one.page.wait_for_timeout(800)
        assert one.page.locator("article").count() > 0
        assert one.page.locator(".ncf-alert:visible").count() == 0


class TestTime:
    def test_stopped_early_is_not_no_way_and_can_be_tried_again(self, visit, service):
        one = visit(service.url).opened()
        page = one.page
        one.stop_early()
        said = page.locator(".ncf-none").inner_text()
        assert "We stopped looking before we were done" in said
        assert "no way" not in said.lower()
        assert "in the way" not in said
        page.locator(".ncf-none").get_by_role("button", name="Try again").click()
        one.answered()
        assert page.locator("article").count() > 0

    def test_plans_of_a_search_that_was_stopped_are_there_and_can_be_looked_for_again(self, visit, service):
        one = visit(service.url).opened()

        def stopped(route):
            answer = route.fetch()
            body = answer.json()
            body["explanations"][0]["stopped_early"] = True
            route.fulfill(response=answer, json=body)

        one.intercept("explain", stopped)
        one.page.get_by_label("just enough").check()
        one.answered()
        assert one.page.locator("article").count() > 0
        one.page.locator(".ncf-menu").get_by_role("button", name="Try again").click()
        one.answered()
        assert one.page.locator("article").count() > 0
        assert one.page.locator(".ncf-menu").get_by_role("button", name="Try again").count() == 0

    def test_those_who_come_when_many_ask_are_served_a_little_later(self, visit, service):
        one = visit(service.url).opened()
        busy = json.dumps({"error": "too many requests are waiting; try again later"})
        answer = {"status": 503, "body": busy, "content_type": "application/json", "headers": {"Retry-After": "1"}}
        one.intercept("explain", lambda route: route.fulfill(**answer))
        one.page.get_by_label("just enough").check()
        one.page.wait_for_selector("text=Many people are asking at the moment. Trying again in 1 second.")
        assert "too many requests" not in one.page.locator(".ncf-alert").inner_text()
        one.page.wait_for_selector(".ncf-alert", state="hidden")
        one.answered()
        assert one.page.locator("article").count() > 0
        one.forgive("503")


def test_what_the_service_says_in_english_is_folded_away(visit, service):
    one = visit(service.url, locale="de-DE").opened()
    page = one.page
    sentence = "parameters.rules: Constraints(ranges=...) has no value left"
    one.intercept("explain", lambda route: route.fulfill(status=400, json={"error": sentence}))
    page.get_by_label("gerade genug").check()
    page.wait_for_selector(".ncf-alert:visible")
    alert = page.locator(".ncf-alert")
    assert alert.inner_text().startswith("Der Dienst hat das nicht angenommen.")
    assert "Constraints" not in alert.inner_text()
    alert.locator("summary").click()
    assert sentence in alert.inner_text()
    one.forgive("400")


def test_a_keyboard_gets_to_the_plans_with_one_stop(visit, service):
    one = visit(service.url).opened()
    page = one.page
    page.click('button[aria-label="Keep age as it is"]')
    one.answered()
    page.locator("h1").focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the plans"
    assert page.locator(".ncf-skip").bounding_box()["height"] > 20
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.innerText") == "Ways to another decision"
    assert page.locator("button.ncf-lock[aria-pressed=true]").count() == 1  # it is no link: nothing was opened anew
    assert "#" not in page.url


def test_columns_may_be_called_as_objects_of_javascript_are(visit):
    names, titles = ["constructor", "__proto__", "toString"], ["constructor", "__proto__", "to string"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 10, (300, 3)), columns=names)
    yes = lambda X: shares((X.to_numpy() > 4).all(axis=1).astype(float))
    nice = NICE(yes, classes=["no", "yes"]).fit(X, np.where(yes(X)[:, 1] > 0.5, "yes", "no"))
    with served(nice) as service:
        one = visit(service.url).opened()
        page = one.page
        assert page.locator("button.ncf-lock[aria-pressed=true], .ncf-chip").count() == 0
        own_case(one, **dict.fromkeys(titles, 1))
        assert page.locator("article").count() > 0
        for title in titles:
            page.click(f'button[aria-label="Keep {title} as it is"]')
            one.answered()
        assert page.locator("button.ncf-lock[aria-pressed=true]").count() == 3
        page.get_by_role("button", name="Copy a link to this").click()
        page.wait_for_selector("text=The link is copied.")
        again = visit(page.evaluate("navigator.clipboard.readText()")).opened()
        assert again.page.locator("button.ncf-lock[aria-pressed=true]").count() == 3
        assert [again.page.get_by_label(title, exact=True).first.input_value() for title in titles] == ["1"] * 3
        page.get_by_role("button", name="Undo all my limits").first.click()
        one.answered()
        changed = page.locator("article").first.locator(".ncf-feature").all_inner_texts()
        assert set(changed) == set(titles)
        page.locator("article").first.get_by_role("button", name="Keep").click()
        page.locator("article").first.get_by_role("button", name="Try it").click()
        one.answered()
        assert page.locator(".ncf-move .ncf-name").all_inner_texts() == titles
        assert page.locator(".ncf-kept tbody th").all_inner_texts() == [*titles, "Decision"]
        assert page.locator(".ncf-outcome-box .ncf-decided strong").inner_text() == "yes"
