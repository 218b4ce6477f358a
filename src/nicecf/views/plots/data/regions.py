"""What the model says as two features vary, all others as in the row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from nicecf.exceptions import ModelError, OptionError
from nicecf.exceptions import listed as quoted
from nicecf.results.batch import Batch
from nicecf.results.counterfactual import Counterfactual
from nicecf.results.provenance import Maker
from nicecf.support.types import Floats, Ints
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import differs
from nicecf.tables.statistics import ColumnStatistics
from nicecf.tables.temporal import Temporal
from nicecf.views.plots.data.common import Caption, Explanation, evened
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording

Kind: TypeAlias = Literal["row", "donor", "counterfactual"]
# Two features, each by its name or its position.
Pair: TypeAlias = Sequence[Hashable]

# 19,000 rows: a forest answers within a second.
_ACROSS, _UP = 160, 120
_MOST_LEVELS = 12
_FINER = 4
_NEARLY_ALL = 0.8
# The window is at most this many times as wide as what the marks span: a small change is still seen.
_WIDEST = 14.0


@dataclass(frozen=True, eq=False)
class Axis:
    """One of the two features: the values that the model was asked about, within a window.

    Categories are numbered from 0 as in ``levels``, which is None for numbers; ``counts`` of training rows are those of
    a histogram with its ``edges``, or of each level. ``temporal``: the dates that numbers stand for.
    """

    name: str
    values: Floats
    low: float
    high: float
    levels: tuple[str, ...] | None
    edges: Floats
    counts: Floats
    temporal: Temporal | None = None


@dataclass(frozen=True)
class Mark:
    """A row on the map; a missing value is NaN. ``words`` name the two features, ``short`` only tells the values."""

    kind: Kind
    x: float
    y: float
    words: str
    short: str


@dataclass(frozen=True, eq=False)
class Regions:
    """The position in ``classes`` of what the model says at each place, (y, x), and how probable that is.

    ``own`` and ``target``: the positions of the row's class and of the counterfactual's.
    """

    caption: Caption
    x: Axis
    y: Axis
    classes: tuple[str, ...]
    own: int
    target: int | None
    decided: Ints
    probability: Floats
    marks: tuple[Mark, ...]
    missing: str
    shading: str
    teller: Teller


def regions_of(one: Counterfactual, features: Pair | None = None, wording: Wording | None = None) -> Regions:
    """Ask the model, in one batch, about all places of the map, and about the row, its donor and its counterfactual."""
    this = Explanation.of(one, wording, who="regions()")
    maker = this.batch.provenance.maker
    if maker is None:
        raise OptionError(
            "regions() asks the model, which this result does not hold: it is left out when a result is pickled. "
            "Draw it before pickling, or explain the row again."
        )
    donor = _donor(this.batch, maker)
    across, up = _pair(this, donor) if features is None else _named(this, features)
    shown: list[tuple[Kind, Floats]] = [("row", this.row)]
    if donor is not None:
        shown.append(("donor", donor))
    if this.formatted:
        shown.append(("counterfactual", this.values))
    points = np.array([values for _, values in shown])
    x, x_codes = _axis(this, across, points[:, across], _ACROSS)
    y, y_codes = _axis(this, up, points[:, up], _UP)
    places = np.repeat(this.row[None], len(x_codes) * len(y_codes), axis=0)
    places[:, across] = np.tile(x_codes, len(y_codes))
    places[:, up] = np.repeat(y_codes, len(x_codes))
    try:
        decided, probabilities = maker.outputs(np.concatenate([places, points]))
    except ModelError:  # Of what lies beyond training, a model may know nothing, such as the logarithm of 0.
        decided, probabilities = maker.outputs(np.concatenate([_within_training(this, places, points), points]))
    probability = probabilities[np.arange(len(decided)), decided]
    shape = (len(y_codes), len(x_codes))
    map_decided, map_probability = decided[: len(places)].reshape(shape), probability[: len(places)].reshape(shape)
    everywhere = probabilities[: len(places)].reshape(*shape, -1)
    target = this.batch.target
    if target is not None:  # a colour is the paler, the nearer a score is to the line that must be crossed
        map_probability = 0.5 + 0.5 * np.abs(target.closeness(map_probability))
    elif x.levels is None and y.levels is None and _is_smooth(map_decided, everywhere):
        x, y = _finer_axis(x), _finer_axis(y)
        map_decided, map_probability = _finer(everywhere)
    classes = tuple(map(this.formatter.label, range(len(this.batch.classes))))
    # Of the row itself it is known: where it contradicts itself, the model was asked about what would follow.
    others = zip(decided[len(places) + 1 :].tolist(), probabilities[len(places) + 1 :], strict=True)
    decisions = [this.now, *(this.decision_on(*one) for one in others)]
    marks = tuple(
        Mark(kind, _place(x, x_codes, values[across]), _place(y, y_codes, values[up]), *_words(this, kind, at, says))
        for (kind, values), at, says in zip(shown, _formatted(this, points, across, up), decisions, strict=True)
    )
    title = this.teller.say("plot.regions_title", x=x.name, y=y.name)
    alt = this.teller.say("plot.alt_message", title=title, words=_sentences(marks))
    return Regions(
        Caption(title, _subtitle(this), _notes(this, across, up, is_chosen=features is None), alt),
        x,
        y,
        classes,
        int(this.batch.before.decided[0]),
        int(this.batch.after.decided[0]) if this.found else None,
        map_decided,
        map_probability,
        marks,
        this.formatter.missing,
        this.teller.say("plot.regions_shading" if target is None else "plot.regions_shading_score"),
        this.teller,
    )


def _within_training(this: Explanation, places: Floats, points: Floats) -> Floats:
    """Return places with each number moved to the nearest that lies between training rows and points."""
    seen = this.batch.provenance.statistics.seen or ()
    known = np.concatenate([points, *([[getattr(one, end) for one in seen]] for end in ("low", "high") if seen)])
    known[:, this.batch.schema.is_categorical] = np.nan
    low, high = np.fmin.reduce(known), np.fmax.reduce(known)
    return np.where(np.isnan(low), places, np.clip(places, low, high))


def _is_smooth(decided: Ints, probabilities: Floats) -> bool:
    """Whether the highest probability decides, and changes from place to place: then it is known between them too."""
    changes = [np.diff(probabilities[..., 0], axis=axis) != 0 for axis in (0, 1)]
    is_changing = all(change.size and change.mean() > _NEARLY_ALL for change in changes)
    return is_changing and np.array_equal(decided, probabilities.argmax(axis=2))


def _finer_axis(axis: Axis) -> Axis:
    n_values = _FINER * (len(axis.values) - 1) + 1
    return replace(
        axis, values=np.interp(np.linspace(0, len(axis.values) - 1, n_values), range(len(axis.values)), axis.values)
    )


def _finer(probabilities: Floats) -> tuple[Ints, Floats]:
    """What is decided, and how probable it is, also between the places that the model was asked about."""
    n_up, n_across, _ = probabilities.shape
    for axis, n_places in enumerate((n_up, n_across)):
        at = np.linspace(0, n_places - 1, _FINER * (n_places - 1) + 1)
        low = np.minimum(at.astype(np.intp), max(n_places - 2, 0))
        share = np.expand_dims(at - low, tuple(i for i in range(3) if i != axis))
        high = np.minimum(low + 1, n_places - 1)
        probabilities = (1 - share) * probabilities.take(low, axis) + share * probabilities.take(high, axis)
    return probabilities.argmax(axis=2), probabilities.max(axis=2)


def _donor(batch: Batch, maker: Maker) -> Floats | None:
    position = batch.donors[0]
    return None if position is pd.NA else maker.donor(int(position))


def _named(this: Explanation, features: Pair) -> tuple[int, int]:
    """The two features asked for, numbers first; raises OptionError if they cannot be a map."""
    schema, is_derived = this.batch.schema, this.batch.is_derived
    numbers = [schema.names[j] for j in np.flatnonzero(~schema.is_categorical & ~is_derived)]
    how = f"Choose two features, at least one of them a number: {quoted(numbers)}."
    if isinstance(features, (str, bytes)) or not hasattr(features, "__len__") or len(features) != 2:
        raise OptionError(f"features={features!r} is not a pair. {how}")
    first, second = (schema.position(feature, "features") for feature in features)
    if first == second:
        raise OptionError(f"features={features!r} names one feature twice. {how}")
    if schema.is_categorical[[first, second]].all():
        raise OptionError(f"features={features!r} are both categorical. {how}")
    for j in (first, second):
        if is_derived[j]:
            raise OptionError(f"{schema.names[j]!r} follows from other columns, so it does not vary by itself. {how}")
    return (second, first) if schema.is_categorical[first] else (first, second)


def _pair(this: Explanation, donor: Floats | None) -> tuple[int, int]:
    """The two most important numbers that change; else those next in distance to the donor; else a category.

    Columns that move with others come last: one of them alone makes rows that cannot be.
    """
    is_categorical, is_together = this.batch.schema.is_categorical, this.batch.is_together
    changed = [j for j in this.made_to_change() if not is_together[j]] if this.formatted else []
    parts = np.zeros(len(is_categorical))
    if donor is not None:
        parts = this.batch.distance.features(this.row[None], donor[None])[0]
    # What never varies in training, or was never seen, makes a poor axis.
    is_flat = [len(statistics.counts) < 2 for statistics in this.batch.provenance.statistics.columns]
    others = set(np.flatnonzero(~this.batch.is_derived).tolist()) - set(changed) - this.batch.protected(0)
    rest = sorted(others, key=lambda j: (is_together[j], is_flat[j], -round(float(parts[j]), 9), j))
    order = [*changed, *rest]
    numbers = [j for j in order if not is_categorical[j]]
    if not numbers or len(order) < 2:
        raise OptionError(
            "regions() draws two features, at least one of them a number, which this table does not have. "
            "plots.changes() draws categories too."
        )
    changed_numbers = [j for j in numbers if j in changed]
    if len(numbers) > 1 and (changed_numbers or not changed):
        return numbers[0], numbers[1]
    return numbers[0], next(j for j in order if j != numbers[0])


def _axis(this: Explanation, j: int, marks: Floats, n_values: int) -> tuple[Axis, Floats]:
    """An axis, and the encoded values along it."""
    statistics = this.batch.provenance.statistics.columns[j]
    name = this.formatter.feature(j)
    if this.batch.schema.columns[j].is_categorical:
        return _levels(this, j, name, statistics, marks)
    present = marks[~np.isnan(marks)]
    temporal = this.batch.schema.columns[j].temporal
    low, high = _window(statistics, present, 0.5 if temporal is None else temporal.unit / 2)
    if (temporal is None or temporal.kind == "duration") and _has_no_negative(statistics, present):
        low = max(low, 0.0)
    grid = np.repeat(this.row[None], n_values, axis=0)
    grid[:, j] = np.linspace(low, high, n_values)
    # A column of whole numbers holds no others; asking about the same value again would be wasted.
    values = np.unique(this.batch.schema.rounded(grid)[:, j])
    return Axis(name, values, low, high, None, statistics.edges, evened(statistics, temporal), temporal), values


def _has_no_negative(statistics: ColumnStatistics, marks: Floats) -> bool:
    """Whether neither training values nor marks are below zero; the bar of a whole number begins half before it."""
    is_whole = statistics.is_exact and statistics.decimals == 0
    starts = statistics.edges[:1] + (0.5 if is_whole else 0.0)
    return bool((np.concatenate([starts, marks]) >= 0).all())


def _window(statistics: ColumnStatistics, marks: Floats, half: float = 0.5) -> tuple[float, float]:
    """Nearly all of the training values and all marks, but not so much that the marks become one."""
    low, high = (float(marks.min()), float(marks.max())) if len(marks) else (np.inf, -np.inf)
    span = high - low
    if statistics.counts.sum():
        share = np.cumsum(statistics.counts) / statistics.counts.sum()
        spread_low = float(statistics.edges[np.searchsorted(share, 0.005)])
        spread_high = float(statistics.edges[np.searchsorted(share, 0.995) + 1])
        room = (_WIDEST - 1) * span / 2 if span > 0 else np.inf
        low, high = min(low, max(spread_low, low - room)), max(high, min(spread_high, high + room))
    if not high > low:
        middle = low if np.isfinite(low) else 0.0
        return middle - half, middle + half
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _levels(this: Explanation, j: int, name: str, statistics: ColumnStatistics, marks: Floats) -> tuple[Axis, Floats]:
    """The categories of the marks, then the most frequent; a missing value where a mark has one."""
    column = this.batch.schema.columns[j]
    counts = np.zeros(len(column.levels), dtype=np.intp)
    counts[: len(statistics.counts)] = statistics.counts
    asked = list(dict.fromkeys(codes_of(marks).tolist()))
    common = column.common
    shareable = np.arange(len(counts)) if common is None else common[common >= 0].astype(np.intp)
    frequent = [
        int(code) for code in shareable[np.argsort(-counts[shareable], kind="stable")] if int(code) not in asked
    ]
    codes = sorted([*asked, *frequent[: max(_MOST_LEVELS - len(asked), 0)]])
    levels = tuple(this.formatter.value(j, code) for code in codes)
    held = np.array([statistics.n_missing if code < 0 else counts[code] for code in codes], dtype=np.float64)
    values = np.arange(len(codes), dtype=np.float64)
    axis = Axis(name, values, -0.5, len(codes) - 0.5, levels, np.empty(0), held)
    return axis, np.array([column.missing_code if code < 0 else code for code in codes], dtype=np.float64)


def _place(axis: Axis, codes: Floats, value: float) -> float:
    return float(value) if axis.levels is None else float(np.flatnonzero(~differs(codes, np.array(value)))[0])


def _formatted(this: Explanation, points: Floats, across: int, up: int) -> list[dict[str, str]]:
    """The two features of each row on the map: written beside the row's, so that one sees what differs."""
    return [
        {this.formatter.feature(j): this.formatter.pair(j, this.row[j], values[j])[1] for j in (across, up)}
        for values in points
    ]


