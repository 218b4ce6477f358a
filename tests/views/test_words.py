"""Texts: what they say is true when it is taken at its word, and reads well."""

import pickle
import re
import string
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nicecf
from nicecf import NICE, Constraints, FileError, OptionError, Wording
from nicecf.baselines import GrowingSpheres
from nicecf.benchmark.datasets import loan_book
from nicecf.testing import Scorecard, applicants
from reading import LANGUAGES, assert_true, number, read_lines, read_sentence, readable
from strategies import fewer

STYLES = ("sentence", "bullets", "analyst", "letter")
ENGLISH = Path(nicecf.__file__).parent / "support" / "phrases" / "en.toml"


class Counting:
    """A model that counts what it is asked."""

    def __init__(self, model):
        self.model, self.classes_, self.calls, self.rows = model, model.classes_, 0, 0

    def predict_proba(self, X):
        self.calls, self.rows = self.calls + 1, self.rows + len(X)
        return self.model.predict_proba(X)


def read_back(text, names):
    """The changes that a sentence names: {feature: (after, before)}, as the text has them."""
    return read_sentence(text, readable(names)).changes


@pytest.fixture(scope="module")
def loans():
    X, y = loan_book(1_500)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
        remainder=SimpleImputer(strategy="median"),
    )
    model = make_pipeline(encode, RandomForestClassifier(20, random_state=0)).fit(X[:1_000], y[:1_000])
    return X, y, model


@pytest.fixture(scope="module")
def explained(loans):
    """By the walk of the paper: its answers have more changes, and some of them make a value missing."""
    X, y, model = loans
    return NICE(model, search="greedy").fit(X[:1_000], y[:1_000]).explain(X[1_000:1_250])


def continuous(kind, dtype="float64", *, n_columns=30):
    """Numbers with as many digits as a float has, and a model that is smooth in them."""
    X, y = (load_breast_cancer if kind == "logistic" else load_wine)(return_X_y=True, as_frame=True)
    X = (X * np.random.default_rng(0).lognormal(0, 0.01, X.shape)).astype(dtype).iloc[:, :n_columns]
    model = LogisticRegression() if kind == "logistic" else MLPClassifier((8,), max_iter=2_000, random_state=0)
    return X, y, make_pipeline(StandardScaler(), model).fit(X, y)


# --- the sentences are true ------------------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_of_a_forest_on_mixed_columns_is_true(loans, explained, language):
    X, _, model = loans
    texts = assert_true(explained, model, X[1_000:1_250], language)
    words = Wording(language=language).phrases
    missing, yes, no = (words[f"value.{name}"] for name in ("missing", "true", "false"))
    assert any(f" {missing} {words['check.instead']} " in text for text in texts)
    assert any(re.search(f" ({yes}|{no}) {words['check.instead']} ({yes}|{no})", text) for text in texts)


@pytest.mark.parametrize("kind", ["logistic", "network"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("search", ["greedy", "thorough"])
def test_every_sentence_about_continuous_numbers_is_true_and_short(kind, dtype, search):
    X, y, model = continuous(kind, dtype)
    rows = X[: 120 if search == "greedy" else 40]
    cfs = NICE(model, optimize="proximity", search=search).fit(X, y).explain(rows)
    texts = assert_true(cfs, model, rows)
    digits = [len(number) for text in texts for number in re.findall(r"[\d,]+\.\d+", text)]
    # Of single precision, proline has all its digits, and in most answers of the thorough search it alone changes.
    assert np.median(digits) < (10 if (search, kind, dtype) == ("thorough", "network", "float32") else 7)
    assert cfs[3].text() == texts[3]


def test_every_sentence_of_a_thorough_search_is_true():
    X, y, model = continuous("logistic", n_columns=8)
    cfs = (
        NICE(model, search="thorough", optimize="proximity", plausibility=lambda X: X.iloc[:, 0])
        .fit(X, y)
        .explain(X[:8], n_counterfactuals=2)
    )
    assert_true(cfs, model, X[:8])
    assert_true(cfs.pareto()[::5], model, X[:8])


@pytest.mark.deep
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_sentence_about_made_up_numbers_is_true(dtype):
    X, y, model = continuous("network", dtype)
    X = X[["alcohol", "malic_acid", "magnesium", "hue"]].round({"alcohol": 1, "magnesium": 0}).astype(dtype)
    X["magnesium"] = X["magnesium"].astype("int64")
    model = make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=2_000, random_state=0)).fit(X, y)
    cfs = GrowingSpheres(model, n_samples=200, random_state=0).fit(X, y).explain(X[:60])
    texts = assert_true(cfs, model, X[:60])
    assert all(re.search(r"magnesium were \d+ ", text) for text in texts if "magnesium" in text)


