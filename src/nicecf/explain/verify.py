"""Fourth stage, the last line of the contract: nothing leaves that the models do not accept, or that breaks a rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nicecf.exceptions import ModelError, NicecfError
from nicecf.explain.ask import as_given
from nicecf.explain.fitted import Fitted
from nicecf.models.twin import NotSupported
from nicecf.search.answers import Answers, Points
from nicecf.search.donors import DonorSearch
from nicecf.search.question import Question
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import differs

# How far a twin may be from the model at least, whatever its precision: the order in which a forest adds up its trees.
_SAME_ANSWER = 1e-9


def verify(question: Question, answers: Answers, fitted: Fitted, *, by_twin: bool = False) -> tuple[Question, Answers]:
    """Question and answers as the models see them; an error if an answer is not what it is said to be.

    What a twin said is asked of the model itself; NotSupported if it sees anything otherwise.
    """
    if by_twin and fitted.models.confirms and len(question):
        question, answers = _confirmed(question, answers, fitted)
    points = answers.points
    is_reached = question.panel.accepts(points.outputs, question.wanted[points.row])
    is_reached &= differs(question.rows[points.row], points.values).any(axis=1)
    if not is_reached.all():
        wrong = points.take(np.array([np.argmin(is_reached)]))
        raise ModelError(
            f"the model does not answer the same rows in the same way: row {wrong.row[0]} has the values of training "
            f"row {fitted.positions(wrong.donor)[0]}, but another class now than at fit. Call fit again with the model "
            "as it is."
        )
    for handed_out in (points, answers.front):
        if handed_out is not None:
            _check_promises(question, handed_out, fitted)
    return question, answers


def _check_promises(question: Question, points: Points, fitted: Fitted) -> None:
    """Nothing that is handed out is a training row that may not be, or breaks a rule of its row."""
    if fitted.is_refused(points.values).any():
        raise NicecfError("a counterfactual is a training row. This is a defect of nicecf: please report it.")
    for part in question.parts:
        if part.rules is None or fitted.neighborhood is None:
            continue
        mine = points.take(np.isin(points.row, part.lines))
        donors = _holders(question, mine, part.rules.groups, fitted.neighborhood.donors)
        if not part.rules.are_kept(np.searchsorted(part.lines, mine.row), mine.values, donors).all():
            raise NicecfError("a counterfactual breaks a rule. This is a defect of nicecf: please report it.")


def _holders(question: Question, points: Points, groups: tuple[Ints, ...], donors: DonorSearch) -> Floats:
    """The values of the donor of each point; where it has several, its own values as far as training rows hold them."""
    values = points.values.copy()
    has_one = points.donor >= 0
    values[has_one] = donors.index.values[points.donor[has_one]]
    if groups and not has_one.all():
        some = points.take(~has_one)
        rows = question.rows[some.row]
        held = donors.values.holders(rows, some.values, groups, donors.index)
        values[~has_one] = np.where((held >= 0) | ~differs(rows, some.values), some.values, np.nan)
    return values


def _confirmed(question: Question, answers: Answers, fitted: Fitted) -> tuple[Question, Answers]:
    """The same with the outputs of the model in place of its twin's."""
    models, panel = fitted.models, fitted.panel
    values, outputs = answers.all_points()
    score = models.scorer(question.schema, by_twin=False)
    n_rows, n_values = len(question), len(values)
    seen = score(np.concatenate([question.rows, values, models.canaries.values]))
    models.canaries.check(seen[n_rows + n_values :], panel)
    said, seen = np.concatenate([question.outputs, outputs]), seen[: n_rows + n_values]
    if question.given is not None:
        whole = models.scorer(question.schema.full, by_twin=False)
        seen[:n_rows] = as_given(seen[:n_rows], question.given, question.rows, question.schema, whole, score)
    rounding = _SAME_ANSWER if models.twin is None else max(_SAME_ANSWER, models.twin.rounding)
    # The same digits but for the last: at a cut-off that can be another decision.
    if np.abs(seen - said).max() > rounding or (panel.decide(seen) != panel.decide(said)).any():
        raise NotSupported
    confirmed = replace(question, outputs=seen[:n_rows], score=score)
    if (confirmed.is_answered != question.is_answered).any():
        raise NotSupported
    return confirmed, answers.with_outputs(seen[n_rows:])
