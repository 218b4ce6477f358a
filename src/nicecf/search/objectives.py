"""Sparsity, proximity, plausibility: what a swap is worth to the walk, and what a counterfactual costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.support.types import Floats, Ints

# What ``optimize`` may be, for type checkers: the names in BY_NAME, none of them, or a balance of all.
Goal: TypeAlias = Literal[
    "none",
    "balanced",
    "sparsity",
    "proximity",
    "plausibility",
]

_NO_ERROR = "a reward that reads the error of the hybrids needs the attribute needs_plausibility = True."


@dataclass(frozen=True, eq=False)
class Round:
    """All hybrids of one round, one line each, as a reward sees them.

    A hybrid is the ``previous`` one of its walk with one more value of the donor. ``score`` is the highest wanted
    probability less the highest unwanted one, so it grows towards the target. ``error`` and ``previous_error`` (how
    implausible the rows are) are None unless the reward asks for them. All arrays are read-only.
    """

    features: Ints
    score: Floats
    previous_score: Floats
    distance: Floats
    previous_distance: Floats
    step_distance: Floats
    error: Floats | None = None
    previous_error: Floats | None = None

    def __post_init__(self) -> None:
        """Protect the walk from a reward that writes into what it is shown."""
        for array in vars(self).values():
            if array is not None:
                array.setflags(write=False)


class Reward(Protocol):
    """What a swap is worth: one number per hybrid of the round.

    Any function will do. One that reads ``round.error`` sets an attribute ``needs_plausibility = True``.
    """

    def __call__(self, round: Round, /) -> Floats: ...


def sparsity(round: Round) -> Floats:
    """The gain in score (equation 2): the largest gain per change."""
    return round.score - round.previous_score


def proximity(round: Round) -> Floats:
    """The gain in score per unit of distance from the row (equation 3).

    A step too small to add any distance is worth its gain without limit: infinite, or 0 when nothing is gained.
    """
    gain = round.score - round.previous_score
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gain == 0.0, 0.0, gain / round.step_distance)


def plausibility(round: Round) -> Floats:
    """The gain in score times the fall in error (equation 4).

    As in the paper, the product is also positive where the score falls and the error rises.
    """
    return (round.score - round.previous_score) * _error_saved(round)


def _error_saved(round: Round) -> Floats:
    if round.error is None or round.previous_error is None:
        raise OptionError(_NO_ERROR)
    return round.previous_error - round.error


plausibility.needs_plausibility = True  # type: ignore[attr-defined]  # the mark that Reward documents


@dataclass(frozen=True)
class Objective:
    """What ``optimize`` names: all that both searches need to know of it.

    The greedy search follows ``reward``: one number per hybrid, the highest is the next step. The thorough search takes
    the counterfactual with the lowest ``cost``, a function of (changes, distances, errors), one line per counterfactual
    each; on a tie, the one with fewer changes, then the nearest, then the most plausible. The cost must not fall where
    one of the three rises: the search leaves out what is worse in all of them.
    """

    reward: Callable[[Round], Floats]
    cost: Callable[[Ints, Floats, Floats], Ints | Floats]


BY_NAME = {
    "sparsity": Objective(sparsity, cost=lambda changes, distances, errors: changes),
    "proximity": Objective(proximity, cost=lambda changes, distances, errors: distances),
    "plausibility": Objective(plausibility, cost=lambda changes, distances, errors: errors),
}


def without_errors(reward: Callable[[Round], Floats] | None) -> str:
    """The objective that a reward is of, if it can be compared without a measure of plausibility; else sparsity."""
    names = [name for name, one in BY_NAME.items() if one.reward is reward and not needs_plausibility(reward)]
    return names[0] if names else "sparsity"


def needs_plausibility(reward: Callable[[Round], Floats] | None) -> bool:
    """Whether the reward reads the error of the hybrids."""
    return bool(getattr(reward, "needs_plausibility", False))


def checked(reward: Callable[[Round], Floats], round: Round) -> Floats:
    """The rewards of a round; OptionError where a custom reward did not return one number per hybrid."""
    try:
        returned = reward(round)
    except TypeError as error:
        if round.error is None and "NoneType" in str(error):
            raise OptionError(_NO_ERROR) from error
        raise
    try:
        values = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(len(round.score), np.nan)
    if values.shape != round.score.shape or np.isnan(values).any():
        what = "NaN" if values.shape == round.score.shape else f"shape {values.shape}"
        raise OptionError(
            f"the reward {getattr(reward, '__name__', type(reward).__name__)!r} returned {what}; "
            f"it must return one number per hybrid, shape {round.score.shape}."
        )
    return values
