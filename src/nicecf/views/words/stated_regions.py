"""Regions that a text states, such as "at least 680" and "own or free": found, read back, and put to the test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from nicecf.results.batch import Batch
from nicecf.support.types import Floats
from nicecf.views.words.formatter import Formatter

# How many points of a stated box the model is asked about.
_MOST_POINTS = 512
_MOST_CORNERS = 64
_DIGIT = r"\d"
_TIME = r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d\d:\d\d)?"
_PARTS = ("year", "month", "day", "time")
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
    """The same of dates, each with as much of its time of day as the text has; none of durations."""
    phrases, temporal = formatter.wording.phrases, batch.schema.columns[j].temporal
    assert temporal is not None
    if temporal.kind == "duration":
        return
    day = re.escape(phrases["date.day"])
    for part, digits in (("year", 4), ("month", 2), ("day", 2)):
        day = day.replace(re.escape(f"{{{part}}}"), f"(?P<{{end}}_{part}>{_DIGIT * digits})")
    with_time = re.escape(phrases["date.with_time"]).replace(r"\{date\}", day)
    with_time = with_time.replace(r"\{time\}", rf"(?P<{{end}}_time>{_TIME})")
    # Once with the time, once without: names of groups must differ, and a date that goes on is another one.
    only_day = re.sub(r"P<\{end\}_", "P<{end}_only_", day) + rf"(?!\d|[ T]{_TIME})"
    either = rf"(?:{with_time}(?![\d:])|{only_day})"
    for one in _found(text, phrases, _DATE_PHRASES, lambda end: either.replace("{end}", end)):
        said = {name.replace("_only", ""): part for name, part in one.groupdict().items() if part}
        try:
            ends = {
                end: temporal.number(_iso({part: said.get(f"{end}_{part}", "") for part in _PARTS}))
                for end in ("low", "high")
                if f"{end}_year" in said
            }
        except ValueError:
            continue
        yield StatedRegion(one.start(), one.end(), one[0], j, ends.get("low", -np.inf), ends.get("high", np.inf))


def _iso(said: Mapping[str, str]) -> str:
    day = f"{said['year']}-{said['month']}-{said['day']}"
    return f"{day} {said['time']}" if said["time"] else day


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
    """Rows at the corners of a stated box, and inside of it; beyond what was seen where it has no end.

    Of many features not all corners: that which is nearest to the row, where decisions turn, and some by chance.
    """
    some = list(regions)
    grid = [_values_of(batch, region) for region in some]
    before, after = ([float(of.values[0, one.feature]) for one in some] for of in (batch.before, batch.after))
    near = [one.nearest(value) for one, value in zip(some, after, strict=True)]
    ends = [axis if one.codes is not None else axis[:2] for one, axis in zip(some, grid, strict=True)]
    chosen = [tuple(min(axis, key=lambda end: abs(end - old)) for axis, old in zip(ends, before, strict=True))]
    if prod(map(len, ends)) <= _MOST_CORNERS:
        chosen += product(*ends)
    chosen += [(*near[:at], value, *near[at + 1 :]) for at, axis in enumerate(grid) for value in axis]
    if prod(map(len, grid)) <= _MOST_POINTS:
        chosen += product(*grid)
    else:
        random = np.random.default_rng(0)
        chosen += zip(*(random.choice(axis, _MOST_POINTS - len(chosen)).tolist() for axis in grid), strict=True)
    chosen = list(dict.fromkeys(chosen))
    points = np.tile(values, (len(chosen), 1))
    features = [one.feature for one in some]
    points[:, features] = np.array(chosen)
    points[:, features] = batch.schema.rounded(points)[:, features]
    return points


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
