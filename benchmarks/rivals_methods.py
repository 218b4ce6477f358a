"""The methods of ``rivals.py``: each is asked for one counterfactual of each row, each row by itself, and is timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import ocean_rows
import treecf_rows
from common import Problem
from constraints import dice_explainer, quietly
from nicecf import NICE, Constraints
from nicecf.baselines import DiCE
from optimum import Model, xgboost
from peer import Peer
from quality import Split, fitted_model

# All rows once more in one call, for methods that took no longer than this for them row by row.
MOST_FOR_BATCH = 60.0
# Of treecf's exact search: so many that its limit of time always comes first.
NODES = 10**12
# Of a process of its own: for what it builds before the first row.
FOR_BUILDING = 180.0
PROVEN = ("optimal", "infeasible")


@dataclass(frozen=True)
class Rules:
    """Three rules, by the positions of columns; bounds are inclusive."""

    immutable: tuple[int, ...]
    increasing: tuple[int, ...]
    ranges: dict[int, tuple[float, float]]

    def are_kept(self, row: np.ndarray, other: np.ndarray) -> bool:
        """Whether the way from a row to another keeps all rules; what is unchanged may stay as it is."""
        keeps = all(other[j] == row[j] for j in self.immutable) and all(other[j] >= row[j] for j in self.increasing)
        return keeps and all(other[j] == row[j] or low <= other[j] <= high for j, (low, high) in self.ranges.items())

    def start_in(self, rows: np.ndarray) -> np.ndarray:
        """The rows that lie in all ranges: some methods would change the others for that alone."""
        inside = [(rows[:, j] >= low) & (rows[:, j] <= high) for j, (low, high) in self.ranges.items()]
        return rows[np.logical_and.reduce(inside)]


@dataclass(frozen=True, eq=False)
class Case:
    """A model and the rows of which each wants the other class; ``seconds``: the limit for one row."""

    problem: Problem
    split: Split
    model: Model
    rows: np.ndarray
    targets: np.ndarray
    seconds: float
    rules: Rules | None
    treecf: str | None
    ocean: str | None

    @property
    def most_seconds(self) -> float:
        """What a process of its own may take for all rows, before it is ended: some do not keep to their limits."""
        return FOR_BUILDING + 2 * self.seconds * len(self.rows)


@dataclass(frozen=True, eq=False)
class Asked:
    """One line per row: values, NaN where nothing was found; seconds it took alone; what is claimed of it.

    ``batch``: seconds per row with all rows in one call; NaN if there is no such call, or it would take too long.
    """

    values: np.ndarray
    seconds: np.ndarray
    proofs: list[str] = field(default_factory=list)
    batch: float = np.nan


class CannotError(Exception):
    """Why a method cannot be asked: no mistake of ours, and said in the report."""


class Method(Protocol):
    """Asks a method about all rows of a case."""

    def __call__(self, case: Case) -> Asked: ...


def forest(problem: Problem, split: Split, *, n_trees: int, depth: int | None) -> Model:
    """A forest on the codes of categories, as they are."""
    model = RandomForestClassifier(n_trees, max_depth=depth, random_state=0, n_jobs=1).fit(split.X, split.y)
    return Model(model, lambda: treecf_rows.forest_dump(model, problem.categorical))


def network(problem: Problem, split: Split) -> Model:
    """The network of quality.py."""

    def dump() -> dict[str, Any]:
        raise CannotError("explains trees only")

    return Model(fitted_model("MLP", problem, split), dump)


MODELS: dict[str, Callable[[Problem, Split], Model]] = {
    "boosting 100x3": xgboost,
    "forest 50x8": partial(forest, n_trees=50, depth=8),
    "forest 100 full": partial(forest, n_trees=100, depth=None),
    "MLP": network,
}


def ours(
    case: Case,
    *,
    search: Literal["greedy", "thorough", "exact"],
    optimize: Literal["proximity", "sparsity"],
    **options: Any,
) -> Asked:
    """nicecf; of the exact search, with its proofs."""
    if search == "exact":
        case.model.dump()  # it is for trees, too
    rules = case.rules and Constraints(
        immutable=case.rules.immutable, increasing=case.rules.increasing, ranges=case.rules.ranges
    )
    nice = NICE(
        case.model.fitted,
        search=search,
        optimize=optimize,
        categorical_features=case.problem.categorical,
        constraints=rules,
        **options,
    ).fit(case.split.X, case.split.y)

    def explain(rows: np.ndarray) -> tuple[np.ndarray, Any]:
        limit = {"time_budget": case.seconds * len(rows)} if search == "exact" else {}
        cfs = nice.explain(rows, progress=False, **limit)
        proof = cfs.proof[0] if search == "exact" else ""
        return np.where(cfs.found[:, None], cfs.to_numpy(), np.nan).astype(np.float64), proof

    return row_by_row(explain, case)


def row_by_row(explain: Callable[[np.ndarray], tuple[np.ndarray, str]], case: Case, *, has_batch: bool = True) -> Asked:
    """Each row by itself; then, if that does not take too long, all of them in one call."""
    explain(case.rows[:1])  # the first call pays for lazy imports
    lines = []
    for i in range(len(case.rows)):
        start = perf_counter()
        values, proof = explain(case.rows[i : i + 1])
        lines.append((values[0], perf_counter() - start, proof))
    every, seconds, proofs = zip(*lines, strict=True)
    start, batch = perf_counter(), np.nan
    if has_batch and sum(seconds) <= MOST_FOR_BATCH:
        explain(case.rows)
        batch = (perf_counter() - start) / len(case.rows)
    return Asked(np.array(every), np.array(seconds), list(proofs), batch)


def nicex(case: Case, *, optimize: str) -> Asked:
    """NICEx 0.2.3; it takes one row at a time, and knows no rules."""
    peer = Peer(
        case.model.fitted.predict_proba,
        case.split.X,
        case.split.y,
        case.problem.categorical,
        variant=optimize,
        error=None,
    )

    def explain(row: np.ndarray) -> tuple[np.ndarray, str]:
        return np.asarray(peer.explain(row.copy()), dtype=np.float64).reshape(1, -1), ""

    return row_by_row(explain, case, has_batch=False)


def dice(case: Case, *, method: Literal["random", "genetic"]) -> Asked:
    """DiCE by the package's own wrapper; under rules it is asked itself, by its own options."""
    if case.rules:
        return dice_with_rules(case, case.rules, method)
    explainer = DiCE(
        case.model.fitted,
        method=method,
        seconds_per_row=case.seconds,
        categorical_features=case.problem.categorical,
        random_state=0,
    ).fit(case.split.X, case.split.y)

    def explain(rows: np.ndarray) -> tuple[np.ndarray, str]:
        cfs = explainer.explain(rows, progress=False)
        return np.where(cfs.found[:, None], cfs.to_numpy(), np.nan).astype(np.float64), ""

    return row_by_row(explain, case)


