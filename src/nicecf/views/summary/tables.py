"""A summary for people: the same tables for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nicecf.support.formats import percent, shown, signed_duration
from nicecf.support.types import CellValue, Ints, Label
from nicecf.views.documents import inline
from nicecf.views.documents.columns import aligned, short, significant
from nicecf.views.documents.document import NOTHING

if TYPE_CHECKING:
    from nicecf.views.summary import Summary

_FEATURES_SHOWN = 10
_GROUPS_SHOWN = 24
_CLASSES_SHOWN = 6
_COLUMNS_SHOWN = 8
# Fewer rows than this, and the mean of a group is mostly chance.
_FEW = 10


@dataclass(frozen=True)
class _Part:
    """A table with its title; the lines after the first ``n_shown`` are counted, or folded."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...]
    cut: tuple[int, ...]
    n_shown: int
    things: str
    last: str = ""


def as_text(summary: Summary) -> str:
    """For a terminal of 100 columns."""
    parts = [headline(summary)]
    for part in _parts(summary):
        shown = part.rows[: part.n_shown]
        lines = [part.title] if part.title else []
        if shown:
            lines.append(aligned(part.head, shown, right=part.right, cut=part.cut))
        if len(part.rows) > part.n_shown:
            lines.append(f"... and {len(part.rows) - part.n_shown:,} more {part.things}")
        parts.append("\n".join([*lines, *filter(None, [part.last])]))
    return "\n\n".join([*parts, *_remarks(summary)])


def as_html(summary: Summary) -> str:
    """For a notebook; every value is escaped."""
    html = [inline.paragraph(inline.text(headline(summary)))]
    for part in _parts(summary):
        head = [inline.text(one) for one in part.head]
        rows = [[inline.text(cell) for cell in row] for row in part.rows]
        if part.title:
            html.append(inline.heading(part.title))
        if rows:
            html.append(inline.table(head, rows[: part.n_shown], right=part.right))
        if len(rows) > part.n_shown:
            title = f"{len(rows) - part.n_shown:,} more {part.things}"
            html.append(inline.folded(title, inline.table(head, rows[part.n_shown :], right=part.right)))
        if part.last:
            html.append(inline.paragraph(inline.quiet(part.last)))
    return inline.piece(*html, *(inline.paragraph(inline.quiet(one)) for one in _remarks(summary)))


def headline(summary: Summary) -> str:
    """How many rows there are, how many were found, and what they cost on average."""
    groups = summary.groups
    rows, found = int(groups["rows"].sum()), int(groups["found"].sum())
    if not found:
        return f"Summary: {rows:,} {_plural('row', rows)}, none found"
    changes = (groups["mean_changes"] * groups["found"]).sum() / found
    distance = (groups["mean_distance"] * groups["found"]).sum() / found
    return (
        f"Summary: {rows:,} {_plural('row', rows)}, {found:,} found ({percent(found / rows)}), "
        f"{changes:.1f} changes and distance {significant(distance, 3)} on average"
    )


def _remarks(summary: Summary) -> list[str]:
    remarks = [summary.note] if summary.note else []
    if summary.unseen_note:
        remarks.append(f"{summary.unseen_note}.")
    if summary.by is not None and len(summary.groups) > 1:
        remarks.append("ratio: the mean distance beside that of the group that is best off, by the same decision.")
        few = int((summary.groups["found"] < _FEW).sum())
        if few:
            which = "1 group has" if few == 1 else f"{few:,} groups have"
            remarks.append(
                f"{which} fewer than {_FEW} rows with a counterfactual: what is said of so few is mostly chance."
            )
    return remarks


def _parts(summary: Summary) -> list[_Part]:
    if not len(summary.groups):
        return []
    of_classes = [those for _, those in summary.features.groupby(_places(summary.features["predicted"]))]
    make = _how_much if summary.by is None else _by_group
    parts = [_costs(summary), *map(make, of_classes[:_CLASSES_SHOWN])]
    if len(of_classes) > _CLASSES_SHOWN:
        parts.append(_line(f"... and {len(of_classes) - _CLASSES_SHOWN:,} more classes in .features"))
    return parts


def _places(labels: pd.Series[Label]) -> Ints:
    """Labels by number, in the order in which they appear: labels of many kinds do not sort."""
    return pd.factorize(labels, use_na_sentinel=False)[0]


def _line(title: str) -> _Part:
    return _Part(title, (), (), (), (), 0, "")


def _costs(summary: Summary) -> _Part:
    """Coverage and cost, one line per class and group."""
    names = {"predicted": "decision"} | ({} if summary.by is None else {"group": short(summary.by, 40)})
    measures = {name: how for name, how in _MEASURES.items() if name in summary.groups}
    rows = [
        (*(shown(line[name]) for name in names), *(form(line[name]) for name, (_, form) in measures.items()))
        for line in summary.groups.to_dict("records")
    ]
    head = (*names.values(), *(title for title, _ in measures.values()))
    numbers = tuple(range(len(names), len(head)))
    return _Part("", head, tuple(rows), numbers, tuple(range(len(names))), _GROUPS_SHOWN, "lines in .groups")


