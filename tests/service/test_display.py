"""What is asked for besides counterfactuals: plans, another language, letters, and what a page shows."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE, Constraints, Wording, from_score, replay
from service.conftest import explained, fitted, get, post, probabilities, served, table, with_wordings

ENGLISH = Wording(
    names={"income": "monthly income"}, units={"income": "EUR"}, classes={"yes": "approved", "no": "denied"}
)
GERMAN = Wording(
    language="de",
    names={"income": "Monatseinkommen", "job": "Beruf"},
    units={"income": "EUR"},
    classes={"yes": "bewilligt", "no": "abgelehnt"},
    values={"job": {"nurse": "Pflege"}},
)
DENIED = {"age": 60, "income": 40.0, "job": "smith", "is_customer": False, "since": "2020-03-18"}


def three_classes(X):
    score = X["income"].to_numpy(float) - 0.2 * X["age"].to_numpy(float)
    odds = np.exp(np.column_stack([-(score - 20) / 5, np.zeros(len(score)), (score - 40) / 5]))
    return odds / odds.sum(axis=1, keepdims=True)


def limit(X):
    return 100 * X["income"].to_numpy(float) - 10 * X["age"].to_numpy(float)


def of_three():
    X = table()
    labels = np.array(["low", "mid", "high"])
    return NICE(three_classes, classes=labels.tolist()).fit(X, labels[three_classes(X).argmax(axis=1)])


def of_scores():
    return NICE(from_score(limit, kind="score"), justified=False).fit(table())


def debts(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"income": rng.integers(20, 80, n_rows), "debt": rng.integers(5, 60, n_rows)})
    return X.assign(share=share(X), job=rng.choice(["clerk", "nurse"], n_rows))


def share(X):
    return (X["debt"] / X["income"]).round(2)


def by_share(X):
    yes = 1 / (1 + np.exp(10 * (X["share"].to_numpy(float) - 0.5)))
    return np.column_stack([1 - yes, yes])


def of_debts(protected=(), **options):
    """The share follows from the debts and the income."""
    X = debts()
    y = np.where(by_share(X)[:, 1] > 0.5, "yes", "no")
    rules = Constraints(derived={"share": share}, protected=protected)
    return NICE(by_share, classes=["no", "yes"], constraints=rules, **options).fit(X, y)


@pytest.fixture(scope="module")
def balanced():
    """It knows what is plausible, and looks for few changes."""
    return fitted(optimize="balanced").with_search(optimize="sparsity")


class TestPlans:
    def test_they_are_those_of_the_library(self, balanced):
        X = table(4, seed=1)
        answer = explained(served(balanced), X, plans=True, n=3)
        cfs = balanced.explain(X, n_counterfactuals=3).plans()
        found = [(row, one) for row, each in enumerate(answer) for one in each["counterfactuals"]]
        assert [row for row, _ in found] == cfs.rows.tolist()
        assert [one["text"] for _, one in found] == cfs.texts()
        assert [tuple(one["strengths"]) for _, one in found] == cfs.strengths
        assert {"fewest", "nearest", "most_plausible"} == {name for _, one in found for name in one["strengths"]}
        metrics = cfs.metrics()
        assert [one["n_changes"] for _, one in found] == metrics["sparsity"].tolist()
        assert [one["distance"] for _, one in found] == pytest.approx(metrics["proximity"].tolist())
        assert [one["error"] for _, one in found] == pytest.approx(metrics["plausibility"].tolist())

    def test_each_of_them_can_be_replayed(self, balanced):
        answer = explained(served(balanced), table(3, seed=2), plans=True, n=2, record=True)
        records = [one["record"] for each in answer for one in each["counterfactuals"]]
        assert len(records) > 3
        assert all(record["call"]["plans"] for record in records)
        assert [record["call"]["which"] for record in records][:2] == [0, 1]
        for record in records:
            assert replay(record, balanced).is_same, str(replay(record, balanced))

    def test_without_a_measure_of_plausibility_nobody_is_most_plausible(self, nice):
        (answer,) = explained(served(nice), [DENIED], plans=True, n=3)
        strengths = {name for one in answer["counterfactuals"] for name in one["strengths"]}
        assert strengths == {"fewest", "nearest"}
        assert {one["error"] for one in answer["counterfactuals"]} == {None}

    def test_of_one_search_there_is_one_plan_and_without_the_parameter_no_strengths(self, nice):
        (answer,) = explained(served(nice), [DENIED], plans=True, search="greedy")
        assert [one["strengths"] for one in answer["counterfactuals"]] == [[]]
        assert "strengths" not in explained(served(nice), [DENIED])[0]["counterfactuals"][0]

    def test_a_row_without_any_says_why_and_a_row_that_needs_none_is_its_own(self, nice):
        service = served(nice)
        (none,) = explained(service, [DENIED], plans=True, rules={"immutable": list(DENIED)})
        assert (none["found"], none["counterfactuals"]) == (False, [])
        assert "may not change" in none["reason"]
        (own,) = explained(service, [DENIED], plans=True, target="no")
        assert [(one["n_changes"], one["distance"]) for one in own["counterfactuals"]] == [(0, 0.0)]

    def test_of_scores_they_are_in_the_target(self):
        (answer,) = explained(served(of_scores()), [DENIED], plans=True, n=3, target_score=[3600, None])
        assert answer["score"] == 3400
        assert len(answer["counterfactuals"]) > 1
        assert all(one["score"] >= 3600 for one in answer["counterfactuals"])


class TestLanguage:
    @pytest.mark.parametrize("language", ["en", "de"])
    def test_texts_reasons_and_notes_are_in_it(self, nice, language):
        X = table(3, seed=3).assign(age=[200, 30, 40])
        answer = explained(served(nice), X, language=language, rules={"immutable": ["age", "job", "is_customer"]})
        cfs = nice.explain(X, constraints=Constraints(immutable=["age", "job", "is_customer"]))
        assert [one["text"] for one in answer] == cfs.texts(wording=Wording(language=language))
        expected = {"en": "outside the 18 to 79 of the training rows", "de": "außerhalb"}[language]
        assert expected in answer[0]["notes"][0]
        (none,) = explained(served(nice), X[:1], language=language, rules={"immutable": list(X)})
        assert {"en": "may not change", "de": "darf sich nicht ändern"}[language] in none["reason"]

    def test_an_explainer_has_a_wording_for_each(self, nice):
        service = with_wordings(served(nice), en=ENGLISH, de=GERMAN)
        english, german = (explained(service, [DENIED], language=one)[0]["text"] for one in ("en", "de"))
        assert "monthly income were" in english
        assert "EUR" in english
        assert "approved" in english
        assert "Monatseinkommen" in german
        assert "bewilligt" in german
        assert explained(service, [DENIED])[0]["text"] == english

    def test_a_language_without_a_wording_has_the_names_of_the_first(self, nice):
        service = with_wordings(served(nice), en=ENGLISH)
        (german,) = explained(service, [DENIED], language="de")
        assert "Wenn monthly income" in german["text"]

    def test_one_that_is_not_spoken_is_refused(self, nice):
        answer = post(served(nice), {"instances": [DENIED], "parameters": {"language": "fr"}})
        assert (answer.status_code, answer.json()["error"]) == (400, "parameters.language: invalid enum value 'fr'")


class TestLetters:
    @pytest.mark.parametrize("language", ["en", "de"])
    def test_each_counterfactual_has_its_own(self, nice, language):
        (answer,) = explained(served(nice), [DENIED], n=2, letter=True, language=language)
        cfs = nice.explain(table(1).assign(**{**DENIED, "since": pd.Timestamp(DENIED["since"])}), n_counterfactuals=2)
        letters = [cfs[[at]].letters(wording=Wording(language=language))[0] for at in range(len(cfs))]
        assert [one["letter"] for one in answer["counterfactuals"]] == letters
        assert len(letters) == 2
        assert "letter" not in answer
        assert "letter" not in explained(served(nice), [DENIED])[0]["counterfactuals"][0]

    def test_a_row_without_a_counterfactual_has_one_too(self, nice):
        (none,) = explained(
            served(nice), [DENIED], letter=True, language="de", rules={"immutable": list(DENIED)}, target="yes"
        )
        assert none["counterfactuals"] == []
        assert none["letter"].startswith("Die Entscheidung\n")
        assert "keine gefunden" in none["letter"]


class TestDisplay:
    def test_changes_have_names_values_and_directions_as_people_read_them(self, nice):
        service = with_wordings(served(nice), en=ENGLISH, de=GERMAN)
        rules = {"immutable": ["age", "is_customer", "since"]}
        (answer,) = explained(service, [DENIED], display=True, language="de", rules=rules, n=2)
        shown = [one["display"] for one in answer["counterfactuals"]]
        changes = {change["feature"]: change for one in shown for change in one["changes"]}
        assert changes["job"]["name"] == "Beruf"
        assert (changes["job"]["before"], changes["job"]["after"], changes["job"]["goes"]) == ("smith", "Pflege", 0)
        assert changes["income"]["before"] == "40,0 EUR"
        assert (changes["income"]["name"], changes["income"]["goes"]) == ("Monatseinkommen", 1)
        assert answer["display"]["decision"] == "abgelehnt"
        assert {one["decision"] for one in shown} == {"bewilligt"}
        assert "display" not in explained(service, [DENIED])[0]

    def test_dates_booleans_and_what_is_missing_or_new_are_shown_too(self, nice):
        row = {**DENIED, "job": None, "is_customer": None}
        service = served(fitted(takes_missing))
        rules = {"immutable": ["age", "income"]}
        (answer,) = explained(service, [row], display=True, rules=rules, optimize="none", search="greedy")
        (one,) = answer["counterfactuals"]
        changes = {change["feature"]: change for change in one["display"]["changes"]}
        assert (changes["job"]["before"], changes["job"]["after"]) == ("missing", "nurse")
        assert (changes["is_customer"]["before"], changes["is_customer"]["after"]) == ("missing", "yes")
        assert changes["since"]["before"] == "2020-03-18"
        (new,) = explained(served(nice), [{**DENIED, "job": "pilot"}], display=True, rules=rules)
        change = next(c for c in new["counterfactuals"][0]["display"]["changes"] if c["feature"] == "job")
        assert (change["before"], change["after"]) == ("pilot", "nurse")

    def test_of_two_classes_the_quantity_is_that_of_the_other_for_all_plans(self, nice):
        (answer,) = explained(served(nice), [DENIED], display=True, plans=True, n=3)
        quantities = [one["display"]["quantity"] for one in answer["counterfactuals"]]
        assert len(quantities) > 1
        for one, quantity in zip(answer["counterfactuals"], quantities, strict=True):
            assert quantity["name"] == "the probability of yes"
            assert quantity["before"] == pytest.approx(1 - answer["probability"])
            assert quantity["after"] == one["probability"]
            assert quantity["limits"] == [0.5]
            assert quantity["before_text"] == "23 %"
        assert answer["display"]["quantity"]["before"] == quantities[0]["before"]

    def test_of_many_classes_it_is_that_of_the_new_one_and_there_is_no_line(self):
        (answer,) = explained(served(of_three()), [{**DENIED, "income": 44.0}], display=True, target="high")
        quantity = answer["counterfactuals"][0]["display"]["quantity"]
        assert (answer["display"]["decision"], answer["counterfactuals"][0]["display"]["decision"]) == ("mid", "high")
        assert (quantity["name"], quantity["limits"]) == ("the probability of high", [])
        assert quantity["line"] == "the most probable class is decided"
        assert quantity["after"] == answer["counterfactuals"][0]["probability"]
        assert quantity["before"] < quantity["after"]

    @pytest.mark.parametrize(("language", "line"), [("en", "the decision is yes from 30 % on"), ("de", "ab 30 % lautet die Entscheidung yes")])  # fmt: skip
    def test_a_cut_off_is_the_line(self, language, line):
        service = served(fitted(decision=0.3))
        for income in (30.0, 60.0):  # from below, and from above
            (answer,) = explained(service, [{**DENIED, "income": income}], display=True, language=language)
            quantity = answer["counterfactuals"][0]["display"]["quantity"]
            assert quantity["name"].endswith("yes")
            assert (quantity["limits"], quantity["line"]) == ([0.3], line)
            assert (quantity["before"] >= 0.3) == (income == 60.0) != (quantity["after"] >= 0.3)

    def test_a_probability_that_was_asked_for_is_a_line(self):
        (answer,) = explained(served(fitted(min_probability=0.8)), [DENIED], display=True)
        quantity = answer["counterfactuals"][0]["display"]["quantity"]
        assert quantity["limits"] == [0.5, 0.8]
        assert quantity["after"] >= 0.8
        assert quantity["line"] == "The line is at 50 %; at least 80 % is wanted."
        assert (answer["display"]["quantity"]["name"], answer["display"]["quantity"]["before"]) == (
            "the probability of yes",
            quantity["before"],
        )

    def test_of_a_decision_that_is_only_made_safer_it_is_the_probability_of_that_decision(self, nice):
        (row,) = [{**DENIED, "income": 48.0}]
        (answer,) = explained(served(nice), [row], display=True, target="yes", min_probability=0.8)
        assert answer["decision"] == "yes"
        for quantity in (answer["display"]["quantity"], answer["counterfactuals"][0]["display"]["quantity"]):
            assert quantity["name"] == "the probability of yes"
            assert quantity["before"] < 0.8 <= quantity["after"]

    def test_a_score_has_no_name_and_the_ends_of_its_target_are_lines(self):
        service = served(of_scores())
        (answer,) = explained(service, [DENIED], display=True, target_score=[4000, 5000], language="de")
        quantity = answer["counterfactuals"][0]["display"]["quantity"]
        assert (quantity["name"], quantity["limits"], quantity["line"]) == (None, [4000, 5000], "4.000 bis 5.000")
        assert (quantity["before"], quantity["before_text"]) == (3400, "3.400")
        assert quantity["after"] == answer["counterfactuals"][0]["score"]
        assert answer["display"]["decision"] == "außerhalb von 4.000 bis 5.000"
        (open_end,) = explained(service, [DENIED], display=True, target_score=[None, 3000])
        assert open_end["counterfactuals"][0]["display"]["quantity"]["limits"] == [3000]

    def test_what_follows_is_shown_apart(self):
        row = {"income": 40, "debt": 30, "share": 0.75, "job": "clerk"}
        (answer,) = explained(served(of_debts()), [row], display=True)
        shown = answer["counterfactuals"][0]["display"]
        assert [one["feature"] for one in shown["changes"]] == ["debt"]
        assert [(one["feature"], one["before"], one["after"]) for one in shown["derived"]] == [
            ("share", "0.75", "0.48")
        ]
        assert [c.get("derived", False) for c in answer["counterfactuals"][0]["changes"]] == [False, True]

    def test_columns_of_an_array_are_named_by_their_places(self):
        X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
        nice = NICE(lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float), classes=[0, 1])
        nice.constraints = Constraints(immutable=[0])
        service = served(nice.fit(X, (X[:, 0] >= 0).astype(int)))
        (none,) = explained(service, [[-1, 0, 0]], display=True)
        assert none["display"]["relaxation"]["features"] == ["x0"]  # the rule counts it
        assert none["display"]["decision"] == "0"

    @pytest.mark.parametrize("language", ["en", "de"])
    def test_each_change_says_how_far_it_moves_the_number_and_together_they_are_the_whole_way(self, nice, language):
        rules = {"immutable": ["age", "is_customer"], "ranges": {"income": {"high": 44}}}
        asked = {"display": True, "plans": True, "n": 3, "rules": rules, "language": language}
        (answer,) = explained(served(nice), [{**DENIED, "income": 36}], **asked)
        word = {"en": "point", "de": "Punkt"}[language]
        several = [one for one in answer["counterfactuals"] if len(one["changes"]) > 1]
        assert several
        for one in several:
            said = [change["contribution"] for change in one["display"]["changes"]]
            assert all(word in text for text in said)
            quantity = one["display"]["quantity"]
            whole = round(100 * quantity["after"]) - round(100 * quantity["before"])
            assert sum(int(text.split()[0].replace("\N{MINUS SIGN}", "-")) for text in said) == whole

    def test_of_scores_a_change_moves_the_score_and_what_follows_moves_nothing(self):
        (answer,) = explained(served(of_scores()), [DENIED], display=True, target_score=[4000, 5000], language="de")
        quantity = answer["counterfactuals"][0]["display"]["quantity"]
        (change,) = answer["counterfactuals"][0]["display"]["changes"]
        assert change["contribution"] == f"+{quantity['after'] - quantity['before']:.0f}"
        row = {"income": 40, "debt": 30, "share": 0.75, "job": "clerk"}
        (answer,) = explained(served(of_debts()), [row], display=True)
        assert ["contribution" in one for one in answer["counterfactuals"][0]["display"]["derived"]] == [False]

    @pytest.mark.parametrize(
        ("optimize", "said"), [("proximity", "nothing nearer exists."), ("sparsity", "no way needs fewer changes.")]
    )
    def test_what_is_proven_is_said_for_people_and_nothing_where_nothing_is(self, optimize, said):
        pytest.importorskip("ortools", reason="proofs need the extra 'exact'")
        X = debts()[["income", "debt"]]
        y = np.where((X["debt"] < 40) & (X["income"] > 30), "yes", "no")
        tree = DecisionTreeClassifier(random_state=0).fit(X, y)
        exact = NICE(tree, search="exact", optimize=optimize).fit(X, y)
        row = {"income": 25, "debt": 50}
        (answer,) = explained(served(exact), [row], display=True, plans=True)
        assert answer["proof"] == "optimal"
        assert answer["display"]["proof"] == f"Proven: with values that occur in the training data, {said}"
        (none,) = explained(served(exact), [row], display=True, rules={"immutable": ["income", "debt"]})
        assert none["display"]["proof"] == "Proven: with values that occur in the training data, there is no way."
        (greedy,) = explained(served(exact), [row], display=True, search="greedy")
        assert greedy["display"]["proof"] == ""

    def test_a_search_that_was_stopped_is_told_without_the_names_of_options(self, nice):
        for language, word in (("en", "stopped"), ("de", "angehalten")):
            (answer,) = explained(served(nice), [DENIED], display=True, budget=1e-9, language=language)
            assert answer["stopped_early"] is True
            said = [*answer["display"]["notes"], answer["display"]["obstacle"]]
            assert word in " ".join(said)
            assert "time_budget" not in json.dumps(answer["display"])
        (complete,) = explained(served(nice), [DENIED], display=True)
        assert "stopped_early" not in complete

    def test_that_there_are_not_more_plans_is_no_news(self, nice):
        rules = {"immutable": ["age", "is_customer", "since", "job"]}
        (answer,) = explained(served(nice), [DENIED], display=True, plans=True, n=4, rules=rules)
        assert "1 of 4 counterfactuals" in answer["notes"][0]
        assert answer["display"]["notes"] == []

    def test_a_page_does_not_wait_until_numbers_are_rounded(self):
        """How far they can be, only texts without a display ask the model."""
        X = table()
        X["income"] += np.random.default_rng(1).random(len(X)) / 10
        y = np.where(probabilities(X)[:, 1] > 0.5, "yes", "no")
        service = served(NICE(probabilities, classes=["no", "yes"]).fit(X, y))
        with_display, without = (
            explained(service, [DENIED], display=one)[0]["counterfactuals"][0] for one in (True, False)
        )
        (change,) = with_display["display"]["changes"]
        assert change["after"] == str(with_display["changes"][0]["after"])
        assert len(change["after"]) > 10
        assert change["after"] in with_display["text"]
        assert change["after"] not in without["text"]


def by_income(X):
    """The other features change nothing."""
    return two_columns(X["income"] > 45)


def by_both(X):
    return two_columns((X["income"] > 45) & (X["age"] < 50))


def by_date(X):
    return two_columns(X["since"].dt.year > 2020)


def two_columns(is_yes):
    yes = np.where(is_yes.to_numpy(), 0.9, 0.1)
    return np.column_stack([1 - yes, yes])


def takes_missing(X):
    return probabilities(X.assign(is_customer=X["is_customer"].astype(float).fillna(0.0)))


class TestRelaxations:
    @pytest.mark.parametrize(
        ("rule", "rules"),
        [
            ("immutable", {"immutable": ["income"]}),
            ("ranges", {"ranges": {"income": {"high": 41}}}),
            ("ranges", {"ranges": {"income": {"low": 40, "high": 41}}}),
            ("decreasing", {"decreasing": ["income"]}),
            ("allowed", {"allowed": {"income": [40.0, 41.0]}}),
            ("step", {"step": {"income": 1000}}),
        ],
        ids=str,
    )
    def test_the_rule_is_named_as_parameters_name_it_with_its_features(self, rule, rules):
        (none,) = explained(served(fitted(by_income)), [DENIED], display=True, rules=rules)
        assert not none["found"], none["text"]
        relaxation = none["display"]["relaxation"]
        assert (relaxation["rule"], relaxation["features"], relaxation["n_changes"]) == (rule, ["income"], 1)
        # A reason has the names of a table in quotes; on a page they are as everywhere else on it.
        for said in (relaxation["blocks"], relaxation["text"]):
            assert said in none["reason"].replace("'", "")
        assert relaxation["blocks"] in none["display"]["obstacle"].replace("'", "")

    @pytest.mark.parametrize(
        ("rule", "rules", "features"),
        [
            ("max_changes", {"max_changes": 1}, []),
            ("relations", {"relations": ["income <= 30"]}, []),
            ("groups", {"groups": [["income", "since"]], "immutable": ["since"]}, ["income", "since"]),
        ],
        ids=str,
    )
    def test_a_rule_about_several_features_is_named_too(self, rule, rules, features):
        (none,) = explained(served(fitted(by_both)), [{**DENIED, "income": 20}], display=True, rules=rules)
        assert not none["found"], none["text"]
        relaxation = none["display"]["relaxation"]
        assert (relaxation["rule"], relaxation["features"], relaxation["n_changes"]) == (rule, features, 2)

    def test_of_dates_the_direction_is_that_of_the_parameter(self):
        rules = {"decreasing": ["since"]}
        (none,) = explained(served(fitted(by_date)), [DENIED], display=True, language="de", rules=rules)
        assert not none["found"], none["text"]
        relaxation = none["display"]["relaxation"]
        assert (relaxation["rule"], relaxation["features"]) == ("decreasing", ["since"])
        assert "früher" in relaxation["blocks"]

    def test_rules_of_the_decision_are_named_too(self):
        service = served(fitted(min_probability=0.99))
        rules = {"immutable": ["age", "job", "is_customer", "since"], "ranges": {"income": {"high": 52}}}
        (none,) = explained(service, [DENIED], display=True, rules=rules)
        assert not none["found"], none["text"]
        relaxation = none["display"]["relaxation"]
        assert (relaxation["rule"], relaxation["features"]) == ("min_probability", [])

    def test_rules_about_models_are_told_without_the_names_of_options(self):
        never = lambda X: two_columns(X["income"] > 1_000)
        service = served(fitted(by_income, robust_to=[never]))
        (none,) = explained(service, [{**DENIED, "income": 20}], display=True, target="yes")
        assert not none["found"], none["text"]
        assert "robust_to" in none["reason"]
        relaxation = none["display"]["relaxation"]
        assert relaxation["blocks"] == "another of our models must agree as well"
        assert relaxation["text"] == "do without the agreement of one of the other models"

    def test_german_is_german(self, nice):
        service = with_wordings(served(nice), de=GERMAN)
        (none,) = explained(service, [DENIED], display=True, language="de", rules={"immutable": list(DENIED)})
        shown = none["display"]["relaxation"]
        assert shown["blocks"] == "Monatseinkommen darf sich nicht ändern"
        assert "Monatseinkommen" in shown["text"]
        assert "Monatseinkommen" in none["display"]["obstacle"]
        assert none["display"]["quantity"]["after"] == none["display"]["quantity"]["before"]

    def test_where_nothing_blocks_there_is_none(self, nice):
        (found,) = explained(served(nice), [DENIED], display=True)
        assert (found["display"]["relaxation"], found["display"]["obstacle"]) == (None, "")


def test_what_a_page_can_offer_is_in_the_description_of_the_model(balanced):
    about = get(served(balanced), "/v1/models/credit").json()
    assert about["has_plausibility"]
    assert about["limits"] == {"rows": 100, "table_rows": 10_000, "report_rows": 1_000, "n": 10}
