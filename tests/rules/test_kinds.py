"""The registry of kinds of rules: every kind is complete, whichever way its rules are written."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from string import Formatter

import numpy as np
import pandas as pd
import pytest

from nicecf import Constraints, Relaxation
from nicecf.models.decision import Panel
from nicecf.rules.decision_rules import DECISION_RULES
from nicecf.rules.kinds import KINDS
from nicecf.rules.kinds.forbid import forbids
from nicecf.rules.kinds.kind import Candidate, PerFeature
from nicecf.rules.reading import rules_of
from nicecf.rules.relaxations import nameable, relaxables, statements_of
from nicecf.support import phrases
from nicecf.support.json_values import from_json, to_json
from nicecf.support.phrases import Statement, Voice, english
from nicecf.tables.schema import Schema

X = pd.DataFrame(
    {
        "age": [30.0, 40.0, 50.0, np.nan],
        "income": [10.0, 20.0, 30.0, 40.0],
        "education": ["school", "college", "university", None],
    }
)
SCHEMA, ROWS = Schema.of(X)
ALONE = Panel(())
# For each kind: as Python, TOML and sheet write it, in words, and two rows of X of which one may not become the other.
EXAMPLES = {
    "immutable": (["age"], 'immutable = ["age"]', {"feature": ["age"], "immutable": ["x"]},
                  ["'age' may not change"], (0, 1)),
    "protected": (["age"], 'protected = ["age"]', {"feature": ["age"], "protected": ["yes"]}, [], None),
    "increasing": ({"age": None, "education": ["school", "college", "university"]},
                   'increasing = {age = true, education = ["school", "college", "university"]}',
                   {"feature": ["age", "education"], "direction": ["increasing"] * 2, "order": [None, "school|college|university"]},
                   ["'age' may only increase", "'education' may only increase"], (1, 0)),
    "decreasing": (["income"], 'decreasing = ["income"]', {"feature": ["income"], "direction": ["decreasing"]},
                   ["'income' may only decrease"], (0, 1)),
    "ranges": ({"age": (35, None), "income": (None, 15.5)}, "ranges = {age = {low = 35}, income = {high = 15.5}}",
               {"feature": ["age", "income"], "low": [35, None], "high": [None, 15.5]},
               ["'age' may only change to at least 35", "'income' may only change to at most 15.5"], (1, 0)),
    "allowed": ({"education": ["school", None]}, None, {"feature": ["education"], "allowed": [["school", None]]},
                ["'education' may only become school, missing"], (0, 1)),
    "forbid": ({"education": [("college", "school"), (None, "school")]}, None,
               {"feature": ["education"], "forbid": [[("college", "school"), (None, "school")]]},
               ["'education' may not go from college to school, missing to school"], (1, 0)),
    "step": ({"income": 20}, "step = {income = 20}", {"feature": ["income"], "step": [20]},
             ["'income' may only change by whole steps of 20"], (0, 1)),
    "within": ({"age": 5, "income": [8.5, "50%"]}, 'within = {age = 5, income = [8.5, "50%"]}',
               {"feature": ["age", "income"], "within": ["5", "8.5|50%"]},
               ["'age' may change by at most 5", "'income' may change by at most 8.5, and at most 50 %"], (0, 1)),
    "groups": ([["age", "education"]], 'groups = [["age", "education"]]',
               {"feature": ["age", "education"], "group": ["a", "a"]},
               ["'age' and 'education' may only change together"], None),
    "relations": (["age <= 45", "education == \"school\" implies income < 25"],
                  'relations = ["age <= 45", "education == \\"school\\" implies income < 25"]',
                  {"feature": ["age"], "relations": ["age <= 45|education == \"school\" implies income < 25"]},
                  ["age <= 45", 'education == "school" implies income < 25'], (0, 2)),
    "derived": ({"income": "age - 20"}, 'derived = {income = "age - 20"}', {"feature": ["income"], "derived": ["age - 20"]},
                [], None),
    "may_change": (["education"], 'may_change = ["education"]', {"feature": ["education"], "may_change": ["yes"]}, [], None),
    "may_become_missing": (False, "may_become_missing = false", None, ["no value may become missing"], (0, 3)),
    "max_changes": (2, "max_changes = 2", None, ["at most 2 features may change"], (0, 1)),
}  # fmt: skip
BY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def rules_with(kind):
    return Constraints(**{kind.name: EXAMPLES[kind.name][0]})


def test_every_parameter_of_constraints_has_its_kind_and_every_kind_its_example():
    names = [kind.name for kind in KINDS]
    assert sorted(names) == sorted(one.name for one in fields(Constraints)) == sorted(EXAMPLES)
    assert not set(names) & {one.name for one in DECISION_RULES}


@BY_KIND
def test_every_parameter_is_explained(kind):
    parameters = Constraints.__doc__.partition("Parameters\n")[2].partition("Examples\n")[0]
    named = [name for line in re.findall(r"^    (\w[\w, ]*)$", parameters, re.MULTILINE) for name in line.split(", ")]
    assert kind.name in named
    for column in kind.columns:
        assert f"``{column}``" in Constraints.from_frame.__doc__


@pytest.mark.parametrize("language", sorted(path.stem for path in Path(phrases.__file__).parent.glob("*.toml")))
def test_every_kind_has_its_words_in_every_language(language):
    there = phrases.shipped(language)
    for one in (*KINDS, *DECISION_RULES):
        assert f"rule.{one.name}" in there
    for kind in KINDS:
        rules = rules_with(kind)
        for said in statements_of(rules, ALONE, SCHEMA):
            assert said.phrase.startswith(f"rule.{kind.name}")
            assert set(said.fields) == {name for _, name, _, _ in Formatter().parse(there[said.phrase]) if name}


@BY_KIND
def test_rules_are_said_in_words(kind):
    assert [english(one) for one in statements_of(rules_with(kind), ALONE, SCHEMA)] == EXAMPLES[kind.name][3]


def test_rules_are_said_in_other_words_with_other_names():
    loud = {name: phrase.replace("may not go from", "darf nicht von") for name, phrase in phrases.shipped("en").items()}
    loud["value.missing"], loud["rule.forbid_change"] = "leer", "{before} zu {after}"
    voice = Voice(loud, feature={"education": "Bildung"}.get)
    said = statements_of(Constraints(forbid={"education": [("college", None)]}), ALONE, SCHEMA)
    assert [voice(one) for one in said] == ["Bildung darf nicht von college zu leer"]


@BY_KIND
def test_what_is_written_comes_back_from_files_and_sheets(kind, tmp_path):
    _, toml, sheet, *_ = EXAMPLES[kind.name]
    rules = rules_with(kind)
    assert rules
    assert list(rules.to_dict()) == [kind.name]
    assert repr(Constraints(**rules.to_dict())) == repr(rules)
    assert repr(Constraints(**from_json(to_json(rules.to_dict())))) == repr(rules)
    assert eval(repr(rules)).to_dict() == rules.to_dict()
    if toml is not None:  # which has no word for a missing value
        (tmp_path / "rules.toml").write_text(toml)
        assert tomllib.loads(toml)
        assert Constraints.from_toml(tmp_path / "rules.toml").to_dict() == rules.to_dict()
    assert (sheet is None) == (not kind.columns)
    if sheet is not None:
        assert set(sheet) <= {"feature", *kind.columns}
        assert Constraints.from_frame(pd.DataFrame(sheet)).to_dict() == rules.to_dict()


@BY_KIND
def test_what_was_read_reads_as_itself_and_merges_with_itself(kind):
    read = kind.read(EXAMPLES[kind.name][0])
    assert kind.read(read) == kind.read(kind.to_plain(read)) == read
    rules = rules_with(kind)
    assert (rules & rules).to_dict() == (rules & Constraints()).to_dict() == rules.to_dict()
    assert (Constraints() & rules).to_dict() == rules.to_dict()
    assert kind.for_row(read, 0) == read
    assert not kind.is_per_row(read)


@BY_KIND
def test_a_kind_without_its_parts_rules_nothing(kind):
    read = kind.read(EXAMPLES[kind.name][0])
    if kind.name in ("derived", "may_change", "protected"):  # there is nothing to relax, or nothing that may be named
        assert not list(kind.abouts(read))
        return
    for about in list(kind.abouts(read)):
        read = kind.without(read, about)
    assert not Constraints(**{kind.name: read})


@pytest.mark.parametrize("fixed", ["immutable", "protected"])
@BY_KIND
def test_a_feature_that_never_changes_has_no_other_rule_of_its_own(kind, fixed):
    if isinstance(kind, PerFeature):
        rules = rules_with(kind)
        both = rules & Constraints(**{fixed: list(kind.abouts(getattr(rules, kind.name)))})
        assert list(both.to_dict()) == [fixed]


def test_what_is_immutable_as_well_is_protected():
    assert Constraints(immutable=["age", "income"], protected=["age"]).to_dict() == {
        "immutable": ["income"],
        "protected": ["age"],
    }
    both = Constraints(immutable=["age"]) & Constraints(protected=["age"])
    assert both.to_dict() == {"protected": ["age"]}


def test_no_rule_that_names_a_protected_feature_is_said_or_relaxed():
    rules = Constraints(
        immutable=[1],  # income, by its position
        protected=["age", "income"],
        groups=[["age", "education"]],
        relations=["age <= 45", 'education == "school" implies income < 25'],
        max_changes=2,
    )
    assert [english(one) for one in statements_of(rules, ALONE, SCHEMA)] == ["at most 2 features may change"]
    assert [one.name for one in relaxables(rules, ALONE, SCHEMA)] == ["max_changes"]
    assert nameable(rules, SCHEMA).to_dict() == {"max_changes": 2}
    (relaxable,) = relaxables(rules, ALONE, SCHEMA)
    assert "age" not in repr(relaxable.relaxation(rules, candidate(0, 1)))


def candidate(before, after):
    """The change from one row of X to another, as a search would have found it."""

    def cells(feature):
        values = [X[feature][line] for line in (before, after)]
        first, last = (None if pd.isna(value) else value for value in values)
        return first, last, feature != "education"

    def is_meant(feature, pair):
        j = SCHEMA.position(feature, "forbid")
        return forbids(pair, SCHEMA, j, ROWS[before, j], ROWS[after, j])

    return Candidate(cells, is_meant, probability=0.9, n_changes=3, distance=1.234)


@BY_KIND
def test_what_blocks_is_relaxed_so_that_it_does_not_block(kind):
    lines = EXAMPLES[kind.name][4]
    if lines is None:  # a group blocks by what else is ruled
        return
    before, after = lines

    def is_kept(rules):
        read = rules_of(rules, SCHEMA, ROWS[[before]], trained=SCHEMA)
        return bool(read.are_kept(np.zeros(1, dtype=int), ROWS[[after]], ROWS[[after]])[0])

    rules = rules_with(kind)
    assert not is_kept(rules)
    for rule in relaxables(rules, ALONE, SCHEMA):
        relaxed = rule.relaxation(rules, candidate(before, after))
        assert isinstance(relaxed, Relaxation)
        assert rule.name == kind.name
        rules = relaxed.constraints
    assert is_kept(rules)


def test_a_relaxation_reads_as_words():
    rules = Constraints(immutable=["age"], groups=[["income", "education"]], max_changes=1)
    said = [rule.relaxation(rules, candidate(0, 1)) for rule in relaxables(rules, ALONE, SCHEMA)]
    assert [one.rule for one in said] == [
        "'age' may not change",
        "'income' and 'education' may only change together",
        "only 1 feature may change",
    ]
    assert [str(one) for one in said] == [
        "allow 'age' to increase: 3 changes, distance 1.2",
        "allow 'income' and 'education' to change separately: 3 changes, distance 1.2",
        "allow 3 changes: distance 1.2",
    ]
    assert repr(said[2]) == (
        "Relaxation(rule='only 1 feature may change', action='allow 3 changes', n_changes=3, distance=1.234, "
        "constraints=Constraints(immutable=['age'], max_changes=3, groups=[['income', 'education']]))"
    )
    assert isinstance(said[0].blocks, Statement)
    assert said[0].statement.fields["action"] is said[0].instead


def test_what_may_be_asked_by_its_ends_allows_all_between_them():
    own, asked = ROWS[[0]], np.array([5.0, 12.0, 25.0, 31.0, 45.0])
    for kind in KINDS:
        for of_feature in rules_of(rules_with(kind), SCHEMA, own, trained=SCHEMA).conditions[:2]:
            for condition in of_feature:
                allowed = condition.allows(np.zeros(1, dtype=int), own[:, :1], asked[None, :])[0]
                has_gaps = (np.diff(np.flatnonzero(allowed)) > 1).any()
                assert not (has_gaps and condition.is_interval)
