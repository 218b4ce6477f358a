"""What a manager reads of a report: the sentence, what changes, examples, who has no way and why, and the rules."""

import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from nicecf import NICE, Constraints, Wording
from nicecf.support.phrases import shipped
from nicecf.testing import Scorecard, applicants
from views.test_notebook import cells, heads, read, rows_of, section

GERMAN = Wording(language="de")
TRAIN = pd.DataFrame({"savings": [0, 0, 0, 9, 9, 9, 4, 4], "debt": [5, 3, 0, 5, 3, 0, 5, 0], "job": list("aababbab")})
ROWS = pd.DataFrame({"savings": [1, 2, 6, 7, 1], "debt": [5, 5, 4, 4, 3], "job": list("aaaab")})
GOOD = pd.DataFrame({"savings": [9, 9], "debt": [0, 1], "job": ["a", "b"]})
LOCKED = Constraints(immutable=["savings", "debt", "job"])


def bank(is_enough, **options):
    """An explainer whose model approves where ``is_enough`` of a table holds."""

    def model(X):
        p = np.where(is_enough(X), 0.9, 0.2)
        return np.column_stack([1 - p, p])

    labels = np.where(is_enough(TRAIN), "approved", "denied")
    return NICE(model, classes=["denied", "approved"], **options).fit(TRAIN, labels)


EITHER = bank(lambda X: (X["savings"] >= 8) | (X["debt"] <= 1))
ALL = bank(lambda X: (X["savings"] >= 8) & (X["debt"] <= 1) & (X["job"] == "b"))


def lead(cfs, wording=None):
    (found,) = [one for one in read(cfs.to_html(wording=wording)).all("p") if one.attributes.get("class") == "lead"]
    return found.text().replace("\N{NO-BREAK SPACE}", " ")


def check_leads(cfs, english, german):
    assert lead(cfs) == english
    assert lead(cfs, GERMAN) == german


def approved(rows, constraints=None, nice=EITHER):
    return nice.explain(rows, target_class="approved", constraints=constraints)


def test_the_sentence_names_what_most_cases_would_have_to_do_and_how_many_have_no_way():
    check_leads(
        approved(ROWS, [None, None, LOCKED, None, None]),
        "For the model to say approved instead of denied, the way that was found for most of the 5 cases is to increase savings or reduce "
        "debt; for 80 %, 1 change is enough, and no way was found for 1.",
        "Damit das Modell auf approved statt auf denied entscheidet, besteht der gefundene Weg in den meisten der 5 Fälle darin, savings "
        "zu erhöhen oder debt zu senken; in 80 % der Fälle genügt 1 Änderung, und für 1 wurde kein Weg gefunden.",
    )


def test_the_sentence_says_and_or_where_some_cases_need_several_of_the_changes():
    check_leads(
        approved(ROWS, nice=ALL),
        "For the model to say approved instead of denied, the way that was found for each of the 5 cases is to increase savings, reduce debt "
        "and/or change job to b; for 80 %, 3 changes are enough.",
        "Damit das Modell auf approved statt auf denied entscheidet, besteht der gefundene Weg in jedem der 5 Fälle darin, savings zu "
        "erhöhen, debt zu senken und/oder job auf b zu ändern; in 80 % der Fälle genügen 3 Änderungen.",
    )


def test_of_one_case_the_sentence_names_all_of_up_to_three_changes():
    check_leads(
        approved(ROWS[:1], nice=ALL),
        "For the model to say approved instead of denied, the way that was found for 1 case is to increase savings, reduce debt and change "
        "job to b.",
        "Damit das Modell auf approved statt auf denied entscheidet, besteht der gefundene Weg in 1 Fall darin, savings zu erhöhen, debt zu "
        "senken und job auf b zu ändern.",
    )


def test_further_changes_of_one_case_are_counted():
    wide = pd.DataFrame(np.arange(80.0).reshape(2, 40)).add_prefix("f")
    model = lambda X: np.column_stack([X["f0"] < 1, X["f0"] >= 1]).astype(float)
    cfs = NICE(model, optimize="none").fit(wide, [0, 1]).explain(wide[:1])
    assert lead(cfs).endswith("increase f0, increase f1, increase f2 and make 37 more changes.")
    assert lead(cfs, GERMAN).endswith("f0 zu erhöhen, f1 zu erhöhen, f2 zu erhöhen und 37 weitere Merkmale zu ändern.")


