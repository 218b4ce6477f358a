"""Plan -> records: every dataset is split, both classifiers are trained, every method explains the same test rows.

Whatever is written is never done again: a run that was killed goes on where it was. The same plan gives the same
records in any order and number of processes, but for the timings and for what a time limit cuts off.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from nicecf import metrics
from nicecf.benchmark import archive, methods, models
from nicecf.benchmark.datasets import Dataset, is_path, load, name_of
from nicecf.benchmark.im2_by_code import im2_by_code
from nicecf.benchmark.paper_datasets import PAPER
from nicecf.benchmark.plan import Plan
from nicecf.benchmark.processes import in_processes
from nicecf.benchmark.store import MEASURES, Store
from nicecf.exceptions import ExperimentError, NicecfError, OptionError, SchemaError
from nicecf.models.scorer import nothing_ahead
from nicecf.results.batch import CUT_SHORT, OUT_OF_TIME
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.clock import processor_time
from nicecf.support.options import check_count
from nicecf.support.progress import Choice, check_choice, reporting
from nicecf.support.types import Floats, Ints

# Of the paper: a fifth of the rows is for testing, and at least this many.
_TEST_SHARE, _LEAST_TEST_ROWS = 0.2, 200
# The notes on rows whose search was cut short, though something had been found.
_CUT_SHORT = {*CUT_SHORT, "row_limit"}
_PACKAGES = ("nicecf", "numpy", "scipy", "pandas", "scikit-learn", "threadpoolctl", "dice-ml", "pmlb")


@dataclass(frozen=True)
class Outcome:
    """How a run ended: cells that are there now, and what failed, by name."""

    n_done: int
    n_cells: int
    failures: dict[str, str]


@dataclass(frozen=True, eq=False)
class Problem:
    """A dataset as float rows, split; ``rows`` are the test rows to explain."""

    name: str
    X_train: Floats
    y_train: Ints
    X_test: Floats
    y_test: Ints
    rows: Floats
    categorical: list[int]


def run(plan: Plan, folder: str | Path, *, jobs: int = 1, progress: Choice = None, command: str = "") -> Outcome:
    """Do what of the plan is not yet done in the folder, and keep it there.

    ``jobs``: datasets worked on at the same time, each in a process of its own (with 1, in this one). A cell that fails
    is kept with its error and tried again by the next run; the others go on.
    """
    check_count("jobs", jobs)
    check_choice(progress)
    store = Store.create(folder)
    with store.alone():
        archive.take_up(store)
        store.check_settings(plan.settings | _tuning(plan))
        _check_same(store, plan)
        wanted = {(name, model, method) for name in plan.names for model in plan.models for method in plan.methods}
        todo = {name for name, _, _ in wanted - store.finished()}
        waiting = [one for one, name in zip(plan.datasets, plan.names, strict=True) if name in todo]
        already = len(wanted & store.finished())
        if waiting:
            _tell_about(store, plan, command)
        with (
            reporting(progress, len(wanted), already=already, verb="running", unit="cells") as report,
            threadpool_limits(1),
        ):

            def watch() -> None:
                report(len(wanted & store.finished()))

            watch()
            if jobs == 1:
                for dataset in waiting:
                    run_dataset(store, plan, dataset, watch)
            else:
                # The small ones first: a run that is stopped has as many finished tables as can be.
                in_processes(run_dataset, store, plan, sorted(waiting, key=_size), jobs=jobs, watch=watch)
        for name in plan.names:  # what a run that was killed, or had no room, did not get to
            if not archive.has_file(store, name):
                _save_if_finished(store, plan, name)
        return _outcome(store, wanted)


def run_dataset(store: Store, plan: Plan, dataset: str, watch: Callable[[], None] = lambda: None) -> None:
    """All cells of one dataset that are not there yet; what fails is kept as failed."""
    name = name_of(dataset, folder=plan.data)
    finished = store.finished()
    todo = [
        (model, method) for model in plan.models for method in plan.methods if (name, model, method) not in finished
    ]
    try:
        problem = prepared(load(dataset, folder=plan.data, label=plan.label if is_path(dataset) else None), plan)
        store.write("datasets", _facts(problem, error=None))
        reference = metrics.Reference.of(
            problem.X_train, problem.y_train, categorical_features=problem.categorical, random_state=plan.seed
        )
        if not store.has("autoencoders", {"dataset": name}):
            store.write("autoencoders", {"dataset": name, **_reconstruction(reference, problem.X_test)})
        trained = {model: _trained(store, plan, problem, model) for model in plan.models}
    except ExperimentError:
        raise
    except Exception as error:
        store.write_failure(name, _in_words(error))
        return
    for model, method in todo:
        others = [trained[one] for one in plan.models if one != model]
        cell = {"dataset": name, "model": model, "method": method, "status": "done", "error": None}
        reason = methods.why_not(method, n_categorical=len(problem.categorical))
        records: list[dict[str, Any]] = []
        if reason is not None:
            cell |= {"status": "does not apply", "error": reason}
        else:
            try:
                figures, records = run_cell(
                    problem, method, trained[model], others[0] if others else None, reference, plan
                )
                cell |= figures
                records = [{"dataset": name, "model": model, "method": method, **record} for record in records]
            except Exception as error:
                cell |= {"status": "failed", "error": _in_words(error)}
        store.write_cell(cell, records)
        watch()
    _save_if_finished(store, plan, name)


def _save_if_finished(store: Store, plan: Plan, name: str) -> None:
    if {(name, model, method) for model in plan.models for method in plan.methods} <= store.finished():
        archive.save(store, name)


def run_cell(
    problem: Problem, method: str, model: Any, other: Any, reference: metrics.Reference, plan: Plan
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One method on the rows of one dataset and model: what it took, and a record for each explanation."""
    explainer = methods.make(method, model, categorical=problem.categorical, seed=plan.seed, time_limit=plan.time_limit)
    start = process_time()
    explainer.fit(problem.X_train, problem.y_train)
    fit_seconds = process_time() - start
    limit, n_rows = plan.time_limit, len(problem.rows)
    start = process_time()
    # What rides along depends on what a call took: without it, what is asked of the model is the same in every run.
    # By processor time, so that a busy machine cuts no row short.
    with nothing_ahead(), processor_time():
        cfs = explainer.explain(problem.rows, time_budget=None if limit is None else limit * n_rows, progress=False)
    seconds = process_time() - start
    explain_one = partial(explainer.explain, time_budget=limit, progress=False)
    alone = np.full(n_rows, np.nan)
    with processor_time():
        alone[: plan.alone] = metrics.cpu_seconds(explain_one, problem.rows[: plan.alone])
    figures = {
        "fit_seconds": fit_seconds,
        "seconds": seconds,
        "model_calls": cfs.model_calls,
        "model_rows": cfs.model_rows,
    }
    return figures, _records(cfs, problem.rows, model, other, reference, seconds / n_rows, alone)


