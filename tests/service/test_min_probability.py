"""``min_probability`` of a request: the answers of the library, and what is safely over the line."""

import numpy as np
import pytest

from nicecf import replay
from service.conftest import explained, fitted, get, post, rows_of, served, table
from service.test_app import of_trees
from service.test_display import of_scores, of_three

X = table(12, seed=3)


def test_the_answers_are_those_of_the_library(nice):
    found = explained(served(nice), X, min_probability=0.9)
    expected = nice.explain(X, min_probability=0.9)
    assert [one["text"] for one in found] == expected.texts()
    assert min(one["counterfactuals"][0]["probability"] for one in found if one["found"]) >= 0.9
    assert [one["text"] for one in explained(served(nice), X)] == nice.explain(X).texts() != expected.texts()


def test_what_if_is_reached_only_within_it(nice):
    row = {**rows_of(X[:1])[0], "income": 39.0, "age": 30, "job": "clerk", "is_customer": False}
    body = {"instances": [row], "changes": [{"income": 43.0}]}
    reached = []
    for parameters in ({}, {"min_probability": 0.6}, {"min_probability": 0.9}):
        answer = post(served(nice), {**body, "parameters": parameters}, path="/v1/models/credit:what-if").json()
        ((then,),) = [one["counterfactuals"] for one in answer["explanations"]]
        reached.append((then["decision"], then["reached"]))
    assert reached == [("yes", True), ("yes", True), ("yes", False)]


def test_a_record_is_replayed_with_it(nice):
    (one,) = explained(served(nice), X[:1], min_probability=0.9, record=True)
    record = one["counterfactuals"][0]["record"]
    assert record["call"]["min_probability"] == 0.9
    assert replay(record, nice).is_same


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"min_probability": 0.5}, "less than the explainer's own, 0.7, which every counterfactual keeps"),
        ({"min_probability": 1.5}, "parameters.min_probability: expected `float` <= 1.0"),
        ({"min_probability": 0}, "parameters.min_probability: expected `float` > 0.0"),
        ({"min_probability": 0.8, "target_score": [0.6, None]}, "parameters.min_probability: it is for classes"),
    ],
)
def test_what_cannot_be_is_refused(parameters, said):
    answer = post(served(fitted(min_probability=0.7)), {"instances": rows_of(X[:1]), "parameters": parameters})
    assert answer.status_code == 400
    assert said.replace("`", "'") in answer.json()["error"]


def test_a_model_of_scores_has_none():
    service = served(of_scores())
    body = get(service, "/openapi.json").json()["paths"]["/v1/models/credit:explain"]["post"]["requestBody"]
    example = body["content"]["application/json"]["example"]
    answer = post(service, {**example, "parameters": {"min_probability": 0.6}})
    assert answer.status_code == 400
    assert "for models with classes" in answer.json()["error"]


class TestSafely:
    def safe(self, nice):
        about = get(served(nice), "/v1/models/credit").json()
        assert len(about["safe_probabilities"]) == len(about["classes"])
        return about["safe_probabilities"]

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, [0.6, 0.6]),
            ({"decision": 0.3}, [0.8, 0.4]),
            ({"decision": 0.95}, [0.15, 0.975]),
            ({"decision": {"no": 0.2}}, [0.3, 0.9]),
            ({"decision": {"no": 0.4, "yes": 0.7}}, [0.5, 0.8]),
            ({"decision": lambda shares: np.where(shares[:, 1] > 0.8, "yes", "no")}, [0.6, 0.6]),
            ({"min_probability": 0.7}, [0.8, 0.8]),
            ({"min_probability": 0.9}, [0.95, 0.95]),
        ],
    )
    def test_it_is_the_line_of_each_class_and_a_tenth_but_at_most_half_the_way_to_certainty(self, options, expected):
        assert self.safe(fitted(search="greedy", **options)) == expected

    def test_of_several_classes_more_than_half_decides(self):
        assert self.safe(of_three()) == [0.6, 0.6, 0.6]

    def test_a_cut_off_of_one_of_several_must_not_be_reached_by_it(self):
        nice = of_three()
        first = nice.classes_.tolist()[0]
        cut = type(nice)(nice.model, classes=list(nice.classes_), decision={first: 0.3}, search="greedy")
        cut.fit(table(), np.resize(nice.classes_, 300))
        assert self.safe(cut) == [0.4, 0.8, 0.8]

    def test_a_model_of_scores_has_none(self):
        assert get(served(of_scores()), "/v1/models/credit").json()["safe_probabilities"] == []

    def test_an_answer_beyond_it_is_found(self, nice):
        by_class = dict(zip(["no", "yes"], self.safe(nice), strict=True))
        (one,) = explained(served(nice), X[:1], min_probability=by_class["yes"], target="yes")
        assert one["counterfactuals"][0]["probability"] >= by_class["yes"]


def test_what_is_proven_is_a_sentence_for_the_page():
    nice, X = of_trees(search="exact")
    (one,) = explained(served(nice), X[:1], display=True)
    assert one["display"]["proof"].startswith("Proven: with values that occur in the training data,")
    nice, X = of_trees()
    (one,) = explained(served(nice), X[:1], display=True)
    assert one["display"]["proof"] == ""


@pytest.mark.parametrize("plans", [False, True])
def test_an_explainer_fitted_exact_is_asked_exactly(plans):
    nice, X = of_trees(search="exact")
    assert get(served(nice), "/v1/models/credit").json()["search"] == "exact"
    found = explained(served(nice), X[:4], plans=plans, display=True, min_probability=0.6, include=["regions"])
    assert [(one["proof"], one["gap"]) for one in found] == [("optimal", 0.0)] * 4
    assert all(one["display"]["proof"] for one in found)