def _how_much(those: pd.DataFrame) -> _Part:
    """What changes in the rows of one class, and by how much."""
    title, found = _title(those, int(those["rows"].iloc[0])), int(those["rows"].iloc[0])
    changed = those[those["changed"] > 0]
    if not len(changed):
        return _line(f"{title}: {'nothing has to change' if found else 'nothing was found'}")
    rows = [
        (
            str(line["feature"]),
            f"{line['changed']:,}",
            _share(line["share"]),
            typical(line),
            _signed(line["median_change"]),
            _span(line["p10_change"], line["p90_change"]),
            _share(line["increased"]),
            _share(line["distance_share"]),
        )
        for line in changed.to_dict("records")
    ]
    head = ("feature", "changed", "share", "typical", "median", "10 to 90 %", "up", "of distance")
    last = _never(len(those) - len(changed))
    return _Part(title, head, tuple(rows), (1, 2, 4, 5, 6, 7), (0, 3), _FEATURES_SHOWN, "features that change", last)


def _by_group(those: pd.DataFrame) -> _Part:
    """How often each feature changes in the rows of one class, its groups side by side."""
    group, feature = _places(those["group"]), _places(those["feature"])
    labels = [shown(label) for label in those["group"].to_numpy()[np.unique(group, return_index=True)[1]]]
    names = [str(name) for name in those["feature"].to_numpy()[np.unique(feature, return_index=True)[1]]]
    found = int(those["rows"].groupby(group).first().sum())
    counts = those["changed"].groupby(feature).sum().sort_values(ascending=False, kind="stable")
    kept = counts.index[counts > 0]
    if not len(kept):
        return _line(f"{_title(those, found)}: {'nothing has to change' if found else 'nothing was found'}")
    shares = np.full((len(names), len(labels)), np.nan)
    shares[feature, group] = those["share"]
    rows = [(names[at], *map(_share, shares[at, :_COLUMNS_SHOWN])) for at in kept]
    head = ("feature", *labels[:_COLUMNS_SHOWN])
    last = [_never(len(names) - len(kept))]
    if len(labels) > _COLUMNS_SHOWN:
        last.append(f"{len(labels) - _COLUMNS_SHOWN:,} more groups in .features.")
    return _Part(
        f"{_title(those, found)}: in how many of them each feature changes",
        head,
        tuple(rows),
        tuple(range(1, len(head))),
        tuple(range(len(head))),
        _FEATURES_SHOWN,
        "features that change",
        " ".join(filter(None, last)),
    )


def _title(those: pd.DataFrame, found: int) -> str:
    return f"{short(shown(those['predicted'].iloc[0]), 40)}, {found:,} {_plural('row', found)}"


def _never(count: int) -> str:
    return f"{count:,} {_plural('feature', count)} never {'changes' if count == 1 else 'change'}." if count else ""


def typical(line: Mapping[Hashable, CellValue]) -> str:
    """What a change of this feature mostly is; a line of ``Summary.features``.

    >>> typical({"before": "rent", "after": "own", "times": 11})
    'rent -> own (11x)'
    >>> typical({"before": 620.0, "after": 708.5, "times": pd.NA})
    '620 -> 708.5'
    """
    change = " -> ".join(_value(line[side]) for side in ("before", "after"))
    return change if pd.isna(line["times"]) else f"{change} ({line['times']:,}x)"


def _value(value: CellValue) -> str:
    return significant(value) if isinstance(value, float) else shown(value)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _share(value: float) -> str:
    return NOTHING if np.isnan(value) else percent(value)


def _signed(value: float | timedelta) -> str:
    if isinstance(value, timedelta):
        return signed_duration(value)
    return NOTHING if np.isnan(value) else f"{'+' if value > 0 else ''}{significant(value, 3)}"


def _span(low: float | timedelta, high: float | timedelta) -> str:
    return NOTHING if pd.isna(low) else f"{_signed(low)} to {_signed(high)}"


def _size(value: float) -> str:
    return NOTHING if np.isnan(value) else f"{value:.3f}" if value < 1000 else significant(value)


def _mean(value: float) -> str:
    return NOTHING if np.isnan(value) else f"{value:.2f}"


_MEASURES: dict[str, tuple[str, Callable[[CellValue], str]]] = {
    "rows": ("rows", "{:,}".format),
    "found": ("found", "{:,}".format),
    "coverage": ("coverage", _share),
    "mean_changes": ("changes", _mean),
    "mean_distance": ("distance", _size),
    "median_distance": ("median", _size),
    "mean_plausibility": ("error", _size),
    "ratio": ("ratio", _mean),
}
