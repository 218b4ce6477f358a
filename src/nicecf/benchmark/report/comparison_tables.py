"""The tables that compare methods, laid out as the paper's: below each figure the paper's own, and the difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from nicecf.benchmark.report import paper
from nicecf.benchmark.report.checks import head_to_head
from nicecf.benchmark.report.findings import (
    PLAUSIBILITIES,
    PROXIMITIES,
    ModelFindings,
    NotMeasuredError,
    Numbers,
    Ranking,
    label,
)
from nicecf.benchmark.report.names import NICE_VARIANTS, PAPER_GECO, PAPER_METHODS, PROPERTIES, pretty
from nicecf.benchmark.report.results import Comparison, Results, model_name
from nicecf.benchmark.report.significance_tables import SMALLEST_P, printed_ranking
from nicecf.benchmark.report.tables import method_head
from nicecf.views.documents.document import Cell, Row, Table, factor, joined, line, number

_MAIN_RANKS = {
    "time": "Time rank",
    "sparsity": "Spars. rank",
    PROPERTIES["proximity"]: "Prox. rank",
    PROPERTIES["plausibility"]: "Plaus. rank",
}
_DETAIL_RANKS = {metric: f"Prox.: {label(metric)} rank" for metric in PROXIMITIES} | {
    metric: f"Plaus.: {label(metric)} rank" for metric in (*PLAUSIBILITIES, "im2")
}
_THOROUGH = "nice-thorough"
_BOLD = "Bold: the best average rank and those that do not differ from it significantly (5 %)."


def main_results(comparison: Comparison, model: str, *, is_timed_alone: bool, beside_paper: bool) -> Table:
    """Tables 5 and 6: coverage, time and the ranks by the main properties."""
    one = comparison.findings.models[model]
    theirs = paper.FINDINGS.models.get(model) if beside_paper else None
    methods = comparison.methods
    rows = _lines("Coverage (%)", one.coverage, theirs.coverage if theirs else None, methods, 1)
    time = "CPU time (ms)" if is_timed_alone else "CPU time (ms, share of the batch)"
    rows += _lines(time, one.ms, theirs.ms if theirs else None, methods, 1, is_ratio=True)
    if is_timed_alone:
        rows += _lines("CPU time in the batch (ms)", one.ms_in_batch, None, methods, 2)
    rows += _rank_lines(one, model if beside_paper else None, methods, _MAIN_RANKS)
    title = f"Comparison of {len(methods)} methods based on the {model_name(model)} classifier{_scope(comparison)}"
    note = " ".join([_BOLD, friedman_note(one, _MAIN_RANKS), _fewer(methods) if beside_paper else ""]).strip()
    return Table(f"main_{comparison.name}_{model}", title, method_head(methods), tuple(rows), note)


def alternative_metrics(comparison: Comparison, model: str, *, beside_paper: bool) -> Table:
    """Tables 7 and 8: ranks by the other metrics of proximity and plausibility, and cross-model robustness."""
    one = comparison.findings.models[model]
    theirs = paper.FINDINGS.models.get(model) if beside_paper else None
    methods = comparison.methods
    rows = _rank_lines(one, model if beside_paper else None, methods, _DETAIL_RANKS)
    known = {method: value for method, value in one.robustness.items() if not np.isnan(value)}
    best = {method for method, value in known.items() if value == max(known.values())}
    rows += _lines("CM robustness (%)", one.robustness, theirs.robustness if theirs else None, methods, 1, bold=best)
    rows += _lines("CM robustness of those found (%)", one.robustness_of_found, None, methods, 1)
    title = f"Average ranks by other metrics, based on the {model_name(model)} classifier{_scope(comparison)}"
    note = (
        f"{_BOLD} {friedman_note(one, _DETAIL_RANKS)} CM robustness: the share of the rows with a counterfactual that "
        "the other classifier accepts, too, as the paper defines it (a row without one is not valid for the other); "
        "its best value is bold. Below it, the share of the counterfactuals that were found. "
        f"{_im2_note(one)} {_fewer(methods) if beside_paper else ''}"
    )
    return Table(f"metrics_{comparison.name}_{model}", title, method_head(methods), tuple(rows), note.strip())


def _im2_note(one: ModelFindings) -> str:
    if "im2_code" in one.ranks:
        return "IM2 is as the paper's code computes it; IM2 (formula) is as it was published."
    return "IM2 was measured by the published formula alone." if "im2" in one.ranks else ""


def geco_of_one_class(results: Results) -> Table | None:
    """The coverage of the paper's GeCo, had its target always been class 1; None where it was not run."""
    rows = []
    for model, one in results.of_paper.findings.models.items():
        theirs = paper.FINDINGS.models.get(model)
        if PAPER_GECO in one.coverage and theirs is not None:
            covered = (one.coverage[PAPER_GECO], one.coverage_of_class_1[PAPER_GECO], theirs.coverage[PAPER_GECO])
            rows.append(line(model_name(model), [number(value, 1) for value in covered]))
    if not rows:
        return None
    head = ("", "Coverage (%)", "If the target were always class 1 (%)", "Paper (%)")
    note = "In the authors' code the target is class 1 whatever the model predicts: rows that have it are not found."
    return Table("geco_class_1", f"Coverage of {pretty(PAPER_GECO)}", head, tuple(rows), note)


def _scope(comparison: Comparison) -> str:
    if not comparison.extra:
        return ""
    return f", where {joined([pretty(method) for method in comparison.extra])} {_was(comparison.extra)} run"


