"""The label among the features: a column that goes one to one with it, and should not be there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import SchemaError
from nicecf.rules.suggestions.suggestion import Suggestion
from nicecf.rules.suggestions.table_facts import TableFacts

# In fewer rows, a column of two values may agree by accident.
_FEWEST_ROWS = 20


def label_columns(facts: TableFacts, y: Any) -> list[Suggestion]:
    """A finding, without a rule, for each column of which every value goes with one label, and the other way round.

    Raises SchemaError unless ``y`` has one label for each row.
    """
    labels = np.asarray(y.to_list() if hasattr(y, "to_list") else y, dtype=object)
    if labels.ndim != 1:
        raise SchemaError(f"y must have one label per row, got shape {labels.shape}. Pass one column of labels.")
    if len(labels) != facts.n_rows:
        raise SchemaError(f"y has {len(labels):,} labels, but X has {facts.n_rows:,} rows. Pass one label per row.")
    codes, classes = pd.factorize(labels, use_na_sentinel=False)
    # Labels of their own in most rows go with whatever is unique.
    if facts.n_rows < _FEWEST_ROWS or not 1 < len(classes) <= facts.n_rows / 2:
        return []
    return [
        Suggestion("label", None, (column.name,), "", True, _seen(column.name, facts.n_rows))
        for column in facts.columns
        if np.array_equal(column.codes, codes)
    ]


def _seen(name: object, n_rows: int) -> str:
    return (
        f"{name!r} looks like the label: it goes one to one with it in all {n_rows:,} rows. If it is the label, or "
        "follows from it, leave it out of the table and of the model"
    )
