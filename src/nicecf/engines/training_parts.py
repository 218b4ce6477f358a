"""A training table in parts, each where it is: what a part says of its columns, its predictions, its nearest donors.

No engine is needed here: a part is a pandas frame, and what is said of it is small. What comes of the parts together,
where the rows to explain are, is in `on_cluster`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import SchemaError
from nicecf.explain.ask import ask
from nicecf.explain.asking_all import ask_about_all
from nicecf.explain.other_donors import OtherRows, TrainingRows
from nicecf.nice import NICE
from nicecf.search.donors import DonorSearch, Nearness
from nicecf.search.question import Question
from nicecf.support.types import Bools, Floats, Ints, Table
from nicecf.tables.ordered import Ordinal
from nicecf.tables.representatives import counted, first_of_each, representatives
from nicecf.tables.schema import Schema

# Candidates of a row, by what they are for: the nearest donor, the nearest one with few enough changes, and many near
# ones for hybrids, where no donor as a whole helps.
NEAREST, FEW_CHANGES, NEAR = 0, 1, 2
_MANY = 100
# Of a column of text, the levels that are looked for: in one part, and in all of them.
MOST_LEVELS, _MOST_IN_ALL = 10_000, 1_000_000


@dataclass(frozen=True)
class Roles:
    """What the columns of a training table are; ``id``: that of the positions, None if the order of the rows counts."""

    features: tuple[str, ...]
    label: str
    id: str | None

    @property
    def columns(self) -> list[str]:
        """All of them."""
        return [*self.features, self.label, *([] if self.id is None else [self.id])]

    def order(self, ids: Any) -> Ints:
        """The rows of a part in training order; SchemaError where two have one position."""
        ids = np.asarray(ids)
        order = np.argsort(ids, kind="stable")
        if (np.diff(ids[order]) == 0).any():
            twice = ids[order][:-1][np.diff(ids[order]) == 0][0]
            raise SchemaError(f"id={self.id!r} is not unique: several training rows have {twice}. Number all rows.")
        return order


@dataclass(frozen=True, eq=False)
class Counts:
    """Of one part: its rows, those without a label; of each feature the cells with a value, and the unlike ones."""

    n_rows: int
    n_without_label: int
    n_values: Ints
    n_levels: Ints

    def in_list(self) -> list[int]:
        """As one list of numbers: engines know these."""
        return [self.n_rows, self.n_without_label, *self.n_values.tolist(), *self.n_levels.tolist()]

    @classmethod
    def of_list(cls, numbers: Any) -> Counts:
        """From what `in_list` made."""
        n_rows, n_without, *others = (int(number) for number in numbers)
        half = len(others) // 2
        return cls(n_rows, n_without, np.array(others[:half]), np.array(others[half:]))


@dataclass(frozen=True)
class Sketcher:
    """Chooses the rows of a part that say what its columns are: see `representatives`."""

    roles: Roles
    categorical_features: Any
    ordinal: Ordinal
    n_spread: int
    most_levels: int

    @classmethod
    def of(cls, nice: NICE, roles: Roles, *, sample: int, n_parts: int) -> Sketcher:
        """For each of so many parts, so that all choose about ``sample`` rows besides those that must be there."""
        most = max(1, min(MOST_LEVELS, _MOST_IN_ALL // n_parts))
        return cls(roles, nice.categorical_features, nice.ordinal, -(-sample // n_parts), most)

    def __call__(self, part: pd.DataFrame) -> tuple[Ints, Counts]:
        """The offsets of some rows of a part in training order, which has at least one; and what it has of each."""
        features, labels = part[list(self.roles.features)], part[self.roles.label]
        schema, values = Schema.of(features, self.categorical_features, self.ordinal)
        # A class that only one row has is a class.
        codes = pd.factorize(labels)[0]
        chosen = representatives(values, schema, n_spread=self.n_spread, most_levels=self.most_levels)
        return np.union1d(chosen, first_of_each(codes, len(codes))), Counts(
            len(part), int(labels.isna().sum()), *counted(values, schema)
        )


@dataclass(frozen=True, eq=False)
class Part:
    """Training rows and what the models say of them; a part of the table is in training order.

    ``frame``: the features, as they came. ``positions``: in the whole table. ``labels`` and ``decisions``: positions
    among the classes.
    """

    frame: pd.DataFrame
    positions: Ints
    labels: Ints
    decisions: Ints
    outputs: Floats

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.positions)

    def in_order(self) -> Part:
        """In training order, each row once."""
        return self.take(np.unique(self.positions, return_index=True)[1])

    def take(self, offsets: Ints) -> Part:
        """Some of the rows."""
        frame = self.frame.iloc[offsets]
        return Part(
            frame, self.positions[offsets], self.labels[offsets], self.decisions[offsets], self.outputs[offsets]
        )

    def rows(self, nice: NICE, n_decided: Ints) -> OtherRows:
        """The rows as those that an explainer, fitted to others, may take donors from."""
        values, schema = encoded(nice, self.frame)
        labels = self.labels if nice.justified else None
        return OtherRows(TrainingRows(values, self.outputs, self.decisions, labels), self.positions, n_decided, schema)


def joined(parts: Sequence[Part]) -> Part:
    """The rows of several parts, one after the other."""
    return Part(
        pd.concat([part.frame for part in parts], ignore_index=True),
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.decisions for part in parts]),
        np.concatenate([part.outputs for part in parts]),
    )


def encoded(nice: NICE, frame: pd.DataFrame) -> tuple[Floats, Schema]:
    """Training rows as floats, and the schema of the explainer with levels of these rows that it did not know."""
    return nice._fitted.schema.full.encode(frame)


def predicted(nice: NICE, frame: pd.DataFrame, labels: Any, positions: Ints) -> Part:
    """Training rows with what the models say of them: asked once, however often rows are explained."""
    values, schema = encoded(nice, frame)
    panel = nice._fitted.panel
    outputs = ask_about_all(panel, schema, values, progress=False).outputs if len(frame) else _nothing(panel.width)
    codes = panel.members[0].classifier.codes(np.asarray(labels, dtype=object))
    return Part(frame, positions, codes, panel.decide(outputs), outputs)


def _nothing(width: int) -> Floats:
    return np.empty((0, width))


@dataclass(frozen=True, eq=False)
class NearestAsked:
    """Rows to explain, of which every part says which of its rows are the nearest donors.

    ``options``: those of ``explain``. ``outputs``: what the models say of the rows; they are not asked again.
    ``lines``: the rows that are asked about. ``within``: how near each row has a donor already, by what it is for.
    ``is_near``: whether many near donors are wanted, and not the nearest one that is accepted.
    """

    X: Table
    options: Mapping[str, Any]
    outputs: Floats
    lines: Ints
    within: Mapping[int, Nearness] = field(default_factory=dict)
    is_near: bool = False

    @property
    def most(self) -> int:
        """How many candidates of a row, of all parts together, are of use."""
        return _MANY if self.is_near else 1


@dataclass(frozen=True, eq=False)
class Candidates:
    """Training rows that may be donors, a line of ``part`` for each: of which row, what for, and how near.

    Of those of one row that are for the same, the first by rank, distance and position is the one.
    """

    row: Ints
    purpose: Ints
    near: Nearness
    part: Part

    def take(self, lines: Ints) -> Candidates:
        """Some of them."""
        return Candidates(self.row[lines], self.purpose[lines], self.near.take(lines), self.part.take(lines))

    def first(self, most: int) -> Candidates:
        """The first of each row and purpose, at most so many of each, in the order of the rows."""
        keys = (self.part.positions, self.near.distance, self.near.rank, self.purpose, self.row)
        order = np.lexsort(keys)
        group = np.column_stack([self.row, self.purpose])[order]
        is_new = np.concatenate([[True], (np.diff(group, axis=0) != 0).any(axis=1)])[: len(order)]
        starts = np.flatnonzero(is_new)
        number = np.arange(len(order)) - starts[np.cumsum(is_new) - 1]
        return self.take(order[number < most])

    def nearness(self, purpose: int, n_rows: int) -> Nearness:
        """How near the one candidate is that each of some rows has, if it has one."""
        rank, distance = np.full(n_rows, 2), np.full(n_rows, np.inf)
        own = self.purpose == purpose
        rank[self.row[own]], distance[self.row[own]] = self.near.rank[own], self.near.distance[own]
        return Nearness(rank, distance)


def joined_candidates(found: Sequence[Candidates], most: int) -> Candidates:
    """The first of the candidates of several parts; there must be at least one part."""
    near = Nearness(
        np.concatenate([one.near.rank for one in found]), np.concatenate([one.near.distance for one in found])
    )
    row, purpose = np.concatenate([one.row for one in found]), np.concatenate([one.purpose for one in found])
    return Candidates(row, purpose, near, joined([one.part for one in found])).first(most)


def nearest_in(nice: NICE, part: Part, asked: NearestAsked) -> Candidates:
    """The candidates of a part, as far as it has any: the same search as in ``explain``, among its rows alone."""
    # The counts are for reasons, which no part gives.
    n_decided = np.zeros(len(nice._fitted.panel.classes), dtype=np.intp)
    call, fitted = nice._with_donors(part.rows(nice, n_decided))._called(asked.X, **asked.options, progress=False)
    question = ask(replace(call, outputs=asked.outputs), fitted)
    assert fitted.neighborhood is not None
    search = _PartSearch(fitted.neighborhood.donors, asked, part)
    is_asked = question.is_open & np.isin(np.arange(len(question)), asked.lines)
    found = [one for lines, some in question.by_rules(is_asked) for one in search.candidates(lines, some)]
    nothing = np.empty(0, dtype=np.intp)
    none = Candidates(nothing, nothing, Nearness(nothing, np.empty(0)), part.take(nothing))
    return joined_candidates([none, *found], asked.most)


@dataclass(frozen=True, eq=False)
class _PartSearch:
    donors: DonorSearch
    asked: NearestAsked
    part: Part

    def candidates(self, lines: Ints, question: Question) -> list[Candidates]:
        """Of rows that share their rules; ``lines``: their places among all rows."""
        if self.asked.is_near:
            return [self._near(lines, question)]
        is_limited = question.most_changes < question.rows.shape[1]
        return [self._nearest(lines, question, one) for one in (NEAREST, FEW_CHANGES)[: 1 + is_limited]]

    def _nearest(self, lines: Ints, question: Question, purpose: int) -> Candidates:
        within = self.asked.within.get(purpose)
        donors = self.donors.nearest(
            question, is_limited=purpose == FEW_CHANGES, within=None if within is None else within.take(lines)
        )
        near = self.donors.nearness(question, donors)
        has_donor = donors.place >= 0
        return self._of(lines[has_donor], purpose, near.take(has_donor), donors.place[has_donor])

    def _near(self, lines: Ints, question: Question) -> Candidates:
        index = self.donors.index
        k = min(_MANY, max(1, len(index.values)))
        in_target = self.donors.in_target(question.wanted)
        places, distances = index.nearest_many(question.rows, in_target, k=k, rules=question.rules)
        is_there: Bools = places >= 0
        near = Nearness(np.zeros(int(is_there.sum()), dtype=np.intp), distances[is_there])
        return self._of(np.repeat(lines, is_there.sum(axis=1)), NEAR, near, places[is_there])

    def _of(self, row: Ints, purpose: int, near: Nearness, places: Ints) -> Candidates:
        offsets = np.searchsorted(self.part.positions, self.donors.index.positions[places])
        return Candidates(row, np.full(len(row), purpose), near, self.part.take(offsets))
