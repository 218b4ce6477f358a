"""The faster twin of a forest: the same answers, confirmed by the model itself."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE, ModelError, OptionError
from nicecf.explain import training
from nicecf.models.twin import TreeTwin
from nicecf.tables.schema import Schema
from nicecf.testing import applicants, assert_same

X, Y = applicants(300)
NUMBERS, CATEGORIES = ["age", "income", "children"], ["home", "city", "guarantor"]


def by_column(*, ignore=True, numbers=None):
    unknown = "ignore" if ignore else "error"
    numbers = make_pipeline(SimpleImputer(), StandardScaler()) if numbers is None else numbers
    return make_column_transformer((OneHotEncoder(handle_unknown=unknown), CATEGORIES), (numbers, NUMBERS))


def dense(X):
    return X.assign(income=X["income"].fillna(1.0), children=X["children"].fillna(0).astype("int64"))


# Every way into a forest: a frame by column, as a whole, without missing values by scalers, an array as it is.
PREPROCESSING = {
    "imputed": (by_column(), X),
    "filled in": (by_column(numbers=SimpleImputer(strategy="median")), X),
    "filled in with a constant": (by_column(numbers=SimpleImputer(strategy="constant", fill_value=-1.0)), X),
    "filled in, and said so": (by_column(numbers=SimpleImputer(add_indicator=True)), X),
    "zeros filled in": (by_column(numbers=SimpleImputer(missing_values=0)), dense(X)),
    "scaled": (by_column(numbers=StandardScaler()), dense(X)),
    "to [-1, 1]": (by_column(numbers=MinMaxScaler((-1, 1), clip=True)), dense(X)),
    "as they are": (by_column(ignore=False, numbers="passthrough"), dense(X)),
    "ordinal": (make_column_transformer((OrdinalEncoder(), CATEGORIES), remainder="drop"), X),
    "one transformer": (OneHotEncoder(handle_unknown="ignore"), X),
    "rare ones together": (make_column_transformer((OneHotEncoder(min_frequency=60), CATEGORIES)), X),
    "one dropped": (make_column_transformer((OneHotEncoder(drop="first"), CATEGORIES)), X),
    "numbers as categories": (make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["age", "home"])), X),
    "twice the same": (
        make_column_transformer(
            (OneHotEncoder(), ["home"]), (OneHotEncoder(drop="first"), ["home"]), (SimpleImputer(), ["age"])
        ),
        X,
    ),
    "by position": (make_column_transformer((OneHotEncoder(), [2, 5]), (SimpleImputer(), [0, 1])), X),
    "by slice": (make_column_transformer((SimpleImputer(), slice("age", "income")), (OneHotEncoder(), slice(5, 6))), X),
    "by mask": (make_column_transformer((SimpleImputer(), [True, True, False, False, False, False])), X),
    "by selector": (
        make_column_transformer(
            (OneHotEncoder(), make_column_selector(dtype_include="category")), (SimpleImputer(), ["age"])
        ),
        X,
    ),
    "what is left": (make_column_transformer((OneHotEncoder(), CATEGORIES), remainder="passthrough"), dense(X)),
    "none": (None, dense(X)[["age", "income", "children"]].to_numpy(dtype=float)),
}


def forest(preprocessing, table, head=RandomForestClassifier):
    head = head(20, random_state=0)
    return (head if preprocessing is None else make_pipeline(preprocessing, head)).fit(table, Y)


@pytest.mark.parametrize("head", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("name", PREPROCESSING)
def test_the_twin_gives_the_same_answers_with_one_call_of_the_model(name, head):
    preprocessing, table = PREPROCESSING[name]
    model = forest(preprocessing, table, head)
    some = table[:40]
    plain = NICE(model, search="greedy", random_state=0).fit(table, Y).explain(some)
    confirmed = NICE(model, search="greedy", accelerate=True).fit(table, Y).explain(some)
    unconfirmed = NICE(model, search="greedy", accelerate="unconfirmed").fit(table, Y).explain(some)
    assert confirmed.model_calls == 1
    assert confirmed.model_rows <= 40 + 40 + 3
    assert unconfirmed.model_calls == 0
    for cfs in (confirmed, unconfirmed):
        assert_same(plain, cfs)
        assert np.array_equal(plain.probability, cfs.probability)


def test_numbers_are_filled_in_without_calling_the_imputer_also_of_a_model_that_was_saved(monkeypatch):
    model = pickle.loads(pickle.dumps(forest(by_column(numbers=SimpleImputer(strategy="median")), X)))
    schema, rows = Schema.of(X, "auto")
    assert np.isnan(rows).any()
    expected = model.predict_proba(X)
    twin = TreeTwin(model, schema)
    monkeypatch.setattr(SimpleImputer, "transform", lambda *_: pytest.fail("it was called"))
    assert np.array_equal(twin(rows, schema), expected)


def test_the_thorough_search_needs_one_call_too():
    model = forest(by_column(), X)
    options = {"search": "thorough", "neighbors": 5, "optimize": "proximity"}
    plain = NICE(model, **options, accelerate=False).fit(X, Y).explain(X[:5])
    fast = NICE(model, **options, accelerate=True).fit(X, Y).explain(X[:5])
    assert_same(plain, fast)
    assert fast.model_calls == 1 < plain.model_calls


def test_the_thorough_search_reads_the_trees_by_itself_and_the_greedy_one_does_not(monkeypatch):
    model = forest(by_column(), X)
    monkeypatch.setattr(training, "_MUCH_SLOWER", np.inf)  # however busy the machine is
    assert NICE(model).fit(X, Y).explain(X[:5]).model_calls == 1
    assert NICE(model, search="greedy").fit(X, Y)._fitted.models.twin is None
    assert NICE(model, optimize="none").fit(X, Y)._fitted.models.twin is None
    assert NICE(model, search="thorough", robust_to=[model]).fit(X, Y)._fitted.models.twin is None
    assert NICE(lambda X: model.predict_proba(X), search="thorough").fit(X, Y)._fitted.models.twin is None
    monkeypatch.setattr(training, "_MUCH_SLOWER", -1.0)  # a row can take no measurable time
    assert not NICE(model, search="thorough").fit(X, Y)._fitted.models.uses_twin


class TestCells:
    """Values that no tree tells apart."""

    def cells(self, model, table):
        schema, rows = Schema.of(table, "auto")
        return TreeTwin(model, schema).cells(rows, schema)

    def test_are_those_between_two_thresholds_whatever_the_scaler(self):
        random = np.random.default_rng(0)
        table = pd.DataFrame(
            {"a": random.normal(size=300), "b": random.normal(size=300), "c": random.choice(["x", "y"], 300)}
        )
        scaled = make_column_transformer((OneHotEncoder(), ["c"]), (StandardScaler(), ["b", "a"]))
        y = (table["a"] - table["b"] + (table["c"] == "x") > 0.3).astype(int)
        model = make_pipeline(scaled, GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0)).fit(
            table, y
        )
        cells = self.cells(model, table)
        assert (cells[:, 2] == -1).all()  # a category is two inputs
        for j, name in enumerate("ab"):
            # Along each feature, the model's answer changes only from one cell to the next.
            order = np.argsort(table[name].to_numpy())
            for _, row in table[:20].iterrows():
                moved = pd.DataFrame([row] * len(table)).assign(**{name: table[name].to_numpy()[order]})
                answers = model.predict_proba(moved.astype(table.dtypes))[:, 1]
                is_same = cells[order][1:, j] == cells[order][:-1, j]
                assert (answers[1:] == answers[:-1])[is_same].all()
            assert 1 < len(np.unique(cells[:, j])) < 40

    def test_are_not_known_of_features_that_are_mixed(self):
        random = np.random.default_rng(0)
        table = random.normal(size=(200, 3))
        model = make_pipeline(PCA(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(table, table[:, 0] > 0)
        assert (self.cells(model, table) == -1).all()

    def test_are_not_known_where_a_step_may_mix_what_one_row_does_not_show(self):
        random = np.random.default_rng(0)
        table = random.normal(size=(200, 3))
        table[0] = 0.0  # of which no product moves
        y = table[:, 0] * table[:, 1] > 0
        for step in (PolynomialFeatures(interaction_only=True, include_bias=False), KNNImputer()):
            model = make_pipeline(step, RandomForestClassifier(10, random_state=0)).fit(table, y)
            assert (self.cells(model, table) == -1).all()
        model = make_pipeline(SimpleImputer(), RandomForestClassifier(10, random_state=0)).fit(table, y)
        assert (self.cells(model, table) >= 0).all()

    def test_are_not_known_of_categories_however_trees_split_them(self):
        random = np.random.default_rng(0)
        table = pd.DataFrame({"a": random.normal(size=400), "c": pd.Categorical(random.choice(list("wxyz"), 400))})
        y = (table["a"] + 2 * table["c"].isin(["x", "z"]) > 1).astype(int)
        model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5, random_state=0).fit(
            table, y
        )
        cells = self.cells(model, table)
        assert (cells[:, 1] == -1).all()
        assert len(np.unique(cells[:, 0])) > 1

    def test_a_narrow_peak_is_found_though_no_near_donor_has_its_value(self):
        random = np.random.default_rng(0)
        table = np.round(random.normal(size=(3000, 3)), 3)
        table[:12, 0] = 0.5005
        y = ((table[:, 0] == 0.5005) | (table[:, 1] > 1)).astype(int)
        model = DecisionTreeClassifier(random_state=0).fit(table, y)
        table[:12, 2] = 40.0  # the model does not mind
        rows = table[(y == 0) & (table[:, 1] < -1) & (table[:, 0] > 0)][:20]
        for accelerate in (False, True):
            nice = NICE(model, search="thorough", optimize="proximity", accelerate=accelerate).fit(table, y)
            assert (nice.explain(rows).to_numpy()[:, 0] == 0.5005).all()


def assert_the_twin_is_right(nice, rows):
    """The twin itself, not the model that overrules it."""
    encoded, schema = nice._fitted.schema.encode(rows)
    assert np.array_equal(nice._fitted.models.twin(encoded, schema), nice.model.predict_proba(schema.decode(encoded)))


def test_categories_that_training_never_saw():
    model = forest(by_column(), X)
    rows = X[:5].assign(city=["Oostende", "Mechelen", "Gent", "Oostende", "Ieper"])
    fast = NICE(model, accelerate=True).fit(X, Y).explain(rows)
    assert_same(NICE(model, accelerate=False).fit(X, Y).explain(rows), fast)
    assert_the_twin_is_right(NICE(model, accelerate=True).fit(X, Y), rows)


def test_what_the_twin_cannot_do_the_model_is_asked_for():
    table = dense(X)
    model = forest(by_column(ignore=False, numbers="passthrough"), table)
    with pytest.raises(ModelError, match="Found unknown categories"):
        NICE(model, accelerate=True).fit(table, Y).explain(table[:5].assign(city="Oostende"))


def test_when_the_model_disagrees_it_is_searched_again_with_the_model(monkeypatch):
    model = forest(by_column(), X)

    def lying(rows, schema):
        return np.roll(model.predict_proba(schema.decode(rows)), 1, axis=1)

    lying.rounding = 1e-12
    monkeypatch.setattr(training, "twin_of", lambda *_: lying)
    plain, fast = (NICE(model, accelerate=how).fit(X, Y).explain(X[:20]) for how in (False, True))
    assert_same(plain, fast)
    assert np.array_equal(plain.probability, fast.probability)


def test_when_the_model_disagrees_about_what_was_found_only(monkeypatch):
    model = forest(by_column(), X)
    rows = X[:20]
    known = {tuple(row) for row in NICE(model).fit(X, Y)._fitted.schema.encode(rows)[0].tolist()}

    def lying(rows, schema):
        answers = model.predict_proba(schema.decode(rows))
        is_hybrid = np.array([tuple(row) not in known for row in rows.tolist()])
        answers[is_hybrid] = np.roll(answers[is_hybrid], 1, axis=1)
        return answers

    lying.rounding = 1e-12
    monkeypatch.setattr(training, "twin_of", lambda *_: lying)
    assert_same(*(NICE(model, accelerate=how).fit(X, Y).explain(rows) for how in (False, True)))


def test_a_model_that_was_trained_again_is_noticed():
    model = forest(by_column(), X)
    explainers = [NICE(model, accelerate=how).fit(X, Y) for how in (True, "unconfirmed")]
    model.fit(X, np.roll(Y, 1))
    for nice in explainers:
        with pytest.raises(ModelError, match="the model is not the one that fit saw"):
            nice.explain(X[:5])


class Cautious(RandomForestClassifier):
    """Adds to what a forest does: no loop over its trees would know."""

    def predict_proba(self, X):
        return super().predict_proba(X) * 0.9 + 0.1 / len(self.classes_)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (make_pipeline(by_column(), LogisticRegression(max_iter=1000)).fit(X, Y), "LogisticRegression is not a known"),
        (make_pipeline(by_column(), Cautious(5, random_state=0)).fit(X, Y), "Cautious is not a known classifier"),
        (
            make_pipeline(by_column(), StandardScaler(with_mean=False), RandomForestClassifier(5, random_state=0)).fit(
                X, Y
            ),
            "it has 2 preprocessing steps in front of it, not one",
        ),
        (lambda X: np.full((len(X), 3), 1 / 3), "function is not a known classifier made of trees"),
    ],
    ids=["another model", "a subclass", "two steps", "a function"],
)
def test_models_without_a_twin_are_an_error_that_says_why(model, reason):
    with pytest.raises(
        OptionError,
        match=f"accelerate has no faster way to the same digits for this .*{reason}.* Leave accelerate=False",
    ):
        NICE(model, accelerate=True).fit(X, Y)


def test_a_twin_that_does_not_answer_as_the_model_is_refused(monkeypatch):
    from nicecf.models import inputs

    monkeypatch.setattr(inputs.Direct, "__call__", lambda self, rows, schema: np.zeros((len(rows), 3)))
    table = PREPROCESSING["none"][1]
    with pytest.raises(OptionError, match="what was read of its trees does not answer as the model does"):
        NICE(forest(None, table), accelerate=True).fit(table, Y)


@pytest.mark.parametrize("value", ["yes", 2])
def test_other_values_are_an_error(value):
    with pytest.raises(OptionError, match="accelerate must be True, False, 'unconfirmed' or None, got"):
        NICE(forest(*PREPROCESSING["none"]), accelerate=value)


def test_frames_whose_columns_stand_in_another_order_than_in_training():
    model = forest(by_column(), X)
    turned = X[X.columns[::-1]]
    plain = NICE(model, accelerate=False).fit(turned, Y).explain(X[:20])
    assert_same(plain, NICE(model, accelerate=True).fit(turned, Y).explain(X[:20]))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_category_is_what_the_model_takes_it_for(missing):
    known = X.astype({"city": object})  # a column of strings would turn None into NaN
    trained = known.assign(city=known["city"].where(np.arange(len(X)) % 5 > 0, np.nan))
    model = forest(by_column(), trained)
    whole = trained["city"].notna().to_numpy()
    rows = X[:20].assign(city=pd.Series([missing] * 20, index=X.index[:20], dtype=object))
    for search in ("greedy", "thorough"):
        plain, fast = (
            NICE(model, search=search, neighbors=None if search == "greedy" else 5, accelerate=accelerate)
            .fit(known[whole], Y[whole])
            .explain(rows)
            for accelerate in (False, True)
        )
        assert_same(plain, fast)
    assert_the_twin_is_right(NICE(model, accelerate=True).fit(known[whole], Y[whole]), rows)


def test_points_of_the_pareto_set_are_confirmed_too(monkeypatch):
    model = forest(by_column(), X)
    asked = []

    def lying(rows, schema):
        answers = model.predict_proba(schema.decode(rows))
        asked.append(len(rows))
        answers[rows[:, 0] == 50] = [1.0, 0.0, 0.0]  # whoever is 50
        return answers

    lying.rounding = 1e-12
    monkeypatch.setattr(training, "twin_of", lambda *_: lying)
    nice = NICE(model, search="thorough", neighbors=10, accelerate=True).fit(X, Y)
    front = nice.explain(X[:10]).pareto()
    assert asked
    assert (model.predict(front.to_frame()) == front.predicted_after).all()


def test_numbers_that_the_forest_would_refuse():
    table = PREPROCESSING["none"][1]
    model = forest(None, table)
    row = table[:1].copy()
    row[0, 0] = 1e39
    for accelerate in (False, True, "unconfirmed"):
        with pytest.raises(ModelError, match="the model raised"):
            NICE(model, accelerate=accelerate).fit(table, Y).explain(row)


def test_a_numpy_bool_is_a_bool():
    table = PREPROCESSING["none"][1]
    cfs = NICE(forest(None, table), accelerate=np.True_).fit(table, Y).explain(table[:5])
    assert cfs.model_calls == 1


def test_an_explainer_with_a_twin_pickles():
    nice = NICE(forest(by_column(), X), accelerate=True).fit(X, Y)
    assert_same(nice.explain(X[:5]), pickle.loads(pickle.dumps(nice)).explain(X[:5]))
