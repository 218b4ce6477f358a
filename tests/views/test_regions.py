"""Regions in words, records and pictures: "at least 680", and what is said is true."""

from __future__ import annotations

import json
import pickle
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE, Constraints, Wording, replay
from nicecf.exceptions import OptionError
from nicecf.views.plots.data.changes import Categories, Numbers, changes_of

REGIONS = Wording(regions=True)


@pytest.fixture(scope="module")
def loans():
    """Approved from a score of 680 on, with a home that is owned or free, at a rate of at most 6.1."""
    scores, rates = [*range(500, 800, 20), 679], [*np.arange(30, 120, 8) / 10, 6.1, 6.2]
    every = list(product(scores, rates, ["own", "rent", "free"]))
    X = pd.DataFrame(every, columns=["credit_score", "rate", "home"])
    y = np.where((X.credit_score >= 680) & (X.rate <= 6.1) & (X.home != "rent"), "approved", "denied")
    steps = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(random_state=0)).fit(X, y)
    row = pd.DataFrame({"credit_score": [591], "rate": [11.0], "home": ["rent"]})
    nice = NICE(model).fit(X, y)
    return nice, nice.explain(row, target_class="approved", progress=False)


def test_a_sentence_says_at_least_and_at_most(loans):
    _, cfs = loans
    text = cfs[0].text(wording=REGIONS)
    assert "credit score were at least 680 instead of 591" in text
    assert "rate were at most 6.1 instead of 11.0" in text
    assert "home were own or free instead of rent" in text or "home were free or own instead of rent" in text
    # The probability is that of one point, which is named.
    assert "100 % (with" in text
    assert str(cfs[0].to_frame().credit_score[0]) in text
    assert "at least" not in cfs[0].text()


def test_in_german(loans):
    _, cfs = loans
    text = cfs[0].text(wording=Wording(language="de", regions=True, units={"rate": "{} %"}))
    assert "mindestens 680 statt 591" in text
    assert "höchstens 6,1 % statt 11,0 %" in text
    assert " oder " in text


def test_bullets_analysts_and_letters_say_so_too(loans):
    _, cfs = loans
    assert "- credit score: at least 680 instead of 591" in cfs[0].text("bullets", wording=REGIONS)
    assert "credit score: 591 -> at least 680" in cfs[0].text("analyst", wording=REGIONS)
    letter = cfs[0].letter(wording=REGIONS)
    assert "- credit score: at least 680 instead of 591" in letter
    assert cfs[0].check_text(letter, wording=REGIONS)


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_a_text_says_of_a_region_is_read_back_and_tested(loans, language):
    _, cfs = loans
    wording = Wording(language=language, regions=True)
    for style in ("sentence", "bullets", "letter"):
        assert cfs[0].check_text(cfs[0].text(style, wording=wording), wording=wording), style


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("at least 680", "at least 650"),
        ("at least 680", "at most 700"),
        ("at least 680", "between 660 and 700"),
        ("at most 6.1", "at most 7.4"),
    ],
)
def test_a_region_that_is_too_wide_is_a_problem(loans, right, wrong):
    _, cfs = loans
    text = cfs[0].text(wording=REGIONS)
    assert right in text
    checked = cfs[0].check_text(text.replace(right, wrong), wording=REGIONS)
    assert "region" in [one.kind for one in checked.problems] or "still" in [one.kind for one in checked.problems]


@pytest.mark.parametrize("narrow", ["at least 700", "between 690 and 750"])
def test_a_narrower_region_is_true_as_well(loans, narrow):
    _, cfs = loans
    text = cfs[0].text(wording=REGIONS)
    assert cfs[0].check_text(text.replace("at least 680", narrow), wording=REGIONS)


def test_a_category_that_does_not_do_is_a_problem(loans):
    _, cfs = loans
    text = cfs[0].text(wording=REGIONS)
    said = "own or free" if "own or free" in text else "free or own"
    checked = cfs[0].check_text(text.replace(said, "own or rent"), wording=REGIONS)
    assert [one.kind for one in checked.problems] == ["region"]
    assert "home is rent" in str(checked)


