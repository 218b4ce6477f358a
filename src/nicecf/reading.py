"""Constraints and a table -> the rules for its rows; OptionError where they do not fit each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from nicecf._typing import Bools, Floats, Ints
from nicecf.constraints import Constraints, merged_groups
from nicecf.exceptions import OptionError, did_you_mean, listed, plain
from nicecf.given import Feature
from nicecf.rules import Among, Condition, InSteps, NotFromTo, Rules, Within
from nicecf.schema import MISSING_CATEGORY, Column, Schema
from nicecf.tables.cells import nearest_held

# How far a change may be from a whole number of steps, as a share of the values: decimal fractions are not exact.
_ROUNDING = 1e-9
_FLOAT64 = np.dtype(np.float64)
# The code of a value that no cell has.
_NOTHING = -2.0


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
        is_ruled = bool(both) or any(column.common is not None for column in trained.columns)
        rules = rules_of(both, schema, rows[lines], trained=trained, index=index[lines]) if is_ruled else None
        parts.append(Part(lines, both, rules))
    return parts


def rules_of(
    constraints: Constraints,
    schema: Schema,
    rows: Floats,
    *,
    trained: Schema,
    index: pd.Index[Any] | None = None,
    is_checked: bool = False,
) -> Rules:
    """Read constraints for some rows.

    ``trained`` is the schema of the training table: it knows which values a donor can have. ``index`` are the labels of
    the rows, which those of per-row bounds must equal. ``is_checked``: they were read before, so that a value that no
    counterfactual could have is no mistake, but one that other rows have.
    """
    return _Reader(schema, rows, trained, index, is_checked).rules(constraints)


def keep_rules(parts: list[Part], lines: Ints, values: Floats) -> Bools:
    """Whether values for rows of a call keep their rules, but for those of groups: they are about the training row."""
    kept = np.ones(len(lines), dtype=bool)
    for part in parts:
        if part.rules is not None:
            mine = np.flatnonzero(np.isin(lines, part.lines))
            own = np.searchsorted(part.lines, lines[mine])
            kept[mine] = replace(part.rules, groups=()).are_kept(own, values[mine], values[mine])
    return kept


def rules_at(parts: list[tuple[Ints, Constraints]], line: int) -> dict[str, Any]:
    """The rules of one row."""
    for lines, constraints in parts:
        own = np.flatnonzero(lines == line)
        if len(own):
            return constraints.for_row(int(own[0])).to_dict()
    return {}


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
    if not n_rows:  # one part, without rows
        return [(np.arange(0), None)]
    return [(np.array(lines[key], dtype=np.intp), first[key]) for key in first]


class _Reader:
    """Reads constraints by the columns of a table."""

    def __init__(
        self, schema: Schema, rows: Floats, trained: Schema, index: pd.Index[Any] | None, is_checked: bool
    ) -> None:
        self._schema = schema
        self._rows = rows
        self._trained = trained
        self._index = index
        self._is_checked = is_checked

    def rules(self, constraints: Constraints) -> Rules:
        n_features = len(self._schema.columns)
        is_fixed = np.zeros(n_features, dtype=bool)
        is_fixed[[self._at(one, "immutable") for one in constraints.immutable]] = True
        conditions: list[list[Condition]] = [
            [] if column.common is None else [Among(column.common)] for column in self._trained.columns
        ]
        for name in ("increasing", "decreasing"):
            for one, order in getattr(constraints, name).items():
                conditions[self._at(one, name)].append(self._one_way(one, order, name))
        for one, pair in constraints.ranges.items():
            conditions[self._at(one, "ranges")].append(self._range(one, pair))
        for one, values in constraints.allowed.items():
            j = self._at(one, "allowed")
            conditions[j].append(Among(np.array([self._new_value(value, j, "allowed") for value in values])))
        for one, pairs in constraints.forbid.items():
            j = self._at(one, "forbid")
            before = [self._own_value(value, j, "forbid") for value, _ in pairs]
            after = [self._new_value(value, j, "forbid") for _, value in pairs]
            conditions[j].append(NotFromTo(np.array(before), np.array(after), _dtype_of(self._trained, j)))
        for one, step in constraints.step.items():
            self._check_numeric(one, "step", "allowed")
            j = self._at(one, "step")
            # Each end of a change may be half a unit of its last place away from what was meant.
            rounding = _ROUNDING + float(np.finfo(_dtype_of(self._trained, j)).eps)
            conditions[j].append(InSteps(step, rounding))
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
                    f"[{listed(column.told_levels, limit=3)}, ...]}}, from low to high."
                )
            ranked = {_code_of(value, column) for value in order}
            # What too few training rows hold is not handed out, and not told: it needs no place in the order.
            left_out = [level for level in self._trained.columns[j].told_levels if column.code(level) not in ranked]
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
        dtype = _dtype_of(self._trained, self._at(one, "ranges"))
        return Within(*(_held(end, dtype) for end in ends))

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

    def _own_value(self, value: Any, j: int, option: str) -> float:
        """What a row may have. Of a guarded column nobody is told whether any training row has it."""
        code = _encoded(value, self._trained, j, option)
        if code is None and self._trained.columns[j].common is None:
            self._refuse(value, j, option)
        return _NOTHING if code is None else code

    def _new_value(self, value: Any, j: int, option: str) -> float:
        """What a row may change to: a value that counterfactuals may have."""
        code, column = _encoded(value, self._trained, j, option), self._trained.columns[j]
        common = column.common if column.is_categorical and value is not None else None
        is_kept_back = common is not None and code not in common
        if (code is None or is_kept_back) and not self._is_checked:
            self._refuse(value, j, option)
        return _NOTHING if code is None else code

    def _refuse(self, value: Any, j: int, option: str) -> NoReturn:
        column = self._trained.columns[j]
        levels = column.told_levels
        who = "no training row has" if column.common is None else "too few training rows have (min_count), or none"
        known = f"Its values are {listed(levels)}." if levels else "It has no other either."
        raise OptionError(
            f"{option} has {value!r} for {column.name!r}, a value that {who}: no counterfactual could have it. "
            f"{known}{did_you_mean(value, levels)}"
        )

    def _check_numeric(self, one: Feature, option: str, instead: str) -> None:
        column = self._schema.columns[self._at(one, option)]
        if column.is_categorical:
            raise OptionError(f"{option} names {one!r}, which is categorical; use {instead} for its values.")


def forbids(pair: tuple[Any, Any], schema: Schema, j: int, before: float, after: float) -> bool:
    """Whether a pair (before, after) of a rule means the change of column ``j`` between two encoded values."""
    codes = [_encoded(value, schema, j, "forbid") for value in pair]
    first, last = (np.array([_NOTHING if code is None else code]) for code in codes)
    rule = NotFromTo(first, last, _dtype_of(schema, j))
    return not rule.allows(np.zeros(1, dtype=np.intp), np.array([before]), np.array([after]))[0]


def _ranks(order: tuple[Any, ...], column: Column) -> Floats:
    """The rank of each code; the last one, of a missing value, and those of values without a rank are NaN."""
    ranks = np.full(len(column.levels) + 1, np.nan)
    for rank, value in enumerate(order):
        code = _code_of(value, column)
        if code is not None:  # an order may name values that no row has
            ranks[code] = rank
    return ranks


def _dtype_of(schema: Schema, j: int) -> np.dtype[Any]:
    """The dtype of floats in which the numbers of a column are held; that of all encoded values for other columns."""
    column = schema.columns[j]
    dtype = _FLOAT64 if column.is_categorical else schema.container.number_dtype(column.prototype)
    return dtype if dtype.kind == "f" and dtype.itemsize < _FLOAT64.itemsize else _FLOAT64


def _held(values: Floats, dtype: np.dtype[Any]) -> Floats:
    """Numbers of a rule as a column of this dtype holds them; those that are too large for it as they are."""
    return np.where(np.abs(values) <= np.finfo(dtype).max, nearest_held(values, dtype), values)


def _code_of(value: Any, column: Column) -> int | None:
    """The code of a category; a sheet or a file may have text where the table has numbers or booleans."""
    known = column.code(value)
    if known is not None:
        return known
    alike = [
        code
        for code, level in enumerate(column.levels)
        if level == value or (not isinstance(level, str) and str(plain(level)).lower() == str(value).lower())
    ]
    return alike[0] if len(alike) == 1 else None


def _encoded(value: Any, schema: Schema, j: int, option: str) -> float | None:
    """A value of column ``j`` as the float that stands for it; None for a category that is not known."""
    column = schema.columns[j]
    if value is None:
        return MISSING_CATEGORY if column.is_categorical else float("nan")
    if not column.is_categorical:
        try:
            return float(_held(np.array(float(value)), _dtype_of(schema, j)))
        except (TypeError, ValueError):
            raise OptionError(f"{option} has {value!r} for {column.name!r}, which is numeric.") from None
    code = _code_of(value, column)
    return None if code is None else float(code)
