"""The answers of all methods, written to a folder and compared with those of another version.

For a change that must not change anything: every answer of the public interface is written down as it is, to the last
digit, before and after. What people read (reasons, notes, texts, pages, what the command line prints) is kept apart:
it is compared too, and told of, but other words are no other answer.

    python benchmarks/answers.py write BEFORE        with the version before
    python benchmarks/answers.py write AFTER         with the present one
    python benchmarks/answers.py compare BEFORE AFTER
    python benchmarks/answers.py load BEFORE         what the version before has saved, used by the present one

How far ahead a search asks the model depends on how long a call takes. So time stands still here, but for the models:
each call takes a fixed time, and the numbers of calls and rows are the same in every run.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import json
import os
import pickle
import runpy
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from common import progress

VARIANTS = ("none", "sparsity", "proximity", "plausibility")
OBJECTIVES = ("sparsity", "proximity", "plausibility", "balanced")
# Of the loan book, for searches that take long: two rows that are denied and one that is approved.
FEW = slice(4, 7)
STYLES = ("sentence", "bullets", "analyst", "letter")
# What a call of a model takes, and each row in it: fractions that floats add up without rounding. Some models take no
# time at all, so that nobody looks ahead for them.
CALL, ROW = 1 / 64, 1 / 8192
INSTANT = ("linear", "network")
# Of a result in a file, the columns that are words.
WORDS = ("text", "reason", "note", "said")
MOST_SHOWN = 3


class Clock:
    """Stands still, but for what the models take."""

    now = 0.0

    def time(self) -> float:
        """In place of ``time.perf_counter``."""
        return self.now


# Before nicecf is imported: it takes the clock from there, in whichever of its files.
CLOCK = Clock()
time.perf_counter = CLOCK.time
nicecf = import_module("nicecf")
baselines, metrics, plots, testing = (
    import_module(f"nicecf.{name}") for name in ("baselines", "metrics", "plots", "testing")
)
NICE, Constraints = nicecf.NICE, nicecf.Constraints


@dataclass(frozen=True, eq=False)
class Ticking:
    """A function of rows that takes its time by the clock."""

    function: Callable[[Any], Any]
    call: float = CALL
    row: float = ROW

    def __call__(self, X: Any) -> Any:
        CLOCK.now += self.call + self.row * len(X)
        return self.function(X)


def ticking(model: Any, *, instant: bool = False) -> Any:
    """A fitted model whose probabilities take time; it stays of its own kind."""
    model.predict_proba = Ticking(model.predict_proba, *((0.0, 0.0) if instant else ()))
    return model


# Tables and models.


@dataclass(frozen=True, eq=False)
class Table:
    """Training data, rows to explain, and the fitted models that are explained."""

    X: Any
    y: Any
    rows: Any
    models: dict[str, Any]

    def nice(self, model: str = "forest", **options: Any) -> Any:
        """A fitted explainer of one of the models; by the greedy search, whatever the default of a version is."""
        return NICE(self.models[model], **({"search": "greedy"} | options)).fit(self.X, self.y)

    def ticking(self) -> Table:
        """The same, with models that take time."""
        return replace(self, models={name: ticking(one, instant=name in INSTANT) for name, one in self.models.items()})


World: TypeAlias = dict[str, Table]


def loan_book(n_rows: int) -> tuple[pd.DataFrame, Any]:
    """The generated loan book, wherever it is."""
    for home in ("nicecf.benchmark.datasets", "nicecf.datasets", "nicecf.benchmark.loan_book", "nicecf.loan_book"):
        with contextlib.suppress(ImportError, AttributeError):
            made: tuple[pd.DataFrame, Any] = import_module(home).loan_book(n_rows)
            return made
    raise SystemExit("loan_book is in none of the modules that are known here: add its module to loan_book().")


def encoded(model: Any, *steps: Any) -> Any:
    """A model behind what makes numbers without gaps of a table; ``steps`` are for its numbers."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), *steps) if steps else SimpleImputer(strategy="median")
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
            (numbers, make_column_selector(dtype_include="number")),
        ),
        model,
    )


def small_forest() -> Any:
    return RandomForestClassifier(10, min_samples_leaf=3, random_state=0)


