"""Any model -> one ``predict_proba`` with checked output."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from scipy.special import expit

from nicecf.exceptions import ModelError, OptionError, SchemaError, listed, plain
from nicecf.models import boosters
from nicecf.models.deciding import can_differ
from nicecf.support.types import Floats, Ints, Objects, Table

# Rows are sent to the model in chunks of at most this many cells (32 MB of floats), whatever the width.
CELLS_PER_CALL = 2**22

# How far rounding may push a probability outside [0, 1] (float32 models).
_ROUNDING = 1e-5

ScoreKind: TypeAlias = Literal["probability", "margin", "score"]


@dataclass(frozen=True)
class ScoreModel:
    """A model with one score per row as a model with two classes; created by :func:`from_score`."""

    score: Callable[[Any], Any]
    kind: ScoreKind = "probability"

    def __call__(self, X: Table) -> Floats:
        """Probabilities of the two classes, shape (rows, 2); not for ``kind="score"``, which has no classes."""
        answer = self.score(X)
        try:
            scores = numbers_of(answer)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"the score function returned {type(answer).__name__}, which is not numbers: {error}. Of labels, pass "
                f"{_one_hot('np.asarray(f(X))', 'classes')} as the model, with classes, a list of all of them."
            ) from error
        if scores.ndim == 2 and scores.shape[1] == 1:
            scores = scores[:, 0]
        if scores.ndim != 1:
            is_probability = not _is_outside(scores)
            raise ModelError(
                f"the score function returned shape {scores.shape}, expected one number per row. A function that "
                "returns one column per class needs no from_score: pass "
                f"{'it' if is_probability else _softmax('f')} as the model."
            )
        if self.kind == "margin":
            # Both sides by expit: 1 - p would round a small probability to zero.
            return np.column_stack([expit(-scores), expit(scores)])
        return np.column_stack([1.0 - scores, scores])


def from_score(score: Callable[[Any], Any], *, kind: ScoreKind = "probability") -> ScoreModel:
    """Turn a function that returns one score per row into a model.

    ``kind="probability"``: the score is the probability of the second of the two sorted classes (a network with one
    sigmoid unit, a LightGBM booster's ``predict``; a booster itself needs no ``from_score``). ``kind="margin"``: any
    real number; above zero means the second class (a ``decision_function``). If the score is for the first of the
    sorted classes, pass ``classes=`` with that one last. ``kind="score"``: any real number without
    classes (a credit score, a limit), for ``explain(X, target_score=(low, high))``.

    >>> model = from_score(lambda X: X[:, 0], kind="probability")
    >>> model(np.array([[0.25], [1.0]])).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    if not callable(score):
        raise OptionError(
            f"from_score needs a function rows -> scores, got {type(score).__name__}."
            f"{' A booster needs no from_score: pass it as the model itself.' if boosters.is_booster(score) else ''}"
        )
    if kind not in get_args(ScoreKind):
        raise OptionError(f"kind={kind!r} is not known; choose 'probability', 'margin' or 'score'.")
    return ScoreModel(score, kind)


@dataclass(frozen=True, eq=False)
class Classifier:
    """A model and the names of its columns."""

    predict_proba: Callable[[Any], Any]
    classes: Objects

    @classmethod
    def of(cls, model: Any, *, classes: Iterable[Any] | None, y: Objects | None) -> Classifier:
        """Find the function for probabilities and the names of the classes.

        An estimator's ``classes_`` name its columns; for a function or a booster, ``classes`` does, or else the sorted
        labels ``y``.
        """
        booster = boosters.classifier_of(model) if boosters.is_booster(model) else None
        predict_proba = _predict_proba_of(model) if booster is None else booster.predict_proba
        if isinstance(classes, (str, bytes, set, frozenset)) or not (classes is None or isinstance(classes, Iterable)):
            raise OptionError(
                f"classes={classes!r} does not name the model's columns; pass a list in the order of the columns."
            )
        if names_its_classes(model):
            names = list(model.classes_)
            if any(np.ndim(name) for name in names):
                raise OptionError(
                    "the model has several outputs (its classes_ is a list of lists). Explain one at a time: pass a "
                    "function that returns the probabilities of that output, and classes=[...]."
                )
            if classes is not None and list(classes) != names:
                raise OptionError(
                    f"classes={listed(classes)} differ from the model's own classes_ ({listed(names)}). Leave "
                    "classes=None for a model that names them itself."
                )
        elif classes is not None:
            names = list(classes)
        elif y is not None:
            names = _sorted_labels(y)
        else:
            raise OptionError(
                "the class names are unknown: the model has no classes_. Pass y to fit, or "
                "classes=[...] in the order of the columns that the model returns."
            )
        if len(names) < 2:
            raise OptionError(
                f"there is only one class ({listed(names)}), so a decision cannot change. "
                "A counterfactual needs a model, and labels, with at least two classes."
            )
        if not all(isinstance(name, Hashable) for name in names):
            raise OptionError(f"classes={listed(names)} are not all valid labels; use strings, numbers or booleans.")
        if len(set(names)) < len(names):
            raise OptionError(f"classes={listed(names)} name a class twice.")
        if booster is not None:
            boosters.check_classes(booster, names)
        array = np.empty(len(names), dtype=object)
        array[:] = [plain(name) for name in names]
        return cls(predict_proba, array)

    def codes(self, labels: Objects) -> Ints:
        """Labels as positions among the classes; SchemaError for a label that is not one of them."""
        position_of = {label: position for position, label in enumerate(self.classes)}
        codes, uniques = pd.factorize(labels)
        unknown = [label for label in uniques if label not in position_of]
        if unknown:
            raise SchemaError(
                f"y holds {listed(unknown)}, which the model does not know; its classes are {listed(self.classes)}. "
                "Pass the labels that the model was trained on (not their positions), or drop these rows."
            )
        return np.array([position_of[label] for label in uniques], dtype=np.intp)[codes]

    def probabilities(self, X: Table, n_rows: int) -> Floats:
        """Call the model and check its answer: shape (rows, classes), finite, within [0, 1]."""
        return self._checked(asked(self.predict_proba, X, n_rows), n_rows)

    def _checked(self, answer: Any, n_rows: int) -> Floats:
        expected = f"expected ({n_rows}, {len(self.classes)}): one row per row and one column per class"
        try:
            table = numbers_of(answer)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"the model returned {type(answer).__name__}, which is not a table of numbers: {error}."
                f"{self._for_labels(answer, n_rows)}"
            ) from error
        if table.shape != (n_rows, len(self.classes)):
            hint = self._for_labels(answer, n_rows) or self._for_shape(table, n_rows)
            raise ModelError(f"the model returned shape {table.shape}, {expected}.{hint}")
        if not np.isfinite(table).all():
            row = int(np.argmin(np.isfinite(table).all(axis=1)))
            raise ModelError(
                f"the model returned {table[row].tolist()} for row {row} of {n_rows}: probabilities must be numbers. "
                "Does it accept the missing values in the rows?"
            )
        if _is_outside(table):
            hint = f"Of scores with one column per class, pass {_softmax('f')}."
            if isinstance(self.predict_proba, ScoreModel):
                hint = self._for_labels(table[:, 1], n_rows).strip() or (
                    "If a score above zero means the second class, pass nicecf.from_score(f, kind='margin')."
                )
            raise ModelError(
                f"the model returned values between {table.min():g} and {table.max():g}: probabilities lie in [0, 1]. "
                f"{hint}"
            )
        return table

    def _for_shape(self, table: Floats, n_rows: int) -> str:
        """Return what to pass instead of a function that returns a table of another shape, as a sentence."""
        if table.ndim == 1 or (table.ndim == 2 and table.shape[1] == 1):
            instead = boosters.instead_of(self.predict_proba)
            return f" {instead or 'If the model returns one score per row, wrap it: nicecf.from_score(f).'}"
        if table.ndim == 2 and len(table) == n_rows:
            return f" The classes are {listed(self.classes)}; name the model's columns with classes=[...]."
        return ""

    def _for_labels(self, answer: Any, n_rows: int) -> str:
        """Return what to pass instead of a function that returns one of the classes per row; empty if it does not."""
        try:
            labels = np.asarray(answer, dtype=object).ravel().tolist()
            is_label = len(labels) == n_rows and set(map(plain, labels)) <= set(self.classes)
        except Exception:  # whatever it is, these are not labels
            return ""
        classes = [plain(label) for label in self.classes]
        return f" It returns labels: pass {_one_hot('np.asarray(f(X))', repr(classes))}." if is_label else ""


