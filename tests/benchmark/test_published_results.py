"""Every rank, test statistic and correlation of the published report, computed again from the published records.

By plain code that shares nothing with the package: the records are read with pandas, the statistics are scipy's.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from scipy import stats

ROOT = Path(__file__).parents[2]
RECORDS, TABLES = ROOT / "results" / "paper", ROOT / "docs" / "results" / "paper" / "tables"
pytestmark = pytest.mark.skipif(
    not TABLES.is_dir(), reason="the report is published when all 40 tables are finished: make paper"
)
MODELS = ("ann", "rf")
NAMES = {
    "nice-none": "NICE (none)",
    "nice-spars": "NICE (spars)",
    "nice-prox": "NICE (prox)",
    "nice-plaus": "NICE (plaus)",
    "wit": "WIT",
    "cbr": "CBR",
    "sedc": "SEDC",
    "dice": "DiCE",
    "cfproto": "CFproto",
    "paper-geco": "GeCo (of the paper)",
    "geco": "GeCo",
    "nice-thorough": "NICE (thorough)",
    "nice-thorough-spars": "NICE (thorough, spars)",
    "nice-thorough-prox": "NICE (thorough, prox)",
}
PAPER = list(NAMES)[:10]
METRICS = {
    "alone": "Time",
    "sparsity": "Spars.",
    "l1_range": "L1(norm.)",
    "l1_std": "L1(stand.)",
    "l2_range": "L2(norm.)",
    "l2_std": "L2(stand.)",
    "ae_error": "AE loss",
    "im1": "IM1",
    "im2_code": "IM2",
    "nn5": "5NN",
    "im2": "IM2 (formula)",
}
QUALITIES = [metric for metric in METRICS if metric not in ("alone", "im2")]


@cache
def records(split: str = "split-0") -> pd.DataFrame:
    parts = []
    for path in sorted((RECORDS / split / "tables").glob("*.parquet")):
        parts.append(pd.read_parquet(path).assign(dataset=path.stem))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(alone=frame["seconds_alone"])


def matrix(model: str, metric: str, methods: list[str], split: str = "split-0") -> tuple[np.ndarray, pd.MultiIndex]:
    return _matrix(model, metric, tuple(methods), split)


@cache
def _matrix(model: str, metric: str, of: tuple[str, ...], split: str) -> tuple[np.ndarray, pd.MultiIndex]:
    """Observations x methods, NaN for what was not found; without those that were found and could not be measured."""
    methods, frame = list(of), records(split)
    frame = frame[(frame["model"].astype(str) == model) & frame["method"].astype(str).isin(methods)]
    is_found = frame["status"].astype(str) == "found"
    keys = [frame["dataset"], frame["row"], frame["method"].astype(str)]
    found = is_found.groupby(keys).first().unstack()[methods]
    values = frame[metric].astype(np.float64).groupby(keys).first().unstack()[methods]
    if metric == "alone":
        values = values[frame["alone"].notna().groupby([frame["dataset"], frame["row"]]).any()]
        found = found.loc[values.index]
    is_known = ~(found & values.isna()).any(axis=1)
    values, found = values[is_known], found[is_known]
    return values.where(found).to_numpy(), values.index


def ranks(values: np.ndarray, *, missing_last: bool = True) -> np.ndarray:
    ranked = stats.rankdata(np.where(np.isnan(values), np.inf, values), method="min", axis=1)
    if missing_last:
        ranked = np.where(np.isnan(values), values.shape[1], ranked)
    return ranked.astype(float)


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(TABLES / f"{name}.csv", index_col=0)


def printed(name: str, line: str, methods: list[str]) -> np.ndarray:
    return table(name).loc[line, [NAMES[method] for method in methods]].to_numpy(dtype=float)


def methods_of_all() -> list[str]:
    heads = list(table("main_all_ann").columns)
    return [method for method, name in NAMES.items() if name in heads]


def test_the_records_are_complete():
    """Each table with both classifiers, 200 rows and the same methods; three splits of the fast ones."""
    for split in ("split-0", "split-1", "split-2"):
        frame = records(split)
        counts = frame.groupby(["dataset", "model", "method"], observed=True).size()
        assert (counts == 200).all()
        n_methods = frame["method"].nunique()
        assert len(counts) == frame["dataset"].nunique() * 2 * n_methods
    assert set(NAMES) == set(records()["method"].astype(str))


def test_the_settings_are_those_that_are_said():
    for split, seed in (("split-0", 0), ("split-1", 1), ("split-2", 2)):
        for path in (RECORDS / split / "tables").glob("*.parquet"):
            about = json.loads(pyarrow.parquet.read_schema(path).metadata[b"nicecf"])["about"]
            assert (about["seed"], about["profile"], about["time_limit"], about["rows"]) == (seed, "paper", 60.0, 200)


@pytest.mark.parametrize("model", MODELS)
def test_ranks_by_both_rules(model):
    lines = table(f"ranking_rules_{model}").index
    for metric, name in METRICS.items():
        if f"{name} rank" not in lines:
            continue
        values, _ = matrix(model, metric, PAPER)
        assert printed(f"ranking_rules_{model}", f"{name} rank", PAPER) == pytest.approx(ranks(values).mean(axis=0))
        by_found = ranks(values, missing_last=False).mean(axis=0)
        assert printed(f"ranking_rules_{model}", f"{name} rank: found plus one", PAPER) == pytest.approx(by_found)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("which", ["paper", "all"])
def test_main_and_detailed_tables(model, which):
    methods = PAPER if which == "paper" else methods_of_all()
    main = {"alone": "Time", "sparsity": "Spars.", "l1_range": "Prox.", "ae_error": "Plaus."}
    for metric, name in main.items():
        values, _ = matrix(model, metric, methods)
        expected = ranks(values).mean(axis=0)
        assert printed(f"main_{which}_{model}", f"{name} rank", methods) == pytest.approx(expected), metric
    for metric, name in list(METRICS.items())[2:]:
        group = "Prox." if metric.startswith("l") else "Plaus."
        values, _ = matrix(model, metric, methods)
        line = f"{group}: {name} rank"
        assert printed(f"metrics_{which}_{model}", line, methods) == pytest.approx(ranks(values).mean(axis=0)), metric
    frame = records()[records()["model"].astype(str) == model]
    is_found = (frame["status"].astype(str) == "found").groupby(frame["method"].astype(str)).mean()
    assert printed(f"main_{which}_{model}", "Coverage (%)", methods) == pytest.approx(
        100 * is_found[methods].to_numpy()
    )
    agrees = (frame["valid_for_other"].fillna(0.0)).groupby(frame["method"].astype(str)).mean()[methods]
    assert printed(f"metrics_{which}_{model}", "CM robustness (%)", methods) == pytest.approx(100 * agrees.to_numpy())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("which", ["paper", "all"])
def test_friedman_over_rows_and_over_datasets(model, which):
    methods = PAPER if which == "paper" else methods_of_all()
    lines = table(f"friedman_{which}_{model}")
    k = len(methods)
    q = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    for metric, name in METRICS.items():
        values, index = matrix(model, metric, methods)
        line = lines.loc[f"{name} rank"]
        test = stats.friedmanchisquare(*np.where(np.isnan(values), np.finfo(float).max, values).T)
        assert line["Rows: N"] == len(values)
        assert line["Rows: χ²"] == pytest.approx(test.statistic, rel=1e-6)
        assert line["Rows: CD"] == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * len(values))))
        means = pd.DataFrame(ranks(values)).groupby(index.get_level_values("dataset")).mean().round(9).to_numpy()
        over = stats.friedmanchisquare(*means.T)
        assert line["Datasets: N"] == len(means)
        assert line["Datasets: χ²"] == pytest.approx(over.statistic, rel=1e-6)
        assert line["Datasets: p"] == pytest.approx(over.pvalue, rel=1e-4, abs=1e-300)


def test_correlations_of_ranks():
    below_and_above = {"ann": lambda i, j: (max(i, j), min(i, j)), "rf": lambda i, j: (min(i, j), max(i, j))}
    for name in ("correlations_proximity", "correlations_plausibility"):
        shown = table(name)
        shown = shown.loc[list(shown.columns)]  # without the lines of the paper's figures
        metrics = [next(metric for metric in METRICS if METRICS[metric] == head) for head in shown.columns]
        for model, place in below_and_above.items():
            for i, one in enumerate(metrics):
                for j, other in enumerate(metrics[:i]):
                    (a, where_a), (b, where_b) = matrix(model, one, PAPER), matrix(model, other, PAPER)
                    a, b = a[where_a.isin(where_b)], b[where_b.isin(where_a)]
                    expected = np.corrcoef(ranks(a).ravel(), ranks(b).ravel())[0, 1]
                    assert float(shown.iloc[place(i, j)]) == pytest.approx(expected), (model, one, other)


@pytest.mark.parametrize("model", MODELS)
def test_means_over_the_splits(model):
    splits = ("split-0", "split-1", "split-2")
    shared = [method for method in PAPER if method in set(records("split-1")["method"].astype(str))]
    for metric in ("sparsity", "l1_range", "ae_error"):
        name = METRICS[metric]
        averages = np.array([ranks(matrix(model, metric, shared, split)[0]).mean(axis=0) for split in splits])
        line = f"{name} rank"
        assert printed(f"splits_paper_{model}", line, shared) == pytest.approx(averages.mean(axis=0))
        assert printed(f"splits_paper_{model}", f"{line}: lowest", shared) == pytest.approx(averages.min(axis=0))
        assert printed(f"splits_paper_{model}", f"{line}: highest", shared) == pytest.approx(averages.max(axis=0))


def test_every_claim_is_decided_with_its_cause():
    claims = pd.read_csv(TABLES / "claims.csv", keep_default_na=False)
    verdicts = claims[["ANN", "RF"]].to_numpy().ravel()
    assert len(claims) == 42
    assert set(verdicts) <= {"holds", "borderline", "does not hold", "\N{EN DASH}"}
    is_open = claims[["ANN", "RF"]].isin(["borderline", "does not hold"]).any(axis=1)
    assert (claims.loc[is_open, "Why"] != "").all()
    assert not claims["Why"].str.contains("cause not established").any()


# As the tables of README.md call them, where that is another name.
README_NAMES = {
    "NICE (thorough, balanced)": "NICE (thorough)",
    "NICE (spars), the paper's": "NICE (spars)",
    "NICE (none), the paper's": "NICE (none)",
    "DiCE (random)": "DiCE",
    'DiCE (genetic), the paper\'s "GeCo"': "GeCo (of the paper)",
    "GeCo (published)": "GeCo",
}


@pytest.mark.parametrize("page", ["README.md", "docs/results/README.md"])
def test_the_pages_repeat_the_reports_ranks_and_mark_ties_with_the_best(page):
    paragraphs = (ROOT / page).read_text("utf-8").split("\n\n")
    found = next(one for one in paragraphs if "| other model agrees, % |" in one)
    head, _, *lines = [line.strip("|").split("|") for line in found.splitlines()]
    lines_of = {
        "by changes": ("main_all", "Spars. rank"),
        "by distance": ("main_all", "Prox. rank"),
        "by plausibility": ("main_all", "Plaus. rank"),
        "other model agrees, %": ("metrics_all", "CM robustness (%)"),
    }
    columns = [name.strip().removeprefix("rank ") for name in head]
    for cells in lines:
        name = cells[0].strip().strip("*")
        name = README_NAMES.get(name, name)
        for column, (file, line) in lines_of.items():
            cell = cells[columns.index(column)].strip()
            shown = [float(part.strip("* ")) for part in cell.split(" / ")]
            figures = [table(f"{file}_{model}").loc[line, name] for model in MODELS]
            half_a_digit = 0.0501 if "%" in column else 0.00501
            assert shown == pytest.approx([*map(float, figures)], abs=half_a_digit), (name, column)
            if "rank" in line:
                best = [table(f"{file}_{model}").loc[line].astype(float).min() for model in MODELS]
                # Nemenyi's critical difference of 14 methods over 8,000 rows.
                is_best = [rank - lowest < 0.222 for rank, lowest in zip(figures, best, strict=True)]
                assert [part.startswith("**") or part.endswith("**") for part in cell.split(" / ")] == is_best, name
