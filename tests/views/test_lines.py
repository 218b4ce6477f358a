"""Decisions as they are deployed, in words: one quantity, and the line that it crosses, as the model has them."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Wording, from_score
from nicecf.models.criterion import Criterion, percentages
from nicecf.views import exported_table
from nicecf.views.plots.data.changes import changes_of
from nicecf.views.words.line import Line
from reading import (
    LANGUAGES,
    assert_reads_as,
    assert_says_what_changes,
    assert_true,
    changes_by_line,
    edited,
    number,
    pattern,
    percentage,
    read_bullets,
    read_lines,
    read_sentence,
    readable,
)

N = 240


def applications(n=N):
    """Whole and long numbers, years and categories."""
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "late_payments": random.integers(0, 6, n),
            "yearly_income": random.integers(8_000, 90_000, n),
            "debt_ratio": random.uniform(-1, 1, n),
            "built_year": random.integers(1950, 2020, n),
            "home": random.choice(["rent", "own", "family"], n),
        }
    )


class Risk:
    """A smooth risk of two classes; its ``predict`` has a threshold of its own."""

    classes_ = np.array(["approved", "denied"])

    def __init__(self, shift=0.0):
        self.shift = shift

    def predict_proba(self, X):
        z = (
            0.6 * np.asarray(X["late_payments"], dtype=float)
            - np.asarray(X["yearly_income"], dtype=float) / 20_000
            - (np.asarray(X["built_year"], dtype=float) - 1985) / 40
            + np.asarray(X["debt_ratio"], dtype=float)
            - 0.8 * (np.asarray(X["home"]) == "own")
            + self.shift
        )
        risk = 1 / (1 + np.exp(-z))
        return np.column_stack([1 - risk, risk])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.2).astype(int)]


class Tiers:
    """Three classes."""

    classes_ = np.array(["gold", "none", "silver"])

    def predict_proba(self, X):
        income = np.asarray(X["yearly_income"], dtype=float) / 20_000 + 0.3 * np.asarray(X["debt_ratio"], dtype=float)
        late, owns = 0.5 * np.asarray(X["late_payments"], dtype=float), np.asarray(X["home"]) == "own"
        scores = np.exp(np.column_stack([income - late + owns - 2, late, owns + 0.5 * income - 0.5]))
        return scores / scores.sum(axis=1, keepdims=True)


def by_cutoffs(cutoffs):
    """The rule in words: of the classes that reach their cut-off, the one with the highest ratio to it."""

    def decide(probabilities):
        found = []
        for row in probabilities:
            reached = [k for k, cut in enumerate(cutoffs) if cut is not None and row[k] >= cut]
            if reached:
                found.append(max(reached, key=lambda k: row[k] / cutoffs[k]))
            elif None in cutoffs:
                found.append(max((k for k, cut in enumerate(cutoffs) if cut is None), key=lambda k: row[k]))
            else:
                found.append(max(range(len(cutoffs)), key=lambda k: row[k] / cutoffs[k]))
        return np.array(found)

    return decide


def argmax(probabilities):
    return probabilities.argmax(axis=1)


def from_quarter(probabilities):
    return np.where(probabilities[:, 1] >= 0.25, "denied", "approved")


# What is passed to NICE, the model, and how it decides by its probabilities.
DECISIONS = {
    "a cut-off": ({"decision": 0.3}, Risk(), by_cutoffs([None, 0.3])),
    "a cut-off of a class": ({"decision": {"denied": 0.3}}, Risk(), by_cutoffs([None, 0.3])),
    "a cut-off of the other": ({"decision": {"approved": 0.8}}, Risk(), by_cutoffs([0.8, None])),
    "two cut-offs of two": ({"decision": {"approved": 0.6, "denied": 0.3}}, Risk(), by_cutoffs([0.6, 0.3])),
    "a cut-off of three": ({"decision": {"gold": 0.2}}, Tiers(), by_cutoffs([0.2, None, None])),
    "several cut-offs": ({"decision": {"gold": 0.2, "none": 0.35}}, Tiers(), by_cutoffs([0.2, 0.35, None])),
    "every cut-off": (
        {"decision": {"gold": 0.2, "none": 0.4, "silver": 0.3}},
        Tiers(),
        by_cutoffs([0.2, 0.4, 0.3]),
    ),
    "predict": ({"decision": "predict"}, Risk(), by_cutoffs([None, 0.2])),
    "a function": ({"decision": from_quarter}, Risk(), by_cutoffs([None, 0.25])),
    "many classes": ({}, Tiers(), argmax),
    "a least probability": ({"min_probability": 0.8}, Risk(), argmax),
    "a cut-off and a least probability": ({"decision": 0.3, "min_probability": 0.85}, Risk(), by_cutoffs([None, 0.3])),
    "further models": ({"robust_to": [Risk(0.3), Risk(-0.2)]}, Risk(), argmax),
}


@pytest.fixture(scope="module")
def explained():
    """A result for each of the decisions, made when it is first asked for."""
    made = {}

    def result(name):
        if name not in made:
            options, model, decide = DECISIONS[name]
            X = applications()
            y = model.classes_[decide(model.predict_proba(X))]
            nice = NICE(model, search="greedy", optimize="proximity", **options).fit(X, y)
            made[name] = nice.explain(X[:60])
        return made[name]

    return result


pytestmark = pytest.mark.filterwarnings("ignore::nicecf.DecisionWarning")


# --- what is said is what the model says ------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", DECISIONS)
def test_every_sentence_and_list_is_true_of_the_deployed_decision(explained, name, language):
    _, model, decide = DECISIONS[name]
    texts = assert_true(explained(name), model, applications()[:60], language, decide)
    thousands, year = Wording(language=language).phrases["number.thousands"], " (19|20)\\d\\d "
    assert any(re.search(rf"\d{re.escape(thousands)}\d\d\d", text) for text in texts)
    if isinstance(model, Risk):
        assert any(re.search(f"built year .*{year}", text) for text in texts)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", [name for name, (options, _, _) in DECISIONS.items() if options.get("decision")])
def test_percentages_lie_on_the_sides_of_the_line_that_the_decisions_lie_on(explained, name, language):
    """A line is read as it is written: from there on, the decision is the class that it names."""
    phrases, cfs = Wording(language=language).phrases, explained(name)
    crossed = 0
    for one in read_all(cfs, language):
        for key in ("line.cutoff", "line.cutoff_of_several"):
            line = re.match(pattern(phrases[key], limit=r"[\d.,]+ %", label=r"\w+"), one.fields["line"])
            if line is None:
                continue
            crossed += 1
            limit = percentage(line["limit"], language)[0]
            assert one.fields["quantity"] == phrases["line.quantity"].format(label=line["label"])
            is_above = {when: shown_at_least(one.fields[when], limit, language) for when in ("chance", "other_chance")}
            assert is_above["chance"] != is_above["other_chance"]
            if key == "line.cutoff":
                assert is_above["chance"] == (one.fields["decision"] == line["label"])
                assert is_above["other_chance"] == (one.fields["other"] == line["label"])
            else:
                reached = "other" if is_above["other_chance"] else "decision"
                assert one.fields[reached] == line["label"]
    assert (crossed > 0) == (name not in ("predict", "a function"))


def shown_at_least(text, limit, language):
    """Whether a printed percentage reads as one that reaches a limit."""
    if text[0] in "<>":
        assert 1 <= limit <= 99
        return text[0] == ">"
    return percentage(text, language)[0] >= limit


def read_all(cfs, language="en"):
    called, texts = readable(applications().columns), cfs.texts(wording=Wording(language=language))
    return [read_sentence(texts[line], called, language) for line in changes_by_line(cfs)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["a least probability", "a cut-off and a least probability"])
def test_what_was_asked_for_is_of_the_class_whose_probability_is_told(explained, name, language):
    phrases = Wording(language=language).phrases
    for one in read_all(explained(name), language):
        least = re.search(pattern(phrases["line.least"], limit=r"[\d.,]+ %"), one.fields["line"])
        assert one.fields["quantity"] == phrases["line.quantity"].format(label=one.fields["other"])
        assert percentage(least["limit"], language)[0] == (80 if name == "a least probability" else 85)
        assert shown_at_least(one.fields["other_chance"], percentage(least["limit"], language)[0], language)


def test_what_was_asked_for_of_another_class_is_not_said_of_a_row_without_an_answer():
    X, model = applications(), Risk()
    y = model.classes_[argmax(model.predict_proba(X))]
    cfs = NICE(model, min_probability=0.99999999).fit(X, y).explain(X[:3])
    assert not cfs.found.any()
    for style in ("bullets", "analyst", "letter"):
        assert "asked for" not in cfs[0].text(style)
    assert json.loads(exported_table.table(cfs.batch)["line"][0])["least"] is None


def test_who_else_must_agree_is_said(explained):
    assert "; 2 more models have to agree)." in read_text(explained("further models"))
    X, model = applications(), Risk()
    y = model.classes_[argmax(model.predict_proba(X))]
    one = NICE(model, robust_to=[Risk(0.1)]).fit(X, y).explain(X[:5])
    assert "; another model has to agree)." in read_text(one)


def read_text(cfs):
    return next(text for text in cfs.texts() if "If " in text)


@pytest.mark.parametrize("name", DECISIONS)
def test_the_last_step_of_an_analyst_has_the_percentage_of_the_head(explained, name):
    cfs = explained(name)
    texts = cfs.texts("analyst")
    for line in changes_by_line(cfs):
        head, *others = texts[line].splitlines()
        steps = [other for other in others if re.search(r"step \d+", other)]  # a note of what predict says may follow
        told = re.search(r"P\((.+?)\) .+? -> (\S+ %) \(", head)
        last = max(steps, key=lambda line: int(re.search(r"step (\d+)", line)[1]))
        assert re.search(r"P\((.+?)\) (\S+ %) \|", last).groups() == told.groups()


@pytest.mark.parametrize("name", ["a cut-off", "every cut-off", "many classes", "predict"])
def test_rows_that_stay_say_the_quantity_and_no_change(explained, name):
    cfs = explained(name)
    batch = cfs.batch
    options, model, decide = DECISIONS[name]
    X = applications()
    nice = NICE(model, search="greedy", **options).fit(X, model.classes_[decide(model.predict_proba(X))])
    label = cfs.predicted[0]
    same = nice.explain(X[:1], target_class=label)[0]
    told = re.fullmatch(
        r"The model says (.+) already: the probability of (.+) is (.+ %) \(.+\)\. Nothing has to change\.", same.text()
    )
    assert told[1] == label
    assert_reads_as(told[3], batch.before.probabilities[0, list(model.classes_).index(told[2])])


def test_a_plain_decision_of_two_classes_has_no_line():
    X, model = applications(), Risk()
    y = model.classes_[argmax(model.predict_proba(X))]
    cfs = NICE(model).fit(X, y).explain(X[:3])
    told = r"If .+, the model would say (\w+) instead of \w+: the probability of \1 would be .+ % instead of .+ %\."
    assert re.fullmatch(told, cfs[0].text())
    assert_true(NICE(model).fit(X, y).explain(X[:40]), model, X[:40])
    written = exported_table.table(cfs.batch)
    assert {json.loads(line)["kind"] for line in written["line"]} == {"plain"}
    # A file of an earlier version leaves it out.
    for frame in (written, written.assign(line=None)):
        assert [one.restyled("sentence") for one in exported_table.read_outcomes(frame, "a file")] == cfs.texts()


NEARLY = {
    "sentence": {
        "en": "the model would say good instead of bad: the probability of good would be 50.4 % instead of 49.8 %.",
        "de": "würde das Modell auf good statt auf bad entscheiden: Die Wahrscheinlichkeit für good wäre 50,4 % statt 49,8 %.",
    },
    "bullets": {
        "en": "The model says bad: the probability of good is 49.8 %. With this change it would be 50.4 %, and the model would say good:",
        "de": "Das Modell entscheidet auf bad: Die Wahrscheinlichkeit für good ist 49,8 %. Mit dieser Änderung läge der Wert bei 50,4 %, und das Modell würde auf good entscheiden:",
    },
    "analyst": {
        "en": "bad -> good; P(good) 49.8 % -> 50.4 %; 1 change,",
        "de": "bad -> good; P(good) 49,8 % -> 50,4 %; 1 Änderung,",
    },
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_probabilities_are_of_one_class_and_differ_on_the_sides_of_one_half(language):
    """Not "good (50 %) instead of bad (50 %)", nor a number of each class."""
    X, wording = pd.DataFrame({"a": [0, 1]}), Wording(language=language)
    model = lambda X: np.where(X[["a"]] > 0, [0.496, 0.504], [0.502, 0.498])
    cfs = NICE(model, classes=["bad", "good"]).fit(X, ["bad", "good"]).explain(X[:1])
    for style, of_language in NEARLY.items():
        assert of_language[language] in cfs[0].text(style, wording=wording)
    now, then = ("49,8", "50,4") if language == "de" else ("49.8", "50.4")
    figures = cfs[0].letter("eu_authority", fields={"role": "-", "reference": "-"}, wording=wording)
    assert re.search(rf"In (figures|Zahlen): \S+ \S+ \S+ good \w+ .*{then} % .*{now} %", figures)
    page = cfs.to_html(wording=wording)
    pairs = [cfs.worded(wording)._repr_html_(), page, str(cfs[0].plot(wording=wording)._repr_mimebundle_())]
    for shown in pairs:
        assert f"P(good) {now} %" in shown.replace("\N{NO-BREAK SPACE}", " ")
        assert f"P(good) {then} %" in shown.replace("\N{NO-BREAK SPACE}", " ")
    assert f"{then}\N{NO-BREAK SPACE}%" in page  # not broken before its sign
    assert not re.search(r"50\s%", page + repr(cfs[0]))


def test_with_two_classes_the_probability_that_is_told_is_that_of_the_new_class():
    """However little it rises, and whatever the error of rounding in it."""
    before, after = np.array([[0.7, 0.3], [0.50002, 0.49998]]), np.array([[0.1, 0.9], [0.49999, 0.50001]])
    decided = np.array([0, 0])
    near = Line.plain("good", 0.4996, 0.62)
    assert (near.before, near.after) == ("49.96", "62.00")
    for n_more in (0, 1):
        criterion = Criterion("highest", (np.nan, np.nan), n_more=n_more)
        assert criterion.quantities(before, after, decided, 1 - decided)[0].tolist() == [1, 1]


# --- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("target", [(2_500.5, None), (None, 1_800), (1_900, 2_100)])
def test_every_sentence_about_scores_is_true(language, target):
    X = applications()
    score = lambda X: np.asarray(X["yearly_income"], dtype=float) / 20 - 150 * np.asarray(X["debt_ratio"], dtype=float)
    rows, called = X[:40], readable(X.columns)
    cfs = NICE(from_score(score, kind="score"), search="greedy").fit(X, score(X)).explain(rows, target_score=target)
    wording = Wording(language=language)
    texts, bullets, by_line = cfs.texts(wording=wording), cfs.texts("bullets", wording=wording), changes_by_line(cfs)
    told = {line: read_sentence(texts[line], called, language) for line in by_line}
    given = rows.iloc[cfs.rows[list(by_line)]]
    then = score(edited(given, [one.changes for one in told.values()], language))
    bounds = [number(text, language) for text in re.findall(r"\d[\d.,]*\d", next(iter(told.values())).fields["other"])]
    assert bounds == [bound for bound in target if bound is not None]
    low, high = (-np.inf if target[0] is None else target[0]), (np.inf if target[1] is None else target[1])
    for (line, own), before, after in zip(by_line.items(), score(given), then, strict=True):
        one = told[line]
        assert_says_what_changes(one.changes, own, rows, language)
        for text, true in ((one.fields["chance"], before), (one.fields["other_chance"], after)):
            shown = number(text, language)
            assert shown == pytest.approx(true, abs=5)
            assert (low <= shown <= high) == (low <= true <= high)
        assert not low <= before <= high
        assert low <= after <= high
        assert read_bullets(bullets[line], called, language).changes == one.changes


# --- percentages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "limits", "said"),
    [
        (0.31, 0.26, (0.3,), ("31", "26")),
        (0.3004, 0.2996, (0.3,), ("30.04", "29.96")),
        (0.2999, 0.8, (0.3,), ("29.99", "80.00")),
        (0.9999, 0.4, (), (">99", "40")),
        (0.0004, 0.0, (), ("<1", "0")),
        (0.0004, 0.2, (0.001,), ("<0.1", "20.0")),
        (0.502, 0.498, (), ("50.2", "49.8")),
        (0.3, 0.3, (0.3,), ("30", "30")),
        (1.0, 0.999, (0.9995,), ("100.0", "99.9")),
        (0.07 - 1e-9, 0.5, (0.07,), ("6.9999999", "50.0000000")),
    ],
)
def test_percentages_have_as_many_digits_as_their_side_takes(before, after, limits, said):
    assert percentages(before, after, limits) == said


def test_numbers_are_rounded_only_as_far_as_the_printed_percentage_stays():
    """A whole percent is not enough where a line is near: 5.00 and 5.0004 are both above it, and read differently."""
    X = pd.DataFrame({"a": np.append(np.random.default_rng(0).uniform(0, 4.9, 50), [5.00043219, 1.23456789])})

    def text(decision):
        def model(X):
            a = X["a"].to_numpy()
            high = 0.1 + 0.2 * (a > 4.95) + 0.004 * (a > 5.0001)
            return np.column_stack([1 - high, high])

        nice = NICE(model, classes=["low", "high"], decision=decision)
        return nice.fit(X, np.where(X["a"] > 5, "high", "low")).explain(X[51:])[0].text()

    assert text({"high": 0.25}).startswith("If a were 5.00 instead of 1.23,")
    assert "would be 30 % instead of 10 % (the decision is high from 25 % on)" in text({"high": 0.25})
    # 30.0 % would not be high any more, and 30.4 % is what the counterfactual has.
    assert text({"high": 0.302}).startswith("If a were 5.0004 instead of 1.2346,")
    assert "would be 30.4 % instead of 10.0 % (the decision is high from 30.2 % on)" in text({"high": 0.302})


# --- elsewhere --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DECISIONS)
def test_a_table_for_files_says_the_same_in_every_style_and_language(explained, name, tmp_path):
    cfs = explained(name)[:12]
    exported_table.table(cfs.batch).to_csv(tmp_path / "out.csv", index=False)
    outcomes = exported_table.read_outcomes(pd.read_csv(tmp_path / "out.csv"), "out.csv")
    for language in LANGUAGES:
        wording = Wording(language=language)
        for style in ("sentence", "bullets", "letter"):
            assert [one.restyled(style, wording) for one in outcomes] == cfs.texts(style, wording=wording)


@pytest.mark.parametrize("field", ["kind", "cutoff", "before", "label"])
def test_a_line_in_a_file_that_is_damaged_is_said_so(explained, field):
    table = exported_table.table(explained("a cut-off")[:1].batch)
    line = json.loads(table["line"][0])
    damaged = {"kind": "guess", "cutoff": 3}
    table["line"] = [json.dumps((line | {field: damaged[field]}) if field in damaged else line.pop(field) and line)]
    with pytest.raises(exported_table.FileError, match=r"out.csv is damaged: row 1"):
        exported_table.read_outcomes(table, "out.csv")


def test_a_result_that_was_kept_says_the_same_line(explained):
    cfs = explained("a cut-off")
    kept = pickle.loads(pickle.dumps(cfs))
    tails = [[text.partition(", the model would say ")[2] for text in one.texts()] for one in (cfs, kept)]
    assert tails[0] == tails[1]
    assert any(tails[0])


def test_pictures_have_the_quantity_too(explained):
    one = next(one for one in explained("a cut-off") if one.changes)
    chance = re.search(r"the probability of denied would be (.+ %) instead", one.text())[1]
    assert f"P(denied) {chance}" in changes_of(one).caption.alt


def test_a_quantity_can_be_called_what_people_call_it(explained):
    wording = Wording(probabilities={"denied": "the estimated risk"}, classes={"denied": "declined"})
    one = next(one for one in explained("a cut-off") if one.changes)
    assert re.search(
        r": the estimated risk would be \S+ % instead of \S+ % \(the decision is declined from 30 % on\)\.$",
        one.text(wording=wording),
    )
    assert "the estimated risk is " in one.text("bullets", wording=wording)


def test_a_letter_has_figures_only_where_a_template_asks_for_them(explained):
    one = next(one for one in explained("a cut-off") if one.changes)
    assert "%" not in one.text("letter")
    full = one.letter("eu_authority", fields={"role": "It decided.", "reference": "1"})
    told = re.search(r"In figures: the probability of denied would have been (.+ %) instead of (.+ %) \(", full)
    assert_reads_as(told[1], one.batch.after.probabilities[0, 1])
    assert_reads_as(told[2], one.batch.before.probabilities[0, 1])
    assert read_lines(one.text("letter"), readable(applications().columns), section="letter")


def test_what_decides_is_known_of_every_panel(explained):
    kinds = {name: explained(name).batch.criterion.kind for name in DECISIONS}
    assert kinds["a cut-off"] == kinds["a cut-off of three"] == "cutoff"
    assert kinds["several cut-offs"] == kinds["two cut-offs of two"] == "cutoffs"
    assert kinds["predict"] == "predict"
    assert kinds["a function"] == "function"
    assert kinds["many classes"] == kinds["further models"] == "highest"
    assert not any(explained(name).batch.criterion.is_plain for name in DECISIONS)
    assert Criterion("highest", (np.nan, np.nan)).is_plain
