"""The head of the page: one sentence on what the model asks of people, by the changes that most cases need."""

from __future__ import annotations

import datetime as dt

import numpy as np

from nicecf.support.types import Floats, Ints
from nicecf.views.documents.html import text
from nicecf.views.report.cases import Cases
from nicecf.views.report.formatting import HtmlFormatter
from nicecf.views.summary.totals import totals_of
from nicecf.views.words.formatting import FormattedChange, formatted

_CHANGES_NAMED = 3
# What fewer of the cases need is left to the table below the sentence.
_LEAST_SHARE = 0.25
# A number goes up, or down, if so many of its changes do; with fewer it only changes.
_ONE_WAY = 0.75


def head(title: str, date: dt.date, cases: Cases, n_counterfactuals: int, formatter: HtmlFormatter) -> str:
    """Return the title with the day, what the model asks of people, and the figures that matter most."""
    totals, teller = totals_of(cases.batch), formatter.teller
    tiles = [(totals.rows, "tile_cases_one" if totals.rows == 1 else "tile_cases"), (totals.changed, "tile_changed")]
    tiles += [(totals.unchanged, "tile_unchanged"), (totals.not_found, "tile_not_found")]
    if n_counterfactuals > totals.rows:
        tiles.append((n_counterfactuals, "tile_counterfactuals"))
    shown = [(teller.count(number), what) for number, what in tiles]
    if totals.changed:
        of_one = "_one" if totals.changed == 1 else ""
        shown.append((teller.significant(totals.mean_changes, 3), f"tile_changes{of_one}"))
    html = "".join(f"<div><b>{text(number)}</b><span>{formatter.say(what)}</span></div>" for number, what in shown)
    return (
        f'<h1>{text(title)}</h1>\n<p class="soft">{text(teller.date(date))}</p>\n'
        f'<p class="lead">{text(_lead(cases, formatter))}</p>\n<div class="tiles">{html}</div>'
    )


def _lead(cases: Cases, formatter: HtmlFormatter) -> str:
    """Return the sentence, as text; of several decisions, it is about the one that most changes are asked of."""
    teller, is_changed = formatter.teller, cases.is_changed
    n_cases, n_found = len(cases.batch), int(cases.batch.found.sum())
    if not n_cases:
        return teller.say("report.lead_empty")
    if not is_changed.any():
        outcome = "lead_unchanged" if n_found == n_cases else "lead_some_unchanged" if n_found else "lead_none"
        return teller.counted(f"report.{outcome}", n_cases, unchanged=n_found)
    decision = int(np.bincount(cases.decided[is_changed]).argmax())
    changed = np.flatnonzero(is_changed & (cases.decided == decision))
    n_missing = int((~cases.batch.found & (cases.decided == decision)).sum())
    return teller.say(
        "report.lead",
        outcome=_outcome(cases, decision, changed, formatter),
        asks=_asks(cases, changed, n_missing, formatter),
        effort=_effort(cases, changed, n_missing, formatter),
    )


def _outcome(cases: Cases, decision: int, changed: Ints, formatter: HtmlFormatter) -> str:
    """Return what the cases would get by their changes."""
    batch, teller = cases.batch, formatter.teller
    outcomes = dict.fromkeys(batch.after.decided[changed].tolist())
    label, *others = (formatter.formatter.label(batch.classes[one]) for one in [decision, *outcomes])
    if batch.target is not None:
        return teller.say("report.lead_score", other=others[0])
    if len(others) > 1:
        return teller.say("report.lead_any", decision=label)
    return teller.say("report.lead_same" if others == [label] else "report.lead_other", other=others[0], decision=label)


