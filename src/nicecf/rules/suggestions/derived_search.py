"""The search behind derived columns: which expressions of columns are equal to another column, in every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from nicecf.rules.suggestions.table_facts import ColumnFacts
from nicecf.support.types import Bools, Floats, Ints

FEWEST_ROWS = 100
_FEWEST_VALUES = 50
# Rows in which a column must not hold its most common value, and rows that break without each part of an expression.
_FEWEST_UNUSUAL = 50
_FEWEST_BROKEN = 10
_LEAST_ROUNDED = 0.05
_SCREENED_ROWS = 64
# Of these, the rows by which expressions are looked up: each costs a sort of all of them.
_MOST_FIRST_ROWS = 4
# What fewer screened rows speak of, as the others have missing cells, is not tried.
_FEWEST_SCREENED = 5
_MOST_VERIFIED = 50
_MOST_MATCHES = 10
# How many candidates are held at a time.
_MOST_CANDIDATES = 1_000_000
# A factor that people use has few digits; any long one would fit something.
_MOST_DIGITS = 3

Compute: TypeAlias = Callable[..., Floats]


@dataclass(frozen=True)
class Form:
    """A way to compute a column from ``n_parts`` others, times one of some ``scales``.

    ``scaled`` is its text with a factor other than 1, as a multiplication or a division.
    """

    text: str
    scaled: str
    compute: Compute
    n_parts: int
    is_symmetric: bool
    scales: tuple[float, ...]
    # Whether the equation may as well be solved for another column, which was not tried.
    is_open: bool = False


def _ratio(a: Floats, b: Floats) -> Floats:
    # Nothing can be equal to what is undefined; NaN would be taken for a missing value.
    return np.divide(a, b, out=np.full(np.broadcast_shapes(a.shape, b.shape), np.inf), where=b != 0)


_PERIODS = (1.0, 12.0, 1 / 12)
_UNITS = (*_PERIODS, 10.0, 100.0, 1000.0, 1200.0, 0.1, 0.01, 0.001)
_PERCENT = (1.0, 100.0)
MULTIPLE = Form("{0}", "{0}{times}{by}", lambda a: a, 1, False, ())
SUM = Form("{0} + {1}", "({0} + {1}){times}{by}", lambda a, b: a + b, 2, True, _PERIODS)
DIFFERENCE = Form("{0} - {1}", "({0} - {1}){times}{by}", lambda a, b: a - b, 2, False, _PERIODS)
PRODUCT = Form("{0} * {1}", "{0} * {1}{times}{by}", lambda a, b: a * b, 2, True, _UNITS)
RATIO = Form("{0} / {1}", "{0}{times} / {1}{by}", _ratio, 2, False, _UNITS)
SHARE = Form("{0} / ({0} + {1})", "{0}{times} / ({0} + {1})", lambda a, b: _ratio(a, a + b), 2, False, _PERCENT)
PAIRS = (SUM, DIFFERENCE, PRODUCT, RATIO, SHARE)
PRODUCT_OF_THREE = Form(
    "{0} * {1} * {2}", "{0} * {1} * {2}{times}{by}", lambda a, b, c: a * b * c, 3, True, (1.0, 0.01, 1e-4)
)
TRIPLES = (
    Form("{0} + {1} + {2}", "", lambda a, b, c: a + b + c, 3, True, (1.0,)),
    Form("{0} + {1} - {2}", "", lambda a, b, c: a + b - c, 3, False, (1.0,)),
    Form("{0} - {1} - {2}", "", lambda a, b, c: a - b - c, 3, False, (1.0,)),
    PRODUCT_OF_THREE,
    Form(
        "({0} + {1}) / {2}",
        "({0} + {1}){times} / {2}{by}",
        lambda a, b, c: _ratio(a + b, c),
        3,
        False,
        (*_PERIODS, 100.0, 1200.0),
    ),
    Form("({0} - {1}) / {2}", "({0} - {1}){times} / {2}", lambda a, b, c: _ratio(a - b, c), 3, False, _PERCENT),
    Form("{0} * {1} / {2}", "{0} * {1}{times} / {2}{by}", lambda a, b, c: _ratio(a * b, c), 3, False, _UNITS),
    Form(
        "{0} / ({0} + {1} + {2})",
        "{0}{times} / ({0} + {1} + {2})",
        lambda a, b, c: _ratio(a, a + b + c),
        3,
        False,
        _PERCENT,
    ),
)
PRODUCTS = (PRODUCT, PRODUCT_OF_THREE)


@dataclass(frozen=True)
class Match:
    """A column that is equal to an expression in every row."""

    target: int
    form: Form
    parts: tuple[int, ...]
    scale: float
    is_rounded: bool
    n_rows: int

    @property
    def together(self) -> frozenset[int]:
        """The columns that the equation ties; it may be solved for more than one of them."""
        return frozenset((self.target, *self.parts))


@dataclass(frozen=True, eq=False)
class _Questions:
    """Which of the expressions of a form, ``parts`` of columns, are equal to targets, each with some scales?"""

    form: Form
    parts: Ints
    targets: Ints
    scales: Floats


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Expressions that may be the answer to questions: the position of each, and of its question."""

    questions: Ints
    expressions: Ints

    def take(self, which: Bools) -> _Candidates:
        """Some of them."""
        return _Candidates(self.questions[which], self.expressions[which])

    def by_question(self) -> Iterator[tuple[int, list[int]]]:
        """Each question that has candidates, with the first few of them."""
        order = np.lexsort((self.expressions, self.questions))
        pairs = zip(self.questions[order].tolist(), self.expressions[order].tolist(), strict=True)
        for question, of_one in groupby(pairs, key=itemgetter(0)):
            yield question, [expression for _, expression in islice(of_one, _MOST_VERIFIED)]


