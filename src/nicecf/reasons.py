"""Why rows have no counterfactual, in words: which rules block, and what to relax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nicecf._typing import Bools, Floats, Ints, Objects
from nicecf.constraints import Constraints, Relaxation
from nicecf.decision import Jury
from nicecf.exceptions import listed, plain
from nicecf.method import Question
from nicecf.relaxations import Candidate, Relaxable, in_words, relaxables
from nicecf.rules import Part, Rules
from nicecf.schema import Schema, differs
from nicecf.search.answers import Answers, Points
from nicecf.search.donors import Donors, DonorSearch, Seekers

# Training rows that are tried for a row when one of its rules is left out, to find out whether that would help.
_MOST_TRIED = 256


@dataclass(frozen=True, eq=False)
class Reasons:
    """Looks for reasons, for the rows of one ``explain`` call that were not helped.

    ``n_decided`` are the training rows that the model puts into each class. ``walk`` walks some rows to their donors,
    ``search_hybrids`` looks for them at hybrids of many donors, both as the explainer does: what is said of a
    relaxation is what it gives when it is applied.
    """

    question: Question
    donors: DonorSearch
    n_decided: Ints
    trained: Schema
    walk: Callable[..., Answers]
    search_hybrids: Callable[..., Answers]

    def of(self, parts: list[Part], is_left: Bools) -> tuple[Objects, Objects]:
        """For each row the reason, and the cheapest relaxation if there is one; None for rows that are not left."""
        reasons, relaxations = (np.full(len(is_left), None, dtype=object) for _ in range(2))
        for part in parts:
            left = np.flatnonzero(is_left[part.lines])
            for at, offers in zip(left.tolist(), self._offers(part, left), strict=True):
                line = part.lines[at]
                relaxations[line] = min(offers, key=lambda one: (one.distance, one.n_changes), default=None)
                rules, wanted = part.constraints.for_row(at), self.question.wanted[line]
                reasons[line] = self._reason(rules, wanted, [one.rule for one in offers], relaxations[line])
        return reasons, relaxations

    def _offers(self, part: Part, left: Ints) -> list[list[Relaxation]]:
        """For each row that is left, what would help if it were relaxed."""
        offers: list[list[Relaxation]] = [[] for _ in left]
        question, lines = self.question, part.lines[left]
        if not len(left):
            return offers
        for rule in relaxables(part.constraints, self.donors.jury):
            if question.scorer.is_out_of_time():
                break
            rows = question.rows[part.lines]
            rules = Rules.of(rule.constraints, question.schema, rows, trained=self.trained, index=None).take(left)
            seekers = Seekers(question.rows[lines], question.outputs[lines], question.wanted[lines], rules)
            for at, candidate in self._candidates(seekers, rule).items():
                offers[at].append(rule.relaxation(part.constraints.for_row(int(left[at])), candidate))
        return offers

    def _candidates(self, seekers: Seekers, rule: Relaxable) -> dict[int, Candidate]:
        """What rows would get without a rule, by their positions among the seekers."""
        donors = replace(self.donors, jury=rule.jury).nearest(seekers, self.question.scorer, most=_MOST_TRIED)
        candidates = dict(self._by_walks(seekers, donors, rule.jury))
        if rule.name == "max_changes":
            candidates |= self._with_fewest_changes(seekers, donors, candidates)
        return candidates

    def _with_fewest_changes(
        self, seekers: Seekers, donors: Donors, known: dict[int, Candidate]
    ) -> dict[int, Candidate]:
        """Candidates with fewer changes than are known: those that a limit of that many does give."""
        score = self.question.scorer
        fewest = self.search_hybrids(seekers, donors, score, objective="sparsity").points
        n_changes = differs(seekers.rows[fewest.row], fewest.values).sum(axis=1)
        candidates = {}
        for n in np.unique(n_changes):
            rows = fewest.row[n_changes == n].tolist()
            asked = np.array([row for row in rows if row not in known or n < known[row].n_changes], dtype=np.intp)
            some = seekers.take(asked)
            assert some.rules is not None
            limited = replace(some, rules=replace(some.rules, max_changes=int(n)))
            points = self.search_hybrids(limited, donors.take(asked), score).points
            for at, candidate in self._described(limited, points):
                if candidate.n_changes == n:
                    candidates[int(asked[at])] = candidate
        return candidates

    def _by_walks(self, seekers: Seekers, donors: Donors, jury: Jury) -> Iterator[tuple[int, Candidate]]:
        walking = np.flatnonzero(donors.place >= 0)
        some, ends = seekers.take(walking), donors.take(walking)
        points = self.walk(jury, some, ends, self.question.scorer).points
        for row, candidate in self._described(some, points, ends.values, jury):
            yield int(walking[row]), candidate

    def _described(
        self, seekers: Seekers, points: Points, donors: Floats | None = None, jury: Jury | None = None
    ) -> Iterator[tuple[int, Candidate]]:
        """Points as candidates, by their rows; what changes is what the donors as the rows see them have, if given."""
        rows = seekers.rows[points.row]
        n_changes = differs(rows, points.values).sum(axis=1)
        distances = self.donors.index.distance.between(rows, points.values)
        confidence = (jury or self.donors.jury).confidence(points.outputs)
        for at, row in enumerate(points.row.tolist()):
            after = points.values[at] if donors is None else donors[row]
            change = _change_of(self.question.schema, seekers.rows[row], after)
            yield row, Candidate(change, float(confidence[at]), int(n_changes[at]), float(distances[at]))

    def _reason(self, constraints: Constraints, wanted: Bools, blocking: list[str], best: Relaxation | None) -> str:
        jury = self.donors.jury
        target = " or ".join(repr(plain(label)) for label in jury.classes[wanted])
        n_rows, n_decided = int(self.n_decided.sum()), int(self.n_decided[wanted].sum())
        if best is not None:
            by = "by" if len(blocking) == 1 else "by each of"
            return (
                f"no training row gives {target} under the rules. Blocked {by}: {'; '.join(blocking)}. Cheapest "
                f"relaxation: {best}"
            )
        if not n_decided:
            others = listed(jury.classes[self.n_decided > 0])
            return f"the model predicts {others} for all {n_rows:,} training rows, so no donor for {target} exists"
        if (constraints or not jury.is_alone) and self.question.scorer.is_out_of_time():
            return f"time_budget was used up before all training rows were tried for {target}"
        n_groups = len(self.donors.index.leaves)
        if not len(self.donors.places(np.tile(wanted, n_groups // len(wanted)))):
            return (
                f"the model puts {n_decided:,} of {n_rows:,} training rows in {target}, but the label of none of them "
                "agrees, so there is no donor; justified=False would use them"
            )
        rules = "; ".join(in_words(constraints, jury))
        few = f" (with the {_MOST_TRIED} nearest training rows)" if len(self.donors.index.values) > _MOST_TRIED else ""
        return f"no training row gives {target} under the rules, and to relax one of them is not enough{few}: {rules}"


def _change_of(schema: Schema, row: Floats, donor: Floats) -> Callable[[Any], tuple[Any, Any, bool]]:
    """A function that tells the values of row and donor for a feature, and whether it is numeric."""

    def change(feature: Any) -> tuple[Any, Any, bool]:
        j = schema.position(feature, "constraints")
        column = schema.columns[j]
        if not column.is_categorical:
            before, after = (None if np.isnan(value) else plain(value) for value in (row[j], donor[j]))
            return before, after, True
        before, after = (None if value < 0 else plain(column.levels[int(value)]) for value in (row[j], donor[j]))
        return before, after, False

    return change
