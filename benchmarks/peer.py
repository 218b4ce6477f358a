"""The authors' package NICEx beside nicecf: one row at a time, and why an answer differs from ours.

Installed without its pins: ``pip install --no-deps NICEx==0.2.3`` (its import name is ``nice``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

RowFunction = Callable[[np.ndarray], np.ndarray]

# Two rewards this close, relative to their size, are a tie: what is between them is rounding.
CLOSE = 1e-9
# How far rounding may move a probability (a batch of another size, another order of the sum).
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class PeerAnswer:
    """A counterfactual of NICEx, its donor, and the features in the order in which it swapped them."""

    values: np.ndarray
    donor: np.ndarray
    path: list[int]


class Peer:
    """NICEx, with what the comparison needs to see of it."""

    def __init__(
        self,
        predict_proba: RowFunction,
        X: np.ndarray,
        y: np.ndarray,
        categorical: list[int],
        *,
        variant: str,
        error: RowFunction | None,
    ) -> None:
        from nice import NICE  # late: growth.py and neighbors.py run without it

        # It writes to the table it is given, hence the copy; one row at a time is all it takes.
        self._nicex = NICE(
            predict_fn=predict_proba,
            X_train=X.copy(),
            cat_feat=categorical,
            y_train=y,
            optimization=variant,
            auto_encoder=error,
        )

    def explain(self, row: np.ndarray) -> np.ndarray:
        """The counterfactual of one row of shape (1, features)."""
        return self._nicex.explain(row)

    def explain_with_path(self, row: np.ndarray) -> PeerAnswer:
        """The same, with its donor and its path (slower: never timed)."""
        seen = [row.copy()]
        reward = getattr(self._nicex, "reward_function", None)
        if reward is not None:
            calculate = type(reward).calculate_reward

            def recorded(hybrids: np.ndarray, previous: np.ndarray) -> np.ndarray:
                chosen = calculate(reward, hybrids, previous)
                seen.append(chosen.copy())
                return chosen

            reward.calculate_reward = recorded
        values = self._nicex.explain(row.copy())
        if reward is not None:
            del reward.calculate_reward
        donor = self._nicex.nearest_neighbour.find_neighbour(self._nicex.data.X)
        path = [int(np.flatnonzero(a[0] != b[0])[0]) for a, b in pairwise(seen)]
        return PeerAnswer(values[0], donor[0], path)


@dataclass(frozen=True, eq=False)
class Referee:
    """Says which of two different answers is right, by the paper's formulas and for two classes."""

    predict_proba: RowFunction
    X: np.ndarray
    categorical: list[int]
    variant: str
    error: RowFunction | None

    def verdict(self, row: np.ndarray, donor: np.ndarray, path: list[int], theirs: PeerAnswer) -> tuple[str, str]:
        """Why the answers to ``row`` differ: a class of reasons, and the numbers behind it."""
        if not np.array_equal(donor, theirs.donor):
            return self._donors(row, donor, theirs.donor)
        if self.variant == "none":
            return "UNEXPLAINED", "one donor, two answers"
        for at, (our_step, their_step) in enumerate(zip(path, theirs.path, strict=False)):
            if our_step != their_step:
                return self._steps(row, donor, path[:at], our_step, their_step)
        return self._ends(row, donor, path, theirs.path)

    def _donors(self, row: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> tuple[str, str]:
        near, far = self._distance(row, ours), self._distance(row, theirs)
        numbers = f"distance {near:.17g} (nicecf) and {far:.17g} (NICEx)"
        if abs(near - far) <= CLOSE * max(near, far):
            return "tie of donors: two equally near, rounding decides", numbers
        return ("NICEx wrong: donor farther" if near < far else "NICECF WRONG: donor farther"), numbers

    def _steps(self, row: np.ndarray, donor: np.ndarray, before: list[int], ours: int, theirs: int) -> tuple[str, str]:
        """Both stand on the same hybrid and take different steps: compare what the steps are worth."""
        previous = row.copy()
        previous[before] = donor[before]
        hybrids = np.stack([previous] * 3)
        hybrids[1, ours], hybrids[2, theirs] = donor[ours], donor[theirs]
        start = int(np.argmax(self.predict_proba(row[None])[0]))
        score = 1.0 - self.predict_proba(hybrids)[:, start]
        gain = score[1:] - score[0]
        factor = np.ones(2)
        if self.variant == "proximity":
            distance = np.array([self._distance(row, hybrid) for hybrid in hybrids])
            factor = 1.0 / np.array([self._part(row, donor, j) for j in (ours, theirs)])
            shifted = gain / (distance[1:] - distance[0] + 1e-11)
        elif self.variant == "plausibility":
            errors = self.error(hybrids)
            factor = errors[0] - errors[1:]
        rewards = gain * factor
        numbers = (
            f"after {len(before)} steps, feature {ours} (nicecf) is worth {rewards[0]:.17g}, {theirs} (NICEx) "
            f"{rewards[1]:.17g}; gains {gain[0]:.17g} and {gain[1]:.17g}"
        )
        slack = CLOSE * np.abs(rewards).max() + ROUNDING * np.abs(factor).max()
        if self.variant == "plausibility":
            slack += ROUNDING * np.abs(gain).max() * np.abs(errors).max()
        if abs(rewards[0] - rewards[1]) <= slack:
            return "tie of steps: two equally good, rounding decides", numbers
        if rewards[0] < rewards[1]:
            return "NICECF WRONG: step worth less", numbers
        if self.variant == "proximity" and shifted[0] < shifted[1]:
            return "NICEx wrong: the 1e-11 it adds to each distance turns the order", numbers
        return "NICEx wrong: step worth less", numbers

    def _ends(self, row: np.ndarray, donor: np.ndarray, ours: list[int], theirs: list[int]) -> tuple[str, str]:
        """One path is the beginning of the other: does the model decide at the shorter one's end?"""
        shorter = min(ours, theirs, key=len)
        end = row.copy()
        end[shorter] = donor[shorter]
        probabilities = self.predict_proba(end[None])[0]
        numbers = f"{len(ours)} steps (nicecf) and {len(theirs)} (NICEx), probabilities there {probabilities.tolist()}"
        if abs(probabilities[0] - probabilities[1]) <= ROUNDING:
            return "tie of classes: both equally probable, rounding decides", numbers
        is_over = np.argmax(probabilities) != np.argmax(self.predict_proba(row[None])[0])
        if is_over:
            return ("NICEx wrong: walks on" if shorter == ours else "NICECF WRONG: walks on"), numbers
        return ("NICECF WRONG: stops early" if shorter == ours else "NICEx wrong: stops early"), numbers

    def _part(self, a: np.ndarray, b: np.ndarray, j: int) -> float:
        if j in self.categorical:
            return float(a[j] != b[j])
        return float(abs(a[j] - b[j]) / np.ptp(self.X[:, j]))

    def _distance(self, a: np.ndarray, b: np.ndarray) -> float:
        return math.fsum(self._part(a, b, j) for j in range(len(a)))


def count_invalid(predict_proba: RowFunction, rows: np.ndarray, counterfactuals: Any) -> int:
    """How many counterfactuals the model puts in the class of their row."""
    before, after = predict_proba(rows).argmax(axis=1), predict_proba(counterfactuals).argmax(axis=1)
    return int((before == after).sum())
