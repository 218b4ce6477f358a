"""How many rows have values that training never saw, and in which features."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
import pandas as pd

from nicecf.results.batch import Batch
from nicecf.support.types import Ints
from nicecf.tables.seen import CATEGORY, MISSING, OUTSIDE, new_values
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording

_KINDS = {OUTSIDE: "outside", CATEGORY: "category", MISSING: "missing"}
_FEATURES_SHOWN = 3


def unseen_in(batch: Batch, entries: Ints, *, but: Iterable[int] = ()) -> tuple[pd.DataFrame, int]:
    """Features with values that training never saw, by kind, the most frequent first; how many entries have any.

    ``but``: positions of features that are left out.
    """
    seen = batch.provenance.statistics.seen
    new = new_values(batch.before.values[entries], batch.schema, seen)
    new[:, list(but)] = 0
    lines = []
    for number, kind in _KINDS.items():
        counts = np.count_nonzero(new == number, axis=0)
        for j in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist():
            lines.append((batch.schema.names[j], kind, int(counts[j])))
    return unseen_table(lines), int(np.count_nonzero(new.any(axis=1)))


def unseen_table(lines: Iterable[tuple[Hashable, str, int]]) -> pd.DataFrame:
    """One line per feature and kind."""
    every = list(lines)
    names = np.empty(len(every), dtype=object)
    for at, (name, _, _) in enumerate(every):  # one by one: numpy would take tuples for a table
        names[at] = name
    return pd.DataFrame(
        {
            "feature": pd.Series(names, dtype=object),
            "kind": pd.Series([kind for _, kind, _ in every], dtype=object),
            "rows": np.array([rows for _, _, rows in every], dtype=np.intp),
        }
    )


def in_words(
    unseen: pd.DataFrame, n_unseen: int, n_rows: int, *, is_guarded: bool, teller: Teller | None = None
) -> str | None:
    """How many of the rows have such values, and of which features, in a line; None if none has.

    ``is_guarded``: with ``min_count``, what too few training rows hold is not told from what none has.

    >>> in_words(unseen_table([("age", "outside", 2), ("job", "missing", 1)]), 3, 100, is_guarded=False)
    '3 of 100 rows have values that training never saw: 2 outside the range (age 2), 1 missing (job 1)'
    """
    if not n_unseen:
        return None
    teller = teller or Teller(Wording())
    parts = []
    for kind in _KINDS.values():
        those = unseen[unseen["kind"] == kind]
        if len(those):
            parts.append(
                teller.counted(f"summary.unseen_{kind}", int(those["rows"].sum()), features=_features(those, teller))
            )
    number = "of_one_row" if n_rows == 1 else "one" if n_unseen == 1 else "several"
    return teller.say(
        f"summary.unseen_{'guarded_' if is_guarded else ''}{number}",
        count=n_unseen,
        rows=n_rows,
        parts=teller.wording.phrases["list.between"].join(parts),
    )


def _features(those: pd.DataFrame, teller: Teller) -> str:
    each = zip(those["feature"], those["rows"], strict=True)
    named = [f"{teller.name(name)} {teller.count(int(count))}" for name, count in each]
    more = len(named) - _FEATURES_SHOWN
    rest = [teller.say("summary.unseen_more", count=more)] if more > 0 else []
    return teller.wording.phrases["list.between"].join([*named[:_FEATURES_SHOWN], *rest])
