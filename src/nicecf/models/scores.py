"""Models that return a score: regressors, and the targets that a score can have.

A score stands where the probabilities of two classes stand, once for each: whichever of the two is decided on has it.
A target makes the classes: scores that lie in it, and all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor as _is_sklearn_regressor

from nicecf.exceptions import ModelError, OptionError, SchemaError, plain
from nicecf.models.boosters import Booster, for_classes, is_booster, kind_of
from nicecf.models.classifier import ScoreModel, asked, numbers_of
from nicecf.support.formats import shown
from nicecf.support.phrases import Statement, Value
from nicecf.support.types import Bools, Floats, Ints, Objects, Table, is_number

# The classes of a regressor as long as there is no target: every row is in the first.
_NO_TARGET = ("score", "no score")


def is_regressor(model: Any) -> bool:
    """Whether a model returns scores: a regressor of any library, or ``from_score(f, kind="score")``.

    OptionError for a booster that is not trained.
    """
    if is_booster(model):
        return kind_of(model) == "regression"
    if isinstance(model, ScoreModel):
        return model.kind == "score"
    if isinstance(model, type) or hasattr(model, "predict_proba") or not hasattr(model, "predict"):
        return False
    if hasattr(model, "__sklearn_tags__"):
        return bool(_is_sklearn_regressor(model))
    return getattr(model, "_estimator_type", None) == "regressor"


@dataclass(frozen=True, eq=False)
class Regressor:
    """A model with one score per row, in the place of a `Classifier`."""

    predict: Callable[[Any], Any]
    for_classes: str = ""  # what to do if classes were meant

    @classmethod
    def of(cls, model: Any) -> Regressor:
        """Find the function for scores."""
        if not is_regressor(model):
            raise OptionError(
                f"a model in robust_to is a {type(model).__name__}, but the model to explain returns scores. Models "
                "that must agree are all regressors, or from_score(f, kind='score')."
            )
        if isinstance(model, ScoreModel):
            return cls(model.score)
        return cls(Booster.of(model).predict, for_classes(model)) if is_booster(model) else cls(model.predict)

    @property
    def classes(self) -> Objects:
        """Two names that stand for no classes yet."""
        return np.array(_NO_TARGET, dtype=object)

    def codes(self, labels: Objects) -> Ints:
        """All rows are in the first class."""
        return np.zeros(len(labels), dtype=np.intp)

    def probabilities(self, X: Table, n_rows: int) -> Floats:
        """Call the model and check its answer: the score of each row, twice."""
        answer = asked(self.predict, X, n_rows)
        try:
            scores = numbers_of(answer)
        except (TypeError, ValueError) as error:
            raise ModelError(f"the model returned {type(answer).__name__}, which is not numbers: {error}") from error
        if scores.shape == (n_rows, 1):
            scores = scores[:, 0]
        if scores.shape != (n_rows,):
            raise ModelError(
                f"the model returned shape {scores.shape}, expected ({n_rows},): one score per row. Of a model with "
                "several outputs, explain one at a time: nicecf.from_score(lambda X: model.predict(X)[:, 0], "
                "kind='score')."
            )
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise ModelError(
                f"the model returned {scores[row]} for row {row} of {n_rows}: a score must be a finite number. Does it "
                "accept the missing values in the rows?"
            )
        return np.column_stack([scores, scores])


def scores_of(labels: Objects, model: Any = None) -> Floats:
    """The labels of a regressor's training rows; SchemaError where they are not numbers."""
    wrong = [position for position, label in enumerate(labels) if not is_number(plain(label))]
    if wrong:
        raise SchemaError(
            f"y holds {plain(labels[wrong[0]])!r} (row {wrong[0]}), but the model returns scores: pass the numbers "
            f"that it was trained on.{for_classes(model)}"
        )
    return labels.astype(np.float64)


