"""A training table that stays on Dask: `dask.fit`. Three functions for each partition, a pandas frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from nicecf.engines.dask import on_workers
from nicecf.engines.on_cluster import (
    ClusterNICE,
    Sketch,
    checked_explainer,
    checked_positions,
    checked_roles,
    starts_of,
)
from nicecf.engines.packed import PickledExplainer, dump_or_raise, one_thread
from nicecf.engines.training_parts import (
    Candidates,
    Counts,
    NearestAsked,
    Part,
    Roles,
    Sketcher,
    joined_candidates,
    nearest_in,
    predicted,
)
from nicecf.exceptions import SchemaError
from nicecf.support.extras import require
from nicecf.support.types import Ints
from nicecf.tables.files.arrow import in_floats

# Candidates of so many partitions are put together at once.
_TOGETHER = 16


def fitted_on(
    frame: Any, label: str, model: Any, id: str | None, sample: int, options: Mapping[str, Any]
) -> ClusterNICE:
    """See `dask.fit`."""
    import cloudpickle

    dask = _dask()
    nice = checked_explainer(model, options)
    roles = checked_roles(list(frame.columns), label, id, sample)
    dump_or_raise(model, cloudpickle.dumps, "model")
    parts = frame[roles.columns].to_delayed()
    sketcher = Sketcher.of(nice, roles, sample=sample, n_parts=max(1, len(parts)))
    sketch = _sketch(dask.compute(*[dask.delayed(_sketched)(part, sketcher) for part in parts]), roles)
    sketch = sketch.reduced(sketcher, sample)
    fitted = sketch.fitted(nice, sketcher)
    shipped = on_workers(PickledExplainer.of(fitted, cloudpickle.dumps))
    starts = starts_of(sketch.counts)
    training = _Training(
        [
            dask.delayed(_predicted)(part, roles, shipped, starts[number], sketch.counts[number].n_rows)
            for number, part in enumerate(parts)
            if number in starts
        ],
        shipped,
    )
    n_decided = training.n_decided(len(fitted.classes_))
    return ClusterNICE(fitted, sketch.part(fitted, roles), n_decided, training.nearest, training.unpersist)


class _Training:
    """The partitions with what the models say of them, kept where they are."""

    def __init__(self, parts: list[Any], shipped: Any) -> None:
        dask = _dask()
        self._lazy = parts
        self._kept = list(dask.persist(*parts))
        self._shipped = shipped

    def n_decided(self, n_classes: int) -> Ints:
        """How many training rows the model puts into each class."""
        dask = _dask()
        counts = dask.compute(*[dask.delayed(_decided)(part, n_classes) for part in self._kept])
        return np.asarray(np.sum(counts, axis=0), dtype=np.intp)

    def nearest(self, asked: NearestAsked) -> Part:
        """The candidates of all partitions, the nearest of each row alone."""
        dask = _dask()
        call = dask.delayed(asked)
        found = [dask.delayed(_nearest)(part, self._shipped, call) for part in self._kept]
        # Ends: every turn leaves fewer than before.
        while len(found) > 1:
            found = [
                dask.delayed(joined_candidates)(found[at : at + _TOGETHER], asked.most)
                for at in range(0, len(found), _TOGETHER)
            ]
        (candidates,) = dask.compute(*found)
        part: Part = candidates.part
        return part

    def unpersist(self) -> None:
        """Forget what is kept: it is made again when it is needed."""
        self._kept = self._lazy


def _dask() -> Any:
    """The package, which has no types."""
    require("dask.dataframe", extra="dask", needed_by="nicecf.engines.dask")
    return require("dask", extra="dask", needed_by="nicecf.engines.dask")


def _sketched(part: pd.DataFrame, sketcher: Sketcher) -> tuple[pd.DataFrame, Ints, Counts] | None:
    if not len(part):
        return None
    part = _in_order(part, sketcher.roles)
    offsets, counts = sketcher(part)
    return part.iloc[offsets], offsets, counts


def _sketch(told: Any, roles: Roles) -> Sketch:
    """What all partitions chose, in training order."""
    chosen = {number: one for number, one in enumerate(told) if one is not None}
    if not chosen:
        raise SchemaError("the frame has no rows; it needs at least one.")
    counts = {number: counts for number, (_, _, counts) in chosen.items()}
    rows = _dask().dataframe.dispatch.concat([rows for rows, _, _ in chosen.values()]).reset_index(drop=True)
    if roles.id is None:
        starts = starts_of(counts)
        return Sketch(
            rows, np.concatenate([starts[number] + offsets for number, (_, offsets, _) in chosen.items()]), counts
        )
    positions = checked_positions(rows[roles.id], roles.id)
    order = np.argsort(positions, kind="stable")
    return Sketch(rows.iloc[order].reset_index(drop=True), positions[order], counts)


def _predicted(part: pd.DataFrame, roles: Roles, shipped: PickledExplainer, start: int, n_rows: int) -> Part:
    if len(part) != n_rows:
        raise SchemaError(
            f"a partition of the training table has {len(part):,} rows, but had {n_rows:,} a moment ago: it is made "
            "anew each time, and not the same. Write the table to a file and fit to that."
        )
    part = _in_order(part, roles)
    positions = start + np.arange(n_rows) if roles.id is None else checked_positions(part[roles.id], roles.id)
    with one_thread():
        return predicted(shipped.opened(), part[list(roles.features)], part[roles.label], positions)


def _decided(part: Part, n_classes: int) -> Ints:
    return np.bincount(part.decisions, minlength=n_classes)


def _nearest(part: Part, shipped: PickledExplainer, asked: NearestAsked) -> Candidates:
    with one_thread():
        return nearest_in(shipped.opened(), part, asked)


def _in_order(part: pd.DataFrame, roles: Roles) -> pd.DataFrame:
    """A partition in training order, decimals as floats."""
    if roles.id is not None:
        part = part.iloc[roles.order(checked_positions(part[roles.id], roles.id))]
    return in_floats(part.reset_index(drop=True))
