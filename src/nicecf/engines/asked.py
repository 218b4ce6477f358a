"""What is asked of every row of a stream: the options of ``explain`` that do not depend on the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError
from nicecf.nice import NICE
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.rules.constraints import Constraints
from nicecf.support.types import Table


@dataclass(frozen=True)
class Asked:
    """The options of one call, the same for all of its rows; ``time_budget`` is for each batch."""

    target_class: Any = "other"
    target_score: Any = None
    constraints: Constraints | None = None
    n_counterfactuals: int = 1
    time_budget: float | None = None

    def of(self, nice: NICE, rows: Table) -> Counterfactuals:
        """The answers for some rows."""
        return nice.explain(
            rows,
            target_class=self.target_class,
            target_score=self.target_score,
            constraints=self.constraints,
            n_counterfactuals=self.n_counterfactuals,
            time_budget=self.time_budget,
            progress=False,
        )

    def check(self, nice: NICE) -> None:
        """Raises what ``explain`` would: now, and not in the middle of a job."""
        if isinstance(self.target_class, (np.ndarray, pd.Series)) and np.ndim(self.target_class) > 0:
            raise OptionError(
                "target_class is an array with a class for each row, but the rows of a stream are not known yet. Pass "
                "one class, a list of classes that will all do, or 'other'."
            )
        if isinstance(self.constraints, Constraints) and self.constraints.is_per_row:
            raise OptionError(
                "constraints have bounds per row, but the rows of a stream are not known yet. Use the same bounds for "
                "all rows."
            )
        self.of(nice, nice._fitted.schema.full.empty)
