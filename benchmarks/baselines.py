"""NICE and the published algorithms on the same model and rows, beside the figures of the NICE paper.

All get the same rows of adult (or of the generated loan book) and the same two models. Growing Spheres takes numbers
only, so it is measured on models of the number columns. The paper's figures are those of its tables ANNMainResults and
RFMainResults: averages over 40 datasets on another machine, so they are to be compared with each other, not with ours.

    python benchmarks/baselines.py --data DIR --out baselines.md     # both models, the table and the page of one row
    python benchmarks/baselines.py --data DIR --methods WIT,GeCo     # some of them
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from common import Problem, Report, adult_path, machine, markdown_table, progress, real_or_generated, short
from nicecf import NICE, baselines
from nicecf.benchmark import statistics
from nicecf.benchmark.datasets import adult, loan_book
from nicecf.benchmark.report import paper
from nicecf.benchmark.report.names import PAPER_GECO, PAPER_METHODS, pretty
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.search.autoencoder import Autoencoder
from speed import fitted_models, heads

METHODS: dict[str, Callable[..., Any]] = {
    "NICE(none)": partial(NICE, optimize="none", search="greedy"),
    "NICE(spars)": partial(NICE, optimize="sparsity", search="greedy"),
    "NICE(prox)": partial(NICE, optimize="proximity", search="greedy"),
    "NICE(plaus)": partial(NICE, optimize="plausibility", search="greedy"),
    "NICE thorough": partial(NICE, search="thorough"),
    **{one.__name__: one for one in baselines.ALL},
    "DiCE genetic": partial(baselines.DiCE, method="genetic"),
    "DiCE kdtree": partial(baselines.DiCE, method="kdtree"),
}
NEED_AN_ERROR = ("NICE(plaus)", "NICE thorough")
# Of the ten algorithms of the paper: coverage in %, CPU time in ms, average ranks of sparsity and proximity.
PAPER = {
    ours: {
        # What the paper's tables call GeCo is DiCE's genetic search.
        "DiCE genetic" if method == PAPER_GECO else pretty(method).replace("NICE (", "NICE("): (
            printed.coverage[method],
            printed.ms[method],
            printed.ranks["sparsity"].averages[method],
            printed.ranks["l1_range"].averages[method],
        )
        for method in PAPER_METHODS
    }
    for ours, printed in (("MLP", paper.FINDINGS.models["ann"]), ("forest", paper.FINDINGS.models["rf"]))
}


@dataclass(frozen=True, eq=False)
class Measured:
    """One method on one model."""

    fit_s: float
    batch_ms: float
    single_ms: float
    cfs: Counterfactuals
    n_invalid: int

    @property
    def changes(self) -> np.ndarray:
        """The number of changes of each row; infinite where none was found."""
        return self.cfs.metrics()["sparsity"].to_numpy(dtype=float, na_value=np.inf)

    @property
    def distances(self) -> np.ndarray:
        """The distance of each row; infinite where none was found."""
        return self.cfs.metrics()["proximity"].fillna(np.inf).to_numpy()


def measure(
    make: Callable[..., Any], model: Any, problem: Problem, training: Any, rows: Any, n_single: int
) -> Measured:
    """Fit, explain all rows in one call, and some one by one."""
    X, y = problem.X[training], problem.y[training]
    start = perf_counter()
    explainer = make(model, categorical_features=problem.categorical).fit(X, y)
    fit_s = perf_counter() - start
    explained = problem.X[rows]
    start = perf_counter()
    cfs = explainer.explain(explained, progress=False)
    batch_s = perf_counter() - start
    singles = []
    for at in range(n_single):
        start = perf_counter()
        explainer.explain(explained[[at]], progress=False)
        singles.append(perf_counter() - start)
    found = cfs.found
    is_other = model.predict(cfs.to_numpy()[found].astype(float)) != model.predict(explained[found])
    return Measured(
        fit_s, 1000 * batch_s / len(rows), 1000 * float(np.median(singles)), cfs, int(np.count_nonzero(~is_other))
    )


def ranks(by_method: dict[str, np.ndarray]) -> dict[str, float]:
    """Average ranks as in the paper."""
    values = np.column_stack(list(by_method.values()))
    return dict(zip(by_method, statistics.ranks(values).mean(axis=0), strict=True))


def table(model_name: str, measured: dict[str, Measured]) -> str:
    """All methods on one model, the paper's figures in brackets."""
    printed_in_paper = PAPER[model_name]
    of_paper = [name for name in printed_in_paper if name in measured]
    is_whole = len(of_paper) == len(printed_in_paper)
    by_changes = ranks({name: measured[name].changes for name in of_paper}) if is_whole else {}
    by_distance = ranks({name: measured[name].distances for name in of_paper}) if is_whole else {}
    lines = []
    for name, one in measured.items():
        coverage, ms, changes_rank, distance_rank = (
            (f"{printed:,.1f}" if k < 2 else f"{printed:.2f}") if name in printed_in_paper else "-"
            for k, printed in enumerate(printed_in_paper.get(name, (0.0, 0.0, 0.0, 0.0)))
        )
        found, metrics = one.cfs.found, one.cfs.metrics()
        lines.append(
            (
                name,
                short(one.fit_s),
                short(one.single_ms),
                f"{short(one.batch_ms)} ({ms})",
                f"{100 * found.mean():.1f} ({coverage})",
                short(float(metrics["sparsity"].mean())) if found.any() else "-",
                short(float(metrics["proximity"].mean())) if found.any() else "-",
                f"{by_changes[name]:.2f} ({changes_rank})" if name in by_changes else "-",
                f"{by_distance[name]:.2f} ({distance_rank})" if name in by_distance else "-",
                f"{one.cfs.model_rows / len(found):,.0f}",
                one.n_invalid,
            )
        )
    return markdown_table(
        [
            "method",
            "fit s",
            "one row ms",
            "batch ms/row (paper)",
            "found % (paper)",
            "changes",
            "distance",
            "rank by changes (paper)",
            "rank by distance (paper)",
            "model rows/row",
            "invalid",
        ],
        lines,
    )


