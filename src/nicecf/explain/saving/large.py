"""Large explainers: the training rows, and what is known of their leaves, are mapped from the file and not read.

The rows stand one after the other, so that comparing a row with a donor reads one page of the file; what a search looks
at first, boxes and a byte for each value, is there beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nicecf.explain.fitted import Fitted
from nicecf.explain.saving.archive import Damaged, Large
from nicecf.explain.saving.arrays import Reader, npy
from nicecf.search.distance import Heom
from nicecf.search.neighbors import DonorIndex, Leaves
from nicecf.search.sketch import Sketch, compiled_for
from nicecf.support.types import Floats, Ints
from nicecf.tables.reduced import ReducedSchema

# From this many values on: reading them takes seconds, and a few hundred megabytes.
LEAST_VALUES = 2**25
ROWS, CODES = "rows", "leaf_bytes"
_BOXES = {"low": np.float64, "high": np.float64, "has_missing": np.bool_, "is_missing": np.bool_}
_ROWS_AT_ONCE = 50_000
# Leaves whose boxes and bytes are made again, and compared.
_LEAVES_CHECKED = 16


def is_large(fitted: Fitted) -> bool:
    """Whether an explainer is saved with its rows to be mapped: it is large, and its rows are those of the table.

    Not where a tree's cells are known: these are of all values, and in memory in any case.
    """
    assert fitted.neighborhood is not None
    donors = fitted.neighborhood.donors
    n_rows, n_features = len(donors.index.values) + len(donors.index.other_values), donors.index.values.shape[1]
    is_own = not isinstance(fitted.schema, ReducedSchema) and donors.cells is None
    return is_own and n_rows * n_features >= LEAST_VALUES


def rows_to_members(index: DonorIndex) -> dict[str, bytes | Large]:
    """The rows, donors first; the boxes of the leaves; and the bytes of the compiled search, if there is one."""
    n_donors, n_features = index.values.shape
    n_rows = n_donors + len(index.other_values)
    members: dict[str, bytes | Large] = {
        f"boxes_{name}.npy": npy(np.ascontiguousarray(np.concatenate([getattr(one, name) for one in index.leaves])))
        for name in _BOXES
    }
    members[ROWS] = Large("<f8", (n_rows, n_features), lambda: _parts(index))
    if compiled_for(n_donors) is not None:
        sketches = [one for one in index.sketches.of_groups if one is not None]
        members[CODES] = Large("|u1", (n_donors * n_features,), lambda: (one.codes.data for one in sketches))
    return members


def _parts(index: DonorIndex) -> Iterator[Any]:
    for rows in (index.values, index.other_values):
        for at in range(0, len(rows), _ROWS_AT_ONCE):
            yield np.ascontiguousarray(rows[at : at + _ROWS_AT_ONCE], dtype="<f8").data


def index_from_mapped(
    members: Mapping[str, Any], rows: Floats, positions: Ints, starts: Sequence[Ints], distance: Heom, read: Reader
) -> DonorIndex:
    """The index with the same leaves, of which no row is read but those of a few leaves, which are checked."""
    n_leaves, n_features = [len(bounds) - 1 for bounds in starts], rows.shape[1]
    boxes = {name: read(f"boxes_{name}", dtype, [sum(n_leaves), n_features]) for name, dtype in _BOXES.items()}
    ends = np.cumsum(n_leaves)
    leaves = tuple(
        Leaves(bounds, *(np.asfortranarray(boxes[name][end - n : end]) for name in _BOXES))
        for bounds, n, end in zip(starts, n_leaves, ends.tolist(), strict=True)
    )
    codes = members.get(CODES)
    if codes is not None:
        read.names.add(CODES)
        if codes.shape != (int(starts[-1][-1]) * n_features,) or codes.dtype != np.uint8:
            raise Damaged("the bytes of its leaves do not match its donors")
    index = DonorIndex.stored(rows, positions, leaves, distance, codes)
    _check_leaves(index)
    return index


def mapped_rows(members: Mapping[str, Any], n_rows: int, n_features: int, read: Reader) -> Floats | None:
    """The rows that are mapped, None if they are not; Damaged if they have another shape."""
    rows = members.get(ROWS)
    if rows is None:
        return None
    read.names.discard("training.arrow")
    read.names.add(ROWS)
    if not isinstance(rows, np.ndarray) or rows.shape != (n_rows, n_features) or rows.dtype != np.float64:
        raise Damaged("its rows do not match its manifest")
    return rows


def _check_leaves(index: DonorIndex) -> None:
    """Damaged unless the boxes, and the bytes, of some leaves are those of their donors."""
    is_compiled = index.sketches.codes is not None and compiled_for(len(index.values)) is not None
    for leaves in index.leaves:
        n_leaves = len(leaves.low)
        some = np.unique(np.linspace(0, n_leaves - 1, _LEAVES_CHECKED).astype(np.intp)) if n_leaves else np.arange(0)
        for leaf in some.tolist():
            bounds = leaves.starts[leaf : leaf + 2]
            again = DonorIndex.cut(index.values, index.positions, [bounds], index.distance).leaves[0]
            if any(not np.array_equal(getattr(again, name)[0], getattr(leaves, name)[leaf]) for name in _BOXES):
                raise Damaged("the boxes of its leaves are not those of its rows")
            if is_compiled:
                codes, width = index.sketches.codes, index.values.shape[1]
                assert codes is not None
                made = Sketch.of(index.values, again, index.distance.scales == 0.0).codes
                if not np.array_equal(made, codes[bounds[0] * width : bounds[1] * width]):
                    raise Damaged("the bytes of its leaves are not those of its rows")
