"""The model's own ``predict`` beside its probabilities: compared at ``fit`` and, where it can differ, for answers."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from nicecf.exceptions import DecisionWarning, plain
from nicecf.models.decision import Member, Panel
from nicecf.results.batch import Batch
from nicecf.search.question import Question
from nicecf.support.phrases import Classes, Statement
from nicecf.support.progress import outside
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import Schema, differs

# How many of the training rows nearest to the border are compared, besides a sample: there, the two differ first.
_NEAR_BORDER = 1000
# Two probabilities that are this close are a tie: which of the classes a predict then names means nothing.
_TIE = 1e-9


def compared_at_fit(panel: Panel, schema: Schema, values: Floats, outputs: Floats, sample: Ints) -> Panel:
    """Return the panel with the models marked whose ``predict`` differs for training rows, and warn of them.

    One call of ``predict`` for each model: about the ``sample`` and the rows nearest to the border.
    """
    members = list(panel.members)
    for number, (member, block) in enumerate(panel.blocks(outputs)):
        if member.predict is None or not member.rule.is_highest or panel.is_regressor:
            continue
        highest = np.partition(block, -2, axis=1)
        margin = highest[:, -1] - highest[:, -2]
        near = np.argpartition(margin, _NEAR_BORDER)[:_NEAR_BORDER] if len(margin) > _NEAR_BORDER else sample
        rows = np.union1d(sample, near)
        labels = member.own_labels(schema.decode(values[rows]), len(rows))
        if labels is None:
            continue
        decided = panel.classes[block[rows].argmax(axis=1)]
        n_differ = int(np.count_nonzero((labels != decided) & (margin[rows] > _TIE)))
        if n_differ:
            members[number] = replace(member, predict_differs=True)
            warnings.warn(
                f"{_whose(number)} differs from its highest probability for {n_differ:,} of {len(rows):,} training "
                "rows looked at (does it have a threshold of its own?). nicecf explains the highest probability: its "
                "counterfactuals need not change what predict says. Pass decision='predict', or the threshold itself.",
                DecisionWarning,
                stacklevel=outside(),
            )
    return replace(panel, members=tuple(members))


def compared_for_answers(batch: Batch, question: Question) -> Batch:
    """Return the batch with a note for each answer that a model's ``predict`` does not confirm, and warn of them.

    Only models whose ``predict`` can differ are asked, once each, about the rows and their answers.
    """
    panel = question.panel
    entries = np.flatnonzero(batch.found)
    asked = [] if panel.target is not None or not len(entries) else panel.members
    notes, n_calls = batch.notes.copy(), 0
    for number, member in enumerate(asked):
        if not member.predict_differs or number in panel.silent:
            continue
        n_calls += 1
        wanted = question.wanted[batch.rows[entries]]
        denied = _denied(member, batch, entries, wanted, is_explained=number == 0)
        for entry, (before, after) in denied.items():
            said = {"before": Classes((before,)), "after": Classes((after,))}
            phrase = "note.own_predict" if number == 0 else "note.own_predict_of_another"
            notes[entry] = (*notes[entry], Statement(phrase, said))
        if denied:
            warnings.warn(
                f"{_whose(number)} does not confirm {len(denied):,} of {len(entries):,} counterfactuals: it does not "
                "say the wanted class, or says the same of the row itself; cfs.notes names them. Its highest "
                "probability is what nicecf explains. Pass decision='predict' to explain what predict says.",
                DecisionWarning,
                stacklevel=outside(),
            )
    if not n_calls:
        return batch
    calls, rows = batch.model_calls + n_calls, batch.model_rows + 2 * n_calls * len(entries)
    return replace(batch, notes=notes, model_calls=calls, model_rows=rows)


def _denied(
    member: Member, batch: Batch, entries: Ints, wanted: Bools, *, is_explained: bool
) -> dict[int, tuple[object, object]]:
    """Return the entries that a model's ``predict`` does not confirm, with what it says of row and answer.

    Of the model that is explained, an answer must also change what it says; others may agree with the answer already.
    """
    before, after = batch.before.values[entries], batch.after.values[entries]
    labels = member.own_labels(batch.schema.decode(np.concatenate([before, after])), 2 * len(entries))
    if labels is None:
        return {}
    of_row, of_answer = labels[: len(entries)], labels[len(entries) :]
    is_wanted = ((of_answer[:, None] == batch.classes) & wanted).any(axis=1)
    is_same = (of_row == of_answer) & differs(before, after).any(axis=1) & is_explained
    denied = np.flatnonzero(~is_wanted | is_same).tolist()
    return {int(entries[at]): (plain(of_row[at]), plain(of_answer[at])) for at in denied}


def _whose(number: int) -> str:
    return "the model's predict" if number == 0 else f"the predict of robust_to[{number - 1}]"
