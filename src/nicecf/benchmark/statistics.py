"""Are methods different, and which are better: ranks, Friedman, Nemenyi, correlations, efficient frontiers.

Pure functions of matrices (observations x methods) in which lower is better and NaN is "not found". As in section 4.1
of the paper, and as Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets" (2006), describes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import chi2, studentized_range

from nicecf.exceptions import OptionError, SchemaError, listed
from nicecf.support.types import Bools, Floats, Ints

_OBSERVATION = ["dataset", "model", "row"]

# The rank of a method that found nothing: the last place there is, which is the number of methods, or the place after
# the methods that found something.
Missing: TypeAlias = Literal["last place", "found plus one"]


@dataclass(frozen=True)
class Friedman:
    """Friedman's test that all methods are alike. NaN where there is nothing to compare."""

    statistic: float
    p_value: float
    n_observations: int
    n_methods: int


def observations(records: pd.DataFrame, metric: str, methods: Sequence[str]) -> tuple[Floats, pd.MultiIndex]:
    """The values of a metric, one line per observation, one column per method; and which observations these are.

    An observation is a (dataset, model, row), in sorted order, for which every one of ``methods`` has a record. NaN:
    not found, whatever the metric says (a search that gave up took its time, too). Left out are observations in which
    a counterfactual was found but not measured: nothing can be said about its rank.

    >>> records = pd.DataFrame(
    ...     {"dataset": "a", "model": "rf", "method": ["x", "y", "x", "y", "x"], "row": [0, 0, 1, 1, 2],
    ...      "status": ["found", "not found", "found", "found", "found"], "sparsity": [3.0, np.nan, 1.0, 2.0, 1.0]})
    >>> values, index = observations(records, "sparsity", ["y", "x"])
    >>> values.tolist(), index.tolist()
    ([[nan, 3.0], [2.0, 1.0]], [('a', 'rf', 0), ('a', 'rf', 1)])
    """
    columns = pd.Index(list(methods), dtype=object).get_indexer(records["method"].astype(object))
    is_asked = columns >= 0
    asked, columns = records[is_asked], columns[is_asked]
    where = pd.MultiIndex.from_frame(asked[_OBSERVATION])
    index = where.unique().sort_values()
    lines = index.get_indexer(where)
    is_found = (asked["status"] == "found").to_numpy(dtype=bool)
    measured = asked[metric].to_numpy(dtype=np.float64)

    values = np.full((len(index), len(methods)), np.nan)
    is_there = np.zeros(values.shape, dtype=bool)
    is_there[lines, columns] = True
    if is_there.sum() < len(asked):
        raise SchemaError("a method has two records of one row; results of one run have one each.")
    values[lines, columns] = np.where(is_found, measured, np.nan)
    is_kept: Bools = np.asarray(is_there.all(axis=1))
    is_kept[lines[is_found & np.isnan(measured)]] = False
    return values[is_kept], index[is_kept]


def ranks(values: npt.ArrayLike, missing: Missing = "last place") -> Floats:
    """The rank of each method within its observation: 1 is the lowest value, ties share the lowest of their ranks.

    Not found (NaN) has the worst rank there is, the number of methods, as the paper says; so has every method of an
    observation in which none found anything. With "found plus one" it has the rank after those that were found, which
    is what ranking with not found as the highest value gives. Equal means equal: what measures must round what is
    noise.

    >>> ranks([[2.0, 1.0, 1.0], [5.0, np.nan, np.nan]]).tolist()
    [[3.0, 1.0, 1.0], [1.0, 3.0, 3.0]]
    >>> ranks([[5.0, np.nan, np.nan]], "found plus one").tolist()
    [[1.0, 2.0, 2.0]]
    """
    values = _matrix(values)
    n_found = (~np.isnan(values)).sum(axis=1)[:, None]
    worst = values.shape[1] if missing == "last place" else n_found + 1
    return np.where(np.isnan(values), worst, 1 + _n_lower(values)).astype(np.float64)


