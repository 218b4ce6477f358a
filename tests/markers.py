"""Cases of a parametrized test that only `make test-deep` runs."""

import pytest


def deep(*cases):
    """Cases as parametrize takes them, a tuple for several arguments, marked as deep."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.deep) for case in cases]
