"""Any fitted classifier, any function: the way to probabilities."""

import functools

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from nicecf import NICE, ModelError, OptionError, from_score

try:
    from lightgbm import LGBMClassifier
except OSError:  # the only one whose wheel does not bring its OpenMP runtime along
    LGBMClassifier = None
needs_lightgbm = pytest.mark.skipif(LGBMClassifier is None, reason="LightGBM needs the system library libgomp1")


def numbers(n_classes=2, n_rows=200, labels=None):
    random = np.random.default_rng(n_classes)
    X = random.normal(size=(n_rows, 4)).round(2)
    codes = np.digitize(X[:, 0] + 0.5 * X[:, 1], np.linspace(-1, 1, n_classes + 1)[1:-1])
    return X, codes if labels is None else np.array(labels)[codes]


def mixed(n_rows=200):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "amount": random.integers(1, 50, n_rows),
            "purpose": pd.Categorical(random.choice(["car", "house", "boat"], n_rows)),
            "region": pd.Categorical(random.choice(["n", "s"], n_rows)),
            "rate": random.choice([1.5, 2.5, np.nan], n_rows),
        }
    )
    y = np.where((X["amount"] > 20) ^ (X["purpose"] == "car").to_numpy(), "bad", "good")
    return X, y


def assert_valid(model, X, y, rows=40, **options):
    cfs = NICE(model, **options).fit(X, y).explain(X[:rows])
    before, after = (
        np.ravel(model.predict(X[:rows])),
        np.ravel(model.predict(cfs.to_frame() if hasattr(X, "columns") else cfs.to_numpy())),
    )
    assert cfs.found.all()
    assert (before != after).all()
    assert after.tolist() == cfs.predicted_after.tolist()
    return cfs


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(10, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10, random_state=0),
        KNeighborsClassifier(3),
        GaussianNB(),
        make_pipeline(StandardScaler(), MLPClassifier((5,), max_iter=2000, random_state=0)),
        XGBClassifier(n_estimators=10, n_jobs=1),
        CatBoostClassifier(iterations=10, thread_count=1, verbose=False, allow_writing_files=False),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_on_arrays(model, n_classes):
    X, y = numbers(n_classes)
    assert_valid(model.fit(X, y), X, y)


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2], [-1, 1], [True, False], [0.5, 1.5]])
def test_labels_of_any_kind(labels):
    X, y = numbers(2, labels=labels)
    model = DecisionTreeClassifier(random_state=0).fit(X, y.astype(str) if y.dtype == float else y)
    y = y.astype(str) if y.dtype == float else y
    cfs = assert_valid(model, X, y)
    assert set(cfs.predicted_after) <= set(model.classes_)


def test_a_pipeline_that_encodes_text():
    X, y = mixed()
    X = X.astype({"purpose": object, "region": object}).fillna({"rate": 2.0})
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["purpose", "region"]), remainder="passthrough"
    )
    assert_valid(make_pipeline(encoder, RandomForestClassifier(10, random_state=0)).fit(X, y), X, y)


# One thread each: those of LightGBM wait for each other without letting go of a core that another worker needs.
@needs_lightgbm
@pytest.mark.parametrize("n_classes", [2, 3])
def test_lightgbm(n_classes):
    X, y = numbers(n_classes)
    assert_valid(LGBMClassifier(n_estimators=10, min_child_samples=5, n_jobs=1, verbose=-1).fit(X, y), X, y)
    X, y = mixed()
    assert_valid(LGBMClassifier(n_estimators=20, min_child_samples=5, n_jobs=1, verbose=-1).fit(X, y), X, y)


def test_xgboost_and_hist_gradient_boosting_on_category_columns():
    X, y = mixed()
    codes = (y == "good").astype(int)
    assert_valid(XGBClassifier(n_estimators=20, n_jobs=1, enable_categorical=True).fit(X, codes), X, codes)
    boosted = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0)
    assert_valid(boosted.fit(X, y), X, y)


def test_catboost_on_text_columns():
    X, y = mixed()
    X = X.astype({"purpose": str, "region": str})
    model = CatBoostClassifier(
        iterations=20, thread_count=1, verbose=False, allow_writing_files=False, cat_features=["purpose", "region"]
    )
    assert_valid(model.fit(X, y), X, y)


