"""Suggested rules: how many there are on real tables, whether they hold, and how many of them are right.

Whether a line holds is found out from the table, by code that shares nothing with the library but the language of
expressions. Whether it is right, so that a person would want it, was judged by hand, line by line, from what is
published about the columns: ``JUDGED`` has the verdicts. Where nothing is published, it cannot be told.

    python benchmarks/suggestions.py --data DIR --out suggestions.md
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
import sklearn.datasets

from common import Report, machine, markdown_table, progress
from nicecf import suggest_rules
from nicecf.benchmark.datasets import PAPER, load
from nicecf.rules.expressions import Expression, Relation
from nicecf.rules.suggestions import Suggestion, TableFacts, auto_groups

Verdict: TypeAlias = Literal["right", "wrong", "cannot be told", "not judged"]

READABLE = {"adult": "income", "german_credit": "credit_risk", "covertype": "Cover_Type"}
KINDS = (
    "one_hot",
    "twins",
    "derived",
    "relation",
    "identifier",
    "free_text",
    "protected",
    "step",
    "one_way",
    "calendar",
    "order",
)
_VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "cannot be told", "not judged")
_ANONYMOUS = ("crx", "credit_a", "buggyCrx", "australian")
_PEOPLE = ("adult", "credit_g", "german", "dis", "hypothyroid", "pima", "adult (readable)", "german_credit (readable)")

# By table, kind and, where the lines of a kind differ, the feature that is named first.
JUDGED: dict[tuple[str, ...], Verdict] = {
    # sex, race, age, marital or personal status, native country, foreign worker, pregnant; age and schooling only grow
    **{(name, kind): "right" for name in _PEOPLE for kind in ("protected", "one_way")},
    # balances of an account and of savings in marks, years in a job
    ("german_credit (readable)", "order"): "right",
    # the degree and its number
    ("adult", "twins"): "right",
    ("adult (readable)", "twins"): "right",
    # whole by what they are: years, hours, dollars, months, marks, points, counts of calls, scores from 1 to 10
    **{(name, "step"): "right" for name in ("adult", "credit_g", "german", "churn", "breast_w", "profb")},
    # measured in whole units: hundredths of an angstrom; milligrams, millimetres
    **{(name, "step"): "right" for name in ("clean2", "pima", "diabetes")},
    # a phone number, a number for each conformation; a charge is minutes times the price of a minute
    ("churn", "identifier"): "right",
    ("clean2", "identifier"): "right",
    ("churn", "derived"): "right",
    # a mean is at most its maximum, and the write share of a net at most its total
    ("tokyo1", "relation"): "right",
    # the minor axis and the major one; the brightest pixel and the two brightest
    ("magic", "relation"): "right",
    # a mean and the worst of its three largest; but it is not bound by its standard error, though larger in all rows
    ("wdbc", "relation"): "right",
    ("wdbc", "relation", "Concavity2"): "wrong",
    ("wdbc", "relation", "Concave_points2"): "wrong",
    # there, ages are codes, whose order is not known
    ("dis", "one_way"): "cannot be told",
    ("hypothyroid", "one_way"): "cannot be told",
    # names and values were made unrecognisable by the bank
    **{(name, kind): "cannot be told" for name in _ANONYMOUS for kind in ("twins", "step")},
    # drawn from normal distributions; the file has them without the decimal point
    ("ring", "step"): "cannot be told",
    # milligrams; pixels that are counts from 0 to 16
    ("wine", "step"): "right",
    ("digits", "step"): "right",
    ("sklearn diabetes", "protected"): "right",
    ("sklearn diabetes", "one_way"): "right",
    # a petal is longer than wide, but may be longer than a sepal
    ("iris", "relation", "petal width (cm)"): "right",
    ("iris", "relation", "petal length (cm)"): "wrong",
    # as in wdbc, which it is
    ("breast_cancer", "relation"): "right",
    ("breast_cancer", "relation", "concavity error"): "wrong",
    ("breast_cancer", "relation", "concave points error"): "wrong",
}


@dataclass(frozen=True)
class Judged:
    """A suggestion for a table: does it hold in every row, and is it right?"""

    table: str
    one: Suggestion
    holds: bool
    verdict: Verdict


def main() -> None:
    """Print a report, and write it to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("NICECF_DATA"), help="folder of the tables (NICECF_DATA)")
    parser.add_argument("--out", help="a file for the report, in markdown")
    parser.add_argument("--lines", action="store_true", help="also print every suggestion with its verdict")
    options = parser.parse_args()
    if not options.data:
        parser.error("say where the tables are: --data DIR, or NICECF_DATA in the environment")
    report = Report(options.out)
    report.say(machine("nicecf", "numpy", "pandas"))
    for title, some in (("43 tables", tables(Path(options.data))), ("Six others", others())):
        judged, seconds = [], {}
        for name, X in some:
            progress(f"{name}: {X.shape[0]:,} rows, {X.shape[1]} columns")
            start = perf_counter()
            rules = suggest_rules(X)
            seconds[name] = perf_counter() - start
            judged += [_judged(name, one, X) for one in rules.suggestions if one.section is not None]
        if options.lines:
            report.say(markdown_table(["table", "kind", "line", "verdict"], map(_line, judged)))
        report.say(f"### {title}\n\n{by_kind(judged)}")
        report.say(f"Seconds for a table: median {np.median([*seconds.values()]):.2f}, {_slowest(seconds)}.")
    report.say(f"### One-hot encoded\n\n{encoded(Path(options.data))}")
    report.save()


def tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """The tables of the paper, and the readable ones, without their labels."""
    for name in PAPER:
        yield name, load(name, folder=folder).X
    for name, label in READABLE.items():
        yield f"{name} (readable)", readable(folder, name).drop(columns=label)


def others() -> Iterator[tuple[str, pd.DataFrame]]:
    """The tables of scikit-learn, which were not looked at while the search was written."""
    for name in ("iris", "wine", "breast_cancer", "digits", "diabetes", "linnerud"):
        X = getattr(sklearn.datasets, f"load_{name}")(as_frame=True).data
        yield name if name != "diabetes" else "sklearn diabetes", X


def readable(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / "raw" / name / f"{name}.csv.gz")


def by_kind(judged: list[Judged]) -> str:
    """For each kind: active lines with their verdicts, and guesses."""
    found = {kind: [one for one in judged if one.one.kind == kind] for kind in KINDS}
    lines = [_counts(kind.replace("_", " "), some) for kind, some in found.items() if some]
    head = ["kind", "active", "tables", "hold", *_VERDICTS, "guesses", *_VERDICTS]
    return markdown_table(head, [*lines, _counts("all", judged)])


def _counts(name: str, judged: list[Judged]) -> list[object]:
    active = [one for one in judged if one.one.is_certain]
    guesses = [one for one in judged if not one.one.is_certain]
    of_active, of_guesses = (Counter(one.verdict for one in some) for some in (active, guesses))
    return [
        name,
        len(active),
        len({one.table for one in active}),
        sum(one.holds for one in active),
        *(of_active[one] for one in _VERDICTS),
        len(guesses),
        *(of_guesses[one] for one in _VERDICTS),
    ]


def encoded(folder: Path) -> str:
    """One-hot groups of tables in which they are known, as these were encoded here."""
    lines = []
    for name, label in READABLE.items():
        X = readable(folder, name).drop(columns=label)
        text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
        for drop_first in (False, True):
            E = pd.get_dummies(X, columns=text, prefix_sep="=", drop_first=drop_first)
            groups = {tuple(one for one in E if str(one).startswith(f"{column}=")) for column in text}
            groups = {group for group in groups if len(group) > 1}
            start = perf_counter()
            found = {group.features for group in auto_groups(TableFacts.of(E))}
            took = perf_counter() - start
            how = "first left out" if drop_first else "all"
            others = found - groups
            lines.append([name, how, E.shape[1], len(groups), len(found & groups), len(others), f"{took:.2f}"])
    head = ["table", "categories", "columns", "groups", "found", "others", "seconds"]
    return markdown_table(head, lines)


def _judged(name: str, one: Suggestion, X: pd.DataFrame) -> Judged:
    feature = str(one.features[0])
    keys = [(name, one.kind, feature), (name, one.kind)]
    verdict: Verdict = next((JUDGED[key] for key in keys if key in JUDGED), "not judged")
    return Judged(name, one, _holds(one, X), verdict)


def _holds(one: Suggestion, X: pd.DataFrame) -> bool:
    """Whether a suggestion is true of every row of the table; of names there is nothing to check."""
    some = X[list(one.features)]
    if one.kind == "one_hot":
        return bool((some.sum(axis=1) <= 1).all())
    if one.kind == "twins":
        return len(some.drop_duplicates()) == max(some.nunique(dropna=False))
    if one.kind == "step":
        step = float(one.toml.rpartition("= ")[2])
        return bool(np.allclose(some.iloc[:, 0].dropna() % step, 0))
    if one.kind == "relation":
        return bool(Relation.parse(one.toml.strip('"')).holds({name: X[name].to_numpy() for name in X}).all())
    if one.kind == "derived":
        return _is_computed(one, X)
    if one.kind == "order":
        levels = tomllib.loads(one.toml)[str(one.features[0])]
        return set(levels) <= set(some.iloc[:, 0]) and len(set(levels)) == len(levels)
    if one.kind in ("identifier", "free_text"):
        return bool(some.iloc[:, 0].nunique() > len(X) / 2)
    return True


def _is_computed(one: Suggestion, X: pd.DataFrame) -> bool:
    expression = Expression.parse(one.toml.partition(" = ")[2].strip('"'))
    computed = expression.evaluated({name: X[name].to_numpy(dtype=float) for name in expression.columns})
    # A half may be rounded up or down.
    unit = 10.0 ** -(expression.digits if expression.digits is not None else 6)
    return bool((np.abs(computed - X[one.features[0]]) <= 1.001 * unit).all())


def _line(judged: Judged) -> list[str]:
    one = judged.one
    features = ", ".join(map(str, one.features)) if one.toml == '"auto"' else one.toml
    return [judged.table, f"{one.kind}{'' if one.is_certain else ' (guess)'}", features, judged.verdict]


def _slowest(seconds: dict[str, float]) -> str:
    name = max(seconds, key=seconds.__getitem__)
    return f"slowest {name} with {seconds[name]:.2f}"


if __name__ == "__main__":
    main()
