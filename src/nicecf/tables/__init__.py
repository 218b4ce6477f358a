"""Tables as people have them: one adapter for each container, all with the same methods.

An adapter reads a column into floats or codes and writes floats or codes back as a column. It knows nothing of what a
column means; that is ``schema.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy import sparse

from nicecf.exceptions import SchemaError, listed
from nicecf.support.types import Bools, Cells, Floats, Ints, Objects, Table
from nicecf.tables.cells import Kind
from nicecf.tables.not_tables import instead_of
from nicecf.tables.numpy_arrays import NumpyArrays
from nicecf.tables.pandas_frames import PandasFrames
from nicecf.tables.polars_frames import PolarsFrames
from nicecf.tables.sparse_matrices import SparseMatrices
from nicecf.tables.temporal import Temporal


class Container(Protocol):
    """What the rest of the package needs to know of a kind of table."""

    label: str

    def names(self, X: Table) -> list[Hashable]: ...
    def n_rows(self, X: Table) -> int: ...
    def column(self, X: Table, position: int) -> Cells: ...

    def by_columns(self, X: Table) -> Table:
        """The same table in a form in which to take one column after the other is quick."""

    def rows(self, X: Table, where: slice) -> Table: ...
    def take(self, X: Table, rows: Ints) -> Table: ...

    def read_all(self, X: Table, names: list[Hashable]) -> Floats | None:
        """All cells as floats, if the table holds numbers of one dtype only; None if columns are read one by one."""

    def plain_numbers(self, X: Table) -> tuple[Ints, Floats]:
        """Return the positions of columns that can be read together, and their cells as floats, missing as NaN.

        They hold numbers of dtypes that mark missing cells by NaN alone. Others are read one by one.
        """

    def write_all(self, values: Floats, like: Table) -> Table | None:
        """Floats as a table of the kind and dtype of ``like``, or wider; None if columns are written one by one.

        The index is that of ``like``, if that has as many rows.
        """

    def kind(self, cells: Cells, name: Hashable) -> Kind:
        """What the column looks like; SchemaError when it can be neither number nor category nor date."""

    def numbers(self, cells: Cells, name: Hashable) -> Floats:
        """The cells as floats, missing as NaN; may share memory with the caller's table."""

    def moments(self, cells: Cells, name: Hashable) -> tuple[Temporal, Floats] | None:
        """Dates or durations as floats, missing as NaN, and what they are; None for a column of anything else."""

    def write_moments(self, values: Floats, temporal: Temporal, like: Cells, missing: Any) -> Cells:
        """Such floats as a column of the dtype of ``like``, or of one with smaller units that can hold them."""

    def factorize(self, cells: Cells, name: Hashable) -> tuple[Ints, list[Any]]:
        """The cells as codes into their distinct values, missing as -1."""

    def ordered(self, cells: Cells) -> tuple[Ints, list[Any]] | None:
        """The cells of an ordered dtype as ranks, missing as -1, and all its levels from low to high; else None."""

    def native_levels(self, levels: Sequence[Any], like: Cells, order: Sequence[Any] | None = None) -> Any:
        """The distinct values in the form that ``write_levels`` takes from.

        ``order``: all levels from low to high. A dtype with an order that lacks some of ``levels`` gets them in there.
        """

    def write_numbers(self, values: Floats, like: Cells) -> Cells:
        """Floats as a column of the dtype of ``like``, or a wider one where that cannot hold them."""

    def number_dtype(self, like: Cells) -> np.dtype[Any]:
        """The numpy dtype in which the numbers of such a column are held; of dates and durations, none of numbers."""

    def write_levels(self, codes: Ints, native_levels: Any, missing: Any) -> Cells:
        """Codes as a column; -1 becomes missing."""

    def objects(self, cells: Cells, rows: Ints) -> Objects:
        """Some cells as plain Python values, missing as None."""

    def labels(self, X: Table) -> pd.Index[Any]:
        """What people call the rows: the index of a frame that has one, else positions."""

    def assemble(self, columns: list[Cells], header: Table, index: Table | None) -> Table:
        """Columns as a table with the names (or, of an array, the dtype) of ``header`` and the index of ``index``."""

    def prototype(self, cells: Cells) -> Cells:
        """A stand-in for the column: its dtype and its way to mark missing, without its cells."""

    def overlay(self, cells: Cells, where: Bools, replacement: Cells) -> Cells:
        """A copy of the cells with those under ``where`` taken from ``replacement``."""

    def blank(self, X: Table, rows: Bools) -> Table:
        """A copy of the table in which all cells of ``rows`` are missing."""


def container_of(X: Table, *, as_in_fit: Container | None = None) -> Container:
    """The adapter for a table, or a SchemaError that says what to pass instead: of the kind that ``fit`` got."""
    if isinstance(X, pd.DataFrame):
        return PandasFrames()
    if isinstance(X, (np.matrix, np.ma.MaskedArray)):
        advice = "np.asarray(X)" if isinstance(X, np.matrix) else "X.filled(np.nan), so that masked cells are missing"
        raise SchemaError(f"X is a numpy {type(X).__name__}, which does not behave like a plain array. Pass {advice}.")
    if isinstance(X, np.ndarray):
        if X.dtype.names is None and X.ndim == 2:
            return NumpyArrays()
        if X.dtype.names is not None:
            raise SchemaError(
                f"X is a structured array with the fields {listed(X.dtype.names)}. {instead_of(X, as_in_fit)}"
            )
        raise SchemaError(
            f"X must have two dimensions, got an array of shape {X.shape}. "
            "Pass one row as X[[0]] or row.reshape(1, -1)."
        )
    if sparse.issparse(X):
        if X.ndim == 2:
            return SparseMatrices()
        raise SchemaError(
            f"X must have two dimensions, got a sparse array of shape {X.shape}. Pass one row as X.reshape(1, -1)."
        )
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.DataFrame):
        return PolarsFrames()
    raise SchemaError(
        "X must be a pandas DataFrame, a polars DataFrame, a two-dimensional numpy array or a scipy sparse matrix, "
        f"got {type(X).__module__}.{type(X).__name__}. {instead_of(X, as_in_fit)}".rstrip()
    )
