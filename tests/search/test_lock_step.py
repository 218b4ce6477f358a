"""Searches side by side: who is answered first when time is short."""

import numpy as np
import pytest

from clock import Clock, set_clock
from nicecf.models.scorer import Cost, Scorer
from nicecf.search.lock_step import in_lock_step


def asking(n_rows, at):
    """A search with one question of so many rows, all unlike those of the others."""
    answers = yield "score", np.arange(at, at + n_rows, dtype=float)[:, None]
    return len(answers)


@pytest.mark.parametrize(
    ("deadline", "first"), [(None, [90, 10, 30, 20]), (1000.0, [10, 20]), (300.0, [10, 20]), (100.0, [10, 20])]
)
def test_with_a_deadline_short_questions_come_first_as_many_as_go_into_a_call(monkeypatch, deadline, first):
    clock = Clock(lambda rows: rows, call=0.0)
    set_clock(monkeypatch, clock)
    sizes = []
    score = Scorer.of(lambda rows: (sizes.append(len(rows)), rows)[1], width=1, cost=Cost(10.0, 1.0), deadline=deadline)
    assert score.cost.rows_at_once == 40
    searches = [(n_rows, asking(n_rows, 1000 * place)) for place, n_rows in enumerate([90, 10, 30, 20])]
    ended = list(in_lock_step(searches, score, at_once=4))
    assert [one.label for one in ended][: len(first)] == first
    assert sizes[0] == sum(first)
    assert [one.result for one in ended if not one.is_cut] == [one.label for one in ended if not one.is_cut]
