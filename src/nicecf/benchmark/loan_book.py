"""A bank's loan book, generated: what demonstrations run on where no real table is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import expit

from nicecf.exceptions import OptionError
from nicecf.rules.constraints import Constraints
from nicecf.support.types import Floats, Objects

Columns: TypeAlias = dict[str, Any]

_EDUCATION = ("primary", "secondary", "bachelor", "master")
_EMPLOYMENT = ("employed", "public sector", "self-employed", "unemployed", "retired", "student")
_PURPOSES = ("car", "debt consolidation", "home improvement", "education", "business", "medical")
_REGIONS = ("Capital", "Coast", "Highlands", "North", "South")


def loan_book(n_rows: int = 10_000, *, seed: int = 0) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """A generated book of loan applications, and the ``decision`` on each: ``"approved"`` or ``"denied"``.

    Made to look like a bank's table, not to be easy: numbers, a nullable integer, booleans, text and a category;
    columns that depend on each other (``debt_to_income`` follows from debts, instalment and income); gaps that mean
    something (``months_since_late`` of people who never were) and gaps that do not. About one application in four is
    denied, by a risk that also holds what no column shows, so no model can know every decision. No real person is in
    it. The same ``n_rows`` and ``seed`` give the same table.

    >>> X, y = loan_book(1_000, seed=7)
    >>> X.shape, sorted(y.unique())
    ((1000, 23), ['approved', 'denied'])
    """
    if n_rows < 1:
        raise OptionError(f"n_rows={n_rows} leaves no table; pass 1 or more.")
    if seed < 0:
        raise OptionError(f"seed={seed} is negative; pass an integer from 0.")
    rng = np.random.default_rng(seed)
    people = _people(rng, n_rows)
    # Drives the credit history and, a little, the decision itself, but is no column.
    prudence = rng.normal(size=n_rows) + 0.04 * np.minimum(people["years_employed"], 10)
    columns = people | _history(rng, people, prudence)
    columns |= _loans(rng, columns)
    risk = _risk(columns) - 0.35 * prudence + rng.logistic(scale=0.8, size=n_rows)

    # Gaps by chance come last: the bank's decision did not depend on what was lost on the way to the table.
    columns["savings"] = np.where(rng.random(n_rows) < 0.08, np.nan, columns["savings"])
    columns["housing"] = np.where(rng.random(n_rows) < 0.04, None, columns["housing"])
    columns["region"] = pd.Categorical(columns["region"], categories=list(_REGIONS))
    columns["months_since_late"] = pd.array(columns["months_since_late"], dtype="Int64")
    return pd.DataFrame(columns), pd.Series(np.where(risk > 0, "denied", "approved"), name="decision")


def loan_rules() -> Constraints:
    """What follows from what in the loan book: rules that every row of it keeps.

    >>> loan_rules()
    Constraints(relations=['late_payments >= 1 implies months_since_late <= 24'], \
derived={'debt_to_income': {'function': 'debt_to_income'}})
    """
    return Constraints(
        derived={"debt_to_income": debt_to_income},
        relations=["late_payments >= 1 implies months_since_late <= 24"],
    )


def debt_to_income(applications: pd.DataFrame) -> Floats:
    """The share of the income that goes into debts, with the instalment of the loan that is asked for."""
    rate = applications["interest_rate"] / 1200
    instalment = applications["loan_amount"] * rate / (1 - (1 + rate) ** -applications["term_months"])
    share = np.round(12 * (applications["monthly_debt"] + instalment) / applications["income"], 2)
    return np.asarray(share, dtype=np.float64)


def _people(rng: np.random.Generator, n_rows: int) -> Columns:
    age = np.clip(18 + rng.gamma(3.2, 7.5, n_rows), 18, 79).astype(np.int64)
    old, young = age >= 64, age < 24
    jobs = np.where(young[:, None], [0.50, 0.06, 0.03, 0.11, 0.0, 0.30], [0.62, 0.16, 0.14, 0.06, 0.0, 0.02])
    employment = _drawn(rng, np.where(old[:, None], [0.08, 0.02, 0.06, 0.0, 0.84, 0.0], jobs), _EMPLOYMENT)
    schools = np.where(young[:, None], [0.12, 0.70, 0.18, 0.0], [0.10, 0.44, 0.29, 0.17])
    education = _drawn(rng, schools, _EDUCATION)
    school_years = _looked_up(education, _EDUCATION, [9, 12, 15, 17])
    works = np.isin(employment, ["employed", "public sector", "self-employed"])
    career = np.maximum(np.minimum(age, 64) - school_years - 6, 0)
    region = _drawn(rng, np.broadcast_to([0.30, 0.20, 0.12, 0.18, 0.20], (n_rows, 5)), _REGIONS)

    earning = 17_500 * np.exp(0.075 * (school_years - 9) + 0.033 * np.minimum(career, 25) + rng.normal(0, 0.3, n_rows))
    earning *= _looked_up(employment, _EMPLOYMENT, [1.0, 0.95, 1.15, 0.45, 0.62, 0.4])
    income = _rounded(np.clip(earning * np.where(region == "Capital", 1.15, 1.0), 6_000, 400_000), 100)
    settled = expit((age - 38) / 8 + (income - 38_000) / 20_000)
    homes = np.column_stack([0.4 * settled, 0.6 * settled, 0.9 - 0.75 * settled, np.where(age < 29, 0.5, 0.03)])
    return {
        "age": age,
        "education": education,
        "employment": employment,
        "years_employed": np.where(works, np.round(career * rng.beta(1.2, 1.8, n_rows), 1), 0.0),
        "income": income,
        "region": region,
        "housing": _drawn(rng, homes, ("owned", "mortgage", "rented", "with parents")),
        "dependents": np.minimum(rng.poisson(1.6 * np.exp(-(((age - 41) / 12) ** 2))), 5),
        "is_customer": rng.random(n_rows) < expit((age - 45) / 18),
    }


def _history(rng: np.random.Generator, people: Columns, prudence: Floats) -> Columns:
    """What the credit bureau and the account statements say."""
    n_rows, income = len(prudence), people["income"]
    was_late = rng.random(n_rows) < expit(-1.2 - 0.9 * prudence)
    since = np.where(was_late, np.ceil(rng.gamma(1.5, 18.0, n_rows)).clip(1, 96), np.nan)
    recently = np.nan_to_num(since, nan=np.inf) <= 24
    late_payments = np.where(recently, np.minimum(1 + rng.poisson(np.exp(-0.2 - 0.5 * prudence)), 9), 0)
    utilisation = np.round(expit(rng.normal(-0.8 - 0.7 * prudence, 0.8)), 2)
    score = 685 + 35 * prudence + 0.6 * (people["age"] - 40) - 14 * late_payments - 80 * (utilisation - 0.35)
    housing_share = _looked_up(people["housing"], ("owned", "mortgage", "rented", "with parents"), [0, 0.15, 0.03, 0])
    debt_share = housing_share * rng.uniform(0.6, 1.4, n_rows) + 0.25 * utilisation * rng.beta(2, 3, n_rows)
    months_saved = np.exp(rng.normal(0.7 + 0.4 * prudence + (people["age"] - 40) / 45, 0.9))
    return {
        "credit_score": np.clip(score + rng.normal(0, 20, n_rows), 350, 850).round().astype(np.int64),
        "open_lines": 1 + rng.poisson(1.5 + income / 25_000),
        "utilisation": utilisation,
        "late_payments": late_payments,
        "months_since_late": since,
        "monthly_debt": _rounded(income / 12 * debt_share, 10),
        "savings": _rounded(income / 12 * months_saved, 100).astype(np.float64),
    }


def _loans(rng: np.random.Generator, known: Columns) -> Columns:
    """What is asked for, and on which terms."""
    n_rows, income, age = len(known["income"]), known["income"], known["age"]
    purpose = _drawn(rng, np.broadcast_to([0.28, 0.26, 0.20, 0.09, 0.09, 0.08], (n_rows, 6)), _PURPOSES)
    share = _looked_up(purpose, _PURPOSES, [0.36, 0.32, 0.45, 0.22, 0.60, 0.14])
    amount = _rounded(np.clip(income * share * np.exp(rng.normal(0, 0.5, n_rows)), 1_000, 150_000), 100)
    term = 12 * np.clip(np.round(1.5 + 6 * amount / income + rng.normal(0, 1, n_rows)), 1, 7).astype(np.int64)
    rate = 4.4 + 6.5 * expit((670 - known["credit_score"]) / 45) + term / 70 + np.where(purpose == "business", 0.9, 0)
    rate = np.round(rate + rng.normal(0, 0.3, n_rows), 2)
    terms = {"loan_amount": amount, "term_months": term, "interest_rate": rate}
    share = debt_to_income(pd.DataFrame({**terms, "monthly_debt": known["monthly_debt"], "income": income}))
    by_web = 0.65 * expit((45 - age) / 9)
    channels = np.column_stack([0.75 - by_web, 0.05 + by_web, np.full(n_rows, 0.08), np.full(n_rows, 0.12)])
    return {
        "purpose": purpose,
        **terms,
        "debt_to_income": share,
        "has_guarantor": rng.random(n_rows) < np.where(age < 27, 0.28, 0.08),
        "channel": _drawn(rng, channels, ("branch", "web", "phone", "broker")),
    }


def _risk(known: Columns) -> Floats:
    """The bank's rules of thumb as log-odds of a denial; the constant sets the share that is denied."""
    employment, years = known["employment"], known["years_employed"]
    since = np.nan_to_num(known["months_since_late"], nan=np.inf)
    return np.asarray(
        -0.85
        - 0.016 * (known["credit_score"] - 680)
        + 9.0 * np.maximum(known["debt_to_income"] - 0.25, -0.15)
        + 0.4 * np.minimum(known["late_payments"], 4)
        + 1.0 * (since <= 12)
        + 1.5 * (known["utilisation"] - 0.35)
        - 0.5 * (np.log(known["savings"] + 500) - np.log(known["income"] / 6))
        + _looked_up(employment, _EMPLOYMENT, [0.2, -0.3, 0.3, 1.8, 0.3, 0.9])
        - 0.06 * np.minimum(years, 10)
        + 1.4 * ((employment == "self-employed") & (years < 3))
        + 0.6 * (known["purpose"] == "business")
        + 0.4 * (known["channel"] == "broker")
        - 1.6 * known["has_guarantor"]
        - 0.5 * known["is_customer"]
    )


def _drawn(rng: np.random.Generator, weights: Floats, names: Sequence[str]) -> Objects:
    """One name for each line of weights, which need not add up to one."""
    bounds = np.cumsum(weights, axis=1)
    drawn = (rng.random(len(bounds))[:, None] * bounds[:, -1:] >= bounds).sum(axis=1)
    return np.array(names, dtype=object)[drawn]


def _looked_up(values: Objects, names: Sequence[str], numbers: Sequence[float]) -> Floats:
    return np.select([values == name for name in names], numbers).astype(np.float64)


def _rounded(values: Floats, unit: int) -> Any:
    return (np.round(values / unit) * unit).astype(np.int64)
