"""The conditions that relations are made of, and where they are true: comparisons of columns, numbers and text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from nicecf.exceptions import OptionError, plain
from nicecf.rules.expressions.nodes import Node, Term, written_name
from nicecf.support.types import Bools, Floats, is_number

COMPARISONS = ("<=", ">=", "<", ">", "==", "!=")
# How far two sides may be apart and still be equal, as a share of the largest term: decimal fractions are not exact.
ROUNDING = 1e-9
# Up to here floats hold every whole number.
_MOST_EXACT = 2.0**53

# The values of columns by their names: floats, or objects for the labels of a categorical column.
ColumnValues: TypeAlias = Mapping[str, npt.NDArray[Any]]


class Truth(NamedTuple):
    """Where a condition is known to be true, and where to be false: neither of them where a value is missing."""

    is_true: Bools
    is_false: Bools


@dataclass(frozen=True)
class Comparison:
    """Two linear expressions and what is between them."""

    left: Node
    sign: str
    right: Node

    def names(self) -> Iterator[str]:
        yield from self.left.names()
        yield from self.right.names()

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The left side less the right one, as terms that are not merged: their sizes tell how exact the sum is."""
        return (*self.left.terms(), *((name, -number) for name, number in self.right.terms()))

    @cached_property
    def coefficients(self) -> dict[str, float]:
        """The same comparison with all columns on the left: what each is multiplied by. Without those that cancel."""
        names = dict.fromkeys(self.names())
        merged = {name: _total([number for one, number in self.terms if one == name]) for name in names}
        return {name: number for name, number in merged.items() if number != 0}

    @cached_property
    def bound(self) -> float:
        """The number that is left on the right: ``sum of coefficients times columns <= bound``."""
        return -_total([number for name, number in self.terms if name is None]) + 0.0  # not -0.0

    def truth(self, columns: ColumnValues, rounding: float) -> Truth:
        numbers = {name: numbers_of(name, columns[name]) for name in dict.fromkeys(self.names())}
        with np.errstate(all="ignore"):
            difference, largest, is_whole = np.asarray(0.0), np.asarray(0.0), np.asarray(True)
            for name, number in self.terms:
                term = np.asarray(number if name is None else number * numbers[name])
                difference = difference + term
                largest = np.maximum(largest, np.abs(term))
                is_whole = is_whole & (term == np.rint(term))
            is_exact = (is_whole & (largest <= _MOST_EXACT)) | np.isinf(largest)
            slack = np.where(is_exact, 0.0, rounding * largest)
            is_below, is_above = difference < -slack, difference > slack
        is_known = ~np.isnan(difference)
        is_equal = ~is_below & ~is_above
        is_true = {
            "<=": ~is_above,
            ">=": ~is_below,
            "<": is_below,
            ">": is_above,
            "==": is_equal,
            "!=": ~is_equal,
        }[self.sign]
        return Truth(is_true & is_known, ~is_true & is_known)

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


@dataclass(frozen=True)
class TextComparison:
    """Whether a categorical column has a label, or has another one.

    Labels that are not text are compared as they are written, in lower or upper case: True is ``"true"``.
    """

    column: str
    sign: Literal["==", "!="]
    text: str

    def names(self) -> Iterator[str]:
        yield self.column

    def truth(self, columns: ColumnValues, rounding: float) -> Truth:
        labels = np.asarray(columns[self.column])
        if labels.dtype.kind in "iuf":
            raise OptionError(
                f"'{self}' compares {self.column!r}, a column of numbers, with a text. Write the number without quotes."
            )
        is_known = ~np.asarray(pd.isna(labels))
        is_equal = np.array([self._is_label(label) for label in labels.ravel()], dtype=bool).reshape(labels.shape)
        is_true = is_equal if self.sign == "==" else ~is_equal
        return Truth(is_true & is_known, ~is_true & is_known)

    def _is_label(self, label: object) -> bool:
        return label == self.text if isinstance(label, str) else str(plain(label)).lower() == self.text.lower()

    def __str__(self) -> str:
        return f'{written_name(self.column)} {self.sign} "' + self.text.replace('"', '""') + '"'


@dataclass(frozen=True)
class IsTrue:
    """A column alone, on one side of an implication: it is true, or a number that is not zero."""

    column: str

    def names(self) -> Iterator[str]:
        yield self.column

    def truth(self, columns: ColumnValues, rounding: float) -> Truth:
        numbers = numbers_of(self.column, columns[self.column])
        return Truth((numbers != 0) & ~np.isnan(numbers), numbers == 0)

    def __str__(self) -> str:
        return written_name(self.column)


Predicate: TypeAlias = Comparison | TextComparison | IsTrue


def numbers_of(name: str, values: npt.NDArray[Any]) -> Floats:
    """A column as floats, booleans as 0 and 1, NaN if missing; OptionError for text, even if it reads as a number."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    is_missing = np.asarray(pd.isna(values)).ravel()
    cells: list[Any] = [
        None if missing else plain(cell) for cell, missing in zip(values.ravel(), is_missing, strict=True)
    ]
    for cell in cells:
        if not (cell is None or isinstance(cell, bool) or is_number(cell)):
            raise OptionError(
                f"{name!r} is used as a number, or as true or false, but has the value {cell!r}. "
                f'Compare it with a text, such as {written_name(name)} == "{cell}", or use a column of numbers.'
            )
    return np.array([math.nan if cell is None else float(cell) for cell in cells]).reshape(values.shape)


def _total(numbers: list[float]) -> float:
    """Their sum; zero if only rounding is left of it, as of 0.1 + 0.2 - 0.3."""
    total = sum(numbers)
    return 0.0 if abs(total) <= 1e-12 * max(map(abs, numbers), default=0.0) else total
