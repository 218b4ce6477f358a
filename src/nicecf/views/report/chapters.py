"""The chapters of the page about all cases together: what changes, who has no way, what it costs."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from nicecf.rules.relaxations import Relaxation
from nicecf.support.phrases import Statement, english
from nicecf.support.types import CellValue, Json
from nicecf.views.documents.document import NOTHING
from nicecf.views.documents.html import text
from nicecf.views.report.cases import Cases
from nicecf.views.report.formatting import HtmlFormatter, folded, section, shared, table
from nicecf.views.summary import Summary
from nicecf.views.summary.unseen import in_words, unseen_in
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import for_people, obstacle

_FEATURES_SHOWN = 12
# Labels of cases beside the reason that they share.
_LABELS_SHOWN = 3


def what_changes(cases: Cases, summary: Summary, formatter: HtmlFormatter) -> str:
    """Return how often each feature changes, and how, for each decision; not those that follow from others."""
    parts = []
    columns = [formatter.say(name) for name in ("feature", "changes_in", "typical", "span")]
    for _, those in summary.features.groupby(pd.factorize(summary.features["predicted"])[0]):
        found, changed = int(those["rows"].iloc[0]), those[those["changed"] > 0]
        if not len(changed):
            continue
        rows = [_feature(line, formatter) for line in changed.to_dict("records")]
        label = formatter.formatter.label(those["predicted"].iloc[0])
        title = formatter.say("of_class", label=label, cases=formatter.teller.counted("report.cases", found))
        parts.append(f"<h3>{title}</h3>")
        parts.append(table(columns, rows[:_FEATURES_SHOWN], kind="bars"))
        if len(rows) > _FEATURES_SHOWN:
            more = table(columns, rows[_FEATURES_SHOWN:], kind="bars")
            parts.append(folded(formatter.counted("more_features", len(rows) - _FEATURES_SHOWN), more))
    if not parts:
        return ""
    batch = cases.batch
    derived = [batch.schema.names[j] for j in np.flatnonzero(batch.is_derived) if j not in formatter.protected]
    remarks = [formatter.say("typical_means")]
    if derived:
        names = formatter.wording.listed([formatter.formatter.name(one) for one in derived])
        remarks.append(formatter.say("derived", derived=names))
    return section(formatter.say("what_changes"), *parts, f'<p class="soft">{" ".join(remarks)}</p>')


def _feature(line: dict[Hashable, CellValue], formatter: HtmlFormatter) -> list[str]:
    feature, before, after = line["feature"], line["before"], line["after"]
    change = " &rarr; ".join(formatter.value(feature, one) for one in (before, after))
    if not pd.isna(line["times"]):
        change += f' <span class="soft">{formatter.say("times", count=line["times"])}</span>'
    span = NOTHING
    if not pd.isna(line["median_change"]):
        if isinstance(before, float) and isinstance(after, float):
            change += f' <span class="soft">({text(formatter.difference(feature, before, after))})</span>'
        low, high = (formatter.difference(feature, 0.0, line[end]) for end in ("p10_change", "p90_change"))
        span = low if low == high else formatter.teller.say("summary.span", low=low, high=high)
    return [formatter.name(feature), shared(formatter.teller.percent(line["share"]), line["share"]), change, text(span)]


def no_way(cases: Cases, formatter: HtmlFormatter) -> str:
    """Return the cases without a counterfactual in groups, by decision and by what stands in the way."""
    batch, teller = cases.batch, formatter.teller
    groups: dict[tuple[Json, ...], list[int]] = {}
    for row in np.flatnonzero(~batch.found).tolist():
        reason, relaxation = batch.reasons[row], batch.relaxations[row]
        in_the_way = english(reason) if _is_proven(reason) else relaxation and english(relaxation.blocks)
        groups.setdefault((int(batch.before.decided[row]), reason.kind, in_the_way), []).append(row)
    if not groups:
        return ""
    n_lost = sum(map(len, groups.values()))
    rows = [
        [
            formatter.label(batch.predicted[rows[0]]),
            text(_in_the_way(batch.reasons[rows[0]], batch.relaxations[rows[0]], formatter.formatter)),
            text(teller.count(len(rows))),
            text(teller.percent(len(rows) / n_lost)),
            text(teller.listed(map(str, batch.labels[rows]), _LABELS_SHOWN)),
        ]
        for rows in sorted(groups.values(), key=lambda rows: (-len(rows), rows[0]))
    ]
    heads = [formatter.say(one) for one in ("model_says", "why_none", "count", "share", "labels")]
    return section(formatter.counted("without", n_lost), table(heads, rows, right=[2, 3], kind="reasons"))


def _in_the_way(reason: Statement, relaxation: Relaxation | None, formatter: Formatter) -> str:
    """Return what stands in the way of a case, without the words of those who train models."""
    if _is_proven(reason):
        return formatter.clauses(reason)
    if relaxation is None:
        return obstacle(reason.kind, None, formatter)
    return formatter.wording.say("report.blocked", rule=formatter.clauses(for_people(relaxation.blocks, formatter)))


def _is_proven(reason: Statement) -> bool:
    """Return whether a reason is a proof, which a letter has no words for."""
    return reason.kind.startswith("infeasible")


def costs(cases: Cases, summary: Summary, options: dict[str, Json], formatter: HtmlFormatter) -> str:
    """Return how many changes the cases of each decision need, and what these cost."""
    groups, teller = summary.groups, formatter.teller
    if not cases.is_changed.any():
        return ""
    means = {"mean_changes": "changes", "mean_distance": "distance"}
    if "mean_plausibility" in groups:
        means["mean_plausibility"] = "error"
    efforts = np.minimum(cases.batch.n_changes, 3) * cases.is_changed
    rows = [
        [
            formatter.label(line["predicted"]),
            text(teller.count(line["rows"])),
            text(teller.percent(line["coverage"])),
            *(text(teller.count(int((efforts[cases.decided == decision] == effort).sum()))) for effort in (1, 2, 3)),
            *(NOTHING if np.isnan(line[name]) else text(teller.number(f"{line[name]:.2f}")) for name in means),
        ]
        for decision, line in zip(np.unique(cases.decided), groups.to_dict("records"), strict=True)
    ]
    heads = [formatter.say(one) for one in ("model_says", "count", "found")]
    heads += [formatter.counted("effort", 1), formatter.counted("effort", 2), formatter.say("effort_more", count=3)]
    heads += [formatter.say(one) for one in means.values()]
    is_plain = options.get("scale") == "range" and not options.get("feature_weights")
    remarks = [formatter.say(one) for one in (["distance_means"] if is_plain else []) + ["averages"]]
    return section(
        formatter.say("costs"),
        table(heads, rows, right=range(1, len(heads))),
        _becomes(cases, formatter),
        f'<p class="soft">{" ".join(remarks)}</p>',
    )


def _becomes(cases: Cases, formatter: HtmlFormatter) -> str:
    """Return how often each decision became which; nothing where there is only one other."""
    batch, teller = cases.batch, formatter.teller
    if len(batch.classes) < 3:
        return ""
    pairs = np.column_stack([batch.before.decided, batch.after.decided])[cases.is_changed]
    pairs, counts = np.unique(pairs, axis=0, return_counts=True)
    rows = [
        [*(formatter.label(batch.classes[one]) for one in pairs[at]), text(teller.count(int(counts[at])))]
        for at in np.argsort(-counts, kind="stable")
    ]
    return table([formatter.say(one) for one in ("model_says", "would_say", "count")], rows, right=[2])


def unseen(cases: Cases, formatter: HtmlFormatter) -> str:
    """Return how many cases have values that training never saw, and of which features."""
    batch = cases.batch
    found, n_unseen = unseen_in(batch, np.arange(len(batch)), but=formatter.protected)
    is_guarded = any(column.common is not None for column in batch.schema.columns)
    words = in_words(found, n_unseen, len(batch), is_guarded=is_guarded, teller=formatter.teller)
    return section(formatter.say("unseen"), f"<p>{text(words)}.</p>") if words else ""
