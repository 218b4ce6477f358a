"""Columns that follow from others, and columns that are one change: in everything that people see."""

import json
import pickle
import re
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import nicecf
from nicecf import NICE, Constraints, OptionError, Wording
from nicecf.cli import explain as cli_explain
from nicecf.cli import main
from nicecf.support.formats import percent
from nicecf.views import exported_table
from nicecf.views.documents.document import NOTHING
from nicecf.views.plots.data.changes import changes_of
from nicecf.views.plots.data.common import Step
from nicecf.views.plots.data.frequencies import frequencies_of
from nicecf.views.plots.data.pareto import pareto_of
from nicecf.views.plots.data.regions import regions_of
from nicecf.views.plots.data.variants import Cell, variants_of
from nicecf.views.plots.data.walk import walk_of
from nicecf.views.words.rounding import formatted_numbers

RULES = Constraints(derived={"burden": "round(debt * 12 / income, 2)"}, groups="auto")


def loans():
    """The burden follows from debt and income; the purpose has a column for each category."""
    kinds = [(40_000, 800, "tv"), (60_000, 800, "car"), (40_000, 800, "home"), (60_000, 400, "tv")]
    income, debt, purpose = (np.array(column * 15) for column in zip(*kinds, strict=True))
    return pd.DataFrame(
        {
            "burden": (debt * 12 / income).round(2),
            "income": income,
            "debt": debt,
            "for_car": (purpose == "car").astype(int),
            "for_tv": (purpose == "tv").astype(int),
            "for_home": (purpose == "home").astype(int),
            "age": np.arange(20, 80),
        }
    )


class Burden:
    """A low burden is worth 0.16, not to buy a television 0.3."""

    classes_ = np.array(["denied", "approved"])

    def predict_proba(self, X):
        p = 0.9 - 2 * np.asarray(X["burden"], dtype=float) - 0.3 * np.asarray(X["for_tv"], dtype=float)
        p = p.clip(0.01, 0.99)
        return np.column_stack([1 - p, p])


def explained(rows=None, rules=RULES, model=None, X=None, **options):
    X, model = loans() if X is None else X, Burden() if model is None else model
    y = model.classes_[model.predict_proba(X).argmax(axis=1)]
    fixed = Constraints(immutable=["age"]) if "age" in X else Constraints()
    nice = NICE(model, **({"search": "greedy"} | options), constraints=rules & fixed).fit(X, y)
    return nice.explain(X.iloc[[0]] if rows is None else rows)


@pytest.fixture(scope="module")
def cfs():
    """A television on an income of 40000: neither another purpose nor a higher income is enough."""
    return explained()


# --- texts -----------------------------------------------------------------------------------------------------------

TEXTS = {
    "sentence": "If for were car instead of tv and income were 60,000 instead of 40,000, which makes burden 0.16 "
    "instead of 0.24, the model would say approved instead of denied: the probability of approved would be 58 % instead of 12 %.",
    "bullets": """\
The model says denied: the probability of approved is 12 %. With these 2 changes together it would be 58 %, and the model would say approved:
- for: car instead of tv
- income: 60,000 instead of 40,000
- which makes burden 0.16 instead of 0.24""",
    "analyst": """\
denied -> approved; P(approved) 12 % -> 58 %; 2 changes, 2 steps, distance 2; donor: training row 1
1. for tv: 1 -> 0 | step 1: P(approved) 42 % | 25 % of the distance
1. for car: 0 -> 1 | step 1: P(approved) 42 % | 25 % of the distance
2. income: 40,000 -> 60,000 | step 2: P(approved) 58 % | 50 % of the distance
=> burden: 0.24 -> 0.16 | follows from the above""",
    "letter": """\
One way to a different decision

We used a computer model to assess the information that we hold about you. Its decision is: denied.

With everything else unchanged, the decision would have been "approved" if these 2 points together had been different:
- for: car instead of tv
- income: 60,000 instead of 40,000
This would have made burden 0.16 instead of 0.24.

This is one way to a different decision. It is not a list of the reasons for the decision, and it is not a promise: \
other changes can lead to a different decision as well, and a new assessment uses the information and the model of \
its own time.""",
}


