"""Rules that are not about one feature that moves: relations of columns, and rules of columns that are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf.rules.columns import labels_of
from nicecf.rules.expressions import Relation
from nicecf.rules.expressions.dates import relation_of
from nicecf.rules.row_rules import Condition
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.reduced import ReducedSchema
from nicecf.tables.schema import Schema, differs


@dataclass(frozen=True, eq=False)
class OwnRules:
    """The rules of a column that is computed: they are checked when its value is known."""

    position: int
    is_fixed: bool
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class WholeRows:
    """What must hold of whole rows; ``rows`` are those of the call, with all columns."""

    schema: Schema
    rows: Floats
    relations: tuple[Relation, ...]
    computed: tuple[OwnRules, ...]

    def holds(self, lines: Ints, values: Floats) -> Bools:
        """Whether it holds for values, of the columns that move, in place of rows."""
        whole, kept = values, np.ones(len(values), dtype=bool)
        if isinstance(self.schema, ReducedSchema):
            whole, kept = self.schema.expanded(values)
        for relation in self.relations:
            kept &= holds(relation, whole, self.schema.full)
        unmoved = self.schema.stays(self.rows[lines], whole) if isinstance(self.schema, ReducedSchema) else {}
        for one in self.computed:
            row, new = self.rows[lines, one.position], whole[:, one.position]
            stays = ~differs(row, new) | unmoved[one.position]
            may = np.full(len(stays), not one.is_fixed)
            for condition in one.conditions:
                may &= condition.allows(lines, row, new)
            kept &= may | stays
        return kept

    @property
    def compared(self) -> list[int]:
        """The columns of the table that relations name."""
        names = dict.fromkeys(name for relation in self.relations for name in relation.columns)
        return [self.schema.full.position(name, "relations") for name in names]

    def looked_at(self) -> list[list[int]]:
        """The columns of each relation, and every column that is computed: it must have a value."""
        relations = [[self.schema.full.position(name, "relations") for name in one.columns] for one in self.relations]
        computed = self.schema.computed if isinstance(self.schema, ReducedSchema) else ()
        return relations + [[one.position] for one in computed]

    def tells_apart(self) -> Bools:
        """The columns that move of which no two values are alike: a relation may tell them apart."""
        apart = np.zeros(len(self.schema.columns), dtype=bool)
        moving = np.array([self.schema.moving(j) for j in self.compared], dtype=np.intp)
        apart[moving[moving >= 0]] = True
        return apart

    def take(self, lines: Ints) -> WholeRows:
        """The same for some of the rows."""
        computed = tuple(
            replace(one, conditions=tuple(condition.take(lines) for condition in one.conditions))
            for one in self.computed
        )
        return replace(self, rows=self.rows[lines], computed=computed)


@dataclass(frozen=True, eq=False)
class Together:
    """When columns that move together may take another combination: each of them may, or keeps its value."""

    patterns: Floats
    is_fixed: tuple[bool, ...]
    conditions: tuple[tuple[Condition, ...], ...]

    @property
    def is_interval(self) -> bool:
        """Codes have no order."""
        return False

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        """Whether rows may change to new combinations, by their codes."""
        may = np.ones(np.broadcast_shapes(row.shape, new.shape), dtype=bool)
        for at, (is_fixed, conditions) in enumerate(zip(self.is_fixed, self.conditions, strict=True)):
            before, after = (self.patterns[codes.astype(np.intp), at] for codes in (row, new))
            may_change = np.full(may.shape, not is_fixed)
            for condition in conditions:
                may_change &= condition.allows(lines, before, after)
            may &= may_change | ~differs(before, after)
        return may

    def take(self, lines: Ints) -> Together:
        """The same for some of the rows."""
        taken = tuple(tuple(one.take(lines) for one in conditions) for conditions in self.conditions)
        return replace(self, conditions=taken)


def of_dates(relation: Relation, schema: Schema) -> Relation:
    """The same, with what it says of dates as the columns of a table hold them; OptionError if it makes no sense."""
    columns = [schema.columns[schema.position(name, "relations")] for name in relation.columns]
    if all(column.temporal is None for column in columns):
        return relation
    named = zip(relation.columns, columns, strict=True)
    return relation_of(relation, tuple((name, column.temporal) for name, column in named if column.temporal))


def holds(relation: Relation, rows: Floats, schema: Schema) -> Bools:
    """Where a relation holds between the columns of whole rows."""
    positions = [schema.position(name, "relations") for name in relation.columns]
    cells = rows[:, positions]
    relation = of_dates(relation, schema)
    if not schema.is_categorical[positions].any():
        return relation.holds(dict(zip(relation.columns, cells.T, strict=True)))
    # Labels are compared one by one: each combination of them once.
    distinct, place = np.unique(cells + 0.0, axis=0, return_inverse=True)
    columns = zip(relation.columns, positions, distinct.T, strict=True)
    kept = relation.holds({name: labels_of(schema, j, values) for name, j, values in columns})
    return kept[place.ravel()]