def score_towards(probabilities: Floats, wanted: Any) -> Floats:
    """How close each row is to its target: highest wanted probability minus highest unwanted one.

    With one wanted class this is the first case of the paper's multiclass appendix, with all but the row's own class
    the second; for two classes both are the paper's f(x) up to the sign of the row's class.

    >>> score_towards(np.array([[0.5, 0.25, 0.25]]), np.array([[False, True, True]])).tolist()
    [-0.25]
    """
    best_wanted = np.where(wanted, probabilities, -np.inf).max(axis=1)
    best_other = np.where(wanted, -np.inf, probabilities).max(axis=1)
    # If every class is wanted, there is no unwanted one; a margin may still be required.
    return np.asarray(best_wanted - np.where(np.isneginf(best_other), 0.0, best_other))


def names_its_classes(model: Any) -> bool:
    """Return whether a model says itself which class each of its columns is."""
    return isinstance(getattr(model, "classes_", None), Iterable)


def _predict_proba_of(model: Any) -> Callable[[Any], Any]:
    if isinstance(model, type):
        instead = boosters.instead_of(model) or f"Pass {model.__name__}(...).fit(X, y)."
        raise OptionError(f"model is the class {model.__name__}, not a fitted model. {instead}")
    if hasattr(model, "predict_proba"):
        return model.predict_proba
    has_scores, n_classes = hasattr(model, "decision_function"), len(model.classes_) if names_its_classes(model) else 0
    if has_scores and n_classes <= 2:
        raise OptionError(
            f"{type(model).__name__} has no predict_proba. Pass "
            "nicecf.from_score(model.decision_function, kind='margin') as the model."
        )
    if callable(model) and not has_scores:
        return model
    is_catboost = type(model).__module__.startswith("catboost.") and hasattr(model, "predict")
    if n_classes and hasattr(model, "predict") and not is_catboost:
        # A support vector machine decides by votes of pairs of classes, which its scores need not follow.
        by_scores = has_scores and not can_differ(model)
        instead = _softmax("model.decision_function") if by_scores else _one_hot("model.predict(X)", "model.classes_")
        raise OptionError(
            f"{type(model).__name__} has no predict_proba. Pass {instead} as the model, with classes=model.classes_."
        )
    advice = ""
    if is_catboost:
        advice = " Pass lambda X: model.predict(X, prediction_type='Probability'), or a CatBoostClassifier."
    elif hasattr(model, "predict"):
        advice = (
            " If its predict returns probabilities, pass model.predict, or nicecf.from_score(model.predict) for one "
            "score per row."
        )
    raise OptionError(
        "model must be a fitted classifier with predict_proba, a booster of XGBoost or LightGBM, a fitted regressor, "
        f"or a function rows -> probabilities; got {type(model).__name__}.{advice}"
    )


