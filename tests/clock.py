"""A clock of the tests' own: nothing waits."""

import sys

from nicecf import NICE, baselines  # noqa: F401  so that the modules which look at the clock are there


class Clock:
    """Stands still, but for what the model takes: ``call`` seconds a call and ``row`` seconds a row.

    ``share``: how much of them is processor time.
    """

    def __init__(self, model, call=1.0, row=0.0, share=1.0):
        self.model, self.call, self.row, self.share = model, call, row, share
        self.now = 0.0
        self.calls = []

    def __call__(self, X):
        self.calls.append(self.now)
        self.now += self.call + self.row * len(X)
        return self.model(X)

    def time(self):
        return self.now

    def processor_time(self):
        return self.share * self.now


def set_clock(patch, clock):
    """Every module of nicecf that looks at the clock looks at this one."""
    looking = [one for name, one in sys.modules.items() if name.startswith("nicecf.") and hasattr(one, "perf_counter")]
    assert looking
    for module in looking:
        patch.setattr(module, "perf_counter", clock.time)
    patch.setattr("nicecf.support.clock.process_time", clock.processor_time)
