"""Real cases in words that stand for the others: the most common changes, several at once, the middle by distance."""

from __future__ import annotations

import numpy as np

from nicecf.support.types import Ints
from nicecf.views import words
from nicecf.views.documents.html import text
from nicecf.views.report.cases import Cases
from nicecf.views.report.formatting import HtmlFormatter, section
from nicecf.views.words.formatting import formatted


def examples(cases: Cases, formatter: HtmlFormatter) -> str:
    """The chapter of examples; nothing where no case changes."""
    chosen = _chosen(cases)
    if not chosen:
        return ""
    batch = cases.batch.take(np.array(list(chosen)))
    parts = [
        f'<div class="example"><h3>{formatter.counted(f"example_{kind}", count)}</h3>'
        f"<p><b>{text(label)}</b> {text(words.in_style(one, 'sentence', formatter.wording))}</p></div>"
        for (kind, count), label, one in zip(
            chosen.values(), batch.labels, formatted(batch, formatter.formatter, ask=True), strict=True
        )
    ]
    return section(formatter.say("examples"), *parts)


def _chosen(cases: Cases) -> dict[int, tuple[str, int]]:
    """The positions of the examples, each with its kind and how many cases change the same features."""
    rows = np.flatnonzero(cases.is_changed)
    if not len(rows):
        return {}
    keys = np.column_stack([cases.decided[rows], np.packbits(cases.changes[rows], axis=1)])
    _, first, pattern, counts = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    pattern = pattern.reshape(-1)
    # The most frequent first; on a tie the one that comes first in the batch.
    order = np.lexsort((first, -counts))
    common, is_several = order[0], cases.batch.n_changes[rows[first]] > 1
    chosen = {_middle(cases, rows[pattern == common]): ("common", int(counts[common]))}
    several = [one for one in order[1:].tolist() if is_several[one]]
    if several:
        chosen[_middle(cases, rows[pattern == several[0]])] = ("several", int(counts[several[0]]))
    others = np.setdiff1d(rows, list(chosen))
    if len(others):
        middle = cases.batch.distances[_middle(cases, rows)]
        typical = others[np.argmin(np.abs(cases.batch.distances[others] - middle))]
        chosen[int(typical)] = ("typical", 1)
    return chosen


def _middle(cases: Cases, rows: Ints) -> int:
    """The case with the median distance among some, of two in the middle the nearer one."""
    order = np.argsort(cases.batch.distances[rows], kind="stable")
    return int(rows[order[(len(rows) - 1) // 2]])
