"""The routes: what a client sends, what it gets."""

import asyncio
import json
import re
import sys
from urllib.parse import unquote

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from nicecf import NICE, Constraints, Wording, replay
from nicecf.service.app import app_of
from nicecf.service.keys import Keys, digest
from nicecf.service.limits import Limits
from service.conftest import (
    EXPLAIN,
    client_of,
    explained,
    fitted,
    get,
    post,
    rows_of,
    run,
    served,
    table,
    with_wordings,
)


class TestAnswers:
    def test_a_row_gets_what_the_library_says(self, nice):
        X = table(5, seed=1)
        answer = post(served(nice), {"instances": rows_of(X)})
        assert answer.status_code == 200
        cfs = nice.explain(X)
        explanations = answer.json()["explanations"]
        assert [one["text"] for one in explanations] == [one.text() for one in cfs]
        assert [one["found"] for one in explanations] == cfs.found.tolist()
        assert [one["decision"] for one in explanations] == cfs.predicted.tolist()
        after = pd.DataFrame([one["counterfactuals"][0]["values"] for one in explanations])
        expected = cfs.to_frame()
        expected["since"] = expected["since"].astype(str)
        assert after.to_dict("records") == expected.to_dict("records")
        changes = [
            (at, c["feature"]) for at, one in enumerate(explanations) for c in one["counterfactuals"][0]["changes"]
        ]
        assert changes == list(zip(cfs.changes()["row"], cfs.changes()["feature"], strict=True))

    def test_a_row_may_be_a_list(self, nice):
        rows = rows_of(table(3, seed=2))
        as_lists = post(served(nice), {"instances": [list(row.values()) for row in rows]})
        assert as_lists.json() == post(served(nice), {"instances": rows}).json()

    def test_values_that_are_missing_or_new_are_explained_as_in_a_table(self, nice):
        X = table(2, seed=3)
        X["job"] = [None, "pilot"]
        answer = post(served(nice), {"instances": rows_of(X)})
        cfs = nice.explain(X)
        assert [one["text"] for one in answer.json()["explanations"]] == [one.text() for one in cfs]
        assert [" ".join(one["notes"]) for one in answer.json()["explanations"]] == cfs.notes.tolist()
        X["income"] = [float("nan"), 20.0]  # the model of these tests returns NaN then
        assert post(served(nice), {"instances": rows_of(X)}).status_code == 502

    @pytest.mark.parametrize(
        ("parameters", "arguments"),
        [
            ({"target": "yes"}, {"target_class": "yes"}),
            ({"target": ["yes", "no"]}, {"target_class": ["yes", "no"]}),
            ({"target_score": [0.8, None]}, {"target_score": (0.8, None)}),
            ({"n": 3}, {"n_counterfactuals": 3}),
            ({"feature_weights": {"income": 50, "job": 0.1}}, {"feature_weights": {"income": 50, "job": 0.1}}),
        ],
        ids=str,
    )
    def test_parameters_are_those_of_explain(self, nice, parameters, arguments):
        X = table(4, seed=4)
        answer = post(served(nice), {"instances": rows_of(X), "parameters": parameters})
        texts = [c["text"] for one in answer.json()["explanations"] for c in one["counterfactuals"]]
        cfs = nice.explain(X, **arguments)
        assert texts == [one.text() for one in cfs if one.found]

    def test_another_search_and_rules_are_those_of_the_library(self, nice):
        X = table(4, seed=5)
        rules = {
            "immutable": ["job"],
            "ranges": {"income": {"high": 45}, "since": {"low": "2020-06-01"}},
            "increasing": ["age"],
            "within": {"income": "80%", "since": "400 days", "age": [30, "90%"]},
        }
        parameters = {"search": "greedy", "optimize": "proximity", "rules": rules}
        answer = post(served(nice), {"instances": rows_of(X), "parameters": parameters})
        other = nice.with_search(optimize="proximity", search="greedy")
        cfs = other.explain(X, constraints=Constraints(**rules))
        assert [one["text"] for one in answer.json()["explanations"]] == [one.text() for one in cfs]

    def test_a_row_without_a_counterfactual_says_why(self, nice):
        parameters = {"rules": {"immutable": ["age", "income", "job", "is_customer", "since"]}}
        row = rows_of(table(1, seed=6))
        service = served(nice)
        one = post(service, {"instances": row, "parameters": parameters}).json()["explanations"][0]
        assert not one["found"]
        assert one["counterfactuals"] == []
        assert "immutable" in one["reason"] or "change" in one["reason"]
        assert 'nicecf_not_found_total{model="credit"} 1.0' in service.measures.text().decode()

    @pytest.mark.parametrize("verb", ["explain", "report"])
    def test_classes_that_have_names_do_not_stand_in_the_way_of_scores(self, nice, verb):
        service = with_wordings(served(nice), en=Wording(classes={"yes": "approved"}))
        body = {"instances": rows_of(table(1, seed=42)), "parameters": {"target_score": [0.7, None]}}
        assert post(service, body, path=f"/v1/models/credit:{verb}").status_code == 200

    def test_a_record_can_be_replayed(self, nice):
        parameters = {"record": True, "feature_weights": {"income": 9}}
        answer = post(served(nice), {"instances": rows_of(table(1, seed=7)), "parameters": parameters})
        record = answer.json()["explanations"][0]["counterfactuals"][0]["record"]
        assert record["call"]["feature_weights"] == [1.0, 9.0, 1.0, 1.0, 1.0]
        assert replay(record, nice).is_same

    def test_no_donor_and_no_training_row_is_told(self):
        nice = fitted(share_donor=False)
        answer = post(served(nice), {"instances": rows_of(table(20, seed=8))})
        rows = [c["values"] for one in answer.json()["explanations"] for c in one["counterfactuals"]]
        training = rows_of(table())
        assert rows
        assert not [row for row in rows if row in training]
        assert "donor" not in answer.text


