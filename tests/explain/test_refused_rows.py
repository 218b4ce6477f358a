"""Rows that a model refuses: the error names the row and the feature, in fit and in explain."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from nicecf import NICE, Constraints, ModelError, baselines

X = pd.DataFrame({"age": np.arange(60.0), "home": ["own", "rent", "own"] * 20, "job": ["a", "b"] * 30})
Y = np.where(X["age"] >= 30, "yes", "no")
SAID = r"the model raised ValueError for row {row}: it does not accept {value} of feature '{feature}': .*Replace the value or leave the row out"  # fmt: skip


@pytest.fixture(scope="module")
def model():
    encode = make_column_transformer((OneHotEncoder(), ["home", "job"]), remainder="passthrough")
    return make_pipeline(encode, LogisticRegression()).fit(X, Y)


@pytest.mark.parametrize("method", [NICE, baselines.CBR])
def test_a_category_that_the_encoder_refuses_is_named_with_its_row_and_feature(model, method):
    method = method(model).fit(X, Y)
    rows = X.iloc[10:15].assign(home=["own", "rent", "own", "boat", "rent"])[["job", "age", "home"]]
    with pytest.raises(ModelError, match=SAID.format(row=3, value="the value 'boat'", feature="home")) as refused:
        method.explain(rows)
    assert str(refused.value).endswith("or let its encoder ignore categories that it does not know.")
    assert "Found unknown categories" in str(refused.value.__cause__)
    assert len(method.explain(rows.drop(index=rows.index[3]))) == 4


def test_a_category_that_only_the_training_table_of_the_explainer_has_is_named_in_fit(model):
    table = X.copy()
    table.loc[[17, 40], "job"] = "c"
    with pytest.raises(ModelError, match=SAID.format(row=17, value="the value 'c'", feature="job")):
        NICE(model).fit(table, Y)
    table = X.assign(job=["c", *X["job"][1:]])
    with pytest.raises(ModelError, match=SAID.format(row=0, value="the value 'c'", feature="job")):
        NICE(model).fit(table, Y)


def test_a_missing_number_that_the_model_refuses_is_named(model):
    nice = NICE(model).fit(X, Y)
    rows = X.iloc[:4].assign(age=[1.0, 2.0, np.nan, np.nan])
    with pytest.raises(ModelError, match=SAID.format(row=2, value="the missing value", feature="age") + r"\.$"):
        nice.explain(rows)


class Picky:
    """A model of many columns that refuses a negative number, and counts its calls."""

    classes_ = np.array([0, 1])

    def __init__(self):
        self.n_calls = 0

    def predict_proba(self, X):
        self.n_calls += 1
        if (X < 0).any():
            raise ValueError("a negative number")
        p = (X[:, 0] > 0.5).astype(float)
        return np.column_stack([1 - p, p])


def test_one_of_many_rows_and_columns_is_found_in_few_calls():
    random, model = np.random.default_rng(0), Picky()
    table = random.random((200, 300))
    nice = NICE(model, search="greedy").fit(table, (table[:, 0] > 0.5).astype(int))
    rows = random.random((1000, 300))
    rows[777, [5, 210]] = -1
    model.n_calls = 0
    with pytest.raises(ModelError, match=r"for row 777: it does not accept the value -1.0 of feature 'x(5|210)'"):
        nice.explain(rows)
    assert model.n_calls <= 1 + 1 + 10 + 1 + 9  # the call, a row that it knows, 1000 rows, the row, 300 features


def test_a_row_of_a_long_training_table_is_named_by_its_place_in_all_of_it():
    table = np.linspace(0, 1, 2500).reshape(-1, 1)
    table[2100] = -1
    with pytest.raises(ModelError, match="for row 2100: it does not accept the value -1.0 of feature 'x0'"):
        NICE(Picky(), justified=False).fit(table)


def test_rows_are_found_under_rules_by_which_columns_follow_from_others(model):
    table = X.assign(months=12 * X["age"])
    only = lambda X: model.predict_proba(X.drop(columns="months"))
    nice = NICE(only, constraints=Constraints(derived={"months": "12 * age"})).fit(table, Y)
    with pytest.raises(ModelError, match=SAID.format(row=1, value="the value 'boat'", feature="home")):
        nice.explain(table[:3].assign(home=["own", "boat", "own"]))


def test_a_model_that_raises_for_every_row_keeps_its_own_words():
    is_down = []

    def service(X):
        if is_down:
            raise ConnectionError("the service is down")
        return model_of(X)

    def model_of(X):
        p = (X[:, 0] > 0.5).astype(float)
        return np.column_stack([1 - p, p])

    table = np.linspace(0, 1, 40).reshape(-1, 1)
    nice = NICE(service).fit(table, (table[:, 0] > 0.5).astype(int))
    is_down.append(True)
    with pytest.raises(ModelError, match="the model raised ConnectionError when asked for 4 rows: the service is down"):
        nice.explain(table[:3])
    with pytest.raises(
        ModelError, match="the model raised ConnectionError when asked for 40 rows: the service is down"
    ):
        NICE(service, classes=[0, 1], justified=False).fit(table)


def test_a_model_that_refuses_a_number_of_rows_keeps_its_own_words():
    def only_few(X):
        if len(X) > 50:
            raise ValueError("at most 50 rows")
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    with pytest.raises(ModelError, match="when asked for 60 rows: at most 50 rows"):
        NICE(only_few, classes=[0, 1], justified=False).fit(np.linspace(0, 1, 60).reshape(-1, 1))
