"""The chapters of the page about all rows together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pandas as pd

from nicecf.results.batch import Batch
from nicecf.support.phrases import Probability, Statement, plain_classes
from nicecf.support.types import CellValue, Json
from nicecf.views.documents.document import NOTHING
from nicecf.views.documents.html import text
from nicecf.views.report.formatting import HtmlFormatter, fact, facts, folded, section, shared, table
from nicecf.views.summary import Summary

_FEATURES_SHOWN = 12
# What a package is called where it is installed, if not as where it is imported.
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def head(title: str, n_counterfactuals: int, summary: Summary, formatter: HtmlFormatter) -> str:
    """The title, and the figures that matter most."""
    totals, teller = summary.totals, formatter.teller
    tiles = [(totals.rows, "tile_rows_one" if totals.rows == 1 else "tile_rows"), (totals.changed, "tile_changed")]
    tiles += [(totals.unchanged, "tile_unchanged"), (totals.not_found, "tile_not_found")]
    if n_counterfactuals > totals.rows:
        tiles.append((n_counterfactuals, "tile_counterfactuals"))
    shown = [(teller.count(number), what) for number, what in tiles]
    if totals.changed:
        of_one = "_one" if totals.changed == 1 else ""
        shown.append((teller.significant(totals.mean_changes, 3), f"tile_changes{of_one}"))
        shown.append((teller.significant(totals.mean_distance, 3), f"tile_distance{of_one}"))
    html = "".join(f"<div><b>{text(number)}</b><span>{formatter.say(what)}</span></div>" for number, what in shown)
    averages = f'<p class="soft">{formatter.say("averages")}</p>' if totals.changed and totals.unchanged else ""
    return f'<h1>{text(title)}</h1>\n<div class="tiles">{html}</div>\n{averages}'


def about(
    batch: Batch, known: dict[str, Json], more: Mapping[str, str], date: dt.date, formatter: HtmlFormatter
) -> str:
    """What the page is about: files, model, training data, date and versions; fingerprints, for another run."""
    teller = formatter.teller
    model = str(known["options"].get("model", ""))
    lines = {str(name): str(value) for name, value in more.items()}
    if model:
        lines[teller.say("report.about_model")] = model
    lines[teller.say("report.about_training")] = teller.say(
        "report.about_training_is",
        rows=teller.counted("report.rows", batch.provenance.statistics.n_rows),
        features=teller.counted("report.about_features", len(batch.schema.columns)),
    )
    lines[teller.say("report.about_date")] = teller.date(date)
    made_with = {**known["versions"], **_library_of(model, known["versions"])}
    lines[teller.say("report.about_versions")] = ", ".join(f"{name} {one}" for name, one in made_with.items())
    for name, value in known["fingerprints"].items():
        phrase = f"report.fingerprint_{name}"
        called = teller.say(phrase) if phrase in formatter.wording.phrases else name
        lines[teller.say("report.fingerprint", name=called)] = value
    return section(formatter.say("about"), facts(lines))


def _library_of(model: str, known: Mapping[str, str]) -> dict[str, str]:
    """The version of the library that a model is from, where that is known and not told already."""
    package = model.partition(".")[0]
    package = _DISTRIBUTIONS.get(package, package)
    try:
        return {} if not package or package in known else {package: version(package)}
    except PackageNotFoundError:
        return {}


def asked(batch: Batch, known: dict[str, Json], rules: Sequence[dict[str, Json]], formatter: HtmlFormatter) -> str:
    """What the model decided, what was wanted instead, under which rules; folded, all options."""
    options, call, teller = known["options"], known["call"], formatter.teller
    lines = {
        teller.say("report.wanted"): _target(call.get("target_class"), formatter),
        teller.say("report.rules"): _rules(rules, formatter),
        teller.say("report.explainer"): ", ".join(
            [known["explainer"], *(f"{one}={options[one]}" for one in ("optimize", "search") if one in options)]
        ),
    }
    if options.get("decision"):
        lines[teller.say("report.decision_rule")] = _cutoffs(batch, formatter) or fact(options["decision"])
    every = {**options, **{teller.say("report.call", name=name): value for name, value in call.items()}}
    return section(
        formatter.say("asked"),
        _decisions(batch, formatter),
        facts(lines),
        folded(formatter.say("options"), facts(every)),
    )


def _cutoffs(batch: Batch, formatter: HtmlFormatter) -> str:
    """From which probabilities on classes are decided, in words; nothing where that is not how."""
    return formatter.formatter.clauses(
        *(
            Statement("line.cutoff", {"label": plain_classes([label]), "limit": Probability(cutoff, is_exact=True)})
            for label, cutoff in zip(batch.classes, batch.criterion.cutoffs, strict=True)
            if cutoff == cutoff  # NaN where a class has none
        )
    )


def _decisions(batch: Batch, formatter: HtmlFormatter) -> str:
    """How often each decision became which; a row that is in the target already stays where it is."""
    if not len(batch):
        return ""
    teller = formatter.teller
    then = np.where(batch.found, batch.after.decided, -1)
    pairs, counts = np.unique(np.column_stack([batch.before.decided, then]), axis=0, return_counts=True)
    rows = [
        [
            formatter.label(batch.classes[pairs[at, 0]]),
            f"<i>{formatter.say('none_found')}</i>"
            if pairs[at, 1] < 0
            else formatter.label(batch.classes[pairs[at, 1]]),
            text(teller.count(int(counts[at]))),
            shared(teller.percent(counts[at] / len(batch)), counts[at] / len(batch)),
        ]
        for at in np.argsort(-counts, kind="stable")
    ]
    heads = [formatter.say(one) for one in ("model_says", "would_say", "count", "share")]
    return table(heads, rows, right=[2], kind="bars")


def _rules(rules: Sequence[dict[str, Json]], formatter: HtmlFormatter) -> str:
    """The rules that hold for all rows; where they differ, those of the first."""
    if not any(rules):
        return formatter.teller.say("report.no_rules")
    if all(one == rules[0] for one in rules):
        return fact(rules[0])
    return formatter.teller.say("report.rules_differ", rules=fact(rules[0]))


def _target(target: Json, formatter: HtmlFormatter) -> str:
    if isinstance(target, str) and target in ("other", "one for each row"):
        return formatter.teller.say("report.wanted_other" if target == "other" else "report.wanted_each")
    if isinstance(target, list):
        return formatter.wording.phrases["statement.or"].join(formatter.formatter.label(one) for one in target)
    return formatter.formatter.label(target)


def unseen(summary: Summary, formatter: HtmlFormatter) -> str:
    """In which features how many rows have values that training never saw."""
    if not summary.unseen_note:
        return ""
    n_rows, teller = summary.totals.rows, formatter.teller
    rows = [
        [
            formatter.name(line["feature"]),
            formatter.say(f"unseen_{line['kind']}"),
            text(teller.count(line["rows"])),
            shared(teller.percent(line["rows"] / n_rows), line["rows"] / n_rows),
        ]
        for line in summary.unseen.to_dict("records")
    ]
    heads = [formatter.say(one) for one in ("feature", "unseen_what", "count", "share")]
    return section(
        formatter.say("unseen"), f"<p>{text(summary.unseen_note)}.</p>", table(heads, rows, right=[2], kind="bars")
    )


def what_changes(batch: Batch, summary: Summary, formatter: HtmlFormatter) -> str:
    """How often each feature changes, and how, for each class; not those that follow from others."""
    parts = []
    names = ("feature", "changes_in", "typical", "median", "span", "of_distance")
    columns, right = [formatter.say(one) for one in names], [3, 4, 5]
    for _, those in summary.features.groupby(pd.factorize(summary.features["predicted"])[0]):
        found, changed = int(those["rows"].iloc[0]), those[those["changed"] > 0]
        if not len(changed):
            continue
        rows = [_feature(line, formatter) for line in changed.to_dict("records")]
        label = formatter.formatter.label(those["predicted"].iloc[0])
        title = formatter.say("of_class", label=label, rows=formatter.teller.counted("report.rows", found))
        parts.append(f"<h3>{title}</h3>")
        parts.append(table(columns, rows[:_FEATURES_SHOWN], right=right, kind="bars"))
        if len(rows) > _FEATURES_SHOWN:
            more = table(columns, rows[_FEATURES_SHOWN:], right=right, kind="bars")
            parts.append(folded(formatter.counted("more_features", len(rows) - _FEATURES_SHOWN), more))
        never = len(those) - len(changed)
        if never:
            parts.append(f'<p class="soft">{formatter.counted("never", never)}</p>')
    if not parts:
        return ""
    if summary.features["median_change"].notna().any():
        parts.append(f'<p class="soft">{formatter.say("typical_means")}</p>')
    derived = ", ".join(formatter.formatter.name(batch.schema.names[j]) for j in np.flatnonzero(batch.is_derived))
    if derived:
        parts.append(f'<p class="soft">{text(formatter.teller.say("summary.derived", derived=derived))}</p>')
    return section(formatter.say("what_changes"), *parts)


def _feature(line: dict[Hashable, CellValue], formatter: HtmlFormatter) -> list[str]:
    feature, teller = line["feature"], formatter.teller
    change = " &rarr; ".join(formatter.value(feature, line[side]) for side in ("before", "after"))
    times = (
        "" if pd.isna(line["times"]) else f' <span class="soft">{formatter.say("times", count=line["times"])}</span>'
    )
    median, span = NOTHING, NOTHING
    if not pd.isna(line["median_change"]):
        low, high = (teller.signed(line[end]) for end in ("p10_change", "p90_change"))
        median, span = teller.signed(line["median_change"]), teller.say("summary.span", low=low, high=high)
    return [
        formatter.name(feature),
        shared(teller.percent(line["share"]), line["share"]),
        change + times,
        text(median),
        text(span),
        text(NOTHING if np.isnan(line["distance_share"]) else teller.percent(line["distance_share"])),
    ]


def costs(summary: Summary, options: dict[str, Json], formatter: HtmlFormatter) -> str:
    """Coverage and cost of each class, over the rows that change."""
    groups, teller = summary.groups, formatter.teller
    if not summary.totals.changed:
        return ""
    columns = {"mean_changes": "changes", "mean_distance": "distance", "median_distance": "median_distance"}
    if "mean_plausibility" in groups:
        columns["mean_plausibility"] = "error"
    rows = [
        [
            formatter.label(line["predicted"]),
            text(teller.count(line["rows"])),
            text(teller.percent(line["coverage"])),
            text(teller.count(line["changed"])),
            *(NOTHING if np.isnan(line[name]) else text(teller.number(f"{line[name]:.2f}")) for name in columns),
        ]
        for line in groups.to_dict("records")
    ]
    heads = [formatter.say(one) for one in ("model_says", "count", "found", "changed", *columns.values())]
    is_plain = options.get("scale") == "range" and not options.get("feature_weights")
    said = [formatter.say(one) for one in (["distance_means"] if is_plain else []) + ["averages"]]
    return section(
        formatter.say("costs"),
        table(heads, rows, right=range(1, len(heads))),
        f'<p class="soft">{" ".join(said)}</p>',
    )
