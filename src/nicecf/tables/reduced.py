"""A table without what follows from the rest of it: the columns that a search moves in.

Columns that are computed from others are left out, and columns that only move together are one categorical column,
whose categories are the combinations that training rows hold. A search, a distance or a baseline that gets such rows
needs to know nothing of either: whatever it makes of them is a whole row again when it is decoded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from nicecf.support.types import Bools, Floats, Ints, Table
from nicecf.tables.column import Column
from nicecf.tables.schema import Schema, differs


class Computed(Protocol):
    """A column that follows from others: positions in the whole table."""

    @property
    def position(self) -> int:
        """Where it stands."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """The columns that it is computed from."""

    @property
    def twin(self) -> int | None:
        """The column that it determines as well as that determines it, if there is one."""

    def values(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        """Its encoded values for whole rows, in which its inputs are filled, and where they are values at all."""

    def contradicts(self, rows: Floats, schema: Schema) -> Bools:
        """Where the value that whole rows have is not the computed one, beyond the rounding of either."""

    def extended(self, rows: Floats) -> Computed:
        """The same with what can be learned of whole rows, if it is learned from rows."""


@dataclass(frozen=True, eq=False)
class Told:
    """A computed column of which only the place is told, not how it is computed: enough to measure distances."""

    position: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """Nothing is told of them."""
        return ()

    @property
    def twin(self) -> int | None:
        """Nothing is told of it."""
        return None

    def values(self, rows: Floats, schema: Schema) -> tuple[Floats, Bools]:
        """What rows have."""
        return rows[:, self.position], np.ones(len(rows), dtype=bool)

    def contradicts(self, rows: Floats, schema: Schema) -> Bools:
        """Nowhere."""
        return np.zeros(len(rows), dtype=bool)

    def extended(self, rows: Floats) -> Told:
        """There is nothing to learn."""
        return self


@dataclass(frozen=True, eq=False)
class Combination:
    """Columns that move together, by their positions, and the combinations of their values, one line for each code."""

    members: Ints
    patterns: Floats

    @classmethod
    def of(cls, members: Ints, values: Floats) -> Combination:
        """The combinations that whole rows hold, in order of first occurrence."""
        return cls(members, np.empty((0, len(members)))).extended(values)[0]

    def extended(self, rows: Floats) -> tuple[Combination, Floats]:
        """The combinations with those of some whole rows, and the codes of these rows."""
        cells = rows[:, self.members]
        together = np.concatenate([self.patterns, cells])
        # NaN is not equal to itself, and there are two zeros: compare by bits.
        bits = np.where(np.isnan(together), np.nan, together + 0.0).view(np.int64)
        _, first, place = np.unique(bits, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        codes = rank[place.ravel()][len(self.patterns) :]
        return Combination(self.members, together[first[order]]), codes.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ReducedSchema(Schema):
    """The columns that move; `full` has all of them.

    ``units``: of each column here its position in the whole table, or the place of its combination as -1, -2, ...
    ``computed`` are in an order in which each has its inputs.
    """

    whole: Schema = field(kw_only=True)
    units: tuple[int, ...] = field(kw_only=True)
    combinations: tuple[Combination, ...] = field(kw_only=True, default=())
    computed: tuple[Computed, ...] = field(kw_only=True, default=())

    @classmethod
    def without(
        cls, schema: Schema, values: Floats, groups: Sequence[Sequence[int]], computed: Sequence[Computed]
    ) -> tuple[ReducedSchema, Floats]:
        """A training table, whose encoded rows are ``values``, with groups as one column each and nothing computed."""
        combinations = tuple(Combination.of(np.array(sorted(group), dtype=np.intp), values) for group in groups)
        rows, reduced = cls.made_of(schema, combinations, tuple(computed)).reduce(values, schema)
        return reduced, rows

    @classmethod
    def made_of(
        cls, schema: Schema, combinations: tuple[Combination, ...], computed: tuple[Computed, ...]
    ) -> ReducedSchema:
        """The same where the combinations are known."""
        left_out = {one.position for one in computed} | {int(j) for one in combinations for j in one.members[1:]}
        first = {int(one.members[0]): -1 - place for place, one in enumerate(combinations)}
        units = tuple(first.get(j, j) for j in range(len(schema.columns)) if j not in left_out)
        reduced = cls(
            schema.container, (), schema.empty, whole=schema, units=units, combinations=combinations, computed=computed
        )
        return replace(reduced, columns=reduced._columns(schema, combinations))

    @property
    def full(self) -> Schema:
        """All columns of the table."""
        return self.whole

    @cached_property
    def is_computed(self) -> Bools:
        """Which columns of the table follow from others."""
        is_computed = np.zeros(len(self.whole.columns), dtype=bool)
        is_computed[[one.position for one in self.computed]] = True
        return is_computed

    def members(self, j: int) -> Ints:
        """The positions in the whole table of a column here."""
        unit = self.units[j]
        return np.array([unit]) if unit >= 0 else self.combinations[-1 - unit].members

    @cached_property
    def unit_of(self) -> Ints:
        """Of each column of the table the column here that it moves with; -1 where it is computed from others."""
        unit_of = np.full(len(self.whole.columns), -1, dtype=np.intp)
        for j in range(len(self.units)):
            unit_of[self.members(j)] = j
        for one in self.computed:
            if one.twin is not None:
                unit_of[one.position] = unit_of[one.twin]
        return unit_of

    def expand(self, rows: Floats) -> Floats:
        """Whole rows: combinations as their columns, and what is computed."""
        return self.expanded(rows)[0]

    def expanded(self, rows: Floats) -> tuple[Floats, Bools]:
        """Whole rows, and whether all that is computed has a value."""
        whole = np.empty((len(rows), len(self.whole.columns)))
        here, there = self._plain
        whole[:, there] = rows[:, here]
        for place, one in enumerate(self.combinations):
            whole[:, one.members] = one.patterns[rows[:, self.units.index(-1 - place)].astype(np.intp)]
        exists = np.ones(len(rows), dtype=bool)
        for column in self.computed:
            whole[:, column.position], is_value = column.values(whole, self.whole)
            exists &= is_value
        return whole, exists

    def with_own_values(self, rows: Floats, others: Floats, *, but: Collection[int] = ()) -> Floats:
        """Others, whole rows, in which what follows from nothing that differs is as in paired rows.

        Not of the columns ``but`` these, nor where something else is computed from it.
        """
        own = others.copy()
        left_alone = {*but, *(j for one in self.computed for j in one.inputs)}
        for one in self.computed:
            if one.position not in left_alone:
                stays = ~differs(rows[:, one.inputs], own[:, one.inputs]).any(axis=1)
                own[stays, one.position] = rows[stays, one.position]
        return own

    def stays(self, rows: Floats, others: Floats) -> dict[int, Bools]:
        """Of each computed column, for which paired whole rows nothing differs that it follows from."""
        changed = differs(rows, others)
        stays: dict[int, Bools] = {}
        for one in self.computed:  # in an order in which what it follows from comes first
            stays[one.position] = np.asarray(~changed[:, one.inputs].any(axis=1))
            changed[:, one.position] = ~stays[one.position]
        return stays

    def reduce(self, rows: Floats, full: Schema) -> tuple[Floats, ReducedSchema]:
        """Whole rows as those here, and this schema with the categories of ``full`` and combinations never seen."""
        reduced = np.empty((len(rows), len(self.units)))
        here, there = self._plain
        reduced[:, here] = rows[:, there]
        combinations = []
        for place, one in enumerate(self.combinations):
            known, reduced[:, self.units.index(-1 - place)] = one.extended(rows)
            combinations.append(known)
        return reduced, replace(
            self,
            whole=full,
            combinations=tuple(combinations),
            computed=tuple(one.extended(rows) for one in self.computed),
            columns=self._columns(full, tuple(combinations)),
        )

    def encode(self, X: Table) -> tuple[Floats, Schema]:
        """Rows to explain as floats, and this schema extended by what training never saw."""
        return self.reduce(*self.whole.encode(X))

    def decode(self, values: Floats) -> Table:
        """Rows as a table like the one that ``fit`` got."""
        return self.whole.decode(self.expand(values))

    def reduced_cells(self, cells: Ints) -> Ints:
        """Which values a model cannot tell apart, of whole rows -> of the columns here; -1 where that is not known.

        Of a column that others are computed from, two values that look the same to the model may make others that
        do not.
        """
        reduced = np.full((len(cells), len(self.units)), -1, dtype=np.intp)
        here, there = self._plain
        is_input = np.isin(there, [j for one in self.computed for j in one.inputs])
        reduced[:, here[~is_input]] = cells[:, there[~is_input]]
        return reduced

    def moving(self, position: int) -> int:
        """The column here that a column of the table moves with; -1 if it is computed."""
        return int(self.unit_of[position])

    def reduced_weights(self, weights: Floats | None) -> Floats | None:
        """What it costs to change each column here: of those that move together, the most."""
        if weights is None:
            return None
        return np.array([weights[self.unit_of == j].max() for j in range(len(self.units))])

    def with_common(self, common: Sequence[Floats]) -> ReducedSchema:
        """The same, in which only some values of each column here may be used; of those computed nothing is told."""
        of_whole = {one.position: np.empty(0) for one in self.computed}
        for j, held in enumerate(common):
            if self.units[j] >= 0:
                of_whole[self.units[j]] = held
                continue
            one = self.combinations[-1 - self.units[j]]
            patterns = one.patterns[held.astype(np.intp)]
            of_whole |= {int(k): np.unique(patterns[:, at]) for at, k in enumerate(one.members)}
        whole = tuple(replace(column, common=of_whole[j]) for j, column in enumerate(self.whole.columns))
        here = (replace(column, common=held) for column, held in zip(self.columns, common, strict=True))
        return replace(self, columns=tuple(here), whole=replace(self.whole, columns=whole))

    def for_distances(self) -> ReducedSchema:
        """The same without what columns are computed by, such as a function of the user: a result is stored with it."""
        return replace(self, computed=tuple(Told(one.position) for one in self.computed))

    def spread(self, parts: Floats, rows: Floats, others: Floats) -> Floats:
        """A number for each column here -> for those of the table that differ; several of them share it."""
        changed = differs(rows, others)
        spread = np.zeros(changed.shape)
        for j in range(len(self.units)):
            members = self.members(j)
            n_changed = changed[:, members].sum(axis=1, keepdims=True)
            spread[:, members] = changed[:, members] * parts[:, j, None] / np.maximum(n_changed, 1)
        return spread

    def changed_with(self, line: Ints, feature: Ints, step: Ints, changed: Bools) -> tuple[Ints, Ints]:
        """Changes of columns here -> of columns of the table: which of the changes each goes with, and its column.

        ``changed`` tells which columns of the table differ for each line. What is computed goes with the last step.
        """
        places, columns = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for j in range(len(self.units)):
            here = np.flatnonzero(feature == j)
            for column in self.members(j).tolist():
                places.append(here[changed[line[here], column]])
                columns.append(np.full(len(places[-1]), column))
        order = np.lexsort((step, line))
        lines, first = np.unique(line[order][::-1], return_index=True)
        last = order[::-1][first]
        for one in self.computed:
            places.append(last[changed[lines, one.position]])
            columns.append(np.full(len(places[-1]), one.position))
        return np.concatenate(places), np.concatenate(columns)

    def known(self, rows: Floats) -> tuple[Floats, Bools]:
        """Whole rows as those here, and which of them have known combinations only; others have any instead."""
        moving, _ = self.reduce(rows, self.whole)
        is_known = np.ones(len(rows), dtype=bool)
        for place, one in enumerate(self.combinations):
            codes = moving[:, self.units.index(-1 - place)]
            is_known &= codes < len(one.patterns)
            codes[codes >= len(one.patterns)] = 0.0
        return moving, is_known

    def n_changes(self, rows: Floats, others: Floats) -> Ints:
        """How many changes there are between whole rows: what moves together is one, what is computed none."""
        changed = differs(rows, others)
        moved = np.zeros((len(rows), len(self.units)), dtype=bool)
        for j in range(len(self.units)):
            moved[:, j] = changed[:, self.members(j)].any(axis=1)
        return moved.sum(axis=1)

    @cached_property
    def _plain(self) -> tuple[Ints, Ints]:
        """The columns that are columns of the table: their positions here and there."""
        here = [j for j, unit in enumerate(self.units) if unit >= 0]
        return np.array(here, dtype=np.intp), np.array([self.units[j] for j in here], dtype=np.intp)

    def _columns(self, full: Schema, combinations: tuple[Combination, ...]) -> tuple[Column, ...]:
        known = dict(zip(self.units, self.columns, strict=False)) if self.columns else {}
        columns = []
        for unit in self.units:
            if unit >= 0:
                columns.append(full.columns[unit])
                continue
            one = combinations[-1 - unit]
            name = " + ".join(str(full.columns[j].name) for j in one.members)
            column = Column(name, True, np.empty(0, dtype=object), tuple(map(tuple, one.patterns.tolist())))
            columns.append(replace(column, common=known[unit].common) if unit in known else column)
        return tuple(columns)
