"""What people pass that is not a table, and the line to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np


class _Labelled(Protocol):
    label: str


def instead_of(X: Any, as_in_fit: _Labelled | None) -> str:
    """The line to write instead of ``X``, as a sentence; empty if nothing is known of it.

    ``as_in_fit``: the kind of table that ``fit`` got, which the rows to explain must be too; None in ``fit`` itself.

    >>> instead_of({"age": 39, "job": "clerk"}, None)
    'A dict of single values is one row: pass pd.DataFrame([X]).'
    >>> instead_of({"age": [39, 25], "job": ["clerk", "cook"]}, None)
    'Pass pd.DataFrame(X).'
    """
    label = "" if as_in_fit is None else as_in_fit.label
    if isinstance(X, Mapping):
        return _of_mapping(X, label)
    if isinstance(X, (list, tuple)):
        return _of_list(X, label)
    if isinstance(X, (np.ndarray, np.void)) and X.dtype.names is not None:
        return _of_records(X, label)
    library = type(X).__module__.partition(".")[0]
    if type(X).__name__ == "Series":
        if library == "polars":
            return "A Series is one column: pass a frame, such as table[:1] for its first row."
        return "Pass one row as a table, table.iloc[[0]]: it keeps the columns and their types, table.iloc[0] does not."
    if library in ("xgboost", "lightgbm"):
        return f"Pass the table that the {type(X).__name__} was made of: what the model takes is made of it on the way."
    return {
        "LazyFrame": "Call .collect() first.",
        "Table": "Of Arrow, pass X.to_pandas() or polars.from_arrow(X).",
    }.get(type(X).__name__, "")


def _of_mapping(X: Mapping[Any, Any], label: str) -> str:
    if label in _WITHOUT_NAMES:
        made = _WITHOUT_NAMES[label]
        return f"fit got a {label}, which has no names: pass {made}([[...]]), the values in the order of its columns."
    if X and all(map(_is_single, X.values())):
        return f"A dict of single values is one row: pass {_frame_of(label)}([X])."
    return f"Pass {_frame_of(label)}(X)."


def _of_records(X: np.ndarray[Any, Any] | np.void, label: str) -> str:
    records = "X" if X.ndim == 1 else "X.reshape(-1)"
    if label in _WITHOUT_NAMES:
        made = f"np.asarray({records}.tolist())"
        return f"Pass {made if label == 'numpy array' else f'{_WITHOUT_NAMES[label]}({made})'}."
    return f"Pass {_frame_of(label)}({records})."


def _of_list(X: list[Any] | tuple[Any, ...], label: str) -> str:
    if X and all(isinstance(one, Mapping) for one in X):
        return f"A list of dicts is a table: pass {_frame_of(label)}(X)."
    rows = "[X]" if X and all(map(_is_single, X)) else "X"
    if label in _WITHOUT_NAMES:
        return f"Pass {_WITHOUT_NAMES[label]}({rows})."
    if label:
        names = "schema=[...], orient='row'" if label.startswith("polars") else "columns=[...]"
        return f"Pass {_frame_of(label)}({rows}, {names}) with the names of its columns."
    return f"Pass np.asarray({rows}), or a DataFrame to keep each column's type."


_WITHOUT_NAMES = {"numpy array": "np.asarray", "scipy sparse matrix": "scipy.sparse.csr_array"}


def _frame_of(label: str) -> str:
    return "pl.DataFrame" if label.startswith("polars") else "pd.DataFrame"


def _is_single(value: Any) -> bool:
    """Whether it is the value of one cell."""
    return isinstance(value, (str, bytes)) or not hasattr(value, "__len__")
