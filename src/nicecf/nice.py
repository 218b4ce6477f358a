"""NICE: checks options, wires the other files, holds no logic of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from nicecf import rewards
from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.autoencoder import Autoencoder, error_by
from nicecf.classifier import Classifier, decide
from nicecf.distance import Heom, Scale
from nicecf.exceptions import ModelError, NotFittedError, OptionError, listed, plain
from nicecf.method import Question, Training, Witnesses, ask, learn, measure
from nicecf.neighbors import DonorIndex
from nicecf.result import Counterfactuals, Steps, answer
from nicecf.rewards import Reward, Round
from nicecf.schema import Schema
from nicecf.scorer import Cost
from nicecf.search.donors import DonorChoice
from nicecf.search.greedy import Walks, jump, walk_greedily


class NICE(BaseEstimator):
    """Nearest instance counterfactual explanations (Brughmans, Leyman and Martens).

    A counterfactual is a walk from a row to one *donor*, the nearest training row that the model puts in another
    class (and gets right), one feature at a time, until the decision changes.

    Parameters
    ----------
    model
        Any fitted classifier with ``predict_proba``, or a function rows -> probabilities with one column per class.
        One score per row: see :func:`nicecf.from_score`.
    optimize
        ``"none"``: the donor itself. ``"sparsity"``: few changes. ``"proximity"``: a short distance.
        ``"plausibility"``: close to the training data. Or a reward of your own: a function of a
        :class:`nicecf.rewards.Round` that returns one number per hybrid.
    search
        ``"greedy"``: the paper's search.
    distance
        ``"heom"``: the paper's distance.
    scale
        What a difference of numbers is divided by: the ``"range"`` of the training column (the paper's formula) or
        its ``"std"``.
    justified
        Whether a donor's label must agree with the model's decision on it.
    classes
        The names of the columns that a function returns; by default the sorted labels of ``y``. An estimator names
        them itself.
    plausibility
        A function rows -> error, lower is better, in place of the autoencoder that is trained at ``fit`` when
        ``optimize="plausibility"``.
    categorical_features
        ``"auto"``: the text, category and bool columns of a frame, none of an array. Or names, positions or a mask.
    random_state
        Seed of the autoencoder; None is 0. Nothing else is random.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> nice = NICE(model, optimize="sparsity").fit(X, y)
    >>> nice.explain(X.iloc[[0]], target_class=1)[0].text()
    'If petal width (cm) were 1.1 instead of 0.2, the model would say 1 (91 %) instead of 0 (100 %).'
    """

    def __init__(
        self,
        model: Any,
        *,
        optimize: Literal["none", "sparsity", "proximity", "plausibility"] | Reward = "sparsity",
        search: Literal["greedy"] = "greedy",
        distance: Literal["heom"] = "heom",
        scale: Scale = "range",
        justified: bool = True,
        classes: Iterable[Any] | None = None,
        plausibility: Callable[[Any], Any] | None = None,
        categorical_features: Any = "auto",
        random_state: int | None = None,
    ) -> None:
        self.model = model
        self.optimize = optimize
        self.search = search
        self.distance = distance
        self.scale = scale
        self.justified = justified
        self.classes = classes
        self.plausibility = plausibility
        self.categorical_features = categorical_features
        self.random_state = random_state
        self._check_options()

    def fit(self, X: Table, y: Any = None) -> Self:
        """Learn the columns, the model's decision on every training row, and the donors of each class.

        ``y`` holds the labels; it may be left out with ``justified=False``. The tables are read, never written to.
        """
        self._check_options()  # again, for set_params
        training = learn(
            self.model,
            X,
            y,
            classes=self.classes,
            categorical_features=self.categorical_features,
            needs_labels=self.justified,
        )
        learned = self._learned_from(training)
        # Nothing is set before all is learned: a fit that fails leaves the explainer as it was.
        self._learned = learned
        self.classes_ = _label_array(training.classifier.classes)
        self.feature_names_in_ = _label_array(training.schema.names)
        self.n_features_in_ = len(training.schema.names)
        return self

    def explain(self, X: Table, *, target_class: Any = "other") -> Counterfactuals:
        """One counterfactual for each row of ``X``: a table with the columns of ``fit``, one row or a million.

        ``target_class``: ``"other"``, any class but the one the model gives the row; a label; a list of labels that
        will all do; or an array with one label per row. A row that is in the target already comes back unchanged.
        (Should a class really be called "other", ``["other"]`` names it.)

        The same input gives the same answer, a batch the same as its rows one by one, and threads may share one
        explainer.
        """
        if not hasattr(self, "classes_"):
            raise NotFittedError("this NICE is not fitted yet. Call fit(X, y) with the training data first.")
        known = self._learned
        # NICE(none) asks for no hybrids, so there is nothing to look ahead for.
        choice = DonorChoice(known.donors, budget=0 if known.reward is None else known.cost.rows_worth_a_call)
        question = ask(known.schema, known.classifier, known.cost, known.witnesses, X, target_class, choice.look_ahead)
        is_asked = ~question.is_answered
        donors = choice.settle(question.rows, question.wanted, is_asked)
        walking = np.flatnonzero(donors >= 0)
        error = known.error(question.schema)
        walks = known.walk(question, walking, donors[walking], error)

        found = ~is_asked
        found[walking] = True
        values, after = question.rows.copy(), question.probabilities.copy()
        values[walking], after[walking] = walks.values, walks.probabilities
        positions = np.full(len(donors), -1, dtype=np.intp)
        positions[walking] = known.donors.positions[donors[walking]]
        _check_walks(question, walking, positions, after)
        return answer(
            X=question.X,
            schema=question.schema,
            rows=question.rows,
            values=values,
            before=question.probabilities,
            after=after,
            found=found,
            reasons=known.reasons(question.wanted, found),
            donors=positions,
            steps=Steps.of(len(found), walking[walks.walk], walks.feature, walks.step, walks.reached),
            classes=known.classifier.classes,
            distance=known.distance,
            error=error,
            model_calls=question.scorer.calls,
            model_rows=question.scorer.rows,
        )

    def _learned_from(self, training: Training) -> _Learned:
        decisions, n_classes = training.decisions, len(training.classifier.classes)
        reward = rewards.BY_NAME.get(self.optimize) if isinstance(self.optimize, str) else self.optimize
        is_categorical = training.schema.is_categorical
        measure_error: Autoencoder | Callable[[Any], Any] | None = self.plausibility
        if rewards.needs_plausibility(reward) and measure_error is None:
            seed = 0 if self.random_state is None else self.random_state
            measure_error = Autoencoder.train(training.values, is_categorical, seed=seed)
        is_donor = training.labels == decisions if self.justified else np.ones(len(decisions), dtype=bool)
        witnesses = Witnesses.of(training)
        distance = Heom.of(training.values, is_categorical, self.scale)
        # The index takes the encoded rows over and reorders them: no one may use them after this line.
        donors = DonorIndex.of(training.values, np.where(is_donor, decisions, -1), n_classes, distance)
        return _Learned(
            schema=training.schema,
            classifier=training.classifier,
            cost=measure(training, witnesses),
            witnesses=witnesses,
            distance=distance,
            donors=donors,
            donor_probabilities=training.probabilities[donors.positions],
            n_decided=np.bincount(decisions, minlength=n_classes),
            reward=reward,
            measure_error=measure_error,
        )

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy with the same options and the same fitted model: it is input, not part of NICE."""
        return type(self)(**self.get_params(deep=False))

    def _check_options(self) -> None:
        _choose("optimize", self.optimize, ("none", *rewards.BY_NAME), or_function=True)
        _choose("search", self.search, ("greedy",))
        _choose("distance", self.distance, ("heom",))
        _choose("scale", self.scale, ("range", "std"))
        if not isinstance(self.justified, (bool, np.bool_)):
            raise OptionError(f"justified must be True or False, got {self.justified!r}.")
        if self.plausibility is not None and not callable(self.plausibility):
            raise OptionError(f"plausibility must be a function rows -> error, got {type(self.plausibility).__name__}.")
        if self.random_state is not None and (
            isinstance(self.random_state, bool)
            or not isinstance(self.random_state, (int, np.integer))
            or not 0 <= self.random_state < 2**32
        ):
            raise OptionError(f"random_state must be an integer in [0, 2**32), or None, got {self.random_state!r}.")


@dataclass(frozen=True, eq=False)
class _Learned:
    """What ``fit`` learned; ``explain`` reads it and never writes."""

    schema: Schema
    classifier: Classifier
    cost: Cost
    witnesses: Witnesses
    distance: Heom
    donors: DonorIndex
    donor_probabilities: Floats
    n_decided: Ints
    reward: Callable[[Round], Floats] | None
    measure_error: Autoencoder | Callable[[Any], Any] | None

    def error(self, schema: Schema) -> Callable[[Floats], Floats] | None:
        """How implausible float rows are, for one call; None if this explainer has no measure of it."""
        if self.measure_error is None or isinstance(self.measure_error, Autoencoder):
            return self.measure_error
        return error_by(self.measure_error, schema)

    def walk(self, question: Question, walking: Ints, donors: Ints, error: Callable[[Floats], Floats] | None) -> Walks:
        """The walks of some rows, each to its donor."""
        rows, values = question.rows[walking], np.ascontiguousarray(self.donors.values[donors])
        if self.reward is None:
            return jump(rows, values, self.donor_probabilities[donors])
        return walk_greedily(
            rows,
            question.probabilities[walking],
            values,
            self.donor_probabilities[donors],
            question.wanted[walking],
            score=question.scorer,
            reward=self.reward,
            distance=self.distance,
            error=error if rewards.needs_plausibility(self.reward) else None,
        )

    def reasons(self, wanted: Bools, found: Bools) -> Objects:
        """Why rows have no counterfactual, in words; None where they have one."""
        reasons = np.full(len(found), None, dtype=object)
        for row in np.flatnonzero(~found):
            reasons[row] = self._reason(wanted[row])
        return reasons

    def _reason(self, wanted: Bools) -> str:
        classes = self.classifier.classes
        target = " or ".join(repr(plain(label)) for label in classes[wanted])
        n_rows, n_decided = int(self.n_decided.sum()), int(self.n_decided[wanted].sum())
        if n_decided:
            return (
                f"the model puts {n_decided:,} of {n_rows:,} training rows in {target}, but the label of none of them "
                "agrees, so there is no donor; justified=False would use them"
            )
        others = listed(classes[self.n_decided > 0])
        return f"the model predicts {others} for all {n_rows:,} training rows, so no donor for {target} exists"


def _check_walks(question: Question, walking: Ints, positions: Ints, after: Floats) -> None:
    """The last line of the contract: nothing leaves that the model did not put in the target."""
    reached = question.wanted[walking, decide(after[walking])]
    if not reached.all():
        row = walking[np.argmin(reached)]
        raise ModelError(
            f"the model does not answer the same rows in the same way: row {row} has the values of training row "
            f"{positions[row]}, but another class now than at fit. Call fit again with the model as it is."
        )


def _choose(option: str, value: object, choices: tuple[str, ...], *, or_function: bool = False) -> None:
    if (isinstance(value, str) and value in choices) or (or_function and callable(value)):
        return
    close = get_close_matches(str(value), choices, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    last = " or pass a reward function" if or_function else ""
    allowed = f"choose one of {listed(choices)}" if len(choices) > 1 else f"choose {choices[0]!r}"
    raise OptionError(f"{option}={value!r} is not known; {allowed}{last}.{hint}")


def _label_array(labels: Iterable[Any]) -> Any:
    """Labels as scikit-learn holds them: an array of their own dtype, where numpy has one for them."""
    labels = list(labels)
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    if len({type(label) for label in labels}) > 1 or not isinstance(labels[0], (str, bool, int, float)):
        return objects
    return objects if isinstance(labels[0], str) else np.array(labels)
