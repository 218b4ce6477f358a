"""Names for the arrays that flow through the package, and what counts as a number."""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeAlias, TypeGuard

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
# One cell of a table as a Python value: text, a number, a date, whatever its library holds; None if missing.
CellValue: TypeAlias = Any
# A class of the model or the name of a row, of whatever type the user's are.
Label: TypeAlias = Any
# A value that JSON can hold. What it is depends on the key it stands under, so readers need no cast.
Json: TypeAlias = Any


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a real number, of Python or numpy; a boolean is not one."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
