"""The tables of a report that are about the data, sizes, times and single datasets; none of them knows a format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from nicecf.benchmark.paper_datasets import PAPER
from nicecf.benchmark.report import paper
from nicecf.benchmark.report.auc_tables import median_aucs, of_splits
from nicecf.benchmark.report.findings import (
    QUALITIES,
    common,
)
from nicecf.benchmark.report.names import METRICS, NICE_VARIANTS, pretty
from nicecf.benchmark.report.results import Results, model_name, printed_name
from nicecf.views.documents.document import Cell, Row, Table, factor, line, number

_BY_DATASET = {
    "covered": ("Coverage (%)", 1),
    "sparsity": ("Features changed, mean", 2),
    "l1_range": ("L1 distance over ranges, mean", 3),
    "ae_error": ("Autoencoder error, mean", 4),
    "ms": ("CPU time, mean (ms)", 1),
}
_SHAPE = ("n_rows", "n_features", "n_categorical", "n_numerical")


def data_summary(results: Results) -> Table:
    """Table 4: the datasets, with the paper's class imbalance and AUC beside ours."""
    models = _those(("ann", "rf"), results.models["model"])
    head = ["Name", "#Inst.", "#Feat.", "#Cat. feat.", "#Num. feat."]
    head += [f"{name}{of}" for name in _quality_names(models) for of in ("", ", paper", ", difference")]
    facts = results.datasets.set_index("dataset").reindex(results.dataset_names)
    aucs = median_aucs(results)
    rows, quality = [], []
    for dataset in results.dataset_names:
        ours, theirs = facts.loc[dataset], PAPER.get(dataset)
        printed_shape = (
            (theirs.instances, theirs.features, theirs.categorical, theirs.numerical) if theirs else [None] * 4
        )
        shape = [_shape(float(ours[name]), printed) for name, printed in zip(_SHAPE, printed_shape, strict=True)]
        pairs = [(float(ours["share_of_class_1"]), theirs.imbalance if theirs else np.nan)]
        for model in models:
            auc = {"ann": theirs.auc_ann, "rf": theirs.auc_rf}[model] if theirs else np.nan
            pairs.append((float(aucs.get((model, dataset), np.nan)), auc))
        quality.append(pairs)
        rows.append(line(printed_name(dataset), [*shape, *_beside(pairs)]))
    means = [
        (_mean(one), _mean(other)) for one, other in (zip(*those, strict=True) for those in zip(*quality, strict=True))
    ]
    rows.append(line("mean", [*[number(None)] * 4, *[number(None)] * 3, *_beside(means)[3:]]))
    note = (
        "Class imbalance: the share of class 1. Where the paper prints another shape than the file has, it stands "
        f"behind. AUC: on the test set, {of_splits(results)}; the paper's is of one split of its own."
    )
    return Table("data_summary", "The datasets, and how well the classifiers do", tuple(head), tuple(rows), note)


def autoencoders(results: Results) -> Table | None:
    """How well the autoencoders behind plausibility know the data; None where that was not measured."""
    frame = results.autoencoders
    if frame is None or not len(frame):
        return None
    known = frame.set_index("dataset")
    rows = []
    for dataset in [name for name in results.dataset_names if name in known.index]:
        one = known.loc[dataset]
        r2, pca = float(one["r2"]), float(one["r2_pca"])
        sizes = [number(float(one[name]), 0) for name in ("n_inputs", "latent")]
        rows.append(line(printed_name(dataset), [*sizes, *_beside([(r2, pca)])]))
    is_better = (known["r2"] >= known["r2_pca"]).sum()
    note = f"R² on test rows. The autoencoder is at least as good as the PCA on {is_better} of {len(known)} datasets."
    head = ("Name", "Inputs", "Latent", "R²", "R² of a PCA of that size", "Difference")
    title = "The autoencoder that measures plausibility, beside a PCA"
    return Table("autoencoders", title, head, tuple(rows), note)


def _quality_names(models: Sequence[str]) -> list[str]:
    return ["Class imbalance", *(f"AUC ({model_name(model)})" for model in models)]


def _shape(ours: float, theirs: int | None) -> Cell:
    if np.isnan(ours) or theirs is None or ours == theirs:
        return number(ours, 0)
    return Cell(f"{ours:,.0f} (paper {theirs:,})", value=float(ours))


def _beside(pairs: Iterable[tuple[float, float]]) -> list[Cell]:
    cells = []
    for ours, theirs in pairs:
        cells += [number(ours, 3), number(theirs, 3), number(ours - theirs, 3, sign=True)]
    return cells


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


def plain_means(results: Results, model: str) -> Table:
    """How large the qualities are, which ranks do not tell."""
    methods = results.everywhere
    records = common(results.records, methods)
    records = records[records["model"] == model]
    metrics = [metric for metric in QUALITIES if records[metric].notna().any()]
    means = records.groupby(["method", "dataset"])[metrics].mean().groupby("method").median()
    rows = []
    for metric in metrics:
        name = METRICS[metric].pretty
        rows.append(line(name[0].upper() + name[1:], [number(means.at[method, metric], 3) for method in methods]))
    note = (
        "The median over the datasets of the mean over the counterfactuals found. A method that finds few is measured "
        "on those few, which tend to be the easy ones; the ranks count what is not found as the worst."
    )
    return Table(
        f"means_{model}", f"Plain values, {model_name(model)} classifier", method_head(methods), tuple(rows), note
    )


