"""The parts that expressions are made of: numbers, columns, sums, products, functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn, Protocol, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.support.types import Floats

FUNCTIONS = ("round", "min", "max")
KEYWORDS = ("implies", *FUNCTIONS)

# A number times a column; a number alone if there is no column.
Term: TypeAlias = tuple[str | None, float]


class Node(Protocol):
    """A part of an expression; ``str`` writes it as the language does."""

    def names(self) -> Iterator[str]:
        """The columns in it, each as often as it appears."""

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        """What it is for the given columns."""

    def terms(self) -> tuple[Term, ...]:
        """The terms that it is a sum of, not merged; OptionError if it is not linear."""


@dataclass(frozen=True)
class Number:
    """A number, at least zero: a sign before it is a :class:`Negated`."""

    number: float

    def names(self) -> Iterator[str]:
        return iter(())

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        return np.asarray(self.number)

    def terms(self) -> tuple[Term, ...]:
        return ((None, self.number),)

    def __str__(self) -> str:
        return repr(self.number).removesuffix(".0")


@dataclass(frozen=True)
class ColumnName:
    """The value of a column."""

    name: str

    def names(self) -> Iterator[str]:
        yield self.name

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        return columns[self.name]

    def terms(self) -> tuple[Term, ...]:
        return ((self.name, 1.0),)

    def __str__(self) -> str:
        return written_name(self.name)


@dataclass(frozen=True)
class Negated:
    """The same with the other sign."""

    operand: Node

    def names(self) -> Iterator[str]:
        return self.operand.names()

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        return np.negative(self.operand.value(columns))

    def terms(self) -> tuple[Term, ...]:
        return tuple((name, -number) for name, number in self.operand.terms())

    def __str__(self) -> str:
        return f"-{_bracketed(self.operand, Sum, Product)}"


# Chains are one node, not a tree of pairs: a sum of a thousand columns is not deep.


@dataclass(frozen=True)
class Sum:
    """Two or more parts, added or subtracted from left to right. The first is always added."""

    parts: tuple[tuple[str, Node], ...]

    def names(self) -> Iterator[str]:
        return (name for _, part in self.parts for name in part.names())

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        (_, first), *others = self.parts
        total = first.value(columns)
        for sign, part in others:
            total = total + part.value(columns) if sign == "+" else total - part.value(columns)
        return total

    def terms(self) -> tuple[Term, ...]:
        return tuple(
            (name, number if sign == "+" else -number) for sign, part in self.parts for name, number in part.terms()
        )

    def __str__(self) -> str:
        (_, first), *others = self.parts
        return _bracketed(first, Sum) + "".join(f" {sign} {_bracketed(part, Sum)}" for sign, part in others)


@dataclass(frozen=True)
class Product:
    """Two or more factors, multiplied or divided by from left to right. The first is always multiplied."""

    factors: tuple[tuple[str, Node], ...]

    def names(self) -> Iterator[str]:
        return (name for _, factor in self.factors for name in factor.names())

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        (_, first), *others = self.factors
        product = first.value(columns)
        for sign, factor in others:
            other = factor.value(columns)
            product = product * other if sign == "*" else product / np.where(other == 0, np.nan, other)
        return product

    def terms(self) -> tuple[Term, ...]:
        scale, of_columns = 1.0, None
        for sign, factor in self.factors:
            if any(True for _ in factor.names()):
                if sign == "/":
                    _refuse_nonlinear(f"'{self}' divides by a column")
                if of_columns is not None:
                    _refuse_nonlinear(f"'{self}' multiplies columns with each other")
                of_columns = factor.terms()
                continue
            number = sum(number for _, number in factor.terms())
            if sign == "/" and number == 0:
                raise OptionError(f"'{self}' divides by zero. Divide by another number, or leave the division out.")
            scale = scale * number if sign == "*" else scale / number
        return tuple((name, scale * number) for name, number in of_columns or ((None, 1.0),))

    def __str__(self) -> str:
        (_, first), *others = self.factors
        written = "".join(f" {sign} {_bracketed(factor, Sum, Product)}" for sign, factor in others)
        return _bracketed(first, Sum, Product) + written


@dataclass(frozen=True)
class Rounded:
    """Rounded to so many decimals; to tens or hundreds if there are fewer than none."""

    operand: Node
    digits: int

    def names(self) -> Iterator[str]:
        return self.operand.names()

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        exact = self.operand.value(columns)
        rounded = np.round(exact, self.digits)
        return np.where(np.isfinite(rounded), rounded, exact)  # a number that large has no decimals to lose

    def terms(self) -> tuple[Term, ...]:
        return _constant(self)

    def __str__(self) -> str:
        return f"round({self.operand}, {self.digits})" if self.digits else f"round({self.operand})"


@dataclass(frozen=True)
class Extreme:
    """The smallest or largest of two or more; missing if one of them is."""

    function: Literal["min", "max"]
    operands: tuple[Node, ...]

    def names(self) -> Iterator[str]:
        return (name for operand in self.operands for name in operand.names())

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        first, *others = (operand.value(columns) for operand in self.operands)
        for other in others:
            first = np.minimum(first, other) if self.function == "min" else np.maximum(first, other)
        return first

    def terms(self) -> tuple[Term, ...]:
        return _constant(self)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.operands))})"


def _constant(call: Rounded | Extreme) -> tuple[Term, ...]:
    """A function of numbers alone is a number."""
    if any(True for _ in call.names()):
        _refuse_nonlinear(f"'{call}' is a function of columns")
    with np.errstate(all="ignore"):
        return ((None, float(call.value({}))),)


def _refuse_nonlinear(what: str) -> NoReturn:
    raise OptionError(
        f"{what}; a relation compares sums of columns, each of them times a number. "
        "If the table has a column for this value, declare that column as derived, and compare the column."
    )


def _bracketed(node: Node, *looser: type) -> str:
    return f"({node})" if isinstance(node, looser) else str(node)


def written_name(name: str) -> str:
    """A column as it is named in the language."""
    return name if name.isidentifier() and name not in KEYWORDS else "`" + name.replace("`", "``") + "`"
