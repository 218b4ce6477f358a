"""What a search hands over: counterfactuals of rows, with the donors they lean on."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from nicecf._typing import Bools, Floats, Ints, Objects
from nicecf.search.greedy import Walks, jump


@dataclass(frozen=True, eq=False)
class Points:
    """Counterfactuals, several for a row where asked for: ``row`` tells whose; ``donor`` is a place in the index."""

    row: Ints
    donor: Ints
    values: Floats
    outputs: Floats

    def take(self, places: Ints | Bools) -> Points:
        """Some of them."""
        return Points(*(getattr(self, field.name)[places] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class Answers:
    """What was found for some rows.

    ``points`` are ordered by row, the best of each first, and ``walks`` has the steps to each; a row without any has
    none. ``notes`` says for each row in words where less was done than asked for, or is None. ``front``: what nothing
    beats, if that is known. ``beyond``: for rows that have none because more features would have to change than may,
    what comes closest to that.
    """

    points: Points
    walks: Walks
    notes: Objects
    front: Points | None = None
    beyond: Points | None = None

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
        return Answers(self.points.take(kept), self.walks.take(kept), notes, front, beyond)

    def with_donors(self, positions: Ints) -> Answers:
        """The same with the donors' positions in the training data, in place of those in the index."""
        front = None if self.front is None else replace(self.front, donor=positions[self.front.donor])
        return replace(self, points=replace(self.points, donor=positions[self.points.donor]), front=front)


def one_for_each(donors: Ints, walks: Walks, is_kept: Bools) -> Answers:
    """The paper's answers: one walk for each row, but for those that are not kept."""
    notes = np.full(len(donors), None, dtype=object)
    notes[walks.is_cut & is_kept] = "time_budget was used up before the walk ended: this is the donor itself"
    kept = np.flatnonzero(is_kept)
    points = Points(kept, donors[kept], walks.values[kept], walks.outputs[kept])
    return Answers(points, walks.take(kept), notes)


def joined(parts: list[tuple[Ints, Answers]], n_rows: int) -> Answers:
    """Answers for some lines each of one table, as one. Rows have answers in one part at most."""
    notes = np.full(n_rows, None, dtype=object)
    walks, start = [], 0
    for lines, part in parts:
        is_noted = [note is not None for note in part.notes]
        notes[lines[is_noted]] = part.notes[is_noted]
        walks.append(replace(part.walks, walk=part.walks.walk + start))
        start += len(part.points.row)
    points = _concatenated([replace(part.points, row=lines[part.points.row]) for lines, part in parts])
    order = np.argsort(points.row, kind="stable")
    front, beyond = (
        _joined_points([(lines, getattr(part, of)) for lines, part in parts]) for of in ("front", "beyond")
    )
    return Answers(points.take(order), _concatenated(walks).take(order), notes, front, beyond)


def no_answers(rows: Floats, outputs: Floats) -> Answers:
    """None for any of some rows."""
    walks = jump(rows[:0], rows[:0], outputs[:0])
    nothing = np.empty(0, dtype=np.intp)
    return Answers(Points(nothing, nothing, rows[:0], outputs[:0]), walks, np.full(len(rows), None, dtype=object))


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
