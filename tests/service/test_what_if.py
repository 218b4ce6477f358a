"""What the model says of values that somebody chose: nothing is searched for, and no answer is made up."""

import asyncio
import re
import time

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints
from service.conftest import client_of, fitted, post, probabilities, rows_of, served, table, with_wordings
from service.test_display import DENIED, GERMAN, of_debts, of_scores, of_three, takes_missing

WHAT_IF = "/v1/models/credit:what-if"
DEBTS = {"income": 40, "debt": 30, "share": 0.75, "job": "clerk"}


def asked(service, rows, changes, **parameters):
    body = {"instances": rows, "changes": changes, "parameters": parameters}
    answer = post(service, body, path=WHAT_IF)
    assert answer.status_code == 200, answer.text
    return answer.json()["explanations"]


def one_asked(service, row, change, **parameters):
    (answer,) = asked(service, [row], [change], **parameters)
    (then,) = answer["counterfactuals"]
    return answer, then


def frame_of(rows):
    return pd.DataFrame(rows).assign(since=lambda X: pd.to_datetime(X["since"]))


class TestAnswers:
    def test_it_is_what_the_model_says(self, nice):
        rows = rows_of(table(4, seed=1))
        changes = [{"income": 90}, {"age": 20, "job": "nurse"}, {}, {"is_customer": True, "since": "2021-05-06"}]
        answers = asked(served(nice), rows, changes)
        then = [one["counterfactuals"][0] for one in answers]
        assert [one["values"] for one in then] == [{**row, **change} for row, change in zip(rows, changes, strict=True)]
        for made, of in (([(a["decision"], a["probability"]) for a in answers], rows), ([(a["decision"], a["probability"]) for a in then], [one["values"] for one in then])):  # fmt: skip
            said = probabilities(frame_of(of))
            assert [one for one, _ in made] == np.array(["no", "yes"])[said.argmax(axis=1)].tolist()
            assert [one for _, one in made] == pytest.approx(said.max(axis=1))
        assert [one["found"] for one in answers] == [True] * 4
        assert [{c["feature"] for c in one["changes"]} for one in then] == [
            {key for key, value in change.items() if row[key] != value}
            for row, change in zip(rows, changes, strict=True)
        ]

    def test_the_text_says_whether_the_decision_is_another(self, nice):
        service = served(nice)
        other = one_asked(service, DENIED, {"income": 60})[1]
        assert (
            other["text"]
            == "If income were 60.0 instead of 40.0, the model would say yes instead of no: the probability of yes would be 94 % instead of 23 %."
        )
        same = one_asked(service, DENIED, {"income": 41})[1]
        assert (
            same["text"]
            == "If income were 41.0 instead of 40.0, the model would still say no: the probability of no would be 73 %, and is 77 % now."
        )
        nothing = one_asked(service, DENIED, {})
        assert nothing[0]["text"] == nothing[1]["text"] == "The model says no: the probability of no is 77 %."
        assert [one["reached"] for one in (other, same, nothing[1])] == [True, False, False]

    def test_german_is_german(self, nice):
        service = with_wordings(served(nice), de=GERMAN)
        other = one_asked(service, DENIED, {"income": 60, "job": "nurse"}, language="de", display=True)[1]
        assert "Monatseinkommen 60,0 EUR statt 40,0 EUR" in other["text"]
        assert "auf bewilligt statt auf abgelehnt entscheiden: Die Wahrscheinlichkeit für bewilligt" in other["text"]
        assert {c["after"] for c in other["display"]["changes"]} == {"60,0 EUR", "Pflege"}
        same = one_asked(service, DENIED, {"income": 41}, language="de")[1]
        assert (
            "weiterhin auf abgelehnt entscheiden: Die Wahrscheinlichkeit für abgelehnt wäre 73 %, jetzt" in same["text"]
        )
        nothing = one_asked(service, DENIED, {}, language="de")[1]
        assert nothing["text"].endswith(" entscheidet auf abgelehnt: Die Wahrscheinlichkeit für abgelehnt ist 77 %.")

    def test_a_number_is_said_as_it_was_chosen(self, nice):
        _, then = one_asked(served(nice), DENIED, {"income": 60.123456})
        assert "60.123456" in then["text"]
        assert then["values"]["income"] == 60.123456

    def test_values_may_go_missing_or_be_new_and_the_notes_say_so(self):
        service = served(fitted(takes_missing))
        answer, then = one_asked(service, DENIED, {"job": None, "is_customer": None, "since": None, "age": 200})
        assert [then["values"][key] for key in ("job", "is_customer", "since", "age")] == [None, None, None, 200]
        assert "job were missing instead of smith" in then["text"]
        assert "since were missing instead of 2020-03-18" in then["text"]
        assert "'age' is 200, outside the 18 to 79" in answer["notes"][0]
        answer, then = one_asked(service, DENIED, {"job": "pilot"}, language="de")
        assert then["values"]["job"] == "pilot"
        assert "pilot, was keine Trainingszeile" in answer["notes"][0]

    def test_notes_are_about_the_values_that_were_chosen(self, nice):
        answer, _ = one_asked(served(nice), {**DENIED, "age": 200}, {"age": 30})
        assert answer["notes"] == []

    def test_a_target_says_what_is_reached(self, nice):
        service = served(nice)
        assert one_asked(service, DENIED, {"income": 60}, target="yes")[1]["reached"]
        assert not one_asked(service, DENIED, {"income": 60}, target="no")[1]["reached"]
        assert one_asked(service, DENIED, {"income": 41}, target="no")[1]["reached"]
        three = served(of_three())
        assert one_asked(three, DENIED, {"income": 70}, target=["high", "low"])[1]["reached"]
        assert not one_asked(three, DENIED, {"income": 70}, target="low")[1]["reached"]

    def test_a_letter_is_only_about_what_changes_the_decision(self, nice):
        service = served(nice)
        assert "income: 60.0 instead of 40.0" in one_asked(service, DENIED, {"income": 60}, letter=True)[1]["letter"]
        assert one_asked(service, DENIED, {"income": 41}, letter=True)[1]["letter"] is None
        german = one_asked(service, DENIED, {"income": 60}, letter=True, language="de")[1]["letter"]
        assert "Weg zu einer anderen Entscheidung" in german

    def test_an_array_is_asked_by_the_names_of_the_schema(self):
        X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
        model = NICE(lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float), classes=[0, 1])
        service = served(model.fit(X, (X[:, 0] >= 0).astype(int)))
        _, then = one_asked(service, [-1, 0.5, 1], {"x0": 2})
        assert (then["decision"], then["values"]) == (1, {"x0": 2, "x1": 0.5, "x2": 1})


