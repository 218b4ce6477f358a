"""How many counterfactuals could not exist, without rules and with those that the table suggests, unedited.

What an answer contradicts is found out from the frames, by code that shares nothing with the library: combinations of
one-hot columns and twins that no training row holds, derived columns that do not follow, and inequalities between two
columns that hold in every training row.

    python benchmarks/possible.py --data DIR --out possible.md
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from common import Report, machine, markdown_table, progress, short
from nicecf import NICE, Constraints, RulesWarning, suggest_rules

MODELS = {
    "forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
# What breaks: what active lines of the suggested rules cover, and inequalities, which they only guess at.
COVERED = ("one-hot", "twins", "derived")


@dataclass(frozen=True, eq=False)
class Task:
    """A table, and what follows from what in it: groups of columns, and derived columns as functions of the table."""

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    one_hot: list[list[str]]
    twins: list[list[str]]
    derived: dict[str, Any]


def read(folder: Path, name: str, *, encoded: bool) -> Task:
    """Adult or german credit with a derived column; ``encoded``: its text columns as dummies, as many tables come."""
    if name == "adult":
        X = pd.read_csv(folder / "raw/adult/adult.csv.gz", keep_default_na=False).drop(columns="fnlwgt")
        y = (X.pop("income") == ">50K").astype(int)
        derived = {"capital-net": lambda table: table["capital-gain"] - table["capital-loss"]}
        twins = [["education", "education-num"]]
    else:
        X = pd.read_csv(folder / "raw/german_credit/german_credit.csv.gz", keep_default_na=False)
        y = (X.pop("credit_risk") == "good").astype(int)
        derived = {"monthly_rate": lambda table: (table["credit_amount"] / table["duration_months"]).round(2)}
        twins = []
    X = X.assign(**{column: follow(X) for column, follow in derived.items()})
    if not encoded:
        return Task(name, X, y, [], twins, derived)
    text = list(X.select_dtypes(exclude="number"))
    dummies = {column: [f"{column}_{level}" for level in sorted(X[column].unique())] for column in text}
    X = pd.get_dummies(X, columns=text, dtype=int)
    # The dummies of education have a twin in education-num: all of them go together.
    one_hot = [[*dummies[column], *(["education-num"] if column == "education" else [])] for column in text]
    return Task(f"{name}, one-hot", X, y, one_hot, [], derived)


def inequalities(X: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Pairs of number columns of which the first is at most the second in every row, and not always equal to it."""
    numbers = [name for name in X.select_dtypes("number") if X[name].nunique() > 2]
    for low, high in permutations(numbers, 2):
        if (X[low] <= X[high]).all() and (X[low] < X[high]).any():
            yield low, high


def broken(after: pd.DataFrame, training: pd.DataFrame, task: Task) -> dict[str, np.ndarray]:
    """For each kind of contradiction, which counterfactuals have it."""
    none = np.zeros(len(after), dtype=bool)
    found = dict.fromkeys((*COVERED, "inequality"), none)
    for kind, groups in (("one-hot", task.one_hot), ("twins", task.twins)):
        for group in groups:
            known = set(training[group].itertuples(index=False, name=None))
            torn = [values not in known for values in after[group].itertuples(index=False, name=None)]
            found[kind] = found[kind] | np.array(torn, dtype=bool)
    for name, follow in task.derived.items():
        found["derived"] = found["derived"] | ~np.isclose(
            after[name].astype(float), follow(after.astype({name: float}))
        )
    for low, high in inequalities(training):
        found["inequality"] = found["inequality"] | (after[low] > after[high]).to_numpy(dtype=bool)
    return found


def measured(task: Task, model_name: str, *, rows: int, seed: int) -> tuple[list[list[Any]], list[str]]:
    """Without rules and with the suggested ones: one line each, and what was wrong."""
    order = np.random.default_rng(seed).permutation(len(task.X))
    explained, training = order[:rows], order[rows : rows + 20_000]
    X, y = task.X.iloc[training], task.y.iloc[training]
    encode = make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_exclude="number"),
        ),
        remainder="passthrough",
    )
    model = make_pipeline(encode, MODELS[model_name]).fit(X, y)
    start = perf_counter()
    suggested = suggest_rules(X, y).constraints
    seconds = perf_counter() - start
    progress(f"{task.name}, {model_name}: suggested in {seconds:.2f} s: {suggested}")
    lines, wrongs, first = [], [], np.nan
    for label, rules in (("none", None), ("suggested", suggested)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RulesWarning)
            nice = NICE(model, constraints=rules or Constraints()).fit(X, y)
        nice.explain(task.X.iloc[explained[:1]], progress=False)  # the first call pays for lazy imports
        start = perf_counter()
        cfs = nice.explain(task.X.iloc[explained], progress=False)
        milliseconds = 1000 * (perf_counter() - start) / rows
        first = milliseconds if rules is None else first
        after = cfs[cfs.found].to_frame()
        valid = (model.predict(after) != model.predict(task.X.loc[after.index])).mean() if len(after) else np.nan
        contradictions = broken(after, X, task)
        if rules is not None:
            wrongs += [
                f"{task.name}, {model_name}: {kind} of {np.count_nonzero(contradictions[kind])} rows"
                for kind in COVERED
                if contradictions[kind].any()
            ]
        of_any = np.any(list(contradictions.values()), axis=0)
        shares = [share(one) for one in (*contradictions.values(), of_any)]
        metrics = cfs.metrics()
        cells = [share(cfs.found), f"{100 * valid:.0f} %", *shares, short(metrics["sparsity"].mean())]
        cells += [short(metrics["proximity"].mean()), short(milliseconds), f"{milliseconds / first:.2f}x"]
        lines.append([task.name, model_name, label, *cells])
    return lines, wrongs


def share(is_so: np.ndarray) -> str:
    """In percent; 0 only where there is none."""
    return "-" if not len(is_so) else f"{100 * is_so.mean():.1f} %" if is_so.any() else "0"


def main() -> int:
    """Measure and report; 1 if an answer breaks what the active lines of its rules cover."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with raw/adult and raw/german_credit; default: NICECF_DATA")
    parser.add_argument("--rows", type=int, default=500, help="rows explained of each table (at most half of them)")
    parser.add_argument("--seed", type=int, default=0, help="which rows are explained")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    if not (options.data or os.environ.get("NICECF_DATA")):
        print("Nothing measured: adult and german credit are needed. Set NICECF_DATA.")
        return 0
    folder = Path(options.data or os.environ["NICECF_DATA"])
    report, wrongs, lines = Report(options.out), [], []
    report.say("# Rows that could exist")
    report.say(f"Seed {options.seed}; all on one thread. " + machine("nicecf", "numpy", "pandas", "scikit-learn"))
    with threadpool_limits(1):
        for name in ("adult", "german credit"):
            for encoded in (False, True):
                task = read(folder, name, encoded=encoded)
                for model_name in MODELS:
                    more, wrong = measured(task, model_name, rows=options.rows, seed=options.seed)
                    lines += more
                    wrongs += wrong
    head = ["table", "model", "rules", "found", "valid", "one-hot", "twins", "derived", "inequality", "any of them"]
    report.say(
        f"{options.rows} rows of each table, the default search. One-hot, twins, derived, inequality: the share of "
        "answers that contradict one; what the suggested rules cover by active lines are the first three.\n\n"
        + markdown_table([*head, "changes", "distance", "ms/row", "ratio"], lines)
    )
    report.say(
        f"In all, {len(wrongs)} contradictions of what the rules cover.\n" + "".join(f"\n- {one}" for one in wrongs)
    )
    report.save()
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
