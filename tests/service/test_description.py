"""The columns of an explainer: what a form is made of, and nothing that is not to be told."""

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints
from service.conftest import fitted, get, post, probabilities, rows_of, served, table, with_wordings
from service.test_display import ENGLISH, GERMAN, of_debts, of_scores


def schema(service, language=None):
    answer = get(service, "/v1/models/credit/schema" + (f"?language={language}" if language else ""))
    assert answer.status_code == 200, answer.text
    return answer.json()


def columns(service, language=None):
    return {one["name"]: one for one in schema(service, language)["features"]}


class TestKinds:
    def test_each_column_has_its_kind_and_how_training_looked(self, nice):
        found = columns(served(nice))
        X = table()
        assert [(one["kind"], one["categorical"]) for one in found.values()] == [
            ("number", False), ("number", False), ("text", True), ("boolean", True), ("datetime", False),
        ]  # fmt: skip
        for name in ("age", "income"):
            counts, edges = np.histogram(X[name], bins=found[name]["edges"])
            assert found[name]["counts"] == counts.tolist()
            assert (edges[0], edges[-1]) == (X[name].min(), X[name].max())
        assert (found["age"]["decimals"], found["income"]["decimals"]) == (0, 1)
        assert (found["job"]["values"], found["job"]["ordered"]) == (["clerk", "nurse", "smith"], False)
        assert found["job"]["counts"] == X["job"].value_counts()[["clerk", "nurse", "smith"]].tolist()
        assert (found["is_customer"]["values"], found["is_customer"]["titles"]) == ([False, True], ["no", "yes"])
        assert [one["missing"] for one in found.values()] == [False] * 5
        assert [one["derived"] for one in found.values()] == [False] * 5

    def test_the_edges_of_dates_are_also_text_that_requests_take(self, nice):
        since = columns(served(nice))["since"]
        assert len(since["edges_as_text"]) == len(since["edges"]) == len(since["counts"]) + 1
        assert since["edges_as_text"][0] == "2020-01-01"
        assert since["edges_as_text"][-1] == str(table()["since"].max().date())
        assert since["edges_as_text"] == sorted(since["edges_as_text"])

    def test_levels_with_an_order_keep_it_and_what_is_missing_is_told(self):
        X = table()
        X["job"] = pd.Categorical(X["job"].where(X["age"] > 20), categories=["smith", "clerk", "nurse"], ordered=True)
        y = np.where(probabilities(X)[:, 1] > 0.5, "yes", "no")
        job = columns(served(NICE(probabilities, classes=["no", "yes"]).fit(X, y)))["job"]
        assert (job["values"], job["ordered"], job["missing"]) == (["smith", "clerk", "nurse"], True, True)

    def test_free_text_is_not_listed(self):
        X = table().assign(note=[f"said {at}" for at in range(300)])
        y = np.where(probabilities(X)[:, 1] > 0.5, "yes", "no")
        service = served(NICE(probabilities, classes=["no", "yes"]).fit(X, y))
        note = columns(service)["note"]
        assert not {"values", "counts", "titles", "edges"} & set(note)
        assert "said" not in get(service, "/v1/models/credit/schema").text

    def test_a_column_with_more_categories_than_a_form_can_hold_is_not_listed(self):
        X = table(1000).assign(code=np.arange(1000) % 201).astype({"code": str})
        y = np.where(probabilities(X)[:, 1] > 0.5, "yes", "no")
        few = X.assign(code=(np.arange(1000) % 200).astype(str))
        for frame, is_listed in ((X, False), (few, True)):
            nice = NICE(probabilities, classes=["no", "yes"], search="greedy").fit(frame, y)
            assert ("values" in columns(served(nice))["code"]) == is_listed

    def test_of_scores_there_are_no_classes(self):
        found = schema(served(of_scores()))
        assert (found["classes"], found["class_titles"]) == ([], [])

    def test_a_column_of_an_array(self):
        X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
        nice = NICE(
            lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float),
            classes=[0, 1],
            constraints=Constraints(immutable=[0], increasing=["x1"]),
        )
        service = served(nice.fit(X, (X[:, 0] >= 0).astype(int)))
        found = columns(service)
        assert list(found) == ["x0", "x1", "x2"]
        assert [one["fixed"] for one in found.values()] == [True, False, False]  # by its place
        assert [one["direction"] for one in found.values()] == [None, "increasing", None]
        assert schema(service)["class_titles"] == ["0", "1"]


