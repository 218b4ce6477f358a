"""Why a claim of the paper does not hold, or only just: written by hand, for each claim and classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nicecf.benchmark.report.claims import AMONG_SHARED, BOTH, BY_FOUND, OVER_DATASETS, Claim, Verdict

Source: TypeAlias = Literal[
    "the paper's code", "the paper's text", "the models", "the implementation", "the comparison", "chance"
]
NOT_ESTABLISHED = "cause not established"


@dataclass(frozen=True)
class Cause:
    """What a verdict comes from, and one sentence about it."""

    source: Source
    sentence: str

    def __str__(self) -> str:
        """``the models: the network on Hill_Valley is far behind the paper's.``"""
        return f"{self.source}: {self.sentence}"


_SAME_TIME = Cause(
    "the implementation",
    "here both look up one nearest row in the same kind of index, and fractions of a millisecond decide.",
)
_FAST_BENCHMARKS = Cause(
    "the implementation",
    "CFproto here is our own, which asks the model for a whole gradient in one call, and DiCE is another version of "
    "its package.",
)
# What is borderline without a cause of its own.
_OTHER_RULE = Cause(
    "the paper's code", "it ranks what was not found right after what was; the text says that it has the worst rank."
)
_FEWER_METHODS = Cause("the comparison", "among fewer methods, the same answers rank differently.")
_SPLITS = Cause("chance", "with other training and test rows it comes out differently.")
# By the claim's text and the classifier.
CAUSES: Mapping[tuple[str, str], Cause] = {
    ("NICE(none) has the best time rank", "ann"): _SAME_TIME,
    ("NICE(none) has the best time rank", "rf"): _SAME_TIME,
    ("DiCE and CFproto take several minutes (here: at least one)", "ann"): Cause(
        "the paper's text", "Table 5 has 19.3 s for CFproto."
    ),
    ("DiCE and CFproto take several minutes (here: at least one)", "rf"): _FAST_BENCHMARKS,
    ("DiCE and CFproto are by far the slowest (here: the slowest)", "ann"): _FAST_BENCHMARKS,
    ("DiCE and CFproto are by far the slowest (here: the slowest)", "rf"): _FAST_BENCHMARKS,
    ("GeCo, CFproto and CBR are the worst on sparsity", "ann"): Cause(
        "the paper's text", "by Table 5, NICE(none) with 5.17 and WIT with 5.33 are worse than CBR with 4.39."
    ),
    ("NICE(none) is outperformed on proximity by SEDC, DiCE and CFproto", "rf"): Cause(
        "the paper's text", "by Table 6, DiCE with 5.50 is worse than NICE(none) with 4.56."
    ),
    ("Sparsity-proximity: neither of NICE(spars) and NICE(prox) dominates the other", "rf"): Cause(
        "the paper's text",
        "by Table 6 both have 1.63 on proximity and NICE(spars) is ahead on sparsity, which by the paper's definition "
        "is to dominate.",
    ),
    ("Sparsity-plausibility: the frontier is NICE(spars), NICE(plaus) and WIT", "ann"): Cause(
        "the paper's text", "by Table 5, NICE(none) with 5.17 and 3.10 dominates WIT with 5.33 and 3.11."
    ),
    ("Sparsity-plausibility: the frontier is NICE(spars), NICE(plaus) and WIT", "rf"): Cause(
        "the paper's text", "by Table 6, NICE(plaus) with 3.15 and 2.88 dominates WIT with 4.87 and 2.93."
    ),
    ("Proximity-plausibility: the frontier is the four versions of NICE", "rf"): Cause(
        "the paper's text", "by Table 6, NICE(plaus) with 3.16 and 2.88 dominates NICE(none) with 4.56 and 2.91."
    ),
}


def cause_of(claim: Claim, model: str, verdict: Verdict) -> str:
    """Why a verdict is not "holds", in words; empty where it is, or where nothing was run.

    What is borderline without a cause of its own is so by what it was looked at with.
    """
    if verdict.kind in ("holds", "not run"):
        return ""
    if (known := CAUSES.get((claim.text, model), CAUSES.get((claim.text, BOTH)))) is not None:
        return str(known)
    if verdict.kind == "does not hold":
        return NOT_ESTABLISHED
    first, *others = verdict.looks.items()
    flips = [name for name, holds in others if holds != first[1] and name != OVER_DATASETS]
    if not flips:
        return "the time limit"
    by_rule: dict[tuple[str, ...], Cause] = {(BY_FOUND,): _OTHER_RULE, (AMONG_SHARED,): _FEWER_METHODS}
    return str(by_rule.get(tuple(flips), _SPLITS))
