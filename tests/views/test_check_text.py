"""Texts that others wrote: ours pass, and each kind of untruth is found where it stands."""

import pickle
import re
from collections import Counter
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import moments
from nicecf import NICE, Constraints, OptionError, Wording, from_score
from nicecf.benchmark.datasets import loan_book
from nicecf.views.words.check import Problem, TextCheck
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import formatted
from nicecf.views.words.saying import units
from reading import LANGUAGES

STYLES = ("sentence", "bullets", "letter")


def kinds(check):
    return [problem.kind for problem in check.problems]


def marked(check, text):
    """What the problems point at."""
    return [text[one.start : one.end] for one in check.problems]


# --- our own texts are true -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loans():
    X, y = loan_book(700)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
        remainder=SimpleImputer(strategy="median"),
    )
    model = make_pipeline(encode, RandomForestClassifier(10, random_state=0)).fit(X[:500], y[:500])
    return NICE(model, search="greedy").fit(X[:500], y[:500]).explain(X[500:508])


@cache
def one_hot():
    """A category with a column for each of its values, and a number."""
    random = np.random.default_rng(0)
    home = random.choice(["own", "rent", "family"], 120)
    X = pd.DataFrame({f"home_{one}": (home == one).astype(int) for one in ("own", "rent", "family")})
    X["savings"] = random.integers(0, 20_000, 120)

    def model(X):
        p = (0.1 + 0.3 * X["home_own"] + X["savings"] / 50_000).clip(0.01, 0.99).to_numpy()
        return np.column_stack([1 - p, p])

    y = np.where(model(X)[:, 1] > 0.5, "yes", "no")
    nice = NICE(model, classes=["no", "yes"], search="greedy", constraints=Constraints(groups="auto"))
    return nice.fit(X, y).explain(X[:20])


@cache
def dates():
    X, y = moments.loans()
    return NICE(moments.approve, classes=[0, 1]).fit(X, y).explain(X[y == 0].head(15))


@cache
def continuous():
    X = pd.DataFrame(np.random.default_rng(1).normal(0, 1_000, (200, 3)), columns=["net_flow", "x-1", "y2"])
    model = lambda X: 1 / (1 + np.exp(-np.column_stack([-X.sum(axis=1), X.sum(axis=1)]) / 500))
    return (
        NICE(model, classes=["low", "high"], optimize="proximity")
        .fit(X, np.where(X.sum(axis=1) > 0, "high", "low"))
        .explain(X[:20])
    )