@dataclass(frozen=True)
class ScoreTarget:
    """Scores from ``low`` to ``high``, both included; ``scale``: the distance to its bounds that counts as 1."""

    low: float
    high: float
    scale: float = 1.0

    @classmethod
    def of(cls, given: Any) -> ScoreTarget:
        """Read what a user passed: a pair of bounds, None for an open end."""
        if not isinstance(given, Sequence) or isinstance(given, (str, bytes)) or len(given) != 2:
            raise OptionError(f"target_score={given!r} is not a pair; {_ALLOWED}.")
        for bound in given:
            if bound is not None and not (is_number(plain(bound)) and bound == bound):
                raise OptionError(f"target_score={tuple(given)!r} has the bound {bound!r}; {_ALLOWED}.")
        low, high = (infinite if bound is None else float(bound) for bound, infinite in zip(given, _OPEN, strict=True))
        if low == -np.inf and high == np.inf:
            raise OptionError(
                f"target_score={tuple(given)!r} has no bound, so that every score lies in it; {_ALLOWED}."
            )
        if low > high or low == np.inf or high == -np.inf:
            raise OptionError(
                f"target_score={tuple(given)!r} is empty: no score is at least {low:g} and at most {high:g}. Swap the "
                "bounds, or leave one open with None."
            )
        return cls(low, high)

    @property
    def given(self) -> tuple[float | None, float | None]:
        """The bounds as a user writes them."""
        return (None if self.low == -np.inf else self.low, None if self.high == np.inf else self.high)

    @property
    def classes(self) -> Objects:
        """What scores outside and inside are called: the second is wanted."""
        low, high = (shown(one) for one in (self.low, self.high))
        if self.high == np.inf:
            return np.array([f"below {low}", f"at least {low}"], dtype=object)
        if self.low == -np.inf:
            return np.array([f"above {high}", f"at most {high}"], dtype=object)
        return np.array([f"outside {low} to {high}", f"{low} to {high}"], dtype=object)

    @property
    def statements(self) -> tuple[Statement, Statement]:
        """The same, to be put into words."""
        low, high = (Value(bound, is_score=True) for bound in (self.low, self.high))
        if self.high == np.inf:
            return Statement("target.below", {"low": low}), Statement("target.at_least", {"low": low})
        if self.low == -np.inf:
            return Statement("target.above", {"high": high}), Statement("target.at_most", {"high": high})
        bounds = {"low": low, "high": high}
        return Statement("target.outside", bounds), Statement("target.between", bounds)

    def holds(self, scores: Floats) -> Bools:
        """Whether scores lie in the target."""
        return np.asarray((scores >= self.low) & (scores <= self.high))

    def margins(self, scores: Floats) -> Floats:
        """How far inside the target scores lie; negative: how far outside."""
        return np.minimum(scores - self.low, self.high - scores)

    def nearness(self, scores: Floats) -> Floats:
        """The same as a share of how far training scores are from the target; rows may be farther."""
        return self.margins(scores) / self.scale

    def closeness(self, scores: Floats) -> Floats:
        """The same as a number between -1 and 1, for shades."""
        return np.clip(self.nearness(scores), -1.0, 1.0)

    def text(self, score: float) -> str:
        """A score for people: about three digits of what scores range over, or as many more as its side takes.

        >>> target = ScoreTarget(90.0, np.inf, scale=250.0)
        >>> target.text(218.1423), target.text(89.96)
        ('218', '89.96')
        """
        if not np.isfinite(score) or abs(score) >= _LARGEST_IN_DIGITS:
            return repr(float(score))
        decimals = max(0, 2 - int(np.floor(np.log10(self.scale))))
        side = self.holds(np.array([score]))
        for digits in range(decimals, _MOST_DECIMALS):
            rounded = round(float(score), digits)
            if self.holds(np.array([rounded])) == side:
                return f"{rounded + 0.0:.{digits}f}"
        return repr(float(score))

    def scaled_to(self, scores: Floats) -> ScoreTarget:
        """The same target, in which the farthest of some scores are 1 away from its bounds."""
        farthest = float(np.abs(self.margins(scores)).max(initial=0.0))
        return ScoreTarget(self.low, self.high, farthest or 1.0)


_OPEN = (-np.inf, np.inf)
_MOST_DECIMALS = 15
_LARGEST_IN_DIGITS = 1e15
_ALLOWED = "pass (low, high) with two numbers, both included, or None for an open end, such as (5000, None)"