class TestRoutes:
    def test_the_names_the_model_and_its_columns_are_told(self, nice):
        assert get(served(nice), "/v1/models").json() == {"models": ["credit"]}
        about = get(served(nice), "/v1/models/credit").json()
        assert about == {
            "name": "credit",
            "ready": True,
            "classes": ["no", "yes"],
            "optimize": "sparsity",
            "search": "thorough",
            "has_plausibility": False,
            "limits": {"rows": 100, "table_rows": 10_000, "report_rows": 1_000, "n": 10},
            "parameters": {},
            "safe_probabilities": [0.6, 0.6],
        }
        schema = get(served(nice), "/v1/models/credit/schema").json()
        assert [(one["name"], one["kind"]) for one in schema["features"]] == [
            ("age", "number"), ("income", "number"), ("job", "text"), ("is_customer", "boolean"), ("since", "datetime"),
        ]  # fmt: skip
        assert schema["features"][2]["values"] == ["clerk", "nurse", "smith"]
        assert schema["classes"] == ["no", "yes"]

    def test_examples_work_and_are_no_training_rows(self, nice):
        service = served(nice)
        examples = get(service, "/v1/models/credit/example").json()
        assert 24 <= len(examples["instances"]) <= 50
        training = rows_of(table())
        assert not [row for row in examples["instances"] if {**row, "since": row["since"][:10]} in training]
        answer = post(service, examples)
        assert answer.status_code == 200
        assert all(one["found"] for one in answer.json()["explanations"])

    def test_health_readiness_measures_and_what_there_is(self, nice):
        service = served(nice)
        assert get(service, "/healthz").json() == {"status": "alive"}
        assert get(service, "/readyz").json() == {"ready": True}
        assert "POST /v1/models/<name>:explain" in get(service, "/").text
        post(service, {"instances": rows_of(table(3))})
        post(service, {"instances": "x"})
        text = get(service, "/metrics").text
        assert 'nicecf_requests_total{key="",model="credit",status="200"} 1.0' in text
        assert 'nicecf_requests_total{key="",model="credit",status="400"} 1.0' in text
        assert 'nicecf_rows_total{model="credit"} 3.0' in text
        assert 'nicecf_batch_rows_sum{model="credit"} 3.0' in text
        assert 'nicecf_request_seconds_count{model="credit"} 2.0' in text
        assert 'nicecf_model_calls_total{model="credit"}' in text

    @pytest.mark.parametrize(
        ("path", "status"),
        [("/nothing", 404), ("/v1/models/other", 404), (EXPLAIN, 405), ("/v1/models/..%2f..%2fetc/schema", 404)],
    )
    def test_what_is_not_there_is_said_in_json(self, nice, path, status):
        answer = get(served(nice), path)
        assert answer.status_code == status
        assert list(answer.json()) == ["error"]

    def test_several_explainers_have_their_own_names(self, nice):
        from nicecf.service.explainers import Service, Source

        other = fitted(search="greedy")
        service = Service({"a": Source(lambda: nice), "b": Source(lambda: other)})
        X = table(1, seed=9)
        for name, one in (("a", nice), ("b", other)):
            answer = post(service, {"instances": rows_of(X)}, f"/v1/models/{name}:explain")
            assert answer.json()["explanations"][0]["text"] == one.explain(X)[0].text()