@pytest.mark.parametrize("style", TEXTS)
def test_what_follows_is_said_once_after_the_changes_and_not_counted(cfs, style):
    assert cfs[0].text(style) == TEXTS[style]


def test_several_columns_that_follow_are_said_together():
    X = loans().assign(yearly=lambda X: X["debt"] * 12)
    X.loc[3::4, ["for_tv", "for_home"]] = [0, 1]
    rules = Constraints(derived={"yearly": "debt * 12", "burden": "round(yearly / income, 2)"}, groups="auto")
    row = X.iloc[[2]].assign(income=30_000, burden=0.32)
    one = explained(row, rules & Constraints(immutable=["income"]), X=X)[0]
    assert one.text() == (
        "If debt were 400 instead of 800, which makes burden 0.16 instead of 0.32 and yearly 4,800 instead of 9,600, the "
        "model would say approved instead of denied: the probability of approved would be 58 % instead of 26 %."
    )
    assert "1 change, 1 step" in one.text("analyst")
    letter = one.text("letter", wording=Wording(names={"yearly": "what you pay a year"}, units={"yearly": "EUR"}))
    made = (
        "\nThis would have made burden 0.16 instead of 0.32 and what you pay a year 4,800 EUR instead of 9,600 EUR.\n"
    )
    assert made in letter


def test_one_category_over_several_columns_is_one_change():
    cfs = explained(loans().iloc[[0]].assign(income=60_000, burden=0.16))
    assert cfs.batch.n_changes.tolist() == [1]
    assert cfs[0].text("bullets") == (
        "The model says denied: the probability of approved is 28 %. With this change it would be 58 %, and the model would say approved:\n- for: car instead of tv"
    )
    assert "if this had been different:\n- for: car instead of tv\n\n" in cfs[0].text("letter")


def test_a_category_over_several_columns_is_said_by_its_columns_where_they_have_names_of_their_own():
    cfs = explained(loans().iloc[[0]].assign(income=60_000, burden=0.16))
    assert (
        cfs[0]
        .text("bullets", wording=Wording(names={"for_car": "to buy a car"}))
        .endswith("\n- for tv: 0 instead of 1, to buy a car: 1 instead of 0")
    )


def test_without_such_columns_nothing_is_said_of_them():
    cfs = explained(rules=Constraints())
    assert "derived" not in cfs.changes()
    for style in TEXTS:
        assert not re.search("which makes|follows|Calculated|This would", cfs[0].text(style))


class Interplay:
    """A low burden is worth little alone, and more than age with it."""

    classes_ = np.array(["denied", "approved"])

    def predict_proba(self, X):
        is_low, is_old = np.asarray(X["burden"] < 0.2), np.asarray(X["years"] > 30)
        p = 0.3 + 0.1 * is_old + 0.05 * is_low + 0.12 * (is_old & is_low)
        return np.column_stack([1 - p, p])


def test_a_step_is_not_worth_less_because_something_follows_from_it():
    X = loans()[["burden", "income", "debt"]].assign(years=[20, 40] * 30)
    one = explained(rules=Constraints(derived={"burden": "round(debt * 12 / income, 2)"}), model=Interplay(), X=X)[0]
    assert [each.step for each in one.changes if not each.derived] == [1, 2]
    assert one.text().startswith("If income were 60,000 instead of 40,000 and years were 40 instead of 20, which makes")


class Cheap(Burden):
    """Wants a low debt."""

    def predict_proba(self, X):
        p = np.where(X["debt"] < 500, 0.8, 0.3)
        return np.column_stack([1 - p, p])


class Detour(Interplay):
    """Either alone makes it worse."""

    def predict_proba(self, X):
        is_low, is_old = np.asarray(X["burden"] < 0.2), np.asarray(X["years"] > 30)
        p = 0.3 - 0.1 * is_old - 0.05 * is_low + 0.5 * (is_old & is_low)
        return np.column_stack([1 - p, p])


