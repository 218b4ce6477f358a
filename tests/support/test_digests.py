"""Digests of files and objects: the same for the same content, in another process too, and another one for any other."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from nicecf import FileError, from_score
from nicecf.support.digests import file_digest, object_digest

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > X[:, 1]).astype(int)
MODELS = {
    "forest": RandomForestClassifier(4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_one_digest_wherever_it_was_loaded(tmp_path, name):
    joblib.dump(MODELS[name].fit(X, Y), tmp_path / "model.joblib")
    loaded = [joblib.load(tmp_path / "model.joblib") for _ in range(3)]
    first = object_digest(loaded[0])
    assert first is not None
    loaded[0].predict_proba(X)
    assert {object_digest(one) for one in loaded} == {first}
    code = "import joblib; from nicecf.support.digests import object_digest as d; print(d(joblib.load('model.joblib')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == first


def test_the_smallest_change_of_a_model_is_another_digest():
    model = LogisticRegression().fit(X, Y)
    before = object_digest(model)
    model.coef_[0, 1] = np.nextafter(model.coef_[0, 1], 1)
    assert object_digest(model) != before
    forest = RandomForestClassifier(2, random_state=0).fit(X, Y)
    before = object_digest(forest)
    forest.estimators_.reverse()
    assert object_digest(forest) != before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        ({-1, "a"}, {-2, "a"}),
        ({1: "x", "a": 0}, {True: "x", "a": 0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([np.zeros(2), np.ones(2)], [np.ones(2), np.zeros(2)]),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2), np.zeros(2, dtype=np.int64)),
        (0.0, -0.0),
        (1, 1.0),
        ("1", 1),
        (None, "None"),
    ],
)
def test_values_that_differ_have_different_digests(one, other):
    assert object_digest([one]) != object_digest([other])


def test_the_same_values_have_the_same_digest_however_they_are_held():
    matrix = np.arange(6.0).reshape(2, 3)
    assert object_digest([matrix]) == object_digest([np.asfortranarray(matrix)])
    assert object_digest([{"b", "a", 1}]) == object_digest([{1, "a", "b"}])
    word = "".join(["a", "b"])
    assert object_digest([word, word]) == object_digest([word, "".join(["a", "b"])])
    assert object_digest([pickle.loads(pickle.dumps(matrix))]) == object_digest([matrix])


@pytest.mark.parametrize(
    "value",
    [
        len,
        lambda X: X,
        LogisticRegression().fit(X, Y).predict_proba,
        partial(np.add, 1),
        from_score(lambda X: X[:, 0]),
        [threading.Lock()],
        make_pipeline(FunctionTransformer(lambda X: X), LogisticRegression()),
    ],
)
def test_what_cannot_be_compared_has_no_digest(value):
    assert object_digest(value) is None


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileError, match="there is no file .*nowhere"):
        file_digest(tmp_path / "nowhere")