class OnlyThese:
    """A model that says yes to some exact numbers and to nothing beside them."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, numbers):
        self.numbers = numbers

    def predict_proba(self, X):
        is_one = np.isin(np.asarray(X["a"]), self.numbers)
        return np.column_stack([~is_one, is_one]) * 0.9 + 0.05


floats = st.floats(-1e100, 1e100, allow_subnormal=False) | st.floats(-1e3, 1e3) | st.integers(-99, 99).map(float)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@fewer(0.5)
@given(numbers=st.lists(floats, min_size=2, max_size=5, unique=True), more=st.lists(floats, max_size=4))
def test_where_only_exact_numbers_will_do_one_of_them_is_said(dtype, numbers, more):
    largest = float(np.finfo(dtype).max) / 4
    row, *good = (np.clip(np.array(numbers), -largest, largest).astype(dtype) + dtype(0)).tolist()
    good = [one for one in good if one != row]
    others = np.clip(np.array(more), -largest, largest).astype(dtype)
    if not good:
        return
    X = pd.DataFrame({"a": np.array([*good, row, *others], dtype=dtype)})
    model = OnlyThese(np.array(good, dtype=dtype))
    y = np.where(np.isin(X["a"], model.numbers), "yes", "no")
    if y[len(good)] == "yes":
        return
    cfs = NICE(model).fit(X, y).explain(X.iloc[[len(good)]])
    for texts in (cfs.texts(), pickle.loads(pickle.dumps(cfs)).texts()):
        (after, before) = read_back(texts[0], ["a"])["a"]
        assert dtype(number(after)) in good
        assert np.sign(number(after) - number(before)) == np.sign(float(cfs.to_frame()["a"].iloc[0]) - row)


def test_a_number_is_rounded_as_far_as_the_decision_and_its_probability_allow():
    X = pd.DataFrame({"a": np.append(np.random.default_rng(0).uniform(0, 4.9, 50), [5.00043219, 1.23456789])})

    def text(limit, jump):
        def model(X):
            a = X["a"].to_numpy()
            high = 0.2 + 0.5 * (a > limit) + 0.1 * (a > jump)
            return np.column_stack([1 - high, high])

        return (
            NICE(model, classes=["low", "high"]).fit(X, np.where(X["a"] > 5, "high", "low")).explain(X[51:])[0].text()
        )

    assert (
        text(4.95, 4.95)
        == "If a were 5.00 instead of 1.23, the model would say high instead of low: the probability of high would be 80 % instead of 20 %."
    )
    # 5.00 would be decided otherwise; and in the last, it would be decided the same, but not with 80 %.
    assert "If a were 5.0004 instead of 1.2346," in text(5.0001, 4.95)
    assert "If a were 5.00043 instead of 1.23457," in text(5.0001, 5.00041)
    assert "If a were 5.0004 instead of 1.2346," in text(4.95, 5.0001)


class Logarithm:
    """Says yes from a product of 1 on; raises where a factor is not positive, as math.log does."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, top=np.inf):
        self.top = top

    def predict_proba(self, X):
        values = np.asarray(X, dtype=float)
        if (values <= 0).any() or (values > self.top).any():
            raise ValueError("math domain error")
        p = expit(np.log(values).sum(axis=1))
        return np.column_stack([1 - p, p])


def said_of(X):
    return Logarithm.classes_[Logarithm().predict_proba(X).argmax(axis=1)]


@pytest.fixture(scope="module")
def factors():
    """Small and large numbers: with the decimals of its column, many a small one would be 0."""
    random = np.random.default_rng(0)
    return pd.DataFrame({"a": np.exp(random.normal(-4, 3, 300)), "b": np.exp(random.normal(4, 3, 300))})


def test_a_model_is_asked_about_no_number_beyond_training_to_round_one(factors):
    """A small number is not tried as 0, of which a logarithm knows nothing."""
    cfs = NICE(Logarithm()).fit(factors, said_of(factors)).explain(factors[:80])
    for style in ("sentence", "bullets", "analyst", "letter"):
        assert len(cfs.texts(style)) == 80
    assert_true(cfs, Logarithm(), factors[:80])
    assert "yes" in cfs.to_html()
    assert len(cfs.letters()) == 80


def test_the_largest_and_the_smallest_number_are_rounded_inwards():
    X = pd.DataFrame({"a": np.append(np.random.default_rng(0).uniform(0.5, 4.5, 50), 5.0061234), "b": 0.0})
    X["b"] = 5.5 - X["a"]
    model = lambda X: np.column_stack([X["a"] - X["b"] < 4, X["a"] - X["b"] >= 4]).astype(float)
    one = (
        NICE(model, classes=["low", "high"], optimize="none")
        .fit(X, np.where(X["a"] > 5, "high", "low"))
        .explain(X[:1])[0]
    )
    assert one.text().startswith("If a were 5.00 instead of 3.05 and b were 0.50 instead of 2.45, ")


def test_an_error_of_the_model_while_numbers_are_rounded_costs_no_text(factors):
    """As when it went away after the search: then numbers have all their digits."""
    model = Logarithm()
    cfs = NICE(model).fit(factors, said_of(factors)).explain(factors[:20])
    in_full = pickle.loads(pickle.dumps(cfs)).texts()
    model.top = -1.0
    with pytest.warns(UserWarning, match="numbers in texts are not rounded as far as they could be: the model raised"):
        assert cfs.texts() == in_full