def _words(this: Explanation, kind: Kind, at: dict[str, str], says: str) -> tuple[str, str]:
    who = this.teller.say(f"plot.{kind}")
    if kind == "donor":
        who = this.teller.say("plot.regions_donor", position=str(this.batch.donors[0]))
    named = ", ".join(f"{name} {value}" for name, value in at.items())
    return f"{who}: {named}: {says}", f"{who}: {', '.join(at.values())}: {says}"


def _subtitle(this: Explanation) -> str:
    if len(this.row) <= 2:
        return ""
    named = sorted(set(np.flatnonzero(this.batch.is_derived).tolist()) - this.batch.protected(0))
    derived = this.teller.listed(map(this.formatter.feature, named), 4)
    return this.teller.say("plot.regions_subtitle_derived" if derived else "plot.regions_subtitle", derived=derived)


def _notes(this: Explanation, across: int, up: int, *, is_chosen: bool) -> tuple[str, ...]:
    others = [j for j in this.made_to_change() if j not in (across, up)] if this.formatted else []
    also = this.told(map(this.step, others), 4)
    notes = [this.teller.say("plot.regions_also", changes=also)] if others else []
    if is_chosen and this.formatted:
        same = [this.formatter.feature(j) for j in (across, up) if j not in this.made_to_change()]
        notes += [this.teller.say("plot.regions_unchanged", feature=one) for one in same]
    return (*notes, this.nothing) if this.nothing else tuple(notes)


def _sentences(marks: tuple[Mark, ...]) -> str:
    return " ".join(f"{mark.words[:1].upper()}{mark.words[1:]}." for mark in marks)
