"""Boxes in words: what a changed feature may be, as "at least 680"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.box import Box, Side
from nicecf.results.boxes import boxes_of, held
from nicecf.support.types import Floats
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.rounding import FormattedNumber, digits

# Of more categories than these nobody reads the list: the new value stands for them.
_MOST_CATEGORIES = 6


def formatted_regions(
    batch: Batch,
    formatter: Formatter,
    numbers: Sequence[FormattedNumber | None],
    boxes: Sequence[Box | None] | None = None,
) -> list[str | None]:
    """What each change of a batch may be, in the order of its steps; None for those that are the new value alone.

    ``numbers``: as they are shown. The boxes are those around the shown values, which lie in what is said of them: a
    new value that is rounded may lie outside of the box around the exact one. Dates and durations, which no box is
    proven for, keep the new value. ``boxes``: those of the entries, None where there is none, if they are known and
    the values are shown as they are.
    """
    if boxes is None:
        boxes = boxes_of(batch, _as_shown(batch, numbers))
    said: list[str | None] = []
    lines: list[int] = batch.steps.row().tolist()
    for entry, feature, number in zip(lines, batch.steps.feature.tolist(), numbers, strict=True):
        box = boxes[entry]
        side = None if box is None else box.stated(feature)
        if side is not None and side.codes is None and number is None:
            side = None
        if side is not None and side.codes is not None and len(side.codes) > _MOST_CATEGORIES:
            side = None
        said.append(None if side is None else _said(batch, entry, side, formatter))
    return said


def _as_shown(batch: Batch, numbers: Sequence[FormattedNumber | None]) -> Floats:
    """The counterfactuals with their new values as they are shown."""
    lines, features = batch.steps.row(), batch.steps.feature
    values = batch.after.values.copy()
    for entry, feature, number in zip(lines.tolist(), features.tolist(), numbers, strict=True):
        if number is not None and number.after is not None:
            values[entry, feature] = float(number.after)
    shown = batch.after.values.copy()
    shown[lines, features] = batch.schema.rounded(values)[lines, features]
    maker = batch.provenance.maker
    return shown if maker is None or not batch.is_derived.any() else maker.completed(shown)


def _said(batch: Batch, entry: int, side: Side, formatter: Formatter) -> str:
    name, say = batch.schema.names[side.feature], formatter.wording.say
    if side.codes is not None:
        values = [formatter.value(name, held(batch, entry, side.feature, code)) for code in side.codes]
        return formatter.wording.phrases["region.or"].join(values)
    low, high = (_bound(batch, side.feature, bound, formatter) for bound in (side.low, side.high))
    if low is not None and high is not None:
        return say("region.between", low=low, high=high)
    return say("region.at_least", low=low) if high is None else say("region.at_most", high=high)


def _bound(batch: Batch, feature: int, bound: float, formatter: Formatter) -> str | None:
    """A bound in words, with at least the decimals of its column; None for an open end."""
    if not np.isfinite(bound):
        return None
    column, name = batch.schema.columns[feature], batch.schema.names[feature]
    shortest = digits(bound, batch.schema.container.number_dtype(column.prototype))
    padded = f"{bound:.{batch.provenance.statistics.columns[feature].decimals}f}"
    is_short = "e" not in shortest and len(shortest) < len(padded) and float(padded) == float(shortest)
    return formatter.measured(name, padded if is_short else shortest)
