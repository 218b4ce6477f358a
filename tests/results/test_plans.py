"""Plans: a menu of few counterfactuals, each the best in some way or unlike the others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nicecf
from nicecf import NICE, Constraints, OptionError

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :8]
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
BALANCED = NICE(MODEL, optimize="balanced").fit(X, Y)
NICE_ = BALANCED.with_search(optimize="sparsity")
SOME = X.iloc[:12]


@pytest.fixture(scope="module")
def cfs():
    return NICE_.explain(SOME, n_counterfactuals=4)


def of_row(table, row):
    return table[(table.index == row)]


def test_the_menu_has_the_best_by_each_measure_of_all_that_the_search_found(cfs):
    plans, front, own = (one.metrics() for one in (cfs.plans(), cfs.pareto(), cfs))
    for row in SOME.index:
        known = pd.concat([of_row(front, row), of_row(own, row)])
        known = known[known["sparsity"] <= known["sparsity"].min() + 3]  # what changes nearly everything is no plan
        for measure in ("sparsity", "proximity", "plausibility"):
            menu = of_row(plans, row)[:3]
            assert menu[measure].min() == pytest.approx(known[measure].min(), rel=1e-12)
            assert menu["sparsity"].max() <= known["sparsity"].min() + 3


def test_one_search_finds_what_the_search_for_each_objective_finds_or_hardly_more(cfs):
    plans = cfs.plans().metrics().groupby(level=0).min()
    alone = {name: NICE_.with_search(optimize=name).explain(SOME).metrics() for name in ("sparsity", "proximity")}
    assert (plans["sparsity"] == alone["sparsity"]["sparsity"]).all()
    assert plans["proximity"].mean() <= 1.05 * alone["proximity"]["proximity"].mean()


def test_what_is_most_plausible_is_more_plausible_than_what_the_search_looked_for(cfs):
    plans = cfs.plans().metrics().groupby(level=0)["plausibility"].min()
    first = cfs.metrics().groupby(level=0)["plausibility"].first()
    assert (plans <= first).all()
    assert plans.mean() < 0.8 * first.mean()


def test_all_answers_of_the_search_are_on_the_menu_each_once_and_all_are_valid(cfs):
    plans = cfs.plans()
    table = plans.to_frame()
    assert (MODEL.predict(table) != plans.predicted).all()
    for row in range(len(SOME)):
        menu = {tuple(values) for values in table[plans.rows == row].to_numpy()}
        assert len(menu) == (plans.rows == row).sum()
        assert {tuple(values) for values in cfs.to_frame()[cfs.rows == row].to_numpy()} <= menu


def test_strengths_name_one_plan_of_each_row_for_each_measure(cfs):
    plans = cfs.plans()
    metrics = plans.metrics()
    for row in range(len(SOME)):
        own = np.flatnonzero(plans.rows == row)
        named = {name: at for at in own.tolist() for name in plans.strengths[at]}
        assert set(named) == {"fewest", "nearest", "most_plausible"}
        for name, column in {"fewest": "sparsity", "nearest": "proximity", "most_plausible": "plausibility"}.items():
            assert metrics[column].iloc[named[name]] == metrics[column].iloc[own].min()


def test_without_a_measure_of_plausibility_nothing_is_called_plausible():
    plans = NICE(MODEL).fit(X, Y).explain(SOME[:3], n_counterfactuals=3).plans()
    assert {name for one in plans.strengths for name in one} <= {"fewest", "nearest"}


def test_a_plan_alone_is_best_at_nothing():
    plans = NICE(MODEL, search="greedy").fit(X, Y).explain(SOME[:2]).plans()
    assert plans.strengths == [(), ()]
    assert len(plans) == 2


def test_a_row_without_an_answer_keeps_its_reason():
    locked = Constraints(immutable=list(X.columns))
    plans = NICE_.explain(SOME[:2], n_counterfactuals=3, constraints=[locked, None]).plans()
    assert plans.rows.tolist().count(0) == 1
    assert not plans.found[0]
    assert plans.reasons[0]
    assert plans.found[1:].all()


def test_rules_hold_for_every_plan(cfs):
    rules = Constraints(immutable=["mean radius"], max_changes=3, increasing=["mean texture"])
    plans = NICE_.explain(SOME, n_counterfactuals=4, constraints=rules).plans()
    table = plans.to_frame()
    before = SOME.iloc[plans.rows]
    assert (table["mean radius"].to_numpy() == before["mean radius"].to_numpy()).all()
    assert (table["mean texture"].to_numpy() >= before["mean texture"].to_numpy()).all()
    assert plans.metrics()["sparsity"].max() <= 3


@pytest.mark.deep
def test_nothing_is_handed_out_that_is_a_training_row():
    guarded = NICE(MODEL, optimize="balanced", share_donor=False).fit(X, Y).with_search(optimize="sparsity")
    table = guarded.explain(SOME, n_counterfactuals=4).plans().to_frame()
    training = {tuple(values) for values in X.to_numpy()}
    assert not training & {tuple(values) for values in table.to_numpy()}


def test_a_batch_has_the_plans_of_its_rows_one_by_one(cfs):
    together = cfs.plans()
    for row in range(3):
        alone = NICE_.explain(SOME.iloc[[row]], n_counterfactuals=4).plans()
        assert np.array_equal(alone.to_frame(), together.to_frame()[together.rows == row])


def test_a_record_of_a_plan_is_replayed(cfs):
    for plan in list(cfs.plans())[:4]:
        assert nicecf.replay(plan.to_record(), NICE_).is_same


def test_plans_of_a_pareto_set_are_refused_and_the_pareto_set_of_plans_is_that_of_the_search(cfs):
    with pytest.raises(OptionError, match="before pareto"):
        cfs.pareto().plans()
    again = cfs.plans().pareto()
    assert np.array_equal(again.to_frame(), cfs.pareto().to_frame())
    assert nicecf.replay(again[0].to_record(), NICE_).is_same


@pytest.mark.deep
def test_trees_are_read_and_the_model_is_asked_once():
    model = RandomForestClassifier(20, random_state=0).fit(X, Y)
    nice = NICE(model, optimize="balanced", accelerate=True).fit(X, Y).with_search(optimize="sparsity")
    plans = nice.explain(SOME[:1], n_counterfactuals=4).plans()
    assert plans.model_calls == 1
    assert len(plans) > 2
