"""What the models say of rows with other values, which somebody chose: nothing is searched for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from nicecf.explain.ask import Call, ask
from nicecf.explain.fitted import Fitted
from nicecf.explain.pipeline import batch_of
from nicecf.explain.unseen import unseen
from nicecf.explain.why_not import Reasons
from nicecf.results.batch import Batch
from nicecf.rules.columns import positions_of
from nicecf.rules.parts import rules_at
from nicecf.search.answers import Points, in_one_step, joined, nothing_said
from nicecf.search.question import Question
from nicecf.support.phrases import Statement, plain_features
from nicecf.support.types import Bools, Floats, Ints, Objects
from nicecf.tables.reduced import ReducedSchema
from nicecf.tables.schema import differs

_UNNAMED = Statement("reason.contradicts_unnamed")


def what_if(call: Call, fitted: Fitted, n_rows: int) -> Batch:
    """An entry for each of some rows, in which other values stand in the place of a counterfactual.

    The table of the call has the rows first, and then, in the same order, what they are to become. What follows from
    other columns is computed; where that has no value, the entry is the row itself, with a reason. Those count as found
    that are what was asked for: the class or the scores, with the probability and the other models that this takes. No
    rule is looked at. The notes are about the other values.
    """
    # Nobody looks for donors.
    question = ask(call, replace(fitted, neighborhood=None))
    reasons, all_others = nothing_said(len(question)), np.arange(n_rows, 2 * n_rows)
    protected = positions_of(fitted.constraints.protected, question.schema.full, "protected")
    reasons[:n_rows] = _without_value(question, all_others, protected)
    lines = np.flatnonzero([one is None for one in reasons[:n_rows]])
    others = all_others[lines]
    points = Points(lines, np.full(len(lines), -1), question.rows[others], _outputs(question, others))
    answers = joined([(lines, in_one_step(question.rows[lines], points))], len(question))
    # Whatever the decision is, and whether rules are kept, is fine here.
    everything = replace(question, wanted=np.ones_like(question.wanted), parts=())
    nothing = nothing_said(len(question))
    batch = batch_of(call, fitted, everything, answers, Reasons(reasons, nothing), by_twin_alone=False)
    own = batch.take(np.arange(n_rows))
    notes = _notes(question, own, fitted, protected)
    # No rule is looked at, but what is protected is not named here either.
    rules = partial(rules_at, [(np.arange(n_rows), fitted.constraints.without_functions())])
    own = replace(own, provenance=replace(own.provenance, rules=rules))
    return replace(own, notes=notes, found=_reached(question, points, own, fitted))


def _without_value(question: Question, lines: Ints, protected: set[int]) -> list[Statement | None]:
    """Of each of some rows, which column has no value, though it follows from others; None where all have."""
    found: list[Statement | None] = [None] * len(lines)
    schema = question.schema
    if not isinstance(schema, ReducedSchema):
        return found
    whole = schema.expand(question.rows[lines])
    for one in schema.computed:
        _, is_value = one.values(whole, schema.whole)
        for at in np.flatnonzero(~is_value).tolist():
            feature = plain_features([schema.whole.names[one.position]])
            reason = Statement("reason.not_computed", {"feature": feature})
            found[at] = found[at] or (_UNNAMED if one.position in protected else reason)
    return found


def _outputs(question: Question, lines: Ints) -> Floats:
    """What the models say of some rows, in which what follows is computed; they are asked again only where it is."""
    assert question.given is not None
    outputs = question.outputs[lines].copy()
    is_other = differs(question.schema.expand(question.rows[lines]), question.given[lines]).any(axis=1)
    if is_other.any():
        outputs[is_other] = question.score(question.rows[lines[is_other]])
    return outputs


def _notes(question: Question, batch: Batch, fitted: Fitted, protected: set[int]) -> Objects:
    """What training never saw of the other values; and for which columns they are not used, since these follow."""
    assert question.given is not None
    before, chosen = np.split(question.given, 2)
    is_impossible = np.array([one is not None for one in batch.reasons], dtype=bool)
    then = np.where(is_impossible[:, None], chosen, batch.after.values)
    is_unused = differs(chosen, before) & differs(chosen, then) & batch.is_derived
    is_unused[:, sorted(protected)] = False
    new = unseen(replace(question, given=then), fitted)
    notes = nothing_said(len(batch))
    for at in range(len(batch)):
        notes[at] = (new[at],) if at in new else ()
        if is_unused[at].any():
            features = plain_features(batch.schema.names[j] for j in np.flatnonzero(is_unused[at]))
            notes[at] += (Statement("note.computed", {"features": features}),)
    return notes


def _reached(question: Question, points: Points, batch: Batch, fitted: Fitted) -> Bools:
    """Which rows become what was asked for."""
    outputs, whole = points.outputs.copy(), batch.after.values[points.row]
    # What follows from nothing that changes is as in the row, even where that contradicts it.
    is_own = differs(question.schema.expand(points.values), whole).any(axis=1)
    if is_own.any():
        outputs[is_own] = fitted.models.scorer(question.schema.full, by_twin=False)(whole[is_own])
    reached = np.zeros(len(batch), dtype=bool)
    reached[points.row] = question.panel.accepts(outputs, question.wanted[points.row])
    return reached
