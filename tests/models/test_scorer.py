"""Rows that were asked about are remembered: by their bits, and never taken for one another."""

import numpy as np
import pytest

from nicecf.models import scorer
from nicecf.models.scorer import RememberedRows


class Sums:
    """A function of rows that keeps what it was asked; it tells the two zeros apart."""

    def __init__(self):
        self.asked = []

    def __call__(self, rows):
        self.asked.extend(rows.tolist())
        return np.column_stack([np.nansum(rows * [1.0, 10.0, 100.0], axis=1), np.signbit(rows).sum(axis=1)])


ROWS = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [-0.0, 1.0, 2.0], [np.nan, 1.0, 2.0], [0.0, 1.0, 2.0]])


def test_each_distinct_row_is_asked_for_once():
    function, remembered = Sums(), RememberedRows(width=2)
    first = remembered(function, ROWS)
    assert len(function.asked) == 4  # of five, two are the same; NaN is NaN, and 0.0 is not -0.0
    again = remembered(function, ROWS[::-1])
    assert len(function.asked) == 4
    assert np.array_equal(first, Sums()(ROWS))
    assert np.array_equal(again, first[::-1])


def test_many_calls_are_remembered_together():
    rows = np.random.default_rng(0).integers(0, 9, (500, 3)).astype(float)
    function, remembered = Sums(), RememberedRows(width=2)
    for at in range(0, 500, 7):
        assert np.array_equal(remembered(function, rows[at : at + 7]), Sums()(rows[at : at + 7]))
    assert len(function.asked) == len(np.unique(rows, axis=0))


@pytest.mark.parametrize("n_keys", [1, 2])
def test_rows_with_the_same_key_are_not_taken_for_one_another(monkeypatch, n_keys):
    monkeypatch.setattr(scorer, "_keys", lambda rows: [int(row[1]) % n_keys for row in rows])
    rows = np.random.default_rng(1).integers(0, 4, (60, 3)).astype(float)
    function, remembered = Sums(), RememberedRows(width=2)
    for at in range(0, 60, 11):
        some = rows[at : at + 11]
        assert np.array_equal(remembered(function, some, lambda: rows[:5]), Sums()(some))


def test_values_that_change_places_have_another_key():
    rows = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [2.0, 1.0, 3.0], [0.0, 0.0, 0.0], [-0.0, 0.0, 0.0]])
    assert len(set(scorer._keys(rows))) == len(rows)
