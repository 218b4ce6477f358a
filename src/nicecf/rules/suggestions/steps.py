"""Steps: numbers that are all multiples of one, such as amounts in fifties; whole numbers in a column of floats."""

from __future__ import annotations

import numpy as np

from nicecf.rules.suggestions.suggestion import Suggestion, key, suggest
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts

_FEWEST_ROWS = 50
_FEWEST_VALUES = 10
# A step of 0.005 is how a measurement was read off.
_MOST_DECIMALS = 2
# Beyond this, float64 does not hold every whole number.
_LARGEST = 2.0**53
# The digits of steps that people use: 5, 20, 0.25, 500, and months or minutes.
_USUAL = (1, 2, 5, 25, 12, 15, 3, 6)


def steps(facts: TableFacts) -> list[Suggestion]:
    """Columns of numbers that are all multiples of a step: certain if the step is one that people use.

    A step of 1 is for columns of floats, as columns of integers stay whole by themselves. Steps of 0.1, 0.01 and so on
    only say with how many decimals a column is written, and are left out, and so are numbers that are rounded the more
    the larger they are. A column needs ten values in 50 rows.
    """
    found = []
    for column in facts.columns:
        step = _step(column)
        if step is None:
            continue
        digits = step
        while digits % 10 == 0:
            digits /= 10
        while digits != np.rint(digits):
            digits = np.round(digits * 10, 6)
        what = "whole numbers" if step == 1 else f"multiples of {step:.12g}"
        seen = f"all {len(column.present):,} values are {what}"
        toml = f"{key(column.name)} = {step:.12g}"
        found.append(suggest("step", "step", (column.name,), toml, is_certain=int(digits) in _USUAL, seen=seen))
    return found


def _step(column: ColumnFacts) -> float | None:
    if (
        not column.is_number
        or column.temporal is not None
        or column.n_distinct < _FEWEST_VALUES
        or len(column.present) < _FEWEST_ROWS
    ):
        return None
    if (
        column.decimals is None
        or column.decimals > _MOST_DECIMALS
        or float(np.abs(column.present).max()) * 10**column.decimals > _LARGEST
    ):
        return None
    unit = 10**column.decimals
    whole = np.rint(np.abs(column.present) * unit).astype(np.int64)
    divisor = int(np.gcd.reduce(whole))
    # The values may lie on a coarser grid that does not begin at zero, such as degrees Fahrenheit that were whole
    # degrees Celsius (32 + 1.8 k): what divides them all is nobody's step.
    if divisor > 1 and np.gcd.reduce(np.abs(np.diff(np.rint(column.present * unit).astype(np.int64)))) != divisor:
        return None
    # Numbers that are written with some digits, whatever their size, have larger steps where they are larger.
    if (whole[whole >= np.median(whole)] % (10 * divisor) == 0).all():
        return None
    if divisor > 1:
        return float(divisor / unit)
    return 1.0 if column.decimals == 0 and column.holds_fractions else None