def means_by_group(ranked: npt.ArrayLike, groups: npt.ArrayLike) -> Floats:
    """The mean rank of each method within each group of observations; one line per group, in sorted order.

    Rows of one dataset share a model and training rows, so they are not independent; the means of datasets are.

    >>> means_by_group([[1, 2], [2, 1], [1, 2]], ["a", "a", "b"]).tolist()
    [[1.5, 1.5], [1.0, 2.0]]
    """
    return pd.DataFrame(_matrix(ranked)).groupby(np.asarray(groups)).mean().to_numpy(dtype=np.float64)


def mid_ranks(values: npt.ArrayLike) -> Floats:
    """Ranks of which tied values share the mean; NaN is higher than all values, and ties with NaN.

    >>> mid_ranks([[2.0, 1.0, 1.0], [5.0, np.nan, np.nan]]).tolist()
    [[3.0, 1.5, 1.5], [1.0, 2.5, 2.5]]
    """
    values = _matrix(values)
    n_higher = _n_lower(-values)
    n_found = (~np.isnan(values)).sum(axis=1)[:, None]
    k = values.shape[1]
    return np.where(np.isnan(values), (n_found + 1 + k) / 2, (1 + _n_lower(values) + n_found - n_higher) / 2)


def friedman(values: npt.ArrayLike) -> Friedman:
    """Friedman's chi-square test, corrected for ties, on values with not found as the worst, tied among themselves.

    The test is on mid-ranks (tied values share the mean of their ranks), which is what its distribution holds for; the
    averages in the tables are of `ranks`. Works for two methods, too. Where all methods tie in every observation there
    is no difference to explain: statistic 0, p-value 1. NaN for fewer than two methods, or no observation.

    >>> test = friedman([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, np.nan]])
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (4.667, 0.097)
    """
    values = _matrix(values)
    n, k = values.shape
    if n == 0 or k < 2:
        return Friedman(np.nan, np.nan, n, k)
    from_middle = mid_ranks(values) - (k + 1) / 2
    between, total = (from_middle.sum(axis=0) ** 2).sum(), (from_middle**2).sum()
    # The usual formula with its correction for ties, rearranged: deviations instead of sums of squares of which large
    # parts cancel out, and nothing to divide by exactly where all tie.
    statistic = float((k - 1) * between / total) if total > 0 else 0.0
    return Friedman(statistic, float(chi2.sf(statistic, k - 1)), n, k)


def critical_difference(n_methods: int, n_observations: int, alpha: float = 0.05) -> float:
    """Nemenyi: average ranks that are further apart than this differ at the level ``alpha``.

    The quantile of the studentized range with infinitely many degrees of freedom, over the root of 2, times
    the root of k (k + 1) / 6 n. NaN for fewer than two methods, or no observation.

    >>> round(critical_difference(10, 8000), 3)
    0.151
    """
    if not 0 < alpha < 1:
        raise OptionError(f"alpha must be a number above 0 and below 1, got {alpha!r}.")
    if n_methods < 2 or n_observations < 1:
        return np.nan
    quantile = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_observations)))


def not_worse_than_best(average_ranks: npt.ArrayLike, cd: float) -> Bools:
    """Which methods to print in bold: the best one, and those not further behind it than the critical difference.

    A method without a rank (NaN) is not among them. Where ``cd`` is NaN, only the best.

    >>> not_worse_than_best([3.10, 4.07, 3.27, 3.11], 0.151).tolist()
    [True, False, False, True]
    """
    averages = np.asarray(average_ranks, dtype=np.float64)
    if np.isnan(averages).all():
        return np.zeros(averages.shape, dtype=bool)
    behind = averages - np.nanmin(averages)
    return (behind == 0) | (behind <= cd)


