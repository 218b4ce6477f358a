"""Time limits go by the clock, or by the processor time where that is asked for."""

from time import sleep

import numpy as np

from nicecf.models.scorer import Cost, Scorer
from nicecf.support import clock


def _is_over_after_a_nap():
    scorer = Scorer.of(lambda rows: rows, width=1, cost=Cost(0.0, 0.0), deadline=clock.now() + 0.02)
    scorer(np.zeros((1, 1)))
    sleep(0.03)
    return scorer.is_out_of_time()


def test_a_pause_uses_up_the_clock_but_no_processor_time():
    assert _is_over_after_a_nap()
    with clock.processor_time():
        assert not _is_over_after_a_nap()
    assert _is_over_after_a_nap()
