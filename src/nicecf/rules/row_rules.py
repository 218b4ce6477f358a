"""What constraints mean for the rows of one call: which values of a donor each row may take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from nicecf.rules.expressions import Relation
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs


class WholeRowRule(Protocol):
    """What must hold of a row as a whole, or of columns that are computed from it."""

    def holds(self, lines: Ints, values: Floats) -> Bools:
        """Whether it holds for values in place of rows; ``lines`` tells which rows these are."""

    @property
    def compared(self) -> list[int]:
        """The columns of the whole table that are compared with each other."""

    def looked_at(self) -> list[list[int]]:
        """For each part of the rule, the columns of the whole table that it looks at."""

    def tells_apart(self) -> Bools:
        """The features of which no two values are alike, whatever the model says of them."""

    def take(self, lines: Ints) -> WholeRowRule:
        """The same for some of the rows."""


class Condition(Protocol):
    """When one feature may change to a new value."""

    @property
    def is_interval(self) -> bool:
        """Whether a row that may change to two numbers may change to all between them."""

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        """Whether rows may change to new values. ``row`` and ``new`` broadcast; ``lines`` tells which rows they are."""

    def take(self, lines: Ints) -> Condition:
        """The condition for some of the rows."""


@dataclass(frozen=True, eq=False)
class Meaning:
    """What rules of one kind mean for rows. All of them together are the :class:`Rules`.

    ``fixed``: positions of features that never change. ``conditions``: positions of features, each with one condition.
    ``groups``: positions of features that belong together. ``max_changes``: how many may change at most.
    ``relations``: what must hold between features.
    """

    fixed: tuple[int, ...] = ()
    conditions: tuple[tuple[int, Condition], ...] = ()
    groups: tuple[Ints, ...] = ()
    max_changes: int | None = None
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules for some rows. What a row has may always stay.

    ``is_fixed``: features that never change. ``conditions``: for each feature. ``groups``: positions of features whose
    values are all the row's or all the donor's. ``of_whole_rows``: rules that are not about one feature; a hybrid that
    breaks them is no counterfactual, but one on the way to it may. Wherever ``lines`` are asked for, they are positions
    among the rows.
    """

    rows: Floats
    is_fixed: Bools
    conditions: tuple[tuple[Condition, ...], ...]
    groups: tuple[Ints, ...] = ()
    max_changes: int | None = None
    of_whole_rows: WholeRowRule | None = None

    def take(self, lines: Ints) -> Rules:
        """The rules for some of the rows."""
        conditions = tuple(tuple(one.take(lines) for one in of_feature) for of_feature in self.conditions)
        whole = None if self.of_whole_rows is None else self.of_whole_rows.take(lines)
        return replace(self, rows=self.rows[lines], conditions=conditions, of_whole_rows=whole)

    @cached_property
    def tells_apart(self) -> Bools:
        """Features of which the rules may tell any two values apart, though the model does not."""
        return self.restricts if self.of_whole_rows is None else self.restricts | self.of_whole_rows.tells_apart()

    def are_possible(self, lines: Ints, values: Floats) -> Bools:
        """Whether values in place of rows keep the rules that are not about one feature."""
        if self.of_whole_rows is None or not len(lines):
            return np.ones(len(lines), dtype=bool)
        return self.of_whole_rows.holds(lines, values)

    @cached_property
    def restricts(self) -> Bools:
        """Which features cannot take every value, by themselves or by what they belong together with."""
        own = self.is_fixed | np.array([bool(of_feature) for of_feature in self.conditions])
        restricts = own.copy()
        for group in self.groups:
            restricts[group] = own[group].any()
        return restricts

    @property
    def can_block(self) -> bool:
        """Whether some feature cannot take every value, so that a donor may be seen as another row."""
        return bool(self.restricts.any())

    @property
    def only_fixes(self) -> bool:
        """Whether features cannot change at all or can take every value."""
        return bool((self.restricts == self.is_fixed).all())

    def may_take(self, lines: Ints, donors: Floats) -> Bools:
        """Which of the donors' values each row may take: shape (lines, donors, features). Not those that are fixed."""
        shape = (len(lines), len(donors))
        may = np.ones((*shape, self.rows.shape[1]), dtype=bool)
        is_alone_and_fixed = self.is_fixed.copy()
        for group in self.groups:
            is_alone_and_fixed[group] = False
        may[:, :, is_alone_and_fixed] = False  # whether it is equal makes no difference
        for j in np.flatnonzero(self.restricts & ~is_alone_and_fixed).tolist():
            may[:, :, j] = self._may_take(j, lines, self.rows[lines, j, None], donors[None, :, j])
        self._join(may)
        return may

    def project(self, lines: Ints, donors: Floats) -> Floats:
        """Donors as paired rows may take them: what a row may not take is put back to its own."""
        rows = self.rows[lines]
        may = np.ones(donors.shape, dtype=bool)
        for j in np.flatnonzero(self.restricts).tolist():
            may[:, j] = self._may_take(j, lines, rows[:, j], donors[:, j])
        self._join(may)
        return np.where(may, donors, rows)

    def may_change(self, j: int, lines: Ints, new: Floats) -> Bools:
        """Whether rows may take new values of one feature; what a row has it may keep."""
        return self._may_take(j, lines, self.rows[lines, j], new)

    def _may_take(self, j: int, lines: Ints, row: Floats, new: Floats) -> Bools:
        stays = ~differs(row, new)
        if self.is_fixed[j]:
            return stays
        may = np.ones(stays.shape, dtype=bool)
        for condition in self.conditions[j]:
            may &= condition.allows(lines, row, new)
        return may | stays

    def _join(self, may: Bools) -> None:
        for group in self.groups:
            may[..., group] = may[..., group].all(axis=-1, keepdims=True)

    def takes_whole_box(self, j: int, lines: Ints, low: Floats, high: Floats, has_missing: Bools) -> Bools | bool:
        """Whether each row may take every value between low and high: shape (lines, boxes); False if in doubt."""
        if not self.restricts[j]:
            return True
        is_grouped = any(j in group for group in self.groups)
        if self.is_fixed[j] or is_grouped or not all(condition.is_interval for condition in self.conditions[j]):
            return False
        may = np.broadcast_to(~has_missing[None, :], (len(lines), len(low))).copy()
        for condition in self.conditions[j]:
            row = self.rows[lines, j, None]
            may &= condition.allows(lines, row, low[None, :]) & condition.allows(lines, row, high[None, :])
        return may

    def are_kept(self, lines: Ints, values: Floats, donors: Floats) -> Bools:
        """Whether counterfactuals of rows keep every rule, one by one: nothing of the search is relied on."""
        rows = self.rows[lines]
        changed = differs(rows, values)
        kept = np.asarray(~(changed & self.is_fixed).any(axis=1))
        for group in self.groups:
            is_like_donor = ~differs(values[:, group], donors[:, group]).any(axis=1)
            kept &= is_like_donor | ~changed[:, group].any(axis=1)
        for j, conditions in enumerate(self.conditions):
            for condition in conditions:
                kept &= condition.allows(lines, rows[:, j], values[:, j]) | ~changed[:, j]
        if self.max_changes is not None:
            kept &= changed.sum(axis=1) <= self.max_changes
        return kept & self.are_possible(lines, values)