def test_rounding_keeps_the_rules_of_each_row():
    X = pd.DataFrame({"a": np.append(np.random.default_rng(0).uniform(0, 4.9, 50), [5.0061234, 8.0])})
    model = lambda X: np.column_stack([X["a"] < 5, X["a"] >= 5]).astype(float)
    nice = NICE(model, classes=["low", "high"]).fit(X, np.where(X["a"] > 5, "high", "low"))
    limits = Constraints(ranges={"a": (None, [6.0, 5.0062, 6.0])})
    cfs = nice.explain(X[:3], constraints=limits)
    expected = ["If a were 5.01 ", "If a were 5.006 ", "If a were 5.01 "]
    for rows in ([0, 1, 2], [1, 0], [2], [1]):
        for text, at in zip(cfs[rows].texts(), rows, strict=True):
            assert text.startswith(expected[at])


@pytest.mark.parametrize(("trained", "given"), [("float32", "float64"), ("float64", "float32"), ("float64", "float16")])
def test_rows_of_another_precision_than_the_training_data(trained, given):
    X, y, model = continuous("network", trained)
    rows = X[:40].astype(given)
    cfs = NICE(model).fit(X, y).explain(rows)
    assert_true(cfs, model, rows.astype("float64") if given == "float16" else rows)


def test_a_result_without_a_model_says_all_digits():
    X, y, model = continuous("logistic")
    cfs = NICE(model).fit(X, y).explain(X[:30])
    kept = pickle.loads(pickle.dumps(cfs))
    texts = kept.texts()
    assert texts != cfs.texts()
    for at, text in enumerate(texts):
        after = kept[at].to_frame().iloc[0]
        assert all(number(said) == after[name] for name, (said, _) in read_back(text, X.columns).items())


# --- and cheap -------------------------------------------------------------------------------------------------------


def test_numbers_as_short_as_their_column_need_no_model_call(loans):
    X, y, model = loans
    counting = Counting(model)
    cfs = NICE(counting, search="greedy").fit(X[:1_000], y[:1_000]).explain(X[1_000:1_100])
    before = counting.calls
    for style in STYLES:
        cfs.texts(style)
        cfs[4].text(style)
    repr(cfs[4])
    assert counting.calls == before


def test_a_thousand_texts_take_a_handful_of_calls():
    X, y, model = continuous("logistic", n_columns=8)
    counting = Counting(model)
    cfs = NICE(counting, search="greedy").fit(X, y).explain(pd.concat([X, X])[:1_000])
    before = counting.calls, counting.rows
    texts = cfs.texts()
    assert 1 <= counting.calls - before[0] <= 6
    assert counting.rows - before[1] < 4 * len(cfs)
    assert texts[0] == texts[len(X)]


def test_the_repr_never_asks_the_model():
    X, y, model = continuous("logistic")
    counting = Counting(model)
    one = NICE(counting).fit(X, y).explain(X[:1])[0]
    before = counting.calls
    assert repr(one).startswith("If ")
    repr(one)
    assert counting.calls == before


# --- order -----------------------------------------------------------------------------------------------------------


def test_changes_are_said_by_what_they_add_to_the_probability(explained):
    counted = 0
    for one in explained[:60]:
        if len(one.changes) < 2:
            continue
        previous = one.batch.before.probabilities[0, one.batch.after.decided[0]]
        gains = {}
        for change in one.changes:
            gains[change.feature] = change.probability - previous
            previous = change.probability
        said = list(read_back(one.text(), explained.to_frame().columns))
        assert [round(gains[name], 9) for name in said] == sorted((round(g, 9) for g in gains.values()), reverse=True)
        counted += said != [change.feature for change in one.changes]
    assert counted  # some are said in another order than they were made


def test_changes_of_one_step_are_said_by_their_part_in_the_distance():
    X = pd.DataFrame({"a": [0, 1, 4], "b": [0, 3, 4], "c": ["x", "y", "x"]})
    model = lambda X: np.column_stack([X["a"] < 1, X["a"] >= 1]).astype(float)
    one = NICE(model, optimize="none", classes=["no", "yes"]).fit(X[:2].assign(a=[0, 1]), ["no", "yes"])
    one = one.explain(X[:1])[0]
    assert list(read_back(one.text(), X.columns)) == ["a", "b", "c"]  # all 1.0: the order of the columns
    nice = NICE(model, optimize="none", classes=["no", "yes"], justified=False).fit(X, ["no", "yes", "yes"])
    one = nice.explain(X[:1])[0]
    assert [change.feature for change in one.changes] == ["a", "b", "c"]
    assert list(read_back(one.text(), X.columns)) == ["c", "b", "a"]


# --- styles ----------------------------------------------------------------------------------------------------------


