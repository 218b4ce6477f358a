"""What a search hands over: counterfactuals of rows, with the donors they lean on and the way to them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from nicecf.search.proofs import NO_PROOF
from nicecf.search.walks import Walks, jump
from nicecf.support.phrases import Statement
from nicecf.support.types import Bools, Floats, Ints, Objects

_CUT_WALK = (Statement("note.cut_walk"),)


@dataclass(frozen=True, eq=False)
class Points:
    """Counterfactuals, several for a row where asked for: ``row`` tells whose; ``donor`` is a place in the index."""

    row: Ints
    donor: Ints
    values: Floats
    outputs: Floats

    def take(self, places: Ints | Bools | slice) -> Points:
        """Some of them."""
        return Points(self.row[places], self.donor[places], self.values[places], self.outputs[places])


@dataclass(frozen=True, eq=False)
class Answers:
    """What was found for some rows.

    ``points`` are ordered by row, the best of each first, and ``walks`` has the steps to each; a row without any has
    none. For each row, ``notes``: statements about what was left undone of what was asked for, and ``reasons``: one
    about why there is no answer, where the search knows; else None. ``front``: what nothing beats, if that is known.
    ``beyond``: for rows that have none because more features would have to change than may, what comes closest to that.
    ``proofs``: for each row, what is proven of its answer, a `Proof`, if the search proves anything.
    """

    points: Points
    walks: Walks
    notes: Objects
    reasons: Objects
    front: Points | None = None
    beyond: Points | None = None
    proofs: Objects | None = None

    def has_answer(self) -> Bools:
        """Which rows have an answer."""
        has = np.zeros(len(self.notes), dtype=bool)
        has[self.points.row] = True
        return has

    def all_points(self) -> tuple[Floats, Floats]:
        """Values and outputs of all that can be handed out."""
        parts = [self.points] if self.front is None else [self.points, self.front]
        values, outputs = [part.values for part in parts], [part.outputs for part in parts]
        return np.concatenate(values), np.concatenate(outputs)

    def with_outputs(self, outputs: Floats) -> Answers:
        """The same with other outputs, in the order of `all_points`."""
        n = len(self.points.row)
        front = None if self.front is None else replace(self.front, outputs=outputs[n:])
        return replace(self, points=replace(self.points, outputs=outputs[:n]), front=front)

    def without_rows(self, rows: Ints) -> Answers:
        """The same, but for some rows, which have no answer then."""
        kept = np.flatnonzero(~np.isin(self.points.row, rows))
        notes = self.notes.copy()
        notes[rows] = None
        front, beyond = (
            None if points is None else points.take(~np.isin(points.row, rows)) for points in (self.front, self.beyond)
        )
        proofs = None if self.proofs is None else self.proofs.copy()
        if proofs is not None:
            proofs[rows] = NO_PROOF
        return Answers(self.points.take(kept), self.walks.take(kept), notes, self.reasons, front, beyond, proofs)

    def with_reasons(self, rows: Ints, reason: Statement) -> Answers:
        """The same, with a reason for some rows."""
        reasons = self.reasons.copy()
        reasons[rows] = reason
        return replace(self, reasons=reasons)

    def with_donors(self, positions: Ints) -> Answers:
        """The same with the donors' positions in the training data, in place of those in the index."""
        front = None if self.front is None else replace(self.front, donor=positions[self.front.donor])
        return replace(self, points=replace(self.points, donor=positions[self.points.donor]), front=front)


def one_for_each(donors: Ints, walks: Walks, is_kept: Bools) -> Answers:
    """The paper's answers: one walk for each row, but for those that are not kept."""
    notes = nothing_said(len(donors))
    for line in np.flatnonzero(walks.is_cut & is_kept):
        notes[line] = _CUT_WALK
    kept = np.flatnonzero(is_kept)
    points = Points(kept, donors[kept], walks.values[kept], walks.outputs[kept])
    return Answers(points, walks.take(kept), notes, nothing_said(len(donors)))


def in_one_step(rows: Floats, points: Points) -> Answers:
    """Points for paired rows as answers, whose changes are all one step."""
    walks = jump(rows, points.values, points.outputs)
    return one_for_each(points.donor, walks, np.ones(len(rows), dtype=bool))


def no_answers(rows: Floats, outputs: Floats) -> Answers:
    """None for any of some rows."""
    said = nothing_said(len(rows))
    return Answers(no_points(rows, outputs), jump(rows[:0], rows[:0], outputs[:0]), said, said)


def no_points(rows: Floats, outputs: Floats) -> Points:
    """No counterfactual of any of some rows."""
    nothing = np.empty(0, dtype=np.intp)
    return Points(nothing, nothing, rows[:0], outputs[:0])


def nothing_said(n_rows: int) -> Objects:
    """No statement about any of some rows."""
    return np.full(n_rows, None, dtype=object)


def joined(parts: list[tuple[Ints, Answers]], n_rows: int) -> Answers:
    """Answers for some lines each of one table, as one. Rows have answers in one part at most."""
    notes, reasons = nothing_said(n_rows), nothing_said(n_rows)
    walks, start = [], 0
    for lines, part in parts:
        for said, of_part in ((notes, part.notes), (reasons, part.reasons)):
            is_said = [one is not None for one in of_part]
            said[lines[is_said]] = of_part[is_said]
        walks.append(replace(part.walks, walk=part.walks.walk + start))
        start += len(part.points.row)
    points = _concatenated([replace(part.points, row=lines[part.points.row]) for lines, part in parts])
    order = np.argsort(points.row, kind="stable")
    front, beyond = (
        _joined_points([(lines, getattr(part, of)) for lines, part in parts]) for of in ("front", "beyond")
    )
    return Answers(
        points.take(order), _concatenated(walks).take(order), notes, reasons, front, beyond, _proofs(parts, n_rows)
    )


def _proofs(parts: list[tuple[Ints, Answers]], n_rows: int) -> Objects | None:
    """What is proven of rows; of a row in several parts, what the last one says that says anything."""
    if all(part.proofs is None for _, part in parts):
        return None
    proofs: Objects = np.full(n_rows, NO_PROOF, dtype=object)
    for lines, part in parts:
        if part.proofs is not None:
            proofs[lines] = part.proofs
    return proofs


def by_row(parts: list[Points]) -> Points:
    """Points of some parts, as one, ordered by row."""
    points = _concatenated(parts)
    return points.take(np.argsort(points.row, kind="stable"))


def _joined_points(parts: list[tuple[Ints, Points | None]]) -> Points | None:
    """Points of some lines each, as one, ordered by row."""
    given = [replace(points, row=lines[points.row]) for lines, points in parts if points is not None]
    if not given:
        return None
    return by_row(given)


T = TypeVar("T", Points, Walks)


def _concatenated(parts: list[T]) -> T:
    names = [field.name for field in fields(parts[0])]
    return type(parts[0])(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
