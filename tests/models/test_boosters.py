"""Boosters of XGBoost and LightGBM are models: their probabilities, classes, features, trees and files."""

import subprocess
import sys
from copy import deepcopy

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone

from nicecf import NICE, FileError, ModelError, OptionError, SchemaError, from_score
from nicecf.baselines import WIT
from nicecf.cli import main
from nicecf.models.boosters import is_booster, kind_of
from nicecf.models.classifier import Classifier
from nicecf.models.files import load
from nicecf.models.trees import read
from nicecf.models.trees.ensemble import NotSupported
from nicecf.models.twin import TreeTwin
from nicecf.tables.schema import Schema
from nicecf.testing import assert_same

RNG = np.random.default_rng(0)
N = 300
ROWS = RNG.integers(0, 6, (N, 4)).astype(float)
HOLES = np.where(RNG.random((N, 4)) < 0.2, np.nan, ROWS + RNG.normal(size=(N, 4)))
TWO = (ROWS.sum(axis=1) + RNG.normal(size=N) > 10).astype(int)
THREE = (ROWS.sum(axis=1) // 7).astype(int) % 3
NAMES = ["age", "income", "rooms", "size"]
LEVELS = ["Aalst", "Brugge", "Gent"]
FRAME = pd.DataFrame(ROWS, columns=NAMES).assign(city=pd.Categorical(RNG.choice(LEVELS, N), LEVELS))
CITY = ((FRAME["city"] == "Gent") ^ (FRAME["age"] > 3)).to_numpy().astype(int)


def xgb(X, y, objective="binary:logistic", n_rounds=8, **options):
    data = xgboost.DMatrix(X, y, enable_categorical=True)
    return xgboost.train({"objective": objective, "max_depth": 4, "nthread": 1} | options, data, n_rounds)


def lgbm(X, y, objective="binary", n_rounds=8, **options):
    quiet = {"objective": objective, "num_leaves": 8, "num_threads": 1, "verbose": -1}
    return lightgbm.train(quiet | options, lightgbm.Dataset(X, y), n_rounds)


def asked(booster, X):
    """What the library's own predict says."""
    return booster.predict(xgboost.DMatrix(X, enable_categorical=True) if isinstance(booster, xgboost.Booster) else X)


def probabilities(booster, X, classes=(0, 1)):
    return Classifier.of(booster, classes=classes, y=None).probabilities(X, X.shape[0])


def of_two(booster, X):
    score = asked(booster, X)
    return np.column_stack([1 - score, score])


TRAINED = {
    "XGBoost, two classes": (lambda X: xgb(X, TWO), 2),
    "XGBoost, raw scores": (lambda X: xgb(X, TWO, "binary:logitraw"), 2),
    "XGBoost, raw scores from a given one": (lambda X: xgb(X, TWO, "binary:logitraw", base_score=0.3), 2),
    "XGBoost, logistic regression": (lambda X: xgb(X, TWO, "reg:logistic", base_score=0.3), 2),
    "XGBoost, three classes": (lambda X: xgb(X, THREE, "multi:softprob", num_class=3), 3),
    "LightGBM, two classes": (lambda X: lgbm(X, TWO), 2),
    "LightGBM, cross entropy": (lambda X: lgbm(X, TWO, "cross_entropy"), 2),
    "LightGBM, three classes": (lambda X: lgbm(X, THREE, "multiclass", num_class=3), 3),
    "LightGBM, one against all": (lambda X: lgbm(X, THREE, "multiclassova", num_class=3), 3),
}
LIBRARIES = {"XGBoost": xgb, "LightGBM": lgbm}


@pytest.fixture(params=TRAINED, ids=str)
def case(request):
    return TRAINED[request.param]


@pytest.fixture(params=LIBRARIES, ids=str)
def train(request):
    return LIBRARIES[request.param]


class TestProbabilities:
    def test_they_are_those_of_the_own_predict_of_the_library(self, case):
        train, n_classes = case
        booster = train(HOLES)
        answer = probabilities(booster, HOLES, range(n_classes))
        score = asked(booster, HOLES)
        if score.ndim == 2:
            expected = score
        elif "logitraw" in str(getattr(booster, "save_config", str)()):
            expected = np.column_stack([expit(-score.astype(float)), expit(score.astype(float))])
        else:
            expected = np.column_stack([1 - score, score])
        np.testing.assert_array_equal(answer, expected)

    @pytest.mark.parametrize(
        "same", [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_matrix], ids=["array", "pandas", "polars", "sparse"]
    )
    def test_any_table(self, train, same):
        # Zero is a value in a sparse matrix of LightGBM, and a missing one in XGBoost's: as the libraries have it.
        X = ROWS + 1.0
        named = pd.DataFrame(X, columns=NAMES)
        booster = train(named, TWO)
        table = same(X) if same in (np.asarray, sparse.csr_matrix) else same(dict(named.items()))
        np.testing.assert_array_equal(probabilities(booster, table), of_two(booster, named))

    def test_one_thread_and_many_give_the_same_digits(self, case):
        train, n_classes = case
        booster = train(HOLES)
        alone = probabilities(booster, HOLES, range(n_classes))
        if isinstance(booster, xgboost.Booster):
            booster.set_param({"nthread": 4})
        else:
            booster.params["num_threads"] = 4
        np.testing.assert_array_equal(probabilities(booster, HOLES, range(n_classes)), alone)

    def test_categories_of_frames(self, train):
        booster = train(FRAME, CITY)
        np.testing.assert_array_equal(probabilities(booster, FRAME), of_two(booster, FRAME))

    def test_categories_as_codes_of_an_array(self):
        codes = np.column_stack([ROWS[:, :1], FRAME["city"].cat.codes])
        data = xgboost.DMatrix(codes, CITY, feature_types=["q", "c"], enable_categorical=True)
        booster = xgboost.train({"objective": "binary:logistic", "max_cat_to_onehot": 1}, data, 4)
        expected = booster.predict(xgboost.DMatrix(codes, feature_types=["q", "c"], enable_categorical=True))
        np.testing.assert_array_equal(probabilities(booster, codes)[:, 1], expected)

    def test_best_iteration_counts_as_in_the_own_predict_of_the_library(self):
        noise = TWO ^ (RNG.random(N) < 0.3)
        train, test = xgboost.DMatrix(ROWS[:200], noise[:200]), xgboost.DMatrix(ROWS[200:], noise[200:])
        options = {"objective": "binary:logistic", "nthread": 1}
        booster = xgboost.train(options, train, 40, evals=[(test, "test")], early_stopping_rounds=3, verbose_eval=False)
        assert booster.best_iteration + 1 < booster.num_boosted_rounds()
        np.testing.assert_array_equal(probabilities(booster, ROWS), of_two(booster, ROWS))
        assert len(read(booster).roots) == booster.num_boosted_rounds()
        best = booster[: booster.best_iteration + 1]
        assert np.abs(probabilities(best, ROWS) - probabilities(booster, ROWS)).max() > 1e-3
        data = lightgbm.Dataset(ROWS[:200], noise[:200])
        booster = lightgbm.train(
            {"objective": "binary", "num_threads": 1, "verbose": -1},
            data,
            40,
            valid_sets=[lightgbm.Dataset(ROWS[200:], noise[200:], reference=data)],
            callbacks=[lightgbm.early_stopping(3, verbose=False)],
        )
        assert booster.best_iteration < 40
        np.testing.assert_array_equal(probabilities(booster, ROWS), of_two(booster, ROWS))
        assert len(read(booster).roots) == booster.best_iteration


class TestTrees:
    @pytest.mark.parametrize("rows", [ROWS, HOLES], ids=["whole numbers", "holes"])
    def test_what_is_read_answers_as_the_booster_does(self, case, rows):
        train, n_classes = case
        booster = train(rows)
        ensemble = read(booster)
        expected = probabilities(booster, rows, range(n_classes))
        exactly = 1e-14 if ensemble.adds_in is np.float64 else 2e-7
        assert np.abs(ensemble.probabilities(rows) - expected).max() <= exactly

    def test_categories_of_a_frame(self, train):
        booster = train(FRAME, CITY)
        schema, rows = Schema.of(FRAME)
        twin = TreeTwin(booster, schema)
        assert np.abs(twin(rows, schema) - probabilities(booster, FRAME)).max() <= twin.rounding
        assert (twin.cells(rows, schema)[:, 0] >= 0).all()

    def test_accelerate_gives_the_same_answers(self, train):
        booster = train(FRAME, CITY)
        slow, fast, unconfirmed = (
            NICE(booster, accelerate=how).fit(FRAME, CITY).explain(FRAME[:20]) for how in (False, True, "unconfirmed")
        )
        assert_same(slow, fast)
        assert_same(slow, unconfirmed)
        assert unconfirmed.model_calls == 0

    @pytest.mark.parametrize("search", ["thorough", "greedy"])
    def test_a_booster_is_explained_as_the_classifier_of_the_library_is(self, search):
        for booster, wrapper in [
            (xgb(ROWS, TWO), xgboost.XGBClassifier(n_estimators=8, max_depth=4, n_jobs=1)),
            (lgbm(ROWS, TWO), lightgbm.LGBMClassifier(n_estimators=8, num_leaves=8, n_jobs=1, verbose=-1)),
        ]:
            wrapper.fit(ROWS, TWO)
            expected = NICE(wrapper, search=search).fit(ROWS, TWO).explain(ROWS[:20])
            assert_same(NICE(booster, search=search).fit(ROWS, TWO).explain(ROWS[:20]), expected)

    def test_a_booster_that_is_trained_on_is_another_model(self):
        booster = xgb(ROWS, TWO)
        nice = NICE(booster, accelerate="unconfirmed").fit(ROWS, TWO)
        booster.update(xgboost.DMatrix(ROWS, 1 - TWO), 8)
        with pytest.raises(ModelError, match="the model is not the one that fit saw"):
            nice.explain(ROWS[:3])

    def test_other_boosters_are_asked_themselves(self):
        booster = xgb(ROWS, TWO, booster="dart")
        assert NICE(booster).fit(ROWS, TWO).explain(ROWS[:5]).found.all()
        with pytest.raises(
            OptionError, match="for this Booster: its booster is 'dart', not 'gbtree'.*and boosters of XG"
        ):
            NICE(booster, accelerate=True).fit(ROWS, TWO)
        with pytest.raises(NotSupported, match=r"its objective is 'reg:squarederror', not one of .*'reg:logistic'"):
            read(xgb(ROWS, TWO, "reg:squarederror"))


class TestClasses:
    def test_they_are_the_sorted_labels_or_those_that_are_given(self, train):
        booster = train(ROWS, TWO)
        labels = np.where(TWO == 1, "yes", "no")
        assert list(NICE(booster).fit(ROWS, labels).classes_) == ["no", "yes"]
        swapped = NICE(booster, classes=["yes", "no"]).fit(ROWS, np.where(TWO == 1, "no", "yes"))
        assert list(swapped.classes_) == ["yes", "no"]
        assert swapped.explain(ROWS[:5]).found.all()

    def test_there_must_be_as_many_as_the_booster_has(self, case):
        train, n_classes = case
        labels, others = (TWO, THREE) if n_classes == 2 else (THREE, TWO)
        booster = train(ROWS)
        NICE(booster).fit(ROWS, labels)
        with pytest.raises(
            OptionError, match=rf"has {n_classes} classes \(objective .*\), but {5 - n_classes} are named"
        ):
            NICE(booster).fit(ROWS, others)

    def test_boosters_and_other_models_agree(self):
        model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(ROWS, TWO)
        boosters = [xgb(ROWS, TWO), lgbm(ROWS, TWO)]
        cfs = NICE(model, robust_to=boosters).fit(ROWS, TWO).explain(ROWS[:10])
        assert cfs.found.any()
        found = cfs[cfs.found]
        for booster in boosters:
            said = probabilities(booster, found.to_numpy().astype(float)).argmax(axis=1)
            np.testing.assert_array_equal(said, [one.predicted_after for one in found])

    def test_predict_does_not_decide(self, train):
        with pytest.raises(
            OptionError, match="decision='predict' needs a model whose predict returns labels; that of a"
        ):
            NICE(train(ROWS, TWO), decision="predict").fit(ROWS, TWO)
        assert NICE(train(ROWS, TWO), decision=0.3).fit(ROWS, TWO).explain(ROWS[:5]).found.all()

    def test_from_score_of_its_predict_is_the_same_model(self):
        booster = lgbm(ROWS, TWO)
        wrapped = NICE(from_score(booster.predict)).fit(ROWS, TWO).explain(ROWS[:5])
        np.testing.assert_array_equal(NICE(booster).fit(ROWS, TWO).explain(ROWS[:5]).to_numpy(), wrapped.to_numpy())

    def test_baselines_and_copies(self, train):
        booster = train(ROWS, TWO)
        assert WIT(booster).fit(ROWS, TWO).explain(ROWS[:5]).found.all()
        assert_same(
            clone(NICE(booster)).fit(ROWS, TWO).explain(ROWS[:5]), NICE(booster).fit(ROWS, TWO).explain(ROWS[:5])
        )


def own_objective(predicted, data):
    return predicted - data.get_label(), np.ones_like(predicted)


def of_own_objective():
    return lightgbm.train({"objective": own_objective, "verbose": -1}, lightgbm.Dataset(ROWS, TWO), 3)


REFUSED = {
    "labels": (
        lambda: xgb(ROWS, THREE, "multi:softmax", num_class=3),
        r"'multi:softmax'. It returns labels.*set_param\({'objective': 'multi:softprob'}\)",
        "other",
    ),
    "hinge": (lambda: xgb(ROWS, TWO, "binary:hinge"), "'binary:hinge'. It returns labels. Train it with", "other"),
    "ranks": (
        lambda: xgb(ROWS, TWO, "rank:pairwise"),
        "does not return probabilities: its objective is 'rank:pairwise'. Train it with 'binary:logistic' or .*softprob",
        "other",
    ),
    "LightGBM's other cross entropy": (
        lambda: lgbm(ROWS, TWO, "cross_entropy_lambda"),
        "does not return probabilities: its objective is 'cross_entropy_lambda'",
        "other",
    ),
    "an objective of one's own": (
        of_own_objective,
        "trained with an objective of its own, so what its.*pass a fun",
        "other",
    ),
}


class TestRefused:
    @pytest.mark.parametrize(("train", "words", "kind"), REFUSED.values(), ids=list(REFUSED))
    def test_objectives_without_probabilities_say_what_to_do(self, train, words, kind):
        booster = train()
        with pytest.raises(OptionError, match=words):
            NICE(booster).fit(ROWS, TWO)
        assert kind_of(booster) == kind

    @pytest.mark.parametrize(
        "train",
        [
            lambda y: xgb(ROWS, y, "count:poisson"),
            lambda y: xgb(ROWS, y, "reg:squarederror"),
            lambda y: lgbm(ROWS, y, "regression"),
        ],
    )
    def test_a_booster_that_returns_numbers_is_a_regressor(self, train):
        y = ROWS.sum(axis=1)
        booster = train(y)
        assert kind_of(booster) == "regression"
        nice = NICE(booster).fit(ROWS, y)
        with pytest.raises(OptionError, match="the model returns scores, not classes: say which are wanted"):
            nice.explain(ROWS[:3])
        cfs = nice.explain(ROWS[:20], target_score=(12, None))
        assert cfs.found.all()
        assert (asked(booster, cfs.to_numpy()) >= 12).all()
        with pytest.raises(OptionError, match="returns a number: its objective is"):
            Classifier.of(booster, classes=[0, 1], y=None)

    @pytest.mark.parametrize(
        ("train", "said"),
        [
            (lambda: xgboost.train({}, xgboost.DMatrix(ROWS, TWO), 2), "'reg:squarederror', its library's default: if it should decide between classes, train it with 'binary:logistic'"),
            (lambda: lightgbm.train({"verbose": -1}, lightgbm.Dataset(ROWS, TWO), 2), "'regression', its library's default: if it should .*, train it with 'binary'"),
            (lambda: xgb(ROWS, TWO, "count:poisson"), "'count:poisson': if it should decide between classes, train it with 'binary:logistic'"),
        ],
    )  # fmt: skip
    def test_a_booster_of_labels_without_an_objective_is_told_apart(self, train, said):
        booster = train()
        with pytest.raises(
            SchemaError, match=f"y holds '(no|yes)' .* pass the numbers .* The booster's objective is {said}"
        ):
            NICE(booster).fit(ROWS, np.where(TWO, "yes", "no"))
        with pytest.raises(OptionError, match=f"target_class=1 names a class, .* The booster's objective is {said}"):
            NICE(booster).fit(ROWS, TWO).explain(ROWS[:1], target_class=1)
        with pytest.raises(OptionError, match=f"baselines are for .* The booster's objective is {said}"):
            WIT(booster).fit(ROWS, TWO)

    @pytest.mark.parametrize(
        ("model", "said"),
        [
            (lambda: xgb(ROWS, TWO).predict, r"a DMatrix object, .* Pass the booster itself: NICE\(booster\)"),
            (lambda: from_score(xgb(ROWS, TWO).predict), r"a DMatrix object, .* Pass the booster itself"),
            (lambda: lgbm(ROWS, TWO).predict, "returned shape .*Pass the booster itself as the model"),
            (lambda: xgboost.Booster, r"model is the class Booster, .* Pass what xgboost.train\(...\) returns"),
            (lambda: lightgbm.Booster, r"model is the class Booster, .* Pass what lightgbm.train\(...\) returns"),
            (lambda: from_score(xgb(ROWS, TWO)), "got Booster. A booster needs no from_score: pass it as the model"),
        ],
    )
    def test_what_is_passed_in_the_place_of_a_booster(self, model, said):
        with pytest.raises((OptionError, ModelError), match=said):
            NICE(model()).fit(ROWS, TWO)

    def test_a_lightgbm_predict_that_works_is_left_alone(self):
        assert NICE(lgbm(ROWS, THREE, "multiclass", num_class=3).predict).fit(ROWS, THREE).explain(ROWS[:2]).found.all()
        assert NICE(from_score(lgbm(ROWS, TWO).predict)).fit(ROWS, TWO).explain(ROWS[:2]).found.all()

    @pytest.mark.parametrize("made", [xgboost.DMatrix, lightgbm.Dataset])
    def test_rows_are_the_table_itself(self, made):
        with pytest.raises(SchemaError, match=f"got .*. Pass the table that the {made.__name__} was made of"):
            NICE(xgb(ROWS, TWO)).fit(ROWS, TWO).explain(made(ROWS))

    def test_the_booster_of_a_classifier_is_one_like_any_other(self):
        labels = np.array(["a", "b", "c"])[THREE]
        of_xgboost = xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(ROWS, THREE).get_booster()
        of_lightgbm = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(ROWS, THREE).booster_
        for booster in (of_xgboost, of_lightgbm):
            nice = NICE(booster).fit(ROWS, labels)
            assert nice.classes_.tolist() == ["a", "b", "c"]
            assert nice.explain(ROWS[:3], target_class="c").predicted_after.tolist() == ["c"] * 3

    def test_the_advice_for_a_native_catboost_works(self):
        model = catboost.CatBoost({"iterations": 3, "loss_function": "Logloss", "verbose": 0, "thread_count": 1})
        model.fit(ROWS, TWO)
        with pytest.raises(OptionError, match=r"Pass lambda X: model.predict\(X, prediction_type='Probability'\)"):
            NICE(model).fit(ROWS, TWO)
        cfs = NICE(lambda X: model.predict(X, prediction_type="Probability")).fit(ROWS, TWO).explain(ROWS[:3])
        assert cfs.found.all()

    def test_the_advice_for_labels_works(self):
        booster = xgb(ROWS, THREE, "multi:softmax", num_class=3)
        booster.set_param({"objective": "multi:softprob"})
        assert NICE(booster).fit(ROWS, THREE).explain(ROWS[:3]).found.all()
        assert kind_of(booster) == "classification"

    @pytest.mark.parametrize(
        "booster",
        [
            lambda: xgboost.Booster(),
            lambda: xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(ROWS, TWO), 0),
            lambda: lightgbm.Booster({"objective": "binary", "verbose": -1}, lightgbm.Dataset(ROWS, TWO)),
        ],
    )
    def test_a_booster_that_is_not_trained(self, booster):
        with pytest.raises(
            OptionError, match=r"is not trained: it has no trees yet. Pass what \w+.train\(...\) returns"
        ):
            NICE(booster()).fit(ROWS, TWO)

    def test_several_outputs(self):
        booster = xgb(ROWS, np.column_stack([TWO, 1 - TWO]))
        with pytest.raises(OptionError, match="the booster has 2 outputs. Explain one at a time"):
            NICE(booster).fit(ROWS, TWO)

    def test_features_that_differ_are_listed_on_both_sides(self, train):
        booster = train(FRAME[NAMES], TWO)
        other = FRAME[NAMES].rename(columns={"size": "weight"})
        with pytest.raises(ModelError, match="trained on the features 'age', .*'size', but the table has .*'weight'"):
            NICE(booster).fit(other, TWO)
        with pytest.raises(
            ModelError, match="trained on the features 'age', .*, but the table has the columns 'size', "
        ):
            NICE(booster).fit(FRAME[NAMES[::-1]], TWO)
        with pytest.raises(
            ModelError, match=r"trained on 4 features \('age', .*\), but the table has 2 columns \('age'"
        ):
            NICE(booster).fit(FRAME[NAMES[:2]], TWO)
        with pytest.raises(ModelError, match=r"trained on 4 features \('age', .*\), but the table has 3 columns. Pass"):
            NICE(booster).fit(ROWS[:, :3], TWO)

    def test_names_with_spaces_are_the_same_names(self, train):
        table = pd.DataFrame(ROWS, columns=["the age", "income", "rooms", "size"])
        assert NICE(train(table, TWO)).fit(table, TWO).explain(table[:3]).found.all()

    def test_an_array_has_no_names_and_goes_by_position(self, train):
        booster = train(FRAME[NAMES], TWO)
        cfs = NICE(booster).fit(ROWS, TWO).explain(ROWS[:5])
        np.testing.assert_array_equal(
            cfs.to_numpy(), NICE(booster).fit(FRAME[NAMES], TWO).explain(FRAME[NAMES][:5]).to_numpy()
        )

    def test_a_booster_without_names_is_not_asked_about_a_frame(self, train):
        booster = train(ROWS, TWO)
        with pytest.raises(
            ModelError, match=r"rows without names, .*\('age', .*to_numpy\(\) with the columns in the ord"
        ):
            NICE(booster).fit(FRAME[NAMES], TWO)
        if isinstance(booster, xgboost.Booster):
            booster.feature_names = NAMES
            assert NICE(booster).fit(FRAME[NAMES], TWO).explain(FRAME[NAMES][:3]).found.all()
        # Names are names, also those that LightGBM itself gives to the columns of an array.
        table = pd.DataFrame(ROWS, columns=[f"Column_{at}" for at in range(4)])
        assert NICE(train(table, TWO)).fit(table, TWO).explain(table[:3]).found.all()


