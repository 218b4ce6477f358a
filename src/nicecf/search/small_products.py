"""Products of matrices in pieces so small that the library of linear algebra starts no second thread for them.

Waiting for that thread takes several times as long as the product, and twenty times where another process keeps a core
busy. A limit for the library would hold for the whole process: threads that explain at the same time would be in each
other's way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# So many multiplications are done on one thread.
_ON_ONE_THREAD = 2**18
# Of larger matrices, a product is worth its threads.
_LEAST_LINES = 4


def on_one_thread(rows: np.ndarray[Any, Any], columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``rows @ columns``, some rows at a time.

    >>> on_one_thread(np.eye(3), np.arange(6.0).reshape(3, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    n_rows, n_lines = len(rows), lines_at_once(*columns.shape)
    if n_lines < _LEAST_LINES or n_rows <= n_lines:
        return np.asarray(rows @ columns)
    n_pieces = -(-n_rows // n_lines)
    filled_up = np.zeros((n_pieces * n_lines, rows.shape[1]), dtype=rows.dtype)
    filled_up[:n_rows] = rows
    # Stacked: a product for each piece, all in one call.
    product = filled_up.reshape(n_pieces, n_lines, rows.shape[1]) @ columns
    return np.asarray(product.reshape(n_pieces * n_lines, columns.shape[1])[:n_rows])


def lines_at_once(n_lines: int, n_columns: int) -> int:
    """How many rows are multiplied at a time by a matrix of this shape.

    >>> lines_at_once(100, 200), lines_at_once(1000, 2000)
    (13, 0)
    """
    return _ON_ONE_THREAD // max(1, n_lines * n_columns)
