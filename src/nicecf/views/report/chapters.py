"""The chapters of the page about all rows together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import timedelta

import numpy as np
import pandas as pd

from nicecf.results.batch import Batch
from nicecf.support.formats import percent, signed_duration
from nicecf.support.types import CellValue, Json
from nicecf.views.documents.columns import significant
from nicecf.views.documents.document import NOTHING
from nicecf.views.documents.html import text
from nicecf.views.documents.page import bar
from nicecf.views.report.formatting import HtmlFormatter, fact, facts, folded, section, table
from nicecf.views.summary import Summary

_FEATURES_SHOWN = 12
_DISTANCE = (
    "Distance: the sum over all changes; 1 is the whole range of one number in the training data, or another category. "
)


def head(title: str, n_counterfactuals: int, summary: Summary) -> str:
    """The title, and the figures that matter most."""
    groups = summary.groups
    rows, found = int(groups["rows"].sum()), int(groups["found"].sum())
    tiles = [(f"{rows:,}", "row" if rows == 1 else "rows"), (percent(found / rows) if rows else NOTHING, "found")]
    if found:
        average = "" if found == 1 else " on average"
        for name, what in (("mean_changes", "changes"), ("mean_distance", "distance")):
            mean = float((groups[name] * groups["found"]).sum()) / found
            tiles.append((significant(mean, 3), what + average))
    if n_counterfactuals > rows:
        tiles.append((f"{n_counterfactuals:,}", "counterfactuals"))
    shown = "".join(f"<div><b>{text(number)}</b><span>{text(what)}</span></div>" for number, what in tiles)
    return f'<h1>{text(title)}</h1>\n<div class="tiles">{shown}</div>'


def asked(batch: Batch, about: dict[str, Json], rules: Sequence[dict[str, Json]], formatter: HtmlFormatter) -> str:
    """What the model decided, what was wanted instead, under which rules; folded, all options."""
    options, call = about["options"], about["call"]
    known = {
        "Wanted": _target(call.get("target_class"), formatter),
        "Rules": _rules(rules),
        "Explainer": ", ".join(
            [about["explainer"], *(f"{one}={options[one]}" for one in ("optimize", "search") if one in options)]
        ),
    }
    if options.get("decision"):
        known["Decision rule"] = fact(options["decision"])
    every = {**options, **{f"explain: {name}": value for name, value in call.items()}}
    return section(
        "What was asked",
        _decisions(batch, formatter),
        facts(known),
        folded("All options", facts(every)),
    )


def _decisions(batch: Batch, formatter: HtmlFormatter) -> str:
    """How often each decision became which; a row that is in the target already stays where it is."""
    if not len(batch):
        return ""
    then = np.where(batch.found, batch.after.decided, -1)
    pairs, counts = np.unique(np.column_stack([batch.before.decided, then]), axis=0, return_counts=True)
    rows = [
        [
            formatter.label(batch.classes[pairs[at, 0]]),
            "<i>not found</i>" if pairs[at, 1] < 0 else formatter.label(batch.classes[pairs[at, 1]]),
            f"{counts[at]:,}",
            bar(counts[at] / len(batch)),
        ]
        for at in np.argsort(-counts, kind="stable")
    ]
    return table(["the model says", "it would say", "count", ""], rows, right=[2], kind="bars")


def _rules(rules: Sequence[dict[str, Json]]) -> str:
    """The rules that hold for all rows; where they differ, those of the first."""
    if not any(rules):
        return "none"
    if all(one == rules[0] for one in rules):
        return fact(rules[0])
    return f"they differ from row to row; those of the first: {fact(rules[0])}"


def _target(target: Json, formatter: HtmlFormatter) -> str:
    if isinstance(target, str) and target == "other":
        return "any other class than the one decided on"
    if isinstance(target, list):
        return " or ".join(formatter.formatter.label(one) for one in target)
    return formatter.formatter.label(target)


def unseen(summary: Summary, formatter: HtmlFormatter) -> str:
    """In which features how many rows have values that training never saw."""
    if not summary.unseen_note:
        return ""
    n_rows = int(summary.groups["rows"].sum())
    rows = [
        [formatter.name(line["feature"]), _UNSEEN[line["kind"]], f"{line['rows']:,}", bar(line["rows"] / n_rows)]
        for line in summary.unseen.to_dict("records")
    ]
    return section(
        "Values that training never saw",
        f"<p>{text(summary.unseen_note)}.</p>",
        table(["feature", "what is new", "rows", ""], rows, right=[2], kind="bars"),
    )


_UNSEEN = {"outside": "outside the range", "category": "unseen category", "missing": "missing"}


def what_changes(batch: Batch, summary: Summary, formatter: HtmlFormatter) -> str:
    """How often each feature changes, and how, for each class; not those that follow from others."""
    parts = []
    for _, those in summary.features.groupby(pd.factorize(summary.features["predicted"])[0]):
        found, changed = int(those["rows"].iloc[0]), those[those["changed"] > 0]
        if not len(changed):
            continue
        records = changed.to_dict("records")
        rows = [_feature(line, formatter) for line in records]
        title = f"{formatter.label(those['predicted'].iloc[0])}, {found:,} {'row' if found == 1 else 'rows'}"
        columns = ["feature", "changes in", "", "typical change", "median", "10 to 90 %", "of the distance"]
        right = [1, 4, 5, 6]
        parts.append(f"<h3>{title}</h3>")
        parts.append(table(columns, rows[:_FEATURES_SHOWN], right=right, kind="bars"))
        if len(rows) > _FEATURES_SHOWN:
            more = table(columns, rows[_FEATURES_SHOWN:], right=right, kind="bars")
            parts.append(folded(f"{len(rows) - _FEATURES_SHOWN:,} more features that change", more))
        never = len(those) - len(changed)
        if never:
            parts.append(
                f'<p class="soft">{never:,} {"feature never changes" if never == 1 else "features never change"}.</p>'
            )
    derived = ", ".join(formatter.name(batch.schema.names[j]) for j in np.flatnonzero(batch.is_derived))
    if parts and derived:
        parts.append(f'<p class="soft">Columns that follow from others are not counted: {derived}.</p>')
    return section("What changes", *parts) if parts else ""


def _feature(line: dict[Hashable, CellValue], formatter: HtmlFormatter) -> list[str]:
    feature = line["feature"]
    change = " &rarr; ".join(formatter.value(feature, line[side]) for side in ("before", "after"))
    times = "" if pd.isna(line["times"]) else f' <span class="soft">({line["times"]:,}&times;)</span>'
    is_number = not pd.isna(line["median_change"])
    return [
        formatter.name(feature),
        percent(line["share"]),
        bar(line["share"]),
        change + times,
        _signed(line["median_change"]) if is_number else NOTHING,
        f"{_signed(line['p10_change'])} to {_signed(line['p90_change'])}" if is_number else NOTHING,
        percent(line["distance_share"]) if not np.isnan(line["distance_share"]) else NOTHING,
    ]


def _signed(value: float | timedelta) -> str:
    if isinstance(value, timedelta):
        return signed_duration(value)
    return f"{'+' if value > 0 else ''}{significant(value, 3)}"


def costs(summary: Summary, options: dict[str, Json], formatter: HtmlFormatter) -> str:
    """Coverage and cost of each class."""
    groups = summary.groups
    if not groups["found"].sum():
        return ""
    columns = {"mean_changes": "changes", "mean_distance": "distance", "median_distance": "median distance"}
    if "mean_plausibility" in groups:
        columns["mean_plausibility"] = "error (plausibility)"
    dearest = groups["mean_distance"].max()
    rows = [
        [
            formatter.label(line["predicted"]),
            f"{line['rows']:,}",
            percent(line["coverage"]),
            *(NOTHING if np.isnan(line[name]) else f"{line[name]:.2f}" for name in columns),
            bar(line["mean_distance"] / dearest) if len(groups) > 1 and dearest > 0 and line["found"] else "",
        ]
        for line in groups.to_dict("records")
    ]
    shown = ["the model says", "rows", "found", *columns.values(), ""]
    return section(
        "What it costs",
        table(shown, rows, right=range(1, len(shown) - 1), kind="bars"),
        f'<p class="soft">{_DISTANCE if options.get("scale") == "range" and not options.get("feature_weights") else ""}'
        "Means are over the rows for which a counterfactual was found.</p>",
    )


def made_by(about: dict[str, Json]) -> str:
    """Versions and fingerprints: what another run must have to be the same."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    prints = {f"fingerprint: {name}": value for name, value in about["fingerprints"].items()}
    return f'<footer class="soft">\n<p>Made with {text(versions)}.</p>\n{facts(prints) if prints else ""}\n</footer>'
