"""What NICE and the baselines have in common as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator

from nicecf.exceptions import NotFittedError, OptionError, listed
from nicecf.explain.fitted import Fitted
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.results.provenance import described
from nicecf.support.types import Json, Table


class Method(Protocol):
    """A counterfactual algorithm: what NICE, the baselines and anyone else's method have in common."""

    def fit(self, X: Table, y: Any) -> Method:
        """Learn from the training rows."""

    def explain(self, X: Table, *, target_class: Any = "other") -> Counterfactuals:
        """One counterfactual for each row of ``X``."""


class Explainer(BaseEstimator):
    """Manners of scikit-learn: options by ``get_params``, learned attributes that end in ``_``, ``clone``."""

    def _keep(self, fitted: Fitted) -> Self:
        """Nothing is set before all is learned: a fit that fails leaves the explainer as it was."""
        self._fitted = fitted
        self._given = described(self.get_params(deep=False))
        self._options = self._given | self._chosen()
        classes = fitted.panel.classes
        self.classes_ = classes[:0] if fitted.panel.is_regressor else _label_array(classes)
        self.feature_names_in_ = _label_array(fitted.schema.full.names)
        self.n_features_in_ = len(fitted.schema.full.names)
        return self

    def _chosen(self) -> dict[str, Json]:
        """What options that were left open came to, for records and files: they never depend on a later default."""
        return {}

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet. Call fit(X, y) with the training data first."
            )

    def _check_unchanged(self) -> None:
        """OptionError if options were set after ``fit``: what was learned is not theirs."""
        now = described(self.get_params(deep=False))
        # What these two came to is part of what was learned.
        learned = ("classes", "categorical_features")
        changed = [name for name in now if now[name] != self._given[name] and name not in learned]
        if changed:
            raise OptionError(f"{listed(changed)} was changed after fit. Call fit again first.")

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy with the same options and the same fitted model: it is input, not part of the explainer."""
        return type(self)(**self.get_params(deep=False))


def _label_array(labels: Iterable[Any]) -> Any:
    """Labels as scikit-learn holds them: an array of their own dtype, where numpy has one for them."""
    labels = list(labels)
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    if len({type(label) for label in labels}) > 1 or not isinstance(labels[0], (str, bool, int, float)):
        return objects
    return objects if isinstance(labels[0], str) else np.array(labels)
