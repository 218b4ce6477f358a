"""What is proven of an answer: that nothing is better, that there is none, or how much better one could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nicecf.support.types import Json

Status = Literal["optimal", "infeasible", "bound", "none"]


@dataclass(frozen=True)
class Proof:
    """``cost``: of the answer, None if there is none; ``bound``: no answer costs less.

    ``objective``: what is counted, "changes" or "distance". ``by``: what proved it: a solver and its version, or
    "leaves", the sum of the best leaves within reach.
    """

    status: Status
    objective: str = ""
    cost: float | None = None
    bound: float = 0.0
    by: str = ""

    def to_plain(self) -> dict[str, Json]:
        """The proof for a record: the solver and its version apart, and no number where there is none."""
        solver, _, version = self.by.partition(" ")
        return {
            "status": self.status,
            "objective": self.objective,
            "cost": self.cost,
            "bound": self.bound,
            "gap": None if np.isnan(self.gap) else self.gap,
            "solver": solver or None,
            "version": version or None,
        }

    @property
    def gap(self) -> float:
        """By which share of its cost the answer could be better at most: 0 if it is optimal; NaN for no answer.

        >>> Proof("bound", "distance", cost=0.5, bound=0.4).gap
        0.19999999999999996
        """
        if self.status == "optimal":
            return 0.0
        if self.cost is None or self.status == "none":
            return np.nan
        return max(0.0, 1.0 - self.bound / self.cost) if self.cost > 0 else 0.0


NO_PROOF = Proof("none")
