"""Any time: the donor first, improvements while time lasts. The clock is the test's own; nothing here waits."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clock import Clock, set_clock
from nicecf import NICE, Constraints, OptionError
from strategies import as_lists, problems

OBJECTIVES = ["plausibility", "proximity", "sparsity"]


@pytest.fixture
def patched():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def timed(p, optimize, search, budget, *, row=0.0):
    clock = Clock(p.model, row=row)
    with pytest.MonkeyPatch.context() as patch:
        set_clock(patch, clock)
        explainer = p.nice(optimize, clock, search=search).fit(p.frame(p.rows), p.labels)
        started, clock.calls = clock.now, []
        cfs = explainer.explain(p.frame(p.to_explain), target_class=p.target, time_budget=budget)
        return cfs, [at - started for at in clock.calls], clock.now - started


@pytest.mark.parametrize("search", ["greedy", "thorough"])
@given(
    p=problems(n_to_explain=st.integers(1, 4)),
    optimize=st.sampled_from(OBJECTIVES),
    budgets=st.lists(st.sampled_from([0.5, 1.5, 2.5, 3.5, 5.5, 9.5, 50.0]), min_size=2, max_size=3, unique=True),
)
def test_any_budget_gives_valid_answers_and_a_longer_one_none_that_is_worse(search, p, optimize, budgets):
    assume(not (search == "greedy" and optimize == "plausibility"))  # the paper's product may end above its donor
    reached = []
    free, _, _ = timed(p, optimize, search, None)
    # Every row that a donor helps has an answer in any time; a combination of donors must be searched for.
    by_donor = timed(p, optimize, "greedy", None)[0].found
    for budget in sorted(budgets):
        cfs, calls, took = timed(p, optimize, search, budget)
        assert len(calls) == 1 or took <= budget  # the rows are scored in any case; no call begins that takes too long
        assert cfs.found[by_donor].all()
        assert (cfs.found <= free.found).all()
        for one in cfs[cfs.found]:
            assert p.classes[int(np.argmax(p.model.probabilities(as_lists(one.to_frame())[0])))] == one.predicted_after
        if p.target != "other":
            assert set(cfs.predicted_after[cfs.found]) <= set(p.target)
        reached.append((cfs.found, cfs.metrics()[optimize].to_numpy(dtype=float)))
    for (was_found, shorter), (is_found, longer) in pairwise(reached):
        assert is_found[was_found].all()
        assert (longer[was_found] <= shorter[was_found]).all()


@given(
    p=problems(n_to_explain=st.integers(1, 3)),
    search=st.sampled_from(["greedy", "thorough"]),
    optimize=st.sampled_from(OBJECTIVES),
)
def test_a_budget_that_is_not_used_up_changes_nothing(search, optimize, p):
    cfs, _, _ = timed(p, optimize, search, 1e6)
    free, _, _ = timed(p, optimize, search, None)
    assert as_lists(cfs.to_frame()) == as_lists(free.to_frame())
    assert cfs.notes.tolist() == free.notes.tolist()


@pytest.mark.parametrize("row", [0.0, 0.003])
@pytest.mark.parametrize("search", ["greedy", "thorough"])
@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ({"max_changes": 1, "immutable": [0]}, {}),
        ({"max_changes": 2, "increasing": [0, 4], "decreasing": [2]}, {"min_count": 2}),
        ({"max_changes": 3, "groups": [[1, 3]]}, {"share_donor": False, "min_probability": 0.6}),
        ({"max_changes": 2, "ranges": {0: (-1.0, 1.0)}}, {"mix_donors": False, "optimize": "proximity"}),
    ],
)
def test_under_rules_more_time_finds_no_fewer_and_asks_about_the_same_rows_first(patched, rules, options, search, row):
    X = np.random.default_rng(0).normal(size=(120, 5)).round(1)
    asked = []
    clock = Clock(lambda X: (asked.extend(X.tolist()), model(X))[1], call=0.3, row=row)
    set_clock(patched, clock)
    y = (X.sum(axis=1) > 0).astype(int)
    explainer = NICE(clock, search=search, constraints=Constraints(**rules), **options).fit(X, y)
    found, before = np.zeros(15, dtype=bool), []
    for budget in [0.4, 0.7, 1, 1.3, 1.6, 2, 3, 5, 8, 15, 40]:
        asked.clear()
        cfs = explainer.explain(X[:15], time_budget=budget)
        assert (cfs.found >= found).all(), (
            f"{found.sum()} were found in less than {budget} s, and {cfs.found.sum()} now"
        )
        assert asked[: len(before)] == before
        found, before = cfs.found, list(asked)
    assert (explainer.explain(X[:15]).found >= found).all()


def table(n=200, d=8):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)).round(1)
    return X, (X.sum(axis=1) > 0).astype(int)


def model(X):
    p = 1 / (1 + np.exp(-X.sum(axis=1)))
    return np.column_stack([1 - p, p])


def explained(patch, search, budget, *, row=0.0, n_rows=20):
    clock = Clock(model, row=row)
    set_clock(patch, clock)
    X, y = table()
    explainer = NICE(clock, search=search, plausibility=lambda X: np.abs(X).sum(axis=1))
    explainer.fit(X, y, progress=False)
    started = clock.now
    return explainer.explain(X[:n_rows], time_budget=budget), clock.now - started


def test_without_time_the_answer_is_the_donor_and_the_notes_say_so(patched):
    cfs, took = explained(patched, "greedy", 0.5)
    assert took == 1.0
    assert cfs.model_calls == 1
    X, y = table()
    donors = NICE(model, optimize="none").fit(X, y).explain(X[:20])
    is_cut = np.array([note is not None for note in cfs.notes])
    assert is_cut.any()
    assert all(
        "time_budget was used up before the walk ended: this is the donor itself" in n for n in cfs.notes[is_cut]
    )
    assert np.array_equal(cfs[is_cut].to_numpy(), donors[is_cut].to_numpy())
    free, _ = explained(patched, "greedy", None)
    assert np.array_equal(cfs[~is_cut].to_numpy(), free[~is_cut].to_numpy())
    assert free.notes.tolist() == [None] * 20


def test_the_thorough_search_says_when_it_was_stopped(patched):
    cfs, _ = explained(patched, "thorough", 2.5)
    assert all("time_budget was used up before the search" in note for note in cfs.notes)
    whole, _ = explained(patched, "thorough", None)
    assert not any("time_budget" in (note or "") for note in whole.notes)
    assert whole.metrics()["sparsity"].sum() < cfs.metrics()["sparsity"].sum()


def test_calls_of_a_model_that_is_slow_by_row_are_cut_to_the_time_left(patched):
    cfs, took = explained(patched, "thorough", 60.0, row=0.5)
    assert cfs.found.all()
    # 20 rows and 2 witnesses take 12 s; after that, no call may be planned beyond the end.
    assert took <= 60.0 + 1.0 + 0.5


@pytest.mark.parametrize(
    "budget", [0, -1, 0.0, float("nan"), float("inf"), True, "1s", np.float64("nan"), [1], 10**400, 1j]
)
def test_budgets_that_make_no_sense(budget):
    X, y = table()
    with pytest.raises(
        OptionError, match="time_budget must be a number of seconds above 0 .*, or None for no limit, got"
    ):
        NICE(model).fit(X, y).explain(X[:1], time_budget=budget)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3", None, float("nan")])
def test_numbers_of_counterfactuals_that_make_no_sense(n):
    X, y = table()
    with pytest.raises(OptionError, match="n_counterfactuals must be a whole number of at least 1, got"):
        NICE(model).fit(X, y).explain(X[:1], n_counterfactuals=n)


def test_several_counterfactuals_need_the_thorough_search():
    X, y = table()
    with pytest.raises(OptionError, match="n_counterfactuals=3 needs search='thorough'"):
        NICE(model, search="greedy").fit(X, y).explain(X[:1], n_counterfactuals=3)
    assert NICE(model).fit(X, y).explain(X[:1], n_counterfactuals=3).found.all()
