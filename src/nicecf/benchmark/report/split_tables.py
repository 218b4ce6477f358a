"""What other splits of the same datasets say: coverage and average ranks, with their range."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nicecf.benchmark.report.findings import PLAUSIBILITIES, PROXIMITIES, ModelFindings, Numbers
from nicecf.benchmark.report.names import PROPERTIES
from nicecf.benchmark.report.results import Results, model_name
from nicecf.benchmark.report.significance_tables import rank_name
from nicecf.benchmark.report.tables import method_head
from nicecf.views.documents.document import Row, Table, joined, line, number

_MAIN = ("time", *PROPERTIES.values())
_OTHERS = tuple(metric for metric in (*PROXIMITIES, *PLAUSIBILITIES, "im2") if metric not in _MAIN)


def rank_tables(results: Results, name: str, methods: Sequence[str], model: str) -> tuple[Table, Table] | None:
    """Main figures and other ranks of the methods that are in all splits, among these; None where there are none."""
    compared = [split.compare(methods) for split in results.all_splits] if len(methods) > 1 else []
    found = [one.models[model] for one in compared if model in one.models]
    if len(found) < 2:
        return None
    seeds = joined([split.seed for split, one in zip(results.all_splits, compared, strict=True) if model in one.models])
    note = f"Mean, lowest and highest of {len(found)} splits ({seeds}). Ranks are among the methods of the table."
    title = f"{len(methods)} methods in {len(found)} splits, {model_name(model)} classifier"
    main = _spread("Coverage (%)", found, lambda one: one.coverage, methods, 1)
    main += _spread("CM robustness (%)", found, lambda one: one.robustness, methods, 1)
    for metric in _MAIN:
        main += _rank_spread(metric, found, methods)
    others = [row for metric in _OTHERS for row in _rank_spread(metric, found, methods)]
    head = method_head(methods)
    return (
        Table(f"splits_{name}_{model}", title, head, tuple(main), note),
        Table(f"splits_metrics_{name}_{model}", f"Other metrics: {title}", head, tuple(others), note),
    )


def _rank_spread(metric: str, found: Sequence[ModelFindings], methods: Sequence[str]) -> list[Row]:
    if not all(metric in one.ranks for one in found):
        return []
    return _spread(rank_name(metric), found, lambda one: one.ranks[metric].averages, methods, 2)


def _spread(
    name: str,
    found: Sequence[ModelFindings],
    values_of: Callable[[ModelFindings], Numbers],
    methods: Sequence[str],
    digits: int,
) -> list[Row]:
    values = np.array([[values_of(one).get(method, np.nan) for method in methods] for one in found])
    return [
        line(name, [number(value, digits) for value in values.mean(axis=0).tolist()]),
        line("lowest", [number(value, digits) for value in values.min(axis=0).tolist()], of=name),
        line("highest", [number(value, digits) for value in values.max(axis=0).tolist()], of=name),
    ]