def opened(unit):
    """No from the 400th day on, by a date or, with hours, by a date with a time."""
    rng = np.random.default_rng(0)
    days = rng.integers(0, 1000, 500)
    moments = pd.to_timedelta(days, unit="D") + pd.to_timedelta(rng.integers(0, 24, 500) * (unit == "h"), unit="h")
    X = pd.DataFrame({"opened": pd.Timestamp("2020-01-01") + moments, "other": rng.random(500)})

    def since(frame):
        return np.column_stack([(frame.opened - pd.Timestamp("2020-01-01")).dt.total_seconds(), frame.other])

    model = make_pipeline(FunctionTransformer(since), DecisionTreeClassifier(max_depth=1)).fit(X, days < 400)
    nice = NICE(model, constraints=Constraints(immutable=["other"])).fit(X, days < 400)
    return nice.explain(X[days > 600].head(1), progress=False)


@pytest.mark.parametrize(("unit", "style"), [("D", "%Y-%m-%d"), ("h", "%Y-%m-%d %H:%M")])
def test_days_that_others_tell_are_since_and_until(unit, style):
    cfs = opened(unit)
    text = cfs[0].text(wording=REGIONS)
    box = cfs.boxes()
    low, high, after = (f"{end:{style}}" for end in (box.low[0], box.high[0], box.after[0]))
    # No box of dates is proven: our own text tells the new one alone.
    assert f"opened were {after} instead of" in text
    assert cfs[0].check_text(text, wording=REGIONS)
    assert cfs[0].check_text(text.replace(after, f"between {low} and {high}"), wording=REGIONS)
    assert cfs[0].check_text(text.replace(after, f"{high} or earlier"), wording=REGIONS)
    for wider in (f"between {low} and 2021-05-01 13:30:15", f"{low} or later", "2021-05-01 or earlier"):
        checked = cfs[0].check_text(text.replace(after, wider), wording=REGIONS)
        assert [one.kind for one in checked.problems] == ["region"], wider


def test_a_time_of_day_belongs_to_its_date():
    cfs = opened("h")
    text = cfs[0].text(wording=Wording(language="de", regions=True))
    after = f"{cfs.boxes().after[0]:%d.%m.%Y %H:%M}"
    (day, _), high = after.split(), cfs.boxes().high[0]
    before = f"{high:%d.%m.%Y} 00:00 oder früher"
    assert cfs[0].check_text(text.replace(after, before), wording=Wording(language="de", regions=True))
    unread = f"{day} 25:00 oder früher"  # no time, and not the day without it either
    assert not cfs[0].check_text(text.replace(after, unread), wording=Wording(language="de", regions=True))


def test_a_duration_keeps_its_value():
    rng = np.random.default_rng(0)
    days = rng.integers(1, 400, 500)
    X = pd.DataFrame({"waited": pd.to_timedelta(days, unit="D")})
    model = make_pipeline(
        FunctionTransformer(lambda frame: frame.waited.dt.days.to_numpy()[:, None]), DecisionTreeClassifier()
    ).fit(X, days > 200)
    cfs = NICE(model).fit(X, days > 200).explain(X[days < 100].head(1), progress=False)
    assert cfs.boxes().high[0] > cfs.boxes().low[0]
    for language in ("en", "de"):
        wording = Wording(language=language, regions=True)
        assert cfs[0].text(wording=wording) == cfs[0].text(wording=Wording(language=language))
        assert cfs[0].check_text(cfs[0].text(wording=wording), wording=wording)