def _was(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _lines(
    name: str,
    ours: Numbers,
    theirs: Numbers | None,
    methods: Sequence[str],
    digits: int,
    *,
    is_ratio: bool = False,
    bold: Iterable[str] = (),
) -> list[Row]:
    """A figure of each method; below it the paper's, and how ours differs."""
    bold = set(bold)
    rows = [line(name, [number(ours.get(one, np.nan), digits, is_bold=one in bold) for one in methods])]
    if theirs is None:
        return rows
    printed = [theirs.get(one, np.nan) for one in methods]
    rows.append(line("paper", [number(value, digits) for value in printed], of=name))
    pairs = [(ours.get(one, np.nan), value) for one, value in zip(methods, printed, strict=True)]
    if is_ratio:
        return [*rows, line("here / paper", [factor(value / other) for value, other in pairs], of=name)]
    return [*rows, line("difference", [number(value - other, digits, sign=True) for value, other in pairs], of=name)]


def _rank_lines(
    one: ModelFindings, printed_model: str | None, methods: Sequence[str], metrics: Mapping[str, str]
) -> list[Row]:
    rows: list[Row] = []
    for metric, name in metrics.items():
        if metric not in one.ranks:
            continue
        ranking = one.ranks[metric]
        theirs = printed_ranking(one, printed_model, metric) if printed_model else None
        printed = theirs.averages if theirs else None
        rows += _lines(name, ranking.averages, printed, methods, 2, bold=ranking.best)
        if printed and len(methods) < len(PAPER_METHODS):
            rows.append(line("order, here / paper", _orders(ranking.averages, printed, methods), of=name))
    return rows


def _orders(ours: Numbers, theirs: Numbers, methods: Sequence[str]) -> list[Cell]:
    """The place of each method among these, here and in the paper."""
    places = []
    for method in methods:
        here, there = (1 + sum(those[one] < those[method] for one in methods) for those in (ours, theirs))
        places.append(Cell(f"{here} / {there}"))
    return places


def _fewer(methods: Sequence[str]) -> str:
    absent = [pretty(method) for method in PAPER_METHODS if method not in methods]
    if not absent:
        return ""
    return (
        f"The paper ranked ten methods, here are {len(methods)} ({joined(absent)} {_was(absent)} not run, or not "
        "everywhere), so ranks are lower here: compare the order, not the difference."
    )


def friedman_note(one: ModelFindings, metrics: Mapping[str, str]) -> str:
    """The Friedman tests behind a table, in words; N and CD only where they are not those of the metric before."""
    parts, before = [], ""
    for metric, name in metrics.items():
        if (ranking := one.ranks.get(metric)) is None:
            continue
        size = f"N = {ranking.n_observations:,}, CD = {ranking.critical_difference:.3f}"
        said = [_test(ranking)] if size == before else [size, _test(ranking)]
        parts.append(f"{name.removesuffix(' rank')} {', '.join(said)}")
        before = size
    k = len(one.coverage)
    return (
        f"Friedman test (ties by their mean rank) and Nemenyi's critical difference (CD) for k = {k} methods: "
        f"{'; '.join(parts)}."
    )


def _test(ranking: Ranking) -> str:
    test = ranking.friedman
    if test is None or np.isnan(test.statistic):
        return "no test of so few"
    p = f"p < {SMALLEST_P:g}" if test.p_value < SMALLEST_P else f"p = {test.p_value:.2g}"
    told = "" if ranking.is_told_apart else " (no significant differences: nothing is bold)"
    return f"χ² = {test.statistic:,.1f}, {p}{told}"


def correlations(results: Results, metrics: Sequence[str], name: str, title: str) -> Table:
    """Tables 9 and 10: below the diagonal the ANN, above it the RF."""
    ours, theirs = results.of_paper.findings.models, paper.FINDINGS.models

    def value(models: Mapping[str, ModelFindings], i: int, j: int) -> float:
        model = "ann" if j < i else "rf"
        try:
            return np.nan if i == j else models[model].correlation(metrics[i], metrics[j])
        except (KeyError, NotMeasuredError):
            return np.nan

    # Where a metric stands in for another, it says so under its own name.
    names = [label(next(iter(ours.values())).measured(metric)) for metric in metrics]
    rows: list[Row] = []
    places = range(len(metrics))
    for i in places:
        here, printed = ([value(models, i, j) for j in places] for models in (ours, theirs))
        differences = [one - other for one, other in zip(here, printed, strict=True)]
        of = names[i]
        rows.append(line(of, [number(one, 3) for one in here]))
        rows.append(line("paper", [number(one, 3) for one in printed], of=of))
        rows.append(line("difference", [number(one, 3, sign=True) for one in differences], of=of))
    note = (
        "Below the diagonal for the ANN, above it for the RF; over all observations and the paper's methods that were "
        f"run: {joined([pretty(method) for method in results.of_paper.methods])}."
    )
    return Table(name, title, ("", *names), tuple(rows), note)


def head_to_heads(results: Results, model: str) -> Table | None:
    """Our searches beyond the paper against its four versions, row by row; None where none was run."""
    findings = results.of_all.findings
    ours = [method for method in results.everywhere if method.startswith(_THOROUGH)]
    theirs = [method for method in NICE_VARIANTS if method in results.everywhere]
    rows = []
    for one in ours:
        for other in theirs:
            cells = []
            for metric in PROPERTIES.values():
                try:
                    cells += [number(value, 1) for value in head_to_head(findings, model, one, other, metric)]
                except NotMeasuredError:
                    cells += [number(None)] * 3
            rows.append(line(f"{pretty(one)} against {pretty(other)}", cells))
    if not rows:
        return None
    head = ("", *(f"{name}: {how} (%)" for name in PROPERTIES for how in ("better", "equal", "worse")))
    title = f"Beyond the paper, row by row, {model_name(model)} classifier"
    note = "The share of the rows for which both found a counterfactual."
    return Table(f"head_to_head_{model}", title, head, tuple(rows), note)
