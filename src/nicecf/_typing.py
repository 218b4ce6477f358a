"""Names for the arrays that flow through the package."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.intp]
Bools: TypeAlias = npt.NDArray[np.bool_]
Objects: TypeAlias = npt.NDArray[np.object_]

# A pandas or polars frame, or a two-dimensional numpy array. No common supertype exists, and
# naming the polars one would import polars.
Table: TypeAlias = Any
# One column of such a table, in the table's own form.
Cells: TypeAlias = Any
