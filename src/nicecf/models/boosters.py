"""Boosters of XGBoost and LightGBM, as their own ``train`` returns them: what they are for, and their probabilities.

They are recognised by the names of their classes: no library is imported that the user has not imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit

from nicecf.exceptions import ModelError, OptionError, listed
from nicecf.support.types import Floats, Table

# "other": neither probabilities nor a number that means something by itself: ranks, labels, an objective of one's own.
Kind: TypeAlias = Literal["classification", "regression", "other"]

_PROBABILITIES: dict[str, tuple[str, ...]] = {
    "xgboost": ("binary:logistic", "binary:logitraw", "reg:logistic", "multi:softprob"),
    "lightgbm": ("binary", "cross_entropy", "multiclass", "multiclassova"),
}
_NUMBERS: dict[str, tuple[str, ...]] = {
    "xgboost": ("reg:", "count:", "survival:"),
    "lightgbm": ("regression", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie"),
}
_ADVICE = {
    "multi:softmax": "It returns labels. Its trees have the probabilities too: "
    "booster.set_param({'objective': 'multi:softprob'}), or train it with 'multi:softprob'.",
    "binary:hinge": "It returns labels. Train it with 'binary:logistic'.",
}
_OTHERWISE = (
    "Train it with {probabilities}, or pass a function rows -> probabilities as the model (nicecf.from_score makes one "
    "of a single score)."
)


@dataclass(frozen=True, eq=False)
class Booster:
    """A trained booster. ``objective``: None for a function of the user's own, if the library says so.

    ``names``: its features by name; None if it was trained on rows without names. ``n_classes`` is 2 for a booster with
    one score.
    """

    model: Any
    library: str
    objective: str | None
    n_classes: int
    n_features: int
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, model: Any) -> Booster:
        """Read what a booster says of itself; OptionError if it is not trained."""
        return _of_xgboost(model) if library_of(model) == "xgboost" else _of_lightgbm(model)

    @property
    def kind(self) -> Kind:
        """Whether it returns probabilities of classes, or numbers."""
        if self.objective in _PROBABILITIES[self.library]:
            return "classification"
        is_number = (self.objective or "").startswith(_NUMBERS[self.library])
        return "regression" if is_number else "other"

    def spelled(self, name: Hashable) -> str:
        """A column's name as the library writes it."""
        if self.library == "lightgbm":
            return str(name).replace(" ", "_")
        return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)

    def predict_proba(self, X: Table) -> Floats:
        """Probabilities, one line per row and one column per class; ModelError if the columns are not its features.

        They are those of the library's own ``predict``: of LightGBM up to the best iteration, of XGBoost by all trees.
        """
        answer = self.predict(X)
        if answer.ndim == 2:
            return np.asarray(answer)
        if self.objective == "binary:logitraw":
            margin = answer.astype(np.float64)
            # Both sides by expit: 1 - p would round a small probability to zero.
            return np.column_stack([expit(-margin), expit(margin)])
        # In the library's own precision, as its classifiers do.
        return np.column_stack([1 - answer, answer])

    def predict(self, X: Table) -> Any:
        """What the library's own ``predict`` says; ModelError if the columns are not its features."""
        self._check_columns(X)
        return self.model.predict(self._matrix(X), **({"validate_features": False} if self._by_matrix else {}))

    @property
    def _by_matrix(self) -> bool:
        return self.library == "xgboost"

    def _matrix(self, X: Table) -> Any:
        """Rows as the library takes them. An array has no names, and those of the booster stand for its positions."""
        if not self._by_matrix:
            return X
        named = (
            {} if hasattr(X, "columns") else {"feature_names": self.names, "feature_types": self.model.feature_types}
        )
        return sys.modules["xgboost"].DMatrix(X, enable_categorical=True, **named)

    def _check_columns(self, X: Table) -> None:
        """Whether the columns of a frame are the features, in their order; an array must have as many."""
        columns = None if not hasattr(X, "columns") else [self.spelled(name) for name in X.columns]
        n_columns = X.shape[1]
        if n_columns != self.n_features:
            known = "" if self.names is None else f" ({listed(self.names, limit=30)})"
            told = "" if columns is None else f" ({listed(columns, limit=30)})"
            raise ModelError(
                f"the booster was trained on {self.n_features} features{known}, but the table has {n_columns} "
                f"columns{told}. Pass the columns that it was trained on, in that order."
            )
        if columns is None or (self.names is None and columns == _names_of_arrays(self.library, n_columns)):
            return
        if self.names is None:
            raise ModelError(
                "the booster was trained on rows without names, so nobody can tell whether the columns of the table "
                f"({listed(columns, limit=30)}) are in its order. Pass X.to_numpy() with the columns in the order of "
                f"training{_NAMING[self.library]}."
            )
        if columns != list(self.names):
            raise ModelError(
                f"the booster was trained on the features {listed(self.names, limit=30)}, but the table has the "
                f"columns {listed(columns, limit=30)}. Pass the columns that it was trained on, in that order."
            )


_NAMING = {
    "xgboost": ", or name its features: booster.feature_names = [...]",
    "lightgbm": ", or train it with names: lightgbm.Dataset(X, y, feature_name=[...])",
}


