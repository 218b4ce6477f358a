"""Regions in words, records and pictures: "at least 680", and what is said is true."""

from __future__ import annotations

import json
import pickle
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
    assert "100 % with" in text
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


def test_days_are_since_and_until():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 1000, 500)
    X = pd.DataFrame({"opened": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"), "other": rng.random(500)})

    def since(frame):
        return np.column_stack([(frame.opened - pd.Timestamp("2020-01-01")).dt.days, frame.other])

    model = make_pipeline(FunctionTransformer(since), DecisionTreeClassifier(max_depth=1)).fit(X, days < 400)
    nice = NICE(model, constraints=Constraints(immutable=["other"])).fit(X, days < 400)
    cfs = nice.explain(X[days > 600].head(1), progress=False)
    text = cfs[0].text(wording=REGIONS)
    low, high = cfs.boxes().low[0], cfs.boxes().high[0]
    assert f"between {low:%Y-%m-%d} and {high:%Y-%m-%d} instead of" in text
    assert cfs[0].check_text(text, wording=REGIONS)
    wider = text.replace(f"{high:%Y-%m-%d}", "2021-05-01", 1)
    assert [one.kind for one in cfs[0].check_text(wider, wording=REGIONS).problems] == ["region"]


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
