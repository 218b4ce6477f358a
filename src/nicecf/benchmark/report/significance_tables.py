"""How far the ranks can be trusted: both ranks of what was not found, and tests over rows and over datasets."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from nicecf.benchmark import statistics
from nicecf.benchmark.report import paper
from nicecf.benchmark.report.findings import QUALITIES, ModelFindings, Ranking, label
from nicecf.benchmark.report.names import PAPER_METHODS, PROPERTIES, pretty
from nicecf.benchmark.report.results import Comparison, model_name
from nicecf.benchmark.report.tables import method_head
from nicecf.support.types import Bools
from nicecf.views.documents.document import Cell, Row, Table, line, number, words

_METRICS = ("time", *QUALITIES)
SMALLEST_P = 1e-300


def rank_name(metric: str) -> str:
    """The line of a metric in a table of average ranks."""
    return f"{label(metric).capitalize() if metric == 'time' else label(metric)} rank"


def printed_ranking(one: ModelFindings, model: str, metric: str) -> Ranking | None:
    """What the paper prints for a metric, or for what the metric stands in for; None where it prints nothing."""
    theirs = paper.FINDINGS.models.get(model)
    names = [] if theirs is None else [name for name in theirs.ranks if one.measured(name) == metric]
    return theirs.ranks[names[0]] if theirs is not None and names else None


def ranking_rules(comparison: Comparison, model: str) -> Table:
    """Average ranks with either rank for what was not found, and which of them is nearer to the paper's."""
    ours, others = comparison.findings.models[model], comparison.by_found.models[model]
    methods, rows = comparison.methods, []
    distances: dict[str, list[float]] = {"last place": [], "found plus one": []}
    for metric in _METRICS:
        if metric not in ours.ranks:
            continue
        name = rank_name(metric)
        by_rule = {"last place": ours.ranks[metric].averages, "found plus one": others.ranks[metric].averages}
        rows.append(line(name, [number(by_rule["last place"][one]) for one in methods]))
        rows.append(line("found plus one", [number(by_rule["found plus one"][one]) for one in methods], of=name))
        if (printed := printed_ranking(ours, model, metric)) is not None:
            rows.append(line("paper", [number(printed.averages[one]) for one in methods], of=name))
            for rule, averages in by_rule.items():
                distances[rule] += [abs(averages[one] - printed.averages[one]) for one in methods]
    note = "In the first line of each, what was not found has the last place."
    if distances["last place"] and set(methods) == set(PAPER_METHODS):
        means = " and ".join(f"{np.mean(those):.2f} with {rule}" for rule, those in distances.items())
        note += f" From the paper's figures these are, on average, {means} away."
    title = f"Either rank for what was not found, {model_name(model)} classifier"
    return Table(f"ranking_rules_{model}", title, method_head(methods), tuple(rows), note)


def friedman_tests(comparison: Comparison, model: str) -> Table:
    """The Friedman test and the critical difference over rows, and over the means of datasets."""
    one = comparison.findings.models[model]
    n_pairs = len(comparison.methods) * (len(comparison.methods) - 1) // 2
    rows = []
    for metric in _METRICS:
        if metric not in one.ranks:
            continue
        by_rows, by_datasets = one.ranks[metric], one.dataset_ranks[metric]
        pairs = [_apart(by_rows), _apart(by_datasets)]
        counts = [*(int(those.sum()) // 2 for those in pairs), int((pairs[0] & pairs[1]).sum()) // 2]
        cells = [*_test_cells(by_rows), *_test_cells(by_datasets), *(number(n, 0) for n in counts)]
        rows.append(line(rank_name(metric), cells))
    parts = [f"{of}: {what}" for of in ("Rows", "Datasets") for what in ("N", "χ²", "p", "CD")]
    head = ("", *parts, "Pairs apart: rows", "Pairs apart: datasets", "Pairs apart: both")
    note = (
        f"k = {len(comparison.methods)} methods, {n_pairs} pairs of them. Tests by mid-ranks, corrected for ties. "
        "Pairs are apart where the test rejects (5 %) and their average ranks differ by more than the CD. A dataset is "
        "one observation by the ranks, across the methods, of the mean ranks of its rows."
    )
    title = f"Friedman tests over rows and over datasets, {model_name(model)} classifier"
    return Table(f"friedman_{comparison.name}_{model}", title, head, tuple(rows), note)


def _apart(ranking: Ranking) -> Bools:
    return statistics.pairs_apart(list(ranking.averages.values()), ranking.least_difference)


def _test_cells(ranking: Ranking) -> list[Cell]:
    test = ranking.friedman
    statistic, p = (test.statistic, test.p_value) if test is not None else (np.nan, np.nan)
    return [number(ranking.n_observations, 0), number(statistic, 1), p_cell(p), number(ranking.critical_difference, 3)]


def p_cell(p: float) -> Cell:
    """A p-value with two figures that count; below what a number can hold, "< 1e-300"."""
    if np.isnan(p):
        return number(p)
    return Cell(f"< {SMALLEST_P:g}" if p < SMALLEST_P else f"{p:.2g}", value=float(p))


def dataset_ranks(comparison: Comparison, model: str) -> Table:
    """Average ranks with each dataset as one observation."""
    one = comparison.findings.models[model]
    rows = []
    for metric in _METRICS:
        if metric in one.dataset_ranks:
            ranking = one.dataset_ranks[metric]
            cells = [number(ranking.averages[name], is_bold=name in ranking.best) for name in comparison.methods]
            rows.append(line(rank_name(metric), cells))
    title = f"Average ranks over datasets, {model_name(model)} classifier"
    note = "Bold: the best and those that do not differ from it significantly (5 %) over so few observations."
    name = f"dataset_ranks_{comparison.name}_{model}"
    return Table(name, title, method_head(comparison.methods), tuple(rows), note)


def pairs(comparison: Comparison, model: str) -> Table:
    """For each pair of methods and each property, whether it is apart over rows, over datasets, or over both."""
    one = comparison.findings.models[model]
    there = {name: metric for name, metric in PROPERTIES.items() if metric in one.ranks}
    apart = {name: (_apart(one.ranks[metric]), _apart(one.dataset_ranks[metric])) for name, metric in there.items()}
    rows: list[Row] = []
    for i, j in combinations(range(len(comparison.methods)), 2):
        names = f"{pretty(comparison.methods[i])} and {pretty(comparison.methods[j])}"
        rows.append(words(names, *(_where(bool(rows_[i, j]), bool(sets[i, j])) for rows_, sets in apart.values())))
    title = f"Which pairs differ significantly, {model_name(model)} classifier"
    head = ("Pair", *(name.capitalize() for name in there))
    return Table(f"pairs_{comparison.name}_{model}", title, head, tuple(rows), is_text=True)


def _where(by_rows: bool, by_datasets: bool) -> str:
    said: Mapping[tuple[bool, bool], str] = {
        (True, True): "rows and datasets",
        (True, False): "rows only",
        (False, True): "datasets only",
        (False, False): "neither",
    }
    return said[by_rows, by_datasets]