def small(**options):
    X = pd.DataFrame({"late_payments": [3, 0, 1], "home": ["rent", "own", "rent"]})

    def model(X):
        p = (0.45 - X["late_payments"] / 10 + (X["home"] == "own") * 0.3).to_numpy()
        return np.column_stack([p, 1 - p])

    return NICE(model, **options).fit(X, ["denied", "approved", "denied"]), X


def test_bullets():
    nice, X = small()
    assert nice.explain(X[:1])[0].text("bullets") == (
        "The model says denied: the probability of approved is 15 %. With these 2 changes together it would be 65 %, and the model would say approved:\n"
        "- home: own instead of rent\n"
        "- late payments: 1 instead of 3"
    )
    assert nice.explain(X[2:])[0].text("bullets") == (
        "The model says denied: the probability of approved is 35 %. With this change it would be 65 %, and the model would say approved:\n- home: own instead of rent"
    )


def test_what_an_analyst_gets():
    nice, X = small()
    assert nice.explain(X[:1])[0].text("analyst") == (
        "denied -> approved; P(approved) 15 % -> 65 %; 2 changes, 2 steps, distance 1.67; "
        "donor: training row 2 (late payments), 1 (home)\n"
        "1. home: rent -> own | step 1: P(approved) 45 % | 60 % of the distance\n"
        "2. late payments: 3 -> 1 | step 2: P(approved) 65 % | 40 % of the distance"
    )
    assert nice.with_search(search="greedy").explain(X[:1])[0].text("analyst") == (
        "denied -> approved; P(approved) 15 % -> 75 %; 2 changes, 2 steps, distance 2; donor: training row 1\n"
        "1. late payments: 3 -> 0 | step 1: P(approved) 45 % | 50 % of the distance\n"
        "2. home: rent -> own | step 2: P(approved) 75 % | 50 % of the distance"
    )
    X, y, model = continuous("network")
    made_up = GrowingSpheres(model, n_samples=50, random_state=0).fit(X, y).explain(X[:1])[0]
    assert "; no donor\n" in made_up.text("analyst")


def test_an_analyst_gets_the_note():
    X, y, model = continuous("logistic", n_columns=8)
    cfs = NICE(model, search="thorough").fit(X, y).explain(X[:3], time_budget=1e-6)
    noted = next(one for one in cfs if one.note)
    assert noted.text("analyst").endswith(f"\nnote: {noted.note}")


def test_a_letter():
    nice, X = small()
    assert nice.explain(X[:1])[0].text("letter") == (
        "One way to a different decision\n\n"
        "We used a computer model to assess the information that we hold about you. Its decision is: denied.\n\n"
        'With everything else unchanged, the decision would have been "approved" if these 2 points together had been '
        "different:\n"
        "- home: own instead of rent\n"
        "- late payments: 1 instead of 3\n\n"
        "This is one way to a different decision. It is not a list of the reasons for the decision, and it is not a "
        "promise: other changes can lead to a different decision as well, and a new assessment uses the information "
        "and the model of its own time."
    )


def test_a_letter_has_no_probabilities_and_names_every_change(explained):
    lengths, called = set(), readable(explained.to_frame().columns)
    for text, one in zip(explained[:80].texts("letter"), explained[:80], strict=True):
        assert "%" not in text
        assert "_" not in text
        changes = read_lines(text, called, section="letter")
        assert sorted(changes) == sorted(change.feature for change in one.changes)
        assert changes == read_back(one.text().replace("missing", "not on record"), called.values())
        lengths.add(len(changes))
    assert max(lengths) > 4


def by_lookup(probabilities, columns, **options):
    """An explainer for a table of zeros and one of ones, by the probability of "yes" for each row."""
    X = pd.DataFrame([[0] * len(columns), [1] * len(columns)], columns=list(columns))
    model = lambda X: np.array(
        [[1 - p, p] for p in (probabilities[row] for row in X.itertuples(index=False, name=None))]
    )
    return NICE(model, classes=["no", "yes"], **options).fit(X, ["no", "yes"]).explain(X[:1])[0]


def test_changes_of_one_step_share_what_it_adds():
    at = {(0, 0, 0): 0.1, (1, 1, 0): 0.4, (0, 0, 1): 0.3, (1, 1, 1): 0.6}
    one = by_lookup(at, "abc", constraints=Constraints(groups=[["a", "b"]]))
    assert [(change.feature, change.step) for change in one.changes] == [("a", 1), ("b", 1), ("c", 2)]
    assert list(read_back(one.text(), "abc")) == ["c", "a", "b"]


def test_what_differs_by_an_error_of_rounding_only_is_equal():
    one = by_lookup({(0, 0): 0.15, (1, 0): np.nextafter(0.45, 0), (0, 1): 0.4, (1, 1): 0.75}, "ab")
    assert list(read_back(one.text(), "ab")) == ["a", "b"]


@pytest.mark.parametrize("style", STYLES)
def test_nothing_has_to_change_in_every_style(style):
    nice, X = small()
    text = nice.explain(X[:1], target_class="denied")[0].text(style)
    assert "denied" in text
    assert "othing has to change" in text
    assert "instead of" not in text


