"""What `fit` learned, and how a question is answered by it: the donors, the search, the result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.assemble import answer
from nicecf.autoencoder import error_by
from nicecf.decision import Jury
from nicecf.distance import Heom
from nicecf.exceptions import ModelError, listed, plain
from nicecf.method import Question, Witnesses, ask, confirm
from nicecf.neighbors import DonorIndex
from nicecf.progress import Choice, Report, reporting
from nicecf.result import Counterfactuals
from nicecf.rewards import Round
from nicecf.schema import Schema, differs
from nicecf.scorer import Cost
from nicecf.search.answers import Answers, one_for_each
from nicecf.search.donors import DonorChoice
from nicecf.search.greedy import walk_greedily
from nicecf.search.single_changes import DonorValues
from nicecf.search.thorough import Thorough
from nicecf.twin import NotSupported, Twin


@dataclass(frozen=True, eq=False)
class Fitted:
    """What ``fit`` learned; explaining reads it and never writes."""

    schema: Schema
    jury: Jury
    cost: Cost
    twin: Twin | None
    twin_cost: Cost
    confirms: bool
    witnesses: Witnesses
    distance: Heom
    donors: DonorIndex
    donor_values: DonorValues | None
    donor_outputs: Floats
    n_decided: Ints
    reward: Callable[[Round], Floats] | None
    # The objective and the number of neighbors of the thorough search; None for the greedy one.
    thorough: tuple[str, int | None] | None
    measure_error: Callable[[Any], Any] | None
    # Whether that is the autoencoder of fit, a function of encoded rows, and not one of the user's tables.
    is_own_measure: bool

    def explain(
        self, X: Table, target_class: Any, n_wanted: int, deadline: float | None, progress: Choice
    ) -> Counterfactuals:
        """Explain by the twin of the model, if there is one and the model agrees, else by the model itself."""
        options = (X, target_class, n_wanted, deadline, progress)
        if self.twin is not None:
            with suppress(NotSupported):
                return self._explain(*options, self.twin)
        return self._explain(*options, None)

    def _explain(
        self, X: Table, target_class: Any, n_wanted: int, deadline: float | None, progress: Choice, twin: Twin | None
    ) -> Counterfactuals:
        cost = self.twin_cost if twin else self.cost
        # NICE(none) asks for no hybrids, so there is nothing to look ahead for; "balanced" has no reward of its own.
        choice = DonorChoice(self.donors, budget=0 if self.reward is None else cost.rows_worth_a_call)
        question = ask(
            self.schema, self.jury, cost, self.witnesses, X, target_class, choice.look_ahead, deadline, twin
        )
        is_asked = ~question.is_answered
        donors = choice.settle(question.rows, question.wanted, is_asked)
        walking = np.flatnonzero(donors >= 0)
        error = self._error(question.schema)
        with reporting(progress, len(donors)) as report:
            n_still = len(donors) - len(walking)
            answers = self._answers(
                question, walking, donors[walking], error, n_wanted, lambda n_done: report(n_still + n_done)
            )
        if twin and self.confirms:
            question, outputs = confirm(question, self.jury, self.cost, self.witnesses, *answers.all_points())
            answers = answers.with_outputs(outputs)
        self._check_answers(question, walking, answers)
        is_found = ~is_asked
        is_found[walking] = True
        is_by_twin_alone = twin is not None and not self.confirms
        return answer(
            X=question.X,
            schema=question.schema,
            rows=question.rows,
            before=question.outputs,
            is_found=is_found,
            reasons=self._reasons(question.wanted, is_found),
            walking=walking,
            answers=answers,
            positions=self.donors.positions,
            jury=self.jury,
            distance=self.distance,
            error=error,
            model_calls=0 if is_by_twin_alone else question.scorer.calls,
            model_rows=0 if is_by_twin_alone else question.scorer.rows,
            several=n_wanted > 1,
        )

    def _error(self, schema: Schema) -> Callable[[Floats], Floats] | None:
        """How implausible float rows are, for one call; None if this explainer has no measure of it."""
        if self.measure_error is None or self.is_own_measure:
            return self.measure_error
        return error_by(self.measure_error, schema)

    def _answers(
        self,
        question: Question,
        walking: Ints,
        donors: Ints,
        error: Callable[[Floats], Floats] | None,
        n_wanted: int,
        report: Report,
    ) -> Answers:
        """The counterfactuals of the rows at ``walking``; ``donors`` are the nearest donors of each."""
        rows, outputs, wanted = question.rows[walking], question.outputs[walking], question.wanted[walking]
        if self.thorough is not None and self.donor_values is not None and error is not None:
            objective, neighbors = self.thorough
            search = Thorough(
                self.donors,
                self.jury,
                self.donor_values,
                self.donor_outputs,
                self.distance,
                neighbors,
                objective,
                n_wanted,
            )
            return search(rows, outputs, wanted, donors, score=question.scorer, error=error, report=report)
        walks = walk_greedily(
            rows,
            outputs,
            np.ascontiguousarray(self.donors.values[donors]),
            self.donor_outputs[donors],
            wanted,
            jury=self.jury,
            score=question.scorer,
            reward=self.reward,
            distance=self.distance,
            error=error,
            report=report,
        )
        return one_for_each(donors, walks)

    def _check_answers(self, question: Question, walking: Ints, answers: Answers) -> None:
        """The last line of the contract: nothing leaves that the model did not put in the target."""
        points = answers.points
        reached = self.jury.accepts(points.outputs, question.wanted[walking[points.row]])
        reached &= differs(question.rows[walking[points.row]], points.values).any(axis=1)
        if not reached.all():
            wrong = int(np.argmin(reached))
            raise ModelError(
                f"the model does not answer the same rows in the same way: row {walking[points.row[wrong]]} has the "
                f"values of training row {self.donors.positions[points.donor[wrong]]}, but another class now than at "
                "fit. Call fit again with the model as it is."
            )

    def _reasons(self, wanted: Bools, found: Bools) -> Objects:
        """Why rows have no counterfactual, in words; None where they have one."""
        reasons = np.full(len(found), None, dtype=object)
        for row in np.flatnonzero(~found):
            reasons[row] = self._reason(wanted[row])
        return reasons

    def _reason(self, wanted: Bools) -> str:
        classes = self.jury.classes
        target = " or ".join(repr(plain(label)) for label in classes[wanted])
        n_rows, n_decided = int(self.n_decided.sum()), int(self.n_decided[wanted].sum())
        if n_decided:
            return (
                f"the model puts {n_decided:,} of {n_rows:,} training rows in {target}, but the label of none of them "
                "agrees, so there is no donor; justified=False would use them"
            )
        others = listed(classes[self.n_decided > 0])
        return f"the model predicts {others} for all {n_rows:,} training rows, so no donor for {target} exists"
