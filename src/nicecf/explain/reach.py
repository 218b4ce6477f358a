"""Between third and fourth stage, for targets of scores: rows that no donor helps get as near as they can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nicecf.explain.fitted import Fitted
from nicecf.search.answers import Answers, in_one_step, joined
from nicecf.search.best_scores import BestScores
from nicecf.search.question import Question, in_parts
from nicecf.support.phrases import Statement
from nicecf.support.types import Bools


def reach(question: Question, answers: Answers, fitted: Fitted) -> tuple[Answers, Answers | None]:
    """The answers, with what turns out to lie in the target; and what comes nearest to it for all other rows.

    Without a target of scores, the answers as they are.
    """
    near = fitted.neighborhood
    is_left = question.is_open & ~answers.has_answer()
    if question.panel.target is None or near is None or not is_left.any():
        return answers, None
    search = BestScores(near.donors, fitted.distance, fitted.is_refused, mixes=near.first_questions is not None)

    def climbed(some: Question) -> Answers:
        points, is_done = search(some)
        found = joined([(points.row, in_one_step(some.rows[points.row], points))], len(some))
        for line in np.flatnonzero(~is_done):
            found.notes[line] = (Statement("note.cut_search"),)
        return found

    climbs = in_parts(question, is_left, climbed)
    points = climbs.points
    is_there = question.panel.accepts(points.outputs, question.wanted[points.row])
    arrived = _only(climbs, is_there)
    for line in points.row[is_there].tolist() if question.n_wanted > 1 else ():
        arrived.notes[line] = (*(arrived.notes[line] or ()), Statement("note.one_of", {"asked": question.n_wanted}))
    everyone = np.arange(len(question))
    joint = joined([(everyone, answers), (everyone, arrived)], len(question))
    joint.reasons[points.row[is_there]] = None  # such as that all there was had to be kept back
    # What the first search knows besides is kept as it is.
    return replace(joint, front=answers.front, beyond=answers.beyond), _only(climbs, ~is_there)


def as_the_model_sees(answers: Answers, question: Question, fitted: Fitted) -> Answers:
    """The same with the model's own outputs, where a twin was asked; only rows whose score is nearer than it was."""
    points, panel = answers.points, question.panel
    assert panel.target is not None
    outputs = fitted.models.scorer(question.schema, by_twin=False)(points.values) if len(points.row) else points.outputs
    before, after = (panel.probabilities(some)[:, 0] for some in (question.outputs[points.row], outputs))
    is_nearer = panel.target.margins(after) > panel.target.margins(before)
    return _only(replace(answers, points=replace(points, outputs=outputs)), is_nearer)


def _only(answers: Answers, is_kept: Bools) -> Answers:
    kept = np.flatnonzero(is_kept)
    return replace(answers, points=answers.points.take(kept), walks=answers.walks.take(kept))