@pytest.mark.parametrize("style", STYLES)
def test_not_found_in_every_style(style):
    nice, X = small(constraints=Constraints(max_changes=1))
    one = nice.explain(X[:1])[0]
    assert not one.found
    text = one.text(style)
    if style == "letter":
        assert "a limit that we set for the changes that we look for: only one point may be different." in text
        assert "Without this limit, there would have been a way." in text
    else:
        assert one.relaxation.rule in text
        assert one.relaxation.action in text
        assert one.reason in text
    never = NICE(lambda X: np.tile([0.8, 0.2], (len(X), 1)), classes=["no", "yes"]).fit(np.eye(2), ["no", "yes"])
    one = never.explain(np.eye(2))[0]
    if style == "letter":
        assert "Its decision is: no.\n" in one.text(style)
        assert "there is none with that result that could serve as an example." in one.text(style)
    else:
        assert one.reason in one.text(style)


def test_a_style_that_is_not_known():
    nice, X = small()
    cfs = nice.explain(X)
    for text in (cfs.texts, cfs[0].text):
        with pytest.raises(
            OptionError, match="style='leter' is not known; choose one of 'sentence', .* Did you mean 'letter'?"
        ):
            text("leter")


def test_an_empty_result_has_no_texts(explained):
    for style in STYLES:
        assert explained[:0].texts(style) == []


# --- values ----------------------------------------------------------------------------------------------------------


def told_about(before, after, style="sentence", **wording):
    """The text for one feature, home, that goes from one value to another."""
    X = pd.DataFrame({"home": pd.Series([before, after], dtype=object)})
    model = lambda X: np.eye(2)[[0 if i % 2 == 0 else 1 for i in map(codes.__getitem__, map(repr, X["home"]))]]
    codes = {repr(before): 0, repr(after): 1}
    nice = NICE(model, search="greedy", classes=["no", "yes"], categorical_features=["home"]).fit(X, ["no", "yes"])
    return nice.explain(X[:1])[0].text(style, wording=Wording(**wording) if wording else None)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("rent", None, "home were missing instead of rent"),
        (None, "own", "home were own instead of missing"),
        (True, False, "home were no instead of yes"),
        (3, 12, "home were 12 instead of 3"),
        (1.0, 2.5, "home were 2.5 instead of 1"),
        ("two\n  lines", "one", "home were one instead of two lines"),
        ("", "own", 'home were own instead of ""'),
        ("missing", None, 'home were missing instead of "missing"'),
        ("rent, shared", "own", 'home were own instead of "rent, shared"'),
        ("a instead of b", "b and c", 'home were "b and c" instead of "a instead of b"'),
        ("{after}", "%s", "home were %s instead of {after}"),
        ("a b", "a  b", "home were 'a  b' instead of 'a b'"),
        ("1", 1, "home were 1 instead of '1'"),
        ("x" * 300, "y" * 300, f"home were {'y' * 300} instead of {'x' * 300}"),
        ("\x1b[31mred", "blue", "home were blue instead of \ufffd[31mred"),
    ],
)
def test_values_read_well(before, after, said):
    assert told_about(before, after).startswith(f"If {said}, the model would say yes instead of no: ")
    for style in STYLES:
        assert "\n  lines" not in told_about(before, after, style)


def test_a_letter_speaks_of_what_is_not_on_record():
    assert "- home: own instead of not on record" in told_about(None, "own", "letter")


@fewer(0.5)
@given(st.lists(st.text(max_size=12), min_size=2, max_size=2, unique=True))
def test_whatever_the_categories_they_stand_in_one_line_and_differ(pair):
    text = told_about(*pair)
    assert text.splitlines() == [text]
    after, before = re.fullmatch(r"If home were (.+) instead of (.+), the model would say yes .+", text).groups()
    assert after != before


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 1], "say 1 instead of 0: the probability of 1 would be 90 % instead of 10 %"),
        ([False, True], "say yes instead of no: the probability of yes would be 90 % instead of 10 %"),
    ],
)
def test_labels_that_are_no_text(labels, said):
    X = pd.DataFrame({"a": [0, 1]})
    model = lambda X: np.where(X[["a"]] > 0, [0.1, 0.9], [0.9, 0.1])
    assert said in NICE(model).fit(X, labels).explain(X[:1])[0].text()


def test_certainty_is_only_said_of_what_is_certain():
    X = pd.DataFrame({"a": [0, 1]})
    for probability, said in ((1.0, " 100 %"), (1 - 1e-12, " >99 %"), (0.99499, " 99 %")):
        model = lambda X, p=probability: np.where(X[["a"]] > 0, [1 - p, p], [p, 1 - p])
        cfs = NICE(model).fit(X, [0, 1]).explain(X[:1])
        for style in ("sentence", "bullets", "analyst"):
            assert said in cfs[0].text(style)


