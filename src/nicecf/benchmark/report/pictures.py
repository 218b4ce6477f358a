"""The figures of a report: which numbers are drawn, and under which names."""

from __future__ import annotations

import pandas as pd

from nicecf.benchmark.report import figures
from nicecf.benchmark.report.names import PROPERTIES
from nicecf.benchmark.report.results import Comparison, model_name
from nicecf.benchmark.report.tables import slug
from nicecf.views.documents.document import Picture

_PAIRS = (("sparsity", "proximity"), ("sparsity", "plausibility"), ("proximity", "plausibility"))
_AXES = {"n_features": "features", "n_training": "training rows"}


def trade_offs(comparison: Comparison) -> list[Picture]:
    """The paper's three figures for each classifier: average ranks by two properties, with the efficient frontier."""
    found = []
    for x, y in _PAIRS:
        for model, one in comparison.findings.models.items():
            by = [one.ranks.get(PROPERTIES[name]) for name in (x, y)]
            if by[0] is None or by[1] is None:
                continue
            points = {method: (by[0].averages[method], by[1].averages[method]) for method in comparison.methods}
            title = f"{x.capitalize()} and {y}, {model_name(model)}"
            figure = figures.trade_off(points, f"average {x} rank", f"average {y} rank", title)
            found.append(Picture(f"trade_off_{x}_{y}_{comparison.name}_{slug(model)}", title, figure))
    return found


def critical_differences(comparison: Comparison) -> list[Picture]:
    """A critical-difference diagram for each property and classifier."""
    found = []
    for name, metric in PROPERTIES.items():
        for model, one in comparison.findings.models.items():
            ranking = one.ranks.get(metric)
            if ranking is None or len(comparison.methods) < 2:
                continue
            title = f"{name.capitalize()}, {model_name(model)}: who differs from whom"
            figure = figures.critical_difference_diagram(ranking.averages, ranking.critical_difference, title)
            found.append(Picture(f"critical_difference_{name}_{comparison.name}_{slug(model)}", title, figure))
    return found


def growths(frame: pd.DataFrame) -> list[Picture]:
    """Milliseconds against features or training rows, whichever was varied, for each table and classifier."""
    found = []
    for (table, model), those in frame.groupby(["table", "model"]):
        for axis, other in (("n_features", "n_training"), ("n_training", "n_features")):
            # The other size is held at the value that most was measured at.
            held = those[those[other] == those[other].mode().iloc[0]]
            if held[axis].nunique() < 2:
                continue
            means = held.groupby(["method", axis])["ms"].mean()
            methods = held["method"].unique()
            lines = {method: [(float(x), float(ms)) for x, ms in means[method].items()] for method in methods}
            title = f"{table}, {model_name(model)}: milliseconds as {_AXES[axis]} grow"
            figure = figures.growth(lines, _AXES[axis], title)
            found.append(Picture(f"growth_{slug(table)}_{slug(model)}_{axis}", title, figure))
    return found