def _records(
    cfs: Counterfactuals,
    explained: Floats,
    model: Any,
    other: Any,
    reference: metrics.Reference,
    seconds: float,
    alone: Floats,
) -> list[dict[str, Any]]:
    """A record for each row; of several counterfactuals the best in each measure, as in the paper."""
    n_rows = len(explained)
    measured = cfs.metrics(reference, model=model, other_model=other)
    measured["im2_code"] = im2_by_code(explained[cfs.rows], cfs.to_numpy(), cfs.batch.predicted, reference)
    is_valid = measured["valid"].to_numpy(dtype=bool)
    found = np.zeros(n_rows, dtype=bool)
    np.logical_or.at(found, cfs.rows, is_valid)
    best = {}
    for name in MEASURES:
        values = np.full(len(cfs), np.nan)
        if name in measured:
            values = measured[name].to_numpy(np.float64, na_value=np.nan)
        values = np.where(is_valid, values, np.nan)
        best[name] = metrics.best_by_row(values, cfs.rows, n_rows, highest=name == "valid_for_other")
    reasons = dict(zip(cfs.rows.tolist(), cfs.reasons.tolist(), strict=True))
    kinds = dict(zip(cfs.rows.tolist(), cfs.reason_kinds.tolist(), strict=True))
    notes = dict(zip(cfs.rows.tolist(), cfs.notes.tolist(), strict=True))
    predicted = dict(zip(cfs.rows.tolist(), cfs.predicted.tolist(), strict=True))
    note_kinds = dict(zip(cfs.rows.tolist(), cfs.note_kinds.tolist(), strict=True))
    records = []
    for row in range(n_rows):
        reason = None if found[row] else reasons[row] or "the model, asked again, does not agree"
        out_of_time = not found[row] and kinds[row] in OUT_OF_TIME
        is_cut = out_of_time or not _CUT_SHORT.isdisjoint(note_kinds[row] or ())
        records.append(
            {
                "row": row,
                "predicted": int(predicted[row]),
                "status": "found" if found[row] else "time limit" if out_of_time else "not found",
                "reason": reason,
                "note": notes[row],
                "cut": int(is_cut),
                **{name: _number(values[row]) for name, values in best.items()},
                "seconds": _number(seconds),
                "seconds_alone": _number(alone[row]),
            }
        )
    return records