def test_numbers_have_the_decimals_of_their_column():
    X = pd.DataFrame({"price": [10.25, 7.5, 9.99], "n": [1, 2, 3]})
    model = lambda X: np.column_stack([X["price"] < 9, X["price"] >= 9]).astype(float)
    nice = NICE(model).fit(X, [1 - int(p >= 9) for p in X["price"]] and [1, 0, 1])
    assert "price were 7.50 instead of 10.25" in nice.explain(X[:1])[0].text()
    # What a row has by itself is not rounded away.
    assert "price were 7.50 instead of 10.125" in nice.explain(X[:1].assign(price=10.125))[0].text()


def test_polars_and_arrays_are_said_as_well():
    pl = pytest.importorskip("polars")
    X, y = applicants()
    frame = pl.DataFrame({"age": X["age"].to_numpy(), "income": X["income"].fillna(1.0).to_numpy()})
    cfs = NICE(Scorecard(), justified=False).fit(frame, y.to_list()).explain(frame[:5])
    assert all(re.match(r"If (age|income) were [\d.]+ instead of", text) for text in cfs.texts())
    array = frame.to_numpy().astype(np.float32)
    model = lambda X: Scorecard().predict_proba(pd.DataFrame(X, columns=["age", "income"]))
    cfs = NICE(model, classes=list(Scorecard.classes_), justified=False).fit(array, y.to_list()).explain(array[:5])
    assert all(re.match(r"If x[01] were [\d.]+ instead of", text) for text in cfs.texts())


# --- wording ---------------------------------------------------------------------------------------------------------


def test_names_units_and_classes_are_those_of_people():
    nice, X = small()
    wording = Wording(
        names={"late_payments": "late payments", "home": "your home"},
        units={"late_payments": "{} a year", "home": "house"},
        classes={"denied": "turned down", "approved": "granted"},
    )
    one = nice.explain(X[:1])[0]
    assert one.text(wording=wording) == (
        "If your home were own house instead of rent house and late payments were 1 a year instead of 3 a year, the "
        "model would say granted instead of turned down: the probability of granted would be 65 % instead of 15 %."
    )
    for style in STYLES:
        assert "late_payments" not in one.text(style, wording=wording)
        assert "denied" not in one.text(style, wording=wording)


def test_reasons_use_the_names_too():
    nice, X = small(constraints=Constraints(immutable=["home"]))
    wording = Wording(names={"home": "your home"}, classes={"approved": "granted"})
    text = nice.explain(X[:1])[0].text(wording=wording)
    assert "your home may not change" in text
    assert "granted" in text
    assert "'" not in text


def test_a_wording_in_a_file(tmp_path):
    path = tmp_path / "words.toml"
    path.write_text('[names]\nx0 = "the first"\n[units]\nx0 = "€{}"\n[classes]\n1 = "good"\ntrue = "never"\n')
    X = np.array([[0.0], [5.0]])
    model = lambda X: np.column_stack([X[:, 0] < 1, X[:, 0] >= 1]).astype(float)
    one = NICE(model).fit(X, [0, 1]).explain(X[:1])[0]
    with pytest.raises(OptionError, match="classes of the wording refers to the class 'true'"):
        one.text(wording=Wording.from_toml(path))
    path.write_text(path.read_text().replace('true = "never"\n', ""))
    assert one.text(wording=Wording.from_toml(str(path))) == (
        "If the first were €5 instead of €0, the model would say good instead of 0: the probability of good would be 100 % instead of 0 %."
    )
    by_bool = Wording(classes={"true": "good"})
    one = NICE(model).fit(X, [False, True]).explain(X[:1])[0]
    assert "say good instead of no: the probability of good would be 100 %" in one.text(wording=by_bool)


GERMAN = {
    "number.decimal_point": ",",
    "number.percent": "{number}\u00a0%",
    "value.missing": "unbekannt",
    "value.true": "ja",
    "value.false": "nein",
    "list.last": " und ",
    "sentence.change": "{feature} {after} statt {before} wäre",
    "sentence.found": "Wenn {changes}, wäre die Entscheidung {other} statt {decision} ({quantity}: {other_chance} statt {chance}{line}).",
    "line.quantity": "Wahrscheinlichkeit von {label}",
    "letter.title": "Gründe der Entscheidung",
}


