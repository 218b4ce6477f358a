"""Orders of text levels, by the numbers or the words in them: ``< 100``, ``100 to 500``, ``> 500``; low, medium, high."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from nicecf.rules.suggestions.suggestion import Suggestion, key, quoted, suggest
from nicecf.rules.suggestions.table_facts import TableFacts
from nicecf.rules.suggestions.words import AT_LEAST, AT_MOST, SCALES, words_of

_FEWEST_LEVELS, _MOST_LEVELS = 3, 50
# Levels such as "unknown" that have no place in the order.
_MOST_OTHERS = 1
# No digits of a code such as A14, and no sign of a range such as 100-500.
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*")

_Interval = tuple[float, float]


def orders(facts: TableFacts) -> list[Suggestion]:
    """Return a guess for each column of text whose levels have an order; the direction is for a person to choose.

    Three levels or more are intervals of numbers that do not overlap, or words of one scale. One more level may have no
    place in the order.
    """
    found = []
    for column in facts.columns:
        if not column.is_text or not _FEWEST_LEVELS <= len(column.levels) <= _MOST_LEVELS:
            continue
        levels = _by_numbers(column.levels) or _by_words(column.levels)
        if len(levels) >= max(_FEWEST_LEVELS, len(column.levels) - _MOST_OTHERS):
            others = [level for level in column.levels if level not in levels]
            seen = "the order that its levels say" + (f", but for {others[0]!r}" if others else "")
            toml = f"{key(column.name)} = [{', '.join(quoted(level) for level in levels)}]"
            found.append(suggest("order", "increasing", (column.name,), toml, is_certain=False, seen=seen))
    return found


def _by_numbers(levels: Sequence[str]) -> list[str]:
    """Return the levels that name numbers, from low to high; none if they overlap, or if none is an interval.

    >>> _by_numbers([">= 500 EUR", "100 <= x < 500 EUR", "none", "< 100 EUR"])
    ['< 100 EUR', '100 <= x < 500 EUR', '>= 500 EUR']
    >>> _by_numbers(["1", "2", "3"]), _by_numbers(["A11", "A12", "A13"]), _by_numbers(["0-10", "5-15", "15-20"])
    ([], [], [])
    """
    intervals = {level: interval for level in levels if (interval := _interval(level)) is not None}
    ordered = sorted(intervals, key=lambda level: intervals[level])
    overlaps = any(
        intervals[one][1] > intervals[other][0] or intervals[one] == intervals[other] for one, other in pairwise(ordered)
    )
    is_some_range = any(low != high for low, high in intervals.values())
    return ordered if is_some_range and not overlaps else []


def _interval(level: str) -> _Interval | None:
    """Return the smallest and the largest number that a level stands for; None if it names none.

    >>> _interval("18 to 25"), _interval("65+"), _interval("under 20"), _interval("4 years"), _interval("2020-05-01")
    ((18.0, 25.0), (65.0, inf), (-inf, 20.0), (4.0, 4.0), None)
    """
    numbers = [_read(one) for one in _NUMBER.findall(level)]
    words, text = set(words_of(level)), level.strip()
    if not numbers:
        return None
    if text.startswith(("<", "≤")) or (len(numbers) == 1 and (AT_MOST & words or re.search(r"[<≤]", text))):
        return -math.inf, numbers[0]
    if text.startswith((">", "≥")) or (len(numbers) == 1 and (AT_LEAST & words or re.search(r"[>≥]|\d\s*\+", text))):
        return numbers[0], math.inf
    if len(numbers) > 2 or numbers[0] > numbers[-1]:
        return None
    return numbers[0], numbers[-1]


def _read(number: str) -> float:
    """Return a number as people write it, with points or commas between thousands.

    >>> _read("1,000"), _read("1.000.000"), _read("2.5"), _read("2,5")
    (1000.0, 1000000.0, 2.5, 2.5)
    """
    whole = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", number)
    return float(whole.replace(",", ".")) if whole.count(".") + whole.count(",") <= 1 else math.nan


def _by_words(levels: Sequence[str]) -> list[str]:
    """Return the levels that are words of the scale that has most of them, from low to high.

    >>> _by_words(["High", "low", "medium", "unknown"])
    ['low', 'medium', 'High']
    """
    of_word = {re.sub(r"[\W_]+", " ", level).strip().casefold(): level for level in levels}
    found = [[of_word[word] for word in scale if word in of_word] for scale in SCALES]
    return max(found, key=len)