class TestRules:
    def test_what_the_explainer_rules_out_is_told(self):
        rules = Constraints(immutable=["age"], increasing=["income"], decreasing={"job": ["nurse", "clerk", "smith"]})
        found = columns(served(fitted(constraints=rules)))
        assert {name: (one["fixed"], one["direction"]) for name, one in found.items()} == {
            "age": (True, None),
            "income": (False, "increasing"),
            "job": (False, "decreasing"),
            "is_customer": (False, None),
            "since": (False, None),
        }

    def test_what_is_protected_is_told_so_that_a_page_does_not_name_it(self):
        found = columns(served(fitted(constraints=Constraints(immutable=["age"], protected=["job"]))))
        fixed = {name: (one["fixed"], one["protected"]) for name, one in found.items() if one["fixed"]}
        assert fixed == {"age": (True, False), "job": (True, True)}

    def test_what_follows_from_other_columns_is_told(self):
        assert [name for name, one in columns(served(of_debts())).items() if one["derived"]] == ["share"]

    def test_free_text_is_fixed_unless_it_may_change(self):
        X = table().assign(note=[f"said {at}" for at in range(300)])
        y = np.where(probabilities(X)[:, 1] > 0.5, "yes", "no")
        for rules, is_fixed in ((None, True), (Constraints(may_change=["note"]), False)):
            nice = NICE(probabilities, classes=["no", "yes"], constraints=rules, search="greedy").fit(X, y)
            assert columns(served(nice))["note"]["fixed"] == is_fixed


class TestLanguages:
    def test_titles_and_units_are_those_of_the_wording(self, nice):
        service = with_wordings(served(nice), en=ENGLISH, de=GERMAN)
        english, german = (columns(service, one) for one in ("en", "de"))
        assert columns(service) == english
        assert (english["income"]["title"], english["income"]["unit"]) == ("monthly income", "{} EUR")
        assert german["income"]["title"] == "Monatseinkommen"
        assert (german["job"]["values"], german["job"]["titles"]) == (["clerk", "nurse", "smith"], ["clerk", "Pflege", "smith"])  # fmt: skip
        assert german["is_customer"]["titles"] == ["nein", "ja"]
        assert "unit" not in german["age"]
        assert english["is_customer"]["title"] == "is customer"
        assert schema(service, "de")["classes"] == ["no", "yes"]
        assert schema(service, "de")["class_titles"] == ["abgelehnt", "bewilligt"]
        assert schema(service, "en")["class_titles"] == ["denied", "approved"]

    def test_one_that_is_not_spoken_is_refused(self, nice):
        answer = get(served(nice), "/v1/models/credit/schema?language=fr")
        assert (answer.status_code, answer.json()["error"]) == (400, "language: choose one of en, de")


class TestPrivacy:
    def test_of_a_guarded_explainer_nothing_rarer_is_told(self):
        X = table()
        X.loc[0, "job"] = "judge"
        X.loc[1, "income"] = 10_000.0
        X.loc[2, "since"] = pd.Timestamp("1999-12-31")
        X["is_customer"] = X["is_customer"].astype(object)
        X.loc[3, "is_customer"] = None
        y = np.where(table()["income"] > 40, "yes", "no")
        nice = NICE(lambda X: np.full((len(X), 2), 0.5), classes=["no", "yes"], justified=False, min_count=5).fit(X, y)
        service = served(nice)
        found = columns(service)
        times = {name: X[name].value_counts() for name in X}
        assert found["job"]["values"] == ["clerk", "nurse", "smith"]
        assert found["job"]["counts"] == times["job"][["clerk", "nurse", "smith"]].tolist()
        assert not found["is_customer"]["missing"]
        for name in ("age", "income"):
            common = times[name][times[name] >= 5]
            assert (found[name]["edges"][0], found[name]["edges"][-1]) == (common.index.min(), common.index.max())
            assert sum(found[name]["counts"]) == common.sum()
            assert all(count == 0 or count >= 5 for count in found[name]["counts"])
        assert times["since"].max() < 5
        assert "edges" not in found["since"]
        text = get(service, "/v1/models/credit/schema").text
        for secret in ("judge", "10000", "1999-12"):
            assert secret not in text

    def test_categories_do_not_stand_in_the_order_of_the_training_rows(self):
        X = table().assign(job=np.tile(["zebra", "ape", "mule"], 100))
        y = np.tile(["no", "yes"], 150)
        nice = NICE(lambda X: np.full((len(X), 2), 0.5), classes=["no", "yes"], justified=False).fit(X, y)
        assert columns(served(nice))["job"]["values"] == ["ape", "mule", "zebra"]


@pytest.mark.parametrize("name", ["age", "income", "job", "is_customer", "since"])
def test_what_a_form_offers_is_what_requests_take(nice, name):
    """The values, the edges and null of a column are cells of it."""
    service = served(nice)
    one = columns(service)[name]
    cells = one.get("values") or one.get("edges_as_text") or one["edges"]
    row = rows_of(table(1))[0]
    answer = post(service, {"instances": [{**row, name: cell} for cell in cells[:3]]})
    assert answer.status_code == 200, answer.text
