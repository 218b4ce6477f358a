"""The classifiers of the experiment, and IM2 as the paper's code had it."""

from __future__ import annotations

import numpy as np
import pytest

from nicecf import NICE, metrics
from nicecf.benchmark import models
from nicecf.benchmark.im2_by_code import im2_by_code


def noisy(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] + 0.3 * random.normal(size=n) > 0).astype(int)


def test_the_first_trees_of_a_forest_score_as_the_forest_of_so_many():
    X, y = noisy(200)
    grid = [{"n_estimators": n, "max_depth": depth} for depth in (1, 3, None) for n in (2, 5, 9)]
    fold = [X[:150], y[:150], X[150:], y[150:]]
    encoder = models.Encoder()
    by_prefixes = models._forest_scores(encoder, grid, fold, seed=3)
    one_by_one = models._scores("rf", encoder, grid, fold, seed=3)
    assert by_prefixes == pytest.approx(one_by_one, abs=1e-12)
    assert len(set(by_prefixes.round(6))) > 3


def test_a_forest_answers_as_that_of_scikit_learn():
    X, y = noisy(300)
    model, _ = models.train("rf", X, y, [], profile="quick", seed=0, parameters={"n_estimators": 37, "max_depth": None})
    forest = model[-1]
    inputs = model[0].transform(X)
    np.testing.assert_array_equal(model.predict_proba(X), type(forest).predict_proba(forest, inputs))
    assert len(np.unique(model.predict_proba(X)[:, 1])) > 20
    assert NICE(model, accelerate=True).fit(X, y).explain(X[:5]).found.all()  # its trees can still be read


def test_a_network_learns_what_adam_does_not():
    """Parity of five bits: in 1,000 iterations of L-BFGS, not in as many epochs of Adam."""
    bits = np.random.default_rng(0).integers(0, 2, size=(400, 5)).astype(float)
    y = (bits.sum(axis=1) % 2).astype(int)
    model, _ = models.train(
        "ann", bits[:300], y[:300], [], profile="quick", seed=0, parameters={"hidden_layer_sizes": [8]}
    )
    assert models.auc(model, bits[300:], y[300:]) > 0.95


def test_the_paper_is_tuned_on_a_sample():
    assert models.PROFILES["paper"].most_rows == 5_000
    assert "on a sample of 5,000 training rows" in models.PROFILES["paper"].words


def test_im2_by_code_has_the_class_left_and_the_distance():
    X, y = noisy(120)
    reference = metrics.Reference.of(X, y, random_state=1)
    rows, found = X[:3], X[3:6].copy()
    found[2] = np.nan
    before = np.array([1, 0, 1], dtype=object)
    everything = reference.autoencoder
    inputs, moved = everything.inputs(found), np.abs(everything.inputs(found) - everything.inputs(rows)).sum(axis=1)
    expected = [
        ((reference.autoencoders[label].reconstructed(inputs[[i]]) - everything.reconstructed(inputs[[i]])) ** 2).sum()
        / moved[i]
        for i, label in ((0, 1), (1, 0))
    ]
    measured = im2_by_code(rows, found, before, reference)
    assert measured[:2] == pytest.approx(expected, rel=1e-6)
    assert np.isnan(measured[2])
