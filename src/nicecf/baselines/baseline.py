"""What all baselines share: the verb, and what becomes of what they find.

A baseline is its options and one function, ``_search_of``: training data -> a function that gets a `Question`, all rows
that want a counterfactual at once, and hands back what it `Found`. Nothing leaves that the model does not accept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from nicecf.exceptions import OptionError, listed
from nicecf.explain.ask import Call
from nicecf.explain.explainer import Explainer
from nicecf.explain.fitted import Fitted, Models
from nicecf.explain.pipeline import explain
from nicecf.explain.targets import meant
from nicecf.explain.training import ModelOptions, Training, learn, measured_cost
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.results.provenance import called
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds.groups import own_groups
from nicecf.search.answers import Answers, Points, nothing_said
from nicecf.search.question import Question
from nicecf.search.walks import Walks, jump
from nicecf.support.clock import now
from nicecf.support.options import check_seconds
from nicecf.support.phrases import Statement
from nicecf.support.progress import Choice, check_choice
from nicecf.support.types import Bools, Floats, Ints, Objects, Table
from nicecf.tables.schema import differs, with_own_cells

_BEST_SO_FAR = (Statement("note.best_so_far"),)


@dataclass(frozen=True, eq=False)
class Found:
    """What a baseline found: ``values`` with a line for each row of the question, of which those of ``is_found`` count.

    ``reasons``: why not, as statements, for the others. ``donors``: positions in the training data, -1 for none.
    ``is_cut``: where time was up before the search ended; ``notes`` say whose, where it was not the call's.
    ``further``: more counterfactuals of rows that have one, each with the line of its row. ``walks``: the way to the
    values, where none has further ones; without, all changes are one step.
    """

    values: Floats
    is_found: Bools
    reasons: Objects
    donors: Ints
    is_cut: Bools
    notes: Objects
    further: list[tuple[int, Floats]]
    walks: Walks | None = None

    @classmethod
    def nothing(cls, question: Question) -> Found:
        """Nothing yet for any row: a search fills it in."""
        n = len(question)
        no_row, no_donor = np.zeros(n, dtype=bool), np.full(n, -1, dtype=np.intp)
        return cls(question.rows.copy(), no_row, nothing_said(n), no_donor, no_row.copy(), nothing_said(n), [])

    def take(self, line: int, values: Floats) -> None:
        """A counterfactual for one of the rows."""
        self.values[line] = values
        self.is_found[line] = True

    def take_all(self, line: int, values: Floats) -> None:
        """Counterfactuals for one of the rows, the best first."""
        if len(values):
            self.take(line, values[0])
        self.further.extend((line, one) for one in values[1:])


Find = Callable[[Question], Found]


@dataclass(frozen=True, eq=False)
class Checked:
    """A baseline as a search: the model is asked about all that it found, also when time is up."""

    name: str
    find: Find

    def __call__(self, question: Question) -> Answers:
        """What the model accepts; the reasons say where it does not."""
        found = self.find(question) if len(question) else Found.nothing(question)
        row = np.array([*range(len(question)), *(line for line, _ in found.further)], dtype=np.intp)
        is_found = np.concatenate([found.is_found, np.ones(len(found.further), dtype=bool)])
        rows, outputs = question.rows[row], question.outputs[row]
        values, _ = with_own_cells(rows, np.concatenate([found.values, *(one[None] for _, one in found.further)]))
        if is_found.any():
            outputs[is_found] = question.score.until(None)(values[is_found])
        is_good = is_found & question.accepts(row, values, outputs) & differs(rows, values).any(axis=1)
        kept = _distinct(row, values, is_good)
        walks = jump(rows, values, outputs)
        if found.walks is not None:
            walks = replace(found.walks, values=values, outputs=outputs)
        points = Points(row[kept], found.donors[row[kept]], values[kept], outputs[kept])
        answers = Answers(points, walks.take(kept), nothing_said(len(question)), nothing_said(len(question)))
        is_good = answers.has_answer()
        for line in np.flatnonzero(found.is_cut & is_good):
            answers.notes[line] = found.notes[line] or _BEST_SO_FAR
        return replace(answers, reasons=self._reasons(question, found, is_good))

    def _reasons(self, question: Question, found: Found, is_good: Bools) -> Objects:
        reasons = found.reasons.copy()
        reasons[is_good] = None
        for line in np.flatnonzero(~is_good & (found.is_found | found.is_cut)).tolist():
            kind = "reason.method_not_accepted" if found.is_found[line] else "reason.method_out_of_time"
            reasons[line] = Statement(kind, {"method": self.name, "target": question.target(line)})
        return reasons


def _distinct(row: Ints, values: Floats, is_good: Bools) -> Ints:
    """The places of those that are good, by row; of those that are the same the first."""
    # Sums with 0.0, for -0.0 has other bytes.
    first = {(row[at], (values[at] + 0.0).tobytes()): at for at in reversed(np.flatnonzero(is_good).tolist())}
    kept = np.sort(np.array(list(first.values()), dtype=np.intp))
    return kept[np.argsort(row[kept], kind="stable")]


class Baseline(Explainer, ABC):
    """A published algorithm behind the verb of NICE.

    ``model``, ``classes``, ``categorical_features`` and ``decision`` are those of :class:`nicecf.NICE`; so are
    ``constraints``, of which a baseline takes those that say which rows could exist: ``derived``, ``relations`` and
    ``groups="auto"``. ``takes_categories``: whether the algorithm is one for tables with categorical features.
    """

    takes_categories: ClassVar[bool] = True

    def __init__(
        self,
        model: Any,
        *,
        classes: Iterable[Any] | None = None,
        categorical_features: Any = "auto",
        decision: Any = None,
        constraints: Constraints | None = None,
    ) -> None:
        self.model = model
        self.classes = classes
        self.categorical_features = categorical_features
        self.decision = decision
        self.constraints = constraints

    def fit(self, X: Table, y: Any = None, *, progress: Choice = None) -> Self:
        """Learn the columns, the model's decision on every training row, and what the algorithm needs besides.

        The algorithm asks the model, not the labels: ``y`` only names the classes of a model that is a function. The
        tables are read, never written to. ``progress``: as for :meth:`nicecf.NICE.fit`.
        """
        self._check_options()
        check_choice(progress)
        self._check_constraints()
        training, values = learn(
            ModelOptions(self.model, self.classes, self.decision, progress=progress),
            X,
            y,
            categorical_features=self.categorical_features,
            ordinal="overlap",
            needs_labels=False,
            constraints=self.constraints,
            is_baseline=True,
        )
        panel, schema, canaries = training.panel, training.schema, training.canaries
        cost = measured_cost(
            panel, schema, canaries, seconds=training.seconds, calls=training.calls, n_rows=len(values)
        )
        name = type(self).__name__
        fitted = Fitted(
            explainer=name,
            schema=schema,
            models=Models(panel, cost, canaries, None, cost),
            distance=training.by_range,
            statistics=training.statistics,
            fingerprints=training.fingerprints,
            search=Checked(name, self._search_of(training, values)),
            constraints=self.constraints or Constraints(),
        )
        return self._keep(fitted)

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
        started = now()
        self._check_fitted()
        check_choice(progress)
        check_seconds("time_budget", time_budget)
        deadline = None if time_budget is None else started + time_budget
        target_class = meant(target_class, X, self._fitted.panel.classes)
        call = Call(
            X,
            target_class,
            options=self._options,
            asked=called(target_class, time_budget=time_budget),
            n_wanted=self._options.get("n_counterfactuals", 1),
            deadline=deadline,
            progress=progress,
        )
        return Counterfactuals(explain(call, self._fitted))

    def _check_constraints(self) -> None:
        if self.constraints is None:
            return
        if not isinstance(self.constraints, Constraints):
            raise OptionError(
                f"constraints must be nicecf.Constraints, or None, got {type(self.constraints).__name__}."
            )
        rules = self.constraints.to_dict()
        others = [name for name in rules if name not in ("derived", "relations", "groups")]
        if others or own_groups(self.constraints.groups):
            raise OptionError(
                f"{type(self).__name__} keeps no {listed(others or ['groups'])}: a published algorithm takes only "
                "rules that say which rows could exist (derived, relations, groups='auto'). nicecf.NICE keeps all."
            )

    def _check_options(self) -> None:
        """OptionError for an option of the algorithm's own that cannot be."""

    @abstractmethod
    def _search_of(self, training: Training, values: Floats) -> Find:
        """What the algorithm learns from the training data; ``values``, the encoded rows, are its to keep."""
