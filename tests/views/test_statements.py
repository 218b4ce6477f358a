"""Reasons, notes and rules in words: with the names that people use, in every style and picture, in any language."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints, Wording
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.phrases import Features, Probability, Statement, Value, Voice, plain_classes, shipped
from nicecf.views import exported_table
from nicecf.views.plots.data.changes import changes_of
from nicecf.views.plots.data.regions import regions_of
from nicecf.views.plots.data.walk import walk_of

STYLES = ["sentence", "bullets", "analyst"]
X = pd.DataFrame({"late_payments": [3, 0, 2, 1], "home": ["rent", "own", "rent", "own"]})
NO_ANSWER = "the model predicts {denied} for all 4 training rows, so no donor for {approved} exists"


def never_approves(X):
    return np.column_stack([np.full(len(X), 0.9), np.full(len(X), 0.1)])


def approves_owners(X):
    is_owner = np.asarray(X["home"]) == "own"
    return np.column_stack([~is_owner, is_owner]) * 0.8 + 0.1


@pytest.fixture(params=[("denied", "approved"), (0, 1), (False, True), (np.int64(0), np.int64(1))], ids=repr)
def labels(request):
    return request.param


@pytest.fixture
def hopeless(labels):
    return NICE(never_approves, classes=labels).fit(X, [labels[0]] * 4).explain(X.iloc[[0]])


@pytest.mark.parametrize("style", STYLES)
def test_a_reason_has_the_names_of_classes_in_every_style(hopeless, labels, style):
    wording = Wording(classes=dict(zip(labels, ("turned down", "granted"), strict=True)))
    assert NO_ANSWER.format(denied="turned down", approved="granted") in hopeless[0].text(style, wording=wording)


@pytest.mark.parametrize("style", STYLES)
def test_without_names_a_reason_has_the_labels_as_python_writes_them(hopeless, labels, style):
    denied, approved = (getattr(label, "item", lambda label=label: label)() for label in labels)
    reason = NO_ANSWER.format(denied=repr(denied), approved=repr(approved))
    assert hopeless[0].reason == reason
    assert reason in hopeless[0].text(style)


def test_a_letter_says_nothing_of_donors_and_has_the_names_of_classes(hopeless, labels):
    letter = hopeless[0].text("letter", wording=Wording(classes={labels[0]: "turned down"}))
    assert "Its decision is: turned down." in letter
    assert "there is none with that result that could serve as an example" in letter
    assert "donor" not in letter


def test_pages_and_pictures_have_the_names_of_classes(hopeless, labels):
    wording = Wording(classes=dict(zip(labels, ("turned down", "granted"), strict=True)))
    reason = NO_ANSWER.format(denied="turned down", approved="granted")
    assert reason in hopeless.to_html(wording=wording)
    assert reason in changes_of(hopeless[0], wording).words
    assert reason in walk_of(hopeless[0], wording).words
    assert reason in regions_of(hopeless[0], wording=wording).caption.notes[0]


def blocked(rule="immutable"):
    values = {"immutable": ["home"], "forbid": {"home": [("rent", "own")]}}
    rules = Constraints(**{rule: values[rule]}, increasing=["late_payments"])
    return NICE(approves_owners, classes=[0, 1]).fit(X, [0, 1, 0, 1]).explain(X.iloc[[0]], constraints=rules)


def test_a_letter_names_rules_and_features_in_words():
    letter = blocked("forbid")[0].text("letter", wording=Wording(names={"home": "your home"}))
    assert "a limit that we set for the changes that we look for: your home may not go from rent to own." in letter
    assert "Without this limit, there would have been a way." in letter


def test_a_reason_names_the_features_that_people_named_and_quotes_the_others():
    text = blocked()[0].text(wording=Wording(names={"home": "your home"}, classes={1: "approved"}))
    assert "no training row gives approved under the rules. Blocked by: your home may not change" in text
    assert "'home' may not change" in blocked()[0].text()


def test_in_a_letter_names_of_columns_are_made_words():
    model = lambda X: np.column_stack([X["late_payments"] > 0, X["late_payments"] == 0]) * 0.8 + 0.1
    nice = NICE(model, classes=[0, 1]).fit(X, [0, 1, 0, 0])
    cfs = nice.explain(X.iloc[[0]], constraints=Constraints(increasing=["late_payments"]))
    letter = cfs[0].text("letter")
    assert "for the changes that we look for: late payments may only increase. Without this limit" in letter
    assert "'late_payments' may only increase" in cfs[0].text()


def test_a_feature_and_a_class_of_the_same_name_are_told_apart():
    fields = {"feature": Features(("home",))}
    rule = Statement("rule.immutable", fields)
    limits = Statement("statement.by_rules")
    reason = Statement("reason.too_rare", {"target": plain_classes(["home"]), "limits": limits, "rules": (rule,)})
    batch = replace(worded_as(reason).batch, classes=np.array(["rent", "home"], dtype=object))
    wording = Wording(names={"home": "your flat"}, classes={"home": "an own house"})
    text = Counterfactuals(batch)[0].text(wording=wording)
    assert "gives an own house under the rules: your flat may not change" in text


def worded_as(*statements):
    """A result of one row whose reason and notes are these statements."""
    batch = NICE(never_approves, classes=[0, 1]).fit(X, [0] * 4).explain(X.iloc[[0]]).batch
    reasons, notes = np.empty(1, dtype=object), np.empty(1, dtype=object)
    reasons[0], notes[0] = statements[0], statements[1:]
    return Counterfactuals(replace(batch, reasons=reasons, notes=notes))


def test_notes_have_the_names_too():
    note = Statement("rule.immutable", {"feature": Features(("home",))})
    cfs = worded_as(Statement("reason.kept_back"), note, Statement("note.one_of", {"asked": 3}))
    assert cfs.notes.tolist() == ["'home' may not change; 1 of 3 counterfactuals"]
    assert cfs.note_kinds.tolist() == [("immutable", "one_of")]
    assert "note: your home may not change; 1 of 3 counterfactuals" in cfs[0].text(
        "analyst", wording=Wording(names={"home": "your home"})
    )


def test_numbers_in_statements_are_those_of_the_language():
    german = {**shipped("en"), "number.decimal_point": ",", "number.percent": "{number}%"}
    voice = Voice(german)
    ranges = Statement("rule.ranges_low", {"feature": Features(("age",)), "low": Value(2.5)})
    assert voice(ranges) == "'age' may only change to at least 2,5"
    apart = Voice(german | {"number.thousands": "\u00a0"})
    assert apart(Statement("search.neighbors", {"found": 1200, "asked": 5000})).startswith("1\u00a0200 of 5\u00a0000")
    least = Statement("rule.min_probability", {"probability": Probability(0.75)})
    assert voice(least) == "the probability must be at least 75%"


def test_what_a_file_holds_is_renamed_where_it_is_quoted_and_nowhere_else():
    nice = NICE(never_approves, classes=["denied", "approved"]).fit(X, ["denied"] * 4)
    table = exported_table.table(nice.explain(X.iloc[[0]]).batch)
    (outcome,) = exported_table.read_outcomes(table, "out.csv")
    text = outcome.restyled("bullets", Wording(classes={"approved": "granted", "donor": "a gift"}))
    assert "so no donor for granted exists" in text
    letter = outcome.restyled("letter", Wording(classes={"denied": "turned down"}))
    assert letter == nice.explain(X.iloc[[0]])[0].text("letter", wording=Wording(classes={"denied": "turned down"}))
    assert "turned down" in letter
