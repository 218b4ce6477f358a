"""The decision as it is deployed: how probabilities become a class, and what all models must agree on.

The *outputs* of a row are one line of floats: the probabilities of the model to explain, then those of each further
model that must agree, each followed by the class from the model's own ``predict`` if that decides. A regressor has its
score in the place of both of two probabilities. Only this file knows the layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from nicecf.exceptions import ModelError, OptionError, did_you_mean, listed, plain
from nicecf.models.boosters import is_booster
from nicecf.models.classifier import Classifier, score_towards
from nicecf.models.deciding import can_differ, deciding, sklearn_class
from nicecf.models.scores import Regressor, ScoreTarget
from nicecf.support.types import Bools, Floats, Ints, Objects, Table, is_number

# How much a probability may differ between fit and explain: single precision sums depend on the batch.
SAME_MODEL = 1e-6

# Of the outputs of a model with two classes, the score: the probability of the second, or a regressor's score.
_SCORE = 1

_CHANGED = (
    "the model is not the one that fit saw: for training row {row} {said} (differences up to "
    f"{SAME_MODEL:g} count as rounding). If it was retrained, call fit again; if its answers are random (dropout left "
    "on?) or depend on the other rows in the batch (half precision?), make them deterministic."
)

# What a user may pass: a cut-off, one per class for some classes, a function probabilities -> labels, or "predict".
Option: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Rule:
    """How one model decides: by its highest probability, unless something else is given.

    ``cutoffs``: one per class, NaN if a class has none. The decision is a class whose probability reaches its cut-off;
    of several, the one with the highest ratio to its cut-off. If none does, it is the most probable of the classes
    without a cut-off (or, if all have one, the class with the highest ratio).
    """

    cutoffs: Floats | None = None
    function: Callable[[Floats], Any] | None = None
    by_predict: bool = False

    @property
    def is_highest(self) -> bool:
        """Whether the decision is the class with the highest probability."""
        return self.cutoffs is None and self.function is None and not self.by_predict

    def decide(self, outputs: Floats, classes: Objects) -> Ints:
        """The class of each row, as a position; on a tie, the first."""
        probabilities = outputs[:, : len(classes)]
        if self.by_predict:
            return outputs[:, len(classes)].astype(np.intp)
        if self.function is not None:
            return self._by_function(probabilities, classes)
        if self.cutoffs is None:
            return np.argmax(probabilities, axis=1)
        has_none = np.isnan(self.cutoffs)
        share = probabilities / np.where(has_none, 1.0, self.cutoffs)
        is_reached = ~has_none & (probabilities >= self.cutoffs)
        by_share = np.where(is_reached, share, -1.0)
        otherwise = np.where(has_none, probabilities, -1.0) if has_none.any() else share
        return np.where(is_reached.any(axis=1), by_share.argmax(axis=1), otherwise.argmax(axis=1))

    def _by_function(self, probabilities: Floats, classes: Objects) -> Ints:
        if self.function is None or not len(probabilities):
            return np.empty(0, dtype=np.intp)
        try:
            decided = self.function(probabilities.copy())
        except Exception as error:
            raise ModelError(
                f"the decision function raised {type(error).__name__} when asked for {len(probabilities):,} rows: "
                f"{error} (the original error is above)."
            ) from error
        return _positions(decided, classes, len(probabilities), "the decision function")


@dataclass(frozen=True, eq=False)
class Member:
    """One model and how it decides. ``columns``: its probabilities in the class order of the model to explain.

    ``predict``: that of the model, if it has one. ``predict_differs``: it can say something else than the highest
    probability, by which the model decides here, so that it is compared for what is handed out.
    """

    classifier: Classifier | Regressor
    rule: Rule
    columns: Ints
    predict: Callable[[Any], Any] | None
    predict_differs: bool = False

    def outputs(self, X: Table, n_rows: int) -> Floats:
        """The outputs of this model for some rows."""
        probabilities = self.classifier.probabilities(X, n_rows)[:, self.columns]
        if not self.rule.by_predict:
            return probabilities
        classes = self.classifier.classes[self.columns]
        try:
            predicted = self.predict(X) if self.predict else None
        except Exception as error:
            raise ModelError(
                f"the model's predict raised {type(error).__name__} when asked for {n_rows:,} rows: {error} "
                "(the original error is above)."
            ) from error
        return np.column_stack([probabilities, _positions(predicted, classes, n_rows, "the model's predict")])

    def own_labels(self, X: Table, n_rows: int) -> Objects | None:
        """Return what ``predict`` says, to be compared; None unless that is one label for each row."""
        try:
            predicted = None if self.predict is None else np.asarray(self.predict(X), dtype=object)
        except Exception:  # nothing depends on it: the probabilities decide
            return None
        return None if predicted is None or predicted.size != n_rows else predicted.reshape(n_rows)


@dataclass(frozen=True, eq=False)
class Panel:
    """The model to explain, first, and all others that must agree on every counterfactual.

    ``min_probability``: the minimum probability of the decided class, for each of them. ``silent``: the numbers of
    members whose outputs are computed but who need not agree. ``target``: the scores that are wanted, if it is scores:
    then the decision is whether a score lies there, and it stands wherever a probability does. ``spread``: what the
    scores of a regressor range over, by which it is told whether they are still the same.
    """

    members: tuple[Member, ...]
    min_probability: float | None = None
    silent: frozenset[int] = frozenset()
    target: ScoreTarget | None = None
    spread: float = 1.0

    @property
    def is_regressor(self) -> bool:
        """Whether the model to explain returns scores, and no classes."""
        return isinstance(self.members[0].classifier, Regressor)

    def without(self, number: int) -> Panel:
        """The same panel, but this member need not agree."""
        return replace(self, silent=self.silent | {number})

    @property
    def classes(self) -> Objects:
        """The names of the classes."""
        return self.members[0].classifier.classes if self.target is None else self.target.classes

    @property
    def width(self) -> int:
        """The number of output columns."""
        return sum(len(self.classes) + member.rule.by_predict for member in self.members)

    @property
    def is_alone(self) -> bool:
        """Whether every row is accepted for the class decided: one model, no margin."""
        return len(self.members) == 1 and self.min_probability is None

    def named(self, wanted: Bools) -> str:
        """Wanted classes in words: ``'no' or 'perhaps'``."""
        return " or ".join(repr(plain(label)) for label in self.classes[wanted])

    def outputs(self, X: Table, n_rows: int) -> Floats:
        """The outputs of all models for some rows, one line per row."""
        parts = [member.outputs(X, n_rows) for member in self.members]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def probabilities(self, outputs: Floats) -> Floats:
        """The probabilities of the model to explain; where there is a target, its score, for each class."""
        if self.target is not None:
            return outputs[:, [_SCORE, _SCORE]]
        return outputs[:, : len(self.classes)]

    def decide(self, outputs: Floats) -> Ints:
        """The decision of the model to explain: positions among the classes."""
        return self._decided(self.members[0], outputs)

    def _decided(self, member: Member, block: Floats) -> Ints:
        if self.target is not None:
            return self.target.holds(block[:, _SCORE]).astype(np.intp)
        return member.rule.decide(block, self.classes)

    def accepts(self, outputs: Floats, wanted: Bools) -> Bools:
        """Whether all models accept a row for a wanted class. ``wanted``: one line per row, or one for all."""
        wanted = np.broadcast_to(wanted, (len(outputs), len(self.classes)))
        is_accepted = np.ones(len(outputs), dtype=bool)
        for member, block in self.blocks(outputs):
            is_accepted &= self.is_accepted_by(member, block, wanted)
        return is_accepted

    def is_accepted_by(self, member: Member, block: Floats, wanted: Bools) -> Bools:
        """Whether one model accepts rows, by its own outputs."""
        line, decided = np.arange(len(block)), self._decided(member, block)
        is_accepted = wanted[line, decided]
        if self.min_probability is not None:
            is_accepted = is_accepted & (block[line, decided] >= self.min_probability)
        return np.asarray(is_accepted)

    def scores(self, outputs: Floats, wanted: Bools, *, least: bool = False) -> Floats:
        """Compute how close rows are to their target: the mean over the models, or the ``least`` of them."""
        wanted = np.broadcast_to(wanted, (len(outputs), len(self.classes)))
        scores = [self._score(block, wanted) for _, block in self.blocks(outputs)]
        return scores[0] if len(scores) == 1 else np.asarray((np.min if least else np.mean)(scores, axis=0))

    def _score(self, block: Floats, wanted: Bools) -> Floats:
        if self.target is None:
            return score_towards(self.probabilities(block), wanted)
        return self.target.nearness(block[:, _SCORE]) * np.where(wanted[:, 1], 1.0, -1.0)

    def nearness(self, outputs: Floats) -> Floats:
        """How near the scores of rows are to the target: that of the model that is farthest off; from 0 on, in it."""
        assert self.target is not None
        each = [self.target.nearness(block[:, _SCORE]) for _, block in self.blocks(outputs)]
        return np.asarray(np.min(each, axis=0))

    def with_spread(self, outputs: Floats) -> Panel:
        """The same panel, which knows what the scores of a regressor range over; ``outputs``: of training rows."""
        if not self.is_regressor or not len(outputs):
            return self
        scores = outputs[:, _SCORE]
        return replace(self, spread=float(np.ptp(scores)) or float(np.abs(scores).max()) or 1.0)

    def check_unchanged(self, then: Floats, now: Floats, positions: Ints) -> None:
        """Raise ModelError if a model answers differently for training rows now than at ``fit``."""
        moved = np.zeros(len(then))
        for (_, before), (_, after) in zip(self.blocks(then), self.blocks(now), strict=True):
            moved = np.maximum(moved, self._moved(before, after).max(axis=1))
        if not len(moved) or moved.max() <= SAME_MODEL:
            return
        worst = int(np.argmax(moved))
        before, after = self.probabilities(then)[worst], self.probabilities(now)[worst]
        if self.is_regressor or self.target is not None:
            raise ModelError(_CHANGED.format(row=positions[worst], said=_said_of_scores(before[0], after[0])))
        label = int(np.argmax(before))
        if abs(before[label] - after[label]) <= SAME_MODEL:
            label = int(np.argmax(np.abs(before - after)))
        is_own = abs(before[label] - after[label]) > SAME_MODEL
        said = (
            f"it gave {plain(self.classes[label])!r} a probability of {before[label]:.7g} then and gives it "
            f"{after[label]:.7g} now"
            if is_own
            else f"a probability of a model in robust_to changed by {moved[worst]:.2g}"
        )
        raise ModelError(_CHANGED.format(row=positions[worst], said=said))

    def _moved(self, before: Floats, after: Floats) -> Floats:
        """How much answers differ; of scores, as a share of what they range over, or of themselves."""
        before, after = self.probabilities(before), self.probabilities(after)
        return np.abs(before - after) / (np.maximum(self.spread, np.abs(before)) if self.is_regressor else 1.0)

    def confidence(self, outputs: Floats) -> Floats:
        """The lowest probability that any model gives the class it decides on."""
        line = np.arange(len(outputs))
        decided = [block[line, self._decided(member, block)] for member, block in self.blocks(outputs)]
        return np.asarray(np.min(decided, axis=0))

    def blocks(self, outputs: Floats) -> Iterable[tuple[Member, Floats]]:
        """The models that must agree, each with its own columns of the outputs."""
        at = 0
        for number, member in enumerate(self.members):
            width = len(self.classes) + member.rule.by_predict
            if number not in self.silent:
                yield member, outputs[:, at : at + width]
            at += width


def rule_of(decision: Option, model: Any, classes: Objects) -> Rule:
    """The rule for an option; without one, the threshold of the model itself, if it has a known one."""
    if decision is None:
        return _known_threshold(model, classes)
    if isinstance(decision, str):
        if decision != "predict":
            raise OptionError(f"decision={decision!r} is not known; {_ALLOWED}.{did_you_mean(decision, ['predict'])}")
        if is_booster(model):
            raise OptionError(
                "decision='predict' needs a model whose predict returns labels; that of a booster returns scores. Pass "
                "a cut-off instead, such as decision=0.3."
            )
        if not callable(getattr(model, "predict", None)):
            raise OptionError(f"decision='predict' needs a model with predict; this {type(model).__name__} has none.")
        return Rule(by_predict=True)
    if isinstance(decision, Mapping):
        return Rule(cutoffs=_cutoffs(decision, classes))
    if is_number(decision):
        if len(classes) != 2:
            raise OptionError(
                f"decision={decision!r} is one cut-off, but the model has {len(classes)} classes ({listed(classes)}). "
                f"Name its class: decision={{{plain(classes[-1])!r}: {decision!r}}}."
            )
        return Rule(cutoffs=_cutoffs({classes[1]: decision}, classes))
    if callable(decision):
        return Rule(function=decision)
    raise OptionError(f"decision={decision!r} is not known; {_ALLOWED}.")


_ALLOWED = (
    "pass a cut-off for the probability of the second class, such as 0.12, a dict {class: cut-off}, a function "
    "probabilities -> labels, 'predict' for the model's own predict, or None for the highest probability"
)


def member_of(model: Any, classifier: Classifier | Regressor, decision: Option, classes: Objects) -> Member:
    """A model with its rule; ``classes`` are those of the model to explain, in its order."""
    if isinstance(classifier, Regressor):
        return Member(classifier, Rule(), np.arange(2), None)
    position_of = {label: position for position, label in enumerate(classifier.classes)}
    if set(position_of) != set(classes):
        raise OptionError(
            f"a model in robust_to has the classes {listed(classifier.classes)}, but the model to explain has "
            f"{listed(classes)}. Models that must agree need the same classes."
        )
    columns = np.array([position_of[label] for label in classes], dtype=np.intp)
    rule = rule_of(decision, model, classes)
    predict = getattr(model, "predict", None) if rule.by_predict or hasattr(model, "predict_proba") else None
    differs = rule.is_highest and callable(predict) and can_differ(model)
    return Member(classifier, rule, columns, predict, differs)


def check_min_probability(value: Any) -> None:
    """OptionError unless it is a probability, or None."""
    if value is not None and not (is_number(value) and 0 < value <= 1):
        raise OptionError(
            f"min_probability must be a number above 0 and at most 1 (the minimum probability of a counterfactual's "
            f"class), or None, got {value!r}."
        )


def _cutoffs(by_class: Mapping[Any, Any], classes: Objects) -> Floats:
    if not by_class:
        raise OptionError(f"decision={{}} names no class; {_ALLOWED}.")
    position_of = {label: position for position, label in enumerate(classes)}
    cutoffs = np.full(len(classes), np.nan)
    for label, cutoff in by_class.items():
        if plain(label) not in position_of:
            raise OptionError(
                f"decision has a cut-off for {plain(label)!r}, which is not a class of the model; choose one of "
                f"{listed(classes)}."
            )
        if not (is_number(cutoff) and 0 < cutoff < 1):
            raise OptionError(
                f"decision has the cut-off {cutoff!r} for {plain(label)!r}; it must be a number greater than 0 "
                "and less than 1: at 0 and at 1 there is nothing left to decide."
            )
        cutoffs[position_of[plain(label)]] = cutoff
    return cutoffs


def _known_threshold(model: Any, classes: Objects) -> Rule:
    """The threshold of scikit-learn's FixedThresholdClassifier or TunedThresholdClassifierCV, alone or last."""
    last = deciding(model)
    if sklearn_class(last, ("FixedThresholdClassifier", "TunedThresholdClassifierCV")) is None:
        return Rule()
    threshold = getattr(last, "best_threshold_", getattr(last, "threshold", None))
    positive = getattr(last, "pos_label", None)
    if threshold == "auto":
        threshold = 0.5
    reads_probabilities = getattr(last, "response_method", None) in ("auto", "predict_proba")
    if not (reads_probabilities and is_number(threshold) and 0 < threshold < 1):
        return Rule(by_predict=True)
    return Rule(cutoffs=_cutoffs({classes[1] if positive is None else positive: float(threshold)}, classes))


def _positions(labels: Any, classes: Objects, n_rows: int, who: str) -> Ints:
    """The labels that a function returned, as positions among the classes."""
    named = np.asarray(labels.to_list() if hasattr(labels, "to_list") else labels, dtype=object)
    if named.shape == (n_rows, 1):
        named = named[:, 0]
    if named.shape != (n_rows,):
        raise ModelError(f"{who} returned shape {named.shape}, expected ({n_rows},): one label per row.")
    position_of = {label: position for position, label in enumerate(classes)}
    try:
        return np.array([position_of[plain(label)] for label in named], dtype=np.intp)
    except (KeyError, TypeError):
        unknown = next(plain(label) for label in named if _unhashable(label) or plain(label) not in position_of)
        raise ModelError(
            f"{who} returned {unknown!r}, which is not a class of the model; its classes are {listed(classes)}."
        ) from None


def _said_of_scores(before: float, after: float) -> str:
    if before == after:
        return "a score of a model in robust_to changed"
    return f"its score was {before:.7g} then and is {after:.7g} now"


def _unhashable(label: object) -> bool:
    try:
        hash(label)
    except TypeError:
        return True
    return False
