"""Ranges of ordered categories: bounds are levels, and two rules keep the stricter one by their order."""

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints, OptionError, from_score, replay


def explainer(levels, **options):
    X = pd.DataFrame({"g": pd.Categorical(list(levels) * 30, categories=levels, ordered=True)})
    score = from_score(lambda X: X["g"].cat.codes.to_numpy(dtype=float), kind="score")
    return NICE(score, justified=False, **options).fit(X), X


@pytest.mark.parametrize(("own", "of_call"), [((None, 3), (None, 4)), ((None, 4), (None, 3))])
def test_of_two_ranges_the_stricter_holds_by_the_order_of_levels_not_by_their_numbers(own, of_call):
    nice, X = explainer([5, 4, 3, 2, 1], constraints=Constraints(ranges={"g": own}))
    cfs = nice.explain(X[:1], target_score=(2, None), constraints=Constraints(ranges={"g": of_call}))
    assert not cfs.found.any()
    assert cfs.nearest().to_frame()["g"].tolist() == [4]


def test_the_same_range_twice_is_one_and_its_records_are_made_again():
    nice, X = explainer(["a", "b", "c"], constraints=Constraints(ranges={"g": ("b", None)}))
    cfs = nice.explain(X[:1], target_score=(1, None), constraints=Constraints(ranges={"g": ("b", None)}))
    assert cfs.to_frame()["g"].tolist() == ["b"]
    assert replay(cfs[0].to_record(), nice).is_same
    with pytest.raises(OptionError, match="two rules have a bound on the same side for the levels of 'g'"):
        Constraints(ranges={"g": ("b", None)}) & Constraints(ranges={"g": ("a", None)})
    stricter = nice.explain(X[:1], target_score=(1, None), constraints=Constraints(ranges={"g": ("c", None)}))
    assert stricter.to_frame()["g"].tolist() == ["c"]


@pytest.mark.parametrize(
    "levels", [["2024-01", "2024-02", "2024-03"], ["1h", "2h", "3h"], ["1 day", "2 days", "9 days"]]
)
def test_levels_that_read_as_dates_or_durations_are_levels(levels):
    nice, X = explainer(levels, constraints=Constraints(ranges={"g": (levels[1], None)}))
    cfs = nice.explain(X[:1], target_score=(1, None))
    assert cfs.to_frame()["g"].tolist() == [levels[1]]
    assert np.array_equal(cfs.predicted_after, [1.0])
