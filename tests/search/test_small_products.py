"""Products in pieces: the same numbers, and no piece that is worth a second thread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf.search import small_products
from nicecf.search.small_products import lines_at_once, on_one_thread


@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 6), st.integers(1, 200))
def test_the_product_is_the_same(n_rows, n_features, n_columns, limit):
    rows = np.arange(n_rows * n_features, dtype=np.float32).reshape(n_rows, n_features) % 2
    columns = np.arange(n_features * n_columns, dtype=np.float32).reshape(n_features, n_columns) % 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_products, "_ON_ONE_THREAD", limit)
        product = on_one_thread(rows, columns)
    assert product.shape == (n_rows, n_columns)
    assert product.dtype == np.float32
    assert np.array_equal(product, rows @ columns)


def test_no_piece_is_large(monkeypatch):
    pieces = []

    class Watched(np.ndarray):
        def __matmul__(self, other):
            pieces.append(self.shape)
            return np.asarray(self) @ np.asarray(other)

    monkeypatch.setattr(np, "zeros", lambda shape, dtype: np.full(shape, 0, dtype).view(Watched))
    on_one_thread(np.ones((915, 100), dtype=np.float32), np.ones((100, 239), dtype=np.float32))
    ((_, n_lines, n_features),) = pieces
    assert n_lines == lines_at_once(100, 239) == 10
    assert n_lines * n_features * 239 <= 2**18
