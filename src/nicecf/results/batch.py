"""What was found for the rows of one ``explain`` call: the value that everything else shows, measures or writes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse

from nicecf.exceptions import OptionError
from nicecf.models.criterion import Criterion
from nicecf.models.scores import ScoreTarget
from nicecf.results.long_tables import Front, Steps
from nicecf.results.provenance import Provenance
from nicecf.results.table_distance import TableDistance
from nicecf.rules.columns import positions_of
from nicecf.search.proofs import NO_PROOF
from nicecf.support.types import Bools, Floats, Ints, Objects, Table
from nicecf.tables.pandas_frames import PandasFrames
from nicecf.tables.schema import Schema, differs


@dataclass(frozen=True, eq=False)
class Scored:
    """Encoded rows and what the model says of them: the probabilities, and the class decided on, as a position."""

    values: Floats
    probabilities: Floats
    decided: Ints

    def take(self, lines: Ints) -> Scored:
        """Some of them."""
        return Scored(self.values[lines], self.probabilities[lines], self.decided[lines])

    @cached_property
    def probability(self) -> Floats:
        """The probability of the class decided on."""
        return picked(self.probabilities, self.decided)


# Kinds of reasons, and of notes, that say that the time was up before the search was complete.
OUT_OF_TIME = ("out_of_time", "method_out_of_time", "dice_out_of_time")
CUT_SHORT = ("best_so_far", "cut_search", "cut_walk", "not_searched", "not_searched_donor")


@dataclass(frozen=True, eq=False)
class Batch:
    """An entry for each counterfactual, and one for each row without; ``rows`` tells whose, by positions in the call.

    ``table`` and ``labels``: the row of each entry as it was handed in. ``criterion``: how the model decides.
    ``before`` and ``after``: the row and its counterfactual, encoded by ``schema``; the same where none was needed or
    found. ``reasons``: a `Statement` where none was found, else None; ``notes``: a tuple of them, empty where all was
    done that was asked for and the row has no values that training never saw; ``search``: another one, of how the
    search went. ``relaxations``: a `Relaxation` or None. ``donors``: positions in the training data, or missing.
    ``held``: of each feature that was changed, the position of a training row that holds the new
    value, -1 where that is not known, or not told. ``steps``: the changes, in the order in which they were made.
    ``errors``: how implausible each counterfactual is, NaN where that is not known. ``front``: what nothing beats, if
    the search knows. ``has_several``: whether a row may have more than one entry; ``numbers`` counts those of one row
    from 0. ``target``: the scores that were asked for, if it was scores: the classes are those in it and all others,
    and a score stands for the probability of each. ``nearest``: for rows whose target is out of reach, what comes
    nearest to it; that batch ``is_best_effort``, and what is found in it is not in the target. ``proofs``: of each
    entry, a `Proof`.
    """

    table: Table
    labels: pd.Index[Hashable]
    schema: Schema
    classes: Objects
    criterion: Criterion
    rows: Ints
    numbers: Ints
    before: Scored
    after: Scored
    found: Bools
    reasons: Objects
    notes: Objects
    search: Objects
    relaxations: Objects
    donors: pd.arrays.IntegerArray
    held: Ints
    steps: Steps
    distance: TableDistance
    errors: Floats
    front: Front | None
    has_several: bool
    provenance: Provenance
    model_calls: int
    model_rows: int
    proofs: Objects
    target: ScoreTarget | None = None
    nearest: Batch | None = None
    is_best_effort: bool = False

    def __len__(self) -> int:
        """The number of entries."""
        return len(self.found)

    def take(self, entries: Ints) -> Batch:
        """Some of the entries, in the order asked for."""
        return replace(
            self,
            table=self.schema.container.take(self.table, entries),
            labels=self.labels[entries],
            rows=self.rows[entries],
            numbers=self.numbers[entries],
            before=self.before.take(entries),
            after=self.after.take(entries),
            found=self.found[entries],
            reasons=self.reasons[entries],
            notes=self.notes[entries],
            search=self.search[entries],
            relaxations=self.relaxations[entries],
            donors=self.donors[entries],
            held=self.held[entries],
            steps=self.steps.take(entries),
            errors=self.errors[entries],
            proofs=self.proofs[entries],
            nearest=None
            if self.nearest is None
            else self.nearest.take(_entries_of(self.nearest.rows, self.rows[entries])),
        )

    @property
    def is_cut(self) -> Bools:
        """Whether the search for each entry ended before it was complete, as its time was up."""
        is_cut = [any(note.kind in CUT_SHORT for note in notes) for notes in self.notes]
        is_late = [reason is not None and reason.kind in OUT_OF_TIME for reason in self.reasons]
        return np.array(is_cut, dtype=bool) | np.array(is_late, dtype=bool)

    @property
    def counted(self) -> Batch:
        """The same, in which nothing is found that is not in the target: what is counted, recorded and reported."""
        if not self.is_best_effort:
            return self
        return replace(self, found=np.zeros(len(self), dtype=bool), is_best_effort=False)

    @property
    def answers(self) -> Batch:
        """The same; OptionError if it holds no answers, but what comes nearest to a target."""
        if self.is_best_effort:
            raise OptionError(
                "nearest() holds no answers: there is neither a record nor a Pareto set of them. Ask the result of "
                "explain itself; its records are of all rows, also of those without an answer."
            )
        return self

    def protected(self, entry: int) -> set[int]:
        """Return the positions of the features that no text about an entry names."""
        rules = self.provenance.rules(int(self.rows[entry]))
        return positions_of(rules.get("protected", ()), self.schema, "protected")

    @cached_property
    def filled(self) -> Table:
        """The counterfactuals as a table, and rows without one as they are: no column is widened for missing cells."""
        return self.schema.restore(self.table, self.before.values, self.after.values)

    @cached_property
    def counterfactuals(self) -> Table:
        """The counterfactuals as a table; rows without one are missing."""
        return self.filled if self.found.all() else self.schema.container.blank(self.filled, ~self.found)

    def to_frame(self) -> Table:
        """A copy of the counterfactuals as a frame; an array gets columns x0, x1, ..., a sparse matrix stays one."""
        table, filled = self.counterfactuals, self.filled
        if isinstance(filled, np.ndarray):
            frame = pd.DataFrame(filled.copy(), columns=pd.Index(self.schema.names))
            return frame if self.found.all() else PandasFrames().blank(frame, ~self.found)
        return table.copy() if isinstance(table, pd.DataFrame) or sparse.issparse(table) else table.clone()

    def to_numpy(self) -> Objects | Floats:
        """A copy of the counterfactuals as an array."""
        table = self.counterfactuals
        if sparse.issparse(table):
            return np.asarray(table.toarray())
        return table.copy() if isinstance(table, np.ndarray) else table.to_numpy()

    @cached_property
    def predicted(self) -> Objects:
        """The class that the model decides on for each row."""
        return self.classes[self.before.decided]

    @cached_property
    def predicted_after(self) -> Objects:
        """The class that it decides on for each counterfactual; None where none was found."""
        labels = self.classes[self.after.decided]
        labels[~self.found] = None
        return labels

    @cached_property
    def probability(self) -> Floats:
        """The probability of that class; NaN where none was found."""
        return np.where(self.found, self.after.probability, np.nan)

    @cached_property
    def first_of_rows(self) -> Ints:
        """The first entry of each row, in the order of the entries."""
        return np.sort(np.unique(self.rows, return_index=True)[1])

    @cached_property
    def distances(self) -> Floats:
        """The distance of each counterfactual from its row."""
        return self.distance.between(self.before.values, self.after.values)

    @cached_property
    def n_changes(self) -> Ints:
        """How many changes each counterfactual has; columns that follow from others are none."""
        return self.distance.n_changes(self.before.values, self.after.values)

    @cached_property
    def is_derived(self) -> Bools:
        """Which columns follow from others."""
        return self.distance.schema.is_computed

    @cached_property
    def units(self) -> Ints:
        """What each column moves as: columns with the same number are one change; -1 where it follows from others."""
        schema = self.distance.schema
        return np.array([schema.moving(j) for j in range(len(self.schema.columns))], dtype=np.intp)

    @cached_property
    def is_together(self) -> Bools:
        """Which columns move with others: several of them are one change."""
        moves = self.units >= 0
        return moves & (np.bincount(self.units[moves], minlength=1)[self.units] > 1)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """One line per change: row, feature, before, after, step, probability, donor; not to be written to.

        Where columns follow from others, ``derived`` tells which lines are theirs.
        """
        container = self.schema.container
        steps, row = self.steps, self.steps.row()
        before, after = np.empty(len(row), dtype=object), np.empty(len(row), dtype=object)
        table, filled = (container.by_columns(one) for one in (self.table, self.filled))
        for j, position in enumerate(self.schema.positions(self.table)):
            here = np.flatnonzero(steps.feature == j)
            if not len(here):
                continue
            before[here] = container.objects(container.column(table, position), row[here])
            after[here] = container.objects(container.column(filled, position), row[here])
        names = np.empty(len(self.schema.names), dtype=object)
        names[:] = self.schema.names
        which = {"counterfactual": self.numbers[row]} if self.has_several else {}
        derived = {"derived": self.is_derived[steps.feature]} if self.is_derived.any() else {}
        held = self.held[row, steps.feature].astype(np.int64)
        return pd.DataFrame(
            {
                "row": self.labels[row],
                **which,
                "feature": names[steps.feature],
                "before": pd.Series(before, dtype=object),
                "after": pd.Series(after, dtype=object),
                "step": steps.step,
                "probability": picked(steps.reached, self.after.decided[row]),
                "donor": pd.arrays.IntegerArray(held, held < 0),
                **derived,
            }
        )

    def pareto(self, front: Front) -> Batch:
        """All members of the front of each row as entries; a row without any keeps its entry."""
        entries, members = front.members(self.rows, self.first_of_rows)
        return replace(
            self.with_members(front, entries, members),
            has_several=True,
            provenance=self.provenance.chosen_by("pareto"),
            numbers=np.arange(len(entries)) - np.searchsorted(entries, entries),
        )

    def with_members(self, front: Front, entries: Ints, members: Ints) -> Batch:
        """Entries in which members of the front stand in the place of what was found; -1 leaves an entry as it is."""
        batch = self.take(entries)
        is_point, point = members >= 0, members[members >= 0]
        values, probabilities = batch.after.values.copy(), batch.after.probabilities.copy()
        decided, errors, donors = batch.after.decided.copy(), batch.errors.copy(), batch.donors.copy()
        values[is_point] = front.values[point]
        probabilities[is_point] = front.probabilities[point]
        decided[is_point] = front.decided[point]
        errors[is_point] = front.errors[point]
        donors[is_point] = front.donors[point]
        held = batch.held.copy()
        held[is_point] = front.held[point]
        proofs = batch.proofs.copy()
        proofs[is_point] = NO_PROOF
        notes = batch.notes.copy()
        for at in np.flatnonzero(is_point):  # the model's predict was asked about the answer, not about these
            notes[at] = tuple(one for one in notes[at] if not one.kind.startswith("own_predict"))
        donors[donors == -1] = pd.NA  # those of a guarded explainer are not shared
        return replace(
            batch,
            donors=donors,
            held=held,
            after=Scored(values, probabilities, decided),
            errors=errors,
            notes=notes,
            proofs=proofs,
            steps=_in_one_step(batch.steps, is_point, differs(batch.before.values, values), probabilities),
        )


def _in_one_step(steps: Steps, is_point: Bools, differ: Bools, probabilities: Floats) -> Steps:
    """The steps of entries, in which all changes of some are made at once."""
    line, feature = np.nonzero(differ & is_point[:, None])
    row = steps.row()
    kept = np.flatnonzero(~is_point[row])
    return Steps.of(
        len(is_point),
        np.append(row[kept], line),
        np.append(steps.feature[kept], feature),
        np.append(steps.step[kept], np.ones_like(line)),
        np.concatenate([steps.reached[kept], probabilities[line]]),
    )


def _entries_of(rows: Ints, wanted: Ints) -> Ints:
    """The entries of some rows, in their order."""
    return np.concatenate(
        [np.empty(0, dtype=np.intp), *(np.flatnonzero(rows == row) for row in dict.fromkeys(wanted.tolist()))]
    )


def with_scores_named(table: pd.DataFrame, batch: Batch) -> pd.DataFrame:
    """A table for users: where the target is scores, they are called so."""
    return table if batch.target is None else table.rename(columns={"probability": "score"})


def picked(probabilities: Floats, classes: Ints) -> Floats:
    """Of each line the probability of one class."""
    return np.asarray(probabilities[np.arange(len(classes)), classes])
