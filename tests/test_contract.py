"""What every algorithm promises; a new one adds one line to METHODS."""

import functools

import pytest

from nicecf import NICE, Constraints, baselines, testing

RULES = Constraints(immutable=["city"], groups=[["home", "children"]], ranges={"age": (None, 75)}, max_changes=4)
METHODS = {
    "nice-none": functools.partial(NICE, optimize="none"),
    "nice-sparsity": functools.partial(NICE, optimize="sparsity"),
    "nice-proximity": functools.partial(NICE, optimize="proximity"),
    "nice-plausibility": functools.partial(NICE, optimize="plausibility"),
    "nice-std-unjustified": functools.partial(NICE, scale="std", justified=False),
    "nice-thorough": functools.partial(NICE, search="thorough", neighbors=10),
    "nice-thorough-plausibility": functools.partial(NICE, search="thorough", neighbors=10, optimize="plausibility"),
    "nice-thorough-balanced": functools.partial(NICE, search="thorough", optimize="balanced"),
    "nice-under-rules": functools.partial(NICE, constraints=RULES),
    "nice-thorough-under-rules": functools.partial(NICE, search="thorough", optimize="proximity", constraints=RULES),
    "nice-robust": functools.partial(NICE, robust_to=[testing.Scorecard()]),
    "nice-predict-weights": functools.partial(NICE, decision="predict", feature_weights={"age": 3}),
    "wit": baselines.WIT,
    "sedc": baselines.SEDC,
    "cbr": baselines.CBR,
    "cfproto": functools.partial(baselines.CFproto, c_steps=2, max_iterations=10),
    "geco": functools.partial(baselines.GeCo, population=20, samples=2, max_generations=8),
    "growing-spheres": functools.partial(baselines.GrowingSpheres, n_samples=200, max_shells=60),
}
NUMBERS_ONLY = {"growing-spheres"}


@pytest.mark.parametrize("check", testing.all_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", METHODS)
def test_contract(method, check):
    data = testing.applicants_in_numbers if method in NUMBERS_ONLY else testing.applicants
    check(METHODS[method], data=data)


@pytest.mark.parametrize("check", testing.rule_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", [name for name in METHODS if name.startswith("nice")])
def test_contract_of_rules(method, check):
    check(METHODS[method])


def test_every_check_is_in_a_list():
    checks = {check.__name__ for check in [*testing.all_checks, *testing.rule_checks]}
    assert {name for name in vars(testing) if name.startswith("check_")} == checks
