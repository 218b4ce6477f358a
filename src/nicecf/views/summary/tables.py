"""A summary for people: the same tables for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nicecf.support.types import CellValue, Ints, Label
from nicecf.views.documents import inline
from nicecf.views.documents.columns import aligned, short
from nicecf.views.documents.document import NOTHING
from nicecf.views.telling import Teller

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
    """A table with its title; the lines after the first ``n_shown`` are counted, by the phrase ``more``, or folded."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...]
    cut: tuple[int, ...]
    n_shown: int
    more: str
    last: str = ""


def as_text(summary: Summary) -> str:
    """For a terminal of 100 columns."""
    teller = Teller(summary.wording)
    parts = [headline(summary)]
    for part in _parts(summary, teller):
        shown = part.rows[: part.n_shown]
        lines = [part.title] if part.title else []
        if shown:
            lines.append(aligned(part.head, shown, right=part.right, cut=part.cut))
        if len(part.rows) > part.n_shown:
            lines.append(teller.say("summary.and_more", more=_more(part, teller)))
        parts.append("\n".join([*lines, *filter(None, [part.last])]))
    return "\n\n".join([*parts, *_remarks(summary, teller)])


def as_html(summary: Summary) -> str:
    """For a notebook; every value is escaped."""
    teller = Teller(summary.wording)
    html = [inline.paragraph(inline.text(headline(summary)))]
    for part in _parts(summary, teller):
        head = [inline.text(one) for one in part.head]
        rows = [[inline.text(cell) for cell in row] for row in part.rows]
        if part.title:
            html.append(inline.heading(part.title))
        if rows:
            html.append(inline.table(head, rows[: part.n_shown], right=part.right))
        if len(rows) > part.n_shown:
            table = inline.table(head, rows[part.n_shown :], right=part.right)
            html.append(inline.folded(_more(part, teller), table))
        if part.last:
            html.append(inline.paragraph(inline.quiet(part.last)))
    return inline.piece(*html, *(inline.paragraph(inline.quiet(one)) for one in _remarks(summary, teller)))


def _more(part: _Part, teller: Teller) -> str:
    return teller.counted(part.more, len(part.rows) - part.n_shown)


def headline(summary: Summary) -> str:
    """How many rows there are, how many were found, and what they cost on average where they change."""
    teller, totals = Teller(summary.wording), summary.totals
    rows = teller.counted("summary.rows", totals.rows)
    if not totals.found:
        return teller.say("summary.headline_none", rows=rows)
    known = {"rows": rows, "found": totals.found, "share": teller.percent(totals.coverage)}
    if not totals.changed:
        return teller.say("summary.headline_unchanged", **known)
    known |= {"changes": teller.number(f"{totals.mean_changes:.1f}")}
    known |= {"distance": teller.significant(totals.mean_distance, 3)}
    if not totals.unchanged:
        return teller.say("summary.headline", **known)
    return teller.say("summary.headline_of_others", unchanged=totals.unchanged, **known)


def _remarks(summary: Summary, teller: Teller) -> list[str]:
    remarks = [summary.note] if summary.note else []
    if summary.unseen_note:
        remarks.append(f"{summary.unseen_note}.")
    if summary.by is not None and len(summary.groups) > 1:
        remarks.append(teller.say("summary.ratio_means"))
        few = int((summary.groups["changed"] < _FEW).sum())
        if few:
            remarks.append(teller.counted("summary.few", few, least=_FEW))
    return remarks


def _parts(summary: Summary, teller: Teller) -> list[_Part]:
    if not len(summary.groups):
        return []
    of_classes = [those for _, those in summary.features.groupby(_places(summary.features["predicted"]))]
    make = _how_much if summary.by is None else _by_group
    parts = [_costs(summary, teller), *(make(those, teller) for those in of_classes[:_CLASSES_SHOWN])]
    if len(of_classes) > _CLASSES_SHOWN:
        parts.append(_line(teller.counted("summary.more_classes", len(of_classes) - _CLASSES_SHOWN)))
    return parts


def _places(labels: pd.Series[Label]) -> Ints:
    """Labels by number, in the order in which they appear: labels of many kinds do not sort."""
    return pd.factorize(labels, use_na_sentinel=False)[0]


def _line(title: str) -> _Part:
    return _Part(title, (), (), (), (), 0, "")


def _costs(summary: Summary, teller: Teller) -> _Part:
    """Coverage and cost, one line per class and group."""
    names = {"predicted": teller.say("summary.head_predicted")}
    if summary.by is not None:
        names["group"] = short(teller.name(summary.by), 40)
    groups = summary.groups
    told = set(groups) - ({"changed"} if groups["changed"].equals(groups["found"]) else set())
    measures = {name: how for name, how in _MEASURES.items() if name in told}
    rows = [
        (
            *(_called(line[name], name, teller) for name in names),
            *(how(line[name], teller) for name, how in measures.items()),
        )
        for line in groups.to_dict("records")
    ]
    head = (*names.values(), *(teller.say(f"summary.head_{name}") for name in measures))
    numbers = tuple(range(len(names), len(head)))
    return _Part("", head, tuple(rows), numbers, tuple(range(len(names))), _GROUPS_SHOWN, "summary.more_groups_lines")


def _called(value: CellValue, column: str, teller: Teller) -> str:
    """A class or a group."""
    return teller.label(value) if column == "predicted" and value is not None else teller.value(None, value)


