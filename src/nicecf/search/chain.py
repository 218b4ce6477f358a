"""Searches one after the other: the next one for the rows that those before did not help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from nicecf.search.answers import Answers, joined
from nicecf.search.donors import Donors, DonorSearch
from nicecf.search.greedy import Greedy
from nicecf.search.question import Question, tell_nobody


class FromDonors(Protocol):
    """A search that starts from the nearest donor of each row, as far as there is one."""

    def __call__(self, question: Question, donors: Donors) -> Answers: ...


@dataclass(frozen=True, eq=False)
class FirstThatHelps:
    """A search and, for rows under rules that it does not help, others in turn; all from the same nearest donors.

    ``last``: a last resort, also for rows without rules. A target of scores has its own: see `BestScores`.
    """

    donors: DonorSearch
    search: FromDonors
    under_rules: tuple[FromDonors, ...] = ()
    last: FromDonors | None = None

    def __call__(self, question: Question) -> Answers:
        """The answers of the first search that helps each row."""
        donors = self.donors.nearest(question)
        found = [(np.arange(len(question)), self.search(question, donors))]
        is_left = ~found[0][1].has_answer()
        others = self.under_rules if question.rules is not None else ()
        for search in others if self.last is None or question.panel.target is not None else (*others, self.last):
            left = np.flatnonzero(is_left)
            if not len(left):
                break
            more = search(replace(question.take(left), report=tell_nobody), donors.take(left))
            found.append((left, more))
            is_left[left[more.points.row]] = False
        return joined(found, len(question))


@dataclass(frozen=True, eq=False)
class FewChanges:
    """The walk to the nearest donor that is no more changes away than may be made."""

    donors: DonorSearch
    walk: Greedy

    def __call__(self, question: Question, donors: Donors) -> Answers:
        """Walk to other donors than those given: they were of no help."""
        return self.walk(question, self.donors.nearest(question, is_limited=True))