@dataclass(frozen=True, eq=False)
class _Framed:
    """A training table as dice-ml wants it: frames with names, categories as text."""

    X: pd.DataFrame
    y: np.ndarray
    categorical: list[int]
    model: Any

    @classmethod
    def of(cls, case: Case) -> _Framed:
        return cls(
            _frame(case.split.X, case.problem.categorical), case.split.y, case.problem.categorical, case.model.fitted
        )

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.model.predict_proba(frame[list(self.X)].to_numpy().astype(np.float64)))

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        return self.predict_proba(frame).argmax(axis=1)


def _frame(rows: np.ndarray, categorical: list[int]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])
    codes = {f"x{j}": rows[:, j].astype(int).astype(str).astype(object) for j in categorical}
    return table.assign(**codes)


def dice_with_rules(case: Case, rules: Rules, method: str) -> Asked:
    """dice-ml told which features may vary, and in which ranges; what it raises is that it finds nothing."""
    task = _Framed.of(case)
    named = {
        "immutable": [f"x{j}" for j in rules.immutable],
        "increasing": [f"x{j}" for j in rules.increasing],
        "ranges": {f"x{j}": pair for j, pair in rules.ranges.items()},
    }
    told = dice_explainer(method, task, task, named)  # type: ignore[arg-type]  # of a task it only uses the table

    def explain(rows: np.ndarray) -> tuple[np.ndarray, str]:
        nothing = np.full(rows.shape, np.nan)
        try:
            with quietly(case.seconds):
                found = told(_frame(rows, case.problem.categorical))
        except Exception:  # whatever it raises is its answer
            return nothing, ""
        return (found.to_numpy().astype(np.float64) if len(found) else nothing), ""

    return row_by_row(explain, case, has_batch=False)


