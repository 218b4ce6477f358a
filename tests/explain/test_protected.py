"""Protected features never change, and nothing that is addressed to a person names them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE, Constraints, Wording, replay
from nicecf.views.plots.data.regions import regions_of
from nicecf.views.words.templates import shipped_names

N = 200
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "qsex": RNG.choice(["m", "f"], N),
        "qage": RNG.integers(20, 60, N).astype(float),
        "income": RNG.integers(0, 10, N).astype(float),
        "debts": RNG.integers(0, 10, N).astype(float),
        "home": RNG.choice(["own", "rent"], N),
    }
)
X["years"] = X["qage"] - 18
PROTECTED = ("qsex", "qage")
FIELDS = {"role": "It helped.", "reference": "1", "creditor": "The bank"}
OLD_WOMAN = pd.DataFrame([{"qsex": "f", "qage": 99.0, "income": 1.0, "debts": 3.0, "home": "rent", "years": 81.0}])


def likes_men(X):
    """Approve men with an income of more than 4, and women never."""
    is_liked = (np.asarray(X["qsex"]) == "m") & (np.asarray(X["income"], dtype=float) > 4)
    return np.column_stack([~is_liked, is_liked]).astype(float)


def likes_income(X):
    is_liked = np.asarray(X["income"], dtype=float) > 4
    return np.column_stack([~is_liked, is_liked]).astype(float)


def explained(rules, model=likes_men, rows=OLD_WOMAN, **options):
    nice = NICE(model, classes=["no", "yes"], constraints=rules, justified=False, **options).fit(X)
    return nice.explain(rows, target_class="yes")


def to_persons(cfs):
    """Yield all that is said of single rows, in every form and language."""
    yield from (str(one) for some in (cfs.reasons, cfs.notes, cfs.relaxations) for one in some)
    yield repr(cfs.relaxations)
    for language in ("en", "de"):
        wording = Wording(language=language)
        for style in ("sentence", "bullets", "analyst", "letter"):
            yield from cfs.texts(style, wording=wording)
        for template in shipped_names(language):
            reasons = [["Income"]] * len(cfs)
            codes = {(name, way): ("C", "Code") for name in X for way in ("increase", "decrease", "change")}
            yield from cfs.letters(template, wording=wording, fields=FIELDS, principal_reasons=reasons, codes=codes)
    for one in cfs:
        yield repr(one)
        yield one._repr_html_()
    yield repr(cfs)
    yield cfs._repr_html_()


def assert_not_named(cfs):
    for said in to_persons(cfs):
        for name in PROTECTED:
            assert name not in said, said


RULES = {
    "alone": {},
    "beside others": {"immutable": ["debts"], "max_changes": 1, "ranges": {"income": (None, 8)}},
    "in a group": {"groups": [["qage", "years"], ["qsex", "income"]]},
    "in a relation": {"relations": ["income <= qage", "qsex == 'f' implies income <= 4"]},
    "in a derivation": {"derived": {"years": "qage - 18"}},
    "in a column that follows": {"derived": {"qage": "years + 18"}},
    "in a twin": {"groups": "auto"},
}


@pytest.mark.parametrize("options", [{}, {"search": "greedy"}, {"search": "thorough"}, {"min_count": 3}], ids=str)
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("model", [likes_men, likes_income])
def test_nothing_said_to_a_person_names_a_protected_feature(model, rules, options):
    rows = pd.concat([X.iloc[:8], OLD_WOMAN])
    if options.get("search") == "thorough":
        options = {**options, "optimize": "sparsity"}
    cfs = explained(Constraints(protected=PROTECTED, **rules), model, rows, **options)
    assert_not_named(cfs)
    changed = set(cfs.changes()["feature"])
    assert not changed & set(PROTECTED)
    for one in cfs.relaxations:
        assert one is None or {*one.constraints.protected} == set(PROTECTED)


def test_where_only_what_is_protected_is_in_the_way_no_rule_is_named_and_nothing_proposed():
    cfs = explained(Constraints(protected=["qsex"]))
    assert cfs.reasons.tolist() == ["no training row gives 'yes' under the rules"]
    assert cfs.relaxations.tolist() == [None]
    both = explained(Constraints(protected=["qsex"], ranges={"income": (None, 3)}, max_changes=2))
    assert both.reasons.tolist() == cfs.reasons.tolist()


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", 'that would have led to the decision "yes", and found none.\n\nWhat stands in the way are limits that we '
               "set for such changes.\n\n"),
        ("de", "die zu der Entscheidung „yes“ geführt hätten, und keine gefunden.\n\nIm Weg stehen Grenzen, die wir "
               "solchen Änderungen setzen.\n\n"),
    ],
)  # fmt: skip
def test_a_letter_says_that_no_change_was_found_within_the_limits(language, said):
    wording = Wording(names={"qsex": "qsex in words"}, language=language)
    cfs = explained(Constraints(protected=["qsex"]))
    assert said in cfs.letters(wording=wording)[0]
    assert "qsex" not in cfs.letters(wording=wording)[0]


def test_what_is_not_protected_is_still_named_and_relaxed():
    rules = Constraints(protected=["qsex"], ranges={"income": (None, 3)})
    cfs = explained(rules, likes_income)
    assert str(cfs.relaxations[0]).startswith("allow 'income' to change to 5")
    assert "income may only change to at most 3. Without this limit" in cfs.letters()[0]
    again = explained(cfs.relaxations[0].constraints, likes_income)
    assert again.found.all()
    assert "protected=['qsex']" in repr(cfs.relaxations[0].constraints)


def test_a_row_that_contradicts_itself_where_something_is_protected_is_told_no_more():
    odd = OLD_WOMAN.assign(years=5.0)
    for rules in (
        {"derived": {"qage": "years + 18"}},
        {"relations": ["qage <= 90"]},
        {"groups": "auto", "relations": ["qage <= 90"]},
    ):
        cfs = explained(Constraints(protected=["qage"], **rules), rows=odd)
        assert cfs.reasons.tolist() == ["the row contradicts itself, or a rule that every counterfactual keeps"]
        assert "does not go together" in cfs.letters()[0]
        assert not any("qage" in said for said in to_persons(cfs))


@pytest.mark.parametrize(("options", "who"), [({}, "no training row has"), ({"min_count": 2}, "fewer than 2")])
def test_a_note_tells_of_new_values_without_what_is_protected(options, who):
    rules = Constraints(protected=PROTECTED)
    first = X[["qage", "years"]].iloc[0]
    strange = OLD_WOMAN.assign(qage=99.0, years=first["years"])
    note = explained(rules, rows=strange, **options).notes[0]
    assert "the row has values that" in note
    assert who in note
    note = explained(rules, rows=OLD_WOMAN, **options).notes[0]
    assert note.startswith("'years' is 81, outside")
    assert "1 more feature has a value that" in note
    per_row = [Constraints(protected=["qage"]), None]
    two = pd.concat([OLD_WOMAN] * 2)
    nice = NICE(likes_men, classes=["no", "yes"], justified=False).fit(X)
    first, second = nice.explain(two, constraints=per_row).notes
    assert "qage" not in first
    assert second.startswith("'qage' is 99")


def test_free_text_that_is_protected_is_not_named_as_left_alone():
    table = X.assign(qremarks=[f"said {at} and {at}" for at in range(N)])
    nice = NICE(likes_income, classes=["no", "yes"], justified=False, constraints=Constraints(protected=["qremarks"]))
    cfs = nice.fit(table).explain(table.iloc[:4], target_class="yes")
    assert cfs.notes.tolist() == [None] * 4
    assert "qremarks" not in repr(cfs[0]) + cfs[0]._repr_html_()


def test_letters_that_list_the_data_leave_out_what_is_protected_and_say_so():
    rules = Constraints(protected=PROTECTED, relations=["income <= qage"], immutable=["debts"])
    options = {"categorical_features": ["qsex", "home"], "feature_weights": {"qage": 2.0, "income": 3.0}}
    cfs = explained(rules, likes_income, rows=X.iloc[:1].assign(income=0.0), **options)
    (letter,) = cfs.letters("eu_authority", fields=FIELDS)
    data = letter[letter.index("3. The information") : letter.index("4. How")]
    assert data.strip().split("\n")[1:] == [
        "- income: 0",
        *(f"- {name}: {X[name].iloc[0]:g}" for name in ("debts",)),
        f"- home: {X['home'].iloc[0]}",
        f"- years: {X['years'].iloc[0]:g}",
        "- further information that is not listed here",
    ]
    assert '"immutable": ["debts"]' in letter
    assert '"income": 3.0' in letter
    assert "relations" not in letter
    (plain,) = explained(Constraints(), likes_income, rows=X.iloc[:1]).letters("eu", fields=FIELDS)
    assert "- qsex: " in plain
    assert "not listed here" not in plain


def test_a_picture_does_not_choose_a_protected_feature_as_its_axis():
    def by_home(X):
        is_liked = np.asarray(X["home"]) == "own"
        return np.column_stack([~is_liked, is_liked]).astype(float)

    rules = Constraints(protected=["qage", "years", "income"], derived={"qage": "years + 18"})
    cfs = explained(rules, by_home)
    assert cfs.found.all()
    assert regions_of(cfs[0]).caption.subtitle == "All other features as in the row"
    shown = regions_of(cfs[0])
    assert {shown.x.name, shown.y.name} == {"debts", "home"}
    assert regions_of(cfs[0], features=("income", "debts")).x.name == "income"


def test_analysts_may_group_by_what_is_protected_and_records_hold_the_rule(tmp_path):
    rules = Constraints(protected=["qsex"])
    nice = NICE(likes_income, classes=["no", "yes"], justified=False, constraints=rules).fit(X)
    cfs = nice.explain(X.iloc[:40], target_class="yes")
    assert set(cfs.summary(by="qsex").groups["group"]) == {"m", "f"}
    record = cfs.to_records()[0]
    assert record["row"]["qsex"] == X["qsex"].iloc[0]
    assert record["options"]["constraints"] == {"protected": ["qsex"]}
    assert replay(record, nice).is_same
    path = tmp_path / "loans.nice"
    nice.save(path)
    again = NICE.load(path, model=likes_income).explain(X.iloc[:40], target_class="yes")
    assert again.to_records()[0]["options"] == record["options"]


def test_a_protected_feature_has_no_other_rule_of_its_own():
    from nicecf import OptionError

    for rule in ({"increasing": ["qage"]}, {"ranges": {"qage": (1, 2)}}, {"may_change": ["qage"]}):
        with pytest.raises(
            OptionError, match=r"'qage' is protected, so it cannot be in \w+ as well\. Take it out of one"
        ):
            Constraints(protected=["qage"], **rule)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, "rules that are not named here"),
        ({"ranges": {"debts": (None, 5)}}, "rules that are not named here"),
        ({"ranges": {"income": (None, 3)}}, "'income' may only change to at most 3"),
        ({"relations": ["qage <= 30"], "ranges": {"debts": (None, 5)}}, "rules that are not named here"),
        ({"relations": ["income <= qage"], "groups": [["qage", "debts"]]}, "rules that are not named here"),
    ],
    ids=str,
)
def test_rules_in_conflict_are_named_without_what_is_protected(rules, said):
    pytest.importorskip("ortools", reason="proofs need the extra 'exact'")
    numbers = X[["qage", "income", "debts"]]
    y = np.where((numbers["qage"] > 40) & (numbers["income"] > 4), "yes", "no")
    model = DecisionTreeClassifier(random_state=0).fit(numbers, y)
    nice = NICE(model, optimize="sparsity", search="exact", constraints=Constraints(protected=["qage"], **rules))
    row = pd.DataFrame([{"qage": 22.0, "income": 2.0, "debts": 4.0}])
    cfs = nice.fit(numbers, y).explain(row, target_class="yes")
    assert cfs.reasons[0].endswith(f"under the rules. In conflict: {said}")
    assert "Grenzen, die wir solchen Änderungen setzen" in cfs.letters(wording=Wording(language="de"))[0]
    assert_not_named(cfs)
