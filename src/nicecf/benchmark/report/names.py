"""What methods and metrics are called in tables and figures."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["nice", "benchmark", "beyond"]


class MetricLabels(NamedTuple):
    """A metric in words, and as the paper's tables head it."""

    pretty: str
    paper: str


# In the order of the paper's tables.
NICE_VARIANTS = ("nice-none", "nice-spars", "nice-prox", "nice-plaus")
# What its tables call GeCo is DiCE's genetic search; the published algorithm of that name is not among its methods.
PAPER_GECO = "paper-geco"
BENCHMARKS = ("wit", "cbr", "sedc", "dice", "cfproto", PAPER_GECO)
PAPER_METHODS = NICE_VARIANTS + BENCHMARKS
# What the paper did not have.
OURS = (
    "geco",
    "nice-thorough",
    "nice-thorough-spars",
    "nice-thorough-prox",
    "nice-thorough-plaus",
    "growing-spheres",
)

METRICS = {
    "seconds": MetricLabels("seconds, share of a batch", "Time"),
    "seconds_alone": MetricLabels("seconds, explained alone", "Time"),
    "sparsity": MetricLabels("features changed", "Spars."),
    "l1_range": MetricLabels("L1 distance over ranges", "L1(norm.)"),
    "l1_std": MetricLabels("L1 distance over deviations", "L1(stand.)"),
    "l2_range": MetricLabels("L2 distance over ranges", "L2(norm.)"),
    "l2_std": MetricLabels("L2 distance over deviations", "L2(stand.)"),
    "ae_error": MetricLabels("autoencoder error", "AE loss"),
    "im1": MetricLabels("IM1", "IM1"),
    "im2": MetricLabels("IM2 by the published formula", "IM2 (formula)"),
    "im2_code": MetricLabels("IM2 as the paper's code computes it", "IM2"),
    "nn5": MetricLabels("distance to 5 nearest rows", "5NN"),
    "valid_for_other": MetricLabels("valid for the other model", "CM robustness (%)"),
}

# The metric behind each property of the main tables. Proximity is over ranges: the paper's "Prox. rank" equals the
# L1(norm.) line of its detailed tables, although the asterisk there marks L1(stand.).
PROPERTIES = {"sparsity": "sparsity", "proximity": "l1_range", "plausibility": "ae_error"}

_PRETTY = {
    "nice-none": "NICE (none)",
    "nice-spars": "NICE (spars)",
    "nice-prox": "NICE (prox)",
    "nice-plaus": "NICE (plaus)",
    "nice-thorough": "NICE (thorough)",
    "nice-thorough-spars": "NICE (thorough, spars)",
    "nice-thorough-prox": "NICE (thorough, prox)",
    "nice-thorough-plaus": "NICE (thorough, plaus)",
    "wit": "WIT",
    "cbr": "CBR",
    "sedc": "SEDC",
    "dice": "DiCE",
    "cfproto": "CFproto",
    PAPER_GECO: "GeCo (of the paper)",
    "geco": "GeCo",
    "paper-geco": "GeCo (of the paper)",
    "growing-spheres": "Growing Spheres",
}


def pretty(method: str) -> str:
    """A method as people write it; one that is not known, as it is.

    >>> pretty("nice-spars"), pretty("dice"), pretty("my-own")
    ('NICE (spars)', 'DiCE', 'my-own')
    """
    return _PRETTY.get(method, method)


def kind(method: str) -> Kind:
    """Whether it is a variant of NICE, a benchmark of the paper, or beyond the paper, as every unknown name is.

    >>> kind("nice-spars"), kind("paper-geco"), kind("geco"), kind("my-own")
    ('nice', 'benchmark', 'beyond', 'beyond')
    """
    if method in NICE_VARIANTS:
        return "nice"
    return "benchmark" if method in BENCHMARKS else "beyond"
