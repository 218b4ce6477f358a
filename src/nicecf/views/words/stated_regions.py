"""Regions that a text states, such as "at least 680" and "own or free": found, read back, and put to the test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice, product

import numpy as np

from nicecf.results.batch import Batch
from nicecf.support.types import Floats
from nicecf.views.words.formatter import Formatter

# How many points of a stated box the model is asked about.
_MOST_POINTS = 512
_NUMBER_PHRASES, _DATE_PHRASES = ("between", "at_least", "at_most"), ("between", "since", "until")


@dataclass(frozen=True)
class StatedRegion:
    """What a text says that a feature may be, encoded; infinite for an open end. ``codes``: of a category."""

    start: int
    end: int
    text: str
    feature: int
    low: float = -np.inf
    high: float = np.inf
    codes: tuple[float, ...] | None = None

    def nearest(self, value: float) -> float:
        """The value in it that is nearest to another one."""
        if self.codes is not None:
            return value if value in self.codes else self.codes[0]
        return float(np.clip(value, self.low, self.high))


def number_regions(batch: Batch, text: str, j: int, formatter: Formatter) -> Iterable[StatedRegion]:
    """Where a text says between which numbers something may be that could be a certain feature."""
    phrases, name = formatter.wording.phrases, batch.schema.names[j]
    point, thousands = re.escape(phrases["number.decimal_point"]), re.escape(phrases["number.thousands"])
    number = rf"(?P<{{}}>[-\u2212]?\d+(?:{thousands}\d{{{{3}}}})*(?:{point}\d+)?(?:[eE][+-]?\d+)?)"
    unit = re.escape(formatter.wording.measured(name, "\0"))
    for one in _found(text, phrases, _NUMBER_PHRASES, lambda end: unit.replace(re.escape("\0"), number.format(end))):
        ends = {
            end: float(re.sub(thousands, "", said).replace(phrases["number.decimal_point"], ".").replace("\u2212", "-"))
            for end, said in one.groupdict().items()
        }
        if not re.match(r"\s?(?:%|per ?cent|Prozent)", text[one.end() :]):
            yield StatedRegion(one.start(), one.end(), one[0], j, ends.get("low", -np.inf), ends.get("high", np.inf))


def date_regions(batch: Batch, text: str, j: int, formatter: Formatter) -> Iterable[StatedRegion]:
    """The same of days."""
    phrases, temporal = formatter.wording.phrases, batch.schema.columns[j].temporal
    assert temporal is not None
    pattern = re.escape(phrases["date.day"])
    for part, digits in (("year", 4), ("month", 2), ("day", 2)):
        pattern = pattern.replace(re.escape(f"{{{part}}}"), rf"(?P<{{end}}_{part}>\d{{{{{digits}}}}})")
    for one in _found(
        text, phrases, _DATE_PHRASES, lambda end: pattern.replace("{end}", end).replace("{{", "{").replace("}}", "}")
    ):
        said = one.groupdict()
        days = {
            end: [int(said.get(f"{end}_{part}") or 0) for part in ("year", "month", "day")] for end in ("low", "high")
        }
        try:
            ends = {end: temporal.number(date(*some)) for end, some in days.items() if some[0]}
        except ValueError:
            continue
        yield StatedRegion(one.start(), one.end(), one[0], j, ends.get("low", -np.inf), ends.get("high", np.inf))


def category_regions(text: str, j: int, words: Mapping[str, float], formatter: Formatter) -> Iterable[StatedRegion]:
    """Where a text has several categories of a feature to choose from; ``words``: their codes."""
    if len(words) < 2:
        return
    either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    between = re.escape(formatter.wording.phrases["region.or"])
    for one in re.finditer(rf"(?<!\w)(?:{either})(?:{between}(?:{either}))+(?!\w)", text):
        codes = tuple(words[word] for word in re.findall(either, one[0]))
        yield StatedRegion(one.start(), one.end(), one[0], j, codes=codes)


def _found(
    text: str, phrases: Mapping[str, str], names: Iterable[str], of_end: Callable[[str], str]
) -> Iterable[re.Match[str]]:
    for name in names:
        pattern = re.escape(phrases[f"region.{name}"])
        for end in ("low", "high"):
            pattern = pattern.replace(re.escape(f"{{{end}}}"), of_end(end))
        yield from re.finditer(rf"(?<!\w){pattern}(?!\d)", text, re.IGNORECASE)


def points_of(batch: Batch, values: Floats, regions: Iterable[StatedRegion]) -> Floats:
    """Rows at the corners of a stated box, and inside of it; beyond what was seen where it has no end."""
    some = list(regions)
    grid = [_values_of(batch, region) for region in some]
    chosen = list(islice(product(*grid), _MOST_POINTS))
    points = np.tile(values, (len(chosen), 1))
    for at, region in enumerate(some):
        points[:, region.feature] = [one[at] for one in chosen]
    return batch.schema.rounded(points)


def _values_of(batch: Batch, region: StatedRegion) -> list[float]:
    if region.codes is not None:
        return list(region.codes)
    j = region.feature
    edges = batch.provenance.statistics.columns[j].edges
    known = [*edges.tolist(), batch.before.values[0, j], batch.after.values[0, j]]
    width = (max(known) - min(known)) or 1.0
    low = region.low if np.isfinite(region.low) else min(*known, region.high) - width
    high = region.high if np.isfinite(region.high) else max(*known, region.low) + width
    inside = [low + share * (high - low) for share in (0.5, 0.25, 0.75)]
    return list(dict.fromkeys([low, high, region.nearest(float(batch.after.values[0, j])), *inside]))
