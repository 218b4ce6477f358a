"""Dates and durations in expressions and relations: in quotes, and what may be computed of columns of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.rules.expressions.nodes import (
    ColumnName,
    Extreme,
    Negated,
    Node,
    Number,
    Product,
    Rounded,
    Sum,
    Term,
)
from nicecf.rules.expressions.predicates import Comparison, IsTrue, Predicate, TextComparison
from nicecf.rules.moments import moment_of
from nicecf.support.types import Floats
from nicecf.tables.temporal import Temporal

if TYPE_CHECKING:
    from nicecf.rules.expressions import Relation

# What a part of an expression is: a number, how long something lasts, or a point in time.
Sort: TypeAlias = Literal["number", "duration", "date"]
# The columns of an expression that hold dates or durations.
Temporals: TypeAlias = Mapping[str, Temporal]


@dataclass(frozen=True)
class Moment:
    """A date or a duration in quotes: as a number, in the time zone of the columns that it stands beside."""

    text: str
    number: float = field(compare=False)
    sort: Sort = field(compare=False)

    @classmethod
    def read(cls, text: str) -> Moment | None:
        """What a text in quotes says, without a time zone; None if it is neither a date nor a duration."""
        moment = moment_of(text)
        if moment is None:
            return None
        if isinstance(moment, dt.timedelta):
            return cls(text, Temporal.duration(moment), "duration")
        zone = dt.UTC if moment.tzinfo is not None else None
        return cls(text, Temporal("datetime", tz=zone).number(moment), "date")

    def names(self) -> Iterator[str]:
        return iter(())

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        return np.asarray(self.number)

    def terms(self) -> tuple[Term, ...]:
        return ((None, self.number),)

    def __str__(self) -> str:
        return '"' + self.text.replace('"', '""') + '"'


@lru_cache(maxsize=256)
def relation_of(relation: Relation, columns: tuple[tuple[str, Temporal], ...]) -> Relation:
    """A relation of columns of which some hold dates; OptionError where it compares what cannot be compared."""
    of = dict(columns)
    first = None if relation.antecedent is None else _predicate(relation.antecedent, of)
    return replace(relation, antecedent=first, consequent=_predicate(relation.consequent, of))


def expression_of(root: Node, columns: Temporals, sort: Sort) -> Node:
    """An expression whose result must be of this sort; OptionError where it is not, or makes no sense."""
    found = _sort(root, columns)
    if found != sort:
        raise OptionError(f"'{root}' gives {_A[found]}, but its column holds {_PLURAL[sort]}.{_ADVICE.get(found, '')}")
    return _in_zone(root, columns)


def sort_of(temporal: Temporal | None) -> Sort:
    """What the values of a column are in an expression."""
    return "number" if temporal is None else "duration" if temporal.kind == "duration" else "date"


_A = {"number": "a number", "duration": "a duration", "date": "a date"}
_PLURAL = {"number": "numbers", "duration": "durations", "date": "dates"}
_ADVICE = {"duration": ' Divide it by a duration to get a number: (...) / "1 day".'}


def _predicate(one: Predicate, columns: Temporals) -> Predicate:
    if isinstance(one, IsTrue):
        if one.column in columns:
            raise OptionError(
                f"'{one}' is a column of dates or durations, which is neither true nor false. Compare it."
            )
        return one
    if isinstance(one, TextComparison):
        if one.column not in columns:
            return one
        moment = Moment.read(one.text)
        if moment is None:
            _refuse(f"'{one}' compares a column of dates or durations with a text")
        one = Comparison(ColumnName(one.column), one.sign, moment)
    left, right = _sort(one.left, columns), _sort(one.right, columns)
    is_zero = any(isinstance(side, Number) and side.number == 0 for side in (one.left, one.right))
    if left != right and not (is_zero and "duration" in (left, right)):
        _refuse(f"'{one}' compares {_A[left]} with {_A[right]}")
    both = Sum((("+", one.left), ("-", one.right)))
    return replace(one, left=_in_zone(one.left, columns, both), right=_in_zone(one.right, columns, both))


def _sort(node: Node, columns: Temporals) -> Sort:
    """What a part of an expression is; OptionError where it makes no sense, such as a date plus a date."""
    match node:
        case ColumnName(name):
            return sort_of(columns.get(name))
        case Moment(sort=sort):
            return sort
        case Negated(operand):
            return _not_a_date(_sort(operand, columns), node)
        case Sum(parts):
            return _sort_of_sum(node, [(sign, _sort(part, columns)) for sign, part in parts])
        case Product(factors):
            return _sort_of_product(node, [(sign, _sort(factor, columns)) for sign, factor in factors])
        case Rounded(operand):
            if _sort(operand, columns) != "number":
                _refuse(f"'{node}' rounds a date or a duration")
            return "number"
        case Extreme(_, operands):
            sorts = {_sort(operand, columns) for operand in operands}
            if len(sorts) > 1:
                _refuse(f"'{node}' is of {' and '.join(sorted(_PLURAL[one] for one in sorts))}")
            return sorts.pop()
        case _:
            return "number"


def _not_a_date(sort: Sort, node: Node) -> Sort:
    if sort == "date":
        _refuse(f"'{node}' computes with a date as if it were a number")
    return sort


def _sort_of_sum(node: Node, parts: list[tuple[str, Sort]]) -> Sort:
    sorts = {sort for _, sort in parts}
    if "number" in sorts and len(sorts) > 1:
        _refuse(f"'{node}' adds a number and a date or a duration")
    if "number" in sorts:
        return "number"
    n_dates = sum((1 if sign == "+" else -1) for sign, sort in parts if sort == "date")
    if n_dates not in (0, 1):
        _refuse(f"'{node}' adds dates to each other")
    return "date" if n_dates else "duration"


def _sort_of_product(node: Node, factors: list[tuple[str, Sort]]) -> Sort:
    power = 0
    for sign, sort in factors:
        if _not_a_date(sort, node) == "duration":
            power += 1 if sign == "*" else -1
    if power not in (0, 1):
        _refuse(f"'{node}' multiplies durations, or divides by one")
    return "duration" if power else "number"


def _refuse(what: str) -> NoReturn:
    raise OptionError(
        f'{what}. Compare dates with dates, or with one in quotes ("2024-03-01"); the difference of two dates is a '
        'duration, such as "30 days", which may be added to a date.'
    )


def _in_zone(node: Node, columns: Temporals, whole: Node | None = None) -> Node:
    """The same with dates in quotes in the time zone of the dates of the ``whole``; OptionError if some have none."""
    names = dict.fromkeys((node if whole is None else whole).names())
    dates = {name: columns[name] for name in names if name in columns and columns[name].kind != "duration"}
    zones = {one.zone for one in dates.values()}
    if len(zones) > 1 and None in zones:
        listed = ", ".join(f"'{name}' ({one.zone or 'none'})" for name, one in dates.items())
        raise OptionError(f"'{node}' is about dates with and without a time zone: {listed}. Give all columns one.")
    temporal = next(iter(dates.values()), None)
    if temporal is None:
        return node
    return _read_in(node, replace(temporal, kind="datetime"), len(zones) > 1)


def _read_in(node: Node, temporal: Temporal, is_open: bool) -> Node:
    match node:
        case Moment(text=text, sort="date"):
            moment = moment_of(text)
            if is_open and isinstance(moment, dt.datetime) and moment.tzinfo is None:
                raise OptionError(
                    f'{node} is compared with dates in several time zones; write its own: "{text}+00:00".'
                )
            try:
                return replace(node, number=temporal.number(text))
            except ValueError as error:
                raise OptionError(f"{node} does not fit the dates that it stands beside: {error}.") from None
        case Negated(operand):
            return Negated(_read_in(operand, temporal, is_open))
        case Sum(parts):
            return Sum(tuple((sign, _read_in(part, temporal, is_open)) for sign, part in parts))
        case Product(factors):
            return Product(tuple((sign, _read_in(factor, temporal, is_open)) for sign, factor in factors))
        case Rounded(operand, digits):
            return Rounded(_read_in(operand, temporal, is_open), digits)
        case Extreme(function, operands):
            return Extreme(function, tuple(_read_in(operand, temporal, is_open) for operand in operands))
        case _:
            return node
