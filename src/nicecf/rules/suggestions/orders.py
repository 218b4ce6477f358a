"""Orders of text levels, by the numbers or words in them: ``< 100``, ``100 to 500``, ``> 500``; low, medium, high."""

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
# No digits of a code such as A14; the sign between 100-500 is no minus.
_NUMBER = re.compile(r"(?<![\w.,])-?\d+(?:[.,]\d{3})*(?:[.,]\d+)?")
# In [0,10), the comma stands between two numbers.
_BRACKET = re.compile(r"^([\[(][^,]*),")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")


def orders(facts: TableFacts) -> list[Suggestion]:
    """Return a guess for each column of text of which three levels or more, and all but one, have an order.

    They are intervals of numbers that do not overlap, or words of one scale. The direction is for a person to choose.
    """
    found = []
    for column in facts.columns:
        if not column.is_text or column.is_ordinal or not _FEWEST_LEVELS <= len(column.levels) <= _MOST_LEVELS:
            continue
        levels = _by_numbers(column.levels) or _by_words(column.levels)
        if len(levels) >= max(_FEWEST_LEVELS, len(column.levels) - _MOST_OTHERS):
            others = [level for level in column.levels if level not in levels]
            seen = "the order that its levels say" + (f", but for {others[0]!r}" if others else "")
            toml = f"{key(column.name)} = [{', '.join(quoted(level) for level in levels)}]"
            found.append(suggest("order", "increasing", (column.name,), toml, is_certain=False, seen=seen))
    return found


def _by_numbers(levels: Sequence[str]) -> list[str]:
    """Return the levels that name numbers, from low to high; none if they overlap, or if none is an interval."""
    intervals = {level: interval for level in levels if (interval := _interval(level)) is not None}
    ordered = sorted(intervals, key=lambda level: intervals[level])
    bounds = [intervals[level] for level in ordered]
    overlap = any(one == other or one[1] > other[0] for one, other in pairwise(bounds))
    return ordered if not overlap and any(low < high for low, high in bounds) else []


def _interval(level: str) -> tuple[float, float] | None:
    """Return the smallest and the largest number that a level stands for; None if it names none.

    >>> _interval("18 to 25"), _interval("65+"), _interval("under 20"), _interval("4 years"), _interval("2020-05-01")
    ((18.0, 25.0), (65.0, inf), (-inf, 20.0), (4.0, 4.0), None)
    >>> _interval("... >= 200 EUR, or a salary for 1 year"), _interval("(-5, 0]"), _interval("1,000 - 2.000,5")
    ((200.0, inf), (-5.0, 0.0), (1000.0, 2000.5))
    """
    numbers = [
        float(_THOUSANDS.sub("", one).replace(",", ".")) for one in _NUMBER.findall(_BRACKET.sub(r"\1 ; ", level))
    ]
    words, is_one = set(words_of(level)), len(numbers) == 1
    sign = level.lstrip(" .…")[:1]
    if numbers and (sign in ("<", "≤") or (is_one and (AT_MOST & words or re.search("[<≤]", level)))):
        return -math.inf, numbers[0]
    if numbers and (sign in (">", "≥") or (is_one and (AT_LEAST & words or re.search("[>≥+]", level)))):
        return numbers[0], math.inf
    is_known = 1 <= len(numbers) <= 2 and numbers[0] <= numbers[-1]
    return (numbers[0], numbers[-1]) if is_known else None


def _by_words(levels: Sequence[str]) -> list[str]:
    """Return the levels that are words of the scale that has most of them, from low to high."""
    of_word = {re.sub(r"[\W_]+", " ", level).strip().casefold(): level for level in levels}
    found = [[of_word[word] for word in scale if word in of_word] for scale in SCALES]
    return max(found, key=len)