def _softmax(scores: str) -> str:
    """Return a function of a function's scores, one column per class, as a user writes it."""
    return f"lambda X: scipy.special.softmax({scores}(X), axis=1)"


def _one_hot(labels: str, classes: str) -> str:
    """Return a function that gives a probability of 1 to the label of each row, as a user writes it."""
    return f"lambda X: ({labels}[:, None] == {classes}).astype(float)"


def _is_outside(table: Floats) -> bool:
    """Return whether some numbers are no probabilities."""
    return bool(table.size and (table.min() < -_ROUNDING or table.max() > 1 + _ROUNDING))


def _sorted_labels(y: Objects) -> list[Any]:
    labels = list(pd.unique(pd.Series(y)))
    try:
        return sorted(labels)
    except TypeError as error:
        raise OptionError(
            f"the labels {listed(labels)} cannot be sorted, so the order of the model's columns is unknown. Pass "
            "classes=[...] in the order of the columns that the model returns."
        ) from error


def asked(model: Callable[[Any], Any], X: Table, n_rows: int) -> Any:
    """The answer of a model; a ModelError with the number of rows in place of any other error."""
    try:
        return model(X)
    except ModelError:
        raise
    except Exception as error:
        # Of XGBoost, whose boosters take nothing else.
        booster = " Pass the booster itself: NICE(booster)." if "a DMatrix object" in str(error) else ""
        raise ModelError(
            f"the model raised {type(error).__name__} when asked for {n_rows:,} rows: {_first_line(error)} "
            f"(the original error is above).{booster}"
        ) from error


def _first_line(error: Exception) -> str:
    """The first line of an error: some libraries append their whole stack."""
    return next(iter(str(error).splitlines()), "")[:300]


def numbers_of(answer: Any) -> Floats:
    """A model's answer (numpy, pandas, a tensor on the CPU) as floats; masked values as NaN."""
    detach = getattr(answer, "detach", None)
    if callable(detach):
        answer = detach().cpu()
    if isinstance(answer, np.ma.MaskedArray):
        answer = answer.filled(np.nan)
    if np.iscomplexobj(answer):
        raise TypeError("probabilities cannot be complex numbers")
    return np.asarray(answer, dtype=np.float64)