ROW = rows_of(table(1))[0]
WRONG = {
    "no JSON": (b"{", "the body is not JSON"),
    "no UTF-8": (b'{"instances": ["\xff"]}', "the body is not JSON"),
    "NaN": (b'{"instances": [[NaN]]}', "the body is not JSON"),
    "nested": (b'{"instances": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "nested too deeply"),
    "no object": ([1], "the body: expected 'object', got 'array'"),
    "no instances": ({}, "the body: object missing required field 'instances'"),
    "another field": ({"instances": [ROW], "signature_name": "x"}, "the body: object contains unknown field 'signature_name'"),
    "no rows": ({"instances": []}, "instances: expected 1 to 100 rows, got 0"),
    "too many rows": ({"instances": [ROW] * 101}, "instances: expected 1 to 100 rows, got 101"),
    "a row is no row": ({"instances": [ROW, 3]}, r"instances\[1\]: a row is an object or a list, got 3"),
    "a short list": ({"instances": [[1, 2]]}, r"instances\[0\]: expected 5 cells in the order of the schema, got 2"),
    "a feature is missing": ({"instances": [{k: v for k, v in ROW.items() if k != "age"}]}, r"instances\[0\].age: it is missing"),
    "a feature too many": ({"instances": [{**ROW, "agee": 1}]}, r"instances\[0\].agee: there is no such feature. Did you mean 'age'\?"),
    "text for a number": ({"instances": [{**ROW, "age": "39"}]}, r'instances\[0\].age: expected a number or null, got "39"'),
    "a boolean for a number": ({"instances": [{**ROW, "age": True}]}, r"instances\[0\].age: expected a number or null, got true"),
    "a number for text": ({"instances": [{**ROW, "job": 3}]}, r"instances\[0\].job: expected text or null, got 3"),
    "a number for a boolean": ({"instances": [{**ROW, "is_customer": 1}]}, r"instances\[0\].is_customer: expected true or false or null, got 1"),
    "no date": ({"instances": [{**ROW, "since": "soon"}]}, r"instances\[0\].since: expected"),
    "a list in a cell": ({"instances": [{**ROW, "age": [1]}]}, r"instances\[0\].age: a cell is a number, text"),
    "a huge number": ({"instances": [{**ROW, "age": 10**200}]}, "instances.*(too large|out of range)|not JSON"),
    "a class that is none": ({"instances": [ROW], "parameters": {"target": "Yes"}}, "parameters.target: 'Yes' is not a class: 'no', 'yes'. Did you mean 'yes'"),
    "no class": ({"instances": [ROW], "parameters": {"target": []}}, "parameters.target: name at least one class"),
    "an objective that is none": ({"instances": [ROW], "parameters": {"optimize": "sparcity"}}, "parameters.optimize: invalid enum value 'sparcity'"),
    "too many": ({"instances": [ROW], "parameters": {"n": 11}}, "parameters.n: expected at most 10, got 11"),
    "several by the greedy search": ({"instances": [ROW], "parameters": {"n": 2, "search": "greedy"}}, "n_counterfactuals=2 needs search='thorough'"),
    "no time": ({"instances": [ROW], "parameters": {"budget": 0}}, "parameters.budget: expected"),
    "a rule for nothing": ({"instances": [ROW], "parameters": {"rules": {"immutable": ["sex"]}}}, "parameters.rules.immutable: there is no feature 'sex'"),
    "a rule that is none": ({"instances": [ROW], "parameters": {"rules": {"derived": {"age": "income"}}}}, "parameters.rules: object contains unknown field 'derived'"),
    "a range upside down": ({"instances": [ROW], "parameters": {"rules": {"ranges": {"age": {"low": 3, "high": 1}}}}}, "parameters.rules: "),
    "a relation that cannot be read": ({"instances": [ROW], "parameters": {"rules": {"relations": ["age <=> 3"]}}}, "relation"),
    "a weight for nothing": ({"instances": [ROW], "parameters": {"feature_weights": {"sex": 1}}}, "parameters.feature_weights.sex: there is no feature"),
    "a weight of nothing": ({"instances": [ROW], "parameters": {"feature_weights": {"age": 0}}}, "parameters.feature_weights.*: expected"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_by_its_field(nice, case):
    body, message = WRONG[case]
    service = served(nice)
    answer = post(service, body)
    assert answer.status_code == 400, answer.text
    assert list(answer.json()) == ["error"]
    assert re.search(message, answer.json()["error"]), answer.json()["error"]
    assert "Traceback" not in answer.text


REPORT = "/v1/models/credit:report"


class TestReports:
    @pytest.mark.parametrize(("language", "text"), [("en", "would say"), ("de", "entscheiden")])
    def test_it_is_a_page_about_all_rows(self, nice, language, text):
        X = table(12, seed=20)
        service = served(nice)
        answer = post(service, {"instances": rows_of(X), "parameters": {"language": language}}, path=REPORT)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["content-disposition"] == 'attachment; filename="credit.html"'
        assert answer.text.startswith("<!doctype html>")
        assert f'<html lang="{language}">' in answer.text
        assert text in answer.text
        mark = {"en": ".", "de": ","}[language]
        assert all(str(one).replace(".", mark) in answer.text for one in X["income"])
        measures = service.measures.text().decode()
        assert 'nicecf_rows_total{model="credit"} 12.0' in measures
        assert 'nicecf_requests_total{key="",model="credit",status="200"} 1.0' in measures

    def test_it_is_that_of_the_library(self, nice):
        X = table(3, seed=21)
        rules = {"immutable": ["income"]}
        body = {"instances": rows_of(X), "parameters": {"target": "yes", "n": 2, "rules": rules, "budget": 9}}
        cfs = nice.explain(X, target_class=["yes"], n_counterfactuals=2, constraints=Constraints(**rules))

        def told(html):
            return re.sub(r"<th scope=\"row\">explain: time_budget</th><td>.*?</td>", "", html)

        assert told(post(served(nice), body, path=REPORT).text) == told(cfs.to_html(wording=Wording()))

    def test_it_has_plans_and_the_names_of_the_wording(self, nice):
        service = with_wordings(served(nice), de=Wording(language="de", names={"income": "Monatseinkommen"}))
        rows = rows_of(table(3, seed=22))
        plans = post(service, {"instances": rows, "parameters": {"plans": True, "n": 3, "language": "de"}}, path=REPORT)
        assert plans.status_code == 200
        assert "Monatseinkommen" in plans.text

    def test_it_has_more_rows_than_other_requests_and_not_too_many(self, nice):
        service = served(nice, limits=Limits(rows=2, report_rows=5))
        rows = rows_of(table(6, seed=23))
        assert post(service, {"instances": rows[:5]}, path=REPORT).status_code == 200
        assert post(service, {"instances": rows[:5]}).status_code == 400
        many = post(service, {"instances": rows}, path=REPORT)
        assert (many.status_code, many.json()["error"]) == (400, "instances: expected 1 to 5 rows, got 6")
        assert post(service, {"instances": []}, path=REPORT).status_code == 400

    def test_a_model_that_fails_is_no_page(self):
        nice = fitted()
        service = served(nice)
        nice._fitted.panel.members[0].classifier.__dict__["predict_proba"] = lambda X: 1 / 0
        answer = post(service, {"instances": [ROW]}, path=REPORT)
        assert (answer.status_code, answer.json()) == (
            502,
            {"error": "the model failed on this request, or has changed since fit; the log says which"},
        )


class TestThePage:
    def test_browsers_get_it_and_others_a_list_of_the_routes(self, nice):
        service = served(nice)
        for accept in ("text/html", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"):
            answer = get(service, "/", headers={"Accept": accept})
            assert answer.headers["content-type"].startswith("text/html")
            assert answer.text.lower().startswith("<!doctype html>")
        for accept in ("*/*", "application/json", ""):
            answer = get(service, "/", headers={"Accept": accept})
            assert answer.headers["content-type"].startswith("text/plain")
            for verb in ("explain", "what-if", "report", "read"):
                assert f"POST /v1/models/<name>:{verb}" in answer.text

    @pytest.mark.parametrize("language", ["en", "de"])
    def test_its_words_are_there_in_each_language(self, nice, language):
        answer = get(served(nice), f"/page/words.{language}.json")
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.json()["code"] == language
        assert answer.json()["value.missing"] == {"en": "missing", "de": "unbekannt"}[language]

    @pytest.mark.parametrize(
        "file",
        ["nothing.js", "__init__.py", "words.fr.json", "..", "../keys", "%2e%2e/keys", "..%2fapp.py", "%2e%2e%2fapp.py", ""],
    )  # fmt: skip
    def test_a_file_that_is_none_of_it_is_not_there(self, nice, file):
        for keys in (None, Keys((("office", digest("key")),))):
            answer = raw(served(nice, keys=keys), f"/page/{file}")
            assert answer[0] == 404, answer
            assert list(json.loads(answer[1])) == ["error"]

    def test_it_is_open_and_what_it_asks_for_is_not(self, nice):
        service = served(nice, keys=Keys((("office", digest("key")),)))
        for path in ("/", "/page/words.en.json", "/page/index.html"):
            assert get(service, path, headers={"Accept": "text/html"}).status_code == 200
        for verb in ("explain", "what-if", "report", "read"):
            assert (
                post(service, {"instances": [ROW], "changes": [{}]}, path=f"/v1/models/credit:{verb}").status_code
                == 401
            )
        for path in (
            "/v1/models",
            "/v1/models/credit/schema",
            "/v1/models/credit/example",
            "/openapi.json",
            "/page",
        ):
            assert get(service, path).status_code == 401, path
        for path in ("/page/../v1/models", "/page/..//v1/models/credit/schema", "/page/%2e%2e/metrics"):
            assert raw(service, path)[0] == 404

    @pytest.mark.parametrize("verb", ["what-if", "report", "read"])
    def test_a_verb_is_asked_with_post(self, nice, verb):
        answer = get(served(nice), f"/v1/models/credit:{verb}")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert post(served(nice), {}, path=f"/v1/models/other:{verb}").status_code == 404


def raw(service, path):
    """A request as it is sent: clients tidy paths up."""

    async def talk():
        async with client_of(service):
            sent = []

            async def send(message):
                sent.append(message)

            async def receive():
                return {"type": "http.request", "body": b"", "more_body": False}

            scope = {
                "type": "http", "method": "GET", "path": unquote(path), "raw_path": path.encode(), "query_string": b"",
                "http_version": "1.1", "scheme": "http", "headers": [(b"host", b"127.0.0.1")],
                "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "root_path": "",
            }  # fmt: skip
            await app_of(service)(scope, receive, send)
            return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:])

    return asyncio.run(talk())


class TestLabels:
    def test_a_report_calls_rows_as_its_request_does(self, nice):
        rows = rows_of(table(3, seed=41))
        body = {"instances": rows, "labels": ["C-17", "C-<b>", "C-19"]}
        page = post(served(nice), body, path="/v1/models/credit:report").text
        assert "C-17" in page
        assert "C-&lt;b&gt;" in page
        assert "C-<b>" not in page

    @pytest.mark.parametrize(
        ("path", "labels", "message"),
        [
            (EXPLAIN, ["a"], "labels: they are for :report"),
            ("/v1/models/credit:report", ["a", "b"], "labels: expected one for each of 1 rows, got 2"),
        ],
    )
    def test_labels_that_do_not_fit_are_refused(self, nice, path, labels, message):
        answer = post(served(nice), {"instances": [ROW], "labels": labels}, path=path)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith(message)


class TestLimits:
    def test_a_body_that_is_too_large_is_refused(self, nice):
        service = served(nice, limits=Limits(bytes=50))
        assert post(service, {"instances": [ROW]}).status_code == 413

    def test_a_body_that_grows_too_large_is_refused_without_its_length(self, nice):
        async def talk(client):
            async def pieces():
                for _ in range(100):
                    yield b"[" * 1000

            return await client.post(EXPLAIN, content=pieces(), headers={"Content-Type": "application/json"})

        assert run(talk, served(nice, limits=Limits(bytes=10_000))).status_code == 413

    def test_a_body_that_never_ends_is_not_waited_for(self, nice):
        async def talk(client):
            async def pieces():
                yield b"["
                await asyncio.sleep(20)

            return await client.post(EXPLAIN, content=pieces(), headers={"Content-Type": "application/json"})

        assert run(talk, served(nice, limits=Limits(seconds=0.05))).status_code == 408

    def test_only_json_is_read(self, nice):
        answer = run(
            lambda client: client.post(EXPLAIN, content=b"{}", headers={"Content-Type": "text/plain"}), served(nice)
        )
        assert answer.status_code == 415

    def test_a_request_gets_the_best_answer_when_its_time_is_over(self, nice):
        X = table(1, seed=10)
        answer = post(served(nice), {"instances": rows_of(X), "parameters": {"budget": 1e-9}})
        one = answer.json()["explanations"][0]
        assert one["found"]
        assert one["counterfactuals"][0]["decision"] != one["decision"]
        assert one["counterfactuals"][0]["changes"]

    @pytest.mark.parametrize(("budget", "limit", "most"), [(0.5, 10, 0.5), (60, 2, 2), (None, 3, 3)])
    def test_the_search_ends_with_the_limit_of_the_request_or_of_the_service(
        self, nice, monkeypatch, budget, limit, most
    ):
        budgets, explain = [], NICE.explain

        def remembered(self, X, **options):
            budgets.append(options["time_budget"])
            return explain(self, X, **options)

        monkeypatch.setattr(NICE, "explain", remembered)
        service = served(nice, limits=Limits(seconds=limit))
        assert post(service, {"instances": [ROW], "parameters": {"budget": budget}}).status_code == 200
        assert len(budgets) == 1
        assert 0 < budgets[0] <= most


class TestSecurity:
    def test_without_keys_requests_are_for_this_machine(self, nice):
        async def talk(client):
            return [
                (await client.get("/v1/models", headers={"Host": host})).status_code
                for host in ("127.0.0.1:8000", "localhost", "[::1]:8000", "bank.example", "127.0.0.1.evil.example:8000")
            ]

        assert run(talk, served(nice)) == [200, 200, 200, 403, 403]

    def test_with_keys_each_request_needs_one(self, nice):
        service = served(nice, keys=Keys((("one", digest("first")), ("two", digest("second")))))
        assert get(service, "/v1/models").status_code == 401
        for given, status in (
            ("Bearer first", 200),
            ("bearer second", 200),
            ("Bearer third", 401),
            ("first", 401),
            ("Bearer ", 401),
        ):
            assert get(service, "/v1/models", headers={"Authorization": given}).status_code == status, given
        assert post(service, {"instances": [ROW]}).status_code == 401
        assert get(service, "/metrics").status_code == 401
        assert get(service, "/healthz").status_code == 200

    def test_every_answer_has_a_strict_policy(self, nice):
        for path in ("/", "/v1/models", "/nothing"):
            policy = get(served(nice), path).headers["content-security-policy"]
            assert "default-src 'self'" in policy
            assert "unsafe" not in policy
            assert "http" not in policy

    def test_a_failure_of_ours_shows_nothing(self, nice, monkeypatch):
        monkeypatch.setattr("nicecf.service.answers.formatted", lambda *_, **__: 1 / 0)
        answer = post(served(nice), {"instances": [ROW]})
        assert answer.status_code == 500
        assert answer.json() == {"error": "this should not happen; the log of the service says more"}

    def test_the_text_of_a_model_error_stays_inside(self):
        nice = fitted()
        service = served(nice)

        def broken(X):
            raise RuntimeError("password=secret")

        nice._fitted.panel.members[0].classifier.__dict__["predict_proba"] = broken
        answer = post(service, {"instances": [ROW]})
        assert (answer.status_code, answer.json()) == (
            502,
            {"error": "the model failed on this request, or has changed since fit; the log says which"},
        )


def test_a_client_that_leaves_while_it_is_explained_is_no_error(nice):
    async def talk():
        service = served(nice)
        async with client_of(service):
            sent = []
            body = json.dumps({"instances": [ROW]}).encode()
            received = [{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}]

            async def receive():
                return received.pop(0)

            async def send(message):
                sent.append(message)

            scope = httpx.Request("POST", f"http://127.0.0.1{EXPLAIN}", json={}).headers
            await app_of(service)(
                {"type": "http", "method": "POST", "path": EXPLAIN, "raw_path": EXPLAIN.encode(), "query_string": b"", "http_version": "1.1",
                 "scheme": "http", "headers": [(k.encode(), v.encode()) for k, v in scope.items()], "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "root_path": ""},
                receive, send,
            )  # fmt: skip
            return len(service.mergers["credit"]), service.measures.text().decode()

    waiting, text = asyncio.run(talk())
    assert waiting == 0
    assert 'nicecf_requests_total{key="",model="credit",status="499"} 1.0' in text


def of_trees(**options):
    """An explainer of a few small trees, which can be read, and the rows that it was fitted on."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.integers(0, 6, (120, 3)) * 1.0, columns=["income", "debt", "years"])
    y = np.where(X.income - X.debt + random.normal(0, 1, 120) > 0, "yes", "no")
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    return NICE(model, **options).fit(X, y), X


class TestProofs:
    def test_an_exact_search_can_be_asked_for_and_says_what_it_proves(self):
        pytest.importorskip("ortools", reason="proofs need the extra 'exact'")
        nice, X = of_trees()
        explanations = explained(served(nice), X[:4], search="exact", optimize="proximity")
        assert [(one["proof"], one["gap"]) for one in explanations] == [("optimal", 0.0)] * 4
        expected = nice.with_search(search="exact", optimize="proximity").explain(X[:4])
        assert [one["text"] for one in explanations] == expected.texts()

    def test_that_there_is_none_has_no_gap(self):
        pytest.importorskip("ortools", reason="proofs need the extra 'exact'")
        nice, X = of_trees()
        rules = {"immutable": ["income", "debt"]}
        answers = explained(served(nice), X[:8], search="exact", rules=rules, target="yes")
        none = [one for one in answers if not one["found"]]
        assert none
        assert {(one["proof"], one["gap"]) for one in none} == {("infeasible", None)}

    def test_where_nothing_is_proven_nothing_is_said(self, nice):
        (one,) = explained(served(nice), table(1, seed=1))
        assert not {"proof", "gap"} & set(one)

    def test_what_somebody_chose_is_not_proven_to_be_anything(self):
        nice, X = of_trees()
        body = {"instances": rows_of(X[:1]), "changes": [{"income": 5.0}], "parameters": {"target": "yes"}}
        (one,) = post(served(nice), body, path=EXPLAIN.replace("explain", "what-if")).json()["explanations"]
        assert not {"proof", "gap"} & set(one)

    def test_a_missing_solver_is_refused_with_what_to_install(self, monkeypatch):
        nice, X = of_trees()
        monkeypatch.setitem(sys.modules, "ortools", None)
        body = {"instances": rows_of(X[:1]), "parameters": {"search": "exact"}}
        answer = post(served(nice), body)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith(
            "parameters.search: search='exact' needs ortools, which is not installed"
        )
        assert "pip install 'nicecf[exact]'" in answer.json()["error"]
        assert post(served(nice), {"instances": rows_of(X[:1])}).status_code == 200

    def test_a_model_that_cannot_be_read_is_refused(self, nice):
        answer = post(served(nice), {"instances": rows_of(table(1)), "parameters": {"search": "exact"}})
        assert answer.status_code == 400
        assert "search='exact' cannot read this" in answer.json()["error"]