def test_numbers_that_are_only_checked_keep_the_new_value():
    rng = np.random.default_rng(0)
    ages, homes = rng.choice([20, 25, 30, 35, 50, 60, 70], 300), rng.choice(["own", "free", "rent"], 300)
    X = pd.DataFrame({"age": ages, "home": homes})

    def model(frame):
        """Between 52 and 58, which no training row has, the answer is another one."""
        p = ((frame.age >= 50) & ~frame.age.between(52, 58) & (frame.home != "rent")).to_numpy(dtype=float)
        return np.column_stack([1 - p, p])

    y = (X.age >= 50) & (X.home != "rent")
    rows = pd.DataFrame({"age": [35], "home": ["rent"]})
    cfs = NICE(model).fit(X, y.astype(int)).explain(rows, target_class=1, progress=False)
    boxes = cfs.boxes().set_index("feature")
    assert set(boxes.proof) == {"checked"}
    assert boxes.low["age"] < boxes.high["age"]
    text, after = cfs[0].text(wording=REGIONS), boxes.after["age"]
    assert f"age were {after} instead of 35" in text
    assert "home were own or free" in text or "home were free or own" in text
    assert cfs[0].check_text(text, wording=REGIONS)
    by_name = {panel.step.feature: panel.spread for panel in changes_of(cfs[0], REGIONS).panels}
    assert by_name["age"].region is None
    assert by_name["home"].region
    assert f"between {boxes.low['age']}" not in str(cfs[0].letter(wording=REGIONS))


def test_of_many_categories_the_new_one_stands_for_all():
    names = [f"town {letter}" for letter in "abcdefgh"]
    X = pd.DataFrame({"town": names * 20})
    y = X.town.to_numpy() != "town a"
    model = make_pipeline(OneHotEncoder(), DecisionTreeClassifier()).fit(X, y)
    cfs = NICE(model).fit(X, y).explain(X.head(1), progress=False)
    assert len(cfs.boxes()["values"][0]) == 7
    assert cfs[0].text(wording=REGIONS) == cfs[0].text()


REGION = re.compile(
    r"(?P<name>[ab]) were (?:at least (?P<least>[-\d.,]+)|at most (?P<most>[-\d.,]+)"
    r"|between (?P<low>[-\d.,]+) and (?P<high>[-\d.,]+)|(?P<point>[-\d.,]+)) instead"
)


def said_ends(text):
    """From where to where each feature may be, as a sentence says it; for an open end far away."""
    found = {}
    for one in REGION.finditer(text):
        said = {name: float(part.replace(",", "")) for name, part in one.groupdict().items() if part and name != "name"}
        point = said.get("point")
        low = said.get("low", said.get("least", -1e6 if point is None else point))
        found[one["name"]] = (low, said.get("high", said.get("most", 1e6 if point is None else point)))
    return found


def test_what_is_printed_is_true_at_its_printed_ends():
    n_open = 0
    for seed in range(0, 8, 2):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"a": rng.normal(0, 1000, 300), "b": rng.normal(0, 1, 300)})
        y = ((np.sin(X.a / 300) + X.b) > 0.3).astype(int)
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        cfs = NICE(model, optimize="proximity", min_probability=0.55).fit(X, y).explain(X.head(25), progress=False)
        for one in cfs:
            if not one.found or not one.batch.n_changes[0]:
                continue
            text = one.text(wording=REGIONS)
            ends = said_ends(text)
            assert set(ends) == {change.feature for change in one.changes}
            for corner in product(*ends.values()):
                point = one.to_frame()
                point[list(ends)] = corner
                assert model.predict_proba(point)[0, one.predicted_after] >= 0.55, text
            n_open += any(1e6 in map(abs, pair) for pair in ends.values())
            for word in re.findall(r"\d\.\d+", text):
                assert len(word) < 9, text
            for feature, value in zip(ends, examples(text, list(ends)), strict=False):
                assert ends[feature][0] <= value <= ends[feature][1], text
            assert one.check_text(text, wording=REGIONS)
    assert n_open > 20


def examples(text, features):
    """The point that a probability is told of."""
    (said,) = re.findall(r"% \(with ([^)]*)\)", text) or [""]
    if said and len(features) == 1:
        return [float(said.replace(",", ""))]
    named = {name: re.search(rf"\b{name} ([-\d.,]*\d)", said) for name in features}
    return [float(one[1].replace(",", "")) if one else np.nan for one in named.values()]


def test_of_several_regions_the_example_names_the_features(loans):
    _, cfs = loans
    values = cfs[0].to_frame().iloc[0]
    text = cfs[0].text(wording=Wording(regions=True, units={"rate": "{} %"}, values={"home": {"own": "owned"}}))
    home = "owned" if values.home == "own" else values.home
    for example in (f"credit score {values.credit_score}", f"rate {values.rate:.1f} %", f"home {home}"):
        assert example in text.partition("100 % (with ")[2]


