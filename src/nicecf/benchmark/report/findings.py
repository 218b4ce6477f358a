"""What a comparison of methods found: coverage, times, average ranks, correlations.

One form for a run and for what the paper prints, so that the same tables and the same claims are read off both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import pandas as pd

from nicecf.benchmark import statistics
from nicecf.benchmark.report.names import METRICS
from nicecf.benchmark.statistics import Friedman, Missing
from nicecf.support.types import Floats

PROXIMITIES = ("l1_range", "l1_std", "l2_range", "l2_std")
# IM2 as the paper's code computes it: its tables came from that. The published formula stands beside.
PLAUSIBILITIES = ("ae_error", "im1", "im2_code", "nn5")
QUALITIES = ("sparsity", *PROXIMITIES, *PLAUSIBILITIES, "im2")
# What is read where a metric was not measured, as in runs of an older version.
_STAND_INS = {"im2_code": "im2"}
SIGNIFICANCE = 0.05
OBSERVATION = ["dataset", "model", "row"]

Numbers = Mapping[str, float]


class NotMeasuredError(LookupError):
    """What was asked for was not measured; the message says what that is."""


@dataclass(frozen=True)
class Ranking:
    """The average rank of each method by one metric. ``friedman`` is None where only the averages are known."""

    averages: Numbers
    critical_difference: float
    n_observations: int
    friedman: Friedman | None = None

    @property
    def is_told_apart(self) -> bool:
        """Whether the Friedman test says that there are differences at all."""
        return self.friedman is None or self.friedman.p_value < SIGNIFICANCE

    @property
    def least_difference(self) -> float:
        """Methods that are further apart differ significantly; infinite where the Friedman test sees no difference."""
        return self.critical_difference if self.is_told_apart else np.inf

    @property
    def best(self) -> frozenset[str]:
        """The best method and those not significantly different from it; none where no difference is significant."""
        if not self.is_told_apart:
            return frozenset()
        is_best = statistics.not_worse_than_best(list(self.averages.values()), self.critical_difference)
        return frozenset(method for method, best in zip(self.averages, is_best, strict=True) if best)


@dataclass(frozen=True, eq=False)
class ModelFindings:
    """What was found for one classifier, all of it over the same observations.

    ``coverage`` and ``robustness`` are percentages, ``ms`` and ``ms_in_batch`` milliseconds of one explanation
    (alone, and its share of a batch). ``robustness`` is over all rows, as the paper defines it: one without a
    counterfactual is not valid for the other classifier; ``robustness_of_found`` is over those found. ``better_class``:
    the coverage of the class that a method covers better, on the dataset where that is lowest. ``coverage_of_class_1``:
    where only counterfactuals of class 1 count. ``ranks`` are by "time" and `QUALITIES`; ``values`` are the matrices
    that were ranked. ``dataset_ranks``: those of the mean ranks of the datasets. ``correlations``: of the ranks by two
    qualities.
    """

    n_observations: int
    n_datasets: int
    coverage: Numbers
    ms: Numbers
    ranks: Mapping[str, Ranking]
    robustness: Numbers
    correlations: Mapping[tuple[str, str], float]
    ms_in_batch: Numbers = field(default_factory=dict)
    better_class: Numbers = field(default_factory=dict)
    values: Mapping[str, Floats] = field(default_factory=dict)
    robustness_of_found: Numbers = field(default_factory=dict)
    coverage_of_class_1: Numbers = field(default_factory=dict)
    dataset_ranks: Mapping[str, Ranking] = field(default_factory=dict)

    def measured(self, metric: str) -> str:
        """The metric itself, or the one that stands in for it where it was not measured."""
        stand_in = _STAND_INS.get(metric, metric)
        return stand_in if metric not in self.ranks and stand_in in self.ranks else metric

    def ranking(self, metric: str) -> Ranking:
        """The ranks by a metric, or by its stand-in; NotMeasuredError where there are none."""
        metric = self.measured(metric)
        if metric not in self.ranks:
            raise NotMeasuredError(f"{label(metric)} was not measured")
        return self.ranks[metric]

    def correlation(self, one: str, other: str) -> float:
        """The correlation of two ranks; NotMeasuredError where there is none."""
        one, other = self.measured(one), self.measured(other)
        value = self.correlations.get((one, other), self.correlations.get((other, one), np.nan))
        if np.isnan(value):
            raise NotMeasuredError(f"ranks by {label(one)} and {label(other)} have no correlation")
        return value


@dataclass(frozen=True, eq=False)
class Findings:
    """A comparison of methods by classifier. ``ms_of`` and ``longest_ms_of``: by (dataset, model), then method.

    ``time_limit``: the seconds that an explanation could take, where there was a limit.
    """

    methods: tuple[str, ...]
    models: Mapping[str, ModelFindings]
    ms_of: Mapping[tuple[str, str], Numbers] = field(default_factory=dict)
    longest_ms_of: Mapping[tuple[str, str], Numbers] = field(default_factory=dict)
    time_limit: float | None = None

    def model(self, name: str) -> ModelFindings:
        """The findings for a classifier; NotMeasuredError where it was not run."""
        if name not in self.models:
            raise NotMeasuredError(f"{name.upper()} was not run")
        return self.models[name]

    def over_datasets(self) -> Findings:
        """The same with each dataset as one observation: ranks of the mean ranks, and their critical difference."""
        models = {name: replace(one, ranks=one.dataset_ranks) for name, one in self.models.items()}
        return replace(self, models=models)


def label(metric: str) -> str:
    """A metric as the paper's tables head it; "time" and others, as they are."""
    return METRICS[metric].paper if metric in METRICS else metric


