"""Boxes in words: what a changed feature may be, as "at least 680"."""

from __future__ import annotations

from datetime import date

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.box import Side
from nicecf.results.boxes import boxes_of, held
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.rounding import digits


def formatted_regions(batch: Batch, formatter: Formatter) -> list[str | None]:
    """What each change of a batch may be, in the order of its steps; None for those that are the new value alone."""
    boxes = boxes_of(batch)
    said = []
    for entry, feature in zip(batch.steps.row().tolist(), batch.steps.feature.tolist(), strict=True):
        side = boxes[entry].side(feature)
        said.append(None if side is None or side.is_single else _said(batch, entry, side, formatter))
    return said


def _said(batch: Batch, entry: int, side: Side, formatter: Formatter) -> str:
    name, say = batch.schema.names[side.feature], formatter.wording.say
    if side.codes is not None:
        values = [formatter.value(name, held(batch, entry, side.feature, code)) for code in side.codes]
        return formatter.wording.phrases["region.or"].join(values)
    low, high = (_bound(batch, entry, side.feature, bound, formatter) for bound in (side.low, side.high))
    if low is not None and high is not None:
        return say("region.between", low=low, high=high)
    is_date = isinstance(batch.changes["after"].iat[_step(batch, entry, side.feature)], date)
    if high is None:
        return say("region.since" if is_date else "region.at_least", low=low)
    return say("region.until" if is_date else "region.at_most", high=high)


def _step(batch: Batch, entry: int, feature: int) -> int:
    start, end = batch.steps.starts[entry : entry + 2]
    return int(start + np.flatnonzero(batch.steps.feature[start:end] == feature)[0])


def _bound(batch: Batch, entry: int, feature: int, bound: float, formatter: Formatter) -> str | None:
    """A bound in words; None for an open end."""
    if not np.isfinite(bound):
        return None
    column, name = batch.schema.columns[feature], batch.schema.names[feature]
    if column.temporal is not None:
        return formatter.value(name, held(batch, entry, feature, bound))
    return formatter.measured(name, digits(bound, batch.schema.container.number_dtype(column.prototype)))
