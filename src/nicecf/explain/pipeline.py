"""``explain``: six stages, for NICE and for every baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from nicecf.exceptions import ModelError
from nicecf.explain.ask import Call, ask
from nicecf.explain.fitted import Fitted
from nicecf.explain.outlook import warn_of_wide
from nicecf.explain.own_predict import compared_for_answers
from nicecf.explain.reach import as_the_model_sees, reach
from nicecf.explain.regions import Regions
from nicecf.explain.unseen import odd_groups, unseen
from nicecf.explain.verify import verify
from nicecf.explain.why_not import Reasons, why_not
from nicecf.explain.withhold import withhold
from nicecf.models.criterion import Criterion
from nicecf.models.decision import Panel
from nicecf.models.scorer import Scorer
from nicecf.models.twin import NotSupported
from nicecf.results.batch import Batch, Scored
from nicecf.results.box import Box
from nicecf.results.long_tables import Front, Steps
from nicecf.results.provenance import Provenance
from nicecf.results.table_distance import TableDistance
from nicecf.rules.parts import Part, keep_rules, kept_text, note_of, rules_at
from nicecf.search.answers import Answers, Points
from nicecf.search.bounded import Bounded
from nicecf.search.exact import Exact
from nicecf.search.proofs import NO_PROOF, Proof
from nicecf.search.question import Question, Search, in_parts
from nicecf.support.phrases import Statement
from nicecf.support.progress import reporting
from nicecf.support.types import Bools, Floats, Ints, Objects
from nicecf.tables.reduced import ReducedSchema
from nicecf.tables.schema import Schema, differs

_CUT = Statement("note.cut_search")


def explain(call: Call, fitted: Fitted) -> Batch:
    """Explain by the twin of the model, if there is one and the model agrees, else by the model itself."""
    if fitted.models.uses_twin:
        # A twin that says something else of a donor than the model did is no twin: the model is asked instead.
        with suppress(NotSupported, ModelError):
            return explain_by(call, fitted, by_twin=True)
    return explain_by(call, fitted, by_twin=False)


def explain_by(call: Call, fitted: Fitted, *, by_twin: bool) -> Batch:
    """The walk of every row, from what was called to what is handed out."""
    question = ask(call, fitted, by_twin=by_twin)
    if_long = None if warn_of_wide(call, question, fitted) else call.if_long
    with reporting(call.progress, len(question), if_long=if_long) as report:
        answers = in_parts(replace(question, report=report), question.is_open, fitted.search)
    answers = withhold(question, answers, fitted)
    answers, nearest = reach(question, answers, fitted)
    if question.score.is_out_of_time():
        _note_cut(question, answers)
    seen, answers = verify(question, answers, fitted, by_twin=by_twin)
    reasons = why_not(question, answers, fitted)
    by_twin_alone = by_twin and not fitted.models.confirms
    batch = batch_of(call, fitted, seen, answers, reasons, by_twin_alone=by_twin_alone)
    if not by_twin_alone:
        batch = compared_for_answers(batch, seen)
    return batch if nearest is None else with_nearest(batch, nearest, call, fitted, seen, reasons)


def batch_of(
    call: Call, fitted: Fitted, question: Question, answers: Answers, reasons: Reasons, *, by_twin_alone: bool
) -> Batch:
    """Put a result together: an entry for each counterfactual, and one for each row without."""
    panel, schema, points = fitted.panel, question.schema, answers.points
    assert question.given is not None
    still = np.setdiff1d(np.arange(len(question)), points.row)
    n_still = len(still)
    row = np.concatenate([still, points.row])
    order = np.argsort(row, kind="stable")
    row = row[order]
    of_whole = fitted.models.scorer(schema.full, by_twin=by_twin_alone)
    whole, outputs = _with_own_values(question, points, of_whole)
    values = np.concatenate([question.given[still], whole])[order]
    outputs = np.concatenate([question.outputs[still], outputs])[order]
    donors = np.concatenate([np.full(n_still, -1), fitted.positions(points.donor)])[order]
    found = (question.is_answered | answers.has_answer())[row]
    held = np.full(values.shape, -1, dtype=np.intp)
    held[n_still:] = _of_table(schema, _held(question, points, fitted), question.given[points.row], whole)
    errors = np.full(len(row), np.nan)
    if question.error is not None and found.any():
        moved = np.concatenate([question.rows[still], points.values])[order]
        errors[found] = question.error(moved[found])
    several = call.n_wanted > 1
    front = _front(question, answers.front, fitted, of_whole)
    # What the caller does to the table afterwards is not what was explained.
    table = schema.container.take(call.X, row)
    return Batch(
        table=table,
        labels=schema.container.labels(call.X)[row],
        schema=schema.full,
        classes=panel.classes,
        criterion=Criterion.of(panel),
        rows=row,
        numbers=np.arange(len(row)) - np.searchsorted(row, row),
        before=_scored(panel, question.given[row], question.outputs[row]),
        after=_scored(panel, values, outputs),
        found=found,
        reasons=reasons.reasons[row],
        notes=_notes(question, answers, fitted)[row],
        search=_said(answers.notes, of_search=True)[row],
        relaxations=reasons.relaxations[row],
        donors=pd.arrays.IntegerArray(donors.astype(np.int64), donors < 0),
        held=held[order],
        steps=_steps(answers, panel, order, question.given[points.row], whole, schema, n_still=n_still),
        distance=TableDistance(schema.for_distances(), fitted.distance),
        errors=errors,
        front=front,
        has_several=several,
        provenance=_provenance(call, fitted, question),
        model_calls=0 if by_twin_alone else question.score.calls + of_whole.calls,
        model_rows=0 if by_twin_alone else question.score.rows + of_whole.rows,
        target=panel.target,
        proofs=_proofs(question, answers, fitted.search, row),
    )


def _proofs(question: Question, answers: Answers, search: Search, row: Ints) -> Objects:
    """What is proven of each entry: of the best of its row. What needs no change is, where a search proves anything."""
    proofs: Objects = np.full(len(row), NO_PROOF, dtype=object)
    if answers.proofs is not None:
        first = np.unique(row, return_index=True)[1]
        proofs[first] = answers.proofs[row[first]]
    if isinstance(search, (Bounded, Exact)):
        proofs[question.is_answered[row]] = Proof("optimal", cost=0.0)
    return proofs


def with_nearest(
    batch: Batch, nearest: Answers, call: Call, fitted: Fitted, question: Question, reasons: Reasons
) -> Batch:
    """A batch that also holds what comes nearest to its target of scores, for rows that do not get there."""
    nearest = as_the_model_sees(nearest, question, fitted)
    if not len(nearest.points.row):
        return batch
    every = batch_of(call, fitted, question, nearest, reasons, by_twin_alone=False)
    there = every.take(np.flatnonzero(np.isin(every.rows, nearest.points.row)))
    told = {int(row): score for row, score in zip(there.rows, there.after.probability, strict=True)}
    notes = batch.notes.copy()
    for at, row in enumerate(batch.rows.tolist()):
        if row in told:
            notes[at] = (*notes[at], Statement("note.nearest", {"score": told[row]}))
    return replace(
        batch,
        notes=notes,
        nearest=replace(there, notes=batch.notes[np.isin(batch.rows, there.rows)], is_best_effort=True),
    )


def _with_own_values(question: Question, points: Points, of_whole: Scorer) -> tuple[Floats, Floats]:
    """Counterfactuals as whole rows, and what the models say of them.

    What is computed from columns that did not change is the row's own again: it may have been rounded otherwise. The
    models are asked about that, and if they do not accept it, the computed value stands. ``of_whole`` asks about rows
    with all columns.
    """
    schema, panel = question.schema, question.panel
    whole, outputs = schema.expand(points.values), points.outputs
    if not isinstance(schema, ReducedSchema) or question.given is None or not len(points.row):
        return whole, outputs
    given = question.given[points.row]
    # What a relation compares was checked as it was computed.
    compared = {
        j
        for part in question.parts
        if part.rules and part.rules.of_whole_rows
        for j in part.rules.of_whole_rows.compared
    }
    own = schema.with_own_values(given, whole, but=compared)
    is_other = differs(own, whole).any(axis=1)
    if is_other.any():
        lines = np.flatnonzero(is_other)
        said = of_whole(own[lines])
        wanted = question.wanted[points.row[lines]]
        # What comes nearest to a target out of reach is not accepted either way.
        is_accepted = panel.accepts(said, wanted) | ~panel.accepts(outputs[lines], wanted)
        whole, outputs = whole.copy(), outputs.copy()
        whole[lines[is_accepted]], outputs[lines[is_accepted]] = own[lines[is_accepted]], said[is_accepted]
    return whole, outputs


def _scored(panel: Panel, values: Floats, outputs: Floats) -> Scored:
    return Scored(values, panel.probabilities(outputs), panel.decide(outputs))


def _note_cut(question: Question, answers: Answers) -> None:
    """Note of each row without an answer that the time was up before the search was complete."""
    for line in np.flatnonzero(question.is_open & ~answers.has_answer()).tolist():
        others = answers.notes[line] or ()
        answers.notes[line] = (_CUT, *(one for one in others if one != _CUT))


def _notes(question: Question, answers: Answers, fitted: Fitted) -> Objects:
    """What was left undone for each row, also that free text was left as it is; and what training never saw of it."""
    filled = _said(answers.notes, of_search=False)
    missed = np.flatnonzero(question.is_open & ~answers.has_answer())
    for line in missed.tolist() if len(missed) and fitted.models.basis.is_readable else ():
        if _CUT in filled[line]:
            continue
        if answers.proofs is None or answers.proofs[line].status != "infeasible":
            filled[line] = (*filled[line], Statement("note.undecided"))
    for part in question.parts:
        said = [note_of(one, question.trained.full) for one in part.contradictions]
        left = kept_text(part.constraints, question.trained.full)
        if left is not None:
            said.append(Statement("note.free_text", {"features": left}))
        for line in part.lines[question.is_open[part.lines]].tolist() if said else ():
            filled[line] = (*filled[line], *said)
    for line, statement in (*unseen(question, fitted).items(), *odd_groups(question, fitted).items()):
        filled[line] = (*filled[line], statement)
    return filled


def _said(notes: Objects, *, of_search: bool) -> Objects:
    """What a search says of each row: how it went, or what a reader can act on."""
    said = np.empty(len(notes), dtype=object)
    for at, of_row in enumerate(notes):
        said[at] = tuple(one for one in of_row or () if one.phrase.startswith("search.") == of_search)
    return said


def _steps(
    answers: Answers, panel: Panel, order: Ints, before: Floats, after: Floats, schema: Schema, *, n_still: int
) -> Steps:
    """The steps of all walks, in columns of the table; what is computed changes in the last step of a walk.

    ``order``: which of the rows that stay, and then of the walks, is which entry. ``before`` and ``after``: whole rows
    and counterfactuals, one for each walk.
    """
    entry = np.empty(len(order), dtype=np.intp)
    entry[order] = np.arange(len(order))
    walks = answers.walks
    walk, feature, step, reached = walks.walk, walks.feature, walks.step, panel.probabilities(walks.reached)
    if isinstance(schema, ReducedSchema):
        at, feature = schema.changed_with(walk, feature, step, differs(before, after))
        walk, step, reached = walk[at], step[at], reached[at]
    return Steps.of(len(order), entry[n_still + walk], feature, step, reached)


def _of_table(schema: Schema, held: Ints, before: Floats, after: Floats) -> Ints:
    """What is told of the changes of each column that moves -> of those of the table that differ."""
    if not isinstance(schema, ReducedSchema):
        return held
    of_table = np.where(schema.unit_of >= 0, held[:, schema.unit_of], -1)
    return np.where(differs(before, after), of_table, -1)


def _front(question: Question, points: Points | None, fitted: Fitted, of_whole: Scorer) -> Front | None:
    if points is None:
        return None
    assert question.given is not None
    panel = fitted.panel
    whole, outputs = _with_own_values(question, points, of_whole)
    counts = np.bincount(points.row, minlength=len(question))
    unknown = np.full(len(points.row), np.nan)
    return Front(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
        whole,
        panel.probabilities(outputs),
        panel.decide(outputs),
        fitted.positions(points.donor),
        _of_table(question.schema, _held(question, points, fitted), question.given[points.row], whole),
        unknown if question.error is None else question.error(points.values),
    )


def _held(question: Question, points: Points, fitted: Fitted) -> Ints:
    """For each change of a point the position of a training row that holds the new value; -1 for nothing to tell."""
    rows = question.rows[points.row]
    positions = np.where(differs(rows, points.values), fitted.positions(points.donor)[:, None], -1)
    is_mixed = np.asarray(points.donor < 0)
    if fitted.neighborhood is None or fitted.privacy.digests is not None or not is_mixed.any():
        return positions
    donors = fitted.neighborhood.donors
    for part in question.parts:
        some = np.flatnonzero(is_mixed & np.isin(points.row, part.lines))
        groups = () if part.rules is None else part.rules.groups
        positions[some] = donors.values.holders(rows[some], points.values[some], groups, donors.index)
    return positions


def _provenance(call: Call, fitted: Fitted, question: Question) -> Provenance:
    parts = [(part.lines, part.recorded.without_functions()) for part in question.parts]
    return Provenance(
        fitted.statistics,
        Explained(question.schema, fitted, question.parts),
        explainer=fitted.explainer,
        options=call.options,
        call=call.asked,
        rules=partial(rules_at, parts),
        fingerprints=fitted.fingerprints,
    )


@dataclass(frozen=True, eq=False)
class Explained:
    """The models after an ``explain`` call, to be asked again about encoded rows of it: see `provenance.Maker`."""

    schema: Schema
    fitted: Fitted
    parts: tuple[Part, ...]

    @property
    def panel(self) -> Panel:
        """The models that must agree."""
        return self.fitted.panel

    def outputs(self, values: Floats) -> tuple[Ints, Floats]:
        """The class decided on for each row, as a position, and the probabilities."""
        outputs, _, _ = self._asked(values)
        return self.panel.decide(outputs), self.panel.probabilities(outputs)

    def holds(self, lines: Ints, values: Floats, decided: Ints) -> tuple[Bools, Floats]:
        """Whether values for some rows of the call, in place of what was handed out, would do; the probabilities."""
        panel = self.fitted.panel
        outputs, moving, is_known = self._asked(values)
        is_accepted = panel.accepts(outputs, np.eye(len(panel.classes), dtype=bool)[decided])
        is_kept = is_known & keep_rules(list(self.parts), lines, moving) & ~self.fitted.is_refused(moving)
        return is_accepted & is_kept, panel.probabilities(outputs)

    def completed(self, values: Floats) -> Floats:
        """Whole rows in which what follows from others is computed anew."""
        moving, is_known = self.schema.known(values)
        return np.where(is_known[:, None], self.schema.expand(moving), values)

    def _asked(self, values: Floats) -> tuple[Floats, Floats, Bools]:
        """What the models say of whole rows; these as the search has them, and which it could have had."""
        outputs = self.panel.outputs(self.schema.full.decode(self.completed(values)), len(values))
        return outputs, *self.schema.known(values)

    def boxes(
        self, lines: Ints, before: Floats, after: Floats, decided: Ints, features: Sequence[Ints]
    ) -> Iterator[Box]:
        """Yield the box of each counterfactual of some rows; ``features``: what it changes, in this order."""
        regions = Regions(self.schema, self.fitted, self.parts, self.holds)
        return regions.boxes(lines, before, after, decided, features)

    def donor(self, position: int) -> Floats | None:
        """The training row at a position; None if it is not kept, or not to be told."""
        donor = self.fitted.donor_at(position)
        return None if donor is None else self.schema.expand(donor[None])[0]