class TestDecisions:
    def test_of_many_classes(self):
        service = served(of_three())
        row = {**DENIED, "income": 44.0}
        same = one_asked(service, row, {"income": 40}, display=True)[1]
        assert "the model would still say mid: the probability of mid would be" in same["text"]
        assert same["text"].endswith("(the most probable class is decided).")
        other = one_asked(service, row, {"income": 70}, display=True)[1]
        assert "the model would say high instead of mid" in other["text"]
        assert other["display"]["quantity"]["name"] == "the probability of high"
        # With a target, it is shown how far it is from there.
        towards = one_asked(service, row, {"income": 45}, target="high", display=True)[1]
        assert not towards["reached"]
        quantity = towards["display"]["quantity"]
        assert quantity["name"] == "the probability of high"
        assert quantity["before"] < quantity["after"] < 0.5

    @pytest.mark.parametrize("language", ["en", "de"])
    def test_of_a_cut_off(self, language):
        service = served(fitted(decision=0.3))
        line = {"en": "(the decision is yes from 30 % on)", "de": "(ab 30 % lautet die Entscheidung yes)"}[language]
        same = one_asked(service, DENIED, {"income": 41}, language=language, display=True)[1]
        assert line in same["text"]
        assert ("still say no" in same["text"]) == (language == "en")
        assert same["display"]["quantity"]["limits"] == [0.3]
        assert same["display"]["quantity"]["name"].endswith("yes")
        other = one_asked(service, DENIED, {"income": 42.5}, language=language, display=True)[1]  # 33 %
        assert (other["decision"], other["reached"]) == ("yes", True)
        assert line in other["text"]
        nothing = one_asked(service, DENIED, {}, language=language)[1]
        assert line in nothing["text"]

    def test_of_a_probability_that_was_asked_for(self):
        service = served(fitted(min_probability=0.8))
        short = one_asked(service, DENIED, {"income": 48}, display=True)[1]  # 60 %
        assert (short["decision"], short["reached"]) == ("yes", False)
        same = one_asked(service, DENIED, {"income": 41}, display=True)[1]
        assert "asked for" not in same["text"]  # it was not asked of this class
        for one in (short, same):
            quantity = one["display"]["quantity"]
            assert (quantity["name"], quantity["limits"]) == ("the probability of yes", [0.5, 0.8])
            assert quantity["line"] == "The line is at 50 %; at least 80 % is wanted."
        enough = one_asked(service, DENIED, {"income": 60}, display=True)[1]
        assert enough["reached"]
        assert "at least 80 % was asked for" in enough["text"]

    def test_of_models_that_must_agree(self):
        service = served(fitted(robust_to=[lambda X: probabilities(X.assign(income=X["income"] - 10))]))
        assert not one_asked(service, DENIED, {"income": 50})[1]["reached"]
        assert one_asked(service, DENIED, {"income": 50})[1]["decision"] == "yes"
        assert one_asked(service, DENIED, {"income": 60})[1]["reached"]

    @pytest.mark.parametrize(
        ("language", "texts"),
        [
            ("en", ["If income were 50.0 instead of 40.0, the score would be 4,400 (4,000 to 5,000), and is 3,400 now.", "If income were 41.0 instead of 40.0, the score would be 3,500 (outside 4,000 to 5,000), and is 3,400 now.", "The score is 3,400 (outside 4,000 to 5,000)."]),
            ("de", ["Wenn income 50,0 statt 40,0 wäre, läge der Wert bei 4.400 (4.000 bis 5.000); jetzt liegt er bei 3.400.", "Wenn income 41,0 statt 40,0 wäre, läge der Wert bei 3.500 (außerhalb von 4.000 bis 5.000); jetzt liegt er bei 3.400.", "Der Wert liegt bei 3.400 (außerhalb von 4.000 bis 5.000)."]),
        ],
    )  # fmt: skip
    def test_of_scores(self, language, texts):
        rows = [DENIED] * 3
        changes = [{"income": 50}, {"income": 41}, {}]
        answers = asked(served(of_scores()), rows, changes, target_score=[4000, 5000], language=language, display=True)
        then = [one["counterfactuals"][0] for one in answers]
        assert [one["text"] for one in then] == texts
        assert [one["score"] for one in then] == [4400, 3500, 3400]
        assert [one["reached"] for one in then] == [True, False, False]
        assert then[0]["display"]["quantity"]["limits"] == [4000, 5000]

    def test_scores_need_a_target(self):
        answer = post(served(of_scores()), {"instances": [DENIED], "changes": [{}]}, path=WHAT_IF)
        assert answer.status_code == 400
        assert "target_score" in answer.json()["error"]


