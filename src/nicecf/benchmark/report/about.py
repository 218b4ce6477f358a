"""What was run and what was reduced: the part of a report that says what its figures rest on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from nicecf.benchmark.paper_datasets import PAPER
from nicecf.benchmark.report import paper
from nicecf.benchmark.report.names import PAPER_METHODS, pretty
from nicecf.benchmark.report.results import Results, model_name, printed_name
from nicecf.views.documents.document import Block, Code, Listing, Table, Text, joined, line, number, words

_CELL = ["dataset", "model", "method"]
_SAID_ELSEWHERE = ("command", "commands", "versions")
_LABELS = {
    "seed": "Seed",
    "profile": "Profile",
    "grid": "Grid of the classifiers",
    "rows": "Rows explained for each dataset and classifier",
    "alone": "Rows of these that were also explained alone, to time them",
    "time_limit": "Time limit for an explanation (seconds)",
    "machine": "Machine",
}
_STATUSES = ("found", "not found", "time limit")
_SEVERAL = (
    "A method that returns several counterfactuals for a row is scored by its best one, for each metric anew, as in "
    "the paper."
)
_TIMES = (
    "Times are CPU time on one core. Two are reported: that of a row explained by itself, which is what the paper "
    "measures, and the share of a row in the batch that all rows are explained in, which is what a user with many rows "
    "sees."
)


def blocks(results: Results) -> list[Block]:
    """The section on the run itself."""
    found: list[Block] = [Text("The results are those of:")]
    commands = [command for split in results.all_splits for command in _commands(split.about)]
    found.append(Code("\n".join(commands) or "(the command was not kept)"))
    found.append(Listing(tuple(_settings(results))))
    found.append(Text("Reduced, or different from the paper:"))
    found.append(Listing(tuple(_reductions(results))))
    found += [Text(_SEVERAL), Text(_times(results)), outcomes(results)]
    return found + [table for table in (failures(results), inapplicable(results)) if table is not None]


def _commands(about: Mapping[str, Any]) -> list[str]:
    commands = about.get("commands") or about.get("command") or []
    return [commands] if isinstance(commands, str) else [str(one) for one in commands]


def _settings(results: Results) -> list[str]:
    about = results.about
    known = [key for key in _LABELS if key in about]
    others = sorted(key for key in about if key not in _LABELS and key not in _SAID_ELSEWHERE)
    points = [
        f"{_LABELS.get(key, key.replace('_', ' ').capitalize())}: {_in_words(about[key])}" for key in known + others
    ]
    if versions := about.get("versions"):
        points.append(f"Versions: {_in_words(versions)}")
    n_records = len(results.records)
    points.append(
        f"{len(results.dataset_names)} datasets, {len(results.model_names)} classifiers, {len(results.method_names)} "
        f"methods: {n_records:,} explanations"
    )
    return points + [_split(one, results) for one in results.splits]


def _split(other: Results, main: Results) -> str:
    """Another split in a sentence, with what else than the seed is different in it."""
    differs = [
        f"{_LABELS[key].lower()} {_in_words(other.about.get(key))}"
        for key in ("profile", "rows", "alone", "time_limit")
        if other.about.get(key) != main.about.get(key)
    ]
    return (
        f"Another split, {other.seed}: {len(other.dataset_names)} datasets, {len(other.method_names)} methods, "
        f"{len(other.records):,} explanations{''.join(f'; {one}' for one in differs)}"
    )


def _in_words(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _reductions(results: Results) -> list[str]:
    points = []
    absent = [printed_name(name) for name in PAPER if name not in results.dataset_names]
    if absent:
        n_there = paper.N_DATASETS - len(absent)
        points.append(f"Datasets: {n_there} of the paper's {paper.N_DATASETS}; without {joined(absent)}.")
    if others := [name for name in results.dataset_names if name not in PAPER]:
        points.append(f"Datasets that are not the paper's: {joined(others)}.")
    if models := [model_name(one) for one in ("ann", "rf") if one not in results.model_names]:
        points.append(f"Classifiers of the paper that were not run: {joined(models)}.")
    if methods := [pretty(one) for one in PAPER_METHODS if one not in results.method_names]:
        points.append(f"Methods of the paper that were not run: {joined(methods)}.")
    if partly := [pretty(method) for method in results.partly]:
        points.append(
            f"Methods that were run, or apply, on a part of the datasets only: {joined(partly)}. They are left out of "
            "the overall ranking and have tables of their own."
        )
    n_all = len(results.dataset_names) * len(results.model_names) * len(results.method_names)
    if (n_absent := n_all - results.cells.groupby(_CELL).ngroups) > 0:
        points.append(f"Not run, or not yet: {n_absent} of {n_all} combinations of dataset, classifier and method.")
    if (rows := results.about.get("rows")) is not None and rows != paper.N_ROWS:
        points.append(f"Rows: {rows} for each dataset and classifier; the paper has {paper.N_ROWS}.")
    if results.about.get("profile") == "quick":
        points.append("Classifiers: the profile quick searches a small part of the paper's grid of parameters.")
    if (limit := results.about.get("time_limit")) is not None:
        points.append(
            f"Time: {limit} s (of processor time) for an explanation, so n times as much for a batch of n rows. Rows "
            "without a counterfactual by then count as not found. Searches that have one by then (NICE has its donor, "
            "GeCo and Growing Spheres their best so far) hand it out: cut short, but found. The paper has no limit."
        )
    points.append("Machine, splits, random numbers and implementations of the benchmark methods are not the authors'.")
    return points


def _times(results: Results) -> str:
    if not results.is_timed_alone:
        return (
            "Times are CPU time on one core, and a row's share of the batch that all rows are explained in: no row was "
            "explained by itself. The paper's times are of single explanations, so they compare badly."
        )
    n_alone = results.about.get("alone")
    first = f"the first {n_alone} rows of" if n_alone and n_alone > 1 else "the first row of" if n_alone else "rows of"
    return f"{_TIMES} The first is measured on {first} each dataset and classifier, and the time rank is by it."


def outcomes(results: Results) -> Table:
    """How many rows each method found a counterfactual for, and how many it lost to the time limit."""
    statuses = results.records["status"].mask(_is_cut(results.records), "cut short")
    counts = results.records.assign(status=statuses).groupby(["method", "model", "status"]).size()
    n_datasets = results.records.groupby("method")["dataset"].nunique()
    rows = []
    for method in results.method_names:
        cells = [number(float(n_datasets[method]), 0)]
        for model in results.model_names:
            those = [int(counts.get((method, model, status), 0)) for status in _outcomes_of(results)]
            cells += [number(value, 0) for value in (sum(those), *those)]
        rows.append(line(pretty(method), cells))
    heads = [
        f"{model_name(model)}: {what}" for model in results.model_names for what in ("rows", *_outcomes_of(results))
    ]
    note = "Time limit: time was up before anything was found; it counts as not found."
    if "cut short" in _outcomes_of(results):
        note += " Cut short: found, but the search was stopped by the time limit before its end."
    return Table("outcomes", "What became of the rows", ("", "Datasets", *heads), tuple(rows), note)


def _outcomes_of(results: Results) -> tuple[str, ...]:
    return (*_STATUSES, "cut short") if _is_cut(results.records).any() else _STATUSES


def _is_cut(records: pd.DataFrame) -> pd.Series:
    """Which rows were found by a search that was stopped before its end; of an older run nothing is known."""
    return (records["cut"] == 1) & (records["status"] == "found")


def failures(results: Results) -> Table | None:
    """Datasets and cells that failed, with their errors; None where none did."""
    rows = []
    if "error" in results.datasets:
        broken = results.datasets[results.datasets["error"].notna()]
        rows += [words(printed_name(one["dataset"]), "", "", one["error"]) for _, one in broken.iterrows()]
    failed = results.cells[results.cells["status"] == "failed"].sort_values(["dataset", "model", "method"])
    for _, one in failed.iterrows():
        rows.append(words(printed_name(one["dataset"]), model_name(one["model"]), pretty(one["method"]), one["error"]))
    if not rows:
        return None
    note = "A failed cell has no results: its rows are in no table."
    return Table("failed", "What failed", ("Dataset", "Classifier", "Method", "Error"), tuple(rows), note, is_text=True)


def inapplicable(results: Results) -> Table | None:
    """Methods that do not apply to a dataset, and why; None where all do."""
    those = results.cells[results.cells["status"] == "does not apply"]
    rows = []
    for method, cells in those.groupby("method"):
        datasets = sorted({printed_name(name) for name in cells["dataset"]}, key=str.casefold)
        reasons = [str(reason) for reason in cells["error"].dropna().unique()]
        why = reasons[0] + (", and the like" if len(reasons) > 1 else "") if reasons else ""
        rows.append(words(pretty(method), len(datasets), joined(datasets), why))
    if not rows:
        return None
    head = ("Method", "Datasets", "Which", "Why")
    return Table("does_not_apply", "Methods that do not apply everywhere", head, tuple(rows), is_text=True)