@pytest.mark.parametrize(
    ("cfs", "english", "german"),
    [
        (
            lambda: approved(ROWS, LOCKED),
            "No way to the wanted result was found for any of the 5 cases.",
            "Für keinen der 5 Fälle wurde ein Weg zum gewünschten Ergebnis gefunden.",
        ),
        (
            lambda: approved(ROWS[:1], LOCKED),
            "No way to the wanted result was found for this case.",
            "Für diesen Fall wurde kein Weg zum gewünschten Ergebnis gefunden.",
        ),
        (
            lambda: approved(GOOD),
            "Nothing has to change: each of the 2 cases has the wanted result already.",
            "Es muss sich nichts ändern: Jeder der 2 Fälle hat bereits das gewünschte Ergebnis.",
        ),
        (
            lambda: approved(GOOD[:1]),
            "Nothing has to change: this case has the wanted result already.",
            "Es muss sich nichts ändern: Dieser Fall hat bereits das gewünschte Ergebnis.",
        ),
        (
            lambda: approved(pd.concat([GOOD, ROWS]), LOCKED),
            "For 2 of 7 cases nothing has to change; for the others no way to the wanted result was found.",
            "In 2 von 7 Fällen muss sich nichts ändern; für die übrigen wurde kein Weg zum gewünschten Ergebnis gefunden.",
        ),
        (lambda: approved(ROWS)[:0], "There are no cases.", "Es gibt keine Fälle."),
    ],
)
def test_the_sentence_where_nothing_changes(cfs, english, german):
    check_leads(cfs(), english, german)


def test_the_sentence_about_scores():
    X = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, 6], "b": [1.0, 1, 2, 2, 1, 1]})
    nice = NICE(LinearRegression().fit(X, X["a"] * 10)).fit(X, X["a"] * 10)
    check_leads(
        nice.explain(X[:3], target_score=(45, None)),
        "For a score of at least 45, the way that was found for each of the 3 cases is to increase a; 1 change is enough.",
        "Damit der Wert bei mindestens 45 liegt, besteht der gefundene Weg in jedem der 3 Fälle darin, a zu erhöhen; dabei genügt jeweils 1 "
        "Änderung.",
    )
    page = read(nice.explain(X[:3], target_score=(45, None)).to_html())
    assert "Wantedat least 45" in section(page, "What was asked").text()


def test_the_sentence_about_a_decision_that_is_to_be_surer():
    X = pd.DataFrame({"a": [0.0, 2, 6, 7, 9, 10]})
    nice = NICE(lambda X: np.column_stack([1 - X["a"] / 10, X["a"] / 10]), min_probability=0.8, classes=["no", "yes"])
    cfs = nice.fit(X, ["no", "no", "yes", "yes", "yes", "yes"]).explain(X[2:4], target_class="yes")
    check_leads(
        cfs,
        "For yes to stay the decision and meet every condition, the way that was found for each of the 2 cases is to increase a; 1 change is "
        "enough.",
        "Damit es bei yes bleibt und alle Bedingungen erfüllt sind, besteht der gefundene Weg in jedem der 2 Fälle darin, a zu erhöhen; "
        "dabei genügt jeweils 1 Änderung.",
    )
    assert "the probability must be at least 80 %" in section(read(cfs.to_html()), "What was asked").text()


def test_of_several_decisions_the_sentence_is_about_the_one_that_most_changes_are_asked_of():
    X = pd.DataFrame({"a": np.repeat([1.0, 3.0, 5.0], [4, 8, 4]), "b": np.arange(16.0) % 3})
    nice = NICE(lambda X: np.eye(3)[np.digitize(X["a"], [2, 4])], classes=["low", "mid", "high"])
    nice = nice.fit(X, np.repeat(["low", "mid", "high"], [4, 8, 4]))
    cfs = nice.explain(X)
    assert lead(cfs[:6]).startswith(
        "For the model to say mid instead of low, the way that was found for each of the 4 cases is to increase a;"
    )
    targets = np.array(["mid", *["low", "high"] * 4, "mid"], dtype=object)
    both_ways = nice.explain(X[3:13], target_class=targets)
    assert lead(both_ways).startswith(
        "For another decision than mid, the way that was found for each of the 8 cases is to change a;"
    )