class TestWhatFollows:
    def test_it_is_computed(self):
        _, then = one_asked(served(of_debts()), DEBTS, {"income": 75}, display=True)
        assert then["values"] == {"income": 75, "debt": 30, "share": 0.4, "job": "clerk"}
        assert then["decision"] == "yes"
        assert [c["feature"] for c in then["changes"] if c.get("derived")] == ["share"]
        assert [c["after"] for c in then["display"]["derived"]] == ["0.40"]
        assert "which makes share 0.40 instead of 0.75" in then["text"]

    def test_a_value_that_was_chosen_for_it_is_not_used_and_a_note_says_so(self):
        service = served(of_debts())
        answer, then = one_asked(service, DEBTS, {"share": 0.1})
        assert then["values"] == DEBTS
        assert answer["notes"] == ["computed, since it follows from other columns: 'share'"]
        answer, then = one_asked(service, DEBTS, {"share": 0.1, "income": 75}, language="de")
        assert then["values"]["share"] == 0.4
        assert answer["notes"] == ["berechnet, weil es aus anderen Spalten folgt: 'share'"]
        answer, _ = one_asked(service, DEBTS, {"share": 0.4, "income": 75})  # as a plan has it
        assert answer["notes"] == []

    def test_what_is_protected_is_computed_and_not_named(self):
        service = served(of_debts(protected=["share", "job"]))
        for language in ("en", "de"):
            for change in (
                {"income": 75},
                {"share": 0.1},
                {"debt": 500},
                {"income": None},
                {"income": 75, "share": 0.1},
            ):
                (answer,) = asked(service, [{**DEBTS, "job": "baker"}], [change], display=True, language=language)
                said = [answer["text"], answer["reason"], answer["notes"], answer["display"]]
                said += [[one["text"], one["display"]] for one in answer["counterfactuals"]]
                assert "share" not in str(said)
                assert "job" not in str(said)
                assert answer["found"] == (change != {"income": None})

    def test_notes_are_about_what_was_computed(self):
        service = served(of_debts())
        answer, _ = one_asked(service, DEBTS, {"debt": 500})
        assert "'debt' is 500" in answer["notes"][0]
        assert "'share' is 12.5" in answer["notes"][0]
        answer, _ = one_asked(service, {**DEBTS, "debt": 500, "share": 12.5}, {"debt": 30})
        assert answer["notes"] == []

    @pytest.mark.parametrize("income", [None, 0])
    def test_where_it_has_no_value_there_is_no_answer_but_a_reason(self, income):
        service = served(of_debts())
        none, good = asked(service, [DEBTS, DEBTS], [{"income": income}, {"income": 75}], display=True)
        assert (none["found"], none["counterfactuals"]) == (False, [])
        assert none["decision"] == "no"
        assert none["text"].startswith("This cannot be: 'share' follows from other columns, but has no value")
        assert none["display"]["obstacle"] == ""
        assert good["counterfactuals"][0]["values"]["share"] == 0.4
        (german,) = asked(service, [DEBTS], [{"income": income}], language="de", letter=True)
        assert german["text"].startswith("Das kann nicht sein: 'share'")
        assert "nicecf_not_found_total" in service.measures.text().decode()
        assert 'nicecf_not_found_total{model="credit"} 0.0' in service.measures.text().decode()

    def test_a_row_that_contradicts_itself_stays_as_it_is_where_nothing_changes(self):
        service = served(of_debts())
        odd = {**DEBTS, "share": 0.2}
        _, then = one_asked(service, odd, {})
        assert (then["values"], then["changes"], then["decision"], then["reached"]) == (odd, [], "yes", False)
        _, then = one_asked(service, odd, {"debt": 31})
        assert then["values"]["share"] == 0.78

    def test_columns_that_go_together_may_be_taken_apart(self):
        X = table().assign(code=lambda X: X["job"].map({"clerk": 1, "nurse": 2, "smith": 3}).astype(str))
        y = np.where(probabilities(X)[:, 1] > 0.5, "yes", "no")
        nice = NICE(probabilities, classes=["no", "yes"], constraints=Constraints(groups=["auto"])).fit(X, y)
        _, then = one_asked(served(nice), {**DENIED, "code": "3"}, {"job": "nurse", "income": 60})
        assert then["values"] == {**DENIED, "code": "3", "job": "nurse", "income": 60}
        assert then["decision"] == "yes"