def test_a_record_with_boxes_is_made_again(loans):
    nice, cfs = loans
    assert "boxes" not in cfs[0].to_record()
    record = json.loads(json.dumps(cfs.to_records(boxes=True)[0]))
    assert {"feature": "credit_score", "low": 680, "high": None, "proof": "proven"} in record["boxes"]
    assert replay(record, nice).is_same
    home = next(one for one in record["boxes"] if one["feature"] == "home")
    assert set(home["values"]) == {"own", "free"}
    next(one for one in record["boxes"] if one["feature"] == "credit_score")["low"] = 650
    again = replay(record, nice)
    assert any("low: 650 in the record, 680 now" in one for one in again.differences)


def test_a_picture_has_a_band_where_it_is_asked_for(loans):
    _, cfs = loans
    shown, plain = changes_of(cfs[0], REGIONS), changes_of(cfs[0])
    by_name = {panel.step.feature: panel.spread for panel in shown.panels}
    assert by_name["credit score"].region == (680.0, np.inf)
    assert isinstance(by_name["home"], Categories)
    assert {by_name["home"].bars[at].label for at in by_name["home"].region} == {"own", "free"}
    assert all(panel.spread.region in (None, ()) for panel in plain.panels)
    assert isinstance(by_name["rate"], Numbers)
    pytest.importorskip("matplotlib")
    for dark in (False, True):
        assert cfs[0].plot(dark=dark, wording=REGIONS).figure is not None


def test_a_pickled_result_has_nobody_to_ask(loans):
    _, cfs = loans
    one = pickle.loads(pickle.dumps(cfs))[0]
    with pytest.raises(OptionError, match="does not hold"):
        one.text(wording=REGIONS)
    assert "at least" not in repr(cfs.worded(REGIONS)[0])  # which never asks the model


def test_it_is_yes_or_no():
    with pytest.raises(OptionError, match="regions must be True or False, got 'yes'"):
        Wording(regions="yes")


def test_a_wording_file_may_ask_for_it(tmp_path, loans):
    path = tmp_path / "words.toml"
    path.write_text("regions = true\n")
    _, cfs = loans
    assert "at least 680" in cfs[0].text(wording=Wording.from_toml(path))


def test_a_linear_model_with_a_scaler_in_words():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"score": rng.integers(300, 850, 500), "rate": rng.normal(8, 3, 500).round(2)})
    y = (X.score - 40 * X.rate + rng.normal(0, 30, 500) > 250).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    cfs = NICE(model).fit(X, y).explain(X[model.predict(X) == 0].head(8), target_class=1, progress=False)
    for one in cfs:
        text = one.text(wording=REGIONS)
        assert "at least" in text or "at most" in text
        assert one.check_text(text, wording=REGIONS)


def fruit():
    """Yes where five numbers all lie between 40 and 60."""
    rng = np.random.default_rng(0)
    names = ["apples", "berries", "cherries", "dates", "elders"]
    X = pd.DataFrame(rng.integers(0, 100, (1500, 5)), columns=names)
    X.iloc[:1000] = rng.integers(35, 66, (1000, 5))
    y = ((X >= 40) & (X <= 60)).all(axis=1).astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    row = pd.DataFrame([[5] * 5], columns=names)
    return NICE(model).fit(X, y).explain(row, target_class=1, progress=False)[0]


def test_any_of_many_regions_that_is_too_wide_is_a_problem():
    one = fruit()
    text = one.text(wording=REGIONS)
    assert one.check_text(text, wording=REGIONS)
    for feature in one.boxes().feature:
        wider = re.sub(rf"{feature} were between (\d+) and \d+", rf"{feature} were between \1 and 90", text)
        assert wider != text
        (problem,) = one.check_text(wider, wording=REGIONS).problems
        assert problem.kind == "region"
        # From the first region that the text has to the last, told in its order.
        said = [part[0] for part in re.finditer(r"between \d+ and \d+", wider)]
        assert problem.message.startswith(", ".join(said))
        assert wider[problem.start : problem.end].startswith(said[0])
        assert wider[problem.start : problem.end].endswith(said[-1])