@needs_lightgbm
def test_lightgbm_takes_a_category_it_never_saw():
    X, y = mixed()
    model = LGBMClassifier(n_estimators=20, min_child_samples=5, n_jobs=1, verbose=-1).fit(X, y)
    row = X.iloc[[0]].astype({"purpose": object})
    row["purpose"] = "spaceship"
    row = row.astype({"purpose": "category"})
    cfs = NICE(model).fit(X, y).explain(row)
    assert cfs.found.all()
    assert cfs.predicted[0] != cfs.predicted_after[0]


def test_the_model_is_handed_what_it_was_trained_on():
    X, _ = mixed()
    seen = []

    def model(X):
        seen.append(X)
        p = (X["amount"] > 20).to_numpy().astype(float)
        return np.column_stack([p, 1 - p])

    nice = NICE(model).fit(X, np.where(X["amount"] > 20, "bad", "good"))
    shuffled = X[X.columns[::-1]].astype({"amount": float}).iloc[:30]
    nice.explain(shuffled)
    for frame in seen:
        assert list(frame.columns) == list(X.columns)
        assert frame.dtypes.equals(X.dtypes)


def test_a_function_that_returns_float32_a_frame_or_a_tensor_like():
    X, y = numbers(2)

    class Tensor:
        def __init__(self, values):
            self.values = values

        def detach(self):
            return self

        def cpu(self):
            return self.values

    def p(X):
        return 1 / (1 + np.exp(-X[:, 0]))

    def table(X):
        return np.column_stack([1 - p(X), p(X)])

    reference = NICE(table).fit(X, y).explain(X)
    for wrap in (np.float32, pd.DataFrame, Tensor, list):
        cfs = NICE(lambda X, wrap=wrap: wrap(table(X))).fit(X, y).explain(X)
        assert np.array_equal(cfs.to_numpy(), reference.to_numpy())


def test_classes_name_the_columns_of_a_function():
    X, _ = numbers(2)
    table = lambda X: np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(float)
    y = np.where(X[:, 0] > 0, "up", "down")
    cfs = NICE(table, classes=["up", "down"]).fit(X, y).explain(X)
    assert cfs.predicted.tolist() == y.tolist()
    assert cfs.found.all()
    # In sorted order the columns would be swapped.
    with pytest.raises(OptionError, match=r"Pass classes=\['up', 'down'\]"):
        NICE(table).fit(X, y)


def test_an_object_that_can_be_called_is_a_function_though_it_predicts_labels():
    class Network:
        classes_ = np.array(["down", "up"])

        def __call__(self, X):
            return np.column_stack([X[:, 0] <= 0, X[:, 0] > 0]).astype(float)

        def predict(self, X):
            return np.where(X[:, 0] > 0, "up", "down")

    X, _ = numbers(2)
    assert NICE(Network()).fit(X, Network().predict(X)).explain(X).found.all()


def test_a_model_with_several_outputs_is_refused():
    X, y = numbers(2)
    forest = RandomForestClassifier(3, random_state=0).fit(X, np.column_stack([y, 1 - y]))
    with pytest.raises(OptionError, match=r"the model has several outputs.*one at a time"):
        NICE(forest).fit(X, y)


def test_a_model_with_one_score():
    X, y = numbers(2, labels=["no", "yes"])
    svm = LinearSVC(random_state=0, dual=True).fit(X, y)
    model = from_score(svm.decision_function, kind="margin")
    cfs = NICE(model).fit(X, y).explain(X)
    assert (svm.predict(cfs.to_numpy()) != svm.predict(X)).all()

    sigmoid = from_score(lambda X: (1 / (1 + np.exp(-X[:, [0]]))).astype(np.float32))
    assert NICE(sigmoid).fit(X, np.where(X[:, 0] > 0, "yes", "no")).explain(X).found.all()


def test_one_score_pickles_and_says_what_is_wrong():
    import pickle

    model = from_score(functools.partial(np.take, indices=0, axis=1), kind="margin")
    assert pickle.loads(pickle.dumps(model))(np.zeros((2, 2))).tolist() == [[0.5, 0.5]] * 2
    with pytest.raises(OptionError, match=r"kind='logit' is not known; choose 'probability', 'margin' or 'score'"):
        from_score(len, kind="logit")
    with pytest.raises(OptionError, match="from_score needs a function"):
        from_score(3)
    with pytest.raises(ModelError, match=r"returned shape \(2, 3\), expected one number per row"):
        from_score(lambda X: np.zeros((2, 3)))(np.zeros((2, 2)))
