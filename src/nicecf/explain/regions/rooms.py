"""How far each changed feature may move by itself: by the rules of its row, and without becoming what the row has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nicecf.rules.parts import Part
from nicecf.rules.row_rules import Rules
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.cells import nearest_held
from nicecf.tables.reduced import ReducedSchema
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import TableStatistics

# As large as a number can be that a table may hold.
_FAR = 1e149
# How many steps of a column's last decimal are looked at.
_MOST_STEPS = 2.0**52


@dataclass(frozen=True)
class Scale:
    """The numbers that a column is written with: multiples of a decimal or, of dates, of ``unit``."""

    decimals: int
    dtype: np.dtype[Any]
    unit: float = 0.0

    @property
    def step(self) -> float:
        """From one of them to the next."""
        return self.unit or 10.0**-self.decimals

    def up(self, value: float) -> float:
        """The lowest of them that is not below a value."""
        return self._beside(value, 1)

    def down(self, value: float) -> float:
        """The highest of them that is not above a value."""
        return self._beside(value, -1)

    def moved(self, value: float, steps: Floats) -> Floats:
        """The numbers so many steps away from a value."""
        moved = value + steps * self.step
        return nearest_held(moved if self.unit else np.round(moved, self.decimals), self.dtype)

    def _beside(self, value: float, way: int) -> float:
        if not np.isfinite(value):
            return value
        nearest = np.rint(value / self.step)
        for more in (-1, 0, 1, 2):
            number = float(self.moved(0.0, np.array([nearest + way * more]))[0])
            if (number - value) * way >= 0:
                return number
        return value


@dataclass(frozen=True, eq=False)
class Room:
    """What a changed feature may be, by itself; ``unit``: its column among those that move.

    Numbers: from ``low`` to ``high``, infinite if nothing limits them. Categories: ``codes``, the new one first.
    ``is_free``: it may be another value than the new one at all.
    """

    position: int
    before: float
    after: float
    scale: Scale
    low: float
    high: float
    codes: Floats | None = None

    @property
    def is_free(self) -> bool:
        """Whether it may be another value than the new one."""
        return self.low < self.high if self.codes is None else len(self.codes) > 1


@dataclass(frozen=True, eq=False)
class Rooms:
    """Finds the room of each changed feature. ``levels``: of each column that moves the values of training rows."""

    schema: Schema
    parts: tuple[Part, ...]
    statistics: TableStatistics
    levels: Any
    is_guarded: bool

    def of(self, line: int, position: int, before: float, after: float) -> Room:
        """The room of one feature of a row of the call; a single value where anything else might break a rule."""
        scale = self._scale(position)
        column = self.schema.full.columns[position]
        single = Room(
            position, before, after, scale, after, after, np.array([after]) if column.is_categorical else None
        )
        is_missing = any(np.isnan(one) or (column.is_categorical and one < 0) for one in (before, after))
        unit = self.schema.moving(position)
        if is_missing or self.is_guarded or self._moves_others(position):
            return single
        rules, own = self._rules(line)
        if rules is not None and self._is_bound(rules, unit):
            return single
        if column.is_categorical:
            codes = np.array([code for code in self.levels(unit).tolist() if code not in (before, after)])
            may = self._may(rules, own, unit, codes)
            return Room(position, before, after, scale, after, after, np.concatenate([[after], codes[may]]))
        if rules is not None and not all(condition.is_interval for condition in rules.conditions[unit]):
            return single
        low, high = (self._limit(rules, own, unit, after, scale, way) for way in (-1, 1))
        if before < after:
            low = max(low, np.nextafter(before, np.inf))
        else:
            high = min(high, np.nextafter(before, -np.inf))
        return Room(position, before, after, scale, low, high)

    def _scale(self, position: int) -> Scale:
        column = self.schema.full.columns[position]
        if column.is_categorical:
            return Scale(0, np.dtype(np.float64))
        if column.temporal is not None:
            return Scale(0, np.dtype(np.float64), float(column.temporal.unit))
        dtype = self.schema.container.number_dtype(column.prototype)
        return Scale(self.statistics.columns[position].decimals, dtype)

    def _moves_others(self, position: int) -> bool:
        """Whether something else is computed from a column, or it is one of several that are one change."""
        if not isinstance(self.schema, ReducedSchema):
            return False
        if any(position in one.inputs for one in self.schema.computed) or self.schema.is_computed[position]:
            return True
        return any(position in one.members for one in self.schema.combinations)

    def _rules(self, line: int) -> tuple[Rules | None, int]:
        for part in self.parts:
            if line in part.lines:
                return part.rules, int(np.searchsorted(part.lines, line))
        return None, -1

    def _is_bound(self, rules: Rules, unit: int) -> bool:
        """Whether a rule looks at a feature together with others."""
        of_whole = rules.of_whole_rows
        return any(unit in group for group in rules.groups) or (
            of_whole is not None and bool(of_whole.tells_apart()[unit])
        )

    def _may(self, rules: Rules | None, own: int, unit: int, values: Floats) -> Bools:
        if rules is None:
            return np.ones(len(values), dtype=bool)
        lines: Ints = np.full(len(values), own, dtype=np.intp)
        return rules.may_change(unit, lines, values)

    def _limit(self, rules: Rules | None, own: int, unit: int, after: float, scale: Scale, way: int) -> float:
        """The last value of a feature that the rules allow, to one side; infinite if they allow all."""
        if self._may(rules, own, unit, np.array([way * _FAR]))[0]:
            return way * np.inf
        steps = np.exp2(np.arange(53.0))
        is_allowed = self._may(rules, own, unit, scale.moved(after, way * steps))
        least, most = 0.0, _MOST_STEPS
        if is_allowed.any():
            least = float(steps[is_allowed].max())
        if not is_allowed.all():
            most = float(steps[~is_allowed].min())
        while most - least > 1:  # ends: the distance is halved
            middle = np.floor((least + most) / 2)
            if self._may(rules, own, unit, scale.moved(after, np.array([way * middle])))[0]:
                least = middle
            else:
                most = middle
        return after if least == 0 else float(scale.moved(after, np.array([way * least]))[0])
