"""What every algorithm promises; a new one adds one line to METHODS."""

import functools

import pytest

from nicecf import NICE, testing

METHODS = {
    "nice-none": functools.partial(NICE, optimize="none"),
    "nice-sparsity": functools.partial(NICE, optimize="sparsity"),
    "nice-proximity": functools.partial(NICE, optimize="proximity"),
    "nice-plausibility": functools.partial(NICE, optimize="plausibility"),
    "nice-std-unjustified": functools.partial(NICE, scale="std", justified=False),
    "nice-thorough": functools.partial(NICE, search="thorough", neighbors=10),
    "nice-thorough-plausibility": functools.partial(NICE, search="thorough", neighbors=10, optimize="plausibility"),
    "nice-thorough-balanced": functools.partial(NICE, search="thorough", optimize="balanced"),
}


@pytest.mark.parametrize("check", testing.all_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", METHODS)
def test_contract(method, check):
    check(METHODS[method])


def test_every_check_is_in_the_list():
    assert {name for name in vars(testing) if name.startswith("check_")} == {c.__name__ for c in testing.all_checks}
