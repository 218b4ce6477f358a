"""polars; imported by the caller, never by us."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import SchemaError
from nicecf.support.time_zones import zone_of
from nicecf.support.types import Bools, Cells, Floats, Ints, Objects, Table
from nicecf.tables import cells as shared
from nicecf.tables.cells import Kind
from nicecf.tables.temporal import PER_UNIT, Temporal, TemporalKind, numbers_of_units, unit_of, whole_numbers


class PolarsFrames:
    """polars; imported by the caller, never by us."""

    label = "polars DataFrame"

    def names(self, X: Table) -> list[Hashable]:
        return list(X.columns)

    def n_rows(self, X: Table) -> int:
        return int(X.height)

    def column(self, X: Table, position: int) -> Cells:
        # Under a name of our own: methods of a Series read a name such as ^x.*$ as a pattern.
        return X.to_series(position).alias("cells")

    def by_columns(self, X: Table) -> Table:
        return X

    def rows(self, X: Table, where: slice) -> Table:
        return X[where]

    def take(self, X: Table, rows: Ints) -> Table:
        return X[rows]

    def read_all(self, X: Table, names: list[Hashable]) -> Floats | None:
        return None

    def plain_numbers(self, X: Table) -> tuple[Ints, Floats]:
        return np.empty(0, dtype=np.intp), np.empty((self.n_rows(X), 0))

    def write_all(self, values: Floats, like: Table) -> Table | None:
        return None

    def kind(self, cells: Cells, name: Hashable) -> Kind:
        pl = _polars()
        if cells.dtype.is_numeric():
            return "number"
        if cells.dtype in (pl.Boolean, pl.String, pl.Categorical, pl.Enum, pl.Null):
            return "category"
        if cells.dtype in (pl.Date, pl.Datetime, pl.Duration):
            return "temporal"
        return shared.kind_of_values(str(cells.dtype).lower(), cells.dtype, name)

    def numbers(self, cells: Cells, name: Hashable) -> Floats:
        pl = _polars()
        if not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Null)):
            return shared.floats_of_objects(np.array(cells.to_list(), dtype=object), name)
        if cells.dtype.is_integer() and len(cells) > cells.null_count():
            shared.refuse_large_integers(cells.min(), cells.max(), name)
        if cells.dtype.is_float() and cells.null_count() and cells.is_nan().any():
            raise SchemaError(
                f"column {name!r} marks missing values in two ways, by null and by NaN; a model may tell them apart. "
                "Use one: .fill_nan(None)."
            )
        return cells.cast(pl.Float64).to_numpy()

    def moments(self, cells: Cells, name: Hashable) -> tuple[Temporal, Floats] | None:
        pl = _polars()
        dtype = cells.dtype
        if dtype not in (pl.Date, pl.Datetime, pl.Duration):
            return None
        kind: TemporalKind = "date" if dtype == pl.Date else "datetime" if dtype == pl.Datetime else "duration"
        unit = "D" if dtype == pl.Date else dtype.time_unit
        held = cells.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
        numbers = numbers_of_units(held, cells.is_null().to_numpy(), unit, kind, name)
        zone = getattr(dtype, "time_zone", None)
        tz = None if zone is None else zone_of(zone)
        return Temporal(kind, zone, unit_of(numbers, PER_UNIT[unit]), None, tz), numbers

    def write_moments(self, values: Floats, temporal: Temporal, like: Cells, missing: Any) -> Cells:
        pl = _polars()
        whole, is_missing = whole_numbers(values)
        dtype = like.dtype
        unit = "D" if dtype == pl.Date else dtype.time_unit
        if PER_UNIT[unit] > 1 and (whole % PER_UNIT[unit]).any():  # the dtype cannot hold them
            unit = "us"
            dtype = pl.Duration(unit) if dtype == pl.Duration else pl.Datetime(unit, getattr(dtype, "time_zone", None))
        held = pl.Series(whole * 1000 if unit == "ns" else whole // PER_UNIT[unit], dtype=pl.Int64)
        held = held.set(pl.Series(is_missing), None) if is_missing.any() else held
        return (held.cast(pl.Int32) if unit == "D" else held).cast(dtype)

    def factorize(self, cells: Cells, name: Hashable) -> tuple[Ints, list[Any]]:
        pl = _polars()
        if cells.dtype in (pl.Categorical, pl.Enum):
            cells = cells.cast(pl.String)
        return shared.factorize(np.array([*cells.to_list(), None], dtype=object)[:-1], name)

    def ordered(self, cells: Cells) -> tuple[Ints, list[Any]] | None:
        pl = _polars()
        if cells.dtype != pl.Enum:  # polars sorts and compares an Enum by its categories, other dtypes as text
            return None
        ranks = cells.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return ranks.astype(np.intp, copy=False), cells.dtype.categories.to_list()

    def native_levels(self, levels: Sequence[Any], like: Cells, order: Sequence[Any] | None = None) -> Any:
        pl = _polars()
        dtype = like.dtype
        if dtype == pl.Enum:
            own = dtype.categories.to_list()
            unseen = [level for level in levels if level not in set(own)]
            if unseen:
                known = {*own, *unseen}
                dtype = pl.Enum([*own, *unseen] if order is None else [level for level in order if level in known])
        written = pl.Series(list(levels), dtype=dtype, strict=False)
        return pl.Series(list(levels)) if written.null_count() else written  # the dtype cannot hold them all

    def write_numbers(self, values: Floats, like: Cells) -> Cells:
        pl = _polars()
        # A float column may mark missing by NaN instead of null: keep to the way it uses.
        plain = pl.Series(values, nan_to_null=not (like.dtype.is_float() and like.is_nan().any()))
        if like.dtype in (pl.Float64, pl.Null):
            return plain
        written = plain.cast(like.dtype, strict=False)
        exact = shared.are_same(written.cast(pl.Float64).to_numpy(), values)
        return written if exact else plain

    def number_dtype(self, like: Cells) -> np.dtype[Any]:
        pl = _polars()
        # numpy has no integers of 128 bits; those beyond 2**53 are refused in any case.
        if like.dtype in (getattr(pl, "Int128", None), getattr(pl, "UInt128", None)):
            return np.dtype(np.int64)
        return np.dtype(like.clear().to_numpy().dtype)

    def write_levels(self, codes: Ints, native_levels: Any, missing: Any) -> Cells:
        pl = _polars()
        positions = pl.Series(codes, dtype=pl.Int64)
        if (codes < 0).any():
            positions = positions.set(positions < 0, None)
        return native_levels.gather(positions)

    def objects(self, cells: Cells, rows: Ints) -> Objects:
        return shared.plain_objects(cells.gather(rows).to_list())

    def labels(self, X: Table) -> pd.Index[Any]:
        return pd.RangeIndex(X.height)

    def assemble(self, columns: list[Cells], header: Table, index: Table | None) -> Table:
        pl = _polars()
        return pl.DataFrame([c.alias(name) for c, name in zip(columns, header.columns, strict=True)])

    def prototype(self, cells: Cells) -> Cells:
        pl = _polars()
        is_nan = cells.dtype.is_float() and cells.is_nan().any()
        return pl.Series([float("nan")] if is_nan else [], dtype=cells.dtype)

    def overlay(self, cells: Cells, where: Bools, replacement: Cells) -> Cells:
        return replacement

    def blank(self, X: Table, rows: Bools) -> Table:
        pl = _polars()
        keep = pl.lit(pl.Series(~rows))
        return X.select(pl.when(keep).then(pl.all()).otherwise(None).name.keep())


def _polars() -> Any:
    return sys.modules["polars"]