class TestSavedExplainers:
    def test_saved_and_loaded(self, train, tmp_path):
        booster = train(FRAME, CITY)
        nice = NICE(booster).fit(FRAME, CITY)
        nice.save(tmp_path / "one.nice")
        loaded = NICE.load(tmp_path / "one.nice", model=deepcopy(booster))
        assert_same(loaded.explain(FRAME[:10]), nice.explain(FRAME[:10]))

    def test_another_booster_is_noticed(self, train, tmp_path):
        NICE(train(FRAME, CITY)).fit(FRAME, CITY).save(tmp_path / "one.nice")
        with pytest.raises(ModelError, match="is not the one that fit saw"):
            NICE.load(tmp_path / "one.nice", model=train(FRAME, CITY, n_rounds=3))
        renamed = FRAME.rename(columns={"age": "years"})
        with pytest.raises(
            ModelError,
            match="the explainer has no column 'years', which the model was trained on, but 'age', which it was not",
        ):
            NICE.load(tmp_path / "one.nice", model=train(renamed, CITY))


def test_classifiers_are_no_boosters():
    assert not is_booster(xgboost.XGBClassifier())
    assert not is_booster(lightgbm.LGBMClassifier())
    assert not is_booster(lambda X: X)
    assert is_booster(xgb(ROWS, TWO))


