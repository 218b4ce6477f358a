"""What `fit` learned, and how a question is answered by it: the donors, the search, the result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from nicecf import rewards
from nicecf._typing import Bools, Floats, Ints, Table
from nicecf.assemble import answer
from nicecf.autoencoder import error_by
from nicecf.constraints import Constraints
from nicecf.decision import Jury
from nicecf.distance import Heom
from nicecf.exceptions import ModelError, NicecfError
from nicecf.method import Asked, Question, Witnesses, ask, confirm
from nicecf.origin import Origin, called
from nicecf.privacy import Privacy
from nicecf.profile import Profile
from nicecf.progress import Choice, Report, reporting
from nicecf.reading import Part, keep_rules, parts_of, rules_at, rules_of
from nicecf.reasons import KEPT_BACK, Reasons
from nicecf.result import Counterfactuals
from nicecf.rewards import Round
from nicecf.schema import Schema, differs
from nicecf.scorer import Cost, Scorer
from nicecf.search.answers import Answers, Points, by_row, joined, no_answers, one_for_each
from nicecf.search.donors import DonorChoice, Donors, DonorSearch, Seekers
from nicecf.search.greedy import jump, walk_greedily
from nicecf.search.single_changes import DonorValues
from nicecf.search.step_back import step_back
from nicecf.search.thorough import Thorough
from nicecf.twin import NotSupported, Twin


def _nothing(n_done: int) -> None:
    """Progress that nobody is told."""


@dataclass(frozen=True, eq=False)
class Call:
    """What ``explain`` was called with; ``deadline`` is a time of ``perf_counter``."""

    X: Table
    target_class: Any
    constraints: Any
    n_wanted: int
    deadline: float | None
    progress: Choice
    options: dict[str, Any]
    time_budget: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """What ``fit`` learned; explaining reads it and never writes.

    ``schema`` is that of the training data, with the values that may be taken of it and told.
    """

    schema: Schema
    cost: Cost
    twin: Twin | None
    twin_cost: Cost
    confirms: bool
    witnesses: Witnesses
    distance: Heom
    donors: DonorSearch
    n_decided: Ints
    profile: Profile
    fingerprints: dict[str, str]
    privacy: Privacy
    constraints: Constraints
    reward: Callable[[Round], Floats] | None
    # The objective and the number of neighbors of the thorough search; None for the greedy one.
    thorough: tuple[str, int | None] | None
    measure_error: Callable[[Any], Any] | None
    # Whether that is the autoencoder of fit, a function of encoded rows, and not one of the user's tables.
    is_own_measure: bool

    @property
    def jury(self) -> Jury:
        """The models that must agree."""
        return self.donors.jury

    @property
    def _positions(self) -> Ints:
        """What is told of donors, by their places in the index: their positions in the training data, or nothing."""
        positions = self.donors.index.positions
        return positions if self.privacy.digests is None else np.full_like(positions, -1)

    @property
    def _is_refused(self) -> Callable[[Floats], Bools] | None:
        """Rows that may not be handed out; None if there are none."""
        return None if self.privacy.digests is None else self._is_training_row

    def _is_training_row(self, values: Floats) -> Bools:
        """Which rows are training rows that may not be handed out: as they are, or as training columns hold them."""
        if self.privacy.digests is None:
            return np.zeros(len(values), dtype=bool)
        return self.privacy.is_training_row(values) | self.privacy.is_training_row(self.schema.rounded(values))

    @cached_property
    def donor_values(self) -> DonorValues:
        """The values of all donors; made once, when first needed."""
        return DonorValues.of(self.donors.index)

    def explain(self, call: Call) -> Counterfactuals:
        """Explain by the twin of the model, if there is one and the model agrees, else by the model itself."""
        if self.twin is not None:
            # A twin that says something else of a donor than the model did is no twin: the model is asked instead.
            with suppress(NotSupported, ModelError):
                return self._explain(call, self.twin)
        return self._explain(call, None)

    def _explain(self, call: Call, twin: Twin | None) -> Counterfactuals:
        X, n_wanted = call.X, call.n_wanted
        rows, schema = self.schema.encode(X)
        index = schema.container.labels(X)
        parts = parts_of(self.constraints, call.constraints, schema, rows, trained=self.schema, index=index)
        cost = self.twin_cost if twin else self.cost
        # NICE(none) asks for no hybrids, so there is none to look ahead for; "balanced" has no reward of its own.
        choice = DonorChoice(self.donors, budget=cost.rows_worth_a_call, has_hybrids=self.reward is not None)
        question = ask(
            X,
            rows,
            schema,
            self.jury,
            cost,
            self.witnesses,
            call.target_class,
            (lambda targets: choice.look_ahead(rows, targets, parts[0].rules)) if len(parts) == 1 else None,
            call.deadline,
            twin,
        )
        error = self._error(schema)
        with reporting(call.progress, len(rows)) as report:
            all_answers = []
            n_done, is_kept_back = 0, np.zeros(len(rows), dtype=bool)
            for part in parts:
                answers = self._answers(question, part, choice, error, n_wanted, partial(_report_from, report, n_done))
                answers, kept_back = self._without_training_rows(question, part, answers)
                is_kept_back[part.lines[kept_back]] = True
                all_answers.append((part.lines, answers))
                n_done += len(part.lines)
        answers = joined(all_answers, len(rows))
        is_found = question.is_answered.copy()
        is_found[answers.points.row] = True
        reasons = Reasons(
            question,
            self.donors,
            self.n_decided,
            self.schema,
            self.privacy.min_count,
            self._is_training_row,
            walk=partial(self._walk, error=error),
            apply=partial(self._applied, question, error) if self.thorough else None,
        )
        why, relaxations = reasons.of(parts, ~is_found & ~is_kept_back, answers.beyond)
        why[is_kept_back] = KEPT_BACK
        if twin and self.confirms and len(rows):
            question, outputs = confirm(question, self.jury, self.cost, self.witnesses, *answers.all_points())
            answers = answers.with_outputs(outputs)
        self._check_answers(question, parts, answers)
        is_by_twin_alone = twin is not None and not self.confirms
        return answer(
            X=question.X,
            schema=schema,
            rows=rows,
            before=question.outputs,
            is_found=is_found,
            reasons=why,
            relaxations=relaxations,
            answers=answers.with_donors(self._positions),
            jury=self.jury,
            distance=self.distance,
            error=error,
            model_calls=0 if is_by_twin_alone else question.scorer.calls,
            model_rows=0 if is_by_twin_alone else question.scorer.rows,
            several=n_wanted > 1,
            origin=self._origin(call, schema, parts),
        )

    def _origin(self, call: Call, schema: Schema, parts: list[Part]) -> Origin:
        asked = called(call.target_class, n_counterfactuals=call.n_wanted, time_budget=call.time_budget)
        return Origin(
            self.profile,
            Asked(schema, self.jury, partial(self._may_be_said, parts), self._donor_at),
            explainer="NICE",
            options=call.options,
            call=asked,
            rules=partial(rules_at, [(part.lines, part.constraints) for part in parts]),
            fingerprints=self.fingerprints,
        )

    def _may_be_said(self, parts: list[Part], lines: Ints, values: Floats) -> Bools:
        """Whether values for rows of a call, in place of what was handed out, keep the rules and nobody's secret."""
        return keep_rules(parts, lines, values) & ~self._is_training_row(values)

    def _donor_at(self, position: int) -> Floats | None:
        if self.privacy.digests is not None or self.privacy.common is not None:
            return None
        place = np.flatnonzero(self.donors.index.positions == position)
        return self.donors.index.values[place[0]] if len(place) else None

    def _error(self, schema: Schema) -> Callable[[Floats], Floats] | None:
        """How implausible float rows are, for one call; None if this explainer has no measure of it."""
        if self.measure_error is None or self.is_own_measure:
            return self.measure_error
        return error_by(self.measure_error, schema)

    def _answers(
        self,
        question: Question,
        part: Part,
        choice: DonorChoice,
        error: Callable[[Floats], Floats] | None,
        n_wanted: int,
        report: Report,
    ) -> Answers:
        """The counterfactuals of the rows of a part that ask for one; ``row`` of the points is a line of the part."""
        score = question.scorer
        seekers = _seekers(question, part)
        is_asked = ~question.is_answered[part.lines]
        donors = choice.settle(seekers, is_asked, score)
        # Under rules, hybrids may help where no donor as a whole does.
        is_ruled_thorough = self.thorough is not None and part.rules is not None
        seeking = np.flatnonzero(is_asked if is_ruled_thorough else donors.place >= 0)
        n_still = len(is_asked) - len(seeking)
        found = self._search(
            seekers.take(seeking), donors.take(seeking), score, error, n_wanted, lambda n: report(n_still + n)
        )
        all_answers = [(seeking, found)]
        is_left = is_asked.copy()
        for search in (partial(self._search_hybrids, n_wanted=n_wanted), self._walk_to_few_changes):
            is_left[all_answers[-1][0][all_answers[-1][1].points.row]] = False
            left = np.flatnonzero(is_left)
            if part.rules is None or not len(left):
                break
            all_answers.append((left, search(seekers.take(left), donors.take(left), score, error=error)))
        return joined(all_answers, len(is_asked))

    def _search(
        self,
        seekers: Seekers,
        donors: Donors,
        score: Scorer,
        error: Callable[[Floats], Floats] | None,
        n_wanted: int,
        report: Report,
    ) -> Answers:
        """The search that this explainer was made for; each row has a donor."""
        if self.thorough is not None and error is not None:
            objective, neighbors = self.thorough
            search = Thorough(
                self.donors, self.donor_values, self.distance, neighbors, objective, n_wanted, self._is_refused
            )
            return search(seekers, donors, score=score, error=error, report=report)
        return self._walk(self.jury, seekers, donors, score, error, report)

    def _walk(
        self,
        jury: Jury,
        seekers: Seekers,
        donors: Donors,
        score: Scorer,
        error: Callable[[Floats], Floats] | None,
        report: Report = _nothing,
    ) -> Answers:
        """The greedy walks, as far as they keep to the largest number of changes."""
        walks = walk_greedily(
            seekers.rows,
            seekers.outputs,
            np.ascontiguousarray(donors.values),
            donors.outputs,
            seekers.wanted,
            jury=jury,
            score=score,
            reward=rewards.sparsity if self.thorough else self.reward,
            distance=self.distance,
            error=error,
            groups=seekers.groups,
            report=report,
        )
        return one_for_each(donors.place, walks, seekers.keep_to_limit(np.arange(len(seekers.rows)), walks.values))

    def _search_hybrids(
        self,
        seekers: Seekers,
        donors: Donors,
        score: Scorer,
        *,
        error: Callable[[Floats], Floats] | None,
        n_wanted: int = 1,
    ) -> Answers:
        """For rows that no donor as a whole helps, or by a walk that is too long: the hybrids of many donors.

        Also after a thorough search: with few ``neighbors`` it looks at less than this.
        """
        objective = rewards.without_errors(self.reward)
        search = Thorough(
            self.donors,
            self.donor_values,
            self.distance,
            None,
            objective,
            n_wanted,
            self._is_refused,
            wants_front=self.thorough is not None,
        )
        found = search(seekers, donors, score=score, error=_no_error, report=_nothing)
        return found if self.thorough else replace(found, front=None)

    def _applied(
        self,
        question: Question,
        error: Callable[[Floats], Floats] | None,
        line: int,
        constraints: Constraints,
    ) -> Floats | None:
        """The counterfactual of one row under other rules."""
        lines = np.array([line])
        rules = rules_of(constraints, question.schema, question.rows[lines], trained=self.schema, is_checked=True)
        choice = DonorChoice(self.donors, budget=0, has_hybrids=False)
        points = self._answers(question, Part(lines, constraints, rules), choice, error, 1, _nothing).points
        return points.values[0] if len(points.row) else None

    def _walk_to_few_changes(
        self, seekers: Seekers, donors: Donors, score: Scorer, *, error: Callable[[Floats], Floats] | None
    ) -> Answers:
        """For rows that are still not helped: the nearest donor that is no more changes away than may be made."""
        donors = self.donors.nearest(seekers, score, is_limited=True)
        walking = np.flatnonzero(donors.place >= 0)
        found = self._walk(self.jury, seekers.take(walking), donors.take(walking), score, error)
        return joined([(walking, found)], len(seekers.rows))

    def _without_training_rows(self, question: Question, part: Part, answers: Answers) -> tuple[Answers, Ints]:
        """Other answers in place of training rows as they are, if those may not be handed out.

        Also the lines of the part for which there is nothing else.
        """
        if self.privacy.digests is None:
            return answers, np.empty(0, dtype=np.intp)
        points, score, seekers = answers.points, question.scorer, _seekers(question, part)
        shared = np.flatnonzero(self._is_training_row(points.values))
        lines, first = np.unique(points.row[shared], return_index=True)
        without = np.setdiff1d(np.flatnonzero(~question.is_answered[part.lines]), points.row)
        refused = by_row([points.take(shared[first]), self._refused_already(seekers, without, score)])
        back = step_back(
            seekers,
            refused,
            jury=self.jury,
            score=score,
            distance=self.distance,
            is_refused=self._is_training_row,
        )
        back = back.take(seekers.keep_to_limit(back.row, back.values))
        found = [(back.row, _in_one_step(seekers.rows[back.row], back))]
        for search in (self._search_other_hybrids, self._search_views):
            helped = np.concatenate([some[more.points.row] for some, more in found])
            left = np.setdiff1d(np.union1d(lines, without), helped)
            if len(left):
                found.append((left, search(seekers.take(left), score)))
        everyone = np.arange(len(part.lines))
        joint = joined([(everyone, answers.without_rows(lines)), *found], len(everyone))
        kept_back = refused.row[seekers.keep_to_limit(refused.row, refused.values)]
        return joint, np.setdiff1d(kept_back, joint.points.row)

    def _refused_already(self, seekers: Seekers, lines: Ints, score: Scorer) -> Points:
        """For rows for which nothing was found: training rows as they are that they would have had."""
        donors = self.donors.nearest(seekers.take(lines), score)
        is_shared = np.flatnonzero((donors.place >= 0) & self._is_training_row(donors.values))
        donors = donors.take(is_shared)
        return Points(lines[is_shared], donors.place, donors.values, donors.outputs)

    def _search_other_hybrids(self, seekers: Seekers, score: Scorer) -> Answers:
        """Of the hybrids of many donors, those that are no training row."""
        found = self._search_hybrids(seekers, self.donors.nearest(seekers, score), score, error=None)
        return found.without_rows(found.points.row[self._is_training_row(found.points.values)])

    def _search_views(self, seekers: Seekers, score: Scorer) -> Answers:
        """The nearest donor that is no training row as a row may take it, through its rules."""
        if seekers.rules is None:
            return no_answers(seekers.rows, seekers.outputs)
        donors = self.donors.nearest(seekers, score, is_limited=True, is_refused=self._is_training_row)
        row = np.flatnonzero(donors.place >= 0)
        donors = donors.take(row)
        points = Points(row, donors.place, donors.values, donors.outputs)
        return joined([(row, _in_one_step(seekers.rows[row], points))], len(seekers.rows))

    def _check_answers(self, question: Question, parts: list[Part], answers: Answers) -> None:
        """The last line of the contract: nothing leaves that the models did not accept, or that breaks a rule."""
        points = answers.points
        reached = self.jury.accepts(points.outputs, question.wanted[points.row])
        reached &= differs(question.rows[points.row], points.values).any(axis=1)
        if not reached.all():
            wrong = int(np.argmin(reached))
            raise ModelError(
                f"the model does not answer the same rows in the same way: row {points.row[wrong]} has the values of "
                f"training row {self.donors.index.positions[points.donor[wrong]]}, but another class now than at fit. "
                "Call fit again with the model as it is."
            )
        handed_out = [some for some in (points, answers.front) if some is not None]
        if any(self._is_training_row(some.values).any() for some in handed_out):
            raise NicecfError("a counterfactual is a training row. This is a defect of nicecf: please report it.")
        for part in parts:
            for some in handed_out:
                if part.rules is None:
                    continue
                mine = np.isin(some.row, part.lines)
                lines = np.searchsorted(part.lines, some.row[mine])
                donors = self.donors.index.values[some.donor[mine]]
                if not part.rules.are_kept(lines, some.values[mine], donors).all():
                    raise NicecfError("a counterfactual breaks a rule. This is a defect of nicecf: please report it.")


def _seekers(question: Question, part: Part) -> Seekers:
    """The rows of a part."""
    lines = part.lines
    return Seekers(question.rows[lines], question.outputs[lines], question.wanted[lines], part.rules)


def _in_one_step(rows: Floats, points: Points) -> Answers:
    """Points for paired rows as answers, whose changes are all one step."""
    walks = jump(rows, points.values, points.outputs)
    return one_for_each(points.donor, walks, np.ones(len(rows), dtype=bool))


def _no_error(rows: Floats) -> Floats:
    """The measure of an explainer that has none: all rows are as plausible."""
    return np.zeros(len(rows))


def _report_from(report: Report, start: int, n_done: int) -> None:
    report(start + n_done)
