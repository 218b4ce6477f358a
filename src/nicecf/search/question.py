"""What a search is asked, and the protocol that every search follows: Question -> Answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from nicecf.models.decision import Panel
from nicecf.models.scorer import RowFunction, Scorer
from nicecf.rules.moving import contradictions
from nicecf.rules.parts import Part
from nicecf.rules.row_rules import Rules
from nicecf.search.answers import Answers, joined
from nicecf.search.groups import Groups
from nicecf.support.phrases import Classes, plain_classes
from nicecf.support.progress import Report
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import Schema, differs

# Costs that are only rounding apart.
SAME = 1e-9


def tell_nobody(n_done: int) -> None:
    """Progress that nobody is told."""


@dataclass(frozen=True, eq=False)
class Least:
    """What an answer for each row costs at least: changes, and a distance; infinite where there is none."""

    changes: Floats
    distance: Floats

    def take(self, lines: Ints | Bools) -> Least:
        """That of some of the rows."""
        return Least(self.changes[lines], self.distance[lines])


@dataclass(frozen=True, eq=False)
class Question:
    """Rows to explain: what the models say of them, the classes wanted of each, and whom to ask.

    ``schema`` knows the categories of these rows, ``trained`` those of the training data. ``error``: how implausible
    float rows are, if there is a measure of it. ``parts``: the rows of a whole call by their rules; a search is asked
    about rows that share theirs, ``rules``. ``given``: the rows with all columns of the table, as they were handed in.
    ``likely``: the places of donors that are probably the nearest, -1 for none; None if nobody has looked. ``least``:
    what answers cost at least, if that is known. ``report`` is told how many rows are done.
    """

    schema: Schema
    trained: Schema
    panel: Panel
    score: Scorer
    rows: Floats
    outputs: Floats
    wanted: Bools
    rules: Rules | None = None
    parts: tuple[Part, ...] = ()
    error: RowFunction | None = None
    n_wanted: int = 1
    likely: Ints | None = None
    report: Report = tell_nobody
    given: Floats | None = None
    least: Least | None = None

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @cached_property
    def is_answered(self) -> Bools:
        """Rows that need no counterfactual: they are accepted in a wanted class already."""
        return self.panel.accepts(self.outputs, self.wanted)

    @property
    def is_open(self) -> Bools:
        """Rows to search for: not those that need nothing, nor those that could not exist themselves."""
        return ~self.is_answered & ~self.is_impossible

    @cached_property
    def is_impossible(self) -> Bools:
        """Rows of a whole call that break, as they are, a rule that is not about changes."""
        is_impossible = np.zeros(len(self.rows), dtype=bool)
        for part in self.parts:
            if part.rules is not None:
                lines = np.arange(len(part.lines))
                is_impossible[part.lines] = ~part.rules.are_possible(lines, self.rows[part.lines])
        for _, is_other, _ in contradictions(self.schema, self.rows if self.given is None else self.given):
            is_impossible |= is_other
        return is_impossible

    def accepts(self, lines: Ints, values: Floats, outputs: Floats) -> Bools:
        """Whether values in place of some of the rows will do: the models accept them, and they could exist."""
        is_accepted = self.panel.accepts(outputs, self.wanted[lines])
        if self.rules is not None and is_accepted.any():
            is_accepted[is_accepted] = self.rules.are_possible(lines[is_accepted], values[is_accepted])
        return is_accepted

    @property
    def groups(self) -> Groups:
        """Which features move together."""
        return Groups.of(self.rules)

    @property
    def most_changes(self) -> int:
        """How many features may change."""
        most = None if self.rules is None else self.rules.max_changes
        return self.rows.shape[1] if most is None else most

    def keep_to_limit(self, lines: Ints, values: Floats) -> Bools:
        """Whether values for some of the rows change no more features than may change."""
        return np.asarray(differs(self.rows[lines], values).sum(axis=1) <= self.most_changes)

    def target(self, line: int) -> Classes:
        """The classes wanted of a row, to be named."""
        return plain_classes(self.panel.classes[self.wanted[line]])

    def take(self, lines: Ints | Bools) -> Question:
        """Some of the rows, all under the same rules."""
        return replace(
            self,
            rows=self.rows[lines],
            outputs=self.outputs[lines],
            wanted=self.wanted[lines],
            rules=None if self.rules is None else self.rules.take(np.arange(len(self.rows))[lines]),
            parts=(),
            likely=None if self.likely is None else self.likely[lines],
            given=None if self.given is None else self.given[lines],
            least=None if self.least is None else self.least.take(lines),
        )

    def by_rules(self, is_asked: Bools) -> Iterator[tuple[Ints, Question]]:
        """The rows of a whole call that are asked about, by the rules that they share, with their lines."""
        for part in self.parts:
            asked = np.flatnonzero(is_asked[part.lines])
            lines = part.lines[asked]
            rules = None if part.rules is None else part.rules.take(asked)
            yield lines, replace(self.take(lines), rules=rules)


class Search(Protocol):
    """From rows to their counterfactuals; no row of the question is accepted in a wanted class as it is."""

    def __call__(self, question: Question) -> Answers: ...


def in_parts(question: Question, is_asked: Bools, search: Callable[[Question], Answers]) -> Answers:
    """Search for the rows of a whole call that are asked about, those that share their rules together."""
    n_rows, found = len(question), []
    n_done = n_rows - int(np.count_nonzero(is_asked))
    for lines, some in question.by_rules(is_asked):
        found.append((lines, search(replace(some, report=_from(question.report, n_done)))))
        n_done += len(lines)
        question.report(n_done)
    return joined(found, n_rows)


def _from(report: Report, start: int) -> Report:
    return lambda n_done: report(start + n_done)
