"""What a table must be: its shape and columns, the columns that options name, numbers that can be computed with."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError, SchemaError, did_you_mean, listed, plain
from nicecf.support.types import Bools, Cells, Floats
from nicecf.tables import Container

# Squares and sums of larger numbers overflow.
_LARGEST_NUMBER = 1e150
_COLUMNS_AT_ONCE = 1024


def check_shape(n_rows: int, names: Sequence[Hashable]) -> None:
    """SchemaError unless a table has rows, and columns that can be told apart by their names."""
    if not names:
        raise SchemaError("X has no columns; it needs at least one feature.")
    if n_rows == 0:
        raise SchemaError("X has no rows; it needs at least one.")
    if any(name != name for name in names):
        raise SchemaError("a column of X has no name (NaN). Name all columns.")
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
        raise SchemaError(f"X has more than one column called {listed(twice)}; column names must be unique.")


def check_order(labels: Any, X: Any, option: str = "y", table: str = "X") -> None:
    """Raise SchemaError if a Series has the index labels of a frame in another order; anything else goes by position.

    Other index labels say nothing: a frame or a Series often has a new index by the time that it gets here.
    """
    if not (isinstance(labels, pd.Series) and isinstance(X, pd.DataFrame)) or len(labels) != len(X):
        return
    if labels.index.equals(X.index):
        return
    counts, counts_of_rows = (index.value_counts(sort=False, dropna=False) for index in (labels.index, X.index))
    if len(counts) != len(counts_of_rows) or not counts.reindex(counts_of_rows.index).equals(counts_of_rows):
        return
    in_order = (
        f"pass {option}.loc[{table}.index]" if X.index.is_unique else "give both the same order (some labels repeat)"
    )
    raise SchemaError(
        f"{option} has the index labels of {table} in another order, so its values would go to the wrong rows: "
        f"{in_order}. If {option} is in the order of the rows all the same, pass {option}.to_numpy()."
    )


def chosen_as_categories(categorical_features: Any, names: list[Hashable]) -> Bools | None:
    """A mask of the columns that were declared categorical; None where the columns decide."""
    if isinstance(categorical_features, str):
        if categorical_features == "auto":
            return None
        raise OptionError(
            f"categorical_features={categorical_features!r} is not known; pass 'auto', or a list of column names, "
            f"such as [{categorical_features!r}], positions or booleans."
        )
    if categorical_features is None:
        raise OptionError("categorical_features=None is not known; pass 'auto', or [] for none.")
    try:
        asked = [plain(one) for one in categorical_features]
    except TypeError:
        raise OptionError(
            f"categorical_features={categorical_features!r} is not known; pass 'auto', or a list of column names, "
            "positions or booleans."
        ) from None
    if asked and all(isinstance(one, bool) for one in asked):
        if len(asked) != len(names):
            raise OptionError(f"categorical_features is a mask of {len(asked)} columns, but X has {len(names)}.")
        return np.array(asked)
    chosen = np.zeros(len(names), dtype=bool)
    for one in asked:
        chosen[position_of(one, names, "categorical_features")] = True
    return chosen


def check_none_chosen(chosen: Bools | None, names: list[Hashable], label: str) -> None:
    """OptionError where columns are declared categorical in a table that holds numbers alone."""
    if chosen is not None and chosen.any():
        named = [name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]
        raise OptionError(
            f"categorical_features names {listed(named)}, but X is a {label}, whose columns are all numbers. Pass a "
            "frame or an array, such as X.toarray(), or leave categorical_features out."
        )


def position_of(one: object, names: list[Hashable], option: str) -> int:
    """The position of a column that an option names or counts; OptionError if there is none."""
    one = plain(one)
    if isinstance(one, Hashable) and one in names:
        return names.index(one)
    has_numbered_names = all(isinstance(name, int) for name in names)
    if (
        isinstance(one, int)
        and not isinstance(one, bool)
        and not has_numbered_names
        and -len(names) <= one < len(names)
    ):
        return one % len(names)
    raise OptionError(
        f"{option} names {one!r}, which is not a column of X; its columns are {listed(names)}."
        f"{did_you_mean(one, names)}"
    )


def check_still_numeric(container: Container, cells: Cells, name: Hashable) -> None:
    """SchemaError if a column that held numbers at ``fit`` holds something else now."""
    is_object = pd.api.types.is_object_dtype(cells.dtype)  # read cell by cell, to name the row that is not a number
    is_bool_or_empty = str(cells.dtype).lower().startswith(("bool", "null"))
    kind = container.kind(cells, name)
    if kind == "temporal":
        raise SchemaError(
            f"column {name!r} was numeric when fit saw it, but holds dates or durations now (dtype {cells.dtype}). "
            "Convert it to the number that it was for the training data."
        )
    if kind == "category" and not is_object and not is_bool_or_empty:
        raise SchemaError(
            f"column {name!r} was numeric when fit saw it, but has dtype {cells.dtype} now. "
            "Convert it to a number, as it was for the training data."
        )


def finite(values: Floats, name: Hashable) -> Floats:
    """The numbers of a column; SchemaError if distances cannot be computed with them."""
    infinite = np.abs(values) > _LARGEST_NUMBER
    if infinite.any():
        raise SchemaError(
            f"column {name!r} holds an infinite value, or one beyond 1e150 (row {int(np.argmax(infinite))}). Distances "
            "need finite numbers: replace it by a missing value or by a bound."
        )
    return values


def all_finite(values: Floats, names: list[Hashable]) -> Floats:
    """The same for all columns of a table."""
    # In blocks: a copy of the whole table just to look at it is not worth its memory.
    for start in range(0, values.shape[1], _COLUMNS_AT_ONCE):
        if (np.abs(values[:, start : start + _COLUMNS_AT_ONCE]) > _LARGEST_NUMBER).any():
            for j in range(start, min(start + _COLUMNS_AT_ONCE, values.shape[1])):
                finite(values[:, j], names[j])
    return values


def difference_in_columns(missing: list[Hashable], extra: list[Hashable], names: list[Hashable]) -> str:
    """In what the columns of a table differ from those of ``fit``, as a sentence."""
    parts = []
    if missing:
        parts.append(f"columns that fit saw are missing: {listed(missing)}")
    if extra:
        parts.append(f"columns that fit did not see: {listed(extra)}")
    if not parts:
        parts.append(f"some column occurs more than once: {listed(names)}")
    return f"X does not have the columns that fit saw; {'; '.join(parts)}. Pass the same columns, in any order."


def untrained(table: str, missing: Sequence[Hashable], extra: Sequence[Hashable]) -> str:
    """In what the columns of a table differ from those that a model was trained on, without the full stop.

    >>> untrained("new.csv", ["debt"], ["loan", "id"])
    "new.csv has no column 'debt', which the model was trained on, but 'loan', 'id', which it was not trained on"
    >>> untrained("new.csv", [], ["id"])
    "new.csv has the column 'id', which the model was not trained on"
    """
    if not missing:
        return f"{table} has the column {listed(extra)}, which the model was not trained on"
    instead = f", but {listed(extra)}, which it was not trained on" if extra else ""
    return f"{table} has no column {listed(missing)}, which the model was trained on{instead}"
