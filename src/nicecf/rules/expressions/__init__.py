"""The language of rules over several columns: expressions (``debt * 12 / income``) and relations (``a + b <= c``).

An expression is made of numbers, columns, ``+ - * /``, brackets, and ``round(x)``, ``round(x, digits)``,
``min(a, b, ...)``, ``max(a, b, ...)``. A relation is made of linear expressions (sums of numbers times columns)::

    months_since_late <= months_as_customer             a comparison: <=, >=, <, >, == or !=
    housing == "rent" implies rent > 0                  an implication; text is compared by == and != only
    has_guarantor implies `hours-per-week` >= 10        a column alone: it is true, or not zero
    closed - opened <= "30 days"                        a duration; and a date as ISO writes it: "2024-03-01"

A column is named as it is if its name is made of letters, digits and _, and does not begin with a digit; any other name
stands in backquotes. So do columns with the name of a word of the language: implies, round, min, max. Inside quotes or
backquotes, a doubled one stands for itself.

Nothing of the text is ever run as Python, and its length and depth are limited: rules may come from a stranger's file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nicecf.exceptions import OptionError, did_you_mean, listed
from nicecf.rules.expressions.nodes import Node, Rounded, written_name
from nicecf.rules.expressions.parser import parse_expression, parse_relation
from nicecf.rules.expressions.predicates import ROUNDING, ColumnValues, Predicate, numbers_of
from nicecf.support.types import Bools, Floats

__all__ = ["Expression", "Relation", "check_columns"]


@dataclass(frozen=True, repr=False)
class Expression:
    """How a column follows from others. ``str`` gives a text that parses to the same.

    >>> ratio = Expression.parse("round(monthly_debt * 12 / income, 2)")
    >>> ratio.columns
    ('monthly_debt', 'income')
    >>> ratio.evaluated({"monthly_debt": np.array([250.0, 100.0]), "income": np.array([36000.0, 0.0])})
    array([0.08,  nan])
    """

    root: Node

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Read an expression; OptionError if it is not one, or names no column."""
        return cls(parse_expression(text))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.root.names()))

    @property
    def digits(self) -> int | None:
        """How many decimals its values are rounded to; None if rounding is not the last that is done."""
        return self.root.digits if isinstance(self.root, Rounded) else None

    def evaluated(self, columns: ColumnValues) -> Floats:
        """Its values, computed in float64.

        NaN where a value that it needs is missing, and where it divides by zero; inf where a float cannot hold it.
        ``round`` is numpy's: halves go to the even neighbor, of the number as a float holds it (1.005 is held as a
        little less). So compare what was rounded within half a unit of the last digit, not by ``==``.
        """
        numbers = {name: numbers_of(name, columns[name]) for name in self.columns}
        with np.errstate(all="ignore"):  # division by zero and overflow are told by the values
            return np.array(self.root.value(numbers))  # a copy, even of a column alone

    def __str__(self) -> str:
        return str(self.root)

    def __repr__(self) -> str:
        return f"Expression.parse({str(self)!r})"


@dataclass(frozen=True, repr=False)
class Relation:
    """What must hold between columns: a comparison, or that one condition (the antecedent) implies another.

    >>> rule = Relation.parse("a >= 1 implies b == 0")
    >>> rule.columns
    ('a', 'b')
    >>> rule.holds({"a": np.array([0.0, 1.0, 1.0, np.nan]), "b": np.array([5.0, 5.0, 0.0, 5.0])})
    array([ True, False,  True,  True])
    """

    antecedent: Predicate | None
    consequent: Predicate

    @classmethod
    def parse(cls, text: str) -> Relation:
        """Read a relation; OptionError if it is not one, is not linear, or compares nothing but numbers."""
        return cls(*parse_relation(text))

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """Its conditions: one comparison, or both sides of an implication."""
        return (self.consequent,) if self.antecedent is None else (self.antecedent, self.consequent)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in the order in which they first appear."""
        return tuple(dict.fromkeys(name for one in self.predicates for name in one.names()))

    def holds(self, columns: ColumnValues, *, rounding: float = ROUNDING) -> Bools:
        """Where it holds. Categorical columns are object arrays of their labels.

        A relation fails only where it is known to: where a missing value leaves it open, it holds. Sides that differ
        by no more than ``rounding``, as a share of the largest term, are equal: ``0.1 + 0.2 <= 0.3`` holds, and
        ``0.1 + 0.2 > 0.3`` does not. Whole numbers are compared exactly.
        """
        fails = self.consequent.truth(columns, rounding).is_false
        if self.antecedent is not None:
            fails = fails & self.antecedent.truth(columns, rounding).is_true
        return np.asarray(~fails)

    def __str__(self) -> str:
        return " implies ".join(map(str, self.predicates))

    def __repr__(self) -> str:
        return f"Relation.parse({str(self)!r})"


def check_columns(names: Iterable[str], known: Iterable[object], *, option: str = "the rule") -> None:
    """OptionError for the first name that is not among the known columns; ``option`` is where it was written.

    >>> check_columns(["per"], ["age", "hours-per-week"], option="relations")
    Traceback (most recent call last):
    nicecf.exceptions.OptionError: relations names 'per', which is not a column. A name with other characters than \
letters, digits and _ is written in backquotes: `hours-per-week`.
    """
    choices = list(known)
    for name in names:
        if name in choices:
            continue
        quoted = [written_name(one) for one in choices if isinstance(one, str) and written_name(one) != one]
        pieces = [one for one in quoted if name in re.split(r"\W+", one)]
        if pieces:
            advice = f" A name with other characters than letters, digits and _ is written in backquotes: {pieces[0]}."
        else:
            advice = did_you_mean(name, choices) or (
                f" The columns are {listed(choices)}. A text that a column is compared with is written in quotes."
            )
        raise OptionError(f"{option} names {name!r}, which is not a column.{advice}")