def treecf(case: Case, *, backend: str) -> Asked:
    """Ask treecf 0.3.2, in its own environment."""
    if not case.treecf:
        raise CannotError("no environment given, see --treecf")
    rules = case.rules and {
        "immutable": case.rules.immutable,
        "increasing": case.rules.increasing,
        "ranges": [(j, low, high) for j, (low, high) in case.rules.ranges.items()],
    }
    found = treecf_rows.answered(
        case.treecf,
        case.model.dump(),
        case.split.X,
        case.rows,
        case.targets,
        seconds=case.seconds,
        backends=[backend],
        node_budget=NODES,
        rules=rules,
        in_batch=backend == "genetic",
        most_seconds=case.most_seconds,
    )[backend]
    proofs = np.where(found.is_proven, "optimal", np.where(found.is_impossible, "infeasible", "none"))
    return Asked(found.values, found.wall / 1000, proofs.tolist(), float(found.batch) / 1000)


def ocean(case: Case) -> Asked:
    """Ask oceanpy 2.0.7, by CP-SAT in its own environment. Features must be numbers: it reads thresholds."""
    if not case.ocean:
        raise CannotError("oceanpy is not installable on Python 3.11; see --ocean for an environment with it")
    case.model.dump()
    if case.problem.categorical:
        raise CannotError("takes categories one-hot only, which is another model")
    found = ocean_rows.answered(
        case.ocean,
        case.model.fitted,
        case.split.X,
        case.rows,
        case.targets,
        seconds=case.seconds,
        most_seconds=case.most_seconds,
    )
    proofs = np.where(found.is_proven, "optimal", np.where(found.is_impossible, "infeasible", "none"))
    return Asked(found.values, found.wall, proofs.tolist())


EXACT, FEWEST, TREECF, OCEAN, MIXED = "ours: exact", "ours: exact, changes", "treecf exact", "oceanpy", "ours: mixed"
METHODS: dict[str, Method] = {
    "NICEx": partial(nicex, optimize="proximity"),
    "NICEx, changes": partial(nicex, optimize="sparsity"),
    "DiCE random": partial(dice, method="random"),
    "DiCE genetic": partial(dice, method="genetic"),
    "treecf genetic": partial(treecf, backend="genetic"),
    TREECF: partial(treecf, backend="exact"),
    OCEAN: ocean,
    "ours: greedy": partial(ours, search="greedy", optimize="proximity"),
    "ours: one donor": partial(ours, search="thorough", optimize="proximity", mix_donors=False),
    MIXED: partial(ours, search="thorough", optimize="proximity"),
    EXACT: partial(ours, search="exact", optimize="proximity"),
    "ours: greedy, changes": partial(ours, search="greedy", optimize="sparsity"),
    "ours: one donor, changes": partial(ours, search="thorough", optimize="sparsity", mix_donors=False),
    "ours: mixed, changes": partial(ours, search="thorough", optimize="sparsity"),
    FEWEST: partial(ours, search="exact", optimize="sparsity"),
}
