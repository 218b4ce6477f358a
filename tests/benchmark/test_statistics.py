"""Ranks, Friedman, Nemenyi: against figures worked out by hand, printed in textbooks, and by other libraries."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, norm, rankdata, studentized_range

from nicecf.benchmark.report.names import METRICS, PAPER_METHODS
from nicecf.benchmark.statistics import (
    cliques,
    critical_difference,
    efficient,
    friedman,
    means_by_group,
    mid_ranks,
    not_worse_than_best,
    observations,
    pairs_apart,
    rank_correlations,
    ranks,
)
from nicecf.exceptions import OptionError, SchemaError

nan, inf = np.nan, np.inf

# Table 6 of Demšar (2006), as ranks: C4.5 and its tuned versions (+m, +cf, +m+cf) by AUC on 14 datasets. Ranks of ranks are
# the ranks themselves. (The AUCs are printed with three digits only, and tie where the ranks do not.)
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)
# By hand: the columns sum to 44, 28, 40.5, 27.5, so that without a correction for ties
#   12 / (14 * 4 * 5) * (44^2 + 28^2 + 40.5^2 + 27.5^2) - 3 * 14 * 5 = 12 / 280 * 5116.5 - 210 = 9.2786,
# which Demšar prints as 9.28. The ties: three pairs (2^3 - 2 = 6 each) and one of four (4^3 - 4 = 60), together 78:
#   9.2786 / (1 - 78 / (14 * (4^3 - 4))) = 9.2786 / 0.907143 = 10.2283.
DEMSAR_CHI2 = (12 / 280 * 5116.5 - 210) / (1 - 78 / 840)

# Table 5(a) of Demšar (2006), by the number of classifiers: quantiles of the studentized range over the root of 2.
NEMENYI_5_PERCENT = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
NEMENYI_10_PERCENT = [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]


def tables(*, least=0, values=(0.0, 1.0, 1.5, 2.0, inf, nan)):
    """Small tables with many ties and values not found."""
    return st.integers(least, 5).flatmap(
        lambda k: st.lists(st.lists(st.sampled_from(values), min_size=k, max_size=k), min_size=least, max_size=6).map(
            lambda lines: np.array(lines, dtype=float).reshape(len(lines), k)
        )
    )


def records(**columns):
    """One line per explanation; what is not given is the same for all."""
    n = len(columns["method"])
    return pd.DataFrame({"dataset": ["d"] * n, "model": ["rf"] * n, "row": [0] * n, "status": ["found"] * n} | columns)


class TestObservations:
    def test_one_line_per_dataset_model_and_row_one_column_per_method_in_the_order_asked_for(self):
        table = records(
            dataset=["b", "a", "a", "b", "a", "a"],
            model=["rf", "rf", "ann", "rf", "rf", "ann"],
            row=[3, 0, 1, 3, 0, 1],
            method=["x", "x", "x", "y", "y", "y"],
            sparsity=[1, 2, 3, 4, 5, 6],
        )
        values, index = observations(table, "sparsity", ["y", "x"])
        assert index.tolist() == [("a", "ann", 1), ("a", "rf", 0), ("b", "rf", 3)]
        assert index.names == ["dataset", "model", "row"]
        assert values.tolist() == [[6, 3], [5, 2], [4, 1]]

    def test_the_order_of_the_records_does_not_matter(self):
        table = records(method=["x", "y"] * 10, row=np.repeat(range(10), 2), sparsity=np.arange(20.0))
        values, index = observations(table, "sparsity", ["x", "y"])
        shuffled = observations(table.sample(frac=1, random_state=0), "sparsity", ["x", "y"])
        assert np.array_equal(values, shuffled[0])
        assert index.equals(shuffled[1])

    def test_a_cell_that_is_not_there_takes_its_observations_with_it(self):
        table = records(dataset=["a", "a", "b"], method=["x", "y", "x"], sparsity=[1, 2, 3])
        assert observations(table, "sparsity", ["x", "y"])[1].tolist() == [("a", "rf", 0)]
        assert observations(table, "sparsity", ["x"])[1].tolist() == [("a", "rf", 0), ("b", "rf", 0)]

    @pytest.mark.parametrize("status", ["not found", "time limit"])
    def test_not_found_is_nan_however_long_it_took(self, status):
        table = records(method=["x", "y"], status=["found", status], seconds=[2.0, 1.0])
        values, _ = observations(table, "seconds", ["x", "y"])
        assert np.array_equal(values, [[2.0, nan]], equal_nan=True)

    def test_found_but_not_measured_is_left_out_and_not_called_worst(self):
        table = records(method=["x", "y"] * 2, row=[0, 0, 1, 1], seconds_alone=[1.0, 2.0, nan, nan])
        values, index = observations(table, "seconds_alone", ["x", "y"])
        assert values.tolist() == [[1.0, 2.0]]
        assert index.tolist() == [("d", "rf", 0)]

    def test_nothing_found_by_anybody_is_an_observation(self):
        table = records(method=["x", "y"], status=["not found"] * 2, sparsity=[nan, nan])
        assert observations(table, "sparsity", ["x", "y"])[0].shape == (1, 2)

    @pytest.mark.parametrize("methods", [[], ["z"], ["x", "z"]])
    def test_a_method_that_was_not_run_leaves_no_observations(self, methods):
        values, index = observations(records(method=["x"], sparsity=[1]), "sparsity", methods)
        assert values.shape == (0, len(methods))
        assert len(index) == 0

    def test_no_records(self):
        values, index = observations(records(method=["x"], sparsity=[1]).iloc[:0], "sparsity", ["x", "y"])
        assert values.shape == (0, 2)
        assert len(index) == 0

    def test_two_records_of_one_row_are_an_error(self):
        with pytest.raises(SchemaError, match="a method has two records of one row"):
            observations(records(method=["x", "x"], sparsity=[1, 2]), "sparsity", ["x"])

    def test_the_records_stay_as_they_were(self):
        table = records(method=["x", "y"], status=["found", "not found"], sparsity=[1.0, 2.0])
        before = table.copy()
        observations(table, "sparsity", ["x", "y"])
        pd.testing.assert_frame_equal(table, before)


class TestRanks:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ([3, 1, 2], [3, 1, 2]),
            ([1, 1, 2, 3], [1, 1, 3, 4]),  # tied for the first two places: both are first, the next is third
            ([2, 1, 2, 2], [2, 1, 2, 2]),
            ([5, 5, 5], [1, 1, 1]),
            ([1, nan, 2, nan], [1, 4, 2, 4]),  # not found: the worst rank, not the third
            ([nan, nan, nan], [3, 3, 3]),
            ([inf, 1, nan], [2, 1, 3]),  # found, however bad, is better than not found
            ([0.0, -0.0, -1], [2, 2, 1]),
            ([7], [1]),
        ],
    )
    def test_by_hand(self, values, expected):
        assert ranks([values]).tolist() == [expected]

    @given(tables())
    def test_equal_a_slow_loop(self, values):
        expected = np.empty(values.shape)
        for i, line in enumerate(values.tolist()):
            for j, value in enumerate(line):
                better = sum(other < value for other in line)
                expected[i, j] = len(line) if math.isnan(value) else 1 + better
        assert np.array_equal(ranks(values), expected)

    @given(tables(values=(0.0, 1.0, 1.5, 2.0)))
    def test_equal_those_of_scipy_where_all_is_found(self, values):
        assert np.array_equal(ranks(values), rankdata(values, method="min", axis=1).reshape(values.shape))

    @given(tables(), st.randoms())
    def test_methods_in_another_order_have_their_ranks_in_that_order(self, values, random):
        order = list(range(values.shape[1]))
        random.shuffle(order)
        assert np.array_equal(ranks(values[:, order]), ranks(values)[:, order])
        before, after = friedman(values), friedman(values[:, order])
        assert after.statistic == pytest.approx(before.statistic, nan_ok=True)

    @given(tables())
    def test_only_the_order_of_the_values_counts(self, values):
        assert np.array_equal(ranks(values), ranks(np.exp(values)))

    @given(tables())
    def test_of_the_ranks_are_the_ranks(self, values):
        if not np.isnan(values).any():
            assert np.array_equal(ranks(ranks(values)), ranks(values))

    def test_what_was_not_found_has_the_last_place_or_the_one_after_those_found(self):
        values = [[3, nan, 1, nan], [nan, nan, nan, nan], [2, 2, nan, 1]]
        assert ranks(values).tolist() == [[2, 4, 1, 4], [4, 4, 4, 4], [2, 2, 4, 1]]
        assert ranks(values, "found plus one").tolist() == [[2, 3, 1, 3], [1, 1, 1, 1], [2, 2, 4, 1]]

    @given(tables())
    def test_by_found_plus_one_equal_those_of_pandas_with_the_missing_at_the_bottom(self, values):
        # pandas ranks what is infinite as high as what is missing; here there is nothing infinite.
        values = np.where(np.isinf(values), 3.0, values)
        theirs = pd.DataFrame(values).rank(axis=1, method="min", na_option="bottom")
        assert np.array_equal(ranks(values, "found plus one"), theirs.to_numpy().reshape(values.shape))

    def test_of_a_flat_array_are_an_error(self):
        with pytest.raises(SchemaError, match=r"values must be a table \(observations x methods\), got .* \(3,\)"):
            ranks([1, 2, 3])


class TestDatasets:
    def test_means_are_those_of_each_group_in_sorted_order(self):
        means = means_by_group([[1, 3], [2, 1], [3, 2], [1, 2]], ["b", "a", "b", "b"])
        assert means == pytest.approx(np.array([[2, 1], [5 / 3, 7 / 3]]))

    @given(tables(least=1))
    def test_mid_ranks_equal_those_of_scipy(self, values):
        as_worst = np.where(np.isnan(values), 1e9, np.where(np.isinf(values), 1e8, values))
        assert np.array_equal(mid_ranks(values), rankdata(as_worst, axis=1))

    def test_pairs_are_apart_where_they_differ_by_more(self):
        assert pairs_apart([1.0, 1.5, 1.6], 0.5).tolist() == [[False, False, True], [False] * 3, [True, False, False]]
        assert not pairs_apart([1.0, 9.0], nan).any()


class TestFriedman:
    def test_equals_the_textbook_with_its_ties_corrected_for(self):
        test = friedman(DEMSAR)
        assert test.statistic == pytest.approx(DEMSAR_CHI2, rel=1e-12)
        assert test.statistic == pytest.approx(10.2283, abs=1e-4)
        assert (test.n_observations, test.n_methods) == (14, 4)

    def test_of_three_methods_by_hand(self):
        # Ranks 1 2 3, 1 2 3, 1 2 3, 2 1 3: sums 5, 7, 12; 12 / (4 * 3 * 4) * (25 + 49 + 144) - 3 * 4 * 4 = 6.5.
        # The chi-square distribution with two degrees of freedom has the tail exp(-x / 2).
        test = friedman([[0.1, 0.2, 0.3], [1, 5, 9], [1, 2, 4], [7, 6, 8]])
        assert test.statistic == pytest.approx(6.5)
        assert test.p_value == pytest.approx(math.exp(-3.25))

    def test_not_found_is_worst_and_ties_with_not_found(self):
        assert friedman([[1, nan, nan], [1, 2, nan]]) == friedman([[1, 9, 9], [1, 2, 3]])
        assert friedman([[inf, nan], [1, 2], [1, 2]]) == friedman([[1, 2]] * 3)

    def test_works_for_two_methods(self):
        # Mid-ranks sum to 4 and 5: 12 / (3 * 2 * 3) * (16 + 25) - 3 * 3 * 3 = 1 / 3, which is (2 - 1)^2 / 3 of the sign test.
        test = friedman([[1, 2], [1, 2], [2, 1]])
        assert test.statistic == pytest.approx(1 / 3)
        assert test.p_value == pytest.approx(2 * norm.sf(math.sqrt(1 / 3)))

    def test_of_one_observation(self):
        assert friedman([[1, 2, 3]]).statistic == pytest.approx(2.0)

    @pytest.mark.parametrize("value", [1.0, nan])
    def test_where_all_tie_there_is_no_difference(self, value):
        test = friedman(np.full((5, 3), value))
        assert (test.statistic, test.p_value) == (0.0, 1.0)

    @pytest.mark.parametrize("shape", [(0, 3), (5, 1), (5, 0), (0, 0)])
    def test_nothing_to_compare_is_nan(self, shape):
        test = friedman(np.ones(shape))
        assert math.isnan(test.statistic)
        assert math.isnan(test.p_value)
        assert (test.n_observations, test.n_methods) == shape

    @given(tables(least=3, values=(0.0, 1.0, 1.5, 2.0)))
    def test_equals_that_of_scipy_where_scipy_has_one(self, values):
        if (values == values[:, :1]).all():  # scipy divides by zero
            return
        theirs = friedmanchisquare(*values.T)
        assert friedman(values).statistic == pytest.approx(float(theirs.statistic), abs=1e-9)
        assert friedman(values).p_value == pytest.approx(float(theirs.pvalue), abs=1e-9)

    def test_stays_exact_for_very_many_observations(self):
        # One more observation for one method than for the other, of a million and one: the sign test says 1 / n.
        n = 500_000
        values = np.array([[1.0, 2.0], [2.0, 1.0]]).repeat([n + 1, n], axis=0)
        assert friedman(values).statistic == pytest.approx(1 / (2 * n + 1), rel=1e-9)


class TestCriticalDifference:
    def test_of_the_paper(self):
        assert critical_difference(10, 8000) == pytest.approx(0.151, abs=5e-4)
        # By hand from the textbook's table: 3.164 * sqrt(10 * 11 / (6 * 8000)) = 3.164 * 0.0478714 = 0.15146.
        assert critical_difference(10, 8000) == pytest.approx(0.15146, abs=2e-5)

    def test_of_the_textbook(self):
        # Demšar: 4 classifiers, 14 datasets: 2.569 * sqrt(4 * 5 / (6 * 14)) = 1.25; at 10 %, 2.291 * 0.48795 = 1.12.
        assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
        assert critical_difference(4, 14, alpha=0.1) == pytest.approx(1.12, abs=5e-3)

    @pytest.mark.parametrize(("alpha", "quantiles"), [(0.05, NEMENYI_5_PERCENT), (0.1, NEMENYI_10_PERCENT)])
    def test_equals_the_textbook_s_table(self, alpha, quantiles):
        for k, quantile in enumerate(quantiles, start=2):
            n = 50
            expected = quantile * math.sqrt(k * (k + 1) / (6 * n))
            # The table has three digits, of which the last is at times one off.
            assert critical_difference(k, n, alpha) == pytest.approx(expected, rel=5e-4)

    def test_of_two_methods_is_that_of_a_normal_deviate(self):
        assert critical_difference(2, 100) == pytest.approx(1.959964 / 10, rel=1e-6)

    @pytest.mark.parametrize("k", [3, 10, 30])
    def test_is_where_the_range_of_normal_deviates_leaves_alpha(self, k):
        # The chance that k normal deviates lie within q of each other: k * integral of phi(z) (Phi(z + q) - Phi(z))^(k - 1).
        q = critical_difference(k, 10**6) / math.sqrt(k * (k + 1) / (6 * 10**6)) * math.sqrt(2)
        z = np.linspace(-9, 9, 20_001)
        chance = k * np.sum(norm.pdf(z) * (norm.cdf(z + q) - norm.cdf(z)) ** (k - 1)) * (z[1] - z[0])
        assert chance == pytest.approx(0.95, abs=1e-6)

    def test_falls_with_observations_and_grows_with_methods(self):
        assert critical_difference(5, 400) == pytest.approx(critical_difference(5, 100) / 2)
        assert np.all(np.diff([critical_difference(k, 100) for k in range(2, 31)]) > 0)

    @pytest.mark.parametrize(("k", "n"), [(1, 10), (0, 10), (3, 0)])
    def test_nothing_to_compare_is_nan(self, k, n):
        assert math.isnan(critical_difference(k, n))

    @pytest.mark.parametrize("alpha", [0, 1, 5, -0.1, nan])
    def test_a_level_that_is_none_is_an_error(self, alpha):
        with pytest.raises(OptionError, match="alpha must be a number above 0 and below 1, got"):
            critical_difference(3, 10, alpha)


class TestBold:
    # Lines of the paper's tables for the ANN and the forest, and the methods that it prints in bold there.
    @pytest.mark.parametrize(
        ("averages", "bold"),
        [
            ([5.17, 1.42, 1.67, 3.33, 5.33, 4.39, 3.16, 3.67, 5.35, 7.43], {"nice-spars"}),
            ([5.10, 1.86, 1.72, 3.48, 5.34, 5.34, 4.10, 4.85, 4.08, 7.95], {"nice-spars", "nice-prox"}),
            ([3.10, 4.07, 4.15, 3.27, 3.11, 6.66, 5.31, 6.61, 5.86, 6.09], {"nice-none", "wit"}),
            ([2.91, 4.10, 4.13, 2.88, 2.93, 6.67, 5.16, 6.43, 5.97, 6.50], {"nice-none", "nice-plaus", "wit"}),
        ],
    )
    def test_is_what_is_bold_in_the_paper(self, averages, bold):
        is_bold = not_worse_than_best(averages, critical_difference(10, 8000))
        assert {method for method, yes in zip(PAPER_METHODS, is_bold, strict=True) if yes} == bold

    def test_exactly_the_critical_difference_behind_is_not_worse(self):
        assert not_worse_than_best([1.0, 1.5, 1.75], 0.5).tolist() == [True, True, False]

    def test_without_a_rank_nobody_is_bold(self):
        assert not_worse_than_best([nan, 1.0, 1.1], 0.5).tolist() == [False, True, True]
        assert not_worse_than_best([nan, nan], 0.5).tolist() == [False, False]
        assert not_worse_than_best([], 0.5).tolist() == []

    def test_without_a_critical_difference_only_the_best_is(self):
        assert not_worse_than_best([2.0, 1.0, 1.0], nan).tolist() == [False, True, True]


class TestCliques:
    def test_of_the_textbook(self):
        # Demšar, section 3.2.2: at 5 % (1.25) the data do not tell the four apart. At 10 % (1.12), C4.5 is worse than +m
        # (3.143 - 2.000 = 1.143) and +m+cf (1.179); +cf hangs together with both sides (0.250 and 0.929).
        averages = DEMSAR.mean(axis=0)
        assert averages == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
        assert cliques(averages, critical_difference(4, 14)) == [(3, 1, 2, 0)]
        assert cliques(averages, critical_difference(4, 14, alpha=0.1)) == [(3, 1, 2), (2, 0)]

    @given(
        st.lists(st.sampled_from([1.0, 1.5, 2.0, 3.0, 3.5, 7.0, nan]), max_size=7),
        st.sampled_from([0.0, 0.5, 1.0, 9.0]),
    )
    def test_are_the_largest_sets_of_which_no_two_are_apart(self, averages, cd):
        there = [i for i, average in enumerate(averages) if not math.isnan(average)]
        sets = [{i for bit, i in enumerate(there) if chosen >> bit & 1} for chosen in range(2 ** len(there))]
        close = [s for s in sets if len(s) > 1 and max(averages[i] for i in s) - min(averages[i] for i in s) <= cd]
        largest = [s for s in close if not any(s < other for other in close)]
        found = cliques(averages, cd)
        assert sorted(sorted(s) for s in found) == sorted(sorted(s) for s in largest)
        assert all([averages[i] for i in clique] == sorted(averages[i] for i in clique) for clique in found)
        assert [averages[clique[0]] for clique in found] == sorted(averages[clique[0]] for clique in found)

    def test_of_equal_ranks_keep_the_order_given(self):
        assert cliques([2.0] * 40 + [1.0], 0.0) == [tuple(range(40))]

    def test_without_a_critical_difference_there_are_none(self):
        assert cliques([1.0, 1.0], nan) == []
        assert cliques([], 1.0) == []


class TestRankCorrelations:
    def test_by_hand(self):
        # From the mean 2: a -1 0 1 -1 0 1, b 0 -1 1 -1 0 1, c is a turned round. a.b = 0 + 0 + 1 + 1 + 0 + 1 = 3 of 4.
        found = rank_correlations(
            {"a": [[1, 2, 3], [1, 2, 3]], "b": [[2, 1, 3], [1, 2, 3]], "c": [[3, 2, 1], [3, 2, 1]]}
        )
        expected = [[1, 0.75, -1], [0.75, 1, -0.75], [-1, -0.75, 1]]
        assert found.to_numpy() == pytest.approx(np.array(expected))
        assert list(found.index) == list(found.columns) == ["a", "b", "c"]

    @given(tables(least=2, values=(1.0, 2.0, 3.0)), tables(least=2, values=(1.0, 2.0, 3.0)))
    def test_equal_those_of_numpy_where_ranks_differ(self, a, b):
        n, k = min(len(a), len(b)), min(a.shape[1], b.shape[1])
        a, b = a[:n, :k], b[:n, :k]
        found = rank_correlations({"a": a, "b": b}).loc["a", "b"]
        if np.ptp(a) == 0 or np.ptp(b) == 0:
            assert math.isnan(found)
        else:
            assert found == pytest.approx(np.corrcoef(a.ravel(), b.ravel())[0, 1], abs=1e-9)

    def test_of_different_observations_are_an_error(self):
        with pytest.raises(SchemaError, match=r"same observations and methods, got tables of shape \(1, 2\), \(2, 2\)"):
            rank_correlations({"a": [[1, 2]], "b": [[1, 2], [2, 1]]})

    def test_of_nothing(self):
        assert rank_correlations({}).shape == (0, 0)
        assert np.isnan(rank_correlations({"a": np.ones((0, 2)), "b": np.ones((0, 2))}).to_numpy()).all()


class TestEfficient:
    # The paper's tables: the efficient frontiers that section 4.3.3 reads off its figures.
    @pytest.mark.parametrize(
        ("points", "expected"),
        [
            (  # sparsity, proximity (ANN)
                [(5.17, 5.10), (1.42, 1.86), (1.67, 1.72), (3.33, 3.48), (5.33, 5.34), (4.39, 5.34), (3.16, 4.10)],
                {"nice-spars", "nice-prox"},
            ),
            (  # proximity, plausibility (ANN): the four variants
                [(5.10, 3.10), (1.86, 4.07), (1.72, 4.15), (3.48, 3.27), (5.34, 3.11), (5.34, 6.66), (4.10, 5.31)],
                {"nice-none", "nice-spars", "nice-prox", "nice-plaus"},
            ),
        ],
    )
    def test_is_what_the_paper_says(self, points, expected):
        is_efficient = efficient(points)
        assert {method for method, yes in zip(PAPER_METHODS, is_efficient, strict=False) if yes} == expected

    def test_equal_points_do_not_dominate_each_other(self):
        assert efficient([[1, 1], [1, 1], [2, 2]]).tolist() == [True, True, False]

    def test_equal_in_one_and_higher_in_the_other_is_dominated(self):
        assert efficient([[1, 2], [1, 1], [2, 1]]).tolist() == [False, True, False]

    def test_a_point_with_nan_is_not_efficient_and_dominates_nothing(self):
        assert efficient([[0, nan], [nan, nan], [3, 3]]).tolist() == [False, False, True]

    def test_of_no_points(self):
        assert efficient(np.ones((0, 2))).tolist() == []

    @given(st.lists(st.tuples(*[st.sampled_from([1.0, 2.0, 3.0, nan])] * 2), max_size=8))
    def test_equals_a_slow_loop(self, points):
        def dominates(q, p):
            return q[0] <= p[0] and q[1] <= p[1] and q != p

        expected = [not any(map(math.isnan, p)) and not any(dominates(q, p) for q in points) for p in points]
        assert efficient(np.array(points).reshape(-1, 2)).tolist() == expected


class TestLibraries:
    """Three sources of the same figures; docs say which is used, and why."""

    def test_by_hand_by_scipy_and_by_us(self):
        assert friedmanchisquare(*DEMSAR.T).statistic == pytest.approx(DEMSAR_CHI2, rel=1e-12)
        assert friedman(DEMSAR).statistic == pytest.approx(DEMSAR_CHI2, rel=1e-12)
        for k, quantile in enumerate(NEMENYI_5_PERCENT, start=2):
            assert studentized_range.ppf(0.95, k, np.inf) / math.sqrt(2) == pytest.approx(quantile, abs=1.1e-3)

    def test_what_scipy_does_not_do(self):
        with pytest.raises(ValueError, match="At least 3 (sets of )?samples"):
            friedmanchisquare([1, 1, 2], [2, 2, 1])
        with np.errstate(invalid="ignore"):
            assert math.isnan(friedmanchisquare([1, 1], [1, 1], [1, 1]).statistic)

    def test_scikit_posthocs_finds_the_same_pairs_different(self):
        posthocs = pytest.importorskip("scikit_posthocs", reason="scikit-posthocs is not installed: only a cross-check")
        p_values = posthocs.posthoc_nemenyi_friedman(DEMSAR).to_numpy()
        averages = DEMSAR.mean(axis=0)
        apart = np.abs(averages[:, None] - averages[None, :])
        for alpha in (0.05, 0.1, 0.2):
            assert np.array_equal(p_values < alpha, apart > critical_difference(4, 14, alpha))
        # The p-value of the pair furthest apart, turned into the level at which the critical difference is just that.
        assert critical_difference(4, 14, float(p_values[0, 3])) == pytest.approx(apart[0, 3], rel=1e-6)


def test_every_metric_of_the_records_has_a_label():
    measured = {"sparsity", "l1_range", "l1_std", "l2_range", "l2_std", "ae_error", "im1", "im2", "im2_code", "nn5"}
    assert set(METRICS) == measured | {"valid_for_other", "seconds", "seconds_alone"}
    assert METRICS["l1_range"].paper == "L1(norm.)"
