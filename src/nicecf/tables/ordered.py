"""Categories with an order: a column of an ordered dtype is encoded by the rank of its levels, missing as NaN.

So a search, a distance or an index sees a column of whole numbers, and only what shows or names values knows that it
has levels. Which dtypes are ordered is for the adapters to say (``Container.ordered``).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal, TypeAlias

import numpy as np

from nicecf.exceptions import SchemaError, listed
from nicecf.support.types import Cells, Floats, Ints
from nicecf.tables import Container
from nicecf.tables.column import Column

# What two values of an ordered category are apart: the steps between them, or 1 as for any other category.
Ordinal: TypeAlias = Literal["rank", "overlap"]


def codes_of(values: Floats) -> Ints:
    """Encoded cells of a column with levels as positions among these; -1 where missing, however that is encoded.

    >>> codes_of(np.array([2.0, np.nan, -1.0])).tolist()
    [2, -1, -1]
    """
    return np.where(np.isnan(values), -1.0, values).astype(np.intp)


def fit_ranks(container: Container, cells: Cells, name: Hashable) -> tuple[Column, Floats] | None:
    """A column of the training table by the order of its dtype, and its cells as ranks; None if that has no order."""
    ordered = container.ordered(cells)
    if ordered is None:
        return None
    ranks, levels = ordered
    prototype = container.prototype(cells)
    column = Column(
        name,
        True,
        prototype,
        tuple(levels),
        has_missing=bool((ranks < 0).any()),
        native_levels=container.native_levels(levels, prototype),
        is_ordinal=True,
    )
    return column, np.where(ranks < 0, np.nan, ranks)


def read_ranks(container: Container, cells: Cells, column: Column) -> Floats:
    """The cells of rows to explain as ranks.

    The dtype need not be the same: one with fewer levels in the same order, one without an order or text will do.
    SchemaError for levels that are not known, or in another order: what lies between them nobody could say.
    """
    ordered = container.ordered(cells)
    if ordered is not None:
        codes, values = ordered
        _check_levels(values, column)
    else:
        codes, values = container.factorize(cells, column.name)
        _check_values(codes, values, column)
    ranks = [column.code(value) for value in values]
    return np.array([np.nan if rank is None else rank for rank in ranks] + [np.nan], dtype=np.float64)[codes]


def _check_levels(levels: list[Any], column: Column) -> None:
    ranks = [column.code(level) for level in levels]
    unknown = [level for level, rank in zip(levels, ranks, strict=True) if rank is None]
    if unknown:
        raise SchemaError(
            f"column {column.name!r} has an ordered dtype with {listed(unknown)} among its levels, which it did not "
            f"have when fit saw it: {_levels_of(column)}. Convert it to the dtype of the training data; what is not "
            "one of its levels becomes missing then."
        )
    known = [rank for rank in ranks if rank is not None]
    if known != sorted(known):
        raise SchemaError(
            f"column {column.name!r} has its levels in another order than when fit saw it: now {listed(levels)}, but "
            f"{_levels_of(column)}. Convert it to the dtype of the training data."
        )


def _check_values(codes: Ints, values: list[Any], column: Column) -> None:
    held = [values[code] for code in np.unique(codes[codes >= 0])]
    unknown = [value for value in held if column.code(value) is None]
    if unknown:
        row = int(np.argmax(np.isin(codes, [code for code, value in enumerate(values) if column.code(value) is None])))
        raise SchemaError(
            f"column {column.name!r} holds {listed(unknown)} (row {row}), which is not one of its levels: "
            f"{_levels_of(column)}. Correct the value or leave it missing; with ordinal='overlap', which goes by no "
            "order, a category may be new."
        )


def _levels_of(column: Column) -> str:
    told = column.told_levels
    return f"from low to high, its levels were {listed(told)}" if told else "none of its levels may be told (min_count)"
