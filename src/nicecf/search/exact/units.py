"""What a row can become: units that move by themselves, and for each the values that it may take, with their costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from nicecf.rules.row_rules import Rules
from nicecf.search.distance import Heom
from nicecf.search.neighbors import DonorIndex
from nicecf.search.question import Question
from nicecf.search.training_values import TrainingValues
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.reduced import ReducedSchema
from nicecf.tables.schema import differs

# Combinations of values of features that must be looked at together: beyond this, rules are looked at afterwards.
MOST_COMBINATIONS = 200_000


class TooLarge(Exception):  # noqa: N818  # not an error: the proof is given up
    """Features that must be looked at together have more combinations of values than can be looked at."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Features that move by themselves: one, or several that belong together.

    ``values``: what they may become, one line each, the row's own among them; ``distances`` and ``changes``: from the
    row. Lines are sorted by the values, so that those of one number are in ascending order.
    """

    features: Ints
    values: Floats
    distances: Floats
    changes: Ints

    @property
    def own(self) -> int:
        """The line of the row's own values."""
        return int(np.argmin(self.changes))

    def take(self, lines: Ints | Bools) -> Unit:
        """Some of the lines."""
        return replace(self, values=self.values[lines], distances=self.distances[lines], changes=self.changes[lines])

    def rows(self, row: Floats) -> Floats:
        """The row with each of the values."""
        rows = np.tile(row, (len(self.values), 1))
        rows[:, self.features] = self.values
        return rows


@dataclass(frozen=True)
class Limit:
    """What is looked for costs less than ``distance`` and has fewer than ``changes`` changes, whichever is known."""

    distance: float = np.inf
    changes: float = np.inf

    def allows(self, unit: Unit) -> Bools:
        """The lines of a unit that something within the limit may have."""
        return np.asarray((unit.distances < self.distance) & (unit.changes < self.changes)) | (unit.changes == 0)


def units_of(
    question: Question, line: int, training: TrainingValues, index: DonorIndex, distance: Heom, limit: Limit
) -> list[Unit]:
    """The units of one row of a question, with the values that its rules and a limit allow."""
    row, rules = question.rows[line], question.rules
    groups = () if rules is None else rules.groups
    grouped = {int(j) for group in groups for j in group}
    units = [_single(row, line, j, training, rules, distance, limit) for j in range(len(row)) if j not in grouped]
    units += [_group(row, line, group, index, rules, distance, limit) for group in groups]
    return units


def _single(
    row: Floats, line: int, j: int, training: TrainingValues, rules: Rules | None, distance: Heom, limit: Limit
) -> Unit:
    values = training.of_feature(j)
    if training.missing[j] >= 0:
        values = np.append(values, np.nan)
    values = values[differs(values, row[j])]
    if rules is not None and rules.restricts[j]:
        values = values[rules.may_change(j, np.full(len(values), line), values)]
    values = np.append(values, row[j])
    values = values[np.argsort(values, kind="stable")]  # missing comes last
    unit = Unit(
        np.array([j]),
        values[:, None],
        distance.feature(j, np.full(len(values), row[j]), values),
        differs(values, row[j]).astype(np.intp),
    )
    return unit.take(limit.allows(unit))


def _group(
    row: Floats, line: int, group: Ints, index: DonorIndex, rules: Rules | None, distance: Heom, limit: Limit
) -> Unit:
    """Features whose values are all the row's, or all of one donor."""
    assert rules is not None
    donors = np.tile(row, (len(index.values), 1))
    donors[:, group] = index.values[:, group]
    taken = rules.project(np.full(len(donors), line), donors)[:, group]
    own = row[group]
    changed = differs(taken, own)
    bits = np.where(np.isnan(taken), np.nan, taken + 0.0).view(np.int64)
    _, first = np.unique(bits, axis=0, return_index=True)
    kept = np.sort(first[changed[first].any(axis=1)])
    values = np.concatenate([own[None], taken[kept]])
    return _measured(row, group, values, distance, limit)


def _measured(row: Floats, features: Ints, values: Floats, distance: Heom, limit: Limit) -> Unit:
    own = row[features]
    parts = np.zeros(len(values))
    for at, j in enumerate(features.tolist()):
        parts += distance.feature(j, np.full(len(values), own[at]), values[:, at])
    unit = Unit(features, values, parts, differs(values, own).sum(axis=1))
    unit = unit.take(limit.allows(unit))
    return unit.take(np.lexsort(unit.values.T[::-1]))


def joined(units: list[Unit], row: Floats, distance: Heom, limit: Limit) -> Unit:
    """Several units as one, with all combinations of their values; TooLarge if these are too many."""
    n_lines = 1
    for unit in units:
        n_lines *= len(unit.values)
    if n_lines > MOST_COMBINATIONS:
        raise TooLarge
    lines = np.indices([len(unit.values) for unit in units]).reshape(len(units), -1)
    values = np.concatenate([unit.values[at] for unit, at in zip(units, lines, strict=True)], axis=1)
    return _measured(row, np.concatenate([unit.features for unit in units]), values, distance, limit)


def linked_features(question: Question) -> tuple[list[set[int]], list[set[int]]]:
    """Sets of features that columns are computed from; and those that a rule of whole rows looks at together."""
    schema, rules = question.schema, question.rules
    computed: list[set[int]] = []
    of_column: dict[int, set[int]] = {}
    if isinstance(schema, ReducedSchema):
        for one in schema.computed:  # in an order in which each comes after its inputs
            members = [of_column.get(j, {schema.moving(j)}) for j in one.inputs]
            of_column[one.position] = reduce(set.union, members, set())
            computed.append(of_column[one.position])
    ruled: list[set[int]] = []
    if rules is not None and rules.of_whole_rows is not None:
        for columns in rules.of_whole_rows.looked_at():
            ruled.append(reduce(set.union, (of_column.get(j, {schema.moving(j)}) for j in columns), set()))
    return computed, ruled
