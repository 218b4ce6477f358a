"""What `fit` learned, and how a question is answered by it: the donors, the search, the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from nicecf import rewards
from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.assemble import answer
from nicecf.autoencoder import error_by
from nicecf.constraints import Constraints, Relaxation
from nicecf.decision import Jury
from nicecf.distance import Heom
from nicecf.exceptions import ModelError, OptionError, listed, plain
from nicecf.method import Question, Witnesses, ask, confirm
from nicecf.progress import Choice, Report, reporting
from nicecf.relaxations import Candidate, Relaxable, relaxables
from nicecf.result import Counterfactuals
from nicecf.rewards import Round
from nicecf.rules import Rules
from nicecf.schema import Schema, differs
from nicecf.scorer import Cost, OutOfTime, Scorer
from nicecf.search.answers import Answers, joined, one_for_each
from nicecf.search.donors import DonorChoice, Donors, DonorSearch, Seekers
from nicecf.search.greedy import walk_greedily
from nicecf.search.single_changes import DonorValues
from nicecf.search.thorough import Thorough
from nicecf.twin import NotSupported, Twin

# Donors that are tried for a row when one of its rules is left out, to find out whether that would help.
_TRIED_TO_RELAX = 256


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that share their rules: their positions, and the rules for them as constraints and as read for the rows."""

    lines: Ints
    constraints: Constraints
    rules: Rules | None