def numbers_of(problem: Problem) -> Problem:
    """The same rows without their categorical columns."""
    return Problem(f"{problem.name}, numbers only", problem.X[:, problem.numeric], problem.y, [])


def side_by_side(folder: str | None, methods: list[str]) -> str:
    """One person of adult, or of the loan book, by all methods, on the forest.

    It is the first of some test rows for which all methods find something, or else most of them. Growing Spheres, which
    takes numbers only, explains a forest of the number columns.
    """
    path = adult_path(folder)
    X, y = adult(path.parents[2]) if path is not None else loan_book(20_000, seed=0)
    n_training, first_class = int(0.8 * len(X)), sorted(y.unique())[0]
    numbers = X.select_dtypes("number")
    models = {kind: _forest().fit(table[:n_training], y[:n_training]) for kind, table in ((False, X), (True, numbers))}
    asked = X[n_training : n_training + 60]
    asked = asked[np.all([models[kind].predict(asked[table.columns]) == first_class for kind, table in
                          ((False, X), (True, numbers))], axis=0)].iloc[:30]  # fmt: skip
    answers = {}
    for name in methods:
        progress(f"side by side: {name}")
        kind = name == "GrowingSpheres"
        table = numbers if kind else X
        explainer = METHODS[name](models[kind]).fit(table[:n_training], y[:n_training])
        answers[name] = explainer.explain(asked[table.columns], progress=False)
    row = int(np.argmax(np.sum([cfs.found for cfs in answers.values()], axis=0)))
    lines = []
    for name, cfs in answers.items():
        one = cfs[row]
        what = "; ".join(str(change) for change in one.changes) if one.found else f"not found: {one.reason}"
        distance = float(one.metrics()["proximity"].iloc[0])
        count, sure = (len(one.changes), f"{one.probability:.0%}") if one.found else ("-", "-")
        lines.append((name, what, count, short(distance), sure))
    before = answers[methods[0]][row]
    person = "; ".join(f"{name}: {value}" for name, value in asked.iloc[row].items())
    head = ["method", "what would have to be different", "changes", "distance", "then"]
    return (
        f"The forest says {before.predicted} ({before.probability_before:.0%}) of this row:\n\n> {person}\n\n"
        + markdown_table(head, lines).replace("|---|---:|", "|---|---|", 1)
    )


def _forest() -> Any:
    is_number, is_other = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), is_other), (StandardScaler(), is_number))
    return make_pipeline(encode, heads()["forest"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("NICECF_DATA"), help="folder with raw/adult/adult.csv.gz")
    parser.add_argument("--rows", type=int, default=100, help="rows explained by each method")
    parser.add_argument("--single", type=int, default=5, help="rows explained one by one")
    parser.add_argument("--methods", default=",".join(METHODS), help="some of the methods, by their names")
    parser.add_argument("--models", default="forest,MLP", help="empty: the page of one row alone")
    parser.add_argument("--out", help="file for the report")
    options = parser.parse_args()
    chosen = [name for name in options.methods.split(",") if name in METHODS]
    if find_spec("dice_ml") is None:
        chosen = [name for name in chosen if not name.startswith("DiCE")]
        progress("dice-ml is not installed: DiCE is left out (make bench installs it)")
    report = Report(options.out)
    problem = real_or_generated(options.data)
    order = np.random.default_rng(0).permutation(len(problem.X))
    training, rows = order[: int(0.8 * len(order))], order[int(0.8 * len(order)) :][: options.rows]
    report.say(
        f"{problem.name}: {len(training):,} training rows, {len(rows)} rows explained, "
        f"{options.single} of them one by one. {machine('nicecf', 'scikit-learn', 'numpy', 'dice-ml')}"
    )
    by_kind = {False: problem, True: numbers_of(problem)}
    with threadpool_limits(1):
        models = {kind: fitted_models(one, training) for kind, one in by_kind.items()}
        progress("training the autoencoder")
        start = perf_counter()
        is_categorical = np.isin(np.arange(problem.X.shape[1]), problem.categorical)
        error = Autoencoder.train(problem.X[training], is_categorical, seed=0)
        seconds = perf_counter() - start
        report.say(
            f"One autoencoder for all NICE variants that need it, trained in {short(seconds)} s: not part of fit."
        )
        for model_name in filter(None, options.models.split(",")):
            measured = {}
            for name in chosen:
                kind = name == "GrowingSpheres"
                progress(f"{model_name}: {name}")
                make = partial(METHODS[name], plausibility=error) if name in NEED_AN_ERROR else METHODS[name]
                measured[name] = measure(make, models[kind][model_name], by_kind[kind], training, rows, options.single)
                progress(table(model_name, {name: measured[name]}).splitlines()[-1])
            report.say(f"### {model_name}\n\n{table(model_name, measured)}")
        report.say(f"### One row\n\n{side_by_side(options.data, chosen)}")
    report.save()


if __name__ == "__main__":
    main()
