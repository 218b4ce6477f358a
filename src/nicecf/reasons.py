"""Why rows have no counterfactual, in words: which rules block, and what to relax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nicecf._typing import Bools, Floats, Ints, Objects
from nicecf.constraints import Constraints, Relaxation
from nicecf.decision import Jury
from nicecf.exceptions import ModelError, listed, plain
from nicecf.given import Feature
from nicecf.method import Question
from nicecf.reading import Part, forbids, rules_of
from nicecf.relaxations import Candidate, in_words, relaxables
from nicecf.schema import Schema, differs
from nicecf.search.answers import Answers, Points
from nicecf.search.donors import DonorSearch, Seekers

# Training rows that are tried for a row when one of its rules is left out, to find out whether that would help.
_MOST_TRIED = 256
# The same for all rules together: where there are hundreds of them, fewer are tried for each.
_MOST_TRIED_IN_ALL = 4096
_MOST_RULES_SHOWN = 8
KEPT_BACK = "all that was found is a training row as it is, which share_donor=False keeps back"


@dataclass(frozen=True, eq=False)
class Reasons:
    """Looks for reasons, for the rows of one ``explain`` call that were not helped.

    ``n_decided`` are the training rows that the model puts into each class; ``min_count`` of them must hold a value
    for it to be used; rows of which ``is_refused`` says so may not be handed out, and help nobody. ``walk`` walks some
    rows to their donors, ``apply`` explains a row under other rules, both as the explainer does: what is said of a
    relaxation is what it gives when it is applied. Without ``apply``, that is the walk.
    """

    question: Question
    donors: DonorSearch
    n_decided: Ints
    trained: Schema
    min_count: int
    is_refused: Callable[[Floats], Bools]
    walk: Callable[..., Answers]
    apply: Callable[[int, Constraints], Floats | None] | None

    def of(self, parts: list[Part], is_left: Bools, beyond: Points | None) -> tuple[Objects, Objects]:
        """For each row the reason, and the cheapest relaxation if there is one; None for rows that are not left.

        ``beyond``: what rows would get that may not change as many features.
        """
        reasons, relaxations = (np.full(len(is_left), None, dtype=object) for _ in range(2))
        for part in parts:
            left = np.flatnonzero(is_left[part.lines])
            for at, offers in zip(left.tolist(), self._offers(part, left, beyond), strict=True):
                line = int(part.lines[at])
                best = min(offers, key=lambda one: (one.distance, one.n_changes), default=None)
                relaxations[line] = None if best is None else self._as_applied(line, best)
                rules, wanted = part.constraints.for_row(at), self.question.wanted[line]
                reasons[line] = self._reason(rules, wanted, [one.rule for one in offers], relaxations[line])
        return reasons, relaxations

    def _as_applied(self, line: int, relaxation: Relaxation) -> Relaxation:
        if self.apply is None or relaxation.constraints is None or self.question.scorer.is_out_of_time():
            return relaxation
        values = self.apply(line, relaxation.constraints)
        if values is None:  # for want of time
            return relaxation
        n_changes, distances = self._measured(self.question.rows[[line]], values[None])
        return replace(relaxation, n_changes=int(n_changes[0]), distance=float(distances[0]))

    def _offers(self, part: Part, left: Ints, beyond: Points | None) -> list[list[Relaxation]]:
        """For each row that is left, what would help if it were relaxed."""
        offers: list[list[Relaxation]] = [[] for _ in left]
        question, lines = self.question, part.lines[left]
        if not len(left):
            return offers
        for rule in relaxables(part.constraints, self.donors.jury):
            if question.scorer.is_out_of_time():
                break
            rows = question.rows[part.lines]
            rules = rules_of(rule.constraints, question.schema, rows, trained=self.trained, is_checked=True).take(left)
            seekers = Seekers(question.rows[lines], question.outputs[lines], question.wanted[lines], rules)
            # Without the limit on changes, the donors are those of the search itself, whichever had to be tried.
            most = None if rule.name == "max_changes" else _tried_for_each(part.constraints, self.donors.jury)
            candidates = {}
            with suppress(ModelError):  # a model may refuse rows that break a rule: then there is nothing to offer
                candidates = dict(self._by_walks(seekers, rule.jury, most))
            if rule.name == "max_changes" and beyond is not None:
                for at, candidate in self._by_points(lines, beyond):
                    if at not in candidates or candidate.n_changes < candidates[at].n_changes:
                        candidates[at] = candidate
            for at, candidate in candidates.items():
                offers[at].append(rule.relaxation(part.constraints.for_row(int(left[at])), candidate))
        return offers

    def _by_walks(self, seekers: Seekers, jury: Jury, most: int | None) -> Iterator[tuple[int, Candidate]]:
        """What rows would get by a walk, by their positions among the seekers."""
        score = self.question.scorer
        donors = replace(self.donors, jury=jury).nearest(seekers, score, most=most)
        walking = np.flatnonzero(donors.place >= 0)
        some, ends = seekers.take(walking), donors.take(walking)
        points = self.walk(jury, some, ends, score).points
        points = points.take(~self.is_refused(points.values))
        n_changes, distances = self._measured(some.rows[points.row], points.values)
        confidence = jury.confidence(points.outputs)
        for at, row in enumerate(points.row.tolist()):
            # What must be relaxed is what the donor needs, as the row sees it: then it is found again.
            change = _Change(self.question.schema, some.rows[row], ends.values[row])
            measured = float(confidence[at]), int(n_changes[at]), float(distances[at])
            yield int(walking[row]), Candidate(change.of, change.is_meant, *measured)

    def _by_points(self, lines: Ints, points: Points) -> Iterator[tuple[int, Candidate]]:
        """Known points as candidates, by the positions of their rows among some lines."""
        points = points.take(~self.is_refused(points.values))
        place_of = {line: at for at, line in enumerate(lines.tolist())}
        rows = self.question.rows[points.row]
        n_changes, distances = self._measured(rows, points.values)
        confidence = self.donors.jury.confidence(points.outputs)
        for at, line in enumerate(points.row.tolist()):
            if line in place_of:
                change = _Change(self.question.schema, rows[at], points.values[at])
                measured = float(confidence[at]), int(n_changes[at]), float(distances[at])
                yield place_of[line], Candidate(change.of, change.is_meant, *measured)

    def _measured(self, rows: Floats, values: Floats) -> tuple[Ints, Floats]:
        return differs(rows, values).sum(axis=1), self.donors.index.distance.between(rows, values)

    def _reason(self, constraints: Constraints, wanted: Bools, blocking: list[str], best: Relaxation | None) -> str:
        jury = self.donors.jury
        target = jury.named(wanted)
        n_rows, n_decided = int(self.n_decided.sum()), int(self.n_decided[wanted].sum())
        if best is not None:
            by = "by" if len(blocking) == 1 else "by each of"
            return (
                f"no training row gives {target} under the rules. Blocked {by}: {_shown(blocking)}. Cheapest "
                f"relaxation: {best}"
            )
        if not n_decided:
            return no_donor(jury, self.n_decided, wanted)
        if (constraints or not jury.is_alone) and self.question.scorer.is_out_of_time():
            return f"time_budget was used up before all training rows were tried for {target}"
        n_groups = len(self.donors.index.leaves)
        if not len(self.donors.places(np.tile(wanted, n_groups // len(wanted)))):
            return (
                f"the model puts {n_decided:,} of {n_rows:,} training rows in {target}, but the label of none of them "
                "agrees, so there is no donor; justified=False would use them"
            )
        most = _tried_for_each(constraints, jury)
        common = f"only values that at least {self.min_count} training rows hold are used (min_count)"
        rules = _shown([*in_words(constraints, jury), *([common] if self.min_count > 1 else [])])
        if not constraints and jury.is_alone:  # min_count alone, which is not relaxed row by row
            return f"no training row gives {target} under the rules: {rules}"
        few = f" (with the {most} nearest training rows)" if len(self.donors.index.values) > most else ""
        return f"no training row gives {target} under the rules, and to relax one of them is not enough{few}: {rules}"


def no_donor(jury: Jury, n_decided: Ints, wanted: Bools) -> str:
    """The reason where the model puts no training row into a wanted class."""
    others = listed(jury.classes[n_decided > 0])
    return (
        f"the model predicts {others} for all {n_decided.sum():,} training rows, so no donor for {jury.named(wanted)} "
        "exists"
    )


def _tried_for_each(constraints: Constraints, jury: Jury) -> int:
    n_rules = len(in_words(constraints, jury))
    return int(np.clip(_MOST_TRIED_IN_ALL // max(1, n_rules), 8, _MOST_TRIED))


def _shown(rules: list[str]) -> str:
    more = f"; and {len(rules) - _MOST_RULES_SHOWN} more" if len(rules) > _MOST_RULES_SHOWN else ""
    return "; ".join(rules[:_MOST_RULES_SHOWN]) + more


@dataclass(frozen=True, eq=False)
class _Change:
    """From an encoded row to what it would have in its place."""

    schema: Schema
    row: Floats
    donor: Floats

    def of(self, feature: Feature) -> tuple[Any, Any, bool]:
        """The values of row and donor for a feature, and whether it is numeric."""
        j = self.schema.position(feature, "constraints")
        column = self.schema.columns[j]
        ends = self.row[j], self.donor[j]
        if not column.is_categorical:
            before, after = (None if np.isnan(value) else plain(value) for value in ends)
            return before, after, True
        before, after = (None if value < 0 else plain(column.levels[int(value)]) for value in ends)
        return before, after, False

    def is_meant(self, feature: Feature, pair: tuple[Any, Any]) -> bool:
        """Whether it is what a pair (before, after) of a rule means."""
        j = self.schema.position(feature, "constraints")
        return forbids(pair, self.schema, j, self.row[j], self.donor[j])
