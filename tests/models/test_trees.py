"""Trees that are read answer as the libraries do, to their own precision, and say no where they would not."""

import pickle
import subprocess
import sys
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import sklearn
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version
from xgboost import XGBClassifier, XGBRFClassifier

from nicecf import NICE, ModelError, OptionError
from nicecf.models.scorer import nothing_ahead
from nicecf.models.trees import read
from nicecf.models.trees.ensemble import NotSupported, TreeEnsemble
from nicecf.models.twin import TreeTwin
from nicecf.tables.schema import Schema
from nicecf.testing import assert_same

RNG = np.random.default_rng(0)
N = 300
WHOLE = RNG.integers(0, 6, (N, 4)).astype(float)
HOLES = np.where(RNG.random((N, 4)) < 0.2, np.nan, WHOLE + RNG.normal(size=(N, 4)))
TWO = np.where(WHOLE.sum(axis=1) + RNG.normal(size=N) > 10, "yes", "no")
THREE = np.array(["high", "low", "middle"])[(WHOLE.sum(axis=1) // 7).astype(int) % 3]


def xgb(**options):
    return XGBClassifier(**{"n_estimators": 15, "max_depth": 4, "n_jobs": 1} | options)


def lgbm(**options):
    return LGBMClassifier(**{"n_estimators": 15, "num_leaves": 8, "n_jobs": 1, "verbose": -1} | options)


def cat(**options):
    quiet = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
    return CatBoostClassifier(**{"iterations": 15, "depth": 4, "random_seed": 0} | quiet | options)


def hist(**options):
    return HistGradientBoostingClassifier(**{"max_iter": 15, "random_state": 0, "categorical_features": None} | options)


MODELS = {
    "a decision tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "a forest": RandomForestClassifier(15, random_state=0),
    "extra trees": ExtraTreesClassifier(15, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histograms": hist(),
    "XGBoost": xgb(),
    "XGBoost, several trees at once": xgb(n_estimators=4, num_parallel_tree=3, subsample=0.7),
    "XGBoost from a given score": xgb(base_score=0.3),
    "LightGBM": lgbm(),
    "LightGBM without missing values": lgbm(use_missing=False),
    "LightGBM with zeros missing": lgbm(zero_as_missing=True),
    "LightGBM by DART": lgbm(boosting_type="dart"),
    "a forest of LightGBM": lgbm(boosting_type="rf", subsample=0.6, subsample_freq=1),
    "CatBoost": cat(),
    "CatBoost with NaN above all": cat(nan_mode="Max"),
    "CatBoost leaf by leaf": cat(grow_policy="Lossguide"),
    "CatBoost level by level": cat(grow_policy="Depthwise", nan_mode="Max"),
}
ONLY_TWO = {
    "exponential loss": GradientBoostingClassifier(n_estimators=15, loss="exponential", random_state=0),
    "boosting from zero": GradientBoostingClassifier(n_estimators=15, init="zero", random_state=0),
    "a steep sigmoid": lgbm(sigmoid=2.5),
}
ONLY_THREE = {"one class against all": lgbm(objective="multiclassova", sigmoid=0.7)}
NO_HOLES = {"gradient boosting", "exponential loss", "boosting from zero"}
if parse_version(sklearn.__version__) < parse_version("1.6"):
    NO_HOLES |= {"extra trees"}  # they take missing values since then
CASES = [
    (f"{name}, {n_classes} classes, {kind}", model, kind, n_classes)
    for n_classes, models in ((2, MODELS | ONLY_TWO), (3, MODELS | ONLY_THREE))
    for name, model in models.items()
    for kind in ("whole numbers", "holes")
    if not (kind == "holes" and name in NO_HOLES)
]


def labelled(model, n_classes):
    """The labels: XGBoost takes numbers only."""
    labels = TWO if n_classes == 2 else THREE
    return np.unique(labels, return_inverse=True)[1] if isinstance(model, XGBClassifier) else labels


def at_the_thresholds(table, ensemble):
    """Rows with a number at a threshold of that feature, or next to it on either side, or hardly not zero."""
    nodes = ensemble.nodes
    splits = np.flatnonzero(~nodes.is_leaf & (np.abs(nodes.threshold) < 1e30))  # CatBoost has borders for NaN beyond
    rows = table[RNG.integers(0, len(table), 8 * len(splits))]
    near = nodes.threshold[splits].astype(ensemble.compares_in)
    up, down = (np.nextafter(near, ensemble.compares_in(to)) for to in (np.inf, -np.inf))
    doubles = nodes.threshold[splits]
    values = [
        near,
        up,
        down,
        np.nextafter(doubles, np.inf),
        np.nextafter(doubles, -np.inf),
        -near,
        0 * near,
        near * 0 + 1e-36,
    ]
    rows[np.arange(len(rows)), np.tile(nodes.feature[splits], 8)] = np.concatenate(values)
    return rows


def assert_reads(model, rows):
    """What was read answers as the model does."""
    ensemble = read(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows without names
        expected = model.predict_proba(rows)
    answers = ensemble.probabilities(np.asarray(rows, dtype=float))
    assert answers.shape == expected.shape
    assert np.abs(answers - expected).max() <= (1e-14 if ensemble.adds_in is np.float64 else 2e-7)
    assert np.array_equal(answers.argmax(axis=1), expected.argmax(axis=1))


@pytest.mark.parametrize(("model", "kind", "n_classes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_read_answers_as_the_model_does_also_at_its_thresholds(model, kind, n_classes):
    model = deepcopy(model)  # in old company, LightGBM cannot be trained again on other columns
    table = WHOLE if kind == "whole numbers" else HOLES
    model.fit(table, labelled(model, n_classes))
    rows = np.concatenate([table, at_the_thresholds(table, read(model))])
    assert_reads(model, rows)
    assert_reads(model, rows[:1])


@pytest.mark.parametrize("name", [name for name in MODELS if name not in NO_HOLES])
def test_a_missing_value_where_training_saw_none_goes_where_the_model_sends_it(name):
    model = deepcopy(MODELS[name])
    model.fit(WHOLE, labelled(model, 3))
    assert_reads(model, np.where(RNG.random(WHOLE.shape) < 0.3, np.nan, WHOLE))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("name", ["a forest", "histograms", "XGBoost", "LightGBM", "CatBoost"])
def test_numbers_of_every_width_and_kind(name, dtype):
    model, table = deepcopy(MODELS[name]), ((WHOLE > 2) if dtype == "bool" else WHOLE / 3).astype(dtype)
    model.fit(table, labelled(model, 3))
    schema, rows = Schema.of(table)
    twin = TreeTwin(model, schema)
    some = np.concatenate([rows, rows + RNG.normal(size=rows.shape)])  # numbers that the dtype does not hold, too
    assert np.abs(twin(some, schema) - model.predict_proba(schema.decode(some))).max() <= 2e-7


def test_after_early_stopping_only_the_best_trees_are_asked():
    noise = (TWO == "yes") ^ (RNG.random(N) < 0.3)
    model = xgb(n_estimators=40, early_stopping_rounds=3).fit(
        WHOLE[:200], noise[:200], eval_set=[(WHOLE[200:], noise[200:])], verbose=False
    )
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    assert_reads(model, WHOLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lgbm(n_estimators=40).fit(
            WHOLE[:200],
            noise[:200],
            eval_set=[(WHOLE[200:], noise[200:])],
            callbacks=[early_stopping(3, verbose=False)],
        )
    assert model.best_iteration_ < 40
    assert_reads(model, WHOLE)
    model.booster_.best_iteration = 4
    assert_reads(model, WHOLE)
    assert len(read(model).roots) == 4
    assert_reads(cat(iterations=40).fit(WHOLE[:200], noise[:200], eval_set=(WHOLE[200:], noise[200:])), WHOLE)
    assert_reads(hist(early_stopping=True, n_iter_no_change=2).fit(WHOLE, noise), WHOLE)


# Frames with categories

LEVELS = ["Aalst", "Brugge", "Gent", "Hasselt", "Ieper", "Leuven", "Mechelen"]
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "city": pd.Categorical(RNG.choice(LEVELS, N), LEVELS[::-1]),
        "income": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(30, 8, N)),
        "rooms": pd.Categorical(RNG.choice([10, 20, 30], N)),
        "size": pd.Categorical(RNG.choice(["s", "m", "l"], N), ["s", "m", "l"], ordered=True),
        "owns": RNG.random(N) < 0.5,
    }
)
GAPS = FRAME.assign(city=FRAME["city"].where(RNG.random(N) > 0.1))
LIVES_WELL = (
    FRAME["city"].isin(["Brugge", "Gent", "Leuven"]) ^ FRAME["rooms"].isin([10, 30]) ^ (FRAME["size"] == "m")
).to_numpy() + (FRAME["age"] > 60).to_numpy().astype(int)
NATIVE = {
    "histograms": hist(categorical_features="from_dtype"),
    "XGBoost, sets": xgb(enable_categorical=True, max_cat_to_onehot=1),
    "XGBoost, one category each": xgb(enable_categorical=True, max_cat_to_onehot=20),
    "LightGBM": lgbm(min_data_per_group=5, cat_smooth=1.0),
}


def twin_and(model, table):
    schema, rows = Schema.of(table)
    return TreeTwin(model, schema), schema, rows


def assert_twin(model, table, rows_of=None):
    """The twin answers as the model does, for a table like the one that fit got and for further rows."""
    twin, schema, rows = twin_and(model, table)
    if rows_of is not None:
        rows, schema = schema.encode(rows_of)
    expected = model.predict_proba(schema.decode(rows))
    answers = twin(rows, schema)
    assert np.abs(answers - expected).max() <= max(twin.rounding, 1e-14)
    assert np.array_equal(answers.argmax(axis=1), expected.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", NATIVE)
def test_categories_of_a_frame_are_the_models_own(name, n_classes):
    model = NATIVE[name].fit(GAPS, np.minimum(LIVES_WELL, n_classes - 1))
    assert len(read(model).nodes.sets)
    assert_twin(model, GAPS)
    # The same categories in another order are the same categories.
    turned = GAPS.assign(city=GAPS["city"].cat.reorder_categories(sorted(LEVELS)))
    assert_twin(model, turned)


@pytest.mark.parametrize("name", ["histograms", "LightGBM"])
def test_a_category_that_training_never_saw_is_a_missing_one(name):
    model = NATIVE[name].fit(GAPS, LIVES_WELL)
    assert_twin(model, FRAME, FRAME.assign(city=pd.Categorical(["Oostende", "Gent"] * (N // 2))))


def test_a_category_that_xgboost_refuses_is_for_xgboost_to_refuse():
    model = NATIVE["XGBoost, sets"].fit(FRAME, LIVES_WELL)
    twin, schema, _ = twin_and(model, FRAME)
    rows, schema = schema.encode(FRAME[:2].assign(city=pd.Categorical(["Oostende", "Gent"])))
    with pytest.raises(NotSupported, match="only the model can tell"):
        twin(rows, schema)
    with pytest.raises(ModelError, match="the model raised"):
        NICE(model, accelerate=True).fit(FRAME, LIVES_WELL).explain(
            FRAME[:2].assign(city=pd.Categorical(["Oostende", "Gent"]))
        )


def test_categories_that_are_their_own_codes():
    table = np.column_stack([WHOLE[:, 0], HOLES[:, 1]])
    labels = np.isin(WHOLE[:, 0], [1, 4]).astype(int) ^ (WHOLE[:, 1] > 3)
    others = np.column_stack([RNG.choice([-2.0, -0.5, 0, 1.7, 4, 9, 1e12, np.nan], N), HOLES[:, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = lgbm(min_data_per_group=5, cat_smooth=1.0, cat_l2=1.0, categorical_feature=[0]).fit(table, labels)
        assert len(read(model).nodes.sets)
        assert_reads(model, np.concatenate([table, others]))
    model = hist(categorical_features=[0]).fit(table, labels)
    assert len(read(model).nodes.sets)
    assert_twin(model, table)
    some = np.concatenate([table, others])
    assert_twin(model, table, some)
    model = xgb(feature_types=["c", "q"], enable_categorical=True).fit(table, labels)
    assert len(read(model).nodes.sets)
    assert_reads(model, table)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
def test_catboost_tells_single_categories_apart_by_their_hashes(policy):
    table = FRAME.astype({"city": str, "rooms": int}).drop(columns="size")
    model = cat(cat_features=["city", "rooms"], one_hot_max_size=20, grow_policy=policy).fit(table, LIVES_WELL)
    named = pd.DataFrame(table).astype({"city": "category", "rooms": "category"})
    assert len(read(model).nodes.sets)
    assert_twin(model, named)
    assert_twin(model, table)  # a column of text, and whole numbers that are categories of the model only
    twin, schema, _ = twin_and(model, named)
    with pytest.raises(NotSupported, match="only the model can tell"):
        twin(*schema.encode(named[:2].assign(city=pd.Categorical([None, "Gent"]))))
    assert_twin(model, named, named.assign(city=pd.Categorical(["Oostende", "Gent"] * (N // 2))))


def test_a_category_that_catboost_writes_in_its_own_way_is_left_to_it():
    table = FRAME[["age", "owns"]]
    model = cat(cat_features=["owns"]).fit(table, FRAME["owns"] ^ (FRAME["age"] > 40))
    twin, schema, rows = twin_and(model, table)
    with pytest.raises(NotSupported, match="only the model can tell"):
        twin(rows, schema)


def test_a_column_that_no_split_asks_for_may_hold_anything():
    table = pd.DataFrame({"a": WHOLE[:, 0], "name": ["x"] * N})
    model = cat(cat_features=["name"], iterations=5).fit(table, TWO)
    assert_twin(model, table)


@pytest.mark.parametrize("name", ["histograms", "XGBoost"])
def test_a_polars_frame_of_numbers(name):
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(HOLES.astype(np.float32), schema=list("abcd"))
    assert_twin(deepcopy(MODELS[name]).fit(table, labelled(MODELS[name], 3)), table)


def test_categories_that_a_forest_takes_for_numbers_are_decoded():
    table = FRAME[["age", "rooms"]]
    assert_twin(RandomForestClassifier(5, random_state=0).fit(table, LIVES_WELL), table)


# Behind a preprocessing step


@pytest.mark.parametrize("sparse", [0.0, 1.0], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["a forest", "gradient boosting", "XGBoost", "LightGBM", "CatBoost"])
def test_behind_a_column_transformer(name, sparse):
    table = FRAME.fillna({"income": 1.0}).assign(children=WHOLE[:, 0])
    before = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city", "rooms"]),
        (StandardScaler(), ["age", "income"]),
        ("passthrough", ["children", "owns"]),
        sparse_threshold=sparse,
    )
    model = make_pipeline(before, deepcopy(MODELS[name])).fit(table, LIVES_WELL)
    assert_twin(model, table)
    assert_twin(model, table, table.assign(city=pd.Categorical(["Oostende", "Gent"] * (N // 2))))


def test_what_a_sparse_matrix_leaves_out_is_missing_for_xgboost():
    table = FRAME[["city", "rooms"]]
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), xgb()).fit(table, LIVES_WELL)
    assert_twin(model, table)


@pytest.mark.parametrize(
    "head", [hist(categorical_features=[0, 1]), lgbm(categorical_feature=[0, 1], min_data_per_group=5)]
)
def test_codes_of_an_encoder_can_be_categories_of_the_model(head):
    before = make_column_transformer((OrdinalEncoder(), ["city", "rooms"]), remainder="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = make_pipeline(before, head).fit(FRAME, LIVES_WELL)
        assert len(read(model[-1]).nodes.sets)
        assert_twin(model, FRAME)


def test_a_scaler_in_single_precision_is_called_itself():
    table = pd.DataFrame(HOLES.astype(np.float32), columns=list("abcd")).fillna(0.1)
    model = make_pipeline(make_column_transformer((StandardScaler(), list("abcd"))), lgbm()).fit(table, THREE)
    twin, schema, rows = twin_and(model, table)
    scaled = model[0].transform(table).astype(float)
    assert np.array_equal(twin._inputs(rows, schema), scaled)


# What cannot be read right


class Renamed(XGBClassifier):
    pass


def cats_with_ctrs():
    table = FRAME[["age", "city"]].astype({"city": str})
    return cat(cat_features=["city"], one_hot_max_size=2).fit(table, LIVES_WELL)


def letters_beyond_ascii():
    table = FRAME[["city"]].assign(city=FRAME["city"].cat.rename_categories({"Gent": "Liège"}))
    return xgb(enable_categorical=True).fit(table, LIVES_WELL)


REFUSED = {
    "letters": (letters_beyond_ascii, "categories with letters beyond ASCII"),
    "dart": (lambda: xgb(booster="dart").fit(WHOLE, TWO == "yes"), "its booster is 'dart', not 'gbtree'"),
    "gblinear": (lambda: xgb(booster="gblinear", max_depth=None).fit(WHOLE, TWO == "yes"), "its booster is 'gblinear'"),
    "hinge": (
        lambda: xgb(objective="binary:hinge").fit(WHOLE, TWO == "yes"),
        "its objective is 'binary:hinge', not one of",
    ),
    "missing": (lambda: xgb(missing=0.0).fit(WHOLE, TWO == "yes"), "missing=0.0 stands for a missing value"),
    "vectors": (
        lambda: xgb(multi_strategy="multi_output_tree").fit(WHOLE, WHOLE[:, 0].astype(int)),
        "its trees have several outputs",
    ),
    "a subclass": (lambda: Renamed(n_estimators=2).fit(WHOLE, TWO == "yes"), "Renamed is not a known classifier"),
    "XGBRF": (lambda: XGBRFClassifier(n_estimators=2).fit(WHOLE, TWO == "yes"), "is not XGBoost's XGBClassifier"),
    "linear trees": (lambda: lgbm(linear_tree=True).fit(WHOLE, TWO), "its leaves hold linear models"),
    "custom": (
        lambda: lgbm(objective=lambda y, p: (p - y, np.ones_like(p))).fit(WHOLE, TWO == "yes"),
        "its objective is 'custom', not one of",
    ),
    "a regressor": (
        lambda: LGBMRegressor(n_estimators=2, n_jobs=1, verbose=-1).fit(WHOLE, WHOLE[:, 0]),
        "is not LightGBM's LGBMClassifier",
    ),
    "CTRs": (cats_with_ctrs, "statistics of the target"),
    "ova": (
        lambda: cat(loss_function="MultiClassOneVsAll").fit(WHOLE, THREE),
        "its loss is 'MultiClassOneVsAll', not one of",
    ),
    "init": (
        lambda: GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()).fit(WHOLE, TWO),
        "its boosting starts from another model",
    ),
    "outputs": (
        lambda: RandomForestClassifier(2).fit(WHOLE, np.column_stack([TWO, THREE])),
        "the forest has several outputs",
    ),
    "a line": (
        lambda: LogisticRegression(max_iter=1000).fit(WHOLE, TWO),
        "LogisticRegression is not a known classifier",
    ),
}


@pytest.mark.parametrize(("build", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_right_is_refused_with_its_reason(build, reason):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build()
    with pytest.raises(NotSupported, match=reason):
        read(model)


def test_accelerate_says_why_it_cannot_and_what_it_can():
    model = xgb(booster="dart").fit(WHOLE, labelled(xgb(), 2))
    with pytest.raises(
        OptionError,
        match="for this XGBClassifier: its booster is 'dart', not 'gbtree'. It reads the random forests, .* CatBoost",
    ):
        NICE(model, accelerate=True).fit(WHOLE, labelled(xgb(), 2))


def test_rows_that_the_model_refuses_are_not_answered():
    model = GradientBoostingClassifier(n_estimators=3).fit(WHOLE, TWO)
    with pytest.raises(NotSupported, match="it takes no missing values"):
        read(model).probabilities(HOLES)
    with pytest.raises(NotSupported, match="a number that single precision cannot hold"):
        read(model).probabilities(WHOLE * 1e39)
    with pytest.raises(NotSupported, match="its trees have 4 inputs, but the rows have 3"):
        read(model).probabilities(WHOLE[:, :3])


def test_no_rows_have_no_probabilities():
    assert read(lgbm().fit(WHOLE, THREE)).probabilities(WHOLE[:0]).shape == (0, 3)
    assert read(lgbm().fit(WHOLE, TWO)).leaves(WHOLE[:0]).shape == (15, 0)


@pytest.mark.parametrize("model", [xgb(gamma=1e9), lgbm(min_child_samples=N), hist(min_samples_leaf=N)])
def test_trees_may_be_a_single_leaf(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert_reads(model.fit(WHOLE, labelled(model, 3)), WHOLE)
    assert not read(model).is_used.any()


def test_leaves_are_those_that_the_library_names():
    model = RandomForestClassifier(5, random_state=0).fit(WHOLE, TWO)
    ensemble = read(model)
    assert np.array_equal(ensemble.leaves(WHOLE) - ensemble.roots[:, None], model.apply(WHOLE).T)


# In an explainer


@pytest.mark.parametrize("name", [*NATIVE, "CatBoost", "gradient boosting"])
def test_the_twin_explains_with_one_call_of_the_model_and_the_same_answers(name):
    is_native = name in NATIVE
    model = deepcopy((MODELS | NATIVE)[name])
    table, labels = (GAPS, LIVES_WELL) if is_native else (WHOLE, labelled(model, 3))
    model.fit(table, labels)
    for search in ({"search": "greedy"}, {"neighbors": 3}):
        plain, fast, alone = (
            NICE(model, accelerate=accelerate, **search).fit(table, labels).explain(table[:15])
            for accelerate in (False, True, "unconfirmed")
        )
        assert (fast.model_calls, alone.model_calls) == (1, 0)
        assert_same(plain, fast)
        assert_same(plain, alone)
        assert np.array_equal(plain.probability, fast.probability)


def off_by(monkeypatch, difference):
    exact = TreeEnsemble.probabilities
    monkeypatch.setattr(TreeEnsemble, "probabilities", lambda self, inputs: exact(self, inputs) + difference)


@pytest.mark.parametrize(("name", "difference"), [("LightGBM", 1e-11), ("XGBoost", 3e-6)])
def test_more_than_rounding_is_another_answer(monkeypatch, name, difference):
    model = deepcopy(MODELS[name])
    labels = labelled(model, 3)
    model.fit(WHOLE, labels)
    off_by(monkeypatch, difference)
    with pytest.raises(OptionError, match="what was read of its trees does not answer as the model does"):
        NICE(model, accelerate=True).fit(WHOLE, labels)


@pytest.mark.parametrize(("name", "difference", "is_enough"), [("XGBoost", 3e-7, True), ("LightGBM", 3e-7, False)])
def test_the_model_confirms_within_the_precision_of_its_library(monkeypatch, name, difference, is_enough):
    model = deepcopy(MODELS[name])
    labels = labelled(model, 3)
    plain = NICE(model.fit(WHOLE, labels), accelerate=False).fit(WHOLE, labels)
    fast = NICE(model, accelerate=True).fit(WHOLE, labels)
    off_by(monkeypatch, difference)
    with nothing_ahead():  # how many rows ride along in a call depends on the clock
        asked, found = plain.explain(WHOLE[:20]), fast.explain(WHOLE[:20])
    assert_same(asked, found)
    assert (found.model_calls == 1 < asked.model_calls) is is_enough


@pytest.mark.parametrize(
    "name", ["a decision tree", "gradient boosting", "histograms", "XGBoost", "LightGBM", "CatBoost"]
)
def test_a_model_that_was_trained_again_is_noticed_at_once(name):
    model = deepcopy(MODELS[name])
    labels = labelled(model, 3)
    twin, schema, rows = twin_and(model.fit(WHOLE, labels), WHOLE)
    twin(rows, schema)
    model.fit(WHOLE, np.roll(labels, 1))
    with pytest.raises(NotSupported, match="the model was trained again"):
        twin(rows, schema)


@pytest.mark.parametrize("name", ["histograms", "XGBoost", "LightGBM", "CatBoost"])
def test_an_explainer_with_a_twin_pickles(name):
    model = deepcopy(MODELS[name])
    labels = labelled(model, 3)
    nice = NICE(model.fit(WHOLE, labels), accelerate="unconfirmed").fit(WHOLE, labels)
    again = pickle.loads(pickle.dumps(nice))
    answers = again.explain(WHOLE[:5])
    assert answers.model_calls == 0
    assert_same(nice.explain(WHOLE[:5]), answers)


@pytest.mark.deep
def test_no_library_is_imported_for_the_model_of_another():
    code = (
        "import sys, numpy as np; from sklearn.ensemble import RandomForestClassifier;"
        "from nicecf.models.trees import read;"
        "read(RandomForestClassifier(2).fit(np.eye(4), [0, 1, 0, 1]));"
        "print([name for name in ('xgboost', 'lightgbm', 'catboost') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
