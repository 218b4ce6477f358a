"""Ordered categories all the way: rules, guards, files, records, pickles, texts, plots and tables."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from nicecf import NICE, Constraints, FileError, OptionError, baselines, plots, replay, suggest_rules
from nicecf.exceptions import SchemaError
from nicecf.results.records import digest_of
from nicecf.testing import assert_same
from nicecf.views.plots.data.changes import changes_of
from saved_files import assert_comes_back, forge, saved

RATINGS = ["C", "B", "BB", "A", "AA"]
ORDERED = pd.CategoricalDtype(RATINGS, ordered=True)


def book(n_rows=200, seed=0, *, missing=0.1):
    """Loans with an ordered rating, of which the lowest is never held."""
    random = np.random.default_rng(seed)
    ratings = np.array(RATINGS[1:], dtype=object)[random.integers(0, 4, n_rows)]
    ratings[random.random(n_rows) < missing] = None
    return pd.DataFrame(
        {
            "rating": pd.Categorical(ratings, dtype=ORDERED),
            "income": random.choice(np.arange(1.0, 4.1, 0.25), n_rows),
            "home": pd.Categorical(random.choice(["own", "rent"], n_rows), ["own", "rent"]),
        },
        index=[f"loan {at}" for at in range(n_rows)],
    )


def says(X):
    """Approved by points for the rating, the income and the home."""
    X = X.to_pandas() if isinstance(X, pl.DataFrame) else X
    codes = pd.Categorical(X["rating"], dtype=ORDERED).codes
    points = np.where(codes < 0, 0.3, codes) + X["income"].to_numpy() + (X["home"] == "own").to_numpy() - 4.4
    yes = 1 / (1 + np.exp(-points))
    return np.column_stack([1 - yes, yes])


X, ROWS = book(), book(40, seed=1)
Y = says(X).argmax(axis=1)


def denied(rows):
    return rows[says(rows).argmax(axis=1) == 0]


def ranks(cells):
    return pd.Categorical(cells, dtype=ORDERED).codes


SEARCHES = {
    "greedy": {"search": "greedy"},
    "mixed": {},
    "one donor": {"mix_donors": False},
    "balanced": {"optimize": "balanced"},
    "plausibility": {"optimize": "plausibility", "search": "greedy"},
    "no row": {"share_donor": False},
    "few values": {"min_count": 5},
}


@pytest.mark.deep
@pytest.mark.parametrize("name", SEARCHES)
def test_cells_and_dtypes_are_kept_and_answers_come_back_from_a_file(name, tmp_path):
    nice = NICE(says, **SEARCHES[name]).fit(X, Y)
    cfs = nice.explain(ROWS)
    found = cfs.to_frame()
    assert cfs.found.mean() > 0.9
    assert (found.dtypes == X.dtypes).all()
    assert found.index.equals(ROWS.index)
    is_valid = says(found[cfs.found]).argmax(axis=1) != says(ROWS[cfs.found]).argmax(axis=1)
    assert is_valid.all()
    if name != "no row":  # what a guard refuses is a function, which a pickle cannot hold
        assert_same(cfs, pickle.loads(pickle.dumps(nice)).explain(ROWS))
    assert_comes_back(nice, tmp_path, ROWS)


def test_an_enum_of_polars_goes_by_rank(tmp_path):
    frame = pl.DataFrame(
        {
            "rating": pl.Series(X["rating"].astype(object).where(X["rating"].notna(), None).tolist(), dtype=pl.Enum(RATINGS)),
            "income": X["income"].to_numpy(),
            "home": X["home"].astype(object).tolist(),
        }
    )  # fmt: skip
    nice, of_pandas = NICE(says).fit(frame, Y), NICE(says).fit(X, Y)
    cfs, same = nice.explain(frame[:30]), of_pandas.explain(X.iloc[:30])
    assert cfs.to_frame()["rating"].to_list() == [None if pd.isna(one) else one for one in same.to_frame()["rating"]]
    assert cfs.metrics()["proximity"].tolist() == same.metrics()["proximity"].tolist()
    assert cfs.to_frame().schema == frame.schema
    assert_comes_back(nice, tmp_path, frame[:30])
    only_up = nice.explain(frame[:30], constraints=Constraints(increasing=["rating"]))
    assert (ranks(only_up.to_frame()["rating"].to_list()) >= ranks(frame["rating"][:30].to_list()))[only_up.found].all()
    overlap = NICE(says, ordinal="overlap").fit(frame, Y)
    assert overlap.explain(frame[:30], constraints=Constraints(increasing=["rating"])).found.any()
    assert_comes_back(overlap, tmp_path, frame[:30])


def test_a_file_of_before_means_overlap(tmp_path):
    nice = NICE(says, ordinal="overlap").fit(X, Y)
    path = saved(nice, tmp_path)

    def of_before(manifest, members):
        del manifest["options"]["ordinal"]
        del manifest["described"]["ordinal"]
        for column in manifest["table"]["columns"]:
            del column["is_ordinal"]

    old = NICE.load(forge(path, tmp_path, of_before), model=says)
    assert old.ordinal == "overlap"
    assert_same(old.explain(ROWS), nice.explain(ROWS))
    record = old.explain(ROWS)[0].to_record()
    del record["options"]["ordinal"]
    record["digest"] = digest_of(record)
    assert replay(record, old).is_same


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (lambda m, f: m["options"].update(ordinal="overlap"), "ordinal"),
        (lambda m, f: m["table"]["columns"][0].update(is_ordinal=False), "does not match|cannot have|no training row"),
        (lambda m, f: m["table"]["columns"][2].update(is_ordinal=True), "column 'home' has no order"),
        (lambda m, f: m["table"]["columns"][1].update(is_ordinal=True), "a numeric column has categories"),
        (lambda m, f: m["scales"].__setitem__(0, 2.0), "the scale of column 'rating' is 2"),
    ],
)  # fmt: skip
def test_a_file_that_lies_about_an_order_is_refused(lie, message, tmp_path):
    path = saved(NICE(says).fit(X, Y), tmp_path)
    with pytest.raises(FileError, match=message):
        NICE.load(forge(path, tmp_path, lie), model=says)


def test_records_are_replayed():
    nice = NICE(says).fit(X, Y)
    for one in nice.explain(ROWS)[:8]:
        record = one.to_record()
        assert replay(record, nice).differences == ()
    overlap = NICE(says, ordinal="overlap").fit(X, Y)
    record = nice.explain(ROWS)[0].to_record()
    assert any("ordinal" in one for one in replay(record, overlap).differences)
    assert overlap._fitted.fingerprints == nice._fitted.fingerprints


def test_another_search_and_rows_of_other_dtypes():
    nice = NICE(says).fit(X, Y)
    greedy = nice.with_search(search="greedy")
    assert greedy.ordinal == "rank"
    assert_same(greedy.explain(ROWS), NICE(says, search="greedy").fit(X, Y).explain(ROWS))
    text = ROWS.assign(rating=ROWS["rating"].astype(object))
    cfs = nice.explain(text)
    assert cfs.to_frame()["rating"].dtype == object
    assert cfs.metrics().equals(nice.explain(ROWS).metrics())
    with pytest.raises(SchemaError, match="holds 'AAA'"):
        nice.explain(text.assign(rating="AAA"))


def test_rules_go_by_the_order_of_the_dtype():
    rows = denied(ROWS)
    nice = NICE(says).fit(X, Y)
    before = ranks(rows["rating"])

    def after(**rules):
        cfs = nice.explain(rows, constraints=Constraints(**rules))
        return ranks(cfs.to_frame()["rating"]), cfs.found & (ranks(cfs.to_frame()["rating"]) != before)

    up, changed = after(increasing=["rating"], immutable=["income"])
    assert changed.any()
    assert (up > before)[changed].all()
    assert (before >= 0)[changed].all()
    new, changed = after(ranges={"rating": ("A", None)}, immutable=["income"])
    assert changed.any()
    assert (new >= 3)[changed].all()
    new, changed = after(ranges={"rating": ("B", "A")}, immutable=["income"])
    assert changed.any()
    assert (new <= 3)[changed].all()
    assert (new >= 0)[changed].all()
    new, changed = after(allowed={"rating": ["AA", None]}, immutable=["income"])
    assert changed.any()
    assert np.isin(new, [4, -1])[changed].all()
    new, changed = after(forbid={"rating": [("B", "AA"), (None, "A"), (None, "AA")]}, immutable=["income"])
    assert changed.any()
    assert not ((before == 1) & (new == 4))[changed].any()
    assert not ((before == -1) & (new >= 3))[changed].any()
    new, changed = after(may_become_missing=False)
    assert (new >= 0)[changed].all()
    new, changed = after(increasing={"rating": ["AA", "A", "BB", "B", "C"]}, immutable=["income"])
    assert not (new > before)[changed].any()
    cfs = nice.explain(rows, constraints=Constraints(relations=["income < 3 implies rating == 'A'"]))
    frame = cfs.to_frame()[cfs.found]
    assert len(frame)
    assert ((frame["rating"] == "A") | (frame["income"] >= 3)).all()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"ranges": {"rating": ("BBB", None)}}, "the range of 'rating' has the bound 'BBB', which is not one of its levels, from low to high 'C', 'B', 'BB'.* Did you mean 'BB'?"),
        ({"ranges": {"rating": ("A", "B")}}, "the range of 'rating' is empty: its low bound 'A' is above its high bound 'B' in the order of its levels"),
        ({"ranges": {"rating": ([1, 2], None)}}, "the range of 'rating', an ordered category, has bounds for each row"),
        ({"ranges": {"income": ("high", None)}}, "has a bound that is not a number: 'high'"),
        ({"ranges": {"home": ("own", None)}}, "ranges names 'home', which is categorical; use allowed"),
        ({"step": {"rating": 1}}, "step names 'rating', which is categorical"),
    ],
)  # fmt: skip
def test_rules_that_do_not_fit_an_order(rules, message):
    nice = NICE(says).fit(X, Y)
    with pytest.raises(OptionError, match=message):
        nice.explain(ROWS.iloc[:2], constraints=Constraints(**rules))


def test_bounds_that_are_levels_are_merged_only_if_they_do_not_compete():
    low, high = Constraints(ranges={"rating": ("B", None)}), Constraints(ranges={"rating": (None, "A")})
    assert (low & high).ranges == {"rating": ("B", "A")}
    with pytest.raises(
        OptionError, match="two rules have a bound on the same side for the levels of 'rating'. Give one"
    ):
        low & Constraints(ranges={"rating": ("BB", None)})
    sheet = pd.DataFrame({"feature": ["rating", "income"], "low": ["B", "2"], "high": ["A", "4"]})
    assert Constraints.from_frame(sheet).ranges == {"rating": ("B", "A"), "income": (2.0, 4.0)}


def test_a_rule_that_blocks_is_named_and_relaxed():
    row = denied(X[X["rating"].notna() & (X["income"] == 1.0)]).iloc[:3]
    nice = NICE(says).fit(X, Y)
    rules = Constraints(decreasing=["rating"], immutable=["income", "home"])
    cfs = nice.explain(row, constraints=rules)
    assert not cfs.found.any()
    assert all("rating" in reason for reason in cfs.reasons)
    assert all(one is not None for one in cfs.relaxations)
    ranged = nice.explain(row, constraints=Constraints(ranges={"rating": (None, "B")}, immutable=["income", "home"]))
    assert not ranged.found.any()
    assert all("'rating' may only change to at most B" in reason for reason in ranged.reasons)


def test_columns_that_follow_from_an_order_and_groups():
    own = X.assign(steps=X["rating"].cat.codes.where(X["rating"].notna(), np.nan).astype(float), word=X["rating"])
    own["word"] = own["word"].cat.rename_categories({one: f"rated {one}" for one in RATINGS})
    rules = Constraints(groups="auto")
    model = lambda X: says(X)
    nice = NICE(model, constraints=rules).fit(own, Y)
    cfs = nice.explain(own.iloc[:30])
    frame = cfs.to_frame()[cfs.found]
    assert (frame["steps"].fillna(-1) == frame["rating"].cat.codes).all()
    assert (frame["word"].cat.codes == frame["rating"].cat.codes).all()
    assert frame["word"].dtype == own["word"].dtype
    lower = lambda table: table["rating"]
    derived = Constraints(derived={"word": lower})
    twice = X.assign(word=X["rating"])
    frame = NICE(model, constraints=derived).fit(twice, Y).explain(twice.iloc[:30]).to_frame()
    assert (frame["word"].cat.codes == frame["rating"].cat.codes).all()
    assert suggest_rules(own, Y) is not None


@pytest.mark.parametrize("encoder", [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder(encoded_missing_value=-7)])
def test_trees_are_read_behind_an_encoder(encoder, tmp_path):
    prepare = make_column_transformer((encoder, ["rating", "home"]), remainder="passthrough")
    forest = make_pipeline(prepare, RandomForestClassifier(20, random_state=0)).fit(X, Y)
    for accelerate in (True, False):
        nice = NICE(forest, accelerate=accelerate).fit(X, Y)
        cfs = nice.explain(ROWS)
        assert (forest.predict(cfs.to_frame()) != forest.predict(ROWS))[cfs.found].all()
        if accelerate:
            fast = cfs
            assert_comes_back(nice, tmp_path, ROWS)
    assert_same(fast, cfs)


def test_texts_plots_and_tables_name_levels():
    nice = NICE(says, optimize="proximity").fit(X, Y)
    cfs = nice.explain(ROWS, constraints=Constraints(immutable=["income", "home"]))
    changed = [one for one in cfs if one.found and one.changes and one.changes[0].after is not None]
    assert changed
    for one in changed[:10]:
        assert f"rating were {one.changes[0].after} instead of" in one.text()
        assert one.changes[0].after in one.text("letter")
    lost = list(nice.explain(ROWS[ROWS["rating"].isna()], constraints=Constraints(immutable=["income"])))
    for one in [*changed[:3], *(one for one in lost if one.found)][:6]:
        for draw in (plots.changes, plots.walk, lambda one: plots.regions(one, features=("income", "rating"))):
            draw(one)
    plots.frequencies(cfs)
    assert "rating" in cfs.to_html()
    groups = cfs.summary(by="rating").groups.query("predicted == 1")["group"].dropna().tolist()
    assert groups == [one for one in RATINGS if one in groups]


def test_a_letter_says_which_level_would_have_done():
    rows = denied(ROWS[ROWS["rating"].isin(["B", "BB"])])
    cfs = NICE(says).fit(X, Y).explain(rows, constraints=Constraints(immutable=["income", "home"]))
    letters = [one.text("letter") for one in cfs if one.found]
    assert letters
    assert all(re.search(r"^- rating: (BB|A|AA) instead of (B|BB)$", letter, re.M) for letter in letters)


def test_bars_of_levels_stand_in_their_order():
    one = next(
        one
        for one in NICE(says).fit(X, Y).explain(ROWS, constraints=Constraints(immutable=["income", "home"]))
        if one.found
    )
    panel = changes_of(one).panels[0]
    shown = [bar.label for bar in panel.spread.bars if bar.label in RATINGS]
    assert shown == [level for level in RATINGS if level in shown]
    assert len(shown) > 2


def test_free_text_is_not_what_has_an_order():
    names = [f"name {at}" for at in range(120)]
    wide = pd.DataFrame({"rank": pd.Categorical(names, names, ordered=True), "n": np.arange(120.0)})
    nice = NICE(lambda X: np.eye(2)[(X["n"] > 50).to_numpy().astype(int)]).fit(wide, (wide["n"] > 50).astype(int))
    assert not nice._fitted.schema.columns[0].is_free_text
    assert nice._fitted.distance.scales[0] == 119


def test_baselines_keep_the_published_overlap():
    for method in (baselines.WIT, baselines.SEDC, baselines.CBR, baselines.GeCo):
        fitted = method(says).fit(X, Y)._fitted
        assert not fitted.schema.is_ordinal.any()
        assert fitted.distance.scales[0] == 0
