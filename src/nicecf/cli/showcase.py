"""One person explained in four ways, then a whole test set: ``python -m nicecf.cli.showcase``.

The table is the generated loan book, or UCI Adult from the folder that the environment variable NICECF_DATA names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Sequence
from time import perf_counter
from typing import Any, Literal, TypeAlias, get_args

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from nicecf import NICE, Counterfactuals
from nicecf.benchmark.datasets import adult, loan_book
from nicecf.support.formats import one_line

Variant: TypeAlias = Literal["none", "sparsity", "proximity", "plausibility"]
Explained: TypeAlias = dict[Variant, Counterfactuals]

_WIDTH = 120
_BOLD, _PLAIN = "\033[1;33m", "\033[0m"


def main(*, n_train: int = 10_000, n_test: int = 2_000, report: str | os.PathLike[str] | None = None) -> None:
    """Train a forest, explain one person with every variant of NICE, then a test set with one; print the results.

    ``report``: where to write an HTML page about the people in the test set who got the unfavourable answer.
    """
    started = perf_counter()
    source, X, y, unfavourable = _table(n_train + n_test)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_train, test_size=n_test, random_state=0, stratify=y
    )
    model = _forest().fit(X_train, y_train)
    risk = model.predict_proba(X_test)[:, list(model.classes_).index(unfavourable)]
    print(f"Table: {source}, {X.shape[1]} features, {n_train:,} rows to train and {n_test:,} to test.")
    print(f"Model: a forest of 100 trees, AUC {roc_auc_score(y_test == unfavourable, risk):.3f} on the test rows.\n")

    explainers = {name: NICE(model, optimize=name).fit(X_train, y_train) for name in get_args(Variant)}
    judge = explainers["plausibility"]
    candidates = X_test[model.predict(X_test) == unfavourable]
    explained = {name: nice.explain(candidates) for name, nice in explainers.items()}
    label = _most_telling(explained, judge)
    place = candidates.index.get_loc(label)
    shown = {name: cfs[[place]] for name, cfs in explained.items()}
    print(f"What would have to be different for test row {label}, for which the model says {unfavourable}?")
    print(f"(Picked among {len(candidates):,} such rows to show how the four variants differ. Changes are marked *.)\n")
    print(_side_by_side(candidates.loc[[label]], shown, judge))
    print(f"\nIn words, for sparsity:\n{shown['sparsity'][0].text()}")

    start = perf_counter()
    cfs = explainers["sparsity"].explain(X_test)
    seconds = perf_counter() - start
    flipped = model.predict(cfs[cfs.found].to_frame()) != model.predict(X_test[cfs.found])
    print(f"\nAll {n_test:,} test rows, with sparsity:")
    print(f"  coverage   {100 * flipped.sum() / n_test:.1f} % (the model was asked again about each counterfactual)")
    print(f"  changes    {cfs.metrics()['sparsity'].mean():.1f} of {X.shape[1]} features on average")
    print(f"  speed      {n_test / seconds:,.0f} rows per second ({seconds:.2f} s)")
    print(f"  model      {cfs.model_calls} calls with {cfs.model_rows:,} rows in total")
    if report is not None:
        unlucky = explained["sparsity"]
        unlucky.to_html(report, title=f"What would have to be different for those who got {unfavourable}")
        print(f"\nA report on the {len(unlucky):,} who got {unfavourable} is in {one_line(os.fspath(report))}")
    print(f"\nThe demo took {perf_counter() - started:.0f} s.")


def _table(n_rows: int) -> tuple[str, pd.DataFrame, pd.Series[Any], str]:
    """The source of the table, its features, its labels, and the unfavourable label."""
    folder = os.environ.get("NICECF_DATA")
    if not folder:
        return "a generated loan book (NICECF_DATA is not set)", *loan_book(n_rows), "denied"
    X, y = adult(folder)
    # fnlwgt is a survey weight: how many people a row stands for, nothing about the person.
    return "UCI Adult (found through NICECF_DATA)", X.drop(columns="fnlwgt"), y, "<=50K"


def _forest() -> Pipeline:
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include="number")),
        # Dense: the forest takes twice as long to train on sparse columns.
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
    )
    # Leaves of five rows: fully grown trees memorise single people, and one year of age flips the decision.
    return make_pipeline(columns, RandomForestClassifier(100, min_samples_leaf=5, random_state=0))


def _most_telling(explained: Explained, judge: NICE) -> Hashable:
    """The label of the row where most variants lead in what they optimise, then differ most, then change least."""
    metrics = {
        name: cfs.metrics().assign(plausibility=_judged(cfs.to_frame(), judge).metrics()["plausibility"])
        for name, cfs in explained.items()
    }
    changed = {name: cfs.changes().groupby("row")["feature"].agg(frozenset) for name, cfs in explained.items()}
    by_goal = {
        goal: pd.DataFrame({name: metrics[name][goal] for name in metrics}) for goal in metrics if goal != "none"
    }
    ranking = pd.DataFrame(
        {
            "leads": sum((table[goal] == table.min(axis=1)).astype(int) for goal, table in by_goal.items()),
            "distinct": pd.DataFrame(changed).nunique(axis=1),
            "changes": by_goal["sparsity"].sum(axis=1),
        }
    )
    best: Hashable = ranking.sort_values(list(ranking), ascending=[False, False, True]).index[0]
    return best


def _judged(X: pd.DataFrame, judge: NICE) -> Counterfactuals:
    """The rows unchanged, since any class is fine, with the outputs of the judge's model and autoencoder."""
    return judge.explain(X, target_class=list(judge.classes_))


def _side_by_side(row: pd.DataFrame, shown: Explained, judge: NICE) -> str:
    """One line per feature, one column per variant; features that more variants change come first."""
    table = pd.concat([row, *(cfs.to_frame() for cfs in shown.values())], ignore_index=True)
    judged = _judged(table, judge)
    metrics = pd.concat([cfs.metrics() for cfs in shown.values()])
    changed = [set(), *({change.feature for change in cfs[0].changes} for cfs in shown.values())]
    features = sorted(row.columns, key=lambda feature: -sum(feature in names for names in changed))
    body = {feature: [_cell(value) for value in table[feature].tolist()] for feature in features}
    footer = {
        "predicted": [f"{one.predicted} ({100 * one.probability:.0f} %)" for one in judged],
        "changes": ["", *metrics["sparsity"].astype(str)],
        "distance": ["", *(f"{distance:.3f}" for distance in metrics["proximity"])],
        "plausibility error": [f"{error:.3f}" for error in judged.metrics()["plausibility"]],
    }
    first = max(len(name) for name in [*body, *footer])
    width = (_WIDTH - first) // len(changed)

    def line(name: str, cells: Sequence[str]) -> str:
        padded = [_padded(cell, width, name in names) for cell, names in zip(cells, changed, strict=True)]
        return "".join([f"{name:<{first}}", *padded]).rstrip()

    rule = "-" * (first + width * len(changed))
    lines = [line("feature", ["row", *shown]), rule, *(line(*one) for one in body.items())]
    return "\n".join([*lines, rule, *(line(*one) for one in footer.items())])


def _cell(value: Any) -> str:
    return "missing" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)


def _padded(cell: str, width: int, is_changed: bool) -> str:
    room = width - 4
    cut = cell if len(cell) <= room else f"{cell[: room - 1]}…"
    text = f"  {'*' if is_changed else ' '} {cut:<{room}}"
    in_colour = is_changed and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"{_BOLD}{text}{_PLAIN}" if in_colour else text


if __name__ == "__main__":
    main()
