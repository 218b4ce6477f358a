"""Fifth stage: why rows have no counterfactual, which rules block, and what to relax."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from nicecf.exceptions import ModelError
from nicecf.explain.conflicts import conflict
from nicecf.explain.fitted import Fitted, Neighborhood
from nicecf.explain.margins import surest_changes, surest_donors
from nicecf.models.decision import Panel
from nicecf.models.scorer import OutOfTime
from nicecf.rules.columns import cell_of, is_date, positions_of
from nicecf.rules.constraints import Constraints
from nicecf.rules.expressions import Relation
from nicecf.rules.kinds.forbid import forbids
from nicecf.rules.kinds.kind import Candidate
from nicecf.rules.kinds.one_way import of_dates
from nicecf.rules.moving import contradictions
from nicecf.rules.parameters import Feature
from nicecf.rules.parts import Part, kept_text, note_of
from nicecf.rules.reading import rules_of
from nicecf.rules.relaxations import Relaxable, Relaxation, relaxables, statements_of
from nicecf.rules.row_rules import Rules
from nicecf.rules.whole_rows import holds
from nicecf.search.answers import Answers, Points, nothing_said
from nicecf.search.block import RowMoves
from nicecf.search.exact import Exact
from nicecf.search.first_candidates import single_changes
from nicecf.search.question import Question
from nicecf.support.phrases import Features, Field, Statement, Value, plain_classes
from nicecf.support.types import Bools, Floats, Ints, Objects
from nicecf.tables.schema import Schema, differs

# Training rows that are tried for a row when one of its rules is left out, to find out whether that would help.
_MOST_TRIED = 256
# The same for all rules together: where there are hundreds of them, fewer are tried for each.
_MOST_TRIED_IN_ALL = 4096
_MOST_RULES_SHOWN = 8
# Of what single changes would do, so many are tried by the search itself.
_MOST_APPLIED = 3
# A relaxation is made smaller so many times at most, each time by a search.
_MOST_SMALLER = 8


# A rule, and what would have to be relaxed of it.
_Offer: TypeAlias = tuple[Relaxable, Relaxation]


@dataclass(frozen=True, eq=False)
class Reasons:
    """For each row why there is no counterfactual, and the cheapest relaxation; None where there is nothing to say."""

    reasons: Objects
    relaxations: Objects


def why_not(question: Question, answers: Answers, fitted: Fitted) -> Reasons:
    """What the search knows itself and, for rows among training rows, which rules block and what to relax."""
    reasons, relaxations = answers.reasons.copy(), nothing_said(len(question))
    is_left = ~question.is_answered & ~answers.has_answer()
    is_left &= np.array([reason is None for reason in reasons], dtype=bool)
    for line in np.flatnonzero(is_left & question.is_impossible).tolist():
        reasons[line] = _why_impossible(question, line)
    is_left &= ~question.is_impossible
    if is_left.any() and fitted.neighborhood is not None:
        looking = _WhyNot(question, fitted, fitted.neighborhood)
        for part in question.parts:
            for line, reason, relaxation in looking.of_part(part, np.flatnonzero(is_left[part.lines]), answers.beyond):
                reasons[line], relaxations[line] = reason, relaxation
    if isinstance(fitted.search, Exact) and answers.proofs is not None:
        for line in np.flatnonzero(is_left).tolist():
            if answers.proofs[line].status == "infeasible":
                reasons[line] = _proven_reason(question, line, fitted)
    return Reasons(reasons, relaxations)


def _proven_reason(question: Question, line: int, fitted: Fitted) -> Statement:
    """That there is no counterfactual, and which rules are in conflict, if it is the rules."""
    target = question.target(line)
    (part,) = (part for part in question.parts if line in part.lines)
    assert isinstance(fitted.search, Exact)
    blocking = conflict(question, line, part, fitted.search)
    if not blocking:
        return Statement("reason.infeasible", {"target": target})
    schema = question.trained.full
    said = [of_dates(one, lambda feature: is_date(schema, schema.position(feature, "constraints"))) for one in blocking]
    limits = _limits(part.constraints)
    return Statement("reason.infeasible_under", {"target": target, "limits": limits, "rules": _shown(said)})


def _why_impossible(question: Question, line: int) -> Statement:
    """What a row as it is contradicts: a column that follows from others, or a relation."""
    assert question.given is not None
    row, schema = question.given[[line]], question.schema.full
    (part,) = (part for part in question.parts if line in part.lines)
    protected = positions_of(part.constraints.protected, schema, "protected")
    for j, is_other, computed in contradictions(question.schema, row):
        if is_other[0]:
            if j in protected:
                return Statement("reason.contradicts_unnamed")
            has, would = (Value(cell_of(schema, j, one)) for one in (row[0, j], computed[0]))
            feature = Features((schema.names[j],))
            if has.value is None and would.value is None:
                return Statement("reason.not_computed", {"feature": feature})
            if question.trained.full.columns[j].common is not None:  # what a twin is may be told of nobody
                return Statement("reason.contradicts_itself", {"feature": feature})
            return Statement("reason.contradicts_derived", {"feature": feature, "value": has, "computed": would})
    relations = [Relation.parse(str(one)) for one in part.constraints.relations]
    computed = question.schema.expand(question.rows[[line]])  # may be rounded otherwise than in the row
    for values in (row, computed):
        broken = [one for one in relations if not holds(one, values, schema)[0]]
        if broken and not protected.isdisjoint(positions_of(broken[0].columns, schema, "relations")):
            return Statement("reason.contradicts_unnamed")
        if broken:
            return Statement("reason.breaks_relation", {"relation": str(broken[0])})
    without = next(j for j, is_other, _ in contradictions(question.schema, computed) if is_other[0])
    if without in protected:
        return Statement("reason.contradicts_unnamed")
    return Statement("reason.not_computed", {"feature": Features((schema.names[without],))})


def no_donor(panel: Panel, n_decided: Ints, wanted: Bools) -> Statement:
    """The reason where the model puts no training row into a wanted class."""
    others, target = plain_classes(panel.classes[n_decided > 0], are_all=True), plain_classes(panel.classes[wanted])
    if panel.target is not None:
        return Statement("reason.no_score", {"n_rows": int(n_decided.sum()), "target": target})
    return Statement("reason.no_donor", {"others": others, "n_rows": int(n_decided.sum()), "target": target})


@dataclass(frozen=True, eq=False)
class _WhyNot:
    """Looks for reasons, for the rows of one ``explain`` call that were not helped.

    What is said of a relaxation is what it gives when it is applied.
    """

    question: Question
    fitted: Fitted
    neighborhood: Neighborhood

    def of_part(
        self, part: Part, left: Ints, beyond: Points | None
    ) -> Iterator[tuple[int, Statement, Relaxation | None]]:
        """The lines that are left, each with the reason and the cheapest relaxation, if there is one.

        ``left``: positions in the part. ``beyond``: what rows would get that may not change as many features.
        """
        for at, offers in zip(left.tolist(), self._offers(part, left, beyond), strict=True):
            line = int(part.lines[at])
            rules = part.constraints.for_row(at)
            best = min(offers, key=lambda one: (one[1].distance, one[1].n_changes), default=None)
            relaxation = None if best is None else self._as_applied(line, rules, *best)
            yield line, self._reason(line, rules, [one.blocks for _, one in offers], relaxation), relaxation

    def _as_applied(self, line: int, rules: Constraints, rule: Relaxable, relaxation: Relaxation) -> Relaxation:
        """Return what a relaxation gives when it is applied, and less of it if that is enough.

        ``rules``: those of the row.
        """
        points = self._applied(line, relaxation.constraints)
        # Ends: every turn needs less than the one before, and there are so many at most.
        for number in range(_MOST_SMALLER):
            if points is None:  # nothing less is enough; or, the first time, there is no time
                break
            ((_, found),) = self._candidates(self.question.take(np.array([line])), points, points.values)
            less = rule.less(rules, found)
            if less is not None:
                relaxation = self._dated(rule.relaxation(rules, found))
            elif not number:
                relaxation = replace(relaxation, n_changes=found.n_changes, distance=found.distance)
            points = self._applied(line, less)
        return relaxation

    def _applied(self, line: int, constraints: Constraints | None) -> Points | None:
        """What the search finds for a row under relaxed rules; None if that is nothing, or there is no time."""
        search = self.neighborhood.relaxed
        if search is None or constraints is None or self.question.score.is_out_of_time():
            return None
        row = self.question.take(np.array([line]))
        rules = rules_of(constraints, row.schema, row.rows, trained=row.trained, is_checked=True, given=row.given)
        points = search(replace(row, rules=rules, n_wanted=1, likely=None)).points
        return points if len(points.row) else None

    def _offers(self, part: Part, left: Ints, beyond: Points | None) -> list[list[_Offer]]:
        """For each row that is left, what would help if it were relaxed."""
        offers: list[list[_Offer]] = [[] for _ in left]
        question, lines = self.question, part.lines[left]
        if not len(left):
            return offers
        for rule in relaxables(part.constraints, question.panel, question.trained.full):
            if question.score.is_out_of_time():
                break
            relaxed, own = self._relaxed(part, left, rule)
            # Without the limit on changes, the donors are those of the search itself, whichever had to be tried.
            most = None if rule.name == "max_changes" else self._tried_for_each(part.constraints)
            candidates = {}
            with suppress(ModelError):  # a model may refuse rows that break a rule: then there is nothing to offer
                # What keeps this rule anyway is no reason to relax it.
                candidates = dict(self._by_walks(relaxed, most, own))
            if rule.name == "min_probability":
                candidates = self._of_highest_margin(relaxed, most, candidates)
            if rule.name == "max_changes" and beyond is not None:
                for at, candidate in self._by_points(lines, beyond):
                    if at not in candidates or candidate.n_changes < candidates[at].n_changes:
                        candidates[at] = candidate
            self._offer(offers, rule, part, left, candidates)
        self._offer_single_changes(offers, part, left)
        return offers

    def _offer_single_changes(self, offers: list[list[_Offer]], part: Part, left: Ints) -> None:
        """For rows that no walk helped, what one change would do that a rule forbids.

        Where nearly all features are locked, the nearest donors hold hardly any other values of the one that is not.
        What is offered was found by the search itself under the relaxed rules: it looks for single changes, too.
        """
        still = np.flatnonzero([not of_row for of_row in offers])
        if not len(still) or self.neighborhood.relaxed is None:
            return
        found: list[list[_Offer]] = [[] for _ in offers]
        for rule in relaxables(part.constraints, self.question.panel, self.question.trained.full):
            if self.question.score.is_out_of_time():
                return
            if rule.panel is not self.question.panel:
                continue
            relaxed, own = self._relaxed(part, left[still], rule)
            candidates: dict[int, Candidate] = {}
            with suppress(ModelError, OutOfTime):
                candidates = {int(still[at]): one for at, one in self._by_single_changes(relaxed, own)}
            self._offer(found, rule, part, left, candidates)
        for at in still.tolist():
            line = int(part.lines[left[at]])
            nearest = sorted(found[at], key=lambda one: one[1].distance)[:_MOST_APPLIED]
            offers[at] += [one for one in nearest if self._applied(line, one[1].constraints) is not None]

    def _of_highest_margin(
        self, question: Question, most: int | None, candidates: dict[int, Candidate]
    ) -> dict[int, Candidate]:
        """Return for each row the candidate with the highest probability: to accept that is the smallest relaxation.

        What single changes reach, alone or together, counts only where the search finds something within that margin.
        """
        near, is_refused, best = self.neighborhood, self.fitted.is_refused, dict(candidates)
        n_most = len(near.donors.index.values) if most is None else most
        with suppress(ModelError, OutOfTime):
            points = surest_donors(question, near, is_refused, n_most)
            best |= _surer(best, self._candidates(question, points, points.values))
            if near.first_questions is not None:
                points = surest_changes(question, near, is_refused)
                together = _surer(best, self._candidates(question, points, points.values))
                best |= {at: one for at, one in together.items() if self._is_found_within(question, at, one.margin)}
        return best

    def _is_found_within(self, question: Question, at: int, margin: float) -> bool:
        """Return whether the search finds an answer for a row within a margin."""
        search = self.neighborhood.relaxed
        if search is None or self.question.score.is_out_of_time():
            return False
        panel = replace(question.panel, min_probability=margin)
        row = replace(question.take(np.array([at])), panel=panel, n_wanted=1, likely=None)
        return bool(len(search(row).points.row))

    def _relaxed(self, part: Part, left: Ints, rule: Relaxable) -> tuple[Question, Rules | None]:
        """The question of some rows without a rule; and the rules that they have, if these say what would be new."""
        question = self.question
        rows = question.rows[part.lines]
        given = None if question.given is None else question.given[part.lines]
        rules = rules_of(
            rule.constraints, question.schema, rows, trained=question.trained, is_checked=True, given=given
        )
        # Without any rules the donors are those that the models accept; through rules, any training row may be one.
        own_rules = None if part.rules is None else rules.take(left)
        relaxed = replace(question.take(part.lines[left]), rules=own_rules, panel=rule.panel)
        own = part.rules.take(left) if rule.panel is question.panel and part.rules is not None else None
        return relaxed, own

    def _offer(
        self,
        offers: list[list[_Offer]],
        rule: Relaxable,
        part: Part,
        left: Ints,
        candidates: dict[int, Candidate],
    ) -> None:
        schema = self.question.trained.full
        # Nobody made such a feature immutable: two rules that contradict each other do.
        contradicted = {one.feature: note_of(one, schema) for one in part.contradictions if rule.name == "immutable"}
        for at, candidate in candidates.items():
            offer = self._dated(rule.relaxation(part.constraints.for_row(int(left[at])), candidate))
            blocks = contradicted.get(rule.about, offer.blocks)
            offers[at].append((rule, replace(offer, blocks=blocks)))

    def _dated(self, one: Relaxation) -> Relaxation:
        return replace(one, blocks=self._of_dates(one.blocks), instead=self._of_dates(one.instead))

    def _by_single_changes(self, question: Question, own: Rules | None) -> Iterator[tuple[int, Candidate]]:
        """What rows would get by one change, by their positions in a question with relaxed rules: the nearest."""
        row_moves = RowMoves(question.rows, self.neighborhood.donors.values, question.rules)
        proposals = row_moves.from_rows(single_changes(row_moves))
        outputs = question.score(proposals.values)
        helps = question.accepts(proposals.line, proposals.values, outputs) & ~self.fitted.is_refused(proposals.values)
        line, values, outputs = proposals.line[helps], proposals.values[helps], outputs[helps]
        if own is not None:
            is_new = ~own.are_kept(line, values, values)
            line, values, outputs = line[is_new], values[is_new], outputs[is_new]
        points = Points(line, np.full(len(line), -1), values, outputs)
        _, distances = self._measured(question.rows[line], values)
        order = np.lexsort((distances, line))
        nearest = points.take(order[np.unique(line[order], return_index=True)[1]])
        yield from self._candidates(question, nearest, nearest.values)

    def _by_walks(self, question: Question, most: int | None, own: Rules | None) -> Iterator[tuple[int, Candidate]]:
        """What rows would get by a walk, by their positions in a question with relaxed rules.

        What keeps the rules that they have anyway, ``own``, is left out.
        """
        donors = self.neighborhood.donors.nearest(question, most=most)
        points = self.neighborhood.walk(question, donors).points
        points = points.take(~self.fitted.is_refused(points.values))
        if own is not None:
            as_they_are = self.neighborhood.donors.index.values[donors.place[points.row]]
            points = points.take(~own.are_kept(points.row, points.values, as_they_are))
        # What must be relaxed is what the donor needs, as the row sees it: then it is found again.
        yield from self._candidates(question, points, donors.values[points.row])

    def _candidates(self, question: Question, points: Points, needed: Floats) -> Iterator[tuple[int, Candidate]]:
        """Points for some rows of a question as candidates; ``needed``: the values that must be allowed for each."""
        n_changes, distances = self._measured(question.rows[points.row], points.values)
        confidence = question.panel.confidence(points.outputs)
        for at, row in enumerate(points.row.tolist()):
            ends = question.schema.expand(np.stack([question.rows[row], needed[at]]))
            change = _Change(question.schema.full, *ends)
            measured = float(confidence[at]), int(n_changes[at]), float(distances[at])
            yield row, Candidate(change.of, change.is_meant, *measured)

    def _by_points(self, lines: Ints, points: Points) -> Iterator[tuple[int, Candidate]]:
        """Known points as candidates, by the positions of their rows among some lines."""
        points = points.take(~self.fitted.is_refused(points.values))
        place_of = {line: at for at, line in enumerate(lines.tolist())}
        rows = self.question.rows[points.row]
        n_changes, distances = self._measured(rows, points.values)
        confidence = self.question.panel.confidence(points.outputs)
        for at, line in enumerate(points.row.tolist()):
            if line in place_of:
                ends = self.question.schema.expand(np.stack([rows[at], points.values[at]]))
                change = _Change(self.question.schema.full, *ends)
                measured = float(confidence[at]), int(n_changes[at]), float(distances[at])
                yield place_of[line], Candidate(change.of, change.is_meant, *measured)

    def _of_dates(self, one: Statement) -> Statement:
        schema = self.question.trained.full
        return of_dates(one, lambda feature: is_date(schema, schema.position(feature, "constraints")))

    def _measured(self, rows: Floats, values: Floats) -> tuple[Ints, Floats]:
        return differs(rows, values).sum(axis=1), self.fitted.distance.between(rows, values)

    def _reason(
        self, line: int, constraints: Constraints, blocking: list[Statement], best: Relaxation | None
    ) -> Statement:
        question, donors = self.question, self.neighborhood.donors
        panel, wanted, target = question.panel, question.wanted[line], question.target(line)
        if best is not None:
            kind = "reason.blocked" if len(blocking) == 1 else "reason.blocked_by_each"
            fields: dict[str, Field] = {"target": target, "limits": _limits(constraints), "rules": _shown(blocking)}
            return Statement(kind, {**fields, "relaxation": best.statement})
        n_rows, n_decided = int(donors.n_decided.sum()), int(donors.n_decided[wanted].sum())
        if not n_decided:
            return no_donor(panel, donors.n_decided, wanted)
        if (constraints or not panel.is_alone) and question.score.is_out_of_time():
            return Statement("reason.out_of_time", {"target": target})
        n_groups = len(donors.index.leaves)
        if not len(donors.places(np.tile(wanted, n_groups // len(wanted)))):
            return Statement("reason.not_justified", {"n_decided": n_decided, "n_rows": n_rows, "target": target})
        return self._nothing_to_relax(constraints, target)

    def _nothing_to_relax(self, constraints: Constraints, target: Any) -> Statement:
        if constraints.protected:  # which may be all that is in the way, and is not named
            return Statement("reason.under_rules", {"target": target})
        panel, min_count = self.question.panel, self.fitted.privacy.min_count
        said = [self._of_dates(one) for one in self._statements(constraints)]
        text = kept_text(constraints, self.question.trained.full)
        if text is not None:
            said.append(Statement("rule.may_change", {"features": text}))
        if min_count > 1:
            said.append(Statement("rule.min_count", {"count": min_count}))
        rules, most = _shown(said), self._tried_for_each(constraints)
        fields = {"target": target, "limits": _limits(constraints), "rules": rules}
        if not constraints and panel.is_alone:  # min_count alone, which is not relaxed row by row
            return Statement("reason.too_rare", fields)
        if len(self.neighborhood.donors.index.values) > most:
            return Statement("reason.not_enough_nearest", {**fields, "most": most})
        return Statement("reason.not_enough", fields)

    def _statements(self, constraints: Constraints) -> list[Statement]:
        return statements_of(constraints, self.question.panel, self.question.trained.full)

    def _tried_for_each(self, constraints: Constraints) -> int:
        return int(np.clip(_MOST_TRIED_IN_ALL // max(1, len(self._statements(constraints))), 8, _MOST_TRIED))


def _limits(constraints: Constraints) -> Statement:
    """Return what keeps rows from an answer: rules, or else options of the explainer, such as a margin."""
    return Statement("statement.by_rules" if constraints else "statement.as_required")


def _surer(known: dict[int, Candidate], others: Iterable[tuple[int, Candidate]]) -> dict[int, Candidate]:
    """Return the candidates that allow a higher margin than those that are known."""
    return {at: one for at, one in others if at not in known or one.margin > known[at].margin}


def _shown(rules: list[Statement]) -> tuple[Statement, ...]:
    """The first of some rules, and how many more there are."""
    more = len(rules) - _MOST_RULES_SHOWN
    last = [Statement("rule.more", {"count": more})] if more > 0 else []
    return (*rules[:_MOST_RULES_SHOWN], *last)


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
        before, after = (cell_of(self.schema, j, value) for value in (self.row[j], self.donor[j]))
        return before, after, not column.is_categorical

    def is_meant(self, feature: Feature, pair: tuple[Any, Any]) -> bool:
        """Whether it is what a pair (before, after) of a rule means."""
        j = self.schema.position(feature, "constraints")
        return forbids(pair, self.schema, j, self.row[j], self.donor[j])
