"""The box of one counterfactual: for each changed feature the values with which it still holds, all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

Proof: TypeAlias = Literal["proven", "checked"]


@dataclass(frozen=True)
class Side:
    """What one changed feature may be, encoded. ``feature``: its position.

    ``low`` and ``high``: both belong to it; infinite for an open end. ``codes``: of a category, those that it may be,
    the new one first; None for a number.
    """

    feature: int
    low: float
    high: float
    codes: tuple[float, ...] | None = None

    @property
    def is_single(self) -> bool:
        """Whether it is the new value and nothing else."""
        return self.low == self.high or np.isnan(self.low) if self.codes is None else len(self.codes) == 1


@dataclass(frozen=True)
class Box:
    """The sides of one counterfactual, in the order of its changes, and how sure it is that the answer holds inside."""

    sides: tuple[Side, ...]
    proof: Proof

    def side(self, feature: int) -> Side | None:
        """That of a feature, by its position."""
        return next((one for one in self.sides if one.feature == feature), None)

    def stated(self, feature: int) -> Side | None:
        """The side of a feature, if it is more than the new value and can be told people as it is; else None.

        The numbers of a box that is only checked cannot: between those that were tried others may not do, and its ends
        are what training rows hold, not where the decision turns.
        """
        side = self.side(feature)
        is_known = side is not None and (side.codes is not None or self.proof == "proven")
        return side if side is not None and is_known and not side.is_single else None
