"""``target_class`` as people write it -> the classes that are named for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError, listed, plain
from nicecf.support.types import Bools, Objects, Table


def meant(target_class: Any, X: Table, classes: Objects) -> Any:
    """``target_class`` as it is recorded: None is "other", and a Series is in the order of the rows.

    If the model has a class None, then None is that class, as in records that name it.
    """
    is_none = target_class is None or (isinstance(target_class, np.ndarray) and plain(target_class) is None)
    if is_none and not any(label is None for label in classes):
        return "other"
    return _in_order_of_rows(target_class, X)


def _in_order_of_rows(target_class: Any, X: Table) -> Any:
    """A Series with one class per row, put in the order of the rows by its labels; anything else as it is."""
    if not (isinstance(target_class, pd.Series) and isinstance(X, pd.DataFrame)):
        return target_class
    labels = target_class.index
    if labels.equals(X.index):
        return target_class
    if not labels.is_unique or not X.index.isin(labels).all():
        raise OptionError(
            "target_class is a Series whose labels are not those of the rows, so it is not clear which class is for "
            "which row. Give it the index of the rows, or pass target_class.to_numpy() if it is in their order."
        )
    return target_class.loc[X.index]


def targets_of(target_class: Any, classes: Objects, n_rows: int) -> Bools:
    """The classes named for each row, shape (rows, classes); a row of False means any other class than its own."""
    position_of = {label: position for position, label in enumerate(classes)}
    targets = np.zeros((n_rows, len(classes)), dtype=bool)
    if isinstance(target_class, np.ndarray) and target_class.ndim == 0:
        target_class = target_class.item()
    if isinstance(target_class, str) and target_class == "other":
        return targets
    if isinstance(target_class, (list, tuple, set, frozenset)):
        if not target_class:
            raise OptionError(f"target_class names no class; choose among {listed(classes)}, or pass 'other'.")
        named = [_class(one, position_of, "target_class") for one in target_class]
        if len(set(named)) < len(named):
            raise OptionError(
                "target_class names a class twice. A list names classes that will all do, whatever the row; for one "
                "class for each row, pass an array: np.array([...], dtype=object)."
            )
        targets[:, named] = True
        return targets
    if not isinstance(target_class, (str, bytes)) and hasattr(target_class, "__len__"):
        return _by_row(target_class, position_of, targets)
    targets[:, _class(target_class, position_of, "target_class")] = True
    return targets


def _by_row(target_class: Any, position_of: dict[Any, int], targets: Bools) -> Bools:
    labels = np.asarray(target_class, dtype=object)
    if labels.shape != (len(targets),):
        raise OptionError(
            f"target_class is an array of shape {labels.shape}, one class per row, but X has {len(targets)} rows. "
            "For several classes that will all do, pass a list."
        )
    for row, label in enumerate(labels):
        if isinstance(label, str) and label == "other":
            if label in position_of:
                raise OptionError(
                    f"target_class of row {row}='other' could be the class of that name or any other class. Explain "
                    "these rows apart: ['other'] names the class, 'other' means any other."
                )
            continue
        targets[row, _class(label, position_of, f"target_class of row {row}")] = True
    return targets


def _class(label: Any, position_of: dict[Any, int], what: str) -> int:
    try:
        return position_of[plain(label)]
    except (KeyError, TypeError):
        raise OptionError(
            f"{what}={plain(label)!r} is not a class of the model; choose one of {listed(position_of)}, a list of "
            "them, an array with one per row, or 'other'."
        ) from None