@dataclass(frozen=True, eq=False)
class Fitted:
    """What ``fit`` learned; explaining reads it and never writes."""

    schema: Schema
    cost: Cost
    twin: Twin | None
    twin_cost: Cost
    confirms: bool
    witnesses: Witnesses
    distance: Heom
    donors: DonorSearch
    n_decided: Ints
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

    @cached_property
    def donor_values(self) -> DonorValues:
        """The values of all donors; made once, when first needed."""
        return DonorValues.of(self.donors.index)

    def explain(
        self,
        X: Table,
        target_class: Any,
        constraints: Any,
        n_wanted: int,
        deadline: float | None,
        progress: Choice,
    ) -> Counterfactuals:
        """Explain by the twin of the model, if there is one and the model agrees, else by the model itself."""
        options = (X, target_class, constraints, n_wanted, deadline, progress)
        if self.twin is not None:
            with suppress(NotSupported):
                return self._explain(*options, self.twin)
        return self._explain(*options, None)

    def _explain(
        self,
        X: Table,
        target_class: Any,
        constraints: Any,
        n_wanted: int,
        deadline: float | None,
        progress: Choice,
        twin: Twin | None,
    ) -> Counterfactuals:
        rows, schema = self.schema.encode(X)
        parts = self._parts(constraints, X, rows, schema)
        cost = self.twin_cost if twin else self.cost
        # NICE(none) asks for no hybrids, so there is nothing to look ahead for; "balanced" has no reward of its own.
        budget = 0 if self.reward is None or len(parts) > 1 else cost.rows_worth_a_call
        choice = DonorChoice(self.donors, budget=budget)
        question = ask(
            X,
            rows,
            schema,
            self.jury,
            cost,
            self.witnesses,
            target_class,
            lambda targets: choice.look_ahead(rows, targets, parts[0].rules),
            deadline,
            twin,
        )
        error = self._error(schema)
        with reporting(progress, len(rows)) as report:
            all_answers = []
            n_done = 0
            for part in parts:
                answers = self._answers(question, part, choice, error, n_wanted, partial(_report_from, report, n_done))
                all_answers.append(answers.of_rows(part.lines, len(rows)))
                n_done += len(part.lines)
        answers = joined(all_answers)
        if twin and self.confirms:
            question, outputs = confirm(question, self.jury, self.cost, self.witnesses, *answers.all_points())
            answers = answers.with_outputs(outputs)
        self._check_answers(question, parts, answers)
        is_found = question.is_answered.copy()
        is_found[answers.points.row] = True
        reasons, relaxations = self._reasons(question, parts, is_found)
        is_by_twin_alone = twin is not None and not self.confirms
        return answer(
            X=question.X,
            schema=schema,
            rows=rows,
            before=question.outputs,
            is_found=is_found,
            reasons=reasons,
            relaxations=relaxations,
            answers=answers,
            positions=self.donors.index.positions,
            jury=self.jury,
            distance=self.distance,
            error=error,
            model_calls=0 if is_by_twin_alone else question.scorer.calls,
            model_rows=0 if is_by_twin_alone else question.scorer.rows,
            several=n_wanted > 1,
        )

    def _parts(self, constraints: Any, X: Table, rows: Floats, schema: Schema) -> list[Part]:
        """The rows by the rules that they are under: those of the explainer and, on top, those of the call."""
        labels = schema.container.labels(X)
        if constraints is None or isinstance(constraints, Constraints):
            of_rows = [(np.arange(len(rows)), constraints)]
        else:
            of_rows = _by_constraints(constraints, len(rows))
        parts = []
        for lines, own in of_rows:
            both = self.constraints if own is None else self.constraints & own
            index = labels[lines] if own is not None and own.is_per_row else None
            rules = Rules.of(both, schema, rows[lines], trained=self.schema, index=index) if both else None
            parts.append(Part(lines, both, rules))
        return parts

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
        seekers = Seekers(
            question.rows[part.lines], question.outputs[part.lines], question.wanted[part.lines], part.rules
        )
        is_asked = ~question.is_answered[part.lines]
        donors = choice.settle(seekers, is_asked, score)
        walking = np.flatnonzero(donors.place >= 0)
        n_still = len(is_asked) - len(walking)
        found = self._search(
            seekers.take(walking), donors.take(walking), score, error, n_wanted, lambda n: report(n_still + n)
        )
        answers = found.of_rows(walking, len(is_asked))
        if part.rules is None:
            return answers
        is_left = is_asked.copy()
        is_left[answers.points.row] = False
        left = np.flatnonzero(is_left)
        if not len(left):
            return answers
        more = self._search_hybrids(seekers.take(left), score, error, n_wanted)
        return joined([answers, more.of_rows(left, len(is_asked))])

    def _search(
        self,
        seekers: Seekers,
        donors: Donors,
        score: Scorer,
        error: Callable[[Floats], Floats] | None,
        n_wanted: int,
        report: Report = lambda n_done: None,
    ) -> Answers:
        """The search that this explainer was made for; each row has a donor."""
        if self.thorough is not None and error is not None:
            objective, neighbors = self.thorough
            search = Thorough(self.donors, self.donor_values, self.distance, neighbors, objective, n_wanted)
            return search(seekers, donors, score=score, error=error, report=report)
        walks = walk_greedily(
            seekers.rows,
            seekers.outputs,
            np.ascontiguousarray(donors.values),
            donors.outputs,
            seekers.wanted,
            jury=self.jury,
            score=score,
            reward=self.reward,
            distance=self.distance,
            error=error,
            groups=seekers.groups,
            report=report,
        )
        return one_for_each(donors.place, walks, seekers.keep_to_limit(np.arange(len(seekers.rows)), walks.values))

    def _search_hybrids(
        self, seekers: Seekers, score: Scorer, error: Callable[[Floats], Floats] | None, n_wanted: int
    ) -> Answers:
        """For rows that no donor as a whole helps, or by a walk that is too long: look at the hybrids of many donors.

        If there is a donor that keeps to the largest number of changes, it is found in any case.
        """
        donors = self.donors.nearest(seekers, score, is_limited=True)
        objective, neighbors = self.thorough or ("sparsity", None)
        if self.thorough is None and self.reward is not None and self.reward.__name__ == "proximity":
            objective = "proximity"
        search = Thorough(self.donors, self.donor_values, self.distance, neighbors, objective, n_wanted)
        found = search(
            seekers, donors, score=score, error=error if self.thorough and error else _no_error, report=_nothing
        )
        return found if self.thorough else replace(found, front=None)

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
        for part in parts:
            for some in (points, answers.front):
                if part.rules is None or some is None:
                    continue
                mine = np.isin(some.row, part.lines)
                lines = np.searchsorted(part.lines, some.row[mine])
                donors = self.donors.index.values[some.donor[mine]]
                kept = part.rules.are_kept(lines, some.values[mine], donors)
                assert kept.all(), "a counterfactual breaks a rule: this is a defect of nicecf, please report it"

    def _reasons(self, question: Question, parts: list[Part], found: Bools) -> tuple[Objects, Objects]:
        """Why rows have no counterfactual, in words, and what to relax; None where they have one."""
        reasons, relaxations = (np.full(len(found), None, dtype=object) for _ in range(2))
        for part in parts:
            left = np.flatnonzero(~found[part.lines])
            lines = part.lines[left]
            if not len(left):
                continue
            offered = self._relaxations(question, part, left)
            for line, offers in zip(lines.tolist(), offered, strict=True):
                best = min(offers, key=lambda one: (one.distance, one.n_changes), default=None)
                relaxations[line] = best
                reasons[line] = self._reason(question, part, question.wanted[line], offers, best)
        return reasons, relaxations

    def _relaxations(self, question: Question, part: Part, left: Ints) -> list[list[Relaxation]]:
        """For each row that is left without, what each rule would give if it were relaxed; those that help."""
        offered: list[list[Relaxation]] = [[] for _ in left]
        lines = part.lines[left]
        seekers = Seekers(question.rows[lines], question.outputs[lines], question.wanted[lines], None)
        for rule in relaxables(part.constraints, self.jury):
            if question.scorer.is_out_of_time():
                break
            of_part = Rules.of(
                rule.constraints, question.schema, question.rows[part.lines], trained=self.schema, index=None
            )
            relaxed = replace(seekers, rules=of_part.take(left))
            for at, candidate in self._candidates(question, relaxed, rule):
                rules = part.constraints.for_row(int(left[at]))
                offered[at].append(rule.relaxation(rules, candidate))
        return offered

    def _candidates(self, question: Question, seekers: Seekers, rule: Relaxable) -> list[tuple[int, Candidate]]:
        """What rows would get without a rule, by their positions among the seekers."""
        donors = replace(self.donors, jury=rule.jury)
        score = question.scorer
        nearest = donors.nearest(seekers, score, most=_TRIED_TO_RELAX)
        walking = np.flatnonzero(nearest.place >= 0)
        some, ends = seekers.take(walking), nearest.take(walking)
        # By the reward of this explainer: what is said of the counterfactual is what applying it would give.
        reward = self.reward if self.thorough is None else rewards.sparsity
        try:
            answers = replace(self, donors=donors, thorough=None, reward=reward)._search(
                some, ends, score, self._error(question.schema), 1
            )
        except OutOfTime:
            return []
        points = answers.points
        distances = self.distance.between(some.rows[points.row], points.values)
        n_changes = differs(some.rows[points.row], points.values).sum(axis=1)
        confidence = rule.jury.confidence(points.outputs)
        return [
            (
                int(walking[row]),
                Candidate(
                    _changes(question.schema, some.rows[row], ends.values[row]),
                    float(confidence[at]),
                    int(n_changes[at]),
                    float(distances[at]),
                ),
            )
            for at, row in enumerate(points.row.tolist())
        ]

    def _reason(
        self, question: Question, part: Part, wanted: Bools, offers: list[Relaxation], best: Relaxation | None
    ) -> str:
        classes = self.jury.classes
        target = " or ".join(repr(plain(label)) for label in classes[wanted])
        n_rows, n_decided = int(self.n_decided.sum()), int(self.n_decided[wanted].sum())
        if best is not None:
            by = "by" if len(offers) == 1 else "by each of"
            rules = "; ".join(one.rule for one in offers)
            return f"no training row gives {target} under the rules. Blocked {by}: {rules}. Cheapest relaxation: {best}"
        if n_decided and (part.constraints or not self.jury.is_alone) and question.scorer.is_out_of_time():
            return "time_budget was used up before all training rows were tried"
        n_repeated = len(self.donors.index.leaves) // len(wanted)
        if len(self.donors.places(np.tile(wanted, n_repeated))):
            blocking = [rule.words for rule in relaxables(part.constraints, self.jury)]
            return (
                f"no training row gives {target} under these rules, and to relax one of them is not enough: "
                f"{'; '.join(blocking)}"
            )
        if n_decided:
            return (
                f"the model puts {n_decided:,} of {n_rows:,} training rows in {target}, but the label of none of them "
                "agrees, so there is no donor; justified=False would use them"
            )
        others = listed(classes[self.n_decided > 0])
        return f"the model predicts {others} for all {n_rows:,} training rows, so no donor for {target} exists"