def library_of(model: Any) -> str | None:
    """The library of a booster; None for everything else, such as the libraries' classifiers.

    >>> library_of("a text") is None
    True
    """
    return _library_of_type(type(model))


def _library_of_type(kind: type) -> str | None:
    for one in kind.__mro__:
        library = one.__module__.partition(".")[0]
        if one.__name__ == "Booster" and library in _PROBABILITIES:
            return library
    return None


def instead_of(model: Any) -> str | None:
    """What to pass instead of the class of a booster or one of its methods, as a sentence; None for everything else."""
    if isinstance(model, type):
        library = _library_of_type(model)
        return None if library is None else f"Pass what {library}.train(...) returns."
    if is_booster(getattr(model, "__self__", None)):
        return "Pass the booster itself as the model: NICE(booster) takes it as it is, and finds its probabilities."
    return None


def is_booster(model: Any) -> bool:
    """Whether a model is a booster of XGBoost or LightGBM, and not one of their classifiers."""
    return library_of(model) is not None


def kind_of(model: Any) -> Kind:
    """What a trained booster was trained for, by its objective; OptionError if it is not trained.

    An objective of one's own is "other" in LightGBM; XGBoost does not tell it from its default, a regression.
    """
    return Booster.of(model).kind


def classifier_of(model: Any) -> Booster:
    """A booster that returns probabilities of classes; OptionError, with what to do, if it returns something else."""
    booster = Booster.of(model)
    if booster.kind == "classification":
        return booster
    objectives = " or ".join(repr(one) for one in _PROBABILITIES[booster.library])
    advice = _ADVICE.get(booster.objective or "", _OTHERWISE.format(probabilities=objectives))
    if booster.objective is None:
        raise OptionError(
            f"the booster was trained with an objective of its own, so what its predictions mean is not known. {advice}"
        )
    own = " (or trained with an objective of its own)" if booster.objective == "reg:squarederror" else ""
    returns = " returns a number" if booster.kind == "regression" else " does not return probabilities"
    raise OptionError(f"the booster{returns}: its objective is {booster.objective!r}{own}. {advice}")


def for_classes(model: Any) -> str:
    """What to do if a booster that returns numbers was meant to decide between classes, as a sentence after others."""
    if not is_booster(model):
        return ""
    booster = Booster.of(model)
    default = ", its library's default" if booster.objective in ("reg:squarederror", "regression") else ""
    return (
        f" The booster's objective is {booster.objective!r}{default}: if it should decide between classes, train it "
        f"with {_PROBABILITIES[booster.library][0]!r}."
    )


def check_classes(booster: Booster, names: Sequence[Any]) -> None:
    """OptionError unless there is a name for each class: a booster does not know those of its own."""
    if len(names) != booster.n_classes:
        raise OptionError(
            f"the booster has {booster.n_classes} classes (objective {booster.objective!r}), but {len(names)} are "
            f"named: {listed(names)}. A booster does not know its labels: pass classes=[...] with all of them, in the "
            "order of the numbers that it was trained on."
        )


def columns_of(model: Any, columns: Iterable[Hashable]) -> list[str]:
    """The features that a booster names, each as the column of a table that it means; empty if it names none.

    A name that no column has stays as it is.
    """
    booster = Booster.of(model)
    column_of = {booster.spelled(name): str(name) for name in columns}
    return [column_of.get(name, name) for name in booster.names or ()]


def _of_xgboost(model: Any) -> Booster:
    n_trained = _asked(model.num_boosted_rounds)
    if not n_trained:
        raise _not_trained("xgboost")
    learner = json.loads(model.save_config())["learner"]
    said = learner["learner_model_param"]
    if int(said.get("num_target", 1)) > 1:
        raise OptionError(
            f"the booster has {said['num_target']} outputs. Explain one at a time: pass a function that returns the "
            "probabilities of that output, and classes=[...]."
        )
    names = None if model.feature_names is None else tuple(model.feature_names)
    return Booster(
        model, "xgboost", learner["objective"]["name"], max(2, int(said["num_class"])), int(said["num_feature"]), names
    )


def _of_lightgbm(model: Any) -> Booster:
    if not _asked(model.num_trees):
        raise _not_trained("lightgbm")
    header = model.model_to_string(num_iteration=1).partition("\nTree=")[0]
    said = dict(line.split("=", 1) for line in header.splitlines() if "=" in line)
    objective = said["objective"].split()[0] if "objective" in said else None
    names = tuple(model.feature_name())
    is_unnamed = list(names) == _names_of_arrays("lightgbm", len(names))
    n_classes = max(2, int(said["num_class"]))
    return Booster(model, "lightgbm", objective, n_classes, len(names), None if is_unnamed else names)


def _names_of_arrays(library: str, n_columns: int) -> list[str] | None:
    """What LightGBM calls the columns of an array; a frame may call its own the same. XGBoost gives them no names."""
    return [f"Column_{at}" for at in range(n_columns)] if library == "lightgbm" else None


def _asked(count: Callable[[], int]) -> int:
    """How much was trained; XGBoost raises an error of its own if it was nothing."""
    try:
        return count()
    except Exception:
        return 0


def _not_trained(library: str) -> OptionError:
    return OptionError(f"the booster is not trained: it has no trees yet. Pass what {library}.train(...) returns.")