def test_dates_flags_and_one_hot_columns_are_said_as_what_they_are():
    X = pd.DataFrame(
        {"since": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01"]), "flag": [0, 1] * 2}
    )
    is_new = lambda X: X["since"] >= pd.Timestamp("2021-06-01")
    new = NICE(lambda X: np.column_stack([~is_new(X), is_new(X)]).astype(float), classes=["old", "new"])
    new = new.fit(X, ["old", "old", "new", "new"])
    assert "is to move since to a later date;" in lead(new.explain(X[:2]))
    assert "darin, since nach hinten zu verschieben;" in lead(new.explain(X[:2]), GERMAN)
    assert "is to move since to an earlier date;" in lead(new.explain(X[2:]))
    assert "darin, since vorzuziehen;" in lead(new.explain(X[2:]), GERMAN)
    flagged = NICE(lambda X: np.column_stack([1 - X["flag"], X["flag"]]).astype(float)).fit(X, X["flag"])
    assert "is to change flag to 1;" in lead(flagged.explain(X[X["flag"] == 0]))


def test_a_number_that_changes_both_ways_only_changes():
    X = pd.DataFrame({"hours": [10.0, 20, 30, 40, 50, 60, 70, 80], "b": [1.0, 2] * 4})
    model = lambda X: (lambda p: np.column_stack([1 - p, p]))(np.where(X["hours"].between(35, 55), 0.9, 0.1))
    cfs = NICE(model).fit(X, model(X).argmax(axis=1)).explain(X[~X["hours"].between(35, 55)])
    assert "is to change hours;" in lead(cfs)


def test_typical_change_and_its_difference_agree_and_have_no_more_digits_than_the_column():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"score": random.integers(500, 700, 300), "rate": random.integers(100, 900, 300) / 100})
    X["amount"] = random.normal(0, 1000, 300)
    model = lambda X: (lambda p: np.column_stack([1 - p, p]))(
        np.where(X["score"] / 100 - X["rate"] + X["amount"] / 1000 > 3, 0.9, 0.2)
    )
    cfs = NICE(model, classes=["no", "yes"]).fit(X, np.where(model(X)[:, 1] > 0.5, "yes", "no")).explain(X)
    seen = set()
    for table in section(read(cfs.to_html()), "What changes").all("table"):
        for feature, _, typical, span in cells(table)[1:]:
            change = re.fullmatch(r"(\S+) → (\S+) \((\S+)\)", typical)
            before, after, difference = (
                float(one.replace("\N{MINUS SIGN}", "-").replace(",", "")) for one in change.groups()
            )
            assert after - before == pytest.approx(difference)
            decimals = {"score": 0, "rate": 2, "amount": 0}[feature]
            for number in [*change.groups(), *span.split(" to ")]:
                assert len(number.partition(".")[2]) == decimals
            seen.add(feature)
    assert seen == {"score", "rate", "amount"}


def test_what_stays_as_it_is_has_the_decimals_of_its_column_and_large_numbers_are_short():
    X = pd.DataFrame({"a": [0, 1] * 4, "whole": [23700, 41200] * 4, "rate": [4.0, 7.25] * 4, "huge": [1e100, 2e20] * 4})
    X["single"] = np.array([0.1, 0.2] * 4, dtype=np.float32)
    X["code"] = pd.Categorical([40210, 50300] * 4)
    model = lambda X: np.column_stack([1 - X["a"], X["a"]]).astype(float)
    row = X[:1].assign(rate=4.125)
    (entry,) = rows_of(read(NICE(model).fit(X, X["a"]).explain(row).to_html()))
    (others,) = entry.all("details")
    assert next(others.all("p")).text().split("; ") == [
        *("whole: 23,700", "rate: 4.125", "huge: 1e+100", "single: 0.1", "code: 40210"),
    ]


def test_a_median_of_whole_numbers_is_one_that_a_case_has():
    X = pd.DataFrame({"score": [597.0, 598.0, np.nan, np.nan], "b": [1.0, 2.0, 1.0, 2.0]})
    model = lambda X: np.column_stack([X["score"].isna(), X["score"].notna()]).astype(float)
    cfs = NICE(model, classes=["none", "some"]).fit(X, ["some", "some", "none", "none"]).explain(X[:2])
    (line,) = cells(next(section(read(cfs.to_html()), "What changes").all("table")))[1:]
    assert line[2] == "597 → missing"
    assert cfs.summary().features["before"].iloc[0] == 597.0


def examples_of(cfs, wording=None):
    page = read(cfs.to_html(wording=wording))
    title = (wording or Wording()).phrases["report.examples"]
    return [one for one in section(page, title).all("div") if one.attributes.get("class") == "example"]


