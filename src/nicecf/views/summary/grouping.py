"""Rows in groups: by a column, or by one value per row. Numbers and dates with many values are cut into quartiles."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError, listed, plain
from nicecf.support.types import CellValue, Floats, Ints
from nicecf.tables import pandas_temporal
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema
from nicecf.tables.temporal import Temporal
from nicecf.views.documents.columns import significant
from nicecf.views.telling import Teller

# The name of a column or its position; or one value per row, as any library's column of them; None for no groups.
By: TypeAlias = Any

# A number with more values than this is an amount: its values do not make groups of their own.
_MOST_VALUES = 10


@dataclass(frozen=True, eq=False)
class Groups:
    """``codes`` gives the group of each row, a place in ``labels``; the label None is that of missing values."""

    name: str
    codes: Ints
    labels: tuple[CellValue, ...]


def groups_by(by: By, schema: Schema, rows: Floats, index: pd.Index[Hashable], first: Ints, teller: Teller) -> Groups:
    """The groups of the rows at the positions ``first``, of encoded rows with their labels.

    ``by`` names a column, or gives its position; or holds one value per row. A pandas Series is aligned by its
    labels: raises OptionError if one is missing, or occurs twice.
    """
    if isinstance(by, (str, bytes, int, np.integer)) or _is_name(by, schema):
        j = schema.position(by, "by")
        return _of_column(schema, j, rows[first, j], teller)
    return _of_values(_one_per_row(by, index, first), teller)


def _is_name(by: By, schema: Schema) -> bool:
    return isinstance(by, Hashable) and not isinstance(by, pd.Series) and by in schema.names


def _of_column(schema: Schema, j: int, values: Floats, teller: Teller) -> Groups:
    column = schema.columns[j]
    if not column.is_categorical:
        return _of_numbers(values, str(column.name), teller, column.temporal)
    codes = codes_of(values)
    in_order = column.is_ordinal or isinstance(column.prototype.dtype, pd.CategoricalDtype)
    return _of_codes(codes, [plain(level) for level in column.levels], str(column.name), in_order=in_order)


def _one_per_row(by: By, index: pd.Index[Hashable], first: Ints) -> pd.Series[CellValue]:
    if isinstance(by, pd.Series):
        return _aligned(by, index[first])
    try:
        # A polars series is not a pandas one, but knows its values.
        values = pd.Series(by.to_list() if hasattr(by, "to_list") and not _is_pandas(by) else by)
    except (TypeError, ValueError) as error:
        raise OptionError(f"by must be the name of a column, or one value per row: {error}.") from error
    if isinstance(by, (dict, set, frozenset)) or np.ndim(by) > 1:
        raise OptionError(f"by must be the name of a column, or one value per row, got a {type(by).__name__}.")
    if len(values) == len(first):
        return values
    if len(values) == len(index):  # one for each counterfactual
        return values.iloc[first]
    raise OptionError(
        f"by has {len(values):,} values, but {len(first):,} rows were explained; pass the name of a column, or one "
        "value per row."
    )


def _is_pandas(by: By) -> bool:
    return isinstance(by, (pd.Index, pd.api.extensions.ExtensionArray))


def _aligned(by: pd.Series[CellValue], labels: pd.Index[Hashable]) -> pd.Series[CellValue]:
    if by.index.equals(labels):
        return by
    if not by.index.is_unique:
        twice = by.index[by.index.duplicated()].unique()
        raise OptionError(
            f"by is a Series in which labels occur more than once, such as {listed(twice, limit=3)}, so it cannot be "
            "aligned with the rows explained. Pass by.to_numpy() if its values stand in the order of the rows."
        )
    places = by.index.get_indexer(labels)
    if (places < 0).any():
        raise OptionError(
            f"by is a Series without the labels of {int((places < 0).sum()):,} of {len(labels):,} rows explained, such "
            f"as {listed(labels[places < 0], limit=3)}. Give it the index of the rows, or pass by.to_numpy() if its "
            "values stand in the order of the rows."
        )
    return by.iloc[places]


def _of_values(values: pd.Series[CellValue], teller: Teller) -> Groups:
    name = "group" if values.name is None else str(values.name)
    if values.dtype == object:
        values = values.infer_objects()
    dtype = values.dtype
    moments = pandas_temporal.read(values, name)
    if moments is not None:
        return _of_numbers(moments[1], name, teller, moments[0])
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return _of_numbers(values.to_numpy(dtype=np.float64, na_value=np.nan), name, teller)
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_codes(values.cat.codes.to_numpy(dtype=np.intp), list(dtype.categories), name, in_order=True)
    try:
        codes, levels = pd.factorize(values, use_na_sentinel=True)
    except TypeError as error:
        raise OptionError(f"by holds a value that cannot be a group ({error}).") from error
    return _of_codes(codes.astype(np.intp), [plain(level) for level in levels], name, in_order=False)


def _of_codes(codes: Ints, levels: Sequence[CellValue], name: str, *, in_order: bool) -> Groups:
    """The groups that occur: in the order of their levels, or sorted; those without a value last."""
    order = list(range(len(levels))) if in_order else _sorted(levels)
    rank = np.empty(len(levels) + 1, dtype=np.intp)
    rank[order] = np.arange(len(levels))
    rank[-1] = len(levels)  # the code of a missing value is -1
    present, codes = np.unique(rank[codes], return_inverse=True)
    labels = [*(levels[at] for at in order), None]
    return Groups(name, codes.reshape(-1).astype(np.intp), tuple(labels[at] for at in present))


def _sorted(levels: Sequence[CellValue]) -> list[int]:
    try:
        return sorted(range(len(levels)), key=lambda at: levels[at])
    except TypeError:  # text beside numbers
        return sorted(range(len(levels)), key=lambda at: str(levels[at]))


def _of_numbers(values: Floats, name: str, teller: Teller, temporal: Temporal | None = None) -> Groups:
    """``temporal``: the dates that the numbers stand for."""
    is_missing = np.isnan(values)
    present = values[~is_missing]
    distinct = np.unique(present)
    codes = np.full(len(values), -1, dtype=np.intp)
    if len(distinct) <= _MOST_VALUES:
        codes[~is_missing] = np.searchsorted(distinct, present)
        labels = [_whole(value) if temporal is None else temporal.value(value) for value in distinct.tolist()]
        return _of_codes(codes, labels, name, in_order=True)
    cuts = np.unique(np.quantile(present, [0.25, 0.5, 0.75]))
    _, parts = np.unique(np.searchsorted(cuts, present, side="left"), return_inverse=True)
    codes[~is_missing] = parts
    # A part is called by the least and the greatest value in it: that is exact, and says to which part an end belongs.
    limits = [(present[parts == part].min(), present[parts == part].max()) for part in range(parts.max() + 1)]
    if temporal is not None:
        spans = [[teller.value(None, temporal.value(end)) for end in dict.fromkeys(both)] for both in limits]
        return _of_codes(codes, [_span(span, teller) for span in spans], name, in_order=True)
    return _of_codes(codes, _intervals(limits, teller), name, in_order=True)


def _intervals(limits: Sequence[tuple[float, float]], teller: Teller) -> list[str]:
    """``300 to 620``, with as many digits as it takes to tell the parts apart."""
    for digits in range(4, 17):
        shown = [tuple(dict.fromkeys(significant(one, digits) for one in both)) for both in limits]
        ends = [one for both in shown for one in both]
        if len(set(ends)) == len(ends):
            break
    return [_span([teller.number(end) for end in both], teller) for both in shown]


def _span(ends: Sequence[str], teller: Teller) -> str:
    return ends[0] if len(ends) == 1 else teller.say("summary.group_span", low=ends[0], high=ends[1])


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value
