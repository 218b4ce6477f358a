"""One person explained in four ways, then a test set by both searches: ``python -m nicecf.cli.showcase``.

The table is the generated loan book, or UCI Adult from the folder that the environment variable NICECF_DATA names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Sequence
from time import perf_counter
from typing import Any, TypeAlias

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from nicecf import NICE, Constraints, Counterfactuals
from nicecf.benchmark.datasets import adult, loan_book, loan_rules
from nicecf.support.formats import one_line

Explained: TypeAlias = dict[str, Counterfactuals]

# The answers that are shown side by side.
_COLUMNS = {
    "sparsity": "few changes: the default",
    "proximity": "small changes",
    "balanced": "few and small changes, and plausible",
    "paper": 'few changes, by the algorithm of the paper: search="greedy"',
}
# What nobody who applies for a loan can change, or the bank sets.
BEYOND_APPLICANTS = [
    "age", "education", "years_employed", "region", "dependents", "credit_score", "late_payments", "months_since_late",
    "interest_rate",
]  # fmt: skip
_BEYOND_ADULTS = ["age", "marital-status", "relationship", "race", "sex", "native-country"]
# The person who is shown is one of so many.
_CANDIDATES = 50
_WIDTH = 120
_BOLD, _PLAIN = "\033[1;33m", "\033[0m"


def main(*, n_train: int = 10_000, n_test: int = 500, report: str | os.PathLike[str] | None = None) -> None:
    """Train a forest, explain one person for several objectives, then a test set by both searches; print the results.

    ``report``: where to write an HTML page about the people in the test set who got the unfavourable answer.
    """
    started = perf_counter()
    source, X, y, unfavourable, rules, personal = _table(n_train + n_test)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_train, test_size=n_test, random_state=0, stratify=y
    )
    model = forest().fit(X_train, y_train)
    risk = model.predict_proba(X_test)[:, list(model.classes_).index(unfavourable)]
    print(f"Table: {source}, {X.shape[1]} features, {n_train:,} rows to train and {n_test:,} to test.")
    print(f"Model: a forest of 100 trees, AUC {roc_auc_score(y_test == unfavourable, risk):.3f} on the test rows.\n")

    nice, paper = (NICE(model, search=search, constraints=rules).fit(X_train, y_train) for search in (None, "greedy"))
    # By far the slowest, so only for the person who is shown. Its autoencoder judges all answers.
    balanced = NICE(model, optimize="balanced", constraints=rules).fit(X_train, y_train)
    candidates = X_test[model.predict(X_test) == unfavourable][:_CANDIDATES]
    explainers = {"sparsity": nice, "proximity": nice.with_search(optimize="proximity"), "paper": paper}
    label = _most_telling(
        {name: explainer.explain(candidates, constraints=personal) for name, explainer in explainers.items()}
    )
    person = candidates.loc[[label]]
    shown = {name: explainers.get(name, balanced).explain(person, constraints=personal) for name in _COLUMNS}
    print(f"What would have to be different for test row {label}, for which the model says {unfavourable}?")
    print(f"(One of {len(candidates):,} such rows, picked because the answers differ.)")
    print(f"What a person cannot choose stays as it is: {', '.join(map(str, personal.immutable))}.")
    print("Changes are marked *, and what follows from them =.\n")
    print("\n".join(f"  {name:<11} {meaning}" for name, meaning in _COLUMNS.items()))
    print(f"\n{_side_by_side(person, shown, balanced)}")
    print(f"\nIn words, by the default:\n{shown['sparsity'][0].text()}")

    by_default, seconds = _timed(nice, X_test)
    searches = {"thorough (the default)": (by_default, seconds), "greedy (the paper's)": _timed(paper, X_test)}
    columns = [[name, *_measured(X_test, cfs, seconds, model)] for name, (cfs, seconds) in searches.items()]
    print(f"\nAll {n_test:,} test rows, for few changes, by both searches, where everything may change:\n")
    for name, *cells in zip(["", "coverage", "changes", "distance", "speed"], *columns, strict=True):
        print(f"  {name:<10}{''.join(f'{cell:<26}' for cell in cells)}".rstrip())
    print("  (Coverage: the model was asked again about each counterfactual. Changes and distance: means.)")
    if report is not None:
        unlucky = nice.explain(X_test[by_default.predicted == unfavourable], constraints=personal)
        unlucky.to_html(report, title=f"What would have to be different for those who got {unfavourable}")
        print(f"\nA report on the {len(unlucky):,} who got {unfavourable} is in {one_line(os.fspath(report))}")
    print(f"\nThe demo took {perf_counter() - started:.0f} s.")


def _table(n_rows: int) -> tuple[str, pd.DataFrame, pd.Series[Any], str, Constraints, Constraints]:
    """Return the source of the table, its features and labels, the unfavourable label, and two kinds of rules.

    The first are about what follows from what in every row, the second about what a person cannot choose.
    """
    folder = os.environ.get("NICECF_DATA")
    if not folder:
        personal = Constraints(immutable=BEYOND_APPLICANTS)
        source = "a generated loan book (NICECF_DATA is not set)"
        return source, *loan_book(n_rows), "denied", loan_rules(), personal
    X, y = adult(folder)
    # fnlwgt is a survey weight: how many people a row stands for, nothing about the person.
    # education-num is the number of education: they change together.
    rules = Constraints(groups="auto")
    personal = Constraints(immutable=_BEYOND_ADULTS)
    return "UCI Adult (found through NICECF_DATA)", X.drop(columns="fnlwgt"), y, "<=50K", rules, personal


def forest() -> Pipeline:
    """The model of the demo: one-hot columns and a forest of 100 trees."""
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include="number")),
        # Dense: the forest takes twice as long to train on sparse columns.
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
    )
    # Leaves of five rows: fully grown trees memorise single people, and one year of age flips the decision.
    return make_pipeline(columns, RandomForestClassifier(100, min_samples_leaf=5, random_state=0))


def _most_telling(explained: Explained) -> Hashable:
    """Return the label of the row where the paper needs more changes, then the answers differ most, then change least.

    Rows without an answer come last.
    """
    n_changes = pd.DataFrame({name: cfs.metrics()["sparsity"] for name, cfs in explained.items()})
    changed = {name: cfs.changes().groupby("row")["feature"].agg(frozenset) for name, cfs in explained.items()}
    ranking = pd.DataFrame(
        {
            "better": n_changes["paper"] > n_changes["sparsity"],
            "distinct": pd.DataFrame(changed).nunique(axis=1),
            "changes": n_changes.sum(axis=1),
        }
    )
    best: Hashable = ranking.sort_values(list(ranking), ascending=[False, False, True], kind="stable").index[0]
    return best


def _timed(nice: NICE, X: pd.DataFrame) -> tuple[Counterfactuals, float]:
    start = perf_counter()
    cfs = nice.explain(X)
    return cfs, perf_counter() - start


def _measured(X: pd.DataFrame, cfs: Counterfactuals, seconds: float, model: Pipeline) -> list[str]:
    """Coverage, changes, distance and speed of one search."""
    flipped = model.predict(cfs[cfs.found].to_frame()) != model.predict(X[cfs.found])
    metrics = cfs.metrics()
    return [
        f"{100 * flipped.sum() / len(X):.1f} %",
        f"{metrics['sparsity'].mean():.2f}",
        f"{metrics['proximity'].mean():.3f}",
        f"{len(X) / seconds:,.0f} rows per second",
    ]


def _judged(X: pd.DataFrame, judge: NICE) -> Counterfactuals:
    """The rows unchanged, since any class is fine, with the outputs of the judge's model and autoencoder."""
    return judge.explain(X, target_class=list(judge.classes_))


