"""A clock of the tests' own: nothing waits."""

from nicecf import method, nice, scorer
from nicecf.baselines import baseline, lock_step


class Clock:
    """Stands still, but for what the model takes: ``call`` seconds a call and ``row`` seconds a row."""

    def __init__(self, model, call=1.0, row=0.0):
        self.model, self.call, self.row = model, call, row
        self.now = 0.0
        self.calls = []

    def __call__(self, X):
        self.calls.append(self.now)
        self.now += self.call + self.row * len(X)
        return self.model(X)

    def time(self):
        return self.now


def set_clock(patch, clock):
    for module in (nice, scorer, method, baseline, lock_step):
        patch.setattr(module, "perf_counter", clock.time)