def prepared(dataset: Dataset, plan: Plan) -> Problem:
    """Split as in the paper: a fifth for testing (and at least 200 rows, or half of a small table), then a sample."""
    n_rows = len(dataset.y)
    n_test = max(math.ceil(_TEST_SHARE * n_rows), min(_LEAST_TEST_ROWS, n_rows // 2))
    if plan.rows > n_test:
        raise SchemaError(
            f"{dataset.name} has {n_rows:,} rows, of which {n_test:,} are for testing: fewer than the {plan.rows:,} "
            f"that are to be explained. Ask for at most {n_test:,} (--rows)."
        )
    smallest = int(np.bincount(dataset.y, minlength=2).min())
    if smallest < 2:
        raise SchemaError(f"{dataset.name} has only one row of a class: it cannot be in both parts of a split.")
    values = as_floats(dataset)
    train, test = train_test_split(np.arange(n_rows), test_size=n_test, random_state=plan.seed, stratify=dataset.y)
    train, test = np.sort(train), np.sort(test)
    rows = np.sort(np.random.default_rng(plan.seed).choice(test, size=plan.rows, replace=False))
    names = list(dataset.X.columns)
    return Problem(
        dataset.name,
        values[train],
        dataset.y[train],
        values[test],
        dataset.y[test],
        values[rows],
        [names.index(one) for one in dataset.categorical],
    )


def as_floats(dataset: Dataset) -> Floats:
    """The table as float rows: numbers as they are, text as codes in sorted order, missing as NaN."""
    columns = []
    for name in dataset.X.columns:
        column = dataset.X[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            codes = pd.factorize(column.astype(object).map(str, na_action="ignore"), sort=True)[0].astype(np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
    return np.column_stack(columns)


def _trained(store: Store, plan: Plan, problem: Problem, name: str) -> Any:
    """The classifier; the parameters of an earlier run are not searched again.

    SchemaError, which ends this table alone, where it is not the one that the results so far are of: on another
    processor, rounding may lead the training of a network elsewhere.
    """
    known = _known(store, problem, name)
    tuned = known if plan.tuned is None or known is not None else _known(archive.opened(plan.tuned), problem, name)
    parameters = None if tuned is None else json.loads(tuned["parameters"])
    start = process_time()
    model, parameters = models.train(
        name,
        problem.X_train,
        problem.y_train,
        problem.categorical,
        profile=plan.profile,
        seed=plan.seed,
        parameters=parameters,
    )
    outputs = _checksum_of(np.round(model.predict_proba(problem.rows), 6))
    is_begun = any(one[:2] == (problem.name, name) for one in store.finished())
    if known is None or (known["outputs"] != outputs and not is_begun):
        figures = {"auc": models.auc(model, problem.X_test, problem.y_test), "fit_seconds": process_time() - start}
        line = {"dataset": problem.name, "model": name, "parameters": json.dumps(parameters), "outputs": outputs}
        store.write("models", line | figures)
    elif known["outputs"] != outputs:
        raise SchemaError(
            f"the {name} that was trained for {problem.name} just now is not the one that the results so far are of: "
            "they are of another machine, or of other versions. Run what is left of it there, or run it again as a "
            "whole, in a new folder."
        )
    return model


def _known(store: Store, problem: Problem, name: str) -> dict[str, Any] | None:
    """What a store has on a classifier."""
    known = store.models()
    known = known[(known["dataset"] == problem.name) & (known["model"] == name)]
    return dict(known.iloc[0]) if len(known) else None


def _reconstruction(reference: metrics.Reference, X_test: Floats) -> dict[str, Any]:
    """How much of the variance of test rows the autoencoder keeps, and a PCA of as many dimensions."""
    network = reference.autoencoder
    train, test = (network.inputs(rows) for rows in (reference.training, reference.encoded(X_test)))
    latent = min(len(bias) for bias in network.biases)
    pca = PCA(latent, random_state=0).fit(train)
    spread = ((test - train.mean(axis=0)) ** 2).sum()
    lost = ((network.reconstructed(test) - test) ** 2).sum()
    lost_by_pca = ((pca.inverse_transform(pca.transform(test)) - test) ** 2).sum()
    return {"n_inputs": test.shape[1], "latent": latent, "r2": 1 - lost / spread, "r2_pca": 1 - lost_by_pca / spread}


def _outcome(store: Store, wanted: set[tuple[str, str, str]]) -> Outcome:
    names = {name for name, _, _ in wanted}
    failures = {name: error for name, error in _pairs(store.datasets(), ["dataset"]) if name in names}
    failures |= {
        " ".join(key): error for key, error in _pairs(store.cells(), ["dataset", "model", "method"]) if key in wanted
    }
    return Outcome(len(wanted & store.finished()), len(wanted), failures)


def _pairs(frame: pd.DataFrame, key: list[str]) -> list[tuple[Any, str]]:
    frame = frame[frame["error"].notna()]
    if "status" in frame:
        frame = frame[frame["status"] == "failed"]
    keys = frame[key[0]] if len(key) == 1 else list(map(tuple, frame[key].to_numpy()))
    return list(zip(keys, frame["error"], strict=True))


def _facts(problem: Problem, *, error: str | None) -> dict[str, Any]:
    n_features = problem.X_train.shape[1]
    labels = np.concatenate([problem.y_train, problem.y_test])
    return {
        "dataset": problem.name,
        "error": error,
        "n_rows": len(labels),
        "n_features": n_features,
        "n_categorical": len(problem.categorical),
        "n_numerical": n_features - len(problem.categorical),
        "share_of_class_1": float(labels.mean()),
        "n_training": len(problem.y_train),
        "n_test": len(problem.y_test),
        "checksum": _checksum(problem),
    }


def _check_same(store: Store, plan: Plan) -> None:
    """SchemaError where results of that name are of another table: files are known by their names alone."""
    known = store.datasets().set_index("dataset")["checksum"].dropna()
    for dataset, name in zip(plan.datasets, plan.names, strict=True):
        if name in known and is_path(dataset):
            try:
                problem = prepared(load(dataset, label=plan.label), plan)
            except NicecfError:
                continue  # what is wrong with the file is said when it is its turn
            if known[name] != _checksum(problem):
                raise SchemaError(
                    f"{dataset} is not the table that the results of {name} in {store.folder} are of: another file of "
                    "that name, another label, or a changed file. Rename it, or pass another folder."
                )


def _checksum(problem: Problem) -> str:
    """Of the whole table with its labels and kinds, as split."""
    return _checksum_of(problem.X_train, problem.y_train, problem.X_test, problem.y_test, np.array(problem.categorical))


def _checksum_of(*parts: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(b"|".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:32]


def _tell_about(store: Store, plan: Plan, command: str) -> None:
    tuned = "" if plan.tuned is None else "; searched in another split, whose parameters were taken"
    store.tell(grid=models.PROFILES[plan.profile].words + tuned)
    store.tell_command(command)
    store.tell_also(
        versions={"Python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
        machine=f"{_processor()}, {os.cpu_count()} cores",
    )


def _tuning(plan: Plan) -> dict[str, Any]:
    """Whose parameters are taken, if any; OptionError where they come from another search."""
    if plan.tuned is None:
        return {}
    about = archive.opened(plan.tuned).about()
    if about.get("profile") != plan.profile:
        raise OptionError(
            f"tuned={plan.tuned!r} is a run with profile={about.get('profile')!r}, but this one has "
            f"profile={plan.profile!r}. Pass the same profile, or leave it out."
        )
    return {"tuned_by_seed": about.get("seed")}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _size(dataset: str) -> int:
    """How much work a dataset is, roughly; unknown ones last."""
    facts = PAPER.get(dataset)
    return facts.instances * facts.features if facts is not None else sys.maxsize


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _number(value: float) -> float | None:
    """As a file of the archive holds it, so that it makes no difference where results are read from."""
    return None if np.isnan(value) else float(np.float32(value))