class TestAsking:
    def test_the_model_is_asked_about_two_rows_and_nobody_searches(self, monkeypatch):
        sizes = []

        def model(X):
            sizes.append(len(X))
            time.sleep(0.005)  # so slow that a search would ask about more rows at once
            return probabilities(X)

        service = served(fitted(model))
        monkeypatch.setattr(NICE, "explain", None)
        sizes.clear()
        one_asked(service, DENIED, {"income": 60}, display=True)
        assert len(sizes) == 1
        assert sizes[0] <= 2 + 8  # and a few rows that tell whether it is still the same model

    def test_requests_that_arrive_together_are_one_call(self, nice):
        service = served(nice)

        async def talk():
            async with client_of(service) as client:
                bodies = [{"instances": [DENIED], "changes": [{"income": 40 + at}]} for at in range(30)]
                answers = await asyncio.gather(*(client.post(WHAT_IF, json=body) for body in bodies))
                return [
                    answer.json()["explanations"][0]["counterfactuals"][0]["values"]["income"] for answer in answers
                ]

        assert asyncio.run(talk()) == [40 + at for at in range(30)]
        text = service.measures.text().decode()
        assert 'nicecf_batch_rows_sum{model="credit"} 30.0' in text
        calls = float(text.split('nicecf_batch_rows_count{model="credit"} ')[1].split("\n")[0])
        assert calls < 30

    def test_no_rare_training_value_is_told_by_a_note(self):
        answer, _ = one_asked(served(fitted(min_count=5)), DENIED, {"age": 200})
        assert table()["age"].max() == 79  # of fewer than five
        assert "outside 18 to 78, the range of what at least 5 training rows share" in answer["notes"][0]


WRONG = {
    "no changes": ({"instances": [DENIED]}, "changes: it is missing; send one object for each row"),
    "too few": ({"instances": [DENIED, DENIED], "changes": [{}]}, "changes: expected one for each of 2 rows, got 1"),
    "no object": ({"instances": [DENIED], "changes": [[]]}, r"changes\[0\]: expected 'object', got 'array'"),
    "no feature": ({"instances": [DENIED], "changes": [{"sex": 1}]}, r"changes\[0\]: there is no feature 'sex'"),
    "a cell of another kind": ({"instances": [DENIED], "changes": [{"age": "old"}]}, r"changes\[0\].age: expected a number or null, got \"old\""),
    "a date that is none": ({"instances": [DENIED], "changes": [{"since": "soon"}]}, r"changes\[0\].since: expected"),
    "a list in a cell": ({"instances": [DENIED], "changes": [{"age": [1]}]}, "changes"),
    "a record": ({"instances": [DENIED], "changes": [{}], "parameters": {"record": True}}, "parameters.record: there is none of what was not searched for"),
    "a target that is none": ({"instances": [DENIED], "changes": [{}], "parameters": {"target": "maybe"}}, "parameters.target: 'maybe' is not a class"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_by_its_field(nice, case):
    body, message = WRONG[case]
    answer = post(served(nice), body, path=WHAT_IF)
    assert answer.status_code == 400, answer.text
    assert re.search(message, answer.json()["error"]), answer.json()["error"]


def test_changes_are_for_this_verb_alone(nice):
    for verb in ("explain", "report"):
        answer = post(served(nice), {"instances": [DENIED], "changes": [{}]}, path=f"/v1/models/credit:{verb}")
        assert (answer.status_code, answer.json()["error"]) == (
            400,
            "changes: they are for :what-if; here, leave them out",
        )