def write_german(path, **changes):
    """A language in one file: the English one with some phrases translated."""
    phrases = tomllib.loads(ENGLISH.read_text())
    for key, phrase in (GERMAN | changes).items():
        section, name = key.split(".")
        if phrase is None:
            del phrases[section][name]
        else:
            phrases.setdefault(section, {})[name] = phrase
    lines = []
    for section, entries in phrases.items():
        lines.append(f"[{section}]")
        lines += [
            f"{name} = '''{phrase}'''" if isinstance(phrase, str) else f"{name} = {phrase}"
            for name, phrase in entries.items()
        ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_another_language_is_one_file(tmp_path):
    german = write_german(tmp_path / "de.toml")
    X = pd.DataFrame({"zins": [7.25, 3.5], "haus": [False, True]})
    model = lambda X: (
        np.column_stack([X["zins"] > 5, X["zins"] <= 5]).astype(float) * 0.5
        + np.column_stack([~X["haus"], X["haus"]]) * 0.5
    )
    one = NICE(model, optimize="none", classes=["nein", "ja"]).fit(X, ["nein", "ja"]).explain(X[:1])[0]
    for language in (german, str(german)):
        assert one.text(wording=Wording(language=language, units={"zins": "%"})) == (
            "Wenn zins 3,50 % statt 7,25 % wäre und haus ja statt nein wäre, wäre die Entscheidung ja statt nein "
            "(Wahrscheinlichkeit von ja: 100\u00a0% statt 0\u00a0%)."
        )
    assert one.text("letter", wording=Wording(language=german)).startswith("Gründe der Entscheidung\n\n")
    (tmp_path / "words.toml").write_text('language = "de.toml"\n')
    assert "3,50" in one.text(wording=Wording.from_toml(tmp_path / "words.toml"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence.found": None, "list.last": None}, "lacks the phrases 'list.last', 'sentence.found'; every phrase"),
        (
            {"sentence.fuond": "x"},
            "has the phrase 'sentence.fuond', which is not known.* Did you mean 'sentence.found'?",
        ),
        ({"list.last": 3}, "has 3 for the phrase 'list.last'; it must be text"),
        (
            {"sentence.change": "{feature}: {after}"},
            r"it needs \{after\} and \{before\} and \{feature\} in braces, and no other",
        ),
        ({"sentence.change": "{feature} {after} {before} {price}"}, "in braces, and no other"),
        ({"sentence.change": "{feature.__class__} {after} {before}"}, "in braces, and no other"),
        ({"sentence.change": "{feature!r} {after} {before}"}, "in braces, and no other"),
        ({"sentence.change": "{feature:>9} {after} {before}"}, "in braces, and no other"),
        ({"sentence.change": "{feature} {after} {before} {}"}, "in braces, and no other"),
        ({"sentence.change": "{feature} {after} {before"}, "in braces, and no other"),
        ({"value.missing": "{text}"}, "it needs no field in braces, and no other"),
    ],
)
def test_a_language_that_lacks_something_is_refused(tmp_path, changes, message):
    with pytest.raises(OptionError, match=message) as caught:
        Wording(language=write_german(tmp_path / "de.toml", **changes))
    assert "\n" not in str(caught.value)


LATER = ("statement", "reason", "note", "rule", "relaxation", "together", "derived")


def test_a_language_written_for_an_older_version_is_in_english_where_it_says_nothing(tmp_path):
    """Reasons and the like grow with nicecf: whole sections of them, or single phrases."""
    english = Wording().phrases
    later = [key for key in english if key.partition(".")[0] in LATER]
    kept = {"reason.no_donor": "kein {target} in {n_rows}, nur {others}", "rule.more": "und {count} weitere"}
    for gone in (later, ["reason.contradicts_derived", "rule.derived"], [key for key in later if key not in kept]):
        phrases = Wording(language=write_german(tmp_path / "de.toml", **(dict.fromkeys(gone) | kept))).phrases
        assert {key: phrases[key] for key in gone if key not in kept} == {
            key: english[key] for key in gone if key not in kept
        }
        assert {key: phrases[key] for key in kept} == kept
        assert phrases["list.last"] == GERMAN["list.last"]
        assert phrases.keys() == english.keys()


def test_phrases_of_english_hold_plain_fields_only():
    for key, phrase in Wording().phrases.items():
        assert phrase, key
        for _, name, spec, conversion in string.Formatter().parse(phrase):
            assert name is None or name.isidentifier()
            assert not spec
            assert not conversion


def test_a_language_or_file_that_is_not_there(tmp_path):
    with pytest.raises(
        OptionError, match="language='klingon' is not known; choose one of 'de', 'en', or pass the path of a .toml"
    ):
        Wording(language="klingon")
    with pytest.raises(OptionError, match="language=3 is not known"):
        Wording(language=3)
    with pytest.raises(OptionError, match="is not known"):
        Wording(language="long" * 1_000)


TOML_READERS = {
    "a language": lambda path: Wording(language=path),
    "a wording": Wording.from_toml,
    "rules": Constraints.from_toml,
}


@pytest.mark.parametrize("read", TOML_READERS.values(), ids=TOML_READERS)
class TestFilesInToml:
    def test_what_is_no_file_is_said_with_a_hint(self, tmp_path, read):
        (tmp_path / "mine.toml").write_text("")
        with pytest.raises(FileError, match="there is no file .*mien.toml. Did you mean 'mine.toml'?"):
            read(tmp_path / "mien.toml")
        with pytest.raises(FileError, match="is a folder; give the path of a file in it"):
            read(tmp_path)
        with pytest.raises(FileError, match="of.toml cannot be read: not a directory"):
            read(tmp_path / "mine.toml" / "of.toml")
        with pytest.raises(OptionError, match="cannot be the path of a file; give it as text without zero bytes"):
            read(f"{tmp_path}/a\0.toml")

    @pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that not even root can read")
    def test_a_file_that_cannot_be_read_is_said(self, read):
        with pytest.raises(FileError, match="/proc/self/mem cannot be read: input/output error"):
            read(Path("/proc/self/mem"))

    @pytest.mark.parametrize("junk", [b"[names", b"\xff\xfe\x00", b"names = ", b"names = " + b"9" * 5_000])
    def test_what_is_no_toml_is_said(self, tmp_path, read, junk):
        (tmp_path / "junk.toml").write_bytes(junk)
        with pytest.raises(OptionError, match="junk.toml is not TOML"):
            read(tmp_path / "junk.toml")

    @pytest.mark.parametrize(
        "deep",
        [
            "names = " + "[" * 20_000,
            "names = " + "[" * 500 + "]" * 500,
            "names = " + "{a=" * 20_000,
            "names" + ".a" * 5_000 + " = 1",
        ],
        ids=["lists", "closed lists", "tables", "dots"],
    )
    def test_what_is_nested_too_deeply_is_said(self, tmp_path, read, deep):
        (tmp_path / "deep.toml").write_text(deep)
        with pytest.raises(OptionError, match="deep.toml is nested more than 20 deep") as caught:
            read(tmp_path / "deep.toml")
        assert len(str(caught.value)) < len(str(tmp_path)) + 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nmaes = {}",
            "has the key 'nmaes', which is not known; choose among 'language', 'names', 'units', 'classes', 'values', 'probabilities', 'regions'. Did you mean 'names'?",
        ),
        ("names = 3", "names must be a dict from features to text, got int"),
        ("classes = ['a']", "classes must be a dict from classes to text, got list"),
        ("names = {a = 3}", "names has 3 for 'a'; pass text that is not empty"),
        ("units = {a = ' '}", "units has ' ' for 'a'; pass text that is not empty"),
        ("units = {a = '{} {}'}", "form with one {} for the number"),
        ("units = {a = '{x}'}", "form with one {} for the number"),
        ("language = 4", "language=4 is not known"),
        ("phrases = {}", "has the key 'phrases'"),
    ],
)
def test_a_wording_file_with_a_mistake(tmp_path, text, message):
    path = tmp_path / "words.toml"
    path.write_text(text)
    with pytest.raises(OptionError, match=re.escape(message)) as caught:
        Wording.from_toml(path)
    assert str(path) in str(caught.value)


