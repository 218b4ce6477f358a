"""Fitted linear classifiers of scikit-learn, read once: a score is a sum of inputs, each times a number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier

from nicecf.models.trees.ensemble import Categories, Input, Link, NotSupported
from nicecf.support.types import Bools, Floats

READABLE = "LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis and SGDClassifier of scikit-learn"
_KNOWN = (LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis, SGDClassifier)


def is_linear(model: Any) -> bool:
    """Whether a classifier, without what stands in front of it, is one of the linear ones that are known."""
    return type(model) in _KNOWN


def read(model: Any) -> LinearSums:
    """The coefficients of a fitted linear classifier; NotSupported if its probabilities follow from them otherwise."""
    coefficients = np.array(model.coef_, dtype=np.float64)
    n_outputs, n_inputs = coefficients.shape
    if n_outputs == 1:
        link: Link = "sigmoid"
    elif type(model) is SGDClassifier or getattr(model, "multi_class", None) == "ovr":
        raise NotSupported("its probabilities are one per class against all others, made to add up to 1")
    elif getattr(model, "solver", None) == "liblinear":
        raise NotSupported("liblinear has one model per class, whose probabilities are made to add up to 1")
    else:
        link = "softmax"
    intercepts = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), n_outputs)
    return LinearSums(coefficients, intercepts.copy(), link, (Input(),) * n_inputs)


@dataclass(frozen=True, eq=False)
class LinearSums:
    """All that a linear classifier answers by: one line of coefficients, and where the sum starts, for each output."""

    coefficients: Floats
    base: Floats
    link: Link
    inputs: tuple[Input, ...]
    frame_categories: tuple[Categories, ...] = ()
    absent_is_missing: bool = False

    @cached_property
    def is_used(self) -> Bools:
        """Which inputs count."""
        return np.asarray((self.coefficients != 0).any(axis=0))

    def is_of(self, model: Any) -> bool:
        """Whether a model still has these coefficients."""
        return np.array_equal(model.coef_, self.coefficients) and np.array_equal(np.ravel(model.intercept_), self.base)

    def compared(self, inputs: Floats) -> Floats:
        """Inputs as the model multiplies them."""
        if np.isnan(inputs).any():
            raise NotSupported("it takes no missing values, and the rows have some")
        return inputs

    def raw_sums(self, compared: Floats) -> Floats:
        """What inputs add up to, one column per output."""
        return compared @ self.coefficients.T + self.base

    def probabilities(self, inputs: Floats) -> Floats:
        """The probabilities of the classes, one line per row of inputs."""
        sums = self.raw_sums(self.compared(inputs))
        if self.link == "softmax":
            return np.asarray(softmax(sums, axis=1))
        share = expit(sums[:, 0])
        return np.column_stack([1 - share, share])
