"""What constraints mean for the rows of one call: which values of a donor each row may take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from nicecf._typing import Bools, Floats, Ints
from nicecf.constraints import Constraints, Feature, merged_groups
from nicecf.exceptions import OptionError, listed, plain
from nicecf.schema import MISSING_CATEGORY, Column, Schema, differs

# How far a change may be from a whole number of steps, as a share of the values: decimal fractions are not exact.
_ROUNDING, _ROUNDING_OF_FLOAT32 = 1e-9, 1e-6


class Condition(Protocol):
    """When one feature may change to a new value."""

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        """Whether rows may change to new values. ``row`` and ``new`` broadcast; ``lines`` tells which rows they are."""

    def take(self, lines: Ints) -> Condition:
        """The condition for some of the rows."""


@dataclass(frozen=True, eq=False)
class Within:
    """Between bounds, one pair for each row; of ranks, where the order of the values is given. NaN allows nothing."""

    low: Floats
    high: Floats
    ranks: Floats | None = None

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        value = new if self.ranks is None else self.ranks[new.astype(np.intp)]
        shape = (len(lines),) + (1,) * (row.ndim - 1)
        low, high = self.low[lines].reshape(shape), self.high[lines].reshape(shape)
        # Without any bound there is no rule for a row: then a value may become missing too.
        return ((value >= low) & (value <= high)) | (np.isneginf(low) & np.isposinf(high))

    def take(self, lines: Ints) -> Within:
        return Within(self.low[lines], self.high[lines], self.ranks)


@dataclass(frozen=True, eq=False)
class Among:
    """One of some values."""

    values: Floats

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        is_missing = np.isnan(new) & np.isnan(self.values).any()
        return np.broadcast_to(np.isin(new, self.values) | is_missing, np.broadcast_shapes(row.shape, new.shape))

    def take(self, lines: Ints) -> Among:
        return self


@dataclass(frozen=True, eq=False)
class NotFromTo:
    """Not from one value to another."""

    before: Floats
    after: Floats

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        is_allowed = np.ones(np.broadcast_shapes(row.shape, new.shape), dtype=bool)
        for before, after in zip(self.before, self.after, strict=True):
            is_allowed &= differs(row, before) | differs(new, after)
        return is_allowed

    def take(self, lines: Ints) -> NotFromTo:
        return self


@dataclass(frozen=True, eq=False)
class InSteps:
    """A whole number of steps away."""

    step: float
    rounding: float

    def allows(self, lines: Ints, row: Floats, new: Floats) -> Bools:
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that are too small to count
            steps = np.round((new - row) / self.step)
            away = np.abs(new - row - steps * self.step)
        return away <= self.rounding * np.maximum(np.abs(new), np.abs(row))

    def take(self, lines: Ints) -> InSteps:
        return self


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules for some rows. What a row has may always stay.

    ``is_fixed``: features that never change. ``conditions``: for each feature. ``groups``: positions of features whose
    values are all the row's or all the donor's. Wherever ``lines`` are asked for, they are positions among the rows.
    """

    rows: Floats
    is_fixed: Bools
    conditions: tuple[tuple[Condition, ...], ...]
    groups: tuple[Ints, ...] = ()
    max_changes: int | None = None

    @classmethod
    def of(
        cls, constraints: Constraints, schema: Schema, rows: Floats, *, trained: Schema, index: pd.Index[Any] | None
    ) -> Rules:
        """Read constraints for some rows; OptionError where they do not fit the table.

        ``trained`` is the schema of the training table: it knows which values a donor can have. ``index`` are the
        labels of the rows, which those of per-row bounds must equal.
        """
        return _Reader(schema, rows, trained, index).rules(constraints)

    def take(self, lines: Ints) -> Rules:
        """The rules for some of the rows."""
        conditions = tuple(tuple(one.take(lines) for one in of_feature) for of_feature in self.conditions)
        return replace(self, rows=self.rows[lines], conditions=conditions)

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
        if (
            self.is_fixed[j]
            or is_grouped
            or not all(isinstance(c, Within) and c.ranks is None for c in self.conditions[j])
        ):
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
        return kept


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that share their rules: their positions, and the rules for them as constraints and as read for the rows."""

    lines: Ints
    constraints: Constraints
    rules: Rules | None


def parts_of(
    own: Constraints, of_call: Any, schema: Schema, rows: Floats, *, trained: Schema, index: pd.Index[Any]
) -> list[Part]:
    """The rows by the rules that they are under: those of the explainer and, on top, those of the call.

    ``of_call``: constraints, a list with one for each row, or None.
    """
    if of_call is None or isinstance(of_call, Constraints):
        of_rows = [(np.arange(len(rows)), of_call)]
    else:
        of_rows = _by_constraints(of_call, len(rows))
    parts = []
    for lines, one in of_rows:
        both = own if one is None else own & one
        rules = Rules.of(both, schema, rows[lines], trained=trained, index=index[lines]) if both else None
        parts.append(Part(lines, both, rules))
    return parts


def _by_constraints(constraints: Any, n_rows: int) -> list[tuple[Ints, Constraints | None]]:
    """The rows that each of the constraints is for, given one for each row."""
    if isinstance(constraints, (str, bytes, dict)) or not isinstance(constraints, (Sequence, np.ndarray)):
        raise OptionError(
            f"constraints must be nicecf.Constraints, or a list with one (or None) for each row, got "
            f"{type(constraints).__name__}."
        )
    if len(constraints) != n_rows:
        raise OptionError(f"constraints has {len(constraints)} entries, one for each row, but X has {n_rows} rows.")
    lines: dict[str, list[int]] = {}
    first: dict[str, Constraints | None] = {}
    for line, one in enumerate(constraints):
        if one is not None and not isinstance(one, Constraints):
            raise OptionError(
                f"constraints of row {line} must be nicecf.Constraints or None, got {type(one).__name__}."
            )
        if one is not None and one.is_per_row:
            raise OptionError(
                f"constraints of row {line} have bounds for each row; in a list, each has those of its own row."
            )
        first.setdefault(repr(one), one)
        lines.setdefault(repr(one), []).append(line)
    return [(np.array(lines[key], dtype=np.intp), first[key]) for key in first]


class _Reader:
    """Reads constraints by the columns of a table."""

    def __init__(self, schema: Schema, rows: Floats, trained: Schema, index: pd.Index[Any] | None) -> None:
        self._schema = schema
        self._rows = rows
        self._trained = trained
        self._index = index

    def rules(self, constraints: Constraints) -> Rules:
        n_features = len(self._schema.columns)
        is_fixed = np.zeros(n_features, dtype=bool)
        is_fixed[[self._at(one, "immutable") for one in constraints.immutable]] = True
        conditions: list[list[Condition]] = [[] for _ in range(n_features)]
        for name in ("increasing", "decreasing"):
            for one, order in getattr(constraints, name).items():
                conditions[self._at(one, name)].append(self._one_way(one, order, name))
        for one, pair in constraints.ranges.items():
            conditions[self._at(one, "ranges")].append(self._range(one, pair))
        for one, values in constraints.allowed.items():
            column = self._trained.columns[self._at(one, "allowed")]
            among = np.array([_encoded(value, column, "allowed") for value in values])
            conditions[self._at(one, "allowed")].append(Among(among))
        for one, pairs in constraints.forbid.items():
            column = self._trained.columns[self._at(one, "forbid")]
            before, after = ([_encoded(pair[k], column, "forbid") for pair in pairs] for k in (0, 1))
            conditions[self._at(one, "forbid")].append(NotFromTo(np.array(before), np.array(after)))
        for one, step in constraints.step.items():
            self._check_numeric(one, "step", "allowed")
            column = self._trained.columns[self._at(one, "step")]
            rounding = _ROUNDING_OF_FLOAT32 if _is_float32(column) else _ROUNDING
            conditions[self._at(one, "step")].append(InSteps(step, rounding))
        return Rules(
            self._rows,
            is_fixed,
            tuple(tuple(of_feature) for of_feature in conditions),
            self._groups(constraints.groups),
            constraints.max_changes,
        )

    def _at(self, one: Feature, option: str) -> int:
        return self._schema.position(one, option)

    def _groups(self, groups: Iterable[Iterable[Feature]]) -> tuple[Ints, ...]:
        # A name and a position may mean the same feature, so that only now is it clear which groups are one.
        positions = merged_groups([self._at(one, "groups") for one in group] for group in groups)
        return tuple(np.unique(np.array(group, dtype=np.intp)) for group in positions)

    def _one_way(self, one: Feature, order: tuple[Any, ...] | None, name: str) -> Within:
        j = self._at(one, name)
        column, own, ranks = self._schema.columns[j], self._rows[:, j], None
        if column.is_categorical:
            if order is None and getattr(column.prototype.dtype, "ordered", False):
                order = tuple(column.prototype.dtype.categories)
            if order is None:
                raise OptionError(
                    f"{name} names {one!r}, which is categorical, so that it has no order. Give one: {name}={{{one!r}: "
                    f"[{listed(column.levels, limit=3)}, ...]}}, from low to high."
                )
            ranked = {_code_of(value, column) for value in order}
            left_out = [level for code, level in enumerate(self._trained.columns[j].levels) if code not in ranked]
            if left_out:
                raise OptionError(
                    f"{name} gives an order of {one!r} that leaves out {listed(left_out)}. Name all its values."
                )
            ranks = _ranks(order, column)
            own = ranks[own.astype(np.intp)]
        elif order is not None:
            raise OptionError(f"{name} gives an order for {one!r}, which is numeric: its numbers are in order already.")
        anything = np.full(len(own), np.inf)
        return Within(own, anything, ranks) if name == "increasing" else Within(-anything, own, ranks)

    def _range(self, one: Feature, pair: tuple[Any, Any]) -> Within:
        self._check_numeric(one, "ranges", "allowed")
        ends = [self._bound(one, bound, otherwise) for bound, otherwise in zip(pair, (-np.inf, np.inf), strict=True)]
        if _is_float32(self._trained.columns[self._at(one, "ranges")]):
            ends = [end.astype(np.float32).astype(np.float64) for end in ends]
        return Within(*ends)

    def _bound(self, one: Feature, bound: Any, otherwise: float) -> Floats:
        n_rows = len(self._rows)
        if bound is None or np.ndim(bound) == 0:
            return np.full(n_rows, otherwise if bound is None else float(bound))
        if len(bound) != n_rows:
            raise OptionError(
                f"the range of {one!r} has bounds for {len(bound)} rows, but {n_rows} are to be explained. Pass one "
                "bound for each row, or a number for all."
            )
        if isinstance(bound, pd.Series) and self._index is not None and not bound.index.equals(self._index):
            raise OptionError(
                f"the range of {one!r} has bounds whose index is not that of the rows. Put them in the order of the "
                "rows: bounds.loc[X.index]; or pass bounds.to_numpy() if they are."
            )
        bounds = np.asarray(bound, dtype=np.float64)
        if bounds.ndim != 1:
            raise OptionError(f"the range of {one!r} has bounds of shape {bounds.shape}; pass one number for each row.")
        return np.where(np.isnan(bounds), otherwise, bounds)

    def _check_numeric(self, one: Feature, option: str, instead: str) -> None:
        column = self._schema.columns[self._at(one, option)]
        if column.is_categorical:
            raise OptionError(f"{option} names {one!r}, which is categorical; use {instead} for its values.")


def _ranks(order: tuple[Any, ...], column: Column) -> Floats:
    """The rank of each code; the last one, of a missing value, and those of values without a rank are NaN."""
    ranks = np.full(len(column.levels) + 1, np.nan)
    for rank, value in enumerate(order):
        code = _code_of(value, column)
        if code is not None:  # an order may name values that no row has
            ranks[code] = rank
    return ranks


def _is_float32(column: Column) -> bool:
    return str(column.prototype.dtype).lower() in ("float32", "float16")


def _code_of(value: Any, column: Column) -> int | None:
    """The code of a category; a sheet or a file may have text where the table has numbers or booleans."""
    if value in column.code_of:
        return column.code_of[value]
    alike = [
        level
        for level in column.levels
        if not isinstance(level, str) and str(plain(level)).lower() == str(value).lower()
    ]
    return column.code_of[alike[0]] if len(alike) == 1 else None


def _encoded(value: Any, column: Column, option: str) -> float:
    """A value as the float that stands for it; OptionError for a category that is not known."""
    if value is None:
        return MISSING_CATEGORY if column.is_categorical else float("nan")
    if not column.is_categorical:
        try:
            return float(np.float32(value)) if _is_float32(column) else float(value)
        except (TypeError, ValueError):
            raise OptionError(f"{option} has {value!r} for {column.name!r}, which is numeric.") from None
    code = _code_of(value, column)
    if code is not None:
        return float(code)
    close = get_close_matches(str(value), [str(level) for level in column.levels], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise OptionError(
        f"{option} has {value!r} for {column.name!r}, a value that no training row has: no counterfactual could have "
        f"it. Its values are {listed(column.levels)}.{hint}"
    )