@cache
def three_classes():
    X = pd.DataFrame({"points": np.arange(30), "region": ["north", "south", "east"] * 10})
    model = lambda X: np.eye(3)[np.minimum(X["points"].to_numpy() // 10, 2)] * 0.7 + 0.1
    return (
        NICE(model, classes=["bronze", "silver", "gold"])
        .fit(X, np.repeat(["bronze", "silver", "gold"], 10))
        .explain(X[::7], target_class="silver")
    )


@cache
def cutoffs():
    X = pd.DataFrame({"points": np.arange(40), "age": np.arange(40) + 20})
    model = lambda X: np.column_stack([1 - X["points"] / 50, X["points"] / 50])
    return (
        NICE(model, classes=["no", "yes"], decision={"yes": 0.333}).fit(X, ["no"] * 20 + ["yes"] * 20).explain(X[:15])
    )


@cache
def scores():
    X = pd.DataFrame({"income": np.arange(1_000, 4_000, 50), "late": [0, 1, 2] * 20})
    score = lambda X: 2.5 * np.asarray(X["income"], dtype=float) - 300 * np.asarray(X["late"], dtype=float)
    return NICE(from_score(score, kind="score")).fit(X, score(X)).explain(X[:12], target_score=(6_000, None))


TABLES = [one_hot, dates, continuous, three_classes, cutoffs, scores]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_our_own_texts_are_true(table, style, language):
    assert_passes(table(), style, language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("style", STYLES)
def test_our_own_texts_about_a_forest_are_true(loans, style, language):
    assert_passes(loans, style, language)


def assert_passes(cfs, style, language):
    wording = Wording(language=language)
    assert any(one.changes for one in cfs)
    for one, text in zip(cfs, cfs.texts(style, wording=wording), strict=True):
        if one.found:
            check = one.check_text(text, wording=wording)
            assert check, f"{text}\n{check}"
            assert str(check) == "ok"
            assert check.problems == ()


@pytest.mark.parametrize("template", ["plain", "eu"])
def test_our_own_letters_with_the_data_in_them_are_true(loans, template):
    for one in loans[:10]:
        letter = one.letter(template, fields={"role": "It decided."} if template == "eu" else None)
        assert one.check_text(letter), one.check_text(letter)


# --- and others are not -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one():
    """Income must rise and the home be another: neither alone is enough."""
    income, home = np.repeat([10_000.0, 12_345.5, 40_250.5], 6), ["rent", "own", "family"] * 6
    X = pd.DataFrame({"yearly_income": income, "home": home, "age": np.arange(30, 48)})

    def model(X):
        p = 0.1 + 0.35 * (X["yearly_income"] > 40_250).to_numpy() + 0.25 * (X["home"] == "own").to_numpy()
        return np.column_stack([1 - p, p])

    y = np.where(model(X)[:, 1] > 0.5, "approved", "denied")
    nice = NICE(model, classes=["denied", "approved"], constraints=Constraints(immutable=["age"])).fit(X, y)
    row = X.iloc[[6]]
    assert row["home"].item() == "rent"
    return nice.explain(row)[0]


GOOD = (
    "Your request was denied. It would have been approved with a yearly income of 40,250.5 instead of 12,345.5 and if "
    "you had your own home instead of one for rent."
)


def test_a_good_text_in_other_words_is_true(one):
    assert one.changes
    assert one.check_text(GOOD)
    assert one.check_text(GOOD.replace("40,250.5 instead of 12,345.5", "40250.5 (from 12345.5 to 40250.5)"))
    assert one.check_text("At 36 you would need 40,250.5 and to own it; now 90 % say denied, then 70 % approved.")


@pytest.mark.parametrize(
    ("old", "new", "kind", "place"),
    [
        ("40,250.5", "41,250.5", "number", "41,250.5"),
        ("12,345.5", "12,354.5", "number", "12,354.5"),
        ("40,250.5", "\N{MINUS SIGN}40,250.5", "number", "\N{MINUS SIGN}40,250.5"),
        ("one for rent", "one with family", "category", "family"),
        ("own home", "family home", "category", "family"),
        ("40,250.5 instead of 12,345.5", "12,345.5 instead of 40,250.5", "swapped", "12,345.5 instead of 40,250.5"),
        ("of 40,250.5 instead of 12,345.5", "that went from 40,250.5 to 12,345.5", "swapped", "40,250.5 to 12,345.5"),
        ("approved with", "approved (99 %) with", "number", "99 %"),
        ("approved with", "approved with 3 changes, ", "number", "3"),
        (" a yearly", " an age of 50 and a yearly", "number", "50"),
        ("denied. It", "denied on 2024-03-01. It", "number", "2024-03-01"),
    ],
)
def test_an_untruth_is_found_where_it_stands(one, old, new, kind, place):
    assert old in GOOD
    text = GOOD.replace(old, new)
    check = one.check_text(text)
    assert not check
    assert kind in kinds(check)
    problem = next(problem for problem in check.problems if problem.kind == kind)
    assert text[problem.start : problem.end] == place
    assert place in problem.message
    assert str(problem) == f"{problem.start}-{problem.end}: {problem.message}"
    assert str(problem) in str(check).splitlines()


def test_a_change_that_is_left_out_is_named_and_what_the_model_says_without_it(one):
    for text, feature, after in (
        ("With a yearly income of 40,250.5 instead of 12,345.5 it would be approved.", "home", "own"),
        ("With your own home instead of one for rent it would be approved.", "yearly income", "40,250.5"),
    ):
        check = one.check_text(text)
        assert kinds(check) == ["unsaid"]
        (problem,) = check.problems
        assert (problem.start, problem.end) == (0, 0)
        assert problem.message == (
            f"{feature} would have to be {after}, which the text does not say: with what it says, the model decides denied"
        )
        assert str(problem) == problem.message


def test_a_change_that_is_not_needed_may_be_left_out():
    X = pd.DataFrame({"a": [0, 0, 9, 9], "b": ["x", "y", "x", "y"]})
    model = lambda X: np.column_stack([X["a"] < 5, X["a"] >= 5]).astype(float)
    one = NICE(model, classes=["no", "yes"], optimize="none").fit(X.iloc[[0, 3]], ["no", "yes"]).explain(X[:1])[0]
    assert len(one.changes) == 2
    assert one.check_text("yes, if a were 9 instead of 0")
    assert kinds(one.check_text("yes, if b were y instead of x")) == ["unsaid"]


def test_a_value_that_is_rounded_too_far_does_not_turn_the_decision(one):
    """40,250 is 40,250.5 rounded, but the model wants more than 40,250."""
    text = GOOD.replace("40,250.5", "40,250")
    check = one.check_text(text)
    assert kinds(check) == ["still"]
    assert check.problems[0].message == "with the values that the text states, the model decides denied"
    assert one.check_text(GOOD.replace("12,345.5", "12,346"))


def test_a_wrong_class_of_several_is_found():
    one = three_classes()[0]
    text = one.text()
    assert "bronze" in text
    for wrong in (text.replace("bronze", "gold"), text.replace("silver", "gold")):
        check = one.check_text(wrong)
        assert set(kinds(check)) == {"class"}
        assert set(marked(check, wrong)) == {"gold"}
        assert check.problems[0].message == "gold is neither the decision nor the one that it would become"


def test_a_swapped_category_is_found(one):
    text = "- home: rent instead of own\n- yearly income: 40,250.5 instead of 12,345.5"
    check = one.check_text(text)
    assert kinds(check) == ["swapped"]
    assert marked(check, text) == ["rent instead of own"]
    assert check.problems[0].message.endswith("home would change from rent to own")


def test_dates_that_are_not_the_rows_are_found():
    one = next(one for one in dates() if any(change.feature == "opened" for change in one.changes))
    text = one.text()
    after = f"{next(change for change in one.changes if change.feature == 'opened').after:%Y-%m-%d}"
    assert after in text
    wrong = text.replace(after, "1999-01-02")
    check = one.check_text(wrong)
    assert "number" in kinds(check)
    assert "1999-01-02" in marked(check, wrong)


def test_a_category_over_several_columns_is_known_by_its_value():
    one = next(one for one in one_hot() if any("home" in str(change.feature) for change in one.changes))
    text = one.text("bullets")
    line = re.search(r"^- home: (\w+) instead of (\w+)$", text, re.MULTILINE)
    check = one.check_text(text.replace(f"{line[0]}\n", "").replace(line[0], ""))
    assert "unsaid" in kinds(check)
    assert one.check_text(text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_are_those_of_the_language(one, language):
    wording = Wording(language=language)
    own = {"en": ("40,250.5", "12,345.5"), "de": ("40.250,5", "12.345,5")}
    for text_of, pair in own.items():
        text = f"approved: {pair[0]}, own; denied: {pair[1]}, rent"
        assert bool(one.check_text(text, wording=wording)) == (text_of == language)
    swapped = f"{own[language][1]} {wording.phrases['check.instead']} {own[language][0]}, own"
    assert "swapped" in kinds(one.check_text(swapped, wording=wording))


def test_names_of_people_are_known(one):
    wording = Wording(
        names={"yearly_income": "pay in 2023"}, classes={"approved": "yes 1"}, values={"home": {"own": "a house"}}
    )
    assert one.check_text("yes 1: pay in 2023 40,250.5, a house", wording=wording)
    assert kinds(one.check_text("yes 1: pay in 2024 40,250.5, a house", wording=wording)) == ["number"]
    assert "unsaid" in kinds(one.check_text("yes 1: pay in 2023 40,250.5, own", wording=wording))


def test_an_empty_text_says_nothing_of_what_would_have_to_change(one):
    for text in ("", " \n"):
        assert kinds(one.check_text(text)) == ["unsaid", "unsaid"]


@pytest.mark.parametrize("text", [None, 3, b"text", ["text"]])
def test_what_is_no_text_is_refused(one, text):
    with pytest.raises(OptionError, match=f"the text to check must be text, got {type(text).__name__}"):
        one.check_text(text)


def test_a_wording_that_is_none_is_refused(one):
    with pytest.raises(OptionError, match="wording must be a nicecf.Wording, or None, got str"):
        one.check_text(GOOD, wording="de")


def test_without_a_model_the_decision_is_not_known(one):
    kept = pickle.loads(pickle.dumps(one))
    check = kept.check_text(GOOD)
    assert kinds(check) == ["no_model"]
    assert "this result was loaded without it" in str(check)
    assert set(kinds(kept.check_text(GOOD.replace("40,250.5", "3")))) == {"number", "no_model"}


def test_where_there_is_no_counterfactual_no_text_is_true():
    X = pd.DataFrame({"a": [0, 1, 2]})
    none = NICE(lambda X: np.tile([0.9, 0.1], (len(X), 1)), classes=["no", "yes"]).fit(X, ["no"] * 3).explain(X[:1])[0]
    assert kinds(none.check_text("anything")) == ["not_found"]


def test_where_nothing_changes_numbers_are_checked_all_the_same(one):
    X = pd.DataFrame({"a": [0, 7], "b": [1, 2]})
    model = lambda X: np.column_stack([X["a"] < 5, X["a"] >= 5]).astype(float)
    same = NICE(model, classes=["no", "yes"]).fit(X, ["no", "yes"]).explain(X[:1], target_class="no")[0]
    assert same.check_text(same.text())
    assert kinds(same.check_text("no already, at 7")) == ["number"]


def test_a_check_is_a_value():
    assert TextCheck() == TextCheck(())
    assert bool(TextCheck((Problem("number", "x", 1, 2),))) is False
    assert str(TextCheck((Problem("number", "x", 1, 2), Problem("unsaid", "y")))) == "1-2: x\ny"


# --- found by a review ------------------------------------------------------------------------------------------------


def numbered(labels=(0, 1)):
    """Classes and categories that are numbers, and a ratio that begins with one of them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"ratio": rng.uniform(0, 1, 80).round(2), "rating": pd.Categorical(rng.integers(1, 6, 80))})

    def model(X):
        p = 1 / (1 + np.exp(-6 * (X["ratio"].to_numpy() - 0.5) - (X["rating"].astype(int).to_numpy() - 3) / 2))
        return np.column_stack([1 - p, p])

    y = np.array(labels)[model(X).argmax(axis=1)]
    return NICE(model, justified=False).fit(X, y).explain(X[:30])


@pytest.mark.parametrize("language", LANGUAGES)
def test_classes_and_categories_that_are_numbers_are_known(language):
    wording = Wording(language=language, units={"ratio": "{} l/100 km"})
    cfs = numbered()
    for style in ("sentence", "bullets", "letter"):
        for one, text in zip(cfs, cfs.texts(style, wording=wording), strict=True):
            assert one.check_text(text, wording=wording), (text, str(one.check_text(text, wording=wording)))


def test_changes_that_mirror_each_other_are_not_the_wrong_way_round():
    X = pd.DataFrame({"defaults": [1, 0] * 20, "cosigner": [0, 1] * 20})
    model = lambda X: np.column_stack([p := 0.1 + 0.4 * (X["defaults"] + 1 - X["cosigner"]), 1 - p])
    (one,) = NICE(model, classes=["no", "yes"]).fit(X, ["no", "yes"] * 20).explain(X[:1])
    assert len(one.changes) == 2
    assert one.check_text(one.text()), str(one.check_text(one.text()))


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (lambda text: text.replace("approved", "#").replace("denied", "approved").replace("#", "denied"), "swapped"),
        (lambda text: f"{text} Only 1 late payment would remain.", "number"),
        (lambda text: f"{text} It may rise to 77x.", "number"),
    ],
)
def test_a_decision_the_wrong_way_round_and_numbers_in_passing_are_found(edit, kind):
    X = pd.DataFrame({"income": [3610, 4250, 5000, 3000] * 10})
    model = lambda X: np.column_stack([X["income"] < 4000, X["income"] >= 4000]) * 0.76 + 0.12
    (one,) = (
        NICE(model, classes=["denied", "approved"])
        .fit(X, ["denied", "approved", "approved", "denied"] * 10)
        .explain(X[:1])
    )
    text = one.text()
    assert one.check_text(text)
    assert kind in [problem.kind for problem in one.check_text(edit(text)).problems]


@pytest.mark.parametrize(
    "text",
    [
        "With an income of 4,250EUR you would have been approved, at 88 percent.",
        "With this 1 change, an income of 4,250 instead of 3,610, you would have been Approved.",
        "Instead of 3,610 you would need 4,250.",
        "From 3,610 to 4,250.",
    ],
)
def test_ordinary_writing_is_understood(text):
    X = pd.DataFrame({"income": [3610, 4250, 5000, 3000] * 10})
    model = lambda X: np.column_stack([X["income"] < 4000, X["income"] >= 4000]) * 0.76 + 0.12
    (one,) = (
        NICE(model, classes=["denied", "approved"])
        .fit(X, ["denied", "approved", "approved", "denied"] * 10)
        .explain(X[:1])
    )
    assert one.check_text(text), str(one.check_text(text))


def test_a_number_of_another_feature_is_not_the_value_that_was_needed():
    X = pd.DataFrame({"income": [3610, 4250, 5000, 3000] * 10, "debt_to_income": [3, 5, 2, 4] * 10})
    model = lambda X: np.column_stack([X["income"] < 4000, X["income"] >= 4000]) * 0.76 + 0.12
    y = ["denied", "approved", "approved", "denied"] * 10
    (one,) = NICE(model, classes=["denied", "approved"]).fit(X, y).explain(X[:1])
    assert one.check_text("With an income of 4,250 you would have been approved.")
    assert one.check_text("With 4,250 instead of 3,610 you would have been approved.")
    check = one.check_text("With a debt to income of 4,250 you would have been approved.")
    assert [problem.kind for problem in check.problems] == ["unsaid"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_class_that_is_a_number_is_not_a_part_of_another(language):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"ratio": random.choice([0.5, 1.2, 4.5], 300), "cars": random.integers(0, 6, 300)})

    def model(X):
        return np.eye(3)[np.digitize(X["ratio"], [1.0, 3.0])]

    nice = NICE(model, constraints=Constraints(immutable=["cars"])).fit(X, model(X).argmax(axis=1))
    rows = pd.DataFrame({"ratio": [0.5, 0.5], "cars": [2, 4]})
    with_two, with_four = nice.explain(rows, target_class=1)
    wording = Wording(language=language)
    text = with_two.text(wording=wording)
    after = "1.2".replace(".", wording.phrases["number.decimal_point"])
    assert after in text
    for good in ("", f" Cars: 2. Ratio {after}.", "\n2. Cars"):
        assert with_two.check_text(text + good, wording=wording), good
    assert with_four.check_text(text, wording=wording)
    assert kinds(with_four.check_text(f"{text} Or 2, or a 2.", wording=wording)) == ["class", "class"]


# --- what is exchanged ------------------------------------------------------------------------------------------------


@cache
def homes():
    """Categories that several columns share, words of the language among them, and a bool."""
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "home": random.choice(["own", "rent", "family"], 150),
            "second_home": random.choice(["none", "own", "rent"], 150),
            "purpose": random.choice(["car", "new and used", "to let", "other"], 150),
            "years": random.integers(0, 12, 150),
        }
    )

    def model(X):
        p = 0.1 + 0.3 * (X["home"] == "own") + 0.2 * (X["second_home"] == "own") + 0.2 * (X["purpose"] == "to let")
        p = (p + X["years"] / 60).clip(0.01, 0.99).to_numpy()
        return np.column_stack([1 - p, p])

    y = np.where(model(X)[:, 1] > 0.5, "granted", "turned down")
    return NICE(model, classes=["turned down", "granted"]).fit(X, y).explain(X[:40])


def exchanged(text, one, other):
    """The text in which two parts stand in each other's places; None where it does not have both."""
    between = rf"(?<![\w.,\u2212])({re.escape(one)}|{re.escape(other)})(?![\w])(?![.,]\d)"
    if one == other or {found[1] for found in re.finditer(between, text)} != {one, other}:
        return None
    return re.sub(between, lambda found: other if found[1] == one else one, text)


def mutants(one, text, wording):
    """Texts that are false since something is exchanged in them: a change, the probabilities, the decisions."""
    (said,) = formatted(one.batch, Formatter.of(one.batch, wording, is_letter="\n\n" in text), ask=True)
    phrases = wording.phrases
    for some in units(said):
        for each in some:
            for key in ("sentence.change", "bullets.change", "letter.change", "together.change"):
                put = lambda before, after, each=each, key=key: phrases[key].format(
                    feature=each.feature, before=before, after=after, change=""
                )
                if put(each.before, each.after) in text:
                    yield "a change", text.replace(put(each.before, each.after), put(each.after, each.before))
    if not (said.is_score and said.other_chance in said.other):  # else it would also be another target
        yield "the probabilities", exchanged(text, said.chance, said.other_chance)
    if not said.is_same and not re.fullmatch(r"\d+", said.decision):
        quantity = wording.say("line.quantity", label="\0")
        names = {
            wording.say("line.quantity", label=label): f"\0{at}\0"
            for at, label in enumerate((said.decision, said.other))
        }
        assert "\0" in quantity
        for name, mark in names.items():
            text = text.replace(name, mark)
        other = exchanged(text.replace(said.line or "\0\0", "\1"), said.decision, said.other)
        if other is not None:
            for name, mark in names.items():
                other = other.replace(mark, name)
            yield "the decisions", other.replace("\1", said.line)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_passes_in_which_something_is_exchanged(loans, language):
    wording, accepted, seen = Wording(language=language), [], Counter()
    for cfs in (loans, homes(), *(table() for table in TABLES)):
        for one in [one for one in cfs if one.changes][:4]:
            for style in STYLES:
                text = one.text(style, wording=wording)
                assert one.check_text(text, wording=wording), f"{text}\n{one.check_text(text, wording=wording)}"
                for what, other in mutants(one, text, wording):
                    if other is None or other == text:
                        continue
                    seen[what, style] += 1
                    if one.check_text(other, wording=wording):
                        accepted.append(f"{what}: {other}")
    assert not accepted, f"{len(accepted)} of {seen.total()}:\n" + "\n".join(accepted[:40])
    assert {what for what, _ in seen} == {"a change", "the probabilities", "the decisions"}
