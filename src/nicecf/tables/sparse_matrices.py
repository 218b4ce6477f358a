"""Sparse matrices and arrays of scipy, of any format: numbers only, dense inside.

A search compares all cells of a row, so that rows are dense inside the package: the training table is made so once, and
only if it fits. What a model is handed, and what comes back, is sparse again.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from nicecf.exceptions import SchemaError
from nicecf.support.types import Bools, Floats, Ints, Objects, Table
from nicecf.tables import cells as shared
from nicecf.tables.numpy_arrays import NumpyArrays

# In bytes, of a table as dense floats. A fit holds about three of them at its peak.
LARGEST_DENSE_TABLE = 4 * 2**30

# Formats that list the cells they hold one by one; others fill up blocks or diagonals with zeros.
_LISTS_CELLS = ("csr", "csc", "coo")


class SparseMatrices(NumpyArrays):
    """Sparse matrices and arrays of scipy. A column of one is a numpy array, and all else is as for those."""

    label = "scipy sparse matrix"

    def n_rows(self, X: Table) -> int:
        return int(X.shape[0])

    def column(self, X: Table, position: int) -> Objects:
        by_column = X.tocsc()
        held = slice(by_column.indptr[position], by_column.indptr[position + 1])
        cells = np.zeros(X.shape[0], dtype=X.dtype)
        np.add.at(cells, by_column.indices[held], by_column.data[held])
        return cells

    def by_columns(self, X: Table) -> Table:
        return X.tocsc()

    def rows(self, X: Table, where: slice) -> Table:
        return X.tocsr()[where]  # the format in which a model is handed rows

    def take(self, X: Table, rows: Ints) -> Table:
        return X.tocsr()[rows].asformat(X.format)

    def labels(self, X: Table) -> pd.Index[Any]:
        return pd.RangeIndex(X.shape[0])

    def read_all(self, X: Table, names: list[Hashable]) -> Floats:
        """All cells as floats, column after column; SchemaError for what a sparse matrix must not hold."""
        self.kind(np.empty(0, dtype=X.dtype), names[0])
        if X.dtype.kind not in "biuf":
            raise SchemaError(f"X is a sparse matrix of dtype {X.dtype}; it must hold numbers or booleans.")
        _check_size(X)
        given = X.tocsr()
        if X.format in _LISTS_CELLS and (is_zero := given.data == 0).any():
            raise SchemaError(
                f"X stores {np.count_nonzero(is_zero):,} zeros explicitly. Some models tell them from cells that are "
                "not stored, others do not, so that it is not clear what they mean. Call X.eliminate_zeros() first, "
                "and train the model on the same."
            )
        if X.dtype.kind in "iu" and given.nnz:
            shared.refuse_large_integers(given.data.min(), given.data.max(), "X")
        return np.asarray(given.astype(np.float64).toarray(order="F"))

    def plain_numbers(self, X: Table) -> tuple[Ints, Floats]:
        return np.empty(0, dtype=np.intp), np.empty((self.n_rows(X), 0))

    def write_all(self, values: Floats, like: Table) -> Table:
        """Floats as a matrix of the class, format and dtype of ``like``, or a wider dtype where that cannot hold them.

        No zero is stored.
        """
        held = shared.held(np.asarray(values), like.dtype)
        if held.dtype.kind == "O":
            held = np.asarray(values, dtype=np.float64)
        rows = sparse.csr_array(held) if isinstance(like, sparse.sparray) else sparse.csr_matrix(held)
        return rows.asformat(like.format)

    def assemble(self, columns: list[Any], header: Table, index: Table | None) -> Table:
        return self.write_all(np.column_stack(columns).astype(np.float64), header)

    def blank(self, X: Table, rows: Bools) -> Table:
        # Of whole numbers, floats: what fits into 53 bits is the same there.
        values = X.toarray().astype(np.result_type(X.dtype, np.float32 if X.dtype.kind == "f" else np.float64))
        values[rows] = np.nan
        return self.write_all(values, X.astype(values.dtype))


def _check_size(X: Table) -> None:
    n_rows, n_columns = X.shape
    size = n_rows * n_columns * 8
    if size > LARGEST_DENSE_TABLE:
        most = LARGEST_DENSE_TABLE // (8 * max(1, n_columns))
        raise SchemaError(
            f"X has {n_rows:,} rows and {n_columns:,} columns: as dense numbers, which distances need, that is "
            f"{size / 2**30:.1f} GiB, and the limit is {LARGEST_DENSE_TABLE / 2**30:.0f} GiB. Pass fewer rows (at most "
            f"{most:,} of so many columns; a sample of the training data will do), or select fewer features, and "
            "train the model on these."
        )