def learned(X: Any, y: Any, rows: Any, models: dict[str, Any]) -> Table:
    """A table with its models, fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # networks that are trained for long are not needed here
        return Table(X, y, rows, {name: model.fit(X, y) for name, model in models.items()})


def made_tables() -> World:
    """All tables, with models that take no time yet."""
    linear, network = LogisticRegression(max_iter=1000), MLPClassifier((10,), max_iter=80, random_state=0)
    X, y = loan_book(560)
    loan = learned(
        X[:400],
        y[:400],
        X[400:],
        {"forest": encoded(small_forest()), "linear": encoded(linear, StandardScaler())},
    )
    is_denied = loan.models["forest"].predict(loan.rows) == "denied"
    loan = replace(loan, rows=pd.concat([loan.rows[is_denied][:6], loan.rows[~is_denied][:6]]))
    whole = X.drop(columns=["savings", "months_since_late"]).assign(housing=X["housing"].fillna("unknown"))
    flowers, kinds = load_iris(return_X_y=True, as_frame=True)
    order = np.random.default_rng(0).permutation(len(flowers))
    flowers, kinds = flowers.iloc[order], kinds.iloc[order]
    wines, cellars = load_wine(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(wines))
    wines, cellars = wines[order], np.array(["north", "middle", "south"], dtype=object)[cellars[order]]
    people, decided = testing.applicants()
    return {
        "loan": loan,
        "whole": learned(
            whole[:400],
            y[:400],
            whole.loc[loan.rows.index],
            {"forest": encoded(small_forest()), "network": encoded(network, StandardScaler())},
        ),
        "iris": learned(
            flowers[:120],
            kinds[:120],
            flowers[120:132],
            {"forest": small_forest(), "network": make_pipeline(StandardScaler(), clone(network))},
        ),
        "wine": learned(
            wines[:140],
            cellars[:140],
            wines[140:150],
            {"forest": small_forest(), "linear": make_pipeline(StandardScaler(), clone(linear))},
        ),
        "applicants": Table(people, decided, people.iloc[:14], {"scorecard": testing.Scorecard()}),
    }


def kept(folder: Path, tables: World) -> World:
    """The tables and models, written down: later versions use these, and need not make them again."""
    joblib.dump({name: vars(one) for name, one in tables.items()}, folder / "tables.joblib")
    return {name: one.ticking() for name, one in tables.items()}


def read_tables(folder: Path) -> World:
    """What ``kept`` wrote down."""
    return {name: Table(**one).ticking() for name, one in joblib.load(folder / "tables.joblib").items()}


# Answers.


@dataclass(frozen=True)
class Answer:
    """What came of a case: what must stay equal, and what people read of it."""

    answers: dict[str, Any]
    wording: dict[str, Any] = field(default_factory=dict)


Case: TypeAlias = tuple[str, Callable[[], Answer]]


def exact(value: Any) -> Any:
    """A value for JSON, to the last digit and with its type."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): exact(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [exact(one) for one in value]
    if isinstance(value, pd.DataFrame):
        return {"index": exact(value.index), "columns": [[repr(name), exact(value[name])] for name in value.columns]}
    if isinstance(value, np.ndarray):
        return {
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "cells": [repr(one) for one in value.ravel().tolist()],
        }
    if isinstance(value, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        told = {"dtype": str(value.dtype), "cells": [repr(one) for one in value.tolist()]}
        return told | ({"categories": repr(value.dtype)} if isinstance(value.dtype, pd.CategoricalDtype) else {})
    if type(value).__module__.startswith("polars"):
        return [[one.name, str(one.dtype), [repr(cell) for cell in one.to_list()]] for one in value.get_columns()]
    return repr(value)


def of_results(cfs: Any) -> Answer:
    """All that a result says of itself."""
    relaxations = [one for one in cfs.relaxations if one is not None]
    return Answer(
        {
            "found": cfs.found,
            "rows": cfs.rows,
            "classes": cfs.classes,
            "predicted": cfs.predicted,
            "predicted_after": cfs.predicted_after,
            "probability_before": [one.probability_before for one in cfs],
            "probability": cfs.probability,
            "donors": cfs.donors,
            "has_reason": [one is not None for one in cfs.reasons],
            "has_note": [one is not None for one in cfs.notes],
            "has_relaxation": [one is not None for one in cfs.relaxations],
            "relaxations": [
                [one.n_changes, one.distance, one.constraints and one.constraints.to_dict()] for one in relaxations
            ],
            "frame": cfs.to_frame(),
            "array": cfs.to_numpy(),
            "changes": cfs.changes(),
            "metrics": cfs.metrics(),
            "model_calls": cfs.model_calls,
            "model_rows": cfs.model_rows,
        },
        {
            "reasons": list(cfs.reasons),
            "notes": list(cfs.notes),
            "relaxations": [[one.rule, one.action, str(one)] for one in relaxations],
            "texts": cfs.texts(),
            "repr": repr(cfs),
        },
    )


def together(**parts: Answer) -> Answer:
    """Several answers as one."""
    return Answer(
        {name: one.answers for name, one in parts.items()}, {name: one.wording for name, one in parts.items()}
    )


def explained(explainer: Callable[[], Any], rows: Any, call: Mapping[str, Any]) -> Answer:
    return of_results(explainer().explain(rows, **call))


def nice(name: str, table: Table, model: str = "forest", *, rows: Any = None, call: Any = None, **options: Any) -> Case:
    """A case of NICE: which rows of a table are explained, by which model, with which options."""
    rows = table.rows if rows is None else rows
    return name, partial(explained, partial(table.nice, model, **options), rows, call or {})


def written(make: Callable[[], Answer]) -> dict[str, Any]:
    """The answer of one case as JSON holds it; an error is an answer too."""
    CLOCK.now = 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = make()
        except ImportError as error:
            return {"skipped": str(error)}
        except Exception as error:
            answer = Answer({"error": type(error).__name__}, {"error": str(error)})
    own = [one for one in caught if issubclass(one.category, nicecf.DecisionWarning)]
    told = {"answers": exact(answer.answers), "wording": words(answer.wording)}
    if own:
        told["answers"]["warnings"] = [one.category.__name__ for one in own]
        told["wording"]["warnings"] = [str(one.message) for one in own]
    return told


def words(value: Any) -> Any:
    """What people read, as JSON holds it."""
    if isinstance(value, Mapping):
        return {str(key): words(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [words(one) for one in value]
    return None if value is None else str(value)


# Functions that explainers are given.


def by_distance(round: Any) -> Any:
    """A reward of one's own: what is gained, less what it costs."""
    return round.score - round.previous_score - 0.1 * round.step_distance


def by_error(round: Any) -> Any:
    """A reward that reads the error of the hybrids."""
    return (round.score - round.previous_score) - 0.05 * (round.error - round.previous_error)


by_error.needs_plausibility = True  # type: ignore[attr-defined]


def far_from_usual(X: Any) -> Any:
    """A plausibility of one's own, for the flowers."""
    return np.abs(np.asarray(X, dtype=float) - [5.8, 3.0, 3.7, 1.2]).sum(axis=1)


def cautious(probabilities: Any) -> Any:
    """A decision of one's own for the flowers: the last kind already at a third."""
    return np.where(probabilities[:, 2] >= 1 / 3, 2, probabilities[:, :2].argmax(axis=1))


def denial(table: Table, X: Any) -> Any:
    """One score per row of the loan book."""
    return table.models["linear"].predict_proba(X)[:, 1]


# Cases of NICE.


def variants(world: World) -> Iterator[Case]:
    for name, table in world.items():
        for model in table.models:
            for optimize in VARIANTS:
                yield nice(f"{name}, {model}, {optimize}", table, model, optimize=optimize)
            yield nice(f"{name}, {model}, a reward", table, model, optimize=by_distance)
            yield nice(f"{name}, {model}, a reward that reads errors", table, model, optimize=by_error)
    for row in range(6):
        one = world["loan"].rows.iloc[[row]]
        yield nice(f"loan, forest, row {row} alone", world["loan"], rows=one)


def thorough(world: World) -> Iterator[Case]:
    some = {"loan": FEW, "whole": FEW, "wine": slice(0, 5)}
    for name, table in world.items():
        rows = table.rows[some.get(name, slice(None))]
        for model in table.models:
            for optimize in OBJECTIVES:
                yield nice(
                    f"{name}, {model}, {optimize}", table, model, rows=rows, search="thorough", optimize=optimize
                )
    for name in ("loan", "iris", "applicants"):
        table, model = world[name], next(iter(world[name].models))
        for optimize in OBJECTIVES:
            how = partial(table.nice, model, search="thorough", optimize=optimize, neighbors=10)
            yield f"{name}, three each, {optimize}", partial(several, how, table.rows[FEW])
        for neighbors in (1, 3):
            yield nice(
                f"{name}, {neighbors} neighbors",
                table,
                model,
                rows=table.rows[FEW],
                search="thorough",
                neighbors=neighbors,
            )


def several(explainer: Callable[[], Any], rows: Any) -> Answer:
    """Several counterfactuals of each row, and all that nothing beats."""
    cfs = explainer().explain(rows, n_counterfactuals=3)
    return together(three=of_results(cfs), pareto=of_results(cfs.pareto()), first=of_results(cfs[cfs.rows == 0]))


def targets(world: World) -> Iterator[Case]:
    iris, wine, loan, people = (world[name] for name in ("iris", "wine", "loan", "applicants"))
    each = np.resize([2, 0, 1], len(iris.rows))
    asked: dict[str, Any] = {
        "other": "other",
        "a label": 1,
        "a numpy label": np.int64(2),
        "a list": [0, 2],
        "all": [0, 1, 2],
        "one each": each,
        "a series in another order": pd.Series(each, index=iris.rows.index)[::-1],
    }
    for name, target in asked.items():
        for search in ("greedy", "thorough"):
            yield nice(f"iris, {name}, {search}", iris, call={"target_class": target}, search=search)
    mixed = np.array(["other", "south"] * 5, dtype=object)
    yield nice("wine, other for some", wine, call={"target_class": mixed})
    yield nice("loan, approved", loan, call={"target_class": "approved"})
    yield nice("loan, denied, thorough", loan, call={"target_class": "denied"}, search="thorough", rows=loan.rows[5:7])
    yield nice("applicants, yes or perhaps", people, "scorecard", call={"target_class": ["yes", "perhaps"]})
    only = people.y == "no"
    without = replace(people, X=people.X[only], y=people.y[only])
    yield nice("applicants, no donor", without, "scorecard", call={"target_class": "yes"})
    yield nice("applicants, no donor, thorough", without, "scorecard", call={"target_class": "yes"}, search="thorough")


def options(world: World) -> Iterator[Case]:
    loan, whole, iris, wine = (world[name] for name in ("loan", "whole", "iris", "wine"))
    for accelerate in (True, "unconfirmed"):
        for name, table in (("loan", loan), ("iris", iris), ("wine", wine)):
            yield nice(f"{name}, accelerate {accelerate}", table, accelerate=accelerate)
            yield nice(f"{name}, accelerate {accelerate}, one row", table, rows=table.rows[:1], accelerate=accelerate)
        yield nice(
            f"iris, accelerate {accelerate}, thorough",
            iris,
            accelerate=accelerate,
            search="thorough",
            optimize="proximity",
        )
        yield nice(f"iris, accelerate {accelerate}, a cut-off", iris, accelerate=accelerate, decision={2: 0.3})
    yield nice("loan, accelerate without a twin", loan, "linear", accelerate=True)
    for optimize in VARIANTS:
        yield nice(f"loan, std, {optimize}", loan, scale="std", optimize=optimize)
        yield nice(f"loan, not justified, {optimize}", loan, justified=False, optimize=optimize)
    weights = {"credit_score": 5.0, "interest_rate": 0.25, "housing": 2.5}
    yield nice("loan, weights", loan, feature_weights=weights, optimize="proximity")
    yield nice("loan, weights, thorough", loan, feature_weights=weights, search="thorough", rows=loan.rows[FEW])
    yield nice("wine, a weight each", wine, feature_weights=np.linspace(0.5, 2, 13), scale="std", optimize="proximity")
    for seed in (None, 7):
        yield nice(f"loan, seed {seed}", loan, optimize="plausibility", random_state=seed)
    for search in ("greedy", "thorough"):
        how: dict[str, Any] = {"search": search, "optimize": "plausibility", "plausibility": far_from_usual}
        yield nice(f"iris, a plausibility, {search}", iris, **how)
    yield nice("iris, a plausibility that is only measured", iris, plausibility=far_from_usual)
    for name, features in {"names": ["late_payments", "region", "term_months"], "none": []}.items():
        yield nice(f"whole, categorical {name}", numbers_of(whole), categorical_features=features)
    yield nice("wine, categorical by a mask", wine, categorical_features=np.arange(13) == 12)
    alone = replace(iris, y=None)
    yield nice("iris, without labels", alone, justified=False)
    function = replace(iris, models={"forest": Ticking(iris.models["forest"].predict_proba.function)})
    yield nice("iris, a function", function)
    yield nice("iris, a function with classes", function, classes=[0, 1, 2], search="thorough")
    for kind in ("probability", "margin"):
        yield f"loan, from_score, {kind}", partial(from_score, loan, kind)
    yield "loan, with_search", partial(with_search, loan)
    yield "loan, learned attributes and clone", partial(attributes, loan)


def numbers_of(table: Table) -> Table:
    """Numbers only, and a model of them."""
    X = table.X.select_dtypes("number").assign(region=table.X["region"].cat.codes)
    rows = table.rows.select_dtypes("number").assign(region=table.rows["region"].cat.codes)
    return Table(X, table.y, rows, {"forest": ticking(small_forest().fit(X, table.y))})


def from_score(table: Table, kind: str) -> Answer:
    score = partial(denial, table)
    made = nicecf.from_score(score if kind == "probability" else lambda X: 8 * score(X) - 4, kind=kind)
    explainer = NICE(Ticking(made), search="greedy").fit(table.X, table.y)
    told = of_results(explainer.explain(table.rows))
    return replace(told, answers=told.answers | {"probabilities": made(table.rows)})


def with_search(table: Table) -> Answer:
    """One fit, several searches."""
    first = table.nice(search="thorough")
    others: dict[str, dict[str, Any]] = {
        "balanced": {"optimize": "balanced", "neighbors": 5},
        "greedy": {"search": "greedy"},
        "plausibility": {"search": "greedy", "optimize": "plausibility"},
        "none": {"search": "greedy", "optimize": "none"},
        "reward": {"search": "greedy", "optimize": by_distance},
    }
    rows = table.rows[FEW]
    return together(**{name: of_results(first.with_search(**how).explain(rows)) for name, how in others.items()})


def attributes(table: Table) -> Answer:
    first = table.nice(optimize="proximity", min_count=2)
    again = clone(first).fit(table.X, table.y)
    shown = {name: value for name, value in first.get_params(deep=False).items() if name != "model"}
    told = together(first=of_results(first.explain(table.rows)), again=of_results(again.explain(table.rows)))
    learned = {name: getattr(first, name) for name in ("classes_", "feature_names_in_", "n_features_in_")}
    return replace(told, answers=told.answers | {"options": shown, "learned": learned})


def decisions(world: World) -> Iterator[Case]:
    loan, iris, people = world["loan"], world["iris"], world["applicants"]
    decided: dict[str, dict[str, Any]] = {
        "a cut-off": {"decision": 0.3},
        "a cut-off by class": {"decision": {"approved": 0.8}},
        "two cut-offs": {"decision": {"approved": 0.6, "denied": 0.25}},
        "predict": {"decision": "predict"},
        "a margin": {"min_probability": 0.75},
        "a margin that nobody has": {"min_probability": 1.0},
        "another model": {"robust_to": [loan.models["linear"]]},
        "two other models": {"robust_to": [loan.models["linear"], loan.models["forest"]], "min_probability": 0.55},
        "another model by a cut-off": {"robust_to": [loan.models["linear"]], "decision": 0.4},
    }
    for name, how in decided.items():
        yield nice(f"loan, {name}", loan, **how)
        yield nice(f"loan, {name}, none", loan, optimize="none", **how)
        yield nice(f"loan, {name}, thorough", loan, rows=loan.rows[FEW], search="thorough", **how)
    limited = Constraints(max_changes=1, immutable=["credit_score", "interest_rate"])
    for name in ("a margin", "another model"):
        how = decided[name]
        yield nice(f"loan, {name}, rules", loan, call={"constraints": limited}, **how)
        yield nice(
            f"loan, {name}, rules, thorough",
            loan,
            rows=loan.rows[FEW],
            call={"constraints": limited},
            search="thorough",
            **how,
        )
    yield nice("loan, a model that never agrees", loan, robust_to=[Ticking(refusing)])
    threshold = FixedThresholdClassifier(clone(loan.models["linear"]), threshold=0.3, pos_label="denied")
    fixed = replace(loan, models={"linear": ticking(threshold.fit(loan.X, loan.y))})
    yield nice("loan, a threshold of the model", fixed, "linear")
    hidden = replace(loan, models={"forest": Hidden(loan.models["forest"])})
    yield nice("loan, a model that decides otherwise", hidden)
    yield nice("loan, a model that decides otherwise, predict", hidden, decision="predict")
    yield nice("iris, a function", iris, decision=cautious)
    yield nice("iris, a function, thorough", iris, decision=cautious, search="thorough", optimize="proximity")
    yield nice("iris, cut-offs", iris, decision={1: 0.6, 2: 0.3})
    yield nice("iris, another model", iris, robust_to=[iris.models["network"]], optimize="proximity")
    yield nice("applicants, cut-offs", people, "scorecard", decision={"yes": 0.45}, min_probability=0.4)


def refusing(X: Any) -> Any:
    """A model of the loan book that denies whatever it is asked."""
    return np.tile([0.1, 0.9], (len(X), 1))


class Hidden:
    """A model whose ``predict`` is not its highest probability, and who does not say why."""

    def __init__(self, model: Any) -> None:
        self.predict_proba, self.classes_ = model.predict_proba, model.classes_

    def predict(self, X: Any) -> Any:
        """Denied already at a third."""
        return np.where(self.predict_proba(X)[:, 1] >= 1 / 3, "denied", "approved").astype(object)


def privacy(world: World) -> Iterator[Case]:
    guards: dict[str, dict[str, Any]] = {
        "no donor shared": {"share_donor": False},
        "5 rows": {"min_count": 5},
        "both": {"share_donor": False, "min_count": 3},
        "more rows than there are": {"min_count": 1000},
    }
    for name in ("loan", "iris", "applicants"):
        table, model = world[name], next(iter(world[name].models))
        for guard, how in guards.items():
            for optimize in VARIANTS:
                yield nice(f"{name}, {guard}, {optimize}", table, model, optimize=optimize, **how)
            yield nice(f"{name}, {guard}, thorough", table, model, rows=table.rows[:4], search="thorough", **how)
    loan = world["loan"]
    limited = Constraints(max_changes=2, increasing=["age"], ranges={"credit_score": (None, 720)})
    for guard in ("no donor shared", "both"):
        yield nice(f"loan, {guard}, rules", loan, call={"constraints": limited}, **guards[guard])
    yield (
        "iris, three each",
        partial(several, partial(world["iris"].nice, search="thorough", share_donor=False), world["iris"].rows[:4]),
    )


# Rules.

SCHOOLS = ["primary", "secondary", "bachelor", "master"]
RULES: dict[str, dict[str, Any]] = {
    "none": {},
    "immutable": {"immutable": ["credit_score", "interest_rate", "utilisation"]},
    "increasing": {"increasing": ["age", "savings", "months_since_late", "interest_rate"]},
    "increasing by an order": {"increasing": {"education": SCHOOLS, "age": True}, "immutable": ["credit_score"]},
    "decreasing": {"decreasing": ["credit_score", "loan_amount", "term_months"]},
    "decreasing by an order": {"decreasing": {"education": SCHOOLS}, "immutable": ["interest_rate"]},
    "ranges": {"ranges": {"credit_score": (600, 700), "interest_rate": (8, None), "savings": (None, 20_000)}},
    "allowed": {"allowed": {"housing": ["owned", None], "credit_score": [660, 700, 720], "purpose": ["car"]}},
    "one change": {"max_changes": 1},
    "two changes": {"max_changes": 2},
    "forbid": {
        "forbid": {"housing": [("rented", "owned"), ("mortgage", "owned")], "is_customer": [(False, True)]},
        "immutable": ["credit_score"],
    },
    "step": {"step": {"credit_score": 10, "interest_rate": 0.25, "loan_amount": 500}},
    "groups": {"groups": [["loan_amount", "term_months", "interest_rate"], ["credit_score", "utilisation"]]},
    "all kinds": {
        "immutable": ["region", "channel"],
        "increasing": ["age", "years_employed"],
        "decreasing": ["late_payments"],
        "ranges": {"loan_amount": (2_000, None), "debt_to_income": (None, 0.5)},
        "allowed": {"purpose": ["car", "medical"]},
        "forbid": {"housing": [("owned", "rented"), ("mortgage", "rented")]},
        "step": {"savings": 100},
        "groups": [["loan_amount", "term_months", "interest_rate"]],
        "max_changes": 3,
    },
}
# Of the loan book: little may change, and what one more rule leaves of it does not help.
HELPFUL = ["credit_score", "interest_rate", "utilisation", "debt_to_income"]
BLOCKING: dict[str, dict[str, Any]] = {
    "immutable": {"immutable": HELPFUL},
    "increasing": {"increasing": ["interest_rate", "utilisation", "debt_to_income"], "decreasing": ["credit_score"]},
    "ranges": {"ranges": dict.fromkeys(HELPFUL, (-2, -1))},
    "step": {"step": dict.fromkeys(HELPFUL, 977)},
    "groups and one change": {"groups": [HELPFUL[:3], [HELPFUL[3], "housing"]], "max_changes": 1},
}
# Of the applicants: features that two rules block each, so that to relax one of the two is not enough.
SHUT: dict[str, dict[str, Any]] = {
    "age": {"ranges": {"age": (-2, -1)}, "step": {"age": 977}},
    "income": {"ranges": {"income": (-2, -1)}, "step": {"income": 977}},
    "home": {"allowed": {"home": ["other"]}, "forbid": {"home": list(permutations(["other", "own", "rent"], 2))}},
    "guarantor": {"allowed": {"guarantor": [False]}, "forbid": {"guarantor": [(False, True), (True, False)]}},
    "children": {"immutable": ["children"]},
    "city": {"immutable": ["city"]},
}
# The feature that a single rule blocks, that rule, and the class wanted: so each kind of rule is relaxed.
RELAXED: dict[str, tuple[str, dict[str, Any], str]] = {
    "immutable, a number": ("age", {"immutable": ["age"]}, "yes"),
    "immutable, a number downwards": ("age", {"immutable": ["age"]}, "no"),
    "immutable, a category": ("home", {"immutable": ["home"]}, "yes"),
    "increasing": ("age", {"increasing": ["age"]}, "no"),
    "increasing, by an order": ("home", {"increasing": {"home": ["own", "other", "rent"]}}, "yes"),
    "decreasing": ("age", {"decreasing": ["age"]}, "yes"),
    "ranges": ("age", {"ranges": {"age": (None, 20)}}, "yes"),
    "allowed": ("home", {"allowed": {"home": ["other"]}}, "yes"),
    "allowed, numbers": ("income", {"allowed": {"income": [0.5]}}, "yes"),
    "forbid": ("guarantor", {"forbid": {"guarantor": [(False, True)]}}, "yes"),
    "step": ("age", {"step": {"age": 977}}, "yes"),
    "groups": ("age", {"groups": [["age", "city"]]}, "yes"),
}


def rules(world: World) -> Iterator[Case]:
    loan, people, wine = world["loan"], world["applicants"], world["wine"]
    denied = loan.rows[:6]
    for name, rule in RULES.items():
        made = {"constraints": Constraints(**rule)}
        yield nice(f"loan, {name}", loan, call=made)
        yield nice(
            f"loan, {name}, linear", loan, "linear", call={"target_class": "approved", **made}, optimize="proximity"
        )
        yield nice(f"loan, {name}, thorough", loan, rows=loan.rows[FEW], call=made, search="thorough")
    for name in ("all kinds", "one change", "groups"):
        yield nice(f"loan, {name}, of the explainer", loan, optimize="none", constraints=Constraints(**RULES[name]))
    fixed = Constraints(immutable=[name for name in loan.X if name not in [*HELPFUL, "housing", "education"]])
    for name, rule in BLOCKING.items():
        made = {"constraints": fixed & Constraints(**rule)}
        yield nice(f"loan, blocked, {name}, thorough", loan, rows=denied[:3], call=made, search="thorough")
        yield f"loan, blocked, {name}", partial(relaxed, loan, "forest", denied, "approved", made["constraints"])
    for name, (feature, rule, target) in RELAXED.items():
        both = Constraints(**rule)
        for other in SHUT:
            both &= Constraints(**SHUT[other] if other != feature else {})
        yield f"applicants, blocked, {name}", partial(relaxed, people, "scorecard", people.X[:40], target, both)
        call = {"target_class": target, "constraints": both}
        yield nice(f"applicants, blocked, {name}, thorough", people, "scorecard", call=call, search="thorough")
    nothing = {"constraints": Constraints(immutable=list(loan.X))}
    yield nice("loan, nothing may change", loan, call=nothing)
    yield nice("loan, nothing may change, thorough", loan, rows=denied, call=nothing, search="thorough")
    limits = denied["loan_amount"] - 1_000
    bounds = {"loan_amount": (limits, None), "credit_score": (None, np.linspace(600, 800, 6))}
    yield nice("loan, a bound for each row", loan, rows=denied, call={"constraints": Constraints(ranges=bounds)})
    each = [None, *(Constraints(**RULES[name]) for name in ("immutable", "one change", "ranges", "none", "all kinds"))]
    for search in ("greedy", "thorough"):
        call = {"constraints": each}
        yield nice(f"loan, rules for each row, {search}", loan, rows=denied, call=call, search=search)
    yield nice(
        "loan, rules of both",
        loan,
        call={"constraints": Constraints(increasing=["credit_score"], max_changes=2)},
        constraints=Constraints(decreasing=["credit_score"], max_changes=3, immutable=["age"]),
    )
    own = Constraints(
        immutable=["home"],
        increasing=["age"],
        ranges={"income": (1.0, 2.0)},
        allowed={"city": ["Gent"], "children": [0, 2, None]},
        forbid={"guarantor": [(True, False)]},
        groups=[["children", "city"]],
        max_changes=3,
    )
    for search in ("greedy", "thorough"):
        asked = {"target_class": "yes", "constraints": own}
        yield nice(f"applicants, {search}", people, "scorecard", call=asked, search=search)
        by_name = Constraints(increasing=["x12"], groups=[["x0", "x9"]], ranges={"x6": (1.0, 3.0)}, max_changes=2)
        yield nice(f"wine, {search}", wine, call={"constraints": by_name}, search=search)
    yield "rules as values", rules_as_values


def relaxed(table: Table, model: str, rows: Any, target: str, constraints: Any) -> Answer:
    """Rows that rules block, and what the relaxation of each gives when it is applied."""
    explainer = table.nice(model)
    cfs = explainer.explain(rows, target_class=target, constraints=constraints)
    applied = [one and one.constraints for one in cfs.relaxations]
    helped = np.flatnonzero([one is not None for one in applied])
    told = {"blocked": of_results(cfs)}
    if len(helped):
        rules_of_rows = [applied[at] for at in helped]
        again = explainer.explain(rows.iloc[helped], target_class=target, constraints=rules_of_rows)
        told["relaxed"] = of_results(again)
    return together(**told)


TOML = """
immutable = ["region", "channel"]
increasing = ["age", "years_employed"]
max_changes = 2
groups = [["loan_amount", "term_months", "interest_rate"]]

[ranges]
loan_amount = {low = 2000}

[forbid]
housing = [["owned", "rented"], ["mortgage", "rented"]]
"""
SHEET = """feature,immutable,direction,order,low,high,allowed,forbid,step,group
region,yes,,,,,,,,
age,,increasing,,,70,,,,
education,,increasing,primary|secondary|bachelor|master,,,,,,
housing,,,,,,owned|mortgage,,,
employment,,,,,,,employed > student|employed > unemployed,,
savings,,,,100,,,,100,
loan_amount,,,,,,,,,offer
term_months,,,,,,,,,offer
"""


def rules_as_values() -> Answer:
    made = {name: Constraints(**rule) for name, rule in RULES.items()}
    per_row = Constraints(ranges={"age": ([20, np.nan, 40], None)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.toml"
        path.write_text(TOML)
        made["toml"] = Constraints.from_toml(path)
    made["sheet"] = Constraints.from_frame(pd.read_csv(io.StringIO(SHEET)), max_changes=4)
    made["both"] = made["all kinds"] & made["immutable"] & made["two changes"]
    made |= {f"of row {row}": per_row.for_row(row) for row in range(3)}
    told = {name: one.to_dict() for name, one in made.items()}
    flags = {name: [bool(one), one.is_per_row] for name, one in (made | {"per row": per_row}).items()}
    return Answer({"rules": told, "flags": flags}, {name: repr(one) for name, one in made.items()})


# Time budgets.


def budgets(world: World) -> Iterator[Case]:
    loan, iris = world["loan"], world["iris"]
    limited = Constraints(max_changes=2, immutable=["credit_score"])
    for seconds in (1e-9, 0.02, 0.05, 0.1, 0.25, 1.0, 1000.0):
        call = {"time_budget": seconds}
        for search in ("greedy", "thorough"):
            rows = loan.rows[3:9]
            yield nice(f"loan, {search}, {seconds} s", loan, rows=rows, call=call, search=search)
            ruled = {**call, "constraints": limited}
            yield nice(f"loan, {search}, rules, {seconds} s", loan, rows=rows, call=ruled, search=search)
        yield nice(f"loan, plausibility, {seconds} s", loan, call=call, optimize="plausibility")
        yield nice(f"loan, guarded, {seconds} s", loan, call=call, share_donor=False)
    for seconds in (1e-9, 0.1, 0.5):
        for make in (baselines.WIT, baselines.CBR, baselines.SEDC, baselines.GeCo, baselines.GrowingSpheres):
            explainer = partial(fitted_baseline, make, iris, "forest", {})
            yield (
                f"iris, {make.__name__}, {seconds} s",
                partial(explained, explainer, iris.rows, {"time_budget": seconds}),
            )


# Other algorithms.

# Options that end soon.
SHORT: dict[str, dict[str, Any]] = {
    "CFproto": {"c_steps": 2, "max_iterations": 30},
    "GeCo": {"max_generations": 8, "population": 40},
    "GrowingSpheres": {"n_samples": 300},
}
OTHERS: dict[str, list[dict[str, Any]]] = {
    "CBR": [{"max_differences": 3, "tolerance": 0.05, "neighbors": 10}],
    "DiCE": [{"method": "genetic"}, {"method": "kdtree"}, {"random_state": 5}],
    "CFproto": [{"c_steps": 2, "max_iterations": 20, "beta": 0.1, "theta": 1.0}],
    "GeCo": [{"random_state": 3, "max_generations": 5, "weight_l0": 1.0, "weight_l1": 0.2}],
    "GrowingSpheres": [{"random_state": 3, "n_samples": 100, "max_shells": 20}],
}


def fitted_baseline(make: Any, table: Table, model: str, how: Mapping[str, Any]) -> Any:
    return make(table.models[model], **how).fit(table.X, table.y)


def algorithms(world: World) -> Iterator[Case]:
    for make in baselines.ALL:
        name = make.__name__
        for of in ("loan", "whole", "iris", "wine", "applicants"):
            table = world[of]
            for model in table.models:
                explainer = partial(fitted_baseline, make, table, model, SHORT.get(name, {}))
                yield f"{name}, {of}, {model}", partial(explained, explainer, table.rows[:4], {})
        for number, how in enumerate(OTHERS.get(name, [])):
            for of in ("whole", "iris"):
                explainer = partial(fitted_baseline, make, world[of], "forest", how)
                yield f"{name}, {of}, options {number}", partial(explained, explainer, world[of].rows[2:5], {})
        iris = world["iris"]
        explainer = partial(
            fitted_baseline, make, iris, "forest", {**SHORT.get(name, {}), "decision": {1: 0.6, 2: 0.3}}
        )
        yield f"{name}, iris, a target and cut-offs", partial(explained, explainer, iris.rows[:4], {"target_class": 2})
        yield (
            f"{name}, iris, record and replay",
            partial(replayed, partial(fitted_baseline, make, iris, "forest", SHORT.get(name, {})), iris.rows[:2], {}),
        )


# Tables of other kinds.


def inputs(world: World) -> Iterator[Case]:
    loan, iris, wine, people = (world[name] for name in ("loan", "iris", "wine", "applicants"))
    for how in ({}, {"search": "thorough"}):
        last = ", thorough" if how else ""
        yield nice(f"columns in another order{last}", loan, rows=loan.rows[FEW][loan.rows.columns[::-1]], **how)
        yield nice(f"no rows{last}", loan, rows=loan.rows[:0], **how)
        yield nice(f"labels twice{last}", iris, rows=iris.rows.set_axis(["a", "b"] * 6), **how)
        yield nice(f"a category that is new{last}", loan, rows=loan.rows[FEW].assign(purpose="yacht"), **how)
        yield nice(f"cells that are missing{last}", loan, rows=with_gaps(loan.rows[FEW]), **how)
        yield nice(f"floats for whole numbers{last}", loan, rows=loan.rows[FEW].astype({"age": float}), **how)
        plain = as_arrays(iris, np.float64)
        yield nice(f"an array{last}", plain, **how)
        yield nice(f"an array of singles{last}", as_arrays(iris, np.float32), **how)
        yield nice(f"an array of whole numbers{last}", as_arrays(iris, np.int64), **how)
        yield nice(f"an array in the order of Fortran{last}", plain, rows=np.asfortranarray(plain.rows), **how)
        yield nice(f"an array of objects{last}", as_objects(people), "scorecard", categorical_features=[2, 3, 5], **how)
        yield nice(f"a table of two features{last}", looked_up(), "lookup", **how)
        yield f"polars, flowers{last}", partial(in_polars, iris, how)
        yield f"polars, loans{last}", partial(in_polars, world["whole"], how)
    yield nice("numbers as names", with_numbers_for_names(iris))
    yield nice("negative zeros", wine, rows=np.where(np.arange(13) == 3, -0.0, wine.rows))
    yield nice("a table as arrow holds it", replace(loan, X=by_arrow(loan.X)), rows=by_arrow(loan.rows))


def with_gaps(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(
        income=np.nan, housing=None, region=pd.Categorical([None] * len(rows), rows["region"].cat.categories)
    )


def as_arrays(table: Table, dtype: Any) -> Table:
    X, rows = (
        np.round(one.to_numpy() * (10 if dtype is np.int64 else 1), 3).astype(dtype) for one in (table.X, table.rows)
    )
    return Table(X, table.y.to_numpy(), rows, {"forest": ticking(small_forest().fit(X, table.y))})


def as_objects(table: Table) -> Table:
    """The applicants as an array of objects, and a model that makes a frame of them again."""
    names = list(table.X)

    def scores(X: Any) -> Any:
        return testing.Scorecard().predict_proba(pd.DataFrame(X, columns=names))

    X, rows = (one.astype(object).where(one.notna(), None).to_numpy() for one in (table.X, table.rows))
    return Table(X, table.y.to_numpy(), rows, {"scorecard": Ticking(scores)})


def with_numbers_for_names(table: Table) -> Table:
    X, rows = (one.set_axis(range(4), axis=1) for one in (table.X, table.rows))
    forest = small_forest().fit(X.to_numpy(), table.y)

    def scores(X: Any) -> Any:
        return forest.predict_proba(X.to_numpy())

    return Table(X, table.y, rows, {"forest": Ticking(scores)})


def looked_up() -> Table:
    homes = ["own", "rent", "share"]
    chances = {(n, home): 0.1 + 0.15 * n + 0.2 * at for n in range(3) for at, home in enumerate(homes)}
    X = pd.DataFrame(list(chances), columns=["children", "home"])
    model = testing.LookupModel(chances)
    return Table(X, model.predict(X), X[:5], {"lookup": ticking(model)})


def by_arrow(table: pd.DataFrame) -> pd.DataFrame:
    """The text of a table in columns of another kind."""
    return table.astype({"employment": "string", "purpose": "category", "is_customer": "boolean"})


def in_polars(table: Table, how: Mapping[str, Any]) -> Answer:
    """A polars frame in, a polars frame out."""
    polars = import_module("polars")
    forest = table.models["forest"]
    dtypes = table.X.dtypes

    def scores(X: Any) -> Any:
        return forest.predict_proba(pd.DataFrame({name: X[name].to_list() for name in X.columns}).astype(dtypes))

    X, rows = (polars.DataFrame({name: one[name].tolist() for name in one}) for one in (table.X, table.rows[FEW]))
    explainer = NICE(scores, classes=list(forest.classes_), **({"search": "greedy"} | how)).fit(X, table.y.tolist())
    cfs = explainer.explain(rows)
    told = of_results(cfs)
    return replace(told, answers=told.answers | {"kind": type(cfs.to_frame()).__name__, "records": recorded(cfs)[0]})


# What is made of results.

WORDING: dict[str, dict[str, str]] = {
    "names": {"months_since_late": "the time since the last late payment", "savings": "your savings"},
    "units": {"months_since_late": "{} months", "savings": "EUR", "interest_rate": "{} %"},
    "classes": {"approved": "accepted", "denied": "declined"},
}


def results(world: World) -> Iterator[Case]:
    loan, iris, people = world["loan"], world["iris"], world["applicants"]
    strict = Constraints(max_changes=1, immutable=["credit_score"])
    three = {"n_counterfactuals": 3}
    made: dict[str, Callable[[], Any]] = {
        "loan": lambda: loan.nice().explain(loan.rows),
        "strict": lambda: loan.nice(constraints=strict).explain(loan.rows, target_class="approved"),
        "plausible": lambda: loan.nice(optimize="plausibility").explain(loan.rows),
        "three": lambda: loan.nice(search="thorough", neighbors=20).explain(loan.rows[FEW], **three),
        "iris": lambda: iris.nice("network", search="thorough", optimize="balanced").explain(iris.rows),
        "applicants": lambda: people.nice("scorecard").explain(people.rows),
        "guarded": lambda: people.nice("scorecard", min_count=5, share_donor=False).explain(people.rows),
        "other": lambda: baselines.WIT(loan.models["forest"]).fit(loan.X, loan.y).explain(loan.rows),
    }
    for name, make in made.items():
        yield f"{name}, parts", partial(parts, make)
        yield f"{name}, texts", partial(texts, make, name in ("loan", "strict", "three", "plausible", "other"))
        yield f"{name}, pages", partial(pages, make)
        yield f"{name}, summary", partial(summaries, make)
        yield f"{name}, pictures", partial(pictures, make)
        yield f"{name}, pickled", partial(pickled, make)
    for name in ("loan", "iris", "applicants"):
        yield f"{name}, measures", partial(measured, world[name], made[name])
    yield "loan, pictures of variants", partial(picture_of_variants, loan)


def parts(make: Callable[[], Any]) -> Answer:
    """Some of a result, and one of it."""
    cfs = make()
    some = {"slice": cfs[1:3], "mask": cfs[cfs.found], "list": cfs[[2, 0]], "none": cfs[[]]}
    ones = [
        {
            **{name: getattr(one, name) for name in ("found", "donor", "predicted", "predicted_after")},
            "probability": [one.probability_before, one.probability],
            "changes": [[c.feature, c.before, c.after, c.step, c.probability] for c in one.changes],
            "frame": one.to_frame(),
            "array": one.to_numpy(),
            "metrics": one.metrics(),
            "has": [one.reason is None, one.note is None, one.relaxation is None],
        }
        for one in cfs
    ]
    told = together(**{name: of_results(part) for name, part in some.items()})
    said = [[repr(one), one.reason, one.note, *map(str, one.changes)] for one in cfs]
    return Answer(told.answers | {"ones": ones, "length": len(cfs)}, told.wording | {"ones": said})


def texts(make: Callable[[], Any], is_loan: bool) -> Answer:
    cfs = make()
    wording = nicecf.Wording(**WORDING) if is_loan else nicecf.Wording(names={cfs.to_frame().columns[0]: "the first"})
    said = {style: cfs.texts(style) for style in STYLES}
    said |= {f"{style}, in other words": cfs.texts(style, wording=wording) for style in STYLES}
    said["alone"] = [one.text("letter") for one in cfs[:3]]
    return Answer({"lengths": [len(one) for one in said.values()]}, said)


def pages(make: Callable[[], Any]) -> Answer:
    cfs = make()
    said = {"page": cfs.to_html(title="A & B"), "notebook": cfs._repr_html_(), "one": cfs[0]._repr_html_()}
    with tempfile.TemporaryDirectory() as folder:
        cfs.to_html(Path(folder) / "page.html")
        said["file"] = (Path(folder) / "page.html").read_text(encoding="utf-8")
    return Answer({"is_same": said["file"] == cfs.to_html()}, {name: one.splitlines() for name, one in said.items()})


def summaries(make: Callable[[], Any]) -> Answer:
    cfs = make()
    first = cfs.to_frame().columns[0]
    by: dict[str, Any] = {"all": None, "first": first, "values": np.resize(["a", "b", "c"], len(cfs))}
    if len(set(cfs.rows)) < len(cfs):  # values are by row, not by counterfactual
        del by["values"]
    made = {name: cfs.summary(group) for name, group in by.items()}
    return Answer(
        {name: {"features": one.features, "groups": one.groups, "by": one.by} for name, one in made.items()},
        {name: {"text": repr(one), "html": one._repr_html_(), "note": one.note} for name, one in made.items()},
    )


def pictures(make: Callable[[], Any]) -> Answer:
    """What is drawn, as words: SVG, and what it says to those who cannot see it."""
    cfs = make()
    drawn: dict[str, Callable[[], Any]] = {
        "frequencies": cfs.plot,
        "frequencies, dark": partial(cfs.plot, dark=True),
        **{f"{kind} {at}": partial(cfs[at].plot, kind) for kind in ("changes", "walk") for at in (0, 1, len(cfs) - 1)},
        "regions": partial(cfs[0].plot, "regions"),
        "pareto": partial(cfs[0].plot, "pareto"),
    }
    return as_drawn(drawn)


def picture_of_variants(table: Table) -> Answer:
    by_name = {optimize: table.nice(optimize=optimize).explain(table.rows[:1])[0] for optimize in VARIANTS}
    wording = nicecf.Wording(**WORDING)
    return as_drawn(
        {
            "variants": partial(plots.variants, by_name),
            "variants, in other words": partial(plots.variants, by_name, wording=wording, dark=True),
            "changes, in other words": partial(plots.changes, by_name["sparsity"], wording=wording),
        }
    )


def as_drawn(drawn: Mapping[str, Callable[[], Any]]) -> Answer:
    outcomes: dict[str, Any] = {}
    said: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, draw in drawn.items():
            try:
                picture = draw()
            except nicecf.NicecfError as error:
                outcomes[name], said[name] = type(error).__name__, [str(error)]
                continue
            path = Path(folder) / "picture.svg"
            picture.save(path)
            outcomes[name] = [*picture.figure.get_size_inches().tolist(), len(picture.figure.axes)]
            said[name] = [picture.alt, repr(picture), *path.read_text(encoding="utf-8").splitlines()]
    return Answer({"drawn": outcomes}, said)


def pickled(make: Callable[[], Any]) -> Answer:
    """A result without its model; what is left of it must be the same."""
    return of_results(pickle.loads(pickle.dumps(make())))


def measured(table: Table, make: Callable[[], Any]) -> Answer:
    """All measures, by the result and one by one."""
    cfs = make()
    models = list(table.models.values())
    reference = metrics.Reference.of(table.X, table.y, random_state=1)
    rows, frame, found, after = table.rows, cfs.to_frame(), cfs.found, cfs.predicted_after
    spans = [(norm, scale) for norm in ("l1", "l2") for scale in ("range", "std")]
    one_by_one = {
        "is_valid": metrics.is_valid(models[0], rows, frame, found=found),
        "is_valid, a target": metrics.is_valid(models[0], rows, frame, target_class=cfs.classes[0], found=found),
        "coverage": metrics.coverage(models[-1], rows, frame, found=found),
        "sparsity": metrics.sparsity(rows, frame, found=found),
        "proximity": [metrics.proximity(rows, frame, reference, norm=norm, scale=scale) for norm, scale in spans],
        "autoencoder_error": metrics.autoencoder_error(frame, reference),
        "im1": metrics.im1(frame, reference, before=cfs.predicted, after=after),
        "im2": metrics.im2(frame, reference, after=after),
        "neighbor_distance": metrics.neighbor_distance(frame, reference, k=3),
        "holds_for": metrics.holds_for(models[-1], frame, after=after, found=found),
        "best_by_row": metrics.best_by_row([3.0, 1.0, np.nan, 2.0], [0, 0, 1, 2], 4, highest=True),
        "cpu_seconds": metrics.cpu_seconds(lambda row: None, rows).shape,
    }
    by_result = cfs.metrics(reference, model=models[0], other_model=models[-1])
    return Answer({"by the result": by_result, "one by one": one_by_one, "one": cfs[0].metrics(reference)})


# Records and files.


def recorded(cfs: Any) -> tuple[list[Any], list[Any]]:
    """The records of a result without versions (and so without digests), and the words in them."""
    return split_records(cfs.to_records())


def split_records(records: Iterable[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    left_out = ("versions", "digest", "reason", "note")
    records = list(records)
    values = [{name: value for name, value in one.items() if name not in left_out} for one in records]
    return values, [[one["reason"], one["note"]] for one in records]


def of_replays(replays: Sequence[Any]) -> Answer:
    return Answer(
        {
            "same": [one.is_same for one in replays],
            "points": [[len(one.differences), len(one.notes)] for one in replays],
        },
        {"replays": [str(one) for one in replays]},
    )


def replayed(explainer: Callable[[], Any], rows: Any, call: Mapping[str, Any]) -> Answer:
    """Records, by way of JSON, and made again."""
    made = explainer()
    cfs = made.explain(rows, **call)
    values, said = recorded(cfs)
    records = json.loads(json.dumps(cfs.to_records()))
    again = of_replays([nicecf.replay(one, made) for one in records])
    return Answer({"records": values, **again.answers}, {"records": said, **again.wording})


def records(world: World) -> Iterator[Case]:
    loan, iris, people = world["loan"], world["iris"], world["applicants"]
    asked: dict[str, tuple[Table, str, dict[str, Any], dict[str, Any]]] = {
        "loan": (loan, "forest", {}, {}),
        "loan, rules": (
            loan,
            "forest",
            {"constraints": Constraints(**RULES["all kinds"])},
            {"target_class": "approved"},
        ),
        "loan, thorough": (loan, "linear", {"search": "thorough"}, {"n_counterfactuals": 2}),
        "loan, guarded": (loan, "forest", {"share_donor": False, "min_count": 3}, {}),
        "loan, options": (loan, "forest", {"robust_to": [loan.models["linear"]], "decision": 0.4, "scale": "std"}, {}),
        "iris, functions": (iris, "forest", {"optimize": by_distance, "decision": cautious}, {"target_class": [1, 2]}),
        "iris, a budget": (iris, "forest", {"search": "thorough"}, {"time_budget": 0.05}),
        "applicants": (people, "scorecard", {"feature_weights": {"age": 2.0}}, {}),
    }
    for name, (table, model, how, call) in asked.items():
        rows = table.rows[FEW]
        yield name, partial(replayed, partial(table.nice, model, **how), rows, call)
    yield "loan, pareto", partial(replayed_pareto, iris)
    yield "loan, of another explainer", partial(replayed_otherwise, loan)


def replayed_pareto(table: Table) -> Answer:
    explainer = table.nice(search="thorough")
    cfs = explainer.explain(table.rows[:3]).pareto()
    again = of_replays([nicecf.replay(one, explainer) for one in cfs.to_records()])
    return Answer({"records": recorded(cfs)[0], **again.answers}, again.wording)


def replayed_otherwise(table: Table) -> Answer:
    """A record that was changed, and records made again by another model, other options, other data."""
    explainer = table.nice()
    record = explainer.explain(table.rows[:1])[0].to_record()
    changed = record | {"counterfactual": record["counterfactual"] | {"age": 99}}
    fewer = replace(table, X=table.X[:300], y=table.y[:300])
    return of_replays(
        [
            nicecf.replay(changed, explainer),
            nicecf.replay(record, table.nice("linear")),
            nicecf.replay(record, table.nice(optimize="proximity", scale="std")),
            nicecf.replay(record, fewer.nice()),
        ]
    )


@dataclass(frozen=True, eq=False)
class Saved:
    """An explainer that is kept in a file: how it is made, and what a file cannot hold."""

    table: Table
    model: str = "forest"
    how: dict[str, Any] = field(default_factory=dict)
    call: dict[str, Any] = field(default_factory=dict)
    again: tuple[str, ...] = ()

    def load(self, path: Path) -> Any:
        """The explainer of a file."""
        given = {name: self.how[name] for name in self.again}
        return NICE.load(path, model=self.table.models[self.model], **given)


def saved_explainers(world: World) -> dict[str, Saved]:
    loan, whole, iris, wine, people = (world[name] for name in ("loan", "whole", "iris", "wine", "applicants"))
    every = Constraints(**RULES["all kinds"])
    return {
        "plain": Saved(loan),
        "none": Saved(loan, "linear", {"optimize": "none"}),
        "plausibility": Saved(loan, how={"optimize": "plausibility", "random_state": 4}),
        "thorough": Saved(loan, how={"search": "thorough", "neighbors": 20}, call={"n_counterfactuals": 2}),
        "balanced": Saved(iris, "network", {"search": "thorough", "optimize": "balanced"}),
        "rules": Saved(loan, how={"constraints": every}, call={"target_class": "approved"}),
        "cut-offs": Saved(loan, how={"decision": {"denied": 0.3}, "min_probability": 0.35}),
        "predict": Saved(loan, how={"decision": "predict", "scale": "std"}),
        "other models": Saved(loan, how={"robust_to": [loan.models["linear"]]}, again=("robust_to",)),
        "guarded": Saved(loan, how={"share_donor": False, "min_count": 3}),
        "accelerated": Saved(loan, how={"accelerate": True, "feature_weights": {"credit_score": 2.0}}),
        "whole": Saved(whole, "network", {"optimize": "proximity"}),
        "reward": Saved(iris, how={"optimize": by_error}, again=("optimize",)),
        "functions": Saved(
            iris, how={"plausibility": far_from_usual, "decision": cautious}, again=("plausibility", "decision")
        ),
        "array": Saved(wine, "linear", {"categorical_features": [12], "optimize": "proximity"}),
        "array, not justified": Saved(wine, how={"justified": False, "search": "thorough"}),
        "missing cells": Saved(people, "scorecard", {"optimize": "plausibility"}),
        "missing cells, thorough": Saved(people, "scorecard", {"search": "thorough", "min_count": 2}),
    }


def save_explainers(world: World, folder: Path) -> None:
    """Files of explainers, and records that they made before they were saved."""
    folder.mkdir()
    for name, one in saved_explainers(world).items():
        CLOCK.now = 0.0
        explainer = one.table.nice(one.model, **one.how)
        explainer.save(folder / f"{name}.nice", notes={"made for": name})
        made = explainer.explain(one.table.rows[FEW], **one.call).to_records()
        (folder / f"{name}.json").write_text(json.dumps(made))


def saved(world: World, folder: Path) -> Iterator[Case]:
    for name, one in saved_explainers(world).items():
        yield name, partial(loaded, one, folder / name)


def loaded(one: Saved, path: Path) -> Answer:
    """What a file answers, another search by it, and the records that were made before it was written."""
    explainer = one.load(path.with_name(f"{path.name}.nice"))
    told = {"answers": of_results(explainer.explain(one.table.rows[FEW], **one.call))}
    told["none"] = of_results(explainer.with_search(optimize="none", search="greedy").explain(one.table.rows[FEW]))
    then = json.loads(path.with_name(f"{path.name}.json").read_text())
    told["replays"] = of_replays([nicecf.replay(record, explainer) for record in then])
    return together(**told)


# What is refused.


def errors(world: World) -> Iterator[Case]:
    loan, iris = world["loan"], world["iris"]
    asked: dict[str, dict[str, Any]] = {
        "optimize": {"optimize": "sparcity"},
        "search": {"search": "best"},
        "balanced, greedy": {"optimize": "balanced"},
        "none, thorough": {"optimize": "none", "search": "thorough"},
        "neighbors, greedy": {"neighbors": 5},
        "distance": {"distance": "l2"},
        "scale": {"scale": "iqr"},
        "min_count": {"min_count": 0},
        "min_probability": {"min_probability": 1.5},
        "random_state": {"random_state": -1},
        "accelerate": {"accelerate": "fast"},
        "accelerate, predict": {"accelerate": True, "decision": "predict"},
        "decision": {"decision": "argmax"},
        "decision, a class": {"decision": {"refused": 0.4}},
        "robust_to": {"robust_to": loan.models["linear"]},
        "weights": {"feature_weights": {"credit": 2.0}},
        "constraints": {"constraints": {"immutable": ["age"]}},
        "rules, a feature": {"constraints": Constraints(immutable=["agee"])},
        "rules, a value": {"constraints": Constraints(allowed={"housing": ["castle"]})},
        "rules, a direction": {"constraints": Constraints(increasing=["housing"])},
        "classes": {"classes": ["no", "yes"]},
        "categorical": {"categorical_features": ["homes"]},
        "plausibility": {"plausibility": 3},
        "justified": {"justified": "yes"},
    }
    for name, how in asked.items():
        yield nice(name, loan, **how)
    calls: dict[str, dict[str, Any]] = {
        "target": {"target_class": "accepted"},
        "no target": {"target_class": []},
        "target twice": {"target_class": ["denied", "denied"]},
        "targets": {"target_class": np.array(["denied"])},
        "budget": {"time_budget": 0},
        "several, greedy": {"n_counterfactuals": 2},
        "rules of too few rows": {"constraints": [None]},
        "bounds of too few rows": {"constraints": Constraints(ranges={"age": ([1, 2], None)})},
        "progress": {"progress": "yes"},
    }
    for name, call in calls.items():
        yield nice(f"call, {name}", loan, call=call)
    tables: dict[str, Any] = {
        "a column less": loan.rows.drop(columns="age"),
        "a column more": loan.rows.assign(sex="m"),
        "text for numbers": loan.rows.assign(age="old"),
        "an array": loan.rows.to_numpy(),
        "a list": [1, 2, 3],
    }
    for name, rows in tables.items():
        yield nice(f"rows, {name}", loan, rows=rows)
    yield nice("labels, too few", replace(loan, y=loan.y[:10]))
    yield nice("labels, unknown", replace(iris, y=iris.y + 1))
    yield nice("labels, none", replace(iris, y=None))
    for name, model in {"a class": RandomForestClassifier, "text": "forest", "words": lambda X: ["a"] * len(X)}.items():
        yield nice(f"model, {name}", replace(loan, models={"forest": model}))
    unknown = nicecf.Wording(names={"nothing": "something"})
    yield "not fitted", partial(explained, partial(NICE, loan.models["forest"]), loan.rows, {})
    yield "pareto, greedy", lambda: of_results(loan.nice().explain(loan.rows).pareto())
    yield "style", lambda: Answer({}, {"texts": loan.nice().explain(loan.rows).texts("poem")})
    yield "wording", lambda: Answer({}, {"texts": loan.nice().explain(loan.rows).texts(wording=unknown)})
    yield "record", lambda: of_replays([nicecf.replay({"format": "another"}, loan.nice())])
    contradictions: dict[str, dict[str, Any]] = {
        "both ways": {"increasing": ["age"], "decreasing": ["age"]},
        "immutable and a range": {"immutable": ["age"], "ranges": {"age": (1, 2)}},
        "a range upside down": {"ranges": {"age": (2, 1)}},
        "no change": {"max_changes": 0},
        "a step of zero": {"step": {"age": 0}},
        "text": {"immutable": "age"},
    }
    for name, rule in contradictions.items():
        yield f"rules, {name}", partial(made_rules, rule)


def made_rules(rule: Mapping[str, Any]) -> Answer:
    return Answer({"rules": Constraints(**rule).to_dict()})


def contract(world: World) -> Iterator[Case]:
    """The checks that others test their own methods with."""
    for check in [*testing.all_checks, *testing.rule_checks]:
        yield check.__name__, partial(checked, check, partial(NICE, optimize="proximity", search="greedy"))
    for check in testing.all_checks:
        yield f"{check.__name__}, WIT", partial(checked, check, baselines.WIT)


def checked(check: Callable[..., None], make: Callable[..., Any]) -> Answer:
    check(make)
    return Answer({"passes": True})


def tables(world: World) -> Iterator[Case]:
    for name, table in world.items():
        yield name, partial(of_table, table)


def of_table(table: Table) -> Answer:
    """The data, and what the models say of it."""
    said = {name: model.predict_proba(table.rows) for name, model in table.models.items()}
    return Answer({"X": pd.DataFrame(table.X), "y": table.y, "rows": table.rows, "probabilities": said})


# The command line.

SCORES = '''
import numpy as np


def score(X):
    """Probabilities of approved and denied."""
    denied = 1 / (1 + np.exp((X["credit_score"].to_numpy(float) - 650) / 30))
    return np.column_stack([1 - denied, denied])
'''
FIT = "fit --train train.csv --label decision --ignore customer --model model.skops"
EXPLAIN = "new.csv --id customer --target approved"
# Commands that write explainers, by what they do. The search is named: versions have other defaults.
FITS = {
    "plain": f"{FIT} --search greedy --out credit.nice --immutable region,channel --increasing age",
    "thorough": f"{FIT} --out thorough.nice --optimize balanced --search thorough --neighbors 10 --seed 3",
    "rules": f"{FIT} --search greedy --out strict.nice --rules rules.toml --decision denied=0.3 --min-probability 0.4"
    " --max-changes 2",
    "guarded": f"{FIT} --search greedy --out guarded.nice --min-count 3 --no-share-donor --optimize proximity",
    "a function": "fit --train train.csv --label decision --ignore customer --model answers_scores:score"
    " --classes approved,denied --search greedy --out function.nice",
    "no labels": "fit --train train.parquet --no-justified --ignore customer,decision --model model.skops"
    " --search greedy --out unjustified.nice --decision predict"
    " --categorical education,employment,region,housing,is_customer,purpose,"
    "has_guarantor,channel",
    "refused, no label": "fit --train train.csv --model model.skops --out x.nice",
    "refused, no file": "fit --train nothing.csv --label decision --model model.skops --out x.nice",
    "refused, a column": "fit --train train.csv --label decisions --model model.skops --out x.nice",
    "refused, a feature": f"{FIT} --out x.nice --immutable regoin",
    "refused, a goal": f"{FIT} --out x.nice --optimize best",
}
# Commands that use them, by what they do, and the files that they write.
USES: dict[str, tuple[str, list[str]]] = {
    "explain": (f"explain credit.nice {EXPLAIN} --out out.csv --report report.html --records records.jsonl",
                ["out.csv", "report.html", "records.jsonl"]),
    "explain, letters": (f"explain credit.nice {EXPLAIN} --out letters.jsonl --style letter --wording wording.toml",
                         ["letters.jsonl"]),
    "explain, analyst": (f"explain credit.nice {EXPLAIN} --out analyst.tsv --style analyst", ["analyst.tsv"]),
    "explain, any other class": ("explain credit.nice new.csv --ignore customer --out any.parquet", ["any.parquet"]),
    "explain, three": ("explain thorough.nice few.csv --id customer --n 3 --out three.csv --records three.jsonl",
                       ["three.csv", "three.jsonl"]),
    "explain, another search": (
        f"explain thorough.nice {EXPLAIN} --search greedy --optimize plausibility --out x.arrow --records again.jsonl",
        ["again.jsonl"]),
    "explain, rules": (f"explain credit.nice {EXPLAIN} --rules rules.toml --max-changes 1 --out ruled.csv",
                       ["ruled.csv"]),
    "explain, a sheet of rules": (f"explain credit.nice {EXPLAIN} --rules rules.csv --out sheet.csv", ["sheet.csv"]),
    "explain, strict": (f"explain strict.nice {EXPLAIN} --out strict.csv --report strict.html --title Strict",
                        ["strict.csv", "strict.html"]),
    "explain, guarded": (f"explain guarded.nice {EXPLAIN} --out guarded.csv", ["guarded.csv"]),
    "explain, a function": (f"explain function.nice {EXPLAIN} --model answers_scores:score --out function.csv",
                            ["function.csv"]),
    "explain, no labels": (f"explain unjustified.nice {EXPLAIN} --out unjustified.csv", ["unjustified.csv"]),
    "explain, raw": (f"explain credit.nice {EXPLAIN} --raw-csv --out raw.csv", ["raw.csv"]),
    "explain, a pipe": ("explain credit.nice - --id customer --out -", []),
    "explain, refused, a class": ("explain credit.nice new.csv --id customer --target yes --out x.csv", []),
    "explain, refused, code": (f"explain function.nice {EXPLAIN} --out x.csv", []),
    "explain, refused, a column": ("explain credit.nice new.csv --out x.csv", []),
    "explain, refused, several": (f"explain credit.nice {EXPLAIN} --n 2 --out x.csv", []),
    "show": ("show out.csv", []),
    "show, one": ("show out.csv C0400", []),
    "show, a position": ("show out.csv 1", []),
    "show, bullets": ("show out.csv C0401 --style bullets --wording wording.toml", []),
    "show, a letter": ("show out.csv C0400 --style letter", []),
    "show, letters": ("show letters.jsonl C0400", []),
    "show, parquet": ("show any.parquet", []),
    "show, several": ("show three.csv C0405", []),
    "show, not found": ("show ruled.csv", []),
    "show, refused": ("show out.csv C9999", []),
    "show, no results": ("show new.csv", []),
    "replay": ("replay records.jsonl", []),
    "replay, several": ("replay three.jsonl", []),
    "replay, another search": ("replay again.jsonl", []),
    "replay, another explainer": ("replay records.jsonl --explainer strict.nice", []),
    "replay, refused": ("replay out.csv", []),
    **{f"help, {command}".removesuffix(", "): (f"{command} --help", []) for command in (
        "", "demo", "fit", "explain", "show", "replay", "benchmark", "benchmark run", "benchmark report",
        "benchmark growth")},
    "version": ("--version", []),
    "refused, no command": ("frobnicate", []),
}  # fmt: skip


def save_commands(world: World, folder: Path) -> None:
    """The files that the commands read."""
    folder.mkdir()
    loan = world["loan"]
    both = pd.concat([loan.X, loan.rows.reset_index(drop=True)], ignore_index=True)
    both.insert(0, "customer", [f"C{number:04}" for number in range(len(both))])
    train, new = both[:400].assign(decision=loan.y), both[400:]
    train.to_csv(folder / "train.csv", index=False)
    train.to_parquet(folder / "train.parquet")
    new.to_csv(folder / "new.csv", index=False)
    new[FEW].to_csv(folder / "few.csv", index=False)
    (folder / "answers_scores.py").write_text(SCORES)
    (folder / "rules.toml").write_text(TOML)
    (folder / "rules.csv").write_text(SHEET)
    sections = [
        f"[{name}]\n" + "".join(f'{key} = "{text}"\n' for key, text in WORDING[name].items()) for name in WORDING
    ]
    (folder / "wording.toml").write_text("\n".join(sections))
    read = pd.read_csv(folder / "train.csv").drop(columns=["customer", "decision"])
    import_module("skops.io").dump(clone(loan.models["linear"]).fit(read, loan.y), folder / "model.skops")


def fits(folder: Path) -> Iterator[Case]:
    for name, command in FITS.items():
        yield name, partial(ran, folder, command, [])


def uses(folder: Path) -> Iterator[Case]:
    for name, (command, files) in USES.items():
        yield name, partial(ran, folder, command, files)


def ran(folder: Path, command: str, files: Sequence[str]) -> Answer:
    """Run ``python -m nicecf`` in this process and that folder: the exit code, what it printed and what it wrote."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdout", "stderr")}
    given = io.TextIOWrapper(io.BytesIO((folder / "new.csv").read_bytes()), encoding="utf-8")
    before = {"argv": sys.argv, "stdin": sys.stdin, "path": list(sys.path)}
    sys.argv, sys.stdin = ["nicecf", *command.split()], given
    code: Any = None
    try:
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(streams["stdout"]),
            contextlib.redirect_stderr(streams["stderr"]),
        ):
            runpy.run_module("nicecf", run_name="__main__")
    except SystemExit as end:
        code = end.code
    finally:
        for name, value in before.items():
            setattr(sys, name, value)
        sys.modules.pop("answers_scores", None)
    said: dict[str, Any] = {name: _printed(stream, folder) for name, stream in streams.items()}
    answers: dict[str, Any] = {"exit code": code}
    if "--out -" in command:
        table = "\n".join(said.pop("stdout"))
        answers["stdout"], said["stdout"] = split_table(
            pd.read_csv(io.StringIO(table), dtype=str, keep_default_na=False)
        )
    for file in files:
        answers[file], said[file] = read_file(folder / file)
    return Answer(answers, said)


def _printed(stream: io.TextIOWrapper, folder: Path) -> list[str]:
    stream.flush()
    content = stream.buffer.getvalue().decode()  # type: ignore[attr-defined]  # a BytesIO
    return content.replace(str(folder), "FOLDER").splitlines()


def read_file(path: Path) -> tuple[Any, Any]:
    """What a command wrote: answers, and words."""
    if path.suffix == ".html":
        return None, path.read_text(encoding="utf-8").splitlines()
    if path.suffix == ".parquet":
        return split_table(pd.read_parquet(path))
    if path.suffix == ".jsonl":
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return split_records(lines) if "format" in lines[0] else split_table(pd.DataFrame(lines, dtype=object))
    separator = "\t" if path.suffix == ".tsv" else ","
    return split_table(pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False))


def split_table(table: pd.DataFrame) -> tuple[Any, Any]:
    return table.drop(columns=list(WORDS)), {name: table[name].tolist() for name in WORDS}


# Write, compare, load.

GROUPS: dict[str, Callable[[World], Iterator[Case]]] = {
    "tables": tables,
    "variants": variants,
    "thorough": thorough,
    "targets": targets,
    "options": options,
    "decisions": decisions,
    "privacy": privacy,
    "rules": rules,
    "budgets": budgets,
    "algorithms": algorithms,
    "inputs": inputs,
    "results": results,
    "records": records,
    "errors": errors,
    "contract": contract,
}


def groups_of(world: World, folder: Path) -> Iterator[tuple[str, Iterable[Case]]]:
    """All cases, and the files that some of them need."""
    for name, cases in GROUPS.items():
        yield name, cases(world)
    save_explainers(world, folder / "saved")
    yield from groups_of_files(world, folder, with_fits=True)


def groups_of_files(world: World, folder: Path, *, with_fits: bool) -> Iterator[tuple[str, Iterable[Case]]]:
    """The cases that use what was saved."""
    yield "saved", saved(world, folder / "saved")
    if find_spec("skops") is None:
        progress("skipped: the command line, for want of skops")
        return
    if with_fits:
        save_commands(world, folder / "commands")
        yield "fits", fits(folder / "commands")
    yield "commands", uses(folder / "commands")


def answered(name: str, cases: Iterable[Case]) -> dict[str, Any]:
    start = time.monotonic()
    told = {case: written(make) for case, make in cases}
    progress(f"{name}: {len(told)} cases, {time.monotonic() - start:.0f} s")
    for case, one in told.items():
        if "skipped" in one:
            progress(f"  skipped: {case}: {one['skipped']}")
        elif name != "errors" and "error" in one["answers"]:
            progress(f"  {case}: {one['answers']['error']}: {one['wording']['error'][:150]}")
    return told


def write(folder: Path) -> int:
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    start, n_cases = time.monotonic(), 0
    world = kept(folder, made_tables())
    (folder / "answers").mkdir()
    for name, cases in groups_of(world, folder):
        told = answered(name, cases)
        n_cases += len(told)
        (folder / "answers" / f"{name}.json").write_text(json.dumps(told, indent=1, ensure_ascii=False))
    print(f"{n_cases} cases in {folder}, {time.monotonic() - start:.0f} s")
    return 0


def read_answers(folder: Path) -> dict[str, Any]:
    files = sorted((folder / "answers").glob("*.json"))
    if not files:
        raise SystemExit(f"{folder} holds no answers; write some first.")
    return {f"{file.stem}: {case}": one for file in files for case, one in json.loads(file.read_text()).items()}


def compare(old: Path, new: Path) -> int:
    return told_apart(read_answers(old), read_answers(new))


def load(old: Path) -> int:
    """Whatever the folder has saved is used by the present version, and must answer as it did."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "old"
        shutil.copytree(old, folder)
        world = read_tables(folder)
        groups = groups_of_files(world, folder, with_fits=False)
        new = {f"{name}: {case}": one for name, cases in groups for case, one in answered(name, cases).items()}
    names = {case.partition(":")[0] for case in new}
    return told_apart({case: one for case, one in read_answers(old).items() if case.partition(":")[0] in names}, new)


def told_apart(old: Mapping[str, Any], new: Mapping[str, Any]) -> int:
    """Print where answers differ; 1 if they differ in more than words."""
    counts: Counter[str] = Counter()
    for case in [*old, *(case for case in new if case not in old)]:
        if case not in old or case not in new or ("skipped" in old[case]) != ("skipped" in new[case]):
            counts["answers"] += 1
            lost = case not in new or "skipped" in new[case]
            print(f"{case}: {'not there or skipped any more' if lost else 'not there or skipped before'}")
            continue
        for kind, say in (("answers", say_places), ("wording", say_lines)):
            before, after = old[case].get(kind, {}), new[case].get(kind, {})
            for name in dict.fromkeys([*before, *after]):
                places = list(differences(before.get(name, "(nothing)"), after.get(name, "(nothing)")))
                if places:
                    counts[kind] += 1
                    say(f"{case}: {'wording: ' if kind == 'wording' else ''}{name}", places)
    print(
        f"{len(old)} cases before, {len(new)} now: {counts['answers']} fields with other answers, "
        f"{counts['wording']} fields with other words"
    )
    return 1 if counts["answers"] else 0


def differences(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two values of JSON differ, and what is there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from differences(old.get(key, "(nothing)"), new.get(key, "(nothing)"), f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{place}[{at}]")
    elif json.dumps(old) != json.dumps(new):  # as text: 1 is not True
        yield place, old, new


def say_places(what: str, places: Sequence[tuple[str, Any, Any]]) -> None:
    print(f"{what}: {len(places)} {'place' if len(places) == 1 else 'places'}")
    for place, old, new in places[:MOST_SHOWN]:
        print(f"  {place or '.'}: {short(old)} -> {short(new)}")


def say_lines(what: str, places: Sequence[tuple[str, Any, Any]]) -> None:
    print(f"{what}: {len(places)} {'place' if len(places) == 1 else 'places'}")
    place, *texts = places[0]
    lines = [text.splitlines() if isinstance(text, str) else [short(one) for one in text or []] for text in texts]
    changed = [line for line in difflib.ndiff(lines[0], lines[1]) if line[:2] in ("- ", "+ ")]
    for line in changed[: 2 * MOST_SHOWN]:
        print(f"  {place or '.'}: {line[:200]}")


def short(value: Any, most: int = 120) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}..."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True, metavar="action", dest="action")
    for name, folders in (("write", ["FOLDER"]), ("compare", ["OLD", "NEW"]), ("load", ["OLD"])):
        parser_of_action = actions.add_parser(name)
        for one in folders:
            parser_of_action.add_argument(one.lower(), type=Path, metavar=one)
    given = vars(parser.parse_args())
    runs: dict[str, Callable[..., int]] = {"write": write, "compare": compare, "load": load}
    run = runs[given.pop("action")]
    # What the commands print is folded to the width of the terminal; sums are in the same order with one thread.
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}
    with threadpool_limits(1):
        return run(*(path.absolute() for path in given.values()))


if __name__ == "__main__":
    sys.exit(main())