@pytest.mark.parametrize("wording", [None, GERMAN])
def test_three_real_cases_are_told_as_their_texts_tell_them(wording):
    X, y = applicants(200)
    cfs = NICE(Scorecard()).fit(X, y).explain(X[:60], target_class="yes")
    told = [" ".join(next(one.all("p")).text().split()) for one in examples_of(cfs, wording)]
    texts = {f"{label} {text}" for label, text in zip(X.index[:60], cfs.texts(wording=wording), strict=True)}
    assert len(set(told)) == 3
    assert {one.replace("\N{NO-BREAK SPACE}", " ") for one in told} <= texts
    assert all(cfs[X.index[:60].get_loc(" ".join(one.split()[:2]))].changes for one in told)


def test_the_examples_are_the_most_common_changes_several_at_once_and_the_middle():
    cfs = approved(pd.concat([ROWS, ROWS[:1]]).set_axis(list("uvwxyz")), nice=ALL)
    patterns = [tuple(sorted(change.feature for change in one.changes)) for one in cfs]
    common = max(set(patterns), key=patterns.count)
    titles = [(next(one.all("h3")).text(), next(one.all("b")).text()) for one in examples_of(cfs)]
    assert titles[0][0] == f"The most common changes: {patterns.count(common)} cases"
    assert patterns["uvwxyz".index(titles[0][1])] == common
    assert titles[1][0] == "Several changes at once: 1 case"
    assert len(patterns["uvwxyz".index(titles[1][1])]) > 1
    assert patterns["uvwxyz".index(titles[1][1])] != common
    assert titles[2][0] == "In the middle: half of the cases have less to change"
    assert len({label for _, label in titles}) == 3
    (alone,) = examples_of(cfs[:1])
    assert not list(alone.all("h3"))


def test_an_example_of_several_changes_comes_before_a_more_common_one_of_a_single_change():
    rows = pd.DataFrame({"savings": [0, 1, 2, 9, 9, 0], "debt": [0, 0, 0, 3, 5, 5], "job": list("bbbbbb")})
    cfs = approved(rows.set_axis(list("uvwxyz")), nice=ALL)
    assert cfs.batch.n_changes.tolist() == [1, 1, 1, 1, 1, 2]
    titles = [(next(one.all("h3")).text(), next(one.all("b")).text()) for one in examples_of(cfs)]
    assert titles[:2] == [("The most common changes: 3 cases", "v"), ("Several changes at once: 1 case", "z")]
    others = [next(one.all("h3")).text() for one in examples_of(cfs[:5])]
    assert others[:2] == ["The most common changes: 3 cases", "Another change: 2 cases"]
    alike = [next(one.all("h3")).text() for one in examples_of(cfs[:3])]
    assert alike[2] == "The most to change of all cases"


def test_cases_without_a_way_are_counted_by_decision_and_by_what_stands_in_the_way():
    one_change = Constraints(max_changes=1)
    cfs = approved(ROWS.set_axis(list("vwxyz")), [LOCKED, one_change, one_change, one_change, None], nice=ALL)
    assert cfs.found.tolist() == [False] * 4 + [True]
    page = read(cfs.to_html())
    rows = cells(next(section(page, "4 cases without a way, and why").all("table")))
    assert [row[2] for row in rows[1:]] == ["3", "1"]
    assert [row[4] for row in rows[1:]] == ["w, x, y", "v"]
    assert "donor" not in section(page, "4 cases without a way, and why").text()
    assert rows[1][1] == "only one point may be different; without this limit there would be a way"
    # In full, each reason stands at its case.
    for entry, reason in zip(rows_of(page), cfs.reasons, strict=True):
        assert reason is None or reason in next(entry.all("summary")).text()


def test_what_stands_in_the_way_is_told_apart_where_only_the_rule_differs():
    rules = [Constraints(immutable=[feature]) for feature in ("savings", "debt", "savings")]
    cfs = approved(ROWS[:3].set_axis(list("xyz")), rules, nice=ALL)
    lines = cells(next(section(read(cfs.to_html()), "3 cases without a way, and why").all("table")))[1:]
    assert [line[1:3] + line[4:] for line in lines] == [
        ["savings may not change; without this limit there would be a way", "2", "x, z"],
        ["debt may not change; without this limit there would be a way", "1", "y"],
    ]


def test_a_proof_that_there_is_no_way_is_told_as_one():
    pytest.importorskip("ortools", reason="proofs need the extra 'exact'")
    X = pd.DataFrame({"a": [0.0, 1, 2, 3], "b": [0.0, 1, 0, 1]})
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(X, [0, 0, 1, 1])
    cfs = (
        NICE(model, search="exact")
        .fit(X, [0, 0, 1, 1])
        .explain(X[:1], constraints=Constraints(ranges={"a": (None, 1)}))
    )
    assert not cfs.found.any()
    assert "proven: of all values" in section(read(cfs.to_html()), "1 case without a way, and why").text()


