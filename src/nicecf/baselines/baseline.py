"""What all baselines share: the verb, what a search is given, and what becomes of what it finds.

A baseline is its options and one function, ``_search_of``: training data -> search. A search gets a `Task`, all rows
that want a counterfactual at once, and hands back what it `Found`. Nothing leaves that the model does not accept.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self

import numpy as np

from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.assemble import answer
from nicecf.decision import Jury
from nicecf.distance import Heom
from nicecf.explainer import Explainer
from nicecf.method import Asked, Question, Training, Witnesses, ask, in_order_of_rows, learn, measure
from nicecf.options import check_seconds
from nicecf.origin import Origin, called
from nicecf.profile import Profile
from nicecf.progress import Choice, Report, check_choice, reporting
from nicecf.result import Counterfactuals
from nicecf.schema import Schema, differs, with_own_cells
from nicecf.scorer import Cost, Scorer
from nicecf.search.answers import joined, one_for_each
from nicecf.search.greedy import Walks, jump

OUT_OF_TIME = "time_budget was used up before the search ended: this is the best so far"


@dataclass(frozen=True, eq=False)
class Task:
    """Rows that want a counterfactual: what the model says of them, the classes wanted, and whom to ask.

    ``trained`` is the schema of the training data, ``schema`` that of these rows: it knows their unseen categories too.
    """

    rows: Floats
    outputs: Floats
    wanted: Bools
    schema: Schema
    trained: Schema
    jury: Jury
    score: Scorer
    report: Report

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def towards(self, lines: Ints, values: Floats) -> tuple[Bools, Floats]:
        """Ask the model about values for some of the rows: whether it accepts them, and how far they are, in [0, 1].

        With two classes and no cut-off, how far is the probability of the wanted one. It is above a half exactly where
        the values are accepted, whatever the decision rule, and grows with the score on both sides of it. Raises
        OutOfTime past the deadline.
        """
        outputs = self.score(values)
        return self.read(lines, outputs)

    def read(self, lines: Ints, outputs: Floats) -> tuple[Bools, Floats]:
        """The same for what the model has said already."""
        is_accepted = self.jury.accepts(outputs, self.wanted[lines])
        far = (1.0 + self.jury.scores(outputs, self.wanted[lines])) / 2.0
        if not all(juror.rule.is_highest for juror in self.jury.jurors):
            # Another rule puts the border elsewhere: each side of it gets a half.
            far = np.where(is_accepted, 1.0 + far, far) / 2.0
        just_past, just_before = np.nextafter(0.5, 1.0), np.nextafter(0.5, 0.0)
        return is_accepted, np.where(is_accepted, np.maximum(far, just_past), np.minimum(far, just_before))

    def rounded(self, lines: Ints, values: Floats) -> Floats:
        """New numbers as the training columns hold them; what is a row's own stays as it is."""
        rows = self.rows[lines]
        return with_own_cells(rows, np.where(differs(rows, values), self.trained.rounded(values), rows))[0]

    def generators(self, random_state: int | None) -> list[np.random.Generator]:
        """Random numbers for each row, which depend on its values alone: a batch draws what its rows would."""
        # Unseen categories are numbered as they come: they all count as one.
        n_levels = [len(one.levels) if one.is_categorical else np.inf for one in self.trained.columns]
        keys = np.where(np.isnan(self.rows), -np.inf, np.minimum(self.rows, n_levels)) + 0.0
        return [np.random.default_rng([random_state or 0, zlib.crc32(key.tobytes())]) for key in keys]


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found: ``values`` with one line for each row of the task, of which those of ``is_found`` count.

    ``outputs``: what the model said of the values, NaN where it has to be asked. ``reasons``: why not, in words, for
    the others. ``donors``: positions in the training data, -1 for none. ``is_cut``: where time was up before the search
    ended. ``walks``: the way to the values; without, all changes are one step.
    """

    values: Floats
    outputs: Floats
    is_found: Bools
    reasons: Objects
    donors: Ints
    is_cut: Bools
    walks: Walks | None = None

    @classmethod
    def nothing(cls, task: Task) -> Found:
        """Nothing yet for any row: a search fills it in."""
        n = len(task)
        no_row, no_reason = np.zeros(n, dtype=bool), np.full(n, None, dtype=object)
        unknown = np.full_like(task.outputs, np.nan)
        return cls(task.rows.copy(), unknown, no_row, no_reason, np.full(n, -1, dtype=np.intp), no_row.copy())

    def take(self, line: int, values: Floats) -> None:
        """A counterfactual for one of the rows."""
        self.values[line] = values
        self.is_found[line] = True


Search = Callable[[Task], Found]


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """What ``fit`` learned; explaining reads it and never writes."""

    name: str
    schema: Schema
    jury: Jury
    cost: Cost
    witnesses: Witnesses
    distance: Heom
    profile: Profile
    fingerprints: dict[str, str]
    search: Search

    def explain(
        self,
        X: Table,
        target_class: Any,
        deadline: float | None,
        progress: Choice,
        *,
        options: dict[str, Any],
        call: dict[str, Any],
    ) -> Counterfactuals:
        """Ask about the rows, search, and hand out what the model accepts."""
        rows, schema = self.schema.encode(X)
        question = ask(X, rows, schema, self.jury, self.cost, self.witnesses, target_class, deadline=deadline)
        asking = np.flatnonzero(~question.is_answered)
        with reporting(progress, len(rows)) as report:
            n_still = len(rows) - len(asking)
            task = self._task(question, asking, lambda n_done: report(n_still + n_done))
            found = self.search(task) if len(asking) else Found.nothing(task)
            report(len(rows))
        question.scorer.deadline = None
        values, _ = with_own_cells(task.rows, found.values)
        outputs, is_good, why = self._checked(task, found, values)
        walks = jump(task.rows, values, outputs)
        if found.walks is not None:
            walks = replace(found.walks, values=values, outputs=outputs)
        answers = one_for_each(found.donors, walks, is_good)
        answers.notes[found.is_cut & is_good] = OUT_OF_TIME
        is_found = question.is_answered.copy()
        is_found[asking] = is_good
        reasons = np.full(len(rows), None, dtype=object)
        reasons[asking] = why
        return answer(
            X=question.X,
            schema=schema,
            rows=rows,
            before=question.outputs,
            is_found=is_found,
            reasons=reasons,
            relaxations=np.full(len(rows), None, dtype=object),
            answers=joined([(asking, answers)], len(rows)),
            jury=self.jury,
            distance=self.distance,
            error=None,
            model_calls=question.scorer.calls,
            model_rows=question.scorer.rows,
            several=False,
            origin=Origin(
                self.profile,
                Asked(schema, self.jury, _keeps_all, _no_donor),
                explainer=self.name,
                options=options,
                call=call,
                rules=_no_rules,
                fingerprints=self.fingerprints,
            ),
        )

    def _task(self, question: Question, lines: Ints, report: Report) -> Task:
        return Task(
            question.rows[lines],
            question.outputs[lines],
            question.wanted[lines],
            question.schema,
            self.schema,
            self.jury,
            question.scorer,
            report,
        )

    def _checked(self, task: Task, found: Found, values: Floats) -> tuple[Floats, Bools, Objects]:
        """What the model says of the values found; what it does not accept is not found, and the reasons say so."""
        outputs, reasons = task.outputs.copy(), found.reasons.copy()
        if found.is_found.any():
            outputs[found.is_found] = task.score(values[found.is_found])
        is_good = found.is_found & self.jury.accepts(outputs, task.wanted)
        is_good &= differs(task.rows, values).any(axis=1)
        reasons[is_good] = None
        for line in np.flatnonzero(~is_good):
            target = self.jury.named(task.wanted[line])
            if found.is_found[line]:
                reasons[line] = f"what {self.name} came to is not {target} when the model is asked about it"
            elif found.is_cut[line]:
                reasons[line] = f"time_budget was used up before {self.name} came to {target}"
        return outputs, is_good, reasons


def _keeps_all(lines: Ints, values: Floats) -> Bools:
    """There are no rules."""
    return np.ones(len(lines), dtype=bool)


def _no_donor(position: int) -> None:
    """Training rows are not kept."""


def _no_rules(line: int) -> dict[str, Any]:
    return {}


class Baseline(Explainer, ABC):
    """A published algorithm behind the verb of NICE.

    ``model``, ``classes``, ``categorical_features`` and ``decision`` are those of :class:`nicecf.NICE`.
    """

    def __init__(
        self,
        model: Any,
        *,
        classes: Iterable[Any] | None = None,
        categorical_features: Any = "auto",
        decision: Any = None,
    ) -> None:
        self.model = model
        self.classes = classes
        self.categorical_features = categorical_features
        self.decision = decision

    def fit(self, X: Table, y: Any = None) -> Self:
        """Learn the columns, the model's decision on every training row, and what the algorithm needs besides.

        The algorithm asks the model, not the labels: ``y`` only names the classes of a model that is a function. The
        tables are read, never written to.
        """
        self._check_options()
        training = learn(
            self.model,
            X,
            y,
            classes=self.classes,
            categorical_features=self.categorical_features,
            needs_labels=False,
            decision=self.decision,
        )
        witnesses = Witnesses.of(training)
        cost = measure(training, witnesses)
        distance = training.by_range
        fingerprints = training.fingerprints
        # Last, because a search may take the encoded rows over.
        search = self._search_of(training)
        return self._keep(
            FittedBaseline(
                type(self).__name__,
                training.schema,
                training.jury,
                cost,
                witnesses,
                distance,
                training.profile,
                fingerprints,
                search,
            )
        )

    def explain(
        self,
        X: Table,
        *,
        target_class: Any = "other",
        time_budget: float | None = None,
        progress: Choice = None,
    ) -> Counterfactuals:
        """A counterfactual, or the reason why there is none, for each row of ``X``.

        All as in :meth:`nicecf.NICE.explain`; but where NICE has its donor for an answer, an algorithm that has found
        nothing when ``time_budget`` ends has none. ``metrics`` measures distances by the ranges, as for NICE, whatever
        the algorithm itself goes by.
        """
        started = perf_counter()
        self._check_fitted()
        check_choice(progress)
        check_seconds("time_budget", time_budget)
        deadline = None if time_budget is None else started + time_budget
        target_class = in_order_of_rows(target_class, X)
        answers: Counterfactuals = self._fitted.explain(
            X,
            target_class,
            deadline,
            progress,
            options=self._options,
            call=called(target_class, time_budget=time_budget),
        )
        return answers

    def _check_options(self) -> None:
        """OptionError for an option of the algorithm's own that cannot be."""

    @abstractmethod
    def _search_of(self, training: Training) -> Search:
        """What the algorithm learns from the training data, as the search of ``explain``; may take the rows over."""