def test_a_change_that_makes_it_worse_is_said_before_what_follows():
    X = loans()[["burden", "income", "debt"]].assign(years=[20, 40] * 30)
    one = explained(rules=Constraints(derived={"burden": "round(debt * 12 / income, 2)"}), model=Detour(), X=X)[0]
    assert one.text().startswith(
        "If years were 40 instead of 20 and income were 60,000 instead of 40,000, which makes burden 0.16 instead of"
    )


class Both:
    """Another purpose is worth more than a high limit, but less than twice as much."""

    classes_ = np.array(["denied", "approved"])

    def predict_proba(self, X):
        p = 0.1 + 0.3 * np.asarray(X["for_tv"] == 0) + 0.2 * np.asarray(X["limit"] > 5)
        return np.column_stack([1 - p, p])


def test_a_change_is_not_worth_less_because_it_has_several_columns():
    X = loans()[["for_car", "for_tv", "for_home"]].assign(limit=[1, 9] * 30)
    one = explained(rules=Constraints(groups="auto"), model=Both(), X=X)[0]
    assert one.text().startswith("If for were car instead of tv and limit were 9 instead of 1, the model")


def test_changes_of_one_feature_in_several_rows_are_not_one():
    cfs = explained(loans().iloc[[0, 4]], rules=Constraints(), optimize="none")
    assert [text.count("\n") for text in cfs.texts("bullets")] == cfs.batch.n_changes.tolist()
    cfs = explained(loans().iloc[[0, 4]].assign(income=60_000, burden=0.16))
    assert [text.count("\n") for text in cfs.texts("bullets")] == [1, 1]


def test_what_follows_may_be_a_category_and_is_quoted_where_it_would_be_misread():
    X = loans()[["income", "debt"]]
    X["class"] = np.where(X["income"] > 50_000, "low", "high, which makes")

    class ByClass(Burden):
        def predict_proba(self, X):
            p = np.where(X["class"] == "low", 0.8, 0.3)
            return np.column_stack([1 - p, p])

    rules = Constraints(derived={"class": lambda X: np.where(X["income"] > 50_000, "low", "high, which makes")})
    assert explained(rules=rules, model=ByClass(), X=X)[0].text() == (
        'If income were 60,000 instead of 40,000, which makes class low instead of "high, which makes", the model would '
        "say approved instead of denied: the probability of approved would be 80 % instead of 30 %."
    )


def test_a_category_that_reads_like_what_joins_it_is_quoted_in_any_language(tmp_path):
    english = (Path(nicecf.__file__).parent / "support" / "phrases" / "en.toml").read_text("utf-8")
    path = tmp_path / "de.toml"
    path.write_text(english.replace("{changes}, which makes {derived}", "{changes} macht {derived}"), "utf-8")
    X = loans()[["income", "debt"]]
    X["class"] = name = np.where(X["income"] > 50_000, "low", "das macht ja")
    rules = Constraints(derived={"class": lambda X: np.where(X["income"] > 50_000, "low", "das macht ja")})
    model = lambda X: np.column_stack([X["class"] != "low", X["class"] == "low"]).astype(float)
    one = NICE(model, constraints=rules, search="greedy").fit(X, (name == "low").astype(int)).explain(X.iloc[[0]])[0]
    assert 'instead of 40,000 macht class low instead of "das macht ja"' in one.text(wording=Wording(language=path))


# --- numbers ---------------------------------------------------------------------------------------------------------


