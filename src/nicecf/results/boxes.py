"""The boxes of a batch, as values and as a table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError
from nicecf.results.batch import Batch
from nicecf.results.box import Box
from nicecf.support.types import CellValue, Floats, Objects


def boxes_of(batch: Batch, after: Floats | None = None) -> list[Box]:
    """Return the box of each entry: see `each_box`."""
    return list(each_box(batch, after))


def each_box(batch: Batch, after: Floats | None = None) -> Iterator[Box]:
    """Yield the box of each entry; without sides where nothing changes. The model is asked.

    ``after``: values to find the boxes around in place of the counterfactuals', with the same changes.
    """
    maker = batch.provenance.maker
    if maker is None:
        raise OptionError(
            "boxes() asks the model, which this result does not hold: it is left out when a result is pickled. "
            "Explain the rows again."
        )
    changes = [
        batch.steps.feature[start:end] for start, end in zip(batch.steps.starts, batch.steps.starts[1:], strict=False)
    ]
    features = [
        some[~batch.is_derived[some]] if found else some[:0] for some, found in zip(changes, batch.found, strict=True)
    ]
    after = batch.after.values if after is None else after
    return maker.boxes(batch.rows, batch.before.values, after, batch.after.decided, features)


def boxes_table(batch: Batch) -> pd.DataFrame:
    """One line per changed feature: row, feature, before, after, low, high, values, proof."""
    boxes = boxes_of(batch)
    entry = np.array([at for at, box in enumerate(boxes) for _ in box.sides], dtype=np.intp)
    sides = [side for box in boxes for side in box.sides]
    feature = np.array([side.feature for side in sides], dtype=np.intp)
    names = np.empty(len(batch.schema.names), dtype=object)
    names[:] = batch.schema.names
    which = {"counterfactual": batch.numbers[entry]} if batch.has_several else {}
    ends = {
        name: [
            None if side.codes is not None or not np.isfinite(bound) else held(batch, at, side.feature, bound)
            for at, side, bound in zip(entry.tolist(), sides, bounds, strict=True)
        ]
        for name, bounds in (("low", [side.low for side in sides]), ("high", [side.high for side in sides]))
    }
    values = [
        None if side.codes is None else tuple(held(batch, at, side.feature, code) for code in side.codes)
        for at, side in zip(entry.tolist(), sides, strict=True)
    ]
    given = (batch.before.values, batch.after.values)
    before, after = (
        [held(batch, at, side.feature, some[at, side.feature]) for at, side in zip(entry.tolist(), sides, strict=True)]
        for some in given
    )
    return pd.DataFrame(
        {
            "row": batch.labels[entry],
            **which,
            "feature": names[feature],
            **{name: _objects(some) for name, some in (("before", before), ("after", after))},
            **{name: _objects(some) for name, some in ends.items()},
            "values": _objects(values),
            "proof": np.array([boxes[at].proof for at in entry.tolist()], dtype=object),
        }
    )


def held(batch: Batch, entry: int, feature: int, value: float) -> CellValue:
    """An encoded value of a feature as the column of an entry holds it; None if it is missing."""
    container, here = batch.schema.container, np.array([entry])
    values = batch.before.values[here].copy()
    values[0, feature] = value
    table = batch.schema.restore(container.take(batch.table, here), batch.before.values[here], values)
    position = batch.schema.positions(batch.table)[feature]
    cell: CellValue = container.objects(container.column(container.by_columns(table), position), np.array([0]))[0]
    return cell


def _objects(values: list[CellValue]) -> Objects:
    objects = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        objects[at] = value
    return objects