def _by_constraints(constraints: Any, n_rows: int) -> list[tuple[Ints, Constraints | None]]:
    """The rows that each of the constraints is for, given one for each row."""
    if isinstance(constraints, (str, bytes, dict)) or not isinstance(constraints, (Sequence, np.ndarray)):
        raise OptionError(
            f"constraints must be nicecf.Constraints, or a list with one (or None) for each row, got "
            f"{type(constraints).__name__}."
        )
    if len(constraints) != n_rows:
        raise OptionError(f"constraints has {len(constraints)} entries, one for each row, but X has {n_rows} rows.")
    lines: dict[str, list[int]] = {}
    first: dict[str, Constraints | None] = {}
    for line, one in enumerate(constraints):
        if one is not None and not isinstance(one, Constraints):
            raise OptionError(
                f"constraints of row {line} must be nicecf.Constraints or None, got {type(one).__name__}."
            )
        if one is not None and one.is_per_row:
            raise OptionError(
                f"constraints of row {line} have bounds for each row; in a list, each has those of its own row."
            )
        first.setdefault(repr(one), one)
        lines.setdefault(repr(one), []).append(line)
    return [(np.array(lines[key], dtype=np.intp), first[key]) for key in first]


def _changes(schema: Schema, row: Floats, donor: Floats) -> Callable[[Any], tuple[Any, Any, bool]]:
    """The values of row and donor for a feature, and whether it is numeric."""

    def change(feature: Any) -> tuple[Any, Any, bool]:
        j = schema.position(feature, "constraints")
        column = schema.columns[j]
        if not column.is_categorical:
            before, after = (None if np.isnan(value) else plain(value) for value in (row[j], donor[j]))
            return before, after, True
        before, after = (None if value < 0 else plain(column.levels[int(value)]) for value in (row[j], donor[j]))
        return before, after, False

    return change


def _no_error(rows: Floats) -> Floats:
    """The measure of an explainer that has none: all rows are as plausible."""
    return np.zeros(len(rows))


def _report_from(report: Report, start: int, n_done: int) -> None:
    report(start + n_done)


def _nothing(n_done: int) -> None:
    """Progress that nobody is told."""