def _side_by_side(row: pd.DataFrame, shown: Explained, judge: NICE) -> str:
    """One line per feature, one column per answer; features that more answers change come first."""
    table = pd.concat([row, *(cfs.to_frame() for cfs in shown.values())], ignore_index=True)
    judged = _judged(table, judge)
    metrics = pd.concat([cfs.metrics() for cfs in shown.values()])
    marks: list[dict[Hashable, str]] = [
        {},
        *({one.feature: "=" if one.derived else "*" for one in cfs[0].changes} for cfs in shown.values()),
    ]
    features = sorted(row.columns, key=lambda feature: -sum(feature in of_answer for of_answer in marks))
    body = {feature: [_cell(value) for value in table[feature].tolist()] for feature in features}
    footer = {
        "predicted": [f"{one.predicted} ({100 * one.probability:.0f} %)" for one in judged],
        "changes": ["", *metrics["sparsity"].astype(str)],
        "distance": ["", *(f"{distance:.3f}" for distance in metrics["proximity"])],
        "plausibility error": [f"{error:.3f}" for error in judged.metrics()["plausibility"]],
    }
    first = max(len(name) for name in [*body, *footer])
    width = (_WIDTH - first) // len(marks)

    def line(name: str, cells: Sequence[str]) -> str:
        padded = [_padded(cell, width, of_answer.get(name, " ")) for cell, of_answer in zip(cells, marks, strict=True)]
        return "".join([f"{name:<{first}}", *padded]).rstrip()

    rule = "-" * (first + width * len(marks))
    lines = [line("feature", ["row", *shown]), rule, *(line(*one) for one in body.items())]
    return "\n".join([*lines, rule, *(line(*one) for one in footer.items())])


def _cell(value: Any) -> str:
    return "missing" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)


def _padded(cell: str, width: int, mark: str) -> str:
    room = width - 4
    cut = cell if len(cell) <= room else f"{cell[: room - 1]}…"
    text = f"  {mark} {cut:<{room}}"
    in_colour = mark != " " and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"{_BOLD}{text}{_PLAIN}" if in_colour else text


if __name__ == "__main__":
    main()
