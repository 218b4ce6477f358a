"""Answers of an engine beside those of ``explain``."""

import pandas as pd
import pyarrow as pa


def arrow(frame):
    return pa.RecordBatch.from_pandas(frame, preserve_index=False)


def check_same(table, cfs, id="customer"):
    """A table of answers says what the result of ``explain`` says, line by line; its lines may come in any order."""
    lines = {line[id]: line for line in table.to_pylist()}
    assert len(lines) == table.num_rows == len(cfs)
    changes = cfs.changes().groupby("row")
    frame = cfs.to_frame()
    for at, one in enumerate(cfs):
        label = cfs.batch.labels[at]
        line = lines[label]
        assert line["found"] == cfs.found[at]
        assert (line["reason"], line["reason_kind"]) == (cfs.reasons[at], cfs.reason_kinds[at])
        assert line["score_before"] == cfs.batch.before.probability[at]
        assert line["decision_before"] == str(cfs.batch.predicted[at])
        own = changes.get_group(label) if label in changes.groups else None
        told = [] if own is None else [(c.feature, text(c.before), text(c.after)) for c in own.itertuples()]
        assert [tuple(change.values()) for change in line["changes"]] == told
        if one.found:
            assert line["score_after"] == cfs.batch.probability[at]
            assert line["decision_after"] == str(cfs.batch.predicted_after[at])
            given = [None if is_missing(value) else value for value in frame.iloc[at]]
            assert [line[name] for name in frame.columns] == given
        else:
            assert line["score_after"] is line["decision_after"] is None
            assert all(line[name] is None for name in frame.columns)


def text(value):
    return None if is_missing(value) else str(value)


def is_missing(value):
    return bool(pd.isna(value))