def _asks(cases: Cases, changed: Ints, n_missing: int, formatter: HtmlFormatter) -> str:
    """Return how many cases would have to make the most frequent changes, and which these are."""
    teller, n_cases = formatter.teller, len(changed) + n_missing
    changes = cases.changes[changed]
    counts = changes.sum(axis=0)
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    if n_cases > 1:
        often = order[counts[order] >= _LEAST_SHARE * len(changed)]
        order = often[:_CHANGES_NAMED] if len(often) else order[:1]
    named = order[:_CHANGES_NAMED]
    n_each = changes[:, named].sum(axis=1)
    n_reached = int((n_each > 0).sum())
    phrases = formatter.wording.phrases
    is_every = (n_each[n_each > 0] == len(named)).all()
    last = phrases["list.last"] if is_every else phrases["report.lead_and_or"]
    if n_each.max() == 1:
        last = phrases["statement.or"]
    parts = [_ask(cases, changed, int(unit), formatter) for unit in named]
    if len(order) > len(named):
        parts.append(teller.counted("report.lead_more", len(order) - len(named)))
    asks = last.join([phrases["list.between"].join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    if n_reached == n_cases:
        return teller.counted("report.lead_all", n_cases, asks=asks)
    if 2 * n_reached > n_cases:
        return teller.say("report.lead_most", count=n_cases, asks=asks)
    return teller.say("report.lead_share", count=n_cases, share=teller.percent(n_reached / n_cases), asks=asks)


def _effort(cases: Cases, changed: Ints, n_missing: int, formatter: HtmlFormatter) -> str:
    """Return how many changes are needed most often, and for how many cases no way was found."""
    teller, n_cases = formatter.teller, len(changed) + n_missing
    if n_cases == 1:
        return ""
    numbers, counts = np.unique(cases.batch.n_changes[changed], return_counts=True)
    often = int(counts.argmax())
    if counts[often] == n_cases:
        return teller.counted("report.lead_effort_of_all", int(numbers[often]))
    share = teller.percent(counts[often] / n_cases)
    effort = teller.counted("report.lead_effort", int(numbers[often]), share=share)
    return effort + (teller.say("report.lead_missing", count=n_missing) if n_missing else "")


def _ask(cases: Cases, changed: Ints, unit: int, formatter: HtmlFormatter) -> str:
    """Return one change, with its direction, or with its new value where most have the same."""
    batch, columns = cases.batch, np.flatnonzero(cases.batch.units == unit)
    rows = changed[cases.changes[changed, unit]]
    before, after = (one.values[np.ix_(rows, columns)] for one in (batch.before, batch.after))
    _, first, place, counts = np.unique(
        np.nan_to_num(after, nan=-1.0), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    common = int(counts.argmax())
    one = _named(cases, int(rows[first[common]]), columns, formatter)
    is_number = len(columns) == 1 and not batch.schema.by_equality[columns[0]] and not _is_flag(before, after)
    if is_number:
        return formatter.teller.say(
            f"report.ask{_direction(cases, int(columns[0]), after - before)}", feature=one.feature
        )
    if 2 * counts[common] > len(place):
        return formatter.teller.say("report.ask_to", feature=one.feature, value=one.after)
    return formatter.teller.say("report.ask", feature=one.feature)


def _is_flag(before: Floats, after: Floats) -> bool:
    """Return whether a number is 0 or 1 in all cases."""
    return bool(np.isin(np.stack([before, after]), (0, 1)).all())


def _direction(cases: Cases, column: int, differences: Floats) -> str:
    """Return the end of the phrase for a direction; nothing where changes go both ways."""
    known = differences[~np.isnan(differences)]
    share = float((known > 0).mean()) if len(known) else 0.5
    temporal = cases.batch.schema.columns[column].temporal
    up, down = ("_up", "_down") if temporal is None or temporal.kind == "duration" else ("_later", "_earlier")
    return up if share >= _ONE_WAY else down if share <= 1 - _ONE_WAY else ""


def _named(cases: Cases, row: int, columns: Ints, formatter: HtmlFormatter) -> FormattedChange:
    """Return the change of some columns in a case, as texts call it."""
    names = [cases.batch.schema.names[column] for column in columns]
    (one,) = formatted(cases.batch.take(np.array([row])), formatter.formatter, ask=False)
    change = next(each for each in one.changes if each.column in names and not each.is_together)
    return change.whole or change
