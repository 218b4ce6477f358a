"""The OpenAPI document: its requests run as they stand, and the answers are as it says."""

import jsonschema
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from nicecf import NICE
from service.conftest import EXPLAIN, explained, fitted, get, post, served, table
from service.test_app import of_trees
from service.test_display import DENIED, of_debts, of_scores, of_three, takes_missing

VERBS = ("explain", "what-if", "report", "read")


def of_an_array():
    X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
    nice = NICE(lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float), classes=[0, 1], search="greedy")
    return nice.fit(X, (X[:, 0] >= 0).astype(int))


def of_a_regressor():
    X = np.random.default_rng(0).normal(size=(60, 2)).round(2)
    return NICE(LinearRegression().fit(X, X[:, 0] * 10)).fit(X, X[:, 0] * 10)


def checker(document, schema):
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def answer_schema(document, path, kind="application/json"):
    (method,) = document["paths"][path].values()
    return method["responses"]["200"]["content"][kind]["schema"]


@pytest.mark.parametrize(
    "made", [fitted, of_three, of_scores, of_debts, of_an_array, of_a_regressor], ids=lambda made: made.__name__
)
def test_the_examples_run_and_are_answered_as_it_says(made):
    service = served(made())
    document = get(service, "/openapi.json").json()
    for verb in VERBS:
        path = f"/v1/models/credit:{verb}"
        ((kind, body),) = document["paths"][path]["post"]["requestBody"]["content"].items()
        checker(document, body["schema"]).validate(body["example"])
        answer = post(service, body["example"], path=path, headers={"Content-Type": kind})
        assert answer.status_code == 200, answer.text
        if verb == "report":
            assert list(document["paths"][path]["post"]["responses"]["200"]["content"]) == ["text/html"]
        else:
            checker(document, answer_schema(document, path)).validate(answer.json())
        if verb == "what-if":
            (then,) = answer.json()["explanations"][0]["counterfactuals"]
            assert [one["feature"] for one in then["changes"] if not one.get("derived")] == list(body["example"]["changes"][0])  # fmt: skip
    for path, methods in document["paths"].items():
        if "get" in methods:
            answer = get(service, path)
            assert answer.status_code == 200, path
            checker(document, answer_schema(document, path)).validate(answer.json())


PARAMETERS = [
    {},
    {"plans": True, "n": 3, "display": True, "letter": True, "record": True, "language": "de"},
    {"display": True, "letter": True, "rules": {"immutable": list(DENIED)}},
    {"target": "no", "plans": True, "display": True},
    {"include": ["regions"], "display": True, "plans": True},
    {"include": ["regions"], "min_probability": 0.8},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_whatever_is_asked_for_the_answer_is_as_it_says(nice, parameters):
    service = served(nice)
    document = get(service, "/openapi.json").json()
    check = checker(document, answer_schema(document, EXPLAIN))
    properties = document["components"]["schemas"]["Explanation"]["properties"]
    for one in explained(service, [DENIED], **parameters):
        assert set(one) <= set(properties)
        check.validate({"explanations": [one]})


@pytest.mark.parametrize("rules", [{}, {"immutable": ["income", "debt"]}])
def test_proofs_are_as_it_says(rules):
    """Of trees, also the thorough search proves some."""
    nice, X = of_trees()
    service = served(nice)
    document = get(service, "/openapi.json").json()
    answers = explained(service, X[:8], target="yes", rules=rules)
    assert any("proof" in one for one in answers)
    check = checker(document, answer_schema(document, EXPLAIN))
    check.validate({"explanations": answers})
    answers[0] |= {"proof": "none", "gap": 0.0}
    assert not check.is_valid({"explanations": answers})


@pytest.mark.parametrize("change", [{}, {"income": 60}, {"income": 41, "job": None}])
def test_what_if_is_answered_as_it_says(change):
    service = served(fitted(takes_missing))
    document = get(service, "/openapi.json").json()
    path = "/v1/models/credit:what-if"
    body = {"instances": [DENIED], "changes": [change], "parameters": {"display": True, "letter": True, "plans": True}}
    checker(document, document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]).validate(body)  # fmt: skip
    answer = post(service, body, path=path)
    checker(document, answer_schema(document, path)).validate(answer.json())


def test_wrong_requests_are_wrong_by_it(nice):
    service = served(nice)
    document = get(service, "/openapi.json").json()
    explain, what_if = (
        checker(document, document["paths"][f"/v1/models/credit:{verb}"]["post"]["requestBody"]["content"]["application/json"]["schema"])
        for verb in ("explain", "what-if")
    )  # fmt: skip
    right = {"instances": [DENIED], "parameters": {"plans": True, "language": "de", "display": True, "letter": True}}
    assert explain.is_valid(right)
    assert what_if.is_valid({**right, "changes": [{"age": 3}]})
    for wrong in (
        {"language": "fr"}, {"plans": 1}, {"record": "yes"}, {"more": 1}, {"include": ["donors"]}, {"include": "regions"},
        {"min_probability": 0}, {"min_probability": 1.1}, {"min_probability": "0.6"},
    ):  # fmt: skip
        assert not explain.is_valid({"instances": [DENIED], "parameters": wrong})
        assert post(service, {"instances": [DENIED], "parameters": wrong}).status_code == 400
    assert not explain.is_valid({**right, "changes": [{}]})
    assert not what_if.is_valid(right)
    assert not what_if.is_valid({**right, "changes": [{"sex": 1}]})
    for wrong in ({"record": True}, {"include": ["regions"]}):
        body = {"instances": [DENIED], "changes": [{}], "parameters": wrong}
        assert not what_if.is_valid(body)
        assert post(service, body, path="/v1/models/credit:what-if").status_code == 400


def test_each_parameter_that_needs_words_has_them(nice):
    document = get(served(nice), "/openapi.json").json()
    properties = document["components"]["schemas"]["Parameters-credit"]["properties"]
    for name in ("search", "plans", "language", "display", "letter", "record", "budget", "include", "min_probability"):
        assert properties[name]["description"], name
    language = document["paths"]["/v1/models/credit/schema"]["get"]["parameters"][0]
    assert (language["name"], language["schema"]["enum"]) == ("language", ["en", "de"])


def test_without_examples_there_are_none():
    """A model that refuses every row that could be drawn."""
    X = table()
    training = {tuple(row) for row in X.astype(str).to_numpy().tolist()}

    def model(X):
        if not all(tuple(row) in training for row in X.astype(str).to_numpy().tolist()):
            raise ValueError("never seen")
        return np.tile([0.9, 0.1], (len(X), 1))

    nice = NICE(model, classes=["no", "yes"], justified=False, search="greedy").fit(X, ["no"] * len(X))
    service = served(nice)
    assert get(service, "/v1/models/credit/example").json() == {"instances": []}
    document = get(service, "/openapi.json").json()
    for verb in VERBS:
        (body,) = document["paths"][f"/v1/models/credit:{verb}"]["post"]["requestBody"]["content"].values()
        assert "example" not in body
