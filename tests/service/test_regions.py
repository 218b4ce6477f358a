"""``include: ["regions"]``: what each new value may be, as the library finds it, in cells and in words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from nicecf import NICE, Constraints, Wording
from nicecf.results.boxes import each_box
from service.conftest import explained, fitted, post, probabilities, rows_of, served, table, with_wordings
from service.test_app import of_trees

INCLUDE = {"include": ["regions"]}


def cell(value):
    return None if value is None else getattr(value, "item", lambda: value)()


def expected_regions(cfs):
    """What ``boxes()`` says of each row."""
    found = {}
    for one in cfs.boxes().itertuples():
        side = {"low": cell(one.low), "high": cell(one.high), "values": one.values if one.values is None else list(one.values)}  # fmt: skip
        found.setdefault(one.row, {"proof": one.proof, "features": {}})["features"][one.feature] = side
    return [found[row] for row in sorted(found)]


def regions(explanations):
    return [one["counterfactuals"][0]["regions"] for one in explanations]


def test_regions_of_trees_are_proven_and_those_of_the_library():
    nice, X = of_trees()
    found = explained(served(nice), X[:6], **INCLUDE)
    assert regions(found) == expected_regions(nice.explain(X[:6]))
    assert {one["proof"] for one in regions(found)} == {"proven"}
    assert [one["text"] for one in found] == nice.explain(X[:6]).texts(wording=Wording(regions=True))
    assert any("at least" in one["text"] or "at most" in one["text"] for one in found)


@pytest.mark.parametrize(
    ("rules", "proof", "feature"),
    [({}, "checked", "income"), ({"immutable": ["income", "age", "since"]}, "proven", "job")],
)
def test_regions_of_a_function_are_checked_but_where_all_categories_were_asked_about(rules, proof, feature):
    nice, X = fitted(), table(40, seed=3)
    found = explained(served(nice), X, rules=rules, **INCLUDE)
    changed = [one for one in found if one["found"]]
    assert regions(changed) == expected_regions(nice.explain(X, constraints=Constraints(**rules)))
    assert {one["proof"] for one in regions(changed)} == {proof}
    sides = [one["features"][feature] for one in regions(changed) if feature in one["features"]]
    assert {side["values"] is None for side in sides} == {feature == "income"}
    assert feature == "income" or {"low": None, "high": None, "values": ["smith", "clerk"]} in sides


@pytest.mark.parametrize("plans", [False, True])
def test_the_answer_holds_at_both_ends_of_each_region(plans):
    nice, X = of_trees()
    for one in explained(served(nice), X[:6], plans=plans, n=2, **INCLUDE):
        for found in one["counterfactuals"]:
            sides = found["regions"]["features"]
            assert list(sides) == [change["feature"] for change in found["changes"]]
            low, high = (
                {key: far if side[end] is None else side[end] for key, side in sides.items()}
                for end, far in (("low", -9.0), ("high", 99.0))
            )
            corners = pd.DataFrame([{**found["values"], **some} for some in (low, high)])
            assert set(nice.model.predict(corners[list(X)])) == {found["decision"]} != {one["decision"]}


class TestDisplay:
    def test_each_change_has_the_words_beside_the_new_value(self):
        nice, X = of_trees()
        wording = Wording(units={"income": "EUR"})
        service = with_wordings(served(nice), en=wording)
        plain = explained(service, X[:6], display=True)
        found = explained(service, X[:6], display=True, **INCLUDE)
        words = []
        for one, other in zip(found, plain, strict=True):
            shown, before = (each["counterfactuals"][0]["display"] for each in (one, other))
            words += [change.pop("region") for change in shown["changes"]]
            assert shown == before
            assert not any("region" in change for change in before["changes"])
            for change, in_words in zip(before["changes"], words[-len(before["changes"]) :], strict=True):
                assert (in_words or change["after"]) in one["text"]
        assert any(one is not None and one.startswith("at least") and one.endswith("EUR") for one in words)

    def test_where_nothing_more_can_be_stated_it_is_null(self):
        """Of a function, numbers are only checked: between the values that were tried, others may not do."""
        words = {}
        for feature in ("job", "income"):
            rules = {"immutable": [name for name in table() if name != feature]}
            found = explained(served(fitted()), table(40, seed=3), display=True, rules=rules, **INCLUDE)
            shown = [one["counterfactuals"][0]["display"]["changes"] for one in found if one["found"]]
            words[feature] = {change["region"] for changes in shown for change in changes}
        assert words == {"job": {None, "smith or clerk"}, "income": {None}}

    def test_the_words_are_in_the_language_of_the_request(self):
        nice, X = of_trees()
        found = explained(served(nice), X[:6], display=True, language="de", **INCLUDE)
        words = [change["region"] for one in found for change in one["counterfactuals"][0]["display"]["changes"]]
        assert any(one is not None and one.startswith("mindestens") for one in words)


def test_without_asking_there_are_none_and_nothing_is_looked_for(monkeypatch):
    nice, X = of_trees()
    monkeypatch.setattr("nicecf.service.answers.each_box", lambda batch: pytest.fail("regions were looked for"))
    for parameters in ({}, {"display": True, "letter": True, "plans": True}):
        (one,) = explained(served(nice), X[:1], **parameters)
        assert "regions" not in one["counterfactuals"][0]
        assert one["text"] == nice.explain(X[:1]).texts()[0]


def test_what_there_is_no_time_for_is_null_and_the_text_states_the_value(monkeypatch):
    nice, X = of_trees()
    made = []

    def first_alone(batch):
        for box in each_box(batch):
            made.append(box)
            monkeypatch.setattr("nicecf.service.answers.now", lambda: np.inf)
            yield box

    monkeypatch.setattr("nicecf.service.answers.each_box", first_alone)
    found = explained(served(nice), X[:4], display=True, **INCLUDE)
    assert len(made) == 1
    assert [one is None for one in regions(found)] == [False, True, True, True]
    plain = nice.explain(X[:4])
    assert [one["text"] for one in found[1:]] == plain.texts()[1:]
    words = [change["region"] for one in found[1:] for change in one["counterfactuals"][0]["display"]["changes"]]
    assert set(words) == {None}


def test_a_model_that_fails_on_the_rows_around_costs_the_regions_alone(caplog):
    nice, X = of_trees()
    model = nice.model.predict_proba

    def failing(rows):
        if len(rows) == 4 and is_answered:
            raise ValueError("too far")
        return model(rows)

    is_answered = False
    other = NICE(failing, classes=["no", "yes"]).fit(X, nice.model.predict(X))
    texts = other.explain(X[:4]).texts()
    with pytest.MonkeyPatch.context() as patch:

        def each(batch):
            nonlocal is_answered
            is_answered = True
            return each_box(batch)

        patch.setattr("nicecf.service.answers.each_box", each)
        found = explained(served(other), X[:4], **INCLUDE)
    assert [one["text"] for one in found] == texts
    assert regions(found) == [None] * 4
    assert "regions could not be found" in caplog.text


def test_the_model_is_asked_once_whether_the_answers_hold():
    """Not once for each: a call of a forest takes as long as a hundred rows of it."""
    nice, X = of_trees()
    calls = []

    def counted(rows):
        calls.append(len(rows))
        return nice.model.predict_proba(rows)

    cfs = (
        NICE(counted, classes=["no", "yes"], constraints=Constraints(groups=[list(X)]))
        .fit(X, nice.model.predict(X))
        .explain(X[:6])
    )
    calls.clear()
    boxes = list(each_box(cfs.batch))
    assert len(boxes) == 6
    assert calls == [int((cfs.batch.n_changes > 0).sum())]


def test_a_row_that_needs_no_change_has_no_sides():
    nice, X = of_trees()
    rows = X[nice.model.predict(X) == "yes"][:1]
    (one,) = explained(served(nice), rows, target="yes", **INCLUDE)
    assert [each["regions"]["features"] for each in one["counterfactuals"]] == [{}]


def test_what_somebody_chose_has_no_regions(nice):
    body = {"instances": rows_of(table(1)), "changes": [{}], "parameters": INCLUDE}
    answer = post(served(nice), body, path="/v1/models/credit:what-if")
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("parameters.include: there are no regions of what was not searched for")


def test_a_linear_model_states_open_ends():
    X = table()[["age", "income"]]
    model = LogisticRegression().fit(X, probabilities(table())[:, 1] > 0.5)
    nice = NICE(model).fit(X, model.predict(X))
    found = regions(explained(served(nice), X[:10], **INCLUDE))
    sides = [side for one in found for side in one["features"].values()]
    assert any((side["low"] is None) != (side["high"] is None) for side in sides)
    assert {one["proof"] for one in found} == {"proven"}