def pairs_apart(average_ranks: npt.ArrayLike, cd: float) -> Bools:
    """Which methods differ from which: [i, j] where their average ranks are further apart than ``cd``.

    >>> pairs_apart([1.0, 1.5, 3.0], 1.0).tolist()
    [[False, False, True], [False, False, True], [True, True, False]]
    """
    averages = np.asarray(average_ranks, dtype=np.float64)
    return np.asarray(np.abs(averages[:, None] - averages[None, :]) > cd)


def cliques(average_ranks: npt.ArrayLike, cd: float) -> list[tuple[int, ...]]:
    """The groups of a critical-difference diagram: methods of which no two are further apart than ``cd``.

    Only groups of two or more, and none that lies within another; the best group first, and in each the best method
    first. A method without a rank (NaN) is in none.

    >>> cliques([1.0, 3.0, 1.5, 2.2], cd=1.0)
    [(0, 2), (2, 3), (3, 1)]
    """
    averages = np.asarray(average_ranks, dtype=np.float64)
    in_order: Ints = np.argsort(averages, kind="stable")[: int((~np.isnan(averages)).sum())]
    ordered = averages[in_order]
    found: list[tuple[int, ...]] = []
    past_last = 0
    for first, average in enumerate(ordered):
        past = int((ordered - average <= cd).sum())  # NaN: nobody is within an unknown difference
        if past > past_last and past - first > 1:
            found.append(tuple(in_order[first:past].tolist()))
        past_last = past
    return found


def rank_correlations(rank_matrices: Mapping[str, npt.ArrayLike]) -> pd.DataFrame:
    """The correlation of the ranks by each metric with those by each other, over all observations and methods.

    All matrices must be of the same observations and methods, in the same order. NaN for a metric by which all ranks
    are equal.

    >>> rank_correlations({"a": [[1, 2, 3]], "b": [[1, 3, 2]]}).round(3)
         a    b
    a  1.0  0.5
    b  0.5  1.0
    """
    matrices = {name: np.asarray(ranked, dtype=np.float64) for name, ranked in rank_matrices.items()}
    if len(shapes := {ranked.shape for ranked in matrices.values()}) > 1:
        raise SchemaError(
            "the ranks to correlate must be of the same observations and methods, "
            f"got tables of shape {listed(sorted(shapes))}."
        )
    # pandas, since numpy warns where all ranks are equal; it, too, says NaN there.
    return pd.DataFrame({name: ranked.ravel() for name, ranked in matrices.items()}).corr()


def efficient(points: npt.ArrayLike) -> Bools:
    """Which points (average ranks by two or more metrics) are on the efficient frontier: not dominated by another.

    The paper (section 4.3.3): dominated is what is higher than or equal to another in all of them. Two equal points
    would so dominate each other; here they do not. A point with NaN is not efficient, and dominates nothing.

    >>> efficient([[1.0, 3.0], [2.0, 2.0], [2.0, 3.0], [2.0, 2.0], [1.0, np.nan]]).tolist()
    [True, True, False, True, False]
    """
    averages = _matrix(points)
    # [i, j]: whether j is as low as i everywhere, and lower somewhere. Comparisons with NaN are false.
    as_low: Bools = np.asarray((averages[None, :, :] <= averages[:, None, :]).all(axis=2))
    lower: Bools = np.asarray((averages[None, :, :] < averages[:, None, :]).any(axis=2))
    has_nan: Bools = np.asarray(np.isnan(averages).any(axis=1))
    return np.asarray(~(as_low & lower).any(axis=1) & ~has_nan)


def _matrix(values: npt.ArrayLike) -> Floats:
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise SchemaError(f"values must be a table (observations x methods), got an array of shape {matrix.shape}.")
    return matrix


def _n_lower(values: Floats) -> Ints:
    """How many of its observation are lower than each value. NaN is neither lower than anything nor higher."""
    # Column by column: all comparisons at once of 1e6 observations of 30 methods would be a gigabyte.
    return np.column_stack(
        [np.empty((len(values), 0), dtype=np.intp), *((values < column[:, None]).sum(axis=1) for column in values.T)]
    )