def complexity(results: Results, dataset: str) -> Table:
    """Tables 12 and 13: what the worst case comes to for a dataset, and the time it took."""
    facts = results.datasets.set_index("dataset").reindex([dataset]).loc[dataset]
    k, m = (facts[name] for name in ("n_training", "n_features"))
    size = "" if np.isnan(k) or np.isnan(m) else f" (k = {k:,.0f} training rows, m = {m:,.0f} features)"
    models = [model for model in ("ann", "rf") if (dataset, model) in results.of_paper.findings.ms_of]
    head = ["Algorithm", "Worst case", "Order of operations"]
    head += [f"{model_name(model)}{of}" for model in models for of in (" (ms)", ", paper (ms)", ", here / paper")]
    rows = []
    for method in NICE_VARIANTS:
        if method not in results.of_paper.methods:
            continue
        worst = paper.COMPLEXITY[method]
        cells = [Cell(worst.order), Cell(worst.operations(int(k), int(m)) if size else "")]
        for model in models:
            ours = results.of_paper.findings.ms_of[dataset, model].get(method, np.nan)
            theirs = paper.FINDINGS.ms_of[dataset, model][method]
            cells += [number(ours), number(theirs), factor(ours / theirs)]
        rows.append(line(pretty(method), cells))
    note = "f(x): an evaluation of the classifier; g(x): of the autoencoder. The paper's times are of another machine."
    return Table(f"complexity_{dataset}", f"Time complexity on {dataset}{size}", tuple(head), tuple(rows), note)


def costs(results: Results, model: str) -> Table:
    """What an explanation costs, and what comes before it."""
    cells = results.cells[(results.cells["model"] == model) & (results.cells["status"] == "done")]
    records = results.records[results.records["model"] == model]
    by = ["method", "dataset"]
    per_row = cells.set_index(by)["model_rows"] / records.groupby(by).size()
    figures: dict[str, tuple[pd.Series, int]] = {
        "CPU time (ms)": (records.groupby(by)["alone"].mean() * 1000, 1),
        "CPU time in the batch (ms)": (records.groupby(by)["seconds"].mean() * 1000, 2),
        "Rows asked of the model per explanation": (per_row, 0),
        "Calls of the model per batch": (cells.set_index(by)["model_calls"], 0),
        "Seconds to fit": (cells.set_index(by)["fit_seconds"], 2),
    }
    methods = _those(results.method_names, records["method"])
    rows = [
        line(name, [number(float(series.groupby("method").median().get(one, np.nan)), digits) for one in methods])
        for name, (series, digits) in figures.items()
    ]
    note = "Medians over the datasets; those that a method was not run on are missing from its median."
    title = f"What an explanation costs, {model_name(model)} classifier"
    return Table(f"costs_{model}", title, method_head(methods), tuple(rows), note)


def per_dataset(results: Results, model: str) -> list[Table]:
    """The appendix: each of the main figures for every dataset and method."""
    records = results.records[results.records["model"] == model]
    records = records.assign(covered=100.0 * (records["status"] == "found"), ms=records["alone"] * 1000)
    methods, datasets = (
        _those(results.method_names, records["method"]),
        _those(results.dataset_names, records["dataset"]),
    )
    tables = []
    for column, (title, digits) in _BY_DATASET.items():
        means = records.groupby(["dataset", "method"])[column].mean().unstack("method").reindex(datasets)[methods]
        best = (means.max(axis=1) if column == "covered" else means.min(axis=1)).to_numpy()
        rows = [
            line(printed_name(dataset), [number(value, digits, is_bold=value == best[i]) for value in values])
            for i, (dataset, values) in enumerate(zip(datasets, means.to_numpy().tolist(), strict=True))
        ]
        title = f"{title}, {model_name(model)} classifier"
        tables.append(Table(f"by_dataset_{column}_{model}", title, method_head(methods), tuple(rows)))
    return tables


def _those(names: Iterable[str], column: pd.Series) -> list[str]:
    there = set(column.unique())
    return [name for name in names if name in there]


def growth(frame: pd.DataFrame, table: str, model: str) -> Table:
    """Milliseconds of an explanation as a table grows."""
    those = frame[(frame["table"] == table) & (frame["model"] == model)]
    methods = list(dict.fromkeys(those["method"]))
    means = those.groupby(["n_features", "n_training", "method"])["ms"].mean().unstack("method")
    rows = []
    for (n_features, n_training), values in means.iterrows():
        cells = [number(n_training, 0), *(number(float(values[method]), 2) for method in methods)]
        rows.append(Row((number(n_features, 0), *cells)))
    head = ("Features", "Training rows", *(f"{pretty(method)} (ms)" for method in methods))
    title = f"Growth on {table}, {model_name(model)} classifier"
    return Table(f"growth_{slug(table)}_{slug(model)}", title, head, tuple(rows))


def method_head(methods: Sequence[str]) -> tuple[str, ...]:
    """The heads of a table with a column for each method."""
    return ("", *(pretty(method) for method in methods))


def slug(name: str) -> str:
    """A name that any file can have.

    >>> slug("My table <1>")
    'my_table_1'
    """
    return "_".join("".join(one if one.isalnum() and one.isascii() else " " for one in name.lower()).split()) or "other"
