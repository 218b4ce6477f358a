"""The search behind derived columns: which expressions of columns are equal to another column, in every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, islice, permutations
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
    """A way to compute a column from ``n_parts`` others, times one of some ``scales``."""

    text: str
    compute: Compute
    n_parts: int
    is_symmetric: bool
    scales: tuple[float, ...]


def _ratio(a: Floats, b: Floats) -> Floats:
    # Nothing can be equal to what is undefined; NaN would be taken for a missing value.
    return np.divide(a, b, out=np.full(np.broadcast_shapes(a.shape, b.shape), np.inf), where=b != 0)


_PERIODS = (1.0, 12.0, 1 / 12)
_UNITS = (*_PERIODS, 10.0, 100.0, 1000.0, 1200.0, 0.1, 0.01, 0.001)
MULTIPLE = Form("{}", lambda a: a, 1, False, ())
SUM = Form("{} + {}", lambda a, b: a + b, 2, True, _PERIODS)
DIFFERENCE = Form("{} - {}", lambda a, b: a - b, 2, False, _PERIODS)
PRODUCT = Form("{} * {}", lambda a, b: a * b, 2, True, _UNITS)
RATIO = Form("{} / {}", _ratio, 2, False, _UNITS)
SHARE = Form("{0} / ({0} + {1})", lambda a, b: _ratio(a, a + b), 2, False, (1.0, 100.0))
PAIRS = (SUM, DIFFERENCE, PRODUCT, RATIO, SHARE)
TRIPLES = (
    Form("{} + {} + {}", lambda a, b, c: a + b + c, 3, True, (1.0,)),
    Form("{} + {} - {}", lambda a, b, c: a + b - c, 3, False, (1.0,)),
    Form("{} - {} - {}", lambda a, b, c: a - b - c, 3, False, (1.0,)),
)


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
class _Candidates:
    """Expressions that may be a column: one line for each, by the numbers of the question and of the expression.

    A question is a target and a scale.
    """

    targets: Ints
    scales: Floats
    parts: Ints
    questions: Ints
    expressions: Ints

    def take(self, which: Bools | Ints) -> _Candidates:
        """Some of them."""
        return _Candidates(
            self.targets[which],
            self.scales[which],
            self.parts[which],
            self.questions[which],
            self.expressions[which],
        )

    def in_order(self) -> Iterator[list[tuple[int, tuple[int, ...], float]]]:
        """For each question the target, the parts and the scale of its first few candidates."""
        lines = self.take(np.lexsort((self.expressions, self.questions)))
        for _, of_one in groupby(range(len(lines.questions)), key=lines.questions.tolist().__getitem__):
            yield [
                (int(lines.targets[line]), tuple(lines.parts[line].tolist()), float(lines.scales[line]))
                for line in islice(of_one, _MOST_VERIFIED)
            ]


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

    def matches(self, forms: Sequence[Form], among: Sequence[int]) -> Iterator[Match]:
        """All columns that are equal to an expression of others ``among`` the columns; simple expressions first."""
        targets = np.array([one for one in self._targets if one in among], dtype=np.intp)
        for form in forms:
            choose = combinations if form.is_symmetric else permutations
            parts = np.array(list(choose(among, form.n_parts)), dtype=np.intp).reshape(-1, form.n_parts)
            for some in self._by_first_row(form, parts, targets):
                for asked in self._unrefuted(form, some).in_order():
                    found = (self._verified(target, form, of, scale) for target, of, scale in asked)
                    yield from islice((match for match in found if match is not None), _MOST_MATCHES)

    def multiples(self) -> Iterator[Match]:
        """For each column the first other one of which it is a multiple, by a factor of few digits other than 1."""
        for target in self._targets:
            for part, factor in self._factors(target):
                match = self._verified(target, MULTIPLE, (part,), factor)
                if match is not None:
                    yield match
                    break

    def _by_first_row(self, form: Form, parts: Ints, targets: Ints) -> Iterator[_Candidates]:
        """What the first screened row does not refute, a part at a time: sorted once, all questions are looked up."""
        first = self._computed(form, parts, 0)
        order = np.argsort(first, kind="stable")  # missing ones come last
        n_known = len(first) - int(np.isnan(first).sum())
        of = np.repeat(targets, len(form.scales))
        scales = np.tile(form.scales, len(targets))
        wanted = self._screen[of, 0] / scales
        # A little more than allowed: it is measured exactly below, with other float errors.
        margin = 1.001 * self._tolerance[of, 0] / scales
        is_missing = np.isnan(wanted)
        starts = np.where(is_missing, 0, np.searchsorted(first[order[:n_known]], wanted - margin, side="left"))
        ends = np.where(is_missing, n_known, np.searchsorted(first[order[:n_known]], wanted + margin, side="right"))
        sizes = ends - starts + len(first) - n_known
        for some in _in_parts(sizes, _MOST_CANDIDATES):
            questions = np.repeat(some, sizes[some])
            places = np.arange(len(questions)) - np.repeat(np.cumsum(sizes[some]) - sizes[some], sizes[some])
            places += starts[questions]
            # After the known ones come those that are missing in this row: it cannot refute them.
            places = np.where(places < ends[questions], places, places - ends[questions] + n_known)
            expressions = order[places]
            yield _Candidates(of[questions], scales[questions], parts[expressions], questions, expressions)

    def _unrefuted(self, form: Form, left: _Candidates) -> _Candidates:
        """Which candidates no screened row refutes; row by row, as most are refuted by the first."""
        left = left.take((left.parts != left.targets[:, None]).all(axis=1))
        n_known = np.zeros(len(left.targets), dtype=np.intp)
        for row in range(self._screen.shape[1]):
            if not len(left.targets):
                break
            away = np.abs(self._computed(form, left.parts, row) - self._screen[left.targets, row] / left.scales)
            n_known += ~np.isnan(away)
            is_left = ~(away > self._tolerance[left.targets, row] / left.scales)
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

    def _verified(self, target: int, form: Form, parts: tuple[int, ...], scale: float) -> Match | None:
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


def _in_parts(sizes: Ints, most: int) -> Iterator[Ints]:
    """The positions of some sizes, in runs whose sum is at most ``most``, or that are a single one."""
    start = 0
    while start < len(sizes):
        end = start + max(1, int(np.searchsorted(np.cumsum(sizes[start:]), most, side="right")))
        yield np.arange(start, end)
        start = end


def _shortest_between(low: float, high: float) -> float | None:
    """The factor with the fewest digits between two numbers, other than 0 and 1; None if all have many.

    >>> _shortest_between(0.1698, 0.1703), _shortest_between(1 / 12, 1 / 12), _shortest_between(0.12345, 0.12346)
    (0.17, 0.08333333333333333, None)
    """
    middle = (low + high) / 2
    for digits in range(1, _MOST_DIGITS + 1) if middle else ():
        # A twelfth has no short decimals, but a twelve has.
        for factor in (float(f"{middle:.{digits - 1}e}"), 1 / float(f"{1 / middle:.{digits - 1}e}")):
            if low <= factor <= high and factor != 1.0:
                return factor
    return None