def compare(
    records: pd.DataFrame,
    methods: Sequence[str],
    models: Iterable[str],
    *,
    time_limit: float | None = None,
    missing: Missing = "last place",
) -> Findings:
    """Compare methods over the observations (dataset, model, row) that every one of them was given.

    ``missing``: the rank of what was not found, see `nicecf.benchmark.statistics.ranks`. ``records`` are those of a run
    with "found" (1.0) and "alone" (seconds, of a batch where it was not measured) added, as
    `nicecf.benchmark.report.results` does. A model without a common observation is left out.
    """
    shared = common(records, methods)
    by_model = {model: shared[shared["model"] == model] for model in models}
    alone = shared.assign(ms=shared["alone"] * 1000).groupby(["dataset", "model", "method"])["ms"]
    return Findings(
        tuple(methods),
        {model: _of_model(those, methods, missing) for model, those in by_model.items() if len(those)},
        _nested(alone.mean()),
        _nested(alone.max()),
        time_limit,
    )


def common(records: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The records of these methods, of the observations that each of them was given."""
    theirs = records[records["method"].isin(list(methods))]
    n_methods = theirs.groupby(OBSERVATION)["method"].transform("size")
    return theirs[n_methods == len(methods)]


def _of_model(records: pd.DataFrame, methods: Sequence[str], missing: Missing) -> ModelFindings:
    found, index = statistics.observations(records, "found", methods)
    measured = {"time": _timed(records, methods)}
    measured |= {metric: statistics.observations(records, metric, methods) for metric in QUALITIES}
    measured = {metric: those for metric, those in measured.items() if not np.isnan(those[0]).all()}
    ranked = {metric: statistics.ranks(values, missing) for metric, (values, _) in measured.items()}
    indexes = {metric: those for metric, (_, those) in measured.items()}
    rankings = {
        metric: _ranking(ranked[metric], statistics.friedman(values), methods)
        for metric, (values, _) in measured.items()
    }
    return ModelFindings(
        n_observations=len(index),
        n_datasets=records["dataset"].nunique(),
        coverage=dict(zip(methods, (100 * (~np.isnan(found)).mean(axis=0)).tolist(), strict=True)),
        ms=_mean_of_means(records, "alone", methods),
        ms_in_batch=_mean_of_means(records, "seconds", methods),
        better_class=_better_class(records, methods),
        coverage_of_class_1=_coverage_of_class_1(records, methods),
        ranks=rankings,
        dataset_ranks={metric: _dataset_ranking(ranked[metric], indexes[metric], methods) for metric in ranked},
        robustness=_robustness(records, methods),
        robustness_of_found=_of_methods(records.groupby("method")["valid_for_other"].mean() * 100, methods),
        correlations=_correlations({one: (ranked[one], indexes[one]) for one in QUALITIES if one in ranked}),
        values={metric: values for metric, (values, _) in measured.items()},
    )


def _robustness(records: pd.DataFrame, methods: Sequence[str]) -> dict[str, float]:
    """Valid for the other classifier, in percent of all rows; what was found but not measured is left out."""
    if records["valid_for_other"].isna().all():
        return dict.fromkeys(methods, np.nan)
    is_found = records["status"] == "found"
    valid = records["valid_for_other"].where(is_found, 0.0)
    return _of_methods(100 * valid.groupby(records["method"]).mean(), methods)


def _coverage_of_class_1(records: pd.DataFrame, methods: Sequence[str]) -> dict[str, float]:
    """Coverage where a row that already has class 1 counts as not found."""
    is_found = (records["status"] == "found") & (records["predicted"] != 1)
    return _of_methods(100 * is_found.groupby(records["method"]).mean(), methods)


def _better_class(records: pd.DataFrame, methods: Sequence[str]) -> dict[str, float]:
    """Of the datasets with rows of both classes."""
    is_found = (records["status"] == "found").groupby([records[one] for one in ("method", "dataset", "predicted")])
    by_class = 100 * is_found.mean().unstack("predicted").dropna()
    return _of_methods(by_class.max(axis=1).groupby("method").min(), methods)


def _timed(records: pd.DataFrame, methods: Sequence[str]) -> tuple[Floats, pd.MultiIndex]:
    values, index = statistics.observations(records, "alone", methods)
    is_timed = ~np.isnan(values).all(axis=1)
    return values[is_timed], index[is_timed]


def _ranking(ranked: Floats, test: Friedman, methods: Sequence[str]) -> Ranking:
    averages = dict(zip(methods, ranked.mean(axis=0).tolist(), strict=True))
    return Ranking(averages, statistics.critical_difference(len(methods), len(ranked)), len(ranked), test)


def _dataset_ranking(ranked: Floats, index: pd.MultiIndex, methods: Sequence[str]) -> Ranking:
    """Each dataset is one observation: the ranks, across the methods, of the mean ranks of its rows.

    Ties share the mean of their ranks, as in the Friedman test: with so few observations it matters.
    """
    means = statistics.means_by_group(ranked, index.get_level_values("dataset"))
    return _ranking(statistics.mid_ranks(means), statistics.friedman(means), methods)


def _correlations(ranked: Mapping[str, tuple[Floats, pd.MultiIndex]]) -> dict[tuple[str, str], float]:
    """Of the ranks by each pair of metrics, over the observations in which both were measured."""
    found = {}
    for one, other in combinations(ranked, 2):
        (a, a_index), (b, b_index) = ranked[one], ranked[other]
        if not a_index.equals(b_index):
            a, b = a[a_index.isin(b_index)], b[b_index.isin(a_index)]
        found[one, other] = float(statistics.rank_correlations({one: a, other: b}).loc[one, other])
    return found


def _mean_of_means(records: pd.DataFrame, column: str, methods: Sequence[str]) -> dict[str, float]:
    """Milliseconds, every dataset with the same weight, however many of its rows were timed."""
    means = records.groupby(["method", "dataset"])[column].mean().groupby("method").mean() * 1000
    return _of_methods(means, methods)


def _of_methods(series: pd.Series, methods: Sequence[str]) -> dict[str, float]:
    return {method: float(series.get(method, np.nan)) for method in methods}


def _nested(series: pd.Series) -> dict[tuple[str, str], dict[str, float]]:
    nested: dict[tuple[str, str], dict[str, float]] = {}
    for (dataset, model, method), value in series.items():
        nested.setdefault((dataset, model), {})[method] = float(value)
    return nested