class Search:
    """Expressions of some columns, screened on a few rows and verified on all."""

    def __init__(self, columns: Sequence[ColumnFacts]) -> None:
        self._columns = columns
        # Rows with few common values tell most: where a column is 0 in most rows, many expressions are 0 as well.
        n_unusual = np.sum([column.is_unusual for column in columns], axis=0)
        rows = np.argsort(-n_unusual, kind="stable")[:_SCREENED_ROWS]
        self._screen = np.stack([column.values[rows] for column in columns])
        self._tolerance = np.stack([column.tolerance[rows] for column in columns])
        self._targets = [
            j
            for j, column in enumerate(columns)
            if column.n_distinct >= _FEWEST_VALUES and column.is_unusual.sum() >= _FEWEST_UNUSUAL
        ]
        self._first_rows = _telling_rows(np.stack([column.is_unusual[rows] for column in columns]))

    def matches(self, forms: Sequence[Form], among: Sequence[int]) -> Iterator[Match]:
        """All columns that are equal to an expression of others ``among`` the columns; simple expressions first."""
        targets = np.array([one for one in self._targets if one in among], dtype=np.intp)
        for form in forms:
            parts = np.array(among, dtype=np.intp)[_choices(len(among), form.n_parts, form.is_symmetric)]
            of, scales = np.repeat(targets, len(form.scales)), np.tile(form.scales, len(targets))
            yield from self._answers(_Questions(form, parts, of, scales))

    def _answers(self, asked: _Questions) -> Iterator[Match]:
        for some in self._by_first_row(asked):
            for question, expressions in self._unrefuted(asked, some).by_question():
                target, scale = int(asked.targets[question]), float(asked.scales[question])
                parts = (tuple(asked.parts[one].tolist()) for one in expressions)
                found = (self.verified(target, asked.form, of, scale) for of in parts)
                yield from islice((match for match in found if match is not None), _MOST_MATCHES)

    def multiples(self) -> Iterator[Match]:
        """For each column the first other one of which it is a multiple, by a factor of few digits other than 1."""
        for target in self._targets:
            for part, factor in self._factors(target):
                match = self.verified(target, MULTIPLE, (part,), factor)
                if match is not None:
                    yield match
                    break

    def _by_first_row(self, asked: _Questions) -> Iterator[_Candidates]:
        """What one telling row does not refute, a part at a time: sorted once, all questions are looked up."""
        for row in np.unique(self._first_rows).tolist():
            of = np.flatnonzero(self._first_rows[asked.targets] == row)
            if not len(of):
                continue
            values = self._computed(asked.form, asked.parts, row)
            order = np.argsort(values)  # missing ones come last
            known = values[order[: len(values) - int(np.isnan(values).sum())]]
            wanted = self._screen[asked.targets[of], row] / asked.scales[of]
            # A little more than allowed: it is measured exactly below, with other float errors.
            margin = 1.001 * self._tolerance[asked.targets[of], row] / asked.scales[of]
            is_missing = np.isnan(wanted)
            starts = np.where(is_missing, 0, np.searchsorted(known, wanted - margin, side="left"))
            ends = np.where(is_missing, len(known), np.searchsorted(known, wanted + margin, side="right"))
            # After the known ones come those that are missing in this row: it cannot refute them.
            for lines, places in _in_ranges(starts, ends, len(known), len(order)):
                yield _Candidates(of[lines], order[places])

    def _unrefuted(self, asked: _Questions, left: _Candidates) -> _Candidates:
        """Which candidates no screened row refutes; row by row, as most are refuted by the first."""
        parts, targets = asked.parts[left.expressions], asked.targets[left.questions]
        left = left.take((parts != targets[:, None]).all(axis=1))
        n_known = np.zeros(len(left.questions), dtype=np.intp)
        for row in range(self._screen.shape[1]):
            if not len(left.questions):
                break
            targets, scales = asked.targets[left.questions], asked.scales[left.questions]
            computed = self._computed(asked.form, asked.parts[left.expressions], row)
            away = np.abs(computed - self._screen[targets, row] / scales)
            n_known += ~np.isnan(away)
            is_left = ~(away > self._tolerance[targets, row] / scales)
            left, n_known = left.take(is_left), n_known[is_left]
        return left.take(n_known >= _FEWEST_SCREENED)

    def _computed(self, form: Form, parts: Ints, row: int) -> Floats:
        return form.compute(*(self._screen[parts[:, place], row] for place in range(form.n_parts)))

    def _factors(self, target: int) -> Iterable[tuple[int, float]]:
        """The columns, and factors, that make the target in all screened rows."""
        values, tolerance, bases = self._screen[target], self._tolerance[target], self._screen
        use = ~np.isnan(values) & ~np.isnan(bases) & (bases != 0)
        one = np.divide(values - tolerance, bases, out=np.full_like(bases, np.nan), where=use)
        other = np.divide(values + tolerance, bases, out=np.full_like(bases, np.nan), where=use)
        lows = np.fmax.reduce(np.fmin(one, other), axis=1)
        highs = np.fmin.reduce(np.fmax(one, other), axis=1)
        for part in np.flatnonzero((lows <= highs) & (use.sum(axis=1) >= _FEWEST_SCREENED)).tolist():
            factor = None if part == target else _shortest_between(float(lows[part]), float(highs[part]))
            if factor is not None:
                yield part, factor

    def verified(self, target: int, form: Form, parts: tuple[int, ...], scale: float) -> Match | None:
        """Return the match if a column is equal to a form of these parts, times the scale, in all rows."""
        column = self._columns[target]
        values = [self._columns[part].values for part in parts]
        use = column.is_present & np.all([self._columns[part].is_present for part in parts], axis=0)
        values, wanted, tolerance = [one[use] for one in values], column.values[use], column.tolerance[use]

        def is_off(of: Sequence[Floats]) -> Bools:
            return ~(np.abs(form.compute(*of) * scale - wanted) <= tolerance)

        if len(wanted) < FEWEST_ROWS or is_off(values).any() or len(np.unique(wanted)) < _FEWEST_VALUES:
            return None
        for place, one in enumerate(values):
            without = [*values[:place], np.full_like(one, np.median(one)), *values[place + 1 :]]
            if is_off(without).sum() < _FEWEST_BROKEN:
                return None
        errors = np.abs(form.compute(*values) * scale - wanted)
        is_rounded = errors > column.precision * (np.abs(wanted) + 1e-3 * np.abs(wanted).max())
        # Rounding shows in many rows. In a few, it is something else that happens to be small.
        if 0 < is_rounded.mean() < _LEAST_ROUNDED:
            return None
        return Match(target, form, parts, scale, bool(is_rounded.any()), len(wanted))


