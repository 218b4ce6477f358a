"""Third stage: what may not be handed out is replaced by what may, or kept back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf.explain.fitted import Fitted, Neighborhood
from nicecf.search.answers import Answers, Points, by_row, in_one_step, joined, no_answers
from nicecf.search.question import Question, tell_nobody
from nicecf.search.step_back import step_back
from nicecf.support.phrases import Statement
from nicecf.support.types import Ints

_KEPT_BACK = Statement("reason.kept_back")


def withhold(question: Question, answers: Answers, fitted: Fitted) -> Answers:
    """Other answers in place of training rows as they are, if those may not be handed out.

    A row for which there is nothing else has no answer, and the reason says so.
    """
    if fitted.privacy.digests is None or fitted.neighborhood is None:
        return answers
    guard = _Guard(fitted, fitted.neighborhood)
    nothing = np.empty(0, dtype=np.intp)
    others, refused, kept_back = [], [nothing], [nothing]
    for lines, some in question.by_rules(question.is_open):
        points = answers.points.take(np.isin(answers.points.row, lines))
        points = replace(points, row=np.searchsorted(lines, points.row))
        shared = np.flatnonzero(fitted.is_refused(points.values))
        found, held = guard.others(replace(some, n_wanted=1), points, shared)
        others.append((lines, found))
        refused.append(lines[np.unique(points.row[shared])])
        kept_back.append(lines[held])
    everyone = np.arange(len(question))
    joint = joined([(everyone, answers.without_rows(np.concatenate(refused))), *others], len(question))
    return joint.with_reasons(np.concatenate(kept_back), _KEPT_BACK)


@dataclass(frozen=True, eq=False)
class _Guard:
    """Looks for answers that are no training rows."""

    fitted: Fitted
    neighborhood: Neighborhood

    def others(self, question: Question, points: Points, shared: Ints) -> tuple[Answers, Ints]:
        """Answers for the rows whose points at ``shared`` are training rows, and for those that have none.

        Also the rows for which all that there is must be kept back.
        """
        lines, first = np.unique(points.row[shared], return_index=True)
        without = np.setdiff1d(np.arange(len(question)), points.row)
        refused = by_row([points.take(shared[first]), self._refused_already(question, without)])
        back = step_back(question, refused, distance=self.fitted.distance, is_refused=self.fitted.is_refused)
        back = back.take(question.keep_to_limit(back.row, back.values))
        found = [(back.row, in_one_step(question.rows[back.row], back))]
        for search in (self._other_hybrids, self._other_donors, self._last_resort):
            helped = np.concatenate([some[more.points.row] for some, more in found])
            left = np.setdiff1d(np.union1d(lines, without), helped)
            if len(left):
                found.append((left, search(question.take(left))))
        joint = joined(found, len(question))
        held = refused.row[question.keep_to_limit(refused.row, refused.values)]
        return joint, np.setdiff1d(held, np.union1d(joint.points.row, np.setdiff1d(points.row, lines)))

    def _refused_already(self, question: Question, lines: Ints) -> Points:
        """For rows for which nothing was found: training rows as they are that they would have had."""
        donors = self.neighborhood.donors.nearest(question.take(lines))
        is_shared = np.flatnonzero((donors.place >= 0) & self.fitted.is_refused(donors.values))
        donors = donors.take(is_shared)
        return Points(lines[is_shared], donors.place, donors.values, donors.outputs)

    def _other_hybrids(self, question: Question) -> Answers:
        """Of the hybrids of many donors, those that are no training row."""
        found = self.neighborhood.hybrids(question, self.neighborhood.donors.nearest(question))
        return found.without_rows(found.points.row[self.fitted.is_refused(found.points.values)])

    def _other_donors(self, question: Question) -> Answers:
        """The nearest donor that is no training row as a row may take it, through its rules."""
        if question.rules is None:
            return no_answers(question.rows, question.outputs)
        donors = self.neighborhood.donors.nearest(question, is_limited=True, is_refused=self.fitted.is_refused)
        row = np.flatnonzero(donors.place >= 0)
        donors = donors.take(row)
        points = Points(row, donors.place, donors.values, donors.outputs)
        return joined([(row, in_one_step(question.rows[row], points))], len(question))

    def _last_resort(self, question: Question) -> Answers:
        """Return combinations of training values for rows that nothing else helps."""
        search = self.neighborhood.last_resort
        if search is None or question.panel.target is not None:
            return no_answers(question.rows, question.outputs)
        return search(replace(question, report=tell_nobody), self.neighborhood.donors.nearest(question))
