"""DiCE: what the dice-ml package finds, one row at a time."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Literal

import numpy as np

from nicecf.baselines.asking import generators, read, rounded, towards
from nicecf.baselines.baseline import Baseline, Find, Found
from nicecf.baselines.dice_data import Table, dice_ml
from nicecf.baselines.moves_back import MovesBack
from nicecf.exceptions import NicecfError
from nicecf.explain.training import Training
from nicecf.models.scorer import OutOfTime, Scorer
from nicecf.rules.constraints import Constraints
from nicecf.search.question import Question
from nicecf.support.clock import now
from nicecf.support.options import check_count, check_flag, check_seconds, check_seed, choose
from nicecf.support.phrases import Statement, plain_features
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import differs

METHODS = ("random", "genetic", "kdtree")
_HAVE_POSTHOC = ("random", "kdtree")

_WANTED = 1
_MOST_ATTEMPTS = 10

# dice-ml draws from the random states of the whole process: one row at a time, whoever asks.
_dice_lock = Lock()


class DiCE(Baseline):
    """DiCE by the dice-ml package (Mothilal, Sharma and Tan, "Explaining machine learning classifiers through diverse
    counterfactual explanations", 2020).

    Parameters
    ----------
    method
        ``"random"`` (the NICE paper's) changes one more feature of a thousand copies of the row, by chance, until some
        are accepted, and takes one of these. ``"genetic"`` breeds from the nearest accepted training rows.
        ``"kdtree"`` takes the nearest of these as it is.
    n_counterfactuals
        At most this many for each row, those that change the fewest features first. dice-ml may find fewer.
    posthoc_sparsity
        Whether numbers that changed little move back towards the row's own for as long as the model accepts that.
        dice-ml does so for ``"random"`` and ``"kdtree"`` alone, and so does this.
    seconds_per_row
        What a row may take before it is given up, or None for no limit. ``"genetic"`` needs one: it wants ten accepted
        rows to begin with and, where chance finds fewer, looks for ever. What can be done in that time depends on the
        machine.
    random_state
        Seed; None is 0.

    Notes
    -----
    Where it is not the paper: none of the three is the paper's gradient descent, which needs a differentiable model.
    The experiments of the NICE paper asked ``"random"`` for three counterfactuals of each row and scored those that
    dice-ml had before its post-hoc step; they gave it the test rows too, and here it has the training rows alone. Its
    "GeCo" is ``"genetic"``, asked for three.

    The post-hoc step is ours, by dice-ml's rule: a number may move back if it is no further away than the tenth part of
    the column's distinct values that is nearest to their median, nor than the median absolute deviation; columns where
    that is far come first. dice-ml goes one unit of the last decimal at a time, 10,000 of them at most, which in a
    column of fifteen decimals leads nowhere. Here it is the same units where 100 are enough, else 100 equal steps, and
    the last of them is the row's own number to the last digit.

    Numbers keep all their digits (dice-ml would have 32 bits of them, and round them after its own check), and the
    weights of the genetic method are not rounded to two decimals, which are 0 for columns of large numbers. dice-ml
    takes no missing numbers: training rows with one are left out, and rows with one have no counterfactual. A missing
    category is a category.

    dice-ml takes one row at a time, so this is not in lock-step: the model is called for every row apart. Meanwhile
    numpy's and Python's global random numbers are seeded by ``random_state`` and the row; afterwards they are what they
    were. Threads wait for each other. Needs dice-ml (the extra ``dice``).
    """

    def __init__(
        self,
        model: Any,
        *,
        method: Literal["random", "genetic", "kdtree"] = "random",
        n_counterfactuals: int = 1,
        posthoc_sparsity: bool = True,
        seconds_per_row: float | None = 60.0,
        random_state: int | None = None,
        classes: Iterable[Any] | None = None,
        categorical_features: Any = "auto",
        decision: Any = None,
        constraints: Constraints | None = None,
    ) -> None:
        super().__init__(
            model,
            classes=classes,
            categorical_features=categorical_features,
            decision=decision,
            constraints=constraints,
        )
        self.method = method
        self.n_counterfactuals = n_counterfactuals
        self.posthoc_sparsity = posthoc_sparsity
        self.seconds_per_row = seconds_per_row
        self.random_state = random_state

    def _check_options(self) -> None:
        choose("method", self.method, METHODS)
        check_count("n_counterfactuals", self.n_counterfactuals)
        check_flag("posthoc_sparsity", self.posthoc_sparsity)
        check_seconds("seconds_per_row", self.seconds_per_row)
        check_seed(self.random_state)
        dice_ml()

    def _search_of(self, training: Training, values: Floats) -> Find:
        is_number = ~training.schema.is_categorical
        is_complete = ~np.isnan(values[:, is_number]).any(axis=1)
        table = Table.of(training.schema, values[is_complete], as_text=self.method != "random")
        moves_back = MovesBack.of(table) if self.posthoc_sparsity and self.method in _HAVE_POSTHOC else None
        outputs = training.outputs[is_complete]
        return _RowByRow(self.method, self.seconds_per_row, self.random_state, table, outputs, moves_back)


class _WantedOrNot:
    """The model as dice-ml sees it during one ``explain`` call: class 1 is what the row at hand wants."""

    def __init__(self, question: Question, table: Table, outputs: Floats) -> None:
        self._line = 0
        self._question = question
        self._table = table
        self._outputs = outputs

    def turn_to(self, line: int, score: Scorer) -> None:
        """The row at hand, and the model until its deadline."""
        self._line = line
        self._question = replace(self._question, score=score)

    def predict_proba(self, frame: Any) -> Floats:
        """Not wanted and wanted, in [0, 1]; wanted is above a half exactly where the model accepts the row."""
        # What is remembered costs the scorer no time: it would not notice that dice-ml runs in circles.
        if self._question.score.is_out_of_time():
            raise OutOfTime
        values = self._table.rows(frame)
        lines = np.full(len(values), self._line)
        # Two methods ask about the whole training data for every row; fit knows the answers.
        if np.array_equal(values, self._table.values):
            _, far = read(self._question, lines, values, self._outputs)
        else:
            _, far = towards(self._question, lines, rounded(self._question, lines, values))
        return np.column_stack([1.0 - far, far])

    @property
    def wanted(self) -> bytes:
        """What makes two rows ask for the same."""
        return self._question.wanted[self._line].tobytes()

    def predict(self, frame: Any) -> Ints:
        """Whether a row is wanted."""
        return self.predict_proba(frame).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class _RowByRow:
    method: str
    seconds_per_row: float | None
    random_state: int | None
    table: Table
    outputs: Floats
    moves_back: MovesBack | None

    def __call__(self, question: Question) -> Found:
        found = Found.nothing(question)
        model = _WantedOrNot(question, self.table, self.outputs)
        explainer = None
        for line, generator in enumerate(generators(question, self.random_state)):
            found.reasons[line] = self._refusal(question, line)
            if found.reasons[line] is None:
                own_deadline = self._deadline_of_row(question.score.deadline)
                try:
                    with _dice_alone(int(generator.integers(2**32)), question.score.deadline) as dice:
                        own_deadline = self._deadline_of_row(question.score.deadline)
                        model.turn_to(line, question.score.until(own_deadline))
                        explainer = explainer or dice(self._explainer, model)
                        values = dice(self._ask, explainer, question.rows[[line]], question.n_wanted)
                    self._take(found, question, line, own_deadline, values)
                except OutOfTime:
                    if own_deadline == question.score.deadline:  # not the row's own, which is earlier
                        found.is_cut[line:] = True
                        break
                    found.reasons[line] = Statement(
                        "reason.dice_out_of_time",
                        {"seconds": float(self.seconds_per_row or 0), "target": question.target(line)},
                    )
                    explainer = None  # who knows what it was at
                except NicecfError:
                    raise  # the model's, not dice-ml's
                except Exception as error:  # dice-ml raises what pandas, numpy and Python do, for what it cannot do
                    found.reasons[line] = self._failure(error, question, line)
                    explainer = None
            question.report(line + 1)
        return found

    def _take(self, found: Found, question: Question, line: int, own_deadline: float | None, values: Floats) -> None:
        """What dice-ml found for a row, fewest changes first; where time is up meanwhile, as far as it went."""
        values = rounded(question, np.full(len(values), line), values)
        if self.moves_back is not None:
            try:
                self.moves_back(replace(question, score=question.score.until(own_deadline)), line, values)
            except OutOfTime:
                found.is_cut[line] = True
                if own_deadline != question.score.deadline:
                    found.notes[line] = (Statement("note.row_limit", {"seconds": float(self.seconds_per_row or 0)}),)
        n_changes = differs(question.rows[[line]], values).sum(axis=1)
        found.take_all(line, values[np.argsort(n_changes, kind="stable")])

    def _deadline_of_row(self, deadline: float | None) -> float | None:
        if self.seconds_per_row is None:
            return deadline
        own = now() + self.seconds_per_row
        return own if deadline is None else min(own, deadline)

    def _refusal(self, question: Question, line: int) -> Statement | None:
        """Why dice-ml would not take the row, or None."""
        row, names, target = question.rows[line], question.schema.names, question.target(line)
        if not len(self.table.values):
            return Statement("reason.dice_all_missing", {"target": target})
        if self.method == "genetic" and len(row) == 1:
            return Statement("reason.dice_one_feature", {"target": target})
        if self.method != "random" and not question.panel.accepts(self.outputs, question.wanted[line]).any():
            return Statement("reason.dice_no_training_row", {"method": repr(self.method), "target": target})
        if missing := [names[j] for j in self.table.numbers if np.isnan(row[j])]:
            return Statement("reason.dice_missing", {"features": plain_features(missing), "target": target})
        if unseen := [names[j] for j in self.table.categories if not (self.table.values[:, j] == row[j]).any()]:
            return Statement("reason.dice_unseen", {"features": plain_features(unseen), "target": target})
        return None

    def _explainer(self, model: _WantedOrNot) -> Any:
        package = dice_ml()
        explainer = package.Dice(
            self.table.interface, package.Model(model=model, backend="sklearn"), method=self.method
        )
        # It would round after its last check, and what it rounds need not be accepted (its issue 473).
        explainer.round_to_precision = lambda: None
        if self.method == "random":
            explainer.get_continuous_samples = _samples
        if self.method == "genetic":
            explainer.label_decode = functools.partial(self.table.decoded, explainer)
        if self.method != "random":
            explainer.build_KD_tree = _for_each_wanted(explainer.build_KD_tree, model)
        return explainer

    def _ask(self, explainer: Any, row: Floats, n_wanted: int) -> Floats:
        options: dict[str, Any] = {"total_CFs": n_wanted, "desired_class": _WANTED, "posthoc_sparsity_param": None}
        if self.method == "genetic":
            options["feature_weights"] = self.table.weights()
            # Without numbers its proximity is 0 / 0, and nothing is nearer than anything else.
            options["proximity_weight"] = 0.2 if len(self.table.numbers) else 0.0
        answers = explainer.generate_counterfactuals(self.table.frame(row), **options)
        return self.table.rows(answers.cf_examples_list[0].final_cfs_df)

    def _failure(self, error: Exception, question: Question, line: int) -> Statement:
        target = question.target(line)
        if "No counterfactuals found" in str(error):
            return Statement("reason.dice_none", {"method": repr(self.method), "target": target})
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Statement("reason.dice_failed", {"error": what, "target": target})


def _samples(low: float, high: float, decimals: int, size: int, seed: None) -> list[float]:
    """The numbers that dice-ml would draw; it rounds one after the other, which for wide tables takes most of a row."""
    if decimals == 0:
        drawn = np.random.randint(int(low), int(high) + 1, size).astype(np.float64)
    else:
        drawn = np.random.uniform(low, high + 10.0**-decimals, size).round(decimals)
    return drawn.tolist()


def _for_each_wanted(build: Callable[..., Any], model: _WantedOrNot) -> Callable[..., Any]:
    """dice-ml's tree of the accepted training rows: one for all rows that want the same, not one for each row."""
    built: dict[bytes, Any] = {}

    def build_once(*arguments: Any) -> Any:
        if model.wanted not in built:
            built[model.wanted] = build(*arguments)
        return built[model.wanted]

    return build_once


@contextmanager
def _dice_alone(seed: int, deadline: float | None) -> Iterator[Callable[..., Any]]:
    """dice-ml for one row, silent and for no other thread: a function to call what uses it, seeded.

    Afterwards all is what it was. Raises OutOfTime where other threads take too long.
    """
    base, sampler = (dice_ml(f".explainer_interfaces.{name}") for name in ("explainer_base", "dice_random"))
    if not _dice_lock.acquire(timeout=-1 if deadline is None else max(deadline - now(), 0.0)):
        raise OutOfTime
    states, progress_bar = (random.getstate(), np.random.get_state()), base.tqdm
    try:
        # Its own bar and its own words only: other threads, and the model, print as ever.
        base.tqdm, sampler.print = iter, _say_nothing
        yield functools.partial(_seeded, seed)
    finally:
        base.tqdm = progress_bar
        del sampler.print
        random.setstate(states[0])
        np.random.set_state(states[1])
        _dice_lock.release()


def _seeded(seed: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function that calls dice-ml returns, whatever pandas and numpy have to say of dice-ml's ways."""
    for attempt in range(_MOST_ATTEMPTS):
        random.seed(seed)
        np.random.seed(seed)
        with warnings.catch_warnings():
            # They warn the module that calls them; what the model warns of is not dice-ml's.
            warnings.filterwarnings("ignore", module=r"dice_ml\.")
            try:
                return function(*arguments)
            except Warning:
                # The filters are the whole process's, and another thread has put back those it found. Where warnings
                # are errors that ends dice-ml; the same seed leads to the same answer.
                if attempt == _MOST_ATTEMPTS - 1:
                    raise
    raise AssertionError("the last attempt returns or raises")


def _say_nothing(*_: object, **__: object) -> None:
    """In the place of print."""
