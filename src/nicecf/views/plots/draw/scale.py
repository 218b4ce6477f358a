"""Numbers -> inches, and where an axis has its ticks."""

from __future__ import annotations

import math
from typing import NamedTuple

from nicecf.views.plots.formatting import number


class Scale(NamedTuple):
    """From ``low`` to ``high`` on a sheet: where these two are drawn."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value is drawn; in the middle if there is but one."""
        if self.high == self.low:
            return (self.start + self.end) / 2
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


class Tick(NamedTuple):
    """A place on an axis and what is written there."""

    value: float
    text: str


def ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[Tick]:
    """At most ``most`` round numbers between two limits; where there is no room between them, the number itself.

    >>> [tick.text for tick in ticks(0.0, 1.0)], [tick.text for tick in ticks(17.0, 83.0, 4)]
    (['0.0', '0.2', '0.4', '0.6', '0.8', '1.0'], ['20', '40', '60', '80'])
    >>> [tick.text for tick in ticks(3.0, 3.0)], [tick.text for tick in ticks(1.0, 3.0, whole=True)]
    (['3'], ['1', '2', '3'])
    """
    if not high > low:
        return [Tick(low, f"{low:.6g}")]
    power = math.floor(math.log10((high - low) / max(most, 1)))
    steps = [factor * 10.0**exponent for exponent in (power, power + 1, power + 2) for factor in (1.0, 2.0, 2.5, 5.0)]
    for step in steps:
        if whole and step != round(step):
            continue
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [_tick(i * step, step) for i in range(first, last + 1)]
    return []


def _tick(value: float, step: float) -> Tick:
    if abs(value) >= 1e6 or step < 1e-6:
        return Tick(value, f"{value:.6g}")
    decimals = next(d for d in range(8) if abs(round(step, d) - step) < 1e-9 * step)
    return Tick(value, number(value, decimals))
