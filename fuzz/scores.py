"""The same explainer asked for scores: answers lie in the target, and they and what comes nearest keep the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fuzz.checks import ROUNDING, Answer, guards_are_kept, rules_are_kept
from fuzz.tables import n_rows

if TYPE_CHECKING:
    from fuzz.relations import Explained


def scores_lie_in_their_target(one: Explained) -> list[str]:
    """The probability of the second class as a score, towards bounds that training rows have, or nobody has."""
    facts = one.facts
    options, rows = facts.settings.options, facts.tables.rows
    if not facts.settings.is_nice or len(facts.panel.classes) != 2 or not n_rows(rows):
        return []
    if options.get("min_probability") is not None or "time_budget" in facts.settings.call:
        return []
    target = _drawn(one)
    call = {name: value for name, value in facts.settings.call.items() if name != "target_class"}
    cfs = one.explainer.explain(rows, target_score=target, **call)
    answer = Answer.of(cfs, facts.tables.container)
    near = cfs.nearest()
    nearest = replace(Answer.of(near, facts.tables.container), found=np.ones(len(near), dtype=bool))
    table = near.to_numpy() if facts.tables.container == "numpy" else near.to_frame()
    nearest = replace(nearest, table=table)
    wrong = [f"a best effort counts as found: {near.found.tolist()}"] if near.found.any() else []
    wrong += [
        f"row {row} is found, and has a best effort" for row in near.rows if answer.found[answer.rows == row].any()
    ]
    for what, some in (("", answer), ("nearest: ", nearest)):
        if n_rows(some.table):
            wrong += [f"{what}{problem}" for problem in (*rules_are_kept(facts, some), *guards_are_kept(facts, some))]
    if answer.found.any():
        wrong += _outside(one, answer, target)
    if len(near):
        before, after = (_margin(facts.panel.hear(some)[0][0][:, 1], target) for some in (rows, table))
        is_nearer = after > before[near.rows] - ROUNDING
        wrong += [f"row {row}: the nearest score is no nearer" for row in near.rows[~is_nearer]]
    return wrong


def _drawn(one: Explained) -> tuple[float | None, float | None]:
    scores = one.facts.panel.hear(one.facts.tables.train)[0][0][:, 1]
    low, high = np.sort(one.random.choice([*scores.tolist(), 0.0, 0.5, 1.0, 1.5, -0.5], size=2)).tolist()
    pairs: list[Any] = [(low, None), (None, high), (low, high)]
    return pairs[int(one.random.integers(3))]


def _margin(scores: np.ndarray, target: tuple[float | None, float | None]) -> np.ndarray:
    """How far inside the target scores lie; negative outside."""
    low, high = target
    parts = [*([] if low is None else [scores - low]), *([] if high is None else [high - scores])]
    return np.min(parts, axis=0)


def _outside(one: Explained, answer: Answer, target: tuple[float | None, float | None]) -> list[str]:
    """Answers whose score, by any of the models, is not in the target; or is not the one that is reported."""
    heard = one.facts.panel.hear(answer.table)
    slack = 0.0 if one.facts.panel.is_steady else ROUNDING
    wrong = [
        f"row {row}: the score {probabilities[at, 1]!r} is not in {target}"
        for probabilities, _ in heard
        for at, row in enumerate(answer.found_rows)
        if _margin(probabilities[at : at + 1, 1], target)[0] < -slack
    ]
    told = answer.probability[answer.found]
    is_told = np.abs(told - heard[0][0][:, 1]) <= 1e-6
    return wrong + [f"row {row}: the score is reported as {said!r}" for row, said in
                    zip(answer.found_rows[~is_told], told[~is_told], strict=True)]  # fmt: skip
