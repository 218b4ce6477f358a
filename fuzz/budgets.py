"""Time budgets, by a clock of our own: whatever the rules are, more time never finds fewer answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fuzz.tables import Random

_BUDGETS = 7


@dataclass(eq=False)
class TimedModel:
    """A model of waves, for which only its own clock goes on: seconds for each call, and for each row."""

    weights: np.ndarray
    waves: float
    call: float
    row: float
    now: float = 0.0

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        """Probabilities of the classes."""
        self.now += self.call + self.row * len(X)
        cells = X.to_numpy(dtype=float)
        scores = np.exp(2 * (np.sin(self.waves * cells) if self.waves else cells) @ self.weights)
        return scores / scores.sum(axis=1, keepdims=True)


@dataclass(eq=False)
class TimedCase:
    """A table, rows to explain, rules and options, and a model that takes its time."""

    train: pd.DataFrame
    rows: pd.DataFrame
    rules: dict[str, Any]
    options: dict[str, Any]
    call: dict[str, Any]
    model: TimedModel


def draw(random: Random) -> TimedCase:
    """Draw a case: few columns, many rows, and mostly a limit on the number of changes."""
    n_columns, n_classes = int(random.integers(2, 7)), int(random.integers(2, 4))
    names = [f"f{j}" for j in range(n_columns)]
    train, rows = (
        pd.DataFrame(random.normal(size=(int(n), n_columns)).round(2), columns=names)
        for n in (random.integers(5, 150), random.integers(1, 30))
    )
    rules: dict[str, Any] = {}
    for name in names:
        kind = str(random.choice(["free", "immutable", "increasing", "decreasing", "ranges"], p=[0.5, *[0.125] * 4]))
        if kind == "ranges":
            rules.setdefault(kind, {})[name] = (-1.0, 1.0)
        elif kind != "free":
            rules.setdefault(kind, []).append(name)
    if random.random() < 0.7:
        rules["max_changes"] = int(random.integers(1, 4))
    if random.random() < 0.3:
        rules["groups"] = [[str(name) for name in random.choice(names, 2, replace=False)]]
    search = random.choice([None, "greedy", "thorough"])
    options = {
        "search": search,
        "optimize": str(random.choice(["sparsity", "proximity"])),
        "mix_donors": bool(random.random() < 0.6),
        "share_donor": bool(random.random() < 0.8),
        "min_count": int(random.choice([1, 1, 2])),
        "min_probability": random.choice([None, None, 0.7]),
        "classes": list(range(n_classes)),
    }
    several = {"n_counterfactuals": 3} if search != "greedy" and random.random() < 0.3 else {}
    seconds = float(random.choice([0.01, 0.3, 1.0])), float(random.choice([0.0, 0.001, 0.01, 0.1]))
    model = TimedModel(random.normal(size=(n_columns, n_classes)), float(random.choice([0.0, 3.0])), *seconds)
    return TimedCase(train, rows, rules, options, several, model)


@contextmanager
def clock_of(model: TimedModel) -> Iterator[None]:
    """Inside, the library looks at the model's clock."""
    from nicecf.explain import training
    from nicecf.support import clock

    kept = [(one, one.perf_counter) for one in (clock, training)]
    try:
        for one, _ in kept:
            one.perf_counter = lambda: model.now
        yield
    finally:
        for one, was in kept:
            one.perf_counter = was


def fewer_in_more_time(random: Random, case: TimedCase) -> tuple[int, list[str]]:
    """How many rows are found in the end, and what is wrong with those found as the budget grows."""
    from nicecf import NICE, Constraints

    model, wrong = case.model, list[str]()
    found, before = np.zeros(len(case.rows), dtype=bool), 0.0
    budgets = np.sort(np.exp(random.uniform(np.log(0.1), np.log(200), size=_BUDGETS))).tolist()
    with clock_of(model):
        labels = model(case.train).argmax(axis=1)
        nice = NICE(model, constraints=Constraints(**case.rules), **case.options).fit(case.train, labels)
        for budget in budgets:
            cfs = nice.explain(case.rows, time_budget=budget, **case.call)
            now = np.zeros(len(case.rows), dtype=bool)
            now[cfs.rows[cfs.found]] = True
            lost = np.flatnonzero(found & ~now)
            if len(lost):
                wrong.append(f"rows {lost[:5].tolist()} are found in {before:.3g} s, but not in {budget:.3g} s")
            found, before = now, budget
    return int(found.sum()), wrong