def _choices(n: int, n_chosen: int, is_symmetric: bool) -> Ints:
    """All ways to choose different numbers below ``n``, one in each line; in ascending order only, if symmetric.

    >>> _choices(3, 2, True).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    numbers = np.indices((n,) * n_chosen).reshape(n_chosen, -1).T
    if is_symmetric:
        return numbers[(np.diff(numbers, axis=1) > 0).all(axis=1)]
    return numbers[(np.diff(np.sort(numbers, axis=1), axis=1) > 0).all(axis=1)]


def _telling_rows(is_unusual: Bools) -> Ints:
    """For each column a screened row in which its value is unusual; as few rows as possible, else the first."""
    first = np.zeros(len(is_unusual), dtype=np.intp)
    left = np.ones(len(is_unusual), dtype=bool)
    for _ in range(_MOST_FIRST_ROWS):
        row = int(np.argmax(is_unusual[left].sum(axis=0)))
        first[left & is_unusual[:, row]] = row
        left &= ~is_unusual[:, row]
    return first


def _in_ranges(starts: Ints, ends: Ints, more: int, last: int) -> Iterator[tuple[Ints, Ints]]:
    """The numbers of ranges, and all places in them and from ``more`` to ``last``, so many at a time as can be held."""
    sizes = ends - starts + last - more
    total = np.cumsum(sizes)
    line = 0
    while line < len(sizes):
        held = total[line - 1] if line else 0
        end = max(line + 1, int(np.searchsorted(total, held + _MOST_CANDIDATES, side="right")))
        lines = np.repeat(np.arange(line, end), sizes[line:end])
        places = np.arange(held, total[end - 1]) - (total - sizes)[lines] + starts[lines]
        yield lines, np.where(places < ends[lines], places, places - ends[lines] + more)
        line = end


def _shortest_between(low: float, high: float) -> float | None:
    """The factor, or divisor, with the fewest digits between two numbers; None if it is 0 or 1, or all have many.

    >>> _shortest_between(0.1698, 0.1703), _shortest_between(1 / 12, 1 / 12), _shortest_between(0.12341, 0.12342)
    (0.17, 0.08333333333333333, None)
    """
    middle = (low + high) / 2
    for digits in range(1, _MOST_DIGITS + 1) if middle else ():
        # A twelfth has no short decimals, but a twelve has.
        for factor in (float(f"{middle:.{digits - 1}e}"), 1 / float(f"{1 / middle:.{digits - 1}e}")):
            if low <= factor <= high and factor != 1.0:
                return factor
    return None