@pytest.mark.deep
def test_no_library_is_imported_for_another_model():
    code = (
        "import sys, numpy as np, nicecf\n"
        "nicecf.NICE(lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])).fit(np.eye(4), [1, 0, 0, 0])\n"
        "assert not {'xgboost', 'lightgbm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class TestFiles:
    @pytest.mark.parametrize("ending", ["json", "ubj"])
    def test_a_booster_of_xgboost(self, tmp_path, ending):
        booster = xgb(FRAME, CITY)
        booster.save_model(tmp_path / f"m.{ending}")
        loaded = load(tmp_path / f"m.{ending}")
        np.testing.assert_array_equal(probabilities(loaded, FRAME), probabilities(booster, FRAME))
        assert_same(NICE(loaded).fit(FRAME, CITY).explain(FRAME[:5]), NICE(booster).fit(FRAME, CITY).explain(FRAME[:5]))

    def test_a_booster_of_lightgbm(self, tmp_path):
        booster = lgbm(FRAME, CITY)
        booster.save_model(tmp_path / "m.txt")
        np.testing.assert_array_equal(probabilities(load(tmp_path / "m.txt"), FRAME), probabilities(booster, FRAME))

    @pytest.mark.parametrize("ending", ["json", "ubj", "txt"])
    @pytest.mark.parametrize("content", [b"", b"junk", b"{}", "half"])
    def test_a_damaged_file_is_said_in_one_line(self, tmp_path, ending, content, capfd):
        (lgbm if ending == "txt" else xgb)(ROWS, TWO).save_model(path := tmp_path / f"m.{ending}")
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
        words = r"is not a model of LightGBM, or not complete" if ending == "txt" else "cannot be loaded by XGBoost"
        with pytest.raises(FileError, match=rf"{words}.*Save the model with booster.save_model\(path\)") as refusal:
            load(path)
        assert len(str(refusal.value).splitlines()) == 1
        assert "Stack trace" not in str(refusal.value)
        assert capfd.readouterr().err == ""

    def test_what_lightgbm_refuses_is_said_too(self, tmp_path):
        (tmp_path / "m.txt").write_text("tree\n\nend of trees")
        with pytest.raises(FileError, match="cannot be loaded by LightGBM .*number of classes.* Save the model with"):
            load(tmp_path / "m.txt")

    @pytest.mark.parametrize(("ending", "library"), [("json", "xgboost"), ("txt", "lightgbm")])
    def test_without_the_library_the_message_says_what_to_install(self, tmp_path, monkeypatch, ending, library):
        monkeypatch.setitem(sys.modules, library, None)
        (tmp_path / f"m.{ending}").write_bytes(b"")
        with pytest.raises(ImportError, match=f"needs {library}, which is not installed. .* pip install {library}$"):
            load(tmp_path / f"m.{ending}")

    @pytest.mark.parametrize(("ending", "train"), [("json", xgb), ("txt", lgbm)])
    def test_on_the_command_line(self, tmp_path, monkeypatch, capfd, ending, train):
        monkeypatch.chdir(tmp_path)
        table = pd.DataFrame(ROWS, columns=["the age", "income", "rooms", "size"])
        train(table, TWO).save_model(f"m.{ending}")
        # In another order: the booster knows its own.
        table[table.columns[::-1]].assign(decision=np.where(TWO == 1, "yes", "no")).to_csv("train.csv", index=False)
        table[:5].to_csv("new.csv", index=False)
        fit = ["fit", "--train", "train.csv", "--label", "decision", "--model", f"m.{ending}", "--out", "one.nice"]
        assert main(fit) == 0
        assert main(["explain", "one.nice", "new.csv", "--out", "out.csv"]) == 0
        assert pd.read_csv("out.csv")["found"].all()
        assert main([*fit[:2], "new.csv", *fit[3:], "--no-justified"]) != 0
        assert main(["fit", "--train", "train.csv", *fit[5:], "--no-justified", "--classes", "no,yes"]) != 0
        assert "has the column 'decision', which the model was not trained on" in capfd.readouterr().err