def measured(n=300):
    """Numbers with all digits; the tenfold has more of them than what it follows from is shown with."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.uniform(2, 8, n), "b": random.normal(40, 9, n)})
    return X.assign(tenfold=(10 * X["a"]).round(3), ratio=X["b"] / X["a"], size=sized(X))


def sized(X):
    return np.where(np.asarray(X["a"], dtype=float) > 5.003, "large", "small")


MEASURED = Constraints(derived={"tenfold": "round(10 * a, 3)", "ratio": "b / a", "size": sized})


class Smooth:
    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        score = X["tenfold"] / 9 - X["ratio"] / 40 + X["b"] / 8 + 2.0 * (X["size"] == "large") - 9.5
        p = expit(np.asarray(score, dtype=float))
        return np.column_stack([1 - p, p])


def told(text):
    """What a sentence says of each column after the change, and of the decision."""
    changes, label, chance = re.fullmatch(
        r"If (.+), the model would say (\w+) instead of .+ would be (.+ %) instead of .+", text
    ).groups()
    return dict(re.findall(r"(\w+) (?:were )?(\S+) instead of", changes)), label, chance


@pytest.fixture(scope="module")
def smooth():
    X = measured()
    return explained(X.iloc[:120], MEASURED, Smooth(), X, search=None, optimize="proximity")


def test_what_is_shown_is_true_together(smooth):
    """The inputs as shown make what is shown of the others, and the model says of all of it what the text says."""
    X, texts, moved = measured().iloc[:120], smooth.texts(), 0
    for i, text in enumerate(texts):
        after, label, chance = told(text)
        row = X.iloc[[i]].copy()
        for name in {"a", "b"} & set(after):
            row[name] = float(after[name])
        a, b = float(row["a"].iloc[0]), float(row["b"].iloc[0])
        follows = {"tenfold": round(10 * a, 3), "ratio": b / a}
        for name in set(follows) & set(after):
            places = len(after[name].partition(".")[2])
            assert after[name] == f"{follows[name]:.{places}f}"
            moved += after[name] != f"{smooth.to_frame()[name].iloc[i]:.{places}f}"
        if "size" in after:
            assert after["size"] == sized(row)[0]
        for whole in (row.assign(**follows, size=sized(row)), row.assign(**{**follows, **_floats(after)})):
            probabilities = Smooth().predict_proba(whole)[0]
            assert (Smooth.classes_[probabilities.argmax()], percent(probabilities.max())) == (label, chance)
    assert moved > 60  # what is shown does not follow from digits that are not shown


def _floats(after):
    return {name: value if name == "size" else float(value) for name, value in after.items()}


def test_most_numbers_that_follow_are_as_short_as_their_column(smooth):
    lengths = [len(told(text)[0].get("ratio", "").partition(".")[2]) for text in smooth.texts()]
    assert np.mean(np.array(lengths) <= 2) > 0.9


def nearly_five(size):
    """From 4.4 or less to 5.004, which would be 5.00 in the digits of its column."""
    X = measured()
    X = pd.concat([X[X["a"] < 4.4], X[X["a"] > 4.4][:1].assign(a=5.004)], ignore_index=True)
    return X.assign(tenfold=(10 * X["a"]).round(3), ratio=X["b"] / X["a"], size=size(X))


def graded(X):
    a = np.asarray(X["a"], dtype=float)
    return np.select([a > 5.003, a > 4.3], ["large", "medium"], "small")


class Fives(Smooth):
    def predict_proba(self, X):
        p = np.where(X["a"] > 4.9, 0.8, 0.3)
        return np.column_stack([1 - p, p])


@pytest.mark.parametrize("size", [sized, graded])
def test_numbers_get_more_digits_where_something_else_would_follow_from_fewer(size):
    """5.00 is enough for the model; but small as the row is, or medium, and not large."""
    X = nearly_five(size)
    row = X[X["a"] < 4.3].iloc[[0]]
    after, label, _ = told(
        explained(row, Constraints(derived={**MEASURED.derived, "size": size}), Fives(), X)[0].text()
    )
    assert (after["a"], after["size"], after["tenfold"], label) == ("5.004", "large", "50.040", "yes")


def test_what_follows_gets_more_digits_where_the_model_would_say_something_else_of_fewer():
    """20 / 30 is in the target, and so is 0.6667; 0.67 is not."""
    X = pd.DataFrame({"a": [30.0, 40, 50, 31, 7] * 12, "b": [27.0, 33, 13, 19, 2] * 12})
    X = pd.concat([X, pd.DataFrame({"a": [30.0], "b": [20.0]})], ignore_index=True)
    X["ratio"] = X["b"] / X["a"]

    class Narrow(Smooth):
        def predict_proba(self, X):
            p = np.where(np.abs(X["ratio"] - 0.66665) < 0.0001, 0.8, 0.3)
            return np.column_stack([1 - p, p])

    text = explained(rules=Constraints(derived={"ratio": "b / a"}), model=Narrow(), X=X)[0].text()
    assert "If b were 20 instead of 27, which makes ratio 0.6667 instead of 0.9000, the model would say yes" in text


def test_without_a_model_to_ask_all_digits_are_shown(smooth):
    kept = pickle.loads(pickle.dumps(smooth[:5]))
    for text, one in zip(kept.texts(), kept, strict=True):
        after, _, _ = told(text)
        for change in one.changes:
            if change.feature != "size":
                assert float(after[change.feature]) == change.after
    numbers = formatted_numbers(smooth.batch.take(np.arange(5)), ask=False)
    assert [one and one.after for one in numbers] == [one and one.after for one in formatted_numbers(kept.batch)]


# --- lists and pages -------------------------------------------------------------------------------------------------


def test_a_listing_has_what_follows_last_and_without_a_step(cfs):
    assert str(cfs[0]).split("\n\n")[1] == (
        "feature  before  after  P(approved)\n"
        "for_car  0       1      42 %\n"
        "for_tv   1       0      42 %\n"
        "income   40000   60000  58 %\n"
        "burden   0.24    0.16   follows"
    )
    assert str(cfs).splitlines()[0].endswith("2.0 changes on average")
    assert str(cfs).endswith("income: 40000 -> 60000, burden: 0.24 -> 0.16 (follows)")
    assert [str(one) for one in cfs[0].changes if one.derived] == ["burden: 0.24 -> 0.16 (follows)"]


def test_a_notebook_marks_what_is_to_be_changed_and_not_what_follows(cfs):
    one, many = cfs[0]._repr_html_(), cfs._repr_html_()
    for html in (one, many):
        assert re.search(r"<mark[^>]*>60000</mark>", html)
        assert not re.search(r"<mark[^>]*>0.16</mark>", html)
    assert re.search(r">burden</td><td[^>]*>0.24</td><td[^>]*>0.16</td><td[^>]*>follows</td>", one)
    assert re.search(r"burden: 0.24 &rarr; 0.16 <span[^>]*>\(follows\)</span>", many)


def test_a_notebook_counts_the_changes_that_it_folds(monkeypatch):
    from nicecf.views import notebook

    monkeypatch.setattr(notebook, "_CHANGES_IN_A_SENTENCE", 1)
    for shown, title in ((2, "1 more change"), (3, "What follows")):
        monkeypatch.setattr(notebook, "_CHANGES_SHOWN", shown)
        html = explained()[0]._repr_html_()
        assert "With 2 changes together, the model would say" in html
        assert f">{title}</summary>" in html


def test_a_report_has_what_follows_in_its_table_and_nowhere_among_the_changes(cfs):
    html = cfs.to_html(wording=Wording(names={"burden": "the <burden>"}))
    assert "<b>2</b><span>number of changes</span>" in html
    assert f'<td class="n"><span class="soft">follows</span></td><td class="n">{NOTHING}</td>' in html
    (row,) = re.findall(r'<details class="row changed"><summary>.*?</summary>', html, re.DOTALL)
    assert "income" in row
    assert "burden" not in row
    (changes,) = re.findall("<h2>What changes</h2>.*?</section>", html, re.DOTALL)
    assert "Not counted, since it follows from the others: the &lt;burden&gt;." in changes
    assert changes.count("burden") == 1


def test_a_summary_counts_changes_and_leaves_out_what_follows(cfs):
    summary = cfs.summary()
    assert summary.groups["mean_changes"].tolist() == [2.0]
    assert sorted(summary.features["feature"]) == ["age", "debt", "for_car", "for_home", "for_tv", "income"]
    assert summary.features["distance_share"].sum() == pytest.approx(1.0)
    assert summary.note == "Columns that follow from others are not counted: 'burden'."
    for text in (repr(summary), repr(cfs.summary(by="debt")), summary._repr_html_()):
        assert "3 features never change." in text
        assert text.count("burden") == 1


def test_a_table_for_a_file_tells_what_follows_and_is_put_into_words_again(cfs):
    frame = exported_table.table(cfs.batch)
    assert frame["n_changes"].tolist() == [2]
    changes, said = (json.loads(frame[name][0]) for name in ("changes", "said"))
    assert [one["feature"] for one in changes] == ["for_tv", "for_car", "income", "burden"]
    assert [one.get("derived") for one in changes] == [None, None, None, True]
    assert [one.get("together") for one in said] == [None, True, None, None]
    twice = Constraints(derived={"yearly": "debt * 12", "burden": "round(yearly / income, 2)"}, immutable=["income"])
    several = explained(rules=twice, X=loans().assign(yearly=lambda X: X["debt"] * 12), model=Cheap())
    (said,) = map(json.loads, exported_table.table(several.batch)["said"])
    assert len(said) == 3
    assert not any("together" in one for one in said)
    (outcome,) = exported_table.read_outcomes(frame, "a file")
    for style in ("sentence", "bullets", "letter"):
        assert outcome.restyled(style) == TEXTS[style]


def test_the_command_line_counts_and_shows_the_same(cfs, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    options = Namespace(n=1, out="-", report=None, records=None, letters=None)
    told = cli_explain._told(cfs, options)
    assert "2.0 on average; most often" in told
    assert "burden" not in told
    path = tmp_path / "out.csv"
    exported_table.table(cfs.batch).to_csv(path, index=False)
    for arguments, expected in (([], "burden 0.24 → 0.16 (follows)"), (["0"], r"burden\s+0.24\s+0.16\s+follows\n")):
        assert main(["show", str(path), *arguments]) == 0
        assert re.search(expected if arguments else re.escape(expected), capsys.readouterr().out)


# --- pictures --------------------------------------------------------------------------------------------------------

FOLLOWS = Step("burden", "0.24", "0.16", is_derived=True)


def test_changes_are_drawn_before_what_follows_from_them(cfs):
    shown = changes_of(cfs[0])
    assert [panel.step.feature for panel in shown.panels] == ["for tv", "for car", "income", "burden"]
    assert shown.panels[-1].step == FOLLOWS
    assert "burden 0.24 → 0.16 (follows). The decision" in shown.caption.alt


def test_what_there_is_no_room_for_is_named_and_only_changes_are_counted(cfs, monkeypatch):
    from nicecf.views.plots.data import changes

    for room, notes in (
        (3, ["… and burden 0.24 → 0.16 (follows)"]),
        (2, ["… and 1 more change: income 40,000 → 60,000", "… and burden 0.24 → 0.16 (follows)"]),
    ):
        monkeypatch.setattr(changes, "_MOST_CHANGES", room)
        assert list(changes_of(cfs[0]).caption.notes) == notes


def test_a_walk_has_no_step_for_what_follows(cfs):
    walk = walk_of(cfs[0])
    assert [[step.feature for step in stop.changes] for stop in walk.stops] == [[], ["for tv", "for car"], ["income"]]
    assert walk.caption.notes == ("At the end: burden 0.24 → 0.16 (follows)",)
    assert walk_of(explained(rules=Constraints())[0]).caption.notes == ()


def test_a_pareto_set_counts_changes():
    words = pareto_of(explained(search="thorough", mix_donors=False)).words
    assert words.startswith("★ chosen: 2 changes")
    assert "burden" not in words


def test_regions_are_not_drawn_over_what_follows_or_one_column_of_a_category(cfs):
    shown = regions_of(cfs[0])
    assert {shown.x.name, shown.y.name} == {"income", "age"}
    assert shown.caption.subtitle == "All other features as in the row; what follows is computed: burden"
    assert shown.caption.notes == (
        "The counterfactual also changes for tv 1 → 0, for car 0 → 1; the regions are those of the row's own values.",
        "age does not change; it is shown since a map needs two features.",
    )
    assert np.unique(shown.decided).tolist() == [0]
    assert shown.probability.max() - shown.probability.min() > 0.1  # 800 in debt weigh less on a higher income
    shown = regions_of(explained(X=loans().drop(columns="age"))[0])
    assert {shown.x.name, shown.y.name} == {"income", "debt"}
    with pytest.raises(OptionError, match=r"'burden' follows from other columns, so it does not vary by itself\."):
        regions_of(cfs[0], ["burden", "income"])


def test_a_row_that_contradicts_itself_is_shown_as_the_model_decided_on_it():
    row = loans().iloc[[1]].assign(burden=0.44)
    cfs = explained(row)
    assert cfs[0].text() == (
        "No counterfactual: the row contradicts itself: 'burden' is 0.44, but 0.16 follows from its other columns."
    )
    assert regions_of(cfs[0]).marks[0].words.endswith(": denied (P(denied) 98 %)")
    wording = Wording(names={"burden": "the share that goes into debts"})
    assert "the share that goes into debts is 0.44, but 0.16 follows" in cfs[0].text(wording=wording)
    assert "Some of the information that we hold does not go together. Please ask us to check it first." in cfs[0].text(
        "letter"
    )


@pytest.mark.parametrize("style", TEXTS)
def test_a_row_that_breaks_a_relation_says_which(style):
    row = loans().iloc[[0]].assign(age=900)
    cfs = explained(row, RULES & Constraints(relations=["age < debt"]))
    told = "the row itself breaks a relation that every counterfactual keeps: age < debt"
    told = "Some of the information that we hold does not go together." if style == "letter" else told
    assert told in cfs[0].text(style)


def test_variants_mark_changes_and_count_them(cfs):
    free = explained(rules=Constraints())[0]
    shown = variants_of({"by rules": cfs[0], "free": free})
    lines = {line.name: line.cells for line in (*shown.lines, *shown.foot)}
    assert lines["burden"] == (Cell("0.24"), Cell("0.16 (follows)"), Cell("0.16", is_changed=True))
    assert lines["for tv"][1] == Cell("0", is_changed=True)
    assert [cell.text for cell in lines["changes"]] == ["", "2", str(len(free.changes))]
    assert "burden" not in shown.caption.alt.partition("free:")[0]


def test_frequencies_leave_out_what_follows(cfs, monkeypatch):
    from nicecf.views.plots.data import frequencies

    shown = frequencies_of(cfs, Wording(names={"burden": "the burden"}))
    assert sorted(line.feature for line in shown.lines) == ["age", "debt", "for car", "for home", "for tv", "income"]
    assert shown.caption.notes == ("Columns that follow from others are not counted: the burden.",)
    assert "burden" not in shown.caption.alt
    monkeypatch.setattr(frequencies, "_FEW", 2)
    shown = frequencies_of(cfs)
    assert sorted(line.feature for line in shown.lines) == ["for car", "for tv", "income"]
    assert shown.folded == "… and 3 that never change"
    assert frequencies_of(explained(rules=Constraints())).caption.notes == ()


def test_changes_of_many_rows_stay_with_their_rows():
    """Whatever is taken out of a batch, each entry has its own changes and what follows from them."""
    X = loans()
    cfs = explained(X)
    denied = np.flatnonzero(cfs.predicted == "denied")
    assert len(denied) > 5
    texts = cfs.texts()
    for i in denied:
        assert cfs[int(i)].text() == texts[i]
        assert ("which makes burden" in texts[i]) == any(one.derived for one in cfs[int(i)].changes)
    backwards = cfs[denied[::-1]]
    assert backwards.texts() == [texts[i] for i in denied[::-1]]
    assert replace(backwards.batch, notes=backwards.batch.notes).n_changes.tolist() == [
        len({("purpose" if c.feature.startswith("for_") else c.feature) for c in one.changes if not c.derived})
        for one in backwards
    ]