def test_a_wording_of_what_is_not_there():
    nice, X = small()
    cfs = nice.explain(X)
    with pytest.raises(
        OptionError,
        match="names of the wording refers to the feature 'hoem', which does not exist; choose among 'late_payments', 'home'. Did you mean 'home'?",
    ):
        cfs.texts(wording=Wording(names={"hoem": "x"}))
    with pytest.raises(OptionError, match="units of the wording refers to the feature 'age'"):
        cfs[0].text(wording=Wording(units={"age": "x"}))
    with pytest.raises(OptionError, match="classes of the wording refers to the class 'deny'.*'denied'"):
        cfs[0].text("letter", wording=Wording(classes={"deny": "x"}))
    with pytest.raises(OptionError, match="wording must be a nicecf.Wording, or None, got dict"):
        cfs.texts(wording={"names": {}})


def test_a_wording_is_frozen_and_holds_copies():
    names = {"a": "b"}
    wording = Wording(names=names)
    names["a"] = "c"
    assert wording.name("a") == "b"
    assert wording == Wording(names={"a": "b"})
    assert pickle.loads(pickle.dumps(wording)) == wording
    with pytest.raises(AttributeError):
        wording.language = "de"


def test_nothing_that_a_terminal_obeys_is_printed():
    X = pd.DataFrame({"k\x1b[31m": ["\x1b[2J", "\u202eevil"]}, index=["a\x1b", "b"])
    model = lambda X: np.column_stack([X.iloc[:, 0] == "\x1b[2J", X.iloc[:, 0] != "\x1b[2J"]).astype(float)
    cfs = NICE(model, classes=["n\x1b", "y"]).fit(X, ["n\x1b", "y"]).explain(X[:1])
    for printed in (repr(cfs), repr(cfs[0]), repr(cfs.summary()), str(cfs[0].changes[0]), cfs[0].text()):
        assert "\x1b" not in printed
        assert "\u202e" not in printed


def test_a_feature_that_is_called_like_a_class_has_its_name_in_reasons():
    X = pd.DataFrame({"income": [0.0, 1.0], "age": [0.0, 0.0]})
    model = lambda X: np.column_stack([1 - X["income"], X["income"]])
    nice = NICE(model, classes=["age", "income"], constraints=Constraints(immutable=["income"])).fit(
        X, ["age", "income"]
    )
    said = nice.explain(X[:1])[0].text(wording=Wording(names={"income": "gross pay"}))
    assert "gross pay may not change" in said
