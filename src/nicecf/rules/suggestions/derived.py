"""Derived columns: numbers that were computed from other columns, such as a total or a ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations, product
from typing import TypeAlias

import numpy as np

from nicecf.rules.suggestions.suggestion import Suggestion, in_expression, key, quoted, suggest
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts
from nicecf.rules.suggestions.twins import copies
from nicecf.rules.suggestions.words import COMPUTED
from nicecf.support.types import Bools, Floats, Ints

_FEWEST_ROWS = 100
_FEWEST_VALUES = 50
# Rows in which a column must not hold its most common value, and rows that break without each part of an expression.
_FEWEST_UNUSUAL = 50
_FEWEST_BROKEN = 10
_LEAST_ROUNDED = 0.05
# Bounds of the search, as the number of expressions grows by the square and the cube of these.
_MOST_COLUMNS = 60
_MOST_OF_THREE = 25
_SCREENED_ROWS = 64
# What fewer screened rows speak of, as the others have missing cells, is not tried.
_FEWEST_SCREENED = 5
_MOST_VERIFIED = 50
_MOST_MATCHES = 10
# A factor that people use has few digits; any long one would fit something.
_MOST_DIGITS = 3

Compute: TypeAlias = Callable[..., Floats]


@dataclass(frozen=True)
class Form:
    """A way to compute a column from ``n_parts`` others."""

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
_MULTIPLE = Form("{}", lambda a: a, 1, False, ())
_SUM = Form("{} + {}", lambda a, b: a + b, 2, True, _PERIODS)
_DIFFERENCE = Form("{} - {}", lambda a, b: a - b, 2, False, _PERIODS)
_PRODUCT = Form("{} * {}", lambda a, b: a * b, 2, True, _UNITS)
_RATIO = Form("{} / {}", _ratio, 2, False, _UNITS)
_SHARE = Form("{0} / ({0} + {1})", lambda a, b: _ratio(a, a + b), 2, False, (1.0, 100.0))
_PAIRS = (_SUM, _DIFFERENCE, _PRODUCT, _RATIO, _SHARE)
_TRIPLES = (
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


def derived_columns(facts: TableFacts) -> list[Suggestion]:
    """Columns that are equal to an expression of others in every row in which all of them are present.

    Equal within the rounding of the column itself: half a unit of its last decimal. The expressions are a sum,
    difference, product, ratio or share a / (a + b) of two columns, times 1, 12, 1/12 and, but for sums and differences,
    powers of ten; one column times, or divided by, a factor of at most three digits; sums and differences of three.

    What is tried is bounded: the first 60 columns of numbers with three values or more that are no copies, and of three
    columns the first 25 that are not explained yet. All expressions are screened on 64 rows, and need five of these
    without a missing cell; of each form, at most 50 for a column and factor are then verified on all rows. A column
    needs 50 values, and 100 rows.

    Where an equation can be solved for more than one column, the derived one is that with the most decimals, or with a
    word such as total or ratio in its name, or a product. If none of these tells, the last one in the table is a guess,
    and so is a column with fewer decimals than its parts.
    """
    usable = [column for column in facts.columns if column.is_number and column.n_distinct > 2]
    columns = [group[0] for group in copies(usable)][:_MOST_COLUMNS]
    if facts.n_rows < _FEWEST_ROWS or len(columns) < 2:
        return []
    search = _Search(columns)
    chosen: dict[int, tuple[Match, bool]] = {}
    _choose(search.multiples(), columns, chosen)
    # An exact multiple is the same column once more: whatever is tied to the one is tied to the other.
    distinct = [j for j in range(len(columns)) if j not in chosen or chosen[j][0].is_rounded]
    _choose(search.matches(_PAIRS, distinct), columns, chosen)
    left = [j for j in range(len(columns)) if j not in chosen][:_MOST_OF_THREE]
    _choose(search.matches(_TRIPLES, left), columns, chosen)
    return [_suggested(match, columns, is_certain) for match, is_certain in chosen.values()]


class _Search:
    """Expressions of some columns, screened on a few rows and verified on all."""

    def __init__(self, columns: Sequence[ColumnFacts]) -> None:
        self._columns = columns
        # Rows with few common values tell most: where a column is 0 in most rows, many expressions are 0 as well.
        n_unusual = np.sum([column.is_unusual for column in columns], axis=0)
        rows = np.sort(np.argsort(-n_unusual, kind="stable")[:_SCREENED_ROWS])
        self._screen = np.stack([column.values[rows] for column in columns])
        self._tolerance = np.stack([column.tolerance[rows] for column in columns])
        self._targets = [
            j
            for j, column in enumerate(columns)
            if column.n_distinct >= _FEWEST_VALUES and column.is_unusual.sum() >= _FEWEST_UNUSUAL
        ]

    def matches(self, forms: Sequence[Form], among: Sequence[int]) -> Iterator[Match]:
        """All columns that are equal to an expression of others ``among`` the columns; simple expressions first."""
        for form in forms:
            choose = combinations if form.is_symmetric else permutations
            parts = np.array(list(choose(among, form.n_parts)), dtype=np.intp).reshape(-1, form.n_parts)
            screened = form.compute(*(self._screen[parts[:, place]] for place in range(form.n_parts))).T.copy()
            for target, scale in product([one for one in self._targets if one in among], form.scales):
                left = self._survivors(screened, target, scale)
                left = left[(parts[left] != target).all(axis=1)][:_MOST_VERIFIED]
                found = (self._verified(target, form, tuple(parts[one].tolist()), scale) for one in left.tolist())
                yield from islice((match for match in found if match is not None), _MOST_MATCHES)

    def multiples(self) -> Iterator[Match]:
        """For each column the first other one of which it is a multiple, by a factor of few digits other than 1."""
        for target in self._targets:
            for part in range(len(self._columns)):
                factor = None if part == target else self._factor(target, part)
                match = None if factor is None else self._verified(target, _MULTIPLE, (part,), factor)
                if match is not None:
                    yield match
                    break

    def _survivors(self, screened: Floats, target: int, scale: float) -> Ints:
        """Which expressions no screened row refutes; row by row, as most are refuted by the first."""
        values, tolerance = self._screen[target] / scale, self._tolerance[target] / scale
        rows = np.flatnonzero(~np.isnan(values))
        left = np.arange(screened.shape[1])
        for row in rows.tolist():
            left = left[~(np.abs(screened[row, left] - values[row]) > tolerance[row])]
            if not len(left):
                return left
        return left[(~np.isnan(screened[np.ix_(rows, left)])).sum(axis=0) >= _FEWEST_SCREENED]

    def _factor(self, target: int, part: int) -> float | None:
        """The shortest factor that makes one column the other in all screened rows; None if there is none."""
        values, tolerance, base = self._screen[target], self._tolerance[target], self._screen[part]
        use = ~np.isnan(values) & ~np.isnan(base) & (base != 0)
        if use.sum() < _FEWEST_SCREENED:
            return None
        ends = np.sort([(values[use] - tolerance[use]) / base[use], (values[use] + tolerance[use]) / base[use]], axis=0)
        low, high = float(ends[0].max()), float(ends[1].min())
        if not low <= high:
            return None
        middle = (low + high) / 2
        for digits in range(1, _MOST_DIGITS + 1) if middle else ():
            # A twelfth has no short decimals, but a twelve has.
            for factor in (float(f"{middle:.{digits - 1}e}"), 1 / float(f"{1 / middle:.{digits - 1}e}")):
                if low <= factor <= high and factor != 1.0:
                    return factor
        return None

    def _verified(self, target: int, form: Form, parts: tuple[int, ...], scale: float) -> Match | None:
        column = self._columns[target]
        values = [self._columns[part].values for part in parts]
        use = column.is_present & np.all([self._columns[part].is_present for part in parts], axis=0)
        values, wanted, tolerance = [one[use] for one in values], column.values[use], column.tolerance[use]

        def is_off(of: Sequence[Floats]) -> Bools:
            return ~(np.abs(form.compute(*of) * scale - wanted) <= tolerance)

        if len(wanted) < _FEWEST_ROWS or is_off(values).any() or len(np.unique(wanted)) < _FEWEST_VALUES:
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


def _choose(matches: Iterator[Match], columns: Sequence[ColumnFacts], chosen: dict[int, tuple[Match, bool]]) -> None:
    """Add to ``chosen`` one match for each equation, solved for its derived column, and whether that is certain."""
    equations: dict[frozenset[int], list[Match]] = {}
    for match in matches:
        equations.setdefault(match.together, []).append(match)
    for solutions in equations.values():
        match, is_certain = _solved(solutions, columns)
        if match.target not in chosen and not _reaches(match.parts, match.target, chosen):
            chosen[match.target] = (match, is_certain)


def _solved(solutions: Sequence[Match], columns: Sequence[ColumnFacts]) -> tuple[Match, bool]:
    """The match of the column that was most likely computed, and whether that is clear."""

    def evidence(match: Match) -> tuple[float, bool]:
        return _decimals(columns[match.target]), _is_called_computed(columns[match.target])

    first = {match.target: match for match in reversed(solutions)}
    best = max(evidence(match) for match in first.values())
    tied = [match for match in first.values() if evidence(match) == best]
    # Were one of them computed as a ratio, it would have more decimals than the product.
    tied = [match for match in tied if match.form is _PRODUCT] or tied
    # Of sums and differences, what was computed was more likely added later.
    match = max(tied, key=lambda match: match.target)
    # Whole numbers are seldom computed from fractions.
    is_coarse = best[0] < max(_decimals(columns[part]) for part in match.parts)
    return match, len(tied) == 1 and (not is_coarse or best[1])


def _decimals(column: ColumnFacts) -> float:
    return np.inf if column.decimals is None else column.decimals


def _is_called_computed(column: ColumnFacts) -> bool:
    return bool(COMPUTED & set(column.words))


def _reaches(parts: Sequence[int], target: int, chosen: dict[int, tuple[Match, bool]]) -> bool:
    """Whether some part is itself computed, step by step, from the target."""
    return any(part == target or (part in chosen and _reaches(chosen[part][0].parts, target, chosen)) for part in parts)


def _suggested(match: Match, columns: Sequence[ColumnFacts], is_certain: bool) -> Suggestion:
    column, parts = columns[match.target], [columns[part] for part in match.parts]
    text = _expression(match, [in_expression(part.name) for part in parts], column.decimals)
    seen = f"equal in all {match.n_rows:,} rows with these values"
    if not is_certain:
        seen += "; it may as well be the other way round"
    toml = f"{key(column.name)} = {quoted(text)}"
    features = (column.name, *(part.name for part in parts))
    return suggest("derived", "derived", features, toml, is_certain=is_certain, seen=seen)


def _expression(match: Match, names: Sequence[str], decimals: int | None) -> str:
    text = match.form.text.format(*names)
    if match.scale != 1.0:
        times, by = _factor_text(match.scale)
        is_sum = " + " in text or " - " in text
        if match.form is _RATIO:
            text = f"{names[0]}{times} / {names[1]}{by}"
        elif match.form is _SHARE:
            text = f"{names[0]}{times} / ({names[0]} + {names[1]})"
        else:
            text = f"({text}){times}{by}" if is_sum else f"{text}{times}{by}"
    # Even what is exact on paper has float errors in its last digits, which no cell of the column has.
    if decimals is None or (decimals == 0 and not match.is_rounded):
        return text
    return f"round({text}, {decimals})"


def _factor_text(scale: float) -> tuple[str, str]:
    """A factor as a multiplication or, where that is shorter, as a division.

    >>> _factor_text(12.0), _factor_text(1 / 12), _factor_text(0.17)
    ((' * 12', ''), ('', ' / 12'), (' * 0.17', ''))
    """
    times, by = f"{scale:.12g}", f"{1 / scale:.12g}"
    return (f" * {times}", "") if len(times) <= len(by) else ("", f" / {by}")