def _how_much(those: pd.DataFrame, teller: Teller) -> _Part:
    """What changes in the rows of one class, and by how much."""
    title, found = _title(those, int(those["rows"].iloc[0]), teller), int(those["rows"].iloc[0])
    changed = those[those["changed"] > 0]
    if not len(changed):
        return _line(_nothing(title, found, teller))
    rows = [
        (
            teller.name(line["feature"]),
            teller.count(line["changed"]),
            _share(line["share"], teller),
            typical(line, teller),
            _signed(line["median_change"], teller),
            _span(line["p10_change"], line["p90_change"], teller),
            _share(line["increased"], teller),
            _share(line["distance_share"], teller),
        )
        for line in changed.to_dict("records")
    ]
    columns = ("feature", "times", "share", "typical", "median", "span", "up", "of_distance")
    head = tuple(teller.say(f"summary.column_{name}") for name in columns)
    last = _never(len(those) - len(changed), teller)
    return _Part(title, head, tuple(rows), (1, 2, 4, 5, 6, 7), (0, 3), _FEATURES_SHOWN, "summary.more_features", last)


def _by_group(those: pd.DataFrame, teller: Teller) -> _Part:
    """How often each feature changes in the rows of one class, its groups side by side."""
    group, feature = _places(those["group"]), _places(those["feature"])
    groups = those["group"].to_numpy()[np.unique(group, return_index=True)[1]]
    labels = [teller.value(None, label) for label in groups]
    names = [teller.name(name) for name in those["feature"].to_numpy()[np.unique(feature, return_index=True)[1]]]
    found = int(those["rows"].groupby(group).first().sum())
    counts = those["changed"].groupby(feature).sum().sort_values(ascending=False, kind="stable")
    kept = counts.index[counts > 0]
    title = _title(those, found, teller)
    if not len(kept):
        return _line(_nothing(title, found, teller))
    shares = np.full((len(names), len(labels)), np.nan)
    shares[feature, group] = those["share"]
    rows = [(names[at], *(_share(one, teller) for one in shares[at, :_COLUMNS_SHOWN])) for at in kept]
    head = (teller.say("summary.column_feature"), *labels[:_COLUMNS_SHOWN])
    last = [_never(len(names) - len(kept), teller)]
    if len(labels) > _COLUMNS_SHOWN:
        last.append(teller.counted("summary.more_groups", len(labels) - _COLUMNS_SHOWN))
    return _Part(
        teller.say("summary.title_by_group", title=title),
        head,
        tuple(rows),
        tuple(range(1, len(head))),
        tuple(range(len(head))),
        _FEATURES_SHOWN,
        "summary.more_features",
        " ".join(filter(None, last)),
    )


def _title(those: pd.DataFrame, found: int, teller: Teller) -> str:
    label = short(_called(those["predicted"].iloc[0], "predicted", teller), 40)
    return teller.say("summary.title", label=label, rows=teller.counted("summary.rows", found))


def _nothing(title: str, found: int, teller: Teller) -> str:
    return teller.say("summary.nothing_changes" if found else "summary.nothing_found", title=title)


def _never(count: int, teller: Teller) -> str:
    return teller.counted("summary.never", count) if count else ""


def typical(line: Mapping[Hashable, CellValue], teller: Teller) -> str:
    """What a change of this feature mostly is; a line of ``Summary.features``.

    >>> from nicecf.views.words.wording import Wording
    >>> teller = Teller(Wording())
    >>> typical({"feature": "home", "before": "rent", "after": "own", "times": 11}, teller)
    'rent -> own (11x)'
    >>> typical({"feature": "score", "before": 620.0, "after": 708.5, "times": pd.NA}, teller)
    '620 -> 708.5'
    """
    change = " -> ".join(_value(line["feature"], line[side], teller) for side in ("before", "after"))
    return change if pd.isna(line["times"]) else f"{change} ({teller.count(line['times'])}x)"


def _value(feature: Hashable, value: CellValue, teller: Teller) -> str:
    if isinstance(value, float):
        return teller.wording.measured(feature, teller.significant(value))
    return teller.value(feature, value)


def _share(value: float, teller: Teller) -> str:
    return NOTHING if np.isnan(value) else teller.percent(value)


def _signed(value: float | timedelta, teller: Teller) -> str:
    return teller.signed(value) if isinstance(value, timedelta) or not np.isnan(value) else NOTHING


def _span(low: float | timedelta, high: float | timedelta, teller: Teller) -> str:
    if pd.isna(low):
        return NOTHING
    return teller.say("summary.span", low=teller.signed(low), high=teller.signed(high))


def _size(value: float, teller: Teller) -> str:
    return NOTHING if np.isnan(value) else teller.number(f"{value:.3f}") if value < 1000 else teller.significant(value)


def _mean(value: float, teller: Teller) -> str:
    return NOTHING if np.isnan(value) else teller.number(f"{value:.2f}")


def _count(value: int, teller: Teller) -> str:
    return teller.count(value)


_MEASURES: dict[str, Callable[[CellValue, Teller], str]] = {
    "rows": _count,
    "found": _count,
    "coverage": _share,
    "changed": _count,
    "mean_changes": _mean,
    "mean_distance": _size,
    "median_distance": _size,
    "mean_plausibility": _size,
    "ratio": _mean,
}
