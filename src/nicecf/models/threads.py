"""Models that start threads for every call: of small calls, that is most of what they take."""

from __future__ import annotations

from typing import Any

from nicecf.models.scorer import Cost

# A call of a model on one thread takes about a millisecond before it looks at a row.
_SLOW_CALL = 0.005
# What a call costs is measured with a few rows in it: if it is not more than so many rows, it may be theirs.
_FEW_ROWS = 20


def advice_on_threads(model: Any, cost: Cost) -> str:
    """What to do about a model with several threads whose small calls take long, as a sentence; empty for others.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> advice_on_threads(RandomForestClassifier(n_jobs=-1), Cost(call=0.04, row=1e-5))
    ' A call of the model takes 40 ms, however few the rows: with n_jobs=1 instead of -1 it may take less.'
    >>> advice_on_threads(RandomForestClassifier(), Cost(call=0.04, row=1e-5))
    ''
    """
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    for option in ("n_jobs", "thread_count"):
        n_threads = getattr(last, option, None)
        has_threads = isinstance(n_threads, int) and n_threads not in (0, 1)
        if has_threads and cost.call > max(_SLOW_CALL, _FEW_ROWS * cost.row):
            return (
                f" A call of the model takes {1e3 * cost.call:.0f} ms, however few the rows: with {option}=1 instead "
                f"of {n_threads} it may take less."
            )
    return ""
