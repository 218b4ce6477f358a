"""How well the classifiers do beside the paper's, and whether chance explains where they do not do the same."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd

from nicecf.benchmark.paper_datasets import PAPER
from nicecf.benchmark.report.results import Results, model_name, printed_name
from nicecf.views.documents.document import Cell, Row, Table, line, number

# How far an AUC may be from the paper's to count as the same: splits of one dataset differ by about that much.
_NEAR = 0.03
_MODELS = ("ann", "rf")


def median_aucs(results: Results) -> pd.Series:
    """By model and dataset, the median over the splits."""
    return _aucs(results).median()


def _aucs(results: Results) -> pd.core.groupby.SeriesGroupBy:
    frames = pd.concat([split.models for split in results.all_splits])
    return frames.groupby(["model", "dataset"])["auc"]


def _differences(results: Results, model: str) -> pd.Series:
    """How far the AUC of a classifier is from the paper's, by dataset."""
    aucs = median_aucs(results)
    names = [name for name in results.dataset_names if name in PAPER and (model, name) in aucs.index]
    differences = {name: aucs[model, name] - getattr(PAPER[name], f"auc_{model}") for name in names}
    return pd.Series(differences, dtype=np.float64).dropna()


def _is_near(differences: pd.Series) -> pd.Series:
    # A little more, since figures of three digits that are 0.03 apart need not be so in binary.
    return differences.abs() <= _NEAR + 1e-9


def auc_agreement(results: Results) -> Table | None:
    """How many datasets have an AUC near the paper's; None where there is no dataset or classifier of the paper."""
    rows = []
    for model in _MODELS:
        differences = _differences(results, model)
        if not len(differences):
            continue
        is_near = _is_near(differences)
        counts = [len(differences), is_near.sum(), (~is_near & (differences < 0)).sum()]
        counts.append((~is_near & (differences > 0)).sum())
        cells = [number(float(count), 0) for count in counts]
        rows.append(line(model_name(model), [*cells, number(float(differences.median()), 3, sign=True)]))
    if not rows:
        return None
    head = ("", "Datasets", f"Within {_NEAR} of the paper", "Lower", "Higher", "Median difference")
    note = f"AUC on the test set, {of_splits(results)}, beside the paper's, which is of one split of its own."
    return Table("auc_agreement", "AUC: how many datasets are near the paper's", head, tuple(rows), note)


def auc_exceptions(results: Results) -> Table | None:
    """The datasets whose AUC is not near the paper's, beside what chance alone would do; None where there are none."""
    facts, grouped = results.datasets.set_index("dataset"), _aucs(results)
    rows = []
    for model in _MODELS:
        differences = _differences(results, model)
        for name in differences.index[~_is_near(differences)]:
            ours, theirs = grouped.get_group((model, name)), float(getattr(PAPER[name], f"auc_{model}"))
            share, n_test = float(facts.at[name, "share_of_class_1"]), float(facts.at[name, "n_test"])
            # The paper has one split of its own: the difference of two has twice the variance of one.
            by_chance = 1.96 * sqrt(2) * standard_error(theirs, n_test * share, n_test * (1 - share))
            is_chance = ours.min() <= theirs <= ours.max() or abs(differences[name]) <= by_chance
            figures = [theirs, ours.min(), ours.median(), ours.max()]
            cells = [*(number(float(value), 3) for value in figures), number(differences[name], 3, sign=True)]
            cells += [number(by_chance, 3), Cell("yes" if is_chance else "no", is_bold=not is_chance)]
            rows.append(Row((Cell(printed_name(name)), Cell(model_name(model)), *cells)))
    if not rows:
        return None
    note = (
        "By chance: what two AUCs of as many test rows as here differ by in 95 of 100 cases (Hanley and McNeil 1982), "
        "with test rows alone being drawn anew; training rows and the classifiers' random numbers add to it. "
        "Explained: the difference is within that, or the paper's AUC is between the lowest and the highest of our "
        "splits."
    )
    head = ("Name", "Classifier", "Paper", "Lowest", "Median", "Highest", "Difference", "By chance", "Explained")
    title = f"AUC: the datasets that are not within {_NEAR} of the paper's"
    return Table("auc_exceptions", title, head, tuple(rows), note)


def standard_error(auc: float, n_positive: float, n_negative: float) -> float:
    """Of an AUC on so many rows of each class, after Hanley and McNeil.

    >>> round(standard_error(0.867, 67, 133), 3)
    0.03
    """
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (n_positive - 1) * (q1 - auc**2) + (n_negative - 1) * (q2 - auc**2)
    return sqrt(max(0.0, variance) / (n_positive * n_negative))


def of_splits(results: Results) -> str:
    """What the AUCs are of, in words."""
    n_splits = len(results.all_splits)
    return "of one split" if n_splits == 1 else f"the median of {n_splits} splits"
