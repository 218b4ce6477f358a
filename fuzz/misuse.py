"""Calls that must be refused, each with an error of nicecf's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from fuzz import moments
from fuzz.checks import Facts
from fuzz.rules import as_constraints, contradicting
from fuzz.tables import Random, n_rows, take


def misused(random: Random, facts: Facts, explainer: Any, X: Any, y: Any) -> Iterator[tuple[str, list[str]]]:
    """What came of some wrong calls: their names, and what is wrong with the way they were refused."""
    calls = _wrong_calls(facts, explainer, X, y)
    for name in random.permutation(sorted(calls))[:8].tolist():
        yield name, _refused(calls[name])


def _refused(call: Callable[[], Any]) -> list[str]:
    from nicecf import NicecfError

    try:
        call()
    except NicecfError as error:
        return [] if str(error).strip() else ["the error says nothing"]
    except Exception as error:
        return [f"raised {type(error).__name__}: {str(error)[:200]}"]
    return ["was accepted"]


def _wrong_calls(facts: Facts, explainer: Any, X: Any, y: Any) -> dict[str, Callable[[], Any]]:
    from nicecf import NICE, Constraints

    rows, options = facts.tables.rows, facts.settings.options
    model = facts.panel.models[0].given
    basic = {name: options[name] for name in ("categorical_features", "classes") if name in options}
    calls: dict[str, Callable[[], Any]] = {
        "unknown target": lambda: explainer.explain(rows, target_class="no such class"),
        "empty list of targets": lambda: explainer.explain(rows, target_class=[]),
        "too many targets": lambda: explainer.explain(
            rows, target_class=np.array([facts.panel.classes[0]] * (n_rows(rows) + 3))
        ),
        "no table": lambda: explainer.explain("a text"),
        "None": lambda: explainer.explain(None),
        "one dimension": lambda: explainer.explain(np.zeros(3)),
        "negative time": lambda: explainer.explain(rows, time_budget=-1),
        "unknown objective": lambda: NICE(model, optimize="nonsense"),
        "no such search": lambda: NICE(model, search="random"),
        "cut-off of 2": lambda: NICE(model, decision=2.0, **basic).fit(X, y),
        "unknown class in decision": lambda: NICE(model, decision={"nobody": 0.5}, **basic).fit(X, y),
        "unknown feature in a rule": lambda: NICE(
            model, constraints=Constraints(immutable=["no such feature"]), **basic
        ).fit(X, y),
        "unknown feature in weights": lambda: NICE(model, feature_weights={"no such feature": 2.0}, **basic).fit(X, y),
        "negative weight": lambda: NICE(model, feature_weights=[-1.0] * len(facts.tables.columns), **basic).fit(X, y),
        "labels of another length": lambda: NICE(model, **basic).fit(X, [facts.panel.classes[0]] * (n_rows(X) + 1)),
        "unknown label": lambda: NICE(
            model, classes=facts.panel.classes, categorical_features=basic["categorical_features"]
        ).fit(X, ["nobody"] * n_rows(X)),
        "not fitted": lambda: NICE(model).explain(rows),
        "unknown categorical feature": lambda: NICE(model, categorical_features=["no such feature"]).fit(X, y),
        "a class, not a model": lambda: NICE(dict).fit(X, y),
        "a model that raises": lambda: NICE(
            _raises, classes=[0, 1], justified=False, categorical_features=basic["categorical_features"]
        ).fit(X),
        "a model of another shape": lambda: NICE(
            lambda X: np.zeros((n_rows(X), 7)),
            classes=[0, 1],
            justified=False,
            categorical_features=basic["categorical_features"],
        ).fit(X),
        "a model that says NaN": lambda: NICE(
            lambda X: np.full((n_rows(X), 2), np.nan),
            classes=[0, 1],
            justified=False,
            categorical_features=basic["categorical_features"],
        ).fit(X),
        "a model that says text": lambda: NICE(
            lambda X: [["a", "b"]] * n_rows(X),
            classes=[0, 1],
            justified=False,
            categorical_features=basic["categorical_features"],
        ).fit(X),
        "an empty table": lambda: NICE(model, **basic).fit(take(X, []), []),
        "another container": lambda: explainer.explain(_as_another(rows)),
    }
    if facts.settings.is_nice:
        calls |= {
            "no counterfactuals": lambda: explainer.explain(rows, n_counterfactuals=0),
            "rules of too many rows": lambda: explainer.explain(rows, constraints=[None] * (n_rows(rows) + 1)),
            "rules as a dict": lambda: explainer.explain(rows, constraints={"immutable": [0]}),
            "unknown feature in rules of the call": lambda: explainer.explain(
                rows, constraints=Constraints(immutable=["no such feature"])
            ),
        }
        opposite = facts.settings.own_rules and contradicting(
            np.random.default_rng(0), facts.settings.own_rules, facts.tables
        )
        if opposite:
            calls["rules that contradict the explainer's"] = lambda: explainer.explain(
                rows, constraints=as_constraints(opposite[1], facts.tables)
            )
    if isinstance(rows, pd.DataFrame):
        calls |= {
            "a column too few": lambda: explainer.explain(rows.iloc[:, 1:]),
            "a column too many": lambda: explainer.explain(rows.assign(**{"one more": 1})),
            "two columns of one name": lambda: explainer.explain(pd.concat([rows, rows.iloc[:, :1]], axis=1)),
        }
    elif isinstance(rows, pl.DataFrame):
        calls["a column too few"] = lambda: explainer.explain(rows[:, 1:])
    else:
        calls["a column too few"] = lambda: explainer.explain((rows.tocsr() if sparse.issparse(rows) else rows)[:, 1:])
    calls |= _wrong_cells(facts, explainer)
    return calls


def _wrong_cells(facts: Facts, explainer: Any) -> dict[str, Callable[[], Any]]:
    """Infinite numbers and text where numbers were."""
    rows, kinds = facts.tables.rows, zip(facts.tables.reader.is_category, facts.tables.columns, strict=True)
    numbers = [at for at, (category, one) in enumerate(kinds) if not (category or moments.is_moment(one.pool[0]))]
    if not numbers or not n_rows(rows) or not isinstance(rows, pd.DataFrame):
        return {}
    at = list(rows.columns).index(facts.tables.names[numbers[0]])

    def with_cells(value: Any) -> pd.DataFrame:
        parts = [
            rows.iloc[:, j] if j != at else pd.Series([value] * len(rows), index=rows.index)
            for j in range(rows.shape[1])
        ]
        frame = pd.DataFrame(dict(enumerate([part.array for part in parts])), index=rows.index)
        frame.columns = rows.columns
        return frame

    return {
        "an infinite number": lambda: explainer.explain(with_cells(float("inf"))),
        "text for a number": lambda: explainer.explain(with_cells("a text")),
        "a date for a number": lambda: explainer.explain(with_cells(pd.Timestamp("2020-01-01"))),
    }


def _raises(X: Any) -> Any:
    raise KeyError("a model that raises")


def _as_another(rows: Any) -> Any:
    if isinstance(rows, pd.DataFrame):
        return rows.to_numpy(dtype=object)
    return pd.DataFrame({"a": [1]})
