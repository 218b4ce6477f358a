"""Real cases in words that stand for the others: the most common changes, several at once, the middle by distance."""

from __future__ import annotations

import numpy as np

from nicecf.support.types import Ints
from nicecf.views import words
from nicecf.views.documents.html import text
from nicecf.views.report.cases import Cases
from nicecf.views.report.formatting import HtmlFormatter, section
from nicecf.views.words.formatting import formatted

_EXAMPLES = 3


def examples(cases: Cases, formatter: HtmlFormatter) -> str:
    """Return the chapter of examples; nothing where no case changes."""
    chosen = _chosen(cases)
    if not chosen:
        return ""
    batch = cases.batch.take(np.array(list(chosen)))
    titles = [f"<h3>{formatter.counted(f'example_{kind}', count)}</h3>" for kind, count in chosen.values()]
    if len(titles) == 1:
        titles = [""]
    parts = [
        f'<div class="example">{title}<p><b>{text(label)}</b> '
        f"{text(words.in_style(one, 'sentence', formatter.wording))}</p></div>"
        for title, label, one in zip(titles, batch.labels, formatted(batch, formatter.formatter, ask=True), strict=True)
    ]
    return section(formatter.say("examples"), *parts)


def _chosen(cases: Cases) -> dict[int, tuple[str, int]]:
    """Return the positions of the examples, each with its kind and how many cases change the same features."""
    rows, distances = np.flatnonzero(cases.is_changed), cases.batch.distances
    if not len(rows):
        return {}
    keys = np.column_stack([cases.decided[rows], np.packbits(cases.changes[rows], axis=1)])
    _, first, pattern, counts = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    pattern = pattern.reshape(-1)
    # The most frequent first; on a tie the one that comes first in the batch.
    common, *others = np.lexsort((first, -counts)).tolist()
    chosen = {_middle(cases, rows[pattern == common]): ("common", int(counts[common]))}
    if others:
        is_several = cases.batch.n_changes[rows[first]] > 1
        other = next((one for one in others if is_several[one]), others[0])
        kind = "several" if is_several[other] else "other"
        chosen[_middle(cases, rows[pattern == other])] = (kind, int(counts[other]))
    middle = distances[_middle(cases, rows)]
    for kind, order in (("typical", np.abs(distances - middle)), ("hardest", -distances)):
        left = np.setdiff1d(rows, list(chosen))
        if len(left) and len(chosen) < _EXAMPLES:
            chosen[int(left[np.argmin(order[left])])] = (kind, 1)
    return chosen


def _middle(cases: Cases, rows: Ints) -> int:
    """Return the case with the median distance among some, of two in the middle the nearer one."""
    order = np.argsort(cases.batch.distances[rows], kind="stable")
    return int(rows[order[(len(rows) - 1) // 2]])