def test_what_it_costs_counts_the_cases_by_how_many_changes_they_need():
    almost = pd.DataFrame({"savings": [9, 9, 0], "debt": [0, 5, 0], "job": ["a", "a", "b"]})
    cfs = approved(pd.concat([almost, ROWS]).set_axis(range(8)), nice=ALL)
    assert sorted(set(cfs.batch.n_changes)) == [1, 2, 3]
    head, *lines = cells(next(section(read(cfs.to_html()), "What it costs").all("table")))
    assert head[3:6] == ["1 change", "2 changes", "3 or more"]
    counts = np.array([[int(one) for one in line[3:6]] for line in lines]).sum(axis=0)
    expected = [int((np.minimum(cfs.batch.n_changes[cfs.found], 3) == count).sum()) for count in (1, 2, 3)]
    assert counts.tolist() == expected


def named_rules(cfs, wording=None):
    title = (wording or Wording()).phrases["report.asked"]
    return [one.text() for one in section(read(cfs.to_html(wording=wording)), title).all("li")]


def ratio(X):
    return X["savings"] / (X["debt"] + 1)


def test_rules_are_told_in_words_and_stand_as_data_at_the_end():
    table = TRAIN.assign(ratio=ratio(TRAIN))
    model = lambda X: np.where(X[["savings"]] >= 8, [0.1, 0.9], [0.8, 0.2])
    rules = Constraints(
        immutable=["job"],
        increasing=["savings"],
        ranges={"savings": (None, 40)},
        relations=["debt >= 1 implies savings >= 0"],
        derived={"ratio": ratio},
        max_changes=2,
    )
    nice = NICE(model, classes=["denied", "approved"], constraints=rules).fit(table, ["denied", "approved"] * 4)
    cfs = nice.explain(table[:3])
    assert named_rules(cfs) == [
        "these may not change: job",
        "savings may only increase",
        "savings may only change to at most 40",
        "if debt ≥ 1, then savings ≥ 0",
        "at most 2 features may change",
        "ratio follows from other columns",
    ]
    assert named_rules(cfs, GERMAN) == [
        "Folgendes darf sich nicht ändern: job",
        "savings darf nur steigen",
        "savings darf sich nur auf höchstens 40 ändern",
        "wenn debt ≥ 1, dann savings ≥ 0",
        "höchstens 2 Merkmale dürfen sich ändern",
        "ratio folgt aus anderen Spalten",
    ]
    page = read(cfs.to_html())
    before, end = page.text().split("How this was made")
    assert "{" not in before.split("</style>")[-1].split("What changes")[-1]
    assert 'ratio: {"function": "ratio"}' in end
    assert heads(page)[-1] == "How this was made"
    for fingerprint in cfs.batch.provenance.about()["fingerprints"].values():
        assert fingerprint in end
        assert fingerprint not in before


@pytest.mark.parametrize("wording", [None, GERMAN])
def test_what_is_protected_is_not_named_anywhere(wording):
    X = TRAIN.assign(sekt=list("mfmfmfmf"), sektratio=TRAIN["debt"] * 2.0)
    model = lambda X: np.where(X[["savings"]] >= 8, [0.1, 0.9], [0.8, 0.2])
    rules = Constraints(
        protected=["sekt", "sektratio"],
        increasing=["savings"],
        derived={"sektratio": "debt * 2"},
        relations=["sektratio <= 99"],
    )
    nice = NICE(model, classes=["denied", "approved"], categorical_features=["sekt", "job"], constraints=rules)
    nice = nice.fit(X, np.where(X["savings"] >= 8, "approved", "denied"))
    new = X[:5].assign(sekt=["m", "x", "m", "f", "f"])
    for constraints in (None, [Constraints(), Constraints(max_changes=1), None, LOCKED, None]):
        cfs = nice.explain(new, target_class="approved", constraints=constraints)
        html = unescape(cfs.to_html(wording=wording))
        assert "sekt" not in html
        assert shipped((wording or Wording()).language)["rule.protected"] in html
        assert json.dumps(cfs.to_records(), default=str).count("sekt")


def test_the_same_batch_gives_the_same_page(tmp_path):
    X, y = applicants(200)
    nice = NICE(Scorecard()).fit(X, y)
    assert len({nice.explain(X[:40], target_class="yes").to_html() for _ in range(2)}) == 1
